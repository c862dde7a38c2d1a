//! Packed records, many to a row: marks by passage id, vectors in order of insertion. A write touches only
//! the pages of its record; a reader reads whole rows, and only those with a newer stamp than its copy.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use rusqlite::MAIN_DB;

use super::batch::{self, NUMBERS_AT_ONCE};
use super::budget::{MemoryBudget, Reservation, room};
use super::dense::{self, Dense};
use super::lines::{self, Lines};
use super::mark::{self, Mark};
use super::scan::{self, Quantised, VECTOR_BYTES};
use super::sketch::{MAX_EXACT_VECTORS, Sketches};
use super::state::{self, EPOCH_KEY, ReembeddingProgress, invalidate_readers, number};
use crate::base::Result;
use crate::store::{Connection, Engine};

/// The number of records in one row.
struct PerRow {
    marks: usize,
    vectors: usize,
}

/// SQLite writes only the changed pages of a row.
const ON_SQLITE: PerRow = PerRow { marks: 1024, vectors: 256 };
/// A server writes the whole row, which fits a page.
const ON_POSTGRES: PerRow = PerRow { marks: 128, vectors: 16 };

fn per_row(db: &Connection) -> &'static PerRow {
    match db.engine() {
        Engine::Sqlite(_) => &ON_SQLITE,
        Engine::Postgres(_) => &ON_POSTGRES,
    }
}

/// The number of vectors by which a row grows. A row that grows is rewritten; otherwise it is updated in
/// place.
const ROW_GROWTH_VECTORS: usize = 32;
/// Deletes all packed rows and makes readers drop their copies.
pub(crate) fn clear_packed(db: &Connection) -> Result<()> {
    db.batch("DELETE FROM marks; DELETE FROM vectors;")?;
    invalidate_readers(db)
}

/// Marks to write, by row.
pub(crate) struct Marks {
    rows: BTreeMap<i64, Vec<u8>>,
    per_row: usize,
}

impl Marks {
    pub(crate) fn new(db: &Connection) -> Marks {
        Marks { rows: BTreeMap::new(), per_row: per_row(db).marks }
    }

    pub(crate) fn set(&mut self, db: &Connection, id: i64, mark: &Mark) -> Result<()> {
        let (row, at) = self.row(db, id)?;
        row[at..at + mark::MARK_BYTES].copy_from_slice(&mark.to_bytes());
        Ok(())
    }

    pub(crate) fn get(&mut self, db: &Connection, id: i64) -> Result<Mark> {
        let (row, at) = self.row(db, id)?;
        Ok(Mark::from_bytes(row[at..at + mark::MARK_BYTES].try_into().expect("the bytes of one mark")))
    }

    fn row(&mut self, db: &Connection, id: i64) -> Result<(&mut Vec<u8>, usize)> {
        let (chunk, place) = split(id, self.per_row);
        let row = match self.rows.entry(chunk) {
            Entry::Occupied(row) => row.into_mut(),
            Entry::Vacant(free) => {
                let sql = "SELECT data FROM marks WHERE chunk = $1";
                let mut row: Vec<u8> = db.row(sql, [chunk], |row| row.get(0))?.unwrap_or_default();
                row.resize(self.per_row * mark::MARK_BYTES, 0);
                free.insert(row)
            }
        };
        Ok((row, place * mark::MARK_BYTES))
    }

    pub(crate) fn flush(&mut self, db: &Connection, stamp: i64) -> Result<()> {
        let sql = "INSERT INTO marks (chunk, stamp, data) VALUES ($1, $2, $3)
            ON CONFLICT (chunk) DO UPDATE SET stamp = excluded.stamp, data = excluded.data";
        let rows = std::mem::take(&mut self.rows);
        if let Engine::Postgres(server) = db.engine() {
            let sql = "INSERT INTO marks (chunk, stamp, data) SELECT c, s, d FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS w (c, s, d)
                ON CONFLICT (chunk) DO UPDATE SET stamp = excluded.stamp, data = excluded.data";
            let (chunks, rows): (Vec<i64>, Vec<Vec<u8>>) = rows.into_iter().unzip();
            return server.execute(sql, &[&chunks, &vec![stamp; chunks.len()], &rows]).map(drop);
        }
        for (chunk, row) in rows {
            db.run(sql, (chunk, stamp, row))?;
        }
        Ok(())
    }
}

/// The most rows of vectors in one statement of a server: about a megabyte.
const MAX_ROWS_AT_ONCE: usize = 256;

/// Vectors to append.
pub(crate) struct Vectors {
    next: i64,
    /// Records not written yet; the first of them has number `next - held.len()`.
    held: Vec<u8>,
    per_row: usize,
    /// Rows that a server gets with the next statement: chunk, number of vectors, data.
    rows: Vec<(i64, i64, Vec<u8>)>,
}

impl Vectors {
    pub(crate) fn open(db: &Connection) -> Result<Vectors> {
        let sql = "SELECT chunk, used FROM vectors ORDER BY chunk DESC LIMIT 1";
        let per_row = per_row(db).vectors;
        let rows = i64::try_from(per_row).expect("a small number");
        let next = db.row(sql, (), |row| {
            Ok(row.get::<i64>(0)?.saturating_mul(rows).saturating_add(row.get::<i64>(1)?))
        })?;
        Ok(Vectors { next: next.unwrap_or(0), held: Vec::new(), per_row, rows: Vec::new() })
    }

    /// Returns the number of the next vector.
    pub(crate) fn next(&self) -> i64 {
        self.next
    }

    pub(crate) fn push(
        &mut self,
        db: &Connection,
        stamp: i64,
        passage: i64,
        vector: &Quantised,
    ) -> Result<()> {
        self.held.extend_from_slice(&record(passage, vector));
        self.next += 1;
        if split(self.next, self.per_row).1 == 0 { self.end_row(db, stamp) } else { Ok(()) }
    }

    /// Writes everything that is held.
    pub(crate) fn flush(&mut self, db: &Connection, stamp: i64) -> Result<()> {
        self.end_row(db, stamp)?;
        self.send(db, stamp)
    }

    /// Sends rows to a server.
    fn send(&mut self, db: &Connection, stamp: i64) -> Result<()> {
        let Engine::Postgres(server) = db.engine() else { return Ok(()) };
        let (mut chunks, mut used, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for (chunk, count, row) in self.rows.drain(..) {
            chunks.push(chunk);
            used.push(count);
            rows.push(row);
        }
        if rows.is_empty() {
            return Ok(());
        }
        let sql = "INSERT INTO vectors (chunk, stamp, used, data)
            SELECT c, s, u, d FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[]) AS w (c, s, u, d)
            ON CONFLICT (chunk) DO UPDATE SET stamp = excluded.stamp, used = excluded.used, data = excluded.data";
        server.execute(sql, &[&chunks, &vec![stamp; chunks.len()], &used, &rows]).map(drop)
    }

    /// Writes the held records to their row. They fit the last one, because a full row is written at once.
    fn end_row(&mut self, db: &Connection, stamp: i64) -> Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let count = self.held.len() / VECTOR_BYTES;
        let first = self.next - i64::try_from(count).expect("one row at most");
        let (chunk, place) = split(first, self.per_row);
        let (start, used) = (place * VECTOR_BYTES, i64::try_from(place + count).expect("a row's length"));
        let mut row = Vec::new();
        if place > 0
            && let Engine::Sqlite(sqlite) = db.engine()
        {
            let mut blob = sqlite.blob_open(MAIN_DB, "vectors", "data", chunk, false)?;
            if blob.len() >= start + self.held.len() {
                blob.write_at(&self.held, start)?;
                blob.close()?;
                let sql = "UPDATE vectors SET stamp = $2, used = $3 WHERE chunk = $1";
                db.run(sql, (chunk, stamp, used))?;
                self.held.clear();
                return Ok(());
            }
            row.resize(start, 0);
            blob.read_at_exact(&mut row, 0)?;
            blob.close()?;
        } else if place > 0 {
            row = db
                .row("SELECT data FROM vectors WHERE chunk = $1", [chunk], |row| row.get(0))?
                .unwrap_or_default();
            row.resize(start, 0);
        }
        row.append(&mut self.held);
        let size = (place + count).next_multiple_of(ROW_GROWTH_VECTORS).min(self.per_row);
        row.resize(size * VECTOR_BYTES, 0);
        if let Engine::Postgres(_) = db.engine() {
            self.rows.push((chunk, used, row));
            return if self.rows.len() >= MAX_ROWS_AT_ONCE { self.send(db, stamp) } else { Ok(()) };
        }
        let sql = "INSERT INTO vectors (chunk, stamp, used, data) VALUES ($1, $2, $3, $4)
            ON CONFLICT (chunk) DO UPDATE SET stamp = excluded.stamp, used = excluded.used, data = excluded.data";
        db.run(sql, (chunk, stamp, used, row))?;
        Ok(())
    }

    /// Overwrites the vectors of a deleted passage.
    pub(crate) fn clear(&mut self, db: &Connection, stamp: i64, slot: i64, count: i64) -> Result<()> {
        self.flush(db, stamp)?;
        let Engine::Sqlite(sqlite) = db.engine() else {
            let mut rows = Rows::default();
            rows.replace(db, slot..slot + count, 0, &[])?;
            return rows.flush(db, stamp);
        };
        for number in slot..slot + count {
            let (chunk, place) = split(number, self.per_row);
            let mut blob = sqlite.blob_open(MAIN_DB, "vectors", "data", chunk, false)?;
            blob.write_at(&[0; VECTOR_BYTES], place * VECTOR_BYTES)?;
            blob.close()?;
            db.run("UPDATE vectors SET stamp = $2 WHERE chunk = $1", (chunk, stamp))?;
        }
        Ok(())
    }
}

/// Rows of vectors to rewrite in place.
#[derive(Default)]
pub(crate) struct Rows {
    rows: BTreeMap<i64, Vec<u8>>,
}

impl Rows {
    /// Replaces the vectors with these numbers by a passage's new ones. Returns false if there are too many
    /// to fit, and clears the old ones.
    pub(crate) fn replace(
        &mut self,
        db: &Connection,
        places: Range<i64>,
        passage: i64,
        vectors: &[Quantised],
    ) -> Result<bool> {
        let fits = places.end - places.start >= i64::try_from(vectors.len()).unwrap_or(i64::MAX);
        let mut vectors = vectors.iter().take(if fits { usize::MAX } else { 0 });
        for number in places {
            let (chunk, place) = split(number, per_row(db).vectors);
            let row = match self.rows.entry(chunk) {
                Entry::Occupied(row) => row.into_mut(),
                Entry::Vacant(free) => {
                    let sql = "SELECT data FROM vectors WHERE chunk = $1";
                    free.insert(db.row(sql, [chunk], |row| row.get(0))?.unwrap_or_default())
                }
            };
            let bytes = vectors.next().map_or([0; VECTOR_BYTES], |vector| record(passage, vector));
            // Out of range only if the database is damaged; a check reports that.
            row.as_chunks_mut().0.get_mut(place).into_iter().for_each(|there| *there = bytes);
        }
        Ok(fits)
    }

    pub(crate) fn flush(self, db: &Connection, stamp: i64) -> Result<()> {
        for (chunk, row) in self.rows {
            db.run("UPDATE vectors SET stamp = $2, data = $3 WHERE chunk = $1", (chunk, stamp, row))?;
        }
        Ok(())
    }
}

/// Returns the bytes of one vector.
fn record(passage: i64, vector: &Quantised) -> scan::Record {
    let mut bytes = [0; VECTOR_BYTES];
    bytes[..4].copy_from_slice(&u32::try_from(passage).unwrap_or(0).to_le_bytes());
    bytes[4..8].copy_from_slice(&vector.0.to_le_bytes());
    for (byte, component) in bytes[8..].iter_mut().zip(vector.1) {
        *byte = component.cast_unsigned();
    }
    bytes
}

fn split(number: i64, rows: usize) -> (i64, usize) {
    let rows = i64::try_from(rows).expect("a small number");
    (number.div_euclid(rows), usize::try_from(number.rem_euclid(rows)).expect("below the number of rows"))
}

/// The most passages whose vectors a search reads one by one if they are not in memory.
const MAX_READ_PASSAGES: usize = 4_000;

/// The marks and vectors of a database, in memory. If the vectors do not fit into the budget, none is kept, and searches read them
/// from the database.
#[derive(Default)]
pub(crate) struct Space {
    stamp: i64,
    /// When the server was started that gave the stamp.
    start: String,
    marks: Vec<Mark>,
    /// Whether the vectors are kept. The first search of a process reads them one row at a time and keeps none: most
    /// processes make one search, and memory that is used once costs more than the search.
    keeps_vectors: bool,
    /// The stamp of the kept vectors.
    vectors_stamp: i64,
    /// The concatenated records of `vectors`.
    vectors: Vec<u8>,
    passages: usize,
    average_words: f32,
    years: Vec<i16>,
    /// The stamp of the kept vectors of the provider and of lines.
    others_stamp: i64,
    dense: Dense,
    lines: Lines,
    sketches: Sketches,
    /// The passages whose vectors come from another version's model; they are skipped.
    old: Range<u32>,
    /// The memory for everything but the marks.
    memory: Reservation,
    /// The bytes that the vectors would take, if they do not fit.
    beyond: Option<usize>,
}

impl Space {
    pub(crate) fn new(budget: Arc<MemoryBudget>) -> Space {
        Space { memory: Reservation::new(budget), ..Space::default() }
    }

    /// Drops everything, so that the next search reads it again.
    pub(crate) fn clear(&mut self) {
        let mut memory = std::mem::take(&mut self.memory);
        *self = Space { keeps_vectors: self.keeps_vectors, ..Space::default() };
        memory.resize(0);
        self.memory = memory;
    }

    /// Refreshes the copy from the database for a search: only changed rows are read.
    pub(crate) fn refresh(&mut self, db: &Connection) -> Result<()> {
        let is_first = self.stamp == 0;
        self.refresh_marks(db)?;
        // A server sends all rows at once.
        let is_file = matches!(db.engine(), Engine::Sqlite(_));
        self.keeps_vectors |= !is_first || !is_file || self.passages > MAX_EXACT_VECTORS;
        if !self.make_room(db)? {
            self.drop_vectors();
            self.memory.count_search_beyond();
            return Ok(());
        }
        self.refresh_others(db)?;
        if self.keeps_vectors {
            self.refresh_vectors(db)?;
        }
        self.settle_memory();
        Ok(())
    }

    /// Reserves memory for the vectors of this snapshot. Returns false if they do not fit.
    fn make_room(&mut self, db: &Connection) -> Result<bool> {
        if self.memory.limit().is_none() || (self.beyond.is_none() && self.others_stamp == self.stamp) {
            return Ok(true);
        }
        // The database is asked again only when as much as before would fit.
        if self.beyond.is_some_and(|bytes| !self.memory.resize(bytes)) {
            return Ok(false);
        }
        let bytes = self.bytes_of(db)?;
        self.beyond = (!self.memory.resize(bytes)).then_some(bytes);
        Ok(self.beyond.is_none())
    }

    /// Returns the most bytes that the vectors of this snapshot take in memory.
    fn bytes_of(&self, db: &Connection) -> Result<usize> {
        let (count, passages) = (count(db)?, self.marks.len());
        let vectors = room(&self.vectors, count.saturating_mul(VECTOR_BYTES));
        let dense = self.dense.bytes() + dense::bytes_after(db, self.others_stamp, passages)?;
        let lines = self.lines.bytes() + lines::bytes_after(db, self.others_stamp)?;
        let all = [vectors, self.sketches.room_for(count, passages), dense, lines];
        Ok(all.into_iter().fold(0, usize::saturating_add))
    }

    /// Reduces the reservation to what is in memory. The first search keeps no vectors, but the reservation for them.
    fn settle_memory(&mut self) {
        if self.keeps_vectors || self.memory.limit().is_none() {
            let bytes =
                self.vectors.capacity() + self.sketches.bytes() + self.dense.bytes() + self.lines.bytes();
            debug_assert!(self.memory.limit().is_none() || bytes <= self.memory.bytes(), "reserved before");
            self.memory.resize(bytes);
        }
    }

    fn drop_vectors(&mut self) {
        (self.vectors, self.sketches) = Default::default();
        (self.dense, self.lines) = Default::default();
        (self.vectors_stamp, self.others_stamp) = (0, 0);
        self.memory.resize(0);
    }

    /// Refreshes the copy from the database, vectors included.
    #[cfg(test)]
    fn refresh_all(&mut self, db: &Connection) -> Result<()> {
        self.refresh(db)?;
        self.keeps_vectors = true;
        self.refresh_vectors(db)
    }

    /// Reads the marks that changed since they were read last.
    pub(super) fn refresh_marks(&mut self, db: &Connection) -> Result<()> {
        let marks_per_row = per_row(db).marks;
        let (now, start) = state::last_stamp_and_start(db)?;
        if now == self.stamp && start == self.start {
            return Ok(());
        }
        if now < self.stamp || start != self.start || number(db, EPOCH_KEY)? > self.stamp {
            self.clear();
        }
        self.start = start;
        let old = state::old(db)?;
        let id = |id: i64| u32::try_from(id).unwrap_or(u32::MAX);
        self.old = id(old.start)..id(old.end);
        let changed = "SELECT chunk, data FROM marks WHERE stamp > $1 ORDER BY chunk";
        db.each(changed, [self.stamp], |row| {
            let start = usize::try_from(row.get::<i64>(0)?).unwrap_or(0) * marks_per_row;
            let data = row.bytes(1)?;
            if self.marks.len() < start + marks_per_row {
                self.marks.resize(start + marks_per_row, Mark::default());
            }
            for (mark, bytes) in
                self.marks[start..].iter_mut().zip(data.as_chunks::<{ mark::MARK_BYTES }>().0)
            {
                *mark = Mark::from_bytes(bytes);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        self.stamp = now;
        self.summarise();
        Ok(())
    }

    /// Reads the provider's vectors and those of lines that changed since they were read last.
    fn refresh_others(&mut self, db: &Connection) -> Result<()> {
        if self.others_stamp == self.stamp {
            return Ok(());
        }
        self.dense.refresh(db, self.others_stamp)?;
        let Space { marks, lines, .. } = self;
        let exists = |id: u32| marks.get(id as usize).is_some_and(|mark| mark.flags != 0);
        lines.refresh(db, self.others_stamp, exists)?;
        self.others_stamp = self.stamp;
        Ok(())
    }

    /// Reads the vectors that changed since they were read last.
    fn refresh_vectors(&mut self, db: &Connection) -> Result<()> {
        if self.vectors_stamp == self.stamp {
            return Ok(());
        }
        if self.memory.limit().is_some() {
            let room = room(&self.vectors, count(db)?.saturating_mul(VECTOR_BYTES));
            self.vectors.reserve_exact(room.saturating_sub(self.vectors.len()));
        }
        let mut sketched = Vec::new();
        let Space { vectors, old, .. } = self;
        let old = &*old;
        each_row(db, self.vectors_stamp, old, |start, data| {
            let (start, used) = (start * VECTOR_BYTES, data.len());
            match vectors.len() == start {
                // The first time all of them come one after the other: zeros first would double the work.
                true => vectors.extend_from_slice(data),
                false => {
                    if vectors.len() < start + used {
                        vectors.resize(start + used, 0);
                    }
                    vectors[start..start + used].copy_from_slice(data);
                }
            }
            if !old.is_empty() {
                let records = vectors[start..start + used].as_chunks_mut::<VECTOR_BYTES>().0;
                let outdated = records.iter_mut().filter(|record| old.contains(&scan::owner(record)));
                outdated.for_each(|record| *record = [0; _]);
            }
            sketched.push(start / VECTOR_BYTES..(start + used) / VECTOR_BYTES);
        })?;
        self.sketches.refresh(self.passages, self.vectors.as_chunks().0, &sketched);
        self.vectors_stamp = self.stamp;
        Ok(())
    }

    /// Passes `(passage, cosine)` to `take` for every vector of these passages, and perhaps for more. They are read from the
    /// database unless they are kept; the snapshot must be the one of the last refresh.
    pub(crate) fn all_cosines(
        &self,
        db: &Connection,
        members: &[u32],
        question: &Quantised,
        mut take: impl FnMut(u32, f32),
    ) -> Result<()> {
        if self.reads_singly(members) {
            return self.cosines(db, members, question, take);
        }
        if self.keeps_vectors && self.beyond.is_none() {
            scan::cosines(self.vectors(), question, take);
            return Ok(());
        }
        each_row(db, 0, &self.old, |_, data| {
            let records = data.as_chunks::<VECTOR_BYTES>().0.iter();
            let current = records.filter(|record| !self.old.contains(&scan::owner(record)));
            scan::cosines(current, question, &mut take);
        })
    }

    /// Tells whether the vectors of these passages are read one by one.
    pub(crate) fn reads_singly(&self, members: &[u32]) -> bool {
        self.is_beyond_memory() && members.len() <= MAX_READ_PASSAGES
    }

    /// Returns the size of the largest scope in which every passage is compared exactly.
    pub(crate) fn max_exact(&self) -> usize {
        if self.is_beyond_memory() { MAX_READ_PASSAGES } else { MAX_EXACT_VECTORS }
    }

    /// Tells whether the vectors do not fit into memory.
    pub(crate) fn is_beyond_memory(&self) -> bool {
        self.beyond.is_some()
    }

    /// Returns the bytes that the vectors would take and the limit, if they do not fit.
    pub(crate) fn beyond_memory(&self) -> Option<(usize, usize)> {
        Some((self.beyond?, self.memory.limit()?))
    }

    /// Returns the bytes that are reserved for the vectors.
    pub(crate) fn reserved(&self) -> usize {
        self.memory.bytes()
    }

    fn summarise(&mut self) {
        let there = || self.marks.iter().filter(|mark| mark.flags != 0);
        let words: u64 = there().map(|mark| u64::from(mark.words)).sum();
        let mut years: Vec<i16> = Vec::new();
        for mark in there().filter(|mark| mark.minute != 0) {
            let year = year_of(mark.minute);
            if !years.contains(&year) {
                years.push(year);
            }
        }
        years.sort_unstable();
        self.passages = there().count();
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            reason = "a mean of small numbers"
        )]
        let usual = (words as f64 / self.passages.max(1) as f64) as f32;
        self.average_words = usual;
        self.years = years;
    }

    /// Returns the number of passages.
    pub(crate) fn passages(&self) -> usize {
        self.passages
    }

    /// Returns the passages that wait for vectors of this version.
    pub(crate) fn old(&self) -> Range<u32> {
        self.old.clone()
    }

    /// Returns the progress of re-embedding; `None` if it is complete.
    pub(crate) fn renewed(&self) -> Option<ReembeddingProgress> {
        let there = (0u32..).zip(&self.marks).filter(|(_, mark)| mark.flags != 0);
        let (mut made, mut all) = (0, 0);
        for (passage, _) in there.take(if self.old.is_empty() { 0 } else { usize::MAX }) {
            (made, all) = (made + i64::from(!self.old.contains(&passage)), all + 1);
        }
        (made < all).then_some(ReembeddingProgress { made, all })
    }

    /// Returns the average number of words of a passage.
    pub(crate) fn average_words(&self) -> f32 {
        self.average_words
    }

    /// Returns the years that passages are from, which a date without a year may refer to.
    pub(crate) fn years(&self) -> &[i16] {
        &self.years
    }

    /// Returns the marks, indexed by passage id.
    pub(crate) fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// Returns the provider's vectors.
    pub(crate) fn dense(&self) -> &Dense {
        &self.dense
    }

    /// Returns the vectors of lines.
    pub(crate) fn lines(&self) -> &Lines {
        &self.lines
    }

    /// Returns, by passage id, how many signs a passage shares with the question; 0 for one without vectors. Beyond memory no
    /// signs are known, and all passages count alike. `None`: the vectors are few.
    pub(crate) fn shared_signs(&self, question: &Quantised) -> Option<Vec<u16>> {
        if self.is_beyond_memory() {
            let is_current = |id: u32| !self.old.contains(&id);
            return Some((0u32..).zip(&self.marks).map(|(id, _)| u16::from(is_current(id))).collect());
        }
        (!self.sketches.is_empty()).then(|| self.sketches.shared(self.marks.len(), question))
    }

    /// Passes `(passage, cosine)` to `take` for every vector of these passages, sorted by id. The sketches locate the vectors; beyond
    /// memory they are read.
    pub(crate) fn cosines(
        &self,
        db: &Connection,
        passages: &[u32],
        question: &Quantised,
        mut take: impl FnMut(u32, f32),
    ) -> Result<()> {
        if self.is_beyond_memory() {
            return each_vector(db, passages, |records| {
                let current = records.filter(|record| !self.old.contains(&scan::owner(record)));
                scan::cosines(current, question, &mut take);
            });
        }
        let (records, sketches) = (self.vectors(), &self.sketches);
        let of_passages = passages.iter().flat_map(|passage| &records[sketches.places(*passage)]);
        scan::cosines(of_passages, question, take);
        Ok(())
    }

    /// Returns the kept vector records: passage, scale, components.
    pub(crate) fn vectors(&self) -> &[scan::Record] {
        self.vectors.as_chunks().0
    }
}

/// Returns the number of vectors, with those of deleted passages.
fn count(db: &Connection) -> Result<usize> {
    Ok(usize::try_from(Vectors::open(db)?.next()).unwrap_or(usize::MAX))
}

/// Passes the rows of vectors with a newer stamp to `take`, in order: the number of their first vector, and their records.
/// If the vectors of all passages are `old`, none is read.
pub(super) fn each_row(
    db: &Connection,
    stamp: i64,
    old: &Range<u32>,
    mut take: impl FnMut(usize, &[u8]),
) -> Result<()> {
    /// Some megabytes on a server.
    const ROWS_AT_ONCE: usize = 1_024;
    if *old == (0..u32::MAX) {
        return Ok(());
    }
    let vectors_per_row = per_row(db).vectors;
    let sql =
        "SELECT chunk, used, data FROM vectors WHERE stamp > $1 AND chunk >= $2 ORDER BY chunk LIMIT $3";
    batch::each_newer(db, sql, stamp, ROWS_AT_ONCE, |chunk, row| {
        let start = usize::try_from(chunk).unwrap_or(0) * vectors_per_row;
        let used = usize::try_from(row.get::<i64>(1)?).unwrap_or(0).min(vectors_per_row) * VECTOR_BYTES;
        // Shorter only if the database is damaged; a check reports that.
        if let Some(data) = row.bytes(2)?.get(..used) {
            take(start, data);
        }
        Ok(())
    })
}

/// The most rows that the vectors of one passage are in.
const MAX_ROWS_OF_PASSAGE: usize = 4_096;

/// Passes the vectors of these passages, sorted by id, to `take`: some of one row at a time. Those of one passage follow each other.
fn each_vector(
    db: &Connection,
    passages: &[u32],
    mut take: impl FnMut(&mut dyn Iterator<Item = &scan::Record>),
) -> Result<()> {
    let places = "SELECT slot, slot + pieces - 1 FROM passages WHERE pieces > 0
        AND id IN (SELECT CAST(value AS BIGINT) FROM json_each($1))";
    let rows = "SELECT data FROM vectors WHERE chunk IN (SELECT CAST(value AS BIGINT) FROM json_each($1)) ORDER BY chunk";
    let vectors_per_row = per_row(db).vectors;
    for ids in passages.chunks(NUMBERS_AT_ONCE) {
        let mut chunks = BTreeSet::new();
        batch::each_of(db, places, ids, |row| {
            let (first, last) = (row.get(0)?, row.get(1)?);
            let rows = split(first, vectors_per_row).0..=split(last, vectors_per_row).0;
            // More only if the database is damaged.
            chunks.extend(rows.take(MAX_ROWS_OF_PASSAGE));
            Ok(())
        })?;
        let chunks: Vec<i64> = chunks.into_iter().collect();
        batch::each_of(db, rows, &chunks, |row| {
            let records = row.bytes(0)?.as_chunks::<VECTOR_BYTES>().0.iter();
            take(&mut records.filter(|record| ids.binary_search(&scan::owner(record)).is_ok()));
            Ok(())
        })?;
    }
    Ok(())
}

fn year_of(minute: i32) -> i16 {
    #[expect(clippy::cast_possible_truncation, reason = "minutes in 32 bits span a few thousand years")]
    let year = (1970.0 + f64::from(minute) / (1440.0 * 365.2425)).floor() as i16;
    year
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::scan::DIMS;
    use crate::index::state::next_stamp;

    #[test]
    fn vectors_are_the_same_however_many_come_at_once() {
        const COUNT: u32 = 600;
        let vector = |passage: u32| (1.0, [passage.to_le_bytes()[0].cast_signed(); DIMS]);
        let written = |at_once: u32| {
            let mut store =
                crate::store::Db::empty(&crate::records::schema::RECORDS.schema.migrations).unwrap();
            let written = store.write(|db| {
                let mut space = Space::default();
                for first in (1..=COUNT).step_by(at_once as usize) {
                    let stamp = next_stamp(db)?;
                    let mut vectors = Vectors::open(db)?;
                    for passage in first..(first + at_once).min(COUNT + 1) {
                        vectors.push(db, stamp, i64::from(passage), &vector(passage))?;
                    }
                    vectors.flush(db, stamp)?;
                    space.refresh_all(db)?;
                }
                let room: u32 = db.one("SELECT sum(length(data)) FROM vectors", (), |row| row.get(0))?;
                Ok((space.vectors().to_vec(), room))
            });
            written.unwrap()
        };
        let (vectors, room) = written(COUNT);
        assert_eq!(vectors.len(), COUNT as usize);
        assert!(vectors.iter().zip(1..).all(|(record, passage)| record[..4] == u32::to_le_bytes(passage)));
        assert!(
            (room as usize) < (COUNT as usize + ROW_GROWTH_VECTORS) * VECTOR_BYTES,
            "no more room than a step"
        );
        for at_once in [1, 7, 33, 256, 300] {
            assert!(written(at_once) == (vectors.clone(), room), "{at_once} at once");
        }
    }

    #[test]
    fn the_first_search_keeps_no_vectors_and_compares_all_of_them() {
        let mut store = crate::store::Db::empty(&crate::records::schema::RECORDS.schema.migrations).unwrap();
        let question: Quantised = (0.5, std::array::from_fn(|at| i8::try_from(at % 7).unwrap() - 3));
        let compared = |space: &Space, db: &Connection| -> Result<Vec<(u32, u32)>> {
            let mut all = Vec::new();
            space.all_cosines(db, &[], &question, |passage, cosine| all.push((passage, cosine.to_bits())))?;
            Ok(all)
        };
        let checked = store.write(|db| {
            let stamp = next_stamp(db)?;
            let mut vectors = Vectors::open(db)?;
            for passage in 1..=600u32 {
                let vector =
                    (0.1, std::array::from_fn(|at| i8::try_from((passage as usize + at) % 100).unwrap()));
                vectors.push(db, stamp, i64::from(passage), &vector)?;
            }
            vectors.flush(db, stamp)?;
            let mut space = Space::default();
            space.refresh(db)?;
            let (first, kept) = (compared(&space, db)?, space.vectors().len());
            space.refresh(db)?;
            Ok((kept, first, compared(&space, db)?, space.vectors().len()))
        });
        let (kept_first, first, second, kept) = checked.unwrap();
        assert_eq!((kept_first, kept), (0, 600));
        assert_eq!(first.len(), 600);
        assert_eq!(first, second);
    }
}
