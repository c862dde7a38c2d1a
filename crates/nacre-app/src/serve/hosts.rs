//! The hosts and origins of this server.

use std::net::SocketAddr;
use std::time::Duration;

use axum::http::HeaderName;
use axum::http::header::{HOST, HeaderMap, ORIGIN};

/// The hosts and origins of this server.
pub struct Hosts {
    hosts: Vec<String>,
    scheme: &'static str,
    /// How long a request may take; streams are not requests.
    pub longest: Duration,
}

impl Hosts {
    pub fn new(address: SocketAddr, scheme: &'static str, allowed: &[String], longest: Duration) -> Hosts {
        let port = address.port();
        let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "[::1]"]
            .iter()
            .map(|name| format!("{name}:{port}"))
            .chain([address.to_string()])
            .collect();
        // Browsers omit the default port of the scheme.
        if (scheme, port) == ("http", 80) || (scheme, port) == ("https", 443) {
            hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(String::from));
        }
        hosts.extend(allowed.iter().map(|host| host.to_ascii_lowercase()));
        Hosts { hosts, scheme, longest }
    }

    pub fn encrypts(&self) -> bool {
        self.scheme == "https"
    }

    fn is_ours(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        self.hosts.contains(&host)
    }

    /// Returns the reason to reject a request by its host and origin.
    pub fn problem(&self, headers: &HeaderMap) -> Option<&'static str> {
        let one = |name: HeaderName| {
            let mut values = headers.get_all(name).iter();
            match (values.next(), values.next()) {
                (None, _) => Ok(None),
                (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
                _ => Err(()),
            }
        };
        match one(HOST) {
            Ok(Some(host)) if self.is_ours(host) => {}
            _ => return Some("the host of this request is not this server"),
        }
        match one(ORIGIN) {
            Ok(None) => None,
            Ok(Some(origin)) => {
                let host = origin.strip_prefix(self.scheme).and_then(|rest| rest.strip_prefix("://"));
                if host.is_some_and(|host| self.is_ours(host)) {
                    None
                } else {
                    Some("requests from pages of other sites are refused")
                }
            }
            Err(()) => Some("requests from pages of other sites are refused"),
        }
    }
}
