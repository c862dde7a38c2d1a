//! The caller of a request and its group handle, the only difference between standard input and HTTP. A pipe has one client with
//! one group; over HTTP the token of every request identifies the caller.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nacre::{Actor, Caller, Group, GroupName, Home, SessionId, Time, View};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, Peer, RoleServer};
use serde_json::json;

use crate::context::{self, now};
use crate::groups::behind::BackgroundWork;
use crate::groups::pool::{Flush, Pool, blocking};
use crate::groups::watch::Watch;
use crate::groups::who::{Principal, Requester};

/// The keys of `_meta` in which a client may name the conversation of a call: our own, Codex's.
const SESSION_KEYS: &[&str] = &["nacre/session", "sessionId"];
/// The header in which a client before 2026-07-28 names its connection.
const CONNECTION: &str = "mcp-session-id";

/// How long a client may take to list its folders.
const ROOTS_TIMEOUT: Duration = Duration::from_secs(10);

/// Where calls come from and go to.
#[derive(Clone)]
pub enum Seat {
    /// One client, whose group is held open.
    ClientSeat(ClientSeat),
    /// One of many clients of a server.
    Shared(Arc<Pool>),
}

impl Seat {
    /// Identifies the caller of a request.
    pub fn who(&self, context: &RequestContext<RoleServer>) -> Result<Requester, ErrorData> {
        let meta = serde_json::to_value(&context.meta).unwrap_or_default();
        let told: Option<SessionId> = SESSION_KEYS.iter().find_map(|key| meta[*key].as_str()?.parse().ok());
        let mut who = match self {
            Seat::ClientSeat(own) => Requester { caller: own.caller(), group: own.name.clone() },
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
                Requester { caller, group }
            }
        };
        if let Some(told) = told {
            who.caller.session = told;
        }
        Ok(who)
    }

    /// Asks a client before 2026-07-28 for the folders that it works in. Over HTTP it may run on another machine.
    #[expect(deprecated, reason = "the protocol that has roots is still in use")]
    pub async fn ask_for_roots(&self, peer: &Peer<RoleServer>) {
        let Seat::ClientSeat(own) = self else { return };
        if peer.peer_info().is_none_or(|client| client.capabilities.roots.is_none()) {
            return;
        }
        let Ok(Ok(listed)) = tokio::time::timeout(ROOTS_TIMEOUT, peer.list_roots()).await else { return };
        let reported = listed.roots.iter().find_map(|root| context::reported_project(&file_path(&root.uri)?));
        if reported.is_some() {
            *lock(&own.root) = reported;
        }
    }

    /// Runs work on the group on a blocking thread.
    pub async fn ask<T: Send + 'static>(
        &self,
        who: Requester,
        work: impl FnOnce(&mut View<'_>) -> nacre::Result<T> + Send + 'static,
    ) -> nacre::Result<T> {
        match self {
            Seat::ClientSeat(own) => own.ask(who, work).await,
            Seat::Shared(pool) => pool.ask(who, work).await,
        }
    }
}

/// The seat of one client.
#[derive(Clone)]
pub struct ClientSeat {
    home: Arc<Home>,
    name: GroupName,
    caller: Arc<Caller>,
    /// The folder of the project that the client reports.
    root: Arc<Mutex<Option<PathBuf>>>,
    /// A fixed time, in tests.
    clock: Option<Time>,
    /// Opened by the first call: a store that is down is an error of that call and does not stop the server from starting.
    group: Arc<Mutex<Option<(Group, Watch)>>>,
    flush: Flush,
    /// Set once the background work has started.
    behind: Arc<Mutex<Option<BackgroundWork>>>,
}

impl ClientSeat {
    pub fn new(home: &Home, name: &GroupName, caller: Caller, clock: Option<Time>) -> ClientSeat {
        let (home, name, caller) = (Arc::new(home.clone()), name.clone(), Arc::new(caller));
        let root = Arc::default();
        let (group, flush, behind) = (Arc::default(), Flush::default(), Arc::default());
        ClientSeat { home, name, caller, root, clock, group, flush, behind }
    }

    fn caller(&self) -> Caller {
        let caller = Caller::clone(&self.caller);
        let project_folder = lock(&self.root).clone().or(caller.project_folder);
        Caller { project_folder, ..caller }
    }

    /// Starts the background work. Without a provider this happens after the first call has opened the group, so that the call
    /// gets the error if that fails.
    pub fn begin_behind(&self) {
        lock(&self.behind).get_or_insert_with(|| BackgroundWork::begin(&self.home, &self.name, self.clock));
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
        who: Requester,
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
        let held = self.group.clone();
        self.flush.later(move || {
            if let Some((group, _)) = &mut *lock(&held) {
                group.flush();
            }
        });
        answer
    }
}

/// Returns the path of a `file:` URI.
fn file_path(uri: &str) -> Option<PathBuf> {
    let path = nacre::percent_decode(uri.strip_prefix("file://")?)?;
    // `file:///C:/work` on Windows.
    let is_drive = path.as_bytes().get(2) == Some(&b':');
    Some(PathBuf::from(if is_drive { &path[1..] } else { &path }))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
