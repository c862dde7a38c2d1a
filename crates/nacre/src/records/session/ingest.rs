//! Brings transcripts into the database: how far a file was read, and which of its messages are searchable.
//!
//! A line is durable in the file before the database learns of it. If a process dies in between, the next one
//! continues from the byte position in the database. Lines that were read before are skipped, so reading them
//! again has no effect.

use std::io::{Read, Seek, SeekFrom};

use super::context;
use super::import::{self, Message};
use super::lock::{Lock, lock};
use super::record::{is_known, record};
use super::transcript::{self, Forwards, Line, Role, Transcript};
use crate::base::caller::{Caller, Visibility};
use crate::base::ids::SessionId;
use crate::base::origin::RecordOrigin;
use crate::base::{Error, Result, Time};
use crate::group::View;
use crate::store::{Connection, Row};

/// The maximum number of lines in one transaction.
const MAX_BATCH_LINES: usize = 1_000;
/// The maximum number of bytes in one transaction.
const MAX_BATCH_BYTES: u64 = 4 << 20;
/// How many bytes at the beginning identify a file.
const HEAD_BYTES: usize = 256;

/// The state of a transcript in the database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) taken: u64,
    head: String,
    pub(crate) lines: i64,
    /// The tokens of all lines since the last compaction. The context has at most this many.
    pub(crate) tokens: i64,
    pub(crate) summary_at: Option<u64>,
    pub(crate) compactions: i64,
    /// The key of the last line that a summary entry covers.
    pub(crate) narrated: Option<String>,
    pub(crate) first_at: Option<Time>,
    pub(crate) last_at: Option<Time>,
    pub(crate) ended_at: Option<Time>,
    pub(crate) archived_at: Option<Time>,
}

impl State {
    /// Returns the state before the file is read from its start again.
    pub(crate) fn again(self) -> State {
        State { compactions: self.compactions, narrated: self.narrated, ..State::default() }
    }
}

/// Refuses a session that the caller can't see, as if it had no transcript. A file that the database does not
/// know may contain private messages: its writer was killed, or the database was lost.
pub(crate) fn check_seen(view: &View<'_>, caller: &Caller, session: &SessionId) -> Result<()> {
    let known = |db: &Connection| is_known(db, session.as_str());
    let hidden = match view.read_all(known)? {
        true => !view.read(known)?,
        false => !caller.visibility.is_private() && Transcript::of(view.files(), session)?.exists(),
    };
    if hidden {
        Err(Error::NoTranscript { given: crate::base::text::shorten(session.as_str()) })
    } else {
        Ok(())
    }
}

/// Returns whether a session is private. An unknown session is.
pub(crate) fn is_private(db: &Connection, session: &SessionId) -> Result<bool> {
    let sql = "SELECT private FROM sessions WHERE id = $1";
    Ok(db.row(sql, [session], |row| row.get(0))?.unwrap_or(true))
}

/// Returns the weakest origin of a session's messages, if it has any.
pub(crate) fn origin(db: &Connection, session: &SessionId) -> Result<Option<RecordOrigin>> {
    db.row("SELECT origin FROM sessions WHERE id = $1", [session], |row| row.get(0))
}

/// Returns the state of a transcript, if any of it was read.
pub(crate) fn load(db: &Connection, session: &SessionId) -> Result<Option<State>> {
    let sql = format!("SELECT {COLUMNS} FROM transcripts WHERE session = $1");
    db.row(&sql, [session], from_row)
}

const COLUMNS: &str =
    "taken, head, lines, tokens, summary_at, compactions, narrated, first_at, last_at, ended_at, archived_at";

/// Returns the states of all transcripts.
pub(crate) fn all(db: &Connection) -> Result<Vec<(String, State)>> {
    let sql = format!("SELECT {COLUMNS}, session FROM transcripts ORDER BY session");
    db.rows(&sql, (), |row| Ok((row.get(11)?, from_row(row)?)))
}

fn from_row(row: &Row<'_>) -> Result<State> {
    Ok(State {
        taken: row.get(0)?,
        head: row.get(1)?,
        lines: row.get(2)?,
        tokens: row.get(3)?,
        summary_at: row.get(4)?,
        compactions: row.get(5)?,
        narrated: row.get(6)?,
        first_at: row.get(7)?,
        last_at: row.get(8)?,
        ended_at: row.get(9)?,
        archived_at: row.get(10)?,
    })
}

pub(crate) fn save(db: &Connection, session: &SessionId, state: &State) -> Result<()> {
    let sql = format!(
        "INSERT INTO transcripts ({COLUMNS}, session) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
        ON CONFLICT (session) DO UPDATE SET taken = excluded.taken, head = excluded.head, lines = excluded.lines,
            tokens = excluded.tokens, summary_at = excluded.summary_at, compactions = excluded.compactions,
            narrated = excluded.narrated, first_at = excluded.first_at, last_at = excluded.last_at,
            ended_at = excluded.ended_at, archived_at = excluded.archived_at"
    );
    let values = (
        state.taken,
        &state.head,
        state.lines,
        state.tokens,
        state.summary_at,
        state.compactions,
        &state.narrated,
        state.first_at,
        state.last_at,
        state.ended_at,
        state.archived_at,
        session,
    );
    db.run(&sql, values)?;
    Ok(())
}

/// Returns the hash of the line with this key.
pub(crate) fn line_hash(db: &Connection, session: &SessionId, key: &str) -> Result<Option<String>> {
    let sql = "SELECT hash FROM transcript_ids WHERE session = $1 AND id = $2";
    db.row(sql, (session, key), |row| row.get(0))
}

/// Anomalies in a file that the caller should know about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Anomalies {
    /// The number of lines that are not valid.
    pub(crate) invalid: usize,
    /// Ids that occur again with different content.
    pub(crate) duplicate_ids: Vec<String>,
    /// Whether a line is older than the line before it.
    pub(crate) clock_went_back: bool,
}

impl Anomalies {
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        match self.invalid {
            0 => {}
            1 => warnings.push("skipped 1 invalid line of the transcript".to_owned()),
            count => warnings.push(format!("skipped {count} invalid lines of the transcript")),
        }
        if let Some(first) = self.duplicate_ids.first() {
            let count = self.duplicate_ids.len();
            warnings.push(format!(
                "{count} ids occur twice in the transcript, first `{first}`; only the first line of each is searched"
            ));
        }
        if self.clock_went_back {
            warnings.push(
                "the clock went back: a line is older than the line before it; the order of the file is kept"
                    .to_owned(),
            );
        }
        warnings
    }
}

/// The author of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// The caller. The lines are as private as its session.
    Caller,
    /// Unknown: a process that was killed before the database learned of the lines. An unknown session is
    /// private.
    Unknown,
}

/// Reads the lines of the file that the database does not have. Returns the new state of the transcript.
pub(crate) fn catch_up(
    view: &mut View<'_>,
    session: &SessionId,
    transcript: &Transcript,
    author: Author,
    _lock: &Lock,
) -> Result<(State, Anomalies)> {
    let mut state = view.read_all(|db| load(db, session))?.unwrap_or_default();
    let mut anomalies = Anomalies::default();
    let Some(mut input) = transcript.open()? else {
        if state.taken > 0 {
            // The file was deleted. Its messages stay searchable, and a new file starts from the beginning.
            state = state.again();
            view.write(|tx| {
                tx.run("DELETE FROM transcript_ids WHERE session = $1", [session])?;
                save(tx, session, &state)
            })?;
        }
        return Ok((state, anomalies));
    };
    let path = transcript.place();
    let length = input.seek(SeekFrom::End(0)).map_err(Error::io(&path))?;
    let begins = head(&mut input).map_err(Error::io(&path))?;
    if state.taken == length && state.head == begins {
        return Ok((state, anomalies));
    }
    if state.taken > length || (state.taken > 0 && state.head != begins) {
        // The file was replaced. Lines that occur in both are not recorded twice.
        state = state.again();
    }
    state.head = begins;
    let mut lines = Forwards::from(input, state.taken).map_err(Error::io(&path))?;
    let mut compacted = false;
    loop {
        let mut batch = Vec::new();
        let start = lines.at;
        while batch.len() < MAX_BATCH_LINES && lines.at - start < MAX_BATCH_BYTES {
            match lines.next().map_err(Error::io(&path))? {
                Some((at, bytes)) => batch.push((at, bytes)),
                None => break,
            }
        }
        if batch.is_empty() {
            break;
        }
        let mut read = Vec::new();
        for (at, bytes) in &batch {
            match Line::read(bytes) {
                Some(line) => read.push((*at, line)),
                None if bytes.trim_ascii().is_empty() && !bytes.is_empty() => {}
                None => anomalies.invalid += 1,
            }
        }
        compacted |= read.iter().any(|(_, line)| line.role == Role::Summary);
        state.taken = lines.at;
        write_lines(view, session, &mut state, &read, author, &mut anomalies)?;
    }
    if compacted {
        state.tokens = context::tokens(view, transcript)?;
        view.write(|tx| save(tx, session, &state))?;
    }
    Ok((state, anomalies))
}

/// Brings the lines of a rewritten transcript's original into the database. How far the transcript was read stays.
pub(super) fn index_original(view: &mut View<'_>, session: &SessionId, lines: &[(u64, Line)]) -> Result<()> {
    let before = view.read_all(|db| load(db, session))?.unwrap_or_default();
    write_lines(view, session, &mut before.clone(), lines, Author::Unknown, &mut Anomalies::default())?;
    view.write(|tx| save(tx, session, &before))
}

/// Writes lines and the new state in one transaction.
pub(crate) fn write_lines(
    view: &mut View<'_>,
    session: &SessionId,
    state: &mut State,
    lines: &[(u64, Line)],
    author: Author,
    anomalies: &mut Anomalies,
) -> Result<()> {
    let caller = view.caller();
    let seq = u32::try_from(state.lines).unwrap_or(u32::MAX);
    let mut after = state.clone();
    let mut found = Anomalies::default();
    view.write_derived(|tx, lexicon| {
        let values = record_keys(tx, session, &mut after, lines, &mut found)?;
        let mut messages: Vec<Message> = Vec::new();
        import::read_own(&values, session.as_str(), seq, |message| {
            messages.push(message);
            Ok(())
        })?;
        let known = is_known(tx, session.as_str())?;
        let visibility = match author {
            Author::Unknown if !known => Visibility::Private,
            Author::Unknown | Author::Caller => caller.visibility,
        };
        let caller = &Caller { visibility, ..caller.clone() };
        record(tx, lexicon, caller, &messages, "session_append")?;
        let sql = "INSERT INTO sessions (id, format, started_at, ended_at, private) VALUES ($1, 'transcript', $2, $3, $4)
            ON CONFLICT (id) DO UPDATE SET format = 'transcript' WHERE sessions.format = 'import'";
        tx.run(sql, (session, after.first_at, after.last_at, visibility.is_private()))?;
        save(tx, session, &after)
    })?;
    *state = after;
    anomalies.invalid += found.invalid;
    anomalies.duplicate_ids.extend(found.duplicate_ids);
    anomalies.clock_went_back |= found.clock_went_back;
    Ok(())
}

/// Records the keys of lines. Returns the new lines as JSON values.
fn record_keys(
    tx: &Connection,
    session: &SessionId,
    state: &mut State,
    lines: &[(u64, Line)],
    anomalies: &mut Anomalies,
) -> Result<Vec<serde_json::Value>> {
    let mut values = Vec::new();
    for (at, line) in lines {
        let (key, hash) = (line.key(), line.hash());
        state.lines += 1;
        state.tokens += i64::try_from(line.tokens()).unwrap_or(i64::MAX);
        anomalies.clock_went_back |= state.last_at.is_some_and(|last| line.timestamp < last);
        state.first_at = Some(state.first_at.map_or(line.timestamp, |first| first.min(line.timestamp)));
        state.last_at = Some(state.last_at.map_or(line.timestamp, |last| last.max(line.timestamp)));
        if line.role == Role::Summary {
            state.summary_at = Some(*at);
            // Another program may have written the summary, so its number may be missing or too large.
            let number = line.id.rsplit('_').next().and_then(|number| number.parse::<u32>().ok());
            state.compactions = state.compactions.max(number.unwrap_or(0).into());
        }
        match line_hash(tx, session, &key)? {
            Some(same) if same == hash => {}
            Some(_) => anomalies.duplicate_ids.push(line.id.clone()),
            None => {
                let sql = "INSERT INTO transcript_ids (session, id, hash) VALUES ($1, $2, $3)";
                tx.run(sql, (session, key, hash))?;
                if !line.is_silence() {
                    values.push(serde_json::to_value(line)?);
                }
            }
        }
    }
    Ok(values)
}

/// Hashes the beginning of a file: its first line, or its first bytes if the line is long.
fn head(input: &mut (impl Read + Seek)) -> std::io::Result<String> {
    input.seek(SeekFrom::Start(0))?;
    let mut begins = Vec::new();
    input.take(HEAD_BYTES as u64).read_to_end(&mut begins)?;
    let end = begins.iter().position(|byte| *byte == b'\n').unwrap_or(begins.len());
    Ok(blake3::hash(&begins[..end]).to_hex()[..16].to_owned())
}

/// Reads the new lines of all transcripts. Returns how many transcripts had some.
pub(crate) fn catch_up_all(view: &mut View<'_>) -> Result<usize> {
    let ids = transcript::all(view.files());
    if ids.is_empty() {
        return Ok(0);
    }
    let lock = lock(view)?;
    let mut changed = 0;
    for id in ids {
        let transcript = Transcript::of(view.files(), &id)?;
        let before = view.read_all(|db| load(db, &id))?;
        // An archived transcript does not change.
        if before.as_ref().is_some_and(|state| state.archived_at.is_some()) && !transcript.is_plain() {
            continue;
        }
        // An unreadable transcript does not stop the others. A caller that asks for it gets the error.
        if let Ok((after, _)) = catch_up(view, &id, &transcript, Author::Unknown, &lock) {
            changed += usize::from(before.as_ref() != Some(&after));
        }
    }
    Ok(changed)
}
