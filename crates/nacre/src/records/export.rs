//! Export and import of a whole group: Markdown for people, and JSON from which everything can be restored.

mod rows;
mod tree;

use crate::group::View;
use crate::store::Connection;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::caller::Visibility;
use crate::base::frame::one_line;
use crate::base::ids::{CollectionName, EntryId, GroupName, ProjectName};
use crate::base::origin::RecordOrigin;
use crate::base::progress::{Progress, Unit};
use crate::base::{Error, Result, Time, files, redact};
use crate::records::conflict::{self, ComparedStatements, Conflict};
use crate::records::entry::{self, Entry, EntryType, Version};
use crate::records::lesson::{self, Lesson};
use crate::records::project::{item, task};
use crate::records::session::exchange;
use crate::records::tombstone::Tombstones;
use crate::records::{collection, graph, session, workspace};
use crate::store::audit;
use crate::store::{Files, beside};

use rows::Rows;
use tree::import_files;

/// The file that import reads.
const RECORDS_FILE: &str = "nacre.json";
/// The file for people.
const MARKDOWN_FILE: &str = "memory.md";
/// The audit log. It is not imported: its hash chain belongs to the database that wrote it.
const AUDIT_FILE: &str = "audit.jsonl";
/// The messages of sessions, in the format that `session import` reads.
const SESSIONS_FILE: &str = "sessions.jsonl";
/// The items extracted from projects. They are derived from project files, so they are not imported.
const ITEMS_FILE: &str = "items.json";
/// The tasks that are not archived, in the format of a task file. The records file has all tasks.
const TASKS_FILE: &str = "tasks.json";
/// The format version of the records file.
const FORMAT_VERSION: u32 = 1;

/// The records of a group.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Records {
    format: u32,
    group: String,
    entries: Vec<Entry>,
    versions: HashMap<EntryId, Vec<Version>>,
    /// The collections and their sources. The documents stay in the sources.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) collections: BTreeMap<CollectionName, Vec<String>>,
    /// The knowledge graph, without the part that was read from documents.
    #[serde(default, skip_serializing_if = "graph::Records::is_empty")]
    pub(crate) graph: graph::Records,
    /// Exchanges and lessons.
    #[serde(default, skip_serializing_if = "Turns::is_empty")]
    turns: Turns,
    #[serde(default, skip_serializing_if = "task::TaskRecords::is_empty")]
    tasks: task::TaskRecords,
    /// The projects and their folders. Their items are extracted again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) projects: BTreeMap<String, String>,
    /// Proposals, links between entries, and import keys.
    #[serde(default, skip_serializing_if = "Rows::is_empty")]
    rows: Rows,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    conflicts: Vec<Conflict>,
    /// The transcript formats of sessions, by id, unless it is the plain format.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) session_formats: BTreeMap<String, String>,
    /// The projects of sessions, by id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) session_projects: BTreeMap<String, ProjectName>,
    /// The origins of sessions, by id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    session_origins: BTreeMap<String, RecordOrigin>,
    /// The ids of shared sessions. All other sessions are private.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) shared_sessions: Vec<String>,
    /// The documents and transcripts of the export, as paths within it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<Vec<String>>,
    #[serde(skip)]
    unreadable: usize,
}

/// The result of an export.
#[derive(Clone, Debug, Serialize)]
pub struct ExportReport {
    /// The folder of the export.
    pub folder: PathBuf,
    /// The files in it.
    pub files: Vec<&'static str>,
    /// The number of entries, including superseded and archived ones.
    pub entries: usize,
    /// Rows and tables of a damaged database that could not be read.
    #[serde(skip_serializing_if = "is_zero")]
    pub unreadable: usize,
    /// The number of credentials that were recognized: in the clear, or masked in a redacted export.
    pub credentials: usize,
}

/// How an export treats the credentials that are recognized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// Writes them as they were stored: a backup.
    Keep,
    /// Masks them: a copy to hand on.
    Mask,
}

/// Makes the copies that an export writes, and counts the credentials in them.
struct Copies {
    credentials: Credentials,
    count: usize,
}

impl Copies {
    /// Returns a text as the export has it.
    fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let masked = redact::document(text);
        self.count += masked.matches(redact::MASK).count().saturating_sub(text.matches(redact::MASK).count());
        if self.credentials == Credentials::Mask { masked } else { Cow::Borrowed(text) }
    }

    /// Returns lines of JSON as the export has them.
    fn lines(&mut self, text: &str) -> String {
        text.split_inclusive('\n').map(|line| self.line(line)).collect()
    }

    fn line(&mut self, line: &str) -> String {
        match serde_json::from_str::<serde_json::Value>(line) {
            Ok(mut value) if self.credentials == Credentials::Mask => {
                self.count_in(&value);
                redact::value(&mut value);
                value.to_string() + "\n"
            }
            Ok(value) => {
                self.count_in(&value);
                line.to_owned()
            }
            Err(_) => self.text(line).into_owned(),
        }
    }

    fn count_in(&mut self, value: &serde_json::Value) {
        match value {
            serde_json::Value::String(text) => drop(self.text(text)),
            serde_json::Value::Array(items) => items.iter().for_each(|item| self.count_in(item)),
            serde_json::Value::Object(fields) => fields.values().for_each(|field| self.count_in(field)),
            _ => {}
        }
    }

    /// Returns a file as the export has it.
    fn file(&mut self, name: &str, bytes: Vec<u8>) -> Vec<u8> {
        if let Some(plain) = name.strip_suffix(".gz") {
            let unpacked = session::gzip::unpack(&bytes).unwrap_or_default();
            let copy = self.file(plain, unpacked);
            let mut packed = Vec::new();
            let is_packed = session::gzip::pack(&copy, &mut packed).is_ok();
            return if self.credentials == Credentials::Mask && is_packed { packed } else { bytes };
        }
        let text = String::from_utf8_lossy(&bytes);
        let copy = if name.ends_with(".jsonl") { self.lines(&text) } else { self.text(&text).into_owned() };
        if self.credentials == Credentials::Mask { copy.into_bytes() } else { bytes }
    }
}

/// The result of an import.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ImportReport {
    /// Entries that were added.
    pub added: usize,
    /// Facts, relations and aliases that were added.
    pub graph: usize,
    /// Messages that were added.
    pub messages: usize,
    /// Exchanges that were added.
    #[serde(skip_serializing_if = "is_zero")]
    pub exchanges: usize,
    /// Lessons that were added.
    #[serde(skip_serializing_if = "is_zero")]
    pub lessons: usize,
    /// Tasks that were added.
    #[serde(skip_serializing_if = "is_zero")]
    pub tasks: usize,
    /// Entries that existed already.
    pub present: usize,
    /// Entries that were deleted here for good, and stay deleted.
    #[serde(skip_serializing_if = "is_zero")]
    pub deleted: usize,
    /// Current entries with the same content as a current entry here. They were imported as superseded by it.
    pub same_content: usize,
    /// Proposals that were added.
    #[serde(skip_serializing_if = "is_zero")]
    pub proposals: usize,
    /// Documents and transcripts that were added.
    #[serde(skip_serializing_if = "is_zero")]
    pub files: usize,
    /// Files that were not imported because another file has their name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_kept: Vec<String>,
    /// Rows of a damaged database that could not be read.
    pub unreadable: usize,
    /// Collections of the export that do not exist here, with their sources. They are not imported: the
    /// author of the export would decide which files are read.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub collections: BTreeMap<CollectionName, Vec<String>>,
    /// Projects of the export that do not exist here, with their folders. `nacre extract` reads them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub projects: BTreeMap<String, String>,
    /// The ids of the current entries and facts that were added.
    #[serde(skip)]
    pub statements: Vec<String>,
    /// How many of them contradict current statements, if they were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflicts: Option<ComparedStatements>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Returns what was read, or nothing and counts the failure: one damaged row must not keep the rest from being saved.
fn or_count<T: Default>(read: Result<T>, unreadable: &mut usize) -> T {
    read.unwrap_or_else(|_| {
        *unreadable += 1;
        T::default()
    })
}

/// Writes everything into `folder`.
pub(crate) fn write(
    db: &Connection,
    group: &GroupName,
    own: &Files,
    folder: &Path,
    now: Time,
    credentials: Credentials,
    progress: &mut dyn FnMut(Progress),
) -> Result<ExportReport> {
    let mut copies = Copies { credentials, count: 0 };
    let is_empty = || fs::read_dir(folder).is_ok_and(|mut files| files.next().is_none());
    if folder.exists() && !is_export(folder) && !is_empty() {
        return Err(Error::FolderNotEmpty { path: folder.to_owned() });
    }
    let before = read(folder).ok().and_then(|records| records.files).unwrap_or_default();
    files::create_folder(folder)?;
    let (entries, mut unreadable) = entry::readable(db)?;
    unreadable += db.damaged_rows()?;
    let count_sql =
        "SELECT (SELECT count(*) FROM audit) + (SELECT count(*) FROM passages WHERE kind = 'message')";
    let rows: usize = db.one(count_sql, (), |row| row.get(0))?;
    let total = entries.len() + tree::count(own) + rows;
    let mut done = 0;
    let mut step = |steps: usize| {
        done += steps;
        progress(Progress { unit: Unit::Records, done, total: Some(total) });
    };
    step(entries.len());
    let mut versions = HashMap::new();
    for entry in &entries {
        let earlier = or_count(entry::versions(db, &entry.id), &mut unreadable);
        if !earlier.is_empty() {
            versions.insert(entry.id.clone(), earlier);
        }
    }
    let count = entries.len();
    let collections: BTreeMap<CollectionName, Vec<String>> =
        collection::all(db)?.into_iter().map(|record| (record.name, record.sources)).collect();
    let readable = readable(&entries, &collections, group, now);
    let group = group.to_string();
    let graph = or_count(graph::Records::all(db), &mut unreadable);
    let turns = or_count(Turns::read(db), &mut unreadable);
    let tasks = or_count(task::TaskRecords::read(db), &mut unreadable);
    let (shared_sessions, session_formats) = (session::shared(db)?, session::formats(db)?);
    let (projects, rows) = (projects(db)?, or_count(Rows::all(db), &mut unreadable));
    let exported = tree::write(own, folder, &mut |name, bytes| copies.file(name, bytes), &mut step)?;
    let records = Records {
        format: FORMAT_VERSION,
        group,
        entries,
        versions,
        collections,
        graph,
        turns,
        tasks,
        projects,
        rows,
        conflicts: or_count(conflict::all(db), &mut unreadable),
        session_formats,
        session_projects: session::projects(db)?,
        session_origins: session::origins(db)?,
        shared_sessions,
        files: Some(exported.clone()),
        unreadable: 0,
    };
    let mut audit_lines = String::new();
    audit::walk(db, |line| {
        audit_lines.push_str(&serde_json::to_string(line)?);
        audit_lines.push('\n');
        step(1);
        Ok(())
    })?;
    let mut files = vec![RECORDS_FILE, MARKDOWN_FILE, AUDIT_FILE, SESSIONS_FILE, ITEMS_FILE, TASKS_FILE];
    files.extend(tree::folders(records.files.as_deref().unwrap_or_default()));
    // `Value` sorts its keys, so the same records give the same bytes.
    let mut records = serde_json::to_value(&records)?;
    copies.count_in(&records);
    if credentials == Credentials::Mask {
        redact::value(&mut records);
    }
    let counted = copies.count;
    let records = serde_json::to_string_pretty(&records)?;
    files::write_atomically(&folder.join(RECORDS_FILE), records.as_bytes())?;
    let items = serde_json::to_string_pretty(&or_count(item::all(db), &mut unreadable))? + "\n";
    let messages = session::lines(db, &mut step)?;
    for (name, text) in [
        (MARKDOWN_FILE, readable.as_str()),
        (AUDIT_FILE, &audit_lines),
        (SESSIONS_FILE, &messages),
        (ITEMS_FILE, &items),
        (TASKS_FILE, &task::as_file(db)?),
    ] {
        let is_lines = name.ends_with(".jsonl") && credentials == Credentials::Mask;
        let copy = if is_lines { Cow::Owned(copies.lines(text)) } else { copies.text(text) };
        files::write_atomically(&folder.join(name), copy.as_bytes())?;
    }
    // An earlier export may have files that were deleted since.
    for gone in before.iter().filter(|path| !exported.contains(path)) {
        tree::remove(folder, gone);
    }
    // The other files repeat the records.
    Ok(ExportReport { folder: folder.to_owned(), files, entries: count, unreadable, credentials: counted })
}

/// Returns the folders of the projects whose files are read, by name.
pub(crate) fn projects(db: &Connection) -> Result<BTreeMap<String, String>> {
    let rows = db.rows("SELECT name, folder FROM projects WHERE extract ORDER BY number", (), |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?;
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
        let _ =
            writeln!(text, "\n## collections\n\nNot part of this export. Rebuild them from these sources.\n");
    }
    for (name, sources) in collections {
        let sources: Vec<String> = sources.iter().map(|source| one_line(source)).collect();
        let _ = writeln!(text, "- {name}: {}", sources.join(", "));
    }
    text
}

/// Returns the file with the messages of an export, if it exists.
pub(crate) fn sessions(folder: &Path) -> Option<PathBuf> {
    let is_own =
        |file: &PathBuf| fs::symlink_metadata(file).is_ok_and(|found| found.is_file() && found.len() > 0);
    Some(folder.join(SESSIONS_FILE)).filter(is_own)
}

/// Reads the records of an export.
pub(crate) fn read(folder: &Path) -> Result<Records> {
    let path = if folder.is_dir() { folder.join(RECORDS_FILE) } else { folder.to_owned() };
    let bad = |problem: String| Error::BadImport { path: path.clone(), problem };
    let bytes = fs::read(&path).map_err(|problem| bad(problem.to_string()))?;
    let records: Records = serde_json::from_slice(&bytes).map_err(|problem| bad(problem.to_string()))?;
    if records.format != FORMAT_VERSION {
        return Err(bad(format!(
            "it has format {}, but this version reads format {FORMAT_VERSION}",
            records.format
        )));
    }
    for entry in &records.entries {
        if entry.content.trim().is_empty()
            || entry.content.chars().count() > entry::MAX_CONTENT_CHARS
            || entry.tags.problem().is_some()
        {
            return Err(bad(format!("entry `{}` is empty or exceeds the limits of an entry", entry.id)));
        }
    }
    Ok(records)
}

/// Reads as much as possible of a database file, row by row, and skips damaged rows.
pub(crate) fn salvage(file: &Path) -> Result<Records> {
    let copy = SalvageCopy::of(file)?;
    let bad = |problem: String| Error::BadImport { path: file.to_owned(), problem };
    let describe = |problem: Error| match problem {
        Error::Database(problem) => problem.to_string(),
        problem => problem.to_string(),
    };
    let db = Connection::to_file(&copy.0).map_err(|problem| bad(describe(problem)))?;
    // Otherwise SQLite refuses a file that is shorter than its header says.
    db.batch("PRAGMA writable_schema = RESET; PRAGMA writable_schema = ON;")
        .map_err(|problem| bad(describe(problem)))?;
    // Adds the columns of later schemas. The statement fails if the column exists.
    for column in [
        "entries ADD COLUMN private INTEGER DEFAULT 0",
        "entries ADD COLUMN data TEXT",
        "entries ADD COLUMN project TEXT",
        "entry_history ADD COLUMN private INTEGER DEFAULT 0",
        "exchanges ADD COLUMN project TEXT",
        "projects ADD COLUMN extract INTEGER DEFAULT 1",
        "entries ADD COLUMN origin TEXT DEFAULT 'agent'",
        "facts ADD COLUMN origin TEXT DEFAULT 'agent'",
        "relations ADD COLUMN origin TEXT DEFAULT 'agent'",
        "exchanges ADD COLUMN origin TEXT DEFAULT 'agent'",
        "lessons ADD COLUMN origin TEXT DEFAULT 'person'",
        "lessons ADD COLUMN state TEXT DEFAULT 'confirmed'",
    ] {
        let _ = db.batch(&format!("ALTER TABLE {column}"));
    }
    let _ = db.batch("CREATE TABLE mentions (entry, name, successor, gone_at, kept)");
    let highest: i64 = db
        .one("SELECT coalesce(max(number), 0) FROM entries", (), |row| row.get(0))
        .or_else(|_| db.one("SELECT seq FROM sqlite_sequence WHERE name = 'entries'", (), |row| row.get(0)))
        .map_err(|problem| bad(format!("its entries can't be read: {}", describe(problem))))?;
    let mut records = Records {
        format: FORMAT_VERSION,
        group: String::new(),
        entries: Vec::new(),
        versions: HashMap::new(),
        collections: BTreeMap::new(),
        graph: graph::Records::all(&db).unwrap_or_default(),
        // An older schema does not have these tables.
        turns: Turns::read(&db).unwrap_or_default(),
        tasks: task::TaskRecords::read(&db).unwrap_or_default(),
        projects: projects(&db).unwrap_or_default(),
        rows: Rows::all(&db).unwrap_or_default(),
        conflicts: conflict::all(&db).unwrap_or_default(),
        session_formats: session::formats(&db).unwrap_or_default(),
        session_projects: session::projects(&db).unwrap_or_default(),
        session_origins: session::origins(&db).unwrap_or_default(),
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

/// A temporary copy of a database and its log. Opening a damaged database would change it, and SQLite
/// discards the log of an empty database.
struct SalvageCopy(PathBuf);

impl SalvageCopy {
    fn of(file: &Path) -> Result<SalvageCopy> {
        let copy = SalvageCopy(beside(file, ".salvage"));
        let logged = fs::copy(beside(file, "-wal"), beside(&copy.0, "-wal")).is_ok();
        match fs::copy(file, &copy.0) {
            Ok(1..) => {}
            // One empty page, so that SQLite reads the log.
            _ if logged => files::write_atomically(&copy.0, &[0; 4096])?,
            Ok(_) => {}
            Err(source) => return Err(Error::Io { path: file.to_owned(), source }),
        }
        Ok(copy)
    }
}

impl Drop for SalvageCopy {
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(beside(&self.0, suffix));
        }
    }
}

/// Imports records. Ids, numbers, times and scores stay, but a number that is in use here is replaced.
pub(crate) fn write_records(db: &Connection, records: &Records) -> Result<ImportReport> {
    let mut done = ImportReport { unreadable: records.unreadable, ..ImportReport::default() };
    let deleted = Tombstones::load(db)?;
    for entry in &records.entries {
        let present = "SELECT EXISTS (SELECT 1 FROM entries WHERE id = $1)";
        if db.one(present, [&entry.id], |row| row.get(0))? {
            done.present += 1;
            continue;
        }
        if deleted.cover(&entry.content) {
            done.deleted += 1;
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
        // A row with the highest possible number would leave no number for new entries.
        let sound = (1..1_000_000_000).contains(&entry.number);
        let number = (!taken && sound).then_some(entry.number);
        let entry = entry::insert(db, entry, number)?;
        for version in records.versions.get(&entry.id).into_iter().flatten() {
            entry::insert_version(db, &entry.id, version)?;
        }
        if entry.is_current() {
            done.statements.push(entry.id.to_string());
        }
        done.added += 1;
    }
    let last: i64 = db.one("SELECT coalesce(max(id), 0) FROM facts", (), |row| row.get(0))?;
    done.graph = records.graph.import(db)?;
    let sql = "SELECT 'fact-' || id FROM facts WHERE id > $1 AND until IS NULL ORDER BY id";
    done.statements.extend(db.rows(sql, [last], |row| row.get::<String>(0))?);
    (done.exchanges, done.lessons) = records.turns.import(db)?;
    done.tasks = records.tasks.import(db)?.added;
    done.proposals = records.rows.import(db)?;
    conflict::import(db, &records.conflicts)?;
    Ok(done)
}

/// Writes everything the group holds into `folder`, as Markdown for people and JSON for [`import`].
pub fn export(view: &View<'_>, folder: &Path) -> Result<ExportReport> {
    export_with(view, folder, Credentials::Keep, &mut |_| {})
}

/// Exports like [`export`], and reports each record to `progress`.
pub fn export_with(
    view: &View<'_>,
    folder: &Path,
    credentials: Credentials,
    progress: &mut dyn FnMut(Progress),
) -> Result<ExportReport> {
    view.read_all(|db| write(db, view.name(), view.files(), folder, view.now(), credentials, progress))
}

/// Tells whether a folder is an export.
pub fn is_export(folder: &Path) -> bool {
    folder.join(RECORDS_FILE).is_file()
}

/// Imports an export. Existing records and files are not changed, so importing twice has no further effect.
pub fn import(view: &mut View<'_>, folder: &Path) -> Result<ImportReport> {
    let found = read(folder)?;
    let shared = view.read_all(|db| session::absent(db, &found.shared_sessions))?;
    // A session that exists already keeps its own.
    let with_origin: Vec<String> = found.session_origins.keys().cloned().collect();
    let new = view.read_all(|db| session::absent(db, &with_origin))?;
    let mut imported = import_records(view, &found)?;
    let put = import_files(view, folder, found.files.as_deref())?;
    (imported.files, imported.files_kept) = (put.added, put.kept);
    imported.projects = found.projects.clone();
    let known = view.read_all(projects)?;
    imported.projects.retain(|name, _| !known.contains_key(name));
    let here = collection::names(view)?;
    imported.collections = found.collections.clone();
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
    let Records { session_formats: formats, session_projects: projects, session_origins: origins, .. } =
        &found;
    if !(shared.is_empty() && formats.is_empty() && projects.is_empty() && new.is_empty()) {
        view.write(|tx| {
            session::set_formats(tx, formats)?;
            session::set_projects(tx, projects)?;
            session::set_origins(tx, origins.iter().filter(|(id, _)| new.contains(*id)))?;
            session::set_shared(tx, &shared)
        })?;
    }
    Ok(imported)
}

/// Imports as much as possible from another database file, even a damaged one.
pub fn import_database(view: &mut View<'_>, file: &Path) -> Result<ImportReport> {
    let found = salvage(file)?;
    import_records(view, &found)
}

fn import_records(view: &mut View<'_>, found: &Records) -> Result<ImportReport> {
    let caller = view.caller();
    view.write(|tx| {
        let imported = write_records(tx, found)?;
        audit::Row::new("import").with("entries", imported.added).append(tx, caller)?;
        Ok(imported)
    })
}

/// Exchanges and lessons, for an export.
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

    /// Imports the exchanges and lessons that do not exist yet. Returns how many of each were added.
    pub(crate) fn import(&self, db: &Connection) -> Result<(usize, usize)> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Settings;
    use crate::base::caller::Caller;
    use crate::tools;
    use crate::tools::home::Home;

    #[test]
    fn one_unreadable_row_kept_the_rest_from_being_exported() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path(), Settings::default());
        let caller = Caller::person("person".parse().unwrap(), Time::from_millis(1_767_225_600_000));
        let mut group = home.group(&"main".parse().unwrap(), caller.now).unwrap();
        let mut view = group.enter(&caller).unwrap();
        for content in ["The lake is deep", "The hill is high"] {
            tools::call(&mut view, "memory_store", serde_json::json!({ "content": content })).unwrap();
        }
        view.write(|tx| tx.run("UPDATE entries SET content = CAST(x'ff41' AS TEXT) WHERE number = 1", ()))
            .unwrap();
        let report = export(&view, &folder.path().join("export")).unwrap();
        assert_eq!(
            (report.entries, report.unreadable),
            (2, 1),
            "a damaged text is saved as far as it can be read"
        );
    }
}
