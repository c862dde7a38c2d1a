//! Functions on plain text: decoding, length, equality and similarity.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// Returns the form in which two texts are compared: they are the same if they are equal after trimming and
/// after normalising Unicode (NFC), white space and case.
///
/// Signs, digits, punctuation and accents carry meaning: `-5` is not `5`, `C++` is not `C#`, `10.1.12.3` is
/// not `10.11.2.3`.
pub(crate) fn canonical(text: &str) -> String {
    // Case comes before NFC: lower case may compose where upper case does not.
    let lower: String = match text.is_ascii() {
        true => text.to_ascii_lowercase(),
        false => text.nfc().flat_map(char::to_lowercase).nfc().collect(),
    };
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns text without characters that a person does not see.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if text.contains(is_unseen) { text.replace(is_unseen, "").into() } else { Cow::Borrowed(text) }
}

/// Tells whether a character is invisible to people but read by models, or changes the direction of the text. Joiners are
/// not: some scripts and emoji need them.
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}')
}

/// Decodes percent-encoding once. Returns `None` if a `%` lacks its two hexadecimal digits, or if the bytes
/// are not UTF-8.
pub fn percent_decode(text: &str) -> Option<String> {
    // The crate leaves a `%` without digits unchanged.
    let is_code =
        |rest: &str| rest.as_bytes().get(..2).is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit));
    if !text.split('%').skip(1).all(is_code) {
        return None;
    }
    percent_encoding::percent_decode_str(text).decode_utf8().ok().map(Into::into)
}

/// How many bytes of a file are inspected to decide whether it is binary.
const BINARY_PROBE_BYTES: usize = 8 << 10;

/// Decodes bytes as text with `\n` line endings, and reports any repair. The error says why the bytes are not
/// text.
pub(crate) fn decode(bytes: &[u8]) -> Result<(String, Option<String>), String> {
    let utf16 = |unit: fn([u8; 2]) -> u16| {
        let (pairs, rest) = bytes[2..].as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
        let mut text = String::from_utf16_lossy(&units);
        text.extend(rest.iter().map(|_| char::REPLACEMENT_CHARACTER));
        (text, Some("was UTF-16".to_owned()))
    };
    let (text, note) = match bytes {
        [0xff, 0xfe, after @ ..] if !after.starts_with(&[0, 0]) => utf16(u16::from_le_bytes),
        [0xfe, 0xff, ..] => utf16(u16::from_be_bytes),
        _ if bytes[..bytes.len().min(BINARY_PROBE_BYTES)].contains(&0) => return Err("is binary".into()),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => (text.to_owned(), None),
            Err(problem) => {
                let at = 1 + bytes[..problem.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
                let note = format!("is not UTF-8 from line {at} on; unreadable bytes are shown as \u{fffd}");
                (String::from_utf8_lossy(bytes).into_owned(), Some(note))
            }
        },
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Ok((if text.contains('\r') { text.replace("\r\n", "\n") } else { text.to_owned() }, note))
}

/// Decodes any bytes as text, with their own line endings.
pub(crate) fn lossy(bytes: &[u8]) -> String {
    let wide = matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
    let decoded = wide.then(|| decode(bytes).ok()).flatten();
    decoded.map_or_else(|| String::from_utf8_lossy(bytes).into_owned(), |(text, _)| text)
}

/// Estimates the number of tokens of a text: a quarter of its letters, plus one for each character of other
/// scripts. The estimate is rather too high than too low.
pub fn tokens(text: &str) -> usize {
    if text.is_ascii() {
        return text.len().div_ceil(4);
    }
    let plain = text.chars().filter(char::is_ascii).count();
    plain.div_ceil(4) + text.chars().filter(|c| !c.is_ascii() && !c.is_whitespace()).count()
}

/// Cuts a text at a word boundary to at most `most` characters, and marks the cut.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    let head = &text[..end];
    let word = head.rfind(char::is_whitespace).filter(|at| *at > end / 2).unwrap_or(end);
    format!("{} …", head[..word].trim_end())
}

/// Returns the known name that `given` was probably meant to be.
pub(crate) fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given: Vec<char> = given.chars().take(64).collect();
    known
        .into_iter()
        .map(|name| (edits(&given, &name.chars().collect::<Vec<_>>()), name))
        .filter(|(edits, name)| *edits <= 1 + name.len() / 4)
        .min()
        .map(|(_, name)| name)
}

/// Tells whether two words are one edit apart.
pub(crate) fn is_one_edit(left: &str, right: &str) -> bool {
    left.len().abs_diff(right.len()) <= 4
        && edits(&left.chars().collect::<Vec<_>>(), &right.chars().collect::<Vec<_>>()) == 1
}

/// Returns the Levenshtein distance between two words.
fn edits(left: &[char], right: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, r) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(l != r);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

/// Shortens the caller's input for a message, so that a huge value is not echoed in full.
pub(crate) fn shorten(text: &str) -> String {
    const MAX_SHOWN_CHARS: usize = 60;
    let mut shown: String =
        text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).take(MAX_SHOWN_CHARS).collect();
    if text.chars().nth(MAX_SHOWN_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

/// Tells whether a text contains a phrase as whole words.
pub(crate) fn says(lower: &str, phrase: &str) -> bool {
    let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    lower.match_indices(phrase).any(|(at, found)| {
        is_edge(lower[..at].chars().next_back()) && is_edge(lower[at + found.len()..].chars().next())
    })
}

/// Splits a text into sentences and lines, in order. Parts without a letter or digit are omitted.
pub(crate) fn sentences(text: &str) -> Vec<&str> {
    const ENDS: [char; 6] = ['.', '!', '?', '。', '！', '？'];
    let (mut found, mut start, mut ended) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        let ends = c == '\n' || (ended && c.is_whitespace() && !abbreviates(&text[start..at]));
        if ends {
            found.push(&text[start..at]);
            start = at;
        }
        ended = ENDS.contains(&c);
    }
    found.push(&text[start..]);
    found.into_iter().map(str::trim).filter(|one| one.contains(char::is_alphanumeric)).collect()
}

/// Returns whether a text ends in a period that does not end a sentence: `Dr.`, `e.g.`, `J.`
fn abbreviates(text: &str) -> bool {
    let last = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    let Some(bare) = last.strip_suffix('.') else { return false };
    let bare = bare.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    bare.chars().count() == 1
        || matches!(
            bare.as_str(),
            "dr" | "mr" | "mrs" | "ms" | "prof" | "st" | "no" | "e.g" | "i.e" | "etc" | "vs"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_white_space_case_and_normal_form_are_ignored() {
        for (left, right) in [
            ("  The  staging\tserver\n", "the STAGING server"),
            ("Caf\u{e9}", "cafe\u{301}"),
            ("\u{c5}ngstr\u{f6}m", "\u{212b}ngstro\u{308}m"),
        ] {
            assert_eq!(canonical(left), canonical(right));
        }
        for (left, right) in [
            ("-5", "5"),
            ("version 1.5", "version 15"),
            ("IP is 10.1.12.3", "IP is 10.11.2.3"),
            ("C++", "C#"),
            ("x >= 5", "x <= 5"),
            ("rm -rf ./tmp", "rm -rf /tmp"),
            (":-)", ":-("),
            ("* * 1", "* 1 *"),
            ("a.b@x.com", "ab@x.com"),
            ("a\u{f1}o", "ano"),
            ("\u{1f980}", "\u{1f422}"),
            ("It works.", "It works!"),
        ] {
            assert_ne!(canonical(left), canonical(right));
        }
    }

    #[test]
    fn tokens_are_rather_too_many() {
        for (text, least, most) in [("", 0, 0), ("a word or two", 4, 5), ("日本語", 3, 3), ("Lydhør", 2, 3)]
        {
            assert!((least..=most).contains(&tokens(text)), "{text}: {}", tokens(text));
        }
    }

    #[test]
    fn suggests_what_was_probably_meant() {
        let known = ["memory_store", "memory_search", "memory_brief"];
        for (given, meant) in [
            ("memory_stor", Some("memory_store")),
            ("memry_search", Some("memory_search")),
            ("zzz", None),
            ("", None),
        ] {
            assert_eq!(nearest(given, known), meant, "{given}");
        }
    }

    #[test]
    fn bytes_become_text() {
        let wide = |text: &str, order: fn(u16) -> [u8; 2]| {
            std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(order).collect::<Vec<u8>>()
        };
        for (bytes, text, repaired) in [
            (b"plain\r\ntext".to_vec(), "plain\ntext", false),
            ("\u{feff}Größe".as_bytes().to_vec(), "Größe", false),
            (b"caf\xe9 au lait".to_vec(), "caf\u{fffd} au lait", true),
            (wide("Größe 🐚", u16::to_le_bytes), "Größe 🐚", true),
            (wide("Größe", u16::to_be_bytes), "Größe", true),
            ([wide("odd", u16::to_le_bytes), vec![b'x']].concat(), "odd\u{fffd}", true),
            (Vec::new(), "", false),
        ] {
            let (found, note) = decode(&bytes).unwrap();
            assert_eq!((found.as_str(), note.is_some()), (text, repaired));
        }
        for binary in [&b"\x7fELF\0"[..], b"\xff\xfe\0\0a\0\0\0"] {
            assert_eq!(decode(binary).unwrap_err(), "is binary");
        }
    }

    #[test]
    fn paths_of_addresses_are_decoded_once() {
        for (path, expected) in [
            ("MEMORY.md", Some("MEMORY.md")),
            ("memory/a%20b.md", Some("memory/a b.md")),
            ("gr%C3%B6%C3%9Fe.md", Some("größe.md")),
            ("%252e%252e/x.md", Some("%2e%2e/x.md")),
            ("x%2", None),
            ("x%+1", None),
            ("x%zz", None),
            ("x%ff.md", None),
        ] {
            assert_eq!(percent_decode(path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn sentences_end_where_people_end_them() {
        for (text, expected) in [
            ("One. Two! Three?", vec!["One.", "Two!", "Three?"]),
            ("Ask Dr. Falk. Then go", vec!["Ask Dr. Falk.", "Then go"]),
            ("a line\n\n- another", vec!["a line", "- another"]),
            ("p99 was 2.4 seconds", vec!["p99 was 2.4 seconds"]),
            ("...", vec![]),
        ] {
            assert_eq!(sentences(text), expected, "{text}");
        }
    }
}
