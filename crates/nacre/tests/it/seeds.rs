//! What the seeds say, walked claim by claim under the profile named after each, for the parts that exist.

use nacre::{Actor, Settings};
use serde_json::{Value, json};

use crate::sealed::Place;

/// Seed 000: typed entries, a brief that warns, small budgets, relevance from the text alone.
#[test]
fn seed_000_carapace_typed_entries_and_a_brief_that_warns() {
    let mut place = Place::with("carapace", &[]);
    // Four tools, and a type with every entry.
    assert_eq!(
        place.group.settings().tools.offer,
        ["memory_store", "memory_search", "memory_brief", "memory_delete"]
    );
    assert_eq!(place.refused("memory_store", json!({ "content": "no type" })), "bad_argument");
    let schema = nacre::tool("memory_store").unwrap().input_schema(place.group.settings());
    assert_eq!(schema["required"], json!(["content", "type"]));
    assert_eq!(place.refused("memory_update", json!({ "id": 1, "content": "x" })), "not_offered");

    // The flag follows from the type; provenance comes from the call, and the caller can give neither.
    let stored = place.call(
        "memory_store",
        json!({ "type": "preference", "content": "User prefers TypeScript over JavaScript for new projects", "tags": ["coding", "typescript"] }),
    );
    assert_eq!(stored.data["behavioral"], true);
    assert_eq!(
        place.refused("memory_store", json!({ "type": "fact", "content": "x", "behavioral": true })),
        "bad_argument"
    );

    // No filters: newest first. Text, tags (AND) and type narrow it; relevance is 0 to 1.
    place.later(1).call(
        "memory_store",
        json!({ "type": "fact", "content": "User's dog is named Luna", "tags": ["pets"] }),
    );
    assert_eq!(place.found(json!({})), [2, 1]);
    assert_eq!(place.found(json!({ "tags": ["coding", "typescript"] })), [1]);
    assert_eq!(place.found(json!({ "tags": ["coding", "pets"] })), [] as [i64; 0]);
    let hit =
        place.call("memory_search", json!({ "query": "dog named", "explain": true })).data["hits"][0].clone();
    assert!((0.0..=1.0).contains(&hit["relevance"].as_f64().unwrap()));
    // Neither age nor reinforcement changes the order: relevance is all there is.
    let parts: Vec<&Value> = hit["explain"].as_array().unwrap().iter().map(|part| &part["part"]).collect();
    assert_eq!(parts, ["relevance"]);

    // What is superseded is kept for review, out of brief and search, and purged after 90 days.
    place.call(
        "memory_store",
        json!({ "type": "fact", "content": "User's dog is named Stella", "supersedes": 2 }),
    );
    assert_eq!(place.found(json!({ "query": "dog" })), [3]);
    assert_eq!(place.found(json!({ "query": "dog", "include_superseded": true })).len(), 2);

    // The brief: behavioural entries under a warning, one line each, superseded ones left out.
    let brief = place.later(2).call("memory_brief", json!({}));
    let markdown = brief.text;
    let (warning, preference) =
        (markdown.find("> Suggestions").unwrap(), markdown.find("- [preference]").unwrap());
    assert!(
        warning < preference
            && preference < markdown.find("- [fact] User's dog is named Stella (2d ago)").unwrap()
    );
    assert!(!markdown.contains("Luna"));
    assert_eq!((&brief.data["entry_count"], &brief.data["brief_count"]), (&json!(2), &json!(2)));

    // 20 stores, 5 supersedes, 5 deletes a session.
    let limits = &place.group.settings().limits;
    assert_eq!((limits.store, limits.supersede, limits.delete), (20, 5, 5));
    for number in 0..17 {
        place.call("memory_store", json!({ "type": "context", "content": format!("context {number}") }));
    }
    assert_eq!(
        place.refused("memory_store", json!({ "type": "context", "content": "one too many" })),
        "session_limit"
    );
    for number in 4..9 {
        place.call("memory_delete", json!({ "id": number }));
    }
    assert_eq!(place.refused("memory_delete", json!({ "id": 9 })), "session_limit");
    place.later(91).reopen();
    assert_eq!(place.found(json!({ "query": "dog", "include_superseded": true })), [3]);
    place.check();
}

/// Seed 004: the agent asks by itself and judges what came; ranking follows its judgement; nothing is
/// deleted.
#[test]
fn seed_004_koshi_ranks_by_what_helped_and_deletes_nothing() {
    let mut place = Place::with("koshi", &[]);
    let settings: &Settings = place.group.settings();
    assert_eq!(
        settings.tools.offer,
        ["memory_store", "memory_query", "memory_reinforce", "memory_demote", "memory_update"]
    );
    assert_eq!((settings.rank.reinforce, settings.rank.demote, settings.entries.max_size_mb), (3, 1, 100));
    assert_eq!(place.refused("memory_delete", json!({ "id": 1 })), "not_offered");

    // Tags come as one string; no type is needed; there is no write budget.
    place.call(
        "memory_store",
        json!({ "content": "Payment API HMAC signature: when no request body, signature string must NOT include trailing empty string", "tags": "payments, hmac, api, bug" }),
    );
    for number in 0..120 {
        place.store(&format!("payment note {number}"));
    }
    let query = |place: &mut Place, words: &str| -> Vec<Value> {
        place.call("memory_query", json!({ "query": words })).data["hits"].as_array().unwrap().clone()
    };
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
        // What agents are shown by memory_query, a person can have explained.
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

/// The default: both of them, for what exists, without their sharp edges.
#[test]
fn seeds_together_balanced_honours_both() {
    let mut place = Place::new();
    place.store("no type needed");
    place.call("memory_reinforce", json!({ "id": 1 }));
    place.call("memory_store", json!({ "content": "typed all the same", "type": "instruction" }));
    assert!(place.call("memory_brief", json!({})).text.contains("### How to work"));
    let limits = &place.group.settings().limits;
    assert_eq!((limits.store, limits.supersede, limits.delete, limits.untrusted.store), (100, 20, 10, 20));
    place.call("memory_delete", json!({ "id": 1 }));
    place.check();
}
