//! Faults of the folder between machines, by the real binary: each one is named with what to do, nothing is applied, and nothing
//! is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::sealed::{Sealed, files};
use crate::sync::two_machines;

/// A small file system of its own, gone when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None`: this user may not mount, so there is nothing to test with.
    fn mount(place: &str) -> Option<SmallDisk> {
        fs::create_dir_all(place).unwrap();
        let disk = SmallDisk(place.into());
        disk.run("mount", &["-t", "tmpfs", "-o", "size=256k", "tmpfs"]).then_some(disk)
    }

    fn run(&self, program: &str, arguments: &[&str]) -> bool {
        let done = Command::new(program).args(arguments).arg(&self.0).output();
        done.is_ok_and(|done| done.status.success())
    }

    fn remount(&self, mode: &str) {
        assert!(self.run("mount", &["-o", &format!("remount,{mode}")]), "{mode}");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        self.run("umount", &["--lazy"]);
    }
}

/// Returns the code of what has to fail, after it was checked that it says what to do.
fn refused(home: &Sealed, arguments: &[&str], input: &str) -> (String, String) {
    let (_, error) = home.error_with(arguments.iter().copied(), input.as_bytes());
    assert!(error["hint"].as_str().is_some_and(|hint| hint.len() > 10), "{error}");
    let text = |name: &str| error[name].as_str().unwrap().to_owned();
    (text("code"), format!("{} {}", text("message"), text("hint")))
}

fn problems(report: &Value) -> String {
    report["problems"].as_array().unwrap().iter().map(|problem| format!("{problem}\n")).collect()
}

fn device(home: &Sealed) -> String {
    home.json(["sync", "status"])["device"].as_str().unwrap().to_owned()
}

/// All files with their content.
fn contents(folder: &str) -> Vec<(PathBuf, Vec<u8>)> {
    files(Path::new(folder)).into_iter().map(|file| (file.clone(), fs::read(file).unwrap())).collect()
}

fn segments(folder: &Path) -> Vec<PathBuf> {
    files(folder).into_iter().filter(|file| file.extension().is_some_and(|end| end == "seg")).collect()
}

/// The memory that was stored meanwhile arrives after all.
fn arrives(first: &Sealed, second: &Sealed, word: &str) {
    first.json(["sync"]);
    second.json(["sync"]);
    assert!(second.run(["search", word]).stdout.contains(word), "`{word}` is lost");
    for home in [first, second] {
        home.json(["doctor"]);
    }
}

#[test]
fn a_folder_that_is_gone_is_named_and_not_started_again() {
    let (first, second, folder) = two_machines();
    first.json(["store", "The heron nests behind the boathouse"]);
    let aside = format!("{folder}.aside");
    fs::rename(&folder, &aside).unwrap();
    for is_empty in [false, true] {
        if is_empty {
            fs::create_dir(&folder).unwrap();
        }
        let (code, text) = refused(&first, &["sync"], "");
        assert_eq!(code, "carrier_gone");
        assert!(text.contains(&folder) && text.contains("mounted"), "{text}");
    }
    assert_eq!(files(Path::new(&folder)), Vec::<PathBuf>::new(), "nothing was written");
    assert!(first.run(["search", "heron"]).stdout.contains("heron"), "the memory works meanwhile");
    fs::remove_dir(&folder).unwrap();
    fs::rename(&aside, &folder).unwrap();
    arrives(&first, &second, "heron");
}

#[test]
fn a_folder_that_is_read_only_or_full_is_named_and_the_next_round_sends_what_waits() {
    let (first, second) = (Sealed::new(), Sealed::new());
    let folder = first.beside("carrier");
    let Some(disk) = SmallDisk::mount(&folder) else {
        eprintln!("skipped: this user may not mount a file system");
        return;
    };
    let started = first.json(["sync", "init", &folder, "--name", "desk"]);
    let phrase = started["phrase"].as_str().unwrap();
    second.run_with(["--json", "sync", "join", &folder, "--name", "laptop"], phrase.as_bytes()).json();

    first.json(["store", "The heron nests behind the boathouse"]);
    disk.remount("ro");
    let (code, text) = refused(&first, &["sync"], "");
    assert_eq!(code, "carrier_read_only");
    assert!(text.contains(&folder) && text.contains("nothing is lost"), "{text}");
    assert!(first.run(["search", "heron"]).stdout.contains("heron"), "the memory works meanwhile");
    disk.remount("rw");
    arrives(&first, &second, "heron");

    first.json(["store", "The osprey nests on the lighthouse"]);
    let filler = Path::new(&folder).join("filler");
    let _ = fs::write(&filler, vec![1; 1 << 20]);
    let (code, text) = refused(&first, &["sync"], "");
    assert_eq!(code, "carrier_full");
    assert!(text.contains("free some space"), "{text}");
    // A machine that only reads says what it could, too.
    assert!(!second.run(["search", "osprey"]).stdout.contains("osprey"));
    fs::remove_file(&filler).unwrap();
    arrives(&first, &second, "osprey");
    let left: Vec<_> = files(Path::new(&folder))
        .into_iter()
        .filter(|file| file.file_name().unwrap().to_str().unwrap().contains("tmp-"))
        .collect();
    assert_eq!(left, Vec::<PathBuf>::new(), "no half-written file stays");
}

#[test]
fn a_wrong_phrase_is_refused_before_anything_is_written() {
    let (first, _second, folder) = two_machines();
    first.json(["store", "The heron nests behind the boathouse"]);
    first.json(["sync"]);
    let elsewhere = Sealed::new();
    let other = elsewhere.json(["sync", "init", &elsewhere.beside("carrier")]);
    let stranger = Sealed::new();
    stranger.json(["store", "Statement of a stranger"]);
    let before = contents(&folder);
    let wrong = other["phrase"].as_str().unwrap();
    let (code, text) = refused(&stranger, &["sync", "join", &folder], wrong);
    assert_eq!(code, "wrong_phrase");
    assert!(text.contains("nacre sync invite"), "{text}");
    let (code, _) = refused(&stranger, &["sync", "join", &folder], &wrong[..wrong.len() - 1]);
    assert_eq!(code, "bad_phrase");
    assert_eq!(contents(&folder), before);
    assert_eq!(refused(&stranger, &["sync"], "").0, "sync_off");
    assert!(!stranger.run(["search", "heron"]).stdout.contains("boathouse"));
}

#[test]
fn a_newer_format_is_named_and_waits_for_the_update() {
    let (first, second, folder) = two_machines();
    first.json(["store", "The heron nests behind the boathouse"]);
    first.json(["sync"]);
    let own = Path::new(&folder).join(device(&first));
    let segment = segments(&own).pop().unwrap();
    let whole = fs::read(&segment).unwrap();
    let mut newer = whole.clone();
    newer[8] = 9;
    fs::write(&segment, newer).unwrap();
    let report = second.json(["sync"]);
    assert_eq!(report["received"], 0);
    assert!(
        problems(&report).contains("has format 9") && problems(&report).contains("update `nacre`"),
        "{report}"
    );
    fs::write(&segment, whole).unwrap();

    let marker = Path::new(&folder).join("nacre-sync.json");
    let whole = fs::read(&marker).unwrap();
    fs::write(&marker, r#"{"format": 99, "memory": "00", "novelty": true}"#).unwrap();
    let (code, text) = refused(&second, &["sync"], "");
    assert_eq!(code, "newer_sync");
    assert!(text.contains("update `nacre`"), "{text}");
    fs::write(&marker, whole).unwrap();

    let state = second.home().join("groups/main/.sync/sync.json");
    let whole = fs::read_to_string(&state).unwrap();
    fs::write(&state, whole.replacen("\"format\": 1", "\"format\": 99", 1)).unwrap();
    assert_eq!(refused(&second, &["sync"], "").0, "newer_sync");
    fs::write(&state, whole).unwrap();
    arrives(&first, &second, "heron");
}

#[test]
fn a_foreign_or_damaged_segment_is_named_and_the_rest_arrives() {
    let (first, second, folder) = two_machines();
    let stranger = Sealed::new();
    stranger.json(["store", "Statement of a stranger"]);
    stranger.json(["sync", "init", &stranger.beside("carrier")]);
    let own = Path::new(&folder).join(device(&first));
    let foreign = segments(Path::new(&stranger.beside("carrier"))).pop().unwrap();
    fs::copy(foreign, own.join("0000000777-0000000778.seg")).unwrap();
    first.json(["store", "The heron nests behind the boathouse"]);
    first.json(["sync"]);
    let segment = segments(&own).into_iter().find(|file| !file.to_str().unwrap().contains("777"));
    let segment = segment.expect("it was written");
    let whole = fs::read(&segment).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 4;
    fs::write(&segment, &damaged).unwrap();
    let report = second.json(["sync"]);
    assert_eq!(report["received"], 0);
    assert!(problems(&report).contains("is damaged: its signature does not match"), "{report}");
    assert!(problems(&report).contains("belongs to another memory"), "{report}");
    // The machine that wrote it puts it right.
    arrives(&first, &second, "heron");
    assert!(!second.run(["search", "stranger"]).stdout.contains("Statement"));
}

#[test]
fn two_machines_with_one_id_become_two_and_lose_nothing() {
    let (first, second, _) = two_machines();
    first.json(["store", "Stored before the copy"]);
    first.json(["sync"]);
    let copied = Sealed::new();
    for file in files(first.home()) {
        let target = copied.home().join(file.strip_prefix(first.home()).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&file, &target).unwrap();
    }
    assert_eq!(device(&copied), device(&first));
    first.json(["store", "The heron nests behind the boathouse"]);
    copied.json(["store", "The osprey nests on the lighthouse"]);
    first.json(["sync"]);
    assert_eq!(copied.json(["sync"])["new_device"], true);
    assert_ne!(device(&copied), device(&first));
    for _ in 0..3 {
        for home in [&first, &copied, &second] {
            home.json(["sync"]);
        }
    }
    let states = [&first, &copied, &second].map(|home| home.json(["sync", "status"])["state"].clone());
    assert!(states.windows(2).all(|pair| pair[0] == pair[1]), "{states:?}");
    for home in [&first, &copied, &second] {
        let found = home.run(["search", "nests"]).stdout;
        assert!(found.contains("heron") && found.contains("osprey"), "{found}");
    }
}
