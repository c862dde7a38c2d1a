//! The size of what a model reads: tools, instructions, answers.

use serde_json::{Value, json};

use crate::sealed::{Mcp, Sealed};

/// The most bytes of `tools/list` in the default profile.
const MAX_TOOLS_BYTES: usize = 9_000;
/// The most bytes of the server instructions.
const MAX_INSTRUCTIONS_BYTES: usize = 1_400;

/// Twenty memories of the length that people and agents write.
const MEMORIES: [(&str, &str); 20] = [
    ("preference", "Petra prefers small pull requests with one topic each, and tests in the same commit."),
    ("instruction", "Never restart the heron database during office hours without asking Petra first."),
    ("fact", "The heron service listens on port 6459 in production and on port 7459 in staging."),
    ("fact", "The billing export of heron runs every night at 02:30 UTC and takes about forty minutes."),
    (
        "context",
        "The migration of heron to PostgreSQL 17 is half done; the reporting tables are still missing.",
    ),
    ("correction", "The heron dashboards are in Grafana under Services, not under Databases as said before."),
    ("preference", "Tomas wants release notes of heron as short bullet points, never as long paragraphs."),
    ("fact", "The heron team meets on Tuesdays at 10:00 in the small room next to the kitchen."),
    ("instruction", "Run the smoke tests of heron against staging before every deployment to production."),
    ("fact", "Customer data of heron is kept in Frankfurt, backups go to Dublin once a week."),
    ("fact", "The on-call phone of heron rotates every Monday at noon between Petra, Tomas and Ingrid."),
    ("context", "The load test of heron from last week showed that the cache is too small for Black Friday."),
    (
        "preference",
        "Ingrid likes diagrams of heron drawn with Mermaid, so that they can be reviewed as text.",
    ),
    ("fact", "The heron API has a rate limit of 200 requests per minute for each customer key."),
    ("instruction", "When a heron alert fires twice within an hour, open an incident and tell the channel."),
    ("fact", "The old heron importer reads CSV files with semicolons and Windows line endings."),
    ("correction", "Heron tokens expire after 12 hours, not after 24 hours as the wiki page still says."),
    ("fact", "The heron design document lives in the folder docs/design of the main repository."),
    ("context", "Petra is on parental leave until the end of March; Tomas decides about heron until then."),
    ("fact", "The heron staging server was moved to the new cluster in Oslo in the first week of May."),
];

#[test]
fn the_default_tools_and_instructions_are_short() {
    let home = Sealed::new();
    let mut server = home.mcp();
    let listed = server.ask("tools/list", &json!({})).unwrap();
    let bytes = listed["result"]["tools"].to_string().len();
    assert!(bytes <= MAX_TOOLS_BYTES, "{bytes} bytes");
    for tool in listed["result"]["tools"].as_array().unwrap() {
        assert!(tool["description"].as_str().unwrap().len() > 20, "{tool}");
    }
    let mut other = Mcp::start(&mut home.command(["mcp"]));
    let opened = other.open().unwrap();
    let instructions = opened["result"]["instructions"].as_str().unwrap();
    assert!(instructions.len() <= MAX_INSTRUCTIONS_BYTES, "{} bytes: {instructions}", instructions.len());
}

#[test]
fn the_data_of_twenty_hits_is_hardly_longer_than_their_text() {
    let home = Sealed::new();
    let mut server = home.mcp();
    for (r#type, content) in MEMORIES {
        server.data("memory_store", &json!({ "content": content, "type": r#type }));
    }
    let found = server.call("memory_search", &json!({ "limit": 20 })).unwrap();
    let (data, text) = (&found["structuredContent"], found["content"][0]["text"].as_str().unwrap());
    assert_eq!(data["hits"].as_array().unwrap().len(), 20);
    let (data_bytes, text_bytes) = (data.to_string().len(), text.len());
    assert!(data_bytes * 10 <= text_bytes * 13, "{data_bytes} bytes of data, {text_bytes} of text");
}

#[test]
fn hits_of_short_texts_cost_half_as_much_again_as_their_text() {
    let home = Sealed::new();
    let mut server = home.mcp();
    for number in 0..20 {
        server.data(
            "memory_store",
            &json!({ "content": format!("Heron {number} listens on port 70{number}") }),
        );
    }
    let found = server.call("memory_search", &json!({ "limit": 20 })).unwrap();
    let (data, text) = (&found["structuredContent"], found["content"][0]["text"].as_str().unwrap());
    assert_eq!(data["hits"].as_array().unwrap().len(), 20);
    let (data_bytes, text_bytes) = (data.to_string().len(), text.len());
    assert!(data_bytes * 10 <= text_bytes * 13, "{data_bytes} bytes of data, {text_bytes} of text");
}

#[test]
fn a_hit_has_few_fields_and_the_rest_with_explain() {
    let home = Sealed::new();
    let mut server = home.mcp();
    for (r#type, content) in MEMORIES {
        server.data("memory_store", &json!({ "content": content, "type": r#type }));
    }
    server.data("fact_upsert", &json!({ "entity": "heron", "key": "port", "value": "6459" }));
    let keys = |hit: &Value| hit.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let found = server.data("memory_search", &json!({ "query": "heron billing export" }));
    assert_eq!(found["hits"].as_array().unwrap().len(), 8, "the default for agents: {found}");
    let hit = &found["hits"][0];
    // A hit without a type is a fact.
    assert_eq!(keys(hit), ["id", "text", "time"], "{hit}");
    assert_eq!((&hit["id"], &hit["time"]), (&json!("4"), &json!("today")));
    let preferred = server.data("memory_search", &json!({ "type": "preference" }));
    assert_eq!(preferred["hits"][0]["type"], "preference", "{preferred}");
    // Other tools accept the id.
    assert_eq!(server.data("memory_get", &json!({ "id": hit["id"] }))["content"], MEMORIES[3].1);
    let explained =
        server.data("memory_search", &json!({ "query": "heron billing export", "explain": true }));
    let hit = &explained["hits"][0];
    for key in ["id", "full_id", "score", "relevance", "why", "parts"] {
        assert!(!hit[key].is_null(), "{key}: {hit}");
    }
    let graph = server.data("graph_search", &json!({ "query": "Which port does heron use?" }));
    assert_eq!(keys(&graph["hits"][0]), ["id", "text", "time"], "{graph}");
    let brief = server.data("memory_brief", &json!({}));
    assert_eq!(keys(&brief), ["entry_count", "markdown"]);
}

#[test]
fn arguments_and_names_that_are_not_listed_still_work() {
    let home = Sealed::new();
    let mut server = home.mcp();
    server.data("memory_store", &json!({ "content": "The gate is B22" }));
    let listed = server.ask("tools/list", &json!({})).unwrap().to_string();
    assert!(listed.contains("memory_feedback") && !listed.contains("memory_reinforce"), "{listed}");
    assert!(!listed.contains("of_agent") && !listed.contains("include_provenance"), "{listed}");
    assert_eq!(server.data("memory_feedback", &json!({ "id": 1, "helpful": true }))["score"], 3);
    assert_eq!(server.data("memory_reinforce", &json!({ "id": 1 }))["score"], 6);
    assert_eq!(server.data("memory_feedback", &json!({ "id": "1", "helpful": false }))["score"], 5);
    assert_eq!(server.data("memory_demote", &json!({ "id": 1 }))["score"], 4);
    let found =
        server.data("memory_search", &json!({ "query": "gate", "of_agent": false, "at": "2026-02-18" }));
    assert_eq!(found["hits"][0]["text"], "The gate is B22");
    let brief = server.data("memory_brief", &json!({ "include_provenance": true }));
    assert!(brief["entries"][0]["provenance"]["session"].is_string(), "{brief}");
}

/// Every profile and the tools that it offers are in one place; the words for agents must follow them.
#[test]
fn instructions_named_tools_that_the_profile_lacks() {
    for profile in ["default", "minimal", "strict", "files", "graph", "feedback"] {
        let home = Sealed::new();
        let mut server = Mcp::start(&mut home.command(["--profile", profile, "mcp"]));
        let opened = server.open().unwrap();
        let instructions = opened["result"]["instructions"].as_str().unwrap();
        let listed = server.ask("tools/list", &json!({})).unwrap();
        let offered: Vec<&str> = listed["result"]["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        for tool in nacre::TOOLS.iter().filter(|tool| instructions.contains(tool.name)) {
            assert!(offered.contains(&tool.name), "{profile}: {} in {instructions}", tool.name);
        }
        // An agent that is given nothing unasked must be told to look.
        assert!(instructions.contains("Recall."), "{profile}: {instructions}");
        assert!(!instructions.contains(". ."), "{profile}: {instructions}");
    }
}

#[test]
fn invisible_text_reached_a_model_in_the_data() {
    let home = Sealed::new();
    let mut server = home.mcp();
    server.data("memory_store", &json!({ "content": "heron \u{e0041}\u{202e}\u{200b}is grey" }));
    let found = server.data("memory_search", &json!({ "query": "heron" }));
    assert_eq!(found["hits"][0]["text"], "heron is grey");
}
