//! What goes into an agent's context: the brief at the start of a session, and the lines before each message.

pub(crate) mod boot;
pub(crate) mod brief;
pub mod promote;
pub mod turn;
