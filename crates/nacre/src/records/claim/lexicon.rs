//! The vocabulary of statements in each language: `words/LANGUAGE/claims.txt` as a table of phrases.

use std::sync::{LazyLock, OnceLock};

use foldhash::{HashMap, HashSet};
use rust_stemmers::Algorithm;

use crate::base::stem::stem;
use crate::base::words::{self, Table};
use crate::index::analyse::fold_marks;

use super::token::Token;

/// The role of a word or phrase in a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Meaning {
    /// Carries no content: articles, pronouns, adverbs.
    Filler,
    /// The person who speaks: `I`, `our`.
    Speaker,
    /// A verb without content of its own: `is`, `has`, `must`.
    Auxiliary,
    Verb,
    Preposition,
    /// Joins a noun to what it belongs to: `of`.
    Genitive,
    /// A noun that says little about which thing is meant: `service`, `system`.
    Generic,
    Cue(Cue),
    /// An attribute by its name, and whether a thing has only one holder of it.
    Attribute(&'static str, bool),
    /// One of several sides that exclude each other.
    Opposite(&'static str, u8),
    /// A member of a class of things named side by side, such as `production` and `staging`: the class, and the
    /// number of the member.
    Contrast(&'static str, u8),
    Month(u8),
    Weekday(u8),
    /// How often, as the seconds in between.
    Every(u32),
    Am,
    Pm,
    Noon,
    Midnight,
    Number(f64),
}

/// The effect of a phrase on its statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cue {
    Negation,
    /// Something held and does not hold now: `no longer`.
    Anymore,
    /// Something holds from now on: `as of`, `new`.
    Now,
    /// Something became something else: `moved`, `renamed`.
    Change,
    /// Something was given to someone else: `handed over`.
    Transfer,
    /// Something ended: `quit`, `sold`.
    End,
    /// The words that follow are the old value: `instead of`.
    Replace,
    /// Something holds beside the rest: `also`, `another`.
    Also,
    /// Something held earlier: `used to`.
    Past,
    /// Something is only considered: `might`, `would like`.
    Plan,
    /// Something holds only under a condition or for a while.
    Condition,
    /// The attribute takes several values: `speaks`, `siblings`.
    Many,
}

/// The tables of one language.
struct Tables {
    stemmer: Option<Algorithm>,
    cues: Table,
    attributes: Table,
    opposites: Table,
    contrasts: Table,
    calendar: Table,
    numbers: Table,
    built: OnceLock<Lexicon>,
}

macro_rules! tables {
    ($stemmer:expr, $cues:expr, $attributes:expr, $opposites:expr, $contrasts:expr, $calendar:expr, $numbers:expr $(,)?) => {
        Tables {
            stemmer: $stemmer,
            cues: $cues,
            attributes: $attributes,
            opposites: $opposites,
            contrasts: $contrasts,
            calendar: $calendar,
            numbers: $numbers,
            built: OnceLock::new(),
        }
    };
}

/// English is first: it is the language of a text that shows no other.
static LANGUAGES: [Tables; 5] = [
    tables!(
        Some(Algorithm::English),
        words::CLAIMS_ENGLISH.table("cues"),
        words::CLAIMS_ENGLISH.table("attributes"),
        words::CLAIMS_ENGLISH.table("opposites"),
        words::CLAIMS_ENGLISH.table("contrasts"),
        words::CLAIMS_ENGLISH.table("calendar"),
        words::CLAIMS_ENGLISH.table("numbers"),
    ),
    tables!(
        Some(Algorithm::German),
        words::CLAIMS_GERMAN.table("cues"),
        words::CLAIMS_GERMAN.table("attributes"),
        words::CLAIMS_GERMAN.table("opposites"),
        words::CLAIMS_GERMAN.table("contrasts"),
        words::CLAIMS_GERMAN.table("calendar"),
        words::CLAIMS_GERMAN.table("numbers"),
    ),
    tables!(
        Some(Algorithm::Spanish),
        words::CLAIMS_SPANISH.table("cues"),
        words::CLAIMS_SPANISH.table("attributes"),
        words::CLAIMS_SPANISH.table("opposites"),
        words::CLAIMS_SPANISH.table("contrasts"),
        words::CLAIMS_SPANISH.table("calendar"),
        words::CLAIMS_SPANISH.table("numbers"),
    ),
    tables!(
        Some(Algorithm::French),
        words::CLAIMS_FRENCH.table("cues"),
        words::CLAIMS_FRENCH.table("attributes"),
        words::CLAIMS_FRENCH.table("opposites"),
        words::CLAIMS_FRENCH.table("contrasts"),
        words::CLAIMS_FRENCH.table("calendar"),
        words::CLAIMS_FRENCH.table("numbers"),
    ),
    tables!(
        None,
        words::CLAIMS_CHINESE.table("cues"),
        words::CLAIMS_CHINESE.table("attributes"),
        words::CLAIMS_CHINESE.table("opposites"),
        words::CLAIMS_CHINESE.table("contrasts"),
        words::CLAIMS_CHINESE.table("calendar"),
        words::CLAIMS_CHINESE.table("numbers"),
    ),
];

const CHINESE: usize = 4;

/// The maximum number of words that a gap (`~`) in a phrase matches.
const MAX_GAP: usize = 4;

/// The phrases of one language by the first letter of their stem. A letter is built once a statement has it: the stems of all
/// phrases take longer than all the rest of a short command.
pub(super) struct Lexicon {
    stemmer: Option<Algorithm>,
    letters: HashMap<char, Letter>,
}

/// The phrases that begin with one letter.
#[derive(Default)]
struct Letter {
    entries: Vec<Entry>,
    /// By the stem of their first word.
    built: OnceLock<HashMap<String, Vec<Phrase>>>,
}

/// A phrase as it is written.
struct Entry {
    text: &'static str,
    meaning: Meaning,
    /// Whether its first word is meant only as it is written.
    exact: bool,
}

static IRREGULAR: Table = words::CLAIMS_ENGLISH.table("irregular");

/// Irregular English forms, each with its base form: `written` is a form of `write`.
static FORMS: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    IRREGULAR.iter().flat_map(|(base, forms)| split(forms).map(move |form| (form, *base))).collect()
});

/// The function words of all languages as they are written, each with the languages that have it as bits.
static FUNCTION_WORDS: LazyLock<HashMap<&'static str, u8>> = LazyLock::new(|| {
    let mut words: HashMap<&'static str, u8> = HashMap::default();
    for (language, tables) in LANGUAGES.iter().take(CHINESE).enumerate() {
        let is_function = |class: &str| !matches!(cue(class), Meaning::Cue(_) | Meaning::Generic);
        let phrases = tables
            .cues
            .iter()
            .filter(|(class, _)| is_function(class))
            .flat_map(|(_, phrases)| split(phrases));
        for word in phrases.filter(|phrase| !phrase.contains(' ')) {
            *words.entry(word).or_default() |= 1 << language;
        }
    }
    words
});

struct Phrase {
    /// The stems after the first; an empty one is a gap.
    rest: Vec<String>,
    /// The first word as it must be written, where not every form of it is meant.
    exact: Option<String>,
    meaning: Meaning,
}

/// A phrase found in a statement: which words, and what it means.
#[derive(Clone, Copy, Debug)]
pub(super) struct Match {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether words in between do not belong to it.
    pub(super) gap: bool,
    /// Whether a longer phrase has its words.
    pub(super) hidden: bool,
    pub(super) meaning: Meaning,
}

impl Lexicon {
    /// Returns the lexicon of the language whose function words a text has most.
    pub(super) fn for_tokens(tokens: &[Token]) -> &'static Lexicon {
        if tokens.iter().any(|token| token.lower.starts_with(is_han)) {
            return lexicon(CHINESE);
        }
        // `MIT` is not the German word.
        let is_word = |token: &&Token| !token.text.chars().all(char::is_uppercase);
        let words = || tokens.iter().filter(is_word);
        let mut counts = [0u8; CHINESE];
        for languages in words().filter_map(|token| FUNCTION_WORDS.get(token.lower.as_str())) {
            let has = |language: usize| u8::from(languages & 1 << language != 0);
            (0..CHINESE).for_each(|language| counts[language] += has(language));
        }
        let most = counts.iter().max().copied().unwrap_or_default();
        let mut best = (0..CHINESE).filter(|language| counts[*language] == most);
        // Words with content decide between languages with the same function words.
        let known = |language: usize| {
            let (first_words, tables) = (first_words(language), &LANGUAGES[language]);
            let is_known = |lower: &str| {
                let is_stem =
                    || tables.stemmer.is_some_and(|of| first_words.contains(stem(of, lower).as_str()));
                first_words.contains(lower) || is_stem()
            };
            words().filter(|token| is_known(&token.lower)).count()
        };
        let first = best.next().unwrap_or(0);
        let rest: Vec<usize> = best.collect();
        if rest.is_empty() {
            return lexicon(first);
        }
        lexicon(
            rest.into_iter().rev().chain([first]).max_by_key(|language| known(*language)).unwrap_or(first),
        )
    }

    /// Tells whether a phrase begins with a word of this stem.
    pub(super) fn knows(&self, stem: &str) -> bool {
        self.phrases(stem).is_some()
    }

    pub(super) fn is_german(&self) -> bool {
        self.stemmer.is_some_and(|stemmer| matches!(stemmer, Algorithm::German))
    }

    pub(super) fn is_english(&self) -> bool {
        self.stemmer.is_some_and(|stemmer| matches!(stemmer, Algorithm::English))
    }

    /// Returns the stem of a word in lower case, without accents.
    pub(super) fn stem(&self, lower: &str) -> String {
        if self.is_english()
            && let Some(base) = FORMS.get(lower)
        {
            return stem(Algorithm::English, base);
        }
        match self.stemmer {
            Some(algorithm) if lower.chars().all(char::is_alphabetic) => {
                let stem = stem(algorithm, lower);
                if stem.is_ascii() { stem } else { fold_marks(&stem) }
            }
            // `A100s` is the plural of `A100`.
            _ => match lower.strip_suffix('s') {
                Some(singular) if singular.ends_with(|c: char| c.is_ascii_digit()) => singular.to_owned(),
                _ => fold_marks(lower),
            },
        }
    }

    /// Returns every phrase in a row of tokens. A phrase of several words hides the shorter ones in it.
    pub(super) fn matches(&self, tokens: &[Token]) -> Vec<Match> {
        let mut found: Vec<Match> = Vec::new();
        for (start, token) in tokens.iter().enumerate() {
            for phrase in self.phrases(&token.stem).into_iter().flatten() {
                if phrase.exact.as_ref().is_none_or(|exact| *exact == token.lower)
                    && let Some((end, gap)) = phrase.end(tokens, start + 1)
                {
                    found.push(Match { start, end, gap, hidden: false, meaning: phrase.meaning });
                }
            }
        }
        let hides = |other: &Match, one: &Match| {
            let longer = other.end - other.start > one.end - one.start;
            let inside = match other.gap {
                false => other.start <= one.start && one.end <= other.end,
                true => one.end == one.start + 1 && (one.start == other.start || one.end == other.end),
            };
            longer
                && inside
                && (group(other.meaning) == group(one.meaning)
                    || matches!(one.meaning, Meaning::Contrast(..)))
        };
        let phrases: Vec<Match> = found.iter().filter(|one| one.end > one.start + 1).copied().collect();
        for one in &mut found {
            one.hidden = phrases.iter().any(|phrase| hides(phrase, one));
        }
        found
    }

    fn build(tables: &'static Tables) -> Lexicon {
        let stemmer = tables.stemmer;
        let mut lexicon = Lexicon { stemmer, letters: HashMap::default() };
        for (class, phrases) in tables.cues.iter() {
            // Only attributes take every form of a word: the noun `move` is not the verb `moved`.
            lexicon.add(
                phrases,
                cue(class),
                !matches!(cue(class), Meaning::Generic | Meaning::Cue(Cue::Many)),
            );
        }
        for (name, phrases) in tables.attributes.iter() {
            let unique = name.strip_suffix(" !");
            lexicon.add(phrases, Meaning::Attribute(unique.unwrap_or(name), unique.is_some()), false);
        }
        for (name, phrases) in tables.opposites.iter() {
            for (side, phrases) in (0..).zip(phrases.split('|')) {
                lexicon.add(phrases, Meaning::Opposite(name, side), true);
            }
        }
        for (name, phrases) in tables.contrasts.iter() {
            for (member, spellings) in (0..).zip(split(phrases)) {
                let add = |spelling| lexicon.add(spelling, Meaning::Contrast(name, member), false);
                spellings.split('/').for_each(add);
            }
        }
        for (name, phrases) in tables.calendar.iter() {
            lexicon.add(phrases, calendar(name), true);
        }
        for (number, phrases) in tables.numbers.iter() {
            lexicon.add(phrases, Meaning::Number(number.parse().expect("a number")), false);
        }
        lexicon
    }

    /// Adds phrases. `exact`: their first words are meant only as they are written.
    fn add(&mut self, phrases: &'static str, meaning: Meaning, exact: bool) {
        for entry in split(phrases) {
            let text = entry.trim_start_matches('=');
            let entry = Entry { text, meaning, exact: exact || text.len() < entry.len() };
            self.letters.entry(self.first_letter(text)).or_default().entries.push(entry);
        }
    }

    /// Returns the letter that the stem of a phrase begins with: that of its first word, without accents.
    fn first_letter(&self, phrase: &'static str) -> char {
        let word = phrase.split([' ', '-']).next().unwrap_or(phrase);
        let base = if self.is_english() { FORMS.get(word) } else { None };
        let first = base.copied().unwrap_or(word).chars().next().expect("a phrase is not empty");
        if first.is_ascii() {
            first
        } else {
            fold_marks(first.encode_utf8(&mut [0; 4])).chars().next().unwrap_or(first)
        }
    }

    /// Returns the phrases that begin with a stem.
    fn phrases(&self, stem: &str) -> Option<&Vec<Phrase>> {
        let letter = self.letters.get(&stem.chars().next()?)?;
        letter.built.get_or_init(|| self.build_letter(&letter.entries)).get(stem)
    }

    fn build_letter(&self, entries: &[Entry]) -> HashMap<String, Vec<Phrase>> {
        let mut phrases: HashMap<String, Vec<Phrase>> = HashMap::default();
        for Entry { text, meaning, exact } in entries {
            let is_han = text.starts_with(is_han);
            let spaced = text.replace('-', " ");
            let mut stems: Vec<String> = if is_han {
                text.chars().map(String::from).collect()
            } else {
                spaced.split_whitespace().map(|word| self.stem_of_entry(word)).collect()
            };
            let first = stems.remove(0);
            let exact =
                (*exact && !is_han).then(|| spaced.split_whitespace().next().unwrap_or(text).to_owned());
            let known = phrases.entry(first).or_default();
            let covers = |other: &Phrase| {
                other.rest == stems
                    && other.meaning == *meaning
                    && (other.exact.is_none() || other.exact == exact)
            };
            if !known.iter().any(covers) {
                known.push(Phrase { rest: stems, exact, meaning: *meaning });
            }
        }
        phrases
    }

    fn stem_of_entry(&self, word: &str) -> String {
        if word == "~" { String::new() } else { self.stem(word) }
    }
}

impl Phrase {
    /// Returns where the phrase ends in a row of stems if its rest is found there, and whether it has a gap.
    fn end(&self, tokens: &[Token], start: usize) -> Option<(usize, bool)> {
        let is = |at: usize, stem: &str| tokens.get(at).is_some_and(|token| token.stem == stem);
        let mut at = start;
        let mut rest = self.rest.iter();
        let mut has_gap = false;
        while let Some(stem) = rest.next() {
            if stem.is_empty() {
                let next = rest.next().expect("a gap has an end");
                let gap = (1..=MAX_GAP).find(|gap| is(at + gap, next))?;
                at += gap + 1;
                has_gap = true;
            } else if stem == "$" {
                if tokens[at - 1].stop == ' ' && at < tokens.len() {
                    return None;
                }
            } else if is(at, stem) {
                at += 1;
            } else {
                return None;
            }
        }
        Some((at, has_gap))
    }
}

/// Phrases hide shorter ones of their own table.
fn group(meaning: Meaning) -> u8 {
    match meaning {
        Meaning::Attribute(..) => 1,
        Meaning::Opposite(..) => 2,
        Meaning::Contrast(..) => 3,
        Meaning::Month(_)
        | Meaning::Weekday(_)
        | Meaning::Every(_)
        | Meaning::Am
        | Meaning::Pm
        | Meaning::Noon
        | Meaning::Midnight => 4,
        Meaning::Number(_) => 5,
        _ => 0,
    }
}

fn lexicon(language: usize) -> &'static Lexicon {
    let tables = &LANGUAGES[language];
    tables.built.get_or_init(|| Lexicon::build(tables))
}

/// Returns the first words of all phrases of a language as they are written: to tell a language from others, its whole lexicon
/// need not be built, which takes longer than all the rest of a short command.
fn first_words(language: usize) -> &'static HashSet<&'static str> {
    static WORDS: [OnceLock<HashSet<&'static str>>; CHINESE] = [const { OnceLock::new() }; CHINESE];
    WORDS[language].get_or_init(|| {
        let Tables { cues, attributes, opposites, contrasts, calendar, numbers, .. } = &LANGUAGES[language];
        let rows = [cues, attributes, opposites, contrasts, calendar, numbers]
            .into_iter()
            .flat_map(|table| table.iter());
        let phrases = rows.flat_map(|(_, phrases)| phrases.split([',', '|', '/']));
        phrases.filter_map(|phrase| phrase.trim_start_matches([' ', '=']).split([' ', '-']).next()).collect()
    })
}

fn split(phrases: &'static str) -> impl Iterator<Item = &'static str> {
    phrases.split(',').map(str::trim).filter(|phrase| !phrase.is_empty())
}

fn cue(class: &str) -> Meaning {
    match class {
        "filler" => Meaning::Filler,
        "speaker" => Meaning::Speaker,
        "auxiliary" => Meaning::Auxiliary,
        "verb" => Meaning::Verb,
        "preposition" => Meaning::Preposition,
        "genitive" => Meaning::Genitive,
        "generic" => Meaning::Generic,
        "negation" => Meaning::Cue(Cue::Negation),
        "anymore" => Meaning::Cue(Cue::Anymore),
        "now" => Meaning::Cue(Cue::Now),
        "change" => Meaning::Cue(Cue::Change),
        "transfer" => Meaning::Cue(Cue::Transfer),
        "end" => Meaning::Cue(Cue::End),
        "replace" => Meaning::Cue(Cue::Replace),
        "also" => Meaning::Cue(Cue::Also),
        "past" => Meaning::Cue(Cue::Past),
        "plan" => Meaning::Cue(Cue::Plan),
        "condition" => Meaning::Cue(Cue::Condition),
        "many" => Meaning::Cue(Cue::Many),
        _ => panic!("`{class}` is no class of cues"),
    }
}

fn calendar(name: &str) -> Meaning {
    let (class, number) = name.split_once(' ').unwrap_or((name, "0"));
    let number: u32 = number.parse().expect("the number of a month or day, or seconds");
    let small = u8::try_from(number).unwrap_or_default();
    match class {
        "month" => Meaning::Month(small),
        "weekday" => Meaning::Weekday(small),
        "every" => Meaning::Every(number),
        "am" => Meaning::Am,
        "pm" => Meaning::Pm,
        "noon" => Meaning::Noon,
        "midnight" => Meaning::Midnight,
        _ => panic!("`{class}` is no class of the calendar"),
    }
}

/// Tells whether a character is Chinese, where every character is read as a word.
pub(super) fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stem_of_every_phrase_begins_with_the_letter_that_it_is_found_by() {
        let mut count = 0;
        for language in 0..LANGUAGES.len() {
            let lexicon = lexicon(language);
            for (letter, Letter { entries, .. }) in &lexicon.letters {
                for stem in lexicon.build_letter(entries).keys() {
                    assert!(stem.starts_with(*letter), "{stem} under {letter}");
                    count += 1;
                }
            }
        }
        assert!(count > 2_000, "{count} stems");
    }
}
