//! The properties of a passage that ranking needs besides its words: who said it, when, in which session, and
//! what kind of sentence it is. They are derived from the text once, when it is indexed, and packed into 16
//! bytes.

use std::cell::LazyCell;
use std::sync::LazyLock;

use foldhash::HashMap;
use regex::Regex;

use super::passage::{Passage, Standing};
use crate::base::Time;
use crate::base::words::{self, List, begins};

/// The size of a packed mark, in bytes.
pub(crate) const MARK_BYTES: usize = 16;

/// One passage's mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The number of its session, or 0.
    pub(crate) session: u32,
    /// Its time, in minutes since 1970.
    pub(crate) minute: i32,
    /// The hash of its author's name, or 0 if there is none; for an entry, its [`Standing`].
    pub(crate) author: u32,
    pub(crate) flags: u16,
    /// The number of its words.
    pub(crate) words: u16,
}

/// The bits of `flags`.
pub(crate) mod flag {
    pub(crate) const ENTRY: u16 = 1;
    pub(crate) const MESSAGE: u16 = 1 << 1;
    pub(crate) const CHUNK: u16 = 1 << 2;
    /// Current: neither superseded nor archived.
    pub(crate) const LIVE: u16 = 1 << 3;
    /// Said by the user of an assistant.
    pub(crate) const USER: u16 = 1 << 4;
    /// Said by an assistant.
    pub(crate) const ASSISTANT: u16 = 1 << 5;
    /// The first message of its session.
    pub(crate) const FIRST: u16 = 1 << 6;
    /// Ends with a question mark, so that the next message answers it.
    pub(crate) const ASKS: u16 = 1 << 7;
    /// The speaker talks about themselves.
    pub(crate) const FIRST_PERSON: u16 = 1 << 8;
    /// Mentions a time.
    pub(crate) const TIME: u16 = 1 << 9;
    /// Mentions a number.
    pub(crate) const NUMBER: u16 = 1 << 10;
    /// Contains a capitalised word inside a sentence.
    pub(crate) const NAME: u16 = 1 << 11;
    /// A standing instruction.
    pub(crate) const INSTRUCTION: u16 = 1 << 12;
    /// States a preference.
    pub(crate) const PREFERENCE: u16 = 1 << 13;
    /// Part of a document that has a date.
    pub(crate) const DATED: u16 = 1 << 14;
    /// A fact or a relation.
    pub(crate) const GRAPH: u16 = 1 << 15;
    /// An item or a task. The kind is encoded by the four kind bits together, because no bit is free.
    pub(crate) const ITEM: u16 = MESSAGE | GRAPH;
}

/// The kinds of passages that a search covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds(u16);

impl Kinds {
    /// Returns the index of a kind from its flags: the three lowest bits and the highest one.
    fn place(flags: u16) -> u16 {
        flags & (flag::ENTRY | flag::MESSAGE | flag::CHUNK) | (flags & flag::GRAPH) >> 12
    }

    pub(crate) fn add(&mut self, flags: u16) {
        self.0 |= 1 << Kinds::place(flags);
    }

    pub(crate) fn contain(self, mark: Mark) -> bool {
        self.0 >> Kinds::place(mark.flags) & 1 != 0
    }
}

impl Mark {
    /// Returns the standing of an entry.
    pub(crate) fn standing(self) -> Option<Standing> {
        self.is(flag::ENTRY).then(|| Standing::unpack(self.author))
    }

    pub(crate) fn set_standing(&mut self, standing: Standing) {
        self.author = standing.pack();
    }

    pub(crate) fn set_time(&mut self, at: Time) {
        self.minute = i32::try_from(at.as_millis().div_euclid(60_000)).unwrap_or(0);
    }

    /// Tells whether all of these bits are set.
    pub(crate) fn is(self, flags: u16) -> bool {
        self.flags & flags == flags
    }

    pub(crate) fn to_bytes(self) -> [u8; MARK_BYTES] {
        let mut bytes = [0; MARK_BYTES];
        bytes[..4].copy_from_slice(&self.session.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.minute.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.author.to_le_bytes());
        bytes[12..14].copy_from_slice(&self.flags.to_le_bytes());
        bytes[14..].copy_from_slice(&self.words.to_le_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8; MARK_BYTES]) -> Mark {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = *bytes;
        Mark {
            session: u32::from_le_bytes([a, b, c, d]),
            minute: i32::from_le_bytes([e, f, g, h]),
            author: u32::from_le_bytes([i, j, k, l]),
            flags: u16::from_le_bytes([m, n]),
            words: u16::from_le_bytes([o, p]),
        }
    }

    /// Derives the mark of a passage that has this many words with these hints.
    pub(crate) fn of(passage: &Passage, words: usize, hints: Hints) -> Mark {
        let mut flags = match passage.kind {
            "entry" => flag::ENTRY,
            "message" | "exchange" => flag::MESSAGE,
            "fact" | "relation" => flag::GRAPH,
            "item" | "task" => flag::ITEM,
            _ => flag::CHUNK,
        };
        let author = passage.author.as_deref().unwrap_or_default();
        let told = match author {
            "user" => flag::USER,
            "assistant" => flag::ASSISTANT,
            _ => 0,
        };
        flags |= told | sentence_flags(&passage.text, hints, told == flag::ASSISTANT);
        if passage.live {
            flags |= flag::LIVE;
        }
        if passage.place.is_some_and(|(_, seq)| seq == 0) {
            flags |= flag::FIRST;
        }
        let name = passage.reference.rsplit('/').next().unwrap_or_default();
        if passage.kind == "chunk" && crate::base::time::Time::in_name(name).is_some() {
            flags |= flag::DATED;
        }
        Mark {
            session: passage.place.map_or(0, |(session, _)| u32::try_from(session).unwrap_or(0)),
            minute: i32::try_from(passage.at.as_millis().div_euclid(60_000)).unwrap_or(0),
            author: match passage.standing {
                Some(standing) => standing.pack(),
                None if told == 0 => author_hash(author),
                None => 0,
            },
            flags,
            words: u16::try_from(words).unwrap_or(u16::MAX),
        }
    }
}

/// Returns the hash that identifies an author in marks; 0 for none.
pub(crate) fn author_hash(name: &str) -> u32 {
    let folded = super::analyse::fold(name);
    if name.trim().is_empty() {
        return 0;
    }
    let hash = blake3::hash(folded.as_bytes());
    u32::from_le_bytes(hash.as_bytes()[..4].try_into().expect("four bytes")).max(1)
}

/// Hints about the sentences of a text from its single words, as bits of [`flag`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hints {
    /// The flags that apply.
    certain: u16,
    /// The flags that may apply: the text has a word that they require.
    possible: u16,
}

impl std::ops::BitOrAssign for Hints {
    fn bitor_assign(&mut self, other: Hints) {
        self.certain |= other.certain;
        self.possible |= other.possible;
    }
}

/// Words that imply a flag by themselves.
static FLAG_WORDS: [(u16, List); 3] = [
    (flag::FIRST_PERSON, words::MARKS.list("first person")),
    (flag::NUMBER, words::MARKS.list("number")),
    (flag::TIME, words::MARKS.list("time")),
];

/// Words of which every phrase of the kind contains one. Only then is the phrase searched for.
static POSSIBLE: [(u16, List); 3] = [
    (flag::TIME, words::MARKS.list("possible time")),
    (flag::INSTRUCTION, words::MARKS.list("possible instruction")),
    (flag::PREFERENCE, words::MARKS.list("possible preference")),
];

impl Hints {
    /// Tells whether a text with these hints may have this flag.
    pub(crate) fn may_be(self, flag: u16) -> bool {
        self.possible & flag != 0
    }

    /// Returns the hints of a sentence in another language. Most of the phrases are German, Spanish and French.
    pub(crate) fn of_foreign(runs: &[&str]) -> Hints {
        static FIRST_PERSON: List = words::MESSAGES_OTHER.list("personal");
        static TIME: List = words::MARKS_OTHER.list("time");
        static INSTRUCTION: List = words::MARKS_OTHER.list("instruction");
        static PREFERENCE: List = words::MARKS_OTHER.list("preference");
        let lower = |run: &&str| run.to_lowercase().replace('’', "'");
        let words: Vec<String> = runs.iter().map(lower).collect();
        let bare = |word: &String| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
        let words: Vec<String> = words.iter().map(bare).filter(|word| !word.is_empty()).collect();
        let mut flags = 0;
        let mut add = |flag: u16, is: bool| flags |= if is { flag } else { 0 };
        add(flag::FIRST_PERSON, words.iter().any(|word| FIRST_PERSON.has(word)));
        add(flag::TIME, words.iter().any(|word| TIME.has(word)));
        add(flag::INSTRUCTION, INSTRUCTION.iter().any(|phrase| begins(&words, phrase)));
        let said = |phrase: &&str| (0..words.len()).any(|place| begins(&words[place..], phrase));
        add(flag::PREFERENCE, PREFERENCE.iter().any(said));
        Hints { certain: flags, possible: 0 }
    }

    /// Returns the hint that a run may be a name, if it begins with a capital.
    pub(crate) fn of_capital(run: &str) -> Hints {
        let possible = if run.starts_with(char::is_uppercase) { flag::NAME } else { 0 };
        Hints { certain: 0, possible }
    }

    /// Returns the hints of a run of characters without white space. The words are English.
    pub(crate) fn of(run: &str) -> Hints {
        let mut hints = Hints::of_capital(run);
        let lower = run.to_lowercase();
        for word in lower.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            if let Some(known) = HINTS.get(word) {
                hints |= *known;
            }
            if word.contains(|c: char| c.is_ascii_digit()) {
                hints.certain |= flag::NUMBER | if is_time(word) { flag::TIME } else { 0 };
            }
        }
        hints
    }
}

/// The hints of each word in the lists, so that a word is looked up once.
static HINTS: LazyLock<HashMap<&str, Hints>> = LazyLock::new(|| {
    let mut known: HashMap<&str, Hints> = HashMap::default();
    for (flag, words) in &FLAG_WORDS {
        words.iter().for_each(|word| known.entry(*word).or_default().certain |= flag);
    }
    for (flag, words) in &POSSIBLE {
        words.iter().for_each(|word| known.entry(*word).or_default().possible |= flag);
    }
    known
});

/// Tells whether a number is a year, a day of the month or an hour.
fn is_time(word: &str) -> bool {
    let letters = word.trim_start_matches(|c: char| c.is_ascii_digit());
    match word.len() - letters.len() {
        1 | 2 => matches!(letters, "am" | "pm" | "st" | "nd" | "rd" | "th"),
        4 => letters.is_empty(),
        _ => false,
    }
}

/// Returns the sentence flags of a text whose words gave these hints.
fn sentence_flags(text: &str, hints: Hints, by_assistant: bool) -> u16 {
    static TIME: LazyLock<Regex> = LazyLock::new(|| {
        ascii(
            r"\b(?:(?:last|next) (?:night|week|weekend|month|year|summer|winter|fall|spring|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|this (?:morning|week|weekend|month|year)|(?:few|two|three|four|couple of) (?:days|weeks|months|years))\b",
        )
    });
    static INSTRUCTION: LazyLock<Regex> = LazyLock::new(|| {
        ascii(
            r"^(?:please )?(?:always|never|from now on|whenever|going forward|every time)\b|\bwhen(?:ever)? i (?:ask|request|mention|bring up|talk)\b",
        )
    });
    static PREFERENCE: LazyLock<Regex> = LazyLock::new(|| {
        ascii(
            r"\bi(?:'d| would)? (?:[a-z]+ )?(?:prefer|rather)\b|\bi (?:don't|do not|never) (?:like|want|eat|use)\b|\brather than\b|\bmy favou?rite\b|\bi (?:really )?(?:love|enjoy|hate|dislike)\b",
        )
    });
    let mut flags = hints.certain;
    if by_assistant {
        flags &= !(flag::INSTRUCTION | flag::PREFERENCE);
    }
    // A picture's caption after the text is not part of the sentence.
    let said = text.split("[photo:").next().unwrap_or(text).trim_end();
    if said.ends_with(['?', '？']) {
        flags |= flag::ASKS;
    }
    let lower = LazyCell::new(|| text.to_lowercase().replace('’', "'"));
    let mut find = |flag: u16, found: &dyn Fn() -> bool| {
        if hints.may_be(flag) && flags & flag == 0 && found() {
            flags |= flag;
        }
    };
    find(flag::NAME, &|| has_name(text));
    find(flag::TIME, &|| TIME.is_match(&lower));
    if !by_assistant {
        find(flag::INSTRUCTION, &|| text.chars().count() < 400 && INSTRUCTION.is_match(&lower));
        find(flag::PREFERENCE, &|| PREFERENCE.is_match(&lower));
    }
    flags
}

/// Tells whether a text has a capitalised word that does not start a sentence.
fn has_name(text: &str) -> bool {
    let mut before = '.';
    let mut gap = false;
    for c in text.chars() {
        if gap && c.is_uppercase() && (before.is_lowercase() || matches!(before, ',' | ';')) {
            return true;
        }
        gap = c == ' ';
        if !gap {
            before = c;
        }
    }
    false
}

/// Compiles a pattern over ASCII letters. That is far quicker than one over Unicode, and the words are
/// English.
fn ascii(pattern: &str) -> Regex {
    Regex::new(&format!("(?-u){pattern}")).expect("a constant pattern")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn flags(text: &str, by_assistant: bool) -> u16 {
        let mut hints = Hints::default();
        text.split_whitespace().for_each(|run| hints |= Hints::of(run));
        sentence_flags(text, hints, by_assistant)
    }

    /// The reference implementation: patterns over the whole text.
    fn plain_flags(text: &str, by_assistant: bool) -> u16 {
        const PATTERNS: &[(u16, &str)] = &[
            (flag::FIRST_PERSON, r"\b(?:i|i'm|i've|my|me|we|our)\b"),
            (
                flag::NUMBER,
                r"[0-9]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|once|twice|hundred|thousand|half|couple|several)\b",
            ),
            (
                flag::TIME,
                r"\b(?:yesterday|today|tonight|tomorrow|ago|since|recently|just|january|february|march|april|june|july|august|september|october|november|december|(?:last|next) (?:night|week|weekend|month|year|summer|winter|fall|spring|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|this (?:morning|week|weekend|month|year)|[0-9]{1,2}(?:am|pm|st|nd|rd|th)|[0-9]{4}|(?:few|two|three|four|couple of) (?:days|weeks|months|years))\b",
            ),
            (
                flag::INSTRUCTION,
                r"^(?:please )?(?:always|never|from now on|whenever|going forward|every time)\b|\bwhen(?:ever)? i (?:ask|request|mention|bring up|talk)\b",
            ),
            (
                flag::PREFERENCE,
                r"\bi(?:'d| would)? (?:[a-z]+ )?(?:prefer|rather)\b|\bi (?:don't|do not|never) (?:like|want|eat|use)\b|\brather than\b|\bmy favou?rite\b|\bi (?:really )?(?:love|enjoy|hate|dislike)\b",
            ),
        ];
        static COMPILED: LazyLock<Vec<(u16, Regex)>> =
            LazyLock::new(|| PATTERNS.iter().map(|(flag, pattern)| (*flag, ascii(pattern))).collect());
        let lower = text.to_lowercase().replace('’', "'");
        let found = COMPILED.iter().filter(|(_, pattern)| pattern.is_match(&lower));
        let mut flags = found.fold(0, |flags, (flag, _)| flags | flag);
        if by_assistant {
            flags &= !(flag::INSTRUCTION | flag::PREFERENCE);
        }
        if text.chars().count() >= 400 {
            flags &= !flag::INSTRUCTION;
        }
        let said = text.split("[photo:").next().unwrap_or(text).trim_end();
        flags |= if said.ends_with('?') || said.ends_with('？') { flag::ASKS } else { 0 };
        flags | if has_name(text) { flag::NAME } else { 0 }
    }

    proptest! {
        #[test]
        fn marks_by_words_are_those_of_patterns_over_the_text(
            text in "((I'd|I’ve|i|we|my|me|please|always|never|from|now|on|whenever|when|going|forward|every|time|ask|\
                talk|bring|up|mention|request|really|love|hate|prefer|rather|than|would|don't|do|not|like|want|eat|use|\
                favourite|favorite|last|next|this|week|weekend|night|year|morning|couple|of|few|two|four|days|months|\
                Monday|march|June|just|ago|3pm|12th|1990|19901|a_1|it_i|é|K|İ|Lisbon|so|\\PC{1,3})[.,?!_é’]?[ \n\u{a0}]{1,2}){0,60}",
            by_assistant: bool,
        ) {
            prop_assert_eq!(flags(&text, by_assistant), plain_flags(&text, by_assistant));
        }
    }

    #[test]
    fn sentences_are_marked() {
        for (text, expected) in [
            ("Always write dates in full", flag::INSTRUCTION),
            ("I prefer tea", flag::PREFERENCE | flag::FIRST_PERSON),
            ("how are you?", flag::ASKS),
            ("it cost 30 euros", flag::NUMBER),
            ("we met in Lisbon yesterday", flag::NAME | flag::TIME | flag::FIRST_PERSON),
            ("Lisbon. Porto.", 0),
        ] {
            assert_eq!(flags(text, false), expected, "{text}");
        }
    }

    #[test]
    fn sentences_in_german_spanish_and_french_are_marked() {
        for (text, expected) in [
            ("Immer auf Deutsch antworten.", flag::INSTRUCTION),
            ("Ich mag keinen Kaffee.", flag::PREFERENCE | flag::FIRST_PERSON),
            ("Gestern war der Zug spät.", flag::TIME),
            ("A partir de ahora, escribe las fechas completas.", flag::INSTRUCTION),
            ("No me gusta el café.", flag::PREFERENCE | flag::FIRST_PERSON),
            ("Désormais, réponds en français.", flag::INSTRUCTION),
            ("Je préfère le thé.", flag::PREFERENCE | flag::FIRST_PERSON),
            ("Le chien dort dans la cuisine.", 0),
        ] {
            let runs: Vec<&str> = text.split_whitespace().collect();
            assert_eq!(Hints::of_foreign(&runs).certain, expected, "{text}");
        }
    }

    #[test]
    fn a_standing_packs_and_unpacks() {
        for score in [-15, -1, 0, 3, 15] {
            let standing = Standing::new(score, crate::base::time::Time::parse("2026-01-15").unwrap());
            assert_eq!(Standing::unpack(standing.pack()), standing);
        }
    }

    #[test]
    fn a_mark_packs_and_unpacks() {
        let mark = Mark { session: 7, minute: -3, author: u32::MAX, flags: 0x2fff, words: 99 };
        assert_eq!(Mark::from_bytes(&mark.to_bytes()), mark);
    }
}
