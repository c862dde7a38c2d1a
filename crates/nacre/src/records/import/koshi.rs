//! The database of Koshi: `memories` with scores and tags, and `memories_archive` with those that had no room.

use std::path::Path;

use super::source::Source;
use super::tables::{self, databases, origin, rows, time};
use super::take::{EntryState, ImportedRecord, Item, PastState, Sink};
use crate::base::{Error, Result};
use crate::records::entry::EntryType;
use crate::store::foreign::ForeignRow;

const TABLE: &str = "memories";
const ARCHIVE: &str = "memories_archive";
const COLUMNS: &[&str] =
    &["id", "content", "source", "tags", "created_at", "last_hit_at", "score", "session_id", "archived_at"];
/// The columns by which the table is recognised.
const MARKS: &[&str] = &["content", "tags", "score", "last_hit_at"];
/// The folders of an installation that may have the database.
const FOLDERS: &[&str] = &["", "data"];

pub(super) fn claims(path: &Path) -> bool {
    !found(path).is_empty()
}

fn found(path: &Path) -> Vec<std::path::PathBuf> {
    if path.is_file() {
        return databases(path, TABLE, MARKS);
    }
    FOLDERS.iter().flat_map(|folder| databases(&path.join(folder), TABLE, MARKS)).collect()
}

pub(super) fn read(source: &Source, sink: &mut Sink<'_>) -> Result<()> {
    let [file] = &found(&source.path)[..] else {
        let problem = "has several databases; name one of them".to_owned();
        return Err(Error::ForeignSource { format: "koshi", path: source.path.clone(), problem });
    };
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let Some(db) = tables::open(file, &name, sink) else { return Ok(()) };
    for table in [TABLE, ARCHIVE] {
        if db.has(table, &["content"]) {
            rows(&db, table, COLUMNS, sink, table, &mut |row, sink| {
                memory(&name, table, row, sink);
                Ok(())
            })?;
        }
    }
    tables::name_others(&db, &[TABLE, ARCHIVE], sink);
    Ok(())
}

fn memory(file: &str, table: &str, row: &ForeignRow, sink: &mut Sink<'_>) {
    let (id, content, source) = (row.text(0), row.text(1), row.text(2));
    let at = time(row, 4);
    // Koshi has no types. A summary of a session describes a situation.
    let r#type = if source == "narrative" { EntryType::Context } else { EntryType::Fact };
    let archived = (table == ARCHIVE).then(|| PastState::Archived(time(row, 8).unwrap_or(sink.now())));
    let state = EntryState {
        score: row.integer(6).unwrap_or(0).clamp(-1_000, 1_000),
        confirmed_at: time(row, 5),
        past: archived,
    };
    let mut tags = tables::tags(&row.text(3));
    if !source.is_empty() && source != "agent" {
        tags.push(source);
    }
    sink.item(Item {
        key: id.clone(),
        origin: origin(file, &id),
        at,
        private: false,
        thing: ImportedRecord::Entry { r#type, content, tags, state },
    });
}
