//! The retrievers by words and by embedding: each scores how well passages fit the question.
#![expect(clippy::cast_possible_truncation, reason = "scores need no more than an f32")]

use super::question::Question;
use crate::base::Result;
use crate::index::embed::{Embedder, builtin};
use crate::index::lookup::{self, Frequencies};
use crate::index::{Quantised, Space, analyse, dense};
use crate::store::Connection;

/// The maximum number of passages with a word for which its occurrences in each are counted. Above that,
/// counting costs more than it gains.
const MAX_COUNTED_PASSAGES: i64 = 300;

/// The maximum number of hits that are read for a question. Its words are read in order of rarity. The most
/// common ones add too little to change the order, and their hits grow with the memory.
const MAX_READ_HITS: i64 = 60_000;

/// Up to this number of passages, a word is cheap enough to read however common it is.
const MAX_CHEAP_PASSAGES: i64 = 1_000;

/// BM25's constants, the same as in FTS5.
const K1: f32 = 1.2;
const B: f32 = 0.75;

/// The passages that contain one term.
pub(super) struct TermHits {
    /// Their ids, with BM25's saturated count.
    pub(super) hits: Vec<(u32, f32)>,
    /// Whether they were read. Those of a very common term are not, if there are rarer ones.
    pub(super) is_read: bool,
}

/// The cosine similarity of every passage to the question.
pub(super) struct Cosines {
    /// By passage id.
    pub(super) values: Vec<f32>,
    /// Set if most of the values are estimates.
    pub(super) estimate: Option<Estimate>,
}

/// The basis of estimated cosines.
pub(super) struct Estimate {
    /// The vector of the question.
    pub(super) vector: Quantised,
    /// Passages throughout the scope whose cosine is exact. They give the mean and spread.
    pub(super) sample: Vec<u32>,
}

impl Cosines {
    pub(super) fn zero(passages: usize) -> Cosines {
        Cosines { values: vec![0.0; passages], estimate: None }
    }
}

/// Reads the hits of every term.
pub(super) fn words(db: &Connection, question: &Question, space: &Space) -> Result<Vec<TermHits>> {
    let terms = &question.terms;
    let frequencies = Frequencies::read(db, terms.iter().map(|term| term.term.clone()))?;
    let mut order: Vec<(i64, usize)> =
        terms.iter().enumerate().map(|(index, term)| (frequencies.of(&term.term), index)).collect();
    order.sort_unstable();
    let passages = i64::try_from(space.passages()).unwrap_or(i64::MAX);
    let mut hits_read = 0;
    // The terms whose occurrences are counted, and those that are only looked for.
    let (mut counted_terms, mut common_terms) = (Vec::new(), Vec::new());
    for (terms_read, (df, index)) in order.into_iter().enumerate() {
        // In a large memory, a word in more than one of eight passages adds little to two rarer ones.
        let says_little = terms_read >= 2 && df > MAX_CHEAP_PASSAGES && df > passages / 8;
        if says_little || (hits_read > 0 && hits_read + df > MAX_READ_HITS) {
            break;
        }
        hits_read += df;
        if df > MAX_COUNTED_PASSAGES { &mut common_terms } else { &mut counted_terms }.push(index);
    }
    let expressions =
        |read: &[usize]| -> Vec<String> { read.iter().map(|index| terms[*index].expression()).collect() };
    let scored = lookup::scored(db, &expressions(&counted_terms))?;
    let matching = lookup::matching(db, &expressions(&common_terms))?;
    let hits = scored.into_iter().map(|hits| counted(hits, space));
    let hits = hits.chain(matching.into_iter().map(|ids| present(ids, space)));
    let mut found: Vec<TermHits> =
        terms.iter().map(|_| TermHits { hits: Vec::new(), is_read: false }).collect();
    for (index, hits) in counted_terms.into_iter().chain(common_terms).zip(hits) {
        found[index] = TermHits { hits, is_read: true };
    }
    Ok(found)
}

/// Returns the hits with the saturated count that FTS5's `bm25()` contains: its value divided by its idf.
fn counted(hits: Vec<(u32, f64)>, space: &Space) -> Vec<(u32, f32)> {
    let all = space.passages() as f64;
    let with = hits.len() as f64;
    let idf = ((all - with + 0.5) / (with + 0.5)).ln();
    let idf = if idf <= 0.0 { 1e-6 } else { idf };
    hits.into_iter().map(|(id, value)| (id, (-value / idf) as f32)).collect()
}

/// Returns the hits of a common word, each counted as one occurrence.
fn present(ids: Vec<u32>, space: &Space) -> Vec<(u32, f32)> {
    let usual = space.average_words();
    let once = |id: u32| {
        let words = space.marks().get(id as usize).map_or(usual, |mark| f32::from(mark.words));
        (id, (K1 + 1.0) / (1.0 + K1 * (1.0 - B + B * words / usual.max(1.0))))
    };
    ids.into_iter().map(once).collect()
}

/// Returns the words of a question whose frequencies weight its vector, in the analyser's form.
pub(super) fn weighted_words(question: &Question) -> Vec<String> {
    let mut words = Vec::new();
    builtin::each_word(&question.text, |word| words.extend(weighted_word(question, word)));
    words
}

fn weighted_word(question: &Question, word: &str) -> Option<String> {
    analyse::words(word, question.language).into_iter().next()
}

/// Returns the vector of a question. Words in few passages (`df` tells how many) count more. Names of
/// speakers don't count: they are everywhere and would dominate the subject.
pub(super) fn question_vector(question: &Question, passages: usize, df: impl Fn(&str) -> i64) -> Quantised {
    let vector = builtin::embed_weighted(&question.text, |word| {
        if question.is_name(word) {
            return 0.0;
        }
        let with = weighted_word(question, word).map_or(0, |word| df(&word)) as f32;
        let all = passages.max(1) as f32;
        (1.0 + (all - with + 0.5).max(0.5) / (with + 0.5)).ln().sqrt()
    });
    builtin::quantise(&vector)
}

/// Returns the vector of a question by the model of the settings.
pub(super) fn model_vector(question: &Question, embedder: &dyn Embedder) -> Result<Vec<f32>> {
    let mut weight = |word: &str| if question.is_name(word) { 0.0 } else { 1.0 };
    embedder.embed_query(&question.text, &mut weight)
}

/// Returns the cosine of every passage's best piece with the question. In a large scope most are estimates.
pub(super) fn meaning(
    db: &Connection,
    space: &Space,
    members: &[u32],
    is_large: bool,
    vector: &Quantised,
) -> Result<Cosines> {
    if is_large && let Some(shared) = space.shared_signs(vector) {
        return estimate(db, space, members, vector, &shared);
    }
    let mut best = vec![f32::MIN; space.marks().len()];
    space.all_cosines(db, members, vector, |passage, cosine| {
        if let Some(known) = best.get_mut(passage as usize) {
            *known = known.max(cosine);
        }
    })?;
    best.iter_mut().filter(|cosine| **cosine == f32::MIN).for_each(|cosine| *cosine = 0.0);
    Ok(Cosines { values: best, estimate: None })
}

/// Returns the cosines of the provider's vectors with a question, by passage id, for a memory whose vectors are read: those of the
/// sample if the others are estimated.
pub(super) fn read_model_cosines(
    db: &Connection,
    space: &Space,
    members: &[u32],
    estimate: Option<&Estimate>,
    question: &[f32],
) -> Result<Vec<Option<f32>>> {
    let mut cosines = vec![None; space.marks().len()];
    let take = |passage: u32, cosine| {
        cosines.get_mut(passage as usize).into_iter().for_each(|known| *known = cosine);
    };
    match estimate {
        Some(estimate) => dense::cosines_of(db, &estimate.sample, question, take)?,
        None if space.reads_singly(members) => dense::cosines_of(db, members, question, take)?,
        None => dense::all_cosines(db, question, take)?,
    }
    Ok(cosines)
}

/// Estimates the cosines from the number of signs that each passage shares with the question. A regression over an exact
/// sample maps shared signs to cosines.
fn estimate(
    db: &Connection,
    space: &Space,
    members: &[u32],
    vector: &Quantised,
    shared: &[u16],
) -> Result<Cosines> {
    // An odd step, because speakers alternate.
    const SAMPLE_ONE_IN: usize = 31;
    /// The size of a sample that is read from the database.
    const READ_SAMPLE: usize = 500;
    let one_in = if space.is_beyond_memory() { (members.len() / READ_SAMPLE) | 1 } else { SAMPLE_ONE_IN };
    let mut cosines = vec![0.0; shared.len()];
    let sample: Vec<u32> = members.iter().copied().step_by(one_in).collect();
    use_exact_cosines(db, space, &sample, vector, &mut cosines)?;
    let exact: Vec<f32> = sample.iter().map(|id| cosines[*id as usize]).collect();
    // A passage that shares no sign has no vectors.
    let known = sample.iter().zip(&exact).filter(|(id, _)| shared[**id as usize] > 0);
    let line = Line::through(known.map(|(id, cosine)| (f32::from(shared[*id as usize]), *cosine)));
    for (cosine, shared) in cosines.iter_mut().zip(shared) {
        *cosine = if *shared == 0 { 0.0 } else { line.at(f32::from(*shared)) };
    }
    for (id, cosine) in sample.iter().zip(exact) {
        cosines[*id as usize] = cosine;
    }
    Ok(Cosines { values: cosines, estimate: Some(Estimate { vector: *vector, sample }) })
}

/// A regression line.
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

/// Replaces the cosines of these passages, sorted by id, by exact ones.
pub(super) fn use_exact_cosines(
    db: &Connection,
    space: &Space,
    ids: &[u32],
    vector: &Quantised,
    cosines: &mut [f32],
) -> Result<()> {
    let mut last = 0;
    // The vectors of a passage are consecutive.
    space.cosines(db, ids, vector, |passage, cosine| {
        if let Some(known) = cosines.get_mut(passage as usize) {
            *known = if passage == last { known.max(cosine) } else { cosine };
        }
        last = passage;
    })
}
