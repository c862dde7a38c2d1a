//! Databases of other programs as sources of an import.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::identity::Origin;
use super::take::Sink;
use crate::base::{Result, Time};
use crate::records::session::import::moment;
use crate::store::foreign::{ForeignDb, ForeignRow, TableEnd};

/// The endings of database files.
const ENDINGS: &[&str] = &["db", "sqlite", "sqlite3"];

/// Tells whether a file is a database with this table and these columns.
pub(super) fn has_table(path: &Path, table: &str, columns: &[&str]) -> bool {
    ForeignDb::peek(path).is_some_and(|db| db.has(table, columns))
}

/// Returns the database files in a folder that have this table, by name; the path itself if it is such a file.
pub(super) fn databases(path: &Path, table: &str, columns: &[&str]) -> Vec<PathBuf> {
    if path.is_file() {
        return if has_table(path, table, columns) { vec![path.to_owned()] } else { Vec::new() };
    }
    let is_database = |path: &PathBuf| {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        ENDINGS.contains(&ending) && std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
    };
    let files = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> =
        files.filter(is_database).take(1_000).filter(|path| has_table(path, table, columns)).collect();
    found.sort();
    found
}

/// Opens a database of a source. One that can't be opened is skipped.
pub(super) fn open(path: &Path, name: &str, sink: &mut Sink<'_>) -> Option<ForeignDb> {
    match ForeignDb::open(path, sink.scratch()) {
        Ok(db) => Some(db),
        Err(why) => {
            sink.skip(name, why);
            None
        }
    }
}

/// Passes the rows of a table to `take`, and ends the part of this name.
pub(super) fn rows(
    db: &ForeignDb,
    table: &str,
    columns: &[&str],
    sink: &mut Sink<'_>,
    part: &str,
    take: &mut dyn FnMut(&ForeignRow, &mut Sink<'_>) -> Result<()>,
) -> Result<()> {
    match db.each(table, columns, |row| take(&row, sink))? {
        TableEnd::Whole => sink.end(part),
        TableEnd::Broken(why) => {
            sink.skip(&format!("table {table}"), format!("the rest of a table can't be read: {why}"));
            sink.end_broken(part)
        }
    }
}

/// Names the tables with rows that are not read.
pub(super) fn name_others(db: &ForeignDb, known: &[&str], sink: &mut Sink<'_>) {
    for table in db.tables().iter().filter(|table| !known.contains(&table.as_str())) {
        let count = db.count(table);
        if count > 0 {
            sink.skip(&format!("table {table}, {count} rows"), "a table that is not read");
        }
    }
}

/// Returns the time in a column.
pub(super) fn time(row: &ForeignRow, column: usize) -> Option<Time> {
    let text = row.text(column);
    moment(&Value::from(text.replace(' ', "T"))).or_else(|| moment(&Value::from(text)))
}

/// Returns the place of a row.
pub(super) fn origin(file: &str, id: &str) -> Origin {
    Origin { path: file.to_owned(), id: id.chars().take(128).collect(), ..Origin::default() }
}

/// Returns the tags in a column: a JSON array, or words between commas.
pub(super) fn tags(text: &str) -> Vec<String> {
    serde_json::from_str::<Vec<String>>(text).unwrap_or_else(|_| {
        text.split(',').map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()).collect()
    })
}
