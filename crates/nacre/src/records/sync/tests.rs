//! Random histories of several machines: partitions, repeats, any order, partial files, processes that die at any point of a
//! round, and clocks that are off by a day. Once all have met, all know the same, nothing that was acknowledged is lost, and what
//! was deleted is in no file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::log::Pack;
use super::seal::MemoryKey;
use super::{Place, RoundOptions, RoundReport, init, invite, join, replace_key, round, status};
use crate::base::caller::Caller;
use crate::base::{Result, Settings, Time, files};
use crate::group::Group;
use crate::records::erase;
use crate::records::session::{Draft, append};
use crate::records::workspace::proposal;
use crate::store::crash;
use crate::tools::home::Home;

/// The points at which a process can die during a round.
const POINTS: &[&str] = &[
    "round folded",
    "pack written",
    "segment written",
    "document written",
    "transcript written",
    "log copied",
    "written aside",
];
/// The points at which it can die while the key is replaced, and while another machine takes the new one.
const KEY_POINTS: &[&str] =
    &["new key saved", "log begun again", "new key told", "round folded", "segment written"];

fn noon() -> Time {
    Time::from_millis(1_767_225_600_000)
}

/// A machine, and its copy of the folder in which all meet.
struct Machine {
    home: TempDir,
    carrier: PathBuf,
    group: Option<Group>,
    caller: Caller,
}

impl Machine {
    fn new(carrier: &Path) -> Machine {
        let caller = Caller::person("person".parse().unwrap(), noon());
        let home = tempfile::tempdir().unwrap();
        let mut machine = Machine { home, carrier: carrier.to_owned(), group: None, caller };
        machine.open();
        machine
    }

    fn open(&mut self) {
        self.group = None;
        let home = Home::new(self.home.path(), Settings::default());
        self.group = Some(home.group(&"main".parse().unwrap(), self.caller.now).unwrap());
    }

    fn with<T>(&mut self, work: impl FnOnce(&mut crate::group::View<'_>) -> T) -> T {
        work(&mut self.group.as_mut().unwrap().enter(&self.caller).unwrap())
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Result<Value> {
        self.with(|view| crate::tools::call(view, tool, arguments)).map(|answer| answer.data)
    }

    fn round(&mut self) -> RoundReport {
        self.with(|view| round(view, &RoundOptions::default())).unwrap()
    }

    /// Runs something in a process that dies at a point, if it comes there. Returns whether it died.
    fn dying<T>(&mut self, point: &'static str, work: impl FnOnce(&mut Machine) -> T) -> bool {
        crash::AT.set(Some(point));
        let died = catch_unwind(AssertUnwindSafe(|| drop(work(self)))).is_err();
        crash::AT.set(None);
        self.open();
        died
    }

    fn state(&mut self) -> String {
        self.with(|view| status(view)).unwrap().state
    }

    /// The current memories with their scores, by id.
    fn memories(&mut self) -> BTreeMap<String, (String, i64)> {
        let sql =
            "SELECT id, content, score FROM entries WHERE superseded_at IS NULL AND archived_at IS NULL";
        let rows = self.with(|view| {
            view.read_all(|db| db.rows(sql, (), |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?)))))
        });
        rows.unwrap().into_iter().collect()
    }

    fn note(&self, number: usize) -> PathBuf {
        self.home.path().join(format!("groups/main/memory/note-{number}.md"))
    }

    fn talk(&self, number: usize) -> PathBuf {
        self.home.path().join(format!("groups/main/sessions/talk-{number}.jsonl"))
    }

    /// The messages that a search can find.
    fn messages(&mut self) -> Vec<(String, String)> {
        let sql = "SELECT ref, text FROM passages WHERE kind = 'message' ORDER BY ref";
        self.with(|view| view.read_all(|db| db.rows(sql, (), |row| Ok((row.get(0)?, row.get(1)?))))).unwrap()
    }

    fn proposed(&mut self) -> String {
        let all = self.with(|view| proposal::list(view, true)).unwrap();
        all.iter().map(|proposal| proposal.diff.to_string()).collect()
    }
}

/// A random number generator that gives the same numbers for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

fn all_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| if entry.path().is_dir() { all_files(&entry.path()) } else { vec![entry.path()] })
        .collect()
}

/// Copies the part of one machine to another as a bad sync tool does: late, twice, cut short or not at all, unless `whole`.
fn carry(random: &mut Random, from: &Path, to: &Path, whole: bool) {
    for file in all_files(from) {
        let (name, Ok(bytes)) = (file.file_name().unwrap().to_str().unwrap(), fs::read(&file)) else {
            continue;
        };
        let target = to.join(name);
        if name.contains(".tmp-") || fs::read(&target).is_ok_and(|present| present == bytes) {
            continue;
        }
        let (target, bytes) = match random.below(if whole { 1 } else { 6 }) {
            1 => continue,
            2 => (target, &bytes[..random.below(bytes.len())]),
            3 => (to.join(format!("copy of {name}")), &bytes[..]),
            _ => (target, &bytes[..]),
        };
        files::create_folder(to).unwrap();
        files::write_without_sync(&target, bytes).unwrap();
    }
}

/// Writes that the machines acknowledged.
#[derive(Default)]
struct AcknowledgedWrites {
    /// Texts that nobody touches afterwards.
    kept: BTreeSet<String>,
    /// Lines of documents.
    lines: BTreeSet<String>,
    /// Words of messages.
    said: BTreeSet<String>,
    /// Words of texts that were deleted.
    gone: BTreeSet<String>,
}

/// Something happens to a transcript: a message is appended, or somebody edits or deletes a line, deletes the file or the session,
/// or has a word forgotten.
fn talk(random: &mut Random, seed: u64, number: usize, machine: &mut Machine, told: &mut AcknowledgedWrites) {
    let (action, which) = (random.below(8), random.below(3));
    if matches!(action, 0 | 1 | 4) {
        // A line that no round has seen is removed on this machine only.
        machine.round();
    }
    let path = machine.talk(which);
    let text = fs::read_to_string(&path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let word_of = |line: &str| {
        let start = line.find("word").unwrap();
        line[start..].split(' ').next().unwrap().to_owned()
    };
    let word = format!("word{seed}x{number}x");
    let bury = |line: &str, told: &mut AcknowledgedWrites| {
        let gone = word_of(line);
        told.said.remove(&gone);
        told.gone.insert(gone);
    };
    let at = random.below(lines.len().max(1));
    let put = |lines: &[String]| {
        files::write_without_sync(
            &path,
            lines.iter().flat_map(|line| [line, "\n"]).collect::<String>().as_bytes(),
        )
    };
    match (action, lines.is_empty()) {
        (0, false) => {
            let mut after: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            after[at] = after[at].replace(&word_of(lines[at]), &word);
            bury(lines[at], told);
            told.said.insert(word);
            put(&after).unwrap();
        }
        (1, false) => {
            let mut after: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            after.remove(at);
            bury(lines[at], told);
            put(&after).unwrap();
        }
        (2, false) => {
            let word = word_of(lines[at]);
            machine.with(|view| erase::forget(view, &word)).unwrap();
            bury(lines[at], told);
        }
        (3, false) if random.below(3) == 0 => {
            lines.iter().for_each(|line| bury(line, told));
            let session = format!("talk-{which}").parse().unwrap();
            machine.with(|view| erase::delete(view, &[erase::RecordRef::Session(session)])).unwrap();
        }
        (4, false) if random.below(3) == 0 => {
            lines.iter().for_each(|line| bury(line, told));
            fs::remove_file(&path).unwrap();
        }
        _ => {
            let content = format!("In run {seed} somebody said {word} and more");
            let messages = json!([{ "role": "user", "content": content }]);
            let session = format!("talk-{which}");
            let drafts = serde_json::from_value::<Vec<Draft>>(messages).unwrap();
            machine.with(|view| append(view, &session.parse().unwrap(), &drafts)).unwrap();
            told.said.insert(word);
        }
    }
}

fn step(random: &mut Random, seed: u64, number: usize, machine: &mut Machine, told: &mut AcknowledgedWrites) {
    let touchable: Vec<(String, String)> = machine
        .memories()
        .into_iter()
        .filter(|(_, (text, _))| !told.kept.contains(text))
        .map(|(id, (text, _))| (id, text))
        .collect();
    let one = (!touchable.is_empty()).then(|| touchable[random.below(touchable.len())].clone());
    let text = match random.below(3) {
        0 => format!("Statement {} of run {seed}", random.below(12)),
        _ => format!("Statement with word{seed}x{number}x in it"),
    };
    if random.below(3) == 0 {
        return talk(random, seed, number, machine, told);
    }
    // A refusal, such as a text that exists already, is a step too.
    let _ = match (random.below(12), one) {
        (0, Some((id, _))) => machine.call("memory_update", json!({ "id": id, "content": text })),
        (1, Some((id, _))) => machine.call("memory_store", json!({ "content": text, "supersedes": id })),
        (2, Some((id, _))) => {
            machine.call("memory_feedback", json!({ "id": id, "helpful": number.is_multiple_of(2) }))
        }
        (3, Some((id, old))) => {
            let done = machine.call("memory_delete", json!({ "id": id }));
            let word = old.split(' ').find(|word| word.starts_with("word"));
            told.gone.extend(word.filter(|_| done.is_ok()).map(str::to_owned));
            done
        }
        (4, _) => {
            let value = format!("place {}", random.below(5));
            machine.call("fact_upsert", json!({ "entity": "Petra", "key": "port", "value": value }))
        }
        (5, _) => {
            let _ = machine.call("fact_upsert", json!({ "entity": "Petra", "key": "age", "value": "44" }));
            machine
                .call("alias_add", json!({ "alias": format!("Pia {}", random.below(3)), "entity": "Petra" }))
        }
        (6, _) => {
            let note = machine.note(random.below(3));
            let before = fs::read_to_string(&note).unwrap_or_else(|_| "# Note\n".to_owned());
            let line = format!("- line {number} of run {seed}");
            files::create_folder(note.parent().unwrap()).unwrap();
            files::write_without_sync(&note, format!("{before}{line}\n").as_bytes()).unwrap();
            told.lines.insert(line);
            Ok(Value::Null)
        }
        (7, _) => machine
            .call("task_add", json!({ "description": format!("Task {} of run {seed}", random.below(9)) })),
        (8 | 9, _) => {
            let text = format!("Kept statement {number} of run {seed}");
            let stored = machine.call("memory_store", json!({ "content": text }));
            told.kept.extend(stored.is_ok().then_some(text));
            stored
        }
        _ => machine.call("memory_store", json!({ "content": text })),
    };
}

/// Returns how many processes died.
fn history(seed: u64, count: usize, steps: usize) -> usize {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
    let folders: Vec<TempDir> = (0..count).map(|_| tempfile::tempdir().unwrap()).collect();
    let mut machines: Vec<Machine> = folders.iter().map(|folder| Machine::new(folder.path())).collect();
    let meeting = |machine: &Machine| Place::Folder(machine.carrier.clone());
    let place = meeting(&machines[0]);
    machines[0].with(|view| init(view, &place, "machine 0")).unwrap();
    let phrase = machines[0].with(|view| invite(view)).unwrap();
    for number in 1..count {
        let marker = "nacre-sync.json";
        fs::copy(folders[0].path().join(marker), folders[number].path().join(marker)).unwrap();
        let place = meeting(&machines[number]);
        machines[number].with(|view| join(view, &place, &phrase, &format!("machine {number}"))).unwrap();
        // Clocks are off by a day.
        machines[number].caller.now = noon().plus_days(i64::try_from(number).unwrap() % 3 - 1);
    }
    let devices: Vec<String> =
        machines.iter_mut().map(|machine| machine.with(|view| status(view)).unwrap().device).collect();
    let deliver = |random: &mut Random, whole: bool| {
        for (from, device) in devices.iter().enumerate() {
            for to in 0..count {
                // Each machine's part comes from the machine itself: a sync tool never takes an older copy for newer.
                if from != to && (whole || random.below(2) == 0) {
                    let [own, copy] = [from, to].map(|machine| folders[machine].path().join(device));
                    carry(random, &own, &copy, whole);
                }
            }
        }
    };
    let (mut told, mut died) = (AcknowledgedWrites::default(), 0);
    for number in 0..steps {
        let machine = &mut machines[random.below(count)];
        // Time goes on, on each machine for itself.
        machine.caller.now =
            Time::from_millis(machine.caller.now.as_millis() + i64::try_from(random.below(90_000)).unwrap());
        step(&mut random, seed, number, machine, &mut told);
        match random.below(8) {
            0 | 1 => drop(machine.round()),
            2 => died += usize::from(machine.dying(POINTS[random.below(POINTS.len())], Machine::round)),
            _ => {}
        }
        if random.below(4) == 0 {
            deliver(&mut random, false);
        }
    }
    for _ in 0..7 {
        machines.iter_mut().for_each(|machine| drop(machine.round()));
        deliver(&mut random, true);
    }
    check(seed, &mut machines, &told);
    // A machine that joins learns everything from the logs as they are now.
    let folder = tempfile::tempdir().unwrap();
    for file in all_files(folders[0].path()) {
        let copy = folder.path().join(file.strip_prefix(folders[0].path()).unwrap());
        files::create_folder(copy.parent().unwrap()).unwrap();
        fs::copy(&file, &copy).unwrap();
    }
    let mut joined = Machine::new(folder.path());
    let place = meeting(&joined);
    joined.with(|view| join(view, &place, &phrase, "joined")).unwrap();
    joined.round();
    machines[0].open();
    machines.truncate(1);
    machines.push(joined);
    same_everywhere(seed, &mut machines);
    died
}

/// Checks that all machines have the same records, documents and transcripts.
fn same_everywhere(seed: u64, machines: &mut [Machine]) {
    let states: Vec<String> = machines.iter_mut().map(Machine::state).collect();
    assert!(
        states.windows(2).all(|pair| pair[0] == pair[1]),
        "seed {seed}: {states:?} {}",
        differences(machines)
    );
    let memories: Vec<_> = machines.iter_mut().map(Machine::memories).collect();
    assert!(memories.windows(2).all(|pair| pair[0] == pair[1]), "seed {seed}: {memories:#?}");
    for number in 0..3 {
        let notes: Vec<_> =
            machines.iter().map(|machine| fs::read_to_string(machine.note(number)).ok()).collect();
        assert!(notes.windows(2).all(|pair| pair[0] == pair[1]), "seed {seed}: {notes:#?}");
        let talks: Vec<_> =
            machines.iter().map(|machine| fs::read_to_string(machine.talk(number)).ok()).collect();
        assert!(talks.windows(2).all(|pair| pair[0] == pair[1]), "seed {seed}: {talks:#?}");
    }
    let messages: Vec<_> = machines.iter_mut().map(Machine::messages).collect();
    assert!(messages.windows(2).all(|pair| pair[0] == pair[1]), "seed {seed}: {messages:#?}");
}

fn check(seed: u64, machines: &mut [Machine], told: &AcknowledgedWrites) {
    same_everywhere(seed, machines);
    let memories = machines[0].memories();
    let texts: BTreeSet<&String> = memories.values().map(|(text, _)| text).collect();
    for text in &told.kept {
        assert!(texts.contains(text), "seed {seed}: `{text}` is lost");
    }
    let proposed: String = machines.iter_mut().map(Machine::proposed).collect();
    let notes: String =
        (0..3).filter_map(|number| fs::read_to_string(machines[0].note(number)).ok()).collect();
    for line in &told.lines {
        assert!(
            notes.contains(line) || proposed.contains(line),
            "seed {seed}: `{line}` is lost: {notes}{proposed}"
        );
    }
    let talks: String =
        (0..3).filter_map(|number| fs::read_to_string(machines[0].talk(number)).ok()).collect();
    for word in &told.said {
        assert!(
            talks.contains(&format!("{word} ")),
            "seed {seed}: the message with `{word}` is lost: {talks}"
        );
    }
    for machine in machines.iter_mut() {
        let faults = machine.with(|view| view.check()).unwrap();
        assert_eq!(faults, Vec::<String>::new(), "seed {seed}");
        let (sent, waiting) = (machine.round().sent, machine.with(|view| status(view)).unwrap().waiting);
        assert_eq!((sent, waiting), (0, 0), "seed {seed}: it never comes to rest");
    }
    let memory = MemoryKey::from_phrase(&machines[0].with(|view| invite(view)).unwrap()).unwrap();
    for machine in machines {
        machine.group = None;
        for text in sealed_texts(&memory, &machine.carrier) {
            for word in &told.gone {
                assert!(
                    !text.contains(&format!("{word} ")),
                    "seed {seed}: `{word}` is sealed in the carrier: {text}"
                );
            }
        }
        for file in all_files(machine.home.path()).iter().chain(&all_files(&machine.carrier)) {
            let bytes = fs::read(file).unwrap();
            for word in &told.gone {
                let found = memchr::memmem::find(&bytes, format!("{word} ").as_bytes());
                assert!(found.is_none(), "seed {seed}: `{word}` is in {}", file.display());
            }
        }
    }
}

/// Everything that somebody who has the phrase can read in a carrier.
fn sealed_texts(memory: &MemoryKey, carrier: &Path) -> Vec<String> {
    // Copies that a sync tool makes are its own.
    let is_ours = |file: &PathBuf| !file.to_str().unwrap().contains("copy of");
    let files = all_files(carrier).into_iter().filter(is_ours);
    let packs = files.filter_map(|file| Pack::read(&fs::read(file).unwrap(), memory).ok());
    let texts = packs.flat_map(|pack| {
        (pack.first..)
            .take(pack.slots.len())
            .filter_map(move |number| pack.text(memory, number))
            .collect::<Vec<_>>()
    });
    texts.map(|text| String::from_utf8(text).unwrap()).collect()
}

/// The documents that machines have differently, and what each of them waits for.
fn differences(machines: &mut [Machine]) -> String {
    let sql = "SELECT kind || ' ' || id || ' ' || document FROM sync_records
        UNION ALL SELECT kind || ' ' || id || ' deleted' FROM sync_tombstones";
    let (mut rows, mut text): (Vec<BTreeSet<String>>, _) = (Vec::new(), String::new());
    for machine in machines {
        let found = machine.with(|view| view.read_all(|db| db.rows(sql, (), |row| row.get(0)))).unwrap();
        rows.push(found.into_iter().collect());
        text.push_str(&format!("{:?}\n", machine.with(|view| status(view)).unwrap().problems));
    }
    for (number, own) in rows.iter().enumerate() {
        for row in own.iter().filter(|row| !rows.iter().all(|other| other.contains(*row))) {
            text.push_str(&format!("{number}: {row}\n"));
        }
    }
    text
}

#[test]
fn an_empty_transcript_stayed_where_its_only_line_was_forgotten_before_a_round() {
    let folder = tempfile::tempdir().unwrap();
    let mut machines = [Machine::new(folder.path()), Machine::new(folder.path())];
    let place = Place::Folder(folder.path().to_owned());
    machines[0].with(|view| init(view, &place, "machine 0")).unwrap();
    let phrase = machines[0].with(|view| invite(view)).unwrap();
    machines[1].with(|view| join(view, &place, &phrase, "machine 1")).unwrap();
    let said = json!([{ "role": "user", "content": "Nobody else hears of the xylofanatic" }]);
    let drafts = serde_json::from_value::<Vec<Draft>>(said).unwrap();
    machines[0].with(|view| append(view, &"talk-0".parse().unwrap(), &drafts)).unwrap();
    machines[0].with(|view| erase::forget(view, "xylofanatic")).unwrap();
    machines.iter_mut().for_each(|machine| drop(machine.round()));
    same_everywhere(0, &mut machines);
    assert_eq!(machines[0].round().sent, 0, "it comes to rest");
}

#[test]
fn a_statement_that_lost_was_noted_with_another_time_where_it_had_been_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let mut machines = [Machine::new(folder.path()), Machine::new(folder.path())];
    let place = Place::Folder(folder.path().to_owned());
    machines[0].with(|view| init(view, &place, "machine 0")).unwrap();
    let phrase = machines[0].with(|view| invite(view)).unwrap();
    machines[1].with(|view| join(view, &place, &phrase, "machine 1")).unwrap();
    machines[1].caller.now = noon().plus_days(1);
    let stored = machines[1].call("memory_store", json!({ "content": "The ferry leaves at eight" })).unwrap();
    let id = stored["id"].as_str().unwrap().to_owned();
    machines[1].round();
    machines[0].round();
    let say = |machine: &mut Machine, text: &str| {
        machine.call("memory_update", json!({ "id": id, "content": text })).unwrap();
    };
    // The clock of machine 0 is a day behind, so that its statements lose.
    say(&mut machines[0], "The ferry leaves at nine");
    machines[0].round();
    machines[1].caller.now = noon().plus_days(2);
    say(&mut machines[1], "The ferry leaves at ten");
    // Machine 0 replaces its statement before it hears of the other one.
    say(&mut machines[0], "The ferry leaves at eleven");
    machines[1].round();
    for _ in 0..3 {
        machines.iter_mut().for_each(|machine| drop(machine.round()));
    }
    same_everywhere(0, &mut machines);
    assert_eq!(machines.each_mut().map(|machine| machine.round().sent), [0, 0], "they come to rest");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test asks how long it shall run")]
fn random_histories_end_in_one_state_and_lose_nothing() {
    // `NACRE_SYNC_RUNS=2000` runs the whole bar; `NACRE_SYNC_FROM=n` starts at another seed.
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (from, runs): (u64, u64) =
        (number("NACRE_SYNC_FROM").unwrap_or(0), number("NACRE_SYNC_RUNS").unwrap_or(6));
    let died: usize =
        (from..from + runs).map(|seed| history(seed, 3 + usize::try_from(seed % 3).unwrap(), 40)).sum();
    assert!(runs < 6 || died > 0, "no process died");
}

/// Checks that a word is in no file of two machines, and in nothing that the phrase opens.
fn is_gone_everywhere(machines: &mut [Machine; 2], word: &str, when: &str) {
    let memory = MemoryKey::from_phrase(&machines[0].with(|view| invite(view)).unwrap()).unwrap();
    for machine in machines {
        let sealed = sealed_texts(&memory, &machine.carrier);
        assert!(!sealed.iter().any(|text| text.contains(word)), "{when}: it is sealed in the carrier");
        machine.group = None;
        for file in all_files(machine.home.path()).iter().chain(&all_files(&machine.carrier)) {
            let bytes = fs::read(file).unwrap();
            let found = memchr::memmem::find(&bytes, word.as_bytes());
            assert!(found.is_none(), "{when}: it is in {}", file.display());
        }
        machine.open();
    }
}

#[test]
fn a_line_that_was_removed_from_a_document_stayed_in_the_logs_and_beside_the_document() {
    const BEFORE: &str = "# Boat\n\nThe hull is oak.\n\nThe code is xylofanatic.\n\nThe sail is red.\n";
    const AFTER: &str = "# Boat\n\nThe hull is oak.\n\nThe sail is red.\n";
    for (when, editor, changes) in [
        ("removed where it was written", 0, Some(AFTER)),
        ("removed on the other machine", 1, Some(AFTER)),
        ("the file was deleted", 0, None),
        ("the file was deleted on the other machine", 1, None),
        ("forgotten", 1, Some("forget")),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut machines = [Machine::new(folder.path()), Machine::new(folder.path())];
        let place = Place::Folder(folder.path().to_owned());
        machines[0].with(|view| init(view, &place, "machine 0")).unwrap();
        let phrase = machines[0].with(|view| invite(view)).unwrap();
        machines[1].with(|view| join(view, &place, &phrase, "machine 1")).unwrap();
        let note = machines[0].note(0);
        files::create_folder(note.parent().unwrap()).unwrap();
        files::write_without_sync(&note, BEFORE.as_bytes()).unwrap();
        machines.iter_mut().for_each(|machine| drop(machine.round()));
        // The other machine writes a version too, so that both logs and both databases have the line.
        files::write_without_sync(&machines[1].note(0), format!("{BEFORE}\nMore.\n").as_bytes()).unwrap();
        machines.iter_mut().rev().for_each(|machine| drop(machine.round()));
        let note = machines[editor].note(0);
        match changes {
            Some("forget") => drop(machines[editor].with(|view| erase::forget(view, "xylofanatic")).unwrap()),
            Some(text) => files::write_without_sync(&note, text.as_bytes()).unwrap(),
            None => fs::remove_file(&note).unwrap(),
        }
        for _ in 0..4 {
            machines.iter_mut().for_each(|machine| drop(machine.round()));
        }
        is_gone_everywhere(&mut machines, "xylofanatic", when);
        let texts = machines.each_ref().map(|machine| fs::read_to_string(machine.note(0)).ok());
        assert_eq!((&texts[0], texts[0].is_some()), (&texts[1], changes.is_some()), "{when}");
        assert_eq!(
            machines.each_mut().map(|machine| machine.round().sent),
            [0, 0],
            "{when}: it never comes to rest"
        );
        assert_eq!(machines[0].state(), machines[1].state(), "{when}");
    }
}

#[test]
fn a_new_key_survives_a_process_that_dies_anywhere() {
    for point in KEY_POINTS.iter().copied().chain(["new key adopted"]) {
        let folder = tempfile::tempdir().unwrap();
        let mut machines = [Machine::new(folder.path()), Machine::new(folder.path())];
        let place = Place::Folder(folder.path().to_owned());
        machines[0].with(|view| init(view, &place, "machine 0")).unwrap();
        let phrase = machines[0].with(|view| invite(view)).unwrap();
        machines[1].with(|view| join(view, &place, &phrase, "machine 1")).unwrap();
        for (number, machine) in machines.iter_mut().enumerate() {
            machine
                .call("memory_store", json!({ "content": format!("Stored on machine {number}") }))
                .unwrap();
            machine.round();
        }
        machines[0].round();
        let mut died =
            machines[0].dying(point, |machine| machine.with(|view| replace_key(view, None)).unwrap());
        machines[0].round();
        machines[1].call("memory_store", json!({ "content": "Not sent yet" })).unwrap();
        died |= machines[1].dying(point, Machine::round);
        assert!(died, "{point} was never reached");
        for _ in 0..2 {
            machines.iter_mut().for_each(|machine| drop(machine.round()));
        }
        assert_eq!(machines[0].state(), machines[1].state(), "{point}");
        assert_eq!(machines[0].memories().len(), 3, "{point}");
        let after = machines[1].with(|view| invite(view)).unwrap();
        assert_eq!(after, machines[0].with(|view| invite(view)).unwrap(), "{point}");
        assert_ne!(after, phrase, "{point}");
    }
}
