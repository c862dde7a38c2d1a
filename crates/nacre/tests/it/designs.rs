//! The default profile between the designs. Each design has a file of its own (`design_koshi.rs` and so on).

use serde_json::json;

use crate::sealed::Place;

/// The default: both of them, for what exists, without their sharp edges.
#[test]
fn the_default_honours_the_designs_without_their_sharp_edges() {
    let mut place = Place::new();
    place.store("no type needed");
    place.call("memory_reinforce", json!({ "id": 1 }));
    place.call("memory_store", json!({ "content": "typed all the same", "type": "instruction" }));
    assert!(place.call("memory_brief", json!({})).text.contains("Preferences and instructions;"));
    let limits = &place.group.settings().limits;
    assert_eq!((limits.store, limits.supersede, limits.delete, limits.untrusted.store), (100, 20, 10, 20));
    place.call("memory_delete", json!({ "id": 1 }));
    place.check();
}
