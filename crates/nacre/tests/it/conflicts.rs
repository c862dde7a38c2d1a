//! Statements that contradict each other: who is told, what is recorded, how it is settled.

use std::path::Path;

use nacre::call::conflict;
use nacre::{Actor, Caller, Visibility, checkpoint, export, proposal};
use serde_json::{Value, json};

use crate::sealed::{Place, is_without_folder};

const OLD: &str = "The staging database listens on port 5433.";
const NEW: &str = "The staging database listens on port 5434.";

#[expect(clippy::disallowed_methods, reason = "a test plays the person with an editor")]
fn put(place: &Place, path: &str, text: &str) {
    let file = place.group.folder().join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

fn read(place: &Place, path: &str) -> String {
    place.carry();
    std::fs::read_to_string(place.group.folder().join(path)).unwrap()
}

/// The open conflicts: the number, and the ids of both sides.
fn open(place: &mut Place) -> Vec<(i64, String, String)> {
    let found = place.call("memory_conflicts", json!({})).data;
    let id = |side: &Value| side["id"].as_str().unwrap().to_owned();
    let conflicts = found["conflicts"].as_array().unwrap().iter();
    let conflicts: Vec<_> = conflicts
        .map(|one| (one["number"].as_i64().unwrap(), id(&one["first"]), id(&one["second"])))
        .collect();
    assert_eq!(found["open"], conflicts.len());
    conflicts
}

fn pair(number: i64, first: &str, second: &str) -> Vec<(i64, String, String)> {
    vec![(number, first.to_owned(), second.to_owned())]
}

/// Two entries that contradict each other.
fn two_entries() -> Place {
    let mut place = Place::new();
    place.store(OLD);
    place.later(1).store(NEW);
    place
}

/// A line of a document, and an entry that contradicts it.
fn line_and_entry() -> Place {
    let mut place = Place::new();
    put(&place, "notes.md", "# Marlin\n\n- Marlin listens on port 4100.\n- Marlin is written in Rust.\n");
    place.call("memory_search", json!({ "query": "marlin" }));
    place.store("Marlin listens on port 4200.");
    place
}

fn settle(place: &mut Place, arguments: Value) -> Value {
    place.call("memory_conflicts", arguments).data
}

#[test]
fn a_contradiction_was_reported_once_and_forgotten() {
    let mut place = two_entries();
    let listed = place.call("memory_conflicts", json!({}));
    let conflict = &listed.data["conflicts"][0];
    assert_eq!(conflict["number"], 1);
    let side = |name: &str| (conflict[name]["id"].clone(), conflict[name]["text"].clone());
    assert_eq!(side("first"), (json!("id:1"), json!(OLD)));
    assert_eq!(side("second"), (json!("id:2"), json!(NEW)));
    assert_eq!(
        (&conflict["first"]["kind"], &conflict["first"]["source"]),
        (&json!("entry"), &json!("agent"))
    );
    assert_eq!(conflict["first"]["session"], "test-session");
    assert_eq!(conflict["first"]["at"], "2026-01-15T12:00:00.000Z");
    assert_eq!(conflict["second"]["at"], "2026-01-16T12:00:00.000Z");
    assert!(
        listed.text.contains("first  [id:1] The staging database listens on port 5433. (agent,"),
        "{}",
        listed.text
    );
    assert_eq!(nacre::status(&place.view()).unwrap().conflicts, 1);
    place.check();
}

#[test]
fn an_update_did_not_say_what_it_contradicts() {
    let mut place = Place::new();
    place.store(OLD);
    place.store("The staging database is backed up nightly.");
    let updated = place.call("memory_update", json!({ "id": 2, "content": NEW }));
    assert_eq!(updated.data["contradicts"][0]["id"], "id:1", "{}", updated.data);
    assert!(updated.text.contains("It contradicts [id:1]"), "{}", updated.text);
    assert_eq!(open(&mut place), pair(1, "id:1", "id:2"));
    // New tags are no new statement.
    let tagged = place.call("memory_update", json!({ "id": 2, "tags": ["db"] })).data;
    assert!(tagged.get("contradicts").is_none(), "{tagged}");
}

#[test]
fn a_file_and_a_log_did_not_say_what_they_contradict() {
    let mut place = Place::with("balanced", &["write.files=open"]);
    place.store(OLD);
    let append = json!({ "path": "notes.md", "mode": "append", "content": format!("# Ports\n\n- {NEW}") });
    let written = place.call("memory_write", append);
    assert_eq!(written.data["contradicts"][0]["id"], "id:1", "{}", written.data);
    assert!(written.text.contains("It contradicts [id:1]"), "{}", written.text);
    assert_eq!(open(&mut place), pair(1, "id:1", "notes.md:3"));
    let logged =
        place.call("memory_write", json!({ "content": "The staging database listens on port 5435." }));
    let ids: Vec<&str> = logged.data["contradicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    assert!(ids.contains(&"id:1") && ids.contains(&"notes.md:3"), "{}", logged.data);
    assert_eq!(open(&mut place).len(), 3);
    // The line that an edit takes out is not contradicted by the line that replaces it.
    let edit = json!({ "path": "notes.md", "mode": "edit", "old": "port 5434", "content": "port 5436" });
    let edited = place.call("memory_write", edit).data;
    let contradicted = edited["contradicts"].to_string();
    assert!(contradicted.contains("id:1") && !contradicted.contains("notes.md"), "{edited}");
}

#[test]
fn a_proposed_change_says_what_it_contradicts_and_counts_when_it_is_approved() {
    let mut place = Place::new();
    place.store(OLD);
    let write = json!({ "path": "notes.md", "mode": "append", "content": NEW });
    let proposed = place.call("memory_write", write).data;
    assert_eq!((&proposed["written"], &proposed["contradicts"][0]["id"]), (&json!(false), &json!("id:1")));
    assert_eq!(open(&mut place), []);
    place.caller.actor = Actor::Person;
    proposal::approve(&mut place.view(), 1).unwrap();
    assert_eq!(open(&mut place), pair(1, "id:1", "notes.md:1"));
}

#[test]
fn a_fact_that_was_read_from_a_line_is_that_line() {
    let mut place = line_and_entry();
    assert_eq!(open(&mut place), pair(1, "notes.md:3", "id:1"));
}

#[test]
fn a_conflict_closes_when_one_side_is_no_longer_current() {
    let closes: [(&str, Value); 4] = [
        ("memory_delete", json!({ "id": 2 })),
        ("memory_update", json!({ "id": 1, "content": "The staging database is new." })),
        ("memory_store", json!({ "content": "The cat is called Miez.", "supersedes": 1 })),
        ("session_undo", json!({ "session": "test-session" })),
    ];
    for (tool, arguments) in closes {
        let mut place = two_entries();
        assert_eq!(open(&mut place).len(), 1);
        place.caller.actor = Actor::Person;
        place.call(tool, arguments);
        assert_eq!(open(&mut place), [], "{tool}");
        place.check();
    }
    // A fact that ends or is removed, and a line that a person edits.
    for (tool, arguments) in [
        ("fact_upsert", json!({ "entity": "heron", "key": "port", "value": "7070" })),
        ("fact_remove", json!({ "of": "fact-1" })),
    ] {
        let mut place = Place::new();
        place.caller.actor = Actor::Person;
        place.call("fact_upsert", json!({ "entity": "heron", "key": "port", "value": "6459" }));
        place.store("heron's port is 7070 now, not 6459");
        assert_eq!(open(&mut place), pair(1, "fact-1", "id:1"));
        place.call(tool, arguments);
        assert_eq!(open(&mut place), [], "{tool}");
    }
    let mut place = line_and_entry();
    assert_eq!(open(&mut place).len(), 1);
    put(&place, "notes.md", "# Marlin\n\n- Marlin listens on port 4200.\n");
    assert_eq!(open(&mut place), []);
}

#[test]
fn a_conflict_opens_again_when_its_end_is_undone() {
    let mut place = two_entries();
    place.call("memory_store", json!({ "content": "The cat is called Miez.", "supersedes": 1 }));
    assert_eq!(open(&mut place), []);
    place.call("memory_delete", json!({ "id": 3 }));
    assert_eq!(open(&mut place), pair(1, "id:1", "id:2"));
}

#[test]
fn keeping_one_entry_supersedes_the_other() {
    for (kept, current, past) in [("first", 1, 2), ("second", 2, 1)] {
        let mut place = two_entries();
        let done = settle(&mut place, json!({ "number": 1, "keep": kept }));
        assert_eq!(done["open"], 0, "{done}");
        assert_eq!(place.found(json!({ "query": "staging database" })), [current]);
        let lost = place.call("memory_get", json!({ "id": past })).data;
        assert!(lost["superseded_by"].is_string(), "{lost}");
        place.check();
        // Undone, both are current, and the question is open again.
        settle(&mut place, json!({ "number": 1, "undo": true }));
        assert_eq!(open(&mut place), pair(1, "id:1", "id:2"));
        assert_eq!(place.found(json!({ "query": "staging database" })).len(), 2);
        assert_eq!(place.refused("memory_conflicts", json!({ "number": 1, "undo": true })), "not_settled");
        place.check();
    }
}

#[test]
fn a_fact_that_loses_ends_and_an_entry_that_loses_to_a_fact_is_archived() {
    let mut place = Place::new();
    place.call("fact_upsert", json!({ "entity": "heron", "key": "port", "value": "6459" }));
    place.store("heron's port is 7070 now, not 6459");
    settle(&mut place, json!({ "number": 1, "keep": "second" }));
    place.caller.actor = Actor::Person;
    let facts = place.call("fact_list", json!({ "history": true })).data;
    assert!(facts["facts"][0]["until"].is_string(), "{facts}");
    settle(&mut place, json!({ "number": 1, "undo": true }));
    assert_eq!(open(&mut place).len(), 1);
    let done = settle(&mut place, json!({ "number": 1, "keep": "first" }));
    assert!(done["note"].as_str().unwrap().contains("nacre unarchive 1"), "{done}");
    assert!(place.call("memory_get", json!({ "id": 1 })).data["archived_at"].is_string());
    settle(&mut place, json!({ "number": 1, "undo": true }));
    assert_eq!(open(&mut place).len(), 1);
    place.check();
}

#[test]
fn a_pair_that_is_kept_is_never_asked_about_again() {
    let mut place = Place::new();
    place.store("heron's port is 7070.");
    place.call("fact_upsert", json!({ "entity": "heron", "key": "port", "value": "6459" }));
    assert_eq!(open(&mut place), pair(1, "id:1", "fact-1"));
    settle(&mut place, json!({ "number": 1, "keep": "both" }));
    assert_eq!(open(&mut place), []);
    let again = place.call("fact_upsert", json!({ "entity": "heron", "key": "port", "value": "6459" })).data;
    assert!(again.get("contradicts").is_none(), "{again}");
    assert_eq!(open(&mut place), []);
    assert_eq!(place.refused("memory_conflicts", json!({ "number": 1, "keep": "first" })), "no_conflict");
    settle(&mut place, json!({ "number": 1, "undo": true }));
    assert_eq!(open(&mut place).len(), 1);
}

#[test]
fn a_person_s_file_is_never_edited_without_approval() {
    let before = "# Marlin\n\n- Marlin listens on port 4100.\n- Marlin is written in Rust.\n";
    for (arguments, after) in [
        (json!({ "number": 1, "keep": "second" }), "# Marlin\n\n- Marlin is written in Rust.\n"),
        (
            json!({ "number": 1, "replace": "Marlin listens on port 4300." }),
            "# Marlin\n\n- Marlin listens on port 4300.\n- Marlin is written in Rust.\n",
        ),
    ] {
        for actor in [Actor::Person, Actor::Agent] {
            let mut place = line_and_entry();
            place.caller.actor = actor;
            let done = place.call("memory_conflicts", arguments.clone());
            assert_eq!((&done.data["proposals"], done.proposal), (&json!([1]), Some(1)), "{}", done.data);
            assert_eq!(read(&place, "notes.md"), before);
            place.caller.actor = Actor::Person;
            proposal::approve(&mut place.view(), 1).unwrap();
            assert_eq!(read(&place, "notes.md"), after);
            assert_eq!(open(&mut place), []);
            place.check();
        }
    }
}

#[test]
fn a_log_line_that_loses_stays_as_history() {
    let mut place = Place::new();
    place.call("memory_write", json!({ "content": OLD }));
    place.call("memory_search", json!({ "query": "staging" }));
    place.later(1).store(NEW);
    let log = read(&place, "memory/2026-01-15.md");
    let done = settle(&mut place, json!({ "number": 1, "keep": "second" }));
    assert_eq!(done["open"], 0, "{done}");
    assert_eq!(read(&place, "memory/2026-01-15.md"), log);
}

#[test]
fn one_statement_can_replace_both() {
    let mut place = two_entries();
    let text = "The staging database listens on port 5439.";
    let done = settle(&mut place, json!({ "number": 1, "replace": text }));
    assert_eq!(done["open"], 0, "{done}");
    assert_eq!(place.found(json!({ "query": "staging database" })), [3]);
    place.call("memory_delete", json!({ "id": 3 }));
    assert_eq!(open(&mut place).len(), 1, "deleting it brings both back");
    place.check();
}

#[test]
fn an_untrusted_session_settled_what_agents_believe() {
    let mut place = two_entries();
    place.caller.untrusted = true;
    let asked = place.call("memory_conflicts", json!({ "number": 1, "keep": "second" }));
    assert_eq!(asked.data["status"], "pending", "{}", asked.data);
    place.caller.untrusted = false;
    assert_eq!(open(&mut place).len(), 1);
    place.caller.actor = Actor::Person;
    let shown = proposal::get(&mut place.view(), 1).unwrap().diff.to_string();
    assert!(shown.contains(&format!("\n-{OLD}\n")), "{shown}");
    proposal::approve(&mut place.view(), 1).unwrap();
    assert_eq!(open(&mut place), []);
    assert_eq!(place.found(json!({ "query": "staging database" })), [2]);
}

#[test]
fn a_policy_that_denies_writes_still_lists_conflicts() {
    let mut place = two_entries();
    let layers = [nacre::settings::Layer::from_pair("the test", "write.entries=deny").unwrap()];
    let settings = nacre::Settings::from_layers(Some("balanced"), &layers).unwrap();
    place.home = place.home.with_settings(settings);
    place.reopen();
    assert_eq!(open(&mut place).len(), 1);
    assert_eq!(place.refused("memory_conflicts", json!({ "number": 1, "keep": "first" })), "write_denied");
}

#[test]
fn a_shared_session_sees_no_conflict_with_something_private() {
    let mut place = Place::new();
    place.call("memory_store", json!({ "content": OLD, "private": true }));
    place.call("memory_store", json!({ "content": NEW, "private": false }));
    assert_eq!(open(&mut place).len(), 1);
    place.caller.visibility = Visibility::Shared;
    assert_eq!(open(&mut place), []);
    assert_eq!(place.refused("memory_conflicts", json!({ "number": 1, "keep": "first" })), "no_conflict");
    assert_eq!(place.refused("memory_conflicts", json!({ "number": 1, "undo": true })), "needs_private");
    let stored =
        place.call("memory_store", json!({ "content": "The staging database listens on port 5437." }));
    let told = stored.data["contradicts"].to_string();
    assert!(told.contains("id:2") && !told.contains("id:1"), "{told}");
}

fn exported(place: &mut Place, folder: &Path) -> Value {
    export::export(&place.view(), folder).unwrap();
    serde_json::from_slice(&std::fs::read(folder.join("nacre.json")).unwrap()).unwrap()
}

#[test]
fn a_deleted_memory_left_its_conflicts() {
    if is_without_folder() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut place = two_entries();
    place.caller.actor = Actor::Person;
    let saved = checkpoint::save(&mut place.view(), "before", "").unwrap();
    let records = exported(&mut place, folder.path());
    assert_eq!(records["conflicts"].as_array().unwrap().len(), 1);
    assert!(!records["conflicts"].to_string().contains("5433"), "a row has no text");
    place.call("memory_delete", json!({ "id": 1 }));
    assert!(exported(&mut place, folder.path()).get("conflicts").is_none());
    checkpoint::restore(&mut place.view(), &saved.id).unwrap();
    assert!(exported(&mut place, folder.path()).get("conflicts").is_none());
    assert_eq!(open(&mut place), []);
    place.check();
}

#[test]
fn an_export_brings_its_conflicts_and_decisions_along() {
    let folder = tempfile::tempdir().unwrap();
    let mut place = two_entries();
    place.call("fact_upsert", json!({ "entity": "heron", "key": "port", "value": "6459" }));
    place.store("heron's port is 7070 now, not 6459");
    put(&place, "notes.md", "# Marlin\n\n- Marlin listens on port 4100.\n");
    place.call("memory_search", json!({ "query": "marlin" }));
    place.store("Marlin listens on port 4200.");
    assert_eq!(open(&mut place).len(), 3);
    settle(&mut place, json!({ "number": 1, "keep": "both" }));
    let expected =
        pair(3, "notes.md:3", "id:4").into_iter().chain(pair(2, "fact-1", "id:3")).collect::<Vec<_>>();
    assert_eq!(open(&mut place), expected);
    exported(&mut place, folder.path());

    let mut other = Place::new();
    // Facts are renumbered on import.
    other.call("fact_upsert", json!({ "entity": "osprey", "key": "port", "value": "1" }));
    for _ in 0..2 {
        export::import(&mut other.view(), folder.path()).unwrap();
        let expected: Vec<_> =
            pair(3, "notes.md:3", "id:4").into_iter().chain(pair(2, "fact-2", "id:3")).collect();
        assert_eq!(open(&mut other), expected);
    }
    other.check();
}

#[test]
fn an_import_did_not_say_what_it_contradicts() {
    let folder = tempfile::tempdir().unwrap();
    let mut source = Place::new();
    source.store(NEW);
    source.store("The cat is called Miez.");
    export::export(&source.view(), folder.path()).unwrap();
    let mut place = Place::new();
    place.store(OLD);
    let done = export::import(&mut place.view(), folder.path()).unwrap();
    let found = conflict::of_import(&mut place.view(), &done.statements).unwrap().unwrap();
    assert_eq!((found.compared, found.statements, found.contradicting), (2, 2, 1));
    assert_eq!(open(&mut place).len(), 1);
    let done = export::import(&mut place.view(), folder.path()).unwrap();
    assert_eq!(conflict::of_import(&mut place.view(), &done.statements).unwrap(), None);
}

#[test]
fn a_conflict_is_settled_by_one_argument() {
    let mut place = two_entries();
    for (arguments, field) in [
        (json!({ "number": 1 }), "keep"),
        (json!({ "keep": "first" }), "number"),
        (json!({ "number": 1, "keep": "first", "replace": "x" }), "keep"),
    ] {
        let error = place.try_call("memory_conflicts", arguments).unwrap_err().to_string();
        assert!(error.contains(field), "{error}");
    }
    assert_eq!(place.refused("memory_conflicts", json!({ "number": 7, "keep": "first" })), "no_conflict");
    let nobody = Caller { role: nacre::Role::Skill, ..place.caller.clone() };
    assert!(nacre::call(&mut place.view_of(&nobody), "memory_conflicts", json!({})).is_err());
}

/// The texts of the open conflicts, the later one first.
fn open_texts(place: &mut Place) -> Vec<(String, String)> {
    let found = place.call("memory_conflicts", json!({})).data;
    let text = |side: &Value| side["text"].as_str().unwrap().to_owned();
    found["conflicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (text(&one["second"]), text(&one["first"])))
        .collect()
}

#[test]
fn a_saved_file_did_not_say_what_it_contradicts() {
    let mut place = Place::new();
    place.store("Marlin listens on port 4200.");
    place.caller.actor = Actor::Person;
    let saved = place.call(
        "file_save",
        json!({ "path": "notes.md", "content": "# Marlin\n\nMarlin listens on port 4100.\n" }),
    );
    assert_eq!(saved.data["contradicts"][0]["id"], "id:1", "{}", saved.data);
    assert!(saved.text.contains("It contradicts [id:1]"), "{}", saved.text);
    place.call("memory_search", json!({ "query": "marlin" }));
    assert_eq!(open(&mut place), pair(1, "id:1", "notes.md:3"));
}

#[test]
fn a_file_of_the_memory_tool_was_not_compared() {
    let mut place = Place::with("balanced", &["tools.compat=[\"memory-tool\"]"]);
    place.store("Marlin listens on port 4200.");
    let create = json!({ "command": "create", "path": "/memories/marlin.md", "file_text": "Marlin listens on port 4100.\n" });
    let said = place.call("memory_tool", create).data;
    assert_eq!(said["content"], "File created successfully at: /memories/marlin.md");
    place.call("memory_search", json!({ "query": "marlin" }));
    assert_eq!(open(&mut place), pair(1, "id:1", "memories/marlin.md:1"));
}

#[test]
fn memories_of_mem0_were_not_compared() {
    let mut place = Place::with("balanced", &["tools.compat=[\"mem0\"]"]);
    let add = |place: &mut Place, user: &str, text: &str| {
        let messages = json!([{ "role": "user", "content": text }]);
        place.call("mem0_add", json!({ "user_id": user, "messages": messages }));
    };
    add(&mut place, "ana", "My desk is in room 12.");
    // Somebody else's words are about somebody else.
    add(&mut place, "ben", "My desk is in room 31.");
    assert_eq!(open_texts(&mut place), []);
    add(place.later(1), "ana", "My desk is now in room 14.");
    let pair = ("My desk is now in room 14.".to_owned(), "My desk is in room 12.".to_owned());
    assert_eq!(open_texts(&mut place), [pair]);
}

#[test]
fn facts_of_two_projects_were_reported_as_contradicting() {
    let mut place = Place::new();
    let mut store = |project: &str, content: &str| {
        let arguments = json!({ "content": content, "project": project });
        place.call("memory_store", arguments).data["contradicts"].clone()
    };
    store("heron", "The API listens on port 7070.");
    assert_eq!(store("otter", "The API listens on port 8080."), Value::Null);
    assert_eq!(store("heron", "The API listens on port 7171.")[0]["id"], "id:1");
}

#[test]
fn a_line_that_was_edited_by_hand_was_never_compared() {
    let mut place = Place::new();
    place.store("Marlin listens on port 4200.");
    put(&place, "notes.md", "# Marlin\n\n- Marlin listens on port 4100.\n- Marlin is written in Rust.\n");
    place.call("memory_search", json!({ "query": "marlin" }));
    assert_eq!(open(&mut place), [], "a search does not wait for it");
    let caller = place.caller.clone();
    let found =
        |place: &mut Place| crate::maintain::only(&mut place.group, &caller, "conflicts", "contradicting");
    assert_eq!(found(&mut place), 1);
    assert_eq!(open(&mut place), pair(1, "id:1", "notes.md:3"));
    assert_eq!(found(&mut place), 0, "nothing is compared twice");
    // Only the changed part is compared.
    put(&place, "notes.md", "# Marlin\n\n- Marlin listens on port 4200.\n- Marlin is written in Rust.\n");
    place.call("memory_search", json!({ "query": "marlin" }));
    assert_eq!(found(&mut place), 0);
    assert_eq!(open(&mut place), []);
}

#[test]
fn a_search_for_conflicts_left_documents_out() {
    let mut place = Place::new();
    put(&place, "a.md", "# Marlin\n\n- Marlin listens on port 4100.\n");
    put(&place, "b.md", "# Marlin\n\n- Marlin listens on port 4300.\n");
    place.call("memory_search", json!({ "query": "marlin" }));
    let found = conflict::find(&mut place.view(), &mut |_, _| {}).unwrap();
    assert!(found.contradicting > 0, "{found:?}");
    assert_eq!(open(&mut place).len(), 1);
}
