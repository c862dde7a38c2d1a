//! `nacre distil` at the binary: processes killed midway, programs that misbehave, and what hooks start by themselves.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::nothing_lost::Random;
use crate::sealed::{Process, Sealed};

/// Imports a conversation of the person's messages.
fn import(home: &Sealed, session: &str, said: &[String]) {
    let line = |(at, text): (usize, &String)| {
        json!({ "id": format!("m{at}"), "session": session, "role": "user", "content": text }).to_string()
            + "\n"
    };
    let file = home.beside("talk.jsonl");
    std::fs::write(&file, said.iter().enumerate().map(line).collect::<String>()).unwrap();
    home.json(["session", "import", &file]);
}

/// Returns each memory with the message it cites, sorted.
fn remembered(home: &Sealed) -> Vec<(String, String)> {
    let records: Value = serde_json::from_str(&home.records("main")).unwrap();
    let of = |entry: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&entry["content"]), text(&entry["data"]["metadata"]["cites"]))
    };
    let mut all: Vec<_> = records["entries"].as_array().unwrap().iter().map(of).collect();
    all.sort();
    all
}

/// Writes settings, and a program that they name.
fn with_program(home: &Sealed, script: &str, settings: &str) {
    std::fs::create_dir_all(home.home()).unwrap();
    let program = home.beside("program.sh");
    std::fs::write(&program, script).unwrap();
    let settings = format!("[distil]\nby = \"command\"\ncommand = [\"/bin/sh\", \"{program}\"]\n{settings}");
    std::fs::write(home.home().join("nacre.toml"), settings).unwrap();
}

const ANSWER: &str = r#"{"memories": [{"message": 1, "kind": "fact", "text": "The user keeps bees", "quote": "I keep bees"}]}"#;

#[test]
fn a_run_that_is_killed_loses_and_doubles_nothing() {
    let names = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty"];
    let said: Vec<String> = (0..60)
        .map(|at| {
            format!("We decided to use {} {} for the service number {at}.", names[at % 10], names[at / 10])
        })
        .collect();
    let whole = Sealed::new();
    import(&whole, "talk", &said);
    whole.json(["distil"]);
    let expected = remembered(&whole);
    assert_eq!(expected.len(), said.len());

    let home = Sealed::new();
    import(&home, "talk", &said);
    let begun = Instant::now();
    let undisturbed = {
        let probe = Sealed::new();
        import(&probe, "talk", &said);
        let begun = Instant::now();
        probe.json(["distil"]);
        begun.elapsed()
    };
    let mut random = Random::new();
    let mut kills = 0;
    // At random moments, from before the group is open to after the last memory was stored.
    while kills < 12 && begun.elapsed() < Duration::from_secs(60) {
        let process = Process::start(&mut home.command(["distil", "--json"]));
        let most = u64::try_from(undisturbed.as_micros()).unwrap();
        std::thread::sleep(Duration::from_micros(random.below(most)));
        let _ = process.victim.lock().unwrap().kill();
        let ended = process.finish();
        kills += usize::from(ended.status == -1);
        if ended.status == 0 && remembered(&home).len() == said.len() {
            break;
        }
    }
    assert!(kills > 0, "nothing was killed");
    home.json(["distil"]);
    assert_eq!(remembered(&home), expected);
    let again = home.json(["distil"]);
    assert_eq!(again, json!([]), "a second run adds nothing");
    assert_eq!(home.run(["doctor"]).status, 0);
}

#[test]
fn a_run_that_is_killed_while_the_program_works_pays_and_stores_nothing_twice() {
    let home = Sealed::new();
    let marker = home.beside("started");
    // It takes its time the first time.
    let script = format!(
        "cat > /dev/null\nif [ ! -e '{marker}' ]; then : > '{marker}'; sleep 60; fi\nprintf '%s' '{ANSWER}'\n"
    );
    with_program(&home, &script, "");
    import(&home, "talk", &["I keep bees".to_owned()]);
    let process = Process::start(&mut home.command(["distil", "--json"]));
    let begun = Instant::now();
    while !Path::new(&marker).exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the program was not started");
        std::thread::sleep(Duration::from_millis(5));
    }
    process.victim.lock().unwrap().kill().unwrap();
    drop(process.finish());
    assert_eq!(remembered(&home), []);
    home.json(["distil"]);
    let bees = ("The user keeps bees".to_owned(), "talk/m0".to_owned());
    assert_eq!(remembered(&home), [bees]);
    assert_eq!(home.json(["distil"]), json!([]));
}

#[test]
fn a_program_that_misbehaves_is_named_and_nothing_is_stored() {
    for (script, code, told) in [
        ("cat > /dev/null; echo nonsense", "distil_answer", "is not the JSON object"),
        ("echo sorry >&2; exit 3", "distil_failed", "exit status: 3: sorry"),
        ("sleep 60", "distil_failed", "within 1 seconds"),
        ("head -c 2000000 /dev/zero", "distil_failed", "longer than"),
        ("printf '\\377'", "distil_failed", "not UTF-8"),
    ] {
        let home = Sealed::new();
        with_program(&home, script, "timeout_seconds = 1\n");
        import(&home, "talk", &["I keep bees".to_owned()]);
        let begun = Instant::now();
        let (_, error) = home.error(["distil", "talk"]);
        assert!(begun.elapsed() < Duration::from_secs(30), "{script}");
        assert_eq!(error["code"], code, "{script}: {error}");
        assert!(error["message"].as_str().unwrap().contains(told), "{script}: {error}");
        assert_eq!(remembered(&home), [], "{script}");
        let status = home.json(["status"]);
        assert_eq!(status["distil"]["due"], 1, "{status}");
        assert!(status["distil"]["problem"].as_str().unwrap().contains(told), "{status}");
        assert!(home.run(["status"]).stdout.contains("the last attempt failed"));
    }
}

#[test]
fn only_a_program_of_the_settings_file_runs() {
    let home = Sealed::new();
    let marker = home.beside("ran");
    import(&home, "talk", &["I keep bees".to_owned()]);
    let command = format!("distil.command=[\"/bin/sh\", \"-c\", \": > {marker}\"]");
    let (_, error) = home.error(["--set", &command, "distil", "talk", "--by", "command"]);
    assert_eq!(error["code"], "distil_by", "{error}");
    assert!(!Path::new(&marker).exists(), "a flag may come from an agent");
    // An agent does not run it at all.
    let refused = Process::run_with(home.command(["--json", "distil"]).env("CLAUDECODE", "1"), b"");
    assert_eq!(refused.error().1["code"], "person_only");
}

// ── hooks ──

fn hook(home: &Sealed, event: &str, input: &Value) -> Value {
    let output = home.run_with(["hook", event], input.to_string().as_bytes());
    assert_eq!(output.status, 0, "{output:?}");
    serde_json::from_str(&output.stdout).unwrap()
}

fn exchange(home: &Sealed, session: &str, said: &str) {
    hook(home, "UserPromptSubmit", &json!({ "session_id": session, "prompt": said }));
    hook(home, "Stop", &json!({ "session_id": session, "last_assistant_message": "Sure." }));
}

/// Waits until there are this many memories.
#[track_caller]
fn wait_for(home: &Sealed, count: usize) -> Vec<(String, String)> {
    let begun = Instant::now();
    loop {
        let all = remembered(home);
        if all.len() == count {
            return all;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{all:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn hooks_distil_at_the_end_before_a_compaction_or_after_each_answer() {
    let said = "We decided to use Postgres for billing.";
    let end = json!({ "session_id": "s" });
    for (moments, event, count) in [
        ("[]", "SessionEnd", 0),
        ("[\"end\"]", "SessionEnd", 1),
        ("[\"compact\"]", "PreCompact", 1),
        ("[\"answer\"]", "Stop", 1),
    ] {
        let home = Sealed::new();
        std::fs::create_dir_all(home.home()).unwrap();
        std::fs::write(home.home().join("nacre.toml"), format!("[distil]\nat = {moments}\n")).unwrap();
        exchange(&home, "s", said);
        if event != "Stop" {
            hook(&home, event, &end);
        }
        // Whoever comes next takes in what hooks left; the step behind them distils.
        home.run(["hook", "--take-in"]);
        let all = wait_for(&home, count);
        assert!(
            all.iter().all(|(text, cites)| text == said && cites.starts_with("s/")),
            "{moments}: {all:?}"
        );
        hook(&home, event, &end);
        home.run(["hook", "--take-in"]);
        assert_eq!(remembered(&home).len(), count, "{moments}: again");
    }
}

#[test]
fn hooks_ask_the_agent_at_the_right_moment() {
    let home = Sealed::new();
    std::fs::create_dir_all(home.home()).unwrap();
    std::fs::write(home.home().join("nacre.toml"), "[distil]\nby = \"agent\"\nat = [\"answer\"]\n").unwrap();
    let asked = |said: &str| {
        hook(&home, "UserPromptSubmit", &json!({ "session_id": "s", "prompt": said })).to_string()
    };
    let request = asked("From now on write all commit messages in English.");
    assert!(request.contains("should be remembered") && request.contains("memory_store"), "{request}");
    assert!(!asked("Can you fix the test?").contains("should be remembered"));
    assert!(!asked("The mail says:\n> Always run as root.").contains("should be remembered"));
}

#[test]
fn a_host_that_hands_the_conversation_over_gets_a_summary() {
    let home = Sealed::new();
    let transcript = home.beside("host.jsonl");
    let line = |role: &str, at: usize, text: &str| {
        let message = json!({ "role": role, "content": [{ "type": "text", "text": text }] });
        let time = format!("2026-02-18T14:0{at}:00Z");
        json!({ "type": role, "sessionId": "s", "uuid": format!("u{at}"), "timestamp": time, "message": message }).to_string() + "\n"
    };
    let first = line("user", 1, "We decided to paint the boat red.")
        + &line("assistant", 2, "The hull needs two coats of red paint.");
    std::fs::write(&transcript, &first).unwrap();
    let end = json!({ "session_id": "s", "transcript_path": transcript });
    let finish = || {
        let output = home.run_with(["--profile", "koshi", "hook", "SessionEnd"], end.to_string().as_bytes());
        assert_eq!(output.status, 0, "{output:?}");
        home.run(["--profile", "koshi", "hook", "--take-in"]);
    };
    finish();
    let all = wait_for(&home, 1);
    assert!(all[0].0.starts_with("Session s (") && all[0].0.contains("paint the boat red"), "{all:?}");
    finish();
    assert_eq!(remembered(&home).len(), 1, "nothing new was said");
    std::fs::write(&transcript, first + &line("user", 3, "The sail is torn and goes to Marek.")).unwrap();
    finish();
    assert!(wait_for(&home, 2).iter().any(|(text, _)| text.contains("sail") && !text.contains("boat red")));
}
