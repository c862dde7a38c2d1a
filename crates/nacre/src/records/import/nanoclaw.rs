//! NanoClaw: `data/facts.db` with the knowledge graph, `data/continuity.db` with conversations, `nanoclaw.json`, and a
//! `workspace` of Markdown files.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::identity::Author;
use super::mcp_memory::category;
use super::openclaw;
use super::source::Source;
use super::tables::{self, has_table, origin, rows, time};
use super::take::{EntryState, FactUse, ImportedRecord, Item, Sink};
use crate::base::Result;
use crate::records::entry::EntryType;
use crate::store::foreign::ForeignDb;

const FACTS_FILE: &str = "facts.db";
const CONVERSATIONS_FILE: &str = "continuity.db";
const SETTINGS_FILE: &str = "nanoclaw.json";
const FACT_COLUMNS: &[&str] = &[
    "id",
    "entity",
    "key",
    "value",
    "category",
    "created_at",
    "last_accessed",
    "access_count",
    "permanent",
    "activation",
    "importance",
];
/// The columns by which the table of facts is recognised.
const FACT_MARKS: &[&str] = &["entity", "key", "value"];
/// The tables that are read. The last ones are made from the others.
const TABLES: &[&str] = &["facts", "relations", "aliases", "co_occurrences", "growth_vectors"];
/// How many exchanges are imported at once.
const EXCHANGES_AT_ONCE: usize = 1_000;

pub(super) fn claims(path: &Path) -> bool {
    if path.is_file() {
        return has_table(path, "facts", FACT_MARKS) && !has_table(path, "entries", &["folded"]);
    }
    path.join(SETTINGS_FILE).is_file()
        || database(path, FACTS_FILE).is_some_and(|file| has_table(&file, "facts", FACT_MARKS))
}

/// Returns a database of an installation.
fn database(path: &Path, name: &str) -> Option<PathBuf> {
    ["data", ""].iter().map(|folder| path.join(folder).join(name)).find(|file| file.is_file())
}

pub(super) fn read(source: &Source, sink: &mut Sink<'_>) -> Result<()> {
    let root = &source.path;
    if root.is_file() {
        return graph(root, FACTS_FILE, sink);
    }
    if let Some(file) = database(root, FACTS_FILE) {
        graph(&file, FACTS_FILE, sink)?;
    }
    if let Some(file) = database(root, CONVERSATIONS_FILE) {
        conversations(&file, sink)?;
    }
    match source.text(SETTINGS_FILE) {
        Ok(text) => settings(&text.text, sink),
        Err(_) if !root.join(SETTINGS_FILE).exists() => {}
        Err(why) => sink.skip(SETTINGS_FILE, why),
    }
    documents(source, sink)
}

/// Reads the knowledge graph.
fn graph(file: &Path, name: &str, sink: &mut Sink<'_>) -> Result<()> {
    let Some(db) = tables::open(file, name, sink) else { return Ok(()) };
    facts(&db, name, sink)?;
    if db.has("relations", &["subject", "predicate", "object"]) {
        let columns = ["id", "subject", "predicate", "object", "created_at"];
        rows(&db, "relations", &columns, sink, "relations", &mut |row, sink| {
            let thing = ImportedRecord::Relation {
                subject: row.text(1),
                predicate: row.text(2),
                object: row.text(3),
            };
            let id = row.text(0);
            sink.item(Item {
                key: id.clone(),
                origin: origin(name, &id),
                at: time(row, 4),
                private: false,
                thing,
            });
            Ok(())
        })?;
    }
    if db.has("aliases", &["alias", "entity"]) {
        rows(&db, "aliases", &["alias", "entity"], sink, "aliases", &mut |row, sink| {
            let (alias, entity) = (row.text(0), row.text(1));
            let key = format!("{alias}\0{entity}");
            sink.item(Item {
                key,
                origin: origin(name, &alias),
                at: None,
                private: false,
                thing: ImportedRecord::Alias { alias, entity },
            });
            Ok(())
        })?;
    }
    if db.has("growth_vectors", &["lesson_text"]) {
        let columns = ["id", "lesson_text", "principle", "created_at"];
        rows(&db, "growth_vectors", &columns, sink, "growth_vectors", &mut |row, sink| {
            let (id, tags) = (row.text(0), vec!["lesson".to_owned(), row.text(2)]);
            let (r#type, state) = (EntryType::Correction, EntryState::default());
            let tags = tags.into_iter().filter(|tag| !tag.is_empty()).collect();
            let thing = ImportedRecord::Entry { r#type, content: row.text(1), tags, state };
            sink.item(Item {
                key: id.clone(),
                origin: origin(name, &id),
                at: time(row, 3),
                private: false,
                thing,
            });
            Ok(())
        })?;
    }
    tables::name_others(&db, TABLES, sink);
    Ok(())
}

/// Reads the facts, and which of them were recalled together. Of several values of a key the newest one holds.
fn facts(db: &ForeignDb, name: &str, sink: &mut Sink<'_>) -> Result<()> {
    let mut newest: HashMap<(String, String), String> = HashMap::new();
    let mut known: HashSet<String> = HashSet::new();
    let mut items = Vec::new();
    let read = db.each("facts", FACT_COLUMNS, |row| {
        let (id, entity, key, value) = (row.text(0), row.text(1), row.text(2), row.text(3));
        if let Some(older) = newest.insert((entity.to_lowercase(), key.to_lowercase()), value.clone())
            && older != value
        {
            sink.skip(&format!("{entity}: {key}"), "an older value of the same key: kept as history");
        }
        known.insert(id.clone());
        let use_of = FactUse {
            importance: row.real(10),
            permanent: row.integer(8).map(|flag| flag != 0),
            activation: row.real(9),
            access_count: row.integer(7),
            last_accessed: time(&row, 6),
        };
        let thing = ImportedRecord::Fact { entity, key, value, category: category(&row.text(4)), use_of };
        items.push(Item {
            key: id.clone(),
            origin: origin(name, &id),
            at: time(&row, 5),
            private: false,
            thing,
        });
        Ok(())
    })?;
    // The value that was written last holds, in whichever order the rows are.
    items.sort_by_key(|item| item.at);
    items.into_iter().for_each(|item| sink.item(item));
    let mut is_whole = read == crate::store::foreign::TableEnd::Whole;
    if !is_whole {
        sink.skip("table facts", "the rest of a table can't be read");
    }
    if db.has("co_occurrences", &["fact_a", "fact_b"]) {
        let mut seen = HashSet::new();
        let read = db.each("co_occurrences", &["fact_a", "fact_b", "weight"], |row| {
            let mut facts = [row.text(0), row.text(1)];
            facts.sort();
            let weight = row.real(2).unwrap_or(1.0);
            // A pair may be there in both directions.
            if facts[0] != facts[1]
                && facts.iter().all(|fact| known.contains(fact))
                && seen.insert(facts.clone())
            {
                let key = facts.join(" ");
                let origin = origin(name, &key);
                sink.item(Item {
                    key,
                    origin,
                    at: None,
                    private: false,
                    thing: ImportedRecord::Together { facts, weight },
                });
            }
            Ok(())
        })?;
        is_whole &= read == crate::store::foreign::TableEnd::Whole;
    }
    if is_whole { sink.end("facts") } else { sink.end_broken("facts") }
}

/// Reads the conversations as transcripts.
fn conversations(file: &Path, sink: &mut Sink<'_>) -> Result<()> {
    let Some(db) = tables::open(file, CONVERSATIONS_FILE, sink) else { return Ok(()) };
    let columns = ["id", "session_id", "user_message", "agent_response", "timestamp"];
    if !db.has("exchanges", &["user_message", "agent_response"]) {
        return Ok(());
    }
    let (mut lines, mut count) = (String::new(), 0);
    let flush = |lines: &mut String, sink: &mut Sink<'_>| {
        let text = std::mem::take(lines);
        if text.is_empty() { Ok(()) } else { sink.messages(Cursor::new(text), CONVERSATIONS_FILE) }
    };
    let read = db.each("exchanges", &columns, |row| {
        let (id, session) = (row.text(0), row.text(1));
        let session = if session.is_empty() { "nanoclaw".to_owned() } else { session };
        for (role, content) in [("user", row.text(2)), ("assistant", row.text(3))] {
            if !content.trim().is_empty() {
                let at = time(&row, 4).map(|at| at.to_string());
                let line = json!({ "id": format!("{id}-{role}"), "session": session, "role": role, "content": content, "timestamp": at });
                let _ = writeln!(lines, "{line}");
            }
        }
        count += 1;
        if count % EXCHANGES_AT_ONCE == 0 { flush(&mut lines, sink) } else { Ok(()) }
    })?;
    flush(&mut lines, sink)?;
    if read != crate::store::foreign::TableEnd::Whole {
        sink.skip("table exchanges", "the rest of a table can't be read");
    }
    tables::name_others(&db, &["exchanges"], sink);
    Ok(())
}

/// The settings that Nacre has too: the path in `nanoclaw.json`, and the key here. Keys of an API are never read.
const SETTINGS: &[(&str, &str)] = &[
    ("/memory/searchWeights/vector", "search.vector_weight"),
    ("/memory/searchWeights/bm25", "search.word_weight"),
    ("/memory/temporalDecayHalfLife", "search.half_life_days"),
    ("/memory/maxBootstrapCharsPerFile", "boot.file_chars"),
    ("/memory/maxBootstrapCharsTotal", "boot.total_chars"),
    ("/embeddings/provider", "embedding.provider"),
    ("/embeddings/endpoint", "embedding.url"),
    ("/embeddings/deployment", "embedding.model"),
    ("/embeddings/apiVersion", "embedding.api_version"),
    ("/embeddings/dimensions", "embedding.dimensions"),
];

fn settings(text: &str, sink: &mut Sink<'_>) {
    let Ok(settings) = serde_json::from_str::<Value>(text) else {
        return sink.skip(SETTINGS_FILE, "not JSON");
    };
    for (path, key) in SETTINGS {
        let value = match settings.pointer(path) {
            // A variable of the environment is not a value.
            Some(Value::String(text)) if !text.contains("${") && text.len() <= 200 => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => continue,
        };
        sink.advise(key, value);
    }
}

/// Passes the files of the workspace on.
fn documents(source: &Source, sink: &mut Sink<'_>) -> Result<()> {
    let found = source.markdown();
    for (path, why) in found
        .passed
        .into_iter()
        .filter(|(path, why)| path.starts_with("workspace/memory/") || why != "not Markdown")
    {
        sink.skip(&path, why);
    }
    for path in found.files {
        // Plugins and copies that a checkpoint made are no memory.
        if path.starts_with("extensions/") || path.contains("/checkpoints/") || path.contains("node_modules/")
        {
            sink.skip(&path, "part of the program, or a copy");
            continue;
        }
        let shown = path.strip_prefix("workspace/").unwrap_or(&path);
        sink.file(source, &path, |text, sink| sink.item(openclaw::document(text, shown, Author::Agent)))?;
    }
    Ok(())
}
