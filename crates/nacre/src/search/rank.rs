//! Ranking: the best of all corpora in their final order. The newer of two contradicting statements comes first, and
//! repetitive hits move down.

use super::corpus::Remarks;
use super::hit::{self, ChunkExtent, Contender};
use super::recency::{self, MAX_COMPARED_HITS};
use super::request::Request;
use super::score::{Scorer, Scores};
use super::{lines, narrow};
use crate::base::Result;
use crate::index::alike::{meaning, shared};
use crate::index::{Language, flag};

/// The maximum number of standing instructions and preferences in an answer.
pub(super) const MAX_STANDING_HITS: usize = 3;

/// The bonus of a hit from the project in which the question is asked. It decides between hits that fit about equally
/// well.
const PROJECT_BONUS: f64 = 0.25;

/// The hits of an answer, best first.
pub(super) struct Ranking {
    pub(super) hits: Vec<Contender>,
    /// Standing instructions and preferences that may apply. They may be among the hits too.
    pub(super) standing: Vec<Contender>,
    pub(super) remarks: Remarks,
}

/// Ranks the passages of all corpora. A collection that can't be read is left out.
pub(super) fn rank(scores: Scores<'_>, request: &Request) -> Result<Ranking> {
    let Scores { scorers, rules, question, mut remarks } = scores;
    let mut hits = Vec::new();
    let mut standing = Vec::new();
    for mut scorer in scorers {
        match best(&mut scorer, request) {
            Ok(best) => hits.extend(best),
            Err(error) => {
                remarks.leave_out(scorer.corpus, error)?;
                continue;
            }
        }
        // Books say "always" too, but not about the user.
        if !scorer.is_words_alone() && scorer.corpus.is_memory() {
            // Twice as many, because some may be among the hits.
            standing = hit::load(
                &scorer,
                &mut scorer.standing(),
                MAX_STANDING_HITS * 2,
                request,
                ChunkExtent::Excerpt,
            )?;
        }
    }
    sort(&mut hits);
    recency::newer_first(&mut hits, question);
    sort(&mut hits);
    vary(&mut hits, rules.search.diversity, question.language);
    hits.truncate(request.limit);
    Ok(Ranking { hits, standing, remarks })
}

fn sort(hits: &mut [Contender]) {
    hits.sort_by(|a, b| {
        b.worth.total_cmp(&a.worth).then(b.hit.at.cmp(&a.hit.at)).then(b.passage.cmp(&a.passage))
    });
}

/// Returns the best of one corpus.
fn best(scorer: &mut Scorer<'_>, request: &Request) -> Result<Vec<Contender>> {
    let wanted = request.limit.max(MAX_COMPARED_HITS);
    narrow::narrow(scorer, wanted)?;
    let by_line = scorer.ranks_lines();
    let is_split = |id: u32| by_line && scorer.mark(id).is(flag::CHUNK);
    let found = scorer.members.iter().copied().filter(|id| !is_split(*id) && scorer.is_found(*id));
    let mut scored: Vec<(u32, f32)> = found.map(|id| (id, scorer.score(id))).collect();
    let mut hits = hit::load(scorer, &mut scored, wanted, request, ChunkExtent::Excerpt)?;
    // A line may be found by a link to another chunk, so that every chunk counts.
    let chunks = scorer.members.iter().copied().filter(|id| is_split(*id));
    let mut chunks: Vec<(u32, f32)> = chunks.map(|id| (id, scorer.score(id))).collect();
    if !chunks.is_empty() {
        let reading = lines::reading(scorer.question());
        let chunks = lines::candidates(scorer, &mut chunks, request, reading.as_ref())?;
        scorer.read_lines(chunks.iter().map(|chunk| chunk.passage))?;
        hits.extend(lines::best(scorer, &chunks, wanted, reading.as_ref()));
    }
    let is_current = |hit: &Contender| request.project.is_some() && hit.hit.project == request.project;
    hits.iter_mut().filter(|hit| is_current(hit)).for_each(|hit| hit.change("project", PROJECT_BONUS));
    Ok(hits)
}

/// Moves hits that repeat those above them further down (maximal marginal relevance). `diversity` is the weight of
/// repetition against relevance: 0 changes nothing, 1 ignores relevance. Takes hits best first.
fn vary(hits: &mut Vec<Contender>, diversity: f64, language: Language) {
    let Some(most) = hits.first().map(|hit| hit.worth) else { return };
    let Some(least) = hits.last().map(|hit| hit.worth) else { return };
    if diversity <= 0.0 {
        return;
    }
    let right = |hit: &Contender| (hit.worth - least) / (most - least).max(f64::MIN_POSITIVE);
    let mut left: Vec<(Contender, Vec<String>, f64)> = hits
        .drain(..)
        .map(|hit| (meaning(&hit.hit.text, language), hit))
        .map(|(words, hit)| (hit, words, 0.0))
        .collect();
    while !left.is_empty() {
        let good = |(hit, _, repeats): &(Contender, Vec<String>, f64)| {
            (1.0 - diversity) * right(hit) - diversity * repeats
        };
        // The first of the best, because they are in order.
        let best =
            (1..left.len()).fold(0, |best, at| if good(&left[at]) > good(&left[best]) { at } else { best });
        let (mut hit, words, _) = left.remove(best);
        for (_, others, repeats) in &mut left {
            *repeats = repeats.max(shared(&words, others));
        }
        // The order is by worth, so a hit that was moved down gets at most the worth of the one above it.
        if let Some(above) = hits.last().filter(|above| above.worth < hit.worth) {
            hit.change("repeats", above.worth - hit.worth);
        }
        hits.push(hit);
    }
}
