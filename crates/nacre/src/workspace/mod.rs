//! The workspace (SPEC W): the files in a group's folder, written by people, editors and agents.
//!
//! Its documents are the Markdown files. `walk` finds them and reads one; `sync` brings the index up to date
//! with them. The documents of a collection go the same way.

pub(crate) mod change;
pub(crate) mod checkpoint;
pub(crate) mod files;
mod path;
mod sync;
mod walk;

pub use checkpoint::{
    Checkpoint, CheckpointDiff, Checkpoints, FileDiff, FileKept, Restored, Rows, TableDiff,
};
pub(crate) use files::text;
pub use path::FilePath;
pub(crate) use sync::sync;
pub use sync::{Note, Synced};
pub(crate) use walk::{sources, workspace as documents};
