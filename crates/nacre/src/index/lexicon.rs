//! A cache for words. Everything that the index derives from a run of characters between white space (the
//! analyser's words, the model's tokens, hints about the sentence) is computed once and reused, so that a
//! text is read in one pass.
//!
//! Nothing of this depends on characters across white space. A test compares a reading with the results of
//! `analyse`, `wordpiece` and `mark` on the whole text.

use std::ops::Range;
use std::sync::Arc;

use foldhash::HashMap;

use super::analyse::{self, Language};
use super::mark::Hints;
use super::piece::{self, Cut};
use crate::index::embed::wordpiece;

/// The number of runs in a shelf: as many as a hash table of 65,536 slots takes.
const SHELF_RUNS: usize = 7 << 13;
/// The number of words kept from one transaction to the next.
const MAX_CACHED_WORDS: usize = 2 * SHELF_RUNS;
/// The cached words.
#[derive(Default)]
pub(crate) struct Lexicon {
    language: Language,
    /// A full shelf becomes the older one. Runs found in the older shelf move back here, so that rare runs
    /// are evicted and common ones stay.
    shelf: Shelf,
    older: Shelf,
    /// The analyser's words by number.
    words: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

/// Runs and their concatenated readings.
#[derive(Default)]
struct Shelf {
    runs: HashMap<Key, Run>,
    read: Reading,
}

/// A short run as one number, so that a lookup follows no pointer. Longer runs rarely repeat.
type Key = u128;

fn key(run: &str) -> Option<Key> {
    let mut bytes = [0; size_of::<Key>()];
    let (last, room) = bytes.split_last_mut().expect("sixteen bytes");
    room.get_mut(..run.len())?.copy_from_slice(run.as_bytes());
    *last = u8::try_from(run.len()).ok()?;
    Some(Key::from_le_bytes(bytes))
}

/// The offset of a run's reading, and small values stored inline. The struct is small because there are many.
struct Run {
    words: Span,
    joined: Span,
    rows: Span,
    length: u8,
    hints: Hints,
}

#[derive(Clone, Copy)]
struct Span {
    start: u32,
    len: u8,
}

/// The data that the index derives from a text.
#[derive(Default)]
pub(crate) struct Reading {
    /// The numbers of the analyser's words, in order.
    pub(crate) words: Vec<u32>,
    /// The same words in the form that the full-text index takes.
    pub(crate) joined: String,
    pub(crate) hints: Hints,
    /// The rows of the model's tokens.
    rows: Vec<u32>,
    /// The end of each piece in `rows`.
    ends: Vec<usize>,
}

impl Reading {
    /// Returns the tokens of each piece of the text, as rows of the model.
    pub(crate) fn pieces(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.ends.iter().enumerate().map(|(number, end)| {
            let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
            &self.rows[start..*end]
        })
    }

    /// Adds a piece to those that the text was split into.
    pub(crate) fn add_piece(&mut self, text: &str) {
        wordpiece::tokens(text, |_, row| self.rows.push(row));
        self.ends.push(self.rows.len());
    }

    fn clear(&mut self) {
        self.words.clear();
        self.joined.clear();
        self.hints = Hints::default();
        self.rows.clear();
        self.ends.clear();
    }
}

impl Lexicon {
    /// Returns the number of numbered words.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns the word with this number.
    pub(crate) fn word(&self, number: usize) -> &str {
        &self.words[number]
    }

    /// Prepares for texts in this language. Clears the cache if it belongs to another language or has grown
    /// too large; words then get new numbers.
    pub(crate) fn open(&mut self, language: Language) {
        if language != self.language || self.words.len() > MAX_CACHED_WORDS {
            *self = Lexicon { language, ..Lexicon::default() };
        }
    }

    /// Reads a text into `reading` and replaces its content. The text is split into pieces of at most
    /// `longest` words.
    pub(crate) fn read(&mut self, text: &str, longest: usize, reading: &mut Reading) {
        reading.clear();
        let mut cut = Cut::new(longest);
        for line in text.split('\n') {
            for run in line.split_whitespace() {
                cut.add(self.read_run(run, reading));
                if piece::ends_sentence(run) {
                    reading.ends.extend(cut.end_sentence(reading.rows.len()));
                }
            }
            reading.ends.extend(cut.end_sentence(reading.rows.len()));
        }
        reading.ends.extend(cut.end());
    }

    /// Returns the number of words as a person would count them.
    fn read_run(&mut self, run: &str, reading: &mut Reading) -> usize {
        let Some(key) = key(run) else { return self.read_uncached(run, reading).0 };
        if let Some((length, _)) = self.shelf.find(key, reading) {
            return length;
        }
        let from = (reading.words.len(), reading.joined.len(), reading.rows.len());
        let found = self.older.find(key, reading);
        let (length, hints) = found.unwrap_or_else(|| self.read_uncached(run, reading));
        if self.shelf.runs.len() >= SHELF_RUNS {
            self.older = std::mem::take(&mut self.shelf);
        }
        self.shelf.keep(key, reading, from, length, hints);
        length
    }

    /// Reads a run that is not cached.
    fn read_uncached(&mut self, run: &str, reading: &mut Reading) -> (usize, Hints) {
        for word in analyse::words(run, self.language) {
            reading.joined.push_str(&word);
            reading.joined.push(' ');
            reading.words.push(self.number(word));
        }
        wordpiece::tokens(run, |_, row| reading.rows.push(row));
        let hints = Hints::of(run);
        reading.hints |= hints;
        (run.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count(), hints)
    }

    fn number(&mut self, word: String) -> u32 {
        if let Some(number) = self.numbers.get(word.as_str()) {
            return *number;
        }
        let number = u32::try_from(self.words.len()).expect("a word takes more than its number");
        let word: Arc<str> = word.into();
        self.words.push(Arc::clone(&word));
        self.numbers.insert(word, number);
        number
    }
}

impl Shelf {
    /// Adds the reading of a cached run; returns the number of words as a person would count them, and the
    /// hints.
    fn find(&self, key: Key, reading: &mut Reading) -> Option<(usize, Hints)> {
        let run = self.runs.get(&key)?;
        reading.words.extend_from_slice(&self.read.words[run.words.range()]);
        reading.joined.push_str(&self.read.joined[run.joined.range()]);
        reading.rows.extend_from_slice(&self.read.rows[run.rows.range()]);
        reading.hints |= run.hints;
        Some((usize::from(run.length), run.hints))
    }

    /// Caches a run whose reading starts at `from` in `reading`, unless it is too long.
    fn keep(
        &mut self,
        key: Key,
        reading: &Reading,
        from: (usize, usize, usize),
        length: usize,
        hints: Hints,
    ) {
        let (words, joined, rows) =
            (&reading.words[from.0..], &reading.joined[from.1..], &reading.rows[from.2..]);
        let run = || {
            Some(Run {
                words: Span::new(self.read.words.len(), words.len())?,
                joined: Span::new(self.read.joined.len(), joined.len())?,
                rows: Span::new(self.read.rows.len(), rows.len())?,
                length: u8::try_from(length).ok()?,
                hints,
            })
        };
        if let Some(run) = run() {
            self.runs.insert(key, run);
            self.read.words.extend_from_slice(words);
            self.read.joined.push_str(joined);
            self.read.rows.extend_from_slice(rows);
        }
    }
}

impl Span {
    fn new(start: usize, len: usize) -> Option<Span> {
        Some(Span { start: u32::try_from(start).ok()?, len: u8::try_from(len).ok()? })
    }

    fn range(self) -> Range<usize> {
        self.start as usize..self.start as usize + usize::from(self.len)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(text: &str) -> Vec<u32> {
        let mut rows = Vec::new();
        wordpiece::tokens(text, |_, row| rows.push(row));
        rows
    }

    /// Generates texts with relevant features: punctuation, line breaks, all kinds of white space, scripts,
    /// long sentences.
    fn texts() -> impl Strategy<Value = String> {
        let run = prop_oneof![
            6 => "[a-cA-C]{1,3}[.!?,:_'’-]?",
            2 => "(do|user_name|getUserName|e-mail|C\\+\\+|I'm|1990|3rd|Always|well-known|x){1,2}[.?]?",
            1 => "\\PC{1,6}",
            1 => "[\u{300}\u{301}\u{e9}ßﬁ東京都。！？\u{915}\u{94d}]{1,4}",
        ];
        let space = prop_oneof![8 => " ", 1 => "[\n\t\u{b}\u{85}\u{a0}\u{2009}\u{3000}]{1,2}", 1 => "\r\n"];
        prop::collection::vec((run, space), 0..200)
            .prop_map(|parts| parts.into_iter().map(|(run, space)| run + &space).collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_reading_says_what_the_whole_text_says(
            texts in prop::collection::vec(texts(), 1..4),
            longest in 3..70usize,
        ) {
            let (mut lexicon, mut reading) = (Lexicon::default(), Reading::default());
            // The second time everything is cached.
            for text in texts.iter().chain(&texts) {
                lexicon.read(text, longest, &mut reading);
                let words: Vec<&str> =
                    reading.words.iter().map(|number| lexicon.word(*number as usize)).collect();
                prop_assert_eq!(&words, &analyse::words(text, Language::default()));
                prop_assert_eq!(reading.joined.trim_end(), words.join(" "));
                let expected: Vec<_> = piece::cut(text, longest).into_iter().map(rows).collect();
                prop_assert_eq!(reading.pieces().collect::<Vec<_>>(), expected);
            }
        }
    }

    #[test]
    fn a_long_text_is_cut_at_sentence_ends() {
        let (mut lexicon, mut reading) = (Lexicon::default(), Reading::default());
        let sentence = |words: usize| format!("{}.", vec!["dog"; words].join(" "));
        for (sentences, expected) in [
            (&[30, 30, 30][..], &[62, 31][..]),
            (&[100, 1], &[101, 2]),
            (&[1, 100, 1], &[2, 101, 2]),
            (&[60], &[61]),
            (&[], &[]),
        ] {
            let text: Vec<String> = sentences.iter().map(|words| sentence(*words)).collect();
            for text in [text.join(" "), text.join("\n\n"), text.join(" \n\t")] {
                lexicon.read(&text, 60, &mut reading);
                // A full stop is a token.
                assert_eq!(reading.pieces().map(<[u32]>::len).collect::<Vec<_>>(), expected, "{text}");
            }
        }
    }

    #[test]
    fn what_is_known_has_bounds() {
        let (mut lexicon, mut reading) = (Lexicon::default(), Reading::default());
        for number in 0..=MAX_CACHED_WORDS {
            lexicon.read(&format!("cat dog{number}"), 60, &mut reading);
            assert_eq!(reading.words[0], 0, "the cat is known by its number");
        }
        assert!(lexicon.shelf.runs.len() <= SHELF_RUNS && lexicon.older.runs.len() <= SHELF_RUNS);
        assert!(lexicon.shelf.runs.contains_key(&key("cat").unwrap()), "what comes again is not forgotten");
        lexicon.open(Language::default());
        assert_eq!(lexicon.len(), 0);
        lexicon.read("cat", 60, &mut reading);
        assert_eq!(reading.joined, "cat ");
    }
}
