//! Writes of an agent in a private session: hidden from shared sessions, seen by all private ones, and shown to shared
//! ones when a person says so.

use nacre::{Caller, Visibility, daily};
use serde_json::{Value, json};

use crate::sealed::{Place, is_without_folder};

const CANARY: &str = "vexquillor";
const LOG: &str = "memory/2026-01-15.md";

/// Every tool that these tests use, offered to agents.
const OFFER: &str = "tools.offer=[\"memory_store\", \"memory_search\", \"memory_get\", \"memory_grep\", \"memory_brief\", \
    \"memory_boot\", \"memory_write\", \"graph_search\", \"fact_upsert\", \"fact_list\", \"relation_add\", \"relation_list\", \
    \"entity_list\"]";

fn shared(place: &Place) -> Caller {
    Caller { visibility: Visibility::Shared, session: "channel".parse().unwrap(), ..place.caller.clone() }
}

fn as_shared(place: &mut Place, tool: &str, arguments: Value) -> String {
    let caller = shared(place);
    let mut view = place.view_of(&caller);
    match nacre::call(&mut view, tool, arguments) {
        Ok(answer) => format!("{}\n{}", answer.text, answer.data),
        Err(error) => error.to_string(),
    }
}

/// Every way to read, with the answer that a session gets.
fn answers(place: &mut Place, caller: &Caller) -> Vec<(&'static str, String)> {
    let asked = [
        ("memory_search", json!({ "query": "who settles the lawsuit?" })),
        ("memory_search", json!({ "query": CANARY, "scope": ["entries", "memory", "sessions"] })),
        ("memory_grep", json!({ "pattern": CANARY })),
        ("memory_brief", json!({})),
        ("memory_boot", json!({})),
        ("memory_get", json!({ "id": 1 })),
        ("memory_get", json!({ "path": LOG })),
        ("graph_search", json!({ "query": "Who is the lawyer of Petra?" })),
        ("fact_list", json!({})),
        ("relation_list", json!({})),
        ("entity_list", json!({})),
    ];
    let mut view = place.view_of(caller);
    let answer = |(tool, arguments): (&'static str, Value)| match nacre::call(&mut view, tool, arguments) {
        Ok(answer) => (tool, format!("{}\n{}", answer.text, answer.data)),
        Err(error) => (tool, error.to_string()),
    };
    asked.into_iter().map(answer).collect()
}

/// A place in which an agent wrote down what it was told in private.
fn told_in_private(settings: &[&str]) -> Place {
    let settings: Vec<&str> = settings.iter().copied().chain([OFFER]).collect();
    let mut place = Place::with("balanced", &settings);
    place.store(&format!("The lawsuit settles with {CANARY}"));
    place.call("fact_upsert", json!({ "entity": "Petra", "key": "lawyer", "value": CANARY }));
    place.call(
        "relation_add",
        json!({ "subject": "Petra", "predicate": "works_with", "object": format!("{CANARY} Ltd") }),
    );
    place.call("memory_write", json!({ "content": format!("The lawsuit: {CANARY} pays") }));
    place
}

#[test]
fn a_shared_session_read_what_a_private_one_wrote_down() {
    let mut place = told_in_private(&[]);
    let (own, other) = (place.caller.clone(), shared(&place));
    for (tool, answer) in answers(&mut place, &other) {
        let answer = answer.replace(&format!("`{CANARY}`"), "");
        assert!(!answer.contains(CANARY), "{tool}: {answer}");
    }
    // Nothing changes for the person's other sessions.
    let again = Caller { session: "another-agent".parse().unwrap(), ..own };
    for (tool, answer) in answers(&mut place, &again) {
        assert!(answer.contains(CANARY), "{tool}: {answer}");
    }
}

#[test]
fn with_the_setting_off_shared_sessions_read_it() {
    let mut place = told_in_private(&["visibility.private_writes=false"]);
    let other = shared(&place);
    let seen = answers(&mut place, &other);
    let hidden: Vec<_> = seen.iter().filter(|(_, answer)| !answer.contains(CANARY)).collect();
    assert!(hidden.is_empty(), "{hidden:?}");
}

#[test]
fn what_shared_sessions_and_the_person_write_is_seen_by_all() {
    let mut place = Place::with("balanced", &[OFFER]);
    as_shared(&mut place, "memory_store", json!({ "content": "The quay is blue" }));
    as_shared(&mut place, "memory_write", json!({ "content": "The blue quay is open" }));
    place.as_person("memory_store", json!({ "content": "The blue quay has a crane" }));
    let theirs = as_shared(&mut place, "memory_search", json!({ "query": "blue quay" }));
    let ours = place.call("memory_search", json!({ "query": "blue quay" })).data.to_string();
    for line in ["is blue", "is open", "has a crane"] {
        assert!(theirs.contains(line) && ours.contains(line), "{line}: {theirs} {ours}");
    }
    let boot = place.call("memory_boot", json!({})).text;
    assert!(is_without_folder() || boot.contains("The blue quay is open"), "{boot}");
}

/// The name of a shared session's log is the same whether private sessions have logged or not.
#[test]
fn the_path_of_a_log_told_of_a_private_one() {
    let mut places = [Place::new(), Place::new()];
    places[1].call("memory_write", json!({ "content": "said in private" }));
    let paths = places.each_mut().map(|place| {
        let caller = shared(place);
        let mut view = place.view_of(&caller);
        let draft = daily::Draft { text: "said in public".into(), ..daily::Draft::default() };
        let done = daily::append(&mut view, &draft).unwrap();
        (done.path, done.line, daily::today(&view).unwrap().text)
    });
    assert_eq!(paths[0], paths[1]);
    assert_eq!(paths[0].0, "memory/2026-01-15-shared.md");
    let both = daily::today(&places[1].view()).unwrap().text;
    assert!(both.contains("in private") && both.contains("in public"), "{both}");
}

/// A log that a person made and did not mark is read by shared sessions, so private lines go elsewhere.
#[test]
fn a_private_line_went_into_a_log_that_others_read() {
    if is_without_folder() {
        return;
    }
    let mut place = Place::new();
    crate::files::put(&place, LOG, "# Mine\n\n- bought bread\n");
    let done = place.call("memory_write", json!({ "content": CANARY })).data;
    assert_eq!(done["path"], "memory/2026-01-15-private.md");
    assert_eq!(crate::files::read(&place, LOG).unwrap(), b"# Mine\n\n- bought bread\n");
    assert!(!as_shared(&mut place, "memory_grep", json!({ "pattern": "quillor" })).contains(CANARY));
}

#[test]
fn a_correction_is_as_private_as_what_it_replaces() {
    let mut place = Place::new();
    place.as_person("memory_store", json!({ "content": "The gate opens at six" }));
    place.call("memory_store", json!({ "content": "The gate opens at seven", "supersedes": 1 }));
    place.call("memory_store", json!({ "content": "The vault opens at six" }));
    place.call("memory_store", json!({ "content": "The vault opens at seven", "supersedes": 3 }));
    // Saying it again hides nothing.
    place.as_person("memory_store", json!({ "content": "The bridge opens at nine" }));
    place.call("memory_store", json!({ "content": "The bridge opens at nine" }));
    let theirs = as_shared(&mut place, "memory_search", json!({ "query": "opens at" }));
    assert!(theirs.contains("gate opens at seven") && theirs.contains("bridge"), "{theirs}");
    assert!(!theirs.contains("vault"), "{theirs}");
}

#[test]
fn a_person_shows_single_records_to_shared_sessions() {
    let mut place = told_in_private(&[]);
    let seen = |place: &mut Place| {
        ["memory_search", "fact_list", "relation_list"].map(|tool| {
            let arguments = if tool == "memory_search" { json!({ "query": "lawsuit" }) } else { json!({}) };
            as_shared(place, tool, arguments).contains(CANARY)
        })
    };
    assert_eq!(seen(&mut place), [false; 3]);
    let ids = json!(["1", "fact-1", "relation-1"]);
    // An agent does not decide what others see.
    assert_eq!(place.refused("record_share", json!({ "ids": ids })), "people_only");
    // If one id is wrong, nothing changes.
    let wrong = json!({ "ids": ["1", "fact-99"] });
    let person = Caller { actor: nacre::Actor::Person, ..place.caller.clone() };
    assert!(nacre::call(&mut place.view_of(&person), "record_share", wrong).is_err());
    assert_eq!(seen(&mut place), [false; 3]);
    place.as_person("record_share", json!({ "ids": ids }));
    assert_eq!(seen(&mut place), [true; 3]);
    place.as_person("record_share", json!({ "ids": ids, "undo": true }));
    assert_eq!(seen(&mut place), [false; 3]);
    place.check();
}

#[test]
fn a_person_shows_a_line_of_a_private_log() {
    let mut place = Place::new();
    for text in ["The heron nests", "The bittern calls", "The crane rests"] {
        place.call("memory_write", json!({ "content": text }));
    }
    let there = |place: &mut Place, word: &str| as_shared(place, "memory_grep", json!({ "pattern": word }));
    assert!(!there(&mut place, "[b]ittern").contains("calls"));
    let shown = place.as_person("record_share", json!({ "ids": [format!("{LOG}:7")] })).data;
    assert_eq!(shown["ids"], json!(["memory/2026-01-15-shared.md:3"]), "{shown}");
    let others =
        as_shared(&mut place, "memory_search", json!({ "query": "bittern calls heron nests crane" }));
    assert!(others.contains("bittern calls") && !others.contains("heron nests"), "{others}");
    let all = daily::today(&place.view()).unwrap().text;
    for text in ["heron nests", "bittern calls", "crane rests"] {
        assert_eq!(all.matches(text).count(), 1, "{all}");
    }
    let hidden = json!({ "ids": ["memory/2026-01-15-shared.md:3"], "undo": true });
    place.as_person("record_share", hidden);
    let others = as_shared(&mut place, "memory_search", json!({ "query": "bittern calls" }));
    assert!(!others.contains("bittern calls"), "{others}");
    place.check();
}
