//! Exact search: the same lines that `grep` finds, for everyone who may see them.

use nacre::{Caller, Visibility};
use serde_json::{Value, json};

use crate::sealed::Place;

#[expect(clippy::disallowed_methods, reason = "a test plays the person with an editor")]
fn put(place: &Place, path: &str, text: &str) {
    let file = place.group.folder().join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

/// A memory, a document and a conversation that all speak of the port of heron.
fn place() -> Place {
    let mut place = Place::with("balanced", &[r#"tools.offer=["memory_grep", "memory_store"]"#]);
    place.store("Heron listens on port 7070.");
    put(&place, "notes.md", "# Heron\n\nPort: 7070\nÜber den Hafen\n");
    let talk = r#"{"id":"1","session":"talk","speaker":"user","text":"Is it port 7070?","timestamp":"2026-03-01T10:00:00Z"}"#;
    let caller = place.caller.clone();
    nacre::session::import_transcript(&mut place.view_of(&caller), talk.as_bytes(), "talk.jsonl", |_| {})
        .unwrap();
    place
}

fn lines(found: &Value) -> Vec<String> {
    let text = |line: &Value| format!("{}:{}", line["source"].as_str().unwrap(), line["line"]);
    found["lines"].as_array().unwrap().iter().map(text).collect()
}

#[test]
fn lines_of_memories_documents_and_transcripts_are_found() {
    let mut place = place();
    let found = place.call("memory_grep", json!({ "pattern": "[Pp]ort:? 70{1}70" }));
    assert_eq!(lines(&found.data), ["id:1:1", "notes.md:3", "talk#1:1"]);
    assert_eq!(
        found.text,
        "id:1:1:Heron listens on port 7070.\nnotes.md:3:Port: 7070\ntalk#1:1:Is it port 7070? [origin import]"
    );
    let found = place.call("memory_grep", json!({ "pattern": "über", "ignore_case": true, "context": 1 }));
    assert_eq!(found.text, "notes.md-3-Port: 7070\nnotes.md:4:Über den Hafen");
    let found = place.call("memory_grep", json!({ "pattern": "7.70", "literal": true }));
    assert_eq!((lines(&found.data).len(), found.data["total"].clone()), (0, json!(0)));
    let found =
        place.call("memory_grep", json!({ "pattern": "7070", "limit": 1, "scope": ["memory", "sessions"] }));
    assert_eq!((lines(&found.data), found.data["total"].clone()), (vec!["notes.md:3".to_owned()], json!(2)));
}

#[test]
fn a_bad_pattern_is_refused_with_its_reason() {
    let mut place = place();
    assert_eq!(place.refused("memory_grep", json!({ "pattern": "(" })), "bad_argument");
    assert_eq!(place.refused("memory_grep", json!({ "pattern": "a", "scope": ["graph"] })), "bad_argument");
}

#[test]
fn a_shared_session_greps_nothing_private() {
    let mut place = place();
    put(&place, "diary.md", "---\nprivate: true\n---\nthe port is 7070\n");
    place.call("memory_store", json!({ "content": "My own port is 7070.", "private": true }));
    let all = place.call("memory_grep", json!({ "pattern": "7070" }));
    assert_eq!(all.data["total"], 5);
    let shared = Caller { visibility: Visibility::Shared, ..place.caller.clone() };
    let mut view = place.view_of(&shared);
    let found = nacre::call(&mut view, "memory_grep", json!({ "pattern": "7070" })).unwrap().data;
    let found = lines(&found);
    assert!(found.contains(&"notes.md:3".to_owned()), "{found:?}");
    assert!(!found.iter().any(|line| line.starts_with("diary.md") || line.starts_with("id:2")), "{found:?}");
}

#[test]
fn a_credential_is_neither_shown_nor_guessed() {
    let mut place = place();
    put(&place, "keys.md", "the token is gho_16C7e42F292c6912E7710c838347Ae178B4a today\n");
    let found = place.call("memory_grep", json!({ "pattern": "token" }));
    assert_eq!(found.text, "keys.md:1:the token is [REDACTED] today");
    assert_eq!(place.call("memory_grep", json!({ "pattern": "gho_16" })).data["total"], 0);
}

#[test]
fn lines_of_strangers_are_marked() {
    let mut place = place();
    let stranger = Caller { untrusted: true, session: "stranger".parse().unwrap(), ..place.caller.clone() };
    let stored = json!({ "content": "The heron port is 6666." });
    nacre::call(&mut place.view_of(&stranger), "memory_store", stored).unwrap();
    let found = place.call("memory_grep", json!({ "pattern": "6666" }));
    assert_eq!(found.text, "id:2:1:The heron port is 6666. [origin untrusted]");
    assert_eq!(found.data["lines"][0]["origin"], "untrusted");
    // A transcript that was imported is one too.
    let found = place.call("memory_grep", json!({ "pattern": "Is it", "scope": ["sessions"] }));
    assert_eq!(found.data["lines"][0]["origin"], "import");
}

#[test]
fn lines_that_are_no_longer_current_are_not_found() {
    let mut place = place();
    place.call("memory_store", json!({ "content": "Heron listens on port 8080.", "supersedes": 1 }));
    let found = place.call("memory_grep", json!({ "pattern": "Heron listens" }));
    assert_eq!(found.text, "id:2:1:Heron listens on port 8080.");
}

#[test]
fn lines_around_matches_are_shown_once() {
    let mut place = place();
    put(&place, "list.md", "one\ntwo\nthree match\nfour\nfive match\nsix\nseven\neight\nnine match\n");
    let found = place.call("memory_grep", json!({ "pattern": "match", "context": 1 }));
    let expected = "list.md-2-two\nlist.md:3:three match\nlist.md-4-four\nlist.md:5:five match\nlist.md-6-six\n--\nlist.md-8-eight\nlist.md:9:nine match";
    assert_eq!(found.text, expected);
}

#[test]
fn a_document_that_is_no_text_does_not_stop_the_search() {
    let mut place = place();
    let folder = place.group.folder().to_owned();
    #[expect(clippy::disallowed_methods, reason = "a test plays the person with an editor")]
    let write = |path: &str, bytes: &[u8]| std::fs::write(folder.join(path), bytes).unwrap();
    write("binary.md", b"\x00\xff\xfe port 7070 \x80\n");
    let utf16: Vec<u8> =
        [0xff, 0xfe].into_iter().chain("Hafen 7070\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    write("windows.md", &utf16);
    write("long.md", format!("{} 7070\n", "x".repeat(200_000)).as_bytes());
    let found = place.call("memory_grep", json!({ "pattern": "7070", "scope": ["memory"] }));
    let found = lines(&found.data);
    for line in ["binary.md:1", "long.md:1", "notes.md:3", "windows.md:1"] {
        assert!(found.contains(&line.to_owned()), "{line}: {found:?}");
    }
}

#[test]
fn a_private_session_is_not_searched_by_a_shared_one() {
    let mut place = place();
    let shared = Caller { visibility: Visibility::Shared, ..place.caller.clone() };
    let found = nacre::call(
        &mut place.view_of(&shared),
        "memory_grep",
        json!({ "pattern": "7070", "scope": ["sessions"] }),
    )
    .unwrap();
    assert_eq!(found.data["total"], 0, "an imported conversation is the person's own: {}", found.text);
}

#[test]
fn case_is_ignored_as_unicode_folds_it() {
    let mut place = place();
    put(&place, "cases.md", "STRASSE ΣΊΣΥΦΟΣ İzmir ПРИВЕТ\n");
    for (pattern, found) in [("привет", 1), ("σίσυφος", 1), ("strasse", 1), ("nothing", 0)] {
        let answer =
            place.call("memory_grep", json!({ "pattern": pattern, "ignore_case": true, "literal": true }));
        assert_eq!(answer.data["total"], found, "{pattern}");
    }
}

#[test]
fn a_pattern_without_an_end_is_refused() {
    let mut place = place();
    assert_eq!(place.refused("memory_grep", json!({ "pattern": "" })), "bad_argument");
    assert_eq!(place.refused("memory_grep", json!({ "pattern": "a".repeat(2001) })), "bad_argument");
    assert_eq!(place.refused("memory_grep", json!({ "pattern": r"(\pL{900}){900}" })), "bad_argument");
}

#[test]
fn a_credential_beside_letters_of_other_scripts_is_masked() {
    let mut place = place();
    let token = "gho_16C7e42F292c6912E7710c838347Ae178B4a";
    for (number, (before, after)) in [
        ("密码是", "，请保密"),
        ("トークンは", "です"),
        ("토큰은", "입니다"),
        ("ключ", "и всё"),
        ("المفتاح", "هنا"),
    ]
    .iter()
    .enumerate()
    {
        put(&place, &format!("keys{number}.md"), &format!("{before}{token}{after}\n"));
        place.store(&format!("{number} {before}{token}{after}"));
        let found = place.call("memory_grep", json!({ "pattern": before, "literal": true }));
        assert_eq!(found.data["total"], 2, "{before}");
        assert!(!found.text.contains("gho_16") && found.text.contains("[REDACTED]"), "{}", found.text);
    }
}
