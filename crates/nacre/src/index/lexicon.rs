//! A cache for words. Everything that the index derives from a run of characters between white space (the
//! analyser's words, the model's tokens, hints about the sentence) is computed once and reused, so that a
//! text is read in one pass.
//!
//! None of this depends on characters across white space. A test compares a reading with the results of
//! `analyse`, `wordpiece` and `mark` on the whole text. A sentence in another language is read again: by the
//! table of that language's words, and with their English translations as additional words.

use std::ops::Range;
use std::sync::Arc;

use foldhash::HashMap;

use super::analyse::{self, Language};
use super::mark::Hints;
use super::piece::{self, Cutter};
use crate::index::embed::foreign::{self, Odds};
use crate::index::embed::wordpiece;

/// The number of runs in a shelf: as many as a hash table of 65,536 slots takes.
const SHELF_RUNS: usize = 7 << 13;
/// The most English words that a part of a word in another language is indexed with.
const MAX_TRANSLATIONS: usize = 2;
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

/// Returns the next run of a line and the rest after it.
fn next_run(line: &str) -> Option<(&str, &str)> {
    let bytes = line.as_bytes();
    let mut start = 0;
    while bytes.get(start).is_some_and(|byte| is_space(*byte)) {
        start += 1;
    }
    let mut end = start;
    while let Some(byte) = bytes.get(end) {
        if is_space(*byte) {
            break;
        }
        // White space may also be a character of two or three bytes.
        if !byte.is_ascii() {
            let line = line.trim_start();
            let end = line.find(char::is_whitespace).unwrap_or(line.len());
            return (end > 0).then(|| line.split_at(end));
        }
        end += 1;
    }
    (end > start).then(|| (&line[start..end], &line[end..]))
}

/// Returns the word in lower case and the sign after it, for a run of ASCII letters with a capital or a sign of a sentence.
fn plain_word<'a>(run: &'a str, lower: &'a mut [u8; size_of::<Key>()]) -> Option<(&'a str, &'a str)> {
    let (word, sign) = run.split_at(run.len() - usize::from(run.ends_with(['.', ',', ';', ':', '!', '?'])));
    let (first, rest) = word.as_bytes().split_first()?;
    let is_word = first.is_ascii_alphabetic() && rest.iter().all(u8::is_ascii_lowercase);
    if !is_word || (sign.is_empty() && first.is_ascii_lowercase()) {
        return None;
    }
    let lower = lower.get_mut(..word.len())?;
    lower.copy_from_slice(word.as_bytes());
    lower.make_ascii_lowercase();
    Some((str::from_utf8(lower).ok()?, sign))
}

/// Tells whether an ASCII character is white space.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

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
    odds: Odds,
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
    /// Whether a sentence is in another language than English.
    is_foreign: bool,
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
        self.is_foreign = false;
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
        let mut cut = Cutter::new(longest);
        let mut sentence = Sentence::first();
        for line in text.split('\n') {
            let mut rest = line;
            while let Some((run, after)) = next_run(rest) {
                if sentence.is_empty {
                    (sentence.text, sentence.is_empty) = (rest, false);
                }
                rest = after;
                let read = self.read_run(run, reading);
                cut.add(read.length);
                sentence.odds += read.odds;
                if piece::ends_sentence(run) {
                    self.end_sentence(&mut sentence, rest, reading);
                    reading.ends.extend(cut.end_sentence(reading.rows.len()));
                }
            }
            self.end_sentence(&mut sentence, rest, reading);
            reading.ends.extend(cut.end_sentence(reading.rows.len()));
        }
        reading.ends.extend(cut.end());
    }

    /// Ends a sentence before the `rest` of its line. One in another language is read again.
    fn end_sentence(&mut self, sentence: &mut Sentence<'_>, rest: &str, reading: &mut Reading) {
        if sentence.is_empty {
            return;
        }
        if sentence.is_foreign() {
            let runs: Vec<&str> =
                sentence.text[..sentence.text.len() - rest.len()].split_whitespace().collect();
            reading.is_foreign = true;
            reading.rows.truncate(sentence.start);
            reading.hints |= Hints::of_foreign(&runs);
            for run in runs {
                foreign::tokens(run, |_, row| reading.rows.push(row));
                foreign::translate(run, MAX_TRANSLATIONS, |english, _| {
                    for word in analyse::words(english, self.language) {
                        self.add_word(word, reading);
                    }
                });
                foreign::spell(run, |name| self.add_word(name, reading));
            }
        }
        sentence.next(reading.rows.len());
    }

    /// Returns what is known of a run of characters apart from its words and rows.
    fn read_run(&mut self, run: &str, reading: &mut Reading) -> RunFacts {
        let Some(key) = key(run) else { return self.read_uncached(run, reading) };
        if let Some(facts) = self.shelf.find(key, reading) {
            return facts;
        }
        let from = (reading.words.len(), reading.joined.len(), reading.rows.len());
        let found = self.older.find(key, reading);
        let facts = found.unwrap_or_else(|| self.read_new(run, reading));
        if self.shelf.runs.len() >= SHELF_RUNS {
            self.older = std::mem::take(&mut self.shelf);
        }
        self.shelf.keep(key, reading, from, facts);
        facts
    }

    /// Reads a short run that is not cached. `Word,` is read as `word`, which usually is: only the sign and the capital differ.
    fn read_new(&mut self, run: &str, reading: &mut Reading) -> RunFacts {
        let mut lower = [0; size_of::<Key>()];
        let Some((plain, sign)) = plain_word(run, &mut lower) else {
            return self.read_uncached(run, reading);
        };
        let mut facts = self.read_run(plain, reading);
        wordpiece::tokens(sign, |_, row| reading.rows.push(row));
        let hints = Hints::of_capital(run);
        facts.hints |= hints;
        reading.hints |= hints;
        facts
    }

    /// Reads a run that is not cached.
    fn read_uncached(&mut self, run: &str, reading: &mut Reading) -> RunFacts {
        for word in analyse::words(run, self.language) {
            self.add_word(word, reading);
        }
        wordpiece::tokens(run, |_, row| reading.rows.push(row));
        let hints = Hints::of(run);
        reading.hints |= hints;
        let length = run.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count();
        RunFacts { length, hints, odds: Odds::of(run) }
    }

    fn add_word(&mut self, word: String, reading: &mut Reading) {
        reading.joined.push_str(&word);
        reading.joined.push(' ');
        reading.words.push(self.number(word));
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

/// The properties of a run apart from its words and rows.
#[derive(Clone, Copy)]
struct RunFacts {
    /// The number of words as a person would count them.
    length: usize,
    hints: Hints,
    /// How likely it is to be in another language than English.
    odds: Odds,
}

/// The sentence being read.
struct Sentence<'t> {
    is_empty: bool,
    /// The rest of the line from its first run on.
    text: &'t str,
    /// Where its rows start.
    start: usize,
    odds: Odds,
    /// The odds by the sentences before it.
    context: Odds,
}

impl Sentence<'_> {
    /// Returns the first sentence of a text, before its first run.
    fn first() -> Self {
        Sentence { is_empty: true, text: "", start: 0, odds: Odds::default(), context: Odds::default() }
    }

    /// Tells whether it is in another language than English.
    fn is_foreign(&self) -> bool {
        (self.odds + self.context).is_foreign()
    }

    /// Starts the next sentence.
    fn next(&mut self, start: usize) {
        self.context = (self.context + self.odds).faded();
        (self.odds, self.start) = (Odds::default(), start);
        self.is_empty = true;
    }
}

impl Shelf {
    /// Adds the reading of a cached run.
    fn find(&self, key: Key, reading: &mut Reading) -> Option<RunFacts> {
        let run = self.runs.get(&key)?;
        extend(&mut reading.words, &self.read.words[run.words.range()]);
        reading.joined.push_str(&self.read.joined[run.joined.range()]);
        extend(&mut reading.rows, &self.read.rows[run.rows.range()]);
        reading.hints |= run.hints;
        Some(RunFacts { length: usize::from(run.length), hints: run.hints, odds: run.odds })
    }

    /// Caches a run whose reading starts at `from` in `reading`, unless it is too long.
    fn keep(&mut self, key: Key, reading: &Reading, from: (usize, usize, usize), facts: RunFacts) {
        let (words, joined, rows) =
            (&reading.words[from.0..], &reading.joined[from.1..], &reading.rows[from.2..]);
        let run = || {
            Some(Run {
                words: Span::new(self.read.words.len(), words.len())?,
                joined: Span::new(self.read.joined.len(), joined.len())?,
                rows: Span::new(self.read.rows.len(), rows.len())?,
                length: u8::try_from(facts.length).ok()?,
                hints: facts.hints,
                odds: facts.odds,
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

/// Appends numbers. Most runs have one, for which a copy of a slice is slow.
fn extend(all: &mut Vec<u32>, more: &[u32]) {
    match more {
        [one] => all.push(*one),
        more => all.extend_from_slice(more),
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
    use std::cell::Cell;

    use proptest::prelude::*;
    use proptest::test_runner::TestRunner;

    use super::*;

    fn rows(text: &str) -> Vec<u32> {
        let mut rows = Vec::new();
        wordpiece::tokens(text, |_, row| rows.push(row));
        rows
    }

    /// Generates texts with relevant features: punctuation, line breaks, all kinds of white space, long sentences; half of
    /// them English, the others with words and scripts of other languages.
    fn texts() -> impl Strategy<Value = String> {
        let ascii = prop_oneof![
            6 => "[a-cA-C]{1,3}[.!?,:_'’-]?",
            2 => "(do|user_name|getUserName|e-mail|C\\+\\+|I'm|1990|3rd|Always|well-known|x){1,2}[.?]?",
            4 => "(the|house|of|with|was|they)[.?]?",
        ];
        let other = prop_oneof![
            2 => "\\PC{1,6}",
            2 => "[\u{300}\u{301}\u{e9}ßﬁ東京都。！？\u{915}\u{94d}]{1,4}",
            1 => "(der|Zug|que|está|книга|회의|année|Versicherungsnummer)[.?]?",
        ];
        let other = prop_oneof![6 => ascii.clone(), 3 => other];
        let space = prop_oneof![8 => " ", 1 => "[\n\t\u{b}\u{85}\u{a0}\u{2009}\u{3000}]{1,2}", 1 => "\r\n"];
        let text = |run: BoxedStrategy<String>, most| {
            prop::collection::vec((run, space.clone()), 0..most)
                .prop_map(|parts| parts.into_iter().map(|(run, space)| run + &space).collect::<String>())
        };
        prop_oneof![text(ascii.boxed(), 200), text(other.boxed(), 200)]
    }

    /// Splits a text into sentences, by lines and by the ends of runs.
    fn sentences(text: &str) -> Vec<String> {
        let mut sentences = Vec::new();
        for line in text.split('\n') {
            let runs: Vec<&str> = line.split_whitespace().collect();
            sentences
                .extend(runs.split_inclusive(|run| piece::ends_sentence(run)).map(|runs| runs.join(" ")));
        }
        sentences
    }

    /// Returns the words and the rows of a sentence. `before` is what the sentences before it say about its language.
    fn read_sentence(sentence: &str, before: &mut Odds) -> (Vec<String>, Vec<u32>) {
        let odds = sentence.split_whitespace().map(Odds::of).fold(*before, |sum, own| sum + own);
        let (mut words, mut all) = (analyse::words(sentence, Language::default()), Vec::new());
        if odds.is_foreign() {
            foreign::tokens(sentence, |_, row| all.push(row));
            for run in sentence.split_whitespace() {
                foreign::translate(run, MAX_TRANSLATIONS, |english, _| {
                    words.extend(analyse::words(english, Language::default()));
                });
                foreign::spell(run, |name| words.push(name));
            }
        } else {
            all = rows(sentence);
        }
        *before = odds.faded();
        (words, all)
    }

    #[test]
    fn a_reading_says_what_the_whole_text_says() {
        let cases = (prop::collection::vec(texts(), 1..4), 3..70usize);
        let (english, other) = (Cell::new(0), Cell::new(0));
        let mut runner = TestRunner::new(ProptestConfig::with_cases(64));
        let check = |(texts, longest): (Vec<String>, usize)| {
            let (mut lexicon, mut reading) = (Lexicon::default(), Reading::default());
            // The second time everything is cached.
            for text in texts.iter().chain(&texts) {
                lexicon.read(text, longest, &mut reading);
                let words: Vec<&str> =
                    reading.words.iter().map(|number| lexicon.word(*number as usize)).collect();
                let mut before = Odds::default();
                let (mut expected_words, mut expected_rows) = (Vec::new(), Vec::new());
                for piece in piece::cut(text, longest) {
                    let read = sentences(piece).into_iter().map(|own| read_sentence(&own, &mut before));
                    let (own_words, own_rows): (Vec<_>, Vec<_>) = read.unzip();
                    expected_words.extend(own_words.concat());
                    expected_rows.push(own_rows.concat());
                }
                prop_assert_eq!(&words, &expected_words);
                prop_assert_eq!(reading.joined.trim_end(), words.join(" "));
                prop_assert_eq!(reading.pieces().collect::<Vec<_>>(), expected_rows);
                if reading.is_foreign {
                    other.set(other.get() + 1);
                } else {
                    english.set(english.get() + 1);
                    prop_assert_eq!(&words, &analyse::words(text, Language::default()));
                    let whole: Vec<_> = piece::cut(text, longest).into_iter().map(rows).collect();
                    prop_assert_eq!(reading.pieces().collect::<Vec<_>>(), whole);
                }
            }
            Ok(())
        };
        runner.run(&cases, check).unwrap();
        assert!(english.get() > 10 && other.get() > 10, "{english:?} {other:?}");
    }

    #[test]
    fn a_sentence_in_another_language_is_indexed_with_english_words() {
        let (mut lexicon, mut reading) = (Lexicon::default(), Reading::default());
        let text = "The dog is ill. Der Zug hat heute leider Verspätung. Ja. We stay at home.";
        for longest in [3, usize::MAX] {
            lexicon.read(text, longest, &mut reading);
            assert!(reading.is_foreign);
            let words: Vec<&str> = reading.joined.split_whitespace().collect();
            assert!(words.starts_with(&["the", "dog", "is", "ill"]), "{words:?}");
            assert!(words.contains(&"zug") && words.contains(&"train"), "{words:?}");
        }
        let all: Vec<u32> = reading.pieces().flatten().copied().collect();
        let (first, last) = (rows("The dog is ill."), rows("We stay at home."));
        assert!(all.starts_with(&first) && all.ends_with(&last), "English keeps its rows");
        assert!(all.iter().any(|row| first.iter().chain(&last).all(|other| other < row)));
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
