//! What stands for us in the settings of clients, and how it is put there and taken out: pure functions of a text.

use std::path::Path;

use serde_json::{Value, json};

use super::json::{Document, Step};
use super::program::{Program, SERVER};
use super::toml;

/// A hook: the client's name for the event, and how long it waits for it at most, in its own unit. Nacre gives up sooner.
pub type Hook = (&'static str, u64);

/// Those of Claude Code and Codex, in seconds; Codex allows three for the end of a session.
pub const CLAUDE_HOOKS: &[Hook] =
    &[("SessionStart", 10), ("UserPromptSubmit", 5), ("PreCompact", 5), ("Stop", 5), ("SessionEnd", 3)];

/// Those of Gemini CLI, in milliseconds.
pub const GEMINI_HOOKS: &[Hook] = &[
    ("SessionStart", 10_000),
    ("BeforeAgent", 5_000),
    ("PreCompress", 5_000),
    ("AfterAgent", 5_000),
    ("SessionEnd", 3_000),
];

/// What a server is in a client's settings: its fields.
pub type Shape = fn(&Program) -> Vec<(&'static str, Value)>;

pub fn plain(program: &Program) -> Vec<(&'static str, Value)> {
    vec![("command", json!(program.path)), ("args", json!(program.arguments(&["mcp"])))]
}

pub fn stdio(program: &Program) -> Vec<(&'static str, Value)> {
    [vec![("type", json!("stdio"))], plain(program)].concat()
}

/// OpenCode's: the command is one list.
pub fn local(program: &Program) -> Vec<(&'static str, Value)> {
    let command = [vec![program.path.clone()], program.arguments(&["mcp"])].concat();
    vec![("type", json!("local")), ("command", json!(command))]
}

/// Our part of one file.
pub enum Part {
    /// The server in a JSON file: under these keys, in this shape.
    Server(&'static [&'static str], Shape),
    /// The hooks in `hooks` of a JSON file.
    Hooks(&'static [Hook]),
    /// The server in `mcp_servers` of a TOML file: Codex.
    Toml,
    /// The server in `extensions` of Goose's YAML file. No crate edits YAML and keeps its comments, so Nacre leaves the file
    /// alone and the person pastes these lines.
    Paste,
}

impl Part {
    /// Returns the text with our part in it, as it should be. An error says why the file can't be changed.
    pub fn install(&self, text: &str, program: &Program) -> Result<String, String> {
        match self {
            Part::Server(keys, shape) => install_server(text, keys, &shape(program)),
            Part::Hooks(hooks) => install_hooks(text, hooks, program),
            Part::Toml => toml::install(text, program),
            Part::Paste => Ok(text.to_owned()),
        }
    }

    /// Returns the text without our part, or with what stood in its place in `before`.
    pub fn remove(&self, text: &str, before: Option<&str>) -> Result<String, String> {
        match self {
            Part::Server(keys, _) => remove_server(text, keys, before),
            Part::Hooks(hooks) => remove_hooks(text, hooks, before),
            Part::Toml => toml::remove(text, before),
            Part::Paste => Ok(text.to_owned()),
        }
    }

    /// Tells whether nothing stands in it.
    pub fn is_empty(&self, text: &str) -> bool {
        match self {
            Part::Server(..) | Part::Hooks(_) => {
                read(text).is_ok_and(|document| document.get(&[]) == Some(json!({})))
            }
            Part::Toml | Part::Paste => text.trim().is_empty(),
        }
    }

    /// Returns what the person has to change in a file that Nacre does not edit, and `None` where there is nothing to change.
    pub fn by_hand(&self, file: &Path, text: &str, program: &Program, undo: bool) -> Option<String> {
        let lines = self.lines_to_paste(program)?;
        let file = file.display();
        let named = text.lines().any(|line| line.trim() == format!("{SERVER}:"));
        if undo {
            return named.then(|| {
                format!("Nacre does not edit YAML. Delete `{SERVER}:` and the lines below it from `extensions` in {file}.\n")
            });
        }
        let words = [vec![program.path.clone()], program.arguments(&["mcp"])].concat();
        // Goose rewrites the file without quotes where it can.
        let written = |word: &String| text.contains(word) || text.contains(&json!(word).to_string());
        (!named || !words.iter().all(written)).then(|| {
            format!("Nacre does not edit YAML. Put these lines into {file}, below `extensions:` if it has one:\n\n{lines}\n")
        })
    }

    /// Returns the lines of a part that the person pastes. A JSON string or list is YAML too.
    pub fn lines_to_paste(&self, program: &Program) -> Option<String> {
        let Part::Paste = self else { return None };
        let command = json!(program.path);
        let arguments = json!(program.arguments(&["mcp"]));
        Some(format!(
            "extensions:\n  {SERVER}:\n    enabled: true\n    type: stdio\n    name: {SERVER}\n    \
             description: Memory across sessions\n    cmd: {command}\n    args: {arguments}\n"
        ))
    }
}

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
            let kind = if empty.is_array() { "list" } else { "object" };
            return Err(format!("{} in it is no {kind}", words(path)));
        }
    }
    Ok(())
}

fn words(path: &[Step<'_>]) -> String {
    let words = path.iter().map(|step| match step {
        Step::Key(key) => format!("`{key}`"),
        Step::Index(index) => format!("[{index}]"),
    });
    words.collect::<Vec<_>>().join(".")
}

/// Takes out what has become empty, from the inside out; what was there before us stays.
fn prune(document: &mut Document, path: &[Step<'_>], before: Option<&Document>) {
    for length in (1..=path.len()).rev() {
        let path = &path[..length];
        let empty = match document.get(path) {
            Some(Value::Object(fields)) => fields.is_empty(),
            Some(Value::Array(items)) => items.is_empty(),
            _ => false,
        };
        if !empty || before.is_some_and(|before| before.get(path).is_some()) {
            return;
        }
        document.remove(path);
    }
}

fn server_path<'a>(keys: &[&'a str]) -> Vec<Step<'a>> {
    keys.iter().copied().chain([SERVER]).map(Step::Key).collect()
}

fn install_server(text: &str, keys: &[&str], fields: &[(&str, Value)]) -> Result<String, String> {
    let mut document = read(text)?;
    let path = server_path(keys);
    for length in 1..=path.len() {
        container(&mut document, &path[..length], &json!({}))?;
    }
    // A server of the person's own under this name is not turned into half of ours.
    let found = document.get(&path).unwrap_or_default();
    if ["url", "httpUrl", "serverUrl"].iter().any(|key| !found[*key].is_null()) {
        return Err(format!("{} in it is a server at a URL already", words(&path)));
    }
    // What else stands there, such as an environment, is the person's.
    for (key, value) in fields {
        let path = [&path[..], &[Step::Key(key)]].concat();
        if document.get(&path).as_ref() != Some(value) {
            document.set(&path, value);
        }
    }
    Ok(written(&document, text))
}

fn remove_server(text: &str, keys: &[&str], before: Option<&str>) -> Result<String, String> {
    let mut document = read(text)?;
    let before = before.and_then(|before| read(before).ok());
    let path = server_path(keys);
    let Some(found) = document.get(&path) else { return Ok(text.to_owned()) };
    // Ours serves MCP over a pipe: the last word of its command.
    let last = |value: &Value| value.as_array().and_then(|words| words.last()?.as_str().map(str::to_owned));
    if last(&found["args"]).or(last(&found["command"])).as_deref() != Some("mcp") {
        return Ok(text.to_owned());
    }
    match before.as_ref().and_then(|before| before.get(&path)) {
        Some(earlier) => document.set(&path, &earlier),
        None => {
            document.remove(&path);
            prune(&mut document, &path[..keys.len()], before.as_ref());
        }
    }
    Ok(document.text().to_owned())
}

fn install_hooks(text: &str, hooks: &[Hook], program: &Program) -> Result<String, String> {
    let mut document = read(text)?;
    container(&mut document, &[Step::Key("hooks")], &json!({}))?;
    for (event, patience) in hooks {
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
                let hook = json!({ "type": "command", "command": command, "timeout": patience });
                let path = [event_path[0], event_path[1], Step::Index(groups.unwrap_or(0))];
                document.set(&path, &json!({ "hooks": [hook] }));
            }
        }
    }
    Ok(written(&document, text))
}

fn remove_hooks(text: &str, hooks: &[Hook], before: Option<&str>) -> Result<String, String> {
    let mut document = read(text)?;
    let before = before.and_then(|before| read(before).ok());
    let mut found = false;
    for (event, _) in hooks {
        // From the end, so that places before stay what they are.
        for (group, hook) in ours(&document, event).into_iter().rev() {
            let path = hook_path(event, group, hook);
            document.remove(&path);
            if document.get(&path[..4]) == Some(json!([])) {
                document.remove(&path[..3]);
            }
            prune(&mut document, &path[..2], before.as_ref());
            found = true;
        }
    }
    Ok(if found { document.text().to_owned() } else { text.to_owned() })
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
