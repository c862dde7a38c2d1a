//! Daily logs by many processes, some of them killed: no line is lost, none doubled, no file is half there.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::sealed::{Process, Sealed, Victim};

const TODAY: &str = "memory/2026-02-18.md";
/// The beginning of a private session's log.
const HEAD: &str = "---\nprivate: true\n---\n# 2026-02-18\n\n";

fn read(home: &Sealed, path: &str) -> String {
    fs::read_to_string(home.home().join("groups/main").join(path)).unwrap_or_default()
}

fn put(home: &Sealed, path: &str, text: &str) {
    let path = home.home().join("groups/main").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// How often each line stands in the texts.
fn counted<'t>(texts: &[&'t str]) -> BTreeMap<&'t str, usize> {
    let mut counts = BTreeMap::new();
    for line in texts.iter().flat_map(|text| text.lines()) {
        *counts.entry(line).or_default() += 1;
    }
    counts
}

/// Moments that differ from run to run.
fn moments() -> impl FnMut(u64) -> Duration {
    let mut state = u64::from(SystemTime::UNIX_EPOCH.elapsed().unwrap().subsec_nanos()) | 1 << 40;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        Duration::from_micros(state % below)
    }
}

#[test]
fn a_log_is_written_and_shown() {
    let home = Sealed::new();
    let done = home.json(["log", "Chose tabs", "--category", "decision", "--importance", "0.9"]);
    assert_eq!((&done["path"], &done["line"]), (&TODAY.into(), &6.into()));
    assert_eq!(
        home.json(["log", "Chose tabs", "--category", "decision", "--importance", ".9"])["duplicate"],
        true
    );
    let said = home.run(["log", "and\nmore"]);
    assert_eq!(said.stdout, format!("{TODAY}:7 - [note|i=0.5] and more\n"));
    let all = format!("{HEAD}- [decision|i=0.9] Chose tabs\n- [note|i=0.5] and more\n");
    assert_eq!(home.run(["log"]).stdout, all);
    assert_eq!(home.json(["log"])["text"], all);
    assert_eq!(home.error(["log", "x", "--importance", "2"]).1["code"], "bad_argument");
    // Where the person is, it may be tomorrow already.
    let mut abroad = home.command(["--json", "log"]);
    let shown = Process::start(abroad.env("TZ", "<+13>-13")).finish();
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["path"], "memory/2026-02-19.md");
    let moved = home.json(["--now", "2026-03-30T00:00:00Z", "maintain"]);
    assert_eq!(moved["retired"], 1);
    assert_eq!(
        read(&home, "memory/archive/2026-02-18-private.md"),
        format!("{HEAD}- [note|i=0.5] and more\n")
    );
}

#[test]
fn eight_processes_append_fifty_lines_each() {
    let home = Sealed::new();
    thread::scope(|scope| {
        for writer in 0..8 {
            let home = &home;
            scope.spawn(move || {
                for line in 0..50 {
                    let done = home.json(["log", &format!("line {line} of writer {writer}")]);
                    assert_eq!(done["duplicate"], false);
                }
            });
        }
    });
    let log = read(&home, TODAY);
    let lines = counted(&[log.strip_prefix(HEAD).unwrap()]);
    assert_eq!((lines.len(), lines.values().sum::<usize>()), (400, 400));
    assert!(log.ends_with('\n'));
    assert_eq!(home.json(["audit", "verify"])["rows"], 400);
}

#[test]
fn processes_are_killed_while_they_append() {
    let home = Sealed::new();
    let victims: [Mutex<Option<Victim>>; 2] = Default::default();
    let over = AtomicBool::new(false);
    let mut moment = moments();
    // Some are killed and some are not, whatever the machine: the kills are spread over the time that an append takes.
    let started = std::time::Instant::now();
    home.json(["log", "the first one"]);
    let most = u64::try_from(started.elapsed().as_micros()).unwrap() * 2;
    let answered: Vec<(String, bool)> = thread::scope(|scope| {
        let (home, victims, over) = (&home, &victims, &over);
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                scope.spawn(move || {
                    let mut lines = Vec::new();
                    for line in 0..60 {
                        let text = format!("line {line} of writer {writer}");
                        let process = Process::start(&mut home.command(["--json", "log", &text]));
                        *victims[writer].lock().unwrap() = Some(process.victim.clone());
                        let output = process.finish();
                        assert!(output.status == 0 || output.status == -1, "{output:?}");
                        lines.push((format!("- [note|i=0.5] {text}"), output.stdout.ends_with('\n')));
                    }
                    lines
                })
            })
            .collect();
        scope.spawn(move || {
            while !over.load(Ordering::SeqCst) {
                for victim in victims {
                    thread::sleep(moment(most));
                    if let Some(victim) = victim.lock().unwrap().take() {
                        let _ = victim.lock().unwrap().kill();
                    }
                }
            }
        });
        let answered = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
        over.store(true, Ordering::SeqCst);
        answered
    });
    home.json(["log", "the last one"]);
    let log = read(&home, TODAY);
    let lines = counted(&[log.strip_prefix(HEAD).unwrap()]);
    for (line, said) in &answered {
        let count = lines.get(line.as_str()).copied().unwrap_or(0);
        assert!(count == 1 || count == 0 && !said, "{line}: {count} times, answered: {said}");
    }
    assert!(
        lines
            .keys()
            .all(|line| ["- [note|i=0.5] the first one", "- [note|i=0.5] the last one"].contains(line)
                || answered.iter().any(|(one, _)| one == line))
    );
    let killed = answered.iter().filter(|(_, said)| !said).count();
    assert!((1..answered.len()).contains(&killed), "{killed} were killed: the test has shown nothing");
    assert_eq!(home.json(["doctor"])["ok"], true);
}

#[test]
fn processes_are_killed_while_lines_move() {
    let mut moment = moments();
    let (mut killed, mut rounds) = (0, 0);
    // Until enough were killed, at moments from the first to the last of such a run.
    while killed < 25 && rounds < 200 {
        rounds += 1;
        let home = Sealed::new();
        let log = |day: u32| {
            format!("# Day {day}\n\n- [a|i=0.1] small {day}\n- [b|i=0.9] large {day}\nplain {day}\n")
        };
        let days: Vec<String> = (1..=6).map(|day| format!("memory/2026-02-0{day}.md")).collect();
        for (path, day) in days.iter().zip(1..) {
            put(&home, path, &log(day));
        }
        home.json(["log", "made before"]);
        for _ in 0..3 {
            let process = Process::start(&mut home.command(["--json", "maintain"]));
            thread::sleep(moment(60_000));
            let _ = process.victim.lock().unwrap().kill();
            killed += usize::from(process.finish().status == -1);
        }
        home.json(["maintain"]);
        for (path, day) in days.iter().zip(1..) {
            assert_eq!(read(&home, path), format!("# Day {day}\n\n- [b|i=0.9] large {day}\nplain {day}\n"));
            let archive = read(&home, &path.replace("memory/", "memory/archive/"));
            assert_eq!(archive, format!("# 2026-02-0{day}\n\n- [a|i=0.1] small {day}\n"));
        }
        let left: Vec<_> = crate::sealed::files(home.home());
        assert!(!left.iter().any(|path| path.to_string_lossy().contains(".nacre-")), "{left:?}");
    }
    assert!(killed >= 25, "{killed} were killed in {rounds} rounds: the test has shown little");
}
