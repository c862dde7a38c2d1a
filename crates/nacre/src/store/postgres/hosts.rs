//! The servers that a URL names, and how a connection is opened. Of several servers that replicate each other, the one is used that can be
//! written: `postgres://nacre@one.example,two.example:6432/team`.

use std::path::PathBuf;
use std::time::Duration;

use postgres::config::{Host, SslMode, TargetSessionAttrs};
use postgres::error::SqlState;
use postgres::{Client, Config, NoTls};

use super::source_of;
use super::tls::Tls;
use crate::base::text::percent_decode;
use crate::base::{Error, Result};

/// How long a server may take to answer a new connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a network may stay silent before its connection counts as lost.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(30);

/// The servers of a URL, in its order.
pub(super) struct Hosts {
    /// One for each server.
    configs: Vec<Config>,
    /// How to encrypt; `None`: not at all.
    tls: Option<Tls>,
}

impl Hosts {
    /// Reads a URL. Also tells whether a connection keeps its prepared statements after a transaction.
    pub(super) fn new(url: &str, password: Option<&str>) -> Result<(Hosts, bool)> {
        let (url, options) = split_options(url)?;
        let mut configs: Vec<Config> =
            one_for_each(&url).iter().map(|url| parse(url)).collect::<Result<_>>()?;
        let mode = options.mode(&configs)?;
        let has_choice = configs.len() > 1;
        for config in &mut configs {
            config.ssl_mode(mode);
            if let Some(password) = password.filter(|_| config.get_password().is_none()) {
                config.password(password);
            }
            if has_choice && config.get_target_session_attrs() == TargetSessionAttrs::Any {
                config.target_session_attrs(TargetSessionAttrs::ReadWrite);
            }
            config.application_name("nacre").connect_timeout(CONNECT_TIMEOUT);
            config.keepalives_idle(SILENCE_TIMEOUT).tcp_user_timeout(SILENCE_TIMEOUT);
        }
        let tls = match mode {
            SslMode::Disable => None,
            _ => Some(Tls::new(options.authorities.as_deref())?),
        };
        Ok((Hosts { configs, tls }, !options.pgbouncer))
    }

    /// Returns the hosts, ports and database, without user and password.
    pub(super) fn name(&self) -> String {
        let hosts: Vec<String> = self.configs.iter().map(address).collect();
        let config = &self.configs[0];
        let database = config.get_dbname().or(config.get_user()).unwrap_or("postgres");
        format!("postgres://{}/{database}", hosts.join(","))
    }

    /// Opens a connection to the first server that can be used. If there is none, the error says the most that is known: a replica is
    /// not the primary now, a server refuses the user, or nobody answers.
    pub(super) fn connect(&self) -> Result<Client, postgres::Error> {
        let mut known: Option<(u8, postgres::Error)> = None;
        for config in &self.configs {
            let connected = match &self.tls {
                Some(tls) => config.connect(tls.clone()),
                None => config.connect(NoTls),
            };
            let problem = match connected {
                Ok(client) => return Ok(client),
                Err(problem) => problem,
            };
            // A replica may refuse something that is too new for it: the others are asked too.
            let says = match () {
                () if self.may_pass(&problem) => 2,
                () if problem.code().is_some() && !is_closing(&problem) => 1,
                () => 0,
            };
            if known.as_ref().is_none_or(|(said, _)| says > *said) {
                known = Some((says, problem));
            }
        }
        Err(known.expect("a URL has a host").1)
    }

    /// Tells whether a server is worth asking again soon: it starts, has no free connection, or is one of several and can't be
    /// written. Another one may be about to take over then.
    pub(super) fn may_pass(&self, problem: &postgres::Error) -> bool {
        let waits = [SqlState::CANNOT_CONNECT_NOW, SqlState::TOO_MANY_CONNECTIONS];
        problem.code().is_some_and(|code| waits.contains(code))
            || self.configs.len() > 1 && is_read_only(problem)
    }
}

/// Tells whether a connection was not used because its server can't be written.
pub(super) fn is_read_only(problem: &postgres::Error) -> bool {
    // The client says it with an error of input and output that no system has reported.
    std::error::Error::source(problem).and_then(|cause| cause.downcast_ref::<std::io::Error>()).is_some_and(
        |cause| cause.kind() == std::io::ErrorKind::PermissionDenied && cause.raw_os_error().is_none(),
    )
}

/// Tells whether a server ends, or a pooler before it has none.
fn is_closing(problem: &postgres::Error) -> bool {
    let ends = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CONNECTION_FAILURE,
        SqlState::PROTOCOL_VIOLATION,
    ];
    problem.code().is_some_and(|code| ends.contains(code))
}

fn parse(url: &str) -> Result<Config> {
    url.parse().map_err(|problem: postgres::Error| Error::BadServer { problem: source_of(&problem) })
}

/// Returns a URL for each of the servers that a URL names.
fn one_for_each(url: &str) -> Vec<String> {
    let start = url.find("://").map_or(0, |at| at + 3);
    let start = url[start..].find('@').map_or(start, |at| start + at + 1);
    let end = url[start..].find(['/', '?']).map_or(url.len(), |at| start + at);
    url[start..end].split(',').map(|host| format!("{}{host}{}", &url[..start], &url[end..])).collect()
}

/// Returns the host and port of a server.
fn address(config: &Config) -> String {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        #[cfg(unix)]
        Some(Host::Unix(path)) => path.display().to_string(),
        None => "localhost".into(),
    };
    format!("{host}:{}", config.get_ports().first().copied().unwrap_or(5432))
}

/// The parts of a URL that the client library does not know, or knows by other words.
#[derive(Default)]
struct Options {
    sslmode: Option<String>,
    authorities: Option<PathBuf>,
    /// Whether a pooler is between us and the server that knows no prepared statements.
    pgbouncer: bool,
}

/// Takes our options out of a URL.
fn split_options(url: &str) -> Result<(String, Options)> {
    let mut options = Options::default();
    let Some((before, query)) = url.split_once('?') else { return Ok((url.to_owned(), options)) };
    let mut rest: Vec<&str> = Vec::new();
    for pair in query.split('&') {
        let decoded = |value: &str| percent_decode(value).unwrap_or_else(|| value.to_owned());
        match pair.split_once('=') {
            Some(("sslmode", mode)) => options.sslmode = Some(decoded(mode)),
            Some(("sslrootcert", file)) => options.authorities = Some(decoded(file).into()),
            Some(("pgbouncer", value)) => {
                options.pgbouncer = value.parse().map_err(|_| Error::BadServer {
                    problem: format!("`pgbouncer={value}` is not one of true and false"),
                })?;
            }
            _ => rest.push(pair),
        }
    }
    let query = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
    Ok((format!("{before}{query}"), options))
}

impl Options {
    /// Returns how connections are encrypted. Without a word about it, only servers on this machine are reached
    /// without encryption.
    fn mode(&self, configs: &[Config]) -> Result<SslMode> {
        let is_here = |host: &Host| match host {
            Host::Tcp(name) => matches!(name.as_str(), "localhost" | "127.0.0.1" | "::1"),
            #[cfg(unix)]
            Host::Unix(_) => true,
        };
        match self.sslmode.as_deref() {
            Some("disable") => Ok(SslMode::Disable),
            Some("prefer") => Ok(SslMode::Prefer),
            Some("require" | "verify-ca" | "verify-full") => Ok(SslMode::Require),
            Some(other) => {
                let problem =
                    format!("`sslmode={other}` is not one of disable, prefer, require and verify-full");
                Err(Error::BadServer { problem })
            }
            None if configs.iter().all(|config| config.get_hosts().iter().all(is_here)) => {
                Ok(SslMode::Disable)
            }
            None => Ok(SslMode::Require),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_of_a_url_is_asked() {
        let check = |url: &str, expected: &[&str], name: &str| {
            assert_eq!(one_for_each(url), expected, "{url}");
            let (hosts, _) = Hosts::new(url, None).unwrap();
            assert_eq!(hosts.name(), name, "{url}");
            let attributes =
                if expected.len() > 1 { TargetSessionAttrs::ReadWrite } else { TargetSessionAttrs::Any };
            assert!(
                hosts.configs.iter().all(|config| config.get_target_session_attrs() == attributes),
                "{url}"
            );
        };
        check("postgres://petra@db/team", &["postgres://petra@db/team"], "postgres://db:5432/team");
        check("postgres://petra@db", &["postgres://petra@db"], "postgres://db:5432/petra");
        check(
            "postgresql://petra:a%2Cb,c@one,two:6432,[::1]:7/team?application_name=x,y",
            &[
                "postgresql://petra:a%2Cb,c@one/team?application_name=x,y",
                "postgresql://petra:a%2Cb,c@two:6432/team?application_name=x,y",
                "postgresql://petra:a%2Cb,c@[::1]:7/team?application_name=x,y",
            ],
            "postgres://one:5432,two:6432,::1:7/team",
        );
        for url in
            ["postgres://petra@one,two:x/team", "postgres://petra@one,two/team?target_session_attrs=maybe"]
        {
            assert!(matches!(Hosts::new(url, None), Err(Error::BadServer { .. })), "{url}");
        }
    }
}
