//! Splits bytes into JSON values: the lines of a file, or the elements of an array, with one in memory at a
//! time.
//!
//! An array is split at its commas before anything is parsed, so that a broken element does not affect the
//! others.

use std::borrow::Cow;
use std::io::{self, BufRead, ErrorKind, Read as _};

use serde_json::Value;

use super::Reason;

/// The maximum length of a line.
const MAX_LINE_BYTES: usize = 16 << 20;
/// The maximum length of an array element: one conversation with all its messages.
const MAX_ELEMENT_BYTES: usize = 32 << 20;

/// The JSON values of an input.
pub(crate) struct Values<R> {
    input: R,
    frame: Frame,
    /// The number of the line or element that was read last.
    number: usize,
    elements: usize,
    buffer: Vec<u8>,
}

/// The position in the input.
#[derive(Clone, Copy)]
enum Frame {
    /// Before the first byte, which decides between lines and an array.
    Start,
    Lines,
    Array,
    End,
}

/// A value with its number.
pub(crate) struct NumberedValue {
    /// The number of the line or array element, from 1.
    pub number: usize,
    pub value: Item,
}

/// A value, or the reason why it can't be used.
pub(crate) enum Item {
    /// `mended`: it had invalid Unicode, which was replaced.
    Value {
        value: Value,
        mended: bool,
    },
    Bad {
        why: Reason,
        problem: String,
    },
}

/// A piece of the input.
enum Piece {
    /// The piece is in the buffer. `last`: the input ends after it.
    Whole {
        last: bool,
    },
    TooLong {
        limit: usize,
    },
    Cut,
}

impl<R: BufRead> Values<R> {
    pub(crate) fn new(input: R) -> Values<R> {
        Values { input, frame: Frame::Start, number: 0, elements: 0, buffer: Vec::new() }
    }

    /// Returns the next value, or `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<NumberedValue>> {
        let piece = loop {
            match self.frame {
                Frame::Start => self.start()?,
                Frame::Lines => match self.line()? {
                    Some(piece) => break piece,
                    None => self.frame = Frame::End,
                },
                Frame::Array => match self.element()? {
                    Some(piece) => break piece,
                    // Input after the array is examined like the beginning, so that nothing is missed.
                    None => self.frame = Frame::Start,
                },
                Frame::End => return Ok(None),
            }
        };
        let value = match piece {
            Piece::Whole { last } => parse(&self.buffer, last),
            Piece::TooLong { limit } => {
                Item::Bad { why: Reason::TooLong, problem: format!("the limit is {} MiB", limit >> 20) }
            }
            Piece::Cut => Item::Bad { why: Reason::Cut, problem: "the array is not closed".to_owned() },
        };
        Ok(Some(NumberedValue { number: self.number, value }))
    }

    /// Skips white space and a byte order mark, and examines the first byte.
    fn start(&mut self) -> io::Result<()> {
        loop {
            let byte = chunk(&mut self.input)?.first().copied();
            match byte {
                None => {
                    self.frame = Frame::End;
                    return Ok(());
                }
                Some(b'[') => {
                    self.input.consume(1);
                    self.frame = Frame::Array;
                    self.number = self.elements;
                    return Ok(());
                }
                Some(b'\n') => self.number += 1,
                Some(b' ' | b'\t' | b'\r' | 0xEF | 0xBB | 0xBF) => {}
                Some(_) => {
                    self.frame = Frame::Lines;
                    return Ok(());
                }
            }
            self.input.consume(1);
        }
    }

    /// Reads the next line that is not blank.
    fn line(&mut self) -> io::Result<Option<Piece>> {
        loop {
            self.buffer.clear();
            let limit = MAX_LINE_BYTES + 1;
            let read = (&mut self.input).take(limit as u64).read_until(b'\n', &mut self.buffer)?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            let last = self.buffer.last() != Some(&b'\n');
            if last && read == limit {
                self.input.skip_until(b'\n')?;
                return Ok(Some(Piece::TooLong { limit: MAX_LINE_BYTES }));
            }
            if !self.buffer.trim_ascii().is_empty() {
                return Ok(Some(Piece::Whole { last }));
            }
        }
    }

    /// Reads the next element; `None` after the last.
    fn element(&mut self) -> io::Result<Option<Piece>> {
        self.buffer.clear();
        let mut nesting = Nesting::default();
        let mut size = 0;
        loop {
            let chunk = chunk(&mut self.input)?;
            if chunk.is_empty() {
                self.frame = Frame::End;
                self.count();
                return Ok(Some(Piece::Cut));
            }
            let end = chunk.iter().position(|&byte| nesting.ends_at(byte));
            let piece = &chunk[..end.unwrap_or(chunk.len())];
            let (taken, closing) = (piece.len(), end.map(|end| chunk[end]));
            size += taken;
            if size <= MAX_ELEMENT_BYTES {
                self.buffer.extend_from_slice(piece);
            }
            self.input.consume(taken + usize::from(end.is_some()));
            let Some(closing) = closing else { continue };
            let closed = closing == b']';
            if closed {
                self.frame = Frame::Start;
            }
            if size > MAX_ELEMENT_BYTES {
                self.count();
                return Ok(Some(Piece::TooLong { limit: MAX_ELEMENT_BYTES }));
            }
            if !self.buffer.trim_ascii().is_empty() {
                self.count();
                return Ok(Some(Piece::Whole { last: false }));
            }
            if closed {
                return Ok(None);
            }
            (size, nesting) = (0, Nesting::default());
            self.buffer.clear();
        }
    }

    fn count(&mut self) {
        self.elements += 1;
        self.number = self.elements;
    }
}

/// Returns the buffered input, which is empty at the end.
fn chunk(input: &mut impl BufRead) -> io::Result<&[u8]> {
    loop {
        match input.fill_buf() {
            Err(problem) if problem.kind() == ErrorKind::Interrupted => {}
            Err(problem) => return Err(problem),
            Ok(_) => break,
        }
    }
    input.fill_buf()
}

/// The depth of brackets and strings in an array element.
#[derive(Default)]
struct Nesting {
    depth: usize,
    string: bool,
    escape: bool,
}

impl Nesting {
    /// Steps over a byte. Returns whether it ends the element.
    fn ends_at(&mut self, byte: u8) -> bool {
        if self.escape {
            self.escape = false;
        } else if self.string {
            self.escape = byte == b'\\';
            self.string = byte != b'"';
        } else {
            match byte {
                b'"' => self.string = true,
                b'{' | b'[' => self.depth += 1,
                b',' | b']' if self.depth == 0 => return true,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        false
    }
}

/// Parses one value. `last`: the input ends after it, so an incomplete value was cut off.
fn parse(bytes: &[u8], last: bool) -> Item {
    let text = str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
    let problem = match serde_json::from_str(&text) {
        Ok(value) => return Item::Value { value, mended: matches!(text, Cow::Owned(_)) },
        Err(problem) => problem,
    };
    if let Some(Ok(value)) = whole_surrogates(&text).map(|text| serde_json::from_str(&text)) {
        return Item::Value { value, mended: true };
    }
    let why = if last && problem.is_eof() { Reason::Cut } else { Reason::NotJson };
    // Without "at line 1": the note has the number of the line.
    let words = problem.to_string();
    let words = words.split(" at line ").next().unwrap_or_default();
    Item::Bad { why, problem: format!("{words} at column {}", problem.column()) }
}

/// Replaces unpaired surrogates; `None` if there are none. JavaScript can cut a string in the middle of an
/// emoji and write half of it as an escape, and serde_json then refuses the whole value.
fn whole_surrogates(text: &str) -> Option<String> {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut whole = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(next) = text[at..].find('\\') {
        at += next;
        at += match unit(at) {
            Some(0xD800..=0xDBFF) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => {
                whole.push_str(&text[copied..at]);
                whole.push_str("\\ufffd");
                copied = at + 6;
                6
            }
            // Skip the backslash and the character that it escapes.
            _ => 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        };
    }
    whole.push_str(&text[copied..]);
    (copied > 0).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows the values as JSON and the rest as reasons, each with its number.
    fn shown(input: &[u8]) -> Vec<String> {
        // A buffer of three bytes splits every piece.
        let mut values = Values::new(io::BufReader::with_capacity(3, input));
        let mut shown = Vec::new();
        while let Some(NumberedValue { number, value }) = values.next().unwrap() {
            shown.push(match value {
                Item::Value { value, mended } => {
                    format!("{number} {value}{}", if mended { " mended" } else { "" })
                }
                Item::Bad { why, .. } => format!("{number} {why}"),
            });
        }
        shown
    }

    #[test]
    fn cuts_the_input_into_values() {
        for (input, expected) in [
            // Lines.
            (r#"{"a":1}"#, &[r#"1 {"a":1}"#][..]),
            ("{\"a\":1}\r\n\n \n{\"b\":2}\n", &[r#"1 {"a":1}"#, r#"4 {"b":2}"#]),
            ("\u{feff}\n{}\n{", &["2 {}", "3 cut off in the middle"]),
            ("{}\n{\n{}\n", &["1 {}", "2 not JSON", "3 {}"]),
            // Arrays.
            ("[]", &[]),
            (" [1, \"a,]\\\"\" ,{\"b\":[{}]}\n]\n", &["1 1", "2 \"a,]\\\"\"", "3 {\"b\":[{}]}"]),
            ("[{\"a\":1},{broken},,{\"b\":2}]", &["1 {\"a\":1}", "2 not JSON", "3 {\"b\":2}"]),
            ("[1}},2]", &["1 not JSON", "2 2"]),
            ("[{\"a\":1},{\"b\":", &["1 {\"a\":1}", "2 cut off in the middle"]),
            ("[1", &["1 cut off in the middle"]),
            ("[1][2]\n{}", &["1 1", "2 2", "4 {}"]),
            // Neither.
            ("", &[]),
            ("\n \n", &[]),
            ("plain words\n", &["1 not JSON"]),
            // Broken Unicode.
            (
                r#"["\ud83d\ude00 \ud83d x \\ud83d \ude00"]"#,
                &["1 \"😀 \u{fffd} x \\\\ud83d \u{fffd}\" mended"],
            ),
        ] {
            assert_eq!(shown(input.as_bytes()), expected, "{input}");
        }
        assert_eq!(shown(b"\"a\xffb\""), ["1 \"a\u{fffd}b\" mended"]);
    }

    #[test]
    fn values_too_long_or_too_deep_affect_only_themselves() {
        let long = format!("1\n\"{}\"\n2", "x".repeat(MAX_LINE_BYTES));
        let mut values = Values::new(long.as_bytes());
        let mut numbers = Vec::new();
        while let Some(NumberedValue { number, value }) = values.next().unwrap() {
            numbers.push((number, matches!(value, Item::Bad { why: Reason::TooLong, .. })));
        }
        assert_eq!(numbers, [(1, false), (2, true), (3, false)]);

        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        assert_eq!(shown(format!("{{}}\n{deep}\n{{}}").as_bytes()), ["1 {}", "2 not JSON", "3 {}"]);
        assert_eq!(shown(format!("[{{}},{deep},{{}}]").as_bytes()), ["1 {}", "2 not JSON", "3 {}"]);
    }
}
