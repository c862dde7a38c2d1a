//! `memory.jsonl` of the MCP memory server: entities with observations, and relations between them.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use serde_json::Value;

use super::identity::{Origin, hash};
use super::source::{Source, head};
use super::take::{FactUse, ImportedRecord, Item, Sink};
use crate::base::{Error, Result};
use crate::records::graph::{ENTITY_TYPE, OBSERVATIONS, guard};
use crate::records::session::import::{Item as Read, Values};

/// The maximum number of relations that are held until the end of the file.
const MAX_RELATIONS: usize = 2_000_000;

pub(super) fn claims(path: &Path) -> bool {
    let head = head(path);
    let text = String::from_utf8_lossy(&head);
    text.lines().take(20).any(|line| {
        let has = |word: &str| line.contains(word);
        has("\"entityType\"") || has("\"relationType\"")
    })
}

pub(super) fn read(source: &Source, sink: &mut Sink<'_>) -> Result<()> {
    let file = File::open(&source.path).map_err(Error::io(&source.path))?;
    let mut values = Values::new(BufReader::new(file));
    let mut relations = Vec::new();
    while let Some(item) = values.next().map_err(Error::io(&source.path))? {
        let place = format!("{}:{}", source.name, item.number);
        let value = match item.value {
            Read::Value { value, .. } => value,
            Read::Bad { why, problem } => {
                sink.skip(&format!("{place} ({problem})"), why.as_str());
                continue;
            }
        };
        match (value["type"].as_str(), value["name"].as_str(), value["relationType"].as_str()) {
            (Some("entity"), Some(name), _) => entity(source, item.number, name, &value, sink)?,
            (Some("relation"), _, Some(predicate)) if relations.len() < MAX_RELATIONS => {
                match (value["from"].as_str(), value["to"].as_str()) {
                    (Some(from), Some(to)) => {
                        let ends = [from, predicate, to].map(str::to_owned);
                        relations.push((item.number, ends));
                    }
                    _ => sink.skip(&place, "a relation without source or target"),
                }
            }
            _ => sink.skip(&place, "neither an entity nor a relation"),
        }
    }
    for (number, [subject, predicate, object]) in relations {
        sink.item(Item {
            key: hash(&[&subject, &predicate, &object]),
            origin: origin(source, number, ""),
            at: None,
            private: false,
            thing: ImportedRecord::Relation { subject, predicate, object },
        });
    }
    sink.end("relations")
}

fn origin(source: &Source, number: usize, id: &str) -> Origin {
    let path = source.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Origin { path, line: Some(number), id: id.to_owned(), ..Origin::default() }
}

/// Returns the category that another program's word means.
pub(super) fn category(word: &str) -> Option<&'static str> {
    guard::class_of(word).or_else(|| {
        guard::CATEGORIES.iter().map(|known| known.name).find(|known| known.eq_ignore_ascii_case(word))
    })
}

fn entity(source: &Source, number: usize, name: &str, value: &Value, sink: &mut Sink<'_>) -> Result<()> {
    let kind = value["entityType"].as_str().unwrap_or_default();
    let category = category(kind);
    let mut fact = |key: &'static str, value: &str| {
        sink.item(Item {
            key: hash(&[key, value]),
            origin: origin(source, number, name),
            at: None,
            private: false,
            thing: ImportedRecord::Fact {
                entity: name.to_owned(),
                key: key.to_owned(),
                value: value.to_owned(),
                category,
                use_of: FactUse::default(),
            },
        });
    };
    if !kind.trim().is_empty() {
        fact(ENTITY_TYPE, kind);
    }
    let mut broken = 0;
    for observation in value["observations"].as_array().into_iter().flatten() {
        match observation.as_str() {
            Some(text) if !text.trim().is_empty() => fact(OBSERVATIONS, text),
            _ => broken += 1,
        }
    }
    for _ in 0..broken {
        sink.skip(&format!("{}:{number}", source.name), "an observation that is not text");
    }
    sink.end(&format!("entity {name}"))
}
