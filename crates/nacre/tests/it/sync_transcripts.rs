//! Conversations on synced machines: each transcript is the same everywhere, and what was deleted of it is gone everywhere.
#![allow(clippy::disallowed_methods, reason = "a test writes what a person would")]

use std::fs;
use std::path::Path;

use nacre::Caller;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::maintain::only;
use crate::sealed::{Place, noon};
use crate::sync::{Machine, contains, files, machines, meet};

fn file(session: &str) -> String {
    format!("sessions/{session}.jsonl")
}

impl Machine {
    fn say(&mut self, session: &str, text: &str) {
        let messages = json!([{ "role": "user", "content": text }]);
        self.call("session_append", json!({ "id": session, "messages": messages }));
    }

    /// The messages that a search finds.
    fn heard(&self) -> Vec<String> {
        self.place.rows("SELECT ref, text, origin FROM passages WHERE kind = 'message' ORDER BY ref")
    }

    fn found(&mut self, query: &str) -> Vec<Value> {
        let found = self.call("memory_search", json!({ "query": query, "scope": ["sessions"] }));
        found["hits"].as_array().unwrap().clone()
    }
}

/// Lets machines meet, and checks that they have the same transcripts and messages.
fn meet_and_compare(all: &mut [Machine], sessions: &[&str]) {
    meet(all);
    meet(all);
    for session in sessions {
        let texts: Vec<_> = all.iter().map(|machine| machine.read(&file(session))).collect();
        assert!(texts.windows(2).all(|pair| pair[0] == pair[1]), "{session}: {texts:#?}");
    }
    let heard: Vec<_> = all.iter().map(Machine::heard).collect();
    assert!(heard.windows(2).all(|pair| pair[0] == pair[1]), "{heard:#?}");
}

fn size(folder: &Path) -> u64 {
    files(folder).iter().map(|file| fs::metadata(file).unwrap().len()).sum()
}

#[test]
fn a_conversation_travels_as_it_grows() {
    let (folder, mut all) = machines::<2>();
    for number in 0..60 {
        all[0].say("harbour", &format!("Remark {number}: the pilot boat Corvina leaves at {number} past"));
    }
    meet_and_compare(&mut all, &["harbour"]);
    assert_eq!(all[1].read(&file("harbour")).unwrap().lines().count(), 60);
    assert!(!all[1].found("pilot boat Corvina").is_empty());
    let context = |machine: &mut Machine| {
        machine.call("session_context", json!({ "id": "harbour" }))["messages"].clone()
    };
    assert_eq!(context(&mut all[0]), context(&mut all[1]));
    let list = all[1].call("session_list", json!({}));
    assert_eq!(list["sessions"][0]["format"], "transcript");
    // One more message is no new copy of the conversation.
    let before = size(folder.path());
    all[0].say("harbour", "The lock keeper waved");
    meet_and_compare(&mut all, &["harbour"]);
    let grown = size(folder.path()) - before;
    assert!(grown < 1_500, "{grown} bytes for one message");
    // The conversation goes on on the other machine, and then on both at once.
    all[1].say("harbour", "Then it went on over here");
    meet_and_compare(&mut all, &["harbour"]);
    all[0].say("harbour", "Said on the first machine");
    all[1].say("harbour", "Said on the second machine");
    meet_and_compare(&mut all, &["harbour"]);
    let text = all[0].read(&file("harbour")).unwrap();
    assert_eq!(text.lines().count(), 64);
    let (first, second) = (text.find("on the first"), text.find("on the second"));
    assert!(first.is_some() && second.is_some(), "{text}");
    for machine in &mut all {
        assert_eq!((machine.round().sent, machine.status().waiting), (0, 0));
    }
}

#[test]
fn a_transcript_that_somebody_edits_is_the_same_everywhere() {
    let (_folder, mut all) = machines::<3>();
    for text in ["The first remark", "The second remark", "The third remark is a vermilion one"] {
        all[0].say("edited", text);
    }
    meet_and_compare(&mut all, &["edited"]);
    let text = all[1].read(&file("edited")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let inserted = lines[0].replace("msg_001", "by-hand").replace("The first", "An inserted");
    let changed =
        [lines[0].replace("first", "changed first"), inserted, lines[1].to_owned()].join("\n") + "\n";
    all[1].write(&file("edited"), &changed);
    meet_and_compare(&mut all, &["edited"]);
    assert_eq!(all[2].read(&file("edited")).unwrap(), changed);
    assert_eq!(all[2].heard().len(), 3);
    assert!(all.iter().all(|machine| !contains(machine.place.folder.path(), "vermilion")));
    // A message that was said after it, on a machine that did not know of the edit, stays.
    all[0].say("edited", "The last remark");
    fs::write(all[2].place.group.folder().join(file("edited")), "").unwrap();
    meet_and_compare(&mut all, &["edited"]);
    assert_eq!(all[1].read(&file("edited")).unwrap().lines().count(), 1);
}

#[test]
fn a_word_that_was_forgotten_is_in_no_file_of_any_machine() {
    let (folder, mut all) = machines::<2>();
    all[0].say("kitchen", "The recipe asks for saffron");
    all[0].say("kitchen", "The secret spice is xylofanatic");
    all[1].say("other", "A talk about xylofanatic pepper here");
    meet_and_compare(&mut all, &["kitchen", "other"]);
    let before = size(folder.path());
    all[1].call("memory_forget", json!({ "matter": "xylofanatic", "confirm": true }));
    // A machine that did not know of it yet says it again.
    all[0].say("kitchen", "Once more the xylofanatic spice was named");
    meet_and_compare(&mut all, &["kitchen", "other"]);
    for machine in &mut all {
        assert!(!contains(machine.place.folder.path(), "xylofanatic"));
        assert_eq!(machine.read(&file("kitchen")).unwrap().lines().count(), 1);
        assert_eq!(machine.read(&file("other")), None);
        assert_eq!(machine.status().machines.iter().map(|one| one.deletions_missing).sum::<usize>(), 0);
    }
    assert!(size(folder.path()) < before + 2_500, "the sealed lines are gone");
}

#[test]
fn a_session_that_was_deleted_is_gone_everywhere_and_stays_so() {
    let (_folder, mut all) = machines::<2>();
    all[0].say("gone", "Nobody needs this quixotropic talk");
    all[0].say("kept", "Somebody needs this one");
    meet_and_compare(&mut all, &["gone", "kept"]);
    let copy = all[1].read(&file("gone")).unwrap();
    all[1].call("record_delete", json!({ "ids": ["session:gone"] }));
    meet_and_compare(&mut all, &["gone", "kept"]);
    for machine in &mut all {
        assert_eq!(machine.read(&file("gone")), None);
        assert!(!contains(machine.place.folder.path(), "quixotropic"));
        assert_eq!(machine.call("session_list", json!({}))["sessions"].as_array().unwrap().len(), 1);
    }
    // A deletion is final: a copy that somebody puts back goes again.
    all[0].write(&file("gone"), &copy);
    meet_and_compare(&mut all, &["gone", "kept"]);
    assert_eq!(all[0].read(&file("gone")), None);
}

fn machine_with(folder: &Path, settings: &[&str]) -> Machine {
    let mut place = Place::with("balanced", settings);
    place.caller = Caller::person("person".parse().unwrap(), noon());
    Machine { place, folder: folder.to_owned() }
}

fn two_with(settings: &[&str]) -> (TempDir, [Machine; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let mut all = [machine_with(folder.path(), settings), machine_with(folder.path(), settings)];
    let phrase = all[0].init("machine 0");
    all[1].join(&phrase, "machine 1");
    (folder, all)
}

#[test]
fn private_conversations_stay_private_or_on_their_machine() {
    for travels in [true, false] {
        let (_folder, mut all) = two_with(&[&format!("sync.private={travels}")]);
        all[0].say("secret", "Nobody else may hear this");
        let caller = all[0].place.caller.clone();
        all[0].place.caller.visibility = nacre::Visibility::Shared;
        all[0].say("open", "Everybody may hear that");
        all[0].place.caller = caller;
        meet(&mut all);
        let sessions = all[1].place.rows("SELECT id, private FROM sessions ORDER BY id");
        let expected: &[&str] = if travels { &["open | 0", "secret | 1"] } else { &["open | 0"] };
        assert_eq!(sessions, expected);
        assert_eq!(all[1].read(&file("secret")).is_some(), travels);
        // Going on with it in private makes it private on both machines.
        all[0].say("open", "And this is not for all");
        meet(&mut all);
        assert_eq!(
            all[1].place.rows("SELECT private FROM sessions WHERE id = 'open'"),
            [if travels { "1" } else { "0" }]
        );
    }
}

#[test]
fn packed_and_rewritten_transcripts_travel() {
    let (folder, mut all) = two_with(&["session.compact=rewrite", "session.keep_recent=4"]);
    for number in 0..30 {
        all[0].say(
            "old",
            &format!("Remark {number}: the garden gets a bed of tulips behind the shed, number {number}"),
        );
    }
    meet_and_compare(&mut all, &["old"]);
    all[0].call("session_compact", json!({ "id": "old" }));
    meet_and_compare(&mut all, &["old", "archive/old~1"]);
    assert!(all[1].read("sessions/archive/old~1.jsonl").is_some());
    assert_eq!(all[1].heard().len(), 30, "a rewrite deletes nothing");
    all[1].place.later(40);
    let caller = all[1].place.caller.clone();
    assert_eq!(only(&mut all[1].place.group, &caller, "sessions", "sessions"), 1);
    assert_eq!(all[1].read(&file("old")), None);
    assert_eq!((all[1].round().sent, all[0].round().received), (0, 0), "packing is a matter of each machine");
    all[0].say("old", "And on it goes");
    meet_and_compare(&mut all, &["old"]);
    // A machine that joins finds what was said before the rewrite, too.
    let phrase = nacre::sync::invite(&all[0].place.view()).unwrap();
    let mut third = Machine::new(folder.path());
    third.join(&phrase, "machine 2");
    assert_eq!(third.heard(), all[0].heard());
    // A line that is only in the original is deleted on all machines as well.
    all[0].call("memory_forget", json!({ "matter": "number 3", "confirm": true }));
    meet_and_compare(&mut all, &["old", "archive/old~1"]);
    assert!(
        all.iter().all(|machine| !contains(machine.place.folder.path(), "number 3\\")),
        "it is still there"
    );
}

#[test]
fn what_was_said_on_one_machine_is_distilled_on_that_one() {
    let (_folder, mut all) = machines::<2>();
    all[0].say("talk", "I moved to Lisbon in May");
    meet(&mut all);
    assert_eq!(all[1].place.rows("SELECT message FROM distil_read"), ["talk/msg_001"]);
    assert_eq!(all[0].place.rows("SELECT message FROM distil_read"), Vec::<String>::new());
}

#[test]
fn two_homes_with_the_same_conversation_have_it_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = [Machine::new(folder.path()), Machine::new(folder.path())];
    all[0].say("same", "Said before the machines met");
    all[0].say("same", "And answered, too");
    let text = all[0].read(&file("same")).unwrap();
    all[1].write(&file("same"), &text);
    let phrase = all[0].init("machine 0");
    all[1].join(&phrase, "machine 1");
    meet(&mut all);
    assert_eq!(all.each_ref().map(|machine| machine.read(&file("same"))), [Some(text.clone()), Some(text)]);
}

#[test]
fn names_that_lead_out_of_the_folder_are_no_transcripts() {
    let (_folder, mut all) = machines::<2>();
    all[0].say("../../etc/passwd", "A session may have any name");
    meet_and_compare(&mut all, &["%2E.%2F..%2Fetc%2Fpasswd"]);
    assert!(all[1].read("sessions/%2E.%2F..%2Fetc%2Fpasswd.jsonl").is_some());
}
