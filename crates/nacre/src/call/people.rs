//! What only a person asks for, at the page or the command line: the files, what happened, the picture of the graph, how the
//! group stands. Agents have no use for them and are refused, whatever is offered to them.

use rusqlite::Connection;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Call;
use super::tools::Request;
use crate::graph::{self, Picture};
use crate::group::Status;
use crate::{Result, Time, workspace};

/// The Markdown files of the workspace.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilesRequest {}

/// The files of a group.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Files {
    /// By path.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub files: Vec<FileListed>,
}

/// One file.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "named after what they are")]
pub struct FileListed {
    pub path: String,
    pub size: i64,
    pub modified: Time,
    /// Shared sessions do not see it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
}

impl Request for FilesRequest {
    type Answer = Files;

    fn run(self, call: &mut Call<'_>) -> Result<Files> {
        let private = call.settings().visibility.private.clone();
        let visibility = call.caller.visibility;
        let mut files = workspace::files(call.group().folder());
        for file in &mut files {
            let text = workspace::text(call.group(), crate::Visibility::Private, &file.path, 4 << 10);
            file.private = !crate::Visibility::Shared.sees(&private, &file.path, &text);
        }
        files.retain(|file| visibility == crate::Visibility::Private || !file.private);
        Ok(Files { files })
    }

    fn say(answer: &Files, _: Time) -> String {
        answer.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// What was written and refused, newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditRequest {
    /// How many at most; default 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
    /// Only those before this number of a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub before: Option<i64>,
}

/// Rows of the audit log.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AuditShown {
    /// Newest first.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub rows: Vec<Value>,
    /// What to ask before, where there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

impl Request for AuditRequest {
    type Answer = AuditShown;

    fn run(self, call: &mut Call<'_>) -> Result<AuditShown> {
        let (limit, before) = (self.limit.unwrap_or(100), self.before.unwrap_or(i64::MAX));
        let rows = call.read(|db| super::audit::newest(db, before, limit))?;
        let rows: Vec<Value> = rows.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
        let last = rows.last().and_then(|row| row["seq"].as_i64());
        let next = last.filter(|seq| rows.len() == limit && *seq > 1);
        Ok(AuditShown { rows, next })
    }

    fn say(answer: &AuditShown, _: Time) -> String {
        let line = |row: &Value| {
            let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
            format!("{} {} {} {}", text("at"), text("actor"), text("action"), text("outcome"))
        };
        answer.rows.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// All that the graph holds now, to be drawn.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PictureRequest {}

/// The graph.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PictureShown {
    #[serde(flatten)]
    #[schemars(with = "Map<String, Value>")]
    #[expect(missing_docs)]
    pub picture: Picture,
}

impl Request for PictureRequest {
    type Answer = PictureShown;

    fn run(self, call: &mut Call<'_>) -> Result<PictureShown> {
        Ok(PictureShown { picture: call.read(Picture::new)? })
    }

    fn say(answer: &PictureShown, _: Time) -> String {
        let Picture { entities, facts, relations } = &answer.picture;
        format!("{} entities, {} facts, {} relations.", entities.len(), facts.len(), relations.len())
    }
}

/// How the group stands, and how it has grown.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HealthRequest {}

/// How a group stands.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Health {
    /// Counts and sizes.
    #[schemars(with = "Map<String, Value>")]
    pub status: Status,
    /// Memories and what was said, by week, oldest first.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub growth: Vec<Week>,
    /// Facts by how lately they were recalled.
    #[schemars(with = "Map<String, Value>")]
    pub tiers: graph::Tiers,
    /// What is wrong, and what to do about it.
    pub problems: Vec<String>,
}

/// What came in one week.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "a day and a count")]
pub struct Week {
    /// Its first day.
    pub week: String,
    pub added: i64,
}

impl Request for HealthRequest {
    type Answer = Health;

    fn run(self, call: &mut Call<'_>) -> Result<Health> {
        let status = call.group().status()?;
        let mut problems = Vec::new();
        if status.stale {
            problems.push("the index is of another version; it is made anew behind the calls".to_owned());
        }
        if status.documents.skipped > 0 {
            problems
                .push(format!("{} files can't be indexed; `nacre index` says why", status.documents.skipped));
        }
        problems.extend(status.set_aside.iter().map(|path| {
            format!("{} was damaged and set aside; `nacre doctor` says what to do", path.display())
        }));
        let (growth, tiers) = call.read(|db| Ok((growth(db)?, graph::tiers(db)?)))?;
        Ok(Health { status, growth, tiers, problems })
    }

    fn say(answer: &Health, _: Time) -> String {
        match answer.problems.is_empty() {
            true => "Everything is in order.".into(),
            false => answer.problems.join("\n"),
        }
    }
}

fn growth(db: &Connection) -> Result<Vec<Week>> {
    const WEEK: i64 = 7 * 86_400_000;
    // The first day of 1970 was a Thursday: weeks begin on Mondays.
    const MONDAY: i64 = 4 * 86_400_000;
    let sql = "SELECT (at - ?2) / ?1, count(*) FROM (SELECT created_at AS at FROM entries UNION ALL
            SELECT at FROM passages WHERE kind IN ('message', 'exchange')) GROUP BY 1 ORDER BY 1";
    let mut statement = db.prepare_cached(sql)?;
    let rows =
        statement.query_map((WEEK, MONDAY), |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?;
    let counted: Vec<(i64, i64)> = rows.collect::<rusqlite::Result<_>>()?;
    let mut weeks: Vec<Week> = Vec::new();
    let (Some(first), Some(last)) = (counted.first(), counted.last()) else { return Ok(weeks) };
    // Ten years at most, whatever a transcript says about its age.
    let first = first.0.max(last.0 - 520);
    let earlier: i64 = counted.iter().filter(|(week, _)| *week < first).map(|(_, count)| count).sum();
    for week in first..=last.0 {
        let added = counted.iter().find(|(at, _)| *at == week).map_or(0, |(_, count)| *count);
        let day = Time::from_millis(week * WEEK + MONDAY).to_string();
        let added = if week == first { added + earlier } else { added };
        weeks.push(Week { week: day.chars().take(10).collect(), added });
    }
    Ok(weeks)
}
