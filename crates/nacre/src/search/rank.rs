//! What changes the order once the best are known: the newer of two statements, and variety.

use super::alike::{begin_alike, meaning, shared};
use super::fuse::Field;
use super::hit::Ranked;
use crate::index::Language;

/// Among how many of the best the newer of two statements on one matter is looked for.
pub(super) const AMONG: usize = 20;

/// Of two statements on one matter the newer comes first: the same words of the question in both, these a
/// good part of the shorter one, and enough other words shared or the same beginning that has them all. Every
/// looser form was tried and costs more than it gains.
pub(super) fn newer_first(field: &Field<'_>, hits: &mut [Ranked]) {
    const SHARE: f64 = 0.3;
    hits.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(b.passage.cmp(&a.passage)));
    let count = AMONG.min(hits.len());
    let top = &mut hits[..count];
    let words: Vec<Vec<String>> =
        top.iter().map(|ranked| meaning(&ranked.hit.text, field.language())).collect();
    let bits = |ranked: &Ranked| field.matched[ranked.passage as usize];
    let mut oldest_first: Vec<usize> = (0..top.len()).collect();
    oldest_first.sort_by_key(|index| (top[*index].hit.at, top[*index].passage));
    for (place, &old) in oldest_first.iter().enumerate() {
        for &new in &oldest_first[place + 1..] {
            let same_session = field.mark(top[old].passage).session != 0
                && field.mark(top[old].passage).session == field.mark(top[new].passage).session;
            let matched = bits(&top[old]);
            let count = matched.count_ones();
            #[expect(clippy::cast_precision_loss, reason = "a few words")]
            let shorter = words[old].len().min(words[new].len()).max(1) as f64;
            if top[new].worth <= top[old].worth
                && !same_session
                && matched == bits(&top[new])
                && count >= 2
                && f64::from(count) / shorter >= SHARE
                && (shared(&words[old], &words[new]) >= SHARE
                    || begin_alike(
                        &top[old].hit.text,
                        &top[new].hit.text,
                        &field.words_of(matched),
                        field.language(),
                    ))
            {
                let by = top[old].worth - top[new].worth + 1e-4;
                top[new].change("newer", by);
            }
        }
    }
}

/// Puts what repeats the hits above it further down (Q4: maximal marginal relevance). `diversity` is what
/// repeating weighs against being right: 0 changes nothing, 1 cares for nothing else. Takes hits best first.
pub(super) fn vary(hits: &mut Vec<Ranked>, diversity: f64, language: Language) {
    let (Some(most), Some(least)) = (hits.first().map(|hit| hit.worth), hits.last().map(|hit| hit.worth))
    else {
        return;
    };
    if diversity <= 0.0 {
        return;
    }
    let right = |hit: &Ranked| (hit.worth - least) / (most - least).max(f64::MIN_POSITIVE);
    let mut left: Vec<(Ranked, Vec<String>, f64)> = hits
        .drain(..)
        .map(|hit| (meaning(&hit.hit.text, language), hit))
        .map(|(words, hit)| (hit, words, 0.0))
        .collect();
    while !left.is_empty() {
        let good = |(hit, _, repeats): &(Ranked, Vec<String>, f64)| {
            (1.0 - diversity) * right(hit) - diversity * repeats
        };
        // The first of the best, for they come in order.
        let best =
            (1..left.len()).fold(0, |best, at| if good(&left[at]) > good(&left[best]) { at } else { best });
        let (mut hit, words, _) = left.remove(best);
        for (_, others, repeats) in &mut left {
            *repeats = repeats.max(shared(&words, others));
        }
        // The order is by what hits are worth, so what was passed over is worth less than what passed it.
        if let Some(above) = hits.last().filter(|above| above.worth < hit.worth) {
            hit.change("repeats", above.worth - hit.worth);
        }
        hits.push(hit);
    }
}
