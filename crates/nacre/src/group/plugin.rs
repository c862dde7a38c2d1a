//! A plugin as far as a group must know it: what it says, and how it makes a brief.

use std::sync::Arc;

use serde::Deserialize;

use crate::base::ids::SessionId;

/// A plugin that makes the brief in our place.
#[derive(Clone)]
pub struct BriefPlugin {
    /// Its name.
    pub name: String,
    /// Has it make one for a session: lines, or what went wrong.
    pub make: Arc<MakeBrief>,
}

/// How a plugin makes a brief.
pub type MakeBrief = dyn Fn(&SessionId) -> Result<Vec<Said>, String> + Send + Sync;

/// One line that a plugin says.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Said {
    /// What the agent should read.
    pub text: String,
    /// Why it should.
    #[serde(default)]
    pub reason: String,
}
