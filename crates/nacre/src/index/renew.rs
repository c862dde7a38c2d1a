//! Upgrades an index that another version built.
//!
//! Words of another analyser can't be removed from the full-text index one by one, so they are rebuilt in one
//! transaction, by the first writer; readers use the old ones until then. Vectors of another model can't be
//! compared with this version's questions, but they are stored apart from the words. They are recomputed in
//! place, newest first, some hundred passages per transaction, by any process that has the time. Until then,
//! a passage is found by its words only. The remaining range of passages is in `meta` and changes together
//! with the vectors: a killed process loses one batch, and no two processes do the same work.

use std::ops::ControlFlow;

use super::lexicon::{Lexicon, Reading};
use super::passage::Passage;
use super::state::{
    StaleParts, VERSION_KEY, adopt, current_version, last, made_by, noted, set_old, set_value, stale,
};
use super::write::{self, STORED_COLUMNS};
use super::{Language, dense, lines, packed, postings, state};
use crate::base::Result;
use crate::index::embed::builtin;
use crate::store::{Connection, Engine, Migrations};

/// How a rebuild treats documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Documents {
    /// They are forgotten: the folder owns them, and the next sync reads them again.
    Forget,
    /// Their stored text is indexed again. The next sync reads them all and corrects chunks that are now
    /// split differently.
    Keep,
}

/// The records of a database, as far as the index needs them.
pub(crate) struct Schema {
    pub(crate) migrations: Migrations,
    /// Each returns all passages of one owner, for a rebuild.
    pub(crate) owners: &'static [Owner],
}

/// Returns the passages of all rows of one kind.
pub(crate) type Owner = fn(&Connection) -> Result<Vec<Passage>>;

/// Rebuilds all derived data. The results are the same as those of an index built incrementally. `progress` receives the
/// number of finished passages and their total.
pub(crate) fn rebuild(
    db: &Connection,
    schema: &Schema,
    documents: Documents,
    language: Language,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<usize> {
    adopt(db, language)?;
    match db.engine() {
        Engine::Sqlite(_) => db.batch("INSERT INTO passages_fts (passages_fts) VALUES ('delete-all')")?,
        Engine::Postgres(server) => postings::clear(server)?,
    }
    db.batch("DELETE FROM terms; DELETE FROM authors; DELETE FROM passages WHERE kind NOT IN ('message', 'chunk');")?;
    db.batch(match documents {
        Documents::Forget => "DELETE FROM documents; DELETE FROM passages WHERE kind = 'chunk';",
        Documents::Keep => "UPDATE documents SET mtime = NULL;",
    })?;
    packed::clear_packed(db)?;
    dense::sweep(db)?;
    lines::sweep(db)?;
    let mut passages = Vec::new();
    for owner in schema.owners {
        passages.extend(owner(db)?);
    }
    let kept: usize = db.one("SELECT count(*) FROM passages", (), |row| row.get(0))?;
    let all = kept + passages.len();
    write::rederive(db, &mut |done| progress(done, all))?;
    write::write(db, |writer| {
        passages.iter().zip(kept + 1..).try_for_each(|(passage, done)| {
            writer.put(passage)?;
            progress(done, all);
            Ok(())
        })
    })?;
    Ok(all)
}

/// Tells whether an index that was just opened needs an upgrade at once: it can't be read otherwise, or it is
/// small.
pub(crate) fn is_due(db: &Connection, language: Language) -> Result<bool> {
    /// An index of this many passages is rebuilt in about ten milliseconds.
    const SMALL_INDEX_PASSAGES: i64 = 500;
    let StaleParts { unknown, words, chunks, vectors } = stale(db, language)?;
    Ok(unknown || (chunks && !words) || ((words || vectors) && last(db)? <= SMALL_INDEX_PASSAGES))
}

/// Upgrades an index to this version, except for vectors beyond the first `most`.
pub(crate) fn upgrade(
    tx: &Connection,
    lexicon: &mut Lexicon,
    schema: &Schema,
    language: Language,
    most: usize,
) -> Result<usize> {
    let stale = stale(tx, language)?;
    if stale.words {
        // The stored text of documents stays searchable until they are read again, if they still exist.
        rebuild(tx, schema, Documents::Keep, language, &mut |_, _| {})?;
    } else if stale.chunks || stale.vectors {
        begin(tx, stale, language)?;
    }
    renew(tx, lexicon, most)
}

/// Starts an upgrade. It is cheap, whatever the size of the index.
fn begin(tx: &Connection, stale: StaleParts, language: Language) -> Result<()> {
    if stale.chunks {
        tx.run("UPDATE documents SET mtime = NULL", ())?;
    }
    if stale.vectors {
        set_old(tx, &(0..last(tx)? + 1))?;
        state::invalidate_readers(tx)?;
    }
    set_value(tx, VERSION_KEY, &current_version(language).join(" "))
}

/// The work on vectors that a write does in addition.
pub(crate) struct ExtraWork {
    /// The number of passages that were re-embedded by this version.
    pub(crate) renewed: usize,
    /// Set if a newer version has upgraded the index since it was opened here: the last passage before this
    /// write. New passages get vectors of the wrong model.
    foreign_after: Option<i64>,
}

/// Runs before a write. The write adds data of this version, so all other data must be upgraded or marked as
/// old. `found` is the version of the index when it was opened. Re-embeds at most `most` passages.
pub(crate) fn before_write(
    tx: &Connection,
    lexicon: &mut Lexicon,
    schema: &Schema,
    (found, language): (Option<&str>, Language),
    most: usize,
) -> Result<ExtraWork> {
    let made_by = made_by(tx)?;
    let stale = StaleParts::of(made_by.as_deref().unwrap_or_default(), language);
    if (stale.vectors || stale.words) && made_by.as_deref() != found {
        // Reverting it would make two versions rebuild everything in turns.
        let foreign_after = if stale.vectors { Some(last(tx)?) } else { None };
        return Ok(ExtraWork { renewed: 0, foreign_after });
    }
    Ok(ExtraWork { renewed: upgrade(tx, lexicon, schema, language, most)?, foreign_after: None })
}

/// Runs after a write.
pub(crate) fn after_write(tx: &Connection, beside: &ExtraWork) -> Result<()> {
    let Some(before) = beside.foreign_after else { return Ok(()) };
    let (last, old) = (last(tx)?, noted(tx)?);
    if last == before {
        return Ok(());
    }
    let start = if old.is_empty() { before + 1 } else { old.start };
    set_old(tx, &(start..last + 1))
}

/// Re-embeds at most `most` passages with this version's model. Returns how many old ones it processed; fewer
/// than `most` means that none are left.
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
        "SELECT {STORED_COLUMNS}, slot, pieces FROM passages WHERE id >= $1 AND id < $2 ORDER BY id DESC LIMIT $3"
    );
    tx.each(&sql, (old.start, old.end, most), |row| {
        let (id, passage) = write::stored(row)?;
        let (slot, pieces): (Option<i64>, Option<i64>) = (row.get(11)?, row.get(12)?);
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
    // If the text now has more pieces, they are appended after all others.
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
