//! Server-sent events of all processes of this home, from the telemetry file.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{Extension, State as Extract};
use axum::http::{HeaderMap, Method};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::{self, Stream as _};
use nacre::{Role, Visibility};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;

use super::door::known;
use super::reply::failed;
use super::state::State;
use crate::groups::who::Principal;

/// Streams the events of a group.
pub async fn follow(
    Extract(state): Extract<Arc<State>>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
) -> Response {
    let (caller, group) = match principal.caller(&headers, state.now()) {
        Ok(known) => known,
        Err(error) => return failed(&error),
    };
    if caller.role == Role::Skill {
        return failed(&nacre::Error::RoleDenied { tool: "events".into(), role: caller.role.as_str() });
    }
    let everything = principal.group.is_none();
    let stream = stream::unfold(state.events.subscribe(), move |(mut told, mut ended)| {
        let (group, state, headers) = (group.clone(), state.clone(), headers.clone());
        async move {
            loop {
                let event = tokio::select! {
                    event = told.recv() => event,
                    _ = ended.changed() => return None,
                };
                // A revoked token gets no more events.
                if known(&state, &Method::GET, &headers).is_err() {
                    return None;
                }
                let event = match event {
                    Ok(event) if everything || event["group"] == group.as_str() => {
                        shown(&event, caller.visibility)
                    }
                    Ok(_) => continue,
                    Err(RecvError::Lagged(count)) => Event::default().event("missed").data(count.to_string()),
                    Err(RecvError::Closed) => return None,
                };
                return Some((Ok::<_, Infallible>(event), (told, ended)));
            }
        }
    });
    debug_assert!(stream.size_hint().1.is_none(), "it goes on");
    let mut answer = Sse::new(stream).keep_alive(KeepAlive::default()).into_response();
    answer.headers_mut().insert("x-accel-buffering", axum::http::HeaderValue::from_static("no"));
    answer
}

/// Returns an event as its follower may see it: in a shared session, without names and texts.
fn shown(event: &Value, visibility: Visibility) -> Event {
    let name = event["event"].as_str().unwrap_or("memory:read").to_owned();
    let data = match visibility {
        Visibility::Private => event.clone(),
        Visibility::Shared => json!({ "at": event["at"], "group": event["group"], "type": event["type"] }),
    };
    Event::default().event(name).data(data.to_string())
}
