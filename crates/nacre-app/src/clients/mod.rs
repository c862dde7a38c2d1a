//! The clients that can be connected: one table with the places of their settings and our parts of them.
//!
//! A client is a row of [`CLIENTS`]: its files, and which [`Part`] of each is ours; a [`Change`] is a file before and after.
//! Only our own part of a file is changed, and a copy of the original is kept next to it.

mod change;
mod json;
mod last_run;
mod machine;
mod memory;
mod part;
mod program;
mod toml;

use std::path::{Path, PathBuf};

pub use change::{Change, check};
pub use last_run::LastRun;
pub use machine::Machine;
use machine::Paths;
use machine::System::{Any, Mac, Other, Windows};
use memory::{OwnMemory, Sign};
use part::{
    CLAUDE_HOOKS, CURSOR_HOOKS, GEMINI_HOOKS, Part, VSCODE_HOOKS, WINDSURF_HOOKS, cursor_rule, local,
    opencode_plugin, plain, stdio, vscode_instructions,
};
pub use program::Program;

/// A program through which people use an agent.
pub struct Client {
    /// Its name on the command line, and of its page in docs/clients.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The client is on this machine if one of these programs is on the PATH,
    programs: &'static [&'static str],
    /// or if one of these folders is not empty.
    folders: Paths,
    /// Its settings files. Of the paths with a variable that is set, or else of the others, the first existing one counts, or else
    /// the first.
    files: &'static [(Paths, &'static [Part])],
    /// A rules file for its agent, written only on request. A path from `.` is in the project of the current folder.
    rules: Option<(Paths, &'static [Part])>,
    pub hooks: Hooks,
    own_memory: Option<OwnMemory>,
    /// The next step for the user.
    pub next: &'static str,
}

/// The hooks that a client runs for Nacre.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hooks {
    /// None: the agent has to call the tools.
    None,
    /// Context at the start of a session and before a message; messages and answers are archived.
    Full,
    /// Context at the start of a session; messages are archived. The client accepts no context before a message and passes no
    /// answers on.
    Start,
    /// Messages and answers are archived. The client accepts no context.
    Archive,
}

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
        rules: None,
        hooks: Hooks::Full,
        own_memory: Some(OwnMemory {
            signs: &[Sign::Filled(&[
                (Any, "$CLAUDE_CONFIG_DIR/projects/*/memory"),
                (Any, "~/.claude/projects/*/memory"),
            ])],
            switch: Some((
                &[(Any, "$CLAUDE_CONFIG_DIR/settings.json"), (Any, "~/.claude/settings.json")],
                "autoMemoryEnabled",
            )),
            off: "set `autoMemoryEnabled` to false in ~/.claude/settings.json",
        }),
        next: "Start a new session of Claude Code.",
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
        rules: None,
        hooks: Hooks::None,
        own_memory: None,
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
        rules: None,
        hooks: Hooks::Full,
        own_memory: Some(OwnMemory {
            signs: &[Sign::Filled(&[(Any, "$CODEX_HOME/memories"), (Any, "~/.codex/memories")])],
            switch: None,
            off: "turn off `memories` under `[features]` in ~/.codex/config.toml",
        }),
        next: "Start a new session of Codex and trust the hooks: Codex asks, or type /hooks.",
    },
    Client {
        name: "cursor",
        title: "Cursor",
        programs: &["cursor", "cursor-agent"],
        folders: &[(Any, "~/.cursor")],
        files: &[
            (&[(Any, "~/.cursor/mcp.json")], &[Part::Server(SERVERS, stdio)]),
            (&[(Any, "~/.cursor/hooks.json")], &[Part::FlatHooks(&CURSOR_HOOKS)]),
        ],
        rules: Some((&[(Any, "./.cursor/rules/nacre.mdc")], &[Part::File(cursor_rule)])),
        hooks: Hooks::Full,
        own_memory: None,
        next: "Open a new chat in Cursor. It lists the server under Settings, MCP; turn it on there if it is off.",
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
        files: &[
            (
                &[
                    (Mac, "~/Library/Application Support/Code/User/mcp.json"),
                    (Windows, "$APPDATA/Code/User/mcp.json"),
                    (Other, "$XDG_CONFIG_HOME/Code/User/mcp.json"),
                    (Any, "~/.config/Code/User/mcp.json"),
                ],
                &[Part::Server(&["servers"], stdio)],
            ),
            (&[(Any, "~/.copilot/hooks/nacre.json")], &[Part::FlatHooks(&VSCODE_HOOKS)]),
        ],
        rules: Some((
            &[
                (Mac, "~/Library/Application Support/Code/User/prompts/nacre.instructions.md"),
                (Windows, "$APPDATA/Code/User/prompts/nacre.instructions.md"),
                (Other, "$XDG_CONFIG_HOME/Code/User/prompts/nacre.instructions.md"),
                (Any, "~/.config/Code/User/prompts/nacre.instructions.md"),
            ],
            &[Part::File(vscode_instructions)],
        )),
        hooks: Hooks::Start,
        own_memory: Some(OwnMemory {
            signs: &[Sign::True(
                &[
                    (Mac, "~/Library/Application Support/Code/User/settings.json"),
                    (Windows, "$APPDATA/Code/User/settings.json"),
                    (Other, "$XDG_CONFIG_HOME/Code/User/settings.json"),
                    (Any, "~/.config/Code/User/settings.json"),
                ],
                "github.copilot.chat.tools.memory.enabled",
            )],
            switch: None,
            off: "set `github.copilot.chat.tools.memory.enabled` to false in its settings",
        }),
        next: "VS Code asks whether you trust the server when it first starts it: `MCP: List Servers` shows it.",
    },
    Client {
        name: "windsurf",
        title: "Windsurf",
        programs: &["windsurf"],
        folders: &[(Any, "~/.codeium/windsurf")],
        files: &[
            (&[(Any, "~/.codeium/windsurf/mcp_config.json")], &[Part::Server(SERVERS, plain)]),
            (&[(Any, "~/.codeium/windsurf/hooks.json")], &[Part::FlatHooks(&WINDSURF_HOOKS)]),
        ],
        rules: Some((&[(Any, "~/.codeium/windsurf/memories/global_rules.md")], &[Part::Rules])),
        hooks: Hooks::Archive,
        own_memory: None,
        next: "Refresh the servers in Windsurf's panel, or restart Windsurf.",
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
        rules: None,
        hooks: Hooks::None,
        own_memory: None,
        next: "Zed starts the server by itself; the settings of the agent panel show it.",
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
        rules: None,
        hooks: Hooks::Full,
        own_memory: Some(OwnMemory {
            signs: &[Sign::Contains(
                &[(Any, "$GEMINI_CLI_HOME/.gemini/GEMINI.md"), (Any, "~/.gemini/GEMINI.md")],
                "Gemini Added Memories",
            )],
            switch: None,
            off: "exclude its tool `save_memory` in ~/.gemini/settings.json",
        }),
        next: "Start a new session of Gemini CLI in a folder that you trust.",
    },
    Client {
        name: "opencode",
        title: "OpenCode",
        programs: &["opencode"],
        folders: &[(Any, "$XDG_CONFIG_HOME/opencode"), (Any, "~/.config/opencode")],
        files: &[
            (
                &[
                    (Any, "$XDG_CONFIG_HOME/opencode/opencode.json"),
                    (Any, "$XDG_CONFIG_HOME/opencode/opencode.jsonc"),
                    (Any, "~/.config/opencode/opencode.json"),
                    (Any, "~/.config/opencode/opencode.jsonc"),
                ],
                &[Part::Server(&["mcp"], local)],
            ),
            (
                &[
                    (Any, "$XDG_CONFIG_HOME/opencode/plugins/nacre.js"),
                    (Any, "~/.config/opencode/plugins/nacre.js"),
                ],
                &[Part::File(opencode_plugin)],
            ),
        ],
        rules: Some((
            &[(Any, "$XDG_CONFIG_HOME/opencode/AGENTS.md"), (Any, "~/.config/opencode/AGENTS.md")],
            &[Part::Rules],
        )),
        hooks: Hooks::Full,
        own_memory: None,
        next: "Start a new session of OpenCode: `opencode mcp list` shows the server.",
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
        rules: None,
        hooks: Hooks::None,
        own_memory: None,
        next: "Start a new session of Goose.",
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
        rules: None,
        hooks: Hooks::None,
        own_memory: None,
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
        rules: None,
        hooks: Hooks::None,
        own_memory: None,
        next: "`openclaw mcp probe nacre` shows the tools. To replace OpenClaw's own memory, see docs/clients/openclaw.md.",
    },
];

impl Client {
    /// Returns the client with a name of the table.
    pub fn named(name: &str) -> Option<&'static Client> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// Returns its settings files on this machine, and our parts of each.
    pub fn files(&self, machine: &Machine) -> Vec<(PathBuf, &'static [Part])> {
        self.files.iter().map(|(paths, parts)| (machine.place(paths), *parts)).collect()
    }

    /// Returns the rules file for its agent; `None`: Nacre writes none for this client.
    pub fn rules(&self, machine: &Machine) -> Option<(PathBuf, &'static [Part])> {
        self.rules.map(|(paths, parts)| (machine.place(paths), parts))
    }

    /// Returns how to turn off its own memory, if that is on.
    pub fn own_memory(&self, machine: &Machine) -> Option<&'static str> {
        self.own_memory.as_ref().filter(|memory| memory.is_on(machine)).map(|memory| memory.off)
    }

    /// Tells whether hooks are installed that name this client. Programs such as VS Code also run the hooks of Claude Code,
    /// which then have to stay silent.
    pub fn has_own_hooks(&self, machine: &Machine) -> bool {
        let is_flat = |part: &Part| matches!(part, Part::FlatHooks(_));
        let mut files = self.files(machine).into_iter().filter(|(_, parts)| parts.iter().any(is_flat));
        let name = format!("--client {}", self.name);
        files.any(|(file, _)| std::fs::read_to_string(file).is_ok_and(|text| text.contains(&name)))
    }

    /// Tells whether its settings hold something of ours.
    pub fn is_connected(&self, machine: &Machine, program: &Program) -> bool {
        let mut files = self.files(machine).into_iter();
        files.any(|(file, parts)| Change::undo(file, parts, program).is_ok_and(|change| !change.is_none()))
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
