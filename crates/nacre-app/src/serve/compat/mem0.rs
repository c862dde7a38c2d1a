//! The REST paths of mem0, so that its clients work here unchanged (docs/compatibility-apis.md): those of its hosted service (`/v1`, `/v2`,
//! `/v3`, `Authorization: Token …`) and those of its own server (`/memories`, `/search`, `X-API-Key` or a bearer). The
//! token selects the group, as everywhere; `user_id` and the other owners only filter that group's memories.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, Path, RawQuery, Request, State as Extract};
use axum::http::header::{AUTHORIZATION, HOST, HeaderMap, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodFilter, on};
use axum::{Json, Router};
use nacre::call::OWNERS;
use nacre::call::compat::mem0::{
    AddRequest, DeleteAnswer, DeleteRequest, FindAnswer, FindRequest, HistoryRequest, Owners, OwnersRequest,
    UpdateRequest,
};
use nacre::{Actor, Error, Kind, Outcome, Reply, View, Waiting, run, run_json};
use serde_json::{Map, Value, json};

use crate::groups::who::{Principal, Requester};
use crate::serve::door::{Refusal, known_by};
use crate::serve::reply::{body_of, pairs, status};
use crate::serve::state::State;

/// The operation of a path.
#[derive(Clone, Copy, Debug)]
enum Ask {
    Ping,
    Add,
    Search,
    /// In pages, by a filter in the body.
    Pages,
    /// By owners in the query string.
    List,
    Get,
    Update,
    Delete,
    DeleteAll,
    History,
    Owners,
    DeleteOwner,
    UpdateMany,
    DeleteMany,
    Reset,
}

/// Every path and its operation.
const PATHS: &[(MethodFilter, &str, Ask)] = &[
    // The hosted service.
    (MethodFilter::GET, "/v1/ping/", Ask::Ping),
    (MethodFilter::POST, "/v3/memories/add/", Ask::Add),
    (MethodFilter::POST, "/v1/memories/", Ask::Add),
    (MethodFilter::POST, "/v3/memories/search/", Ask::Search),
    (MethodFilter::POST, "/v2/memories/search/", Ask::Search),
    (MethodFilter::POST, "/v1/memories/search/", Ask::Search),
    (MethodFilter::POST, "/v3/memories/", Ask::Pages),
    (MethodFilter::POST, "/v2/memories/", Ask::Pages),
    (MethodFilter::GET, "/v1/memories/", Ask::List),
    (MethodFilter::DELETE, "/v1/memories/", Ask::DeleteAll),
    (MethodFilter::GET, "/v1/memories/{id}/", Ask::Get),
    (MethodFilter::PUT, "/v1/memories/{id}/", Ask::Update),
    (MethodFilter::DELETE, "/v1/memories/{id}/", Ask::Delete),
    (MethodFilter::GET, "/v1/memories/{id}/history/", Ask::History),
    (MethodFilter::GET, "/v1/entities/", Ask::Owners),
    (MethodFilter::DELETE, "/v2/entities/{kind}/{name}/", Ask::DeleteOwner),
    (MethodFilter::PUT, "/v1/batch/", Ask::UpdateMany),
    (MethodFilter::DELETE, "/v1/batch/", Ask::DeleteMany),
    // Its own server.
    (MethodFilter::POST, "/memories", Ask::Add),
    (MethodFilter::GET, "/memories", Ask::List),
    (MethodFilter::DELETE, "/memories", Ask::DeleteAll),
    (MethodFilter::GET, "/memories/{id}", Ask::Get),
    (MethodFilter::PUT, "/memories/{id}", Ask::Update),
    (MethodFilter::DELETE, "/memories/{id}", Ask::Delete),
    (MethodFilter::GET, "/memories/{id}/history", Ask::History),
    (MethodFilter::POST, "/search", Ask::Search),
    (MethodFilter::POST, "/reset", Ask::Reset),
];

/// The default number of hits of a search.
const TOP_K: u64 = 20;
const PAGE_SIZE: u64 = 100;

pub fn routes() -> Router<Arc<State>> {
    PATHS.iter().fold(Router::new(), |router, (method, path, ask)| {
        let (ask, path) = (*ask, *path);
        let answer = move |Extract(state): Extract<Arc<State>>,
                           Extension(principal): Extension<Principal>,
                           Path(named): Path<HashMap<String, String>>,
                           RawQuery(query): RawQuery,
                           headers: HeaderMap,
                           body: Result<Bytes, BytesRejection>| async move {
            let Ok(body) = body_of(body) else {
                return detail(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large");
            };
            let query = pairs(query.as_deref().unwrap_or_default()).into_iter().collect();
            let asked = Mem0Request { ask, path, named, query, headers, body };
            asked.answer(state, principal).await
        };
        router.route(path, on(*method, answer))
    })
}

/// Identifies the sender of a request. Cookies are ignored: only programs use this API.
pub async fn authenticate(Extract(state): Extract<Arc<State>>, mut request: Request, next: Next) -> Response {
    let headers = request.headers();
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let known = |word: &str| ["token", "bearer"].iter().any(|known| word.eq_ignore_ascii_case(known));
    let given = text(AUTHORIZATION.as_str()).and_then(|given| given.split_once(' '));
    let given = given.filter(|(word, _)| known(word)).map(|(_, secret)| secret);
    let secret = given.or_else(|| text("x-api-key"));
    let known = match secret.map(str::to_owned) {
        Some(secret) => known_by(&state, &secret).await,
        None => Err(Refusal::Unknown("the request has no token")),
    };
    match known {
        Ok(principal) => {
            request.extensions_mut().insert(principal);
            next.run(request).await
        }
        Err(Refusal::Unknown(problem)) => detail(StatusCode::UNAUTHORIZED, problem),
        Err(Refusal::Failed(error)) => detail(status(error.kind()), &error.to_string()),
    }
}

/// Returns a failure in mem0's form.
fn detail(status: StatusCode, text: &str) -> Response {
    let text = nacre::redact::text(text);
    let mut answer = (status, Json(json!({ "detail": text }))).into_response();
    if status == StatusCode::TOO_MANY_REQUESTS {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("60"));
    }
    answer
}

/// A request as it was received.
struct Mem0Request {
    ask: Ask,
    path: &'static str,
    named: HashMap<String, String>,
    query: HashMap<String, String>,
    headers: HeaderMap,
    body: Bytes,
}

impl Mem0Request {
    async fn answer(self, state: Arc<State>, principal: Principal) -> Response {
        match self.ask(state, principal).await {
            Ok(answer) => Json(answer).into_response(),
            Err(error) if error.kind() == Kind::NotFound => detail(StatusCode::NOT_FOUND, &error.to_string()),
            Err(error) => detail(status(error.kind()), &error.to_string()),
        }
    }

    async fn ask(self, state: Arc<State>, principal: Principal) -> nacre::Result<Value> {
        let body = match self.body.trim_ascii().is_empty() {
            true => json!({}),
            false => nacre::call::parse(&self.body)?,
        };
        let (mut caller, group) = principal.caller(&self.headers, state.now())?;
        // A run is a conversation: it has its own limits.
        let run = body["run_id"].as_str().or_else(|| body["filters"]["run_id"].as_str());
        if let Some(session) = run.and_then(|run| run.parse().ok()) {
            caller.session = session;
        }
        if matches!(self.ask, Ask::Ping) {
            // No memory is opened for it, and a caller without rights is refused first.
            if principal.role == nacre::Role::Skill {
                return Err(Error::RoleDenied { tool: "mem0".into(), role: principal.role.as_str() });
            }
            return Ok(
                json!({ "status": "ok", "org_id": "nacre", "project_id": group.as_str(), "user_email": null }),
            );
        }
        // Only a person may delete everything.
        if matches!(self.ask, Ask::Reset) && caller.actor != Actor::Person {
            return Err(Error::PeopleOnly { tool: "/reset".into() });
        }
        let scheme = if state.hosts.encrypts() { "https" } else { "http" };
        let work = move |view: &mut View<'_>| self.run(view, &body, scheme);
        state.pool.ask(Requester { caller, group }, work).await
    }

    fn id(&self) -> &str {
        self.named.get("id").map_or("", String::as_str)
    }

    /// Returns the owners in the query string as a filter.
    fn owners(&self) -> nacre::Result<Map<String, Value>> {
        let given = OWNERS.iter().filter_map(|owner| Some((*owner, self.query.get(*owner)?)));
        let owners: Map<_, _> =
            given.map(|(owner, value)| (owner.to_owned(), value.as_str().into())).collect();
        if owners.is_empty() { Err(unsaid()) } else { Ok(owners) }
    }

    /// Returns the requested page, from 1, and the page size.
    fn page(&self) -> (u64, u64) {
        let number = |name: &str| self.query.get(name).and_then(|text| text.parse().ok());
        (number("page").unwrap_or(1).max(1), number("page_size").unwrap_or(PAGE_SIZE).clamp(1, 1000))
    }

    /// Calls the tool of the operation, and returns its answer in mem0's form.
    fn run(&self, view: &mut View<'_>, body: &Value, scheme: &str) -> nacre::Result<Value> {
        match self.ask {
            Ask::Ping => Ok(Value::Null),
            Ask::Add => shape(run_json::<AddRequest>(view, added(body)?)?, |added| Ok(json!(added))),
            Ask::Search => {
                let filters = filters(body)?;
                // mem0's own server requires an owner; the hosted service uses the filters.
                if self.path == "/search" && filters.is_empty() {
                    return Err(unsaid());
                }
                if body["query"].as_str().is_none_or(|query| query.trim().is_empty()) {
                    return Err(bad("query", "is missing"));
                }
                let top_k = body["top_k"].as_u64().or_else(|| body["limit"].as_u64()).unwrap_or(TOP_K);
                let arguments = json!({
                    "query": body["query"], "filters": filters, "limit": top_k.clamp(1, 1000),
                    "threshold": body["threshold"], "show_expired": body["show_expired"],
                });
                shape(run_json::<FindRequest>(view, arguments)?, results)
            }
            Ask::Pages => {
                let (page, size) = self.page();
                let arguments = json!({
                    "filters": filters(body)?, "offset": (page - 1).saturating_mul(size), "limit": size,
                    "show_expired": body["show_expired"],
                });
                shape(run_json::<FindRequest>(view, arguments)?, |FindAnswer { count, results }| {
                    let host = self.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
                    let at =
                        |page: u64| format!("{scheme}://{host}{}?page={page}&page_size={size}", self.path);
                    let next = (page < (*count as u64).div_ceil(size)).then(|| at(page + 1));
                    let previous = (page > 1).then(|| at(page - 1));
                    Ok(json!({ "count": count, "next": next, "previous": previous, "results": results }))
                })
            }
            Ask::List => {
                let filters = Some(self.owners()?);
                let most = self.query.get("top_k").or(self.query.get("limit"));
                let most = most.and_then(|text| text.parse().ok()).unwrap_or(PAGE_SIZE).clamp(1, 1000);
                let limit = usize::try_from(most).ok();
                shape(run(view, FindRequest { filters, limit, ..FindRequest::default() })?, results)
            }
            Ask::Get => {
                let request = FindRequest { ids: Some(vec![self.id().into()]), ..FindRequest::default() };
                shape(run(view, request)?, |found| match found.results.first() {
                    Some(memory) => Ok(json!(memory)),
                    None => Err(Error::NoEntry { id: self.id().chars().take(60).collect() }),
                })
            }
            Ask::Update => {
                let reply = run_json::<UpdateRequest>(view, changed(self.id(), body))?;
                shape(reply, |updated| match self.path.starts_with("/v1") {
                    true => Ok(json!(updated)),
                    false => done("Memory updated successfully!"),
                })
            }
            Ask::Delete => {
                let request = DeleteRequest { ids: Some(vec![self.id().into()]), filters: None };
                shape(run(view, request)?, |_| done("Memory deleted successfully!"))
            }
            Ask::DeleteAll => {
                let request = DeleteRequest { ids: None, filters: Some(self.owners()?) };
                shape(run(view, request)?, |_| done("Memories deleted successfully!"))
            }
            Ask::History => {
                let arguments = json!({ "id": self.id() });
                shape(run_json::<HistoryRequest>(view, arguments)?, |past| Ok(json!(past.history)))
            }
            Ask::Owners => shape(run(view, OwnersRequest {})?, |Owners { results }| {
                Ok(json!({ "count": results.len(), "next": null, "previous": null, "results": results }))
            }),
            Ask::DeleteOwner => {
                let named = |name: &str| self.named.get(name).cloned().unwrap_or_default();
                let owner = format!("{}_id", named("kind"));
                if !OWNERS.contains(&owner.as_str()) {
                    return Err(bad("type", "is not one of user, agent, app, run"));
                }
                let filters = Map::from_iter([(owner, json!({ "in": [named("name")] }))]);
                let request = DeleteRequest { ids: None, filters: Some(filters) };
                shape(run(view, request)?, |DeleteAnswer { deleted }| match deleted {
                    0 => Err(Error::NoEntry { id: named("name") }),
                    _ => done("Entity deleted successfully!"),
                })
            }
            Ask::UpdateMany => {
                let many = memories(body)?;
                let mut answer = Value::Null;
                for one in many {
                    let id = one["memory_id"].as_str().unwrap_or_default();
                    answer = shape(run_json::<UpdateRequest>(view, changed(id, one))?, |_| {
                        done(&format!("Successfully updated {} memories", many.len()))
                    })?;
                }
                Ok(answer)
            }
            Ask::DeleteMany => {
                let ids: Vec<&Value> = memories(body)?.iter().map(|one| &one["memory_id"]).collect();
                shape(run_json::<DeleteRequest>(view, json!({ "ids": ids }))?, |DeleteAnswer { deleted }| {
                    done(&format!("Successfully deleted {deleted} memories"))
                })
            }
            Ask::Reset => {
                let any: Vec<Value> = OWNERS.iter().map(|owner| json!({ *owner: "*" })).collect();
                let filters = Map::from_iter([("OR".to_owned(), any.into())]);
                let request = DeleteRequest { ids: None, filters: Some(filters) };
                shape(run(view, request)?, |_| done("All memories reset"))
            }
        }
    }
}

/// Returns the answer in mem0's form, or says that the write waits for approval.
fn shape<A>(reply: Reply<A>, form: impl FnOnce(&A) -> nacre::Result<Value>) -> nacre::Result<Value> {
    match reply.outcome {
        Outcome::Done(answer) => form(&answer),
        Outcome::Waits(Waiting { note, .. }) => {
            Ok(json!({ "results": [], "status": "PENDING", "message": note }))
        }
    }
}

fn results(found: &FindAnswer) -> nacre::Result<Value> {
    Ok(json!({ "results": found.results }))
}

fn done(text: &str) -> nacre::Result<Value> {
    Ok(json!({ "message": text }))
}

fn bad(field: &str, problem: &str) -> Error {
    Error::BadArgument { tool: "mem0".into(), field: field.into(), problem: problem.into(), nearest: None }
}

fn unsaid() -> Error {
    bad("user_id", "is missing, and so are `agent_id`, `app_id` and `run_id`")
}

fn memories(body: &Value) -> nacre::Result<&Vec<Value>> {
    const MAX_PAGE_SIZE: usize = 1_000;
    match body["memories"].as_array() {
        Some(many) if many.len() > MAX_PAGE_SIZE => Err(bad("memories", "has more than 1000 items")),
        Some(many) if !many.is_empty() => Ok(many),
        _ => Err(bad("memories", "is missing")),
    }
}

/// Returns the filters of a body, with the owners next to them.
fn filters(body: &Value) -> nacre::Result<Map<String, Value>> {
    let mut filters = match &body["filters"] {
        Value::Null => Map::new(),
        Value::Object(filters) => filters.clone(),
        // The hosted service treats a list as a conjunction.
        Value::Array(list) => Map::from_iter([("AND".to_owned(), Value::Array(list.clone()))]),
        _ => return Err(bad("filters", "is not an object")),
    };
    for owner in OWNERS {
        if let Some(value) = body.get(*owner).filter(|value| !value.is_null()) {
            filters.insert((*owner).to_owned(), value.clone());
        }
    }
    Ok(filters)
}

/// Returns the arguments to store messages: a text, one message or many, each with a text or parts of one.
fn added(body: &Value) -> nacre::Result<Value> {
    let message = |message: &Value| -> nacre::Result<Value> {
        let content = match &message["content"] {
            Value::String(text) => text.clone(),
            Value::Array(parts) => {
                let texts = parts.iter().filter_map(|part| part["text"].as_str());
                texts.collect::<Vec<_>>().join("\n")
            }
            _ => String::new(),
        };
        Ok(json!({ "role": message["role"].as_str().unwrap_or("user"), "content": content }))
    };
    let messages = match &body["messages"] {
        Value::String(text) => vec![json!({ "role": "user", "content": text })],
        Value::Array(many) => many.iter().map(message).collect::<nacre::Result<_>>()?,
        one @ Value::Object(_) => vec![message(one)?],
        _ => return Err(bad("messages", "is missing")),
    };
    let mut arguments = json!({ "messages": messages });
    for name in ["metadata", "infer", "expiration_date"] {
        arguments[name] = body[name].clone();
    }
    for owner in OWNERS {
        // An ignored owner would attribute the memory to somebody else.
        if !matches!(body[*owner], Value::Null | Value::String(_)) {
            return Err(bad(owner, "is not a text"));
        }
        let beside = |filters: &Value| filters.get(*owner).filter(|value| value.is_string()).cloned();
        let within = || body["filters"]["AND"].as_array()?.iter().find_map(beside);
        let given = beside(body).or_else(|| beside(&body["filters"])).or_else(within);
        arguments[*owner] = given.unwrap_or_default();
    }
    Ok(arguments)
}

/// Returns the arguments to change a memory.
fn changed(id: &str, body: &Value) -> Value {
    let text = ["text", "data", "memory"].iter().map(|name| &body[*name]).find(|text| text.is_string());
    let mut arguments = json!({ "id": id, "text": text, "metadata": body["metadata"] });
    if let Some(day) = body.get("expiration_date") {
        arguments["expiration_date"] = if day.is_null() { "".into() } else { day.clone() };
    }
    arguments
}
