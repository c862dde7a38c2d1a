//! Documents: the Markdown files of a group's folder, found by what they say.
#![expect(clippy::disallowed_methods, reason = "a test writes files as any editor does")]

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use nacre::{Caller, SyncReport};
use serde_json::{Value, json};

use crate::sealed::{Place, is_without_folder};

impl Place {
    fn path(&self, path: &str) -> PathBuf {
        self.group.folder().join(path)
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn sync(&mut self) -> SyncReport {
        let caller = self.caller.clone();
        let synced = nacre::workspace::sync(&mut self.view_of(&caller)).unwrap();
        self.check();
        synced
    }

    fn hits(&mut self, query: &str) -> Vec<Value> {
        let mut found = self.call("memory_search", json!({ "query": query })).data;
        // Vectors of many lines follow later.
        let missing = found["missing"].as_array_mut().unwrap();
        missing.retain(|note| !note.as_str().unwrap().starts_with("lines: "));
        assert_eq!(found["missing"], json!([]));
        found["hits"].as_array().unwrap().clone()
    }

    /// The id of the best hit; the empty string where there is none.
    fn best(&mut self, query: &str) -> String {
        let hits = self.hits(query);
        hits.first().map(|hit| hit["id"].as_str().unwrap().to_owned()).unwrap_or_default()
    }

    /// Ids of the passages of chunks, by reference.
    fn passages(&self) -> Vec<(String, i64)> {
        let db = rusqlite::Connection::open(self.path("memory.db")).unwrap();
        let mut statement =
            db.prepare("SELECT ref, id FROM passages WHERE kind = 'chunk' ORDER BY id").unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    fn audit_rows(&mut self) -> i64 {
        nacre::status(&self.view()).unwrap().audit_rows
    }
}

/// A document of `count` sections, each about one chunk long and about one thing.
fn sections(count: usize) -> String {
    let section = |n: usize| {
        let body = format!("The machine named bird{n} stands in rack {n} and does its work.\n").repeat(18);
        format!("## Rack {n}\n\n{body}\n")
    };
    format!("# Machines\n\n{}", (0..count).map(section).collect::<String>())
}

#[test]
fn documents_come_change_move_and_go() {
    if is_without_folder() {
        return;
    }
    let mut place = Place::new();
    place.write("MEMORY.md", "# Servers\n\nStaging is called heron.\n");
    place.write("memory/2026-01-10.md", "- [decision|i=0.9] We chose tabs over spaces\n");
    place.write("memory/topics/Rust.MD", "Borrow checking happens at compile time.\n");
    let synced = place.sync();
    assert_eq!(synced.added, ["MEMORY.md", "memory/2026-01-10.md", "memory/topics/Rust.MD"]);
    assert_eq!((synced.chunks_written, synced.unchanged), (3, 0));
    assert_eq!(place.best("heron"), "MEMORY.md#L1-L3");
    assert_eq!(place.best("borrow checking"), "memory/topics/Rust.MD#L1-L1");
    assert_eq!(place.hits("tabs")[0]["at"], "2026-01-10T00:00:00.000Z", "the day of its name");
    assert_eq!(place.best("10 January 2026"), "memory/2026-01-10.md#L1-L1");

    // An edit is seen by the next search, without being told.
    place.write("MEMORY.md", "# Servers\n\nStaging is called kestrel now.\n");
    assert_eq!(place.best("kestrel"), "MEMORY.md#L1-L3");
    assert_eq!(place.best("heron"), "");

    fs::rename(place.path("MEMORY.md"), place.path("memory/servers.md")).unwrap();
    assert_eq!(place.best("kestrel"), "memory/servers.md#L1-L3");
    fs::rename(place.path("memory"), place.path("notes")).unwrap();
    let synced = place.sync();
    assert_eq!((synced.added.len(), synced.removed.len()), (3, 3));
    assert_eq!(place.best("kestrel"), "notes/servers.md#L1-L3");

    fs::remove_dir_all(place.path("notes")).unwrap();
    assert_eq!(place.best("kestrel"), "");
    assert_eq!(place.passages(), []);
    assert_eq!(place.sync(), SyncReport::default());
}

#[test]
fn nothing_is_written_where_nothing_changed() {
    if is_without_folder() {
        return;
    }
    let mut place = Place::new();
    assert_eq!(place.hits("anything"), Vec::<Value>::new());
    assert!(!place.group.folder().exists(), "looking makes nothing");
    for n in 0..5 {
        place.write(&format!("n{n}.md"), format!("Note {n}"));
    }
    place.write("binary.md", b"a\0b");
    place.sync();
    let before = (place.audit_rows(), fs::metadata(place.path("memory.db-wal")).map(|log| log.len()).ok());
    let synced = place.sync();
    assert_eq!((synced.unchanged, synced.skipped.len()), (5, 1));
    assert_eq!(place.hits("note").len(), 5);
    place.reopen();
    place.sync();
    let after = (place.audit_rows(), fs::metadata(place.path("memory.db-wal")).map(|log| log.len()).ok());
    assert_eq!(before, after);
}

#[test]
fn an_edit_rewrites_only_its_chunk() {
    if is_without_folder() {
        return;
    }
    let mut place = Place::new();
    let text = sections(12);
    place.write("machines.md", &text);
    let all = place.sync().chunks_written;
    assert_eq!(all, 12);
    let before = place.passages();
    place.write("machines.md", text.replacen("bird4", "emu", 1));
    let synced = place.sync();
    assert_eq!((synced.changed.as_slice(), synced.chunks_written), (&["machines.md".to_owned()][..], 1));
    let after = place.passages();
    assert_eq!(before.iter().filter(|passage| after.contains(passage)).count(), 11);

    // A section put in front moves all lines and numbers, and no chunk is written but its own.
    let intro = format!("# Intro\n\n{}\n", "All of this is about machines.\n".repeat(30));
    place.write("machines.md", format!("{intro}{text}"));
    let synced = place.sync();
    assert_eq!(synced.chunks_written, 2, "the new section, and the one that was edited before");
    let hit = place.hits("bird11")[0].clone();
    let lines: Vec<usize> = hit["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| usize::try_from(line.as_u64().unwrap()).unwrap())
        .collect();
    let document = fs::read_to_string(place.path("machines.md")).unwrap();
    assert_eq!(document.lines().nth(lines[0] - 1), Some("## Rack 11"), "{hit}");
    assert!(document.lines().count() >= lines[1]);

    // Touched, not changed: nothing is new. A document without a date has no time.
    let file = fs::File::options().append(true).open(place.path("machines.md")).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    let synced = place.sync();
    assert_eq!((synced.unchanged, synced.chunks_written), (1, 0));
    assert_eq!(place.hits("bird11")[0].get("at"), None);
}

#[test]
fn a_hit_says_where_it_stands() {
    let mut place = Place::new();
    place.write("project-alpha.md", sections(3).replace("Rack 2", "Unusual marsupial cabinet"));
    let hit = place.hits("marsupial cabinet")[0].clone();
    assert_eq!((&hit["kind"], &hit["path"]), (&json!("document"), &json!("project-alpha.md")));
    assert_eq!(hit["id"], format!("project-alpha.md#L{}-L{}", hit["lines"][0], hit["lines"][1]));
    let text = fs::read_to_string(place.path("project-alpha.md")).unwrap();
    let at = text.lines().position(|line| line.contains("marsupial")).unwrap() + 1;
    assert!(hit["lines"][0] == at && hit["lines"][1].as_u64().unwrap() > at as u64, "{hit}");
    assert!(hit["text"].as_str().unwrap().starts_with("## Unusual marsupial cabinet"), "{hit}");
    // The file's name and the headings above count as words of the chunk.
    assert_eq!(place.hits("alpha").len(), 3);
    // The part that is shown is the one that has the words.
    let long = format!("{}The narwhal sleeps.\n", "Nothing of note happened on this day.\n".repeat(38));
    place.write("long.md", long);
    let hit = place.hits("narwhal")[0].clone();
    assert!(hit["text"].as_str().unwrap().contains("narwhal"), "{hit}");
    assert!(hit["text"].as_str().unwrap().chars().count() <= 700);
    let answer = place.call("memory_search", json!({ "query": "narwhal" })).text;
    assert!(answer.starts_with("[long.md:34-39] "), "the lines that are shown: {answer}");
}

#[test]
fn scopes_and_filters() {
    let mut place = Place::new();
    place.store("The walrus entry");
    place.write("walrus.md", "The walrus document");
    let mut kinds = |arguments: Value| -> Vec<String> {
        let found = place.call("memory_search", arguments).data;
        let mut kinds: Vec<String> = found["hits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["kind"].as_str().unwrap().into())
            .collect();
        kinds.sort();
        kinds
    };
    assert_eq!(kinds(json!({ "query": "walrus" })), ["document", "entry"]);
    assert_eq!(kinds(json!({ "query": "walrus", "scope": ["memory"] })), ["document"]);
    assert_eq!(kinds(json!({ "query": "walrus", "scope": ["entries"] })), ["entry"]);
    assert_eq!(kinds(json!({ "query": "walrus", "scope": ["sessions"] })), Vec::<String>::new());
    assert_eq!(kinds(json!({ "query": "walrus", "type": "fact" })), ["entry"]);
    assert_eq!(kinds(json!({})), ["entry"]);
    assert_eq!(kinds(json!({ "scope": ["memory"] })), Vec::<String>::new());
}

/// Entries once stood above every document, however little they had of the question.
#[test]
fn what_fits_better_comes_first_whatever_it_is() {
    let mut place = Place::new();
    for n in 0..3 {
        place.store(&format!("Server number {n} is dusted every spring"));
    }
    place.write("MEMORY.md", "# Servers\n\nThe staging server is called heron and runs Debian.\n");
    assert_eq!(place.best("what is the staging server called?"), "MEMORY.md#L1-L3");
    place.write("notes.md", "The server room is cold.\n");
    place.store("The production server is called kestrel");
    let best = place.hits("what is the production server called?")[0].clone();
    assert_eq!(best["text"], "The production server is called kestrel");
}

#[test]
fn turned_off_documents_are_left_alone() {
    if is_without_folder() {
        return;
    }
    let mut place = Place::with("balanced", &["documents.index=false"]);
    place.write("walrus.md", "The walrus document");
    assert_eq!(place.hits("walrus"), Vec::<Value>::new());
    let found = place.call("memory_search", json!({ "query": "walrus", "scope": ["memory"] })).data;
    assert_eq!(found["missing"], json!(["memory: `documents.index` is off"]));
    assert!(!place.path("memory.db").exists());
}

#[test]
fn what_is_no_document_is_left_out_and_what_cannot_be_read_is_named() {
    if is_without_folder() {
        return;
    }
    let mut place = Place::new();
    place.write("sound.md", "walrus");
    place.write("notes.txt", "walrus");
    place.write(".hidden.md", "walrus");
    place.write(".git/x.md", "walrus");
    place.write("sessions/x.md", "walrus");
    place.write("binary.md", b"walrus\0");
    place.write("latin.md", b"walrus caf\xe9\n");
    let wide: Vec<u8> = std::iter::once(0xfeff)
        .chain("# Größe\r\nwalrus 🐚".encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    place.write("wide.md", wide);
    place.write("empty.md", "");
    place.write("blank.md", "\n \n\n");
    let huge = fs::File::create(place.path("huge.md")).unwrap();
    huge.set_len((20 << 20) + 1).unwrap();
    let synced = place.sync();
    let notes = |notes: &[nacre::Note]| -> Vec<String> {
        notes.iter().map(|note| format!("{} {}", note.path, note.why)).collect()
    };
    assert_eq!(notes(&synced.skipped), ["binary.md is binary", "huge.md is larger than 20 MiB"]);
    assert_eq!(
        notes(&synced.repaired),
        [
            "latin.md is not UTF-8 from line 1 on; unreadable bytes are shown as \u{fffd}",
            "wide.md was UTF-16"
        ]
    );
    assert_eq!(synced.added.len(), 5);
    let mut found: Vec<Value> = place.hits("walrus").iter().map(|hit| hit["path"].clone()).collect();
    found.sort_by_key(ToString::to_string);
    assert_eq!(found, ["latin.md", "sound.md", "wide.md"]);
    assert_eq!(place.best("Größe"), "wide.md#L1-L2");
    assert_eq!(place.sync().skipped.len(), 2, "named every time");
    let documents = nacre::status(&place.view()).unwrap().documents;
    assert_eq!((documents.indexed, documents.chunks, documents.skipped), (5, 3, 2));

    // A file that becomes readable is read.
    place.write("binary.md", "now text with an ocelot");
    assert_eq!(place.best("ocelot"), "binary.md#L1-L1");
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    if is_without_folder() {
        return;
    }
    use std::os::unix::fs::symlink;
    let mut place = Place::new();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret.md"), "walrus outside").unwrap();
    place.write("inside.md", "walrus inside");
    symlink(outside.path().join("secret.md"), place.path("link.md")).unwrap();
    symlink(outside.path(), place.path("folder")).unwrap();
    symlink(place.group.folder(), place.path("loop")).unwrap();
    symlink("nowhere", place.path("dangling.md")).unwrap();
    let synced = place.sync();
    assert_eq!(synced.added, ["inside.md"]);
    let skipped: Vec<&str> = synced.skipped.iter().map(|note| note.path.as_str()).collect();
    assert_eq!(skipped, ["dangling.md", "link.md"]);
    // A document that becomes a link is a document no longer.
    fs::remove_file(place.path("inside.md")).unwrap();
    symlink(outside.path().join("secret.md"), place.path("inside.md")).unwrap();
    assert_eq!(place.sync().removed, ["inside.md"]);
    assert_eq!(place.hits("walrus"), Vec::<Value>::new());
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_read_is_named() {
    if is_without_folder() {
        return;
    }
    use std::os::unix::fs::PermissionsExt;
    let mut place = Place::new();
    place.write("closed/a.md", "walrus");
    place.write("file.md", "walrus");
    place.write("open.md", "walrus");
    place.sync();
    let set = |path: PathBuf, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set(place.path("closed"), 0);
    set(place.path("file.md"), 0);
    // The time of a file does not change with its mode: it is looked at when it changes.
    place.write("open.md", "walrus again");
    let synced = place.sync();
    let readable = fs::read_dir(place.path("closed")).is_ok();
    if !readable {
        assert_eq!(synced.skipped.iter().map(|note| note.path.as_str()).collect::<Vec<_>>(), ["closed"]);
        assert_eq!(synced.removed, ["closed/a.md"]);
    }
    set(place.path("closed"), 0o700);
    set(place.path("file.md"), 0o600);
    place.sync();
    assert_eq!(place.hits("walrus").len(), 3);
}

#[test]
fn credentials_in_documents_are_not_indexed() {
    if is_without_folder() {
        return;
    }
    let mut place = Place::new();
    let key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n".repeat(100);
    let text = format!(
        "# Keys\ntoken: ghp_16C7e42F292c6912E7710c838347Ae178B4a\n-----BEGIN PRIVATE KEY-----\n{key}-----END PRIVATE KEY-----\nThe walrus guards it.\n"
    );
    place.write("keys.md", &text);
    place.sync();
    assert_eq!(place.best("walrus"), "keys.md#L1-L105", "lines are those of the file");
    let bytes = fs::read(place.path("memory.db")).unwrap();
    let log = fs::read(place.path("memory.db-wal")).unwrap_or_default();
    for secret in ["16C7e42F292c6912E7710c838347Ae178B4a", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"] {
        for bytes in [&bytes, &log] {
            let lower = secret.to_lowercase();
            let found = bytes
                .windows(secret.len())
                .any(|window| window == secret.as_bytes() || window == lower.as_bytes());
            assert!(!found, "{secret}");
        }
    }
}

#[test]
fn one_very_long_line() {
    let mut place = Place::new();
    let words: String = (0..100_000).map(|n| format!("w{n} ")).collect();
    place.write("line.md", format!("{words}walrus {words}"));
    place.sync();
    let hit = place.hits("walrus")[0].clone();
    assert_eq!(hit["id"], "line.md#L1-L1");
}

#[test]
fn a_rebuild_gives_the_same_answers() {
    let mut place = Place::new();
    place.store("The bird machines are inventoried in spring");
    place.write("machines.md", sections(6));
    place.write("2026-01-02.md", "Looked at bird3 and its rack.\n");
    place.sync();
    place.write("machines.md", sections(8).replacen("bird4", "emu", 3));
    place.write("other.md", "A word on the racks.\n");
    place.sync();
    let questions =
        ["bird3", "rack 4", "what happened to the emu?", "2 January 2026", "inventory of machines"];
    let answers = |place: &mut Place| -> Vec<Vec<Value>> {
        let bare = |hit: Value| json!([hit["id"], hit["text"], hit["score"], hit["at"], hit["why"]]);
        questions.iter().map(|query| place.hits(query).into_iter().map(bare).collect()).collect()
    };
    let before = answers(&mut place);
    assert!(before.iter().all(|hits| !hits.is_empty()));
    let caller: Caller = place.caller.clone();
    let passages = nacre::reindex(&mut place.view_of(&caller)).unwrap();
    assert_eq!(passages as i64, nacre::status(&place.view()).unwrap().passages);
    place.check();
    assert_eq!(answers(&mut place), before);
    assert_eq!(place.sync().added, Vec::<String>::new(), "all of it is there already");
}

#[test]
fn what_does_not_agree_is_found() {
    if is_without_folder() {
        return;
    }
    let mut place = Place::new();
    place.write("machines.md", sections(3));
    place.sync();
    let db = rusqlite::Connection::open(place.path("memory.db")).unwrap();
    db.execute("UPDATE documents SET chunks = 9", []).unwrap();
    assert_eq!(place.view().check().unwrap(), ["1 documents have missing or extra chunks"]);
    db.execute("DELETE FROM documents", []).unwrap();
    assert_eq!(place.view().check().unwrap(), ["3 chunks have no document, or no position in it"]);
    let caller = place.caller.clone();
    nacre::reindex(&mut place.view_of(&caller)).unwrap();
    place.check();
}

#[test]
fn many_documents() {
    // Ten thousand where that takes a moment.
    let count = if cfg!(debug_assertions) { 2_000 } else { 10_000 };
    let mut place = Place::new();
    for n in 0..count {
        place.write(
            &format!("memory/{}/note-{n}.md", n % 100),
            format!("# Note {n}\n\nThe number is x{n}y.\n"),
        );
    }
    assert_eq!(place.sync().added.len(), count);
    assert_eq!(place.best("x1234y"), "memory/34/note-1234.md#L1-L3");
    place.write("memory/7/note-7.md", "# Note 7\n\nThe number is quokka.\n");
    assert_eq!(place.best("quokka"), "memory/7/note-7.md#L1-L3");
    assert_eq!(place.sync().unchanged, count);
}

/// A file that was written a moment ago may be written again within the same tick of the clock.
#[test]
fn an_edit_that_leaves_size_and_time_as_they_were_is_seen_while_it_is_recent() {
    let mut place = Place::new();
    let moment =
        SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(place.caller.now.as_millis()).unwrap());
    let write = |place: &Place, text: &str| {
        place.write("a.md", text);
        fs::File::options().append(true).open(place.path("a.md")).unwrap().set_modified(moment).unwrap();
    };
    write(&place, "walrus");
    assert_eq!(place.best("walrus"), "a.md#L1-L1");
    write(&place, "ocelot");
    assert_eq!(place.best("ocelot"), "a.md#L1-L1");
    // Later it is settled, and read once more at most.
    place.later(1);
    place.sync();
    let rows = place.audit_rows();
    place.sync();
    assert_eq!(place.audit_rows(), rows);
}

#[test]
fn paths_that_look_like_references_are_kept_apart() {
    let mut place = Place::new();
    for name in ["a.md", "a.md#0", "a.md#1.md", "b#L1-L2.md"] {
        place.write(&format!("{name}/x.md").replace("a.md/x.md", "a.md"), format!("walrus {name}"));
    }
    place.write("a.md#7.md", "walrus seven");
    place.sync();
    fs::remove_file(place.path("a.md")).unwrap();
    assert_eq!(place.sync().removed, ["a.md"]);
    assert_eq!(place.hits("walrus").len(), 4);
}
