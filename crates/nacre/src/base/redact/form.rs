//! Credentials that are told by their shape.

use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

use super::MASK;
use super::token::is_random;

/// One shape.
pub struct Form {
    /// The kind of credential.
    pub name: &'static str,
    /// Lower-case strings of which at least one occurs in every match.
    triggers: &'static [&'static str],
    /// The pattern. Its group `secret` is masked, or the whole match if it has no such group.
    pattern: &'static str,
    /// A made-up text that the pattern must match.
    pub sample: &'static str,
    check: Check,
    compiled: OnceLock<Regex>,
}

/// A further condition for a match, because other texts have the same shape.
#[derive(Clone, Copy)]
enum Check {
    None,
    /// The secret looks random.
    Random,
    /// The same, for a long run of characters whose trigger occurs in every text. Other texts are not searched for it.
    LongRun,
    /// The function refuses texts that are no secret.
    Unless(fn(&str) -> bool),
}

/// The least length of a run that [`Check::LongRun`] is for.
const MIN_LONG_RUN: usize = 34;

const fn form(
    name: &'static str,
    triggers: &'static [&'static str],
    pattern: &'static str,
    sample: &'static str,
) -> Form {
    checked(name, Check::None, triggers, pattern, sample)
}

const fn checked(
    name: &'static str,
    check: Check,
    triggers: &'static [&'static str],
    pattern: &'static str,
    sample: &'static str,
) -> Form {
    Form { name, triggers, pattern, sample, check, compiled: OnceLock::new() }
}

/// The shapes.
pub static FORMS: [Form; 32] = [
    form(
        "private_key",
        &["-----begin"],
        r"(?s)-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\z)",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----",
    ),
    form(
        "putty_key",
        &["private-lines"],
        r"(?i)Private-Lines: *\d+\r?\n(?P<secret>(?:[A-Za-z0-9+/=]+\r?\n?)+)",
        "Private-Lines: 2\nAAAAgQC7V2k3\nabcDEF0123456789==\n",
    ),
    checked(
        "url_password",
        Check::Unless(is_port),
        &["://"],
        r#"(?i)\b[a-z][a-z0-9+.-]*://[^\s/:@?#]*:(?P<secret>[^\s"'<>`/@][^\s"'<>`]*)@[\w.\[-]"#,
        "postgres://app:p@ss/word1@db.example.org/main",
    ),
    form(
        "webhook",
        &[
            "hooks.slack.com/",
            "/api/webhooks/",
            "webhook.office.com/",
            "outlook.office.com/webhook",
            "chat.googleapis.com/",
        ],
        r"(?i)https://(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks|[\w.-]*webhook\.office\.com/webhookb2|outlook\.office\.com/webhook|chat\.googleapis\.com/v1/spaces)/(?P<secret>[\w/@=?&%-]{16,})",
        "https://hooks.slack.com/services/T0000AAAA/B0000BBBB/abcdefghijklmnopqrstuvwx",
    ),
    checked(
        "authorization",
        Check::Unless(is_word),
        &["bearer", "authorization"],
        r#"(?i)\b(?:bearer|(?:proxy-)?authorization["']?\s*:\s*["']?[\w-]*)\s+(?P<secret>[\w.~+/=:-]{8,})"#,
        "Authorization: Bearer abcdef0123456789",
    ),
    checked(
        "cookie",
        Check::Unless(has_no_session),
        &["cookie:"],
        r"(?i)\b(?:set-)?cookie:\s*(?P<secret>[^\s=;:(]+=[^\r\n]{8,})",
        "Cookie: session=8f3a9c77d2b14e60; theme=dark",
    ),
    form(
        "jwt",
        &["eyj"],
        r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    ),
    form(
        "command_line",
        &[
            "-u ",
            "--user",
            "-p ",
            "--pass",
            "sshpass",
            "--token",
            "--secret",
            "--api-key",
            "sqlcmd",
            "htpasswd",
            "curl",
        ],
        r#"(?i)(?:\bcurl\b[^\n|;]*?\s(?:-u|--user)\s*["']?[^\s:"']+:|\bsshpass\s+-p\s*["']?|\s--(?:password|passwd|token|secret|api-key|access-token|auth-token)[ =]["']?|\blogin\b[^\n|;]*?\s-p\s*["']?|\bsqlcmd\b[^\n|;]*?\s-P\s*["']?|\bhtpasswd\b[^\n|;]*?\s-\w*b\w*\s+\S+\s+\S+\s+|\bcurl\b[^\n|;]*?\s(?:-b|--cookie)\s*["']?[^\s=]+=)(?P<secret>[^\s"'$<{-][^\s"']{3,})"#,
        "curl -u admin:s3cret https://example.org",
    ),
    form(
        "mysql",
        &["mysql"],
        r"(?i)\bmysql(?:dump|admin)?\b[^\n|;]*?\s-p(?P<secret>[^\s'$-][^\s']{3,})",
        "mysql -u root -pS3cret1 db",
    ),
    form(
        "netrc",
        &["login"],
        r"(?i)\blogin\s+\S+\s+password\s+(?P<secret>\S+)",
        "machine example.org login bob password s3cret",
    ),
    form(
        "pgpass",
        &[":5432:"],
        r"(?m)(?:^|\s)[\w.*-]+:\d+:[^:\s]+:[^:\s]+:(?P<secret>\S+)",
        "db.example.org:5432:main:app:s3cret",
    ),
    form(
        "connection_string",
        &["pwd=", "password=", "accountkey=", "sharedaccesskey=", "sharedaccesssignature=", "sig="],
        r"(?i)(?:;\s*(?:pwd|password)=\{?|AccountKey=|SharedAccessKey=|SharedAccessSignature=|[?&]sig=)(?P<secret>[^\s;&$<{]{6,})",
        "Server=db;User=app;Password=s3cret1;",
    ),
    checked(
        "query_parameter",
        Check::Random,
        &["token=", "key=", "secret=", "password=", "signature=", "code="],
        r"(?i)[?&](?:access_token|auth_token|refresh_token|id_token|token|api_?key|key|client_secret|secret|password|x-amz-signature|signature|code)=(?P<secret>[^\s&#<>{$]{8,})",
        "https://example.org/?api_key=abcdefgh12345678",
    ),
    form(
        "aws_access_key",
        &["akia", "asia", "abia", "acca", "aroa", "aida"],
        r"(?-u:\b)(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z2-7]{16}(?-u:\b)",
        "AKIAIOSFODNN7EXAMPLE",
    ),
    form(
        "aws_secret",
        &["secret_access_key", "secretaccesskey", "session_token", "sessiontoken", "aws_secret"],
        r#"(?i)(?:aws_?)?(?:secret_?access_?key|session_?token|aws_secret)["']?\s*[=:]\s*["']?(?P<secret>[A-Za-z0-9/+=]{30,})"#,
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ),
    checked(
        "azure_secret",
        Check::LongRun,
        &["q~"],
        r"[\w.~-]{3}[78]Q~[\w.~-]{31,34}",
        "abc8Q~0123456789abcdefghijklmnopqrstuvwx",
    ),
    form(
        "jwk",
        &["\"kty\""],
        r#""kty"[^}]*?"d"\s*:\s*"(?P<secret>[\w-]{20,})"#,
        r#"{"kty":"EC","d":"ZPuZGahiHlUWLSUUTF63EiAY3SxV109WWWbVBqgETkB"}"#,
    ),
    checked(
        "secret_url",
        Check::Random,
        &["hook", "private-", "/key/", "/secret/", "/token/"],
        r"(?i)https?://\S*?(?:(?:hooks?[\w.]*|/key|/secret|/token)(?:[/\w.-]*?[/-])?|/private-)(?P<secret>[A-Za-z0-9_-]{16,})",
        "https://hook.example.com/2jez6cq7s16py7ib85cygsm3f8rushep",
    ),
    form(
        "identified_by",
        &["identified by", "with password"],
        r#"(?i)(?:identified(?: with \w+)? by|with (?:encrypted )?password)\s+['"](?P<secret>[^'"]{4,})"#,
        "CREATE USER app IDENTIFIED BY 's3cret;1'",
    ),
    form(
        "kubernetes",
        &["client-key-data", "client-certificate-data"],
        r"(?i)client-(?:key|certificate)-data:\s*(?P<secret>[A-Za-z0-9+/=]{16,})",
        "client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURQ==",
    ),
    form("k3s", &["k10"], r"\bK10[0-9a-f]{32,}::\S+", "K100123456789abcdef0123456789abcdef::server:s3cret"),
    form("telegram", &[":aa"], r"\b\d{8,10}:AA[\w-]{30,}", "123456789:AAabcdefghijklmnopqrstuvwxyz0123456"),
    checked(
        "discord",
        Check::LongRun,
        &["."],
        r"\b[MNO][A-Za-z\d_-]{23,27}\.[\w-]{6}\.[\w-]{27,}",
        "MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcdE.abcdefghijklmnopqrstuvwxyz01",
    ),
    checked(
        "twilio",
        Check::LongRun,
        &["sk", "ac"],
        r"\b(?:SK|AC)[0-9a-f]{32}\b",
        "SK0123456789abcdef0123456789abcdef",
    ),
    checked(
        "mailchimp",
        Check::LongRun,
        &["-us"],
        r"\b[0-9a-f]{32}-us\d{1,2}\b",
        "0123456789abcdef0123456789abcdef-us12",
    ),
    form(
        "terraform",
        &[".atlasv1."],
        r"\b\w{14}\.atlasv1\.[\w-]{40,}",
        "abcdEFGH012345.atlasv1.abcdefghijklmnopqrstuvwxyz0123456789ABCD",
    ),
    checked(
        "airtable",
        Check::LongRun,
        &["pat"],
        r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{40,}",
        "patAbCdEfGhIjKl01.0123456789abcdef0123456789abcdef01234567",
    ),
    checked(
        "asana",
        Check::LongRun,
        &["/"],
        r"\b[12]/\d{10,}(?:/\d+)?:[0-9a-f]{32}\b",
        "1/1200000000000000:0123456789abcdef0123456789abcdef",
    ),
    checked(
        "secret_key_1password",
        Check::LongRun,
        &["a3-"],
        r"\bA3-[A-Z0-9]{6}-(?:[A-Z0-9]{5,6}-){3,4}[A-Z0-9]{5}\b",
        "A3-ABC123-DEF456-GHJ78-KLM90-NPQ12-RST34",
    ),
    checked(
        "bitcoin_key",
        Check::LongRun,
        &["5", "k", "l", "xprv"],
        r"\b(?:[5KL][1-9A-HJ-NP-Za-km-z]{50,51}|[xyz]prv[1-9A-HJ-NP-Za-km-z]{100,})\b",
        "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ",
    ),
    form(
        "password_hash",
        &["$2a$", "$2b$", "$2y$", "$6$", "$5$", "$1$", "$apr1$", "$argon2"],
        r"\$(?:2[aby]|[156]|apr1|argon2(?:id|i|d))\$[\w./$=,+-]{20,}",
        "$2b$12$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ012345",
    ),
    form(
        "seed_phrase",
        &["seed", "mnemonic", "recovery", "wallet", "wiederherstellung", "semilla", "recupera", "words"],
        r"(?i)(?:seed|mnemonic|recovery|wallet|wiederherstellung|semilla|recupera|words)[^\n:=]{0,40}?\s*(?:is|:|=)\s*(?P<secret>(?:[a-z]{3,8}[ ,]+){11,23}[a-z]{3,8})\b",
        "seed phrase: legal winner thank year wave sausage worth useful legal winner thank yellow",
    ),
];

/// Adds the ranges of the credentials that have a known shape.
pub(super) fn find(text: &str, may_hold: impl Fn(&str) -> bool, found: &mut Vec<Range<usize>>) {
    let has_long_run = text
        .split(|c: char| c.is_whitespace() || "\"'`,;()".contains(c))
        .any(|run| run.len() >= MIN_LONG_RUN);
    let may_match = |form: &&Form| {
        (has_long_run || !matches!(form.check, Check::LongRun))
            && form.triggers.iter().any(|trigger| may_hold(trigger))
    };
    for form in FORMS.iter().filter(may_match) {
        let regex =
            form.compiled.get_or_init(|| Regex::new(form.pattern).expect("a test compiles every pattern"));
        for caught in regex.captures_iter(text) {
            let whole = caught.get(0).expect("group 0 is the match");
            let secret = caught.name("secret").unwrap_or(whole);
            if !is_placeholder(secret.as_str()) && form.check.passes(secret.as_str()) {
                found.push(secret.range());
            }
        }
    }
}

impl Check {
    fn passes(self, secret: &str) -> bool {
        match self {
            Check::None => true,
            Check::Random | Check::LongRun => is_random(secret.as_bytes()),
            Check::Unless(is_plain) => !is_plain(secret),
        }
    }
}

/// Tells whether a text is masked already, or a placeholder: `****`, `${PASSWORD}`, `PASSWORD`, `XXXX`.
fn is_placeholder(text: &str) -> bool {
    let longest = text.split(['/', '=']).max_by_key(|part| part.len()).unwrap_or(text);
    let mut kinds: Vec<char> = longest.chars().filter(|c| c.is_alphanumeric()).collect();
    let is_name = text.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    kinds.sort_unstable();
    kinds.dedup();
    text.contains(MASK)
        || text.starts_with(['{', '<', '%', '*'])
        || text.starts_with("${")
        || text.starts_with("$(")
        || is_name
        || kinds.len() < 3
}

/// Tells whether no part of a cookie identifies a session.
fn has_no_session(cookie: &str) -> bool {
    !cookie.split(';').any(is_session)
}

/// Tells whether a part of a cookie may identify a session.
fn is_session(part: &str) -> bool {
    let (name, value) = part.split_once('=').unwrap_or_default();
    let is_attribute =
        ["max-age", "expires", "path", "domain"].contains(&name.trim().to_lowercase().as_str());
    !is_attribute && value.len() >= 8 && is_random(value.as_bytes())
}

/// Tells whether a text is a word ("Bearer certificates") or a parameter of a challenge, such as `realm=`.
fn is_word(text: &str) -> bool {
    let name = text.split_once('=').map_or(text, |(name, _)| name);
    name.trim_end_matches('.').chars().all(|c| c.is_alphabetic() || "-_".contains(c))
}

/// Tells whether a text begins with a port and a path: `http://host:8080/a@b`.
fn is_port(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    (1..=5).contains(&digits) && matches!(text.as_bytes().get(digits), Some(b'/' | b'?' | b'#'))
}

#[cfg(test)]
mod tests {
    use super::super::text;
    use super::*;

    #[test]
    fn every_form_finds_its_sample() {
        for form in &FORMS {
            let regex = Regex::new(form.pattern).unwrap_or_else(|error| panic!("{}: {error}", form.name));
            let caught = regex.captures(form.sample);
            let caught = caught.unwrap_or_else(|| panic!("{} does not match its sample", form.name));
            let secret = caught.name("secret").or(caught.get(0)).unwrap().as_str();
            for around in [form.sample.to_owned(), format!("see {} here", form.sample)] {
                let masked = text(&around);
                assert!(masked.contains(MASK) && !masked.contains(secret.trim()), "{}: {masked}", form.name);
                assert_eq!(text(&masked), masked, "{}: masking twice", form.name);
            }
        }
    }
}
