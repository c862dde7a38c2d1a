//! Who calls, and on which group handle: the one thing that standard input and HTTP do not have in common. At the other end
//! of a pipe is one client with one group; over HTTP every request says by its token who it is from.

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

/// The keys of `_meta` in which a client may say which conversation a call belongs to: our own, Codex's.
const SESSION_KEYS: &[&str] = &["nacre/session", "sessionId"];
/// The header by which a client of before 2026-07-28 names its connection.
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
    /// Finds out who a request is from.
    pub fn who(&self, context: &RequestContext<RoleServer>) -> Result<Who, ErrorData> {
        let meta = serde_json::to_value(&context.meta).unwrap_or_default();
        let told: Option<SessionId> = SESSION_KEYS.iter().find_map(|key| meta[*key].as_str()?.parse().ok());
        let mut who = match self {
            Seat::Own(own) => Who { caller: own.caller.clone(), group: own.name.clone() },
            Seat::Shared(pool) => {
                let parts = context.extensions.get::<axum::http::request::Parts>();
                let known = parts.and_then(|parts| Some((parts, parts.extensions.get::<Principal>()?)));
                let (parts, principal) =
                    known.ok_or_else(|| ErrorData::internal_error("nobody knows who asks", None))?;
                let (mut caller, group) = principal.caller(&parts.headers, pool.now()).map_err(|error| {
                    ErrorData::invalid_params(error.to_string(), Some(json!({ "code": error.code() })))
                })?;
                // Whoever gave it the token: what calls tools over MCP is a model, and only a person approves.
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

    /// Does something with the group on a blocking thread.
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
    /// Opened by the first call: a store that is down is the answer to a call, not a server that does not
    /// start.
    group: Arc<Mutex<Option<(Group, Watch)>>>,
    /// Set once what is done behind the calls has begun.
    behind: Arc<Mutex<Option<Behind>>>,
}

impl Own {
    pub fn new(home: &Home, name: &GroupName, caller: Caller, clock: Option<Time>) -> Own {
        let (home, name) = (home.clone(), name.clone());
        Own { home, name, caller, clock, group: Arc::default(), behind: Arc::default() }
    }

    /// Begins with what is done behind the calls. Without a provider that is after the first call opened the
    /// group: it is the one to hear what is wrong with it.
    pub fn begin_behind(&self) {
        lock(&self.behind).get_or_insert_with(|| Behind::begin(&self.home, &self.name, self.clock));
    }

    /// Ends what is done behind the calls and closes the group.
    pub fn end(self, now: Time) {
        if let Some(behind) = lock(&self.behind).take() {
            behind.end();
        }
        // What was recalled since the last write is remembered; that it can't be is no reason to fail.
        if let Some((group, _)) = &mut *lock(&self.group) {
            let _ = group.enter(&Caller::nacre(now)).and_then(|mut view| view.settle());
        }
        // One after the other: of two that close a database at once neither may be the last.
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
            // A call that panicked may have left the handle half changed: a new one is opened.
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
