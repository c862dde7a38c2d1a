//! Embedding models: text to vectors, near in meaning is near in direction.
//!
//! [`Embedder`] is what a model implements. [`Builtin`] is the model that is compiled in, one row of numbers for
//! each token; [`wordpiece`] splits a text into those tokens. `training/README.md` tells how it is made. [`http`]
//! asks a model behind a URL. The crate `nacre-minilm` adds a transformer that the user installs.

pub(crate) mod builtin;
pub mod http;
pub mod wordpiece;

use serde::Serialize;

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

impl Builtin {
    /// Describes the model.
    pub fn info(&self) -> ModelInfo {
        ModelInfo {
            name: "builtin",
            installed: true,
            dims: builtin::DIMS,
            bytes: builtin::FILE.len(),
            version: Some(builtin::VERSION.to_owned()),
            hash: Some(blake3::hash(builtin::FILE).to_string()),
            published: true,
            problem: None,
        }
    }
}

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

/// Describes a model that runs in this process.
#[derive(Clone, Debug, Serialize)]
pub struct ModelInfo {
    /// Its name in settings and commands.
    pub name: &'static str,
    /// Whether it can be used.
    pub installed: bool,
    /// How many components its vectors have.
    pub dims: usize,
    /// Bytes of its file.
    pub bytes: usize,
    /// Names the model and the way it is used, as [`Embedder::version`] does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// BLAKE3 of its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Whether it was made from the published weights.
    pub published: bool,
    /// Why it can't be used although its file exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}
