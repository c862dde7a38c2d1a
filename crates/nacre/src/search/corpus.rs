//! The databases that a question searches, and the notes of an answer about them.

use std::path::Path;

use super::request::Request;
use crate::base::caller::Visibility;
use crate::base::ids::CollectionName;
use crate::base::{Error, Result};
use crate::index::{Kinds, ReembeddingProgress, Scope, Space};
use crate::records::collection;
use crate::store::Connection;

/// One database that a question searches: the memory of a group, or a collection.
pub(crate) struct Corpus<'a> {
    /// `None` for the memory.
    pub(crate) collection: Option<&'a CollectionName>,
    pub(crate) path: &'a Path,
    pub(crate) db: &'a Connection,
    pub(crate) space: &'a Space,
    /// Limits the rows of `db`. `space` contains all passages.
    pub(crate) visibility: Visibility,
}

impl Corpus<'_> {
    pub(super) fn is_memory(&self) -> bool {
        self.collection.is_none()
    }

    /// Returns the kinds of its passages that are in scope.
    pub(super) fn kinds(&self, request: &Request) -> Kinds {
        let mut kinds = Kinds::default();
        let is_here = |scope: &&Scope| (**scope == Scope::Sources) != self.is_memory();
        request.scope.iter().filter(is_here).for_each(|scope| kinds.add(scope.flag()));
        kinds
    }

    /// Returns the prefix of a message about it. The memory needs none.
    fn prefix(&self) -> String {
        self.collection.map(|name| format!("sources: collection `{name}`: ")).unwrap_or_default()
    }
}

/// Notes in an answer besides its hits.
#[derive(Default)]
pub(super) struct Remarks {
    /// Collections that can't be read.
    unreadable: Vec<String>,
    /// Retrievers that are unavailable or incomplete.
    degraded: Vec<String>,
    /// A note on what the graph lacks.
    pub(super) note: Option<String>,
}

impl Remarks {
    /// Records that a collection can't be read and is left out. A group can't answer without its memory: then
    /// the error is returned.
    pub(super) fn leave_out(&mut self, corpus: &Corpus<'_>, error: Error) -> Result<()> {
        let error = error.at(corpus.path);
        let Some(name) = corpus.collection else { return Err(error) };
        self.unreadable.push(collection::unavailable_note(name, &error));
        Ok(())
    }

    /// Records that the model of the settings returned no vector.
    pub(super) fn add_silent_model(&mut self, error: &Error) {
        self.degraded.push(format!("embeddings ({error}): only the built-in model was used"));
    }

    /// Records how many passages of a corpus the model of the settings has not embedded yet.
    pub(super) fn add_pending(&mut self, corpus: &Corpus<'_>, pending: usize, all: usize) {
        if pending > 0 {
            let prefix = corpus.prefix();
            self.degraded.push(format!(
                "{prefix}embeddings: {pending} of {all} passages have no vector of the provider's model yet, and only the built-in model finds them; run `nacre index` or a server to finish"
            ));
        }
    }

    /// Records that the stored vectors of a corpus have another number of components than the model's answers.
    pub(super) fn add_other_size(&mut self, corpus: &Corpus<'_>, components: usize) {
        let prefix = corpus.prefix();
        self.degraded.push(format!(
            "{prefix}embeddings: the provider's model now returns {components} components, and the stored vectors have another number, so only the built-in model was used; run `nacre index` to embed again"
        ));
    }

    /// Records that the vectors of a corpus do not fit into memory, so that meaning is compared for a part of these passages.
    pub(super) fn add_beyond_memory(&mut self, corpus: &Corpus<'_>, passages: usize) {
        const MEGABYTE: usize = 1 << 20;
        let Some((bytes, limit)) = corpus.space.beyond_memory() else { return };
        let prefix = corpus.prefix();
        let (bytes, limit) = (bytes.div_ceil(MEGABYTE), limit.div_ceil(MEGABYTE));
        self.degraded.push(format!(
            "{prefix}memory: the vectors of {passages} passages ({bytes} MB) do not fit into the server's memory for vectors ({limit} MB for all groups), so only the passages that fit best by words are compared by meaning, and one that says the same in other words may be missed; raise `serve.memory`"
        ));
    }

    /// Describes the progress of re-embedding, if it is running in a corpus.
    pub(super) fn add_reembedding(&mut self, corpus: &Corpus<'_>) {
        let Some(ReembeddingProgress { made, all }) = corpus.space.renewed() else { return };
        let prefix = corpus.prefix();
        self.degraded.push(format!(
            "{prefix}vectors: {made} of {all} are recomputed for this version's model, and the rest is found by words only; run `nacre index` or a server to finish"
        ));
    }

    /// Records how many parts of documents have no vectors of their lines yet.
    pub(super) fn add_pending_lines(&mut self, corpus: &Corpus<'_>, pending: usize, all: usize) {
        if pending > 0 {
            let prefix = corpus.prefix();
            self.degraded.push(format!(
                "{prefix}lines: {pending} of {all} parts of documents have no vectors of their lines yet, so that some lines may be missed; run `nacre index` or a server to finish"
            ));
        }
    }

    /// Records that the words of a corpus were indexed by another version or in another language.
    pub(super) fn add_stale_words(&mut self, corpus: &Corpus<'_>) {
        let prefix = corpus.prefix();
        self.degraded.push(format!(
            "{prefix}words: the index was built by another version or in another language; run `nacre index` or a server to rebuild it"
        ));
    }

    /// Returns the messages of `missing`: collections first, then retrievers.
    pub(super) fn missing(&mut self) -> Vec<String> {
        let mut missing = std::mem::take(&mut self.unreadable);
        missing.append(&mut self.degraded);
        missing
    }
}
