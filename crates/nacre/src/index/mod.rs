//! The index: one searchable form for everything that can be found (the "passages" of ARCHITECTURE.md).
//!
//! It is derived data. The owner of a row writes its passage in the same transaction; [`rebuild`] rebuilds
//! all of it from the owners. A message of a session has no other owner: its passage is the only place that
//! stores its text.

pub(crate) mod alike;
pub(crate) mod analyse;
mod batch;
mod budget;
mod check;
pub(crate) mod chunk;
pub(crate) mod database;
pub(crate) mod dates;
pub(crate) mod dense;
pub mod embed;
pub(crate) mod fill;
mod lexicon;
pub(crate) mod lines;
pub(crate) mod lookup;
pub(crate) mod mark;
mod packed;
mod passage;
mod piece;
mod postings;
pub(crate) mod reader;
mod renew;
pub(crate) mod scan;
mod scope;
mod sketch;
mod state;
mod write;

pub(crate) use analyse::Language;
pub use budget::MemoryBudget;
pub(crate) use check::check;
pub(crate) use lexicon::Lexicon;
pub(crate) use lookup::having_any;
pub(crate) use mark::{Kinds, Mark, flag};
pub(crate) use packed::Space;
pub(crate) use passage::{EXCHANGE, Passage, Slice, Standing};
pub(crate) use renew::{Documents, Schema, after_write, before_write, is_due, rebuild, upgrade};
pub(crate) use scan::Quantised;
pub use scope::Scope;
#[cfg(test)]
pub(crate) use sketch::MAX_EXACT_VECTORS;
pub use state::ReembeddingProgress;
pub(crate) use state::{language, last_stamp as stamp, made_by, renewed, stale};
pub(crate) use write::{Writer, put, remove, set_live, set_origin, set_standing, write};
