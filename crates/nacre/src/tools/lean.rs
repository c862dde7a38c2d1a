//! Search answers as a model reads them: id, type, text, time and source of each hit, in few bytes: a hit without a type is a
//! fact. The scores and reasons are added if the call asks for them with `explain`.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::tool::Lens;
use crate::base::ids::{EntryId, ProjectName};
use crate::base::settings::Dialect;
use crate::base::text::visible;
use crate::records::graph::{Cite, GraphMatch, RecallResult};
use crate::search::{Hit, ScorePart, SearchResults, Why};

/// The answer of a search.
#[derive(Serialize, JsonSchema)]
pub(super) struct LeanAnswer {
    /// Best first.
    hits: Vec<LeanHit>,
    /// Standing instructions and preferences that may apply.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    standing: Vec<LeanHit>,
    /// Sources that could not be searched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    /// Why nothing was found, or what else to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Whether the session has been shown details of the infrastructure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(skip)]
    infrastructure_seen: bool,
}

/// One hit.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct LeanHit {
    /// The id that other tools accept. Documents and messages have none: `source` names them.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Absent for a fact, the most common type.
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    superseded_by: Option<EntryId>,
    /// A newer hit that contradicts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    newer: Option<String>,
    /// The things that it names and the repository no longer has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    stale: Vec<String>,
    #[serde(flatten)]
    #[schemars(skip)]
    details: Option<Details>,
    /// The fields of a design, instead of `text` and `time`.
    #[serde(flatten)]
    #[schemars(skip)]
    design: Map<String, Value>,
}

/// Everything else about a hit, for `explain`.
#[derive(Serialize)]
struct Details {
    full_id: String,
    score: f64,
    relevance: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    why: Vec<Why>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<ScorePart>,
}

impl LeanAnswer {
    pub(super) fn of_search(found: &SearchResults, lens: &Lens<'_>) -> LeanAnswer {
        let lean = |hits: &[Hit]| {
            let hits = hits.iter().map(|hit| (found.other_project(hit), hit));
            hits.map(|(project, hit)| LeanHit::of_hit(hit, project, found.with_provenance, lens)).collect()
        };
        LeanAnswer {
            hits: lean(&found.hits),
            standing: lean(&found.standing),
            missing: found.missing.clone(),
            note: found.note.clone(),
            infrastructure_seen: found.infrastructure_seen,
        }
    }

    pub(super) fn of_graph(recalled: &RecallResult, lens: &Lens<'_>) -> LeanAnswer {
        LeanAnswer {
            hits: recalled.known.iter().map(|known| LeanHit::of_known(known, lens)).collect(),
            standing: Vec::new(),
            missing: recalled.missing.clone(),
            note: recalled.note.clone(),
            infrastructure_seen: false,
        }
    }
}

impl LeanHit {
    fn of_hit(hit: &Hit, other: Option<&ProjectName>, with_provenance: bool, lens: &Lens<'_>) -> LeanHit {
        let Hit { kind, text, at, entry, message, document, graph, item, task, .. } = hit;
        let cited = graph.as_ref().and_then(|graph| graph.cites.first()).map(cite);
        let id = match entry {
            Some(entry) => Some(entry.number.to_string()),
            None => (graph.is_some() || task.is_some()).then(|| hit.id.clone()),
        };
        let r#type = match (entry, item) {
            (Some(entry), _) => entry.r#type.as_str(),
            (None, Some(item)) => item.item.as_str(),
            (None, None) => kind,
        };
        let source = match (document, message) {
            (Some(document), _) => {
                let [from, to] = document.lines;
                let project = item.as_ref().and(hit.project.as_ref()).map(|name| format!("{name}: "));
                let collection = document.collection.as_ref().map(|name| format!("{name}: "));
                let owner = project.or(collection).unwrap_or_default();
                Some(format!("{owner}{}:{from}-{to}", document.path))
            }
            (None, Some(message)) => {
                let author = message.author.as_ref().map(|author| format!(", {author}")).unwrap_or_default();
                Some(format!("session {}{author}", message.session))
            }
            (None, None) => cited,
        };
        let by = entry
            .as_ref()
            .filter(|_| with_provenance)
            .map(|entry| format!("{} in session {}", entry.source.as_str(), entry.session));
        let source = source.or(by);
        // An item names its project anyway.
        let other = other.filter(|_| item.is_none()).map(|name| format!("from project {name}"));
        let origin = hit.origin.mark().map(|origin| format!("origin {origin}"));
        let source = source
            .into_iter()
            .chain(other)
            .chain(origin)
            .reduce(|source, other| format!("{source}, {other}"));
        let details = lens.explain.then(|| Details {
            full_id: hit.id.clone(),
            score: hit.score,
            relevance: hit.relevance,
            why: hit.why.clone(),
            parts: hit.explain.clone(),
        });
        if let Some(design) = in_design(hit, lens.dialect) {
            let id = match lens.dialect {
                Dialect::Carapace => Some(hit.id.clone()),
                _ => id,
            };
            return LeanHit {
                id,
                r#type: Some(r#type.to_owned()),
                text: None,
                time: None,
                source: if entry.is_some() { None } else { source },
                superseded_by: entry.as_ref().and_then(|entry| entry.superseded_by.clone()),
                newer: hit.newer.as_ref().map(|newer| newer.id.clone()),
                stale: entry.as_ref().map(|entry| entry.stale.clone()).unwrap_or_default(),
                details,
                design,
            };
        }
        LeanHit {
            id,
            r#type: unless_fact(r#type),
            text: Some(visible(text).into_owned()),
            time: Some(lens.calendar.date(*at)),
            source,
            design: Map::new(),
            superseded_by: entry.as_ref().and_then(|entry| entry.superseded_by.clone()),
            newer: hit.newer.as_ref().map(|newer| newer.id.clone()),
            stale: entry.as_ref().map(|entry| entry.stale.clone()).unwrap_or_default(),
            details,
        }
    }

    fn of_known(known: &GraphMatch, lens: &Lens<'_>) -> LeanHit {
        let since = lens.calendar.date(known.since);
        let is_nanoclaw = lens.dialect == Dialect::Nanoclaw;
        let mut design = Map::new();
        if is_nanoclaw {
            design.insert("score".into(), known.score.into());
            design.insert("linked".into(), known.linked.into());
        }
        LeanHit {
            id: Some(known.id.clone()),
            r#type: unless_fact(known.kind),
            text: Some(if is_nanoclaw { known.notation.clone() } else { known.text.clone() }),
            time: Some(match known.until {
                Some(until) => format!("{since} to {}", lens.calendar.date(until)),
                None => since,
            }),
            source: known.cites.first().map(cite),
            superseded_by: None,
            newer: None,
            stale: Vec::new(),
            details: None,
            design,
        }
    }
}

/// Returns the fields of a hit as a design names them; `None`: the dialect has no names of its own for it.
fn in_design(hit: &Hit, dialect: Dialect) -> Option<Map<String, Value>> {
    let Hit { text, at, relevance, score, entry, document, .. } = hit;
    let text = visible(text);
    let fields = match (dialect, entry, document) {
        (Dialect::Carapace, Some(entry), _) => json!({
            "content": text,
            "behavioral": entry.behavioral,
            "tags": entry.tags,
            "created_at": at,
            "relevance_score": relevance,
            "provenance": { "session": entry.session, "source": entry.source.as_str(), "timestamp": at },
        }),
        (Dialect::Koshi, Some(entry), _) => json!({
            "content": text,
            "tags": entry.tags.iter().collect::<Vec<_>>().join(", "),
            "score": entry.reinforcement,
            "created_at": at,
            "last_hit_at": entry.last_hit_at,
            "source": entry.source.as_str(),
            "session_id": entry.session,
            "narrative_id": entry.narrative_id,
            "task_id": entry.task_id,
            "linked": hit.why.iter().any(|why| why.lane == "linked"),
            "archived": entry.past == Some("archived"),
        }),
        (Dialect::Nanoclaw, _, Some(document)) => json!({
            "text": text,
            "path": document.path,
            "startLine": document.lines[0],
            "endLine": document.lines[1],
            "score": score,
        }),
        _ => return None,
    };
    let Value::Object(fields) = fields else { return None };
    Some(fields.into_iter().filter(|(_, value)| !value.is_null()).collect())
}

fn unless_fact(r#type: &str) -> Option<String> {
    (r#type != "fact").then(|| r#type.to_owned())
}

fn cite(cite: &Cite) -> String {
    format!("{}:{}", cite.path, cite.line)
}
