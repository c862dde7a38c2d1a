//! The project that a command, a hook or a client works in.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::sealed::{Mcp, Output, Process, Sealed};

/// Makes a folder beside the home, and a repository of it.
fn repository(home: &Sealed, name: &str) -> String {
    let folder = home.beside(name);
    std::fs::create_dir_all(Path::new(&folder).join(".git")).unwrap();
    std::fs::create_dir_all(Path::new(&folder).join("src")).unwrap();
    folder
}

fn command_in(home: &Sealed, folder: &str, args: &[&str]) -> Command {
    let mut command = home.command(args);
    command.current_dir(folder);
    command
}

fn run_in(home: &Sealed, folder: &str, args: &[&str]) -> Output {
    Process::start(&mut command_in(home, folder, args)).finish()
}

fn hook(home: &Sealed, event: &str, input: &Value) -> Value {
    home.run_with(["hook", event], input.to_string().as_bytes()).json()
}

#[test]
fn a_command_belongs_to_the_repository_around_it() {
    let home = Sealed::new();
    let heron = repository(&home, "work/heron");
    assert_eq!(run_in(&home, &format!("{heron}/src"), &["store", "The port is 7070"]).status, 0);
    assert_eq!(home.run(["store", "The owner is Ana"]).status, 0);
    assert_eq!(home.run(["store", "The lake is deep", "--project", "otter"]).status, 0);
    assert_eq!(home.json(["show", "1"])["provenance"]["project"], "heron");
    assert!(home.json(["show", "2"])["provenance"].get("project").is_none());
    let shown = home.run(["show", "1"]).stdout;
    assert!(shown.lines().any(|line| line.starts_with("project") && line.ends_with("heron")), "{shown}");
    let listed = run_in(&home, &heron, &["list"]).stdout;
    assert!(listed.contains(", project heron)") && listed.contains(", from project otter)"), "{listed}");
    let only = home.json(["search", "--project", "heron"]);
    assert_eq!(only["hits"].as_array().unwrap().len(), 1, "{only}");
    let (status, error) = home.error(["search", "port", "--project", "hreon"]);
    assert_eq!((status, error["code"].as_str()), (3, Some("no_project")), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("heron, otter"), "{error}");
}

#[test]
fn a_hook_reports_the_folder_of_its_conversation() {
    let home = Sealed::new();
    let heron = repository(&home, "work/heron");
    let notes = home.beside("work/notes");
    std::fs::create_dir_all(&notes).unwrap();
    for (session, folder) in [("s1", format!("{heron}/src")), ("s2", notes.clone())] {
        let message = format!("Which port does the {session} service use?");
        let said = json!({ "session_id": session, "cwd": folder, "prompt": message });
        hook(&home, "UserPromptSubmit", &said);
        let answer =
            json!({ "session_id": session, "cwd": folder, "last_assistant_message": "It uses 7070." });
        hook(&home, "Stop", &answer);
    }
    let sessions = home.json(["session", "list"]);
    let mut projects: Vec<(&str, &str)> = sessions["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| (session["id"].as_str().unwrap(), session["project"].as_str().unwrap()))
        .collect();
    projects.sort_unstable();
    assert_eq!(projects, [("s1", "heron"), ("s2", "notes")]);
    // A session starts with what its project knows.
    run_in(&home, &heron, &["store", "heron is deployed by hand"]);
    for (folder, line) in [
        (heron.as_str(), "- heron is deployed by hand (fact, 18 Feb, id:1)"),
        (notes.as_str(), "- heron is deployed by hand (fact from project heron, 18 Feb, id:1)"),
    ] {
        let start = json!({ "session_id": "s3", "source": "startup", "workspace_roots": [folder] });
        let brief = hook(&home, "SessionStart", &start);
        let brief = brief["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
        let line = line.replace("18 Feb", "today");
        assert!(brief.lines().any(|shown| shown == line), "{folder}: {brief}");
    }
}

#[test]
fn a_client_tells_its_server_where_it_works() {
    let home = Sealed::new();
    let (heron, otter) = (repository(&home, "work/heron"), repository(&home, "work/my otter"));
    // Without roots, the folder in which the client started it counts.
    let mut server = Mcp::start(&mut command_in(&home, &heron, &["mcp"]));
    server.open().unwrap();
    server.data("memory_store", &json!({ "content": "The port is 7070" }));
    drop(server);

    let mut server = Mcp::start(&mut command_in(&home, &heron, &["mcp"]));
    let client = json!({ "name": "test", "version": "1" });
    let capabilities = json!({ "roots": {} });
    let hello =
        json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client });
    server.ask("initialize", &hello).unwrap();
    server.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).unwrap();
    let asked = server.next().unwrap();
    assert_eq!(asked["method"], "roots/list", "{asked}");
    let uri = format!("file://{}", otter.replace(' ', "%20"));
    let roots = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "roots": [{ "uri": uri }] } });
    server.send(roots.to_string().as_bytes()).unwrap();
    server.data("memory_store", &json!({ "content": "The owner is Ana" }));
    let found = server.data("memory_search", &json!({ "query": "port" }));
    assert_eq!(found["hits"][0]["source"], "from project heron", "{found}");
    drop(server);
    let project = |number: &str| home.json(["show", number])["provenance"]["project"].clone();
    assert_eq!((project("1"), project("2")), (json!("heron"), json!("my otter")));
}
