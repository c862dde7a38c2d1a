//! External programs and models that a group may use, and the memory that it shares with other groups.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::BriefPlugin;
use crate::index::MemoryBudget;
use crate::index::embed::{Embedder, http};

/// Runs the program that takes memories out of conversations, or says why it failed.
pub type RunDistiller = dyn Fn(&str) -> Result<String, String> + Send + Sync;

/// The services that a home gives each of its groups.
#[derive(Clone, Default)]
pub(crate) struct Services {
    /// The model whose embeddings are searched in addition to the built-in ones.
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    /// The model that writes summaries instead of the built-in method.
    pub(crate) chat: Option<Arc<http::Chat>>,
    /// The program that takes memories out of conversations: it gets a text on standard input.
    pub(crate) distiller: Option<Arc<RunDistiller>>,
    /// The plugin that makes the brief instead of Nacre.
    pub(crate) brief_plugin: Option<BriefPlugin>,
    /// Set by a file watcher when a document may have changed. Without a watcher, every search checks the
    /// documents.
    pub(crate) changed: Option<Arc<AtomicBool>>,
    /// The memory that the vectors of all groups may take together.
    pub(crate) memory: Arc<MemoryBudget>,
}
