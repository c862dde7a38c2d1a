//! Exports of ChatGPT and claude.ai: a zip, the folder it was unpacked to, or a file of conversations.
//! Conversations become sessions, as with `nacre session import`.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::Value;

use super::identity::{Author, Origin};
use super::markdown;
use super::openclaw;
use super::source::{Source, head};
use super::take::{ImportedRecord, Item, Sink};
use crate::base::zip::{self, Archive};
use crate::base::{Error, Result};
use crate::records::session::import::{Item as Piece, Values, moment};

/// The maximum size in bytes of a file that is not a stream of conversations.
const MAX_FILE_BYTES: u64 = 256 << 20;

pub(super) fn is_chatgpt(path: &Path) -> bool {
    has_conversations(path, b"\"mapping\"")
}

pub(super) fn is_claude(path: &Path) -> bool {
    has_conversations(path, b"\"chat_messages\"")
}

/// Tells whether the conversations of an export contain `mark`.
fn has_conversations(path: &Path, mark: &[u8]) -> bool {
    let has = |bytes: &[u8]| bytes.windows(mark.len()).any(|window| window == mark);
    if path.is_file() && !zip::is_one(path) {
        let head = head(path);
        return head.trim_ascii_start().starts_with(b"[") && has(&head);
    }
    let Ok(files) = Files::open(path) else { return false };
    let names = files.names();
    let mut conversations = names.iter().filter(|name| is_conversations(name));
    conversations.any(|name| {
        let mut bytes = Vec::new();
        let read = files.read(name).and_then(|input| {
            input.take(64 << 10).read_to_end(&mut bytes).map_err(|problem| problem.to_string())
        });
        read.is_ok() && has(&bytes)
    })
}

/// `conversations.json`, or one of `conversations-000.json` and so on.
fn is_conversations(name: &str) -> bool {
    let own = name.rsplit('/').next().unwrap_or_default();
    own.strip_prefix("conversations").and_then(|rest| rest.strip_suffix(".json")).is_some_and(|middle| {
        middle.is_empty()
            || middle.strip_prefix('-').is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

pub(super) fn chatgpt(source: &Source, sink: &mut Sink<'_>) -> Result<()> {
    conversations(&open(source, "chatgpt")?, sink)
}

pub(super) fn claude(source: &Source, sink: &mut Sink<'_>) -> Result<()> {
    let files = open(source, "claude")?;
    conversations(&files, sink)?;
    for (file, take) in [("projects.json", project as Take), ("memories.json", memories)] {
        let names = files.names();
        for name in names.iter().filter(|name| name.rsplit('/').next() == Some(file)) {
            let input = match files.read(name) {
                Ok(input) => input,
                Err(why) => {
                    sink.skip(name, why);
                    continue;
                }
            };
            let mut values = Values::new(BufReader::new(input.take(MAX_FILE_BYTES)));
            loop {
                match values.next() {
                    Ok(Some(item)) => match item.value {
                        Piece::Value { value, .. } => take(name, item.number, &value, sink)?,
                        Piece::Bad { why, .. } => {
                            sink.skip(&format!("{name}:{}", item.number), why.to_string())
                        }
                    },
                    Ok(None) => break,
                    Err(problem) => {
                        sink.skip(name, problem.to_string());
                        break;
                    }
                }
            }
        }
    }
    Ok(())
}

type Take = fn(&str, usize, &Value, &mut Sink<'_>) -> Result<()>;

fn open(source: &Source, format: &'static str) -> Result<Files> {
    Files::open(&source.path).map_err(|problem| Error::ForeignSource {
        format,
        path: source.path.clone(),
        problem,
    })
}

fn conversations(files: &Files, sink: &mut Sink<'_>) -> Result<()> {
    for name in files.names().iter().filter(|name| is_conversations(name)) {
        match files.read(name) {
            Ok(input) => match sink.messages(BufReader::new(input), name) {
                // Records read before the error are imported.
                Err(Error::Io { source, .. }) => sink.skip(name, source.to_string()),
                done => done?,
            },
            Err(why) => sink.skip(name, why),
        }
    }
    Ok(())
}

/// Imports the knowledge of a claude.ai project. Its files may be written by anyone.
fn project(name: &str, number: usize, value: &Value, sink: &mut Sink<'_>) -> Result<()> {
    let (Some(id), true) = (value["uuid"].as_str(), value.is_object()) else {
        sink.skip(&format!("{name}:{number}"), "no project");
        return Ok(());
    };
    let title = value["name"].as_str().unwrap_or(id);
    let prompt =
        value["prompt_template"].as_str().map(|text| ("prompt", "instructions.md", text, Author::User));
    let docs = value["docs"].as_array().into_iter().flatten().filter_map(|doc| {
        let name = doc["filename"].as_str().unwrap_or("document.md");
        Some((doc["uuid"].as_str().unwrap_or(name), name, doc["content"].as_str()?, Author::Others))
    });
    for (key, name, text, author) in prompt.into_iter().chain(docs) {
        if text.trim().is_empty() {
            continue;
        }
        let path = format!("{title}/{}", name.replace('/', "-"));
        let at = moment(&value["updated_at"]).or_else(|| moment(&value["created_at"]));
        sink.item(Item {
            key: key.to_owned(),
            origin: Origin { path: path.clone(), id: key.to_owned(), author, ..Origin::default() },
            at,
            private: false,
            thing: ImportedRecord::Document { path, text: text.to_owned() },
        });
    }
    sink.end_of(&format!("project {id}"))
}

/// Imports the memories of claude.ai: Markdown, for the conversations and for each project.
fn memories(name: &str, number: usize, value: &Value, sink: &mut Sink<'_>) -> Result<()> {
    let mut texts = Vec::new();
    for (key, value) in value.as_object().into_iter().flatten().filter(|(key, _)| key.contains("memor")) {
        texts.extend(value.as_str().map(|text| (key.clone(), text)));
        for (project, text) in value.as_object().into_iter().flatten() {
            texts.extend(text.as_str().map(|text| (format!("{key}/{project}"), text)));
        }
    }
    if texts.is_empty() {
        sink.skip(&format!("{name}:{number}"), "no memories");
    }
    for (part, text) in texts {
        let path = format!("memories/{part}");
        for memory in markdown::memories(text) {
            sink.item(openclaw::entry(&memory, &path, None, false));
        }
        sink.end_of(&path)?;
    }
    Ok(())
}

/// The files of an export, in any of its forms.
enum Files {
    One(std::path::PathBuf),
    Folder(std::path::PathBuf, Vec<String>),
    Zip(Archive<'static>),
}

impl Files {
    fn open(path: &Path) -> Result<Files, String> {
        if path.is_dir() {
            let entries = fs::read_dir(path).map_err(|problem| problem.to_string())?;
            let plain = entries.flatten().filter(|found| found.file_type().is_ok_and(|kind| kind.is_file()));
            let mut names: Vec<String> =
                plain.filter_map(|found| found.file_name().into_string().ok()).collect();
            names.sort();
            return Ok(Files::Folder(path.to_owned(), names));
        }
        if zip::is_one(path) { Archive::open(path).map(Files::Zip) } else { Ok(Files::One(path.to_owned())) }
    }

    fn names(&self) -> Vec<String> {
        match self {
            Files::One(_) => vec!["conversations.json".to_owned()],
            Files::Folder(_, names) => names.clone(),
            Files::Zip(archive) => {
                let mut names: Vec<String> = archive.names().map(str::to_owned).collect();
                names.sort();
                names
            }
        }
    }

    fn read(&self, name: &str) -> Result<Box<dyn BufRead>, String> {
        let open = |path: &Path| File::open(path).map_err(|problem| problem.to_string());
        Ok(match self {
            Files::One(path) => Box::new(BufReader::new(open(path)?)),
            Files::Folder(folder, _) => Box::new(BufReader::new(open(&folder.join(name))?)),
            Files::Zip(archive) => Box::new(BufReader::with_capacity(1 << 16, archive.read(name)?)),
        })
    }
}
