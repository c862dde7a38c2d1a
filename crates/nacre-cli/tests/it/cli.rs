//! The commands, told as short stories. Whole answers are compared, with ids left out: they are the one thing that is never the same.

use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::sealed::{NOW, Sealed, files, shown_at_terminal};

#[track_caller]
fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap_or_else(|| panic!("no object: {value}")).keys().map(String::as_str).collect()
}

#[track_caller]
fn texts(found: &Value) -> Vec<&str> {
    found["hits"].as_array().unwrap().iter().map(|hit| hit["text"].as_str().unwrap()).collect()
}

#[test]
fn an_empty_memory_says_so_and_what_to_do() {
    let sealed = Sealed::new();
    for question in [&["search"][..], &["search", "heron"]] {
        let found = sealed.run(question);
        assert_eq!(
            found.stdout.trim(),
            "Nothing found: nothing is remembered yet; start with `nacre store \"what to remember\"`."
        );
        assert!(!sealed.home().exists(), "a look makes nothing");
    }
}

#[test]
fn a_first_session() {
    let home = Sealed::new();
    let path = home.home().to_str().unwrap();
    assert_eq!(home.json(["init", "--bare"]), json!({ "home": path, "group": "main" }));
    assert_eq!(
        home.json(["init", "--bare"]),
        json!({ "home": path, "group": "main" }),
        "twice is the same as once"
    );
    let names: Vec<_> = files(home.home()).iter().map(|file| file.file_name().unwrap().to_owned()).collect();
    assert_eq!(names, ["memory.db", "memory.db.lock", "nacre.toml"]);

    let stored = home.json(["store", "I prefer tabs over spaces", "--type", "preference", "--tag", "style"]);
    assert_eq!(keys(&stored), ["behavioral", "id", "number", "type"]);
    assert_eq!((&stored["number"], &stored["type"]), (&json!(1), &json!("preference")));
    assert_eq!(stored["behavioral"], true);
    let again = home.json(["store", "i prefer TABS  over spaces"]);
    assert_eq!((&again["id"], &again["duplicate_of"]), (&stored["id"], &stored["id"]));
    let near = home.json(["store", "I prefer tabs over any spaces"]);
    assert_eq!(keys(&near), ["behavioral", "id", "number", "resembles", "type"]);
    assert_eq!(near["resembles"], stored["id"]);

    let found = home.json(["search", "tabs", "--type", "preference"]);
    assert_eq!((texts(&found), &found["missing"]), (vec!["I prefer tabs over spaces"], &json!([])));
    let hit = &found["hits"][0];
    for key in ["kind", "id", "text", "score", "at", "why"] {
        assert!(hit.get(key).is_some(), "{key} is missing from {hit}");
    }
    assert_eq!((&hit["kind"], &hit["id"]), (&json!("entry"), &stored["id"]));
    assert_eq!(hit["why"][0]["lane"], "bm25");
    assert_eq!(home.json(["search", "walrus"])["hits"], json!([]));

    let brief = home.json(["brief"]);
    assert_eq!((&brief["entry_count"], &brief["brief_count"]), (&json!(2), &json!(2)));
    assert!(brief["markdown"].as_str().unwrap().contains("I prefer tabs over spaces"), "{brief}");
}

#[test]
fn bench_says_where_the_benchmarks_are() {
    let home = Sealed::new();
    for args in [&["bench"][..], &["bench", "cold", "--runs", "5"], &["bench", "cold", "--json"]] {
        let output = home.run(args);
        assert_eq!(output.status, 2, "{output:?}");
        assert!(output.stderr.contains("cargo run --release -p nacre-bench -- NAME"), "{output:?}");
        assert_eq!(output.stdout.contains("\"code\":\"usage\""), args.contains(&"--json"), "{output:?}");
    }
    assert!(!home.home().exists());
}

#[test]
fn a_memory_changes_and_goes() {
    let home = Sealed::new();
    home.json(["store", "The staging server is called heron"]);
    let updated = home.json(["update", "1", "The staging server is called egret", "--tag", "servers"]);
    assert_eq!(
        (&updated["content"], &updated["tags"]),
        (&json!("The staging server is called egret"), &json!(["servers"]))
    );
    assert_eq!(home.json(["reinforce", "1"])["score"], 3);
    assert_eq!(home.json(["demote", "1"])["score"], 2);

    let newer = home.json(["store", "Staging moved to kestrel", "--supersedes", "1"]);
    assert_eq!(newer["superseded"], updated["id"]);
    assert_eq!(texts(&home.json(["search", "staging"])), ["Staging moved to kestrel"]);
    assert_eq!(
        texts(&home.json(["search", "egret", "--include-superseded"])),
        ["The staging server is called egret"]
    );
    let (status, error) = home.error(["reinforce", "1"]);
    assert_eq!((status, &error["code"]), (4, &json!("already_superseded")));

    let history = home.json(["history", "1"]);
    assert_eq!(history["versions"][0]["content"], "The staging server is called heron");
    assert_eq!(history["chain"][0]["id"], newer["id"]);
    let shown = home.run(["show", "1"]);
    for words in ["called egret", "superseded by", "servers"] {
        assert!(shown.stdout.contains(words), "{words} is missing from {shown:?}");
    }

    assert_eq!(home.json(["delete", "1"])["id"], updated["id"]);
    assert_eq!(home.error(["show", "1"]).0, 3);
    assert_eq!(home.json(["show", "2"]).get("supersedes"), None, "nothing points at what is gone");
    assert_eq!(home.json(["store", "A third"])["number"], 3, "a number is never given twice");
}

#[test]
fn a_credential_leaves_through_no_command() {
    let secret = "sk_live_4eC39HqLyjWDarjtT1zdp7dc";
    let home = Sealed::new();
    home.json(["store", &format!("The old key is {secret}")]);
    home.json(["store", &format!("The key is {secret}"), "--supersedes", "1"]);
    home.json(["update", "2", &format!("The new key is {secret}"), "--tag", secret]);
    let book = home.beside("keys.md");
    std::fs::write(&book, format!("# Keys\n\nThe key is {secret}\n")).unwrap();
    home.json(["collection", "add", secret, &book]);
    let commands: &[&[&str]] = &[
        &["search", "key", "--explain", "--include-superseded", "--scope", "entries", "--scope", "sources"],
        &["show", "2"],
        &["history", "2"],
        &["brief", "--include-provenance"],
        &["boot"],
        &["collection", "list"],
        &["update", "2", "--type", "fact"],
        &["reinforce", "2"],
        &["demote", "2"],
    ];
    let check = |args: &[&str]| {
        let done = home.run(args);
        let said = format!("{}{}", done.stdout, done.stderr);
        assert_eq!(done.status, 0, "{args:?} {said}");
        assert!(!said.contains(secret), "{args:?} says {said}");
    };
    for command in commands {
        check(command);
        check(&[&["--json"], *command].concat());
    }
    check(&["--json", "delete", "2"]);
}

#[test]
fn looking_after_it() {
    let home = Sealed::new();
    home.json(["store", "One"]);
    home.json(["store", "Two"]);
    let status = home.json(["status"]);
    assert_eq!(status["entries"], json!({ "current": 2, "superseded": 0, "archived": 0 }));
    assert_eq!(
        (&status["set_aside"], &status["last_write"]),
        (&json!([]), &json!("2026-02-18T14:30:00.000Z"))
    );
    let doctor = home.json(["doctor"]);
    assert_eq!(doctor["ok"], true, "{doctor}");
    assert!(doctor.to_string().contains("rows, index and audit log agree"), "{doctor}");
    assert_eq!(home.json(["reindex"]), json!({ "passages": 2 }));
    let mut done = home.json(["maintain"]);
    let jobs = done.as_object_mut().unwrap().remove("jobs").unwrap();
    let names: Vec<_> = jobs.as_array().unwrap().iter().map(|job| job["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["decay", "reindex", "purge", "prune", "sessions", "logs", "lines", "conflicts", "stale"]
    );
    let none = json!({ "purged": 0, "archived": 0, "decayed_days": 0, "reindexed": 0, "sessions": 0, "retired": 0,
        "lines": 0, "contradicting": 0, "stale": 0 });
    assert_eq!(done, none);
    assert_eq!(home.json(["maintain"]), json!({ "jobs": [] }), "what was done is not due");

    assert_eq!(home.json(["audit", "verify"]), json!({ "ok": true, "rows": 3 }));
    let rows = home.json(["audit", "export"]);
    let actions: Vec<_> =
        rows.as_array().unwrap().iter().map(|row| row["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["memory_store", "memory_store", "reindex"]);
    let events = home.json(["events"]);
    let names: Vec<_> =
        events.as_array().unwrap().iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["memory:write", "memory:write"]);
}

#[test]
fn what_was_superseded_long_ago_is_purged() {
    let home = Sealed::new();
    home.json(["store", "Old"]);
    home.json(["store", "New", "--supersedes", "1"]);
    let later = home.json(["maintain", "--now", "2026-12-01T00:00:00Z"]);
    // Opening a group purges what is due, so that there is nothing left for `maintain` to do. First it is archived.
    assert_eq!(later["archived"], 0);
    assert_eq!(home.json(["status"])["entries"], json!({ "current": 1, "superseded": 1, "archived": 0 }));
    home.json(["maintain", "--now", "2026-12-09T00:00:00Z"]);
    assert_eq!(home.json(["status"])["entries"], json!({ "current": 1, "superseded": 0, "archived": 0 }));
    assert_eq!(home.json(["audit", "export"])[2]["action"], "purge");
}

#[test]
fn an_export_comes_back_as_the_same_bytes() {
    let (one, two) = (Sealed::new(), Sealed::new());
    one.json([
        "store",
        "I prefer tabs over spaces",
        "--type",
        "preference",
        "--tag",
        "style",
        "--tag",
        "two words",
    ]);
    one.json(["store", "Größe: 東京 \u{1f41a} \"quoted\" \\ and\nlines"]);
    one.json(["update", "2", "It reads otherwise now"]);
    one.json(["store", "This took its place", "--supersedes", "2"]);
    one.json(["store", "This goes"]);
    one.json(["delete", "4"]);
    one.json(["reinforce", "1"]);

    let folder = one.beside("export");
    let exported = one.json(["export", &folder]);
    let files = ["nacre.json", "memory.md", "audit.jsonl", "sessions.jsonl", "items.json", "tasks.json"];
    assert_eq!(exported, json!({ "folder": folder, "files": files, "entries": 3, "credentials": 0 }));
    let imported = two.json(["import", "nacre", &folder]);
    assert_eq!(
        imported,
        json!({ "added": 3, "graph": 0, "messages": 0, "present": 0, "same_content": 0, "unreadable": 0 })
    );
    let first = std::fs::read_to_string(Path::new(&folder).join("nacre.json")).unwrap();
    assert_eq!(two.records("main"), first);
    let again = two.json(["import", "nacre", &folder]);
    assert_eq!(
        again,
        json!({ "added": 0, "graph": 0, "messages": 0, "present": 3, "same_content": 0, "unreadable": 0 })
    );
    assert_eq!(two.records("main"), first, "twice is the same as once");
    assert_eq!(two.json(["doctor"])["ok"], true);
    assert_eq!(texts(&two.json(["search", "tabs"])), ["I prefer tabs over spaces"]);

    let readable = std::fs::read_to_string(Path::new(&folder).join("memory.md")).unwrap();
    assert!(
        readable.contains("## preference\n\n- I prefer tabs over spaces #style #two_words"),
        "{readable}"
    );
}

#[test]
fn a_sound_database_is_imported_whole() {
    let (one, two) = (Sealed::new(), Sealed::new());
    one.json(["store", "I prefer tabs over spaces"]);
    one.json(["update", "1", "I prefer spaces after all"]);
    let database = one.database("main");
    let before = std::fs::read(&database).unwrap();
    let imported = two.json(["import", "database", database.to_str().unwrap()]);
    assert_eq!((&imported["added"], &imported["unreadable"]), (&json!(1), &json!(0)));
    assert_eq!(two.records("main"), one.records("main"));
    assert_eq!(std::fs::read(&database).unwrap(), before, "what is imported stays as it is");
}

#[test]
fn groups_do_not_see_each_other() {
    let home = Sealed::new();
    home.json(["store", "Only here", "--group", "one"]);
    // A group that is not there is a slip of the finger where others are.
    let said = home.run(["search", "here", "--group", "two"]);
    assert!(said.status == 3 && said.stderr.contains("existing groups: one"), "{said:?}");
    assert!(!home.database("two").exists(), "looking makes nothing");
    home.json(["init", "--bare", "--group", "two"]);
    assert_eq!(home.json(["search", "here", "--group", "two"])["hits"], json!([]));
}

#[test]
fn settings_are_shown_and_checked() {
    let home = Sealed::new();
    assert_eq!(home.json(["settings"])["limits.store"], 100);
    assert_eq!(home.json(["settings", "--set", "limits.store=7"])["limits.store"], 7);
    let (status, error) = home.error(["settings", "--set", "limits.stor=7"]);
    assert_eq!((status, &error["code"]), (2, &json!("unknown_setting")));
    assert_eq!(error["hint"], "did you mean `limits.store`?");

    // The file that `init` writes and `--defaults` shows can be used as it is.
    home.json(["init"]);
    let defaults = home.run(["settings", "--defaults"]).stdout;
    std::fs::write(home.home().join("nacre.toml"), &defaults).unwrap();
    assert_eq!(home.json(["settings"])["limits.store"], 100);
    std::fs::write(home.home().join("nacre.toml"), "[brief]\nmax_entres = 3\n").unwrap();
    let (status, error) = home.error(["search"]);
    assert_eq!((status, &error["hint"]), (2, &json!("did you mean `brief.max_entries`?")));
    assert!(error["message"].as_str().unwrap().contains("nacre.toml"), "{error}");
}

#[test]
fn tools_are_called_by_name() {
    let home = Sealed::new();
    let tools = home.json(["call"]);
    let names: Vec<_> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"memory_store") && names.contains(&"memory_search"), "{names:?}");
    let stored = home.json(["call", "memory_store", r#"{"content": "By its name", "tags": "one, two"}"#]);
    let found = home.json(["call", "memory_search", r#"{"tags": ["two"]}"#]);
    assert_eq!(found["hits"][0]["id"], stored["id"]);
    let (status, error) = home.error(["call", "memory_stor"]);
    assert_eq!((status, &error["hint"]), (2, &json!("did you mean `memory_store`?")));
}

#[test]
fn agents_and_people_share_a_memory() {
    let home = Sealed::new();
    let mut server = home.mcp();
    let stored = server.data("memory_store", &json!({ "content": "The agent wrote this" }));
    home.json(["store", "The person wrote that"]);
    assert_eq!(home.json(["show", "1"])["id"], stored["id"]);
    assert_eq!(home.json(["show", "1"])["provenance"]["source"], "agent");
    assert_eq!(home.json(["show", "2"])["provenance"]["source"], "person");
    assert_eq!(
        texts(&server.data("memory_search", &json!({ "query": "person" }))),
        ["The person wrote that"]
    );
    assert_eq!(server.close(), 0);
}

#[test]
fn errors_have_one_shape() {
    let home = Sealed::new();
    home.json(["store", "One"]);
    home.json(["store", "Two", "--supersedes", "1"]);
    // The exit code is the kind; the code says which.
    for (args, status, kind, code) in [
        (vec!["store", ""], 2, "invalid", "bad_argument"),
        (vec!["store", " "], 2, "invalid", "empty_content"),
        (vec!["show", "99"], 3, "not_found", "no_entry"),
        (vec!["demote", "1"], 4, "conflict", "already_superseded"),
        (vec!["search", "--profile", "nobody"], 2, "invalid", "unknown_profile"),
        (vec!["import", "nacre", "/nowhere"], 3, "not_found", "no_file"),
        (vec!["import", "nacre", "."], 2, "invalid", "bad_import"),
        (vec!["search", "--scope", "everything"], 2, "invalid", "bad_argument"),
        (vec!["search", "--bogus"], 2, "invalid", "usage"),
        (vec!["frobnicate"], 2, "invalid", "usage"),
        (vec!["show", "not-an-id"], 2, "invalid", "usage"),
    ] {
        let output = home.run(["--json"].into_iter().chain(args.iter().copied()));
        let answer: Value =
            serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{args:?}: {output:?}"));
        let error = &answer["error"];
        assert_eq!(keys(&answer), ["error"], "{args:?}");
        assert_eq!(
            (output.status, &error["kind"], &error["code"]),
            (status, &json!(kind), &json!(code)),
            "{args:?}"
        );
        assert!(error["message"].is_string(), "{args:?}: {error}");

        let output = home.run(&args);
        assert_eq!((output.status, output.stdout.as_str()), (status, ""), "{args:?}");
        assert!(output.stderr.starts_with("error: "), "{args:?}: {output:?}");
    }
}

#[test]
fn completions_and_manual_are_printed() {
    let home = Sealed::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = home.run(["completions", shell]);
        assert_eq!(output.status, 0, "{shell}");
        assert!(output.stdout.contains("reinforce"), "{shell}");
    }
    assert!(home.run(["man"]).stdout.contains(".TH nacre"));
    assert!(!home.home().exists(), "printing makes nothing");
}

/// `nacre … | head`: the reader of the output has gone.
#[test]
fn a_closed_output_ends_it_quietly() {
    let home = Sealed::new();
    home.json(["store", "Something to print"]);
    for args in [
        vec!["search"],
        vec!["search", "--json"],
        vec!["show", "99", "--json"],
        vec!["settings", "--defaults"],
        vec!["audit", "export"],
        vec!["events"],
        vec!["events", "--follow"],
        vec!["completions", "bash"],
        vec!["man"],
        vec!["--help"],
        vec!["call"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = home.command(&args);
        let mut child = command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let started = Instant::now();
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if started.elapsed() > Duration::from_secs(30) => {
                    child.kill().unwrap();
                    child.wait().unwrap();
                    panic!("{args:?} goes on writing to nobody");
                }
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert!(!stderr.contains("panicked"), "{args:?}: {stderr}");
        let expected = if args.contains(&"99") { 3 } else { 0 };
        assert_eq!(status.code(), Some(expected), "{args:?}: {stderr}");
    }
}

/// Delete means delete: no byte of it is left, in whatever file, while a server has the database open and many entries around it
/// have split and merged its pages.
#[test]
fn what_is_deleted_leaves_no_byte() {
    // Words of no other language, which the stemmer leaves as they are.
    const GONE: &[&str] = &["zxqwvut", "qwzjkpl", "vkjxqzo"];
    let home = Sealed::new();
    let mut server = home.mcp();
    for number in 0..150 {
        let filler =
            format!("Entry {number} about subject {} and {}", number * 7919, "padding ".repeat(number % 40));
        server.data("memory_store", &json!({ "content": filler }));
        if number % 30 == 10 {
            server.data(
                "memory_store",
                &json!({ "content": format!("Secret {} {number}", GONE[0]), "tags": [GONE[1]] }),
            );
        }
    }
    let secrets = home.json(["search", GONE[0]]);
    let ids: Vec<&str> =
        secrets["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 5);
    for id in &ids {
        home.json(["update", id, &format!("Now it reads {} {id}", GONE[2])]);
    }
    home.json(["reindex"]);
    let holding = |word: &str| -> Vec<_> {
        let holds = |file: &_| {
            let bytes = std::fs::read(file).unwrap().to_ascii_lowercase();
            bytes.windows(word.len()).any(|window| window == word.as_bytes())
        };
        files(home.home()).into_iter().filter(holds).collect()
    };
    for word in GONE {
        assert_ne!(holding(word), Vec::<std::path::PathBuf>::new(), "the scan would have found {word}");
    }
    for id in ids {
        home.json(["delete", id]);
    }
    for word in GONE {
        assert_eq!(holding(word), Vec::<std::path::PathBuf>::new(), "{word} is still there");
    }
    assert_eq!(home.json(["doctor"])["ok"], true);
    assert_eq!(server.close(), 0);
}

#[test]
fn the_clock_is_the_one_that_was_given() {
    let home = Sealed::new();
    home.json(["store", "Then"]);
    assert_eq!(home.json(["show", "1"])["provenance"]["timestamp"], NOW.replace('Z', ".000Z"));
    let (status, error) = home.error(["search", "--now", "yesterday"]);
    assert_eq!((status, &error["kind"]), (2, &json!("invalid")));
}

#[test]
fn sessions_are_listed_and_shown() {
    let home = Sealed::new();
    assert!(home.run(["session", "list"]).stdout.contains("nacre session import"));
    let line = |id: usize, session: &str, text: &str| {
        let at = format!("2026-01-0{}T09:0{}:00Z", if session == "monday" { 5 } else { 9 }, id);
        json!({ "id": id.to_string(), "session": session, "role": "user", "text": text, "timestamp": at })
            .to_string()
    };
    let talk = [
        line(1, "monday", "First\nof \u{202e}two lines"),
        line(2, "monday", "Second"),
        line(1, "friday", "Third"),
    ];
    let file = home.beside("talk.jsonl");
    std::fs::write(&file, talk.join("\n")).unwrap();
    home.json(["session", "import", &file]);
    let ids = |list: &Value| -> Vec<String> {
        list["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&home.json(["session", "list"])), ["friday", "monday"]);
    let one = home.json(["session", "list", "--limit", "1"]);
    assert_eq!((ids(&one), &one["total"]), (vec!["friday".to_owned()], &json!(2)));
    let said = home.run(["session", "list", "-n", "1"]);
    assert!(
        said.stdout.starts_with("Third\n  friday  1 message  ")
            && said.stderr.contains("1 older session not shown"),
        "{said:?}"
    );
    let said = home.run(["session", "show", "mon", "-n", "1"]);
    let expected =
        "session monday, 2 messages\n\n1. user  2026-01-05T09:01:00.000Z\nFirst\nof \u{fffd}two lines\n";
    assert_eq!(said.stdout, expected);
    assert!(said.stderr.contains("`--from 2`"), "{said:?}");
    assert_eq!(home.json(["session", "show", "monday", "--from", "2"])["messages"][0]["text"], "Second");
    let (status, error) = home.error(["session", "show", "tuesday"]);
    assert_eq!((status, &error["code"]), (3, &json!("no_session")));
    assert!(error["hint"].as_str().unwrap().contains("nacre session list"), "{error}");
}

#[test]
#[cfg(not(feature = "minilm"))]
fn a_build_without_minilm_says_so() {
    let home = Sealed::new();
    let models = home.json(["model", "list"])["models"].clone();
    assert_eq!((&models[0]["name"], &models[0]["installed"]), (&json!("builtin"), &json!(true)));
    assert_eq!((&models[1]["name"], &models[1]["installed"]), (&json!("minilm"), &json!(false)));
    assert!(models[1]["problem"].as_str().unwrap().contains("feature `minilm`"), "{models}");
    for arguments in [["model", "install", "."], ["model", "remove", "minilm"]] {
        let (_, error) = home.error(arguments);
        assert_eq!(error["code"], "model_not_built");
        assert!(error["hint"].as_str().unwrap().contains("default features"), "{error}");
    }
}

#[test]
#[cfg(feature = "minilm")]
fn models_are_listed_and_what_is_none_is_refused() {
    let home = Sealed::new();
    let models = home.json(["model", "list"])["models"].clone();
    assert_eq!((&models[0]["name"], &models[0]["installed"]), (&json!("builtin"), &json!(true)));
    let expected =
        json!({ "name": "minilm", "installed": false, "dims": 384, "bytes": 0, "published": false });
    assert_eq!(models[1], expected);
    assert!(home.run(["model", "list"]).stdout.contains("minilm   not installed"));

    std::fs::write(home.beside("noise.whl"), b"PK\x03\x04 and so on").unwrap();
    for (path, status, code) in [("noise.whl", 2, "bad_model"), (".", 2, "bad_model"), ("none", 7, "io")] {
        let (found, error) = home.error(["model", "install", &home.beside(path)]);
        assert_eq!((found, &error["code"]), (status, &json!(code)), "{path}: {error}");
    }
    for name in ["minilm", "builtin"] {
        let (status, error) = home.error(["model", "remove", name]);
        assert_eq!((status, &error["code"]), (3, &json!("no_model")), "{name}");
    }
    // An error is printed once.
    let (_, error) = home.error(["model", "install", "nowhere"]);
    assert_eq!(error["message"].as_str().unwrap().matches("os error 2").count(), 1, "{error}");
    assert!(!home.home().exists(), "nothing was written");
}

#[test]
fn progress_is_drawn_for_people_alone() {
    let home = Sealed::new();
    let message = json!({ "session": "birds", "role": "user", "text": "The zebrafinch sings" }).to_string();
    let file = home.beside("talk.jsonl");
    std::fs::write(&file, (message + "\n").repeat(2_000)).unwrap();
    std::fs::create_dir_all(home.home().join("groups/main")).unwrap();
    std::fs::write(home.home().join("groups/main/MEMORY.md"), "# Birds\n\nThe zebrafinch sings.\n").unwrap();
    for (args, bar) in [
        (&["session", "import", &file][..], "talk.jsonl"),
        (&["reindex"], "Rebuilding the index"),
        (&["index"], ""),
    ] {
        let shown = shown_at_terminal(home.command(args).env("TERM", "xterm"));
        assert!(shown.contains(bar), "{args:?}: {shown:?}");
        if args[0] == "session" {
            assert!(shown.contains('%') && shown.contains("B/s") && shown.contains(" left"), "{shown:?}");
        }
        let quiet = shown_at_terminal(home.command([&["--json"], args].concat()).env("TERM", "xterm"));
        assert_eq!(quiet, "", "{args:?}");
        assert_eq!(home.run(args).stderr, "", "{args:?}");
    }
}
