//! `nacre bench`: measured through the shipped program, beside something the reader knows, in the same run.

mod cold;
mod measure;
mod quality;

pub use cold::run as cold;
pub use quality::{Options, run as quality};
