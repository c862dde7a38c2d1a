//! Server-sent events of all processes of this home, from the telemetry file. In a home on a database server, writes come from the
//! audit log of the group instead, so that they are those of all machines.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Extension, State as Extract};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::{self, Stream as _};
use nacre::{Caller, GroupName, Role, Visibility};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;

use super::door::known;
use super::quota::MAX_STREAMS;
use super::reply::{failed, refuse};
use super::state::State;
use crate::groups::who::{Principal, Requester};

/// How often the writes of other machines are read.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

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
    // A member without a role in the group gets no events.
    let who = Requester { caller: caller.clone(), group: group.clone() };
    if let Err(error) = state.pool.ask(who, |_| Ok(())).await {
        return failed(&error);
    }
    let everything = principal.group.is_none() && principal.member.is_none();
    let Some(place) = state.streams.take(&principal, MAX_STREAMS) else {
        let said = "this token follows too many event streams";
        return refuse(StatusCode::TOO_MANY_REQUESTS, "too_many_streams", said, None);
    };
    let place = Arc::new(place);
    let mut writes = Writes::new(&state, &group);
    writes.read(&state).await;
    let start = (state.events.subscribe(), writes);
    let stream = stream::unfold(start, move |((mut told, mut ended), mut writes)| {
        // Held as long as the stream.
        let _place = place.clone();
        let (group, state, headers) = (group.clone(), state.clone(), headers.clone());
        async move {
            loop {
                let event = tokio::select! {
                    event = writes.next(&state) => Ok(event),
                    event = told.recv() => match event {
                        Ok(event) if writes.has(&event) => continue,
                        event => event,
                    },
                    _ = ended.changed() => return None,
                };
                // A revoked token gets no more events.
                if known(&state, &Method::GET, &headers).await.is_err() {
                    return None;
                }
                let event = match event {
                    // That a private session did something is private too.
                    Ok(event) if caller.visibility == Visibility::Shared && event["shared"] != true => {
                        continue;
                    }
                    Ok(event) if everything || event["group"] == group.as_str() => {
                        shown(&event, caller.visibility)
                    }
                    Ok(_) => continue,
                    Err(RecvError::Lagged(count)) => Event::default().event("missed").data(count.to_string()),
                    Err(RecvError::Closed) => return None,
                };
                return Some((Ok::<_, Infallible>(event), ((told, ended), writes)));
            }
        }
    });
    debug_assert!(stream.size_hint().1.is_none(), "it goes on");
    let mut answer = Sse::new(stream).keep_alive(KeepAlive::default()).into_response();
    answer.headers_mut().insert("x-accel-buffering", axum::http::HeaderValue::from_static("no"));
    answer
}

/// The writes to a group on a server, of all machines.
struct Writes {
    /// `None`: the group is in a folder, and the telemetry file has them.
    group: Option<GroupName>,
    /// The last row of the audit log that was read.
    row: Option<i64>,
    waiting: VecDeque<Arc<Value>>,
    ticks: tokio::time::Interval,
}

impl Writes {
    fn new(state: &State, group: &GroupName) -> Writes {
        let group = state.home.server().map(|_| group.clone());
        let mut ticks = tokio::time::interval(POLL_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        Writes { group, row: None, waiting: VecDeque::new(), ticks }
    }

    /// Tells whether an event of the telemetry file comes from the audit log too.
    fn has(&self, event: &Value) -> bool {
        let is_write = event["event"] == "memory:write";
        is_write && self.group.as_ref().is_some_and(|group| event["group"] == group.as_str())
    }

    /// Waits for the next write. If it is not waited for to the end, nothing is lost.
    async fn next(&mut self, state: &State) -> Arc<Value> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return event;
            }
            self.ticks.tick().await;
            self.read(state).await;
        }
    }

    /// Reads the writes since the last time. A server that is down is asked again later.
    async fn read(&mut self, state: &State) {
        let Some(group) = self.group.clone() else { return };
        let (row, caller) = (self.row, Caller::nacre(state.now()));
        let read = state.pool.ask(Requester { caller, group }, move |view| view.writes_after(row)).await;
        if let Ok((row, events)) = read {
            self.row = Some(row);
            let events = events.iter().filter_map(|event| serde_json::to_value(event).ok());
            self.waiting.extend(events.map(Arc::new));
        }
    }
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
