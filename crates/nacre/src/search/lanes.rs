//! The lanes: each says, for the passages it knows something about, how well they fit.
#![expect(clippy::cast_possible_truncation, reason = "scores need no more than an f32")]

use rusqlite::{Connection, OptionalExtension};

use super::fuse::{Estimated, Heard};
use super::query::{Query, Term};
use crate::base::Result;
use crate::index::embed::{Embedder, builtin};
use crate::index::{Quantised, Space, analyse, scan};

/// Above this many passages a word is read without counting how often it stands in each: the count would cost
/// more than it tells.
const COUNTED: i64 = 300;
/// The words of a question are read from the rarest on until this many hits are together. What the commonest
/// would add is below what can change the order, and their number grows with the memory.
const READ: i64 = 60_000;

/// From how many hits on reading a word costs more than it may say.
const LARGE: i64 = 1_000;

/// BM25's constants, as FTS5 has them.
const K1: f32 = 1.2;
const B: f32 = 0.75;

/// What the lane of words found for one term.
pub(super) struct TermHits {
    /// Passages that have it, with BM25's saturated count.
    pub(super) hits: Vec<(u32, f32)>,
    /// Whether it was read; a very common one beside rarer ones is not.
    pub(super) read: bool,
}

/// Reads the hits of every term.
pub(super) fn words(db: &Connection, query: &Query, space: &Space) -> Result<Vec<TermHits>> {
    let mut order: Vec<(i64, usize)> = Vec::new();
    for (index, term) in query.terms.iter().enumerate() {
        order.push((df(db, &term.term)?, index));
    }
    order.sort_unstable();
    let (passages, length) = (space.passages(), space.usual_words());
    let mut found: Vec<TermHits> =
        query.terms.iter().map(|_| TermHits { hits: Vec::new(), read: false }).collect();
    let (mut read, mut terms_read) = (0, 0);
    for (df, index) in order {
        // In a large memory a word that one passage in eight has says little beside two that are rarer.
        let says_little =
            terms_read >= 2 && df > LARGE && df > i64::try_from(passages).unwrap_or(i64::MAX) / 8;
        if says_little || (read > 0 && read + df > READ) {
            break;
        }
        terms_read += 1;
        read += df;
        let term = &query.terms[index];
        let hits =
            if df > COUNTED { present(db, term, space, length)? } else { counted(db, term, passages)? };
        found[index] = TermHits { hits, read: true };
    }
    Ok(found)
}

/// Hits with the saturated count that FTS5's `bm25()` contains: its value divided by its own idf.
fn counted(db: &Connection, term: &Term, passages: usize) -> Result<Vec<(u32, f32)>> {
    let sql = "SELECT rowid, bm25(passages_fts) FROM passages_fts WHERE passages_fts MATCH ?1";
    let mut statement = db.prepare_cached(sql)?;
    let rows =
        statement.query_map([term.expression()], |row| Ok((row.get::<_, u32>(0)?, row.get::<_, f64>(1)?)))?;
    let hits: Vec<(u32, f64)> = rows.collect::<rusqlite::Result<_>>()?;
    let (all, with) = (passages as f64, hits.len() as f64);
    let idf = ((all - with + 0.5) / (with + 0.5)).ln();
    let idf = if idf <= 0.0 { 1e-6 } else { idf };
    Ok(hits.into_iter().map(|(id, value)| (id, (-value / idf) as f32)).collect())
}

/// Hits of a common word, each taken to have it once.
fn present(db: &Connection, term: &Term, space: &Space, usual: f32) -> Result<Vec<(u32, f32)>> {
    let mut statement = db.prepare_cached("SELECT rowid FROM passages_fts WHERE passages_fts MATCH ?1")?;
    let ids = statement.query_map([term.expression()], |row| row.get::<_, u32>(0))?;
    let mut hits = Vec::new();
    for id in ids {
        let id = id?;
        let words = space.marks().get(id as usize).map_or(usual, |mark| f32::from(mark.words));
        hits.push((id, (K1 + 1.0) / (1.0 + K1 * (1.0 - B + B * words / usual.max(1.0)))));
    }
    Ok(hits)
}

/// In how many passages a word stands.
pub(crate) fn df(db: &Connection, term: &str) -> Result<i64> {
    let found = db
        .prepare_cached("SELECT df FROM terms WHERE term = ?1")?
        .query_row([term], |row| row.get(0))
        .optional()?;
    Ok(found.unwrap_or(0))
}

/// The vector of a question. Words that few of all the passages have (`df` says how many) count more, names of
/// those who speak not at all: they stand everywhere and drown the matter.
pub(super) fn question(
    query: &Query,
    passages: usize,
    df: impl Fn(&str) -> Result<i64>,
) -> Result<Quantised> {
    let mut problem = None;
    let vector = builtin::embed_weighted(&query.text, |word| {
        if query.is_name(word) {
            return 0.0;
        }
        let df = analyse::words(word, query.language).first().map_or(Ok(0), |term| df(term));
        match df {
            Ok(df) => {
                let (all, with) = (passages.max(1) as f32, df as f32);
                (1.0 + (all - with + 0.5).max(0.5) / (with + 0.5)).ln().sqrt()
            }
            Err(error) => {
                problem = Some(error);
                0.0
            }
        }
    });
    problem.map_or(Ok(builtin::quantise(&vector)), Err)
}

/// The cosine of every passage's best piece with the question.
pub(super) fn meaning(heard: &mut Heard<'_>, question: &Quantised) {
    if heard.is_large && !heard.space.sketches().is_empty() {
        return estimate(heard, question);
    }
    let mut best = vec![f32::MIN; heard.space.marks().len()];
    scan::cosines(heard.space.vectors(), question, |passage, cosine| {
        if let Some(known) = best.get_mut(passage as usize) {
            *known = known.max(cosine);
        }
    });
    best.iter_mut().filter(|cosine| **cosine == f32::MIN).for_each(|cosine| *cosine = 0.0);
    heard.cosines = best;
}

/// Estimates the cosines from the signs that vectors share with the question's: on a line through what the
/// vectors of a sample share, whose cosines are exact.
fn estimate(heard: &mut Heard<'_>, question: &Quantised) {
    // Odd, for people take turns.
    const ONE_IN: usize = 31;
    let Heard { space, members, .. } = heard;
    let shared = space.sketches().shared(space.marks().len(), question);
    let mut cosines = vec![0.0; shared.len()];
    let sample: Vec<u32> = members.iter().copied().step_by(ONE_IN).collect();
    look_closely(space, &sample, question, &mut cosines);
    let exact: Vec<f32> = sample.iter().map(|id| cosines[*id as usize]).collect();
    // What shares no sign has no vectors.
    let known = sample.iter().zip(&exact).filter(|(id, _)| shared[**id as usize] > 0);
    let line = Line::through(known.map(|(id, cosine)| (f32::from(shared[*id as usize]), *cosine)));
    for (cosine, shared) in cosines.iter_mut().zip(&shared) {
        *cosine = if *shared == 0 { 0.0 } else { line.at(f32::from(*shared)) };
    }
    for (id, cosine) in sample.iter().zip(exact) {
        cosines[*id as usize] = cosine;
    }
    heard.cosines = cosines;
    heard.estimated = Some(Estimated { question: *question, sample });
}

/// The line that fits points best.
struct Line {
    middle: (f32, f32),
    slope: f32,
}

impl Line {
    fn through(points: impl Iterator<Item = (f32, f32)> + Clone) -> Line {
        let count = points.clone().count().max(1) as f32;
        let (x, y) = points.clone().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
        let middle = (x / count, y / count);
        let (both, square) = points.fold((0.0, 0.0), |(both, square), (x, y)| {
            (both + (x - middle.0) * (y - middle.1), square + (x - middle.0).powi(2))
        });
        Line { middle, slope: if square > 0.0 { both / square } else { 0.0 } }
    }

    fn at(&self, x: f32) -> f32 {
        self.middle.1 + self.slope * (x - self.middle.0)
    }
}

/// Puts the exact cosines of these passages in the place of what is there.
pub(super) fn look_closely(space: &Space, ids: &[u32], question: &Quantised, cosines: &mut [f32]) {
    let mut last = 0;
    // The vectors of a passage come one after the other.
    space.cosines(ids, question, |passage, cosine| {
        if let Some(known) = cosines.get_mut(passage as usize) {
            *known = if passage == last { known.max(cosine) } else { cosine };
        }
        last = passage;
    });
}

/// Asks the model of the settings, where its vectors have come so far. Returns what can't be said: then the
/// built-in vectors answer alone.
pub(super) fn by_model(embedder: &dyn Embedder, query: &Query, heard: &mut [Heard<'_>]) -> Option<String> {
    // One that can't be had at all is asked, so that it says why.
    let made = heard.iter().any(|heard| heard.space.dense().is_of(embedder));
    if !made && !embedder.version().is_empty() {
        return None;
    }
    let mut weight = |word: &str| if query.is_name(word) { 0.0 } else { 1.0 };
    let question = match embedder.embed_query(&query.text, &mut weight) {
        Ok(question) => question,
        Err(error) => return Some(format!("embeddings ({error}): the built-in model answered alone")),
    };
    for heard in heard.iter_mut().filter(|heard| heard.space.dense().is_of(embedder)) {
        heard.dense = heard.space.dense().cosines(heard.space.marks().len(), &question);
    }
    None
}
