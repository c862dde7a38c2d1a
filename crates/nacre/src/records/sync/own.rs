//! The log of this device in the group's folder. It is the truth about this device; its part of the carrier is a copy, which every
//! round puts right.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::carrier::{Carrier, file_name, log_files, range};
use super::clock::Document;
use super::files::{FILE, is_same_version};
use super::log::{Op, Pack, Position, Record, Segment};
use super::seal::{DeviceId, DeviceKey, MemoryKey};
use crate::base::{Error, Result, files};

/// The texts that a log need not have any more.
#[derive(Default)]
pub(super) struct Outdated {
    /// The records that were deleted, by kind and id.
    pub(super) deleted: BTreeSet<(String, String)>,
    /// The newest version of each document; `None`: none has changed.
    pub(super) versions: Option<BTreeMap<String, Document>>,
}

impl Outdated {
    fn is_newest(&self, id: &str, written: &Document) -> bool {
        let newest = self.versions.as_ref().and_then(|versions| versions.get(id));
        // Without the record, the deletion is on its way.
        newest.is_none_or(|newest| is_same_version(newest, written))
    }
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
        part: Vec<(Record, Option<Vec<u8>>)>,
    ) -> Result<Position> {
        let (records, slots): (Vec<_>, Vec<_>) = part.into_iter().unzip();
        let first = after.number + 1;
        let last = after.number + records.len() as u64;
        let (segment, hash) = Segment::write(memory, device, first, &after.hash, &records)?;
        let pack = Pack::write(memory, device, first, 0, &slots);
        files::create_folder(&self.folder)?;
        // A process that died left a pack without its segment. What it has may be deleted by now.
        for (name, path) in log_files(&self.folder)? {
            let is_beyond = range(&name).is_some_and(|(found, _)| found >= first);
            if is_beyond && name.ends_with(".pak") && !path.with_extension("seg").exists() {
                fs::remove_file(&path).map_err(Error::io(&path))?;
            }
        }
        files::write_atomically(&self.folder.join(file_name(first, last, "pak")), &pack)?;
        crate::store::crash::point("pack written");
        files::write_atomically(&self.folder.join(file_name(first, last, "seg")), &segment)?;
        crate::store::crash::point("segment written");
        Ok(Position { number: last, hash })
    }

    /// Removes texts from all packs: those of records that were deleted, and those of documents that a newer version took the
    /// place of, on any machine. Every record has the whole document, so none needs an earlier one. Returns how many it removed.
    pub(super) fn scrub(&self, memory: &MemoryKey, device: &DeviceKey, outdated: &Outdated) -> Result<usize> {
        let mut gone: BTreeMap<PathBuf, BTreeSet<u64>> = BTreeMap::new();
        let mut newest: BTreeMap<String, (u64, PathBuf)> = BTreeMap::new();
        let mut segments = log_files(&self.folder)?;
        segments.retain(|(name, _)| name.ends_with(".seg"));
        for (name, path) in segments {
            let bytes = fs::read(&path).map_err(Error::io(&path))?;
            let Ok(segment) = Segment::read(&bytes, memory) else { continue };
            let pack = path.with_file_name(name.replace(".seg", ".pak"));
            for (number, record) in segment.records().filter(|(_, record)| matches!(record.op, Op::Put(_))) {
                if outdated.deleted.contains(&(record.kind.clone(), record.id.clone())) {
                    gone.entry(pack.clone()).or_default().insert(number);
                } else if record.kind == FILE && outdated.versions.is_some() {
                    let before = newest.insert(record.id.clone(), (number, pack.clone()));
                    if let Some((number, pack)) = before {
                        gone.entry(pack).or_default().insert(number);
                    }
                }
            }
        }
        let mut last: BTreeMap<PathBuf, Vec<(u64, String)>> = BTreeMap::new();
        for (id, (number, pack)) in newest {
            last.entry(pack).or_default().push((number, id));
        }
        let packs: BTreeSet<&PathBuf> = gone.keys().chain(last.keys()).collect();
        let mut removed = 0;
        for path in packs {
            let bytes = fs::read(path).map_err(Error::io(path))?;
            let Ok(mut pack) = Pack::read(&bytes, memory) else { continue };
            let mut numbers = gone.get(path).cloned().unwrap_or_default();
            for (number, id) in last.get(path).into_iter().flatten() {
                let text = pack.text(memory, *number);
                let written = text.and_then(|text| serde_json::from_slice(&text).ok());
                if written.is_some_and(|written| !outdated.is_newest(id, &written)) {
                    numbers.insert(*number);
                }
            }
            let mut changed = 0;
            for number in numbers {
                let place = usize::try_from(number - pack.first).unwrap_or(usize::MAX);
                if let Some(slot) = pack.slots.get_mut(place).filter(|slot| slot.is_some()) {
                    *slot = None;
                    changed += 1;
                }
            }
            if changed > 0 {
                let bytes = Pack::write(memory, device, pack.first, pack.revision + 1, &pack.slots);
                files::write_atomically(path, &bytes)?;
                removed += changed;
            }
        }
        Ok(removed)
    }

    /// Tells whether the carrier has a log in the name of this device that this device did not write: it was copied, or restored
    /// from a backup.
    pub(super) fn is_overtaken(
        &self,
        carrier: &Carrier,
        memory: &MemoryKey,
        device: &DeviceKey,
    ) -> Result<bool> {
        for (name, path) in log_files(&carrier.folder_of(device.id()))? {
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
    pub(super) fn mirror(&self, carrier: &Carrier, device: &DeviceId) -> Result<usize> {
        let target = carrier.folder_of(device);
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
            carrier.write(device, &name, &bytes)?;
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
