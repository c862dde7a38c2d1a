//! Search, written once over passages. Each stage is a function from one type to the next:
//!
//! ```text
//! Request ▶ Question ▶ Candidates ▶ Scores ▶ Ranking ▶ SearchResults
//! ```
//!
//! The modules are grouped by stage. None uses a module of a later group, and no two use each other.

// Exact search, apart from the stages
mod grep;

// Request
mod corpus;
mod request;

// Question
mod question;

// Candidates
mod candidates;
mod graph;
mod retrievers;

// Scores
mod part;
mod score;
mod words;

// Ranking
mod alike;
mod conflict;
mod hit;
mod lines;
mod narrow;
mod rank;
mod recency;

// Answer
mod answer;
mod calibrate;

use crate::group::View;
use crate::records::collection;
use crate::store::Connection;

use crate::base::caller::Visibility;
use crate::base::{Result, settings};
use crate::index::embed::Embedder;
use crate::index::{self, Language, Scope};

use question::Question;
use score::Rules;

pub(crate) use crate::index::dates::named as named_days;
pub use answer::SearchResults;
pub(crate) use answer::behavioral;
pub use conflict::Contradiction;
pub(crate) use conflict::{
    ComparedLines, NewStatement, NewerStatement, contradicting, contradicting_lines, contradicting_new_lines,
    neighbors, newer, without_marker,
};
pub(crate) use corpus::Corpus;
pub use grep::GrepLine;
pub(crate) use grep::{GrepQuery, grep, pattern as grep_pattern};
pub(crate) use hit::BestLine;
pub use hit::{DocumentHit, EntryHit, GraphHit, Hit, ItemHit, MessageHit, NewerHit, ScorePart, TaskHit, Why};

pub use part::PARTS;
pub(crate) use request::Request;

/// Answers a request: by words, embeddings and the graph, or with the newest entries for an empty query.
pub(crate) fn run(
    corpora: &[Corpus<'_>],
    request: &Request,
    settings: &settings::Settings,
    embedder: Option<&dyn Embedder>,
) -> Result<SearchResults> {
    if !request.is_question() {
        return answer::newest(corpora, request);
    }
    let rules = Rules { search: &settings.search, rank: &settings.rank, now: request.at };
    let question = understand(corpora, request)?;
    let candidates = candidates::gather(corpora, &question, request, settings, embedder)?;
    let scores = score::score(&question, rules, candidates);
    let ranking = rank::rank(scores, request)?;
    answer::answer(ranking, corpora, request)
}

/// Interprets the question with data from the corpora: the speakers and years of the memory, and the
/// language.
fn understand(corpora: &[Corpus<'_>], request: &Request) -> Result<Question> {
    let mut authors = Vec::new();
    for memory in corpora.iter().filter(|corpus| corpus.is_memory()) {
        authors.extend(self::authors(memory.db)?);
    }
    let mut years: Vec<i16> = corpora.iter().flat_map(|corpus| corpus.space.years()).copied().collect();
    years.sort_unstable();
    years.dedup();
    let language = corpora.first().map_or(Ok(Language::default()), |corpus| index::language(corpus.db))?;
    let question = Question::new(&request.query, language, &authors, request.at, &years);
    Ok(if request.unasked { question.into_message() } else { question })
}

/// Returns the authors of a memory, each with the hash of their name.
fn authors(db: &Connection) -> Result<Vec<(u32, String)>> {
    db.rows("SELECT hash, name FROM authors", (), |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Searches the memory and its collections, as far as they are in scope.
pub(crate) fn search(view: &mut View<'_>, request: &Request) -> Result<SearchResults> {
    let sources = request.scope.contains(&Scope::Sources) && !request.query.trim().is_empty();
    let (names, mut missing) = match sources {
        true => collection::to_search(view, request.collection.as_ref())?,
        false => (Vec::new(), Vec::new()),
    };
    let visibility = view.visibility();
    let mut states = Vec::new();
    if request.scope.iter().any(|scope| *scope != Scope::Sources) {
        states.push((None, view.path(), view.snapshot()?));
    }
    for (name, database) in view.open_collections().filter(|(name, _)| names.contains(name)) {
        match database.snapshot(Visibility::Private) {
            Ok(state) => states.push((Some(name), database.path(), state)),
            Err(error) => missing.push(collection::unavailable_note(name, &error)),
        }
    }
    let corpora: Vec<Corpus<'_>> = states
        .iter()
        .map(|(collection, path, state)| Corpus {
            collection: *collection,
            path,
            db: &state.db,
            space: &state.space,
            visibility: if collection.is_some() { Visibility::Private } else { visibility },
        })
        .collect();
    let mut found = run(&corpora, request, view.settings(), view.services().embedder.as_deref())?;
    if corpora.is_empty() && sources && missing.is_empty() {
        found.note = Some("this group has no collections".into());
    }
    missing.append(&mut found.missing);
    Ok(SearchResults { missing, ..found })
}
