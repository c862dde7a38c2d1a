//! The word lists of the guard. The words are in `words/english/graph-names.txt`, `words/predicates.txt` and
//! `words/names.txt`.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::base::words::{self, List, Table};

/// The maximum length of a listed name in bytes, including an article.
pub(super) const MAX_LISTED_BYTES: usize = 32;

/// Why a word can't be the name of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotAName {
    Pronoun,
    Role,
    Generic,
    Title,
}

/// The words that are not names. A word in two lists counts for the first.
pub(super) static NOT_NAMES: LazyLock<HashMap<&str, NotAName>> = LazyLock::new(|| {
    let lists = [
        (&TITLES, NotAName::Title),
        (&GENERIC, NotAName::Generic),
        (&ROLES, NotAName::Role),
        (&PRONOUNS, NotAName::Pronoun),
    ];
    lists.into_iter().flat_map(|(words, list)| words.iter().map(move |word| (*word, list))).collect()
});

/// A kind of entity or fact.
pub(crate) struct Category {
    pub(crate) name: &'static str,
    /// Whether it never fades.
    pub(crate) permanent: bool,
}

const fn category(name: &'static str, permanent: bool) -> Category {
    Category { name, permanent }
}

/// The built-in categories. There is no catch-all, because it would fill up and mean nothing.
pub(crate) const CATEGORIES: &[Category] = &[
    category("person", true),
    category("family", true),
    category("friend", true),
    category("pet", true),
    category("organization", false),
    category("project", false),
    category("tool", false),
    category("host", false),
    category("place", false),
    category("event", false),
    category("decision", true),
    category("preference", true),
    category("convention", false),
    category("document", false),
    category("self", true),
    category("user", true),
];

pub(super) static CLASSES: Table = words::GRAPH_NAMES.table("classes");
pub(super) static PREDICATES: Table = words::PREDICATES.table("inverses");
pub(super) static NARROW: Table = words::PREDICATES.table("narrow");
pub(super) static SAME: Table = words::PREDICATES.table("synonyms");
pub(super) static VAGUE: List = words::GRAPH_NAMES.list("vague relations");
pub(super) static SUBJECT_CATEGORY: Table = words::PREDICATES.table("subject category");
pub(super) static OBJECT_CATEGORY: Table = words::PREDICATES.table("object category");
pub(super) static MULTI: List = words::GRAPH_NAMES.list("multiple values");
pub(super) static BLOCKED_KEYS: List = words::GRAPH_NAMES.list("blocked keys");
pub(super) static PRONOUNS: List = words::GRAPH_NAMES.list("pronouns");
pub(super) static ROLES: List = words::GRAPH_NAMES.list("roles");
pub(super) static DAYS: List = words::GRAPH_NAMES.list("days");
pub(super) static MONTHS: List = words::DATES.list("months");
pub(super) static GENERIC: List = words::GRAPH_NAMES.list("generic");
pub(super) static TITLES: List = words::GRAPH_NAMES.list("titles");
pub(super) static FILES: List = words::NAMES.list("file endings");
pub(super) static MODELS: List = words::NAMES.list("language models");

/// Keys that mean nothing by themselves, but do as the columns of a table.
pub(super) const COLUMNS: &[&str] = &["date", "day", "time", "when", "where", "who"];
