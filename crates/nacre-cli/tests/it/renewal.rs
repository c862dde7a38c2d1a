//! Built-in vectors of an older model, rebuilt behind the calls of a server or by a command.

use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::sealed::Sealed;

const MESSAGES: usize = 3000;

/// A memory of many messages whose vectors an older model made.
fn older() -> (Sealed, Value) {
    let sealed = Sealed::new();
    let line = |number: usize| {
        let text = format!("Note {number} is about the {} heron on the lake", number % 17);
        format!("{}\n", json!({ "id": number.to_string(), "session": "s", "speaker": "user", "text": text }))
    };
    std::fs::write(sealed.beside("talk.jsonl"), (0..MESSAGES).map(line).collect::<String>()).unwrap();
    sealed.json(["session", "import", &sealed.beside("talk.jsonl")]);
    let before = search(&sealed);
    let db = Connection::open(sealed.database("main")).unwrap();
    let made_by: String =
        db.query_row("SELECT value FROM meta WHERE key = 'analyser'", [], |row| row.get(0)).unwrap();
    let older: Vec<&str> = made_by
        .split(' ')
        .map(|part| if part.starts_with("builtin-") { "builtin-0-older" } else { part })
        .collect();
    db.execute("UPDATE meta SET value = ?1 WHERE key = 'analyser'", [older.join(" ")]).unwrap();
    db.execute("UPDATE vectors SET data = zeroblob(length(data))", []).unwrap();
    (sealed, before)
}

fn search(sealed: &Sealed) -> Value {
    sealed.json(["search", "birds at the water", "--scope", "sessions"])
}

fn made(sealed: &Sealed) -> Option<i64> {
    sealed.json(["status"])["vectors"]["made"].as_i64()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_kill_costs_a_batch_and_the_rest_goes_on() {
    let (sealed, before) = older();
    let found = sealed.json(["search", "heron 2999", "--scope", "sessions"]);
    assert!(found["hits"][0]["text"].as_str().unwrap().contains("Note 2999 "), "{found:#}");
    assert!(found["missing"][0].as_str().unwrap().contains("0 of 3000"), "{found:#}");
    assert_eq!(made(&sealed), Some(0), "neither a search nor a look at the status writes");
    let begun = Connection::open(sealed.database("main")).unwrap();
    let mut process = sealed.command(["index"]).spawn().unwrap();
    wait_until("nothing was made", || {
        let sql = "SELECT EXISTS (SELECT 1 FROM meta WHERE key = 'old_vectors')";
        begun.query_row(sql, [], |row| row.get(0)).unwrap_or(false)
    });
    process.kill().unwrap();
    process.wait().unwrap();
    let kept = made(&sealed).expect("it was killed in between");
    assert!((1..3000).contains(&kept), "{kept}");
    let status = sealed.run(["status"]).stdout;
    assert!(status.contains(&format!("{kept} of 3000 rebuilt")), "{status}");
    let doctor = sealed.run(["doctor"]);
    assert!(doctor.status == 0 && doctor.stdout.contains("of 3000 rebuilt"), "{doctor:?}");
    assert_eq!(sealed.json(["index"])["vectors"], json!({ "made": 3000, "all": 3000 }));
    assert_eq!((made(&sealed), search(&sealed)), (None, before.clone()));
    assert_eq!(sealed.run(["doctor"]).status, 0);
    sealed.json(["reindex"]);
    assert_eq!(search(&sealed), before);
}

#[test]
fn a_server_makes_them_behind_its_calls() {
    let (sealed, before) = older();
    let mut server = sealed.mcp();
    let question = json!({ "query": "birds at the water", "scope": ["sessions"] });
    assert!(server.data("memory_search", &question)["missing"][0].is_string());
    // Another server at the same time, and writes of commands.
    let mut other = sealed.mcp();
    other.data("memory_search", &question);
    for number in 0..5 {
        assert_eq!(sealed.run(["store", &format!("A thing to keep, number {number}")]).status, 0);
    }
    wait_until("they are not made", || made(&sealed).is_none());
    for server in [&mut server, &mut other] {
        let found = server.data("memory_search", &question);
        assert_eq!(found.get("missing"), None);
        assert_eq!(found["hits"][0]["text"], before["hits"][0]["text"]);
    }
    assert_eq!(sealed.run(["doctor"]).status, 0);
    let by_steps = search(&sealed);
    sealed.json(["reindex"]);
    assert_eq!(search(&sealed), by_steps);
}
