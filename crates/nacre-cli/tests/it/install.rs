//! Agents set up: their settings hold what they should, keep what they had, and are left as they were.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::sealed::{Output, Process, Sealed, files};

/// A person's own folder, in a sealed place.
pub struct User {
    pub sealed: Sealed,
    pub folder: PathBuf,
}

impl User {
    pub fn new() -> User {
        let sealed = Sealed::new();
        let folder = PathBuf::from(sealed.beside("user"));
        std::fs::create_dir(&folder).unwrap();
        User { sealed, folder }
    }

    pub fn run(&self, args: &[&str]) -> Output {
        Process::start(self.sealed.command(args).env("HOME", &self.folder)).finish()
    }

    /// Runs what has to work, and returns what it says.
    #[track_caller]
    pub fn install(&self, args: &[&str]) -> String {
        let output = self.run(&[&["install"], args].concat());
        assert_eq!((output.status, output.stderr.as_str()), (0, ""), "{output:?}");
        output.stdout
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.join(name)).unwrap()
    }

    pub fn all(&self) -> Vec<(PathBuf, String)> {
        files(&self.folder)
            .into_iter()
            .map(|file| (file.clone(), std::fs::read_to_string(file).unwrap()))
            .collect()
    }
}

pub fn nacre() -> &'static str {
    env!("CARGO_BIN_EXE_nacre")
}

/// The commands of the hooks of an event, in order.
fn commands(settings: &str, event: &str) -> Vec<String> {
    let settings: Value = serde_json::from_str(settings).unwrap();
    let groups = settings["hooks"][event].as_array().cloned().unwrap_or_default();
    let hooks = groups.iter().flat_map(|group| group["hooks"].as_array().cloned().unwrap_or_default());
    hooks.map(|hook| hook["command"].as_str().unwrap().to_owned()).collect()
}

const EVENTS: [&str; 5] = ["SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd"];

#[test]
fn an_empty_home_is_set_up_and_left_empty() {
    for (client, server, hooks) in [
        ("claude-code", ".claude.json", ".claude/settings.json"),
        ("codex", ".codex/config.toml", ".codex/hooks.json"),
    ] {
        let user = User::new();
        let home = user.sealed.home().to_str().unwrap().to_owned();
        let shown = user.install(&[client, "--dry-run"]);
        assert!(shown.contains("+++ ") && shown.contains(nacre()), "{shown}");
        assert_eq!(user.all(), [], "a dry run writes nothing");

        let said = user.install(&[client]);
        assert!(said.contains(&format!("`nacre uninstall {client}` undoes this")), "{said}");
        for event in EVENTS {
            assert_eq!(
                commands(&user.read(hooks), event),
                [format!("{} --home {home} hook {event}", nacre())]
            );
        }
        let arguments = json!(["--home", home, "mcp"]);
        if client == "codex" {
            let expected = format!(
                "[mcp_servers.nacre]\ncommand = \"{}\"\nargs = [\"--home\", \"{home}\", \"mcp\"]\n",
                nacre()
            );
            assert_eq!(user.read(server), expected);
        } else {
            let written: Value = serde_json::from_str(&user.read(server)).unwrap();
            let expected = json!({ "type": "stdio", "command": nacre(), "args": arguments });
            assert_eq!(written, json!({ "mcpServers": { "nacre": expected } }));
        }

        let all = user.all();
        assert!(user.install(&[client]).contains("nothing to do"));
        assert_eq!(user.all(), all, "twice is the same as once");
        user.install(&[client, "--undo", "--dry-run"]);
        assert_eq!(user.all(), all);
        user.install(&[client, "--undo"]);
        assert_eq!(user.all(), [], "there was nothing before");
        assert!(user.install(&[client, "--undo"]).contains("nothing to do"));
    }
}

const SETTINGS: &str = r#"{
    // Mine.
    "zebra": true, "apple": [1,
        2],
    "hooks": {
        "Stop": [
            { "matcher": "", "hooks": [ { "type": "command", "command": "notify-send done" } ] } // loud
        ]
    },
    "model": "opus",
}
"#;

const CONFIG: &str = r#"# Mine.
model   = "gpt"  # the good one

[mcp_servers.files] # reads
command = 'files'

[tui]
theme = "dark"
"#;

#[test]
fn what_others_wrote_stays_as_they_wrote_it() {
    let user = User::new();
    user.write(".claude/settings.json", SETTINGS);
    user.write(".claude.json", "{\"numStartups\":7,\"mcpServers\":{\"files\":{\"command\":\"files\"}}}");
    user.write(".codex/config.toml", CONFIG);
    let before = user.all();
    user.install(&["claude-code"]);
    user.install(&["codex"]);

    let settings = user.read(".claude/settings.json");
    // Only added to: without what was added it is what it was.
    let lines: Vec<&str> = settings.lines().collect();
    for line in SETTINGS.lines().filter(|line| !line.contains("// loud")) {
        let line = line.trim_end_matches([',', ' ']);
        assert!(lines.iter().any(|other| other.contains(line)), "`{line}` is gone from {settings}");
    }
    assert!(settings.contains("notify-send done\" } ] }, // loud\n"), "{settings}");
    assert!(settings.contains(&format!("\"command\": \"{} --home ", nacre())), "{settings}");
    let config = user.read(".codex/config.toml");
    assert!(config.starts_with(CONFIG.split("[tui]").next().unwrap()), "{config}");
    assert!(config.contains("theme = \"dark\"") && config.contains("[mcp_servers.nacre]\n"), "{config}");
    let servers: Value = serde_json::from_str(&user.read(".claude.json")).unwrap();
    assert_eq!(servers["mcpServers"]["files"], json!({ "command": "files" }));
    assert_eq!(user.read(".claude/settings.json.before-nacre"), SETTINGS);

    user.install(&["claude-code", "--undo"]);
    user.install(&["codex", "--undo"]);
    assert_eq!(user.all(), before, "to the byte");

    // Changed meanwhile: that stays, and ours goes.
    user.install(&["claude-code"]);
    user.install(&["codex"]);
    user.write(".claude/settings.json", &user.read(".claude/settings.json").replace("opus", "sonnet"));
    user.write(".claude.json", &user.read(".claude.json").replace(":7", ":8"));
    user.write(".codex/config.toml", &user.read(".codex/config.toml").replace("dark", "light"));
    user.install(&["claude-code", "--undo"]);
    user.install(&["codex", "--undo"]);
    assert_eq!(user.read(".claude/settings.json"), SETTINGS.replace("opus", "sonnet"));
    assert_eq!(user.read(".claude.json"), before[1].1.replace(":7", ":8"));
    assert_eq!(user.read(".codex/config.toml"), CONFIG.replace("dark", "light"));
    assert_eq!(user.all().len(), before.len());
}

#[test]
fn what_an_earlier_program_was_set_up_with_is_brought_up_to_date() {
    let user = User::new();
    let old = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say hi"}, {"type": "command", "command": "/old/nacre hook Stop", "timeout": 60}]}]}}"#;
    user.write(".claude/settings.json", old);
    user.write(
        ".claude.json",
        r#"{"mcpServers": {"nacre": {"command": "nacre", "args": ["mcp"], "env": {"A": "b"}}}}"#,
    );
    let before = user.all();
    user.install(&["claude-code", "--group", "work"]);
    let hooks = commands(&user.read(".claude/settings.json"), "Stop");
    assert_eq!((hooks.len(), hooks[0].as_str()), (2, "say hi"));
    assert!(hooks[1].starts_with(nacre()) && hooks[1].ends_with(" --group work hook Stop"), "{hooks:?}");
    let servers: Value = serde_json::from_str(&user.read(".claude.json")).unwrap();
    assert_eq!(servers["mcpServers"]["nacre"]["env"], json!({ "A": "b" }), "{servers}");
    assert_eq!(servers["mcpServers"]["nacre"]["command"], nacre());
    user.install(&["claude-code", "--group", "work", "--undo"]);
    assert_eq!(user.all(), before);
}

#[test]
fn a_second_install_is_not_what_was_there_before_us() {
    for client in ["claude-code", "codex", "gemini-cli"] {
        let user = User::new();
        user.install(&[client, "--group", "one"]);
        user.install(&[client, "--group", "two"]);
        user.install(&[client, "--group", "three", "--undo"]);
        assert_eq!(user.all(), [], "{client}");
    }
    // Nor where the client has written into the file since.
    let user = User::new();
    user.install(&["claude-code", "--group", "one"]);
    let added = user.read(".claude.json").replacen('{', "{\n  \"numStartups\": 7,", 1);
    user.write(".claude.json", &added);
    user.install(&["claude-code", "--group", "two"]);
    user.install(&["claude-code", "--undo"]);
    let left: Value = serde_json::from_str(&user.read(".claude.json")).unwrap();
    assert_eq!(left, json!({ "numStartups": 7 }));
}

#[cfg(unix)]
#[test]
fn links_that_lead_nowhere_and_pipes_are_left_alone() {
    let user = User::new();
    let file = user.folder.join(".claude.json");
    std::os::unix::fs::symlink("/nowhere/claude.json", &file).unwrap();
    let output = user.run(&["install", "claude-code"]);
    assert!(output.stderr.contains("a link that leads nowhere"), "{}", output.stderr);
    assert!(file.is_symlink());
    std::fs::remove_file(&file).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
    let output = user.run(&["install", "claude-code"]);
    assert!(output.stderr.contains("it is not a file"), "{}", output.stderr);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(user.all(), [], "nothing else was written");
}

#[test]
fn what_can_not_be_read_is_left_alone() {
    for (client, name, text, problem) in [
        ("claude-code", ".claude/settings.json", "{\"a\": 1\n\"b\": 2}", "is missing (line 2)"),
        ("claude-code", ".claude/settings.json", "[]", "it is not a JSON object"),
        ("claude-code", ".claude/settings.json", "{\"hooks\": []}", "`hooks` in it is not an object"),
        (
            "claude-code",
            ".claude/settings.json",
            "{\"hooks\": {\"Stop\": 1}}",
            "`hooks`.`Stop` in it is not a list",
        ),
        ("claude-code", ".claude.json", "{\"mcpServers\": null}", "`mcpServers` in it is not an object"),
        ("codex", ".codex/config.toml", "a = 1\na = 2\n", "not valid TOML"),
        ("codex", ".codex/config.toml", "mcp_servers = 3\n", "`mcp_servers` in it is not a table"),
        ("codex", ".codex/hooks.json", "hooks: yes", "line 1"),
    ] {
        let user = User::new();
        user.write(name, text);
        for undo in [&[][..], &["--undo"][..]] {
            let output = user.run(&[&["--json", "install", client], undo].concat());
            if undo.is_empty() {
                let error: Value = serde_json::from_str(&output.stdout).unwrap();
                assert_eq!(
                    (output.status, &error["error"]["code"]),
                    (2, &json!("foreign_settings")),
                    "{text}"
                );
                assert!(error["error"]["message"].as_str().unwrap().contains(problem), "{error}");
            }
            assert_eq!(user.all(), [(user.folder.join(name), text.to_owned())], "nothing was written");
        }
    }
    let user = User::new();
    user.write(".codex/hooks.json", "");
    std::fs::write(user.folder.join(".codex/config.toml"), b"\xff").unwrap();
    let output = user.run(&["install", "codex"]);
    assert_eq!(output.status, 2, "{output:?}");
    assert!(output.stderr.contains("not UTF-8") && output.stderr.contains("hint:"), "{output:?}");
    let output = user.run(&["install", "emacs"]);
    assert!(output.status == 2 && output.stderr.contains("claude-code"), "{output:?}");
}

#[cfg(unix)]
#[test]
fn a_command_that_was_written_runs() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let user = User::new();
    let odd = user.sealed.beside("it's a \"home\" $HOME");
    let place = Sealed::at(Path::new(&odd));
    place.json(["store", "The user drinks lapsang tea", "--type", "preference"]);
    // Settings that are a link into a folder of their own, and for nobody else's eyes.
    user.write("dotfiles/claude.json", "{}\n");
    let real = user.folder.join("dotfiles/claude.json");
    std::fs::set_permissions(&real, PermissionsExt::from_mode(0o600)).unwrap();
    user.write(".claude/other.json", "{}");
    std::os::unix::fs::symlink(&real, user.folder.join(".claude/settings.json")).unwrap();
    let output = user.run(&["--home", &odd, "install", "claude-code"]);
    assert_eq!(output.status, 0, "{output:?}");
    assert!(std::fs::symlink_metadata(user.folder.join(".claude/settings.json")).unwrap().is_symlink());
    assert_eq!(std::fs::metadata(&real).unwrap().mode() & 0o777, 0o600);

    let command = commands(&user.read(".claude/settings.json"), "SessionStart").remove(0);
    let output = Process::start(std::process::Command::new("sh").args(["-c", &command]).env_clear()).finish();
    assert_eq!(output.status, 0, "{output:?}");
    assert!(output.stdout.contains("lapsang tea"), "{output:?}");
}

/// The plugins of the repository say the same as the installer, with `nacre` from the PATH.
#[test]
fn the_plugins_are_what_is_installed() {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
    let read = |name: &str| std::fs::read_to_string(plugins.join(name)).unwrap();
    let parsed = |name: &str| -> Value { serde_json::from_str(&read(name)).unwrap() };
    let user = User::new();
    user.install(&["claude-code"]);
    let before = format!("{} --home {} ", nacre(), user.sealed.home().display());
    let settings: Value =
        serde_json::from_str(&user.read(".claude/settings.json").replace(&before, "nacre ")).unwrap();
    assert_eq!(parsed("nacre/hooks/hooks.json")["hooks"], settings["hooks"]);

    let servers = json!({ "nacre": { "type": "stdio", "command": "nacre", "args": ["mcp"] } });
    for file in ["nacre/.mcp.json", "portable/mcp.json"] {
        assert_eq!(parsed(file)["mcpServers"], servers, "{file}");
    }
    assert_eq!(read("nacre/skills/memory/SKILL.md"), read("portable/skills/memory/SKILL.md"));
    for file in [
        "nacre/.claude-plugin/plugin.json",
        "portable/plugin.json",
        "openclaw/openclaw.plugin.json",
        "openclaw/package.json",
    ] {
        assert_eq!(parsed(file)["version"], env!("CARGO_PKG_VERSION"), "{file}");
    }
}

/// Every client has a page, and the README leads to it.
#[test]
fn every_client_has_a_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let output = User::new().run(&["--json", "install"]);
    let answer: Value = serde_json::from_str(&output.stdout).unwrap();
    for client in answer["clients"].as_array().unwrap() {
        let (name, title) = (client["client"].as_str().unwrap(), client["title"].as_str().unwrap());
        let page = read(&format!("docs/clients/{name}.md"));
        assert!(page.starts_with(&format!("# {title}\n")), "{name}");
        for word in [format!("nacre install {name}"), format!("nacre uninstall {name}"), "By hand".to_owned()]
        {
            assert!(page.contains(&word), "docs/clients/{name}.md lacks `{word}`");
        }
        assert!(read("README.md").contains(&format!("(docs/clients/{name}.md)")), "{name} in README.md");
    }
}
