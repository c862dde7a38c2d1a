//! Where to search: the kinds of passages that a search may find.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mark::flag;

/// Where to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Typed entries.
    Entries,
    /// Documents: the Markdown files of the workspace.
    Memory,
    /// Messages of sessions.
    Sessions,
    /// Documents of collections.
    Sources,
    /// Facts and relations.
    Graph,
    /// Items of projects, and tasks.
    Items,
}

impl Scope {
    /// Returns the flags of this scope's passages in their marks.
    pub(crate) fn flag(self) -> u16 {
        match self {
            Scope::Entries => flag::ENTRY,
            Scope::Memory | Scope::Sources => flag::CHUNK,
            Scope::Sessions => flag::MESSAGE,
            Scope::Graph => flag::GRAPH,
            Scope::Items => flag::ITEM,
        }
    }
}
