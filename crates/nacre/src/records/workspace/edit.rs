//! Texts of files changed as their authors left them: the encoding, the ends of lines, a mark at the beginning, and
//! whether the last line ends, stay as they are.

use crate::base::{Error, Result};

/// The mark that some editors put before a text.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// What becomes of the last line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Last {
    /// It is ended.
    Ended,
    /// It is ended where the one before it was.
    AsBefore,
}

/// Adds lines at the end.
pub(crate) fn append(file: &[u8], text: &str, last: Last) -> Vec<u8> {
    let form = Form::of(file);
    let end = form.bytes("\n");
    let ended = file.is_empty() || form.is_mark(file) || file.ends_with(&form.encoded("\n"));
    let mut after = file.to_vec();
    if !ended {
        after.extend_from_slice(&end);
    }
    after.extend(form.bytes(text));
    if (ended || last == Last::Ended) && !text.ends_with('\n') {
        after.extend(end);
    }
    after
}

/// Puts a text in the place of all there is.
pub(crate) fn replace(file: &[u8], text: &str) -> Vec<u8> {
    let form = Form::of(file);
    let own = text.strip_prefix('\u{feff}').filter(|_| !form.mark.is_empty());
    [form.mark, &form.bytes(own.unwrap_or(text))].concat()
}

/// Puts a text in the place of one that stands there once.
pub(crate) fn edit(file: &[u8], old: &str, new: &str) -> Result<Vec<u8>> {
    let form = Form::of(file);
    let wrong = |problem: &str| Err(Error::bad_argument("memory_write", "old", problem));
    if old.is_empty() {
        return wrong("is empty");
    }
    // As it is, or with the ends of lines that the file has.
    for old in [form.encoded(old), form.bytes(old)] {
        let mut found = places(file, &old).filter(|at| at % form.unit() == 0);
        match (found.next(), found.next()) {
            (Some(at), None) => {
                let (head, tail) = (&file[..at], &file[at + old.len()..]);
                return Ok([head, &form.bytes(new), tail].concat());
            }
            (Some(_), Some(_)) => {
                return wrong("stands there more than once; give more of what is around it");
            }
            (None, _) => {}
        }
    }
    wrong("does not stand in the file; read it with memory_get")
}

/// Where a piece stands in a file, overlapping places included.
fn places<'f>(file: &'f [u8], piece: &'f [u8]) -> impl Iterator<Item = usize> + 'f {
    let first = piece[0];
    let starts = file.iter().enumerate().filter(move |(_, byte)| **byte == first).map(|(at, _)| at);
    starts.filter(move |at| file[*at..].starts_with(piece))
}

/// How lines end in a text: as all of them do.
pub(super) fn line_end(text: &str) -> &'static str {
    Form::of(text.as_bytes()).end
}

/// How a unit of UTF-16 is written.
type Wide = fn(u16) -> [u8; 2];

/// The form that the author gave a file.
struct Form {
    /// What it begins with.
    mark: &'static [u8],
    /// How its lines end, all of them.
    end: &'static str,
    /// The bytes of a unit, where it is UTF-16.
    wide: Option<Wide>,
}

impl Form {
    fn of(file: &[u8]) -> Form {
        let (mark, wide): (&[u8], Option<Wide>) = match file {
            [0xff, 0xfe, ..] => (b"\xff\xfe", Some(u16::to_le_bytes)),
            [0xfe, 0xff, ..] => (b"\xfe\xff", Some(u16::to_be_bytes)),
            _ if file.starts_with(MARK) => (MARK, None),
            _ => (b"", None),
        };
        let mut form = Form { mark, end: "\n", wide };
        let (line, marked) = (form.encoded("\n"), form.encoded("\r\n"));
        // Every end of a line is one of the two, so that as many of each is all of them.
        let count = |end: &[u8]| places(file, end).filter(|at| at % form.unit() == 0).count();
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

    /// A text in the file's encoding, as it is.
    fn encoded(&self, text: &str) -> Vec<u8> {
        match self.wide {
            Some(bytes) => text.encode_utf16().flat_map(bytes).collect(),
            None => text.as_bytes().to_vec(),
        }
    }

    /// A text in the file's encoding, with the ends of lines that the file has.
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
    fn what_the_author_chose_stays() {
        for (file, text, after) in [
            ("", "x", "x\n"),
            ("a\n", "x", "a\nx\n"),
            ("a", "x\n", "a\nx\n"),
            ("a\r\nb", "x\ny", "a\r\nb\r\nx\r\ny\r\n"),
            ("\u{feff}", "x", "\u{feff}x\n"),
            ("a\r\nb\n", "x\n", "a\r\nb\nx\n"),
        ] {
            assert_eq!(String::from_utf8(append(file.as_bytes(), text, Last::Ended)).unwrap(), after);
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
            ("a b a", "a", "x", Err("stands there more than once; give more of what is around it")),
            ("aaa", "aa", "x", Err("stands there more than once; give more of what is around it")),
            ("a", "b", "x", Err("does not stand in the file; read it with memory_get")),
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
        // Whatever else stands there.
        assert_eq!(edit(b"\xff a \xfe", "a", "b").unwrap(), b"\xff b \xfe");
    }

    #[test]
    fn what_is_appended_takes_the_form_of_the_file() {
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
            assert_eq!(append(&before, "- x", Last::AsBefore), after, "{before:?}");
        }
    }

    #[test]
    fn a_wide_file_is_not_written_to_in_narrow_letters() {
        let big = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_be_bytes).collect() };
        let file = big("\u{feff}a\r\nĊ\r\n");
        assert_eq!(append(&file, "x\ny", Last::Ended), big("\u{feff}a\r\nĊ\r\nx\r\ny\r\n"));
        assert_eq!(replace(&file, "x\ny"), big("\u{feff}x\r\ny"));
        assert_eq!(edit(&file, "a\n", "b\n").unwrap(), big("\u{feff}b\r\nĊ\r\n"));
        // Half of one letter and half of the next are none.
        assert!(edit(&big("\u{feff}\u{0161}\u{6200}"), "\u{6162}", "x").is_err());
    }
}
