//! Every client that can be set up, with settings of every kind: what others wrote stays, and comes back to the byte.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::install::{User, nacre};

/// The format of a client's settings.
#[derive(Clone, Copy, Debug)]
enum Dialect {
    /// JSON with the servers under these keys, each in this shape.
    Json(&'static [&'static str], Shape),
    Toml,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Plain,
    Stdio,
    Local,
}

/// A text with its heading, or with a word of the reason why it is refused.
type Samples = &'static [(&'static str, &'static str)];

use Dialect::{Json, Toml};
use Shape::{Local, Plain, Stdio};

/// Each client whose settings Nacre edits, the file with its servers, and how they stand in it.
const CLIENTS: &[(&str, &str, Dialect)] = &[
    ("claude-code", ".claude.json", Json(&["mcpServers"], Stdio)),
    ("claude-desktop", ".config/Claude/claude_desktop_config.json", Json(&["mcpServers"], Plain)),
    ("codex", ".codex/config.toml", Toml),
    ("cursor", ".cursor/mcp.json", Json(&["mcpServers"], Stdio)),
    ("vscode", ".config/Code/User/mcp.json", Json(&["servers"], Stdio)),
    ("windsurf", ".codeium/windsurf/mcp_config.json", Json(&["mcpServers"], Plain)),
    ("zed", ".config/zed/settings.json", Json(&["context_servers"], Plain)),
    ("gemini-cli", ".gemini/settings.json", Json(&["mcpServers"], Plain)),
    ("opencode", ".config/opencode/opencode.json", Json(&["mcp"], Local)),
    ("lm-studio", ".lmstudio/mcp.json", Json(&["mcpServers"], Plain)),
    ("openclaw", ".openclaw/openclaw.json", Json(&["mcp", "servers"], Plain)),
];

/// Settings as people have them. `SERVERS{` and `}` stand for the keys of the servers; `dark` is what a person changes.
const JSON: Samples = &[
    (
        "comments, trailing commas and another server",
        "{\n  // Mine.\n  \"theme\": \"dark\", /* both */ \"list\": [1,\n      2],\n  SERVERS{\n    // Reads.\n    \"files\": { \"command\": \"files\" } // all\n  },\n  \"last\": true,\n}\n",
    ),
    (
        "odd indentation",
        "{\n   \"theme\":\"dark\",\n\t\tSERVERS{\n           \"files\" : {\n\"command\" : \"files\"\n  }\n },\n     \"last\":   true }\n",
    ),
    ("one line", "{\"theme\":\"dark\",SERVERS{\"files\":{\"command\":\"files\"}},\"last\":true}"),
    ("no servers", "{\n    \"theme\": \"dark\"\n}\n"),
    ("servers that are none", "{\n  SERVERS{},\n  \"theme\": \"dark\"\n}\n"),
    ("a byte order mark", "\u{feff}{ \"theme\": \"dark\" }"),
    ("comments alone", "{\n  // \"theme\": \"dark\"\n}\n"),
    ("an empty object", "{}"),
    ("nothing", ""),
    ("an empty line", "\n"),
];

const TOML: Samples = &[
    (
        "comments and another server",
        "# Mine.\ntheme   = \"dark\"  # the good one\n\n[mcp_servers.files] # reads\n  command = 'files'\n\n# Last.\n[tui]\nlist = [ 1,\n    2 ]\n",
    ),
    ("no servers", "theme = \"dark\"\n"),
    ("servers that are none", "theme = \"dark\"\n[mcp_servers]\n"),
    ("servers on one line", "theme = \"dark\"\nmcp_servers = { files = { command = \"files\" } }\n"),
    ("nothing", ""),
    ("comments alone", "# theme = \"dark\"\n"),
];

/// Settings that can't be changed safely, and a word of the reason.
const BROKEN_JSON: Samples = &[
    ("{\"a\": 1\n\"b\": 2}", "is missing (line 2)"),
    ("[]", "it is not a JSON object"),
    ("{SERVERS: 3}", "is not an object"),
    ("{SERVERS{\"nacre\": {\"url\": \"https://example.org/mcp\"}}}", "a server at a URL already"),
    ("{unquoted: 1}", "a key in quotes is missing"),
];

const BROKEN_TOML: Samples = &[
    ("a = 1\na = 2\n", "not valid TOML"),
    ("mcp_servers = 3\n", "is not a table"),
    ("[mcp_servers.nacre]\nurl = \"https://example.org/mcp\"\n", "a server at a URL already"),
    ("a = 1\r\nb = 2\n", "some of its lines"),
];

/// A text with the keys of a client in it.
fn filled(text: &str, dialect: Dialect) -> String {
    let Json(keys, _) = dialect else { return text.to_owned() };
    let (inner, outer) = keys.split_last().unwrap();
    let open: String = outer.iter().map(|key| format!("\"{key}\": {{ ")).collect();
    match text.split_once("SERVERS{") {
        Some((before, rest)) => {
            // The brace that closes what is opened there.
            let mut depth = 1;
            let end = rest.find(|c| {
                depth += match c {
                    '{' => 1,
                    '}' => -1,
                    _ => 0,
                };
                depth == 0
            });
            let (servers, after) = rest.split_at(end.unwrap());
            format!("{before}{open}\"{inner}\": {{{servers}{}{after}", "}".repeat(outer.len()))
        }
        None => text.replace("SERVERS", &format!("\"{}\"", keys[0])),
    }
}

/// The same text as people have it elsewhere too.
fn variants(heading: &str, text: &str) -> Vec<(String, String)> {
    let mut all = vec![
        (heading.to_owned(), text.to_owned()),
        (format!("{heading}, lines of Windows"), text.replace('\n', "\r\n")),
        (format!("{heading}, no end of line"), text.trim_end().to_owned()),
    ];
    all.dedup_by(|one, other| one.1 == other.1);
    all
}

/// Tells whether one text is the other with more in between.
fn only_added(before: &str, after: &str) -> bool {
    let mut rest = after.chars();
    before.chars().all(|c| rest.any(|other| other == c))
}

/// The samples of a dialect, and what is refused in it.
fn of_dialect(dialect: Dialect) -> (Samples, Samples) {
    match dialect {
        Json(..) => (JSON, BROKEN_JSON),
        Toml => (TOML, BROKEN_TOML),
    }
}

/// Every sample of a client, in every variant.
fn all_of(dialect: Dialect) -> Vec<(String, String)> {
    let samples = of_dialect(dialect).0.iter();
    samples.flat_map(|(heading, text)| variants(heading, &filled(text, dialect))).collect()
}

#[test]
fn settings_of_every_kind_stay_and_come_back() {
    let names: Vec<&str> = CLIENTS.iter().map(|(client, _, _)| *client).collect();
    let rounds = CLIENTS.iter().map(|(_, _, dialect)| all_of(*dialect).len()).max().unwrap();
    let user = User::new();
    // One round is one sample for every client, all set up by one process.
    for round in 0..rounds {
        let cases = CLIENTS.iter().map(|(client, file, dialect)| {
            let samples = all_of(*dialect);
            let (heading, text) = samples[round % samples.len()].clone();
            (format!("{client}: {heading}"), *file, text)
        });
        let cases: Vec<(String, &str, String)> = cases.collect();
        for (_, file, text) in &cases {
            user.write(file, text);
        }
        let before = user.all();
        user.install(&[&names[..], &["--dry-run"]].concat());
        assert_eq!(user.all(), before, "a dry run writes nothing");

        user.install(&names);
        for (place, file, text) in &cases {
            let written = user.read(file);
            assert!(written.contains(nacre()), "{place}: {written}");
            if text.trim().is_empty() {
                continue;
            }
            assert!(only_added(text, &written), "{place}: {written}");
            let windows = if text.contains("\r\n") { written.matches('\n').count() } else { 0 };
            assert_eq!(written.matches("\r\n").count(), windows, "{place}: {written:?}");
        }
        let all = user.all();
        let said = user.install(&names);
        assert_eq!(said.matches("nothing to do").count(), names.len(), "{said}");
        assert_eq!(user.all(), all, "twice is the same as once");
        let uninstalled = user.run(&[&["uninstall"], &names[..]].concat());
        assert_eq!((uninstalled.status, user.all()), (0, before.clone()), "to the byte");

        // Changed meanwhile: that stays, and ours goes.
        user.install(&names);
        for (_, file, _) in &cases {
            user.write(file, &user.read(file).replace("dark", "light"));
        }
        user.run(&[&["uninstall"], &names[..]].concat());
        for (place, file, text) in cases.iter().filter(|(_, _, text)| text.contains("dark")) {
            assert_eq!(user.read(file), text.replace("dark", "light"), "{place}: changed meanwhile");
        }
        assert_eq!(user.all().len(), before.len(), "no backup is left");
    }
}

#[test]
fn no_settings_are_made_and_removed_again() {
    for (client, file, dialect) in CLIENTS {
        let user = User::new();
        let home = user.sealed.home().to_str().unwrap().to_owned();
        user.install(&[client]);
        let written = user.read(file);
        let arguments = ["--home", home.as_str(), "mcp"];
        match dialect {
            Json(keys, shape) => {
                let command = [&[nacre()], &arguments[..]].concat();
                let mut expected = match shape {
                    Plain => json!({ "command": nacre(), "args": arguments }),
                    Stdio => json!({ "type": "stdio", "command": nacre(), "args": arguments }),
                    Local => json!({ "type": "local", "command": command }),
                };
                expected = json!({ "nacre": expected });
                let written: Value = serde_json::from_str(&written).unwrap();
                let found = keys.iter().fold(&written, |value, key| &value[*key]);
                assert_eq!(found, &expected, "{client}");
            }
            Toml => {
                let expected = format!(
                    "[mcp_servers.nacre]\ncommand = \"{}\"\nargs = [\"--home\", \"{home}\", \"mcp\"]\n",
                    nacre()
                );
                assert_eq!(written, expected);
            }
        }
        assert_eq!(user.run(&["uninstall", client]).status, 0);
        assert_eq!(user.all(), [], "{client}: there was nothing before");
    }
}

#[test]
fn what_leaves_a_doubt_is_left_alone_and_says_what_to_add() {
    for (client, file, dialect) in CLIENTS {
        for (text, problem) in of_dialect(*dialect).1 {
            let user = User::new();
            let text = filled(text, *dialect);
            user.write(file, &text);
            let before = user.all();
            let output = user.run(&["--json", "install", client]);
            let answer: Value = serde_json::from_str(&output.stdout).unwrap();
            assert_eq!(
                (output.status, &answer["error"]["code"]),
                (2, &json!("foreign_settings")),
                "{client}: {text:?} {answer}"
            );
            assert!(
                answer["error"]["message"].as_str().unwrap().contains(problem),
                "{client}: {text:?} {answer}"
            );
            let hint = answer["error"]["hint"].as_str().unwrap();
            assert!(hint.contains("by hand") && hint.contains(nacre()), "{hint}");
            assert_eq!(user.all(), before, "{client}: nothing was written");
            let output = user.run(&["uninstall", client]);
            assert_eq!(user.all(), before, "{client}: nothing was written");
            // An unreadable file without our name has nothing of ours.
            assert!(text.contains("nacre") || output.status == 0, "{client}: {text:?} {output:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link() {
    for (client, file, _) in CLIENTS {
        let user = User::new();
        user.write("dotfiles/settings", "");
        user.write(file, "");
        let link = user.folder.join(file);
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(user.folder.join("dotfiles/settings"), &link).unwrap();
        user.install(&[client]);
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink(), "{client}");
        assert!(user.read("dotfiles/settings").contains(nacre()), "{client}");
        user.run(&["uninstall", client]);
        assert_eq!(user.read("dotfiles/settings"), "", "{client}");
    }
}

#[test]
fn goose_is_told_what_to_paste_and_nothing_is_written() {
    let user = User::new();
    let file = ".config/goose/config.yaml";
    let home = user.sealed.home().to_str().unwrap().to_owned();
    let lines = format!(
        "extensions:\n  nacre:\n    enabled: true\n    type: stdio\n    name: nacre\n    \
         description: Memory across sessions\n    cmd: \"{}\"\n    args: [\"--home\",\"{home}\",\"mcp\"]\n",
        nacre()
    );
    for before in [None, Some("GOOSE_MODEL: dark # the good one\nextensions:\n  files:\n    cmd: files\n")] {
        if let Some(text) = before {
            user.write(file, text);
        }
        let files = user.all();
        let said = user.install(&["goose"]);
        assert!(said.contains(&lines) && said.contains(file), "{said}");
        assert!(said.contains("Nothing was written."), "{said}");
        let said = user.install(&["goose", "--dry-run"]);
        assert!(
            said.contains(&lines) && said.contains("Without --dry-run, nothing is written either"),
            "{said}"
        );
        let output = user.run(&["--json", "install", "goose"]);
        let answer: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(answer["files"][0]["changed"], false, "{answer}");
        assert!(answer["files"][0]["by_hand"].as_str().unwrap().contains(&lines), "{answer}");
        assert!(user.run(&["uninstall", "goose"]).stdout.contains("is not connected to Nacre"));
        assert_eq!(user.all(), files, "nothing was written");
    }

    // As pasted, and as Goose writes it afterwards.
    let rewritten = format!(
        "extensions:\n  nacre:\n    cmd: {}\n    args:\n    - --home\n    - {home}\n    - mcp\n",
        nacre()
    );
    for text in [lines.clone(), rewritten] {
        user.write(file, &text);
        let files = user.all();
        assert!(user.install(&["goose"]).contains("nothing to do"));
        // The program has moved, or the flags are others.
        assert!(user.install(&["goose", "--group", "work"]).contains("\"work\""));
        for dry_run in [&[][..], &["--dry-run"]] {
            let said = user.run(&[&["uninstall", "goose"], dry_run].concat()).stdout;
            assert!(said.contains("Delete `nacre:`") && said.contains("Nothing was written"), "{said}");
        }
        assert_eq!(user.all(), files, "nothing was written");
    }
}

#[test]
fn those_that_are_here_are_found() {
    let user = User::new();
    let list = |user: &User| -> Vec<(String, bool, bool)> {
        let output = user.run(&["--json", "install"]);
        let answer: Value = serde_json::from_str(&output.stdout).unwrap();
        let clients = answer["clients"].as_array().unwrap().iter();
        clients
            .map(|client| {
                let is = |key: &str| client[key].as_bool().unwrap();
                (client["client"].as_str().unwrap().to_owned(), is("found"), is("set_up"))
            })
            .collect()
    };
    let names: Vec<&str> = CLIENTS.iter().map(|(name, _, _)| *name).collect();
    let found = list(&user);
    let edited = found.iter().map(|(name, _, _)| name.as_str()).filter(|name| *name != "goose");
    assert_eq!(edited.collect::<Vec<_>>(), names);
    assert!(found.iter().all(|(_, found, set_up)| !found && !set_up), "{found:?}");
    for command in [&["install"][..], &["install", "--all"]] {
        let output = user.run(command);
        assert_eq!(output.status, 3, "{command:?}: {output:?}");
        let said = output.stderr;
        assert!(said.contains("no agent was found") && said.contains("lm-studio"), "{command:?}: {said}");
    }
    let output = user.run(&["uninstall", "--all"]);
    assert_eq!((output.status, output.stdout.contains("No agent was found")), (0, true), "{output:?}");

    user.write(".cursor/mcp.json", "{}");
    user.write(".codex/auth.json", "{}");
    user.write(".gemini/settings.json", "{]");
    std::fs::create_dir_all(user.folder.join(".lmstudio")).unwrap();
    let found = list(&user).into_iter().filter(|(_, found, _)| *found).map(|(name, _, _)| name);
    assert_eq!(found.collect::<Vec<_>>(), ["codex", "cursor", "gemini-cli"], "an empty folder is nobody's");

    // Nobody is there to be asked: it says what to do.
    let output = user.run(&["install"]);
    assert_eq!(output.status, 2, "{output:?}");
    let said = output.stderr;
    assert!(said.contains("nacre install cursor") && said.contains("nacre install --all"), "{said}");
    assert_eq!(user.all().len(), 3);

    // One that can't be set up does not keep the others from it.
    let output = user.run(&["install", "--all"]);
    assert_eq!(output.status, 2, "{output:?}");
    assert!(output.stdout.contains("uninstall codex") && output.stderr.contains(".gemini"), "{output:?}");
    assert!(user.read(".cursor/mcp.json").contains(nacre()));
    let set_up = list(&user).into_iter().filter(|(_, _, set_up)| *set_up).map(|(name, _, _)| name);
    assert_eq!(set_up.collect::<Vec<_>>(), ["codex", "cursor"]);
    user.write(".gemini/settings.json", "{}");
    let output = user.run(&["--json", "uninstall", "cursor", "codex"]);
    let answer: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((output.status, answer["clients"].as_array().unwrap().len()), (0, 2), "{output:?}");
    assert_eq!(user.read(".cursor/mcp.json"), "{}");
    let files: Vec<PathBuf> = user.all().into_iter().map(|(file, _)| file).collect();
    assert_eq!(files.len(), 3, "{files:?}");
}

#[test]
fn programs_on_the_path_are_found() {
    let user = User::new();
    user.write("bin/opencode", "");
    let mut command = user.sealed.command(["--json", "install"]);
    let output =
        crate::sealed::Process::start(command.env("HOME", &user.folder).env("PATH", user.folder.join("bin")))
            .finish();
    let answer: Value = serde_json::from_str(&output.stdout).unwrap();
    let found: Vec<&Value> =
        answer["clients"].as_array().unwrap().iter().filter(|client| client["found"] == true).collect();
    assert_eq!(found.len(), 1, "{answer}");
    assert_eq!(found[0]["client"], "opencode");
}
