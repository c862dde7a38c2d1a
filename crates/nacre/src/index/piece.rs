//! Pieces: the parts of a passage that get a vector of their own. One vector for a page of text has little
//! meaning.
//!
//! The best piece decides how well a passage matches, so a passage is split at sentence ends: into short
//! pieces in conversations, where people ask for single remarks, and longer ones in pages (documents, and
//! texts by an assistant). The condition of an instruction is a piece too: "when I ask about deadlines" says
//! when it applies, the words before it say what to do then.

use std::sync::LazyLock;

use regex::Regex;

use super::mark::Hints;
use super::{Passage, flag};

/// Changes whenever the same passage would give other pieces.
pub(crate) const VERSION: &str = "2";

/// The maximum number of words of a piece, in conversations and in pages. A longer sentence is a piece of its
/// own.
const MAX_TALK_WORDS: usize = 25;
const MAX_PAGE_WORDS: usize = 60;

/// Returns the maximum number of words of a piece of this passage.
pub(super) fn longest(passage: &Passage) -> usize {
    if is_page(passage) { MAX_PAGE_WORDS } else { MAX_TALK_WORDS }
}

/// Returns the additional piece of a passage, if it has one.
pub(super) fn beside(passage: &Passage, hints: Hints) -> Option<&str> {
    if is_page(passage) || !hints.may_be(flag::INSTRUCTION) { None } else { condition(&passage.text) }
}

fn is_page(passage: &Passage) -> bool {
    passage.kind == "chunk" || passage.author.as_deref() == Some("assistant")
}

/// Splits a text into pieces, run by run.
pub(super) struct Cutter {
    longest: usize,
    /// Whether anything was read, and whether it was in the current sentence.
    begun: bool,
    open: bool,
    /// Where the sentence begins, and how many words it has.
    start: usize,
    sentence: usize,
    /// The number of words in earlier sentences of the same piece.
    piece: usize,
}

impl Cutter {
    pub(super) fn new(longest: usize) -> Cutter {
        Cutter { longest, begun: false, open: false, start: 0, sentence: 0, piece: 0 }
    }

    /// Adds a run of characters with this many words.
    pub(super) fn add(&mut self, words: usize) {
        (self.begun, self.open) = (true, true);
        self.sentence += words;
    }

    /// Ends a sentence at `place`. If this completes a piece, returns its end, which is before this sentence.
    pub(super) fn end_sentence(&mut self, place: usize) -> Option<usize> {
        if !std::mem::take(&mut self.open) {
            return None;
        }
        let full = self.piece > 0 && self.piece + self.sentence > self.longest;
        let end = full.then_some(self.start);
        self.piece = self.sentence + if full { 0 } else { self.piece };
        (self.start, self.sentence) = (place, 0);
        end
    }

    /// Returns the end of the last piece, if there is one.
    pub(super) fn end(&self) -> Option<usize> {
        self.begun.then_some(self.start)
    }
}

/// Tells whether a sentence ends with this run of characters.
pub(super) fn ends_sentence(run: &str) -> bool {
    match run.as_bytes().last() {
        Some(b'.' | b'!' | b'?') => true,
        Some(last) if last.is_ascii() => false,
        _ => run.ends_with(SENTENCE_ENDS),
    }
}

const SENTENCE_ENDS: [char; 6] = ['.', '!', '?', '。', '！', '？'];

/// Returns the ends of sentences and lines, the end of the text included.
fn sentence_ends(text: &str) -> impl Iterator<Item = usize> {
    let mut ended = false;
    let ends = text.char_indices().filter(move |(_, c)| {
        let end = *c == '\n' || (ended && c.is_whitespace());
        ended = SENTENCE_ENDS.contains(c);
        end
    });
    ends.map(|(at, _)| at).chain([text.len()])
}

/// Returns the condition of an instruction, if it states one. Only English is recognised; otherwise the whole
/// text counts.
fn condition(text: &str) -> Option<&str> {
    static WHEN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?i-u)\bwhen(?:ever)? i (?:ask|request|mention|bring up|talk)(?: (?:you )?(?:for|about|of|to))?\b",
        )
        .expect("a constant pattern")
    });
    let rest = &text[WHEN.find(text)?.end()..];
    let condition = rest[..sentence_ends(rest).next().unwrap_or(rest.len())].trim();
    condition.contains(char::is_alphanumeric).then_some(condition)
}

/// Splits a whole text.
pub(super) fn cut(text: &str, longest: usize) -> Vec<&str> {
    let (mut pieces, mut start, mut from, mut words) = (Vec::new(), 0, 0, 0);
    for to in sentence_ends(text) {
        let more =
            text[from..to].split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count();
        if words > 0 && words + more > longest {
            pieces.push(text[start..from].trim());
            (start, words) = (from, 0);
        }
        words += more;
        from = to;
    }
    pieces.push(text[start..].trim());
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_sentence_ends() {
        let text = "One two three. Four five!\nSix seven eight nine ten. Eleven?";
        assert_eq!(cut(text, 5), ["One two three. Four five!", "Six seven eight nine ten.", "Eleven?"]);
        assert_eq!(cut(text, 60), [text]);
        assert_eq!(cut(" \n ", 5), [""; 0]);
    }

    #[test]
    fn a_condition_is_a_piece() {
        for (text, expected) in [
            ("Always format dates in full when I ask about deadlines.", Some("deadlines.")),
            ("Whenever I mention my sister, be kind. She is ill.", Some("my sister, be kind.")),
            ("When I ask for code give tests too", Some("code give tests too")),
            ("I was ten when I talked to her", None),
            ("when I ask.", None),
        ] {
            assert_eq!(condition(text), expected, "{text}");
            let mut hints = Hints::default();
            text.split_whitespace().for_each(|run| hints |= Hints::of(run));
            assert!(hints.may_be(flag::INSTRUCTION) || expected.is_none(), "{text}");
        }
    }
}
