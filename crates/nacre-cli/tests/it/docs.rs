//! Runs the commands that README and docs show, as a reader runs them, and compares the output that the page shows.
//!
//! The commands of a page run in order, in one fresh home, in a shell. [`FIXTURES`] provides files and memories,
//! [`PLACEHOLDERS`] the values that a reader fills in. Commands that can't run in a sealed test are listed in
//! [`PARSED`]. The program's own command line parses them, so that a misspelled name or flag fails. It also parses the
//! commands that running text and client settings mention.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::sealed::{Sealed, at_terminal_typing};

/// A script that prepares the home of a page. It runs once, before the first command that starts with `before`, or at
/// the start of the page if that is empty. `$GROUP` is the folder of the group, which exists.
struct Fixture {
    page: &'static str,
    before: &'static str,
    script: &'static str,
}

const fn fixture(page: &'static str, before: &'static str, script: &'static str) -> Fixture {
    Fixture { page, before, script }
}

const FIXTURES: &[Fixture] = &[
    fixture(
        "docs/approvals.md",
        "",
        r#"printf '# Memory\n- The dog is called Luna.\n' > $GROUP/MEMORY.md
        CLAUDECODE=1 nacre call memory_write '{"path": "MEMORY.md", "mode": "edit", "old": "The dog is called Luna.",
            "content": "The dog is called Stella.", "reason": "the user corrected the name"}'"#,
    ),
    fixture("docs/backup-and-upgrade.md", "", "nacre init; nacre group add heron"),
    fixture("docs/backup-and-upgrade.md", "nacre import database", "cp $GROUP/memory.db $GROUP/damaged-1.db"),
    fixture(
        "docs/everyday-use.md",
        "nacre file get",
        r"printf '# Decisions\n\n- Postgres\n' > $GROUP/memory/decisions.md",
    ),
    fixture("README.md", "nacre install", CURSOR),
    fixture("docs/clients/README.md", "nacre install", CURSOR),
    fixture("docs/getting-started.md", "nacre install", CURSOR),
    fixture("docs/everyday-use.md", "nacre pending", TWO_PROPOSALS),
    fixture("docs/getting-started.md", "nacre pending", TWO_PROPOSALS),
    fixture("docs/getting-started.md", "nacre import", OPENCLAW),
    fixture("docs/getting-started.md", "nacre import ~/Notes", NOTES),
    fixture("docs/getting-started.md", "nacre session import", CONVERSATION),
    fixture("docs/hooks.md", "echo", "nacre store 'I drink green tea in the morning' --type preference"),
    fixture("docs/import.md", "nacre import", OPENCLAW),
    fixture("docs/import.md", "nacre import ~/Notes", NOTES),
    fixture(
        "docs/import.md",
        "nacre import chatgpt",
        r#"echo '[{"id": "c1", "title": "Boats", "create_time": 1760000000, "mapping": {"a": {"id": "a", "parent": null,
            "children": [], "message": {"id": "a", "author": {"role": "user"}, "create_time": 1760000000,
            "content": {"content_type": "text", "parts": ["The boat is blue."]}}}}}]' > conversations.json"#,
    ),
    fixture(
        "docs/privacy.md",
        "",
        "for thing in boat mast sail; do nacre store \"The $thing is blue\"; done",
    ),
    fixture(
        "docs/projects.md",
        "nacre extract ~",
        r"mkdir -p ~/src/heron; printf '# Heron\n\nDecision: We use Postgres.\n' > ~/src/heron/README.md",
    ),
    fixture(
        "docs/projects.md",
        "nacre task import",
        r#"echo '{"tasks": [{"id": "TASK-009", "milestone": "M2", "priority": 1, "status": "pending",
            "description": "Paint the boat", "acceptance_criteria": [], "created": "2026-02-05", "completed": null,
            "blocked_by": []}]}' > tasks.json"#,
    ),
    fixture("docs/sessions.md", "nacre session import", CONVERSATION),
];

const TWO_PROPOSALS: &str =
    "echo '- The boat is blue.' | nacre file propose MEMORY.md; echo '- Petra' | nacre file propose USER.md";

const CURSOR: &str = "mkdir -p ~/.cursor; echo '{}' > ~/.cursor/mcp.json";

const NOTES: &str = "mkdir -p ~/Notes/.obsidian; echo 'The boat is blue.' > ~/Notes/boat.md";

const OPENCLAW: &str = r"mkdir -p ~/.openclaw/workspace
    printf '# Memory\n\n- The boat is blue.\n' > ~/.openclaw/workspace/MEMORY.md";

const CONVERSATION: &str = r#"mkdir -p ~/.claude/projects/heron
    echo '{"type": "user", "sessionId": "s1", "uuid": "u1", "timestamp": "2026-02-01T10:00:00Z",
    "message": {"role": "user", "content": "We chose Postgres."}}' | tr -d '\n' > ~/.claude/projects/heron/s1.jsonl"#;

/// Placeholders in the pages, and a value for each.
const PLACEHOLDERS: &[(&str, &str)] = &[
    ("damaged-….db", "damaged-1.db"),
    ("export.zip", "conversations.json"),
    ("session show ID", "session show s1"),
    ("my-agent --log-json", r#"echo '{"role": "user", "content": "At three."}'"#),
    // The pager of manuals is not on every machine.
    ("man -l -", "cat"),
    (" COMMAND", " status"),
    (" CLIENT", " claude-code"),
    (" ID", " 1"),
];

/// Nacre commands that are only parsed, and the reason for each.
const PARSED: &[(&str, &str)] = &[
    ("nacre ui", "it opens a browser and serves until it is stopped"),
    ("nacre serve", "it serves until it is stopped, on a port that may be taken; `serve.rs` runs it"),
    ("nacre admin", "it needs a database server; `team.rs` runs it"),
    ("nacre move", "it needs a database server; `team.rs` runs it"),
    ("nacre sync init https", "it needs a server with a certificate; `sync.rs` runs it over loopback"),
    ("nacre sync remove", "it needs a second machine; `sync.rs` runs it"),
    ("nacre sync join", "it asks for the phrase of another machine; `sync.rs` runs it"),
    ("nacre sync status --deleted", "it needs a deletion on a synced machine; `sync.rs` runs it"),
    ("nacre changes --device", "it needs a second machine; `sync.rs` runs it"),
    ("nacre show 12 --as-of", "it needs a memory that is a day old; `sync.rs` runs it"),
    ("nacre mcp", "it waits for a client; `hostile.rs` and `scripts/clients` run it"),
    (
        "nacre model install",
        "it needs the weights of MiniLM, which are not in the repository; `scripts/model` runs it",
    ),
    ("embedding.provider=minilm", "it needs the weights of MiniLM, which are not in the repository"),
];

/// Commands of other programs that are skipped, and the reason for each.
const OTHERS: &[(&str, &str)] = &[
    ("cargo ", "the build that tests run in uses the same folder"),
    ("git pull", "it needs the network"),
    ("pip ", "it needs the network"),
    ("uvx ", "it needs a published release; `scripts/packages` runs it from local files"),
    ("npx ", "it needs a published release; `scripts/packages` runs it from local files"),
    ("ssh-keygen ", "it needs the files of a release; `scripts/packages` runs the same"),
    ("sha256sum ", "it needs the files of a release"),
    ("NACRE_RELEASE_URL=", "it builds a release"),
    ("scripts/check", "it runs this test"),
    ("scripts/compare ", "it needs two builds of the program"),
    ("curl ", "it needs the server of `nacre serve`; `serve.rs` asks the same"),
    ("python3 examples/", "it needs the server of `nacre serve`; `scripts/clients` runs it"),
    ("claude mcp add", "it needs Claude Code"),
    ("openclaw ", "it needs OpenClaw; `scripts/agents` runs it"),
];

#[test]
fn every_command_of_the_documentation_works() {
    let mut failures = String::new();
    let mut uses = Uses::default();
    let mut seen = BTreeSet::new();
    for page in pages() {
        let text = std::fs::read_to_string(root().join(&page)).unwrap();
        let mut reader = Reader::new();
        reader.prepare(&page, "", &mut failures);
        for shown in commands(&text) {
            if let Some((start, _)) = OTHERS.iter().find(|(start, _)| shown.line.starts_with(start)) {
                uses.note(start);
                uses.others += 1;
                continue;
            }
            reader.prepare(&page, &shown.line, &mut failures);
            let line = filled(&shown.line, &mut uses);
            let known = PARSED.iter().find(|(part, _)| line.contains(part));
            let problem = if let Some((part, _)) = known {
                uses.note(part);
                uses.parsed += 1;
                reader.parse(&line)
            } else {
                uses.run += 1;
                reader.run(&line, shown.output.as_deref())
            };
            if let Err(problem) = problem {
                let _ = writeln!(failures, "{page}: $ {}\n{problem}", shown.line);
            }
        }
        for (number, fixture) in FIXTURES.iter().enumerate().filter(|(_, fixture)| fixture.page == page) {
            if !reader.prepared.contains(&number) {
                let _ = writeln!(failures, "{page}: no command `{}` for its fixture", fixture.before);
            }
        }
        for line in mentions(&text) {
            uses.mentioned += 1;
            // Many pages mention the same command.
            if !seen.insert(line.clone()) {
                continue;
            }
            if let Err(problem) = reader.parse(&filled(&line, &mut uses)) {
                let _ = writeln!(failures, "{page}: `{line}`\n{problem}");
            }
        }
    }
    for (name, _) in PLACEHOLDERS.iter().chain(PARSED).chain(OTHERS) {
        if !uses.names.contains(name) {
            let _ = writeln!(failures, "no page has `{name}`: take it out of the table");
        }
    }
    eprintln!(
        "commands of the documentation: {} run, {} only parsed, {} of other programs left out; {} mentions parsed",
        uses.run, uses.parsed, uses.others, uses.mentioned
    );
    for (part, why) in PARSED.iter().chain(OTHERS) {
        eprintln!("    `{part}`: {why}");
    }
    assert!(failures.is_empty(), "\n{failures}");
    assert!(uses.run > 150 && uses.mentioned > 150, "the commands are found");
}

/// Counts the commands by treatment, and collects the rows of the tables that matched.
#[derive(Default)]
struct Uses {
    run: usize,
    parsed: usize,
    others: usize,
    mentioned: usize,
    names: Vec<&'static str>,
}

impl Uses {
    fn note(&mut self, name: &'static str) {
        self.names.push(name);
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the pages to check: README, docs and docs/clients.
fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned()];
    for folder in ["docs", "docs/clients"] {
        let files = std::fs::read_dir(root().join(folder)).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        pages.extend(names.filter(|name| name.ends_with(".md")).map(|name| format!("{folder}/{name}")));
    }
    pages.sort();
    pages
}

/// One command of a page.
#[derive(Debug, PartialEq)]
struct DocumentedCommand {
    line: String,
    /// The output that the page shows; `None` if it shows none.
    output: Option<String>,
}

/// Returns the commands in the fenced blocks of a page. In a `console` block they follow a `$`, and the lines after one
/// are its output.
fn commands(text: &str) -> Vec<DocumentedCommand> {
    let mut found: Vec<DocumentedCommand> = Vec::new();
    let mut fence = None;
    for line in text.lines() {
        match (fence, line.strip_prefix("```")) {
            (None, Some(language)) => fence = Some(language.trim()),
            (Some(_), Some(_)) => fence = None,
            (Some("console"), None) => match (line.strip_prefix("$ "), found.last_mut()) {
                (Some(command), _) => {
                    let command = uncommented(command);
                    found.push(DocumentedCommand { line: command.to_owned(), output: None });
                }
                (None, Some(DocumentedCommand { output, .. })) => {
                    let output = output.get_or_insert_default();
                    output.push_str(line);
                    output.push('\n');
                }
                (None, None) => {}
            },
            (Some("sh"), None) => {
                let command = uncommented(line);
                if !command.is_empty() {
                    found.push(DocumentedCommand { line: command.to_owned(), output: None });
                }
            }
            // In a block without a language, only Nacre's own commands count.
            (Some(""), None) if line.starts_with("nacre ") => {
                found.push(DocumentedCommand { line: uncommented(line).to_owned(), output: None });
            }
            _ => {}
        }
    }
    found
}

/// Removes the comment from a line of shell code.
fn uncommented(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') if before == ' ' => return line[..at].trim(),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            _ => {}
        }
        before = c;
    }
    line.trim()
}

/// Returns the commands of Nacre that the text mentions: in code of a paragraph, and in settings of clients.
fn mentions(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |text: &str, mark: char| {
        let parts = text.split(mark).skip(1).step_by(2);
        found.extend(parts.filter(|part| part.starts_with("nacre ")).map(str::to_owned));
    };
    let mut fence = None;
    let mut paragraph = String::new();
    for line in text.lines() {
        match (fence, line.strip_prefix("```")) {
            (None, Some(language)) => fence = Some(language.trim()),
            (Some(_), Some(_)) => fence = None,
            (Some("json" | "yaml" | "toml"), None) => add(line, '"'),
            (Some(_), None) => {}
            // A command may go on in the next line.
            (None, None) if !line.is_empty() => {
                paragraph.push_str(line);
                paragraph.push(' ');
                continue;
            }
            (None, None) => {}
        }
        add(&std::mem::take(&mut paragraph), '`');
    }
    add(&paragraph, '`');
    found
}

/// Returns the command with values for its placeholders.
fn filled(line: &str, uses: &mut Uses) -> String {
    let mut line = line.to_owned();
    for (name, value) in PLACEHOLDERS {
        if line.contains(name) {
            uses.note(name);
            line = line.replace(name, value);
        }
    }
    line
}

/// The reader of one page: a user folder, a shell, and the program in the PATH.
struct Reader {
    sealed: Sealed,
    /// The fixtures that have run. Each runs once.
    prepared: Vec<usize>,
}

impl Reader {
    fn new() -> Reader {
        let reader = Reader { sealed: Sealed::new(), prepared: Vec::new() };
        for folder in ["bin", "work", "user/.local/share/nacre/groups/main/memory"] {
            std::fs::create_dir_all(reader.sealed.beside(folder)).unwrap();
        }
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_nacre"), reader.sealed.beside("bin/nacre")).unwrap();
        reader
    }

    /// Runs a script with a terminal as input. Every question is answered with yes.
    fn shell(&self, script: &str) -> (i32, String, String) {
        let mut command = self.sealed.command_of("sh", ["-c", script]);
        command
            .env_remove("NACRE_HOME")
            .env("HOME", self.sealed.beside("user"))
            .env("GROUP", self.sealed.beside("user/.local/share/nacre/groups/main"))
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", self.sealed.beside("bin")))
            .current_dir(self.sealed.beside("work"));
        let done = at_terminal_typing(&mut command, "y\ny\ny\n");
        (done.status, done.stdout, done.stderr)
    }

    /// Runs the fixtures that are due before a command.
    fn prepare(&mut self, page: &str, line: &str, failures: &mut String) {
        for (number, fixture) in FIXTURES.iter().enumerate().filter(|(_, fixture)| fixture.page == page) {
            let is_due = fixture.before.is_empty() == line.is_empty() && line.starts_with(fixture.before);
            if is_due && !self.prepared.contains(&number) {
                self.prepared.push(number);
                let (status, stdout, stderr) = self.shell(&format!("set -e\n{}", fixture.script));
                if status != 0 {
                    let _ =
                        writeln!(failures, "{page}: its fixture fails\n{}{stdout}{stderr}", fixture.script);
                }
            }
        }
    }

    /// Runs a command. It must succeed and print the expected output.
    fn run(&self, line: &str, expected: Option<&str>) -> Result<(), String> {
        let (status, stdout, stderr) = self.shell(line);
        if status != 0 {
            return Err(format!("exit code {status}\n{stdout}{stderr}"));
        }
        match expected {
            Some(expected) if !fits(expected.trim_end(), stdout.trim_end()) => {
                Err(format!("the page shows\n{expected}the program prints\n{stdout}"))
            }
            _ => Ok(()),
        }
    }

    /// Parses a Nacre command without running it. Clap checks all arguments before `--help`.
    fn parse(&self, line: &str) -> Result<(), String> {
        let from = line.find("nacre ").ok_or("there is no command of Nacre")?;
        let command = line[from..].trim_end_matches('&');
        let (status, _, stderr) = self.shell(&format!("{command} --help"));
        if status == 0 { Ok(()) } else { Err(stderr) }
    }
}

/// Tells whether a text matches the output on a page. `…` matches anything.
fn fits(shown: &str, text: &str) -> bool {
    let mut parts = shown.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut is_open = false;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        is_open = part.is_empty();
    }
    rest.is_empty() || is_open
}

#[test]
fn commands_and_their_output_are_found() {
    let text = "Text with `nacre doctor` and `nacre show\n3`.\n\n```console\n$ nacre store \"a # b\"   # stores\nStored.\n\
                Twice.\n$ nacre get\n```\n\n```sh\n# a comment\nnacre ui  # opens\n```\n\n```json\n{ \"a\": \"nacre mcp\" }\n```\n";
    let shown = |line: &str, output: Option<&str>| DocumentedCommand {
        line: line.into(),
        output: output.map(Into::into),
    };
    assert_eq!(
        commands(text),
        [
            shown("nacre store \"a # b\"", Some("Stored.\nTwice.\n")),
            shown("nacre get", None),
            shown("nacre ui", None)
        ]
    );
    assert_eq!(mentions(text), ["nacre doctor", "nacre show 3", "nacre mcp"]);
    assert!(fits("a … c", "a b c") && fits("a…", "a b c") && fits("a", "a"));
    assert!(!fits("a", "a b") && !fits("a…c", "a b") && !fits("…c", "a c b"));
}

/// Without this, the parse-only check could pass for every text.
#[test]
fn a_misspelt_command_is_noticed() {
    let reader = Reader::new();
    assert_eq!(reader.parse("nacre serve --listen 127.0.0.1:0 &"), Ok(()));
    for wrong in ["nacre serv", "nacre serve --listn 1", "nacre mcp --tools nothing", "nacre --grup x ui"] {
        assert!(reader.parse(wrong).is_err(), "{wrong}");
    }
    assert!(reader.run("nacre pending 7", None).is_err());
    assert!(reader.run("nacre pending", Some("Something waits.\n")).is_err());
}
