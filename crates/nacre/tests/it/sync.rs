//! One memory on several machines: what one knows all know, whatever the order in which it comes.
#![allow(clippy::disallowed_methods, reason = "a test writes what a person would")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use nacre::Caller;
use nacre::sync::{Place as Meeting, RoundOptions, RoundReport};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::sealed::{Place, noon};

/// A machine with a folder that some tool copies.
pub struct Machine {
    pub place: Place,
    pub folder: PathBuf,
}

impl Machine {
    pub fn new(folder: &Path) -> Machine {
        let mut place = Place::with("balanced", &[]);
        place.caller = Caller::person("person".parse().unwrap(), noon());
        Machine { place, folder: folder.to_owned() }
    }

    pub fn init(&mut self, name: &str) -> String {
        let meeting = Meeting::Folder(self.folder.clone());
        nacre::sync::init(&mut self.place.group.enter(&self.place.caller).unwrap(), &meeting, name).unwrap();
        nacre::sync::invite(&self.place.view()).unwrap()
    }

    pub fn join(&mut self, phrase: &str, name: &str) -> RoundReport {
        self.try_join(phrase, name).unwrap()
    }

    pub fn try_join(&mut self, phrase: &str, name: &str) -> nacre::Result<RoundReport> {
        let meeting = Meeting::Folder(self.folder.clone());
        nacre::sync::join(&mut self.place.view(), &meeting, phrase, name)
    }

    pub fn round(&mut self) -> RoundReport {
        self.try_round().unwrap()
    }

    pub fn try_round(&mut self) -> nacre::Result<RoundReport> {
        nacre::sync::round(&mut self.place.view(), &RoundOptions::default())
    }

    pub fn status(&mut self) -> nacre::sync::SyncStatus {
        nacre::sync::status(&self.place.view()).unwrap()
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.place.call(tool, arguments).data
    }

    pub fn store(&mut self, content: &str) -> String {
        self.call("memory_store", json!({ "content": content }))["id"].as_str().unwrap().to_owned()
    }

    /// The current memories: what they say and how they score.
    pub fn memories(&mut self) -> BTreeSet<(String, i64)> {
        self.export()["entries"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|entry| entry.get("superseded_at").is_none() && entry.get("archived_at").is_none())
            .map(|entry| (entry["content"].as_str().unwrap().to_owned(), entry["score"].as_i64().unwrap()))
            .collect()
    }

    pub fn texts(&mut self) -> BTreeSet<String> {
        self.memories().into_iter().map(|(text, _)| text).collect()
    }

    pub fn export(&mut self) -> Value {
        let folder = tempfile::tempdir().unwrap();
        nacre::export::export(&self.place.view(), folder.path()).unwrap();
        serde_json::from_str(&fs::read_to_string(folder.path().join("nacre.json")).unwrap()).unwrap()
    }
}

/// Machines that share one folder.
pub fn machines<const N: usize>() -> (TempDir, [Machine; N]) {
    let folder = tempfile::tempdir().unwrap();
    let mut all: [Machine; N] = std::array::from_fn(|_| Machine::new(folder.path()));
    let phrase = all[0].init("machine 0");
    for (number, machine) in all.iter_mut().enumerate().skip(1) {
        machine.join(&phrase, &format!("machine {number}"));
    }
    (folder, all)
}

pub fn meet(machines: &mut [Machine]) {
    for _ in 0..3 {
        machines.iter_mut().for_each(|machine| drop(machine.round()));
    }
    let states: Vec<String> = machines.iter_mut().map(|machine| machine.status().state).collect();
    assert!(states.windows(2).all(|pair| pair[0] == pair[1]), "{}", differences(machines));
    let memories: Vec<_> = machines.iter_mut().map(Machine::memories).collect();
    assert!(memories.windows(2).all(|pair| pair[0] == pair[1]), "{memories:#?}");
    machines.iter_mut().for_each(|machine| machine.place.check());
}

pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

pub fn contains(folder: &Path, word: &str) -> bool {
    files(folder).iter().any(|file| {
        let bytes = fs::read(file).unwrap();
        bytes.windows(word.len()).any(|window| window == word.as_bytes())
    })
}

#[test]
fn what_one_machine_stores_the_other_finds() {
    let (_folder, mut all) = machines::<2>();
    let id = all[0].store("The heron nests behind the boathouse");
    all[0].call("fact_upsert", json!({ "entity": "Petra", "key": "port", "value": "Lübeck" }));
    all[0].call("relation_add", json!({ "subject": "Petra", "predicate": "owns", "object": "Kestrel" }));
    all[0].call("alias_add", json!({ "alias": "Pia", "entity": "Petra" }));
    meet(&mut all);
    let found = all[1].call("memory_search", json!({ "query": "where does the heron nest" }));
    assert_eq!(found["hits"][0]["id"], id.as_str());
    let export = all[1].export();
    assert_eq!(export["graph"]["facts"][0]["value"], "Lübeck");
    assert_eq!(export["graph"]["relations"][0]["object"], "Kestrel");
    let mut entities = export["graph"]["entities"].as_array().unwrap().iter();
    assert_eq!(entities.find(|entity| entity["name"] == "Petra").unwrap()["aliases"], json!(["Pia"]));
    all[1].call("memory_update", json!({ "id": id, "content": "The heron nests on the island" }));
    all[1].call("fact_upsert", json!({ "entity": "Petra", "key": "port", "value": "Kiel" }));
    meet(&mut all);
    assert_eq!(all[0].texts(), ["The heron nests on the island".to_owned()].into());
    let shown = all[0].call("memory_get", json!({ "id": id }));
    assert!(shown.to_string().contains("behind the boathouse"), "the earlier text is history there too");
    let facts = all[0].export()["graph"]["facts"].clone();
    let current: Vec<&Value> = facts
        .as_array()
        .unwrap()
        .iter()
        .filter(|fact| fact["until"].is_null())
        .map(|fact| &fact["value"])
        .collect();
    assert_eq!(current, ["Kiel"]);
}

#[test]
fn judgements_of_all_machines_count() {
    let (_folder, mut all) = machines::<3>();
    let id = all[0].store("Backups run at night");
    meet(&mut all);
    for machine in &mut all {
        machine.call("memory_feedback", json!({ "id": id, "helpful": true }));
    }
    let one = all[0].memories().iter().next().unwrap().1;
    meet(&mut all);
    assert_eq!(all[1].memories(), [("Backups run at night".to_owned(), 3 * one)].into());
}

#[test]
fn the_same_text_on_two_machines_is_one_memory() {
    let (_folder, mut all) = machines::<2>();
    all[0].store("The NAS is called kestrel");
    all[1].store("the NAS is called  kestrel");
    meet(&mut all);
    assert_eq!(all[0].memories().len(), 1);
}

#[test]
fn two_corrections_of_one_memory_both_live_and_are_a_conflict() {
    let (_folder, mut all) = machines::<2>();
    let id = all[0].store("The dentist is on Monday");
    meet(&mut all);
    all[0].call("memory_store", json!({ "content": "The dentist is on Tuesday", "supersedes": id }));
    all[1].call("memory_store", json!({ "content": "The dentist is on Friday", "supersedes": id }));
    meet(&mut all);
    for machine in &mut all {
        assert_eq!(machine.memories().len(), 2);
        let open = machine.call("memory_conflicts", json!({}));
        assert!(open.to_string().contains("Tuesday") && open.to_string().contains("Friday"), "{open}");
    }
}

#[test]
fn two_updates_of_one_memory_keep_both_texts() {
    let (_folder, mut all) = machines::<2>();
    let id = all[0].store("The key is under the mat");
    meet(&mut all);
    all[0].call("memory_update", json!({ "id": id, "content": "The key is with Anna" }));
    all[1].place.caller.now = noon().plus_days(1);
    all[1].call("memory_update", json!({ "id": id, "content": "The key is in the shed" }));
    meet(&mut all);
    for machine in &mut all {
        assert_eq!(machine.texts(), ["The key is in the shed".to_owned()].into());
        let shown = machine.call("memory_get", json!({ "id": id })).to_string();
        assert!(shown.contains("with Anna"), "the text that lost is history: {shown}");
    }
}

#[test]
fn a_deletion_beats_a_later_update_and_leaves_no_text_anywhere() {
    let (folder, mut all) = machines::<2>();
    let id = all[0].store("The canary word is xylofanatic");
    meet(&mut all);
    let size =
        |folder: &Path| -> u64 { files(folder).iter().map(|file| fs::metadata(file).unwrap().len()).sum() };
    let before = size(folder.path());
    all[0].call("memory_delete", json!({ "id": id }));
    all[1].place.caller.now = noon().plus_days(1);
    all[1].call("memory_update", json!({ "id": id, "content": "The canary word is xylofanatic indeed" }));
    meet(&mut all);
    for machine in &mut all {
        assert_eq!(machine.memories().len(), 0);
        assert_eq!(machine.status().machines.iter().map(|one| one.deletions_missing).sum::<usize>(), 0);
        assert!(!contains(machine.place.folder.path(), "xylofanatic"));
    }
    assert!(size(folder.path()) < before + 1500, "the sealed texts are gone");
    let receipt = nacre::sync::receipt(&all[1].place.view(), &id).unwrap().unwrap();
    assert_eq!((receipt.machine.as_str(), receipt.missing.len()), ("machine 0", 0));
}

#[test]
fn a_deleted_text_does_not_come_back_from_a_machine_that_had_it_too() {
    let (_folder, mut all) = machines::<2>();
    let id = all[0].store("Anna is allergic to nuts");
    all[1].store("Anna is allergic to nuts");
    all[0].call("memory_delete", json!({ "id": id }));
    all[0].store("Anna likes apples");
    meet(&mut all);
    // Stored on both before they met: the deletion speaks of what the first machine had.
    all[0].place.caller.now = noon().plus_days(1);
    let left =
        all[0].call("memory_search", json!({ "query": "Anna allergic nuts" }))["hits"][0]["id"].clone();
    if let Some(left) = left.as_str().filter(|left| left.starts_with("mem-")) {
        all[0].call("memory_delete", json!({ "id": left }));
    }
    meet(&mut all);
    assert_eq!(all[1].texts(), ["Anna likes apples".to_owned()].into());
}

#[test]
fn a_wrong_phrase_is_refused_before_anything_is_written() {
    let (folder, mut all) = machines::<1>();
    all[0].store("The heron nests behind the boathouse");
    all[0].round();
    let before: Vec<PathBuf> = files(folder.path());
    let elsewhere = tempfile::tempdir().unwrap();
    let other = Machine::new(elsewhere.path()).init("elsewhere");
    let mut stranger = Machine::new(folder.path());
    assert_eq!(stranger.try_join(&other, "stranger").unwrap_err().code(), "wrong_phrase");
    assert_eq!(stranger.try_join("seven letters", "stranger").unwrap_err().code(), "bad_phrase");
    assert_eq!(files(folder.path()), before);
    assert_eq!(stranger.try_round().unwrap_err().code(), "sync_off");
}

#[test]
fn a_folder_that_is_gone_is_not_started_again() {
    let (folder, mut all) = machines::<2>();
    all[0].store("The heron nests behind the boathouse");
    let aside = folder.path().with_extension("aside");
    fs::rename(folder.path(), &aside).unwrap();
    assert_eq!(all[0].try_round().unwrap_err().code(), "carrier_gone");
    fs::create_dir(folder.path()).unwrap();
    assert_eq!(all[0].try_round().unwrap_err().code(), "carrier_gone");
    fs::remove_dir(folder.path()).unwrap();
    fs::rename(&aside, folder.path()).unwrap();
    meet(&mut all);
    assert_eq!(all[1].memories().len(), 1);
}

#[test]
fn a_damaged_file_is_named_and_put_right_by_its_machine() {
    let (folder, mut all) = machines::<2>();
    all[0].store("The heron nests behind the boathouse");
    all[0].round();
    let segments: Vec<PathBuf> = files(folder.path())
        .into_iter()
        .filter(|file| file.extension().is_some_and(|end| end == "seg"))
        .collect();
    for segment in &segments {
        let mut bytes = fs::read(segment).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(segment, bytes).unwrap();
    }
    let report = all[1].round();
    assert_eq!(report.received, 0);
    assert!(report.problems.iter().any(|problem| problem.contains("damaged")), "{:?}", report.problems);
    all[0].round();
    meet(&mut all);
    assert_eq!(all[1].memories().len(), 1);
    assert_eq!(all[1].round().problems, Vec::<String>::new());
}

pub fn copy_folder(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&file, &target).unwrap();
    }
}

#[test]
fn a_machine_restored_from_a_backup_becomes_a_new_device_and_loses_nothing() {
    let (_folder, mut all) = machines::<2>();
    all[0].store("Stored before the backup");
    all[0].round();
    let (home, backup) = (all[0].place.folder.path().to_owned(), tempfile::tempdir().unwrap());
    copy_folder(&home, backup.path());
    all[0].store("Stored after the backup");
    let gone = all[0].store("Deleted after the backup");
    meet(&mut all);
    all[0].call("memory_delete", json!({ "id": gone }));
    meet(&mut all);
    // The disk breaks, and the backup comes back.
    fs::remove_dir_all(home.join("groups")).unwrap();
    copy_folder(backup.path(), &home);
    all[0].place.reopen();
    all[0].store("Stored after the restore");
    assert!(all[0].round().new_device);
    meet(&mut all);
    let texts = ["Stored before the backup", "Stored after the backup", "Stored after the restore"];
    assert_eq!(all[0].texts(), texts.map(str::to_owned).into());
    assert!(!all[0].round().new_device);
}

#[test]
fn two_copies_of_one_machine_both_become_new_devices() {
    let (folder, mut all) = machines::<2>();
    all[0].store("Stored before the copy");
    meet(&mut all);
    let [original, other] = &mut all;
    let mut copy = Machine::new(folder.path());
    copy_folder(original.place.folder.path(), copy.place.folder.path());
    copy.place.reopen();
    original.store("Stored on the original");
    copy.store("Stored on the copy");
    original.round();
    assert!(copy.round().new_device);
    for _ in 0..3 {
        original.round();
        copy.round();
        other.round();
    }
    let states = [original.status().state, copy.status().state];
    assert_eq!(states[0], states[1]);
    assert_eq!(original.memories().len(), 3);
    assert_eq!(copy.memories().len(), 3);
}

#[test]
fn a_checkpoint_that_is_restored_does_not_undo_other_machines() {
    let (_folder, mut all) = machines::<2>();
    all[0].store("Stored before");
    meet(&mut all);
    nacre::checkpoint::save(&mut all[0].place.view(), "before", "").unwrap();
    all[1].store("Stored after");
    meet(&mut all);
    nacre::checkpoint::restore(&mut all[0].place.view(), "before").unwrap();
    assert_eq!(all[0].memories().len(), 1);
    meet(&mut all);
    assert_eq!(all[1].memories().len(), 2);
}

#[test]
fn a_memory_that_is_gone_all_at_once_is_not_deleted_everywhere() {
    let (_folder, mut all) = machines::<2>();
    for number in 0..30 {
        all[0].store(&format!("Memory number {number} of many"));
    }
    meet(&mut all);
    let db = rusqlite::Connection::open(all[0].place.group.folder().join("memory.db")).unwrap();
    db.execute_batch("DELETE FROM entries; INSERT INTO audit SELECT seq + 1, at, actor, session, action, outcome, ids, detail, hash FROM audit ORDER BY seq DESC LIMIT 1").unwrap();
    drop(db);
    assert_eq!(all[0].try_round().unwrap_err().code(), "many_deletions");
    all[1].round();
    assert_eq!(all[1].memories().len(), 30);
}

#[test]
fn a_round_with_nothing_new_writes_nothing() {
    let (folder, mut all) = machines::<2>();
    all[0].store("The heron nests behind the boathouse");
    meet(&mut all);
    let stamps = |folder: &Path| -> Vec<_> {
        files(folder).iter().map(|file| fs::metadata(file).unwrap().modified().unwrap()).collect()
    };
    let before = stamps(folder.path());
    let report = all[0].round();
    assert_eq!((report.sent, report.received), (0, 0));
    assert_eq!(stamps(folder.path()), before);
}

#[test]
fn who_leaves_keeps_the_memory() {
    let (_folder, mut all) = machines::<2>();
    all[0].store("The heron nests behind the boathouse");
    meet(&mut all);
    nacre::sync::leave(&mut all[1].place.view()).unwrap();
    assert_eq!(all[1].memories().len(), 1);
    assert!(all[0].status().machines.iter().any(|machine| machine.left));
    assert_eq!(all[1].try_round().unwrap_err().code(), "sync_off");
}

/// The documents that machines have differently, and what each of them waits for.
fn differences(machines: &mut [Machine]) -> String {
    let mut rows: Vec<BTreeSet<String>> = Vec::new();
    let mut text = String::new();
    for machine in machines {
        let db = rusqlite::Connection::open(machine.place.group.folder().join("memory.db")).unwrap();
        let sql = "SELECT kind || ' ' || id || ' ' || document FROM sync_records
            UNION ALL SELECT kind || ' ' || id || ' deleted' FROM sync_tombstones";
        let mut statement = db.prepare(sql).unwrap();
        let found = statement.query_map([], |row| row.get(0)).unwrap();
        rows.push(found.map(Result::unwrap).collect());
        text.push_str(&format!("{:?}\n", machine.status().problems));
    }
    for (number, own) in rows.iter().enumerate() {
        let shared = |row: &&String| rows.iter().all(|other| other.contains(*row));
        for row in own.iter().filter(|row| !shared(row)) {
            text.push_str(&format!("{number}: {row}\n"));
        }
    }
    text
}

#[test]
fn a_change_in_the_millisecond_of_the_first_round_is_the_later_one() {
    let (_folder, mut all) = machines::<2>();
    let id = all[0].store("Backups run at night");
    all[0].round();
    all[0].call("memory_feedback", json!({ "id": id, "helpful": true }));
    meet(&mut all);
    let confirmed = |machine: &mut Machine| machine.export()["entries"][0]["last_hit_at"].clone();
    assert_eq!(confirmed(&mut all[1]), confirmed(&mut all[0]));
}

impl Machine {
    pub fn write(&self, path: &str, text: &str) {
        let path = self.place.group.folder().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.place.group.folder().join(path)).ok()
    }
}

#[test]
fn documents_travel_and_edits_of_two_machines_merge() {
    let (_folder, mut all) = machines::<2>();
    all[0].write("memory/boat.md", "# Boat\n\nThe hull is oak.\n\nThe sail is red.\n");
    meet(&mut all);
    assert_eq!(all[1].read("memory/boat.md"), all[0].read("memory/boat.md"));
    let found = all[1].call("memory_search", json!({ "query": "what is the hull made of" }));
    assert!(found.to_string().contains("oak"), "{found}");
    all[0].write("memory/boat.md", "# Boat\n\nThe hull is larch.\n\nThe sail is red.\n");
    all[1].write("memory/boat.md", "# Boat\n\nThe hull is oak.\n\nThe sail is red.\n\nThe engine is new.\n");
    meet(&mut all);
    for machine in &all {
        let text = machine.read("memory/boat.md").unwrap();
        assert_eq!(text, "# Boat\n\nThe hull is larch.\n\nThe sail is red.\n\nThe engine is new.\n");
    }
    fs::remove_file(all[0].place.group.folder().join("memory/boat.md")).unwrap();
    meet(&mut all);
    assert_eq!(all[1].read("memory/boat.md"), None);
}

#[test]
fn documents_that_two_machines_changed_in_one_place_become_a_proposal() {
    let (_folder, mut all) = machines::<2>();
    all[0].write("memory/boat.md", "The hull is oak.\n");
    meet(&mut all);
    all[0].write("memory/boat.md", "The hull is larch.\n");
    all[1].write("memory/boat.md", "The hull is steel.\n");
    meet(&mut all);
    let text = all[0].read("memory/boat.md").unwrap();
    assert_eq!(all[1].read("memory/boat.md").unwrap(), text);
    assert!(!text.contains("<<<"), "{text}");
    let other = if text.contains("larch") { "steel" } else { "larch" };
    let proposals: Vec<String> = all
        .iter_mut()
        .flat_map(|machine| nacre::proposal::list(&mut machine.place.view(), false).unwrap())
        .map(|proposal| proposal.diff.to_string())
        .collect();
    assert!(proposals.iter().any(|diff| diff.contains(other)), "{proposals:?}");
}

#[test]
fn a_document_edited_between_a_round_and_its_write_is_merged_not_lost() {
    let (_folder, mut all) = machines::<2>();
    all[0].write("memory/boat.md", "# Boat\n\nThe hull is oak.\n\nThe sail is red.\n");
    meet(&mut all);
    all[0].write("memory/boat.md", "# Boat\n\nThe hull is larch.\n\nThe sail is red.\n");
    all[0].round();
    // The other machine has received it, but its file was edited before it could be written.
    let db = all[1].place.group.folder().join("memory.db");
    let before = rusqlite::Connection::open(&db)
        .unwrap()
        .query_row("SELECT row_hash FROM sync_records WHERE kind = 'file'", [], |row| row.get::<_, String>(0))
        .unwrap();
    all[1].round();
    rusqlite::Connection::open(&db)
        .unwrap()
        .execute("UPDATE sync_records SET row_hash = ?1 WHERE kind = 'file'", [before])
        .unwrap();
    all[1].write("memory/boat.md", "# Boat\n\nThe hull is oak.\n\nThe sail is red.\n\nThe engine is new.\n");
    meet(&mut all);
    for machine in &all {
        let text = machine.read("memory/boat.md").unwrap();
        assert!(text.contains("larch") && text.contains("engine"), "{text}");
    }
}

#[test]
fn the_first_change_of_a_machine_that_only_read_so_far_wins() {
    let (_folder, mut all) = machines::<2>();
    let id = all[0].store("The key is under the mat");
    meet(&mut all);
    all[1].place.caller.now = noon().plus_days(1);
    all[1].call("memory_update", json!({ "id": id, "content": "The key is with Anna" }));
    meet(&mut all);
    assert_eq!(all[0].texts(), ["The key is with Anna".to_owned()].into());
}

#[test]
fn one_name_in_two_spellings_comes_to_rest() {
    let (_folder, mut all) = machines::<2>();
    all[0].call("fact_upsert", json!({ "entity": "Petra", "key": "port", "value": "Lübeck" }));
    all[1].call("fact_upsert", json!({ "entity": "PETRA", "key": "age", "value": "44" }));
    all[1].call("relation_add", json!({ "subject": "PETRA", "predicate": "owns", "object": "kestrel" }));
    all[0].call("relation_add", json!({ "subject": "Petra", "predicate": "owns", "object": "Kestrel" }));
    meet(&mut all);
    for machine in &mut all {
        assert_eq!(machine.round().sent, 0);
    }
}

#[test]
fn what_is_never_the_same_and_what_may_stand_side_by_side_travels() {
    let (_folder, mut all) = machines::<2>();
    for name in ["Petra", "Peter"] {
        all[0].call("fact_upsert", json!({ "entity": name, "key": "port", "value": "Kiel" }));
    }
    all[0].call("entity_join", json!({ "do": "distinct", "one": "Petra", "other": "Peter" }));
    all[0].call("graph_rule", json!({ "multi": "sailboat", "category": "vessel" }));
    meet(&mut all);
    let graph = all[1].export()["graph"].clone();
    // Each machine numbers its entities itself.
    let pair = graph["distinct"][0].to_string();
    assert!(pair.contains("Peter") && pair.contains("Petra"), "{graph}");
    assert_eq!(graph["distinct"].as_array().unwrap().len(), 1);
    assert!(graph["multi"].to_string().contains("sailboat"), "{graph}");
    assert!(graph["categories"].to_string().contains("vessel"), "{graph}");
    all[1].call("fact_upsert", json!({ "entity": "Petra", "key": "sailboat", "value": "sailing" }));
    all[0].call("fact_upsert", json!({ "entity": "Petra", "key": "sailboat", "value": "chess" }));
    meet(&mut all);
    let facts = all[0].export()["graph"]["facts"].clone();
    let hobbies =
        facts.as_array().unwrap().iter().filter(|fact| fact["key"] == "sailboat" && fact["until"].is_null());
    assert_eq!(hobbies.count(), 2, "{facts}");
    all[1].call("graph_rule", json!({ "single": "sailboat" }));
    meet(&mut all);
    assert!(!all[0].export()["graph"]["multi"].to_string().contains("sailboat"));
}

#[test]
fn a_proposal_of_one_machine_is_decided_on_another() {
    let (_folder, mut all) = machines::<2>();
    all[0].write("memory/boat.md", "The hull is oak.\n");
    meet(&mut all);
    let path = "memory/boat.md".parse().unwrap();
    let after = Some(b"The hull is larch.\n".to_vec());
    nacre::proposal::propose(&mut all[0].place.view(), &path, after, "the keel was replaced").unwrap();
    meet(&mut all);
    let waiting = |machine: &mut Machine| nacre::proposal::list(&mut machine.place.view(), false).unwrap();
    let there = waiting(&mut all[1]);
    assert_eq!((there.len(), there[0].reason.as_str()), (1, "the keel was replaced"));
    all[1].call("proposal_decide", json!({ "number": there[0].number, "decision": "approve" }));
    meet(&mut all);
    assert_eq!(waiting(&mut all[0]).len(), 0);
    assert_eq!(all[0].read("memory/boat.md").unwrap(), "The hull is larch.\n");
    let known = nacre::proposal::list(&mut all[0].place.view(), true).unwrap();
    assert_eq!(known[0].state, nacre::proposal::State::Approved);
}

#[test]
fn a_conflict_that_a_person_settled_is_settled_everywhere() {
    let (_folder, mut all) = machines::<2>();
    all[0].store("The dentist is on Monday");
    all[0].store("The dentist is on Friday");
    meet(&mut all);
    let open = |machine: &mut Machine| machine.call("memory_conflicts", json!({}))["conflicts"].clone();
    let found = open(&mut all[0]);
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
    // The other machine finds it by itself.
    nacre::call::conflict::find(&mut all[1].place.view(), &mut |_, _| ()).unwrap();
    assert_eq!(open(&mut all[1]).as_array().unwrap().len(), 1);
    all[0].call("memory_conflicts", json!({ "number": found[0]["number"], "keep": "both" }));
    meet(&mut all);
    assert_eq!(open(&mut all[1]), json!([]));
}

#[test]
fn a_group_that_the_settings_do_not_name_does_not_travel() {
    let (_folder, mut all) = machines::<1>();
    let mut machine = Machine::new(&all[0].folder);
    machine.place = Place::with("balanced", &["sync.groups=[\"work\"]"]);
    machine.place.caller = Caller::person("person".parse().unwrap(), noon());
    let phrase = nacre::sync::invite(&all[0].place.view()).unwrap();
    assert_eq!(machine.try_join(&phrase, "other").unwrap_err().code(), "sync_excluded");
    assert_eq!(all[0].round().machines, 1);
}

#[test]
fn tasks_travel_with_their_dependencies() {
    let (_folder, mut all) = machines::<2>();
    let first = all[0].call("task_add", json!({ "description": "Paint the hull" }));
    let id = first["id"].clone();
    all[0].call("task_add", json!({ "description": "Launch the boat", "blocked_by": [id] }));
    all[1].call("task_add", json!({ "description": "Buy rope" }));
    meet(&mut all);
    let descriptions = |machine: &mut Machine, ready: bool| -> BTreeSet<String> {
        let found = machine.call("task_list", json!({ "ready": ready }));
        let tasks = found["tasks"].as_array().unwrap_or_else(|| panic!("{found}"));
        tasks.iter().map(|task| task["description"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(descriptions(&mut all[1], false), descriptions(&mut all[0], false));
    assert!(!descriptions(&mut all[1], true).contains("Launch the boat"), "it waits for another task");
    let there = all[1].call("task_list", json!({}));
    let painted = there["tasks"].as_array().unwrap().iter();
    let painted = { painted }.find(|task| task["description"] == "Paint the hull").unwrap()["id"].clone();
    all[1].call("task_update", json!({ "id": painted, "action": "done" }));
    meet(&mut all);
    assert!(descriptions(&mut all[0], true).contains("Launch the boat"));
}
