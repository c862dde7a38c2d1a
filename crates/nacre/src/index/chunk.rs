//! Chunks: Markdown split into parts that are small enough to be found and large enough to be understood.
//!
//! The functions are pure. A chunk is a slice of the text with its line numbers. The text is split between
//! lines, and before a heading if the chunk is at least half full, so that an edit above a heading does not
//! change the chunks below it. If a chunk is split only for its size, the next one repeats its end. Headings
//! are those of `#` to `######`; fenced code has none.

use crate::base::markdown::{Fence, FencePlace, heading};

/// Changes whenever the same document would give other passages: an index built by another version is rebuilt.
pub(crate) const VERSION: &str = "2";

/// The size of a chunk in characters: about 400 tokens.
const CHUNK_CHARS: usize = 1_600;
/// The overlap of two chunks in characters: about 80 tokens.
const OVERLAP_CHARS: usize = 320;
/// The maximum number of characters of a heading in a title.
const MAX_HEADING_CHARS: usize = 120;

/// A slice of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunk<'a> {
    pub(crate) text: &'a str,
    /// The headings above it, such as `Setup > Server`.
    pub(crate) title: String,
    /// The first and the last line, from 1.
    pub(crate) lines: (usize, usize),
}

/// Splits a text into chunks, in order. Together they cover all of it.
pub(crate) fn chunks(text: &str) -> Vec<Chunk<'_>> {
    let pieces = pieces(text);
    let mut outline = Outline::default();
    let mut chunks = Vec::new();
    // The first piece of the current chunk, the first piece that no earlier chunk contains, and the number of
    // characters.
    let (mut start, mut fresh, mut chars) = (0, 0, 0);
    for (at, piece) in pieces.iter().enumerate() {
        // At most OVERLAP_CHARS characters are carried over, so that every chunk has content of its own and the
        // longest has CHUNK_CHARS plus OVERLAP_CHARS characters.
        let full = chars > OVERLAP_CHARS && chars + piece.chars > CHUNK_CHARS;
        let section = piece.heading.is_some() && chars * 2 >= CHUNK_CHARS;
        if full || section {
            chunks.push(outline.chunk(text, &pieces, start, fresh, at));
            (start, fresh, chars) = (at, at, 0);
            while !section && start > 0 && chars + pieces[start - 1].chars <= OVERLAP_CHARS {
                start -= 1;
                chars += pieces[start].chars;
            }
        }
        chars += piece.chars;
    }
    if fresh < pieces.len() {
        chunks.push(outline.chunk(text, &pieces, start, fresh, pieces.len()));
    }
    chunks
}

/// A line, or a part of one that is longer than a chunk.
struct Piece<'a> {
    start: usize,
    end: usize,
    chars: usize,
    line: usize,
    /// Level and text.
    heading: Option<(usize, &'a str)>,
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut fence = Fence::default();
    let mut start = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let end = start + line.len();
        let chars = line.chars().count();
        let bare = line.trim_start_matches('\u{feff}').trim_end();
        let heading = if fence.next(bare) == FencePlace::Outside { heading(bare) } else { None };
        if chars <= CHUNK_CHARS {
            pieces.push(Piece { start, end, chars, line: index + 1, heading });
        } else {
            // Parts have the length of the overlap, so that two chunks share exactly one of them.
            let mut from = start;
            while from < end {
                let rest = &text[from..end];
                let length = rest.char_indices().nth(OVERLAP_CHARS).map_or(rest.len(), |(at, _)| at);
                let chars = rest[..length].chars().count();
                pieces.push(Piece { start: from, end: from + length, chars, line: index + 1, heading: None });
                from += length;
            }
        }
        start = end;
    }
    pieces
}

/// The headings that apply to the next piece.
#[derive(Default)]
struct Outline<'a> {
    /// How many pieces have been read.
    read: usize,
    path: Vec<(usize, &'a str)>,
}

impl<'a> Outline<'a> {
    fn chunk(
        &mut self,
        text: &'a str,
        pieces: &[Piece<'a>],
        start: usize,
        fresh: usize,
        end: usize,
    ) -> Chunk<'a> {
        // Headings at the start of the chunk go into its title; later ones are part of its text.
        let blank = |piece: &Piece<'_>| text[piece.start..piece.end].trim().is_empty();
        let opening = pieces[fresh..end].iter().take_while(|piece| piece.heading.is_some() || blank(piece));
        let title = self.title(pieces, fresh + opening.count());
        self.title(pieces, end);
        Chunk {
            text: &text[pieces[start].start..pieces[end - 1].end],
            title,
            lines: (pieces[start].line, pieces[end - 1].line),
        }
    }

    fn title(&mut self, pieces: &[Piece<'a>], until: usize) -> String {
        for (level, heading) in pieces[self.read..until].iter().filter_map(|piece| piece.heading) {
            self.path.retain(|(above, _)| *above < level);
            self.path.push((level, heading));
        }
        self.read = until;
        let named = self.path.iter().filter(|(_, heading)| !heading.is_empty());
        let words: Vec<String> =
            named.map(|(_, heading)| heading.chars().take(MAX_HEADING_CHARS).collect::<String>()).collect();
        words.join(" > ")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Checks the properties that hold for any text.
    #[track_caller]
    fn check(text: &str) -> Vec<Chunk<'_>> {
        let chunks = chunks(text);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let offset = |chunk: &Chunk<'_>| chunk.text.as_ptr() as usize - text.as_ptr() as usize;
        let mut covered = 0;
        for chunk in &chunks {
            let (start, end) = (offset(chunk), offset(chunk) + chunk.text.len());
            assert!(start <= covered && covered < end, "nothing is left out and every chunk has its own");
            covered = end;
            assert!(
                chunk.text.chars().count() <= CHUNK_CHARS * 5 / 4,
                "{} characters",
                chunk.text.chars().count()
            );
            let line_of =
                |byte: usize| text.as_bytes()[..byte].iter().filter(|byte| **byte == b'\n').count() + 1;
            assert_eq!(chunk.lines, (line_of(start), line_of(end - 1)));
            let whole: String = lines[chunk.lines.0 - 1..chunk.lines.1].concat();
            assert!(whole.contains(chunk.text), "the lines hold the text");
        }
        assert_eq!(covered, text.len(), "all of it is there");
        chunks
    }

    fn titles(text: &str) -> Vec<String> {
        check(text).into_iter().map(|chunk| chunk.title).collect()
    }

    #[test]
    fn any_text_is_cut() {
        for (text, count) in [
            ("", 0),
            ("\n", 1),
            ("one line without an end", 1),
            ("a\r\nb\r\n", 1),
            ("\u{feff}# Title\ntext", 1),
            (&"word ".repeat(2_000), 8),
            (&"ü".repeat(1_601), 2),
            (&"line\n".repeat(1_000), 4),
            (&"# Heading\n".repeat(1_000), 13),
            (&"\n".repeat(5_000), 4),
            (&format!("{}\n{}\n{}", "a".repeat(10), "b".repeat(1_595), "c".repeat(1_599)), 2),
        ] {
            let shown: String = text.chars().take(20).collect();
            assert_eq!(check(text).len(), count, "{shown:?}");
        }
    }

    #[test]
    fn one_very_long_line_is_cut() {
        let text = "é".repeat(5_000_000);
        let chunks = chunks(&text);
        assert_eq!(chunks.len(), 3_906);
        assert!(chunks.iter().all(|chunk| chunk.lines == (1, 1)));
    }

    #[test]
    fn a_heading_starts_a_chunk_that_is_half_full() {
        let body = "Some words that fill a line of this text.\n".repeat(20);
        let text =
            format!("# Setup\n## Server\n{body}## Client\n{body}# Use\nShort.\n## Daily\nAlso short.\n");
        let chunks = check(&text);
        let firsts: Vec<&str> = chunks.iter().map(|chunk| chunk.text.lines().next().unwrap()).collect();
        assert_eq!(firsts, ["# Setup", "## Client", "# Use"]);
        assert_eq!(titles(&text), ["Setup > Server", "Setup > Client", "Use"]);
    }

    #[test]
    fn a_chunk_cut_for_its_size_repeats_the_end_of_the_one_before() {
        let text: String = (0..100).map(|n| format!("This is line {n} of a long section.\n")).collect();
        let chunks = check(&format!("# Long\n{text}")).iter().map(|chunk| chunk.lines).collect::<Vec<_>>();
        for pair in chunks.windows(2) {
            let shared = pair[0].1 + 1 - pair[1].0;
            assert!((7..=9).contains(&shared), "{pair:?}");
        }
        assert!(titles(&format!("# Long\n{text}")).iter().all(|title| title == "Long"));
    }

    #[test]
    fn headings_are_told_from_what_looks_like_one() {
        for (line, expected) in [
            ("# One", Some((1, "One"))),
            ("###### Six ######", Some((6, "Six"))),
            ("   ## Indented ", Some((2, "Indented"))),
            ("## C#", Some((2, "C#"))),
            ("#", Some((1, ""))),
            ("####### Seven", None),
            ("#tag", None),
            ("    # code", None),
            ("text # not", None),
        ] {
            assert_eq!(heading(line), expected, "{line:?}");
        }
        let body = "Some words that fill a line of this text.\n".repeat(20);
        for (open, close) in [("```sh", "```"), ("~~~~", "~~~~~"), ("   ```", "```")] {
            let code = format!("{open}\n# no heading\n{body}{body}{close}\n");
            let text = format!("# A\n{body}{code}# B\n{body}");
            assert_eq!(titles(&text), ["A", "A", "B"], "{open}");
        }
        assert_eq!(titles(&format!("# A\n``` a`b\n{body}# B\ntext")), ["A", "B"], "not a fence");
        assert_eq!(titles(&format!("# A\n```\n{body}~~~\n``\n# B\ntext")), ["A"], "the fence is still open");
    }

    #[test]
    fn an_edit_leaves_the_chunks_of_other_sections() {
        let section = |n: usize| format!("## Section {n}\n{}", format!("Words of section {n}.\n").repeat(50));
        let text: String = (0..8).map(section).collect();
        let edited = text.replacen("Words of section 3.", "An edit that is longer than it was.", 1);
        let after = check(&edited);
        let changed = after.iter().filter(|chunk| !check(&text).iter().any(|old| old.text == chunk.text));
        assert_eq!(changed.count(), 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn chunks_have_all_of_any_text(parts in prop::collection::vec((
            prop::sample::select(vec!["", "# ", "### ", "```", "~~~", "- ", "\u{feff}", "    "]),
            "\\PC{0,40}",
            1usize..90,
            prop::sample::select(vec!["\n", "\r\n", "\n\n", "", " ", "\r"]),
        ), 0..60)) {
            let text: String = parts.iter().map(|(mark, words, times, end)| format!("{mark}{}{end}", words.repeat(*times))).collect();
            check(&text);
        }
    }
}
