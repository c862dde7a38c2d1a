//! Text for an agent's context: the brief and the startup context of a session, and the lines before each message.

pub(crate) mod boot;
pub(crate) mod brief;
pub(crate) mod distil;
pub mod promote;
pub mod turn;
