//! One HTTP request: address, authentication and response.

use std::io::Read;
use std::time::Duration;

use jiff::fmt::rfc2822;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE, DATE, LOCATION, RETRY_AFTER};
use ureq::http::{HeaderMap, HeaderName, HeaderValue, Uri};

use super::{Options, Provider, Timeouts};
use crate::base::secret::Secret;
use crate::base::{Error, Result};

/// The maximum number of bytes that are read of an error response.
const MAX_ERROR_BYTES: usize = 64 * 1024;
/// The ASCII characters that must be escaped in a model's name in a path: all except the unreserved ones of
/// RFC 3986.
const PATH_ESCAPES: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The address of a model.
pub(super) struct Endpoint {
    /// Host and port, the only part of the URL that is shown: a path may contain a key.
    pub(super) host: String,
    uri: Uri,
    key: Option<(HeaderName, HeaderValue)>,
    agent: ureq::Agent,
}

/// A response.
pub(super) struct Reply {
    pub(super) status: u16,
    /// The content type of the body.
    pub(super) content_type: Option<String>,
    /// The wait that the server asks for.
    pub(super) retry_after: Option<Duration>,
    /// The target of a redirect, without path and query.
    pub(super) location: Option<String>,
    pub(super) body: Vec<u8>,
    /// Whether the body was longer than what was read.
    pub(super) cut: bool,
}

/// The reason why there is no response.
pub(super) struct SendFailure {
    pub(super) problem: String,
    /// Whether a retry may succeed.
    pub(super) again: bool,
}

impl Endpoint {
    pub(super) fn new(options: &Options) -> Result<Endpoint> {
        let section = "embedding";
        let model = utf8_percent_encode(options.model.trim(), PATH_ESCAPES);
        let (path, key_name) = match &options.provider {
            Provider::OpenAi => ("/embeddings".to_owned(), AUTHORIZATION),
            Provider::AzureOpenAi { api_version } => {
                let is_version = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
                if api_version.is_empty() || !api_version.chars().all(is_version) {
                    return Err(wrong(section, "api_version", "is not a version such as `2024-10-21`"));
                }
                let path = format!("/openai/deployments/{model}/embeddings?api-version={api_version}");
                (path, HeaderName::from_static("api-key"))
            }
        };
        let base = options.url.trim().trim_end_matches('/');
        let base = base.strip_suffix("/embeddings").unwrap_or(base);
        Endpoint::at(section, base, &path, options.key.as_ref().map(|key| (key_name, key)))
    }

    /// Returns the endpoint that a section of the settings names.
    pub(super) fn at(
        section: &'static str,
        base: &str,
        path: &str,
        key: Option<(HeaderName, &Secret)>,
    ) -> Result<Endpoint> {
        let (host, uri) = address(section, base, path)?;
        let key = match key {
            Some((name, key)) if !key.expose().is_empty() => {
                let value = match name {
                    AUTHORIZATION => format!("Bearer {}", key.expose()),
                    _ => key.expose().to_owned(),
                };
                let mut value = HeaderValue::try_from(value).map_err(|_| {
                    wrong(
                        section,
                        "key_variable",
                        "or `key_file` contains a key that can't be sent in a header",
                    )
                })?;
                value.set_sensitive(true);
                Some((name, value))
            }
            _ => None,
        };
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            // The environment may name a proxy meant for other programs.
            .proxy(None)
            .user_agent(concat!("nacre/", env!("CARGO_PKG_VERSION")))
            .accept("application/json")
            .build()
            .new_agent();
        Ok(Endpoint { host, uri, key, agent })
    }

    /// Sends a body and reads at most `most` bytes of the response.
    pub(super) fn post(&self, body: &[u8], patience: &Timeouts, most: usize) -> Result<Reply, SendFailure> {
        let mut request = self.agent.post(&self.uri).header(CONTENT_TYPE, "application/json");
        if let Some((name, value)) = &self.key {
            request = request.header(name, value);
        }
        let request = request
            .config()
            .timeout_connect(Some(patience.connect))
            .timeout_global(Some(patience.whole))
            .build();
        let (head, reader) = request.send(body).map_err(SendFailure::from)?.into_parts();
        let status = head.status.as_u16();
        let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
        let most = if status == 200 { most } else { MAX_ERROR_BYTES };
        let mut body = Vec::new();
        let read = reader.into_reader().take(most as u64 + 1).read_to_end(&mut body);
        if let Err(error) = read
            && status == 200
        {
            return Err(SendFailure::from(ureq::Error::from(error)));
        }
        let cut = body.len() > most;
        body.truncate(most);
        Ok(Reply {
            status,
            content_type: header(CONTENT_TYPE).map(str::to_ascii_lowercase),
            retry_after: retry_after(&head.headers),
            location: header(LOCATION).and_then(|to| {
                let to: Uri = to.parse().ok()?;
                Some(format!("{}://{}", to.scheme_str()?, to.host()?))
            }),
            body,
            cut,
        })
    }
}

impl From<ureq::Error> for SendFailure {
    fn from(error: ureq::Error) -> SendFailure {
        let (problem, again) = match error {
            ureq::Error::Timeout(_) => ("did not answer in time".to_owned(), true),
            ureq::Error::HostNotFound => ("can't be resolved".to_owned(), true),
            ureq::Error::ConnectionFailed => ("can't be reached".to_owned(), true),
            // An untrusted certificate: a retry would fail too.
            ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                (format!("can't be reached securely: {error}"), false)
            }
            ureq::Error::Io(error) => (format!("can't be reached: {error}"), true),
            ureq::Error::Protocol(error) => (format!("does not speak valid HTTP: {error}"), true),
            error => (format!("can't be called: {error}"), false),
        };
        SendFailure { problem, again }
    }
}

/// Returns the part of the address that is shown, and the address.
fn address(section: &'static str, base: &str, path: &str) -> Result<(String, Uri)> {
    let wrong = |problem: &str| wrong(section, "url", problem);
    let url = base.trim();
    let scheme = url.get(..8).unwrap_or(url).to_ascii_lowercase();
    if !scheme.starts_with("http://") && !scheme.starts_with("https://") {
        return Err(wrong("must start with `http://` or `https://`"));
    }
    if url.contains(['?', '#']) {
        return Err(wrong("contains `?` or `#`; end the URL with its path"));
    }
    let whole = format!("{}{path}", url.trim_end_matches('/'));
    let uri: Uri = whole.parse().map_err(|_| wrong("is not a URL"))?;
    let authority = uri.authority().filter(|authority| !authority.host().is_empty());
    let authority = authority.ok_or_else(|| wrong("has no host"))?;
    if authority.as_str().contains('@') {
        return Err(wrong("contains a user name or password; use the key settings instead"));
    }
    if authority.as_str() != authority.host() && authority.port_u16().is_none() {
        return Err(wrong("has a port that is not a number up to 65535"));
    }
    Ok((authority.as_str().to_ascii_lowercase(), uri))
}

fn wrong(section: &'static str, field: &'static str, problem: &str) -> Error {
    Error::BadProvider { section, field, problem: problem.to_owned() }
}

/// Returns the wait that `Retry-After` asks for. A date is compared with the date of the response itself, so
/// that clock differences do not matter.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let wait = text(RETRY_AFTER)?;
    if let Ok(seconds) = wait.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let moment = |text: &str| rfc2822::DateTimeParser::new().parse_timestamp(text).ok();
    let seconds = moment(wait)?.as_second().saturating_sub(moment(text(DATE)?)?.as_second());
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}
