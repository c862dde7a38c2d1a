//! The rooms of the binary: which still use each other. The list may only shrink.

#[path = "../../../nacre/tests/layers/scan.rs"]
#[allow(dead_code, reason = "the library has floors too")]
mod scan;

use std::path::Path;

/// Edges that lie on a cycle.
const KNOWN: &[&str] = &[];

#[test]
fn no_two_rooms_use_each_other_but_those_that_are_known() {
    let edges = scan::Crate::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).edges();
    assert!(edges.len() > 30, "the source was not read: {edges:?}");
    let found: Vec<String> =
        scan::circular(&edges).iter().map(|(from, to)| format!("{from} -> {to}")).collect();
    assert_eq!(found, KNOWN, "a new one goes; one that is gone leaves the list");
}
