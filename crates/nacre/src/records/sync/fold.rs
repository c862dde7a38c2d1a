//! Between the rows of this machine and the documents that all machines share.
//!
//! *Capture* compares the rows with the documents: every difference is something that happened here since the last round, and
//! becomes an operation. *Apply* merges operations of other machines into the documents, and writes the rows that changed. Both
//! work inside one transaction, so a crash leaves all of a round or nothing.

use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};

use super::clock::{Clock, Document, Stamp, Values};
use super::files::{self, FILE};
use super::kinds::{BLOCK, Change, ENTRY, HISTORY, KINDS, Kind, LocalRow, kind};
use super::log::{Hash, Op, Position, ReadRecord, Record, seal_text, text_hash};
use super::seal::{DeviceId, MemoryKey, from_hex, hex};
use super::transcripts::{self, LINE};
use crate::base::{Error, Result, Time, text};
use crate::records::entry::{STATEMENT, Statement};
use crate::records::tombstone::Tombstones;
use crate::records::workspace::checkpoint::DeletedRecord;
use crate::store::Connection;

/// The new records of the log of a device, and how far it was read.
pub(super) type NewRecords = (DeviceId, Vec<ReadRecord<Document>>, Position);

/// Returns what new records say, by kind and id.
pub(super) fn documents_of(logs: &[NewRecords]) -> BTreeMap<(String, String), Document> {
    let mut said: BTreeMap<(String, String), Document> = BTreeMap::new();
    for read in logs.iter().flat_map(|(_, records, _)| records) {
        if let Some(text) = &read.text {
            said.entry((read.record.kind.clone(), read.record.id.clone())).or_default().merge(text);
        }
    }
    said
}

/// A record that other devices changed.
struct MergedRecord {
    document: Document,
    /// Its row here, if it has one.
    local: Option<String>,
}

/// A round in which fewer records vanished never asks whether that was meant.
pub(super) const FEW_DELETIONS: usize = 20;

/// The device, and the transaction of a round.
pub(super) struct Fold<'a> {
    pub(super) db: &'a Connection,
    pub(super) memory: &'a MemoryKey,
    pub(super) device: &'a DeviceId,
    pub(super) now: Time,
    pub(super) clock: Clock,
    /// The number of the next operation.
    next: u64,
    /// Whether this device has not published anything yet. Then its rows have the times that they name themselves.
    is_new: bool,
    /// Whether it had not published anything when the round began.
    pub(super) is_joining: bool,
    /// The files and messages of lines of transcripts that were deleted.
    pub(super) deleted_lines: Vec<(String, Option<String>)>,
    /// The records that are deleted, by kind.
    deleted: BTreeMap<String, BTreeSet<String>>,
    /// The operations that wait to be written, by kind and id; read when the first record is deleted.
    waiting: Option<BTreeMap<(String, String), Vec<i64>>>,
    pub(super) report: FoldReport,
}

/// The operations of a round.
#[derive(Debug, Default)]
pub(super) struct FoldReport {
    /// Operations of this machine.
    pub(super) captured: usize,
    /// Operations of other machines.
    pub(super) applied: usize,
    /// Records that were deleted here because another machine deleted them.
    pub(super) deleted: usize,
    /// The same records, as checkpoints and the audit log name them.
    pub(super) gone: Vec<DeletedRecord>,
    /// Deletions of any machine, whose texts were removed from the database.
    pub(super) buried: usize,
    /// Versions of documents, of any machine.
    pub(super) versions: usize,
    /// Proposals for documents that two machines changed in the same place.
    pub(super) proposals: usize,
}

impl<'a> Fold<'a> {
    pub(super) fn new(
        db: &'a Connection,
        memory: &'a MemoryKey,
        device: &'a DeviceId,
        now: Time,
    ) -> Result<Fold<'a>> {
        let last: i64 = db.one("SELECT coalesce(max(number), 0) FROM sync_outbox", (), |row| row.get(0))?;
        let own = position(db, device)?.number;
        let is_new = own == 0 && last == 0;
        let next = own.max(u64::try_from(last).unwrap_or(0)) + 1;
        let clock = Clock(state(db, CLOCK)?.and_then(|time| time.parse().ok()).unwrap_or(0));
        let mut deleted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let sql = "SELECT kind, id FROM sync_tombstones";
        for (kind, id) in db.rows(sql, (), |row| Ok((row.get::<String>(0)?, row.get(1)?)))? {
            deleted.entry(kind).or_default().insert(id);
        }
        Ok(Fold {
            db,
            memory,
            device,
            now,
            clock,
            next,
            is_new,
            is_joining: is_new,
            deleted_lines: Vec::new(),
            deleted,
            waiting: None,
            report: FoldReport::default(),
        })
    }

    pub(super) fn is_deleted(&self, kind: &str, id: &str) -> bool {
        self.deleted.get(kind).is_some_and(|ids| ids.contains(id))
    }

    /// Tells whether this device has not published anything yet.
    pub(super) fn is_new(&self) -> bool {
        self.is_new
    }

    /// Writes what has to be known in the next round.
    pub(super) fn finish(self) -> Result<FoldReport> {
        set_state(self.db, CLOCK, &self.clock.0.to_string())?;
        set_state(self.db, AUDIT, &audit_head(self.db)?)?;
        Ok(self.report)
    }

    /// Repeats the deletions of the device that this one replaces: its last ones may be in no log.
    pub(super) fn repeat_deletions(&mut self, replaced: &DeviceId) -> Result<()> {
        for Tombstone { kind, id, at, .. } in
            tombstones(self.db)?.iter().filter(|gone| gone.device == *replaced)
        {
            let sql = "UPDATE sync_tombstones SET device = $3, number = $4 WHERE kind = $1 AND id = $2";
            let number = i64::try_from(self.next).expect("a count");
            self.db.run(sql, (kind, id, self.device.as_str(), number))?;
            let op = Op::Delete(Vec::new());
            self.append(&Record { at: at.clone(), kind: kind.clone(), id: id.clone(), op }, None)?;
        }
        Ok(())
    }

    /// After the key was replaced: repeats what the new logs of the other devices do not have.
    pub(super) fn repeat_all(&mut self, said: &BTreeMap<(String, String), Document>) -> Result<()> {
        let sql = "SELECT kind, id, document FROM sync_records WHERE NOT EXISTS (SELECT 1 FROM sync_outbox
            WHERE sync_outbox.kind = sync_records.kind AND sync_outbox.id = sync_records.id) ORDER BY kind, id";
        let known = self
            .db
            .rows(sql, (), |row| Ok((row.get::<String>(0)?, row.get::<String>(1)?, row.get::<String>(2)?)))?;
        for (kind, id, document) in known {
            let document: Document = serde_json::from_str(&document)?;
            let place = (kind, id);
            if said.get(&place) != Some(&document) {
                let stamp = Stamp::new(self.clock.tick(self.now), self.device);
                self.put(stamp, &place.0, place.1, &document)?;
            }
        }
        for Tombstone { kind, id, at, .. } in tombstones(self.db)?.iter().filter(|gone| gone.number == 0) {
            let sql = "SELECT hash FROM sync_texts WHERE at = $1 ORDER BY hash";
            let texts = self.db.rows(sql, [String::from(at.clone())], |row| row.get(0))?;
            let sql = "UPDATE sync_tombstones SET device = $3, number = $4 WHERE kind = $1 AND id = $2";
            let number = i64::try_from(self.next).expect("a count");
            self.db.run(sql, (kind, id, self.device.as_str(), number))?;
            let op = Op::Delete(texts);
            self.append(&Record { at: at.clone(), kind: kind.clone(), id: id.clone(), op }, None)?;
        }
        remove_state(self.db, NEW_KEY)
    }

    /// Turns what happened here since the last round into operations. `private` tells whether new private records travel.
    pub(super) fn capture(&mut self, private: bool, allow_deletions: bool) -> Result<()> {
        let (mut vanished, mut known_records) = (Vec::new(), 0);
        for kind in KINDS {
            let known = known_rows(self.db, kind.name)?;
            known_records += known.len();
            let mut seen: BTreeSet<&str> = BTreeSet::new();
            let rows = (kind.read)(self.db)?;
            let mut again: Vec<&str> = Vec::new();
            for row in &rows {
                let hash = row_hash(&row.values)?;
                match known.get(&row.local) {
                    Some((_, before)) if *before == hash => {}
                    Some((id, _)) => self.capture_row(kind.name, id.clone(), row, &hash)?,
                    None if !private && row.values.is_private() => continue,
                    None => {
                        let key: Vec<&str> =
                            std::iter::once(kind.name).chain(row.key.iter().map(String::as_str)).collect();
                        let mut id =
                            if kind.has_own_ids { row.key[0].clone() } else { self.memory.hash(&key) };
                        if self.is_deleted(kind.name, &id) {
                            if kind.has_own_ids {
                                again.push(&row.local);
                                continue;
                            }
                            // It was said again after it was deleted.
                            let stamp = String::from(Stamp::new(self.clock.tick(self.now), self.device));
                            id = self.memory.hash(&[&id, &stamp]);
                        } else if let Some(local) = local_of(self.db, kind.name, &id)?
                            && !local.is_empty()
                        {
                            // Another row says the same.
                            continue;
                        }
                        self.capture_row(kind.name, id, row, &hash)?;
                    }
                }
                seen.insert(&row.local);
            }
            for (local, (id, _)) in &known {
                if !seen.contains(local.as_str()) {
                    vanished.push((kind.name, id.clone()));
                }
            }
            // A deletion beats every later import of the same record.
            for local in again {
                self.erase(kind, local)?;
            }
        }
        if !allow_deletions && vanished.len() > FEW_DELETIONS && vanished.len() * 2 > known_records {
            return Err(Error::ManyDeletions { count: vanished.len(), total: known_records });
        }
        self.is_new = false;
        vanished.into_iter().try_for_each(|(kind, id)| self.delete(kind, &id))?;
        self.delete_dead_texts()
    }

    fn capture_row(&mut self, kind: &str, id: String, row: &LocalRow, hash: &str) -> Result<()> {
        let known = document(self.db, kind, &id)?;
        // A change of a record of another machine is a new one, even if this machine has never written before.
        let dates_itself = self.is_new && known.is_none();
        let mut document = known.unwrap_or_default();
        let stamp = match row.values.moment().filter(|_| dates_itself) {
            Some(moment) => {
                let time = Clock::default().tick(moment.min(self.now));
                // A later change in the same millisecond must be later here too.
                self.clock.observe(time);
                Stamp::new(time, self.device)
            }
            None => Stamp::new(self.clock.tick(self.now), self.device),
        };
        let before = document.clone();
        let changed = document.update(&row.values, &stamp);
        // As on the machines that see one statement replace another.
        keep_earlier_statement(&mut document, &[&before])?;
        save(self.db, self.memory, kind, &id, &row.local, hash, &document)?;
        if changed {
            self.put(stamp, kind, id, &document)?;
        }
        Ok(())
    }

    pub(super) fn put(&mut self, at: Stamp, kind: &str, id: String, document: &Document) -> Result<()> {
        if kind == FILE {
            files::note_put(self.db, &id, self.next, document)?;
            self.report.versions += 1;
        }
        let sealed = seal_text(self.memory, self.device, self.next, &serde_json::to_vec(document)?)?;
        let record = Record { at, kind: kind.to_owned(), id, op: Op::Put(text_hash(&sealed)) };
        self.append(&record, Some(sealed))
    }

    fn append(&mut self, record: &Record, sealed: Option<Vec<u8>>) -> Result<()> {
        let sql = "INSERT INTO sync_outbox (number, kind, id, record, sealed) VALUES ($1, $2, $3, $4, $5)";
        let number = i64::try_from(self.next).expect("a count");
        self.db.run(sql, (number, &record.kind, &record.id, serde_json::to_string(record)?, sealed))?;
        if let Some(waiting) = &mut self.waiting {
            waiting.entry((record.kind.clone(), record.id.clone())).or_default().push(number);
        }
        self.next += 1;
        self.report.captured += 1;
        Ok(())
    }

    /// Deletes a row of this machine that was deleted elsewhere.
    fn erase(&mut self, kind: &Kind, local: &str) -> Result<()> {
        self.report.gone.extend((kind.erase)(self.db, local)?);
        self.report.deleted += 1;
        Ok(())
    }

    /// Deletes a record on every machine.
    pub(super) fn delete(&mut self, kind: &str, id: &str) -> Result<()> {
        let at = Stamp::new(self.clock.tick(self.now), self.device);
        let texts = match document(self.db, kind, id)? {
            Some(document) => buried_texts(self.db, self.memory, kind, &document)?,
            None => Vec::new(),
        };
        let (device, number) = (self.device.clone(), self.next);
        self.bury(kind, id, &at, &device, number, &texts)?;
        self.append(&Record { at, kind: kind.to_owned(), id: id.to_owned(), op: Op::Delete(texts) }, None)
    }

    /// Notes a deletion, and removes everything that is known of the record.
    fn bury(
        &mut self,
        kind: &str,
        id: &str,
        at: &Stamp,
        device: &DeviceId,
        number: u64,
        texts: &[String],
    ) -> Result<()> {
        self.report.buried += 1;
        let at = String::from(at.clone());
        let sql = "INSERT INTO sync_tombstones (kind, id, at, device, number) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (kind, id) DO UPDATE SET at = excluded.at, device = excluded.device, number = excluded.number, scrubbed = false
            WHERE excluded.at > sync_tombstones.at OR (excluded.at = sync_tombstones.at AND sync_tombstones.number = 0)";
        self.db.run(sql, (kind, id, &at, device.as_str(), i64::try_from(number).expect("a count")))?;
        self.db.run("DELETE FROM sync_records WHERE kind = $1 AND id = $2", (kind, id))?;
        for hash in texts {
            let sql = "INSERT INTO sync_texts (hash, at) VALUES ($1, $2)
                ON CONFLICT (hash) DO UPDATE SET at = excluded.at WHERE excluded.at > sync_texts.at";
            self.db.run(sql, (hash, &at))?;
        }
        self.deleted.entry(kind.to_owned()).or_default().insert(id.to_owned());
        // Operations that wait to be written have the text as well.
        let numbers = self.waiting()?.remove(&(kind.to_owned(), id.to_owned())).unwrap_or_default();
        let sql = "UPDATE sync_outbox SET sealed = NULL WHERE number = $1";
        numbers.into_iter().try_for_each(|number| self.db.run(sql, [number]).map(drop))
    }

    /// The operations that wait to be written. A look at the table for each deletion would read all of it each time.
    fn waiting(&mut self) -> Result<&mut BTreeMap<(String, String), Vec<i64>>> {
        if self.waiting.is_none() {
            let mut waiting: BTreeMap<(String, String), Vec<i64>> = BTreeMap::new();
            let sql = "SELECT kind, id, number FROM sync_outbox";
            for (kind, id, number) in
                self.db.rows(sql, (), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            {
                waiting.entry((kind, id)).or_default().push(number);
            }
            self.waiting = Some(waiting);
        }
        Ok(self.waiting.as_mut().expect("just read"))
    }

    /// Merges what other devices did.
    pub(super) fn apply(&mut self, logs: Vec<NewRecords>) -> Result<()> {
        let mut documents: BTreeMap<(String, String), MergedRecord> = BTreeMap::new();
        let mut deleted: Vec<(String, String)> = Vec::new();
        // Records to which merging added something that no machine had said.
        let mut merged: BTreeSet<(&str, String)> = BTreeSet::new();
        for (device, records, end) in logs {
            for read in records {
                let ReadRecord { number, record: Record { at, kind, id, op }, text } = read;
                self.clock.observe(at.time());
                self.report.applied += 1;
                match (op, text) {
                    (Op::Put(_), Some(_)) if self.is_deleted(&kind, &id) => {}
                    (Op::Put(_), Some(theirs)) => {
                        let (is_entry, is_file) = (kind == ENTRY, kind == FILE);
                        let name = if is_entry || is_file { id.clone() } else { String::new() };
                        if is_file {
                            files::note_old_versions(self.db)?;
                            self.report.versions += 1;
                        }
                        let ours = match documents.entry((kind, id)) {
                            Slot::Occupied(ours) => &mut ours.into_mut().document,
                            Slot::Vacant(free) => match known_record(self.db, free.key())? {
                                Some(ours) => &mut free.insert(ours).document,
                                None => {
                                    free.insert(MergedRecord { document: theirs, local: None });
                                    continue;
                                }
                            },
                        };
                        let before = (is_entry || is_file).then(|| ours.clone());
                        ours.merge(&theirs);
                        match before {
                            Some(before) if is_file => {
                                let is_merged = self.merge_versions(ours, &before, &theirs)?;
                                merged.extend(is_merged.then_some((FILE, name)));
                            }
                            Some(before) => {
                                let is_kept = keep_earlier_statement(ours, &[&before, &theirs])?;
                                merged.extend(is_kept.then_some((ENTRY, name)));
                            }
                            None => {}
                        }
                    }
                    // Its text was removed: the deletion is in the log, or will come.
                    (Op::Put(_), None) => {}
                    (Op::Delete(texts), _) => {
                        let known = local_of(self.db, &kind, &id)?;
                        if kind == LINE {
                            self.note_deleted_line(&id)?;
                        }
                        self.bury(&kind, &id, &at, &device, number, &texts)?;
                        documents.remove(&(kind.clone(), id));
                        if let Some(local) = known.filter(|local| !local.is_empty()) {
                            deleted.push((kind, local));
                        }
                    }
                }
            }
            set_position(self.db, &device, end)?;
        }
        for (name, local) in &deleted {
            if let Some(kind) = kind(name) {
                self.erase(kind, local)?;
            }
        }
        self.write_rows(documents)?;
        for (kind, id) in merged {
            if self.is_deleted(kind, &id) {
                continue;
            }
            let Some(document) = document(self.db, kind, &id)? else { continue };
            let stamp = Stamp::new(self.clock.tick(self.now), self.device);
            self.put(stamp, kind, id, &document)?;
        }
        self.delete_dead_texts()
    }

    /// Writes the rows of documents that changed.
    fn write_rows(&mut self, documents: BTreeMap<(String, String), MergedRecord>) -> Result<()> {
        let mut by_kind: BTreeMap<String, BTreeMap<String, MergedRecord>> = BTreeMap::new();
        for ((kind, id), record) in documents {
            by_kind.entry(kind).or_default().insert(id, record);
        }
        // A dependency that came before its tasks is tried again.
        let waiting = "SELECT id, document FROM sync_records WHERE kind = $1 AND local = ''";
        for (id, document) in
            self.db.rows(waiting, [BLOCK], |row| Ok((row.get::<String>(0)?, row.get::<String>(1)?)))?
        {
            let document = serde_json::from_str(&document)?;
            let waiting = by_kind.entry(BLOCK.to_owned()).or_default();
            waiting.entry(id).or_insert(MergedRecord { document, local: None });
        }
        for kind in KINDS {
            let Some(records) = by_kind.remove(kind.name) else { continue };
            let change = |(id, record): (&String, &MergedRecord)| {
                let local = record.local.clone().filter(|local| !local.is_empty());
                Change { id: id.clone(), local, values: record.document.values() }
            };
            let mut changes: Vec<Change> = records.iter().map(change).collect();
            (kind.write)(self.db, self.now, &mut changes)?;
            for (change, (id, record)) in changes.iter().zip(&records) {
                let mut local = change.local.as_deref().unwrap_or_default();
                // Another record may have the row already: the one whose id sorts first keeps it.
                let is_own = kind.has_own_ids && local == id;
                let others = if is_own { Vec::new() } else { records_of_row(self.db, kind.name, local)? };
                for other in others.iter().filter(|other| *other != id) {
                    if other < id {
                        local = "";
                    } else {
                        let sql = "UPDATE sync_records SET local = '' WHERE kind = $1 AND id = $2";
                        self.db.run(sql, (kind.name, other))?;
                    }
                }
                let hash = row_hash(&change.values)?;
                save(self.db, self.memory, kind.name, id, local, &hash, &record.document)?;
            }
        }
        let lines = by_kind.remove(LINE).unwrap_or_default();
        self.receive_lines(lines.into_iter().map(|(id, line)| (id, line.document, line.local)).collect())?;
        // Files are written when the transaction is done. Records of kinds that only a newer program knows are kept for it.
        for (kind, documents) in by_kind {
            for (id, MergedRecord { document, .. }) in documents {
                let sql = "SELECT local, row_hash FROM sync_records WHERE kind = $1 AND id = $2";
                let known = self.db.row(sql, (&kind, &id), |row| Ok((row.get(0)?, row.get(1)?)))?;
                let (local, row): (String, String) = known.unwrap_or_default();
                save(self.db, self.memory, &kind, &id, &local, &row, &document)?;
            }
        }
        Ok(())
    }

    /// Deletes entries whose text was deleted on another machine: the same text that was stored there or imported twice.
    fn delete_dead_texts(&mut self) -> Result<()> {
        let sql = "SELECT sync_records.id, local, sync_texts.at, document FROM sync_records JOIN sync_texts ON hash = text
            WHERE kind = 'entry'";
        let found: Vec<(String, String, String, String)> =
            self.db.rows(sql, (), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
        for (id, local, deleted_at, document) in found {
            let document: Document = serde_json::from_str(&document)?;
            let Some((stamp, _)) = document.field(STATEMENT) else { continue };
            let imported = document.values().text("source") == Some("migration");
            // A person who stores the text again afterwards wants it back. An import does not.
            if !imported && String::from(stamp.clone()) > deleted_at {
                continue;
            }
            if !local.is_empty() {
                self.erase(kind(ENTRY).expect("it is listed"), &local)?;
            }
            self.delete(ENTRY, &id)?;
        }
        Ok(())
    }
}

/// Keeps the statement that lost against a later one as history, so that no text is lost. Returns whether it was new: then the other
/// machines have to learn of it, because the one that replaced the statement itself notes another time.
fn keep_earlier_statement(merged: &mut Document, sides: &[&Document]) -> Result<bool> {
    let mut is_new = false;
    for side in sides {
        let Some((stamp, lost)) = side.field(STATEMENT).filter(|lost| Some(*lost) != merged.field(STATEMENT))
        else {
            continue;
        };
        let session = side.field("session").map(|(_, session)| session.clone()).unwrap_or_default();
        let (Ok(statement), Ok(session)) =
            (serde_json::from_value::<Statement>(lost.clone()), serde_json::from_value(session))
        else {
            continue;
        };
        let (key, version) = statement.into_version(stamp.moment(), session);
        // The machine that replaced it knows in which session that was.
        if !merged.members(HISTORY).any(|(known, _)| *known == key) {
            merged.add(HISTORY, key, serde_json::to_value(version)?);
            is_new = true;
        }
    }
    Ok(is_new)
}

/// Returns the text of an entry.
fn content(document: &Document) -> Option<&str> {
    document.field(STATEMENT)?.1.get("content")?.as_str()
}

/// Returns keyed hashes of those texts of a record that a person deleted for good. Other deletions, such as the purge of superseded
/// memories, speak of one record and not of its text.
fn buried_texts(db: &Connection, memory: &MemoryKey, kind: &str, document: &Document) -> Result<Vec<String>> {
    if kind != ENTRY {
        return Ok(Vec::new());
    }
    let buried = Tombstones::load(db)?;
    let earlier = document.members(HISTORY).filter_map(|(_, version)| version["content"].as_str());
    let texts = content(document).into_iter().chain(earlier).filter(|text| buried.cover(text));
    let hashes: BTreeSet<String> = texts.map(|text| content_hash(memory, text)).collect();
    Ok(hashes.into_iter().collect())
}

fn content_hash(memory: &MemoryKey, content: &str) -> String {
    memory.hash(&["text", &text::canonical(content)])
}

/// Returns the hash of a row. A document has no counter that nobody has changed and no set without a member, and a row may have
/// them: they do not count, or every record of another machine would be taken for one that was changed here.
fn row_hash(values: &Values) -> Result<String> {
    let counters: BTreeMap<&String, &i64> =
        values.counters.iter().filter(|(_, count)| **count != 0).collect();
    let sets: BTreeMap<_, _> = values.sets.iter().filter(|(_, members)| !members.is_empty()).collect();
    let compared = serde_json::to_vec(&(&values.fields, counters, sets))?;
    Ok(hex(&blake3::hash(&compared).as_bytes()[..16]))
}

/// Returns the rows that are known, with the id and the hash of each.
fn known_rows(db: &Connection, kind: &str) -> Result<BTreeMap<String, (String, String)>> {
    let sql = "SELECT local, id, row_hash FROM sync_records WHERE kind = $1 AND local <> ''";
    let rows = db.rows(sql, [kind], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
    Ok(rows.into_iter().collect())
}

fn local_of(db: &Connection, kind: &str, id: &str) -> Result<Option<String>> {
    db.row("SELECT local FROM sync_records WHERE kind = $1 AND id = $2", (kind, id), |row| row.get(0))
}

pub(super) fn document(db: &Connection, kind: &str, id: &str) -> Result<Option<Document>> {
    let sql = "SELECT document FROM sync_records WHERE kind = $1 AND id = $2";
    let found: Option<String> = db.row(sql, (kind, id), |row| row.get(0))?;
    Ok(found.map(|document| serde_json::from_str(&document)).transpose()?)
}

pub(super) fn save(
    db: &Connection,
    memory: &MemoryKey,
    kind: &str,
    id: &str,
    local: &str,
    row: &str,
    document: &Document,
) -> Result<()> {
    let text = match kind {
        ENTRY => content(document).map(|content| content_hash(memory, content)),
        FILE => files::newest_key(document),
        LINE => transcripts::order(document),
        _ => None,
    };
    let sql = "INSERT INTO sync_records (kind, id, local, text, row_hash, document) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (kind, id) DO UPDATE SET local = excluded.local, text = excluded.text, row_hash = excluded.row_hash,
            document = excluded.document";
    db.run(sql, (kind, id, local, text, row, serde_json::to_string(document)?)).map(drop)
}

/// Returns what is known of a record.
fn known_record(db: &Connection, (kind, id): &(String, String)) -> Result<Option<MergedRecord>> {
    let sql = "SELECT document, local FROM sync_records WHERE kind = $1 AND id = $2";
    let found = db.row(sql, (kind, id), |row| Ok((row.get::<String>(0)?, row.get(1)?)))?;
    let Some((document, local)) = found else { return Ok(None) };
    Ok(Some(MergedRecord { document: serde_json::from_str(&document)?, local: Some(local) }))
}

/// Returns the ids of the records that have a row.
fn records_of_row(db: &Connection, kind: &str, local: &str) -> Result<Vec<String>> {
    // The second condition is that of the index: without it, SQLite reads all records of the kind.
    let sql = "SELECT id FROM sync_records WHERE kind = $1 AND local = $2 AND local <> ''";
    if local.is_empty() { Ok(Vec::new()) } else { db.rows(sql, (kind, local), |row| row.get(0)) }
}

/// Returns how far the log of a device was read.
pub(super) fn position(db: &Connection, device: &DeviceId) -> Result<Position> {
    Ok(positions(db)?.remove(device).unwrap_or(Position::START))
}

/// Returns how far each log was read.
pub(super) fn positions(db: &Connection) -> Result<BTreeMap<DeviceId, Position>> {
    let rows: Vec<(String, i64, String)> =
        db.rows("SELECT device, number, hash FROM sync_devices", (), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
    let position = |(device, number, hash): (String, i64, String)| {
        let hash: Hash = from_hex(&hash)?.try_into().ok()?;
        Some((DeviceId::named(&device)?, Position { number: u64::try_from(number).ok()?, hash }))
    };
    Ok(rows.into_iter().filter_map(position).collect())
}

pub(super) fn set_position(db: &Connection, device: &DeviceId, at: Position) -> Result<()> {
    let sql = "INSERT INTO sync_devices (device, number, hash) VALUES ($1, $2, $3)
        ON CONFLICT (device) DO UPDATE SET number = excluded.number, hash = excluded.hash";
    db.run(sql, (device.as_str(), i64::try_from(at.number).expect("a count"), hex(&at.hash))).map(drop)
}

/// An operation that is not in the log yet: number, record and sealed text.
pub(super) type WaitingRecord = (u64, Record, Option<Vec<u8>>);

/// The operations that are not in the log yet.
pub(super) fn outbox(db: &Connection) -> Result<Vec<WaitingRecord>> {
    let rows: Vec<(i64, String, Option<Vec<u8>>)> =
        db.rows("SELECT number, record, sealed FROM sync_outbox ORDER BY number", (), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
    let parse = |(number, record, sealed): (i64, String, Option<Vec<u8>>)| {
        Ok((u64::try_from(number).unwrap_or(0), serde_json::from_str(&record)?, sealed))
    };
    rows.into_iter().map(parse).collect()
}

/// Notes that operations are in the log of this device up to a position.
pub(super) fn published(db: &Connection, device: &DeviceId, end: Position) -> Result<()> {
    db.run("DELETE FROM sync_outbox WHERE number <= $1", [i64::try_from(end.number).expect("a count")])?;
    set_position(db, device, end)
}

/// A deletion: the record, and the place of the deletion in the log of a device.
#[derive(Clone, Debug)]
pub(super) struct Tombstone {
    pub(super) kind: String,
    pub(super) id: String,
    pub(super) at: Stamp,
    pub(super) device: DeviceId,
    pub(super) number: u64,
    pub(super) scrubbed: bool,
}

/// Returns all deletions.
pub(super) fn tombstones(db: &Connection) -> Result<Vec<Tombstone>> {
    let sql = "SELECT kind, id, at, device, number, scrubbed FROM sync_tombstones ORDER BY at";
    let rows = db.rows(sql, (), |row| {
        let (at, device) = (Stamp::try_from(row.get::<String>(2)?), DeviceId::named(row.text(3)?));
        let (kind, id, number): (String, String, i64) = (row.get(0)?, row.get(1)?, row.get(4)?);
        let scrubbed: bool = row.get(5)?;
        let read = at.ok().zip(device).zip(u64::try_from(number).ok());
        Ok(read.map(|((at, device), number)| Tombstone { kind, id, at, device, number, scrubbed }))
    })?;
    Ok(rows.into_iter().flatten().collect())
}

/// Notes that the texts of these deletions were removed from the log of this device.
pub(super) fn scrubbed(db: &Connection, tombstones: &[Tombstone]) -> Result<()> {
    for Tombstone { kind, id, .. } in tombstones {
        db.run("UPDATE sync_tombstones SET scrubbed = true WHERE kind = $1 AND id = $2", (kind, id))?;
    }
    Ok(())
}

/// The time of the last operation that was made or read.
const CLOCK: &str = "clock";
/// The newest row of the audit log at the end of the last round.
const AUDIT: &str = "audit";

pub(super) fn state(db: &Connection, key: &str) -> Result<Option<String>> {
    db.row("SELECT value FROM sync_state WHERE key = $1", [key], |row| row.get(0))
}

pub(super) fn set_state(db: &Connection, key: &str, value: &str) -> Result<()> {
    let sql = "INSERT INTO sync_state (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    db.run(sql, (key, value)).map(drop)
}

pub(super) fn remove_state(db: &Connection, key: &str) -> Result<()> {
    db.run("DELETE FROM sync_state WHERE key = $1", [key]).map(drop)
}

fn audit_head(db: &Connection) -> Result<String> {
    let sql = "SELECT coalesce(max(seq), 0) FROM audit";
    db.one(sql, (), |row| row.get::<i64>(0)).map(|seq| seq.to_string())
}

/// Tells whether nothing was written since the last round. Every write leaves a row in the audit log.
pub(super) fn is_unchanged(db: &Connection) -> Result<bool> {
    Ok(state(db, AUDIT)? == Some(audit_head(db)?))
}

/// Says that the key was replaced, and that this device has to repeat what the new logs do not have.
const NEW_KEY: &str = "new key";

pub(super) fn has_new_key(db: &Connection) -> Result<bool> {
    Ok(state(db, NEW_KEY)?.is_some())
}

/// Starts all logs again. Records and deletions stay, and the place of a deletion is in a log that is gone.
pub(super) fn begin_again(db: &Connection) -> Result<()> {
    db.run("DELETE FROM sync_devices", ())?;
    db.run("DELETE FROM sync_outbox", ())?;
    db.run("UPDATE sync_tombstones SET number = 0, scrubbed = true", ())?;
    files::forget_numbers(db)?;
    set_state(db, NEW_KEY, "1")
}

/// Forgets what was said in the name of a device: this machine starts as a new one. Records and deletions stay.
pub(super) fn reset(db: &Connection) -> Result<()> {
    for sql in [
        "DELETE FROM sync_records",
        "DELETE FROM sync_devices",
        "DELETE FROM sync_outbox",
        "DELETE FROM sync_state",
    ] {
        db.run(sql, ())?;
    }
    Ok(())
}

/// Forgets all that was synced. The records stay.
pub(super) fn forget(db: &Connection) -> Result<()> {
    reset(db)?;
    db.run("DELETE FROM sync_tombstones", ())?;
    db.run("DELETE FROM sync_texts", ()).map(drop)
}

/// Returns a hash of everything that all machines together know. Two machines that have met have the same.
pub(super) fn state_hash(db: &Connection) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    let sql = "SELECT kind, id, document FROM sync_records ORDER BY kind, id";
    for (kind, id, document) in
        db.rows(sql, (), |row| Ok((row.get::<String>(0)?, row.get::<String>(1)?, row.get::<String>(2)?)))?
    {
        hasher.update(format!("{kind}\0{id}\0{document}\n").as_bytes());
    }
    for (kind, id) in db.rows("SELECT kind, id FROM sync_tombstones ORDER BY kind, id", (), |row| {
        Ok((row.get::<String>(0)?, row.get::<String>(1)?))
    })? {
        hasher.update(format!("{kind}\0{id}\0deleted\n").as_bytes());
    }
    Ok(hex(&hasher.finalize().as_bytes()[..16]))
}
