//! Embeddings by the model of the settings. They are computed in batches after the writes, so that no write
//! waits for a provider. The built-in embeddings exist from the start and are used until then.
//!
//! Requests to the provider are made outside any transaction. A batch is written only for passages whose text
//! has not changed since it was sent.

use std::ops::ControlFlow;

use super::batch::{self, NUMBERS_AT_ONCE};
use super::{piece, state};
use crate::base::Result;
use crate::base::redact;
use crate::index::embed::Embedder;
use crate::store::Connection;

/// The key in `meta` that names the model.
const MODEL_KEY: &str = "embedding";
/// Stored for a text that the provider refused, so that it is not sent again.
const REFUSED_MARK: &[u8] = &[0];

/// A passage without vectors.
pub(crate) struct Pending {
    pub(crate) id: i64,
    pub(crate) text: String,
}

/// A passage and the vectors of its pieces; `None` if the provider refused the text.
type PassageVectors = (Pending, Option<Vec<Vec<f32>>>);

/// The progress of embedding by the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) done: i64,
    pub(crate) refused: i64,
    pub(crate) all: i64,
}

/// Returns the model that made the vectors.
pub(crate) fn model(db: &Connection) -> Result<Option<String>> {
    state::value(db, MODEL_KEY)
}

/// Sets the model of the vectors. Vectors of another model can't be compared and are deleted.
pub(crate) fn adopt(tx: &Connection, version: &str) -> Result<()> {
    if model(tx)?.as_deref() == Some(version) {
        return Ok(());
    }
    forget(tx)?;
    state::set_value(tx, MODEL_KEY, version)
}

/// Deletes the provider's vectors and makes readers drop their copies.
pub(crate) fn forget(tx: &Connection) -> Result<()> {
    tx.run("DELETE FROM embedded", ())?;
    state::invalidate_readers(tx)
}

/// Returns passages without vectors, newest first, because recent passages are the most likely to be
/// searched.
pub(crate) fn pending(db: &Connection, most: usize) -> Result<Vec<Pending>> {
    let sql = "SELECT id, text FROM passages LEFT JOIN embedded ON passage = id
        WHERE passage IS NULL OR length(data) = 0 ORDER BY id DESC LIMIT $1";
    db.rows(sql, [most], |row| Ok(Pending { id: row.get(0)?, text: row.get(1)? }))
}

/// Requests the vectors of passages from the model.
pub(crate) fn vectors(embedder: &dyn Embedder, passages: &mut Vec<Pending>) -> Result<Vec<PassageVectors>> {
    // Text sent to a provider is redacted.
    let sent: Vec<String> = passages.iter().map(|passage| redact::text(&passage.text).into_owned()).collect();
    let pieces: Vec<Vec<&str>> = sent.iter().map(|text| pieces(text)).collect();
    let texts: Vec<&str> = pieces.iter().flatten().copied().collect();
    let mut vectors = embedder.embed_documents(&texts)?.into_iter();
    let counts: Vec<usize> = pieces.iter().map(Vec::len).collect();
    Ok(passages
        .drain(..)
        .zip(counts)
        .map(|(passage, count)| {
            // A vector without components: the provider refused the text.
            let taken: Vec<_> = vectors.by_ref().take(count).filter(|vector| !vector.is_empty()).collect();
            (passage, (!taken.is_empty()).then_some(taken))
        })
        .collect())
}

/// Returns the pieces of a text that get a vector. They are longer than those of the built-in model, because
/// these models read words in order.
fn pieces(text: &str) -> Vec<&str> {
    const MAX_PIECE_WORDS: usize = 120;
    piece::cut(text, MAX_PIECE_WORDS)
}

/// Writes the vectors of passages. Passages that changed in the meantime stay pending.
pub(crate) fn write(tx: &Connection, embedded: &[PassageVectors]) -> Result<()> {
    let stamp = state::next_stamp(tx)?;
    let sql = "INSERT INTO embedded (passage, stamp, data) SELECT id, $2, $3 FROM passages WHERE id = $1 AND text = $4
        ON CONFLICT (passage) DO UPDATE SET stamp = excluded.stamp, data = excluded.data";
    for (passage, vectors) in embedded {
        let data = vectors.as_ref().map_or_else(|| REFUSED_MARK.to_vec(), |vectors| pack(vectors));
        tx.run(sql, (passage.id, stamp, data, &passage.text))?;
    }
    Ok(())
}

/// Removes the vectors of a deleted passage. An empty row stays, so that readers notice.
pub(crate) fn remove(db: &Connection, stamp: i64, passage: i64) -> Result<()> {
    db.run("UPDATE embedded SET stamp = $2, data = $3 WHERE passage = $1", (passage, stamp, Vec::new()))
        .map(drop)
}

/// Removes the empty rows of deleted passages.
pub(crate) fn sweep(db: &Connection) -> Result<()> {
    db.run("DELETE FROM embedded WHERE passage NOT IN (SELECT id FROM passages)", ()).map(drop)
}

/// Returns the progress of embedding.
pub(crate) fn progress(db: &Connection) -> Result<Progress> {
    let sql = "SELECT count(*) FILTER (WHERE length(data) > 1), count(*) FILTER (WHERE length(data) = 1),
        (SELECT count(*) FROM passages) FROM embedded JOIN passages ON id = passage";
    db.one(sql, (), |row| Ok(Progress { done: row.get(0)?, refused: row.get(1)?, all: row.get(2)? }))
}

/// Tells whether the oldest and the newest vectors have this number of components.
pub(crate) fn fits(db: &Connection, components: usize) -> Result<bool> {
    let oldest = "SELECT length(data) FROM embedded WHERE length(data) > 1 ORDER BY passage LIMIT 1";
    let newest = "SELECT length(data) FROM embedded WHERE length(data) > 1 ORDER BY passage DESC LIMIT 1";
    let bytes = |sql: &str| db.row(sql, (), |row| row.get::<i64>(0));
    let record = i64::try_from(record_bytes(components)).unwrap_or(i64::MAX);
    Ok([bytes(oldest)?, bytes(newest)?].iter().flatten().all(|bytes| bytes % record == 0))
}

/// Returns the size of one stored vector.
fn record_bytes(components: usize) -> usize {
    size_of::<f32>() + components
}

/// Packs vectors for storage: a scale and one byte per component.
fn pack(vectors: &[Vec<f32>]) -> Vec<u8> {
    let mut data = Vec::new();
    for vector in vectors {
        let (scale, components) = quantise(vector);
        data.extend_from_slice(&scale.to_le_bytes());
        data.extend(components.iter().map(|component| component.to_le_bytes()[0]));
    }
    data
}

/// Quantises a vector: returns its scale and integer components.
pub(crate) fn quantise(vector: &[f32]) -> (f32, Vec<i8>) {
    let largest = vector.iter().fold(0.0, |largest: f32, component| largest.max(component.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return (0.0, vec![0; vector.len()]);
    }
    let scale = largest / 127.0;
    #[expect(clippy::cast_possible_truncation, reason = "within -127 and 127 by the choice of scale")]
    let components = vector.iter().map(|component| (component / scale).round() as i8).collect();
    (scale, components)
}

/// Passes `(passage, cosine)` to `take` for the best vector of each of these passages, sorted by id.
pub(crate) fn cosines_of(
    db: &Connection,
    passages: &[u32],
    question: &[f32],
    mut take: impl FnMut(u32, Option<f32>),
) -> Result<()> {
    let question = quantise(question);
    let sql = "SELECT passage, data FROM embedded WHERE passage IN (SELECT CAST(value AS BIGINT) FROM json_each($1))";
    batch::each_of(db, sql, passages, |row| {
        take(row.get(0)?, super::scan::best(row.bytes(1)?, &question));
        Ok(())
    })
}

/// The same for all passages.
pub(crate) fn all_cosines(
    db: &Connection,
    question: &[f32],
    mut take: impl FnMut(u32, Option<f32>),
) -> Result<()> {
    let question = quantise(question);
    let sql =
        "SELECT passage, data FROM embedded WHERE stamp > $1 AND passage >= $2 ORDER BY passage LIMIT $3";
    batch::each_newer(db, sql, 0, NUMBERS_AT_ONCE, |_, row| {
        take(row.get(0)?, super::scan::best(row.bytes(1)?, &question));
        Ok(())
    })
}

/// Returns the most bytes that the rows with a newer stamp add to the memory.
pub(super) fn bytes_after(db: &Connection, stamp: i64, passages: usize) -> Result<usize> {
    let sql = "SELECT coalesce(sum(length(data)), 0), count(*) FROM embedded WHERE stamp > $1";
    let (bytes, rows): (usize, usize) = db.one(sql, [stamp], |row| Ok((row.get(0)?, row.get(1)?)))?;
    // The list doubles when it grows, also for a row without vectors.
    Ok(if rows == 0 { 0 } else { bytes + 2 * passages * size_of::<Box<[u8]>>() })
}

/// The provider's vectors in memory, by passage.
#[derive(Default)]
pub(crate) struct Dense {
    model: String,
    rows: Vec<Box<[u8]>>,
    /// The sum of their lengths.
    bytes: usize,
}

impl Dense {
    /// Reads the rows that changed since `stamp`.
    pub(super) fn refresh(&mut self, db: &Connection, stamp: i64) -> Result<()> {
        self.model = model(db)?.unwrap_or_default();
        if self.model.is_empty() {
            return Ok(());
        }
        db.each("SELECT passage, data FROM embedded WHERE stamp > $1", [stamp], |row| {
            let passage = usize::try_from(row.get::<i64>(0)?).unwrap_or(0);
            if self.rows.len() <= passage {
                self.rows.resize(passage + 1, Box::default());
            }
            let row: Box<[u8]> = row.bytes(1)?.into();
            self.bytes = self.bytes + row.len() - self.rows[passage].len();
            self.rows[passage] = row;
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Returns the bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.rows.capacity() * size_of::<Box<[u8]>>()
    }

    /// Tells whether there are vectors that can be compared with this model's query vectors.
    pub(crate) fn is_by(&self, embedder: &dyn Embedder) -> bool {
        !self.rows.is_empty() && self.model == embedder.version()
    }

    /// Tells whether a passage waits for its vectors. One that the provider refused does not.
    pub(crate) fn is_pending(&self, passage: u32) -> bool {
        self.rows.get(passage as usize).is_none_or(|row| row.is_empty())
    }

    /// Tells whether the vectors have this number of components.
    pub(crate) fn fits(&self, components: usize) -> bool {
        let mut vectors = self.rows.iter().filter(|row| row.len() > REFUSED_MARK.len());
        let ends = [vectors.next(), vectors.next_back()];
        ends.into_iter().flatten().all(|row| row.len().is_multiple_of(record_bytes(components)))
    }

    /// Returns the cosine of every passage's best piece with a question; `None` if the passage has no vectors
    /// yet.
    pub(crate) fn cosines(&self, passages: usize, question: &[f32]) -> Vec<Option<f32>> {
        let question = quantise(question);
        let mut cosines = vec![None; passages];
        for (cosine, row) in cosines.iter_mut().zip(&self.rows) {
            *cosine = super::scan::best(row, &question);
        }
        cosines
    }
}
