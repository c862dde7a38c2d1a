//! The memory folders of Claude Code: one memory per file, with a name, a description and a type in the front
//! matter; MEMORY.md is only their index.

use std::fs;
use std::path::{Path, PathBuf};

use super::identity::{Author, Origin, hash};
use super::markdown;
use super::openclaw;
use super::source::Source;
use super::take::{EntryState, ImportedRecord, Item, Sink};
use crate::base::Result;
use crate::records::entry::EntryType;

/// The index, which adds nothing to the files.
const INDEX_FILE: &str = "MEMORY.md";

pub(super) fn claims(path: &Path) -> bool {
    !folders(path).is_empty()
}

/// Returns the memory folders: the given one, that of the given project, or those of all projects, with the
/// projects' names.
fn folders(path: &Path) -> Vec<(String, PathBuf)> {
    let is_memory = |path: &Path| path.file_name().is_some_and(|name| name == "memory") && path.is_dir();
    let name =
        |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if is_memory(path) {
        return vec![(path.parent().map(name).unwrap_or_default(), path.to_owned())];
    }
    if is_memory(&path.join("memory")) {
        return vec![(name(path), path.join("memory"))];
    }
    let below = fs::read_dir(path).into_iter().flatten().flatten();
    let is_plain = |found: &fs::DirEntry| found.file_type().is_ok_and(|kind| kind.is_dir());
    let mut found: Vec<(String, PathBuf)> = below
        .filter(is_plain)
        .map(|found| found.path())
        .filter(|project| is_memory(&project.join("memory")) && !project.join("memory").is_symlink())
        .map(|project| (name(&project), project.join("memory")))
        .collect();
    found.sort();
    found
}

pub(super) fn read(source: &Source, sink: &mut Sink<'_>) -> Result<()> {
    for (project, path) in folders(&source.path) {
        // Named after the project only, so that the same folder has the same name however it was reached.
        let memory = Source { path, name: String::new(), scratch: PathBuf::new() };
        let found = memory.markdown();
        for (path, why) in found.passed {
            sink.skip(&format!("{project}/{path}"), why);
        }
        for path in found.files {
            let shown = format!("{project}/{path}");
            match memory.text(&path) {
                Ok(text) if path == INDEX_FILE => index(&text, &shown, sink),
                Ok(text) => one(&text, &shown, sink),
                Err(why) => {
                    sink.skip(&shown, why);
                    continue;
                }
            }
            sink.end_of(&shown)?;
        }
    }
    Ok(())
}

/// Imports the lines of the index that link to no file: they were written there instead of in a file.
fn index(text: &super::source::Text, path: &str, sink: &mut Sink<'_>) {
    let at = openclaw::time_of(text);
    let private = sink.is_private(path, &text.text);
    for memory in markdown::memories(&text.text) {
        if !(memory.text.starts_with('[') && memory.text.contains(".md)")) {
            sink.item(openclaw::entry(&memory, path, at, private));
        }
    }
}

fn one(text: &super::source::Text, path: &str, sink: &mut Sink<'_>) {
    let (front, body, _) = markdown::front(&text.text);
    let stem = path.rsplit('/').next().unwrap_or_default().trim_end_matches(".md");
    let name = front.first("name").unwrap_or(stem).to_owned();
    let kind = front.first("metadata.type").or(front.first("type"));
    let r#type = match kind {
        Some("feedback") => EntryType::Instruction,
        Some("project") => EntryType::Context,
        _ => EntryType::Fact,
    };
    let body = body.trim();
    let content = match front.first("description") {
        Some(description) if !body.contains(description) => format!("{description}\n\n{body}"),
        _ => body.to_owned(),
    };
    let origin =
        Origin { path: path.to_owned(), id: name.clone(), author: Author::Agent, ..Origin::default() };
    let at = openclaw::time_of(text);
    let private = sink.is_private(path, &text.text);
    let tags = kind.map(str::to_owned).into_iter().collect();
    sink.item(Item {
        key: "memory".to_owned(),
        origin: origin.clone(),
        at,
        private,
        thing: ImportedRecord::Entry { r#type, content, tags, state: EntryState::default() },
    });
    for (line, predicate, object) in markdown::said(&text.text).relations {
        sink.item(Item {
            key: hash(&[&predicate, &object]),
            origin: Origin { line: Some(line), ..origin.clone() },
            at,
            private,
            thing: ImportedRecord::Relation { subject: name.clone(), predicate, object },
        });
    }
}
