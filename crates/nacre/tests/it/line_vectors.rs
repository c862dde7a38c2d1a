//! Vectors of the lines of notes: they are made when notes are indexed, a bounded number at a time, and vanish with the text.

use std::fs;
use std::ops::ControlFlow::Continue;
use std::path::PathBuf;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::sealed::{Engine, Place, is_without_folder};

/// Bytes of a vector: its scale and its components.
const VECTOR: usize = 4 + 384;

fn write(place: &Place, path: &str, text: &str) {
    let path = place.group.folder().join(path);
    #[expect(clippy::disallowed_methods, reason = "a test writes files as any editor does")]
    let written = fs::create_dir_all(path.parent().unwrap()).and_then(|()| fs::write(path, text));
    written.unwrap();
}

fn sync(place: &mut Place) {
    nacre::workspace::sync(&mut place.view()).unwrap();
    place.check();
}

fn embed(place: &mut Place, most: usize) -> i64 {
    nacre::workspace::embed_lines(&mut place.view(), most, &mut |_, _| Continue(())).unwrap()
}

fn database(place: &Place) -> PathBuf {
    place.group.folder().join("memory.db")
}

/// The vectors of all lines, by chunk.
fn rows(place: &Place) -> Vec<Vec<u8>> {
    let db = Connection::open(database(place)).unwrap();
    let mut sql = db.prepare("SELECT data FROM line_vectors ORDER BY passage").unwrap();
    sql.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn lines(place: &Place) -> usize {
    rows(place).iter().map(|row| row.len() / VECTOR).sum()
}

fn run(place: &Place, sql: &str) {
    Connection::open(database(place)).unwrap().execute_batch(sql).unwrap();
}

fn answer(place: &mut Place, query: &str) -> Value {
    place.call("memory_search", json!({ "query": query, "limit": 6, "explain": true })).data
}

fn notes() -> Place {
    let mut place = Place::new();
    write(
        &place,
        "memory/me.md",
        "# Me\n- no prawns, face swells up\n- shoes 43, wide\n- van needs new tyres\n## Sea\n- 蟹不吃\n- boat at berth 14\n",
    );
    write(&place, "memory/2026-01-10.md", "Choir moved to Tuesday\nTyres done, 240 at Kiprono's\n");
    sync(&mut place);
    place
}

const QUESTIONS: [&str; 5] = [
    "which seafood should I keep away from",
    "what size of footwear do I take",
    "who put the rubber on my vehicle",
    "when do we sing",
    "prawns",
];

#[test]
fn every_line_has_a_vector_unless_the_reader_does_not_know_its_language() {
    if is_without_folder() {
        return;
    }
    let place = notes();
    let rows = rows(&place);
    let mut with: Vec<[usize; 2]> = Vec::new();
    for row in &rows {
        let vectors = row.chunks(VECTOR);
        with.push([vectors.len(), vectors.filter(|vector| vector[..4] != [0; 4]).count()]);
    }
    with.sort_unstable();
    assert_eq!(with, [[2, 2], [5, 4]]);
}

#[test]
fn the_vector_of_a_deleted_line_is_in_no_file() {
    if is_without_folder() {
        return;
    }
    let mut place = notes();
    let before = rows(&place);
    write(&place, "memory/me.md", "# Me\n- shoes 44\n");
    fs::remove_file(place.group.folder().join("memory/2026-01-10.md")).unwrap();
    sync(&mut place);
    assert_eq!(lines(&place), 1);
    let Place { folder, group, .. } = place;
    drop(group);
    let database = fs::read(folder.path().join("groups/main/memory.db")).unwrap();
    assert!(!folder.path().join("groups/main/memory.db-wal").exists());
    for vector in before.iter().flat_map(|row| row.chunks(VECTOR)).filter(|vector| vector[..4] != [0; 4]) {
        // A page of the database may end in the middle of a vector.
        let found = vector[4..].chunks(16).any(|part| memchr::memmem::find(&database, part).is_some());
        assert!(!found, "a part of it is left");
    }
}

#[test]
fn answers_are_the_same_whether_vectors_are_stored_or_computed() {
    if is_without_folder() {
        return;
    }
    let mut place = notes();
    let stored: Vec<Value> = QUESTIONS.iter().map(|question| answer(&mut place, question)).collect();
    assert!(stored[0]["hits"][0]["text"].as_str().unwrap().contains("prawns"), "{:#}", stored[0]);
    run(&place, "DELETE FROM line_vectors");
    place.reopen();
    for (question, stored) in QUESTIONS.iter().zip(&stored) {
        let computed = answer(&mut place, question);
        assert_eq!(computed["hits"], stored["hits"], "{question}");
        let missing = computed["missing"][0].as_str().unwrap();
        assert!(missing.starts_with("lines: 2 of 2 parts of documents"), "{missing}");
    }
    assert_eq!(lines(&place), 0, "a search writes nothing");
    assert_eq!(embed(&mut place, usize::MAX), 2);
    for (question, stored) in QUESTIONS.iter().zip(stored) {
        assert_eq!(answer(&mut place, question), stored, "{question}");
    }
}

#[test]
fn an_import_of_many_lines_waited_for_all_their_vectors() {
    if is_without_folder() {
        return;
    }
    let mut place = Place::new();
    for file in 0..40 {
        let text: String =
            (0..100).map(|line| format!("- note {line} of {file}: the kettle is {line}\n")).collect();
        write(&place, &format!("imports/{file}.md"), &text);
    }
    write(&place, "mine.md", "- no prawns\n");
    sync(&mut place);
    let made = lines(&place);
    assert!((500..700).contains(&made), "{made}: about a second");
    assert!(rows(&place).iter().any(|row| row.len() == VECTOR), "the person's own note comes first");
    sync(&mut place);
    assert_eq!(lines(&place), made, "nothing changed, so nothing is made");
    write(&place, "other.md", "- the ferry leaves at nine\n");
    sync(&mut place);
    assert!((1..100).contains(&(lines(&place) - made)), "a small change makes a few");
    let missing = answer(&mut place, "when is the ferry")["missing"][0].as_str().unwrap().to_owned();
    assert!(missing.starts_with("lines: ") && missing.contains("run `nacre index`"), "{missing}");
    let before = lines(&place);
    assert!(embed(&mut place, 100) > 0);
    assert!((100..200).contains(&(lines(&place) - before)), "no more than it was asked for");
    let done = nacre::maintain::run(&mut place.view(), &nacre::maintain::JobSelection::Only("lines".into()))
        .unwrap();
    assert!(done[0].report.counts["lines"] > 0);
    assert!(lines(&place) >= 4_002, "chunks overlap");
    assert_eq!(answer(&mut place, "when is the ferry")["missing"], json!([]));
    assert_eq!(embed(&mut place, usize::MAX), 0);
    place.check();
}

#[test]
fn a_line_in_none_of_the_best_chunks_was_not_found_by_its_meaning() {
    if is_without_folder() {
        return;
    }
    let mut place = Place::new();
    // Chunks that share words with the question, more than are split.
    for file in 0..90 {
        let text = format!("# Market {file}\n- which seafood stall keeps away from stall {file}\n");
        write(&place, &format!("memory/market-{file}.md"), &text);
    }
    write(&place, "memory/health.md", "# Me\n- prawns make my face swell up\n");
    sync(&mut place);
    let has = |answer: &Value| {
        answer["hits"].as_array().unwrap().iter().any(|hit| hit["text"].as_str().unwrap().contains("prawns"))
    };
    let question = "allergic to any seafood, which should I keep away from";
    let found = answer(&mut place, question);
    run(&place, "DELETE FROM line_vectors");
    place.reopen();
    assert!(!has(&answer(&mut place, question)), "words and static vectors find it too");
    assert!(has(&found), "{found:#}");
}

#[test]
fn vectors_of_another_model_are_not_compared_and_made_again() {
    if is_without_folder() {
        return;
    }
    let mut place = notes();
    let (right, before) = (answer(&mut place, QUESTIONS[0]), rows(&place));
    let noise = "UPDATE line_vectors SET data = zeroblob(length(data)), stamp = stamp + 1000;
        UPDATE meta SET value = 'another' WHERE key = 'line_vectors'";
    run(&place, noise);
    // This handle was opened before: a newer program has replaced the vectors, and keeps its own.
    assert_eq!(embed(&mut place, usize::MAX), 0);
    place.reopen();
    let found = answer(&mut place, QUESTIONS[0]);
    assert_eq!(found["hits"], right["hits"]);
    assert!(found["missing"][0].as_str().unwrap().starts_with("lines: 2 of 2"), "{found:#}");
    assert_eq!(embed(&mut place, usize::MAX), 2);
    assert_eq!(rows(&place), before);
    assert_eq!(answer(&mut place, QUESTIONS[0]), right);
    place.check();
}

#[test]
fn an_index_that_is_rebuilt_has_the_same_vectors() {
    if is_without_folder() {
        return;
    }
    let mut place = notes();
    let before = rows(&place);
    let caller = place.caller.clone();
    nacre::reindex(&mut place.view_of(&caller)).unwrap();
    assert_eq!(rows(&place), before);
    place.check();
}

#[test]
fn both_engines_have_the_same_vectors_and_answers() {
    let of = |engine: Engine| {
        let mut place = Place::on(engine, "balanced", &[])?;
        let hex = if engine == Engine::Sqlite { "lower(hex(data))" } else { "encode(data, 'hex')" };
        let mut found = Vec::new();
        for text in [
            "# Me\n- no prawns, face swells up\n- shoes 43\n- 蟹不吃\n",
            "# Me\n- shoes 44, wide\n- no oysters\n",
        ] {
            write(&place, "memory/me.md", text);
            sync(&mut place);
            found.extend(place.rows(&format!("SELECT {hex} FROM line_vectors ORDER BY passage")));
            found.extend(QUESTIONS.map(|question| answer(&mut place, question).to_string()));
        }
        Some(found)
    };
    let sqlite = of(Engine::Sqlite);
    assert_eq!(sqlite.as_ref().map(Vec::len), Some(12), "each text is one chunk, so that it has one row");
    let postgres = of(Engine::Postgres);
    assert!(postgres.is_none() || postgres == sqlite, "{postgres:#?}");
}
