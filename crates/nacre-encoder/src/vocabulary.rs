//! The tokens of a text as the encoder reads them.
//!
//! Words are split as BERT's uncased models split them. Words of every script are read, and a word that the
//! vocabulary can't spell becomes `[UNK]`, because its position matters.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The maximum length of a word in characters. Longer ones can't be spelled: nobody types them.
pub const MAX_WORD_CHARS: usize = 100;

/// Tells whether a character inside a word is invisible: soft hyphen, joiners, byte order mark.
pub fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200c}' | '\u{200d}' | '\u{2060}' | '\u{feff}')
}

/// Tells whether a character is an ideograph: a word of its own, written without spaces.
pub fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
}

/// All tokens by number, and their order by name.
#[derive(Clone, Copy)]
pub(crate) struct Vocabulary<'a> {
    /// Where each name begins, and where the last one ends; u32.
    pub(crate) starts: &'a [[u8; 4]],
    /// The tokens in the order of their names; u32.
    pub(crate) order: &'a [[u8; 4]],
    pub(crate) names: &'a [u8],
}

/// The special tokens.
#[derive(Clone, Copy)]
pub(crate) struct Marks {
    pub(super) begin: u32,
    pub(super) end: u32,
    pub(super) unknown: u32,
}

impl<'a> Vocabulary<'a> {
    /// Returns the number of a token.
    pub(super) fn find(&self, name: &[u8]) -> Option<u32> {
        let at = self.order.binary_search_by(|token| self.name(u32::from_le_bytes(*token)).cmp(name)).ok()?;
        Some(u32::from_le_bytes(self.order[at]))
    }

    fn name(&self, token: u32) -> &'a [u8] {
        let at = |token: usize| self.starts.get(token).map_or(0, |start| u32::from_le_bytes(*start) as usize);
        self.names.get(at(token as usize)..at(token as usize + 1)).unwrap_or_default()
    }

    /// Returns the special tokens, if the vocabulary has all of them.
    pub(crate) fn marks(&self) -> Option<Marks> {
        let [begin, end, unknown] = [self.find(b"[CLS]"), self.find(b"[SEP]"), self.find(b"[UNK]")];
        Some(Marks { begin: begin?, end: end?, unknown: unknown? })
    }

    /// Returns the tokens of a text between `[CLS]` and `[SEP]`, at most `longest` in all. Words that `keep` rejects are left out; it
    /// gets the whole word in lower case and without accents.
    pub(crate) fn tokens(
        &self,
        text: &str,
        marks: Marks,
        longest: usize,
        mut keep: impl FnMut(&str) -> bool,
    ) -> Vec<u32> {
        let mut tokens = vec![marks.begin];
        words(text, |word| {
            let before = tokens.len();
            if keep(word) && self.spell(word, &mut tokens).is_none() {
                tokens.truncate(before);
                tokens.push(marks.unknown);
            }
            tokens.len() < longest
        });
        tokens.truncate(longest - 1);
        tokens.push(marks.end);
        tokens
    }

    /// Appends a word's longest known pieces from left to right. Returns `None` if they do not cover the word.
    fn spell(&self, word: &str, tokens: &mut Vec<u32>) -> Option<()> {
        if word.chars().count() > MAX_WORD_CHARS {
            return None;
        }
        let mut rest = word;
        while !rest.is_empty() {
            // The vocabulary writes this before a piece that continues a word.
            let lead = if rest.len() == word.len() { "" } else { "##" };
            let name = format!("{lead}{rest}");
            let mut ends = rest.char_indices().map(|(start, c)| start + c.len_utf8()).rev();
            let (token, end) =
                ends.find_map(|end| Some((self.find(&name.as_bytes()[..lead.len() + end])?, end)))?;
            tokens.push(token);
            rest = &rest[end..];
        }
        Some(())
    }
}

/// Passes the words and punctuation marks of a text, in lower case and without accents, to `take` until it stops.
fn words(text: &str, mut take: impl FnMut(&str) -> bool) {
    let mut word = String::new();
    let letters = text
        .chars()
        .flat_map(char::to_lowercase)
        .nfd()
        .filter(|c| !is_combining_mark(*c) && !is_invisible(*c));
    for c in letters {
        if c.is_alphanumeric() && !is_ideograph(c) {
            // Only as much is kept as shows that a word is too long.
            if word.len() <= 4 * MAX_WORD_CHARS {
                word.push(c);
            }
            continue;
        }
        if !word.is_empty() {
            if !take(&word) {
                return;
            }
            word.clear();
        }
        if !c.is_whitespace() && !c.is_control() && !take(c.encode_utf8(&mut [0; 4])) {
            return;
        }
    }
    if !word.is_empty() {
        take(&word);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NAMES: &[&str] = &[
        "[PAD]", "[UNK]", "[CLS]", "[SEP]", "dog", "em", "##bed", "##ding", "##s", ".", "straße", "狗", "€",
        "s", "é",
    ];

    /// Passes the names to `run` as they are in the model file.
    fn with<T>(run: impl FnOnce(Vocabulary<'_>) -> T) -> T {
        let mut starts = vec![0u32];
        let mut order: Vec<u32> = (0..).take(NAMES.len()).collect();
        order.sort_by_key(|token| NAMES[*token as usize].as_bytes());
        for name in NAMES {
            starts.push(starts.last().unwrap() + u32::try_from(name.len()).unwrap());
        }
        let bytes = |numbers: &[u32]| numbers.iter().map(|number| number.to_le_bytes()).collect::<Vec<_>>();
        run(Vocabulary { starts: &bytes(&starts), order: &bytes(&order), names: NAMES.concat().as_bytes() })
    }

    fn read(text: &str, longest: usize) -> Vec<&'static str> {
        with(|vocabulary| {
            let marks = vocabulary.marks().unwrap();
            let tokens = vocabulary.tokens(text, marks, longest, |_| true);
            tokens.into_iter().map(|token| NAMES[token as usize]).collect()
        })
    }

    #[test]
    fn words_are_cut_and_what_is_unknown_has_a_place() {
        for (text, expected) in [
            ("", &[][..]),
            ("Dog embedding dogs.", &["dog", "em", "##bed", "##ding", "dog", "##s", "."]),
            ("dogx DÖG s", &["[UNK]", "dog", "s"]),
            ("Straße 狗dog狗 €s 猫", &["straße", "狗", "dog", "狗", "€", "s", "[UNK]"]),
            ("e\u{301}", &["[UNK]"]),
            ("[CLS]", &["[UNK]", "[UNK]", "[UNK]"]),
            ("##s", &["[UNK]", "[UNK]", "s"]),
        ] {
            let found = read(text, 256);
            assert_eq!(found.first(), Some(&"[CLS]"));
            assert_eq!(found.last(), Some(&"[SEP]"));
            assert_eq!(&found[1..found.len() - 1], expected, "{text:?}");
        }
    }

    #[test]
    fn a_long_text_is_cut_before_the_last_mark() {
        assert_eq!(read(&"dog ".repeat(1000), 5), ["[CLS]", "dog", "dog", "dog", "[SEP]"]);
        assert_eq!(read("embedding", 4), ["[CLS]", "em", "##bed", "[SEP]"]);
        assert_eq!(read(&"s".repeat(100), 200)[1..101], [&["s"][..], &["##s"; 99]].concat());
        assert_eq!(read(&"s".repeat(101), 200), ["[CLS]", "[UNK]", "[SEP]"]);
        assert_eq!(read(&"s".repeat(1_000_000), 200), ["[CLS]", "[UNK]", "[SEP]"]);
    }

    #[test]
    fn a_word_not_wanted_is_left_out() {
        with(|vocabulary| {
            let marks = vocabulary.marks().unwrap();
            let tokens = vocabulary.tokens("Dog, embedding dog.", marks, 256, |word| word != "dog");
            assert_eq!(tokens, [2, 1, 5, 6, 7, 9, 3]);
        });
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "\\PC*|[dogsem狗ßé€ .]*", longest in 2..40usize) {
            let found = read(&text, longest);
            prop_assert!(found.len() >= 2 && found.len() <= longest);
        }
    }
}
