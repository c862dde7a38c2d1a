//! Two statements to a conflict, or none: a score of what speaks for one and what speaks against it.

use super::align::{Alignment, Side};
use super::difference::{Basis, Difference};
use super::lexicon::Cue;
use super::statement::{Class, Statement, Term};
use super::value::{Kind, Value};

/// How a later statement conflicts with an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictKind {
    /// The later statement says that something changed.
    Updates,
    /// Both state different things, and neither speaks of a change.
    Contradicts,
}

/// Two statements that cannot both hold now.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// Whether the later statement announces a change.
    pub kind: ConflictKind,
    /// The value in the earlier statement, where one can be named.
    pub earlier_value: Option<String>,
    /// The value in the later statement, where one can be named.
    pub later_value: Option<String>,
    /// How certain the conflict is: 2 and more.
    pub score: f32,
}

/// The score from which a conflict is reported.
const THRESHOLD: f32 = 2.0;
/// More shared words than this add nothing.
const MAX_TOPIC: f32 = 2.0;
/// The bonus for a later statement that speaks of a change.
const ANNOUNCED: f32 = 0.4;

/// A reason against a conflict.
mod doubt {
    /// One statement is about a part or a special case of the subject.
    pub(super) const NARROWED: f32 = 2.5;
    /// Each subject has a word that the other lacks.
    pub(super) const OTHER_HEAD: f32 = 1.8;
    /// Each statement has an identifier that the other lacks.
    pub(super) const OTHER_CODE: f32 = 1.5;
    /// Each names an attribute, but not the same one.
    pub(super) const OTHER_ATTRIBUTE: f32 = 1.3;
    /// Each has a verb that the other lacks, and no attribute is shared.
    pub(super) const OTHER_VERB: f32 = 0.8;
    /// Only one of them holds under a condition.
    pub(super) const CONDITION: f32 = 2.0;
    /// Each says something about the subject that the other does not say.
    pub(super) const OTHER_TAIL: f32 = 0.3;
    /// One more word in a subject.
    pub(super) const HEAD_WORD: f32 = 0.15;
    /// One more word about the subject.
    pub(super) const TAIL_WORD: f32 = 0.1;
}

/// Tells whether a later statement conflicts with an earlier one.
pub fn compare(earlier: &Statement, later: &Statement) -> Option<Conflict> {
    if earlier.plain == later.plain || is_tentative(earlier, later) {
        return None;
    }
    let alignment = Alignment::new(earlier, later);
    let topic = alignment.topic();
    if topic == 0.0 || alignment.has_other_subject() {
        return None;
    }
    let difference = alignment.difference()?;
    let announced = if later.has(Cue::Change) || later.has(Cue::Anymore) { ANNOUNCED } else { 0.0 };
    let support = topic.min(MAX_TOPIC) + alignment.coverage() + announced + difference.weight;
    let score = support - alignment.doubt(&difference);
    (score >= THRESHOLD).then(|| Conflict {
        kind: if later.announces_change() { ConflictKind::Updates } else { ConflictKind::Contradicts },
        earlier_value: difference.earlier,
        later_value: difference.later,
        score,
    })
}

/// Tells whether a statement asserts nothing about the present: a question, a plan, the past.
pub(super) fn is_tentative(earlier: &Statement, later: &Statement) -> bool {
    let is_open = |statement: &Statement| statement.question || statement.has(Cue::Plan);
    let is_past = later.has(Cue::Past) && !later.announces_change();
    is_open(earlier) || is_open(later) || earlier.has(Cue::Past) || is_past
}

impl Alignment<'_> {
    /// Returns how much speaks against a conflict.
    fn doubt(&self, difference: &Difference) -> f32 {
        let [one, other] = &difference.places;
        let [mut head_one, mut head_other] = [self.earlier.own_head(one), self.later.own_head(other)];
        head_one += self.earlier.own_head_values(one, self.later.statement);
        head_other += self.later.own_head_values(other, self.earlier.statement);
        // `DB user` is not `DB password`, though a server may be called a box.
        let is_generic =
            |side: &Side<'_>| side.rest.iter().any(|term| term.generic && side.statement.is_head_noun(term));
        if head_one > 0.0 && is_generic(&self.later) {
            head_other += 1.0;
        } else if head_other > 0.0 && is_generic(&self.earlier) {
            head_one += 1.0;
        }
        let [tail_one, tail_other] = [self.earlier.own_tail(one), self.later.own_tail(other)];
        if difference.basis == Basis::Old {
            return doubt::HEAD_WORD * (head_one + head_other + tail_one + tail_other);
        }
        let has_condition = |side: &Side<'_>| side.statement.has(Cue::Condition);
        let is_conditional = match (has_condition(&self.earlier), has_condition(&self.later)) {
            (true, false) => !self.later.statement.announces_change(),
            (one, other) => one != other,
        };
        let narrowed = self.earlier.is_narrowed(difference, one)
            || self.later.is_narrowed(difference, other)
            || self.is_exception(difference);
        let flags = [
            (narrowed, doubt::NARROWED),
            (self.earlier.has_own_code(one) && self.later.has_own_code(other), doubt::OTHER_CODE),
            (difference.basis == Basis::Value && self.has_other_attribute(), doubt::OTHER_ATTRIBUTE),
            (difference.basis == Basis::Value && self.has_other_verb(), doubt::OTHER_VERB),
            (is_conditional, doubt::CONDITION),
        ];
        let flagged: f32 = flags.iter().filter(|(holds, _)| *holds).map(|(_, weight)| weight).sum();
        flagged
            + doubt::OTHER_HEAD * head_one.min(head_other)
            + doubt::HEAD_WORD * (head_one + head_other)
            + doubt::OTHER_TAIL * tail_one.min(tail_other)
            + doubt::TAIL_WORD * (tail_one + tail_other)
    }

    /// Tells whether each says something else of the subject: `is free on Sundays`, `is closed on Mondays`.
    fn has_other_verb(&self) -> bool {
        let has_verb = |side: &Side<'_>| side.count(&[], |term| term.class == Class::Verb) > 0.0;
        let earlier = &self.earlier.statement.states;
        let later = &self.later.statement.states;
        let other_state = !earlier.is_empty()
            && !later.is_empty()
            && !earlier.iter().any(|one| later.iter().any(|other| one.name == other.name));
        !self.shares_attribute() && (has_verb(&self.earlier) && has_verb(&self.later) || other_state)
    }

    /// Tells whether one statement holds only on some days, or only for some.
    fn is_exception(&self, difference: &Difference) -> bool {
        let is_day = |kind: &Kind| matches!(kind, Kind::Weekday(_));
        let has_day = |side: &Side<'_>, places: &[usize]| {
            side.statement.values.iter().any(|value| is_day(&value.kind) && !places.contains(&value.start))
        };
        let [one, other] = &difference.places;
        let days = has_day(&self.earlier, one) && !has_day(&self.later, &[])
            || has_day(&self.later, other) && !has_day(&self.earlier, &[]);
        let people = self.earlier.is_for_some(one) != self.later.is_for_some(other);
        difference.basis == Basis::Value && !self.later.statement.announces_change() && (days || people)
    }
}

impl Side<'_> {
    fn count(&self, places: &[usize], is_wanted: impl Fn(&Term) -> bool) -> f32 {
        let own = self.rest.iter().filter(|term| !places.contains(&term.start) && is_wanted(term));
        #[expect(clippy::cast_precision_loss, reason = "a few words")]
        let count = own.count() as f32;
        count
    }

    /// Counts the words of the subject that only this statement has.
    fn own_head(&self, places: &[usize]) -> f32 {
        let names =
            |term: &Term| term.is_thing() || matches!(term.class, Class::Character | Class::Attribute);
        self.count(places, |term| self.statement.in_head(term) && names(term))
    }

    /// Counts the values in the subject that the other statement does not have: `nightly builds`.
    fn own_head_values(&self, places: &[usize], other: &Statement) -> f32 {
        let statement = self.statement;
        let mut values = statement.values.iter().filter(|value| value.start < statement.head);
        let is_own =
            |value: &Value| !places.contains(&value.start) && !Alignment::restates(&value.kind, other);
        if values.any(is_own) { 1.0 } else { 0.0 }
    }

    /// Counts the other words that only this statement has.
    fn own_tail(&self, places: &[usize]) -> f32 {
        let names = |term: &Term| term.is_thing() || term.class == Class::Character;
        self.count(places, |term| !self.statement.in_head(term) && names(term))
    }

    fn has_own_code(&self, places: &[usize]) -> bool {
        self.count(places, |term| term.class == Class::Code) > 0.0
    }

    /// Tells whether this statement is about a part or a special case of a shared subject: `Rosa's husband`,
    /// `results of the exam`, `the small hall`, `in production`.
    fn is_narrowed(&self, difference: &Difference, places: &[usize]) -> bool {
        let statement = self.statement;
        let is_noun = |term: &Term| matches!(term.class, Class::Noun | Class::State) && !term.generic;
        self.rest.iter().filter(|term| !places.contains(&term.start)).any(|term| {
            let mut next = statement.terms.iter().filter(|next| next.start >= term.end);
            let is_before_shared = next.next().is_some_and(|next| !self.is_own(next));
            let before = term.start.checked_sub(1);
            let is_owned = before.is_some_and(|at| statement.tokens[at].possessive)
                && (is_noun(term) || term.class == Class::Attribute && term.unique);
            let is_owner = is_before_shared && is_noun(term) && statement.tokens[term.end - 1].possessive;
            let is_of_shared = is_before_shared
                && statement.genitives.contains(&term.end)
                && (is_noun(term) || term.class == Class::Attribute && !difference.is_clear());
            let is_special =
                term.contrast.is_some_and(|class| !matches!(class, "kind" | "period")) && !term.generic;
            let in_head = statement.in_head(term);
            let is_placed = before.is_some_and(|at| statement.prepositions.contains(&at));
            in_head && (is_owned || is_owner || is_of_shared)
                || is_special && (in_head && is_before_shared || is_placed)
        })
    }

    /// Tells whether this statement holds for some only: `for students`.
    fn is_for_some(&self, places: &[usize]) -> bool {
        const FOR: [&str; 4] = ["for", "für", "para", "pour"];
        let is_after_for = |term: &Term| {
            let mut before = self.statement.tokens[..term.start].iter().rev().take(2);
            before.any(|token| FOR.contains(&token.lower.as_str()))
        };
        self.count(places, |term| term.is_thing() && is_after_for(term)) > 0.0
    }
}

/// Explains a comparison to people who work on the rules or the word lists.
pub fn explain(earlier: &Statement, later: &Statement) -> String {
    let alignment = Alignment::new(earlier, later);
    let difference = alignment.difference();
    let doubt = difference.as_ref().map(|difference| alignment.doubt(difference));
    format!(
        "tentative {}, topic {:.1}, other subject {}, doubt {doubt:.1?}, {difference:.1?}\n{earlier}\n{later}",
        is_tentative(earlier, later),
        alignment.topic(),
        alignment.has_other_subject(),
    )
}
