//! The help of the whole program: commands by group, the everyday ones first.

use std::fmt::Write as _;

use clap::Command;

use crate::render;

/// The exit codes, for the help and the man page.
pub const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 internal error, 2 bad request, 3 not found, 4 conflict, 5 denied, 6 limit reached, 7 unavailable.";

/// Commands that belong together.
pub(super) struct Group {
    pub title: &'static str,
    pub commands: &'static [&'static str],
}

/// Every command that is not hidden, in the order of the help. The first group is for every day.
pub(super) const GROUPS: &[Group] = &[
    Group {
        title: "Everyday",
        commands: &[
            "store", "search", "show", "update", "delete", "pending", "approve", "import", "install", "ui",
            "status", "doctor",
        ],
    },
    Group {
        title: "More on memories",
        commands: &[
            "grep",
            "history",
            "changes",
            "reinforce",
            "demote",
            "unarchive",
            "forget",
            "trace",
            "share",
            "quarantine",
            "conflicts",
            "stale",
            "brief",
            "deny",
            "revert",
            "group",
            "config",
        ],
    },
    Group { title: "Files and graph", commands: &["file", "graph"] },
    Group {
        title: "Projects and conversations",
        commands: &["session", "distil", "task", "extract", "items", "collection"],
    },
    Group {
        title: "Agents and servers",
        commands: &[
            "uninstall",
            "mcp",
            "serve",
            "service",
            "token",
            "hook",
            "call",
            "turn",
            "boot",
            "handover",
            "memory-tool",
            "plugin",
        ],
    },
    Group {
        title: "Upkeep",
        commands: &[
            "init",
            "sync",
            "maintain",
            "index",
            "reindex",
            "checkpoint",
            "audit",
            "events",
            "export",
            "team",
            "checkout",
            "move",
            "admin",
            "model",
            "self-check",
            "demo",
            "completions",
        ],
    },
];

/// Other spellings that the help mentions beside a command.
const ALIASES: &[(&str, &str)] =
    &[("store", "add"), ("search", "find, ls"), ("update", "edit"), ("delete", "rm")];

/// The width of the column with the commands.
const COMMAND_WIDTH: usize = 20;

/// The help is never wider.
const MAX_COLUMNS: usize = 100;

/// Returns the help that fits one screen.
pub fn short(command: &Command) -> String {
    let mut text = format!("{}\n\n", wrap(&about(Some(command)), 0));
    let _ = writeln!(text, "{} nacre [OPTIONS] COMMAND", heading("Usage:"));
    let (everyday, others) = GROUPS.split_first().expect("the table has groups");
    let _ = writeln!(text, "\n{}", heading(&format!("{}:", everyday.title)));
    for name in everyday.commands {
        let spelling = ALIASES.iter().find(|(of, _)| of == name);
        let spelling = spelling.map_or((*name).to_owned(), |(_, also)| format!("{name} ({also})"));
        let _ = writeln!(
            text,
            "  {spelling:COMMAND_WIDTH$}{}",
            wrap(&about(command.find_subcommand(name)), COMMAND_WIDTH + 2)
        );
    }
    for group in others {
        let commands = wrap(&group.commands.join(", "), 2);
        let _ = writeln!(text, "\n{}\n  {commands}", heading(&format!("{}:", group.title)));
    }
    let _ = write!(
        text,
        "\n{}\n  {}\n\n{}\n\n{}\n",
        heading("Options for every command:"),
        wrap("--home DIR, --group NAME, --json, --color WHEN and more: `nacre help all`", 2),
        wrap("`nacre help COMMAND` explains a command, `nacre help all` lists everything.", 0),
        wrap(EXIT_CODES, 0),
    );
    text
}

/// Returns the help that lists every command with its parts, and every option.
pub fn all(command: &Command) -> String {
    let mut text = String::new();
    for group in GROUPS {
        let _ = writeln!(text, "{}:", group.title);
        for name in group.commands {
            let Some(found) = command.find_subcommand(name) else { continue };
            list(&mut text, name, found);
        }
        text.push('\n');
    }
    text.push_str("Options for every command:\n");
    for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
        let value = option.get_value_names().and_then(|names| names.first());
        let value = value.filter(|_| option.get_action().takes_values());
        let value = value.map(|name| format!(" {name}")).unwrap_or_default();
        let Some(name) = option.get_long() else { continue };
        let help = option.get_help().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(
            text,
            "  {:COMMAND_WIDTH$}{}",
            format!("--{name}{value}"),
            wrap(&help, COMMAND_WIDTH + 2)
        );
    }
    let _ = write!(text, "\n`nacre help COMMAND` explains a command.\n{}\n", wrap(EXIT_CODES, 0));
    text
}

/// Adds a command and the commands below it.
fn list(text: &mut String, path: &str, command: &Command) {
    let aliases: Vec<&str> = command.get_all_aliases().collect();
    let also = if aliases.is_empty() { String::new() } else { format!(" (also: {})", aliases.join(", ")) };
    let column = if path.contains(' ') { COMMAND_WIDTH + 6 } else { COMMAND_WIDTH };
    let indent = if path.contains(' ') { 4 } else { 2 };
    let about = wrap(&format!("{}{also}", about(Some(command))), indent + column + 1);
    let _ = writeln!(text, "{:indent$}{path:column$} {about}", "");
    for part in command.get_subcommands().filter(|part| !part.is_hide_set()) {
        list(text, &format!("{path} {}", part.get_name()), part);
    }
}

/// Breaks a text at words to the width of the terminal, after a column of `indent` characters.
fn wrap(text: &str, indent: usize) -> String {
    let width = render::width().unwrap_or(MAX_COLUMNS).min(MAX_COLUMNS);
    render::wrap(text, width.saturating_sub(indent), indent)
}

fn about(command: Option<&Command>) -> String {
    command.and_then(Command::get_about).map(ToString::to_string).unwrap_or_default()
}

/// Bold and underlined, as clap has it; clap takes the codes out where they are not wanted.
fn heading(text: &str) -> String {
    format!("\x1b[1m\x1b[4m{text}\x1b[0m")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn every_command_is_in_one_group() {
        let command = Cli::command();
        let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
        let visible: BTreeSet<&str> = visible.map(Command::get_name).collect();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|group| group.commands).copied().collect();
        assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), visible);
        assert_eq!(grouped.len(), visible.len(), "no command is in two groups");
        assert_eq!((GROUPS.len(), GROUPS[0].commands.len()), (6, 12));
    }

    #[test]
    fn the_spellings_in_the_help_work() {
        let command = Cli::command();
        for (name, also) in ALIASES {
            let found = command.find_subcommand(name).unwrap();
            for alias in also.split(", ") {
                assert!(found.get_all_aliases().any(|known| known == alias), "{name}: {alias}");
            }
        }
    }
}
