//! Collections: corpora of documents in databases of their own.
#![expect(clippy::disallowed_methods, reason = "a test writes files as any editor does")]

use std::fs;
use std::path::{Path, PathBuf};

use nacre::collection::{IndexReport, Reading};
use nacre::{Error, Note};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::sealed::{Place, is_without_folder};

/// A home, and a folder of sources beside it.
struct Shelf {
    place: Place,
    sources: TempDir,
}

impl Shelf {
    fn new() -> Shelf {
        let mut place = Place::new();
        // Agents search collections; a person looks after them.
        place.caller.actor = nacre::Actor::Person;
        Shelf { place, sources: tempfile::tempdir().unwrap() }
    }

    /// The real path of something among the sources.
    fn path(&self, path: &str) -> PathBuf {
        fs::canonicalize(self.sources.path()).unwrap().join(path)
    }

    fn shown(&self, path: &str) -> String {
        self.path(path).into_os_string().into_string().unwrap()
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn database(&self, name: &str) -> PathBuf {
        self.place.group.folder().join("collections").join(format!("{name}.db"))
    }

    fn try_add(&mut self, name: &str, sources: &[&str]) -> Result<IndexReport, Error> {
        let sources: Vec<PathBuf> = sources.iter().map(|source| self.path(source)).collect();
        let caller = self.place.caller.clone();
        nacre::collection::add(&mut self.place.view_of(&caller), &name.parse()?, &sources, &mut |_, _| {})
    }

    fn add(&mut self, name: &str, sources: &[&str]) -> IndexReport {
        let done = self.try_add(name, sources).unwrap();
        self.check();
        done
    }

    fn try_reindex(&mut self, name: &str, reading: Reading) -> Result<IndexReport, Error> {
        let caller = self.place.caller.clone();
        nacre::collection::reindex(&mut self.place.view_of(&caller), &name.parse()?, reading, &mut |_, _| {})
    }

    fn reindex(&mut self, name: &str) -> IndexReport {
        let done = self.try_reindex(name, Reading::Changes).unwrap();
        self.check();
        done
    }

    fn drop(&mut self, name: &str) {
        let caller = self.place.caller.clone();
        nacre::collection::remove(&mut self.place.view_of(&caller), &name.parse().unwrap()).unwrap();
    }

    fn search(&mut self, arguments: Value) -> Value {
        self.place.call("memory_search", arguments).data
    }

    /// Where the hits in all collections stand, best first, as `collection: file`.
    fn found(&mut self, query: &str) -> Vec<String> {
        let found = self.search(json!({ "query": query, "scope": ["sources"] }));
        assert_eq!(found["missing"], json!([]), "{query}");
        let place = |hit: &Value| {
            let file = Path::new(hit["path"].as_str().unwrap()).file_name().unwrap().to_str().unwrap();
            format!("{}: {file}", hit["collection"].as_str().unwrap())
        };
        found["hits"].as_array().unwrap().iter().map(place).collect()
    }

    fn list(&mut self) -> Vec<Value> {
        self.place.call("collection_list", json!({})).data["collections"].as_array().unwrap().clone()
    }

    /// Nothing is wrong with the memory, nor with any collection.
    fn check(&mut self) {
        self.place.check();
        for (name, problems) in nacre::collection::check(&mut self.place.view()).unwrap() {
            assert_eq!(problems, Vec::<String>::new(), "{name}");
        }
    }
}

fn notes(notes: &[Note]) -> Vec<String> {
    let name = |path: &str| Path::new(path).file_name().unwrap().to_str().unwrap().to_owned();
    notes.iter().map(|note| format!("{} {}", name(&note.path), note.why)).collect()
}

#[test]
fn a_collection_is_searched_apart_from_the_memory() {
    let mut shelf = Shelf::new();
    shelf.place.store("The walrus of the zoo is called Antje");
    shelf.write("books/sea/walrus.md", "# Walrus\n\nThe walrus eats clams.\n");
    shelf.write("books/plain.txt", "An albatross sleeps in flight.\n");
    shelf.write("books/upper.MARKDOWN", "A heron stands still.\n");
    shelf.write("books/novel.pdf", "The walrus of the novel.\n");
    shelf.write("books/.git/x.md", "The walrus of git.\n");
    let done = shelf.add("books", &["books"]);
    assert_eq!(done.sources, [shelf.shown("books")]);
    assert_eq!((done.synced.added.len(), done.synced.chunks_written), (3, 3));
    assert_eq!(done.synced.others.get("pdf"), Some(&1), "what is left out is counted");

    // It is out of a default search, and the memory is out of a search of sources.
    let hits = shelf.search(json!({ "query": "walrus" }))["hits"].clone();
    assert_eq!(hits.as_array().unwrap().len(), 1);
    assert_eq!(hits[0]["kind"], "entry");
    assert_eq!(shelf.found("walrus"), ["books: walrus.md"]);
    assert_eq!(shelf.found("albatross"), ["books: plain.txt"]);
    let all = shelf.search(json!({ "query": "walrus", "scope": ["entries", "sources"] }));
    assert_eq!(all["hits"].as_array().unwrap().len(), 2);

    let hit = shelf.search(json!({ "query": "walrus", "collection": "books" }))["hits"][0].clone();
    let path = shelf.shown("books/sea/walrus.md");
    assert_eq!((&hit["kind"], &hit["collection"]), (&json!("document"), &json!("books")));
    assert_eq!((&hit["path"], &hit["lines"]), (&json!(path), &json!([1, 3])));
    assert_eq!(hit["id"], format!("{path}#L1-L3"));
    let said = shelf.place.call("memory_search", json!({ "query": "walrus", "collection": "books" })).text;
    assert!(said.starts_with(&format!("[books: {path}:1-3] ")), "{said}");

    // A file by its name, whatever that is.
    shelf.write("notes/LICENSE", "Permission is hereby granted to the pelican.\n");
    shelf.add("rules", &["notes/LICENSE"]);
    assert_eq!(shelf.found("pelican permission"), ["rules: LICENSE"]);
    let list = shelf.list();
    let short = |key: &str| list.iter().map(|one| one[key].clone()).collect::<Vec<_>>();
    assert_eq!(short("name"), ["books", "rules"]);
    assert_eq!((short("documents"), short("passages")), (vec![json!(3), json!(1)], vec![json!(3), json!(1)]));
    assert!(
        list.iter().all(|one| one["bytes"].as_u64() > Some(0) && one["indexed_at"].is_string()),
        "{list:?}"
    );
    assert_eq!(nacre::status(&shelf.place.view()).unwrap().collections, 2);
    assert_eq!(
        nacre::status(&shelf.place.view()).unwrap().documents.indexed,
        0,
        "the memory holds none of it"
    );
}

/// A word weighs what it weighs over all that is asked: the rarest match of a large collection once stood above the
/// best of a small one.
#[test]
fn hits_of_several_collections_are_comparable() {
    let mut shelf = Shelf::new();
    for n in 0..300 {
        shelf.write(
            &format!("large/{n}.md"),
            format!("Chapter {n} speaks of tides, of boats and of x{n}y.\n"),
        );
    }
    shelf.write("large/walrus.md", "The walrus is mentioned beside tides and boats of all kinds.\n");
    shelf.write("small/a.md", "The walrus eats clams and worms.\n");
    shelf.write("small/b.md", "A heron stands still.\n");
    shelf.add("large", &["large"]);
    shelf.add("small", &["small"]);
    assert_eq!(shelf.found("what does the walrus eat?")[0], "small: a.md");
    assert_eq!(shelf.found("x77y")[0], "large: 77.md");
    assert!(shelf.found("walrus")[..2].contains(&"large: walrus.md".to_owned()));
    let found = shelf.search(json!({ "query": "walrus", "scope": ["sources"], "limit": 1 }));
    assert_eq!(found["hits"].as_array().unwrap().len(), 1);
    let scores = shelf.search(json!({ "query": "walrus boats", "scope": ["sources"] }));
    let scores: Vec<f64> =
        scores["hits"].as_array().unwrap().iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
}

/// The same corpus in one collection, and cut in two of unequal size: the same is found, and the same comes first.
#[test]
fn a_corpus_cut_in_two_answers_as_one() {
    let (mut whole, mut halves) = (Shelf::new(), Shelf::new());
    let birds = ["heron", "kestrel", "egret", "walrus", "albatross"];
    for n in 0..40 {
        let side = if n % 10 == 3 { "left" } else { "right" };
        let text = format!("Note {n}: the {} met the {} at x{n}y.\n", birds[n % 5], birds[(n * 3 + 1) % 5]);
        whole.write(&format!("{side}/{n}.md"), &text);
        halves.write(&format!("{side}/{n}.md"), &text);
    }
    whole.add("all", &["left", "right"]);
    halves.add("left", &["left"]);
    halves.add("right", &["right"]);
    let found = |shelf: &mut Shelf, query: &str| -> Vec<String> {
        let found = shelf.search(json!({ "query": query, "scope": ["sources"], "limit": 100 }));
        let root = shelf.shown("");
        let name = |hit: &Value| hit["path"].as_str().unwrap().trim_start_matches(root.as_str()).to_owned();
        found["hits"].as_array().unwrap().iter().map(name).collect()
    };
    for (query, best) in
        [("heron x13y", "left/13.md"), ("egret x12y", "right/12.md"), ("x33y walrus", "left/33.md")]
    {
        let (mut one, mut two) = (found(&mut whole, query), found(&mut halves, query));
        assert_eq!((one[0].as_str(), two[0].as_str()), (best, best), "{query}");
        one.sort();
        two.sort();
        assert_eq!(one, two, "{query}");
    }
}

#[test]
fn sources_are_followed() {
    let mut shelf = Shelf::new();
    shelf.write("a/one.md", "The heron stands still.\n");
    shelf.write("a/two.md", "The walrus eats clams.\n");
    shelf.add("birds", &["a"]);
    shelf.write("a/one.md", "The kestrel hovers over the field.\n");
    fs::rename(shelf.path("a/two.md"), shelf.path("a/three.txt")).unwrap();
    assert_eq!(shelf.found("kestrel"), [] as [&str; 0], "a search does not look at the sources");
    let done = shelf.reindex("birds").synced;
    assert_eq!((done.changed.len(), done.added.len(), done.removed.len()), (1, 1, 1));
    assert_eq!(shelf.found("kestrel"), ["birds: one.md"]);
    assert_eq!(shelf.found("walrus"), ["birds: three.txt"]);
    assert_eq!(shelf.found("heron"), [] as [&str; 0]);
    fs::remove_file(shelf.path("a/one.md")).unwrap();
    assert_eq!(shelf.reindex("birds").synced.removed, [shelf.shown("a/one.md")]);

    // A second source joins; one within another is not read twice.
    shelf.write("b/owl.md", "The owl hunts at night.\n");
    let done = shelf.add("birds", &["b", "b/owl.md", "a"]);
    assert_eq!((done.synced.added.len(), done.synced.unchanged), (1, 1));
    assert_eq!(done.sources.len(), 3);
    assert_eq!(shelf.found("owl"), ["birds: owl.md"]);
    assert_eq!(shelf.reindex("birds").synced.unchanged, 2);
}

#[test]
fn a_source_that_is_not_there_is_named_and_what_was_read_of_it_kept() {
    let mut shelf = Shelf::new();
    shelf.write("disk/walrus.md", "The walrus eats clams.\n");
    shelf.write("here/heron.md", "The heron stands still.\n");
    shelf.write("file.md", "The owl hunts at night.\n");
    shelf.add("birds", &["disk", "here", "file.md"]);
    let everything = ["walrus", "heron", "owl"];

    fs::rename(shelf.path("disk"), shelf.path("away")).unwrap();
    fs::remove_file(shelf.path("file.md")).unwrap();
    let done = shelf.reindex("birds").synced;
    assert_eq!((done.absent.len(), done.kept, done.removed.len(), done.unchanged), (2, 2, 0, 1));
    assert!(done.absent.iter().all(|note| note.why.starts_with("is missing")), "{:?}", done.absent);
    assert!(everything.iter().all(|word| shelf.found(word).len() == 1));
    let list = shelf.list();
    assert_eq!(list[0]["absent"], json!([shelf.shown("disk"), shelf.shown("file.md")]));

    // A folder that is there and empty, as a mount point without its disk.
    fs::create_dir(shelf.path("disk")).unwrap();
    let done = shelf.reindex("birds").synced;
    assert_eq!((done.absent.len(), done.kept), (2, 2), "{done:?}");
    assert!(everything.iter().all(|word| shelf.found(word).len() == 1));

    // Made anew it would be lost: refused while a source is not there.
    let refused = shelf.try_reindex("birds", Reading::Rebuild).unwrap_err();
    assert_eq!(refused.code(), "absent_source");
    shelf.write("file.md", "The owl hunts at night.\n");
    let done = shelf.try_reindex("birds", Reading::Rebuild).unwrap().synced;
    assert_eq!((done.added.len(), done.kept), (2, 0), "an empty folder is believed when told so");
    assert_eq!(shelf.found("walrus"), [] as [&str; 0]);
    shelf.check();
}

#[test]
fn what_cannot_be_read_is_named() {
    let mut shelf = Shelf::new();
    shelf.write("mixed/sound.txt", "walrus");
    shelf.write("mixed/binary.txt", b"walrus\0");
    shelf.write("mixed/latin.md", b"walrus caf\xe9\n");
    fs::File::create(shelf.path("mixed/huge.txt")).unwrap().set_len((20 << 20) + 1).unwrap();
    let done = shelf.add("mixed", &["mixed"]).synced;
    assert_eq!(notes(&done.skipped), ["binary.txt is binary", "huge.txt is larger than 20 MiB"]);
    assert_eq!(
        notes(&done.repaired),
        ["latin.md is not UTF-8 from line 1 on; unreadable bytes are shown as \u{fffd}"]
    );
    assert_eq!(shelf.reindex("mixed").synced.skipped.len(), 2, "every time");
    for bad in ["nowhere", "mixed/sound.txt/x"] {
        let error = shelf.try_add("mixed", &[bad]).unwrap_err();
        assert_eq!(error.code(), "bad_source", "{bad}: {error}");
    }
    assert_eq!(shelf.list()[0]["sources"].as_array().unwrap().len(), 1, "nothing was added");
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let mut shelf = Shelf::new();
    shelf.write("outside/secret.md", "walrus outside");
    shelf.write("inside/a.md", "walrus inside");
    symlink(shelf.path("outside"), shelf.path("inside/folder")).unwrap();
    symlink(shelf.path("outside/secret.md"), shelf.path("inside/link.md")).unwrap();
    symlink(shelf.path("inside"), shelf.path("inside/loop")).unwrap();
    let done = shelf.add("books", &["inside"]).synced;
    assert_eq!(notes(&done.skipped), ["link.md is a link, and links are not followed"]);
    assert_eq!(shelf.found("walrus"), ["books: a.md"]);
    // A source that is named by a link is meant: it is known by its real name.
    symlink(shelf.path("outside"), shelf.path("by-link")).unwrap();
    assert_eq!(shelf.add("named", &["by-link"]).sources, [shelf.shown("outside")]);
    // A source that becomes a link later is not.
    fs::rename(shelf.path("inside"), shelf.path("was-inside")).unwrap();
    symlink(shelf.path("outside"), shelf.path("inside")).unwrap();
    let done = shelf.reindex("books").synced;
    assert_eq!(notes(&done.absent), ["inside is now a link, and links are not followed"]);
    assert_eq!(shelf.found("walrus inside")[0], "books: a.md");
}

#[test]
fn credentials_do_not_come_out_of_a_collection() {
    if is_without_folder() {
        return;
    }
    let mut shelf = Shelf::new();
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    shelf.write("books/keys.md", format!("The walrus token is {secret}.\n"));
    shelf.add("books", &["books"]);
    let found = shelf.search(json!({ "query": "walrus token", "scope": ["sources"] })).to_string();
    assert!(found.contains("walrus") && !found.contains(secret), "{found}");
    let bytes = fs::read(shelf.database("books")).unwrap();
    assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
}

#[test]
fn a_dropped_collection_is_gone_and_its_sources_are_not() {
    if is_without_folder() {
        return;
    }
    let mut shelf = Shelf::new();
    shelf.write("a/walrus.md", "The walrus eats clams.\n");
    shelf.add("books", &["a"]);
    shelf.add("other", &["a"]);
    assert_eq!(shelf.found("walrus").len(), 2);
    shelf.drop("books");
    assert_eq!(shelf.found("walrus"), ["other: walrus.md"]);
    assert_eq!(
        shelf.place.refused("memory_search", json!({ "query": "x", "collection": "books" })),
        "no_collection"
    );
    let left: Vec<String> = fs::read_dir(shelf.database("x").parent().unwrap())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("books"))
        .collect();
    assert_eq!(left, [] as [&str; 0]);
    assert!(shelf.path("a/walrus.md").exists());
    // The name is free again.
    shelf.write("b/heron.md", "The heron stands still.\n");
    shelf.add("books", &["b"]);
    assert_eq!(shelf.found("walrus"), ["other: walrus.md"]);
    assert_eq!(shelf.found("heron"), ["books: heron.md"]);
    assert_eq!(
        shelf.try_reindex("nope", Reading::Changes).unwrap_err().hint().unwrap(),
        "the collections are books, other"
    );
}

#[test]
fn another_handle_sees_what_became_of_a_collection() {
    let mut shelf = Shelf::new();
    shelf.write("a/walrus.md", "The walrus eats clams.\n");
    shelf.add("books", &["a"]);
    let mut other = shelf.place.home.group(&"main".parse().unwrap(), shelf.place.caller.now).unwrap();
    let caller = shelf.place.caller.clone();
    let mut hits = |query: &str| {
        let arguments = json!({ "query": query, "scope": ["sources"] });
        let found = nacre::call(&mut other.enter(&caller).unwrap(), "memory_search", arguments).unwrap().data;
        (found["hits"].as_array().unwrap().len(), found["note"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(hits("walrus").0, 1);
    shelf.write("a/heron.md", "The heron stands still.\n");
    shelf.reindex("books");
    assert_eq!(hits("heron").0, 1);
    shelf.drop("books");
    assert_eq!(hits("heron"), (0, "this group has no collections".to_owned()));
    shelf.add("books", &["a"]);
    assert_eq!(hits("heron").0, 1);
}

#[test]
fn a_collection_belongs_to_its_group() {
    if is_without_folder() {
        return;
    }
    let mut shelf = Shelf::new();
    shelf.write("a/walrus.md", "The walrus eats clams.\n");
    shelf.add("books", &["a"]);
    let now = shelf.place.caller.now;
    let mut other = shelf.place.home.group(&"other".parse().unwrap(), now).unwrap();
    let caller = shelf.place.caller.clone();
    let all = json!({ "query": "walrus", "scope": ["sources"] });
    assert_eq!(
        nacre::call(&mut other.enter(&caller).unwrap(), "memory_search", all.clone()).unwrap().data["hits"],
        json!([])
    );
    let named = json!({ "query": "walrus", "collection": "books" });
    assert_eq!(
        nacre::call(&mut other.enter(&caller).unwrap(), "memory_search", named).unwrap_err().code(),
        "no_collection"
    );
    for name in ["../main/collections/books", "..", "a/b", "a\\b", "books.db", "", "é", &"x".repeat(65)] {
        assert_eq!(shelf.try_add(name, &["a"]).unwrap_err().code(), "bad_collection_name", "{name}");
        let refused = shelf.place.refused("memory_search", json!({ "query": "x", "collection": name }));
        assert_eq!(refused, "bad_argument", "{name}");
    }

    // A database that is copied over from elsewhere is known, and left alone.
    shelf.add("copy", &["a"]);
    for (target, from, says) in [
        (shelf.database("copy"), shelf.database("books"), "belongs to collection `books` of the group"),
        (
            shelf.database("copy"),
            shelf.place.group.folder().join("memory.db"),
            "belongs to the memory of the group, not to collection `copy`",
        ),
    ] {
        shelf.place.reopen();
        fs::remove_file(&target).unwrap();
        let whole = rusqlite::Connection::open(&from).unwrap();
        whole.execute("VACUUM INTO ?1", [target.to_str().unwrap()]).unwrap();
        let found = shelf.search(all.clone());
        assert_eq!(found["hits"].as_array().unwrap().len(), 1, "the sound one answers: {found}");
        assert!(found["missing"][0].as_str().unwrap().contains(says), "{found}");
        assert_eq!(shelf.try_reindex("copy", Reading::Changes).unwrap_err().code(), "not_ours");
    }
}

#[test]
fn a_damaged_database_is_named_and_made_anew() {
    if is_without_folder() {
        return;
    }
    let mut shelf = Shelf::new();
    for n in 0..60 {
        shelf.write(&format!("a/{n}.md"), format!("The walrus number x{n}y eats clams.\n").repeat(30));
    }
    shelf.write("b/heron.md", "The heron stands still, says the walrus.\n");
    shelf.add("books", &["a"]);
    shelf.add("sound", &["b"]);
    shelf.place.reopen();
    let sound = fs::read(shelf.database("books")).unwrap();
    let zeros = [&sound[..sound.len() / 2], &vec![0; sound.len() - sound.len() / 2]].concat();
    for (what, bytes) in
        [("cut", &sound[..sound.len() / 2]), ("garbage", b"not a database"), ("half of zeros", &zeros)]
    {
        shelf.place.reopen();
        for suffix in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{suffix}", shelf.database("books").display()));
        }
        fs::write(shelf.database("books"), bytes).unwrap();
        let found = shelf.search(json!({ "query": "walrus x7y", "scope": ["sources", "entries"] }));
        let missing = found["missing"].as_array().unwrap();
        assert!(
            missing.len() == 1
                && missing[0].as_str().unwrap().contains("collection `books`")
                && missing[0].as_str().unwrap().contains("nacre collection reindex books"),
            "{what}: {found}"
        );
        assert_eq!(found["hits"][0]["collection"], "sound", "{what}: {found}");
        let checked = nacre::collection::check(&mut shelf.place.view()).unwrap();
        assert!(
            checked.iter().any(|(name, problems)| name == "books" && !problems.is_empty()),
            "{checked:?}"
        );
        let done = shelf.try_reindex("books", Reading::Changes).unwrap();
        assert_eq!(done.synced.added.len(), 60, "{what}");
        let aside = done.set_aside.expect("it is kept");
        assert_eq!(fs::read(&aside).unwrap(), bytes, "{what}");
        let checked = nacre::collection::check(&mut shelf.place.view()).unwrap();
        assert!(checked.iter().any(|(_, problems)| problems.concat().contains("was damaged")), "{checked:?}");
        fs::remove_file(aside).unwrap();
        shelf.check();
        assert_eq!(shelf.found("x7y")[0], "books: 7.md", "{what}");
    }
    // One that was lost altogether comes back from its sources.
    shelf.place.reopen();
    fs::remove_file(shelf.database("books")).unwrap();
    assert_eq!(shelf.reindex("books").synced.added.len(), 60);
}

#[test]
fn an_index_of_another_version_is_made_anew_without_its_sources() {
    if is_without_folder() {
        return;
    }
    let mut shelf = Shelf::new();
    shelf.write("a/walrus.md", "# Walrus\n\nThe walrus eats clams.\n");
    shelf.write("a/heron.md", "The heron stands still.\n");
    shelf.add("books", &["a"]);
    let ask =
        |shelf: &mut Shelf| shelf.search(json!({ "query": "what does a walrus eat", "scope": ["sources"] }));
    let before = ask(&mut shelf);
    fs::rename(shelf.path("a"), shelf.path("away")).unwrap();
    shelf.place.reopen();
    let db = rusqlite::Connection::open(shelf.database("books")).unwrap();
    db.execute("UPDATE meta SET value = '0 older' WHERE key = 'analyser'", []).unwrap();
    drop(db);
    assert_eq!(ask(&mut shelf), before, "made anew from what was read of them");
    shelf.check();
    fs::rename(shelf.path("away"), shelf.path("a")).unwrap();
    // All are read once more, for they may be cut in another way now.
    let done = shelf.reindex("books").synced;
    assert_eq!((done.unchanged, done.chunks_written), (2, 0));
    assert_eq!(ask(&mut shelf), before);
}

#[test]
fn what_does_not_agree_is_found_and_mended() {
    if is_without_folder() {
        return;
    }
    let mut shelf = Shelf::new();
    shelf.write("a/walrus.md", "The walrus eats clams.\n");
    shelf.add("books", &["a"]);
    let db = rusqlite::Connection::open(shelf.database("books")).unwrap();
    db.execute("DELETE FROM documents", []).unwrap();
    let checked = nacre::collection::check(&mut shelf.place.view()).unwrap();
    assert!(checked[0].1[0].contains("nacre collection reindex books --rebuild"), "{checked:?}");
    shelf.try_reindex("books", Reading::Rebuild).unwrap();
    shelf.check();
    assert_eq!(shelf.found("walrus"), ["books: walrus.md"]);
}

#[test]
fn the_log_has_what_was_done_and_reads_are_not_in_it() {
    let mut shelf = Shelf::new();
    shelf.write("a/walrus.md", "The walrus eats clams.\n");
    shelf.add("books", &["a"]);
    shelf.reindex("books");
    shelf.found("walrus");
    shelf.list();
    shelf.drop("books");
    shelf.try_reindex("books", Reading::Changes).unwrap_err();
    let mut rows: Vec<Value> = Vec::new();
    shelf.place.view().export_audit(|line| rows.push(serde_json::from_str(line).unwrap())).unwrap();
    let told: Vec<&str> = rows.iter().map(|row| row["action"].as_str().unwrap()).collect();
    let indexed = "collection_index";
    assert_eq!(told, ["collection_add", indexed, indexed, "collection_drop", indexed]);
    let (refused, done) = rows.split_last().unwrap();
    assert!(done.iter().all(|row| row["ids"] == json!(["books"]) && row["outcome"] == "done"));
    assert_eq!(
        (&refused["outcome"], &refused["detail"]["code"]),
        (&json!("refused"), &json!("no_collection"))
    );
    assert!(!json!(rows).to_string().contains("walrus"));
    assert!(shelf.place.view().verify_audit().unwrap().ok);
}

#[test]
fn an_export_names_the_sources_and_an_import_reads_none() {
    let mut shelf = Shelf::new();
    shelf.write("a/walrus.md", "The walrus eats clams.\n");
    shelf.add("books", &["a"]);
    let folder = shelf.place.folder.path().join("out");
    nacre::export::export(&shelf.place.view(), &folder).unwrap();
    let readable = fs::read_to_string(folder.join("memory.md")).unwrap();
    assert!(
        readable.contains("Not part of this export") && readable.contains(&shelf.shown("a")),
        "{readable}"
    );
    let mut other = Place::new();
    let caller = other.caller.clone();
    let done = nacre::export::import(&mut other.view_of(&caller), &folder).unwrap();
    let named: Vec<(String, Vec<String>)> =
        done.collections.into_iter().map(|(name, sources)| (name.to_string(), sources)).collect();
    assert_eq!(named, [("books".to_owned(), vec![shelf.shown("a")])]);
    assert_eq!(nacre::collection::names(&other.view()).unwrap(), []);
    // Where it is there already there is nothing to say.
    assert!(
        nacre::export::import(&mut shelf.place.view_of(&caller), &folder).unwrap().collections.is_empty()
    );
}
