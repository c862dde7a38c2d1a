//! The memory at an earlier time, and what changed since.
//!
//! Entries keep their earlier texts and the times at which they were stored, replaced and archived; facts and relations keep the
//! period in which they hold. So an earlier state is a copy of the memory in which everything later is undone. Deleted records are
//! in no earlier state.

use serde::Serialize;

use super::sync::Authors;
use super::{entry, graph, relocate};
use crate::base::progress::Progress;
use crate::base::{Result, Time, redact};
use crate::group::View;
use crate::store::Connection;

/// Copies the records of a group as they were at a time into an empty group. Documents, transcripts and the items of projects
/// have no earlier states and are left out; scores are those of today.
pub fn copy_as_of(
    from: &mut View<'_>,
    to: &mut View<'_>,
    at: Time,
    progress: &mut dyn FnMut(Progress),
) -> Result<()> {
    relocate::copy_records(from, to, progress, &|db| rewind(db, at)).map(drop)
}

/// Undoes everything that was written after a time. The index is rebuilt afterwards.
fn rewind(db: &Connection, at: Time) -> Result<()> {
    // Two entries may have had the text that one of them has now.
    db.run("UPDATE entries SET folded = id", ())?;
    let sql = "SELECT entry, type, content, tags, private FROM entry_history AS one WHERE until > $1
        AND version = (SELECT min(version) FROM entry_history AS other WHERE other.entry = one.entry AND other.until > $1)";
    let earlier = db.rows(sql, [at], |row| {
        let (id, kind, content): (String, entry::EntryType, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok((id, kind, content, row.get::<String>(3)?, row.get::<bool>(4)?))
    })?;
    for (id, kind, content, tags, private) in earlier {
        let sql = "UPDATE entries SET type = $2, behavioral = $3, content = $4, tags = $5, private = $6 WHERE id = $1";
        db.run(sql, (id, kind, kind.behavioral(), content, tags, private))?;
    }
    for sql in [
        "DELETE FROM entry_history WHERE until > $1",
        "DELETE FROM entry_history WHERE entry IN (SELECT id FROM entries WHERE created_at > $1)",
        "DELETE FROM entries WHERE created_at > $1",
        "UPDATE entries SET superseded_at = NULL, superseded_by = NULL WHERE superseded_at > $1",
        "UPDATE entries SET archived_at = NULL WHERE archived_at > $1",
        "UPDATE entries SET confirmed_at = NULL WHERE confirmed_at > $1",
        "DELETE FROM facts WHERE since > $1",
        "UPDATE facts SET until = NULL WHERE until > $1",
        "DELETE FROM relations WHERE since > $1",
        "UPDATE relations SET until = NULL WHERE until > $1",
        "DELETE FROM lessons WHERE learned_at > $1",
        "DELETE FROM exchanges WHERE at > $1",
        "DELETE FROM tasks WHERE created_at > $1",
    ] {
        db.run(sql, [at])?;
    }
    for sql in ["DELETE FROM documents", "DELETE FROM items", "DELETE FROM sessions", "DELETE FROM passages"]
    {
        db.run(sql, ())?;
    }
    Ok(())
}

/// Selects changes.
#[derive(Clone, Debug, Default)]
pub struct ChangeFilter {
    /// Only changes after this time.
    pub since: Option<Time>,
    /// Only changes of this session.
    pub session: Option<String>,
    /// Only changes of the machine with this name, in a synced memory.
    pub device: Option<String>,
}

/// One change of the memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemoryChange {
    /// When it happened.
    pub at: Time,
    /// The kind of the record: memory, fact, relation, lesson or record.
    pub kind: &'static str,
    /// The id of the record.
    pub id: String,
    /// The session in which it happened, as far as it is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// The machine on which it happened, in a synced memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The text before; `None` if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The text after; `None` if it is not current any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Returns what changed, oldest first. Credentials are masked.
pub fn changes(view: &View<'_>, filter: &ChangeFilter) -> Result<Vec<MemoryChange>> {
    if !view.is_on_disk() {
        return Ok(Vec::new());
    }
    let authors = Authors::load(view)?;
    filter.device.as_ref().map_or(Ok(()), |device| authors.check(device))?;
    let mut found = view.read_all(|db| {
        let mut found = Vec::new();
        of_entries(db, &authors, &mut found)?;
        of_graph(db, &authors, &mut found)?;
        of_deletions(db, &mut found)?;
        Ok(found)
    })?;
    found.retain(|change| {
        filter.since.is_none_or(|since| change.at > since)
            && filter.session.as_ref().is_none_or(|session| change.session == *session)
            && filter.device.as_ref().is_none_or(|device| change.device.as_ref() == Some(device))
    });
    found.sort_by(|one, other| (one.at, &one.id).cmp(&(other.at, &other.id)));
    for change in &mut found {
        for text in [&mut change.before, &mut change.after].into_iter().flatten() {
            *text = redact::text(text).into_owned();
        }
    }
    Ok(found)
}

fn of_entries(db: &Connection, authors: &Authors, found: &mut Vec<MemoryChange>) -> Result<()> {
    for replica in entry::replicas(db)? {
        let entry = replica.entry;
        let id = entry.id.to_string();
        let mut versions = entry::versions(db, &entry.id)?;
        versions.sort_by_key(|version| version.until);
        let device = |field: &str| authors.of("entry", &id, field);
        let mut change = |at: Time, session: String, device: Option<String>, before, after| {
            found.push(MemoryChange { at, kind: "memory", id: id.clone(), session, device, before, after });
        };
        let texts: Vec<&String> =
            versions.iter().map(|version| &version.content).chain([&entry.content]).collect();
        let session = entry.provenance.session.to_string();
        change(entry.provenance.timestamp, session, device("created_at"), None, Some(texts[0].clone()));
        for (place, version) in versions.iter().enumerate() {
            let [before, after] = [0, 1].map(|step| Some(texts[place + step].clone()));
            let is_last = place + 1 == versions.len();
            let device = device("statement").filter(|_| is_last);
            change(version.until, version.session.to_string(), device, before, after);
        }
        for (at, field) in [(entry.superseded_at, "superseded_at"), (entry.archived_at, "archived_at")] {
            if let Some(at) = at {
                change(at, String::new(), device(field), Some(entry.content.clone()), None);
            }
        }
    }
    Ok(())
}

fn of_graph(db: &Connection, authors: &Authors, found: &mut Vec<MemoryChange>) -> Result<()> {
    for (kind, statement) in graph::replica::statements(db)? {
        let graph::replica::GraphStatement { id, number, line, since, until, session } = statement;
        let of = |field: &str| authors.of(kind, &number.to_string(), field);
        let change = |at: Time, device: Option<String>, before, after| MemoryChange {
            at,
            kind,
            id: id.clone(),
            session: session.clone(),
            device,
            before,
            after,
        };
        found.push(change(since, of("since"), None, Some(line.clone())));
        if let Some(until) = until {
            found.push(change(until, of("until"), Some(line.clone()), None));
        }
    }
    Ok(())
}

/// Returns the deletions. Their texts are gone.
fn of_deletions(db: &Connection, found: &mut Vec<MemoryChange>) -> Result<()> {
    let sql = "SELECT at, session, ids FROM audit WHERE outcome = 'done' AND action IN ('delete', 'forget', 'memory_delete', 'sync')
        ORDER BY seq";
    let rows =
        db.rows(sql, (), |row| Ok((row.get::<Time>(0)?, row.get::<String>(1)?, row.get::<String>(2)?)))?;
    for (at, session, ids) in rows {
        for id in serde_json::from_str::<Vec<String>>(&ids).unwrap_or_default() {
            found.push(MemoryChange {
                at,
                kind: "record",
                id,
                session: session.clone(),
                device: None,
                before: None,
                after: None,
            });
        }
    }
    Ok(())
}
