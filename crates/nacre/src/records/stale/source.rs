//! Finds the flags and subcommands that the source code of a repository defines.
//!
//! Documents and tests also name flags, among them those of other programs and of the past. Only code counts: a field of a
//! parser that derives its flags, an argument of a function that defines one, or, in a language in which the repository has
//! neither, a literal `--flag`.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;

/// The flags and subcommands that the code of a repository defines.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    flags: HashSet<String>,
    subcommands: HashSet<String>,
    /// Literal flags, by the ending of the files that have them.
    literals: HashMap<String, HashSet<String>>,
    /// The endings of files that define flags in another way. Their literals only use flags.
    definers: HashSet<String>,
}

/// The endings of files with code.
const CODE: &[&str] = &[
    "rs", "py", "js", "mjs", "cjs", "ts", "tsx", "jsx", "go", "rb", "java", "kt", "kts", "swift", "c", "cc",
    "cpp", "h", "hpp", "cs", "php", "scala", "zig", "lua", "ex", "exs", "dart", "sh", "bash", "zsh", "fish",
    "pl",
];
/// Folders whose code uses flags and defines none.
const USERS: &[&str] = &[
    "tests",
    "test",
    "spec",
    "specs",
    "__tests__",
    "testdata",
    "fixtures",
    "benches",
    "bench",
    "examples",
    "example",
    "docs",
    "doc",
    "node_modules",
    "vendor",
    "third_party",
];

/// Tells whether a file may define flags and subcommands.
pub(super) fn is_code(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_test = name.contains("_test.")
        || name.contains(".test.")
        || name.contains(".spec.")
        || name.starts_with("test_");
    let is_script = ending.is_empty() || ending == name;
    let in_scripts = folders.split('/').any(|folder| folder == "scripts" || folder == "bin");
    (CODE.contains(&ending) || is_script && in_scripts)
        && !is_test
        && !folders.split('/').any(|folder| USERS.contains(&folder))
}

static LITERAL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"["'`]([^"'`\n]{1,80})["'`]"#).expect("a constant pattern"));
static DOUBLE_QUOTED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#""([^"\n]{1,80})""#).expect("a constant pattern"));
static FLAG: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|[\s,|/\[(])(--[a-z][a-z0-9]+(?:-[a-z0-9]+)*)(?:$|[\s=<\[,|)/])")
        .expect("a constant pattern")
});
static FIELD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:r#)?([a-z][a-z0-9_]*)\s*:").expect("a constant pattern")
});
static VARIANT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s*([A-Z][A-Za-z0-9]*)\s*(?:[,({=]|$)").expect("a constant pattern"));
/// The names in an attribute. Others that it has refer to another argument.
static ATTRIBUTE_NAME: LazyLock<Regex> = LazyLock::new(|| {
    let names = r#"(?:\[[^\]]*\]|"[^"]*")"#;
    Regex::new(&format!(r"\b(?:long|name|(?:visible_)?alias(?:es)?)\s*=\s*{names}"))
        .expect("a constant pattern")
});
static LONG_NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\blong\s*=").expect("a constant pattern"));
static NAME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*$").expect("a constant pattern"));

impl Definitions {
    pub(super) fn has_flag(&self, flag: &str) -> bool {
        let is_literal = |(ending, flags): (&String, &HashSet<String>)| {
            !self.definers.contains(ending) && flags.contains(flag)
        };
        self.flags.contains(flag) || self.literals.iter().any(is_literal)
    }

    pub(super) fn has_subcommand(&self, name: &str) -> bool {
        self.subcommands.contains(name)
    }

    /// Adds what a file defines.
    pub(super) fn add(&mut self, path: &str, text: &str) {
        let name = path.rsplit('/').next().unwrap_or(path);
        let ending = name.rsplit_once('.').map_or("sh", |(_, ending)| ending);
        // The tests of a Rust file are in its last module.
        let text =
            if ending == "rs" { text.split("#[cfg(test)]\nmod ").next().unwrap_or(text) } else { text };
        let before = self.flags.len();
        if ending == "rs"
            && (text.contains("#[arg") || text.contains("#[clap") || text.contains("Subcommand"))
        {
            self.derived(text);
        }
        let is_shell = ["sh", "bash", "zsh", "fish"].contains(&ending);
        let literal = if QUOTED_IN_ANY_WAY.contains(&ending) { &*LITERAL } else { &*DOUBLE_QUOTED };
        for line in text.lines().filter(|line| !is_comment(line)) {
            if is_shell {
                let taken = spaced(taken_by_script(line));
                self.flags.extend(FLAG.captures_iter(&taken).map(|found| found[1].to_owned()));
                continue;
            }
            let literals =
                || literal.captures_iter(line).map(|found| found.get(1).expect("it has one group").as_str());
            let defines = DEFINE_FLAG.iter().any(|define| line.contains(define));
            // `-n, --name <FILE>` names a flag, a sentence that has one does not.
            let short = literals()
                .filter(|literal| literal.contains("--") && literal.split_whitespace().count() <= 4);
            let flags =
                short.flat_map(|literal| FLAG.captures_iter(literal).map(|found| found[1].to_owned()));
            if defines {
                self.flags.extend(flags);
                let names = literals().filter(|name| NAME.is_match(name));
                self.flags.extend(names.map(|name| format!("--{}", name.replace('_', "-"))));
            } else {
                self.literals.entry(ending.to_owned()).or_default().extend(flags);
            }
            if DEFINE_COMMAND.iter().any(|define| line.contains(define)) {
                let names = literals().filter_map(|literal| literal.split_whitespace().next());
                self.subcommands.extend(names.filter(|name| NAME.is_match(name)).map(str::to_owned));
            }
        }
        if self.flags.len() > before && !is_shell {
            self.definers.insert(ending.to_owned());
        }
    }

    /// Reads the attributes from which `clap` derives flags and subcommands.
    fn derived(&mut self, text: &str) {
        let (mut attribute, mut has_long) = (String::new(), false);
        let (mut in_commands, mut derives) = (false, false);
        let mut depth = 0i32;
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let trimmed = line.trim();
            if trimmed.starts_with("#[") || !attribute.is_empty() {
                attribute.push_str(trimmed);
                if balance(&attribute, '[', ']') > 0 {
                    continue;
                }
                let whole = std::mem::take(&mut attribute);
                derives |= whole.starts_with("#[derive") && whole.contains("Subcommand");
                let is_flag = whole.starts_with("#[arg") || whole.starts_with("#[clap");
                // With a name of its own, the flag has nothing to do with the field.
                has_long |= is_flag && whole.contains("long") && !LONG_NAME.is_match(&whole);
                for named in ATTRIBUTE_NAME.captures_iter(&whole) {
                    let names = DOUBLE_QUOTED.captures_iter(&named[0]).map(|found| found[1].to_owned());
                    for name in names.filter(|name| NAME.is_match(name)) {
                        if is_flag {
                            self.flags.insert(format!("--{name}"));
                        } else if whole.starts_with("#[command") {
                            self.subcommands.insert(name);
                        }
                    }
                }
                continue;
            }
            if derives && trimmed.contains("enum ") {
                (in_commands, derives, depth) = (true, false, 0);
            } else if in_commands
                && depth == 1
                && let Some(variant) = VARIANT.captures(line)
            {
                self.subcommands.insert(kebab(&variant[1]));
            } else if let Some(field) = FIELD.captures(line)
                && has_long
            {
                self.flags.insert(format!("--{}", field[1].replace('_', "-")));
                has_long = false;
            }
            depth += balance(line, '{', '}');
            in_commands &= depth > 0 || trimmed.contains("enum ");
        }
    }
}

/// Languages in which single or back quotes may enclose a text.
const QUOTED_IN_ANY_WAY: &[&str] =
    &["py", "js", "mjs", "cjs", "ts", "tsx", "jsx", "go", "rb", "php", "lua", "ex", "exs", "dart", "pl"];

/// Functions whose text arguments are flags, with or without their dashes.
const DEFINE_FLAG: &[&str] = &[
    "flag.",
    "Flags()",
    "add_argument(",
    "click.option",
    "@option",
    ".option(",
    ".Option(",
    "add_option(",
    "Arg::new(",
    ".long(",
    ".visible_alias(",
    ".alias(",
];
/// Functions and fields that name a subcommand.
const DEFINE_COMMAND: &[&str] = &[
    ".command(",
    "add_parser(",
    "Use:",
    "Command::new(",
    ".subcommand(",
    "add_typer(",
    "@app.command",
    "@cli.command",
];

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//") || line.starts_with('*') || line.starts_with("# ") || line.starts_with("/*")
}

/// Returns the part of a line of the shell that takes a flag: a pattern of `case`, or a comparison. Others pass flags on.
fn taken_by_script(line: &str) -> &str {
    let bare = line.trim_start();
    let pattern = bare.split_once(')').map(|(pattern, _)| pattern).filter(|pattern| !pattern.contains(' '));
    match pattern.filter(|_| bare.starts_with(['-', '(', '"', '\''])) {
        Some(pattern) => pattern,
        None if ["= \"--", "= '--", "= --"].iter().any(|compare| line.contains(compare)) => line,
        None => "",
    }
}

/// Puts spaces around the characters that enclose a word of the shell.
fn spaced(line: &str) -> String {
    line.replace(['"', '\'', '`', ';'], " ")
}

fn balance(text: &str, open: char, close: char) -> i32 {
    text.chars().map(|c| i32::from(c == open) - i32::from(c == close)).sum()
}

/// Returns a name such as `SelfCheck` as `self-check`.
fn kebab(name: &str) -> String {
    let mut text = String::new();
    for (place, c) in name.chars().enumerate() {
        if c.is_ascii_uppercase() && place > 0 {
            text.push('-');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str, text: &str) -> Definitions {
        let mut all = Definitions::default();
        all.add(path, text);
        all
    }

    #[test]
    fn flags_are_defined_in_many_forms() {
        for (path, text, flag) in [
            (
                "args.rs",
                "struct A {\n    /// Doc: x\n    #[arg(long)]\n    pub dry_run: bool,\n}",
                "--dry-run",
            ),
            (
                "args.rs",
                "    #[arg(long = \"as\",\n        value_name = \"NAME\")]\n    pub name: String,",
                "--as",
            ),
            ("args.rs", "    #[arg(short, long, alias = \"quiet-mode\")]\n    quiet: bool,", "--quiet-mode"),
            ("main.py", "parser.add_argument('-n', '--dry-run', action='store_true')", "--dry-run"),
            ("main.py", "@click.option(\"--dry-run/--no-dry-run\")", "--dry-run"),
            ("cli.ts", "program.option('-o, --out-file <FILE>', 'where to write')", "--out-file"),
            ("main.go", "flag.BoolVar(&x, \"dry-run\", false, \"\")", "--dry-run"),
            ("cmd.go", "cmd.Flags().StringP(\"out\", \"o\", \"\", \"help\")", "--out"),
            ("scripts/check", "case \"$1\" in\n  --fast) fast=1 ;;", "--fast"),
            ("scripts/check", "  -f|--fast) fast=1 ;;", "--fast"),
            ("run.sh", "if [ \"$1\" = \"--fast\" ]; then", "--fast"),
        ] {
            let found = read(path, text);
            assert!(found.has_flag(flag), "{path}: {text}: {found:?}");
        }
    }

    #[test]
    fn what_only_names_a_flag_does_not_define_it() {
        for (path, text) in [
            ("a.rs", "// use --gone instead"),
            ("a.rs", "let hint = \"run it again without --gone to apply the change\";"),
            ("a.rs", "fn gone(gone: bool) {}"),
            ("run.sh", "heron serve --gone --port 1 $(date)"),
            ("a.rs", "    #[arg(long = \"other\")]\n    gone: bool,"),
            ("a.rs", "    #[arg(long, conflicts_with = \"gone\")]\n    other: bool,"),
            ("a.rs", "fn a() {}\n#[cfg(test)]\nmod tests {\n    run([\"--gone\"]);\n}"),
        ] {
            assert!(!read(path, text).has_flag("--gone"), "{path}: {text}");
        }
        // Where flags are derived, a literal only uses one, perhaps of another program.
        let mut found = read("args.rs", "    #[arg(long)]\n    here: bool,");
        found.add("run.rs", "Command::new(\"git\").arg(\"--gone\")");
        assert!(found.has_flag("--here") && !found.has_flag("--gone"), "{found:?}");
        assert!(read("run.rs", "if word == \"--kept\" {").has_flag("--kept"));
        for path in ["tests/it/cli.rs", "docs/a.py", "README.md", "src/a_test.go", "src/a.test.ts"] {
            assert!(!is_code(path), "{path}");
        }
        for path in ["src/args.rs", "scripts/check", "bin/run", "main.py"] {
            assert!(is_code(path), "{path}");
        }
    }

    #[test]
    fn subcommands_are_defined_in_many_forms() {
        let found = read(
            "args.rs",
            "#[derive(Debug, Subcommand)]\npub enum Verb {\n    /// Check\n    SelfCheck,\n    Keep {\n        number: i64,\n    },\n\
             \x20   #[command(name = \"ls\")]\n    List(Args),\n}\nstruct Other;\nenum Plain {\n    Nothing,\n}\n",
        );
        for name in ["self-check", "keep", "ls", "list"] {
            assert!(found.has_subcommand(name), "{name}: {found:?}");
        }
        assert!(!found.has_subcommand("nothing"), "{found:?}");
        assert!(read("cli.py", "sub = parsers.add_parser('serve')").has_subcommand("serve"));
        assert!(read("cmd.go", "\tUse:   \"serve [port]\",").has_subcommand("serve"));
    }
}
