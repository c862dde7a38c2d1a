//! Writes passages and all data derived from them: words in the full-text index, document frequencies, marks,
//! vectors.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::ControlFlow;

use super::lexicon::{Lexicon, Reading};
use super::mark::{self, Mark, flag};
use super::passage::{EXCHANGE, Passage, Standing};
use super::{dense, lines, packed, piece, postings, state};
use crate::base::origin::RecordOrigin;
use crate::base::{Result, Time};
use crate::index::embed::builtin;
use crate::store::{Connection, Engine, Lease, Row, ToSql, Value};

/// Returns the title that is searched with a text. For a message, it is computed from the day and the speaker
/// instead of being stored.
fn searched_title<'p>(kind: &str, title: &'p str, at: Time, author: Option<&str>) -> Cow<'p, str> {
    if kind != "message" {
        return Cow::Borrowed(title);
    }
    let day = at.day_in_words();
    Cow::Owned(named(author).map_or_else(|| day.clone(), |name| format!("{day} {name}")))
}

/// Returns the name of an author, unless it is only a role.
fn named(author: Option<&str>) -> Option<&str> {
    author.filter(|name| !matches!(*name, "" | "user" | "assistant"))
}

/// The most passages in one statement of a server.
const MAX_ROWS_AT_ONCE: usize = 1_000;

/// Writes to the index within one transaction. [`Writer::finish`] must be the last call.
pub(crate) struct Writer<'a> {
    db: &'a Connection,
    stamp: i64,

    lexicon: &'a mut Lexicon,
    /// The readings of the current passage's text and title.
    text: Reading,
    title: Reading,
    df: Frequencies,
    marks: packed::Marks,
    vectors: packed::Vectors,
    /// The names of authors that were written.
    authors: HashSet<String>,
    /// The words, on a server. SQLite's index takes them one passage at a time.
    postings: postings::Changes,
}

/// Changes of document frequencies by word number, collected until the end: a common word then takes one
/// update instead of thousands.
#[derive(Default)]
struct Frequencies {
    /// The number of passages counted.
    passages: usize,
    /// The change, and the last passage that contained the word.
    words: Vec<(i64, usize)>,
}

impl<'a> Writer<'a> {
    /// Starts writing. The `lexicon` only affects speed.
    pub(crate) fn new(db: &'a Connection, lexicon: &'a mut Lexicon) -> Result<Writer<'a>> {
        lexicon.open(state::language(db)?);
        Ok(Writer {
            db,
            stamp: state::next_stamp(db)?,

            lexicon,
            text: Reading::default(),
            title: Reading::default(),
            df: Frequencies::default(),
            marks: packed::Marks::new(db),
            vectors: packed::Vectors::open(db)?,
            authors: HashSet::new(),
            postings: postings::Changes::default(),
        })
    }

    /// Writes a passage, and replaces the one with the same reference.
    pub(crate) fn put(&mut self, passage: &Passage) -> Result<()> {
        self.remove(passage.kind, &passage.reference)?;
        self.insert(passage)?;
        Ok(())
    }

    /// Writes a passage, unless its reference exists. Returns whether it was written.
    pub(crate) fn insert(&mut self, passage: &Passage) -> Result<bool> {
        let Passage { kind, reference, text, title, origin, author, at, live, place, standing: _, slice } =
            passage;
        self.read(passage);
        let slot = self.vectors.next();
        let (session, seq) = place.unzip();
        let (lines, hash) = slice.as_ref().map(|slice| (slice.lines, &slice.hash)).unzip();
        let (first_line, last_line) = lines.unzip();
        let pieces = self.pieces();
        let sql = "INSERT INTO passages (kind, ref, text, title, author, at, live, session, seq, slot, pieces, hash,
                first_line, last_line, origin)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ON CONFLICT (kind, ref) DO NOTHING";
        let fields: [&dyn ToSql; 15] = [
            kind,
            reference,
            text,
            title,
            author,
            at,
            live,
            &session,
            &seq,
            &slot,
            &pieces,
            &hash,
            &first_line,
            &last_line,
            origin,
        ];
        if self.db.run(sql, fields)? == 0 {
            return Ok(false);
        }
        // Not with `RETURNING`: it opens a savepoint, at which the full-text index writes out what it holds. An import would
        // take twice the time.
        let id = match self.db.engine() {
            Engine::Sqlite(sqlite) => sqlite.last_insert_rowid(),
            Engine::Postgres(_) => {
                let sql = "SELECT id FROM passages WHERE kind = $1 AND ref = $2";
                self.db.one(sql, (kind, reference), |row| row.get(0))?
            }
        };
        self.insert_derived(id, passage)?;
        Ok(true)
    }

    /// Writes passages in order, except those whose reference exists. Returns which were written. A server takes many of them with
    /// one statement.
    pub(crate) fn insert_all(&mut self, passages: &[Passage]) -> Result<Vec<bool>> {
        let db = self.db;
        let Engine::Postgres(server) = db.engine() else {
            return passages.iter().map(|passage| self.insert(passage)).collect();
        };
        let mut written = Vec::with_capacity(passages.len());
        for passages in passages.chunks(MAX_ROWS_AT_ONCE) {
            written.extend(self.insert_rows(server, passages)?);
        }
        Ok(written)
    }

    fn insert_rows(&mut self, server: &Lease, passages: &[Passage]) -> Result<Vec<bool>> {
        let kinds: Vec<&str> = passages.iter().map(|passage| passage.kind).collect();
        let references: Vec<&str> = passages.iter().map(|passage| passage.reference.as_str()).collect();
        let sql = "SELECT n FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS w (kind, ref, n)
            JOIN passages AS p ON p.kind = w.kind AND p.ref = w.ref";
        let found = server.columns(sql, &[texts(&kinds), texts(&references)])?;
        let known: HashSet<i64> = found.iter().map(|row| row.get(0)).collect();
        let mut seen: HashSet<(&str, &str)> = HashSet::new();
        // The lock of the group is held: nobody else takes a number.
        let mut next: i64 = self.db.one("SELECT next_number('passages')", (), |row| row.get(0))?;
        let mut columns: [Vec<Value<'_>>; 16] = Default::default();
        let mut written = Vec::with_capacity(passages.len());
        for (number, passage) in (1..).zip(passages) {
            // A reference can also come twice.
            let is_new = !known.contains(&number) && seen.insert((passage.kind, &passage.reference));
            written.push(is_new);
            if !is_new {
                continue;
            }
            self.read(passage);
            let (slot, pieces) = (self.vectors.next(), self.pieces());
            self.insert_derived(next, passage)?;
            let Passage { kind, reference, text, title, origin, author, at, live, place, standing: _, slice } =
                passage;
            let (session, seq) = place.unzip();
            let (first_line, last_line) = slice.as_ref().map(|slice| slice.lines).unzip();
            let hash = slice.as_ref().map_or(Value::Null, |slice| slice.hash.to_sql());
            let integer = |number: Option<i64>| number.map_or(Value::Null, Value::Integer);
            let row = [
                Value::Integer(next),
                Value::Text((*kind).into()),
                reference.to_sql(),
                text.to_sql(),
                title.to_sql(),
                author.to_sql(),
                at.to_sql(),
                live.to_sql(),
                integer(session),
                integer(seq),
                Value::Integer(slot),
                Value::Integer(pieces),
                hash,
                integer(first_line),
                integer(last_line),
                origin.to_sql(),
            ];
            columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
            next += 1;
        }
        let sql = "INSERT INTO passages (id, kind, ref, text, title, author, at, live, session, seq, slot, pieces, hash,
                first_line, last_line, origin)
            SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[],
                $8::boolean[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[], $14::bigint[],
                $15::bigint[], $16::text[])";
        server.columns(sql, &columns)?;
        Ok(written)
    }

    /// Reads a passage's text and title, to derive the index data from them.
    fn read(&mut self, passage: &Passage) {
        let Passage { kind, title, author, at, .. } = passage;
        read_text(self.lexicon, passage, &mut self.text);
        let title = searched_title(kind, title, *at, author.as_deref());
        self.lexicon.read(&title, usize::MAX, &mut self.title);
    }

    /// Returns the number of vectors of the passage that was read last.
    fn pieces(&self) -> i64 {
        i64::try_from(self.text.pieces().len()).expect("pieces of one text")
    }

    /// Writes the data derived from the passage that was read last.
    fn insert_derived(&mut self, id: i64, passage: &Passage) -> Result<()> {
        self.count(1);
        match self.db.engine() {
            Engine::Sqlite(_) => {
                let sql = "INSERT INTO passages_fts (rowid, text, title) VALUES ($1, $2, $3)";
                self.db.run(sql, (id, &self.text.joined, &self.title.joined))?;
            }
            Engine::Postgres(_) => {
                let words = self.text.joined.split_whitespace().chain(self.title.joined.split_whitespace());
                self.postings.add(id, words);
            }
        }
        let words = self.text.words.len() + self.title.words.len();
        self.marks.set(self.db, id, &Mark::of(passage, words, self.text.hints))?;
        for piece in self.text.pieces() {
            self.vectors.push(self.db, self.stamp, id, &builtin::quantise(&builtin::embed_rows(piece)))?;
        }
        if let Some(name) = named(passage.author.as_deref())
            && !self.authors.contains(name)
        {
            self.authors.insert(name.to_owned());
            let sql = "INSERT INTO authors (hash, name) VALUES ($1, $2) ON CONFLICT DO NOTHING";
            self.db.run(sql, (mark::author_hash(name), name))?;
        }
        Ok(())
    }

    /// Removes a passage, with all data derived from it.
    pub(crate) fn remove(&mut self, kind: &str, reference: &str) -> Result<()> {
        let sql =
            "SELECT id, slot, pieces, text, title, at, author FROM passages WHERE kind = $1 AND ref = $2";
        let found = self.db.row(sql, (kind, reference), |row| {
            let author: Option<String> = row.get(6)?;
            let title = searched_title(kind, row.text(4)?, row.get(5)?, author.as_deref());
            self.lexicon.read(row.text(3)?, usize::MAX, &mut self.text);
            self.lexicon.read(&title, usize::MAX, &mut self.title);
            Ok((row.get::<i64>(0)?, row.get::<Option<i64>>(1)?, row.get::<Option<i64>>(2)?))
        })?;
        let Some((id, slot, pieces)) = found else { return Ok(()) };
        self.count(-1);
        match self.db.engine() {
            Engine::Sqlite(_) => {
                // A contentless index must be told which words to remove: the same that were added.
                let sql = "INSERT INTO passages_fts (passages_fts, rowid, text, title) VALUES ('delete', $1, $2, $3)";
                self.db.run(sql, (id, &self.text.joined, &self.title.joined))?;
            }
            Engine::Postgres(_) => {
                let words = self.text.joined.split_whitespace().chain(self.title.joined.split_whitespace());
                self.postings.remove(id, words);
            }
        }
        self.db.run("DELETE FROM passages WHERE id = $1", [id])?;
        self.marks.set(self.db, id, &Mark::default())?;
        if let (Some(slot), Some(pieces)) = (slot, pieces) {
            self.vectors.clear(self.db, self.stamp, slot, pieces)?;
        }
        lines::remove(self.db, id)?;
        dense::remove(self.db, self.stamp, id)
    }

    /// Removes a passage from default searches, or restores it.
    pub(crate) fn set_live(&mut self, kind: &str, reference: &str, live: bool) -> Result<()> {
        let sql = "UPDATE passages SET live = $3 WHERE kind = $1 AND ref = $2";
        self.db.run(sql, (kind, reference, live))?;
        self.change_mark(kind, reference, |mark| {
            mark.flags = if live { mark.flags | flag::LIVE } else { mark.flags & !flag::LIVE };
        })
    }

    /// Changes an entry's weight independent of any question.
    pub(crate) fn set_standing(&mut self, kind: &str, reference: &str, standing: Standing) -> Result<()> {
        self.change_mark(kind, reference, |mark| mark.set_standing(standing))
    }

    /// Moves a chunk with unchanged text to another number and other lines of its document, with a new time.
    /// Nothing derived from the text is recomputed.
    pub(crate) fn move_chunk(&mut self, id: i64, passage: &Passage) -> Result<()> {
        let (first, last) = passage.slice.as_ref().map(|slice| slice.lines).unzip();
        let sql = "UPDATE passages SET ref = $2, at = $3, first_line = $4, last_line = $5 WHERE id = $1";
        self.db.run(sql, (id, &passage.reference, passage.at, first, last))?;
        let mut mark = self.marks.get(self.db, id)?;
        mark.set_time(passage.at);
        self.marks.set(self.db, id, &mark)
    }

    fn change_mark(&mut self, kind: &str, reference: &str, change: impl FnOnce(&mut Mark)) -> Result<()> {
        let sql = "SELECT id FROM passages WHERE kind = $1 AND ref = $2";
        if let Some(id) = self.db.row(sql, (kind, reference), |row| row.get(0))? {
            let mut mark = self.marks.get(self.db, id)?;
            change(&mut mark);
            self.marks.set(self.db, id, &mark)?;
        }
        Ok(())
    }

    /// Writes the collected changes.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.marks.flush(self.db, self.stamp)?;
        self.vectors.flush(self.db, self.stamp)?;
        if let Engine::Postgres(server) = self.db.engine() {
            self.postings.flush(server)?;
        }
        let words = self.df.words.iter().enumerate().filter(|(_, (change, _))| *change != 0);
        let mut changes: Vec<(&str, i64)> =
            words.map(|(number, (change, _))| (self.lexicon.word(number), *change)).collect();
        // In table order and in one statement; words need no escaping.
        changes.sort_unstable();
        let list =
            changes.iter().map(|(word, change)| format!("\"{word}\":{change}")).collect::<Vec<_>>().join(",");
        let sql =
            "INSERT INTO terms (term, df) SELECT key, CAST(value AS BIGINT) FROM json_each($1) WHERE true
            ON CONFLICT (term) DO UPDATE SET df = terms.df + excluded.df";
        self.db.run(sql, [format!("{{{list}}}")])?;
        for (word, _) in changes.iter().filter(|(_, change)| *change < 0) {
            self.db.run("DELETE FROM terms WHERE term = $1 AND df <= 0", [word])?;
        }
        Ok(())
    }

    /// Counts each distinct word of the passage that was read last.
    fn count(&mut self, change: i64) {
        let Frequencies { passages, words } = &mut self.df;
        *passages += 1;
        words.resize(self.lexicon.len(), (0, 0));
        for number in self.text.words.iter().chain(&self.title.words) {
            let (sum, last) = &mut words[*number as usize];
            if *last != *passages {
                (*sum, *last) = (*sum + change, *passages);
            }
        }
    }
}

/// Returns a column of texts.
fn texts<'t>(texts: &[&'t str]) -> Vec<Value<'t>> {
    texts.iter().map(|text| Value::Text((*text).into())).collect()
}

/// Reads a passage's text, split into the pieces that get a vector.
pub(super) fn read_text(lexicon: &mut Lexicon, passage: &Passage, reading: &mut Reading) {
    lexicon.read(&passage.text, piece::longest(passage), reading);
    if let Some(piece) = piece::beside(passage, reading.hints) {
        reading.add_piece(piece);
    }
}

/// The columns of a passage from which all its derived data can be rebuilt.
pub(super) const STORED_COLUMNS: &str = "id, ref, text, title, author, at, live, session, seq, kind, origin";

/// Reads a passage and its id from its row.
pub(super) fn stored(row: &Row<'_>) -> Result<(i64, Passage)> {
    let place: (Option<i64>, Option<i64>) = (row.get(7)?, row.get(8)?);
    let passage = Passage {
        kind: match row.text(9)? {
            "chunk" => "chunk",
            "message" => "message",
            EXCHANGE => EXCHANGE,
            _ => "entry",
        },
        reference: row.get(1)?,
        text: row.get(2)?,
        title: row.get(3)?,
        origin: row.get(10)?,
        author: row.get(4)?,
        at: row.get(5)?,
        live: row.get(6)?,
        place: place.0.zip(place.1),
        // Stored with the owner.
        standing: None,
        slice: None,
    };
    Ok((row.get(0)?, passage))
}

/// Rebuilds the derived data of passages whose text is stored nowhere else (messages, and chunks that are
/// kept), in order of id.
pub(super) fn rederive(db: &Connection, progress: &mut dyn FnMut(usize)) -> Result<()> {
    let mut lexicon = Lexicon::default();
    let mut writer = Writer::new(db, &mut lexicon)?;
    let sql = format!("SELECT {STORED_COLUMNS} FROM passages WHERE kind IN ('message', 'chunk') ORDER BY id");
    let mut count = 0;
    db.each(&sql, (), |row| {
        let (id, passage) = stored(row)?;
        writer.read(&passage);
        let sql = "UPDATE passages SET slot = $2, pieces = $3 WHERE id = $1";
        db.run(sql, (id, writer.vectors.next(), writer.pieces()))?;
        writer.insert_derived(id, &passage)?;
        count += 1;
        progress(count);
        Ok(ControlFlow::Continue(()))
    })?;
    writer.finish()
}

/// Runs `work` with a writer, and finishes. A frequent writer keeps a lexicon and a [`Writer`].
pub(crate) fn write<T>(db: &Connection, work: impl FnOnce(&mut Writer<'_>) -> Result<T>) -> Result<T> {
    let mut lexicon = Lexicon::default();
    let mut writer = Writer::new(db, &mut lexicon)?;
    let done = work(&mut writer)?;
    writer.finish()?;
    Ok(done)
}

/// Writes one passage.
pub(crate) fn put(db: &Connection, passage: &Passage) -> Result<()> {
    write(db, |writer| writer.put(passage))
}

/// Removes one passage.
pub(crate) fn remove(db: &Connection, kind: &str, reference: &str) -> Result<()> {
    write(db, |writer| writer.remove(kind, reference))
}

/// Removes one passage from default searches, or restores it.
pub(crate) fn set_live(db: &Connection, kind: &str, reference: &str, live: bool) -> Result<()> {
    write(db, |writer| writer.set_live(kind, reference, live))
}

/// Changes the origin of one passage.
pub(crate) fn set_origin(db: &Connection, kind: &str, reference: &str, origin: RecordOrigin) -> Result<()> {
    let sql = "UPDATE passages SET origin = $3 WHERE kind = $1 AND ref = $2";
    db.run(sql, (kind, reference, origin)).map(drop)
}

/// Changes one entry's weight independent of any question.
pub(crate) fn set_standing(db: &Connection, kind: &str, reference: &str, standing: Standing) -> Result<()> {
    write(db, |writer| writer.set_standing(kind, reference, standing))
}
