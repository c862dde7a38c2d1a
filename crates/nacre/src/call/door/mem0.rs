//! What mem0's clients ask for, over entries. Who a memory belongs to (`user_id`, `agent_id`, `app_id`, `run_id`) and its
//! metadata stand with the entry and filter exactly; the owners are tags too, so that people see them. A group is never
//! chosen by them: it is the caller's.

use rusqlite::Connection;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::call::tools::Request;
use crate::call::{Action, Actor, Call, Gone, redact};
use crate::entry::{self, Data, Draft, Edit, Entry, EntryType, MAX_CONTENT, MAX_TAG, Tags};
use crate::group::payload;
use crate::ids::{EntryId, EntryRef};
use crate::index::Scope;
use crate::search;
use crate::{Error, Result, Time};

/// Whose a memory can be, and what the tag begins with.
const OWNERS: &[(&str, &str)] =
    &[("user_id", "user"), ("agent_id", "agent"), ("app_id", "app"), ("run_id", "run")];
/// The most characters of metadata, as JSON.
const MOST_METADATA: usize = 8_000;
/// The most comparisons of a filter, and characters, as JSON: each is made with every memory there is.
const MOST_COMPARED: usize = 500;
const LONGEST_FILTER: usize = 100_000;
/// How many hits a search looks through for those that a filter leaves.
const LOOKED_THROUGH: usize = 2_000;

fn wrong(tool: &str, field: &str, problem: impl Into<String>) -> Error {
    Error::BadArgument { tool: tool.into(), field: field.into(), problem: problem.into(), nearest: None }
}

/// One memory, as mem0 has it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Remembered {
    id: EntryId,
    memory: String,
    user_id: Option<String>,
    agent_id: Option<String>,
    app_id: Option<String>,
    run_id: Option<String>,
    hash: String,
    #[schemars(with = "Option<Map<String, Value>>")]
    metadata: Option<Map<String, Value>>,
    categories: Vec<String>,
    created_at: Time,
    updated_at: Time,
    expiration_date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
}

impl Remembered {
    fn new(entry: Entry, score: Option<f64>) -> Remembered {
        let Data { mut owner, metadata, expires, .. } = entry.data.unwrap_or_default();
        let own = |tag: &&str| !OWNERS.iter().any(|(_, kind)| tag.starts_with(&format!("{kind}:")));
        Remembered {
            hash: entry::folded(&entry.content).chars().take(32).collect(),
            memory: entry.content,
            user_id: owner.remove("user_id"),
            agent_id: owner.remove("agent_id"),
            app_id: owner.remove("app_id"),
            run_id: owner.remove("run_id"),
            metadata: Some(metadata).filter(|metadata| !metadata.is_empty()),
            categories: entry.tags.iter().filter(own).map(str::to_owned).collect(),
            created_at: entry.provenance.timestamp,
            updated_at: entry.last_hit_at.unwrap_or(entry.provenance.timestamp),
            expiration_date: expires,
            id: entry.id,
            score,
        }
    }
}

/// Store messages as memories.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct AddRequest {
    #[schemars(length(max = 200))]
    messages: Vec<Message>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    app_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    metadata: Option<Map<String, Value>>,
    /// Only what the user said; otherwise all but the system's messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    infer: Option<bool>,
    /// YYYY-MM-DD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expiration_date: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
struct Message {
    role: String,
    content: String,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct AddedAll {
    results: Vec<Added>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Added {
    id: EntryId,
    memory: String,
    event: &'static str,
}

impl Request for AddRequest {
    type Answer = AddedAll;

    fn run(self, call: &mut Call<'_>) -> Result<AddedAll> {
        const TOOL: &str = "mem0_add";
        let given = [&self.user_id, &self.agent_id, &self.app_id, &self.run_id];
        let mut data = Data { metadata: self.metadata.unwrap_or_default(), ..Data::default() };
        for ((name, _), value) in OWNERS.iter().zip(given) {
            if let Some(value) = value {
                data.owner.insert((*name).to_owned(), checked_owner(TOOL, name, value)?);
            }
        }
        if data.owner.is_empty() {
            return Err(wrong(TOOL, "user_id", "is missing, and so are `agent_id`, `app_id` and `run_id`"));
        }
        check_data(TOOL, &data.metadata, self.expiration_date.as_deref())?;
        data.expires = self.expiration_date;
        let tags = Tags::new(data.owner.iter().filter_map(|(name, value)| tag(name, value)));
        // Without a model that sums up, what the user said is what there is to know; where no user speaks, the others.
        let infer = self.infer.unwrap_or(true);
        let of_user = self.messages.iter().any(|message| message.role == "user");
        let wanted = |message: &&Message| match message.role.as_str() {
            "system" => false,
            role => !infer || !of_user || role == "user",
        };
        let mut drafts = Vec::new();
        for message in self.messages.iter().filter(wanted) {
            for content in pieces(&message.content) {
                let data = Data { role: Some(message.role.clone()), ..data.clone() };
                drafts.push(Draft {
                    r#type: EntryType::Fact,
                    content: content.to_owned(),
                    tags: tags.clone(),
                    supersedes: None,
                    private: None,
                    data: Some(data),
                });
            }
        }
        let results = call.write(|write| {
            let mut results: Vec<Added> = Vec::new();
            for draft in drafts {
                let stored = entry::store(write.db, &write.origin, draft)?;
                if !stored.duplicate {
                    write.record(&stored.entry.id, "chars", stored.entry.content.chars().count());
                }
                let event = if stored.duplicate { "NONE" } else { "ADD" };
                results.push(Added { id: stored.entry.id, memory: stored.entry.content, event });
            }
            match results.iter().any(|added| added.event == "ADD") {
                true => write.spend(Action::Store)?,
                false => write.unchanged(),
            }
            Ok(results)
        })?;
        for added in results.iter().filter(|added| added.event == "ADD") {
            let delta = added.memory.chars().count();
            tell(call, &added.id, delta.into());
        }
        Ok(AddedAll { results })
    }

    fn say(answer: &AddedAll, _: Time) -> String {
        format!("{} memories.", answer.results.len())
    }
}

fn tell(call: &mut Call<'_>, id: &EntryId, delta: Value) {
    let data = [("type", "entry".into()), ("path", id.as_str().into()), ("delta", delta)];
    call.tell("memory:write", payload(data));
}

/// A text in pieces that fit an entry, cut where lines, sentences or words end.
fn pieces(text: &str) -> Vec<&str> {
    let (mut rest, mut all) = (text.trim(), Vec::new());
    while let Some((most, _)) = rest.char_indices().nth(MAX_CONTENT) {
        let head = &rest[..most];
        let at = head.rfind('\n').or_else(|| head.rfind(". ").map(|at| at + 1)).or_else(|| head.rfind(' '));
        let at = at.filter(|at| *at > 0).unwrap_or(most);
        all.push(rest[..at].trim());
        rest = rest[at..].trim_start();
    }
    all.push(rest);
    all.retain(|piece| !piece.is_empty());
    all
}

fn checked_owner(tool: &str, field: &str, value: &str) -> Result<String> {
    const LONGEST: usize = 200;
    if value.trim().is_empty() {
        return Err(wrong(tool, field, "is empty"));
    }
    match value.chars().count() {
        length if length > LONGEST => {
            Err(wrong(tool, field, format!("has {length} characters, at most {LONGEST} fit")))
        }
        _ => Ok(value.to_owned()),
    }
}

fn check_data(tool: &str, metadata: &Map<String, Value>, expires: Option<&str>) -> Result<()> {
    let size = serde_json::to_string(metadata)?.chars().count();
    if size > MOST_METADATA {
        return Err(wrong(tool, "metadata", format!("has {size} characters, at most {MOST_METADATA} fit")));
    }
    if expires.is_some_and(|day| crate::Day::parse(day).is_none()) {
        return Err(wrong(tool, "expiration_date", "is not a day such as 2026-12-31"));
    }
    Ok(())
}

/// The tag of an owner, where it fits into one.
fn tag(name: &str, value: &str) -> Option<String> {
    let (_, kind) = OWNERS.iter().find(|(owner, _)| *owner == name)?;
    let tag = format!("{kind}:{value}");
    let is_kept =
        tag.split_whitespace().collect::<Vec<_>>().join(" ") == tag && tag.chars().count() <= MAX_TAG;
    is_kept.then_some(tag)
}

/// Find memories, by a question or newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(super) struct FindRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2000))]
    query: Option<String>,
    /// Only these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1000))]
    ids: Option<Vec<String>>,
    /// What mem0 calls filters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    filters: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    offset: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    threshold: Option<f64>,
    #[serde(default)]
    show_expired: bool,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct FoundAll {
    count: usize,
    results: Vec<Remembered>,
}

impl Request for FindRequest {
    type Answer = FoundAll;

    fn run(self, call: &mut Call<'_>) -> Result<FoundAll> {
        let filter = Filter::read(self.filters.unwrap_or_default())?;
        let today = call.caller.now.to_string();
        let fits = |entry: &Entry| {
            let expires = entry.data.as_ref().and_then(|data| data.expires.as_deref());
            let expired = expires.is_some_and(|day| today.get(..10).is_some_and(|today| day < today));
            (self.show_expired || !expired) && filter.fits(entry)
        };
        let (offset, limit) = (self.offset.unwrap_or(0), self.limit.unwrap_or(100));
        let found: Vec<Remembered> = match (&self.ids, self.query.as_deref().map(str::trim)) {
            (Some(ids), _) => {
                let entries = call.read(|db| {
                    let mut entries = Vec::new();
                    for id in ids {
                        let Ok(named) = id.parse::<EntryRef>() else { continue };
                        match entry::get(db, &named) {
                            Ok(entry) => entries.push(entry),
                            Err(Error::NoEntry { .. }) => {}
                            Err(error) => return Err(error),
                        }
                    }
                    Ok(entries)
                })?;
                entries
                    .into_iter()
                    .filter(|entry| filter.fits(entry))
                    .map(|entry| Remembered::new(entry, None))
                    .collect()
            }
            (None, Some(query)) if !query.is_empty() => {
                let found = search(call, query, &filter)?;
                let least = self.threshold.unwrap_or(0.0);
                let hits = found.into_iter().filter(|(entry, score)| *score >= least && fits(entry));
                hits.map(|(entry, score)| Remembered::new(entry, Some(score))).collect()
            }
            _ => {
                // All are counted, but only those of the page are kept.
                let (mut count, mut results) = (0, Vec::new());
                call.read(|db| {
                    entry::walk_current(db, |entry| {
                        if fits(&entry) {
                            count += 1;
                            if count > offset && results.len() < limit {
                                results.push(Remembered::new(entry, None));
                            }
                        }
                        true
                    })
                })?;
                return Ok(FoundAll { count, results });
            }
        };
        let count = found.len();
        Ok(FoundAll { count, results: found.into_iter().skip(offset).take(limit).collect() })
    }

    fn say(answer: &FoundAll, _: Time) -> String {
        answer.results.iter().map(|found| found.memory.as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// The entries that a question finds, best first. The owners that the filter asks for narrow it by their tags already.
fn search(call: &mut Call<'_>, query: &str, filter: &Filter) -> Result<Vec<(Entry, f64)>> {
    let request = search::Request {
        query: query.to_owned(),
        scope: vec![Scope::Entries],
        collection: None,
        r#type: None,
        tags: Tags::new(filter.owners().iter().filter_map(|(name, value)| tag(name, value))),
        include_superseded: false,
        include_archived: false,
        limit: LOOKED_THROUGH,
        at: call.caller.now,
        explain: false,
        of_agent: false,
    };
    let now = call.caller.now;
    let found = call.group().search(&request, now)?;
    call.tell("memory:search", payload([("query", query.into()), ("results", found.hits.len().into())]));
    let scores: Vec<(&str, f64)> = found.hits.iter().map(|hit| (hit.id.as_str(), hit.score)).collect();
    let entries = call.read(|db| entry::get_all(db, scores.iter().map(|(id, _)| *id)))?;
    let score = |entry: &Entry| {
        scores.iter().find(|(id, _)| *id == entry.id.as_str()).map_or(0.0, |(_, score)| *score)
    };
    Ok(entries
        .into_iter()
        .map(|entry| {
            let score = score(&entry);
            (entry, score)
        })
        .collect())
}

/// Change a memory.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct ChangeRequest {
    id: EntryRef,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2000))]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    metadata: Option<Map<String, Value>>,
    /// YYYY-MM-DD; empty: it no longer expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expiration_date: Option<String>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct ChangedOne(#[schemars(with = "Which")] Remembered);

#[derive(JsonSchema)]
#[expect(dead_code, reason = "a schema")]
struct Which {
    id: EntryId,
    memory: String,
}

impl Request for ChangeRequest {
    type Answer = ChangedOne;

    fn run(self, call: &mut Call<'_>) -> Result<ChangedOne> {
        const TOOL: &str = "mem0_update";
        if (&self.text, &self.metadata, &self.expiration_date) == (&None, &None, &None) {
            return Err(wrong(TOOL, "text", "is missing, and so are `metadata` and `expiration_date`"));
        }
        let expires = self.expiration_date.as_deref().filter(|day| !day.is_empty());
        check_data(TOOL, &self.metadata.clone().unwrap_or_default(), expires)?;
        call.check_seen(&self.id)?;
        let entry = call.write(|write| {
            let mut data = entry::get(write.db, &self.id)?.data.unwrap_or_default();
            if let Some(metadata) = self.metadata {
                data.metadata = metadata;
            }
            if let Some(day) = self.expiration_date {
                data.expires = Some(day).filter(|day| !day.is_empty());
            }
            let edit = Edit { content: self.text, tags: None, r#type: None, private: None, data: Some(data) };
            let entry = entry::update(write.db, &write.origin, &self.id, edit)?;
            write.record(&entry.id, "chars", entry.content.chars().count());
            Ok(entry)
        })?;
        tell(call, &entry.id, entry.content.chars().count().into());
        Ok(ChangedOne(Remembered::new(entry, None)))
    }

    fn say(ChangedOne(answer): &ChangedOne, _: Time) -> String {
        answer.memory.clone()
    }
}

/// Delete memories for good: these, or all that filters leave.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct GoneRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1000))]
    ids: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    filters: Option<Map<String, Value>>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct GoneAll {
    deleted: usize,
}

impl GoneRequest {
    /// What is to go.
    pub(super) fn going(&self, db: &Connection) -> Result<Vec<Entry>> {
        let mut going: Vec<Entry> = Vec::new();
        match (&self.ids, &self.filters) {
            // All or none of those that are named.
            (Some(ids), _) => {
                let mut known = std::collections::HashSet::new();
                for id in ids {
                    let named =
                        id.parse::<EntryRef>().map_err(|_| Error::NoEntry { id: crate::ids::shorten(id) })?;
                    let entry = entry::get(db, &named)?;
                    if known.insert(entry.id.clone()) {
                        going.push(entry);
                    }
                }
            }
            (None, Some(filters)) if !filters.is_empty() => {
                let filter = Filter::read(filters.clone())?;
                // What is past belongs to them as well.
                entry::newest_first(db, |entry| {
                    if filter.fits(&entry) {
                        going.push(entry);
                    }
                    true
                })?;
            }
            _ => return Err(wrong("mem0_delete", "filters", "is missing: what is to be deleted?")),
        }
        Ok(going)
    }
}

impl Request for GoneRequest {
    type Answer = GoneAll;

    fn run(self, call: &mut Call<'_>) -> Result<GoneAll> {
        if let (None, Some(filters)) = (&self.ids, &self.filters)
            && call.caller.actor == Actor::Agent
            && !filters.is_empty()
            && !Filter::read(filters.clone())?.names_owner()
        {
            return Err(Error::PeopleOnly { tool: "mem0_delete without an owner".into() });
        }
        let going = call.read(|db| self.going(db))?;
        if going.is_empty() {
            return Ok(GoneAll { deleted: 0 });
        }
        let gone = call.write(|write| {
            let mut gone = Vec::new();
            for Entry { id, .. } in &going {
                let named = EntryRef::Id(id.clone());
                let texts = entry::said(write.db, &entry::get(write.db, &named)?)?;
                let entry = entry::delete(write.db, &named)?;
                write.record(&entry.id, "deleted", 1);
                gone.push((entry, texts));
            }
            write.spend(Action::Delete)?;
            Ok(gone)
        })?;
        // The text still stands in the write-ahead log until that is emptied.
        call.group().forget_log()?;
        for (entry, _) in &gone {
            let delta = i64::try_from(entry.content.chars().count()).map_or(0, |delta| -delta);
            tell(call, &entry.id, delta.into());
        }
        let deleted = gone.len();
        let gone: Vec<Gone> =
            gone.into_iter().map(|(entry, texts)| Gone { reference: entry.id.to_string(), texts }).collect();
        call.forget_in_checkpoints(&gone);
        Ok(GoneAll { deleted })
    }

    fn say(answer: &GoneAll, _: Time) -> String {
        format!("{} memories deleted.", answer.deleted)
    }
}

/// The texts that a memory had.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct PastRequest {
    id: EntryRef,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct Past {
    #[schemars(with = "Vec<Map<String, Value>>")]
    history: Vec<Value>,
}

impl Request for PastRequest {
    type Answer = Past;

    fn run(self, call: &mut Call<'_>) -> Result<Past> {
        let (entry, versions) = call.read(|db: &Connection| {
            let entry = entry::get(db, &self.id)?;
            let versions = entry::versions(db, &entry.id)?;
            Ok((entry, versions))
        })?;
        let role = entry.data.as_ref().and_then(|data| data.role.clone());
        let texts: Vec<&str> =
            versions.iter().map(|version| version.content.as_str()).chain([entry.content.as_str()]).collect();
        let made = entry.provenance.timestamp;
        let times = std::iter::once(made).chain(versions.iter().map(|version| version.until));
        let row = |(place, at): (usize, Time)| {
            let old = place.checked_sub(1).map(|before| texts[before]);
            json!({
                "id": format!("{}-{place}", entry.id), "memory_id": entry.id, "old_memory": old, "new_memory": texts[place],
                "event": if place == 0 { "ADD" } else { "UPDATE" }, "created_at": made, "updated_at": at, "is_deleted": false,
                "actor_id": null, "role": role,
            })
        };
        Ok(Past { history: times.enumerate().map(row).collect() })
    }

    fn say(answer: &Past, _: Time) -> String {
        format!("{} texts.", answer.history.len())
    }
}

/// Whose memories there are.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct OwnersRequest {}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct Owners {
    #[schemars(with = "Vec<Map<String, Value>>")]
    results: Vec<Value>,
}

impl Request for OwnersRequest {
    type Answer = Owners;

    fn run(self, call: &mut Call<'_>) -> Result<Owners> {
        // By kind and name: how many, the first and the last.
        let mut owners: std::collections::BTreeMap<(usize, String), (usize, Time, Time)> =
            std::collections::BTreeMap::new();
        call.read(|db| {
            entry::walk_current(db, |entry| {
                let at = entry.provenance.timestamp;
                for (place, (name, _)) in OWNERS.iter().enumerate() {
                    if let Some(value) = entry.data.as_ref().and_then(|data| data.owner.get(*name)) {
                        let known = owners.entry((place, value.clone())).or_insert((0, at, at));
                        *known = (known.0 + 1, known.1.min(at), known.2.max(at));
                    }
                }
                true
            })
        })?;
        let row = |((place, name), (count, first, last)): ((usize, String), (usize, Time, Time))| {
            let kind = OWNERS[place].1;
            json!({
                "id": format!("{kind}:{name}"), "name": name, "type": kind, "total_memories": count,
                "created_at": first, "updated_at": last,
            })
        };
        Ok(Owners { results: owners.into_iter().map(row).collect() })
    }

    fn say(answer: &Owners, _: Time) -> String {
        format!("{} owners.", answer.results.len())
    }
}

/// What a memory must be like.
#[derive(Clone, Debug, PartialEq)]
enum Filter {
    /// All of these.
    All(Vec<Filter>),
    /// One of these.
    Any(Vec<Filter>),
    /// None of these.
    None(Vec<Filter>),
    /// A field compares so with a value.
    Is(String, Op, Value),
}

/// How a field and a value compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Eq,
    Ne,
    In,
    Nin,
    Gt,
    Gte,
    Lt,
    Lte,
    Contains,
    Icontains,
}

const OPS: &[(&str, Op)] = &[
    ("eq", Op::Eq),
    ("ne", Op::Ne),
    ("in", Op::In),
    ("nin", Op::Nin),
    ("gt", Op::Gt),
    ("gte", Op::Gte),
    ("lt", Op::Lt),
    ("lte", Op::Lte),
    ("contains", Op::Contains),
    ("icontains", Op::Icontains),
];

/// The fields that are times.
const TIMES: &[&str] = &["created_at", "timestamp", "updated_at"];

impl Filter {
    /// Reads a filter that can be held against every memory there is.
    fn read(filters: Map<String, Value>) -> Result<Filter> {
        let filters = Value::Object(filters);
        let filter = Filter::parse(&filters)?;
        if filter.compared() > MOST_COMPARED || filters.to_string().len() > LONGEST_FILTER {
            let problem =
                format!("compare more than {MOST_COMPARED} times, or have {LONGEST_FILTER} characters");
            return Err(wrong("mem0", "filters", problem));
        }
        Ok(filter)
    }

    /// How much it compares.
    fn compared(&self) -> usize {
        match self {
            Filter::All(many) | Filter::Any(many) | Filter::None(many) => {
                1 + many.iter().map(Filter::compared).sum::<usize>()
            }
            Filter::Is(..) => 1,
        }
    }

    /// Tells whether all that fits belongs to someone that it names.
    fn names_owner(&self) -> bool {
        match self {
            Filter::All(all) => all.iter().any(Filter::names_owner),
            Filter::Any(any) => any.iter().all(Filter::names_owner),
            Filter::None(_) => false,
            Filter::Is(name, op, value) => {
                let named =
                    *op == Op::In || *op == Op::Eq && value.as_str().is_some_and(|value| value != "*");
                named && OWNERS.iter().any(|(owner, _)| owner == name)
            }
        }
    }

    /// Reads a filter as mem0 writes it.
    fn parse(value: &Value) -> Result<Filter> {
        let bad = |problem: String| wrong("mem0", "filters", problem);
        let Value::Object(fields) = value else { return Err(bad("has something that is no object".into())) };
        let many = |name: &str, value: &Value| match value {
            Value::Array(filters) => filters.iter().map(Filter::parse).collect::<Result<Vec<_>>>(),
            Value::Object(_) if name == "NOT" => Ok(vec![Filter::parse(value)?]),
            _ => Err(bad(format!("has `{name}` without a list"))),
        };
        let mut all = Vec::new();
        for (name, value) in fields {
            match name.as_str() {
                "AND" => all.push(Filter::All(many(name, value)?)),
                "OR" => all.push(Filter::Any(many(name, value)?)),
                "NOT" => all.push(Filter::None(many(name, value)?)),
                "metadata" => {
                    let Value::Object(inner) = value else {
                        return Err(bad("has `metadata` that is no object".into()));
                    };
                    for (key, value) in inner {
                        all.extend(Filter::field(&format!("metadata.{key}"), value).map_err(bad)?);
                    }
                }
                _ => all.extend(Filter::field(name, value).map_err(bad)?),
            }
        }
        Ok(match all.len() {
            1 => all.remove(0),
            _ => Filter::All(all),
        })
    }

    fn field(name: &str, value: &Value) -> Result<Vec<Filter>, String> {
        let is = |op, value: &Value| {
            let value = match (op, value) {
                (Op::In | Op::Nin, Value::Array(values)) => {
                    values.iter().map(|value| Filter::value(name, op, value)).collect::<Result<_, _>>()?
                }
                (Op::In | Op::Nin, _) => return Err("has `in` or `nin` without a list".to_owned()),
                _ => Filter::value(name, op, value)?,
            };
            Ok(Filter::Is(name.to_owned(), op, value))
        };
        match value {
            Value::Object(ops) => ops
                .iter()
                .map(|(op, value)| {
                    let known = OPS.iter().find(|(word, _)| word == op);
                    let (_, op) = known
                        .ok_or_else(|| format!("has `{}`, which is no operator", crate::ids::shorten(op)))?;
                    is(*op, value)
                })
                .collect(),
            Value::Array(_) => Ok(vec![is(Op::In, value)?]),
            _ => Ok(vec![is(Op::Eq, value)?]),
        }
    }

    /// A value as it is compared: a time as a number, for it can be written in many ways.
    fn value(name: &str, op: Op, value: &Value) -> Result<Value, String> {
        match value {
            Value::String(text) if TIMES.contains(&name) && text != "*" => {
                let time = Time::parse(text).ok_or_else(|| format!("has `{name}` that is no time"))?;
                Ok(time.as_millis().into())
            }
            Value::String(text) if op == Op::Icontains => Ok(text.to_lowercase().into()),
            value => Ok(value.clone()),
        }
    }

    /// The owners that every memory that fits has.
    fn owners(&self) -> Vec<(&str, &str)> {
        match self {
            Filter::All(all) => all.iter().flat_map(Filter::owners).collect(),
            Filter::Is(name, Op::Eq, Value::String(value)) if value != "*" => OWNERS
                .iter()
                .filter(|(owner, _)| owner == name)
                .map(|(owner, _)| (*owner, value.as_str()))
                .collect(),
            _ => Vec::new(),
        }
    }

    fn fits(&self, entry: &Entry) -> bool {
        match self {
            Filter::All(all) => all.iter().all(|one| one.fits(entry)),
            Filter::Any(any) => any.iter().any(|one| one.fits(entry)),
            Filter::None(none) => !none.iter().any(|one| one.fits(entry)),
            Filter::Is(name, op, value) => compare(&field_of(entry, name), *op, value),
        }
    }
}

/// A field of a memory, as it is shown; null where it has none. What is masked is not to be guessed letter by letter.
fn field_of(entry: &Entry, name: &str) -> Value {
    let data = entry.data.as_ref();
    match name {
        "id" | "memory_id" | "memory_ids" => entry.id.as_str().into(),
        "memory" | "keywords" => redact::text(&entry.content).into(),
        "created_at" | "timestamp" => entry.provenance.timestamp.as_millis().into(),
        "updated_at" => entry.last_hit_at.unwrap_or(entry.provenance.timestamp).as_millis().into(),
        "expiration_date" => data.and_then(|data| data.expires.clone()).into(),
        "categories" => entry.tags.iter().map(Value::from).collect(),
        _ if OWNERS.iter().any(|(owner, _)| *owner == name) => {
            data.and_then(|data| data.owner.get(name).cloned()).into()
        }
        _ => {
            let key = name.strip_prefix("metadata.").unwrap_or(name);
            let mut value = data.and_then(|data| data.metadata.get(key).cloned()).unwrap_or_default();
            redact::value(&mut value);
            value
        }
    }
}

fn compare(has: &Value, op: Op, value: &Value) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    // Of a list, one that fits will do.
    if let (Value::Array(items), Op::Eq | Op::In | Op::Contains | Op::Icontains) = (has, op) {
        return items.iter().any(|item| match op {
            Op::Contains => item == value,
            Op::Icontains => lower(item).as_deref() == value.as_str(),
            op => compare(item, op, value),
        });
    }
    let order = |value: &Value| match (has, value) {
        (Value::Number(one), Value::Number(other)) => one.as_f64()?.partial_cmp(&other.as_f64()?),
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        _ => None,
    };
    let same = |value: &Value| has == value || order(value) == Some(Equal);
    match op {
        Op::Eq if value == "*" => !has.is_null(),
        Op::Eq => same(value),
        // In a list `*` is a name like any other.
        Op::In => value.as_array().is_some_and(|values| values.iter().any(same)),
        Op::Ne => !compare(has, Op::Eq, value),
        Op::Nin => !compare(has, Op::In, value),
        Op::Gt => order(value) == Some(Greater),
        Op::Gte => matches!(order(value), Some(Greater | Equal)),
        Op::Lt => order(value) == Some(Less),
        Op::Lte => matches!(order(value), Some(Less | Equal)),
        Op::Contains => has.as_str().zip(value.as_str()).is_some_and(|(has, value)| has.contains(value)),
        Op::Icontains => lower(has).zip(value.as_str()).is_some_and(|(has, value)| has.contains(value)),
    }
}

fn lower(value: &Value) -> Option<String> {
    value.as_str().map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_read_and_kept() {
        let entry = |owner: Value, metadata: Value| {
            let data = json!({ "owner": owner, "metadata": metadata, "expires": "2026-12-31" });
            serde_json::from_value::<Entry>(json!({
                "id": EntryId::new(Time::from_millis(0)), "number": 1, "type": "fact", "content": "Likes Green tea", "tags": ["tea"],
                "behavioral": false, "score": 0, "data": data,
                "provenance": { "session": "s", "group": "main", "timestamp": "2026-02-18T14:30:00Z", "source": "agent" },
            }))
            .unwrap()
        };
        let entry = entry(
            json!({ "user_id": "Ada", "run_id": "7" }),
            json!({ "room": "k", "size": 3, "list": ["a", "b"], "key": format!("ghp_{}", "a1B2".repeat(9)) }),
        );
        for (filter, fits) in [
            (json!({}), true),
            (json!({ "user_id": "Ada" }), true),
            (json!({ "user_id": "ada" }), false),
            (json!({ "user_id": "*" }), true),
            (json!({ "agent_id": "*" }), false),
            (json!({ "user_id": ["Bo", "Ada"] }), true),
            (json!({ "user_id": { "in": ["Bo"] } }), false),
            (json!({ "user_id": { "nin": ["Bo"] } }), true),
            (json!({ "user_id": { "ne": "Ada" } }), false),
            (json!({ "AND": [{ "user_id": "Ada" }, { "run_id": "7" }] }), true),
            (json!({ "AND": [{ "user_id": "Ada" }, { "run_id": "8" }] }), false),
            (json!({ "OR": [{ "user_id": "Bo" }, { "run_id": "7" }] }), true),
            (json!({ "OR": [] }), false),
            (json!({ "NOT": [{ "user_id": "Ada" }] }), false),
            (json!({ "NOT": { "user_id": "Bo" } }), true),
            (json!({ "user_id": "Ada", "NOT": [{ "run_id": "7" }] }), false),
            (json!({ "metadata": { "room": "k" } }), true),
            (json!({ "metadata": { "room": "K" } }), false),
            (json!({ "room": "k" }), true),
            (json!({ "size": { "gt": 2, "lte": 3 } }), true),
            (json!({ "size": { "lt": 3 } }), false),
            (json!({ "size": { "gt": "2" } }), false),
            (json!({ "list": { "contains": "b" } }), true),
            (json!({ "memory": { "icontains": "GREEN" } }), true),
            (json!({ "memory": { "contains": "GREEN" } }), false),
            (json!({ "categories": { "in": ["tea"] } }), true),
            (json!({ "created_at": { "gte": "2026-02-18", "lt": "2026-02-19" } }), true),
            (json!({ "created_at": { "lt": "2026-02-18" } }), false),
            // A moment is the same however it is written.
            (json!({ "created_at": "2026-02-18T15:30:00+01:00" }), true),
            (json!({ "created_at": { "lt": "2026-02-18T14:30:00.5Z" } }), true),
            (json!({ "created_at": { "gt": "2026-02-18T15:00:00+02:00" } }), true),
            // A star stands for all only by itself, and what has a tag does not lack it.
            (json!({ "user_id": { "in": ["*"] } }), false),
            (json!({ "user_id": ["*"] }), false),
            (json!({ "user_id": { "ne": "*" } }), false),
            (json!({ "categories": { "ne": "tea" } }), false),
            (json!({ "categories": { "nin": ["tea"] } }), false),
            (json!({ "categories": { "icontains": "TEA" } }), true),
            (json!({ "list": { "ne": "c" } }), true),
            // A credential can't be guessed letter by letter.
            (json!({ "key": { "contains": "ghp_" } }), false),
            (json!({ "key": "*" }), true),
        ] {
            assert_eq!(Filter::parse(&filter).unwrap().fits(&entry), fits, "{filter}");
        }
        for bad in [
            json!([]),
            json!({ "AND": "x" }),
            json!({ "size": { "above": 3 } }),
            json!({ "OR": [3] }),
            json!({ "metadata": 3 }),
            json!({ "user_id": { "in": "Ada" } }),
            json!({ "created_at": { "gt": "yesterday" } }),
        ] {
            assert_eq!(Filter::parse(&bad).unwrap_err().code(), "bad_argument", "{bad}");
        }
    }

    #[test]
    fn a_filter_has_bounds_and_names_an_owner() {
        let read = |filter: Value| Filter::read(filter.as_object().unwrap().clone());
        for filter in
            [json!({ "OR": vec![json!({ "a": 1 }); 600] }), json!({ "a": "x".repeat(LONGEST_FILTER) })]
        {
            assert_eq!(read(filter).unwrap_err().code(), "bad_argument");
        }
        for (filter, named) in [
            (json!({ "user_id": "ada" }), true),
            (json!({ "user_id": ["ada", "*"] }), true),
            (json!({ "AND": [{ "size": 3 }, { "run_id": "7" }] }), true),
            (json!({ "OR": [{ "agent_id": "a" }, { "run_id": "7" }] }), true),
            (json!({ "OR": [{ "agent_id": "a" }, { "run_id": "*" }] }), false),
            (json!({ "user_id": "*" }), false),
            (json!({ "user_id": { "ne": "ada" } }), false),
            (json!({ "NOT": [{ "user_id": "ada" }] }), false),
            (json!({ "NOT": [] }), false),
            (json!({ "memory": { "contains": "" } }), false),
        ] {
            assert_eq!(read(filter.clone()).unwrap().names_owner(), named, "{filter}");
        }
    }

    #[test]
    fn what_is_long_is_cut_between_words() {
        assert_eq!(pieces("  short "), ["short"]);
        assert!(pieces("  ").is_empty());
        let long = "word ".repeat(1000);
        let all = pieces(&long);
        assert!(all.len() == 3 && all.iter().all(|piece| piece.chars().count() <= MAX_CONTENT));
        assert_eq!(all.join(" "), long.trim());
        assert_eq!(pieces(&"ß".repeat(4001)).len(), 3);
    }
}
