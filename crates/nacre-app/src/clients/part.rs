//! Our parts of clients' settings, and how they are installed and removed: pure functions of a text.

use std::path::Path;

use nacre::Settings;
use serde_json::{Value, json};

use super::json::{Document, Step};
use super::program::{Program, SERVER};
use super::toml;

/// A hook: the client's name for the event, and its time limit in the client's unit. Nacre gives up sooner.
pub type Hook = (&'static str, u64);

/// The hooks of Claude Code and Codex, in seconds; Codex allows three for the end of a session.
pub const CLAUDE_HOOKS: &[Hook] =
    &[("SessionStart", 10), ("UserPromptSubmit", 5), ("PreCompact", 5), ("Stop", 5), ("SessionEnd", 3)];

/// The hooks of Gemini CLI, in milliseconds.
pub const GEMINI_HOOKS: &[Hook] = &[
    ("SessionStart", 10_000),
    ("BeforeAgent", 5_000),
    ("PreCompress", 5_000),
    ("AfterAgent", 5_000),
    ("SessionEnd", 3_000),
];

/// Hooks of a client that lists commands directly under each event: `hooks.<event>[].command`.
pub struct FlatHooks {
    /// The client's name. The command passes it on, because the form of the answer depends on it.
    pub client: &'static str,
    /// The version of the file's format, for clients that require one.
    pub version: Option<u64>,
    /// The fields of a hook besides its command, for a time limit.
    pub fields: fn(u64) -> Vec<(&'static str, Value)>,
    pub hooks: &'static [Hook],
}

/// Time limits in seconds.
pub static CURSOR_HOOKS: FlatHooks = FlatHooks {
    client: "cursor",
    version: Some(1),
    fields: |seconds| vec![("timeout", json!(seconds))],
    hooks: &[
        ("sessionStart", 10),
        ("beforeSubmitPrompt", 5),
        ("preCompact", 5),
        ("afterAgentResponse", 5),
        ("sessionEnd", 3),
    ],
};

/// Time limits in seconds. VS Code has no event for the end of a session.
pub static VSCODE_HOOKS: FlatHooks = FlatHooks {
    client: "vscode",
    version: None,
    fields: |seconds| vec![("type", json!("command")), ("timeout", json!(seconds))],
    hooks: &[("SessionStart", 10), ("UserPromptSubmit", 5), ("PreCompact", 5), ("Stop", 5)],
};

/// Windsurf has no time limits, and shows a hook's output to the user unless told otherwise.
pub static WINDSURF_HOOKS: FlatHooks = FlatHooks {
    client: "windsurf",
    version: None,
    fields: |_| vec![("show_output", json!(false))],
    hooks: &[("pre_user_prompt", 0), ("post_cascade_response", 0)],
};

/// A sentence in every file that is Nacre's as a whole. A file without it is the user's.
const OWNED: &str = "Written by `nacre install`";

/// Where Nacre's lines in a shared Markdown file begin and end.
const BLOCK_START: &str = "<!-- nacre-rules: written by `nacre install`, removed by `nacre uninstall` -->";
const BLOCK_END: &str = "<!-- /nacre-rules -->";

/// The rules for an agent whose client has no hooks, or hooks that add nothing before a message: with the tools of the profile
/// that `install` was given.
fn rules(program: &Program) -> String {
    let profile = program.flags.iter().skip_while(|flag| *flag != "--profile").nth(1);
    let settings = Settings::from_layers(profile.map(String::as_str), &[]).unwrap_or_default();
    let recalls = |tool: &&str| settings.tools.offer.iter().any(|name| name == *tool);
    let recall = ["memory_search", "memory_query"].into_iter().find(recalls).unwrap_or("memory_search");
    let store = settings.store_tools().unwrap_or_else(|| "memory_store".to_owned());
    let store = if store.contains("memory_store") { "`memory_store`".to_owned() } else { store };
    format!(
        "You have a persistent memory, Nacre, through MCP tools. Search it with `{recall}` before you answer a question about \
         earlier work, decisions, preferences, people or projects. When the user states something that should last, such as a \
         preference, a decision or a correction, store it with {store}, one statement at a time. Never store passwords or keys."
    )
}

/// OpenCode's plugin.
pub fn opencode_plugin(program: &Program) -> String {
    let command = [vec![program.path.clone()], program.arguments(&[])].concat();
    include_str!("opencode.js").replace("__COMMAND__", &json!(command).to_string())
}

/// Cursor's rule for one project.
pub fn cursor_rule(program: &Program) -> String {
    rules_file("alwaysApply: true", program)
}

/// VS Code's instructions for all projects.
pub fn vscode_instructions(program: &Program) -> String {
    rules_file("applyTo: \"**\"", program)
}

fn rules_file(scope: &str, program: &Program) -> String {
    let rules = rules(program);
    format!(
        "---\ndescription: Persistent memory (Nacre)\n{scope}\n---\n\n<!-- {OWNED}; `nacre uninstall` removes it. -->\n\n{rules}\n"
    )
}

/// The fields of a server in a client's settings.
pub type Shape = fn(&Program) -> Vec<(&'static str, Value)>;

pub fn plain(program: &Program) -> Vec<(&'static str, Value)> {
    vec![("command", json!(program.path)), ("args", json!(program.arguments(&["mcp"])))]
}

pub fn stdio(program: &Program) -> Vec<(&'static str, Value)> {
    [vec![("type", json!("stdio"))], plain(program)].concat()
}

/// The shape of OpenCode: the command is one list.
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
    /// The hooks in `hooks` of a JSON file, without groups.
    FlatHooks(&'static FlatHooks),
    /// The server in `mcp_servers` of a TOML file: Codex.
    Toml,
    /// A file that is Nacre's as a whole: a plugin or a rules file.
    File(fn(&Program) -> String),
    /// The rules as a block of a Markdown file that is the user's.
    Rules,
    /// The server in `extensions` of Goose's YAML file. No crate edits YAML and keeps its comments, so Nacre leaves the file
    /// alone and the user pastes these lines.
    Paste,
}

impl Part {
    /// Returns the text with our part, up to date. The error says why the file can't be changed.
    pub fn install(&self, text: &str, program: &Program) -> Result<String, String> {
        match self {
            Part::Server(keys, shape) => install_server(text, keys, &shape(program)),
            Part::Hooks(hooks) => install_hooks(text, hooks, program),
            Part::FlatHooks(flat) => install_flat_hooks(text, flat, program),
            Part::Toml => toml::install(text, program),
            Part::File(_) if !text.trim().is_empty() && !text.contains(OWNED) => {
                Err("it was not written by Nacre".into())
            }
            Part::File(contents) => Ok(contents(program)),
            Part::Rules => Ok(install_rules(text, program)),
            Part::Paste => Ok(text.to_owned()),
        }
    }

    /// Returns the text without our part, or with the part of `before` that it replaced.
    pub fn remove(&self, text: &str, before: Option<&str>) -> Result<String, String> {
        match self {
            Part::Server(keys, _) => remove_server(text, keys, before),
            Part::Hooks(hooks) => remove_hooks(text, hooks, before),
            Part::FlatHooks(flat) => remove_flat_hooks(text, flat, before),
            Part::Toml => toml::remove(text, before),
            Part::File(_) if text.contains(OWNED) => Ok(before.unwrap_or_default().to_owned()),
            Part::File(_) => Ok(text.to_owned()),
            Part::Rules => Ok(remove_rules(text, before)),
            Part::Paste => Ok(text.to_owned()),
        }
    }

    /// Tells whether the text is empty in its format.
    pub fn is_empty(&self, text: &str) -> bool {
        match self {
            Part::Server(..) | Part::Hooks(_) | Part::FlatHooks(_) => {
                read(text).is_ok_and(|document| document.get(&[]) == Some(json!({})))
            }
            Part::Toml | Part::File(_) | Part::Rules | Part::Paste => text.trim().is_empty(),
        }
    }

    /// Returns the steps for the user in a file that Nacre does not edit, and `None` if there is nothing to change.
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
        // Goose rewrites the file without quotes where possible.
        let written = |word: &String| text.contains(word) || text.contains(&json!(word).to_string());
        (!named || !words.iter().all(written)).then(|| {
            format!("Nacre does not edit YAML. Put these lines into {file}, below `extensions:` if it has one:\n\n{lines}\n")
        })
    }

    /// Returns the lines that the user pastes. A JSON string or list is YAML too.
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
        _ => Err("it is not a JSON object".into()),
    }
}

/// Returns the text of a document, with a final line break if the file is new.
fn written(document: &Document, text: &str) -> String {
    let end = if text.trim().is_empty() { "\n" } else { "" };
    format!("{}{end}", document.text())
}

/// Creates a container at a path, if there is none.
fn container(document: &mut Document, path: &[Step<'_>], empty: &Value) -> Result<(), String> {
    match document.get(path) {
        None => document.set(path, empty),
        Some(found) if found.is_object() == empty.is_object() && found.is_array() == empty.is_array() => {}
        Some(_) => {
            let kind = if empty.is_array() { "a list" } else { "an object" };
            return Err(format!("{} in it is not {kind}", words(path)));
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

/// Removes containers that have become empty, from the inside out, except those of the original.
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
    // A server of the user's own under this name is left alone.
    let found = document.get(&path).unwrap_or_default();
    if ["url", "httpUrl", "serverUrl"].iter().any(|key| !found[*key].is_null()) {
        return Err(format!("{} in it is a server at a URL already", words(&path)));
    }
    // Other fields, such as an environment, are the user's.
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
    // Our command ends with `mcp`.
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
        let command = json!(shell_line(program, &["hook", event]));
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
        // From the end, so that the places before stay valid.
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

fn install_flat_hooks(text: &str, flat: &FlatHooks, program: &Program) -> Result<String, String> {
    let mut document = read(text)?;
    if let Some(version) = flat.version
        && document.get(&[Step::Key("version")]).is_none()
    {
        document.set(&[Step::Key("version")], &json!(version));
    }
    container(&mut document, &[Step::Key("hooks")], &json!({}))?;
    for (event, limit) in flat.hooks {
        let event_path = [Step::Key("hooks"), Step::Key(event)];
        container(&mut document, &event_path, &json!([]))?;
        let command = json!(shell_line(program, &["hook", event, "--client", flat.client]));
        match flat_places(&document, flat, event).first() {
            Some(place) => {
                let path = [event_path[0], event_path[1], Step::Index(*place), Step::Key("command")];
                if document.get(&path).as_ref() != Some(&command) {
                    document.set(&path, &command);
                }
            }
            None => {
                let count = document.get(&event_path).and_then(|list| Some(list.as_array()?.len()));
                let mut hook = json!({ "command": command });
                for (key, value) in (flat.fields)(*limit) {
                    hook[key] = value;
                }
                let path = [event_path[0], event_path[1], Step::Index(count.unwrap_or(0))];
                document.set(&path, &hook);
            }
        }
    }
    Ok(written(&document, text))
}

fn remove_flat_hooks(text: &str, flat: &FlatHooks, before: Option<&str>) -> Result<String, String> {
    let mut document = read(text)?;
    let before = before.and_then(|before| read(before).ok());
    let mut found = false;
    for (event, _) in flat.hooks {
        let event_path = [Step::Key("hooks"), Step::Key(event)];
        // From the end, so that the places before stay valid.
        for place in flat_places(&document, flat, event).into_iter().rev() {
            document.remove(&[event_path[0], event_path[1], Step::Index(place)]);
            found = true;
        }
        prune(&mut document, &event_path, before.as_ref());
    }
    // The version is ours if the original had none, or if nothing needs it any more.
    let version = [Step::Key("version")];
    let is_ours = match &before {
        Some(before) => before.get(&version).is_none(),
        None => document.get(&[Step::Key("hooks")]).is_none(),
    };
    if found && flat.version.is_some() && is_ours {
        document.remove(&version);
    }
    Ok(if found { document.text().to_owned() } else { text.to_owned() })
}

/// Returns the places of our hooks in the list of an event.
fn flat_places(document: &Document, flat: &FlatHooks, event: &str) -> Vec<usize> {
    let hooks = document.get(&[Step::Key("hooks"), Step::Key(event)]).unwrap_or_default();
    let end = format!(" hook {event} --client {}", flat.client);
    let is_ours = |hook: &Value| {
        hook["command"].as_str().is_some_and(|command| command.contains(SERVER) && command.ends_with(&end))
    };
    let hooks = hooks.as_array().cloned().unwrap_or_default();
    hooks.iter().enumerate().filter(|(_, hook)| is_ours(hook)).map(|(place, _)| place).collect()
}

/// Adds the rules to a Markdown file, or brings them up to date.
fn install_rules(text: &str, program: &Program) -> String {
    let rules = rules(program);
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let block = format!("{BLOCK_START}{line_end}{rules}{line_end}{BLOCK_END}");
    match block_range(text) {
        Some(range) => format!("{}{block}{}", &text[..range.start], &text[range.end..]),
        None if text.is_empty() => format!("{block}{line_end}"),
        None if text.ends_with('\n') => format!("{text}{line_end}{block}{line_end}"),
        None => format!("{text}{line_end}{line_end}{block}{line_end}"),
    }
}

/// Takes the rules out, with the blank line before them and the end of their line.
fn remove_rules(text: &str, before: Option<&str>) -> String {
    let Some(range) = block_range(text) else { return text.to_owned() };
    let mut start = without_line_end(&text[..range.start]);
    if before.is_some_and(|before| !before.ends_with('\n')) {
        start = without_line_end(start);
    }
    let rest = &text[range.end..];
    let rest = rest.strip_prefix("\r\n").or(rest.strip_prefix('\n')).unwrap_or(rest);
    format!("{start}{rest}")
}

fn without_line_end(text: &str) -> &str {
    text.strip_suffix("\r\n").or(text.strip_suffix('\n')).unwrap_or(text)
}

fn block_range(text: &str) -> Option<std::ops::Range<usize>> {
    let start = text.find(BLOCK_START)?;
    let end = start + text[start..].find(BLOCK_END)? + BLOCK_END.len();
    Some(start..end)
}

/// Returns a command as one shell line instead of a list of arguments: every version of every client understands it, and a
/// client that ignored the arguments would run `nacre` alone.
fn shell_line(program: &Program, action: &[&str]) -> String {
    let words = program.arguments(action);
    let words = [quoted(&program.path)].into_iter().chain(words.iter().map(|word| quoted(word)));
    words.collect::<Vec<_>>().join(" ")
}

fn hook_path(event: &str, group: usize, hook: usize) -> [Step<'_>; 5] {
    [Step::Key("hooks"), Step::Key(event), Step::Index(group), Step::Key("hooks"), Step::Index(hook)]
}

/// Returns the places of our hooks of an event: the group, and the place in it.
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

/// Quotes a word for a shell line.
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
