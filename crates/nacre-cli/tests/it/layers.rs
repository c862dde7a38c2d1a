//! The rooms of the binary: which still use each other. The list may only shrink.

#[path = "../../../nacre/tests/layers/scan.rs"]
#[allow(dead_code, reason = "the library has floors too")]
mod scan;

use std::path::Path;

/// Edges that lie on a cycle.
const KNOWN: &[&str] = &[
    "mcp -> mcp/seat",
    "mcp/fixtures -> mcp",
    "mcp/seat -> serve",
    "mcp/seat -> serve/door",
    "serve -> mcp",
    "serve -> mcp/fixtures",
    "serve -> mcp/seat",
    "serve -> serve/compat",
    "serve -> serve/door",
    "serve/compat -> mcp/seat",
    "serve/compat -> serve",
    "serve/compat -> serve/door",
    "serve/compat -> serve/rest",
    "serve/door -> serve",
    "serve/door -> serve/rest",
    "serve/rest -> mcp/seat",
    "serve/rest -> serve",
    "serve/rest -> serve/door",
];

#[test]
fn no_two_rooms_use_each_other_but_those_that_are_known() {
    let edges = scan::Crate::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).edges();
    assert!(edges.len() > 30, "the source was not read: {edges:?}");
    let found: Vec<String> =
        scan::circular(&edges).iter().map(|(from, to)| format!("{from} -> {to}")).collect();
    assert_eq!(found, KNOWN, "a new one goes; one that is gone leaves the list");
}
