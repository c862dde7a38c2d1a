//! Transcripts through the real binary: several processes on one, some of them killed at any moment, and what hooks do
//! with them. No message is lost, and none is there twice.
//!
//! `NACRE_STRESS=full` makes it long.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::sealed::{Process, Sealed, Victim};

fn rounds() -> usize {
    if std::env::var("NACRE_STRESS").as_deref() == Ok("full") { 200 } else { 20 }
}

fn file(home: &Sealed) -> PathBuf {
    home.home().join("groups/main/sessions/s.jsonl")
}

/// Runs a command in a process that another may kill, until it has answered.
fn until_done(home: &Sealed, args: &[&str], victim: &Mutex<Option<Victim>>, killed: &AtomicBool) {
    loop {
        let process = Process::start(&mut home.command(args));
        *victim.lock().unwrap() = Some(process.victim.clone());
        let output = process.finish();
        if output.status == 0 {
            return;
        }
        assert_eq!((output.status, output.stderr.as_str()), (-1, ""), "{output:?}");
        killed.store(true, Ordering::SeqCst);
    }
}

/// Has several processes append, each message until it is acknowledged, while `besides` runs again and again and all are
/// killed at any moment; then looks whether every message is there once.
fn survives(settings: &[&str], besides: &[&[&str]]) {
    const WRITERS: usize = 3;
    let home = Sealed::new();
    let set: Vec<&str> = settings.iter().flat_map(|pair| ["--set", pair]).collect();
    let (over, killed) = (AtomicBool::new(false), AtomicBool::new(false));
    let victims: Vec<Mutex<Option<Victim>>> =
        (0..WRITERS + besides.len()).map(|_| Mutex::new(None)).collect();
    thread::scope(|scope| {
        let (home, set, over, killed, victims) = (&home, &set, &over, &killed, &victims);
        scope.spawn(move || {
            let mut random = SystemTime::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
            while !over.load(Ordering::SeqCst) {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                thread::sleep(Duration::from_micros(u64::from(random >> 8) % 60_000));
                let index = (random >> 4) as usize % victims.len();
                if let Some(victim) = victims[index].lock().unwrap().take() {
                    let _ = victim.lock().unwrap().kill();
                }
            }
        });
        for (command, victim) in besides.iter().zip(&victims[WRITERS..]) {
            scope.spawn(move || {
                while !over.load(Ordering::SeqCst) {
                    let args: Vec<&str> = set.iter().chain(*command).copied().collect();
                    let process = Process::start(&mut home.command(&args));
                    *victim.lock().unwrap() = Some(process.victim.clone());
                    let output = process.finish();
                    // 3: it has not begun yet.
                    assert!([0, -1, 3].contains(&output.status), "{output:?}");
                }
            });
        }
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn(move || {
                    for n in 0..rounds() {
                        let id = format!("w{writer}-{n}");
                        let text =
                            format!("{id} says that heron number {n} came to the pond of writer {writer}");
                        let append = ["session", "append", "s", "--author", "user", "--message", &id, &text];
                        let args: Vec<&str> = set.iter().copied().chain(append).collect();
                        until_done(home, &args, &victims[writer], killed);
                    }
                })
            })
            .collect();
        let ended: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        over.store(true, Ordering::SeqCst);
        ended.into_iter().for_each(|one| one.unwrap());
    });
    assert!(
        killed.load(Ordering::SeqCst),
        "nobody was killed in the middle of a write: the test has shown nothing"
    );
    // Brings the transcript back where it was packed last, and mends what the last one killed left.
    let last = ["session", "append", "s", "--author", "user", "--message", "last", "the end"];
    home.json(set.iter().copied().chain(last));
    check(&home, WRITERS);
}

/// Every message once: in the files taken together, in the database, and in the context or under its summary.
fn check(home: &Sealed, writers: usize) {
    let expected: Vec<String> =
        (0..writers).flat_map(|writer| (0..rounds()).map(move |n| format!("w{writer}-{n}"))).collect();
    let read = |path: PathBuf| -> Vec<Value> {
        let text = fs::read_to_string(path).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}")))
            .collect()
    };
    let now = read(file(home));
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for line in &now {
        *counts.entry(line["id"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    let doubled: Vec<_> = counts.iter().filter(|(_, count)| **count > 1).collect();
    assert!(doubled.is_empty(), "{doubled:?}");
    // A rewrite has moved some to the archive; none may be in neither.
    let archive = file(home).with_file_name("archive");
    for found in fs::read_dir(archive).into_iter().flatten().flatten() {
        if found.file_name().to_string_lossy().ends_with(".jsonl") {
            for line in read(found.path()) {
                counts.entry(line["id"].as_str().unwrap().to_owned()).or_default();
            }
        }
    }
    for id in &expected {
        assert!(counts.contains_key(id), "{id} was acknowledged and is lost");
    }
    let show = home.json(["session", "show", "s", "--limit", "500"]);
    let shown: Vec<&str> =
        show["messages"].as_array().unwrap().iter().map(|said| said["id"].as_str().unwrap()).collect();
    assert_eq!(shown.len(), expected.len() + 1, "each is found once");
    let context = home.json(["session", "context", "s"]);
    let messages = context["messages"].as_array().unwrap();
    assert_eq!(messages.last().unwrap()["id"], "last");
    let covered = messages[0]["covers"][1].as_str();
    // A message that is neither summarised nor shown would be lost to the model.
    let order: Vec<&str> = now
        .iter()
        .filter(|line| line["role"] != "summary")
        .map(|line| line["id"].as_str().unwrap())
        .collect();
    let behind = covered.and_then(|last| order.iter().position(|id| *id == last)).map_or(0, |at| at + 1);
    let seen: Vec<&str> = messages
        .iter()
        .filter(|line| line["role"] != "summary")
        .map(|line| line["id"].as_str().unwrap())
        .collect();
    assert_eq!(seen, order[behind..]);
    let doctor = home.json(["doctor"]);
    assert_eq!(doctor["ok"], true, "{doctor}");
    assert_eq!(home.json(["audit", "verify"])["ok"], true);
}

#[test]
fn appends_survive_kills() {
    survives(&["session.compact=off"], &[]);
}

#[test]
fn appends_and_overlays_survive_kills() {
    survives(&["session.keep_recent=3", "session.flush=off"], &[&["session", "compact", "s"]]);
}

#[test]
fn appends_and_rewrites_survive_kills() {
    survives(
        &["session.compact=rewrite", "session.keep_recent=3", "session.flush=off"],
        &[&["session", "compact", "s"]],
    );
}

#[test]
fn appends_and_packing_survive_kills() {
    // Every maintenance finds all of it old, and every append brings it back.
    survives(&["session.compact=off"], &[&["--now", "2026-06-01T00:00:00Z", "maintain"]]);
}

#[test]
fn lines_come_from_standard_input_and_twice_is_once() {
    let home = Sealed::new();
    let lines: String = (0..1_200)
        .map(|n| {
            format!(
                "{}\n",
                json!({ "id": format!("m{n}"), "role": "user", "content": format!("remark {n}") })
            )
        })
        .collect();
    let append = ["--json", "session", "append", "s", "--jsonl"];
    for (added, present) in [(1_200, 0), (0, 1_200)] {
        let output = home.run_with(append, lines.as_bytes());
        let answer: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        assert_eq!((&answer["added"], &answer["present"]), (&json!(added), &json!(present)), "{answer}");
    }
    let (code, error) =
        home.error_with(append[1..].iter().copied(), b"{\"role\":\"user\",\"content\":\"kept\"}\nnot json\n");
    assert_eq!((code, &error["code"]), (2, &json!("not_json")), "{error}");
    assert!(error["message"].as_str().unwrap().contains("line 2"), "{error}");
    assert_eq!(
        home.json(["session", "list"])["sessions"][0]["messages"],
        1_201,
        "what came before it is there"
    );
    let long = home.run(["session", "append", "s", "--author", "user", "-"]);
    assert_eq!(long.status, 2, "an empty message is none: {long:?}");
}

#[test]
fn a_hook_asks_in_time_and_once_and_begins_a_new_cycle() {
    let home = Sealed::new();
    home.json(["store", "The user's dog is called Luna"]);
    let transcript = home.beside("claude.jsonl");
    let write = |tokens: u64| {
        let usage = json!({ "input_tokens": 3, "cache_read_input_tokens": tokens, "cache_creation_input_tokens": 0, "output_tokens": 500, "service_tier": "standard" });
        let line =
            json!({ "type": "assistant", "message": { "role": "assistant", "content": [], "usage": usage } });
        fs::write(&transcript, format!("{{\"type\":\"user\"}}\n{line}\n{{\"type\":\"system\"}}\n")).unwrap();
    };
    let hook = |event: &str, more: Value| {
        let mut input =
            json!({ "hook_event_name": event, "session_id": "host", "transcript_path": transcript });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let output = home.run_with(["hook"], input.to_string().as_bytes());
        assert_eq!(output.status, 0, "{output:?}");
        let answer: Value = serde_json::from_str(&output.stdout).unwrap();
        answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    };
    let asks = |said: &str| said.contains("store everything lasting") && said.contains("NO_REPLY");
    write(100_000);
    assert!(!asks(&hook("UserPromptSubmit", json!({ "prompt": "hello" }))));
    write(178_000);
    let said = hook("UserPromptSubmit", json!({ "prompt": "and on" }));
    assert!(asks(&said), "{said}");
    assert_eq!(nacre_stripped(&said), "", "it is known as our own: {said}");
    assert!(!asks(&hook("UserPromptSubmit", json!({ "prompt": "and on" }))), "once a cycle");
    assert_eq!(hook("PreCompact", json!({ "trigger": "auto" })), "");
    assert!(asks(&hook("UserPromptSubmit", json!({ "prompt": "next cycle" }))));
    // A transcript that is not there, a folder, or something else is no reason to fail.
    for path in [home.beside("nowhere"), home.beside(""), "/dev/zero".to_owned()] {
        hook("UserPromptSubmit", json!({ "prompt": "x", "transcript_path": path }));
    }
    let events = fs::read_to_string(home.home().join("telemetry.jsonl")).unwrap();
    assert_eq!(events.matches("memory:flush").count(), 3, "two asked, one compaction: {events}");
}

fn nacre_stripped(said: &str) -> String {
    let mut left = String::new();
    let mut rest = said;
    while let Some((before, after)) = rest.split_once("<memory source=\"nacre\"") {
        left.push_str(before);
        rest = after.split_once("</memory>").map_or("", |(_, after)| after);
    }
    (left + rest).trim().to_owned()
}

#[test]
fn the_end_of_a_session_is_summed_up_only_where_there_is_a_transcript() {
    let home = Sealed::new();
    home.json([
        "session",
        "append",
        "ours",
        "--author",
        "user",
        "We decided to move the backup to half past three.",
    ]);
    let entries = || home.json(["status"])["entries"]["current"].as_u64().unwrap();
    for (session, expected) in [("theirs", 0), ("ours", 1), ("ours", 1)] {
        let input = json!({ "hook_event_name": "SessionEnd", "session_id": session }).to_string();
        assert_eq!(home.run_with(["hook"], input.as_bytes()).status, 0);
        // Another process or the next command imports the message.
        for _ in 0..100 {
            if entries() == expected
                && !home
                    .home()
                    .join("groups/main/spool")
                    .read_dir()
                    .unwrap()
                    .any(|file| file.unwrap().path().extension().is_some_and(|kind| kind == "json"))
            {
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(entries(), expected, "{session}");
    }
    let found = home.json(["search", "backup", "--scope", "entries"]);
    assert!(found["hits"][0]["text"].as_str().unwrap().contains("half past three"), "{found}");
}
