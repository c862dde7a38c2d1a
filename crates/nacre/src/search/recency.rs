//! Newer statements first: of two hits that give different values for the same attribute of the same subject, the newer
//! one comes first, whatever their relevance. The older one stays and names the newer one.
//!
//! Only the statements of a hit that share most words with the question count, and a newer statement on another
//! attribute of the subject gains nothing. Statements are read only where their words overlap, so that most searches
//! read none.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use super::hit::{Contender, NewerHit};
use super::question::Question;
use crate::base::origin::RecordOrigin;
use crate::index::alike::meaning;
use crate::index::analyse;
use crate::records::claim::{Conflict, Statement, compare, shared_frame};
use crate::records::note::statement::{self, PassageStatement};

/// The number of top hits that are compared.
pub(super) const MAX_COMPARED_HITS: usize = 20;
/// The maximum number of statements of one hit that are compared.
const MAX_STATEMENTS_PER_HIT: usize = 2;
/// The minimum share of the shorter statement's words that both statements contain; more for messages, which share words with
/// each other and with the question all the time.
const MIN_OVERLAP: f64 = 0.4;
const MIN_SPOKEN_OVERLAP: f64 = 0.5;
/// The minimum number of words that a message shares with a statement it replaces.
const MIN_SPOKEN_WORDS: usize = 2;
/// The minimum score of a conflict with a message.
const MIN_SPOKEN_SCORE: f32 = 3.0;

/// Puts the newer of two contradicting hits first. Takes hits best first, and leaves them in any order.
pub(super) fn newer_first(hits: &mut [Contender], question: &Question) {
    let top = hits.len().min(MAX_COMPARED_HITS);
    let found = {
        let compared: Vec<ComparedHit<'_>> =
            hits[..top].iter().map(|hit| ComparedHit::new(hit, question)).collect();
        let mut found: Vec<Replacement> = Vec::new();
        for (one, left) in compared.iter().enumerate() {
            for (other, right) in compared.iter().enumerate().skip(one + 1) {
                let replaced = left.replaced(right, question);
                found.extend(replaced.map(|(order, kind)| match order {
                    Ordering::Greater => Replacement { old: other, new: one, kind },
                    _ => Replacement { old: one, new: other, kind },
                }));
            }
        }
        let place = |passage: u32| hits[..top].iter().position(|hit| hit.passage == passage);
        found.extend(hits[..top].iter().enumerate().filter_map(|(old, hit)| {
            let new = hit.replaced.iter().find_map(|(_, by)| place(*by))?;
            Some(Replacement { old, new, kind: Kind::Contradicts })
        }));
        // The oldest first: the newest then ends up above all of them.
        let age = |hit: usize| {
            let times = compared[hit].candidates.iter().map(|one| one.statement.at);
            (times.min(), hits[hit].passage)
        };
        found.sort_by_key(|replacement| (age(replacement.old), age(replacement.new)));
        found
    };
    for Replacement { old, new, kind } in found {
        // A stranger's statement never outranks one that is trusted.
        let is_strange = |place: usize| hits[place].hit.origin == RecordOrigin::Untrusted;
        if is_strange(new) && !is_strange(old) {
            continue;
        }
        let by = hits[old].worth - hits[new].worth;
        if by >= 0.0 {
            hits[new].change("newer", by + 1e-4);
        }
        if kind == Kind::Contradicts {
            let newer = NewerHit::of(&hits[new].hit);
            let known = &mut hits[old].hit.newer;
            if known.as_ref().is_none_or(|known| known.at < newer.at) {
                *known = Some(newer);
            }
        }
    }
}

/// A hit that replaces another one, as places in the ranking.
struct Replacement {
    old: usize,
    new: usize,
    kind: Kind,
}

/// How sure it is that two statements exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// They can't both hold.
    Contradicts,
    /// They say the same except for the value.
    SameFrame,
}

/// A hit as it is compared with others.
struct ComparedHit<'h> {
    /// The statements that contain most terms of the question.
    candidates: Vec<Candidate<'h>>,
}

/// A statement of a hit that may answer the question.
struct Candidate<'h> {
    contender: &'h Contender,
    statement: PassageStatement<'h>,
    /// The terms of the question that it contains, one bit each.
    matched: u64,
    /// The hashes of its distinct words with content, sorted.
    words: Vec<u64>,
    read: OnceCell<Statement>,
}

impl<'h> ComparedHit<'h> {
    fn new(contender: &'h Contender, question: &Question) -> ComparedHit<'h> {
        let language = question.language;
        let hasher = FixedState::default();
        let mut candidates: Vec<Candidate<'h>> = Vec::new();
        for statement in contender.statements() {
            let mut words = analyse::words(statement.text, language);
            let context = statement.context.as_deref().map(|context| analyse::words(context, language));
            words.extend(context.into_iter().flatten());
            let matched = question.bits(&words);
            let content = words.iter().filter(|word| !language.is_common(word));
            let mut words: Vec<u64> = content.map(|word| hasher.hash_one(word)).collect();
            words.sort_unstable();
            words.dedup();
            candidates.push(Candidate { contender, statement, matched, words, read: OnceCell::new() });
        }
        let most = candidates.iter().map(|one| one.matched.count_ones()).max().unwrap_or(0);
        candidates.retain(|one| most > 0 && one.matched.count_ones() == most);
        candidates.truncate(MAX_STATEMENTS_PER_HIT);
        ComparedHit { candidates }
    }

    /// Tells whether one of two hits replaces the other: `Less` if the other one is newer.
    fn replaced(&self, other: &ComparedHit<'_>, question: &Question) -> Option<(Ordering, Kind)> {
        let mut pairs =
            self.candidates.iter().flat_map(|left| other.candidates.iter().map(move |right| (left, right)));
        pairs.find_map(|(left, right)| {
            // The same words about another project are no newer statement.
            let projects = left.contender.hit.project.as_ref().zip(right.contender.hit.project.as_ref());
            if projects.is_some_and(|(one, other)| one != other) {
                return None;
            }
            let order = left.order(right);
            let kind = match order {
                Ordering::Less => left.replaced_by(right, question),
                Ordering::Greater => right.replaced_by(left, question),
                Ordering::Equal => None,
            };
            Some((order, kind?))
        })
    }
}

impl Candidate<'_> {
    /// Compares the times of two statements; `Equal` if neither is known to be newer.
    fn order(&self, other: &Candidate<'_>) -> Ordering {
        let places = self.contender.place.zip(other.contender.place);
        if let Some(((session, place), (other_session, other_place))) = places
            && session == other_session
        {
            return place.cmp(&other_place);
        }
        let by_time = self.statement.at.cmp(&other.statement.at);
        if self.statement.at.is_undated() {
            return by_time;
        }
        let is_document = |one: &Candidate<'_>| one.contender.hit.document.is_some();
        match (is_document(self), is_document(other)) {
            // Messages without a time were imported at once, in their order.
            (false, false) => by_time.then(self.contender.passage.cmp(&other.contender.passage)),
            (true, true) if self.is_same_document(other) => by_time.then(self.line().cmp(&other.line())),
            _ => by_time,
        }
    }

    /// Returns who says it, if it is a message.
    fn author(&self) -> Option<&str> {
        self.contender.hit.message.as_ref().and_then(|message| message.author.as_deref())
    }

    fn is_same_document(&self, other: &Candidate<'_>) -> bool {
        let path = |one: &Candidate<'_>| {
            one.contender
                .hit
                .document
                .as_ref()
                .map(|document| (document.collection.clone(), document.path.clone()))
        };
        path(self) == path(other)
    }

    fn line(&self) -> i64 {
        let first = self.contender.hit.document.as_ref().map_or(0, |document| document.lines[0]);
        first + self.statement.line
    }

    /// Tells whether a newer statement replaces this one, as far as the question is concerned.
    fn replaced_by(&self, newer: &Candidate<'_>, question: &Question) -> Option<Kind> {
        // The graph itself settles which of two facts holds.
        let are_facts = self.contender.hit.graph.is_some() && newer.contender.hit.graph.is_some();
        // The newer one answers at least half of what the older one answers.
        let common = self.matched & newer.matched;
        let is_other_answer = 2 * common.count_ones() < self.matched.count_ones().max(1);
        if are_facts || is_other_answer || !self.overlaps(newer) {
            return None;
        }
        let [earlier, later] = [self.read(), newer.read()];
        let is_about_speaker = earlier.is_about_speaker() || later.is_about_speaker();
        if is_about_speaker && self.author() != newer.author() {
            return None;
        }
        if compare(earlier, later).is_some_and(|conflict| self.is_certain(newer, &conflict)) {
            return Some(Kind::Contradicts);
        }
        // The question names at least half of what both say.
        let frame = meaning(&shared_frame(earlier, later)?, question.language);
        let named = question.terms.iter().filter(|term| frame.contains(&term.term)).count();
        (2 * named >= frame.len()).then_some(Kind::SameFrame)
    }

    /// Tells whether a conflict is certain enough to change the order. People who talk use the same words for much that
    /// does not exclude each other, so that a message must name another value.
    fn is_certain(&self, newer: &Candidate<'_>, conflict: &Conflict) -> bool {
        let values = conflict.earlier_value.as_ref().zip(conflict.later_value.as_ref());
        let names_other = values.is_some_and(|(earlier, later)| earlier != later);
        !(self.is_spoken() || newer.is_spoken()) || names_other && conflict.score >= MIN_SPOKEN_SCORE
    }

    /// Tells whether both contain enough of the shorter statement's words to be about the same matter.
    fn overlaps(&self, other: &Candidate<'_>) -> bool {
        let both = self.words.iter().filter(|word| other.words.binary_search(word).is_ok()).count();
        #[expect(clippy::cast_precision_loss, reason = "a few words")]
        let share = both as f64 / self.words.len().min(other.words.len()).max(1) as f64;
        match self.is_spoken() || other.is_spoken() {
            true => both >= MIN_SPOKEN_WORDS && share >= MIN_SPOKEN_OVERLAP,
            false => share >= MIN_OVERLAP,
        }
    }

    fn is_spoken(&self) -> bool {
        self.contender.hit.message.is_some()
    }

    fn read(&self) -> &Statement {
        self.read.get_or_init(|| Statement::read(self.statement.text, self.statement.context.as_deref()))
    }
}

impl Contender {
    /// Returns its statements, if it has a word of the question. An item or a task states nothing.
    fn statements(&self) -> Vec<PassageStatement<'_>> {
        match (&self.hit.document, self.hit.kind) {
            _ if self.matched == 0 => Vec::new(),
            (_, "item" | "task") => Vec::new(),
            (Some(document), _) => statement::of_chunk(&document.path, &self.title, &self.text, self.hit.at),
            (None, _) => statement::of_text(&self.text, self.hit.at),
        }
    }
}
