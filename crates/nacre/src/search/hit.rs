//! A hit: one thing found, as it is shown, and how it is read from its rows.

use schemars::JsonSchema;
use serde::Serialize;

use super::fuse::{Field, PARTS};
use super::{Asked, Request};
use crate::base::ids::{CollectionName, EntryId, ProjectName};
use crate::base::{Result, Time};
use crate::index::analyse;
use crate::records::entry::{self, Entry, EntryType, Tags};
use crate::records::project::{ItemOf, ItemType, Status, item, task};
use crate::records::session::exchange;

/// The most characters of a hit that are shown (Q1).
const SNIPPET: usize = 700;

/// One thing found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the words of SPEC Q1")]
pub struct Hit {
    pub kind: &'static str,
    pub id: String,
    pub text: String,
    /// 0 to 1, what the order is by.
    pub score: f64,
    /// 0 to 1, how much of the question it has.
    pub relevance: f64,
    pub at: Time,
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub why: Vec<Why>,
    /// Of an entry.
    #[serde(flatten)]
    pub entry: Option<EntryHit>,
    /// Of a message.
    #[serde(flatten)]
    pub message: Option<MessageHit>,
    /// Of a document.
    #[serde(flatten)]
    pub document: Option<DocumentHit>,
    /// Of a fact or relation.
    #[serde(flatten)]
    pub graph: Option<GraphHit>,
    /// Of an item of a project.
    #[serde(flatten)]
    #[schemars(skip)]
    pub item: Option<ItemHit>,
    /// Of a task.
    #[serde(flatten)]
    #[schemars(skip)]
    pub task: Option<TaskHit>,
    /// The parts of its score, which add up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub explain: Vec<Part>,
}

/// What an entry adds to its hit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the words of SPEC E1")]
pub struct EntryHit {
    pub number: i64,
    pub r#type: EntryType,
    pub tags: Tags,
    pub behavioral: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<EntryId>,
}

/// What a message adds to its hit: the ids it was imported with.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the words of SPEC S1")]
pub struct MessageHit {
    pub session: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
}

/// What a document adds to its hit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the words of SPEC Q1")]
pub struct DocumentHit {
    /// The collection it is of; without one, it is a document of the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<CollectionName>,
    pub path: String,
    /// The first and the last line, from 1.
    pub lines: [i64; 2],
}

/// What a fact or relation adds to its hit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GraphHit {
    /// The lines that say it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub cites: Vec<crate::records::graph::Cite>,
}

/// What an item adds to its hit, beside the file and the line.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the words of SPEC K1")]
pub struct ItemHit {
    /// Its type: `entity`, `claim`, `task`, `decision` or `note`.
    pub item: ItemType,
    pub project: ProjectName,
    pub title: String,
    pub confidence: f64,
}

/// What a task adds to its hit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the words of SPEC K2")]
pub struct TaskHit {
    pub status: Status,
    pub priority: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milestone: Option<String>,
}

/// Why a hit is one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Why {
    /// The lane that found it: `bm25`, `vectors`, `graph`, `near` (a neighbour of what was found), `linked`
    /// (often returned with it), or `recent` where nothing was asked.
    pub lane: &'static str,
    /// Its place in the answer, from 1.
    pub rank: usize,
    /// The words of the question that it has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// How near its meaning is, up to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
}

/// A part of a score.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "a name and a number")]
pub struct Part {
    pub part: &'static str,
    pub value: f64,
}

/// A hit with what ranking still needs.
pub(super) struct Ranked {
    pub(super) passage: u32,
    pub(super) worth: f64,
    pub(super) hit: Hit,
}

impl Ranked {
    /// Changes what it is worth, for a reason that `--explain` shows.
    pub(super) fn change(&mut self, part: &'static str, by: f64) {
        self.worth += by;
        self.hit.score = shown(self.worth);
        // Empty where nobody asked for an explanation.
        if !self.hit.explain.is_empty() {
            self.hit.explain.push(Part { part, value: round(by) });
        }
    }
}

/// Loads what is needed to show the best of what was ranked. Filters that need the rows are applied here, so
/// the walk goes on until there is enough.
pub(super) fn load(
    asked: &Asked<'_>,
    field: &Field<'_>,
    ranked: &mut [(u32, f32)],
    enough: usize,
    request: &Request,
) -> Result<Vec<Ranked>> {
    let db = asked.db;
    let sql = "SELECT kind, ref, text, passages.at, author, sessions.id, first_line, last_line FROM passages
        LEFT JOIN sessions ON sessions.number = passages.session WHERE passages.id = ?1";
    let mut statement = db.prepare_cached(sql)?;
    let documents = request.scope.contains(&crate::index::Scope::Memory) && !field.is_words_alone();
    let mut hits = Vec::new();
    let mut sorted = 0;
    for place in 0..ranked.len() {
        if hits.len() >= enough {
            break;
        }
        // Only the best are put in order; more of them where filters leave too few.
        if place == sorted {
            sorted = sort_best(ranked, sorted, enough);
        }
        let (id, score) = &ranked[place];
        let mut rows = statement.query([id])?;
        let Some(row) = rows.next()? else { continue };
        let kind: String = row.get(0)?;
        let reference: String = row.get(1)?;
        let worth = f64::from(*score);
        let explain = if request.explain { explained(field, *id) } else { Vec::new() };
        let why = why(field, *id);
        let relevance = f64::from(field.coverage[*id as usize].max(field.similarity(*id))).clamp(0.0, 1.0);
        let hit = if kind == entry::KIND {
            let Some(entry) =
                entry::get_all(db, [reference.as_str()])?.pop().filter(|entry| passes(entry, request))
            else {
                continue;
            };
            entry_hit(entry, worth, relevance, why, explain)
        } else {
            if request.r#type.is_some() || !request.tags.is_empty() {
                continue;
            }
            let (text, at): (String, Time) = (row.get(2)?, row.get(3)?);
            let (score, relevance) = (shown(worth), round(relevance));
            let (entry, message, document, graph, item, task) = (None, None, None, None, None, None);
            let bare = Hit {
                kind: if kind == exchange::KIND { exchange::KIND } else { "message" },
                id: reference.clone(),
                text: snippet(&text),
                score,
                relevance,
                at,
                why,
                entry,
                message,
                document,
                graph,
                item,
                task,
                explain,
            };
            if kind == item::KIND {
                let Some(ItemOf { item, project }) = item::get(db, &reference)? else { continue };
                let lines = [item.line_number; 2];
                let document = Some(DocumentHit { collection: None, path: item.source_file, lines });
                let (title, confidence) = (item.title, item.confidence);
                let item = Some(ItemHit { item: item.r#type, project, title, confidence });
                Hit { kind: item::KIND, document, item, ..bare }
            } else if kind == task::KIND {
                let task = task::get(db, reference.parse()?)?;
                let task =
                    TaskHit { status: task.status, priority: task.priority, milestone: task.milestone };
                Hit { kind: task::KIND, task: Some(task), ..bare }
            } else if kind == "chunk" {
                let path = reference.rsplit_once('#').map_or(reference.as_str(), |(path, _)| path).to_owned();
                let lines: [i64; 2] = [row.get(6)?, row.get(7)?];
                let (id, text) = (format!("{path}#L{}-L{}", lines[0], lines[1]), excerpt(&text, field, *id));
                let document = Some(DocumentHit { collection: asked.collection.cloned(), path, lines });
                Hit { kind: "document", id, text, document, ..bare }
            } else if let Some((kind, cites)) = crate::records::graph::cites_of(db, &kind, &reference)? {
                // What a document says is found in it, unless the graph answers with it or it is a rule.
                let hidden = documents && !cites.is_empty() && !field.recalled.contains_key(id);
                if hidden && !crate::records::graph::fact::is_rule(db, &reference)? {
                    continue;
                }
                Hit { kind, graph: Some(GraphHit { cites }), ..bare }
            } else {
                let session: String = row.get::<_, Option<String>>(5)?.unwrap_or_default();
                let message = reference.strip_prefix(&format!("{session}/")).unwrap_or(&reference).to_owned();
                Hit { message: Some(MessageHit { session, message, author: row.get(4)? }), ..bare }
            }
        };
        hits.push(Ranked { passage: *id, worth, hit });
    }
    Ok(hits)
}

/// Puts the best of what stands from `from` on in order, four times as many as wanted. Returns where the order ends.
fn sort_best(ranked: &mut [(u32, f32)], from: usize, wanted: usize) -> usize {
    let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0));
    let rest = &mut ranked[from..];
    let count = (wanted * 4).min(rest.len());
    if count < rest.len() {
        rest.select_nth_unstable_by(count, order);
    }
    rest[..count].sort_unstable_by(order);
    from + count
}

/// The parts of a score that are not zero; where the words are all that counts, they are always among them.
fn explained(field: &Field<'_>, id: u32) -> Vec<Part> {
    let product = !field.is_hybrid();
    let parts = PARTS
        .iter()
        .zip(field.parts(id))
        .filter(|(part, value)| *value != 0.0 || (product && **part == "relevance"));
    parts.map(|(part, value)| Part { part, value: round(f64::from(value)) }).collect()
}

fn why(field: &Field<'_>, id: u32) -> Vec<Why> {
    let mut why = Vec::new();
    let bits = field.matched[id as usize];
    if bits != 0 {
        let mut words: Vec<String> = Vec::new();
        for (index, term) in field.terms().iter().enumerate() {
            if bits & (1 << (index % 64)) != 0 && !words.contains(&term.shown) {
                words.push(term.shown.clone());
            }
        }
        why.push(Why { lane: "bm25", rank: 0, words, similarity: None });
    }
    if field.is_near(id) {
        let similarity = Some(round(f64::from(field.similarity(id))));
        why.push(Why { lane: "vectors", rank: 0, words: Vec::new(), similarity });
    }
    if field.recalled.contains_key(&id) {
        why.push(Why { lane: "graph", rank: 0, words: Vec::new(), similarity: None });
    }
    if why.is_empty() {
        why.push(Why { lane: "near", rank: 0, words: Vec::new(), similarity: None });
    }
    why
}

pub(super) fn passes(entry: &Entry, request: &Request) -> bool {
    let has = |wanted: &str| entry.tags.iter().any(|tag| tag.to_lowercase() == wanted.to_lowercase());
    (request.include_superseded || entry.superseded_at.is_none())
        && (request.include_archived || entry.archived_at.is_none())
        && request.r#type.is_none_or(|wanted| entry.r#type == wanted)
        && request.tags.iter().all(has)
}

pub(super) fn entry_hit(entry: Entry, worth: f64, relevance: f64, why: Vec<Why>, explain: Vec<Part>) -> Hit {
    Hit {
        kind: entry::KIND,
        id: entry.id.to_string(),
        text: snippet(&entry.content),
        score: shown(worth),
        relevance: round(relevance),
        at: entry.provenance.timestamp,
        why,
        entry: Some(EntryHit {
            number: entry.number,
            r#type: entry.r#type,
            tags: entry.tags,
            behavioral: entry.behavioral,
            superseded_by: entry.superseded_by,
        }),
        message: None,
        document: None,
        graph: None,
        item: None,
        task: None,
        explain,
    }
}

/// A score as it is shown: 0 to 1, growing with what a hit is worth.
fn shown(worth: f64) -> f64 {
    round(1.0 / (1.0 + (-worth).exp()))
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

/// The part of a chunk that has most of the question's words, from the start of a line.
fn excerpt(text: &str, field: &Field<'_>, id: u32) -> String {
    if text.chars().count() <= SNIPPET || field.matched[id as usize] == 0 {
        return snippet(text);
    }
    let mut end = 0;
    let lines: Vec<(usize, usize, u64)> = text
        .split_inclusive('\n')
        .map(|line| {
            let words = analyse::words(line, field.language());
            let terms = field.terms().iter().enumerate().filter(|(_, term)| words.contains(&term.term));
            let bits = terms.fold(0, |bits, (index, _)| bits | 1u64 << (index % 64));
            end += line.len();
            (end - line.len(), line.chars().count(), bits)
        })
        .collect();
    let has = |first: usize| {
        let (mut chars, mut bits) = (0, 0);
        for (_, length, found) in &lines[first..] {
            chars += length;
            if chars > SNIPPET {
                break;
            }
            bits |= found;
        }
        bits.count_ones()
    };
    let best = (0..lines.len()).max_by_key(|first| (has(*first), std::cmp::Reverse(*first))).unwrap_or(0);
    match lines.get(best) {
        Some((start, _, _)) if *start > 0 => snippet(&format!("…{}", &text[*start..])),
        _ => snippet(text),
    }
}
