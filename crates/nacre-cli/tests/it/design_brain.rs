//! Brain's design at the binary, under the profile `brain`: files that other programs read, and agents in their scope.

use serde_json::{Value, json};

use crate::sealed::{Mcp, Sealed};

/// A session from its first message to its context, with the files that any program can read beside it.
#[test]
fn a_loop_reads_and_persists() {
    let home = Sealed::new();
    let brain = |args: &[&str]| home.json(["--profile", "brain"].iter().chain(args).copied());
    brain(&["init", "--bare"]);
    let folder = home.home().join("groups/main");
    std::fs::write(folder.join("MEMORY.md"), "# Agent Memory\n\n- Prefers concise responses\n").unwrap();
    brain(&["session", "append", "work", "--author", "user", "Hello"]);
    let lines = std::fs::read_to_string(folder.join("sessions/work.jsonl")).unwrap();
    let line: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&line["id"], &line["role"], &line["content"]),
        (&json!("msg_001"), &json!("user"), &json!("Hello"))
    );
    let context = brain(&["session", "context", "work"]);
    assert!(context["memory"].as_str().unwrap().contains("concise"), "{context}");
    assert_eq!(context["messages"][0]["content"], "Hello");
    let task = brain(&["task", "add", "Implement session locking", "--priority", "1"]);
    assert_eq!(task["id"], "TASK-001");
    let boot = brain(&["boot"]);
    let said = boot["markdown"].as_str().unwrap();
    assert!(said.contains("concise") && said.contains("[TASK-001] pending, priority 1"), "{said}");
    let events = std::fs::read_to_string(home.home().join("telemetry.jsonl")).unwrap();
    for name in ["memory:read", "memory:write"] {
        assert!(events.contains(name), "{name}: {events}");
    }
    // The other profiles do not put the file before every call.
    assert_eq!(home.json(["--profile", "balanced", "session", "context", "work"]).get("memory"), None);
}

/// A project's agent reads its own memory and the admin's, and writes its own; the tools of sessions, items and tasks are
/// there.
#[test]
fn a_project_reads_the_admins_memory() {
    let home = Sealed::new();
    home.json(["--profile", "brain", "store", "The owner prefers concise responses"]);
    let mut server = Mcp::start(&mut home.command(["mcp", "--profile", "brain", "--group", "blog"]));
    server.open().unwrap();
    let listed = server.ask("tools/list", &json!({})).unwrap().to_string();
    for tool in
        ["session_append", "session_context", "item_list", "task_list", "memory_write", "skill_handover"]
    {
        assert!(listed.contains(&format!("\"{tool}\"")), "{tool}");
    }
    let asked = json!({ "query": "concise responses", "group": "main" });
    assert_eq!(server.data("memory_search", &asked)["hits"][0]["id"], "1");
    // One search covers both, and says what comes from the other group.
    let both = server.data("memory_search", &json!({ "query": "concise responses" }));
    assert_eq!((&both["hits"][0]["id"], &both["hits"][0]["group"]), (&json!("1"), &json!("main")));
    let own = json!({ "query": "concise responses", "group": "blog" });
    assert_eq!(server.data("memory_search", &own)["hits"], json!([]));
    let written = server
        .data("memory_write", &json!({ "path": "MEMORY.md", "content": "- The blog is about gardens" }));
    assert_eq!(written["written"], true);
    assert!(
        home.home().join("groups/blog/MEMORY.md").exists()
            && !home.home().join("groups/main/MEMORY.md").exists()
    );
    server.close();
    // A skill reads nothing.
    let refused =
        home.error(["--profile", "brain", "--group", "blog", "--role", "skill", "search", "gardens"]);
    assert_eq!(refused.1["code"], "role_denied");
}
