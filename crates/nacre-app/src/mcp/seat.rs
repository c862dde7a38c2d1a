//! The caller of a request and its group handle, the only difference between standard input and HTTP. A pipe has one client with
//! one group; over HTTP the token of every request identifies the caller.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nacre::{Actor, Caller, Group, GroupName, Home, SessionId, Time, View};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::json;

use crate::context::{self, now};
use crate::groups::behind::Behind;
use crate::groups::pool::{Pool, blocking};
use crate::groups::watch::Watch;
use crate::groups::who::{Principal, Who};

/// The keys of `_meta` in which a client may name the conversation of a call: our own, Codex's.
const SESSION_KEYS: &[&str] = &["nacre/session", "sessionId"];
/// The header in which a client before 2026-07-28 names its connection.
const CONNECTION: &str = "mcp-session-id";

/// Where calls come from and go to.
#[derive(Clone)]
pub enum Seat {
    /// One client, whose group is held open.
    Own(Own),
    /// One of many clients of a server.
    Shared(Arc<Pool>),
}

impl Seat {
    /// Identifies the caller of a request.
    pub fn who(&self, context: &RequestContext<RoleServer>) -> Result<Who, ErrorData> {
        let meta = serde_json::to_value(&context.meta).unwrap_or_default();
        let told: Option<SessionId> = SESSION_KEYS.iter().find_map(|key| meta[*key].as_str()?.parse().ok());
        let mut who = match self {
            Seat::Own(own) => Who { caller: own.caller.clone(), group: own.name.clone() },
            Seat::Shared(pool) => {
                let parts = context.extensions.get::<axum::http::request::Parts>();
                let known = parts.and_then(|parts| Some((parts, parts.extensions.get::<Principal>()?)));
                let (parts, principal) =
                    known.ok_or_else(|| ErrorData::internal_error("the caller is unknown", None))?;
                let (mut caller, group) = principal.caller(&parts.headers, pool.now()).map_err(|error| {
                    ErrorData::invalid_params(error.to_string(), Some(json!({ "code": error.code() })))
                })?;
                // Even with a person's token: the caller over MCP is a model, and only a person approves.
                caller.actor = Actor::Agent;
                let connection = parts.headers.get(CONNECTION).and_then(|id| id.to_str().ok()?.parse().ok());
                if let Some(connection) = connection.filter(|_| !Principal::names_session(&parts.headers)) {
                    caller.session = connection;
                }
                Who { caller, group }
            }
        };
        if let Some(told) = told {
            who.caller.session = told;
        }
        Ok(who)
    }

    /// Runs work on the group on a blocking thread.
    pub async fn ask<T: Send + 'static>(
        &self,
        who: Who,
        work: impl FnOnce(&mut View<'_>) -> nacre::Result<T> + Send + 'static,
    ) -> nacre::Result<T> {
        match self {
            Seat::Own(own) => own.ask(who, work).await,
            Seat::Shared(pool) => pool.ask(who, work).await,
        }
    }
}

/// The seat of one client.
#[derive(Clone)]
pub struct Own {
    home: Home,
    name: GroupName,
    caller: Caller,
    /// A fixed time, in tests.
    clock: Option<Time>,
    /// Opened by the first call: a store that is down is an error of that call and does not stop the server from starting.
    group: Arc<Mutex<Option<(Group, Watch)>>>,
    /// Set once the background work has started.
    behind: Arc<Mutex<Option<Behind>>>,
}

impl Own {
    pub fn new(home: &Home, name: &GroupName, caller: Caller, clock: Option<Time>) -> Own {
        let (home, name) = (home.clone(), name.clone());
        Own { home, name, caller, clock, group: Arc::default(), behind: Arc::default() }
    }

    /// Starts the background work. Without a provider this happens after the first call has opened the group, so that the call
    /// gets the error if that fails.
    pub fn begin_behind(&self) {
        lock(&self.behind).get_or_insert_with(|| Behind::begin(&self.home, &self.name, self.clock));
    }

    /// Ends the background work and closes the group.
    pub fn end(self, now: Time) {
        if let Some(behind) = lock(&self.behind).take() {
            behind.end();
        }
        // Notes what was recalled since the last write. A failure to do so is ignored.
        if let Some((group, _)) = &mut *lock(&self.group) {
            let _ = group.enter(&Caller::nacre(now)).and_then(|mut view| view.settle());
        }
        // One after the other: if two close a database at once, neither may notice that it is the last.
        drop(lock(&self.group).take());
    }

    async fn ask<T: Send + 'static>(
        &self,
        who: Who,
        work: impl FnOnce(&mut View<'_>) -> nacre::Result<T> + Send + 'static,
    ) -> nacre::Result<T> {
        let (home, name, group) = (self.home.clone(), self.name.clone(), self.group.clone());
        let now = self.clock.unwrap_or_else(now);
        let caller = Caller { now, ..who.caller };
        let call = move || {
            // A call that panicked may have left the handle in an inconsistent state: a new one is opened.
            let mut group = group.lock().unwrap_or_else(|poisoned: PoisonError<_>| {
                group.clear_poison();
                let mut held = poisoned.into_inner();
                *held = None;
                held
            });
            let (group, watch) = match &mut *group {
                Some(open) => open,
                none => none.insert((context::open(&home, &name, now)?, Watch::default())),
            };
            watch.keep(group);
            work(&mut group.enter(&caller)?)
        };
        let answer = blocking(&self.home, call).await;
        if answer.is_ok() {
            self.begin_behind();
        }
        answer
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
