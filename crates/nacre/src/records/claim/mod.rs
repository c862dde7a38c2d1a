//! Contradictions between two short statements: do both speak of the same attribute of the same subject, with
//! values that exclude each other?
//!
//! The data flow: text ▶ `token` ▶ phrases with a meaning (`lexicon`) ▶ values with a kind (`value`) ▶
//! [`Statement`] ▶ `align` (which words both have) ▶ `subject` and `difference` ▶ [`compare()`], which adds up
//! what speaks for a conflict and what speaks against it.
//!
//! [`weigh()`] asks the compiled-in reader too, which knows more than the rules. It takes milliseconds, so writes use it, and
//! searches compare with the rules alone.
//!
//! Everything is pure. The vocabulary is data, one file for each language (`words/LANGUAGE/claims.txt`), so that
//! no rule knows a subject. A conflict that is not certain is not reported: precision counts more than recall.
//! `nacre-bench conflicts` measures both.

mod align;
mod compare;
mod difference;
mod frame;
mod lexicon;
mod statement;
mod subject;
mod token;
mod value;
mod weigh;

#[cfg(test)]
mod tests;

pub use compare::{Conflict, ConflictKind, compare, explain};
pub(crate) use frame::shared_frame;
pub use statement::Statement;
pub use weigh::{reading_size, weigh};
