//! `nacre bench`: measured through the shipped program, beside something the reader knows, in the same run.

mod boot;
mod clock;
mod cold;
mod embed;
mod graph;
mod inject;
mod lookup;
mod measure;
mod quality;
mod report;
mod serve;
mod session;
mod speed;
mod summary;
mod svg;
mod words;

pub use boot::run as boot;
pub use cold::run as cold;
pub use embed::run as embed;
pub use graph::run as graph60;
pub use inject::{Show, run as inject};
pub use lookup::run as graph;
pub use quality::{Beside, Options, run as quality};
pub use report::run as report;
pub use serve::{Load, bare, run as serve};
pub use session::run as session;
pub use speed::run as speed;
pub use summary::run as summary;
