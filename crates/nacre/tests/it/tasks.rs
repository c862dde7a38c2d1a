//! Tasks: what is to be done, in what order, what waits for what, and how each came to stand as it does.

use std::fs;

use nacre::Caller;
use serde_json::{Value, json};

use crate::sealed::{Place, noon};

fn place() -> Place {
    Place::with("balanced", &[r#"tools.offer=["memory_search","task_list","task_add","task_update"]"#])
}

fn add(place: &mut Place, arguments: Value) -> String {
    place.call("task_add", arguments).data["id"].as_str().unwrap().to_owned()
}

fn act(place: &mut Place, action: &str, id: &str) -> Value {
    place.call("task_update", json!({ "action": action, "id": id })).data
}

fn listed(place: &mut Place, arguments: Value) -> Vec<String> {
    let data = place.call("task_list", arguments).data;
    data["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn ready_is_what_waits_for_nothing_by_priority_then_age() {
    let mut place = place();
    add(&mut place, json!({ "description": "old and usual" }));
    place.later(1);
    add(&mut place, json!({ "description": "urgent", "priority": 1, "milestone": "M1" }));
    add(
        &mut place,
        json!({ "description": "after the urgent one", "priority": 0, "blocked_by": ["TASK-002"] }),
    );
    add(&mut place, json!({ "description": "new and usual" }));
    assert_eq!(listed(&mut place, json!({ "ready": true })), ["TASK-002", "TASK-001", "TASK-004"]);
    assert_eq!(listed(&mut place, json!({ "milestone": "M1" })), ["TASK-002"]);
    act(&mut place, "start", "TASK-002");
    assert_eq!(listed(&mut place, json!({ "ready": true })), ["TASK-001", "TASK-004"]);
    assert_eq!(listed(&mut place, json!({}))[0], "TASK-002", "what is under way comes first");
    act(&mut place, "done", "task-2");
    assert_eq!(listed(&mut place, json!({ "ready": true }))[0], "TASK-003");
    // One that is cancelled holds nothing up either.
    place.call("task_update", json!({ "action": "block", "id": "TASK-003", "by": ["1"] }));
    assert!(!listed(&mut place, json!({ "ready": true })).contains(&"TASK-003".into()));
    act(&mut place, "cancel", "TASK-001");
    assert!(listed(&mut place, json!({ "ready": true })).contains(&"TASK-003".into()));
    assert_eq!(listed(&mut place, json!({ "status": "done" })), ["TASK-002"]);
    place.check();
}

#[test]
fn a_status_changes_when_someone_says_so_and_that_is_kept() {
    let mut place = place();
    add(&mut place, json!({ "description": "write it", "acceptance_criteria": ["it is read"] }));
    for (action, status, changed) in [
        ("start", "in_progress", true),
        ("start", "in_progress", false),
        ("done", "done", true),
        ("done", "done", false),
        ("reopen", "pending", true),
        ("cancel", "cancelled", true),
        ("reopen", "pending", true),
        ("done", "done", true),
    ] {
        place.later(1);
        let answer = act(&mut place, action, "TASK-001");
        assert_eq!(
            (&answer["task"]["status"], &answer["changed"]),
            (&json!(status), &json!(changed)),
            "{action}"
        );
        assert_eq!(answer["task"]["completed"].is_string(), status == "done", "{action}");
    }
    assert_eq!(place.refused("task_update", json!({ "action": "start", "id": "1" })), "task_status");
    let task = place.call("task_list", json!({ "id": "TASK-001" })).data["tasks"][0].clone();
    let history: Vec<&str> =
        task["history"].as_array().unwrap().iter().map(|change| change["status"].as_str().unwrap()).collect();
    assert_eq!(history, ["pending", "in_progress", "done", "pending", "cancelled", "pending", "done"]);
    assert_eq!(task["history"][0]["actor"], "agent");
    assert_eq!(task["history"][0]["session"], "test-session");
    let said = place.call("task_list", json!({ "id": "1" })).text;
    assert!(said.contains("accepted when: it is read") && said.contains("in_progress by agent"), "{said}");
}

#[test]
fn nothing_waits_for_itself() {
    let mut place = place();
    for number in 1..=4 {
        add(&mut place, json!({ "description": format!("number {number}") }));
    }
    let block = |id: &str, by: &[&str]| json!({ "action": "block", "id": id, "by": by });
    assert_eq!(place.refused("task_update", block("1", &["1"])), "self_blocked");
    place.call("task_update", block("1", &["2"]));
    place.call("task_update", block("2", &["3"]));
    let cycle = place.try_call("task_update", block("3", &["1"])).unwrap_err();
    assert_eq!(cycle.code(), "block_cycle");
    assert!(cycle.to_string().contains("TASK-003 → TASK-001 → TASK-002 → TASK-003"), "{cycle}");
    // All or nothing: the first of these was no cycle.
    assert_eq!(place.refused("task_update", block("3", &["4", "1"])), "block_cycle");
    assert_eq!(place.call("task_list", json!({ "id": "3" })).data["tasks"][0]["blocked_by"], Value::Null);
    let unknown = place.try_call("task_update", block("1", &["7", "4", "9"])).unwrap_err();
    assert_eq!(unknown.to_string(), "there is no TASK-007, TASK-009 in this group");
    let unknown =
        place.try_call("task_add", json!({ "description": "x", "blocked_by": ["TASK-099"] })).unwrap_err();
    assert_eq!(unknown.code(), "no_task");
    // A waiting task can't be started or done.
    let blocked = place.try_call("task_update", json!({ "action": "start", "id": "1" })).unwrap_err();
    assert_eq!(blocked.to_string(), "TASK-001 is blocked by TASK-002");
    assert_eq!(place.refused("task_update", json!({ "action": "done", "id": "1" })), "blocked");
    place.call("task_update", json!({ "action": "unblock", "id": "1" }));
    act(&mut place, "start", "1");
    place.check();
}

#[test]
fn a_milestone_is_archived_when_it_is_over() {
    let mut place = place();
    add(&mut place, json!({ "description": "build the gate", "milestone": "M1" }));
    add(&mut place, json!({ "description": "paint the gate", "milestone": "M1" }));
    add(&mut place, json!({ "description": "another gate", "milestone": "M2" }));
    let archive = json!({ "action": "archive", "milestone": "M1" });
    act(&mut place, "done", "1");
    let open = place.try_call("task_update", archive.clone()).unwrap_err();
    assert_eq!(open.to_string(), "milestone `M1` has open tasks: TASK-002");
    act(&mut place, "cancel", "2");
    assert_eq!(place.call("task_update", archive.clone()).data["archived"], json!(["TASK-001", "TASK-002"]));
    assert_eq!(listed(&mut place, json!({})), ["TASK-003"]);
    assert_eq!(listed(&mut place, json!({ "archived": true })).len(), 2);
    let again = place.try_call("task_update", archive).unwrap_err();
    assert_eq!((again.code(), again.hint().unwrap().as_str()), ("no_milestone", "the milestones are M2"));
    assert_eq!(place.refused("task_update", json!({ "action": "reopen", "id": "1" })), "task_status");
    // Out of searches as well; what is left is found.
    let hits =
        place.call("memory_search", json!({ "query": "gate", "scope": ["items"] })).data["hits"].clone();
    let ids: Vec<&str> = hits.as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["TASK-003"]);
    assert_eq!(hits[0]["status"], "pending");
    place.check();
    let caller = place.caller.clone();
    nacre::reindex(&mut place.view_of(&caller)).unwrap();
    place.check();
}

#[test]
fn bad_tasks_are_refused_with_what_is_wrong() {
    let mut place = place();
    for (arguments, code) in [
        (json!({ "description": "" }), "bad_argument"),
        (json!({ "description": "   \n " }), "bad_task"),
        (json!({ "description": "x".repeat(2001) }), "bad_argument"),
        (json!({ "description": "x", "priority": -1 }), "bad_argument"),
        (json!({ "description": "x", "milestone": "a\nb" }), "bad_task"),
        (json!({ "description": "x", "acceptance_criteria": [""] }), "bad_task"),
        (json!({ "description": "x", "acceptance_criteria": vec!["y"; 101] }), "bad_task"),
        (json!({ "description": "x", "blocked_by": ["first"] }), "bad_argument"),
    ] {
        assert_eq!(place.refused("task_add", arguments.clone()), code, "{arguments}");
    }
    for (arguments, code) in [
        (json!({ "action": "start" }), "bad_argument"),
        (json!({ "action": "archive" }), "bad_argument"),
        (json!({ "action": "explode", "id": "1" }), "bad_argument"),
        (json!({ "action": "block", "id": "1" }), "bad_argument"),
        (json!({ "action": "done", "id": "TASK-404" }), "no_task"),
    ] {
        assert_eq!(place.refused("task_update", arguments.clone()), code, "{arguments}");
    }
    assert_eq!(listed(&mut place, json!({})), [""; 0]);
    // A skill writes nothing.
    place.caller.role = nacre::Role::Skill;
    assert_eq!(place.refused("task_add", json!({ "description": "x" })), "role_denied");
}

/// The example of Brain's design, word for word.
const EXAMPLE: &str = r#"{
  "tasks": [
    {
      "id": "TASK-001",
      "milestone": "M1",
      "priority": 1,
      "status": "pending",
      "description": "Implement session locking",
      "acceptance_criteria": ["Lock acquired before execution", "Lock released after"],
      "created": "2026-02-05",
      "completed": null,
      "blocked_by": []
    }
  ]
}"#;

fn import(place: &mut Place, text: &str) -> Result<nacre::project::TaskImportReport, nacre::Error> {
    let file = place.folder.path().join("in.json");
    #[expect(clippy::disallowed_methods, reason = "a test writes its own files")]
    fs::write(&file, text).unwrap();
    let caller = Caller::person("a-person".parse().unwrap(), place.caller.now);
    nacre::project::import_tasks(&mut place.view_of(&caller), &file)
}

fn exported(place: &mut Place, file: &str) -> String {
    let out = place.folder.path().join("export");
    nacre::export::export(&place.view(), &out).unwrap();
    fs::read_to_string(out.join(file)).unwrap()
}

#[test]
fn tasks_json_goes_round() {
    let mut first = place();
    assert_eq!(import(&mut first, EXAMPLE).unwrap().added, 1);
    let expected: Value = serde_json::from_str(EXAMPLE).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&exported(&mut first, "tasks.json")).unwrap(), expected);
    assert_eq!(
        import(&mut first, EXAMPLE).unwrap(),
        nacre::project::TaskImportReport { present: 1, ..Default::default() }
    );
    add(&mut first, json!({ "description": "Write it up", "blocked_by": ["1"], "milestone": "M2" }));
    add(&mut first, json!({ "description": "Over", "priority": 9 }));
    act(&mut first, "done", "3");
    let file = exported(&mut first, "tasks.json");
    let mut second = place();
    assert_eq!(import(&mut second, &file).unwrap().added, 3);
    assert_eq!(exported(&mut second, "tasks.json"), file);
    second.check();
    // Ids that others have here are given anew, and what waits for them waits for these.
    let mut third = place();
    add(&mut third, json!({ "description": "was here before" }));
    let done = import(&mut third, &file).unwrap();
    assert_eq!((done.added, done.renamed["TASK-001"].as_str()), (3, "TASK-002"));
    let waits = third.call("task_list", json!({ "id": &done.renamed["TASK-002"] })).data["tasks"][0].clone();
    assert_eq!(waits["blocked_by"], json!(["TASK-002"]));
    third.check();
}

#[test]
fn an_export_of_everything_brings_tasks_back_with_their_past() {
    let mut first = place();
    add(&mut first, json!({ "description": "one", "milestone": "M1" }));
    add(&mut first, json!({ "description": "two", "blocked_by": ["1"] }));
    first.later(1);
    act(&mut first, "done", "1");
    first.call("task_update", json!({ "action": "archive", "milestone": "M1" }));
    let records = exported(&mut first, "nacre.json");
    let mut second = place();
    let caller = Caller::person("a-person".parse().unwrap(), noon());
    let from = first.folder.path().join("export");
    assert_eq!(nacre::export::import(&mut second.view_of(&caller), &from).unwrap().tasks, 2);
    assert_eq!(nacre::export::import(&mut second.view_of(&caller), &from).unwrap().tasks, 0, "twice is once");
    assert_eq!(exported(&mut second, "nacre.json"), records);
    let history = second.call("task_list", json!({ "id": "1" })).data["tasks"][0]["history"].clone();
    assert_eq!(history.as_array().unwrap().len(), 2);
    second.check();
}

#[test]
fn a_bad_tasks_json_changes_nothing_and_says_why() {
    let mut place = place();
    let task = |id: &str, by: &str| {
        format!(
            r#"{{"id":"{id}","status":"pending","description":"d {id}","created":"2026-02-05","blocked_by":[{by}]}}"#
        )
    };
    let file = |tasks: &[String]| format!("{{\"tasks\":[{}]}}", tasks.join(","));
    for (text, said) in [
        ("".to_owned(), "EOF"),
        ("[1]".to_owned(), "invalid type"),
        (r#"{"tasks":[{"id":"7x"}]}"#.to_owned(), "not a task id"),
        (file(&[task("TASK-001", ""), task("TASK-001", "")]), "same id"),
        (file(&[task("TASK-001", r#""TASK-009""#)]), "TASK-009, which is not in the file"),
        (file(&[task("TASK-001", r#""TASK-001""#)]), "blocked by itself"),
        (
            file(&[
                task("TASK-001", r#""TASK-002""#),
                task("TASK-002", r#""TASK-003""#),
                task("TASK-003", r#""TASK-001""#),
            ]),
            "TASK-003 → TASK-001 → TASK-002 → TASK-003",
        ),
        (file(&[task("TASK-001", "").replace("pending", "frozen")]), "unknown status `frozen`"),
        (file(&[task("TASK-001", "").replace("2026-02-05", "soon")]), "`soon`, which is not a time"),
        (file(&[task("TASK-001", "").replace("d TASK-001", "")]), "needs a description"),
    ] {
        let error = import(&mut place, &text).unwrap_err();
        assert_eq!(error.code(), "bad_tasks", "{text}");
        assert!(error.to_string().contains(said), "{error}");
    }
    assert_eq!(listed(&mut place, json!({})), [""; 0]);
    // The list alone will do, and other programs' words for how a task stands.
    let text = format!("[{}]", task("TASK-001", "").replace("pending", "Completed"));
    assert_eq!(import(&mut place, &text).unwrap().added, 1);
    assert_eq!(listed(&mut place, json!({ "status": "done" })), ["TASK-001"]);
}

#[test]
fn an_import_with_the_last_number_left_room_for_no_other_task() {
    let mut place = place();
    let forged = EXAMPLE.replace("TASK-001", &format!("TASK-{}", i64::MAX));
    assert_ne!(forged, EXAMPLE);
    assert_eq!(import(&mut place, &forged).unwrap_err().code(), "bad_tasks");
    assert_eq!(add(&mut place, json!({ "description": "still possible" })), "TASK-001");
}

#[test]
fn a_long_chain_of_tasks_took_the_cube_of_its_length() {
    let mut place = place();
    let tasks: Vec<Value> = (1..=600)
        .map(|n| {
            let by: Vec<String> = (n > 1).then(|| format!("TASK-{:03}", n - 1)).into_iter().collect();
            json!({ "id": format!("TASK-{n:03}"), "status": "todo", "description": format!("step {n}"), "created": "2026-01-01", "blocked_by": by })
        })
        .collect();
    assert_eq!(import(&mut place, &json!({ "tasks": tasks }).to_string()).unwrap().added, 600);
    let circle = place.try_call("task_update", json!({ "action": "block", "id": "1", "by": ["600"] }));
    let said = circle.unwrap_err().to_string();
    assert!(said.contains("TASK-001 → TASK-600 → TASK-599"), "{said}");
}
