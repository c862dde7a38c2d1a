//! The API of mem0, over entries. The owners of a memory (`user_id`, `agent_id`, `app_id`, `run_id`) and its metadata are stored
//! with the entry and filter exactly. Owners are tags too, so that people see them. They never select a group: that is the
//! caller's.
#![expect(missing_docs, reason = "the names of mem0")]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::filter::Filter;
use crate::base::caller::Actor;
use crate::base::ids::{EntryId, EntryRef};
use crate::base::redact::{Redact, redact};
use crate::base::{Calendar, Error, Result, Time};
use crate::group::View;
use crate::index::Scope;
use crate::records::entry::{
    self, Data, Draft, Edit, Entry, EntryType, MAX_CONTENT_CHARS, MAX_TAG_CHARS, OnDuplicate, Tags,
};
use crate::records::erase;
use crate::search;
use crate::store::Connection;
use crate::tools::call::{Call, ToolResult};
use crate::tools::conflict;
use crate::tools::limits::Action;
use crate::tools::memory::{forget_entries, is_behavioral};
use crate::tools::tool::Request;

/// The fields for the owners of a memory.
pub const OWNERS: &[&str] = &["user_id", "agent_id", "app_id", "run_id"];
/// The most characters of metadata, as JSON.
const MAX_METADATA_CHARS: usize = 8_000;
/// How many hits a filter is applied to.
const MAX_FILTERED_HITS: usize = 2_000;

/// One memory in mem0's form.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Memory {
    pub id: EntryId,
    pub memory: String,
    pub user_id: Option<String>,
    pub agent_id: Option<String>,
    pub app_id: Option<String>,
    pub run_id: Option<String>,
    pub hash: String,
    #[schemars(with = "Option<Map<String, Value>>")]
    pub metadata: Option<Map<String, Value>>,
    pub categories: Vec<String>,
    pub created_at: Time,
    pub updated_at: Time,
    pub expiration_date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

redact! {
    Memory {
        id, memory, user_id, agent_id, app_id, run_id, hash, metadata, categories, expiration_date
        / created_at, updated_at, score
    }
}

impl Memory {
    fn new(entry: Entry, score: Option<f64>) -> Memory {
        let Data { mut owner, metadata, expires, .. } = entry.data.unwrap_or_default();
        let own = |tag: &&str| !OWNERS.iter().any(|owner| tag.starts_with(&format!("{}:", kind(owner))));
        Memory {
            hash: entry::content_hash(&entry.content).chars().take(32).collect(),
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
pub struct AddRequest {
    #[schemars(length(max = 200))]
    pub messages: Vec<Message>,
    pub user_id: Option<String>,
    pub agent_id: Option<String>,
    pub app_id: Option<String>,
    pub run_id: Option<String>,
    #[schemars(with = "Option<Map<String, Value>>")]
    pub metadata: Option<Map<String, Value>>,
    /// Only the user's messages; otherwise all except the system's.
    pub infer: Option<bool>,
    /// YYYY-MM-DD.
    pub expiration_date: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Message {
    pub role: String,
    pub content: String,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AddAnswer {
    pub results: Vec<AddedMemory>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct AddedMemory {
    pub id: EntryId,
    pub memory: String,
    pub event: &'static str,
}

redact! {
    AddAnswer { results }
    AddedMemory { id, memory / event }
}

impl Request for AddRequest {
    type Answer = AddAnswer;
    const NAME: &str = "mem0_add";

    fn only_adds(&self, _: &View<'_>) -> Result<bool> {
        Ok(true)
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<AddAnswer> {
        const TOOL: &str = "mem0_add";
        let given = [&self.user_id, &self.agent_id, &self.app_id, &self.run_id];
        let mut data = Data { metadata: self.metadata.unwrap_or_default(), ..Data::default() };
        for (name, value) in OWNERS.iter().zip(given) {
            if let Some(value) = value {
                data.owner.insert((*name).to_owned(), checked_owner(TOOL, name, value)?);
            }
        }
        if data.owner.is_empty() {
            return Err(Error::bad_argument(
                TOOL,
                "user_id",
                "is missing, and so are `agent_id`, `app_id` and `run_id`",
            )
            .into());
        }
        check_data(TOOL, &data.metadata, self.expiration_date.as_deref())?;
        data.expires = self.expiration_date;
        let tags = Tags::new(data.owner.iter().filter_map(|(name, value)| tag(name, value)));
        // Without a model that summarises, the user's messages are the memories; without any, the other messages.
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
                    on_duplicate: OnDuplicate::Keep,
                });
            }
        }
        let results = call.write(|write| {
            let mut results: Vec<AddedMemory> = Vec::new();
            for draft in drafts {
                let stored = entry::store(write.db, &write.origin, draft)?;
                if !stored.duplicate {
                    write.record(&stored.entry.id, "chars", stored.entry.content.chars().count());
                }
                let event = if stored.duplicate { "NONE" } else { "ADD" };
                results.push(AddedMemory { id: stored.entry.id, memory: stored.entry.content, event });
            }
            match results.iter().any(|added| added.event == "ADD") {
                true => write.spend(Action::Store)?,
                false => write.unchanged(),
            }
            Ok(results)
        })?;
        let new = || results.iter().filter(|added| added.event == "ADD");
        for added in new() {
            call.view().tell_write("entry", added.id.as_str(), added.memory.chars().count());
        }
        // mem0 has no field for it: `nacre conflicts` lists what they contradict.
        let ids: Vec<String> = new().map(|added| added.id.to_string()).collect();
        conflict::of_import(call.view(), &ids)?;
        Ok(AddAnswer { results })
    }

    fn say(answer: &AddAnswer, _: &Calendar) -> String {
        format!("{} memories.", answer.results.len())
    }
}

/// Splits a text into pieces that fit an entry, at the end of lines, sentences or words.
fn pieces(text: &str) -> Vec<&str> {
    let (mut rest, mut all) = (text.trim(), Vec::new());
    while let Some((most, _)) = rest.char_indices().nth(MAX_CONTENT_CHARS) {
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
    const MAX_OWNER_CHARS: usize = 200;
    if value.trim().is_empty() {
        return Err(Error::bad_argument(tool, field, "is empty"));
    }
    match value.chars().count() {
        length if length > MAX_OWNER_CHARS => Err(Error::bad_argument(
            tool,
            field,
            format!("has {length} characters, at most {MAX_OWNER_CHARS} fit"),
        )),
        _ => Ok(value.to_owned()),
    }
}

fn check_data(tool: &str, metadata: &Map<String, Value>, expires: Option<&str>) -> Result<()> {
    let size = serde_json::to_string(metadata)?.chars().count();
    if size > MAX_METADATA_CHARS {
        return Err(Error::bad_argument(
            tool,
            "metadata",
            format!("has {size} characters, at most {MAX_METADATA_CHARS} fit"),
        ));
    }
    if expires.is_some_and(|day| crate::base::time::Day::parse(day).is_none()) {
        return Err(Error::bad_argument(tool, "expiration_date", "is not a day such as 2026-12-31"));
    }
    Ok(())
}

/// Returns the prefix of an owner's tag: `user` for `user_id`.
fn kind(owner: &str) -> &str {
    owner.trim_end_matches("_id")
}

/// Returns the tag of an owner, if it is short enough.
fn tag(name: &str, value: &str) -> Option<String> {
    let tag = format!("{}:{value}", kind(name));
    let is_kept =
        tag.split_whitespace().collect::<Vec<_>>().join(" ") == tag && tag.chars().count() <= MAX_TAG_CHARS;
    is_kept.then_some(tag)
}

/// Find memories by a query, or list the newest.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct FindRequest {
    #[schemars(length(max = 20_000))]
    pub query: Option<String>,
    /// Only these ids.
    #[schemars(length(max = 1000))]
    pub ids: Option<Vec<String>>,
    /// The filters of mem0.
    #[schemars(with = "Option<Map<String, Value>>")]
    pub filters: Option<Map<String, Value>>,
    #[schemars(range(min = 0))]
    pub offset: Option<usize>,
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
    pub threshold: Option<f64>,
    #[serde(default)]
    pub show_expired: bool,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FindAnswer {
    pub count: usize,
    pub results: Vec<Memory>,
}

redact! { FindAnswer { results / count } }

impl Request for FindRequest {
    type Answer = FindAnswer;
    const NAME: &str = "mem0_find";

    fn run(self, call: &mut Call<'_>) -> ToolResult<FindAnswer> {
        let filter = Filter::read(self.filters.unwrap_or_default())?;
        let today = call.caller.now.to_string();
        let fits = |entry: &Entry| {
            let expires = entry.data.as_ref().and_then(|data| data.expires.as_deref());
            let expired = expires.is_some_and(|day| today.get(..10).is_some_and(|today| day < today));
            (self.show_expired || !expired) && filter.fits(entry)
        };
        let (offset, limit) = (self.offset.unwrap_or(0), self.limit.unwrap_or(100));
        let found: Vec<Memory> = match (&self.ids, self.query.as_deref().map(str::trim)) {
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
                    .map(|entry| Memory::new(entry, None))
                    .collect()
            }
            (None, Some(query)) if !query.is_empty() => {
                let found = search(call, query, &filter)?;
                let least = self.threshold.unwrap_or(0.0);
                let hits = found.into_iter().filter(|(entry, score)| *score >= least && fits(entry));
                hits.map(|(entry, score)| Memory::new(entry, Some(score))).collect()
            }
            _ => {
                // All matches are counted, but only those of the page are kept.
                let (mut count, mut results) = (0, Vec::new());
                call.read(|db| {
                    entry::walk_current(db, |entry| {
                        if fits(&entry) {
                            count += 1;
                            if count > offset && results.len() < limit {
                                results.push(Memory::new(entry, None));
                            }
                        }
                        true
                    })
                })?;
                return Ok(FindAnswer { count, results });
            }
        };
        let count = found.len();
        Ok(FindAnswer { count, results: found.into_iter().skip(offset).take(limit).collect() })
    }

    fn say(answer: &FindAnswer, _: &Calendar) -> String {
        answer.results.iter().map(|found| found.memory.as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// Returns the hits of a query, best first. The tags of the filter's owners narrow the search.
fn search(call: &mut Call<'_>, query: &str, filter: &Filter) -> Result<Vec<(Entry, f64)>> {
    let request = search::Request {
        query: query.to_owned(),
        scope: vec![Scope::Entries],
        tags: Tags::new(filter.owners().iter().filter_map(|(name, value)| tag(name, value))),
        limit: MAX_FILTERED_HITS,
        at: call.caller.now,
        ..Default::default()
    };
    let found = search::search(call.view(), &request)?;
    call.view().tell_search(query, found.hits.len());
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
pub struct UpdateRequest {
    pub id: EntryRef,
    #[schemars(length(min = 1, max = 2000))]
    pub text: Option<String>,
    #[schemars(with = "Option<Map<String, Value>>")]
    pub metadata: Option<Map<String, Value>>,
    /// YYYY-MM-DD; empty: it never expires.
    pub expiration_date: Option<String>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct UpdateAnswer(#[schemars(with = "MemoryIdentity")] pub Memory);

impl Redact for UpdateAnswer {
    fn redact(&mut self) {
        self.0.redact();
    }
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "a schema")]
struct MemoryIdentity {
    id: EntryId,
    memory: String,
}

impl Request for UpdateRequest {
    type Answer = UpdateAnswer;
    const NAME: &str = "mem0_update";

    fn steers(&self, view: &View<'_>) -> Result<bool> {
        Ok(is_behavioral(view, &self.id))
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<UpdateAnswer> {
        const TOOL: &str = "mem0_update";
        if (&self.text, &self.metadata, &self.expiration_date) == (&None, &None, &None) {
            return Err(Error::bad_argument(
                TOOL,
                "text",
                "is missing, and so are `metadata` and `expiration_date`",
            )
            .into());
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
        call.view().tell_write("entry", entry.id.as_str(), entry.content.chars().count());
        conflict::of_import(call.view(), &[entry.id.to_string()])?;
        Ok(UpdateAnswer(Memory::new(entry, None)))
    }

    fn say(UpdateAnswer(answer): &UpdateAnswer, _: &Calendar) -> String {
        answer.memory.clone()
    }
}

/// Delete memories permanently: by id, or all matches of filters.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeleteRequest {
    #[schemars(length(max = 1000))]
    pub ids: Option<Vec<String>>,
    #[schemars(with = "Option<Map<String, Value>>")]
    pub filters: Option<Map<String, Value>>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DeleteAnswer {
    pub deleted: usize,
}

redact! { DeleteAnswer { / deleted } }

impl DeleteRequest {
    /// Returns the memories to delete.
    pub(super) fn going(&self, db: &Connection) -> Result<Vec<Entry>> {
        let mut going: Vec<Entry> = Vec::new();
        match (&self.ids, &self.filters) {
            // All named memories or none.
            (Some(ids), _) => {
                let mut known = std::collections::HashSet::new();
                for id in ids {
                    let named = id
                        .parse::<EntryRef>()
                        .map_err(|_| Error::NoEntry { id: crate::base::text::shorten(id) })?;
                    let entry = entry::get(db, &named)?;
                    if known.insert(entry.id.clone()) {
                        going.push(entry);
                    }
                }
            }
            (None, Some(filters)) if !filters.is_empty() => {
                let filter = Filter::read(filters.clone())?;
                // Superseded memories belong to the owners as well.
                entry::newest_first(db, |entry| {
                    if filter.fits(&entry) {
                        going.push(entry);
                    }
                    true
                })?;
            }
            _ => {
                return Err(Error::bad_argument("mem0_delete", "filters", "is missing; say what to delete"));
            }
        }
        Ok(going)
    }
}

impl Request for DeleteRequest {
    type Answer = DeleteAnswer;
    const NAME: &str = "mem0_delete";

    fn steers(&self, view: &View<'_>) -> Result<bool> {
        Ok(view.read(|db| self.going(db))?.iter().any(|entry| entry.behavioral))
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<DeleteAnswer> {
        if let (None, Some(filters)) = (&self.ids, &self.filters)
            && call.caller.actor == Actor::Agent
            && !filters.is_empty()
            && !Filter::read(filters.clone())?.names_owner()
        {
            return Err(Error::PeopleOnly { tool: "mem0_delete without an owner".into() }.into());
        }
        let going = call.read(|db| self.going(db))?;
        if going.is_empty() {
            return Ok(DeleteAnswer { deleted: 0 });
        }
        let mut gone = call.write(|write| {
            let mut gone = Vec::new();
            for Entry { id, .. } in &going {
                let named = EntryRef::Id(id.clone());
                let erased = erase::entry(write.db, &named)?;
                write.record(&erased.entry.id, "deleted", 1);
                gone.push(erased);
            }
            write.spend(Action::Delete)?;
            Ok(gone)
        })?;
        forget_entries(call, &mut gone)?;
        Ok(DeleteAnswer { deleted: gone.len() })
    }

    fn say(answer: &DeleteAnswer, _: &Calendar) -> String {
        format!("{} memories deleted.", answer.deleted)
    }
}

/// Return the earlier texts of a memory.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HistoryRequest {
    pub id: EntryRef,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct History {
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub history: Vec<Value>,
}

redact! { History { history } }

impl Request for HistoryRequest {
    type Answer = History;
    const NAME: &str = "mem0_history";

    fn run(self, call: &mut Call<'_>) -> ToolResult<History> {
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
        Ok(History { history: times.enumerate().map(row).collect() })
    }

    fn say(answer: &History, _: &Calendar) -> String {
        format!("{} texts.", answer.history.len())
    }
}

/// List the owners of memories.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OwnersRequest {}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Owners {
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub results: Vec<Value>,
}

redact! { Owners { results } }

impl Request for OwnersRequest {
    type Answer = Owners;
    const NAME: &str = "mem0_owners";

    fn run(self, call: &mut Call<'_>) -> ToolResult<Owners> {
        // By kind and name: the count, the first and the last.
        let mut owners: std::collections::BTreeMap<(usize, String), (usize, Time, Time)> =
            std::collections::BTreeMap::new();
        call.read(|db| {
            entry::walk_current(db, |entry| {
                let at = entry.provenance.timestamp;
                for (place, name) in OWNERS.iter().enumerate() {
                    if let Some(value) = entry.data.as_ref().and_then(|data| data.owner.get(*name)) {
                        let known = owners.entry((place, value.clone())).or_insert((0, at, at));
                        *known = (known.0 + 1, known.1.min(at), known.2.max(at));
                    }
                }
                true
            })
        })?;
        let row = |((place, name), (count, first, last)): ((usize, String), (usize, Time, Time))| {
            let kind = kind(OWNERS[place]);
            json!({
                "id": format!("{kind}:{name}"), "name": name, "type": kind, "total_memories": count,
                "created_at": first, "updated_at": last,
            })
        };
        Ok(Owners { results: owners.into_iter().map(row).collect() })
    }

    fn say(answer: &Owners, _: &Calendar) -> String {
        format!("{} owners.", answer.results.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_is_cut_between_words() {
        assert_eq!(pieces("  short "), ["short"]);
        assert!(pieces("  ").is_empty());
        let long = "word ".repeat(1000);
        let all = pieces(&long);
        assert!(all.len() == 3 && all.iter().all(|piece| piece.chars().count() <= MAX_CONTENT_CHARS));
        assert_eq!(all.join(" "), long.trim());
        assert_eq!(pieces(&"ß".repeat(4001)).len(), 3);
    }
}
