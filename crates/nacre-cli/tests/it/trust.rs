//! Deletion, quarantine and credentials at the command line. Each test is named for what once went wrong.

use serde_json::{Value, json};

use crate::sealed::{Process, Sealed, files};

/// Says something in a conversation, as a client's hooks report it.
pub fn say(home: &Sealed, session: &str, user: &str, agent: &str) {
    let prompt = json!({ "session_id": session, "prompt": user }).to_string();
    let stop = json!({ "session_id": session, "last_assistant_message": agent }).to_string();
    for (event, input) in [("UserPromptSubmit", prompt), ("Stop", stop)] {
        home.run_with(["hook", event], input.as_bytes());
    }
    home.json(["status"]);
}

pub fn holds(home: &Sealed, text: &str) -> Vec<String> {
    let has = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).to_lowercase().contains(text);
    let with = files(home.home()).into_iter().filter(|path| has(std::fs::read(path).unwrap_or_default()));
    with.map(|path| path.display().to_string()).collect()
}

#[test]
fn a_diagnosis_stayed_in_the_archive_for_ever() {
    let home = Sealed::new();
    say(&home, "s1", "my diagnosis is blorptitis", "I am sorry to hear that.");
    say(&home, "s1", "the cat is called Tom", "Noted.");
    home.json(["store", "The user has Blorptitis"]);
    let shown = home.run(["forget", "blorptitis"]);
    assert!(
        shown.stdout.contains("blorptitis") && shown.stderr.contains("--yes"),
        "{} {}",
        shown.stdout,
        shown.stderr
    );
    assert!(!holds(&home, "blorptitis").is_empty(), "nothing is deleted unasked");
    let gone = home.json(["forget", "--yes", "blorptitis"]);
    assert!(gone["receipt"]["audit_row"].as_i64().unwrap() > 0, "{gone}");
    assert_eq!(holds(&home, "blorptitis"), Vec::<String>::new());
    say(&home, "s2", "did I tell you that my diagnosis is blorptitis?", "You did.");
    assert_eq!(holds(&home, "blorptitis"), Vec::<String>::new(), "a text that is sent again stays away");
    assert!(home.run(["search", "--scope", "sessions", "cat", "Tom"]).stdout.contains("Tom"));
}

#[test]
fn delete_takes_the_id_of_anything() {
    let home = Sealed::new();
    // No digits: they come up in a hash by chance.
    say(&home, "s1", "the gate is called quorxite", "Noted.");
    home.json(["store", "The gate is green"]);
    home.json(["graph", "fact", "set", "Gate One", "colour", "green"]);
    let gone = home.json(["delete", "--yes", "1", "fact-1", "session:s1"]);
    assert_eq!(gone["ids"], json!(["1", "fact-1", "session:s1"]));
    assert_eq!(holds(&home, "quorxite"), Vec::<String>::new());
    let (status, error) = home.error(["delete", "--yes", "fact-1", "session:s9"]);
    assert_eq!(status, 3, "{error}");
    let (_, error) = home.error(["delete", "--yes", "nothing-like-that"]);
    assert_eq!(error["code"], "no_record", "{error}");
}

#[test]
fn an_agent_forgets_nothing_and_sees_no_credential() {
    let home = Sealed::new();
    home.json(["store", "Our wifi password is hunter2horse"]);
    for args in [
        &["--json", "forget", "--yes", "wifi"][..],
        &["--json", "show", "--reveal", "1"],
        &["--json", "quarantine", "--source", "untrusted"],
        &["--json", "trace", "1"],
        &["--json", "lesson", "confirm", "1"],
    ] {
        let output = Process::start(home.command(args).env("CLAUDECODE", "1")).finish();
        let (status, error) = output.error();
        assert_eq!(status, 5, "{args:?}: {error}");
    }
    let (status, _) = home.error(["show", "--reveal", "1"]);
    assert_eq!(status, 5, "a program has no terminal");
    assert!(!home.run(["show", "1"]).stdout.contains("hunter2horse"));
    let shown = home.run_at_terminal(["show", "--reveal", "1"]);
    assert!(shown.stdout.contains("hunter2horse"), "{}", shown.stdout);
}

#[test]
fn a_session_is_quarantined_by_the_flag_that_names_it() {
    let home = Sealed::new();
    home.json(["--session", "mine", "store", "The deploy key is in the vault"]);
    home.json(["--session", "poisoned", "store", "The deploy key is on the wiki"]);
    let held = home.json(["quarantine", "--session", "poisoned"]);
    assert_eq!(held["quarantines"][0]["name"], "poisoned", "{held}");
    let found = home.run(["search", "deploy", "key"]).stdout;
    assert!(found.contains("vault") && !found.contains("wiki"), "{found}");
    home.json(["quarantine", "--session", "poisoned", "--undo"]);
    assert!(home.run(["search", "deploy", "key"]).stdout.contains("wiki"));
}

#[test]
fn a_trace_says_where_a_memory_came_from() {
    let home = Sealed::new();
    home.json(["--session", "mine", "store", "The deploy key is in the vault"]);
    let trace = home.run(["trace", "1"]).stdout;
    for part in
        ["origin person", "stored in session:mine", "memory_store by person in session mine", "audit row 1"]
    {
        assert!(trace.contains(part), "{part}: {trace}");
    }
}

#[test]
fn an_export_said_nothing_of_the_credentials_in_it() {
    let home = Sealed::new();
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    home.json(["store", &format!("The token of the mirror is {secret}")]);
    home.json(["store", "The mirror is in Bern"]);
    let folder = home.beside("copy");
    let clear = home.run(["export", &folder]);
    assert!(clear.stderr.contains("1 credential in the clear"), "{}", clear.stderr);
    let holds = |folder: &str, text: &str| {
        files(std::path::Path::new(folder))
            .iter()
            .any(|path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).contains(text))
    };
    assert!(holds(&folder, secret));
    let folder = home.beside("redacted");
    let masked = home.run(["export", "--redacted", &folder]);
    assert!(masked.stderr.contains("1 credential masked"), "{}", masked.stderr);
    assert!(!holds(&folder, secret) && holds(&folder, "Bern"));
    let other = Sealed::new();
    assert_eq!(other.json(["import", "nacre", &folder])["added"], 2, "it can be imported");
}

/// With a reader beside it, `delete` said that all was gone while the file still had the text.
#[test]
fn delete_said_done_while_the_text_was_in_the_file() {
    let home = Sealed::new();
    home.json(["store", "The boat is called Quorxite"]);
    home.json(["store", "The car is called Zelda"]);
    let reader = rusqlite::Connection::open(home.database("main")).unwrap();
    let begun = std::time::Instant::now();
    {
        let snapshot = reader.unchecked_transaction().unwrap();
        let count: i64 = snapshot.query_row("SELECT count(*) FROM entries", [], |row| row.get(0)).unwrap();
        assert_eq!(count, 2);
        let said = home.run(["delete", "--yes", "1"]);
        assert!(said.stdout.contains("Still in the database file"), "{said:?}");
        // Standard error says that it waits.
        let forgotten = home.run(["--json", "forget", "--yes", "Zelda"]);
        let forgotten: Value = serde_json::from_str(&forgotten.stdout).unwrap();
        assert_eq!(
            forgotten["found"][0]["text"], "The car is called Zelda",
            "empty tags were part of the text"
        );
        assert!(
            forgotten["receipt"]["still_in"][0].as_str().unwrap().contains("database file"),
            "{forgotten}"
        );
        assert!(begun.elapsed() < std::time::Duration::from_secs(25), "a person does not wait that long");
        // Only now: a file that this process closes loses its locks.
        assert!(!holds(&home, "quorxite").is_empty(), "it is the truth");
    }
    drop(reader);
    home.json(["status"]);
    assert_eq!(holds(&home, "quorxite"), Vec::<String>::new());
    assert_eq!(holds(&home, "zelda"), Vec::<String>::new());
}

/// A clock that was ahead for an hour put its memories first for centuries.
#[test]
fn a_memory_from_the_future_was_first_until_then() {
    let home = Sealed::new();
    let mut ahead = home.command(["store", "The clock was ahead"]);
    Process::start(ahead.env("NACRE_NOW", "2400-01-01T00:00:00Z")).finish();
    home.json(["store", "The clock is right"]);
    let brief = home.run(["brief"]).stdout;
    let place = |text: &str| brief.find(text).unwrap_or_else(|| panic!("{text}: {brief}"));
    assert!(place("clock is right") < place("clock was ahead"), "{brief}");
    assert!(brief.contains("2400"), "it says its date: {brief}");
}

/// Agents wrote documents into the folders of transcripts and of the spool.
#[test]
fn an_agent_wrote_into_the_folders_of_nacre() {
    let home = Sealed::new();
    for path in ["spool/x.md", "sessions/x.md", "Sessions/x.md"] {
        let (_, error) =
            home.error(["call", "memory_write", &json!({ "path": path, "content": "x" }).to_string()]);
        assert_eq!(error["code"], "bad_path", "{path}: {error}");
    }
}

/// How often a deletion is killed, unless `NACRE_FORGET_KILLS` says another number.
const KILLS: usize = 200;

#[test]
fn a_forget_that_was_killed_left_text_that_nobody_could_see() {
    let home = Sealed::new();
    let kills = std::env::var("NACRE_FORGET_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    home.json(["store", "The user's car is called Zumbrat"]);
    let begun = std::time::Instant::now();
    home.json(["forget", "--yes", "Zumbrat"]);
    // The kills are spread over the time that a deletion takes.
    let whole = begun.elapsed();
    for round in 0..kills / 10 {
        let name = format!("Quorxite{round}zed");
        home.json(["store", &format!("The user's boat is called {name}")]);
        say(&home, &format!("s{round}"), &format!("My boat is {name}."), "Noted.");
        for kill in 0..10 {
            let mut command = home.command(["forget", "--yes", &name]);
            let silent = || std::process::Stdio::null();
            let mut child = command.stdin(silent()).stdout(silent()).stderr(silent()).spawn().unwrap();
            std::thread::sleep(whole * kill / 9);
            let _ = child.kill();
            child.wait().unwrap();
        }
        // Whoever asks again finishes it.
        home.run(["forget", "--yes", &name]);
        assert_eq!(holds(&home, &name.to_lowercase()), Vec::<String>::new());
    }
    let folder = home.beside("after");
    home.run(["export", &folder]);
    let left = files(std::path::Path::new(&folder))
        .into_iter()
        .filter(|path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).contains("Quorxite"));
    assert_eq!(left.count(), 0);
    assert_eq!(home.json(["doctor"])["ok"], true);
}
