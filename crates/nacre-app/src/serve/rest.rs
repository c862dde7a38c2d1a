//! The table of tools over HTTP: every tool under `/v1/tools/NAME`, and common ones under paths of their own. The paths are a table
//! too, from which the OpenAPI document is generated.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, Path, RawQuery, State as Extract};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodFilter, on};
use nacre::{Error, Form, Tool, View, tool};
use serde_json::{Map, Value, json};

use super::reply::{body_of, failed, pairs, refuse};
use super::state::State;
use crate::groups::who::{Principal, Requester};

/// One path: its method and its tool. Names in braces are arguments of the tool, as are those of the query string or the body.
pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
    pub tool: &'static str,
}

const fn route(method: &'static str, path: &'static str, tool: &'static str) -> Route {
    Route { method, path, tool }
}

/// Every path that has a tool of its own.
pub const ROUTES: &[Route] = &[
    route("GET", "/v1/search", "memory_search"),
    route("POST", "/v1/entries", "memory_store"),
    route("GET", "/v1/entries/{id}", "memory_get"),
    route("PATCH", "/v1/entries/{id}", "memory_update"),
    route("DELETE", "/v1/entries/{id}", "memory_delete"),
    route("POST", "/v1/entries/{id}/reinforce", "memory_reinforce"),
    route("POST", "/v1/entries/{id}/demote", "memory_demote"),
    route("GET", "/v1/brief", "memory_brief"),
    route("GET", "/v1/boot", "memory_boot"),
    route("GET", "/v1/files/{*path}", "memory_get"),
    route("PUT", "/v1/files/{*path}", "memory_write"),
    route("POST", "/v1/log", "memory_write"),
    route("GET", "/v1/graph", "graph_search"),
    route("GET", "/v1/facts", "fact_list"),
    route("PUT", "/v1/facts", "fact_upsert"),
    route("GET", "/v1/relations", "relation_list"),
    route("POST", "/v1/relations", "relation_add"),
    route("GET", "/v1/entities", "entity_list"),
    route("GET", "/v1/collections", "collection_list"),
    route("GET", "/v1/sessions", "session_list"),
    route("GET", "/v1/sessions/{id}", "session_show"),
    route("POST", "/v1/sessions/{id}/messages", "session_append"),
    route("GET", "/v1/sessions/{id}/context", "session_context"),
    route("GET", "/v1/tasks", "task_list"),
    route("POST", "/v1/tasks", "task_add"),
    route("PATCH", "/v1/tasks/{id}", "task_update"),
    route("GET", "/v1/items", "item_list"),
    route("GET", "/v1/projects/{project}/knowledge", "item_list"),
    route("GET", "/projects/{project}/knowledge", "item_list"),
    route("GET", "/v1/proposals", "proposal_list"),
    route("GET", "/v1/proposals/{number}", "proposal_show"),
    route("POST", "/v1/proposals/{number}/decision", "proposal_decide"),
];

/// The routes of the table.
pub fn routes() -> axum::Router<Arc<State>> {
    ROUTES.iter().fold(axum::Router::new(), |router, route| {
        let filter = match route.method {
            "GET" => MethodFilter::GET,
            "PUT" => MethodFilter::PUT,
            "PATCH" => MethodFilter::PATCH,
            "DELETE" => MethodFilter::DELETE,
            _ => MethodFilter::POST,
        };
        let answer = move |Extract(state): Extract<Arc<State>>,
                           Extension(principal): Extension<Principal>,
                           Path(named): Path<Map<String, Value>>,
                           RawQuery(query): RawQuery,
                           headers: HeaderMap,
                           body: Result<Bytes, BytesRejection>| async move {
            let tool = tool(route.tool).expect("the table names tools");
            let gathered = gather(tool, &state, named, query.as_deref().unwrap_or_default(), &body_of(body)?);
            Ok::<_, Response>(match gathered {
                Ok(arguments) => run(state, principal, headers, tool.name, arguments).await,
                Err(error) => failed(&error),
            })
        };
        router.route(route.path, on(filter, answer))
    })
}

/// Calls a tool with the arguments of the body.
pub async fn call(
    Extract(state): Extract<Arc<State>>,
    Extension(principal): Extension<Principal>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Response> {
    let body = body_of(body)?;
    let arguments = match body.trim_ascii().is_empty() {
        true => Value::Object(Map::new()),
        false => nacre::call::parse(&body).map_err(|error| failed(&error))?,
    };
    Ok(run(state, principal, headers, &name, arguments).await)
}

async fn run(
    state: Arc<State>,
    principal: Principal,
    headers: HeaderMap,
    name: &str,
    arguments: Value,
) -> Response {
    let (caller, group) = match principal.caller(&headers, state.now()) {
        Ok(known) => known,
        Err(error) => return failed(&error),
    };
    let (own, name) = (state.clone(), name.to_owned());
    let work = move |view: &mut View<'_>| {
        let begun = Instant::now();
        let answer = nacre::call::known(&name)
            .and_then(|tool| nacre::call_across(&own.home, view, tool, arguments, Form::Whole));
        if name == "memory_search" && answer.is_ok() {
            own.metrics.recalled(begun.elapsed());
        }
        answer
    };
    match state.pool.ask(Requester { caller, group }, work).await {
        Ok(answer) => Json(answer.data).into_response(),
        Err(error) => failed(&error),
    }
}

/// Lists the tools with their schemas.
pub async fn list(
    Extract(state): Extract<Arc<State>>,
    Extension(principal): Extension<Principal>,
) -> Response {
    let settings = state.home.settings();
    let offered = |tool: &&Tool| principal.person && tool.compat.is_none() || tool.is_offered(settings);
    let tools: Vec<Value> = nacre::TOOLS
        .iter()
        .chain(&nacre::COMPAT_TOOLS)
        .filter(offered)
        .map(|tool| json!({ "name": tool.name, "input": tool.input_schema(settings), "output": tool.output_schema() }))
        .collect();
    Json(json!({ "tools": tools })).into_response()
}

/// Collects the arguments of a tool from path, query and body.
fn gather(
    tool: &Tool,
    state: &State,
    named: Map<String, Value>,
    query: &str,
    body: &[u8],
) -> nacre::Result<Value> {
    let schema = tool.input_schema(state.home.settings());
    let mut all = match body.trim_ascii().is_empty() {
        true => Map::new(),
        false => match nacre::call::parse(body)? {
            Value::Object(fields) => fields,
            _ => return Err(Error::NotJson { problem: "the body is not an object".into() }),
        },
    };
    for (name, value) in pairs(query) {
        let read = typed(&schema["properties"][&name], &value);
        match (all.get_mut(&name), read) {
            // `tags=a&tags=b`
            (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
            (_, read) => drop(all.insert(name, read)),
        }
    }
    for (name, value) in named {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        all.insert(name.clone(), typed(&schema["properties"][&name], &text));
    }
    Ok(Value::Object(all))
}

/// Converts a text to the type in the schema. A text that does not fit is left for the schema check to refuse.
fn typed(schema: &Value, text: &str) -> Value {
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => {
            schema["anyOf"].as_array().into_iter().flatten().filter_map(|one| one["type"].as_str()).collect()
        }
    };
    for kind in &kinds {
        let read = match *kind {
            "integer" => text.parse::<i64>().ok().map(Value::from),
            "number" => text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from),
            "boolean" => text.parse::<bool>().ok().map(Value::from),
            "array" => {
                Some(Value::Array(text.split(',').filter(|part| !part.is_empty()).map(Value::from).collect()))
            }
            _ => None,
        };
        if let Some(read) = read {
            return read;
        }
    }
    Value::String(text.to_owned())
}

/// The answer for an unknown path.
pub async fn nothing(uri: Uri) -> Response {
    let shown: String = uri.path().chars().take(80).collect();
    refuse(
        StatusCode::NOT_FOUND,
        "no_such_path",
        &format!("there is nothing at `{shown}`"),
        Some("see /v1/openapi.json"),
    )
}

pub async fn not_so(method: Method) -> Response {
    refuse(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        &format!("{method} is not allowed on this path"),
        Some("see /v1/openapi.json"),
    )
}
