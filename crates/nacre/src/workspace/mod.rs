//! The workspace (SPEC W): the files in a group's folder, written by people, editors and agents.
//!
//! Its documents are the Markdown files. `walk` finds them and reads one; `sync` brings the index up to date
//! with them. The documents of a collection go the same way.

pub(crate) mod change;
pub(crate) mod files;
mod path;
mod sync;
mod walk;

pub(crate) use files::text;
pub use path::FilePath;
pub(crate) use sync::sync;
pub use sync::{Note, Synced};
pub(crate) use walk::{Seen, Stat, Taken, decode, read, sources, workspace as documents};
