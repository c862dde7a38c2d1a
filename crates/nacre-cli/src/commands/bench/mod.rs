//! `nacre bench`: measured through the shipped program, beside something the reader knows, in the same run.

mod clock;
mod cold;
mod measure;
mod quality;
mod speed;
mod words;

pub use cold::run as cold;
pub use quality::{Options, run as quality};
pub use speed::run as speed;
