//! Checks the index against its source data.

use std::ops::ControlFlow;

use super::packed::{Space, each_row};
use super::{flag, postings, scan};
use crate::base::Result;
use crate::store::{Connection, Engine};

/// Compares the index with its source data. Returns a description of each mismatch.
pub(crate) fn check(db: &Connection) -> Result<Vec<String>> {
    const CHECKS: &[(&str, &str)] = &[
        (
            "SELECT count(*) FROM entries WHERE id NOT IN (SELECT ref FROM passages WHERE kind = 'entry')",
            "entries have no passage",
        ),
        (
            "SELECT count(*) FROM passages WHERE kind = 'entry' AND ref NOT IN (SELECT id FROM entries)",
            "passages have no entry",
        ),
        (
            "SELECT count(*) FROM facts WHERE 'fact-' || id NOT IN (SELECT ref FROM passages WHERE kind = 'fact')",
            "facts have no passage",
        ),
        (
            "SELECT count(*) FROM relations WHERE 'relation-' || id NOT IN (SELECT ref FROM passages WHERE kind = 'relation')",
            "relations have no passage",
        ),
        (
            "SELECT count(*) FROM passages WHERE kind = 'fact' AND ref NOT IN (SELECT 'fact-' || id FROM facts)
                OR kind = 'relation' AND ref NOT IN (SELECT 'relation-' || id FROM relations)",
            "passages have no fact or relation",
        ),
        (
            "SELECT (SELECT count(*) FROM passages JOIN facts ON kind = 'fact' AND ref = 'fact-' || facts.id
                    WHERE live <> (until IS NULL))
                + (SELECT count(*) FROM passages JOIN relations ON kind = 'relation' AND ref = 'relation-' || relations.id
                    WHERE live <> (until IS NULL))",
            "passages disagree with their fact about being current",
        ),
        (
            "SELECT count(*) FROM passages JOIN entries ON kind = 'entry' AND ref = entries.id
             WHERE live <> (superseded_at IS NULL AND archived_at IS NULL)",
            "passages disagree with their entry about being current",
        ),
        (
            "SELECT count(*) FROM exchanges WHERE searchable
             AND session || '/' || id NOT IN (SELECT ref FROM passages WHERE kind = 'exchange')",
            "exchanges have no passage",
        ),
        (
            "SELECT count(*) FROM passages WHERE kind = 'exchange'
             AND ref NOT IN (SELECT session || '/' || id FROM exchanges WHERE searchable)",
            "passages have no exchange",
        ),
        (
            "SELECT count(*) FROM items WHERE id NOT IN (SELECT ref FROM passages WHERE kind = 'item')",
            "items have no passage",
        ),
        (
            "SELECT count(*) FROM passages WHERE kind = 'item' AND ref NOT IN (SELECT id FROM items)",
            "passages have no item",
        ),
        (
            "SELECT count(*) FROM items WHERE NOT EXISTS (SELECT 1 FROM project_files
                WHERE project_files.project = items.project AND project_files.path = items.path)",
            "items have no file",
        ),
        (
            "SELECT count(*) FROM (SELECT 'TASK-' || printf('%03d', number) AS named,
                status <> 'cancelled' AND archived_at IS NULL AS open FROM tasks) AS t
             LEFT JOIN passages ON kind = 'task' AND ref = named WHERE live IS DISTINCT FROM open",
            "tasks have no passage, or one in the wrong state",
        ),
        (
            "SELECT count(*) FROM passages WHERE kind = 'task'
             AND ref NOT IN (SELECT 'TASK-' || printf('%03d', number) FROM tasks)",
            "passages have no task",
        ),
        (
            "SELECT count(*) FROM documents LEFT JOIN
                 (SELECT rtrim(ref, '0123456789') AS head, count(*) AS found FROM passages WHERE kind = 'chunk' GROUP BY head) AS c
                 ON head = path || '#' WHERE chunks <> coalesce(found, 0)",
            "documents have missing or extra chunks",
        ),
        (
            "SELECT count(*) FROM line_vectors WHERE passage NOT IN (SELECT id FROM passages WHERE kind = 'chunk')",
            "vectors of lines have no chunk",
        ),
        (
            "SELECT count(*) FROM passages WHERE kind = 'chunk'
             AND (rtrim(ref, '0123456789') NOT IN (SELECT path || '#' FROM documents) OR hash IS NULL OR first_line IS NULL)",
            "chunks have no document, or no position in it",
        ),
    ];
    const SQLITE_CHECKS: &[(&str, &str)] = &[
        (
            "SELECT count(*) FROM passages WHERE id NOT IN (SELECT id FROM passages_fts_docsize)",
            "passages are missing from the full-text index",
        ),
        (
            "SELECT count(*) FROM passages_fts_docsize WHERE id NOT IN (SELECT id FROM passages)",
            "rows of the full-text index have no passage",
        ),
        (
            "SELECT count(*) FROM terms LEFT JOIN passages_vocab USING (term) WHERE df IS NOT doc",
            "words have a wrong count",
        ),
        (
            "SELECT count(*) FROM passages_vocab WHERE term NOT IN (SELECT term FROM terms)",
            "words have no count",
        ),
    ];
    let mut problems = Vec::new();
    let own = if let Engine::Sqlite(_) = db.engine() { SQLITE_CHECKS } else { &[] };
    for (sql, problem) in CHECKS.iter().chain(own) {
        let found: i64 = db.one(sql, (), |row| row.get(0))?;
        if found > 0 {
            problems.push(format!("{found} {problem}"));
        }
    }
    match db.engine() {
        Engine::Sqlite(sqlite) => {
            let sql = "INSERT INTO passages_fts (passages_fts) VALUES ('integrity-check')";
            match sqlite.execute(sql, []) {
                Ok(_) => {}
                // The check runs as a write. On a read-only database it fails, which says nothing about the index.
                Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ReadOnly) => {}
                Err(error) => problems.push(format!("the full-text index is damaged: {error}")),
            }
        }
        Engine::Postgres(server) => problems.extend(postings::check(server)?),
    }
    match db.damaged_rows()? {
        0 => {}
        damaged => problems.push(format!(
            "{damaged} rows have damaged text, shown with \u{fffd}; `nacre export DIR` saves the rest of it"
        )),
    }
    problems.extend(check_packed(db)?);
    Ok(problems)
}

/// Compares marks and vectors with the passages they belong to.
fn check_packed(db: &Connection) -> Result<Vec<String>> {
    let mut space = Space::default();
    space.refresh_marks(db)?;
    let mut pieces: Vec<i64> = vec![0; space.marks().len()];
    // The vectors of a large memory are not kept.
    each_row(db, 0, &space.old(), |_, data| {
        for record in data.as_chunks::<{ scan::VECTOR_BYTES }>().0 {
            if let Some(count) = pieces.get_mut(scan::owner(record) as usize) {
                *count += 1;
            }
        }
    })?;
    let (mut wrong_marks, mut wrong_vectors, mut known) = (0, 0, 0);
    db.each("SELECT id, live, pieces FROM passages", (), |row| {
        let id = usize::try_from(row.get::<i64>(0)?).unwrap_or(0);
        let mark = space.marks().get(id).copied().unwrap_or_default();
        wrong_marks += i64::from(mark.flags == 0 || mark.is(flag::LIVE) != row.get::<bool>(1)?);
        // Passages that wait for new vectors have none that count.
        let has_vectors = !space.old().contains(&u32::try_from(id).unwrap_or(0));
        wrong_vectors += i64::from(has_vectors && pieces.get(id).copied() != row.get::<Option<i64>>(2)?);
        known += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    let marked = space.marks().iter().filter(|mark| mark.flags != 0).count();
    let mut problems = Vec::new();
    for (count, problem) in [
        (wrong_marks, "passages have a wrong mark"),
        (wrong_vectors, "passages have missing or extra vectors"),
        (i64::try_from(marked).unwrap_or(i64::MAX).saturating_sub(known), "marks have no passage"),
    ] {
        if count > 0 {
            problems.push(format!("{count} {problem}"));
        }
    }
    Ok(problems)
}
