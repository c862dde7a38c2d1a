//! The index: one searchable form for everything that can be found (DESIGN, "Passages").
//!
//! Derived data. The owner of a row writes its passage in the same transaction; [`rebuild`] makes all of it
//! anew from the owners.

pub(crate) mod analyse;
mod passage;

use rusqlite::{Connection, OptionalExtension};

use crate::{Result, entry};

pub use passage::Scope;
pub(crate) use passage::{Passage, put, remove, set_live};

const ANALYSER: &str = "analyser";

/// Makes all passages and their index anew. The answers are the same as those of an index built step by step.
pub(crate) fn rebuild(db: &Connection) -> Result<usize> {
    db.execute_batch("INSERT INTO passages_fts (passages_fts) VALUES ('delete-all'); DELETE FROM passages;")?;
    let passages = entry::passages(db)?;
    for passage in &passages {
        put(db, passage)?;
    }
    let version = "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    db.execute(version, (ANALYSER, analyse::VERSION))?;
    Ok(passages.len())
}

/// Tells whether the index was made by this version of the analyser; another version's words can't be taken
/// out again.
pub(crate) fn is_current(db: &Connection) -> Result<bool> {
    let made_by: Option<String> = db
        .prepare_cached("SELECT value FROM meta WHERE key = ?1")?
        .query_row([ANALYSER], |row| row.get(0))
        .optional()?;
    Ok(made_by.as_deref() == Some(analyse::VERSION))
}

/// Compares the index with what it is made from. Returns what does not agree, in words.
pub(crate) fn check(db: &Connection) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let mut count = |sql: &str, problem: &str| -> Result<()> {
        let found: i64 = db.query_row(sql, [], |row| row.get(0))?;
        if found > 0 {
            problems.push(format!("{found} {problem}"));
        }
        Ok(())
    };
    count(
        "SELECT count(*) FROM entries WHERE id NOT IN (SELECT ref FROM passages WHERE kind = 'entry')",
        "entries have no passage",
    )?;
    count(
        "SELECT count(*) FROM passages WHERE kind = 'entry' AND ref NOT IN (SELECT id FROM entries)",
        "passages have no entry",
    )?;
    count(
        "SELECT count(*) FROM passages JOIN entries ON kind = 'entry' AND ref = entries.id
         WHERE live <> (superseded_at IS NULL AND archived_at IS NULL)",
        "passages are live where their entry is not, or the other way round",
    )?;
    count(
        "SELECT count(*) FROM passages WHERE id NOT IN (SELECT id FROM passages_fts_docsize)",
        "passages are missing from the full-text index",
    )?;
    count(
        "SELECT count(*) FROM passages_fts_docsize WHERE id NOT IN (SELECT id FROM passages)",
        "rows of the full-text index have no passage",
    )?;
    if let Err(error) = db.execute("INSERT INTO passages_fts (passages_fts) VALUES ('integrity-check')", []) {
        problems.push(format!("the full-text index is not sound: {error}"));
    }
    Ok(problems)
}

/// Makes the index anew if another version of the analyser made it; several processes may see that at once.
pub(crate) fn rebuild_if_stale(db: &rusqlite::Transaction<'_>) -> Result<usize> {
    if is_current(db)? { Ok(0) } else { rebuild(db) }
}
