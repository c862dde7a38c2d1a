//! Access control: host, origin and token of every request.
//!
//! A page of another site can make the user's browser send requests here. So the host must be one of ours (DNS rebinding), the
//! origin too (cross-site requests), and a cookie alone is never enough to change something.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State as Extract};
use axum::http::header::{AUTHORIZATION, COOKIE, HeaderMap, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use nacre::{MemberToken, Role, Visibility};

use super::oidc::Provider;
use super::quota::MAX_REQUESTS;
use super::reply::{failed, refuse};
use super::state::State;
use crate::groups::pool::blocking;
use crate::groups::who::Principal;

/// A header that no form of another site can set.
pub const PAGE_HEADER: &str = "x-nacre";

/// Accepts requests from this machine's own pages and programs, limits their time, and adds security headers to the answer.
pub async fn guard(Extract(state): Extract<Arc<State>>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let path = request.uri().path().to_owned();
    let answer = match state.hosts.problem(request.headers()) {
        Some(problem) => refuse(StatusCode::FORBIDDEN, "not_let_in", problem, None),
        None => match tokio::time::timeout(state.hosts.longest, next.run(request)).await {
            Ok(answer) => answer,
            Err(_) => refuse(StatusCode::REQUEST_TIMEOUT, "too_slow", "the request took too long", None),
        },
    };
    state.metrics.count(&path, answer.status(), begun.elapsed());
    harden(answer)
}

fn harden(mut answer: Response) -> Response {
    const HEADERS: &[(&str, &str)] = &[
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        (
            "content-security-policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types nacre",
        ),
    ];
    for (name, value) in HEADERS {
        answer.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    answer.headers_mut().entry("cache-control").or_insert(HeaderValue::from_static("no-store"));
    answer
}

/// Identifies the sender of a request, and rejects unknown ones.
pub async fn authenticate(Extract(state): Extract<Arc<State>>, mut request: Request, next: Next) -> Response {
    match known(&state, request.method(), request.headers()).await {
        Ok(principal) => {
            // Also while a slow body comes in: the handler reads it.
            let Some(_place) = state.requests.take(&principal, MAX_REQUESTS) else {
                let said = "this token has too many requests at a time";
                return refuse(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", said, None);
            };
            request.extensions_mut().insert(principal);
            next.run(request).await
        }
        Err(Refusal::Failed(error)) => failed(&error),
        Err(Refusal::Unknown(problem)) => {
            let hint = "give a token as `Authorization: Bearer …` (`nacre token add NAME`), or open the dashboard with `nacre ui`";
            let mut answer = refuse(StatusCode::UNAUTHORIZED, "unauthorized", problem, Some(hint));
            answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"nacre\""));
            answer.into_response()
        }
    }
}

/// Why the sender of a request is not known.
pub enum Refusal {
    /// There is no such token, or none.
    Unknown(&'static str),
    /// The database that has the tokens of the team did not answer.
    Failed(nacre::Error),
}

impl From<&'static str> for Refusal {
    fn from(problem: &'static str) -> Refusal {
        Refusal::Unknown(problem)
    }
}

/// Returns the principal of a token: one of this machine, or one of a member of the team.
pub async fn known_by(state: &State, secret: &str) -> Result<Principal, Refusal> {
    if state.logins.is_key(secret) {
        return Ok(Principal::OWNER);
    }
    if let Some(token) = state.tokens.find(secret.trim()) {
        let (role, visibility) = (token.role(), token.visibility);
        let (group, person, untrusted) = (token.group, token.person, token.untrusted);
        let (token, member) = (Some(token.name), None);
        return Ok(Principal { token, member, group, role, visibility, person, untrusted, page: false });
    }
    if let Some(provider) = state.oidc.clone().filter(|_| Provider::is_token(secret)) {
        let (secret, now) = (secret.trim().to_owned(), state.now());
        // It may have to fetch the provider's keys.
        let checked = tokio::task::spawn_blocking(move || provider.verify(&secret, now)).await;
        return checked.map_err(|_| "the token could not be checked")?.map_err(Refusal::Unknown);
    }
    if state.home.server().is_none() {
        return Err(Refusal::Unknown("the token is unknown"));
    }
    let (home, secret, now) = (state.home.clone(), secret.trim().to_owned(), state.now());
    let found = blocking(&state.home, move || nacre::team::find_token(&home, &secret, now)).await;
    let token = found.map_err(Refusal::Failed)?.ok_or("the token is unknown")?;
    Ok(of_member(token))
}

/// Returns the principal of a member's token. Their role in each group limits what it may do there.
fn of_member(token: MemberToken) -> Principal {
    let MemberToken { member, name, person, private, untrusted, .. } = token;
    Principal {
        token: Some(format!("{member}/{name}")),
        member: Some(member),
        group: None,
        role: if person { Role::Admin } else { Role::Project },
        visibility: if private { Visibility::Private } else { Visibility::Shared },
        person,
        untrusted,
        page: false,
    }
}

/// Returns the secret of a request, and whether it is in the dashboard's cookie.
pub fn proof(state: &State, headers: &HeaderMap) -> Result<(String, bool), &'static str> {
    if let Some(given) = headers.get(AUTHORIZATION) {
        // The scheme is case-insensitive (RFC 9110).
        let given = given.to_str().ok().and_then(|text| text.split_once(' '));
        let secret = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        return Ok((secret.ok_or("this is not a bearer token")?.1.trim().to_owned(), false));
    }
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let ours = cookies.flat_map(|line| line.split(';')).find_map(|pair| pair.trim().strip_prefix("nacre="));
    let secret = state.logins.secret(ours.ok_or("the request has no token")?);
    Ok((secret.ok_or("this page was opened before the server last started")?, true))
}

/// Returns the principal of a request.
pub async fn known(state: &State, method: &Method, headers: &HeaderMap) -> Result<Principal, Refusal> {
    let (secret, page) = proof(state, headers)?;
    if page && method != Method::GET && !headers.contains_key(PAGE_HEADER) {
        return Err(Refusal::Unknown("a cookie alone is not enough to change something"));
    }
    Ok(Principal { page, ..known_by(state, &secret).await? })
}
