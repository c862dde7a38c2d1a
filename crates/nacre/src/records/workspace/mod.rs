//! The workspace: the files in a group's folder, written by people, editors and agents.
//!
//! Its documents are the Markdown files, read through `store::Files`. `sync` updates the index with them, and
//! also with the documents of a collection. `template` holds the files of a new workspace.
//!
//! Nacre writes workspace files through `change`. `daily` manages the daily logs and `memory_file` watches
//! MEMORY.md. `lines` parses the lines of a file, and `edit` preserves its encoding and line ends. `policy`
//! decides about writes, `proposal` holds those that wait, and `checkpoint` saves and restores everything.

pub(crate) mod change;
pub mod checkpoint;
pub mod daily;
pub(crate) mod edit;
mod files;
mod guide;
pub(crate) mod lines;
pub(crate) mod memory_file;
pub(crate) mod policy;
pub mod proposal;
pub(crate) mod seen;
mod sync;
pub(crate) mod template;
pub mod working_copy;

pub use crate::base::FilePath;
pub use crate::store::walk::Note;
pub use checkpoint::{
    Checkpoint, CheckpointDiff, CheckpointFile, Checkpoints, FileDiff, RestoreReport, Rows, TableDiff,
};
pub use files::WorkspaceFile;
pub(crate) use files::{list, text};
pub(crate) use guide::fitting_sentences;
pub use guide::instructions;
pub(crate) use lines::quiet;
pub use memory_file::{MemoryFile, StaleLine, look as look_at_memory_file};
pub use sync::{SyncReport, embed_lines, sync, sync_with};
pub(crate) use sync::{follow, hash as document_hash, sync_database};
pub use template::{TEMPLATES, Template, TemplateReport, write_templates};
