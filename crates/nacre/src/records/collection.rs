//! Collections: named corpora of documents, such as books and papers. Each has its own database, so that a
//! large one never slows down the memory.
//!
//! A row of the group's memory holds the name and the sources of a collection. Its database, in the folder
//! `collections`, is derived from the sources and can be rebuilt. One process at a time writes to it, under a
//! lock that ends with the process. Any process can search it meanwhile.

use crate::index::ReembeddingProgress;
use crate::index::fill::EmbeddingProgress;
use crate::store::{Connection, Lock, Row, Wait};
use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::ids::CollectionName;
use crate::base::redact::redact;
use crate::base::text::shorten;
use crate::base::{Error, Result, Time, files};
use crate::group::View;
use crate::index;
use crate::index::database::{self, Database, Identity, Owner};
use crate::records::workspace::{self, SyncReport};
use crate::store::audit;
use crate::store::walk::{self, WalkedFile};
use crate::store::{self, beside};

/// The folder of the databases, in the group's folder.
const COLLECTIONS_FOLDER: &str = "collections";

/// A collection as a row of `collections`.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// The name.
    pub name: CollectionName,
    /// The folders and files that are indexed.
    pub sources: Vec<String>,
    /// When the first source was added.
    pub added_at: Time,
    /// When all sources were last read completely; `None` if not since a source was added.
    pub indexed_at: Option<Time>,
}

/// A collection and its state.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "named after what they are")]
pub struct Collection {
    pub name: CollectionName,
    pub sources: Vec<String>,
    /// Sources that are missing now. Their indexed documents can still be found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
    pub documents: i64,
    pub passages: i64,
    pub bytes: u64,
    pub added_at: Time,
    /// When all sources were last read completely; absent if not since a source was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexed_at: Option<Time>,
    /// Why it can't be searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

redact! {
    Collection { name, sources, absent, problem / documents, passages, bytes, added_at, indexed_at }
}

/// The result of indexing a collection.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "named after what they are")]
pub struct IndexReport {
    pub collection: CollectionName,
    pub sources: Vec<String>,
    #[serde(flatten)]
    pub synced: SyncReport,
    /// Where a damaged database was moved, if there was one. A new one was built.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_aside: Option<PathBuf>,
}

/// How to index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Read only what changed.
    Changes,
    /// Discard the index and read everything again.
    Rebuild,
}

/// Adds sources to a collection and indexes them. The collection is created if necessary, and interrupted
/// indexing is continued.
pub fn add(
    view: &mut View<'_>,
    name: &CollectionName,
    sources: &[PathBuf],
    progress: &mut dyn FnMut(usize, usize),
) -> Result<IndexReport> {
    let caller = view.caller();
    let sources: Vec<String> = sources.iter().map(|path| source(path)).collect::<Result<_>>()?;
    let _lock = lock(view, name)?;
    view.write(|tx| {
        let mut record = get(tx, name)?.unwrap_or_else(|| Record {
            name: name.clone(),
            sources: Vec::new(),
            added_at: caller.now,
            indexed_at: None,
        });
        let known: BTreeSet<String> = record.sources.iter().cloned().collect();
        let mut new: Vec<String> = sources.into_iter().filter(|source| !known.contains(source)).collect();
        new.dedup();
        if !new.is_empty() {
            record.sources.extend(new);
            record.indexed_at = None;
            put(tx, &record)?;
        }
        audit::Row::new("collection_add").id(name).with("sources", record.sources.len()).append(tx, caller)
    })?;
    index(view, name, Reading::Changes, progress)
}

/// Updates a collection with the edits, renames and deletions in its sources. Documents of a missing source
/// are kept, and the source is reported.
pub fn reindex(
    view: &mut View<'_>,
    name: &CollectionName,
    reading: Reading,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<IndexReport> {
    check_exists(view, name, "collection_index")?;
    let _lock = lock(view, name)?;
    index(view, name, reading, progress)
}

/// Removes a collection and its database. The sources are not changed.
pub fn remove(view: &mut View<'_>, name: &CollectionName) -> Result<Record> {
    let caller = view.caller();
    check_exists(view, name, "collection_drop")?;
    let _lock = lock(view, name)?;
    let record = view.write(|tx| {
        let record = get_existing(tx, name)?;
        tx.run("DELETE FROM collections WHERE name = $1", [name])?;
        audit::Row::new("collection_drop")
            .id(name)
            .with("sources", record.sources.len())
            .append(tx, caller)?;
        Ok(record)
    })?;
    if view.is_on_server() {
        open(view, name)?.delete_on_server()?;
        view.close_collection(name);
        return Ok(record);
    }
    view.close_collection(name);
    let path = path(view, name);
    // The database first: a leftover log is recognized and ignored.
    for suffix in ["", "-wal", "-shm", ".lock"] {
        remove_file(&beside(&path, suffix))?;
    }
    remove_file(&path.with_extension("lock"))?;
    Ok(record)
}

/// Returns the names of the collections.
pub fn names(view: &View<'_>) -> Result<Vec<CollectionName>> {
    Ok(view.read(all)?.into_iter().map(|record| record.name).collect())
}

/// Returns the collections and their state.
pub(crate) fn list(view: &mut View<'_>) -> Result<Vec<Collection>> {
    let records = view.read(all)?;
    Ok(records.into_iter().map(|record| with_state(view, record)).collect())
}

/// Checks the databases of the collections. Returns each name with its problems, including files that belong
/// to no collection.
pub fn check(view: &mut View<'_>) -> Result<Vec<(String, Vec<String>)>> {
    let names = names(view)?;
    let mut checked = Vec::new();
    for name in &names {
        let problems = open(view, name).and_then(|database| database.check());
        let problems = match problems {
            Ok(problems) if problems.is_empty() => problems,
            Ok(problems) => vec![format!(
                "{}; `nacre collection reindex {name} --rebuild` rebuilds it",
                problems.join("; ")
            )],
            Err(error) => vec![with_advice(name, &error)],
        };
        checked.push((name.to_string(), problems));
    }
    let found = fs::read_dir(view.folder().join(COLLECTIONS_FOLDER)).into_iter().flatten().flatten();
    let mut strays: Vec<String> = found
        .filter_map(|entry| entry.file_name().into_string().ok()?.strip_suffix(".db").map(str::to_owned))
        .filter(|stem| !names.iter().any(|name| name.as_str() == stem))
        .collect();
    strays.sort();
    for stem in strays {
        let file = view.folder().join(COLLECTIONS_FOLDER).join(format!("{stem}.db"));
        let why = if stem.starts_with("damaged-") { "was damaged" } else { "belongs to no collection" };
        checked.push((stem, vec![format!("{} {why}; remove it", file.display())]));
    }
    Ok(checked)
}

/// Checks that a collection exists. Otherwise the refusal is recorded in the audit log.
fn check_exists(view: &mut View<'_>, name: &CollectionName, action: &str) -> Result<()> {
    let found = view.read_all(|db| get_existing(db, name));
    found.map(drop).inspect_err(|error| view.record_refusal(action, error))
}

/// Describes why a collection can't be searched, and what to do.
pub(crate) fn unavailable_note(name: &CollectionName, error: &Error) -> String {
    format!("sources: collection `{name}`: {}", with_advice(name, error))
}

fn with_advice(name: &CollectionName, error: &Error) -> String {
    match error {
        Error::Damaged { .. } => format!("{error}; `nacre collection reindex {name}` rebuilds it"),
        error => error.hint().map_or(error.to_string(), |hint| format!("{error}; {hint}")),
    }
}

/// Returns the collections to search, either the named one or all, and a note for each that is missing or
/// incomplete.
pub(crate) fn to_search(
    view: &mut View<'_>,
    named: Option<&CollectionName>,
) -> Result<(Vec<CollectionName>, Vec<String>)> {
    let records = match named {
        Some(name) => vec![view.read_all(|db| get_existing(db, name))?],
        None => view.read_all(all)?,
    };
    let (mut ready, mut missing) = (Vec::new(), Vec::new());
    for Record { name, indexed_at, .. } in records {
        if indexed_at.is_none() {
            missing.push(format!(
                "sources: collection `{name}` is not fully indexed; `nacre collection reindex {name}` continues"
            ));
        }
        match open(view, &name) {
            Ok(_) => ready.push(name),
            Err(error) => missing.push(unavailable_note(&name, &error)),
        }
    }
    Ok((ready, missing))
}

/// Returns the path and the owner of a collection's database.
pub(crate) fn place(view: &View<'_>, name: &CollectionName) -> (PathBuf, Owner) {
    (path(view, name), Owner { group: view.name().clone(), collection: Some(name.clone()) })
}

fn path(view: &View<'_>, name: &CollectionName) -> PathBuf {
    view.folder().join(COLLECTIONS_FOLDER).join(format!("{name}.db"))
}

fn with_state(view: &mut View<'_>, record: Record) -> Collection {
    let Record { name, sources, added_at, indexed_at } = record;
    let counted = open(view, &name).and_then(|database| {
        let counts = database.read(|db| {
            let sql =
                "SELECT (SELECT count(*) FROM documents WHERE hash <> ''), (SELECT count(*) FROM passages)";
            db.one(sql, (), |row| Ok((row.get(0)?, row.get(1)?)))
        })?;
        Ok((counts, database.bytes()?))
    });
    let (((documents, passages), bytes), problem) = match counted {
        Ok(counted) => (counted, None),
        Err(error) => (((0, 0), 0), Some(with_advice(&name, &error))),
    };
    let absent = sources.iter().filter(|source| fs::symlink_metadata(source).is_err()).cloned().collect();
    Collection { name, sources, absent, documents, passages, bytes, added_at, indexed_at, problem }
}

/// Indexes a collection. The caller holds its lock.
fn index(
    view: &mut View<'_>,
    name: &CollectionName,
    reading: Reading,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<IndexReport> {
    let caller = view.caller();
    let Record { sources, .. } = view.read_all(|db| get_existing(db, name))?;
    let mut aside = None;
    let synced = match sync(view, name, &sources, reading, progress) {
        // The database is derived from the sources. Its bytes are kept anyway.
        Err(Error::Damaged { .. }) => {
            view.close_collection(name);
            if let Error::SetAside { aside: moved, .. } = store::set_aside(&path(view, name), caller.now)? {
                aside = Some(moved);
            }
            sync(view, name, &sources, reading, progress)?
        }
        synced => synced?,
    };
    view.write(|tx| {
        tx.run("UPDATE collections SET indexed_at = $2 WHERE name = $1", (name, caller.now))?;
        audit::Row::new("collection_index")
            .id(name)
            .with("added", synced.added.len())
            .with("changed", synced.changed.len())
            .with("removed", synced.removed.len())
            .with("chunks", synced.chunks_written)
            .with("absent", synced.absent.len())
            .append(tx, caller)
    })?;
    Ok(IndexReport { collection: name.clone(), sources, synced, set_aside: aside })
}

fn sync(
    view: &mut View<'_>,
    name: &CollectionName,
    sources: &[String],
    reading: Reading,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<SyncReport> {
    let caller = view.caller();
    let language = view.settings().search.language();
    let schema = view.schema();
    let settings = view.settings().clone();
    let database = open(view, name)?;
    let found = walk::sources(sources);
    if reading == Reading::Rebuild {
        // Every source must be present before its documents are discarded.
        if let Some(absent) = found.absent() {
            let (path, problem) = (PathBuf::from(&absent.path), absent.why.clone());
            return Err(Error::AbsentSource { path, problem });
        }
        database.write(caller.now, |tx, _| {
            index::rebuild(tx, schema, index::Documents::Forget, language, &mut |_, _| {})
        })?;
    }
    let read = |seen: &WalkedFile| walk::read(&seen.file, seen.stat);
    workspace::sync_database(database, caller, found, &read, &settings, false, progress)
}

/// Checks that a source is an existing folder or file. Returns its canonical path.
fn source(path: &Path) -> Result<String> {
    let bad = |problem: String| Error::BadSource { path: shorten(&path.to_string_lossy()).into(), problem };
    let real = fs::canonicalize(path).map_err(|problem| bad(format!("can't be found: {problem}")))?;
    let stat = fs::metadata(&real).map_err(|problem| bad(format!("can't be read: {problem}")))?;
    if !stat.is_dir() && !stat.is_file() {
        return Err(bad("is neither a folder nor a file".into()));
    }
    real.to_str().map(str::to_owned).ok_or_else(|| bad("has a name that is not UTF-8".into()))
}

/// Waits until no other process writes to the collection. The lock ends when the file is closed, at the
/// latest with the process.
fn lock(view: &View<'_>, name: &CollectionName) -> Result<Option<Lock>> {
    if view.is_on_server() {
        return view.lock(&format!("{COLLECTIONS_FOLDER}/{name}.lock"), Wait::Yes);
    }
    let path = path(view, name).with_extension("lock");
    if let Some(folder) = path.parent() {
        files::create_folder(folder)?;
    }
    loop {
        let file = files::append_private(&path).map_err(Error::io(&path))?;
        file.lock().map_err(Error::io(&path))?;
        // If another process dropped the collection, it deleted the lock file too, and this lock is void.
        let held = file.metadata().map_err(Error::io(&path))?;
        if database::identity(&path) == Some(Identity::of(&held)) {
            return Ok(Some(Lock::File(file)));
        }
    }
}

fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(problem) if problem.kind() != std::io::ErrorKind::NotFound => Err(Error::io(path)(problem)),
        _ => Ok(()),
    }
}

/// Returns all collections, by name.
pub(crate) fn all(db: &Connection) -> Result<Vec<Record>> {
    db.rows("SELECT name, sources, added_at, indexed_at FROM collections ORDER BY name", (), record)
}

fn get(db: &Connection, name: &CollectionName) -> Result<Option<Record>> {
    let sql = "SELECT name, sources, added_at, indexed_at FROM collections WHERE name = $1";
    db.row(sql, [name], record)
}

/// Returns a collection that must exist.
fn get_existing(db: &Connection, name: &CollectionName) -> Result<Record> {
    let found = get(db, name)?;
    let names = || -> Result<String> {
        Ok(all(db)?.iter().map(|record| record.name.as_str()).collect::<Vec<_>>().join(", "))
    };
    match found {
        Some(record) => Ok(record),
        None => Err(Error::NoCollection { given: name.to_string(), known: names()? }),
    }
}

fn record(row: &Row<'_>) -> Result<Record> {
    Ok(Record {
        name: row.get(0)?,
        sources: serde_json::from_str(row.text(1)?).unwrap_or_default(),
        added_at: row.get(2)?,
        indexed_at: row.get(3)?,
    })
}

fn put(db: &Connection, record: &Record) -> Result<()> {
    let sql = "INSERT INTO collections (name, sources, added_at, indexed_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (name) DO UPDATE SET sources = excluded.sources, indexed_at = excluded.indexed_at";
    let Record { name, sources, added_at, indexed_at } = record;
    db.run(sql, (name, serde_json::to_string(sources)?, added_at, indexed_at)).map(drop)
}

/// The write stamps of a group's indexes. They differ after any write to one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexStamps(Vec<(Option<CollectionName>, i64)>);

/// Opens the database of a collection.
fn open<'v>(view: &'v mut View<'_>, name: &CollectionName) -> Result<&'v mut Database> {
    let (path, owner) = place(view, name);
    view.collection(path, owner)
}

/// Returns the write stamps of the memory and its collections.
pub fn index_stamps(view: &mut View<'_>) -> Result<IndexStamps> {
    let mut stamps = vec![(None, view.read_all(index::stamp)?)];
    for record in view.read_all(all)? {
        // A database that can't be read now may be repaired later.
        let stamp = open(view, &record.name).and_then(|database| database.read(index::stamp));
        stamps.push((Some(record.name), stamp.unwrap_or(-1)));
    }
    Ok(IndexStamps(stamps))
}

/// Rebuilds what another version built in the indexes of the memory and its collections: words at once, and
/// at most `most` built-in vectors per index, newest first. `progress` is called after every transaction and
/// can stop the work. Any number of processes can run this at once, and search keeps working.
pub fn renew(
    view: &mut View<'_>,
    most: usize,
    progress: &mut dyn FnMut(&ReembeddingProgress) -> ControlFlow<()>,
) -> Result<ReembeddingProgress> {
    let now = view.now();
    let mut sum = index::fill::renew(view.memory(), now, most, progress)?;
    for record in view.read_all(all)? {
        // Every search reports a collection that can't be opened.
        let Ok(database) = open(view, &record.name) else { continue };
        let of_one = index::fill::renew(database, now, most, progress)?;
        sum = ReembeddingProgress { made: sum.made + of_one.made, all: sum.all + of_one.all };
    }
    Ok(sum)
}

/// Embeds passages of the memory and its collections that have no vector of the provider, at most `most` per
/// index, newest first. `progress` receives the counts of done and remaining passages. If the provider fails,
/// the next call continues. Search keeps working.
pub fn embed(
    view: &mut View<'_>,
    most: usize,
    progress: &mut dyn FnMut(&EmbeddingProgress),
) -> Result<EmbeddingProgress> {
    let Some(embedder) = view.services().embedder.clone() else { return Ok(EmbeddingProgress::default()) };
    let now = view.now();
    let mut sum = index::fill::fill(view.memory(), &*embedder, now, most, progress)?;
    for record in view.read_all(all)? {
        let of_one = index::fill::fill(open(view, &record.name)?, &*embedder, now, most, progress)?;
        sum = EmbeddingProgress {
            model: sum.model,
            done: sum.done + of_one.done,
            refused: sum.refused + of_one.refused,
            left: sum.left + of_one.left,
        };
    }
    Ok(sum)
}
