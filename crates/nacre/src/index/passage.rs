//! A passage: kind, reference, text, time; and all that is derived from it: words in the full-text index,
//! document frequencies, its mark, its vectors.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mark::{self, Mark, Standing, flag};
use super::{analyse, packed, piece};
use crate::embed::builtin;
use crate::{Result, Time};

/// Where to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Typed entries.
    Entries,
    /// Documents: the Markdown files of the workspace.
    Memory,
    /// Messages of sessions.
    Sessions,
    /// Documents of collections.
    Sources,
}

impl Scope {
    /// Returns the bit that the passages of this scope have in their marks.
    pub(crate) fn flag(self) -> u16 {
        match self {
            Scope::Entries => flag::ENTRY,
            Scope::Memory | Scope::Sources => flag::CHUNK,
            Scope::Sessions => flag::MESSAGE,
        }
    }
}

/// One searchable piece of text.
pub(crate) struct Passage {
    pub(crate) kind: &'static str,
    pub(crate) reference: String,
    pub(crate) text: String,
    /// What describes the text and is searched with it: tags, a heading, the date and the speaker.
    pub(crate) title: String,
    /// Who said it: `user`, `assistant` or a name.
    pub(crate) author: Option<String>,
    pub(crate) at: Time,
    /// Not live: out of every search that does not ask for the past.
    pub(crate) live: bool,
    /// The number of its session and its place in it.
    pub(crate) place: Option<(i64, i64)>,
    /// What an entry is worth apart from what is asked.
    pub(crate) standing: Option<Standing>,
    /// Where a chunk stands in its document.
    pub(crate) slice: Option<Slice>,
}

/// Where a chunk stands in its document, and the hash by which it is known again.
#[derive(Clone)]
pub(crate) struct Slice {
    /// The first and the last of its lines, from 1.
    pub(crate) lines: (i64, i64),
    /// SHA-256 of its title and text.
    pub(crate) hash: String,
}

/// Writes to the index within one transaction. [`Writer::finish`] must be the last call.
pub(crate) struct Writer<'a> {
    db: &'a Connection,
    stamp: i64,
    /// Changes of document frequencies, kept until the end: a common word is then one update, not thousands.
    df: HashMap<String, i64>,
    marks: packed::Marks,
    vectors: packed::Vectors,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(db: &'a Connection) -> Result<Writer<'a>> {
        let stamp = packed::next_stamp(db)?;
        let (marks, vectors) = (packed::Marks::default(), packed::Vectors::open(db)?);
        Ok(Writer { db, stamp, df: HashMap::new(), marks, vectors })
    }

    /// Writes a passage, in place of the one that had its reference.
    pub(crate) fn put(&mut self, passage: &Passage) -> Result<()> {
        self.remove(passage.kind, &passage.reference)?;
        self.insert(passage)
    }

    /// Writes a passage whose reference is known to be free.
    pub(crate) fn insert(&mut self, passage: &Passage) -> Result<()> {
        let Passage { kind, reference, text, title, author, at, live, place, standing: _, slice } = passage;
        let pieces = piece::of(passage);
        let slot = self.vectors.next();
        let (session, seq) = place.unzip();
        let (lines, hash) = slice.as_ref().map(|slice| (slice.lines, &slice.hash)).unzip();
        let (first_line, last_line) = lines.unzip();
        let sql =
            "INSERT INTO passages (kind, ref, text, title, author, at, live, session, seq, slot, pieces, hash, first_line, last_line)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
        self.db.prepare_cached(sql)?.execute((
            kind,
            reference,
            text,
            title,
            author,
            at,
            live,
            session,
            seq,
            slot,
            i64::try_from(pieces.len()).expect("pieces of one text"),
            hash,
            first_line,
            last_line,
        ))?;
        let id = self.db.last_insert_rowid();
        self.insert_derived(id, passage, &pieces)
    }

    fn insert_derived(&mut self, id: i64, passage: &Passage, pieces: &[&str]) -> Result<()> {
        let (text, title) = (analyse::words(&passage.text), analyse::words(&passage.title));
        self.count(&text, &title, 1);
        self.db
            .prepare_cached("INSERT INTO passages_fts (rowid, text, title) VALUES (?1, ?2, ?3)")?
            .execute((id, text.join(" "), title.join(" ")))?;
        self.marks.set(self.db, id, &Mark::of(passage, text.len() + title.len()))?;
        for piece in pieces {
            self.vectors.push(self.db, self.stamp, id, &builtin::quantise(&builtin::embed(piece)))?;
        }
        if let Some(name) =
            passage.author.as_deref().filter(|name| !matches!(*name, "" | "user" | "assistant"))
        {
            self.db
                .prepare_cached("INSERT INTO authors (hash, name) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
                .execute((mark::author_hash(name), name))?;
        }
        Ok(())
    }

    /// Takes a passage away, with all that is derived from it.
    pub(crate) fn remove(&mut self, kind: &str, reference: &str) -> Result<()> {
        type Found = (i64, String, String, Option<i64>, Option<i64>);
        let found: Option<Found> = self
            .db
            .prepare_cached(
                "SELECT id, text, title, slot, pieces FROM passages WHERE kind = ?1 AND ref = ?2",
            )?
            .query_row((kind, reference), |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
            })
            .optional()?;
        let Some((id, text, title, slot, pieces)) = found else {
            return Ok(());
        };
        let (text, title) = (analyse::words(&text), analyse::words(&title));
        self.count(&text, &title, -1);
        // A contentless index is told what to forget: the same words that it was given.
        self.db
            .prepare_cached(
                "INSERT INTO passages_fts (passages_fts, rowid, text, title) VALUES ('delete', ?1, ?2, ?3)",
            )?
            .execute((id, text.join(" "), title.join(" ")))?;
        self.db.prepare_cached("DELETE FROM passages WHERE id = ?1")?.execute([id])?;
        self.marks.set(self.db, id, &Mark::default())?;
        if let (Some(slot), Some(pieces)) = (slot, pieces) {
            self.vectors.clear(self.db, self.stamp, slot, pieces)?;
        }
        Ok(())
    }

    /// Takes a passage out of every default search, or brings it back.
    pub(crate) fn set_live(&mut self, kind: &str, reference: &str, live: bool) -> Result<()> {
        let sql = "UPDATE passages SET live = ?3 WHERE kind = ?1 AND ref = ?2";
        self.db.prepare_cached(sql)?.execute((kind, reference, live))?;
        self.change_mark(kind, reference, |mark| {
            mark.flags = if live { mark.flags | flag::LIVE } else { mark.flags & !flag::LIVE };
        })
    }

    /// Changes what an entry is worth apart from what is asked.
    pub(crate) fn set_standing(&mut self, kind: &str, reference: &str, standing: Standing) -> Result<()> {
        self.change_mark(kind, reference, |mark| mark.set_standing(standing))
    }

    /// Moves a chunk whose text has stayed: to another number and other lines of its document, which has
    /// another time. Nothing that is derived from the text is made again.
    pub(crate) fn move_chunk(&mut self, id: i64, passage: &Passage) -> Result<()> {
        let (first, last) = passage.slice.as_ref().map(|slice| slice.lines).unzip();
        let sql = "UPDATE passages SET ref = ?2, at = ?3, first_line = ?4, last_line = ?5 WHERE id = ?1";
        self.db.prepare_cached(sql)?.execute((id, &passage.reference, passage.at, first, last))?;
        let mut mark = self.marks.get(self.db, id)?;
        mark.set_time(passage.at);
        self.marks.set(self.db, id, &mark)
    }

    fn change_mark(&mut self, kind: &str, reference: &str, change: impl FnOnce(&mut Mark)) -> Result<()> {
        let sql = "SELECT id FROM passages WHERE kind = ?1 AND ref = ?2";
        let id: Option<i64> =
            self.db.prepare_cached(sql)?.query_row((kind, reference), |row| row.get(0)).optional()?;
        if let Some(id) = id {
            let mut mark = self.marks.get(self.db, id)?;
            change(&mut mark);
            self.marks.set(self.db, id, &mark)?;
        }
        Ok(())
    }

    /// Writes what was held back.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.marks.flush(self.db, self.stamp)?;
        self.vectors.flush(self.db, self.stamp)?;
        let mut update = self.db.prepare_cached(
            "INSERT INTO terms (term, df) VALUES (?1, ?2) ON CONFLICT (term) DO UPDATE SET df = df + excluded.df",
        )?;
        let mut gone = self.db.prepare_cached("DELETE FROM terms WHERE term = ?1 AND df <= 0")?;
        for (term, change) in self.df {
            update.execute((&term, change))?;
            if change < 0 {
                gone.execute([&term])?;
            }
        }
        Ok(())
    }

    fn count(&mut self, text: &[String], title: &[String], change: i64) {
        let mut seen: Vec<&str> = text.iter().chain(title).map(String::as_str).collect();
        seen.sort_unstable();
        seen.dedup();
        for word in seen {
            match self.df.get_mut(word) {
                Some(df) => *df += change,
                None => {
                    self.df.insert(word.to_owned(), change);
                }
            }
        }
    }
}

/// Derives everything anew for passages whose text stands nowhere else (messages, and chunks that are kept), in
/// the order of their ids.
pub(super) fn rederive(db: &Connection) -> Result<usize> {
    let mut writer = Writer::new(db)?;
    let mut statement = db.prepare(
        "SELECT id, ref, text, title, author, at, live, session, seq, kind FROM passages
            WHERE kind IN ('message', 'chunk') ORDER BY id",
    )?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        let place: (Option<i64>, Option<i64>) = (row.get(7)?, row.get(8)?);
        let passage = Passage {
            kind: if row.get::<_, String>(9)? == "chunk" { "chunk" } else { "message" },
            reference: row.get(1)?,
            text: row.get(2)?,
            title: row.get(3)?,
            author: row.get(4)?,
            at: row.get(5)?,
            live: row.get(6)?,
            place: place.0.zip(place.1),
            standing: None,
            // Stands in its row already.
            slice: None,
        };
        let pieces = piece::of(&passage);
        let slot = writer.vectors.next();
        db.prepare_cached("UPDATE passages SET slot = ?2, pieces = ?3 WHERE id = ?1")?.execute((
            id,
            slot,
            i64::try_from(pieces.len()).expect("pieces of one text"),
        ))?;
        writer.insert_derived(id, &passage, &pieces)?;
        count += 1;
    }
    writer.finish()?;
    Ok(count)
}
