//! The other side of a carrier: what `nacre serve` stores for the machines that sync over it.
//!
//! It has no key. It stores files of logs that their devices signed, and nothing else; a segment never changes, and a text that was
//! removed from a pack does not come back. If the group itself is synced over a folder, the server hands out that folder, so
//! that machines with and without it meet.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::carrier::{
    MARKER_FILE, Marker, REPLACED_FORMAT, SEEN_FILE, explain, is_log_file, range, remove_folder,
};
use super::log::Envelope;
use super::seal::{DeviceId, from_hex};
use super::server::{Listing, UploadReceipt};
use super::{FOLDER, STATE_FILE, StateFile};
use crate::base::ids::GroupName;
use crate::base::{Error, Result, files};

/// The folder with the logs of other machines, in the group's folder.
const HOSTED: &str = ".carrier";
/// The largest file of a log.
pub const MAX_FILE_BYTES: usize = 64 << 20;

/// A path in a carrier: the file that names the memory, or a file of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilePath {
    /// The file that names the memory.
    Marker,
    /// The folder of a device, and a file in it.
    Log(String, String),
}

impl FromStr for FilePath {
    type Err = Error;
    fn from_str(path: &str) -> Result<FilePath> {
        if path == MARKER_FILE {
            return Ok(FilePath::Marker);
        }
        let log = path.split_once('/').filter(|(device, name)| {
            let is_numbered = is_log_file(name) && range(name).is_some_and(|(first, last)| first <= last);
            let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
            DeviceId::named(device).is_some() && is_plain && (is_numbered || *name == SEEN_FILE)
        });
        let (device, name) = log.ok_or(Error::NoSyncFile)?;
        Ok(FilePath::Log(device.to_owned(), name.to_owned()))
    }
}

/// The carrier that a server is for one group.
pub struct Host {
    folder: PathBuf,
}

impl Host {
    /// Returns that of a group of a home. Nothing is created before a machine starts to sync over it.
    pub fn of(home: &Path, group: &GroupName) -> Result<Host> {
        let group_folder = home.join("groups").join(group.as_str());
        let state = group_folder.join(FOLDER).join(STATE_FILE);
        let own = match fs::read(&state) {
            Ok(text) => {
                serde_json::from_slice::<StateFile>(&text)
                    .map_err(|_| Error::CarrierDamaged { path: state.clone() })?
                    .folder
            }
            Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => None,
            Err(problem) => return Err(Error::io(&state)(problem)),
        };
        Ok(Host { folder: own.unwrap_or_else(|| group_folder.join(HOSTED)) })
    }

    /// Returns the files.
    pub fn list(&self) -> Result<Listing> {
        let mut listing = Listing::default();
        let mut add = |path: String| {
            if path.parse::<FilePath>().is_ok()
                && let Some(stamp) = stamp(&self.folder.join(&path))
            {
                listing.files.insert(path, stamp);
            }
        };
        let names = |folder: &Path| -> Vec<String> {
            let found = fs::read_dir(folder).into_iter().flatten().flatten();
            found.filter_map(|entry| entry.file_name().into_string().ok()).collect()
        };
        add(MARKER_FILE.to_owned());
        for device in names(&self.folder).into_iter().filter(|name| DeviceId::named(name).is_some()) {
            for name in names(&self.folder.join(&device)) {
                add(format!("{device}/{name}"));
            }
        }
        Ok(listing)
    }

    /// Returns a file.
    pub fn read(&self, path: &str) -> Result<Vec<u8>> {
        path.parse::<FilePath>()?;
        let file = self.folder.join(path);
        match fs::read(&file) {
            Ok(bytes) => Ok(bytes),
            Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => Err(Error::NoSyncFile),
            Err(problem) => Err(Error::io(&file)(problem)),
        }
    }

    /// Stores a file, if it is what its path says and takes nothing back.
    pub fn write(&self, path: &str, bytes: &[u8]) -> Result<UploadReceipt> {
        let present = self.read(path).ok();
        match path.parse::<FilePath>()? {
            FilePath::Marker => check_marker(present.as_deref(), bytes)?,
            FilePath::Log(device, name) => self.check_log(&device, &name, present.as_deref(), bytes)?,
        }
        let target = self.folder.join(path);
        if present.as_deref() != Some(bytes) {
            files::create_folder(target.parent().expect("it is in the folder")).map_err(explain)?;
            files::write_atomically(&target, bytes).map_err(explain)?;
        }
        Ok(UploadReceipt { stamp: stamp(&target).unwrap_or_default() })
    }

    /// Removes what a device stored.
    pub fn remove(&self, device: &str) -> Result<()> {
        let device = DeviceId::named(device).ok_or(Error::NoSyncFile)?;
        remove_folder(&self.folder.join(device.as_str())).map_err(explain)
    }

    fn check_log(&self, device: &str, name: &str, present: Option<&[u8]>, bytes: &[u8]) -> Result<()> {
        let refused =
            |problem: String| Error::SyncFileRefused { problem: format!("`{device}/{name}` {problem}") };
        let envelope = Envelope::read(bytes).map_err(|refusal| refused(refusal.explain()))?;
        if envelope.device.as_str() != device || envelope.revision.is_some() != name.ends_with(".pak") {
            return Err(refused("is not what its name says".into()));
        }
        let marker: Option<Marker> = self.read(MARKER_FILE).ok().and_then(|text| Marker::parse(&text));
        if marker.and_then(|marker| from_hex(&marker.memory)).as_deref() != Some(&envelope.memory[..]) {
            return Err(refused(
                "belongs to another memory, or was sealed with a key that was replaced".into(),
            ));
        }
        // A file that was damaged here, or sealed with an earlier key, makes way.
        let Some(Ok(known)) = present.filter(|known| *known != bytes).map(Envelope::read) else {
            return Ok(());
        };
        if known.memory != envelope.memory {
            return Ok(());
        }
        match (known.revision, envelope.revision) {
            (Some(known), Some(new)) if known <= new => Ok(()),
            _ => Err(Error::SyncFileTaken { file: format!("{device}/{name}") }),
        }
    }
}

/// A marker may be replaced only by one that names the memory before it.
fn check_marker(present: Option<&[u8]>, bytes: &[u8]) -> Result<()> {
    let refused =
        |problem: &str| Err(Error::SyncFileRefused { problem: format!("`{MARKER_FILE}` {problem}") });
    let Some(new) = Marker::parse(bytes) else { return refused("is not readable") };
    if new.format > REPLACED_FORMAT || from_hex(&new.memory).is_none_or(|id| id.len() != 16) {
        return refused("has a form that this server does not know; update `nacre` there");
    }
    let Some(present) = present.and_then(Marker::parse) else {
        return Ok(());
    };
    let follows = new.replaced.as_ref().is_some_and(|change| change.before == present.memory);
    if follows || new == present {
        return Ok(());
    }
    Err(Error::SyncFileTaken { file: MARKER_FILE.to_owned() })
}

/// Returns what changes whenever a file does.
fn stamp(path: &Path) -> Option<String> {
    let found = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let since = found.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(format!("{}-{}", found.len(), since.as_nanos()))
}
