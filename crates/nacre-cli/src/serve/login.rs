//! The way in for the page: a link that works once, and a cookie that only this server's pages send. Neither outlives the
//! server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{Extension, Query, State as Extract};
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

use super::State;
use super::door::{Principal, proof};
use super::rest::refuse;
use super::token::secret;

/// How long a link works, and how many pages may be in at once.
const LINK: Duration = Duration::from_secs(120);
const MOST: usize = 64;

pub struct Logins {
    /// What the person's own processes prove themselves by: it stands in a file that only they can read.
    key: blake3::Hash,
    shown: String,
    /// When a link was made, and by which secret: a page may what that may, as long as it may.
    links: Mutex<HashMap<blake3::Hash, (Instant, String)>>,
    pages: Mutex<Vec<(blake3::Hash, String)>>,
}

impl Logins {
    pub fn new() -> Logins {
        let shown = secret().expect("a machine has randomness");
        Logins {
            key: blake3::hash(shown.as_bytes()),
            shown,
            links: Mutex::default(),
            pages: Mutex::default(),
        }
    }

    pub fn key(&self) -> &str {
        &self.shown
    }

    pub fn is_key(&self, given: &str) -> bool {
        blake3::hash(given.as_bytes()) == self.key
    }

    /// The secret by which a page was let in.
    pub fn secret(&self, cookie: &str) -> Option<String> {
        let given = blake3::hash(cookie.as_bytes());
        lock(&self.pages).iter().find(|(page, _)| *page == given).map(|(_, secret)| secret.clone())
    }

    fn link(&self, by: String) -> Option<String> {
        let code = secret().ok()?;
        let mut links = lock(&self.links);
        links.retain(|_, (made, _)| made.elapsed() < LINK);
        if links.len() >= MOST {
            return None;
        }
        links.insert(blake3::hash(code.as_bytes()), (Instant::now(), by));
        Some(code)
    }

    /// Takes a link, which then works no more, and gives a cookie for it.
    fn enter(&self, code: &str) -> Option<String> {
        let (made, by) = lock(&self.links).remove(&blake3::hash(code.as_bytes()))?;
        if made.elapsed() >= LINK {
            return None;
        }
        let cookie = secret().ok()?;
        let mut pages = lock(&self.pages);
        if pages.len() >= MOST {
            pages.remove(0);
        }
        pages.push((blake3::hash(cookie.as_bytes()), by));
        Some(cookie)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a link, for a person.
pub async fn new(
    Extract(state): Extract<Arc<State>>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
) -> Response {
    if !principal.person {
        return refuse(StatusCode::FORBIDDEN, "role_denied", "the page is for people", None);
    }
    match proof(&state, &headers).ok().and_then(|(secret, _)| state.logins.link(secret)) {
        Some(code) => axum::Json(json!({ "path": format!("/login?code={code}") })).into_response(),
        None => refuse(StatusCode::TOO_MANY_REQUESTS, "too_many_links", "many links wait to be opened", None),
    }
}

#[derive(serde::Deserialize)]
pub struct Code {
    code: String,
}

/// Takes a link and shows the page.
pub async fn enter(Extract(state): Extract<Arc<State>>, Query(Code { code }): Query<Code>) -> Response {
    let Some(cookie) = state.logins.enter(&code) else {
        let said = "This link was used already or is too old. Run `nacre ui` for a new one.\n";
        return (StatusCode::FORBIDDEN, said).into_response();
    };
    let mut answer = StatusCode::SEE_OTHER.into_response();
    let secure = if state.door.encrypts() { "; Secure" } else { "" };
    let cookie = format!("nacre={cookie}; Path=/; HttpOnly; SameSite=Strict{secure}");
    answer.headers_mut().insert(LOCATION, HeaderValue::from_static("/"));
    answer.headers_mut().insert(SET_COOKIE, HeaderValue::from_str(&cookie).expect("hexadecimal"));
    answer
}
