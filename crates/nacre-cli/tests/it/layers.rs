//! The floors of the program: a module uses its own floor and those below it, and no two modules use each other.

#[path = "../../../nacre/tests/layers/scan.rs"]
mod scan;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// From the ground up.
const FLOORS: &[&str] = &[
    "clients",
    "minilm",
    "render",
    "database_url",
    "args",
    "plugin",
    "context",
    "groups",
    "mcp",
    "serve",
    "commands",
];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../nacre-app/src")
}

fn edges() -> BTreeSet<(String, String)> {
    let edges = scan::Crate::read(&source()).edges(usize::MAX);
    assert!(edges.len() > 150, "the source was not read: {edges:?}");
    edges
}

#[test]
fn every_module_uses_only_its_floor_and_those_below() {
    assert_eq!(scan::upward(&edges(), FLOORS), BTreeSet::new());
}

#[test]
fn the_library_lists_the_floors_from_the_ground_up() {
    let main = fs::read_to_string(source().join("lib.rs")).unwrap();
    let listed = main.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    assert_eq!(listed.collect::<Vec<_>>(), FLOORS);
}

#[test]
fn no_two_modules_use_each_other() {
    assert_eq!(scan::circular(&edges()), BTreeSet::new());
}
