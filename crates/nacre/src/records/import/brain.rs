//! Brain: transcripts in `sessions/`, AGENT.md and MEMORY.md of an agent, `items.json` of a project, and `tasks.json`.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use serde_json::Value;

use super::identity::Author;
use super::openclaw;
use super::source::{Source, head, read_plain};
use super::take::Sink;
use crate::base::text::decode;
use crate::base::{Error, Result};

/// The maximum size of `items.json` and `tasks.json`, in bytes.
const MAX_JSON_BYTES: u64 = 64 << 20;
/// The maximum depth of folders in a source, and the maximum number of its files.
const MAX_DEPTH: usize = 8;
const MAX_FILES: usize = 100_000;
/// The files of an agent that are kept whole.
const DOCUMENT_FILES: &[&str] = &["AGENT.md", "MEMORY.md"];

pub(super) fn claims(path: &Path) -> bool {
    if path.is_file() {
        return kind(path).is_some();
    }
    let has_transcripts = || {
        let files = fs::read_dir(path.join("sessions")).into_iter().flatten().flatten();
        files.into_iter().any(|file| file.path().extension().is_some_and(|ending| ending == "jsonl"))
    };
    path.join("AGENT.md").is_file()
        || [".agent/tasks/tasks.json", "40_Brain/.agent/tasks/tasks.json", "items.json", "tasks.json"]
            .iter()
            .any(|file| kind(&path.join(file)).is_some())
        || path.join("sessions/sessions.json").is_file() && has_transcripts()
}

/// The content of a JSON file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Items,
    Tasks,
}

/// Tells what a JSON file holds by its beginning.
fn kind(path: &Path) -> Option<Kind> {
    if path.extension().is_none_or(|ending| ending != "json") || !path.is_file() {
        return None;
    }
    let head = head(path);
    let text = String::from_utf8_lossy(&head);
    let start = text.trim_start();
    let has = |word: &str| start.contains(word);
    if start.starts_with('[') && has("\"sourceFile\"") && has("\"content\"") {
        Some(Kind::Items)
    } else if start.starts_with('{') && has("\"tasks\"") && has("\"status\"") && has("\"description\"") {
        Some(Kind::Tasks)
    } else {
        None
    }
}

pub(super) fn read(source: &Source, sink: &mut Sink<'_>) -> Result<()> {
    if source.path.is_file() {
        let name =
            source.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        return json(&source.path, &name, sink);
    }
    let mut files = Vec::new();
    walk(&source.path, "", 0, &mut files, sink);
    files.sort();
    for path in files {
        let file = source.path.join(&path);
        let name = path.rsplit('/').next().unwrap_or(&path);
        let in_sessions = path.rsplit('/').nth(1) == Some("sessions");
        if DOCUMENT_FILES.contains(&name) {
            match source.text(&path) {
                Ok(text) => sink.item(openclaw::document(text, &path, Author::Agent)),
                Err(why) => sink.skip(&path, why),
            }
            sink.end(&path)?;
        } else if in_sessions && name.ends_with(".jsonl") {
            match File::open(&file) {
                Ok(input) => match sink.messages(BufReader::new(input), &path) {
                    // Messages read before the error are imported.
                    Err(Error::Io { source, .. }) => sink.skip(&path, source.to_string()),
                    done => done?,
                },
                Err(problem) => sink.skip(&path, problem.to_string()),
            }
        } else if in_sessions && name == "sessions.json" {
            sink.skip(&path, "a list of the transcripts, which are read themselves");
        } else if matches!(name, "items.json" | "tasks.json") {
            json(&file, &path, sink)?;
        }
    }
    Ok(())
}

/// Finds the files that may be read. Of the hidden folders only `.agent` is entered.
fn walk(root: &Path, below: &str, depth: usize, files: &mut Vec<String>, sink: &mut Sink<'_>) {
    let entries = match fs::read_dir(root.join(below)) {
        Ok(entries) => entries,
        Err(problem) => return sink.skip(below, format!("can't be listed: {}", problem.kind())),
    };
    for entry in entries.flatten() {
        let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
        let Some(name) = name.to_str() else { continue };
        let path = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
        if kind.is_dir()
            && depth < MAX_DEPTH
            && (!name.starts_with('.') || name == ".agent")
            && name != "node_modules"
        {
            walk(root, &path, depth + 1, files, sink);
        } else if kind.is_file() && files.len() < MAX_FILES {
            files.push(path);
        }
    }
}

/// Imports `items.json` or `tasks.json`.
fn json(file: &Path, path: &str, sink: &mut Sink<'_>) -> Result<()> {
    let text = read_plain(file, MAX_JSON_BYTES).and_then(|(bytes, _)| decode(&bytes));
    let text = match text {
        Ok((text, _)) => text,
        Err(why) => {
            sink.skip(path, why);
            return Ok(());
        }
    };
    match kind(file) {
        Some(Kind::Tasks) => sink.tasks(path, &text),
        Some(Kind::Items) => sink.items(path, file.parent().unwrap_or(file), &text),
        // An empty list is nothing to skip.
        None => {
            let is_empty = |value: &Value| {
                value.as_array().is_some_and(Vec::is_empty)
                    || value["tasks"].as_array().is_some_and(Vec::is_empty)
            };
            match serde_json::from_str(&text) {
                Ok(value) if is_empty(&value) => {}
                Ok(_) => sink.skip(path, "neither items nor tasks"),
                Err(problem) => sink.skip(path, format!("not JSON: {problem}")),
            }
            Ok(())
        }
    }
}
