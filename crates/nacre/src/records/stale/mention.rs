//! Finds what a memory names of a project: paths, flags, versions, commands and branches.
//!
//! The rules are generous. A name counts only after the repository was seen to have it, so a word that merely looks like a
//! path is never watched.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use regex::Regex;

use crate::base::named::named;
use crate::index::analyse::{is_spaceless, is_word};

/// The maximum number of names that are taken from one memory, and of characters of a name.
const MAX_MENTIONS: usize = 200;
const MAX_NAME_CHARS: usize = 200;
/// How many characters between back quotes may be a name.
const SPAN_CHARS: RangeInclusive<usize> = 2..=200;
/// How many words before a version may name what has it.
const WORDS_BEFORE_VERSION: usize = 5;
/// How many words around `branch` may be its name.
const WORDS_NEAR_BRANCH: usize = 3;

named! {
    /// The kind of thing that a memory names.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub(crate) enum MentionKind {
        Path = "path",
        Flag = "flag",
        Version = "version",
        Command = "command",
        Branch = "branch",
    }
}

/// A thing of a project that a memory names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Mention {
    pub(super) kind: MentionKind,
    /// A path with `/`, `--flag`, `name 1.2`, `tool argument`, or the name of a branch.
    pub(super) name: String,
}

/// The programs that run a command by name, each with what has the definition of that name.
pub(super) const RUNNERS: &[(&str, Runner)] = &[
    ("just", Runner::Just),
    ("make", Runner::Make),
    ("npm", Runner::Script),
    ("pnpm", Runner::Script),
    ("yarn", Runner::Script),
    ("bun", Runner::Script),
    ("cargo", Runner::Cargo),
    ("task", Runner::Task),
];

/// The place of the definition of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Runner {
    /// A recipe of a `justfile`.
    Just,
    /// A target of a `Makefile`.
    Make,
    /// A script of `package.json`.
    Script,
    /// An alias of Cargo, or a package of the workspace.
    Cargo,
    /// A task of a `Taskfile`.
    Task,
}

impl Runner {
    pub(super) fn of(program: &str) -> Option<Runner> {
        RUNNERS.iter().find(|(name, _)| *name == program).map(|(_, runner)| *runner)
    }

    /// Tells whether the name of the program is also a common word.
    fn is_word(self) -> bool {
        matches!(self, Runner::Just | Runner::Make | Runner::Task)
    }
}

/// Returns what a memory names, each name once.
pub(crate) fn mentions(text: &str) -> Vec<Mention> {
    let mut found = BTreeSet::new();
    let mut add = |kind: MentionKind, name: String| {
        if found.len() < MAX_MENTIONS && name.chars().count() <= MAX_NAME_CHARS {
            found.insert(Mention { kind, name });
        }
    };
    for path in paths(text) {
        add(MentionKind::Path, path);
    }
    // Each pattern takes longer to compile than a short command without it.
    if text.contains("--") {
        FLAG.captures_iter(text).for_each(|flag| add(MentionKind::Flag, flag[1].to_owned()));
    }
    let words: Vec<&str> = text.split_whitespace().map(bare).filter(|word| !word.is_empty()).collect();
    for (place, word) in words.iter().enumerate() {
        versions(&words[..place], word, &mut add);
        if BRANCH_WORDS.contains(&word.to_lowercase().as_str()) {
            let near =
                place.saturating_sub(WORDS_NEAR_BRANCH)..(place + 1 + WORDS_NEAR_BRANCH).min(words.len());
            near.filter_map(|near| branch(words[near])).for_each(|name| add(MentionKind::Branch, name));
        }
        if *word == "git" {
            let rest = words[place + 1..].iter().take(4);
            rest.filter_map(|word| branch(word)).for_each(|name| add(MentionKind::Branch, name));
        }
    }
    for name in spans(text).filter_map(|span| branch(span.trim())) {
        // Only a name with a slash is sure to be no word.
        if name.contains('/') {
            add(MentionKind::Branch, name);
        }
    }
    commands(text, &words, &mut add);
    found.into_iter().collect()
}

static FLAG: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|[^\w-])(--[a-z][a-z0-9]+(?:-[a-z0-9]+)*)").expect("a constant pattern")
});
static VERSION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:(?P<name>@?[A-Za-z][\w./-]*?)(?:@|==|=|>=|\^|~))?[v^~=<>]*(?P<version>\d+(?:\.\d+){1,3}(?:-[0-9A-Za-z.]+)?)$")
        .expect("a constant pattern")
});

const BRANCH_WORDS: &[&str] = &["branch", "branches", "zweig", "branche", "rama", "ветка", "ветке"];

/// Files without an ending that projects have.
const PLAIN_FILES: &[&str] = &[
    "Makefile",
    "GNUmakefile",
    "Dockerfile",
    "Containerfile",
    "Justfile",
    "justfile",
    "LICENSE",
    "LICENCE",
    "NOTICE",
    "README",
    "CHANGELOG",
    "Procfile",
    "Vagrantfile",
    "Gemfile",
    "Rakefile",
    "Jenkinsfile",
    "CODEOWNERS",
    "Brewfile",
];

/// Takes the punctuation around a word away.
fn bare(word: &str) -> &str {
    let word = word.trim_matches(|c: char| "`'\"()[]{}<>,;:!?“”‘’«»*".contains(c));
    word.trim_end_matches('.')
}

/// Returns what may be paths of files and folders, relative to the root of a project.
fn paths(text: &str) -> BTreeSet<String> {
    let runs = text.split(|c| !is_of_path(c)).filter(|run| !run.is_empty());
    let mut found: BTreeSet<String> = runs.filter_map(path).collect();
    // A name with spaces, between back quotes.
    let spans = spans(text).filter(|span| span.contains(' ') && span.contains('/'));
    found.extend(spans.filter_map(path));
    found
}

/// Returns the texts between back quotes that are on one line and neither empty nor long.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let (_, after) = rest.split_once('`')?;
            let (inside, next) = after.split_once('`')?;
            let is_span = !inside.contains('\n') && SPAN_CHARS.contains(&inside.chars().count());
            // A quote that closes nothing may open the next span.
            rest = if is_span { next } else { &after[inside.len()..] };
            if is_span {
                return Some(inside);
            }
        }
    })
}

/// Tells whether paths are made of such characters. Scripts without spaces end them.
fn is_of_path(c: char) -> bool {
    (is_word(c) && !is_spaceless(c)) || r"_.@+~:\/#%$-[]".contains(c)
}

fn path(run: &str) -> Option<String> {
    if run.contains("://") {
        return None;
    }
    let run = if run.contains('/') { run.to_owned() } else { run.replace('\\', "/") };
    // `src/a.rs:12`, `src/a.rs#L12` and `@src/a.rs` name the file. A drive letter is part of no repository.
    let run = run.split_once('#').map_or(run.as_str(), |(file, _)| file);
    let mut run = run.trim_start_matches('@').trim_end_matches(['.', ':', '-']);
    while let Some((file, place)) = run.rsplit_once(':') {
        let is_place = !place.is_empty() && place.chars().all(|c| c.is_ascii_digit() || c == '-');
        match file.rsplit('/').next().is_some_and(|name| name.contains('.')) && is_place {
            true => run = file,
            // Prose, such as `file:src/a.rs`.
            false => run = place,
        }
    }
    let run = unbalanced(run);
    let is_folder = run.ends_with('/');
    let mut parts: Vec<&str> = run.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.first().is_some_and(|first| first.starts_with(['~', '$', '%'])) {
        return None;
    }
    parts.retain(|part| !part.is_empty());
    let is_odd = |part: &&str| *part == ".." || part.chars().all(|c| !c.is_alphanumeric());
    if parts.is_empty() || parts.iter().any(is_odd) {
        return None;
    }
    let name = parts.join("/");
    match parts[..] {
        [only] if !is_folder => is_file_name(only).then_some(name),
        _ => Some(name),
    }
}

/// Takes brackets away that enclose the path instead of being part of it.
fn unbalanced(run: &str) -> &str {
    let mut run = run;
    loop {
        let count = |bracket: char| run.chars().filter(|c| *c == bracket).count();
        let (open, close) = (count('['), count(']'));
        run = match () {
            () if open > close && run.starts_with('[') => &run[1..],
            () if close > open && run.ends_with(']') => &run[..run.len() - 1],
            () if run.starts_with('[') && run.ends_with(']') => &run[1..run.len() - 1],
            () => return run,
        };
    }
}

/// Tells whether a single word has the form of a file's name.
fn is_file_name(word: &str) -> bool {
    if PLAIN_FILES.contains(&word) {
        return true;
    }
    let Some((stem, ending)) = word.rsplit_once('.') else { return false };
    let is_ending = (1..=12).contains(&ending.len())
        && ending.starts_with(|c: char| c.is_ascii_alphabetic())
        && ending.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_ending && (stem.is_empty() || stem.chars().any(char::is_alphanumeric))
}

/// Adds the version that a word is, for each word before it that may name what has it.
fn versions(before: &[&str], word: &str, add: &mut impl FnMut(MentionKind, String)) {
    let may_be_version = word.contains('.') && word.contains(char::is_numeric);
    let Some(found) = may_be_version.then(|| VERSION.captures(word)).flatten() else { return };
    let version = &found["version"];
    if let Some(name) = found.name("name") {
        add(MentionKind::Version, format!("{} {version}", name.as_str().to_lowercase()));
        return;
    }
    for name in before.iter().rev().take(WORDS_BEFORE_VERSION) {
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '@')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "@/_.-".contains(c));
        if is_name {
            add(MentionKind::Version, format!("{} {version}", name.to_lowercase()));
        }
    }
}

/// Returns a word that may name a branch.
fn branch(word: &str) -> Option<String> {
    let word = bare(word);
    let word = ["refs/heads/", "refs/remotes/", "origin/", "upstream/"]
        .iter()
        .fold(word, |word, prefix| word.strip_prefix(prefix).unwrap_or(word));
    let is_name = !word.is_empty()
        && word.chars().all(|c| c.is_alphanumeric() || "/_.-+".contains(c))
        && !word.starts_with(['-', '/', '.'])
        && !BRANCH_WORDS.contains(&word.to_lowercase().as_str());
    is_name.then(|| word.to_owned())
}

/// Adds commands: a program that runs others by name, or a program of the project and its subcommand.
fn commands(text: &str, words: &[&str], add: &mut impl FnMut(MentionKind, String)) {
    for span in spans(text) {
        let parts: Vec<&str> = span.trim_start_matches("$ ").split_whitespace().collect();
        for part in parts.split(|part| ["&&", "||", "|", ";"].contains(part)) {
            command(part, add);
        }
    }
    for (place, word) in words.iter().enumerate() {
        let is_asked = place > 0 && COMMAND_LEADS.contains(&words[place - 1].to_lowercase().as_str());
        match Runner::of(word) {
            Some(runner) if runner.is_word() && !is_asked => {}
            Some(_) => command(&words[place..(place + 6).min(words.len())], add),
            None if is_asked => command(&words[place..(place + 3).min(words.len())], add),
            None => {}
        }
    }
}

/// Words before a command.
const COMMAND_LEADS: &[&str] =
    &["run", "runs", "running", "use", "uses", "with", "via", "call", "calls", "command", "$"];

/// Adds one command: its program and the first argument that is a name.
fn command(words: &[&str], add: &mut impl FnMut(MentionKind, String)) {
    let [program, arguments @ ..] = words else { return };
    let is_name = |word: &&&str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-:.".contains(c))
    };
    if !is_name(&program) {
        return;
    }
    if Runner::of(program) == Some(Runner::Cargo) {
        // `cargo test -p nacre` names a package.
        let named = arguments.windows(2).find(|pair| ["-p", "--package", "--bin"].contains(&pair[0]));
        if let Some([option, name]) = named {
            add(MentionKind::Command, format!("cargo {option} {name}"));
        }
    }
    let is_run = |word: &&&str| !matches!(**word, "run" | "run-script" | "exec");
    let argument = arguments.iter().take_while(|word| !word.starts_with('-')).filter(is_run).find(is_name);
    if let Some(argument) = argument {
        add(MentionKind::Command, format!("{program} {argument}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(kind: MentionKind, text: &str) -> Vec<String> {
        mentions(text).into_iter().filter(|one| one.kind == kind).map(|one| one.name).collect()
    }

    #[test]
    fn spans_are_those_of_the_pattern() {
        let pattern = Regex::new(r"`([^`\n]{2,200})`").unwrap();
        let (longest, too_long) = (format!("`{}`", "ö".repeat(200)), format!("`{}` `ab`", "o".repeat(201)));
        for text in [
            "",
            "`",
            "`a` `bc`",
            "``ab``",
            "`a\nb` `cd` e`fg",
            "```sh\nls\n``` `x y`",
            "`ab``cd`",
            &longest,
            &too_long,
        ] {
            let found: Vec<&str> = spans(text).collect();
            let expected: Vec<&str> =
                pattern.captures_iter(text).map(|found| found.get(1).unwrap().as_str()).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn a_path_is_found_however_it_is_written() {
        for (text, expected) in [
            ("The importer is in src/import/take.rs.", &["src/import/take.rs"][..]),
            ("See `src/a.rs:120` and (src/b.rs:3-9), or src/c.rs#L4.", &["src/a.rs", "src/b.rs", "src/c.rs"]),
            ("Open @src/a.rs, then ./src/b.rs", &["src/a.rs", "src/b.rs"]),
            (r"In src\import\take.rs on Windows", &["src/import/take.rs"]),
            ("[the guide](docs/import.md) says so", &["docs/import.md"]),
            ("app/[id]/page.tsx renders it", &["app/[id]/page.tsx"]),
            ("配置在src/config.rs里。", &["src/config.rs"]),
            ("Die Prüfung steht in prüfung/größe.py", &["prüfung/größe.py"]),
            ("Cargo.toml and the Makefile; .gitignore too", &[".gitignore", "Cargo.toml", "Makefile"]),
            ("scripts live in tools/", &["tools"]),
            ("See https://example.com/a/b.html and ~/notes.md and ../x.rs", &[]),
            ("at 10:30, version 1.2 or 3/4", &["3/4"]),
        ] {
            assert_eq!(names(MentionKind::Path, text), expected, "{text}");
        }
    }

    #[test]
    fn the_other_kinds_are_found_by_their_form() {
        use MentionKind::{Branch, Command, Flag, Version};
        for (kind, text, expected) in [
            (Flag, "Use --dry-run (not `--force`), --max=3", &["--dry-run", "--force", "--max"][..]),
            (Flag, "a -- dash, a--b, ---", &[]),
            (Version, "serde@1.0.200 and tokio==0.38", &["tokio 0.38", "serde 1.0.200"]),
            (Branch, "It is on the branch `feature/sync`", &["feature/sync"]),
            (Branch, "merged origin/release-2 with git merge hotfix", &["hotfix", "merge"]),
            (Command, "`just check` first", &["just check"]),
            (Command, "just check the box", &[]),
            (Command, "run pnpm run build:web here", &["pnpm build:web"]),
            (Command, "`cargo test -p heron --quiet`", &["cargo -p heron", "cargo test"]),
            (Command, "`heron serve --port 1`", &["heron serve"]),
        ] {
            let found = names(kind, text);
            for name in expected {
                assert!(found.contains(&(*name).to_owned()), "{text}: {found:?}");
            }
            assert!(!expected.is_empty() || found.is_empty(), "{text}: {found:?}");
        }
        assert!(names(Version, "tokio is pinned to 0.38").contains(&"tokio 0.38".to_owned()));
        assert!(names(Version, "the MSRV is 1.85").contains(&"msrv 1.85".to_owned()));
    }

    #[test]
    fn any_text_gives_a_bounded_number_of_names() {
        let long = "a/b".repeat(5_000);
        let many: String = (0..5_000).map(|n| format!("src/f{n}.rs --f{n} ")).collect();
        for text in ["", "`", "--", "[[[[", "]]]]/", "\\\\", ":::", &long, &many] {
            assert!(mentions(text).len() <= MAX_MENTIONS, "{}", text.len());
        }
    }
}
