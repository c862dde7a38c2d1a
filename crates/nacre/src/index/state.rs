//! The state of an index, in `meta`: the version that built it, which vectors are another version's, the
//! stamp of the last write.

use std::ops::Range;

use serde::Serialize;

use super::embed::builtin;
use super::{Language, analyse, chunk, piece};
use crate::base::Result;
use crate::store::{Connection, Engine};

const STAMP_KEY: &str = "index_stamp";
/// The stamp at which the whole index was last rebuilt.
pub(super) const EPOCH_KEY: &str = "index_epoch";

/// Increments the stamp, for a write.
pub(crate) fn next_stamp(db: &Connection) -> Result<i64> {
    let next = number(db, STAMP_KEY)? + 1;
    set_number(db, STAMP_KEY, next)?;
    Ok(next)
}

/// Returns the stamp of the last write.
pub(crate) fn last_stamp(db: &Connection) -> Result<i64> {
    number(db, STAMP_KEY)
}

/// Returns the stamp of the last write, and when the server was started. A server that was restored from a backup, or that has taken over
/// without the last writes, gives out their stamps again: memory from an earlier start is not compared with them. A file has no start.
pub(crate) fn last_stamp_and_start(db: &Connection) -> Result<(i64, String)> {
    match db.engine() {
        Engine::Sqlite(_) => Ok((last_stamp(db)?, String::new())),
        Engine::Postgres(_) => {
            let sql =
                "SELECT (SELECT value FROM meta WHERE key = $1), CAST(pg_postmaster_start_time() AS TEXT)";
            let (stamp, start): (Option<String>, String) =
                db.one(sql, [STAMP_KEY], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok((stamp.and_then(|number| number.parse().ok()).unwrap_or(0), start))
        }
    }
}

/// Makes every reader read all rows again.
pub(crate) fn invalidate_readers(db: &Connection) -> Result<()> {
    let epoch = next_stamp(db)?;
    set_number(db, EPOCH_KEY, epoch)
}

pub(super) fn number(db: &Connection, key: &str) -> Result<i64> {
    Ok(value(db, key)?.and_then(|number| number.parse().ok()).unwrap_or(0))
}

fn set_number(db: &Connection, key: &str, value: i64) -> Result<()> {
    set_value(db, key, &value.to_string())
}

/// The key in `meta` that names the version that built the index.
pub(super) const VERSION_KEY: &str = "analyser";
/// The key in `meta` that holds the range of passages with vectors of another version: first, and one past
/// the last.
const OLD_VECTORS_KEY: &str = "old_vectors";

/// The progress of re-embedding for this version's model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReembeddingProgress {
    /// The number of passages that are done.
    pub made: i64,
    /// The number of all passages.
    pub all: i64,
}

impl ReembeddingProgress {
    /// Returns the number of passages that are left.
    pub fn left(&self) -> i64 {
        self.all - self.made
    }
}

/// The parts of an index that another version built.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StaleParts {
    /// The format differs so much that the other fields are meaningless.
    pub(super) unknown: bool,
    /// The analyser or the language: everything must be rebuilt.
    pub(crate) words: bool,
    /// The chunker: documents must be read again.
    pub(super) chunks: bool,
    /// The model, or the way passages are split into pieces.
    pub(super) vectors: bool,
}

/// The version of an index: the analyser, the model, the ways texts are split, the language. A change in the
/// format of rows (such as marks) must change the number of parts: such an index is rebuilt before it is
/// read.
pub(super) fn current_version(language: Language) -> [&'static str; 5] {
    [analyse::VERSION, builtin::VERSION, chunk::VERSION, piece::VERSION, language.name()]
}

impl StaleParts {
    pub(super) fn of(made_by: &str, language: Language) -> StaleParts {
        let (made_by, now): (Vec<&str>, _) = (made_by.split(' ').collect(), current_version(language));
        let unknown = made_by.len() != now.len();
        let differs = |part: usize| unknown || made_by[part] != now[part];
        StaleParts {
            unknown,
            words: differs(0) || differs(4),
            chunks: differs(2),
            vectors: differs(1) || differs(3),
        }
    }
}

/// Returns the parts of the index that another version built.
pub(crate) fn stale(db: &Connection, language: Language) -> Result<StaleParts> {
    Ok(StaleParts::of(&made_by(db)?.unwrap_or_default(), language))
}

/// Returns the version that built the index.
pub(crate) fn made_by(db: &Connection) -> Result<Option<String>> {
    value(db, VERSION_KEY)
}

/// Returns the language of an index. Words must be removed and queried in the language in which they were
/// added.
pub(crate) fn language(db: &Connection) -> Result<Language> {
    let made_by = made_by(db)?.unwrap_or_default();
    Ok(made_by.rsplit(' ').next().and_then(Language::named).unwrap_or_default())
}

/// Marks the index as built by this version, with nothing left to do.
pub(super) fn adopt(db: &Connection, language: Language) -> Result<()> {
    set_value(db, VERSION_KEY, &current_version(language).join(" "))?;
    set_old(db, &(0..0))
}

/// Returns the passages whose vectors can't be compared with a question: all, if another version's model made
/// them and re-embedding has not started.
pub(super) fn old(db: &Connection) -> Result<Range<i64>> {
    match made_by(db)? {
        Some(made_by) if StaleParts::of(&made_by, language(db)?).vectors => Ok(0..i64::MAX),
        _ => noted(db),
    }
}

/// Returns the progress of re-embedding; `None` if there is nothing to do.
pub(crate) fn renewed(db: &Connection) -> Result<Option<ReembeddingProgress>> {
    let old = old(db)?;
    if old.is_empty() {
        return Ok(None);
    }
    // No WHERE clause, so that SQLite reads the smallest index instead of the texts.
    let sql = "SELECT count(*) FILTER (WHERE id < $1 OR id >= $2), count(*) FROM passages";
    let renewed = db.one(sql, (old.start, old.end), |row| {
        Ok(ReembeddingProgress { made: row.get(0)?, all: row.get(1)? })
    })?;
    Ok((renewed.left() > 0).then_some(renewed))
}

pub(super) fn noted(db: &Connection) -> Result<Range<i64>> {
    let range = value(db, OLD_VECTORS_KEY)?.unwrap_or_default();
    let ends = range.split_once(' ').and_then(|(start, end)| Some(start.parse().ok()?..end.parse().ok()?));
    Ok(ends.unwrap_or_default())
}

pub(super) fn set_old(db: &Connection, range: &Range<i64>) -> Result<()> {
    if range.is_empty() {
        return db.run("DELETE FROM meta WHERE key = $1", [OLD_VECTORS_KEY]).map(drop);
    }
    set_value(db, OLD_VECTORS_KEY, &format!("{} {}", range.start, range.end))
}

/// Returns the highest passage id ever used.
pub(super) fn last(db: &Connection) -> Result<i64> {
    db.last_number("passages")
}

pub(super) fn value(db: &Connection, key: &str) -> Result<Option<String>> {
    db.row("SELECT value FROM meta WHERE key = $1", [key], |row| row.get(0))
}

pub(super) fn set_value(db: &Connection, key: &str, value: &str) -> Result<()> {
    let sql = "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    db.run(sql, (key, value)).map(drop)
}
