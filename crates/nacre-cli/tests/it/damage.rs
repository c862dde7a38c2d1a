//! Databases that are damaged, foreign, linked, or in a place that can't be written. What was there is never overwritten.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use crate::sealed::Sealed;

/// A home whose database has `count` entries.
fn home_with(count: usize) -> Sealed {
    let home = Sealed::new();
    let mut server = home.mcp();
    for number in 1..=count {
        let content = format!("Memory {number} is about subject {}", number * 7919);
        server.data("memory_store", &json!({ "content": content }));
    }
    assert_eq!(server.close(), 0);
    home
}

/// The file set aside that `status` names: there is one.
#[track_caller]
fn set_aside(home: &Sealed) -> PathBuf {
    let status = home.json(["status"]);
    let aside = status["set_aside"].as_array().unwrap();
    assert_eq!(aside.len(), 1, "{status}");
    aside[0].as_str().unwrap().into()
}

/// A store has to fail with this code, say these words, and leave the file as it is.
#[track_caller]
fn check_refused(home: &Sealed, group: &str, code: &str, says: &str) {
    let path = home.database(group);
    let before = fs::read(&path).unwrap();
    for args in [["store", "x", "--group", group], ["search", "x", "--group", group]] {
        let (status, error) = home.error(args);
        assert_eq!((status, &error["code"]), (7, &json!(code)), "{args:?}: {error}");
        assert!(error["message"].as_str().unwrap().contains(says), "{args:?}: {error}");
        assert!(
            error["message"].as_str().unwrap().contains(path.to_str().unwrap()),
            "the file is named: {error}"
        );
    }
    assert_eq!(fs::read(&path).unwrap(), before, "it was changed");
}

#[test]
fn a_damaged_database_is_set_aside() {
    let sound = home_with(20);
    let sound = fs::read(sound.database("main")).unwrap();
    let garbage: Vec<u8> =
        (0..20_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let bad_header = [b"SQLite format 4\0".as_slice(), &sound[16..]].concat();
    for (what, bytes) in [
        ("cut to half", &sound[..sound.len() / 2]),
        ("cut by a page", &sound[..sound.len() - 4096]),
        ("cut to a page", &sound[..4096]),
        ("cut to less than a header", &sound[..50]),
        ("garbage", &garbage),
        ("zeros", &[0; 8192]),
        ("text", b"These are not the bytes you are looking for."),
        ("another header", &bad_header),
    ] {
        let home = Sealed::new();
        home.json(["init"]);
        let path = home.database("main");
        fs::write(&path, bytes).unwrap();

        let (status, error) = home.error(["store", "Into the void"]);
        let aside = set_aside(&home);
        let shown = aside.to_str().unwrap();
        assert_eq!((status, &error["code"]), (7, &json!("set_aside")), "{what}: {error}");
        assert!(error["message"].as_str().unwrap().contains(shown), "{what}: {error}");
        let restore = [format!("nacre import database {shown}"), "nacre import nacre".into()];
        assert!(
            restore.iter().all(|command| error["hint"].as_str().unwrap().contains(command)),
            "{what}: {error}"
        );
        assert_eq!(fs::read(&aside).unwrap(), bytes, "{what}: the bytes are kept");

        // The next call has an empty database, and what was set aside is not forgotten.
        home.json(["store", "Into the new one"]);
        assert!(home.json(["status"])["entries"]["current"].as_u64() >= Some(1), "{what}");
        let doctor = home.run(["doctor"]);
        assert!(doctor.status != 0 && doctor.stdout.contains(shown), "{what}: {doctor:?}");

        // Damaged again at the same moment of the clock: the first is not overwritten.
        fs::write(&path, b"damaged once more").unwrap();
        home.error(["search", "x"]);
        assert_eq!(home.json(["status"])["set_aside"].as_array().unwrap().len(), 2, "{what}");
        assert_eq!(fs::read(&aside).unwrap(), bytes, "{what}");
    }
}

#[test]
fn a_search_after_damage_said_only_that_nothing_is_remembered() {
    let home = home_with(3);
    fs::write(home.database("main"), b"These are not the bytes you are looking for.").unwrap();
    home.error(["search", "x"]);
    let found = home.run(["search", "x"]);
    assert!(found.stdout.contains("a damaged database was set aside; `nacre doctor`"), "{found:?}");
}

/// A byte in one text was enough: brief, search, reindex and export failed, and doctor saw nothing.
#[test]
fn one_damaged_letter_hid_everything_else() {
    let home = home_with(6);
    let path = home.database("main");
    let mut bytes = fs::read(&path).unwrap();
    let text = b"Memory 3 is about";
    let found: Vec<usize> =
        (0..bytes.len() - text.len()).filter(|at| bytes[*at..].starts_with(text)).collect();
    assert!(!found.is_empty());
    for at in found {
        bytes[at + 5] = 0xff;
    }
    fs::write(&path, bytes).unwrap();
    for args in [&["brief"][..], &["search", "subject"]] {
        let shown = home.run(args);
        assert_eq!(shown.status, 0, "{args:?}: {shown:?}");
        for text in ["Memory 2 is", "Memo", "Memory 4 is"] {
            assert!(shown.stdout.contains(text), "{args:?}: {shown:?}");
        }
    }
    let doctor = home.run(["doctor"]);
    assert!(doctor.status != 0 && doctor.stdout.contains("damaged text"), "{doctor:?}");
    assert!(doctor.stdout.contains("nacre export"), "it names the way that works: {doctor:?}");
    let folder = home.beside("saved");
    let saved = home.json(["export", &folder]);
    assert_eq!(saved["entries"], 6, "{saved}");
    assert!(saved["unreadable"].as_u64().unwrap() > 0, "{saved}");
    assert_eq!(home.run(["reindex"]).status, 0);
    let other = Sealed::new();
    assert_eq!(other.json(["import", "nacre", &folder])["added"], 6);
}

/// Everything was in the write-ahead log until the server ended: a copy of the file was an empty memory, and nobody said so.
#[test]
fn a_copy_of_the_file_under_a_server_was_empty() {
    let home = Sealed::new();
    let mut server = home.mcp();
    for number in 1..=5 {
        server.data("memory_store", &json!({ "content": format!("The copy has line {number}") }));
    }
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    let copy = Sealed::new();
    fs::create_dir_all(copy.database("main").parent().unwrap()).unwrap();
    fs::copy(home.database("main"), copy.database("main")).unwrap();
    assert_eq!(copy.json(["status"])["entries"]["current"], 5);
    assert_eq!(copy.run(["doctor"]).status, 0);
    // A damaged log loses nothing that was copied.
    let log = home.database("main").with_file_name("memory.db-wal");
    let garbled: Vec<u8> = fs::read(&log).unwrap().iter().map(|byte| byte ^ 0x55).collect();
    fs::copy(home.database("main"), copy.database("main")).unwrap();
    fs::write(copy.database("main").with_file_name("memory.db-wal"), garbled).unwrap();
    assert_eq!(copy.json(["status"])["entries"]["current"], 5);
    assert_eq!(server.close(), 0);
}

/// A server made a new home at the old place and stored into it, acknowledged.
#[test]
fn a_server_whose_home_was_moved_began_another() {
    let home = Sealed::new();
    let mut server = home.mcp();
    server.data("memory_store", &json!({ "content": "The lamp is green" }));
    let elsewhere = PathBuf::from(home.beside("elsewhere"));
    fs::rename(home.home(), &elsewhere).unwrap();
    for (tool, arguments) in [
        ("memory_store", json!({ "content": "The lamp is red" })),
        ("memory_search", json!({ "query": "lamp" })),
        ("memory_write", json!({ "content": "The lamp is red" })),
    ] {
        let answer = server.call(tool, &arguments).unwrap();
        let said = answer["content"][0]["text"].as_str().unwrap();
        assert!(answer["isError"] == true && said.contains("home_moved"), "{tool}: {answer}");
    }
    assert!(!home.home().join("groups").exists(), "nothing is begun at the old place");
    fs::rename(&elsewhere, home.home()).unwrap();
    assert_eq!(
        server.data("memory_search", &json!({ "query": "lamp" }))["hits"].as_array().unwrap().len(),
        1
    );
    assert_eq!(server.close(), 0);
}

/// A pipe or a device never ends.
#[cfg(unix)]
#[test]
fn an_import_of_a_pipe_or_a_device_never_ended() {
    let home = Sealed::new();
    home.json(["store", "The lamp is green"]);
    let pipe = home.beside("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for file in ["/dev/zero", &pipe] {
        for args in [
            &["import", file][..],
            &["import", "nacre", file],
            &["import", "database", file],
            &["import", "mem0", file],
            &["import", "markdown", file],
            &["session", "import", file],
            &["propose", "MEMORY.md", "--from", file],
        ] {
            let begun = std::time::Instant::now();
            let done = home.run(args);
            assert!(done.status > 0 && done.stderr.contains("not a regular file"), "{args:?}: {done:?}");
            assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{args:?}");
        }
    }
}

#[test]
fn what_can_be_read_of_a_damaged_database_is_saved() {
    let home = home_with(300);
    let path = home.database("main");
    let sound = fs::read(&path).unwrap();
    let cut = &sound[..sound.len() * 6 / 10];
    fs::write(&path, cut).unwrap();
    // The first call says what happened, and the next one has what could be read.
    home.error(["search", "anything"]);
    let saved = home.json(["status"])["entries"]["current"].as_u64().unwrap();
    let aside = set_aside(&home);
    let done = home.json(["import", "database", aside.to_str().unwrap()]);
    let lost = done["unreadable"].as_u64().unwrap();
    assert!(saved >= 50 && lost > 0 && saved + lost <= 300, "{saved}: {done}");
    assert_eq!(done["added"], 0, "trying again adds nothing twice: {done}");
    assert_eq!(fs::read(&aside).unwrap(), cut, "saving from it does not change it");

    // A recovered memory is whole: number, text, and found by its words.
    let found = home.json(["search", "memory", "--limit", "100"]);
    for hit in found["hits"].as_array().unwrap() {
        let number = hit["number"].as_u64().unwrap();
        assert_eq!(hit["text"], format!("Memory {number} is about subject {}", number * 7919));
    }
    assert_eq!(home.json(["status"])["entries"]["current"], saved);
    assert_eq!(home.json(["audit", "verify"])["ok"], true);
    fs::remove_file(&aside).unwrap();
    assert_eq!(home.json(["doctor"])["ok"], true, "once it is removed, all is well");
}

/// A log without its database may hold everything; SQLite alone would throw it away.
#[test]
fn a_log_without_its_database_is_kept() {
    for missing in [true, false] {
        let home = Sealed::new();
        let mut server = home.mcp();
        server.data("memory_store", &json!({ "content": "Only in the log so far" }));
        let path = home.database("main");
        let log = path.with_file_name("memory.db-wal");
        let bytes = fs::read(&log).unwrap();
        assert!(!bytes.is_empty());
        // Killed, so that it can't put its log in order, and its database is lost.
        drop(server);
        if missing {
            fs::remove_file(&path).unwrap()
        } else {
            fs::write(&path, b"").unwrap()
        }

        let (_, error) = home.error(["store", "Into the void"]);
        assert_eq!(error["code"], "set_aside", "missing: {missing}: {error}");
        let kept: Vec<_> = crate::sealed::files(home.home())
            .into_iter()
            .filter(|file| file.to_str().unwrap().ends_with(".db-wal"))
            .collect();
        assert_eq!(kept.len(), 1, "missing: {missing}");
        assert_eq!(fs::read(&kept[0]).unwrap(), bytes, "missing: {missing}");
        home.json(["store", "Into the new one"]);
        let status = home.json(["status"]);
        // Beside an empty file the log is saved at once; without any file the way back that the hint names saves it. Both leave
        // the log as it was, and add nothing twice.
        let saved = u64::from(!missing);
        assert_eq!(status["entries"]["current"], 1 + saved, "missing: {missing}");
        let aside = status["set_aside"][0].as_str().unwrap();
        assert_eq!(home.json(["import", "database", aside])["added"], 1 - saved, "missing: {missing}");
        assert_eq!(home.json(["search", "log"])["hits"][0]["text"], "Only in the log so far");
        assert_eq!(fs::read(&kept[0]).unwrap(), bytes, "missing: {missing}");
    }
}

#[test]
fn a_database_from_the_future_is_left_alone() {
    let home = home_with(1);
    let db = Connection::open(home.database("main")).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    drop(db);
    check_refused(&home, "main", "newer_database", "has schema 99; this program supports up to");
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let home = home_with(1);
    let path = home.database("main");
    fs::remove_file(&path).unwrap();
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('https://example.org');",
    )
    .unwrap();
    drop(db);
    check_refused(&home, "main", "not_ours", "is a database of another program");
    let doctor = home.run(["doctor"]);
    assert!(doctor.status != 0 && doctor.stdout.contains("another program"), "{doctor:?}");
}

/// Two names for one file have two logs, and two logs destroy a database.
#[cfg(unix)]
#[test]
fn a_database_with_two_names_is_refused() {
    let home = home_with(1);
    let other = Sealed::new();
    let path = other.database("main");
    fs::create_dir_all(path.parent().unwrap()).unwrap();

    fs::hard_link(home.database("main"), &path).unwrap();
    check_refused(&other, "main", "not_ours", "has a second hard link");
    check_refused(&home, "main", "not_ours", "has a second hard link");
    fs::remove_file(&path).unwrap();

    std::os::unix::fs::symlink(home.database("main"), &path).unwrap();
    check_refused(&other, "main", "not_ours", "is a link, perhaps to another home");
    assert_eq!(home.json(["status"])["entries"]["current"], 1, "the file itself is well");

    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(other.error(["store", "x"]).1["code"], "not_ours", "a folder in its place");
}

#[test]
fn a_database_of_another_group_is_refused() {
    let home = home_with(1);
    let copy = home.database("other");
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    fs::copy(home.database("main"), &copy).unwrap();
    check_refused(&home, "other", "not_ours", "belongs to group `main`, not to `other`");
    // The way to have it there all the same.
    fs::remove_file(&copy).unwrap();
    let main = home.database("main");
    assert_eq!(home.json(["import", "database", main.to_str().unwrap(), "--group", "other"])["added"], 1);
}

/// A disk of its own, gone when dropped.
struct Disk(TempDir);

impl Disk {
    /// `None`, and a line that says why, where this user may not mount.
    fn new(megabytes: usize) -> Option<Disk> {
        let folder = TempDir::new().unwrap();
        let size = format!("size={megabytes}m");
        let done =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path()).output();
        match done {
            Ok(output) if output.status.success() => Some(Disk(folder)),
            failed => {
                eprintln!("skipped: a disk can't be mounted here: {failed:?}");
                None
            }
        }
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn make_read_only(&self) {
        let done = Command::new("mount").args(["-o", "remount,ro"]).arg(self.path()).status().unwrap();
        assert!(done.success());
    }

    /// Writes until nothing more fits. Returns the file that takes the room.
    fn fill(&self) -> PathBuf {
        use std::io::Write;
        let path = self.path().join("ballast");
        let mut file = fs::File::create(&path).unwrap();
        for size in [4096, 1] {
            while file.write_all(&vec![1; size]).is_ok() {}
        }
        path
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}

#[test]
fn a_home_that_cant_be_written_can_be_read() {
    let Some(disk) = Disk::new(8) else { return };
    let home = Sealed::at(&disk.path().join("home"));
    home.json(["store", "The staging server is called heron"]);
    disk.make_read_only();
    for args in [vec!["search", "heron"], vec!["show", "1"], vec!["brief"], vec!["audit", "export"]] {
        let answer = home.json(args.iter().copied()).to_string();
        assert!(answer.contains("heron") || answer.contains("memory_store"), "{args:?}: {answer}");
    }
    for args in [
        vec!["store", "x"],
        vec!["delete", "1"],
        vec!["init", "--group", "new"],
        vec!["store", "x", "--group", "new"],
    ] {
        let (status, error) = home.error(args.iter().copied());
        assert_eq!((status, &error["code"]), (7, &json!("read_only")), "{args:?}: {error}");
    }
    // The index was called unsound because it could not be asked.
    let doctor = home.run(["doctor"]);
    assert!(!doctor.stdout.contains("not sound"), "{}", doctor.stdout);
    let mut server = home.mcp();
    assert_eq!(server.data("memory_search", &json!({ "query": "heron" }))["hits"][0]["id"], "1");
    let refused = server.call("memory_store", &json!({ "content": "x" })).unwrap();
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("read_only"), "{refused}");
}

#[test]
fn an_older_index_that_cant_be_written_is_searched_as_it_is() {
    let Some(disk) = Disk::new(8) else { return };
    let home = Sealed::at(&disk.path().join("home"));
    home.json(["store", "The staging server is called heron"]);
    let db = Connection::open(home.database("main")).unwrap();
    db.execute("UPDATE meta SET value = '0 builtin-0 0 0 english' WHERE key = 'analyser'", []).unwrap();
    drop(db);
    disk.make_read_only();
    let found = home.json(["search", "heron"]);
    assert_eq!(found["hits"][0]["number"], 1);
    assert_eq!(found["missing"].as_array().unwrap().len(), 2, "its vectors and its words: {found:#}");
    assert_eq!(home.json(["status"])["vectors"], json!({ "made": 0, "all": 1 }));
}

#[test]
fn collections_of_a_home_that_cant_be_written_can_be_searched() {
    let Some(disk) = Disk::new(8) else { return };
    let home = Sealed::at(&disk.path().join("home"));
    fs::write(home.beside("sea.md"), "The walrus eats clams.\n").unwrap();
    home.json(["collection", "add", "books", "sea.md"]);
    disk.make_read_only();
    let found = home.json(["search", "walrus", "--scope", "sources"]);
    assert_eq!((&found["hits"][0]["collection"], &found["missing"]), (&json!("books"), &json!([])));
    assert_eq!(home.json(["collection", "list"])["collections"][0]["documents"], 1);
    for args in [
        vec!["collection", "add", "more", "sea.md"],
        vec!["collection", "reindex"],
        vec!["collection", "drop", "books", "--yes"],
    ] {
        let (status, error) = home.error(args.iter().copied());
        assert_eq!((status, &error["code"]), (7, &json!("read_only")), "{args:?}: {error}");
    }
    assert_eq!(home.json(["collection", "search", "books", "walrus"])["hits"].as_array().unwrap().len(), 1);
}

#[test]
fn a_full_disk_loses_nothing() {
    let Some(disk) = Disk::new(4) else { return };
    let home = Sealed::at(&disk.path().join("home"));
    home.json(["store", "The staging server is called heron"]);
    let mut server = home.mcp();
    server.data("memory_store", &json!({ "content": "Written while there was room" }));
    let ballast = disk.fill();

    // Some room is left in pages that the database has already: it is full when a store says so.
    let mut stored = 2;
    let refused = loop {
        let output =
            home.run(["store", "--json", &format!("Number {stored} {}", "of many words ".repeat(100))]);
        if output.status != 0 {
            break output;
        }
        stored += 1;
        assert!(stored < 2_000, "the disk is not full");
    };
    assert!(refused.status == 7 && refused.stdout.contains("\"disk_full\""), "{refused:?}");
    let told = loop {
        let content = format!("Number {stored} by an agent {}", "of many words ".repeat(100));
        let result = server.call("memory_store", &json!({ "content": content })).unwrap();
        if result["isError"] == true {
            break result;
        }
        stored += 1;
        assert!(stored < 2_000, "the disk is not full");
    };
    assert!(told["content"][0]["text"].as_str().unwrap().contains("disk_full"), "{told}");
    assert_eq!(home.json(["status"])["entries"]["current"], stored);
    assert_eq!(home.json(["search", "heron"])["hits"][0]["number"], 1, "a full disk can be read");

    fs::remove_file(ballast).unwrap();
    home.json(["store", "There is room again"]);
    server.data("memory_store", &json!({ "content": "For agents too" }));
    assert_eq!(home.json(["status"])["entries"]["current"], stored + 2);
    assert_eq!(home.json(["doctor"])["ok"], true);
}
