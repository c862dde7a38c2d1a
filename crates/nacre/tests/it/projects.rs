//! Projects: memories know the project in which they were written, prefer it softly, and hide nothing.

use std::path::PathBuf;

use nacre::turn::{self, Exchange};
use nacre::{Actor, Caller, Visibility};
use serde_json::{Value, json};

use crate::sealed::Place;

/// Works in a folder of this name, next to the home.
fn work_in(place: &mut Place, folder: &str) -> PathBuf {
    let path = place.folder.path().join("work").join(folder);
    std::fs::create_dir_all(&path).unwrap();
    place.caller.project_folder = Some(path.clone());
    path
}

fn projects(place: &mut Place) -> Vec<Value> {
    let found = place.call("memory_search", json!({ "limit": 100 })).data;
    let mut hits = found["hits"].as_array().unwrap().clone();
    hits.sort_by_key(|hit| hit["number"].as_i64());
    hits.iter().map(|hit| hit["project"].clone()).collect()
}

/// Returns the project of the newest session.
fn session_project(place: &mut Place) -> Value {
    let caller = Caller { actor: Actor::Person, ..place.caller.clone() };
    let listed = nacre::call(&mut place.view_of(&caller), "session_list", json!({})).unwrap();
    listed.data["sessions"][0]["project"].clone()
}

#[test]
fn a_memory_did_not_know_its_project() {
    let mut place = Place::new();
    place.store("Stored before anything was known of projects");
    work_in(&mut place, "heron");
    place.store("The port is 7070");
    work_in(&mut place, "otter");
    place.store("The owner is Ana");
    place.call("memory_store", json!({ "content": "Reviews are by Ida", "project": "heron" }));
    // A correction stays where the corrected memory belongs.
    place.call("memory_store", json!({ "content": "The port is 7171", "supersedes": 2 }));
    assert_eq!(projects(&mut place), [Value::Null, json!("otter"), json!("heron"), json!("heron")]);
    let shown = place.call("memory_get", json!({ "id": 3 })).data;
    assert_eq!(shown["provenance"]["project"], "otter");
    place.check();
}

#[test]
fn two_folders_of_one_name_were_one_project() {
    let mut place = Place::new();
    work_in(&mut place, "api");
    place.store("The first");
    work_in(&mut place, "client/api");
    place.store("The second");
    let third = work_in(&mut place, "client/other/api");
    std::fs::create_dir_all(third.parent().unwrap().join("x/other/api")).unwrap();
    place.store("The third");
    work_in(&mut place, "x/other/api");
    place.store("The fourth");
    work_in(&mut place, "api");
    place.store("The fifth");
    assert_eq!(projects(&mut place), ["api", "client/api", "other/api", "api-2", "api"]);
    place.check();
}

#[test]
fn a_project_that_was_moved_keeps_its_name() {
    let mut place = Place::new();
    let old = work_in(&mut place, "heron");
    place.store("The first");
    std::fs::remove_dir(&old).unwrap();
    work_in(&mut place, "moved/heron");
    place.store("The second");
    assert_eq!(projects(&mut place), ["heron", "heron"]);
}

#[test]
fn a_search_prefers_the_current_project_and_says_what_comes_from_another() {
    let mut place = Place::new();
    place.store("The deploy command is make ship");
    work_in(&mut place, "heron");
    place.store("The deploy command is make release");
    work_in(&mut place, "otter");
    place.store("The deploy command is make push");
    for (folder, first) in [("heron", 2), ("otter", 3)] {
        work_in(&mut place, folder);
        let found = place.call("memory_search", json!({ "query": "deploy command", "explain": true }));
        let hits = found.data["hits"].as_array().unwrap();
        assert_eq!((hits.len(), &hits[0]["number"]), (3, &json!(first)), "{folder}: {}", found.text);
        let parts = hits[0]["explain"].as_array().unwrap();
        assert!(parts.iter().any(|part| part["part"] == "project"), "{parts:?}");
        let other = if folder == "heron" { "otter" } else { "heron" };
        assert_eq!(found.text.matches(&format!(", from project {other})")).count(), 1, "{}", found.text);
        assert_eq!(found.text.matches("from project").count(), 1, "{}", found.text);
    }
    // Relevance counts more than the project.
    place.store("The river is cold");
    work_in(&mut place, "heron");
    assert_eq!(place.found(json!({ "query": "river cold" }))[0], 4);
}

#[test]
fn a_search_can_be_restricted_to_a_project() {
    let mut place = Place::new();
    place.store("The deploy command is make ship");
    work_in(&mut place, "heron");
    place.store("The deploy command is make release");
    work_in(&mut place, "otter");
    place.store("The deploy command is make push");
    assert_eq!(place.found(json!({ "query": "deploy command", "project": "heron" })), [2]);
    assert_eq!(place.found(json!({ "project": "heron" })), [2]);
    let refused = place.try_call("memory_search", json!({ "project": "hreon" })).unwrap_err();
    assert_eq!(refused.code(), "no_project");
    assert!(refused.hint().unwrap().contains("heron, otter"), "{:?}", refused.hint());
}

#[test]
fn a_search_in_a_folder_writes_nothing() {
    let mut place = Place::new();
    work_in(&mut place, "heron");
    place.call("memory_search", json!({ "query": "port" }));
    place.call("memory_brief", json!({}));
    assert_eq!(nacre::status(&place.view()).unwrap().projects, 0);
}

#[test]
fn working_in_a_folder_does_not_have_its_files_read() {
    let mut place = Place::new();
    let folder = work_in(&mut place, "heron");
    nacre::files::write_atomically(
        &folder.join("NOTES.md"),
        b"# Notes\n\nDecision: use SQLite for storage.\n",
    )
    .unwrap();
    place.store("The port is 7070");
    assert!(nacre::project::list(&place.view()).unwrap().is_empty());
    // A person names the folder, and the project keeps its name.
    place.caller.actor = Actor::Person;
    let report = nacre::project::extract(&mut place.view(), &folder, None, &mut |_| {}).unwrap();
    assert_eq!((report.project.as_str(), report.read), ("heron", 1));
    assert_eq!(nacre::project::list(&place.view()).unwrap().len(), 1);
}

#[test]
fn the_brief_began_with_another_project() {
    let mut place = Place::with("balanced", &["brief.max_entries=4"]);
    work_in(&mut place, "heron");
    place.store("heron listens on port 7070");
    work_in(&mut place, "otter");
    place.later(1).store("otter listens on port 9090");
    place.caller.project_folder = None;
    place.later(1).store("The user lives in Turin");
    work_in(&mut place, "heron");
    let brief = place.call("memory_brief", json!({}));
    let lines: Vec<&str> = brief.text.lines().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(
        lines,
        [
            "- heron listens on port 7070 (fact, 15 Jan, id:1)",
            "- The user lives in Turin (fact, today, id:3)",
            "- otter listens on port 9090 (fact from project otter, yesterday, id:2)",
        ]
    );
    assert_eq!(nacre::strip_injected(&brief.text), "", "it is recognised when it comes back");
}

#[test]
fn a_turn_gave_another_project_first() {
    let mut place = Place::new();
    for (folder, content) in [
        ("heron", "The deploy command of the service is make ship"),
        ("otter", "The deploy command of the service is make push"),
        ("tern", "The deploy command of the service is make release"),
    ] {
        work_in(&mut place, folder);
        place.later(1).store(content);
    }
    work_in(&mut place, "otter");
    let request = turn::Request::new("what is the deploy command of the service?");
    let injected = turn::run(&mut place.view(), &request).unwrap().markdown;
    let lines: Vec<&str> = injected.lines().filter(|line| line.starts_with("- ")).collect();
    assert!(lines[0].starts_with("- The deploy command of the service is make push (fact, "), "{injected}");
    assert!(injected.contains("(fact from project heron, "), "nothing is hidden: {injected}");
}

#[test]
fn exchanges_and_sessions_know_the_project() {
    let mut place = Place::new();
    work_in(&mut place, "heron");
    let said = Exchange {
        user: "Which reviewer do we ask for the billing module?".into(),
        agent: "Ask Ida Holm, she wrote the billing module.".into(),
        at: place.caller.now,
    };
    turn::archive(&mut place.view(), &said).unwrap();
    assert_eq!(session_project(&mut place), "heron");
    let query = json!({ "query": "billing module reviewer", "scope": ["sessions"] });
    assert_eq!(place.call("memory_search", query.clone()).data["hits"][0]["project"], "heron");
    place.caller.session = "another".parse().unwrap();
    work_in(&mut place, "otter");
    let request = turn::Request::new("Which reviewer do we ask for the billing module?");
    let injected = turn::run(&mut place.view(), &request).unwrap().markdown;
    assert!(injected.contains("(conversation from project heron, today)"), "{injected}");
}

#[test]
fn an_approved_memory_belonged_to_no_project() {
    let mut place = Place::with("gated", &[]);
    work_in(&mut place, "heron");
    place.call("memory_store", json!({ "content": "The port is 7070" }));
    place.caller.actor = Actor::Person;
    place.caller.project_folder = None;
    nacre::proposal::approve(&mut place.view(), 1).unwrap();
    assert_eq!(projects(&mut place), ["heron"]);
}

#[test]
fn projects_go_with_an_export() {
    let mut place = Place::new();
    work_in(&mut place, "heron");
    place.store("The port is 7070");
    let said = Exchange { user: "Which port?".into(), agent: "Port 7070.".into(), at: place.caller.now };
    turn::archive(&mut place.view(), &said).unwrap();
    let folder = place.folder.path().join("export");
    nacre::export::export(&place.view(), &folder).unwrap();
    let mut other = Place::new();
    let imported = nacre::export::import(&mut other.view(), &folder).unwrap();
    assert!(imported.projects.is_empty(), "only folders whose files are read are named: {imported:?}");
    assert_eq!(projects(&mut other), ["heron"]);
    assert_eq!(session_project(&mut other), "heron");
    // The same project in another place on another machine.
    work_in(&mut other, "elsewhere/heron");
    other.store("The owner is Ana");
    assert_eq!(projects(&mut other), ["heron", "heron"]);
}

#[test]
fn a_group_is_still_the_wall() {
    let mut place = Place::new();
    work_in(&mut place, "heron");
    place.store("The port is 7070");
    place.group = place.home.group(&"other".parse().unwrap(), place.caller.now).unwrap();
    assert!(place.found(json!({ "query": "port" })).is_empty());
    assert_eq!(place.refused("memory_search", json!({ "project": "heron" })), "no_project");
    // Projects hide nothing from a shared session that it may see, and show nothing else.
    place.caller.visibility = Visibility::Shared;
    place.store("The door is green");
    assert_eq!(projects(&mut place), ["heron"]);
}

#[test]
fn an_imported_transcript_had_no_project() {
    let mut place = Place::new();
    let folder = work_in(&mut place, "heron");
    place.caller.project_folder = None;
    let cwd = folder.display().to_string();
    let claude_code = |session: &str, cwd: &str| {
        json!({ "type": "user", "sessionId": session, "uuid": format!("{session}-1"), "parentUuid": null, "cwd": cwd,
            "timestamp": "2026-01-10T10:00:00Z", "message": { "role": "user", "content": "Ida reviews the billing module" } })
        .to_string()
    };
    let codex = |session: &str, cwd: &str| {
        let meta = json!({ "timestamp": "2026-01-10T10:00:00Z", "type": "session_meta", "payload": { "id": session, "cwd": cwd } });
        let said = json!({ "timestamp": "2026-01-10T10:00:01Z", "type": "response_item", "payload": {
            "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Ida reviews the billing module" }] } });
        format!("{meta}\n{said}")
    };
    let home = place.folder.path().display().to_string();
    for (text, expected) in [
        (claude_code("a", &cwd), json!("heron")),
        (codex("b", &cwd), json!("heron")),
        (claude_code("c", "/nowhere/at/all"), Value::Null),
        // The folder that contains the memory is no project.
        (claude_code("d", &home), Value::Null),
    ] {
        let caller = place.later(1).caller.clone();
        nacre::session::import_transcript(&mut place.view_of(&caller), text.as_bytes(), "talk.jsonl", |_| {})
            .unwrap();
        let listed = nacre::call(
            &mut place.view_of(&Caller { actor: Actor::Person, ..caller.clone() }),
            "session_list",
            json!({}),
        );
        let sessions = listed.unwrap().data["sessions"].as_array().unwrap().clone();
        let id = if text.contains("session_meta") {
            "b"
        } else {
            &text[text.find("sessionId").unwrap() + 12..][..1]
        };
        let found = sessions.iter().find(|session| session["id"] == id).unwrap();
        assert_eq!(found.get("project").cloned().unwrap_or_default(), expected, "{id}: {found}");
    }
}
