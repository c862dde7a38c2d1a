//! Similarity of two texts by their words.

use super::{Language, analyse};

/// Returns the distinct words of a text that are not common ones, sorted.
pub(crate) fn meaning(text: &str, language: Language) -> Vec<String> {
    let mut words = analyse::words(text, language);
    words.retain(|word| !language.is_common(word));
    words.sort();
    words.dedup();
    words
}

/// Returns the Jaccard similarity of two word lists: the share of all their words that both contain.
pub(crate) fn shared(left: &[String], right: &[String]) -> f64 {
    let both = left.iter().filter(|word| right.binary_search(word).is_ok()).count();
    #[expect(clippy::cast_precision_loss, reason = "a few hundred words")]
    let share = both as f64 / (left.len() + right.len() - both).max(1) as f64;
    share
}

/// Returns the similarity of two texts, 0 to 1: the share of all their words that both contain.
pub(crate) fn likeness(left: &str, right: &str, language: Language) -> f64 {
    shared(&meaning(left, language), &meaning(right, language))
}
