//! The OpenAPI 3.1 document, made from the table of tools and the table of paths.

use std::sync::Arc;

use axum::Json;
use axum::extract::State as Extract;
use axum::response::{IntoResponse as _, Response};
use nacre::{Settings, TOOLS, Tool, tool};
use serde_json::{Map, Value, json};

use super::rest::ROUTES;
use super::state::State;

pub async fn document(Extract(state): Extract<Arc<State>>) -> Response {
    Json(make(state.home.settings())).into_response()
}

/// Returns the document.
pub fn make(settings: &Settings) -> Value {
    let mut paths = Map::new();
    let mut put = |path: &str, method: &str, operation: Value| {
        let path = paths.entry(path).or_insert_with(|| json!({}));
        path[method.to_ascii_lowercase()] = operation;
    };
    for route in ROUTES {
        let tool = tool(route.tool).expect("the table names tools");
        let path = route.path.replace("{*", "{");
        put(&path, route.method, operation(tool, settings, Some((route.method, &path))));
    }
    for tool in &TOOLS {
        put(&format!("/v1/tools/{}", tool.name), "POST", operation(tool, settings, None));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Nacre",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Persistent memory for AI agents. Every operation is a tool that agents have over MCP too. A token says \
                which group, role and visibility a caller has; `Nacre-Group` names a group where the token allows several, and \
                `Nacre-Session` the conversation."
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": { "Error": {
                "type": "object",
                "required": ["error"],
                "properties": { "error": {
                    "type": "object",
                    "required": ["code", "message"],
                    "properties": {
                        "code": { "type": "string" },
                        "message": { "type": "string" },
                        "hint": { "type": "string" }
                    }
                } }
            } }
        }
    })
}

/// Returns one operation. `at` is its method and path, if it has one of its own.
fn operation(tool: &Tool, settings: &Settings, at: Option<(&str, &str)>) -> Value {
    let mut input = tool.input_schema(settings);
    let about = input.as_object_mut().and_then(|schema| schema.remove("description")).unwrap_or_default();
    let about = about.as_str().unwrap_or_default().replace('\n', " ");
    let mut operation = json!({
        "operationId": at.map_or(tool.name.to_owned(), |(method, path)| named(method, path)),
        "summary": about.split(". ").next().unwrap_or_default(),
        "description": about,
        "responses": responses(tool),
    });
    let (method, path) = at.unwrap_or(("POST", ""));
    let mut parameters = Vec::new();
    let required: Vec<String> = input["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect();
    let named: Vec<String> =
        path.split('{').skip(1).filter_map(|rest| rest.split('}').next()).map(str::to_owned).collect();
    for name in &named {
        let schema = take(&mut input, name);
        parameters.push(json!({ "name": name, "in": "path", "required": true, "schema": as_text(&schema) }));
    }
    if method == "GET" {
        let names: Vec<String> =
            input["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
        for name in names {
            let mut schema = take(&mut input, &name);
            let about = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            let mut parameter = json!({
                "name": name, "in": "query", "required": required.contains(&name), "schema": schema, "style": "form", "explode": true
            });
            if let Some(about) = about {
                parameter["description"] = about;
            }
            parameters.push(parameter);
        }
    } else if input["properties"].as_object().is_some_and(|fields| !fields.is_empty()) {
        let needed = input["required"].as_array().is_some_and(|names| !names.is_empty());
        operation["requestBody"] =
            json!({ "required": needed, "content": { "application/json": { "schema": input } } });
    }
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    operation
}

/// Returns the name of an operation: `get_v1_entries_id`.
fn named(method: &str, path: &str) -> String {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.fold(method.to_ascii_lowercase(), |name, word| format!("{name}_{word}"))
}

/// Takes one property out of a schema.
fn take(input: &mut Value, name: &str) -> Value {
    if let Some(required) = input.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|one| one != name);
    }
    input
        .get_mut("properties")
        .and_then(Value::as_object_mut)
        .and_then(|fields| fields.remove(name))
        .unwrap_or_else(|| json!({ "type": "string" }))
}

/// Returns the schema of a path parameter, which is always text.
fn as_text(schema: &Value) -> Value {
    match schema.get("description") {
        Some(about) => json!({ "type": "string", "minLength": 1, "description": about }),
        None => json!({ "type": "string", "minLength": 1 }),
    }
}

fn responses(tool: &Tool) -> Value {
    const FAILURES: &[(&str, &str)] = &[
        ("400", "The request is invalid"),
        ("401", "The token is missing or unknown"),
        ("403", "The caller may not do this"),
        ("404", "Not found"),
        ("408", "The request took too long"),
        ("409", "Conflict with the current state"),
        ("413", "The request is too large"),
        ("429", "A limit is exceeded"),
        ("503", "The store is unavailable"),
    ];
    let mut all = Map::new();
    all.insert(
        "200".into(),
        json!({ "description": "Done", "content": { "application/json": { "schema": tool.output_schema() } } }),
    );
    for (status, about) in FAILURES {
        all.insert(
            (*status).into(),
            json!({ "description": about, "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } } }),
        );
    }
    // Answered before the request is read, and so without a body. A POST takes what no URL can hold.
    all.insert("414".into(), json!({ "description": "The URL is too long" }));
    all.insert("431".into(), json!({ "description": "The URL or the headers are too large" }));
    Value::Object(all)
}
