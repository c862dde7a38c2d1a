//! Koshi's design, paragraph by paragraph, under the profile `koshi`: the agent recalls by itself with few words and judges
//! what came; the order follows its judgement; nothing is deleted.

use nacre::session::Draft;
use nacre::{Actor, Settings, instructions};
use serde_json::{Value, json};

use crate::maintain::only;
use crate::sealed::Place;

fn place() -> Place {
    Place::with("koshi", &[])
}

fn query(place: &mut Place, words: &str) -> Vec<Value> {
    place.call("memory_query", json!({ "query": words })).data["hits"].as_array().unwrap().clone()
}

fn numbers(hits: &[Value]) -> Vec<i64> {
    hits.iter().map(|hit| hit["number"].as_i64().unwrap()).collect()
}

/// The agent asks by itself and judges what came; ranking follows its judgement; nothing is
/// deleted.
#[test]
fn koshi_ranks_by_what_helped_and_deletes_nothing() {
    let mut place = Place::with("koshi", &[]);
    let settings: &Settings = place.group.settings();
    assert_eq!(
        settings.tools.offer,
        ["memory_store", "memory_query", "memory_reinforce", "memory_demote", "memory_update"]
    );
    assert_eq!((settings.rank.reinforce, settings.rank.demote, settings.entries.max_size_mb), (3, 1, 100.0));
    assert_eq!(place.refused("memory_delete", json!({ "id": 1 })), "not_offered");

    // Tags come as one string; no type is needed; there is no write budget.
    place.call(
        "memory_store",
        json!({ "content": "Payment API HMAC signature: when no request body, signature string must NOT include trailing empty string", "tags": "payments, hmac, api, bug" }),
    );
    for number in 0..120 {
        place.store(&format!("payment note {number}"));
    }
    // Five hits unless told otherwise, named so that they can be judged.
    let answer = place.call("memory_query", json!({ "query": "payment" }));
    assert_eq!(answer.data["hits"].as_array().unwrap().len(), 5);
    assert!(answer.text.starts_with("[id:"));
    assert_eq!(query(&mut place, "payment HMAC signature api")[0]["number"], 1);
    // Tags are searched too.
    assert_eq!(query(&mut place, "bug")[0]["number"], 1);

    // bm25 × e^(0.2 score) × 1 / (1 + 0.01 days): +3 and −1, both directions, reset of the clock.
    place.call("memory_reinforce", json!({ "id": 7 }));
    assert_eq!(query(&mut place, "payment note")[0]["number"], 7);
    for (helped, failed, factor) in [(1, 0, 1.8221f64), (0, 0, 1.0), (0, 1, 0.8187), (0, 5, 0.3679)] {
        let number = place.store(&format!("zebra {helped} {failed}"));
        for (tool, times) in [("memory_reinforce", helped), ("memory_demote", failed)] {
            for _ in 0..times {
                place.call(tool, json!({ "id": number }));
            }
        }
        // A person can have the answer of memory_query explained.
        place.caller.actor = Actor::Person;
        let hits =
            place.call("memory_search", json!({ "query": "zebra", "explain": true })).data["hits"].clone();
        place.caller.actor = Actor::Agent;
        let hit = hits.as_array().unwrap().iter().find(|hit| hit["number"] == number).unwrap();
        let parts = hit["explain"].as_array().unwrap();
        let part = parts
            .iter()
            .find(|part| part["part"] == "reinforcement")
            .map_or(0.0, |part| part["value"].as_f64().unwrap());
        assert!((part.exp() - factor).abs() < 1e-3, "{hit}");
    }
    // A proven memory survives three demotions before it is neutral.
    for _ in 0..3 {
        place.call("memory_demote", json!({ "id": 7 }));
    }
    assert_eq!(
        place.call("memory_update", json!({ "id": 7, "content": "payment note seven, corrected" })).data["score"],
        0
    );
    // Returned and not used: no signal.
    let before = query(&mut place, "payment note 9")[0].clone();
    assert_eq!(before, query(&mut place, "payment note 9")[0]);

    // Correction in place keeps the id; what is wrong is updated, not removed.
    place.later(50);
    let entry = place
        .call("memory_update", json!({ "id": 9, "content": "payment note about refunds", "tags": "refunds" }))
        .data;
    assert_eq!((&entry["number"], &entry["last_hit_at"]), (&json!(9), &json!("2026-03-06T12:00:00.000Z")));

    // Any question is cleaned: URLs, hyphens, operators, single letters.
    for words in ["https://example.org/x?y=z", "pay-ment NEAR(note) \"quoted", "a b c", "col:umn -minus"] {
        place.call("memory_query", json!({ "query": words }));
    }
    // Nothing is purged, however old.
    place.later(4000).reopen();
    assert!(!query(&mut place, "payment note 50").is_empty());
    place.check();
}

/// Design: one database of single memories and the words in them. No vectors, no graph, no files, no network.
#[test]
fn words_are_all_there_is() {
    let mut place = place();
    place.store("The car is parked behind the mill");
    crate::files::put(&place, "MEMORY.md", "- The car is red.\n");
    assert_eq!(query(&mut place, "automobile"), [] as [Value; 0], "the caller finds the synonyms");
    let hits = query(&mut place, "automobile car vehicle");
    assert_eq!(numbers(&hits), [1], "files are no memories here");
    // It can be seen why it matched.
    assert_eq!((&hits[0]["why"][0]["lane"], &hits[0]["why"][0]["words"]), (&json!("bm25"), &json!(["car"])));
    assert_eq!(hits[0]["why"].as_array().unwrap().len(), 1, "{hits:?}");
    // The words to search with are the agent's to find, and so is when to stop.
    for words in [
        "natural synonyms",
        "query again with different words: up to three queries for one message",
        "go on without",
    ] {
        assert!(instructions(place.group.settings()).contains(words), "{words}");
    }
}

/// Recall: nothing is put before the agent; it asks, and what comes has a number to judge it by. It may ask again.
#[test]
fn nothing_comes_unasked() {
    let mut place = place();
    place.store("Petra sails on Sundays");
    let caller = place.caller.clone();
    let turn =
        nacre::turn::run(&mut place.view_of(&caller), &nacre::turn::Request::new("When does Petra sail?"));
    assert_eq!(turn.unwrap().markdown, "");
    let settings = place.group.settings().clone();
    assert_eq!(settings.brief.inject, nacre::settings::Inject::None);
    assert_eq!(settings.boot.inject, nacre::settings::Inject::None);
    let answer = place.call("memory_query", json!({ "query": "Petra sail boat" }));
    assert!(answer.text.starts_with("[id:1]"), "{}", answer.text);
    // Koshi's three rounds are advice to the agent: a fourth call is answered as well.
    for _ in 0..4 {
        assert!(query(&mut place, "nothing of the kind").is_empty());
    }
}

/// A memory has its text, tags, source, times, score and session; who wrote it and when is not the caller's to say.
#[test]
fn a_memory_knows_where_it_came_from() {
    let mut place = place();
    place.call("memory_store", json!({ "content": "Prefers tea", "tags": "drinks, taste" }));
    place.caller.actor = Actor::Person;
    let entry = place.call("memory_get", json!({ "id": 1 })).data;
    place.caller.actor = Actor::Agent;
    assert_eq!((&entry["score"], &entry["tags"]), (&json!(0), &json!(["drinks", "taste"])), "{entry}");
    let provenance = &entry["provenance"];
    assert_eq!(
        (&provenance["source"], &provenance["session"], &provenance["timestamp"]),
        (&json!("agent"), &json!("test-session"), &json!("2026-01-15T12:00:00.000Z")),
        "{entry}"
    );
    for field in ["source", "score", "session_id", "created_at"] {
        assert_eq!(place.refused("memory_store", json!({ "content": "x", field: 1 })), "bad_argument");
    }
}

/// Recency: by the day it was last confirmed, else stored; a confirmation starts it anew, being returned does not.
#[test]
fn what_was_confirmed_lately_is_fresh() {
    let mut place = place();
    place.store("alpha lantern");
    place.store("alpha ladder");
    place.later(100);
    query(&mut place, "alpha");
    place.caller.actor = Actor::Person;
    let recency = |place: &mut Place, number: i64| -> f64 {
        let hits =
            place.call("memory_search", json!({ "query": "alpha", "explain": true })).data["hits"].clone();
        let hit = hits.as_array().unwrap().iter().find(|hit| hit["number"] == number).unwrap().clone();
        let parts = hit["explain"].as_array().unwrap().clone();
        parts
            .iter()
            .find(|part| part["part"] == "recency")
            .map_or(0.0, |part| part["value"].as_f64().unwrap())
            .exp()
    };
    assert!(
        (recency(&mut place, 1) - 0.5).abs() < 1e-3,
        "1 / (1 + 100 * 0.01), though it was returned today"
    );
    place.call("memory_update", json!({ "id": 1, "content": "alpha lantern, repaired" }));
    assert!((recency(&mut place, 1) - 1.0).abs() < 1e-3);
    place.call("memory_reinforce", json!({ "id": 2 }));
    assert!((recency(&mut place, 2) - 1.0).abs() < 1e-3);
}

/// Pruning: only over the size, the lowest by judgement and age, into an archive that is still searched.
#[test]
fn nothing_is_pruned_while_there_is_room() {
    let mut place = place();
    for number in 0..10 {
        place.store(&format!("kestrel note {number}"));
    }
    for _ in 0..8 {
        place.call("memory_demote", json!({ "id": 3 }));
    }
    let caller = place.caller.clone();
    assert_eq!(
        only(&mut place.group, &caller, "prune", "archived"),
        0,
        "at -8 it lives on where there is room"
    );
    let full = ["entries.max_size_mb=0.000001", "entries.prune_percent=10"];
    let mut place = Place::with("koshi", &full);
    for number in 0..10 {
        place.store(&format!("kestrel note {number}"));
    }
    place.call("memory_demote", json!({ "id": 3 }));
    assert_eq!(only(&mut place.group, &caller, "prune", "archived"), 1);
    place.caller.actor = Actor::Person;
    let left = place.found(json!({ "query": "kestrel", "limit": 20 }));
    assert!(left.len() == 9 && !left.contains(&3), "{left:?}");
    assert!(place.found(json!({ "query": "kestrel", "limit": 20, "include_archived": true })).contains(&3));
    let job = nacre::maintain::JOBS.iter().position(|job| job.name == "prune").unwrap();
    assert_eq!(nacre::maintain::jobs(&place.view_of(&caller)).unwrap()[job].schedule, "daily 04:00");
    place.check();
}

/// A summary is stored when a session ends and before it is compacted, by itself.
#[test]
fn a_session_leaves_a_summary() {
    let mut place = Place::with("koshi", &["session.compact_tokens=1000"]);
    let (caller, session) = (place.caller.clone(), "s".parse().unwrap());
    let say = |place: &mut Place, content: String| {
        let draft: Draft = serde_json::from_value(json!({ "role": "user", "content": content })).unwrap();
        nacre::session::append(&mut place.view_of(&caller), &session, &[draft]).unwrap()
    };
    let mut number = 0;
    loop {
        number += 1;
        assert!(number < 200, "it is never compacted");
        let said = say(
            &mut place,
            format!("Remark {number}: Ana decided that bed {} gets tulips next to the mill.", number * 7),
        );
        assert!(said.flush.is_none_or(|flush| flush.prompt.is_none()), "nobody is asked");
        if said.compacted.is_some() {
            break;
        }
    }
    let stored = |place: &mut Place| query(place, "Ana decided tulips mill");
    assert_eq!(stored(&mut place).len(), 1, "before the compaction, and once");
    say(&mut place, "And Ana decided that the mill gets a new roof in May.".into());
    nacre::session::end(&mut place.view_of(&caller), &session).unwrap();
    let hits = stored(&mut place);
    assert_eq!(hits.len(), 2, "at the end, of what was said since");
    place.caller.actor = Actor::Person;
    let entry = place.call("memory_get", json!({ "id": hits[0]["number"] })).data;
    assert_eq!(entry["provenance"]["source"], "narrative", "{entry}");
    // The lines themselves are all there.
    let file = place.group.folder().join("sessions/s.jsonl");
    let said =
        std::fs::read_to_string(file).unwrap().lines().filter(|line| line.contains("\"user\"")).count();
    assert_eq!(said, number + 1);
    place.check();
}

/// Relations, which Koshi puts off: what is returned together brings each other along.
#[test]
fn what_is_recalled_together_is_linked() {
    let mut place = place();
    place.store("Payment signature uses HMAC");
    place.store("Payment onboarding takes a week");
    place.store("Kites need wind");
    for day in 0..3 {
        // The same question within a minute counts once, and what was learned is written with the next write.
        query(place.later(1), "payment");
        place.store(&format!("Day {day} went by"));
    }
    let hits = query(&mut place, "HMAC");
    assert_eq!(hits[0]["number"], 1);
    assert!(numbers(&hits).contains(&2) && !numbers(&hits).contains(&3), "{hits:?}");
    assert!(hits[1]["why"].as_array().unwrap().iter().any(|why| why["lane"] == "linked"), "{hits:?}");
}
