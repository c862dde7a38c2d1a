//! Export and import (I5): everything a group holds, as Markdown for people and JSON that loses nothing.

mod rows;
mod tree;

use crate::group::View;
use crate::store::Connection;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::caller::Visibility;
use crate::base::frame::one_line;
use crate::base::ids::{CollectionName, EntryId, GroupName};
use crate::base::{Error, Result, Time, files};
use crate::records::entry::{self, Entry, EntryType, Version};
use crate::records::lesson::{self, Lesson};
use crate::records::project::{item, task};
use crate::records::session::exchange;
use crate::records::{collection, graph, session, workspace};
use crate::store::audit;
use crate::store::{Files, beside};

use rows::Rows;
pub(crate) use tree::take_in as put_files;

/// The file that import reads.
const RECORDS: &str = "nacre.json";
/// The file for people.
const READABLE: &str = "memory.md";
/// The audit log, for the record: a chain belongs to the database that made it and is not imported.
const AUDIT: &str = "audit.jsonl";
/// The messages of sessions, in the form that `session import` takes.
const SESSIONS: &str = "sessions.jsonl";
/// What was taken out of projects, in the form of seed 002. Made from their files, and so not imported.
const ITEMS: &str = "items.json";
/// The tasks that are not archived, in the form of seed 002; the records have all of them.
const TASKS: &str = "tasks.json";
/// Of this form of the file.
const FORMAT: u32 = 1;

/// Everything a group holds.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Records {
    format: u32,
    group: String,
    entries: Vec<Entry>,
    versions: HashMap<EntryId, Vec<Version>>,
    /// Which collections there were, and their sources; what they hold stands in these.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) collections: BTreeMap<CollectionName, Vec<String>>,
    /// The knowledge graph, as far as it was said and not read from documents.
    #[serde(default, skip_serializing_if = "graph::Records::is_empty")]
    pub(crate) graph: graph::Records,
    /// Exchanges and lessons.
    #[serde(default, skip_serializing_if = "Turns::is_empty")]
    turns: Turns,
    #[serde(default, skip_serializing_if = "task::TaskRecords::is_empty")]
    tasks: task::TaskRecords,
    /// Which projects there were, and their folders; what was taken out of them is made again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) projects: BTreeMap<String, String>,
    /// Proposals, links between entries, what was brought in from where.
    #[serde(default, skip_serializing_if = "Rows::is_empty")]
    rows: Rows,
    /// What form sessions came in, by id, where it is another than that of the export.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) session_formats: BTreeMap<String, String>,
    /// Sessions that were held where others read along; the others are private.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) shared_sessions: Vec<String>,
    /// The documents and transcripts beside it, by their paths in the export.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<Vec<String>>,
    #[serde(skip)]
    unreadable: usize,
}

/// What an export wrote.
#[derive(Clone, Debug, Serialize)]
pub struct Exported {
    /// The folder.
    pub folder: PathBuf,
    /// The files in it.
    pub files: Vec<&'static str>,
    /// How many entries, those of the past included.
    pub entries: usize,
}

/// What an import did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Imported {
    /// Entries that are new here.
    pub added: usize,
    /// Facts, relations and aliases that are new here.
    pub graph: usize,
    /// Messages of sessions that are new here.
    pub messages: usize,
    /// Exchanges that are new here.
    #[serde(skip_serializing_if = "is_zero")]
    pub exchanges: usize,
    /// Lessons that are new here.
    #[serde(skip_serializing_if = "is_zero")]
    pub lessons: usize,
    /// Tasks that are new here.
    #[serde(skip_serializing_if = "is_zero")]
    pub tasks: usize,
    /// Entries that were here already.
    pub present: usize,
    /// Current entries whose content another current entry here has already; they came in as superseded by
    /// that one.
    pub same_content: usize,
    /// Proposals that are new here.
    #[serde(skip_serializing_if = "is_zero")]
    pub proposals: usize,
    /// Documents and transcripts that are new here.
    #[serde(skip_serializing_if = "is_zero")]
    pub files: usize,
    /// Files in whose place others stand, which were left.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_kept: Vec<String>,
    /// Rows of a damaged database that could not be read.
    pub unreadable: usize,
    /// Collections that the export names and that are not here, with their sources. They are not taken in: who
    /// wrote the export would decide which files are read.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub collections: BTreeMap<CollectionName, Vec<String>>,
    /// Projects that the export names and that are not here, with their folders; `nacre extract` reads them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub projects: BTreeMap<String, String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Writes everything into `folder`. Secrets are in it as they were stored: it is the person's own copy, and
/// only theirs to read.
pub(crate) fn write(
    db: &Connection,
    group: &GroupName,
    own: &Files,
    folder: &Path,
    now: Time,
) -> Result<Exported> {
    files::create_folder(folder)?;
    let entries = entry::all(db)?;
    let mut versions = HashMap::new();
    for entry in &entries {
        let earlier = entry::versions(db, &entry.id)?;
        if !earlier.is_empty() {
            versions.insert(entry.id.clone(), earlier);
        }
    }
    let count = entries.len();
    let collections: BTreeMap<CollectionName, Vec<String>> =
        collection::all(db)?.into_iter().map(|record| (record.name, record.sources)).collect();
    let readable = readable(&entries, &collections, group, now);
    let group = group.to_string();
    let (graph, turns, tasks) = (graph::Records::all(db)?, Turns::read(db)?, task::TaskRecords::read(db)?);
    let (shared_sessions, session_formats) = (session::shared(db)?, session::formats(db)?);
    let (projects, rows) = (projects(db)?, Rows::all(db)?);
    let records = Records {
        format: FORMAT,
        group,
        entries,
        versions,
        collections,
        graph,
        turns,
        tasks,
        projects,
        rows,
        session_formats,
        shared_sessions,
        files: Some(tree::write(own, folder)?),
        unreadable: 0,
    };
    let mut audit_lines = String::new();
    audit::walk(db, |line| {
        audit_lines.push_str(&serde_json::to_string(line)?);
        audit_lines.push('\n');
        Ok(())
    })?;
    let mut files = vec![RECORDS, READABLE, AUDIT, SESSIONS, ITEMS, TASKS];
    files.extend(tree::folders(records.files.as_deref().unwrap_or_default()));
    // Through `Value`, whose keys are sorted: the same records are the same bytes.
    let records = serde_json::to_string_pretty(&serde_json::to_value(&records)?)?;
    files::write_atomically(&folder.join(RECORDS), records.as_bytes())?;
    files::write_atomically(&folder.join(READABLE), readable.as_bytes())?;
    files::write_atomically(&folder.join(AUDIT), audit_lines.as_bytes())?;
    files::write_atomically(&folder.join(SESSIONS), session::lines(db)?.as_bytes())?;
    let items = serde_json::to_string_pretty(&item::all(db)?)? + "\n";
    files::write_atomically(&folder.join(ITEMS), items.as_bytes())?;
    files::write_atomically(&folder.join(TASKS), task::as_file(db)?.as_bytes())?;
    Ok(Exported { folder: folder.to_owned(), files, entries: count })
}

/// The projects by name, with their folders.
pub(crate) fn projects(db: &Connection) -> Result<BTreeMap<String, String>> {
    let rows = db.rows("SELECT name, folder FROM projects", (), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.into_iter().collect())
}

fn readable(
    entries: &[Entry],
    collections: &BTreeMap<CollectionName, Vec<String>>,
    group: &GroupName,
    now: Time,
) -> String {
    let mut text = format!("# Memory of group {group}\n\nExported {now}.\n");
    for r#type in EntryType::ALL {
        let mut section =
            entries.iter().filter(|entry| entry.r#type == *r#type && entry.is_current()).peekable();
        if section.peek().is_some() {
            let _ = writeln!(text, "\n## {type}\n");
        }
        for entry in section {
            let _ = write!(text, "- {}", one_line(&entry.content));
            for tag in entry.tags.iter() {
                let _ = write!(text, " #{}", tag.replace(' ', "_"));
            }
            let _ = writeln!(text, " ({}, {})", entry.provenance.timestamp, entry.id);
        }
    }
    let mut past = entries.iter().filter(|entry| !entry.is_current()).peekable();
    if past.peek().is_some() {
        let _ = writeln!(text, "\n## no longer current\n");
    }
    for entry in past {
        let _ =
            writeln!(text, "- {} ({}, {})", one_line(&entry.content), entry.provenance.timestamp, entry.id);
    }
    if !collections.is_empty() {
        let _ = writeln!(
            text,
            "\n## collections\n\nNot part of this export: they are made from these sources.\n"
        );
    }
    for (name, sources) in collections {
        let sources: Vec<String> = sources.iter().map(|source| one_line(source)).collect();
        let _ = writeln!(text, "- {name}: {}", sources.join(", "));
    }
    text
}

/// Returns the file with the messages of an export, if it has one.
pub(crate) fn sessions(folder: &Path) -> Option<PathBuf> {
    let is_own =
        |file: &PathBuf| fs::symlink_metadata(file).is_ok_and(|found| found.is_file() && found.len() > 0);
    Some(folder.join(SESSIONS)).filter(is_own)
}

/// Reads an export.
pub(crate) fn read(folder: &Path) -> Result<Records> {
    let path = if folder.is_dir() { folder.join(RECORDS) } else { folder.to_owned() };
    let bad = |problem: String| Error::BadImport { path: path.clone(), problem };
    let bytes = fs::read(&path).map_err(|problem| bad(problem.to_string()))?;
    let records: Records = serde_json::from_slice(&bytes).map_err(|problem| bad(problem.to_string()))?;
    if records.format != FORMAT {
        return Err(bad(format!("it has format {}, this program knows {FORMAT}", records.format)));
    }
    for entry in &records.entries {
        if entry.content.trim().is_empty()
            || entry.content.chars().count() > entry::MAX_CONTENT
            || entry.tags.problem().is_some()
        {
            return Err(bad(format!("entry `{}` breaks the limits of an entry", entry.id)));
        }
    }
    Ok(records)
}

/// Reads what can be read of a database file: row by row, past what is damaged.
pub(crate) fn salvage(file: &Path) -> Result<Records> {
    let copy = Copy::of(file)?;
    let bad = |problem: String| Error::BadImport { path: file.to_owned(), problem };
    let told = |problem: Error| match problem {
        Error::Database(problem) => problem.to_string(),
        problem => problem.to_string(),
    };
    let db = Connection::to_file(&copy.0).map_err(|problem| bad(told(problem)))?;
    // Without this SQLite refuses a file that is shorter than its header says.
    db.batch("PRAGMA writable_schema = RESET; PRAGMA writable_schema = ON;")
        .map_err(|problem| bad(told(problem)))?;
    // What a later schema added is read as nothing; where it is there, this fails.
    for column in ["entries ADD COLUMN private INTEGER DEFAULT 0", "entries ADD COLUMN data TEXT"] {
        let _ = db.batch(&format!("ALTER TABLE {column}"));
    }
    let _ = db.batch("ALTER TABLE entry_history ADD COLUMN private INTEGER DEFAULT 0");
    let highest: i64 = db
        .one("SELECT coalesce(max(number), 0) FROM entries", (), |row| row.get(0))
        .or_else(|_| db.one("SELECT seq FROM sqlite_sequence WHERE name = 'entries'", (), |row| row.get(0)))
        .map_err(|problem| bad(format!("its entries can't be read: {}", told(problem))))?;
    let mut records = Records {
        format: FORMAT,
        group: String::new(),
        entries: Vec::new(),
        versions: HashMap::new(),
        collections: BTreeMap::new(),
        graph: graph::Records::all(&db).unwrap_or_default(),
        // Of an older schema there are none.
        turns: Turns::read(&db).unwrap_or_default(),
        tasks: task::TaskRecords::read(&db).unwrap_or_default(),
        projects: projects(&db).unwrap_or_default(),
        rows: Rows::all(&db).unwrap_or_default(),
        session_formats: session::formats(&db).unwrap_or_default(),
        shared_sessions: session::shared(&db).unwrap_or_default(),
        files: None,
        unreadable: 0,
    };
    for number in 1..=highest {
        match entry::get(&db, &crate::base::ids::EntryRef::Number(number)) {
            Ok(entry) => {
                if let Ok(versions) = entry::versions(&db, &entry.id)
                    && !versions.is_empty()
                {
                    records.versions.insert(entry.id.clone(), versions);
                }
                records.entries.push(entry);
            }
            Err(Error::NoEntry { .. }) => {}
            Err(_) => records.unreadable += 1,
        }
    }
    Ok(records)
}

/// A copy of a database and its log, which goes when it is dropped: opening a damaged one would change it,
/// and SQLite throws a log away whose database is empty.
struct Copy(PathBuf);

impl Copy {
    fn of(file: &Path) -> Result<Copy> {
        let copy = Copy(beside(file, ".salvage"));
        let logged = fs::copy(beside(file, "-wal"), beside(&copy.0, "-wal")).is_ok();
        match fs::copy(file, &copy.0) {
            Ok(1..) => {}
            // One empty page, so that the log is read for what it is.
            _ if logged => files::write_atomically(&copy.0, &[0; 4096])?,
            Ok(_) => {}
            Err(source) => return Err(Error::Io { path: file.to_owned(), source }),
        }
        Ok(copy)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(beside(&self.0, suffix));
        }
    }
}

/// Takes records in. Ids, numbers, times and scores stay; a number that is taken here is given anew.
pub(crate) fn write_records(db: &Connection, records: &Records) -> Result<Imported> {
    let mut done = Imported { unreadable: records.unreadable, ..Imported::default() };
    for entry in &records.entries {
        let present = "SELECT EXISTS (SELECT 1 FROM entries WHERE id = $1)";
        if db.one(present, [&entry.id], |row| row.get(0))? {
            done.present += 1;
            continue;
        }
        let mut entry = Entry { behavioral: entry.r#type.behavioral(), ..entry.clone() };
        if entry.is_current()
            && let Some(same) =
                entry::same_content(db, Visibility::Private, (&entry.content, entry.data.as_ref()), None)?
        {
            entry.superseded_at = Some(entry.provenance.timestamp.max(same.provenance.timestamp));
            entry.superseded_by = Some(same.id);
            done.same_content += 1;
        }
        let taken = "SELECT EXISTS (SELECT 1 FROM entries WHERE number = $1)";
        let taken: bool = db.one(taken, [entry.number], |row| row.get(0))?;
        // Behind the last number that a database has, nothing more could be stored.
        let sound = (1..1_000_000_000).contains(&entry.number);
        let number = (!taken && sound).then_some(entry.number);
        let entry = entry::insert(db, entry, number)?;
        for version in records.versions.get(&entry.id).into_iter().flatten() {
            entry::insert_version(db, &entry.id, version)?;
        }
        done.added += 1;
    }
    done.graph = records.graph.import(db)?;
    (done.exchanges, done.lessons) = records.turns.take_in(db)?;
    done.tasks = records.tasks.import(db)?.added;
    done.proposals = records.rows.take_in(db)?;
    Ok(done)
}

/// Writes everything the group holds into `folder`, as Markdown for people and JSON for
/// [`import`].
pub fn export(view: &View<'_>, folder: &Path) -> Result<Exported> {
    view.read_all(|db| write(db, view.name(), view.files(), folder, view.now()))
}

/// Takes in what [`export`] wrote. What is here already is left as it is, so that twice is the
/// same as once.
pub fn import(view: &mut View<'_>, folder: &Path) -> Result<Imported> {
    let found = read(folder)?;
    let shared = view.read_all(|db| session::absent(db, &found.shared_sessions))?;
    let mut imported = take_in(view, &found)?;
    let put = put_files(view, folder, found.files.as_deref())?;
    (imported.files, imported.files_kept) = (put.added, put.kept);
    imported.projects = found.projects;
    let known = view.read_all(projects)?;
    imported.projects.retain(|name, _| !known.contains_key(name));
    let here = collection::names(view)?;
    imported.collections = found.collections;
    imported.collections.retain(|name, _| !here.contains(name));
    if let Some(file) = sessions(folder) {
        let input = fs::File::open(&file).map_err(Error::io(&file))?;
        imported.messages =
            session::import_transcript(view, BufReader::new(input), "sessions", |_| {})?.added;
    }
    if imported.files > 0 {
        session::catch_up_all(view)?;
        workspace::sync(view)?;
    }
    if !shared.is_empty() || !found.session_formats.is_empty() {
        view.write(|tx| {
            session::set_formats(tx, &found.session_formats)?;
            session::set_shared(tx, &shared)
        })?;
    }
    Ok(imported)
}

/// Takes in what can be read of another database file, damaged ones included.
pub fn import_database(view: &mut View<'_>, file: &Path) -> Result<Imported> {
    let found = salvage(file)?;
    take_in(view, &found)
}

fn take_in(view: &mut View<'_>, found: &Records) -> Result<Imported> {
    let caller = view.caller();
    view.write(|tx| {
        let imported = write_records(tx, found)?;
        audit::Row::new("import").with("entries", imported.added).append(tx, caller)?;
        Ok(imported)
    })
}

/// What turns have left behind, for an export.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Turns {
    exchanges: Vec<exchange::Row>,
    lessons: Vec<Lesson>,
}

impl Turns {
    pub(crate) fn read(db: &Connection) -> Result<Turns> {
        let mut lessons = lesson::all(db)?;
        lessons.reverse();
        Ok(Turns { exchanges: exchange::all(db)?, lessons })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.exchanges.is_empty() && self.lessons.is_empty()
    }

    /// Takes in what is not here yet. Returns how many exchanges and lessons that was.
    pub(crate) fn take_in(&self, db: &Connection) -> Result<(usize, usize)> {
        let mut done = (0, 0);
        for row in &self.exchanges {
            done.0 += usize::from(exchange::insert_new(db, row)?);
        }
        for lesson in &self.lessons {
            done.1 += usize::from(lesson::insert(db, lesson)?);
        }
        Ok(done)
    }
}
