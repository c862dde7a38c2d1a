//! The state of distillation: the messages that were read, the memories that wait to be stored, and the
//! sessions that are due.
//!
//! A batch of messages is marked as read in the transaction that records the memories found in it. Each of them is then
//! stored, and taken off the list. If the process is killed in between, the next one stores the rest; a memory that was
//! stored but not taken off is the same again, and is skipped.

use serde::Serialize;

use crate::base::ids::SessionId;
use crate::base::{Result, Time};
use crate::store::Connection;

/// A memory that was found in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundMemory {
    pub(crate) place: i64,
    /// `SESSION/MESSAGE`.
    pub(crate) message: String,
    pub(crate) kind: String,
    pub(crate) content: String,
}

/// Records the memories of a batch, and that its messages were read.
pub(crate) fn record(
    tx: &Connection,
    session: &str,
    messages: &[&str],
    found: &[(String, &str, String)],
) -> Result<()> {
    for message in messages {
        let sql = "INSERT INTO distil_read (session, message) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        tx.run(sql, (session, message))?;
    }
    let sql = "SELECT coalesce(max(place), 0) FROM distil_found WHERE session = $1";
    let mut place: i64 = tx.one(sql, [session], |row| row.get(0))?;
    for (message, kind, content) in found {
        place += 1;
        let sql =
            "INSERT INTO distil_found (session, place, message, kind, content) VALUES ($1, $2, $3, $4, $5)";
        tx.run(sql, (session, place, message, kind, content))?;
    }
    Ok(())
}

/// Returns the memories of a session that wait to be stored, in order.
pub(crate) fn waiting(db: &Connection, session: &str) -> Result<Vec<FoundMemory>> {
    let sql = "SELECT place, message, kind, content FROM distil_found WHERE session = $1 ORDER BY place";
    db.rows(sql, [session], |row| {
        Ok(FoundMemory { place: row.get(0)?, message: row.get(1)?, kind: row.get(2)?, content: row.get(3)? })
    })
}

/// Takes a memory off the list.
pub(crate) fn settled(tx: &Connection, session: &str, place: i64) -> Result<()> {
    tx.run("DELETE FROM distil_found WHERE session = $1 AND place = $2", (session, place)).map(drop)
}

/// Forgets that the messages of a session were read.
pub(crate) fn read_again(tx: &Connection, session: &str) -> Result<()> {
    tx.run("DELETE FROM distil_read WHERE session = $1", [session]).map(drop)
}

/// Returns the sessions with messages that were not read or memories that wait, oldest first.
pub(crate) fn unread(db: &Connection) -> Result<Vec<String>> {
    let sql = "SELECT sessions.id FROM sessions WHERE EXISTS (SELECT 1 FROM passages
            WHERE passages.session = sessions.number AND live AND kind IN ('message', 'exchange')
                AND NOT EXISTS (SELECT 1 FROM distil_read
                    WHERE distil_read.session = sessions.id AND distil_read.message = passages.ref))
            OR EXISTS (SELECT 1 FROM distil_found WHERE distil_found.session = sessions.id)
        ORDER BY sessions.number";
    db.rows(sql, (), |row| row.get(0))
}

/// Notes that a session is to be read.
pub(crate) fn mark_due(tx: &Connection, session: &SessionId, now: Time) -> Result<()> {
    let sql = "INSERT INTO distil_due (session, at) VALUES ($1, $2) ON CONFLICT (session) DO NOTHING";
    tx.run(sql, (session, now)).map(drop)
}

/// Returns the sessions that are to be read, oldest first.
pub(crate) fn due(db: &Connection) -> Result<Vec<String>> {
    db.rows("SELECT session FROM distil_due ORDER BY at, session", (), |row| row.get(0))
}

/// Notes that a session was read, or why that failed. A session that failed stays due.
pub(crate) fn attempted(tx: &Connection, session: &str, now: Time, problem: Option<&str>) -> Result<()> {
    match problem {
        None => tx.run("DELETE FROM distil_due WHERE session = $1", [session]).map(drop),
        Some(problem) => {
            let sql = "INSERT INTO distil_due (session, at, problem) VALUES ($1, $2, $3)
                ON CONFLICT (session) DO UPDATE SET problem = excluded.problem";
            tx.run(sql, (session, now, problem)).map(drop)
        }
    }
}

/// The state of distillation, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DistilState {
    /// The number of sessions that are to be read.
    pub due: i64,
    /// Why the last attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Returns how many sessions are due, and why the last attempt failed.
pub(crate) fn state(db: &Connection) -> Result<DistilState> {
    let due = db.one("SELECT count(*) FROM distil_due", (), |row| row.get(0))?;
    let sql = "SELECT problem FROM distil_due WHERE problem <> '' ORDER BY at DESC LIMIT 1";
    Ok(DistilState { due, problem: db.row(sql, (), |row| row.get(0))? })
}
