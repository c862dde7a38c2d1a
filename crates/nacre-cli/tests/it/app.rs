//! The MCP App: a page that clients with the extension show beside the answers of a search.

use serde_json::{Value, json};

use crate::sealed::{Mcp, Sealed};

const PAGE: &str = "ui://nacre/memory";

fn capabilities(announced: bool) -> Value {
    let apps = json!({ "io.modelcontextprotocol/ui": { "mimeTypes": ["text/html;profile=mcp-app"] } });
    if announced { json!({ "extensions": apps }) } else { json!({}) }
}

/// Asks as a client that announces its capabilities at the start, or with each request since 2026-07-28.
fn ask(server: &mut Mcp, newest: bool, announced: bool, method: &str, mut params: Value) -> Value {
    if newest {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": capabilities(announced),
        });
    }
    server.ask(method, &params).expect("the server is there")
}

#[test]
fn only_clients_that_announce_it_get_the_page() {
    let home = Sealed::new();
    home.json(["init"]);
    for (newest, announced) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut server = Mcp::start(&mut home.command(["mcp"]));
        if !newest {
            let client = json!({ "name": "test", "version": "1" });
            let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities(announced), "clientInfo": client });
            server.ask("initialize", &hello).unwrap();
            server.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).unwrap();
        }
        let listed = ask(&mut server, newest, announced, "tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        let linked: Vec<&str> = tools
            .iter()
            .filter(|tool| tool["_meta"]["ui"]["resourceUri"] == PAGE)
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(linked, if announced { vec!["memory_search"] } else { vec![] }, "{newest}");
        let page = ask(&mut server, newest, announced, "resources/read", json!({ "uri": PAGE }));
        let contents = &page["result"]["contents"][0];
        if !announced {
            assert!(page["error"].is_object(), "{page}");
            continue;
        }
        assert_eq!(contents["mimeType"], "text/html;profile=mcp-app");
        let text = contents["text"].as_str().unwrap();
        // One file: nothing is loaded from elsewhere.
        assert!(text.contains("ui/initialize") && !text.contains("src=") && !text.contains("http"), "{text}");
    }
}

#[test]
fn the_page_lists_the_changes_that_wait_without_their_texts() {
    let home = Sealed::new();
    home.json(["init"]);
    let mut server = Mcp::start(&mut home.command(["mcp"]));
    let arguments =
        json!({ "path": "SOUL.md", "reason": "said twice", "content": "# Soul\n\n- Quiet as a heron.\n" });
    let call = json!({ "name": "memory_write", "arguments": arguments });
    ask(&mut server, true, true, "tools/call", call);
    let read = ask(&mut server, true, true, "resources/read", json!({ "uri": "ui://nacre/approvals" }));
    let text = read["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{read}"));
    let listed: Value = serde_json::from_str(text).unwrap();
    assert_eq!(listed["proposals"][0]["target"], "SOUL.md");
    assert_eq!(listed["proposals"][0]["reason"], "said twice");
    assert!(!text.contains("heron"), "{text}");
}
