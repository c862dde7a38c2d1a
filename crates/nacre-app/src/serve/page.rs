//! The dashboard: files that are compiled in, and sign-in by a link.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::{Extension, Path, Query, State as Extract};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

use super::door::proof;
use super::reply::refuse;
use super::state::State;
use crate::groups::who::Principal;

/// Declares the dashboard's files, each by its path below `web/`.
macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_bytes!(concat!("../../web/", $path)))),*]
    };
}

/// Every file of the dashboard. A test compares this with the folder.
pub const FILES: &[(&str, &[u8])] = files![
    "index.html",
    "nacre.svg",
    "icons.svg",
    "app.css",
    "app.js",
    "api.js",
    "address.js",
    "dom.js",
    "format.js",
    "feedback.js",
    "router.js",
    "views.js",
    "shell.js",
    "palette.js",
    "picker.js",
    "list.js",
    "hits.js",
    "entry-form.js",
    "entry-card.js",
    "conflicts.js",
    "lessons.js",
    "sentences.js",
    "sharing.js",
    "diff.js",
    "markdown.js",
    "chart.js",
    "graph-model.js",
    "graph-canvas.js",
    "layout.js",
    "views/home.js",
    "views/memory.js",
    "views/entry.js",
    "views/approvals.js",
    "views/sessions.js",
    "views/graph.js",
    "views/timeline.js",
    "views/files.js",
    "views/tasks.js",
    "views/health.js",
    "vendor/d3-dispatch.min.js",
    "vendor/d3-force.min.js",
    "vendor/d3-quadtree.min.js",
    "vendor/d3-timer.min.js",
    "vendor/LICENSE-d3.txt",
];

pub async fn index(headers: HeaderMap) -> Response {
    give("index.html", &headers)
}

pub async fn asset(Path(path): Path<String>, headers: HeaderMap) -> Response {
    give(&path, &headers)
}

fn give(path: &str, headers: &HeaderMap) -> Response {
    let Some((name, bytes)) = FILES.iter().find(|(name, _)| *name == path) else {
        return refuse(StatusCode::NOT_FOUND, "no_such_path", "the dashboard has no such file", None);
    };
    let bytes = current(name, bytes);
    let tag = format!("\"{}\"", &blake3::hash(&bytes).to_hex()[..16]);
    let known = headers.get(IF_NONE_MATCH).is_some_and(|given| given.as_bytes() == tag.as_bytes());
    let kind = match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    };
    let mut answer = if known { StatusCode::NOT_MODIFIED.into_response() } else { bytes.into_response() };
    let set = answer.headers_mut();
    set.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    // Never cached: a newer binary has a newer dashboard.
    set.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    set.insert(ETAG, HeaderValue::from_str(&tag).expect("hexadecimal"));
    answer
}

/// Returns a file of the dashboard. A debug build reads it from the sources, so that a change shows without a compile.
fn current(name: &str, compiled: &'static [u8]) -> Cow<'static, [u8]> {
    if cfg!(debug_assertions)
        && let Ok(bytes) =
            std::fs::read(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("web").join(name))
    {
        return bytes.into();
    }
    compiled.into()
}

/// Creates a sign-in link for a user.
pub async fn link(
    Extract(state): Extract<Arc<State>>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
) -> Response {
    if !principal.person {
        return refuse(StatusCode::FORBIDDEN, "role_denied", "the dashboard is for people only", None);
    }
    match proof(&state, &headers).ok().and_then(|(secret, _)| state.logins.link(secret)) {
        Some(code) => axum::Json(json!({ "path": format!("/login?code={code}") })).into_response(),
        None => {
            refuse(StatusCode::TOO_MANY_REQUESTS, "too_many_links", "too many sign-in links are unused", None)
        }
    }
}

#[derive(serde::Deserialize)]
pub struct Code {
    code: String,
}

/// Accepts a sign-in link and shows the dashboard.
pub async fn enter(Extract(state): Extract<Arc<State>>, Query(Code { code }): Query<Code>) -> Response {
    let Some(cookie) = state.logins.enter(&code) else {
        // The dashboard itself explains how to get in.
        let mut answer = give("index.html", &HeaderMap::new());
        *answer.status_mut() = StatusCode::FORBIDDEN;
        return answer;
    };
    let mut answer = StatusCode::SEE_OTHER.into_response();
    let secure = if state.hosts.encrypts() { "; Secure" } else { "" };
    let cookie = format!("nacre={cookie}; Path=/; HttpOnly; SameSite=Strict{secure}");
    answer.headers_mut().insert(LOCATION, HeaderValue::from_static("/"));
    answer.headers_mut().insert(SET_COOKIE, HeaderValue::from_str(&cookie).expect("hexadecimal"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_page_is_compiled_in() {
        let web = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("web");
        let mut folders = vec![web.clone()];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => {
                        found.push(path.strip_prefix(&web).unwrap().to_string_lossy().replace('\\', "/"))
                    }
                }
            }
        }
        let mut listed: Vec<String> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
        found.sort();
        listed.sort();
        assert_eq!(found, listed);
    }

    /// Otherwise a browser asks for one module after the other.
    #[test]
    fn every_module_is_loaded_at_once() {
        let index = std::str::from_utf8(FILES[0].1).unwrap();
        let own = |name: &str| name.ends_with(".js") && !name.starts_with("vendor/") && name != "layout.js";
        for (name, _) in FILES.iter().filter(|(name, _)| own(name)) {
            assert!(index.contains(&format!("\"/assets/{name}\"")), "{name}");
        }
    }

    /// The timeline shows an action that it does not know by its name: "You did sync start".
    #[test]
    fn every_action_of_the_audit_log_has_a_sentence() {
        let sentences =
            std::str::from_utf8(FILES.iter().find(|(name, _)| *name == "sentences.js").unwrap().1);
        let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../nacre/src")];
        let mut actions = std::collections::BTreeSet::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                match entry.path() {
                    path if path.is_dir() => folders.push(path),
                    path => {
                        let source = std::fs::read_to_string(path).unwrap_or_default();
                        let found =
                            source.split("Row::new(\"").skip(1).filter_map(|rest| rest.split('"').next());
                        actions.extend(found.map(str::to_owned));
                    }
                }
            }
        }
        assert!(actions.len() > 20, "{actions:?}");
        actions.retain(|action| !sentences.unwrap().contains(&format!("\n  {action}: [")));
        assert!(actions.is_empty(), "web/sentences.js lacks {actions:?}");
    }

    #[test]
    fn nothing_of_the_page_comes_from_elsewhere_or_stands_inline() {
        for (name, bytes) in FILES.iter().filter(|(name, _)| !name.starts_with("vendor/")) {
            let text = std::str::from_utf8(bytes).unwrap();
            let outside =
                text.match_indices("http").filter(|(at, _)| !text[*at..].starts_with("http://www.w3.org/"));
            assert_eq!(
                outside
                    .filter(
                        |(at, _)| text[*at..].starts_with("http://") || text[*at..].starts_with("https://")
                    )
                    .count(),
                0,
                "{name}"
            );
            for bad in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "new Function",
                "<style",
                "onclick=\"",
                "javascript:",
            ] {
                assert!(!text.contains(bad), "{name} has {bad}");
            }
        }
        let index = std::str::from_utf8(FILES[0].1).unwrap();
        assert!(!index.contains("<script>") && !index.contains("style=\""));
    }
}
