//! Text to vectors: near in meaning is near in direction.
//!
//! `builtin` is the model that is compiled in, one row of numbers for each token; `wordpiece` cuts a text
//! into those tokens. How the model is made is told in `training/README.md`.

pub(crate) mod builtin;
pub(crate) mod wordpiece;
