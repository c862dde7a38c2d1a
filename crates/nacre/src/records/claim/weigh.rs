//! Rules and reader together. The rules are sure of what they know, and know little; the reader finds more.
//!
//! Its threshold was chosen on pairs that were left out of its training (docs/decisions/0047).

use std::collections::BTreeSet;

use super::compare::{Conflict, ConflictKind, compare};
use super::statement::Statement;
use crate::index::reader;

/// The log odds from which two statements are a conflict by the reader alone. A write compares several statements, and most of them
/// contradict nothing, so that it must be surer than on pairs of which half do.
const MIN_ODDS: f32 = 5.2;
/// The share of the words of one statement in the other from which they differ in detail.
const MIN_REPEATED: f64 = 0.8;
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

/// Returns how many tokens the reader reads to judge two statements.
pub fn reading_size(earlier: &Statement, later: &Statement) -> usize {
    reader::size(&earlier.whole, &later.whole)
}

/// Tells whether one statement has every number of the other, `port: 7070` and `the port is 7070 now, not 6459`, or most of its
/// words: then they differ in detail, and only the rules see a contradiction.
#[expect(clippy::cast_precision_loss, reason = "a few words")]
fn is_repeated(one: &str, other: &str) -> bool {
    let words = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | ':'));
        let words = words.map(|word| word.trim_matches(['.', ':']).to_lowercase());
        words.filter(|word| !word.is_empty()).collect()
    };
    let numbers = |words: &BTreeSet<String>| -> BTreeSet<String> {
        words.iter().filter(|word| word.contains(|c: char| c.is_ascii_digit())).cloned().collect()
    };
    let (one, other) = (words(one), words(other));
    let shared = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
        let least = one.len().min(other.len());
        if least == 0 { 0.0 } else { one.intersection(other).count() as f64 / least as f64 }
    };
    shared(&one, &other) >= MIN_REPEATED || shared(&numbers(&one), &numbers(&other)) >= 1.0
}
