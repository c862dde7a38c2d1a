//! Comments in code: those that start with a tag such as `TODO` or `SAFETY`, with their continuation lines.

use super::rules::{Marks, TAGS};
use super::{FoundItem, ItemType, found};

/// The maximum length of a line in bytes. Longer lines are data, not hand-written code.
const MAX_LINE_BYTES: usize = 2_000;
/// The maximum number of continuation lines of a comment.
const MAX_CONTINUATION_LINES: usize = 6;

/// Reads the comments of a source file.
pub(super) fn read(marks: &Marks, text: &str) -> Vec<FoundItem> {
    let mut all = Vec::new();
    let mut open: Option<OpenComment> = None;
    comments(marks, text, |line, comment| {
        let bare = bare(comment);
        if let Some(begun) = &mut open {
            let goes_on = line == begun.last + 1
                && !bare.is_empty()
                && begun.lines < MAX_CONTINUATION_LINES
                && tag(bare).is_none();
            if goes_on {
                begun.text.push(' ');
                begun.text.push_str(bare);
                (begun.last, begun.lines) = (line, begun.lines + 1);
                return;
            }
            all.extend(open.take().and_then(OpenComment::finish));
        }
        if let Some((r#type, confidence, rest)) = tag(bare) {
            let text = rest.to_owned();
            open = Some(OpenComment { r#type, confidence, text, line, last: line, lines: 1 });
        }
    });
    all.extend(open.and_then(OpenComment::finish));
    all
}

/// A tagged comment that is being read.
struct OpenComment {
    r#type: ItemType,
    confidence: f64,
    text: String,
    line: usize,
    last: usize,
    lines: usize,
}

impl OpenComment {
    fn finish(self) -> Option<FoundItem> {
        found(self.r#type, None, &self.text, self.line, self.confidence)
    }
}

/// Returns a line of a comment without its decoration.
fn bare(comment: &str) -> &str {
    comment
        .trim()
        .trim_start_matches(['/', '*', '!', '#', '-', ';', '%', '='])
        .trim()
        .trim_end_matches(['*', '/'])
        .trim_end()
}

/// Reads `TODO: x`, `TODO(anna): x`, `TODO x`, `@todo x`. Returns the type, the confidence and the rest.
fn tag(comment: &str) -> Option<(ItemType, f64, &str)> {
    let lower = comment.get(..5).is_some_and(|word| word == "@todo");
    let (name, sort) = if lower {
        ("@todo", (ItemType::Task, 0.9))
    } else {
        let (name, r#type, confidence) = TAGS.iter().find(|(name, _, _)| comment.starts_with(name))?;
        (*name, (*r#type, *confidence))
    };
    let mut rest = &comment[name.len()..];
    // The assignee, or an issue number.
    if let Some(aside) = rest.strip_prefix('(').or_else(|| rest.strip_prefix('['))
        && let Some(end) = aside.find([')', ']']).filter(|end| *end <= 60)
    {
        rest = &aside[end + 1..];
    }
    let explained = rest.strip_prefix([':', '!']);
    // Without a colon, the text must follow at once, and only tasks are written this way.
    let is_tag = explained.is_some()
        || rest.starts_with([' ', '\t'])
            && (sort.0 == ItemType::Task || name == "HACK")
            && !rest.trim_start().starts_with(['=', '|', ',', ')', '/', '&', '+']);
    let rest = explained.unwrap_or(rest).trim();
    // "TODO list", "TODO comments" and "BUG reports" only mention such things.
    let first = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let speaks_of = explained.is_none()
        && matches!(
            first,
            "list"
                | "lists"
                | "comment"
                | "comments"
                | "item"
                | "items"
                | "tag"
                | "tags"
                | "and"
                | "or"
                | "is"
                | "are"
                | "report"
                | "reports"
                | "entries"
                | "marker"
                | "markers"
        );
    (is_tag && !speaks_of).then_some((sort.0, sort.1, rest))
}

/// Walks the comments of a text line by line. Strings are skipped.
fn comments(marks: &Marks, text: &str, mut each: impl FnMut(usize, &str)) {
    // The end of the current comment or string, and whether it is a comment.
    let mut until: Option<(&str, bool)> = None;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if line.len() > MAX_LINE_BYTES {
            continue;
        }
        let mut rest = line;
        loop {
            if let Some((end, is_comment)) = until {
                let close = close(rest, end, !is_comment);
                if is_comment {
                    each(number, &rest[..close.unwrap_or(rest.len())]);
                }
                let Some(close) = close else { break };
                rest = &rest[close + end.len()..];
                until = None;
            }
            match next(marks, rest) {
                None => break,
                Some(Opening::Line(at)) => {
                    each(number, &rest[at..]);
                    break;
                }
                Some(Opening::Block(at, end, is_comment)) => {
                    rest = &rest[at..];
                    until = Some((end, is_comment));
                }
            }
        }
    }
}

/// The start of a comment or string on a line, and of its content.
enum Opening {
    Line(usize),
    Block(usize, &'static str, bool),
}

/// Finds the first comment or long string of a line, skipping short strings.
fn next(marks: &Marks, line: &str) -> Option<Opening> {
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !line.is_char_boundary(at) {
            at += 1;
            continue;
        }
        let rest = &line[at..];
        let begins = |mark: &&(&str, &str)| rest.starts_with(mark.0);
        if let Some((open, end)) = marks.block.iter().find(begins) {
            return Some(Opening::Block(at + open.len(), end, true));
        }
        if let Some(mark) = marks.line.iter().find(|mark| rest.starts_with(**mark)) {
            // `#` inside a word or a number is no comment: `$#`, `a#b`, `#fff`, `#{x}`; `//` after a colon is
            // an address.
            let before = at.checked_sub(1).map(|before| bytes[before]);
            let after = bytes.get(at + mark.len());
            let is_comment = match *mark {
                "#" => {
                    before.is_none_or(|byte| byte.is_ascii_whitespace() || byte == b';')
                        && after != Some(&b'{')
                }
                "//" => before != Some(b':'),
                "--" => before != Some(b'-') && after != Some(&b'>'),
                "%" => before != Some(b'\\'),
                _ => true,
            };
            if is_comment {
                return Some(Opening::Line(at + mark.len()));
            }
        }
        // A quote as a character literal starts no string.
        if let Some(literal) = ["'\"'", "'\\\"'", "?\""].iter().find(|literal| rest.starts_with(**literal)) {
            at += literal.len();
            continue;
        }
        if let Some((open, end)) = marks.text.iter().find(begins) {
            return Some(Opening::Block(at + open.len(), end, false));
        }
        if let Some(quote) = marks.quotes.iter().find(|quote| rest.starts_with(**quote)) {
            // An unclosed quote is an apostrophe.
            let width = quote.len_utf8();
            at += match close(&rest[width..], &quote.to_string(), true) {
                Some(end) => width + end + width,
                None => width,
            };
            continue;
        }
        at += 1;
    }
    None
}

/// Returns the end of a comment or string; an escaped character does not end a string.
fn close(text: &str, end: &str, is_string: bool) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + text[from..].find(end)?;
        let escapes = text.as_bytes()[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        if !is_string || escapes % 2 == 0 {
            return Some(at);
        }
        from = at + end.len();
    }
}
