//! Whether two statements are about the same subject.

use super::align::{Alignment, Pair, Side};
use super::statement::{Class, Statement, Term};
use super::value::Relation;

/// The score of the speaker as the subject of both statements.
const SPEAKER: f32 = 0.8;
/// The score of a value that both state.
const RESTATED_VALUE: f32 = 0.4;
/// The score of a shared word that belongs to both subjects.
const IN_BOTH_HEADS: f32 = 0.3;
/// The bonus where one statement names no subject that the other lacks.
const COVERED: f32 = 0.4;

impl Alignment<'_> {
    /// Returns how much says that both are about the same subject; 0 without a shared word that can be one.
    pub(super) fn topic(&self) -> f32 {
        let anchored = self.pairs.iter().any(|pair| self.is_subject(pair))
            || self.both_speak() && !self.pairs.is_empty()
            || self.pairs.iter().filter(|pair| pair.is_thing()).count() >= 2
            || self.names_old_value();
        if !anchored {
            return 0.0;
        }
        let mut topic: f32 = self.pairs.iter().map(|pair| self.weight(pair)).sum();
        if self.both_speak() {
            topic += SPEAKER;
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
            Class::Noun => pair.in_any_head() && !self.is_part(pair),
            Class::Name | Class::Code | Class::Character => pair.in_any_head(),
        }
    }

    /// Tells whether a shared noun names only a part of a thing in one statement: `the pool` and `the pool hall`.
    fn is_part(&self, pair: &Pair<'_>) -> bool {
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
        if covers(&self.earlier) || covers(&self.later) { COVERED } else { 0.0 }
    }

    /// Tells whether the statements are about different subjects.
    pub(super) fn has_other_subject(&self) -> bool {
        (self.has_contrast() || self.shares_only_attribute()) && !self.names_old_value()
            || self.has_other_label()
            || self.has_other_number()
            || self.has_other_state()
            || self.has_other_name()
            || self.is_crossed()
    }

    /// Different members of one class: `production` and `staging`.
    fn has_contrast(&self) -> bool {
        fn members(statement: &Statement) -> impl Iterator<Item = (&'static str, &Term)> {
            statement.terms.iter().filter_map(|term| term.contrast.map(|class| (class, term)))
        }
        // `free` is a value in `entry is free` and names a subject in `free accounts`.
        let qualifies = |statement: &Statement, term: &Term| {
            let modifies =
                statement.terms.iter().any(|next| next.start == term.end && next.class == Class::Noun);
            let is_state = statement.states.iter().any(|state| state.start == term.start);
            !is_state || modifies || statement.in_head(term)
        };
        let has = |statement: &Statement, term: &Term| {
            statement.terms.iter().any(|other| other.keys[0] == term.keys[0])
        };
        let earlier = self.earlier.statement;
        let later = self.later.statement;
        members(earlier).filter(|(_, one)| !has(later, one) && qualifies(earlier, one)).any(|(class, _)| {
            members(later)
                .any(|(other, term)| other == class && !has(earlier, term) && qualifies(later, term))
        })
    }

    /// Where only an attribute is shared, neither statement may name a subject of its own.
    fn shares_only_attribute(&self) -> bool {
        let is_apart = |side: &Side<'_>| side.has_own_head(Term::is_nominal) || side.has_own_object();
        // `price` and `rent` are one attribute of two things.
        let mut heads = self.pairs.iter().filter(|pair| pair.in_both_heads()).peekable();
        let has_other_word = heads.peek().is_some() && !heads.any(Pair::shares_word);
        !self.shares_noun() && (is_apart(&self.earlier) || is_apart(&self.later) || has_other_word)
    }

    /// Different labels of one noun: `rack 4` and `rack 5`.
    fn has_other_label(&self) -> bool {
        let label = |term: &Term| term.keys.iter().find(|key| key.contains(' ')).cloned();
        let differs = |pair: &Pair<'_>| {
            let labels = label(pair.earlier).zip(label(pair.later));
            labels.is_some_and(|(one, other)| one != other)
        };
        self.pairs.iter().any(|pair| pair.in_both_heads() && differs(pair))
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

    /// The value of one statement is the subject of the other: `Ann reports to Lou`, `Lou reports to Kai`.
    fn is_crossed(&self) -> bool {
        !self.pairs.iter().any(Pair::in_both_heads)
            && !self.later.statement.announces_change()
            && self.pairs.iter().any(|pair| pair.earlier.class == Class::Name && pair.moves_to_head())
    }
}
