//! Projects at the command line: extract, items, task, and agents that are offered them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::sealed::{Mcp, Sealed};

fn write(folder: &str, path: &str, text: impl AsRef<[u8]>) {
    let file = Path::new(folder).join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

#[test]
fn knowledge_is_taken_out_listed_and_found() {
    let home = Sealed::new();
    let folder = home.beside("heron");
    write(
        &folder,
        "docs/Architecture.md",
        "# Heron\n\nWe chose Fastify over Express for better TypeScript support.\n",
    );
    write(&folder, "src/main.ts", "// TODO: close the socket\nexport {}\n");
    let done = home.json(["extract", &folder]);
    assert_eq!((&done["project"], &done["added"]), (&json!("heron"), &json!(2)), "{done}");
    // A program gets items.json in the form of Brain's design.
    let items = home.json(["items"]);
    let item = &items[0];
    assert_eq!(item["sourceFile"], "docs/Architecture.md");
    assert_eq!((&item["lineNumber"], &item["type"]), (&json!(3), &json!("decision")));
    assert_eq!(item["extractedAt"], "2026-02-18T14:30:00.000Z");
    let keys: Vec<&str> = item.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys.len(), 8, "{keys:?}");
    assert_eq!(home.json(["items", "--type", "task"]).as_array().unwrap().len(), 1);
    assert_eq!(home.json(["items", "socket"])[0]["type"], "task");
    let said = home.run(["search", "socket", "--scope", "items"]).stdout;
    assert!(said.contains("[item]") && said.contains("heron: src/main.ts:1"), "{said}");
    let said = home.run(["items"]).stdout;
    assert!(said.contains("heron: docs/Architecture.md:3"), "{said}");
    // Without a folder all projects are looked at again.
    write(&folder, "src/main.ts", "export {}\n");
    assert_eq!(home.json(["extract"])[0]["removed"], 1);
    let out = home.beside("out");
    home.json(["export", &out]);
    let exported: Value =
        serde_json::from_str(&fs::read_to_string(Path::new(&out).join("items.json")).unwrap()).unwrap();
    assert_eq!(exported, home.json(["items"]));
    home.json(["extract", "--forget", "--project", "heron"]);
    assert_eq!(home.json(["items"]), json!([]));
    for (args, code, status) in [
        (vec!["extract", "/nowhere/at/all"], "bad_source", 2),
        (vec!["extract", "--project", "heron"], "no_project", 3),
        (vec!["extract", &folder, "--project", "a\nb"], "usage", 2),
        (vec!["items", "--project", "heron"], "no_project", 3),
        (vec!["items", "--type", "dream"], "usage", 2),
    ] {
        let (found, error) = home.error(args.clone());
        assert_eq!((found, error["code"].as_str()), (status, Some(code)), "{args:?} {error}");
    }
}

#[test]
fn tasks_are_added_worked_off_and_put_away() {
    let home = Sealed::new();
    home.json(["task", "add", "Write the importer", "-m", "M1", "-p", "1", "--accept", "it reads a file"]);
    home.json(["task", "add", "Measure the importer", "-m", "M1", "--blocked-by", "1"]);
    let ready = home.json(["task", "list", "--ready"]);
    assert_eq!(ready["tasks"][0]["id"], "TASK-001");
    assert_eq!(ready["tasks"].as_array().unwrap().len(), 1);
    home.json(["task", "start", "TASK-001"]);
    home.json(["task", "done", "1"]);
    assert_eq!(home.json(["task", "show", "1"])["tasks"][0]["history"][2]["actor"], "person");
    for (args, code, status) in [
        (vec!["task", "block", "1", "--by", "1"], "self_blocked", 4),
        (vec!["task", "block", "1", "--by", "2"], "block_cycle", 4),
        (vec!["task", "archive", "M1"], "milestone_open", 4),
        (vec!["task", "archive", "M9"], "no_milestone", 3),
        (vec!["task", "done", "TASK-404"], "no_task", 3),
        (vec!["task", "done", "first"], "usage", 2),
        (vec!["task", "add", " "], "bad_task", 2),
        (vec!["task", "list", "--status", "frozen"], "usage", 2),
        (vec!["task", "import", "nowhere.json"], "io", 7),
    ] {
        let (found, error) = home.error(args.clone());
        assert_eq!((found, error["code"].as_str()), (status, Some(code)), "{args:?} {error}");
    }
    let said = home.run(["search", "measure importer", "--scope", "items"]).stdout;
    assert!(said.contains("[task]") && said.contains("TASK-002 of M1, priority 5"), "{said}");
    let out = home.beside("out");
    home.json(["export", &out]);
    let other = Sealed::new();
    assert_eq!(other.json(["task", "import", &format!("{out}/tasks.json")])["added"], 2);
    assert_eq!(other.json(["task", "list"])["tasks"][0]["description"], "Measure the importer");
    home.json(["task", "cancel", "2"]);
    assert_eq!(home.json(["task", "archive", "M1"])["archived"], json!(["TASK-001", "TASK-002"]));
    assert_eq!(home.json(["doctor"])["ok"], true);
}

#[test]
fn agents_are_offered_them_where_the_settings_say_so() {
    let home = Sealed::new();
    let mut usual = home.mcp();
    let tools = usual.ask("tools/list", &json!({})).unwrap().to_string();
    assert!(!tools.contains("task_") && !tools.contains("item_list"), "{tools}");
    let offer = r#"tools.offer=["task_add","task_list","task_update","item_list"]"#;
    let mut server = Mcp::start(&mut home.command(["mcp", "--set", offer]));
    server.open().unwrap();
    let task = server.data("task_add", &json!({ "description": "Ask Anna about the key" }));
    assert_eq!(task["id"], "TASK-001");
    server.data("task_update", &json!({ "action": "done", "id": "TASK-001" }));
    let shown = server.data("task_list", &json!({ "id": "TASK-001" }));
    assert_eq!(shown["tasks"][0]["history"][1]["actor"], "agent");
    assert_eq!(server.data("item_list", &json!({}))["total"], 0);
}

#[test]
fn jobs_are_listed_with_what_they_did() {
    let home = Sealed::new();
    assert_eq!(home.run(["maintain"]).stdout, "Nothing is due; `nacre maintain --list` says when.\n");
    home.json(["store", "One"]);
    let list = home.run(["maintain", "--list"]).stdout;
    assert!(list.contains("decay    daily 03:00   due now") && list.contains("has not run yet"), "{list}");
    let said = home.run(["maintain"]).stdout;
    assert!(said.contains("facts faded for 0 days") && said.contains("0 memories archived"), "{said}");
    let list = home.run(["maintain", "--list"]).stdout;
    assert!(
        list.contains("next 2026-02-19 03:00") && list.contains("last 2026-02-18 14:30: facts faded"),
        "{list}"
    );
    assert_eq!(home.json(["maintain", "--only", "purge"])["purged"], 0);
    assert_eq!(home.error(["maintain", "--only", "dream"]).1["code"], "no_job");
    // Three in the morning is where the person is.
    let mut command = home.command(["maintain", "--list", "--json"]);
    let output = crate::sealed::Process::start(command.env("TZ", "America/New_York")).finish();
    let list: Value = serde_json::from_str(&output.stdout).unwrap();
    let next = list[0]["next"].as_str().unwrap();
    assert!(next == "2026-02-19T08:00:00.000Z" || next == "2026-02-19T03:00:00.000Z", "{next}");
}
