//! Checkpoints by the real binary: told as a story, and killed at any moment.

use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::sealed::{Process, Sealed};

fn put(home: &Sealed, path: &str, text: &str) {
    let file = home.home().join("groups/main").join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// The files, and what the entries say.
fn state(home: &Sealed) -> (Vec<String>, Vec<String>) {
    home.json(["index"]);
    let file = |n: usize| fs::read_to_string(home.home().join(format!("groups/main/file-{n}.md"))).unwrap();
    let found = home.json(["search", "", "-n", "100"]);
    let text = |hit: &serde_json::Value| hit["text"].as_str().unwrap().to_owned();
    let mut entries: Vec<String> = found["hits"].as_array().unwrap().iter().map(text).collect();
    entries.sort();
    ((0..5).map(file).collect(), entries)
}

#[test]
fn a_state_is_kept_compared_and_restored() {
    let home = Sealed::new();
    put(&home, "MEMORY.md", "Tomatoes behind the shed.\n");
    home.json(["store", "The compost is turned in March"]);
    let saved = home.json(["checkpoint", "save", "first", "--reason", "a test"]);
    assert_eq!(saved["files"][0]["path"], "MEMORY.md");
    put(&home, "MEMORY.md", "Tomatoes behind the house.\n");
    home.json(["store", "Another"]);
    let shown = home.run(["checkpoint", "diff", "first"]).stdout;
    assert!(shown.contains("-Tomatoes behind the shed.\n+Tomatoes behind the house."), "{shown}");
    assert!(shown.contains("entries: 1 added, 0 changed, 0 removed\n  + [id:2] Another"), "{shown}");
    let asked = home.run(["checkpoint", "restore", "first"]).stdout;
    assert!(asked.contains("+Tomatoes behind the shed.") && asked.contains("Nothing was changed"), "{asked}");
    let done = home.json(["checkpoint", "restore", "first", "--yes"]);
    assert_eq!(done["files"], 1);
    let file = home.home().join("groups/main/MEMORY.md");
    assert_eq!(fs::read_to_string(file).unwrap(), "Tomatoes behind the shed.\n");
    assert_eq!(home.json(["checkpoint", "list"])["checkpoints"].as_array().unwrap().len(), 2);
    home.json(["checkpoint", "drop", "first"]);
    assert_eq!(home.error(["checkpoint", "restore", "first", "--yes"]).1["code"], "no_checkpoint");
}

#[test]
fn whoever_is_killed_leaves_the_old_state_or_the_new_one() {
    let home = Sealed::new();
    for n in 0..5 {
        put(&home, &format!("file-{n}.md"), "old\n");
    }
    home.json(["store", "An old entry"]);
    let old = state(&home);
    let saved = home.json(["checkpoint", "save", "old"])["id"].as_str().unwrap().to_owned();
    for n in 0..5 {
        put(&home, &format!("file-{n}.md"), "new\n");
    }
    home.json(["store", "A new entry"]);
    let new = state(&home);
    let mut latest = home.json(["checkpoint", "save", "new"])["id"].as_str().unwrap().to_owned();
    let (mut killed, mut whole) = (0, 0);
    for round in 0..14u64 {
        let target = if round % 2 == 0 { &saved } else { &latest };
        let process = Process::start(&mut home.command(["checkpoint", "restore", target, "--yes", "--json"]));
        let victim = process.victim.clone();
        thread::sleep(Duration::from_millis(10 + round * 17));
        let _ = victim.lock().unwrap().kill();
        if process.finish().status == 0 {
            whole += 1
        } else {
            killed += 1
        }
        let found = state(&home);
        assert!(found == old || found == new, "round {round}: {found:?}");
        let listed = home.json(["checkpoint", "list"]);
        assert_eq!(listed.get("damaged"), None, "{listed}");
        // Whichever it is by now, there is a way to the other.
        if found == new {
            latest = home.json(["checkpoint", "save", "new"])["id"].as_str().unwrap().to_owned();
        }
    }
    eprintln!("{killed} killed, {whole} whole");
    assert!(killed > 0);
    assert_eq!(home.json(["doctor"])["ok"], true);
}

#[test]
fn a_skill_is_told_nothing_and_handed_what_it_needs() {
    let home = Sealed::new();
    home.json(["store", "User prefers concise responses on the blog"]);
    for args in [
        &["search", "blog"][..],
        &["status"],
        &["export", "out"],
        &["checkpoint", "list"],
        &["call", "memory_brief", "{}"],
    ] {
        let args = args.iter().copied().chain(["--role", "skill"]);
        assert_eq!(home.error(args).1["code"], "role_denied");
    }
    let message = home.json(["handover", "--to", "seo", "--action", "analyze", "--query", "blog"]);
    assert_eq!(message["to"], "agent_skill_seo");
    let snippet = json!("- User prefers concise responses on the blog");
    assert_eq!(message["payload"]["context"]["memory_snippet"], snippet);
}

#[test]
fn checkpoints_and_exports_showed_what_is_private_where_others_read_along() {
    let home = Sealed::new();
    home.json(["store", "The zebrafinch sings", "--private"]);
    let id = home.json(["checkpoint", "save"])["id"].as_str().unwrap().to_owned();
    home.json(["store", "The quagga sings", "--private"]);
    for args in [
        &["checkpoint", "list"][..],
        &["checkpoint", "diff", &id],
        &["checkpoint", "restore", &id],
        &["checkpoint", "drop", &id],
        &["export", "out"],
    ] {
        let args = args.iter().copied().chain(["--visibility", "shared"]);
        assert_eq!(home.error(args).1["code"], "needs_private");
    }
}
