//! Search, written once over passages: query ▶ lanes ▶ rank ▶ why.
//!
//! There is one lane so far, the words (BM25). The full-text engine proposes; relevance is computed here over
//! what it proposed, because the engine's own figure is zero for words that most entries have, and a small
//! memory is made of such words.

mod query;

use std::collections::HashMap;

use rusqlite::Connection;
use schemars::JsonSchema;
use serde::Serialize;

use crate::entry::{self, Entry, EntryType, Tags};
use crate::ids::EntryId;
use crate::index::{Scope, analyse};
use crate::settings::Rank;
use crate::{Result, Time};

pub(crate) use query::Query;

/// The most characters of a hit that are shown (Q1).
const SNIPPET: usize = 700;

/// How many candidates a lane gives at first; more are asked for where filters leave too few.
const CANDIDATES: usize = 100;

/// What is searched for, and among what.
pub(crate) struct Request {
    pub(crate) query: String,
    pub(crate) scope: Vec<Scope>,
    pub(crate) r#type: Option<EntryType>,
    pub(crate) tags: Tags,
    pub(crate) include_superseded: bool,
    pub(crate) include_archived: bool,
    pub(crate) limit: usize,
    pub(crate) at: Time,
}

/// What was found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Found {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Lanes that are down: what is found may not be all there is.
    pub missing: Vec<String>,
    /// Said where nothing was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One thing found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the words of SPEC Q1")]
pub struct Hit {
    pub kind: &'static str,
    pub id: EntryId,
    pub number: i64,
    pub r#type: EntryType,
    pub text: String,
    pub tags: Tags,
    pub behavioral: bool,
    /// 0 to 1, what the order is by.
    pub score: f64,
    /// 0 to 1, how well the words match.
    pub relevance: f64,
    pub at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<EntryId>,
    pub why: Vec<Why>,
}

/// Why a hit is one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Why {
    /// The lane that found it, or `recent` where nothing was asked.
    pub lane: &'static str,
    /// Its place in that lane, from 1.
    pub rank: usize,
    /// The words of the question that it has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// The factors of its score: relevance, weight of its reinforcement, recency (E6).
    pub factors: [f64; 3],
}

/// Finds entries: by words, or the newest where none are given (E3).
pub(crate) fn run(db: &Connection, request: &Request, rank: &Rank) -> Result<Found> {
    let query = Query::new(&request.query);
    let hits = if !query.is_empty() {
        by_words(db, request, &query, rank)?
    } else if request.query.trim().is_empty() {
        newest(db, request, rank)?
    } else {
        Vec::new()
    };
    let note = hits.is_empty().then(|| match query.is_empty() && !request.query.trim().is_empty() {
        true => "the query has no words to search for".to_owned(),
        false => "nothing matches".to_owned(),
    });
    Ok(Found { hits, missing: Vec::new(), note })
}

/// What an entry is worth apart from what is asked: the weight of its reinforcement times its recency (E6).
pub(crate) fn standing(entry: &Entry, rank: &Rank, now: Time) -> f64 {
    let [_, weight, recency] = factors(entry, 1.0, rank, now);
    weight * recency
}

/// Returns the current entry that `content` resembles most, if it shares at least `least` of the words of
/// both together (E12).
pub(crate) fn resembling(db: &Connection, content: &str, least: f64) -> Result<Option<EntryId>> {
    const PROBES: usize = 24;
    let mut query = Query::new(content);
    // The longest words are seldom the most common ones.
    query.terms.sort_by_key(|term| std::cmp::Reverse(term.term.len()));
    query.terms.truncate(PROBES);
    if query.is_empty() {
        return Ok(None);
    }
    let wanted = meaning(content);
    let mut best: Option<(f64, EntryId)> = None;
    let (candidates, _) = candidates(db, &query, &[Scope::Entries], 16)?;
    for candidate in candidates.iter().filter(|candidate| candidate.live) {
        for entry in entry::get_all(db, [candidate.reference.as_str()])? {
            let words = meaning(&entry.content);
            let shared = words.iter().filter(|word| wanted.contains(word)).count();
            #[expect(clippy::cast_precision_loss, reason = "a few hundred words")]
            let share = shared as f64 / (words.len() + wanted.len() - shared).max(1) as f64;
            if share >= least && best.as_ref().is_none_or(|(most, _)| share > *most) {
                best = Some((share, entry.id));
            }
        }
    }
    Ok(best.map(|(_, id)| id))
}

/// The distinct words of a text that are not common ones.
fn meaning(text: &str) -> Vec<String> {
    let mut words = analyse::words(text);
    words.retain(|word| !analyse::is_common(word));
    words.sort();
    words.dedup();
    words
}

fn newest(db: &Connection, request: &Request, rank: &Rank) -> Result<Vec<Hit>> {
    let mut hits: Vec<Hit> = Vec::new();
    let take = |entry: Entry| {
        if passes(&entry, request) {
            let place = hits.len() + 1;
            hits.push(hit(
                entry,
                request,
                rank,
                1.0,
                Why { lane: "recent", rank: place, words: Vec::new(), factors: [0.0; 3] },
            ));
        }
        hits.len() < request.limit
    };
    if request.include_superseded || request.include_archived {
        entry::newest_first(db, take)?;
    } else {
        entry::walk_current(db, false, take)?;
    }
    Ok(hits)
}

fn by_words(db: &Connection, request: &Request, query: &Query, rank: &Rank) -> Result<Vec<Hit>> {
    let live_only = !(request.include_superseded || request.include_archived);
    let mut ask = CANDIDATES.max(request.limit * 4);
    // Filters come after the lane, so the lane is asked for more until there is enough or no more.
    let (candidates, entries) = loop {
        let (mut candidates, all) = candidates(db, query, &request.scope, ask)?;
        candidates.retain(|candidate| candidate.live || !live_only);
        let mut entries =
            entry::get_all(db, candidates.iter().map(|candidate| candidate.reference.as_str()))?;
        entries.retain(|entry| passes(entry, request));
        if all || entries.len() >= request.limit {
            break (candidates, entries);
        }
        ask *= 8;
    };
    let weights = Weights::new(db, query)?;
    let places: HashMap<&str, usize> = candidates
        .iter()
        .enumerate()
        .map(|(place, candidate)| (candidate.reference.as_str(), place + 1))
        .collect();
    let texts: HashMap<&str, &str> =
        candidates.iter().map(|candidate| (candidate.reference.as_str(), candidate.text.as_str())).collect();
    let mut hits: Vec<Hit> = entries
        .into_iter()
        .map(|entry| {
            let (relevance, words) = weights.relevance(query, texts[entry.id.as_str()]);
            let place = places[entry.id.as_str()];
            hit(entry, request, rank, relevance, Why { lane: "bm25", rank: place, words, factors: [0.0; 3] })
        })
        .collect();
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.at.cmp(&a.at)).then(b.number.cmp(&a.number)));
    hits.truncate(request.limit);
    Ok(hits)
}

fn passes(entry: &Entry, request: &Request) -> bool {
    let has = |wanted: &str| entry.tags.iter().any(|tag| tag.to_lowercase() == wanted.to_lowercase());
    (request.include_superseded || entry.superseded_at.is_none())
        && (request.include_archived || entry.archived_at.is_none())
        && request.r#type.is_none_or(|wanted| entry.r#type == wanted)
        && request.tags.iter().all(has)
}

fn hit(entry: Entry, request: &Request, rank: &Rank, relevance: f64, mut why: Why) -> Hit {
    why.factors = factors(&entry, relevance, rank, request.at);
    let worth: f64 = why.factors.iter().product();
    Hit {
        kind: entry::KIND,
        text: snippet(&entry.content),
        score: round(worth / (1.0 + worth)),
        relevance: round(relevance),
        at: entry.provenance.timestamp,
        id: entry.id,
        number: entry.number,
        r#type: entry.r#type,
        tags: entry.tags,
        behavioral: entry.behavioral,
        superseded_by: entry.superseded_by,
        why: vec![Why { factors: why.factors.map(round), ..why }],
    }
}

/// Relevance, weight of the reinforcement, recency: their product is what hits are ordered by (E6).
fn factors(entry: &Entry, relevance: f64, rank: &Rank, now: Time) -> [f64; 3] {
    #[expect(clippy::cast_precision_loss, reason = "kept within a small bound")]
    let weight = (entry.score as f64 * rank.score_weight).exp();
    let days = now.days_since(entry.last_hit_at.unwrap_or(entry.provenance.timestamp));
    [relevance, weight, 1.0 / (1.0 + days * rank.recency)]
}

fn round(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

fn snippet(text: &str) -> String {
    match text.char_indices().nth(SNIPPET - 1) {
        Some((end, _)) if text[end..].chars().nth(1).is_some() => format!("{}…", &text[..end]),
        _ => text.to_owned(),
    }
}

/// What the lane of words proposes.
struct Candidate {
    reference: String,
    text: String,
    live: bool,
}

/// Returns the `most` best passages for the words; those of other scopes are left out.
fn candidates(
    db: &Connection,
    query: &Query,
    scope: &[Scope],
    most: usize,
) -> Result<(Vec<Candidate>, bool)> {
    // Hits come out of the full-text index alone, then meet their passages: with both in one WHERE the
    // planner may leave the index, and with another order than `rank` alone it sorts by itself.
    let sql = "WITH hits AS MATERIALIZED
            (SELECT rowid AS id, rank FROM passages_fts WHERE passages_fts MATCH ?1 ORDER BY rank LIMIT ?2)
        SELECT kind, ref, text || ' ' || title, live FROM hits JOIN passages USING (id) ORDER BY rank, hits.id";
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query((query.expression(), i64::try_from(most).unwrap_or(i64::MAX)))?;
    let (mut found, mut seen) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        seen += 1;
        let kind = row.get_ref(0)?.as_str().unwrap_or_default();
        if scope.iter().any(|scope| scope.kind() == kind) {
            found.push(Candidate { reference: row.get(1)?, text: row.get(2)?, live: row.get(3)? });
        }
    }
    Ok((found, seen < most))
}

/// What each term of a question weighs: rare words more. Never zero, so that one entry in a memory of one is
/// found with a figure to show.
struct Weights {
    idf: Vec<f64>,
    total: f64,
}

impl Weights {
    fn new(db: &Connection, query: &Query) -> Result<Weights> {
        let passages: i64 = db.query_row("SELECT count(*) FROM passages", [], |row| row.get(0))?;
        let mut having =
            db.prepare_cached("SELECT coalesce(sum(doc), 0) FROM passages_vocab WHERE term = ?1")?;
        let mut idf = Vec::new();
        for term in &query.terms {
            let documents: i64 = having.query_row([&term.term], |row| row.get(0))?;
            #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
            let (all, with) = (passages.max(documents) as f64, documents as f64);
            idf.push((1.0 + (all - with + 0.5) / (with + 0.5)).ln());
        }
        Ok(Weights { total: idf.iter().sum(), idf })
    }

    /// Returns the share of the question's weight that a text has, and the words it has. A word counts less
    /// in a longer text.
    fn relevance(&self, query: &Query, text: &str) -> (f64, Vec<String>) {
        // BM25's saturation at k1 = 1.2, b = 0.75 against a usual entry of 20 words; a word said once there
        // counts as whole.
        const K1: f64 = 1.2;
        const B: f64 = 0.75;
        const USUAL: f64 = 20.0;
        let words = analyse::words(text);
        let mut weight = 0.0;
        let mut matched: Vec<String> = Vec::new();
        for (term, idf) in query.terms.iter().zip(&self.idf) {
            let alone = term.term.chars().nth(1).is_none();
            let count = words
                .iter()
                .filter(|word| **word == term.term || alone && word.starts_with(&term.term))
                .count();
            if count > 0 {
                #[expect(clippy::cast_precision_loss, reason = "a few hundred words")]
                let (count, length) = (count as f64, words.len() as f64);
                let saturated = count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length / USUAL));
                weight += idf * saturated.min(1.0);
                if !matched.contains(&term.shown) {
                    matched.push(term.shown.clone());
                }
            }
        }
        (if self.total > 0.0 { weight / self.total } else { 0.0 }, matched)
    }
}
