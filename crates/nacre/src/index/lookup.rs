//! Index queries: how many passages there are, and which of them contain a word.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::postings;
use crate::base::origin::RecordOrigin;
use crate::base::{Result, Time};
use crate::store::{Connection, Engine, Row};

/// Returns the number of passages.
pub(crate) fn count(db: &Connection) -> Result<i64> {
    db.one("SELECT count(*) FROM passages", (), |row| row.get(0))
}

/// The document frequencies of words: how many passages contain each.
#[derive(Default)]
pub(crate) struct Frequencies(HashMap<String, i64>);

impl Frequencies {
    /// Reads the frequencies of these words. A server answers for all of them at once.
    pub(crate) fn read(db: &Connection, words: impl IntoIterator<Item = String>) -> Result<Frequencies> {
        let mut words: Vec<String> = words.into_iter().collect();
        words.sort_unstable();
        words.dedup();
        let mut known = HashMap::new();
        match db.engine() {
            Engine::Postgres(_) if words.is_empty() => {}
            Engine::Postgres(server) => {
                let sql = "SELECT term, df FROM unnest($1::text[]) AS w (term) JOIN terms USING (term)";
                let rows = server.query(sql, &[&words])?;
                known.extend(rows.iter().map(|row| (row.get(0), row.get(1))));
            }
            Engine::Sqlite(_) => {
                for word in words {
                    let df = db.row("SELECT df FROM terms WHERE term = $1", [&word], |row| row.get(0))?;
                    known.extend(df.map(|df| (word, df)));
                }
            }
        }
        Ok(Frequencies(known))
    }

    /// Returns the frequency of a word that was read; 0 if no passage contains it.
    pub(crate) fn of(&self, word: &str) -> i64 {
        self.0.get(word).copied().unwrap_or(0)
    }
}

/// Returns the passages that match each of these FTS5 expressions, with its `bm25()`.
pub(crate) fn scored(db: &Connection, expressions: &[String]) -> Result<Vec<Vec<(u32, f64)>>> {
    if let Engine::Postgres(server) = db.engine() {
        return postings::scored(server, expressions);
    }
    let sql = "SELECT rowid, bm25(passages_fts) FROM passages_fts WHERE passages_fts MATCH $1";
    let hits = |expression| db.rows(sql, [expression], |row| Ok((row.get(0)?, row.get(1)?)));
    expressions.iter().map(hits).collect()
}

/// Returns the passages that match each of these FTS5 expressions.
pub(crate) fn matching(db: &Connection, expressions: &[String]) -> Result<Vec<Vec<u32>>> {
    if let Engine::Postgres(server) = db.engine() {
        return postings::matching(server, expressions);
    }
    let sql = "SELECT rowid FROM passages_fts WHERE passages_fts MATCH $1";
    expressions.iter().map(|expression| db.rows(sql, [expression], |row| row.get(0))).collect()
}

/// A passage that may contradict a statement.
pub(crate) struct Candidate {
    pub(crate) kind: String,
    pub(crate) reference: String,
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) at: Time,
    pub(crate) origin: RecordOrigin,
    /// The first line of a document's chunk, from 1.
    pub(crate) first_line: i64,
}

const CANDIDATE: &str = "kind, ref, title, text, at, coalesce(first_line, 1), origin";

fn candidate(row: &Row<'_>) -> Result<Candidate> {
    Ok(Candidate {
        kind: row.get(0)?,
        reference: row.get(1)?,
        title: row.get(2)?,
        text: row.get(3)?,
        at: row.get(4)?,
        first_line: row.get(5)?,
        origin: row.get(6)?,
    })
}

/// Returns the current entries, facts and chunks among the `most` passages that match an FTS5 expression best, oldest
/// first.
pub(crate) fn best_statements(db: &Connection, expression: &str, most: usize) -> Result<Vec<Candidate>> {
    if let Engine::Postgres(server) = db.engine() {
        let sql = format!(
            "SELECT {CANDIDATE} FROM passages
            WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_each($1)) AND kind IN ('entry', 'fact', 'chunk') AND live
            ORDER BY id"
        );
        let ids = postings::best(server, expression, most)?;
        return db.rows(&sql, [serde_json::to_string(&ids)?], candidate);
    }
    let sql = format!(
        "WITH hits AS MATERIALIZED
            (SELECT rowid AS id FROM passages_fts WHERE passages_fts MATCH $1 ORDER BY rank LIMIT $2)
        SELECT {CANDIDATE} FROM hits JOIN passages USING (id)
        WHERE kind IN ('entry', 'fact', 'chunk') AND live ORDER BY id"
    );
    db.rows(&sql, (expression, most), candidate)
}

/// Returns chunks of documents that were indexed after this passage, in the order of their ids.
pub(crate) fn chunks_after(db: &Connection, passage: i64, most: usize) -> Result<Vec<(i64, Candidate)>> {
    let sql = format!(
        "SELECT {CANDIDATE}, id FROM passages WHERE kind = 'chunk' AND live AND id > $1 ORDER BY id LIMIT $2"
    );
    db.rows(&sql, (passage, most), |row| Ok((row.get(7)?, candidate(row)?)))
}

/// Returns the text and the time of a current passage.
pub(crate) fn live(db: &Connection, kind: &str, reference: &str) -> Result<Option<(String, Time)>> {
    let sql = "SELECT text, at FROM passages WHERE kind = $1 AND ref = $2 AND live";
    db.row(sql, (kind, reference), |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Returns the references of all current entries and facts, oldest first.
pub(crate) fn all_statements(db: &Connection) -> Result<Vec<String>> {
    db.rows("SELECT ref FROM passages WHERE kind IN ('entry', 'fact') AND live ORDER BY at, id", (), |row| {
        row.get(0)
    })
}

/// Passes the lines of an indexed document to `take` until it breaks: their numbers from 1, their trimmed texts, and their time.
pub(crate) fn document_lines(
    db: &Connection,
    path: &str,
    mut take: impl FnMut(i64, &str, Time) -> ControlFlow<()>,
) -> Result<()> {
    // `$` is the character after `#`. The number of the chunk follows.
    let sql = "SELECT text, at, coalesce(first_line, 1), substr(ref, length($1) + 2) FROM passages
        WHERE kind = 'chunk' AND ref >= $1 || '#' AND ref < $1 || '$' ORDER BY ref";
    db.each(sql, [path], |row| {
        let (at, first_line): (Time, i64) = (row.get(1)?, row.get(2)?);
        if row.text(3)?.parse::<usize>().is_err() {
            return Ok(ControlFlow::Continue(()));
        }
        for (line, text) in (first_line..).zip(row.text(0)?.lines()) {
            if take(line, text.trim(), at).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// Returns the references of passages of two kinds that contain any of the words, best first. The words must
/// be in the analyser's form.
pub(crate) fn having_any(
    db: &Connection,
    words: &[&str],
    kinds: [&str; 2],
    past_too: bool,
    most: usize,
) -> Result<Vec<String>> {
    let wanted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    let [one, other] = kinds;
    let expression = wanted.join(" OR ");
    if let Engine::Postgres(server) = db.engine() {
        let ids = postings::best(server, &expression, usize::MAX)?;
        let sql = "SELECT id, ref FROM passages WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_each($1))
            AND kind IN ($2, $3) AND (live OR $4)";
        let params = (serde_json::to_string(&ids)?, one, other, past_too);
        let mut found: HashMap<i64, String> =
            db.rows(sql, params, |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().collect();
        return Ok(ids.iter().filter_map(|id| found.remove(id)).take(most).collect());
    }
    let sql = "WITH hits AS MATERIALIZED (SELECT rowid, rank FROM passages_fts WHERE passages_fts MATCH $1)
        SELECT ref FROM hits JOIN passages ON passages.id = hits.rowid
        WHERE kind IN ($2, $3) AND (live OR $4) ORDER BY rank LIMIT $5";
    db.rows(sql, (expression, one, other, past_too, most), |row| row.get(0))
}
