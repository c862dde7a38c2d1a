//! The floors of the library: a module uses its own floor and those below it, and no two rooms use each other.

#[path = "../layers/scan.rs"]
mod scan;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// From the ground up.
const FLOORS: &[&str] = &["base", "store", "index", "group", "records", "search", "context", "tools"];

/// Rooms that have to do with the documents and transcripts of a group, which `store::Files` reads and writes.
const ROOMS: &[&str] = &["records/session", "records/workspace", "context", "tools"];

/// The modules that may name a group's folder, or `std::fs` in these rooms, and what they have there.
const LOCAL: &[(&str, &str)] = &[
    ("records/collection", "the databases of collections"),
    ("records/import", "whether a source is the group itself"),
    ("records/session/record", "whether a transcript's folder contains the memory"),
    ("records/sync", "the keys and the log of this device"),
    ("records/workspace/checkpoint", "checkpoints"),
    ("tools/home", "settings, and which groups there are"),
    ("tools/spool", "what hooks left"),
    ("tools/status", "databases that were set aside"),
];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn edges() -> BTreeSet<(String, String)> {
    let edges = scan::Crate::read(&source()).edges(2);
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

#[test]
fn documents_and_transcripts_are_reached_through_one_type() {
    let is_local = |module: &str, text: &str| {
        let in_room = ROOMS.iter().any(|room| Path::new(module).starts_with(room));
        text.contains(".folder()") || in_room && (text.contains("std::fs") || text.contains("fs::"))
    };
    let texts = scan::texts(&source()).into_iter().map(|(module, text)| (module.join("/"), text));
    let found: BTreeSet<String> =
        texts.filter(|(module, text)| is_local(module, text)).map(|(module, _)| module).collect();
    assert_eq!(found, LOCAL.iter().map(|(module, _)| (*module).to_owned()).collect());
}
