//! What made an index, and what becomes of one that another version made.
//!
//! Words of another analyser can't be taken out again, so they are made anew in one transaction, by the first
//! that writes; who only reads goes on with the old ones meanwhile. Vectors of another model can't be
//! compared with this one's questions, but they stand beside the words and not among them: they are made anew
//! in place, the newest first, some hundred passages a transaction, by whoever comes along. What has not been
//! reached is found by its words. Where it stands is a range of passages in `meta`, which changes with the
//! vectors it speaks of: a kill costs a batch, and no two processes make the same.

use std::ops::ControlFlow;

use super::lexicon::{Lexicon, Reading};
use super::passage::Passage;
use super::state::{MADE_BY, Stale, adopt, last, made_by, maker, noted, set_old, set_value, stale};
use super::write::{self, STORED};
use super::{Language, dense, packed, state};
use crate::base::Result;
use crate::index::embed::builtin;
use crate::store::Connection;
use crate::store::Migrations;

/// What becomes of documents while the index is made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Documents {
    /// They are forgotten: their owner is the folder, and the next sync takes them in again.
    Forget,
    /// What was read of them is indexed anew; the next sync reads them all and corrects what is cut in another way
    /// now.
    Keep,
}

/// The records of a database, as far as an index must know them.
pub(crate) struct Schema {
    pub(crate) migrations: Migrations,
    /// Each returns all passages of one owner, for an index that is rebuilt.
    pub(crate) owners: &'static [Owner],
}

/// Returns the passages of all rows of one kind.
pub(crate) type Owner = fn(&Connection) -> Result<Vec<Passage>>;

/// Rebuilds all that is derived. The answers are the same as those of an index built step by step.
pub(crate) fn rebuild(
    db: &Connection,
    schema: &Schema,
    documents: Documents,
    language: Language,
) -> Result<usize> {
    adopt(db, language)?;
    db.batch(
        "INSERT INTO passages_fts (passages_fts) VALUES ('delete-all');
         DELETE FROM terms; DELETE FROM authors; DELETE FROM passages WHERE kind NOT IN ('message', 'chunk');",
    )?;
    db.batch(match documents {
        Documents::Forget => "DELETE FROM documents; DELETE FROM passages WHERE kind = 'chunk';",
        Documents::Keep => "UPDATE documents SET mtime = NULL;",
    })?;
    packed::start_anew(db)?;
    dense::sweep(db)?;
    let kept = write::rederive(db)?;
    let mut passages = Vec::new();
    for owner in schema.owners {
        passages.extend(owner(db)?);
    }
    write::write(db, |writer| passages.iter().try_for_each(|passage| writer.put(passage)))?;
    Ok(kept + passages.len())
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
    tx: &Connection,
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
fn begin(tx: &Connection, stale: Stale, language: Language) -> Result<()> {
    if stale.chunks {
        tx.run("UPDATE documents SET mtime = NULL", ())?;
    }
    if stale.vectors {
        set_old(tx, &(0..last(tx)? + 1))?;
        state::forget_what_was_read(tx)?;
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
    tx: &Connection,
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
pub(crate) fn after_write(tx: &Connection, beside: &Beside) -> Result<()> {
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
fn renew(tx: &Connection, lexicon: &mut Lexicon, most: usize) -> Result<usize> {
    let old = noted(tx)?;
    if old.is_empty() || most == 0 {
        return Ok(0);
    }
    lexicon.open(state::language(tx)?);
    let stamp = state::next_stamp(tx)?;
    let mut rows = packed::Rows::default();
    let (mut reading, mut longer, mut count, mut end) = (Reading::default(), Vec::new(), 0, old.start);
    let sql = format!(
        "SELECT {STORED}, slot, pieces FROM passages WHERE id >= $1 AND id < $2 ORDER BY id DESC LIMIT $3"
    );
    tx.each(&sql, (old.start, old.end, most), |row| {
        let (id, passage) = write::stored(row)?;
        let (slot, pieces): (Option<i64>, Option<i64>) = (row.get(10)?, row.get(11)?);
        write::read_text(lexicon, &passage, &mut reading);
        let vectors: Vec<_> =
            reading.pieces().map(|piece| builtin::quantise(&builtin::embed_rows(piece))).collect();
        let place = slot.zip(pieces).map_or(0..0, |(slot, pieces)| slot..slot + pieces);
        let needed = i64::try_from(vectors.len()).expect("pieces of one text");
        if !rows.replace(tx, place, id, &vectors)? {
            longer.push((id, needed, vectors));
        } else if pieces != Some(needed) {
            let sql = "UPDATE passages SET pieces = $2 WHERE id = $1";
            tx.run(sql, (id, needed))?;
        }
        (count, end) = (count + 1, id);
        Ok(ControlFlow::Continue(()))
    })?;
    rows.flush(tx, stamp)?;
    // Where the text is cut into more pieces now they stand behind all others.
    let mut behind = packed::Vectors::open(tx)?;
    for (id, needed, vectors) in longer {
        let sql = "UPDATE passages SET slot = $2, pieces = $3 WHERE id = $1";
        tx.run(sql, (id, behind.next(), needed))?;
        for vector in &vectors {
            behind.push(tx, stamp, id, vector)?;
        }
    }
    behind.flush(tx, stamp)?;
    set_old(tx, &(old.start..if count < most { old.start } else { end }))?;
    Ok(count)
}
