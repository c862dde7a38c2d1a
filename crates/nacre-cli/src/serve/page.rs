//! The page (I4): files compiled in, nothing from elsewhere.

use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};

/// Declares the files of the page, each by its path below `web/`.
macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_bytes!(concat!("../../web/", $path)))),*]
    };
}

/// Every file of the page. A test compares this with the folder.
pub const FILES: &[(&str, &[u8])] = files![
    "index.html",
    "nacre.svg",
    "icons.svg",
    "app.css",
    "app.js",
    "api.js",
    "dom.js",
    "diff.js",
    "list.js",
    "layout.js",
    "views/approvals.js",
    "views/entry.js",
    "views/files.js",
    "views/graph.js",
    "views/health.js",
    "views/search.js",
    "views/sessions.js",
    "views/tasks.js",
    "views/timeline.js",
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
        return super::rest::refuse(
            StatusCode::NOT_FOUND,
            "no_such_path",
            "there is no such file of the page",
            None,
        );
    };
    let tag = format!("\"{}\"", &blake3::hash(bytes).to_hex()[..16]);
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
    // Asked for again each time: a newer binary has a newer page.
    set.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    set.insert(ETAG, HeaderValue::from_str(&tag).expect("hexadecimal"));
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
