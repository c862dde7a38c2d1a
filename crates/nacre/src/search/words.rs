//! Scores of the word retriever for every passage and session in scope, and the mean and spread that make
//! scores comparable.
#![expect(clippy::cast_possible_truncation, reason = "scores need no more than an f32")]

use super::candidates::Pool;
use super::question::Term;
use super::retrievers::TermHits;

/// The passages and sessions in scope, and how many of these passages contain each term.
struct Membership {
    /// By passage id.
    is_member: Vec<bool>,
    /// By term.
    with: Vec<usize>,
    /// The number of words of each session, by its number; 0 if it is not in scope.
    lengths: Vec<f32>,
    sessions: usize,
}

impl Membership {
    fn new(pool: &Pool<'_>) -> Membership {
        let marks = pool.space().marks();
        let mut is_member = vec![false; marks.len()];
        let mut lengths = Vec::new();
        let mut sessions = 0usize;
        for id in &pool.members {
            is_member[*id as usize] = true;
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
        let mut membership = Membership { is_member, with: Vec::new(), lengths, sessions };
        let count = |term: &TermHits| term.hits.iter().filter(|(id, _)| membership.has(*id)).count();
        membership.with = pool.terms.iter().map(count).collect();
        membership
    }

    fn has(&self, id: u32) -> bool {
        self.is_member.get(id as usize) == Some(&true)
    }
}

fn idf(all: usize, with: usize) -> f32 {
    let all = all as f32;
    let with = with as f32;
    (1.0 + (all - with + 0.5).max(0.5) / (with + 0.5)).ln()
}

/// The scores of the word retriever in one corpus.
pub(super) struct WordScores {
    /// BM25 by passage id.
    pub(super) scores: Vec<f32>,
    /// The terms that a passage contains, one bit each.
    pub(super) matched: Vec<u64>,
    /// The share of the question's weight that a passage matches.
    pub(super) coverage: Vec<f32>,
    /// The z-score of BM25 over whole sessions, by session number.
    pub(super) sessions: Vec<f32>,
}

impl WordScores {
    /// Scores all pools of one question. A term has the same weight in all of them, so that their scores are
    /// comparable.
    pub(super) fn of_all(terms: &[Term], pools: &[Pool<'_>]) -> Vec<WordScores> {
        let memberships: Vec<Membership> = pools.iter().map(Membership::new).collect();
        let all = pools.iter().map(|pool| pool.members.len()).sum();
        let with = |term: usize| memberships.iter().map(|membership| membership.with[term]).sum();
        let weights: Vec<f32> =
            terms.iter().enumerate().map(|(index, term)| term.weight * idf(all, with(index))).collect();
        // A term read in any corpus counts as read in all: a corpus without it has no hits to read.
        let is_read = |term: &usize| pools.iter().any(|pool| pool.terms[*term].is_read);
        let total: f32 = (0..terms.len()).filter(is_read).map(|term| weights[term]).sum();
        let score = |(pool, membership)| WordScores::new(pool, membership, terms, &weights, total);
        pools.iter().zip(&memberships).map(score).collect()
    }

    /// `weights` has the weight of each term, `total` the sum over those that were read.
    fn new(
        pool: &Pool<'_>,
        membership: &Membership,
        asked: &[Term],
        weights: &[f32],
        total: f32,
    ) -> WordScores {
        let marks = pool.space().marks();
        let terms = &pool.terms;
        let mut scores = vec![0.0; marks.len()];
        let mut coverage = vec![0.0; marks.len()];
        let mut matched = vec![0u64; marks.len()];
        let mut counts = vec![0.0f32; membership.lengths.len() * terms.len()];
        for (index, (term, weight)) in terms.iter().zip(weights).enumerate() {
            for (id, saturated) in term.hits.iter().filter(|(id, _)| membership.has(*id)) {
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
        let sessions = membership.sessions;
        let idf_of = |term: usize| {
            let with = counts.iter().skip(term).step_by(terms.len()).filter(|count| **count > 0.0).count();
            asked[term].weight * idf(sessions, with)
        };
        let weights: Vec<f32> = (0..terms.len()).map(idf_of).collect();
        let sessions = session_scores(&membership.lengths, sessions, &counts, &weights);
        WordScores { scores, matched, coverage, sessions }
    }

    /// Returns the score of every member, each representing one passage.
    pub(super) fn of_members<'v>(&'v self, pool: &'v Pool<'_>) -> impl Iterator<Item = (f32, f64)> + 'v {
        pool.members.iter().map(|id| (self.scores[*id as usize], 1.0))
    }
}

/// Returns the z-score of BM25 over whole sessions. A passage in a session about the subject is more likely
/// to answer than one that only contains the word.
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

/// The mean and the spread of a value over the whole scope.
#[derive(Clone, Copy)]
pub(super) struct Spread {
    pub(super) mean: f64,
    pub(super) spread: f64,
}

impl Spread {
    /// Takes each value with the number of passages it represents. A spread below `least` counts as `least`:
    /// a value that is the same everywhere says nothing.
    pub(super) fn of<I: Iterator<Item = (f32, f64)>>(values: impl Fn() -> I, least: f32) -> Spread {
        let (count, sum) = values().fold((0.0, 0.0), |(count, sum), (value, weight)| {
            (count + weight, sum + f64::from(value) * weight)
        });
        let count = f64::max(count, 1.0);
        let mean = sum / count;
        let apart = values().map(|(value, weight)| (f64::from(value) - mean).powi(2) * weight).sum::<f64>();
        Spread { mean, spread: (apart / count).sqrt().max(f64::from(least)) }
    }

    /// Returns how many spreads a value is away from the mean.
    pub(super) fn z(self, value: f32) -> f32 {
        if self.spread < 1e-9 { 0.0 } else { ((f64::from(value) - self.mean) / self.spread) as f32 }
    }
}
