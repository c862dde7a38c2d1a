//! Writes that wait for a person: shown, decided, put to the person by a client; processes killed meanwhile.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::sealed::{Mcp, Process, Sealed};

fn put(home: &Sealed, path: &str, bytes: impl AsRef<[u8]>) {
    let file = home.home().join("groups/main").join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, bytes).unwrap();
}

fn read(home: &Sealed, path: &str) -> Option<Vec<u8>> {
    std::fs::read(home.home().join("groups/main").join(path)).ok()
}

fn text(home: &Sealed, path: &str) -> String {
    String::from_utf8(read(home, path).unwrap()).unwrap()
}

/// Proposes, and returns the number.
fn propose(home: &Sealed, path: &str, after: &[u8]) -> String {
    let output = home.run_with(["--json", "propose", path, "--reason", "a test"], after);
    assert_eq!(output.status, 0, "{output:?}");
    serde_json::from_str::<Value>(&output.stdout).unwrap()["number"].to_string()
}

#[test]
fn a_proposal_from_the_agent_to_the_file_and_back() {
    let home = Sealed::new();
    put(&home, "MEMORY.md", "# Memory\n- The dog is called Luna.\n");
    let mut agent = home.mcp();
    let edit = json!({ "path": "MEMORY.md", "mode": "edit", "old": "Luna", "content": "Stella", "reason": "the user said so" });
    let made = agent.data("memory_write", &edit);
    assert_eq!((&made["proposal"], &made["written"]), (&json!(1), &json!(false)));
    let listed = home.run(["pending"]);
    assert_eq!(
        listed.stdout,
        "   1 MEMORY.md  +1 -1  by agent (today) private\n     why: the user said so\n"
    );
    assert!(listed.stderr.contains("nacre approve"));
    let shown = home.run(["proposal", "show", "1"]).stdout;
    assert!(
        shown.contains(
            "@@ -1,2 +1,2 @@\n # Memory\n-- The dog is called Luna.\n+- The dog is called Stella.\n"
        ),
        "{shown}"
    );
    assert_eq!(home.run(["pending", "1"]).stdout, shown);
    assert_eq!(home.json_at_terminal(["approve", "1"])["proposals"][0]["state"], "approved");
    assert_eq!(text(&home, "MEMORY.md"), "# Memory\n- The dog is called Stella.\n");
    assert_eq!(home.run(["pending"]).stdout, "Nothing waits for your approval.\n");
    assert_eq!(
        agent.data("memory_search", &json!({ "query": "Stella", "scope": ["memory"] }))["hits"][0]["source"],
        "MEMORY.md:1-2"
    );
    assert_eq!(home.run_at_terminal(["revert", "1"]).status, 0);
    assert_eq!(text(&home, "MEMORY.md"), "# Memory\n- The dog is called Luna.\n");
    assert_eq!(home.json(["pending", "--all"])["proposals"][0]["state"], "reverted");

    // Several at once: what goes wrong with one keeps no other.
    for path in ["a.md", "b.md", "c.md"] {
        propose(&home, path, b"x\n");
    }
    put(&home, "b.md", "mine\n");
    let output = home.run_at_terminal(["--json", "approve", "2", "3", "4", "9"]);
    let answer: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(output.status, 4);
    assert_eq!(answer["proposals"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&answer["failed"][0]["code"], &answer["failed"][1]["code"]),
        (&json!("proposal_conflict"), &json!("no_proposal"))
    );
    let conflict = home.run_at_terminal(["approve", "3"]);
    assert_eq!(conflict.status, 4);
    assert!(conflict.stdout.contains("changes in the file since then"), "{conflict:?}");
    assert!(home.run(["pending"]).stdout.contains("conflict: the file has changed since"));
    assert_eq!(home.json_at_terminal(["deny", "3", "--reason", "no"])["proposals"][0]["answer"], "no");
    assert_eq!(home.run_at_terminal(["--json", "approve", "3"]).error().1["code"], "already_decided");
    assert_eq!(text(&home, "b.md"), "mine\n");
}

#[test]
fn the_advice_on_a_conflict_contradicted_itself() {
    let home = Sealed::new();
    let base = "# Memory\n\none\n\ntwo\n\nthree\n\nfour\n\nfive\n";
    put(&home, "MEMORY.md", base);
    let mergeable = propose(&home, "MEMORY.md", base.replace("five", "FIVE").as_bytes());
    let same_line = propose(&home, "MEMORY.md", base.replace("one", "uno").as_bytes());
    put(&home, "MEMORY.md", base.replace("one", "eins"));
    for (number, way, not) in
        [(mergeable, "--rebase` merges", "can't be merged"), (same_line, "can't be merged", "--rebase")]
    {
        let decided = home.run_at_terminal(["approve", &number]);
        assert_eq!(decided.status, 4, "{decided:?}");
        let shown = home.run(["pending", &number]);
        for said in [format!("{}{}", decided.stdout, decided.stderr), shown.stdout] {
            assert_eq!(said.matches(way).count(), 1, "{said}");
            assert!(said.contains("nacre deny") && !said.contains(not), "{said}");
            assert!(!said.contains("proposal show"), "{said}");
        }
    }
}

#[test]
fn files_are_shown_whole_or_in_part() {
    let home = Sealed::new();
    put(&home, "memory/topics/work.md", "one\r\ntwo\r\nthree\u{1b}[2J\n");
    put(&home, "memory/topics/empty.md", "");
    for (argument, shown) in [
        ("memory/topics/work.md", "one\ntwo\nthree\u{fffd}[2J\n"),
        ("memory/topics/work.md:2", "two\n"),
        ("memory/topics/work.md:1-2", "one\ntwo\n"),
        ("memory/topics/work.md:3-", "three\u{fffd}[2J\n"),
        ("memory/topics/work.md:9-12", ""),
        ("memory/topics/empty.md", ""),
    ] {
        let output = home.run(["get", argument]);
        assert_eq!((output.status, output.stdout.as_str()), (0, shown), "{argument}");
    }
    assert_eq!(home.run(["get", "absent.md"]).status, 3);
    assert_eq!(home.json(["get", "memory/topics/work.md:2-3"])["lines"], json!([2, 3]));
    for argument in ["../nacre.toml", "/etc/passwd", "memory.db", "..%2fx.md", "x.md:0-1"] {
        assert_ne!(home.run(["get", argument]).status, 0, "{argument}");
    }
}

#[test]
fn a_process_killed_while_it_applies_leaves_the_old_or_the_new() {
    let home = Sealed::new();
    put(&home, "MEMORY.md", "0\n");
    let rounds = if std::env::var("NACRE_STRESS").as_deref() == Ok("full") { 400 } else { 40 };
    let (mut killed, mut applied) = (0, 0);
    for round in 1..=rounds {
        let before = text(&home, "MEMORY.md");
        let after = format!("{round}\n");
        let number = propose(&home, "MEMORY.md", after.as_bytes());
        let process = Process::start_at_terminal(&mut home.command(["approve", &number]));
        thread::sleep(Duration::from_micros(round % 40 * 1_000));
        let _ = process.victim.lock().unwrap().kill();
        let output = process.finish();
        killed += usize::from(output.status == -1);
        // Whoever comes next finds it decided and done, or neither.
        let state = home.json(["proposal", "show", &number])["state"].clone();
        let expected = if state == "approved" { &after } else { &before };
        assert_eq!(&text(&home, "MEMORY.md"), expected, "{state} in round {round}");
        applied += usize::from(state == "approved");
        assert!(output.status != 0 || state == "approved", "what was acknowledged is done: {output:?}");
        if state != "approved" {
            home.json_at_terminal(["deny", &number]);
        }
    }
    eprintln!("{killed} of {rounds} killed, {applied} applied");
    assert!(killed > 0, "nobody was killed: the test has shown nothing");
    // Nothing is left beside the file.
    let folder = home.home().join("groups/main");
    let left =
        std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
    assert_eq!(
        left.filter(|name| name.contains("nacre-") || name.contains("saved-")).collect::<Vec<_>>(),
        [] as [String; 0]
    );
    assert_eq!(home.json(["doctor"])["ok"], true);
    assert_eq!(home.json(["audit", "verify"])["ok"], true);
}

#[test]
fn of_two_that_approve_at_once_one_does_it() {
    let home = Sealed::new();
    for round in 1..=10 {
        put(&home, "MEMORY.md", format!("{round}\n"));
        // A file, and a call: an entry that would be two.
        let file = propose(&home, "MEMORY.md", format!("{round}\nmore\n").as_bytes());
        let mut agent =
            Mcp::start(&mut home.command(["mcp", "--untrusted", "--set", "limits.untrusted.store=0"]));
        agent.open();
        let content = format!("always say word{round}");
        let call =
            agent.data("memory_store", &json!({ "content": content, "type": "instruction" }))["proposal"]
                .to_string();
        for number in [&file, &call] {
            let start = Barrier::new(3);
            let codes: Vec<i32> = thread::scope(|scope| {
                let approving: Vec<_> = (0..3)
                    .map(|_| {
                        let (home, start) = (&home, &start);
                        scope.spawn(move || {
                            start.wait();
                            home.run_at_terminal(["approve", number]).status
                        })
                    })
                    .collect();
                approving.into_iter().map(|one| one.join().unwrap()).collect()
            });
            let mut codes = codes;
            codes.sort_unstable();
            assert_eq!(codes, [0, 4, 4], "{number}");
        }
        assert_eq!(text(&home, "MEMORY.md"), format!("{round}\nmore\n"));
        assert_eq!(home.json(["status"])["entries"]["current"], round);
    }
    assert_eq!(home.json(["audit", "verify"])["ok"], true);
}

/// A client of the eras with `initialize` that can ask its person.
fn asked_server(home: &Sealed, sets: &[&str]) -> Mcp {
    let mut args = vec!["mcp"];
    sets.iter().for_each(|set| args.extend(["--set", set]));
    let mut server = Mcp::start(&mut home.command(args));
    let client = json!({ "name": "test", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} }, "clientInfo": client });
    server.ask("initialize", &hello).unwrap();
    server.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string().as_bytes());
    server
}

/// Calls memory_write, answers what the server asks, and returns its result and whether it asked.
fn write_and_answer(server: &mut Mcp, arguments: &Value, action: &str) -> (Value, Option<String>) {
    let call = json!({ "jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": { "name": "memory_write", "arguments": arguments } });
    server.send(call.to_string().as_bytes()).unwrap();
    let mut next = server.next().unwrap();
    let mut question = None;
    if next["method"] == "elicitation/create" {
        question = next["params"]["message"].as_str().map(str::to_owned);
        let answer =
            json!({ "jsonrpc": "2.0", "id": next["id"], "result": { "action": action, "content": {} } });
        server.send(answer.to_string().as_bytes()).unwrap();
        next = server.next().unwrap();
    }
    assert_eq!(next["id"], "w", "{next}");
    (next["result"]["structuredContent"].clone(), question)
}

#[test]
fn a_client_can_be_asked_and_its_word_counts_where_the_settings_say_so() {
    for (accept, action, state, written) in [
        ("person", "accept", "pending", false),
        ("person", "decline", "pending", false),
        ("person", "cancel", "pending", false),
        ("client", "accept", "approved", true),
        ("client", "decline", "denied", false),
        ("client", "cancel", "pending", false),
    ] {
        let home = Sealed::new();
        let accept = format!("write.accept={accept}");
        let mut server = asked_server(&home, &["write.elicitation=ask", &accept]);
        let arguments = json!({ "path": "SOUL.md", "content": "Be kind." });
        let (answer, question) = write_and_answer(&mut server, &arguments, action);
        assert!(question.expect("it asks").contains("+Be kind."), "{answer}");
        assert_eq!(answer["status"], state, "{accept} {action}: {answer}");
        assert_eq!(read(&home, "SOUL.md").is_some(), written, "{accept} {action}");
        let kept = home.json(["proposal", "show", "1"]);
        let said = if action == "cancel" { Value::Null } else { action.into() };
        assert_eq!((&kept["state"], &kept["client"]), (&json!(state), &said), "{accept} {action}");
    }
    // Off, as it is unless the settings say otherwise; or a client that can't.
    let home = Sealed::new();
    let (answer, question) =
        write_and_answer(&mut asked_server(&home, &[]), &json!({ "path": "a.md", "content": "x" }), "accept");
    assert_eq!((answer["status"].as_str(), question), (Some("pending"), None));
    let mut server = Mcp::start(&mut home.command(["mcp", "--set", "write.elicitation=ask"]));
    server.open();
    assert_eq!(server.data("memory_write", &json!({ "path": "b.md", "content": "x" }))["status"], "pending");
}

/// A call of 2026-07-28, with what every request says of its client.
fn modern(server: &mut Mcp, capabilities: &Value, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    });
    let mut answer = server.ask("tools/call", &params).unwrap();
    assert!(answer["result"].is_object(), "{answer}");
    answer["result"].take()
}

#[test]
fn since_2026_the_client_calls_again_with_the_answer() {
    let home = Sealed::new();
    let sets = ["mcp", "--set", "write.elicitation=ask", "--set", "write.accept=client"];
    let mut server = Mcp::start(&mut home.command(sets));
    let call = |content: &str| json!({ "name": "memory_write", "arguments": { "path": "MEMORY.md", "content": content } });
    let can = json!({ "elicitation": { "form": {} } });
    // One that can't be asked is not.
    let result = modern(&mut server, &json!({}), call("- one"));
    assert_eq!(
        (&result["resultType"], &result["structuredContent"]["proposal"]),
        (&json!("complete"), &json!(1)),
        "{result}"
    );
    let asked = modern(&mut server, &can, call("- two"));
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let request = &asked["inputRequests"]["approval"];
    assert_eq!(
        (&request["method"], &request["params"]["mode"]),
        (&json!("elicitation/create"), &json!("form")),
        "{asked}"
    );
    let again = |state: &Value, action: &str, content: &str| {
        let mut params = call(content);
        params["requestState"] = state.clone();
        params["inputResponses"] = json!({ "approval": { "action": action, "content": {} } });
        params
    };
    // A state that was made up, or of another call, is none: then it is asked anew.
    for params in [
        again(&json!("2.0000000000000000"), "accept", "- two"),
        again(&asked["requestState"], "accept", "- three"),
    ] {
        assert_eq!(modern(&mut server, &can, params)["resultType"], "input_required");
        assert_eq!(read(&home, "MEMORY.md"), None);
    }
    let done = modern(&mut server, &can, again(&asked["requestState"], "accept", "- two"));
    assert_eq!(
        (&done["resultType"], &done["structuredContent"]["status"]),
        (&json!("complete"), &json!("approved")),
        "{done}"
    );
    assert_eq!(text(&home, "MEMORY.md"), "- two\n");
    // The same state once more does nothing more.
    let twice = modern(&mut server, &can, again(&asked["requestState"], "accept", "- two"));
    assert_eq!(twice["structuredContent"]["status"], "approved", "{twice}");
    assert_eq!(text(&home, "MEMORY.md"), "- two\n");
}

#[test]
fn three_appends_to_one_file_are_approved_with_one_command() {
    let home = Sealed::new();
    put(&home, "MEMORY.md", "# Memory\n\n- one");
    for line in ["- two", "- three", "- four"] {
        let arguments = json!({ "path": "MEMORY.md", "content": line, "mode": "append" });
        let mut command = home.command(["call", "memory_write", &arguments.to_string()]);
        assert_eq!(Process::start(command.env("CLAUDECODE", "1")).finish().status, 0);
    }
    let approved = home.run_at_terminal(["approve", "1", "2", "3"]);
    assert_eq!(approved.status, 0, "{approved:?}");
    assert_eq!(text(&home, "MEMORY.md"), "# Memory\n\n- one\n- two\n- three\n- four\n");
}
