//! Rules and reader together. The rules are sure of what they know, and know little; the reader finds what shares hardly a word.
//!
//! Its threshold was chosen on pairs that were left out of its training (docs/decisions/0047).

use std::collections::BTreeSet;

use super::compare::{Conflict, ConflictKind, compare};
use super::statement::Statement;
use crate::index::reader;

/// The log odds from which two statements are a conflict by the reader alone.
const MIN_ODDS: f32 = 4.6;
/// The score of a conflict that the reader alone found: less than that of any that the rules found.
const READER_SCORE: f32 = 1.0;

/// Tells whether a later statement conflicts with an earlier one, by the rules and by the reader.
pub fn weigh(earlier: &Statement, later: &Statement) -> Option<Conflict> {
    if earlier.is_same(later) || earlier.question || later.question {
        return None;
    }
    compare(earlier, later).or_else(|| {
        let is_certain = !is_repeated(&earlier.whole, &later.whole)
            && reader::contradiction(&earlier.whole, &later.whole) >= MIN_ODDS;
        let kind = if later.announces_change() { ConflictKind::Updates } else { ConflictKind::Contradicts };
        is_certain.then_some(Conflict { kind, earlier_value: None, later_value: None, score: READER_SCORE })
    })
}

/// Tells whether one statement has every number of the other, `port: 7070` and `the port is 7070 now, not 6459`, or every
/// word: then they differ in detail, and only the rules see a contradiction.
fn is_repeated(one: &str, other: &str) -> bool {
    let words = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | ':'));
        let words = words.map(|word| word.trim_matches(['.', ':']).to_lowercase());
        words.filter(|word| !word.is_empty()).collect()
    };
    let numbers = |words: &BTreeSet<String>| -> BTreeSet<String> {
        words.iter().filter(|word| word.contains(|c: char| c.is_ascii_digit())).cloned().collect()
    };
    let is_part = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
        !one.is_empty() && !other.is_empty() && (one.is_subset(other) || other.is_subset(one))
    };
    let (one, other) = (words(one), words(other));
    is_part(&one, &other) || is_part(&numbers(&one), &numbers(&other))
}
