//! Text to vectors: near in meaning is near in direction.
//!
//! `builtin` is the model that is compiled in, one row of numbers for each token; `wordpiece` cuts a text
//! into those tokens. How the model is made is told in `training/README.md`.

pub(crate) mod builtin;
pub(crate) mod wordpiece;

use crate::Result;

/// What turns texts into vectors, each one long, or all zeros for a text without meaning.
pub trait Embedder: Send + Sync {
    /// Returns how many components a vector has.
    fn dims(&self) -> usize;

    /// Names the model and the way it is used: vectors of another name are of another space.
    fn version(&self) -> &str;

    /// Returns the vector of a question, whose words count as much as `weight` says; it is given each word in
    /// lower case and without accents. A model that reads words in order leaves out those that count nothing,
    /// and reads the others as they are.
    fn embed_query(&self, text: &str, weight: &mut dyn FnMut(&str) -> f32) -> Result<Vec<f32>>;

    /// Returns the vectors of texts to be found, in their order.
    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>>;
}
