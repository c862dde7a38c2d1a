//! The built-in model: a vector for each token, compiled in and read in place.
//!
//! The vector of a text is the normalised sum of its tokens' rows. The rows include the weight of each token
//! (small for common ones), so that nothing but the rows is needed. `training/README.md` describes how they
//! are made.
//!
//! The file, little-endian: `NACREMB1`; four u32 (components of a row, rows, slots, bytes of the longest
//! token); six u32, the start of each section and the end of the last; zeros up to byte 64. The sections: the
//! rows, one i8 per component; a scale for each row, f32; the slots of a hash table, a row or `EMPTY_SLOT` as u32,
//! open addressing by FNV-1a of the token; the start of each token in the names, u32, and the end of the
//! last; the names.

use std::sync::LazyLock;

use super::{foreign, wordpiece};
use crate::index::scan;
pub(crate) use crate::index::scan::DIMS;

/// Identifies the model and the way it is used: vectors made under another version are recomputed. The number
/// counts code changes that change a vector; the rest is the beginning of the file's BLAKE3 hash.
pub(crate) const VERSION: &str = "builtin-2-27fdd941";

/// The embedding of a text: a unit vector, or zeros if the model knows none of its words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Vector(pub(crate) [f32; DIMS]);

impl Vector {
    /// Returns the cosine between two vectors.
    pub(crate) fn dot(&self, other: &Vector) -> f32 {
        self.0.iter().zip(&other.0).map(|(a, b)| a * b).sum()
    }

    /// Returns the unit vector in this direction.
    fn normalised(mut self) -> Vector {
        let length = self.dot(&self).sqrt();
        if length > 0.0 {
            self.0.iter_mut().for_each(|component| *component /= length);
        }
        self
    }
}

/// Returns the vector of a text whose tokens have these rows.
pub(crate) fn embed_rows(rows: &[u32]) -> Vector {
    if rows.iter().all(|row| foreign::word(*row).is_none()) {
        return Vector(scan::sum(rows.iter().map(|row| weighted(*row, 1.0)))).normalised();
    }
    let mut parts = Vec::with_capacity(4 * rows.len());
    rows.iter().for_each(|row| add(*row, 1.0, &mut parts));
    Vector(scan::sum(parts.iter().copied())).normalised()
}

/// Returns the vector of a text, with its words weighted by `weight`; 0 leaves a word out. `weight` is called
/// once for each piece of a word, with the whole word in lower case and without accents.
pub(crate) fn embed_weighted(text: &str, mut weight: impl FnMut(&str) -> f32) -> Vector {
    let mut rows = Vec::new();
    let take = |word: &str, row: u32| add(row, weight(word), &mut rows);
    if foreign::is_foreign(text) {
        foreign::tokens(text, take)
    } else {
        wordpiece::tokens(text, take)
    }
    Vector(scan::sum(rows.iter().copied())).normalised()
}

/// Passes the words that weigh in the vector of a text to `take`, as [`embed_weighted`] does.
pub(crate) fn each_word(text: &str, mut take: impl FnMut(&str)) {
    if foreign::is_foreign(text) {
        foreign::tokens(text, |word, _| take(word));
    } else {
        wordpiece::tokens(text, |word, _| take(word));
    }
}

/// Returns the vector of words of another language.
pub(crate) fn embed_foreign(words: &str) -> Vector {
    let mut rows = Vec::new();
    foreign::tokens(words, |_, row| add(row, 1.0, &mut rows));
    Vector(scan::sum(rows.iter().copied())).normalised()
}

/// Adds a token to those of a text: its row, or the rows that a word of another language consists of.
fn add(row: u32, weight: f32, parts: &mut Vec<scan::Weighted<'static>>) {
    match foreign::word(row) {
        None => parts.push(weighted(row, weight)),
        Some(word) => parts.extend(word.pairs().map(|(row, share)| weighted(row, weight * share))),
    }
}

/// Returns the rarity of a word, from 0 (the most common) to 1 (known only in pieces, or not at all). The
/// vocabulary is ordered by frequency.
pub(crate) fn rarity(word: &str) -> f32 {
    const STEEPNESS: f32 = 100.0;
    let (mut rank, mut pieces) = (0, 0);
    wordpiece::tokens(word, |_, row| (rank, pieces) = (rank.max(row), pieces + 1));
    if pieces != 1 {
        return 1.0;
    }
    (rank as f32 / STEEPNESS).ln_1p() / (ROWS.len() as f32 / STEEPNESS).ln_1p()
}

/// Returns the rank of an English word by frequency, if it is a token.
pub(super) fn rank(word: &str) -> Option<u32> {
    /// The first token that is a word.
    static FIRST: LazyLock<u32> = LazyLock::new(|| row_of("the").expect("an English vocabulary"));
    row_of(word)?.checked_sub(*FIRST)
}

fn row_of(word: &str) -> Option<u32> {
    find(hash(HASH_START, word.as_bytes()), &[], word.as_bytes())
}

/// Returns the token of a row if it is a whole word.
pub(super) fn whole_word(row: u32) -> Option<&'static str> {
    let word = str::from_utf8(name(row)).ok()?;
    (word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase())).then_some(word)
}

fn weighted(row: u32, weight: f32) -> scan::Weighted<'static> {
    (weight * f32::from_le_bytes(SCALES[row as usize]), &ROWS[row as usize])
}

/// Quantises a vector: returns its scale and integer components.
pub(crate) fn quantise(vector: &Vector) -> scan::Quantised {
    scan::quantise(&vector.0)
}

pub(crate) static FILE: &[u8] = include_bytes!("../../../model/builtin.bin");

static ROWS: &[[u8; DIMS]] = section(0).as_chunks().0;
static SCALES: &[[u8; 4]] = section(1).as_chunks().0;
static SLOTS: &[[u8; 4]] = section(2).as_chunks().0;
static STARTS: &[[u8; 4]] = section(3).as_chunks().0;
static NAMES: &[u8] = section(4);

const _: () = {
    assert!(matches!(FILE.first_chunk(), Some(b"NACREMB1")), "not a model file");
    assert!(header(0) == DIMS, "the model has another number of components");
    assert!(ROWS.len() == header(1) && SCALES.len() == ROWS.len() && STARTS.len() == ROWS.len() + 1);
    assert!(SLOTS.len() == header(2) && SLOTS.len().is_power_of_two() && SLOTS.len() > ROWS.len());
    assert!(header(9) == FILE.len(), "the model file is cut");
};

/// The number of rows. Higher numbers are words of other languages.
pub(super) const COUNT: u32 = {
    assert!(header(1) < 1 << 16, "the table of languages has two bytes for a row");
    #[expect(clippy::cast_possible_truncation, reason = "checked above")]
    {
        header(1) as u32
    }
};

/// The length of the longest token, in bytes.
pub(super) const MAX_TOKEN_BYTES: usize = header(3);

/// Marks an empty slot.
const EMPTY_SLOT: u32 = u32::MAX;

/// The initial value of [`hash`].
pub(super) const HASH_START: u32 = 0x811c_9dc5;

/// Continues an FNV-1a hash with more bytes.
pub(super) fn hash(start: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(start, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Returns the row of the token that consists of `lead` and `piece`, whose hash is given.
pub(super) fn find(hash: u32, lead: &[u8], piece: &[u8]) -> Option<u32> {
    let last = SLOTS.len() - 1;
    let mut slot = hash as usize & last;
    // There are more slots than rows, so the loop reaches an empty one.
    loop {
        let row = u32::from_le_bytes(SLOTS[slot]);
        if row == EMPTY_SLOT {
            return None;
        }
        let name = name(row);
        // Most names in a slot differ in length, which is quicker to see than to compare.
        if name.len() == lead.len() + piece.len() && name.ends_with(piece) && name.starts_with(lead) {
            return Some(row);
        }
        slot = (slot + 1) & last;
    }
}

fn name(row: u32) -> &'static [u8] {
    let place = |row: usize| u32::from_le_bytes(STARTS[row]) as usize;
    &NAMES[place(row as usize)..place(row as usize + 1)]
}

/// Returns the token of a row as the vocabulary writes it.
#[cfg(test)]
pub(super) fn token(row: u32) -> &'static str {
    str::from_utf8(name(row)).unwrap()
}

const fn section(number: usize) -> &'static [u8] {
    FILE.split_at(header(5 + number)).0.split_at(header(4 + number)).1
}

/// Returns one of the numbers after the magic bytes.
const fn header(number: usize) -> usize {
    let Some(bytes) = FILE.split_at(8 + 4 * number).1.first_chunk() else { panic!("the model file is cut") };
    u32::from_le_bytes(*bytes) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn embed(text: &str) -> Vector {
        embed_weighted(text, |_| 1.0)
    }

    #[test]
    fn the_file_is_the_one_named_and_not_too_large() {
        let hash = blake3::hash(FILE).to_hex();
        assert_eq!(VERSION, format!("builtin-2-{}", &hash[..8]));
        assert!(FILE.len() <= 8_000_000, "{} bytes", FILE.len());
    }

    #[test]
    fn every_token_is_found() {
        assert!((0..ROWS.len()).all(|row| {
            let name = name(u32::try_from(row).unwrap());
            let (lead, piece) =
                if name.starts_with(b"##") && name.len() > 2 { name.split_at(2) } else { (&[][..], name) };
            name.is_ascii()
                && name.len() <= MAX_TOKEN_BYTES
                && find(hash(HASH_START, name), lead, piece) == u32::try_from(row).ok()
        }));
        for unknown in ["[UNK]", "[unused1]", "nosuchtoken", "", "##"] {
            assert_eq!(
                find(hash(HASH_START, unknown.as_bytes()), &[], unknown.as_bytes()),
                None,
                "{unknown}"
            );
        }
    }

    #[derive(serde::Deserialize)]
    struct Check {
        text: String,
        tokens: Vec<String>,
        vector: Vec<f32>,
    }

    #[test]
    fn agrees_with_the_reference_in_python() {
        let checks: Vec<Check> =
            serde_json::from_str(include_str!("../../../../../training/check_vectors.json")).unwrap();
        assert!(checks.len() >= 12);
        for check in checks {
            let mut rows = Vec::new();
            wordpiece::tokens(&check.text, |_, row| rows.push(row));
            let tokens: Vec<&str> = rows.iter().map(|row| token(*row)).collect();
            assert_eq!(tokens, check.tokens, "{:?}", check.text);
            assert_eq!(check.vector.len(), 8);
            let vector = embed_rows(&rows);
            for (component, expected) in vector.0.iter().zip(&check.vector) {
                assert!((component - expected).abs() < 2e-3, "{:?}: {component} {expected}", check.text);
            }
        }
    }

    #[test]
    fn a_text_without_known_words_has_no_direction() {
        for text in ["", "  \n", "ⴰⵎⵓⵛ", "ꆈꌠ"] {
            assert_eq!(embed(text).0, [0.0; DIMS], "{text:?}");
        }
        assert_eq!(quantise(&embed("")), (0.0, [0; DIMS]));
    }

    #[test]
    fn what_means_the_same_is_nearer() {
        for (text, near, far) in [
            ("the dog is ill", "my puppy is sick", "the train is late"),
            ("she moved to a new flat", "they bought a house", "he plays the violin"),
            ("what does he do for a living?", "his job is teaching", "his car is red"),
            ("the server ran out of memory", "computer crash", "a walk along the river"),
        ] {
            let [text_at, near_at, far_at] = [text, near, far].map(embed);
            let (near_by, far_off) = (text_at.dot(&near_at), text_at.dot(&far_at));
            assert!(near_by > far_off + 0.1, "{text}: {near} {near_by}, {far} {far_off}");
        }
    }

    #[test]
    fn a_word_counts_as_much_as_its_weight_says() {
        let without_name = embed_weighted("Caroline's café", |word| f32::from(word == "cafe"));
        assert!(without_name.dot(&embed("cafe")) > 0.9999);
        let doubled = embed_weighted("dog train", |word| if word == "dog" { 2.0 } else { 1.0 });
        assert!(doubled.dot(&embed("dog dog train")) > 0.9999);
        assert_eq!(embed_weighted("dog train", |_| 0.0).0, [0.0; DIMS]);
    }

    proptest! {
        #[test]
        fn a_vector_is_one_long_or_zero_and_survives_quantising(text in "\\PC*|([a-z]{1,12} ){0,30}") {
            let vector = embed(&text);
            let length = vector.dot(&vector).sqrt();
            prop_assert!(length == 0.0 || (length - 1.0).abs() < 1e-3);
            let (scale, quantised) = quantise(&vector);
            let back = Vector(quantised.map(|component| scale * f32::from(component))).normalised();
            prop_assert!(length == 0.0 || back.dot(&vector) > 0.999);
        }
    }
}
