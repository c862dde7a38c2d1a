//! What the lane of words says of every passage and session in scope, and what is usual there: scores are made
//! comparable by it.
#![expect(clippy::cast_possible_truncation, reason = "scores need no more than an f32")]

use super::fuse::Heard;
use super::lanes::TermHits;

/// Who is in scope, and how many of these have each term.
pub(super) struct Inside {
    inside: Vec<bool>,
    pub(super) with: Vec<usize>,
    /// The words of each session, by its number; 0 where it is not in scope.
    lengths: Vec<f32>,
    sessions: usize,
}

impl Inside {
    pub(super) fn new(heard: &Heard<'_>) -> Inside {
        let marks = heard.space.marks();
        let mut inside = vec![false; marks.len()];
        let (mut lengths, mut sessions) = (Vec::new(), 0usize);
        for id in &heard.members {
            inside[*id as usize] = true;
            let mark = marks[*id as usize];
            let session = mark.session as usize;
            if session != 0 {
                if lengths.len() <= session {
                    lengths.resize(session + 1, 0.0f32);
                }
                sessions += usize::from(lengths[session] == 0.0);
                lengths[session] += f32::from(mark.words);
            }
        }
        let mut found = Inside { inside, with: Vec::new(), lengths, sessions };
        let count = |term: &TermHits| term.hits.iter().filter(|(id, _)| found.has(*id)).count();
        found.with = heard.terms.iter().map(count).collect();
        found
    }

    fn has(&self, id: u32) -> bool {
        self.inside.get(id as usize) == Some(&true)
    }
}

pub(super) fn idf(all: usize, with: usize) -> f32 {
    let (all, with) = (all as f32, with as f32);
    (1.0 + (all - with + 0.5).max(0.5) / (with + 0.5)).ln()
}

/// What the lane of words says of every passage and session.
pub(super) struct Words {
    pub(super) scores: Vec<f32>,
    pub(super) matched: Vec<u64>,
    pub(super) coverage: Vec<f32>,
    pub(super) sessions: Vec<f32>,
}

impl Words {
    pub(super) fn scores_of<'v>(&'v self, heard: &'v Heard<'_>) -> impl Iterator<Item = (f32, f64)> + 'v {
        heard.members.iter().map(|id| (self.scores[*id as usize], 1.0))
    }

    /// `weights` are what each term weighs, `total` what all that were read weigh together.
    pub(super) fn read(heard: &Heard<'_>, inside: &Inside, weights: &[f32], total: f32) -> Words {
        let (marks, terms) = (heard.space.marks(), &heard.terms);
        let (mut scores, mut coverage) = (vec![0.0; marks.len()], vec![0.0; marks.len()]);
        let mut matched = vec![0u64; marks.len()];
        let mut counts = vec![0.0f32; inside.lengths.len() * terms.len()];
        for (index, (term, weight)) in terms.iter().zip(weights).enumerate() {
            for (id, saturated) in term.hits.iter().filter(|(id, _)| inside.has(*id)) {
                let place = *id as usize;
                scores[place] += weight * saturated;
                matched[place] |= 1 << (index % 64);
                coverage[place] += weight * saturated.min(1.0) / total.max(f32::MIN_POSITIVE);
                let session = marks[place].session as usize;
                if session != 0 {
                    counts[session * terms.len() + index] += 1.0;
                }
            }
        }
        let sessions = inside.sessions;
        let idf_of = |term: usize| {
            idf(sessions, counts.iter().skip(term).step_by(terms.len()).filter(|count| **count > 0.0).count())
        };
        let weights: Vec<f32> = (0..terms.len()).map(idf_of).collect();
        let sessions = session_scores(&inside.lengths, sessions, &counts, &weights);
        Words { scores, matched, coverage, sessions }
    }
}

/// BM25 over whole sessions, as z: a passage in a session about the matter is likelier than one that only has the word.
fn session_scores(lengths: &[f32], sessions: usize, counts: &[f32], weights: &[f32]) -> Vec<f32> {
    if sessions < 2 || weights.is_empty() {
        return Vec::new();
    }
    let usual = (lengths.iter().sum::<f32>() / sessions as f32).max(1.0);
    let scores: Vec<f32> = lengths
        .iter()
        .zip(counts.chunks_exact(weights.len()))
        .map(|(length, counts)| {
            let saturate = |count: f32| count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / usual));
            counts
                .iter()
                .zip(weights)
                .filter(|(count, _)| **count > 0.0)
                .map(|(count, weight)| weight * saturate(*count))
                .sum()
        })
        .collect();
    let there =
        || lengths.iter().zip(&scores).filter(|(length, _)| **length > 0.0).map(|(_, score)| (*score, 1.0));
    let usual = Spread::of(there, 1e-6);
    scores.into_iter().map(|score| usual.z(score)).collect()
}

/// What is usual for a value over the whole scope: its mean and its spread.
#[derive(Clone, Copy)]
pub(super) struct Spread {
    pub(super) mean: f64,
    pub(super) spread: f64,
}

impl Spread {
    /// Takes each value with the number of passages it stands for. A spread below `least` counts as that: what
    /// is the same everywhere says nothing.
    pub(super) fn of<I: Iterator<Item = (f32, f64)>>(values: impl Fn() -> I, least: f32) -> Spread {
        let (count, sum) = values().fold((0.0, 0.0), |(count, sum), (value, weight)| {
            (count + weight, sum + f64::from(value) * weight)
        });
        let (count, mean) = (f64::max(count, 1.0), sum / f64::max(count, 1.0));
        let apart = values().map(|(value, weight)| (f64::from(value) - mean).powi(2) * weight).sum::<f64>();
        Spread { mean, spread: (apart / count).sqrt().max(f64::from(least)) }
    }

    /// How many spreads a value lies from the mean.
    pub(super) fn z(self, value: f32) -> f32 {
        if self.spread < 1e-9 { 0.0 } else { ((f64::from(value) - self.mean) / self.spread) as f32 }
    }
}
