//! The part of a plugin that a group needs: the lines it returns, and how it makes a brief.

use std::sync::Arc;

use serde::Deserialize;

use crate::base::ids::SessionId;

/// A plugin that makes the brief instead of Nacre.
#[derive(Clone)]
pub struct BriefPlugin {
    /// Its name.
    pub name: String,
    /// Makes a brief for a session, or returns the reason why it failed.
    pub make: Arc<MakeBrief>,
}

/// The function by which a plugin makes a brief.
pub type MakeBrief = dyn Fn(&SessionId) -> Result<Vec<PluginLine>, String> + Send + Sync;

/// One line returned by a plugin.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct PluginLine {
    /// The text for the agent.
    pub text: String,
    /// Why the plugin returned it.
    #[serde(default)]
    pub reason: String,
}
