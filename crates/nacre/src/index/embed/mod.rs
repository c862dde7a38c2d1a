//! Embedding models: text to vectors. Texts of similar meaning get vectors of similar direction.
//!
//! [`Embedder`] is the interface of a model. [`Builtin`] is the model that is compiled in, with one row of
//! numbers for each token; [`wordpiece`] splits a text into those tokens. `foreign` adds words of other
//! languages. `training/README.md` describes how both are trained. [`http`] calls a model behind a URL. The crate `nacre-minilm` adds a transformer that the
//! user installs.

pub(crate) mod builtin;
pub(crate) mod foreign;
pub mod http;
pub mod wordpiece;

use serde::Serialize;

use crate::base::Result;

/// A model that turns texts into unit vectors, or zeros for a text without meaning.
pub trait Embedder: Send + Sync {
    /// Returns the number of components of a vector; 0 if only the first answer of a remote model will tell.
    fn dims(&self) -> usize;

    /// Identifies the model and the way it is used: vectors of two versions can't be compared. Empty if the
    /// model is unavailable; the other functions then return the reason.
    fn version(&self) -> &str;

    /// Returns the vector of a question, with its words weighted by `weight`, which gets each word in lower
    /// case and without accents. A model that reads words in order omits words of weight 0 and reads the
    /// others unchanged.
    fn embed_query(&self, text: &str, weight: &mut dyn FnMut(&str) -> f32) -> Result<Vec<f32>>;

    /// Returns the vectors of documents, in order. A vector without components means that the model refuses
    /// the text and will refuse it again.
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
            bytes: builtin::FILE.len() + foreign::FILE.len(),
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

impl Embedder for nacre_encoder::Encoder {
    fn dims(&self) -> usize {
        self.dims()
    }

    fn version(&self) -> &str {
        self.version()
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

/// Describes a model that runs in this process.
#[derive(Clone, Debug, Serialize)]
pub struct ModelInfo {
    /// Its name in settings and commands.
    pub name: &'static str,
    /// Whether it can be used.
    pub installed: bool,
    /// How many components its vectors have.
    pub dims: usize,
    /// The size of its file in bytes.
    pub bytes: usize,
    /// The version, as in [`Embedder::version`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// BLAKE3 of its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Whether it was made from the published weights.
    pub published: bool,
    /// The reason why it can't be used although its file exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}
