//! The clients that can be set up: one table, with where each keeps its settings and what stands there for us.
//!
//! A client is a row of [`CLIENTS`]: its files, and which [`Part`] of each is ours; a [`Change`] is a file before and after.
//! Nothing but our own part of a file is touched, and the file as it was is kept beside it.

mod change;
mod json;
mod part;
mod program;
mod toml;

use std::path::{Path, PathBuf};

pub use change::Change;
use part::{CLAUDE_HOOKS, GEMINI_HOOKS, Part, local, plain, stdio};
pub use program::Program;

/// A program that people talk to an agent with.
pub struct Client {
    /// Its name on the command line, and of its page in docs/clients.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// Where one of these is on the PATH, it is here.
    programs: &'static [&'static str],
    /// Where one of these folders has something in it, it is here too.
    folders: Paths,
    /// Its settings. Of the paths that a variable tells, or else of the others, the first that exists counts, else the first.
    files: &'static [(Paths, &'static [Part])],
    /// What the person does now.
    pub next: &'static str,
}

/// Where something may be: on which system, from `~` or a variable on.
type Paths = &'static [(System, &'static str)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    Any,
    Mac,
    Windows,
    Other,
}

use System::{Any, Mac, Other, Windows};

const SERVERS: &[&str] = &["mcpServers"];

pub static CLIENTS: &[Client] = &[
    Client {
        name: "claude-code",
        title: "Claude Code",
        programs: &["claude"],
        folders: &[(Any, "$CLAUDE_CONFIG_DIR"), (Any, "~/.claude")],
        files: &[
            (
                &[(Any, "$CLAUDE_CONFIG_DIR/.claude.json"), (Any, "~/.claude.json")],
                &[Part::Server(SERVERS, stdio)],
            ),
            (
                &[(Any, "$CLAUDE_CONFIG_DIR/settings.json"), (Any, "~/.claude/settings.json")],
                &[Part::Hooks(CLAUDE_HOOKS)],
            ),
        ],
        next: "The next session of Claude Code remembers.",
    },
    Client {
        name: "claude-desktop",
        title: "Claude Desktop",
        programs: &[],
        folders: &[
            (Mac, "~/Library/Application Support/Claude"),
            (Windows, "$APPDATA/Claude"),
            (Other, "$XDG_CONFIG_HOME/Claude"),
            (Other, "~/.config/Claude"),
        ],
        files: &[(
            &[
                (Mac, "~/Library/Application Support/Claude/claude_desktop_config.json"),
                (Windows, "$APPDATA/Claude/claude_desktop_config.json"),
                (Other, "$XDG_CONFIG_HOME/Claude/claude_desktop_config.json"),
                (Any, "~/.config/Claude/claude_desktop_config.json"),
            ],
            &[Part::Server(SERVERS, plain)],
        )],
        next: "Quit Claude Desktop and start it again.",
    },
    Client {
        name: "codex",
        title: "Codex",
        programs: &["codex"],
        folders: &[(Any, "$CODEX_HOME"), (Any, "~/.codex")],
        files: &[
            (&[(Any, "$CODEX_HOME/config.toml"), (Any, "~/.codex/config.toml")], &[Part::Toml]),
            (&[(Any, "$CODEX_HOME/hooks.json"), (Any, "~/.codex/hooks.json")], &[Part::Hooks(CLAUDE_HOOKS)]),
        ],
        next: "The next session of Codex remembers, once you have trusted the hooks: Codex asks, or type /hooks.",
    },
    Client {
        name: "cursor",
        title: "Cursor",
        programs: &["cursor", "cursor-agent"],
        folders: &[(Any, "~/.cursor")],
        files: &[(&[(Any, "~/.cursor/mcp.json")], &[Part::Server(SERVERS, stdio)])],
        next: "Cursor lists the server under Settings, MCP; turn it on there where it is off.",
    },
    Client {
        name: "vscode",
        title: "VS Code",
        programs: &["code"],
        folders: &[
            (Mac, "~/Library/Application Support/Code/User"),
            (Windows, "$APPDATA/Code/User"),
            (Other, "$XDG_CONFIG_HOME/Code/User"),
            (Other, "~/.config/Code/User"),
        ],
        files: &[(
            &[
                (Mac, "~/Library/Application Support/Code/User/mcp.json"),
                (Windows, "$APPDATA/Code/User/mcp.json"),
                (Other, "$XDG_CONFIG_HOME/Code/User/mcp.json"),
                (Any, "~/.config/Code/User/mcp.json"),
            ],
            &[Part::Server(&["servers"], stdio)],
        )],
        next: "VS Code asks whether you trust the server when it first starts it: `MCP: List Servers` shows it.",
    },
    Client {
        name: "windsurf",
        title: "Windsurf",
        programs: &["windsurf"],
        folders: &[(Any, "~/.codeium/windsurf")],
        files: &[(&[(Any, "~/.codeium/windsurf/mcp_config.json")], &[Part::Server(SERVERS, plain)])],
        next: "Refresh the servers in Windsurf's panel, or start it again.",
    },
    Client {
        name: "zed",
        title: "Zed",
        programs: &["zed", "zeditor"],
        folders: &[
            (Windows, "$APPDATA/Zed"),
            (Other, "$XDG_CONFIG_HOME/zed"),
            (Mac, "~/.config/zed"),
            (Other, "~/.config/zed"),
        ],
        files: &[(
            &[
                (Windows, "$APPDATA/Zed/settings.json"),
                (Other, "$XDG_CONFIG_HOME/zed/settings.json"),
                (Any, "~/.config/zed/settings.json"),
            ],
            &[Part::Server(&["context_servers"], plain)],
        )],
        next: "Zed starts the server by itself: the agent panel's settings show it.",
    },
    Client {
        name: "gemini-cli",
        title: "Gemini CLI",
        programs: &["gemini"],
        folders: &[(Any, "$GEMINI_CLI_HOME/.gemini"), (Any, "~/.gemini")],
        files: &[(
            &[(Any, "$GEMINI_CLI_HOME/.gemini/settings.json"), (Any, "~/.gemini/settings.json")],
            &[Part::Server(SERVERS, plain), Part::Hooks(GEMINI_HOOKS)],
        )],
        next: "The next session of Gemini CLI remembers, in folders that you trust.",
    },
    Client {
        name: "opencode",
        title: "OpenCode",
        programs: &["opencode"],
        folders: &[(Any, "$XDG_CONFIG_HOME/opencode"), (Any, "~/.config/opencode")],
        files: &[(
            &[
                (Any, "$XDG_CONFIG_HOME/opencode/opencode.json"),
                (Any, "$XDG_CONFIG_HOME/opencode/opencode.jsonc"),
                (Any, "~/.config/opencode/opencode.json"),
                (Any, "~/.config/opencode/opencode.jsonc"),
            ],
            &[Part::Server(&["mcp"], local)],
        )],
        next: "The next session of OpenCode has the tools: `opencode mcp list` shows the server.",
    },
    Client {
        name: "goose",
        title: "Goose",
        programs: &["goose"],
        folders: &[
            (Windows, "$APPDATA/Block/goose/config"),
            (Other, "$XDG_CONFIG_HOME/goose"),
            (Mac, "~/.config/goose"),
            (Other, "~/.config/goose"),
        ],
        files: &[(
            &[
                (Windows, "$APPDATA/Block/goose/config/config.yaml"),
                (Other, "$XDG_CONFIG_HOME/goose/config.yaml"),
                (Any, "~/.config/goose/config.yaml"),
            ],
            &[Part::Paste],
        )],
        next: "The next session of Goose has the tools.",
    },
    Client {
        name: "lm-studio",
        title: "LM Studio",
        programs: &["lms"],
        folders: &[(Any, "~/.lmstudio"), (Any, "~/.cache/lm-studio")],
        files: &[(
            &[(Any, "~/.lmstudio/mcp.json"), (Any, "~/.cache/lm-studio/mcp.json")],
            &[Part::Server(SERVERS, plain)],
        )],
        next: "LM Studio lists the server under Program, Integrations; turn it on there.",
    },
    Client {
        name: "openclaw",
        title: "OpenClaw",
        programs: &["openclaw"],
        folders: &[(Any, "$OPENCLAW_STATE_DIR"), (Any, "$OPENCLAW_HOME/.openclaw"), (Any, "~/.openclaw")],
        files: &[(
            &[
                (Any, "$OPENCLAW_CONFIG_PATH"),
                (Any, "$OPENCLAW_STATE_DIR/openclaw.json"),
                (Any, "$OPENCLAW_HOME/.openclaw/openclaw.json"),
                (Any, "~/.openclaw/openclaw.json"),
            ],
            &[Part::Server(&["mcp", "servers"], plain)],
        )],
        next: "`openclaw mcp probe nacre` shows the tools. As its memory itself: docs/clients/openclaw.md.",
    },
];

impl Client {
    /// Returns the client of a name of the table.
    pub fn named(name: &str) -> Option<&'static Client> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// Its settings on this machine, and what stands in each for us.
    pub fn files(&self, machine: &Machine) -> Vec<(PathBuf, &'static [Part])> {
        self.files.iter().map(|(paths, parts)| (machine.place(paths), *parts)).collect()
    }

    /// Tells whether it is on this machine.
    pub fn is_here(&self, machine: &Machine) -> bool {
        let filled = |folder: &Path| folder.read_dir().is_ok_and(|mut found| found.next().is_some());
        self.programs.iter().any(|program| machine.has_program(program))
            || self.folders.iter().any(|folder| machine.path(folder).is_some_and(|(_, path)| filled(&path)))
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

/// What decides where settings are.
pub struct Machine {
    system: System,
    home: PathBuf,
    variable: fn(&str) -> Option<PathBuf>,
}

impl Machine {
    /// The one this runs on, with the person's own folder and how a variable of the environment names a folder.
    pub fn this(home: PathBuf, variable: fn(&str) -> Option<PathBuf>) -> Machine {
        let system = match std::env::consts::OS {
            "macos" => Mac,
            "windows" => Windows,
            _ => Other,
        };
        Machine { system, home, variable }
    }

    /// Of the paths that the first of the variables tells, or of those of none, the first that exists, else the first.
    fn place(&self, paths: Paths) -> PathBuf {
        let usable: Vec<_> = paths.iter().filter_map(|path| self.path(path)).collect();
        let told = usable[0].0;
        let candidates = || usable.iter().filter(|(variable, _)| *variable == told).map(|(_, path)| path);
        candidates().find(|path| path.exists()).unwrap_or(&usable[0].1).clone()
    }

    /// A path of the table, with the variable it begins with; `None` where it is another system's, or the variable is not set.
    fn path(&self, (system, path): &(System, &'static str)) -> Option<(Option<&'static str>, PathBuf)> {
        if *system != Any && *system != self.system {
            return None;
        }
        let mut steps = path.split('/');
        let first = steps.next().unwrap_or_default();
        let (variable, mut found) = match first.strip_prefix('$') {
            Some(name) => (Some(name), (self.variable)(name)?),
            None => (None, self.home.clone()),
        };
        found.extend(steps);
        Some((variable, found))
    }

    fn has_program(&self, name: &str) -> bool {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders).any(|folder| {
            let endings: &[&str] = if self.system == Windows { &[".exe", ".cmd", ".bat"] } else { &[""] };
            endings.iter().any(|ending| folder.join(format!("{name}{ending}")).is_file())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing(_: &str) -> Option<PathBuf> {
        None
    }

    fn everything(name: &str) -> Option<PathBuf> {
        Some(Path::new("told").join(name))
    }

    #[test]
    fn settings_are_where_each_system_has_them() {
        let first = |client: &str, system, variable| {
            let machine = Machine { system, home: "home".into(), variable };
            Client::named(client).unwrap().files(&machine)[0].0.to_str().unwrap().replace('\\', "/")
        };
        let roaming = |name: &str| (name == "APPDATA").then(|| "roaming".into());
        for (client, system, variable, path) in [
            (
                "claude-desktop",
                Mac,
                nothing as fn(&str) -> _,
                "home/Library/Application Support/Claude/claude_desktop_config.json",
            ),
            ("claude-desktop", Windows, roaming, "roaming/Claude/claude_desktop_config.json"),
            ("claude-desktop", Other, nothing, "home/.config/Claude/claude_desktop_config.json"),
            ("vscode", Mac, everything, "home/Library/Application Support/Code/User/mcp.json"),
            ("vscode", Windows, roaming, "roaming/Code/User/mcp.json"),
            ("vscode", Other, everything, "told/XDG_CONFIG_HOME/Code/User/mcp.json"),
            ("zed", Mac, everything, "home/.config/zed/settings.json"),
            ("zed", Windows, roaming, "roaming/Zed/settings.json"),
            ("goose", Windows, roaming, "roaming/Block/goose/config/config.yaml"),
            ("goose", Mac, nothing, "home/.config/goose/config.yaml"),
            ("claude-code", Mac, everything, "told/CLAUDE_CONFIG_DIR/.claude.json"),
            ("claude-code", Windows, nothing, "home/.claude.json"),
            ("codex", Other, everything, "told/CODEX_HOME/config.toml"),
            ("gemini-cli", Other, everything, "told/GEMINI_CLI_HOME/.gemini/settings.json"),
            ("openclaw", Other, everything, "told/OPENCLAW_CONFIG_PATH"),
            ("openclaw", Mac, nothing, "home/.openclaw/openclaw.json"),
        ] {
            assert_eq!(first(client, system, variable), path, "{client} {system:?}");
        }
    }

    #[test]
    fn every_client_has_settings_on_every_system() {
        for system in [Mac, Windows, Other] {
            for client in CLIENTS {
                let machine = Machine { system, home: "home".into(), variable: nothing };
                assert!(
                    client
                        .files(&machine)
                        .iter()
                        .all(|(path, parts)| path.starts_with("home") && !parts.is_empty())
                );
            }
        }
    }
}
