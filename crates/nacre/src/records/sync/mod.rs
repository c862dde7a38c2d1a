//! One memory on several machines, without a server.
//!
//! Every machine writes a log of its own and reads those of the others, out of a folder that any tool copies, or a server. `seal` has the
//! keys, `log` the files of a log, `own` the log of this machine, `clock` the documents that merge in any order, `kinds` the records
//! that travel, `fold` the way between rows and documents, `files` the Markdown files, `transcripts` the conversations, `carrier` the folder or the server
//! (`server` asks it, `host` is its other side), `renewal` new keys and new devices. A round (`round`) notes what happened here,
//! applies what happened elsewhere, and brings the carrier up to date.

mod carrier;
mod clock;
mod files;
mod fold;
pub mod host;
mod kinds;
mod log;
mod own;
mod renewal;
mod seal;
mod server;
mod transcripts;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use self::carrier::Place;
use self::carrier::{Arrival, Carrier, DeviceState, Marker};
use self::files::LocalFile;
use self::fold::Fold;
use self::log::{MAX_RECORDS, Position};
use self::own::{Outdated, OwnLog};
use self::renewal::PendingChange;
pub use self::renewal::{KeyReport, replace_key};
use self::seal::{DeviceId, DeviceKey, MemoryKey, from_hex, hex};
use self::transcripts::LocalTranscript;
use crate::base::ids::GroupName;
use crate::base::secret::Secret;
use crate::base::{Error, Result, Time, files as disk};
use crate::group::View;
use crate::records::{erase, workspace};
use crate::store::audit;

/// The folder of this device's keys and log, in the group's folder.
const FOLDER: &str = ".sync";
const STATE_FILE: &str = "sync.json";
const LOG_FOLDER: &str = "log";
const LOCK_FILE: &str = "lock";
/// The most bytes of sealed texts in one pack.
const MAX_PACK_BYTES: usize = 8 << 20;

/// The result of a round.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RoundReport {
    /// How many operations of this machine were new.
    pub sent: usize,
    /// How many operations of other machines were new.
    pub received: usize,
    /// How many records were deleted here because another machine deleted them.
    pub deleted: usize,
    /// How many files of the workspace were written here.
    pub files: usize,
    /// How many proposals were made for documents that two machines changed in the same place.
    pub proposals: usize,
    /// How many machines take part, this one included.
    pub machines: usize,
    /// Whether this machine was recognised as copied or restored from a backup, and has a new device id.
    pub new_device: bool,
    /// Whether another machine replaced the key of the memory, and this one has the new key now.
    pub new_key: bool,
    /// The files that could not be read, each with what to do.
    pub problems: Vec<String>,
}

/// The state of a machine.
#[derive(Clone, Debug, Serialize)]
pub struct MachineStatus {
    /// The id of the device.
    pub device: String,
    /// Its name.
    pub name: String,
    /// Whether it is this machine.
    pub here: bool,
    /// When it last took part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<Time>,
    /// How many operations of other machines it has not read yet, as far as this machine knows.
    pub behind: u64,
    /// Whether it left.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub left: bool,
    /// How many deletions have not arrived there yet.
    pub deletions_missing: usize,
}

/// The state of syncing.
#[derive(Clone, Debug, Serialize)]
pub struct SyncStatus {
    /// The folder or server that carries the logs.
    pub carrier: String,
    /// The id of this device.
    pub device: String,
    /// How many operations wait to be written to the folder.
    pub waiting: usize,
    /// How many records are synced.
    pub records: i64,
    /// How many records were deleted for good.
    pub deletions: usize,
    /// A hash of all that is synced: two machines that have met have the same.
    pub state: String,
    /// The machines.
    pub machines: Vec<MachineStatus>,
    /// The problems of the folder.
    pub problems: Vec<String>,
}

/// The place of a deletion in the log of a machine.
#[derive(Clone, Debug, Serialize)]
pub struct DeletionReceipt {
    /// The id of the deleted record.
    pub id: String,
    /// When it was deleted.
    pub at: Time,
    /// The machine that deleted it.
    pub machine: String,
    /// The number of the operation in the log of that machine.
    pub number: u64,
    /// The machines on which it has arrived.
    pub arrived: Vec<String>,
    /// The machines on which it has not.
    pub missing: Vec<String>,
}

/// The keys of this device, and where the logs are.
struct Device {
    /// The folder in the group's folder.
    home: PathBuf,
    place: Place,
    carrier: Carrier,
    memory: MemoryKey,
    key: DeviceKey,
    name: String,
    replaces: Option<DeviceId>,
    /// The marker of the carrier, if the key was ever replaced.
    marker: Option<Marker>,
    /// A new key that the carrier does not have yet.
    pending: Option<PendingChange>,
}

/// The file with the keys.
#[derive(Serialize, Deserialize)]
struct StateFile {
    format: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folder: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server: Option<ServerState>,
    phrase: String,
    seed: String,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replaces: Option<DeviceId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    marker: Option<Marker>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pending: Option<PendingChange>,
}

#[derive(Serialize, Deserialize)]
struct ServerState {
    url: String,
    token: String,
}

/// The format of the file with the keys. Its first form knew neither servers nor new keys.
const STATE_FORMAT: u16 = 2;

impl Device {
    fn new(view: &View<'_>, place: &Place, memory: MemoryKey, name: &str) -> Result<Device> {
        let home = view.folder().join(FOLDER);
        let carrier = Carrier::new(place, &home, view.name().as_str())?;
        let (place, name, key) = (place.clone(), name.to_owned(), DeviceKey::generate()?);
        Ok(Device { home, place, carrier, memory, key, name, replaces: None, marker: None, pending: None })
    }

    fn open(view: &View<'_>) -> Result<Device> {
        let home = view.folder().join(FOLDER);
        let path = home.join(STATE_FILE);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => return Err(Error::SyncOff),
            Err(problem) => return Err(Error::io(&path)(problem)),
        };
        let damaged = || Error::CarrierDamaged { path: path.clone() };
        let format: FormatOnly = serde_json::from_slice(&text).map_err(|_| damaged())?;
        if format.format > STATE_FORMAT {
            let carrier = path.display().to_string();
            return Err(Error::NewerSync { carrier, found: format.format, known: STATE_FORMAT });
        }
        let state: StateFile = serde_json::from_slice(&text).map_err(|_| damaged())?;
        let seed = from_hex(&state.seed).and_then(|seed| seed.try_into().ok()).ok_or_else(damaged)?;
        let place = match (state.folder, state.server) {
            (Some(folder), None) => Place::Folder(folder),
            (None, Some(ServerState { url, token })) => Place::Server { url, token: Secret::new(&token) },
            _ => return Err(damaged()),
        };
        let memory = MemoryKey::from_phrase(&state.phrase)?;
        let memory = match &state.marker {
            Some(marker) => marker.complete(memory).ok_or_else(damaged)?,
            None => memory,
        };
        Ok(Device {
            carrier: Carrier::new(&place, &home, view.name().as_str())?,
            home,
            place,
            memory,
            key: DeviceKey::from_seed(seed)?,
            name: state.name,
            replaces: state.replaces,
            marker: state.marker,
            pending: state.pending,
        })
    }

    fn save(&self) -> Result<()> {
        disk::create_folder(&self.home)?;
        let (folder, server) = match &self.place {
            Place::Folder(folder) => (Some(folder.clone()), None),
            Place::Server { url, token } => {
                (None, Some(ServerState { url: url.clone(), token: token.expose().to_owned() }))
            }
        };
        let is_first_form = server.is_none() && self.marker.is_none() && self.pending.is_none();
        let state = StateFile {
            format: if is_first_form { 1 } else { STATE_FORMAT },
            folder,
            server,
            phrase: self.memory.phrase(),
            seed: hex(self.key.seed()),
            name: self.name.clone(),
            replaces: self.replaces.clone(),
            marker: self.marker.clone(),
            pending: self.pending.clone(),
        };
        disk::write_atomically(&self.home.join(STATE_FILE), serde_json::to_string_pretty(&state)?.as_bytes())
    }

    fn log(&self) -> OwnLog {
        OwnLog { folder: self.home.join(LOG_FOLDER) }
    }

    /// Waits for no other round: a second one would find nothing to do.
    fn lock(&self) -> Result<File> {
        disk::create_folder(&self.home)?;
        let path = self.home.join(LOCK_FILE);
        let file = disk::append_private(&path).map_err(Error::io(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(Error::SyncBusy),
            Err(TryLockError::Error(source)) => Err(Error::io(&path)(source)),
        }
    }
}

/// The format of a file, whatever else it has.
#[derive(Deserialize)]
struct FormatOnly {
    format: u16,
}

/// Tells whether a group of a home is synced, without opening it.
pub fn is_on(home: &Path, group: &GroupName) -> bool {
    home.join("groups").join(group.as_str()).join(FOLDER).join(STATE_FILE).is_file()
}

/// Starts to sync a group over a place that carries no memory yet. `name` is what people call this machine.
pub fn init(view: &mut View<'_>, place: &Place, name: &str) -> Result<RoundReport> {
    refuse_group(view)?;
    if let Some(device) = synced(view)? {
        return Err(Error::SyncOn { carrier: device.carrier.name().to_owned() });
    }
    let device = Device::new(view, place, MemoryKey::generate()?, name)?;
    device.carrier.fetch()?;
    device.carrier.create(&device.memory)?;
    start(view, &device)
}

/// Joins the memory that a place carries. A machine that is synced already moves there, or takes the new key from its phrase.
pub fn join(view: &mut View<'_>, place: &Place, phrase: &str, name: &str) -> Result<RoundReport> {
    refuse_group(view)?;
    let mut device = Device::new(view, place, MemoryKey::from_phrase(phrase)?, name)?;
    device.carrier.fetch()?;
    let marker = device.carrier.marker()?;
    let wrong = || Error::WrongPhrase { carrier: device.carrier.name().to_owned() };
    if !marker.is_of(&device.memory) {
        return Err(wrong());
    }
    device.memory = marker.complete(device.memory.clone()).ok_or_else(wrong)?;
    device.marker = marker.replaced.is_some().then_some(marker);
    match synced(view)? {
        None => start(view, &device),
        Some(known) => renewal::rejoin(view, known, device),
    }
}

fn synced(view: &View<'_>) -> Result<Option<Device>> {
    match Device::open(view) {
        Err(Error::SyncOff) => Ok(None),
        device => device.map(Some),
    }
}

/// Refuses a group that has no folder, or that the settings do not let travel.
fn refuse_group(view: &View<'_>) -> Result<()> {
    view.needs_file("sync")?;
    let groups = &view.settings().sync.groups;
    match groups.is_empty() || groups.iter().any(|group| group == view.name().as_str()) {
        true => Ok(()),
        false => Err(Error::SyncExcluded { group: view.name().clone() }),
    }
}

fn start(view: &mut View<'_>, device: &Device) -> Result<RoundReport> {
    let caller = view.caller();
    view.write(|tx| {
        fold::forget(tx)?;
        audit::Row::new("sync_start").append(tx, caller)
    })?;
    device.save()?;
    round(view, &RoundOptions::default())
}

/// Returns the phrase with which another machine joins.
pub fn invite(view: &View<'_>) -> Result<String> {
    Ok(Device::open(view)?.memory.phrase())
}

/// Stops syncing. The records stay on this machine, and its operations stay in the folder for the others.
pub fn leave(view: &mut View<'_>) -> Result<()> {
    let device = Device::open(view)?;
    let _lock = device.lock()?;
    if device
        .carrier
        .fetch()
        .and_then(|()| device.carrier.marker())
        .is_ok_and(|marker| marker.is_of(&device.memory))
    {
        let seen = DeviceState { left: true, ..seen(view, &device)? };
        carrier::write_seen(&device.carrier, &device.memory, &device.key, &seen)?;
    }
    let caller = view.caller();
    view.write(|tx| {
        fold::forget(tx)?;
        audit::Row::new("sync_leave").append(tx, caller)
    })?;
    fs::remove_dir_all(&device.home).map_err(Error::io(&device.home))
}

/// How a round behaves.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundOptions {
    /// Whether most of the records may have been deleted here on purpose.
    pub allow_deletions: bool,
}

/// The files that changed here since the last round.
struct Edits {
    files: Vec<LocalFile>,
    transcripts: Vec<LocalTranscript>,
    /// The number up to which all other machines have read the log of this device.
    agreed: u64,
}

/// Runs one round.
pub fn round(view: &mut View<'_>, options: &RoundOptions) -> Result<RoundReport> {
    let mut device = Device::open(view)?;
    refuse_group(view)?;
    let _lock = device.lock()?;
    device.carrier.fetch()?;
    let mut report =
        RoundReport { new_key: renewal::check_key(view, &mut device)?, ..RoundReport::default() };
    if is_restored(view, &device)? {
        renewal::renew(view, &mut device)?;
        report.new_device = true;
    }
    workspace::sync(view)?;
    let edited = Edits { files: files::changed(view)?, transcripts: transcripts::changed(view)?, agreed: 0 };
    let (arrivals, positions) = read_others(view, &device)?;
    report.machines = 1 + arrivals.len();
    let is_forked = |arrival: &Arrival| arrival.forked && is_replaced(&device, &arrival.device);
    for arrival in &arrivals {
        // A machine that was copied has taken a new id by now: both of its logs are known under the new ones.
        if !is_forked(arrival) {
            report.problems.extend(arrival.problems.iter().cloned());
        }
    }
    let kept = view.read_all(files::kept_bases)?;
    let agreed = if kept.is_empty() { 0 } else { agreed(&device)? };
    let is_quiet = arrivals.iter().all(|arrival| arrival.records.is_empty())
        && positions.contains_key(device.key.id())
        && edited.files.is_empty()
        && edited.transcripts.is_empty()
        && kept.iter().all(|(_, number, _)| *number > agreed)
        && view.read_all(|db| {
            Ok(fold::is_unchanged(db)? && !files::is_waiting(db)? && !transcripts::is_waiting(db)?)
        })?
        && view.read_all(fold::outbox)?.is_empty();
    if !is_quiet {
        let edits = Edits { agreed, ..edited };
        let has_versions = fold_round(view, &device, arrivals, &edits, options, &mut report)?;
        crate::store::crash::point("round folded");
        report.files = files::write(view)?;
        report.problems.extend(transcripts::write(view, &device.memory)?);
        publish(view, &device)?;
        if has_versions {
            // The texts of earlier versions stay in the write-ahead log until that is truncated.
            view.forget_log()?;
        }
    }
    scrub(view, &device)?;
    device.log().mirror(&device.carrier, device.key.id())?;
    crate::store::crash::point("log copied");
    let seen = seen(view, &device)?;
    carrier::write_seen(&device.carrier, &device.memory, &device.key, &seen)?;
    Ok(report)
}

/// Tells whether another device says that it took the place of this one.
fn is_replaced(device: &Device, gone: &DeviceId) -> bool {
    let others = carrier::devices(&device.carrier).unwrap_or_default();
    others.iter().any(|other| {
        let seen = carrier::read_seen(&device.carrier, &device.memory, other);
        seen.is_some_and(|seen| seen.replaces.as_ref() == Some(gone))
    })
}

fn read_others(view: &View<'_>, device: &Device) -> Result<(Vec<Arrival>, BTreeMap<DeviceId, Position>)> {
    let positions = if view.is_on_disk() { view.read_all(fold::positions)? } else { BTreeMap::new() };
    let mut arrivals = Vec::new();
    for other in carrier::devices(&device.carrier)? {
        if other != *device.key.id() {
            let from = positions.get(&other).copied().unwrap_or(Position::START);
            arrivals.push(carrier::read_device(&device.carrier, &other, &device.memory, from)?);
        }
    }
    Ok((arrivals, positions))
}

/// Tells whether the database, the log and the carrier do not belong to the same moment of this device.
fn is_restored(view: &mut View<'_>, device: &Device) -> Result<bool> {
    let log = device.log();
    let end = log.end(&device.memory, &device.key)?;
    let (known, waiting) = match view.is_on_disk() {
        true => view.read_all(|db| Ok((fold::position(db, device.key.id())?, fold::outbox(db)?)))?,
        false => (Position::START, Vec::new()),
    };
    if end.number > known.number && waiting.iter().any(|(number, ..)| *number == end.number) {
        // The process ended after it had written the log.
        view.write(|tx| fold::published(tx, device.key.id(), end))?;
    } else if end != known {
        return Ok(true);
    }
    log.is_overtaken(&device.carrier, &device.memory, &device.key)
}

/// Notes what happened here and applies what happened elsewhere. Returns whether documents changed.
fn fold_round(
    view: &mut View<'_>,
    device: &Device,
    arrivals: Vec<Arrival>,
    edited: &Edits,
    options: &RoundOptions,
    report: &mut RoundReport,
) -> Result<bool> {
    let (caller, now) = (view.caller(), view.now());
    let private = view.settings().sync.private;
    let logs: Vec<_> =
        arrivals.into_iter().map(|arrival| (arrival.device, arrival.records, arrival.end)).collect();
    let done = view.write(|tx| {
        let mut fold = Fold::new(tx, &device.memory, device.key.id(), now)?;
        let has_new_key = fold::has_new_key(tx)?;
        if fold.is_new()
            && !has_new_key
            && let Some(replaced) = &device.replaces
        {
            fold.repeat_deletions(replaced)?;
        }
        fold.capture(private, options.allow_deletions)?;
        fold.capture_files(&edited.files, options.allow_deletions)?;
        fold.capture_transcripts(&edited.transcripts, private, options.allow_deletions)?;
        let said = if has_new_key { fold::documents_of(&logs) } else { BTreeMap::new() };
        if logs.iter().any(|(_, records, _)| !records.is_empty()) {
            fold.apply(logs)?;
            let mut row = audit::Row::new("sync").with("received", fold.report.applied);
            row = row.with("deleted", fold.report.deleted);
            row.ids = fold.report.gone.iter().map(|gone| gone.reference.clone()).collect();
            row.append(tx, caller)?;
            // Two machines may have done what does not fit together; what settles it travels as well.
            fold.capture(private, true)?;
        }
        if has_new_key {
            fold.repeat_all(&said)?;
        }
        fold.forget_bases(edited.agreed)?;
        fold.finish()
    })?;
    (report.sent, report.received, report.deleted) = (done.captured, done.applied, done.deleted);
    report.proposals = done.proposals;
    if done.deleted + done.buried > 0 {
        report.problems.extend(erase::finish(view, &done.gone)?);
    }
    Ok(done.versions > 0)
}

/// Writes what waits into the log of this device.
fn publish(view: &mut View<'_>, device: &Device) -> Result<()> {
    let (mut end, waiting) =
        view.read_all(|db| Ok((fold::position(db, device.key.id())?, fold::outbox(db)?)))?;
    let log = device.log();
    let published = end.number;
    let mut waiting = waiting.into_iter().filter(|(number, ..)| *number > published).peekable();
    while waiting.peek().is_some() {
        let (mut part, mut bytes) = (Vec::new(), 0);
        while part.len() < MAX_RECORDS
            && bytes < MAX_PACK_BYTES
            && let Some((_, record, sealed)) = waiting.next()
        {
            bytes += sealed.as_ref().map_or(0, Vec::len);
            part.push((record, sealed));
        }
        end = log.append(&device.memory, &device.key, end, part)?;
        view.write(|tx| fold::published(tx, device.key.id(), end))?;
    }
    // A machine that never wrote anything is no restored one.
    if view.read_all(fold::positions)?.contains_key(device.key.id()) {
        return Ok(());
    }
    view.write(|tx| fold::set_position(tx, device.key.id(), end))
}

/// Removes texts that were deleted or replaced from the log of this device.
fn scrub(view: &mut View<'_>, device: &Device) -> Result<()> {
    let (mut gone, versions) =
        view.read_all(|db| Ok((fold::tombstones(db)?, files::newest_versions(db)?)))?;
    gone.retain(|tombstone| !tombstone.scrubbed);
    if gone.is_empty() && versions.is_none() {
        return Ok(());
    }
    let deleted = gone.iter().map(|one| (one.kind.clone(), one.id.clone())).collect();
    device.log().scrub(&device.memory, &device.key, &Outdated { deleted, versions })?;
    view.write(|tx| {
        files::forget_old_versions(tx)?;
        fold::scrubbed(tx, &gone)
    })
}

/// Returns the number up to which all other machines have read the log of this device.
fn agreed(device: &Device) -> Result<u64> {
    let read = |seen: &Option<DeviceState>| {
        seen.as_ref().and_then(|seen| seen.logs.get(device.key.id())).copied().unwrap_or(0)
    };
    let seen = all_seen(device)?;
    let others = seen
        .iter()
        .filter(|(id, seen)| *id != device.key.id() && !seen.as_ref().is_some_and(|seen| seen.left));
    Ok(others.map(|(_, seen)| read(seen)).min().unwrap_or(u64::MAX))
}

fn seen(view: &View<'_>, device: &Device) -> Result<DeviceState> {
    let positions = view.read_all(fold::positions)?;
    Ok(DeviceState {
        name: device.name.clone(),
        at: view.now(),
        logs: positions.into_iter().map(|(device, at)| (device, at.number)).collect(),
        agreement: Some(hex(&device.key.agreement_public())),
        replaces: device.replaces.clone(),
        left: false,
    })
}

/// Returns the last sign of life of each machine, by its device.
fn all_seen(device: &Device) -> Result<BTreeMap<DeviceId, Option<DeviceState>>> {
    let read = |other: DeviceId| {
        let seen = carrier::read_seen(&device.carrier, &device.memory, &other);
        (other, seen)
    };
    let mut all: BTreeMap<DeviceId, Option<DeviceState>> =
        carrier::devices(&device.carrier)?.into_iter().map(read).collect();
    // A device that another one replaced is the same machine.
    let replaced: Vec<DeviceId> = all.values().flatten().filter_map(|seen| seen.replaces.clone()).collect();
    all.retain(|other, _| !replaced.contains(other));
    Ok(all)
}

/// Returns the state of syncing.
pub fn status(view: &View<'_>) -> Result<SyncStatus> {
    let device = Device::open(view)?;
    // Without the server, the copy tells what is known.
    let mut problems: Vec<String> =
        device.carrier.fetch().err().map(|problem| problem.to_string()).into_iter().collect();
    let marker = device.carrier.marker()?;
    if !marker.is_of(&device.memory)
        && device.pending.is_none()
        && marker.next_key(&device.memory, &device.key).is_none()
    {
        return Err(renewal::foreign_key(&device, &marker));
    }
    let (arrivals, positions) = read_others(view, &device)?;
    let gone = view.read_all(fold::tombstones)?;
    // The highest number that is known of each log.
    let mut known: BTreeMap<&DeviceId, u64> =
        positions.iter().map(|(device, at)| (device, at.number)).collect();
    for arrival in &arrivals {
        let number = known.entry(&arrival.device).or_default();
        *number = (*number).max(arrival.end.number);
    }
    let mut machines = Vec::new();
    for (other, seen) in all_seen(&device)? {
        let here = other == *device.key.id();
        let read = |log: &DeviceId| seen.as_ref().and_then(|seen| seen.logs.get(log)).copied().unwrap_or(0);
        let behind = known.iter().filter(|(log, _)| ***log != other);
        let behind = behind.map(|(log, number)| number.saturating_sub(read(log))).sum();
        let missing = gone.iter().filter(|one| one.device != other && read(&one.device) < one.number).count();
        machines.push(MachineStatus {
            device: other.to_string(),
            name: seen.as_ref().map_or_else(String::new, |seen| seen.name.clone()),
            here,
            seen: seen.as_ref().map(|seen| seen.at),
            behind,
            left: seen.as_ref().is_some_and(|seen| seen.left),
            deletions_missing: missing,
        });
    }
    problems.extend(arrivals.into_iter().flat_map(|arrival| arrival.problems));
    Ok(SyncStatus {
        carrier: device.carrier.name().to_owned(),
        device: device.key.id().to_string(),
        waiting: view.read_all(fold::outbox)?.len(),
        records: view.read_all(|db| db.one("SELECT count(*) FROM sync_records", (), |row| row.get(0)))?,
        deletions: gone.len(),
        state: view.read_all(fold::state_hash)?,
        machines,
        problems,
    })
}

/// Returns where a deletion has arrived; `None` if the record was not deleted.
pub fn receipt(view: &View<'_>, id: &str) -> Result<Option<DeletionReceipt>> {
    let device = Device::open(view)?;
    let gone = view.read_all(fold::tombstones)?;
    let Some(gone) = gone.into_iter().find(|gone| gone.id == id) else { return Ok(None) };
    let (mut arrived, mut missing, mut machine) = (Vec::new(), Vec::new(), gone.device.to_string());
    for (other, seen) in all_seen(&device)? {
        let name = seen.as_ref().map_or_else(|| other.to_string(), |seen| seen.name.clone());
        if other == gone.device {
            machine.clone_from(&name);
        }
        let read = seen.and_then(|seen| seen.logs.get(&gone.device).copied()).unwrap_or(0);
        if other == gone.device || read >= gone.number { arrived.push(name) } else { missing.push(name) }
    }
    Ok(Some(DeletionReceipt {
        id: gone.id,
        at: gone.at.moment(),
        machine,
        number: gone.number,
        arrived,
        missing,
    }))
}

/// The machines that set the fields of synced records.
#[derive(Default)]
pub(crate) struct Authors {
    /// By kind and row, then by field.
    by_row: BTreeMap<(String, String), BTreeMap<String, String>>,
    /// The machines that are known; `None`: the group is not synced.
    machines: Option<BTreeSet<String>>,
}

impl Authors {
    /// Reads them; there are none if the group is not synced.
    pub(crate) fn load(view: &View<'_>) -> Result<Authors> {
        let device = match view.is_on_server() {
            true => return Ok(Authors::default()),
            false => match Device::open(view) {
                Err(Error::SyncOff) => return Ok(Authors::default()),
                device => device?,
            },
        };
        // Without the folder, machines are known by their ids.
        let names = all_seen(&device).unwrap_or_default();
        let name = |device: &DeviceId| match names.get(device) {
            Some(Some(seen)) => seen.name.clone(),
            _ => device.to_string(),
        };
        let sql = "SELECT kind, local, document FROM sync_records WHERE local <> '' AND kind NOT IN ('file', 'line')";
        let rows: Vec<(String, String, String)> =
            view.read_all(|db| db.rows(sql, (), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))))?;
        let known = names.keys().map(name).collect();
        let mut authors = Authors { machines: Some(known), ..Authors::default() };
        for (kind, local, document) in rows {
            let document: clock::Document = serde_json::from_str(&document)?;
            let fields = document.devices().map(|(field, device)| (field.clone(), name(device))).collect();
            authors.by_row.insert((kind, local), fields);
        }
        Ok(authors)
    }

    /// Checks that there is a machine with this name.
    pub(crate) fn check(&self, machine: &str) -> Result<()> {
        let Some(machines) = &self.machines else { return Err(Error::SyncOff) };
        let has_rows = || self.by_row.values().any(|fields| fields.values().any(|name| name == machine));
        match machines.contains(machine) || has_rows() {
            true => Ok(()),
            false => Err(Error::NoMachine { given: machine.to_owned() }),
        }
    }

    /// Returns the machine that set a field of a row.
    pub(crate) fn of(&self, kind: &str, local: &str, field: &str) -> Option<String> {
        self.by_row.get(&(kind.to_owned(), local.to_owned()))?.get(field).cloned()
    }
}

#[cfg(test)]
mod tests;
