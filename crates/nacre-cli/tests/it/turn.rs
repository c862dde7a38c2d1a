//! `turn` and `lesson` through the real binary.

use serde_json::json;

use crate::sealed::Sealed;

#[test]
fn a_turn_is_told_and_explained() {
    let home = Sealed::new();
    home.json(["store", "The user's passport expires on 9 July 2026"]);
    let turn = home.json(["--session", "a", "turn", "When does my passport expire?"]);
    assert_eq!(turn["blocks"][0]["lines"][0]["source"].as_str().unwrap().len(), 40);
    assert!(turn["markdown"].as_str().unwrap().contains("- The user's passport expires"));
    assert_eq!(turn.get("considered"), None);
    let explained = home.json(["--session", "b", "turn", "When does my passport expire?", "--explain"]);
    assert!(explained["considered"][0]["evidence"].as_array().unwrap().len() > 10);
    let silent = home.json(["turn", "Good morning!"]);
    assert_eq!((silent["markdown"].as_str(), silent["tokens"].as_u64()), (Some(""), Some(0)));
}

#[test]
fn an_answer_is_archived_and_teaches() {
    let home = Sealed::new();
    let archived = home.json([
        "--session",
        "a",
        "turn",
        "Don't mock the database in unit tests.",
        "--answer",
        "I rewrote them.",
    ]);
    assert_eq!(archived["lessons"][0], "Don't mock the database in unit tests.");
    let listed = home.json(["lesson", "list"]);
    assert_eq!(
        (listed["lessons"][0]["number"].as_i64(), listed["proposals"].as_array().map(Vec::len)),
        (Some(1), Some(0))
    );
    let turn = || home.json(["--session", "b", "turn", "Write a unit test for the database layer"]);
    assert_eq!(turn()["blocks"], json!([]), "it waits");
    home.json_at_terminal(["lesson", "confirm", "1"]);
    assert_eq!(turn()["blocks"][0]["contributor"], "lessons");
    home.json(["lesson", "forget", "1"]);
    assert_eq!(home.json(["lesson", "list"])["lessons"].as_array().map(Vec::len), Some(0));
}
