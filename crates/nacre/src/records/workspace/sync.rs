//! Updates the index with the documents in a folder.
//!
//! A file with unchanged size and modification time is not read. A file with unchanged bytes is not chunked.
//! An unchanged chunk is not written. If nothing changed, nothing is written at all.

use crate::base::Error;
use crate::base::Settings;
use crate::base::caller::is_marked;
use crate::base::member::MemberRole;
use crate::base::text::decode;
use crate::group::View;
use crate::store::{Connection, FilesMark};
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::change;
use super::memory_file;
use super::template;
use crate::base::caller::Caller;
use crate::base::caller::Visibility;
use crate::base::origin::RecordOrigin;
use crate::base::path::IMPORTS;
use crate::base::redact;
use crate::base::{Result, Time};
use crate::index::database::Database;
use crate::index::{Passage, Slice, Writer, chunk};
use crate::records::graph::{self, read};
use crate::records::note::{about, stem, vectors};
use crate::store::audit;
use crate::store::walk::{self, Note, ReadResult, Stat, WalkResult, WalkedFile};

/// The passage kind of a chunk.
const CHUNK_KIND: &str = "chunk";
/// The maximum number of documents in one transaction.
const MAX_BATCH_DOCUMENTS: usize = 256;
/// The maximum size of the text in one transaction, unless a single document is larger.
const MAX_BATCH_BYTES: usize = 2 << 20;
/// How many vectors of lines a sync makes for each chunk that it writes, and at most: about a second. Servers and `nacre index` make
/// the rest.
const LINES_PER_CHUNK: usize = 40;
const MAX_LINES_PER_PASS: usize = 600;
/// A file written this recently may be written again with the same modification time, because file system
/// clocks are coarse. It is read again next time.
const RECENT_MILLIS: i64 = 2_000;

/// The result of a sync.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SyncReport {
    /// Documents that were added.
    pub added: Vec<String>,
    /// Documents whose content changed.
    pub changed: Vec<String>,
    /// Documents that were removed.
    pub removed: Vec<String>,
    /// The number of unchanged documents.
    pub unchanged: usize,
    /// The number of chunks that were written, without unchanged ones.
    pub chunks_written: usize,
    /// Files that were not indexed, and why.
    pub skipped: Vec<Note>,
    /// Files that were indexed with repairs, and which.
    pub repaired: Vec<Note>,
    /// The number of files that could not be read this time.
    #[serde(skip)]
    pub unread: usize,
    /// Sources of a collection that are missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<Note>,
    /// The number of documents that were kept although their source is missing.
    #[serde(skip_serializing_if = "is_zero")]
    pub kept: usize,
    /// The number of files in a collection's sources that were ignored, by extension.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, usize>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Updates an index with the documents that were found, and the graph if `graph` is set. `progress` receives
/// the number of processed documents and their total.
pub(crate) fn sync_database(
    database: &mut Database,
    caller: &Caller,
    found: WalkResult,
    read_found: &dyn Fn(&WalkedFile) -> ReadResult,
    settings: &Settings,
    graph: bool,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<SyncReport> {
    let WalkResult { seen, skipped, others, mut absent, empty } = found;
    let mut known = database.read(indexed_documents)?;
    // A folder that lost all its documents is more likely an unmounted disk.
    for source in empty {
        if known.keys().any(|path| walk::is_within(path, &source)) {
            let why = "has no documents any more; its indexed documents were kept".to_owned();
            absent.push(Note { path: source, why });
        }
    }
    let mut synced = SyncReport { skipped, others, ..SyncReport::default() };
    let mut batch = Batch::default();
    for (place, file) in seen.iter().enumerate() {
        let before = known.get(&file.path);
        let read = graph.then_some(read::VERSION);
        if let Some(row) = before.filter(|row| {
            row.size == file.stat.size && row.mtime == Some(file.stat.mtime) && row.graph.as_deref() == read
        }) {
            synced.count(&file.path, row, Some(row));
            known.remove(&file.path);
            continue;
        }
        // A file deleted since the walk stays in `known` and is removed below.
        let is_known = before.is_some_and(Row::is_indexed);
        let Some(document) = Document::read(settings, file, read_found(file), caller.now, graph, is_known)
        else {
            synced.unread += 1;
            continue;
        };
        synced.count(&file.path, &document.row, before);
        if before != Some(&document.row) {
            batch.put(document);
        }
        known.remove(&file.path);
        if batch.is_full() {
            synced.chunks_written += batch.write(database, caller)?;
            progress(place + 1, seen.len());
        }
    }
    let mut gone: Vec<String> = known.into_keys().collect();
    gone.sort();
    for path in gone {
        if absent.iter().any(|source| walk::is_within(&path, &source.path)) {
            synced.kept += 1;
            continue;
        }
        batch.removed.push(path.clone());
        synced.removed.push(path);
        if batch.is_full() {
            batch.write(database, caller)?;
        }
    }
    synced.chunks_written += batch.write(database, caller)?;
    synced.absent.append(&mut absent);
    Ok(synced)
}

impl SyncReport {
    /// Counts a document by its new row and its row before.
    fn count(&mut self, path: &str, row: &Row, before: Option<&Row>) {
        let note = row.note.as_ref().map(|why| Note { path: path.to_owned(), why: why.clone() });
        match (note, row.is_indexed()) {
            (Some(note), false) => return self.skipped.push(note),
            (Some(note), true) => self.repaired.push(note),
            (None, _) => {}
        }
        match before.filter(|before| before.is_indexed()) {
            None => self.added.push(path.to_owned()),
            Some(before) if before.hash != row.hash => self.changed.push(path.to_owned()),
            Some(_) => self.unchanged += 1,
        }
    }
}

/// The state of a document in the index: a row of `documents`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    size: i64,
    mtime: Option<i64>,
    hash: String,
    chunks: i64,
    note: Option<String>,
    /// The version of the reader that extracted facts for the graph.
    graph: Option<String>,
    /// Whether its front matter marks it as private.
    private: bool,
}

impl Row {
    // A skipped document also has a row, so that it is not read again.
    fn is_indexed(&self) -> bool {
        !self.hash.is_empty()
    }
}

fn indexed_documents(db: &Connection) -> Result<HashMap<String, Row>> {
    let sql = "SELECT path, size, mtime, hash, chunks, note, graph, private FROM documents ORDER BY path";
    let rows = db.rows(sql, (), |row| {
        let known = Row {
            size: row.get(1)?,
            mtime: row.get(2)?,
            hash: row.get(3)?,
            chunks: row.get(4)?,
            note: row.get(5)?,
            graph: row.get(6)?,
            private: row.get(7)?,
        };
        Ok((row.get(0)?, known))
    })?;
    Ok(rows.into_iter().collect())
}

/// A document and its passages.
struct Document {
    path: String,
    row: Row,
    passages: Vec<Passage>,
    /// The facts and relations for the graph.
    reading: Option<read::Reading>,
    /// The date from which they hold.
    since: Time,
    /// The time of its text, as far as the file tells.
    written: Time,
    /// The hashes of its lines if it is MEMORY.md.
    lines: Vec<String>,
}

impl Document {
    /// Chunks a document; `None` if the file was deleted. `is_known` tells whether an earlier version of it is
    /// indexed.
    fn read(
        settings: &Settings,
        seen: &WalkedFile,
        taken: ReadResult,
        now: Time,
        graph: bool,
        is_known: bool,
    ) -> Option<Document> {
        let graph = graph.then_some(read::VERSION);
        let skipped = |stat: Stat, why: String, retry: bool| {
            let mtime = (!retry).then_some(stat.mtime);
            let row = Row {
                size: stat.size,
                mtime,
                hash: String::new(),
                chunks: 0,
                note: Some(why),
                graph: graph.map(str::to_owned),
                private: false,
            };
            let (path, passages, lines) = (seen.path.clone(), Vec::new(), Vec::new());
            Some(Document { path, row, passages, reading: None, since: now, written: now, lines })
        };
        let (bytes, stat, settled) = match taken {
            ReadResult::Bytes { bytes, stat, settled } => (bytes, stat, settled),
            ReadResult::Skipped { why, retry } => return skipped(seen.stat, why, retry),
            ReadResult::Gone => return None,
        };
        let settled = settled && stat.mtime.abs_diff(now.as_millis()) >= RECENT_MILLIS.unsigned_abs();
        let (text, note) = match decode(&bytes) {
            Ok(decoded) => decoded,
            Err(why) => return skipped(stat, why, !settled),
        };
        let private = is_marked(&text);
        // An untouched template is not memory. Search would match its words too often.
        if template::is_untouched(settings, &seen.path, &text) {
            return skipped(stat, "is unchanged since `nacre init` wrote it".into(), !settled);
        }
        let text = template::without_template(settings, &seen.path, &text);
        let passages = passages(&seen.path, &text);
        let row = Row {
            size: stat.size,
            mtime: settled.then_some(stat.mtime),
            hash: hash(&bytes),
            chunks: i64::try_from(passages.len()).expect("chunks of one file"),
            note,
            graph: graph.map(str::to_owned),
            private,
        };
        // A file dated in the future would override everything that is stated until then.
        let written = Time::from_millis(stat.mtime).min(now);
        let day = Time::in_name(stem(&seen.path)).map(|day| day.min(now));
        // The time of an edit is known only if the text before it is: a clone or a restored backup has new times.
        let since = day.unwrap_or(if is_known { written } else { Time::UNDATED });
        let reading = graph.map(|_| read::document(&seen.path, &text));
        let lines = memory_file::hashes(&seen.path, &text);
        let written = day.unwrap_or(written);
        Some(Document { path: seen.path.clone(), row, passages, reading, since, written, lines })
    }
}

/// Makes the passages of a document. Without a date in its name they have no time: the time of a file is that of a
/// clone or a restored backup as often as that of its text. Credentials are masked before chunking, because half a credential would
/// not be recognized.
fn passages(path: &str, text: &str) -> Vec<Passage> {
    let stem = stem(path);
    let day = Time::in_name(stem);
    let about = about(stem);
    let text = redact::document(text);
    let filled = chunk::chunks(&text).into_iter().filter(|chunk| !chunk.text.trim().is_empty());
    let passage = |(number, chunk): (usize, chunk::Chunk<'_>)| {
        let title = redact::text(format!("{} {about}", chunk.title).trim()).into_owned();
        let text = chunk.text.trim_end().to_owned();
        let line = |line: usize| i64::try_from(line).expect("lines of one file");
        let slice = Slice {
            lines: (line(chunk.lines.0), line(chunk.lines.1)),
            hash: hash(format!("{title}\n{text}").as_bytes()),
        };
        Passage {
            title,
            origin: origin(path),
            slice: Some(slice),
            ..Passage::new(CHUNK_KIND, format!("{path}#{number}"), text, day.unwrap_or(Time::UNDATED))
        }
    };
    filled.enumerate().map(passage).collect()
}

/// Returns the hash of a document, as the table of documents has it.
pub(crate) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The changes of one transaction.
#[derive(Default)]
struct Batch {
    documents: Vec<Document>,
    removed: Vec<String>,
    bytes: usize,
}

impl Batch {
    fn put(&mut self, document: Document) {
        self.bytes += document.passages.iter().map(|passage| passage.text.len()).sum::<usize>();
        self.documents.push(document);
    }

    fn is_full(&self) -> bool {
        self.documents.len() + self.removed.len() >= MAX_BATCH_DOCUMENTS || self.bytes >= MAX_BATCH_BYTES
    }

    /// Writes the batch, unless it is empty. Returns the number of chunks that were written.
    fn write(&mut self, database: &mut Database, caller: &Caller) -> Result<usize> {
        let Batch { documents, removed, .. } = std::mem::take(self);
        if documents.is_empty() && removed.is_empty() {
            return Ok(0);
        }
        database.write(caller.now, |tx, lexicon| {
            let mut writer = Writer::new(tx, lexicon)?;
            let mut written = 0;
            for path in &removed {
                write_chunks(tx, &mut writer, path, &[])?;
                graph::follow(tx, &mut writer, &from_document(path, caller.now, caller.now), path, None)?;
                tx.run("DELETE FROM documents WHERE path = $1", [path])?;
            }
            for document in &documents {
                written += write_chunks(tx, &mut writer, &document.path, &document.passages)?;
                let origin = from_document(&document.path, caller.now, document.since);
                graph::follow(tx, &mut writer, &origin, &document.path, document.reading.as_ref())?;
                write_row(tx, document)?;
                if !document.lines.is_empty() {
                    memory_file::note_lines(tx, &document.lines, document.written, caller.now)?;
                }
            }
            writer.finish()?;
            audit::Row::new("index")
                .with("documents", documents.len())
                .with("removed", removed.len())
                .with("chunks", written)
                .append(tx, caller)?;
            Ok(written)
        })
    }
}

fn from_document(path: &str, now: Time, since: Time) -> graph::Origin<'static> {
    let (source, visibility) = (graph::Source::Document, Visibility::Private);
    graph::Origin {
        now,
        since,
        source,
        origin: origin(path),
        session: None,
        private: None,
        private_by_default: false,
        visibility,
    }
}

/// Returns the origin of a document: what a person imported from another program is not their own text.
fn origin(path: &str) -> RecordOrigin {
    match path.strip_prefix(IMPORTS).is_some_and(|rest| rest.starts_with('/')) {
        true => RecordOrigin::Import,
        false => RecordOrigin::Document,
    }
}

fn write_row(tx: &Connection, document: &Document) -> Result<()> {
    let sql = "INSERT INTO documents (path, size, mtime, hash, chunks, note, graph, private)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (path) DO UPDATE SET size = excluded.size, mtime = excluded.mtime, hash = excluded.hash,
            chunks = excluded.chunks, note = excluded.note, graph = excluded.graph, private = excluded.private";
    let Row { size, mtime, hash, chunks, note, graph, private } = &document.row;
    tx.run(sql, (&document.path, size, mtime, hash, chunks, note, graph, private)).map(drop)
}

/// A chunk in the index.
struct IndexedChunk {
    id: i64,
    reference: String,
    hash: String,
    at: Time,
    lines: (i64, i64),
}

/// Replaces the chunks of a document. Chunks with unchanged text stay, even if their number changes. Returns
/// the number of chunks that were written.
fn write_chunks(tx: &Connection, writer: &mut Writer<'_>, path: &str, new: &[Passage]) -> Result<usize> {
    let mut old: HashMap<String, Vec<IndexedChunk>> = HashMap::new();
    for chunk in chunks_of(tx, path)?.into_iter().rev() {
        old.entry(chunk.hash.clone()).or_default().push(chunk);
    }
    let kept: Vec<Option<IndexedChunk>> = new
        .iter()
        .map(|passage| passage.slice.as_ref().and_then(|slice| old.get_mut(&slice.hash)?.pop()))
        .collect();
    for chunk in old.into_values().flatten() {
        writer.remove(CHUNK_KIND, &chunk.reference)?;
    }
    let moves = |(passage, old): &(&Passage, &IndexedChunk)| {
        let lines = passage.slice.as_ref().map(|slice| slice.lines);
        old.reference != passage.reference || old.at != passage.at || Some(old.lines) != lines
    };
    let pairs = || new.iter().zip(&kept).filter_map(|(passage, old)| Some((passage, old.as_ref()?)));
    // First to temporary names, because the new number may still belong to another chunk.
    for (_, old) in pairs().filter(moves) {
        let aside = format!("{path}#~{}", old.id);
        tx.run("UPDATE passages SET ref = $2 WHERE id = $1", (old.id, aside))?;
    }
    for (passage, old) in pairs().filter(moves) {
        writer.move_chunk(old.id, passage)?;
    }
    let mut written = 0;
    for (passage, _) in new.iter().zip(&kept).filter(|(_, old)| old.is_none()) {
        writer.insert(passage)?;
        written += 1;
    }
    Ok(written)
}

/// Returns the chunks of a document in the index, by number.
fn chunks_of(tx: &Connection, path: &str) -> Result<Vec<IndexedChunk>> {
    // `$` is the character after `#`. The path of another document may begin with this path and `#`, but no
    // number follows then.
    let sql = "SELECT id, ref, hash, at, first_line, last_line FROM passages
        WHERE kind = 'chunk' AND ref >= $1 || '#' AND ref < $1 || '$'";
    let mut found = Vec::new();
    tx.each(sql, [path], |row| {
        let old = IndexedChunk {
            id: row.get(0)?,
            reference: row.get(1)?,
            hash: row.text(2)?.to_owned(),
            at: row.get(3)?,
            lines: (row.get::<Option<i64>>(4)?.unwrap_or(0), row.get::<Option<i64>>(5)?.unwrap_or(0)),
        };
        if let Ok(number) = old.reference[path.len() + 1..].parse::<usize>() {
            found.push((number, old));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    found.sort_by_key(|(number, _)| *number);
    Ok(found.into_iter().map(|(_, old)| old).collect())
}

/// Updates the index with the Markdown files in the group's folder. This walks the folder, and writes nothing
/// if nothing changed.
pub fn sync(view: &mut View<'_>) -> Result<SyncReport> {
    sync_with(view, &mut |_, _| {})
}

/// Syncs like [`sync`]. `progress` receives the number of processed documents and their total.
pub fn sync_with(view: &mut View<'_>, progress: &mut dyn FnMut(usize, usize)) -> Result<SyncReport> {
    let caller = view.caller();
    // First complete the file changes of a process that died.
    let writes = view.rights().may(MemberRole::Writer);
    if view.is_on_disk() && writes && view.read_all(change::has_pending_changes)? {
        match change::lock(view) {
            Ok(held) => drop(held),
            Err(Error::ReadOnly { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    // A reader leaves this to the writers.
    if !view.settings().documents.index || !writes {
        return Ok(SyncReport::default());
    }
    let (files, settings) = (view.files().clone(), view.settings().clone());
    let graph = settings.graph.documents;
    let read_found = |seen: &WalkedFile| files.read_found(seen);
    let report =
        sync_database(view.memory(), caller, files.documents(), &read_found, &settings, graph, progress)?;
    let lines = (report.chunks_written * LINES_PER_CHUNK).min(MAX_LINES_PER_PASS);
    vectors::make(view.memory(), caller.now, lines, &mut |_| ControlFlow::Continue(()))?;
    Ok(report)
}

/// Makes the vectors of lines that have none yet, at most about `most`. `progress` is called after each transaction, with the
/// number of finished parts of documents and their total, and can stop the work. Search keeps working. Returns how many parts were
/// finished.
pub fn embed_lines(
    view: &mut View<'_>,
    most: usize,
    progress: &mut dyn FnMut(i64, i64) -> ControlFlow<()>,
) -> Result<i64> {
    let now = view.now();
    if !view.settings().documents.index || !view.rights().may(MemberRole::Writer) {
        return Ok(0);
    }
    vectors::make(view.memory(), now, most, &mut |so_far| progress(so_far.made, so_far.all))
}

/// Syncs before a search if files may have changed. Returns a problem as text, because the existing index can
/// still be searched.
pub(crate) fn follow(view: &mut View<'_>) -> Option<String> {
    // A reader leaves this to the writers.
    if !view.rights().may(MemberRole::Writer) || !view.may_have_changed() {
        return None;
    }
    // A server tells in one statement that nothing changed since all documents were indexed.
    let before = view.files().mark().ok().flatten();
    if before.is_some() && view.state::<IndexedFiles>().mark == before {
        return None;
    }
    match sync(view) {
        Ok(report) => {
            let is_whole = report.skipped.is_empty() && report.absent.is_empty() && report.unread == 0;
            let after = before.filter(|_| is_whole).and_then(|before| {
                let FilesMark { indexed, .. } = view.files().mark().ok().flatten()?;
                // A file that changed meanwhile is not in the index yet.
                Some(FilesMark { indexed, ..before })
            });
            view.state::<IndexedFiles>().mark = after;
            None
        }
        Err(problem) => {
            view.look_again();
            Some(format!("memory: the documents could not be indexed: {problem}"))
        }
    }
}

/// The documents of a server when all of them were in the index.
#[derive(Default)]
struct IndexedFiles {
    mark: Option<FilesMark>,
}
