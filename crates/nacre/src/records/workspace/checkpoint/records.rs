//! The records of a database: which tables a checkpoint keeps, and how they are copied, compared and
//! restored.
//!
//! The other database is attached to the live one under the name `point`, so that one transaction sees both.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::Serialize;

use crate::base::Result;
use crate::records::entry;
use crate::records::workspace::proposal;
use crate::store::Connection;

/// How a checkpoint treats a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableRole {
    /// All rows are saved and restored. The SQL expression describes a row.
    Record(&'static str),
    /// Only the rows that match this condition are saved and restored.
    Where(&'static str),
    /// Not saved. It is rebuilt from the records and the files.
    Derived,
    /// Not saved and not restored: a log or a counter that always continues.
    Ledger,
}

/// Every table of a memory, and how a checkpoint treats it.
pub(crate) const TABLES: &[(&str, TableRole)] = &[
    ("entries", TableRole::Record("'[id:' || number || '] ' || content")),
    ("entry_history", TableRole::Record("content")),
    ("entry_links", TableRole::Record("entry || ' – ' || other")),
    ("conflicts", TableRole::Record("one || ' – ' || other")),
    ("imports", TableRole::Record("format || ' ' || ref")),
    ("sessions", TableRole::Record("id")),
    ("exchanges", TableRole::Record("user")),
    ("lessons", TableRole::Record("text")),
    ("entities", TableRole::Record("name")),
    ("names", TableRole::Record("name")),
    ("facts", TableRole::Record("'fact-' || id || ' ' || key || ' = ' || value")),
    ("relations", TableRole::Record("'relation-' || id || ' ' || predicate")),
    ("citations", TableRole::Record("path || ':' || line")),
    ("kept_out", TableRole::Record("path || ':' || line")),
    ("recalled_together", TableRole::Record("one || ' – ' || other")),
    ("merges", TableRole::Record("kept || ' – ' || gone")),
    ("distinct_entities", TableRole::Record("one || ' – ' || other")),
    ("multi_keys", TableRole::Record("key")),
    ("categories", TableRole::Record("name")),
    ("collections", TableRole::Record("name")),
    ("proposals", TableRole::Record("number || ' ' || target")),
    ("line_uses", TableRole::Record("path")),
    ("promoted", TableRole::Record("step")),
    ("projects", TableRole::Record("name")),
    ("project_files", TableRole::Record("path")),
    ("item_sections", TableRole::Record("path || ' ' || section")),
    ("items", TableRole::Record("path || ':' || line || ' ' || title")),
    ("tasks", TableRole::Record("'TASK-' || number || ' ' || description")),
    ("task_blocks", TableRole::Record("task || ' – ' || \"by\"")),
    ("task_changes", TableRole::Record("task || ' ' || status")),
    // The read position of a transcript is restored with its messages; later lines are read from the file
    // again.
    ("transcripts", TableRole::Record("session")),
    ("transcript_ids", TableRole::Record("session || ' ' || id")),
    // A message exists only as a passage.
    ("passages", TableRole::Where("kind = 'message'")),
    ("documents", TableRole::Derived),
    ("passages_fts", TableRole::Derived),
    ("passages_vocab", TableRole::Derived),
    ("terms", TableRole::Derived),
    ("authors", TableRole::Derived),
    ("marks", TableRole::Derived),
    ("vectors", TableRole::Derived),
    ("embedded", TableRole::Derived),
    ("line_vectors", TableRole::Derived),
    ("audit", TableRole::Ledger),
    ("usage", TableRole::Ledger),
    // A restore brings back neither what was deleted for good nor what is quarantined.
    ("tombstones", TableRole::Ledger),
    ("quarantines", TableRole::Ledger),
    ("quarantined", TableRole::Ledger),
    ("meta", TableRole::Ledger),
    ("turns", TableRole::Ledger),
    ("seen", TableRole::Ledger),
    ("file_changes", TableRole::Ledger),
    // The files are no part of a checkpoint, so they are compared with what they said last.
    ("live_files", TableRole::Ledger),
    // The state of repositories now; the next check compares the restored memories with it.
    ("mentions", TableRole::Ledger),
    ("jobs", TableRole::Ledger),
    ("flushes", TableRole::Ledger),
    // A restore does not read conversations again, and does not give tokens back.
    ("distil_read", TableRole::Ledger),
    ("distil_found", TableRole::Ledger),
    ("distil_due", TableRole::Ledger),
    ("llm_usage", TableRole::Ledger),
    // A restore makes this machine a new device, which reads all logs again ([`restore`]).
    ("sync_records", TableRole::Ledger),
    ("sync_tombstones", TableRole::Ledger),
    ("sync_texts", TableRole::Ledger),
    ("sync_devices", TableRole::Ledger),
    ("sync_outbox", TableRole::Ledger),
    ("sync_state", TableRole::Ledger),
];

/// A permanently deleted record.
#[derive(Clone, Debug)]
pub(crate) struct DeletedRecord {
    /// The id of the record.
    pub(crate) reference: String,
    /// For an entry: the hashes of all contents it ever had.
    pub(crate) texts: Vec<String>,
}

impl DeletedRecord {
    pub(crate) fn of(reference: impl Into<String>) -> DeletedRecord {
        DeletedRecord { reference: reference.into(), texts: Vec::new() }
    }
}

/// The maximum number of rows that a comparison names per table.
const MAX_NAMED_ROWS: usize = 20;

/// The differences between a checkpoint and now in one table.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the rows that were added, changed and removed since")]
pub struct TableDiff {
    pub table: &'static str,
    pub added: Rows,
    pub changed: Rows,
    pub removed: Rows,
}

/// The number of rows, and descriptions of the first ones.
#[derive(Clone, Debug, Default, Serialize)]
#[expect(missing_docs, reason = "the doc comment of the type explains them")]
pub struct Rows {
    pub count: usize,
    pub first: Vec<String>,
}

/// Returns the saved tables: name, condition for rows, and description of a row.
fn kept_tables() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    TABLES.iter().filter_map(|(table, kept)| match kept {
        TableRole::Record(shown) => Some((*table, "1", *shown)),
        TableRole::Where(condition) => Some((*table, *condition, "text")),
        TableRole::Derived | TableRole::Ledger => None,
    })
}

/// Copies the records of the live database into the attached one.
pub(super) fn copy(db: &Connection) -> Result<BTreeMap<String, i64>> {
    let mut counts = BTreeMap::new();
    for (table, condition, _) in kept_tables() {
        let count = copy_table(db, "main", "point", table, condition)?;
        if count > 0 {
            counts.insert(table.to_owned(), count);
        }
    }
    // Numbers that were assigned are never assigned again.
    db.batch(
        "DELETE FROM point.sqlite_sequence;
         INSERT INTO point.sqlite_sequence (name, seq) SELECT name, seq FROM main.sqlite_sequence;",
    )?;
    Ok(counts)
}

/// Replaces the live records by those of the attached database, except those that were permanently deleted
/// since. The caller must rebuild the index.
pub(super) fn restore(db: &Connection) -> Result<i64> {
    let deleted = deleted(db)?;
    let mut rows = 0;
    db.batch(
        "DELETE FROM main.passages WHERE kind <> 'message'; DELETE FROM main.embedded;
        DELETE FROM main.line_vectors;",
    )?;
    for (table, condition, _) in kept_tables() {
        db.batch(&format!("DELETE FROM main.{table} WHERE {condition}"))?;
        rows += copy_table(db, "point", "main", table, condition)?;
    }
    db.batch(
        "DELETE FROM main.sync_records; DELETE FROM main.sync_devices; DELETE FROM main.sync_outbox; DELETE FROM main.sync_state;",
    )?;
    db.batch(
        "UPDATE main.sqlite_sequence SET seq = max(seq, coalesce(
            (SELECT seq FROM point.sqlite_sequence AS was WHERE was.name = main.sqlite_sequence.name), 0))",
    )?;
    for reference in deleted {
        forget(db, "main", &DeletedRecord::of(reference))?;
    }
    Ok(rows)
}

fn copy_table(db: &Connection, from: &str, to: &str, table: &str, condition: &str) -> Result<i64> {
    let columns = columns(db, to, table)?.0.join(", ");
    let sql = format!(
        "INSERT INTO {to}.{table} ({columns}) SELECT {columns} FROM {from}.{table} WHERE {condition}"
    );
    Ok(i64::try_from(db.run(&sql, ())?).unwrap_or(i64::MAX))
}

/// Returns the columns of a table, and those of its primary key.
fn columns(db: &Connection, schema: &str, table: &str) -> Result<(Vec<String>, Vec<String>)> {
    let sql = "SELECT name, pk FROM pragma_table_info($1, $2) ORDER BY cid";
    let columns: Vec<(String, i64)> = db.rows(sql, (table, schema), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let key = columns.iter().filter(|(_, place)| *place > 0).map(|(name, _)| name.clone()).collect();
    Ok((columns.into_iter().map(|(name, _)| name).collect(), key))
}

/// Returns the ids that the audit log lists as permanently deleted and that do not exist now.
fn deleted(db: &Connection) -> Result<Vec<String>> {
    let sql = "SELECT DISTINCT value FROM main.audit, json_each(audit.ids)
        WHERE outcome = 'done' AND json_extract(detail, '$.deleted') IS NOT NULL
            AND value NOT IN (SELECT id FROM main.entries) AND value NOT IN (SELECT 'fact-' || id FROM main.facts)
            AND value NOT IN (SELECT 'relation-' || id FROM main.relations)
            AND value NOT IN (SELECT 'entity-' || id FROM main.entities)";
    db.rows(sql, (), |row| row.get(0))
}

/// Removes an entry, entity, fact or relation from a database, with every trace except derived data. Returns
/// whether it existed.
pub(super) fn forget(
    db: &Connection,
    schema: &str,
    DeletedRecord { reference, texts }: &DeletedRecord,
) -> Result<bool> {
    let run = |sql: &str| db.run(&sql.replace("S.", &format!("{schema}.")), [reference]);
    let number = |kind: &str| reference.strip_prefix(kind)?.parse::<i64>().ok();
    // A checkpoint of an older schema has no conflicts.
    if !columns(db, schema, "conflicts")?.0.is_empty() {
        run("DELETE FROM S.conflicts WHERE one = $1 OR other = $1")?;
    }
    for (kind, table) in [("fact", "facts"), ("relation", "relations")] {
        if number(&format!("{kind}-")).is_some() {
            let of = format!("'{kind}-' || id = $1");
            let gone = run(&format!("DELETE FROM S.{table} WHERE {of}"))?;
            run(&format!("DELETE FROM S.citations WHERE kind = '{kind}' AND {of}"))?;
            run("DELETE FROM S.recalled_together WHERE $1 IN (one, other)")?;
            return Ok(gone > 0);
        }
    }
    if number("entity-").is_some() {
        for (kind, table, of) in [
            ("fact", "facts", "'entity-' || entity = $1"),
            ("relation", "relations", "$1 IN ('entity-' || subject, 'entity-' || object)"),
            ("name", "names", "'entity-' || entity = $1"),
        ] {
            let ids = format!("SELECT id FROM S.{table} WHERE {of}");
            run(&format!("DELETE FROM S.citations WHERE kind = '{kind}' AND id IN ({ids})"))?;
            run(&format!("DELETE FROM S.{table} WHERE {of}"))?;
        }
        run("DELETE FROM S.distinct_entities WHERE $1 IN ('entity-' || one, 'entity-' || other)")?;
        run("DELETE FROM S.merges WHERE $1 IN ('entity-' || kept, 'entity-' || gone)")?;
        // Entities that were merged into it become independent again.
        run("UPDATE S.entities SET root = id WHERE 'entity-' || root = $1")?;
        return Ok(run("DELETE FROM S.entities WHERE 'entity-' || id = $1")? > 0);
    }
    let statements: &[&str] = if reference.starts_with("lesson:") {
        &["DELETE FROM S.lessons WHERE 'lesson:' || number = $1"]
    } else if reference.starts_with("proposal:") {
        &["DELETE FROM S.proposals WHERE 'proposal:' || number = $1"]
    } else if reference.starts_with("TASK-") {
        &["DELETE FROM S.tasks WHERE number = CAST(substr($1, 6) AS INTEGER)"]
    } else if reference.starts_with("item_") {
        &["DELETE FROM S.items WHERE id = $1"]
    } else if reference.starts_with("session:") {
        &["DELETE FROM S.sessions WHERE 'session:' || id = $1"]
    } else if reference.contains('/') {
        &[
            "DELETE FROM S.passages WHERE kind = 'message' AND ref = $1",
            "DELETE FROM S.exchanges WHERE session || '/' || id = $1",
        ]
    } else {
        &[]
    };
    if !statements.is_empty() {
        let mut gone = 0;
        for sql in statements {
            gone += run(sql)?;
        }
        return Ok(gone > 0);
    }
    let proposed = forget_proposed(db, schema, reference, texts)?;
    run("DELETE FROM S.entry_history WHERE entry = $1")?;
    run("DELETE FROM S.entry_links WHERE $1 IN (entry, other)")?;
    run(
        "UPDATE S.entries SET superseded_by = (SELECT superseded_by FROM S.entries WHERE id = $1) WHERE superseded_by = $1",
    )?;
    run(
        "UPDATE S.entries SET supersedes = (SELECT supersedes FROM S.entries WHERE id = $1) WHERE supersedes = $1",
    )?;
    Ok(run("DELETE FROM S.entries WHERE id = $1")? > 0 || proposed)
}

/// Removes the texts of an entry from proposals. A checkpoint may have the proposal but not the entry.
fn forget_proposed(db: &Connection, schema: &str, reference: &str, texts: &[String]) -> Result<bool> {
    let mut texts = texts.to_vec();
    let sql = format!(
        "SELECT content FROM {schema}.entries WHERE id = $1
         UNION ALL SELECT content FROM {schema}.entry_history WHERE entry = $1"
    );
    texts.extend(db.rows(&sql, [reference], |row| Ok(entry::content_hash(row.text(0)?)))?);
    proposal::forget(db, schema, &texts)
}

/// Compares the live records with those of the attached database.
pub(super) fn compare(db: &Connection) -> Result<Vec<TableDiff>> {
    let mut differences = Vec::new();
    for (table, condition, shown) in kept_tables() {
        let (mut all, key) = columns(db, "main", table)?;
        // The position of a vector is not part of a record.
        all.retain(|column| !(table == "passages" && ["slot", "pieces"].contains(&column.as_str())));
        let (all, key) = (all.join(", "), key.join(", "));
        let rows = |of: &str, not: &str, columns: &str| {
            format!(
                "SELECT {columns} FROM {of}.{table} WHERE {condition}
                 EXCEPT SELECT {columns} FROM {not}.{table} WHERE {condition}"
            )
        };
        let (new, gone) = (rows("main", "point", &key), rows("point", "main", &key));
        let keys = |of: &str, not: &str| {
            format!(
                "SELECT {key} FROM ({}) EXCEPT SELECT * FROM ({})",
                rows(of, not, &all),
                rows(of, not, &key)
            )
        };
        let take = |schema: &str, keys: &str| -> Result<Rows> {
            let sql = format!("SELECT {shown} FROM {schema}.{table} WHERE ({key}) IN ({keys})");
            let mut rows = Rows::default();
            db.each(&sql, (), |row| {
                if rows.first.len() < MAX_NAMED_ROWS {
                    rows.first.push(row.get(0)?);
                }
                rows.count += 1;
                Ok(ControlFlow::Continue(()))
            })?;
            Ok(rows)
        };
        let difference = TableDiff {
            table,
            added: take("main", &new)?,
            changed: take("main", &keys("main", "point"))?,
            removed: take("point", &gone)?,
        };
        if difference.added.count + difference.changed.count + difference.removed.count > 0 {
            differences.push(difference);
        }
    }
    Ok(differences)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::schema::RECORDS;
    use crate::store::Db;
    use crate::store::visibility;

    /// A new table must be listed in both places.
    #[test]
    fn every_table_is_classified() {
        let db = Db::empty(&RECORDS.schema.migrations).unwrap();
        let names: Vec<String> = db
            .read(|db| {
                let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
                    AND name NOT GLOB 'passages_fts_*'";
                db.rows(sql, (), |row| row.get(0))
            })
            .unwrap();
        for name in &names {
            assert!(TABLES.iter().any(|(table, _)| table == name), "`{name}` is not in records::TABLES");
            assert!(
                visibility::TABLES.iter().any(|(table, _)| table == name),
                "`{name}` is not in visibility::TABLES"
            );
        }
        for (table, _) in TABLES {
            assert!(names.iter().any(|name| name == table), "there is no table `{table}`");
        }
        for (table, _) in visibility::TABLES {
            assert!(names.iter().any(|name| name == table), "there is no table `{table}`");
        }
    }
}
