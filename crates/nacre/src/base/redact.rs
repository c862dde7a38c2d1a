//! Redaction of credentials. One table holds the patterns; everything that is returned passes through
//! [`value`] or [`text`].
//!
//! A pattern is compiled and tried only if one of its triggers occurs in the text, so a process that answers
//! one search usually compiles none.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use regex::Regex;
use serde_json::{Map, Value};

/// The text that replaces a secret.
pub const MASK: &str = "[REDACTED]";

/// One class of credentials.
pub struct Pattern {
    /// The kind of credential.
    pub name: &'static str,
    /// Lower-case strings of which at least one occurs in every match.
    triggers: &'static [&'static str],
    /// The pattern. Its group `secret` is masked, or the whole match if it has no such group.
    pattern: &'static str,
    /// A made-up text that the pattern must match.
    pub sample: &'static str,
    compiled: OnceLock<Regex>,
}

const fn pattern(
    name: &'static str,
    triggers: &'static [&'static str],
    pattern: &'static str,
    sample: &'static str,
) -> Pattern {
    Pattern { name, triggers, pattern, sample, compiled: OnceLock::new() }
}

/// The patterns. Order matters: whole blocks and URLs come before the keys that they may contain.
pub static PATTERNS: [Pattern; 18] = [
    pattern(
        "private_key",
        &["-----begin"],
        r"(?s)-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\z)",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----",
    ),
    pattern(
        "url_password",
        &["://"],
        r"(?i)\b[a-z][a-z0-9+.-]*://[^\s/:@?#]*:(?P<secret>[^\s/@]+)@",
        "postgres://app:hunter2@db.example.org/main",
    ),
    pattern(
        "webhook",
        &["hooks.slack.com/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        r"(?i)https://(?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks)/(?P<secret>[\w/-]{16,})",
        "https://hooks.slack.com/services/T0000AAAA/B0000BBBB/abcdefghijklmnopqrstuvwx",
    ),
    pattern(
        "bearer_token",
        &["bearer", "authorization"],
        r#"(?i)\b(?:bearer|authorization:\s*(?:basic|token))\s+(?P<secret>[\w.~+/=-]{8,})"#,
        "Authorization: Bearer abcdef0123456789",
    ),
    pattern(
        "jwt",
        &["eyj"],
        r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    ),
    pattern("anthropic_key", &["sk-ant-"], r"\bsk-ant-[\w-]{16,}", "sk-ant-api03-Ab1-Cd2_Ef3-Gh4Ij5Kl6Mn7"),
    pattern(
        "secret_key",
        &["sk-", "sk_", "pk-", "pk_", "rk_", "whsec_"],
        r"\b(?:(?:sk|pk|rk)[-_](?:live|test|proj|svcacct|admin|or-v1)?[-_]?[A-Za-z0-9][\w-]{15,}|whsec_\w{16,})",
        "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    ),
    pattern(
        "github_token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        r"\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,})",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    ),
    pattern(
        "gitlab_token",
        &["glpat-", "gldt-", "glrt-"],
        r"\bgl(?:pat|dt|rt)-[\w-]{16,}",
        "glpat-abcDEF123ghiJKL456mn",
    ),
    pattern(
        "google_token",
        &["ya29.", "aiza", "1//0", "gocspx-"],
        r"\b(?:ya29\.[\w-]{16,}|AIza[\w-]{35}|1//0[\w-]{20,}|GOCSPX-[\w-]{20,})",
        "ya29.a0AfH6SMBx-abcdefghijklmnop",
    ),
    pattern(
        "aws_access_key",
        &["akia", "asia", "abia", "acca"],
        r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
        "AKIAIOSFODNN7EXAMPLE",
    ),
    pattern(
        "aws_secret",
        &["secret_access_key", "secretaccesskey", "session_token"],
        r#"(?i)(?:aws_?)?(?:secret_?access_?key|session_?token)["']?\s*[=:]\s*["']?(?P<secret>[A-Za-z0-9/+=]{30,})"#,
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ),
    pattern(
        "azure_key",
        &["accountkey=", "sharedaccesskey=", "sharedaccesssignature", "sig="],
        r"(?i)(?:AccountKey=|SharedAccessKey=|SharedAccessSignature=|[?&]sig=)(?P<secret>[A-Za-z0-9+/=%]{20,})",
        "AccountName=x;AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq==;",
    ),
    pattern(
        "azure_secret",
        &["q~"],
        r"[\w.~-]{3}[78]Q~[\w.~-]{31,34}",
        "abc8Q~0123456789abcdefghijklmnopqrstuvwx",
    ),
    pattern(
        "slack_token",
        &["xox", "xapp-", "xwfp-"],
        r"\b(?:xox[abeoprst](?:\.xox[bp])?-[\w-]{10,}|xapp-[\w-]{10,}|xwfp-[\w-]{10,})",
        "xoxb-123456789012-abcdefghijkl",
    ),
    pattern(
        "service_token",
        &["npm_", "hf_", "pypi-", "sg.", "dop_v1_", "shpat_", "lin_api_", "dckr_pat_"],
        r"\b(?:npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{30,}|pypi-[\w-]{40,}|SG\.[\w-]{16,}\.[\w-]{16,}|dop_v1_[a-f0-9]{32,}|shpat_[a-f0-9]{32}|lin_api_\w{30,}|dckr_pat_[\w-]{20,})",
        "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345",
    ),
    pattern(
        "api_key_header",
        &["api-key", "apikey", "api_key"],
        r#"(?i)\b(?:x-)?api[-_]?key["']?\s*[=:]\s*["']?(?P<secret>[^\s"',;&]{8,})"#,
        "X-API-Key: 0123456789abcdef",
    ),
    pattern(
        "secret_parameter",
        // The characters that follow are included, because the words alone occur in many texts.
        &[
            "token=",
            "token\"",
            "token'",
            "secret=",
            "secret\"",
            "secret'",
            "secretkey=",
            "secretkey\"",
            "secretkey'",
            "secret-key=",
            "secret-key\"",
            "secret-key'",
            "secret_key=",
            "secret_key\"",
            "secret_key'",
            "password=",
            "password\"",
            "password'",
            "passwd=",
            "passwd\"",
            "passwd'",
            "pwd=",
            "pwd\"",
            "pwd'",
        ],
        r#"(?i)\b(?:[a-z0-9]+[-_])*(?:access[-_]?token|auth[-_]?token|refresh[-_]?token|client[-_]?secret|secret[-_]?key|secret|password|passwd|pwd)(?:=|["']\s*[=:]\s*["'])(?P<secret>[^\s"',;&]{6,})"#,
        "client_secret=abcdef123456",
    ),
];

/// The minimum length of a secret, in characters: a shorter one can't be distinguished from a word.
const MIN_SECRET_CHARS: usize = 10;

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
    if text.len() < MIN_SECRET_CHARS {
        return Cow::Borrowed(text);
    }
    let mut lower = text.to_ascii_lowercase();
    let mut pairs = Pairs::of(&lower);
    let mut text = Cow::Borrowed(text);
    for pattern in &PATTERNS {
        // Most triggers contain a rare pair of letters, and a missing pair is quicker to detect than a
        // missing trigger.
        if !pattern.triggers.iter().any(|trigger| pairs.may_hold(trigger) && lower.contains(trigger)) {
            continue;
        }
        let regex = pattern
            .compiled
            .get_or_init(|| Regex::new(pattern.pattern).expect("a test compiles every pattern"));
        if let Cow::Owned(masked) = mask(regex, &text, lines) {
            lower = masked.to_ascii_lowercase();
            pairs = Pairs::of(&lower);
            text = Cow::Owned(masked);
        }
    }
    text
}

/// The pairs of adjacent characters in a text, exact for ASCII. A long text contains nearly every letter, but
/// not every pair.
struct Pairs([u64; 256]);

impl Pairs {
    fn of(text: &str) -> Pairs {
        let mut pairs = [0; 256];
        let mut last = 0;
        for byte in text.bytes() {
            let (place, bit) = Pairs::place(last, byte);
            pairs[place] |= bit;
            last = byte;
        }
        Pairs(pairs)
    }

    fn may_hold(&self, text: &str) -> bool {
        text.as_bytes().windows(2).all(|two| {
            let (place, bit) = Pairs::place(two[0], two[1]);
            self.0[place] & bit != 0
        })
    }

    fn place(one: u8, other: u8) -> (usize, u64) {
        let (one, other) = (one & 127, other & 127);
        (usize::from(one) << 1 | usize::from(other >> 6), 1 << (other & 63))
    }
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

fn mask<'t>(regex: &Regex, text: &'t str, lines: Lines) -> Cow<'t, str> {
    regex.replace_all(text, |found: &regex::Captures<'_>| {
        let whole = found.get(0).expect("group 0 is the match");
        let secret = found.name("secret").unwrap_or(whole);
        // Text that is already masked stays as it is, so that redaction is idempotent.
        if secret.as_str().starts_with(MASK) {
            return whole.as_str().to_owned();
        }
        let (before, after) = (&text[whole.start()..secret.start()], &text[secret.end()..whole.end()]);
        if lines == Lines::Fold {
            return format!("{before}{MASK}{after}");
        }
        let (secret, rest) = secret.as_str().split_at(key_end(secret.as_str()));
        let kept = "\n".repeat(secret.matches('\n').count());
        format!("{before}{MASK}{kept}{}{after}", mask(regex, rest, lines))
    })
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
    fn every_pattern_finds_its_sample() {
        for pattern in &PATTERNS {
            let regex =
                Regex::new(pattern.pattern).unwrap_or_else(|error| panic!("{}: {error}", pattern.name));
            assert!(regex.is_match(pattern.sample), "{} does not match its sample", pattern.name);
            for around in [
                pattern.sample.to_owned(),
                format!("see {} here", pattern.sample),
                format!("\"{}\"", pattern.sample),
            ] {
                let masked = text(&around);
                assert!(masked.contains(MASK), "{}: {around} became {masked}", pattern.name);
                let secret = regex
                    .captures(pattern.sample)
                    .and_then(|found| found.name("secret").or(found.get(0)))
                    .unwrap();
                assert!(!masked.contains(secret.as_str()), "{}: {masked}", pattern.name);
                assert_eq!(text(&masked), masked, "{}: masking twice", pattern.name);
            }
        }
    }

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
    fn strings_at_any_depth_are_masked() {
        let mut found =
            serde_json::json!({ "a": [{ "b": "ghp_16C7e42F292c6912E7710c838347Ae178B4a" }], "n": 1 });
        value(&mut found);
        assert_eq!(found, serde_json::json!({ "a": [{ "b": MASK }], "n": 1 }));
    }
}
