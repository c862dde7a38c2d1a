//! The floors of the library: a module uses its own floor and those below it, and no two rooms use each other.

#[path = "../layers/scan.rs"]
mod scan;

use std::path::Path;

/// From the ground up.
const FLOORS: &[&str] = &["base", "store", "index", "group", "records", "search", "context", "tools"];

#[test]
fn every_module_uses_only_its_floor_and_those_below() {
    let edges = scan::Crate::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).edges();
    assert!(edges.len() > 50, "the source was not read: {edges:?}");
    scan::compare(&scan::upward(&edges, FLOORS), include_str!("../layers/upward.txt"));
}

#[test]
fn no_two_rooms_use_each_other() {
    let edges = scan::Crate::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).edges();
    scan::compare(&scan::circular(&edges), include_str!("../layers/circular.txt"));
}
