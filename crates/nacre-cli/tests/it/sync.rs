//! One memory on several machines, by the real binary: told as a story, and killed at any moment.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::sealed::{Process, Sealed, files};
use crate::serve::Served;

/// Two homes that share a folder.
pub fn two_machines() -> (Sealed, Sealed, String) {
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

    second.json(["update", &id, "The heron nests in front of the boathouse", "--session", "s-42"]);
    second.json(["sync"]);
    first.json(["sync"]);
    let chosen =
        [(["--device", "laptop"], true), (["--device", "desk"], false), (["--session", "s-42"], true)];
    for (choice, is_shown) in chosen {
        let changes = first.run(["changes", "--since", "1d"].into_iter().chain(choice)).stdout;
        assert_eq!(changes.contains("+ The heron nests in front"), is_shown, "{choice:?}: {changes}");
    }
    let (_, error) = first.error(["changes", "--device", "nobody"]);
    assert_eq!(error["code"], "no_machine", "{error}");

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
fn an_address_that_can_not_carry_a_memory_is_refused_with_what_to_do() {
    let home = Sealed::new();
    let cases = [
        ("https://host.example", "", "no_token"),
        ("http://host.example", "nacre_x", "bad_sync_url"),
        ("ftp://host.example", "nacre_x", "bad_sync_url"),
        ("https://user@host.example", "nacre_x", "bad_sync_url"),
        // Nothing listens on the port of "discard" here.
        ("http://127.0.0.1:9", "nacre_x", "sync_server_down"),
    ];
    for (address, token, code) in cases {
        let (_, error) = home.error_with(["sync", "init", address], token.as_bytes());
        assert_eq!(error["code"], code, "{address}: {error}");
        assert!(error["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{error}");
    }
    let (_, error) = home.error(["sync"]);
    assert_eq!(error["code"], "sync_off", "a start that failed leaves nothing behind");
}

/// Returns the address of a server, and a new token.
fn with_token(served: &Served, name: &str) -> (String, String) {
    with_token_of(served, name, "project")
}

fn with_token_of(served: &Served, name: &str, role: &str) -> (String, String) {
    let token = served.token(name, &["--role", role]).strip_prefix("Bearer ").unwrap().to_owned();
    (served.url(), token)
}

#[test]
fn two_homes_meet_over_the_server_of_a_third_which_can_read_nothing() {
    let served = Served::new();
    let (url, token) = with_token(&served, "sync");
    let (first, second) = (Sealed::new(), Sealed::new());
    for number in 0..50 {
        first.json(["store", &format!("canary{number}word is in the log")]);
    }
    let started = first.run_with(["--json", "sync", "init", &url, "--name", "desk"], token.as_bytes()).json();
    let phrase = started["phrase"].as_str().unwrap();
    let both = format!("{phrase}\n{token}\n");
    let joined =
        second.run_with(["--json", "sync", "join", &url, "--name", "laptop"], both.as_bytes()).json();
    assert_eq!(joined["received"], 50);
    let id =
        second.json(["store", "The heron nests behind the boathouse"])["id"].as_str().unwrap().to_owned();
    second.json(["sync"]);
    assert_eq!(first.json(["sync"])["received"], 1);
    assert!(first.run(["search", "heron"]).stdout.contains("boathouse"));
    let hosted = served.sealed.home().join("groups/main/.carrier");
    assert!(!files(&hosted).is_empty());
    for word in (0..50).map(|number| format!("canary{number}word")).chain(["boathouse".into(), "desk".into()])
    {
        assert!(!contains(&hosted, &word), "{word}");
    }
    // A deletion removes the sealed text there too.
    let size =
        |folder: &Path| -> u64 { files(folder).iter().map(|file| fs::metadata(file).unwrap().len()).sum() };
    first.json(["delete", &id, "--yes"]);
    first.json(["sync"]);
    let before = size(&hosted);
    second.json(["sync"]);
    assert!(size(&hosted) < before, "the machine that stored it removed its sealed text");
    first.json(["sync"]);
    let states = [first.json(["sync", "status"]), second.json(["sync", "status"])];
    assert_eq!(states[0]["state"], states[1]["state"]);
    assert_eq!(states[0]["carrier"], url.as_str());
    let quiet = first.json(["sync"]);
    assert_eq!((quiet["sent"].as_u64(), quiet["received"].as_u64()), (Some(0), Some(0)));
    // A new key travels over the server as well.
    first.json(["sync", "rotate"]);
    assert_eq!(second.json(["sync"])["new_key"], true);
    first.json(["store", "Stored under the new key"]);
    first.json(["sync"]);
    assert_eq!(second.json(["sync"])["received"], 1);
    first.json(["sync"]);
    let states = [first.json(["sync", "status"]), second.json(["sync", "status"])];
    assert_eq!(states[0]["state"], states[1]["state"]);
    assert_eq!(states[0]["problems"], serde_json::json!([]));
}

#[test]
fn a_server_that_is_gone_or_refuses_is_named_and_loses_nothing() {
    let mut served = Served::new();
    let (url, token) = with_token(&served, "sync");
    let home = Sealed::new();
    let started = home.run_with(["--json", "sync", "init", &url], token.as_bytes()).json();
    let phrase = started["phrase"].as_str().unwrap().to_owned();
    home.json(["store", "Stored while the server was down"]);
    served.stop();
    let (_, error) = home.error(["sync"]);
    assert_eq!(error["code"], "sync_server_down", "{error}");
    assert!(home.run(["search", "server"]).stdout.contains("was down"), "the memory works meanwhile");
    let status = home.json(["sync", "status"]);
    assert!(status["problems"][0].as_str().unwrap().contains("can't be reached"), "{status}");
    let port = url.rsplit(':').next().unwrap();
    served.start_again(port);
    assert_eq!(home.json(["sync"])["sent"], 1);
    // The token is revoked, and another one takes its place.
    served.sealed.run_at_terminal(["token", "revoke", "sync"]);
    let (_, error) = home.error(["sync"]);
    assert_eq!(error["code"], "sync_server_denied", "{error}");
    let (_, skill) = with_token_of(&served, "skill", "skill");
    let again = |token: &str| {
        home.run_with(["--json", "sync", "join", &url], format!("{phrase}\n{token}").as_bytes())
    };
    assert_ne!(again(&skill).status, 0, "a skill may not sync");
    let (_, token) = with_token_of(&served, "second", "project");
    assert_eq!(again(&token).json()["sent"], 0);
    home.json(["sync"]);
}

#[test]
fn a_server_takes_nothing_but_files_of_its_memory() {
    let served = Served::new();
    let (url, token) = with_token(&served, "sync");
    let home = Sealed::new();
    home.json(["store", "The heron nests behind the boathouse"]);
    home.run_with(["--json", "sync", "init", &url], token.as_bytes()).json();
    let hosted = served.sealed.home().join("groups/main/.carrier");
    let log =
        files(&hosted).into_iter().find(|file| file.extension().is_some_and(|end| end == "seg")).unwrap();
    let path = log.strip_prefix(&hosted).unwrap().to_str().unwrap().to_owned();
    let device = path.split('/').next().unwrap();
    let before = fs::read(&log).unwrap();
    let authorization = format!("Bearer {token}");
    let put = |path: &str, body: &str| {
        let reply =
            served.ask("PUT", &format!("/v1/sync/{path}"), &[("Authorization", &authorization)], body);
        (reply.status, reply.json()["error"]["code"].as_str().unwrap_or_default().to_owned())
    };
    for (path, status, code) in [
        (&*path, 400, "sync_file_refused"),
        ("nacre-sync.json", 400, "sync_file_refused"),
        ("../../../nacre.toml", 404, "no_such_path"),
        ("%2e%2e/%2e%2e/nacre.toml", 404, "no_sync_file"),
        ("notes.md", 404, "no_sync_file"),
        (&*format!("{device}/0000000001-0000000001.md"), 404, "no_sync_file"),
        (&*format!("{device}/..%2fnacre-sync.json"), 404, "no_sync_file"),
    ] {
        let got = put(path, "not a log");
        assert!(got.0 == status || got.0 == 404, "{path}: {got:?}");
        assert!(got.0 == 404 || got.1 == code, "{path}: {got:?}");
    }
    assert_eq!(fs::read(&log).unwrap(), before);
    let other = format!(r#"{{"format":1,"memory":"{}","note":""}}"#, "00".repeat(16));
    assert_eq!(put("nacre-sync.json", &other), (409, "sync_file_taken".into()));
    // Another memory finds the place taken, and says so.
    let stranger = Sealed::new();
    let refused = stranger.run_with(["--json", "sync", "init", &url], token.as_bytes());
    assert!(refused.stdout.contains("carrier_taken"), "{refused:?}");
    // Nothing without a token.
    assert_eq!(served.ask("GET", "/v1/sync", &[], "").status, 401);
}

#[test]
fn a_server_that_is_synced_over_a_folder_hands_out_that_folder() {
    let served = Served::new();
    let (url, token) = with_token(&served, "sync");
    let folder = served.sealed.beside("carrier");
    let started = served.sealed.json(["sync", "init", &folder, "--name", "desk"]);
    served.sealed.json(["store", "The heron nests behind the boathouse"]);
    served.sealed.json(["sync"]);
    let far = Sealed::new();
    let both = format!("{}\n{token}\n", started["phrase"].as_str().unwrap());
    assert_eq!(far.run_with(["--json", "sync", "join", &url], both.as_bytes()).json()["received"], 1);
    // The page shows the machines; a token that is no person's does not.
    let shown = served.own("GET", "/v1/machines", &serde_json::Value::Null).json();
    let names: BTreeSet<&str> = shown["machines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|machine| machine["name"].as_str().unwrap())
        .collect();
    assert!(names.contains("desk") && names.len() == 2, "{shown}");
    let refused = served.ask("GET", "/v1/machines", &[("Authorization", &format!("Bearer {token}"))], "");
    assert_eq!(refused.status, 403);
    // The far machine moves to the folder itself, and stays the same device.
    let device = far.json(["sync", "status"])["device"].clone();
    far.run_with(["--json", "sync", "join", &folder], both.as_bytes()).json();
    let status = far.json(["sync", "status"]);
    assert_eq!((&status["device"], &status["carrier"]), (&device, &folder.into()));
}

#[test]
fn a_machine_that_is_removed_reads_and_writes_nothing_any_more() {
    let (first, second, folder) = two_machines();
    let third = Sealed::new();
    let phrase = first.json(["sync", "invite"])["phrase"].as_str().unwrap().to_owned();
    third.run_with(["--json", "sync", "join", &folder, "--name", "stolen"], phrase.as_bytes()).json();
    let id = first.json(["store", "Stored before the theft"])["id"].as_str().unwrap().to_owned();
    let gone = first.json(["store", "Deleted before the theft"])["id"].as_str().unwrap().to_owned();
    for home in [&first, &second, &third] {
        home.json(["sync"]);
    }
    second.json(["delete", &gone, "--yes"]);
    second.json(["graph", "fact", "set", "Petra", "port", "Kiel"]);
    second.json(["sync"]);
    // Not sent yet when the key changes.
    second.json(["store", "Written on the laptop before it has the new key"]);

    let report = first.json(["sync", "remove", "stolen"]);
    assert_eq!((&report["removed"], &report["invited"]), (&"stolen".into(), &serde_json::json!(["laptop"])));
    let new = report["phrase"].as_str().unwrap().to_owned();
    assert_ne!(new, phrase);
    first.json(["store", "Stored after the theft"]);
    first.json(["sync"]);
    third.json(["store", "Written by the thief"]);
    let (_, error) = third.error(["sync"]);
    assert_eq!(error["code"], "sync_key_replaced", "{error}");
    assert!(!third.run(["search", "theft"]).stdout.contains("after"));

    assert_eq!(second.json(["sync"])["new_key"], true);
    first.json(["sync"]);
    second.json(["sync"]);
    let states = [first.json(["sync", "status"]), second.json(["sync", "status"])];
    assert_eq!(states[0]["state"], states[1]["state"]);
    assert_eq!(states[0]["machines"].as_array().unwrap().len(), 2, "{}", states[0]);
    for home in [&first, &second] {
        let texts = home.json(["search", "", "-n", "100"]).to_string();
        assert!(texts.contains("before the theft") && texts.contains("after the theft"), "{texts}");
        assert!(texts.contains("Written on the laptop") && !texts.contains("thief"), "{texts}");
        assert!(!texts.contains("Deleted before"), "{texts}");
        home.json(["show", &id]);
        let receipt = home.run(["sync", "status", "--deleted", &gone]).stdout;
        assert!(receipt.contains("has arrived on") && !receipt.contains("has not arrived"), "{receipt}");
    }
    // A new machine needs the new phrase, and has everything by it.
    let fresh = Sealed::new();
    let (_, error) = fresh.error_with(["sync", "join", &folder], phrase.as_bytes());
    assert_eq!(error["code"], "wrong_phrase", "{error}");
    fresh.run_with(["--json", "sync", "join", &folder], new.as_bytes()).json();
    assert_eq!(fresh.json(["sync", "status"])["state"], states[0]["state"]);
    // Even the thief comes back, if a person gives the new phrase.
    third.run_with(["--json", "sync", "join", &folder], new.as_bytes()).json();
    first.json(["sync"]);
    assert!(first.run(["search", "thief"]).stdout.contains("Written by the thief"));

    for (name, code) in [("nobody", "no_machine"), ("desk", "sync_removes_itself")] {
        let (_, error) = first.error(["sync", "remove", name]);
        assert_eq!(error["code"], code, "{error}");
    }
}

#[test]
fn an_old_copy_of_the_marker_does_not_bring_the_old_key_back() {
    let (first, second, folder) = two_machines();
    let marker = Path::new(&folder).join("nacre-sync.json");
    let old = fs::read(&marker).unwrap();
    first.json(["sync", "rotate"]);
    second.json(["sync"]);
    let new = fs::read(&marker).unwrap();
    fs::write(&marker, old).unwrap();
    first.json(["store", "The heron nests behind the boathouse"]);
    first.json(["sync"]);
    assert_eq!(fs::read(&marker).unwrap(), new);
    assert_eq!(second.json(["sync"])["received"], 1);
}

fn contains(folder: &Path, word: &str) -> bool {
    files(folder).iter().any(|file| {
        let bytes = fs::read(file).unwrap();
        bytes.windows(word.len()).any(|window| window == word.as_bytes())
    })
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
            // A process that was killed may have left an empty file.
            2 => fs::write(&target, &bytes[..random.below(bytes.len() + 1)]).unwrap(),
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
        match random.below(9) {
            8 => {
                // `kill -9` at any moment of a round.
                let killed = Process::start(&mut home.command(["sync"]));
                thread::sleep(Duration::from_millis(random.below(60) as u64));
                let _ = killed.victim.lock().unwrap().kill();
                killed.finish()
            }
            0 => home.run(["update", &number, &text]),
            1 => home.run(["delete", &number, "--yes"]),
            2 => home.run(["graph", "fact", "set", &format!("Person{topic}"), "port", &value]),
            3 => home.run(["store", &text, "--supersedes", &number]),
            4 => {
                let path =
                    home.home().join("groups/main").join(format!("memory/note-{}.md", random.below(4)));
                let before = fs::read_to_string(&path).unwrap_or_else(|_| "# Note\n".to_owned());
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                // Many subjects: file times differ, and with them which of many similar chunks an answer has room for.
                let bird = random.below(400);
                fs::write(&path, format!("{before}\n- Bird{bird} has value {value}, step {steps}\n"))
                    .unwrap();
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
        let subject = format!("{}{}", ["Topic", "Person", "Bird"][topic % 3], topic / 3);
        let answer = |home: &Sealed| -> BTreeSet<String> {
            let found = home.json(["search", &subject, "-n", "50"]);
            let texts = found["hits"].as_array().unwrap().iter().map(|hit| hit["text"].to_string());
            texts.filter(|text| text.contains(&format!("{subject} "))).collect()
        };
        assert_eq!(answer(&homes[0]), answer(&homes[1]), "{subject}");
    }
}
