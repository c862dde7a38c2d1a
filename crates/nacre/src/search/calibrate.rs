//! The score that is shown: how likely a hit is relevant, from 0 to 1.
//!
//! The order of hits compares them with each other, so that even the best hit of an off-topic query is far above the rest.
//! The score says how good a hit is by itself: the share of the question that it matches, the similarity of its meaning,
//! and its rank. The weights were fitted on the tuning halves of public sets and on notes, together with queries about
//! nothing that is remembered; each set was checked with weights of the others (docs/decisions/0041).
#![expect(clippy::cast_precision_loss, reason = "a few ranks")]

use super::hit::{Hit, round};

const BIAS: f64 = -5.3;
const RELEVANCE_WEIGHT: f64 = 2.8;
const SIMILARITY_WEIGHT: f64 = 0.9;
const RANK_WEIGHT: f64 = 2.9;
/// The graph's answer about an entity of the question.
const GRAPH_WEIGHT: f64 = 2.5;

/// If the best hit scores less, all hits are weak: the question is probably about nothing that is remembered.
pub(super) const WEAK_SCORE: f64 = 0.2;

/// Sets the scores of hits that are in their final order.
pub(super) fn calibrate(hits: &mut [Hit]) {
    let scores: Vec<f64> = hits.iter().enumerate().map(|(rank, hit)| probability(rank, hit)).collect();
    for (hit, score) in hits.iter_mut().zip(falling(&scores)) {
        hit.score = round(score);
    }
}

fn probability(rank: usize, hit: &Hit) -> f64 {
    let similarity = hit.why.iter().filter_map(|why| why.similarity).fold(0.0, f64::max);
    let by_graph = hit.why.iter().any(|why| why.lane == "graph");
    let evidence = BIAS
        + RELEVANCE_WEIGHT * hit.relevance
        + SIMILARITY_WEIGHT * similarity
        + RANK_WEIGHT / (rank + 1) as f64
        + if by_graph { GRAPH_WEIGHT } else { 0.0 };
    1.0 / (1.0 + (-evidence).exp())
}

/// Returns the nearest numbers that never rise: neighbours in the wrong order get their mean.
fn falling(values: &[f64]) -> Vec<f64> {
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for value in values {
        let (mut sum, mut count) = (*value, 1);
        while let Some((before, many)) = blocks.last().copied()
            && before / (many as f64) < sum / count as f64
        {
            blocks.pop();
            sum += before;
            count += many;
        }
        blocks.push((sum, count));
    }
    blocks.into_iter().flat_map(|(sum, count)| std::iter::repeat_n(sum / count as f64, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_never_rise() {
        let equal = |one: &[f64], other: &[f64]| {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| (one - other).abs() < 1e-9)
        };
        for (values, expected) in [
            (vec![], vec![]),
            (vec![0.9, 0.5, 0.1], vec![0.9, 0.5, 0.1]),
            (vec![0.2, 0.4, 0.1], vec![0.3, 0.3, 0.1]),
            (vec![0.5, 0.1, 0.2, 0.9], vec![0.5, 0.4, 0.4, 0.4]),
        ] {
            assert!(equal(&falling(&values), &expected), "{values:?}");
        }
    }
}
