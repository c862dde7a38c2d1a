//! The `nacre serve` of another machine as a carrier: its files are fetched into a copy, which is read like any folder.
//!
//! The server names each file with a stamp, and only a file whose stamp changed is fetched. A fetch that fails midway is continued
//! by the next one.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::carrier::remove_folder;
use super::host::{FilePath, MAX_FILE_BYTES};
use crate::base::secret::Secret;
use crate::base::{Error, Result, files};

/// The longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest time that one file may take.
const FILE_TIMEOUT: Duration = Duration::from_secs(120);
/// The files of a server, below its address.
const PATH: &str = "/v1/sync";
/// The longest message of a server that is shown.
const MAX_MESSAGE_BYTES: u64 = 4096;

/// The files that a server has, each with a stamp that changes with the file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Listing {
    /// By path.
    pub files: BTreeMap<String, String>,
}

/// The answer to a file that was stored.
#[derive(Debug, Serialize, Deserialize)]
pub struct UploadReceipt {
    /// The stamp of the file.
    pub stamp: String,
}

/// The server, and the copy of what it has.
pub(super) struct Server {
    url: String,
    authorization: String,
    /// The group there; `None`: that of the token.
    group: Option<String>,
    copy: PathBuf,
    index: PathBuf,
    agent: ureq::Agent,
}

impl Server {
    pub(super) fn new(url: &str, token: &Secret, group: &str, home: &Path) -> Result<Server> {
        check_url(url)?;
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            // The environment may name a proxy meant for other programs.
            .proxy(None)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_global(Some(FILE_TIMEOUT))
            .user_agent(concat!("nacre/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        Ok(Server {
            url: url.trim_end_matches('/').to_owned(),
            authorization: format!("Bearer {}", token.expose()),
            group: (group != "main").then(|| group.to_owned()),
            copy: home.join("copy"),
            index: home.join("copy.json"),
            agent,
        })
    }

    pub(super) fn copy(&self) -> &Path {
        &self.copy
    }

    /// Brings the copy up to date.
    pub(super) fn fetch(&self) -> Result<()> {
        let listing: Listing = self.parse(&self.ask("GET", PATH, None)?)?;
        let mut known = self.known();
        let fetched = self.fetch_new(&listing, &mut known);
        known.retain(|path, _| {
            let is_there = listing.files.contains_key(path);
            if !is_there && path.parse::<FilePath>().is_ok() {
                // Removed there with its device. A file that can't be removed here is removed by the next fetch.
                let _ = fs::remove_file(self.copy.join(path));
            }
            is_there
        });
        self.note(&known)?;
        fetched
    }

    fn fetch_new(&self, listing: &Listing, known: &mut BTreeMap<String, String>) -> Result<()> {
        for (path, stamp) in &listing.files {
            // Only names of a log are written: nothing leads out of the copy.
            if path.parse::<FilePath>().is_err()
                || known.get(path) == Some(stamp) && self.copy.join(path).exists()
            {
                continue;
            }
            match self.ask("GET", &format!("{PATH}/{path}"), None) {
                Ok(bytes) => self.keep(path, &bytes)?,
                // It was removed in this moment.
                Err(Error::SyncServer { status: 404, .. }) => continue,
                Err(problem) => return Err(problem),
            }
            known.insert(path.clone(), stamp.clone());
        }
        Ok(())
    }

    /// Stores a file there, and in the copy.
    pub(super) fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let UploadReceipt { stamp } =
            self.parse(&self.ask("PUT", &format!("{PATH}/{path}"), Some(bytes))?)?;
        self.keep(path, bytes)?;
        let mut known = self.known();
        known.insert(path.to_owned(), stamp);
        self.note(&known)
    }

    /// Removes the files of a device there, and in the copy.
    pub(super) fn remove(&self, device: &str) -> Result<()> {
        match self.ask("DELETE", &format!("{PATH}/{device}"), None) {
            Ok(_) | Err(Error::SyncServer { status: 404, .. }) => remove_folder(&self.copy.join(device)),
            Err(problem) => Err(problem),
        }
    }

    fn keep(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let target = self.copy.join(path);
        files::create_folder(target.parent().expect("it is in the copy"))?;
        files::write_atomically(&target, bytes)
    }

    /// The stamps of the files in the copy. A copy without them is fetched again.
    fn known(&self) -> BTreeMap<String, String> {
        let text = fs::read(&self.index).unwrap_or_default();
        serde_json::from_slice::<Listing>(&text).unwrap_or_default().files
    }

    fn note(&self, known: &BTreeMap<String, String>) -> Result<()> {
        let text = serde_json::to_vec(&Listing { files: known.clone() })?;
        match fs::read(&self.index).is_ok_and(|before| before == text) {
            true => Ok(()),
            false => {
                files::create_folder(self.index.parent().expect("it is in a folder"))?;
                files::write_without_sync(&self.index, &text)
            }
        }
    }

    fn parse<T: serde::de::DeserializeOwned>(&self, body: &[u8]) -> Result<T> {
        let problem = "answers something else than a `nacre serve` does".to_owned();
        serde_json::from_slice(body).map_err(|_| Error::SyncServerDown { server: self.url.clone(), problem })
    }

    fn ask(&self, method: &str, path: &str, body: Option<&[u8]>) -> Result<Vec<u8>> {
        let server = self.url.clone();
        let down = |problem: String| Error::SyncServerDown { server: server.clone(), problem };
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{server}{path}"))
            .header("Authorization", &self.authorization);
        if let Some(group) = &self.group {
            request = request.header("Nacre-Group", group);
        }
        let bad =
            |problem: ureq::http::Error| Error::SyncUrl { url: server.clone(), problem: problem.to_string() };
        let sent = match body {
            Some(body) => self.agent.run(request.body(body).map_err(bad)?),
            None => self.agent.run(request.body(()).map_err(bad)?),
        };
        let (head, body) = sent.map_err(|problem| down(format!("can't be reached: {problem}")))?.into_parts();
        let status = head.status.as_u16();
        let most = if status == 200 { MAX_FILE_BYTES as u64 } else { MAX_MESSAGE_BYTES };
        let mut bytes = Vec::new();
        let read = body.into_reader().take(most + 1).read_to_end(&mut bytes);
        match status {
            200 => {
                read.map_err(|problem| down(format!("broke off: {problem}")))?;
                if bytes.len() as u64 > most {
                    return Err(down("sent a file that is larger than any log has".into()));
                }
                Ok(bytes)
            }
            401 => Err(Error::SyncServerDenied { server: server.clone() }),
            _ => {
                let answer: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
                let said = answer["error"]["message"].as_str().unwrap_or("it does not say why");
                let said = crate::base::frame::one_line(said).chars().take(200).collect();
                Err(Error::SyncServer { server: server.clone(), status, said })
            }
        }
    }
}

/// Refuses an address over which the token would travel readable, or that is none.
fn check_url(url: &str) -> Result<()> {
    let bad = |problem: &str| Err(Error::SyncUrl { url: url.to_owned(), problem: problem.to_owned() });
    let Ok(uri) = url.trim_end_matches('/').parse::<ureq::http::Uri>() else { return bad("is not a URL") };
    let host = uri.host().unwrap_or_default();
    if host.is_empty() || uri.query().is_some() || uri.path().len() > 1 {
        return bad("has more or less than `https://HOST` or `https://HOST:PORT`");
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return bad("contains a user name or password; the token is asked for");
    }
    let is_own = host == "localhost"
        || host
            .trim_matches(['[', ']'])
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    match uri.scheme_str() {
        Some("https") => Ok(()),
        Some("http") if is_own => Ok(()),
        Some("http") => bad("is not encrypted, and the token would be readable on the way"),
        _ => bad("starts with neither `https://` nor `http://`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_over_which_a_token_could_be_read_is_refused() {
        for good in [
            "https://host",
            "https://host:8443/",
            "http://127.0.0.1:7600",
            "http://[::1]:7600",
            "http://localhost",
        ] {
            assert!(check_url(good).is_ok(), "{good}");
        }
        for bad in [
            "http://host",
            "http://10.0.0.1",
            "ftp://host",
            "https://",
            "https://a@host",
            "https://host/x",
            "https://h?x",
            "",
        ] {
            assert!(check_url(bad).is_err(), "{bad}");
        }
    }
}
