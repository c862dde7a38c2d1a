//! Lists sessions, and shows the messages of one.

use schemars::JsonSchema;
use serde::Serialize;

use super::record::is_known;
use crate::base::frame::one_line;
use crate::base::ids::ProjectName;
use crate::base::redact::redact;
use crate::base::text::{cut, nearest, shorten};
use crate::base::{Error, Result, Time};
use crate::store::{Connection, Row};

/// A session, without its messages.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the field names explain themselves")]
pub struct Session {
    pub id: String,
    /// The beginning of its first message, preferably the user's.
    pub title: String,
    pub messages: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Time>,
    /// The project in which it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub project: Option<ProjectName>,
    /// The format of its transcript: transcript, jsonl, claude-code, codex, chatgpt or claude.
    pub format: String,
    /// Whether its transcript is packed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
}

/// A message of a session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the field names explain themselves")]
pub struct SessionMessage {
    /// Its position in the session, from 1.
    pub number: usize,
    /// The id it was imported with.
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    pub at: Time,
    pub text: String,
}

redact! {
    Session { id, title, project, format / messages, started_at, ended_at, archived }
    SessionMessage { id, author, text / number, at }
}

/// The most characters of a title.
const MAX_TITLE_CHARS: usize = 80;

const COLUMNS: &str =
    "SELECT id, (SELECT count(*) FROM passages WHERE passages.session = sessions.number AND live),
    started_at, ended_at, format, number,
    EXISTS (SELECT 1 FROM transcripts WHERE session = sessions.id AND archived_at IS NOT NULL),
    (SELECT text FROM passages WHERE passages.session = sessions.number AND live
        ORDER BY coalesce(author, '') = 'user' DESC, seq, passages.id LIMIT 1), project FROM sessions";

/// Returns the newest sessions, and the number of all sessions.
pub(crate) fn list(db: &Connection, limit: usize) -> Result<(Vec<Session>, i64)> {
    let sql = format!("{COLUMNS} ORDER BY ended_at DESC NULLS LAST, number DESC LIMIT $1");
    let sessions = db.rows(&sql, [limit], session)?;
    Ok((sessions, db.one("SELECT count(*) FROM sessions", (), |row| row.get(0))?))
}

/// Returns a session by its id or a unique beginning of it, with its messages starting at number `from`.
pub(crate) fn show(
    db: &Connection,
    given: &str,
    from: usize,
    limit: usize,
) -> Result<(Session, Vec<SessionMessage>)> {
    let id = resolve(db, given)?;
    let sql = format!("{COLUMNS} WHERE id = $1");
    let (session, number): (Session, i64) = db.one(&sql, [&id], |row| Ok((session(row)?, row.get(5)?)))?;
    let sql = "SELECT ref, author, at, text FROM passages WHERE session = $1 AND live
        ORDER BY seq, id LIMIT $2 OFFSET $3";
    let skip = from.saturating_sub(1);
    let mut place = skip;
    let said = db.rows(sql, (number, limit, skip), |row| {
        place += 1;
        let reference = row.text(0)?;
        let message = reference.strip_prefix(&format!("{id}/")).unwrap_or(reference).to_owned();
        Ok(SessionMessage {
            number: place,
            id: message,
            author: row.get(1)?,
            at: row.get(2)?,
            text: row.get(3)?,
        })
    })?;
    Ok((session, said))
}

/// Returns the author and the text of the message that follows another one in its session.
pub(crate) fn next_message(db: &Connection, reference: &str) -> Result<Option<(Option<String>, String)>> {
    let sql = "SELECT next.author, next.text FROM passages AS this
        JOIN passages AS next ON next.session = this.session AND next.live AND next.seq > this.seq
        WHERE this.ref = $1 AND this.live ORDER BY next.seq, next.id LIMIT 1";
    db.row(sql, [reference], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Resolves an id or a unique beginning of one. An exact match wins.
pub(crate) fn resolve(db: &Connection, given: &str) -> Result<String> {
    if is_known(db, given)? {
        return Ok(given.to_owned());
    }
    let newest = "ORDER BY ended_at DESC NULLS LAST, number DESC";
    let begins =
        format!("SELECT id FROM sessions WHERE $1 <> '' AND substr(id, 1, length($1)) = $1 {newest}");
    let mut found: Vec<String> = db.rows(&begins, [given], |row| row.get(0))?;
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => {
            let sql = format!("SELECT id FROM sessions {newest} LIMIT 1000");
            let known: Vec<String> = db.rows(&sql, (), |row| row.get(0))?;
            let near = nearest(given, known.iter().map(String::as_str)).map(shorten);
            Err(Error::NoSession { given: shorten(given), nearest: near })
        }
        count => {
            let some: Vec<String> = found.iter().take(3).map(|id| format!("`{}`", shorten(id))).collect();
            Err(Error::ManySessions { given: shorten(given), count, some: some.join(", ") })
        }
    }
}

fn session(row: &Row<'_>) -> Result<Session> {
    Ok(Session {
        id: row.get(0)?,
        messages: row.get(1)?,
        started_at: row.get(2)?,
        ended_at: row.get(3)?,
        format: row.get(4)?,
        archived: row.get(6)?,
        title: cut(&one_line(&row.get::<Option<String>>(7)?.unwrap_or_default()), MAX_TITLE_CHARS),
        project: row.get(8)?,
    })
}
