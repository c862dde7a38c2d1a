//! `tasks.json` and `items.json` in the group's folder: the tasks and items as files that a person reads and edits, kept in step
//! with the rows.
//!
//! The database stores the file as it was when it and the rows last agreed. An edit is the difference from that, field by field,
//! so a change of the rows in the meantime stays. An edit that can't be read changes nothing: neither the rows nor the file, until
//! it is mended. A task that is taken out of the file is archived, and an item is removed.
//!
//! The file is written after the rows. A crash in between leaves an older file, which the next call brings up to date.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::item::{self, Item};
use super::task;
use crate::base::caller::Caller;
use crate::base::text::decode;
use crate::base::{Error, FilePath, Result};
use crate::group::View;
use crate::index::Writer;
use crate::store::{Connection, Replacement, audit};

/// The maximum size of a file, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// An edit that takes out more items than this, and more than half of them, is taken for a mistake.
const MAX_REMOVED: usize = 10;
/// How many versions of `tasks.json` are kept. An editor may have opened an older one.
const MAX_VERSIONS: usize = 8;
/// How often a file is written again if it changes meanwhile.
const WRITE_TRIES: usize = 3;

/// A file that shows rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LiveFile {
    Tasks,
    Items,
}

impl LiveFile {
    fn name(self) -> &'static str {
        match self {
            LiveFile::Tasks => "tasks.json",
            LiveFile::Items => "items.json",
        }
    }
}

/// The stored state of a file.
#[derive(Default)]
struct LiveFileState {
    /// The hash of the file when it and the rows agreed.
    hash: String,
    /// Its content then: the last versions of `tasks.json`, and the hash of each item of `items.json`.
    base: String,
    problem: Option<String>,
}

/// Takes the edits of a file, and writes the rows to it. Returns why an edit can't be taken, for the answer. The file is left
/// alone unless the settings ask for it.
pub(crate) fn follow(view: &mut View<'_>, file: LiveFile) -> Result<Option<String>> {
    if !view.settings().documents.live_json {
        return Ok(None);
    }
    let nacre = Caller::nacre(view.now());
    let mut view = view.enter(&nacre)?;
    let path = FilePath::of_records(file.name());
    for _ in 0..WRITE_TRIES {
        let bytes = view.files().read(&path, MAX_FILE_BYTES + 1)?;
        let known = view.read_all(|db| known(db, file))?;
        if let Some(bytes) = &bytes
            && known.as_ref().is_none_or(|known| known.hash != hash(bytes))
            && let Err(problem) = take(&mut view, file, bytes, known.as_ref())?
        {
            return Ok(Some(problem));
        }
        if !view.is_on_disk()
            || bytes.is_none() && known.is_none() && view.read_all(|db| is_empty(db, file))?
        {
            return Ok(None);
        }
        let (text, base) = view.read_all(|db| render(db, file))?;
        let replaced = view.files().replace(&path, bytes.as_deref(), Some(text.as_bytes()))?;
        if replaced == Replacement::Changed {
            continue;
        }
        let known = view.read_all(|db| self::known(db, file))?;
        if known.as_ref().is_none_or(|known| known.hash != hash(text.as_bytes())) {
            let base = next_base(file, known.as_ref(), &text, base);
            let now = LiveFileState { hash: hash(text.as_bytes()), base, problem: None };
            view.write_derived(|tx, _| remember(tx, file, &now))?;
        }
        return Ok(None);
    }
    // Somebody writes it all the time; the next call tries again.
    Ok(None)
}

/// Returns the files with an edit that can't be taken, and why.
pub fn problems(view: &View<'_>) -> Result<Vec<(String, String)>> {
    view.read_all(problems_in)
}

pub(crate) fn problems_in(db: &Connection) -> Result<Vec<(String, String)>> {
    let sql = "SELECT path, problem FROM live_files WHERE problem IS NOT NULL ORDER BY path";
    db.rows(sql, (), |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Applies an edit to the rows. The inner error says why it can't be applied.
fn take(
    view: &mut View<'_>,
    file: LiveFile,
    bytes: &[u8],
    known: Option<&LiveFileState>,
) -> Result<Result<(), String>> {
    let base = known.map(|known| known.base.clone()).unwrap_or_default();
    let read = match bytes.len() as u64 > MAX_FILE_BYTES {
        true => Err(format!("is larger than {} MiB", MAX_FILE_BYTES >> 20)),
        false => decode(bytes).map(|(text, _)| text),
    };
    let caller = view.caller();
    let group = view.name().to_string();
    let applied = read.map_err(Edit::Bad).and_then(|text| {
        view.write_indexed(|tx, lexicon| {
            let changed = match file {
                LiveFile::Tasks => task::apply(tx, &versions(&base), &text, caller.now)?,
                LiveFile::Items => {
                    let mut writer = Writer::new(tx, lexicon)?;
                    let changed = apply_items(tx, &mut writer, &base, &text, &group, caller)?;
                    writer.finish()?;
                    changed
                }
            };
            let (_, rows) = render(tx, file)?;
            let base = next_base(file, known, &text, rows);
            remember(tx, file, &LiveFileState { hash: hash(bytes), base, problem: None })?;
            if changed > 0 {
                audit::Row::new("file_edit").id(file.name()).with("changed", changed).append(tx, caller)?;
            }
            Ok(())
        })
        .map_err(Edit::from)
    });
    match applied {
        Ok(()) => Ok(Ok(())),
        Err(Edit::Failed(error)) => Err(error),
        Err(Edit::Bad(problem)) => {
            let problem = format!("{} is not read: {problem}", file.name());
            let before = known.and_then(|known| known.problem.as_deref());
            if before != Some(&problem) {
                let hash = known.map(|known| known.hash.clone()).unwrap_or_default();
                let broken = LiveFileState { hash, base, problem: Some(problem.clone()) };
                view.write_derived(|tx, _| remember(tx, file, &broken))?;
            }
            Ok(Err(problem))
        }
    }
}

/// Why an edit was not applied.
enum Edit {
    Bad(String),
    Failed(Error),
}

impl From<Error> for Edit {
    fn from(error: Error) -> Edit {
        match error {
            Error::BadTasks { problem, .. } => Edit::Bad(problem),
            Error::BadTask { problem } => Edit::Bad(problem),
            error => Edit::Failed(error),
        }
    }
}

/// Returns what the next edit is compared with: the versions of `tasks.json`, or the items that both have.
fn next_base(file: LiveFile, known: Option<&LiveFileState>, text: &str, items: String) -> String {
    if file == LiveFile::Items {
        return items;
    }
    let mut versions = known.map(|known| versions(&known.base)).unwrap_or_default();
    versions.retain(|version| version != text);
    versions.push(text.to_owned());
    let from = versions.len().saturating_sub(MAX_VERSIONS);
    serde_json::to_string(&versions[from..]).expect("texts are JSON")
}

fn versions(base: &str) -> Vec<String> {
    serde_json::from_str(base).unwrap_or_default()
}

fn is_empty(db: &Connection, file: LiveFile) -> Result<bool> {
    let table = if file == LiveFile::Tasks { "tasks" } else { "items" };
    db.one(&format!("SELECT NOT EXISTS (SELECT 1 FROM {table})"), (), |row| row.get(0))
}

/// Returns the rows as the file shows them, and as the base of the next edit.
fn render(db: &Connection, file: LiveFile) -> Result<(String, String)> {
    match file {
        LiveFile::Tasks => Ok((task::as_file(db)?, String::new())),
        LiveFile::Items => {
            let (items, _) = item::list(db, &item::Filter::default(), usize::MAX)?;
            let hashes: BTreeMap<&str, String> =
                items.iter().map(|of| (of.item.id.as_str(), hash_of(&of.item))).collect();
            Ok((serde_json::to_string_pretty(&items)? + "\n", serde_json::to_string(&hashes)?))
        }
    }
}

/// An item with its project, if the person named one.
#[derive(Deserialize)]
struct ItemProject {
    #[serde(default)]
    project: Option<String>,
}

/// Applies an edit of `items.json`. Returns how many items changed.
fn apply_items(
    db: &Connection,
    writer: &mut Writer<'_>,
    base: &str,
    text: &str,
    group: &str,
    caller: &Caller,
) -> Result<usize> {
    let bad = |problem: String| Error::BadTask { problem };
    let (items, broken) = item::read(text).map_err(bad)?;
    if let Some(problem) = broken.first() {
        return Err(bad(problem.clone()));
    }
    let projects: Vec<ItemProject> = serde_json::from_str(text)?;
    let base: BTreeMap<String, String> = serde_json::from_str(base).unwrap_or_default();
    let gone: Vec<&String> = base.keys().filter(|id| items.iter().all(|item| item.id != **id)).collect();
    if gone.len() > MAX_REMOVED && gone.len() * 2 > base.len() {
        let problem = format!(
            "it lacks {} of {} items; take out fewer at once if that is meant",
            gone.len(),
            base.len()
        );
        return Err(bad(problem));
    }
    let mut changed = 0;
    for (item, named) in items.iter().zip(&projects) {
        if base.get(&item.id) == Some(&hash_of(item)) {
            continue;
        }
        let known = item::get(db, &item.id)?;
        let project = match &known {
            Some(known) => super::known(db, &known.project)?.number,
            None => project_of(db, named.project.as_deref(), group)?,
        };
        item::put(db, writer, project, item, caller.now)?;
        changed += 1;
    }
    for id in gone {
        item::remove(db, writer, id)?;
        changed += 1;
    }
    Ok(changed)
}

/// Returns the project of a new item: the named one, the only one, or one of the group itself.
fn project_of(db: &Connection, named: Option<&str>, group: &str) -> Result<i64> {
    if let Some(name) = named {
        let problem = |error: Error| Error::BadTask { problem: error.to_string() };
        let name = name.parse().map_err(|error: crate::base::ids::BadId| problem(error.into()))?;
        return super::known(db, &name).map(|project| project.number).map_err(problem);
    }
    let numbers: Vec<i64> =
        db.rows("SELECT number FROM projects ORDER BY number LIMIT 2", (), |row| row.get(0))?;
    if let [only] = numbers[..] {
        return Ok(only);
    }
    if let Some(number) = db.row("SELECT number FROM projects WHERE name = $1", [group], |row| row.get(0))? {
        return Ok(number);
    }
    // No folder: items that a person wrote come from none.
    let sql = "INSERT INTO projects (name, folder, extract) VALUES ($1, $2, false) RETURNING number";
    db.one(sql, (group, format!("group {group}")), |row| row.get(0))
}

/// The fields of an item that an edit may change.
fn hash_of(item: &Item) -> String {
    #[derive(Serialize)]
    struct Fields<'a>(&'a str, &'a str, &'a str, &'a str, i64, f64);
    let Item { r#type, title, content, source_file, line_number, confidence, .. } = item;
    let fields = Fields(r#type.as_str(), title, content, source_file, *line_number, *confidence);
    hash(serde_json::to_string(&fields).expect("texts and numbers are JSON").as_bytes())
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..32].to_owned()
}

fn known(db: &Connection, file: LiveFile) -> Result<Option<LiveFileState>> {
    let sql = "SELECT hash, base, problem FROM live_files WHERE path = $1";
    db.row(sql, [file.name()], |row| {
        Ok(LiveFileState { hash: row.get(0)?, base: row.get(1)?, problem: row.get(2)? })
    })
}

fn remember(db: &Connection, file: LiveFile, known: &LiveFileState) -> Result<()> {
    let sql = "INSERT INTO live_files (path, hash, base, problem) VALUES ($1, $2, $3, $4)
        ON CONFLICT (path) DO UPDATE SET hash = excluded.hash, base = excluded.base, problem = excluded.problem";
    db.run(sql, (file.name(), &known.hash, &known.base, &known.problem)).map(drop)
}
