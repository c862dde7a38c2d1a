//! The answer: the ranking as it is shown, the entries linked to it, and notes on what is missing.

use schemars::JsonSchema;
use serde::Serialize;

use super::calibrate::{WEAK_SCORE, calibrate};
use super::corpus::{Corpus, Remarks};
use super::hit::{Contender, Evidence, Hit};
use super::rank::{MAX_STANDING_HITS, Ranking};
use super::request::Request;
use crate::base::Result;
use crate::base::ids::ProjectName;
use crate::base::origin::RecordOrigin;
use crate::base::redact::redact;
use crate::index::{Language, Scope, analyse};
use crate::records::entry::{self, Entry};
use crate::store::Connection;

/// The note if every hit is weak.
const ONLY_WEAK: &str = "all hits are weak; the answer may not be remembered";

/// The answer to a search.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SearchResults {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Standing instructions and preferences of the user that may apply and are not among the hits, in the
    /// same form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub standing: Vec<Hit>,
    /// Retrievers that are unavailable, so that hits may be missing.
    pub missing: Vec<String>,
    /// A note on what the graph lacks, or on why nothing was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The project in which the question was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub project: Option<ProjectName>,
    /// Whether the session has been shown details of the infrastructure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(skip)]
    pub infrastructure_seen: bool,
    /// Whether the text names the session and source of each memory.
    #[serde(skip)]
    pub with_provenance: bool,
}

redact! {
    SearchResults { hits, standing, missing, note, project / infrastructure_seen, with_provenance }
}

/// Hits that are shown however weak they are, and the least score of those behind them.
const ALWAYS_SHOWN: usize = 5;
const MIN_SHOWN_SCORE: f64 = 0.015;

impl SearchResults {
    /// Returns how many hits are worth reading. Those behind them are weak.
    pub fn worth_reading(&self) -> usize {
        let is_good = |(place, hit): &(usize, &Hit)| *place < ALWAYS_SHOWN || hit.score >= MIN_SHOWN_SCORE;
        self.hits.iter().enumerate().take_while(is_good).count()
    }

    /// Returns the project of a hit, if it is not the one in which the question was asked.
    pub fn other_project<'h>(&self, hit: &'h Hit) -> Option<&'h ProjectName> {
        hit.project.as_ref().filter(|project| Some(*project) != self.project.as_ref())
    }
}

/// Turns a ranking into the answer.
pub(super) fn answer(ranking: Ranking, corpora: &[Corpus<'_>], request: &Request) -> Result<SearchResults> {
    let Ranking { hits, standing, remarks } = ranking;
    let mut hits: Vec<Hit> = shown(hits).collect();
    if let Some(memory) = memory(corpora) {
        hits.extend(neighbours(memory.db, &hits, request)?);
    }
    calibrate(&mut hits);
    let is_new = |standing: &Hit| hits.iter().all(|hit| hit.id != standing.id);
    // Shown next to the hits as the user's own rules.
    let is_own = |standing: &Hit| standing.origin != RecordOrigin::Untrusted;
    let mut standing: Vec<Hit> =
        shown(standing).filter(|hit| is_new(hit) && is_own(hit)).take(MAX_STANDING_HITS).collect();
    calibrate(&mut standing);
    Ok(finish(hits, standing, remarks, corpora, request))
}

/// Lists the newest entries: the answer to an empty query.
pub(super) fn newest(corpora: &[Corpus<'_>], request: &Request) -> Result<SearchResults> {
    let mut hits: Vec<Hit> = Vec::new();
    // Only entries are listed without a question.
    if let Some(memory) = memory(corpora).filter(|_| request.scope.contains(&Scope::Entries)) {
        let take = |entry: Entry| {
            if request.admits(&entry) {
                hits.push(Hit::of_entry(entry, Evidence::of_retriever("recent", 0.0)));
            }
            hits.len() < request.limit
        };
        if request.includes_past() {
            entry::newest_first(memory.db, take)?;
        } else {
            entry::walk_current(memory.db, take)?;
        }
    }
    Ok(finish(hits, Vec::new(), Remarks::default(), corpora, request))
}

/// Returns the newest behavioral entries, at most `limit`.
pub(crate) fn behavioral(db: &Connection, limit: usize) -> Result<Vec<Hit>> {
    let mut hits: Vec<Hit> = Vec::new();
    entry::walk_behavioral_first(db, |entry| {
        let steers = entry.behavioral;
        if steers && entry.origin.is_injectable() {
            hits.push(Hit::of_entry(entry, Evidence::default()));
        }
        steers && hits.len() < limit
    })?;
    Ok(hits)
}

fn shown(contenders: Vec<Contender>) -> impl Iterator<Item = Hit> {
    contenders.into_iter().map(|contender| contender.hit)
}

fn memory<'a>(corpora: &'a [Corpus<'a>]) -> Option<&'a Corpus<'a>> {
    corpora.iter().find(|corpus| corpus.is_memory())
}

/// Returns entries that were often returned together with the hits, up to the limit.
fn neighbours(db: &Connection, hits: &[Hit], request: &Request) -> Result<Vec<Hit>> {
    let found: Vec<&str> = hits.iter().filter(|hit| hit.entry.is_some()).map(|hit| hit.id.as_str()).collect();
    let room = request.limit.saturating_sub(hits.len());
    if found.is_empty() || room == 0 {
        return Ok(Vec::new());
    }
    let linked = entry::link::neighbours(db, &found)?;
    let entries = entry::get_all(db, linked.iter().take(room).map(String::as_str))?;
    let evidence = || Evidence::of_retriever("linked", f64::from(i16::MIN));
    let admitted = entries.into_iter().filter(|entry| request.admits(entry));
    Ok(admitted.map(|entry| Hit::of_entry(entry, evidence())).collect())
}

/// Numbers the hits and adds the notes.
fn finish(
    mut hits: Vec<Hit>,
    standing: Vec<Hit>,
    mut remarks: Remarks,
    corpora: &[Corpus<'_>],
    request: &Request,
) -> SearchResults {
    for (place, hit) in hits.iter_mut().enumerate() {
        hit.why.iter_mut().for_each(|why| why.rank = place + 1);
    }
    let missing = remarks.missing();
    let why = match hits.first() {
        None => Some(why_nothing(corpora, request)),
        Some(best) => (request.is_question() && is_weak(best)).then_some(ONLY_WEAK),
    };
    let note = remarks.note.or_else(|| why.map(str::to_owned));
    SearchResults {
        hits,
        standing,
        missing,
        note,
        project: request.project.clone(),
        infrastructure_seen: false,
        with_provenance: false,
    }
}

/// Tells whether a hit is a weak match. Two words of the question are no coincidence.
fn is_weak(hit: &Hit) -> bool {
    let words = hit.why.iter().map(|why| why.words.len()).max().unwrap_or(0);
    hit.score < WEAK_SCORE && words < 2
}

/// Explains why nothing was found.
fn why_nothing(corpora: &[Corpus<'_>], request: &Request) -> &'static str {
    let is_empty = !corpora.is_empty() && corpora.iter().all(|corpus| corpus.space.passages() == 0);
    let is_question = request.is_question();
    if is_empty {
        "nothing is remembered yet; start with `nacre store \"what to remember\"`"
    } else if is_question && analyse::words(&request.query, Language::default()).is_empty() {
        "the query has no words to search for"
    } else if !is_question && !request.scope.contains(&Scope::Entries) {
        "there is no query, and only entries are listed without one"
    } else if !is_question && !request.is_for_entries() {
        "there are no memories"
    } else if request.is_for_entries() {
        "no memory with this type, these tags and this source matches"
    } else if request.only_project.is_some() {
        "nothing from this project matches"
    } else {
        "no stored text matches the query"
    }
}
