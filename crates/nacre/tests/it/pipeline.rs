//! Checks that every call passes.

use std::sync::{Arc, Mutex};

use nacre::{Actor, COMPAT_TOOLS, Caller, Role, Settings, TOOLS};
use serde_json::{Value, json};

use crate::sealed::{Place, is_without_folder};

#[test]
fn arguments_are_checked_against_what_is_published() {
    let mut place = Place::new();
    for (tool, arguments, says) in [
        ("memory_store", json!({}), "`content` of `memory_store` is missing"),
        ("memory_store", json!({ "content": "" }), "`content` of `memory_store` is empty"),
        ("memory_store", json!({ "content": "  \n " }), "content is empty"),
        ("memory_store", json!({ "content": 7 }), "`content` of `memory_store` is integer, string is needed"),
        (
            "memory_store",
            json!({ "content": "x".repeat(2001) }),
            "`content` of `memory_store` has 2001 characters, at most 2000 fit",
        ),
        (
            "memory_store",
            json!({ "content": "x", "type": "wish" }),
            "`type` of `memory_store` is `wish`, not one of preference, fact, instruction, context, correction",
        ),
        ("memory_store", json!({ "content": "x", "tag": "y" }), "`tag` of `memory_store` is not an argument"),
        (
            "memory_store",
            json!({ "content": "a\u{0}b" }),
            "`content` of `memory_store` has the control character U+0000; remove it",
        ),
        (
            "memory_store",
            json!({ "content": "a\u{1b}[31m" }),
            "`content` of `memory_store` has the control character U+001B; remove it",
        ),
        ("memory_store", json!([]), "`arguments` of `memory_store` is array, an object is needed"),
        ("memory_search", json!({ "limit": 1.5 }), "`limit` of `memory_search` is number, integer is needed"),
        (
            "memory_search",
            json!({ "limit": 1000 }),
            "`limit` of `memory_search` is 1000, at most 100 is allowed",
        ),
        (
            "memory_search",
            json!({ "scope": ["everything"] }),
            "`scope` of `memory_search` has an item that is `everything`, not one of entries, memory, sessions, sources, graph, items",
        ),
        (
            "memory_search",
            json!({ "query": "x".repeat(20_001) }),
            "`query` of `memory_search` has 20001 characters, at most 20000 fit",
        ),
        (
            "memory_get",
            json!({ "id": "seven" }),
            "`arguments` of `memory_get` can't be read: `seven` is neither a memory id (`mem-…`) nor a memory number",
        ),
        ("memory_stor", json!({}), "there is no tool `memory_stor`"),
    ] {
        let error = place.try_call(tool, arguments).unwrap_err();
        assert_eq!(error.to_string(), says);
    }
    let near =
        place.try_call("memory_store", json!({ "content": "x", "tag": "y" })).unwrap_err().hint().unwrap();
    assert_eq!(near, "did you mean `tags`?");
    assert_eq!(
        place.try_call("memory_stor", json!({})).unwrap_err().hint().unwrap(),
        "did you mean `memory_store`?"
    );
    assert_eq!(place.found(json!({})), [] as [i64; 0], "nothing was stored");
    // An optional argument given as null is one that was left out.
    place.call("memory_store", json!({ "content": "x", "type": null, "tags": null, "supersedes": null }));
}

#[test]
fn a_skill_touches_nothing() {
    let mut place = Place::new();
    place.caller.role = Role::Skill;
    for tool in TOOLS.iter().chain(&COMPAT_TOOLS) {
        let required = tool.input_schema(&Settings::default());
        let mut arguments = json!({});
        for field in required["required"].as_array().into_iter().flatten() {
            let field = field.as_str().unwrap();
            // Where only some words are allowed, one of them.
            let word = required["properties"][field]["enum"].get(0).cloned();
            let list = required["properties"][field]["type"] == "array";
            let number = required["properties"][field]["type"] == "integer";
            let boolean = required["properties"][field]["type"] == "boolean";
            arguments[field] = match word {
                Some(word) => word,
                None if list => json!([]),
                None if number => json!(1),
                None if boolean => json!(true),
                None => "1".into(),
            };
        }
        assert_eq!(place.refused(tool.name, arguments), "role_denied", "{}", tool.name);
    }
}

#[test]
fn a_profile_offers_agents_its_tools_and_a_person_all() {
    let mut place = Place::with("koshi", &[]);
    assert_eq!(place.refused("memory_delete", json!({ "id": 1 })), "not_offered");
    place.store("x");
    place.caller.actor = Actor::Person;
    place.call("memory_delete", json!({ "id": 1 }));
}

#[test]
fn limits_are_counted_per_session_in_the_database() {
    let mut place = Place::with(
        "balanced",
        &["limits.store=3", "limits.supersede=1", "limits.delete=1", "limits.untrusted.store=1"],
    );
    place.store("one");
    place.call("memory_store", json!({ "content": "two", "supersedes": 1 }));
    // A duplicate does not count against the limit.
    place.store("two");
    // A refused call costs nothing either, and nothing of it stays.
    let error = place.try_call("memory_store", json!({ "content": "three", "supersedes": 2 })).unwrap_err();
    assert_eq!(error.to_string(), "this session has used its 1 supersede calls");
    assert!(error.hint().unwrap().contains("limits.supersede"));
    assert_eq!(place.found(json!({ "query": "two" })), [2]);
    place.store("four");
    // A second process of the same session shares the count.
    place.reopen();
    assert_eq!(place.refused("memory_store", json!({ "content": "five" })), "session_limit");
    place.call("memory_delete", json!({ "id": 1 }));
    assert_eq!(place.refused("memory_delete", json!({ "id": 2 })), "session_limit");
    // Another session and a person are not held.
    place.caller.session = "another".parse().unwrap();
    place.store("six");
    place.caller.untrusted = true;
    assert_eq!(place.refused("memory_store", json!({ "content": "seven" })), "session_limit");
    place.caller.session = "test-session".parse().unwrap();
    place.caller.actor = Actor::Person;
    place.store("eight");
    place.check();
}

#[test]
fn the_log_has_every_write_and_refusal_and_no_content() {
    let mut place = Place::with("balanced", &["limits.store=1"]);
    place.store("secret-sounding words nobody else uses");
    place.call("memory_search", json!({ "query": "words" }));
    place.refused("memory_store", json!({ "content": "another of those words" }));
    place.refused("memory_reinforce", json!({ "id": 77 }));
    place.call("memory_delete", json!({ "id": 1 }));
    let mut rows: Vec<Value> = Vec::new();
    place.view().export_audit(|line| rows.push(serde_json::from_str(line).unwrap())).unwrap();
    let told: Vec<(&str, &str)> =
        rows.iter().map(|row| (row["action"].as_str().unwrap(), row["outcome"].as_str().unwrap())).collect();
    assert_eq!(
        told,
        [
            ("memory_store", "done"),
            ("memory_store", "refused"),
            ("memory_reinforce", "refused"),
            ("memory_delete", "done")
        ]
    );
    assert!(!Value::from(rows).to_string().contains("words"));
    assert!(place.view().verify_audit().unwrap().ok);
}

#[test]
fn any_change_or_gap_in_the_log_is_found() {
    if is_without_folder() {
        return;
    }
    for (harm, says) in [
        ("UPDATE audit SET action = 'memory_get' WHERE seq = 2", "row 2 was changed"),
        ("UPDATE audit SET at = at + 1 WHERE seq = 3", "row 3 was changed"),
        ("UPDATE audit SET detail = '{}' WHERE seq = 1", "row 1 was changed"),
        ("DELETE FROM audit WHERE seq = 2", "row 2 is missing"),
        ("DELETE FROM audit WHERE seq = 1", "row 1 is missing"),
        ("DELETE FROM audit WHERE seq = 4", "rows after row 3 are missing"),
        ("DELETE FROM audit", "rows after row 0 are missing"),
        (
            "DELETE FROM audit WHERE seq = 2; UPDATE audit SET seq = seq - 1 WHERE seq > 2",
            "row 2 was changed",
        ),
    ] {
        let mut place = Place::new();
        for content in ["one", "two", "three", "four"] {
            place.store(content);
        }
        assert!(place.view().verify_audit().unwrap().ok);
        let file = place.folder.path().join("groups/main/memory.db");
        rusqlite::Connection::open(file).unwrap().execute_batch(harm).unwrap();
        let verified = place.view().verify_audit().unwrap();
        assert!(!verified.ok && verified.problem.as_deref().unwrap().contains(says), "{harm}: {verified:?}");
    }
}

#[test]
fn credentials_leave_through_no_answer_and_can_not_be_searched() {
    let mut place = Place::new();
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let stored = place.call(
        "memory_store",
        json!({ "content": format!("The deploy token is {secret}"), "tags": [secret] }),
    );
    assert!(stored.text.contains("seems to contain a credential"));
    for (tool, arguments) in [
        ("memory_get", json!({ "id": 1 })),
        ("memory_search", json!({ "query": "deploy" })),
        ("memory_brief", json!({})),
        ("memory_reinforce", json!({ "id": 1 })),
        ("memory_update", json!({ "id": 1, "content": format!("The new deploy token is {secret}") })),
        ("memory_get", json!({ "id": 1 })),
        ("memory_delete", json!({ "id": 1 })),
    ] {
        if tool == "memory_delete" {
            assert_eq!(place.found(json!({ "query": secret })), [] as [i64; 0]);
        }
        let answer = place.call(tool, arguments);
        let whole = format!("{} {}", answer.data, answer.text);
        assert!(!whole.contains(secret), "{tool}: {whole}");
    }
}

#[test]
fn events_follow_the_call_and_carry_the_payload_of_brain() {
    let mut place = Place::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ears = heard.clone();
    place.group.listen(move |event| ears.lock().unwrap().push(serde_json::to_value(event).unwrap()));
    place.store("hello");
    place.call("memory_search", json!({ "query": "hello" }));
    place.call("memory_get", json!({ "id": 1 }));
    place.refused("memory_get", json!({ "id": 2 }));
    place.call("memory_delete", json!({ "id": 1 }));
    let mut heard = heard.lock().unwrap().clone();
    // Every answer is told too.
    let told = heard.len();
    heard.retain(|event| event["event"] != "memory:answer");
    assert_eq!(told - heard.len(), 4);
    let payloads: Vec<(&str, &Value, &Value)> = heard
        .iter()
        .map(|event| {
            (
                event["event"].as_str().unwrap(),
                &event["results"],
                if event["delta"].is_null() { &event["size"] } else { &event["delta"] },
            )
        })
        .collect();
    assert_eq!(
        payloads,
        [
            ("memory:write", &Value::Null, &json!(5)),
            ("memory:search", &json!(1), &Value::Null),
            ("memory:read", &Value::Null, &json!(5)),
            ("memory:write", &Value::Null, &json!(-5)),
        ]
    );
    assert_eq!(heard[1]["query"], "hello");
    // The file has lengths, not words.
    let file = std::fs::read_to_string(place.folder.path().join("telemetry.jsonl")).unwrap();
    assert_eq!(file.lines().count(), told);
    assert!(!file.contains("hello") && file.contains(r#""query":5"#), "{file}");
}

#[test]
fn the_telemetry_file_is_turned_over() {
    let mut place = Place::with("balanced", &["telemetry.max_mb=0"]);
    for number in 0..5 {
        place.store(&format!("entry {number}"));
    }
    let lines = |name: &str| {
        std::fs::read_to_string(place.folder.path().join(name)).map_or(0, |text| text.lines().count())
    };
    assert_eq!((lines("telemetry.jsonl"), lines("telemetry.1.jsonl")), (0, 1));
    let mut quiet = Place::with("balanced", &["telemetry.events=off"]);
    quiet.store("x");
    assert!(!quiet.folder.path().join("telemetry.jsonl").exists());
}

#[test]
fn groups_do_not_see_each_other() {
    let mut place = Place::new();
    let id = place.call("memory_store", json!({ "content": "of main" })).data["id"].clone();
    place.group = place.home.group(&"other".parse().unwrap(), place.caller.now).unwrap();
    assert_eq!(place.refused("memory_get", json!({ "id": id })), "no_entry");
    assert_eq!(place.refused("memory_delete", json!({ "id": id })), "no_entry");
    assert_eq!(place.refused("memory_store", json!({ "content": "x", "supersedes": id })), "no_entry");
    assert_eq!(place.found(json!({})), [] as [i64; 0]);
}

#[test]
fn reading_makes_nothing() {
    let mut place = Place::with("balanced", &["telemetry.events=off"]);
    place.call("memory_search", json!({ "query": "x" }));
    place.call("memory_brief", json!({}));
    assert_eq!(std::fs::read_dir(place.folder.path()).unwrap().count(), 0);
}

#[test]
fn a_database_that_was_replaced_is_noticed() {
    if is_without_folder() {
        return;
    }
    let mut place = Place::new();
    place.store("before");
    let folder = place.folder.path().join("groups/main");
    std::fs::rename(&folder, place.folder.path().join("moved")).unwrap();
    assert_eq!(place.found(json!({})), [] as [i64; 0]);
    place.store("after");
    assert!(folder.join("memory.db").exists());
    assert_eq!(place.found(json!({})), [1]);
}

#[test]
fn the_answers_that_agents_get_are_told_with_their_tokens() {
    let mut place = Place::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ears = heard.clone();
    place.group.listen(move |event| ears.lock().unwrap().push(serde_json::to_value(event).unwrap()));
    let answers = |heard: &Mutex<Vec<Value>>| -> Vec<(String, u64)> {
        let mut heard = heard.lock().unwrap();
        let of =
            |event: &Value| (event["tool"].as_str().unwrap().to_owned(), event["tokens"].as_u64().unwrap());
        let told = heard.iter().filter(|event| event["event"] == "memory:answer").map(of).collect();
        heard.clear();
        told
    };
    place.store("The staging database listens on port 5433");
    let stored = answers(&heard);
    let text = place.call("memory_search", json!({ "query": "staging port" })).text;
    let [(tool, tokens)] = &answers(&heard)[..] else { panic!("one answer") };
    assert_eq!((stored[0].0.as_str(), tool.as_str()), ("memory_store", "memory_search"));
    // About four characters are a token.
    let chars = text.chars().count() as u64;
    assert!((chars / 8..=chars).contains(tokens), "{tokens} tokens of {chars} characters");
    // A call that fails answers nothing, and a person's own calls are not the agent's.
    place.refused("memory_get", json!({ "id": "99" }));
    let caller = Caller::person("p".parse().unwrap(), place.caller.now);
    nacre::call(&mut place.view_of(&caller), "memory_search", json!({ "query": "port" })).unwrap();
    assert_eq!(answers(&heard), []);
}
