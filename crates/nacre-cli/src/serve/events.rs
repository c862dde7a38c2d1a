//! What happens, as it happens (A5): server-sent events of all processes of this home, as the telemetry file has them.

use std::convert::Infallible;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Extension, State as Extract};
use axum::http::{HeaderMap, Method};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::{self, Stream as _};
use nacre::{Home, Role, Visibility};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use super::State;
use super::door::{Principal, known};
use super::rest::failed;

/// How many events a slow follower may be behind before it is told that it missed some.
const BEHIND: usize = 1_024;
const PAUSE: Duration = Duration::from_millis(200);

pub struct Stream {
    told: broadcast::Sender<Arc<Value>>,
    ended: watch::Sender<bool>,
}

impl Stream {
    /// Begins to follow the telemetry file of a home.
    pub fn begin(home: &Home) -> Stream {
        let (told, _) = broadcast::channel(BEHIND);
        let (ended, end) = watch::channel(false);
        let (file, tell) = (home.path().join(nacre::event::FILE), told.clone());
        tokio::task::spawn_blocking(move || read(&file, &tell, &end));
        Stream { told, ended }
    }

    /// Ends all streams, so that nobody waits for them.
    pub fn end(&self) {
        let _ = self.ended.send(true);
    }
}

/// Tells what is written to the file from now on.
fn read(path: &PathBuf, tell: &broadcast::Sender<Arc<Value>>, end: &watch::Receiver<bool>) {
    let mut position = std::fs::metadata(path).map_or(0, |found| found.len());
    while !*end.borrow() {
        if let Ok(mut file) = File::open(path) {
            // A shorter file is a new one: it was turned over.
            if file.metadata().is_ok_and(|found| found.len() < position) {
                position = 0;
            }
            if file.seek(SeekFrom::Start(position)).is_ok() {
                let mut reader = BufReader::new(file);
                let mut line = String::new();
                while reader.read_line(&mut line).is_ok_and(|read| read > 0) && line.ends_with('\n') {
                    position += line.len() as u64;
                    if let Ok(event) = serde_json::from_str(&line) {
                        let _ = tell.send(Arc::new(event));
                    }
                    line.clear();
                }
            }
        }
        std::thread::sleep(PAUSE);
    }
}

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
    let heard = (state.events.told.subscribe(), state.events.ended.subscribe());
    let stream = stream::unfold(heard, move |(mut told, mut ended)| {
        let (group, state, headers) = (group.clone(), state.clone(), headers.clone());
        async move {
            loop {
                let event = tokio::select! {
                    event = told.recv() => event,
                    _ = ended.changed() => return None,
                };
                // Who is no longer let in hears no more.
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

/// An event as its follower may see it: where others read along, without names and words.
fn shown(event: &Value, visibility: Visibility) -> Event {
    let name = event["event"].as_str().unwrap_or("memory:read").to_owned();
    let data = match visibility {
        Visibility::Private => event.clone(),
        Visibility::Shared => json!({ "at": event["at"], "group": event["group"], "type": event["type"] }),
    };
    Event::default().event(name).data(data.to_string())
}
