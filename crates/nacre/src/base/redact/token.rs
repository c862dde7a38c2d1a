//! Credentials that begin with a known prefix. One table; a credential is a prefix and enough characters that look random.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;

use super::trigger::Present;

/// The characters of a credential after its prefix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chars {
    /// Letters and digits.
    Alnum,
    /// Hexadecimal digits.
    Hex,
    /// Letters, digits, `-` and `_`.
    Word,
    /// Letters, digits and the other characters of both forms of base64.
    Base64,
    /// As `Word`, in parts that dots separate.
    Dotted,
    /// As `Word`, in parts that `$` separates.
    Dollar,
    /// Capitals and digits.
    Upper,
}

use Chars::{Alnum, Base64, Dollar, Dotted, Hex, Upper, Word};

impl Chars {
    fn contain(self, byte: u8) -> bool {
        match self {
            Alnum => byte.is_ascii_alphanumeric(),
            Hex => byte.is_ascii_hexdigit() || byte == b'-',
            Word => byte.is_ascii_alphanumeric() || b"-_".contains(&byte),
            Base64 => byte.is_ascii_alphanumeric() || b"-_+/=".contains(&byte),
            Dotted => byte.is_ascii_alphanumeric() || b"-_.".contains(&byte),
            Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Dollar => byte.is_ascii_alphanumeric() || b"-_$".contains(&byte),
        }
    }
}

/// Prefixes of one kind of credential, the characters that follow them, and how many there are at least.
pub struct Token {
    /// The issuer.
    pub name: &'static str,
    prefixes: &'static [&'static str],
    chars: Chars,
    least: usize,
}

const fn token(name: &'static str, prefixes: &'static [&'static str], chars: Chars, least: usize) -> Token {
    Token { name, prefixes, chars, least }
}

/// The prefixed credentials by issuer. Lengths are below those that the issuers document, so that cut-off copies are masked too.
pub static TOKENS: &[Token] = &[
    token("nacre", &["nacre_"], Hex, 16),
    // Models and their tools.
    token("anthropic", &["sk-ant-"], Word, 16),
    token("openai", &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-", "sess-"], Word, 16),
    token("openrouter", &["sk-or-v1-"], Word, 16),
    token("langfuse", &["sk-lf-", "pk-lf-"], Word, 16),
    token("secret_key", &["sk-", "pk-"], Word, 16),
    token("groq", &["gsk_"], Alnum, 20),
    token("xai", &["xai-"], Alnum, 20),
    token("perplexity", &["pplx-"], Alnum, 20),
    token("replicate", &["r8_"], Alnum, 20),
    token("hugging_face", &["hf_", "api_org_"], Alnum, 20),
    token("jina", &["jina_"], Alnum, 20),
    token("nvidia", &["nvapi-"], Word, 20),
    token("cerebras", &["csk-"], Alnum, 20),
    token("fireworks", &["fw_"], Alnum, 20),
    token("together", &["tgp_v1_"], Word, 20),
    token("tavily", &["tvly-"], Word, 16),
    token("firecrawl", &["fc-"], Hex, 28),
    token("langsmith", &["lsv2_pt_", "lsv2_sk_"], Word, 20),
    token("pinecone", &["pcsk_"], Word, 20),
    token("voyage", &["pa-"], Word, 36),
    token("bedrock", &["ABSK"], Base64, 40),
    token("e2b", &["e2b_"], Hex, 24),
    token("mem0", &["m0-"], Alnum, 24),
    token("modal", &["ak-", "as-"], Alnum, 22),
    token("wandb", &["wandb_v1_"], Word, 20),
    token("helicone", &["sk-helicone-"], Word, 20),
    token("anyscale", &["esecret_"], Alnum, 20),
    token("cartesia", &["sk_car_"], Alnum, 16),
    token("brave", &["BSA"], Word, 24),
    token("browserbase", &["bb_live_", "bb_test_"], Word, 20),
    token("llama_cloud", &["llx-"], Alnum, 30),
    token("nomic", &["nk-"], Word, 36),
    token("chroma", &["ck-"], Alnum, 36),
    token("cursor", &["crsr_"], Hex, 40),
    token("bedrock_short", &["bedrock-api-key-"], Base64, 20),
    token("gemini", &["AQ.A"], Word, 30),
    // Code, packages and builds.
    token("github", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"], Word, 16),
    token(
        "gitlab",
        &[
            "glpat-",
            "glptt-",
            "gldt-",
            "glrt-",
            "glrtr-",
            "glcbt-",
            "glsoat-",
            "glft-",
            "glimt-",
            "glagent-",
            "gloas-",
            "glffct-",
            "GR1348941",
        ],
        Dotted,
        16,
    ),
    token("atlassian", &["ATATT3", "ATCTT3", "ATSTT3"], Base64, 24),
    token("bitbucket", &["ATBB", "BBDC-"], Word, 20),
    token("npm", &["npm_"], Alnum, 20),
    token("pypi", &["pypi-"], Word, 30),
    token("rubygems", &["rubygems_"], Hex, 24),
    token("nuget", &["oy2"], Alnum, 40),
    token("crates", &["cio"], Alnum, 32),
    token("clojars", &["CLOJARS_"], Hex, 40),
    token("packagist", &["packagist_ort_", "packagist_uut_", "packagist_out_"], Hex, 30),
    token("val_town", &["vtwn_"], Alnum, 20),
    token("sourcegraph", &["sgp_", "slk_", "sgd_"], Word, 32),
    token("infracost", &["ico-"], Alnum, 28),
    token("octopus", &["API-"], Alnum, 25),
    token("openshift", &["sha256~"], Word, 36),
    token("harness", &["pat.", "sat."], Dotted, 50),
    token("checkly", &["cu_"], Hex, 30),
    token("trello", &["ATTA"], Alnum, 50),
    token("retool", &["retool_"], Alnum, 20),
    token("settlemint", &["sm_aat_", "sm_pat_", "sm_sat_"], Alnum, 14),
    token("intra42", &["s-s4t2ud-", "s-s4t2af-"], Hex, 40),
    token("polar", &["polar_oat_", "polar_pat_", "polar_whs_"], Alnum, 24),
    token("matrix", &["syt_", "mct_"], Word, 30),
    token("pat", &["pat_"], Alnum, 30),
    token("docker", &["dckr_pat_", "dckr_oat_"], Word, 20),
    token("docker_swarm", &["SWMTKN-1-"], Word, 40),
    token("circleci", &["CCIPAT_", "CCIPRJ_"], Word, 20),
    token("buildkite", &["bkua_", "bkpt_", "bkct_"], Alnum, 24),
    token("pulumi", &["pul-"], Hex, 30),
    token("sonar", &["sqp_", "squ_", "sqa_"], Hex, 30),
    token("artifactory", &["AKCp", "cmVmdGtuOj"], Alnum, 40),
    token("postman", &["PMAK-"], Word, 30),
    token("snyk", &["snyk_uat.", "snyk_sat."], Dotted, 20),
    token("scalingo", &["tk-us-"], Word, 30),
    token("figma", &["figd_", "figo_"], Word, 24),
    token("linear", &["lin_api_", "lin_oauth_", "lin_wh_"], Alnum, 24),
    token("notion", &["ntn_", "secret_"], Alnum, 32),
    token("adafruit", &["aio_"], Alnum, 24),
    token("apify", &["apify_api_"], Alnum, 30),
    token("readme", &["rdme_"], Alnum, 40),
    token("prefect", &["pnu_", "pnb_"], Alnum, 30),
    token("typeform", &["tfp_"], Word, 30),
    token("contentful", &["CFPAT-"], Word, 30),
    token("posthog", &["phx_"], Alnum, 30),
    token("cal", &["cal_live_"], Alnum, 20),
    token("frameio", &["fio-u-"], Word, 40),
    // Clouds and servers.
    token("aws", &["AKIA", "ASIA", "ABIA", "ACCA", "AROA", "AIDA"], Upper, 16),
    token("google", &["ya29."], Dotted, 16),
    token("google_key", &["AIza"], Word, 30),
    token("google_client", &["GOCSPX-", "1//0"], Word, 20),
    token("alibaba", &["LTAI"], Alnum, 12),
    token("tencent", &["AKID"], Alnum, 28),
    token("volcengine", &["AKLT"], Alnum, 36),
    token("yandex", &["AQVN", "y0_", "y1_", "y2_", "y3_"], Word, 30),
    token("yandex_iam", &["t1."], Dotted, 60),
    token("vk", &["vk1.a."], Word, 60),
    token("dingtalk", &["SEC"], Hex, 60),
    token("scaleway", &["SCW"], Alnum, 17),
    token("exoscale", &["EXO"], Hex, 22),
    token("upcloud", &["ucat_"], Alnum, 24),
    token("akamai", &["akab-"], Word, 30),
    token("backblaze", &["K00"], Base64, 28),
    token("google_hmac", &["GOOG1E"], Alnum, 40),
    token("microsoft", &["M.R3_BAY.", "M.C5"], Word, 60),
    token("microsoft_refresh", &["0.A", "1.A"], Dotted, 80),
    token("clickhouse", &["4b1d"], Alnum, 36),
    token("cockroach", &["CCDB1_"], Word, 40),
    token("mongodb_atlas", &["mdb_sa_sk_"], Word, 24),
    token("dbt", &["dbtc_", "dbtu_", "dbts_"], Word, 30),
    token("deno", &["ddp_", "ddo_", "ddw_"], Alnum, 30),
    token("vercel_blob", &["vercel_blob_rw_"], Word, 24),
    token("netbird", &["nbp_"], Alnum, 30),
    token("defined", &["dnkey-"], Word, 40),
    token("cloudflare_tunnel", &["eyJhIjoi"], Base64, 60),
    token("vault_legacy", &["s.", "b."], Alnum, 24),
    token("ory", &["ory_pat_", "ory_at_", "ory_rt_", "ory_st_"], Word, 24),
    token("permit", &["permit_key_"], Alnum, 40),
    token("statsig", &["secret-"], Alnum, 30),
    token("flagsmith", &["ser."], Alnum, 20),
    token("grafana_legacy", &["eyJrIjoi"], Base64, 50),
    token("digitalocean", &["dop_v1_", "doo_v1_", "dor_v1_"], Hex, 24),
    token("heroku", &["HRKU-"], Word, 30),
    token("netlify", &["nfp_", "nfc_", "nfo_"], Alnum, 30),
    token("vercel", &["vcp_", "vck_", "vci_"], Alnum, 24),
    token("fly", &["fo1_"], Word, 30),
    token("fly_macaroon", &["fm1r_", "fm1a_", "fm2_"], Base64, 40),
    token("render", &["rnd_"], Alnum, 24),
    token("runpod", &["rpa_"], Alnum, 30),
    token("supabase", &["sbp_", "sb_secret_"], Word, 20),
    token("planetscale", &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"], Dotted, 24),
    token("neon", &["napi_", "npg_"], Alnum, 12),
    token("tailscale", &["tskey-"], Word, 16),
    token("cloudflare", &["v1.0-"], Word, 60),
    token("cloudflare_token", &["cfut_", "cfat_", "cfk_"], Alnum, 30),
    token("vault", &["hvs.", "hvb.", "hvr."], Word, 20),
    token("doppler", &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."], Dotted, 20),
    token("databricks", &["dapi"], Hex, 30),
    token("onepassword", &["ops_"], Base64, 60),
    token("age", &["AGE-SECRET-KEY-1"], Alnum, 30),
    token("infisical", &["st."], Dotted, 60),
    token("grafana", &["glsa_", "glc_"], Base64, 24),
    token("new_relic", &["NRAK-", "NRII-", "NRIQ-", "NRSP-", "NRRA-"], Word, 20),
    token("sentry", &["sntrys_", "sntryu_", "sntrya_"], Base64, 24),
    token("dynatrace", &["dt0c01.", "dt0s01.", "dt0s02."], Dotted, 40),
    token("honeycomb", &["hcaik_", "hcamk_", "hcxik_"], Alnum, 24),
    token("axiom", &["xaat-", "xapt-"], Word, 24),
    token("logfire", &["pylf_v1_"], Word, 24),
    token("elastic", &["essu_"], Base64, 40),
    token("confluent", &["cflt"], Base64, 50),
    // Messages and mail.
    token(
        "slack",
        &[
            "xoxa-",
            "xoxb-",
            "xoxc-",
            "xoxd-",
            "xoxe-",
            "xoxe.xoxb-",
            "xoxe.xoxp-",
            "xoxo-",
            "xoxp-",
            "xoxr-",
            "xoxs-",
            "xapp-",
            "xwfp-",
        ],
        Dotted,
        10,
    ),
    token("sendgrid", &["SG."], Dotted, 30),
    token("brevo", &["xkeysib-", "xsmtpsib-"], Word, 30),
    token("mailgun", &["key-"], Hex, 30),
    token("mailersend", &["mlsn."], Alnum, 40),
    token("resend", &["re_"], Word, 30),
    token("intercom", &["dG9rOg"], Base64, 24),
    token("mandrill", &["md-"], Word, 22),
    token("onesignal", &["os_v2_app_", "os_v2_org_"], Alnum, 40),
    token("pubnub", &["sec-c-", "sub-c-", "pub-c-"], Word, 30),
    token("telnyx", &["KEY01"], Word, 36),
    token("twitch", &["oauth:"], Alnum, 28),
    token("mapbox", &["sk.eyJ", "pk.eyJ", "tk.eyJ"], Dotted, 40),
    token("esri", &["AAPK", "AAPT"], Dotted, 50),
    token("riot", &["RGAPI-"], Hex, 30),
    token("ubidots", &["BBFF-", "BBUS-", "BBAU-"], Alnum, 26),
    token("hubspot", &["pat-na1-", "pat-na2-", "pat-eu1-", "pat-ap1-"], Hex, 28),
    token("salesforce", &["3MVG9", "5Aep861"], Dotted, 40),
    token("adobe", &["p8e-"], Alnum, 28),
    token("authress", &["authress_", "scauth_"], Dotted, 40),
    // Money and shops.
    token(
        "stripe",
        &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "pk_test_", "sk_prod_", "whsec_"],
        Base64,
        16,
    ),
    token("stripe_like", &["sk_", "rk_", "pk_"], Alnum, 16),
    token("shopify", &["shpat_", "shpca_", "shppa_", "shpss_", "shptka_", "shpua_"], Hex, 24),
    token("square", &["sq0atp-", "sq0csp-", "sq0idp-", "EAAAE", "EAAAl"], Word, 20),
    token("facebook", &["EAA", "IGQV"], Word, 70),
    token("firebase", &["APA91b"], Word, 60),
    token("razorpay", &["rzp_live_", "rzp_test_"], Alnum, 14),
    token("paypal", &["access_token$production$", "access_token$sandbox$", "A21AA"], Dollar, 40),
    token("stripe_ephemeral", &["ek_live_", "ek_test_"], Alnum, 16),
    token("adyen", &["AQE"], Base64, 60),
    token("gocardless", &["sandbox_"], Word, 30),
    token("revolut", &["oa_prod_", "oa_sand_"], Word, 30),
    token("xendit", &["xnd_production_", "xnd_development_"], Alnum, 36),
    token("midtrans", &["Mid-server-", "SB-Mid-server-"], Word, 18),
    token("omise", &["skey_", "skey_test_"], Alnum, 16),
    token("mercado_pago", &["APP_USR-", "TEST-"], Word, 50),
    token("key", &["key_"], Alnum, 20),
    token("woocommerce", &["ck_", "cs_"], Hex, 36),
    token("flutterwave", &["FLWSECK-", "FLWSECK_TEST-", "FLWPUBK-"], Word, 20),
    token("plaid", &["access-sandbox-", "access-production-", "access-development-"], Hex, 28),
    token("easypost", &["EZAK", "EZTK"], Alnum, 40),
    token("shippo", &["shippo_live_", "shippo_test_"], Hex, 30),
    token("duffel", &["duffel_live_", "duffel_test_"], Word, 30),
    token("lob", &["live_", "test_"], Alnum, 30),
    token("paddle", &["pdl_live_", "pdl_sdbx_"], Word, 30),
    token("amazon", &["amzn1.oa2-cs.v1."], Hex, 40),
    token("amazon_mws", &["amzn.mws."], Hex, 28),
    token("dropbox", &["sl."], Dotted, 60),
    token("zuplo", &["zpka_"], Word, 24),
    token("stytch", &["secret-live-", "secret-test-"], Word, 24),
    token("clerk", &["ak_live_", "ak_test_"], Word, 20),
    token("launchdarkly", &["sdk-", "mob-"], Hex, 36),
    token("launchdarkly_api", &["api-"], Hex, 34),
    // Wallets.
    token("nostr", &["nsec1"], Alnum, 50),
    token("tezos", &["edsk"], Alnum, 48),
    token("near", &["ed25519:"], Alnum, 80),
    token("cardano", &["ed25519e_sk1", "addr_xsk1", "root_xsk1"], Alnum, 50),
    token("aleo", &["APrivateKey1"], Alnum, 40),
];

/// Every prefix with its row.
pub(super) static PREFIXES: LazyLock<Vec<(&Token, &str)>> = LazyLock::new(|| {
    TOKENS.iter().flat_map(|token| token.prefixes.iter().map(move |prefix| (token, *prefix))).collect()
});

/// Adds the ranges of the prefixed credentials in a text.
pub(super) fn find(text: &str, present: &Present, found: &mut Vec<Range<usize>>) {
    for (token, prefix) in present.tokens().map(|number| PREFIXES[number]) {
        for start in memmem::find_iter(text.as_bytes(), prefix) {
            found.extend(token.end(text, start, prefix.len()).map(|end| start..end));
        }
    }
}

impl Token {
    /// Returns the end of the credential whose prefix is at `start`.
    fn end(&self, text: &str, start: usize, prefix: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        if start > 0 && bytes[start - 1].is_ascii_alphanumeric() {
            return None;
        }
        let body = start + prefix;
        let mut end = body + self.run(&bytes[body..]);
        // A copy from a narrow window goes on in the next lines, which hold nothing else. Code joins its parts with `+`.
        while let Some(line) = wrapped(bytes, end) {
            let rest = line + self.run(&bytes[line..]);
            let alone = matches!(
                bytes.get(rest),
                None | Some(b'\n' | b'\r' | b'"' | b'\'' | b'=' | b'\\' | b';' | b')')
            );
            if rest < line + 6 || !alone || !(self.chars == Upper || is_random(&bytes[line..rest])) {
                break;
            }
            end = rest;
        }
        while end > body && b".-_".contains(&bytes[end - 1]) && self.chars == Dotted {
            end -= 1;
        }
        let secret = bytes[body..end].iter().filter(|byte| !byte.is_ascii_whitespace()).count();
        let is_secret = secret >= self.least && is_random(&bytes[body..end]) && !is_filler(&bytes[body..end]);
        is_secret.then_some(end)
    }

    fn run(&self, bytes: &[u8]) -> usize {
        bytes.iter().take_while(|byte| self.chars.contain(**byte)).count()
    }
}

/// Returns the start of the next part of a text that was split here: over lines, or as strings that code joins.
fn wrapped(bytes: &[u8], end: usize) -> Option<usize> {
    // The end of a line of code, of a shell command or of an encoded mail.
    let is_mark = |byte: &&u8| b"\"'\\=+ \r.&".contains(byte);
    let marks = bytes[end..].iter().take_while(is_mark).count();
    if bytes.get(end + marks) == Some(&b'\n') {
        let next = end + marks + 1;
        let indent = bytes[next..].iter().take_while(|byte| b" \t\"'>+.&".contains(byte)).count();
        return Some(next + indent);
    }
    // `"one" + "two"`
    let between = &bytes[end..end + marks];
    let quotes = between.iter().filter(|byte| b"\"'".contains(byte)).count();
    let is_joined = quotes == 2
        && between.first().is_some_and(|byte| b"\"'".contains(byte))
        && between.last().is_some_and(|byte| b"\"'".contains(byte));
    is_joined.then_some(end + marks)
}

/// Tells whether characters are a placeholder: `XXXXXXXX`, `00000000`.
pub(super) fn is_filler(bytes: &[u8]) -> bool {
    let repeats = bytes.chunk_by(u8::eq_ignore_ascii_case).map(<[u8]>::len).max();
    repeats.is_some_and(|longest| longest >= 8 && longest * 2 >= bytes.len())
}

/// Tells whether characters look random rather than like words: they contain digits, or upper and lower case alternate.
pub(super) fn is_random(bytes: &[u8]) -> bool {
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters: Vec<bool> =
        bytes.iter().filter(|byte| byte.is_ascii_alphabetic()).map(u8::is_ascii_uppercase).collect();
    let switches = letters.windows(2).filter(|two| two[0] != two[1]).count();
    (digits >= 2 && digits + letters.len() >= 6) || switches >= 4
}

/// Tells whether characters are as dense as those of a generated key: upper case, lower case and digits alternate all the time.
pub(super) fn is_dense(bytes: &[u8], least: usize) -> bool {
    let class = |byte: &u8| match byte {
        b'A'..=b'Z' => 0,
        b'a'..=b'z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let classes: Vec<u8> = bytes.iter().map(class).filter(|class| *class < 3).collect();
    let count = |wanted: u8| classes.iter().filter(|class| **class == wanted).count();
    // Names of styles and functions alternate too, with fewer capitals.
    let even = count(0) * 7 >= classes.len() && count(1) * 7 >= classes.len() && count(2) >= 2;
    let switches = classes.windows(2).filter(|two| two[0] != two[1]).count();
    classes.len() >= least && even && switches * 5 >= classes.len() * 2
}

#[cfg(test)]
mod tests {
    use super::super::{MIN_TOKEN_LEN, Shape};
    use super::*;

    /// Returns characters that look random, the same each time.
    fn body(chars: Chars, count: usize) -> String {
        let pool: &[u8] = match chars {
            Hex => b"3f9a07c2e8b41d56",
            Upper => b"AB3DE7FGH2JKLM7NPQ4RSTU6VWXYZ",
            _ => b"aB3dE9fGh2JkLm7NpQ4rStU8vWxYz",
        };
        (0..count).map(|place| char::from(pool[place * 7 % pool.len()])).collect()
    }

    fn ranges(text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        find(text, &Present::of(text), &mut found);
        found
    }

    #[test]
    fn every_prefix_is_found_and_nothing_that_only_looks_like_it() {
        let mut count = 0;
        for token in TOKENS {
            for prefix in token.prefixes {
                let secret = format!("{prefix}{}", body(token.chars, token.least + 2));
                assert!(
                    Shape::of(&secret).longest_run >= MIN_TOKEN_LEN + 2,
                    "{prefix} is looked for in every text"
                );
                for (before, after) in [("", ""), ("key ", "."), ("\"", "\""), ("密钥", "。"), ("X=", "\n")]
                {
                    let text = format!("{before}{secret}{after}");
                    let whole = before.len()..before.len() + secret.len();
                    assert!(
                        ranges(&text)
                            .iter()
                            .any(|found| found.start == whole.start && found.end >= whole.end),
                        "{}: {text}",
                        token.name
                    );
                }
                let plain = "of the words in this sentence about nothing at all".replace(' ', "-");
                for text in [format!("x{secret}"), format!("{prefix}short"), format!("{prefix}{plain}")] {
                    let own = ranges(&text).into_iter().find(|found| text[found.clone()].starts_with(prefix));
                    assert!(own.is_none(), "{}: {text}", token.name);
                }
                count += 1;
            }
        }
        assert!(count >= 250, "{count} prefixes");
        assert!(TOKENS.len() >= 150, "{} issuers", TOKENS.len());
    }

    #[test]
    fn a_key_split_over_two_lines_is_found_whole() {
        let text = "key: ghp_16C7e42F292c6912\n    E7710c838347Ae178B4a\nnext line";
        assert_eq!(ranges(text).first(), Some(&(5..text.find("\nnext").unwrap())));
        let text = "see ghp_16C7e42F292c6912E7710c838347Ae178B4a\nparagraph two has 2 or 3 words";
        assert_eq!(ranges(text).first(), Some(&(4..44)));
    }
}
