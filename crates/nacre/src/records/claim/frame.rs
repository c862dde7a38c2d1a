//! Two statements in the same words except for the value: `The rent of the flat is 900`, `... is 950`.
//!
//! This asks less than [`compare`](super::compare()): any value may follow, and nothing tells whether the first one
//! can hold beside the second. It orders the two by time and reports nothing.

use super::compare::is_tentative;
use super::lexicon::Cue;
use super::statement::{Form, Statement, Term};

/// Returns the beginning that two statements share, if it names a subject and an attribute, and each goes on with a
/// value that the other does not have.
pub(crate) fn shared_frame(earlier: &Statement, later: &Statement) -> Option<String> {
    // `I painted a boat`, `I painted a lake`: what people tell of themselves adds up more often than it changes.
    if is_tentative(earlier, later) || later.has(Cue::Also) || earlier.speaker || later.speaker {
        return None;
    }
    let pairs = || earlier.tokens.iter().zip(&later.tokens);
    let start = pairs().take_while(|(one, other)| one.lower == other.lower).count();
    let shortest = earlier.tokens.len().min(later.tokens.len());
    let ends = earlier.tokens.iter().rev().zip(later.tokens.iter().rev());
    let end = ends.take_while(|(one, other)| one.lower == other.lower).count();
    let has_values = start + end < shortest;
    let is_frame = has_values
        && earlier.has_verb_before(start)
        && earlier.only_completes(start)
        && later.only_completes(start)
        && (earlier.names_attribute(start)
            || earlier.names_two_things(start)
                && !earlier.has_predicate(start)
                && !later.has_predicate(start));
    is_frame.then(|| earlier.text(0..start))
}

impl Statement {
    /// Tells whether the words before `end` have a verb, or are the key of `key: value`.
    fn has_verb_before(&self, end: usize) -> bool {
        let is_link = self.prepositions.contains(&self.head) || self.genitives.contains(&self.head);
        match self.form {
            Form::Pair => self.head == end,
            Form::Sentence => self.head < end && !is_link,
        }
    }

    fn terms_before(&self, end: usize) -> Vec<&Term> {
        self.terms.iter().filter(|term| term.end <= end).collect()
    }

    /// Tells whether the words before `end` name an attribute besides the subject: `Ada lives in`, `the capital of
    /// France is`, not `Ada Berg is`.
    fn names_attribute(&self, end: usize) -> bool {
        let terms = self.terms_before(end);
        let capitals = terms.iter().filter(|term| self.tokens[term.start].capital).count();
        let is_mixed = capitals > 0 && capitals < terms.len();
        capitals < terms.len() && (is_mixed || self.names_two_things(end))
    }

    /// Tells whether words without content are between the named things before `end`: `the Chief Engineer of Kiel`.
    fn names_two_things(&self, end: usize) -> bool {
        self.terms_before(end).windows(2).any(|pair| pair[0].end < pair[1].start)
    }

    /// Tells whether the words from `start` on say something of the subject instead of completing it: `a citizen of
    /// Chile`, `married to Jo`.
    fn has_predicate(&self, start: usize) -> bool {
        let Some(first) = self.terms.iter().find(|term| term.start >= start) else { return false };
        let last = first.end - 1;
        let is_link = |at: &usize| *at == last || *at == first.end;
        !self.tokens[first.start].capital && self.prepositions.iter().chain(&self.genitives).any(is_link)
    }

    /// Tells whether the words from `start` on are no statement of their own: `at home is oak` after `Ada's desk`.
    fn only_completes(&self, start: usize) -> bool {
        !self.auxiliaries.iter().any(|at| *at >= start && !self.tokens[*at].capital)
    }
}
