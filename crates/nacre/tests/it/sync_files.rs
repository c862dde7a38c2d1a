//! The files of synced machines: nothing in the folder is readable, nothing of a deleted record is in any of them, and no flipped
//! byte passes for a log.
#![allow(clippy::disallowed_methods, reason = "a test writes what a person would")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::sync::{Machine, contains, copy_folder, files, machines, meet};

/// The bytes of a stored vector: the passage, the scale and the components.
const VECTOR_BYTES: usize = 8 + 256;
/// How many vectors a row of the table has.
const VECTORS_PER_ROW: i64 = 256;

/// The components of the vector of a memory, as they are stored.
fn vector_of(machine: &Machine, id: &str) -> Vec<u8> {
    let db = rusqlite::Connection::open(machine.place.group.folder().join("memory.db")).unwrap();
    let sql = "SELECT slot FROM passages WHERE kind = 'entry' AND ref = $1";
    let slot: i64 = db.query_row(sql, [id], |row| row.get(0)).unwrap();
    let sql = "SELECT data FROM vectors WHERE chunk = $1";
    let row: Vec<u8> = db.query_row(sql, [slot / VECTORS_PER_ROW], |row| row.get(0)).unwrap();
    let start = usize::try_from(slot % VECTORS_PER_ROW).unwrap() * VECTOR_BYTES;
    let vector = row[start + 8..start + VECTOR_BYTES].to_vec();
    assert!(vector.iter().filter(|byte| **byte != 0).count() > 100, "it is no vector");
    vector
}

/// Tells whether a file has a part of some bytes: a page of the database may end in the middle of a vector.
fn has_part(folder: &Path, searched: &[u8]) -> bool {
    files(folder).iter().any(|file| {
        let bytes = fs::read(file).unwrap();
        searched.chunks(16).any(|part| memchr::memmem::find(&bytes, part).is_some())
    })
}

/// The files that have a word.
fn files_with(folder: &Path, word: &str) -> Vec<PathBuf> {
    let has = |file: &PathBuf| memchr::memmem::find(&fs::read(file).unwrap(), word.as_bytes()).is_some();
    files(folder).into_iter().filter(has).collect()
}

#[test]
fn a_deletion_leaves_no_text_no_word_and_no_vector_in_any_file() {
    let (folder, mut all) = machines::<3>();
    let id = all[0].store("The quuxember key hangs behind the xylofanatic boathouse");
    meet(&mut all);
    let earlier = vector_of(&all[1], &id);
    all[1]
        .call("memory_update", json!({ "id": id, "content": "The zanzibarian key hangs in the wuggleshed" }));
    meet(&mut all);
    let later = vector_of(&all[2], &id);
    assert_ne!(earlier, later);
    for machine in &mut all {
        assert!(has_part(machine.place.folder.path(), &later), "the search finds what is there");
        nacre::checkpoint::save(&mut machine.place.view(), "before", "").unwrap();
    }
    all[2].call("memory_delete", json!({ "id": id }));
    meet(&mut all);
    let homes: Vec<_> = all.iter().map(|machine| machine.place.folder.path().to_owned()).collect();
    for place in homes.iter().map(AsRef::as_ref).chain([folder.path()]) {
        // The index has the stems of words.
        for word in ["quuxemb", "xylofanat", "zanzibar", "wuggleshe"] {
            assert_eq!(files_with(place, word), Vec::<PathBuf>::new(), "{word}");
        }
        for vector in [&earlier, &later] {
            assert!(!has_part(place, vector), "the vector is in {}", place.display());
        }
    }
    for machine in &mut all {
        assert_eq!(machine.status().machines.iter().map(|one| one.deletions_missing).sum::<usize>(), 0);
        nacre::checkpoint::restore(&mut machine.place.view(), "before").unwrap();
    }
    meet(&mut all);
    assert!(all.iter_mut().all(|machine| machine.memories().is_empty()), "a checkpoint brings nothing back");
}

#[test]
fn a_deleted_fact_task_and_exchange_leave_nothing_in_any_file() {
    let (folder, mut all) = machines::<2>();
    all[0].call("fact_upsert", json!({ "entity": "Petra", "key": "port", "value": "Quuxember" }));
    all[0].call("task_add", json!({ "description": "Paint the xylofanatic hull" }));
    all[0].place.exchange_in("s-1", "Where is the wuggleshed?", "It is behind the zanzibarian gate.");
    meet(&mut all);
    let words = ["uuxemb", "xylofanat", "wuggleshe", "zanzibar"];
    for word in words {
        assert!(contains(all[1].place.folder.path(), word), "{word} never arrived");
    }
    let db = rusqlite::Connection::open(all[1].place.group.folder().join("memory.db")).unwrap();
    for sql in [
        "SELECT 'fact-' || max(id) FROM facts",
        "SELECT 'TASK-' || max(number) FROM tasks",
        "SELECT session || '/' || id FROM exchanges",
    ] {
        let id: String = db.query_row(sql, [], |row| row.get(0)).unwrap();
        all[1].call("record_delete", json!({ "ids": [id] }));
    }
    drop(db);
    meet(&mut all);
    let homes: Vec<_> = all.iter().map(|machine| machine.place.folder.path().to_owned()).collect();
    for place in homes.iter().map(AsRef::as_ref).chain([folder.path()]) {
        for word in words {
            assert_eq!(files_with(place, word), Vec::<PathBuf>::new(), "{word}");
        }
    }
}

#[test]
fn fifty_canary_words_of_every_kind_of_record_are_readable_nowhere_in_the_folder() {
    let (folder, mut all) = machines::<2>();
    let mut words: Vec<String> = Vec::new();
    let mut word = || {
        words.push(format!("canary{}word", words.len()));
        words.last().unwrap().clone()
    };
    for round in 0..4 {
        let id = all[0].store(&format!("{} is what nobody may read", word()));
        all[0].call("memory_update", json!({ "id": id, "content": format!("{} took its place", word()) }));
        all[0].call(
            "memory_store",
            json!({ "content": format!("Tagged statement {round}"), "tags": [word()] }),
        );
        all[0].call("fact_upsert", json!({ "entity": word(), "key": word(), "value": word() }));
        all[0].call("relation_add", json!({ "subject": "Petra", "predicate": "owns", "object": word() }));
        all[0].call("alias_add", json!({ "alias": word(), "entity": "Petra" }));
        all[0].call("task_add", json!({ "description": format!("Paint the {}", word()) }));
        all[0].call("lesson_add", json!({ "text": format!("Always mention {} first", word()) }));
        all[0].place.exchange_in(&word(), &format!("Where is {}?", word()), &format!("In {}.", word()));
        // A file with an earlier version, a deleted one, and one that both change in one place.
        all[0].write("memory/boat.md", &format!("The boat is called {}.\n", word()));
        all[0].write("memory/gone.md", &format!("The shed is called {}.\n", word()));
        meet(&mut all);
        fs::remove_file(all[0].place.group.folder().join("memory/gone.md")).unwrap();
        all[0].write("memory/boat.md", &format!("The boat was called {}.\n", word()));
        all[1].write("memory/boat.md", &format!("The boat will be called {}.\n", word()));
        let id = all[1].store(&format!("{} is deleted soon", word()));
        meet(&mut all);
        nacre::checkpoint::save(&mut all[0].place.view(), &word(), &word()).unwrap();
        all[1].call("memory_delete", json!({ "id": id }));
        meet(&mut all);
    }
    assert!(words.len() >= 50, "{}", words.len());
    assert!(contains(all[1].place.folder.path(), &words[0]), "the search finds what is there");
    for word in words.iter().map(String::as_str).chain(["nobody", "Petra", "machine 0", "boat.md", "memory/"])
    {
        assert!(!contains(folder.path(), word), "{word}");
        for name in files(folder.path()) {
            assert!(!name.to_str().unwrap().contains(word), "{}", name.display());
        }
    }
}

#[test]
fn a_flipped_byte_anywhere_is_named_and_nothing_is_applied() {
    let (folder, mut all) = machines::<2>();
    all[0].store("The heron nests behind the boathouse");
    all[0].round();
    let own = all[1].status().device;
    // The sign of life comes last: it has no records, so that they arrive all the same.
    let mut damaged: Vec<_> =
        files(folder.path()).into_iter().filter(|file| !file.to_str().unwrap().contains(&own)).collect();
    damaged.sort_by_key(|file| file.ends_with("seen.pak"));
    assert!(damaged.len() >= 4, "{damaged:?}");
    for file in damaged {
        let (name, whole) = (file.file_name().unwrap().to_str().unwrap(), fs::read(&file).unwrap());
        for step in 0..20 {
            let mut bytes = whole.clone();
            let place = bytes.len() * step / 20;
            bytes[place] ^= 1 << (step % 8);
            fs::write(&file, &bytes).unwrap();
            let named = match all[1].try_round() {
                Ok(report) => report.problems.join("\n"),
                Err(problem) => format!("{}: {problem}", problem.code()),
            };
            assert!(
                named.contains(name) || named.contains("carrier") || named.contains("newer_sync"),
                "byte {place} of {name}: {named}"
            );
            assert!(name == "seen.pak" || all[1].memories().is_empty(), "byte {place} of {name}");
        }
        fs::write(&file, &whole).unwrap();
    }
    meet(&mut all);
    assert_eq!(all[1].memories().len(), 1);
    assert_eq!(all[1].round().problems, Vec::<String>::new());
}

#[test]
fn a_segment_of_another_memory_or_another_device_is_named_and_stops_nothing_else() {
    let (folder, mut all) = machines::<2>();
    let (other_folder, mut others) = machines::<1>();
    others[0].store("Statement of a stranger");
    others[0].round();
    let device = all[0].status().device;
    let target = folder.path().join(&device);
    copy_folder(&other_folder.path().join(others[0].status().device), &target);
    fs::remove_file(target.join("seen.pak")).unwrap();
    fs::write(target.join("0000000001-0000000009.seg"), "# Notes").unwrap();
    fs::write(folder.path().join("notes.md"), "A file of a person").unwrap();
    all[0].store("The heron nests behind the boathouse");
    all[0].round();
    let problems = all[1].round().problems;
    assert!(problems.iter().any(|problem| problem.contains("is not a file of a sync log")), "{problems:?}");
    meet(&mut all);
    assert_eq!(all[1].texts(), ["The heron nests behind the boathouse".to_owned()].into());
    // A segment of this memory in the folder of another device.
    let own =
        files(&target).into_iter().find(|file| file.extension().is_some_and(|end| end == "seg")).unwrap();
    let stray = folder.path().join(all[1].status().device).join("0000000001-0000004096.seg");
    fs::copy(own, &stray).unwrap();
    let problems = all[0].round().problems;
    assert!(problems.iter().any(|problem| problem.contains("folder of another device")), "{problems:?}");
}
