//! The installed model, read when it is first needed: most commands never need it.

use std::sync::OnceLock;

use super::{Embedder, MiniLm};
use crate::base::Result;
use crate::index::model;
use crate::tools::home::Home;

/// The model of `nacre model install`, there or not.
pub struct Installed {
    home: Home,
    model: OnceLock<MiniLm>,
}

impl Installed {
    /// Takes the home whose model it is. Nothing is read yet.
    pub fn new(home: &Home) -> Installed {
        Installed { home: home.clone(), model: OnceLock::new() }
    }

    fn model(&self) -> Result<&MiniLm> {
        if let Some(model) = self.model.get() {
            return Ok(model);
        }
        let model = model::open(&self.home)?;
        Ok(self.model.get_or_init(|| model))
    }
}

impl Embedder for Installed {
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
