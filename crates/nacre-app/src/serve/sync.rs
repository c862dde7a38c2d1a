//! `/v1/sync`: the sealed logs of machines that sync over this server. It has no key, and reads no memory. `/v1/machines`: the machines
//! of a synced group, as `nacre sync status` shows them.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Extension, Path, State as Extract};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use nacre::sync::host::{Host, MAX_FILE_BYTES};
use nacre::{Error, Role};

use super::reply::{body_of, failed, refuse};
use super::state::State;
use crate::groups::who::{Principal, Requester};

/// The paths of the files. A file of a log is larger than other requests.
pub fn routes() -> Router<Arc<State>> {
    Router::new()
        .route("/v1/sync", get(list))
        .route("/v1/sync/{*path}", get(read).put(write).delete(remove))
        .layer(DefaultBodyLimit::max(MAX_FILE_BYTES))
        .route("/v1/machines", get(machines))
}

/// Returns the state of syncing. Only people may see it: it names their machines.
async fn machines(
    Extract(state): Extract<Arc<State>>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
) -> Response {
    if !principal.person {
        return refuse(StatusCode::FORBIDDEN, "role_denied", "the list of machines is for people only", None);
    }
    let (caller, group) = match principal.caller(&headers, state.now()) {
        Ok(known) => known,
        Err(error) => return failed(&error),
    };
    match state.pool.ask(Requester { caller, group }, |view| nacre::sync::status(view)).await {
        Ok(status) => Json(status).into_response(),
        Err(error) => failed(&error),
    }
}

/// Does something with the files of the caller's group, on a thread that may wait.
async fn with_host<T: IntoResponse + Send + 'static>(
    state: Arc<State>,
    principal: Principal,
    headers: HeaderMap,
    work: impl FnOnce(&Host) -> nacre::Result<T> + Send + 'static,
) -> Response {
    let answer = tokio::task::spawn_blocking(move || {
        let (caller, group) = principal.caller(&headers, state.now())?;
        if caller.untrusted || caller.role == Role::Skill {
            return Err(Error::SyncNotAllowed);
        }
        if state.home.server().is_some() {
            return Err(Error::NotOnServer { what: "sync" });
        }
        work(&Host::of(state.home.path(), &group)?)
    });
    match answer.await {
        Ok(Ok(answer)) => answer.into_response(),
        Ok(Err(error)) => failed(&error),
        Err(problem) => failed(&Error::Database(Box::new(problem))),
    }
}

async fn list(
    Extract(state): Extract<Arc<State>>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
) -> Response {
    with_host(state, principal, headers, |host| host.list().map(Json)).await
}

async fn read(
    Extract(state): Extract<Arc<State>>,
    Extension(principal): Extension<Principal>,
    Path(path): Path<String>,
    headers: HeaderMap,
) -> Response {
    with_host(state, principal, headers, move |host| host.read(&path)).await
}

async fn write(
    Extract(state): Extract<Arc<State>>,
    Extension(principal): Extension<Principal>,
    Path(path): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Response> {
    let body = body_of(body)?;
    Ok(with_host(state, principal, headers, move |host| host.write(&path, &body).map(Json)).await)
}

async fn remove(
    Extract(state): Extract<Arc<State>>,
    Extension(principal): Extension<Principal>,
    Path(device): Path<String>,
    headers: HeaderMap,
) -> Response {
    with_host(state, principal, headers, move |host| {
        host.remove(&device).map(|()| Json(serde_json::json!({})))
    })
    .await
}
