//! The carrier: where the logs of all machines meet. It is a folder that some other tool copies, or the `nacre serve` of another
//! machine, of which this machine has a copy in the group's folder.
//!
//! Everything that arrived is read out of a folder, so the two differ in three calls only: `fetch`, `write` and `remove`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::FormatOnly;
use super::clock::Document;
use super::log::{FORMAT, Pack, Position, ReadRecord, Refusal, Segment, Stop, read_log};
use super::seal::{DeviceId, DeviceKey, MemoryKey, from_hex, hex};
use super::server::Server;
use crate::base::secret::Secret;
use crate::base::{Error, Result, Time, files};

/// The file that says which memory a folder carries.
pub(super) const MARKER_FILE: &str = "nacre-sync.json";
/// The file in which a device says how far it has read.
pub(super) const SEEN_FILE: &str = "seen.pak";
/// The longest time between two signs of life of a device, in milliseconds.
const HEARTBEAT_MS: i64 = 3_600_000;
/// The format of a carrier whose key was replaced. One whose key never was has the format of its logs.
pub(super) const REPLACED_FORMAT: u16 = 2;

/// Where the logs of all machines meet.
#[derive(Clone, Debug)]
pub enum Place {
    /// A folder that some tool copies between the machines.
    Folder(PathBuf),
    /// The `nacre serve` of another machine.
    Server {
        /// Its address, such as `https://host`.
        url: String,
        /// A token that it accepts.
        token: Secret,
    },
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Folder(folder) => folder.display().fmt(f),
            Place::Server { url, .. } => url.fmt(f),
        }
    }
}

/// The carrier of a synced memory.
pub(super) struct Carrier {
    /// The folder or the address, as a person gave it.
    name: String,
    folder: PathBuf,
    /// The server whose copy the folder is.
    server: Option<Server>,
}

impl Carrier {
    /// `home` is the folder of this device, in which it has the copy of a server.
    pub(super) fn new(place: &Place, home: &Path, group: &str) -> Result<Carrier> {
        let name = place.to_string();
        Ok(match place {
            Place::Folder(folder) => Carrier { name, folder: folder.clone(), server: None },
            Place::Server { url, token } => {
                let server = Server::new(url, token, group, home)?;
                Carrier { name, folder: server.copy().to_owned(), server: Some(server) }
            }
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The folder of a device, in which what arrived can be read.
    pub(super) fn folder_of(&self, device: &DeviceId) -> PathBuf {
        self.folder.join(device.as_str())
    }

    /// Brings the copy of a server up to date.
    pub(super) fn fetch(&self) -> Result<()> {
        self.server.as_ref().map_or(Ok(()), Server::fetch)
    }

    /// Writes a file of a device.
    pub(super) fn write(&self, device: &DeviceId, name: &str, bytes: &[u8]) -> Result<()> {
        self.put(&format!("{device}/{name}"), bytes)
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        if let Some(server) = &self.server {
            return server.put(path, bytes);
        }
        let target = self.folder.join(path);
        files::create_folder(target.parent().expect("it is in the folder")).map_err(explain)?;
        files::write_atomically(&target, bytes).map_err(explain)
    }

    /// Removes everything that a device wrote.
    pub(super) fn remove(&self, device: &DeviceId) -> Result<()> {
        if let Some(server) = &self.server {
            return server.remove(device.as_str());
        }
        remove_folder(&self.folder_of(device)).map_err(explain)
    }

    /// Makes it the carrier of a memory.
    pub(super) fn create(&self, memory: &MemoryKey) -> Result<()> {
        if self.server.is_none() {
            files::create_folder(&self.folder).map_err(explain)?;
        }
        if self.folder.join(MARKER_FILE).exists() {
            return Err(Error::CarrierTaken { carrier: self.name.clone() });
        }
        self.write_marker(&Marker::new(memory))
    }

    pub(super) fn write_marker(&self, marker: &Marker) -> Result<()> {
        self.put(MARKER_FILE, &marker.to_bytes()?)
    }

    /// Returns what the carrier says of the memory in it.
    pub(super) fn marker(&self) -> Result<Marker> {
        let file = self.folder.join(MARKER_FILE);
        let text = match fs::read(&file) {
            Ok(text) => text,
            Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::CarrierGone { carrier: self.name.clone() });
            }
            Err(problem) => return Err(Error::io(&file)(problem)),
        };
        let format = serde_json::from_slice::<FormatOnly>(&text).map_or(0, |marker| marker.format);
        if format > REPLACED_FORMAT {
            let carrier = self.name.clone();
            return Err(Error::NewerSync { carrier, found: format, known: REPLACED_FORMAT });
        }
        Marker::parse(&text).ok_or(Error::CarrierDamaged { path: file })
    }
}

/// Removes a folder, if it is there.
pub(super) fn remove_folder(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(problem) if problem.kind() != std::io::ErrorKind::NotFound => Err(Error::io(folder)(problem)),
        _ => Ok(()),
    }
}

/// The file that names the memory of a carrier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Marker {
    pub(super) format: u16,
    /// The id of the memory, in hexadecimal digits.
    pub(super) memory: String,
    note: String,
    /// How the key was replaced, if it ever was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) replaced: Option<KeyChange>,
    /// A hash of the rest, in the file alone. Nobody signs the marker, so this is how a damaged one is noticed. The first form
    /// had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    check: Option<String>,
}

/// The last time that the key of a memory was replaced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct KeyChange {
    /// The id that the memory had before.
    pub(super) before: String,
    /// Everything that a machine that knows only the new key needs beside it, sealed with the new key.
    past: String,
    /// The new key for each device that stays, sealed to it.
    invited: BTreeMap<DeviceId, String>,
}

impl Marker {
    fn new(memory: &MemoryKey) -> Marker {
        let note = "Sealed logs of Nacre. Let your sync tool copy this folder; do not edit it.".to_owned();
        Marker { format: FORMAT, memory: hex(memory.id()), note, replaced: None, check: None }
    }

    /// Returns the content of the file.
    fn to_bytes(&self) -> Result<Vec<u8>> {
        let marker = Marker { check: Some(self.checksum()?), ..self.clone() };
        Ok(serde_json::to_string_pretty(&marker)?.into_bytes())
    }

    /// Reads the content of the file; `None` if it is damaged.
    pub(super) fn parse(bytes: &[u8]) -> Option<Marker> {
        let mut marker: Marker = serde_json::from_slice(bytes).ok()?;
        let is_whole = match marker.check.take() {
            Some(check) => check == marker.checksum().ok()?,
            None => true,
        };
        is_whole.then_some(marker)
    }

    fn checksum(&self) -> Result<String> {
        let bare = Marker { check: None, ..self.clone() };
        Ok(hex(&blake3::hash(&serde_json::to_vec(&bare)?).as_bytes()[..8]))
    }

    /// Says that a key took the place of another, and invites devices to it.
    pub(super) fn replacing(
        before: &MemoryKey,
        after: &MemoryKey,
        devices: &[(DeviceId, [u8; 32])],
    ) -> Result<Marker> {
        let invite = |(device, public): &(DeviceId, [u8; 32])| {
            Ok((device.clone(), hex(&after.invitation(before, public)?)))
        };
        let invited = devices.iter().map(invite).collect::<Result<_>>()?;
        let past = hex(&after.sealed_past()?);
        let replaced = Some(KeyChange { before: hex(before.id()), past, invited });
        Ok(Marker { format: REPLACED_FORMAT, replaced, ..Marker::new(after) })
    }

    pub(super) fn is_of(&self, memory: &MemoryKey) -> bool {
        from_hex(&self.memory).as_deref() == Some(memory.id())
    }

    /// Tells whether it was written before the key of this memory was replaced.
    pub(super) fn is_older_than(&self, memory: &MemoryKey) -> bool {
        from_hex(&self.memory).is_some_and(|id| memory.had_id(&id))
    }

    /// Adds to a key that was read from a phrase what the carrier knows of it.
    pub(super) fn complete(&self, memory: MemoryKey) -> Option<MemoryKey> {
        match &self.replaced {
            None => Some(memory),
            Some(change) => memory.with_past(&from_hex(&change.past)?),
        }
    }

    /// Returns the new key, if it replaced the one that a device has and the device is invited to it.
    pub(super) fn next_key(&self, memory: &MemoryKey, device: &DeviceKey) -> Option<MemoryKey> {
        let invitation = from_hex(self.replaced.as_ref()?.invited.get(device.id())?)?;
        self.complete(memory.accept(&invitation, &from_hex(&self.memory)?, device)?)
    }
}

/// Says of a write to the carrier that failed what to do about it.
pub(super) fn explain(error: Error) -> Error {
    match error {
        Error::DiskFull { path } => Error::CarrierFull { path },
        Error::ReadOnly { path } => Error::CarrierReadOnly { path },
        other => other,
    }
}

/// Returns the devices that have a log in the folder.
pub(super) fn devices(carrier: &Carrier) -> Result<Vec<DeviceId>> {
    let found = fs::read_dir(&carrier.folder).map_err(Error::io(&carrier.folder))?;
    let names = found.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut devices: Vec<DeviceId> = names.filter_map(|name| DeviceId::named(&name)).collect();
    devices.sort();
    Ok(devices)
}

/// The new part of the log of a device, and what is wrong with the rest.
pub(super) struct Arrival {
    pub(super) device: DeviceId,
    pub(super) records: Vec<ReadRecord<Document>>,
    pub(super) end: Position,
    /// Whether the log has two ends, so that its device has to take a new id.
    pub(super) forked: bool,
    pub(super) problems: Vec<String>,
}

/// Reads the part of a log that is new.
pub(super) fn read_device(
    carrier: &Carrier,
    device: &DeviceId,
    memory: &MemoryKey,
    from: Position,
) -> Result<Arrival> {
    let folder = carrier.folder_of(device);
    let (mut segments, mut packs, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    let mut has_old_key = false;
    for (name, path) in log_files(&folder)? {
        if range(&name).is_some_and(|(_, last)| last <= from.number) {
            continue;
        }
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            // A sync tool replaced it in this moment.
            Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => continue,
            Err(problem) => return Err(Error::io(&path)(problem)),
        };
        let refused = if name.ends_with(".seg") {
            match Segment::read(&bytes, memory) {
                Ok(segment) if segment.device == *device => {
                    segments.push(segment);
                    None
                }
                Ok(_) => Some(Refusal::Misplaced),
                Err(refusal) => Some(refusal),
            }
        } else {
            match Pack::read(&bytes, memory) {
                Ok(pack) if pack.device == *device => {
                    packs.push(pack);
                    None
                }
                Ok(_) => Some(Refusal::Misplaced),
                Err(refusal) => Some(refusal),
            }
        };
        match refused {
            Some(Refusal::OldKey) => has_old_key = true,
            Some(refusal) => problems.push(format!("`{device}/{name}` {}", refusal.explain())),
            None => {}
        }
    }
    if let Some(refusal) = refused_seen(carrier, memory, device)? {
        problems.push(format!("`{device}/{SEEN_FILE}` {}", refusal.explain()));
    }
    if has_old_key && segments.is_empty() && from == Position::START {
        problems.push(format!(
            "`{device}` does not have the new key yet: run `nacre sync` there, or `nacre sync remove {device}` here if it is gone"
        ));
    }
    // A document that this program can't read was written by a newer one: the log waits for the update.
    let parse = |text: Vec<u8>| serde_json::from_slice::<Document>(&text).ok();
    let log = read_log(memory, device, &segments, &packs, from, parse);
    match &log.stop {
        Some(Stop::Missing { from, to }) => {
            problems.push(format!("records {from} to {to} of `{device}` have not arrived yet"));
        }
        Some(Stop::MissingText { number }) => {
            problems.push(format!("the text of record {number} of `{device}` has not arrived yet"));
        }
        Some(Stop::WrongText { number }) => {
            problems.push(format!("the text of record {number} of `{device}` is not the one that its log names"));
        }
        Some(Stop::Unreadable { number }) => problems.push(format!(
            "record {number} of `{device}` was written by a newer `nacre`; update `nacre` on this machine"
        )),
        Some(Stop::Forked { number }) => problems.push(format!(
            "`{device}` has two logs from record {number} on: the machine was copied or restored; run `nacre sync` there"
        )),
        None => {}
    }
    let forked = matches!(log.stop, Some(Stop::Forked { .. }));
    Ok(Arrival { device: device.clone(), records: log.records, end: log.end, forked, problems })
}

/// Tells why the sign of life of a device can't be read. One that was sealed with an earlier key is none.
fn refused_seen(carrier: &Carrier, memory: &MemoryKey, device: &DeviceId) -> Result<Option<Refusal>> {
    let path = carrier.folder_of(device).join(SEEN_FILE);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(problem) => return Err(Error::io(&path)(problem)),
    };
    Ok(match Pack::read(&bytes, memory) {
        Ok(pack) if pack.device == *device => None,
        Ok(_) => Some(Refusal::Misplaced),
        Err(Refusal::OldKey) => None,
        Err(refusal) => Some(refusal),
    })
}

/// Returns the files of a log: their names and paths, sorted.
pub(super) fn log_files(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let found = match fs::read_dir(folder) {
        Ok(found) => found,
        Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(problem) => return Err(Error::io(folder)(problem)),
    };
    let named =
        found.flatten().filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())));
    let mut named: Vec<(String, PathBuf)> =
        named.filter(|(name, _)| is_log_file(name) && name != SEEN_FILE).collect();
    named.sort();
    Ok(named)
}

pub(super) fn is_log_file(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending == "seg" || ending == "pak")
}

pub(super) fn file_name(first: u64, last: u64, ending: &str) -> String {
    format!("{first:010}-{last:010}.{ending}")
}

/// Returns the first and last record that a file name speaks of.
pub(super) fn range(name: &str) -> Option<(u64, u64)> {
    let (first, last) = name.rsplit_once('.')?.0.split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// The sign of life of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct DeviceState {
    pub(super) name: String,
    pub(super) at: Time,
    /// How far it has read each log.
    pub(super) logs: std::collections::BTreeMap<DeviceId, u64>,
    /// The public key to which a new key of the memory is sealed for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) agreement: Option<String>,
    /// The device that it was before it was copied or restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) replaces: Option<DeviceId>,
    /// Whether it does not take part any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) left: bool,
}

const SEEN_CONTEXT: &[u8] = b"seen";

/// Writes what this device has seen, if that has changed or the last sign of life is old. Returns whether it wrote.
pub(super) fn write_seen(
    carrier: &Carrier,
    memory: &MemoryKey,
    device: &DeviceKey,
    seen: &DeviceState,
) -> Result<bool> {
    if let Some(before) = read_seen(carrier, memory, device.id())
        && (DeviceState { at: seen.at, ..before.clone() }) == *seen
        && (0..HEARTBEAT_MS).contains(&(seen.at.as_millis() - before.at.as_millis()))
    {
        return Ok(false);
    }
    let sealed = memory.seal(&serde_json::to_vec(seen)?, SEEN_CONTEXT)?;
    carrier.write(device.id(), SEEN_FILE, &Pack::write(memory, device, 0, 0, &[Some(sealed)]))?;
    Ok(true)
}

/// Returns what a device says about itself; `None` if it says nothing that can be read.
pub(super) fn read_seen(carrier: &Carrier, memory: &MemoryKey, device: &DeviceId) -> Option<DeviceState> {
    let bytes = fs::read(carrier.folder_of(device).join(SEEN_FILE)).ok()?;
    let pack = Pack::read(&bytes, memory).ok()?;
    let sealed = pack.slots.first()?.as_ref().filter(|_| pack.device == *device)?;
    serde_json::from_slice(&memory.open(sealed, SEEN_CONTEXT)?).ok()
}
