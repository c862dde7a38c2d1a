//! Texts of files changed as their authors left them: the ends of lines, a mark at the beginning, and whether the last
//! line ends, stay as they are.

use crate::{Error, Result};

/// The mark that some editors put before a text.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// Adds lines at the end.
pub(crate) fn append(file: &[u8], text: &str) -> Vec<u8> {
    let (end, mut after) = (line_end(file), file.to_vec());
    if !file.is_empty() && file != MARK && !file.ends_with(b"\n") {
        after.extend_from_slice(end.as_bytes());
    }
    after.extend(with_ends(text, end).into_bytes());
    if !after.ends_with(b"\n") {
        after.extend_from_slice(end.as_bytes());
    }
    after
}

/// Puts a text in the place of all there is.
pub(crate) fn replace(file: &[u8], text: &str) -> Vec<u8> {
    let mark = if file.starts_with(MARK) && !text.as_bytes().starts_with(MARK) { MARK } else { b"" };
    [mark, with_ends(text, line_end(file)).as_bytes()].concat()
}

/// Puts a text in the place of one that stands there once.
pub(crate) fn edit(file: &[u8], old: &str, new: &str) -> Result<Vec<u8>> {
    let end = line_end(file);
    let wrong = |problem: &str| {
        let (tool, field) = ("memory_write".into(), "old".into());
        Err(Error::BadArgument { tool, field, problem: problem.into(), nearest: None })
    };
    if old.is_empty() {
        return wrong("is empty");
    }
    // As it is, or with the ends of lines that the file has.
    for old in [old.to_owned(), with_ends(old, end)] {
        let mut found = places(file, old.as_bytes());
        match (found.next(), found.next()) {
            (Some(at), None) => {
                let (head, tail) = (&file[..at], &file[at + old.len()..]);
                return Ok([head, with_ends(new, end).as_bytes(), tail].concat());
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

/// How lines end in a file: as all of them do.
fn line_end(file: &[u8]) -> &'static str {
    let all = file.iter().filter(|byte| **byte == b'\n').count();
    let marked = file.windows(2).filter(|pair| pair == b"\r\n").count();
    if all > 0 && marked == all { "\r\n" } else { "\n" }
}

fn with_ends(text: &str, end: &str) -> String {
    if end == "\n" { text.to_owned() } else { text.replace("\r\n", "\n").replace('\n', end) }
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
            assert_eq!(String::from_utf8(append(file.as_bytes(), text)).unwrap(), after);
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
}
