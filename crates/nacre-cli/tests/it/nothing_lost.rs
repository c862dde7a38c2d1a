//! Acknowledged writes are there: many processes on one group, some of them killed at any moment.
//!
//! `NACRE_STRESS=full` makes it long. `NACRE_SEED` repeats a run as far as the scheduler lets it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::sealed::{Mcp, Process, Sealed, Victim};

/// How hard to push.
struct Stress {
    writes: usize,
    rounds: usize,
}

fn stress() -> Stress {
    match std::env::var("NACRE_STRESS").as_deref() {
        Ok("full") => Stress { writes: 500, rounds: 20 },
        _ => Stress { writes: 40, rounds: 3 },
    }
}

/// Xorshift: enough to be different every time, and the same again for the same seed.
pub struct Random(u64);

impl Random {
    /// Takes the seed from the clock, and says which.
    pub fn new() -> Random {
        let clock = || SystemTime::UNIX_EPOCH.elapsed().unwrap().subsec_nanos().into();
        let seed = std::env::var("NACRE_SEED").map_or_else(|_| clock(), |seed| seed.parse().unwrap());
        eprintln!("NACRE_SEED={seed}");
        Random(seed)
    }

    /// Another stream, for another thread: scrambled, or it would be this one a step later.
    fn branch(&mut self) -> Random {
        Random(self.next().wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self) -> u64 {
        self.0 |= 1 << 63;
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Content that nobody else has, down to its words: a search for it finds it and nothing else.
    fn content(&mut self) -> String {
        let mut letter = || char::from(b'a' + u8::try_from(self.below(26)).unwrap());
        let mut word = || (0..12).map(|_| letter()).collect::<String>();
        format!("{} {}", word(), word())
    }
}

/// A write whose answer was read to its end.
#[derive(Clone)]
struct AcknowledgedWrite {
    id: String,
    content: String,
}

/// State shared by the threads of a round.
struct Round<'a> {
    home: &'a Sealed,
    /// The newest acknowledged write: a reader that looks for it has to find it.
    newest: Mutex<Option<AcknowledgedWrite>>,
    over: AtomicBool,
}

impl Round<'_> {
    fn keep(&self, kept: &mut Vec<AcknowledgedWrite>, id: &Value, content: String) {
        let write = AcknowledgedWrite { id: id.as_str().expect("an id").to_owned(), content };
        *self.newest.lock().unwrap() = Some(write.clone());
        kept.push(write);
    }
}

/// How a writer reaches the program.
#[derive(Clone, Copy)]
enum Way {
    /// One server for all its writes.
    Server,
    /// One process for each.
    Command,
}

/// One that writes, and the process it has under way, for those who want to kill it.
struct Writer {
    way: Way,
    doomed: bool,
    victim: Mutex<Option<Victim>>,
}

impl Writer {
    fn new(way: Way, doomed: bool) -> Writer {
        Writer { way, doomed, victim: Mutex::new(None) }
    }

    /// Makes `writes` writes and returns those that were acknowledged: all of them, unless it is doomed.
    fn run(&self, round: &Round<'_>, mut random: Random, writes: usize) -> Vec<AcknowledgedWrite> {
        let mut kept = Vec::new();
        let mut server = None;
        for _ in 0..writes {
            let content = random.content();
            let id = match self.way {
                Way::Command => self.store_by_command(round.home, &content),
                Way::Server => self.store_by_server(round.home, &mut server, &content),
            };
            match id {
                Some(id) => round.keep(&mut kept, &id, content),
                None => assert!(self.doomed, "a process ended that nobody killed"),
            }
        }
        kept
    }

    /// Stores in a process of its own. `None`: it was killed before it had answered.
    fn store_by_command(&self, home: &Sealed, content: &str) -> Option<Value> {
        let process = Process::start(&mut home.command(["store", "--json", content]));
        *self.victim.lock().unwrap() = Some(process.victim.clone());
        let output = process.finish();
        assert!(output.status == 0 || output.status == -1 && output.stderr.is_empty(), "{output:?}");
        // Answered and then killed is answered all the same.
        let answer = output.stdout.strip_suffix('\n')?;
        Some(serde_json::from_str::<Value>(answer).unwrap()["id"].take())
    }

    /// Stores through a server, a new one where there is none. `None`: it was killed before it had answered.
    fn store_by_server(&self, home: &Sealed, server: &mut Option<Mcp>, content: &str) -> Option<Value> {
        let running = server.get_or_insert_with(|| {
            let mut server = Mcp::start(&mut home.command(["mcp", "--set", "limits.store=0"]));
            *self.victim.lock().unwrap() = Some(server.victim.clone());
            // One that is killed while it says hello is missed by the call that follows.
            server.open();
            server
        });
        let Some(mut result) = running.call("memory_store", &json!({ "content": content })) else {
            *server = None;
            return None;
        };
        assert_eq!(result["isError"], false, "{result}");
        Some(result["structuredContent"]["id"].take())
    }
}

/// Kills one of the doomed after the other, whatever they are doing, until the round is over.
fn kill(round: &Round<'_>, writers: &[Writer], mut random: Random) {
    let doomed: Vec<&Writer> = writers.iter().filter(|writer| writer.doomed).collect();
    while !round.over.load(Ordering::SeqCst) {
        // The random moment: from before a process has opened the database to after it has answered.
        thread::sleep(Duration::from_micros(random.below(30_000)));
        let index = usize::try_from(random.below(doomed.len() as u64)).unwrap();
        if let Some(victim) = doomed[index].victim.lock().unwrap().take() {
            let _ = victim.lock().unwrap().kill();
        }
    }
}

/// Searches for the newest acknowledged write until the round is over. Every search has to find it.
fn read(round: &Round<'_>, mut search: impl FnMut(&str) -> Value) -> usize {
    let mut searches = 0;
    while !round.over.load(Ordering::SeqCst) {
        let Some(newest) = round.newest.lock().unwrap().clone() else {
            thread::yield_now();
            continue;
        };
        let found = search(&newest.content);
        // The command line gives the whole answer, MCP the lean one.
        let hit = &found["hits"][0];
        assert_eq!(*hit.get("full_id").unwrap_or(&hit["id"]), newest.id, "{found}");
        searches += 1;
    }
    searches
}

/// Runs writers and readers at once and returns what was acknowledged.
fn run(home: &Sealed, writers: &[Writer], writes: usize, random: &mut Random) -> Vec<AcknowledgedWrite> {
    let round = Round { home, newest: Mutex::new(None), over: AtomicBool::new(false) };
    /// A writer that fails ends the round too, or the readers would go on for ever.
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    thread::scope(|scope| {
        let over = Over(&round.over);
        let round = &round;
        let by_command = scope.spawn(move || read(round, |words| home.json(["search", words])));
        let by_server = scope.spawn(move || {
            let mut server = home.mcp();
            read(round, |words| server.data("memory_search", &json!({ "query": words, "explain": true })))
        });
        if writers.iter().any(|writer| writer.doomed) {
            let random = random.branch();
            scope.spawn(move || kill(round, writers, random));
        }
        let writing: Vec<_> = writers
            .iter()
            .map(|writer| {
                let random = random.branch();
                scope.spawn(move || writer.run(round, random, writes))
            })
            .collect();
        let kept = writing.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
        drop(over);
        for reader in [by_command, by_server] {
            assert!(reader.join().unwrap() > 0, "a reader read nothing");
        }
        kept
    })
}

#[track_caller]
fn check_kept(kept: &[AcknowledgedWrite], mut get: impl FnMut(&str) -> Value) {
    for AcknowledgedWrite { id, content } in kept {
        assert_eq!(get(id)["content"], *content, "{id} was acknowledged");
    }
    let ids: BTreeSet<_> = kept.iter().map(|kept| &kept.id).collect();
    assert_eq!(ids.len(), kept.len(), "an id was given twice");
}

/// Rows, index and audit log agree.
#[track_caller]
fn check_sound(home: &Sealed) {
    let doctor = home.json(["doctor"]);
    assert_eq!(doctor["ok"], true, "{doctor}");
    let audit = home.json(["audit", "verify"]);
    assert_eq!(audit["ok"], true, "{audit}");
}

#[test]
fn eight_processes_write_while_two_read() {
    let (home, mut random, stress) = (Sealed::new(), Random::new(), stress());
    let ways = [Way::Server, Way::Command].repeat(4);
    let writers: Vec<Writer> = ways.into_iter().map(|way| Writer::new(way, false)).collect();
    let kept = run(&home, &writers, stress.writes, &mut random);
    assert_eq!(kept.len(), 8 * stress.writes);
    check_kept(&kept, |id| home.json(["show", id]));
    check_sound(&home);
    assert_eq!(home.json(["status"])["entries"]["current"], kept.len());
    assert_eq!(home.json(["audit", "verify"])["rows"], kept.len(), "one row of the audit log for each write");
}

#[test]
fn processes_are_killed_at_any_moment() {
    let (home, mut random, stress) = (Sealed::new(), Random::new(), stress());
    let mut kept = Vec::new();
    let mut killed = 0;
    for round in 1..=stress.rounds {
        let doom = [(Way::Server, false), (Way::Command, false), (Way::Server, true), (Way::Command, true)];
        let writers: Vec<Writer> =
            doom.repeat(2).into_iter().map(|(way, doomed)| Writer::new(way, doomed)).collect();
        let now = run(&home, &writers, stress.writes, &mut random);
        killed += 8 * stress.writes - now.len();
        kept.extend(now);
        eprintln!("round {round}: {} acknowledged in all, {killed} killed before their answer", kept.len());
        // The tool behind `nacre show`, in one process.
        let mut server = home.mcp();
        check_kept(&kept, |id| server.data("memory_get", &json!({ "id": id })));
        check_sound(&home);
    }
    assert!(killed > 0, "nobody was killed in the middle of a write: the test has shown nothing");
}

#[test]
fn two_that_store_the_same_at_once_make_one_entry() {
    let (home, mut random) = (Sealed::new(), Random::new());
    let mut servers = [home.mcp(), home.mcp()];
    for round in 1..=20 {
        let content = random.content();
        let (start, content) = (Barrier::new(4), content.as_str());
        let answers: Vec<Value> = thread::scope(|scope| {
            let (start, home) = (&start, &home);
            let by_server = servers.iter_mut().map(|server| {
                scope.spawn(move || {
                    start.wait();
                    server.data("memory_store", &json!({ "content": content }))
                })
            });
            let by_command = (0..2).map(|_| {
                scope.spawn(move || {
                    start.wait();
                    home.json(["store", content])
                })
            });
            let storing: Vec<_> = by_server.chain(by_command).collect();
            storing.into_iter().map(|storing| storing.join().unwrap()).collect()
        });
        assert!(answers.iter().all(|answer| answer["id"] == answers[0]["id"]), "{answers:?}");
        let first = answers.iter().filter(|answer| answer.get("duplicate_of").is_none());
        assert_eq!(first.count(), 1, "{answers:?}");
        assert_eq!(home.json(["status"])["entries"]["current"], round);
    }
    check_sound(&home);
}

#[test]
fn eight_processes_open_a_new_home_at_once() {
    for _ in 0..5 {
        let (home, start) = (Sealed::new(), Arc::new(Barrier::new(8)));
        thread::scope(|scope| {
            for number in 0..8 {
                let (home, start) = (&home, start.clone());
                scope.spawn(move || {
                    start.wait();
                    let content = format!("opened by process {number}");
                    match number % 4 {
                        0 => drop(home.json(["init"])),
                        1 => drop(home.json(["search", "anything"])),
                        2 => drop(home.json(["store", &content])),
                        _ => drop(home.mcp().data("memory_store", &json!({ "content": content }))),
                    }
                });
            }
        });
        assert_eq!(home.json(["status"])["entries"]["current"], 4);
        check_sound(&home);
    }
}

/// Maintenance by several processes at once, some of them killed: what is left is what one process leaves that nobody
/// disturbs, so nothing is lost and nothing done twice.
#[test]
fn jobs_are_done_once_whoever_is_killed() {
    let (mut random, days) = (Random::new(), 4 + 2 * stress().rounds);
    let homes = [Sealed::new(), Sealed::new()];
    for home in &homes {
        for number in 0..60 {
            home.json(["store", &format!("number {number} of sixty")]);
        }
        home.json(["fact", "set", "Keystone", "port", "3000"]);
    }
    // Every run archives some: a second one on the same day would show.
    let args = |day: usize| {
        let now = format!("2026-03-{:02}T12:00:00Z", day + 1);
        [
            "maintain",
            "--set",
            "entries.max_size_mb=0.000001",
            "--set",
            "entries.prune_percent=5",
            "--json",
            "--now",
            &now,
        ]
        .map(str::to_owned)
    };
    let [calm, wild] = &homes;
    let mut killed = 0;
    for day in 0..days {
        calm.run(args(day));
        let running: Vec<Process> = (0..4).map(|_| Process::start(&mut wild.command(args(day)))).collect();
        for process in &running[..3] {
            thread::sleep(Duration::from_micros(random.below(25_000)));
            let _ = process.victim.lock().unwrap().kill();
        }
        for (place, process) in running.into_iter().enumerate() {
            let output = process.finish();
            assert!(output.status == 0 || place < 3 && output.status == -1, "{output:?}");
            killed += usize::from(output.status == -1);
        }
        // Whoever was killed, by now it was done: the last was not, and waits for its turn.
        let list = wild.json(["maintain", "--list", "--now", &args(day)[7]]);
        assert!(list.as_array().unwrap().iter().all(|job| job["due"] == false), "{list}");
    }
    eprintln!("{killed} of {} killed", 3 * days);
    assert!(killed > 0, "nobody was killed: the test has shown nothing");
    let state = |home: &Sealed| {
        let archived = home.json(["audit", "export"]);
        let archived = archived.as_array().unwrap().iter().filter(|row| row["action"] == "archive").count();
        let facts = home.json(["fact", "list"]);
        (home.json(["status"])["entries"].clone(), facts["facts"][0]["activation"].clone(), archived)
    };
    assert_eq!(state(wild), state(calm));
    assert_eq!(state(calm).2, days, "one run a day");
    check_sound(wild);
}

/// A server does what is due behind its calls, and two of them do it once.
#[test]
fn servers_do_what_is_due() {
    let home = Sealed::new();
    home.json(["store", "One"]);
    let flags = ["mcp", "--set", "maintain.look_seconds=0", "--set", "entries.max_size_mb=0.000001"];
    let mut servers: Vec<Mcp> = (0..2).map(|_| Mcp::start(&mut home.command(flags))).collect();
    for server in &mut servers {
        server.open().unwrap();
        server.data("memory_search", &json!({ "query": "one" }));
    }
    let due = || home.json(["maintain", "--list"]).as_array().unwrap().iter().any(|job| job["due"] == true);
    let patience = std::time::Instant::now();
    while due() {
        assert!(patience.elapsed() < Duration::from_secs(60), "nothing was done");
        thread::sleep(Duration::from_millis(50));
    }
    drop(servers);
    let archived = home.json(["audit", "export"]);
    let archived = archived.as_array().unwrap().iter().filter(|row| row["action"] == "archive").count();
    assert_eq!(archived, 1);
    // One that is told not to does nothing.
    let mut still = Mcp::start(&mut home.command([
        "mcp",
        "--set",
        "maintain.look_seconds=0",
        "--set",
        "maintain.behind=false",
        "--now",
        "2026-02-20T12:00:00Z",
    ]));
    still.open().unwrap();
    still.data("memory_search", &json!({ "query": "one" }));
    thread::sleep(Duration::from_millis(300));
    let list = home.json(["maintain", "--list", "--now", "2026-02-20T12:00:00Z"]);
    assert!(list.as_array().unwrap().iter().any(|job| job["due"] == true), "{list}");
    assert_eq!(still.close(), 0);
}
