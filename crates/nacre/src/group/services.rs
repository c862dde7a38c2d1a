//! Programs and models of others that a group may use.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::BriefPlugin;
use crate::index::embed::{Embedder, http};

/// What the home gives each of its groups.
#[derive(Clone, Default)]
pub(crate) struct Services {
    /// The model whose vectors are searched beside the built-in ones.
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    /// The model that makes summaries in place of the built-in way.
    pub(crate) chat: Option<Arc<http::Chat>>,
    /// The plugin that makes the brief in our place.
    pub(crate) brief_plugin: Option<BriefPlugin>,
    /// Set by whoever watches the documents when one may have changed; without a watcher every search looks.
    pub(crate) changed: Option<Arc<AtomicBool>>,
}
