//! What is remembered: each room owns its tables, its SQL, and how its rows become passages.

pub(crate) mod collection;
pub(crate) mod entry;
pub(crate) mod export;
pub mod graph;
pub mod import;
pub mod project;
pub mod session;
pub(crate) mod workspace;
