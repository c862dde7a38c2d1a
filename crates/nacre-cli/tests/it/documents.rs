//! Documents at the command line and over MCP: indexed, followed, shown.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::sealed::Sealed;

impl Sealed {
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.home().join("groups/main").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

fn ids(found: &Value) -> Vec<&str> {
    found["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap()).collect()
}

#[test]
fn index_says_what_became_of_each_document() {
    let home = Sealed::new();
    home.write("MEMORY.md", "# Servers\n\nStaging is called heron.\n");
    home.write("memory/2026-02-17.md", b"caf\xe9 with Ada\n");
    home.write("picture.md", b"\x89PNG\0");
    let done = home.json(["index"]);
    assert_eq!(done["added"], json!(["MEMORY.md", "memory/2026-02-17.md"]));
    assert_eq!(done["skipped"], json!([{ "path": "picture.md", "why": "is binary" }]));
    assert_eq!(done["repaired"][0]["path"], "memory/2026-02-17.md");

    home.write("MEMORY.md", "# Servers\n\nStaging is called kestrel now.\n");
    std::fs::remove_file(home.home().join("groups/main/memory/2026-02-17.md")).unwrap();
    let said = home.run(["index"]);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert_eq!(
        lines,
        [
            "changed    MEMORY.md",
            "removed    memory/2026-02-17.md",
            "skipped    picture.md is binary",
            "unchanged  0"
        ]
    );
    let again = home.json(["index"]);
    assert_eq!((&again["unchanged"], &again["added"]), (&json!(1), &json!([])));
    let status = home.json(["status"]);
    assert_eq!(status["documents"], json!({ "indexed": 1, "chunks": 1, "skipped": 1 }));
    assert!(home.run(["status"]).stdout.contains("1 in 1 chunk, 1 skipped"));
    assert_eq!(home.json(["doctor"])["ok"], true);

    let off = home.run(["index", "--set", "documents.index=false"]);
    assert!(off.stderr.contains("`documents.index` is off"), "{off:?}");
}

#[test]
fn a_search_sees_an_edit() {
    let home = Sealed::new();
    home.write("MEMORY.md", "# Servers\n\nStaging is called heron.\n");
    assert_eq!(ids(&home.json(["search", "heron"])), ["MEMORY.md#L1-L3"]);
    home.write("MEMORY.md", "# Servers\n\n## Staging\n\nIt is called kestrel now.\n");
    assert_eq!(home.json(["search", "heron"])["hits"], json!([]));
    let found = home.json(["search", "kestrel"]);
    let hit = &found["hits"][0];
    assert_eq!(
        (&hit["kind"], &hit["path"], &hit["lines"]),
        (&json!("document"), &json!("MEMORY.md"), &json!([1, 5]))
    );
    let shown = home.run(["search", "kestrel"]).stdout;
    assert!(shown.contains("[doc]") && shown.contains("MEMORY.md:1-5"), "{shown}");
    assert_eq!(ids(&home.json(["search", "kestrel", "--scope", "memory"])).len(), 1);
    assert_eq!(ids(&home.json(["search", "kestrel", "--scope", "entries"])).len(), 0);
}

/// The home can be read and not written: the answer says that the documents are not up to date.
#[test]
fn a_search_that_cannot_index_says_so() {
    let home = Sealed::new();
    home.json(["store", "The heron stands still"]);
    home.write("a.md", "A heron of its own\n");
    let locked = rusqlite::Connection::open(home.database("main")).unwrap();
    // A trigger that refuses stands for a disk that does.
    locked
        .execute_batch(
            "CREATE TRIGGER refuse BEFORE INSERT ON documents BEGIN SELECT RAISE(ABORT, 'no'); END",
        )
        .unwrap();
    let found = home.json(["search", "heron"]);
    assert_eq!(found["hits"].as_array().unwrap().len(), 1);
    let missing = found["missing"][0].as_str().unwrap();
    assert!(missing.starts_with("memory: the documents could not be indexed"), "{missing}");
    let said = home.run(["search", "heron"]);
    assert!(said.stderr.contains("missing: memory"), "{said:?}");
}

#[test]
fn a_server_follows_the_documents() {
    let home = Sealed::new();
    let mut server = home.mcp();
    let mut find = |words: &str| {
        let found = server.data("memory_search", &json!({ "query": words, "explain": true }));
        let hits = found["hits"].as_array().unwrap().iter();
        hits.map(|hit| hit["full_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(find("heron"), Vec::<String>::new());
    // The folder comes into being after the server.
    home.write("notes/a.md", "A heron\n");
    assert_eq!(find("heron"), ["notes/a.md#L1-L1"]);
    let mut until = |words: &str, expected: &[&str]| {
        let started = Instant::now();
        while find(words) != expected {
            // Well below the time after which it would look anyway.
            assert!(started.elapsed() < Duration::from_secs(20), "{words}");
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    home.write("notes/a.md", "A kestrel\n");
    until("kestrel", &["notes/a.md#L1-L1"]);
    home.write("new/folder/b.md", "An egret\n");
    until("egret", &["new/folder/b.md#L1-L1"]);
    std::fs::rename(home.home().join("groups/main/new"), home.home().join("groups/main/old")).unwrap();
    until("egret", &["old/folder/b.md#L1-L1"]);
    std::fs::remove_dir_all(home.home().join("groups/main/old")).unwrap();
    until("egret", &[]);
    assert_eq!(server.close(), 0);
}
