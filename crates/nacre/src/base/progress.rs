//! How far a long operation is, for a caller that shows it.

/// A step of a long operation. Items, notes, files and documents counted in `done` are stored: an operation that is stopped
/// here keeps them, and continues after them when it is run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The unit of the counts.
    pub unit: Unit,
    /// How many are done.
    pub done: usize,
    /// How many there are; `None`: that is not known before the end.
    pub total: Option<usize>,
}

/// The unit of a [`Progress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Notes that are read from a folder.
    Notes,
    /// Memories, facts or messages that are read from a source.
    Items,
    /// Files of a project.
    Files,
    /// Sections of documents that a model reads.
    Sections,
    /// Documents that are indexed.
    Documents,
    /// Passages of the index.
    Passages,
    /// Records of an export: memories, files, messages, rows of the audit log.
    Records,
    /// Maintenance jobs.
    Jobs,
}
