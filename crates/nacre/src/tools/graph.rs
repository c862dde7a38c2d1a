//! The tools of the knowledge graph.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::call::{Call, ToolResult, Write};
use super::conflict::{self, say_contradictions};
use super::lean::LeanAnswer;
use super::limits::Action;
use super::schema;
use super::tool::{Lens, Request};
use crate::base::caller::Visibility;
use crate::base::frame::one_line;
use crate::base::origin::RecordOrigin;
use crate::base::redact::{self, redact};
use crate::base::settings::Dialect;
use crate::base::{Calendar, Error, Result, Time};
use crate::group::JointRecall as Recalling;
use crate::group::View;
use crate::records::conflict::StatementRef;
use crate::records::entry;
use crate::records::graph::fact::{self, Draft, Filter};
use crate::records::graph::name::{self, RemovedEntity};
use crate::records::graph::recall::{self, MIN_ENTITY_SCORE, Speaker};
use crate::records::graph::{self, Alias, EntitySummary, Fact, GraphMatch, RecallResult, Relation, relation};
use crate::records::workspace::checkpoint::DeletedRecord;
use crate::search::{self, Contradiction, NewStatement, NewerStatement};
use crate::store::Connection;

/// How many facts an answer has by default.
const DEFAULT_FACTS: usize = 6;

/// Returns the origin of a statement: who makes it, and since when it holds, by default now.
pub(super) fn origin<'t>(write: &Write<'t>, since: Option<Time>, private: Option<bool>) -> graph::Origin<'t> {
    let entry::Origin { now, session, visibility, source, origin, private: private_by_default, .. } =
        write.origin;
    let source = match source {
        entry::Source::Agent => graph::Source::Agent,
        _ => graph::Source::Person,
    };
    let since = since.unwrap_or(now);
    let session = Some(session);
    graph::Origin { now, since, source, origin, session, private, private_by_default, visibility }
}

/// Look up facts and relations of a named person, project or thing. Use it when you know the name; otherwise use
/// memory_search.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphRequest {
    /// A question with the names, or names and attributes.
    #[schemars(length(min = 1, max = 2000))]
    pub query: String,
    /// Default 6.
    #[schemars(range(min = 1, max = 100))]
    pub limit: Option<usize>,
    /// State at this time, ISO 8601; default now.
    pub as_of: Option<Time>,
    /// "my" and "I" mean the agent, not the user.
    #[serde(default)]
    pub of_agent: bool,
}

impl Request for GraphRequest {
    type Answer = RecallResult;
    const NAME: &str = "graph_search";
    const CROSSES_GROUPS: bool = true;
    const ADVANCED: &'static [&'static str] = &["of_agent"];
    const LEAN_OUTPUT: fn() -> Value = schema::output::<GraphFields>;

    fn run(self, call: &mut Call<'_>) -> ToolResult<RecallResult> {
        let reads = call.settings().documents.index && call.settings().graph.documents;
        let missing = if reads { call.follow_documents(vec![crate::index::Scope::Memory]).1 } else { None };
        let language = call.settings().search.language();
        let request = recall::Request {
            query: &self.query,
            speaker: if self.of_agent { Speaker::Agent } else { Speaker::User },
            limit: self.limit.unwrap_or(DEFAULT_FACTS),
            as_of: self.as_of,
            by_words: true,
            rules: (&call.settings().graph).into(),
        };
        let mut recalled = call.read(|db| recall::recall(db, &request, language))?;
        // NanoClaw answers with everything known about an entity if the attribute is unknown.
        if recalled.known.is_empty()
            && call.settings().dialect == Dialect::Nanoclaw
            && !recalled.entities.is_empty()
        {
            let names = recalled.entities.join(" ");
            let request = recall::Request { query: &names, ..request };
            recalled.known = call.read(|db| recall::recall(db, &request, language))?.known;
            if !recalled.known.is_empty() {
                recalled.note = None;
            }
        }
        recalled.missing = missing.into_iter().collect();
        let cited = recalled.known.iter().flat_map(|known| {
            let size = known.text.chars().count();
            known.cites.iter().map(move |cite| (cite.path.as_str(), size))
        });
        call.note_seen(&cited.collect::<Vec<_>>());
        let now = call.caller.now;
        let bump = call.settings().graph.activation_bump;
        call.view().tell_search(&self.query, recalled.known.len());
        let matched =
            recalled.known.iter().filter(|known| known.score >= MIN_ENTITY_SCORE && known.until.is_none());
        let graph = matched.map(|known| known.id.clone()).collect();
        call.view().note_recalled(&self.query, Recalling { entries: Vec::new(), graph, at: now, bump });
        if self.as_of.is_none() {
            recalled.known = call.read(|db| with_newer(db, recalled.known))?;
        }
        Ok(recalled)
    }

    fn lean(answer: &RecallResult, lens: &Lens<'_>) -> Option<serde_json::Result<Value>> {
        Some(serde_json::to_value(LeanAnswer::of_graph(answer, lens)))
    }

    fn say(answer: &RecallResult, calendar: &Calendar) -> String {
        let mut text = String::new();
        for missing in &answer.missing {
            let _ = writeln!(text, "Missing: {missing}.");
        }
        if let Some(note) = &answer.note {
            let _ = write!(text, "Nothing found: {note}.");
        }
        for known in &answer.known {
            let date = calendar.date(known.since);
            let _ = write!(text, "[{}] {} ({date})", one_line(&known.id), one_line(&known.text));
            if let Some(cite) = known.cites.first() {
                let _ = write!(text, " ({}:{})", one_line(&cite.path), cite.line);
            }
            if let Some(until) = known.until {
                let _ = write!(text, " (until {until})");
            }
            text.push_str(if known.linked { " [linked]\n" } else { "\n" });
        }
        text.truncate(text.trim_end().len());
        text
    }
}

/// Puts the newer statement that contradicts a fact before it.
fn with_newer(db: &Connection, known: Vec<GraphMatch>) -> Result<Vec<GraphMatch>> {
    let mut all: Vec<GraphMatch> = Vec::new();
    for one in known {
        if let Some(NewerStatement { kind, statement, .. }) = search::newer(db, &one.text, one.since, true)? {
            let kind = match kind.as_str() {
                "chunk" => "document",
                entry::KIND => entry::KIND,
                _ => fact::KIND,
            };
            let Contradiction { id, text, at, .. } = statement;
            if all.iter().all(|known| known.id != id) {
                all.push(one.newer(kind, id, text, at));
            }
        }
        if all.iter().all(|known| known.id != one.id) {
            all.push(one);
        }
    }
    Ok(all)
}

/// The fields that a schema for agents names. The answer has the form of a search's answer.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "a schema")]
struct GraphFields {
    hits: Vec<serde_json::Map<String, Value>>,
}

/// Set one attribute of a named person, project or thing: a name-key-value with exactly one current value, such as heron,
/// port, 6459. Use memory_store for everything else; never both.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FactRequest {
    /// The name, or an alias.
    pub entity: String,
    /// The attribute, such as birthday or port.
    pub key: String,
    /// The current value.
    pub value: String,
    /// Of the entity: person, family, friend, pet, organization, project, tool, host, place, event, decision,
    /// preference, convention, document, user or self.
    pub category: Option<String>,
    /// 0 to 1; default 0.5.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub importance: Option<f64>,
    /// Whether it never fades; default for people, decisions and preferences.
    pub permanent: Option<bool>,
    /// Valid since, ISO 8601; default now.
    pub since: Option<Time>,
    /// Hide it from shared sessions.
    pub private: Option<bool>,
}

/// The result of setting a fact.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FactAnswer {
    #[serde(flatten)]
    #[expect(missing_docs)]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub fact: Fact,
    /// The value that it replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<String>,
    /// Whether it was already known.
    pub known: bool,
    /// Current statements that say otherwise about the same thing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub contradicts: Vec<Contradiction>,
}

redact! { FactAnswer { fact, replaced, contradicts / known } }

impl Request for FactRequest {
    type Answer = FactAnswer;
    const NAME: &str = "fact_upsert";
    const ADVANCED: &'static [&'static str] = &["category", "importance", "permanent", "private"];

    fn only_adds(&self, view: &View<'_>) -> Result<bool> {
        let filter = Filter { entity: Some(&self.entity), key: Some(&self.key), ..Filter::default() };
        // An entity that is not known has no value that could be replaced.
        let known = view.read(|db| fact::list(db, &filter, 100)).unwrap_or_default();
        Ok(known.iter().all(|fact| fact.origin == RecordOrigin::Untrusted))
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<FactAnswer> {
        // A design without a list of categories takes any.
        let adds_category = call.settings().dialect == Dialect::Nanoclaw;
        let mut set = call.write(|write| {
            let origin = origin(write, self.since, self.private);
            if let Some(category) = self.category.as_deref().filter(|_| adds_category) {
                fact::add_category(write.db, category)?;
            }
            let draft = Draft {
                entity: &self.entity,
                key: &self.key,
                value: &self.value,
                category: self.category.as_deref(),
                importance: self.importance,
                permanent: self.permanent,
            };
            let set = fact::set(write.db, &origin, &draft)?;
            if !set.changed {
                write.unchanged();
            } else {
                if !set.known {
                    write.spend(Action::Store)?;
                }
                write.record(&set.fact.id, "chars", set.fact.value.chars().count());
            }
            Ok(set)
        })?;
        set.fact.cites = call.seen_cites(set.fact.cites)?;
        if !set.known {
            call.view().tell_write("fact", &set.fact.id, set.fact.value.chars().count());
        }
        // Facts of the same entity and key replace each other; everything else is only compared.
        let statement = format!("{} {}: {}", set.fact.entity, set.fact.key.replace('_', " "), set.fact.value);
        let skip = [set.fact.id.clone()];
        let new = NewStatement { content: &statement, skip: &skip, ..NewStatement::default() };
        let mut contradicts = call.read(|db| search::contradicting(db, &new))?;
        let later = StatementRef::new(set.fact.id.as_str(), &redact::text(&set.fact.line()));
        conflict::note(call, &later, &mut contradicts)?;
        Ok(FactAnswer { fact: set.fact, replaced: set.replaced, known: set.known, contradicts })
    }

    fn say(answer: &FactAnswer, calendar: &Calendar) -> String {
        let mut text = format!("[{}] {}", answer.fact.id, one_line(&answer.fact.line()));
        if answer.known {
            text.push_str(" (known already)");
        }
        if let Some(before) = &answer.replaced {
            let _ = write!(text, " (was {})", one_line(before));
        }
        text.push_str(&say_contradictions(&answer.contradicts, calendar));
        text
    }
}

/// List facts, by entity and key.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FactsRequest {
    /// Only facts of this entity.
    pub entity: Option<String>,
    /// Only this key.
    pub key: Option<String>,
    /// Only entities of this category.
    pub category: Option<String>,
    /// State at this time, ISO 8601.
    pub as_of: Option<Time>,
    /// Include earlier values.
    #[serde(default)]
    pub history: bool,
    /// Default 100.
    #[schemars(range(min = 1, max = 10000))]
    pub limit: Option<usize>,
}

/// A list of facts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Facts {
    /// By entity and key.
    pub facts: Vec<Fact>,
    /// Checkpoints that still contain removed facts, because they can't be written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub still_in: Vec<String>,
}

redact! { Facts { facts, still_in } }

impl Request for FactsRequest {
    type Answer = Facts;
    const NAME: &str = "fact_list";

    fn run(self, call: &mut Call<'_>) -> ToolResult<Facts> {
        let filter = Filter {
            entity: self.entity.as_deref(),
            key: self.key.as_deref(),
            category: self.category.as_deref(),
            as_of: self.as_of,
            history: self.history,
        };
        let facts = call.read(|db| fact::list(db, &filter, self.limit.unwrap_or(100)))?;
        Ok(Facts { facts, still_in: Vec::new() })
    }

    fn say(answer: &Facts, _: &Calendar) -> String {
        lines(answer.facts.iter().map(|fact| (&fact.id, fact.line(), fact.until)), "There are no facts.")
    }
}

fn lines<'a>(rows: impl Iterator<Item = (&'a String, String, Option<Time>)>, none: &str) -> String {
    let said = rows.map(|(id, line, until)| {
        let until = until.map(|until| format!(" (until {until})")).unwrap_or_default();
        format!("[{id}] {}{until}", one_line(&line))
    });
    let text = said.collect::<Vec<_>>().join("\n");
    if text.is_empty() { none.into() } else { text }
}

/// Remove facts permanently: one by its id, or the facts of an entity, all of them or those of one key.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FactRemoveRequest {
    /// The id of a fact, or the name of an entity.
    pub of: String,
    /// Only this key of the entity.
    pub key: Option<String>,
}

impl Request for FactRemoveRequest {
    type Answer = Facts;
    const NAME: &str = "fact_remove";

    fn run(self, call: &mut Call<'_>) -> ToolResult<Facts> {
        // Only facts that the session sees are removed.
        let seen = call.read(|db| fact::matching(db, &self.of, self.key.as_deref()))?;
        let facts = call.write(|write| {
            let gone = match write.origin.visibility {
                Visibility::Private => fact::remove(write.db, &self.of, self.key.as_deref())?,
                Visibility::Shared => {
                    for fact in &seen {
                        fact::remove(write.db, &fact.id, None)?;
                    }
                    seen
                }
            };
            write.spend(Action::Delete)?;
            gone.iter().for_each(|fact| write.record(&fact.id, "deleted", 1));
            Ok(gone)
        })?;
        let still_in = call.forget(facts.iter().map(|fact| DeletedRecord::of(&fact.id)))?;
        Ok(Facts { facts, still_in })
    }

    fn say(answer: &Facts, _: &Calendar) -> String {
        let ids = answer.facts.iter().map(|fact| fact.id.as_str()).collect::<Vec<_>>().join(", ");
        let mut text = format!("Removed {ids}.");
        for checkpoint in &answer.still_in {
            let _ = write!(text, " Still in checkpoint {}.", one_line(checkpoint));
        }
        text
    }
}

/// Link two entities, such as "Petra owns heron".
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelationRequest {
    /// The subject.
    pub subject: String,
    /// The predicate, such as owns, works_at or runs_on.
    pub predicate: String,
    /// The object.
    pub object: String,
    /// Valid since, ISO 8601; default now.
    pub since: Option<Time>,
    /// Hide it from shared sessions.
    pub private: Option<bool>,
}

/// The result of adding a relation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RelationAnswer {
    #[serde(flatten)]
    #[expect(missing_docs)]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub relation: Relation,
    /// Whether it was already known.
    pub known: bool,
}

redact! { RelationAnswer { relation / known } }

impl Request for RelationRequest {
    type Answer = RelationAnswer;
    const NAME: &str = "relation_add";

    fn only_adds(&self, _: &View<'_>) -> Result<bool> {
        Ok(true)
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<RelationAnswer> {
        let mut added = call.write(|write| {
            let origin = origin(write, self.since, self.private);
            let added = relation::add(write.db, &origin, &self.subject, &self.predicate, &self.object)?;
            if added.known {
                write.unchanged();
            } else {
                write.spend(Action::Store)?;
                write.record(&added.relation.id, "added", 1);
            }
            Ok(added)
        })?;
        added.relation.cites = call.seen_cites(added.relation.cites)?;
        if !added.known {
            call.view().tell_write("relation", &added.relation.id, added.relation.line().chars().count());
        }
        Ok(RelationAnswer { relation: added.relation, known: added.known })
    }

    fn say(answer: &RelationAnswer, _: &Calendar) -> String {
        let known = if answer.known { " (known already)" } else { "" };
        format!("[{}] {}{known}", answer.relation.id, one_line(&answer.relation.line()))
    }
}

/// List relations.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelationsRequest {
    /// Only relations of this entity, at either end.
    pub entity: Option<String>,
    /// State at this time, ISO 8601.
    pub as_of: Option<Time>,
    /// Include earlier values.
    #[serde(default)]
    pub history: bool,
    /// Default 100.
    #[schemars(range(min = 1, max = 10000))]
    pub limit: Option<usize>,
}

/// A list of relations.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Relations {
    /// By subject and predicate.
    pub relations: Vec<Relation>,
}

redact! { Relations { relations } }

impl Request for RelationsRequest {
    type Answer = Relations;
    const NAME: &str = "relation_list";

    fn run(self, call: &mut Call<'_>) -> ToolResult<Relations> {
        let Self { entity, as_of, history, limit } = self;
        let list =
            |db: &Connection| relation::list(db, entity.as_deref(), as_of, history, limit.unwrap_or(100));
        Ok(Relations { relations: call.read(list)? })
    }

    fn say(answer: &Relations, _: &Calendar) -> String {
        let rows = answer.relations.iter().map(|relation| (&relation.id, relation.line(), relation.until));
        lines(rows, "There are no relations.")
    }
}

/// End a relation, which stays as history; or remove it permanently.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelationEndRequest {
    /// Its id, or else subject, predicate and object.
    pub id: Option<String>,
    #[expect(missing_docs)]
    pub subject: Option<String>,
    #[expect(missing_docs)]
    pub predicate: Option<String>,
    #[expect(missing_docs)]
    pub object: Option<String>,
    /// Remove it permanently.
    #[serde(default)]
    pub remove: bool,
}

impl Request for RelationEndRequest {
    type Answer = Relation;
    const NAME: &str = "relation_end";

    fn run(self, call: &mut Call<'_>) -> ToolResult<Relation> {
        let named = match (&self.id, &self.subject, &self.predicate, &self.object) {
            (Some(id), None, None, None) => relation::RelationRef::Id(id),
            (None, Some(subject), Some(predicate), Some(object)) => {
                relation::RelationRef::Ends(subject, predicate, object)
            }
            _ => {
                let problem = "is missing; give it, or subject, predicate and object";
                return Err(Error::bad_argument("relation_end", "id", problem).into());
            }
        };
        // Only a relation that the session sees is ended.
        let seen = call.read(|db| relation::find(db, &named))?;
        let named = match call.caller.visibility {
            Visibility::Private => named,
            Visibility::Shared => relation::RelationRef::Id(&seen.id),
        };
        let mut relation = call.write(|write| {
            let relation = match self.remove {
                true => {
                    write.spend(Action::Delete)?;
                    relation::remove(write.db, &named)?
                }
                false => relation::end(write.db, write.origin.now, &named)?,
            };
            write.record(&relation.id, if self.remove { "deleted" } else { "ended" }, 1);
            Ok(relation)
        })?;
        relation.cites = call.seen_cites(relation.cites)?;
        if self.remove {
            // If a checkpoint can't be written, the audit log keeps a restore from bringing the relation back.
            call.forget([DeletedRecord::of(&relation.id)])?;
        }
        Ok(relation)
    }

    fn say(answer: &Relation, _: &Calendar) -> String {
        format!("[{}] {} no longer holds.", answer.id, one_line(&answer.line()))
    }
}

/// Give an entity another name. An entity may have several aliases; an alias belongs to one entity.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AliasRequest {
    /// The other name, such as Mama or K8s.
    pub alias: String,
    /// The entity.
    pub entity: String,
    /// Remove the alias instead.
    #[serde(default)]
    pub remove: bool,
}

/// The result of setting an alias.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AliasAnswer {
    /// The alias.
    pub alias: String,
    /// The entity.
    pub entity: String,
    /// Whether it was already known.
    pub known: bool,
    /// Whether it was removed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
}

redact! { AliasAnswer { alias, entity / known, removed } }

impl Request for AliasRequest {
    type Answer = AliasAnswer;
    const NAME: &str = "alias_add";

    fn run(self, call: &mut Call<'_>) -> ToolResult<AliasAnswer> {
        // The session must see the entity, and an alias that it removes.
        // NanoClaw's aliases may come before their entity; a name that resembles another is more likely a mistake.
        let may_create = call.settings().dialect == Dialect::Nanoclaw && !self.remove;
        let is_new = match call.read(|db| name::get(db, &self.entity)) {
            Err(Error::NoEntity { nearest: None, .. }) if may_create => true,
            seen => seen.map(|_| false)?,
        };
        if self.remove {
            call.read(|db| name::get(db, &self.alias))?;
        }
        call.write(|write| {
            // An entity that the session does not see is not given a name by it.
            if is_new && name::find(write.db, &self.entity)?.is_some() {
                return Err(Error::NoEntity { given: self.entity.clone(), nearest: None });
            }
            if is_new {
                name::find_or_create(write.db, &origin(write, None, None), &self.entity, "")?;
            }
            let (entity, known) = match self.remove {
                true => {
                    let whose = name::get(write.db, &self.entity)?;
                    let had = name::get(write.db, &self.alias)?;
                    if had.id != whose.id {
                        return Err(Error::NameTaken {
                            name: self.alias.clone(),
                            entity: had.name,
                            alias: true,
                        });
                    }
                    (name::remove_alias(write.db, &self.alias)?, false)
                }
                false => {
                    let (entity, row) =
                        name::add_alias(write.db, &origin(write, None, None), &self.alias, &self.entity)?;
                    (entity, row.is_none())
                }
            };
            match known {
                true => write.unchanged(),
                false => {
                    write.record(&format!("alias of {}", entity.id.0), "chars", self.alias.chars().count())
                }
            }
            Ok(AliasAnswer { alias: self.alias.clone(), entity: entity.name, known, removed: self.remove })
        })
    }

    fn say(answer: &AliasAnswer, _: &Calendar) -> String {
        let known = if answer.known { " (known already)" } else { "" };
        let (alias, entity) = (one_line(&answer.alias), one_line(&answer.entity));
        match answer.removed {
            true => format!("`{alias}` is no longer `{entity}`."),
            false => format!("`{alias}` is `{entity}`{known}."),
        }
    }
}

/// List entities with their aliases.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntitiesRequest {}

/// A list of entities.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Entities {
    /// By name.
    pub entities: Vec<EntitySummary>,
    /// All aliases.
    pub aliases: Vec<Alias>,
}

redact! { Entities { entities, aliases } }

impl Request for EntitiesRequest {
    type Answer = Entities;
    const NAME: &str = "entity_list";

    fn run(self, call: &mut Call<'_>) -> ToolResult<Entities> {
        Ok(call.read(|db| Ok(Entities { entities: name::list(db)?, aliases: name::aliases(db, None)? }))?)
    }

    fn say(answer: &Entities, _: &Calendar) -> String {
        if answer.entities.is_empty() {
            return "There are no entities.".into();
        }
        let line = |entity: &EntitySummary| {
            let also = entity.aliases.join(", ");
            let also = if also.is_empty() { also } else { format!(", also {also}") };
            let EntitySummary { name, category, facts, relations, .. } = entity;
            let category = if category.is_empty() { String::new() } else { format!(" ({category})") };
            let count =
                |count: i64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
            let (facts, relations) = (count(*facts, "fact"), count(*relations, "relation"));
            one_line(&format!("{name}{category}: {facts}, {relations}{also}"))
        };
        answer.entities.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// Merge two entities that are the same, undo that, mark two as distinct, or remove one permanently.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntityRequest {
    /// The action.
    pub r#do: EntityAct,
    /// The entity to merge into the other, or to remove.
    pub one: String,
    /// The other entity; not needed for unmerge and remove.
    #[serde(default)]
    pub other: String,
}

/// An action on entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it")]
pub enum EntityAct {
    Merge,
    Unmerge,
    Distinct,
    Remove,
}

/// The result of an action on entities.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "two names and a sentence")]
pub struct EntityAnswer {
    pub one: String,
    pub other: String,
    pub note: String,
}

redact! { EntityAnswer { one, other, note } }

impl Request for EntityRequest {
    type Answer = EntityAnswer;
    const NAME: &str = "entity_join";
    const NEEDS_WHOLE_GROUP: bool = true;

    fn run(self, call: &mut Call<'_>) -> ToolResult<EntityAnswer> {
        let mut gone: Vec<DeletedRecord> = Vec::new();
        let mut joined = call.write(|write| {
            let now = write.origin.now;
            let (one, other, note) = match self.r#do {
                EntityAct::Merge => {
                    let (one, other) =
                        (name::get(write.db, &self.one)?.name, name::get(write.db, &self.other)?.name);
                    name::merge(write.db, now, &self.one, &self.other)?;
                    (one, other, "are merged; `unmerge` undoes it")
                }
                EntityAct::Unmerge => {
                    let (one, other) = name::unmerge(write.db, now, &self.one)?;
                    (one, other, "are separate again")
                }
                EntityAct::Remove => {
                    write.spend(Action::Delete)?;
                    let RemovedEntity { name: one, cited, ids } = name::remove(write.db, &self.one)?;
                    // A restore of a checkpoint leaves these ids out.
                    ids.iter().for_each(|id| write.record(id, "deleted", 1));
                    gone = ids.into_iter().map(DeletedRecord::of).collect();
                    let note = match cited.is_empty() {
                        true => "is removed".to_owned(),
                        false => format!(
                            "is removed; facts in {} return when that file is edited",
                            cited.join(", ")
                        ),
                    };
                    return Ok(EntityAnswer { one, other: String::new(), note });
                }
                EntityAct::Distinct => {
                    let (one, other) = name::mark_distinct(write.db, &self.one, &self.other)?;
                    (one, other, "will never be merged")
                }
            };
            write.record(&"entities", "joined", 2);
            Ok(EntityAnswer { one, other, note: note.into() })
        })?;
        if self.r#do == EntityAct::Remove {
            for checkpoint in call.forget(gone)? {
                let _ = write!(joined.note, "; it is still in {}", one_line(&checkpoint));
            }
        }
        Ok(joined)
    }

    fn say(answer: &EntityAnswer, _: &Calendar) -> String {
        if answer.other.is_empty() {
            return format!("`{}` {}.", one_line(&answer.one), one_line(&answer.note));
        }
        format!("`{}` and `{}` {}.", one_line(&answer.one), one_line(&answer.other), answer.note)
    }
}

/// Allow several values for a key, or add a category to the closed list.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleRequest {
    /// A key that may have several values at once.
    pub multi: Option<String>,
    /// A key that has only one value again, the newest.
    pub single: Option<String>,
    /// A category to add.
    pub category: Option<String>,
}

/// The rules that were changed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Rules {
    /// One sentence for each.
    pub rules: Vec<String>,
}

redact! { Rules { rules } }

impl Request for RuleRequest {
    type Answer = Rules;
    const NAME: &str = "graph_rule";
    const NEEDS_WHOLE_GROUP: bool = true;

    fn run(self, call: &mut Call<'_>) -> ToolResult<Rules> {
        call.write(|write| {
            let (mut rules, now) = (Vec::new(), write.origin.now);
            if let Some(key) = &self.multi {
                let key = fact::set_multi(write.db, now, key, true)?;
                rules.push(format!("`{key}` may have several values"));
            }
            if let Some(key) = &self.single {
                let key = fact::set_multi(write.db, now, key, false)?;
                rules.push(format!("a new value of `{key}` replaces the previous one"));
            }
            if let Some(category) = &self.category {
                fact::add_category(write.db, category)?;
                rules.push(format!("`{}` is a category", one_line(category)));
            }
            match rules.is_empty() {
                true => write.unchanged(),
                false => write.record(&"rules", "changed", rules.len()),
            }
            Ok(Rules { rules })
        })
    }

    fn say(answer: &Rules, _: &Calendar) -> String {
        if answer.rules.is_empty() {
            "Nothing to change.".into()
        } else {
            format!("{}.", answer.rules.join("; "))
        }
    }
}
