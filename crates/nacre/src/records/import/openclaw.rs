//! A workspace of OpenClaw: MEMORY.md and memory/*.md contain separate memories; the files about the user and
//! the agent are kept as documents.

use std::path::Path;

use super::identity::{Author, Origin, hash};
use super::markdown::{self, Memory};
use super::source::{Source, Text};
use super::take::{EntryState, ImportedRecord, Item, Sink};
use crate::base::{Result, Time};
use crate::records::entry::EntryType;

/// Files of the workspace that are kept whole.
const DOCUMENT_FILES: &[&str] =
    &["USER.md", "DREAMS.md", "SOUL.md", "IDENTITY.md", "AGENTS.md", "TOOLS.md", "HEARTBEAT.md", "BOOT.md"];

pub(super) fn claims(path: &Path) -> bool {
    path.join("MEMORY.md").is_file() || path.join("memory").is_dir()
}

pub(super) fn read(source: &Source, sink: &mut Sink<'_>) -> Result<()> {
    let found = source.markdown();
    for (path, why) in found.passed.into_iter().filter(|(path, _)| path.starts_with("memory/")) {
        sink.skip(&path, why);
    }
    for path in found.files {
        let discrete = path == "MEMORY.md" || path.starts_with("memory/");
        if !discrete && !DOCUMENT_FILES.contains(&path.as_str()) {
            continue;
        }
        sink.file(source, &path, |text, sink| take(text, &path, discrete, sink))?;
    }
    Ok(())
}

/// Passes a file to the sink: its separate memories, or all of it as a document.
pub(super) fn take(text: Text, path: &str, discrete: bool, sink: &mut Sink<'_>) {
    if discrete {
        take_memories(&text, path, sink);
    } else {
        sink.item(document(text, path, Author::Agent));
    }
}

fn take_memories(text: &Text, path: &str, sink: &mut Sink<'_>) {
    let private = sink.is_private(path, &text.text);
    let at = time_of(text);
    for memory in markdown::memories(&text.text) {
        sink.item(entry(&memory, path, at, private));
    }
}

/// Returns the time of a file: from its text, its name, or the file system.
pub(super) fn time_of(text: &Text) -> Option<Time> {
    let name = text.path.rsplit('/').next().unwrap_or_default();
    markdown::front(&text.text).0.time().or_else(|| Time::in_name(name)).or(text.at)
}

pub(super) fn entry(memory: &Memory, path: &str, at: Option<Time>, private: bool) -> Item {
    let section = memory.section.join(" / ");
    let content = memory.content();
    Item {
        key: hash(&[&section, &content]),
        origin: Origin {
            path: path.to_owned(),
            line: Some(memory.line),
            section,
            author: Author::Agent,
            ..Origin::default()
        },
        at,
        private,
        thing: ImportedRecord::Entry {
            r#type: type_of(&memory.section),
            content,
            tags: Vec::new(),
            state: EntryState::default(),
        },
    }
}

/// Returns an item for a file that is kept whole.
pub(super) fn document(text: Text, path: &str, author: Author) -> Item {
    let at = time_of(&text);
    Item {
        key: path.to_owned(),
        origin: Origin { path: path.to_owned(), author, ..Origin::default() },
        at,
        // The sink checks its name and its front matter.
        private: false,
        thing: ImportedRecord::Document { path: path.to_owned(), text: text.text },
    }
}

/// Returns the type of the memories under these headings.
fn type_of(section: &[String]) -> EntryType {
    const WORDS: &[(&str, EntryType)] = &[
        ("preference", EntryType::Preference),
        ("likes", EntryType::Preference),
        ("instruction", EntryType::Instruction),
        ("rules", EntryType::Instruction),
        ("guideline", EntryType::Instruction),
        ("correction", EntryType::Correction),
        ("mistake", EntryType::Correction),
        ("lessons", EntryType::Correction),
        ("current", EntryType::Context),
        ("in progress", EntryType::Context),
    ];
    let headings = section.iter().rev().map(|heading| heading.to_lowercase());
    let found = headings.flat_map(|heading| {
        WORDS.iter().filter(move |(word, _)| heading.contains(word)).map(|(_, r#type)| *r#type)
    });
    found.into_iter().next().unwrap_or(EntryType::Fact)
}
