//! Search answers as a model reads them: id, type, text, time and source of each hit, in few bytes: a hit without a type is a
//! fact. The scores and reasons are added if the call asks for them with `explain`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::Calendar;
use crate::base::ids::{EntryId, ProjectName};
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
    text: String,
    time: String,
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
    pub(super) fn of_search(found: &SearchResults, calendar: &Calendar, explain: bool) -> LeanAnswer {
        let lean = |hits: &[Hit]| {
            let hits = hits.iter().map(|hit| (found.other_project(hit), hit));
            hits.map(|(project, hit)| LeanHit::of_hit(hit, project, calendar, explain)).collect()
        };
        LeanAnswer {
            hits: lean(&found.hits),
            standing: lean(&found.standing),
            missing: found.missing.clone(),
            note: found.note.clone(),
            infrastructure_seen: found.infrastructure_seen,
        }
    }

    pub(super) fn of_graph(recalled: &RecallResult, calendar: &Calendar) -> LeanAnswer {
        LeanAnswer {
            hits: recalled.known.iter().map(|known| LeanHit::of_known(known, calendar)).collect(),
            standing: Vec::new(),
            missing: recalled.missing.clone(),
            note: recalled.note.clone(),
            infrastructure_seen: false,
        }
    }
}

impl LeanHit {
    fn of_hit(hit: &Hit, other: Option<&ProjectName>, calendar: &Calendar, explain: bool) -> LeanHit {
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
        // An item names its project anyway.
        let other = other.filter(|_| item.is_none()).map(|name| format!("from project {name}"));
        let origin = hit.origin.mark().map(|origin| format!("origin {origin}"));
        let source = source
            .into_iter()
            .chain(other)
            .chain(origin)
            .reduce(|source, other| format!("{source}, {other}"));
        let details = explain.then(|| Details {
            full_id: hit.id.clone(),
            score: hit.score,
            relevance: hit.relevance,
            why: hit.why.clone(),
            parts: hit.explain.clone(),
        });
        LeanHit {
            id,
            r#type: unless_fact(r#type),
            text: visible(text).into_owned(),
            time: calendar.date(*at),
            source,
            superseded_by: entry.as_ref().and_then(|entry| entry.superseded_by.clone()),
            newer: hit.newer.as_ref().map(|newer| newer.id.clone()),
            stale: entry.as_ref().map(|entry| entry.stale.clone()).unwrap_or_default(),
            details,
        }
    }

    fn of_known(known: &GraphMatch, calendar: &Calendar) -> LeanHit {
        let since = calendar.date(known.since);
        LeanHit {
            id: Some(known.id.clone()),
            r#type: unless_fact(known.kind),
            text: known.text.clone(),
            time: match known.until {
                Some(until) => format!("{since} to {}", calendar.date(until)),
                None => since,
            },
            source: known.cites.first().map(cite),
            superseded_by: None,
            newer: None,
            stale: Vec::new(),
            details: None,
        }
    }
}

fn unless_fact(r#type: &str) -> Option<String> {
    (r#type != "fact").then(|| r#type.to_owned())
}

fn cite(cite: &Cite) -> String {
    format!("{}:{}", cite.path, cite.line)
}
