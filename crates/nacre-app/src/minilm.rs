//! MiniLM: the crate `nacre-minilm`, or, in a build without it, errors that say how to get it.

#[cfg(not(feature = "minilm"))]
pub use left_out::{InstalledModel, NAME, Weights, install, remove, status};
#[cfg(feature = "minilm")]
pub use nacre_minilm::{InstalledModel, NAME, Weights, install, remove, status};

/// The same names without the feature `minilm`.
#[cfg(not(feature = "minilm"))]
mod left_out {
    use std::path::Path;

    use nacre::embed::ModelInfo;
    use nacre::{Embedder, Error, Result};

    pub const NAME: &str = "minilm";

    pub enum Weights {
        Published,
        Any,
    }

    pub fn status(_home: &Path) -> ModelInfo {
        let error = left_out();
        let hint = error.hint().unwrap_or_default();
        ModelInfo {
            name: NAME,
            installed: false,
            dims: 0,
            bytes: 0,
            version: None,
            hash: None,
            published: false,
            problem: Some(format!("{error}; {hint}")),
        }
    }

    pub fn install(_home: &Path, _from: &Path, _weights: Weights) -> Result<ModelInfo> {
        Err(left_out())
    }

    pub fn remove(_home: &Path) -> Result<()> {
        Err(left_out())
    }

    /// Represents the missing model, so that a search names it as missing and still answers.
    pub struct InstalledModel;

    impl InstalledModel {
        pub fn new(_home: &Path) -> InstalledModel {
            InstalledModel
        }
    }

    impl Embedder for InstalledModel {
        fn dims(&self) -> usize {
            0
        }

        fn version(&self) -> &str {
            ""
        }

        fn embed_query(&self, _text: &str, _weight: &mut dyn FnMut(&str) -> f32) -> Result<Vec<f32>> {
            Err(left_out())
        }

        fn embed_documents(&self, _texts: &[&str]) -> Result<Vec<Vec<f32>>> {
            Err(left_out())
        }
    }

    fn left_out() -> Error {
        Error::NotBuilt { name: NAME }
    }
}
