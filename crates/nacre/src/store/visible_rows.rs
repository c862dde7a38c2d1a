//! Which rows of each table a shared session sees. Views on SQLite and policies on a server are made from this table.

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

/// The rows to which [`said_in_public`] applies: kind, table and condition. A server has a function for it.
pub(crate) const SAID_IN_PUBLIC: &[(&str, &str, &str)] = &[
    ("fact", "facts", said_in_public!("fact", "facts")),
    ("relation", "relations", said_in_public!("relation", "relations")),
    ("name", "names", said_in_public!("name", "names")),
];

/// Every table of a memory, and the part that a shared session sees. A row may rely on the views of the rows
/// before it.
pub(crate) const TABLES: &[(&str, VisibleRows)] = &[
    ("entries", VisibleRows::Where("NOT private")),
    ("entry_history", VisibleRows::Where("NOT private AND entry IN (SELECT id FROM public_entries)")),
    ("entry_links", VisibleRows::All),
    // Words of the memories that name them.
    ("mentions", VisibleRows::Where("entry IN (SELECT id FROM public_entries)")),
    // Ids, paths and hashes; a conflict is shown with its statements, which have to be visible.
    ("conflicts", VisibleRows::All),
    // The origin of an entry is shown with the entry; the other columns are never returned.
    ("imports", VisibleRows::Where("kind = 'entry' AND ref IN (SELECT id FROM public_entries)")),
    ("documents", VisibleRows::Where("NOT private AND NOT is_private_path(path)")),
    ("sessions", VisibleRows::Where("NOT private")),
    ("transcripts", VisibleRows::Where("session IN (SELECT id FROM public_sessions)")),
    ("transcript_ids", VisibleRows::Where("session IN (SELECT id FROM public_sessions)")),
    ("flushes", VisibleRows::All),
    // Ids of messages, and memories before they are stored.
    ("distil_read", VisibleRows::All),
    ("distil_found", VisibleRows::Nothing),
    ("distil_due", VisibleRows::Nothing),
    ("llm_usage", VisibleRows::All),
    ("exchanges", VisibleRows::Where("NOT private")),
    ("lessons", VisibleRows::Where("NOT private")),
    ("facts", VisibleRows::Where(concat!("NOT private AND ", said_in_public!("fact", "facts")))),
    ("relations", VisibleRows::Where(concat!("NOT private AND ", said_in_public!("relation", "relations")))),
    (
        "names",
        VisibleRows::Where(concat!(
            // A public fact or relation is about the named entity, or the name itself was given in public.
            "own AND (EXISTS (SELECT 1 FROM public_facts AS f WHERE f.entity = names.entity)
                OR EXISTS (SELECT 1 FROM public_relations AS r WHERE r.subject = names.entity)
                OR EXISTS (SELECT 1 FROM public_relations AS r WHERE r.object = names.entity))
            OR NOT private AND ",
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
    ("items", VisibleRows::Where("NOT private AND NOT is_private_path(path)")),
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
                WHEN 'task' THEN true
                ELSE false END",
        ),
    ),
    ("proposals", VisibleRows::Where("NOT private AND NOT is_private_path(target)")),
    // Tasks are shared, like entries that nobody marked private.
    ("tasks", VisibleRows::All),
    ("task_blocks", VisibleRows::All),
    ("task_changes", VisibleRows::All),
    // A copy of what tasks.json said; never returned to a reader.
    ("live_files", VisibleRows::Nothing),
    // Names of folders and files, which are never returned to a reader.
    ("projects", VisibleRows::All),
    ("project_files", VisibleRows::All),
    ("item_sections", VisibleRows::All),
    ("jobs", VisibleRows::All),
    ("line_uses", VisibleRows::All),
    ("promoted", VisibleRows::All),
    ("file_changes", VisibleRows::Nothing),
    // Rows are looked up by session id; a shared session that names another session's id finds nothing
    // private.
    ("turns", VisibleRows::Where("NOT private")),
    ("usage", VisibleRows::All),
    // Keyed hashes; names of sessions and tokens, which only people see.
    ("tombstones", VisibleRows::All),
    ("quarantines", VisibleRows::Nothing),
    ("quarantined", VisibleRows::Nothing),
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
    // Copies of records with their whole history, which are never returned to a reader.
    ("sync_records", VisibleRows::Nothing),
    ("sync_tombstones", VisibleRows::All),
    ("sync_texts", VisibleRows::All),
    ("sync_devices", VisibleRows::All),
    ("sync_outbox", VisibleRows::Nothing),
    ("sync_state", VisibleRows::All),
    // The index: words and numbers used to find passages. Text is returned only from `passages`.
    ("passages_fts", VisibleRows::All),
    ("passages_vocab", VisibleRows::All),
    ("terms", VisibleRows::All),
    ("authors", VisibleRows::All),
    ("marks", VisibleRows::All),
    ("vectors", VisibleRows::All),
    ("embedded", VisibleRows::All),
    ("line_vectors", VisibleRows::All),
];
