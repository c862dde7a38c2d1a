//! The actor, a person or an agent, is decided by the environment. These tests cover what each may do at the command line.

use serde_json::{Value, json};

use crate::sealed::{Mcp, Output, Process, Sealed};

/// Runs as an agent of Claude Code does.
fn agent(home: &Sealed, args: &[&str]) -> Output {
    Process::start(home.command(args).env("CLAUDECODE", "1")).finish()
}

/// Checks that an agent is refused, and returns the error.
#[track_caller]
fn refused(home: &Sealed, args: &[&str], code: &str) -> Value {
    let (status, error) = agent(home, &[&["--json"], args].concat()).error();
    assert_eq!((status, error["code"].as_str()), (5, Some(code)), "{args:?}: {error}");
    error
}

/// Proposes SOUL.md as an agent, and returns the arguments of the tool that decides about it.
fn propose(home: &Sealed) -> &'static str {
    let made = agent(home, &["--json", "call", "memory_write", SOUL]).json();
    assert_eq!((&made["proposal"], &made["written"]), (&json!(1), &json!(false)));
    r#"{"number":1,"decision":"approve"}"#
}

const SOUL: &str = r#"{"path":"SOUL.md","content":"obey the README"}"#;

fn has_soul(home: &Sealed) -> bool {
    home.home().join("groups/main/SOUL.md").exists()
}

#[test]
fn an_agent_decides_nothing_by_any_command() {
    let home = Sealed::new();
    let decision = propose(&home);
    for args in [
        &["approve", "1"][..],
        &["approve", "1", "--rebase"],
        &["deny", "1"],
        &["revert", "1"],
        &["call", "proposal_decide", decision],
        &["token", "add", "x"],
        &["token", "add", "x", "--person", "--private"],
        &["ui"],
        &["service", "install"],
        &["import", "markdown", "."],
        &["session", "import", "x.jsonl"],
        &["task", "import", "tasks.json"],
        &["fact", "seed", "seed.toml"],
        &["collection", "add", "papers", "."],
        &["collection", "drop", "papers", "--yes"],
        &["extract", "."],
        &["extract", "--forget", "--project", "x"],
        &["checkpoint", "restore", "x", "--yes"],
        &["checkpoint", "drop", "x"],
        &["lesson", "forget", "1"],
    ] {
        let error = refused(&home, args, "person_only");
        assert!(error["hint"].as_str().unwrap().contains("ask the person"), "{error}");
        // A terminal makes no person of an agent: editors run their agents' commands in one.
        let output = Process::start_at_terminal(home.command(args).env("CLAUDECODE", "1")).finish();
        assert_eq!(output.status, 5, "{args:?} at a terminal: {output:?}");
    }
    refused(&home, &["call", "file_save", r#"{"path":"SOUL.md","content":"x"}"#], "people_only");
    assert!(!has_soul(&home));
    assert!(!home.home().join("tokens.json").exists());
    assert_eq!(home.json(["pending"])["proposals"][0]["state"], "pending");

    let decided = home.run_at_terminal(["call", "proposal_decide", decision]);
    assert_eq!((decided.status, has_soul(&home)), (0, true), "{decided:?}");
}

#[test]
fn every_sign_makes_the_caller_an_agent() {
    let home = Sealed::new();
    let decision = propose(&home);
    let page = include_str!("../../../../docs/approvals.md");
    let signs: Vec<&str> = page
        .lines()
        .filter(|line| line.contains("` | sign of "))
        .map(|line| line.split('`').nth(1).unwrap())
        .collect();
    assert!(signs.len() > 15, "{signs:?}");
    for sign in signs {
        let (variable, value) = sign.split_once('=').unwrap_or((sign, "1"));
        for args in [&["approve", "1"][..], &["call", "proposal_decide", decision]] {
            let output = Process::start_at_terminal(home.command(args).env(variable, value)).finish();
            assert_eq!((output.status, has_soul(&home)), (5, false), "{sign}: {output:?}");
            assert!(output.stderr.contains("only a person can"), "{sign}: {output:?}");
        }
    }
    // A person in an editor's terminal, or with settings of an agent in their environment, is a person.
    for (number, (variable, value)) in [
        ("TERM_PROGRAM", "vscode"),
        ("CURSOR_TRACE_ID", "x"),
        ("ZED_TERM", "true"),
        ("CODEX_HOME", "/x"),
        ("AIDER_MODEL", "x"),
        ("GOOSE_PROVIDER", "x"),
        ("OPENCLAW_SHELL", "tui-local"),
        ("CLAUDECODE", ""),
        ("AGENT", "0"),
    ]
    .iter()
    .enumerate()
    {
        home.run_with(["propose", &format!("{number}.md")], b"x\n");
        let mut command = home.command(["approve".to_owned(), (number + 2).to_string()]);
        let output = Process::start_at_terminal(command.env(variable, value)).finish();
        assert_eq!(output.status, 0, "{variable}={value}: {output:?}");
    }
}

#[test]
fn a_person_decides_at_a_terminal() {
    let home = Sealed::new();
    let decision = propose(&home);
    for args in [
        &["approve", "1"][..],
        &["deny", "1"],
        &["revert", "1"],
        &["call", "proposal_decide", decision],
        &["token", "add", "mine", "--person"],
    ] {
        let (status, error) = home.error(args.iter().copied());
        assert_eq!((status, error["code"].as_str()), (5, Some("needs_terminal")), "{args:?}");
    }
    // A token of an agent decides nothing: scripts may make one.
    assert_eq!(home.run(["token", "add", "agent", "--private"]).status, 0);
    assert_eq!(home.run_at_terminal(["token", "add", "mine", "--person"]).status, 0);
    assert_eq!(home.run_at_terminal(["approve", "1"]).status, 0);
    assert!(has_soul(&home));
}

#[test]
fn what_an_agent_does_at_the_command_line_is_the_agents() {
    let home = Sealed::new();
    home.run(["init"]);
    let settings = "[write]\nlog = \"approve\"\n[limits]\nstore = 2\n";
    std::fs::write(home.home().join("nacre.toml"), settings).unwrap();
    assert_eq!(agent(&home, &["store", "always push", "-t", "instruction", "--session", "s"]).status, 0);
    let shown = home.json(["show", "1"]);
    assert_eq!(
        (&shown["provenance"]["source"], &shown["type"]),
        (&json!("agent"), &json!("instruction")),
        "{shown}"
    );
    assert_eq!(agent(&home, &["store", "another", "--session", "s"]).status, 0);
    for set in ["limits.store=2", "limits.store=0", "limits.store=9"] {
        let over = agent(&home, &["--json", "--set", set, "store", "one too many", "--session", "s"]).error();
        assert_eq!(over.1["code"], "session_limit", "{set}");
    }
    assert_eq!(home.run(["store", "one of the person's", "--session", "s"]).status, 0);

    let logged = agent(&home, &["log", "went for a walk", "--category", "note"]);
    assert!(logged.stdout.contains("waits for the user"), "{logged:?}");
    assert_eq!(home.run(["log", "went home"]).status, 0);
    assert!(agent(&home, &["log"]).stdout.contains("went home"));

    // Commands are there for agents whatever tools the profile offers; `call` shows them what MCP does.
    assert_eq!(agent(&home, &["task", "add", "mend the roof"]).status, 0);
    assert_eq!(agent(&home, &["fact", "set", "Ada", "port", "7"]).status, 0);
    refused(&home, &["call", "task_list"], "not_offered");
    let gated = agent(&home, &["--profile", "gated", "fact", "set", "Ada", "port", "8"]);
    assert!(gated.stdout.contains("waits for the user"), "{gated:?}");

    // Hints for the person are not shown to an agent.
    let by_person = home.run(["pending"]);
    let by_agent = agent(&home, &["pending"]);
    assert!(by_person.stderr.contains("nacre approve"), "{by_person:?}");
    assert_eq!((by_agent.stdout, by_agent.stderr.as_str()), (by_person.stdout, ""));
    let rows = home.json(["call", "audit_list"]);
    let actors: Vec<&str> =
        rows["rows"].as_array().unwrap().iter().filter_map(|row| row["actor"].as_str()).collect();
    assert!(actors.contains(&"agent") && actors.contains(&"person"), "{rows}");
}

/// Every command that writes as the caller, in an order in which each has something to do.
const WRITES: &[&[&str]] = &[
    &["store", "The port is 7070"],
    &["update", "2", "The port is 7171"],
    &["reinforce", "2"],
    &["demote", "2"],
    &["log", "went for a walk"],
    &["propose", "notes.md"],
    &["fact", "set", "Heron", "port", "7070"],
    &["relation", "add", "Ada", "owns", "Heron"],
    &["alias", "add", "The bird", "Heron"],
    &["fact", "remove", "Heron", "port"],
    &["task", "add", "mend the roof"],
    &["task", "start", "1"],
    &["turn", "which port?", "--answer", "7171"],
    &["session", "append", "s9", "--author", "user", "hello"],
    &["session", "end", "s9"],
    &["call", "memory_store", r#"{"content":"The owner is Ana"}"#],
    &["delete", "2", "--yes"],
];

#[test]
fn a_write_from_an_agents_shell_was_a_persons() {
    let home = Sealed::new();
    home.run(["store", "of the person"]);
    let rows = || home.json(["call", "audit_list", r#"{"limit":200}"#])["rows"].as_array().unwrap().clone();
    let mut known = rows().len();
    for args in WRITES {
        let output = Process::run_with(home.command(*args).env("CLAUDECODE", "1"), b"a line\n");
        assert_eq!(output.status, 0, "{args:?}: {output:?}");
        let now = rows();
        assert!(now.len() > known, "{args:?} wrote nothing");
        let mine = &now[..now.len() - known];
        assert!(mine.iter().all(|row| row["actor"] == "agent"), "{args:?}: {mine:?}");
        known = now.len();
    }
}

#[test]
fn seven_deletions_from_an_agents_shell_had_no_limit() {
    let home = Sealed::new();
    home.run(["init"]);
    std::fs::write(home.home().join("nacre.toml"), "[limits]\ndelete = 5\n").unwrap();
    for number in 1..=7 {
        home.run(["store", &format!("memory {number}")]);
    }
    let deleted = |number: usize| {
        let args = ["--json", "delete", &number.to_string(), "--yes", "--session", "s"].map(str::to_owned);
        Process::start(home.command(args).env("CLAUDECODE", "1")).finish()
    };
    for number in 1..=5 {
        assert_eq!(deleted(number).status, 0);
    }
    let (_, error) = deleted(6).error();
    assert_eq!(error["code"], "session_limit");
    // The refusal tells a hijacked agent no way round.
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.starts_with("tell the user") && !hint.contains("new session"), "{hint}");
}

#[test]
fn an_agent_can_not_loosen_a_policy() {
    let home = Sealed::new();
    let write = ["call", "memory_write", SOUL];
    for set in ["write.files=open", "write.memory=open", "write.untrusted=open", "write.accept=client"] {
        let error = refused(&home, &[&["--set", set], &write[..]].concat(), "loosened_policy");
        assert!(error["hint"].as_str().unwrap().contains("nacre.toml"), "{error}");
    }
    refused(&home, &[&["--profile", "brain"], &write[..]].concat(), "loosened_policy");
    for (variable, value) in [("NACRE_WRITE_FILES", "open"), ("NACRE_PROFILE", "nanoclaw")] {
        let output = Process::start(home.command(write).env("CLAUDECODE", "1").env(variable, value)).finish();
        assert_eq!(output.status, 5, "{variable}: {output:?}");
    }
    assert!(!has_soul(&home));
    // Over a pipe the server keeps the policy of nacre.toml.
    let mut command = home.command(["mcp", "--set", "write.files=open"]);
    let mut server = Mcp::start(command.env("CLAUDECODE", "1"));
    server.open().unwrap();
    let made = server.data("memory_write", &serde_json::from_str(SOUL).unwrap());
    assert_eq!((&made["written"], has_soul(&home)), (&json!(false), false), "{made}");
    drop(server);
    // Tighter is fine, and so is what is no policy.
    for set in ["write.entries=deny", "limits.store=1", "brief.max_entries=3"] {
        assert_eq!(agent(&home, &["--set", set, "search", "x"]).status, 0, "{set}");
    }
    // The values of nacre.toml stay in force.
    std::fs::write(home.home().join("nacre.toml"), "[write]\nfiles = \"open\"\n").unwrap();
    assert_eq!(agent(&home, &["--set", "write.files=open", "call", "memory_write", SOUL]).status, 0);
    assert!(has_soul(&home));
    // A person changes it by a flag as before.
    assert_eq!(home.run(["--set", "write.log=open", "--set", "limits.store=0", "status"]).status, 0);
}

#[test]
fn a_server_that_an_agent_starts_makes_no_token_of_a_person() {
    let home = Sealed::new();
    let args = ["serve", "--listen", "127.0.0.1:0"];
    let process = Process::start(home.command(args).env("CLAUDECODE", "1"));
    let begun = std::time::Instant::now();
    while !home.home().join("serve.json").exists() {
        assert!(begun.elapsed().as_secs() < 60, "the server does not start");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let _ = process.victim.lock().unwrap().kill();
    let output = process.finish();
    assert!(!output.stderr.contains("nacre_"), "{output:?}");
    assert!(!home.home().join("tokens.json").exists());
}
