//! Questions to the full-text index, which is SQLite's own.

use crate::base::Result;
use crate::store::Connection;

/// Returns the references of passages of two kinds that have any of the words, best first. Words are as the analyser
/// writes them.
pub(crate) fn having_any(
    db: &Connection,
    words: &[&str],
    kinds: [&str; 2],
    past_too: bool,
    most: usize,
) -> Result<Vec<String>> {
    let sql = "WITH hits AS MATERIALIZED (SELECT rowid, rank FROM passages_fts WHERE passages_fts MATCH $1)
        SELECT ref FROM hits JOIN passages ON passages.id = hits.rowid
        WHERE kind IN ($2, $3) AND (live OR $4) ORDER BY rank LIMIT $5";
    let wanted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    let [one, other] = kinds;
    db.rows(sql, (wanted.join(" OR "), one, other, past_too, most), |row| row.get(0))
}
