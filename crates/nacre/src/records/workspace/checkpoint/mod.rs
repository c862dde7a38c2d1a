//! Checkpoints: snapshots of a group's files and records that can be restored.
//!
//! A checkpoint is a folder in `memory/checkpoints` with copies of the Markdown files, a database that holds
//! only the records, and a manifest with the hash of each. It is written under a temporary name and then
//! renamed, so it is never incomplete. A restore is one transaction: it replaces the records, rebuilds the
//! index, and writes the pending file changes. `change` applies them, even if the process dies.
//!
//! All of this happens under the workspace lock.

mod records;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::change::{self, Change, LockedWorkspace};
use super::{FilePath, Note};
use crate::base::caller::Caller;
use crate::base::caller::Visibility;
use crate::base::path::CHECKPOINTS;
use crate::base::text::lossy;
use crate::base::{Error, Result, Time};
use crate::group::View;
use crate::index;
use crate::index::Schema;
use crate::store::audit;
use crate::store::beside;
use crate::store::{Connection, Damage, Db, Files, crash};

pub(crate) use records::DeletedRecord;
pub use records::{Rows, TableDiff};

const MANIFEST_FILE: &str = "manifest.json";
const RECORDS_FILE: &str = "records.db";
const FILES_FOLDER: &str = "files";
/// The format version of a checkpoint.
const FORMAT_VERSION: u32 = 1;
/// The maximum size of a manifest.
const MAX_MANIFEST_BYTES: u64 = 16 << 20;
/// The maximum length of the name in an id.
const MAX_NAME_CHARS: usize = 40;

/// A checkpoint, as its manifest describes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the field names are the keys of the manifest")]
pub struct Checkpoint {
    format: u32,
    pub id: String,
    pub name: String,
    pub reason: String,
    pub at: Time,
    pub group: String,
    /// The schema version of the database.
    pub schema: usize,
    /// The number of rows of each table.
    pub counts: BTreeMap<String, i64>,
    pub files: Vec<CheckpointFile>,
    /// Files that could not be copied, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Note>,
    /// The SHA-256 hash of the database.
    records: String,
    /// The hash that the database will have when a deletion from it is complete. Meanwhile it may have
    /// either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    records_next: Option<String>,
}

/// A file in a checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the field names are the keys of the manifest")]
pub struct CheckpointFile {
    pub path: String,
    pub bytes: u64,
    /// The Unix permissions; absent on other systems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    pub sha256: String,
}

/// The checkpoints of a group.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Checkpoints {
    /// The checkpoints, newest first.
    pub checkpoints: Vec<Checkpoint>,
    /// Folders that are not valid checkpoints, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<Note>,
}

/// The differences between a checkpoint and now.
#[derive(Clone, Debug, Serialize)]
pub struct CheckpointDiff {
    /// The id of the checkpoint.
    pub id: String,
    /// The files that differ.
    pub files: Vec<FileDiff>,
    /// The tables that differ.
    pub records: Vec<TableDiff>,
}

/// A file that differs. `None` means that the file does not exist.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the text then and now")]
pub struct FileDiff {
    pub path: String,
    pub then: Option<String>,
    pub now: Option<String>,
}

/// The result of a restore.
#[derive(Clone, Debug, Serialize)]
pub struct RestoreReport {
    /// The id of the restored checkpoint.
    pub id: String,
    /// The id of the checkpoint of the state before, which undoes the restore.
    pub before: String,
    /// The number of files that were changed.
    pub files: usize,
    /// The number of restored rows.
    pub rows: i64,
    /// Files that a person changed meanwhile. They were not changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

/// The name of what a server refuses: a checkpoint is a copy of the database file. A server has backups of its own.
const UNSUPPORTED_NAME: &str = "a checkpoint";

/// Saves the current files and records as a checkpoint.
pub fn save(view: &mut View<'_>, name: &str, reason: &str) -> Result<Checkpoint> {
    let caller = view.caller();
    view.needs_file(UNSUPPORTED_NAME)?;
    let mut held = change::lock(view)?;
    let saved = save_held(&mut held, caller, name, reason)?;
    prune(&held, &[&saved.id])?;
    Ok(saved)
}

fn save_held(
    held: &mut LockedWorkspace<'_>,
    caller: &Caller,
    name: &str,
    reason: &str,
) -> Result<Checkpoint> {
    held.view.create()?;
    let place = checkpoints_folder(held.view.folder())?;
    crate::base::files::create_folder(&place)?;
    clear(&place)?;
    let name = slug(name);
    let id = free_id(&place, caller.now, &name);
    let aside = place.join(format!(".new-{id}"));
    crate::base::files::create_folder(&aside.join(FILES_FOLDER))?;
    let (files, left_out) = copy_files(held, &aside.join(FILES_FOLDER))?;
    crash::point("files kept");
    let counts = write_records(&mut held.view, &aside.join(RECORDS_FILE))?;
    crash::point("records kept");
    let checkpoint = Checkpoint {
        format: FORMAT_VERSION,
        id: id.clone(),
        name,
        reason: reason.trim().to_owned(),
        at: caller.now,
        group: held.view.name().to_string(),
        schema: held.view.schema().migrations.steps.len(),
        counts,
        files,
        left_out,
        records: hash_file(&aside.join(RECORDS_FILE))?,
        records_next: None,
    };
    write_manifest(&aside, &checkpoint)?;
    sync_folder(&aside)?;
    crash::point("manifest written");
    fs::rename(&aside, place.join(&id)).map_err(Error::io(&place))?;
    sync_folder(&place)?;
    let row = audit::Row::new("checkpoint_save").id(&id).with("files", checkpoint.files.len());
    held.view.write(|tx| row.append(tx, caller))?;
    Ok(checkpoint)
}

/// Lists the checkpoints, newest first.
pub fn list(view: &View<'_>) -> Result<Checkpoints> {
    list_in(&checkpoints_folder(view.folder())?, view.name().as_str())
}

fn list_in(place: &Path, group: &str) -> Result<Checkpoints> {
    let mut found = Checkpoints::default();
    let entries = match fs::read_dir(place) {
        Ok(entries) => entries,
        Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => return Ok(found),
        Err(problem) => return Err(Error::io(place)(problem)),
    };
    for entry in entries {
        let name = entry.map_err(Error::io(place))?.file_name();
        let Some(id) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
        match read_manifest(&place.join(id), id, group) {
            Ok(checkpoint) => found.checkpoints.push(checkpoint),
            Err(Error::BadCheckpoint { problem, .. }) => {
                found.damaged.push(Note { path: id.to_owned(), why: problem });
            }
            Err(error) => return Err(error),
        }
    }
    found.checkpoints.sort_by(|a, b| (b.at, &b.id).cmp(&(a.at, &a.id)));
    found.damaged.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Compares files and records with a checkpoint.
pub fn diff(view: &mut View<'_>, id: &str) -> Result<CheckpointDiff> {
    let caller = view.caller();
    require_private(caller, "checkpoint diff")?;
    view.needs_file(UNSUPPORTED_NAME)?;
    let mut held = change::lock(view)?;
    let (folder, checkpoint) = open(&held, id)?;
    let text = |bytes: Option<Vec<u8>>| bytes.map(|bytes| lossy(&bytes));
    let files = changes(&held, &folder, &checkpoint)?
        .into_iter()
        .map(|Change { path, before, after }| FileDiff {
            path: path.to_string(),
            then: text(after),
            now: text(before),
        })
        .collect();
    let copy = RecordsCopy::of(held.view.schema(), &folder, &checkpoint)?;
    let records = held.view.with_attached(&copy.0, |view| view.read_all(records::compare))?;
    Ok(CheckpointDiff { id: checkpoint.id, files, records })
}

/// Restores the files and records of a checkpoint together. The state before is saved as another checkpoint.
pub fn restore(view: &mut View<'_>, id: &str) -> Result<RestoreReport> {
    let caller = view.caller();
    require_private(caller, "checkpoint restore")?;
    view.needs_file(UNSUPPORTED_NAME)?;
    let mut held = change::lock(view)?;
    let (folder, checkpoint) = open(&held, id)?;
    let reason = format!("the state before {} was restored", checkpoint.id);
    let before = save_held(&mut held, caller, "before-restore", &reason)?;
    let copy = RecordsCopy::of(held.view.schema(), &folder, &checkpoint)?;
    let changes = changes(&held, &folder, &checkpoint)?;
    let language = held.view.settings().search.language();
    let schema = held.view.schema();
    let row = audit::Row::new("checkpoint_restore").id(&checkpoint.id).with("files", changes.len());
    let cause = format!("{}{}", change::RESTORE_PREFIX, checkpoint.id);
    held.view.attach(&copy.0)?;
    let done = held.commit_with_conflicts(&cause, &changes, |tx| {
        let rows = records::restore(tx)?;
        index::rebuild(tx, schema, index::Documents::Forget, language, &mut |_, _| {})?;
        row.append(tx, caller)?;
        crash::point("records put back");
        Ok(rows)
    });
    held.view.detach()?;
    let (rows, left) = done?;
    for file in &checkpoint.files {
        if let (Some(mode), Ok(path)) = (file.mode, file.path.parse()) {
            held.files().set_mode(&path, mode & 0o777)?;
        }
    }
    prune(&held, &[&before.id, &checkpoint.id])?;
    drop(held);
    drop(copy);
    view.forget_state();
    super::sync(view)?;
    Ok(RestoreReport { id: checkpoint.id, before: before.id, files: changes.len(), rows, left })
}

/// Refuses shared sessions, because a checkpoint contains private data.
fn require_private(caller: &Caller, tool: &str) -> Result<()> {
    match caller.visibility {
        Visibility::Private => Ok(()),
        Visibility::Shared => Err(Error::NeedsPrivate { tool: tool.into() }),
    }
}

/// Deletes a checkpoint. Returns its full id.
pub fn remove(view: &mut View<'_>, id: &str) -> Result<String> {
    let caller = view.caller();
    let mut held = change::lock(view)?;
    let place = checkpoints_folder(held.view.folder())?;
    // A damaged checkpoint can be deleted too, by its full name.
    let id = match find(&place, held.view.name().as_str(), id) {
        Ok(checkpoint) => checkpoint.id,
        Err(Error::BadCheckpoint { .. }) => id.to_owned(),
        Err(error) => return Err(error),
    };
    delete(&place, &id)?;
    held.view.write(|tx| audit::Row::new("checkpoint_drop").id(&id).append(tx, caller))?;
    Ok(id)
}

/// Removes permanently deleted entries, entities, facts and relations from every checkpoint. Returns the
/// checkpoints that still have them, and why.
pub(crate) fn forget(view: &mut View<'_>, gone: &[DeletedRecord]) -> Result<Vec<Note>> {
    let place = checkpoints_folder(view.folder())?;
    if gone.is_empty() || !place.is_dir() {
        return Ok(Vec::new());
    }
    let held = change::lock(view)?;
    let found = list_in(&place, held.view.name().as_str())?;
    let mut left = found.damaged;
    for mut checkpoint in found.checkpoints {
        if let Err(error) = forget_in(&place.join(&checkpoint.id), &mut checkpoint, gone) {
            left.push(Note { path: checkpoint.id, why: error.to_string() });
        }
    }
    Ok(left)
}

/// Deletes every checkpoint whose records or files contain something. Returns the ones that could not be deleted, and why.
pub(crate) fn remove_containing(
    view: &mut View<'_>,
    in_records: &dyn Fn(&Connection) -> Result<bool>,
    in_file: &dyn Fn(&str) -> bool,
) -> Result<Vec<String>> {
    let place = checkpoints_folder(view.folder())?;
    if !place.is_dir() {
        return Ok(Vec::new());
    }
    let caller = view.caller();
    let mut held = change::lock(view)?;
    let found = list_in(&place, held.view.name().as_str())?;
    let mut left: Vec<String> =
        found.damaged.iter().map(|note| format!("checkpoint {}: {}", note.path, note.why)).collect();
    for checkpoint in found.checkpoints {
        let folder = place.join(&checkpoint.id);
        let files = Files::in_folder(&folder.join(FILES_FOLDER));
        let says = |file: &CheckpointFile| match read(&files, &file.path) {
            Ok(Some((_, bytes))) => in_file(&lossy(&bytes)),
            _ => true,
        };
        let copy = RecordsCopy::of(held.view.schema(), &folder, &checkpoint);
        // One that can't be read may contain it.
        let has =
            |copy: &RecordsCopy| Connection::to_file(&copy.0).and_then(|db| in_records(&db)).unwrap_or(true);
        if checkpoint.files.iter().any(says) || copy.as_ref().map_or(true, has) {
            match delete(&place, &checkpoint.id) {
                Ok(()) => {
                    let row = audit::Row::new("checkpoint_drop").id(&checkpoint.id);
                    held.view.write(|tx| row.append(tx, caller))?;
                }
                Err(error) => left.push(format!("checkpoint {}: {error}", checkpoint.id)),
            }
        }
    }
    Ok(left)
}

fn forget_in(folder: &Path, checkpoint: &mut Checkpoint, gone: &[DeletedRecord]) -> Result<()> {
    let file = folder.join(RECORDS_FILE);
    let aside = folder.join(".records.db");
    let _ = fs::remove_file(&aside);
    copy_private(&file, &aside)?;
    let db = Connection::to_file(&aside)?;
    db.batch("PRAGMA secure_delete = ON; PRAGMA journal_mode = MEMORY;")?;
    let mut there = false;
    for gone in gone {
        there |= records::forget(&db, "main", gone)?;
    }
    // Even if nothing was found: free pages may contain an older text.
    db.batch("VACUUM")?;
    drop(db);
    if !there {
        return fs::remove_file(&aside).map_err(Error::io(&aside));
    }
    fs::File::open(&aside).and_then(|file| file.sync_all()).map_err(Error::io(&aside))?;
    let next = hash_file(&aside)?;
    checkpoint.records_next = Some(next.clone());
    write_manifest(folder, checkpoint)?;
    crash::point("forgetting announced");
    fs::rename(&aside, &file).map_err(Error::io(&file))?;
    (checkpoint.records, checkpoint.records_next) = (next, None);
    write_manifest(folder, checkpoint)?;
    sync_folder(folder)
}

/// Returns the folder of the checkpoints. Links are refused.
fn checkpoints_folder(folder: &Path) -> Result<PathBuf> {
    let mut place = folder.to_owned();
    for name in CHECKPOINTS.split('/') {
        place.push(name);
        if fs::symlink_metadata(&place).is_ok_and(|found| !found.is_dir()) {
            return Err(Error::BadCheckpoint { path: place, problem: "is not a folder".into() });
        }
    }
    Ok(place)
}

/// Removes the leftovers of a process that died.
fn clear(place: &Path) -> Result<()> {
    for entry in fs::read_dir(place).map_err(Error::io(place))?.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if [".new-", ".gone-"].iter().any(|prefix| name.starts_with(prefix)) {
            fs::remove_dir_all(entry.path()).map_err(Error::io(&entry.path()))?;
        } else if name.starts_with(".copy-") {
            fs::remove_file(entry.path()).map_err(Error::io(&entry.path()))?;
        }
    }
    Ok(())
}

/// Returns a name that every file system accepts.
fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        match c {
            'a'..='z' | '0'..='9' => slug.push(c),
            _ if !slug.ends_with('-') && !slug.is_empty() => slug.push('-'),
            _ => {}
        }
        if slug.len() == MAX_NAME_CHARS {
            break;
        }
    }
    slug.trim_end_matches('-').to_owned()
}

fn free_id(place: &Path, now: Time, name: &str) -> String {
    let time: String = now.to_string().chars().take(19).map(|c| if c == ':' { '-' } else { c }).collect();
    let id = if name.is_empty() { time } else { format!("{time}-{name}") };
    (1..)
        .map(|number| if number == 1 { id.clone() } else { format!("{id}-{number}") })
        .find(|id| fs::symlink_metadata(place.join(id)).is_err())
        .expect("some number is free")
}

fn is_id(id: &str) -> bool {
    let of_id = |c: char| c.is_ascii_alphanumeric() || c == '-';
    !id.is_empty() && id.len() <= 100 && id.chars().all(of_id)
}

/// Copies the documents of the workspace. Returns the copied files, and the files that could not be copied.
fn copy_files(held: &LockedWorkspace<'_>, to: &Path) -> Result<(Vec<CheckpointFile>, Vec<Note>)> {
    let found = held.files().documents();
    let (mut kept, mut left_out) = (Vec::new(), found.skipped.clone());
    for path in found.paths() {
        let (path, bytes) = match read(held.files(), path) {
            Ok(Some(read)) => read,
            Ok(None) => continue,
            Err(error) => {
                left_out.push(Note { path: path.to_owned(), why: error.to_string() });
                continue;
            }
        };
        let file = to.join(path.as_str());
        if let Some(folder) = file.parent() {
            crate::base::files::create_folder(folder)?;
        }
        crate::base::files::write_atomically(&file, &bytes)?;
        kept.push(CheckpointFile {
            mode: held.files().mode(&path),
            bytes: bytes.len() as u64,
            sha256: hash(&bytes),
            path: path.to_string(),
        });
    }
    Ok((kept, left_out))
}

fn read(files: &Files, path: &str) -> Result<Option<(FilePath, Vec<u8>)>> {
    let path: FilePath = path.parse()?;
    Ok(files.read(&path, u64::MAX)?.map(|bytes| (path, bytes)))
}

/// Writes a database with the records of the live one.
fn write_records(view: &mut View<'_>, file: &Path) -> Result<BTreeMap<String, i64>> {
    drop(Db::open(file, &view.schema().migrations, Damage::Leave)?);
    let counts = view.with_attached(file, |view| {
        view.outside(|db| {
            db.batch("BEGIN")?;
            let counts = records::copy(db);
            db.batch(if counts.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
            counts
        })
    })?;
    // A single file without a log, whatever reads it.
    Connection::to_file(file)?.batch("PRAGMA journal_mode = DELETE")?;
    let _ = fs::remove_file(beside(file, ".lock"));
    fs::File::open(file).and_then(|file| file.sync_all()).map_err(Error::io(file))?;
    Ok(counts)
}

fn write_manifest(folder: &Path, checkpoint: &Checkpoint) -> Result<()> {
    crate::base::files::write_atomically(
        &folder.join(MANIFEST_FILE),
        serde_json::to_string_pretty(checkpoint)?.as_bytes(),
    )
}

fn read_manifest(folder: &Path, id: &str, group: &str) -> Result<Checkpoint> {
    let bad = |problem: &str| Error::BadCheckpoint { path: folder.to_owned(), problem: problem.into() };
    if !is_id(id) || !fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
        return Err(bad("is not a Nacre checkpoint"));
    }
    let file = folder.join(MANIFEST_FILE);
    let found = fs::symlink_metadata(&file).map_err(|_| bad("has no manifest"))?;
    if !found.is_file() || found.len() > MAX_MANIFEST_BYTES {
        return Err(bad("has a manifest that is too large or not a file"));
    }
    let bytes = fs::read(&file).map_err(Error::io(&file))?;
    let checkpoint: Checkpoint = serde_json::from_slice(&bytes)
        .map_err(|problem| bad(&format!("has a manifest that can't be read: {problem}")))?;
    if checkpoint.format != FORMAT_VERSION {
        return Err(bad("has a format that this version does not support"));
    }
    if checkpoint.id != id {
        return Err(bad("has the manifest of another checkpoint"));
    }
    if checkpoint.group != group {
        return Err(bad("belongs to another group"));
    }
    Ok(checkpoint)
}

/// Finds a checkpoint by its id, or by a unique beginning or end of it.
fn find(place: &Path, group: &str, id: &str) -> Result<Checkpoint> {
    let none = || Error::NoCheckpoint { given: crate::base::text::shorten(id) };
    if !is_id(id) {
        return Err(none());
    }
    if fs::symlink_metadata(place.join(id)).is_ok() {
        return read_manifest(&place.join(id), id, group);
    }
    let mut found = list_in(place, group)?.checkpoints;
    found.retain(|checkpoint| checkpoint.id.starts_with(id) || checkpoint.id.ends_with(id));
    match found.len() {
        1 => Ok(found.remove(0)),
        _ => Err(none()),
    }
}

/// Finds a checkpoint and verifies all its files.
fn open(held: &LockedWorkspace<'_>, id: &str) -> Result<(PathBuf, Checkpoint)> {
    let place = checkpoints_folder(held.view.folder())?;
    let checkpoint = find(&place, held.view.name().as_str(), id)?;
    let folder = place.join(&checkpoint.id);
    let bad = |problem: String| Error::BadCheckpoint { path: folder.clone(), problem };
    let known = held.view.schema().migrations.steps.len();
    if checkpoint.schema > known {
        let found = checkpoint.schema;
        let (found, known) = (i64::try_from(found).unwrap_or(i64::MAX), i64::try_from(known).unwrap_or(0));
        return Err(Error::Newer { path: folder, found, known });
    }
    let files = Files::in_folder(&folder.join(FILES_FOLDER));
    for file in &checkpoint.files {
        let kept = read(&files, &file.path)?;
        match kept {
            Some((_, bytes)) if hash(&bytes) == file.sha256 => {}
            Some(_) => return Err(bad(format!("has a modified file: `{}`", file.path))),
            None => return Err(bad(format!("is missing a file: `{}`", file.path))),
        }
    }
    let file = folder.join(RECORDS_FILE);
    if !fs::symlink_metadata(&file).is_ok_and(|found| found.is_file()) {
        return Err(bad("has no records".into()));
    }
    let found = hash_file(&file)?;
    if found != checkpoint.records && Some(&found) != checkpoint.records_next.as_ref() {
        return Err(bad("has modified records".into()));
    }
    Ok((folder, checkpoint))
}

/// Returns the file changes that restore the files of a checkpoint.
fn changes(held: &LockedWorkspace<'_>, folder: &Path, checkpoint: &Checkpoint) -> Result<Vec<Change>> {
    let (then, now) = (Files::in_folder(&folder.join(FILES_FOLDER)), held.files().documents());
    let mut paths: BTreeSet<String> = checkpoint.files.iter().map(|file| file.path.clone()).collect();
    let left_out = |path: &str| checkpoint.left_out.iter().any(|note| note.path == path);
    // Files that could not be copied then are not changed now.
    paths.extend(now.paths().filter(|path| !left_out(path)).map(str::to_owned));
    let mut changes = Vec::new();
    for path in paths {
        let Ok(path) = path.parse::<FilePath>() else { continue };
        let before = held.files().read(&path, u64::MAX)?;
        let kept = checkpoint.files.iter().any(|file| file.path == path.as_str());
        let after = if kept { then.read(&path, u64::MAX)? } else { None };
        if before != after {
            changes.push(Change { path, before, after });
        }
    }
    Ok(changes)
}

/// A temporary copy of a checkpoint's records, migrated to the current schema.
struct RecordsCopy(PathBuf);

impl RecordsCopy {
    fn of(schema: &Schema, folder: &Path, checkpoint: &Checkpoint) -> Result<RecordsCopy> {
        let bad = |problem: String| Error::BadCheckpoint { path: folder.to_owned(), problem };
        let copy = RecordsCopy(folder.with_file_name(format!(".copy-{}", checkpoint.id)));
        copy.remove();
        copy_private(&folder.join(RECORDS_FILE), &copy.0)?;
        let db = match Db::open(&copy.0, &schema.migrations, Damage::Leave) {
            Ok(db) => db,
            Err(error @ Error::Newer { .. }) => return Err(error),
            Err(error) => return Err(bad(format!("has records that can't be opened: {error}"))),
        };
        // Nacre writes no views or triggers, so they are foreign, and triggers could run code.
        let foreign: i64 = db.read(|db| {
            let sql = "SELECT count(*) FROM sqlite_schema WHERE type IN ('view', 'trigger')";
            db.one(sql, (), |row| row.get(0))
        })?;
        match foreign {
            0 => Ok(copy),
            _ => Err(bad("has records that Nacre did not write".into())),
        }
    }

    fn remove(&self) {
        for suffix in ["", "-wal", "-shm", "-journal", ".lock"] {
            let _ = fs::remove_file(beside(&self.0, suffix));
        }
    }
}

impl Drop for RecordsCopy {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Copies a file. Only its owner can read the copy.
fn copy_private(from: &Path, to: &Path) -> Result<()> {
    let mut source = fs::File::open(from).map_err(Error::io(from))?;
    let mut copy = crate::base::files::append_private(to).map_err(Error::io(to))?;
    std::io::copy(&mut source, &mut copy).map_err(Error::io(to))?;
    Ok(())
}

/// Deletes a checkpoint. It is renamed first, so that an incomplete one is never listed.
fn delete(place: &Path, id: &str) -> Result<()> {
    let (from, gone) = (place.join(id), place.join(format!(".gone-{id}")));
    let _ = fs::remove_dir_all(&gone);
    fs::rename(&from, &gone).map_err(Error::io(&from))?;
    if gone.is_symlink() || gone.is_file() { fs::remove_file(&gone) } else { fs::remove_dir_all(&gone) }
        .map_err(Error::io(&gone))
}

/// Deletes the oldest checkpoints beyond the configured number, except those in `stay`.
fn prune(held: &LockedWorkspace<'_>, stay: &[&str]) -> Result<()> {
    let place = checkpoints_folder(held.view.folder())?;
    let keep = held.view.settings().checkpoints.keep.max(1);
    let found = list_in(&place, held.view.name().as_str())?.checkpoints;
    for old in found.iter().skip(keep).filter(|old| !stay.contains(&old.id.as_str())) {
        delete(&place, &old.id)?;
    }
    Ok(())
}

fn sync_folder(folder: &Path) -> Result<()> {
    #[cfg(unix)]
    fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::io(folder))?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hash_file(file: &Path) -> Result<String> {
    let mut hasher = Sha256::new();
    let mut source = fs::File::open(file).map_err(Error::io(file))?;
    let mut block = vec![0; 1 << 16];
    loop {
        match source.read(&mut block).map_err(Error::io(file))? {
            0 => break,
            read => hasher.update(&block[..read]),
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::base::Settings;
    use crate::group::Group;
    use crate::records::workspace::sync;
    use crate::tools;
    use crate::tools::home::Home;

    fn now() -> Time {
        Time::from_millis(1_767_225_600_000)
    }

    fn caller() -> Caller {
        Caller::person("person".parse().unwrap(), now())
    }

    fn open_group(home: &Home) -> Group {
        home.group(&"main".parse().unwrap(), now()).unwrap()
    }

    fn store(group: &mut Group, content: &str) {
        let arguments = serde_json::json!({ "content": content });
        tools::call(&mut group.enter(&caller()).unwrap(), "memory_store", arguments).unwrap();
    }

    fn put(group: &Group, text: &str) {
        crate::base::files::create_folder(group.folder()).unwrap();
        crate::base::files::write_atomically(&group.folder().join("MEMORY.md"), text.as_bytes()).unwrap();
    }

    /// Returns the text of the file and the contents of the entries.
    fn state(group: &mut Group) -> (String, Vec<String>) {
        let caller = caller();
        let mut group = group.enter(&caller).unwrap();
        sync(&mut group).unwrap();
        let file = fs::read_to_string(group.folder().join("MEMORY.md")).unwrap();
        let entries = group.read_all(crate::records::entry::all).unwrap();
        (file, entries.into_iter().map(|entry| entry.content).collect())
    }

    #[test]
    fn a_process_that_dies_while_it_saves_leaves_no_half_checkpoint() {
        for point in ["files kept", "records kept", "manifest written"] {
            let folder = tempfile::tempdir().unwrap();
            let home = Home::new(folder.path(), Settings::default());
            let mut group = open_group(&home);
            put(&group, "old");
            store(&mut group, "an old entry");
            crash::AT.set(Some(point));
            let died =
                catch_unwind(AssertUnwindSafe(|| save(&mut group.enter(&caller()).unwrap(), "one", "")));
            assert!(died.is_err(), "{point} was never reached");
            let mut group = open_group(&home);
            assert!(list(&group.enter(&caller()).unwrap()).unwrap().checkpoints.is_empty(), "{point}");
            assert!(list(&group.enter(&caller()).unwrap()).unwrap().damaged.is_empty(), "{point}");
            save(&mut group.enter(&caller()).unwrap(), "two", "").unwrap();
            let place = checkpoints_folder(group.folder()).unwrap();
            assert_eq!(fs::read_dir(place).unwrap().count(), 1, "{point}: what was left is cleared away");
        }
    }

    #[test]
    fn a_process_that_dies_while_it_restores_leaves_the_old_or_the_new_state() {
        for (point, new) in [
            ("manifest written", false),
            ("records put back", false),
            ("decided", true),
            ("written aside", true),
            ("exchanged", true),
            ("one file done", true),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let home = Home::new(folder.path(), Settings::default());
            let mut group = open_group(&home);
            put(&group, "old");
            store(&mut group, "an old entry");
            let then = state(&mut group);
            let id = save(&mut group.enter(&caller()).unwrap(), "one", "").unwrap().id;
            put(&group, "new");
            store(&mut group, "a new entry");
            let later = state(&mut group);
            crash::AT.set(Some(point));
            let died = catch_unwind(AssertUnwindSafe(|| restore(&mut group.enter(&caller()).unwrap(), &id)));
            assert!(died.is_err(), "{point} was never reached");
            let mut group = open_group(&home);
            assert_eq!(state(&mut group), if new { then } else { later }, "{point}");
            assert_eq!(group.enter(&caller()).unwrap().check().unwrap(), Vec::<String>::new(), "{point}");
        }
    }

    #[test]
    fn a_process_that_dies_while_it_forgets_leaves_a_checkpoint_that_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path(), Settings::default());
        let mut group = open_group(&home);
        store(&mut group, "gone for good");
        let id = save(&mut group.enter(&caller()).unwrap(), "one", "").unwrap().id;
        crash::AT.set(Some("forgetting announced"));
        let died = catch_unwind(AssertUnwindSafe(|| {
            let arguments = serde_json::json!({ "id": 1 });
            tools::call(&mut group.enter(&caller()).unwrap(), "memory_delete", arguments)
        }));
        assert!(died.is_err());
        let mut group = open_group(&home);
        // The audit log records the deletion.
        restore(&mut group.enter(&caller()).unwrap(), &id).unwrap();
        assert!(group.enter(&caller()).unwrap().read_all(crate::records::entry::all).unwrap().is_empty());
    }
}
