//! Conversations of other programs, brought in and found (SPEC S7, Q1).

use serde_json::{Value, json};

use crate::sealed::Place;

/// Two friends talk, over two days; `session`, `speaker` and `text` are enough.
const TALK: &str = r#"{"id":"1","session":"monday","speaker":"Ana","text":"What did you do at the weekend?","timestamp":"2026-01-05T09:00:00Z"}
{"id":"2","session":"monday","speaker":"Ben","text":"I took the ferry to the lighthouse.","timestamp":"2026-01-05T09:01:00Z"}
{"id":"3","session":"monday","speaker":"Ana","text":"Lovely! My sister adopted a puppy.","timestamp":"2026-01-05T09:02:00Z"}
{"id":"1","session":"friday","speaker":"Ben","text":"How is the little dog of your sister?","timestamp":"2026-01-09T18:00:00Z"}
{"id":"2","session":"friday","speaker":"Ana","text":"She is called Pepper and chews everything.","timestamp":"2026-01-09T18:01:00Z"}
"#;

fn import(place: &mut Place, text: &str) -> (usize, usize) {
    let caller = place.caller.clone();
    let done = place.group.import_session(&caller, text.as_bytes(), "talk.jsonl", |_| {}).unwrap();
    (done.added, done.present)
}

fn best(place: &mut Place, query: &str) -> Value {
    place.call("memory_search", json!({ "query": query, "scope": ["sessions"] })).data["hits"][0].clone()
}

#[test]
fn what_was_said_is_found_by_who_said_it_and_when() {
    let mut place = Place::new();
    assert_eq!(import(&mut place, TALK), (5, 0));
    for (query, session, message) in [
        ("Where did Ben go with the ferry?", "monday", "2"),
        ("What is the dog of Ana's sister called?", "friday", "2"),
        ("What did Ben do on January 5?", "monday", "2"),
    ] {
        let hit = best(&mut place, query);
        assert_eq!((&hit["session"], &hit["message"]), (&json!(session), &json!(message)), "{query}: {hit}");
    }
    // Sessions are searched when asked for, and only then.
    assert_eq!(place.call("memory_search", json!({ "query": "ferry lighthouse" })).data["hits"], json!([]));
    place.check();
}

#[test]
fn an_import_twice_is_an_import_once() {
    let mut place = Place::new();
    let half: String = TALK.lines().take(2).map(|line| format!("{line}\n")).collect();
    assert_eq!(import(&mut place, &half), (2, 0));
    // One that was cut off goes on where it was.
    assert_eq!(import(&mut place, TALK), (3, 2));
    assert_eq!(import(&mut place, TALK), (0, 5));
    place.check();
}

#[test]
fn the_score_of_a_hit_is_the_sum_of_its_parts() {
    let mut place = Place::new();
    import(&mut place, TALK);
    let hits = place
        .call(
            "memory_search",
            json!({ "query": "puppy of the sister", "scope": ["sessions"], "explain": true }),
        )
        .data;
    for hit in hits["hits"].as_array().unwrap() {
        let worth: f64 =
            hit["explain"].as_array().unwrap().iter().map(|part| part["value"].as_f64().unwrap()).sum();
        assert!((hit["score"].as_f64().unwrap() - 1.0 / (1.0 + (-worth).exp())).abs() < 2e-3, "{hit}");
    }
    // A part that is left out is left out.
    let mut without = Place::with("balanced", &[r#"search.without=["vectors", "author"]"#]);
    import(&mut without, TALK);
    let hits = without
        .call(
            "memory_search",
            json!({ "query": "What did Ana say?", "scope": ["sessions"], "explain": true }),
        )
        .data;
    assert!(
        !hits.to_string().contains(r#""part":"vectors""#) && !hits.to_string().contains(r#""part":"author""#),
        "{hits}"
    );
}

#[test]
fn an_index_made_anew_finds_the_same_messages() {
    let mut place = Place::new();
    import(&mut place, TALK);
    place.store("Ana's sister has a dog");
    let ask = |place: &mut Place| {
        ["sister dog", "ferry", "What did Ana say on Friday?"].map(|query| {
            place
                .call("memory_search", json!({ "query": query, "scope": ["sessions", "entries"] }))
                .data
                .to_string()
        })
    };
    let before = ask(&mut place);
    let caller = place.caller.clone();
    assert_eq!(place.group.reindex(&caller).unwrap(), 6);
    assert_eq!(ask(&mut place), before);
    place.check();
}

#[test]
fn an_export_brings_sessions_along() {
    let mut place = Place::new();
    import(&mut place, TALK);
    let (first, second) = (place.folder.path().join("first"), place.folder.path().join("second"));
    place.group.export(&first, place.caller.now).unwrap();
    let mut other = Place::new();
    let caller = other.caller.clone();
    assert_eq!(other.group.import(&caller, &first).unwrap().messages, 5);
    other.group.export(&second, caller.now).unwrap();
    let read = |folder: &std::path::Path| std::fs::read_to_string(folder.join("sessions.jsonl")).unwrap();
    assert_eq!(read(&first), read(&second));
    assert_eq!(best(&mut other, "Where did Ben go with the ferry?")["message"], "2");
    assert_eq!(other.group.import(&caller, &first).unwrap().messages, 0);
    other.check();
}
