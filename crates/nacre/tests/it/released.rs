//! Databases of every schema that was ever released still open, with everything in them.

use std::path::Path;

use serde_json::json;

use crate::sealed::{Place, is_without_folder};

/// `(schema, what it must find)`. A new schema adds a file under `released/` and a line here; none is ever
/// changed.
const RELEASED: &[(u32, &str)] = &[
    (1, "The staging server is called kestrel"),
    (2, "The staging server is called kestrel"),
    (3, "The staging server is called kestrel"),
    (4, "The staging server is called kestrel"),
    (5, "The staging server is called kestrel"),
    (6, "The staging server is called kestrel"),
    (9, "The staging server is called kestrel"),
    (11, "The staging server is called kestrel"),
    (12, "The staging server is called kestrel"),
];

#[test]
fn every_released_schema_opens() {
    if is_without_folder() {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/released");
    for (schema, expected) in RELEASED {
        let mut place = Place::new();
        let group = place.folder.path().join("groups/main");
        std::fs::create_dir_all(&group).unwrap();
        std::fs::copy(folder.join(format!("schema-{schema}.db")), group.join("memory.db")).unwrap();
        place.reopen();
        let hits = place.call("memory_search", json!({ "query": "staging server" })).data["hits"].clone();
        assert_eq!(hits[0]["text"], *expected, "schema {schema}");
        let chain = place.call("memory_get", json!({ "id": hits[0]["id"] })).data["chain"].clone();
        assert_eq!(chain.as_array().unwrap().len(), 1, "what it superseded is still there");
        place.store("and it can be written to");
        place.check();
    }
}

#[test]
fn what_an_older_schema_holds_can_be_saved_from_its_file() {
    if is_without_folder() {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/released");
    for (schema, expected) in RELEASED {
        let mut place = Place::new();
        let file = folder.join(format!("schema-{schema}.db"));
        nacre::export::import_database(&mut place.view(), &file).unwrap();
        let hits = place.call("memory_search", json!({ "query": "staging server" })).data["hits"].clone();
        assert_eq!(hits[0]["text"], *expected, "schema {schema}");
    }
}
