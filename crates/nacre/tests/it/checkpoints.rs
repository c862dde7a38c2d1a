//! Checkpoints: files and records kept, compared, put back.
#![allow(clippy::disallowed_methods, reason = "a test writes what a person would")]

use std::fs;
use std::path::PathBuf;

use nacre::{Caller, Checkpoint};
use serde_json::json;

use crate::sealed::{Place, is_without_folder, noon};

fn person() -> Caller {
    Caller::person("person".parse().unwrap(), noon())
}

fn put(place: &Place, path: &str, text: &str) {
    let file = place.group.folder().join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn save(place: &mut Place, name: &str) -> Checkpoint {
    nacre::checkpoint::save(&mut place.view_of(&person()), name, "a test").unwrap()
}

fn folder(place: &Place, id: &str) -> PathBuf {
    place.group.folder().join("memory/checkpoints").join(id)
}

fn contents(place: &mut Place) -> Vec<String> {
    let export = tempfile::tempdir().unwrap();
    nacre::export::export(&place.view(), export.path()).unwrap();
    let text = fs::read_to_string(export.path().join("nacre.json")).unwrap();
    let records: serde_json::Value = serde_json::from_str(&text).unwrap();
    let content = |entry: &serde_json::Value| entry["content"].as_str().unwrap().to_owned();
    records["entries"].as_array().unwrap().iter().map(content).collect()
}

/// A place with something of each kind.
fn furnished() -> Place {
    let mut place = Place::with(
        "balanced",
        &[
            "tools.offer=[\"memory_store\", \"memory_search\", \"memory_update\", \"memory_delete\", \"fact_upsert\", \"graph_search\", \"fact_list\", \"fact_remove\"]",
        ],
    );
    put(&place, "MEMORY.md", "# Garden\n\nTomatoes grow behind the shed.\n");
    put(&place, "memory/topics/boat.md", "The boat lies in Travemünde.\n");
    place.store("The compost is turned in March");
    place.call("fact_upsert", json!({ "entity": "Petra", "key": "port", "value": "Lübeck" }));
    let lines = "{\"role\":\"user\",\"content\":\"the orchard needs pruning\"}\n{\"role\":\"assistant\",\"content\":\"noted\"}\n";
    nacre::session::import_transcript(&mut place.view_of(&person()), lines.as_bytes(), "talk", |_| {})
        .unwrap();
    place
}

#[test]
fn what_is_restored_is_what_was_saved() {
    if is_without_folder() {
        return;
    }
    let mut place = furnished();
    nacre::workspace::sync(&mut place.view_of(&person())).unwrap();
    let before = (
        contents(&mut place),
        place.call("memory_search", json!({ "query": "orchard pruning", "scope": ["sessions"] })).text,
    );
    let saved = save(&mut place, "Before the Flood!");
    assert_eq!(saved.id, "2026-01-15T12-00-00-before-the-flood");
    assert_eq!(saved.files.len(), 2);

    place.store("A new entry");
    place.call("memory_update", json!({ "id": 1, "content": "The compost is turned in May" }));
    place.call("fact_upsert", json!({ "entity": "Petra", "key": "port", "value": "Kiel" }));
    put(&place, "MEMORY.md", "changed\n");
    put(&place, "new.md", "a new file\n");
    fs::remove_file(place.group.folder().join("memory/topics/boat.md")).unwrap();

    let diff = nacre::checkpoint::diff(&mut place.view_of(&person()), "before-the-flood").unwrap();
    let files: Vec<&str> = diff.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(files, ["MEMORY.md", "memory/topics/boat.md", "new.md"]);
    let entries = diff.records.iter().find(|table| table.table == "entries").unwrap();
    assert_eq!((entries.added.count, entries.changed.count, entries.removed.count), (1, 1, 0));
    assert_eq!(entries.added.first, ["[id:2] A new entry"]);

    // Another handle has the database open all the while.
    let mut other = place.home.group(&"main".parse().unwrap(), noon()).unwrap();
    nacre::call(&mut other.enter(&person()).unwrap(), "memory_search", json!({ "query": "new entry" }))
        .unwrap();

    let rows_before = nacre::status(&place.view()).unwrap().audit_rows;
    let done = nacre::checkpoint::restore(&mut place.view_of(&person()), &saved.id).unwrap();
    assert_eq!((done.files, done.left.len()), (3, 0));
    assert_eq!(contents(&mut place), before.0);
    let found =
        place.call("memory_search", json!({ "query": "orchard pruning", "scope": ["sessions"] })).text;
    assert_eq!(found, before.1);
    assert_eq!(
        fs::read_to_string(place.group.folder().join("MEMORY.md")).unwrap(),
        "# Garden\n\nTomatoes grow behind the shed.\n"
    );
    assert!(!place.group.folder().join("new.md").exists());
    assert!(place.call("graph_search", json!({ "query": "Petra port" })).text.contains("Lübeck"));
    assert!(place.call("memory_search", json!({ "query": "boat Travemünde" })).text.contains("boat.md"));
    place.check();
    // Completed writes are still there, and the chain verifies.
    assert!(nacre::status(&place.view()).unwrap().audit_rows > rows_before);
    assert_eq!(place.view().verify_audit().unwrap().problem, None);

    let seen =
        nacre::call(&mut other.enter(&person()).unwrap(), "memory_search", json!({ "query": "new entry" }))
            .unwrap();
    assert!(!seen.text.contains("A new entry"), "{}", seen.text);

    // Numbers are never given twice.
    assert_eq!(place.store("Another new entry"), 3);

    // And back again.
    nacre::checkpoint::restore(&mut place.view_of(&person()), &done.before).unwrap();
    assert_eq!(contents(&mut place), ["The compost is turned in May", "A new entry"]);
    assert_eq!(fs::read_to_string(place.group.folder().join("MEMORY.md")).unwrap(), "changed\n");
    place.check();
}

#[cfg(unix)]
#[test]
fn modes_come_back_with_the_files() {
    if is_without_folder() {
        return;
    }
    use std::os::unix::fs::PermissionsExt as _;
    let mut place = furnished();
    let file = place.group.folder().join("MEMORY.md");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let id = save(&mut place, "").id;
    fs::remove_file(&file).unwrap();
    nacre::checkpoint::restore(&mut place.view_of(&person()), &id).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
}

#[test]
fn checkpoints_are_no_documents() {
    if is_without_folder() {
        return;
    }
    let mut place = furnished();
    let id = save(&mut place, "").id;
    assert!(folder(&place, &id).join("files/MEMORY.md").exists());
    nacre::workspace::sync(&mut place.view_of(&person())).unwrap();
    assert_eq!(nacre::status(&place.view()).unwrap().documents.indexed, 2);
    // Nor does one hold another.
    place.caller.now = noon();
    assert_eq!(save(&mut place, "").files.len(), 2);
}

#[test]
fn what_is_deleted_is_deleted_from_checkpoints_too() {
    if is_without_folder() {
        return;
    }
    let mut place = furnished();
    place.call("memory_update", json!({ "id": 1, "content": "The zebrafinch sings" }));
    place.call("memory_update", json!({ "id": 1, "content": "It sings" }));
    place.call("fact_upsert", json!({ "entity": "Petra", "key": "car", "value": "Quaggamobile" }));
    let id = save(&mut place, "").id;
    let records = folder(&place, &id).join("records.db");
    let holds = |text: &str| {
        let bytes = fs::read(&records).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    };
    assert!(holds("zebrafinch") && holds("Quaggamobile"));
    assert!(place.call("memory_delete", json!({ "id": 1 })).data.get("still_in").is_none());
    place.call("fact_remove", json!({ "of": "Petra", "key": "car" }));
    assert!(!holds("zebrafinch") && !holds("Quaggamobile"), "the words still stand in the checkpoint");
    // It is whole, and brings nothing back.
    nacre::checkpoint::restore(&mut place.view_of(&person()), &id).unwrap();
    assert!(contents(&mut place).is_empty());
    place.check();
}

#[test]
fn the_oldest_go_and_the_last_stays() {
    if is_without_folder() {
        return;
    }
    let mut place = Place::with("balanced", &["checkpoints.keep=0"]);
    place.store("something");
    let first = save(&mut place, "first").id;
    let second = save(&mut place, "second").id;
    let ids = |place: &mut Place| -> Vec<String> {
        let found = nacre::checkpoint::list(&place.view()).unwrap().checkpoints;
        found.into_iter().map(|found| found.id).collect()
    };
    assert_eq!(ids(&mut place), [second.as_str()]);
    assert_ne!(first, second);
    // Going back keeps what it goes back to.
    let done = nacre::checkpoint::restore(&mut place.view_of(&person()), "second").unwrap();
    assert!(ids(&mut place).contains(&second) && ids(&mut place).contains(&done.before));
    assert_eq!(nacre::checkpoint::remove(&mut place.view_of(&person()), "second").unwrap(), second);
    assert_eq!(ids(&mut place), [done.before.as_str()]);
}

#[test]
fn damaged_and_foreign_folders_are_named_and_nothing_is_changed() {
    if is_without_folder() {
        return;
    }
    let mut place = furnished();
    let damage = |place: &mut Place, name: &str, harm: &dyn Fn(&PathBuf)| {
        let id = save(place, name).id;
        harm(&folder(place, &id));
        let before = contents(place);
        let error = nacre::checkpoint::restore(&mut place.view_of(&person()), &id).unwrap_err();
        assert_eq!(contents(place), before, "{name}");
        (error.code(), error.to_string())
    };
    let manifest = |folder: &PathBuf, from: &str, to: &str| {
        let file = folder.join("manifest.json");
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(file, text.replace(from, to)).unwrap();
    };
    let bad = "bad_checkpoint";
    for (name, code, says, harm) in [
        (
            "file-changed",
            bad,
            "modified file",
            &(|at: &PathBuf| fs::write(at.join("files/MEMORY.md"), "x").unwrap()) as &dyn Fn(&PathBuf),
        ),
        ("file-gone", bad, "is missing a file", &|at| fs::remove_file(at.join("files/MEMORY.md")).unwrap()),
        ("records-gone", bad, "no records", &|at| fs::remove_file(at.join("records.db")).unwrap()),
        ("records-changed", bad, "modified records", &|at| {
            fs::write(at.join("records.db"), "no database").unwrap()
        }),
        ("manifest-gone", bad, "no manifest", &|at| fs::remove_file(at.join("manifest.json")).unwrap()),
        ("manifest-cut", bad, "can't be read", &|at| fs::write(at.join("manifest.json"), "{").unwrap()),
        ("other-group", bad, "another group", &|at| manifest(at, "\"main\"", "\"other\"")),
        ("other-form", bad, "form", &|at| manifest(at, "\"format\": 1", "\"format\": 9")),
        ("newer", "newer_database", "schema 99", &|at| {
            let text = fs::read_to_string(at.join("manifest.json")).unwrap();
            let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
            value["schema"] = 99.into();
            fs::write(at.join("manifest.json"), value.to_string()).unwrap();
        }),
        ("escape", "bad_path", "..", &|at| manifest(at, "\"MEMORY.md\"", "\"../../../MEMORY.md\"")),
    ] {
        let (found, message) = damage(&mut place, name, harm);
        assert_eq!(found, code, "{name}: {message}");
        assert!(message.contains(says), "{name}: {message}");
    }
    fs::create_dir(place.group.folder().join("memory/checkpoints/holiday photos")).unwrap();
    assert!(!nacre::checkpoint::list(&place.view()).unwrap().damaged.is_empty());
    for id in ["", "..", "../..", "no-such", "2026", "a/b"] {
        assert_eq!(
            nacre::checkpoint::restore(&mut place.view_of(&person()), id).unwrap_err().code(),
            "no_checkpoint",
            "{id}"
        );
    }
    place.check();
}

/// As a process of an older version left it: its records have that version's schema.
#[test]
fn a_checkpoint_of_an_older_schema_is_restored() {
    if is_without_folder() {
        return;
    }
    let mut place = furnished();
    let id = save(&mut place, "old").id;
    let folder = folder(&place, &id);
    let old = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/released/schema-6.db");
    fs::copy(&old, folder.join("records.db")).unwrap();
    let hash = {
        use sha2::{Digest as _, Sha256};
        let digest = Sha256::digest(fs::read(&old).unwrap());
        digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let text = fs::read_to_string(folder.join("manifest.json")).unwrap();
    let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    manifest["records"] = hash.into();
    manifest["schema"] = 6.into();
    fs::write(folder.join("manifest.json"), manifest.to_string()).unwrap();
    let done = nacre::checkpoint::restore(&mut place.view_of(&person()), &id).unwrap();
    assert!(done.rows > 0);
    place.check();
}

#[test]
fn an_entity_that_was_forgotten_came_back_with_a_checkpoint() {
    if is_without_folder() {
        return;
    }
    let mut place = furnished();
    place.caller = person();
    place.call("fact_upsert", json!({ "entity": "Zebedee", "key": "car", "value": "Quaggamobile" }));
    place.call("relation_add", json!({ "subject": "Petra", "predicate": "knows", "object": "Zebedee" }));
    place.call("alias_add", json!({ "alias": "Zebulon", "entity": "Zebedee" }));
    let id = save(&mut place, "").id;
    let records = folder(&place, &id).join("records.db");
    let holds = |text: &str| {
        let bytes = fs::read(&records).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    };
    assert!(["Zebedee", "Zebulon", "Quaggamobile"].iter().all(|text| holds(text)));
    place.call("entity_join", json!({ "do": "remove", "one": "Zebedee" }));
    assert!(["Zebedee", "Zebulon", "Quaggamobile"].iter().all(|text| !holds(text)));
    nacre::checkpoint::restore(&mut place.view_of(&person()), &id).unwrap();
    assert_eq!(place.refused("fact_list", json!({ "entity": "Zebedee" })), "no_entity");
    assert_eq!(
        place.call("fact_list", json!({ "entity": "Petra" })).data["facts"].as_array().unwrap().len(),
        1
    );
    place.check();
}
