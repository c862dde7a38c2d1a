//! Carapace: a database of typed entries for each group (`data/memory/GROUP.sqlite`), or a folder of Markdown with
//! `memory/CORE.md`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::identity::Author;
use super::openclaw;
use super::source::Source;
use super::tables::{self, databases, origin, rows, time};
use super::take::{EntryState, ImportedRecord, Item, PastState, Sink};
use crate::base::{Error, Result, Time};
use crate::records::entry::EntryType;

const TABLE: &str = "memory_entries";
const COLUMNS: &[&str] =
    &["id", "type", "content", "tags", "superseded_by", "session_id", "group_name", "created_at"];
/// The columns by which the table is recognised.
const MARKS: &[&str] = &["id", "type", "content", "superseded_by"];
/// The folders of an installation that may have the databases.
const FOLDERS: &[&str] = &["", "memory", "data/memory"];
/// The Markdown memory.
const CORE: &str = "memory/CORE.md";

pub(super) fn claims(path: &Path) -> bool {
    path.join(CORE).is_file() || !found(path).is_empty()
}

fn found(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return databases(path, TABLE, MARKS);
    }
    FOLDERS.iter().flat_map(|folder| databases(&path.join(folder), TABLE, MARKS)).collect()
}

pub(super) fn read(source: &Source, sink: &mut Sink<'_>) -> Result<()> {
    match &found(&source.path)[..] {
        [] => {}
        [file] => database(file, sink)?,
        // A group is the unit of isolation, here and there.
        several => {
            let names: Vec<String> = several.iter().map(|file| file.display().to_string()).collect();
            let problem =
                format!("has the memories of several groups; import one at a time: {}", names.join(", "));
            return Err(Error::ForeignSource { format: "carapace", path: source.path.clone(), problem });
        }
    }
    if source.path.join(CORE).is_file() {
        documents(source, sink)?;
    }
    Ok(())
}

fn database(file: &Path, sink: &mut Sink<'_>) -> Result<()> {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let Some(db) = tables::open(file, &name, sink) else { return Ok(()) };
    // An entry was superseded when the one that replaced it was written.
    let mut written: HashMap<String, Option<Time>> = HashMap::new();
    db.each(TABLE, &["id", "created_at"], |row| {
        written.insert(row.text(0), time(&row, 1));
        Ok(())
    })?;
    rows(&db, TABLE, COLUMNS, sink, TABLE, &mut |row, sink| {
        let (id, by, at) = (row.text(0), row.text(4), time(row, 7));
        let Ok(r#type) = row.text(1).parse::<EntryType>() else {
            sink.skip(&id, format!("an unknown type: {}", crate::base::text::shorten(&row.text(1))));
            return Ok(());
        };
        let past = (!by.is_empty())
            .then(|| PastState::Superseded(written.get(&by).copied().flatten().or(at).unwrap_or(sink.now())));
        sink.item(Item {
            key: id.clone(),
            origin: origin(&name, &id),
            at,
            private: false,
            thing: ImportedRecord::Entry {
                r#type,
                content: row.text(2),
                tags: tables::tags(&row.text(3)),
                state: EntryState { past, ..EntryState::default() },
            },
        });
        Ok(())
    })?;
    tables::name_others(&db, &[TABLE], sink);
    Ok(())
}

/// Passes the Markdown files on. The index in `memory/.index` is derived.
fn documents(source: &Source, sink: &mut Sink<'_>) -> Result<()> {
    let found = source.markdown();
    for (path, why) in found.passed.into_iter().filter(|(_, why)| why != "not Markdown") {
        sink.skip(&path, why);
    }
    for path in found.files {
        sink.file(source, &path, |text, sink| sink.item(openclaw::document(text, &path, Author::Agent)))?;
    }
    Ok(())
}
