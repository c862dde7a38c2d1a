//! How alike two texts are, by their words.

use super::{Language, analyse};

/// The distinct words of a text that are not common ones, sorted.
pub(crate) fn meaning(text: &str, language: Language) -> Vec<String> {
    let mut words = analyse::words(text, language);
    words.retain(|word| !language.is_common(word));
    words.sort();
    words.dedup();
    words
}

/// The share of the words of both that both have.
pub(crate) fn shared(left: &[String], right: &[String]) -> f64 {
    let both = left.iter().filter(|word| right.binary_search(word).is_ok()).count();
    #[expect(clippy::cast_precision_loss, reason = "a few hundred words")]
    let share = both as f64 / (left.len() + right.len() - both).max(1) as f64;
    share
}

/// How alike two texts are, 0 to 1: the share of the words of both that both have.
pub(crate) fn likeness(left: &str, right: &str, language: Language) -> f64 {
    shared(&meaning(left, language), &meaning(right, language))
}
