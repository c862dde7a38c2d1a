//! Anthropic's memory tool over HTTP: its input as the body, `{content, is_error}` as the answer.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, State as Extract};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use nacre::call::compat::memory_tool::{MemoryToolRequest, MemoryToolResult};
use nacre::{Error, Kind, Outcome, View};
use serde::Serialize;
use serde_json::Value;

use crate::groups::who::{Principal, Requester};
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
    // Even with a person's token: the caller of this tool is a model.
    caller.actor = nacre::Actor::Agent;
    let work = move |view: &mut View<'_>| Ok(result(view, input));
    match state.pool.ask(Requester { caller, group }, work).await.and_then(|answer| answer) {
        Ok(told) => Ok(Json(told).into_response()),
        Err(error) => Err(failed(&error)),
    }
}

/// The result of a call as a model reads it.
#[derive(Serialize)]
pub struct ToolResult {
    content: String,
    is_error: bool,
}

/// The result of the tool, refusals included. An error: the store can't answer at all.
pub fn result(view: &mut View<'_>, input: Value) -> nacre::Result<ToolResult> {
    match nacre::run_json::<MemoryToolRequest>(view, input).map(|reply| reply.outcome) {
        Ok(Outcome::Done(MemoryToolResult { content, is_error, .. })) => Ok(ToolResult { content, is_error }),
        Ok(Outcome::Waits(waiting)) => Ok(ToolResult { content: waiting.note, is_error: true }),
        Err(error) if matches!(error.kind(), Kind::Unavailable | Kind::Internal) => Err(error),
        Err(error) => Ok(refused(&error)),
    }
}

/// Returns the result that tells a model why its call was refused.
pub fn refused(error: &Error) -> ToolResult {
    ToolResult { content: nacre::redact::text(&error.to_string()).into_owned(), is_error: true }
}
