//! A small transformer on the processor, in 4-bit weights: it turns texts into vectors, and judges pairs of texts.
//!
//! Reading: `vocabulary` splits a text into tokens, `encoder` runs the layers, `kernel` and `float` do the arithmetic.
//! Writing a model file: `safetensors` reads published weights, `pack` writes the file, `round` rounds a matrix to 4 bits.
//! The crate knows no home, no clock and no network.

#[cfg(test)]
extern crate self as nacre_encoder;

mod encoder;
mod float;
mod kernel;
mod vocabulary;

mod pack;
mod round;
mod safetensors;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tiny;

pub use encoder::{Encoder, HEADS, Header, Shape};
pub use pack::{SAMPLE, pack};
pub use safetensors::Safetensors;
pub use vocabulary::{MAX_WORD_CHARS, is_ideograph, is_invisible};
