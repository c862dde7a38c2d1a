//! Credentials that are told by their shape.

use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

use super::keyed::is_known_placeholder;
use super::near::has_typed_digits;
use super::token::is_random;
use super::trigger::Present;
use super::{MASK, compile};

/// One shape.
pub struct Form {
    /// The kind of credential.
    pub name: &'static str,
    /// Lower-case strings of which at least one occurs in every match.
    triggers: &'static [&'static str],
    /// Bytes of which one occurs in every match, where the triggers are words of prose. Empty: none is needed.
    signs: &'static [u8],
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
    /// The same, for a run of characters of this length at least, whose trigger occurs in every text. Other texts are not searched.
    LongRun(usize),
    /// None, for a code that is typed. Other texts are not searched for it.
    TypedDigits,
    /// The secret mixes letters with digits and signs, as a password does and a name does not.
    Strong,
    /// The same, and it has a digit.
    Password,
    /// Letters of both cases, digits and signs: all four.
    FourKinds,
    /// The function refuses texts that are no secret.
    Unless(fn(&str) -> bool),
}

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
    signed(name, b"", check, triggers, pattern, sample)
}

const fn signed(
    name: &'static str,
    signs: &'static [u8],
    check: Check,
    triggers: &'static [&'static str],
    pattern: &'static str,
    sample: &'static str,
) -> Form {
    Form { name, triggers, signs, pattern, sample, check, compiled: OnceLock::new() }
}

/// The shapes.
pub static FORMS: [Form; 82] = [
    form(
        "private_key",
        &["-----begin"],
        r"(?s)-----BEGIN (?:[A-Z0-9]+ )*(?:PRIVATE KEY|OpenVPN Static key V1)(?: BLOCK)?-----(?:[\s\x22'`\\]*(?:\\n|\\r|\n|\z)|\s*[A-Za-z0-9+/=]{16}).*?(?:-----END (?:[A-Z0-9]+ )*(?:PRIVATE KEY|OpenVPN Static key V1)(?: BLOCK)?-----|\z)",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----",
    ),
    form(
        "putty_key",
        &["private-lines"],
        r"(?i)Private-Lines: *\d+\r?\n(?P<secret>(?:[A-Za-z0-9+/=]+\r?\n?)+)",
        "Private-Lines: 2\nAAAAgQC7V2k3\nabcDEF0123456789==\n",
    ),
    signed(
        "url_password",
        b"@",
        Check::Unless(is_port_or_placeholder),
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
            "hooks.zapier.com/",
            "/bot/v2/hook/",
            "webhook/send?key=",
            "webhook.site/",
            "hc-ping.com/",
            "uptime.betterstack.com/",
        ],
        r"(?i)https://(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks|[\w.-]*webhook\.office\.com/webhookb2|outlook\.office\.com/webhook|chat\.googleapis\.com/v1/spaces|hooks\.zapier\.com/hooks/(?:catch|standard)|[\w.]+/open-apis/bot/v2/hook|[\w.]+/cgi-bin/webhook|webhook\.site|hc-ping\.com|uptime\.betterstack\.com/api/v1/heartbeat)/(?P<secret>[\w/@=?&%-]{14,})",
        "https://hooks.slack.com/services/T0000AAAA/B0000BBBB/abcdefghijklmnopqrstuvwx",
    ),
    signed(
        "url_token",
        b"@",
        Check::Random,
        &["://"],
        r"(?i)\b[a-z][a-z0-9+.-]*://(?P<secret>[\w.~-]{16,})@[\w.\[-]",
        "https://0123456789abcdef0123456789abcdef@o123.ingest.example.io/42",
    ),
    checked(
        "login_without_scheme",
        Check::Strong,
        &["@"],
        r"(?:^|[\s'\x22=(])[\w.+-]+:(?P<secret>[^\s@/:'\x22]{6,})@(?:tcp\(|[\w.-]+:\d{2,5}\b)",
        "app:s3cret!Pw@tcp(10.0.0.4:3306)/shop",
    ),
    checked(
        "login_oracle",
        Check::Strong,
        &["@"],
        r"\b\w+/(?P<secret>[^\s@/:'\x22]{6,})@(?://)?[\w.-]+:\d{2,5}[/:]\w",
        "sqlplus scott/t1ger!Pw@//db1:1521/orcl",
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
    checked(
        "session_cookie",
        Check::Random,
        &[
            "sessid=",
            "session=",
            "sessionid=",
            "logged_in",
            "security=",
            "sid=",
            "remember_",
            "auth_token=",
            "__secure",
            "__host",
        ],
        r"(?i)(?:\b(?:phpsessid|jsessionid|asp\.net_sessionid|connect\.sid|sid|sessionid|laravel_session|remember_\w+|wordpress_(?:logged_in|sec)_\w+|s?sess[0-9a-f]{16,}|auth_token|[\w.-]*_session|__(?:secure|host)-[\w.-]+)|\.[a-z]*security)=(?P<secret>[^\s;,\x22'<>()]{16,})",
        "sessionid=zyzadx6zvs4tre3kcm05y23zfq3aye90",
    ),
    form(
        "jwt",
        &["eyj"],
        r"(?m)\beyJ[\w-]{8,}(?:\n[ \t>]*[\w-]+)*\.(?:\n[ \t>]*)?[\w-]{8,}(?:\n[ \t>]*[\w-]+)*(?:\.(?:\n[ \t>]*)?[\w-]+(?:\n[ \t>]*[\w-]{4,}$)*)?",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
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
    checked(
        "connection_string",
        Check::Unless(is_placeholder_word),
        &["pwd=", "password=", "accountkey=", "sharedaccesskey=", "sharedaccesssignature=", "sig="],
        r"(?i)(?:;\s*(?:pwd|password)=\{?|AccountKey=|SharedAccessKey=|SharedAccessSignature=|[?&]sig=)(?P<secret>[^\s;&$<{\x22'][^\s;&\x22'<]{5,})",
        "Server=db;User=app;Password=s3cret1;",
    ),
    form(
        "shared_access_signature",
        &["sig="],
        r"(?i)[?&](?P<secret>sv=\d{4}-\d\d-\d\d&[^\s\x22'<>]*\bsig=[^\s\x22'<>]+)",
        "https://store.example.net/raw?sv=2022-11-02&ss=b&sp=rl&sig=abcdef0123456789%3D",
    ),
    checked(
        "query_parameter",
        Check::Random,
        &["token=", "key=", "secret=", "signature=", "code=", "appid=", "auth=", "sid=", "jwt=", "%3d"],
        r"(?i)(?:[?&#;]|%3F|%26)(?:amp;)?[\w.-]*(?:token|key|secret|signature|code|appid|auth|sid|jwt)(?:=|%3D)(?P<secret>[^\s&#<>{$\x22']{8,})",
        "https://example.org/?api_key=abcdefgh12345678",
    ),
    checked(
        "query_password",
        Check::Unless(is_placeholder_word),
        &["password=", "passwd=", "pwd=", "pass="],
        r"(?i)[?&](?:password|passwd|pwd|pass)=(?P<secret>[^\s&#<>{$\x22'][^\s&#<>\x22']{3,})",
        "jdbc:mysql://db/shop?user=shop&password=qa(Tree)7",
    ),
    form(
        "request_signature",
        &["signature="],
        r"(?i)\bSignature=(?P<secret>[0-9a-f]{64})\b",
        "Credential=AKID/20260101, Signature=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    ),
    checked(
        "xml_element",
        Check::Unless(is_placeholder_word),
        &["</"],
        r"(?i)<(?:\w+:)?\w*(?:password|passwd|passphrase|secret|api_?key|private_?key|access_?token|auth_?token)>\s*(?P<secret>[^<\s$\[{][^<]{3,})</",
        "<proxyPassword>s3cret!</proxyPassword>",
    ),
    checked(
        "call",
        Check::Strong,
        &[
            "password(",
            "passwd(",
            "phrase(",
            "pass(",
            "secret(",
            "token(",
            "key(",
            "auth(",
            "authentication(",
            "ticate(",
            "orize(",
            "credential(",
            "credentials(",
            "login(",
            "wifi.begin",
            "signin(",
            "sign_in(",
        ],
        r"(?i)(?:pass(?:word|wd|phrase)?|secret|token|api_?key|auth(?:enticate|entication|orize)?|credentials?|login|sign_?in|wifi\.begin)\(\s*(?:[^()\x22']*\s*)?(?:[\x22'][^\x22']*[\x22']\s*,\s*)?[\x22'](?P<secret>[^\x22'\s]{8,})[\x22'](?:\.\w+\(\))?\s*\)",
        "client.setPassword(\"s3cret!Pw\")",
    ),
    checked(
        "login_pair",
        Check::Password,
        &["admin /", "admin:", "root /", "root:", "user /", "login /", "name /"],
        r"(?i)\b(?:admin|administrator|root|user|username|login)\s*(?:/ |: ?)(?P<secret>[^\s/:]{6,})",
        "log in as admin / hAppy_Llama_88",
    ),
    checked(
        "credentials",
        Check::Password,
        &["cred", "zugangsdaten", "logindaten"],
        r"(?i)\b(?:cred(?:ential)?s?|zugangsdaten|logindaten)\b[^\n/:|]{0,40}?(?:: *)?[\w.@-]+\s*(?:[/|] |: ?)(?P<secret>[^\s/:]{6,})",
        "creds: svc_app / Zug2Basel!",
    ),
    checked(
        "login_prose",
        Check::FourKinds,
        &["ssh", "login", "log in", "ftp", "rdp", "vnc", "works"],
        r"(?:^|\s)[a-z][\w.-]{1,20}:(?P<secret>[^\s/:(){};,'\x22]{8,})(?:\s|$)",
        "bob:Zug2Basel! works for ssh",
    ),
    checked(
        "wifi_key",
        Check::Strong,
        &["ssid", "wpa", "wifi", "wi-fi", "wlan"],
        r"(?i)\b(?:ssid|wpa\d?|wi-?fi|wlan)\b[^\n]{0,40}?\b(?:key|code|schlüssel)\b\W{1,3}(?P<secret>\S{8,})",
        "SSID Nordlicht, key 7hornBush!",
    ),
    form(
        "secure_string",
        &["securestring"],
        r"(?i)ConvertTo-SecureString\s+(?:-String\s+)?[\x22'](?P<secret>[^\x22'$]{4,})",
        "ConvertTo-SecureString \"s3cret\" -AsPlainText -Force",
    ),
    checked(
        "rpc_url",
        Check::Random,
        &["infura.io/", "alchemy.com/", "quiknode.pro/", "rpc.ankr.com/", "moralis"],
        r"(?i)\b(?:infura\.io/(?:ws/)?v3|alchemy\.com/(?:nft/)?v[23]|quiknode\.pro|rpc\.ankr\.com/\w+)/(?P<secret>[\w-]{20,})",
        "https://mainnet.infura.io/v3/0a836825153000f57584f71aaba5f2fe",
    ),
    checked(
        "directive",
        Check::Unless(is_placeholder_word),
        &[
            "requirepass",
            "masterauth",
            "bindpw",
            "rootpw",
            "snmp-server",
            "isakmp key",
            "auth_pass",
            "pre-shared-key",
            "secret 0",
            "secret 5",
            "secret 7",
            "password 0",
            "password 5",
            "password 7",
        ],
        r"(?i)(?:^|\s)(?:requirepass|masterauth|bindpw|rootpw|snmp-server community|crypto isakmp key|auth_pass|pre-shared-key\b[^\n]{0,60}? key|(?:secret|password) [057])\s+[\x22']?(?P<secret>[^\s\x22'$<{][^\s\x22']{3,})",
        "requirepass s3cret",
    ),
    checked(
        "npm_auth",
        Check::Unless(is_placeholder_word),
        &["_auth"],
        r"(?m)(?:^|[\s:])_auth\s*=\s*[\x22']?(?P<secret>[A-Za-z0-9+/_-]{8,}=*)[\x22']?(?:\s|$)",
        "//registry.example.org/:_auth=bm9yYTpzM2NyZXQ=",
    ),
    // A user and a password as two strings.
    signed(
        "login_strings",
        b"\"'",
        Check::Password,
        &["auth=", "auth =", "auth:", "auth\":", "auth':", "creds", "credentials", "login"],
        r"(?i)(?:auth|creds|credentials|login)[\x22']?\s*[=:]\s*(?:\w+)?[(\[{]\s*[\x22'][^\x22'\n]*[\x22']\s*,\s*[\x22'](?P<secret>[^\x22'\s]{6,})[\x22']\s*[)\]}]",
        "requests.get(url, auth=(\"nora\", \"s3cret!Pw\"))",
    ),
    // The key of a signature or of a cipher as an argument.
    checked(
        "crypto_call",
        Check::Random,
        &["hmac", "jwt.", "fernet", "aes.new", "jws.", "cipher", "secretbox(", "unsign", "signer("],
        r"(?i)\b(?:hmac(?:\.new|_new|\.digest|_sha\d+|_hash)?|create_?hmac|jw[ts]\.(?:encode|decode|sign|verify)|fernet|aes\.new|create_?(?:de)?cipher(?:iv)?|secretbox|(?:un)?signer?)\(\s*(?:[\w.()\[\]{}$]+\s*,\s*|\{[^{}\n]*\}\s*,\s*|[\x22'][\w-]{2,16}[\x22']\s*,\s*)?b?[\x22'](?P<secret>[^\x22'\s]{12,})[\x22']",
        "hmac.new(b\"Kq7vT2mXz9RbW4pL\", body, sha256)",
    ),
    checked(
        "community",
        Check::Password,
        &["community"],
        r"(?i)(?:^|\s)(?:r[ow])?community6?\s*[:=]?\s+[\x22']?(?P<secret>[^\s\x22'.,;:()]{6,})",
        "community pr1vateNet rw",
    ),
    // Groups that replace a second factor, with or without a colon.
    checked(
        "recovery_groups",
        Check::Unless(is_no_recovery_code),
        &["2fa", "mfa", "recovery", "backup", "rescue", "emergency", "two-factor", "scratch"],
        r"(?i)\b(?:2fa|mfa|two-factor|recovery|backup|rescue|scratch|emergency)(?:[ -](?:codes?|keys?|kit|recovery|backup))?(?:\s+(?:is|are|was|=|for\s+\w+))?\s*[:=]?\s+(?P<secret>[0-9a-z]{4,6}(?:-[0-9a-z]{4,6}){1,7})\b",
        "2FA backup: k7f2-x9q4-m3z8",
    ),
    // The digits that open a door or a gate.
    checked(
        "entry_code",
        Check::TypedDigits,
        &["code", "código", "codice", "kod"],
        r"(?i)\b(?:(?:door|gate|entry|entrance|garage|alarm|safe|vault|locker|keypad|lock ?box|key ?box|building|lift|elevator)[ -]?code|(?:zugangs|zutritts|eingangs|tür|haustür|tor|garagen|alarm|schloss|schlüsselbox|tresor)-?code|digicode|code (?:d['’](?:accès|entrée|alarme)|de (?:la porte|l['’](?:immeuble|alarme|entrée))|du (?:portail|garage))|código (?:de (?:acceso|entrada|la puerta|la alarma|acesso)|d[ao] (?:porta|portão|alarme|prédio)|del (?:portal|garaje))|codice (?:d['’](?:accesso|ingresso|allarme)|di accesso|della porta|del (?:cancello|portone))|(?:toegangs|deur|poort|alarm)code|kod (?:do \w+|domofonu|alarmu))\b[^.;\n0-9]{0,40}?(?:\b(?:is|ist|lautet|est|es|jest)|[ \t](?:é|è)|[:=])\s*(?P<secret>[0-9]{5,8}[#*]?|[0-9]{4}[#*]|[A-Z][0-9]{3,6}[#*]?|[0-9]{3,6}[A-Z][#*]?)(?:[^\w-]|$)",
        "The gate code for the yard is 48213#",
    ),
    // Mixed into every hash of an application.
    checked(
        "salt",
        Check::Random,
        &["_salt", "_pepper", "password salt", "passwordsalt"],
        r"(?i)\b(?:\w+_(?:salt|pepper)|password ?salt)[\x22']?\s*(?:[:=]|=>|,)\s*[\x22']?(?P<secret>[^\s\x22']{16,})",
        "COOKIE_SALT=Kq7vT2mXz9RbW4pLh3Ds",
    ),
    checked(
        "code_of_a_thing",
        Check::TypedDigits,
        &["code", "combination", "kombination", "código", "codice"],
        r"(?i)\b(?:codes?|combination|kombination|código|codice)\s+(?:for|to|of|für|fürs|zum|zur|pour|de|del|della|du|da|do|van|voor)\s+(?:the |my |our |die |das |den |der |la |le |el |de |het |meine |unsere )?(?:[\w-]+ )?(?:door|gate|garage|alarm|safe|lock|locker|padlock|vault|building|lift|keypad|haustür|tür|tor|schloss|tresor|alarmanlage|eingang|porte|portail|immeuble|coffre|puerta|portal|caja|porta|portão|cofre|cancello|portone|cassaforte|deur|poort|kluis|slot)\b[^.;\n0-9]{0,30}?(?:\b(?:is|ist|lautet|est|es)|[ \t](?:é|è)|[:=])\s*(?P<secret>[0-9]{5,8}[#*]?|[0-9]{4}[#*]|[0-9]{1,2}(?:-[0-9]{1,2}){2,3}|[A-Z][0-9]{3,6})(?:[^\w-]|$)",
        "the code for the front door is 720066",
    ),
    // `one-time code 923827 expires in five minutes`
    checked(
        "sent_code",
        Check::TypedDigits,
        &["code", "puk"],
        r"(?i)\b(?:(?:one[- ]time|verification|login|log-in|sign-?in|security|2fa|mfa|confirmation|authentication|access) (?:pass)?code |puk2? )(?P<secret>[0-9]{6,8})\b",
        "Your verification code 923827 expires soon",
    ),
    checked(
        "wifi_code",
        Check::Password,
        &["wifi", "wi-fi", "wlan", "wpa"],
        r"(?i)\b(?:code|clé|clave|chiave|key|schlüssel)\s+(?:du |del |de la |della |of the |for the |fürs |für das )?(?:wi-?fi|wlan|wpa[23]?)\b\s*(?:is|ist|est|es|:|=)\s*(?P<secret>[^\s,;]{8,})",
        "code wifi : box-1947-lake",
    ),
    // A user and a password at the end of the arguments of a connection.
    checked(
        "connect_call",
        Check::Password,
        &["connect(", "connection(", "ftp(", "smtp(", "imap", "ftp_tls("],
        r"(?i)\b(?:connect|get_?connection|ftp(?:_tls)?|smtp|imap4?(?:_ssl)?)\((?:[^()\n]{0,120},)?\s*[\x22'][^\x22'\n]*[\x22']\s*,\s*[\x22'](?P<secret>[^\x22'\s]{6,})[\x22']\s*\)",
        "DriverManager.getConnection(url, \"app\", \"s3cret!Pw\")",
    ),
    // `eva@example.org / Sp4rrow!Hat`
    checked(
        "mail_login",
        Check::FourKinds,
        &["@"],
        r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+\s*[/|]\s+(?P<secret>[^\s/:@]{8,})",
        "log in: eva@example.org / Sp4rrow!Hat",
    ),
    checked(
        "product_key",
        Check::Unless(is_no_product_key),
        &[
            "licen",
            "serial",
            "gift",
            "voucher",
            "activation",
            "coupon",
            "redeem",
            "lizenz",
            "gutschein",
            "serien",
        ],
        r"(?i:\b(?:licen[sc]e(?: key| code)?|serial(?: number| key)?|gift ?card(?: code)?|voucher(?: code)?|activation(?: code| key)?|coupon(?: code)?|redeem(?: code)?|lizenz\w*|gutschein\w*|seriennummer)(?: is| ist)?\s*[:=]?\s+)(?P<secret>[A-Z0-9]{4,6}(?:-[A-Z0-9]{4,6}){2,5})\b",
        "license: NCNZ1-HG9J7-W67JK-T2IE8",
    ),
    // Base64 of a user and a password.
    checked(
        "encoded_login",
        Check::Unless(is_no_encoded_login),
        &["auth"],
        r"(?i)auth[\x22']?\s*[:=]\s*[\x22']?(?P<secret>[A-Za-z0-9+/]{12,}={0,2})(?:[\x22'\s,]|$)",
        "registry_auth: \"YnVpbGQ6SGFyYm91cjchYm9hdA==\"",
    ),
    signed(
        "quoted_password",
        b"\"",
        Check::Strong,
        &["pass", "pwd"],
        r"(?i)(?:^|\s)[\w.-]*(?:password|passwd|pwd|pass)\s*=\s*\x22(?P<secret>[^\x22\s]{8,})\x22(?:\s|$)",
        "password=\"Lake.House-Pw\"",
    ),
    // A key of a wallet in hexadecimal: an address is shorter, a hash of a block has no such name.
    form(
        "ethereum_key",
        &["0x"],
        r"(?i)(?:private_?key|priv_?key|secret_?key|wallet|privatekeytoaccount|mnemonic|signer)\w*[^\n]{0,24}?\b(?P<secret>0x[0-9a-f]{64})\b",
        "new Wallet(\"0x3f9a07c2e8b41d563f9a07c2e8b41d563f9a07c2e8b41d563f9a07c2e8b41d56\")",
    ),
    // The names are in quotes, so they are names and no words of a sentence.
    form(
        "json_phrase",
        &["phrase\"", "mnemonic\""],
        r"(?i)\x22(?:\w*pass_?phrase|\w*mnemonic|seed_?phrase|recovery_?phrase)\x22\s*:\s*\x22(?P<secret>[a-z]+(?: [a-z]+){2,})\x22",
        "{\"passphrase\": \"late heron over wet slate\"}",
    ),
    form(
        "aws_pair",
        &["akia", "asia"],
        r"\b(?:AKIA|ASIA)[A-Z0-9]{16}[\x22']?\s*[/:,|]\s*[\x22']?(?P<secret>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)",
        "AKIAIOSFODNN7EXAMPLE / wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ),
    checked(
        "wifi_pair",
        Check::Unless(is_no_wifi_password),
        &["wifi", "wi-fi", "wlan"],
        r"(?i)\b(?:wi-?fi|wlan)\b[^\n:/]{0,20}:\s*[\w .-]{2,32}\s/\s(?P<secret>[^\s/]{8,63})(?:\s|$)",
        "the wifi here: Lakeside / heron1999",
    ),
    form(
        "bundler",
        &["bundle_"],
        r"\bBUNDLE_[A-Z0-9_]+\s*[=:]\s*[\x22']?(?P<secret>[\w.+-]{4,}:[\w.+-]{4,})",
        "BUNDLE_GEMS__EXAMPLE__COM=2ef1e750:b8c47636",
    ),
    form(
        "aws_access_key",
        &["akia", "asia", "abia", "acca", "aroa", "aida", "agpa", "apka", "a3t"],
        r"(?-u:\b)(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA|AGPA|APKA|A3T[A-Z0-9])[A-Z2-7]{16}(?-u:\b)",
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
        Check::LongRun(37),
        &["q~"],
        r"[\w.~-]{3}[78]Q~[\w.~-]{31,34}",
        "abc8Q~0123456789abcdefghijklmnopqrstuvwx",
    ),
    form(
        "jwk",
        &["\"kty\""],
        r#""kty"[^}]*?"[dk]"\s*:\s*"(?P<secret>[\w-]{20,})"#,
        r#"{"kty":"EC","d":"ZPuZGahiHlUWLSUUTF63EiAY3SxV109WWWbVBqgETkB"}"#,
    ),
    checked(
        "secret_url",
        Check::Random,
        &["hook", "private-", "/key/", "/secret/", "/token/", "/magic/", "/invite/", "/reset/", "/verify/"],
        r"(?i)https?://\S*?(?:(?:hooks?[\w.]*|/key|/secret|/token|/magic|/invite|/reset|/verify)(?:[/\w.-]*?[/-])?|/private-)(?P<secret>[A-Za-z0-9_-]{16,})",
        "https://hook.example.com/2jez6cq7s16py7ib85cygsm3f8rushep",
    ),
    signed(
        "identified_by",
        b"\"'",
        Check::None,
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
    form(
        "telegram",
        &[":aa"],
        r"\b(?:bot)?(?P<secret>\d{8,10}:AA[\w-]{30,})",
        "123456789:AAabcdefghijklmnopqrstuvwxyz0123456",
    ),
    checked(
        "facebook_app",
        Check::LongRun(42),
        &["|"],
        r"\b\d{15,16}\|[\w-]{26,40}",
        "590303851710867|RrH4WJn5sobt278DnbdOIPS7_gN",
    ),
    checked(
        "azure_key",
        Check::LongRun(40),
        &["jqqj", "azfu", "azse", "azca", "azdo", "apim", "+ast", "aiot", "+amc", "+acr"],
        r"[A-Za-z0-9+/_-]{32,}(?:JQQJ99|AzFu|AzSe|AzCa|AZDO|APIM|\+ASt|AIoT|\+AMC|\+ACR)[A-Za-z0-9+/=_-]{4,40}",
        "aB3dE9fGh2JkLm7NpQ4rStU8vWxYzaB3dE9fGh2JkLm7NpQ4rStU8JQQJ99BAACYeBjFXJ3w3AAABACOG01aB",
    ),
    checked(
        "mailgun_private",
        Check::LongRun(50),
        &["-"],
        r"\b[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b",
        "0123456789abcdef0123456789abcdef-01234567-89abcdef",
    ),
    checked(
        "ably",
        Check::LongRun(54),
        &[":"],
        r"\b[\w-]{6}\.[\w-]{6}:[\w-]{40,}",
        "aB3dE9.Gh2JkL:m7NpQ4rStU8vWxYzaB3dE9fGh2JkLm7NpQ4rStU8vW",
    ),
    checked(
        "ghost_or_unleash",
        Check::LongRun(44),
        &[":"],
        r"\b(?:[0-9a-f]{24}:[0-9a-f]{64}|[\w*-]+:[\w-]+\.[0-9a-f]{40,})\b",
        "0123456789abcdef01234567:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    ),
    form("deepl", &[":fx"], r"\b[0-9a-f]{8}-[0-9a-f-]{27}:fx\b", "01234567-89ab-cdef-0123-456789abcdef:fx"),
    form(
        "stripe_client_secret",
        &["_secret_"],
        r"\b(?:pi|seti|cs|src)_\w+_secret_\w{16,}",
        "pi_3MtwBwLkdIwHu7ix_secret_YrKJUKribcBjcG8HVhfZluoGH",
    ),
    form("clickup", &["pk_"], r"\bpk_\d{5,}_[A-Z0-9]{24,}", "pk_99600472_8Z2OC6XQSLXEGYQACGIHGQDI189UQ507"),
    form(
        "jetbrains",
        &["perm:", "perm-"],
        r"\bperm[:-][\w+/=-]{4,}\.[\w+/=-]{4,}\.[\w+/=-]{16,}",
        "perm:YWRtaW4=.MQ==.aB3dE9fGh2JkLm7NpQ4rStU8",
    ),
    form(
        "convex",
        &["prod:", "dev:", "preview:"],
        r"\b(?:prod|dev|preview):[a-z]+-[a-z]+-\d+\|[\w+/=-]{20,}",
        "prod:happy-animal-123|aB3dE9fGh2JkLm7NpQ4rStU8vWxYz",
    ),
    form(
        "maxmind",
        &["_mmk"],
        r"\b[A-Za-z0-9]{6}_[A-Za-z0-9]{20,}_mmk\b",
        "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",
    ),
    checked(
        "zhipu",
        Check::LongRun(49),
        &["."],
        r"\b[0-9a-f]{32}\.[A-Za-z0-9]{16}\b",
        "0123456789abcdef0123456789abcdef.aB3dE9fGh2JkLm7N",
    ),
    form(
        "salesforce_session",
        &["00d"],
        r"\b00D[A-Za-z0-9]{12,15}![\w.]{60,}",
        "00D5g000001AbCd!AQEAQaB3dE9fGh2JkLm7NpQ4rStU8vWxYzaB3dE9fGh2JkLm7NpQ4rStU8vWxYzaB3dE",
    ),
    form(
        "windows_hash",
        &["aad3b435b51404ee"],
        r"(?i)aad3b435b51404eeaad3b435b51404ee:[0-9a-f]{32}",
        "bob:1001:aad3b435b51404eeaad3b435b51404ee:0123456789abcdef0123456789abcdef:::",
    ),
    form(
        "bitwarden",
        &["0."],
        r"\b0\.[0-9a-f]{8}-[0-9a-f-]{27}\.[\w+/=-]{16,}:[\w+/=-]{16,}",
        "0.01234567-89ab-cdef-0123-456789abcdef.aB3dE9fGh2JkLm7NpQ4rSt:aB3dE9fGh2JkLm7NpQ4r==",
    ),
    checked(
        "stellar",
        Check::LongRun(56),
        &["s"],
        r"\bS[A-Z2-7]{55}\b",
        "SAB3DE7FGH2JKLM7NPQ4RSTU2VWXYZAB3DE7FGH2JKLM7NPQ4RSTU2VW",
    ),
    form(
        "solana_keypair",
        &["solana", "keypair", "id.json"],
        r"(?i)(?:solana|keypair|id\.json)[^\[\n]{0,40}(?P<secret>\[\s*(?:\d{1,3}\s*,\s*){63}\d{1,3}\s*\])",
        "solana id.json [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64]",
    ),
    checked(
        "discord",
        Check::LongRun(59),
        &["."],
        r"\b[MNO][A-Za-z\d_-]{23,27}\.[\w-]{6}\.[\w-]{27,}",
        "MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcdE.abcdefghijklmnopqrstuvwxyz01",
    ),
    checked(
        "twilio",
        Check::LongRun(34),
        &["sk", "ac"],
        r"\b(?:SK|AC)[0-9a-f]{32}\b",
        "SK0123456789abcdef0123456789abcdef",
    ),
    checked(
        "mailchimp",
        Check::LongRun(36),
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
        Check::LongRun(58),
        &["pat"],
        r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{40,}",
        "patAbCdEfGhIjKl01.0123456789abcdef0123456789abcdef01234567",
    ),
    checked(
        "asana",
        Check::LongRun(45),
        &["/"],
        r"\b[12]/\d{10,}(?:/\d+)?:[0-9a-f]{32}\b",
        "1/1200000000000000:0123456789abcdef0123456789abcdef",
    ),
    checked(
        "secret_key_1password",
        Check::LongRun(34),
        &["a3-"],
        r"\bA3-[A-Z0-9]{6}-(?:[A-Z0-9]{5,6}-){3,4}[A-Z0-9]{5}\b",
        "A3-ABC123-DEF456-GHJ78-KLM90-NPQ12-RST34",
    ),
    checked(
        "bitcoin_key",
        Check::LongRun(51),
        &["5", "k", "l", "6p", "prv"],
        r"\b(?:[5KL][1-9A-HJ-NP-Za-km-z]{50,51}|6P[1-9A-HJ-NP-Za-km-z]{56}|[xyz]prv[1-9A-HJ-NP-Za-km-z]{100,})\b",
        "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ",
    ),
    form(
        "password_hash",
        &[
            "$2a$", "$2b$", "$2y$", "$6$", "$5$", "$1$", "$apr1$", "$argon2", "$y$", "$7$", "_sha256$",
            "ssha}", "$p$", "$s$",
        ],
        r"(?:\$(?:2[aby]|[1567yPS]|apr1|argon2(?:id|i|d))\$|\bpbkdf2_sha256\$|\{SSHA\})[\w./$=,+-]{20,}",
        "$2b$12$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ012345",
    ),
];

/// Returns the triggers of each form.
pub(super) fn triggers() -> impl Iterator<Item = &'static [&'static str]> {
    FORMS.iter().map(|form| form.triggers)
}

/// Adds the ranges of the credentials that have a known shape.
pub(super) fn find(text: &str, longest_run: usize, present: &Present, found: &mut Vec<Range<usize>>) {
    let may_match = |form: &&Form| {
        let has_shape = match form.check {
            Check::LongRun(least) => longest_run >= least,
            Check::TypedDigits => has_typed_digits(text),
            _ => true,
        };
        has_shape && (form.signs.is_empty() || text.bytes().any(|byte| form.signs.contains(&byte)))
    };
    for form in present.forms().map(|number| &FORMS[number]).filter(may_match) {
        let regex = form.compiled.get_or_init(|| compile(form.pattern));
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
            Check::None | Check::TypedDigits => true,
            Check::Random | Check::LongRun(_) => is_random(secret.as_bytes()),
            Check::Strong => is_strong(secret),
            Check::Password => is_strong(secret) && secret.bytes().any(|byte| byte.is_ascii_digit()),
            Check::FourKinds => {
                let has = |test: fn(char) -> bool| secret.chars().any(test);
                let is_sign = |c: char| "!@#$%^&*?".contains(c);
                is_strong(secret)
                    && has(char::is_lowercase)
                    && has(char::is_uppercase)
                    && has(|c| c.is_ascii_digit())
                    && secret.chars().skip(1).any(is_sign)
            }
            Check::Unless(is_plain) => !is_plain(secret),
        }
    }
}

/// Tells whether a text is masked already, or a placeholder: `****`, `${PASSWORD}`, `PASSWORD`, `XXXX`.
pub(super) fn is_placeholder(text: &str) -> bool {
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

/// Tells whether a text mixes at least three kinds of letters, digits and signs, and is neither a name nor a path.
pub(super) fn is_strong(text: &str) -> bool {
    let has = |test: fn(char) -> bool| usize::from(text.chars().any(test));
    let kinds = has(char::is_lowercase)
        + has(char::is_uppercase)
        + has(|c| c.is_ascii_digit())
        + has(|c| "!@#$%^&*?~+=;_-.,".contains(c));
    let is_path = text.contains("::") || text.contains('/') || text.starts_with(['.', '$', '{', '<', '%']);
    text.chars().count() >= 6 && kinds >= 3 && !is_path && !text.contains(['(', '{'])
}

/// Tells whether groups are a date, a range or words, and no code: `2024-2025`, `full-disk`.
fn is_no_recovery_code(text: &str) -> bool {
    let is_mixed = |group: &str| {
        group.bytes().any(|byte| byte.is_ascii_digit())
            && group.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    !is_random(text.as_bytes()) || !text.split('-').any(is_mixed)
}

/// Tells whether groups of capitals have no digit, or are numbers alone.
fn is_no_product_key(text: &str) -> bool {
    let has = |test: fn(&u8) -> bool| text.bytes().any(|byte| test(&byte));
    !has(u8::is_ascii_digit) || !has(u8::is_ascii_uppercase)
}

/// Tells whether a text has no digit or no letter.
fn is_no_wifi_password(text: &str) -> bool {
    let has = |test: fn(&u8) -> bool| text.bytes().any(|byte| test(&byte));
    !has(u8::is_ascii_digit) || !has(u8::is_ascii_alphabetic)
}

/// Tells whether base64 is not the one of `user:password`.
fn is_no_encoded_login(code: &str) -> bool {
    let login = super::decoded(code);
    let is_text = |part: &str| part.len() >= 2 && !part.contains(['?', ' ']);
    !login
        .split_once(':')
        .is_some_and(|(user, password)| is_text(user) && password.len() >= 5 && is_text(password))
}

/// Tells whether a text is a placeholder for a password.
fn is_placeholder_word(text: &str) -> bool {
    is_known_placeholder(text.trim().trim_end_matches('}'))
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

/// Tells whether a text begins with a port and a path, `http://host:8080/a@b`, or is the word "password".
fn is_port_or_placeholder(text: &str) -> bool {
    is_placeholder_word(text) || is_port(text)
}

fn is_port(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    (1..=5).contains(&digits) && matches!(text.as_bytes().get(digits), Some(b'/' | b'?' | b'#'))
}

#[cfg(test)]
mod tests {
    use super::super::text;
    use super::*;

    #[test]
    fn texts_that_only_look_like_a_form_stay() {
        for plain in [
            "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkq\n-----END PUBLIC KEY-----",
            "Public-Lines: 2\nAAAAB3NzaC1yc2E",
            "https://example.org:8080/a@b",
            "https://hooks.slack.com/",
            "git@github.com:owner/project.git",
            "user@host:2222",
            "npm i left-pad@1.3.0",
            "Bearer certificates are rare",
            "Cookie: theme=dark",
            "session=active",
            "eyJ is how base64 of an object starts",
            "the login shell",
            "localhost:5432:open",
            "Server=db;Database=erp;Trusted_Connection=yes;",
            "https://example.org/?page=2&sort=name",
            "https://example.org/?password=",
            "Signature=none",
            "<password></password>",
            "<token>String</token>",
            "set_password(user, new)",
            "login(\"admin\", password)",
            "root / home / usr",
            "credentials: see the vault / wiki",
            "note:This is a plain sentence",
            "the WPA key is on the router",
            "ConvertTo-SecureString $value -AsPlainText",
            "https://docs.infura.io/v3/getting-started",
            "snmp-server community public",
            "the community is large",
            "community edition2024",
            "_auth = password",
            "auth=(\"user\", \"password\")",
            "hmac.new(key, \"The quick brown fox\", sha256)",
            "jwt.decode(token, \"HS256\")",
            "backup 2024-2025",
            "recovery mode-full is slow",
            "backup ubuntu-2204",
            "the exit code is 40310",
            "the building code of 2015",
            "the alarm code is 4711",
            "ENABLE_SALT=true",
            "the code for the new door is in the drawer",
            "the security code review 2024",
            "wifi code : see the router",
            "connect(\"localhost\", \"database\")",
            "mail eva@example.org / room twelve",
            "license: MIT OR Apache-2.0",
            "serial number: 2024-1000-2000",
            "auth: required",
            "BUNDLE_PATH: vendor/bundle",
            "AKIA is a prefix",
            "aws_secret_access_key = ${SECRET}",
            "\"kty\":\"EC\",\"crv\":\"P-256\"",
            "https://example.org/token/refresh",
            "identified by its name",
            "client-certificate-authority: none",
            "K10 is a mountain",
            "12:AA",
            "at 10:30 | next at 11:30",
            "d41d8cd98f00b204e9800998ecf8427e-part",
            "01234567-89ab-cdef-0123-456789abcdef",
            "pi_3MtwBwLkdIwHu7ix",
            "pk_users_organisation_id",
            "perm: read.write.execute",
            "prod:eu-west-1|eu-west-2",
            "first_second_mmk",
            "00D is an org",
            "version 0.1.2",
            "STELLAR",
            "solana runs on port 8899",
            "us-east-1",
            "patents.example.org",
            "1/2:3",
            "A3-SIZE-PAPER",
            "$1 costs less than $2",
        ] {
            assert_eq!(text(plain), plain);
        }
    }

    #[test]
    fn every_form_finds_its_sample() {
        for form in &FORMS {
            let regex = compile(form.pattern);
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
