//! Row visibility: a shared connection has, for every table with user text, a view of the same name that
//! contains only public rows ([`TABLES`]). Readers need no checks of their own; they get a database in which
//! private rows do not exist.

use crate::base::Result;
use crate::base::caller::{Visibility, is_private};
use crate::store::Connection;

/// The part of a table that a shared session sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VisibleRows {
    /// Everything: it holds no user text, or text that is never returned to a reader.
    All,
    /// The rows that satisfy this condition.
    Where(&'static str),
    /// Nothing.
    Nothing,
}

/// The condition for a row that was extracted: a public document or conversation still states it.
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

/// Every table of a memory, and the part that a shared session sees. A row may rely on the views of the rows
/// before it.
pub(crate) const TABLES: &[(&str, VisibleRows)] = &[
    ("entries", VisibleRows::Where("private = 0")),
    ("entry_history", VisibleRows::Where("private = 0 AND entry IN (SELECT id FROM public_entries)")),
    ("entry_links", VisibleRows::All),
    // Ids, paths and hashes; a conflict is shown with its statements, which have to be visible.
    ("conflicts", VisibleRows::All),
    // The origin of an entry is shown with the entry; the other columns are never returned.
    ("imports", VisibleRows::Where("kind = 'entry' AND ref IN (SELECT id FROM public_entries)")),
    ("documents", VisibleRows::Where("private = 0 AND NOT is_private_path(path)")),
    ("sessions", VisibleRows::Where("private = 0")),
    ("transcripts", VisibleRows::Where("session IN (SELECT id FROM sessions)")),
    ("transcript_ids", VisibleRows::Where("session IN (SELECT id FROM sessions)")),
    ("flushes", VisibleRows::All),
    ("exchanges", VisibleRows::Where("private = 0")),
    ("lessons", VisibleRows::Where("private = 0")),
    ("facts", VisibleRows::Where(concat!("private = 0 AND ", said_in_public!("fact", "facts")))),
    ("relations", VisibleRows::Where(concat!("private = 0 AND ", said_in_public!("relation", "relations")))),
    (
        "names",
        VisibleRows::Where(concat!(
            // A public fact or relation is about the named entity, or the name itself was given in public.
            "own AND (EXISTS (SELECT 1 FROM public_facts AS f WHERE f.entity = names.entity)
                OR EXISTS (SELECT 1 FROM public_relations AS r WHERE r.subject = names.entity)
                OR EXISTS (SELECT 1 FROM public_relations AS r WHERE r.object = names.entity))
            OR private = 0 AND ",
            said_in_public!("name", "names")
        )),
    ),
    // The entity's own name is visible too: otherwise an alias would reveal it.
    (
        "entities",
        VisibleRows::Where("EXISTS (SELECT 1 FROM public_names AS n WHERE n.entity = entities.id AND n.own)"),
    ),
    ("citations", VisibleRows::Where("path IN (SELECT path FROM public_documents)")),
    ("kept_out", VisibleRows::Where("path IN (SELECT path FROM public_documents)")),
    ("items", VisibleRows::Where("private = 0 AND NOT is_private_path(path)")),
    (
        "passages",
        VisibleRows::Where(
            // The visibility of the passage's owner decides; passages of an unlisted kind are hidden.
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
    ("proposals", VisibleRows::Where("private = 0 AND NOT is_private_path(target)")),
    // Tasks are shared, like entries that nobody marked private.
    ("tasks", VisibleRows::All),
    ("task_blocks", VisibleRows::All),
    ("task_changes", VisibleRows::All),
    // Names of folders and files, which are never returned to a reader.
    ("projects", VisibleRows::All),
    ("project_files", VisibleRows::All),
    ("jobs", VisibleRows::All),
    ("line_uses", VisibleRows::All),
    ("promoted", VisibleRows::All),
    ("file_changes", VisibleRows::Nothing),
    // Rows are looked up by session id; a shared session that names another session's id finds nothing
    // private.
    ("turns", VisibleRows::Where("private = 0")),
    ("usage", VisibleRows::All),
    ("seen", VisibleRows::All),
    // Ids, numbers and sizes.
    ("audit", VisibleRows::All),
    ("meta", VisibleRows::All),
    ("collections", VisibleRows::All),
    ("recalled_together", VisibleRows::All),
    ("merges", VisibleRows::All),
    ("distinct_entities", VisibleRows::All),
    ("multi_keys", VisibleRows::All),
    ("categories", VisibleRows::All),
    // The index: words and numbers used to find passages. Text is returned only from `passages`.
    ("passages_fts", VisibleRows::All),
    ("passages_vocab", VisibleRows::All),
    ("terms", VisibleRows::All),
    ("authors", VisibleRows::All),
    ("marks", VisibleRows::All),
    ("vectors", VisibleRows::All),
    ("embedded", VisibleRows::All),
];

/// Restricts a connection to the data that a shared session sees.
pub(crate) fn restrict(db: &Connection, private: &[String]) -> Result<()> {
    make_public(db, private)?;
    for (table, _) in TABLES.iter().filter(|(_, seen)| *seen != VisibleRows::All) {
        db.batch(&format!("CREATE TEMP VIEW {table} AS SELECT * FROM public_{table};"))?;
    }
    Ok(())
}

/// Adds views such as `public_facts` to a writing connection, each with the rows that shared sessions see. A
/// write on behalf of a shared session checks them before it changes or reports anything ([`shows`]).
pub(crate) fn make_public(db: &Connection, private: &[String]) -> Result<()> {
    let private = private.to_vec();
    db.define("is_private_path", move |[path]| Ok(is_private(&private, &path.into_text()?)))?;
    for (table, seen) in TABLES {
        let condition = match seen {
            VisibleRows::All => continue,
            VisibleRows::Where(condition) => condition,
            VisibleRows::Nothing => "0",
        };
        db.batch(&format!(
            "CREATE TEMP VIEW IF NOT EXISTS public_{table} AS SELECT * FROM main.{table} WHERE {condition};"
        ))?;
    }
    Ok(())
}

/// Tells, on a writing connection, whether such a session sees the row with this number.
pub(crate) fn shows(db: &Connection, visibility: Visibility, table: &str, id: i64) -> Result<bool> {
    if visibility == Visibility::Private {
        return Ok(true);
    }
    let sql = format!("SELECT EXISTS (SELECT 1 FROM public_{table} WHERE id = $1)");
    db.one(&sql, [id], |row| row.get(0))
}
