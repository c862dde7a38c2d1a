//! Whether two statements are about the same subject.

use super::align::{Alignment, Pair, Side};
use super::lexicon::Cue;
use super::statement::{Class, Statement, Term};
use super::value::Relation;

/// The score of the speaker as the subject of both statements.
const SPEAKER_SCORE: f32 = 0.8;
/// The score of a value that both state.
const RESTATED_VALUE: f32 = 0.4;
/// The score of a shared word that belongs to both subjects.
const IN_BOTH_HEADS: f32 = 0.3;
/// The bonus where one statement names no subject that the other lacks.
const COVERED_BONUS: f32 = 0.4;

impl Alignment<'_> {
    /// Returns how much says that both are about the same subject; 0 without a shared word that can be one.
    pub(super) fn topic(&self) -> f32 {
        let anchored = self.pairs.iter().any(|pair| self.is_subject(pair))
            || self.both_speak() && !self.pairs.is_empty()
            || self.pairs.iter().filter(|pair| pair.is_thing()).count() >= 2
            || self.has_other_holder()
            || self.names_old_value();
        if !anchored {
            return 0.0;
        }
        let mut topic: f32 = self.pairs.iter().map(|pair| self.weight(pair)).sum();
        if self.both_speak() {
            topic += SPEAKER_SCORE;
        }
        let is_restated = |kind| Alignment::restates(kind, self.later.statement);
        if self.earlier.statement.values.iter().any(|value| is_restated(&value.kind)) {
            topic += RESTATED_VALUE;
        }
        topic
    }

    fn weight(&self, pair: &Pair<'_>) -> f32 {
        let term = pair.earlier;
        let base = match term.class {
            Class::Name | Class::Code => 1.0,
            Class::Noun if term.contrast.is_some() || term.generic => 0.4,
            Class::Noun if self.is_part(pair) => 0.2,
            Class::Noun if self.is_modified(pair) => 0.5,
            Class::Noun => 0.8,
            Class::Attribute => 0.6,
            Class::Character => 0.4,
            Class::Verb => 0.3,
            Class::State => 0.2,
        };
        base + if pair.in_both_heads() { IN_BOTH_HEADS } else { 0.0 }
    }

    /// Tells whether a shared term can be the subject of both.
    fn is_subject(&self, pair: &Pair<'_>) -> bool {
        let in_head = |side: &Side<'_>, term: &Term| side.statement.in_head(term) || side.statement.head == 0;
        match pair.earlier.class {
            Class::Verb | Class::State => false,
            Class::Attribute => in_head(&self.earlier, pair.earlier) && in_head(&self.later, pair.later),
            Class::Noun => pair.in_any_head() && (!self.is_part(pair) || self.changes_attribute()),
            Class::Name | Class::Code | Class::Character => pair.in_any_head(),
        }
    }

    /// Tells whether the later statement speaks of a change of an attribute that both name.
    fn changes_attribute(&self) -> bool {
        self.later.statement.has(Cue::Change) && self.shares_attribute()
    }

    /// Tells whether a shared noun names only a part of a thing in one statement: `the pool` and `the pool hall`.
    pub(super) fn is_part(&self, pair: &Pair<'_>) -> bool {
        let continues = |side: &Side<'_>, term: &Term| {
            let last = &side.statement.tokens[term.end - 1];
            let is_head = |next: &&Term| {
                next.start == term.end
                    && next.class == Class::Noun
                    && !next.generic
                    && next.contrast.is_none()
            };
            last.stop == ' ' && !last.possessive && side.rest.iter().any(is_head)
        };
        continues(&self.earlier, pair.earlier) || continues(&self.later, pair.later)
    }

    /// Tells whether a noun before a shared noun narrows it in one statement: `the bank` and `the river bank`.
    fn is_modified(&self, pair: &Pair<'_>) -> bool {
        let narrowed = |side: &Side<'_>, term: &Term| {
            let is_modifier = |own: &&Term| own.end == term.start && own.class == Class::Noun && !own.generic;
            term.start > 0
                && side.statement.tokens[term.start - 1].stop == ' '
                && side.rest.iter().any(is_modifier)
        };
        narrowed(&self.earlier, pair.earlier) || narrowed(&self.later, pair.later)
    }

    /// Returns a bonus where one statement has no subject that the other lacks.
    pub(super) fn coverage(&self) -> f32 {
        let is_name = |term: &Term| term.is_nominal() || term.class == Class::Character;
        let is_part = |term: &Term| {
            let has = |pair: &&Pair<'_>| std::ptr::eq(pair.earlier, term) || std::ptr::eq(pair.later, term);
            self.pairs.iter().filter(has).any(|pair| self.is_part(pair))
        };
        let covers = |side: &Side<'_>| {
            let mut terms = side.statement.terms.iter().filter(|term| side.statement.in_head(term));
            terms.any(|term| is_name(term) && !is_part(term)) && !side.has_own_head(is_name)
        };
        if covers(&self.earlier) || covers(&self.later) { COVERED_BONUS } else { 0.0 }
    }

    /// Tells whether the statements are about different subjects.
    pub(super) fn has_other_subject(&self) -> bool {
        (self.has_contrast() || self.shares_only_attribute() && !self.has_other_holder())
            && !self.names_old_value()
            || self.pairs.iter().any(|pair| pair.in_both_heads() && Self::has_other_label(pair))
            || self.has_other_number()
            || self.has_other_state()
            || self.has_other_name() && !self.has_other_holder()
            || self.is_crossed()
            || self.has_other_direction()
    }

    /// Different members of one class: `production` and `staging`.
    fn has_contrast(&self) -> bool {
        // `free` is a value in `entry is free` and names a subject in `free accounts`.
        let qualifies = |statement: &Statement, term: &Term| {
            let modifies =
                statement.terms.iter().any(|next| next.start == term.end && next.class == Class::Noun);
            let is_state = statement.states.iter().any(|state| state.start == term.start);
            !is_state || modifies || statement.in_head(term)
        };
        let own = |side: &Side<'_>| -> Vec<&'static str> {
            let terms = side.rest.iter().filter(|term| qualifies(side.statement, term));
            terms.filter_map(|term| term.contrast).map(|(class, _)| class).collect()
        };
        let later = own(&self.later);
        own(&self.earlier).iter().any(|class| later.contains(class))
    }

    /// Where only an attribute is shared, neither statement may name a subject of its own.
    fn shares_only_attribute(&self) -> bool {
        // `new` is no subject of its own.
        let is_subject = |term: &Term| term.is_nominal() && !matches!(term.contrast, Some(("kind", _)));
        let is_apart = |side: &Side<'_>| side.has_own_head(is_subject) || side.has_own_object();
        // `price` and `rent` are one attribute of two things.
        let mut heads = self.pairs.iter().filter(|pair| pair.in_both_heads()).peekable();
        let has_other_word = heads.peek().is_some() && !heads.any(Pair::shares_word);
        !self.shares_noun() && (is_apart(&self.earlier) || is_apart(&self.later) || has_other_word)
    }

    /// Different labels of one noun: `rack 4` and `rack 5`.
    pub(super) fn has_other_label(pair: &Pair<'_>) -> bool {
        let label = |term: &Term| term.keys.iter().find(|key| key.contains(' ')).cloned();
        let labels = label(pair.earlier).zip(label(pair.later));
        labels.is_some_and(|(one, other)| one != other)
    }

    /// Different values in the subjects: `in 2022`, `2023 was`.
    fn has_other_number(&self) -> bool {
        let later = self.later.statement;
        let earlier = self.earlier.statement;
        let own = earlier.values.iter().filter(|value| value.start < earlier.head);
        own.filter(|value| !Alignment::restates(&value.kind, later)).any(|one| {
            let mut others = later.values.iter().filter(|value| value.start < later.head);
            others.any(|other| one.kind.relation(&other.kind) == Relation::Different)
        })
    }

    /// Words that exclude each other in the subjects: `the blue bike` and `the red bike`.
    fn has_other_state(&self) -> bool {
        let later = self.later.statement;
        let earlier = self.earlier.statement;
        earlier.states.iter().filter(|state| state.start < earlier.head).any(|one| {
            let mut others = later.states.iter().filter(|state| state.start < later.head);
            others.any(|other| one.name == other.name && one.side != other.side)
        })
    }

    /// Different names as subjects, or a name and the speaker.
    fn has_other_name(&self) -> bool {
        let is_named = |side: &Side<'_>| side.has_own_head(|term| term.class == Class::Name);
        let same_head = self.pairs.iter().any(Pair::in_both_heads);
        let restated = self.pairs.iter().any(|pair| pair.in_earlier_head() && pair.is_thing());
        // `we` may speak for the name.
        let later = self.later.statement;
        let speaks = later.speaker && !later.group_speaks && self.later.is_headless();
        is_named(&self.earlier) && (!same_head && is_named(&self.later) || !restated && speaks)
    }

    /// Both name who holds a role that one holds at a time: `Ann leads payments`, `Bob is the lead of payments`.
    pub(super) fn has_other_holder(&self) -> bool {
        let is_role = |side: &Side<'_>| side.statement.names_holder();
        let is_named = is_role(&self.earlier) && (is_role(&self.later) || self.later.is_naming())
            || is_role(&self.later) && self.earlier.is_naming();
        let shared = self.pairs.iter().filter(|pair| pair.is_thing() && !pair.in_both_heads()).count();
        let has_role = self.pairs.iter().any(|pair| pair.earlier.unique && !pair.in_both_heads())
            || is_named && shared >= 1;
        // Another name after the verb is another subject: `runs the Madrid office`.
        let names_domain = |side: &Side<'_>| {
            let is_value = side.is_naming() && !side.has_own_head(Term::is_name);
            side.rest.iter().any(|term| term.is_thing() && !side.statement.in_head(term)) && !is_value
        };
        has_role && !names_domain(&self.earlier) && !names_domain(&self.later)
    }

    /// The same name after opposite prepositions: `the train from Bonn`, `the train to Bonn`.
    fn has_other_direction(&self) -> bool {
        const DIRECTIONS: [[&str; 2]; 11] = [
            ["from", "to"],
            ["over", "under"],
            ["before", "after"],
            ["with", "without"],
            ["above", "below"],
            ["inside", "outside"],
            ["von", "nach"],
            ["aus", "nach"],
            ["vor", "nach"],
            ["mit", "ohne"],
            ["con", "sin"],
        ];
        let preposition = |side: &Side<'_>, start: usize| {
            let mut before = side.statement.tokens[..start].iter().rev().take(2);
            before.find_map(|token| DIRECTIONS.iter().flatten().find(|known| **known == token.lower).copied())
        };
        let is_opposite = |one: &str, other: &str| {
            DIRECTIONS.iter().any(|pair| one != other && pair.contains(&one) && pair.contains(&other))
        };
        let later = &self.later.statement.values;
        let values = self.earlier.statement.values.iter().flat_map(|one| {
            let same = later.iter().filter(|other| one.kind.relation(&other.kind) == Relation::Same);
            same.map(|other| (one.start, other.start))
        });
        let things = self.pairs.iter().filter(|pair| pair.is_thing());
        let mut starts = things.map(|pair| (pair.earlier.start, pair.later.start)).chain(values);
        !self.later.statement.announces_change()
            && starts.any(|(one, other)| {
                let words = preposition(&self.earlier, one).zip(preposition(&self.later, other));
                words.is_some_and(|(one, other)| is_opposite(one, other))
            })
    }

    /// The value of one statement is the subject of the other: `Ann reports to Lou`, `Lou reports to Kai`.
    fn is_crossed(&self) -> bool {
        !self.pairs.iter().any(Pair::in_both_heads)
            && !self.later.statement.announces_change()
            && !self.has_holder_as_subject(&self.earlier)
            && self.pairs.iter().any(|pair| pair.earlier.class == Class::Name && pair.moves_to_head())
    }
}
