//! The carrier: a folder that some other tool copies between machines, and the log of this device beside it.
//!
//! The log in the group's folder is the truth about this device; its part of the carrier is a copy that is put right in every
//! round. The parts of the other devices are only read.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::clock::Document;
use super::log::{FORMAT, Op, Pack, Position, ReadRecord, Refusal, Segment, Stop, read_log};
use super::seal::{DeviceId, DeviceKey, MemoryKey, from_hex, hex};
use crate::base::{Error, Result, Time, files};

/// The file that says which memory a folder carries.
const MARKER_FILE: &str = "nacre-sync.json";
/// The file in which a device says how far it has read.
const SEEN_FILE: &str = "seen.pak";
/// The longest time between two signs of life of a device, in milliseconds.
const HEARTBEAT_MS: i64 = 3_600_000;

#[derive(Serialize, Deserialize)]
struct Marker {
    format: u16,
    memory: String,
    note: String,
}

/// Makes a folder the carrier of a memory.
pub(super) fn create(folder: &Path, memory: &MemoryKey) -> Result<()> {
    files::create_folder(folder)?;
    if folder.join(MARKER_FILE).exists() {
        return Err(Error::CarrierTaken { path: folder.to_owned() });
    }
    let note = "Sealed logs of Nacre. Let your sync tool copy this folder; do not edit it.".to_owned();
    let marker = Marker { format: FORMAT, memory: hex(memory.id()), note };
    files::write_atomically(&folder.join(MARKER_FILE), serde_json::to_string_pretty(&marker)?.as_bytes())
}

/// Says of a write to the carrier that failed what to do about it.
pub(super) fn explain(error: Error) -> Error {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, StorageFull};
    match error {
        Error::Io { path, source } if source.kind() == StorageFull => Error::CarrierFull { path },
        Error::Io { path, source } if matches!(source.kind(), PermissionDenied | ReadOnlyFilesystem) => {
            Error::CarrierReadOnly { path }
        }
        other => other,
    }
}

/// Checks that a folder carries this memory, before anything is read from it or written to it.
pub(super) fn check(folder: &Path, memory: &MemoryKey) -> Result<()> {
    let path = || folder.to_owned();
    let file = folder.join(MARKER_FILE);
    let text = match fs::read(&file) {
        Ok(text) => text,
        Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::CarrierGone { path: path() });
        }
        Err(problem) => return Err(Error::io(&file)(problem)),
    };
    let Ok(marker) = serde_json::from_slice::<Marker>(&text) else {
        return Err(Error::CarrierDamaged { path: file });
    };
    if marker.format > FORMAT {
        return Err(Error::NewerSync { path: path(), found: marker.format, known: FORMAT });
    }
    if from_hex(&marker.memory).as_deref() != Some(memory.id()) {
        return Err(Error::WrongPhrase { path: path() });
    }
    Ok(())
}

/// Returns the devices that have a log in the folder.
pub(super) fn devices(folder: &Path) -> Result<Vec<DeviceId>> {
    let found = fs::read_dir(folder).map_err(Error::io(folder))?;
    let names = found.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut devices: Vec<DeviceId> = names.filter_map(|name| DeviceId::named(&name)).collect();
    devices.sort();
    Ok(devices)
}

/// The new part of the log of a device, and what is wrong with the rest.
pub(super) struct Arrival {
    pub(super) device: DeviceId,
    pub(super) records: Vec<ReadRecord>,
    pub(super) end: Position,
    /// Whether the log has two ends, so that its device has to take a new id.
    pub(super) forked: bool,
    pub(super) problems: Vec<String>,
}

/// Reads the part of a log that is new.
pub(super) fn read_device(
    folder: &Path,
    device: &DeviceId,
    memory: &MemoryKey,
    from: Position,
) -> Result<Arrival> {
    let folder = folder.join(device.as_str());
    let (mut segments, mut packs, mut problems) = (Vec::new(), Vec::new(), Vec::new());
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
        problems.extend(refused.map(|refusal| format!("`{device}/{name}` {}", refusal.explain())));
    }
    // A document that this program can't read was written by a newer one: the log waits for the update.
    let is_readable = |text: &[u8]| serde_json::from_slice::<Document>(text).is_ok();
    let log = read_log(memory, device, &segments, &packs, from, is_readable);
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

/// Returns the files of a log: their names and paths, sorted.
fn log_files(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
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

fn is_log_file(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending == "seg" || ending == "pak")
}

fn file_name(first: u64, last: u64, ending: &str) -> String {
    format!("{first:010}-{last:010}.{ending}")
}

/// Returns the first and last record that a file name speaks of.
fn range(name: &str) -> Option<(u64, u64)> {
    let (first, last) = name.rsplit_once('.')?.0.split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// The log of this device in the group's folder.
pub(super) struct OwnLog {
    pub(super) folder: PathBuf,
}

impl OwnLog {
    /// Returns the position after the last record.
    pub(super) fn end(&self, memory: &MemoryKey, device: &DeviceKey) -> Result<Position> {
        let mut segments = log_files(&self.folder)?;
        segments.retain(|(name, _)| name.ends_with(".seg"));
        segments.sort_by_key(|(name, _)| range(name).map(|(_, last)| last));
        for (_, path) in segments.into_iter().rev() {
            let bytes = fs::read(&path).map_err(Error::io(&path))?;
            if let Ok(segment) = Segment::read(&bytes, memory)
                && segment.device == *device.id()
            {
                return Ok(Position { number: segment.last(), hash: segment.end_hash() });
            }
        }
        Ok(Position::START)
    }

    /// Appends a segment and its pack. The pack comes first, so that no segment is ever without one.
    pub(super) fn append(
        &self,
        memory: &MemoryKey,
        device: &DeviceKey,
        after: Position,
        part: Vec<(super::log::Record, Option<Vec<u8>>)>,
    ) -> Result<Position> {
        let (records, slots): (Vec<_>, Vec<_>) = part.into_iter().unzip();
        let first = after.number + 1;
        let last = after.number + records.len() as u64;
        let (segment, hash) = Segment::write(memory, device, first, &after.hash, &records)?;
        let pack = Pack::write(memory, device, first, 0, &slots);
        files::create_folder(&self.folder)?;
        files::write_atomically(&self.folder.join(file_name(first, last, "pak")), &pack)?;
        crate::store::crash::point("pack written");
        files::write_atomically(&self.folder.join(file_name(first, last, "seg")), &segment)?;
        crate::store::crash::point("segment written");
        Ok(Position { number: last, hash })
    }

    /// Removes the texts of records that `is_gone` names from all packs. Returns how many it removed.
    pub(super) fn scrub(
        &self,
        memory: &MemoryKey,
        device: &DeviceKey,
        is_gone: impl Fn(&str, &str) -> bool,
    ) -> Result<usize> {
        let mut removed = 0;
        for (name, path) in log_files(&self.folder)?.into_iter().filter(|(name, _)| name.ends_with(".seg")) {
            let bytes = fs::read(&path).map_err(Error::io(&path))?;
            let Ok(segment) = Segment::read(&bytes, memory) else { continue };
            let gone: Vec<u64> = segment
                .records()
                .filter(|(_, record)| matches!(record.op, Op::Put(_)) && is_gone(&record.kind, &record.id))
                .map(|(number, _)| number)
                .collect();
            if gone.is_empty() {
                continue;
            }
            let path = path.with_file_name(name.replace(".seg", ".pak"));
            let bytes = fs::read(&path).map_err(Error::io(&path))?;
            let Ok(mut pack) = Pack::read(&bytes, memory) else { continue };
            let mut changed = 0;
            for number in gone {
                let place = usize::try_from(number - pack.first).unwrap_or(usize::MAX);
                if let Some(slot) = pack.slots.get_mut(place).filter(|slot| slot.is_some()) {
                    *slot = None;
                    changed += 1;
                }
            }
            if changed > 0 {
                let bytes = Pack::write(memory, device, pack.first, pack.revision + 1, &pack.slots);
                files::write_atomically(&path, &bytes)?;
                removed += changed;
            }
        }
        Ok(removed)
    }

    /// Tells whether the carrier has a log in the name of this device that this device did not write: it was copied, or restored
    /// from a backup.
    pub(super) fn is_overtaken(
        &self,
        carrier: &Path,
        memory: &MemoryKey,
        device: &DeviceKey,
    ) -> Result<bool> {
        for (name, path) in log_files(&carrier.join(device.id().as_str()))? {
            let own = self.folder.join(&name);
            if is_same_file(&own, &path) {
                continue;
            }
            let (Ok(theirs), ours) = (fs::read(&path), fs::read(&own).ok()) else { continue };
            if ours.as_ref() == Some(&theirs) {
                continue;
            }
            if name.ends_with(".seg") {
                let Ok(theirs) = Segment::read(&theirs, memory) else { continue };
                if theirs.device == *device.id() && !self.contains(memory, &theirs)? {
                    return Ok(true);
                }
            } else if let (Ok(theirs), Some(ours)) = (Pack::read(&theirs, memory), ours)
                && let Ok(ours) = Pack::read(&ours, memory)
                && theirs.device == *device.id()
                && theirs.revision > ours.revision
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn contains(&self, memory: &MemoryKey, segment: &Segment) -> Result<bool> {
        for (name, path) in log_files(&self.folder)? {
            let covers =
                range(&name).is_some_and(|(first, last)| first <= segment.last() && segment.last() <= last);
            if name.ends_with(".seg") && covers {
                let bytes = fs::read(&path).map_err(Error::io(&path))?;
                if let Ok(own) = Segment::read(&bytes, memory) {
                    return Ok(own.hash_after(segment.last()) == Some(segment.end_hash()));
                }
            }
        }
        Ok(false)
    }

    /// Brings this device's part of the carrier up to date. Returns how many files it wrote.
    pub(super) fn mirror(&self, carrier: &Path, device: &DeviceKey) -> Result<usize> {
        let target = carrier.join(device.id().as_str());
        let mut written = 0;
        for (name, path) in log_files(&self.folder)? {
            let copy = target.join(&name);
            if is_same_file(&path, &copy) {
                continue;
            }
            let bytes = fs::read(&path).map_err(Error::io(&path))?;
            if fs::read(&copy).is_ok_and(|present| present == bytes) {
                copy_time(&path, &copy);
                continue;
            }
            files::create_folder(&target)?;
            files::write_atomically(&copy, &bytes)?;
            copy_time(&path, &copy);
            written += 1;
        }
        Ok(written)
    }
}

/// Tells whether a copy has the size and time of its original, so that it need not be read.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let (Ok(one), Ok(other)) = (fs::metadata(one), fs::metadata(other)) else { return false };
    one.len() == other.len() && one.modified().ok() == other.modified().ok()
}

/// Gives a copy the time of its original. Where that fails, the next round reads both.
fn copy_time(from: &Path, to: &Path) {
    if let Ok(modified) = fs::metadata(from).and_then(|found| found.modified())
        && let Ok(file) = fs::OpenOptions::new().append(true).open(to)
    {
        let _ = file.set_modified(modified);
    }
}

/// The sign of life of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) name: String,
    pub(super) at: Time,
    /// How far it has read each log.
    pub(super) logs: std::collections::BTreeMap<DeviceId, u64>,
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
    carrier: &Path,
    memory: &MemoryKey,
    device: &DeviceKey,
    seen: &Seen,
) -> Result<bool> {
    if let Some(before) = read_seen(carrier, memory, device.id())
        && (Seen { at: seen.at, ..before.clone() }) == *seen
        && (0..HEARTBEAT_MS).contains(&(seen.at.as_millis() - before.at.as_millis()))
    {
        return Ok(false);
    }
    let folder = carrier.join(device.id().as_str());
    files::create_folder(&folder)?;
    let sealed = memory.seal(&serde_json::to_vec(seen)?, SEEN_CONTEXT)?;
    files::write_atomically(&folder.join(SEEN_FILE), &Pack::write(memory, device, 0, 0, &[Some(sealed)]))?;
    Ok(true)
}

/// Returns what a device says about itself; `None` if it says nothing that can be read.
pub(super) fn read_seen(carrier: &Path, memory: &MemoryKey, device: &DeviceId) -> Option<Seen> {
    let bytes = fs::read(carrier.join(device.as_str()).join(SEEN_FILE)).ok()?;
    let pack = Pack::read(&bytes, memory).ok()?;
    let sealed = pack.slots.first()?.as_ref().filter(|_| pack.device == *device)?;
    serde_json::from_slice(&memory.open(sealed, SEEN_CONTEXT)?).ok()
}
