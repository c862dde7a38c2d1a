//! Credentials on a command line: the option or the place in which a program expects its password.

use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

use super::form::is_placeholder;
use super::keyed::{is_known_placeholder, is_name};
use super::token::is_random;
use super::trigger::Present;

/// Programs, and how their password is introduced. A secret follows the introduction.
struct Command {
    /// Lower-case strings of which at least one occurs in every such command.
    triggers: &'static [&'static str],
    introduction: &'static str,
    /// A made-up command.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the test"))]
    sample: &'static str,
    compiled: OnceLock<Regex>,
}

const fn command(
    triggers: &'static [&'static str],
    introduction: &'static str,
    sample: &'static str,
) -> Command {
    Command { triggers, introduction, sample, compiled: OnceLock::new() }
}

/// The rest of a command up to its option. A pipe or a semicolon ends a command.
static COMMANDS: [Command; 23] = [
    command(&["-auth "], r"\s-auth\s+Q[^\s:Q]+:", "jenkins-cli.jar -auth build:s3cret who-am-i"),
    command(
        &["--pass", "--token", "--secret", "--api-key", "--apikey", "--access", "--auth", "--key"],
        r"\s--?(?:[\w-]*-)?(?:password|passwd|passphrase|pass|token|secret|api-?key|access-key|authkey|auth-key)[ =]",
        "deploy --api-key s3cretKey1",
    ),
    command(
        &["curl", "http -", "https -"],
        r"\b(?:curl|https?)\b[^\n|;]*?\s(?:-u|--user|-a|--auth|-U|--proxy-user)[ =]*Q[^\s:Q]+:",
        "curl -u admin:s3cret https://example.org",
    ),
    command(
        &["curl"],
        r"\bcurl\b[^\n|;]*?\s(?:-b|--cookie)\s*Q[^\s=]+=",
        "curl -b session=8f3a9c77d2 https://example.org",
    ),
    command(
        &["sshpass", "login", "mongo", "cqlsh", "rdesktop", "psexec", "az "],
        r"\b(?:sshpass|login|mongo\w*|cqlsh|rdesktop|psexec|az)\b[^\n|;]*?\s-p\s*",
        "sshpass -p s3cret ssh ops@10.0.0.1",
    ),
    command(
        &["sqlcmd", "mosquitto", "zip ", "bcp ", "mqtt"],
        r"\b(?:sqlcmd|mosquitto_\w+|zip|unzip|bcp|mqtt\w*)\b[^\n|;]*?\s-P\s*",
        "sqlcmd -S db -U sa -P s3cret",
    ),
    command(
        &["mysql", "mariadb", "7z", "rar "],
        r"\b(?:mysql\w*|mariadb\w*|7za?|(?:un)?rar)\b[^\n|;]*?\s-h?p",
        "mysql -u root -pS3cret1 db",
    ),
    command(
        &["<<<"],
        r"\b(?:cryptsetup|passwd|su|docker login|gh auth|gpg\d?|ssh-add|kinit|sudo)\b[^\n|;]*?<<<\s*",
        "cryptsetup open /dev/sda2 data <<< s3cret",
    ),
    command(&["snmp"], r"\bsnmp\w+\b[^\n|;]*?\s-c\s+", "snmpwalk -v2c -c s3cret 10.0.0.2"),
    command(
        &["htpasswd"],
        r"\bhtpasswd\b[^\n|;]*?\s-\w*b\w*\s+\S+\s+\S+\s+",
        "htpasswd -b .htpasswd nora s3cret",
    ),
    command(
        &["redis-cli", "keydb-cli", "valkey-cli"],
        r"\b(?:redis|keydb|valkey)-cli\b[^\n|;]*?\s(?:-a|--pass)\s*",
        "redis-cli -h cache -a s3cret ping",
    ),
    command(&["ldap"], r"\bldap\w+\b[^\n|;]*?\s-w\s*", "ldapsearch -x -D cn=admin -w s3cret -b dc=acme"),
    command(
        &["smbclient", "smbget", "rpcclient", "smbmap"],
        r"\b(?:smb\w+|rpcclient)\b[^\n|;]*?\s-U\s*Q[^\s%Q]+%",
        "smbclient //nas/docs -U lena%s3cret",
    ),
    command(
        &["net use", "net user"],
        r"\bnet use\b(?:[^\n]*?/user:\S+\s+|\s+(?:\w:\s+)?\\\\\S+\s+)",
        r"net use Z: \\fs1\share /user:ACME\svc s3cret",
    ),
    command(&["net user"], r"\bnet user\s+[\w.-]+\s+", "net user bob s3cret /add"),
    command(
        &["/p:", "/pass:", "/rp"],
        r"freerdp\S*[^\n|;]*?\s/p:|\s(?:/pass(?:word)?:|/rp\s+)",
        "xfreerdp /u:bob /p:s3cret /v:host",
    ),
    command(&["chpasswd"], r"\becho\s+(?:-\w+\s+)?Q[\w.-]+:", "echo 'pi:s3cret' | sudo chpasswd"),
    command(
        &["sudo -s", "passwd --stdin", "--password-stdin", "-passphrase-fd"],
        r"\becho\s+(?:-\w+\s+)?",
        "echo s3cret | sudo -S apt update",
    ),
    command(&["pass:"], r"\s-(?:pass|passin|passout)\s+Qpass:", "openssl enc -aes-256-cbc -pass pass:s3cret"),
    command(
        &["keytool", "jarsigner", "storepass", "keypass"],
        r"\s-(?:storepass|keypass|deststorepass|srcstorepass)\s+",
        "keytool -list -storepass s3cret",
    ),
    command(
        &["ssh-keygen", "cryptsetup", "openssl enc", "snmp"],
        r"\b(?:ssh-keygen\b[^\n|;]*?\s-N|openssl enc\b[^\n|;]*?\s-k|snmp\w+\b[^\n|;]*?\s-[AX])\s+",
        "ssh-keygen -t ed25519 -N s3cret -f key",
    ),
    command(
        &["wpa_passphrase"],
        r"\bwpa_passphrase\s+(?:\x22[^\x22]+\x22|'[^']+'|\S+)\s+",
        "wpa_passphrase Cafe s3cret77",
    ),
    command(
        &[" login ", " auth ", "authtoken", "authenticate ", "codecov"],
        r"\b(?:login|auth|authtoken|authenticate|codecov[^\n]*?\s-t|add-authtoken)\s+(?:-\w+\s+)?",
        "wandb login 40ad7ed7174595547c2c0e203da9e8ad13fa713e",
    ),
];

/// The last command introduces any word, so the secret must look random.
const RANDOM_FROM: usize = COMMANDS.len() - 1;

impl Command {
    fn regex(&self) -> &Regex {
        self.compiled.get_or_init(|| {
            // `Q` is an optional quote.
            let introduction = self.introduction.replace("[^\\s:Q]", "[^\\s:\"']").replace("[^\\s%Q]", "[^\\s%\"']");
            let introduction = introduction.replace('Q', "[\"']?");
            let secret = r#"(?:"(?P<double>[^"$][^"\n]{3,})"|'(?P<single>[^'$][^'\n]{3,})'|(?P<bare>[^\s"'$<{|%/-][^\s"'|]{3,}))"#;
            super::compile(&format!("(?i:{introduction}){secret}"))
        })
    }
}

/// Returns the triggers of each command.
pub(super) fn triggers() -> impl Iterator<Item = &'static [&'static str]> {
    COMMANDS.iter().map(|command| command.triggers)
}

/// Adds the ranges of the credentials on command lines.
pub(super) fn find(text: &str, present: &Present, found: &mut Vec<Range<usize>>) {
    for place in present.commands() {
        for caught in COMMANDS[place].regex().captures_iter(text) {
            let secret = ["double", "single", "bare"].iter().find_map(|name| caught.name(name));
            let secret = secret.expect("one of the three");
            let looks_random = || is_random(secret.as_str().as_bytes()) && secret.len() >= 20;
            let is_plain = is_placeholder(secret.as_str())
                || is_known_placeholder(secret.as_str())
                || is_reference(secret.as_str());
            if !is_plain && (place < RANDOM_FROM || looks_random()) {
                found.push(secret.range());
            }
        }
    }
}

/// Tells whether a value only names a secret: `--secret=db-password`.
fn is_reference(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_lowercase() || b"-_".contains(&byte)) && is_name(value)
}

#[cfg(test)]
mod tests {
    use super::super::{MASK, text};
    use super::*;

    #[test]
    fn every_command_is_masked() {
        for command in &COMMANDS {
            let masked = text(command.sample);
            assert!(masked.contains(MASK), "{}", command.sample);
            assert!(!masked.contains("s3cret"), "{masked}");
        }
    }

    #[test]
    fn commands_without_a_password_stay() {
        for plain in [
            "mysql -u root -p db_name_2",
            "echo hello | sudo tee /etc/motd",
            "docker login registry.example.com",
            "curl -u $USER:$TOKEN https://example.org",
            "redis-cli -a \"$REDIS_PASSWORD\" ping",
            "net user bob /delete",
            "gh auth login --hostname example.org",
            "zip -r archive.zip folder-2024",
            "msbuild a.vcxproj /m /p:OutDir=lib2024",
            "cargo test --token <token>",
        ] {
            assert_eq!(text(plain), plain);
        }
    }
}
