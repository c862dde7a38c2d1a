//! Tools for people, in the dashboard and on the command line: files, the audit log, the picture of the graph, the health of
//! the group. Agents are refused, even if such a tool is offered to them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::call::{Call, ToolResult};
use super::conflict;
use super::status;
use super::tool::Request;
use crate::base::redact;
use crate::base::{Calendar, Error, Result, Time};
use crate::records::entry::{self, Entry};
use crate::records::graph::{self, Picture};
use crate::records::workspace;
use crate::records::workspace::WorkspaceFile;
use crate::records::workspace::change::{self, Change};
use crate::records::workspace::{FilePath, proposal};
use crate::search::Contradiction;
use crate::store::Connection;
use crate::store::audit;
use crate::store::event::payload;
use crate::tools::status::Status;

/// List the Markdown files of the workspace.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilesRequest {}

/// The files of a group.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Files {
    /// By path.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub files: Vec<WorkspaceFile>,
}

impl Request for FilesRequest {
    type Answer = Files;
    const NAME: &str = "file_list";

    fn run(self, call: &mut Call<'_>) -> ToolResult<Files> {
        let private = call.settings().visibility.private.clone();
        let visibility = call.caller.visibility;
        let mut files = workspace::list(call.view().files());
        for file in &mut files {
            let text =
                workspace::text(call.view(), crate::base::caller::Visibility::Private, &file.path, 4 << 10);
            file.private = !crate::base::caller::Visibility::Shared.sees(&private, &file.path, &text);
        }
        files.retain(|file| visibility == crate::base::caller::Visibility::Private || !file.private);
        Ok(Files { files })
    }

    fn say(answer: &Files, _: &Calendar) -> String {
        answer.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// Read a whole file for viewing and editing.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileRequest {
    /// Its path within the workspace.
    #[schemars(length(min = 1, max = 500))]
    pub path: String,
}

/// A file as a person edits it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FileAnswer {
    /// Its path.
    pub path: String,
    /// Its whole text, with credentials masked.
    pub text: String,
    /// The hash to save it with; absent: the file does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Whether a part is masked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub masked: bool,
}

impl Request for FileRequest {
    type Answer = FileAnswer;
    const NAME: &str = "file_show";

    fn run(self, call: &mut Call<'_>) -> ToolResult<FileAnswer> {
        let path: FilePath = self.path.parse()?;
        let bytes = seen(call, &path)?;
        let text = String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
        let shown = redact::document(&text).into_owned();
        Ok(FileAnswer {
            path: path.to_string(),
            masked: shown != text,
            text: shown,
            hash: bytes.as_deref().map(change::hash),
        })
    }

    fn say(answer: &FileAnswer, _: &Calendar) -> String {
        answer.text.clone()
    }
}

/// Reads a file for the session. A file that it may not see does not exist for it.
fn seen(call: &mut Call<'_>, path: &FilePath) -> Result<Option<Vec<u8>>> {
    let (visibility, rules) = (call.caller.visibility, call.settings().visibility.private.clone());
    let bytes = call.view().files().read(path, change::MAX_FILE_BYTES)?;
    let sees = |bytes: &Vec<u8>| visibility.sees(&rules, path.as_str(), &String::from_utf8_lossy(bytes));
    Ok(bytes.filter(sees))
}

/// Save a whole file, unless it changed since it was read.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SaveRequest {
    /// Its path within the workspace.
    #[schemars(length(min = 1, max = 500))]
    pub path: String,
    /// The whole text. A mask keeps the credential of the file.
    #[schemars(length(max = 2_000_000))]
    pub content: String,
    /// The hash of the file that was read; absent if there was none. A changed file is not replaced.
    #[schemars(length(max = 64))]
    pub base: Option<String>,
}

/// A saved file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SaveAnswer {
    /// Its path.
    pub path: String,
    /// The hash for the next save.
    pub hash: String,
    /// Whether it changed.
    pub written: bool,
    /// The current statements that its new lines contradict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contradicts: Vec<Contradiction>,
}

impl Request for SaveRequest {
    type Answer = SaveAnswer;
    const NAME: &str = "file_save";

    fn run(self, call: &mut Call<'_>) -> ToolResult<SaveAnswer> {
        let (path, caller): (FilePath, _) = (self.path.parse()?, call.caller);
        let mut held = change::lock(call.view())?;
        proposal::check_seen(&held, caller, &path)?;
        let before = held.read(&path)?;
        if before.as_deref().map(change::hash) != self.base {
            return Err(Error::FileChanged { path: path.to_string() }.into());
        }
        let after = unmasked(Self::NAME, before.as_deref().unwrap_or_default(), self.content)?;
        let (hash, contradicts) = (change::hash(&after), Vec::new());
        let mut saved = SaveAnswer { path: path.to_string(), hash, written: true, contradicts };
        if before.as_ref() == Some(&after) {
            return Ok(SaveAnswer { written: false, ..saved });
        }
        if after.len() as u64 > change::MAX_FILE_BYTES {
            return Err(Error::FileTooLarge { path: path.to_string(), limit: change::MAX_FILE_BYTES }.into());
        }
        let size = after.len();
        let change = [Change { path, before, after: Some(after) }];
        held.commit("write", &change, |tx| {
            audit::Row::new("file_save").with("bytes", size).append(tx, caller)
        })?;
        drop(held);
        saved.contradicts = conflict::of_document(call.view(), &change[0], true)?;
        let data = [("type", "file".into()), ("path", saved.path.as_str().into()), ("size", size.into())];
        call.tell("memory:write", payload(data));
        Ok(saved)
    }

    fn say(answer: &SaveAnswer, calendar: &Calendar) -> String {
        format!("Saved {}.{}", answer.path, conflict::say_contradictions(&answer.contradicts, calendar))
    }
}

/// Returns the text that a person meant. They read the file redacted, so an unchanged masked line is the line of the file. A
/// credential of several lines counts as one. A changed masked line is refused, because the credential would be lost.
pub(super) fn unmasked(tool: &str, before: &[u8], content: String) -> Result<Vec<u8>> {
    let plain = String::from_utf8_lossy(before);
    let masked = redact::document(&plain);
    if !content.contains(redact::MASK) || masked == plain {
        return Ok(content.into_bytes());
    }
    // Runs of masked lines: as they are shown, and as they are in the file.
    let mut runs: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for (shown, own) in masked.lines().zip(plain.lines()) {
        match runs.last_mut() {
            _ if shown.contains(redact::MASK) => runs.push((vec![shown], vec![own])),
            Some(run) if shown != own => {
                run.0.push(shown);
                run.1.push(own);
            }
            _ => {}
        }
    }
    let lines: Vec<&str> = content.split_inclusive('\n').collect();
    let bare = |line: &&str| line.trim_end_matches(['\n', '\r']).to_owned();
    let (mut after, mut at) = (String::new(), 0);
    while let Some(line) = lines.get(at) {
        if !line.contains(redact::MASK) {
            after.push_str(line);
            at += 1;
            continue;
        }
        let fits = |run: &(Vec<&str>, Vec<&str>)| {
            let there: Vec<String> = lines.iter().skip(at).take(run.0.len()).map(bare).collect();
            there == run.0
        };
        let Some(found) = runs.iter().position(fits) else {
            let problem = format!("changes a line with `{}`, which hides a credential", redact::MASK);
            return Err(Error::bad_argument(tool, "content", problem));
        };
        for own in runs.remove(found).1 {
            let end = &lines[at][bare(&lines[at]).len()..];
            after.push_str(own);
            after.push_str(end);
            at += 1;
        }
    }
    Ok(after.into_bytes())
}

/// List writes and refusals, newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditRequest {
    /// Default 100.
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
    /// Only rows before this number.
    #[schemars(range(min = 1))]
    pub before: Option<i64>,
}

/// Rows of the audit log.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AuditAnswer {
    /// Newest first.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub rows: Vec<Value>,
    /// The value of `before` for the next page, if there are more rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

impl Request for AuditRequest {
    type Answer = AuditAnswer;
    const NAME: &str = "audit_list";

    fn run(self, call: &mut Call<'_>) -> ToolResult<AuditAnswer> {
        let (limit, before) = (self.limit.unwrap_or(100), self.before.unwrap_or(i64::MAX));
        let rows = call.read(|db| crate::store::audit::newest(db, before, limit))?;
        let rows: Vec<Value> = rows.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
        let last = rows.last().and_then(|row| row["seq"].as_i64());
        let next = last.filter(|seq| rows.len() == limit && *seq > 1);
        Ok(AuditAnswer { rows, next })
    }

    fn say(answer: &AuditAnswer, _: &Calendar) -> String {
        let line = |row: &Value| {
            let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
            format!("{} {} {} {}", text("at"), text("actor"), text("action"), text("outcome"))
        };
        answer.rows.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// Return the whole current graph for drawing.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PictureRequest {}

/// The graph.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PictureAnswer {
    #[serde(flatten)]
    #[schemars(with = "Map<String, Value>")]
    #[expect(missing_docs)]
    pub picture: Picture,
}

impl Request for PictureRequest {
    type Answer = PictureAnswer;
    const NAME: &str = "graph_picture";

    fn run(self, call: &mut Call<'_>) -> ToolResult<PictureAnswer> {
        Ok(PictureAnswer { picture: call.read(Picture::new)? })
    }

    fn say(answer: &PictureAnswer, _: &Calendar) -> String {
        let Picture { entities, facts, relations } = &answer.picture;
        format!("{} entities, {} facts, {} relations.", entities.len(), facts.len(), relations.len())
    }
}

/// Return the health of the group and its growth.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HealthRequest {}

/// The health of a group.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Health {
    /// Counts and sizes.
    #[schemars(with = "Map<String, Value>")]
    pub status: Status,
    /// New memories and messages by week, oldest first.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub growth: Vec<Week>,
    /// Facts by how recently they were recalled.
    #[schemars(with = "Map<String, Value>")]
    pub tiers: graph::Tiers,
    /// Memories that have not been used for half a year.
    #[schemars(with = "Map<String, Value>")]
    pub unused: UnusedEntries,
    /// Problems, and what to do about them.
    pub problems: Vec<String>,
}

/// A memory that was neither shown to an agent nor confirmed for this many days is unused.
const UNUSED_DAYS: i64 = 180;
/// The most unused memories that are listed.
const MAX_UNUSED: usize = 20;

/// Memories that no agent has seen and nobody has confirmed for a long time.
#[derive(Clone, Debug, Serialize)]
pub struct UnusedEntries {
    /// How many there are.
    pub count: i64,
    /// The oldest ones.
    pub oldest: Vec<UnusedEntry>,
}

/// An unused memory.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct UnusedEntry {
    pub number: i64,
    pub content: String,
    pub at: Time,
}

/// The growth in one week.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "a day and a count")]
pub struct Week {
    /// Its first day.
    pub week: String,
    pub added: i64,
}

impl Request for HealthRequest {
    type Answer = Health;
    const NAME: &str = "health";

    fn run(self, call: &mut Call<'_>) -> ToolResult<Health> {
        let status = status::status(call.view())?;
        let mut problems = Vec::new();
        if status.stale {
            problems
                .push("the index was built by another version; it is rebuilt in the background".to_owned());
        }
        problems.extend(status.set_aside.iter().map(|path| {
            format!("{} was damaged and quarantined; `nacre doctor` says what to do", path.display())
        }));
        let (growth, tiers) = call.read(|db| Ok((growth(db)?, graph::tiers(db)?)))?;
        let long_ago = call.caller.now.plus_days(-UNUSED_DAYS);
        let (count, oldest) = call.read(|db| entry::unused_since(db, long_ago, MAX_UNUSED))?;
        let shown = |entry: Entry| UnusedEntry {
            number: entry.number,
            content: entry.content,
            at: entry.provenance.timestamp,
        };
        let unused = UnusedEntries { count, oldest: oldest.into_iter().map(shown).collect() };
        Ok(Health { status, growth, tiers, unused, problems })
    }

    fn say(answer: &Health, _: &Calendar) -> String {
        match answer.problems.is_empty() {
            true => "Everything is in order.".into(),
            false => answer.problems.join("\n"),
        }
    }
}

fn growth(db: &Connection) -> Result<Vec<Week>> {
    const WEEK_MS: i64 = 7 * 86_400_000;
    // The first day of 1970 was a Thursday: weeks begin on Mondays.
    const FIRST_MONDAY_MS: i64 = 4 * 86_400_000;
    let sql = "SELECT (at - $2) / $1, count(*) FROM (SELECT created_at AS at FROM entries UNION ALL
            SELECT at FROM passages WHERE kind IN ('message', 'exchange')) AS dated GROUP BY 1 ORDER BY 1";
    let counted: Vec<(i64, i64)> =
        db.rows(sql, (WEEK_MS, FIRST_MONDAY_MS), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut weeks: Vec<Week> = Vec::new();
    let (Some(first), Some(last)) = (counted.first(), counted.last()) else { return Ok(weeks) };
    // At most ten years, even if a transcript claims to be older.
    let first = first.0.max(last.0 - 520);
    let earlier: i64 = counted.iter().filter(|(week, _)| *week < first).map(|(_, count)| count).sum();
    for week in first..=last.0 {
        let added = counted.iter().find(|(at, _)| *at == week).map_or(0, |(_, count)| *count);
        let day = Time::from_millis(week * WEEK_MS + FIRST_MONDAY_MS).to_string();
        let added = if week == first { added + earlier } else { added };
        weeks.push(Week { week: day.chars().take(10).collect(), added });
    }
    Ok(weeks)
}
