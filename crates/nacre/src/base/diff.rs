//! Line diffs in unified form, and the merge of two changes to one text.
//!
//! The texts may be hostile and may contain credentials: invisible characters are shown by name, and secrets
//! are masked. Lines are compared byte by byte, line endings included.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use crate::base::redact;
use crate::base::text::lossy;

/// Lines shown around a change.
const CONTEXT_LINES: usize = 2;

/// The difference of two texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    before: String,
    after: String,
    /// The places that differ, in order.
    pub hunks: Vec<Hunk>,
}

/// Returns UTF-16 as UTF-8, which a person can read.
fn readable(bytes: &[u8]) -> Cow<'_, [u8]> {
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Cow::Owned(lossy(bytes).into_bytes()),
        _ => Cow::Borrowed(bytes),
    }
}

/// One place that differs, with its context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The line range before and after, from 0.
    pub before: Range<usize>,
    #[expect(missing_docs)]
    pub after: Range<usize>,
    /// The lines to show.
    pub lines: Vec<Line>,
}

/// One line of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Removed, added or unchanged.
    pub mark: Mark,
    /// The line as it is shown, without its line ending.
    pub text: String,
    /// The parts of `text` that differ from the line it replaces; empty if all of it differs.
    pub parts: Vec<Range<usize>>,
    /// Whether it has no line break, which only the last line can lack.
    pub unended: bool,
}

/// How a change affects a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "what the words say")]
pub enum Mark {
    Same,
    Out,
    In,
}

impl Mark {
    /// Returns the sign before the line.
    pub fn sign(self) -> char {
        match self {
            Mark::Same => ' ',
            Mark::Out => '-',
            Mark::In => '+',
        }
    }
}

impl Diff {
    /// Compares two texts of one name; `None` means that the file does not exist.
    pub fn new(name: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> Diff {
        let file = |text: Option<&[u8]>| if text.is_some() { visible(name) } else { "/dev/null".into() };
        let (old, new) = (readable(before.unwrap_or_default()), readable(after.unwrap_or_default()));
        let (old, new) = (&*old, &*new);
        let (old_lines, new_lines) = (lines(old), lines(new));
        let blocks = blocks(&old_lines, &new_lines);
        let shown = (shown(old, old_lines.len()), shown(new, new_lines.len()));
        let line = |mark: Mark, at: usize| {
            let (lines, shown) = match mark {
                Mark::In => (&new_lines, &shown.1),
                Mark::Same | Mark::Out => (&old_lines, &shown.0),
            };
            Line { mark, text: shown[at].clone(), parts: Vec::new(), unended: !lines[at].ends_with(b"\n") }
        };
        let mut hunks: Vec<Hunk> = Vec::new();
        for (place, Block { before, after }) in blocks.iter().enumerate() {
            let last = place.checked_sub(1).map_or(0, |last| blocks[last].before.end);
            let next = blocks.get(place + 1).map_or(old_lines.len(), |next| next.before.start);
            let head = before.start.saturating_sub(CONTEXT_LINES).max(last);
            // Unchanged lines between two nearby changes belong to the first one's hunk.
            let joined = hunks.last().is_some_and(|hunk| hunk.before.end >= head);
            if !joined {
                let start = after.start - (before.start - head);
                hunks.push(Hunk { before: head..head, after: start..start, lines: Vec::new() });
            }
            let hunk = hunks.last_mut().expect("just put there");
            hunk.lines.extend((hunk.before.end..before.start).map(|at| line(Mark::Same, at)));
            let mut out: Vec<Line> = before.clone().map(|at| line(Mark::Out, at)).collect();
            let mut into: Vec<Line> = after.clone().map(|at| line(Mark::In, at)).collect();
            for (one, other) in out.iter_mut().zip(&mut into) {
                (one.parts, other.parts) = parts(&one.text, &other.text);
            }
            hunk.lines.append(&mut out);
            hunk.lines.append(&mut into);
            let tail = (before.end + CONTEXT_LINES).min(next);
            hunk.lines.extend((before.end..tail).map(|at| line(Mark::Same, at)));
            hunk.before.end = tail;
            hunk.after.end = after.end + (tail - before.end);
        }
        Diff { before: file(before), after: file(after), hunks }
    }

    /// Tells whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.before == self.after && self.hunks.is_empty()
    }

    /// Returns how many lines are added and removed.
    pub fn count(&self) -> (usize, usize) {
        let lines = || self.hunks.iter().flat_map(|hunk| &hunk.lines);
        let of = |mark: Mark| lines().filter(|line| line.mark == mark).count();
        (of(Mark::In), of(Mark::Out))
    }

    /// Writes the diff line by line: `write` gets header lines with `None`, and each line with `Some`.
    pub fn each(&self, mut write: impl FnMut(Option<&Line>, &str)) {
        if self.is_empty() {
            return;
        }
        write(None, &format!("--- {}", self.before));
        write(None, &format!("+++ {}", self.after));
        for hunk in &self.hunks {
            // An empty range is named by the line before it.
            let range = |range: &Range<usize>| match range.len() {
                0 => format!("{},0", range.start),
                1 => format!("{}", range.start + 1),
                lines => format!("{},{lines}", range.start + 1),
            };
            write(None, &format!("@@ -{} +{} @@", range(&hunk.before), range(&hunk.after)));
            for line in &hunk.lines {
                write(Some(line), &line.text);
                if line.unended {
                    write(None, "\\ No newline at end of file");
                }
            }
        }
    }
}

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.each(|line, shown| {
            text.extend(line.map(|line| line.mark.sign()));
            text.push_str(shown);
            text.push('\n');
        });
        f.write_str(&text)
    }
}

/// Merges two texts that were both derived from `base`. Returns `None` if they touch the same lines. If both
/// only add lines at one place, those of `one` come first.
pub(crate) fn merge(base: &[u8], one: &[u8], other: &[u8]) -> Option<Vec<u8>> {
    let (base, one, other) = (lines(base), lines(one), lines(other));
    let mut changes: Vec<(Block, &[&[u8]])> = Vec::new();
    for (place, side) in [&one, &other].into_iter().enumerate() {
        for block in blocks(&base, side) {
            let after = block.after.clone();
            // A change that both made is applied once.
            let twice = place == 1
                && changes
                    .iter()
                    .any(|(made, lines)| made.before == block.before && *lines == &side[after.clone()]);
            if !twice {
                changes.push((block, &side[after]));
            }
        }
    }
    changes.sort_by_key(|(block, _)| block.before.start);
    let mut merged = Vec::new();
    let mut at = 0;
    let mut last: Option<&Block> = None;
    for (block, lines) in &changes {
        let both_add = last.is_some_and(|last| last.before.is_empty() && block.before.is_empty());
        let apart = last.is_none_or(|last| last.before.end < block.before.start || both_add);
        if !apart {
            return None;
        }
        merged.extend(base[at..block.before.start].concat());
        // The last line before this had no line break.
        if merged.last().is_some_and(|byte| *byte != b'\n') && !lines.is_empty() {
            return None;
        }
        merged.extend(lines.concat());
        at = block.before.end;
        last = Some(block);
    }
    merged.extend(base[at..].concat());
    Some(merged)
}

/// Returns the lines that two texts share, in their order.
pub(crate) fn common(one: &[u8], other: &[u8]) -> Vec<u8> {
    let (one, other) = (lines(one), lines(other));
    let mut shared = Vec::new();
    let mut at = 0;
    for block in blocks(&one, &other) {
        shared.extend(one[at..block.before.start].concat());
        at = block.before.end;
    }
    shared.extend(one[at..].concat());
    shared
}

/// Replaces invisible characters with visible names, so that hidden characters can't change what a text
/// appears to say.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => shown.push(c),
            // Unicode has pictures for control characters.
            '\0'..='\u{1f}' => shown.extend(char::from_u32(0x2400 + u32::from(c))),
            '\u{7f}' => shown.push('\u{2421}'),
            _ if is_hidden(c) => shown.push_str(&format!("⟨U+{:04X}⟩", u32::from(c))),
            _ => shown.push(c),
        }
    }
    shown
}

/// Tells whether a character is invisible, or changes how others are displayed.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0e}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Splits a text into lines, each with its line ending.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Returns the lines as they are shown. Redaction sees the whole text, because a credential may span lines.
fn shown(text: &[u8], count: usize) -> Vec<String> {
    let mut whole = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        whole.push_str(chunk.valid());
        whole.extend(chunk.invalid().iter().map(|byte| format!("⟨x{byte:02X}⟩")));
    }
    let masked = redact::document(&whole);
    let lines = masked.split_inclusive('\n').map(|line| visible(line.strip_suffix('\n').unwrap_or(line)));
    let mut lines: Vec<String> = lines.collect();
    lines.resize(count, redact::MASK.into());
    lines
}

/// A run of lines that replaces another.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Block {
    before: Range<usize>,
    after: Range<usize>,
}

/// Returns the ranges that differ between two lists, in order. `similar` uses heuristics for large and
/// hostile lists, as Git does, so the time is bounded.
fn blocks<T: Eq + std::hash::Hash + Ord>(old: &[T], new: &[T]) -> Vec<Block> {
    let changes = similar::capture_diff_slices(similar::Algorithm::Myers, old, new);
    let changes = changes.into_iter().filter(|change| change.tag() != similar::DiffTag::Equal);
    changes.map(|change| Block { before: change.old_range(), after: change.new_range() }).collect()
}

/// Returns the parts in which two lines differ, or none if they have little in common.
fn parts(one: &str, other: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let (words, others) = (words(one), words(other));
    let left: Vec<&str> = words.iter().map(|word| &one[word.clone()]).collect();
    let right: Vec<&str> = others.iter().map(|word| &other[word.clone()]).collect();
    let blocks = blocks(&left, &right);
    let range = |words: &[Range<usize>], range: &Range<usize>| {
        (!range.is_empty()).then(|| words[range.start].start..words[range.end - 1].end)
    };
    let out: Vec<_> = blocks.iter().filter_map(|block| range(&words, &block.before)).collect();
    let into: Vec<_> = blocks.iter().filter_map(|block| range(&others, &block.after)).collect();
    let changed = |parts: &[Range<usize>]| parts.iter().map(ExactSizeIterator::len).sum::<usize>();
    if 2 * changed(&out) > one.len() || 2 * changed(&into) > other.len() {
        return (Vec::new(), Vec::new());
    }
    (out, into)
}

/// Splits a line into words, spaces and punctuation.
fn words(line: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut last = None;
    for (at, c) in line.char_indices() {
        let kind = (c.is_alphanumeric(), c.is_whitespace());
        match words.last_mut() {
            Some(word) if last == Some(kind) && kind != (false, false) => word.end = at + c.len_utf8(),
            _ => words.push(at..at + c.len_utf8()),
        }
        last = Some(kind);
    }
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unified(before: Option<&str>, after: Option<&str>) -> String {
        Diff::new("f", before.map(str::as_bytes), after.map(str::as_bytes)).to_string()
    }

    #[test]
    fn what_changed_is_shown_with_what_is_around() {
        for (before, after, shown) in [
            (
                Some("a\nb\nc\nd\ne\nf\n\ng\nh\n"),
                Some("a\nb\nc\nX\ne\nf\n\ng\nh\ni\n"),
                "--- f\n+++ f\n@@ -2,5 +2,5 @@\n b\n c\n-d\n+X\n e\n f\n@@ -8,2 +8,3 @@\n g\n h\n+i\n",
            ),
            (None, Some("a\n"), "--- /dev/null\n+++ f\n@@ -0,0 +1 @@\n+a\n"),
            (Some("a\n"), None, "--- f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"),
            (Some("a"), Some("a"), ""),
            (None, Some(""), "--- /dev/null\n+++ f\n"),
            // Nearby changes share a hunk.
            (
                Some("a\nb\nc\nd\n"),
                Some("x\nb\nc\ny\n"),
                "--- f\n+++ f\n@@ -1,4 +1,4 @@\n-a\n+x\n b\n c\n-d\n+y\n",
            ),
            // The end of the file, line endings and invisible characters are shown.
            (Some("a\n"), Some("a"), "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"),
            (Some("a\n"), Some("a\r\n"), "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+a\u{240d}\n"),
            (Some("a\n"), Some("\u{feff}a\n"), "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+⟨U+FEFF⟩a\n"),
            (
                None,
                Some("\u{1b}[2Jx\u{202e}y\n"),
                "--- /dev/null\n+++ f\n@@ -0,0 +1 @@\n+\u{241b}[2Jx⟨U+202E⟩y\n",
            ),
        ] {
            assert_eq!(unified(before, after), shown);
        }
        let bytes = Diff::new("f", None, Some(b"\xff\n")).to_string();
        assert!(bytes.ends_with("+⟨xFF⟩\n"), "{bytes}");
    }

    #[test]
    fn credentials_are_masked_over_lines_too() {
        let key = "a\n-----BEGIN PRIVATE KEY-----\nMIIBVgIBADANBgkq\n-----END PRIVATE KEY-----\nb\n";
        let shown = unified(Some("a\nb\n"), Some(key));
        assert!(!shown.contains("MIIB") && shown.contains("[REDACTED]"), "{shown}");
        // The diff shows that a secret changed, but not the secret.
        let shown = unified(Some("client_secret=abcdef123456\n"), Some("client_secret=ghijkl789012\n"));
        assert_eq!(shown.matches("client_secret=[REDACTED]").count(), 2, "{shown}");
    }

    #[test]
    fn words_that_differ_are_known() {
        let diff = Diff::new("f", Some(b"The dog is called Luna.\n"), Some(b"The dog is called Stella.\n"));
        let parts: Vec<&str> = diff.hunks[0]
            .lines
            .iter()
            .flat_map(|line| line.parts.iter().map(|part| &line.text[part.clone()]))
            .collect();
        assert_eq!(parts, ["Luna", "Stella"]);
        let diff = Diff::new("f", Some(b"one thing\n"), Some(b"quite another\n"));
        assert!(diff.hunks[0].lines.iter().all(|line| line.parts.is_empty()));
    }

    #[test]
    fn hostile_sizes_end_in_time() {
        let (old, new) = ("\n".repeat(50_000), "x\n\n".repeat(40_000));
        let diff = Diff::new("f", Some(old.as_bytes()), Some(new.as_bytes()));
        assert_eq!(diff.count().0, 80_000 - 50_000 + diff.count().1);
    }

    #[test]
    fn two_changes_become_one_where_they_are_apart() {
        for (base, one, other, merged) in [
            ("a\nb\nc\n", "x\nb\nc\n", "a\nb\ny\n", Some("x\nb\ny\n")),
            ("a\n", "a\none\n", "a\nother\n", Some("a\none\nother\n")),
            ("a\nb\n", "x\nb\n", "y\nb\n", None),
            ("a\nb\n", "x\nb\n", "a\ny\n", None),
            ("a\nb\n", "b\n", "b\n", Some("b\n")),
            ("a", "a\nb\n", "a\nc\n", None),
            ("a\n", "a\nb", "a\nc", None),
            ("", "", "x", Some("x")),
        ] {
            let found = merge(base.as_bytes(), one.as_bytes(), other.as_bytes());
            let found = found.map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(found.as_deref(), merged, "{base:?} {one:?} {other:?}");
        }
    }

    proptest! {
        /// Applying the blocks to one text gives the other, and no block is longer than both texts together.
        #[test]
        fn blocks_lead_from_one_to_the_other(old in "[abc\n]{0,60}", new in "[abc\n]{0,60}") {
            let (one, other) = (lines(old.as_bytes()), lines(new.as_bytes()));
            let mut made: Vec<u8> = Vec::new();
            let mut at = 0;
            for Block { before, after } in blocks(&one, &other) {
                made.extend(one[at..before.start].concat());
                made.extend(other[after].concat());
                at = before.end;
            }
            made.extend(one[at..].concat());
            prop_assert_eq!(made, new.as_bytes());
            // The diff is as short as the longest common subsequence allows.
            let least = one.len() + other.len() - 2 * common(&one, &other);
            let found: usize = blocks(&one, &other).iter().map(|block| block.before.len() + block.after.len()).sum();
            prop_assert_eq!(found, least);
        }

        /// Merging with an unchanged side gives the other side.
        #[test]
        fn merging_with_nothing_changes_nothing(base in "[ab\n]{0,40}", one in "[ab\n]{0,40}") {
            if one.is_empty() || one.ends_with('\n') && (base.is_empty() || base.ends_with('\n')) {
                prop_assert_eq!(merge(base.as_bytes(), one.as_bytes(), base.as_bytes()), Some(one.clone().into_bytes()));
                prop_assert_eq!(merge(base.as_bytes(), base.as_bytes(), one.as_bytes()), Some(one.into_bytes()));
            }
        }
    }

    fn common(one: &[&[u8]], other: &[&[u8]]) -> usize {
        let mut row = vec![0; other.len() + 1];
        for left in one {
            let mut diagonal = 0;
            for (at, right) in other.iter().enumerate() {
                let above = row[at + 1];
                row[at + 1] = if left == right { diagonal + 1 } else { above.max(row[at]) };
                diagonal = above;
            }
        }
        row[other.len()]
    }
}
