//! Sessions (SPEC S): conversations and their messages.
//!
//! `import` reads the transcripts of other programs into messages and knows no database; `record` makes
//! passages of them.

pub mod import;
mod record;

pub use record::Recorded;
pub(crate) use record::{import as record, lines};
