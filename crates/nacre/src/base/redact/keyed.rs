//! Credentials that are told by their name: `DB_PASSWORD=…`, `token: …`, "the wifi password is still …", in several languages.
//!
//! From a name the text is read on: signs and linking words lead to the value, other words lead nowhere. A value must look like a
//! secret; a plain word counts only directly after the name of a password and a sign.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};

use super::MASK;
use super::token::{is_dense, is_random};
use crate::base::words::{self, List};

static PASSWORDS: List = words::CREDENTIALS.list("passwords");
static KEYS: List = words::CREDENTIALS.list("keys");
static LINKS: List = words::CREDENTIALS.list("links");
static PLACEHOLDERS: List = words::CREDENTIALS.list("placeholders");
static REFERENCES: List = words::CREDENTIALS.list("references");

/// The most words between a name and its value.
const MAX_WORDS: usize = 6;

/// A name in ASCII, with the parts that may follow it in an identifier. Compiled without Unicode, which takes a tenth of the time.
static NAMED: LazyLock<Regex> = LazyLock::new(|| named(true));
/// The other names.
static NAMED_ELSEWHERE: LazyLock<Regex> = LazyLock::new(|| named(false));

fn named(ascii: bool) -> Regex {
    // In a name, parts are joined by nothing, a space or a sign. Longer names come first.
    let mut names: Vec<&str> =
        PASSWORDS.iter().chain(KEYS.iter()).copied().filter(|name| name.is_ascii() == ascii).collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    let names: Vec<String> = names.iter().map(|name| name.replace(' ', "[-_. ]?")).collect();
    let pattern = format!(
        "(?P<name>{})s?(?:[-_]?(?:[0-9]|base|data|id|value|secreta|secreto|prod|production|dev|staging|test))?",
        names.join("|")
    );
    let regex = RegexBuilder::new(&pattern).case_insensitive(true).unicode(!ascii).build();
    regex.expect("the names are plain words")
}

/// Tells whether a text may contain a name and a value.
pub(super) fn may_occur(lower: &str, may_hold: impl Fn(&str) -> bool) -> bool {
    const PARTS: &[&str] = &[
        "pass",
        "pw",
        "kenn",
        "mdp",
        "contrase",
        "clave",
        "senha",
        "parola",
        "wacht",
        "hasł",
        "lösen",
        "şifre",
        "token",
        "secret",
        "credential",
        "key",
        "identified by",
        "schl",
        "geheim",
        "zugang",
        "jeton",
        "clé",
        "segred",
        "chiave",
        "chave",
        "sleutel",
    ];
    PARTS.iter().any(|part| may_hold(part)) || (!lower.is_ascii() && lower.chars().any(|c| c > '\u{400}'))
}

/// Adds the ranges of the values that are named as credentials.
pub(super) fn find(text: &str, found: &mut Vec<Range<usize>>) {
    let elsewhere = (!text.is_ascii()).then(|| NAMED_ELSEWHERE.captures_iter(text));
    for named in NAMED.captures_iter(text).chain(elsewhere.into_iter().flatten()) {
        let (whole, name) =
            (named.get(0).expect("group 0 is the match"), named.name("name").expect("a name"));
        // `passwordLength`, `secretsmanager`, `new_secret(…)`, `${DB_PASSWORD}`, `arn:…:secret:…`
        let goes_on =
            text[whole.end()..].starts_with(|c: char| c.is_ascii_alphanumeric() || "_@/-(}>%".contains(c));
        if goes_on || !begins_word(text, name.start(), name.as_str()) {
            continue;
        }
        let is_variable = !name.as_str().chars().any(char::is_lowercase) && name.as_str().is_ascii();
        let lower = name.as_str().to_lowercase();
        let kind = match () {
            () if lower == "key" => Kind::AnyKey,
            // A verb, unless a sign follows.
            () if lower == "pass" && !is_variable && !text[whole.end()..].starts_with([':', '=']) => continue,
            () if PASSWORDS.contains(&lower.as_str()) => Kind::Password { is_variable },
            () => Kind::Key { is_variable },
        };
        let link = Link::None;
        found.extend(Reader { text, kind, at: whole.end(), link, words: 0, has_passed: false }.value());
    }
}

/// Tells whether the name is a word of its own or the last part of a longer name.
fn begins_word(text: &str, start: usize, name: &str) -> bool {
    let begins_upper = name.starts_with(char::is_uppercase);
    if text[..start].ends_with(':') && text[start + name.len()..].starts_with(':') {
        return false;
    }
    text[..start].chars().next_back().is_none_or(|before| {
        // Languages without spaces; camelCase.
        !before.is_alphanumeric() || before > '\u{1100}' || (before.is_lowercase() && begins_upper)
    })
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
}

impl Reader<'_> {
    fn value(mut self) -> Option<Range<usize>> {
        let mut lines = 0;
        while let Some(next) = self.text[self.at..].chars().next() {
            match next {
                '\n' => {
                    lines += 1;
                    if lines > 1 || self.link != Link::Sign {
                        return None;
                    }
                    self.at += 1;
                }
                _ if self.text[self.at..].starts_with("::") => return None,
                ':' | '=' | '：' | '→' => self.follow(next, Link::Sign),
                // Two strings in a list, the name and the value: `("password", "…")`.
                ',' if self.words == 0 && self.text[..self.at].ends_with(['"', '\'']) => {
                    self.follow(next, Link::Sign)
                }
                '"' | '\'' | '`' | '「' | '“' | '„' | '«' => {
                    if let Some(quoted) = self.quoted(next) {
                        return self.judge(quoted, true);
                    }
                    self.at += next.len_utf8();
                }
                _ if next.is_whitespace() || "()[]{}*_|>\\-」”".contains(next) => {
                    self.at += next.len_utf8()
                }
                _ => {
                    let word = self.word();
                    if self.is_plain(word.clone()) && !(self.link == Link::Sign && self.words == 0) {
                        self.pass(word)?;
                    } else {
                        return self.judge(word, false);
                    }
                }
            }
        }
        None
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
        let end = start + line.find(close)?;
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
        let run = &rest[..rest.find(stops).unwrap_or(rest.len())];
        let run = run.find('(').filter(|_| !rest.is_ascii()).map_or(run, |bracket| &run[..bracket]);
        let kept = run.trim_end_matches([',', ';', '.', ')', ']', '}', ':', '*', '，', '。', '、']);
        let kept = if kept.is_empty() { run } else { kept };
        self.at..self.at + kept.len().max(rest.chars().next().map_or(1, char::len_utf8))
    }

    fn is_plain(&self, word: Range<usize>) -> bool {
        let text = &self.text[word];
        let letters = text.chars().filter(|c| !"-'’".contains(*c));
        let rest = || text.chars().skip(1);
        letters.clone().all(char::is_alphabetic)
            && (!rest().any(char::is_uppercase) || !rest().any(char::is_lowercase))
    }

    /// Returns the value if it is a secret.
    fn judge(&self, range: Range<usize>, quoted: bool) -> Option<Range<usize>> {
        let value = &self.text[range.clone()];
        if is_reference(value, quoted) {
            return None;
        }
        let direct = self.words == 0 && self.link == Link::None;
        let reached = self.words == 0 || self.link != Link::None;
        let secret = match self.kind {
            Kind::AnyKey => self.link == Link::Sign && is_dense(value.as_bytes(), 16),
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
    value.contains(MASK)
        || value.chars().any(|c| c > '\u{1100}')
        || value.ends_with('=')
            && value[..value.len() - 1].chars().all(|c| c.is_alphabetic() || "_-".contains(c))
        || bare.chars().count() < 4
        || bare.chars().all(|c| c.is_alphabetic() || c == '_')
            && value.contains('_')
            && value == value.to_uppercase()
        || letters.all(|c| Some(c) == first)
        || PLACEHOLDERS.has(bare)
        || (REFERENCES.iter().any(|start| lower.starts_with(start)) && !is_dense(value.as_bytes(), 28))
        || (lower.starts_with("0x") && value.len() < 34)
        || ["...", "…", "::", "${", "://", "your_", "your-", "example"]
            .iter()
            .any(|part| value.contains(part))
        || (!quoted && value.contains(['(', '[', '{', '<', '|']))
        || is_path(value)
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
    let number = is_password && digits == long && long >= 6;
    let cased = quoted && long >= 8 && is_random(value.as_bytes());
    // No name begins like this.
    let odd = is_password && long >= 8 && {
        let mut letters = value.chars();
        letters.next().is_some_and(char::is_lowercase) && letters.next().is_some_and(char::is_uppercase)
    };
    mixed || signed || number || cased || odd
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
        ] {
            assert!(text(secret).contains(MASK), "{secret}");
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
            "token: Token2",
            "Ask for the api key: it is with Ada",
        ] {
            assert_eq!(text(plain), plain);
        }
    }
}
