//! The tools of entries: store, search, get, update, rate, delete; and the brief.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::mem::take;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::call::{Call, Ran, Write};
use super::conflict::say_contradictions;
use super::files::{self, FileShown};
use super::lean::LeanAnswer;
use super::limits::Action;
use super::schema;
use super::tool::Request;
use crate::base::caller::Actor;
use crate::base::frame::one_line;
use crate::base::ids::{CollectionName, EntryId, EntryRef, ProjectName};
use crate::base::redact::{Redact, redact};
use crate::base::settings::DefaultType;
use crate::base::{Calendar, Error, Result, Time};
use crate::context::brief::{self, Brief, MadeBy};
use crate::group::JointRecall;
use crate::group::View;
use crate::index::Scope;
use crate::records::collection;
use crate::records::collection::Collection;
use crate::records::conflict::{self, StatementRef};
use crate::records::entry::{self, Draft, Edit, Entry, EntryType, ErasedEntry, OnDuplicate, Tags, Version};
use crate::records::project;
use crate::records::workspace::checkpoint::DeletedRecord;
use crate::records::workspace::memory_file;
use crate::records::{erase, import};
use crate::search::{self, Contradiction, SearchResults};
use crate::store::Connection;

/// Remember one statement across sessions: a preference, instruction, correction, context or fact. Use fact_upsert instead
/// for a name-key-value that has exactly one current value; never both.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoreRequest {
    /// One self-contained statement.
    #[schemars(length(min = 1, max = 2000))]
    pub content: String,
    /// Default fact.
    pub r#type: Option<EntryType>,
    /// Keywords.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// Id of the memory that this one replaces.
    pub supersedes: Option<EntryRef>,
    /// Hide it from shared sessions.
    pub private: Option<bool>,
    /// The project it belongs to; default the one you work in.
    pub project: Option<ProjectName>,
}

/// The result of a store.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Stored {
    pub id: EntryId,
    pub number: i64,
    pub r#type: EntryType,
    pub behavioral: bool,
    /// The memory that already has this content. No second one was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<EntryId>,
    /// A current memory with nearly the same content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resembles: Option<EntryId>,
    /// Current statements that say otherwise about the same thing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub contradicts: Vec<Contradiction>,
    /// Whether the existing memory got the type, tags or privacy of this call.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(skip)]
    pub amended: bool,
    /// The memory that this one replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded: Option<EntryId>,
    /// A remark for the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

redact! {
    Stored { id, duplicate_of, resembles, contradicts, superseded, note / number, r#type, behavioral, amended }
}

/// The fields that a schema for agents names. The answer has more.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "a schema")]
struct StoredFields {
    number: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate_of: Option<EntryId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resembles: Option<EntryId>,
}

impl Request for StoreRequest {
    type Answer = Stored;
    const NAME: &str = "memory_store";
    const TYPED: bool = true;
    const ADVANCED: &'static [&'static str] = &["project"];
    const LEAN_OUTPUT: fn() -> Value = schema::output::<StoredFields>;

    fn steers(&self, view: &View<'_>) -> Result<bool> {
        let r#type = self.r#type.unwrap_or_else(|| default_type(view.settings().entries.default_type));
        Ok(r#type.behavioral() || self.supersedes.as_ref().is_some_and(|old| is_behavioral(view, old)))
    }

    fn with_place(mut self, view: &View<'_>) -> Result<StoreRequest> {
        if self.project.is_none() && self.supersedes.is_none() {
            self.project = view.read(|db| project::current::of_caller(db, view.caller()))?;
        }
        Ok(self)
    }

    fn loses(&self, view: &View<'_>) -> Result<Option<String>> {
        self.supersedes.as_ref().map(|old| content(view, old)).transpose()
    }

    fn run(self, call: &mut Call<'_>) -> Ran<Stored> {
        check_tags("memory_store", &self.tags)?;
        let r#type = match self.r#type {
            Some(given) => given,
            None => default_type(call.settings().entries.default_type),
        };
        let least = call.settings().entries.resemblance;
        // Looked up before the write, so that other writers do not wait for it.
        let resembles = call.read(|db| search::resembling(db, &self.content, least))?;
        let skip: Vec<String> = match &self.supersedes {
            Some(old) => call.read(|db| Ok(vec![entry::get(db, old)?.id.to_string()]))?,
            None => Vec::new(),
        };
        let contradicts = call.read(|db| search::contradicting(db, &self.content, &skip))?;
        let holds_secret = matches!(crate::base::redact::text(&self.content), Cow::Owned(_));
        if let Some(old) = &self.supersedes {
            call.check_seen(old)?;
        }
        let (content, tags, supersedes, private) = (self.content, self.tags, self.supersedes, self.private);
        // An untrusted session changes no entry that it did not write.
        let on_duplicate = match call.caller.untrusted {
            true => OnDuplicate::Keep,
            false => OnDuplicate::Amend { r#type: self.r#type },
        };
        let draft = Draft { r#type, content, tags, supersedes, private, data: None, on_duplicate };
        let project = self.project;
        let stored = call.write(|write| {
            if let Some(name) = project {
                write.origin.project = entry::Place::Named(name);
            }
            let stored = entry::store(write.db, &write.origin, draft)?;
            if !stored.duplicate {
                write.spend(Action::Store)?;
            }
            if !stored.duplicate || stored.amended {
                write.record(&stored.entry.id, "chars", stored.entry.content.chars().count());
            }
            if !stored.duplicate {
                record_conflicts(write, &stored.entry, &contradicts)?;
            }
            match &stored.superseded {
                Some(old) => {
                    write.spend(Action::Supersede)?;
                    write.record(old, "superseded", 1);
                }
                None if stored.duplicate && !stored.amended => write.unchanged(),
                None => {}
            }
            Ok(stored)
        })?;
        let entry = stored.entry;
        if !stored.duplicate || stored.amended {
            let delta = entry.content.chars().count();
            call.view().tell_write("entry", entry.id.as_str(), delta);
        }
        let note = holds_secret.then(|| {
            "it seems to contain a credential, which is shown masked and can't be searched".to_owned()
        });
        let known = |other: &EntryId| *other != entry.id && Some(other) != stored.superseded.as_ref();
        Ok(Stored {
            duplicate_of: stored.duplicate.then(|| entry.id.clone()),
            resembles: resembles.filter(|other| !stored.duplicate && known(other)),
            contradicts: if stored.duplicate { Vec::new() } else { contradicts },
            amended: stored.amended,
            superseded: stored.superseded,
            id: entry.id,
            number: entry.number,
            r#type: entry.r#type,
            behavioral: entry.behavioral,
            note,
        })
    }

    fn say(answer: &Stored, calendar: &Calendar) -> String {
        let mut text = match &answer.duplicate_of {
            Some(_) if answer.amended => {
                format!(
                    "Already remembered as [id:{}]. Its type, tags or privacy were updated.",
                    answer.number
                )
            }
            Some(_) => format!("Already remembered as [id:{}].", answer.number),
            None => format!("Stored as [id:{}] ({}).", answer.number, answer.r#type),
        };
        if let Some(old) = &answer.superseded {
            let _ = write!(text, " It supersedes {old}.");
        }
        if let Some(other) = &answer.resembles {
            let _ = write!(
                text,
                " It resembles {other}: if it replaces that one, store it again with supersedes, or delete one of them."
            );
        }
        text.push_str(&say_contradictions(&answer.contradicts, calendar));
        if let Some(note) = &answer.note {
            let _ = write!(text, " Note: {note}.");
        }
        text
    }
}

/// Records the conflicts of an entry in the transaction that writes it.
fn record_conflicts(write: &Write<'_>, entry: &Entry, found: &[Contradiction]) -> Result<()> {
    let later = StatementRef::new(entry.id.as_str(), &crate::base::redact::text(&entry.content));
    found.iter().try_for_each(|one| conflict::record(write.db, write.origin.now, &later, &one.statement))
}

/// Search everything remembered (memories, documents, facts) by words, type or tags. Use it first, and for open questions.
/// Without arguments it lists the newest memories.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchRequest {
    /// Names, nouns and synonyms.
    #[serde(default)]
    #[schemars(length(max = 2000))]
    pub query: String,
    /// Only this type.
    pub r#type: Option<EntryType>,
    /// Only memories with all of these tags.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
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
    const ACROSS: bool = true;
    const ADVANCED: &'static [&'static str] =
        &["at", "collection", "explain", "include_archived", "of_agent", "project"];
    const LEAN_OUTPUT: fn() -> Value = schema::output::<LeanAnswer>;

    fn run(self, call: &mut Call<'_>) -> Ran<SearchResults> {
        let filtered = self.r#type.is_some() || !self.tags.is_empty();
        let mut scope = match self.scope.is_empty() {
            true if self.collection.is_some() => vec![Scope::Sources],
            // Only entries have a type and tags.
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
        let caller = call.caller;
        let project = call.read(|db| {
            self.project.iter().try_for_each(|name| project::check(db, name))?;
            project::current::of_caller(db, caller)
        })?;
        let request = search::Request {
            scope,
            project,
            only_project: self.project,
            collection: self.collection,
            r#type: self.r#type,
            tags: self.tags,
            include_superseded: self.include_superseded,
            include_archived: self.include_archived,
            limit: self.limit.unwrap_or_else(|| default_limit(call)),
            at: self.at.unwrap_or(call.caller.now),
            explain: self.explain,
            of_agent: self.of_agent,
            query: self.query.clone(),
        };
        let now = call.caller.now;
        let mut found = search::search(call.view(), &request)?;
        found.missing.extend(missing);
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
                let recalled = JointRecall { entries: entries(&found.hits), graph, at: now };
                call.view().note_recalled(&self.query, recalled);
            }
        }
        Ok(found)
    }

    fn lean(answer: &SearchResults, calendar: &Calendar, explain: bool) -> Option<serde_json::Result<Value>> {
        Some(serde_json::to_value(LeanAnswer::of_search(answer, calendar, explain)))
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
        for (first_standing, hit) in answer.hits.iter().map(|hit| (false, hit)).chain(standing) {
            if first_standing {
                text.push_str("Standing instructions and preferences that may apply:\n");
            }
            let project = answer.other_project(hit).filter(|_| hit.item.is_none());
            let project = project.map(|name| format!(", from project {}", one_line(name.as_str())));
            let project = project.unwrap_or_default();
            let date = calendar.date(hit.at) + &project;
            let line = one_line(&hit.text);
            if let Some(entry) = &hit.entry {
                let _ = write!(text, "[id:{}] [{}] {line} ({date})", entry.number, entry.r#type);
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
            if let Some(newer) = &hit.newer {
                let _ = write!(text, " (older than [{}], {})", one_line(&newer.id), calendar.date(newer.at));
            }
            text.push('\n');
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
    #[schemars(length(min = 1, max = 2000))]
    pub query: String,
    /// Most hits.
    #[schemars(range(min = 1, max = 100))]
    pub limit: Option<usize>,
}

impl Request for QueryRequest {
    type Answer = SearchResults;
    const NAME: &str = "memory_query";
    const LEAN_OUTPUT: fn() -> Value = schema::output::<LeanAnswer>;

    fn run(self, call: &mut Call<'_>) -> Ran<SearchResults> {
        SearchRequest { query: self.query, limit: self.limit, ..SearchRequest::default() }.run(call)
    }

    fn lean(answer: &SearchResults, calendar: &Calendar, explain: bool) -> Option<serde_json::Result<Value>> {
        SearchRequest::lean(answer, calendar, explain)
    }

    fn say(answer: &SearchResults, calendar: &Calendar) -> String {
        SearchRequest::say(answer, calendar)
    }
}

/// Summary of the most useful memories. Read it at the start of a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BriefRequest {
    /// Include the session and time of each memory.
    #[serde(default)]
    pub include_provenance: bool,
}

impl Request for BriefRequest {
    type Answer = Brief;
    const NAME: &str = "memory_brief";
    const ACROSS: bool = true;
    const ADVANCED: &'static [&'static str] = &["include_provenance"];
    const LEAN_OUTPUT: fn() -> Value = schema::output::<LeanBrief>;

    fn run(self, call: &mut Call<'_>) -> Ran<Brief> {
        let limits = call.settings().brief.clone();
        Ok(make_brief(call, &limits, self.include_provenance)?)
    }

    fn lean(answer: &Brief, _: &Calendar, _explain: bool) -> Option<serde_json::Result<Value>> {
        // The lines have everything else. Provenance is only in the entries.
        let provenance = answer.entries.iter().any(|entry| entry.provenance.is_some());
        let lean = LeanBrief {
            markdown: answer.markdown.clone(),
            entry_count: answer.entry_count,
            plugin: answer.plugin.clone(),
        };
        (!provenance).then(|| serde_json::to_value(lean))
    }

    fn say(answer: &Brief, _: &Calendar) -> String {
        answer.markdown.clone()
    }
}

/// The brief as a model reads it.
#[derive(Serialize, JsonSchema)]
struct LeanBrief {
    markdown: String,
    entry_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    plugin: Option<MadeBy>,
}

/// Makes the brief, by the plugin if there is one.
pub(super) fn make_brief(
    call: &mut Call<'_>,
    limits: &crate::base::settings::Brief,
    include_provenance: bool,
) -> Result<Brief> {
    let now = call.caller.now;
    let made = call.view().services().brief_plugin.clone().map(|plugin| {
        let said = (plugin.make)(&call.caller.session);
        (plugin.name, said)
    });
    let caller = call.caller;
    let calendar = caller.calendar();
    let rank = call.settings().rank.clone();
    let own = |db: &Connection| {
        let project = project::current::of_caller(db, caller)?;
        let (rank, calendar) = (&rank, caller.calendar());
        brief::make(db, &brief::Rules { limits, rank, project, calendar, now, include_provenance })
    };
    let brief = match made {
        None => call.read(own)?,
        Some((name, Ok(said))) => {
            call.read(|db| brief::of_plugin(db, &name, &said, limits, &calendar, now))?
        }
        Some((name, Err(problem))) => {
            let mut brief = call.read(own)?;
            brief.in_place_of(&name, &problem);
            brief
        }
    };
    call.view().tell_read("brief", "brief", brief.markdown.chars().count());
    Ok(brief)
}

/// List the collections with their size and status.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CollectionsRequest {}

/// The collections of a group.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Collections {
    /// By name.
    pub collections: Vec<Collection>,
}

redact! {
    Collections { collections }
}

impl Request for CollectionsRequest {
    type Answer = Collections;
    const NAME: &str = "collection_list";

    fn run(self, call: &mut Call<'_>) -> Ran<Collections> {
        Ok(Collections { collections: collection::list(call.view())? })
    }

    fn say(answer: &Collections, _: &Calendar) -> String {
        if answer.collections.is_empty() {
            return "There are no collections.".into();
        }
        let lines = answer.collections.iter().map(|collection| {
            let Collection { name, documents, passages, .. } = collection;
            let problem =
                collection.problem.as_deref().map(|problem| format!("; {problem}")).unwrap_or_default();
            format!("{name}: {documents} documents in {passages} passages{problem}")
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Read one memory in full with its history (`id`), or a workspace file (`path`).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetRequest {
    #[expect(missing_docs)]
    pub id: Option<EntryRef>,
    /// Such as MEMORY.md.
    pub path: Option<String>,
    /// First line.
    #[schemars(range(min = 1))]
    pub from: Option<usize>,
    /// Last line.
    #[schemars(range(min = 1))]
    pub to: Option<usize>,
}

/// A memory or a file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Got {
    Entry(Box<EntryWithPast>),
    File(FileShown),
}

/// A memory with its history: the memories it replaced or that replaced it, and its earlier texts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EntryWithPast {
    #[serde(flatten)]
    #[expect(missing_docs)]
    pub entry: Entry,
    /// The other memories of its chain of replacements, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub chain: Vec<Link>,
    /// Its earlier texts, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub versions: Vec<Version>,
    /// Its origin, if it was imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub imported: Option<import::Provenance>,
}

/// One memory of a chain.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Link {
    pub id: EntryId,
    pub number: i64,
    pub content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<EntryId>,
}

impl Redact for Got {
    fn redact(&mut self) {
        match self {
            Got::Entry(entry) => entry.redact(),
            Got::File(file) => file.redact(),
        }
    }
}

redact! {
    EntryWithPast { entry, chain, versions, imported }
    Link { id, content, superseded_by / number }
}

impl Request for GetRequest {
    type Answer = Got;
    const NAME: &str = "memory_get";
    const ACROSS: bool = true;
    const LEAN_OUTPUT: fn() -> Value = schema::output::<GetFields>;

    fn run(self, call: &mut Call<'_>) -> Ran<Got> {
        let id = match (self.id, self.path) {
            (Some(id), None) => id,
            (None, Some(path)) => return Ok(Got::File(files::show(call, &path, self.from, self.to)?)),
            _ => {
                let problem = "or `path` is needed, one of them";
                return Err(Error::bad_argument("memory_get", "id", problem).into());
            }
        };
        let answer = call.read(|db| {
            let entry = entry::get(db, &id)?;
            let chain = entry::chain(db, &entry.id)?.into_iter().filter(|other| other.id != entry.id);
            let chain = chain
                .map(|other| Link {
                    id: other.id,
                    number: other.number,
                    content: other.content,
                    superseded_by: other.superseded_by,
                })
                .collect();
            let (versions, imported) = (entry::versions(db, &entry.id)?, import::of_entry(db, &entry.id)?);
            Ok(EntryWithPast { versions, chain, imported, entry })
        })?;
        let size = answer.entry.content.chars().count();
        call.view().tell_read("entry", answer.entry.id.as_str(), size);
        Ok(Got::Entry(Box::new(answer)))
    }

    fn say(answer: &Got, calendar: &Calendar) -> String {
        let answer = match answer {
            Got::Entry(answer) => answer,
            Got::File(file) => return file.text.clone(),
        };
        let mut text = say_entry(&answer.entry, calendar);
        for link in &answer.chain {
            let _ = write!(text, "\nchain: [id:{}] {}", link.number, one_line(&link.content));
        }
        for version in &answer.versions {
            let _ = write!(text, "\nbefore {}: {}", version.until, one_line(&version.content));
        }
        text
    }
}

/// A memory that was changed. The schema has only the fields that identify it: the model knows the rest.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Changed(#[schemars(with = "EntryIdentity")] pub Entry);

impl Redact for Changed {
    fn redact(&mut self) {
        self.0.redact();
    }
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "a schema")]
struct EntryIdentity {
    id: EntryId,
    number: i64,
    score: i64,
}

/// The fields of a memory or a file that a schema for agents names. The answer has more.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "a schema")]
struct GetFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// Correct a memory in place. Its id stays; the earlier text is kept as history.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateRequest {
    #[expect(missing_docs)]
    pub id: EntryRef,
    /// New text.
    #[schemars(length(min = 1, max = 2000))]
    pub content: Option<String>,
    /// New tags.
    pub tags: Option<Tags>,
    /// New type.
    pub r#type: Option<EntryType>,
    /// Hide it from shared sessions.
    pub private: Option<bool>,
}

/// An entry that was corrected.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Updated {
    #[serde(flatten)]
    #[expect(missing_docs)]
    #[schemars(with = "EntryIdentity")]
    pub entry: Entry,
    /// Current statements that say otherwise about the same thing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub contradicts: Vec<Contradiction>,
}

redact! { Updated { entry, contradicts } }

impl Request for UpdateRequest {
    type Answer = Updated;
    const NAME: &str = "memory_update";
    const ADVANCED: &'static [&'static str] = &["private"];

    fn steers(&self, view: &View<'_>) -> Result<bool> {
        Ok(self.r#type.is_some_and(EntryType::behavioral) || is_behavioral(view, &self.id))
    }

    fn loses(&self, view: &View<'_>) -> Result<Option<String>> {
        self.content.as_ref().map(|_| content(view, &self.id)).transpose()
    }

    fn run(self, call: &mut Call<'_>) -> Ran<Updated> {
        if let Some(tags) = &self.tags {
            check_tags("memory_update", tags)?;
        }
        if self.content.is_none() && self.tags.is_none() && self.r#type.is_none() && self.private.is_none() {
            let problem = "is missing, and so are `tags`, `type` and `private`: there is nothing to change";
            return Err(Error::bad_argument("memory_update", "content", problem).into());
        }
        call.check_seen(&self.id)?;
        let Self { content, tags, r#type, private, .. } = self;
        let contradicts = match &content {
            Some(content) => call.read(|db| {
                let own = entry::get(db, &self.id).map(|entry| entry.id.to_string());
                search::contradicting(db, content, &own.into_iter().collect::<Vec<_>>())
            })?,
            None => Vec::new(),
        };
        let edit = Edit { content, tags, r#type, private, data: None };
        let entry = call.write(|write| {
            let entry = entry::update(write.db, &write.origin, &self.id, edit)?;
            record_conflicts(write, &entry, &contradicts)?;
            write.record(&entry.id, "chars", entry.content.chars().count());
            Ok(entry)
        })?;
        call.view().tell_write("entry", entry.id.as_str(), entry.content.chars().count());
        Ok(Updated { entry, contradicts })
    }

    fn say(answer: &Updated, calendar: &Calendar) -> String {
        let contradictions = say_contradictions(&answer.contradicts, calendar);
        format!("Updated {}{contradictions}", say_entry(&answer.entry, calendar))
    }
}

/// Rate a memory: it ranks higher if it helped, lower if it was stale or useless.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeedbackRequest {
    #[expect(missing_docs)]
    pub id: EntryRef,
    /// Whether it helped.
    pub helpful: bool,
}

impl Request for FeedbackRequest {
    type Answer = Changed;
    const NAME: &str = "memory_feedback";

    fn run(self, call: &mut Call<'_>) -> Ran<Changed> {
        match self.helpful {
            true => ReinforceRequest { id: self.id }.run(call),
            false => DemoteRequest { id: self.id }.run(call),
        }
    }

    fn say(Changed(answer): &Changed, calendar: &Calendar) -> String {
        say_entry(answer, calendar)
    }
}

/// Report that a memory helped: it ranks higher and counts as fresh.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReinforceRequest {
    #[expect(missing_docs)]
    pub id: EntryRef,
}

impl Request for ReinforceRequest {
    type Answer = Changed;
    const NAME: &str = "memory_reinforce";
    const REPLACED_BY: Option<&'static str> = Some(FeedbackRequest::NAME);

    fn run(self, call: &mut Call<'_>) -> Ran<Changed> {
        let delta = call.settings().rank.reinforce;
        judge(call, &self.id, delta).map(Changed)
    }

    fn say(Changed(answer): &Changed, calendar: &Calendar) -> String {
        say_entry(answer, calendar)
    }
}

/// Report that a memory was stale or useless: it ranks lower. It is not deleted.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DemoteRequest {
    #[expect(missing_docs)]
    pub id: EntryRef,
}

impl Request for DemoteRequest {
    type Answer = Changed;
    const NAME: &str = "memory_demote";
    const REPLACED_BY: Option<&'static str> = Some(FeedbackRequest::NAME);

    fn run(self, call: &mut Call<'_>) -> Ran<Changed> {
        let delta = -call.settings().rank.demote;
        judge(call, &self.id, delta).map(Changed)
    }

    fn say(Changed(answer): &Changed, calendar: &Calendar) -> String {
        say_entry(answer, calendar)
    }
}

fn judge(call: &mut Call<'_>, named: &EntryRef, delta: i64) -> Ran<Entry> {
    call.check_seen(named)?;
    let rank = call.settings().rank.clone();
    call.write(|write| {
        let entry = entry::reinforce(write.db, write.origin.now, named, delta, &rank)?;
        write.record(&entry.id, "score", entry.score);
        Ok(entry)
    })
}

/// Make an archived memory current again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnarchiveRequest {
    /// Id or number.
    pub id: EntryRef,
}

impl Request for UnarchiveRequest {
    type Answer = Changed;
    const NAME: &str = "memory_unarchive";

    fn run(self, call: &mut Call<'_>) -> Ran<Changed> {
        call.check_seen(&self.id)?;
        let entry = call.write(|write| {
            if entry::get_current(write.db, &self.id)?.archived_at.is_none() {
                write.unchanged();
            }
            let entry = entry::unarchive(write.db, write.origin.now, &self.id)?;
            write.record(&entry.id, "unarchived", 1);
            Ok(entry)
        })?;
        Ok(Changed(entry))
    }

    fn say(Changed(answer): &Changed, calendar: &Calendar) -> String {
        say_entry(answer, calendar)
    }
}

/// Delete a memory and every trace of it, only if the user wants that; a memory it superseded becomes current again. To
/// correct a memory use memory_update or supersedes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteRequest {
    #[expect(missing_docs)]
    pub id: EntryRef,
    /// Also delete the memories that it superseded.
    #[serde(default)]
    pub history: bool,
}

/// A deleted memory.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Deleted {
    #[serde(flatten)]
    #[expect(missing_docs)]
    #[schemars(with = "EntryIdentity")]
    pub entry: Entry,
    /// The memories that it superseded. They are current again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub restored: Vec<Restored>,
    /// How many memories that it superseded were deleted with it.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(skip)]
    pub history: usize,
    /// Checkpoints that still contain it, because they can't be written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub still_in: Vec<String>,
}

/// A memory that is current again.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the fields of an entry")]
pub struct Restored {
    pub number: i64,
    pub content: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

redact! {
    Deleted { entry, restored, still_in / history }
    Restored { content / number }
}

impl Request for DeleteRequest {
    type Answer = Deleted;
    const NAME: &str = "memory_delete";
    const ADVANCED: &'static [&'static str] = &["history"];

    fn steers(&self, view: &View<'_>) -> Result<bool> {
        Ok(is_behavioral(view, &self.id))
    }

    fn loses(&self, view: &View<'_>) -> Result<Option<String>> {
        content(view, &self.id).map(Some)
    }

    fn run(self, call: &mut Call<'_>) -> Ran<Deleted> {
        call.check_seen(&self.id)?;
        let mut erased = call.write(|write| {
            let mut erased = vec![erase::entry(write.db, &self.id)?];
            // Each deletion brings the entries before it to the end of the chain.
            while let Some(old) =
                erased.last_mut().filter(|_| self.history).and_then(|last| last.restored.pop())
            {
                erased.push(erase::entry(write.db, &EntryRef::Id(old.id))?);
            }
            write.spend(Action::Delete)?;
            for one in &erased {
                write.record(&one.entry.id, "deleted", 1);
            }
            Ok(erased)
        })?;
        let still_in = forget_entries(call, &mut erased)?;
        let history = erased.len() - 1;
        let ErasedEntry { entry, restored, .. } = erased.swap_remove(0);
        let restored = restored.into_iter().map(|old| Restored { number: old.number, content: old.content });
        Ok(Deleted { entry, restored: restored.collect(), history, still_in })
    }

    fn say(answer: &Deleted, _: &Calendar) -> String {
        let mut text = format!("Deleted [id:{}] {}.", answer.entry.number, answer.entry.id);
        match answer.history {
            0 => {}
            1 => text.push_str(" The memory that it superseded was deleted too."),
            count => {
                let _ = write!(text, " The {count} memories that it superseded were deleted too.");
            }
        }
        for old in &answer.restored {
            let _ = write!(text, " [id:{}] is current again: {}", old.number, one_line(&old.content));
        }
        for checkpoint in &answer.still_in {
            let _ = write!(text, " Still in checkpoint {}.", one_line(checkpoint));
        }
        text
    }
}

/// Announces deleted memories and removes them from the checkpoints. Returns the checkpoints that still have them, and why.
pub(super) fn forget_entries(call: &mut Call<'_>, erased: &mut [ErasedEntry]) -> Result<Vec<String>> {
    let gone = |one: &mut ErasedEntry| DeletedRecord {
        reference: one.entry.id.to_string(),
        texts: take(&mut one.texts),
    };
    let still_in = call.forget(erased.iter_mut().map(gone))?;
    for ErasedEntry { entry, .. } in erased {
        let delta = i64::try_from(entry.content.chars().count()).map_or(0, |delta| -delta);
        call.view().tell_write("entry", entry.id.as_str(), delta);
    }
    Ok(still_in)
}

fn say_entry(entry: &Entry, calendar: &Calendar) -> String {
    let date = calendar.date(entry.provenance.timestamp);
    let mut text = format!("[id:{}] [{}] {} ({date})", entry.number, entry.r#type, one_line(&entry.content));
    let _ = write!(text, " score {}", entry.score);
    match &entry.superseded_by {
        Some(newer) => {
            let _ = write!(text, ", superseded by {newer}");
        }
        None if entry.superseded_at.is_some() => text.push_str(", superseded"),
        None if entry.archived_at.is_some() => text.push_str(", archived"),
        None => {}
    }
    text
}

pub(super) fn default_type(setting: DefaultType) -> EntryType {
    match setting {
        DefaultType::Preference => EntryType::Preference,
        DefaultType::Instruction => EntryType::Instruction,
        DefaultType::Context => EntryType::Context,
        DefaultType::Correction => EntryType::Correction,
        // With `Required`, the schema refuses a call without a type.
        DefaultType::Fact | DefaultType::Required => EntryType::Fact,
    }
}

pub(super) fn check_tags(tool: &str, tags: &Tags) -> Result<()> {
    match tags.problem() {
        Some(problem) => Err(Error::bad_argument(tool, "tags", problem)),
        None => Ok(()),
    }
}

/// Returns the text of a memory that the session sees.
fn content(view: &View<'_>, named: &EntryRef) -> Result<String> {
    view.read(|db| entry::get(db, named)).map(|entry| entry.content)
}

/// Tells whether a memory that the session sees is behavioral.
pub(super) fn is_behavioral(view: &View<'_>, named: &EntryRef) -> bool {
    view.read(|db| entry::get(db, named)).is_ok_and(|entry| entry.behavioral)
}
