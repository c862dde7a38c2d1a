//! Same means same: two texts are duplicates only if they are equal after trimming, Unicode NFC, white space and case.
#![allow(clippy::disallowed_methods, reason = "a test writes what a person would")]

use nacre::Visibility;
use serde_json::json;

use crate::sealed::{Place, is_without_folder};

/// Texts that say something different in a sign, a digit or a mark.
const DIFFERENT: &[(&str, &str)] = &[
    ("Use version 1.5 of the library", "Use version 15 of the library"),
    ("IP is 10.1.12.3", "IP is 10.11.2.3"),
    ("Pay on 1/12/2026", "Pay on 11/2/2026"),
    ("I prefer C++ for games", "I prefer C# for games"),
    ("assert x >= 5", "assert x <= 5"),
    ("The offset is -5", "The offset is 5"),
    ("It costs $5", "It costs €5"),
    ("Clean up with rm -rf ./tmp", "Clean up with rm -rf /tmp"),
    ("She answered :-)", "She answered :-("),
    ("Cron is * * 1", "Cron is * 1 *"),
    ("Mail a.b@x.com", "Mail ab@x.com"),
    ("Filter by ^a+b$", "Filter by a?b"),
    ("Feliz año", "Feliz ano"),
    ("The mascot is 🦀", "The mascot is 🐢"),
    ("The ratio is 1:5", "The ratio is 15"),
];

#[test]
fn different_facts_are_not_dropped_as_duplicates() {
    for (one, other) in DIFFERENT {
        let mut place = Place::new();
        place.store(one);
        let stored = place.call("memory_store", json!({ "content": other })).data;
        assert_eq!((&stored["number"], stored.get("duplicate_of")), (&json!(2), None), "{one} / {other}");
        place.check();
    }
}

#[test]
fn a_correction_that_differs_in_a_sign_replaces_what_it_corrects() {
    for (one, other) in DIFFERENT {
        let mut place = Place::new();
        place.store(one);
        place.call("memory_store", json!({ "content": other, "supersedes": 1 }));
        let old = place.call("memory_get", json!({ "id": 1 })).data;
        assert!(old["superseded_by"].is_string(), "{one} / {other}: {old}");
    }
}

#[test]
fn a_duplicate_takes_on_what_the_second_store_says() {
    let mut place = Place::new();
    place.store("My salary is 90k");
    let again = place
        .call(
            "memory_store",
            json!({ "content": "my  SALARY is 90k", "private": true, "type": "context", "tags": "money" }),
        )
        .data;
    assert_eq!((&again["number"], &again["amended"]), (&json!(1), &json!(true)), "{again}");
    let entry = place.call("memory_get", json!({ "id": 1 })).data;
    assert_eq!((&entry["type"], &entry["tags"]), (&json!("context"), &json!(["money"])), "{entry}");
    place.caller.visibility = Visibility::Shared;
    assert_eq!(place.found(json!({ "query": "salary" })), Vec::<i64>::new());
    place.check();
}

#[test]
fn a_duplicate_without_a_type_keeps_the_type_it_has() {
    let mut place = Place::new();
    place.call(
        "memory_store",
        json!({ "content": "Always use tabs", "type": "instruction", "tags": "style" }),
    );
    let again = place.call("memory_store", json!({ "content": "always use tabs" })).data;
    assert_eq!((&again["type"], again.get("amended")), (&json!("instruction"), None), "{again}");
}

#[test]
fn an_untrusted_session_changes_no_entry_by_storing_it_again() {
    let mut place = Place::new();
    place.call("memory_store", json!({ "content": "Always use tabs", "type": "instruction" }));
    place.caller.untrusted = true;
    place.call("memory_store", json!({ "content": "always use tabs", "type": "fact", "tags": "planted" }));
    let entry = place.call("memory_get", json!({ "id": 1 })).data;
    assert_eq!((&entry["type"], &entry["tags"]), (&json!("instruction"), &json!([])), "{entry}");
}

#[test]
fn values_of_facts_that_differ_in_a_sign_replace_each_other() {
    for (old, new) in [("-5", "5"), ("1.5", "15"), ("a.b@x.com", "a-b@x.com"), ("C++", "C#")] {
        let mut place = Place::of_person();
        place.set("Ada", "offset", old);
        let set = place.set("Ada", "offset", new);
        assert_eq!(set["replaced"], json!(old), "{old} / {new}: {set}");
        assert_eq!(place.facts(), [format!("Ada.offset = {new}")]);
    }
}

#[test]
fn entities_that_differ_in_a_sign_are_two() {
    let mut place = Place::of_person();
    place.set("C++", "creator", "Bjarne");
    place.set("C#", "creator", "Anders");
    assert_eq!(place.facts(), ["C#.creator = Anders", "C++.creator = Bjarne"]);
    assert!(place.ask("who is the creator of C++?")[0].contains("Bjarne"));
    assert!(place.ask("who is the creator of C#?")[0].contains("Anders"));
}

#[test]
fn a_document_that_changes_a_sign_changes_the_fact() {
    let mut place = Place::of_person();
    let log = place.folder.path().join("groups/main/memory/2026-01-14.md");
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    std::fs::write(&log, "## Harbor\n- api offset: -5\n").unwrap();
    nacre::workspace::sync(&mut place.view()).unwrap();
    assert_eq!(place.facts(), ["Harbor.api_offset = -5"]);
    std::fs::write(&log, "## Harbor\n- api offset: 5\n").unwrap();
    nacre::workspace::sync(&mut place.view()).unwrap();
    assert_eq!(place.facts(), ["Harbor.api_offset = 5"]);
}

#[test]
fn a_memory_of_schema_11_tells_signs_apart_too() {
    if is_without_folder() {
        return;
    }
    let released = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/released/schema-11.db");
    let mut place = Place::of_person();
    let group = place.folder.path().join("groups/main");
    std::fs::create_dir_all(&group).unwrap();
    std::fs::copy(released, group.join("memory.db")).unwrap();
    place.reopen();
    let same = place.call("memory_store", json!({ "content": "i prefer  c++ for games" })).data;
    assert_eq!(same["number"], json!(3), "{same}");
    let other = place.call("memory_store", json!({ "content": "I prefer C# for games" })).data;
    assert_eq!(other["number"], json!(4), "{other}");
    place.set("C#", "creator", "Anders");
    assert_eq!(place.facts(), ["C#.creator = Anders", "C++.creator = Bjarne"]);
    place.check();
}
