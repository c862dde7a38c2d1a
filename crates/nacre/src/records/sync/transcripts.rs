//! Transcripts: every line of a transcript is a record, so a conversation travels as it grows, and a line that was deleted stays
//! deleted like any other record.
//!
//! A line is named by its file and its text. It never changes: an edit deletes one line and adds another. Its order places it
//! among the lines of its file, by the time at which a machine first saw it; a line that somebody inserts gets the order of the
//! line before it with its own time after that. So a file is the same on all machines, whatever the order in which its lines come.
//!
//! In `sync_records`, `local` is the file that a line is in, with a `+` while it still has to be written there, and `text` is its
//! order. What is known of each file is in `sync_state`, so that an unchanged one need not be read.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::clock::{Document, Stamp};
use super::fold::{self, FEW_DELETIONS, Fold};
use super::seal::{MemoryKey, hex};
use crate::base::ids::{ProjectName, SessionId};
use crate::base::origin::RecordOrigin;
use crate::base::{Error, Result};
use crate::group::View;
use crate::records::erase;
use crate::records::session::replica::{self, Arrival, Content};
use crate::records::session::{self, Line};
use crate::records::tombstone::Tombstones;
use crate::records::workspace::checkpoint::DeletedRecord;
use crate::store::Connection;

/// The kind of a line of a transcript.
pub(super) const LINE: &str = "line";
/// The field with what a line says.
const CONTENT: &str = "line";
/// The set of its orders. Machines that saw it apart gave it several; the first one counts.
const ORDER: &str = "order";
/// The set that has a member if the session is hidden from shared sessions.
const PRIVATE: &str = "private";
/// The start of the order of a line that somebody inserted before the first one.
const BEFORE_ALL: &str = "-";
/// Longer lines are no lines of a transcript. A file with one stays on its machine.
const MAX_LINE_BYTES: usize = 16 << 20;
/// The start of the keys under which the state of a file is stored.
const STATE: &str = "transcript ";
/// Marks a line that still has to be written to its file.
const WAITS: &str = "+";

/// A line of a transcript, as all machines have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SyncedLine {
    file: String,
    text: String,
    origin: RecordOrigin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project: Option<ProjectName>,
}

impl SyncedLine {
    fn of(document: &Document) -> Option<SyncedLine> {
        SyncedLine::deserialize(&document.field(CONTENT)?.1).ok()
    }

    /// Returns the key of its message, if it is a valid line.
    fn key(&self) -> Option<String> {
        Line::read(self.text.as_bytes()).map(|line| line.key())
    }

    /// Tells whether it can be a line of a transcript. Another machine may send anything.
    fn is_valid(&self) -> bool {
        self.text.len() <= MAX_LINE_BYTES
            && !self.text.contains('\n')
            && !self.text.trim().is_empty()
            && replica::session_of(&self.file).is_some()
    }

    /// Tells whether it says a deleted text.
    fn is_covered(&self, deleted: &Tombstones) -> bool {
        !deleted.is_empty() && Line::read(self.text.as_bytes()).is_some_and(|line| deleted.cover(line.text()))
    }
}

/// Returns the order of a line.
pub(super) fn order(document: &Document) -> Option<String> {
    document.members(ORDER).next().map(|(order, _)| order.clone())
}

fn id_of(memory: &MemoryKey, file: &str, text: &str) -> String {
    memory.hash(&[LINE, file, text])
}

/// The state of a file on this machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct FileState {
    /// Says which file was read: its size and time. Empty: there is none.
    mark: String,
    /// How many lines it had, and their hash.
    lines: usize,
    hash: String,
    /// The last order among its lines.
    last: String,
    /// Whether lines wait to be appended.
    grows: bool,
    /// Whether lines have to be removed, inserted or ordered.
    changes: bool,
}

impl FileState {
    fn is_due(&self) -> bool {
        self.grows || self.changes
    }

    /// Adds a line to the hash.
    fn add(&mut self, text: &str) {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.hash.as_bytes()).update(text.as_bytes());
        self.hash = hex(&hasher.finalize().as_bytes()[..16]);
        self.lines += 1;
    }

    /// Returns the lines after those that are known; `None` if those have changed.
    fn new_lines<'l>(&self, lines: &'l [String]) -> Option<&'l [String]> {
        let (known, new) = lines.split_at_checked(self.lines)?;
        let mut found = FileState::default();
        known.iter().for_each(|line| found.add(line));
        (found.hash == self.hash).then_some(new)
    }
}

fn states(db: &Connection) -> Result<BTreeMap<String, FileState>> {
    let sql = "SELECT key, value FROM sync_state WHERE key >= $1 AND key < $2";
    let rows: Vec<(String, String)> =
        db.rows(sql, (STATE, "transcript!"), |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.into_iter()
        .map(|(key, value)| Ok((key[STATE.len()..].to_owned(), serde_json::from_str(&value)?)))
        .collect()
}

fn state(db: &Connection, file: &str) -> Result<FileState> {
    let found = fold::state(db, &format!("{STATE}{file}"))?;
    Ok(found.map(|state| serde_json::from_str(&state)).transpose()?.unwrap_or_default())
}

fn set_state(db: &Connection, file: &str, state: &FileState) -> Result<()> {
    fold::set_state(db, &format!("{STATE}{file}"), &serde_json::to_string(state)?)
}

/// Tells whether lines of other machines still have to be written to a file.
pub(super) fn is_waiting(db: &Connection) -> Result<bool> {
    Ok(states(db)?.values().any(FileState::is_due))
}

/// A transcript of this machine that changed since the last round.
pub(super) struct LocalTranscript {
    file: String,
    session: SessionId,
    mark: String,
    lines: Vec<String>,
}

/// Returns the transcripts that changed since the last round. Originals of rewritten ones come first: what a rewrite took out of a
/// transcript is in its original.
pub(super) fn changed(view: &mut View<'_>) -> Result<Vec<LocalTranscript>> {
    if !view.is_on_disk() {
        return Ok(Vec::new());
    }
    let known = view.read_all(states)?;
    let marks = replica::marks(view.files());
    let gone = known.iter().filter(|(file, state)| !state.mark.is_empty() && !marks.contains_key(*file));
    let mut files: Vec<(String, String)> = gone.map(|(file, _)| (file.clone(), String::new())).collect();
    files.extend(
        marks.into_iter().filter(|(file, mark)| known.get(file).is_none_or(|state| state.mark != *mark)),
    );
    files.sort_by_key(|(file, _)| !replica::is_original(file));
    let mut changed = Vec::new();
    for (file, mark) in files {
        let Some(session) = replica::session_of(&file) else { continue };
        {
            let lock = session::lock(view)?;
            // One that can't be read does not stop the others.
            if replica::catch_up(view, &file, &lock).is_err() {
                continue;
            }
        }
        let Ok(lines) = replica::read(view.files(), &file) else { continue };
        if lines.iter().all(|line| line.len() <= MAX_LINE_BYTES) {
            changed.push(LocalTranscript { file, session, mark, lines });
        }
    }
    Ok(changed)
}

impl Fold<'_> {
    /// Turns what happened to the transcripts here into operations. `private` tells whether new lines of private sessions travel.
    pub(super) fn capture_transcripts(
        &mut self,
        changed: &[LocalTranscript],
        private: bool,
        allow_deletions: bool,
    ) -> Result<()> {
        let known = states(self.db)?.values().filter(|state| state.lines > 0).count();
        let gone = changed.iter().filter(|file| file.lines.is_empty()).count();
        if !allow_deletions && gone > FEW_DELETIONS && gone * 2 > known {
            return Err(Error::ManyDeletions { count: gone, total: known });
        }
        self.delete_dead_lines()?;
        changed.iter().try_for_each(|file| self.capture_transcript(file, private))
    }

    /// Deletes lines that were not written to their files because a process died, and whose texts were deleted since.
    fn delete_dead_lines(&mut self) -> Result<()> {
        let due: Vec<String> =
            states(self.db)?.into_iter().filter(|(_, state)| state.is_due()).map(|(file, _)| file).collect();
        if due.is_empty() {
            return Ok(());
        }
        let deleted = Tombstones::load(self.db)?;
        for file in due {
            for row in waiting_lines_of(self.db, &file)? {
                if SyncedLine::of(&row.document).is_some_and(|line| line.is_covered(&deleted)) {
                    self.note_deleted_line(&row.id)?;
                    self.delete(LINE, &row.id)?;
                }
            }
        }
        self.forget_deleted_lines()
    }

    fn capture_transcript(&mut self, transcript: &LocalTranscript, private: bool) -> Result<()> {
        let LocalTranscript { file, session, mark, lines } = transcript;
        let before = state(self.db, file)?;
        let mut after = FileState { mark: mark.clone(), ..before.clone() };
        let about = replica::provenance(self.db, session)?;
        let mut capture = FileCapture {
            file,
            session,
            about: &about,
            travels: private || !about.private,
            after: &mut after,
        };
        match before.new_lines(lines) {
            Some(new) => self.capture_end(&mut capture, new)?,
            None => self.capture_all(&mut capture, lines)?,
        }
        // A file without lines is removed, also if none of its lines was ever captured.
        after.changes |= !mark.is_empty() && lines.iter().all(|line| line.trim().is_empty());
        set_state(self.db, file, &after)?;
        self.forget_deleted_lines()
    }

    /// Captures lines that follow those that are known.
    fn capture_end(&mut self, capture: &mut FileCapture<'_>, new: &[String]) -> Result<()> {
        for text in new {
            capture.after.add(text);
            let id = id_of(self.memory, capture.file, text);
            let known = self.known_order(&id)?;
            let order = match known {
                _ if text.trim().is_empty() => continue,
                _ if self.is_deleted(LINE, &id) => {
                    capture.after.changes = true;
                    self.drop_line(capture, text);
                    continue;
                }
                Some(order) => order,
                None => match self.capture_line(capture, id, text, "")? {
                    Some(order) => order,
                    None => continue,
                },
            };
            capture.after.changes |= order <= capture.after.last;
            capture.after.last = order.max(std::mem::take(&mut capture.after.last));
        }
        Ok(())
    }

    /// Notes a line that is in its file again although it was deleted.
    fn drop_line(&mut self, capture: &FileCapture<'_>, text: &str) {
        let key = Line::read(text.as_bytes()).map(|line| line.key());
        self.deleted_lines.push((capture.file.to_owned(), key));
    }

    /// Captures a file in which lines were removed, inserted or changed.
    fn capture_all(&mut self, capture: &mut FileCapture<'_>, lines: &[String]) -> Result<()> {
        let sql = "SELECT id, text FROM sync_records WHERE kind = 'line' AND local = $1";
        let mut vanished: BTreeMap<String, String> =
            self.db.rows(sql, [capture.file], |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().collect();
        let ids: Vec<String> = lines.iter().map(|text| id_of(self.memory, capture.file, text)).collect();
        let last_known = ids.iter().rposition(|id| vanished.contains_key(id));
        let FileState { mark, .. } = capture.after;
        *capture.after = FileState { mark: std::mem::take(mark), changes: true, ..FileState::default() };
        let mut anchor = BEFORE_ALL.to_owned();
        for (place, (text, id)) in lines.iter().zip(ids).enumerate() {
            capture.after.add(text);
            if text.trim().is_empty() {
                continue;
            }
            if self.is_deleted(LINE, &id) {
                self.drop_line(capture, text);
                continue;
            }
            vanished.remove(&id);
            let order = match self.known_order(&id)? {
                Some(order) => order,
                None => {
                    let is_inserted = last_known.is_some_and(|last| place < last);
                    let after = if is_inserted { &*anchor } else { "" };
                    match self.capture_line(capture, id, text, after)? {
                        Some(order) => order,
                        None => continue,
                    }
                }
            };
            capture.after.last = order.clone().max(std::mem::take(&mut capture.after.last));
            anchor = order;
        }
        for id in vanished.into_keys() {
            self.note_deleted_line(&id)?;
            self.delete(LINE, &id)?;
        }
        Ok(())
    }

    fn known_order(&self, id: &str) -> Result<Option<String>> {
        let sql = "SELECT text FROM sync_records WHERE kind = 'line' AND id = $1";
        Ok(self.db.row(sql, [id], |row| row.get::<Option<String>>(0))?.flatten())
    }

    /// Makes a record of a line, unless it stays on this machine. Returns its order.
    fn capture_line(
        &mut self,
        capture: &FileCapture<'_>,
        id: String,
        text: &str,
        after: &str,
    ) -> Result<Option<String>> {
        if !capture.travels {
            return Ok(None);
        }
        let stamp = Stamp::new(self.clock.tick(self.now), self.device);
        let order = format!("{after}{}", String::from(stamp.clone()));
        let origin =
            capture.about.origin_of(self.db, capture.session, Line::read(text.as_bytes()).as_ref())?;
        let (file, project) = (capture.file.to_owned(), capture.about.project.clone());
        let line = SyncedLine { file, text: text.to_owned(), origin, project };
        let mut document = Document::default();
        document.set(CONTENT, stamp.clone(), serde_json::to_value(line)?);
        document.add(ORDER, order.clone(), json!(true));
        if capture.about.private {
            document.add(PRIVATE, "yes".into(), json!(true));
        }
        fold::save(self.db, self.memory, LINE, &id, capture.file, "", &document)?;
        self.put(stamp, LINE, id, &document)?;
        Ok(Some(order))
    }

    /// Stores lines that other machines wrote or ordered.
    pub(super) fn receive_lines(&mut self, records: Vec<(String, Document, Option<String>)>) -> Result<()> {
        let mut files: BTreeMap<String, FileState> = BTreeMap::new();
        // A machine that joins learns of old deletions, which were applied long ago where the lines were said.
        let deleted = if self.is_joining { Tombstones::default() } else { Tombstones::load(self.db)? };
        for (id, document, local) in records {
            let line = SyncedLine::of(&document)
                .filter(|line| line.is_valid() && id_of(self.memory, &line.file, &line.text) == id);
            let (Some(line), Some(order)) = (line, order(&document)) else {
                fold::save(self.db, self.memory, LINE, &id, "", "", &document)?;
                continue;
            };
            let local = local.filter(|local| !local.is_empty());
            let is_new = local.is_none();
            if is_new && line.is_covered(&deleted) {
                self.delete(LINE, &id)?;
                continue;
            }
            let local = local.unwrap_or_else(|| format!("{WAITS}{}", line.file));
            let state = match files.entry(line.file.clone()) {
                std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::btree_map::Entry::Vacant(free) => free.insert(state(self.db, &line.file)?),
            };
            state.grows |= is_new;
            state.changes |=
                !is_new && self.known_order(&id)?.as_ref() != Some(&order) || order <= state.last;
            fold::save(self.db, self.memory, LINE, &id, &local, "", &document)?;
        }
        files.iter().try_for_each(|(file, state)| set_state(self.db, file, state))?;
        self.forget_deleted_lines()
    }

    /// Notes a line that is about to be deleted.
    pub(super) fn note_deleted_line(&mut self, id: &str) -> Result<()> {
        let line = fold::document(self.db, LINE, id)?.and_then(|document| SyncedLine::of(&document));
        self.deleted_lines.extend(line.map(|line| (line.file.clone(), line.key())));
        Ok(())
    }

    /// Removes the messages of deleted lines from the index. A message of which another line is left, as after an edit, is read again.
    fn forget_deleted_lines(&mut self) -> Result<()> {
        let mut by_file: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (file, key) in std::mem::take(&mut self.deleted_lines) {
            by_file.entry(file).or_default().extend(key);
        }
        for (file, keys) in by_file {
            let state = FileState { changes: true, ..state(self.db, &file)? };
            set_state(self.db, &file, &state)?;
            let Some(session) = replica::session_of(&file) else { continue };
            let kept = self.keys_of(&file)?;
            let mut kept_elsewhere: HashSet<String> = HashSet::new();
            for other in states(self.db)?.into_keys().filter(|other| *other != file) {
                if replica::session_of(&other).as_ref() == Some(&session) {
                    kept_elsewhere.extend(self.keys_of(&other)?);
                }
            }
            for key in keys.iter().filter(|key| !kept_elsewhere.contains(*key)) {
                replica::forget_message(self.db, &session, key)?;
                if !kept.contains(key) {
                    let gone: Vec<DeletedRecord> = erase::line(self.db, &format!("{session}/{key}"))?;
                    self.report.gone.extend(gone);
                }
            }
        }
        Ok(())
    }

    /// Returns the keys of the lines of a file.
    fn keys_of(&self, file: &str) -> Result<HashSet<String>> {
        let rows = lines_of(self.db, file)?;
        Ok(rows.iter().filter_map(|row| SyncedLine::of(&row.document)?.key()).collect())
    }
}

/// A file that is captured.
struct FileCapture<'c> {
    file: &'c str,
    session: &'c SessionId,
    about: &'c replica::Provenance,
    /// Whether its new lines travel.
    travels: bool,
    after: &'c mut FileState,
}

/// A line that is known.
struct LineRow {
    id: String,
    waits: bool,
    order: String,
    document: Document,
}

/// Returns the lines of a file in their order, those that wait included.
fn lines_of(db: &Connection, file: &str) -> Result<Vec<LineRow>> {
    let sql = "SELECT id, local, text, document FROM sync_records
        WHERE kind = 'line' AND local IN ($1, '+' || $1) AND local <> '' ORDER BY text";
    rows_of(db, sql, file)
}

/// Returns the lines of a file that are not written to it yet, in their order.
fn waiting_lines_of(db: &Connection, file: &str) -> Result<Vec<LineRow>> {
    let sql = "SELECT id, local, text, document FROM sync_records
        WHERE kind = 'line' AND local = '+' || $1 AND local <> '' ORDER BY text";
    rows_of(db, sql, file)
}

fn rows_of(db: &Connection, sql: &str, file: &str) -> Result<Vec<LineRow>> {
    let rows: Vec<(String, String, String, String)> =
        db.rows(sql, [file], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let row = |(id, local, order, document): (String, String, String, String)| {
        Ok(LineRow { id, waits: local.starts_with(WAITS), order, document: serde_json::from_str(&document)? })
    };
    rows.into_iter().map(row).collect()
}

/// Writes lines of other machines to their files, and removes lines that were deleted. A file that can't be written does not stop
/// the others. Returns what was wrong.
pub(super) fn write(view: &mut View<'_>, memory: &MemoryKey) -> Result<Vec<String>> {
    let mut due: Vec<(String, FileState)> =
        view.read_all(states)?.into_iter().filter(|(_, state)| state.is_due()).collect();
    if due.is_empty() || !replica::is_writable(view.files()) {
        return Ok(Vec::new());
    }
    // Originals first: they have the lines that a rewrite took out of a transcript.
    due.sort_by_key(|(file, _)| !replica::is_original(file));
    let due: Vec<DueFile> = view.read_all(|db| {
        due.into_iter().map(|(file, state)| DueFile::read(db, file, state)).collect::<Result<_>>()
    })?;
    // A session is noted before its lines are read, so that nobody sees a private one.
    let mut sessions: BTreeMap<Option<SessionId>, (bool, RecordOrigin)> = BTreeMap::new();
    view.write(|tx| {
        for DueFile { file, arrival, .. } in &due {
            sessions.insert(replica::session_of(file), replica::open(tx, file, arrival)?);
        }
        Ok(())
    })?;
    let (mut written, mut problems) = (Vec::new(), Vec::new());
    for mut file in due {
        let (private, origin) = sessions[&replica::session_of(&file.file)];
        // The lock is released after each, so that nobody who appends waits long.
        let lock = session::lock(view)?;
        match file.write(view, memory, private, &lock) {
            Ok(after) => written.push((file, after, origin)),
            Err(problem) => problems.push(problem.to_string()),
        }
    }
    let files = view.files().clone();
    view.write(|tx| {
        written.iter().try_for_each(|(file, after, origin)| {
            replica::settle(tx, &files, &file.file, &file.arrival, *origin)?;
            file.settle(tx, after)
        })
    })?;
    replica::list(view, &session::lock(view)?)?;
    Ok(problems)
}

/// A file to which lines of other machines have to be written, or of which lines have to be removed.
struct DueFile {
    file: String,
    state: FileState,
    /// The lines that wait, in their order.
    waiting: Vec<LineRow>,
    arrival: Arrival,
}

impl DueFile {
    fn read(db: &Connection, file: String, state: FileState) -> Result<DueFile> {
        let waiting = waiting_lines_of(db, &file)?;
        let lines: Vec<SyncedLine> = waiting.iter().filter_map(|row| SyncedLine::of(&row.document)).collect();
        let message = |line: &SyncedLine| Some((Line::read(line.text.as_bytes())?.id, line.origin));
        let arrival = Arrival {
            private: waiting.iter().any(|row| row.document.members(PRIVATE).next().is_some()),
            project: lines.iter().find_map(|line| line.project.clone()),
            messages: lines.iter().filter_map(message).collect(),
            again: false,
        };
        Ok(DueFile { file, state, waiting, arrival })
    }

    /// Writes the file and reads it into the index. Returns its state.
    fn write(
        &mut self,
        view: &mut View<'_>,
        memory: &MemoryKey,
        private: bool,
        lock: &session::Lock,
    ) -> Result<FileState> {
        let (file, before) = (&*self.file, &self.state);
        let mark = replica::mark(view.files(), file).unwrap_or_default();
        let is_append = !before.changes
            && mark == before.mark
            && self.waiting.first().is_none_or(|first| first.order > before.last);
        let (mut after, content) = if is_append {
            let lines = self.waiting.iter().filter_map(|row| SyncedLine::of(&row.document));
            let new: Vec<String> = lines.map(|line| line.text).collect();
            let mut after = FileState { grows: false, ..before.clone() };
            new.iter().for_each(|text| after.add(text));
            (after, (!new.is_empty()).then_some(Content::Append(new)))
        } else {
            whole_file(view, memory, file)?
        };
        if let Some(content) = &content {
            replica::write(view, file, content, lock)?;
            crate::store::crash::point("transcript written");
        }
        if let Some(last) = self.waiting.last() {
            after.last = last.order.clone().max(after.last);
        }
        // Lines that somebody appended meanwhile are captured in the next round.
        if !after.mark.is_empty() || is_append {
            after.mark = replica::mark(view.files(), file).unwrap_or_default();
        }
        self.arrival.again = !is_append;
        replica::index_lines(view, file, &self.arrival, private, lock)?;
        Ok(after)
    }

    fn settle(&self, tx: &Connection, after: &FileState) -> Result<()> {
        for row in &self.waiting {
            let sql = "UPDATE sync_records SET local = $2 WHERE kind = 'line' AND id = $1";
            tx.run(sql, (&row.id, &self.file))?;
        }
        match *after == FileState::default() {
            true => fold::remove_state(tx, &format!("{STATE}{}", self.file)),
            false => set_state(tx, &self.file, after),
        }
    }
}

/// Returns the state of a file as it should be, and its content if it is not so yet. A line that nobody captured yet stays at the end.
fn whole_file(view: &View<'_>, memory: &MemoryKey, file: &str) -> Result<(FileState, Option<Content>)> {
    let here = replica::read(view.files(), file)?;
    let ids: HashMap<String, &String> = here.iter().map(|text| (id_of(memory, file, text), text)).collect();
    let (rows, gone) = view.read_all(|db| {
        let gone = "SELECT EXISTS (SELECT 1 FROM sync_tombstones WHERE kind = 'line' AND id = $1)";
        let mut dead = HashSet::new();
        for id in ids.keys() {
            if db.one(gone, [id], |row| row.get(0))? {
                dead.insert(id.clone());
            }
        }
        Ok((lines_of(db, file)?, dead))
    })?;
    let mut after = FileState::default();
    let mut content: Vec<String> = Vec::new();
    let known: HashSet<&String> = rows.iter().map(|row| &row.id).collect();
    for row in &rows {
        // A line that is not in its file any more was removed since it was captured.
        if let Some(line) = SyncedLine::of(&row.document).filter(|_| row.waits || ids.contains_key(&row.id)) {
            after.add(&line.text);
            after.last = row.order.clone();
            content.push(line.text);
        }
    }
    let captured = content.len();
    let mut uncaptured = here.iter().filter(|text| !text.trim().is_empty()).filter(|text| {
        let id = id_of(memory, file, text);
        !known.contains(&id) && !gone.contains(&id)
    });
    content.extend(uncaptured.by_ref().cloned());
    let has_vanished = rows.iter().any(|row| !row.waits && !ids.contains_key(&row.id));
    if content.len() == captured && !has_vanished && !content.is_empty() {
        after.mark = "written".into();
    }
    // A file without lines is removed.
    let is_same = content == here && (!here.is_empty() || replica::mark(view.files(), file).is_none());
    Ok((after, (!is_same).then_some(Content::Replace(content))))
}
