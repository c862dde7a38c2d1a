//! `/v1/sharing`: who shares a group's memory, for the dashboard: the rights of the caller, the access tokens, and the synced machines.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State as Extract};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use nacre::sync::{self, SyncStatus};
use nacre::{GroupName, Home, Member, MemberRole, Time, Visibility, team};
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
    /// The caller's role as a member of a team, and the members that the caller sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    team: Option<Team>,
    /// The access tokens; none for a member, or a caller who may open one group only.
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

/// A team, as the caller sees it.
#[derive(Serialize)]
struct Team {
    /// The member who asks; absent: somebody whom no role restricts.
    #[serde(skip_serializing_if = "Option::is_none")]
    member: Option<String>,
    /// The caller's role in the open group.
    role: MemberRole,
    members: Vec<Member>,
}

impl Team {
    /// Returns `None` if the home is no server, or nobody is a member.
    fn seen_by(home: &Home, group: &GroupName, member: Option<&str>) -> nacre::Result<Option<Team>> {
        if home.server().is_none() {
            return Ok(None);
        }
        let members = team::fellows(home, member)?;
        if members.is_empty() {
            return Ok(None);
        }
        let rights = team::rights(home, group, member)?;
        Ok(Some(Team { member: rights.member, role: rights.role, members }))
    }
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
        let team = Team::seen_by(&own.home, view.name(), principal.member.as_deref())?;
        let tokens = match (&principal.group, &principal.member) {
            (Some(_), _) | (_, Some(_)) => Vec::new(),
            (None, None) => own.tokens.all().into_iter().map(TokenRow::from).collect(),
        };
        let Principal { token, role, visibility, .. } = principal;
        let you = Rights { token, role: role.as_str(), visibility };
        Ok(Sharing { you, server: own.home.server().map(str::to_owned), team, tokens, sync, problem })
    };
    match state.pool.ask(Requester { caller, group }, work).await {
        Ok(sharing) => Json(sharing).into_response(),
        Err(error) => failed(&error),
    }
}
