//! Relevance: whether a memory helps with a message. Search finds the nearest memories. This module decides whether the
//! nearest one is near enough to be injected unasked, which is another question: most messages need nothing.
//!
//! The evidence is a sum of named parts, as in search. The weights were found on the tuning half of `nacre-bench inject`
//! (docs/decisions/0018). A message or a memory in another language is weighed by its words, their English translations and
//! their meaning; `words/messages.txt` has the words that show what it is about.
#![expect(clippy::cast_precision_loss, reason = "a few words")]

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use schemars::JsonSchema;
use serde::Serialize;

use super::said::{self, says};
use crate::base::words::{self, List};
use crate::index::embed::builtin::{self, Vector};
use crate::index::embed::foreign;
use crate::index::lookup::Frequencies;
use crate::index::{Language, analyse};

/// The parts of the evidence, by the names that `--explain` shows, with their weights.
const PARTS: [(&str, f64); 21] = [
    // The share of the message that the text has, by exact and similar words, and the share of the text that this is.
    ("covered", 1.9),
    ("covered in meaning", 1.5),
    ("about it", 1.4),
    ("similarity", 2.4),
    // The common words: how rare the rarest is, how many there are, how frequent they are in this memory.
    ("strongest word", 0.7),
    ("shared words", 3.3),
    ("usual here", -3.6),
    // Names of the message that the text has, and that it lacks.
    ("names", 0.7),
    ("other names", -1.7),
    // The common words are the subject of the text; they mean any one of a kind.
    ("subject", 1.0),
    ("any one", -0.9),
    // The kind of message.
    ("personal", 0.6),
    ("recalls", 0.6),
    ("general", -2.6),
    ("of the world", -1.0),
    ("own name", 0.6),
    ("only tells", -0.1),
    ("points at something", -0.6),
    // The kind of text.
    ("how to do it", 1.6),
    ("was said", -0.9),
    ("same field", 3.7),
];
const BIAS: f64 = -5.2;

static EMPTY: List = words::MESSAGES.list("empty");
static PERSONAL: List = words::MESSAGES.list("personal");
static RECALLS: List = words::MESSAGES.list("recalls");
static GENERAL: List = words::MESSAGES.list("general");
static WORLDLY: List = words::MESSAGES.list("worldly");
static WRITES: List = words::MESSAGES.list("writes");
static COMMANDS: List = words::MESSAGES.list("commands");
static WANTS: List = words::MESSAGES.list("wants");
static DEFINITE: List = words::MESSAGES.list("definite");
static PHRASE_ENDS: List = words::MESSAGES.list("phrase ends");
static TIMES: List = words::MESSAGES.list("times");
/// The same in other languages.
static OTHER_PERSONAL: List = words::MESSAGES_OTHER.list("personal");
static PERSONAL_SIGNS: List = words::MESSAGES_OTHER.list("personal signs");
static OTHER_RECALLS: List = words::MESSAGES_OTHER.list("recalls");
static OTHER_GENERAL: List = words::MESSAGES_OTHER.list("general");
static OTHER_COMMANDS: List = words::MESSAGES_OTHER.list("commands");
static OTHER_DEFINITE: List = words::MESSAGES_OTHER.list("definite");
static OTHER_ANY: List = words::MESSAGES_OTHER.list("any");

/// An area of life: words of a message about it, and words of a memory that is a rule for it.
type Field = (List, List);

static FIELDS: [Field; 2] = [
    (words::MESSAGES.list("food"), words::MESSAGES.list("food rules")),
    (words::MESSAGES.list("medicine"), words::MESSAGES.list("medicine rules")),
];

/// How many words at the beginning form the subject of a text.
const SUBJECT_WORDS: usize = 3;
/// The most English translations of a word in another language.
const MAX_TRANSLATIONS: usize = 3;
/// Words of another language that count less are as common as `the`.
const MIN_FOREIGN_WEIGHT: f32 = 0.2;
/// The most words of a text that are weighed: more add work, not meaning.
const MAX_TERMS: usize = 64;

/// A message, analysed for what it needs.
pub(crate) struct Message {
    pub(crate) prose: String,
    language: Language,
    terms: Vec<Term>,
    vector: Vector,
    traits: Traits,
    /// Its areas of life, one bit each.
    fields: u8,
}

/// A word that carries the meaning of a message.
struct Term {
    stem: String,
    /// Its English translations, and other words that mean the same.
    also: Vec<String>,
    shown: String,
    weight: f32,
    vector: Vector,
    /// Written with a capital inside a sentence, or as an identifier.
    name: bool,
    /// A specific one: preceded by `the`, `my` or `this`.
    definite: bool,
    /// Any one: preceded by `a`.
    any: bool,
    /// Remembered as the name of a person or thing of the user.
    own: bool,
    /// How many passages have it, and how frequent that makes it, 0 to 1.
    here: i64,
    usual: f32,
}

/// Returns the forms in which memories may have a term.
fn stems(term: &Term) -> impl Iterator<Item = &String> {
    std::iter::once(&term.stem).chain(&term.also)
}

/// The kind of a message.
#[derive(Clone, Copy, Debug, Default)]
struct Traits {
    /// About the user or about common work.
    personal: bool,
    /// Asks about earlier statements or decisions.
    recalls: bool,
    /// Asks about the world in general.
    general: bool,
    /// Tells the agent to do something.
    command: bool,
    /// Neither a question nor a command.
    tells: bool,
    /// Refers to something that both can see: this file, the code above.
    pointing: bool,
    /// Asks to write to someone, to arrange something or to fill something in.
    writes: bool,
    /// Asks for knowledge of the world, or for work on a text that it carries.
    worldly: bool,
}

/// One piece of evidence.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "a name and a number")]
pub struct Evidence {
    pub part: &'static str,
    pub value: f64,
}

/// The weighed evidence for a text.
#[derive(Clone, Debug)]
pub(crate) struct Weight {
    pub(crate) parts: Vec<Evidence>,
    /// The sum of the evidence for and against it.
    pub(crate) worth: f64,
    /// The same as a probability that it helps, 0 to 1.
    pub(crate) score: f64,
    /// The share of the message that it covers, by exact or similar words, 0 to 1.
    pub(crate) covered: f64,
    /// The common words.
    pub(crate) shared: Vec<String>,
    pub(crate) similarity: f32,
}

/// The properties of a memory besides its words.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MemoryTraits {
    /// Tells the agent how to act: a preference, an instruction, a correction or a lesson.
    pub(crate) behavioral: bool,
    /// From a conversation.
    pub(crate) spoken: bool,
    /// A rule that gates an action.
    pub(crate) gate: bool,
}

impl Weight {
    /// Adds evidence that is not a part of the sum.
    pub(super) fn add(&mut self, evidence: f64) {
        self.worth += evidence;
        self.score = round(logistic(self.worth));
    }
}

/// Returns the probability of log odds.
pub(super) fn logistic(odds: f64) -> f64 {
    1.0 / (1.0 + (-odds).exp())
}

/// Returns the log odds of a probability.
pub(super) fn log_odds(share: f64) -> f64 {
    let share = share.clamp(1e-6, 1.0 - 1e-6);
    (share / (1.0 - share)).ln()
}

impl Message {
    pub(crate) fn new(prose: &str, language: Language) -> Message {
        let mut terms: Vec<Term> = Vec::new();
        for sentence in said::sentences(prose) {
            let is_foreign = foreign::is_foreign(sentence);
            let row: Vec<&str> = sentence.split_whitespace().map(bare).collect();
            let lower: Vec<String> = row.iter().map(|word| word.to_lowercase()).collect();
            for (place, word) in row.iter().enumerate() {
                let name = is_name(word, place == 0) && !is_time(word);
                if is_foreign {
                    add_foreign(&mut terms, word, name, &lower[..place], language);
                    continue;
                }
                for stem in analyse::words(word, language) {
                    if says_nothing(&stem, language) || terms.iter().any(|known| known.stem == stem) {
                        continue;
                    }
                    let before = &lower[..place];
                    terms.push(Term {
                        stem,
                        also: Vec::new(),
                        shown: (*word).to_owned(),
                        weight: weight(word, name),
                        vector: builtin::embed_weighted(word, |_| 1.0),
                        name,
                        definite: is_definite(before),
                        any: before
                            .iter()
                            .rev()
                            .take(3)
                            .any(|word| matches!(word.as_str(), "a" | "an" | "any")),
                        own: false,
                        here: 0,
                        usual: 0.0,
                    });
                }
            }
        }
        terms.truncate(MAX_TERMS);
        let mut words = said::words(prose);
        let vector = builtin::embed_weighted(prose, |_| 1.0);
        let traits = match foreign::is_foreign(prose) {
            true => Traits::of_foreign(&words, prose),
            false => Traits::of(&words, prose),
        };
        add_translations(&mut words, prose);
        let fields = fields(&words, |(asked, _)| asked);
        Message { prose: prose.to_owned(), language, terms, vector, traits, fields }
    }

    /// Counts how many of all passages have each of its words.
    pub(crate) fn count(&mut self, all: i64, frequencies: &Frequencies) {
        let all = (all.max(3) as f32).ln();
        for term in &mut self.terms {
            term.here = stems(term).map(|stem| frequencies.of(stem)).max().unwrap_or(0);
            term.usual = ((term.here.max(1) as f32).ln() / all).min(1.0);
        }
    }

    /// Returns its words, in the analyser's form.
    pub(crate) fn stems(&self) -> impl Iterator<Item = String> {
        self.terms.iter().flat_map(stems).cloned()
    }

    /// Marks the words that the given texts introduce as names.
    pub(crate) fn learn_names<'t>(&mut self, texts: impl Iterator<Item = &'t str>) {
        for text in texts {
            for name in own_names(text) {
                for stem in analyse::words(bare(name), self.language) {
                    let same = |term: &&mut Term| term.stem == stem || term.also.contains(&stem);
                    self.terms.iter_mut().filter(same).for_each(|term| term.own = true);
                }
            }
        }
    }

    /// Returns how likely a line of the notes helps with a message that asks to write or arrange something, and 0 for one about
    /// the world at large. `None`: each line is weighed by itself. Takes the most worth and the most shared words of
    /// the best lines.
    ///
    /// Such a message seldom has the words of the line that it needs ("text Dave that Friday is fine, with his number"), so
    /// that the message decides whether lines are added, and search decides which. The weights were found on two of
    /// three people's notes and checked on the third, with requests beside them that need nothing ("write a limerick").
    pub(crate) fn need_of_notes(&self, worth: f64, shared: usize) -> Option<f64> {
        const NEED_WEIGHT: f64 = 3.05;
        const WORTH_WEIGHT: f64 = 0.18;
        const SHARED_WEIGHT: f64 = 1.27;
        const PERSONAL: f64 = 4.95;
        const SHORT_WEIGHT: f64 = -29.1;
        if self.traits.worldly {
            return Some(0.0);
        }
        let evidence = NEED_WEIGHT
            + WORTH_WEIGHT * worth
            + SHARED_WEIGHT * shared.min(4) as f64
            + if self.traits.personal { PERSONAL } else { 0.0 }
            + SHORT_WEIGHT / self.terms.len().max(3) as f64;
        self.traits.writes.then(|| round(logistic(evidence)))
    }

    /// Tells whether it asks for an action.
    pub(crate) fn is_command(&self) -> bool {
        self.traits.command
    }

    /// Tells whether it has any word that could match a memory.
    pub(crate) fn says_something(&self) -> bool {
        !self.terms.is_empty()
    }

    /// Returns how many of its words are rare.
    pub(crate) fn rare_words(&self) -> usize {
        self.terms.iter().filter(|term| term.weight >= 0.3).count()
    }

    pub(crate) fn language(&self) -> Language {
        self.language
    }

    /// Weighs the evidence for a text.
    pub(crate) fn weigh(&self, text: &str, about: MemoryTraits, known: &mut AnalysedMemories) -> Weight {
        let (traits, other) = (self.traits, known.of(text, self.language));
        let (mut all, mut hard, mut soft, mut definite, mut any, mut own) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0f32);
        let (mut strongest, mut subject, mut usual) = (0.0f32, 0.0f32, 1.0f32);
        let (mut names, mut names_shared) = (0.0, 0.0);
        let mut shared: Vec<String> = Vec::new();
        for term in &self.terms {
            let Term { weight, .. } = *term;
            let at =
                other.words.iter().position(|word| word.stem == term.stem || term.also.contains(&word.stem));
            all += weight;
            names += f32::from(u8::from(term.name));
            let Some(at) = at else {
                soft += weight * other.nearest(&term.vector);
                continue;
            };
            soft += weight;
            hard += weight;
            names_shared += f32::from(u8::from(term.name));
            strongest = strongest.max(weight);
            // A frequent name is no common word: it is frequent because it matters.
            usual = usual.min(if term.own { term.usual / 2.0 } else { term.usual });
            if at < SUBJECT_WORDS || other.called == Some(at) {
                subject = subject.max(weight);
            }
            // A name that several memories have belongs to the user's world.
            if term.definite || is_identifier(&term.shown) || (term.name && term.here > 2) {
                definite += weight;
            }
            any += if term.any { weight } else { 0.0 };
            own = own.max(if term.own { weight } else { 0.0 });
            if !shared.contains(&term.shown) {
                shared.push(term.shown.clone());
            }
        }
        let share = |part: f32, whole: f32| f64::from(if whole > 0.0 { part / whole } else { 0.0 });
        let flag = |is: bool| f64::from(u8::from(is));
        let similarity = self.vector.dot(&other.vector);
        let impersonal = !traits.personal && !traits.command;
        let covered = share(soft, all);
        let values = [
            share(hard, all),
            covered,
            share(hard, other.weight),
            f64::from(similarity),
            f64::from(strongest),
            shared.len().min(4) as f64 / 4.0,
            f64::from(if shared.is_empty() { 0.0 } else { usual }),
            share(names_shared, names),
            f64::from((names - names_shared) / 3.0).min(1.0),
            f64::from(subject),
            share(any, hard) * flag(impersonal),
            flag(traits.personal),
            flag(traits.recalls),
            flag(traits.general && !traits.personal && own == 0.0),
            flag(impersonal && !traits.recalls && definite == 0.0 && own == 0.0),
            f64::from(own),
            flag(traits.tells),
            flag(traits.pointing && (about.gate || !about.behavioral)),
            flag(traits.command && about.behavioral),
            flag(about.spoken),
            flag(self.fields & other.fields != 0),
        ];
        let worth = BIAS + values.iter().zip(PARTS).map(|(value, (_, weight))| value * weight).sum::<f64>();
        let parts =
            values.iter().zip(PARTS).map(|(value, (part, _))| Evidence { part, value: round(*value) });
        let (parts, score) = (parts.collect(), round(logistic(worth)));
        Weight { parts, worth, score, covered, shared, similarity }
    }
}

fn round(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

/// Memories that this turn has analysed. Several contributors weigh the same ones.
#[derive(Default)]
pub(crate) struct AnalysedMemories(HashMap<String, MemoryAnalysis>);

struct MemoryAnalysis {
    words: Vec<Word>,
    /// The weight of all words.
    weight: f32,
    vector: Vector,
    fields: u8,
    /// The position of the word that is introduced as a name: `called kestrel`.
    called: Option<usize>,
}

struct Word {
    stem: String,
    vector: Vector,
}

impl AnalysedMemories {
    fn of(&mut self, text: &str, language: Language) -> &MemoryAnalysis {
        self.0.entry(text.to_owned()).or_insert_with(|| MemoryAnalysis::of(text, language))
    }
}

impl MemoryAnalysis {
    fn of(text: &str, language: Language) -> MemoryAnalysis {
        let mut words: Vec<Word> = Vec::new();
        let (mut total, mut called, mut before) = (0.0, None, "");
        let is_foreign = foreign::is_foreign(text);
        for word in text.split_whitespace().map(bare) {
            if is_foreign {
                for sense in senses(word, language) {
                    total += sense.weight;
                    let stems = std::iter::once(sense.stem).chain(sense.also);
                    words.extend(stems.map(|stem| Word { stem, vector: sense.vector.clone() }));
                }
                continue;
            }
            if matches!(std::mem::replace(&mut before, word), "called" | "named") {
                called = Some(words.len());
            }
            for stem in analyse::words(word, language) {
                // Entries refer to the user with this word.
                if stem != "user"
                    && !says_nothing(&stem, language)
                    && words.iter().all(|known| known.stem != stem)
                {
                    total += builtin::rarity(word).max(0.05);
                    words.push(Word { stem, vector: builtin::embed_weighted(word, |_| 1.0) });
                }
            }
        }
        let mut spoken = said::words(text);
        // A rule about the user, not about the user's dog.
        let of_user = spoken.iter().any(|word| matches!(word.as_str(), "user" | "user's" | "i" | "i'm"))
            || is_foreign && is_foreign_personal(&spoken, text);
        add_translations(&mut spoken, text);
        let fields = if of_user { fields(&spoken, |(_, ruled)| ruled) } else { 0 };
        let vector = builtin::embed_weighted(text, |word| if word == "user" { 0.0 } else { 1.0 });
        MemoryAnalysis { words, weight: total, vector, fields, called }
    }

    /// Returns the similarity of the nearest word, 0 to nearly 1. Unrelated words have 0.1 to 0.2, forms of the same word
    /// more than 0.7.
    fn nearest(&self, other: &Vector) -> f32 {
        let best = self.words.iter().map(|word| word.vector.dot(other)).fold(0.0, f32::max);
        ((best - 0.2) / 0.5).clamp(0.0, 0.9)
    }
}

/// A word in another language.
struct Sense {
    stem: String,
    also: Vec<String>,
    weight: f32,
    vector: Vector,
}

/// Returns the words of a run of characters in another language, without those that are as common as `the`.
fn senses(run: &str, language: Language) -> Vec<Sense> {
    let mut senses = Vec::new();
    for part in foreign::parts(run) {
        if foreign::weight(&part) < MIN_FOREIGN_WEIGHT {
            continue;
        }
        let (mut also, mut weight) = (Vec::new(), 0.0f32);
        foreign::translate(&part, MAX_TRANSLATIONS, |english, _| {
            weight = weight.max(builtin::rarity(english));
            also.extend(
                analyse::words(english, language).into_iter().filter(|stem| !says_nothing(stem, language)),
            );
        });
        foreign::spell(&part, |name| also.push(name));
        let mut stems = analyse::words(&part, language).into_iter();
        let Some(stem) = stems.next() else { continue };
        also.extend(stems);
        let weight = if weight > 0.0 { weight } else { builtin::rarity(&part).max(0.05) };
        senses.push(Sense { stem, also, weight, vector: builtin::embed_foreign(&part) });
    }
    senses
}

/// Adds the English translations of a text in another language to its words.
fn add_translations(words: &mut Vec<String>, text: &str) {
    if foreign::is_foreign(text) {
        foreign::translate(text, MAX_TRANSLATIONS, |english, _| words.push(english.to_owned()));
    }
}

/// Adds the words of a run of characters in another language to those of a message.
fn add_foreign(terms: &mut Vec<Term>, run: &str, name: bool, before: &[String], language: Language) {
    // Nouns have a capital in German; only words that no table has are names.
    let name = is_identifier(run) || name && !foreign::knows(run);
    for Sense { stem, also, weight, vector } in senses(run, language) {
        if terms.iter().any(|known| known.stem == stem) {
            continue;
        }
        let weight = if run.chars().any(char::is_alphabetic) { weight } else { 0.1 };
        let near = |list: &List, reach: usize| before.iter().rev().take(reach).any(|word| list.has(word));
        terms.push(Term {
            stem,
            also,
            shown: run.to_owned(),
            weight: if name { weight.max(0.7) } else { weight },
            vector,
            name,
            definite: near(&OTHER_DEFINITE, 2),
            any: near(&OTHER_ANY, 2),
            own: false,
            here: 0,
            usual: 0.0,
        });
    }
}

/// Compiles the pattern of sentences that introduce a name, for these classes of letters.
fn introductions(upper: &str, letters: &str, lower: &str) -> Regex {
    let word = format!("{upper}[{letters}0-9_-]+");
    let kin = format!("(?:user's|my|our|his|her|their) (?:{lower}+ )?{lower}+,? ");
    // A single capitalised word after `is` may be anything: PostgreSQL, Friday.
    let forms = [
        format!("(?:called|named) ([{letters}0-9_-]+)"),
        format!("(?:is|are|by) ({word}) ({word})"),
        format!("{kin}({word})(?: ({word}))?"),
        format!("([{letters}][{letters}0-9_-]+) is (?:the user's|my|our)"),
    ];
    let boundary = if letters.starts_with('A') { r"(?-u:\b)" } else { r"\b" };
    let [called, is, kin, own] = forms;
    let pattern = format!("{boundary}{called}|{boundary}{is}|{boundary}{kin}|{boundary}{own}{boundary}");
    Regex::new(&pattern).expect("a constant pattern")
}

/// Returns the names that a text introduces: `a dog called Luna`, `the manager is Tomas Eriksen`, `her sister Ingrid`,
/// `Tidepool is the user's project`.
fn own_names(text: &str) -> impl Iterator<Item = &str> {
    // Compiled for ASCII, the pattern takes a tenth of the time, and most texts need no other.
    static ASCII: LazyLock<Regex> = LazyLock::new(|| introductions("[A-Z]", "A-Za-z", "[a-z]"));
    static OTHER: LazyLock<Regex> = LazyLock::new(|| introductions(r"\p{Lu}", r"\p{L}", r"\p{Ll}"));
    let names = if text.is_ascii() { &ASCII } else { &OTHER };
    names
        .captures_iter(text)
        .flat_map(|found| found.iter().skip(1).flatten().map(|name| name.as_str()).collect::<Vec<_>>())
}

/// Returns a word without punctuation and without a trailing `'s`.
fn bare(word: &str) -> &str {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    word.strip_suffix("'s").or(word.strip_suffix("’s")).unwrap_or(word)
}

fn says_nothing(stem: &str, language: Language) -> bool {
    language.is_common(stem) || EMPTY.has(stem)
}

/// Returns the weight of a word of a message, 0 to 1.
fn weight(word: &str, name: bool) -> f32 {
    // Numbers and days of the week carry little meaning.
    if is_time(word) || !word.chars().any(char::is_alphabetic) {
        return 0.1;
    }
    builtin::rarity(word).max(if name { 0.7 } else { 0.05 })
}

/// Tells whether the words before a noun make it specific: `the blue car`, `my car`, but not `a car`.
fn is_definite(before: &[String]) -> bool {
    let near = before.iter().rev().take(3).map(String::as_str);
    near.take_while(|word| !word.is_empty() && !PHRASE_ENDS.has(word)).any(|word| DEFINITE.has(word))
}

fn is_time(word: &str) -> bool {
    TIMES.has(&word.to_lowercase())
}

/// Tells whether a word is an identifier rather than a word of a language: `checkout_v3`, `osprey-r1`, `E1234`.
fn is_identifier(word: &str) -> bool {
    let letters = word.chars().any(char::is_alphabetic);
    letters && (word.contains(['_', '.', '/', '-', '@']) || word.chars().any(|c| c.is_ascii_digit()))
}

/// Tells whether a word is a name: a capital inside a sentence, several of them, or an identifier.
fn is_name(word: &str, first: bool) -> bool {
    let capitals = word.chars().filter(|c| c.is_uppercase()).count();
    let capital = word.starts_with(char::is_uppercase)
        && word != "I"
        && !word.starts_with("I'")
        && !word.starts_with("I’");
    is_identifier(word) || (capitals > 1 && capital) || (capital && !first)
}

impl Traits {
    fn of(words: &[String], prose: &str) -> Traits {
        let any = |phrases: &List| phrases.iter().any(|phrase| says(words, phrase));
        // Something that both can see: this file, the code above.
        let points = |word: &String| matches!(word.as_str(), "this" | "these" | "above" | "below");
        let last = words.last().map_or("", String::as_str);
        let asks_what_for =
            says(&words[..words.len().min(2)], "what does") && matches!(last, "do" | "mean" | "for");
        let command = is_command(words, prose) || any(&WANTS);
        Traits {
            personal: is_personal(words),
            recalls: any(&RECALLS),
            general: any(&GENERAL) || asks_what_for,
            command,
            tells: !command && !prose.contains('?'),
            pointing: words.iter().any(points),
            writes: words.iter().any(|word| WRITES.has(word)),
            worldly: any(&GENERAL) || any(&WORLDLY) || asks_what_for,
        }
    }
}

impl Traits {
    fn of_foreign(words: &[String], prose: &str) -> Traits {
        let any = |phrases: &List| phrases.iter().any(|phrase| says(words, phrase));
        let command =
            words.first().is_some_and(|first| OTHER_COMMANDS.has(first)) && !prose.trim_end().ends_with('?');
        Traits {
            personal: is_foreign_personal(words, prose),
            recalls: any(&OTHER_RECALLS),
            general: any(&OTHER_GENERAL),
            command,
            tells: !command && !prose.contains(['?', '？', '¿']),
            pointing: false,
            writes: false,
            worldly: any(&OTHER_GENERAL),
        }
    }
}

fn is_foreign_personal(words: &[String], text: &str) -> bool {
    words.iter().any(|word| OTHER_PERSONAL.has(word)) || PERSONAL_SIGNS.iter().any(|sign| text.contains(sign))
}

/// Tells whether a message is about its author or about both sides. `Tell me` is not.
fn is_personal(words: &[String]) -> bool {
    const TELL: &[&str] = &["tell", "show", "give", "find", "help", "let", "remind"];
    let told = |place: usize| place > 0 && TELL.contains(&words[place - 1].as_str());
    let is = |place: usize| PERSONAL.has(&words[place]);
    (0..words.len()).any(|place| is(place) && !(matches!(words[place].as_str(), "me" | "us") && told(place)))
}

/// Tells whether a text begins with an imperative verb.
fn is_command(words: &[String], prose: &str) -> bool {
    let polite = |word: &&String| matches!(word.as_str(), "please" | "now" | "then" | "and" | "so" | "ok");
    let first = words.iter().find(|word| !polite(word)).map_or("", String::as_str);
    COMMANDS.has(first) && !prose.trim_end().ends_with('?')
}

/// Tells whether a sentence only asks for an action. An earlier request of that kind carries no knowledge.
pub(super) fn is_request(sentence: &str) -> bool {
    let words = said::words(sentence);
    is_command(&words, sentence) || ["can you", "could you"].iter().any(|phrase| says(&words, phrase))
}

fn fields(words: &[String], side: impl Fn(&Field) -> &List) -> u8 {
    let says = |field: &Field| words.iter().any(|word| side(field).has(word));
    FIELDS.iter().enumerate().fold(0, |bits, (place, field)| bits | u8::from(says(field)) << place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_certain_one_or_any() {
        for (sentence, word, definite, any) in [
            ("feed the old dog", "dog", true, false),
            ("feed a dog", "dog", false, true),
            ("dogs bark", "dogs", false, false),
            ("my plan for a dog", "dog", false, true),
            ("where is our staging server", "server", true, false),
        ] {
            let message = Message::new(sentence, Language::default());
            let term = message.terms.iter().find(|term| term.shown == word).unwrap();
            assert_eq!((term.definite, term.any), (definite, any), "{sentence}");
        }
    }

    #[test]
    fn names_are_told_from_words() {
        for (word, first, name) in [
            ("Luna", false, true),
            ("Luna", true, false),
            ("checkout_v3", false, true),
            ("NATS", true, true),
            ("I", false, false),
            ("I'm", false, false),
            ("dog", false, false),
        ] {
            assert_eq!(is_name(word, first), name, "{word}");
        }
    }

    #[test]
    fn a_message_in_another_language_is_weighed_by_its_translation() {
        let memory = "The dentist appointment is on Tuesday at Dr. Falk's practice.";
        let unrelated = "The staging server listens on port 7070.";
        for text in [
            "Wann ist mein Termin beim Zahnarzt?",
            "¿Cuándo es mi cita con el dentista?",
            "Quand est mon rendez-vous chez le dentiste ?",
            "我的牙医预约是什么时候？",
        ] {
            let message = Message::new(text, Language::default());
            assert!(message.traits.personal, "{text}");
            let weigh =
                |of: &str| message.weigh(of, MemoryTraits::default(), &mut AnalysedMemories::default());
            let (right, wrong) = (weigh(memory), weigh(unrelated));
            assert!(right.worth > wrong.worth + 1.0, "{text}: {} {}", right.worth, wrong.worth);
            assert!(!right.shared.is_empty() && wrong.shared.is_empty(), "{text}: {:?}", wrong.shared);
        }
    }

    #[test]
    fn small_talk_says_nothing() {
        for message in ["ok", "yes please", "thanks!", "no, that one", "", "…"] {
            assert!(Message::new(message, Language::default()).rare_words() == 0, "{message}");
        }
    }
}
