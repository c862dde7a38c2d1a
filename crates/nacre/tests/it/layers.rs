//! The floors of the library: a module uses its own floor and those below it, and no two rooms use each other.

#[path = "../layers/scan.rs"]
mod scan;

use std::collections::BTreeSet;
use std::path::Path;

/// From the ground up.
const FLOORS: &[&str] = &["base", "store", "index", "group", "records", "search", "context", "tools"];

fn edges() -> BTreeSet<(String, String)> {
    let edges = scan::Crate::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).edges(2);
    assert!(edges.len() > 50, "the source was not read: {edges:?}");
    edges
}

#[test]
fn every_module_uses_only_its_floor_and_those_below() {
    assert_eq!(scan::upward(&edges(), FLOORS), BTreeSet::new());
}

#[test]
fn no_two_rooms_use_each_other() {
    assert_eq!(scan::circular(&edges()), BTreeSet::new());
}
