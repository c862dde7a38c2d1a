//! One statement as it is read: its content words, its values, and the cues that tell how it is meant.

use std::fmt;
use std::ops::Range;

use super::lexicon::{Cue, Lexicon, Match, Meaning, is_han};
use super::token::{self, Token};
use super::value::{self, Date, Kind, Value};

/// One read statement.
#[derive(Debug)]
pub struct Statement {
    /// The text, after its heading or entity.
    pub(super) whole: String,
    pub(super) tokens: Vec<Token>,
    pub(super) terms: Vec<Term>,
    pub(super) values: Vec<Value>,
    pub(super) states: Vec<State>,
    pub(super) cues: Vec<Mark>,
    /// Where the head ends: the words before the first verb, preposition or colon, which name the subject.
    pub(super) head: usize,
    pub(super) form: Form,
    /// The head is followed by a form of `to be`, so that its complement is a value.
    pub(super) copula: bool,
    /// The places of prepositions.
    pub(super) prepositions: Vec<usize>,
    /// The places of verbs without content: `is`, `has`.
    pub(super) auxiliaries: Vec<usize>,
    /// The places of words that join a noun to what it belongs to: `of`.
    pub(super) genitives: Vec<usize>,
    /// The speaker is the subject, or owns it.
    pub(super) speaker: bool,
    /// The speaker speaks for others too: `we`.
    pub(super) group_speaks: bool,
    pub(super) question: bool,
}

/// How a statement is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `key: value`
    Pair,
    Sentence,
}

/// A word or phrase with content.
#[derive(Clone, Debug)]
pub(super) struct Term {
    /// Its keys: its stem, and `@name` for each attribute that it names.
    pub(super) keys: Vec<String>,
    pub(super) class: Class,
    /// Its class and member, if it is one of several things named side by side.
    pub(super) contrast: Option<(&'static str, u8)>,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) negated: bool,
    /// One holder at a time, as with an owner.
    pub(super) unique: bool,
    /// It says little about which thing is meant.
    pub(super) generic: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Name,
    /// An identifier with digits: `OPS-418`, `us-east-1`.
    Code,
    Noun,
    Verb,
    Attribute,
    /// One of several sides that exclude each other.
    State,
    /// A Chinese character.
    Character,
}

impl Term {
    /// Names something: a name, an identifier or a noun.
    pub(super) fn is_nominal(&self) -> bool {
        self.is_name() || self.class == Class::Noun
    }

    /// Names something that tells which thing is meant.
    pub(super) fn is_thing(&self) -> bool {
        self.is_nominal() && !self.generic
    }

    pub(super) fn is_name(&self) -> bool {
        matches!(self.class, Class::Name | Class::Code)
    }

    pub(super) fn places(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Tells whether it names what a value measures: `diameter` for `2 mm`.
    pub(super) fn names_measure(&self, kind: &Kind) -> bool {
        let measures = kind.measures();
        let mut attributes = self.keys.iter().filter_map(|key| key.strip_prefix('@'));
        attributes.any(|attribute| measures.contains(&attribute))
    }

    /// The keys that are words, not attributes.
    pub(super) fn words(&self) -> impl Iterator<Item = &String> {
        self.keys.iter().filter(|key| !key.starts_with('@'))
    }

    /// Tells whether two terms are the same word, words of one family, or words for the same attribute.
    pub(super) fn is_same(&self, other: &Term) -> bool {
        self.keys.iter().any(|key| other.keys.iter().any(|known| is_same_key(key, known)))
            || self.contrast.is_some() && self.contrast == other.contrast
    }
}

/// Tells whether two keys are the same, or of one family.
pub(super) fn is_same_key(one: &str, other: &str) -> bool {
    one == other || is_alike(one, other)
}

/// Tells whether two stems are of one family: `alergia` and `alérgica`, `license` and `relicense`.
fn is_alike(one: &str, other: &str) -> bool {
    const MIN_SHARED_BYTES: usize = 5;
    const MAX_ENDING_BYTES: usize = 3;
    const MAX_PREFIX_BYTES: usize = 2;
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphabetic());
    if short.len() < MIN_SHARED_BYTES || !is_word(short) || !is_word(long) {
        return false;
    }
    let shared = short.bytes().zip(long.bytes()).take_while(|(one, other)| one == other).count();
    let same_start =
        shared >= MIN_SHARED_BYTES && shared + 1 >= short.len() && long.len() <= shared + MAX_ENDING_BYTES;
    same_start || long.ends_with(short) && long.len() <= short.len() + MAX_PREFIX_BYTES
}

impl State {
    /// Whether the state says something only together with an object: `may skip QA`.
    pub(super) fn needs_object(&self) -> bool {
        self.name.ends_with(NEEDS_OBJECT)
    }
}

/// One of several sides that exclude each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub(super) name: &'static str,
    pub(super) side: u8,
    pub(super) negated: bool,
    /// It only can be so: `can be turned on`.
    pub(super) possible: bool,
    /// It follows a form of `to be`: `is optional`.
    pub(super) predicative: bool,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A cue and the words it is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) cue: Cue,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether words in between do not belong to it.
    pub(super) gap: bool,
}

/// The words of a text that are read: a statement is short.
const MAX_WORDS: usize = 120;

impl Statement {
    /// Tells whether a word turns it round: `not`, `never`, `no longer`.
    pub fn is_negated(&self) -> bool {
        self.cues.iter().any(|mark| matches!(mark.cue, Cue::Negation | Cue::Anymore))
    }

    /// Reads a text; only the beginning of a long one. `context` is its heading or entity, which belongs to the subject.
    pub fn read(text: &str, context: Option<&str>) -> Statement {
        let text = text.trim().trim_start_matches(['-', '*', '•', '+', '#']).trim_start();
        let mut tokens = context.map(token::tokens).unwrap_or_default();
        if let Some(last) = tokens.last_mut() {
            last.stop = ',';
        }
        let context_end = tokens.len();
        tokens.extend(token::tokens(text));
        tokens.truncate(MAX_WORDS);
        let context_end = context_end.min(tokens.len());
        let whole = context.map_or_else(|| text.to_owned(), |context| format!("{context}: {text}"));
        Statement { whole, ..read(tokens, context_end) }
    }

    /// Reads a fact of the knowledge graph.
    pub fn of_fact(entity: &str, key: &str, value: &str) -> Statement {
        Statement::read(&format!("{entity} {}: {value}", key.replace('_', " ")), None)
    }

    /// Tells whether the speaker is the subject, or owns it.
    pub(crate) fn is_about_speaker(&self) -> bool {
        self.speaker
    }

    pub(super) fn has(&self, cue: Cue) -> bool {
        self.cues.iter().any(|mark| mark.cue == cue)
    }

    /// Tells whether a statement speaks of a change.
    pub(super) fn announces_change(&self) -> bool {
        let cues = [Cue::Change, Cue::End, Cue::Anymore, Cue::Now, Cue::Replace];
        cues.iter().any(|cue| self.has(*cue)) || self.tokens.iter().any(|token| token.stop == '→')
    }

    /// Returns where the second of two weighed things begins: after `over` in `prefers email over calls`.
    pub(super) fn choice(&self) -> Option<usize> {
        let is = |words: &'static [&'static str]| move |token: &Token| words.contains(&token.lower.as_str());
        let prefers = is(&[
            "prefer",
            "prefers",
            "preferred",
            "rather",
            "favours",
            "favors",
            "bevorzugt",
            "lieber",
            "prefiere",
            "préfère",
        ]);
        let weighs = is(&["over", "than", "to", "als", "que", "a", "à"]);
        let start = self.tokens.iter().position(prefers)? + 2;
        self.tokens.iter().skip(start).position(weighs).map(|at| start + at + 1)
    }

    /// Tells whether two statements are the same text, apart from case and punctuation.
    pub(super) fn is_same(&self, other: &Statement) -> bool {
        self.tokens.len() == other.tokens.len()
            && self.tokens.iter().zip(&other.tokens).all(|(one, other)| one.lower == other.lower)
    }

    pub(super) fn text(&self, places: Range<usize>) -> String {
        let words: Vec<&str> = self.tokens[places].iter().map(|token| token.text.as_str()).collect();
        words.join(if words.iter().all(|word| word.starts_with(is_han)) { "" } else { " " })
    }

    /// Tells whether a term is the last one before the verb or colon.
    pub(super) fn is_head_noun(&self, term: &Term) -> bool {
        self.in_head(term) && !self.terms.iter().any(|next| next.start > term.start && self.in_head(next))
    }

    /// Tells whether it names who holds a role: `Oliver is the goalkeeper of the team`.
    pub(super) fn names_holder(&self) -> bool {
        const THE: [&str; 12] =
            ["the", "our", "my", "his", "her", "their", "der", "die", "unser", "unsere", "el", "le"];
        let mut head = self.terms.iter().filter(|term| self.in_head(term));
        let is_the = self.tokens.get(self.head + 1).is_some_and(|token| THE.contains(&token.lower.as_str()));
        self.copula && is_the && self.head > 0 && head.all(|term| term.class == Class::Name)
    }

    /// Tells whether a noun of the head is what the statement is about, not what describes it: `deposit` in `the deposit
    /// for the studio`.
    pub(super) fn is_topic(&self, term: &Term) -> bool {
        let ends =
            |at: usize| at == self.head || self.prepositions.contains(&at) || self.genitives.contains(&at);
        self.in_head(term) && ends(term.end)
    }

    pub(super) fn in_head(&self, term: &Term) -> bool {
        term.start < self.head
    }
}

/// The meanings of the words of a statement, by where they begin.
pub(super) struct Meanings {
    matches: Vec<Match>,
    /// Where the matches of each token begin, and where those of the last one end.
    starts: Vec<usize>,
}

impl Meanings {
    /// `matches` is ordered by where they begin.
    fn new(matches: Vec<Match>, tokens: usize) -> Meanings {
        let mut starts = vec![0; tokens + 2];
        matches.iter().for_each(|found| starts[found.start + 1] += 1);
        (1..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
        Meanings { matches, starts }
    }

    /// Returns the meanings that begin at a token.
    pub(super) fn get(&self, at: usize) -> &[Match] {
        let last = self.starts.len() - 1;
        &self.matches[self.starts[at.min(last)]..self.starts[(at + 1).min(last)]]
    }

    /// Some words that can be verbs are nouns here.
    fn remove_verbs(&mut self, nouns: &[usize]) {
        let is_noun = |found: &Match| found.meaning == Meaning::Verb && nouns.contains(&found.start);
        if self.matches.iter().any(is_noun) {
            let matches = self.matches.iter().filter(|found| !is_noun(found)).copied().collect();
            *self = Meanings::new(matches, self.starts.len() - 2);
        }
    }
}

fn read(mut tokens: Vec<Token>, context_end: usize) -> Statement {
    let lexicon = Lexicon::for_tokens(&tokens);
    for token in &mut tokens {
        token.stem = lexicon.stem(&token.lower);
    }
    if lexicon.is_german() {
        split_genitives(&mut tokens, lexicon);
    }
    let mut meanings = Meanings::new(lexicon.matches(&tokens), tokens.len());
    let is_english = lexicon.is_english();
    let is_noun = |at: &usize| is_noun_form(&tokens, &meanings, *at, is_english);
    let nouns: Vec<usize> = (0..tokens.len()).filter(is_noun).collect();
    meanings.remove_verbs(&nouns);
    let matches = &meanings.matches;
    let values = value::values(&tokens, &meanings);
    let in_value = |at: usize| values.iter().any(|value| (value.start..value.end).contains(&at));
    let mut cues: Vec<Mark> = matches
        .iter()
        .filter(|found| !in_value(found.start))
        .filter(|found| !found.hidden)
        .filter_map(|found| match found.meaning {
            Meaning::Cue(cue) => Some(Mark { cue, start: found.start, end: found.end, gap: found.gap }),
            _ => None,
        })
        .collect();
    // `from 9 to 5` is a range, `from 2010 to 2015` is one that is over.
    let is_range = |mark: &Mark| {
        mark.cue == Cue::Replace
            && mark.gap
            && matches!(tokens[mark.start].lower.as_str(), "from" | "von" | "de")
    };
    if !cues.iter().any(|mark| mark.cue == Cue::Change) {
        let is_year = |at: usize| {
            let year = values.iter().find(|value| value.start == at).map(|value| &value.kind);
            matches!(year, Some(Kind::Date(Date { year: Some(_), .. })))
        };
        for mark in &mut cues {
            if is_range(mark) && is_year(mark.start + 1) && is_year(mark.end) {
                mark.cue = Cue::Past;
            }
        }
        cues.retain(|mark| !is_range(mark));
    }
    let negations: Vec<usize> = matches
        .iter()
        .filter(|found| matches!(found.meaning, Meaning::Cue(Cue::Negation | Cue::Anymore)))
        .map(|found| found.start)
        .collect();
    let places = |wanted: Meaning| -> Vec<usize> {
        matches.iter().filter(|found| found.meaning == wanted).map(|found| found.start).collect()
    };
    let prepositions = places(Meaning::Preposition);
    let genitives = places(Meaning::Genitive);
    let auxiliaries = places(Meaning::Auxiliary);
    let negated = |at: usize| is_negated(&tokens, &negations, &prepositions, at);
    let (head, form) = head(&tokens, &meanings, context_end);
    let mut terms: Vec<Term> = Vec::new();
    let mut states = Vec::new();
    for found in matches.iter().filter(|found| !found.hidden && !in_value(found.start)) {
        if let Meaning::Opposite(name, side) = found.meaning {
            // `may not` is a phrase of its own: only a negation before it turns it round.
            let has_negation = negations.iter().any(|at| (found.start..found.end).contains(at));
            let negated = negated(found.start) && !has_negation;
            let possible = found.start > 0 && MODALS.contains(&tokens[found.start - 1].lower.as_str());
            let before =
                found.start.checked_sub(1 + usize::from(negated)).map(|at| tokens[at].lower.as_str());
            let predicative = before.is_some_and(|word| BE.contains(&word));
            states.push(State {
                name,
                side,
                negated,
                possible,
                predicative,
                start: found.start,
                end: found.end,
            });
        }
    }
    let mut at = 0;
    while at < tokens.len() {
        let here = meanings.get(at);
        let value = values.iter().find(|value| value.start == at);
        // A number that labels a noun is a part of its name: `rack 4`.
        if let Some(value) = value {
            if let Kind::Number(number) = &value.kind
                && let Some(label) = number.label.as_ref().filter(|label| !label.starts_with('@'))
                && let Some(last) = terms.last_mut().filter(|last| last.end == at)
            {
                last.keys.push(format!("{label} {}", tokens[at].lower));
            }
            at = value.end;
            continue;
        }
        match term(&tokens, here, at, at < head && form == Form::Pair) {
            Some(mut found) => {
                found.negated = negated(at);
                at = found.end;
                terms.push(found);
            }
            None => {
                let whole = here.iter().filter(|found| !found.hidden && !found.gap).map(|found| found.end);
                let end = whole.max().unwrap_or(at + 1);
                // `se mudó` is a phrase in which `mudó` names an attribute.
                let names = |at: &usize| {
                    let is_attribute =
                        |found: &Match| !found.hidden && matches!(found.meaning, Meaning::Attribute(..));
                    meanings.get(*at).iter().any(is_attribute)
                };
                at = (at + 1..end).find(names).unwrap_or(end);
            }
        }
    }
    // A capital at the start is that of a name where nothing else is before the verb.
    let whole_head = terms.iter().filter(|term| term.start < head).count() == 1;
    if let Some(first) = terms.first_mut()
        && first.start == 0
        && first.class == Class::Noun
        && first.contrast.is_none()
        && meanings.get(0).is_empty()
        && tokens[0].capital
        && (whole_head && form == Form::Sentence || tokens[0].possessive)
    {
        first.class = Class::Name;
    }
    // `No dogs in the café` is a rule without a verb.
    let verbless = !matches.iter().any(|found| matches!(found.meaning, Meaning::Auxiliary | Meaning::Verb));
    if negations.first() == Some(&0) && verbless {
        let rule = State {
            name: "allowed +",
            side: 1,
            negated: false,
            possible: false,
            predicative: false,
            start: 0,
            end: 1,
        };
        states.push(rule);
    }
    // A sentence that begins with its verb leaves out who speaks: `Gave up coffee`.
    let begins = |found: &Match| matches!(found.meaning, Meaning::Cue(Cue::Change | Cue::End));
    let speaker = matches.iter().any(|found| found.meaning == Meaning::Speaker)
        || context_end == 0 && meanings.get(0).iter().any(begins);
    let question = tokens.last().is_some_and(|token| token.stop == '?');
    let is_name = |found: &Match| matches!(found.meaning, Meaning::Attribute("name", _));
    let group_speaks = tokens.iter().any(|token| WE.contains(&token.lower.as_str()));
    let is_be = tokens.get(head).is_some_and(|token| BE.contains(&token.lower.as_str()));
    let copula = is_be || meanings.get(head).iter().any(is_name);
    Statement {
        whole: String::new(),
        tokens,
        terms,
        values,
        states,
        cues,
        head,
        form,
        copula,
        prepositions,
        auxiliaries,
        genitives,
        speaker,
        group_speaks,
        question,
    }
}

/// How the name of opposites ends that say something only together with an object, as verbs do.
const NEEDS_OBJECT: &str = " +";

/// Pronouns of a group that speaks.
const WE: [&str; 13] = [
    "we", "us", "our", "ours", "wir", "uns", "unser", "unsere", "nosotros", "nuestro", "nous", "notre", "nos",
];

/// Forms of `to be`.
const BE: [&str; 27] = [
    "is", "are", "was", "were", "be", "been", "being", "am", "becomes", "became", "ist", "sind", "war",
    "waren", "bin", "wird", "es", "son", "era", "fue", "está", "están", "est", "sont", "était", "suis", "是",
];

/// Words before a verb that make it a possibility.
const MODALS: [&str; 6] = ["can", "could", "kann", "puede", "peut", "be"];

/// Marks owners that are written with an `s`: `Omas Geburtstag`.
fn split_genitives(tokens: &mut [Token], lexicon: &Lexicon) {
    for at in 1..tokens.len() {
        let next = tokens[at].capital;
        let token = &mut tokens[at - 1];
        let is_name = token.capital && token.lower.len() > 3 && !lexicon.knows(&token.stem);
        if is_name && next && token.stop == ' ' && token.lower.ends_with('s') && !token.lower.ends_with("ss")
        {
            token.lower.pop();
            token.stem = lexicon.stem(&token.lower);
            token.possessive = true;
        }
    }
}

/// Tells whether a word that can be a verb is a noun: `Reports are sent`, `the builds`, `Jo's return flight`.
fn is_noun_form(tokens: &[Token], meanings: &Meanings, at: usize, is_english: bool) -> bool {
    const DETERMINERS: [&str; 14] =
        ["the", "a", "an", "my", "our", "your", "his", "her", "its", "their", "this", "that", "each", "no"];
    let is_verb = |found: &Match| matches!(found.meaning, Meaning::Auxiliary | Meaning::Verb);
    let before_verb = meanings.get(at + 1).iter().any(is_verb);
    let after_determiner = at > 0
        && tokens[at - 1].stop == ' '
        && (tokens[at - 1].possessive || DETERMINERS.contains(&tokens[at - 1].lower.as_str()));
    let token = &tokens[at];
    token.stop == ' ' && before_verb
        || is_english && token.opens && token.lower.ends_with('s')
        || after_determiner
}

/// Tells whether a word follows a pronoun that is a subject, so that it is a verb: `we store`.
fn is_after_pronoun(tokens: &[Token], at: usize) -> bool {
    const PRONOUNS: [&str; 13] =
        ["i", "we", "you", "he", "she", "they", "ich", "wir", "er", "je", "nous", "ils", "elles"];
    let before = at.checked_sub(1).map(|at| &tokens[at]);
    before.is_some_and(|token| token.stop == ' ' && PRONOUNS.contains(&token.lower.as_str()))
        && tokens[at].lower.starts_with(char::is_alphabetic)
        && !tokens[at].capital
}

/// Finds where the head ends.
fn head(tokens: &[Token], meanings: &Meanings, context_end: usize) -> (usize, Form) {
    const MAX_KEY_WORDS: usize = 8;
    let has = |at: usize, wanted: &dyn Fn(Meaning) -> bool| {
        meanings.get(at).iter().any(|found| wanted(found.meaning))
    };
    let is_empty = |meaning: Meaning| {
        matches!(
            meaning,
            Meaning::Filler | Meaning::Speaker | Meaning::Preposition | Meaning::Genitive | Meaning::Cue(_)
        )
    };
    let has_content = |end: usize| {
        (context_end..end)
            .any(|at| !has(at, &is_empty) || has(at, &|meaning| matches!(meaning, Meaning::Attribute(..))))
    };
    let is_auxiliary = |at: usize| has(at, &|meaning| meaning == Meaning::Auxiliary);
    let ends_key = |at: usize| {
        matches!(tokens[at].stop, ':' | '–') && has_content(at + 1) && !(context_end..=at).any(is_auxiliary)
    };
    if let Some(colon) = (context_end..tokens.len().min(context_end + MAX_KEY_WORDS)).find(|at| ends_key(*at))
    {
        return (colon + 1, Form::Pair);
    }
    let is_verb = |meaning: Meaning| match meaning {
        Meaning::Auxiliary | Meaning::Verb => true,
        Meaning::Cue(cue) => matches!(cue, Cue::Change | Cue::End | Cue::Anymore),
        Meaning::Opposite(name, _) => name.ends_with(NEEDS_OBJECT),
        _ => false,
    };
    // A verb that no list has: `counts the`.
    let is_unknown_verb = |at: usize| {
        let token = &tokens[at];
        let inflected =
            token.lower.ends_with('s') && !token.lower.ends_with("ss") || token.lower.ends_with("ed");
        let next = tokens.get(at + 1).is_none_or(|next| {
            next.text.starts_with(|c: char| c.is_ascii_digit())
                || has(at + 1, &|meaning| {
                    matches!(meaning, Meaning::Filler | Meaning::Speaker | Meaning::Number(_))
                })
        });
        let is_last = at + 1 == tokens.len();
        // A verb follows its noun.
        let after_noun = at > context_end && !has(at - 1, &is_empty);
        inflected
            && !token.capital
            && !token.possessive
            && (token.stop == ' ' || is_last)
            && next
            && after_noun
            && has_content(at)
    };
    let is_pivot = |at: usize| {
        has(at, &is_verb) && !tokens[at].joined
            || is_after_pronoun(tokens, at) && !has(at, &is_empty)
            || is_unknown_verb(at)
            || at > context_end && tokens[at - 1].stop == '→'
    };
    let is_break = |at: usize| has(at, &|meaning| meaning == Meaning::Preposition) && has_content(at);
    let stops = |at: usize| at > context_end && tokens[at - 1].stop != ' ';
    // `The entry to the museum is free`: what is said of the subject belongs to it, up to the verb.
    let verb = (context_end..tokens.len()).find(|at| is_pivot(*at));
    let preposition = (context_end..tokens.len()).find(|at| is_break(*at));
    let near = |verb: &usize| {
        let start = preposition.unwrap_or(*verb);
        *verb <= start + MAX_KEY_WORDS && !(start.max(context_end + 1)..=*verb).any(stops)
    };
    let end = verb.filter(near).or(preposition).or(verb).unwrap_or(tokens.len());
    (end, Form::Sentence)
}

/// A negation reaches from its word to the end of its part of the sentence; as a determiner, to the end of its noun.
fn is_negated(tokens: &[Token], negations: &[usize], prepositions: &[usize], at: usize) -> bool {
    const DETERMINERS: [&str; 10] =
        ["no", "kein", "keine", "keinen", "keinem", "keiner", "ningún", "ninguna", "aucun", "aucune"];
    let reaches = |start: usize| {
        let ends = DETERMINERS.contains(&tokens[start].lower.as_str());
        let mut between = start..at;
        start <= at
            && tokens[start..at].iter().all(|token| matches!(token.stop, ' ' | ':'))
            && !(ends && between.any(|at| prepositions.contains(&at)))
    };
    negations.iter().any(|start| reaches(*start))
}

/// Reads the term that begins at a token.
fn term(tokens: &[Token], here: &[Match], at: usize, in_key: bool) -> Option<Term> {
    let token = &tokens[at];
    let blank = Term {
        keys: vec![token.stem.clone()],
        class: Class::Noun,
        contrast: None,
        start: at,
        end: at + 1,
        negated: false,
        unique: false,
        generic: here.iter().any(|found| found.meaning == Meaning::Generic),
    };
    let shown = || here.iter().filter(|found| !found.hidden);
    let attributes: Vec<&Match> =
        shown().filter(|found| matches!(found.meaning, Meaning::Attribute(..))).collect();
    // A key has no verb: `read timeout`.
    let is_verb =
        !in_key && here.iter().any(|found| found.meaning == Meaning::Verb) || is_after_pronoun(tokens, at);
    let contrasted = shown().filter(|_| !is_verb).find_map(|found| match found.meaning {
        Meaning::Contrast(name, member) => Some(((name, member), found.end)),
        _ => None,
    });
    let contrast = contrasted.map(|(member, _)| member);
    if let Some(longest) =
        attributes.iter().map(|found| if found.gap { found.start + 1 } else { found.end }).max()
    {
        let mut keys: Vec<String> = tokens[at..longest].iter().map(|token| token.stem.clone()).collect();
        let mut unique = false;
        for found in attributes {
            if let Meaning::Attribute(name, one_holder) = found.meaning {
                keys.push(format!("@{name}"));
                unique |= one_holder;
            }
        }
        return Some(Term { keys, class: Class::Attribute, end: longest, contrast, unique, ..blank });
    }
    if let Some((_, end)) = contrasted {
        let words: Vec<&str> = tokens[at..end].iter().map(|token| token.stem.as_str()).collect();
        return Some(Term { keys: vec![words.join("-")], contrast, end, ..blank });
    }
    if let Some(end) = shown()
        .filter(|found| matches!(found.meaning, Meaning::Opposite(..)))
        .map(|found| if found.gap { found.start + 1 } else { found.end })
        .max()
    {
        return Some(Term { class: Class::State, end, ..blank });
    }
    let is_empty = here.iter().any(|found| {
        matches!(
            found.meaning,
            Meaning::Filler
                | Meaning::Speaker
                | Meaning::Auxiliary
                | Meaning::Preposition
                | Meaning::Genitive
        )
    });
    let only_many = here.iter().all(|found| {
        matches!(
            found.meaning,
            Meaning::Cue(Cue::Many) | Meaning::Verb | Meaning::Number(_) | Meaning::Generic
        )
    });
    // `INFO` is a name, `info` may be a word of no content.
    let is_acronym = token.text != "I" && !token.opens && token.text.chars().all(char::is_uppercase);
    if (is_empty || !only_many) && !is_acronym {
        return None;
    }
    let has_digit = token.text.bytes().any(|byte| byte.is_ascii_digit() || matches!(byte, b'_' | b'/'))
        || token.text.contains('.')
        || token.tag;
    let class = if token.text.starts_with(is_han) {
        Class::Character
    } else if has_digit {
        Class::Code
    } else if is_verb {
        Class::Verb
    } else if token.capital && !token.opens {
        Class::Name
    } else {
        Class::Noun
    };
    Some(Term { class, ..blank })
}

impl fmt::Display for Statement {
    /// Shows what was read: terms (`^` in the head, `!` negated), cues, values and states.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for term in &self.terms {
            let head = if self.in_head(term) { "^" } else { "" };
            let negated = if term.negated { "!" } else { "" };
            write!(f, "  {negated}{head}{}:{:?}", term.keys.join("|"), term.class)?;
        }
        let cues: Vec<Cue> = self.cues.iter().map(|mark| mark.cue).collect();
        let values: Vec<&Kind> = self.values.iter().map(|value| &value.kind).collect();
        let states: Vec<(&str, u8)> = self.states.iter().map(|state| (state.name, state.side)).collect();
        write!(f, "  {cues:?} {values:?} {states:?}")
    }
}
