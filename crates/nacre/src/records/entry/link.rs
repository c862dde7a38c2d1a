//! Links between entries that are returned together. Recalling one entry can bring its strongest neighbours.

use super::EntryId;
use crate::base::Result;
use crate::store::Connection;

/// How many of the entries that are returned together are linked.
const MAX_LINKED_ENTRIES: usize = 5;
/// The maximum strength of a link.
const MAX_STRENGTH: f64 = 20.0;
/// The minimum strength of a link at which a neighbour is returned.
const MIN_STRENGTH: f64 = 2.0;
/// The maximum number of neighbours that are returned.
pub(crate) const MAX_NEIGHBOURS: usize = 2;

/// Records that these entries were returned together, best first.
pub(crate) fn note(db: &Connection, together: &[EntryId]) -> Result<()> {
    let sql = format!(
        "INSERT INTO entry_links (entry, other, strength) SELECT $1, $2, 1
         WHERE EXISTS (SELECT 1 FROM entries WHERE id = $1) AND EXISTS (SELECT 1 FROM entries WHERE id = $2)
         ON CONFLICT (entry, other) DO UPDATE
         SET strength = CASE WHEN entry_links.strength + 1 < {MAX_STRENGTH} THEN entry_links.strength + 1 ELSE {MAX_STRENGTH} END"
    );
    let best = &together[..together.len().min(MAX_LINKED_ENTRIES)];
    for one in best {
        for other in best.iter().filter(|other| *other != one) {
            db.run(&sql, (one, other))?;
        }
    }
    Ok(())
}

/// Returns the entries that were often returned with these and are not among them, strongest first.
pub(crate) fn neighbours(db: &Connection, of: &[&str]) -> Result<Vec<String>> {
    let sql = "SELECT other, sum(strength) FROM entry_links WHERE entry IN (SELECT value FROM json_each($1))
        AND other NOT IN (SELECT value FROM json_each($1)) AND strength >= $2
        GROUP BY other ORDER BY 2 DESC, other LIMIT $3";
    db.rows(sql, (serde_json::to_string(of)?, MIN_STRENGTH, MAX_NEIGHBOURS), |row| row.get(0))
}
