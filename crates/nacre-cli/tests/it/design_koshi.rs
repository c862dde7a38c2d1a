//! Koshi's design at the binary, under the profile `koshi`: a memory that comes only when it is asked for, and that can be
//! carried away.

use serde_json::{Value, json};

use crate::sealed::{Mcp, Sealed};

#[test]
fn five_tools_and_nothing_else_reaches_the_agent() {
    let home = Sealed::new();
    let mut server = Mcp::start(&mut home.command(["mcp", "--profile", "koshi"]));
    server.open().unwrap();
    let listed = server.ask("tools/list", &json!({})).unwrap();
    let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["memory_store", "memory_query", "memory_update", "memory_reinforce", "memory_demote"]);
    let hmac = json!({ "content": "Payment API HMAC signature: no trailing empty string", "tags": "payments, hmac, api, bug" });
    server.data("memory_store", &hmac);
    let found = server.data("memory_query", &json!({ "query": "payment HMAC signature api", "limit": 5 }));
    assert_eq!(found["hits"][0]["id"], "1", "{found}");
    assert_eq!(server.data("memory_reinforce", &json!({ "id": 1 }))["score"], 3);
    assert_eq!(server.data("memory_demote", &json!({ "id": 1 }))["score"], 2);
    server.close();
    // Hooks are silent.
    for (event, more) in [
        ("SessionStart", json!({ "source": "startup" })),
        ("UserPromptSubmit", json!({ "prompt": "payment HMAC?" })),
    ] {
        let mut input = json!({ "session_id": "s", "hook_event_name": event });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let args = ["--profile", "koshi", "hook", event];
        let said: Value =
            serde_json::from_str(&home.run_with(args, input.to_string().as_bytes()).stdout).unwrap();
        assert_eq!(said, json!({}), "{event}");
    }
}

/// An export is a command, and what it wrote can be taken in elsewhere; pruning is looked at once a day at four.
#[test]
fn a_memory_can_be_carried_away_and_is_looked_after_at_four() {
    let (home, other) = (Sealed::new(), Sealed::new());
    home.json(["--profile", "koshi", "store", "Kites need wind", "--tag", "toys"]);
    let folder = home.beside("out");
    home.json(["--profile", "koshi", "export", &folder]);
    other.json(["--profile", "koshi", "import", "nacre", &folder]);
    assert_eq!(other.json(["--profile", "koshi", "search", "kites"])["hits"][0]["text"], "Kites need wind");
    let jobs = home.run(["--profile", "koshi", "maintain", "--list"]).stdout;
    let prune = jobs.lines().find(|line| line.contains("prune")).unwrap_or_else(|| panic!("{jobs}"));
    assert!(prune.contains("daily 04:00"), "{prune}");
    // Koshi's import of flat files is missing; files are indexed where they are, in the other profiles.
    let refused = home.run(["import", "markdown", "MEMORY.md"]);
    assert_eq!(refused.status, 3, "{refused:?}");
}
