//! Transcripts as files that other machines have as well: found, read and replaced, and how their messages get into the database.
//!
//! A file is known by its plain name, `<session>.jsonl`, whether it is packed or not. The original of a rewritten transcript,
//! `archive/<session>~<number>.jsonl`, is a file of its own.

use std::collections::{BTreeMap, HashMap};

use super::ingest::{self, Author};
use super::lock::Lock;
use super::transcript::{self, Line, Transcript};
use super::{listing, retention};
use crate::base::caller::{Caller, Visibility};
use crate::base::ids::{ProjectName, SessionId};
use crate::base::origin::RecordOrigin;
use crate::base::{Error, Result};
use crate::group::View;
use crate::index;
use crate::store::{ARCHIVE_FOLDER, Connection, Files};

/// Returns the transcripts of a group in a folder by their plain names, each with a mark that differs after every change.
pub(crate) fn marks(files: &Files) -> BTreeMap<String, String> {
    let mut marks: BTreeMap<String, String> = BTreeMap::new();
    for name in files.transcripts() {
        let Some(mark) = files.transcript_mark(&name) else { continue };
        match name.strip_prefix(ARCHIVE_FOLDER).and_then(|rest| rest.strip_prefix('/')?.strip_suffix(".gz")) {
            // Where both are there, a process was interrupted, and the plain file counts.
            Some(plain) => drop(marks.entry(plain.to_owned()).or_insert(mark)),
            None => drop(marks.insert(name, mark)),
        }
    }
    marks.retain(|name, _| session_of(name).is_some());
    marks
}

/// Returns the mark of one file; `None` if it is not there.
pub(crate) fn mark(files: &Files, name: &str) -> Option<String> {
    files.transcript_mark(name).or_else(|| files.transcript_mark(&format!("{ARCHIVE_FOLDER}/{name}.gz")))
}

/// Returns the session of a transcript or of the original of one; `None` if no transcript has this name.
pub(crate) fn session_of(name: &str) -> Option<SessionId> {
    let stem = name.strip_suffix(".jsonl")?;
    let original = stem.strip_prefix(ARCHIVE_FOLDER).and_then(|rest| rest.strip_prefix('/')?.split_once('~'));
    let is_number =
        |number: &str| (1..=9).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    let stem = match original {
        Some((stem, number)) if is_number(number) => stem,
        Some(_) => return None,
        None => stem,
    };
    let session: SessionId = transcript::decoded(stem)?.parse().ok()?;
    (transcript::encoded(&session).ok()? == stem).then_some(session)
}

/// Tells whether the folder of the transcripts is in the group: a link leads out of it.
pub(crate) fn is_writable(files: &Files) -> bool {
    ["", ARCHIVE_FOLDER].iter().all(|folder| !files.transcript_at(folder).is_symlink())
}

/// Tells whether a file is the original of a rewritten transcript.
pub(crate) fn is_original(name: &str) -> bool {
    name.starts_with(ARCHIVE_FOLDER) && name.contains('~')
}

/// Returns the lines of a file with the bytes of each, without an incomplete last one.
pub(crate) fn read(files: &Files, name: &str) -> Result<Vec<String>> {
    let bytes = match is_original(name) {
        true if files.has_transcript(name) => files.read_transcript(name)?,
        true => Vec::new(),
        false => {
            let Some(session) = session_of(name) else { return Ok(Vec::new()) };
            let mut bytes = Vec::new();
            if let Some(mut input) = Transcript::of(files, &session)?.open()? {
                input.read_to_end(&mut bytes).map_err(Error::io(&files.transcript_at(name)))?;
            }
            bytes
        }
    };
    let complete = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let lines = bytes[..complete].split_inclusive(|byte| *byte == b'\n');
    Ok(lines.map(|line| String::from_utf8_lossy(&line[..line.len() - 1]).into_owned()).collect())
}

/// Brings new lines of a transcript into the database, as those of a process that was killed before it could.
pub(crate) fn catch_up(view: &mut View<'_>, name: &str, lock: &Lock) -> Result<()> {
    let Some(session) = session_of(name).filter(|_| !is_original(name)) else { return Ok(()) };
    let transcript = Transcript::of(view.files(), &session)?;
    ingest::catch_up(view, &session, &transcript, Author::Unknown, lock).map(drop)
}

/// How a file of another machine is brought in.
pub(crate) enum Content {
    /// These lines follow those that are there.
    Append(Vec<String>),
    /// These are all its lines.
    Replace(Vec<String>),
}

/// Writes a file. One without lines is removed.
pub(crate) fn write(view: &mut View<'_>, name: &str, content: &Content, lock: &Lock) -> Result<()> {
    let Some(session) = session_of(name) else { return Ok(()) };
    let transcript = Transcript::of(view.files(), &session)?;
    if !is_original(name) {
        retention::unarchive(view, &session, &transcript, lock)?;
        transcript.repair_end(lock)?;
    }
    let files = view.files();
    let whole =
        |lines: &[String]| lines.iter().flat_map(|line| [line, "\n"]).collect::<String>().into_bytes();
    match content {
        Content::Append(lines) if files.has_transcript(name) => {
            files.append_transcript(name, &whole(lines)).map(drop)
        }
        Content::Replace(lines) if lines.is_empty() && files.has_transcript(name) => {
            files.remove_transcript(name)
        }
        Content::Replace(lines) if lines.is_empty() => Ok(()),
        Content::Append(lines) | Content::Replace(lines) => files.write_transcript(name, &whole(lines)),
    }
}

/// Lines of another machine that are in a transcript now.
#[derive(Default)]
pub(crate) struct Arrival {
    pub(crate) private: bool,
    pub(crate) project: Option<ProjectName>,
    /// Each message with its origin.
    pub(crate) messages: Vec<(String, RecordOrigin)>,
    /// Whether lines were removed or inserted, so that the file has to be read from its start.
    pub(crate) again: bool,
}

/// Reads the lines of another machine, which are in their file now, into the index. `private` tells whether the session is, as
/// `open` said.
pub(crate) fn index_lines(
    view: &mut View<'_>,
    name: &str,
    arrival: &Arrival,
    private: bool,
    lock: &Lock,
) -> Result<()> {
    let Some(session) = session_of(name) else { return Ok(()) };
    let visibility = if private { Visibility::Private } else { Visibility::Shared };
    let caller = Caller { visibility, project_folder: None, ..view.caller().clone() };
    let view = &mut view.enter(&caller)?;
    if is_original(name) {
        let lines = read(view.files(), name)?;
        let lines: Vec<(u64, Line)> =
            lines.iter().filter_map(|line| Some((0, Line::read(line.as_bytes())?))).collect();
        return ingest::index_original(view, &session, &lines);
    }
    if arrival.again {
        let first = first_hashes(view.files(), name)?;
        view.write_derived(|tx, _| read_again(tx, &session, &first))?;
    }
    let transcript = Transcript::of(view.files(), &session)?;
    ingest::catch_up(view, &session, &transcript, Author::Caller, lock).map(drop)
}

/// Gives a session and its new messages the origin that they have where they were said: reading gave them that of the caller of
/// the round.
pub(crate) fn settle(
    tx: &Connection,
    files: &Files,
    name: &str,
    arrival: &Arrival,
    origin: RecordOrigin,
) -> Result<()> {
    let Some(session) = session_of(name) else { return Ok(()) };
    tx.run("UPDATE sessions SET origin = $2 WHERE id = $1", (&session, origin))?;
    for (id, origin) in &arrival.messages {
        let reference = format!("{session}/{id}");
        index::set_origin(tx, "message", &reference, *origin)?;
        // The machine on which it was said distils it.
        let sql = "INSERT INTO distil_read (session, message) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        tx.run(sql, (&session, &reference))?;
    }
    if Transcript::of(files, &session)?.exists() { Ok(()) } else { forget_empty(tx, &session) }
}

/// Notes a session before its lines are read, so that nobody sees a private one. Returns whether it is private, and its origin.
pub(crate) fn open(tx: &Connection, name: &str, arrival: &Arrival) -> Result<(bool, RecordOrigin)> {
    let Some(session) = &session_of(name) else { return Ok((true, RecordOrigin::default())) };
    let sql = "SELECT private, origin FROM sessions WHERE id = $1";
    let known: Option<(bool, RecordOrigin)> = tx.row(sql, [session], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let arrived = arrival.messages.iter().map(|(_, origin)| *origin).max();
    let (private, origin) = match (known, arrived) {
        (Some((private, known)), arrived) => {
            (private || arrival.private, arrived.map_or(known, |arrived| arrived.weakest(known)))
        }
        (None, Some(arrived)) => (arrival.private, arrived),
        (None, None) => return Ok((arrival.private, RecordOrigin::default())),
    };
    let sql =
        "INSERT INTO sessions (id, format, private, project, origin) VALUES ($1, 'transcript', $2, $3, $4)
        ON CONFLICT (id) DO UPDATE SET private = excluded.private, origin = excluded.origin,
            project = coalesce(sessions.project, excluded.project)";
    tx.run(sql, (session, private, &arrival.project, origin))?;
    Ok((private, origin))
}

/// Writes the list of transcripts.
pub(crate) fn list(view: &View<'_>, lock: &Lock) -> Result<()> {
    listing::write(view, lock)
}

/// Returns the hash of the first line with each key.
fn first_hashes(files: &Files, name: &str) -> Result<HashMap<String, String>> {
    let mut first = HashMap::new();
    for line in read(files, name)?.iter().filter_map(|line| Line::read(line.as_bytes())) {
        first.entry(line.key()).or_insert_with(|| line.hash());
    }
    Ok(first)
}

/// Prepares a transcript to be read from its start. Of two lines with one key, the first one is searched on every machine.
fn read_again(tx: &Connection, session: &SessionId, first: &HashMap<String, String>) -> Result<()> {
    let sql = "SELECT id, hash FROM transcript_ids WHERE session = $1";
    let known: Vec<(String, String)> = tx.rows(sql, [session], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (key, hash) in known {
        if first.get(&key).is_some_and(|first| *first != hash) {
            forget_message(tx, session, &key)?;
        }
    }
    let Some(state) = ingest::load(tx, session)? else { return Ok(()) };
    let ended_at = state.ended_at;
    let mut state = state.again();
    state.ended_at = ended_at;
    ingest::save(tx, session, &state)
}

/// Removes what was read of a line with this key.
pub(crate) fn forget_message(tx: &Connection, session: &SessionId, key: &str) -> Result<()> {
    tx.run("DELETE FROM transcript_ids WHERE session = $1 AND id = $2", (session, key))?;
    index::remove(tx, "message", &format!("{session}/{key}"))
}

/// Forgets a session of which nothing is left.
fn forget_empty(tx: &Connection, session: &SessionId) -> Result<()> {
    for table in ["transcripts", "transcript_ids", "flushes"] {
        tx.run(&format!("DELETE FROM {table} WHERE session = $1"), [session])?;
    }
    let sql = "DELETE FROM sessions WHERE id = $1
        AND NOT EXISTS (SELECT 1 FROM passages WHERE passages.session = sessions.number)
        AND NOT EXISTS (SELECT 1 FROM exchanges WHERE exchanges.session = sessions.id)";
    tx.run(sql, [session]).map(drop)
}

/// The properties of a session that its lines carry to other machines.
pub(crate) struct Provenance {
    pub(crate) private: bool,
    pub(crate) project: Option<ProjectName>,
    origin: RecordOrigin,
}

/// Returns what is known of a session. One that nobody knows is private.
pub(crate) fn provenance(db: &Connection, session: &SessionId) -> Result<Provenance> {
    let sql = "SELECT private, project, origin FROM sessions WHERE id = $1";
    let found = db.row(sql, [session], |row| {
        Ok(Provenance { private: row.get(0)?, project: row.get(1)?, origin: row.get(2)? })
    })?;
    Ok(found.unwrap_or(Provenance { private: true, project: None, origin: RecordOrigin::default() }))
}

impl Provenance {
    /// Returns the origin of one message.
    pub(crate) fn origin_of(
        &self,
        db: &Connection,
        session: &SessionId,
        line: Option<&Line>,
    ) -> Result<RecordOrigin> {
        let Some(line) = line else { return Ok(self.origin) };
        let sql = "SELECT origin FROM passages WHERE kind = 'message' AND ref = $1";
        Ok(db.row(sql, [format!("{session}/{}", line.id)], |row| row.get(0))?.unwrap_or(self.origin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_transcript_has_is_refused() {
        for (name, session) in [
            ("talk.jsonl", Some("talk")),
            ("a%7E1.jsonl", Some("a~1")),
            ("archive/talk~2.jsonl", Some("talk")),
            ("archive/talk.jsonl", None),
            ("archive/talk~.jsonl", None),
            ("archive/talk~x.jsonl", None),
            ("archive/../talk~1.jsonl", None),
            ("../talk.jsonl", None),
            ("a/b.jsonl", None),
            (".hidden.jsonl", None),
            ("/etc/passwd.jsonl", None),
            ("talk~1.jsonl", None),
            ("talk.torn-7", None),
            ("sessions.json", None),
            (".jsonl", None),
            ("%74alk.jsonl", None),
        ] {
            let found = session_of(name).map(|session| session.to_string());
            assert_eq!(found.as_deref(), session, "{name}");
        }
    }
}
