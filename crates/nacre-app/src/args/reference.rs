//! Generates `docs/reference/cli.md` from the command line and compares it with the file in the repository.
//! `NACRE_UPDATE=1 cargo test` writes the file.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, ArgAction, Command};

use super::{help, with_help};

const BEGINNING: &str = "\
# Command reference

Every command, in the groups of `nacre help all`. `nacre COMMAND --help` prints the same. `nacre` alone shows the state of the memory.
[Options for every command](#options-for-every-command) are listed once, at the end.
";

#[test]
fn the_page_of_commands_is_what_the_program_takes() {
    let mut command = with_help();
    command.build();
    let now = page(&command);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cli.md");
    if std::env::var_os("NACRE_UPDATE").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &now).unwrap();
    }
    let then = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(now == then, "the commands changed: run with NACRE_UPDATE=1 and look at docs/reference/cli.md");
}

fn page(command: &Command) -> String {
    let mut text = BEGINNING.to_owned();
    for group in help::GROUPS {
        let _ = writeln!(text, "\n## {}", group.title);
        for name in group.commands {
            let found = command.find_subcommand(name).expect("the table names commands");
            add(&mut text, &format!("nacre {name}"), found, 3);
        }
    }
    text.push_str("\n## Options for every command\n\n");
    options(&mut text, command.get_arguments().filter(|option| option.is_global_set()));
    let codes = help::EXIT_CODES.trim_start_matches("Exit codes: ");
    let _ = writeln!(text, "\n## Exit codes\n\n{codes}");
    text
}

/// Adds a command and the commands below it.
fn add(text: &mut String, path: &str, command: &Command, level: usize) {
    let about = command.get_long_about().or(command.get_about()).expect("every command has help");
    let _ = writeln!(text, "\n{} {path}\n\n{}", "#".repeat(level), sentence(&about.to_string()));
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
    let _ = writeln!(text, "\n```text\n{usage}\n```");
    let aliases: Vec<String> = command.get_all_aliases().map(|alias| format!("`{alias}`")).collect();
    if !aliases.is_empty() {
        let _ = writeln!(text, "\nAlso: {}", aliases.join(", "));
    }
    let own = |argument: &&Arg| {
        let is_help = matches!(argument.get_id().as_str(), "help" | "version");
        !is_help && !argument.is_hide_set() && !argument.is_global_set()
    };
    let arguments: Vec<&Arg> = command.get_arguments().filter(own).collect();
    if !arguments.is_empty() {
        text.push('\n');
        let (positional, named): (Vec<&Arg>, Vec<&Arg>) =
            arguments.into_iter().partition(|argument| argument.is_positional());
        options(text, positional.into_iter().chain(named));
    }
    if let Some(more) = command.get_after_help() {
        let _ = writeln!(text, "\n```text\n{}\n```", more.to_string().trim());
    }
    for part in command.get_subcommands().filter(|part| !part.is_hide_set()) {
        add(text, &format!("{path} {}", part.get_name()), part, (level + 1).min(5));
    }
}

/// Adds a table of arguments and options.
fn options<'a>(text: &mut String, arguments: impl Iterator<Item = &'a Arg>) {
    text.push_str("| argument | meaning |\n| --- | --- |\n");
    for argument in arguments.filter(|argument| !argument.is_hide_set()) {
        let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string);
        let help = sentence(&help.unwrap_or_default()).replace('\n', " ").replace('|', "\\|");
        let _ = writeln!(text, "| `{}` | {help}{} |", name(argument), facts(argument));
    }
}

/// Returns the spelling of an argument, such as `-n, --limit <N>`.
fn name(argument: &Arg) -> String {
    let many = matches!(argument.get_action(), ArgAction::Append)
        || argument.get_num_args().is_some_and(|count| count.max_values() > 1);
    let many = if many && argument.is_positional() { "..." } else { "" };
    let values: Vec<&str> =
        argument.get_value_names().unwrap_or_default().iter().map(clap::builder::Str::as_str).collect();
    if argument.is_positional() {
        let value = values.first().copied().unwrap_or(argument.get_id().as_str());
        let open = if argument.is_required_set() { ("<", ">") } else { ("[", "]") };
        return format!("{}{value}{}{many}", open.0, open.1);
    }
    let mut name = argument.get_short().map(|short| format!("-{short}")).unwrap_or_default();
    if let Some(long) = argument.get_long() {
        let between = if name.is_empty() { "" } else { ", " };
        let _ = write!(name, "{between}--{long}");
    }
    if argument.get_action().takes_values() {
        for value in values {
            let _ = write!(name, " <{value}>");
        }
    }
    name
}

/// Returns the values, default, environment variable and aliases of an argument.
fn facts(argument: &Arg) -> String {
    let mut facts = String::new();
    if argument.get_action().takes_values() {
        let values = argument.get_possible_values();
        let values = values.iter().filter(|value| !value.is_hide_set());
        let values: Vec<String> = values.map(|value| format!("`{}`", value.get_name())).collect();
        if !values.is_empty() {
            let _ = write!(facts, " Values: {}.", values.join(", "));
        }
        let defaults = argument.get_default_values().iter().map(|value| value.to_string_lossy());
        let defaults: Vec<String> = defaults.map(|value| format!("`{value}`")).collect();
        if !defaults.is_empty() && !argument.is_hide_default_value_set() {
            let _ = write!(facts, " Default: {}.", defaults.join(", "));
        }
    }
    if let Some(variable) = argument.get_env() {
        let _ = write!(facts, " Environment: `{}`.", variable.to_string_lossy());
    }
    if let Some(others) = argument.get_all_aliases().filter(|others| !others.is_empty()) {
        let others: Vec<String> = others.iter().map(|other| format!("`--{other}`")).collect();
        let _ = write!(facts, " Also: {}.", others.join(", "));
    }
    facts
}

/// Ends each paragraph of a help text with a full stop. Clap removes it.
fn sentence(text: &str) -> String {
    let is_open = |end: char| end.is_alphanumeric() || matches!(end, '`' | ')' | ']');
    let paragraphs = text.trim().split("\n\n").map(|paragraph| match paragraph.ends_with(is_open) {
        true => format!("{paragraph}."),
        false => paragraph.to_owned(),
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}
