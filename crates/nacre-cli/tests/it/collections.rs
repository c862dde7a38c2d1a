//! Collections at the command line and over MCP: two at once, killed in the middle, in a home that can't be written.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::sealed::{Process, Sealed};

impl Sealed {
    /// Writes a file beside the home.
    fn source(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = std::path::PathBuf::from(self.beside(path));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// A folder of `count` files, each about a number of its own.
    fn corpus(&self, folder: &str, count: usize) -> String {
        for n in 0..count {
            let text = format!("# Page {n}\n\nThe number of this page of {folder} is {folder}x{n}y.\n");
            self.source(&format!("{folder}/{n}.md"), text);
        }
        self.beside(folder)
    }

    fn collection(&self, name: &str) -> Value {
        let list = self.json(["collection", "list"]);
        list["collections"]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["name"] == name)
            .cloned()
            .unwrap_or_default()
    }
}

#[test]
fn a_collection_from_add_to_drop() {
    let home = Sealed::new();
    assert!(home.run(["collection", "list"]).stdout.contains("nacre collection add"));
    home.source("books/sea.md", "# Sea\n\nThe walrus eats clams.\n");
    home.source("books/cover.png", b"\x89PNG\0");
    let done = home.json(["collection", "add", "books", "books"]);
    assert_eq!((&done["collection"], &done["others"]), (&json!("books"), &json!({ "png": 1 })));
    assert_eq!(done["added"].as_array().unwrap().len(), 1);

    let found = home.json(["collection", "search", "books", "what does a walrus eat?"]);
    assert_eq!((&found["hits"][0]["collection"], &found["missing"]), (&json!("books"), &json!([])));
    assert_eq!(
        home.json(["search", "walrus", "--scope", "sources"])["hits"],
        home.json(["search", "walrus", "--collection", "books"])["hits"]
    );
    assert_eq!(home.json(["search", "walrus"])["hits"], json!([]));
    let shown = home.run(["search", "walrus", "--scope", "sources"]).stdout;
    assert!(shown.contains("books: ") && shown.contains("sea.md:1-3"), "{shown}");
    let listed = home.run(["collection", "list"]).stdout;
    assert!(
        listed.contains("books  1 document, 1 passage,") && listed.contains("indexed 2026-02-18 14:30"),
        "{listed}"
    );
    assert_eq!(home.collection("books")["indexed_at"], "2026-02-18T14:30:00.000Z");

    home.source("books/sea.md", "# Sea\n\nThe seal eats fish.\n");
    let said = home.run(["collection", "reindex"]).stdout;
    assert!(said.contains("changed") && said.contains("sea.md") && said.contains("1 png"), "{said}");
    assert_eq!(home.json(["collection", "search", "books", "seal"])["hits"].as_array().unwrap().len(), 1);

    // Nobody can be asked here, so the flag has to say it.
    let (status, error) = home.error(["collection", "drop", "books"]);
    assert!(status == 2 && error["message"].as_str().unwrap().contains("--yes"), "{error}");
    assert_eq!(home.json(["collection", "drop", "books", "--yes"])["name"], "books");
    let (status, error) = home.error(["collection", "search", "books", "seal"]);
    assert_eq!((status, &error["code"]), (3, &json!("no_collection")));
    assert_eq!(home.json(["doctor"])["ok"], true);
    assert!(std::path::Path::new(&home.beside("books/sea.md")).exists());
}

#[test]
fn hostile_names_and_sources_are_refused() {
    let home = Sealed::new();
    home.source("books/sea.md", "walrus");
    for name in ["../books", "..", ".", "a/b", "/etc", "a b", "", "é", "books.db", "x\n", &"x".repeat(65)] {
        for args in [
            vec!["collection", "add", "--", name, "books"],
            vec!["collection", "drop", "--yes", "--", name],
            vec!["collection", "reindex", "--", name],
            vec!["collection", "search", "--", name, "x"],
        ] {
            let (status, error) = home.error(args.iter().copied());
            let message = error["message"].as_str().unwrap();
            assert!(status == 2 && message.contains("name"), "{args:?}: {error}");
        }
        let arguments = json!({ "query": "x", "collection": name }).to_string();
        assert_eq!(home.error(["call", "memory_search", &arguments]).0, 2, "{name}");
    }
    for source in ["nowhere", "books/sea.md/x", "/dev/null"] {
        let (status, error) = home.error(["collection", "add", "x", source]);
        assert_eq!((status, &error["code"]), (2, &json!("bad_source")), "{source}: {error}");
    }
    assert_eq!(home.json(["collection", "list"]), json!({ "collections": [] }));
    assert!(!home.home().exists(), "nothing was made");
}

/// Four at once on one collection, two of them with the same folder, in a home that is not there yet.
#[test]
fn many_processes_add_to_one_collection() {
    let home = Sealed::new();
    let (left, right) = (home.corpus("left", 150), home.corpus("right", 150));
    let adds: Vec<Process> = [&left, &right, &left, &right]
        .map(|folder| Process::start(&mut home.command(["--json", "collection", "add", "books", folder])))
        .into();
    for add in adds {
        let output = add.finish();
        assert_eq!((output.status, output.stderr.as_str()), (0, ""), "{output:?}");
    }
    let books = home.collection("books");
    assert_eq!((&books["documents"], &books["passages"]), (&json!(300), &json!(300)));
    assert_eq!(books["sources"].as_array().unwrap().len(), 2);
    assert!(books["indexed_at"].is_string(), "{books}");
    assert_eq!(home.json(["doctor"])["ok"], true);
    for word in ["leftx149y", "rightx0y"] {
        assert_eq!(home.json(["collection", "search", "books", word])["missing"], json!([]));
        assert!(
            home.json(["collection", "search", "books", word])["hits"][0]["text"]
                .as_str()
                .unwrap()
                .contains(word)
        );
    }
}

/// Killed after the first documents are in: what is in stays, and is found; the rest is named as missing until somebody goes on.
#[test]
fn an_add_that_is_killed_goes_on() {
    const COUNT: usize = 3_000;
    let home = Sealed::new();
    let folder = home.corpus("pages", COUNT);
    let add = Process::start(&mut home.command(["collection", "add", "books", &folder]));
    let database = home.home().join("groups/main/collections/books.db");
    let documents = || -> i64 {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let Ok(db) = rusqlite::Connection::open_with_flags(&database, flags) else { return 0 };
        db.query_row("SELECT count(*) FROM documents", [], |row| row.get(0)).unwrap_or(0)
    };
    let started = Instant::now();
    while documents() == 0 {
        assert!(started.elapsed() < Duration::from_secs(60), "it does not begin");
        std::thread::sleep(Duration::from_millis(2));
    }
    add.victim.lock().unwrap().kill().unwrap();
    add.finish();

    let books = home.collection("books");
    let some = books["documents"].as_u64().unwrap();
    assert!(some > 0 && some < COUNT as u64 && books["indexed_at"].is_null(), "{books}");
    let found = home.json(["search", "pagesx0y", "--scope", "sources"]);
    assert!(found["missing"][0].as_str().unwrap().contains("is not fully indexed"), "{found}");
    assert_eq!(home.json(["doctor"])["ok"], true);
    let done = home.json(["collection", "reindex", "books"]);
    assert_eq!(done[0]["added"].as_array().unwrap().len() as u64 + some, COUNT as u64);
    assert_eq!(home.collection("books")["documents"], COUNT);
    let found = home.json(["search", "pagesx2999y", "--scope", "sources"]);
    assert!(
        found["hits"][0]["text"].as_str().unwrap().contains("pagesx2999y") && found["missing"] == json!([]),
        "{found}"
    );
    assert_eq!(home.json(["doctor"])["ok"], true);
}

/// A server that has a collection open while others index it, drop it and make it again.
#[test]
fn a_server_follows_its_collections() {
    let home = Sealed::new();
    home.source("books/sea.md", "The walrus eats clams.\n");
    let mut server = home.mcp();
    let mut find = |words: &str| {
        let found = server.data("memory_search", &json!({ "query": words, "scope": ["sources"] }));
        found["hits"].as_array().unwrap().len()
    };
    assert_eq!(find("walrus"), 0);
    home.json(["collection", "add", "books", "books"]);
    assert_eq!(find("walrus"), 1);
    home.source("books/air.md", "The heron stands still.\n");
    home.json(["collection", "reindex"]);
    assert_eq!(find("heron"), 1);
    home.json(["collection", "drop", "books", "--yes"]);
    assert_eq!(find("heron"), 0);
    home.json(["collection", "add", "books", "books/air.md"]);
    assert_eq!((find("heron"), find("walrus")), (1, 0));
    // Looking after collections is for people: an agent can have no file of its choice read.
    let listed = server.ask("tools/list", &json!({})).unwrap().to_string();
    assert!(!listed.contains("collection_add"), "{listed}");
    let within = json!({ "query": "heron", "collection": "books" });
    assert_eq!(server.data("memory_search", &within)["hits"].as_array().unwrap().len(), 1);
}

/// A damaged collection fails no search, and one that can't be opened does not keep the others from being indexed.
#[test]
fn a_damaged_collection_is_named() {
    let home = Sealed::new();
    home.source("a/sea.md", "The walrus eats clams.\n");
    home.source("b/air.md", "The heron and the walrus.\n");
    home.json(["collection", "add", "a", "a"]);
    home.json(["collection", "add", "b", "b"]);
    let path = home.home().join("groups/main/collections/a.db");
    std::fs::write(&path, b"These are not the bytes you are looking for.").unwrap();
    let found = home.json(["search", "walrus", "--scope", "sources,entries"]);
    assert_eq!(found["hits"][0]["collection"], "b");
    assert!(found["missing"][0].as_str().unwrap().contains("nacre collection reindex a"), "{found}");
    let said = home.run(["search", "walrus", "--scope", "sources"]);
    assert!(said.status == 0 && said.stderr.contains("missing: sources: collection `a`"), "{said:?}");
    let doctor = home.run(["doctor"]);
    assert!(doctor.status != 0 && doctor.stdout.contains("main/a: the database"), "{doctor:?}");
    assert!(home.run(["collection", "list"]).stdout.contains("is damaged"));

    let db = rusqlite::Connection::open(home.home().join("groups/main/collections/b.db")).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    drop(db);
    let (status, error) = home.error(["collection", "reindex"]);
    assert_eq!((status, &error["code"]), (7, &json!("newer_database")));
    assert_eq!(
        home.json(["search", "clams", "--scope", "sources"])["hits"][0]["collection"],
        "a",
        "it was made anew"
    );
}
