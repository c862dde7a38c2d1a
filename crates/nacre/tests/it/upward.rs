//! The care for MEMORY.md and the upward flow.
#![expect(clippy::disallowed_methods, reason = "a test writes files as any editor does")]

use std::fs;

use nacre::promote::{self, Promotion, Step};
use nacre::workspace::look_at_memory_file;
use nacre::{Caller, MemoryFile, Role, Visibility, proposal};
use serde_json::json;

use crate::sealed::{Place, is_without_folder};

fn put(place: &Place, path: &str, text: &str) {
    let path = place.group.folder().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn get(place: &Place, path: &str) -> String {
    place.carry();
    fs::read_to_string(place.group.folder().join(path)).unwrap_or_default()
}

fn person(place: &Place) -> Caller {
    Caller::person("desk".parse().unwrap(), place.caller.now)
}

fn step(place: &mut Place, step: Step) -> Promotion {
    let caller = person(place);
    nacre::workspace::sync(&mut place.view_of(&caller)).unwrap();
    promote::promote(&mut place.view_of(&caller), step).unwrap()
}

fn texts(promotion: &Promotion) -> Vec<&str> {
    promotion.lines.iter().map(|line| line.text.as_str()).collect()
}

fn look(place: &mut Place) -> MemoryFile {
    let caller = person(place);
    nacre::workspace::sync(&mut place.view_of(&caller)).unwrap();
    place.view().settle().unwrap();
    look_at_memory_file(&place.view_of(&caller), 3).unwrap()
}

fn stalest(place: &mut Place) -> Vec<String> {
    look(place).stalest.into_iter().map(|stale| stale.text).collect()
}

#[test]
fn a_memory_file_that_is_too_long_names_its_stalest_lines() {
    let mut place = Place::with("balanced", &["memory_file.max_lines=6", "write.memory=\"open\""]);
    put(
        &place,
        "MEMORY.md",
        "# M\n\n- The heron nests by the lake\n- Staging runs on kestrel\n- Tea at four\n",
    );
    let found = look(&mut place);
    assert_eq!((found.lines, found.over, found.advice()), (5, false, None));
    // A search, a read or a turn counts as use; the record used last is the least stale.
    place.later(1).call("memory_search", json!({ "query": "heron nests", "scope": ["memory"] }));
    assert_eq!(
        stalest(&mut place),
        ["- Staging runs on kestrel", "- Tea at four", "- The heron nests by the lake"]
    );
    place.later(1).call("memory_get", json!({ "path": "MEMORY.md", "from": 4, "to": 4 }));
    assert_eq!(
        stalest(&mut place),
        ["- Tea at four", "- The heron nests by the lake", "- Staging runs on kestrel"]
    );
    // A write over the limit is done, and its answer asks to prune.
    let answer =
        place.later(1).call("memory_write", json!({ "path": "MEMORY.md", "content": "- One\n- Two\n" })).data;
    assert_eq!(answer["written"], true);
    let note = answer["note"].as_str().unwrap();
    assert!(
        note.contains("7 lines of 6") && note.contains("line 5 \"- Tea at four\" (not used since"),
        "{note}"
    );
    // A line that is moved is the same line.
    put(&place, "MEMORY.md", "- Tea at four\n# M\n- Staging runs on kestrel\n- New\n");
    assert_eq!(stalest(&mut place), ["- Tea at four", "- Staging runs on kestrel", "- New"]);
    // Others are told nothing of it.
    let shared = Caller { visibility: Visibility::Shared, ..person(&place) };
    assert_eq!(look_at_memory_file(&place.view_of(&shared), 3).unwrap().lines, 0);
    place.check();
}

#[test]
fn logs_become_working_memory_and_that_becomes_memory() {
    let mut place = Place::new();
    put(
        &place,
        "memory/2026-01-10.md",
        "- [decision|i=0.9] Postgres it is\n- [note|i=0.5] too old for today\n",
    );
    put(
        &place,
        "memory/2026-01-15.md",
        "# Day\n- [decision|i=0.7] Keep REST for six months\n- [question|i=0.5] Who tests it?\n- [note|i=0.2] small\n- no tag\n",
    );
    put(&place, "memory/active-context.md", "# Now\r\n\r\n## Recent Decisions\r\n* Apollo, not Yoga\r\n");
    let before = get(&place, "memory/active-context.md");
    let done = step(&mut place, Step::Context);
    assert_eq!(texts(&done), ["Keep REST for six months", "Who tests it?"]);
    assert_eq!(done.lines[0].source, "memory/2026-01-15.md:2");
    // Nothing is written by itself.
    assert_eq!(get(&place, "memory/active-context.md"), before);
    let caller = person(&place);
    let shown = proposal::approve(&mut place.view_of(&caller), done.proposals[0]).unwrap();
    assert_eq!(shown.sources, ["memory/2026-01-15.md:2", "memory/2026-01-15.md:3"]);
    assert_eq!(
        get(&place, "memory/active-context.md"),
        "# Now\r\n\r\n## Recent Decisions\r\n* Apollo, not Yoga\r\n* Keep REST for six months\r\n\r\n## Open Questions\r\n\r\n- Who tests it?\r\n"
    );
    // And from there on.
    let done = step(&mut place, Step::Memory);
    assert_eq!(texts(&done), ["Postgres it is (2026-01-10)", "Apollo, not Yoga", "Keep REST for six months"]);
    proposal::approve(&mut place.view_of(&caller), done.proposals[0]).unwrap();
    let memory = "# Long-Term Memory\n\n## Decisions & Lessons\n\n- Postgres it is (2026-01-10)\n- Apollo, not Yoga\n- Keep REST for six months\n";
    assert_eq!(get(&place, "MEMORY.md"), memory);
    // An approved promotion can be undone, and is not proposed again.
    proposal::revert(&mut place.view_of(&caller), done.proposals[0]).unwrap();
    assert_eq!(get(&place, "MEMORY.md"), "");
    for step_ in [Step::Context, Step::Memory] {
        assert_eq!(texts(&step(&mut place, step_)), Vec::<&str>::new());
    }
}

#[test]
fn what_was_denied_is_not_proposed_again() {
    let mut place = Place::new();
    put(&place, "memory/2026-01-14.md", "- [decision|i=0.9] Postgres it is\n");
    let done = step(&mut place, Step::Memory);
    // Asked twice before anyone decided: nothing new either.
    assert_eq!(step(&mut place, Step::Memory).proposals, Vec::<i64>::new());
    let caller = person(&place);
    proposal::deny(&mut place.view_of(&caller), done.proposals[0], "no").unwrap();
    // Also not in other words' clothes: another day, another tag.
    put(&place, "memory/2026-01-15.md", "- [milestone|i=1] Postgres  it is.\n- [decision|i=0.8] And Redis\n");
    assert_eq!(texts(&step(&mut place, Step::Memory)), ["And Redis (2026-01-15)"]);
}

#[test]
fn what_machines_and_nacre_itself_wrote_goes_nowhere() {
    let mut place = Place::new();
    let log = "- [cron|i=0.9] backup done\n- [Heartbeat|i=1] alive\n<!-- nacre:memory -->\n- [decision|i=0.9] recalled\n\
        <!-- /nacre:memory -->\n```\n- [decision|i=0.9] in code\n```\n> - [decision|i=0.9] quoted\n";
    put(&place, "memory/2026-01-15.md", log);
    put(&place, "memory/archive/2026-01-01.md", "- [decision|i=0.9] of the archive\n");
    for one in Step::ALL {
        assert_eq!(texts(&step(&mut place, *one)), Vec::<&str>::new(), "{one}");
    }
}

#[test]
fn what_is_private_stays_where_others_do_not_see_it() {
    let mut place = Place::new();
    put(&place, "memory/2026-01-15.md", "---\nprivate: true\n---\n- [decision|i=0.9] the heron sleeps\n");
    // Both files are private, as the log is.
    assert_eq!(texts(&step(&mut place, Step::Context)), ["the heron sleeps"]);
    assert_eq!(texts(&step(&mut place, Step::Memory)), ["the heron sleeps (2026-01-15)"]);
    for (role, visibility, code) in
        [(Role::Skill, Visibility::Private, "role_denied"), (Role::Admin, Visibility::Shared, "hidden_file")]
    {
        let caller = Caller { role, visibility, ..person(&place) };
        let refused = promote::promote(&mut place.view_of(&caller), Step::Memory);
        assert_eq!(refused.unwrap_err().code(), code);
    }
}

#[test]
fn memory_becomes_facts() {
    // The graph reads MEMORY.md by itself; told not to, it gets what is approved.
    let mut place = Place::with("balanced", &["graph.documents=false"]);
    put(&place, "MEMORY.md", "# M\n\n## Keystone\n- port: 3000\n");
    let done = step(&mut place, Step::Facts);
    assert_eq!(texts(&done), ["Keystone: port = 3000"]);
    assert_eq!(done.lines[0].source, "MEMORY.md:4");
    let caller = person(&place);
    proposal::approve(&mut place.view_of(&caller), done.proposals[0]).unwrap();
    let found = place.call("graph_search", json!({ "query": "Keystone port" }));
    assert!(found.text.contains("3000"), "{}", found.text);
    // It is as private as the file it comes from.
    place.caller.visibility = Visibility::Shared;
    let found = place.call("graph_search", json!({ "query": "Keystone port" }));
    assert!(!found.text.contains("3000"), "{}", found.text);
    assert_eq!(step(&mut place, Step::Facts).proposals, Vec::<i64>::new());
    // And what it has taken in needs no proposal.
    let mut place = Place::new();
    put(&place, "MEMORY.md", "# M\n\n## Keystone\n- port: 3000\n");
    assert_eq!(step(&mut place, Step::Facts).proposals, Vec::<i64>::new());
}

#[test]
fn corrections_become_lessons() {
    let mut place = Place::new();
    place.call("memory_store", json!({ "content": "Never deploy on a Friday", "type": "correction" }));
    place.call("memory_store", json!({ "content": "The sky is blue", "type": "fact" }));
    put(
        &place,
        "memory/2026-01-15.md",
        "- [lesson|i=0.7] Ask before deleting files\n- [note|i=0.7] no lesson\n",
    );
    let done = step(&mut place, Step::Lessons);
    assert_eq!(texts(&done), ["Never deploy on a Friday", "Ask before deleting files"]);
    assert!(done.lines[0].source.starts_with("mem-"));
    let caller = person(&place);
    for number in &done.proposals {
        proposal::approve(&mut place.view_of(&caller), *number).unwrap();
    }
    let lessons = nacre::turn::lessons(&place.view_of(&caller)).unwrap();
    let lessons: Vec<&str> = lessons.iter().map(|lesson| lesson.text.as_str()).collect();
    assert_eq!(lessons, ["Ask before deleting files", "Never deploy on a Friday"]);
    assert_eq!(step(&mut place, Step::Lessons).proposals, Vec::<i64>::new());
}

#[test]
fn lessons_that_proved_themselves_become_principles() {
    if is_without_folder() {
        return;
    }
    let mut place = Place::new();
    put(
        &place,
        "SOUL.md",
        "# Soul\n\n## Core Principles\n\n- **Be brief**: short answers\n\n## Voice\nWarm.\n",
    );
    let caller = person(&place);
    nacre::call(&mut place.view_of(&caller), "lesson_add", json!({ "text": "Never use emojis" })).unwrap();
    assert_eq!(step(&mut place, Step::Soul).proposals, Vec::<i64>::new());
    let db = rusqlite::Connection::open(place.group.folder().join("memory.db")).unwrap();
    db.execute("UPDATE lessons SET injected = 9, kept = 9", []).unwrap();
    place.later(31);
    let done = step(&mut place, Step::Soul);
    assert_eq!(texts(&done), ["**Lesson 1**: Never use emojis"]);
    assert!(done.lines[0].source.starts_with("lesson 1 (learned 31 days ago"));
    let caller = person(&place);
    proposal::approve(&mut place.view_of(&caller), done.proposals[0]).unwrap();
    let soul = "# Soul\n\n## Core Principles\n\n- **Be brief**: short answers\n- **Lesson 1**: Never use emojis\n\n## Voice\nWarm.\n";
    assert_eq!(get(&place, "SOUL.md"), soul);
}

#[test]
fn a_credential_does_not_get_any_further() {
    let mut place = Place::new();
    let key = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    put(&place, "memory/2026-01-15.md", &format!("- [decision|i=0.9] The key is {key}\n"));
    let done = step(&mut place, Step::Memory);
    assert!(!done.lines[0].text.contains(key), "{done:?}");
    assert_eq!(step(&mut place, Step::Memory).proposals, Vec::<i64>::new());
}
