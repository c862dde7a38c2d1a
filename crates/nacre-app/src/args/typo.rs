//! Mistakes on the command line: the usage of the intended command, and the commands that were probably meant.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// More suggestions than these would be a guess.
const MAX_SUGGESTIONS: usize = 2;

/// Makes an error of clap say what helps. clap shows every option that was given or set in the environment as if the
/// command required it, and suggests words that merely share letters.
pub fn explain(mut problem: clap::Error, mut command: Command) -> clap::Error {
    if !problem.use_stderr() {
        return problem;
    }
    command.build();
    let usage = match problem.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string(),
        _ => String::new(),
    };
    let mut at = &mut command;
    for word in usage.split_whitespace().skip(2) {
        let Some(name) = at.find_subcommand(word).map(|found| found.get_name().to_owned()) else { break };
        at = at.find_subcommand_mut(&name).expect("just found");
    }
    if let Some(ContextValue::String(given)) = problem.get(ContextKind::InvalidSubcommand) {
        let tip = tip(given, at);
        problem.remove(ContextKind::SuggestedSubcommand);
        problem.remove(ContextKind::Suggested);
        if let Some(tip) = tip {
            problem.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        }
    }
    // clap advises to pass an unknown option as a value, which only a text can be.
    let takes_text = at.get_positionals().any(|one| one.get_id() == "words" || one.get_id() == "text");
    if problem.kind() == ErrorKind::UnknownArgument && !takes_text {
        problem.remove(ContextKind::Suggested);
    }
    if !usage.is_empty() {
        problem.insert(ContextKind::Usage, ContextValue::StyledStr(at.render_usage()));
    }
    problem
}

/// Words that people try, and the command that does the same.
const SYNONYMS: &[(&str, &str)] = &[
    ("ask", "search"),
    ("backup", "export"),
    ("cat", "show"),
    ("check", "doctor"),
    ("clear", "group remove"),
    ("correct", "update"),
    ("dashboard", "ui"),
    ("dump", "export"),
    ("info", "status"),
    ("query", "search"),
    ("reset", "group remove"),
    ("restore", "import"),
    ("save", "store"),
    ("setup", "install"),
    ("supersede", "store --supersedes"),
    ("undo", "revert"),
    ("version", "--version"),
    ("view", "show"),
    ("why", "turn --explain"),
    ("wipe", "group remove"),
];

/// Returns what to type instead of a word that is no command.
fn tip(given: &str, command: &Command) -> Option<String> {
    let is_top = command.get_name() == "nacre";
    if let Some((_, meant)) = SYNONYMS.iter().find(|(word, _)| is_top && word.eq_ignore_ascii_case(given)) {
        return Some(format!("use `nacre {meant}`"));
    }
    let names: Vec<String> = suggestions(given, command).iter().map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| format!("did you mean {}?", names.join(" or ")))
}

/// Returns the commands that are spelt most like a word, if any is near enough.
fn suggestions(given: &str, command: &Command) -> Vec<String> {
    let given = given.to_lowercase();
    let limit = (given.chars().count() + 1) / 3;
    let mut near: Vec<(usize, &str)> = Vec::new();
    for found in command.get_subcommands().filter(|found| !matches!(found.get_name(), "bench" | "man")) {
        // A command is suggested once, in the spelling that is nearest.
        let spellings = std::iter::once(found.get_name()).chain(found.get_all_aliases());
        let nearest = spellings.map(|name| (nearness(&given, name), name)).min();
        near.extend(nearest.filter(|(distance, _)| *distance <= limit.max(1)));
    }
    near.sort();
    let best = near.first().map_or(0, |(distance, _)| *distance);
    let best = near.into_iter().filter(|(distance, _)| *distance == best);
    best.take(MAX_SUGGESTIONS).map(|(_, name)| name.to_owned()).collect()
}

/// The distance; a word that was not typed to its end is near.
fn nearness(given: &str, name: &str) -> usize {
    let is_start = given.chars().count() >= 3 && name.starts_with(given);
    if is_start { 1 } else { distance(given, name) }
}

/// Counts the letters to insert, drop, replace or swap with their neighbour.
fn distance(one: &str, other: &str) -> usize {
    let one: Vec<char> = one.chars().collect();
    let other: Vec<char> = other.chars().collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let replaced = rows[i][j] + usize::from(a != b);
            let mut least = replaced.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn letters_are_counted() {
        for (one, other, expected) in [
            ("search", "search", 0),
            ("serach", "search", 1),
            ("store", "stroe", 1),
            ("", "ab", 2),
            ("rm", "promote", 5),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
        }
    }

    #[test]
    fn only_what_is_near_is_suggested() {
        let command = Cli::command();
        for (given, expected) in [
            ("serach", &["search"][..]),
            ("stroe", &["store"]),
            ("stat", &["status"]),
            ("delte", &["delete"]),
            ("confg", &["config"]),
            ("xyzzy", &[]),
            ("frobnicate", &[]),
        ] {
            assert_eq!(suggestions(given, &command), expected, "{given}");
        }
    }

    #[test]
    fn a_synonym_was_called_a_similar_spelling() {
        let command = Cli::command();
        assert_eq!(tip("backup", &command).as_deref(), Some("use `nacre export`"));
        assert_eq!(tip("serach", &command).as_deref(), Some("did you mean `search`?"));
        assert_eq!(tip("xyzzy", &command), None);
        for (word, meant) in SYNONYMS {
            assert!(command.find_subcommand(word).is_none(), "{word} is a command");
            let first = meant.split(' ').next().unwrap();
            assert!(first.starts_with('-') || command.find_subcommand(first).is_some(), "{meant}");
        }
    }
}
