//! What stands for us in the settings of clients, and how it is put there and taken out: pure functions of a text.

use serde_json::{Value, json};
use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::Program;
use super::json::{Document, Step};

/// The name of the server in every client.
const SERVER: &str = "nacre";

/// The hooks that are set, and how many seconds a client waits for each at most; Nacre itself gives up sooner. Codex
/// allows three for the end of a session.
const HOOKS: &[(&str, u64)] =
    &[("SessionStart", 10), ("UserPromptSubmit", 5), ("PreCompact", 5), ("Stop", 5), ("SessionEnd", 3)];

/// Our part of one file. An error says why the file can't be changed.
pub trait Part {
    /// Returns the text with our part in it, as it should be.
    fn install(&self, text: &str, program: &Program) -> Result<String, String>;
    /// Returns the text without our part, or with what stood in its place in `before`.
    fn remove(&self, text: &str, before: Option<&str>) -> Result<String, String>;
    /// Tells whether nothing stands in it.
    fn is_empty(&self, text: &str) -> bool;
}

/// The server in `mcpServers` of a JSON file: Claude Code.
pub struct Server;

/// The hooks in `hooks` of a JSON file: Claude Code, Codex.
pub struct Hooks;

/// The server in `mcp_servers` of a TOML file: Codex.
pub struct Codex;

fn read(text: &str) -> Result<Document, String> {
    let document = Document::read(if text.trim().is_empty() { "{}" } else { text })?;
    match document.get(&[]) {
        Some(Value::Object(_)) => Ok(document),
        _ => Err("it is no JSON object".into()),
    }
}

/// Ends with a line break, where the text is new.
fn written(document: &Document, text: &str) -> String {
    let end = if text.trim().is_empty() { "\n" } else { "" };
    format!("{}{end}", document.text())
}

/// Sees to it that there is a container at a place.
fn container(document: &mut Document, path: &[Step<'_>], empty: &Value) -> Result<(), String> {
    match document.get(path) {
        None => document.set(path, empty),
        Some(found) if found.is_object() == empty.is_object() && found.is_array() == empty.is_array() => {}
        Some(_) => {
            let words = path.iter().map(|step| match step {
                Step::Key(key) => format!("`{key}`"),
                Step::Index(index) => format!("[{index}]"),
            });
            let kind = if empty.is_array() { "list" } else { "object" };
            return Err(format!("{} in it is no {kind}", words.collect::<Vec<_>>().join(".")));
        }
    }
    Ok(())
}

/// Takes out what has become empty, from the inside out.
fn prune(document: &mut Document, path: &[Step<'_>]) {
    for length in (1..=path.len()).rev() {
        let empty = match document.get(&path[..length]) {
            Some(Value::Object(fields)) => fields.is_empty(),
            Some(Value::Array(items)) => items.is_empty(),
            _ => false,
        };
        if !empty {
            return;
        }
        document.remove(&path[..length]);
    }
}

impl Part for Server {
    fn install(&self, text: &str, program: &Program) -> Result<String, String> {
        let mut document = read(text)?;
        let servers = [Step::Key("mcpServers")];
        container(&mut document, &servers, &json!({}))?;
        let path = [servers[0], Step::Key(SERVER)];
        container(&mut document, &path, &json!({}))?;
        // What else stands there, such as an environment, is the person's.
        for (key, value) in [
            ("type", json!("stdio")),
            ("command", json!(program.path)),
            ("args", json!(program.arguments(&["mcp"]))),
        ] {
            let path = [path[0], path[1], Step::Key(key)];
            if document.get(&path).as_ref() != Some(&value) {
                document.set(&path, &value);
            }
        }
        Ok(written(&document, text))
    }

    fn remove(&self, text: &str, before: Option<&str>) -> Result<String, String> {
        let mut document = read(text)?;
        let path = [Step::Key("mcpServers"), Step::Key(SERVER)];
        match before.and_then(|before| read(before).ok()?.get(&path)) {
            Some(earlier) => document.set(&path, &earlier),
            None => {
                document.remove(&path);
                prune(&mut document, &path[..1]);
            }
        }
        Ok(document.text().to_owned())
    }

    fn is_empty(&self, text: &str) -> bool {
        is_empty(text)
    }
}

fn is_empty(text: &str) -> bool {
    read(text).is_ok_and(|document| document.get(&[]) == Some(json!({})))
}

impl Part for Hooks {
    fn install(&self, text: &str, program: &Program) -> Result<String, String> {
        let mut document = read(text)?;
        container(&mut document, &[Step::Key("hooks")], &json!({}))?;
        for (event, seconds) in HOOKS {
            let event_path = [Step::Key("hooks"), Step::Key(event)];
            container(&mut document, &event_path, &json!([]))?;
            // A shell line, not a list of arguments: every version of every client knows it, and one that passed over the
            // arguments would run `nacre` alone.
            let words = program.arguments(&["hook", event]);
            let command = [quoted(&program.path)].into_iter().chain(words.iter().map(|word| quoted(word)));
            let command = json!(command.collect::<Vec<_>>().join(" "));
            match ours(&document, event).first() {
                Some((group, hook)) => {
                    let path = hook_path(event, *group, *hook);
                    let path = [path.as_slice(), &[Step::Key("command")]].concat();
                    if document.get(&path).as_ref() != Some(&command) {
                        document.set(&path, &command);
                    }
                }
                None => {
                    let groups = document.get(&event_path).and_then(|list| Some(list.as_array()?.len()));
                    let hook = json!({ "type": "command", "command": command, "timeout": seconds });
                    let path = [event_path[0], event_path[1], Step::Index(groups.unwrap_or(0))];
                    document.set(&path, &json!({ "hooks": [hook] }));
                }
            }
        }
        Ok(written(&document, text))
    }

    fn remove(&self, text: &str, _: Option<&str>) -> Result<String, String> {
        let mut document = read(text)?;
        for (event, _) in HOOKS {
            // From the end, so that places before stay what they are.
            for (group, hook) in ours(&document, event).into_iter().rev() {
                let path = hook_path(event, group, hook);
                document.remove(&path);
                if document.get(&path[..4]) == Some(json!([])) {
                    document.remove(&path[..3]);
                }
                prune(&mut document, &path[..2]);
            }
        }
        Ok(document.text().to_owned())
    }

    fn is_empty(&self, text: &str) -> bool {
        is_empty(text)
    }
}

fn hook_path(event: &str, group: usize, hook: usize) -> [Step<'_>; 5] {
    [Step::Key("hooks"), Step::Key(event), Step::Index(group), Step::Key("hooks"), Step::Index(hook)]
}

/// Where our hooks of an event stand: in which group, at which place.
fn ours(document: &Document, event: &str) -> Vec<(usize, usize)> {
    let groups = document.get(&[Step::Key("hooks"), Step::Key(event)]).unwrap_or_default();
    let mut places = Vec::new();
    for (group, found) in groups.as_array().into_iter().flatten().enumerate() {
        for (place, hook) in found["hooks"].as_array().into_iter().flatten().enumerate() {
            let command = hook["command"].as_str().unwrap_or_default();
            if command.contains(SERVER) && command.ends_with(&format!(" hook {event}")) {
                places.push((group, place));
            }
        }
    }
    places
}

/// A word of a shell line.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else if cfg!(windows) {
        format!("\"{word}\"")
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

impl Part for Codex {
    fn install(&self, text: &str, program: &Program) -> Result<String, String> {
        let mut document = toml(text)?;
        let servers = document.entry("mcp_servers").or_insert_with(|| {
            // No heading of its own: `[mcp_servers.nacre]` says enough.
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        let servers = servers.as_table_like_mut().ok_or("`mcp_servers` in it is no table")?;
        let server = servers.entry(SERVER).or_insert_with(|| Item::Table(Table::new()));
        let server = server.as_table_like_mut().ok_or("`mcp_servers.nacre` in it is no table")?;
        let arguments: Array = program.arguments(&["mcp"]).iter().map(String::as_str).collect();
        for (key, new) in [("command", value(program.path.as_str())), ("args", value(arguments))] {
            let same = server.get(key).is_some_and(|old| old.to_string().trim() == new.to_string().trim());
            if !same {
                server.insert(key, new);
            }
        }
        Ok(document.to_string())
    }

    fn remove(&self, text: &str, before: Option<&str>) -> Result<String, String> {
        let mut document = toml(text)?;
        let earlier =
            before.and_then(|before| Some(toml(before).ok()?.get("mcp_servers")?.get(SERVER)?.clone()));
        let Some(servers) = document.get_mut("mcp_servers").and_then(Item::as_table_like_mut) else {
            return Ok(text.to_owned());
        };
        match earlier {
            Some(earlier) => drop(servers.insert(SERVER, earlier)),
            None => drop(servers.remove(SERVER)),
        }
        if servers.is_empty() {
            document.remove("mcp_servers");
        }
        Ok(document.to_string())
    }

    fn is_empty(&self, text: &str) -> bool {
        text.trim().is_empty()
    }
}

fn toml(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|problem: toml_edit::TomlError| {
        let line = problem.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let line = line.map(|line| format!(" (line {line})")).unwrap_or_default();
        format!("it is not valid TOML: {}{line}", problem.message())
    })
}
