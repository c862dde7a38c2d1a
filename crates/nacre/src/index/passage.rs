//! A passage: kind, reference, text, time; and its words in the full-text index.

use rusqlite::{Connection, OptionalExtension};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::analyse;
use crate::{Result, Time};

/// Where to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Typed entries.
    Entries,
}

impl Scope {
    /// Returns the kind of the passages in this scope.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Scope::Entries => "entry",
        }
    }
}

/// One searchable piece of text.
pub(crate) struct Passage {
    pub(crate) kind: &'static str,
    pub(crate) reference: String,
    pub(crate) text: String,
    /// What describes the text: tags, a heading, a speaker.
    pub(crate) title: String,
    pub(crate) at: Time,
    /// Not live: out of every search that does not ask for the past.
    pub(crate) live: bool,
}

/// Writes a passage, in place of the one that had its reference.
pub(crate) fn put(db: &Connection, passage: &Passage) -> Result<()> {
    remove(db, passage.kind, &passage.reference)?;
    let Passage { kind, reference, text, title, at, live } = passage;
    db.prepare_cached(
        "INSERT INTO passages (kind, ref, text, title, at, live) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((kind, reference, text, title, at, live))?;
    db.prepare_cached("INSERT INTO passages_fts (rowid, text, title) VALUES (?1, ?2, ?3)")?.execute((
        db.last_insert_rowid(),
        indexed(text),
        indexed(title),
    ))?;
    Ok(())
}

/// Takes a passage away, its words in the index included.
pub(crate) fn remove(db: &Connection, kind: &str, reference: &str) -> Result<()> {
    let found: Option<(i64, String, String)> = db
        .prepare_cached("SELECT id, text, title FROM passages WHERE kind = ?1 AND ref = ?2")?
        .query_row((kind, reference), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    if let Some((id, text, title)) = found {
        // A contentless index is told what to forget: the same words that it was given.
        db.prepare_cached(
            "INSERT INTO passages_fts (passages_fts, rowid, text, title) VALUES ('delete', ?1, ?2, ?3)",
        )?
        .execute((id, indexed(&text), indexed(&title)))?;
        db.prepare_cached("DELETE FROM passages WHERE id = ?1")?.execute([id])?;
    }
    Ok(())
}

/// Takes a passage out of every default search, or brings it back.
pub(crate) fn set_live(db: &Connection, kind: &str, reference: &str, live: bool) -> Result<()> {
    db.prepare_cached("UPDATE passages SET live = ?3 WHERE kind = ?1 AND ref = ?2")?
        .execute((kind, reference, live))?;
    Ok(())
}

fn indexed(text: &str) -> String {
    analyse::words(text).join(" ")
}
