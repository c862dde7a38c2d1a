//! Two statements side by side: which words they share, and what the rest of each is.

use super::lexicon::Cue;
use super::statement::{Class, Form, Statement, Term};
use super::value::{Kind, Number, Relation};

/// Two statements, the words that both have, and the words that only one has.
pub(super) struct Alignment<'a> {
    pub(super) earlier: Side<'a>,
    pub(super) later: Side<'a>,
    pub(super) pairs: Vec<Pair<'a>>,
}

/// One of the two statements.
pub(super) struct Side<'a> {
    pub(super) statement: &'a Statement,
    /// The terms that the other statement does not have.
    pub(super) rest: Vec<&'a Term>,
}

/// A term that both statements have.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) earlier: &'a Term,
    pub(super) later: &'a Term,
    /// Whether it belongs to the subject of the earlier and of the later statement.
    in_heads: [bool; 2],
}

impl Pair<'_> {
    pub(super) fn in_earlier_head(&self) -> bool {
        self.in_heads[0]
    }

    pub(super) fn in_both_heads(&self) -> bool {
        self.in_heads == [true, true]
    }

    pub(super) fn in_any_head(&self) -> bool {
        self.in_heads != [false, false]
    }

    pub(super) fn in_no_head(&self) -> bool {
        !self.in_any_head()
    }

    /// The value of the earlier statement is the subject of the later one.
    pub(super) fn moves_to_head(&self) -> bool {
        self.in_heads == [false, true]
    }

    pub(super) fn is_thing(&self) -> bool {
        self.earlier.is_thing()
    }

    /// It names something, in any script.
    pub(super) fn is_noun(&self) -> bool {
        self.is_thing() || self.earlier.class == Class::Character
    }

    /// Both have the same word, not only the same attribute.
    pub(super) fn same_word(&self) -> bool {
        self.earlier.keys[0] == self.later.keys[0]
    }

    /// Both have a word of one family.
    pub(super) fn shares_word(&self) -> bool {
        let words = |term: &Term| Term { keys: term.words().cloned().collect(), ..term.clone() };
        words(self.earlier).is_same(&words(self.later))
    }

    fn shares_attribute(&self, is_wanted: impl Fn(&str) -> bool) -> bool {
        let is_shared = |key: &&String| key.starts_with('@') && self.later.keys.contains(key);
        self.earlier.keys.iter().filter(is_shared).any(|key| is_wanted(&key[1..]))
    }
}

impl<'a> Side<'a> {
    /// Tells whether the subject has a term that the other statement lacks.
    pub(super) fn has_own_head(&self, is_wanted: impl Fn(&Term) -> bool) -> bool {
        self.rest.iter().any(|term| self.statement.in_head(term) && is_wanted(term))
    }

    pub(super) fn is_own(&self, term: &Term) -> bool {
        self.rest.iter().any(|own| std::ptr::eq(*own, term))
    }

    /// Tells whether nothing is named before the verb.
    pub(super) fn is_headless(&self) -> bool {
        !self.statement.terms.iter().any(|term| self.statement.in_head(term))
    }

    /// Tells whether a statement says who or what something is: `key: value`, `X is Y`.
    pub(super) fn is_naming(&self) -> bool {
        self.statement.form == Form::Pair || self.statement.copula
    }

    /// Tells whether the verb has an object that the other statement lacks: `moved the piano`.
    pub(super) fn has_own_object(&self) -> bool {
        const MAX_DISTANCE: usize = 2;
        let statement = self.statement;
        let objects = self.rest.iter().filter(|term| term.is_nominal() && !statement.in_head(term));
        let is_direct = |verb: &Term, object: &Term| {
            let mut between = verb.start..object.start;
            object.start <= verb.end + MAX_DISTANCE && !between.any(|at| statement.prepositions.contains(&at))
        };
        let verb_of = |object: &Term| {
            let mut before = statement.terms.iter().rev().filter(|verb| verb.end <= object.start);
            before.find(|verb| verb.class == Class::Attribute && !statement.in_head(verb))
        };
        statement.form == Form::Sentence
            && objects.into_iter().any(|object| verb_of(object).is_some_and(|verb| is_direct(verb, object)))
    }
}

impl<'a> Alignment<'a> {
    pub(super) fn new(earlier: &'a Statement, later: &'a Statement) -> Alignment<'a> {
        let pair = |one: &'a Term, other: &'a Term| Pair {
            earlier: one,
            later: other,
            in_heads: [earlier.in_head(one), later.in_head(other)],
        };
        let mut pairs: Vec<Pair<'a>> = Vec::new();
        let mut earlier_rest = Vec::new();
        let mut later_rest: Vec<&Term> = later.terms.iter().collect();
        for term in &earlier.terms {
            if let Some(at) = later_rest.iter().position(|other| term.is_same(other)) {
                pairs.push(pair(term, later_rest.remove(at)));
            } else if let Some(known) = pairs.iter().find(|known| term.is_same(known.later)).copied() {
                // A word that one statement repeats.
                pairs.push(pair(term, known.later));
            } else {
                earlier_rest.push(term);
            }
        }
        later_rest.retain(|term| !earlier.terms.iter().any(|other| other.is_same(term)));
        Alignment {
            earlier: Side { statement: earlier, rest: earlier_rest },
            later: Side { statement: later, rest: later_rest },
            pairs,
        }
    }

    /// Tells whether the speaker is the subject of both.
    pub(super) fn both_speak(&self) -> bool {
        [&self.earlier, &self.later]
            .iter()
            .all(|side| side.statement.speaker && !side.has_own_head(Term::is_thing))
    }

    pub(super) fn shares_noun(&self) -> bool {
        self.pairs.iter().any(Pair::is_noun)
    }

    pub(super) fn shares_attribute(&self) -> bool {
        self.pairs.iter().any(|pair| pair.shares_attribute(|_| true))
    }

    pub(super) fn shares_attribute_named(&self, name: &str) -> bool {
        self.pairs.iter().any(|pair| pair.shares_attribute(|shared| shared == name))
    }

    /// Tells whether both name attributes, but not the same one.
    pub(super) fn has_other_attribute(&self) -> bool {
        // A word of change tells the attribute only roughly.
        let is_change = |statement: &Statement, term: &Term| {
            statement.cues.iter().any(|mark| mark.cue == Cue::Change && mark.start == term.start)
        };
        let has = |statement: &Statement| {
            let mut attributes = statement.terms.iter().filter(|term| term.class == Class::Attribute);
            attributes.any(|term| !is_change(statement, term))
        };
        has(self.earlier.statement) && has(self.later.statement) && !self.shares_attribute()
    }

    /// Compares two values in the light of the words around them.
    pub(super) fn relation(&self, one: &Kind, other: &Kind) -> Relation {
        let plain = one.relation(other);
        let (Kind::Number(left), Kind::Number(right)) = (one, other) else { return plain };
        // `three docks` and `number of docks: 5`
        let is_count = |number: &Number, side: &Side<'_>| {
            let statement = side.statement;
            let has = |noun: &String| {
                statement.terms.iter().any(|term| statement.in_head(term) && term.keys.contains(noun))
            };
            statement.form == Form::Pair && number.nouns.iter().any(has)
        };
        let counts = left.nouns.is_empty() && is_count(right, &self.earlier)
            || right.nouns.is_empty() && is_count(left, &self.later);
        // `Python version: 3.11` and `Python 3.9`
        let is_label = |label: &String| {
            self.pairs.iter().any(|pair| pair.earlier.keys.contains(label) || pair.later.keys.contains(label))
        };
        let labelled = match (&left.label, &right.label) {
            (Some(label), None) | (None, Some(label)) => is_label(label),
            _ => false,
        };
        if counts || plain == Relation::NotComparable && labelled { left.bare_relation(right) } else { plain }
    }

    /// Tells whether a statement repeats a value.
    pub(super) fn restates(kind: &Kind, statement: &Statement) -> bool {
        statement.values.iter().any(|other| other.kind.relation(kind) == Relation::Same)
    }
}
