//! The tools that search.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::caller::Actor;
use crate::base::frame::{self, one_line};
use crate::base::ids::{CollectionName, EntryId, ProjectName};
use crate::base::settings::Dialect;
use crate::base::{Calendar, Time};
use crate::group::JointRecall;
use crate::index::Scope;
use crate::records::entry::{EntryType, Source, Tags};
use crate::records::project::{self, live::LiveFile};
use crate::records::workspace::memory_file;
use crate::search::{self, SearchResults};
use crate::tools::call::{Call, ToolResult};
use crate::tools::lean::LeanAnswer;
use crate::tools::schema::output;
use crate::tools::status;
use crate::tools::tool::{Lens, Request};

/// Search everything remembered (memories, documents, facts) by words, type or tags. Use it first, and for open questions.
/// Without arguments it lists the newest memories.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchRequest {
    /// Names, nouns and synonyms.
    #[serde(default)]
    #[schemars(length(max = 20_000))]
    pub query: String,
    /// Only this type.
    pub r#type: Option<EntryType>,
    /// Only memories with all of these tags.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// Only memories written by: person, agent, conversation, extraction, narrative or migration.
    pub source: Option<Source>,
    /// Default entries, memory (documents) and graph (facts); sources: collections; items: projects and tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<Scope>,
    /// Only this collection.
    pub collection: Option<CollectionName>,
    /// Only what was written in this project.
    pub project: Option<ProjectName>,
    /// Include replaced memories.
    #[serde(default)]
    pub include_superseded: bool,
    /// Include archived memories.
    #[serde(default)]
    pub include_archived: bool,
    /// Include the session and source of each memory.
    #[serde(default)]
    pub include_provenance: bool,
    /// Most hits.
    #[schemars(range(min = 1, max = 100))]
    pub limit: Option<usize>,
    /// The time of the question, ISO 8601; default now.
    pub at: Option<Time>,
    /// Include scores and the reason for each hit.
    #[serde(default)]
    pub explain: bool,
    /// "my" and "I" mean the agent, not the user.
    #[serde(default)]
    pub of_agent: bool,
}

impl Request for SearchRequest {
    type Answer = SearchResults;
    const NAME: &str = "memory_search";
    const CROSSES_GROUPS: bool = true;
    const ADVANCED: &'static [&'static str] = &[
        "at",
        "collection",
        "explain",
        "include_archived",
        "include_provenance",
        "of_agent",
        "project",
        "source",
    ];
    const LEAN_OUTPUT: fn() -> Value = output::<LeanAnswer>;

    fn run(self, call: &mut Call<'_>) -> ToolResult<SearchResults> {
        let filtered = self.r#type.is_some() || self.source.is_some() || !self.tags.is_empty();
        let mut scope = match self.scope.is_empty() {
            true if self.collection.is_some() => vec![Scope::Sources],
            // Only entries have a type, tags and a source.
            true if filtered => vec![Scope::Entries],
            true => vec![Scope::Entries, Scope::Memory, Scope::Graph],
            false => self.scope,
        };
        if self.collection.is_some() && !scope.contains(&Scope::Sources) {
            scope.push(Scope::Sources);
        }
        // Documents are searched only by a query.
        let asked = !self.query.trim().is_empty();
        let (scope, missing) = if asked { call.follow_documents(scope) } else { (scope, None) };
        let mut unread_files = Vec::new();
        if scope.contains(&Scope::Items) {
            for file in [LiveFile::Tasks, LiveFile::Items] {
                unread_files.extend(call.follow_live(file)?);
            }
        }
        if let Some(name) = &self.project {
            call.read(|db| project::check(db, name))?;
        }
        let project = call.project()?;
        let request = search::Request {
            scope,
            project,
            only_project: self.project,
            collection: self.collection,
            r#type: self.r#type,
            tags: self.tags,
            source: self.source,
            include_superseded: self.include_superseded,
            include_archived: self.include_archived,
            limit: self.limit.unwrap_or_else(|| default_limit(call)),
            at: self.at.unwrap_or(call.caller.now),
            explain: self.explain,
            unasked: false,
            of_agent: self.of_agent,
            query: self.query.clone(),
        };
        let now = call.caller.now;
        let mut found = search::search(call.view(), &request)?;
        found.with_provenance = self.include_provenance || call.settings().dialect == Dialect::Carapace;
        found.missing.extend(missing);
        found.missing.extend(unread_files);
        found.missing.extend(status::damage_note(call.view()).map(str::to_owned));
        let shown = found.hits.iter().flat_map(|hit| {
            let own = hit.document.iter().filter(|document| document.collection.is_none());
            let cited = hit.graph.iter().flat_map(|graph| &graph.cites).map(|cite| cite.path.as_str());
            let size = hit.text.chars().count();
            own.map(|document| document.path.as_str()).chain(cited).map(move |path| (path, size))
        });
        let shown: Vec<(&str, usize)> = shown.collect();
        found.infrastructure_seen = call.note_seen(&shown);
        call.view().tell_search(&request.query, found.hits.len());
        if call.caller.actor == Actor::Agent {
            let entries = |hits: &[search::Hit]| {
                hits.iter().filter_map(|hit| hit.id.parse().ok()).collect::<Vec<EntryId>>()
            };
            let by_graph =
                |hit: &&search::Hit| hit.graph.is_some() && hit.why.iter().any(|why| why.lane == "graph");
            let graph = found.hits.iter().filter(by_graph).map(|hit| hit.id.clone()).collect();
            call.view().note_returned(entries(&found.hits).into_iter().chain(entries(&found.standing)));
            let uses = memory_file_uses(&found.hits, &self.query);
            memory_file::note_used(call.view(), &uses);
            if asked {
                let bump = call.settings().graph.activation_bump;
                let recalled = JointRecall { entries: entries(&found.hits), graph, at: now, bump };
                call.view().note_recalled(&self.query, recalled);
            }
        }
        Ok(found)
    }

    fn lean(answer: &SearchResults, lens: &Lens<'_>) -> Option<serde_json::Result<Value>> {
        Some(serde_json::to_value(LeanAnswer::of_search(answer, lens)))
    }

    fn say(answer: &SearchResults, calendar: &Calendar) -> String {
        let mut text = String::new();
        if answer.hits.is_empty() {
            let _ = writeln!(
                text,
                "Nothing found: {}.",
                answer.note.as_deref().unwrap_or("no stored text matches the query")
            );
        } else if let Some(note) = &answer.note {
            let _ = writeln!(text, "Note: {note}.");
        }
        for missing in &answer.missing {
            let _ = writeln!(text, "Missing: {missing}.");
        }
        // Standing instructions come after the hits, under a line of their own.
        let standing = answer.standing.iter().enumerate().map(|(place, hit)| (place == 0, hit));
        let readable = answer.worth_reading();
        for (first_standing, hit) in answer.hits[..readable].iter().map(|hit| (false, hit)).chain(standing) {
            if first_standing {
                text.push_str("Standing instructions and preferences that may apply:\n");
            }
            let project = answer.other_project(hit).filter(|_| hit.item.is_none());
            let project = project.map(|name| format!(", from project {}", one_line(name.as_str())));
            let project = project.unwrap_or_default();
            let stale = hit.entry.as_ref().map(|entry| frame::stale(&entry.stale)).unwrap_or_default();
            let date = calendar.date(hit.at) + &project + &stale;
            let line = one_line(&hit.text);
            if let Some(entry) = &hit.entry {
                let by = answer.with_provenance.then(|| {
                    let session = one_line(entry.session.as_str());
                    format!(", by {} in session {session}", entry.source.as_str())
                });
                let by = by.unwrap_or_default();
                let _ = write!(text, "[id:{}] [{}] {line} ({date}{by})", entry.number, entry.r#type);
                for tag in entry.tags.iter() {
                    let _ = write!(text, " #{}", tag.replace(' ', "_"));
                }
                match (&entry.superseded_by, entry.past) {
                    (Some(newer), _) => {
                        let _ = write!(text, " superseded by {newer}");
                    }
                    (None, Some(past)) => {
                        let _ = write!(text, " {past}");
                    }
                    (None, None) => {}
                }
            }
            if let Some(message) = &hit.message {
                let author = message.author.as_deref().map(one_line).unwrap_or_default();
                let session = one_line(&message.session);
                let _ = write!(text, "[session {session}] {author}: {line} ({}{project})", hit.at);
            }
            if hit.graph.is_some() {
                let _ = write!(text, "[{}] {line} ({date})", hit.id);
            }
            if let (Some(item), Some(document)) = (&hit.item, &hit.document) {
                let (path, kind) = (one_line(&document.path), item.item.as_str());
                let project = hit.project.as_ref().map(|name| one_line(name.as_str())).unwrap_or_default();
                let _ = write!(text, "[{project}: {path}:{}] [{kind}] {line}", document.lines[0]);
            } else if let Some(task) = &hit.task {
                let _ = write!(text, "[{}] [{}] {line}", hit.id, task.status.as_str());
            } else if let Some(document) = &hit.document {
                let (path, [from, to]) = (one_line(&document.path), document.lines);
                let of = document.collection.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
                let _ = write!(text, "[{of}{path}:{from}-{to}] {line} ({date})");
            }
            if let Some(origin) = hit.origin.mark() {
                let _ = write!(text, " [origin {origin}]");
            }
            if let Some(newer) = &hit.newer {
                let _ = write!(text, " (older than [{}], {})", one_line(&newer.id), calendar.date(newer.at));
            }
            text.push('\n');
        }
        match answer.hits.len() - readable {
            0 => {}
            1 => text.push_str("1 weaker hit is left out.\n"),
            weaker => {
                let _ = writeln!(text, "{weaker} weaker hits are left out.");
            }
        }
        text.truncate(text.trim_end().len());
        text
    }
}

/// Returns how many hits a search gives by default.
fn default_limit(call: &Call<'_>) -> usize {
    let settings = &call.settings().search;
    match call.caller.actor {
        Actor::Agent => settings.agent_limit,
        Actor::Person | Actor::Nacre => settings.limit,
    }
}

/// Returns the lines of MEMORY.md among the hits.
fn memory_file_uses<'q>(hits: &[search::Hit], words: &'q str) -> Vec<memory_file::LineUse<'q>> {
    let documents = hits.iter().filter_map(|hit| hit.document.as_ref());
    let own = documents.filter(|found| found.collection.is_none() && found.path == memory_file::PATH);
    let cites = hits.iter().filter_map(|hit| hit.graph.as_ref()).flat_map(|hit| &hit.cites);
    let cited = cites.filter(|cite| cite.path == memory_file::PATH).map(|cite| [cite.line, cite.line]);
    own.map(|found| found.lines).chain(cited).map(|lines| memory_file::LineUse { lines, words }).collect()
}

/// Recall memories by keywords: nouns and synonyms, not a question. If the hits are not enough, ask again with other words.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryRequest {
    /// Keywords.
    #[schemars(length(min = 1, max = 20_000))]
    pub query: String,
    /// Most hits.
    #[schemars(range(min = 1, max = 100))]
    pub limit: Option<usize>,
    /// Only memories written by: person, agent, conversation, extraction, narrative or migration.
    pub source: Option<Source>,
    /// Include archived memories.
    #[serde(default)]
    pub include_archived: bool,
}

impl Request for QueryRequest {
    type Answer = SearchResults;
    const NAME: &str = "memory_query";
    const ADVANCED: &'static [&'static str] = &["include_archived", "source"];
    const LEAN_OUTPUT: fn() -> Value = output::<LeanAnswer>;

    fn run(self, call: &mut Call<'_>) -> ToolResult<SearchResults> {
        let QueryRequest { query, limit, source, include_archived } = self;
        SearchRequest { query, limit, source, include_archived, ..SearchRequest::default() }.run(call)
    }

    fn lean(answer: &SearchResults, lens: &Lens<'_>) -> Option<serde_json::Result<Value>> {
        SearchRequest::lean(answer, lens)
    }

    fn say(answer: &SearchResults, calendar: &Calendar) -> String {
        SearchRequest::say(answer, calendar)
    }
}
