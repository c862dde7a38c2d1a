//! Sessions (SPEC S): conversations and their messages.
//!
//! `import` reads the transcripts of other programs into messages and knows no database; `record` makes
//! passages of them; `show` reads them back.

pub mod import;
mod record;
mod show;

pub use record::Recorded;
pub(crate) use record::{absent, import as record, lines, set_shared, shared};
pub use show::{Said, Session};
pub(crate) use show::{list, show};
