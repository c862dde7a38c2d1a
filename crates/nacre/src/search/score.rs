//! Fusion: one score per passage, the sum of named parts. Scores of the retrievers are made comparable by
//! their mean and spread over the scope (z-scores), not by rank. A retriever adds to a score and never
//! removes a hit.
//!
//! The parts and their weights were tuned on public conversation sets (docs/benchmarks.md). Most of the gain
//! comes from structure: who speaks, which message answers which, and when.
//!
//! Every passage in scope gets a score: the steps of one are inlined, although the rest is built for size (docs/decisions/0036).
#![expect(clippy::cast_possible_truncation, reason = "scores need no more than an f32")]

use std::collections::HashMap;
use std::ops::Range;

use super::candidates::{Candidates, Pool};
use super::corpus::{Corpus, Remarks};
use super::part::{Part, Parts};
use super::question::{Mode, Question, Term};
use super::retrievers;
use super::words::{Spread, WordScores};
use crate::base::{Result, Time, settings};
use crate::index::lines::{self, LineVector, Lines};
use crate::index::{Language, Mark, Quantised, dates, dense, flag};
use crate::records::note::vectors;

/// A passage is found by the model of the settings alone if its cosine is this many standard deviations above
/// the mean. The range of cosines differs between models.
const MIN_MODEL_SPREADS: f64 = 1.5;
/// Below this number of passages hardly any can be that far from the mean: `search.least_similarity` is enough.
const MIN_SPREAD_PASSAGES: usize = 12;
/// Cosines that differ less than this say nothing about which passage is meant.
const MIN_MODEL_SPREAD: f64 = 0.01;

/// The speaker part for the user's words when the assistant's are asked for.
const USER_SHARE_IF_ASSISTANT_IS_ASKED: f32 = -0.2;

/// The settings and the moment that ranking depends on.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    pub(super) search: &'a settings::Search,
    pub(super) rank: &'a settings::Rank,
    pub(super) now: Time,
}

/// The scores of all candidates, one scorer for each corpus.
pub(super) struct Scores<'a> {
    pub(super) scorers: Vec<Scorer<'a>>,
    pub(super) rules: Rules<'a>,
    pub(super) question: &'a Question,
    pub(super) remarks: Remarks,
}

/// Scores the passages of one corpus.
pub(super) struct Scorer<'a> {
    pub(super) corpus: &'a Corpus<'a>,
    question: &'a Question,
    rules: Rules<'a>,
    /// 0 for each part that is left out.
    weights: Parts,
    /// The ids in scope; in a large scope, those that may be among the best.
    pub(super) members: Vec<u32>,
    pub(super) is_large: bool,
    /// The weighted sum of the word and embedding retrievers, by passage id.
    retrieval: Vec<f32>,
    /// BM25, by passage id.
    words: Vec<f32>,
    cosines: Vec<f32>,
    model_cosines: Vec<Option<f32>>,
    baselines: Baselines,
    /// The ids of the passages that wait for vectors.
    outdated: Range<u32>,
    /// The question's vector, if the cosines are estimates.
    estimate: Option<Quantised>,
    /// The question's vector by the model of the settings, if only a sample was compared with it.
    model_vector: Option<Vec<f32>>,
    /// The vectors of the lines that are ranked, if they were not in memory.
    read_lines: Option<Lines>,
    /// From this value on, a cosine by the model of the settings is enough to find a passage.
    min_model_cosine: f32,
    /// The terms that a passage contains, one bit each.
    pub(super) matched: Vec<u64>,
    /// The share of the question's weight that a passage matches.
    pub(super) coverage: Vec<f32>,
    /// The z-score of BM25 over whole sessions, by session number.
    sessions: Vec<f32>,
    /// How well passages answer according to the graph, 0 to 1.
    pub(super) recalled: HashMap<u32, f32>,
    /// Lines of chunks that state a value that the graph's answer replaced: by chunk, each with the passage of that answer.
    pub(super) replaced: HashMap<u32, Vec<(i64, u32)>>,
    /// The same for lines of chunks, by passage and line of the document.
    recalled_lines: HashMap<(u32, i64), f32>,
}

/// The mean and spread of each retriever's scores over all corpora.
#[derive(Clone, Copy)]
struct Baselines {
    words: Spread,
    meaning: Spread,
    model: Spread,
    /// The number of passages that the model of the settings has embedded.
    embedded: usize,
}

impl Baselines {
    fn new(pools: &[Pool<'_>], words: &[WordScores]) -> Baselines {
        let of_words = || pools.iter().zip(words).flat_map(|(pool, words)| words.of_members(pool));
        Baselines {
            words: Spread::of(of_words, 0.0),
            meaning: Spread::of(|| pools.iter().flat_map(Pool::exact_cosines), 0.1),
            model: Spread::of(|| pools.iter().flat_map(Pool::exact_model_cosines), 0.0),
            embedded: pools.iter().flat_map(Pool::exact_model_cosines).take(MIN_SPREAD_PASSAGES).count(),
        }
    }

    /// Returns the cosine from which the model of the settings alone finds a passage.
    fn min_model_cosine(&self, least_similarity: f64) -> f32 {
        let by_spread = self.model.mean + MIN_MODEL_SPREADS * self.model.spread;
        let min = match (self.embedded < MIN_SPREAD_PASSAGES, self.model.spread > MIN_MODEL_SPREAD) {
            (true, true) => by_spread.min(least_similarity),
            (true, false) => least_similarity,
            (false, _) => by_spread,
        };
        min as f32
    }
}

/// The weights of the retriever scores of a passage's neighbours.
struct NeighbourWeights {
    before: f32,
    after: f32,
    /// For the neighbours two steps away on either side: the subject of a conversation outlasts a turn.
    around: f32,
}

impl NeighbourWeights {
    const WITHOUT_SESSION: NeighbourWeights = NeighbourWeights { before: 0.0, after: 0.0, around: 0.0 };
    /// The assistant's reply echoes the topic of the user's turn.
    const USER: NeighbourWeights = NeighbourWeights { before: 0.0, after: 0.2, around: 0.0 };
    const ASSISTANT: NeighbourWeights = NeighbourWeights { before: 0.3, after: 0.05, around: 0.0 };
    const PEOPLE: NeighbourWeights = NeighbourWeights { before: 0.1, after: 0.1, around: 0.15 };
    const PEOPLE_ANSWERING: NeighbourWeights = NeighbourWeights { before: 0.7, after: 0.1, around: 0.15 };
}

/// Prepares the scores of all candidates. Word weights and baselines are computed over all corpora together,
/// so that scores of different corpora are comparable.
pub(super) fn score<'a>(question: &'a Question, rules: Rules<'a>, candidates: Candidates<'a>) -> Scores<'a> {
    let Candidates { pools, remarks } = candidates;
    let words = WordScores::of_all(&question.terms, &pools);
    let baselines = Baselines::new(&pools, &words);
    let pools = pools.into_iter().zip(words);
    let scorers = pools.map(|(pool, words)| Scorer::new(question, rules, baselines, pool, words)).collect();
    Scores { scorers, rules, question, remarks }
}

impl<'a> Scorer<'a> {
    fn new(
        question: &'a Question,
        rules: Rules<'a>,
        baselines: Baselines,
        pool: Pool<'a>,
        words: WordScores,
    ) -> Scorer<'a> {
        let mut scorer = Scorer {
            corpus: pool.corpus,
            question,
            rules,
            weights: Parts::weights(&rules.search.without),
            members: pool.members,
            is_large: pool.is_large,
            retrieval: Vec::new(),
            words: words.scores,
            cosines: pool.cosines.values,
            model_cosines: pool.model_cosines,
            baselines,
            outdated: pool.corpus.space.old(),
            estimate: pool.cosines.estimate.map(|estimate| estimate.vector),
            model_vector: pool.model_vector,
            read_lines: None,
            min_model_cosine: baselines.min_model_cosine(rules.search.least_similarity),
            matched: words.matched,
            coverage: words.coverage,
            sessions: words.sessions,
            recalled: pool.recalled,
            replaced: pool.replaced,
            recalled_lines: pool.recalled_lines,
        };
        scorer.retrieval = (0u32..).zip(&scorer.words).map(|(id, _)| scorer.add_retrieval(id)).collect();
        scorer
    }
}

impl Scorer<'_> {
    /// Tells whether only words count.
    pub(super) fn is_words_alone(&self) -> bool {
        self.rules.search.fusion == settings::Fusion::Words
    }

    /// Tells whether structure counts in addition to the retrievers.
    pub(super) fn is_hybrid(&self) -> bool {
        self.rules.search.fusion == settings::Fusion::Hybrid
    }

    pub(super) fn language(&self) -> Language {
        self.question.language
    }

    pub(super) fn terms(&self) -> &[Term] {
        &self.question.terms
    }

    pub(super) fn question(&self) -> &Question {
        self.question
    }

    pub(super) fn is_passage(&self, id: u32) -> bool {
        (id as usize) < self.corpus.space.marks().len()
    }

    #[inline(always)]
    pub(super) fn mark(&self, id: u32) -> Mark {
        self.corpus.space.marks()[id as usize]
    }

    /// Returns the similarity of its meaning to the question's, up to 1.
    pub(super) fn similarity(&self, id: u32) -> f32 {
        self.model_cosine(id).unwrap_or(self.cosines[id as usize])
    }

    fn model_cosine(&self, id: u32) -> Option<f32> {
        self.model_cosines.get(id as usize).copied().flatten()
    }

    /// Tells whether a passage was found at all: by a word, its embedding or the graph, or as a neighbour of
    /// one that was.
    pub(super) fn is_found(&self, id: u32) -> bool {
        let alone =
            |id: u32| self.matched[id as usize] != 0 || self.is_near(id) || self.recalled.contains_key(&id);
        alone(id) || [-1, 1].iter().any(|step| self.neighbour(id, *step).is_some_and(alone))
    }

    /// Tells whether its embedding alone is close enough to find it.
    pub(super) fn is_near(&self, id: u32) -> bool {
        f64::from(self.cosines[id as usize]) >= self.rules.search.least_similarity
            || self.model_cosine(id).is_some_and(|cosine| cosine >= self.min_model_cosine)
    }

    /// Tells whether a line is found by this similarity alone.
    pub(super) fn is_similar(&self, cosine: f32) -> bool {
        f64::from(cosine) >= self.rules.search.least_similarity
    }

    /// Returns the parts of a chunk's score that hold for each of its lines: how close it is to a time that the question
    /// names, and its age.
    pub(super) fn line_parts(&self, chunk: u32) -> f32 {
        let mark = self.mark(chunk);
        self.weights[Part::Time] * self.nearness(mark) - self.weights[Part::Age] * self.age(mark)
    }

    /// Returns the graph's part of the score of a line.
    pub(super) fn recalled_line(&self, chunk: u32, line: i64) -> f32 {
        self.weights[Part::Graph] * self.recalled_lines.get(&(chunk, line)).copied().unwrap_or(0.0)
    }

    /// Returns the cosine of each line of a chunk with the question, by their stored vectors.
    pub(super) fn line_cosines(
        &self,
        chunk: u32,
        lines: usize,
        question: &LineVector,
    ) -> Option<Vec<Option<f32>>> {
        self.stored_lines()?.cosines(chunk, lines, question)
    }

    /// Returns the chunks with the lines that are nearest to a question, by their stored vectors. In a large memory whose vectors are
    /// read, only the lines of the best chunks are compared.
    pub(super) fn nearest_lines(&self, question: &LineVector, most: usize) -> Result<Vec<u32>> {
        let Corpus { db, space, .. } = self.corpus;
        if space.is_beyond_memory() && !self.is_large {
            let is_ours = lines::stored_version(db)?.as_ref() == Some(&vectors::version());
            return if is_ours { lines::nearest(db, &self.members, question, most) } else { Ok(Vec::new()) };
        }
        Ok(self.stored_lines().map_or_else(Vec::new, |lines| lines.nearest(&self.members, question, most)))
    }

    fn stored_lines(&self) -> Option<&Lines> {
        let lines = self.read_lines.as_ref().unwrap_or(self.corpus.space.lines());
        Some(lines).filter(|lines| lines.is_by(&vectors::version()))
    }

    /// Reads the stored vectors of the lines of these chunks, if they are not in memory.
    pub(super) fn read_lines(&mut self, chunks: impl Iterator<Item = u32>) -> Result<()> {
        let Corpus { db, space, .. } = self.corpus;
        if space.is_beyond_memory() {
            self.read_lines = Some(Lines::read(db, &chunks.collect::<Vec<u32>>())?);
        }
        Ok(())
    }

    /// Tells whether documents are ranked and shown by the line.
    pub(super) fn ranks_lines(&self) -> bool {
        self.is_hybrid() && self.corpus.is_memory()
    }

    /// Returns the neighbour in the same session, if it counts.
    #[inline(always)]
    pub(super) fn neighbour(&self, id: u32, step: i64) -> Option<u32> {
        let other = u32::try_from(i64::from(id) + step).ok()?;
        let mark = self.corpus.space.marks().get(other as usize)?;
        let session = self.mark(id).session;
        (session != 0 && mark.session == session && mark.is(flag::LIVE)).then_some(other)
    }

    /// Returns the weighted retriever score of a neighbour, `steps` away. Most weights are 0, and then none is looked up.
    #[inline(always)]
    fn neighbour_retrieval(&self, weight: f32, id: u32, steps: i64) -> f32 {
        if weight == 0.0 {
            return 0.0;
        }
        weight * self.neighbour(id, steps).map_or(0.0, |other| self.retrieval(other))
    }

    #[inline(always)]
    fn words(&self, id: u32) -> f32 {
        self.baselines.words.z(self.words[id as usize])
    }

    /// Cosines of two models can't be compared, but their z-scores can. Together they find more than either:
    /// LoCoMo fraction@10 on the tuning half is .834 with the built-in model, .847 with MiniLM and .855 with
    /// both. The mean of two partly correlated scores spreads less than one score; `MEAN_SCALE` corrects
    /// that.
    #[inline(always)]
    fn meaning(&self, id: u32) -> f32 {
        const MEAN_SCALE: f32 = 1.1;
        let by_model = self.model_cosine(id).map(|cosine| self.baselines.model.z(cosine));
        if self.outdated.contains(&id) {
            // A passage without a vector counts as average, so that neither old nor new passages are
            // preferred.
            return by_model.unwrap_or(0.0);
        }
        let built_in = self.baselines.meaning.z(self.cosines[id as usize]);
        by_model.map_or(built_in, |by_model| MEAN_SCALE * f32::midpoint(built_in, by_model))
    }

    /// Returns the combined score of the word and embedding retrievers.
    #[inline(always)]
    pub(super) fn retrieval(&self, id: u32) -> f32 {
        self.retrieval[id as usize]
    }

    fn add_retrieval(&self, id: u32) -> f32 {
        self.weights[Part::Words] * self.words(id) + self.weights[Part::Meaning] * self.meaning(id)
    }

    /// Replaces estimates by exact cosines.
    pub(super) fn use_exact_cosines(&mut self, ids: &[u32]) -> Result<()> {
        let Some(vector) = self.estimate else { return Ok(()) };
        let Corpus { db, space, .. } = self.corpus;
        retrievers::use_exact_cosines(db, space, ids, &vector, &mut self.cosines)?;
        if let Some(vector) = &self.model_vector {
            let cosines = &mut self.model_cosines;
            dense::cosines_of(db, ids, vector, |id, cosine| cosines[id as usize] = cosine)?;
        }
        for id in ids {
            let retrieval = self.add_retrieval(*id);
            self.retrieval[*id as usize] = retrieval;
        }
        Ok(())
    }

    /// Returns the score of a passage.
    pub(super) fn score(&self, id: u32) -> f32 {
        let mut parts = Parts::ZERO;
        self.fill(id, &mut parts);
        if self.is_words_alone() { parts.sum() } else { parts.weighed_sum(&self.weights) }
    }

    /// Returns the weighted parts of its score.
    pub(super) fn parts(&self, id: u32) -> Parts {
        let mut parts = Parts::ZERO;
        self.fill(id, &mut parts);
        // Every part counts with words alone: `search.without` applies only when more than the words are scored.
        if !self.is_words_alone() {
            parts.weigh(&self.weights);
        }
        parts
    }

    /// Sets the unweighted parts of its score.
    fn fill(&self, id: u32, parts: &mut Parts) {
        let mark = self.mark(id);
        self.fill_from_mark(mark, parts);
        if self.is_words_alone() {
            parts[Part::Relevance] = self.coverage[id as usize].max(f32::MIN_POSITIVE).ln();
            return;
        }
        parts[Part::Graph] = self.recalled.get(&id).copied().unwrap_or(0.0);
        if self.is_hybrid() {
            let weights = self.neighbour_weights(id, mark);
            parts[Part::Words] = self.words(id);
            parts[Part::Meaning] = self.meaning(id);
            parts[Part::Before] = self.neighbour_retrieval(weights.before, id, -1)
                + self.neighbour_retrieval(weights.around, id, -2);
            parts[Part::After] = self.neighbour_retrieval(weights.after, id, 1)
                + self.neighbour_retrieval(weights.around, id, 2);
            parts[Part::Preference] = self.preference(mark, self.retrieval(id));
        } else {
            parts[Part::Relevance] = self.relevance(id).max(f32::MIN_POSITIVE).ln();
        }
    }

    fn neighbour_weights(&self, id: u32, mark: Mark) -> NeighbourWeights {
        if mark.session == 0 {
            NeighbourWeights::WITHOUT_SESSION
        } else if mark.is(flag::USER) {
            NeighbourWeights::USER
        } else if mark.is(flag::ASSISTANT) {
            NeighbourWeights::ASSISTANT
        } else if self.neighbour(id, -1).is_some_and(|other| self.mark(other).is(flag::ASKS)) {
            NeighbourWeights::PEOPLE_ANSWERING
        } else {
            NeighbourWeights::PEOPLE
        }
    }

    /// Returns the weighted sum of similarity and words. BM25 has no upper bound; r / (1 + r) has.
    fn relevance(&self, id: u32) -> f32 {
        let search = self.rules.search;
        let words = self.words[id as usize].max(0.0);
        search.vector_weight as f32 * self.similarity(id).max(0.0)
            + search.word_weight as f32 * words / (1.0 + words)
    }

    /// Returns a rough score: the retriever score, which may be an estimate, and the parts that the mark
    /// determines. `by_flags` caches the sum of the parts determined by the flags, NaN until it is known,
    /// because most marks share their flags with others.
    pub(super) fn rough(&self, mark: Mark, retrieval: f32, by_flags: &mut [f32]) -> f32 {
        let with_preference = retrieval + self.weights[Part::Preference] * self.preference(mark, retrieval);
        let needs_mark = self.question.author.is_some()
            || !self.question.days.is_empty()
            || mark.flags & (flag::ENTRY | flag::DATED) != 0;
        if needs_mark {
            let mut parts = Parts::ZERO;
            self.fill_from_mark(mark, &mut parts);
            return with_preference + parts.weighed_sum(&self.weights);
        }
        let known = &mut by_flags[mark.flags as usize];
        if known.is_nan() {
            let mut parts = Parts::ZERO;
            self.fill_from_flags(mark, &mut parts);
            *known = parts.weighed_sum(&self.weights);
        }
        with_preference + *known + self.weights[Part::Session] * self.session(mark)
    }

    /// Returns the weight of a stated preference, which counts only if advice is asked for.
    fn preference(&self, mark: Mark, retrieval: f32) -> f32 {
        let counts = self.question.advice && mark.is(flag::PREFERENCE);
        if counts { retrieval.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Sets the unweighted parts of a score that the mark alone determines.
    #[inline(always)]
    fn fill_from_mark(&self, mark: Mark, parts: &mut Parts) {
        if self.is_hybrid() {
            self.fill_from_flags(mark, parts);
            parts[Part::Session] = self.session(mark);
            if self.question.author.is_some_and(|author| author == mark.author) {
                parts[Part::Author] = 1.0;
            }
            parts[Part::Time] = self.nearness(mark);
            parts[Part::Age] = -self.age(mark);
        } else if !self.is_words_alone() {
            // As a factor: half the weight after the half-life.
            parts[Part::Age] = (1.0 - self.age(mark)).max(f32::MIN_POSITIVE).ln();
        }
        if let Some(standing) = mark.standing() {
            parts[Part::Reinforcement] = standing.log_reinforcement(self.rules.rank) as f32;
            parts[Part::Recency] = standing.log_recency(self.rules.rank, self.rules.now) as f32;
        }
    }

    /// Sets the unweighted parts of a score that the flags of a mark determine.
    fn fill_from_flags(&self, mark: Mark, parts: &mut Parts) {
        let has = |flags: u16| f32::from(u8::from(mark.is(flags)));
        let by_user = match self.question.mode {
            // The assistant's words count as much as the user's.
            Mode::Keywords => 1.0,
            // Entries, documents and facts are the user's own words.
            _ => has(flag::USER).max(has(flag::ENTRY)).max(has(flag::CHUNK)).max(has(flag::GRAPH)),
        };
        let user_share = match self.question.mode {
            Mode::User | Mode::Keywords => 1.0,
            Mode::Assistant => USER_SHARE_IF_ASSISTANT_IS_ASKED,
            Mode::Summary => 0.0,
        };
        parts[Part::Speaker] = user_share * by_user;
        if matches!(self.question.mode, Mode::User | Mode::Keywords) {
            // Only a passage in a session can be the first of one.
            parts[Part::First] = has(flag::FIRST);
            parts[Part::Person] = has(flag::FIRST_PERSON);
        }
        parts[Part::Answers] = self.question.wants.iter().map(|wanted| has(*wanted)).sum::<f32>();
        parts[Part::Instruction] = has(flag::INSTRUCTION);
    }

    /// Returns the z-score of the words of its whole session.
    #[inline(always)]
    fn session(&self, mark: Mark) -> f32 {
        self.sessions.get(mark.session as usize).copied().unwrap_or(0.0)
    }

    /// Returns the age penalty of a dated document: one half after the half-life. A passage without a date
    /// has none.
    fn age(&self, mark: Mark) -> f32 {
        let half_life = self.rules.search.half_life_days;
        if !mark.is(flag::DATED) || half_life <= 0.0 {
            return 0.0;
        }
        let days = self.rules.now.days_since(Time::from_millis(i64::from(mark.minute) * 60_000));
        (1.0 - 0.5_f64.powf(days.max(0.0) / half_life)) as f32
    }

    /// Returns the standing instructions and preferences that may apply, with their retriever scores. They
    /// must be the user's: an agent must not follow what other people say in a conversation.
    pub(super) fn standing(&self) -> Vec<(u32, f32)> {
        const MIN_MATCH: f32 = 0.35;
        let applies = |id: &u32| {
            let place = *id as usize;
            self.is_standing(self.mark(*id)) && self.coverage[place].max(self.cosines[place]) >= MIN_MATCH
        };
        self.members.iter().copied().filter(applies).map(|id| (id, self.retrieval(id))).collect()
    }

    /// Tells whether it is a standing instruction or preference of the user, of the kind that is asked for.
    pub(super) fn is_standing(&self, mark: Mark) -> bool {
        let standing = mark.is(flag::INSTRUCTION) || (self.question.advice && mark.is(flag::PREFERENCE));
        standing && mark.flags & (flag::USER | flag::ENTRY | flag::CHUNK) != 0
    }

    /// Returns how close a passage is to a time that the question names: people talk about things after they
    /// happened.
    fn nearness(&self, mark: Mark) -> f32 {
        if self.question.days.is_empty() {
            return 0.0;
        }
        let day = dates::day_of(mark.minute);
        let near = |(from, to): &(f64, f64)| {
            let late = (day - to).max(0.0);
            let early = (from - day).max(0.0);
            // One of them is 0.
            (-late / 5.0 - early / 2.0).exp() as f32
        };
        self.question.days.iter().map(near).fold(0.0, f32::max)
    }
}
