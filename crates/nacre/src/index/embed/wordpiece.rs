//! WordPiece like BERT uncased: words in lower case and without accents, split from the left into the longest
//! pieces that the vocabulary contains.
//!
//! The vocabulary is ASCII. A word that does not fold to ASCII is left out, as is one that is too long or
//! can't be covered by pieces. `training/wordpiece.py` is the reference implementation, and a test compares
//! the two on `training/check_vectors.json`.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::builtin;

pub(crate) use nacre_encoder::{MAX_WORD_CHARS, is_ideograph, is_invisible};

/// Passes the tokens of a text to `take`, in order: the whole word that contains it, lower-cased and folded,
/// and the token's row in the model.
pub(crate) fn tokens(text: &str, take: impl FnMut(&str, u32)) {
    if text.is_ascii() { split(text.as_bytes(), take) } else { split(&fold(text), take) }
}

/// Represents a non-ASCII letter in a folded text.
const NON_ASCII: u8 = 0xff;

/// Returns a text without case and accents, one byte per character.
fn fold(text: &str) -> Vec<u8> {
    text.chars()
        .flat_map(char::to_lowercase)
        .nfd()
        .filter(|c| !is_combining_mark(*c) && !is_invisible(*c))
        .map(|c| match u8::try_from(c) {
            Ok(byte) if byte.is_ascii() => byte,
            _ if c.is_alphanumeric() && !is_ideograph(c) => NON_ASCII,
            // A symbol or an ideograph is a word without a row: it only separates its neighbours.
            _ => b' ',
        })
        .collect()
}

fn split(text: &[u8], mut take: impl FnMut(&str, u32)) {
    let mut word = Word { bytes: [0; MAX_WORD_CHARS], len: 0, rows: [0; MAX_WORD_CHARS] };
    for &byte in text {
        match KINDS[usize::from(byte)] {
            Kind::Letter => word.push(byte.to_ascii_lowercase()),
            Kind::Foreign => word.spoil(),
            Kind::Space => word.end(&mut take),
            Kind::Sign => {
                word.end(&mut take);
                word.push(byte);
                word.end(&mut take);
            }
        }
    }
    word.end(&mut take);
}

#[derive(Clone, Copy)]
enum Kind {
    /// A letter or digit: part of a word.
    Letter,
    /// A letter without a row: its word is left out.
    Foreign,
    /// A word of its own.
    Sign,
    /// Between words: white space and control characters.
    Space,
}

static KINDS: [Kind; 256] = {
    let mut kinds = [Kind::Foreign; 256];
    let mut byte = 0;
    while byte < 128u8 {
        kinds[byte as usize] = match byte {
            _ if byte.is_ascii_alphanumeric() => Kind::Letter,
            _ if byte.is_ascii_punctuation() => Kind::Sign,
            _ => Kind::Space,
        };
        byte += 1;
    }
    kinds
};

/// The word being read.
struct Word {
    bytes: [u8; MAX_WORD_CHARS],
    /// Above `MAX_WORD_CHARS` for a word that will be left out.
    len: usize,
    /// A buffer for its pieces.
    rows: [u32; MAX_WORD_CHARS],
}

impl Word {
    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
        }
        self.len += 1;
    }

    fn spoil(&mut self) {
        self.len = MAX_WORD_CHARS + 1;
    }

    /// Emits the pieces of the word, and starts the next word.
    fn end(&mut self, take: &mut impl FnMut(&str, u32)) {
        if let Some(word @ [_, ..]) = self.bytes.get(..self.len) {
            let word = str::from_utf8(word).expect("only ASCII was pushed");
            for &row in pieces(word.as_bytes(), &mut self.rows) {
                take(word, row);
            }
        }
        self.len = 0;
    }
}

/// The vocabulary's prefix of a piece that continues a word.
const CONTINUATION_PREFIX: &[u8] = b"##";

/// Returns the rows of a word's longest known pieces from left to right, or none if they can't cover it.
fn pieces<'a>(word: &[u8], rows: &'a mut [u32; MAX_WORD_CHARS]) -> &'a [u32] {
    let (mut rest, mut count) = (word, 0);
    while !rest.is_empty() {
        let lead = if count == 0 { &[] } else { CONTINUATION_PREFIX };
        let Some((row, len)) = longest(lead, rest) else { return &[] };
        rows[count] = row;
        count += 1;
        rest = &rest[len..];
    }
    &rows[..count]
}

/// Returns the row and the length of the longest known piece at the start of `rest`.
fn longest(lead: &[u8], rest: &[u8]) -> Option<(u32, usize)> {
    // One pass hashes every prefix. Most words are found by the first lookup, of the whole word.
    let mut hashes = [0; builtin::MAX_TOKEN_BYTES];
    let mut hash = builtin::hash(builtin::HASH_START, lead);
    for (place, byte) in hashes.iter_mut().zip(rest) {
        hash = builtin::hash(hash, std::slice::from_ref(byte));
        *place = hash;
    }
    let most = rest.len().min(builtin::MAX_TOKEN_BYTES - lead.len());
    (1..=most).rev().find_map(|len| Some((builtin::find(hashes[len - 1], lead, &rest[..len])?, len)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &[(&str, &str)]) {
        let mut found = Vec::new();
        tokens(text, |word, row| found.push((word.to_owned(), builtin::token(row).to_owned())));
        let expected: Vec<_> =
            expected.iter().map(|(word, token)| ((*word).into(), (*token).into())).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn words_are_cut_into_the_longest_pieces() {
        check("", &[]);
        check(" \t\r\n\0\x7f", &[]);
        check("The DOG", &[("the", "the"), ("dog", "dog")]);
        check("don't", &[("don", "don"), ("'", "'"), ("t", "t")]);
        check("a_b", &[("a", "a"), ("_", "_"), ("b", "b")]);
        check("embedding", &[("embedding", "em"), ("embedding", "##bed"), ("embedding", "##ding")]);
        // Accents, as one character or two, and punctuation next to words.
        check("Café Cafe\u{301}", &[("cafe", "cafe"), ("cafe", "cafe")]);
        check("“café”—€50…", &[("cafe", "cafe"), ("50", "50")]);
        check("co\u{ad}operate", &[("cooperate", "cooperate")]);
        // A letter that does not fold to ASCII drops its word, but not the neighbours.
        check("Straße dog", &[("dog", "dog")]);
        check("狗dog狗 собака", &[("dog", "dog")]);
        check(
            "[CLS] ##ing",
            &[("[", "["), ("cls", "cl"), ("cls", "##s"), ("]", "]"), ("#", "#"), ("#", "#"), ("ing", "ing")],
        );
    }

    #[test]
    fn a_word_may_have_a_hundred_characters() {
        let count = |text: &str| {
            let mut count = 0;
            tokens(text, |_, _| count += 1);
            count
        };
        assert!(count(&"a".repeat(100)) > 0);
        assert!(count(&"á".repeat(100)) > 0);
        assert_eq!(count(&"a".repeat(101)), 0);
        assert_eq!(count(&"á".repeat(101)), 0);
        assert_eq!(count(&"9f".repeat(5000)), 0);
    }

    proptest! {
        #[test]
        fn the_pieces_of_a_word_make_the_word(text in "\\PC*|[a-zA-Z0-9 .é]*") {
            let (mut whole, mut joined) = (String::new(), String::new());
            tokens(&text, |word, row| {
                let token = builtin::token(row);
                match token.strip_prefix("##") {
                    Some(piece) => joined += piece,
                    None => {
                        whole += word;
                        joined += token;
                    }
                }
            });
            prop_assert_eq!(whole, joined);
        }
    }
}
