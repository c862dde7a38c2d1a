//! The messages of a conversation as they were said, for those who learn from it: those of an import or a transcript, and
//! both sides of the exchanges that hooks archived.

use super::exchange;
use crate::base::Result;
use crate::base::origin::RecordOrigin;
use crate::store::Connection;

/// One side of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaker {
    User,
    Assistant,
    /// Someone with another name, or nobody knows who.
    Other,
}

impl Speaker {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
            Speaker::Other => "other",
        }
    }
}

/// A message that was said.
#[derive(Clone, Debug)]
pub(crate) struct IndexedMessage {
    /// `SESSION/MESSAGE`; both sides of an exchange have the same.
    pub(crate) reference: String,
    pub(crate) by: Speaker,
    pub(crate) text: String,
}

/// Returns the next messages of a session that were not distilled, in order.
pub(crate) fn undistilled(db: &Connection, session: &str, limit: usize) -> Result<Vec<IndexedMessage>> {
    let sql = "SELECT ref, kind, author, text FROM passages
        JOIN sessions ON sessions.number = passages.session
        WHERE sessions.id = $1 AND live AND kind IN ('message', 'exchange') AND NOT EXISTS (SELECT 1 FROM distil_read
            WHERE distil_read.session = $1 AND distil_read.message = passages.ref)
        ORDER BY seq, passages.id LIMIT $2";
    let mut heard = Vec::new();
    let rows = db.rows(sql, (session, limit), |row| {
        let by = match row.get::<Option<String>>(2)?.as_deref() {
            Some("user") => Speaker::User,
            Some("assistant") => Speaker::Assistant,
            _ => Speaker::Other,
        };
        let message = IndexedMessage { reference: row.get(0)?, by, text: row.get(3)? };
        Ok((message, row.text(1)? == exchange::KIND))
    })?;
    for (message, is_exchange) in rows {
        let said = if is_exchange { exchange::of_passage(db, &message.reference)? } else { None };
        let Some(said) = said else {
            heard.push(message);
            continue;
        };
        let sides = [(Speaker::User, said.row.user), (Speaker::Assistant, said.row.agent)];
        heard.extend(sides.map(|(by, text)| IndexedMessage { by, text, ..message.clone() }));
    }
    Ok(heard)
}

/// Returns the session and the origin of a message, if there is one.
pub(crate) fn said_in(db: &Connection, message: &str) -> Result<Option<(String, RecordOrigin)>> {
    let sql = "SELECT sessions.id, passages.origin FROM passages JOIN sessions ON sessions.number = passages.session
        WHERE kind IN ('message', 'exchange') AND ref = $1";
    db.row(sql, [message], |row| Ok((row.get(0)?, row.get(1)?)))
}
