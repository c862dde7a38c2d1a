//! The tools of the official MCP memory server (`@modelcontextprotocol/server-memory`), over the knowledge graph. An entity is
//! an entity, its type and each of its observations are facts, and a relation is a relation. Facts from other sources are
//! shown too, as the observation `key: value`.

use std::collections::{BTreeSet, HashMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::caller::Visibility;
use crate::base::redact;
use crate::base::{Calendar, Error, Result};
use crate::group::View;
use crate::records::graph::fact::{self, Draft, Fact};
use crate::records::graph::relation::{self, RelationRef};
use crate::records::graph::{self, ENTITY_TYPE, OBSERVATIONS, name};
use crate::records::workspace::checkpoint::DeletedRecord;
use crate::store::Connection;
use crate::tools::call::{Call, ToolResult, Write};
use crate::tools::graph::origin;
use crate::tools::limits::Action;
use crate::tools::tool::Request;

/// The most items of one call.
const MAX_ITEMS: u32 = 1_000;

/// An entity in the server's form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(super) struct Node {
    /// The name of the entity
    name: String,
    /// The type of the entity
    entity_type: String,
    /// An array of observation contents associated with the entity
    observations: Vec<String>,
}

/// A relation in the server's form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(super) struct Edge {
    /// The name of the entity where the relation starts
    from: String,
    /// The name of the entity where the relation ends
    to: String,
    /// The type of the relation
    relation_type: String,
}

/// The graph, or a part of it.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(super) struct Graph {
    entities: Vec<Node>,
    relations: Vec<Edge>,
}

/// The graph with its rows.
struct GraphRows {
    /// By normalised name.
    nodes: Vec<(String, Node)>,
    edges: Vec<(String, Edge)>,
    facts: Vec<Fact>,
}

impl GraphRows {
    /// Reads the current graph, as the connection sees it.
    fn read(db: &Connection) -> Result<GraphRows> {
        let facts = fact::list(db, &fact::Filter::default(), usize::MAX)?;
        let mut of: HashMap<&str, (Option<&str>, Vec<String>)> = HashMap::new();
        for fact in &facts {
            let (r#type, said) = of.entry(&fact.entity).or_default();
            match fact.key.as_str() {
                ENTITY_TYPE => *r#type = Some(&fact.value),
                _ => said.push(observed(fact)),
            }
        }
        let nodes = name::list(db)?.into_iter().map(|entity| {
            let (r#type, observations) = of.remove(entity.name.as_str()).unwrap_or_default();
            let entity_type = r#type.map_or(entity.category, str::to_owned);
            (name::fold(&entity.name), Node { name: entity.name, entity_type, observations })
        });
        let nodes = nodes.collect();
        let edges = relation::list(db, None, None, false, usize::MAX)?.into_iter().map(|relation| {
            let relation::Relation { id, subject: from, predicate: relation_type, object: to, .. } = relation;
            (id, Edge { from, to, relation_type })
        });
        Ok(GraphRows { edges: edges.collect(), nodes, facts })
    }

    /// Returns the entities that were created here, not only mentioned, by normalised name.
    fn made(&self) -> HashSet<String> {
        self.facts
            .iter()
            .filter(|fact| fact.key == ENTITY_TYPE)
            .map(|fact| name::fold(&fact.entity))
            .collect()
    }

    /// Returns the entity of a name or an alias.
    fn find(&self, db: &Connection, given: &str) -> Result<Option<&Node>> {
        let Some(entity) = name::find(db, given)? else { return Ok(None) };
        Ok(self.nodes.iter().map(|(_, node)| node).find(|node| node.name == entity.name))
    }

    /// Returns the part with these entities and their relations.
    fn part(self, mut wanted: impl FnMut(&Node) -> bool) -> Graph {
        let entities: Vec<Node> =
            self.nodes.into_iter().map(|(_, node)| node).filter(|node| wanted(node)).collect();
        let names: HashSet<&str> = entities.iter().map(|node| node.name.as_str()).collect();
        let has = |edge: &Edge| names.contains(edge.from.as_str()) || names.contains(edge.to.as_str());
        let relations = self.edges.into_iter().map(|(_, edge)| edge).filter(has).collect();
        Graph { relations, entities }
    }
}

/// Returns a fact as an observation.
fn observed(fact: &Fact) -> String {
    match fact.key.as_str() {
        OBSERVATIONS => fact.value.clone(),
        key => format!("{}: {}", key.replace('_', " "), fact.value),
    }
}

/// Returns the category of an entity that is the user or the agent itself, by its usual names.
fn category_of(db: &Connection, given: &str, r#type: &str) -> Option<String> {
    match name::fold(given).as_str() {
        "user" | "default user" => Some("user".into()),
        "assistant" | "agent" => Some("self".into()),
        _ => fact::category(db, r#type).ok(),
    }
}

/// Sets a fact, and tells whether it is new.
fn set(write: &Write<'_>, entity: &str, [key, value]: [&str; 2], category: Option<&str>) -> Result<bool> {
    let draft = Draft { entity, key, value, category, importance: None, permanent: None };
    Ok(!fact::set(write.db, &origin(write, None, None), &draft)?.known)
}

/// Create multiple new entities in the knowledge graph
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct CreateEntities {
    #[schemars(length(max = MAX_ITEMS))]
    entities: Vec<Node>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct Entities {
    entities: Vec<Node>,
}

impl Request for CreateEntities {
    type Answer = Entities;
    const NAME: &str = "create_entities";

    fn only_adds(&self, _: &View<'_>) -> Result<bool> {
        Ok(true)
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<Entities> {
        let mut known = call.read(GraphRows::read)?.made();
        let fresh: Vec<Node> =
            self.entities.into_iter().filter(|node| known.insert(name::fold(&node.name))).collect();
        if fresh.is_empty() {
            return Ok(Entities { entities: fresh });
        }
        call.write(|write| {
            for node in &fresh {
                let category = category_of(write.db, &node.name, &node.entity_type);
                set(write, &node.name, [ENTITY_TYPE, &node.entity_type], category.as_deref())?;
                for text in &node.observations {
                    set(write, &node.name, [OBSERVATIONS, text], None)?;
                }
            }
            write.spend(Action::Store)?;
            write.record(&"graph", "entities", fresh.len());
            Ok(())
        })?;
        call.view().tell_write("fact", "graph", fresh.len());
        Ok(Entities { entities: fresh })
    }

    fn say(answer: &Entities, _: &Calendar) -> String {
        pretty(&answer.entities)
    }
}

/// Create multiple new relations between entities in the knowledge graph. Relations should be in active voice
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct CreateRelations {
    #[schemars(length(max = MAX_ITEMS))]
    relations: Vec<Edge>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct Edges {
    relations: Vec<Edge>,
}

impl Request for CreateRelations {
    type Answer = Edges;
    const NAME: &str = "create_relations";

    fn only_adds(&self, _: &View<'_>) -> Result<bool> {
        Ok(true)
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<Edges> {
        let fresh = call.write(|write| {
            let origin = origin(write, None, None);
            let mut fresh = Vec::new();
            for edge in self.relations {
                let added = relation::add(write.db, &origin, &edge.from, &edge.relation_type, &edge.to)?;
                if !added.known {
                    write.record(&added.relation.id, "added", 1);
                    fresh.push(edge);
                }
            }
            match fresh.is_empty() {
                true => write.unchanged(),
                false => write.spend(Action::Store)?,
            }
            Ok(fresh)
        })?;
        if !fresh.is_empty() {
            call.view().tell_write("relation", "graph", fresh.len());
        }
        Ok(Edges { relations: fresh })
    }

    fn say(answer: &Edges, _: &Calendar) -> String {
        pretty(&answer.relations)
    }
}

/// Add new observations to existing entities in the knowledge graph
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct AddObservations {
    #[schemars(length(max = MAX_ITEMS))]
    observations: Vec<EntityObservations>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct EntityObservations {
    /// The name of the entity to add the observations to
    entity_name: String,
    /// An array of observation contents to add
    contents: Vec<String>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct AddObservationsAnswer {
    results: Vec<AddAnswer>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct AddAnswer {
    entity_name: String,
    added_observations: Vec<String>,
}

impl Request for AddObservations {
    type Answer = AddObservationsAnswer;
    const NAME: &str = "add_observations";

    fn only_adds(&self, _: &View<'_>) -> Result<bool> {
        Ok(true)
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<AddObservationsAnswer> {
        call.read(|db| {
            let known = GraphRows::read(db)?;
            for EntityObservations { entity_name: name, .. } in &self.observations {
                if known.find(db, name)?.is_none() {
                    return Err(Error::NoNode { name: crate::base::text::shorten(name) });
                }
            }
            Ok(())
        })?;
        let results = call.write(|write| {
            let mut results = Vec::new();
            for EntityObservations { entity_name, contents } in self.observations {
                let mut added_observations = Vec::new();
                for text in contents {
                    if set(write, &entity_name, [OBSERVATIONS, &text], None)? {
                        added_observations.push(text);
                    }
                }
                results.push(AddAnswer { entity_name, added_observations });
            }
            let added: usize = results.iter().map(|added| added.added_observations.len()).sum();
            if added == 0 {
                write.unchanged();
            } else {
                write.spend(Action::Store)?;
                write.record(&"graph", "observations", added);
            }
            Ok(results)
        })?;
        let added: usize = results.iter().map(|added| added.added_observations.len()).sum();
        if added > 0 {
            call.view().tell_write("fact", "graph", added);
        }
        Ok(AddObservationsAnswer { results })
    }

    fn say(answer: &AddObservationsAnswer, _: &Calendar) -> String {
        pretty(&answer.results)
    }
}

/// The result of a deletion.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct DeleteAnswer {
    success: bool,
    message: String,
}

impl DeleteAnswer {
    fn new(what: &str) -> DeleteAnswer {
        DeleteAnswer { success: true, message: format!("{what} deleted successfully") }
    }
}

/// The rows to delete, as the session sees them.
#[derive(Default)]
struct Removal {
    /// With all their facts, if the session sees everything.
    entities: Vec<String>,
    facts: BTreeSet<String>,
    relations: BTreeSet<String>,
}

/// Removes rows permanently, from the checkpoints as well. Rows that the session does not see stay.
fn remove(call: &mut Call<'_>, going: &Removal) -> ToolResult<()> {
    if going.entities.is_empty() && going.facts.is_empty() && going.relations.is_empty() {
        return Ok(());
    }
    let gone = call.write(|write| {
        let mut gone: Vec<String> = Vec::new();
        for id in &going.facts {
            gone.extend(fact::remove(write.db, id, None)?.into_iter().map(|fact| fact.id));
        }
        for id in &going.relations {
            gone.push(relation::remove(write.db, &RelationRef::Id(id))?.id);
        }
        for name in &going.entities {
            gone.extend(name::remove(write.db, name)?.ids);
        }
        write.spend(Action::Delete)?;
        gone.iter().for_each(|id| write.record(id, "deleted", 1));
        Ok(gone)
    })?;
    call.forget(gone.into_iter().map(DeletedRecord::of))?;
    Ok(())
}

/// Delete multiple entities and their associated relations from the knowledge graph
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeleteEntities {
    /// An array of entity names to delete
    #[schemars(length(max = MAX_ITEMS))]
    entity_names: Vec<String>,
}

impl Request for DeleteEntities {
    type Answer = DeleteAnswer;
    const NAME: &str = "delete_entities";

    fn run(self, call: &mut Call<'_>) -> ToolResult<DeleteAnswer> {
        let visibility = call.caller.visibility;
        let going = call.read(|db| {
            let known = GraphRows::read(db)?;
            let mut going = Removal::default();
            for given in &self.entity_names {
                let Some(node) = known.find(db, given)? else { continue };
                match visibility {
                    Visibility::Private if !going.entities.contains(&node.name) => {
                        going.entities.push(node.name.clone());
                    }
                    Visibility::Private => {}
                    Visibility::Shared => {
                        let facts = known.facts.iter().filter(|fact| fact.entity == node.name);
                        going.facts.extend(facts.map(|fact| fact.id.clone()));
                        let has = |edge: &&(String, Edge)| [&edge.1.from, &edge.1.to].contains(&&node.name);
                        going.relations.extend(known.edges.iter().filter(has).map(|(id, _)| id.clone()));
                    }
                }
            }
            Ok(going)
        })?;
        remove(call, &going)?;
        Ok(DeleteAnswer::new("Entities"))
    }

    fn say(answer: &DeleteAnswer, _: &Calendar) -> String {
        answer.message.clone()
    }
}

/// Delete specific observations from entities in the knowledge graph
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct DeleteObservations {
    #[schemars(length(max = MAX_ITEMS))]
    deletions: Vec<Deletion>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct Deletion {
    /// The name of the entity containing the observations
    entity_name: String,
    /// An array of observations to delete
    observations: Vec<String>,
}

impl Request for DeleteObservations {
    type Answer = DeleteAnswer;
    const NAME: &str = "delete_observations";

    fn run(self, call: &mut Call<'_>) -> ToolResult<DeleteAnswer> {
        let going = call.read(|db| {
            let known = GraphRows::read(db)?;
            let mut facts = BTreeSet::new();
            for Deletion { entity_name, observations } in &self.deletions {
                let Some(node) = known.find(db, entity_name)? else { continue };
                let kept: Vec<_> = observations.iter().map(|text| graph::guard::one_line(text)).collect();
                let goes = |fact: &&Fact| {
                    fact.entity == node.name
                        && fact.key != ENTITY_TYPE
                        && kept
                            .iter()
                            .any(|text| *text == observed(fact) || *text == redact::text(&observed(fact)))
                };
                facts.extend(known.facts.iter().filter(goes).map(|fact| fact.id.clone()));
            }
            Ok(Removal { facts, ..Removal::default() })
        })?;
        remove(call, &going)?;
        Ok(DeleteAnswer::new("Observations"))
    }

    fn say(answer: &DeleteAnswer, _: &Calendar) -> String {
        answer.message.clone()
    }
}

/// Delete multiple relations from the knowledge graph
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct DeleteRelations {
    /// An array of relations to delete
    #[schemars(length(max = MAX_ITEMS))]
    relations: Vec<Edge>,
}

impl Request for DeleteRelations {
    type Answer = DeleteAnswer;
    const NAME: &str = "delete_relations";

    fn run(self, call: &mut Call<'_>) -> ToolResult<DeleteAnswer> {
        let going = call.read(|db| {
            let mut relations = BTreeSet::new();
            for Edge { from, to, relation_type } in &self.relations {
                match relation::find(db, &RelationRef::Ends(from, relation_type, to)) {
                    Ok(found) => {
                        relations.insert(found.id);
                    }
                    Err(
                        Error::NoRelation { .. } | Error::NoEntity { .. } | Error::SkippedStatement { .. },
                    ) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(Removal { relations, ..Removal::default() })
        })?;
        remove(call, &going)?;
        Ok(DeleteAnswer::new("Relations"))
    }

    fn say(answer: &DeleteAnswer, _: &Calendar) -> String {
        answer.message.clone()
    }
}

/// Read the entire knowledge graph
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct ReadGraph {}

impl Request for ReadGraph {
    type Answer = Graph;
    const NAME: &str = "read_graph";

    fn run(self, call: &mut Call<'_>) -> ToolResult<Graph> {
        Ok(call.read(GraphRows::read)?.part(|_| true))
    }

    fn say(answer: &Graph, _: &Calendar) -> String {
        pretty(answer)
    }
}

/// Search for nodes in the knowledge graph based on a query
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct SearchNodes {
    /// The search query to match against entity names, types, and observation content
    #[schemars(length(max = 20_000))]
    query: String,
}

impl Request for SearchNodes {
    type Answer = Graph;
    const NAME: &str = "search_nodes";

    fn run(self, call: &mut Call<'_>) -> ToolResult<Graph> {
        let query = self.query.to_lowercase();
        // Redacted, so that a credential can't be guessed letter by letter.
        let has = |text: &String| redact::text(text).to_lowercase().contains(&query);
        let found = call
            .read(GraphRows::read)?
            .part(|node| has(&node.name) || has(&node.entity_type) || node.observations.iter().any(has));
        call.view().tell_search(&self.query, found.entities.len());
        Ok(found)
    }

    fn say(answer: &Graph, _: &Calendar) -> String {
        pretty(answer)
    }
}

/// Open specific nodes in the knowledge graph by their names
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct OpenNodes {
    /// An array of entity names to retrieve
    #[schemars(length(max = MAX_ITEMS))]
    names: Vec<String>,
}

impl Request for OpenNodes {
    type Answer = Graph;
    const NAME: &str = "open_nodes";

    fn run(self, call: &mut Call<'_>) -> ToolResult<Graph> {
        Ok(call.read(|db| {
            let known = GraphRows::read(db)?;
            let mut wanted = Vec::new();
            for given in &self.names {
                wanted.extend(known.find(db, given)?.map(|node| node.name.clone()));
            }
            Ok(known.part(|node| wanted.contains(&node.name)))
        })?)
    }

    fn say(answer: &Graph, _: &Calendar) -> String {
        pretty(answer)
    }
}

fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
