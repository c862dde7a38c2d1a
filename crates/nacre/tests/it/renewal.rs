//! Built-in vectors of an older model: words find everything at once, the vectors are rebuilt step by step.
#![expect(clippy::disallowed_methods, reason = "a test writes files as any editor does")]

use std::ops::ControlFlow::Continue;
use std::path::{Path, PathBuf};

use nacre::{Caller, ReembeddingProgress};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::sealed::{Place, is_without_folder, noon};

/// Bytes of a vector: its passage, its scale, its components. And how many stand in a row.
const VECTOR: usize = 264;
const ROW: usize = 256;

const QUESTIONS: [&str; 4] =
    ["what did I plant in the garden?", "a meal with fish", "who repaired the boat?", "trip in May"];

/// A memory of everything that has vectors: messages of one and of several sentences, entries, a document.
fn filled() -> Place {
    const DO: [&str; 5] = ["planted", "cooked", "repaired", "bought", "painted"];
    const WHAT: [&str; 7] = ["tomatoes", "a trout", "the boat", "a guitar", "the fence", "two roses", "soup"];
    let mut place = Place::new();
    let mut talk = String::new();
    for number in 0..600 {
        let said: Vec<String> = (0..1 + number % 4)
            .map(|more| {
                let (what, day) = (WHAT[(number * 3 + more) % 7], number % 27 + 1);
                let why = "because it was time and there was nobody else around who would have done so";
                format!("We {} {what} on the {day}th of May {why}, number {number}.", DO[(number + more) % 5])
            })
            .chain((number == 300).then(|| "A kestrel nests in the tower.".into()))
            .collect();
        let line = json!({
            "id": number.to_string(), "session": format!("s{}", number / 20), "text": said.join(" "),
            "role": if number % 2 == 0 { "user" } else { "assistant" },
        });
        talk += &format!("{line}\n");
    }
    let caller = place.caller.clone();
    nacre::session::import_transcript(&mut place.view_of(&caller), talk.as_bytes(), "talk", |_| {}).unwrap();
    place.store("The garden has tomatoes behind the shed");
    place.store("Always answer in one sentence when I ask about the boat");
    std::fs::write(place.group.folder().join("garden.md"), "# Garden\n\nRoses stand by the wall.\n").unwrap();
    ask(&mut place);
    place
}

fn database(place: &Place) -> PathBuf {
    place.group.folder().join("memory.db")
}

fn meta(path: &Path, key: &str) -> Option<String> {
    let db = Connection::open(path).unwrap();
    db.query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| row.get(0)).ok()
}

fn set_model(path: &Path, model: &str) {
    let mut parts: Vec<String> = meta(path, "analyser").unwrap().split(' ').map(str::to_owned).collect();
    parts[1] = model.to_owned();
    let db = Connection::open(path).unwrap();
    db.execute("UPDATE meta SET value = ?1 WHERE key = 'analyser'", [parts.join(" ")]).unwrap();
}

/// Has the database look as if an older model had made it: its vectors say other things. `pieces`: and it cut
/// every text into so many.
fn make_older(path: &Path, pieces: Option<i64>) {
    set_model(path, "builtin-0-older");
    let db = Connection::open(path).unwrap();
    let lengths: Vec<(i64, i64)> = db
        .prepare("SELECT id, pieces FROM passages ORDER BY id")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut records: Vec<u8> = Vec::new();
    for (id, had) in lengths {
        let (slot, pieces) = (records.len() / VECTOR, pieces.unwrap_or(had));
        db.execute(
            "UPDATE passages SET slot = ?2, pieces = ?3 WHERE id = ?1",
            (id, i64::try_from(slot).unwrap(), pieces),
        )
        .unwrap();
        let passage = u32::try_from(id).unwrap().to_le_bytes();
        for piece in 0..pieces {
            records.extend(passage);
            records.extend(0.01_f32.to_le_bytes());
            let noise = [passage[0], piece.to_le_bytes()[0], 77, 200];
            records.extend(noise.iter().cycle().take(VECTOR - 8));
        }
    }
    db.execute("DELETE FROM vectors", []).unwrap();
    for (chunk, row) in (0i64..).zip(records.chunks(ROW * VECTOR)) {
        let sql = "INSERT INTO vectors (chunk, stamp, used, data) VALUES (?1, 1, ?2, ?3)";
        db.execute(sql, (chunk, i64::try_from(row.len() / VECTOR).unwrap(), row)).unwrap();
    }
}

fn answer(place: &mut Place, query: &str) -> Value {
    let scope = json!(["entries", "memory", "sessions"]);
    place.call("memory_search", json!({ "query": query, "scope": scope, "explain": true })).data
}

fn by_vectors(hit: &Value) -> bool {
    hit["why"].as_array().unwrap().iter().any(|why| why["lane"] == "vectors")
}

fn ask(place: &mut Place) -> Vec<Value> {
    QUESTIONS.iter().map(|question| answer(place, question)).collect()
}

fn status(place: &mut Place) -> Option<(i64, i64)> {
    nacre::status(&place.view()).unwrap().vectors.map(|ReembeddingProgress { made, all }| (made, all))
}

fn renew(place: &mut Place, most: usize) -> ReembeddingProgress {
    nacre::collection::renew(&mut place.view(), most, &mut |_| Continue(())).unwrap()
}

fn reindex(place: &mut Place) {
    let caller = place.caller.clone();
    nacre::reindex(&mut place.view_of(&caller)).unwrap();
}

#[test]
fn vectors_of_an_older_model_are_made_anew_step_by_step() {
    if is_without_folder() {
        return;
    }
    for pieces in [None, Some(1), Some(3)] {
        let mut place = filled();
        let before = ask(&mut place);
        make_older(&database(&place), pieces);
        place.reopen();
        // At once, by words; a search says what is missing and writes nothing.
        let found = answer(&mut place, "kestrel in the tower");
        assert_eq!(found["missing"].as_array().unwrap().len(), 1, "{found:#}");
        assert!(found["missing"][0].as_str().unwrap().starts_with("vectors: 0 of 603 are"), "{found:#}");
        let hits = found["hits"].as_array().unwrap();
        assert_eq!(hits[0]["why"][0]["words"], json!(["kestrel", "tower"]), "{found:#}");
        assert!(!hits.iter().any(by_vectors), "{found:#}");
        assert_eq!(meta(&database(&place), "old_vectors"), None);
        assert_eq!(status(&mut place), Some((0, 603)));
        place.check();
        // The newest first; who comes after a kill goes on.
        assert_eq!(renew(&mut place, 100), ReembeddingProgress { made: 100, all: 603 });
        let found = answer(&mut place, "kestrel in the tower");
        assert!(found["missing"][0].as_str().unwrap().starts_with("vectors: 100 of 603 are"), "{found:#}");
        place.check();
        place.reopen();
        assert_eq!(status(&mut place), Some((100, 603)));
        assert_eq!(answer(&mut place, "kestrel in the tower"), found, "whoever opened it when");
        let mut steps = Vec::new();
        let mut count = |so_far: &ReembeddingProgress| {
            steps.push(so_far.made);
            Continue(())
        };
        let done = nacre::collection::renew(&mut place.view(), usize::MAX, &mut count).unwrap();
        assert_eq!((done.left(), steps.last()), (0, Some(&603)));
        assert_eq!((status(&mut place), meta(&database(&place), "old_vectors")), (None, None));
        assert!(ask(&mut place) == before, "{pieces:?}: the same as it was");
        place.check();
        place.reopen();
        assert!(ask(&mut place) == before, "{pieces:?}: and for who comes after");
        assert_eq!(renew(&mut place, 100), ReembeddingProgress::default());
        reindex(&mut place);
        assert!(ask(&mut place) == before, "{pieces:?}: and made all at once");
    }
}

#[test]
fn writes_meanwhile_have_vectors_of_this_model_and_make_some_more() {
    if is_without_folder() {
        return;
    }
    let mut place = filled();
    make_older(&database(&place), Some(2));
    place.reopen();
    let number = place.store("The heron comes to the pond at dusk");
    let (made, all) = status(&mut place).unwrap();
    assert_eq!((made, all), (65, 604), "its own, and a share of the others");
    let found = answer(&mut place, "heron at the pond");
    assert!(by_vectors(&found["hits"][0]), "{found:#}");
    // A changed or deleted passage is not embedded again.
    let old = place.found(json!({ "query": "answer in one sentence" }))[0];
    place.call("memory_update", json!({ "id": number, "content": "The heron comes at dawn" }));
    place.call("memory_delete", json!({ "id": old }));
    place.call("memory_store", json!({ "content": "The shed is gone", "supersedes": old + 1 }));
    std::fs::remove_file(place.group.folder().join("garden.md")).unwrap();
    ask(&mut place);
    place.check();
    renew(&mut place, usize::MAX);
    assert_eq!(status(&mut place), None);
    place.check();
    let by_steps = ask(&mut place);
    reindex(&mut place);
    assert!(ask(&mut place) == by_steps);
    assert!(by_steps.iter().all(|answer| answer["missing"] == json!([])));
}

#[test]
fn made_anew_at_once_it_is_whole() {
    if is_without_folder() {
        return;
    }
    let mut place = filled();
    let before = ask(&mut place);
    make_older(&database(&place), None);
    place.reopen();
    renew(&mut place, 100);
    reindex(&mut place);
    assert_eq!(status(&mut place), None);
    place.check();
    assert!(ask(&mut place) == before);
}

#[test]
fn another_change_of_model_begins_from_the_start() {
    if is_without_folder() {
        return;
    }
    let mut place = filled();
    make_older(&database(&place), None);
    place.reopen();
    renew(&mut place, 100);
    set_model(&database(&place), "builtin-0-another");
    place.reopen();
    assert_eq!(status(&mut place), Some((0, 603)));
    assert_eq!(renew(&mut place, 10).made, 10);
}

#[test]
fn many_make_vectors_at_once_and_none_twice() {
    if is_without_folder() {
        return;
    }
    let mut place = filled();
    let before = ask(&mut place);
    make_older(&database(&place), None);
    let steps = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3)
            .map(|_| {
                let home = place.home.clone();
                scope.spawn(move || {
                    let mut group = home.group(&"main".parse().unwrap(), noon()).unwrap();
                    let mut steps = 0;
                    let mut count = |_: &ReembeddingProgress| {
                        steps += 1;
                        Continue(())
                    };
                    let caller = Caller::nacre(noon());
                    while nacre::collection::renew(&mut group.enter(&caller).unwrap(), 50, &mut count)
                        .unwrap()
                        .left()
                        > 0
                    {}
                    steps
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum::<usize>()
    });
    assert_eq!(steps, 603_usize.div_ceil(50));
    place.reopen();
    assert!(ask(&mut place) == before);
    place.check();
}

#[test]
fn who_is_overtaken_by_a_newer_version_takes_nothing_back() {
    if is_without_folder() {
        return;
    }
    let mut place = filled();
    let ours = meta(&database(&place), "analyser").unwrap();
    set_model(&database(&place), "builtin-9-newer");
    let newer = meta(&database(&place), "analyser");
    // This handle was opened before that.
    place.store("The heron comes to the pond at dusk");
    place.store("The otter comes at dawn");
    assert_eq!(meta(&database(&place), "analyser"), newer);
    // As the newer one sees it: two passages have vectors of another model.
    let db = Connection::open(database(&place)).unwrap();
    db.execute("UPDATE meta SET value = ?1 WHERE key = 'analyser'", [ours]).unwrap();
    drop(db);
    place.reopen();
    assert_eq!(status(&mut place), Some((603, 605)));
    place.check();
    assert_eq!(renew(&mut place, usize::MAX).left(), 0);
    place.check();
}

#[test]
fn collections_are_made_anew_as_well() {
    if is_without_folder() {
        return;
    }
    let mut place = filled();
    let folder = place.folder.path().join("books");
    std::fs::create_dir(&folder).unwrap();
    for number in 0..600 {
        std::fs::write(folder.join(format!("{number}.md")), format!("Page {number}: so it was.\n")).unwrap();
    }
    std::fs::write(folder.join("walrus.md"), "The walrus eats clams.\n").unwrap();
    let (caller, name) = (Caller::person("ada".parse().unwrap(), noon()), "books".parse().unwrap());
    let written = nacre::collection::index_stamps(&mut place.view()).unwrap();
    nacre::collection::add(&mut place.view_of(&caller), &name, &[folder], &mut |_, _| {}).unwrap();
    assert_ne!(
        nacre::collection::index_stamps(&mut place.view()).unwrap(),
        written,
        "who follows the writes hears of it"
    );
    make_older(&place.group.folder().join("collections/books.db"), None);
    place.reopen();
    let question = json!({ "query": "what does a walrus eat", "scope": ["sources"] });
    let found = place.call("memory_search", question.clone()).data;
    assert!(found["hits"][0]["text"].as_str().unwrap().contains("clams"), "{found:#}");
    let missing = found["missing"][0].as_str().unwrap();
    assert!(missing.starts_with("sources: collection `books`: vectors: 0 of 601 are"), "{missing}");
    assert!(
        nacre::collection::check(&mut place.view()).unwrap().iter().all(|(_, problems)| problems.is_empty())
    );
    assert_eq!(renew(&mut place, usize::MAX), ReembeddingProgress { made: 601, all: 601 });
    assert_eq!(place.call("memory_search", question).data["missing"], json!([]));
}

#[test]
fn documents_that_were_cut_otherwise_are_read_again_and_nothing_else_is_made() {
    if is_without_folder() {
        return;
    }
    let mut place = filled();
    let before = ask(&mut place);
    let db = Connection::open(database(&place)).unwrap();
    let mut parts: Vec<String> =
        meta(&database(&place), "analyser").unwrap().split(' ').map(str::to_owned).collect();
    parts[2] = "0".into();
    db.execute("UPDATE meta SET value = ?1 WHERE key = 'analyser'", [parts.join(" ")]).unwrap();
    // The vector of the older model.
    db.execute("UPDATE passages SET hash = 'older' WHERE kind = 'chunk'", []).unwrap();
    drop(db);
    place.reopen();
    assert_eq!(status(&mut place), None);
    let caller = place.caller.clone();
    assert_eq!(nacre::workspace::sync(&mut place.view_of(&caller)).unwrap().chunks_written, 1);
    assert!(ask(&mut place) == before);
    place.check();
}

#[test]
fn what_is_little_is_made_anew_on_opening() {
    if is_without_folder() {
        return;
    }
    let mut place = Place::new();
    place.store("The heron comes to the pond at dusk");
    make_older(&database(&place), None);
    place.reopen();
    assert_eq!(status(&mut place), None);
    let found = answer(&mut place, "heron at the pond");
    assert!(by_vectors(&found["hits"][0]) && found["missing"] == json!([]), "{found:#}");
    place.check();
}

#[test]
fn words_of_another_maker_are_searched_until_someone_writes() {
    if is_without_folder() {
        return;
    }
    let mut place = filled();
    let german = nacre::settings::Layer::from_pair("the test", "search.language=german").unwrap();
    let english = answer(&mut place, "kestrel in the tower");
    let made_by = meta(&database(&place), "analyser");
    place.home = nacre::Home::new(
        place.folder.path(),
        nacre::Settings::from_layers(Some("balanced"), &[german]).unwrap(),
    );
    place.reopen();
    let mut found = answer(&mut place, "kestrel in the tower");
    let missing = found["missing"].take();
    assert!(
        missing[0].as_str().unwrap().starts_with("words: the index was built by another version"),
        "{missing}"
    );
    found["missing"] = json!([]);
    assert!(found == english, "asked in the language that it is in");
    assert!(nacre::status(&place.view()).unwrap().stale);
    assert_eq!(meta(&database(&place), "analyser"), made_by, "a search writes nothing");
    place.check();
    // One of many ways to write.
    assert_eq!(renew(&mut place, usize::MAX), ReembeddingProgress { made: 603, all: 603 });
    assert!(!nacre::status(&place.view()).unwrap().stale);
    assert_eq!(answer(&mut place, "kestrel in the tower")["missing"], json!([]));
    place.check();
    let at_once = ask(&mut place);
    reindex(&mut place);
    assert!(ask(&mut place) == at_once);
}

#[test]
fn a_write_brings_the_words_with_it() {
    if is_without_folder() {
        return;
    }
    let mut place = filled();
    let made_by = meta(&database(&place), "analyser").unwrap();
    let db = Connection::open(database(&place)).unwrap();
    let older = format!("0{}", &made_by[1..]);
    db.execute("UPDATE meta SET value = ?1 WHERE key = 'analyser'", [older]).unwrap();
    drop(db);
    place.reopen();
    assert!(nacre::status(&place.view()).unwrap().stale);
    place.store("The heron comes to the pond at dusk");
    assert_eq!(meta(&database(&place), "analyser"), Some(made_by));
    assert!(!nacre::status(&place.view()).unwrap().stale);
    place.check();
}
