//! Two statements to a conflict, or none: a score of what speaks for one and what speaks against it.

use super::align::{Alignment, Pair, Side};
use super::difference::{Basis, Difference};
use super::lexicon::Cue;
use super::statement::{Class, Form, State, Statement, Term};
use super::value::{Kind, Relation, Value};

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
const MIN_CONFLICT_SCORE: f32 = 2.0;
/// More shared words than this add nothing.
const MAX_TOPIC: f32 = 2.0;
/// The bonus for a later statement that speaks of a change.
const CHANGE_BONUS: f32 = 0.4;

/// A reason against a conflict.
mod doubt {
    /// One statement is about a part or a special case of the subject.
    pub(super) const NARROWED: f32 = 2.5;
    /// Each subject has a word that the other lacks.
    pub(super) const OTHER_HEAD: f32 = 1.8;
    /// Each statement has an identifier that the other lacks.
    pub(super) const OTHER_CODE: f32 = 1.5;
    /// Each names an attribute, but not the same one.
    pub(super) const OTHER_ATTRIBUTE: f32 = 1.5;
    /// Dates of which nothing says that they are those of one event.
    pub(super) const OTHER_EVENT: f32 = 1.8;
    /// Each has a verb that the other lacks, and no attribute is shared.
    pub(super) const OTHER_VERB: f32 = 0.8;
    /// Only one of them holds under a condition.
    pub(super) const CONDITION: f32 = 2.0;
    /// Each says something about the subject that the other does not say.
    pub(super) const OTHER_TAIL: f32 = 0.3;
    /// The words before the values tell that they are of different kinds: `since 2019`, `until 2023`.
    pub(super) const OTHER_RELATION: f32 = 1.0;
    /// A state is that of different objects: `on the sofa`, `in the garden`.
    pub(super) const OTHER_OBJECT: f32 = 1.5;
    /// One statement has a subject of its own, and names that of the other only beside it.
    pub(super) const OTHER_SUBJECT: f32 = 0.8;
    /// Beside the values, the same noun has different numbers: `in run 12`, `in run 13`.
    pub(super) const OTHER_LABEL: f32 = 2.0;
    /// One statement says something of a part: `Six members of the choir are altos`.
    pub(super) const PART: f32 = 1.0;
    /// One more word in a subject.
    pub(super) const HEAD_WORD: f32 = 0.15;
    /// One more word about the subject.
    pub(super) const TAIL_WORD: f32 = 0.1;
}

/// Tells whether a later statement conflicts with an earlier one.
pub fn compare(earlier: &Statement, later: &Statement) -> Option<Conflict> {
    if earlier.is_same(later) || is_tentative(earlier, later) {
        return None;
    }
    let alignment = Alignment::new(earlier, later);
    let topic = alignment.topic();
    if topic == 0.0 || alignment.has_other_subject() {
        return None;
    }
    let difference = alignment.difference()?;
    let announced = if later.has(Cue::Change) || later.has(Cue::Anymore) { CHANGE_BONUS } else { 0.0 };
    let support = topic.min(MAX_TOPIC) + alignment.coverage() + announced + difference.weight;
    let score = support - alignment.doubt(&difference);
    (score >= MIN_CONFLICT_SCORE).then(|| Conflict {
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
        let kind = difference.kind.as_ref();
        let [mut head_one, mut head_other] =
            [self.earlier.own_head(one, kind, &self.later), self.later.own_head(other, kind, &self.earlier)];
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
        // `The sponsor extended the deadline`: who made the change is not the subject.
        if self.later.statement.has(Cue::Change) && self.pairs.iter().any(Pair::leaves_head) {
            head_other = 0.0;
        }
        let [tail_one, tail_other] = [self.earlier.own_tail(one), self.later.own_tail(other)];
        if difference.basis == Basis::Old {
            return doubt::HEAD_WORD * (head_one + head_other + tail_one + tail_other);
        }
        let has_condition = |side: &Side<'_>| side.has_own_condition();
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
            (self.is_of_other_attribute(difference), doubt::OTHER_ATTRIBUTE),
            (
                self.is_time_of_other_event(difference) && !self.is_of_other_attribute(difference),
                doubt::OTHER_EVENT,
            ),
            (difference.basis == Basis::Value && self.has_other_verb(), doubt::OTHER_VERB),
            (is_conditional, doubt::CONDITION),
            (self.has_other_relation(difference), doubt::OTHER_RELATION),
            (self.has_other_object(difference, [tail_one, tail_other]), doubt::OTHER_OBJECT),
            (self.has_own_subject(), doubt::OTHER_SUBJECT),
            (self.counts_part(difference), doubt::PART),
            (self.has_other_label_beside(difference), doubt::OTHER_LABEL),
        ];
        let flagged: f32 = flags.iter().filter(|(holds, _)| *holds).map(|(_, weight)| weight).sum();
        flagged
            + doubt::OTHER_HEAD * head_one.min(head_other)
            + doubt::HEAD_WORD * (head_one + head_other)
            + doubt::OTHER_TAIL * tail_one.min(tail_other)
            + doubt::TAIL_WORD * (tail_one + tail_other)
    }

    fn is_of_other_attribute(&self, difference: &Difference) -> bool {
        let is_implied = difference.kind.as_ref().is_some_and(|kind| self.implies_attribute(kind));
        // `70 % hydration`, `80 % hydration`
        let [one, other] = &difference.places;
        let follows =
            |places: &[usize], term: &Term| places.last().is_some_and(|last| term.start == last + 1);
        let is_named = self.pairs.iter().any(|pair| follows(one, pair.earlier) && follows(other, pair.later));
        difference.basis == Basis::Value && self.has_other_attribute() && !is_implied && !is_named
    }

    /// Tells whether two times belong to different events: `with us since 2019`, `led the move in 2023`; `football on
    /// Sundays`, `chess on Mondays`.
    fn is_time_of_other_event(&self, difference: &Difference) -> bool {
        let is_vague = match &difference.kind {
            Some(Kind::Date(_)) => true,
            Some(Kind::Weekday(_) | Kind::Time(_) | Kind::Every(_)) => false,
            Some(Kind::Number(number)) if number.is_duration() => true,
            _ => return false,
        };
        let says_more = |side: &Side<'_>, places: &[usize]| {
            let is_content = |term: &Term| match term.class {
                Class::State | Class::Character => false,
                class => term.is_thing() || term.unique || is_vague && class == Class::Attribute,
            };
            side.count(places, |term| !side.statement.in_head(term) && is_content(term)) > 0.0
        };
        let [one, other] = &difference.places;
        let more = [says_more(&self.earlier, one), says_more(&self.later, other)];
        // `closed on Sundays`, `open on Mondays`: the day says when a state holds.
        let has_state = |side: &Side<'_>| {
            let is_own = |state: &State| side.rest.iter().any(|term| term.start == state.start);
            side.statement.states.iter().any(|state| !state.needs_object() && is_own(state))
        };
        if (has_state(&self.earlier) || has_state(&self.later)) && !self.shares_attribute() {
            return !self.later.statement.announces_change();
        }
        let is_other =
            if is_vague && !self.shares_attribute() { more != [false, false] } else { more == [true, true] };
        is_other && !self.later.statement.announces_change()
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

    /// Tells whether the words before the values relate them to the subject in different ways.
    fn has_other_relation(&self, difference: &Difference) -> bool {
        const RELATIONS: [&[&str]; 3] = [
            &["since", "from", "after", "starting", "seit", "ab", "nach", "desde", "depuis", "après"],
            &[
                "until", "till", "by", "before", "bis", "vor", "hasta", "antes", "jusqu'à", "jusqu'au",
                "avant",
            ],
            &["for", "during", "within", "für", "während", "durante", "pendant"],
        ];
        let relation = |side: &Side<'_>, places: &[usize]| {
            let before = places.first().and_then(|at| at.checked_sub(1))?;
            let word = side.statement.tokens[before].lower.as_str();
            RELATIONS.iter().position(|words| words.contains(&word))
        };
        let [one, other] = &difference.places;
        let relations = relation(&self.earlier, one).zip(relation(&self.later, other));
        relations.is_some_and(|(one, other)| one != other)
            && !self.shares_attribute()
            && !self.later.statement.announces_change()
    }

    fn has_other_label_beside(&self, difference: &Difference) -> bool {
        let [one, other] = &difference.places;
        self.pairs.iter().filter(|pair| Alignment::has_other_label(pair)).any(|pair| {
            !one.contains(&pair.earlier.end) && !other.contains(&pair.later.end) && pair.in_no_head()
        })
    }

    fn counts_part(&self, difference: &Difference) -> bool {
        let in_head = |side: &Side<'_>, places: &[usize]| {
            places.first().is_some_and(|at| *at < side.statement.head)
                && side.statement.form == Form::Sentence
        };
        let [one, other] = &difference.places;
        matches!(difference.kind, Some(Kind::Number(_)))
            && in_head(&self.earlier, one) != in_head(&self.later, other)
            && !self.later.statement.announces_change()
    }

    fn has_other_object(&self, difference: &Difference, [one, other]: [f32; 2]) -> bool {
        let is_other = match difference.basis {
            Basis::State => difference.needs_object && one.min(other) > 0.0 || self.has_other_domain(),
            // `a cat named Findus`, `a horse named Pebbles`
            Basis::Value => {
                matches!(difference.kind, None | Some(Kind::Address(..))) && self.has_other_noun(difference)
                    || difference.kind.is_some() && self.has_other_domain()
                    || difference.kind.is_none() && self.has_other_values()
            }
            Basis::Old => false,
        };
        is_other && !self.later.statement.announces_change()
    }

    /// Tells whether values of one kind differ besides the names: `1.20 at Lidl`, `1.35 at Edeka`.
    fn has_other_values(&self) -> bool {
        let later = &self.later.statement.values;
        self.earlier
            .statement
            .values
            .iter()
            .any(|one| later.iter().any(|other| one.kind.relation(&other.kind) == Relation::Different))
    }

    /// Tells whether both say of what it holds, and name different things: `for staff`, `for customers`.
    fn has_other_domain(&self) -> bool {
        let domains = |side: &Side<'_>| -> Vec<String> {
            let is_domain = |term: &&&Term| term.is_thing() && !side.statement.in_head(term);
            let own = side.rest.iter().filter(is_domain);
            own.filter_map(|term| side.preposition_before(term)).map(str::to_owned).collect()
        };
        let later = domains(&self.later);
        domains(&self.earlier).iter().any(|link| later.contains(link))
    }

    /// Tells whether each statement has a noun beside its value that the other lacks.
    fn has_other_noun(&self, difference: &Difference) -> bool {
        let has = |side: &Side<'_>, places: &[usize]| {
            let is_plain =
                |term: &Term| term.class == Class::Noun && term.is_thing() && !side.statement.in_head(term);
            side.count(places, is_plain) > 0.0
        };
        let [one, other] = &difference.places;
        has(&self.earlier, one) && has(&self.later, other)
    }

    /// Tells whether one statement is about something that the other does not name: `Doors open at 7 for the concert`.
    fn has_own_subject(&self) -> bool {
        let has_topic =
            |side: &Side<'_>| side.has_own_head(|term| term.class == Class::Noun && term.is_thing());
        let shared = || self.pairs.iter().filter(|pair| pair.is_noun());
        let is_change = self.later.statement.announces_change();
        !is_change
            && (has_topic(&self.earlier)
                && shared().any(Pair::moves_to_head)
                && !shared().any(Pair::in_earlier_head)
                || has_topic(&self.later)
                    && shared().any(Pair::leaves_head)
                    && !shared().any(Pair::in_later_head))
    }

    /// Tells whether one statement holds only on some days, or only for some.
    fn is_exception(&self, difference: &Difference) -> bool {
        let is_day = |kind: &Kind| matches!(kind, Kind::Weekday(_));
        // A state holds on all Thursdays, an event was on one.
        let is_state = difference.basis == Basis::State;
        let has_day = |side: &Side<'_>, places: &[usize]| {
            let recurs = |value: &Value| side.statement.tokens[value.start].lower.ends_with("days");
            let mut values = side.statement.values.iter().filter(|value| is_day(&value.kind));
            values.any(|value| !places.contains(&value.start) && (!is_state || recurs(value)))
        };
        let [one, other] = &difference.places;
        let has_any = |side: &Side<'_>| side.statement.values.iter().any(|value| is_day(&value.kind));
        let days = has_day(&self.earlier, one) && !has_any(&self.later)
            || has_day(&self.later, other) && !has_any(&self.earlier);
        let people = self.earlier.is_for_some(one) != self.later.is_for_some(other);
        // `nightly` and `once a week, on Sundays`
        let is_daily =
            |side: &Side<'_>| side.statement.values.iter().any(|value| matches!(value.kind, Kind::Every(_)));
        let days = days && !is_daily(&self.earlier) && !is_daily(&self.later);
        let people = people && difference.basis == Basis::Value;
        difference.basis != Basis::Old && !self.later.statement.announces_change() && (days || people)
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
    fn own_head(&self, places: &[usize], kind: Option<&Kind>, other: &Side<'_>) -> f32 {
        // `filament diameter` is what `2 mm` measures, `release branches` are other things than branches.
        let measures = |term: &Term| kind.is_some_and(|kind| term.names_measure(kind));
        let is_measured = !other.has_own_head(|term| term.is_thing() && other.statement.is_topic(term));
        let names = |term: &Term| match term.class {
            Class::Attribute => !(measures(term) && is_measured),
            // `the light switch`
            Class::State => self.statement.terms.iter().any(|next| {
                next.start == term.end && next.class == Class::Noun && self.statement.in_head(next)
            }),
            class => term.is_thing() || class == Class::Character,
        };
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

    /// Tells whether it holds only under a condition that the other statement does not name.
    fn has_own_condition(&self) -> bool {
        let statement = self.statement;
        let marks = statement.cues.iter().filter(|mark| mark.cue == Cue::Condition);
        marks.into_iter().any(|mark| {
            let stop = (mark.end..statement.tokens.len()).find(|at| statement.tokens[*at].stop != ' ');
            let end = stop.map_or(statement.tokens.len(), |at| at + 1);
            let mut terms =
                statement.terms.iter().filter(|term| (mark.end..end).contains(&term.start)).peekable();
            terms.peek().is_none() || terms.any(|term| self.is_own(term))
        })
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
            // `today's check-up` belongs to nobody.
            let owner = before.filter(|at| statement.tokens[*at].possessive);
            let is_owned = owner
                .is_some_and(|at| statement.terms.iter().any(|owner| owner.end == at + 1 && !owner.generic))
                && (is_noun(term)
                    || term.class == Class::Name
                    || term.class == Class::Attribute && term.unique);
            let is_owner = is_before_shared
                && (is_noun(term) || term.class == Class::Character)
                && statement.tokens[term.end - 1].possessive;
            // `results of the exam`, `the hut on the trail`
            let is_joined = statement.genitives.contains(&term.end)
                || statement.prepositions.contains(&term.end)
                    && is_noun(term)
                    && !statement.announces_change();
            let is_of_shared = is_before_shared
                && is_joined
                && (is_noun(term) || term.class == Class::Attribute && !difference.is_clear());
            let is_special =
                term.contrast.is_some_and(|(class, _)| !matches!(class, "kind" | "period")) && !term.generic;
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
