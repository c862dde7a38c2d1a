//! One memory on several machines, by the real binary: told as a story, and killed at any moment.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::sealed::{Process, Sealed};

/// Two homes that share a folder.
fn two_machines() -> (Sealed, Sealed, String) {
    let (first, second) = (Sealed::new(), Sealed::new());
    let folder = first.beside("carrier");
    let started = first.json(["sync", "init", &folder, "--name", "desk"]);
    let phrase = started["phrase"].as_str().unwrap();
    let joined = second.run_with(["--json", "sync", "join", &folder, "--name", "laptop"], phrase.as_bytes());
    assert_eq!(joined.json()["machines"], 2);
    (first, second, folder)
}

#[test]
fn two_machines_have_one_memory() {
    let (first, second, folder) = two_machines();
    let id = first.json(["store", "The heron nests behind the boathouse"])["id"].as_str().unwrap().to_owned();
    assert_eq!(first.json(["sync"])["sent"], 1);
    assert_eq!(second.json(["sync"])["received"], 1);
    assert!(second.run(["search", "heron"]).stdout.contains("behind the boathouse"));
    let status = second.run(["sync", "status"]).stdout;
    assert!(
        status.contains("of 2 machines up to date") && status.contains("laptop (this machine)"),
        "{status}"
    );

    second.json(["delete", &id, "--yes"]);
    second.json(["sync"]);
    first.json(["sync"]);
    second.json(["sync"]);
    assert!(!first.run(["search", "heron"]).stdout.contains("boathouse"));
    let receipt = first.run(["sync", "status", "--deleted", &id]).stdout;
    assert!(receipt.contains("was deleted on laptop") && !receipt.contains("has not arrived"), "{receipt}");

    let (code, error) = second.error(["sync", "join", &folder]);
    assert_eq!((code, error["code"].as_str()), (2, Some("no_phrase")), "{error}");
    second.json(["sync", "leave"]);
    let (_, error) = second.error(["sync"]);
    assert_eq!(error["code"], "sync_off");
    let (_, error) = second.error_with(["sync", "join", &folder], b"00000-00000");
    assert_eq!(error["code"], "bad_phrase");
}

#[test]
fn a_round_that_is_killed_loses_nothing() {
    let (first, second, _) = two_machines();
    for round in 0..12_u64 {
        first.json(["store", &format!("Statement {round} of many")]);
        let killed = Process::start(&mut first.command(["sync"]));
        thread::sleep(Duration::from_millis(round * 7));
        let _ = killed.victim.lock().unwrap().kill();
        killed.finish();
        second.run(["sync"]);
    }
    first.json(["sync"]);
    second.json(["sync"]);
    first.json(["sync"]);
    let states = [first.json(["sync", "status"]), second.json(["sync", "status"])]
        .map(|status| status["state"].clone());
    assert_eq!(states[0], states[1]);
    let found = second.json(["search", "", "-n", "100"]);
    assert_eq!(found["hits"].as_array().unwrap().len(), 12);
    assert!(second.json(["audit", "verify"])["ok"].as_bool().unwrap());
}

#[test]
fn the_memory_at_an_earlier_time_answers_as_it_did_then() {
    let home = Sealed::new();
    let at = |time: &'static str, arguments: &[&str]| {
        let all: Vec<&str> = ["--now", time].into_iter().chain(arguments.iter().copied()).collect();
        home.run(all).stdout
    };
    at("2026-03-01T12:00:00Z", &["store", "The dentist is on Monday"]);
    at("2026-03-03T12:00:00Z", &["update", "1", "The dentist is on Friday"]);
    let found = at("2026-03-04T12:00:00Z", &["search", "dentist", "--as-of", "2d"]);
    assert!(found.contains("Monday") && !found.contains("Friday"), "{found}");
    let shown = at("2026-03-04T12:00:00Z", &["show", "1", "--as-of", "2026-03-02"]);
    assert!(shown.contains("Monday"), "{shown}");
    let brief = at("2026-03-04T12:00:00Z", &["brief", "--as-of", "2026-02-01"]);
    assert!(!brief.contains("dentist"), "{brief}");
    assert!(at("2026-03-04T12:00:00Z", &["search", "dentist"]).contains("Friday"));
    let changes = at("2026-03-04T12:00:00Z", &["changes", "--since", "2d"]);
    assert!(
        changes.contains("- The dentist is on Monday") && changes.contains("+ The dentist is on Friday"),
        "{changes}"
    );
    assert!(at("2026-03-04T12:00:00Z", &["changes", "--since", "1h"]).contains("Nothing changed"));
}

#[test]
fn a_url_is_no_folder_to_sync_over() {
    let (code, error) = Sealed::new().error(["sync", "init", "https://host.example"]);
    assert_eq!((code, error["code"].as_str()), (2, Some("not_a_folder")), "{error}");
}

/// A random number generator that gives the same numbers for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// Copies the part of one machine as a bad sync tool does: late, twice, cut short or not at all, unless `whole`.
fn carry(random: &mut Random, from: &Path, to: &Path, whole: bool) {
    let Ok(found) = fs::read_dir(from) else { return };
    fs::create_dir_all(to).unwrap();
    for file in found.flatten() {
        let (name, bytes) = (file.file_name(), fs::read(file.path()).unwrap());
        let target = to.join(&name);
        match random.below(if whole { 1 } else { 6 }) {
            1 => {}
            2 => fs::write(&target, &bytes[..random.below(bytes.len())]).unwrap(),
            3 => fs::write(to.join(format!("copy of {}", name.to_str().unwrap())), &bytes).unwrap(),
            _ => fs::write(&target, &bytes).unwrap(),
        }
    }
}

#[test]
fn two_homes_over_a_bad_sync_tool_answer_alike() {
    // `NACRE_SYNC_SECONDS=600` runs the whole bar.
    let seconds = std::env::var("NACRE_SYNC_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(6);
    let homes = [Sealed::new(), Sealed::new()];
    let folders = [homes[0].beside("carrier"), homes[1].beside("carrier")];
    let started = homes[0].json(["sync", "init", &folders[0], "--name", "desk"]);
    fs::create_dir_all(&folders[1]).unwrap();
    let marker = "nacre-sync.json";
    fs::copy(Path::new(&folders[0]).join(marker), Path::new(&folders[1]).join(marker)).unwrap();
    let phrase = started["phrase"].as_str().unwrap();
    homes[1].run_with(["--json", "sync", "join", &folders[1], "--name", "laptop"], phrase.as_bytes()).json();
    let device = |home: &Sealed| home.json(["sync", "status"])["device"].as_str().unwrap().to_owned();
    let devices = [device(&homes[0]), device(&homes[1])];
    let mut random = Random(7);
    let deliver = |random: &mut Random, from: usize, whole: bool| {
        let [own, copy] = [from, 1 - from].map(|place| Path::new(&folders[place]).join(&devices[from]));
        carry(random, &own, &copy, whole);
    };
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut steps = 0;
    while Instant::now() < end || steps < 20 {
        steps += 1;
        let home = &homes[random.below(2)];
        let (topic, value) = (random.below(20).to_string(), random.below(9).to_string());
        let text = format!("Topic{topic} has value {value}");
        let number = (1 + random.below(30)).to_string();
        // A refusal, such as a memory that does not exist, is a step too.
        match random.below(8) {
            0 => home.run(["update", &number, &text]),
            1 => home.run(["delete", &number, "--yes"]),
            2 => home.run(["graph", "fact", "set", &format!("Person{topic}"), "port", &value]),
            3 => home.run(["store", &text, "--supersedes", &number]),
            4 => {
                let path =
                    home.home().join("groups/main").join(format!("memory/note-{}.md", random.below(4)));
                let before = fs::read_to_string(&path).unwrap_or_else(|_| "# Note\n".to_owned());
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, format!("{before}\n- {text}, step {steps}\n")).unwrap();
                continue;
            }
            5 => home.run(["sync"]),
            _ => home.run(["store", &text]),
        };
        if random.below(3) == 0 {
            let from = random.below(2);
            deliver(&mut random, from, false);
        }
    }
    for _ in 0..4 {
        for place in [0, 1] {
            homes[place].json(["sync"]);
            deliver(&mut random, place, true);
        }
    }
    let states = [0, 1].map(|place| homes[place].json(["sync", "status"])["state"].clone());
    assert_eq!(states[0], states[1], "after {steps} steps");
    for home in &homes {
        assert!(home.json(["audit", "verify"])["ok"].as_bool().unwrap());
        home.json(["doctor"]);
    }
    for topic in 0..40 {
        let subject = format!("{}{}", if topic % 2 == 0 { "Topic" } else { "Person" }, topic / 2);
        let answer = |home: &Sealed| -> BTreeSet<String> {
            let found = home.json(["search", &subject, "-n", "50"]);
            let texts = found["hits"].as_array().unwrap().iter().map(|hit| hit["text"].to_string());
            texts.filter(|text| text.contains(&format!("{subject} "))).collect()
        };
        assert_eq!(answer(&homes[0]), answer(&homes[1]), "{subject}");
    }
}
