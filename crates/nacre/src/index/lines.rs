//! Vectors of lines: the reader's vector of each line of a chunk, in 8 bits, in one row for each chunk. They are made after
//! the chunk was written, some hundred lines at a time; a line without one is found by its words and its static vector.
//!
//! A row is deleted with its chunk. The vectors of another version are deleted before new ones are made.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

use super::batch::{self, NUMBERS_AT_ONCE};
use super::{dense, reader, scan, state};
use crate::base::{Result, Time};
use crate::store::Connection;

/// The key in `meta` that names the version of the vectors.
const VERSION_KEY: &str = "line_vectors";
/// The most bytes of vectors that a database has: those of about 50,000 lines. Every search reads them.
const MAX_BYTES: i64 = 20 << 20;
/// Documents of more chunks are books rather than notes: their lines get vectors after those of shorter ones.
const MAX_NOTE_CHUNKS: i64 = 8;

/// A chunk without vectors.
pub(crate) struct Pending {
    pub(crate) path: String,
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) at: Time,
}

/// A vector, compared in 8 bits.
pub(crate) struct LineVector(f32, Vec<i16>);

impl LineVector {
    /// Returns the vector of each text.
    pub(crate) fn of(texts: &[String]) -> Vec<LineVector> {
        let widen = |vector: &Vec<f32>| {
            let (scale, components) = dense::quantise(vector);
            LineVector(scale, components.into_iter().map(i16::from).collect())
        };
        reader::vectors(texts).iter().map(widen).collect()
    }

    /// Returns the cosine with another vector.
    pub(crate) fn cosine(&self, other: &LineVector) -> f32 {
        let LineVector(scale, components) = other;
        let bytes: Vec<u8> = components.iter().map(|one| one.to_le_bytes()[0]).collect();
        let row: Vec<u8> = scale.to_le_bytes().into_iter().chain(bytes).collect();
        let mut cosine = 0.0;
        scan::each_cosine(&row, self.0, &self.1, |_, found| cosine = found);
        cosine
    }
}

/// Packs the vectors of a chunk's lines for storage. A line without a text has none.
pub(crate) fn pack(lines: &[Option<String>]) -> Vec<u8> {
    let texts: Vec<String> = lines.iter().flatten().cloned().collect();
    let mut vectors = reader::vectors(&texts).into_iter();
    let mut data = Vec::with_capacity(lines.len() * record_bytes());
    for line in lines {
        let vector = line.as_ref().and_then(|_| vectors.next()).unwrap_or_else(|| vec![0.0; reader::dims()]);
        let (scale, components) = dense::quantise(&vector);
        data.extend_from_slice(&scale.to_le_bytes());
        data.extend(components.iter().map(|component| component.cast_unsigned()));
    }
    data
}

fn record_bytes() -> usize {
    size_of::<f32>() + reader::dims()
}

/// Returns the version of vectors of lines that were split by this version of the rules.
pub(crate) fn version(rules: &str) -> String {
    format!("{rules} {}", reader::version())
}

/// Returns the version of the stored vectors.
pub(crate) fn stored_version(db: &Connection) -> Result<Option<String>> {
    state::value(db, VERSION_KEY)
}

/// Deletes the vectors of another version.
pub(crate) fn adopt(tx: &Connection, version: &str) -> Result<()> {
    if stored_version(tx)?.as_deref() == Some(version) {
        return Ok(());
    }
    tx.run("DELETE FROM line_vectors", ())?;
    state::invalidate_readers(tx)?;
    state::set_value(tx, VERSION_KEY, version)
}

/// Returns the ids of chunks without vectors: those of the person's own short documents first, and of these the newest.
/// Returns none once there are enough vectors.
pub(crate) fn pending(db: &Connection) -> Result<Vec<i64>> {
    if bytes(db)? >= MAX_BYTES {
        return Ok(Vec::new());
    }
    // The reference of a chunk is `PATH#NUMBER`.
    let sql = "SELECT id FROM passages
            JOIN documents ON path = substr(ref, 1, length(rtrim(ref, '0123456789')) - 1)
        WHERE kind = 'chunk' AND id NOT IN (SELECT passage FROM line_vectors)
        ORDER BY origin = 'import', documents.chunks > $1, id DESC";
    db.rows(sql, [MAX_NOTE_CHUNKS], |row| row.get(0))
}

/// Returns a chunk, unless it was deleted or has vectors by now.
pub(crate) fn pending_chunk(db: &Connection, id: i64) -> Result<Option<Pending>> {
    let sql = "SELECT ref, title, text, at FROM passages
        WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM line_vectors WHERE passage = $1)";
    db.row(sql, [id], |row| {
        let reference = row.text(0)?;
        let path = reference.rsplit_once('#').map_or(reference, |(path, _)| path).to_owned();
        Ok(Pending { path, title: row.get(1)?, text: row.get(2)?, at: row.get(3)? })
    })
}

fn bytes(db: &Connection) -> Result<i64> {
    db.one("SELECT coalesce(sum(length(data)), 0) FROM line_vectors", (), |row| row.get(0))
}

/// Writes the vectors of chunks. Those that were deleted meanwhile get none.
pub(crate) fn write(tx: &Connection, vectors: &[(i64, Vec<u8>)]) -> Result<()> {
    let stamp = state::next_stamp(tx)?;
    let sql = "INSERT INTO line_vectors (passage, stamp, data) SELECT id, $2, $3 FROM passages WHERE id = $1
        ON CONFLICT (passage) DO NOTHING";
    vectors.iter().try_for_each(|(passage, data)| tx.run(sql, (passage, stamp, data)).map(drop))
}

/// Deletes the vectors of a chunk.
pub(crate) fn remove(db: &Connection, passage: i64) -> Result<()> {
    db.run("DELETE FROM line_vectors WHERE passage = $1", [passage]).map(drop)
}

/// Deletes the vectors of chunks that do not exist.
pub(crate) fn sweep(db: &Connection) -> Result<()> {
    db.run("DELETE FROM line_vectors WHERE passage NOT IN (SELECT id FROM passages)", ()).map(drop)
}

/// How many chunks have vectors of their lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) made: i64,
    pub(crate) all: i64,
}

/// Returns the progress of making vectors of this version.
pub(crate) fn progress(db: &Connection, version: &str) -> Result<Progress> {
    let sql =
        "SELECT (SELECT count(*) FROM line_vectors), (SELECT count(*) FROM passages WHERE kind = 'chunk')";
    let (made, all) = db.one(sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let is_ours = stored_version(db)?.as_deref() == Some(version);
    let made = if is_ours { made } else { 0 };
    Ok(Progress { made, all: if is_ours && bytes(db)? >= MAX_BYTES { made } else { all } })
}

/// Returns how many of these chunks wait for vectors of this version, if none is in memory.
pub(crate) fn count_pending(db: &Connection, version: &str, chunks: &[u32]) -> Result<usize> {
    if chunks.is_empty() || stored_version(db)?.as_deref() != Some(version) {
        return Ok(chunks.len());
    }
    if bytes(db)? >= MAX_BYTES {
        return Ok(0);
    }
    let made: HashSet<u32> =
        db.rows("SELECT passage FROM line_vectors", (), |row| row.get(0))?.into_iter().collect();
    Ok(chunks.iter().filter(|chunk| !made.contains(chunk)).count())
}

/// The bytes that a row takes in memory beside its vectors.
const ROW_BYTES: usize = 48;

/// Returns the most bytes that the rows with a newer stamp add to the memory.
pub(super) fn bytes_after(db: &Connection, stamp: i64) -> Result<usize> {
    let sql = "SELECT coalesce(sum(length(data)), 0), count(*) FROM line_vectors WHERE stamp > $1";
    db.one(sql, [stamp], |row| Ok(row.get::<usize>(0)? + row.get::<usize>(1)? * ROW_BYTES))
}

/// The vectors of lines in memory, by passage.
#[derive(Default)]
pub(crate) struct Lines {
    version: String,
    rows: BTreeMap<u32, Box<[u8]>>,
    bytes: usize,
}

impl Lines {
    /// Reads the rows that changed since `stamp`. `exists` tells whether there still is a passage.
    pub(super) fn refresh(
        &mut self,
        db: &Connection,
        stamp: i64,
        exists: impl Fn(u32) -> bool,
    ) -> Result<()> {
        let Some(version) = stored_version(db)? else { return Ok(()) };
        self.version = version;
        db.each("SELECT passage, data FROM line_vectors WHERE stamp > $1", [stamp], |row| {
            self.rows.insert(row.get(0)?, row.bytes(1)?.into());
            Ok(ControlFlow::Continue(()))
        })?;
        self.rows.retain(|passage, _| exists(*passage));
        self.bytes = self.rows.values().map(|row| row.len()).sum();
        Ok(())
    }

    /// Reads the vectors of these chunks, for a search that finds none in memory.
    pub(crate) fn read(db: &Connection, passages: &[u32]) -> Result<Lines> {
        let mut lines = Lines { version: stored_version(db)?.unwrap_or_default(), ..Lines::default() };
        let sql = "SELECT passage, data FROM line_vectors WHERE passage IN (SELECT CAST(value AS BIGINT) FROM json_each($1))";
        batch::each_of(db, sql, passages, |row| {
            lines.rows.insert(row.get(0)?, row.bytes(1)?.into());
            Ok(())
        })?;
        Ok(lines)
    }

    /// Returns the bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.rows.len() * ROW_BYTES
    }

    /// Tells whether vectors of this version can be used.
    pub(crate) fn is_by(&self, version: &str) -> bool {
        self.version == version
    }

    /// Tells whether a chunk waits for its vectors.
    pub(crate) fn is_pending(&self, passage: u32) -> bool {
        i64::try_from(self.bytes).unwrap_or(i64::MAX) < MAX_BYTES && !self.rows.contains_key(&passage)
    }

    /// Returns the cosine of each line of a chunk with a question; `None` for a line without a vector. Returns none if
    /// the chunk has not this number of lines.
    pub(crate) fn cosines(
        &self,
        passage: u32,
        lines: usize,
        question: &LineVector,
    ) -> Option<Vec<Option<f32>>> {
        let row = self.rows.get(&passage).filter(|row| row.len() == lines * record_bytes())?;
        let mut cosines = vec![None; lines];
        scan::each_cosine(row, question.0, &question.1, |line, cosine| {
            cosines[line] = has_vector(row, line).then_some(cosine);
        });
        Some(cosines)
    }

    /// Returns the chunks of the lines that are nearest to a question, at most `most`.
    pub(crate) fn nearest(&self, members: &[u32], question: &LineVector, most: usize) -> Vec<u32> {
        let mut nearest = Nearest { members, question, most, best: Vec::new() };
        self.rows.iter().for_each(|(passage, row)| nearest.take(*passage, row));
        nearest.passages()
    }
}

/// Returns the same by the stored vectors, which are read some at a time.
pub(crate) fn nearest(
    db: &Connection,
    members: &[u32],
    question: &LineVector,
    most: usize,
) -> Result<Vec<u32>> {
    let mut nearest = Nearest { members, question, most, best: Vec::new() };
    let sql =
        "SELECT passage, data FROM line_vectors WHERE stamp > $1 AND passage >= $2 ORDER BY passage LIMIT $3";
    batch::each_newer(db, sql, 0, NUMBERS_AT_ONCE, |_, row| {
        nearest.take(row.get(0)?, row.bytes(1)?);
        Ok(())
    })?;
    Ok(nearest.passages())
}

/// The lines that are nearest to a question, each with its chunk.
struct Nearest<'a> {
    members: &'a [u32],
    question: &'a LineVector,
    most: usize,
    best: Vec<(f32, u32)>,
}

impl Nearest<'_> {
    fn take(&mut self, passage: u32, row: &[u8]) {
        let Nearest { members, question, most, best } = self;
        if members.binary_search(&passage).is_err() {
            return;
        }
        scan::each_cosine(row, question.0, &question.1, |_, cosine| best.push((cosine, passage)));
        if best.len() > 4 * *most {
            keep_best(best, *most);
        }
    }

    fn passages(mut self) -> Vec<u32> {
        keep_best(&mut self.best, self.most);
        self.best.into_iter().map(|(_, passage)| passage).collect()
    }
}

fn has_vector(row: &[u8], line: usize) -> bool {
    row[line * record_bytes()..].first_chunk() != Some(&0f32.to_le_bytes())
}

fn keep_best(found: &mut Vec<(f32, u32)>, most: usize) {
    found.sort_by(|one, other| other.0.total_cmp(&one.0).then(other.1.cmp(&one.1)));
    found.truncate(most);
}
