//! The meaning of keys and columns: an alias, a relation, a list of things. The words are in
//! `words/english/graph-keys.txt`.

use crate::base::words::{self, List, Section};

pub(super) static ALIASES: List = words::GRAPH_KEYS.list("aliases");
pub(super) static RELATIONS: Section<(&str, &str, bool)> = words::GRAPH_KEYS.rows("relations", relation);
pub(super) static KEYS: List = words::GRAPH_KEYS.list("key columns");
pub(super) static COUNTS: List = words::GRAPH_KEYS.list("counting columns");

/// Reads a key, its predicate, and whether the value is the subject.
fn relation(row: &'static str) -> (&'static str, &'static str, bool) {
    let (key, predicate) = words::pair(row);
    let by = predicate.strip_suffix(" by");
    (key, by.unwrap_or(predicate), by.is_some())
}

/// Second columns of tables whose first column contains keys.
pub(super) const VALUES: &[&str] = &["detail", "details", "value", "values"];

/// Tells whether a predicate's object is a machine, which may have a lower-case name.
pub(super) fn is_hosting(predicate: &str) -> bool {
    predicate == "runs_on"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::graph::guard;

    #[test]
    fn keys_of_relations_are_sorted_and_known() {
        assert!(RELATIONS.is_sorted_by(|a, b| a.0 < b.0));
        for (key, predicate, _) in RELATIONS.iter() {
            assert!(guard::inverse(predicate).is_some(), "{key}: {predicate}");
        }
    }
}
