//! Rules and reader together. The rules are sure of what they know, and know little; the reader knows much, and is seldom sure.
//! What both say counts most.
//!
//! The two numbers were chosen on pairs that were left out of the reader's training (docs/decisions/0047).

use super::compare::{Conflict, ConflictKind, compare};
use super::statement::Statement;
use crate::index::reader;

/// The log odds from which two statements count as a conflict.
const MIN_ODDS: f32 = 4.6;
/// What the word of the rules is worth.
const RULES: f32 = 3.0;
/// The score of a conflict that the reader alone found: less than that of any that the rules found.
const READER_SCORE: f32 = 1.0;

/// Tells whether a later statement conflicts with an earlier one, by the rules and by the reader.
pub fn weigh(earlier: &Statement, later: &Statement) -> Option<Conflict> {
    if earlier.is_same(later) || earlier.question || later.question {
        return None;
    }
    let by_rules = compare(earlier, later);
    let odds =
        reader::contradiction(&earlier.whole, &later.whole) + if by_rules.is_some() { RULES } else { 0.0 };
    if odds < MIN_ODDS {
        return None;
    }
    by_rules.or_else(|| {
        let kind = if later.announces_change() { ConflictKind::Updates } else { ConflictKind::Contradicts };
        Some(Conflict { kind, earlier_value: None, later_value: None, score: READER_SCORE })
    })
}
