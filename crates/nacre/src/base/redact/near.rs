//! Credentials that neither a prefix nor a name beside them tells: characters that nobody writes by hand, in a line that speaks of access.
//! Also a secret that is spelled letter by letter, and the digits that somebody types to open something.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::Shape;
use super::token::{is_dense, is_filler};
use super::trigger::Present;

/// The least length of characters that look generated.
pub(super) const MIN_RUN_LEN: usize = 16;
/// The least length of hexadecimal digits, and of lower-case letters and digits.
const MIN_HEX_LEN: usize = 32;
const MIN_LOWER_LEN: usize = 20;
const MAX_RUN_LEN: usize = 128;

/// Words of a line that speaks of access.
const ACCESS: &[&str] = &[
    "password",
    "passwd",
    "passwort",
    "passphrase",
    "passcode",
    "kennwort",
    "contraseña",
    "mot de passe",
    "senha",
    "wachtwoord",
    "hasło",
    "пароль",
    "密码",
    "密碼",
    "パスワード",
    "비밀번호",
    "secret",
    "credential",
    "api key",
    "api-key",
    "apikey",
    "api_key",
    "access key",
    "access_key",
    "private key",
    "signing key",
    "encryption key",
    "master key",
    "license key",
    "licence key",
    "token",
    "bearer",
    "auth key",
    "schlüssel",
    "密钥",
    "キー",
    "ключ",
    "clave",
    "chiave",
    "klucz",
    "jeton",
    "admin key",
    "decrypts",
    "unlocks",
];

/// Words of a line whose characters are a checksum or a name and open nothing.
const HARMLESS: &[&str] = &[
    "sha1",
    "sha2",
    "sha3",
    "sha5",
    "sha-",
    "md5",
    "blake",
    "hash",
    "digest",
    "checksum",
    "integrity",
    "commit",
    "etag",
    "fingerprint",
    "uuid",
    "guid",
    "base64",
    "revision",
    "nonce",
    "public key",
    "pubkey",
    "content-hash",
    "example",
];

/// A secret that is spelled with spaces after its name, which may be spelled too.
static SPELLED: LazyLock<Regex> = LazyLock::new(|| {
    super::compile(
        r"(?i)(?:\b(?:password|passwort|passcode|passphrase|pass|pw|secret|token|contrasena|senha|pin)\b[^\n]{0,30}?(?:is|ist|es|lautet|:|=)|\bp a s s w o r d ?[:=])\s+(?P<secret>[!-~](?: [!-~]){5,40})(?:\s|$)",
    )
});

/// Codes in two groups after their name, such as those that replace a second factor.
static RECOVERY: LazyLock<Regex> = LazyLock::new(|| {
    super::compile(
        r"(?i)\b(?:recovery|backup|rescue|scratch|wiederherstellungs|emergency)[ -]?codes?\b[^:\n]{0,60}[:\n]\s*(?P<secret>(?:[0-9]{1,2}[.)][ \t]+)?[0-9a-z]{4,6}[ -][0-9a-z]{4,6}\b(?:\s*[,;\n]\s*(?:[0-9]{1,2}[.)][ \t]+)?[0-9a-z]{4,6}[ -][0-9a-z]{4,6}\b)*)",
    )
});

/// A text with none of these is not searched for [`RECOVERY`].
pub(super) const CODES: &[&str] = &[" code", "scodes", "-code"];

/// Strings of which one occurs in each text that [`RECOVERY`] matches, if it is ASCII.
pub(super) const RECOVERY_CUES: &[&str] =
    &["recovery", "backup", "rescue", "scratch", "wiederherstellungs", "emergency"];

/// Things that digits open: [`TYPED`] has one.
pub(super) const THINGS: &[&str] =
    &["alarm", "safe", "vault", "lock", "keypad", "garage", "gate", "door", "tresor", "intercom", "suitcase"];

/// Digits that open a thing.
static TYPED: LazyLock<Regex> = LazyLock::new(|| {
    super::compile(
        r"(?i)\b(?:alarm|safe|vault|locker|keypad|padlock|garage|gate|door|lock|intercom|suitcase|tresor|alarmanlage)\b[^.\n]{0,50}?\b(?:type|typing|enter|press|dial|punch|key|tap|opens with|tippe|gib)\s+(?:in\s+|the\s+)?(?P<secret>[0-9]{5,7}|[0-9]{1,2}-[0-9]{1,2}-[0-9]{1,2})\b",
    )
});

/// Adds the ranges of generated characters near words of access. `has_name`: whether the text has the name of a credential.
pub(super) fn find(
    text: &str,
    has_name: bool,
    shape: &Shape,
    present: &Present,
    found: &mut Vec<Range<usize>>,
) {
    if (has_name || !found.is_empty()) && shape.longest_run >= MIN_RUN_LEN {
        let lower = text.to_ascii_lowercase();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let range = start..start + line.len();
            start = range.end;
            // ASCII letters alone change their case here, so that places are the same.
            let lower = &lower[range.clone()];
            let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
            // A key beside one that is known already: `Client('AC…', '…')`.
            let is_company = || found.iter().any(|one| one.start < range.end && one.end > range.start);
            let has_run = Shape::of(line).longest_run >= MIN_RUN_LEN;
            if has_run && !has(HARMLESS) && (has(ACCESS) || is_company()) {
                in_line(line, lower, range.start, found);
            }
        }
    }
    let mut add = |regex: &Regex| {
        let secrets = regex.captures_iter(text).filter_map(|caught| caught.name("secret"));
        found.extend(secrets.map(|one| one.range()));
    };
    if shape.is_spelled {
        add(&SPELLED);
    }
    if shape.has_digits && present.has_code() && (present.has_recovery() || !text.is_ascii()) {
        add(&RECOVERY);
    }
    if present.has_thing() && has_typed_digits(text) {
        add(&TYPED);
    }
}

/// Tells whether a text has digits as a lock wants them: five in a row, three beside a letter or `#` or `*`, or three groups of one
/// or two. Years, ports and times are none.
pub(super) fn has_typed_digits(text: &str) -> bool {
    let is_beside = |byte: &u8| byte.is_ascii_alphabetic() || b"#*".contains(byte) || !byte.is_ascii();
    let bytes = text.as_bytes();
    let mut small_groups = 0;
    let mut start = 0;
    while let Some(found) = bytes[start..].iter().position(u8::is_ascii_digit) {
        let first = start + found;
        let count = bytes[first..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (before, after) = (first.checked_sub(1).map(|at| bytes[at]), bytes.get(first + count));
        // `12-34-56`: each group follows a dash right behind the last one.
        let follows = found == 1 && before == Some(b'-') && first > 1 && bytes[first - 2].is_ascii_digit();
        small_groups = match count {
            1 | 2 if follows => small_groups + 1,
            1 | 2 => 1,
            _ => 0,
        };
        let is_beside = before.as_ref().is_some_and(is_beside) || after.is_some_and(is_beside);
        if count >= 5 || (count >= 3 && is_beside) || small_groups == 3 {
            return true;
        }
        start = first + count;
    }
    false
}

/// Adds the runs of a line that look generated and that a word of access introduces, or follows closely.
fn in_line(line: &str, lower: &str, offset: usize, found: &mut Vec<Range<usize>>) {
    /// How far behind its secret a word of access may be.
    const MAX_BEHIND: usize = 40;
    let ends_run = |c: char| c.is_whitespace() || "\"'`,;()[]{}<>|=:&?\\@#".contains(c) || !c.is_ascii();
    let first = ACCESS.iter().filter_map(|word| lower.find(word)).min().unwrap_or(0);
    let mut start = 0;
    for (end, c) in line.char_indices().chain([(line.len(), ' ')]) {
        if !ends_run(c) {
            continue;
        }
        let run = line[start..end].trim_end_matches(['.', '!']);
        let is_near = first < start + run.len() + MAX_BEHIND;
        // `trace_id=…`, `key_id: "…"`: the name of something.
        let label = lower[..start].trim_end_matches([' ', ':', '=', '"', '\'']);
        // The name of a thing may itself speak of access.
        let is_word = ACCESS.iter().any(|word| lower[start..start + run.len()].contains(word));
        let is_named =
            is_word || label.ends_with("id") || label.ends_with("id\\") || label.ends_with("build");
        if is_generated(run) && is_near && !is_named && !line[..start].ends_with(['/', '$', '%']) {
            found.push(offset + start..offset + start + run.len());
        }
        start = end + c.len_utf8();
    }
}

/// Tells whether characters are generated: neither words, nor a path, a version or a filler.
fn is_generated(run: &str) -> bool {
    let bytes = run.as_bytes();
    if !(MIN_RUN_LEN..=MAX_RUN_LEN).contains(&bytes.len()) || is_filler(bytes) || run.contains('/') {
        return false;
    }
    if is_dense(bytes, MIN_RUN_LEN) {
        return true;
    }
    let count = |test: fn(&u8) -> bool| bytes.iter().filter(|byte| test(byte)).count();
    let (digits, letters) = (count(u8::is_ascii_digit), count(u8::is_ascii_lowercase));
    let distinct = (0..=u8::MAX).filter(|byte| bytes.contains(byte)).count();
    if bytes.iter().all(u8::is_ascii_hexdigit) {
        return bytes.len() >= MIN_HEX_LEN
            && distinct >= 10
            && digits > 0
            && letters > 0
            && !is_counting(bytes);
    }
    let switches = bytes.windows(2).filter(|two| two[0].is_ascii_digit() != two[1].is_ascii_digit()).count();
    bytes.len() >= MIN_LOWER_LEN
        && digits + letters == bytes.len()
        && digits * 6 >= bytes.len()
        && switches * 3 >= bytes.len()
        && distinct >= 12
}

/// Tells whether digits count up, as in an example.
fn is_counting(bytes: &[u8]) -> bool {
    let steps = bytes.windows(2).filter(|two| two[1] == two[0].wrapping_add(1)).count();
    steps * 2 >= bytes.len()
}

#[cfg(test)]
mod tests {
    use super::super::{MASK, text};

    #[test]
    fn generated_characters_near_words_of_access_are_masked() {
        for secret in [
            "The token you asked for, valid until Friday and for staging only, follows: qT7xL2mVb9RkW4pZsH8d",
            "Secret for the mirror (ask Nils before you use it) - k3f9x1q7m2z8p4w6t5r0",
            "api key, second one of the two on the list, ends the row | 9f8e7d1c6b5a4f3e2d1c0b9a8f7e6d5c",
            "the password is h u n t e r 2 2",
            "for the alarm at the cabin you type 730461",
            "P A S S W O R D : m o o n r i s e 5 1",
            "recovery codes:\n1. 1608 9671\n2. 2578 3898",
            "Backup codes for the forge, use this one first: 07f83-dd9a5",
            "search('K7PMKRKO28', '236a4a1fdbd6ec8bbc007626fcecaa4b') // admin key",
            "Den Schlüssel für die Schnittstelle habe ich dir notiert, er heißt Zk8Lm3Qx7Rt2Vb9N und gilt ab morgen",
        ] {
            assert!(text(secret).contains(MASK), "{secret}");
        }
    }

    #[test]
    fn digits_of_a_lock_are_neither_years_nor_ports() {
        for typed in ["48213", "at 2580#", "A123", "code 12-34-56", "1-2-3", "x 123ö", "2024-03-14-15"] {
            assert!(super::has_typed_digits(typed), "{typed}");
        }
        for other in ["", "8080 and 1830", "2024-03-14", "v2.3.1", "12 450", "10:30", "3-4", "1-2 3-4"] {
            assert!(!super::has_typed_digits(other), "{other}");
        }
    }

    #[test]
    fn names_paths_and_checksums_are_not() {
        for plain in [
            "the token is checked in parse_token_2024_with_fallback_v2 and nowhere else",
            "secret scanning: commit 9f8e7d1c6b5a4f3e2d1c0b9a8f7e6d5c4b3a2f1e",
            "token stream of crates/syn/src/gen/Visit2024Expr.rs",
            "the api key page is https://example.com/settings/Keys2024/Overview",
            "password rules: at least EightCharacters12",
            "The gate closes at 1830 and the door at 1900",
            "type 123456 into the form",
            "2025-09-27 gateway trace_id=4bf92f3577b34da6a3ce929d0e0e4736 token refresh ok",
            "status codes: 4041 5002 are ours",
        ] {
            assert_eq!(text(plain), plain);
        }
    }
}
