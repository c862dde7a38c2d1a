//! Vectors by the model that the settings name. They come behind the writes, batch by batch, so that no write
//! waits for a provider; the built-in ones are there from the start and stand in until they come.
//!
//! What is asked of the provider is no part of a transaction. A batch is written for the passages that still
//! say what was sent.

use std::ops::ControlFlow;

use super::{piece, state};
use crate::base::Result;
use crate::base::redact;
use crate::index::embed::Embedder;
use crate::store::Connection;

/// The key in `meta` that names the model.
const MODEL: &str = "embedding";
/// What stands for a text that the provider refused, so that it is not sent again.
const REFUSED: &[u8] = &[0];

/// A passage whose vectors are missing.
pub(crate) struct Pending {
    pub(crate) id: i64,
    pub(crate) text: String,
}

/// A passage and the vectors of its pieces; `None`: the provider does not take the text.
type Made = (Pending, Option<Vec<Vec<f32>>>);

/// How far the vectors of the provider have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) done: i64,
    pub(crate) refused: i64,
    pub(crate) all: i64,
}

/// Returns the model that the vectors are of.
pub(crate) fn model(db: &Connection) -> Result<Option<String>> {
    state::value(db, MODEL)
}

/// Makes this the model that the vectors are of. Those of another one can't be compared and go.
pub(crate) fn adopt(tx: &Connection, version: &str) -> Result<()> {
    if model(tx)?.as_deref() == Some(version) {
        return Ok(());
    }
    forget(tx)?;
    state::set_value(tx, MODEL, version)
}

/// Throws the vectors of the provider away; readers will forget what they have.
pub(crate) fn forget(tx: &Connection) -> Result<()> {
    tx.run("DELETE FROM embedded", ())?;
    state::forget_what_was_read(tx)
}

/// Returns passages that have no vectors yet, the newest first: what was just said is what is asked for.
pub(crate) fn pending(db: &Connection, most: usize) -> Result<Vec<Pending>> {
    let sql = "SELECT id, text FROM passages LEFT JOIN embedded ON passage = id
        WHERE passage IS NULL OR length(data) = 0 ORDER BY id DESC LIMIT $1";
    db.rows(sql, [most], |row| Ok(Pending { id: row.get(0)?, text: row.get(1)? }))
}

/// Asks the model for the vectors of passages.
pub(crate) fn vectors(embedder: &dyn Embedder, passages: &mut Vec<Pending>) -> Result<Vec<Made>> {
    // What leaves for a provider is redacted, as all that leaves.
    let sent: Vec<String> = passages.iter().map(|passage| redact::text(&passage.text).into_owned()).collect();
    let pieces: Vec<Vec<&str>> = sent.iter().map(|text| pieces(text)).collect();
    let texts: Vec<&str> = pieces.iter().flatten().copied().collect();
    let mut vectors = embedder.embed_documents(&texts)?.into_iter();
    let counts: Vec<usize> = pieces.iter().map(Vec::len).collect();
    Ok(passages
        .drain(..)
        .zip(counts)
        .map(|(passage, count)| {
            // No components: a text that the provider does not take.
            let taken: Vec<_> = vectors.by_ref().take(count).filter(|vector| !vector.is_empty()).collect();
            (passage, (!taken.is_empty()).then_some(taken))
        })
        .collect())
}

/// Returns what of a text gets a vector: more than a piece of the built-in model has, because these models read
/// words in order.
fn pieces(text: &str) -> Vec<&str> {
    const WORDS: usize = 120;
    piece::cut(text, WORDS)
}

/// Writes the vectors of passages. What was changed meanwhile stays pending.
pub(crate) fn write(tx: &Connection, embedded: &[Made]) -> Result<()> {
    let stamp = state::next_stamp(tx)?;
    let sql = "INSERT INTO embedded (passage, stamp, data) SELECT id, $2, $3 FROM passages WHERE id = $1 AND text = $4
        ON CONFLICT (passage) DO UPDATE SET stamp = excluded.stamp, data = excluded.data";
    for (passage, vectors) in embedded {
        let data = vectors.as_ref().map_or_else(|| REFUSED.to_vec(), |vectors| pack(vectors));
        tx.run(sql, (passage.id, stamp, data, &passage.text))?;
    }
    Ok(())
}

/// Takes the vectors of a passage that is gone out. An empty row stays, by which readers notice.
pub(crate) fn remove(db: &Connection, stamp: i64, passage: i64) -> Result<()> {
    db.run("UPDATE embedded SET stamp = $2, data = x'' WHERE passage = $1", (passage, stamp)).map(drop)
}

/// Takes out what passages left behind that are gone for good.
pub(crate) fn sweep(db: &Connection) -> Result<()> {
    db.run("DELETE FROM embedded WHERE passage NOT IN (SELECT id FROM passages)", ()).map(drop)
}

/// Says how far it has come.
pub(crate) fn progress(db: &Connection) -> Result<Progress> {
    let sql = "SELECT count(*) FILTER (WHERE length(data) > 1), count(*) FILTER (WHERE length(data) = 1),
        (SELECT count(*) FROM passages) FROM embedded";
    db.one(sql, (), |row| Ok(Progress { done: row.get(0)?, refused: row.get(1)?, all: row.get(2)? }))
}

/// Vectors as they are kept: of each its scale and a byte a component.
fn pack(vectors: &[Vec<f32>]) -> Vec<u8> {
    let mut data = Vec::new();
    for vector in vectors {
        let (scale, components) = quantise(vector);
        data.extend_from_slice(&scale.to_le_bytes());
        data.extend(components.iter().map(|component| component.to_le_bytes()[0]));
    }
    data
}

/// Returns a vector as whole numbers and what to multiply them by.
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

/// The vectors of a provider, in memory, by passage.
#[derive(Default)]
pub(crate) struct Dense {
    model: String,
    rows: Vec<Box<[u8]>>,
}

impl Dense {
    /// Reads what changed since `stamp`.
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
            let data = row.bytes(1)?;
            self.rows[passage] = if data.len() > 1 { data.into() } else { Box::default() };
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Tells whether there are vectors that this model's questions can be compared with.
    pub(crate) fn is_of(&self, embedder: &dyn Embedder) -> bool {
        !self.rows.is_empty() && self.model == embedder.version()
    }

    /// Returns the cosine of every passage's best piece with a question; `None` where it has no vectors yet.
    pub(crate) fn cosines(&self, passages: usize, question: &[f32]) -> Vec<Option<f32>> {
        let question = quantise(question);
        let mut cosines = vec![None; passages];
        for (cosine, row) in cosines.iter_mut().zip(&self.rows) {
            *cosine = super::scan::best(row, &question);
        }
        cosines
    }
}
