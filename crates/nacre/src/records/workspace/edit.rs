//! Edits text files and preserves their form: the encoding, the line ends, a byte order mark, and whether the
//! last line ends in a line break.

use crate::base::{Error, Result};

/// The UTF-8 byte order mark.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// How appended text ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastLine {
    /// With a line break.
    Ended,
    /// With a line break only if the file ended in one.
    AsBefore,
}

/// Appends lines.
pub(crate) fn append(file: &[u8], text: &str, last: LastLine) -> Vec<u8> {
    let form = TextForm::of(file);
    let end = form.bytes("\n");
    let ended = file.is_empty() || form.is_mark(file) || file.ends_with(&form.encoded("\n"));
    let mut after = file.to_vec();
    if !ended {
        after.extend_from_slice(&end);
    }
    after.extend(form.bytes(text));
    if (ended || last == LastLine::Ended) && !text.ends_with('\n') {
        after.extend(end);
    }
    after
}

/// Replaces the whole text.
pub(crate) fn replace(file: &[u8], text: &str) -> Vec<u8> {
    let form = TextForm::of(file);
    let own = text.strip_prefix('\u{feff}').filter(|_| !form.mark.is_empty());
    [form.mark, &form.bytes(own.unwrap_or(text))].concat()
}

/// Replaces a text that occurs exactly once.
pub(crate) fn edit(file: &[u8], old: &str, new: &str) -> Result<Vec<u8>> {
    let form = TextForm::of(file);
    let wrong = |problem: &str| Err(Error::bad_argument("memory_write", "old", problem));
    if old.is_empty() {
        return wrong("is empty");
    }
    // Try the text as given, then with the line ends of the file.
    for old in [form.encoded(old), form.bytes(old)] {
        let mut found = occurrences(file, &old).filter(|at| at % form.unit() == 0);
        match (found.next(), found.next()) {
            (Some(at), None) => {
                let (head, tail) = (&file[..at], &file[at + old.len()..]);
                return Ok([head, &form.bytes(new), tail].concat());
            }
            (Some(_), Some(_)) => {
                return wrong("occurs more than once in the file; include more of the surrounding text");
            }
            (None, _) => {}
        }
    }
    wrong("does not occur in the file; read it with memory_get")
}

/// Returns the positions of a byte sequence, including overlapping ones.
fn occurrences<'f>(file: &'f [u8], piece: &'f [u8]) -> impl Iterator<Item = usize> + 'f {
    let first = piece[0];
    let starts = file.iter().enumerate().filter(move |(_, byte)| **byte == first).map(|(at, _)| at);
    starts.filter(move |at| file[*at..].starts_with(piece))
}

/// Returns the line end of a text: `\r\n` only if all lines end so.
pub(super) fn line_end(text: &str) -> &'static str {
    TextForm::of(text.as_bytes()).end
}

/// Writes a UTF-16 code unit as bytes.
type ToBytes = fn(u16) -> [u8; 2];

/// The form of a text file.
struct TextForm {
    /// The byte order mark, or nothing.
    mark: &'static [u8],
    /// The line end.
    end: &'static str,
    /// The byte order, if the file is UTF-16.
    wide: Option<ToBytes>,
}

impl TextForm {
    fn of(file: &[u8]) -> TextForm {
        let (mark, wide): (&[u8], Option<ToBytes>) = match file {
            [0xff, 0xfe, ..] => (b"\xff\xfe", Some(u16::to_le_bytes)),
            [0xfe, 0xff, ..] => (b"\xfe\xff", Some(u16::to_be_bytes)),
            _ if file.starts_with(BYTE_ORDER_MARK) => (BYTE_ORDER_MARK, None),
            _ => (b"", None),
        };
        let mut form = TextForm { mark, end: "\n", wide };
        let (line, marked) = (form.encoded("\n"), form.encoded("\r\n"));
        // CRLF contains LF, so equal counts mean that every line ends in CRLF.
        let count = |end: &[u8]| occurrences(file, end).filter(|at| at % form.unit() == 0).count();
        let all = count(&line);
        if all > 0 && count(&marked) == all {
            form.end = "\r\n";
        }
        form
    }

    fn unit(&self) -> usize {
        if self.wide.is_some() { 2 } else { 1 }
    }

    fn is_mark(&self, file: &[u8]) -> bool {
        !self.mark.is_empty() && file == self.mark
    }

    /// Encodes a text without changing its line ends.
    fn encoded(&self, text: &str) -> Vec<u8> {
        match self.wide {
            Some(bytes) => text.encode_utf16().flat_map(bytes).collect(),
            None => text.as_bytes().to_vec(),
        }
    }

    /// Encodes a text with the line ends of the file.
    fn bytes(&self, text: &str) -> Vec<u8> {
        match self.end {
            "\n" => self.encoded(text),
            end => self.encoded(&text.replace("\r\n", "\n").replace('\n', end)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_preserve_the_form_of_a_file() {
        for (file, text, after) in [
            ("", "x", "x\n"),
            ("a\n", "x", "a\nx\n"),
            ("a", "x\n", "a\nx\n"),
            ("a\r\nb", "x\ny", "a\r\nb\r\nx\r\ny\r\n"),
            ("\u{feff}", "x", "\u{feff}x\n"),
            ("a\r\nb\n", "x\n", "a\r\nb\nx\n"),
        ] {
            assert_eq!(String::from_utf8(append(file.as_bytes(), text, LastLine::Ended)).unwrap(), after);
        }
        for (file, text, after) in [
            ("\u{feff}a\r\n", "x\ny", "\u{feff}x\r\ny"),
            ("\u{feff}a\n", "\u{feff}x", "\u{feff}x"),
            ("a", "x\r\ny", "x\r\ny"),
        ] {
            assert_eq!(String::from_utf8(replace(file.as_bytes(), text)).unwrap(), after);
        }
        for (file, old, new, after) in [
            ("a\r\nb\r\nc", "a\nb", "x\ny", Ok("x\r\ny\r\nc")),
            (
                "a b a",
                "a",
                "x",
                Err("occurs more than once in the file; include more of the surrounding text"),
            ),
            (
                "aaa",
                "aa",
                "x",
                Err("occurs more than once in the file; include more of the surrounding text"),
            ),
            ("a", "b", "x", Err("does not occur in the file; read it with memory_get")),
            ("a", "", "x", Err("is empty")),
            ("\u{feff}a", "a", "b", Ok("\u{feff}b")),
        ] {
            let found = edit(file.as_bytes(), old, new).map(|bytes| String::from_utf8(bytes).unwrap());
            match (found, after) {
                (Ok(found), Ok(after)) => assert_eq!(found, after),
                (Err(found), Err(after)) => assert!(found.to_string().ends_with(after), "{found}"),
                (found, after) => panic!("{found:?}, not {after:?}"),
            }
        }
        // Invalid UTF-8 around it does not matter.
        assert_eq!(edit(b"\xff a \xfe", "a", "b").unwrap(), b"\xff b \xfe");
    }

    #[test]
    fn appended_text_takes_the_form_of_the_file() {
        let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        for (before, after) in [
            (b"".to_vec(), b"- x\n".to_vec()),
            (b"a\n".to_vec(), b"a\n- x\n".to_vec()),
            (b"a".to_vec(), b"a\n- x".to_vec()),
            (b"a\r\n".to_vec(), b"a\r\n- x\r\n".to_vec()),
            (b"a\r\nb".to_vec(), b"a\r\nb\r\n- x".to_vec()),
            (b"\xef\xbb\xbfa\n".to_vec(), b"\xef\xbb\xbfa\n- x\n".to_vec()),
            (b"\xef\xbb\xbf".to_vec(), b"\xef\xbb\xbf- x\n".to_vec()),
            (wide("\u{feff}a\n"), wide("\u{feff}a\n- x\n")),
            (wide("\u{feff}a"), wide("\u{feff}a\n- x")),
            (b"\xff\xfe".to_vec(), wide("\u{feff}- x\n")),
        ] {
            assert_eq!(append(&before, "- x", LastLine::AsBefore), after, "{before:?}");
        }
    }

    #[test]
    fn utf16_files_stay_utf16() {
        let big = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_be_bytes).collect() };
        let file = big("\u{feff}a\r\nĊ\r\n");
        assert_eq!(append(&file, "x\ny", LastLine::Ended), big("\u{feff}a\r\nĊ\r\nx\r\ny\r\n"));
        assert_eq!(replace(&file, "x\ny"), big("\u{feff}x\r\ny"));
        assert_eq!(edit(&file, "a\n", "b\n").unwrap(), big("\u{feff}b\r\nĊ\r\n"));
        // Half of one character and half of the next do not match.
        assert!(edit(&big("\u{feff}\u{0161}\u{6200}"), "\u{6162}", "x").is_err());
    }
}
