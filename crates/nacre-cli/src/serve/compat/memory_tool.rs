//! Anthropic's memory tool over HTTP: its input as the body, `{content, is_error}` as the answer.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, State as Extract};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use nacre::{Caller, Group};

use crate::mcp::Who;
use crate::serve::State;
use crate::serve::door::Principal;
use crate::serve::rest::{body_of, failed};

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
    let work = move |group: &mut Group, caller: &Caller| {
        Ok(crate::commands::memory_tool::answer(group, caller, input))
    };
    match State::ask(&state, Who { caller, group }, work).await.and_then(|answer| answer) {
        Ok(told) => Ok(Json(told).into_response()),
        Err(error) => Err(failed(&error)),
    }
}
