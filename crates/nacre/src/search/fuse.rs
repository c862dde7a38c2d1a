//! Fusion: one score a passage, the sum of named parts. Scores of the lanes are made comparable by their mean
//! and spread over the scope (z), not by rank; a lane adds, it never silences another.
//!
//! The parts and their weights were found on public conversation sets (docs/benchmarks.md). Most of
//! what they gain is structure: who speaks, what answers what, when.
#![expect(clippy::cast_possible_truncation, reason = "scores need no more than an f32")]

use std::collections::HashMap;
use std::ops::Range;

use super::dates;
use super::lanes::TermHits;
use super::query::{Mode, Query};
use super::words::{Inside, Spread, Words, idf};
use crate::base::Time;
use crate::base::settings;
use crate::index::{Language, Mark, Quantised, Space, flag};

/// The parts of a score, by the names that `--explain` shows.
pub const PARTS: [&str; 18] = [
    "bm25",
    "vectors",
    "session",
    "before",
    "after",
    "author",
    "speaker",
    "time",
    "first",
    "person",
    "answers",
    "instruction",
    "preference",
    "relevance",
    "reinforcement",
    "recency",
    "age",
    "graph",
];

/// How much each part weighs.
#[derive(Clone, Debug)]
pub(super) struct Weights {
    pub(super) words: f32,
    pub(super) meaning: f32,
    pub(super) session: f32,
    /// The passage before, where it asks; else where people talk.
    pub(super) answered: f32,
    pub(super) before: f32,
    pub(super) after: f32,
    /// Where people talk, the passages two away on either side: what a conversation is about outlasts a turn.
    pub(super) around: f32,
    /// The assistant's reply behind a user's turn echoes its topic.
    pub(super) reply: f32,
    pub(super) replied: f32,
    pub(super) after_reply: f32,
    pub(super) author: f32,
    pub(super) user: f32,
    pub(super) time: f32,
    pub(super) first: f32,
    pub(super) person: f32,
    pub(super) answers: f32,
    pub(super) instruction: f32,
    pub(super) preference: f32,
    /// What a dated document loses as it grows old.
    pub(super) age: f32,
    /// What a fact is worth that answers what is asked of an entity.
    pub(super) graph: f32,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights {
            words: 0.35,
            meaning: 0.65,
            session: 0.2,
            answered: 0.7,
            before: 0.1,
            after: 0.1,
            around: 0.15,
            reply: 0.2,
            replied: 0.3,
            after_reply: 0.05,
            author: 3.2,
            user: 2.5,
            time: 2.5,
            first: 0.8,
            person: 0.6,
            answers: 0.5,
            instruction: 1.6,
            preference: 2.0,
            age: 1.0,
            graph: 8.0,
        }
    }
}

/// What the settings and the moment say about ranking.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    pub(super) search: &'a settings::Search,
    pub(super) rank: &'a settings::Rank,
    pub(super) now: Time,
}

/// All that is known of the passages in scope for one question.
pub(super) struct Field<'a> {
    space: &'a Space,
    query: &'a Query,
    weights: Weights,
    rules: Rules<'a>,
    /// 0 for each part that is left out.
    counts: [f32; PARTS.len()],
    /// The ids in scope; of a large one, those that may be among the best.
    pub(super) members: Vec<u32>,
    pub(super) is_large: bool,
    /// What the lanes say together, by passage id, what each says, and what is usual for it.
    lanes: Vec<f32>,
    scores: Vec<f32>,
    cosines: Vec<f32>,
    dense: Vec<Option<f32>>,
    usual: Usual,
    /// The ids of those that wait for vectors.
    old: Range<u32>,
    /// The question's vector, where the cosines are estimates.
    estimated: Option<Quantised>,
    /// From where on a cosine by the model of the settings is an unusual one: they may lie anywhere.
    unusual: f32,
    /// Which terms a passage has, a bit each.
    pub(super) matched: Vec<u64>,
    /// The share of the question's weight that a passage has.
    pub(super) coverage: Vec<f32>,
    /// z of the words over whole sessions, by the session's number.
    sessions: Vec<f32>,
    /// What the graph says of passages, 0 to 1.
    pub(super) recalled: HashMap<u32, f32>,
}

/// How many spreads above the mean a cosine by the model of the settings finds a passage alone.
const UNUSUAL: f64 = 1.5;

/// What the lanes say of one database.
pub(super) struct Heard<'a> {
    pub(super) space: &'a Space,
    /// The ids in scope.
    pub(super) members: Vec<u32>,
    /// Whether so much is in scope that only the likely passages are looked at closely.
    pub(super) is_large: bool,
    pub(super) terms: Vec<TermHits>,
    pub(super) cosines: Vec<f32>,
    /// Set where the cosines are estimates but for some.
    pub(super) estimated: Option<Estimated>,
    /// The same by the model of the settings, where it has come so far; empty without one.
    pub(super) dense: Vec<Option<f32>>,
    /// What the graph says of passages, 0 to 1.
    pub(super) recalled: HashMap<u32, f32>,
}

/// What was not asked of every passage.
pub(super) struct Estimated {
    pub(super) question: Quantised,
    /// Passages all over the scope whose cosine is exact: by these is known what is usual.
    pub(super) sample: Vec<u32>,
}

impl Heard<'_> {
    /// The exact cosines of the scope, or of a sample of it, and for how many passages each stands.
    fn cosines(&self) -> impl Iterator<Item = (f32, f64)> {
        let ids = self.estimated.as_ref().map_or(&self.members, |estimated| &estimated.sample);
        let weight = self.members.len() as f64 / ids.len().max(1) as f64;
        // What waits for its vectors stands for none.
        let old = self.space.old();
        let weight = move |id: &u32| if old.contains(id) { 0.0 } else { weight };
        ids.iter().map(move |id| (self.cosines[*id as usize], weight(id)))
    }

    /// The cosines of the ids in scope that have vectors by the model of the settings.
    fn by_model(&self) -> impl Iterator<Item = (f32, f64)> {
        let cosine = |id: &u32| self.dense.get(*id as usize).copied().flatten().map(|cosine| (cosine, 1.0));
        // Without a model of the settings nobody need be asked.
        self.members.iter().take(if self.dense.is_empty() { 0 } else { usize::MAX }).filter_map(cosine)
    }
}

/// What is usual for each lane.
#[derive(Clone, Copy)]
struct Usual {
    words: Spread,
    meaning: Spread,
    model: Spread,
}

/// Makes the fields of all databases that one question is put to. What a word weighs, and what is usual, are
/// found over all of them together, so that scores in one can be compared with scores in another.
pub(super) fn fields<'a>(query: &'a Query, rules: Rules<'a>, heard: Vec<Heard<'a>>) -> Vec<Field<'a>> {
    let counts =
        PARTS.map(|part| if rules.search.without.iter().any(|name| name == part) { 0.0 } else { 1.0 });
    let insides: Vec<Inside> = heard.iter().map(Inside::new).collect();
    let all = heard.iter().map(|heard| heard.members.len()).sum();
    let weights: Vec<f32> = (0..query.terms.len())
        .map(|term| idf(all, insides.iter().map(|inside| inside.with[term]).sum()))
        .collect();
    // Read in every database where it was read in any: a word that one has not at all costs nothing there.
    let read = (0..query.terms.len()).filter(|term| heard.iter().any(|heard| heard.terms[*term].read));
    let total: f32 = read.map(|term| weights[term]).sum();
    let said: Vec<Words> = heard
        .iter()
        .zip(insides)
        .map(|(heard, inside)| Words::read(heard, &inside, &weights, total))
        .collect();
    let usual = Usual {
        words: Spread::of(|| heard.iter().zip(&said).flat_map(|(heard, said)| said.scores_of(heard)), 0.0),
        meaning: Spread::of(|| heard.iter().flat_map(Heard::cosines), 0.1),
        model: Spread::of(|| heard.iter().flat_map(Heard::by_model), 0.0),
    };
    let field = |(heard, said): (Heard<'a>, Words)| {
        let mut field = Field {
            space: heard.space,
            query,
            weights: Weights::default(),
            rules,
            counts,
            members: heard.members,
            is_large: heard.is_large,
            lanes: Vec::new(),
            scores: said.scores,
            cosines: heard.cosines,
            dense: heard.dense,
            usual,
            unusual: (usual.model.mean + UNUSUAL * usual.model.spread) as f32,
            old: heard.space.old(),
            estimated: heard.estimated.map(|estimated| estimated.question),
            matched: said.matched,
            coverage: said.coverage,
            sessions: said.sessions,
            recalled: heard.recalled,
        };
        field.lanes = (0u32..).zip(&field.scores).map(|(id, _)| field.add_lanes(id)).collect();
        field
    };
    heard.into_iter().zip(said).map(field).collect()
}

impl Field<'_> {
    /// Tells whether the words are all that counts.
    pub(super) fn is_words_alone(&self) -> bool {
        self.rules.search.fusion == settings::Fusion::Words
    }

    /// Tells whether structure counts beside what the lanes say.
    pub(super) fn is_hybrid(&self) -> bool {
        self.rules.search.fusion == settings::Fusion::Hybrid
    }

    pub(super) fn language(&self) -> Language {
        self.query.language
    }

    pub(super) fn terms(&self) -> &[super::query::Term] {
        &self.query.terms
    }

    /// The terms that these bits of `matched` stand for.
    pub(super) fn words_of(&self, bits: u64) -> Vec<&str> {
        let terms = self.terms().iter().enumerate();
        terms
            .filter(|(index, _)| bits & (1 << (index % 64)) != 0)
            .map(|(_, term)| term.term.as_str())
            .collect()
    }

    pub(super) fn is_passage(&self, id: u32) -> bool {
        (id as usize) < self.space.marks().len()
    }

    pub(super) fn mark(&self, id: u32) -> Mark {
        self.space.marks()[id as usize]
    }

    /// How near its meaning is to the question's, up to 1.
    pub(super) fn similarity(&self, id: u32) -> f32 {
        self.dense.get(id as usize).copied().flatten().unwrap_or(self.cosines[id as usize])
    }

    /// Tells whether its meaning is near enough to be found by alone.
    pub(super) fn is_near(&self, id: u32) -> bool {
        let by_model = self.dense.get(id as usize).copied().flatten();
        f64::from(self.cosines[id as usize]) >= self.rules.search.least_similarity
            || by_model.is_some_and(|cosine| cosine >= self.unusual)
    }

    /// The neighbour in the same session, if it counts.
    pub(super) fn neighbour(&self, id: u32, step: i64) -> Option<u32> {
        let other = u32::try_from(i64::from(id) + step).ok()?;
        let mark = self.space.marks().get(other as usize)?;
        let session = self.mark(id).session;
        (session != 0 && mark.session == session && mark.is(flag::LIVE)).then_some(other)
    }

    /// What the lanes say of a neighbour, so many steps away.
    fn beside(&self, id: u32, steps: i64) -> f32 {
        self.neighbour(id, steps).map_or(0.0, |other| self.lanes(other))
    }

    fn words(&self, id: u32) -> f32 {
        self.usual.words.z(self.scores[id as usize])
    }

    /// Two models' cosines can't be compared, but how unusual each finds a passage can. Together they find more
    /// than either: LoCoMo fraction@10 on the tuning half is .834 by the built-in one, .847 by MiniLM, .855 by
    /// both. The mean of two opinions that agree in part spreads less than one, which `WIDER` makes good.
    fn meaning(&self, id: u32) -> f32 {
        const WIDER: f32 = 1.1;
        let by_model =
            self.dense.get(id as usize).copied().flatten().map(|cosine| self.usual.model.z(cosine));
        if self.old.contains(&id) {
            // What nothing is known of is as near as is usual: neither the old nor the new are preferred.
            return by_model.unwrap_or(0.0);
        }
        let built_in = self.usual.meaning.z(self.cosines[id as usize]);
        by_model.map_or(built_in, |by_model| WIDER * f32::midpoint(built_in, by_model))
    }

    /// What the lanes say together.
    pub(super) fn lanes(&self, id: u32) -> f32 {
        self.lanes[id as usize]
    }

    fn add_lanes(&self, id: u32) -> f32 {
        self.counts[0] * self.weights.words * self.words(id)
            + self.counts[1] * self.weights.meaning * self.meaning(id)
    }

    /// Puts exact cosines in the place of estimates.
    pub(super) fn look_closely(&mut self, ids: &[u32]) {
        let Some(question) = self.estimated else { return };
        super::lanes::look_closely(self.space, ids, &question, &mut self.cosines);
        for id in ids {
            let lanes = self.add_lanes(*id);
            self.lanes[*id as usize] = lanes;
        }
    }

    /// The score of a passage.
    pub(super) fn score(&self, id: u32) -> f32 {
        self.parts(id).iter().sum()
    }

    /// The parts of its score, in the order of [`PARTS`].
    pub(super) fn parts(&self, id: u32) -> [f32; PARTS.len()] {
        let (mark, w) = (self.mark(id), &self.weights);
        let mut parts = self.parts_of(mark);
        if self.is_words_alone() {
            parts[13] = self.coverage[id as usize].max(f32::MIN_POSITIVE).ln();
            return parts;
        }
        if !self.is_hybrid() {
            parts[13] = self.weighted(id).max(f32::MIN_POSITIVE).ln();
            parts[17] = w.graph * self.recalled.get(&id).copied().unwrap_or(0.0);
            return std::array::from_fn(|part| parts[part] * self.counts[part]);
        }
        let before = self.neighbour(id, -1);
        let (said_before, said_after) = (self.beside(id, -1), self.beside(id, 1));
        let (weigh_before, weigh_after, weigh_around) = if mark.session == 0 {
            (0.0, 0.0, 0.0)
        } else if mark.is(flag::USER) {
            (0.0, w.reply, 0.0)
        } else if mark.is(flag::ASSISTANT) {
            (w.replied, w.after_reply, 0.0)
        } else {
            let asked = before.is_some_and(|other| self.mark(other).is(flag::ASKS));
            (if asked { w.answered } else { w.before }, w.after, w.around)
        };
        parts[0] = w.words * self.words(id);
        parts[1] = w.meaning * self.meaning(id);
        parts[3] = weigh_before * said_before + weigh_around * self.beside(id, -2);
        parts[4] = weigh_after * said_after + weigh_around * self.beside(id, 2);
        parts[12] = self.preference(mark, self.lanes(id));
        parts[17] = w.graph * self.recalled.get(&id).copied().unwrap_or(0.0);
        std::array::from_fn(|part| parts[part] * self.counts[part])
    }

    /// The sum of nearness and words that the seeds have (Q2). A score of words has no upper end: r / (1 + r) has.
    fn weighted(&self, id: u32) -> f32 {
        let (search, words) = (self.rules.search, self.scores[id as usize].max(0.0));
        search.vector_weight as f32 * self.similarity(id).max(0.0)
            + search.word_weight as f32 * words / (1.0 + words)
    }

    /// What the lanes say, perhaps by an estimate, and the parts of a score that are known from the mark, added
    /// up. `by_flags` keeps what is known from the flags, NaN where it is not yet: most marks have the flags of
    /// another.
    pub(super) fn rough(&self, mark: Mark, lanes: f32, by_flags: &mut [f32]) -> f32 {
        let said = lanes + self.counts[12] * self.preference(mark, lanes);
        let sum = |parts: [f32; PARTS.len()]| {
            parts.iter().zip(&self.counts).map(|(part, count)| part * count).sum()
        };
        let says_more = self.query.author.is_some()
            || !self.query.days.is_empty()
            || mark.flags & (flag::ENTRY | flag::DATED) != 0;
        if says_more {
            return said + sum(self.parts_of(mark));
        }
        let known = &mut by_flags[mark.flags as usize];
        if known.is_nan() {
            *known = sum(self.parts_of_flags(mark));
        }
        said + *known + self.counts[2] * self.of_session(mark)
    }

    /// What a stated preference is worth where advice is asked for.
    fn preference(&self, mark: Mark, lanes: f32) -> f32 {
        let counts = self.query.advice && mark.is(flag::PREFERENCE);
        if counts { self.weights.preference * lanes.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The parts of a score that are known from the mark alone; 0 for the others.
    fn parts_of(&self, mark: Mark) -> [f32; PARTS.len()] {
        let Rules { rank, now, .. } = self.rules;
        let mut parts = [0.0; PARTS.len()];
        if self.is_hybrid() {
            parts = self.parts_of_flags(mark);
            parts[2] = self.of_session(mark);
            parts[5] = if self.query.author.is_some_and(|author| author == mark.author) {
                self.weights.author
            } else {
                0.0
            };
            parts[7] = self.weights.time * self.nearness(mark);
            parts[16] = -self.weights.age * self.age(mark);
        } else if !self.is_words_alone() {
            // As a factor: half of its worth after the half-life.
            parts[16] = (1.0 - self.age(mark)).max(f32::MIN_POSITIVE).ln();
        }
        if let Some(standing) = mark.standing() {
            parts[14] = standing.log_reinforcement(rank) as f32;
            parts[15] = standing.log_recency(rank, now) as f32;
        }
        parts
    }

    /// The parts of a score that are known from the flags of a mark; 0 for the others.
    fn parts_of_flags(&self, mark: Mark) -> [f32; PARTS.len()] {
        let (w, query) = (&self.weights, self.query);
        let has = |flags: u16| f32::from(u8::from(mark.is(flags)));
        // Entries, documents and facts are the user's own words.
        let by_user = has(flag::USER).max(has(flag::ENTRY)).max(has(flag::CHUNK)).max(has(flag::GRAPH));
        let speaker = match query.mode {
            Mode::User => w.user,
            Mode::Asked => -0.5,
            Mode::Summary => 0.0,
        };
        let mut parts = [0.0; PARTS.len()];
        parts[6] = speaker * by_user;
        if query.mode == Mode::User {
            // Only what is in a session is the first of one.
            parts[8] = w.first * has(flag::FIRST);
            parts[9] = w.person * has(flag::FIRST_PERSON);
        }
        parts[10] = w.answers * query.wants.iter().map(|wanted| has(*wanted)).sum::<f32>();
        parts[11] = w.instruction * has(flag::INSTRUCTION);
        parts
    }

    /// What the words of its whole session say.
    fn of_session(&self, mark: Mark) -> f32 {
        self.weights.session * self.sessions.get(mark.session as usize).copied().unwrap_or(0.0)
    }

    /// How old a dated document is: half of 1 after the half-life. What has no date of its own stays new (Q4).
    fn age(&self, mark: Mark) -> f32 {
        let half_life = self.rules.search.half_life_days;
        if !mark.is(flag::DATED) || half_life <= 0.0 {
            return 0.0;
        }
        let days = self.rules.now.days_since(Time::from_millis(i64::from(mark.minute) * 60_000));
        (1.0 - 0.5_f64.powf(days.max(0.0) / half_life)) as f32
    }

    /// The standing instructions and preferences that may apply, with what the lanes say of them. Only what
    /// the user wrote: what others say in a conversation is not for an agent to follow.
    pub(super) fn standing(&self) -> Vec<(u32, f32)> {
        const APPLIES: f32 = 0.35;
        let applies = |id: &u32| {
            let place = *id as usize;
            self.is_standing(self.mark(*id)) && self.coverage[place].max(self.cosines[place]) >= APPLIES
        };
        self.members.iter().copied().filter(applies).map(|id| (id, self.lanes(id))).collect()
    }

    /// Tells whether it is a standing instruction or preference of the user, of the kind that is asked for.
    pub(super) fn is_standing(&self, mark: Mark) -> bool {
        let standing = mark.is(flag::INSTRUCTION) || (self.query.advice && mark.is(flag::PREFERENCE));
        standing && mark.flags & (flag::USER | flag::ENTRY | flag::CHUNK) != 0
    }

    /// How near a passage is to a time that the question names: people speak of things after they happened.
    fn nearness(&self, mark: Mark) -> f32 {
        if self.query.days.is_empty() {
            return 0.0;
        }
        let day = dates::day_of(mark.minute);
        let near = |(from, to): &(f64, f64)| {
            let (late, early) = ((day - to).max(0.0), (from - day).max(0.0));
            // One of them is 0.
            (-late / 5.0 - early / 2.0).exp() as f32
        };
        self.query.days.iter().map(near).fold(0.0, f32::max)
    }
}
