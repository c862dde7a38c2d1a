//! What ranking needs to know of a passage besides its words: who said it, when, in which session, and what
//! kind of sentence it is. Read off the text once, when it is indexed, and packed into 16 bytes.

use std::sync::LazyLock;

use regex::Regex;

use super::Passage;

/// The bytes of one packed mark.
pub(crate) const BYTES: usize = 16;

/// One passage's mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The number of its session; 0 where it has none.
    pub(crate) session: u32,
    /// When, in minutes since 1970.
    pub(crate) minute: i32,
    /// The hash of its author's name, 0 where nobody is named; of an entry, its [`Standing`].
    pub(crate) author: u32,
    pub(crate) flags: u16,
    /// How many words it has.
    pub(crate) words: u16,
}

/// The bits of `flags`.
pub(crate) mod flag {
    pub(crate) const ENTRY: u16 = 1;
    pub(crate) const MESSAGE: u16 = 1 << 1;
    pub(crate) const CHUNK: u16 = 1 << 2;
    /// Counts now: neither superseded nor archived.
    pub(crate) const LIVE: u16 = 1 << 3;
    /// Said by the user of an assistant.
    pub(crate) const USER: u16 = 1 << 4;
    /// Said by an assistant.
    pub(crate) const ASSISTANT: u16 = 1 << 5;
    /// The first of its session.
    pub(crate) const FIRST: u16 = 1 << 6;
    /// Ends with a question mark: what follows answers it.
    pub(crate) const ASKS: u16 = 1 << 7;
    /// Speaks of the speaker.
    pub(crate) const FIRST_PERSON: u16 = 1 << 8;
    /// Names a time.
    pub(crate) const TIME: u16 = 1 << 9;
    /// Names a number.
    pub(crate) const NUMBER: u16 = 1 << 10;
    /// Has a capitalised word inside a sentence.
    pub(crate) const NAME: u16 = 1 << 11;
    /// A standing instruction.
    pub(crate) const INSTRUCTION: u16 = 1 << 12;
    /// States a preference.
    pub(crate) const PREFERENCE: u16 = 1 << 13;
    /// Of a document with a date of its own.
    pub(crate) const DATED: u16 = 1 << 14;
}

/// What an entry is worth apart from what is asked: its score, and the day it was last confirmed or stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) score: i8,
    pub(crate) day: u32,
}

impl Standing {
    pub(crate) fn new(score: i64, confirmed: crate::Time) -> Standing {
        let day = confirmed.as_millis().div_euclid(86_400_000).clamp(0, (1 << 24) - 1);
        Standing {
            score: i8::try_from(score.clamp(-127, 127)).expect("clamped"),
            day: u32::try_from(day).expect("clamped"),
        }
    }

    fn pack(self) -> u32 {
        self.day << 8 | u32::from(self.score.cast_unsigned())
    }

    fn unpack(packed: u32) -> Standing {
        Standing { score: packed.to_le_bytes()[0].cast_signed(), day: packed >> 8 }
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

    pub(crate) fn set_time(&mut self, at: crate::Time) {
        self.minute = i32::try_from(at.as_millis().div_euclid(60_000)).unwrap_or(0);
    }

    /// Tells whether all of these bits are set.
    pub(crate) fn is(self, flags: u16) -> bool {
        self.flags & flags == flags
    }

    pub(crate) fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..4].copy_from_slice(&self.session.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.minute.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.author.to_le_bytes());
        bytes[12..14].copy_from_slice(&self.flags.to_le_bytes());
        bytes[14..].copy_from_slice(&self.words.to_le_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8; BYTES]) -> Mark {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = *bytes;
        Mark {
            session: u32::from_le_bytes([a, b, c, d]),
            minute: i32::from_le_bytes([e, f, g, h]),
            author: u32::from_le_bytes([i, j, k, l]),
            flags: u16::from_le_bytes([m, n]),
            words: u16::from_le_bytes([o, p]),
        }
    }

    /// Reads the mark off a passage that has this many words.
    pub(crate) fn of(passage: &Passage, words: usize) -> Mark {
        let mut flags = match passage.kind {
            "entry" => flag::ENTRY,
            "message" => flag::MESSAGE,
            _ => flag::CHUNK,
        };
        let author = passage.author.as_deref().unwrap_or_default();
        let told = match author {
            "user" => flag::USER,
            "assistant" => flag::ASSISTANT,
            _ => 0,
        };
        flags |= told | sentence_flags(&passage.text, told == flag::ASSISTANT);
        if passage.live {
            flags |= flag::LIVE;
        }
        if passage.place.is_some_and(|(_, seq)| seq == 0) {
            flags |= flag::FIRST;
        }
        let name = passage.reference.rsplit('/').next().unwrap_or_default();
        if passage.kind == "chunk" && crate::Time::in_name(name).is_some() {
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

/// The hash by which an author is known in marks; 0 for nobody.
pub(crate) fn author_hash(name: &str) -> u32 {
    let folded = super::analyse::fold(name);
    if name.trim().is_empty() {
        return 0;
    }
    let hash = blake3::hash(folded.as_bytes());
    u32::from_le_bytes(hash.as_bytes()[..4].try_into().expect("four bytes")).max(1)
}

/// What kind of sentences a text has. English patterns; other languages are ranked by the rest.
fn sentence_flags(text: &str, by_assistant: bool) -> u16 {
    static FIRST_PERSON: LazyLock<Regex> = LazyLock::new(|| ascii(r"\b(?:i|i'm|i've|my|me|we|our)\b"));
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
        ascii(
            r"[0-9]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|once|twice|hundred|thousand|half|couple|several)\b",
        )
    });
    static TIME: LazyLock<Regex> = LazyLock::new(|| {
        ascii(
            r"\b(?:yesterday|today|tonight|tomorrow|ago|since|recently|just|january|february|march|april|june|july|august|september|october|november|december|(?:last|next) (?:night|week|weekend|month|year|summer|winter|fall|spring|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|this (?:morning|week|weekend|month|year)|[0-9]{1,2}(?:am|pm|st|nd|rd|th)|[0-9]{4}|(?:few|two|three|four|couple of) (?:days|weeks|months|years))\b",
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
    let lower = text.to_lowercase().replace('’', "'");
    let mut flags = 0;
    let mut set = |holds: bool, flag: u16| flags |= if holds { flag } else { 0 };
    // A picture's caption behind the words is not part of the sentence.
    let said = text.split("[photo:").next().unwrap_or(text).trim_end();
    set(said.ends_with('?') || said.ends_with('？'), flag::ASKS);
    set(FIRST_PERSON.is_match(&lower), flag::FIRST_PERSON);
    set(NUMBER.is_match(&lower), flag::NUMBER);
    set(TIME.is_match(&lower), flag::TIME);
    set(has_name(text), flag::NAME);
    if !by_assistant {
        set(text.chars().count() < 400 && INSTRUCTION.is_match(&lower), flag::INSTRUCTION);
        set(PREFERENCE.is_match(&lower), flag::PREFERENCE);
    }
    flags
}

/// Finds a capitalised word that does not begin its sentence.
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

/// Compiles a pattern over ASCII letters: far quicker to build than one over Unicode, and these are English
/// words.
fn ascii(pattern: &str) -> Regex {
    Regex::new(&format!("(?-u){pattern}")).expect("a constant pattern")
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(sentence_flags(text, false), expected, "{text}");
        }
    }

    #[test]
    fn a_standing_packs_and_unpacks() {
        for score in [-15, -1, 0, 3, 15] {
            let standing = Standing::new(score, crate::Time::parse("2026-01-15").unwrap());
            assert_eq!(Standing::unpack(standing.pack()), standing);
        }
    }

    #[test]
    fn a_mark_packs_and_unpacks() {
        let mark = Mark { session: 7, minute: -3, author: u32::MAX, flags: 0x2fff, words: 99 };
        assert_eq!(Mark::from_bytes(&mark.to_bytes()), mark);
    }
}
