//! Anthropic's memory tool over HTTP: its input as the body, `{content, is_error}` as the answer.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, State as Extract};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use nacre::{Error, Kind, View};
use serde_json::{Value, json};

use crate::groups::who::{Principal, Who};
use crate::serve::reply::{body_of, failed};
use crate::serve::state::State;

pub async fn answer(
    Extract(state): Extract<Arc<State>>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Response> {
    let input = nacre::call::parse(&body_of(body)?).map_err(|error| failed(&error))?;
    let (mut caller, group) = principal.caller(&headers, state.now()).map_err(|error| failed(&error))?;
    // Whoever gave it the token: what uses this tool is a model.
    caller.actor = nacre::Actor::Agent;
    let work = move |view: &mut View<'_>| Ok(result(view, input));
    match state.pool.ask(Who { caller, group }, work).await.and_then(|answer| answer) {
        Ok(told) => Ok(Json(told).into_response()),
        Err(error) => Err(failed(&error)),
    }
}

/// What the model is told: the result of the tool, refusals included. An error: the store can't answer at all.
pub fn result(view: &mut View<'_>, input: Value) -> nacre::Result<Value> {
    match nacre::call(view, "memory_tool", input) {
        Ok(answer) => Ok(json!({ "content": answer.data["content"], "is_error": answer.data["is_error"] })),
        Err(error) if matches!(error.kind(), Kind::Unavailable | Kind::Internal) => Err(error),
        Err(error) => Ok(refused(&error)),
    }
}

/// What the model is told where a call was refused.
pub fn refused(error: &Error) -> Value {
    let text = nacre::redact::text(&error.to_string()).into_owned();
    json!({ "content": text, "is_error": true })
}
