//! The audit log: one row for every write and refusal, in the same transaction as the write. Each row's hash
//! covers the row before it, so that any change or gap is detectable. Rows hold ids, sizes and codes only,
//! never content or secrets.

use std::ops::ControlFlow;

use serde::Serialize;
use serde_json::{Map, Value};

use super::event::{self, Event};
use crate::base::caller::Caller;
use crate::base::ids::GroupName;
use crate::base::{Result, Time};
use crate::store::Connection;

/// The key in `meta` that names the newest row, so that rows removed from the end are detected too.
const HEAD_KEY: &str = "audit_head";

/// The record of one call.
pub(crate) struct Row {
    action: String,
    pub(crate) ids: Vec<String>,
    pub(crate) detail: Map<String, Value>,
}

impl Row {
    pub(crate) fn new(action: &str) -> Row {
        Row { action: action.into(), ids: Vec::new(), detail: Map::new() }
    }

    /// Names something that was written.
    pub(crate) fn id(mut self, id: &(impl ToString + ?Sized)) -> Row {
        self.ids.push(id.to_string());
        self
    }

    /// Adds a size, a count or a code.
    pub(crate) fn with(mut self, detail: &str, value: impl Into<Value>) -> Row {
        self.detail.insert(detail.into(), value.into());
        self
    }

    /// Appends the row to the chain with the outcome `Done`.
    pub(crate) fn append(&self, db: &Connection, caller: &Caller) -> Result<()> {
        append(db, caller, self, Outcome::Done)
    }
}

/// How the call ended.
#[derive(Clone, Copy)]
pub(crate) enum Outcome {
    Done,
    Refused,
}

impl Outcome {
    fn as_str(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Refused => "refused",
        }
    }
}

/// Appends a row to the chain.
pub(crate) fn append(db: &Connection, caller: &Caller, row: &Row, outcome: Outcome) -> Result<()> {
    let (now, actor, session) = (caller.now, caller.actor_name(), caller.session.as_str());
    let Some(token) = &caller.token else { return append_as(db, now, actor, session, row, outcome) };
    let detail = row.detail.clone();
    let named =
        Row { action: row.action.clone(), ids: row.ids.clone(), detail }.with("token", token.as_str());
    append_as(db, now, actor, session, &named, outcome)
}

/// Appends a row for an action of Nacre itself, such as a purge.
pub(crate) fn append_own(db: &Connection, now: Time, row: &Row) -> Result<()> {
    append_as(db, now, "nacre", "", row, Outcome::Done)
}

fn append_as(
    db: &Connection,
    now: Time,
    actor: &str,
    session: &str,
    row: &Row,
    outcome: Outcome,
) -> Result<()> {
    let newest = "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1";
    let before = db.row(newest, (), |row| Ok((row.get::<i64>(0)? + 1, row.get(1)?)))?;
    let (seq, before) = before.unwrap_or((1, String::new()));
    let mut line = Line {
        seq,
        at: now,
        actor: actor.into(),
        session: session.into(),
        action: row.action.clone(),
        outcome: outcome.as_str().into(),
        ids: Value::from(row.ids.clone()).to_string(),
        detail: Value::from(row.detail.clone()).to_string(),
        hash: String::new(),
    };
    line.hash = line.hash_after(&before);
    let sql = "INSERT INTO audit (seq, at, actor, session, action, outcome, ids, detail, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let fields = (
        line.seq,
        line.at,
        &line.actor,
        &line.session,
        &line.action,
        &line.outcome,
        &line.ids,
        &line.detail,
        &line.hash,
    );
    db.run(sql, fields)?;
    let sql = "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    db.run(sql, (HEAD_KEY, line.head()))?;
    Ok(())
}

/// Returns the number and the hash of the newest row.
pub(crate) fn head(db: &Connection) -> Result<(i64, String)> {
    let sql = "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1";
    db.one(sql, (), |row| Ok((row.get(0)?, row.get(1)?)))
}

/// A row as it is stored in the table.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Line {
    seq: i64,
    at: Time,
    actor: String,
    session: String,
    action: String,
    outcome: String,
    #[serde(serialize_with = "as_json")]
    ids: String,
    #[serde(serialize_with = "as_json")]
    detail: String,
    hash: String,
}

fn as_json<S: serde::Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serde_json::from_str::<Value>(text).unwrap_or_else(|_| text.into()).serialize(serializer)
}

impl Line {
    fn hash_after(&self, before: &str) -> String {
        let mut hasher = blake3::Hasher::new();
        let (seq, at) = (self.seq.to_string(), self.at.as_millis().to_string());
        for field in [
            before,
            &seq,
            &at,
            &self.actor,
            &self.session,
            &self.action,
            &self.outcome,
            &self.ids,
            &self.detail,
        ] {
            // The length comes first, so that no text can move from one field into the next.
            hasher.update(&(field.len() as u64).to_le_bytes());
            hasher.update(field.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Returns the event of this write; `None` if it was refused. The session of a row that Nacre wrote by itself has no name.
    pub(crate) fn event(&self, group: &GroupName) -> Option<Event> {
        let data = [
            ("type", self.action.as_str().into()),
            ("ids", serde_json::from_str(&self.ids).unwrap_or_default()),
        ];
        (self.outcome == Outcome::Done.as_str()).then(|| Event {
            name: "memory:write",
            at: self.at,
            group: group.clone(),
            session: self.session.parse().unwrap_or_else(|_| Caller::nacre(self.at).session),
            data: event::payload(data),
        })
    }

    /// Returns the number of the row.
    pub(crate) fn seq(&self) -> i64 {
        self.seq
    }

    fn head(&self) -> String {
        format!("{} {}", self.seq, self.hash)
    }
}

/// Returns the newest rows before the row `before`, newest first.
pub(crate) fn newest(db: &Connection, before: i64, limit: usize) -> Result<Vec<Line>> {
    let sql = "SELECT seq, at, actor, session, action, outcome, ids, detail, hash FROM audit WHERE seq < $1
        ORDER BY seq DESC LIMIT $2";
    db.rows(sql, (before, limit), line)
}

/// Returns the oldest rows after the row `after`, oldest first.
pub(crate) fn after(db: &Connection, after: i64, limit: usize) -> Result<Vec<Line>> {
    let sql = "SELECT seq, at, actor, session, action, outcome, ids, detail, hash FROM audit WHERE seq > $1
        ORDER BY seq LIMIT $2";
    db.rows(sql, (after, limit), line)
}

fn line(row: &super::Row<'_>) -> Result<Line> {
    Ok(Line {
        seq: row.get(0)?,
        at: row.get(1)?,
        actor: row.get(2)?,
        session: row.get(3)?,
        action: row.get(4)?,
        outcome: row.get(5)?,
        ids: row.get(6)?,
        detail: row.get(7)?,
        hash: row.get(8)?,
    })
}

/// Passes every row, oldest first, to `take`.
pub(crate) fn walk(db: &Connection, mut take: impl FnMut(&Line) -> Result<()>) -> Result<()> {
    let sql = "SELECT seq, at, actor, session, action, outcome, ids, detail, hash FROM audit ORDER BY seq";
    db.each(sql, (), |row| take(&line(row)?).map(ControlFlow::Continue))
}

/// The result of checking the chain.
#[derive(Clone, Debug, Serialize)]
pub struct AuditCheck {
    /// Whether every row is unchanged and none is missing.
    pub ok: bool,
    /// How many rows there are.
    pub rows: i64,
    /// The first problem found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Checks the chain: every hash, every number, and the newest row.
pub(crate) fn verify(db: &Connection) -> Result<AuditCheck> {
    let mut rows = 0;
    let mut before = String::new();
    let mut head = None;
    let mut problem = None;
    walk(db, |line| {
        rows += 1;
        if problem.is_none() && line.seq != rows {
            problem = Some(format!("row {rows} is missing"));
        } else if problem.is_none() && line.hash != line.hash_after(&before) {
            problem = Some(format!("row {} was changed, or the row before it was removed", line.seq));
        }
        before.clone_from(&line.hash);
        head = Some(line.head());
        Ok(())
    })?;
    let noted = db.row("SELECT value FROM meta WHERE key = $1", [HEAD_KEY], |row| row.get(0))?;
    if problem.is_none() && noted != head {
        problem = Some(format!("rows after row {rows} are missing"));
    }
    Ok(AuditCheck { ok: problem.is_none(), rows, problem })
}
