//! `nacre conflicts`: what people and programs see of statements that contradict each other.

use serde_json::{Value, json};

use crate::sealed::{Output, Sealed};

const OLD: &str = "The staging database listens on port 5433.";
const NEW: &str = "The staging database listens on port 5434.";

fn two_entries() -> Sealed {
    let home = Sealed::new();
    for content in [OLD, NEW] {
        home.json(["store", content]);
    }
    home
}

#[test]
fn a_person_settles_a_conflict_and_undoes_it() {
    let home = two_entries();
    let Output { status, stdout, stderr } = home.run(["conflicts"]);
    assert_eq!(status, 0);
    assert_eq!(
        stdout.trim_end(),
        "Conflict 1, found today:\n  first  [id:1] The staging database listens on port 5433. (person, today)\n  \
         second [id:2] The staging database listens on port 5434. (person, today)"
    );
    assert!(stderr.contains("`nacre conflicts keep 1 first`"), "{stderr}");
    assert_eq!(home.json(["status"])["conflicts"], 1);
    assert!(home.run(["status"]).stdout.contains("1 open conflict (`nacre conflicts`)"));
    assert!(home.run(["doctor"]).stdout.contains("main: 1 open conflict (`nacre conflicts`)"));
    let settled = home.run(["conflicts", "keep", "1", "second"]).stdout;
    assert_eq!(settled.trim_end(), "[id:1] is superseded by [id:2].");
    assert_eq!(home.run(["conflicts"]).stdout.trim_end(), "There are no open conflicts.");
    assert!(!home.run(["status"]).stdout.contains("conflict"));
    home.json(["conflicts", "undo", "1"]);
    assert_eq!(home.json(["conflicts"])["open"], 1);
    home.json(["conflict", "keep", "1", "both"]);
    assert_eq!(home.json(["conflicts"])["open"], 0);
    let (status, error) = home.error(["conflicts", "keep", "1", "first"]);
    assert_eq!((status, &error["code"]), (3, &json!("no_conflict")));
}

#[test]
fn words_without_quotes_replace_both_statements() {
    let home = two_entries();
    let text = "The staging database listens on port 5439.";
    home.json(["conflicts", "replace", "1"].into_iter().chain(text.split(' ')));
    let found = home.json(["search", "staging database"]);
    let texts: Vec<&Value> = found["hits"].as_array().unwrap().iter().map(|hit| &hit["text"]).collect();
    assert_eq!(texts, [text]);
}

#[test]
fn a_line_of_a_file_is_only_proposed_for_an_edit() {
    let home = Sealed::new();
    home.json(["init", "--bare"]);
    let file = home.home().join("groups/main/notes.md");
    let text = format!("# Ports\n\n- {OLD}\n");
    std::fs::write(&file, &text).unwrap();
    home.json(["index"]);
    home.json(["store", NEW]);
    let done = home.json(["conflicts", "keep", "1", "second"]);
    assert_eq!(done["proposals"], json!([1]), "{done}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    home.json_at_terminal(["approve", "1"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "# Ports\n\n");
    assert_eq!(home.json(["conflicts"])["open"], 0);
}

#[test]
fn a_log_line_and_an_import_name_the_conflict() {
    let home = Sealed::new();
    home.json(["store", OLD]);
    let logged = home.run(["log", NEW]);
    assert!(logged.stderr.contains("it contradicts [id:1]"), "{logged:?}");
    let source = home.beside("memory.jsonl");
    let lines = ["5435", "5436"].map(|port| {
        json!({ "id": port, "memory": format!("The staging database listens on port {port}.") }).to_string()
    });
    std::fs::write(&source, lines.join("\n")).unwrap();
    let imported = home.run(["import", "mem0", &source]);
    assert!(
        imported.stderr.contains("2 of these contradict what is stored: `nacre conflicts`"),
        "{imported:?}"
    );
    let again = home.json(["import", "mem0", &source]);
    assert!(again.get("conflicts").is_none(), "{again}");
}

#[test]
fn a_large_import_was_compared_in_part_and_said_nothing_of_it() {
    let home = Sealed::new();
    let source = home.beside("memory.jsonl");
    let port = |number: usize| format!("Server {number} of the old lab listens on port {number}.");
    let mut lines: Vec<String> = (0..120)
        .map(|number| json!({ "id": number.to_string(), "memory": port(number) }).to_string())
        .collect();
    lines.push(json!({ "id": "a", "memory": OLD }).to_string());
    lines.push(json!({ "id": "b", "memory": NEW }).to_string());
    std::fs::write(&source, lines.join("\n")).unwrap();
    let imported = home.json(["import", "mem0", &source]);
    assert_eq!(
        (&imported["conflicts"]["compared"], &imported["conflicts"]["statements"]),
        (&json!(100), &json!(122))
    );
    let before = home.json(["conflicts"])["open"].as_i64().unwrap();
    let found = home.json(["conflicts", "find"]);
    assert_eq!((&found["compared"], &found["statements"]), (&json!(122), &json!(122)));
    assert_eq!(home.json(["conflicts"])["open"].as_i64().unwrap(), before + 1, "the pair at the end");
    let mut agent = home.command(["--json", "conflicts", "find"]);
    agent.env("CLAUDECODE", "1");
    assert_eq!(agent.output().unwrap().status.code(), Some(5));
}
