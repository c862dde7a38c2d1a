//! A hit: one search result as it is shown, and how it is read from its rows.

use schemars::JsonSchema;
use serde::Serialize;

use super::part::Part;
use super::request::Request;
use super::score::Scorer;
use crate::base::ids::{CollectionName, EntryId, ProjectName, SessionId};
use crate::base::origin::RecordOrigin;
use crate::base::redact::redact;
use crate::base::{Result, Time};
use crate::index::embed::builtin;
use crate::index::{Scope, analyse};
use crate::records::entry::{self, Entry, EntryType, Source, Tags};
use crate::records::graph;
use crate::records::project::{ItemType, ProjectItem, Status, item, task};
use crate::records::session::{exchange, said};
use crate::store::Row;

/// The maximum number of characters of a hit that are shown.
const MAX_SNIPPET_CHARS: usize = 700;

/// One search result.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the field names explain themselves")]
pub struct Hit {
    pub kind: &'static str,
    pub id: String,
    pub text: String,
    /// How likely it is relevant, 0 to 1; never higher than that of a hit above it.
    pub score: f64,
    /// The share of the question that it matches, 0 to 1.
    pub relevance: f64,
    /// Absent for a document without a date.
    #[serde(skip_serializing_if = "Time::is_undated")]
    pub at: Time,
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub why: Vec<Why>,
    /// Its origin.
    #[schemars(skip)]
    pub origin: RecordOrigin,
    /// The hit that contradicts it and is newer, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub newer: Option<NewerHit>,
    /// Set for an entry.
    #[serde(flatten)]
    pub entry: Option<EntryHit>,
    /// Set for a message.
    #[serde(flatten)]
    pub message: Option<MessageHit>,
    /// Set for a document.
    #[serde(flatten)]
    pub document: Option<DocumentHit>,
    /// Set for a fact or relation.
    #[serde(flatten)]
    pub graph: Option<GraphHit>,
    /// Set for an item of a project.
    #[serde(flatten)]
    #[schemars(skip)]
    pub item: Option<ItemHit>,
    /// Set for a task.
    #[serde(flatten)]
    #[schemars(skip)]
    pub task: Option<TaskHit>,
    /// The project in which it was written, or from whose files it was extracted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub project: Option<ProjectName>,
    /// The parts of the sum by which hits are ordered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub explain: Vec<ScorePart>,
}

/// A newer hit that contradicts an older one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct NewerHit {
    /// `id:4` for a memory, otherwise the id of the hit.
    pub id: String,
    /// Its time.
    pub at: Time,
}

/// The fields that an entry adds to its hit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the field names explain themselves")]
pub struct EntryHit {
    pub number: i64,
    pub r#type: EntryType,
    pub tags: Tags,
    pub behavioral: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<EntryId>,
    /// Why it is not current, if it is not: `superseded` or `archived`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub past: Option<&'static str>,
    /// The things that it names and the repository of its project no longer has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub stale: Vec<String>,
    /// The session that wrote it.
    pub session: SessionId,
    pub source: Source,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub narrative_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Its reinforcement. `score` of the hit is its rank.
    pub reinforcement: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_hit_at: Option<Time>,
}

/// The fields that a message adds to its hit: the ids it was imported with.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the field names explain themselves")]
pub struct MessageHit {
    pub session: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
}

/// The fields that a document adds to its hit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the field names explain themselves")]
pub struct DocumentHit {
    /// Its collection; absent for a document of the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<CollectionName>,
    pub path: String,
    /// The first and the last line, from 1.
    pub lines: [i64; 2],
    /// The line that matches best, if documents are ranked by the line.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) line: Option<BestLine>,
}

/// The line of a document that matches best.
#[derive(Clone, Debug)]
pub(crate) struct BestLine {
    /// The line behind its headings.
    pub(crate) text: String,
    /// Lines of later logs on the same matter, each behind its date.
    pub(crate) later: Vec<String>,
}

/// The fields that a fact or relation adds to its hit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GraphHit {
    /// The lines that state it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub cites: Vec<graph::Cite>,
}

/// The fields that an item adds to its hit, besides the file and the line.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the field names explain themselves")]
pub struct ItemHit {
    /// Its type: `entity`, `claim`, `task`, `decision` or `note`.
    pub item: ItemType,
    pub title: String,
    pub confidence: f64,
}

/// The fields that a task adds to its hit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the field names explain themselves")]
pub struct TaskHit {
    pub status: Status,
    pub priority: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milestone: Option<String>,
}

/// Why a passage is a hit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Why {
    /// The retriever that found it: `bm25`, `vectors`, `graph`, `near` (a neighbour of a hit), `linked`
    /// (often returned with a hit), or `recent` for an empty query.
    pub lane: &'static str,
    /// Its position in the answer, from 1.
    pub rank: usize,
    /// The words of the question that it contains.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// The similarity of its meaning to the question's, up to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
}

/// A part of a score, as it is shown.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "a name and a number")]
pub struct ScorePart {
    pub part: &'static str,
    pub value: f64,
}

redact! {
    Hit {
        id, text, why, newer, entry, message, document, graph, item, task, project
        / kind, score, relevance, at, origin, explain
    }
    NewerHit { id / at }
    EntryHit {
        tags, superseded_by, stale, session, narrative_id, task_id
        / number, r#type, behavioral, past, source, reinforcement, last_hit_at
    }
    MessageHit { session, message, author }
    DocumentHit { collection, path, line / lines }
    BestLine { text, later }
    GraphHit { cites }
    ItemHit { title / item, confidence }
    TaskHit { milestone / status, priority }
    Why { words / lane, rank, similarity }
}

/// A hit in the ranking, with the data that the final order depends on.
pub(super) struct Contender {
    pub(super) passage: u32,
    pub(super) worth: f64,
    pub(super) hit: Hit,
    /// The whole text and the title of its passage.
    pub(super) text: String,
    pub(super) title: String,
    /// The number of its session, and its position there.
    pub(super) place: Option<(i64, i64)>,
    /// The terms of the question that it contains, one bit each.
    pub(super) matched: u64,
    /// Its lines that the graph knows to be replaced, each with the passage that replaced it.
    pub(super) replaced: Vec<(i64, u32)>,
}

impl NewerHit {
    pub(crate) fn of(hit: &Hit) -> NewerHit {
        let id = hit.entry.as_ref().map_or_else(|| hit.id.clone(), |entry| format!("id:{}", entry.number));
        NewerHit { id, at: hit.at }
    }
}

impl Contender {
    /// Changes its worth, for a reason that `--explain` shows.
    pub(super) fn change(&mut self, part: &'static str, by: f64) {
        self.worth += by;
        // Empty if no explanation was requested.
        if !self.hit.explain.is_empty() {
            self.hit.explain.push(ScorePart { part, value: round(by) });
        }
    }
}

/// The reasons for a hit and its place.
#[derive(Default)]
pub(super) struct Evidence {
    worth: f64,
    relevance: f64,
    why: Vec<Why>,
    explain: Vec<ScorePart>,
}

impl Evidence {
    /// Returns the evidence for a hit that was not scored.
    pub(super) fn of_retriever(lane: &'static str, worth: f64) -> Evidence {
        Evidence { worth, why: vec![Why::of_retriever(lane)], ..Evidence::default() }
    }

    fn of_passage(scorer: &Scorer<'_>, id: u32, score: f32, explain: bool) -> Evidence {
        Evidence {
            worth: f64::from(score),
            relevance: f64::from(scorer.coverage[id as usize].max(scorer.similarity(id))).clamp(0.0, 1.0),
            why: why(scorer, id),
            explain: if explain { explained(scorer, id) } else { Vec::new() },
        }
    }
}

impl Why {
    fn of_retriever(lane: &'static str) -> Why {
        Why { lane, rank: 0, words: Vec::new(), similarity: None }
    }
}

impl Hit {
    pub(super) fn of_entry(entry: Entry, evidence: Evidence) -> Hit {
        // Whole: an agent may have no other tool to read the rest with.
        let (text, past, project) = (entry.content.clone(), entry.past(), entry.provenance.project.clone());
        let bare = Hit::bare(entry::KIND, entry.id.to_string(), text, entry.provenance.timestamp, evidence);
        Hit {
            origin: entry.origin,
            entry: Some(EntryHit {
                number: entry.number,
                r#type: entry.r#type,
                tags: entry.tags,
                behavioral: entry.behavioral,
                past,
                superseded_by: entry.superseded_by,
                stale: entry.stale,
                session: entry.provenance.session,
                source: entry.provenance.source,
                narrative_id: entry.provenance.narrative_id,
                task_id: entry.provenance.task_id,
                reinforcement: entry.score,
                last_hit_at: entry.last_hit_at,
            }),
            project,
            ..bare
        }
    }

    /// Returns a hit without the fields of its kind.
    fn bare(kind: &'static str, id: String, text: String, at: Time, evidence: Evidence) -> Hit {
        Hit {
            kind,
            id,
            text,
            score: shown(evidence.worth),
            relevance: round(evidence.relevance),
            at,
            why: evidence.why,
            origin: RecordOrigin::default(),
            newer: None,
            entry: None,
            message: None,
            document: None,
            graph: None,
            item: None,
            task: None,
            project: None,
            explain: evidence.explain,
        }
    }
}

/// How much of a chunk a hit shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkExtent {
    /// The part that matches best.
    Excerpt,
    /// All of it, because its lines are ranked.
    Whole,
}

/// Loads the `wanted` best of the scored passages. Filters that need the rows are applied here, so it
/// continues until there are enough.
pub(super) fn load(
    scorer: &Scorer<'_>,
    scored: &mut [(u32, f32)],
    wanted: usize,
    request: &Request,
    shown: ChunkExtent,
) -> Result<Vec<Contender>> {
    let sql =
        "SELECT kind, ref, text, passages.at, author, sessions.id, first_line, last_line, sessions.project, title, session, seq,
            passages.origin, sessions.origin
        FROM passages LEFT JOIN sessions ON sessions.number = passages.session WHERE passages.id = $1";
    let mut found = Vec::new();
    let mut sorted = 0;
    for place in 0..scored.len() {
        if found.len() >= wanted {
            break;
        }
        // Only the best are sorted; more of them if filters leave too few.
        if place == sorted {
            sorted = sort_best(scored, sorted, wanted);
        }
        let (passage, score) = scored[place];
        let hit = scorer.corpus.db.row(sql, [passage], |row| {
            let evidence = Evidence::of_passage(scorer, passage, score, request.explain);
            let Some(hit) = read(row, scorer, passage, evidence, request, shown)? else { return Ok(None) };
            let session: Option<i64> = row.get(10)?;
            Ok(Some(Contender {
                passage,
                worth: f64::from(score),
                hit,
                text: row.get(2)?,
                title: row.get(9)?,
                place: session.zip(row.get(11)?),
                matched: scorer.matched[passage as usize],
                replaced: scorer.replaced.get(&passage).cloned().unwrap_or_default(),
            }))
        })?;
        let is_wanted = |found: &Contender| request.admits_project(found.hit.project.as_ref());
        found.extend(hit.flatten().filter(is_wanted));
    }
    Ok(found)
}

/// Reads the hit of a passage from its row, unless a filter drops it.
fn read(
    row: &Row<'_>,
    scorer: &Scorer<'_>,
    passage: u32,
    evidence: Evidence,
    request: &Request,
    shown: ChunkExtent,
) -> Result<Option<Hit>> {
    let db = scorer.corpus.db;
    let kind: String = row.get(0)?;
    let reference: String = row.get(1)?;
    if kind == entry::KIND {
        let entry = entry::get_all(db, [reference.as_str()])?.pop();
        let entry = entry.filter(|entry| request.admits(entry));
        return Ok(entry.map(|entry| Hit::of_entry(entry, evidence)));
    }
    if request.is_for_entries() {
        return Ok(None);
    }
    let text: String = row.get(2)?;
    let shown_kind = if kind == exchange::KIND { exchange::KIND } else { "message" };
    let origin =
        row.get::<RecordOrigin>(12)?.weakest(row.get::<Option<_>>(13)?.unwrap_or(RecordOrigin::Person));
    if request.unasked && origin == RecordOrigin::Untrusted {
        return Ok(None);
    }
    let bare =
        Hit { origin, ..Hit::bare(shown_kind, reference.clone(), snippet(&text), row.get(3)?, evidence) };
    if kind == item::KIND {
        let item = item::get(db, &reference)?;
        return Ok(item.map(|item| of_item(bare, item)));
    }
    if kind == task::KIND {
        let task = task::get(db, reference.parse()?)?;
        let task = TaskHit { status: task.status, priority: task.priority, milestone: task.milestone };
        return Ok(Some(Hit { kind: task::KIND, task: Some(task), ..bare }));
    }
    if kind == "chunk" {
        let path = reference.rsplit_once('#').map_or(reference.as_str(), |(path, _)| path).to_owned();
        let [first, last]: [i64; 2] = [row.get(6)?, row.get(7)?];
        let id = format!("{path}#L{first}-L{last}");
        let collection = scorer.corpus.collection.cloned();
        let document = Some(DocumentHit { collection, path, lines: [first, last], line: None });
        let text = if shown == ChunkExtent::Whole { text } else { excerpt(&text, scorer, passage) };
        return Ok(Some(Hit { kind: "document", id, text, document, ..bare }));
    }
    if let Some((kind, cites)) = graph::cites_of(db, &kind, &reference)? {
        // A fact extracted from a document is found in the document, by the line that says it, unless it is a rule. Where
        // documents are not ranked by the line, the graph may also answer with it.
        let documents = request.scope.contains(&Scope::Memory) && !scorer.is_words_alone();
        let is_answer = !scorer.ranks_lines() && scorer.recalled.contains_key(&passage);
        // A message is cited without a line.
        let is_hidden = documents && cites.iter().any(|cite| cite.line > 0) && !is_answer;
        if is_hidden && !graph::fact::is_rule(db, &reference)? {
            return Ok(None);
        }
        return Ok(Some(Hit { kind, graph: Some(GraphHit { cites }), ..bare }));
    }
    let session: String = row.text(5)?.to_owned();
    let message = reference.strip_prefix(&format!("{session}/")).unwrap_or(&reference).to_owned();
    let message = Some(MessageHit { session, message, author: row.get(4)? });
    Ok(Some(Hit { message, project: row.get(8)?, ..bare }))
}

fn of_item(bare: Hit, ProjectItem { item, project }: ProjectItem) -> Hit {
    let lines = [item.line_number; 2];
    Hit {
        kind: item::KIND,
        document: Some(DocumentHit { collection: None, path: item.source_file, lines, line: None }),
        item: Some(ItemHit { item: item.r#type, title: item.title, confidence: item.confidence }),
        project: Some(project),
        ..bare
    }
}

/// Sorts the best from `from` on, four times as many as wanted. Returns the end of the sorted part.
fn sort_best(scored: &mut [(u32, f32)], from: usize, wanted: usize) -> usize {
    let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0));
    let rest = &mut scored[from..];
    let count = (wanted * 4).min(rest.len());
    if count < rest.len() {
        rest.select_nth_unstable_by(count, order);
    }
    rest[..count].sort_unstable_by(order);
    from + count
}

/// Returns the parts of a score that are not zero. Relevance is always included when it replaces structure.
fn explained(scorer: &Scorer<'_>, id: u32) -> Vec<ScorePart> {
    let is_shown = |part: Part, value: f32| value != 0.0 || (part == Part::Relevance && !scorer.is_hybrid());
    let parts = scorer.parts(id);
    let parts = parts.iter().filter(|(part, value)| is_shown(*part, *value));
    parts.map(|(part, value)| ScorePart { part: part.name(), value: round(f64::from(value)) }).collect()
}

fn why(scorer: &Scorer<'_>, id: u32) -> Vec<Why> {
    let mut why = Vec::new();
    let bits = scorer.matched[id as usize];
    if bits != 0 {
        let mut words: Vec<String> = Vec::new();
        for (index, term) in scorer.terms().iter().enumerate() {
            if bits & (1 << (index % 64)) != 0 && !words.contains(&term.shown) {
                words.push(term.shown.clone());
            }
        }
        why.push(Why { words, ..Why::of_retriever("bm25") });
    }
    if scorer.is_near(id) {
        let similarity = Some(round(f64::from(scorer.similarity(id))));
        why.push(Why { similarity, ..Why::of_retriever("vectors") });
    }
    if scorer.recalled.contains_key(&id) {
        why.push(Why::of_retriever("graph"));
    }
    if why.is_empty() {
        why.push(Why::of_retriever("near"));
    }
    why
}

/// Returns a score as it is shown: 0 to 1, monotonic in the hit's raw score.
fn shown(worth: f64) -> f64 {
    round(1.0 / (1.0 + (-worth).exp()))
}

pub(super) fn round(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

fn snippet(text: &str) -> String {
    match text.char_indices().nth(MAX_SNIPPET_CHARS - 1) {
        Some((end, _)) if text[end..].chars().nth(1).is_some() => format!("{}…", &text[..end]),
        _ => text.to_owned(),
    }
}

/// Returns the part of a chunk that matches the question best, in whole sentences and lines: the first ones with most
/// words of the question, or, without such words, those from the one that is nearest in meaning.
fn excerpt(text: &str, scorer: &Scorer<'_>, id: u32) -> String {
    if text.chars().count() <= MAX_SNIPPET_CHARS {
        return text.to_owned();
    }
    let parts = said::sentences(text);
    let start = |part: usize| parts[part].as_ptr() as usize - text.as_ptr() as usize;
    let end = |part: usize| start(part) + parts[part].len();
    // The part behind the last one that fits. One part is shown whole, however long it is.
    let until = |first: usize| {
        let fits = |part: &usize| text[start(first)..end(*part)].chars().count() <= MAX_SNIPPET_CHARS;
        (first + 1..parts.len()).take_while(fits).last().unwrap_or(first) + 1
    };
    let best = if scorer.matched[id as usize] == 0 {
        let question = builtin::embed_weighted(&scorer.question().text, |_| 1.0);
        let nearness = |part: usize| builtin::embed_weighted(parts[part], |_| 1.0).dot(&question);
        (0..parts.len()).max_by(|one, other| nearness(*one).total_cmp(&nearness(*other)))
    } else {
        let bits: Vec<u64> = parts
            .iter()
            .map(|part| scorer.question().bits(&analyse::words(part, scorer.language())))
            .collect();
        let has =
            |first: usize| bits[first..until(first)].iter().fold(0, |all, bits| all | bits).count_ones();
        (0..parts.len()).max_by_key(|first| (has(*first), std::cmp::Reverse(*first)))
    };
    let Some(first) = best else { return snippet(text) };
    let last = until(first) - 1;
    let [before, after] = [first > 0, last + 1 < parts.len()].map(|is_cut| if is_cut { "…" } else { "" });
    format!("{before}{}{after}", &text[start(first)..end(last)])
}
