//! The workspace (SPEC W): the files in a group's folder, written by people, editors and agents.
//!
//! Its documents are the Markdown files, which are reached through `store::Files`. `sync` brings the index up to date
//! with them. The documents of a collection go the same way. `template` is what a new workspace begins with,
//! `boot` what of it a session starts with.
//!
//! What Nacre itself writes there goes through `change`: `daily` keeps the logs, `memory_file` cares for
//! MEMORY.md. `lines` knows a file's lines, `edit` keeps its form.

pub(crate) mod change;
pub mod checkpoint;
pub mod daily;
pub(crate) mod edit;
mod files;
pub(crate) mod lines;
pub(crate) mod memory_file;
pub(crate) mod policy;
pub mod proposal;
pub(crate) mod seen;
mod sync;
pub(crate) mod template;

pub use crate::base::FilePath;
pub use crate::store::walk::Note;
pub use checkpoint::{
    Checkpoint, CheckpointDiff, Checkpoints, FileDiff, FileKept, Restored, Rows, TableDiff,
};
pub use files::FileListed;
pub(crate) use files::{list, text};
pub(crate) use lines::quiet;
pub use memory_file::{MemoryFile, Stale, look as look_at_memory_file};
pub use sync::{Synced, sync, sync_with};
pub(crate) use sync::{follow, sync_database};
pub use template::{Laid, TEMPLATES, Template, lay_templates};
