//! The groups that a server works with: who calls, the open handles, the work in the background. MCP and HTTP share it.

pub mod behind;
pub mod pool;
pub mod watch;
pub mod who;
