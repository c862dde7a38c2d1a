//! Credentials that are told by their name: `DB_PASSWORD=…`, `token: …`, "the wifi password is still …", in several languages.
//!
//! From a name the text is read on: signs and linking words lead to the value, other words lead nowhere. A value must look like a
//! secret; a plain word counts only directly after the name of a password and a sign.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};

use super::MASK;
use super::token::{is_dense, is_filler, is_random};
use super::trigger::{PAIRS, pair_of};
use crate::base::words::{self, List};

static PASSWORDS: List = words::CREDENTIALS.list("passwords");
static KEYS: List = words::CREDENTIALS.list("keys");
static CODES: List = words::CREDENTIALS.list("codes");
static PLAIN_KEYS: List = words::CREDENTIALS.list("plain keys");
static STEMS: List = words::CREDENTIALS.list("stems");
static DECODERS: List = words::CREDENTIALS.list("decoders");
static LINKS: List = words::CREDENTIALS.list("links");
static PLACEHOLDERS: List = words::CREDENTIALS.list("placeholders");
static REFERENCES: List = words::CREDENTIALS.list("references");

/// Words before "pin" that make it a noun.
const OWNERS: [&str; 12] =
    ["my", "your", "his", "her", "our", "the", "card", "bank", "sim", "meine", "mi", "kod"];

/// The most words between a name and its value.
const MAX_WORDS: usize = 6;

/// The parts that may follow a name in ASCII. The longer of two that begin alike comes first.
const ENDINGS: [&str; 20] = [
    "base64",
    "base",
    "b64",
    "hex",
    "data",
    "id",
    "value",
    "string",
    "plain",
    "clear",
    "old",
    "new",
    "confirmation",
    "secreta",
    "secreto",
    "production",
    "prod",
    "dev",
    "staging",
    "test",
];

/// The names in ASCII by their first two letters, the longer ones first. They are looked for by hand: to compile a pattern of them takes
/// longer than all the rest of a short command.
static ASCII_NAMES: LazyLock<AsciiNames> = LazyLock::new(|| {
    let mut names = AsciiNames { begins: Box::new([false; PAIRS]), by_pair: HashMap::new() };
    for name in all_names().filter(|name| name.is_ascii()) {
        let [first, second, ..] = name.as_bytes() else { unreachable!("a name has two letters") };
        let pair = pair_of(*first, *second);
        names.begins[pair] = true;
        names.by_pair.entry(pair).or_default().push(name);
    }
    names.by_pair.values_mut().for_each(|names| names.sort_by_key(|name| std::cmp::Reverse(name.len())));
    names
});

struct AsciiNames {
    /// Whether a name begins with each pair: few bytes of a text do.
    begins: Box<[bool; PAIRS]>,
    by_pair: HashMap<usize, Vec<&'static str>>,
}

/// The other names. Their parts are joined by nothing, a space or a sign.
static OTHER_NAMES: LazyLock<Regex> = LazyLock::new(|| {
    let mut names: Vec<&str> = all_names().filter(|name| !name.is_ascii()).collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    let names: Vec<String> = names.iter().map(|name| name.replace(' ', "[-_. ]?")).collect();
    let endings = ENDINGS.join("|");
    let pattern =
        format!("(?P<name>{})s?(?:[-_]?(?:[0-9]|v[0-9]|{endings}))?(?:_\\w{{1,8}})?", names.join("|"));
    let regex = RegexBuilder::new(&pattern).case_insensitive(true).build();
    regex.expect("the names are plain words")
});

/// The name of a credential in a text.
struct Name {
    range: Range<usize>,
    /// The end of the parts that follow it in an identifier.
    end: usize,
}

/// Returns the first name in ASCII from a place on; of several there, the longest.
fn ascii_name(text: &str, from: usize) -> Option<Name> {
    let (bytes, AsciiNames { begins, by_pair }) = (text.as_bytes(), &*ASCII_NAMES);
    (from..bytes.len().saturating_sub(1)).find_map(|start| {
        let pair = pair_of(bytes[start], bytes[start + 1]);
        let names = begins[pair].then(|| &by_pair[&pair])?;
        let end = names.iter().find_map(|name| end_of(name, bytes, start))?;
        Some(Name { range: start..end, end: end_of_parts(bytes, end) })
    })
}

/// Returns the first other name from a place on.
fn other_name(text: &str, from: usize) -> Option<Name> {
    let found = OTHER_NAMES.captures_at(text, from)?;
    let (whole, name) = (found.get(0)?, found.name("name")?);
    Some(Name { range: name.range(), end: whole.end() })
}

/// Returns where a name that begins at `at` ends. Its parts are joined by nothing, a space or a sign.
fn end_of(name: &str, bytes: &[u8], mut at: usize) -> Option<usize> {
    for letter in name.bytes() {
        match bytes.get(at) {
            Some(byte) if letter == b' ' => at += usize::from(b"-_. ".contains(byte)),
            Some(byte) if byte.to_ascii_lowercase() == letter => at += 1,
            _ => return None,
        }
    }
    Some(at)
}

/// Returns where the parts that follow a name end: `passwords`, `token_v2`, `secretBase64`.
fn end_of_parts(bytes: &[u8], name_end: usize) -> usize {
    let is = |at: usize, test: fn(&u8) -> bool| bytes.get(at).is_some_and(test);
    let end = name_end + usize::from(is(name_end, |byte| byte.eq_ignore_ascii_case(&b's')));
    let at = end + usize::from(is(end, |byte| b"-_".contains(byte)));
    if is(at, u8::is_ascii_digit) {
        return at + 1;
    }
    if is(at, |byte| byte.eq_ignore_ascii_case(&b'v')) && is(at + 1, u8::is_ascii_digit) {
        return at + 2;
    }
    ENDINGS.iter().find_map(|ending| end_of(ending, bytes, at)).unwrap_or(end)
}

fn all_names() -> impl Iterator<Item = &'static str> {
    PASSWORDS.iter().chain(KEYS.iter()).chain(CODES.iter()).copied()
}

/// Returns strings of which every name in ASCII contains one.
pub(super) fn stems() -> impl Iterator<Item = &'static str> {
    STEMS.iter().copied()
}

/// Tells whether a text may contain a name in other letters.
pub(super) fn may_be_elsewhere(text: &str) -> bool {
    !text.is_ascii() && text.chars().any(|c| c > '\u{E0}')
}

/// Tells whether a text is the name of a credential and nothing else, such as the head of a column.
pub(super) fn is_name(text: &str) -> bool {
    let is_whole = |next: NextName| {
        let names = std::iter::successors(next(text, 0), |name| next(text, name.end));
        names.into_iter().any(|Name { range, end }| {
            end == text.len() && begins_word(text, range.start, &text[range.start..end])
        })
    };
    text.len() >= 2
        && !text.eq_ignore_ascii_case("key")
        && text.split(['_', '-', ' ']).count() <= 3
        && (is_whole(ascii_name) || (!text.is_ascii() && is_whole(other_name)))
}

/// Tells whether a value is a placeholder, such as "changeme".
pub(super) fn is_known_placeholder(value: &str) -> bool {
    PLACEHOLDERS.has(&value.to_lowercase())
}

/// Adds the ranges of the values that are named as credentials.
pub(super) fn find(text: &str, found: &mut Vec<Range<usize>>) {
    find_named(ascii_name, text, found);
    if !text.is_ascii() {
        find_named(other_name, text, found);
    }
}

/// Finds the next name in a text from a place on.
type NextName = fn(&str, usize) -> Option<Name>;

fn find_named(next: NextName, text: &str, found: &mut Vec<Range<usize>>) {
    let mut at = 0;
    while let Some(Name { range, end }) = next(text, at) {
        let (whole, name) = (&text[range.start..end], &text[range.clone()]);
        // A shorter name may begin inside this one: `rapidapi-key` ends with "key".
        at = range.start + name.chars().next().map_or(1, char::len_utf8);
        // `passwordLength`, `secretsmanager`, `new_secret(…)`, `${DB_PASSWORD}`, `arn:…:secret:…`
        let rest = &text[end..];
        let is_spaced = whole.ends_with(|c: char| c < '\u{2E80}');
        let goes_on = rest
            .starts_with(|c: char| (is_spaced && c.is_ascii_alphanumeric()) || "_@/-(}>%?".contains(c))
            || rest
                .strip_prefix('.')
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric()));
        if goes_on || !begins_word(text, range.start, name) {
            continue;
        }
        at = end;
        // Masked already: what follows is not the value.
        if rest.trim_start_matches([' ', ':', '=', '"', '\'']).starts_with(MASK) {
            continue;
        }
        let is_variable = !name.chars().any(char::is_lowercase) && name.is_ascii();
        let lower = name.to_lowercase();
        let before = text[..range.start].trim_end_matches(['_', '-', ' ']);
        // `PublicKeyToken`; "palabra clave" is a keyword; to pin a version.
        let is_public = ends_with_word(before, "public") || ends_with_word(before, "publickey");
        // `"pin": "5626"`
        let is_key = rest.starts_with("\": \"") || rest.starts_with("\":\"");
        let is_verb = lower == "pin"
            && !is_variable
            && !is_key
            && !OWNERS.iter().any(|owner| ends_with_word(before, owner));
        if is_public || is_verb || (lower == "clave" && ends_with_word(before, "palabra")) {
            continue;
        }
        let kind = match () {
            () if lower == "key" => key_kind(text, range.start),
            // A verb, unless a sign or "is" follows.
            () if lower == "pass" && !is_variable && !is_noun(&text[end..]) => continue,
            () if lower.starts_with("pin") || ends_with_word(&lower, "pin") => Kind::Pin,
            () if CODES.contains(&lower.as_str()) => Kind::Code,
            () if PASSWORDS.contains(&lower.as_str()) => Kind::Password { is_variable },
            () => Kind::Key { is_variable },
        };
        let reader = Reader { text, kind, at: end, link: Link::None, words: 0, has_passed: false, lines: 0 };
        let value = reader.value().or_else(|| value_before(text, range.start, kind));
        found.extend(value.map(|value| with_list(text, value)));
    }
}

fn ends_with_word(text: &str, word: &str) -> bool {
    let start = text.len().checked_sub(word.len());
    start.and_then(|start| text.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(word))
}

/// Returns the kind of a key by the word before it: `ADMIN_KEY` opens something, `cache_key` and `public key` do not.
fn key_kind(text: &str, start: usize) -> Kind {
    let before = text[..start].trim_end_matches(['_', '-', ' ', '.']);
    let is_part = |c: char| c.is_ascii_alphanumeric();
    let word = before.rsplit(|c: char| !is_part(c)).next().unwrap_or_default();
    // `hmacKey`: the last word of a name in camel case.
    let word = word
        .rfind(char::is_uppercase)
        .filter(|place| *place > 0 && word.chars().any(char::is_lowercase))
        .map_or(word, |place| &word[place..]);
    let is_joined = before.len() < start || text[..start].ends_with(is_part);
    if word.is_empty() || !is_joined || PLAIN_KEYS.contains(&word.to_lowercase().as_str()) {
        Kind::AnyKey
    } else {
        Kind::QualifiedKey
    }
}

/// Tells whether "pass" before this text is a noun.
fn is_noun(rest: &str) -> bool {
    let rest = rest.trim_start_matches(['"', '\'', ' ']);
    rest.starts_with([':', '='])
        || ["is ", "was ", "ist ", "for the "].iter().any(|link| rest.starts_with(link))
}

/// Returns the value that precedes its name: "use Kestrel!99 as the password", `"…" // password`.
fn value_before(text: &str, name: usize, kind: Kind) -> Option<Range<usize>> {
    if !matches!(kind, Kind::Password { .. }) {
        return None;
    }
    let line = text[..name].rfind('\n').map_or(0, |end| end + 1);
    // "Kestrel!99 (password)", and not `hash_256(password)`.
    let mut has_link = text[..name].ends_with(" (");
    if text[..name].ends_with('(') && !has_link {
        return None;
    }
    let mut end = name;
    for _ in 0..MAX_WORDS {
        let before = text[line..end].trim_end();
        let start = line + before.trim_end_matches(|c: char| !c.is_whitespace()).len();
        let word = text[start..line + before.len()].trim_matches(['"', '\'', '`', ',', '(', ')']);
        if word.is_empty() {
            return None;
        }
        let place = start + text[start..].find(word)?;
        if super::form::is_strong(word) && word.len() >= 8 {
            let is_secret =
                has_link && !is_reference(word, false) && word.chars().any(|c| c.is_ascii_digit());
            return is_secret.then_some(place..place + word.len());
        }
        has_link |= ["is", "as", "ist", "als", "est", "comme", "es", "como", "//", "#", "--"].contains(&word);
        end = start;
    }
    None
}

/// Extends a value over the values of the same length in the next lines, such as recovery codes.
fn with_list(text: &str, value: Range<usize>) -> Range<usize> {
    let count = value.len();
    let mut end = value.end;
    loop {
        let rest = &text[end..];
        let gap = rest.find(|c: char| !(c.is_whitespace() || ",;|*•".contains(c))).unwrap_or(rest.len());
        let next =
            rest[gap..].split(|c: char| c.is_whitespace() || ",;|".contains(c)).next().unwrap_or_default();
        let is_next = gap > 0 && next.len() == count && count >= 8 && is_strong(next, false, true);
        if !is_next || is_reference(next, false) {
            return value.start..end;
        }
        end += gap + next.len();
    }
}

/// Tells whether the name is a word of its own or the last part of a longer name.
fn begins_word(text: &str, start: usize, name: &str) -> bool {
    let begins_upper = name.starts_with(char::is_uppercase);
    // `dbpassword:`, `authtoken=`, "Datenbankpasswort"
    let is_long = name.len() >= 5 && text[start + name.len()..].starts_with([':', '=', ' ', '"']);
    if text[..start].ends_with(':') && text[start + name.len()..].starts_with(':') {
        return false;
    }
    text[..start].chars().next_back().is_none_or(|before| {
        // Languages without spaces; camelCase.
        !before.is_alphanumeric()
            || before > '\u{1100}'
            || (before.is_lowercase() && begins_upper)
            || name.starts_with(|c: char| c > '\u{1100}')
            || (is_long && before.is_alphabetic() && is_compound(name))
    })
}

/// Tells whether a name also ends longer words: "Gastpasswort", `authtoken`.
fn is_compound(name: &str) -> bool {
    let lower = name.to_lowercase();
    PASSWORDS.contains(&lower.as_str())
        || ["token", "secret", "schlüssel", "schluessel"].contains(&lower.as_str())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Password {
        is_variable: bool,
    },
    Key {
        is_variable: bool,
    },
    /// Just "key", which may open anything.
    AnyKey,
    /// A key of something: `ADMIN_KEY`.
    QualifiedKey,
    /// A code of digits.
    Code,
    /// A code of four digits and more.
    Pin,
}

/// The last thing that leads to a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    None,
    Sign,
    Word,
}

/// Reads on from a name to its value.
struct Reader<'t> {
    text: &'t str,
    kind: Kind,
    at: usize,
    link: Link,
    words: usize,
    /// Whether words were passed over that do not link: the value may belong to another noun.
    has_passed: bool,
    /// The line breaks so far.
    lines: usize,
}

impl Reader<'_> {
    fn value(mut self) -> Option<Range<usize>> {
        while let Some(next) = self.text[self.at..].chars().next() {
            match next {
                '[' if self.text[self.at..].starts_with(MASK) => return None,
                '\n' => {
                    self.lines += 1;
                    self.at += 1;
                    if self.link != Link::Sign && !self.is_value_next() {
                        return self.answer();
                    }
                    if self.lines > 2 {
                        return None;
                    }
                }
                _ if self.text[self.at..].starts_with("::") => return None,
                ':' | '=' | '：' | '→' => self.follow(next, Link::Sign),
                // Two strings in a list, the name and the value: `("password", "…")`.
                ',' if self.words == 0 && self.text[..self.at].ends_with(['"', '\'']) => {
                    self.follow(next, Link::Sign)
                }
                // Go gives back a value and an error.
                ',' if [", _ ", ", err "].iter().any(|other| self.text[self.at..].starts_with(other)) => {
                    self.at += self.text[self.at..].find(['=', ':']).unwrap_or(1);
                }
                '"' | '\'' | '`' | '「' | '“' | '„' | '«' => {
                    match self.quoted(next) {
                        // `{"name": "DB_PASSWORD", "value": "…"}`
                        Some(quoted) if is_attribute(&self.text[quoted.clone()]) => self.at = quoted.end + 1,
                        Some(quoted) => return self.judge(quoted, true),
                        None => self.at += next.len_utf8(),
                    }
                }
                _ if next.is_whitespace() || "()[]{}*_|>\\-」”".contains(next) => {
                    self.at += next.len_utf8()
                }
                _ => {
                    let word = self.word();
                    if let Some(after) = self.attribute_or_call(&word) {
                        self.at = after;
                        self.link = Link::Sign;
                        self.words = 0;
                    } else if self.link == Link::Sign && self.is_type(&word) {
                        self.at = word.end;
                    } else if self.is_plain(word.clone()) && !(self.link == Link::Sign && self.words == 0) {
                        self.pass(word)?;
                    } else if let Some(value) = self.judge(word.clone(), false) {
                        return Some(value);
                    } else if self.link == Link::Sign {
                        return None;
                    } else {
                        self.pass(word)?;
                    }
                }
            }
        }
        None
    }

    /// Tells whether the next line has the value of a variable: `value: "…"` after `name: DB_PASSWORD`.
    fn is_value_next(&self) -> bool {
        let is_value = |line: &str| {
            let line = line.trim_start().trim_start_matches(['"', '\'']);
            line.starts_with("value") || line.starts_with("default")
        };
        self.words <= 2 && self.lines <= 3 && self.text[self.at..].lines().take(3).any(is_value)
    }

    /// Tells whether a word is the type of a variable that is assigned next: `password: str = "…"`.
    fn is_type(&self, word: &Range<usize>) -> bool {
        let after = self.text[word.end..].trim_start_matches([' ', '"', '\'']);
        let is_assigned = after.strip_prefix('=').is_some_and(|rest| !rest.starts_with('='));
        is_assigned && self.is_plain(word.clone()) && self.text[word.end..].starts_with(' ')
    }

    /// Returns the value if the next line consists of it: the answer to a question.
    fn answer(&mut self) -> Option<Range<usize>> {
        let is_question = self.text[..self.at].trim_end().ends_with('?');
        let line = self.text[self.at..].lines().next().unwrap_or_default();
        let value = line.trim();
        let start = self.at + line.find(value)?;
        let is_alone = !value.is_empty() && !value.contains(char::is_whitespace);
        let is_secret =
            is_question && is_alone && super::form::is_strong(value) && !is_reference(value, false);
        is_secret.then_some(start..start + value.len())
    }

    /// Returns where the value starts if a word only leads to it: `value="…"`, `hex.DecodeString("…")`.
    fn attribute_or_call(&self, word: &Range<usize>) -> Option<usize> {
        let text = &self.text[word.clone()];
        let rest = &self.text[word.start..];
        // The first quote is at most two bytes behind the word.
        let near = &rest.as_bytes()[..rest.len().min(text.len() + 3)];
        let end = near.iter().position(|byte| b"\"'".contains(byte)).filter(|quote| *quote >= text.len())?;
        let lead = rest[..end].trim_end_matches(['b', 'r']);
        if let Some(name) = lead.strip_suffix('=') {
            return is_attribute(name.trim()).then_some(word.start + end);
        }
        let callee = lead.strip_suffix('(').filter(|_| self.link == Link::Sign)?;
        let name = callee.rsplit(['.', ':']).next()?;
        DECODERS.contains(&name.to_lowercase().as_str()).then_some(word.start + end)
    }

    fn follow(&mut self, sign: char, link: Link) {
        self.at += sign.len_utf8();
        self.link = link;
        self.words = 0;
    }

    /// Passes over a word that is not the value. Ends the search after too many.
    fn pass(&mut self, word: Range<usize>) -> Option<()> {
        let text = self.text[word.clone()].to_lowercase();
        self.at = word.end;
        // A sentence ends; only an answer may follow.
        if text.ends_with(['?', '!']) {
            self.link = Link::None;
            self.at += self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at);
            return Some(());
        }
        self.words += 1;
        let links = LINKS.contains(&text.as_str()) || text.chars().all(|c| c > '\u{1100}');
        // "is still": a linking word holds over the next one if that links too.
        self.link = if links { Link::Word } else { Link::None };
        self.has_passed |= !links;
        (self.words <= MAX_WORDS).then_some(())
    }

    /// Returns the text in quotes that start here, if they end in this line. The quotes around a name are no value.
    fn quoted(&self, quote: char) -> Option<Range<usize>> {
        let close = match quote {
            '「' => '」',
            '“' | '„' => '”',
            '«' => '»',
            quote => quote,
        };
        let start = self.at + quote.len_utf8();
        let line = self.text[start..].lines().next().unwrap_or_default();
        // `\"` and `''` are part of the text. If the whole is escaped, `\"` ends it.
        let is_escaped = self.text[..self.at].ends_with('\\');
        let end = start + if is_escaped { line.find(close)?.checked_sub(1)? } else { closing(line, close)? };
        let is_value =
            self.link != Link::None || (self.words == 0 && self.text[..self.at].ends_with([' ', 'ド', '码']));
        (is_value && (start..end).len() >= 4).then_some(start..end)
    }

    /// Returns the run of characters that starts here, without the punctuation of the sentence around it.
    fn word(&self) -> Range<usize> {
        let rest = &self.text[self.at..];
        let stops = |c: char| {
            c.is_whitespace()
                || "\"'`「」“”<>".contains(c)
                || (c > '\u{2E80}' && rest.starts_with(|c: char| c.is_ascii()))
        };
        // Chinese and Japanese write the linking word and the value without a space.
        let is_unspaced = |c: char| c > '\u{2E80}' && c.is_alphabetic();
        if rest.starts_with(is_unspaced) {
            let end = rest.find(|c: char| !is_unspaced(c)).unwrap_or(rest.len());
            return self.at..self.at + end;
        }
        let run = &rest[..rest.find(stops).unwrap_or(rest.len())];
        let run = run.find('(').filter(|_| !rest.is_ascii()).map_or(run, |bracket| &run[..bracket]);
        let kept = run.trim_end_matches([',', ';', '.', ')', ']', '}', ':', '*', '，', '。', '、']);
        let kept = if kept.is_empty() { run } else { kept };
        self.at..self.at + kept.len().max(rest.chars().next().map_or(1, char::len_utf8))
    }

    fn is_plain(&self, word: Range<usize>) -> bool {
        let text = self.text[word].trim_end_matches(['?', '!']);
        let letters = text.chars().filter(|c| !"-'’".contains(*c));
        let rest = || text.chars().skip(1);
        let is_phrase = self.link != Link::None && text.split('-').count() >= 4;
        letters.clone().all(char::is_alphabetic)
            && !is_phrase
            && (!rest().any(char::is_uppercase) || !rest().any(char::is_lowercase))
    }

    /// Returns the value if it is a secret.
    fn judge(&self, range: Range<usize>, quoted: bool) -> Option<Range<usize>> {
        let value = &self.text[range.clone()];
        if is_reference(value, quoted) {
            return None;
        }
        let is_enclosed = self.text[..range.start].ends_with('(') && self.text[range.end..].starts_with(')');
        let after = self.text[range.end..].lines().next().unwrap_or_default();
        let is_other = self.link == Link::None && is_pair(value);
        // `let secret_key = buf.read_i32::<BigEndian>()`
        let calls = !quoted && ["(", "::", "!("].iter().any(|call| self.text[range.end..].starts_with(call));
        let is_type = !matches!(self.kind, Kind::Password { .. }) && is_type_name(value);
        if is_type || (calls && value.contains('.')) {
            return None;
        }
        // `sk_live_...`, `sk_live_<your key>`
        let rest = &self.text[range.end..];
        let is_cut = !quoted
            && (rest.starts_with("...")
                || rest.starts_with('…')
                || (rest.starts_with('<') && !rest.starts_with("</")));
        if (self.lines > 1 && !after.trim().is_empty()) || is_other || is_cut {
            return None;
        }
        let direct = self.words == 0 && self.link == Link::None;
        let reached =
            self.words == 0 || self.link != Link::None || is_enclosed || self.is_odd_password(value);
        let secret = match self.kind {
            Kind::Password { .. } if is_enclosed && self.link == Link::None => super::form::is_strong(value),
            _ if self.has_passed && self.link == Link::None => self.is_odd_password(value),
            Kind::AnyKey => self.link == Link::Sign && is_dense(value.as_bytes(), 16),
            Kind::QualifiedKey => {
                let least = if self.link == Link::Sign { 16 } else { 24 };
                !self.has_passed
                    && is_random(value.as_bytes())
                    && value.len() >= least
                    && !value.contains(':')
            }
            Kind::Pin => self.link != Link::None && is_pin(value),
            Kind::Code => {
                (self.link == Link::Sign || (self.link == Link::Word && !self.has_passed)) && is_code(value)
            }
            Kind::Key { .. } if direct && is_enclosed => super::form::is_strong(value),
            Kind::Key { .. } if (direct && !quoted) || self.has_passed => {
                is_random(value.as_bytes()) && value.len() >= 12
            }
            Kind::Key { is_variable } => {
                is_strong(value, quoted, false) || self.is_assigned(is_variable, value)
            }
            Kind::Password { is_variable } => {
                is_strong(value, quoted, true)
                    || self.is_assigned(is_variable, value)
                    || self.is_weak(&range, quoted)
            }
        };
        (secret && reached).then_some(range)
    }

    /// Tells whether a value can only be a password, although no word links it: letters and digits with a sign between them.
    fn is_odd_password(&self, value: &str) -> bool {
        let signs =
            value.trim_end_matches(['!', '?', '.']).chars().filter(|c| "!@#$%^&*?~+".contains(*c)).count();
        matches!(self.kind, Kind::Password { .. })
            && signs > 0
            && signs <= 3
            && value.len() >= 8
            && super::form::is_strong(value)
            && value.chars().any(|c| c.is_ascii_digit())
    }

    /// Tells whether it is the value of a variable in capitals: `PASSWORD=letmein`.
    fn is_assigned(&self, is_variable: bool, value: &str) -> bool {
        is_variable && self.text[..self.at].trim_end_matches(['"', '\'']).ends_with('=') && value.len() >= 6
    }

    /// Tells whether a plain word is a password: directly after the sign, in quotes or at the end of its line.
    fn is_weak(&self, range: &Range<usize>, quoted: bool) -> bool {
        let value = &self.text[range.clone()];
        let after = self.text[range.end..].lines().next().unwrap_or_default();
        self.link == Link::Sign
            && self.words == 0
            && value.len() >= 6
            && value.chars().all(char::is_alphabetic)
            && !value.chars().skip(1).any(char::is_uppercase)
            && (quoted || after.trim().is_empty())
    }
}

/// Tells whether a value is a placeholder, a type, or refers to the place of the secret.
fn is_reference(value: &str, quoted: bool) -> bool {
    let lower = value.to_lowercase();
    let bare = lower.trim_matches(|c: char| !c.is_alphanumeric());
    let mut letters = bare.chars();
    let first = letters.next();
    let is_hash = |rest: &str| rest.bytes().take_while(u8::is_ascii_hexdigit).count() >= 3;
    let first_word = bare.split_whitespace().next().unwrap_or_default();
    value.contains(MASK)
        || is_filler(value.as_bytes())
        || PASSWORDS.contains(&first_word)
        || (value.len() > 2
            && ["@", "%", "#"].iter().any(|mark| value.starts_with(mark) && value.ends_with(mark)))
        || value.strip_prefix('!').is_some_and(|rest| rest.chars().all(|c| c.is_alphabetic() || c == '_'))
        || value
            .strip_prefix('#')
            .is_some_and(|rest| is_hash(rest) && (rest.len() <= 8 || rest.contains(';')))
        || value
            .split_once('=')
            .is_some_and(|(name, rest)| name == "default" && PLACEHOLDERS.has(&rest.to_lowercase()))
        || value.chars().any(|c| c > '\u{1100}' && c.is_alphabetic())
        || value.ends_with('=')
            && value[..value.len() - 1].chars().all(|c| c.is_alphabetic() || "_-".contains(c))
        || bare.chars().count() < 4
        || bare.chars().all(|c| c.is_alphabetic() || c == '_')
            && value.contains('_')
            && value == value.to_uppercase()
        || letters.all(|c| Some(c) == first)
        || PLACEHOLDERS.has(bare)
        || (REFERENCES.iter().any(|start| lower.starts_with(start)) && !is_dense(value.as_bytes(), 28))
        || is_code_name(value)
        || (value.len() < 34
            && lower.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit())))
        || ["...", "…", "::", "${", "://", "your_", "your-", "example"]
            .iter()
            .any(|part| value.contains(part))
        || (!quoted
            && value.contains(['(', '[', '{', '<', '|'])
            && !(value.len() >= 20 && is_random(value.as_bytes()) && !value.contains(['(', '{'])))
        || is_path(value)
}

/// Tells whether a value is a name of source code or of a standard: `TRAFFIC_SECRET_0`, `PKCS#8`, `0x42u8`,
/// `test-ca/rsa-2048/end.key`.
fn is_code_name(value: &str) -> bool {
    let letters = || value.chars().filter(char::is_ascii_alphabetic);
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let is_constant = || {
        value.contains('_')
            && digits <= 3
            && letters().all(|c| c.is_ascii_uppercase())
            && value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && value.split('_').filter(|part| part.len() >= 3).count() >= 2
    };
    let is_standard = || {
        value.split_once(['#', '-']).is_some_and(|(name, number)| {
            (1..=5).contains(&number.len())
                && name.len() <= 5
                && number.bytes().all(|byte| byte.is_ascii_digit())
                && name.len() >= 2
                && name.bytes().all(|byte| byte.is_ascii_uppercase())
        })
    };
    let is_number = || {
        let bare = ["u8", "u16", "u32", "u64", "i32", "i64", "usize"]
            .iter()
            .find_map(|suffix| value.strip_suffix(suffix))
            .unwrap_or_default();
        bare.strip_prefix("0x")
            .is_some_and(|hex| hex.len() <= 16 && hex.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    let is_file = || {
        const ENDS: &[&str] = &[
            ".key", ".pem", ".crt", ".der", ".json", ".toml", ".yaml", ".yml", ".txt", ".cfg", ".conf",
            ".p12", ".pfx", ".env",
        ];
        value.contains('/') && ENDS.iter().any(|end| value.ends_with(end))
    };
    is_constant() || is_standard() || is_number() || is_file()
}

/// Tells whether a value is the name of a type: two words or more that begin with a capital, `UnboundCipherKey`.
fn is_type_name(value: &str) -> bool {
    let mut words = Vec::new();
    for c in value.chars() {
        match words.last_mut() {
            Some(length) if !c.is_ascii_uppercase() => *length += 1,
            _ => words.push(1),
        }
    }
    value.starts_with(|c: char| c.is_ascii_uppercase())
        && value.chars().all(|c| c.is_ascii_alphabetic())
        && words.len() >= 2
        && words.iter().all(|length| *length >= 3)
}

/// Returns where a quoted text ends. An escaped or doubled quote is part of it.
fn closing(line: &str, close: char) -> Option<usize> {
    let mut end = line.find(close)?;
    loop {
        let is_escape = line[..end].ends_with('\\');
        let is_doubled = close == '\'' && line[end + close.len_utf8()..].starts_with(close);
        if !is_escape && !is_doubled {
            return Some(end);
        }
        let skip = close.len_utf8() * if is_escape { 1 } else { 2 };
        match line[end + skip..].find(close) {
            Some(next) => end += skip + next,
            None => return Some(end),
        }
    }
}

/// Tells whether a word names the value of a variable.
fn is_attribute(word: &str) -> bool {
    ["value", "val", "content", "data", "default"].contains(&word)
}

/// Tells whether a value is itself a name with a value: `user=hana`.
fn is_pair(value: &str) -> bool {
    value.split_once('=').is_some_and(|(name, value)| {
        !value.is_empty() && !name.is_empty() && name.chars().all(|c| c.is_alphabetic() || c == '_')
    })
}

fn is_pin(value: &str) -> bool {
    (4..=8).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Tells whether a value is a code of at least six digits, and no date.
fn is_code(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let parts: Vec<usize> = value.split('-').map(str::len).collect();
    let is_plain = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    (is_plain && (6..=12).contains(&digits) && parts != [4, 2, 2])
        || (is_strong(value, false, false) && value.len() >= 6)
}

/// Tells whether a value names a field or file: words joined by dots or slashes.
fn is_path(value: &str) -> bool {
    let is_word =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphabetic() || b"_-".contains(&b));
    value.contains(['.', '/']) && value.split(['.', '/']).all(is_word)
}

/// Tells whether a value can hardly be a word: it mixes letters with digits or signs, or looks random.
fn is_strong(value: &str, quoted: bool, is_password: bool) -> bool {
    let count = |test: fn(char) -> bool| value.chars().filter(|c| test(*c)).count();
    let (digits, letters) = (count(|c| c.is_ascii_digit()), count(char::is_alphabetic));
    let signs = count(|c| "!@#$%^&*?~+=;".contains(c));
    let spaces = count(char::is_whitespace);
    let long = value.chars().count();
    if spaces > 0 {
        return quoted && is_password && long >= 8 && digits + signs > 0 && spaces <= 5;
    }
    let mixed = digits > 0 && letters > 0 && long >= 6 && !is_version(value);
    let signed = signs > 0 && letters + digits >= 4 && long >= 6;
    let number = (is_password && digits == long && long >= 6) || (digits >= 20 && letters + signs == 0);
    let cased = quoted && long >= 8 && is_random(value.as_bytes());
    // No name begins like this.
    let odd = is_password && long >= 8 && {
        let mut letters = value.chars();
        letters.next().is_some_and(char::is_lowercase) && letters.next().is_some_and(char::is_uppercase)
    };
    // `marmot-in-the-snow`
    let parts = || value.split('-');
    let phrase = is_password
        && parts().count() >= 4
        && parts().all(|part| part.len() >= 2 && part.chars().all(char::is_alphabetic));
    mixed || signed || number || cased || odd || phrase
}

/// Tells whether a value is the name of a thing with a number: `v1.2.3`, `sha256`, `utf8`, `Token2`.
fn is_version(value: &str) -> bool {
    let word = value.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let plain = word.chars().all(char::is_alphabetic) && word.len() < value.len();
    plain
        && (word.len() <= 4 || PLACEHOLDERS.has(&word.to_lowercase()))
        && value.bytes().filter(u8::is_ascii_digit).count() <= 3
}

#[cfg(test)]
mod tests {
    use super::super::text;
    use super::*;

    #[test]
    fn a_space_of_several_bytes_before_a_name_panicked() {
        for space in ['\u{2028}', '\u{3000}', '\u{a0}'] {
            let masked = text(&format!("J:{space}anc client.setPassword(\"s3cret!Pw\")")).into_owned();
            assert!(!masked.contains("s3cret!Pw"), "{masked}");
        }
    }

    #[test]
    fn named_values_are_masked() {
        for secret in [
            "password: hunter2",
            "password = hunter2!",
            "PASSWORD=\"two words 22\"",
            "my password is Tr0ub4dor",
            "Your temporary password has been set to Kx9-Trm4-Zp1v.",
            "root pw on the old box is still vN4!xx09qT",
            "La password del conto è Tramonto!1978, poi la cambiamo",
            "Das WLAN-Passwort lautet Kirschbaum_82!, bitte nicht weitergeben.",
            "Hasło do wifi to Wisla#Most8",
            "관리자 암호를 dolphin^Seoul2(으)로 바꿨어요",
            "ログイン用パスワード「kimuchi_Zz5」を設定しました",
            "connect \"Cafe\" password v1oletSky",
            "define('DB_PASSWORD', 'lArch=Tree');",
            "#define WIFI_PASS \"oSier#Wand\"",
            "chiave di accesso = Lago.di.Sotto7",
            "{\\\"apiKey\\\":\\\"d0taCYhhB85RCyKanNBoWbGk\\\"}",
            "SECRET_KEY_BASE=a20e85deaf4d4e145805ab3e2f71c409",
            "the wifi password: sunflower7",
            "wifi password: sunflower",
            "token: 8f3a9c77d2",
            "SECRET_KEY: 'dj4ng0-s3cr3t-key'",
            "MY_SERVICE_KEY=abc123def456",
            "DD_API_KEY=0123456789abcdef0123456789abcdef",
            "CF_API_TOKEN: v7Kq2mXw9PzRt4LsBn1Yc8",
            "FERNET_KEY=Zk3vP0n8YtqW2rX5uB7cD9eF1gH4iJ6kL8mN0oP2qR4=",
            "PrivateKey = yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=",
            "dbPassword: s3cr3tPass",
            "Passwort: Sommer2024!",
            "mot de passe : Soleil42",
            "la contraseña es Verano2024",
            "密码：Abc12345",
            "パスワードは Sakura2024",
            "비밀번호: hello1234",
            "пароль: Zima2024",
            "\"client_secret\": \"a1b2c3d4e5f6\"",
            "private_key_id: 0123456789abcdef0123456789abcdef01234567",
            "无线网络的密码是Hongcha_2023x，请不要告诉别人",
            "Wi-FiのパスワードはSakura!0412xです。",
            "Passordet til gjestenettet er Fjord+Laks12",
            "Yönetici parolası kestane!Kebap7 olarak değiştirildi.",
            "كلمة المرور هي noor!Qamar31 للشبكة",
            "Mật khẩu wifi là Hanoi_2024x",
            "{\"login\": \"mira\", \"passwd\": \"r0se\\\"Bud9\"}",
            "pass: 'it''s4Secret!'",
            "var hmacKey, _ = hex.DecodeString(\"4137b38798c4693194d2382b4fb4bc44f6f3e807c715e66e1dc95ce0dc95e973\")",
            "<property name=\"hibernate.connection.password\" value=\"yArn.Ball_6\"/>",
            "ALGOLIA_ADMIN_KEY=5613fce89554df54ec1fe5f791822816",
            "Password:\n\n    Pf4!garden\n\nRegards, IT",
            "whats the pw again?\nwIllow$2x",
            "told Priya the VPN secret (jUm8oJet!) over the phone",
            "use Kestrel!99x as the password",
            "authtoken: 2aBcDeFgHiJkLmNoPq9",
            "Datenbankpasswort: Winter24!",
            "Ihr Anmeldecode lautet 618087",
            "PASSWORD_PRODUCTION=hunter2!x",
            "Le code PIN: 6306",
            "{\"user\": \"nora\", \"pin\": \"5626\"}",
            "Api_Key-v2: d0taCYhhB85RCyKanNBoWbGk",
        ] {
            assert!(text(secret).contains(MASK), "{secret}");
        }
    }

    #[test]
    fn what_follows_a_masked_value_was_masked_the_second_time() {
        for given in
            ["password hunter22! : aaaaab", "machine example.org login bob password s3cret!Pw : aaaaab"]
        {
            let once = text(given).into_owned();
            assert!(once.contains(MASK), "{once}");
            assert_eq!(text(&once), once);
        }
    }

    #[test]
    fn every_name_contains_a_stem() {
        for name in all_names().filter(|name| name.is_ascii()) {
            assert!(STEMS.iter().any(|stem| name.contains(stem)), "{name}");
        }
    }

    #[test]
    fn code_types_and_sentences_are_not() {
        for plain in [
            "password=required",
            "the password for user42 was changed",
            "the token of client7b expired",
            "key: value",
            "Passwords must have at least 8 characters, 2 digits",
            "reset the password by 2026-11-16",
            "\"password\": \"string\"",
            "SECRET_KEY=os.environ[\"X\"]",
            "pwd=$(pwd)/x",
            "password: String,",
            "let token = request.token();",
            "token: &str",
            "password = user.password",
            "the password is stored in the vault",
            "my password is expired",
            "The password must have eight characters",
            "token = tokens[0]",
            "compass: northeast",
            "monkey: banana2000x1",
            "secret: true",
            "api_key: YOUR_API_KEY",
            "password: ********",
            "{\"pin\": \"latest\", \"led\": {\"pin\": 13}}",
            "token: Token2",
            "Ask for the api key: it is with Ada",
            "Wachtwoord vergeten?",
            "login failed: bad password user=hana",
            "https://gateway.example.net:8564/v2/tokens?page=17&limit=25",
            "cache_key = \"user-42-profile-1234567\"",
            "public key: AAAAB3NzaC1yc2EAAAADAQ",
            "The security code was changed on 2026-11-16",
            "the door code is 4711",
            "a DER-encoded private key as PKCS#1, PKCS#8, or SEC1",
            "aes_encrypt_key: UnboundCipherKey,",
            "ClientSecret => \"CLIENT_TRAFFIC_SECRET_0\",",
            "let secret = [0x42u8; 32];",
            "--key test-ca/rsa-2048/end.key -p 8443",
            "let secret_key = buf.read_i32::<BigEndian>()?;",
            "pub fn scram_sha_256(password: &[u8]) -> String {",
        ] {
            assert_eq!(text(plain), plain);
        }
    }
}
