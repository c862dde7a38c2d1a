//! Ranking: the best of all corpora in their final order. The newer of two statements on one subject comes
//! first, and repetitive hits move down.

use super::alike::begin_alike;
use super::corpus::Remarks;
use super::hit::{self, Contender};
use super::narrow;
use super::request::Request;
use super::score::{Scorer, Scores};
use crate::base::Result;
use crate::index::Language;
use crate::index::alike::{meaning, shared};

/// The maximum number of standing instructions and preferences in an answer.
pub(super) const MAX_STANDING_HITS: usize = 3;

/// The number of top hits among which the newer of two statements on one subject comes first.
const MAX_NEWER_FIRST_HITS: usize = 20;

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
    let Scores { scorers, rules, language, mut remarks } = scores;
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
            standing = hit::load(&scorer, &mut scorer.standing(), MAX_STANDING_HITS * 2, request)?;
        }
    }
    hits.sort_by(|a, b| {
        b.worth.total_cmp(&a.worth).then(b.hit.at.cmp(&a.hit.at)).then(b.passage.cmp(&a.passage))
    });
    vary(&mut hits, rules.search.diversity, language);
    hits.truncate(request.limit);
    Ok(Ranking { hits, standing, remarks })
}

/// Returns the best of one corpus.
fn best(scorer: &mut Scorer<'_>, request: &Request) -> Result<Vec<Contender>> {
    let wanted = request.limit.max(MAX_NEWER_FIRST_HITS);
    narrow::narrow(scorer, wanted);
    let found = scorer.members.iter().copied().filter(|id| scorer.is_found(*id));
    let mut scored: Vec<(u32, f32)> = found.map(|id| (id, scorer.score(id))).collect();
    let mut hits = hit::load(scorer, &mut scored, wanted, request)?;
    let is_current = |hit: &Contender| request.project.is_some() && hit.hit.project == request.project;
    hits.iter_mut().filter(|hit| is_current(hit)).for_each(|hit| hit.change("project", PROJECT_BONUS));
    if scorer.is_hybrid() {
        newer_first(scorer, &mut hits);
    }
    Ok(hits)
}

/// Puts the newer of two statements on one subject first. Both contain the same words of the question, these
/// are a large share of the shorter one, and the two share enough other words or the same beginning with all
/// of these. Every looser form was tried and costs more than it gains.
fn newer_first(scorer: &Scorer<'_>, hits: &mut [Contender]) {
    const MIN_SHARE: f64 = 0.3;
    hits.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(b.passage.cmp(&a.passage)));
    let count = MAX_NEWER_FIRST_HITS.min(hits.len());
    let top = &mut hits[..count];
    let words: Vec<Vec<String>> =
        top.iter().map(|contender| meaning(&contender.hit.text, scorer.language())).collect();
    let bits = |contender: &Contender| scorer.matched[contender.passage as usize];
    let mut oldest_first: Vec<usize> = (0..top.len()).collect();
    oldest_first.sort_by_key(|index| (top[*index].hit.at, top[*index].passage));
    for (place, &old) in oldest_first.iter().enumerate() {
        for &new in &oldest_first[place + 1..] {
            let same_session = scorer.mark(top[old].passage).session != 0
                && scorer.mark(top[old].passage).session == scorer.mark(top[new].passage).session;
            let matched = bits(&top[old]);
            let count = matched.count_ones();
            #[expect(clippy::cast_precision_loss, reason = "a few words")]
            let shorter = words[old].len().min(words[new].len()).max(1) as f64;
            // The same words about another project are no newer statement on the subject.
            let other_project = matches!(
                (&top[old].hit.project, &top[new].hit.project),
                (Some(one), Some(other)) if one != other
            );
            if top[new].worth <= top[old].worth
                && !same_session
                && !other_project
                && matched == bits(&top[new])
                && count >= 2
                && f64::from(count) / shorter >= MIN_SHARE
                && (shared(&words[old], &words[new]) >= MIN_SHARE
                    || begin_alike(
                        &top[old].hit.text,
                        &top[new].hit.text,
                        &scorer.words_of(matched),
                        scorer.language(),
                    ))
            {
                let by = top[old].worth - top[new].worth + 1e-4;
                top[new].change("newer", by);
            }
        }
    }
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
