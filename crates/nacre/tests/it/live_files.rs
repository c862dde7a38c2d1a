//! tasks.json and items.json as files that a person reads and edits, kept in step with the rows.
#![allow(clippy::disallowed_methods, reason = "it plays the person with an editor")]

use std::fs;
use std::path::PathBuf;

use nacre::Caller;
use serde_json::{Value, json};

use crate::sealed::Place;

/// A place under Brain's profile.
struct Desk {
    place: Place,
}

impl Desk {
    fn new() -> Desk {
        Desk { place: Place::with("brain", &[]) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.group.folder().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.place.carry();
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn read(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.place.group.folder()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    /// Edits a file as JSON.
    fn edit(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let mut value = self.read(name);
        change(&mut value);
        self.write(name, &serde_json::to_string_pretty(&value).unwrap());
    }

    fn add(&mut self, description: &str) {
        self.place.call("task_add", json!({ "description": description }));
    }

    fn tasks(&mut self) -> Vec<(String, String, i64, String)> {
        let found = self.place.call("task_list", json!({})).data;
        let text = |task: &Value, field: &str| task[field].as_str().unwrap().to_owned();
        let mut all: Vec<_> = found["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|task| {
                (
                    text(task, "id"),
                    text(task, "status"),
                    task["priority"].as_i64().unwrap(),
                    text(task, "description"),
                )
            })
            .collect();
        all.sort();
        all
    }

    fn extract(&mut self, files: &[(&str, &str)]) {
        let folder = self.place.folder.path().join("work/heron");
        for (path, text) in files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let caller = Caller::person("extract".parse().unwrap(), self.place.caller.now);
        nacre::project::extract(&mut self.place.view_of(&caller), &folder, None, &mut |_| {}).unwrap();
    }

    fn items(&mut self) -> Vec<(String, String)> {
        let found = self.place.call("item_list", json!({})).data;
        let text = |item: &Value, field: &str| item[field].as_str().unwrap().to_owned();
        let mut all: Vec<_> = found["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| (text(item, "type"), text(item, "content")))
            .collect();
        all.sort();
        all
    }
}

fn row(id: &str, status: &str, priority: i64, description: &str) -> (String, String, i64, String) {
    (id.to_owned(), status.to_owned(), priority, description.to_owned())
}

#[test]
fn tasks_were_rows_that_nobody_could_read_without_a_tool() {
    let mut desk = Desk::new();
    assert!(!desk.path("tasks.json").exists());
    desk.add("Implement session locking");
    let file = desk.read("tasks.json");
    assert_eq!(file["tasks"][0]["id"], "TASK-001");
    assert_eq!(file["tasks"][0]["status"], "pending");
    desk.place.call("task_update", json!({ "action": "start", "id": "TASK-001" }));
    assert_eq!(desk.read("tasks.json")["tasks"][0]["status"], "in_progress");
    // Without the setting there is no such file.
    let mut other = Place::with("brain", &["documents.live_json=false"]);
    other.call("task_add", json!({ "description": "x" }));
    assert!(!other.group.folder().join("tasks.json").exists());
}

#[test]
fn an_edit_of_a_person_changes_the_rows_and_search_finds_it() {
    let mut desk = Desk::new();
    for name in ["First", "Second", "Third"] {
        desk.add(name);
    }
    desk.edit("tasks.json", |file| {
        file["tasks"][0]["status"] = "done".into();
        file["tasks"][1]["priority"] = 1.into();
        file["tasks"][1]["description"] = "Second, about quokkas".into();
        file["tasks"][1]["blocked_by"] = json!(["TASK-001"]);
        // A new task needs only its description.
        file["tasks"].as_array_mut().unwrap().push(json!({ "description": "Written by hand" }));
    });
    let expected = [
        row("TASK-001", "done", 5, "First"),
        row("TASK-002", "pending", 1, "Second, about quokkas"),
        row("TASK-003", "pending", 5, "Third"),
        row("TASK-004", "pending", 5, "Written by hand"),
    ];
    assert_eq!(desk.tasks(), expected);
    let history =
        desk.place.call("task_list", json!({ "id": "TASK-001" })).data["tasks"][0]["history"].clone();
    assert_eq!((&history[1]["status"], &history[1]["actor"]), (&json!("done"), &json!("person")));
    let found = desk.place.call("memory_search", json!({ "query": "quokkas", "scope": ["items"] })).text;
    assert!(found.contains("TASK-002"), "{found}");
    // The file has what was filled in, and a second look changes nothing.
    assert_eq!(desk.read("tasks.json")["tasks"][3]["id"], "TASK-004");
    let before = (desk.text("tasks.json"), desk.place.rows("SELECT count(*) FROM audit"));
    desk.tasks();
    assert_eq!((desk.text("tasks.json"), desk.place.rows("SELECT count(*) FROM audit")), before);
    desk.place.check();
}

#[test]
fn an_edit_and_a_change_of_the_agent_at_the_same_time_both_count() {
    let mut desk = Desk::new();
    desk.add("First");
    desk.add("Second");
    let mine = desk.read("tasks.json");
    desk.place.call("task_update", json!({ "action": "start", "id": "TASK-001" }));
    desk.add("Third, by the agent");
    // The person saves what was open in the editor.
    let mut mine = mine;
    mine["tasks"][0]["priority"] = 2.into();
    mine["tasks"][1]["status"] = "done".into();
    // The editor overwrites the newer file.
    desk.write("tasks.json", &mine.to_string());
    let expected = [
        row("TASK-001", "in_progress", 2, "First"),
        row("TASK-002", "done", 5, "Second"),
        row("TASK-003", "pending", 5, "Third, by the agent"),
    ];
    assert_eq!(desk.tasks(), expected);
    assert_eq!(desk.read("tasks.json")["tasks"].as_array().unwrap().len(), 3);
}

#[test]
fn a_broken_edit_is_reported_and_loses_neither_rows_nor_the_edit() {
    let mut desk = Desk::new();
    desk.add("First");
    desk.add("Second");
    let good = desk.text("tasks.json");
    for broken in [
        "{ \"tasks\": [",
        "",
        "[1]",
        "{}",
        &good.replace("pending", "perhaps"),
        &good.replace("TASK-002", "TASK-001"),
        &good.replace("\"blocked_by\": []", "\"blocked_by\": [\"TASK-009\"]"),
        &good.replace("First", ""),
    ] {
        desk.write("tasks.json", broken);
        let listed = desk.place.call("task_list", json!({}));
        assert!(listed.text.contains("tasks.json is not read"), "{broken}: {}", listed.text);
        assert_eq!(listed.data["tasks"].as_array().unwrap().len(), 2, "{broken}");
        assert_eq!(desk.text("tasks.json"), broken, "the edit is still there");
        assert_eq!(nacre::project::file_problems(&desk.place.view()).unwrap().len(), 1);
    }
    // Writes go on, and the mended file is read.
    desk.add("Third");
    desk.write("tasks.json", &good.replacen("pending", "done", 1));
    assert_eq!(desk.tasks()[0].1, "done");
    assert_eq!(desk.tasks().len(), 3);
    assert!(nacre::project::file_problems(&desk.place.view()).unwrap().is_empty());
}

#[test]
fn a_task_taken_out_of_the_file_is_archived_and_comes_back() {
    let mut desk = Desk::new();
    desk.add("First");
    desk.add("Second");
    let whole = desk.text("tasks.json");
    desk.edit("tasks.json", |file| drop(file["tasks"].as_array_mut().unwrap().remove(1)));
    assert_eq!(desk.tasks(), [row("TASK-001", "pending", 5, "First")]);
    assert_eq!(desk.place.rows("SELECT count(*) FROM tasks"), ["2"]);
    desk.write("tasks.json", &whole);
    assert_eq!(desk.tasks().len(), 2);
    // A deleted file is written again.
    fs::remove_file(desk.path("tasks.json")).unwrap();
    desk.place.carry();
    assert_eq!(desk.tasks().len(), 2);
    assert_eq!(desk.text("tasks.json"), whole);
}

#[test]
fn a_tasks_json_of_brain_that_is_put_there_is_read_once() {
    let mut desk = Desk::new();
    let file = r#"{ "tasks": [{ "id": "TASK-007", "milestone": "M1", "priority": 1, "status": "pending",
        "description": "Implement session locking", "acceptance_criteria": ["Lock released"], "created": "2026-01-05",
        "completed": null, "blocked_by": [] }] }"#;
    desk.write("tasks.json", file);
    for _ in 0..3 {
        assert_eq!(desk.tasks(), [row("TASK-007", "pending", 1, "Implement session locking")]);
    }
    assert_eq!(desk.place.rows("SELECT count(*) FROM task_changes"), ["1"]);
}

#[test]
fn items_are_a_file_that_takes_edits() {
    let mut desk = Desk::new();
    desk.extract(&[("docs/a.md", "# A\n\nDecision: We use Fastify for the API.\n\nTODO: write the guide\n")]);
    let before = desk.items();
    assert!(before.len() >= 2, "{before:?}");
    let file = desk.read("items.json");
    assert_eq!(file.as_array().unwrap().len(), before.len());
    assert_eq!(file[0]["sourceFile"], "docs/a.md");
    desk.edit("items.json", |file| {
        let items = file.as_array_mut().unwrap();
        let place = items.iter().position(|item| item["content"].as_str().unwrap().contains("Fastify")).unwrap();
        items[place]["content"] = "We use Fastify for the API, since January.".into();
        items.retain(|item| !item["content"].as_str().unwrap().contains("guide"));
        items.push(json!({ "type": "note", "content": "Added by hand: quokkas", "sourceFile": "docs/a.md", "lineNumber": 9 }));
    });
    let after = desk.items();
    assert!(after.iter().any(|(_, text)| text.ends_with("since January.")), "{after:?}");
    assert!(after.iter().any(|(kind, text)| kind == "note" && text.contains("quokkas")), "{after:?}");
    assert!(after.iter().all(|(_, text)| !text.contains("guide")), "{after:?}");
    let found = desk.place.call("memory_search", json!({ "query": "quokkas", "scope": ["items"] })).text;
    assert!(found.contains("quokkas"), "{found}");
    // The next extraction of a changed file replaces its items, as the design says.
    desk.place.later(1);
    desk.extract(&[("docs/a.md", "# A\n\nDecision: We use Express for the API.\n")]);
    assert_eq!(desk.items().len(), 1);
    assert!(desk.text("items.json").contains("Express"));
    // A broken edit, and one that would remove nearly everything.
    desk.write("items.json", "[{ \"type\": \"opinion\", \"content\": \"x\" }]");
    let listed = desk.place.call("item_list", json!({}));
    assert!(listed.text.contains("items.json is not read"), "{}", listed.text);
    assert_eq!(listed.data["items"].as_array().unwrap().len(), 1);
    desk.place.check();
}

#[test]
fn an_accident_in_items_json_removes_nothing() {
    let mut desk = Desk::new();
    let text: String = (0..30).map(|number| format!("Decision: We use tool number {number}.\n\n")).collect();
    desk.extract(&[("docs/a.md", &text)]);
    let before = desk.items();
    assert!(before.len() >= 20, "{before:?}");
    desk.write("items.json", "[]");
    let listed = desk.place.call("item_list", json!({ "limit": 100 }));
    assert!(listed.text.contains("it lacks"), "{}", listed.text);
    assert_eq!(desk.items(), before);
}
