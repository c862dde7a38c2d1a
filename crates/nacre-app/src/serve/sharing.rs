//! `/v1/sharing`: who shares a group's memory, for the dashboard: the rights of the caller, the access tokens, and the synced machines.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State as Extract};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use nacre::sync::{self, SyncStatus};
use nacre::{GroupName, Time, Visibility};
use serde::Serialize;

use super::reply::{failed, refuse};
use super::state::State;
use super::token::Token;
use crate::groups::who::{Principal, Requester};

#[derive(Serialize)]
struct Sharing {
    you: Rights,
    /// The database server that holds the groups, if they are not in a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// The access tokens; none for a caller who may open one group only.
    tokens: Vec<TokenRow>,
    /// The machines, if the group is synced.
    #[serde(skip_serializing_if = "Option::is_none")]
    sync: Option<SyncStatus>,
    /// Why the machines can't be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// The rights of the caller.
#[derive(Serialize)]
struct Rights {
    /// The name of the token; absent: the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    role: &'static str,
    visibility: Visibility,
}

/// A token without its hash.
#[derive(Serialize)]
struct TokenRow {
    name: String,
    /// Only this group; absent: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<GroupName>,
    role: &'static str,
    visibility: Visibility,
    person: bool,
    untrusted: bool,
    made_at: Time,
}

impl From<Token> for TokenRow {
    fn from(token: Token) -> TokenRow {
        let role = token.role().as_str();
        let Token { name, group, visibility, person, untrusted, made_at, .. } = token;
        TokenRow { name, group, role, visibility, person, untrusted, made_at }
    }
}

/// Returns who shares the memory of a group. Only people may see it.
pub async fn show(
    Extract(state): Extract<Arc<State>>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
) -> Response {
    if !principal.person {
        return refuse(
            StatusCode::FORBIDDEN,
            "role_denied",
            "who shares the memory is for people only",
            None,
        );
    }
    let (caller, group) = match principal.caller(&headers, state.now()) {
        Ok(known) => known,
        Err(error) => return failed(&error),
    };
    let own = state.clone();
    let work = move |view: &mut nacre::View<'_>| {
        let is_synced = sync::is_on(own.home.path(), view.name());
        let (sync, problem) = match is_synced.then(|| sync::status(view)) {
            Some(Ok(status)) => (Some(status), None),
            // The folder of the logs may be on a disk that is not mounted.
            Some(Err(error)) => (None, Some(nacre::redact::text(&error.to_string()).into_owned())),
            None => (None, None),
        };
        let tokens = match principal.group {
            Some(_) => Vec::new(),
            None => own.tokens.all().into_iter().map(TokenRow::from).collect(),
        };
        let Principal { token, role, visibility, .. } = principal;
        let you = Rights { token, role: role.as_str(), visibility };
        Ok(Sharing { you, server: own.home.server().map(str::to_owned), tokens, sync, problem })
    };
    match state.pool.ask(Requester { caller, group }, work).await {
        Ok(sharing) => Json(sharing).into_response(),
        Err(error) => failed(&error),
    }
}
