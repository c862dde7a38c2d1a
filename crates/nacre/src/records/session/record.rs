//! Turns imported messages into passages. Each batch is one transaction, so an interrupted import continues
//! when it runs again.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::BufRead;
use std::ops::ControlFlow;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::json;

use super::import::{self, Author, Format, Message, ReadReport};
use crate::base::caller::Caller;
use crate::base::caller::Visibility;
use crate::base::ids::ProjectName;
use crate::base::origin::RecordOrigin;
use crate::base::redact;
use crate::base::{Result, Time};
use crate::group::View;
use crate::index::{Lexicon, Passage, Writer};
use crate::records::project;
use crate::records::session::exchange;
use crate::records::tombstone::Tombstones;
use crate::store::Connection;
use crate::store::audit;

/// The maximum number of messages in one transaction. Larger batches write fewer rows for repeated words;
/// smaller batches let other processes write sooner.
const MAX_BATCH_MESSAGES: usize = 10_000;
/// The maximum size of the text in one transaction.
const MAX_BATCH_BYTES: usize = 8 << 20;

/// The result of importing a transcript.
#[derive(Clone, Debug, Serialize)]
pub struct TranscriptImport {
    /// The content of the transcript.
    #[serde(flatten)]
    pub read: ReadReport,
    /// Messages that were added.
    pub added: usize,
    /// Messages that existed already.
    pub present: usize,
}

/// Imports a transcript. `progress` receives the number of messages read so far.
pub fn import(
    view: &mut View<'_>,
    input: impl BufRead,
    name: &str,
    mut progress: impl FnMut(usize),
) -> Result<TranscriptImport> {
    // The transcript may come from any project, whatever the person works in while it is imported.
    let caller = &Caller { project_folder: None, ..view.caller().clone() };
    let (mut added, mut present, mut seen) = (0, 0, 0);
    let (mut batch, mut bytes) = (Vec::new(), 0);
    let mut sessions: BTreeSet<String> = BTreeSet::new();
    let mut flush = |view: &mut View<'_>, batch: &mut Vec<Message>| -> Result<()> {
        let together = batch.chunk_by(|one, next| one.session == next.session);
        sessions.extend(together.map(|messages| messages[0].session.clone()));
        let (new, old) = match batch.is_empty() {
            true => (0, 0),
            false => {
                view.write_indexed(|tx, lexicon| record(tx, lexicon, caller, batch, "session_import"))?
            }
        };
        (added, present, seen) = (added + new, present + old, seen + batch.len());
        batch.clear();
        progress(seen);
        Ok(())
    };
    let read = import::read(input, name, |message| {
        bytes += message.text.len();
        batch.push(message);
        if batch.len() < MAX_BATCH_MESSAGES && bytes < MAX_BATCH_BYTES {
            return Ok(());
        }
        bytes = 0;
        flush(view, &mut batch)
    })?;
    flush(view, &mut batch)?;
    note_format(view, &sessions, read.format)?;
    note_projects(view, &read.folders)?;
    Ok(TranscriptImport { read, added, present })
}

/// Stores the format of new sessions. It is known only when the whole input has been read.
fn note_format(view: &mut View<'_>, sessions: &BTreeSet<String>, format: Format) -> Result<()> {
    const UNKNOWN: &str = "id IN (SELECT value FROM json_each($1)) AND format = 'import'";
    let ids = serde_json::to_string(sessions)?;
    let sql = format!("SELECT EXISTS (SELECT 1 FROM sessions WHERE {UNKNOWN})");
    if !view.read_all(|db| db.one(&sql, [&ids], |row| row.get::<bool>(0)))? {
        return Ok(());
    }
    let sql = format!("UPDATE sessions SET format = $2 WHERE {UNKNOWN}");
    view.write(|tx| tx.run(&sql, (&ids, format.as_str())).map(drop))
}

/// Stores the projects of sessions that have none, by the folders that the transcript names. A folder that is gone, and one that
/// contains the memory, such as the user's home folder, is no project.
fn note_projects(view: &mut View<'_>, folders: &BTreeMap<String, String>) -> Result<()> {
    let unknown = |db: &Connection| -> Result<Vec<(String, PathBuf)>> {
        let sql = "SELECT id FROM sessions WHERE id = $1 AND project IS NULL";
        let mut found = Vec::new();
        for (id, folder) in folders {
            if let Some(id) = db.row(sql, [id], |row| row.get(0))? {
                found.push((id, PathBuf::from(folder)));
            }
        }
        Ok(found)
    };
    let memory = view.folder().to_owned();
    let mut found = view.read_all(unknown)?;
    found.retain_mut(|(_, folder)| match project::current::root(folder, Some(&memory)) {
        Some(root) => {
            *folder = root;
            true
        }
        None => false,
    });
    if found.is_empty() {
        return Ok(());
    }
    view.write(|tx| {
        for (id, folder) in found {
            if let Some(name) = project::current::adopt(tx, Some(&folder))? {
                set_projects(tx, &BTreeMap::from([(id, name)]))?;
            }
        }
        Ok(())
    })
}

/// Turns messages into passages. Returns how many were added and how many existed already.
pub(super) fn record(
    tx: &Connection,
    lexicon: &mut Lexicon,
    caller: &Caller,
    batch: &[Message],
    action: &str,
) -> Result<(usize, usize)> {
    let mut sessions: HashMap<&str, Session> = HashMap::new();
    let project = project::current::adopt(tx, caller.project_folder.as_deref())?;
    // An imported file also holds the words of other people.
    let origin = match action {
        "session_import" => RecordOrigin::Import.weakest(RecordOrigin::of(caller)),
        _ => RecordOrigin::of(caller),
    };
    let deleted = Tombstones::load(tx)?;
    let mut writer = Writer::new(tx, lexicon)?;
    let (mut added, mut present) = (0, 0);
    let mut passages: Vec<Passage> = Vec::new();
    let mut owners: Vec<&str> = Vec::new();
    for message in batch {
        let session = match sessions.entry(&message.session) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => {
                free.insert(Session::open(tx, &message.session, caller.visibility, project.as_ref(), origin)?)
            }
        };
        let reference = format!("{}/{}", message.session, message.id);
        // Check first in existing sessions, so that a transcript that has grown is not analyzed again.
        if !session.new && is_present(tx, &reference)? {
            present += 1;
            continue;
        }
        let at = message.at.unwrap_or(caller.now);
        passages.push(Passage { origin, ..passage(message, reference, session.number, at, &deleted) });
        owners.push(&message.session);
    }
    for ((is_new, passage), owner) in writer.insert_all(&passages)?.into_iter().zip(&passages).zip(owners) {
        if is_new {
            sessions.get_mut(owner).expect("opened above").widen(passage.at);
            added += 1;
        } else {
            present += 1;
        }
    }
    for session in sessions.values() {
        session.close(tx)?;
    }
    writer.finish()?;
    for (id, session) in &sessions {
        if !session.new {
            let said = batch.iter().filter(|one| one.session == *id && one.author == Author::User);
            exchange::hide_duplicates(tx, id, said.map(|one| one.text.as_str()))?;
        }
    }
    audit::Row::new(action).with("messages", added).append(tx, caller)?;
    Ok((added, present))
}

fn passage(message: &Message, reference: String, session: i64, at: Time, deleted: &Tombstones) -> Passage {
    let author = match &message.author {
        Author::Unknown => None,
        author => Some(author.as_str().to_owned()),
    };
    let text = redact::text(&deleted.mask(&message.text)).into_owned();
    let place = Some((session, i64::from(message.seq)));
    Passage { author, place, ..Passage::new("message", reference, text, at) }
}

/// A session that receives messages.
struct Session {
    number: i64,
    new: bool,
    /// The times of the first and the last new message.
    span: Option<(Time, Time)>,
}

impl Session {
    fn open(
        db: &Connection,
        id: &str,
        visibility: Visibility,
        project: Option<&ProjectName>,
        origin: RecordOrigin,
    ) -> Result<Session> {
        // No `RETURNING` here: it opens a savepoint, at which the full-text index flushes its buffer.
        let number = "SELECT number FROM sessions WHERE id = $1";
        if let Some(number) = db.row(number, [id], |row| row.get(0))? {
            // A session with one private message is private.
            if visibility.is_private() {
                let sql = "UPDATE sessions SET private = true WHERE number = $1 AND NOT private";
                db.run(sql, [number])?;
            }
            let known: RecordOrigin =
                db.one("SELECT origin FROM sessions WHERE number = $1", [number], |row| row.get(0))?;
            if known < origin {
                db.run("UPDATE sessions SET origin = $2 WHERE number = $1", (number, origin))?;
            }
            return Ok(Session { number, new: false, span: None });
        }
        let sql =
            "INSERT INTO sessions (id, format, private, project, origin) VALUES ($1, 'import', $2, $3, $4)";
        db.run(sql, (id, visibility.is_private(), project, origin))?;
        Ok(Session { number: db.one(number, [id], |row| row.get(0))?, new: true, span: None })
    }

    fn widen(&mut self, at: Time) {
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
    }

    /// Extends the session's start and end times to include the new messages.
    fn close(&self, db: &Connection) -> Result<()> {
        let Some((first, last)) = self.span else { return Ok(()) };
        let sql = "UPDATE sessions SET started_at = CASE WHEN started_at < $2 THEN started_at ELSE $2 END,
            ended_at = CASE WHEN ended_at > $3 THEN ended_at ELSE $3 END WHERE number = $1";
        db.run(sql, (self.number, first, last))?;
        Ok(())
    }
}

/// Returns the ids of shared sessions.
pub(crate) fn shared(db: &Connection) -> Result<Vec<String>> {
    db.rows("SELECT id FROM sessions WHERE NOT private ORDER BY number", (), |row| row.get(0))
}

/// Marks sessions as shared.
pub(crate) fn set_shared(db: &Connection, ids: &[String]) -> Result<()> {
    for id in ids {
        db.run("UPDATE sessions SET private = false WHERE id = $1", [id])?;
    }
    Ok(())
}

/// Returns the formats of sessions by id, except the plain format.
pub(crate) fn formats(db: &Connection) -> Result<BTreeMap<String, String>> {
    let sql = "SELECT id, format FROM sessions WHERE format NOT IN ('jsonl', 'import') ORDER BY number";
    Ok(db.rows(sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().collect())
}

/// Sets the formats of sessions that have none or the plain one.
pub(crate) fn set_formats(db: &Connection, formats: &BTreeMap<String, String>) -> Result<()> {
    let is_word =
        |format: &str| format.len() <= 32 && format.bytes().all(|c| c.is_ascii_lowercase() || c == b'-');
    let sql = "UPDATE sessions SET format = $2 WHERE id = $1 AND format IN ('jsonl', 'import')";
    for (id, format) in formats.iter().filter(|(_, format)| is_word(format)) {
        db.run(sql, (id, format))?;
    }
    Ok(())
}

/// Returns the projects of sessions by id.
pub(crate) fn projects(db: &Connection) -> Result<BTreeMap<String, ProjectName>> {
    let sql = "SELECT id, project FROM sessions WHERE project IS NOT NULL ORDER BY number";
    Ok(db.rows(sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().collect())
}

/// Sets the projects of sessions that have none.
pub(crate) fn set_projects(db: &Connection, projects: &BTreeMap<String, ProjectName>) -> Result<()> {
    for (id, project) in projects {
        db.run("UPDATE sessions SET project = $2 WHERE id = $1 AND project IS NULL", (id, project))?;
    }
    Ok(())
}

/// Returns the origins of sessions by id.
pub(crate) fn origins(db: &Connection) -> Result<BTreeMap<String, RecordOrigin>> {
    let sql = "SELECT id, origin FROM sessions ORDER BY number";
    Ok(db.rows(sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().collect())
}

/// Sets the origins of sessions and of their messages.
pub(crate) fn set_origins<'a>(
    db: &Connection,
    origins: impl Iterator<Item = (&'a String, &'a RecordOrigin)>,
) -> Result<()> {
    for (id, origin) in origins {
        db.run("UPDATE sessions SET origin = $2 WHERE id = $1", (id, origin))?;
        let sql = "UPDATE passages SET origin = $2
            WHERE kind = 'message' AND session = (SELECT number FROM sessions WHERE id = $1)";
        db.run(sql, (id, origin))?;
    }
    Ok(())
}

/// Returns whether a session with this id exists.
pub(super) fn is_known(db: &Connection, id: &str) -> Result<bool> {
    db.one("SELECT EXISTS (SELECT 1 FROM sessions WHERE id = $1)", [id], |row| row.get(0))
}

/// Returns the ids of sessions that do not exist.
pub(crate) fn absent(db: &Connection, ids: &[String]) -> Result<Vec<String>> {
    let mut absent = Vec::new();
    for id in ids {
        if !is_known(db, id)? {
            absent.push(id.clone());
        }
    }
    Ok(absent)
}

/// Returns all messages as lines of JSON, in their original order, as an import reads them.
pub(crate) fn lines(db: &Connection, step: &mut dyn FnMut(usize)) -> Result<String> {
    let sql = "SELECT sessions.id, ref, author, text, passages.at FROM passages
        JOIN sessions ON sessions.number = passages.session WHERE kind = 'message' ORDER BY passages.id";
    let mut lines = String::new();
    db.each(sql, (), |row| {
        let (session, reference) = (row.text(0)?, row.text(1)?);
        let id = reference.strip_prefix(&format!("{session}/")).unwrap_or(reference);
        let author: Option<String> = row.get(2)?;
        let (text, at) = (row.text(3)?, row.get::<Time>(4)?);
        let line = json!({ "id": id, "session": session, "speaker": author, "text": text, "timestamp": at });
        lines.push_str(&line.to_string());
        lines.push('\n');
        step(1);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(lines)
}

fn is_present(db: &Connection, reference: &str) -> Result<bool> {
    let sql = "SELECT 1 FROM passages WHERE kind = 'message' AND ref = $1";
    Ok(db.row(sql, [reference], |_| Ok(()))?.is_some())
}
