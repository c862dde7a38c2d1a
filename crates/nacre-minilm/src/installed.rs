//! The installed model, loaded when it is first needed: most commands never need it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use nacre::{Embedder, Result};

use crate::MiniLm;
use crate::install;

/// The model that `nacre model install` put into a home. If it is missing, each call returns the reason.
pub struct InstalledModel {
    home: PathBuf,
    model: OnceLock<MiniLm>,
}

impl InstalledModel {
    /// Takes the folder of the home. Nothing is read yet.
    pub fn new(home: &Path) -> InstalledModel {
        InstalledModel { home: home.to_owned(), model: OnceLock::new() }
    }

    fn model(&self) -> Result<&MiniLm> {
        if let Some(model) = self.model.get() {
            return Ok(model);
        }
        let model = install::open(&self.home)?;
        Ok(self.model.get_or_init(|| model))
    }
}

impl Embedder for InstalledModel {
    fn dims(&self) -> usize {
        self.model().map_or(0, Embedder::dims)
    }

    fn version(&self) -> &str {
        self.model().map_or("", Embedder::version)
    }

    fn embed_query(&self, text: &str, weight: &mut dyn FnMut(&str) -> f32) -> Result<Vec<f32>> {
        self.model()?.embed_query(text, weight)
    }

    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.model()?.embed_documents(texts)
    }
}
