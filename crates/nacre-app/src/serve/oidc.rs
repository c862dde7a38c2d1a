//! Sign-in tokens of an identity provider (OpenID Connect): JSON Web Tokens that are verified here, with the provider's public keys.
//!
//! A token names a member of the team. The member's roles in the database decide about every group, as for a token of Nacre's own. Only
//! signatures with a key of the provider are accepted, in three algorithms; a token can't choose another one, bring its own key, or be
//! unsigned (RFC 8725).

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::RwLock;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nacre::{Role, Visibility};
use ring::signature;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::args::Oidc as Args;
use crate::groups::who::Principal;

/// The longest token that is looked at.
const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// The longest answer of a provider.
const MAX_ANSWER_BYTES: u64 = 1024 * 1024;
/// How far the clocks of the provider and of this machine may differ.
const LEEWAY_SECONDS: i64 = 60;
/// Keys are fetched again for an unknown key, but not more often than this.
const MIN_FETCH_INTERVAL: Duration = Duration::from_secs(60);
/// A key that the provider has withdrawn is trusted no longer than this.
const MAX_KEY_AGE: Duration = Duration::from_secs(60 * 60);

/// An identity provider, and its keys.
pub struct Provider {
    issuer: String,
    audience: String,
    member_claim: String,
    domain: Option<String>,
    groups_claim: String,
    groups: Vec<String>,
    is_person: bool,
    source: Source,
    keys: RwLock<Keys>,
}

/// Where the keys come from.
enum Source {
    File(PathBuf),
    /// The address of the provider's description.
    Discovery(String),
}

#[derive(Default)]
struct Keys {
    keys: Vec<Key>,
    tried_at: Option<Instant>,
    fetched_at: Option<Instant>,
}

/// One public key.
struct Key {
    id: Option<String>,
    material: Material,
}

enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// A JSON Web Key, as far as it is used here.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    r#use: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

#[derive(Deserialize)]
struct KeySet {
    // One key that can't be read does not take the others away.
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

#[derive(Deserialize)]
struct Head {
    alg: String,
    kid: Option<String>,
    crit: Option<Value>,
}

impl Provider {
    /// Prepares the provider that the options name, if they name one, and fetches its keys.
    pub fn open(args: &Args) -> Result<Option<Provider>> {
        let Some(issuer) = &args.oidc_issuer else { return Ok(None) };
        let source = match &args.oidc_keys {
            Some(file) => Source::File(file.clone()),
            None => {
                check_url(issuer)?;
                Source::Discovery(format!(
                    "{}/.well-known/openid-configuration",
                    issuer.trim_end_matches('/')
                ))
            }
        };
        let Some(audience) = args.oidc_audience.clone() else {
            bail!(
                "--oidc-issuer needs --oidc-audience: without it, tokens for other programs would be accepted"
            );
        };
        let provider = Provider {
            issuer: issuer.clone(),
            audience,
            member_claim: args.oidc_member_claim.clone(),
            domain: args.oidc_domain.clone(),
            groups_claim: args.oidc_groups_claim.clone(),
            groups: args.oidc_group.clone(),
            is_person: args.oidc_person,
            source,
            keys: RwLock::default(),
        };
        let keys = provider.fetch()?;
        if keys.is_empty() {
            bail!("{} has no key that Nacre can use (RS256, ES256 or EdDSA)", provider.issuer);
        }
        provider.keep(keys);
        Ok(Some(provider))
    }

    /// Tells whether a secret has the form of a signed token: three parts.
    pub fn is_token(secret: &str) -> bool {
        secret.len() <= MAX_TOKEN_BYTES && secret.bytes().filter(|byte| *byte == b'.').count() == 2
    }

    /// Verifies a token and returns its sender. It may wait for the provider's keys, so call it where waiting is allowed.
    pub fn verify(&self, token: &str, now: nacre::Time) -> Result<Principal, &'static str> {
        const MALFORMED: &str = "this is no signed token";
        let (signed, mark) = token.rsplit_once('.').ok_or(MALFORMED)?;
        let (head, body) = signed.split_once('.').ok_or(MALFORMED)?;
        let head: Head =
            decoded(head).and_then(|bytes| serde_json::from_slice(&bytes).ok()).ok_or(MALFORMED)?;
        let mark = decoded(mark).ok_or(MALFORMED)?;
        if head.crit.is_some() {
            return Err("the token needs an extension that Nacre does not know");
        }
        self.check_signature(&head, signed.as_bytes(), &mark)?;
        let claims: Map<String, Value> =
            decoded(body).and_then(|bytes| serde_json::from_slice(&bytes).ok()).ok_or(MALFORMED)?;
        self.principal(&claims, now.as_millis() / 1000)
    }

    fn check_signature(&self, head: &Head, signed: &[u8], mark: &[u8]) -> Result<(), &'static str> {
        self.renew(|keys| keys.fetched_at.is_none_or(|fetched| fetched.elapsed() > MAX_KEY_AGE));
        if self.is_signed(head, signed, mark) {
            return Ok(());
        }
        // A provider that changed its keys signs with one that is not known yet.
        let is_known = |keys: &Keys| keys.keys.iter().any(|key| head.kid.is_some() && key.id == head.kid);
        if self.renew(|keys| !is_known(keys)) && self.is_signed(head, signed, mark) {
            return Ok(());
        }
        Err("the signature of the token is not the identity provider's")
    }

    fn is_signed(&self, head: &Head, signed: &[u8], mark: &[u8]) -> bool {
        let Ok(keys) = self.keys.read() else { return false };
        let is_current = keys.fetched_at.is_some_and(|fetched| fetched.elapsed() <= 2 * MAX_KEY_AGE);
        let fits = |key: &&Key| head.kid.is_none() || key.id.is_none() || key.id == head.kid;
        is_current && keys.keys.iter().filter(fits).any(|key| key.material.verifies(&head.alg, signed, mark))
    }

    /// Fetches the keys if they are due and were not tried just now. Returns whether there are new ones.
    fn renew(&self, is_due: impl Fn(&Keys) -> bool) -> bool {
        {
            let Ok(mut keys) = self.keys.write() else { return false };
            let is_fresh = keys.tried_at.is_some_and(|tried| tried.elapsed() < MIN_FETCH_INTERVAL);
            if is_fresh || !is_due(&keys) {
                return false;
            }
            // Noted before the request: others need not ask meanwhile.
            keys.tried_at = Some(Instant::now());
        }
        match self.fetch() {
            Ok(keys) => {
                self.keep(keys);
                true
            }
            Err(_) => false,
        }
    }

    fn keep(&self, keys: Vec<Key>) {
        if let Ok(mut known) = self.keys.write() {
            let now = Some(Instant::now());
            *known = Keys { keys, tried_at: now, fetched_at: now };
        }
    }

    fn fetch(&self) -> Result<Vec<Key>> {
        let set = match &self.source {
            Source::File(file) => std::fs::read(file)
                .map_err(|problem| anyhow::anyhow!("{} can't be read: {problem}", file.display()))?,
            Source::Discovery(url) => {
                let found: Discovery = serde_json::from_slice(&get(url)?)?;
                if found.issuer != self.issuer {
                    bail!("{url} describes the issuer {}, not {}", found.issuer, self.issuer);
                }
                check_url(&found.jwks_uri)?;
                get(&found.jwks_uri)?
            }
        };
        let set: KeySet = serde_json::from_slice(&set)?;
        Ok(set.keys.into_iter().filter_map(|key| Key::read(serde_json::from_value(key).ok()?)).collect())
    }

    /// Checks the claims of a token whose signature is right.
    fn principal(&self, claims: &Map<String, Value>, now: i64) -> Result<Principal, &'static str> {
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        let time = |name: &str| claims.get(name).and_then(Value::as_f64);
        // Seconds since 1970 fit exactly.
        #[expect(clippy::cast_precision_loss)]
        let (earliest, latest) = ((now - LEEWAY_SECONDS) as f64, (now + LEEWAY_SECONDS) as f64);
        if text("iss") != Some(self.issuer.as_str()) {
            return Err("the token is from another issuer");
        }
        if !names(claims.get("aud")).any(|audience| audience == self.audience) {
            return Err("the token is for another program");
        }
        if time("exp").is_none_or(|end| end <= earliest) {
            return Err("the token has expired");
        }
        if ["nbf", "iat"].iter().any(|name| time(name).is_some_and(|begin| begin > latest)) {
            return Err("the token is not valid yet");
        }
        let is_in = |wanted: &String| names(claims.get(&self.groups_claim)).any(|group| group == wanted);
        if !self.groups.is_empty() && !self.groups.iter().any(is_in) {
            return Err("the token is in none of the groups that may use this server");
        }
        if self.domain.is_some() && claims.get("email_verified") == Some(&Value::Bool(false)) {
            return Err("the identity provider has not verified the email address of the token");
        }
        let member = text(&self.member_claim)
            .and_then(|claim| self.member(claim))
            .ok_or("the token names no member")?;
        Ok(Principal {
            token: Some(format!("{member}/oidc")),
            member: Some(member),
            group: None,
            role: if self.is_person { Role::Admin } else { Role::Project },
            visibility: Visibility::Shared,
            person: self.is_person,
            untrusted: false,
            page: false,
        })
    }

    /// Returns the member that a claim names. An email address names one only in the domain of the team: an account of the
    /// same name at another domain is another person.
    fn member(&self, claim: &str) -> Option<String> {
        let name = match (claim.split_once('@'), &self.domain) {
            (None, None) => claim,
            (Some((name, domain)), Some(own)) if domain.eq_ignore_ascii_case(own) => name,
            _ => return None,
        };
        let name = name.to_lowercase();
        name.parse::<nacre::GroupName>().is_ok().then_some(name)
    }
}

/// Returns the text of a claim, or the texts of its list.
fn names(claim: Option<&Value>) -> impl Iterator<Item = &str> {
    let list = match claim {
        Some(Value::Array(list)) => list.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    list.iter().filter_map(Value::as_str)
}

impl Key {
    fn read(jwk: Jwk) -> Option<Key> {
        if jwk.r#use.as_deref().is_some_and(|r#use| r#use != "sig") {
            return None;
        }
        let bytes = |text: &Option<String>| decoded(text.as_deref()?);
        let material = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => Material::Rsa { n: bytes(&jwk.n)?, e: bytes(&jwk.e)? },
            ("EC", Some("P-256")) => {
                // An uncompressed point.
                Material::P256([vec![4], bytes(&jwk.x)?, bytes(&jwk.y)?].concat())
            }
            ("OKP", Some("Ed25519")) => Material::Ed25519(bytes(&jwk.x)?),
            _ => return None,
        };
        Some(Key { id: jwk.kid, material })
    }
}

impl Material {
    /// Verifies a signature. The key decides which algorithm fits; the token can only name it.
    fn verifies(&self, algorithm: &str, signed: &[u8], mark: &[u8]) -> bool {
        match (self, algorithm) {
            (Material::Rsa { n, e }, "RS256") => signature::RsaPublicKeyComponents { n, e }
                .verify(&signature::RSA_PKCS1_2048_8192_SHA256, signed, mark)
                .is_ok(),
            (Material::P256(point), "ES256") => {
                let key = signature::UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point);
                key.verify(signed, mark).is_ok()
            }
            (Material::Ed25519(point), "EdDSA") => {
                signature::UnparsedPublicKey::new(&signature::ED25519, point).verify(signed, mark).is_ok()
            }
            _ => false,
        }
    }
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// Refuses an address over which somebody else could put in keys.
fn check_url(url: &str) -> Result<()> {
    let uri: ureq::http::Uri = url.parse().map_err(|_| anyhow::anyhow!("{url} is not a URL"))?;
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let is_own =
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    match uri.scheme_str() {
        Some("https") if !host.is_empty() => Ok(()),
        Some("http") if is_own => Ok(()),
        _ => bail!("{url} does not begin with https://"),
    }
}

fn get(url: &str) -> Result<Vec<u8>> {
    let agent = ureq::Agent::config_builder()
        .max_redirects(0)
        .max_redirects_will_error(true)
        .timeout_global(Some(Duration::from_secs(10)))
        .user_agent(concat!("nacre/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent();
    let mut reply = agent.get(url).call().map_err(|problem| anyhow::anyhow!("{url}: {problem}"))?;
    let mut body = Vec::new();
    reply.body_mut().as_reader().take(MAX_ANSWER_BYTES).read_to_end(&mut body)?;
    Ok(body)
}

#[cfg(test)]
mod tests {
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_800_000_000;

    enum Signer {
        P256(EcdsaKeyPair),
        Ed25519(Ed25519KeyPair),
    }

    impl Signer {
        fn p256() -> Signer {
            let random = SystemRandom::new();
            let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
            let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random);
            Signer::P256(pair.unwrap())
        }

        fn ed25519() -> Signer {
            let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
            Signer::Ed25519(Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap())
        }

        fn jwk(&self, id: &str) -> Value {
            let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
            match self {
                Signer::P256(pair) => {
                    let point = pair.public_key().as_ref();
                    json!({ "kty": "EC", "crv": "P-256", "kid": id, "x": text(&point[1..33]), "y": text(&point[33..]) })
                }
                Signer::Ed25519(pair) => {
                    json!({ "kty": "OKP", "crv": "Ed25519", "kid": id, "x": text(pair.public_key().as_ref()) })
                }
            }
        }

        fn token(&self, head: &Value, claims: &Value) -> String {
            let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
            let signed = format!("{}.{}", part(head), part(claims));
            let mark = match self {
                Signer::P256(pair) => {
                    pair.sign(&SystemRandom::new(), signed.as_bytes()).unwrap().as_ref().to_vec()
                }
                Signer::Ed25519(pair) => pair.sign(signed.as_bytes()).as_ref().to_vec(),
            };
            format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mark))
        }
    }

    fn provider(keys: &Value, groups: &[&str]) -> Provider {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), json!({ "keys": keys }).to_string()).unwrap();
        let args = Args {
            oidc_issuer: Some("https://id.example".into()),
            oidc_audience: Some("nacre".into()),
            oidc_keys: Some(file.path().to_owned()),
            oidc_member_claim: "preferred_username".into(),
            oidc_domain: None,
            oidc_groups_claim: "groups".into(),
            oidc_group: groups.iter().map(|&group| group.to_owned()).collect(),
            oidc_person: false,
        };
        Provider::open(&args).unwrap().unwrap()
    }

    fn claims() -> Value {
        json!({
            "iss": "https://id.example", "aud": ["other", "nacre"], "exp": NOW + 300, "iat": NOW,
            "preferred_username": "Petra", "groups": ["web"],
        })
    }

    fn verify(provider: &Provider, token: &str) -> Result<Principal, &'static str> {
        provider.verify(token, nacre::Time::from_millis(NOW * 1000))
    }

    #[test]
    fn a_token_of_the_provider_names_a_member() {
        for (signer, algorithm) in [(Signer::p256(), "ES256"), (Signer::ed25519(), "EdDSA")] {
            let provider = provider(&json!([signer.jwk("one"), { "kty": "odd" }]), &[]);
            let token = signer.token(&json!({ "alg": algorithm, "kid": "one" }), &claims());
            let principal = verify(&provider, &token).unwrap();
            assert_eq!(principal.member.as_deref(), Some("petra"));
            assert!(!principal.person && !principal.sees_all_groups(), "{principal:?}");
            assert_eq!(principal.visibility, Visibility::Shared);
        }
    }

    #[test]
    fn a_token_by_an_rsa_key_is_verified() {
        // Made once with a key that was thrown away.
        let key: Value = serde_json::from_str(include_str!("oidc_rsa.json")).unwrap();
        let provider = provider(&json!([key["jwk"]]), &[]);
        let token = key["token"].as_str().unwrap();
        assert_eq!(verify(&provider, token).unwrap().member.as_deref(), Some("petra"));
        let last = token.rfind('.').unwrap() + 5;
        let other = if token.as_bytes()[last] == b'A' { "B" } else { "A" };
        let changed = format!("{}{other}{}", &token[..last], &token[last + 1..]);
        assert!(verify(&provider, &changed).is_err());
    }

    #[test]
    fn a_claim_that_is_not_ours_is_refused() {
        let signer = Signer::ed25519();
        let provider = provider(&json!([signer.jwk("one")]), &["web", "ops"]);
        let head = json!({ "alg": "EdDSA", "kid": "one" });
        assert!(verify(&provider, &signer.token(&head, &claims())).is_ok());
        for (claim, value, problem) in [
            ("iss", json!("https://id.example.evil"), "the token is from another issuer"),
            ("iss", Value::Null, "the token is from another issuer"),
            ("aud", json!("other"), "the token is for another program"),
            ("aud", json!(["nacre2"]), "the token is for another program"),
            ("exp", json!(NOW - 61), "the token has expired"),
            ("exp", Value::Null, "the token has expired"),
            ("exp", json!("never"), "the token has expired"),
            ("nbf", json!(NOW + 120), "the token is not valid yet"),
            ("groups", json!(["sales"]), "the token is in none of the groups that may use this server"),
            ("groups", Value::Null, "the token is in none of the groups that may use this server"),
            ("preferred_username", json!("../etc"), "the token names no member"),
            ("preferred_username", json!(7), "the token names no member"),
        ] {
            let mut claims = claims();
            claims[claim] = value.clone();
            let refused = verify(&provider, &signer.token(&head, &claims)).unwrap_err();
            assert_eq!(refused, problem, "{claim} = {value}");
        }
    }

    #[test]
    fn a_token_can_neither_choose_its_algorithm_nor_bring_its_key() {
        let signer = Signer::ed25519();
        let stranger = Signer::ed25519();
        let provider = provider(&json!([signer.jwk("one")]), &[]);
        let unsigned = |head: Value| {
            let token = signer.token(&head, &claims());
            format!("{}.", token.rsplit_once('.').unwrap().0)
        };
        let public = URL_SAFE_NO_PAD.encode("x");
        for (name, token) in [
            ("alg none", unsigned(json!({ "alg": "none" }))),
            ("no signature", unsigned(json!({ "alg": "EdDSA", "kid": "one" }))),
            ("another algorithm", signer.token(&json!({ "alg": "HS256", "kid": "one" }), &claims())),
            ("another key type", signer.token(&json!({ "alg": "RS256", "kid": "one" }), &claims())),
            ("another key", stranger.token(&json!({ "alg": "EdDSA", "kid": "one" }), &claims())),
            (
                "its own key",
                stranger.token(&json!({ "alg": "EdDSA", "jwk": stranger.jwk("one") }), &claims()),
            ),
            (
                "an extension",
                signer.token(&json!({ "alg": "EdDSA", "kid": "one", "crit": ["b64"] }), &claims()),
            ),
            ("parts that are no JSON", format!("{public}.{public}.{public}")),
            ("no parts", "..".to_owned()),
        ] {
            assert!(verify(&provider, &token).is_err(), "{name}");
        }
    }

    #[test]
    fn an_address_of_another_domain_is_another_person() {
        let signer = Signer::ed25519();
        let mut provider = provider(&json!([signer.jwk("one")]), &[]);
        let head = json!({ "alg": "EdDSA", "kid": "one" });
        let member = |provider: &Provider, name: &str, verified: bool| {
            let mut claims = claims();
            claims["preferred_username"] = json!(name);
            claims["email_verified"] = json!(verified);
            verify(provider, &signer.token(&head, &claims)).ok().and_then(|principal| principal.member)
        };
        assert_eq!(member(&provider, "petra@team.example", true), None);
        provider.domain = Some("team.example".into());
        assert_eq!(member(&provider, "Petra@Team.example", true).as_deref(), Some("petra"));
        for (name, verified) in [
            ("petra@evil.example", true),
            ("petra@team.example", false),
            ("petra", true),
            ("petra@team.example@evil", true),
        ] {
            assert_eq!(member(&provider, name, verified), None, "{name}");
        }
    }

    #[test]
    fn keys_are_fetched_over_https_only() {
        for url in ["https://id.example", "http://127.0.0.1:8080/realm", "http://localhost"] {
            assert!(check_url(url).is_ok(), "{url}");
        }
        for url in ["http://id.example", "ftp://id.example", "id.example", "", "file:///etc/passwd"] {
            assert!(check_url(url).is_err(), "{url}");
        }
    }
}
