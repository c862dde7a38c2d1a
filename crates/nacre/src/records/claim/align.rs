//! Two statements side by side: which words they share, and what the rest of each is.

use super::lexicon::Cue;
use super::statement::{Class, Form, Mark, Statement, Term, is_same_key};
use super::value::{Kind, Number, Relation};
use crate::index::embed::builtin::{self, Vector};

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

    pub(super) fn in_later_head(&self) -> bool {
        self.in_heads[1]
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

    /// The subject of the earlier statement is said something of in the later one.
    pub(super) fn leaves_head(&self) -> bool {
        self.in_heads == [true, false]
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
        self.earlier.words().any(|key| self.later.words().any(|known| is_same_key(key, known)))
    }

    fn shares_attribute(&self, is_wanted: impl Fn(&str) -> bool) -> bool {
        let is_shared = |key: &&String| key.starts_with('@') && self.later.keys.contains(key);
        self.earlier.keys.iter().filter(is_shared).any(|key| is_wanted(&key[1..]))
    }
}

/// The cosine from which two nouns mean the same. Synonyms are at 0.65 and more (`photo` and `picture` 0.76), words
/// of one kind mostly below (`dog` and `cat` 0.37).
const MIN_SYNONYM_COSINE: f32 = 0.65;

impl<'a> Side<'a> {
    /// Returns the words that can be acronyms, each with its words on the other side.
    fn acronyms(&self, other: &Side<'a>) -> Vec<(&'a Term, &'a [Term])> {
        let tokens = &other.statement.tokens;
        let starts_with =
            |term: &Term, letter: u8| tokens[term.start].lower.as_bytes().first() == Some(&letter);
        let is_joined = |pair: &[Term]| pair[0].end == pair[1].start && tokens[pair[0].end - 1].stop == ' ';
        let words_of = |acronym: &Term| {
            let letters = self.statement.tokens[acronym.start].lower.as_bytes();
            let is_acronym = (2..=4).contains(&letters.len()) && letters.iter().all(u8::is_ascii_alphabetic);
            let mut runs = other.statement.terms.windows(letters.len().max(1)).filter(|_| is_acronym);
            runs.find(|run| {
                run.iter().zip(letters).all(|(term, letter)| starts_with(term, *letter) && other.is_own(term))
                    && run.windows(2).all(is_joined)
            })
        };
        self.rest.iter().filter_map(|term| words_of(term).map(|words| (*term, words))).collect()
    }

    /// Returns the words that only this statement has and that are plain nouns, no names.
    fn plain_nouns(&self) -> Vec<(&'a Term, &'a str)> {
        let word = |term: &Term| &self.statement.tokens[term.start];
        let is_plain = |term: &&&Term| {
            let token = word(term);
            term.class == Class::Noun
                && term.contrast.is_none()
                && !term.generic
                && (!token.capital || token.opens)
                && token.lower.is_ascii()
        };
        self.rest.iter().filter(is_plain).map(|term| (*term, word(term).lower.as_str())).collect()
    }

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
        let mut alignment = Alignment {
            earlier: Side { statement: earlier, rest: earlier.terms.iter().collect() },
            later: Side { statement: later, rest: later.terms.iter().collect() },
            pairs: Vec::with_capacity(earlier.terms.len()),
        };
        for term in &earlier.terms {
            let same = alignment.later.rest.iter().find(|other| term.is_same(other)).copied();
            // A word that one statement repeats is paired again.
            let repeated = || alignment.pairs.iter().map(|pair| pair.later).find(|known| term.is_same(known));
            let other = same.or_else(repeated);
            if let Some(other) = other {
                alignment.pair(term, other);
            }
        }
        for term in alignment.later.rest.clone() {
            if let Some(known) = earlier.terms.iter().find(|other| other.is_same(term)) {
                alignment.pair(known, term);
            }
        }
        alignment.pair_acronyms();
        alignment.pair_synonyms();
        alignment
    }

    fn pair(&mut self, earlier: &'a Term, later: &'a Term) {
        let in_heads = [self.earlier.statement.in_head(earlier), self.later.statement.in_head(later)];
        self.pairs.push(Pair { earlier, later, in_heads });
        self.earlier.rest.retain(|term| !std::ptr::eq(*term, earlier));
        self.later.rest.retain(|term| !std::ptr::eq(*term, later));
    }

    /// Pairs an acronym with its words: `PR` and `pull request`.
    fn pair_acronyms(&mut self) {
        for (acronym, words) in self.earlier.acronyms(&self.later) {
            words.iter().for_each(|word| self.pair(acronym, word));
        }
        for (acronym, words) in self.later.acronyms(&self.earlier) {
            words.iter().for_each(|word| self.pair(word, acronym));
        }
    }

    /// Pairs nouns that mean the same, as the vectors of the built-in model say. Words that are only related, such as
    /// `coffee` and `espresso`, are not near enough.
    fn pair_synonyms(&mut self) {
        if self.pairs.is_empty() {
            return;
        }
        let nouns = [&self.earlier, &self.later].map(Side::plain_nouns);
        if nouns.iter().any(Vec::is_empty) {
            return;
        }
        let [earlier, later] = nouns.map(|nouns| -> Vec<(&'a Term, Vector)> {
            nouns.into_iter().map(|(term, word)| (term, builtin::embed_weighted(word, |_| 1.0))).collect()
        });
        for (one, vector) in &earlier {
            let mut near = later.iter().filter(|(other, _)| self.later.is_own(other));
            if let Some((other, _)) = near.find(|(_, other)| vector.dot(other) >= MIN_SYNONYM_COSINE) {
                self.pair(one, other);
            }
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
            let spans = |mark: &Mark| (mark.start..=mark.end).contains(&term.start);
            statement.cues.iter().any(|mark| mark.cue == Cue::Change && spans(mark))
        };
        let has = |statement: &Statement| {
            let mut attributes = statement.terms.iter().filter(|term| term.class == Class::Attribute);
            attributes.any(|term| !is_change(statement, term))
        };
        // `the shift starts`, `the shift ends`: what both name is the subject.
        let says_other = |side: &Side<'_>| {
            let mut own = side.rest.iter().filter(|term| term.class == Class::Attribute);
            own.any(|term| !side.statement.in_head(term) && !is_change(side.statement, term))
        };
        let shares_predicate =
            self.pairs.iter().any(|pair| !pair.in_both_heads() && pair.shares_attribute(|_| true));
        has(self.earlier.statement) && has(self.later.statement) && !self.shares_attribute()
            || says_other(&self.earlier) && says_other(&self.later) && !shares_predicate
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
        // `Maximum group size: 15`, `limited to 12 people`
        let bounds = ["limit", "minimum", "capacity"].iter().any(|name| self.shares_attribute_named(name))
            && (left.is_plain() || right.is_plain());
        if counts || plain == Relation::NotComparable && (labelled || bounds) {
            left.bare_relation(right)
        } else {
            plain
        }
    }

    /// Tells whether a statement repeats a value.
    pub(super) fn restates(kind: &Kind, statement: &Statement) -> bool {
        statement.values.iter().any(|other| other.kind.relation(kind) == Relation::Same)
    }
}
