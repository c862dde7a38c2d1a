//! Text to vectors: near in meaning is near in direction.
//!
//! `builtin` is the model that is compiled in, one row of numbers for each token; `wordpiece` cuts a text
//! into those tokens. How it is made is told in `training/README.md`. `minilm` is the model that may be
//! installed beside it, a transformer; `vocabulary` has its tokens, `float` and `kernel` its arithmetic.
//! `http` asks a model that runs elsewhere, behind a URL.

pub(crate) mod builtin;
pub(crate) mod float;
pub mod http;
mod installed;
pub(crate) mod kernel;
pub(crate) mod minilm;
pub(crate) mod vocabulary;
pub(crate) mod wordpiece;

pub use installed::Installed;
pub use minilm::MiniLm;

use crate::base::Result;

/// What turns texts into vectors, each one long, or all zeros for a text without meaning.
pub trait Embedder: Send + Sync {
    /// Returns how many components a vector has; 0 where only the first answer of a model elsewhere will tell.
    fn dims(&self) -> usize;

    /// Names the model and the way it is used: vectors of another name are of another space. Empty: it can't be
    /// had, and the other functions say why.
    fn version(&self) -> &str;

    /// Returns the vector of a question, whose words count as much as `weight` says; it is given each word in
    /// lower case and without accents. A model that reads words in order leaves out those that count nothing,
    /// and reads the others as they are.
    fn embed_query(&self, text: &str, weight: &mut dyn FnMut(&str) -> f32) -> Result<Vec<f32>>;

    /// Returns the vectors of texts to be found, in their order; one without components for a text that the
    /// model does not take, and would not the next time.
    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>>;
}

/// The model that is compiled in.
#[derive(Clone, Copy, Debug)]
pub struct Builtin;

impl Embedder for Builtin {
    fn dims(&self) -> usize {
        builtin::DIMS
    }

    fn version(&self) -> &str {
        builtin::VERSION
    }

    fn embed_query(&self, text: &str, weight: &mut dyn FnMut(&str) -> f32) -> Result<Vec<f32>> {
        Ok(builtin::embed_weighted(text, weight).0.to_vec())
    }

    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|text| builtin::embed_weighted(text, |_| 1.0).0.to_vec()).collect())
    }
}

impl Embedder for MiniLm {
    fn dims(&self) -> usize {
        self.header().shape.dims
    }

    fn version(&self) -> &str {
        MiniLm::version(self)
    }

    fn embed_query(&self, text: &str, weight: &mut dyn FnMut(&str) -> f32) -> Result<Vec<f32>> {
        let tokens = self.tokens(text, |word| weight(word) > 0.0);
        Ok(self.encode(&[tokens]).pop().expect("one text, one vector"))
    }

    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let texts: Vec<_> = texts.iter().map(|text| self.tokens(text, |_| true)).collect();
        Ok(self.encode(&texts))
    }
}
