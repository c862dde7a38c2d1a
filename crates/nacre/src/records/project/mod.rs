//! Projects: the folders in which people and agents work, knowledge extracted from their files, and tasks.
//!
//! An item is a row that cites its file and line, and a passage (`--scope items`). Rules find items, and the person's model may
//! find more (`model`). Items are derived data: extraction follows the files by size, time and hash, as the index follows
//! documents, and a statement that is removed from its file is removed here. Only a person names folders, so that no agent can have a file of
//! its choice read. Tasks are rows that people and agents write.

pub(crate) mod current;
mod extract;
mod ignore;
pub(crate) mod item;
pub(crate) mod live;
mod model;
pub(crate) mod replica;
pub(crate) mod task;
mod walk;

use crate::base::text::decode;
use crate::store::{Connection, Row};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::base::caller::Caller;
use crate::base::caller::is_marked;
use crate::base::ids::ProjectName;
use crate::base::progress::{Progress, Unit};
use crate::base::redact;
use crate::base::text::shorten;
use crate::base::{Error, Result, Time};
use crate::group::View;
use crate::index::Writer;
use crate::store::walk::{Note, ReadResult, WalkedFile};
use crate::store::{self, audit};

use extract::{FoundItem, Language, section};
use live::LiveFile;
use walk::SkippedFiles;

pub use current::{git_root, root};
pub use extract::ItemType;
pub use item::{Item, ProjectItem};
pub use live::problems as file_problems;
pub use model::{ModelOptions, ModelReport, extract_by_model};
pub use task::{Change, Status, Task, TaskImportReport};

/// The maximum size of a file in bytes. Larger files are data or generated.
const MAX_FILE_BYTES: i64 = 2 << 20;
/// The number of files, and of items, in one transaction.
const FILES_PER_BATCH: usize = 500;
const ITEMS_PER_BATCH: usize = 2_000;
/// A file written less than this many milliseconds ago may be written again with the same time stamp.
const RECENT_WRITE_MS: u64 = 2_000;

/// A project: a folder with a name.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "a name and a folder")]
pub struct Project {
    #[serde(skip)]
    pub(crate) number: i64,
    pub name: ProjectName,
    pub folder: String,
    /// The time of the last complete extraction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extracted_at: Option<Time>,
}

/// The result of an extraction.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "named after what they count")]
pub struct ExtractReport {
    pub project: ProjectName,
    pub folder: String,
    /// The current number of items by type.
    pub items: BTreeMap<&'static str, i64>,
    /// The number of new items, and of removed ones.
    pub added: usize,
    pub removed: usize,
    /// The number of files that were read, unchanged and deleted.
    pub read: usize,
    pub unchanged: usize,
    pub gone: usize,
    /// The number of ignored files and folders: listed in `.gitignore`, hidden, links, or third-party code.
    pub ignored: usize,
    /// Files in unknown languages, by extension.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, usize>,
    /// Files that could not be read, and why; at most a thousand.
    pub skipped: Vec<Note>,
    /// The reason why items of files that were not seen are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

/// Extracts the items of a folder, in place of those extracted before. `progress` is called after each transaction. An
/// interrupted extraction continues where it stopped.
pub fn extract(
    view: &mut View<'_>,
    folder: &Path,
    name: Option<&ProjectName>,
    progress: &mut dyn FnMut(Progress),
) -> Result<ExtractReport> {
    let real = real(folder)?;
    let project = view.write(|tx| {
        let project = adopt(tx, &real, name)?;
        tx.run("UPDATE projects SET extract = true WHERE number = $1", [project.number])?;
        Ok(project)
    })?;
    extract_project(view, &project, progress)
}

/// Deletes a project and its items. Its folder is not touched.
pub fn forget(view: &mut View<'_>, name: &ProjectName) -> Result<Project> {
    let caller = view.caller();
    live::follow(view, LiveFile::Items)?;
    let project = view.write_indexed(|tx, lexicon| {
        let project = known(tx, name)?;
        let mut writer = Writer::new(tx, lexicon)?;
        let sql = "SELECT id FROM items WHERE project = $1";
        let ids: Vec<String> = tx.rows(sql, [project.number], |row| row.get(0))?;
        for id in &ids {
            writer.remove(item::KIND, id)?;
        }
        writer.finish()?;
        for sql in [
            "DELETE FROM items WHERE project = $1",
            "DELETE FROM project_files WHERE project = $1",
            "DELETE FROM item_sections WHERE project = $1",
            "DELETE FROM projects WHERE number = $1",
        ] {
            tx.run(sql, [project.number])?;
        }
        audit::Row::new("project_forget").with("items", ids.len()).append(tx, caller)?;
        Ok(project)
    })?;
    live::follow(view, LiveFile::Items)?;
    Ok(project)
}

/// Returns the projects whose files are read, by name.
pub fn list(view: &View<'_>) -> Result<Vec<Project>> {
    view.read(|db| db.rows(&format!("{COLUMNS} WHERE extract ORDER BY name"), (), of_row))
}

/// Returns the canonical path of a folder.
fn real(folder: &Path) -> Result<String> {
    let bad = |problem: String| Error::BadSource { path: shorten(&folder.to_string_lossy()).into(), problem };
    let real = fs::canonicalize(folder).map_err(|problem| bad(format!("can't be found: {problem}")))?;
    if !real.is_dir() {
        return Err(bad("is not a folder".into()));
    }
    real.to_str().map(str::to_owned).ok_or_else(|| bad("has a name that is not UTF-8".into()))
}

const COLUMNS: &str = "SELECT number, name, folder, extracted_at FROM projects";

fn of_row(row: &Row<'_>) -> Result<Project> {
    Ok(Project { number: row.get(0)?, name: row.get(1)?, folder: row.get(2)?, extracted_at: row.get(3)? })
}

/// Returns a project that must have a folder.
pub(crate) fn known(db: &Connection, name: &ProjectName) -> Result<Project> {
    match db.row(&format!("{COLUMNS} WHERE name = $1"), [name], of_row)? {
        Some(project) => Ok(project),
        None => Err(unknown(db, name)?),
    }
}

/// Refuses a name that neither a folder nor a record has.
pub(crate) fn check(db: &Connection, name: &ProjectName) -> Result<()> {
    if current::names(db)?.contains(name) { Ok(()) } else { Err(unknown(db, name)?) }
}

fn unknown(db: &Connection, name: &ProjectName) -> Result<Error> {
    let names: Vec<String> = current::names(db)?.iter().map(ToString::to_string).collect();
    Ok(Error::NoProject { given: name.to_string(), known: names.join(", ") })
}

/// Returns the project of a folder, and creates it if needed.
fn adopt(db: &Connection, folder: &str, name: Option<&ProjectName>) -> Result<Project> {
    if let Some(project) = db.row(&format!("{COLUMNS} WHERE folder = $1"), [folder], of_row)? {
        return match name {
            Some(other) if *other != project.name => {
                Err(Error::ProjectKnown { name: project.name.to_string() })
            }
            _ => Ok(project),
        };
    }
    let own = Path::new(folder).file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let name = name.cloned().map_or_else(|| own.parse(), Ok)?;
    if let Some(project) = db.row(&format!("{COLUMNS} WHERE name = $1"), [&name], of_row)? {
        // If the old folder no longer exists, the project was moved here.
        if fs::symlink_metadata(&project.folder).is_ok() {
            return Err(Error::ProjectTaken { name: name.to_string(), folder: project.folder });
        }
        db.run("UPDATE projects SET folder = $2 WHERE number = $1", (project.number, folder))?;
        return Ok(Project { folder: folder.to_owned(), ..project });
    }
    let sql = "INSERT INTO projects (name, folder) VALUES ($1, $2) RETURNING number";
    let number = db.one(sql, (&name, folder), |row| row.get(0))?;
    Ok(Project { number, name, folder: folder.to_owned(), extracted_at: None })
}

/// The stored state of a file.
#[derive(Clone, PartialEq, Eq)]
struct FileRow {
    size: i64,
    mtime: Option<i64>,
    hash: String,
    note: Option<String>,
}

impl FileRow {
    /// Tells whether the file was read by this version: rules change with the version.
    fn is_by_this_version(&self) -> bool {
        self.hash.split_once(':').map_or(self.hash.is_empty(), |(version, _)| version == extract::VERSION)
    }
}

fn files(db: &Connection, project: i64) -> Result<HashMap<String, FileRow>> {
    let sql = "SELECT path, size, mtime, hash, note FROM project_files WHERE project = $1";
    let rows = db.rows(sql, [project], |row| {
        let file = FileRow { size: row.get(1)?, mtime: row.get(2)?, hash: row.get(3)?, note: row.get(4)? };
        Ok((row.get(0)?, file))
    })?;
    Ok(rows.into_iter().collect())
}

/// Takes the items out of a project's folder.
fn extract_project(
    view: &mut View<'_>,
    project: &Project,
    progress: &mut dyn FnMut(Progress),
) -> Result<ExtractReport> {
    let caller = view.caller();
    // Edits of items.json come first: extraction replaces the items of files that changed.
    live::follow(view, LiveFile::Items)?;
    let root = PathBuf::from(&project.folder);
    let (mut before, quoted) =
        view.read_all(|db| Ok((files(db, project.number)?, item::quoted(db, project.number)?)))?;
    let quoted = quoted.into_iter().fold(QuotedTexts::new(), |mut all, (path, text)| {
        all.entry(path).or_default().push(text);
        all
    });
    let (mut passed, mut batch) = (SkippedFiles::default(), Batch::default());
    let (mut looked, mut read, mut unchanged) = (0, 0, 0);
    // Counted once there is enough work to show: a walk alone is fast, but not free.
    let mut total = None;
    walk::walk(&root, &mut passed, &mut |seen, language, passed| {
        looked += 1;
        let was = before.remove(&seen.path);
        let is_same = |row: &&FileRow| {
            row.size == seen.stat.size && row.mtime == Some(seen.stat.mtime) && row.is_by_this_version()
        };
        if let Some(row) = was.as_ref().filter(is_same) {
            if let Some(note) = &row.note {
                passed.skip(&seen.path, note.clone());
            }
            unchanged += 1;
            return Ok(());
        }
        match read_file(&seen, language, was.as_ref(), quoted.get(&seen.path), caller.now) {
            // Deleted since the walk found it: it stays among the known files, which are removed below.
            Reading::Gone => {
                before.extend(was.map(|row| (seen.path, row)));
                return Ok(());
            }
            Reading::Same(row) => {
                unchanged += 1;
                if was.as_ref() != Some(&row) {
                    batch.put(seen.path, Some(row), None);
                }
            }
            Reading::New(row, said) => {
                read += 1;
                if let Some(note) = &row.note {
                    passed.skip(&seen.path, note.clone());
                }
                batch.put(seen.path, Some(row), Some(said));
            }
        }
        if batch.is_full() {
            batch.write(view, caller, project)?;
            let total = Some(*total.get_or_insert_with(|| walk::count(&root)));
            progress(Progress { unit: Unit::Files, done: looked, total });
        }
        Ok(())
    })?;
    // If the folder is missing or completely empty, its disk is probably not mounted.
    let kept = if fs::read_dir(&root).is_err() || passed.unlisted.iter().any(String::is_empty) {
        Some("the folder could not be listed completely".to_owned())
    } else if looked == 0 && !before.is_empty() {
        Some("the folder has no files left".to_owned())
    } else {
        None
    };
    let mut gone = 0;
    if kept.is_none() {
        let mut paths: Vec<String> = before.into_keys().collect();
        paths.sort();
        for path in paths {
            let within = |folder: &String| {
                path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
            };
            if passed.unlisted.iter().any(within) {
                continue;
            }
            gone += 1;
            batch.put(path, None, Some(FileItems::default()));
            if batch.is_full() {
                batch.write(view, caller, project)?;
            }
        }
    }
    batch.write(view, caller, project)?;
    let (added, removed) = (batch.added, batch.removed);
    let items = view.write(|tx| {
        if kept.is_none() {
            let sql = "UPDATE projects SET extracted_at = $2 WHERE number = $1";
            tx.run(sql, (project.number, caller.now))?;
        }
        let row = audit::Row::new("extract").with("files", looked).with("read", read);
        row.with("added", added).with("removed", removed).append(tx, caller)?;
        counts(tx, project.number)
    })?;
    if added + removed > 0 {
        let count = |items: usize| i64::try_from(items).unwrap_or(i64::MAX);
        view.tell_write("items", project.name.as_str(), count(added) - count(removed));
    }
    live::follow(view, LiveFile::Items)?;
    let SkippedFiles { others, ignored, skipped, .. } = passed;
    Ok(ExtractReport {
        project: project.name.clone(),
        folder: project.folder.clone(),
        items,
        added,
        removed,
        read,
        unchanged,
        gone,
        ignored,
        others,
        skipped,
        kept,
    })
}

fn counts(db: &Connection, project: i64) -> Result<BTreeMap<&'static str, i64>> {
    let sql = "SELECT count(*) FROM items WHERE project = $1 AND type = $2";
    let count = |r#type: &ItemType| {
        let name = r#type.as_str();
        Ok((name, db.one(sql, (project, name), |row| row.get(0))?))
    };
    ItemType::ALL.iter().map(count).collect()
}

/// The items of a file.
#[derive(Default)]
struct FileItems {
    found: Vec<FoundItem>,
    /// Whether it marks itself as private.
    private: bool,
    /// The items of a model that it still states, each with its line.
    quoted: Vec<(String, usize)>,
}

/// The texts of the items that a model found, by file.
type QuotedTexts = HashMap<String, Vec<String>>;

/// The result of reading a file.
enum Reading {
    Gone,
    /// Its content is unchanged.
    Same(FileRow),
    New(FileRow, FileItems),
}

fn read_file(
    seen: &WalkedFile,
    language: Language,
    was: Option<&FileRow>,
    quoted: Option<&Vec<String>>,
    now: Time,
) -> Reading {
    let skipped = |why: String, retry: bool| {
        let mtime = (!retry).then_some(seen.stat.mtime);
        let row = FileRow { size: seen.stat.size, mtime, hash: String::new(), note: Some(why) };
        Reading::New(row, FileItems::default())
    };
    if seen.stat.size > MAX_FILE_BYTES {
        return skipped(format!("is larger than {} MiB", MAX_FILE_BYTES >> 20), false);
    }
    let (bytes, stat, settled) = match store::walk::read(&seen.file, seen.stat) {
        ReadResult::Bytes { bytes, stat, settled } => (bytes, stat, settled),
        ReadResult::Skipped { why, retry } => return skipped(why, retry),
        ReadResult::Gone => return Reading::Gone,
    };
    let settled = settled && stat.mtime.abs_diff(now.as_millis()) >= RECENT_WRITE_MS;
    let hash = hash_of(&bytes);
    let row = FileRow { size: stat.size, mtime: settled.then_some(stat.mtime), hash, note: None };
    if was.is_some_and(|was| was.hash == row.hash) {
        return Reading::Same(row);
    }
    let text = match decode(&bytes) {
        Ok((text, _)) => text,
        Err(why) => return skipped(why, !settled),
    };
    // Redaction comes before extraction.
    let text = redact::document(&text);
    let found = extract::extract(&seen.path, language, &text);
    let quoted = quoted.map(|quoted| {
        let sections = section::sections(&seen.path, &text);
        quoted.iter().filter_map(|text| Some((text.clone(), section::line_of(&sections, text)?))).collect()
    });
    Reading::New(row, FileItems { found, private: is_marked(&text), quoted: quoted.unwrap_or_default() })
}

fn hash_of(bytes: &[u8]) -> String {
    format!("{}:{}", extract::VERSION, &blake3::hash(bytes).to_hex()[..32])
}

/// Returns the text of a file, redacted, if it is still the one with this hash.
fn read_text(seen: &WalkedFile, hash: &str) -> Option<String> {
    let ReadResult::Bytes { bytes, .. } = store::walk::read(&seen.file, seen.stat) else { return None };
    let (text, _) = decode(&bytes).ok().filter(|_| hash_of(&bytes) == hash)?;
    Some(redact::document(&text).into_owned())
}

/// The changes of one transaction.
#[derive(Default)]
struct Batch {
    files: Vec<(String, Option<FileRow>, Option<FileItems>)>,
    items: usize,
    added: usize,
    removed: usize,
}

impl Batch {
    /// Adds a file: its new state, and its items if they changed.
    fn put(&mut self, path: String, row: Option<FileRow>, said: Option<FileItems>) {
        self.items += said.as_ref().map_or(0, |said| said.found.len());
        self.files.push((path, row, said));
    }

    fn is_full(&self) -> bool {
        self.files.len() >= FILES_PER_BATCH || self.items >= ITEMS_PER_BATCH
    }

    fn write(&mut self, view: &mut View<'_>, caller: &Caller, project: &Project) -> Result<()> {
        let files = std::mem::take(&mut self.files);
        self.items = 0;
        if files.is_empty() {
            return Ok(());
        }
        let (added, removed) = view.write_indexed(|tx, lexicon| {
            // Another process may have deleted the project in the meantime.
            known(tx, &project.name)?;
            let mut writer = Writer::new(tx, lexicon)?;
            let mut sum = (0, 0);
            for (path, row, said) in &files {
                if let Some(said) = said {
                    let file = (project.number, &project.name, path.as_str());
                    let (added, removed) = item::replace(tx, &mut writer, file, said, caller.now)?;
                    sum = (sum.0 + added, sum.1 + removed);
                }
                match row {
                    Some(FileRow { size, mtime, hash, note }) => {
                        let sql = "INSERT INTO project_files (project, path, size, mtime, hash, note)
                            VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (project, path) DO UPDATE SET
                            size = excluded.size, mtime = excluded.mtime, hash = excluded.hash, note = excluded.note";
                        tx.run(sql, (project.number, path, size, mtime, hash, note))?
                    }
                    None => {
                        let sql = "DELETE FROM item_sections WHERE project = $1 AND path = $2";
                        tx.run(sql, (project.number, path))?;
                        let sql = "DELETE FROM project_files WHERE project = $1 AND path = $2";
                        tx.run(sql, (project.number, path))?
                    }
                };
            }
            writer.finish()?;
            Ok(sum)
        })?;
        (self.added, self.removed) = (self.added + added, self.removed + removed);
        Ok(())
    }
}

/// Imports a `tasks.json` as a whole or not at all.
pub fn import_tasks(view: &mut View<'_>, path: &Path) -> Result<TaskImportReport> {
    let caller = view.caller();
    let text = fs::read_to_string(path).map_err(Error::io(path))?;
    live::follow(view, LiveFile::Tasks)?;
    let done = view.write(|tx| {
        let done = task::import(tx, path, &text, (caller.actor_name(), task::IMPORT_SESSION))?;
        audit::Row::new("task_import").with("tasks", done.added + done.changed).append(tx, caller)?;
        Ok(done)
    })?;
    live::follow(view, LiveFile::Tasks)?;
    Ok(done)
}
