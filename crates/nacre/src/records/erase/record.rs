//! Names any record that a person can see, and erases it with everything derived from it.

use std::collections::BTreeSet;
use std::fmt;

use crate::base::ids::{EntryId, EntryRef, SessionId, TaskId};
use crate::base::text::shorten;
use crate::base::{Error, FilePath, Result, Time};
use crate::index;
use crate::records::graph::{fact, name, relation};
use crate::records::project::{item, task};
use crate::records::session::{self, exchange};
use crate::records::workspace::checkpoint::DeletedRecord;
use crate::records::{conflict, tombstone};
use crate::store::Connection;

/// A record that a person can see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecordRef {
    Entry(EntryRef),
    Fact(String),
    Relation(String),
    /// By one of its names.
    Entity(String),
    Lesson(i64),
    Proposal(i64),
    Task(TaskId),
    Item(String),
    /// `SESSION/MESSAGE`.
    Message(String),
    Exchange(String),
    Session(SessionId),
    Document(FilePath),
    Checkpoint(String),
}

impl RecordRef {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            RecordRef::Entry(_) => "memory",
            RecordRef::Fact(_) => "fact",
            RecordRef::Relation(_) => "relation",
            RecordRef::Entity(_) => "entity",
            RecordRef::Lesson(_) => "lesson",
            RecordRef::Proposal(_) => "proposal",
            RecordRef::Task(_) => "task",
            RecordRef::Item(_) => "item",
            RecordRef::Message(_) => "message",
            RecordRef::Exchange(_) => "exchange",
            RecordRef::Session(_) => "session",
            RecordRef::Document(_) => "document",
            RecordRef::Checkpoint(_) => "checkpoint",
        }
    }

    /// Reads the id that a person gives, and checks that there is such a record.
    pub(crate) fn resolve(db: &Connection, given: &str) -> Result<RecordRef> {
        let given = given.trim();
        let none = || Error::NoRecord { given: shorten(given) };
        let bare = given.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(given);
        let has = |sql: &str, value: &str| db.one(sql, [value], |row| row.get::<bool>(0));
        if let Ok(entry) = bare.strip_prefix("id:").unwrap_or(bare).parse::<EntryRef>() {
            return crate::records::entry::get(db, &entry)
                .map(|entry| RecordRef::Entry(EntryRef::Id(entry.id)));
        }
        let number = |prefix: &str| {
            let rest = bare.strip_prefix(prefix)?.strip_prefix([':', '-'])?;
            rest.parse::<i64>().ok()
        };
        if number("fact").is_some() {
            fact::matching(db, bare, None)?;
            return Ok(RecordRef::Fact(bare.to_owned()));
        }
        if number("relation").is_some() {
            relation::find(db, &relation::RelationRef::Id(bare))?;
            return Ok(RecordRef::Relation(bare.to_owned()));
        }
        if let Some(number) = number("lesson") {
            return match crate::records::lesson::get(db, number)? {
                Some(_) => Ok(RecordRef::Lesson(number)),
                None => Err(Error::NoLesson { number }),
            };
        }
        if let Some(number) = number("proposal") {
            let sql = "SELECT EXISTS (SELECT 1 FROM proposals WHERE number = $1)";
            return match db.one(sql, [number], |row| row.get::<bool>(0))? {
                true => Ok(RecordRef::Proposal(number)),
                false => Err(Error::NoProposal { number }),
            };
        }
        if let Some(name) = bare.strip_prefix("entity:") {
            return name::get(db, name).map(|entity| RecordRef::Entity(entity.name));
        }
        if let Some(id) = bare.strip_prefix("checkpoint:") {
            return Ok(RecordRef::Checkpoint(id.to_owned()));
        }
        if bare.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("task-"))
            && let Ok(id) = bare.parse::<TaskId>()
        {
            return task::get(db, id).map(|_| RecordRef::Task(id));
        }
        if has("SELECT EXISTS (SELECT 1 FROM items WHERE id = $1)", bare)? {
            return Ok(RecordRef::Item(bare.to_owned()));
        }
        if has("SELECT EXISTS (SELECT 1 FROM passages WHERE kind = 'message' AND ref = $1)", bare)? {
            return Ok(RecordRef::Message(bare.to_owned()));
        }
        if has("SELECT EXISTS (SELECT 1 FROM exchanges WHERE session || '/' || id = $1)", bare)? {
            return Ok(RecordRef::Exchange(bare.to_owned()));
        }
        if has("SELECT EXISTS (SELECT 1 FROM documents WHERE path = $1)", bare)? {
            return Ok(RecordRef::Document(bare.parse()?));
        }
        match bare.strip_prefix("session:") {
            Some(id) => session::resolve(db, id).and_then(|id| Ok(RecordRef::Session(id.parse()?))),
            None if has("SELECT EXISTS (SELECT 1 FROM sessions WHERE id = $1)", bare)? => {
                Ok(RecordRef::Session(bare.parse()?))
            }
            None => Err(none()),
        }
    }
}

impl fmt::Display for RecordRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordRef::Entry(EntryRef::Number(number)) => write!(f, "{number}"),
            RecordRef::Entry(EntryRef::Id(id)) => write!(f, "{id}"),
            RecordRef::Fact(id)
            | RecordRef::Relation(id)
            | RecordRef::Item(id)
            | RecordRef::Message(id)
            | RecordRef::Exchange(id) => f.write_str(id),
            RecordRef::Entity(name) => write!(f, "entity:{name}"),
            RecordRef::Lesson(number) => write!(f, "lesson:{number}"),
            RecordRef::Proposal(number) => write!(f, "proposal:{number}"),
            RecordRef::Task(id) => write!(f, "{id}"),
            RecordRef::Session(id) => write!(f, "session:{id}"),
            RecordRef::Document(path) => write!(f, "{path}"),
            RecordRef::Checkpoint(id) => write!(f, "checkpoint:{id}"),
        }
    }
}

/// The records that an erasure removed, and their texts.
#[derive(Default)]
pub(super) struct Removals {
    /// The ids of all removed records, for the audit log and the checkpoints.
    pub(super) ids: Vec<DeletedRecord>,
    /// The texts that they had.
    pub(super) texts: Vec<String>,
    /// Memories that are current again because the one that replaced them is gone.
    pub(super) restored: Vec<i64>,
}

impl Removals {
    fn add(&mut self, id: impl Into<String>, text: impl Into<String>) {
        self.ids.push(DeletedRecord::of(id));
        self.texts.push(text.into());
    }
}

/// Erases a record of the database and what was derived from it. Files are the caller's.
pub(super) fn erase(db: &Connection, record: &RecordRef, removed: &mut Removals) -> Result<()> {
    match record {
        RecordRef::Entry(named) => {
            let erased = super::entry(db, named)?;
            removed.texts.extend(erased.contents);
            let (reference, texts) = (erased.entry.id.to_string(), erased.texts);
            removed.ids.push(DeletedRecord { reference, texts });
            removed.restored.extend(erased.restored.iter().map(|entry| entry.number));
        }
        RecordRef::Fact(id) => {
            for gone in fact::remove(db, id, None)? {
                removed.add(&gone.id, gone.line());
            }
        }
        RecordRef::Relation(id) => {
            let gone = relation::remove(db, &relation::RelationRef::Id(id))?;
            removed.add(&gone.id, gone.line());
        }
        RecordRef::Entity(named) => {
            let gone = name::remove(db, named)?;
            removed.ids.extend(gone.ids.into_iter().map(DeletedRecord::of));
            removed.texts.push(gone.name);
        }
        RecordRef::Lesson(number) => {
            let sql = "DELETE FROM lessons WHERE number = $1 RETURNING text";
            let text: Option<String> = db.row(sql, [number], |row| row.get(0))?;
            removed.add(record.to_string(), text.unwrap_or_default());
        }
        RecordRef::Proposal(number) => {
            db.run("DELETE FROM proposals WHERE number = $1", [number])?;
            removed.ids.push(DeletedRecord::of(record.to_string()));
        }
        RecordRef::Task(id) => {
            let gone = task::remove(db, *id)?;
            removed.add(record.to_string(), gone.description);
        }
        RecordRef::Item(id) => {
            let sql = "DELETE FROM items WHERE id = $1 RETURNING content";
            let text: Option<String> = db.row(sql, [id], |row| row.get(0))?;
            index::remove(db, item::KIND, id)?;
            removed.add(id, text.unwrap_or_default());
        }
        RecordRef::Message(reference) => erase_message(db, reference, removed)?,
        RecordRef::Exchange(reference) => erase_exchange(db, reference, removed)?,
        RecordRef::Session(id) => erase_session(db, id, removed)?,
        RecordRef::Document(_) | RecordRef::Checkpoint(_) => {}
    }
    conflict::forget(db, &record.to_string())
}

fn erase_message(db: &Connection, reference: &str, removed: &mut Removals) -> Result<()> {
    let sql = "SELECT text FROM passages WHERE kind = 'message' AND ref = $1";
    let text: Option<String> = db.row(sql, [reference], |row| row.get(0))?;
    erase_cited(db, reference, removed)?;
    erase_line(db, reference, removed)?;
    removed.texts.push(text.unwrap_or_default());
    Ok(())
}

/// Erases a message whose line was removed, and the facts and relations that only it states. Memories that were taken out of it are
/// records of their own.
pub(super) fn erase_line(db: &Connection, reference: &str, removed: &mut Removals) -> Result<()> {
    index::remove(db, "message", reference)?;
    if let Some((session, id)) = session_and_message(db, reference)? {
        db.run("DELETE FROM transcript_ids WHERE session = $1 AND id = $2", (session, id))?;
    }
    erase_stated(db, reference, removed)?;
    removed.ids.push(DeletedRecord::of(reference));
    Ok(())
}

/// Splits a reference into the id of its session, which may itself contain slashes, and the id of the message.
pub(super) fn session_and_message(db: &Connection, reference: &str) -> Result<Option<(String, String)>> {
    for (at, _) in reference.rmatch_indices('/') {
        let (session, id) = (&reference[..at], &reference[at + 1..]);
        let sql = "SELECT EXISTS (SELECT 1 FROM sessions WHERE id = $1)";
        if db.one(sql, [session], |row| row.get(0))? {
            return Ok(Some((session.to_owned(), id.to_owned())));
        }
    }
    Ok(None)
}

fn erase_exchange(db: &Connection, reference: &str, removed: &mut Removals) -> Result<()> {
    let sql =
        "DELETE FROM exchanges WHERE session || '/' || id = $1 RETURNING exchanges.user, agent, session";
    let gone = db.row(sql, [reference], |row| {
        Ok((row.get::<String>(0)?, row.get::<String>(1)?, row.get::<String>(2)?))
    })?;
    index::remove(db, exchange::KIND, reference)?;
    let Some((user, agent, session)) = gone else { return Ok(()) };
    // The state of the conversation quotes what was said in it.
    db.run("DELETE FROM turns WHERE session = $1", [&session])?;
    let sql = "SELECT number, text FROM lessons WHERE session = $1";
    let lessons: Vec<(i64, String)> = db.rows(sql, [&session], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (number, text) in lessons {
        if user.to_lowercase().contains(&text.trim_end_matches('.').to_lowercase()) {
            erase(db, &RecordRef::Lesson(number), removed)?;
        }
    }
    erase_cited(db, reference, removed)?;
    removed.add(reference, user);
    removed.texts.push(agent);
    Ok(())
}

/// Erases the memories that were taken out of this message, and the facts and relations that only it states.
fn erase_cited(db: &Connection, reference: &str, removed: &mut Removals) -> Result<()> {
    for entry in crate::records::entry::citing(db, reference)? {
        erase(db, &RecordRef::Entry(EntryRef::Id(entry)), removed)?;
    }
    erase_stated(db, reference, removed)
}

/// Erases the facts and relations that only this message states.
fn erase_stated(db: &Connection, reference: &str, removed: &mut Removals) -> Result<()> {
    db.run("DELETE FROM distil_found WHERE message = $1", [reference])?;
    let path = format!("sessions/{reference}");
    let sql = "SELECT kind, id FROM citations WHERE path = $1";
    let cited: Vec<(String, i64)> = db.rows(sql, [&path], |row| Ok((row.get(0)?, row.get(1)?)))?;
    db.run("DELETE FROM citations WHERE path = $1", [&path])?;
    for (kind, id) in cited {
        let sql = "SELECT EXISTS (SELECT 1 FROM citations WHERE kind = $1 AND id = $2)";
        if db.one(sql, (&kind, id), |row| row.get(0))? {
            continue;
        }
        match kind.as_str() {
            "fact" => erase(db, &RecordRef::Fact(format!("fact-{id}")), removed)?,
            "relation" => erase(db, &RecordRef::Relation(format!("relation-{id}")), removed)?,
            _ => {}
        }
    }
    Ok(())
}

/// Erases a conversation: its messages and exchanges, the summaries that were stored of it, its lessons and its state.
fn erase_session(db: &Connection, id: &SessionId, removed: &mut Removals) -> Result<()> {
    let sql = "SELECT ref FROM passages JOIN sessions ON sessions.number = passages.session
        WHERE sessions.id = $1 AND kind = 'message'";
    let messages: Vec<String> = db.rows(sql, [id], |row| row.get(0))?;
    for reference in messages {
        erase_message(db, &reference, removed)?;
    }
    let sql = "SELECT session || '/' || id FROM exchanges WHERE session = $1";
    let exchanges: Vec<String> = db.rows(sql, [id], |row| row.get(0))?;
    for reference in exchanges {
        erase_exchange(db, &reference, removed)?;
    }
    // Summaries, and memories that were taken out of it.
    let sql = "SELECT id FROM entries WHERE narrative_id = $1 AND source IN ('narrative', 'conversation')";
    let derived: Vec<EntryId> = db.rows(sql, [id], |row| row.get(0))?;
    for entry in derived {
        erase(db, &RecordRef::Entry(EntryRef::Id(entry)), removed)?;
    }
    let lessons: Vec<i64> =
        db.rows("SELECT number FROM lessons WHERE session = $1", [id], |row| row.get(0))?;
    for number in lessons {
        erase(db, &RecordRef::Lesson(number), removed)?;
    }
    for table in [
        "turns",
        "flushes",
        "transcripts",
        "transcript_ids",
        "seen",
        "distil_read",
        "distil_found",
        "distil_due",
    ] {
        db.run(&format!("DELETE FROM {table} WHERE session = $1"), [id])?;
    }
    db.run("DELETE FROM sessions WHERE id = $1", [id])?;
    removed.ids.push(DeletedRecord::of(format!("session:{id}")));
    Ok(())
}

/// Records that the texts of erased records were deleted for good.
pub(super) fn bury(db: &Connection, now: Time, texts: &[String]) -> Result<()> {
    let texts: BTreeSet<&String> = texts.iter().collect();
    texts.into_iter().try_for_each(|text| tombstone::bury(db, now, text))
}
