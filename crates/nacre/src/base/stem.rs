//! Stems of words. A text repeats its words, and one search reads the words of many texts, so each thread keeps the stems that it
//! made last.

use std::cell::RefCell;

use foldhash::HashMap;
use rust_stemmers::{Algorithm, Stemmer};

/// The number of stems that a thread keeps: the words of everyday texts, in less than a megabyte.
const MAX_CACHED: usize = 8_192;
/// The length of the longest word whose stem is kept, in bytes.
const MAX_CACHED_BYTES: usize = 14;

thread_local! {
    static STEMS: RefCell<HashMap<u128, Box<str>>> = RefCell::default();
}

/// Returns the stem of a word in lower case.
pub(crate) fn stem(algorithm: Algorithm, word: &str) -> String {
    let make = || Stemmer::create(algorithm).stem(word).into_owned();
    let Some(key) = key(algorithm, word) else { return make() };
    STEMS.with_borrow_mut(|stems| {
        if let Some(stem) = stems.get(&key) {
            return String::from(stem.as_ref());
        }
        if stems.len() >= MAX_CACHED {
            stems.clear();
        }
        let stem = make();
        stems.insert(key, stem.as_str().into());
        stem
    })
}

/// Packs a word, its length and the algorithm into one number, so that a lookup follows no pointer.
fn key(algorithm: Algorithm, word: &str) -> Option<u128> {
    let mut bytes = [0; MAX_CACHED_BYTES + 2];
    bytes[..MAX_CACHED_BYTES].get_mut(..word.len())?.copy_from_slice(word.as_bytes());
    bytes[MAX_CACHED_BYTES] = u8::try_from(word.len()).ok()?;
    bytes[MAX_CACHED_BYTES + 1] = algorithm as u8;
    Some(u128::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_stem_is_the_stem_of_its_word_and_language() {
        let words = ["running", "runnings", "", "a", "internationalization", "häuser", "plus\0"];
        for _ in 0..2 {
            for algorithm in [Algorithm::English, Algorithm::German, Algorithm::French] {
                for word in words {
                    assert_eq!(stem(algorithm, word), Stemmer::create(algorithm).stem(word), "{word:?}");
                }
            }
        }
    }

    #[test]
    fn the_stems_that_are_kept_have_bounds() {
        (0..2 * MAX_CACHED).for_each(|number| drop(stem(Algorithm::English, &format!("word{number}"))));
        assert!(STEMS.with_borrow(HashMap::len) <= MAX_CACHED);
    }
}
