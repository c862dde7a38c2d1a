//! Exchanges: one user message with the agent's answer, archived for continuity across sessions.
//!
//! An exchange is a row and, unless it is noise, a passage in the scope of sessions. Both are written in one
//! transaction with the audit row. If the transcript of the same session is imported too, before or after,
//! only its messages are searchable, so that nothing is found twice.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::said;
use crate::base::ids::{ProjectName, SessionId};
use crate::base::origin::RecordOrigin;
use crate::base::redact;
use crate::base::text::cut;
use crate::base::words::{self, List};
use crate::base::{Result, Time};
use crate::index::{self, Passage, analyse};
use crate::records::tombstone::Tombstones;
use crate::store::{self, Connection};

/// The passage kind of an exchange.
pub(crate) const KIND: &str = index::EXCHANGE;

/// The maximum length of each side, in characters.
const MAX_SIDE_CHARS: usize = 6_000;

/// Returns the part of a side that is stored.
pub(crate) fn stored_text(text: &str) -> String {
    cut(&redact::text(&said::own(text)), MAX_SIDE_CHARS)
}

/// An exchange. One side may be empty, but not both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// The user's message.
    pub user: String,
    /// The agent's answer.
    pub agent: String,
    /// The time of the exchange.
    pub at: Time,
}

/// A row of `exchanges`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) session: String,
    pub(crate) user: String,
    pub(crate) agent: String,
    pub(crate) at: Time,
    pub(crate) searchable: bool,
    /// Absent in older exports, which are treated as private.
    #[serde(default = "private_by_default")]
    pub(crate) private: bool,
    /// The project in which it was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) project: Option<ProjectName>,
    /// The weaker origin of its two sides.
    #[serde(default)]
    pub(crate) origin: RecordOrigin,
}

fn private_by_default() -> bool {
    true
}

/// Inserts an exchange and its passage.
pub(crate) fn insert(db: &Connection, row: &Row) -> Result<()> {
    let said = text_hash(&row.user);
    let searchable = row.searchable && (row.user.is_empty() || !is_in_transcript(db, &row.session, &said)?);
    let (session, seq) = if searchable { place(db, row)? } else { (0, 0) };
    let sql = r#"INSERT INTO exchanges (id, session, "user", agent, at, seq, said, searchable, private, project, origin)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"#;
    let Row { id, session: name, user, agent, at, private, project, origin, .. } = row;
    db.run(sql, (id, name, user, agent, at, seq, said, searchable, private, project, origin))?;
    if searchable {
        index::put(db, &passage(row, (session, seq)))?;
    }
    Ok(())
}

/// Inserts an exchange from an export, unless it exists. The id is computed again because an export is not
/// trusted.
pub(crate) fn insert_new(db: &Connection, row: &Row) -> Result<bool> {
    let deleted = Tombstones::load(db)?;
    let [user, agent] = [&row.user, &row.agent].map(|text| deleted.mask(&stored_text(text)).into_owned());
    let id = hash(&[&row.session, &user, &agent]);
    if user.is_empty()
        || agent.is_empty()
        || row.session.parse::<SessionId>().is_err()
        || is_present(db, &id)?
    {
        return Ok(false);
    }
    let searchable = !is_noise(&user, &agent);
    let (session, private, project) = (row.session.clone(), row.private, row.project.clone());
    let (at, origin) = (row.at, row.origin);
    insert(db, &Row { id, session, user, agent, at, searchable, private, project, origin })?;
    Ok(true)
}

/// Inserts an exchange of another machine, unless it is here already. Returns its id here.
pub(crate) fn put_replica(db: &Connection, row: &Row) -> Result<Option<String>> {
    let (user, agent) = (stored_text(&row.user), stored_text(&row.agent));
    if user.is_empty() && agent.is_empty() || row.session.parse::<SessionId>().is_err() {
        return Ok(None);
    }
    let id = hash(&[&row.session, &user, &agent]);
    if !is_present(db, &id)? {
        let searchable = !is_noise(&user, &agent);
        insert(db, &Row { id: id.clone(), user, agent, searchable, ..row.clone() })?;
    }
    Ok(Some(id))
}

/// Deletes an exchange, its passage and the state of its conversation. Returns its reference, if there was one.
pub(crate) fn remove(db: &Connection, id: &str) -> Result<Option<String>> {
    let session: Option<String> =
        db.row("DELETE FROM exchanges WHERE id = $1 RETURNING session", [id], |row| row.get(0))?;
    let Some(session) = session else { return Ok(None) };
    // The state of the conversation quotes what was said in it.
    db.run("DELETE FROM turns WHERE session = $1", [&session])?;
    let reference = reference(&session, id);
    index::remove(db, KIND, &reference)?;
    Ok(Some(reference))
}

/// Removes exchanges from search whose user message is in the session's transcript.
pub(crate) fn hide_duplicates<'a>(
    db: &Connection,
    session: &str,
    texts: impl IntoIterator<Item = &'a str>,
) -> Result<()> {
    let sql = "SELECT id, said FROM exchanges WHERE session = $1 AND searchable";
    let ours: Vec<(String, String)> = db.rows(sql, [session], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if ours.is_empty() {
        return Ok(());
    }
    let theirs: Vec<String> = texts.into_iter().map(text_hash).collect();
    for (id, _) in ours.iter().filter(|(_, said)| theirs.contains(said)) {
        db.run("UPDATE exchanges SET searchable = false WHERE id = $1", [id])?;
        index::remove(db, KIND, &reference(session, id))?;
    }
    Ok(())
}

/// Makes an exchange searchable again.
pub(crate) fn show_again(db: &Connection, reference: &str) -> Result<()> {
    db.run("UPDATE exchanges SET searchable = true WHERE session || '/' || id = $1", [reference])?;
    let shown = passages(db)?.into_iter().find(|passage| passage.reference == reference);
    shown.map_or(Ok(()), |passage| index::put(db, &passage))
}

/// Returns the passages of all exchanges, to rebuild the index.
pub(crate) fn passages(db: &Connection) -> Result<Vec<Passage>> {
    let sql = "SELECT exchanges.id, exchanges.session, exchanges.user, agent, at, searchable, exchanges.private,
            exchanges.project, exchanges.origin, sessions.number, seq
        FROM exchanges JOIN sessions ON sessions.id = exchanges.session WHERE searchable ORDER BY exchanges.number";
    db.rows(sql, (), |row| Ok(passage(&from_row(row)?, (row.get(9)?, row.get(10)?))))
}

/// Returns all exchanges, oldest first.
pub(crate) fn all(db: &Connection) -> Result<Vec<Row>> {
    db.rows(&format!("SELECT {COLUMNS} FROM exchanges ORDER BY number"), (), from_row)
}

/// Returns the exchanges of a session, oldest first.
pub(crate) fn of_session(db: &Connection, session: &str) -> Result<Vec<Row>> {
    db.rows(
        &format!("SELECT {COLUMNS} FROM exchanges WHERE session = $1 ORDER BY number"),
        [session],
        from_row,
    )
}

/// An exchange, and how its session continued.
pub(crate) struct ExchangeContext {
    pub(crate) row: Row,
    /// The number of later exchanges in the session.
    pub(crate) after: i64,
    /// The user's next message.
    pub(crate) next: String,
}

/// Returns the exchange of a passage.
pub(crate) fn of_passage(db: &Connection, reference: &str) -> Result<Option<ExchangeContext>> {
    let id = reference.rsplit('/').next().unwrap_or_default();
    let later =
        "FROM exchanges AS later WHERE later.session = exchanges.session AND later.number > exchanges.number";
    let sql = format!(
        "SELECT {COLUMNS}, (SELECT count(*) {later}), (SELECT later.user {later} ORDER BY number LIMIT 1)
        FROM exchanges WHERE id = $1"
    );
    db.row(&sql, [id], |row| {
        Ok(ExchangeContext { row: from_row(row)?, after: row.get(9)?, next: row.text(10)?.to_owned() })
    })
}

/// Returns the newest exchange of a session.
pub(crate) fn last(db: &Connection, session: &str) -> Result<Option<Row>> {
    let sql = format!("SELECT {COLUMNS} FROM exchanges WHERE session = $1 ORDER BY number DESC LIMIT 1");
    db.row(&sql, [session], from_row)
}

const COLUMNS: &str = "id, session, exchanges.user, agent, at, searchable, private, project, origin";

fn from_row(row: &store::Row<'_>) -> Result<Row> {
    Ok(Row {
        id: row.get(0)?,
        session: row.get(1)?,
        user: row.get(2)?,
        agent: row.get(3)?,
        at: row.get(4)?,
        searchable: row.get(5)?,
        private: row.get(6)?,
        project: row.get(7)?,
        origin: row.get(8)?,
    })
}

fn passage(row: &Row, place: (i64, i64)) -> Passage {
    let text = format!("{}\n{}", row.user, row.agent).trim().to_owned();
    Passage {
        // Like messages: people ask for conversations by day.
        title: row.at.day_in_words(),
        // Two people speak. The agent's words must not count as the user's.
        author: None,
        place: Some(place),
        origin: row.origin,
        ..Passage::new(KIND, reference(&row.session, &row.id), text, row.at)
    }
}

fn reference(session: &str, id: &str) -> String {
    format!("{session}/{id}")
}

/// Returns the number of its session, which is created if necessary, and its place in it.
fn place(db: &Connection, row: &Row) -> Result<(i64, i64)> {
    let sql = "INSERT INTO sessions (id, format, started_at, ended_at, private, project, origin)
        VALUES ($1, 'turns', $2, $2, $3, $4, 'person')
        ON CONFLICT (id) DO UPDATE SET private = sessions.private OR excluded.private,
            project = coalesce(sessions.project, excluded.project),
            started_at = CASE WHEN sessions.started_at < $2 THEN sessions.started_at ELSE $2 END,
            ended_at = CASE WHEN sessions.ended_at > $2 THEN sessions.ended_at ELSE $2 END";
    db.run(sql, (&row.session, row.at, row.private, &row.project))?;
    let sql = "SELECT number, origin FROM sessions WHERE id = $1";
    let (number, known): (i64, RecordOrigin) =
        db.one(sql, [&row.session], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if known < row.origin {
        db.run("UPDATE sessions SET origin = $2 WHERE number = $1", (number, row.origin))?;
    }
    let sql = "SELECT coalesce(max(seq) + 1, 0) FROM passages WHERE session = $1";
    Ok((number, db.one(sql, [number], |row| row.get(0))?))
}

/// Deletes the oldest exchanges beyond this number; 0 keeps all.
pub(crate) fn keep_newest(db: &Connection, most: usize) -> Result<()> {
    let count: usize = db.one("SELECT count(*) FROM exchanges", (), |row| row.get(0))?;
    if most == 0 || count <= most {
        return Ok(());
    }
    let sql = "SELECT id FROM exchanges ORDER BY at, id LIMIT $1";
    for id in db.rows(sql, [count - most], |row| row.get::<String>(0))? {
        remove(db, &id)?;
    }
    Ok(())
}

/// Returns when an exchange was archived; `None`: it is not there.
pub(crate) fn time_of(db: &Connection, id: &str) -> Result<Option<Time>> {
    db.row("SELECT at FROM exchanges WHERE id = $1", [id], |row| row.get(0))
}

pub(crate) fn is_present(db: &Connection, id: &str) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM exchanges WHERE id = $1)";
    db.one(sql, [id], |row| row.get(0))
}

fn is_in_transcript(db: &Connection, session: &str, said: &str) -> Result<bool> {
    let sql = "SELECT text FROM passages JOIN sessions ON sessions.number = passages.session
        WHERE sessions.id = $1 AND kind = 'message' AND author = 'user'";
    let mut found = false;
    db.each(sql, [session], |row| {
        found = text_hash(row.text(0)?) == said;
        Ok(if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(found)
}

fn text_hash(text: &str) -> String {
    hash(&[&analyse::fold(&stored_text(text))])
}

/// Hashes texts. The lengths are included, so that no text can move from one field into the next.
pub(crate) fn hash(texts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// Returns whether the user asks if something is remembered and the agent says no. Such an exchange would
/// rank above the memory that it asks about.
pub(crate) fn is_noise(user: &str, agent: &str) -> bool {
    static DENIES: List = words::CONVERSATION.list("forgetting");
    const ASKS: &[&str] = &[
        "do you remember",
        "can you remember",
        "do you recall",
        "what do you remember",
        "what do you know about me",
    ];
    let (user_words, agent_words) = (said::words(user), said::words(agent));
    let denies = DENIES.iter().any(|phrase| said::says(&agent_words, phrase));
    let asks = user.trim_end().ends_with('?') || ASKS.iter().any(|phrase| said::says(&user_words, phrase));
    denies && asks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn talk_about_remembering_is_noise() {
        for (user, agent, noise) in [
            ("Do you remember my dog's name?", "I don't have any memory of that.", true),
            ("What did we decide on Monday?", "I'm sorry, I have no record of it.", true),
            ("ok", "Great!", false),
            ("Do you remember my dog's name?", "Yes, Luna.", false),
            (
                "My dog is called Luna.",
                "I don't remember hearing that before, but Luna is a fine name.",
                false,
            ),
        ] {
            assert_eq!(is_noise(user, agent), noise, "{user} / {agent}");
        }
    }
}
