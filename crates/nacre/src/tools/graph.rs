//! The tools of the knowledge graph.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{Call, Ran, Write};
use super::limits::Action;
use super::tool::Request;
use crate::base::caller::Visibility;
use crate::base::frame::one_line;
use crate::base::redact::redact;
use crate::base::{Error, Time};
use crate::group::JointRecall as Recalling;
use crate::records::entry;
use crate::records::graph::fact::{self, Draft, Filter};
use crate::records::graph::name::{self, RemovedEntity};
use crate::records::graph::recall::{self, MIN_ENTITY_SCORE, Speaker};
use crate::records::graph::{self, Alias, EntitySummary, Fact, RecallResult, Relation, relation};
use crate::records::workspace::checkpoint::DeletedRecord;
use crate::store::Connection;

/// How many facts an answer has when it is not told.
const LIMIT: usize = 6;

/// Who speaks in a call, and since when what is said holds: now, where it is not given.
pub(super) fn origin<'t>(write: &Write<'t>, since: Option<Time>, private: Option<bool>) -> graph::Origin<'t> {
    let entry::Origin { now, session, visibility, source, .. } = write.origin;
    let source = match source {
        entry::Source::Agent => graph::Source::Agent,
        _ => graph::Source::Person,
    };
    graph::Origin { now, since: since.unwrap_or(now), source, session: Some(session), private, visibility }
}

/// Ask the knowledge graph about people, things and how they belong together.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphRequest {
    /// A question, or names and what is asked of them.
    #[schemars(length(min = 1, max = 2000))]
    pub query: String,
    /// How many at most; default 6.
    #[schemars(range(min = 1, max = 100))]
    pub limit: Option<usize>,
    /// What held then, ISO 8601; default now.
    pub as_of: Option<Time>,
    /// "my" and "I" mean the agent, not the user.
    #[serde(default)]
    pub of_agent: bool,
}

impl Request for GraphRequest {
    type Answer = RecallResult;
    const NAME: &str = "graph_search";
    const ACROSS: bool = true;

    fn run(self, call: &mut Call<'_>) -> Ran<RecallResult> {
        let reads = call.settings().documents.index && call.settings().graph.documents;
        let missing = if reads { call.follow_documents(vec![crate::index::Scope::Memory]).1 } else { None };
        let language = call.settings().search.language();
        let request = recall::Request {
            query: &self.query,
            speaker: if self.of_agent { Speaker::Agent } else { Speaker::User },
            limit: self.limit.unwrap_or(LIMIT),
            as_of: self.as_of,
            by_words: true,
        };
        let mut recalled = call.read(|db| recall::recall(db, &request, language))?;
        recalled.missing = missing.into_iter().collect();
        let cited = recalled.known.iter().flat_map(|known| {
            let size = known.text.chars().count();
            known.cites.iter().map(move |cite| (cite.path.as_str(), size))
        });
        call.note_seen(&cited.collect::<Vec<_>>());
        let now = call.caller.now;
        call.view().tell_search(&self.query, recalled.known.len());
        let matched =
            recalled.known.iter().filter(|known| known.score >= MIN_ENTITY_SCORE && known.until.is_none());
        let graph = matched.map(|known| known.id.clone()).collect();
        call.view().note_recalled(&self.query, Recalling { entries: Vec::new(), graph, at: now });
        Ok(recalled)
    }

    fn say(answer: &RecallResult, _: Time) -> String {
        let mut text = String::new();
        for missing in &answer.missing {
            let _ = writeln!(text, "Missing: {missing}.");
        }
        if let Some(note) = &answer.note {
            let _ = write!(text, "Nothing found: {note}.");
        }
        for known in &answer.known {
            let _ = write!(text, "[{}] {}", known.id, one_line(&known.text));
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

/// Add or change a fact of the knowledge graph. The value before is kept as history.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FactRequest {
    /// Whom or what it is about; an alias does too.
    pub entity: String,
    /// What of it, such as birthday or port.
    pub key: String,
    /// Its value.
    pub value: String,
    /// Of the entity: person, family, friend, pet, organization, project, tool, host, place, event, decision,
    /// preference, convention, document, user or self.
    pub category: Option<String>,
    /// 0 to 1; default 0.5.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub importance: Option<f64>,
    /// Never fades; default for people, decisions and preferences.
    pub permanent: Option<bool>,
    /// Since when, ISO 8601; default now.
    pub since: Option<Time>,
    /// Never shown where others read along.
    pub private: Option<bool>,
}

/// What became of a fact.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FactSet {
    #[serde(flatten)]
    #[expect(missing_docs)]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub fact: Fact,
    /// The value it took the place of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<String>,
    /// It was known already.
    pub known: bool,
}

redact! { FactSet { fact, replaced / known } }

impl Request for FactRequest {
    type Answer = FactSet;
    const NAME: &str = "fact_upsert";

    fn run(self, call: &mut Call<'_>) -> Ran<FactSet> {
        let mut set = call.write(|write| {
            let origin = origin(write, self.since, self.private);
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
        Ok(FactSet { fact: set.fact, replaced: set.replaced, known: set.known })
    }

    fn say(answer: &FactSet, _: Time) -> String {
        let mut text = format!("[{}] {}", answer.fact.id, one_line(&answer.fact.line()));
        if answer.known {
            text.push_str(" (known already)");
        }
        if let Some(before) = &answer.replaced {
            let _ = write!(text, " (was {})", one_line(before));
        }
        text
    }
}

/// The facts that are known, by entity and key.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FactsRequest {
    /// Only of this entity.
    pub entity: Option<String>,
    /// Only this key.
    pub key: Option<String>,
    /// Only of this category.
    pub category: Option<String>,
    /// What held then, ISO 8601.
    pub as_of: Option<Time>,
    /// Also what held before.
    #[serde(default)]
    pub history: bool,
    /// How many at most; default 100.
    #[schemars(range(min = 1, max = 10000))]
    pub limit: Option<usize>,
}

/// A list of facts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Facts {
    /// By entity and key.
    pub facts: Vec<Fact>,
    /// Checkpoints that still have what was removed, because they can't be written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub still_in: Vec<String>,
}

redact! { Facts { facts, still_in } }

impl Request for FactsRequest {
    type Answer = Facts;
    const NAME: &str = "fact_list";

    fn run(self, call: &mut Call<'_>) -> Ran<Facts> {
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

    fn say(answer: &Facts, _: Time) -> String {
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

/// Remove facts for good: one by its id, or those of an entity, of one key or all.
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

    fn run(self, call: &mut Call<'_>) -> Ran<Facts> {
        // Only what the session sees goes.
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

    fn say(answer: &Facts, _: Time) -> String {
        let ids = answer.facts.iter().map(|fact| fact.id.as_str()).collect::<Vec<_>>().join(", ");
        let mut text = format!("Removed {ids}.");
        for checkpoint in &answer.still_in {
            let _ = write!(text, " Still in checkpoint {}.", one_line(checkpoint));
        }
        text
    }
}

/// Say how two things belong together, such as "Petra owns heron".
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelationRequest {
    /// Who or what.
    pub subject: String,
    /// How, such as owns, works_at, runs_on.
    pub predicate: String,
    /// Whom or what.
    pub object: String,
    /// Since when, ISO 8601; default now.
    pub since: Option<Time>,
    /// Never shown where others read along.
    pub private: Option<bool>,
}

/// What became of a relation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RelationAdded {
    #[serde(flatten)]
    #[expect(missing_docs)]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub relation: Relation,
    /// It was known already.
    pub known: bool,
}

redact! { RelationAdded { relation / known } }

impl Request for RelationRequest {
    type Answer = RelationAdded;
    const NAME: &str = "relation_add";

    fn run(self, call: &mut Call<'_>) -> Ran<RelationAdded> {
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
        Ok(RelationAdded { relation: added.relation, known: added.known })
    }

    fn say(answer: &RelationAdded, _: Time) -> String {
        let known = if answer.known { " (known already)" } else { "" };
        format!("[{}] {}{known}", answer.relation.id, one_line(&answer.relation.line()))
    }
}

/// The relations that are known.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelationsRequest {
    /// Only those of this entity, at either end.
    pub entity: Option<String>,
    /// What held then, ISO 8601.
    pub as_of: Option<Time>,
    /// Also what held before.
    #[serde(default)]
    pub history: bool,
    /// How many at most; default 100.
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

    fn run(self, call: &mut Call<'_>) -> Ran<Relations> {
        let Self { entity, as_of, history, limit } = self;
        let list =
            |db: &Connection| relation::list(db, entity.as_deref(), as_of, history, limit.unwrap_or(100));
        Ok(Relations { relations: call.read(list)? })
    }

    fn say(answer: &Relations, _: Time) -> String {
        let rows = answer.relations.iter().map(|relation| (&relation.id, relation.line(), relation.until));
        lines(rows, "There are no relations.")
    }
}

/// Say that a relation holds no longer; it stays as history. Or remove it for good.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelationEndRequest {
    /// Its id; or subject, predicate and object.
    pub id: Option<String>,
    #[expect(missing_docs)]
    pub subject: Option<String>,
    #[expect(missing_docs)]
    pub predicate: Option<String>,
    #[expect(missing_docs)]
    pub object: Option<String>,
    /// Leave no trace of it.
    #[serde(default)]
    pub remove: bool,
}

impl Request for RelationEndRequest {
    type Answer = Relation;
    const NAME: &str = "relation_end";

    fn run(self, call: &mut Call<'_>) -> Ran<Relation> {
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
        // Only what the session sees ends.
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
            // The audit log keeps a checkpoint that can't be written from bringing it back.
            call.forget([DeletedRecord::of(&relation.id)])?;
        }
        Ok(relation)
    }

    fn say(answer: &Relation, _: Time) -> String {
        format!("[{}] {} holds no longer.", answer.id, one_line(&answer.line()))
    }
}

/// Give an entity another name; several may mean one, none means two.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AliasRequest {
    /// The other name, such as Mama or K8s.
    pub alias: String,
    /// Whose it is.
    pub entity: String,
    /// Take the alias away instead.
    #[serde(default)]
    pub remove: bool,
}

/// What became of an alias.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AliasSet {
    /// The alias.
    pub alias: String,
    /// Whose it is, or was.
    pub entity: String,
    /// It was known already.
    pub known: bool,
    /// It was taken away.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
}

redact! { AliasSet { alias, entity / known, removed } }

impl Request for AliasRequest {
    type Answer = AliasSet;
    const NAME: &str = "alias_add";

    fn run(self, call: &mut Call<'_>) -> Ran<AliasSet> {
        // Whose it is has to be seen, and so has what is taken away.
        call.read(|db| name::get(db, &self.entity))?;
        if self.remove {
            call.read(|db| name::get(db, &self.alias))?;
        }
        call.write(|write| {
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
            Ok(AliasSet { alias: self.alias.clone(), entity: entity.name, known, removed: self.remove })
        })
    }

    fn say(answer: &AliasSet, _: Time) -> String {
        let known = if answer.known { " (known already)" } else { "" };
        let (alias, entity) = (one_line(&answer.alias), one_line(&answer.entity));
        match answer.removed {
            true => format!("`{alias}` is no longer `{entity}`."),
            false => format!("`{alias}` is `{entity}`{known}."),
        }
    }
}

/// The entities that are known, with their aliases.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntitiesRequest {}

/// A list of entities.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Entities {
    /// By name.
    pub entities: Vec<EntitySummary>,
    /// Every name beside an entity's own.
    pub aliases: Vec<Alias>,
}

redact! { Entities { entities, aliases } }

impl Request for EntitiesRequest {
    type Answer = Entities;
    const NAME: &str = "entity_list";

    fn run(self, call: &mut Call<'_>) -> Ran<Entities> {
        Ok(call.read(|db| Ok(Entities { entities: name::list(db)?, aliases: name::aliases(db, None)? }))?)
    }

    fn say(answer: &Entities, _: Time) -> String {
        if answer.entities.is_empty() {
            return "Nobody and nothing is known.".into();
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

/// Join two entities that are the same, undo that, say that two are never the same, or forget one for good.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntityRequest {
    /// What to do.
    pub r#do: EntityAct,
    /// The entity that counts as the other from now on, or is forgotten.
    pub one: String,
    /// The other; not needed to undo or to forget.
    #[serde(default)]
    pub other: String,
}

/// What can be done with entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the words of SPEC G2")]
pub enum EntityAct {
    Merge,
    Unmerge,
    Distinct,
    Remove,
}

/// Two entities, and what they are to each other now.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "two names and a sentence")]
pub struct Joined {
    pub one: String,
    pub other: String,
    pub note: String,
}

redact! { Joined { one, other, note } }

impl Request for EntityRequest {
    type Answer = Joined;
    const NAME: &str = "entity_join";
    const WHOLE: bool = true;

    fn run(self, call: &mut Call<'_>) -> Ran<Joined> {
        let mut gone: Vec<DeletedRecord> = Vec::new();
        let mut joined = call.write(|write| {
            let now = write.origin.now;
            let (one, other, note) = match self.r#do {
                EntityAct::Merge => {
                    let (one, other) =
                        (name::get(write.db, &self.one)?.name, name::get(write.db, &self.other)?.name);
                    name::merge(write.db, now, &self.one, &self.other)?;
                    (one, other, "are one; `unmerge` undoes it")
                }
                EntityAct::Unmerge => {
                    let (one, other) = name::unmerge(write.db, now, &self.one)?;
                    (one, other, "are two again")
                }
                EntityAct::Remove => {
                    write.spend(Action::Delete)?;
                    let RemovedEntity { name: one, cited, ids } = name::remove(write.db, &self.one)?;
                    // By these ids a checkpoint knows what not to bring back.
                    ids.iter().for_each(|id| write.record(id, "deleted", 1));
                    gone = ids.into_iter().map(DeletedRecord::of).collect();
                    let note = match cited.is_empty() {
                        true => "is forgotten".to_owned(),
                        false => format!(
                            "is forgotten; what {} still says comes back when that is edited",
                            cited.join(", ")
                        ),
                    };
                    return Ok(Joined { one, other: String::new(), note });
                }
                EntityAct::Distinct => {
                    let (one, other) = name::mark_distinct(write.db, &self.one, &self.other)?;
                    (one, other, "will never be merged")
                }
            };
            write.record(&"entities", "joined", 2);
            Ok(Joined { one, other, note: note.into() })
        })?;
        if self.r#do == EntityAct::Remove {
            for checkpoint in call.forget(gone)? {
                let _ = write!(joined.note, "; it is still in checkpoint {}", one_line(&checkpoint));
            }
        }
        Ok(joined)
    }

    fn say(answer: &Joined, _: Time) -> String {
        if answer.other.is_empty() {
            return format!("`{}` {}.", one_line(&answer.one), one_line(&answer.note));
        }
        format!("`{}` and `{}` {}.", one_line(&answer.one), one_line(&answer.other), answer.note)
    }
}

/// Say that a key may have several values at once, or that a category is added to the closed list.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleRequest {
    /// A key whose values do not replace each other.
    pub multi: Option<String>,
    /// A key that has one value again: the newest.
    pub single: Option<String>,
    /// A category to add.
    pub category: Option<String>,
}

/// The rules that were changed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Rules {
    /// In words.
    pub rules: Vec<String>,
}

redact! { Rules { rules } }

impl Request for RuleRequest {
    type Answer = Rules;
    const NAME: &str = "graph_rule";
    const WHOLE: bool = true;

    fn run(self, call: &mut Call<'_>) -> Ran<Rules> {
        call.write(|write| {
            let (mut rules, now) = (Vec::new(), write.origin.now);
            if let Some(key) = &self.multi {
                let key = fact::set_multi(write.db, now, key, true)?;
                rules.push(format!("values of `{key}` stand side by side"));
            }
            if let Some(key) = &self.single {
                let key = fact::set_multi(write.db, now, key, false)?;
                rules.push(format!("a new value of `{key}` takes the place of the one before"));
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

    fn say(answer: &Rules, _: Time) -> String {
        if answer.rules.is_empty() {
            "Nothing to change.".into()
        } else {
            format!("{}.", answer.rules.join("; "))
        }
    }
}
