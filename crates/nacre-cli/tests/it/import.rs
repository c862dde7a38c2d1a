//! `nacre import`: what is listed, found in its usual place, tried and brought in.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::nothing_lost::Random;
use crate::sealed::{Process, Sealed, files};

fn write(home: &Sealed, path: &str, text: &str) -> String {
    let path = home.beside(path);
    fs::create_dir_all(std::path::Path::new(&path).parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn formats_are_listed_and_refused_by_name() {
    let home = Sealed::new();
    for arguments in [&["import"][..], &["import", "--list"]] {
        let formats = home.json(arguments.iter().copied());
        assert_eq!(formats["formats"].as_array().unwrap().len(), nacre::import::FORMATS.len());
        let said = home.run(arguments).stdout;
        assert!(said.contains("obsidian") && said.contains("nacre export"), "{said}");
    }
    // (arguments, exit code, error)
    for (arguments, code) in [
        (&["import", "obsidian"][..], "no_source"),
        (&["import", "mem0", "/nowhere"], "no_file"),
        (&["import", "mem0", "/"], "foreign_source"),
        (&["import", "nacre"], "no_source"),
        (&["import", "nacre", "/", "--dry-run"], "no_dry_run"),
        (&["import", "markdown", "/", "--visibility", "shared"], "needs_private"),
    ] {
        assert_eq!(home.error(arguments.iter().copied()).1["code"], code, "{arguments:?}");
    }
    assert!(home.run(["import", "obsidain", "x"]).stderr.contains("obsidian"));
}

#[test]
fn the_usual_place_is_found() {
    let home = Sealed::new();
    write(&home, ".openclaw/workspace/MEMORY.md", "- Plays the cello\n");
    let person = home.beside("");
    let run = |arguments: &[&str]| {
        let output = home.command(arguments).env("HOME", &person).output().unwrap();
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    };
    let listed = run(&["import"]);
    assert!(listed.contains("found: openclaw at "), "{listed}");
    let done = run(&["import", "openclaw"]);
    assert!(done.contains("found ") && done.contains("1 added"), "{done}");
    let done = run(&["import", "gemini"]);
    assert!(done.contains("is not in its usual place, .gemini/GEMINI.md"), "{done}");
}

#[test]
fn a_folder_comes_in_once_and_is_shown_with_its_source() {
    let home = Sealed::new();
    let file = write(&home, "ws/MEMORY.md", "## Alice\n- Plays the cello\n");
    let folder = std::path::Path::new(&file).parent().unwrap().to_str().unwrap().to_owned();
    let dry = home.json(["import", "openclaw", &folder, "--dry-run"]);
    assert_eq!(dry["kinds"], json!({ "entry": { "added": 1, "changed": 0, "present": 0 } }));
    assert_eq!(dry["samples"][0]["text"], "[fact] Alice: Plays the cello");
    assert_eq!(home.json(["search"])["hits"], json!([]), "a dry run writes nothing");
    assert_eq!(home.json(["import", "openclaw", &folder])["kinds"], dry["kinds"]);
    let again = home.json(["import", "openclaw", &folder]);
    assert_eq!(again["kinds"], json!({ "entry": { "added": 0, "changed": 0, "present": 1 } }));
    let shown = home.run(["show", "1"]).stdout;
    for text in ["by migration", "from openclaw: path MEMORY.md, line 2, section Alice", "agent"] {
        assert!(shown.contains(text), "{shown}");
    }
    assert_eq!(home.json(["doctor"])["ok"], true);
    assert_eq!(home.json(["audit", "verify"])["ok"], true);
}

#[test]
fn an_export_in_an_empty_home_answers_the_same() {
    let (one, two) = (Sealed::new(), Sealed::new());
    one.json(["init"]);
    one.json(["store", "Prefers tabs over spaces", "--type", "preference", "--tag", "style"]);
    one.json(["store", "The ledger runs on Postgres"]);
    one.json(["store", "The ledger runs on SQLite", "--supersedes", "2"]);
    one.json(["fact", "set", "Mira Holm", "birthday", "7 July 1990", "--category", "person"]);
    one.json(["relation", "add", "Mira Holm", "works_on", "Keystone"]);
    one.json(["alias", "add", "Mimi", "Mira Holm"]);
    one.json(["log", "Chose the blue halyard", "--category", "decision", "--importance", "0.9"]);
    one.json(["task", "add", "Paint the hull", "--milestone", "M1"]);
    one.json(["task", "add", "Varnish the mast"]);
    let text = write(
        &one,
        "said.jsonl",
        "{\"id\":\"m1\",\"session\":\"s1\",\"role\":\"user\",\"text\":\"The lighthouse is at Kap Arkona\",\"timestamp\":\"2025-03-01T09:00:00Z\"}\n",
    );
    one.json(["session", "import", &text]);
    one.json(["session", "append", "own-1", "We sail on Friday", "--author", "user", "--message", "m-1"]);
    one.json(["session", "append", "own-1", "Noted.", "--author", "assistant", "--message", "m-2"]);
    let vault = write(&one, "vault/Kap Arkona.md", "A cape in the north. See [[Rügen]].\n");
    fs::create_dir_all(one.beside("vault/.obsidian")).unwrap();
    one.json(["import", "obsidian", std::path::Path::new(&vault).parent().unwrap().to_str().unwrap()]);
    let proposed = write(&one, "memory-md.md", "# Memory\n- The boat is called Heron\n");
    one.json(["propose", "MEMORY.md", "--from", &proposed]);

    let folder = one.beside("export");
    one.json(["export", &folder]);
    let imported = two.json(["import", "nacre", &folder]);
    assert_eq!((&imported["added"], &imported["proposals"]), (&json!(3), &json!(1)), "{imported}");
    for question in [
        &["search", "tabs or spaces"][..],
        &["search", "halyard"],
        &["search", "ledger"],
        &["search", "cape in the north"],
        &["search", "lighthouse", "--scope", "sessions"],
        &["search", "sail on Friday", "--scope", "sessions"],
        &["search", "hull", "--scope", "items"],
        &["graph", "when is Mimi's birthday?"],
        &["graph", "who works on Keystone?"],
        &["graph", "what does Kap Arkona link to?"],
        &["brief"],
        &["boot"],
        &["turn", "When is Mira Holm's birthday?"],
        &["pending"],
        &["task", "list"],
        &["session", "list"],
        &["session", "show", "own-1"],
        &["session", "context", "own-1"],
        &["show", "1"],
        &["history", "3"],
        &["get", "MEMORY.md"],
    ] {
        let [mut first, mut second] = [&one, &two].map(|home| home.json(question.iter().copied()));
        for answer in [&mut first, &mut second] {
            even(answer);
        }
        assert_eq!(first, second, "{question:?}");
    }
    let again = two.json(["import", "nacre", &folder]);
    assert_eq!(
        (&again["added"], again["files"].is_null(), again["proposals"].is_null()),
        (&json!(0), true, true)
    );
    assert_eq!(two.json(["doctor"])["ok"], true);
}

/// Takes out what is another every time: when something was last shown, and what of a turn a busy machine was too late with.
fn even(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(object) => {
            for key in ["last_returned_at", "last_accessed", "access_count", "activation", "tier", "left_out"]
            {
                object.remove(key);
            }
            object.values_mut().for_each(even);
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(even),
        _ => {}
    }
}

/// Imports killed at any moment, and at last one that is not: as if there had been only that one.
#[test]
fn an_import_that_is_killed_goes_on_where_it_was() {
    let home = Sealed::new();
    write(&home, "vault/.obsidian/app.json", "{}");
    for note in 0..150 {
        let links: String = (0..16).map(|link| format!("- knows [[Person {note} {link}]]\n")).collect();
        write(&home, &format!("vault/Note {note}.md"), &format!("---\naliases: [N{note}]\n---\n{links}"));
    }
    let lines: String =
        (0..2_500).map(|line| format!("{{\"id\": \"m{line}\", \"memory\": \"thing {line}\"}}\n")).collect();
    let dump = write(&home, "dump.jsonl", &lines);
    let vault = home.beside("vault");
    let undisturbed = Sealed::new();
    let started = Instant::now();
    let imports = [["import", "obsidian", &vault, "--json"], ["import", "mem0", &dump, "--json"]];
    for import in &imports {
        undisturbed.json(import.iter().copied());
    }
    // From before the database is there to after all of it is in.
    let whole = u64::try_from(started.elapsed().as_micros()).unwrap() / 2;
    let mut random = Random::new();
    for import in &imports {
        for _ in 0..4 {
            let process = Process::start(&mut home.command(import));
            thread::sleep(Duration::from_micros(random.below(whole)));
            let _ = process.victim.lock().unwrap().kill();
            let output = process.finish();
            assert!(output.status == 0 || output.stderr.is_empty(), "{output:?}");
        }
        home.json(import.iter().copied());
        let again = home.json(import.iter().copied());
        assert_eq!(again, undisturbed_again(&undisturbed, import));
    }
    let documents = |home: &Sealed| -> Vec<(String, Vec<u8>)> {
        let folder = home.home().join("groups/main/memory");
        let all = files(&folder).into_iter();
        all.map(|file| (file.strip_prefix(&folder).unwrap().display().to_string(), fs::read(&file).unwrap()))
            .collect()
    };
    assert_eq!(documents(&home).len(), 150);
    assert_eq!(documents(&home), documents(&undisturbed));
    let entries = |home: &Sealed| home.json(["status"])["entries"].clone();
    assert_eq!(entries(&home), entries(&undisturbed));
    assert_eq!(home.run(["doctor"]).status, 0);
}

/// Output of an import that has nothing to do.
fn undisturbed_again(home: &Sealed, import: &[&str]) -> serde_json::Value {
    let again = home.json(import.iter().copied());
    for (kind, counts) in again["kinds"].as_object().unwrap() {
        assert_eq!((&counts["added"], &counts["changed"]), (&json!(0), &json!(0)), "{kind}");
    }
    again
}

#[test]
fn an_import_left_memories_that_the_profile_does_not_search() {
    let home = Sealed::new();
    let long = "zanzibar ".repeat(400);
    let file = write(&home, "claw/MEMORY.md", &format!("- Plays the cello\n\n{long}\n"));
    write(&home, "claw/USER.md", "# User\n\nName: Ana\n");
    let folder = std::path::Path::new(&file).parent().unwrap().to_str().unwrap().to_owned();
    let done = home.run(["--profile", "feedback", "import", "openclaw", &folder]);
    assert!(done.stdout.contains("entry     4 added") && !done.stdout.contains("document"), "{done:?}");
    for (query, text) in
        [("zanzibar", "zanzibar zanzibar"), ("Ana", "Name: Ana"), ("cello", "Plays the cello")]
    {
        let found = home.run(["--profile", "feedback", "search", query]).stdout;
        assert!(found.contains(text), "{query}: {found}");
    }
    // A document without any text of its own can't become a memory, and the report says so.
    write(&home, "claw/SOUL.md", "<!-- nothing but a comment -->\n");
    let done = home.run(["--profile", "feedback", "import", "openclaw", &folder]);
    assert!(done.stdout.contains("kept as a document, which this profile does not search"), "{done:?}");
}
