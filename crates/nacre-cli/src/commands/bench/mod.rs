//! `nacre bench`: measured through the shipped program, beside something the reader knows, in the same run.

mod cold;

pub use cold::run as cold;
