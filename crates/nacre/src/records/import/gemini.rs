//! GEMINI.md of Gemini CLI: under one heading the memories that it was told to keep, the rest written by the
//! user.

use std::path::Path;

use super::identity::Author;
use super::markdown;
use super::openclaw;
use super::source::{Source, Text};
use super::take::Sink;
use crate::base::Result;

/// The heading under which the program adds memories.
const ADDED_HEADING: &str = "Gemini Added Memories";
const FILE: &str = "GEMINI.md";

pub(super) fn claims(path: &Path) -> bool {
    path.is_file() && path.file_name().is_some_and(|name| name == FILE)
}

pub(super) fn read(source: &Source, sink: &mut Sink<'_>) -> Result<()> {
    let text = match source.text("") {
        Ok(text) => text,
        Err(why) => {
            sink.skip(FILE, why);
            return Ok(());
        }
    };
    let (at, private) = (text.at, sink.is_private(FILE, &text.text));
    for mut memory in markdown::memories(&text.text) {
        if memory.section.iter().any(|heading| heading == ADDED_HEADING) {
            // The heading says who added it, not what it is about.
            memory.section.retain(|heading| heading != ADDED_HEADING);
            sink.item(openclaw::entry(&memory, FILE, at, private));
        }
    }
    let rest = without_added(&text.text);
    if !rest.trim().is_empty() {
        sink.item(openclaw::document(Text { text: rest, ..text }, FILE, Author::User));
    }
    sink.end(FILE)
}

/// Returns the file without the section of added memories.
fn without_added(text: &str) -> String {
    let (mut kept, mut within) = (String::new(), false);
    for line in text.split_inclusive('\n') {
        if let Some(title) = line.strip_prefix("## ").or(line.strip_prefix("# ")) {
            within = title.trim() == ADDED_HEADING;
        }
        if !within {
            kept.push_str(line);
        }
    }
    kept
}
