//! Folders of notes: Obsidian vaults, folders of basic-memory, plain Markdown. Each note is kept whole as a
//! document; its links, relations and observations also go to the graph.

use std::fs;
use std::path::Path;

use super::identity::{Author, Origin, hash};
use super::markdown;
use super::openclaw::time_of;
use super::source::{Source, Text};
use super::take::{FactUse, ImportedRecord, Item, Sink};
use crate::base::Result;
use crate::records::graph::OBSERVATIONS;

/// The part of a note that goes to the graph.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Graph {
    Nothing,
    Links,
    Observations,
}

pub(super) fn is_obsidian(path: &Path) -> bool {
    path.join(".obsidian").is_dir()
}

/// The format has no marker of its own, but its notes have a permalink in their front matter.
pub(super) fn is_basic_memory(path: &Path) -> bool {
    let is_note = |path: &Path| {
        let head = super::source::head(path);
        markdown::front(&String::from_utf8_lossy(&head)).0.first("permalink").is_some()
    };
    // Only a limited number of files is checked, because the folder may be anything.
    let mut left = 500;
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        for found in fs::read_dir(folder).into_iter().flatten().flatten() {
            if left == 0 {
                return false;
            }
            left -= 1;
            let (name, found) = (found.file_name(), found);
            let hidden = name.to_string_lossy().starts_with('.');
            match found.file_type() {
                Ok(kind) if kind.is_dir() && !hidden => folders.push(found.path()),
                Ok(kind)
                    if kind.is_file()
                        && name.to_string_lossy().ends_with(".md")
                        && is_note(&found.path()) =>
                {
                    return true;
                }
                _ => {}
            }
        }
    }
    false
}

pub(super) fn obsidian(source: &Source, sink: &mut Sink<'_>) -> Result<()> {
    notes(source, Graph::Links, sink)
}

pub(super) fn basic_memory(source: &Source, sink: &mut Sink<'_>) -> Result<()> {
    notes(source, Graph::Observations, sink)
}

pub(super) fn plain(source: &Source, sink: &mut Sink<'_>) -> Result<()> {
    notes(source, Graph::Nothing, sink)
}

fn notes(source: &Source, graph: Graph, sink: &mut Sink<'_>) -> Result<()> {
    let found = source.markdown();
    for (path, why) in found.passed {
        sink.skip(&path, why);
    }
    sink.expect_notes(found.files.len());
    for path in found.files {
        sink.note_read();
        sink.file(source, &path, |text, sink| note(source, graph, text, sink))?;
    }
    Ok(())
}

fn note(source: &Source, graph: Graph, text: Text, sink: &mut Sink<'_>) {
    let (front, ..) = markdown::front(&text.text);
    let name = text.path.rsplit('/').next().unwrap_or_default();
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let title = front.first("title").filter(|_| graph == Graph::Observations).unwrap_or(stem).to_owned();
    let id = front.first("permalink").unwrap_or_default().to_owned();
    let origin = Origin { path: text.path.clone(), id, author: Author::User, ..Origin::default() };
    let at = time_of(&text);
    let private = sink.is_private(&text.path, &text.text);
    let mut claim = |line: Option<usize>, key: String, thing: ImportedRecord| {
        sink.item(Item { key, origin: Origin { line, ..origin.clone() }, at, private, thing });
    };
    if graph != Graph::Nothing {
        let said = markdown::said(&text.text);
        let mut tags = front.all("tags").to_vec();
        tags.extend(said.tags);
        tags.sort();
        tags.dedup();
        if !tags.is_empty() {
            let value = tags.join(", ");
            claim(None, hash(&["tags", &value]), fact(&title, "tags", value));
        }
        if graph == Graph::Observations {
            for (line, value) in said.observations {
                claim(Some(line), hash(&[&value]), fact(&title, OBSERVATIONS, value));
            }
        }
        for (line, predicate, object) in said.relations {
            let key = hash(&[&predicate, &object]);
            claim(Some(line), key, ImportedRecord::Relation { subject: title.clone(), predicate, object });
        }
        for alias in front.all("aliases").iter().chain(front.all("alias")) {
            claim(
                None,
                hash(&[alias]),
                ImportedRecord::Alias { alias: alias.clone(), entity: title.clone() },
            );
        }
    }
    let path =
        if source.path.is_file() { text.path.clone() } else { format!("{}/{}", source.name, text.path) };
    claim(None, "note".to_owned(), ImportedRecord::Document { path, text: text.text });
}

fn fact(title: &str, key: &'static str, value: String) -> ImportedRecord {
    ImportedRecord::Fact {
        entity: title.to_owned(),
        key: key.to_owned(),
        value,
        category: None,
        use_of: FactUse::default(),
    }
}
