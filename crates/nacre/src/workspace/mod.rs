//! The workspace (SPEC W): the files in a group's folder, written by people, editors and agents.
//!
//! Its documents are the Markdown files. `walk` finds them and reads one; `sync` brings the index up to date
//! with them.

mod sync;
mod walk;

pub(crate) use sync::sync;
pub use sync::{Note, Synced};
