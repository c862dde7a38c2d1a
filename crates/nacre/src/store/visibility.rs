//! Which rows a session sees: over every table that holds words, a shared connection has a view of the same name with the
//! public rows ([`TABLES`]). Readers do not ask; they get a database in which only what they may see is there.

use crate::base::Result;
use crate::base::caller::{Visibility, is_private};
use crate::store::Connection;

/// What a shared session sees of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Everything: it holds no words of anyone, or words that no reader gives out.
    All,
    /// The rows for which this holds.
    Where(&'static str),
    /// Nothing.
    Nothing,
}

/// What holds of a row that was read: a document or a conversation that is public still says it.
macro_rules! said_in_public {
    ($kind:literal, $table:literal) => {
        concat!(
            "(source NOT IN ('document', 'conversation')
            OR EXISTS (SELECT 1 FROM main.citations JOIN public_documents USING (path)
                WHERE kind = '",
            $kind,
            "' AND citations.id = ",
            $table,
            ".id)
            OR EXISTS (SELECT 1 FROM main.citations AS c
                JOIN main.passages AS p ON p.kind = 'message' AND p.ref = substr(c.path, 10)
                JOIN public_sessions AS s ON s.number = p.session
                WHERE c.kind = '",
            $kind,
            "' AND c.id = ",
            $table,
            ".id AND substr(c.path, 1, 9) = 'sessions/'))"
        )
    };
}

/// Every table of a memory, and what a shared session sees of it. A later row may rely on the views before it.
pub(crate) const TABLES: &[(&str, Seen)] = &[
    ("entries", Seen::Where("private = 0")),
    ("entry_history", Seen::Where("private = 0 AND entry IN (SELECT id FROM public_entries)")),
    ("entry_links", Seen::All),
    // Where an entry came from is shown with it; the rest no reader gives out.
    ("imports", Seen::Where("kind = 'entry' AND ref IN (SELECT id FROM public_entries)")),
    ("documents", Seen::Where("private = 0 AND NOT is_private_path(path)")),
    ("sessions", Seen::Where("private = 0")),
    ("transcripts", Seen::Where("session IN (SELECT id FROM sessions)")),
    ("transcript_ids", Seen::Where("session IN (SELECT id FROM sessions)")),
    ("flushes", Seen::All),
    ("exchanges", Seen::Where("private = 0")),
    ("lessons", Seen::Where("private = 0")),
    ("facts", Seen::Where(concat!("private = 0 AND ", said_in_public!("fact", "facts")))),
    ("relations", Seen::Where(concat!("private = 0 AND ", said_in_public!("relation", "relations")))),
    (
        "names",
        Seen::Where(concat!(
            // Something public is said of whom it names; or it was itself given in public.
            "own AND (EXISTS (SELECT 1 FROM public_facts AS f WHERE f.entity = names.entity)
                OR EXISTS (SELECT 1 FROM public_relations AS r WHERE r.subject = names.entity)
                OR EXISTS (SELECT 1 FROM public_relations AS r WHERE r.object = names.entity))
            OR private = 0 AND ",
            said_in_public!("name", "names")
        )),
    ),
    // Whose own name is seen: an alias alone would tell the name behind it.
    (
        "entities",
        Seen::Where("EXISTS (SELECT 1 FROM public_names AS n WHERE n.entity = entities.id AND n.own)"),
    ),
    ("citations", Seen::Where("path IN (SELECT path FROM public_documents)")),
    ("kept_out", Seen::Where("path IN (SELECT path FROM public_documents)")),
    ("items", Seen::Where("private = 0 AND NOT is_private_path(path)")),
    (
        "passages",
        Seen::Where(
            // Its owner decides; a kind that is not named here is not seen.
            "CASE kind
                WHEN 'entry' THEN ref IN (SELECT id FROM public_entries)
                WHEN 'chunk' THEN substr(ref, 1, length(rtrim(ref, '0123456789')) - 1)
                    IN (SELECT path FROM public_documents)
                WHEN 'message' THEN session IN (SELECT number FROM public_sessions)
                WHEN 'exchange' THEN session IN (SELECT number FROM public_sessions)
                WHEN 'fact' THEN substr(ref, 6) IN (SELECT CAST(id AS TEXT) FROM public_facts)
                WHEN 'relation' THEN substr(ref, 10) IN (SELECT CAST(id AS TEXT) FROM public_relations)
                WHEN 'item' THEN ref IN (SELECT id FROM public_items)
                WHEN 'task' THEN 1
                ELSE 0 END",
        ),
    ),
    ("proposals", Seen::Where("private = 0 AND NOT is_private_path(target)")),
    // Work is shared as entries are that nobody marked.
    ("tasks", Seen::All),
    ("task_blocks", Seen::All),
    ("task_changes", Seen::All),
    // Names of folders and files, which no reader gives out.
    ("projects", Seen::All),
    ("project_files", Seen::All),
    ("jobs", Seen::All),
    ("line_uses", Seen::All),
    ("promoted", Seen::All),
    ("file_changes", Seen::Nothing),
    // A session's own, by its id; who names another's sees nothing of it.
    ("turns", Seen::Where("private = 0")),
    ("usage", Seen::All),
    ("seen", Seen::All),
    // Ids, numbers and sizes.
    ("audit", Seen::All),
    ("meta", Seen::All),
    ("collections", Seen::All),
    ("recalled_together", Seen::All),
    ("merges", Seen::All),
    ("distinct_entities", Seen::All),
    ("multi_keys", Seen::All),
    ("categories", Seen::All),
    // The index: words and numbers by which passages are found, and which are given out of `passages` alone.
    ("passages_fts", Seen::All),
    ("passages_vocab", Seen::All),
    ("terms", Seen::All),
    ("authors", Seen::All),
    ("marks", Seen::All),
    ("vectors", Seen::All),
    ("embedded", Seen::All),
];

/// Makes a connection one of a shared session: every table is there as such a session sees it.
pub(crate) fn restrict(db: &Connection, private: &[String]) -> Result<()> {
    make_public(db, private)?;
    for (table, _) in TABLES.iter().filter(|(_, seen)| *seen != Seen::All) {
        db.batch(&format!("CREATE TEMP VIEW {table} AS SELECT * FROM public_{table};"))?;
    }
    Ok(())
}

/// Gives a connection that writes a second look at every table, as shared sessions see it: `public_facts` and so on.
/// Who writes for one of them asks it before anything is changed or told ([`shows`]).
pub(crate) fn make_public(db: &Connection, private: &[String]) -> Result<()> {
    let private = private.to_vec();
    db.define("is_private_path", move |[path]| Ok(is_private(&private, &path.into_text()?)))?;
    for (table, seen) in TABLES {
        let condition = match seen {
            Seen::All => continue,
            Seen::Where(condition) => condition,
            Seen::Nothing => "0",
        };
        db.batch(&format!(
            "CREATE TEMP VIEW IF NOT EXISTS public_{table} AS SELECT * FROM main.{table} WHERE {condition};"
        ))?;
    }
    Ok(())
}

/// Tells whether such a session sees the row of this number, on a connection that writes.
pub(crate) fn shows(db: &Connection, visibility: Visibility, table: &str, id: i64) -> Result<bool> {
    if visibility == Visibility::Private {
        return Ok(true);
    }
    let sql = format!("SELECT EXISTS (SELECT 1 FROM public_{table} WHERE id = $1)");
    db.one(&sql, [id], |row| row.get(0))
}
