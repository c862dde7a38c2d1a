//! The names of the published designs: of arguments, which every tool accepts in every dialect, and of the fields of answers,
//! which the setting `dialect` selects.
//!
//! A dialect changes only how a call and its answer are written. What a tool does is the same in all of them.

use serde_json::{Map, Value, json};

use crate::base::Settings;
use crate::base::settings::{Dialect, Policy};
use crate::records::entry::{MAX_TAG_CHARS, MAX_TAGS};
use crate::records::workspace::fitting_sentences;

/// An argument: the tool, the name in a design, and ours.
static ARGUMENTS: &[(&str, &str, &str)] = &[
    ("memory_get", "file", "path"),
    ("memory_get", "startLine", "from"),
    ("memory_get", "endLine", "to"),
    ("graph_search", "topK", "limit"),
    ("memory_search", "topK", "limit"),
    ("memory_query", "topK", "limit"),
    ("task_add", "acceptanceCriteria", "acceptance_criteria"),
    ("task_add", "blockedBy", "blocked_by"),
];

/// The arguments that a design has for a tool. Others are accepted, and not listed.
static OWN_ARGUMENTS: &[(Dialect, &str, &[&str])] = &[
    (Dialect::Carapace, "memory_store", &["type", "content", "tags", "supersedes"]),
    (Dialect::Carapace, "memory_search", &["query", "tags", "type", "include_superseded", "limit"]),
    (Dialect::Carapace, "memory_brief", &["include_provenance"]),
    (Dialect::Carapace, "memory_delete", &["id"]),
    (Dialect::Koshi, "memory_store", &["content", "tags"]),
    (Dialect::Koshi, "memory_query", &["query", "limit"]),
    (Dialect::Koshi, "memory_update", &["id", "content", "tags"]),
    (Dialect::Nanoclaw, "memory_search", &["query", "limit"]),
    (Dialect::Nanoclaw, "memory_get", &["path", "from", "to"]),
    (Dialect::Nanoclaw, "graph_search", &["query", "limit"]),
    (Dialect::Nanoclaw, "fact_upsert", &["entity", "key", "value", "category", "importance"]),
];

/// The descriptions of tools that do less in a design.
static OWN_DESCRIPTIONS: &[(Dialect, &str, &str)] = &[
    (
        Dialect::Carapace,
        "memory_search",
        "Search memories by text, tags, or type. Without arguments it lists the newest memories.",
    ),
    (Dialect::Carapace, "memory_brief", "Refresh memory context mid-session."),
    (
        Dialect::Brain,
        "memory_boot",
        "Return the startup context of a session: AGENT.md, MEMORY.md and the open tasks.",
    ),
    (Dialect::Nanoclaw, "memory_get", "Read a specific memory file or line range."),
    (Dialect::Nanoclaw, "memory_search", "Search memory for relevant context about a topic."),
    (Dialect::Koshi, "memory_store", "Remember one fact, decision or piece of context."),
];

/// The longest query of Carapace's search, in characters.
const CARAPACE_QUERY_CHARS: u64 = 500;

/// Renames arguments that have the name of a design.
pub(super) fn accept(tool: &str, arguments: &mut Value) {
    let Value::Object(fields) = arguments else { return };
    for (_, theirs, ours) in ARGUMENTS.iter().filter(|(name, ..)| *name == tool) {
        if !fields.contains_key(*ours)
            && let Some(value) = fields.remove(*theirs)
        {
            fields.insert((*ours).to_owned(), value);
        }
    }
}

/// Applies the limits of a design to the schema that arguments are checked against.
pub(super) fn limit(dialect: Dialect, tool: &str, schema: &mut Value) {
    if dialect != Dialect::Carapace {
        return;
    }
    if tool == "memory_search" {
        schema["properties"]["query"]["maxLength"] = CARAPACE_QUERY_CHARS.into();
    }
}

/// Tells whether a dialect limits the arguments of a tool.
pub(super) fn limits(dialect: Dialect, tool: &str) -> bool {
    dialect == Dialect::Carapace && tool == "memory_search"
}

/// Adapts a schema to the agent that reads it: the arguments and names of the dialect, and no word about tools and files that
/// it does not have. `advanced` are the arguments that agents are not told about.
pub(super) fn list(settings: &Settings, tool: &str, advanced: &[&str], schema: &mut Value) {
    let own = OWN_ARGUMENTS.iter().find(|(dialect, name, _)| *dialect == settings.dialect && *name == tool);
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        match own {
            Some((_, _, listed)) => properties.retain(|name, _| listed.contains(&name.as_str())),
            None => properties.retain(|name, _| !advanced.contains(&name.as_str())),
        }
        if settings.dialect == Dialect::Carapace
            && let Some(tags) = properties.get_mut("tags")
        {
            let items = json!({ "type": "string", "maxLength": MAX_TAG_CHARS });
            let about = tags["description"].take();
            *tags = json!({ "type": "array", "items": items, "maxItems": MAX_TAGS, "description": about });
        }
        if settings.dialect == Dialect::Nanoclaw {
            let renamed = |name: &String| {
                // Its search has `limit`, as ours has.
                let row = ARGUMENTS
                    .iter()
                    .find(|(of, _, ours)| *of == tool && ours == name && tool != "memory_search");
                row.map_or_else(|| name.clone(), |(_, theirs, _)| (*theirs).to_owned())
            };
            *properties = properties.iter().map(|(name, value)| (renamed(name), value.clone())).collect();
            if tool == "memory_get" {
                schema["required"] = json!(["file"]);
            }
        }
    }
    let about =
        OWN_DESCRIPTIONS.iter().find(|(dialect, name, _)| *dialect == settings.dialect && *name == tool);
    if let Some((_, _, about)) = about {
        schema["description"] = (*about).into();
    }
    let write = &settings.write;
    if tool == "memory_write" && ![write.log, write.memory, write.files].contains(&Policy::Approve) {
        schema["description"] = "Add a line to today's log or, with `path`, change a workspace file.".into();
    }
    fit(settings, schema);
}

/// Takes sentences out of descriptions that name a tool which is not offered, and names a file that is there.
fn fit(settings: &Settings, schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(about)) = fields.get_mut("description") {
                *about = fitting_sentences(about, settings);
                let is_there = |file: &&String| file.ends_with(".md");
                if let Some(file) = settings.boot.main.iter().find(is_there)
                    && !settings.boot.main.iter().any(|part| part == "MEMORY.md")
                {
                    *about = about.replace("MEMORY.md", file);
                }
            }
            fields.retain(|name, value| name != "description" || value != "");
            fields.values_mut().for_each(|value| fit(settings, value));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fit(settings, item)),
        _ => {}
    }
}

/// Writes an answer in the words of a dialect.
pub(super) fn answer(dialect: Dialect, data: &mut Value) {
    match dialect {
        Dialect::Carapace => rename(data, "provenance", &[("session", "session_id")]),
        Dialect::Brain => {
            let tasks = data.get_mut("tasks").and_then(Value::as_array_mut);
            tasks.into_iter().flatten().for_each(whole_task);
        }
        Dialect::Nacre | Dialect::Nanoclaw | Dialect::Koshi => {}
    }
}

/// Gives a task all fields of Brain's tasks.json, also those that are empty, and its days instead of times.
fn whole_task(task: &mut Value) {
    let Value::Object(fields) = task else { return };
    for (name, empty) in [
        ("milestone", Value::Null),
        ("completed", Value::Null),
        ("blocked_by", json!([])),
        ("acceptance_criteria", json!([])),
    ] {
        fields.entry(name).or_insert(empty);
    }
    for name in ["created", "completed"] {
        if let Some(Value::String(time)) = fields.get_mut(name) {
            time.truncate("2026-02-05".len());
        }
    }
}

/// Renames the fields of every object with this name.
fn rename(data: &mut Value, within: &str, names: &[(&str, &str)]) {
    match data {
        Value::Object(fields) => {
            if let Some(Value::Object(inner)) = fields.get_mut(within) {
                let renamed = std::mem::take(inner).into_iter().map(|(name, value)| {
                    let new = names.iter().find(|(old, _)| *old == name).map(|(_, new)| (*new).to_owned());
                    (new.unwrap_or(name), value)
                });
                *inner = renamed.collect::<Map<String, Value>>();
            }
            fields.values_mut().for_each(|value| rename(value, within, names));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, within, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::tool as named;

    #[test]
    fn every_name_in_the_tables_exists() {
        let settings = Settings::default();
        let has = |tool: &str, argument: &str| {
            let schema = named(tool).unwrap_or_else(|| panic!("{tool}")).input_schema(&settings);
            schema["properties"].get(argument).is_some()
        };
        for (tool, theirs, ours) in ARGUMENTS {
            assert!(has(tool, ours) && !has(tool, theirs), "{tool}: {theirs} is {ours}");
        }
        for (_, tool, listed) in OWN_ARGUMENTS {
            for argument in *listed {
                assert!(has(tool, argument), "{tool}: {argument}");
            }
        }
    }

    #[test]
    fn an_argument_of_a_design_does_not_replace_ours() {
        let mut arguments = json!({ "topK": 3, "limit": 5 });
        accept("graph_search", &mut arguments);
        assert_eq!(
            arguments,
            json!({ "topK": 3, "limit": 5 }),
            "two limits are a mistake that the schema names"
        );
        let mut arguments = json!({ "file": "a.md", "startLine": 2, "endLine": 3 });
        accept("memory_get", &mut arguments);
        assert_eq!(arguments, json!({ "path": "a.md", "from": 2, "to": 3 }));
    }
}
