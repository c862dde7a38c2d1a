//! What made an index, and what becomes of one that another version made.
//!
//! Words of another analyser can't be taken out again, so they are made anew in one transaction, by the first
//! that writes; who only reads goes on with the old ones meanwhile. Vectors of another model can't be
//! compared with this one's questions, but they stand beside the words and not among them: they are made anew
//! in place, the newest first, some hundred passages a transaction, by whoever comes along. What has not been
//! reached is found by its words. Where it stands is a range of passages in `meta`, which changes with the
//! vectors it speaks of: a kill costs a batch, and no two processes make the same.

use std::ops::Range;

use rusqlite::{Connection, OptionalExtension, Transaction};
use serde::Serialize;

use super::lexicon::{Lexicon, Reading};
use super::{Documents, Language, Schema, analyse, chunk, packed, passage, piece, rebuild};
use crate::base::Result;
use crate::index::embed::builtin;

/// The key in `meta` that says what made the index.
const MADE_BY: &str = "analyser";
/// The key in `meta` that says which passages still have vectors of another maker: from, and up to before.
const OLD: &str = "old_vectors";

/// How far the vectors have come that are made anew for the model of this version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Renewed {
    /// How many passages have them.
    pub made: i64,
    /// How many passages there are.
    pub all: i64,
}

impl Renewed {
    /// Returns how many passages wait for theirs.
    pub fn left(&self) -> i64 {
        self.all - self.made
    }
}

/// What of an index another version made.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stale {
    /// So much that nothing can be said of the rest.
    unknown: bool,
    /// The analyser or the language: all is to be made anew.
    pub(crate) words: bool,
    /// How documents are cut: they are to be read again.
    chunks: bool,
    /// The model, or what gets a vector.
    vectors: bool,
}

/// What makes an index: the analyser, the model, how texts are cut, the language. One whose rows can't be
/// read as they are (marks, for one) is to have another number of parts: it is then made anew before anyone
/// reads it.
fn maker(language: Language) -> [&'static str; 5] {
    [analyse::VERSION, builtin::VERSION, chunk::VERSION, piece::VERSION, language.name()]
}

impl Stale {
    fn of(made_by: &str, language: Language) -> Stale {
        let (made_by, now): (Vec<&str>, _) = (made_by.split(' ').collect(), maker(language));
        let unknown = made_by.len() != now.len();
        let differs = |part: usize| unknown || made_by[part] != now[part];
        Stale {
            unknown,
            words: differs(0) || differs(4),
            chunks: differs(2),
            vectors: differs(1) || differs(3),
        }
    }
}

/// Returns what of the index another version made.
pub(crate) fn stale(db: &Connection, language: Language) -> Result<Stale> {
    Ok(Stale::of(&made_by(db)?.unwrap_or_default(), language))
}

/// Returns what made the index.
pub(crate) fn made_by(db: &Connection) -> Result<Option<String>> {
    value(db, MADE_BY)
}

/// Returns the language that an index is in: what has been put in is taken out, and asked for, in the same.
pub(crate) fn language(db: &Connection) -> Result<Language> {
    let made_by = made_by(db)?.unwrap_or_default();
    Ok(made_by.rsplit(' ').next().and_then(Language::named).unwrap_or_default())
}

/// Has the index made by this version, with nothing left to do.
pub(super) fn adopt(db: &Connection, language: Language) -> Result<()> {
    set_value(db, MADE_BY, &maker(language).join(" "))?;
    set_old(db, &(0..0))
}

/// Tells what has to be done with an index that was just opened, before it is read or at once because it is
/// little.
pub(crate) fn is_due(db: &Connection, language: Language) -> Result<bool> {
    /// So many passages take some ten milliseconds.
    const FEW: i64 = 500;
    let Stale { unknown, words, chunks, vectors } = stale(db, language)?;
    Ok(unknown || (chunks && !words) || ((words || vectors) && last(db)? <= FEW))
}

/// Makes an index ours, but for vectors that are many.
pub(crate) fn take_over(
    tx: &Transaction<'_>,
    lexicon: &mut Lexicon,
    schema: &Schema,
    language: Language,
    most: usize,
) -> Result<usize> {
    let stale = stale(tx, language)?;
    if stale.words {
        // What was read of documents is found until they are read again, if they are there at all.
        rebuild(tx, schema, Documents::Keep, language)?;
    } else if stale.chunks || stale.vectors {
        begin(tx, stale, language)?;
    }
    renew(tx, lexicon, most)
}

/// Begins to make ours what is not: cheap, whatever there is.
fn begin(tx: &Transaction<'_>, stale: Stale, language: Language) -> Result<()> {
    if stale.chunks {
        tx.execute("UPDATE documents SET mtime = NULL", [])?;
    }
    if stale.vectors {
        set_old(tx, &(0..last(tx)? + 1))?;
        packed::forget_what_was_read(tx)?;
    }
    set_value(tx, MADE_BY, &maker(language).join(" "))
}

/// What a write does about vectors beside what it is for.
pub(crate) struct Beside {
    /// How many passages were given vectors of this version.
    pub(crate) renewed: usize,
    /// Set where a newer version has taken the index over since it was opened here: the last passage before
    /// this write. What it writes gets vectors by the wrong model.
    foreign_after: Option<i64>,
}

/// Goes before a write: what it adds is made by this version, so that all else has to be, or to be known as
/// other. `found` is what had made the index when it was opened. Gives at most so many of the others their
/// vectors.
pub(crate) fn before_write(
    tx: &Transaction<'_>,
    lexicon: &mut Lexicon,
    schema: &Schema,
    (found, language): (Option<&str>, Language),
    most: usize,
) -> Result<Beside> {
    let made_by = made_by(tx)?;
    let stale = Stale::of(made_by.as_deref().unwrap_or_default(), language);
    if (stale.vectors || stale.words) && made_by.as_deref() != found {
        // To take it back would have two versions make all of it in turns.
        let foreign_after = if stale.vectors { Some(last(tx)?) } else { None };
        return Ok(Beside { renewed: 0, foreign_after });
    }
    Ok(Beside { renewed: take_over(tx, lexicon, schema, language, most)?, foreign_after: None })
}

/// Goes after a write.
pub(crate) fn after_write(tx: &Transaction<'_>, beside: &Beside) -> Result<()> {
    let Some(before) = beside.foreign_after else { return Ok(()) };
    let (last, old) = (last(tx)?, noted(tx)?);
    if last == before {
        return Ok(());
    }
    let start = if old.is_empty() { before + 1 } else { old.start };
    set_old(tx, &(start..last + 1))
}

/// Gives at most so many passages vectors by this version's model. Returns how many had others; fewer than
/// that are all.
fn renew(tx: &Transaction<'_>, lexicon: &mut Lexicon, most: usize) -> Result<usize> {
    let old = noted(tx)?;
    if old.is_empty() || most == 0 {
        return Ok(0);
    }
    lexicon.open(language(tx)?);
    let stamp = packed::next_stamp(tx)?;
    let mut rows = packed::Rows::default();
    let (mut reading, mut longer, mut count, mut end) = (Reading::default(), Vec::new(), 0, old.start);
    let sql = format!(
        "SELECT {}, slot, pieces FROM passages WHERE id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3",
        passage::STORED
    );
    let mut statement = tx.prepare_cached(&sql)?;
    let mut found = statement.query((old.start, old.end, i64::try_from(most).unwrap_or(i64::MAX)))?;
    while let Some(row) = found.next()? {
        let (id, passage) = passage::stored(row)?;
        let (slot, pieces): (Option<i64>, Option<i64>) = (row.get("slot")?, row.get("pieces")?);
        passage::read_text(lexicon, &passage, &mut reading);
        let vectors: Vec<_> =
            reading.pieces().map(|piece| builtin::quantise(&builtin::embed_rows(piece))).collect();
        let place = slot.zip(pieces).map_or(0..0, |(slot, pieces)| slot..slot + pieces);
        let needed = i64::try_from(vectors.len()).expect("pieces of one text");
        if !rows.replace(tx, place, id, &vectors)? {
            longer.push((id, needed, vectors));
        } else if pieces != Some(needed) {
            let sql = "UPDATE passages SET pieces = ?2 WHERE id = ?1";
            tx.prepare_cached(sql)?.execute((id, needed))?;
        }
        (count, end) = (count + 1, id);
    }
    rows.flush(tx, stamp)?;
    // Where the text is cut into more pieces now they stand behind all others.
    let mut behind = packed::Vectors::open(tx)?;
    for (id, needed, vectors) in longer {
        let sql = "UPDATE passages SET slot = ?2, pieces = ?3 WHERE id = ?1";
        tx.prepare_cached(sql)?.execute((id, behind.next(), needed))?;
        for vector in &vectors {
            behind.push(tx, stamp, id, vector)?;
        }
    }
    behind.flush(tx, stamp)?;
    set_old(tx, &(old.start..if count < most { old.start } else { end }))?;
    Ok(count)
}

/// Returns the passages whose vectors can't be compared with a question: all, where another version's model
/// made them and nobody has begun to make them anew.
pub(super) fn old(db: &Connection) -> Result<Range<i64>> {
    match made_by(db)? {
        Some(made_by) if Stale::of(&made_by, language(db)?).vectors => Ok(0..i64::MAX),
        _ => noted(db),
    }
}

/// Returns how far vectors have come that are made anew; `None`: there is nothing to make.
pub(crate) fn renewed(db: &Connection) -> Result<Option<Renewed>> {
    let old = old(db)?;
    if old.is_empty() {
        return Ok(None);
    }
    // Without WHERE, so that the smallest index is read and not the texts.
    let sql = "SELECT count(*) FILTER (WHERE id < ?1 OR id >= ?2), count(*) FROM passages";
    let renewed =
        db.query_row(sql, (old.start, old.end), |row| Ok(Renewed { made: row.get(0)?, all: row.get(1)? }))?;
    Ok((renewed.left() > 0).then_some(renewed))
}

fn noted(db: &Connection) -> Result<Range<i64>> {
    let range = value(db, OLD)?.unwrap_or_default();
    let ends = range.split_once(' ').and_then(|(start, end)| Some(start.parse().ok()?..end.parse().ok()?));
    Ok(ends.unwrap_or_default())
}

fn set_old(db: &Connection, range: &Range<i64>) -> Result<()> {
    if range.is_empty() {
        db.prepare_cached("DELETE FROM meta WHERE key = ?1")?.execute([OLD])?;
        return Ok(());
    }
    set_value(db, OLD, &format!("{} {}", range.start, range.end))
}

/// The last passage that there ever was.
fn last(db: &Connection) -> Result<i64> {
    let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'passages'";
    Ok(db.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?.unwrap_or(0))
}

fn value(db: &Connection, key: &str) -> Result<Option<String>> {
    let mut statement = db.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
    Ok(statement.query_row([key], |row| row.get(0)).optional()?)
}

fn set_value(db: &Connection, key: &str, value: &str) -> Result<()> {
    let sql = "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    db.prepare_cached(sql)?.execute((key, value))?;
    Ok(())
}
