//! Connected agents. Each test is named for what went wrong before.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::install::{User, nacre};
use crate::sealed::{Output, Process};

/// Runs a command of a client's settings as the client does: in a shell, with JSON on standard input.
fn run_line(user: &User, line: &str, input: &Value) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", line]).env_clear().env("HOME", &user.folder).env("NACRE_NOW", crate::sealed::NOW);
    command.env("NACRE_TURN_TIME_LIMIT_MS", "60000");
    Process::run_with(&mut command, input.to_string().as_bytes())
}

/// The command of an event in a file that lists commands directly under it.
fn line(user: &User, file: &str, event: &str) -> String {
    let settings: Value = serde_json::from_str(&user.read(file)).unwrap();
    settings["hooks"][event][0]["command"].as_str().unwrap_or_else(|| panic!("{settings}")).to_owned()
}

fn json_of(output: &Output) -> Value {
    assert_eq!(output.status, 0, "{output:?}");
    serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("not JSON: {output:?}"))
}

/// Waits until a session holds these texts.
fn kept(user: &User, session: &str, expected: &[&str]) {
    for _ in 0..1_000 {
        let output = user.sealed.run(["--json", "session", "show", session]);
        let shown: Value = serde_json::from_str(&output.stdout).unwrap_or_default();
        let messages = shown["messages"].as_array().cloned().unwrap_or_default();
        let texts: Vec<String> = messages.iter().map(|one| one["text"].to_string()).collect();
        if expected.iter().all(|expected| texts.iter().any(|text| text.contains(expected))) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("session {session} does not hold {expected:?}");
}

#[test]
fn install_did_not_say_that_conversations_are_kept() {
    let user = User::new();
    let folder = user.sealed.home().join("groups/main");
    let said = user.install(&["claude-code", "--dry-run"]);
    let lines: Vec<&str> = said.lines().take(4).collect();
    assert!(lines[0].starts_with("Tools: ") && lines[0].contains(" tools over MCP"), "{said}");
    assert!(lines[1].starts_with("Context: at the start of a session"), "{said}");
    assert!(lines[1].contains("before a message"), "{said}");
    assert!(
        lines[2].starts_with("Conversations: from now on what you and the agent write is kept"),
        "{said}"
    );
    assert!(lines[2].contains(folder.to_str().unwrap()) && lines[2].contains("this machine only"), "{said}");
    assert!(lines[3].starts_with("Turn off: `nacre uninstall claude-code` undoes this"), "{said}");
    assert!(lines[3].contains("nacre config set turn.archive false"), "{said}");
    assert_eq!(
        user.install(&["claude-code"]).lines().take(4).collect::<Vec<_>>(),
        lines,
        "not only in a dry run"
    );

    let said = user.install(&["codex", "--set", "turn.archive=false"]);
    assert!(said.contains("Conversations: not kept, because `turn.archive` is off."), "{said}");
    let said = user.install(&["zed"]);
    assert!(
        said.contains("Context: nothing is added by itself") && said.contains("Conversations: not kept."),
        "{said}"
    );
    let said = user.install(&["vscode"]);
    assert!(said.contains("what you write is kept") && !said.contains("before a message"), "{said}");
    // Several at once: four lines in all.
    let said = user.install(&["cursor", "windsurf", "--dry-run"]);
    assert_eq!(said.matches("Conversations: ").count(), 1, "{said}");
    assert!(said.contains("the few memories that fit it (Cursor)"), "{said}");
}

/// Each client's own words: the events with their input, where the context of a session's start and of a message is in the
/// answer, and what is archived.
#[test]
fn cursor_windsurf_and_vs_code_had_tools_only() {
    struct Case {
        client: &'static str,
        file: &'static str,
        start: Option<(&'static str, Value, &'static str)>,
        message: (&'static str, Value, Option<&'static str>),
        answer: (&'static str, Value),
        kept: &'static [&'static str],
    }
    let cases = [
        Case {
            client: "cursor",
            file: ".cursor/hooks.json",
            start: Some((
                "sessionStart",
                json!({ "session_id": "s1", "conversation_id": "s1" }),
                "/additional_context",
            )),
            message: (
                "beforeSubmitPrompt",
                json!({ "conversation_id": "s1", "generation_id": "g", "prompt": "Which tea do I drink?" }),
                Some("/additional_context"),
            ),
            answer: ("afterAgentResponse", json!({ "conversation_id": "s1", "text": "You drink lapsang." })),
            kept: &["Which tea do I drink?", "You drink lapsang."],
        },
        Case {
            client: "vscode",
            file: ".copilot/hooks/nacre.json",
            start: Some((
                "SessionStart",
                json!({ "hookEventName": "SessionStart", "sessionId": "s1", "source": "new" }),
                "/hookSpecificOutput/additionalContext",
            )),
            message: (
                "UserPromptSubmit",
                json!({ "hookEventName": "UserPromptSubmit", "sessionId": "s1", "prompt": "Which tea do I drink?" }),
                Some("/hookSpecificOutput/additionalContext"),
            ),
            answer: (
                "Stop",
                json!({ "hookEventName": "Stop", "sessionId": "s1", "stop_hook_active": false }),
            ),
            kept: &["Which tea do I drink?"],
        },
        Case {
            client: "windsurf",
            file: ".codeium/windsurf/hooks.json",
            start: None,
            message: (
                "pre_user_prompt",
                json!({ "agent_action_name": "pre_user_prompt", "trajectory_id": "s1", "tool_info": { "user_prompt": "Which tea do I drink?" } }),
                None,
            ),
            answer: (
                "post_cascade_response",
                json!({ "agent_action_name": "post_cascade_response", "trajectory_id": "s1", "tool_info": { "response": "You drink lapsang." } }),
            ),
            kept: &["Which tea do I drink?", "You drink lapsang."],
        },
    ];
    for Case { client, file, start, message, answer, kept: expected } in cases {
        let user = User::new();
        user.sealed.json(["store", "The user drinks lapsang tea", "--type", "preference"]);
        user.install(&[client]);
        if let Some((event, input, place)) = start {
            let answer = json_of(&run_line(&user, &line(&user, file, event), &input));
            let context = answer.pointer(place).and_then(Value::as_str);
            assert!(context.is_some_and(|context| context.contains("lapsang tea")), "{client}: {answer}");
        }
        let (event, input, place) = message;
        let answered = json_of(&run_line(&user, &line(&user, file, event), &input));
        let context = place.and_then(|place| answered.pointer(place)?.as_str());
        assert_eq!(
            context.is_some_and(|context| context.contains("lapsang tea")),
            place.is_some(),
            "{client}: {answered}"
        );
        let (event, input) = answer;
        assert_eq!(json_of(&run_line(&user, &line(&user, file, event), &input)), json!({}), "{client}");
        kept(&user, "s1", expected);
        let doctor = user.run(&["doctor"]).stdout;
        assert!(doctor.contains("hooks last ran 2026-02-18 14:30 (Stop)"), "{client}: {doctor}");
    }
}

#[test]
fn cursor_waited_for_permission_after_a_failed_hook() {
    let user = User::new();
    user.install(&["cursor"]);
    let line = line(&user, ".cursor/hooks.json", "beforeSubmitPrompt");
    let input = json!({ "conversation_id": "s1", "prompt": "Nothing is stored" });
    assert_eq!(json_of(&run_line(&user, &line, &input)), json!({ "continue": true }));
    fs::write(user.sealed.home().join("nacre.toml"), "broken = [").unwrap();
    assert_eq!(json_of(&run_line(&user, &line, &input)), json!({ "continue": true }));
}

const FLAT_HOOKS: &str = r#"{
  // Mine.
  "hooks": {
    "beforeSubmitPrompt": [{ "command": "./audit.sh" }],
    "UserPromptSubmit": [{ "type": "command", "command": "./audit.sh" }],
    "pre_user_prompt": [
      { "command": "./audit.sh", "show_output": true } // loud
    ]
  },
  "theme": "dark"
}
"#;

#[test]
fn hooks_of_others_stay_and_come_back() {
    for (client, file) in [
        ("cursor", ".cursor/hooks.json"),
        ("vscode", ".copilot/hooks/nacre.json"),
        ("windsurf", ".codeium/windsurf/hooks.json"),
    ] {
        for text in [
            FLAT_HOOKS,
            "",
            "{}",
            "{\"version\": 1, \"hooks\": {}}",
            "{ \"hooks\": {}, \"theme\": \"dark\" }",
        ] {
            let user = User::new();
            user.write(file, text);
            let before = user.all();
            user.install(&[client]);
            let written = user.read(file);
            assert!(
                written.contains(nacre())
                    && written.matches("./audit.sh").count() == text.matches("./audit.sh").count()
            );
            assert!(user.install(&[client]).contains("nothing to do"), "{client}: {written}");
            // The program has moved, or the flags are others: the hook is updated, not added again.
            user.install(&[client, "--group", "work"]);
            assert_eq!(
                user.read(file).matches(" hook ").count(),
                written.matches(" hook ").count(),
                "{client}"
            );
            user.run(&["uninstall", client]);
            assert_eq!(user.all(), before, "{client}: to the byte");

            user.install(&[client]);
            user.write(file, &user.read(file).replace("dark", "light"));
            user.run(&["uninstall", client]);
            assert_eq!(user.read(file), text.replace("dark", "light"), "{client}: changed meanwhile");
        }
        let user = User::new();
        user.install(&[client]);
        user.run(&["uninstall", client]);
        assert_eq!(user.all(), [], "{client}: there was nothing before");
        user.write(file, "{\"hooks\": []}");
        let output = user.run(&["install", client]);
        assert!(output.status == 2 && output.stderr.contains("`hooks` in it is not an object"), "{output:?}");
    }
}

#[test]
fn vs_code_ran_the_hooks_of_claude_code_too() {
    let user = User::new();
    user.sealed.json(["store", "The user drinks lapsang tea", "--type", "preference"]);
    user.install(&["claude-code"]);
    let settings: Value = serde_json::from_str(&user.read(".claude/settings.json")).unwrap();
    let line = settings["hooks"]["SessionStart"][0]["hooks"][0]["command"].as_str().unwrap().to_owned();
    let input = json!({ "hookEventName": "SessionStart", "sessionId": "v", "source": "new" });
    assert!(
        run_line(&user, &line, &input).stdout.contains("lapsang"),
        "without hooks of its own it gets these"
    );
    user.install(&["vscode"]);
    assert_eq!(json_of(&run_line(&user, &line, &input)), json!({}), "it gets everything twice");
    let claude = json!({ "hook_event_name": "SessionStart", "session_id": "c", "source": "startup" });
    assert!(run_line(&user, &line, &claude).stdout.contains("lapsang"), "Claude Code itself still gets it");
}

#[test]
fn an_agent_without_hooks_forgot_to_search() {
    let project = |user: &User| Path::new(&user.sealed.beside("")).join(".cursor/rules/nacre.mdc");
    let user = User::new();
    let said = user.install(&["cursor", "--rules"]);
    assert!(said.contains("nacre.mdc written"), "{said}");
    let rule = fs::read_to_string(project(&user)).unwrap();
    assert!(
        rule.starts_with("---\n") && rule.contains("alwaysApply: true") && rule.contains("memory_search"),
        "{rule}"
    );
    assert!(user.install(&["cursor", "--rules"]).contains("nothing to do"));
    let output = user.run(&["uninstall", "cursor"]);
    assert!(output.stdout.contains("nacre.mdc removed") && !project(&user).exists(), "{output:?}");
    assert_eq!(user.all(), []);

    for (client, file) in [
        ("vscode", ".config/Code/User/prompts/nacre.instructions.md"),
        ("windsurf", ".codeium/windsurf/memories/global_rules.md"),
        ("opencode", ".config/opencode/AGENTS.md"),
    ] {
        let user = User::new();
        user.install(&[client]);
        assert!(!user.folder.join(file).exists(), "{client}: only on request");
        user.install(&[client, "--rules"]);
        assert!(user.read(file).contains("memory_search"), "{client}");
        user.run(&["uninstall", client]);
        assert_eq!(user.all(), [], "{client}");
    }
    // A file that others write too.
    for text in ["# Rules\n\nUse tabs.\n", "Use tabs.", "Use tabs.\r\nAnd spaces.\r\n", ""] {
        let user = User::new();
        let file = ".codeium/windsurf/memories/global_rules.md";
        user.write(file, text);
        let before = user.all();
        user.install(&["windsurf", "--rules"]);
        assert!(user.read(file).starts_with(text));
        user.run(&["uninstall", "windsurf"]);
        assert_eq!(user.all(), before, "to the byte");
        user.install(&["windsurf", "--rules"]);
        user.write(file, &user.read(file).replace("tabs", "four tabs"));
        user.run(&["uninstall", "windsurf"]);
        assert_eq!(user.read(file), text.replace("tabs", "four tabs"), "changed meanwhile");
    }
    // A file of the user's own under our name.
    let user = User::new();
    user.write(".config/Code/User/prompts/nacre.instructions.md", "My own.\n");
    let output = user.run(&["install", "vscode", "--rules"]);
    assert!(output.status == 2 && output.stderr.contains("was not written by Nacre"), "{output:?}");
    assert_eq!(user.all().len(), 1, "nothing was written");
    let output = user.run(&["install", "zed", "--rules"]);
    assert!(output.status == 2 && output.stderr.contains("windsurf"), "{output:?}");
}

#[test]
fn doctor_did_not_know_whether_hooks_ran() {
    let user = User::new();
    user.sealed.json(["store", "The user drinks lapsang tea", "--type", "preference"]);
    let doctor = |user: &User| user.run(&["doctor"]).stdout;
    let before = doctor(&user);
    assert!(!before.contains("client"), "no agent is here: {before}");
    user.write(".codex/auth.json", "{}");
    user.install(&["claude-code"]);
    user.install(&["zed"]);
    let said = doctor(&user);
    assert!(said.contains("Claude Code: connected, but no hook has run yet"), "{said}");
    assert!(said.contains("Codex: not connected; `nacre install codex` connects it"), "{said}");
    assert!(said.contains("Zed: connected; it has no hooks"), "{said}");

    let database = user.sealed.database("main");
    let memory = fs::read(&database).unwrap();
    let settings: Value = serde_json::from_str(&user.read(".claude/settings.json")).unwrap();
    let line = settings["hooks"]["SessionStart"][0]["hooks"][0]["command"].as_str().unwrap();
    let input = |session: &str| {
        let transcript = format!("/home/me/.claude/projects/x/{session}.jsonl");
        json!({ "hook_event_name": "SessionStart", "session_id": session, "transcript_path": transcript })
    };
    assert!(run_line(&user, line, &input("s1")).stdout.contains("lapsang"));
    assert!(fs::read(&database).unwrap() == memory, "a read writes nothing into the memory");
    let said = doctor(&user);
    assert!(said.contains("Claude Code: hooks last ran 2026-02-18 14:30 (SessionStart)"), "{said}");

    // A run that failed says why.
    fs::write(user.sealed.home().join("nacre.toml"), "broken = [").unwrap();
    assert_eq!(json_of(&run_line(&user, line, &input("s2"))), json!({}));
    fs::remove_file(user.sealed.home().join("nacre.toml")).unwrap();
    let said = doctor(&user);
    assert!(said.contains("(SessionStart); that run failed: "), "{said}");
    // A home that is not there is not made for it.
    let empty = User::new();
    empty.install(&["claude-code"]);
    run_line(
        &empty,
        &line.replace(user.sealed.home().to_str().unwrap(), empty.sealed.home().to_str().unwrap()),
        &input("s3"),
    );
    assert!(!empty.sealed.home().exists());
}

#[test]
fn two_memories_were_on_and_nobody_said_so() {
    let user = User::new();
    let hint = "Claude Code's own memory is on too";
    assert!(!user.install(&["claude-code", "--dry-run"]).contains(hint));
    user.write(".claude/projects/-src-heron/memory/MEMORY.md", "- [Tea](tea.md)\n");
    let said = user.install(&["claude-code"]);
    assert!(said.contains(hint) && said.contains("autoMemoryEnabled"), "{said}");
    assert!(user.run(&["doctor"]).stdout.contains("its own memory is on too"));
    user.run(&["uninstall", "claude-code"]);
    user.write(".claude/settings.json", "{ \"autoMemoryEnabled\": false }");
    assert!(!user.install(&["claude-code"]).contains(hint), "it was turned off");
    user.write(".codex/memories/MEMORY.md", "Tea.\n");
    assert!(user.install(&["codex"]).contains("Codex's own memory is on too"));
    user.write(".gemini/GEMINI.md", "## Gemini Added Memories\n- Tea\n");
    assert!(user.install(&["gemini-cli"]).contains("Gemini CLI's own memory is on too"));
    user.write(".config/Code/User/settings.json", "{ \"github.copilot.chat.tools.memory.enabled\": true }");
    assert!(user.install(&["vscode"]).contains("VS Code's own memory is on too"));
}

/// OpenCode's plugin, run by Node as OpenCode would.
#[test]
fn opencode_had_tools_only() {
    let user = User::new();
    user.sealed.json(["store", "The user drinks lapsang tea", "--type", "preference"]);
    user.install(&["opencode"]);
    let plugin = user.folder.join(".config/opencode/plugins/nacre.js");
    assert!(user.read(".config/opencode/plugins/nacre.js").contains(nacre()));
    let script = user.folder.join("run.mjs");
    let calls = r#"
        const { NacrePlugin } = await import(process.argv[2]);
        const messages = async () => ({ data: [
            { info: { role: "user" }, parts: [{ type: "text", text: "Which tea do I drink?" }] },
            { info: { role: "assistant" }, parts: [{ type: "text", text: "You drink lapsang." }] },
        ] });
        const hooks = await NacrePlugin({ client: { session: { messages } }, directory: "/src" });
        const system = [];
        await hooks["experimental.chat.system.transform"]({ sessionID: "s1" }, { system });
        const parts = [{ id: "prt_1", type: "text", text: "Which tea do I drink?" }];
        await hooks["chat.message"]({ sessionID: "s1" }, { message: { id: "msg_1" }, parts });
        await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s1" } } });
        // A subagent's messages are not the user's.
        await hooks.event({ event: { type: "session.created", properties: { info: { id: "s2", parentID: "s1" } } } });
        const other = [{ id: "prt_2", type: "text", text: "Which tea do I drink?" }];
        await hooks["chat.message"]({ sessionID: "s2" }, { message: { id: "msg_2" }, parts: other });
        console.log(JSON.stringify({ system, parts, other }));
    "#;
    fs::write(&script, calls).unwrap();
    // Node takes a file for a module by its package or its ending; OpenCode's Bun does not ask.
    fs::write(user.folder.join(".config/opencode/plugins/package.json"), "{\"type\": \"module\"}").unwrap();
    let mut command = Command::new("node");
    command
        .arg(&script)
        .arg(&plugin)
        .env_clear()
        .env("HOME", &user.folder)
        .env("NACRE_NOW", crate::sealed::NOW);
    command.env("NACRE_TURN_TIME_LIMIT_MS", "60000").stdin(Stdio::null());
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    let Ok(output) = command.output() else {
        eprintln!("node is not here: OpenCode's plugin was not run");
        return;
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    let done: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{stderr}"));
    assert!(done["system"][0].as_str().unwrap().contains("lapsang"), "{done}");
    assert_eq!(done["parts"][1]["synthetic"], true, "{done}");
    assert!(done["parts"][1]["text"].as_str().unwrap().contains("lapsang"), "{done}");
    assert_eq!(done["other"].as_array().unwrap().len(), 1, "{done}");
    kept(&user, "s1", &["Which tea do I drink?", "You drink lapsang."]);
    assert!(user.run(&["doctor"]).stdout.contains("OpenCode: hooks last ran"));
    fs::remove_file(user.folder.join(".config/opencode/plugins/package.json")).unwrap();
    user.run(&["uninstall", "opencode"]);
    assert_eq!(user.all().len(), 1, "only the script is left");
}
