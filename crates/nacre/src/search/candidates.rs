//! Candidates: the passages in scope of every corpus, with the results of each retriever.

use std::collections::HashMap;

use super::corpus::{Corpus, Remarks};
use super::graph;
use super::question::Question;
use super::request::Request;
use super::retrievers::{self, Cosines, TermHits};
use crate::base::caller::Visibility;
use crate::base::{Result, settings};
use crate::index::embed::Embedder;
use crate::index::lookup::Frequencies;
use crate::index::{self, Language, Mark, Space, dense, flag, lines};
use crate::records::note::vectors;
use crate::store::Connection;

/// The candidates of all readable corpora.
pub(super) struct Candidates<'a> {
    pub(super) pools: Vec<Pool<'a>>,
    pub(super) remarks: Remarks,
}

/// The candidates of one corpus.
pub(super) struct Pool<'a> {
    pub(super) corpus: &'a Corpus<'a>,
    /// The ids in scope, sorted.
    pub(super) members: Vec<u32>,
    /// Whether the scope is so large that only likely passages are scored exactly.
    pub(super) is_large: bool,
    /// The passages that contain each term of the question.
    pub(super) terms: Vec<TermHits>,
    /// The cosine similarity by the built-in model.
    pub(super) cosines: Cosines,
    /// The cosine similarity by the model of the settings, for passages that it has embedded; empty without
    /// such a model.
    pub(super) model_cosines: Vec<Option<f32>>,
    /// The question's vector by that model, if only a sample of the passages was compared with it.
    pub(super) model_vector: Option<Vec<f32>>,
    /// How well passages answer according to the graph, 0 to 1.
    pub(super) recalled: HashMap<u32, f32>,
    /// Lines of chunks that state a value that the graph's answer replaced: by chunk, each with the passage of that answer.
    pub(super) replaced: HashMap<u32, Vec<(i64, u32)>>,
    /// The same for lines of chunks, by passage and line of the document.
    pub(super) recalled_lines: HashMap<(u32, i64), f32>,
}

/// Runs every retriever that the settings enable.
pub(super) fn gather<'a>(
    corpora: &'a [Corpus<'a>],
    question: &Question,
    request: &Request,
    settings: &settings::Settings,
    embedder: Option<&dyn Embedder>,
) -> Result<Candidates<'a>> {
    let by_words_alone = settings.search.fusion == settings::Fusion::Words;
    let mut candidates = Candidates::by_words(corpora, question, request)?;
    if !by_words_alone && settings.embedding.provider != settings::Provider::None {
        candidates.add_meaning(question, embedder)?;
    }
    if !by_words_alone && settings.graph.lane {
        candidates.add_graph(question.language, request)?;
    }
    if settings.search.fusion == settings::Fusion::Hybrid {
        candidates.check_lines()?;
    }
    candidates.check_words(settings.search.language())?;
    Ok(candidates)
}

impl<'a> Candidates<'a> {
    /// Runs the word retriever in each corpus. A collection that can't be read is left out.
    fn by_words(corpora: &'a [Corpus<'a>], question: &Question, request: &Request) -> Result<Candidates<'a>> {
        let mut pools = Vec::new();
        let mut remarks = Remarks::default();
        for corpus in corpora {
            match Pool::by_words(corpus, question, request) {
                Ok(pool) => pools.push(pool),
                Err(error) => remarks.leave_out(corpus, error)?,
            }
        }
        Ok(Candidates { pools, remarks })
    }

    /// Runs the built-in model and, if there is one, the model of the settings.
    fn add_meaning(&mut self, question: &Question, embedder: Option<&dyn Embedder>) -> Result<()> {
        let passages = self.pools.iter().map(|pool| pool.members.len()).sum();
        // A collection that fails here counts as 0: this only weights the words of the question.
        let words = retrievers::weighted_words(question);
        let read = |pool: &Pool<'_>| match Frequencies::read(pool.corpus.db, words.clone()) {
            Err(_) if !pool.corpus.is_memory() => Ok(Frequencies::default()),
            read => read,
        };
        let frequencies: Vec<Frequencies> = self.pools.iter().map(read).collect::<Result<_>>()?;
        let df = |word: &str| frequencies.iter().map(|known| known.of(word)).sum();
        let vector = retrievers::question_vector(question, passages, df);
        for mut pool in std::mem::take(&mut self.pools) {
            let (db, space) = (pool.corpus.db, pool.space());
            match retrievers::meaning(db, space, &pool.members, pool.is_large, &vector) {
                Ok(cosines) => {
                    pool.cosines = cosines;
                    self.pools.push(pool);
                }
                Err(error) => self.remarks.leave_out(pool.corpus, error)?,
            }
        }
        if let Some(embedder) = embedder {
            self.add_model(question, embedder)?;
        }
        for pool in &self.pools {
            self.remarks.add_reembedding(pool.corpus);
            if pool.cosines.estimate.is_some() {
                self.remarks.add_beyond_memory(pool.corpus, pool.members.len());
            }
        }
        Ok(())
    }

    /// Runs the model of the settings. If it fails, or has not embedded a passage yet, the built-in vectors are used, and the
    /// answer says so.
    fn add_model(&mut self, question: &Question, embedder: &dyn Embedder) -> Result<()> {
        if self.pools.iter().all(|pool| pool.members.is_empty()) {
            return Ok(());
        }
        let vector = match retrievers::model_vector(question, embedder) {
            Ok(vector) => vector,
            Err(error) => {
                self.remarks.add_silent_model(&error);
                return Ok(());
            }
        };
        for mut pool in std::mem::take(&mut self.pools) {
            if pool.space().is_beyond_memory() {
                match pool.read_model(embedder, &vector, &mut self.remarks) {
                    Ok(()) => self.pools.push(pool),
                    Err(error) => self.remarks.leave_out(pool.corpus, error)?,
                }
                continue;
            }
            let dense = pool.space().dense();
            if !dense.is_by(embedder) {
                self.remarks.add_pending(pool.corpus, pool.members.len(), pool.members.len());
            } else if dense.fits(vector.len()) {
                pool.model_cosines = dense.cosines(pool.space().marks().len(), &vector);
                let pending = pool.members.iter().filter(|id| dense.is_pending(**id)).count();
                self.remarks.add_pending(pool.corpus, pending, pool.members.len());
            } else {
                self.remarks.add_other_size(pool.corpus, vector.len());
            }
            self.pools.push(pool);
        }
        Ok(())
    }

    /// Queries the graph of the memory.
    fn add_graph(&mut self, language: Language, request: &Request) -> Result<()> {
        for pool in self.pools.iter_mut().filter(|pool| pool.corpus.is_memory()) {
            let answer = graph::ask(pool.corpus.db, request, language, &pool.members)?;
            pool.recalled = answer.passages;
            pool.replaced = answer.replaced;
            pool.recalled_lines = answer.lines;
            self.remarks.note = answer.note;
        }
        Ok(())
    }

    /// Notes how many parts of documents have no vectors of their lines yet.
    fn check_lines(&mut self) -> Result<()> {
        for pool in self.pools.iter().filter(|pool| pool.corpus.is_memory()) {
            let (marks, lines, version) = (pool.space().marks(), pool.space().lines(), vectors::version());
            let chunks = pool.members.iter().copied().filter(|id| marks[*id as usize].is(flag::CHUNK));
            let chunks: Vec<u32> = chunks.collect();
            let pending = match pool.space().is_beyond_memory() {
                true => lines::count_pending(pool.corpus.db, &version, &chunks)?,
                false if lines.is_by(&version) => chunks.iter().filter(|id| lines.is_pending(**id)).count(),
                false => chunks.len(),
            };
            self.remarks.add_pending_lines(pool.corpus, pending, chunks.len());
        }
        Ok(())
    }

    /// Notes the corpora whose words were indexed by another version or language.
    fn check_words(&mut self, language: Language) -> Result<()> {
        for Pool { corpus, .. } in &self.pools {
            if index::stale(corpus.db, language)?.words && corpus.space.passages() > 0 {
                self.remarks.add_stale_words(corpus);
            }
        }
        Ok(())
    }
}

impl<'a> Pool<'a> {
    fn by_words(corpus: &'a Corpus<'a>, question: &Question, request: &Request) -> Result<Pool<'a>> {
        let members = members(corpus, request)?;
        let terms = retrievers::words(corpus.db, question, corpus.space)?;
        // Filters that need the rows are applied when these are read, so any passage may be needed.
        let is_large = members.len() > corpus.space.max_exact() && !request.filters_rows();
        Ok(Pool {
            corpus,
            members,
            is_large,
            terms,
            cosines: Cosines::zero(corpus.space.marks().len()),
            model_cosines: Vec::new(),
            model_vector: None,
            recalled: HashMap::new(),
            replaced: HashMap::new(),
            recalled_lines: HashMap::new(),
        })
    }

    /// Compares the question with the provider's vectors of a memory whose vectors are read.
    fn read_model(&mut self, embedder: &dyn Embedder, vector: &[f32], remarks: &mut Remarks) -> Result<()> {
        let (db, estimate) = (self.corpus.db, self.cosines.estimate.as_ref());
        if dense::model(db)?.as_deref() != Some(embedder.version()) {
            remarks.add_pending(self.corpus, self.members.len(), self.members.len());
        } else if !dense::fits(db, vector.len())? {
            remarks.add_other_size(self.corpus, vector.len());
        } else {
            self.model_cosines =
                retrievers::read_model_cosines(db, self.space(), &self.members, estimate, vector)?;
            self.model_vector = estimate.map(|_| vector.to_vec());
            // In a large memory, to count them would take longer than the search.
            if estimate.is_none() {
                let dense::Progress { done, refused, all } = dense::progress(db)?;
                let count = |number: i64| usize::try_from(number).unwrap_or(0);
                remarks.add_pending(self.corpus, count(all - done - refused), count(all));
            }
        }
        Ok(())
    }

    pub(super) fn space(&self) -> &'a Space {
        self.corpus.space
    }

    /// Returns exact cosines of the scope or of a sample of it, each with the number of passages it represents.
    pub(super) fn exact_cosines(&self) -> impl Iterator<Item = (f32, f64)> {
        let ids = self.cosines.estimate.as_ref().map_or(&self.members, |estimate| &estimate.sample);
        let weight = self.members.len() as f64 / ids.len().max(1) as f64;
        // A passage that waits for its vectors represents none.
        let outdated = self.space().old();
        let weight = move |id: &u32| if outdated.contains(id) { 0.0 } else { weight };
        ids.iter().map(move |id| (self.cosines.values[*id as usize], weight(id)))
    }

    /// Returns the cosines of the members that have vectors by the model of the settings, in the same form.
    pub(super) fn exact_model_cosines(&self) -> impl Iterator<Item = (f32, f64)> {
        let cosine = |id: &u32| Some((self.model_cosines.get(*id as usize).copied().flatten()?, 1.0));
        // Without a model of the settings, the members need not be iterated.
        let walked = if self.model_cosines.is_empty() { 0 } else { usize::MAX };
        self.members.iter().take(walked).filter_map(cosine)
    }
}

/// Returns the ids of the passages in scope, sorted.
fn members(corpus: &Corpus<'_>, request: &Request) -> Result<Vec<u32>> {
    let kinds = corpus.kinds(request);
    let past = request.includes_past();
    let is_member = |mark: &Mark| kinds.contain(*mark) && (past || mark.is(flag::LIVE));
    let marks = (0u32..).zip(corpus.space.marks());
    let mut members: Vec<u32> = marks.filter(|(_, mark)| is_member(mark)).map(|(id, _)| id).collect();
    if corpus.visibility == Visibility::Shared {
        let visible = visible(corpus.db)?;
        members.retain(|id| visible.binary_search(id).is_ok());
    }
    Ok(members)
}

/// Returns the ids of the passages that the connection may see, sorted.
fn visible(db: &Connection) -> Result<Vec<u32>> {
    db.rows("SELECT id FROM passages ORDER BY id", (), |row| row.get(0))
}
