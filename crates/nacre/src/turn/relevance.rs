//! Whether something that is remembered helps with a message. Search finds what is nearest; this tells whether
//! the nearest is near enough to be put before the agent unasked, which is another question: most messages need
//! nothing.
//!
//! What speaks for and against is a sum of named parts, as in search. The weights were found on the tuning half
//! of `nacre bench inject` (docs/decisions/0018).
#![expect(clippy::cast_precision_loss, reason = "a few words")]

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::said;
use crate::embed::builtin::{self, Vector};
use crate::index::{Language, analyse};

/// A message, understood as far as it tells what it needs.
pub(crate) struct Message {
    pub(crate) prose: String,
    language: Language,
    terms: Vec<Term>,
    vector: Vector,
    traits: Traits,
}

/// A word that says what a message is about.
struct Term {
    stem: String,
    shown: String,
    weight: f32,
    vector: Vector,
    /// Written with a capital inside a sentence, or as an identifier.
    name: bool,
}

/// What kind of message it is.
#[derive(Clone, Copy, Debug, Default)]
struct Traits {
    /// Speaks of the user or of what both did.
    personal: bool,
    /// Asks for what was said or decided before.
    recalls: bool,
    /// Asks about the world at large.
    general: bool,
    /// Tells the agent to do something.
    command: bool,
}

/// Words that stand in messages about anything.
const EMPTY: &[&str] = &[
    "again", "already", "also", "another", "anyth", "ask", "best", "better", "call", "chang", "check", "come", "could",
    "day", "decid", "done", "easi", "else", "even", "everyth", "exampl", "explain", "find", "first", "fix", "get", "give",
    "go", "good", "got", "great", "happen", "help", "hi", "high", "keep", "kind", "know", "last", "let", "like", "list", "littl", "look", "lot", "made",
    "make", "mani", "may", "mean", "might", "much", "must", "name", "need", "never", "new", "next", "nice", "number", "ok", "okay", "one",
    "part", "pleas", "point", "put", "question", "realli", "said", "say", "see", "set", "show", "someth", "sorri", "still", "suggest", "sure", "take", "tell",
    "thank", "thing", "think", "time", "today", "told", "tri", "turn", "two", "use", "want", "way", "well", "went", "without", "word", "work", "write", "yes", "yesterday", "yet",
];

/// One piece of evidence.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "a name and a number")]
pub struct Evidence {
    pub part: &'static str,
    pub value: f64,
}

/// What speaks for a text.
#[derive(Clone, Debug)]
pub(crate) struct Weighed {
    pub(crate) parts: Vec<Evidence>,
    /// 0 to 1: how likely it helps.
    pub(crate) score: f64,
    /// 0 to 1: how much of the message it says, in its words or nearly.
    pub(crate) covered: f64,
    /// The words that both have.
    pub(crate) shared: Vec<String>,
    pub(crate) similarity: f32,
}

/// What is known of a remembered text besides its words.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct About {
    /// Steers the agent: a preference, an instruction, a correction, a lesson.
    pub(crate) behavioral: bool,
    /// Was said in a conversation.
    pub(crate) spoken: bool,
    pub(crate) document: bool,
    /// A rule that stands before an action.
    pub(crate) gate: bool,
    pub(crate) lesson: bool,
}

impl Message {
    pub(crate) fn new(prose: &str, language: Language) -> Message {
        let words = said::words(prose);
        let mut terms: Vec<Term> = Vec::new();
        for sentence in said::sentences(prose) {
            for (place, word) in sentence.split_whitespace().enumerate() {
                let shown = word.trim_matches(|c: char| !c.is_alphanumeric());
                let bare = shown.strip_suffix("'s").or(shown.strip_suffix("’s")).unwrap_or(shown);
                let name = is_name(bare, place == 0);
                for stem in analyse::words(bare, language) {
                    let empty = language.is_common(&stem) || EMPTY.contains(&stem.as_str());
                    if empty || terms.iter().any(|known| known.stem == stem) {
                        continue;
                    }
                    let weight = builtin::rarity(bare).max(if name { 0.7 } else { 0.05 });
                    let vector = builtin::embed_weighted(bare, |_| 1.0);
                    terms.push(Term { stem, shown: bare.to_owned(), weight, vector, name });
                }
            }
        }
        terms.truncate(64);
        let traits = traits(&words, prose);
        let vector = builtin::embed_weighted(prose, |_| 1.0);
        Message { prose: prose.to_owned(), language, terms, vector, traits }
    }

    /// Tells whether there is anything in it that could be about something remembered.
    pub(crate) fn says_something(&self) -> bool {
        !self.terms.is_empty()
    }

    /// How many of its words are not common ones.
    pub(crate) fn rare_words(&self) -> usize {
        self.terms.iter().filter(|term| term.weight >= 0.3).count()
    }

    pub(crate) fn language(&self) -> Language {
        self.language
    }

    /// Weighs what speaks for a text.
    pub(crate) fn weigh(&self, text: &str, about: About, known: &mut Known) -> Weighed {
        let other = known.of(text, self.language);
        let total: f32 = self.terms.iter().map(|term| term.weight).sum();
        let (mut hard, mut soft, mut rarest, mut names) = (0.0f32, 0.0f32, (0.0f32, 0.0f32), (0.0f32, 0.0f32));
        let mut shared = Vec::new();
        let mut shared_weight = 0.0f32;
        let mut strongest = 0.0f32;
        for term in &self.terms {
            let has = other.words.iter().any(|(stem, _, _)| *stem == term.stem);
            let near = if has {
                1.0
            } else {
                let best = other.words.iter().map(|(_, vector, _)| vector.dot(&term.vector)).fold(0.0, f32::max);
                ((best - 0.3) / 0.5).clamp(0.0, 0.9)
            };
            soft += term.weight * near;
            if has {
                hard += term.weight;
                shared_weight += term.weight;
                strongest = strongest.max(term.weight);
                shared.push(term.shown.clone());
            }
            if term.weight > rarest.0 {
                rarest = (term.weight, near);
            }
            if term.name {
                names = (names.0 + 1.0, names.1 + f32::from(u8::from(has)));
            }
        }
        shared.dedup();
        let other_total: f32 = other.words.iter().map(|(_, _, weight)| weight).sum();
        let cosine = self.vector.dot(&other.vector);
        let share = |part: f32, whole: f32| f64::from(if whole > 0.0 { part / whole } else { 0.0 });
        let flag = |is: bool| f64::from(u8::from(is));
        let values = [
            ("covered", share(hard, total)),
            ("covered in meaning", share(soft, total)),
            ("about it", share(shared_weight, other_total)),
            ("similarity", f64::from(cosine)),
            ("strongest word", f64::from(strongest)),
            ("rarest word", f64::from(rarest.1)),
            ("shared words", f64::from(u8::try_from(shared.len().min(4)).unwrap_or(4)) / 4.0),
            ("names", share(names.1, names.0)),
            ("other names", share(names.0 - names.1, 3.0).min(1.0)),
            ("personal", flag(self.traits.personal)),
            ("recalls", flag(self.traits.recalls)),
            ("general", flag(self.traits.general)),
            ("command", flag(self.traits.command)),
            ("behavioral", flag(about.behavioral)),
            ("command to behave", flag(self.traits.command && about.behavioral)),
            ("spoken", flag(about.spoken)),
            ("document", flag(about.document)),
            ("lesson", flag(about.lesson)),
            ("gate", flag(about.gate)),
            ("gate unasked", flag(about.gate && !self.traits.command)),
            ("short", 1.0 / (1.0 + self.terms.len() as f64)),
        ];
        let sum: f64 = BIAS + values.iter().zip(WEIGHTS).map(|((_, value), weight)| value * weight).sum::<f64>();
        let parts = values.iter().map(|(part, value)| Evidence { part, value: round(*value) }).collect();
        Weighed { parts, score: round(1.0 / (1.0 + (-sum).exp())), covered: values[1].1, shared, similarity: cosine }
    }
}

const BIAS: f64 = -3.0;
const WEIGHTS: [f64; 21] = [
    2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0, 0.5, 0.5, -1.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0,
];

fn round(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

/// Remembered texts as this turn has read them: several contributors look at the same.
#[derive(Default)]
pub(crate) struct Known(HashMap<String, Read>);

struct Read {
    /// Stem, vector and weight of each word that says something.
    words: Vec<(String, Vector, f32)>,
    vector: Vector,
}

impl Known {
    fn of(&mut self, text: &str, language: Language) -> &Read {
        self.0.entry(text.to_owned()).or_insert_with(|| {
            let mut words: Vec<(String, Vector, f32)> = Vec::new();
            for word in text.split_whitespace() {
                let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
                let bare = bare.strip_suffix("'s").or(bare.strip_suffix("’s")).unwrap_or(bare);
                for stem in analyse::words(bare, language) {
                    let empty = language.is_common(&stem) || EMPTY.contains(&stem.as_str()) || stem == "user";
                    if !empty && words.iter().all(|(known, _, _)| *known != stem) {
                        let vector = builtin::embed_weighted(bare, |_| 1.0);
                        words.push((stem, vector, builtin::rarity(bare).max(0.05)));
                    }
                }
            }
            Read { words, vector: builtin::embed_weighted(text, |word| if word == "user" { 0.0 } else { 1.0 }) }
        })
    }
}

/// Tells whether a word is a name: a capital inside a sentence, or an identifier.
fn is_name(word: &str, first: bool) -> bool {
    let capitals = word.chars().filter(|c| c.is_uppercase()).count();
    let digits = word.chars().any(|c| c.is_ascii_digit()) && word.chars().any(char::is_alphabetic);
    let joined = word.contains(['_', '.', '/', '-']) && word.chars().any(char::is_alphabetic);
    let capital = word.chars().next().is_some_and(char::is_uppercase) && word != "I" && !word.starts_with("I'");
    digits || joined || (capitals > 1 && word.chars().count() > 1) || (capital && !first)
}

fn traits(words: &[String], prose: &str) -> Traits {
    const PERSONAL: &[&str] = &[
        "i", "i'm", "i've", "i'd", "i'll", "me", "my", "mine", "myself", "we", "we're", "we've", "we'd", "we'll", "us", "our", "ours",
    ];
    const RECALLS: &[&str] = &[
        "did we", "did i", "did you", "we said", "you said", "you told", "i told", "we decided", "did we decide", "we agreed", "again",
        "remember", "remind me", "last time", "as before", "same as", "we chose", "we wanted", "you suggested", "you recommended",
        "your suggestion", "your recommendation", "we were", "was i", "were we", "earlier",
    ];
    const GENERAL: &[&str] = &[
        "in general", "what is a", "what is an", "what are", "what does * do", "what does * mean", "what does * stand", "explain",
        "how does", "how do people", "how is * made", "the difference between", "compare", "the history of", "tell me about", "who invented",
        "who wrote", "who won", "which countries", "how do i", "how do you", "write a poem", "joke",
    ];
    const COMMANDS: &[&str] = &[
        "add", "book", "build", "check", "commit", "convert", "create", "delete", "deploy", "draft", "draw", "explain", "find", "fix",
        "force", "format", "generate", "give", "help", "implement", "install", "let's", "list", "look", "make", "merge", "move", "open", "order", "pay", "plan",
        "please", "push", "recommend", "refactor", "remove", "rename", "restart", "review", "rewrite", "run", "send", "set",
        "show", "sort", "suggest", "summarise", "summarize", "tell", "test", "transfer", "translate", "update", "write",
    ];
    let any = |phrases: &[&str]| phrases.iter().any(|phrase| said::says(words, phrase));
    let first = words.first().map_or("", String::as_str);
    Traits {
        personal: words.iter().any(|word| PERSONAL.contains(&word.as_str())),
        recalls: any(RECALLS),
        general: any(GENERAL),
        command: COMMANDS.contains(&first) || said::says(words, "can you") || said::says(words, "could you") || (!prose.contains('?') && words.iter().any(|word| word == "please")),
    }
}
