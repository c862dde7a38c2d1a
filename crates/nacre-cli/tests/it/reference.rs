//! Generates `docs/reference/rest.md` from the OpenAPI document of a running server and compares it with the file in
//! the repository. `NACRE_UPDATE=1 cargo test` writes the file.

#[path = "../../../nacre/tests/schema/words.rs"]
mod words;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;
use words::kind;

use crate::serve::Served;

/// Paths that call no tool, so that the document does not list them: method, path, purpose.
const OTHERS: &[(&str, &str, &str)] = &[
    ("GET", "/", "The dashboard. `nacre ui` opens it."),
    ("GET", "/alive", "Health check. Needs no token."),
    ("POST", "/mcp", "MCP over streamable HTTP."),
    ("GET", "/v1/tools", "The tools that the caller may call, with their schemas."),
    ("GET", "/v1/openapi.json", "The OpenAPI 3.1 document from which this page is generated."),
    ("GET", "/v1/events", "Events as they happen, as server-sent events."),
    ("GET", "/v1/recalls", "How long the last searches took, in milliseconds."),
    (
        "GET",
        "/v1/overview",
        "What the dashboard shows besides the answers of tools: version, groups, clients, jobs, settings, activity. For people only.",
    ),
    (
        "GET",
        "/v1/sharing",
        "Who shares the memory: the caller's rights, the access tokens, and the synced machines. For people only.",
    ),
    ("POST", "/v1/login", "A link that opens the dashboard once, with the caller's rights."),
    ("GET", "/metrics", "Counters and latencies for Prometheus."),
];

const BEGINNING: &str = "\
# REST reference

[Serve](../serve.md) explains how to start the server and create tokens. Every request needs the header `Authorization: Bearer TOKEN`.
`Nacre-Session` names the conversation, and `Nacre-Group` selects a group if the token allows several. A body is one JSON object. So is every
answer.

Each operation calls one [tool](tools.md). `POST /v1/tools/NAME` calls any tool, with its parameters as the body.
";

#[test]
fn the_page_of_rest_is_what_the_server_says() {
    let served = Served::new();
    for (method, path, _) in OTHERS {
        // An event stream never ends, so this asks with a method that the path refuses.
        let asked = if *path == "/v1/events" { "DELETE" } else { method };
        let reply = served.own(asked, path, &Value::Null);
        assert!(
            !reply.body.contains("no_such_path") && reply.status < 500,
            "{method} {path}: {}",
            reply.body
        );
    }
    let document = served.own("GET", "/v1/openapi.json", &Value::Null).json();
    let now = page(&document);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/rest.md");
    if std::env::var_os("NACRE_UPDATE").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &now).unwrap();
    }
    let then = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(now == then, "REST changed: run with NACRE_UPDATE=1 and look at docs/reference/rest.md");
}

fn page(document: &Value) -> String {
    let mut text = BEGINNING.to_owned();
    let mut areas: BTreeMap<&str, String> = BTreeMap::new();
    let mut errors: Option<&Value> = None;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let mut responses = operation["responses"].clone();
            let answer = responses.as_object_mut().unwrap().remove("200").unwrap();
            let first = errors.get_or_insert(&operation["responses"]);
            for (status, error) in responses.as_object().unwrap() {
                assert_eq!(error, &first[status], "{method} {path}: errors are the same everywhere");
            }
            if path.starts_with("/v1/tools/") {
                continue;
            }
            let area = path.trim_start_matches("/v1").split('/').nth(1).unwrap();
            let text = areas.entry(area).or_default();
            let _ = writeln!(text, "\n### {} {path}\n", method.to_uppercase());
            let _ = writeln!(text, "{}", operation["description"].as_str().unwrap());
            parameters(text, operation);
            let fields = fields(&answer["content"]["application/json"]["schema"]);
            let fields = if fields.is_empty() { "an object".into() } else { fields.join(", ") };
            let _ = writeln!(text, "\nAnswer: {fields}.");
        }
    }
    text.push_str("\n## Errors\n\nAn error is `{\"error\": {\"code\", \"message\", \"hint\"}}`. The status says what kind it is:\n\n");
    text.push_str("| status | meaning |\n| --- | --- |\n");
    let errors = errors.unwrap().as_object().unwrap();
    for (status, error) in errors.iter().filter(|(status, _)| *status != "200") {
        let _ = writeln!(text, "| {status} | {} |", error["description"].as_str().unwrap());
    }
    for (area, operations) in areas {
        let _ = write!(text, "\n## {area}\n{operations}");
    }
    text.push_str("\n## Other paths\n\n| method | path | purpose |\n| --- | --- | --- |\n");
    for (method, path, purpose) in OTHERS {
        let _ = writeln!(text, "| {method} | `{path}` | {purpose} |");
    }
    text.push_str(
        "\n[Compatibility APIs](../compatibility-apis.md) add paths of their own when they are enabled.\n",
    );
    text
}

/// Adds the table of the parameters in path, query string and body.
fn parameters(text: &mut String, operation: &Value) {
    let mut rows = Vec::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let place = parameter["in"].as_str().unwrap();
        let about = parameter["description"].as_str().or(parameter["schema"]["description"].as_str());
        let name = parameter["name"].as_str().unwrap();
        rows.push((parameter["required"] == true, place, name, &parameter["schema"], about));
    }
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    for (name, schema) in body["properties"].as_object().into_iter().flatten() {
        let required = body["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
        rows.push((required, "body", name, schema, schema["description"].as_str()));
    }
    if rows.is_empty() {
        return;
    }
    rows.sort_by_key(|(required, place, ..)| (*place != "path", !required));
    text.push_str("\n| name | in | type | meaning |\n| --- | --- | --- | --- |\n");
    for (required, place, name, schema, about) in rows {
        let required = if required { ", required" } else { "" };
        let about = about.unwrap_or_default().replace('\n', " ").replace('|', "\\|");
        let _ = writeln!(text, "| `{name}` | {place} | {}{required} | {about} |", kind(schema));
    }
}

/// Returns the fields of an answer, with their types.
fn fields(schema: &Value) -> Vec<String> {
    let fields = schema["properties"].as_object().into_iter().flatten();
    fields.map(|(name, schema)| format!("`{name}` ({})", kind(schema))).collect()
}
