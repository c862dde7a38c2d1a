//! Redaction of credentials: everything that is returned passes through [`value`] or [`text`].
//!
//! A credential is told by its prefix ([`TOKENS`]), its shape ([`FORMS`]) or its name ("password: …"). The text is searched without
//! invisible characters and with full-width letters as ASCII. Base64 that hides a known prefix is masked too. A pattern is compiled
//! and tried only if one of its triggers occurs in the text (`Present`), so a process that answers one search usually compiles none.

mod column;
mod command;
mod form;
mod keyed;
mod near;
mod phrase;
mod token;
mod trigger;
mod view;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

use memchr::memmem;
use regex::Regex;
use serde_json::{Map, Value};

pub use form::FORMS;
pub use token::TOKENS;
use trigger::Present;
use view::View;

/// The text that replaces a secret.
pub const MASK: &str = "[REDACTED]";

/// The minimum length of a secret with its name, in bytes: a shorter text can't be distinguished from words.
const MIN_SECRET_LEN: usize = 10;

/// The least length of a prefixed token, in bytes.
const MIN_TOKEN_LEN: usize = 15;

/// The length of base64 that may hide a credential.
const BASE64_LEN: Range<usize> = 24..4096;

/// Masks every credential in a text.
pub fn text(text: &str) -> Cow<'_, str> {
    masked(text, Lines::Fold)
}

/// Masks every credential in a document without changing its line numbers. An unclosed key ends at the last
/// line that looks like part of it, so that a document that only mentions how a key begins is not lost.
pub(crate) fn document(text: &str) -> Cow<'_, str> {
    masked(text, Lines::Keep)
}

/// How line breaks inside a secret are handled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    Fold,
    Keep,
}

fn masked(text: &str, lines: Lines) -> Cow<'_, str> {
    if text.len() < MIN_SECRET_LEN {
        return Cow::Borrowed(text);
    }
    // An answer and its text, such as that of `boot`, hold the same words twice.
    if is_last_clean(text) {
        return Cow::Borrowed(text);
    }
    let view = View::of(text);
    let mut found = secrets(&view.text);
    if found.is_empty() {
        keep_clean(text);
        return Cow::Borrowed(text);
    }
    if lines == Lines::Keep {
        found = found.into_iter().flat_map(|range| shortened(&view.text, range)).collect();
    }
    found.iter_mut().for_each(|range| *range = view.original(range.clone()));
    found.sort_unstable_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    let mut masked = String::with_capacity(text.len());
    let mut done = 0;
    for range in found {
        // A secret inside another, such as a token in a URL.
        if range.start < done {
            if range.end > done {
                masked.extend(breaks(&text[done..range.end], lines));
                done = range.end;
            }
            continue;
        }
        masked.push_str(&text[done..range.start]);
        masked.push_str(MASK);
        masked.extend(breaks(&text[range.clone()], lines));
        done = range.end;
    }
    masked.push_str(&text[done..]);
    Cow::Owned(masked)
}

thread_local! {
    /// The last long text without a credential.
    static LAST_CLEAN: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The length in bytes from which the last clean text is kept.
const LONG_TEXT: Range<usize> = 4 << 10..1 << 20;

fn is_last_clean(text: &str) -> bool {
    LONG_TEXT.contains(&text.len()) && LAST_CLEAN.with_borrow(|last| last == text)
}

fn keep_clean(text: &str) {
    if LONG_TEXT.contains(&text.len()) {
        LAST_CLEAN.with_borrow_mut(|last| text.clone_into(last));
    }
}

/// Ends an unclosed key at the last line that looks like part of it. The text after it may contain more.
fn shortened(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let end = range.start + key_end(&text[range.clone()]);
    let rest = if end < range.end { secrets(&text[end..range.end]) } else { Vec::new() };
    let shifted = rest.into_iter().map(|more| more.start + end..more.end + end);
    let mut found: Vec<_> = shifted.flat_map(|more| shortened(text, more)).collect();
    found.push(range.start..end);
    found
}

/// Returns the line breaks that stay in place of a secret.
fn breaks(secret: &str, lines: Lines) -> impl Iterator<Item = char> {
    let count = if lines == Lines::Keep { secret.matches('\n').count() } else { 0 };
    std::iter::repeat_n('\n', count)
}

/// Returns the ranges of the credentials in a text, which may overlap.
fn secrets(text: &str) -> Vec<Range<usize>> {
    let shape = Shape::of(text);
    let mut found = plain_secrets(text, &shape);
    if shape.longest_run >= BASE64_LEN.start || memmem::find(text.as_bytes(), b"asic ").is_some() {
        hidden(text, &mut found);
    }
    found.retain(|range| !text[range.clone()].starts_with(MASK));
    found
}

/// Returns the credentials that are not encoded.
fn plain_secrets(text: &str, shape: &Shape) -> Vec<Range<usize>> {
    let (present, longest) = (Present::of(text), shape.longest_run);
    let mut found = Vec::new();
    form::find(text, longest, &present, &mut found);
    // A token may go on in the next line, or in the next string.
    let is_split = || ["\n", "\" +", "' +", "\" .", "' ."].iter().any(|joint| text.contains(joint));
    if longest >= MIN_TOKEN_LEN || (longest >= MIN_TOKEN_LEN / 2 && is_split()) {
        token::find(text, &present, &mut found);
    }
    command::find(text, &present, &mut found);
    phrase::find(text, &present, &mut found);
    let has_name = present.has_name() || keyed::may_be_elsewhere(text);
    if has_name {
        keyed::find(text, &mut found);
        if text.contains('\n') {
            column::find(text, &mut found);
        }
    }
    near::find(text, has_name, shape, &present, &mut found);
    found
}

/// Compiles a pattern whose `\w`, `\d`, `\s` and `\b` mean ASCII, which takes a tenth of the time. A test compiles every pattern.
fn compile(pattern: &str) -> Regex {
    let mut ascii = String::with_capacity(pattern.len() * 2);
    let (mut chars, mut in_class) = (pattern.chars(), false);
    while let Some(c) = chars.next() {
        match c {
            '\\' => match (chars.next(), in_class) {
                (Some('w'), true) => ascii.push_str("A-Za-z0-9_"),
                (Some('w'), false) => ascii.push_str("[A-Za-z0-9_]"),
                (Some('d'), true) => ascii.push_str("0-9"),
                (Some('d'), false) => ascii.push_str("[0-9]"),
                (Some('s'), true) => ascii.push_str(r" \t\r\n"),
                (Some('s'), false) => ascii.push_str(r"[ \t\r\n]"),
                (Some('b'), false) => ascii.push_str(r"(?-u:\b)"),
                (Some(other), _) => ascii.extend(['\\', other]),
                (None, _) => ascii.push('\\'),
            },
            '[' | ']' => {
                in_class = c == '[';
                ascii.push(c);
            }
            c => ascii.push(c),
        }
    }
    Regex::new(&ascii).expect("a pattern of the tables")
}

/// The features of a text that one pass over its bytes finds. Most texts lack what most patterns need.
struct Shape {
    /// The length of the longest run between white space and punctuation that encloses: prose has none that is long enough for a
    /// token.
    longest_run: usize,
    /// Whether two digits are side by side.
    has_digits: bool,
    /// Whether six characters are apart, each with white space around it.
    is_spelled: bool,
}

impl Shape {
    fn of(text: &str) -> Shape {
        let mut shape = Shape { longest_run: 0, has_digits: false, is_spelled: false };
        // Where the run and the word begin, and how many words of one character come before it.
        let (mut run, mut word, mut spelled) = (0, 0, 0);
        let (mut two_digits, mut before) = (0, 0);
        let bytes = text.as_bytes();
        let mut at = 0;
        // The end of the text is white space.
        while at <= bytes.len() {
            let class = if at < bytes.len() { CLASSES[usize::from(bytes[at])] } else { ENDS_RUN | ENDS_WORD };
            two_digits |= class & before;
            before = class & DIGIT;
            if class & ENDS_RUN != 0 {
                shape.longest_run = shape.longest_run.max(at - run);
                run = at + 1;
                if class & ENDS_WORD != 0 {
                    spelled = if at - word == 1 { spelled + 1 } else { 0 };
                    shape.is_spelled |= spelled == 6;
                    word = at + 1;
                }
            }
            at += 1;
        }
        shape.has_digits = two_digits != 0;
        shape
    }
}

/// The classes of bytes for [`Shape`], as bits.
const ENDS_RUN: u8 = 1;
const ENDS_WORD: u8 = 2;
const DIGIT: u8 = 4;

/// The classes of each byte, as a table: every text that is stored or returned passes here.
static CLASSES: [u8; 256] = {
    let (mut table, mut byte) = ([0; 256], 0u8);
    loop {
        table[byte as usize] = match byte {
            b' ' | b'\t' | b'\r' | b'\n' | b'\x0c' => ENDS_RUN | ENDS_WORD,
            b'\x0b' | b'"' | b'\'' | b'`' | b',' | b';' | b'(' | b')' => ENDS_RUN,
            b'0'..=b'9' => DIGIT,
            _ => 0,
        };
        if byte == u8::MAX {
            break table;
        }
        byte += 1;
    }
};

/// Adds the base64 in a text that hides a prefixed credential.
fn hidden(text: &str, found: &mut Vec<Range<usize>>) {
    let is_code = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte);
    let mut start = 0;
    for (end, byte) in text.bytes().chain([b' ']).enumerate() {
        if is_code(byte) {
            continue;
        }
        if BASE64_LEN.contains(&(end - start)) && token::is_random(&text.as_bytes()[start..end]) {
            let decoded = decoded(&text[start..end]);
            let mut inside = Vec::new();
            token::find(&decoded, &Present::of(&decoded), &mut inside);
            let is_key = !inside.is_empty()
                || decoded.contains("PRIVATE KEY")
                || is_secret_text(&decoded)
                || is_generated(text, start..end);
            found.extend(is_key.then_some(start..end));
        } else if end - start >= 8 && ends_with_basic(&text.as_bytes()[..start]) {
            let is_login =
                decoded(&text[start..end]).split_once(':').is_some_and(|(user, _)| !user.contains('?'));
            found.extend(is_login.then_some(start..end));
        }
        start = end + 1;
    }
}

/// Tells whether a decoded text is readable and contains a credential.
fn is_secret_text(decoded: &str) -> bool {
    let unreadable = decoded.bytes().filter(|byte| *byte == b'?').count();
    let is_login = decoded.split_once(':').is_some_and(|(user, password)| {
        password.len() >= 8
            && !decoded.contains([' ', '{', '/'])
            && token::is_random(password.as_bytes())
            && user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._@-$+".contains(&byte))
    });
    unreadable * 20 <= decoded.len() && (is_login || !plain_secrets(decoded, &Shape::of(decoded)).is_empty())
}

/// Tells whether a text ends with the name of HTTP's basic authentication.
fn ends_with_basic(text: &[u8]) -> bool {
    text.last_chunk::<6>().is_some_and(|end| end.eq_ignore_ascii_case(b"basic "))
}

/// Tells whether a run of characters can only be a generated key: long, dense, and neither a checksum nor a part of data.
fn is_generated(text: &str, run: Range<usize>) -> bool {
    let (bytes, before) = (&text.as_bytes()[run.clone()], &text[..run.start]);
    // Checksums, public keys, names that a compiler made, and base64 of a sentence.
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| text[run.clone()].starts_with(prefix));
    let label = before.trim_end_matches([' ', ':', '=', '"', '\'']).as_bytes();
    let is_label = |name: &str| {
        let end = label.len().checked_sub(name.len()).map(|from| &label[from..]);
        end.is_some_and(|end| end.eq_ignore_ascii_case(name.as_bytes()))
    };
    let is_known = starts(&["sha", "AAAA", "_Z", "_R"])
        || ["base64,", "h1:"].iter().any(|mark| before.ends_with(mark))
        || ["sha256", "sha512", "-id", "_id", "\"id"].into_iter().any(is_label);
    bytes.len() <= 128
        && !is_known
        && decoded(&text[run.clone()]).matches(['?', '~', '^', '{']).count() > 1
        && !bytes.iter().any(|byte| b"/+".contains(byte))
        && token::is_dense(bytes, 32)
}

/// Decodes base64 of either form. Bytes that are not text become `?`.
fn decoded(code: &str) -> String {
    let mut text = String::with_capacity(code.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0);
    for byte in code.bytes().take_while(|byte| *byte != b'=') {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            _ => 63,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            let decoded = u8::try_from(bits >> count & 0xFF).unwrap_or(b'?');
            text.push(if decoded.is_ascii_graphic() || decoded == b' ' { char::from(decoded) } else { '?' });
        }
    }
    text
}

/// Masks every string in an answer's data, and its text. A field that equals the text, as in a brief, is
/// processed once.
pub(crate) fn answer(data: &mut Value, words: &mut String) {
    let masked = text(words).into_owned();
    match data {
        Value::Object(fields) => {
            let same = |value: &Value| value.as_str() == Some(words.as_str());
            let twice = fields.iter().find(|(_, value)| same(value)).map(|(key, _)| key.clone());
            if let Some(key) = &twice {
                fields.insert(key.clone(), Value::Null);
            }
            value(data);
            if let Some(key) = twice {
                data[text(&key).as_ref()] = masked.as_str().into();
            }
        }
        data => value(data),
    }
    *words = masked;
}

/// Masks every credential in every string of a value, keys included.
pub fn value(value: &mut Value) {
    match value {
        Value::String(string) => {
            if let Cow::Owned(masked) = text(string) {
                *string = masked;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(self::value),
        Value::Object(fields) => fields.redact(),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the end of a secret that may be an unclosed key.
fn key_end(secret: &str) -> usize {
    if !secret.starts_with("-----BEGIN") || secret.contains("-----END") {
        return secret.len();
    }
    let belongs = |line: &str| {
        let (line, is_code) = (line.trim(), |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c));
        line.chars().all(is_code) || ["Proc-Type:", "DEK-Info:"].iter().any(|head| line.starts_with(head))
    };
    let mut lines = secret.split_inclusive('\n');
    let first = lines.next().map_or(0, str::len);
    first + lines.take_while(|line| belongs(line)).map(str::len).sum::<usize>()
}

/// A value whose strings can be redacted.
pub trait Redact {
    /// Masks every credential.
    fn redact(&mut self);
}

impl Redact for String {
    fn redact(&mut self) {
        if let Cow::Owned(masked) = text(self) {
            *self = masked;
        }
    }
}

impl Redact for Value {
    fn redact(&mut self) {
        value(self);
    }
}

impl Redact for Map<String, Value> {
    fn redact(&mut self) {
        if self.keys().any(|key| matches!(text(key), Cow::Owned(_))) {
            *self = std::mem::take(self)
                .into_iter()
                .map(|(key, value)| (text(&key).into_owned(), value))
                .collect();
        }
        self.iter_mut().for_each(|(_, value)| self::value(value));
    }
}

impl<T: Redact> Redact for Option<T> {
    fn redact(&mut self) {
        self.iter_mut().for_each(Redact::redact);
    }
}

impl<T: Redact> Redact for Vec<T> {
    fn redact(&mut self) {
        self.iter_mut().for_each(Redact::redact);
    }
}

impl<T: Redact, const N: usize> Redact for [T; N] {
    fn redact(&mut self) {
        self.iter_mut().for_each(Redact::redact);
    }
}

impl<T: Redact> Redact for Box<T> {
    fn redact(&mut self) {
        (**self).redact();
    }
}

impl<T: Redact> Redact for BTreeMap<String, T> {
    fn redact(&mut self) {
        let masked = std::mem::take(self).into_iter().map(|(key, mut value)| {
            value.redact();
            (text(&key).into_owned(), value)
        });
        *self = masked.collect();
    }
}

/// Implements [`Redact`] for a type. Every field is named, so that a new field can't be forgotten. After `/`
/// come the fields without user text: numbers, times and fixed words.
macro_rules! redact {
    ($($name:ident { $($field:ident),* $(,)? $(/ $($plain:ident),+ $(,)?)? })+) => {$(
        impl $crate::base::redact::Redact for $name {
            fn redact(&mut self) {
                let $name { $($field,)* $($($plain: _,)+)? } = self;
                $($crate::base::redact::Redact::redact($field);)*
            }
        }
    )+};
}
pub(crate) use redact;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classes_of_the_origins_and_those_they_missed_are_caught() {
        for secret in [
            "Bearer abc.def-ghi_jkl",
            "gho_16C7e42F292c6912E7710c838347Ae178B4a",
            "github_pat_11AAAAAAA0abcdefghijklmnop",
            "pk_test_TYooMQauvdEDq54NiTphI7jx",
            "sk-proj-abcdefghijklmnop1234",
            "redis://:s3cret@cache:6379/0",
            "mongodb+srv://u:p4ss@cluster0.example.net/db",
            "amqp://guest:guest1@mq:5672",
            "x-api-key: abcdefgh12345678",
            "https://example.org/?api_key=abcdefgh12345678",
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN EC PRIVATE KEY-----\nMHQC\n-----END EC PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\ncut off",
            "https://user:pass@example.org/repo.git",
            "DefaultEndpointsProtocol=https;AccountKey=abcdefghijklmnopqrstuvwxyz0123456789+/==",
        ] {
            assert!(text(secret).contains(MASK), "{secret}");
        }
    }

    #[test]
    fn the_shape_of_a_text_is_found_in_one_pass() {
        for (text, longest_run, has_digits, is_spelled) in [
            ("", 0, false, false),
            ("one two, three", 5, false, false),
            ("at 8080", 4, true, false),
            ("1 2 3 4", 1, false, false),
            ("h u n t e r", 1, false, true),
            ("h u n t e", 1, false, false),
            ("h u n t  e r", 1, false, false),
            ("p\tw\nx y z 1 end", 3, false, true),
            ("(a) `b` 'c' \"d\" e; f", 1, false, false),
            ("a\u{b}b1 c", 2, false, false),
            ("ö x", 2, false, false),
        ] {
            let shape = Shape::of(text);
            assert_eq!(
                (shape.longest_run, shape.has_digits, shape.is_spelled),
                (longest_run, has_digits, is_spelled),
                "{text:?}"
            );
        }
    }

    #[test]
    fn ordinary_text_stays() {
        for plain in [
            "The password must have eight characters",
            "Ask before using the api key of the team",
            "https://example.org/a:b@c",
            "see http://localhost:8080/path and ssh://host:22/x",
            "sk-learn is not scikit-learn",
            "task-list-item-number-twenty-two",
            "The token expired; get a new token",
            "asia is a continent",
            "e-mail me at someone@example.org",
        ] {
            assert_eq!(text(plain), plain);
        }
    }

    #[test]
    fn a_document_keeps_its_lines() {
        let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
        for (given, expected) in [
            (
                "a\n-----BEGIN PRIVATE KEY-----\nMIIE\nabc=\n-----END PRIVATE KEY-----\nb",
                "a\n[REDACTED]\n\n\n\nb",
            ),
            (
                "see `-----BEGIN PRIVATE KEY-----`\n\nThe rest is text.\nMore.",
                "see `[REDACTED]\n\nThe rest is text.\nMore.",
            ),
            ("-----BEGIN RSA PRIVATE KEY-----\nMIIE", "[REDACTED]\n"),
            (&format!("one {token}\ntwo"), "one [REDACTED]\ntwo"),
            (
                "-----BEGIN PRIVATE KEY-----\nMII\nwords here\n-----BEGIN PRIVATE KEY-----\nMII\nmore words",
                "[REDACTED]\n\nwords here\n[REDACTED]\n\nmore words",
            ),
        ] {
            assert_eq!(document(given), expected, "{given}");
        }
    }

    #[test]
    fn a_long_text_is_masked_again_after_a_clean_one() {
        let clean = "The boat is in the harbour. ".repeat(300);
        let secret = format!("{clean}ghp_16C7e42F292c6912E7710c838347Ae178B4a");
        for _ in 0..2 {
            assert_eq!(text(&clean), clean);
            assert!(text(&secret).contains(MASK));
        }
    }

    #[test]
    fn strings_at_any_depth_are_masked() {
        let mut found =
            serde_json::json!({ "a": [{ "b": "ghp_16C7e42F292c6912E7710c838347Ae178B4a" }], "n": 1 });
        value(&mut found);
        assert_eq!(found, serde_json::json!({ "a": [{ "b": MASK }], "n": 1 }));
    }
}
