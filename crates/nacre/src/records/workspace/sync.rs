//! Brings the index up to date with the documents (Q5): what the folder has now against what is known.
//!
//! A file whose size and time are as they were is not read; one whose bytes are the same is not cut; a chunk
//! that is the same is not written. Where nothing changed, nothing is written at all.

use crate::base::Error;
use crate::base::caller::is_marked;
use crate::base::text::decode;
use crate::group::View;
use crate::store::Connection;
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::change;
use super::memory_file;
use super::template;
use crate::base::caller::Caller;
use crate::base::caller::Visibility;
use crate::base::redact;
use crate::base::{Result, Time};
use crate::index::database::Database;
use crate::index::{Passage, Slice, Writer, chunk};
use crate::records::graph::{self, read};
use crate::store::audit;
use crate::store::walk::{self, Note, ReadResult, Stat, WalkResult, WalkedFile};

/// The kind of a chunk's passage.
const KIND: &str = "chunk";
/// How many documents, and how many bytes of text, go into one transaction; one document is never cut.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 2 << 20;
/// A file that was written so few milliseconds ago may be written again without another time: clocks of file
/// systems are coarse. It is read again next time.
const RECENT: i64 = 2_000;

/// What a sync found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Synced {
    /// Documents that are new.
    pub added: Vec<String>,
    /// Documents that say something else than before.
    pub changed: Vec<String>,
    /// Documents that are gone.
    pub removed: Vec<String>,
    /// How many documents are as they were.
    pub unchanged: usize,
    /// How many chunks were written; those that were kept are not counted.
    pub chunks_written: usize,
    /// What is not indexed, and why.
    pub skipped: Vec<Note>,
    /// What is indexed but could not be read as it is, and how.
    pub repaired: Vec<Note>,
    /// Sources of a collection that are not there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<Note>,
    /// How many documents of these are kept as they were last read.
    #[serde(skip_serializing_if = "is_none")]
    pub kept: usize,
    /// How many files of a collection's sources have other endings and were left out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, usize>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// Brings an index up to date with the documents that were found, and the graph where it is wanted. `progress` is
/// told how many of them have been looked at.
pub(crate) fn sync_database(
    database: &mut Database,
    caller: &Caller,
    found: WalkResult,
    read_found: &dyn Fn(&WalkedFile) -> ReadResult,
    graph: bool,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Synced> {
    let WalkResult { seen, skipped, others, mut absent, empty } = found;
    let mut known = database.read(known)?;
    // A folder that had documents and has none at all is rather one whose disk is not there.
    for source in empty {
        if known.keys().any(|path| walk::is_within(path, &source)) {
            let why = "has no documents any more, so what it had is kept".to_owned();
            absent.push(Note { path: source, why });
        }
    }
    let mut synced = Synced { skipped, others, ..Synced::default() };
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
        // One that has gone since the walk stays among the known, which are taken out below.
        let Some(document) = Document::read(file, read_found(file), caller.now, graph) else { continue };
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

impl Synced {
    /// Counts a document that now stands as `row`.
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

/// What the index knows of a document: a row of `documents`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    size: i64,
    mtime: Option<i64>,
    hash: String,
    chunks: i64,
    note: Option<String>,
    /// The version of the reader that took the graph's part out of it.
    graph: Option<String>,
    /// Whether it says of itself that it is private.
    private: bool,
}

impl Row {
    /// A document that was skipped has a row too, so that it is not read again.
    fn is_indexed(&self) -> bool {
        !self.hash.is_empty()
    }
}

fn known(db: &Connection) -> Result<HashMap<String, Row>> {
    let sql = "SELECT path, size, mtime, hash, chunks, note, graph, private FROM documents";
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

/// A document that was read, and its passages.
struct Document {
    path: String,
    row: Row,
    passages: Vec<Passage>,
    /// What it says for the graph, and since when.
    said: Option<read::Reading>,
    since: Time,
    /// Hashes of its lines, where it is cared for.
    lines: Vec<String>,
}

impl Document {
    /// Cuts a document that was read; `None`: it has gone.
    fn read(seen: &WalkedFile, taken: ReadResult, now: Time, graph: bool) -> Option<Document> {
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
            Some(Document { path, row, passages, said: None, since: now, lines })
        };
        let (bytes, stat, settled) = match taken {
            ReadResult::Bytes { bytes, stat, settled } => (bytes, stat, settled),
            ReadResult::Skipped { why, retry } => return skipped(seen.stat, why, retry),
            ReadResult::Gone => return None,
        };
        let settled = settled && stat.mtime.abs_diff(now.as_millis()) >= RECENT.unsigned_abs();
        let (text, note) = match decode(&bytes) {
            Ok(decoded) => decoded,
            Err(why) => return skipped(stat, why, !settled),
        };
        let private = is_marked(&text);
        // What we wrote ourselves is no memory: it would be found by the words of every other question.
        if template::is_untouched(&seen.path, &text) {
            return skipped(stat, "is still as `nacre init` wrote it".into(), !settled);
        }
        let text = template::without_template(&seen.path, &text);
        let passages = passages(&seen.path, &text, stat);
        let row = Row {
            size: stat.size,
            mtime: settled.then_some(stat.mtime),
            hash: hash(&bytes),
            chunks: i64::try_from(passages.len()).expect("chunks of one file"),
            note,
            graph: graph.map(str::to_owned),
            private,
        };
        let since = Time::in_name(stem(&seen.path)).unwrap_or(Time::from_millis(stat.mtime));
        // A file from the future, or about it, would win over all that is said until then.
        let since = since.min(now);
        let said = graph.map(|_| read::document(&seen.path, &text));
        let lines = memory_file::hashes(&seen.path, &text);
        Some(Document { path: seen.path.clone(), row, passages, said, since, lines })
    }
}

/// Makes the passages of a document. Credentials go before it is cut: of one that is cut in two, no half would
/// be known.
fn passages(path: &str, text: &str, stat: Stat) -> Vec<Passage> {
    let stem = stem(path);
    let day = Time::in_name(stem);
    let about = match day {
        Some(day) => format!("{stem} {}", day.day_in_words()),
        None => stem.replace(['-', '_'], " "),
    };
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
        let at = day.unwrap_or(Time::from_millis(stat.mtime));
        Passage { title, slice: Some(slice), ..Passage::new(KIND, format!("{path}#{number}"), text, at) }
    };
    filled.enumerate().map(passage).collect()
}

/// The name of a file without its folder and its ending.
fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What goes into one transaction.
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
        self.documents.len() + self.removed.len() >= BATCH || self.bytes >= BATCH_BYTES
    }

    /// Writes what is there, if anything, and returns the number of chunks that had to be written.
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
                graph::follow(tx, &mut writer, &from_document(caller.now, caller.now), path, None)?;
                tx.run("DELETE FROM documents WHERE path = $1", [path])?;
            }
            for document in &documents {
                written += write_chunks(tx, &mut writer, &document.path, &document.passages)?;
                let origin = from_document(caller.now, document.since);
                graph::follow(tx, &mut writer, &origin, &document.path, document.said.as_ref())?;
                write_row(tx, document)?;
                if !document.lines.is_empty() {
                    memory_file::note_lines(tx, &document.lines, document.since, caller.now)?;
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

fn from_document(now: Time, since: Time) -> graph::Origin<'static> {
    let (source, visibility) = (graph::Source::Document, Visibility::Private);
    graph::Origin { now, since, source, session: None, private: None, visibility }
}

fn write_row(tx: &Connection, document: &Document) -> Result<()> {
    let sql = "INSERT INTO documents (path, size, mtime, hash, chunks, note, graph, private)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (path) DO UPDATE SET size = excluded.size, mtime = excluded.mtime, hash = excluded.hash,
            chunks = excluded.chunks, note = excluded.note, graph = excluded.graph, private = excluded.private";
    let Row { size, mtime, hash, chunks, note, graph, private } = &document.row;
    tx.run(sql, (&document.path, size, mtime, hash, chunks, note, graph, private)).map(drop)
}

/// A chunk that is in the index.
struct Old {
    id: i64,
    reference: String,
    hash: String,
    at: Time,
    lines: (i64, i64),
}

/// Makes the chunks of a document these. One that is there already, under whatever number, stays. Returns how
/// many were written.
fn write_chunks(tx: &Connection, writer: &mut Writer<'_>, path: &str, new: &[Passage]) -> Result<usize> {
    let mut old: HashMap<String, Vec<Old>> = HashMap::new();
    for chunk in chunks_of(tx, path)?.into_iter().rev() {
        old.entry(chunk.hash.clone()).or_default().push(chunk);
    }
    let kept: Vec<Option<Old>> = new
        .iter()
        .map(|passage| passage.slice.as_ref().and_then(|slice| old.get_mut(&slice.hash)?.pop()))
        .collect();
    for chunk in old.into_values().flatten() {
        writer.remove(KIND, &chunk.reference)?;
    }
    let moves = |(passage, old): &(&Passage, &Old)| {
        let lines = passage.slice.as_ref().map(|slice| slice.lines);
        old.reference != passage.reference || old.at != passage.at || Some(old.lines) != lines
    };
    let pairs = || new.iter().zip(&kept).filter_map(|(passage, old)| Some((passage, old.as_ref()?)));
    // Out of each other's way first: a number may still be another chunk's.
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

/// The chunks of a document that are in the index, by number.
fn chunks_of(tx: &Connection, path: &str) -> Result<Vec<Old>> {
    // `$` is the character behind `#`. Another document's path may begin with this one's and `#`; what stands
    // behind it is then no number.
    let sql = "SELECT id, ref, hash, at, first_line, last_line FROM passages
        WHERE kind = 'chunk' AND ref >= $1 || '#' AND ref < $1 || '$'";
    let mut found = Vec::new();
    tx.each(sql, [path], |row| {
        let old = Old {
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

/// Brings the index up to date with the documents (Q5): the Markdown files in the group's folder. Costs a
/// walk over the folder, and no write where nothing changed.
pub fn sync(view: &mut View<'_>) -> Result<Synced> {
    sync_with(view, &mut |_, _| {})
}

/// The same; `progress` is told how many documents have been looked at, and how many there are.
pub fn sync_with(view: &mut View<'_>, progress: &mut dyn FnMut(usize, usize)) -> Result<Synced> {
    let caller = view.caller();
    // What a dead process has decided about files is done first.
    if view.is_on_disk() && view.read_all(change::is_unsettled)? {
        match change::hold(view) {
            Ok(held) => drop(held),
            Err(Error::ReadOnly { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    if !view.settings().documents.index {
        return Ok(Synced::default());
    }
    let (files, graph) = (view.files().clone(), view.settings().graph.documents);
    let read_found = |seen: &WalkedFile| files.read_found(seen);
    sync_database(view.memory(), caller, files.documents(), &read_found, graph, progress)
}

/// Syncs before a search, where there may be something new. What goes wrong is said, not thrown: what is
/// indexed can still be searched.
pub(crate) fn follow(view: &mut View<'_>) -> Option<String> {
    if !view.may_have_changed() {
        return None;
    }
    let problem = sync(view).err()?;
    view.look_again();
    Some(format!("memory: the documents could not be indexed: {problem}"))
}
