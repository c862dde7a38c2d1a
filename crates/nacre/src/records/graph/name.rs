//! The names of entities. One name means one entity; an entity may have many names.
//!
//! A name is looked up folded: without case, accents, articles and punctuation, so that `Márta’s`, `marta`
//! and `MARTA` are one. A merged entity keeps its names and rows and counts as another (`root`), which is why
//! a merge can be undone.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{EntityId, Origin, Source, guard, source_name};
use crate::base::redact::redact;
use crate::base::text::{nearest, shorten};
use crate::base::{Error, Result, Time};
use crate::index::{self, analyse};
use crate::store::{Connection, Params, Row};

/// An entity, and the entity that it counts as after merges.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entity {
    /// The entity it counts as.
    pub(crate) id: EntityId,
    pub(crate) name: String,
    pub(crate) category: String,
}

/// An additional name of an entity.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the field names explain themselves")]
pub struct Alias {
    pub alias: String,
    pub entity: String,
}

/// An entity as it is shown.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the field names explain themselves")]
pub struct EntitySummary {
    pub name: String,
    pub category: String,
    pub aliases: Vec<String>,
    pub facts: i64,
    pub relations: i64,
}

redact! {
    Alias { alias, entity }
    EntitySummary { name, category, aliases / facts, relations }
}

/// Returns the folded form of a name. Empty if it has neither letters nor digits.
pub(crate) fn fold(name: &str) -> String {
    let words = words(name);
    let kept = match words.first().map(String::as_str) {
        Some("the" | "a" | "an") if words.len() > 1 => &words[1..],
        _ => &words[..],
    };
    kept.join(" ")
}

/// Returns the folded words of a name or a question, without possessive endings.
pub(crate) fn words(text: &str) -> Vec<String> {
    let folded = analyse::fold_marks(text).to_lowercase();
    let mut words: Vec<String> = Vec::new();
    let apostrophe = |c: char| matches!(c, '\'' | '’' | '‘' | '`' | 'ʼ');
    for run in folded.split(|c: char| !(analyse::is_word(c) || apostrophe(c) || is_sign(c))) {
        // Symbols at the end of a word are part of it: `C++` is not `C#`. Others separate words, like
        // punctuation.
        let end = run.trim_end_matches(is_sign).len();
        let (body, signs) = run.split_at(end);
        let parts: Vec<&str> = body.split(is_sign).collect();
        for (place, part) in parts.iter().enumerate() {
            let part = part.trim_matches(apostrophe);
            let bare = part.strip_suffix('s').filter(|rest| rest.ends_with(apostrophe)).unwrap_or(part);
            let mut word: String = bare.chars().filter(|c| !apostrophe(*c)).collect();
            if !word.is_empty() {
                if place + 1 == parts.len() {
                    word.push_str(signs);
                }
                words.push(word);
            }
        }
    }
    words
}

/// Tells whether a character at the end of a word belongs to a name, as in `C++` and `C#`.
pub(super) fn is_sign(c: char) -> bool {
    matches!(c, '+' | '#')
}

/// Returns the entity with a name.
pub(crate) fn find(db: &Connection, name: &str) -> Result<Option<Entity>> {
    let sql = "SELECT roots.id, roots.name, roots.category FROM names
        JOIN entities ON entities.id = names.entity JOIN entities AS roots ON roots.id = entities.root
        WHERE folded = $1";
    match db.row(sql, [fold(name)], from_row)? {
        None if is_user(name) => speaking(db, "user"),
        found => Ok(found),
    }
}

/// Tells whether a name means the person who uses the memory, as other designs write it. In lower case it is a role.
fn is_user(name: &str) -> bool {
    name.trim() == "User"
}

/// Makes sure that a writer refers to an entity that they see. Returns whether the name exists but is hidden
/// from them. An entity's own name may be used anyway, without revealing what else is known; an alias would
/// reveal the name behind it, and is refused.
pub(super) fn claim(db: &Connection, origin: &Origin<'_>, name: &str) -> Result<bool> {
    let Some(found) = find(db, name)? else { return Ok(false) };
    let name = if is_user(name) { found.name.as_str() } else { name };
    if origin.sees(db, "entities", found.id.0)? && origin.sees(db, "names", name_row(db, name)?)? {
        return Ok(false);
    }
    if fold(&found.name) == fold(name) {
        return Ok(true);
    }
    let reason = "can't be used as a name where others read along".into();
    Err(Error::SkippedStatement { what: shorten(name), reason })
}

fn name_row(db: &Connection, name: &str) -> Result<i64> {
    db.one("SELECT id FROM names WHERE folded = $1", [fold(name)], |row| row.get(0))
}

/// Returns the user or the agent, by its category.
pub(super) fn speaking(db: &Connection, category: &str) -> Result<Option<Entity>> {
    // The condition matches the partial index.
    let sql = "SELECT id, name, category FROM entities WHERE category = $1 AND category IN ('user', 'self') AND root = id
        ORDER BY id LIMIT 1";
    db.row(sql, [category], from_row)
}

pub(super) fn from_row(row: &Row<'_>) -> Result<Entity> {
    Ok(Entity { id: row.get(0)?, name: row.get(1)?, category: row.get(2)? })
}

/// Returns the entity with a name, or an error if there is none.
pub(crate) fn get(db: &Connection, name: &str) -> Result<Entity> {
    if let Some(found) = find(db, name)? {
        return Ok(found);
    }
    Err(Error::NoEntity { given: shorten(name), nearest: near(db, &fold(name))? })
}

/// Returns a name with the same beginning that differs little.
fn near(db: &Connection, folded: &str) -> Result<Option<String>> {
    let start: String = folded.chars().take(2).collect();
    let sql = "SELECT folded, name FROM names WHERE folded >= $1 AND folded < $2 ORDER BY folded LIMIT 2000";
    let names: Vec<(String, String)> =
        db.rows(sql, (&start, after(&start)), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let best = nearest(folded, names.iter().map(|(folded, _)| folded.as_str()));
    Ok(best.and_then(|best| names.iter().find(|(folded, _)| folded == best)).map(|(_, name)| name.clone()))
}

/// Returns a text that sorts after every word with this prefix.
pub(super) fn after(start: &str) -> String {
    format!("{start}{}", char::MAX)
}

/// Returns the entity with a name, and creates it if needed.
pub(crate) fn find_or_create(
    db: &Connection,
    origin: &Origin<'_>,
    name: &str,
    category: &str,
) -> Result<Entity> {
    let names_user = is_user(name) && !origin.source.is_read();
    if names_user && let Some(found) = find(db, name)? {
        return Ok(found);
    }
    let category = if names_user { "user" } else { category };
    let name = guard::entity(name, Some(category), origin.checked_as())?;
    let folded = fold(&name);
    if folded.is_empty() {
        return Err(Error::SkippedStatement {
            what: name,
            reason: "has neither letters nor digits, which a name needs".into(),
        });
    }
    if let Some(found) = find(db, &name)? {
        return Ok(found);
    }
    let sql = "INSERT INTO entities (name, root, category, created_at) VALUES ($1, 0, $2, $3) RETURNING id";
    let id: EntityId = db.one(sql, (&name, category, origin.now), |row| row.get(0))?;
    db.run("UPDATE entities SET root = id WHERE id = $1", [id])?;
    let sql =
        "INSERT INTO names (folded, name, entity, own, source, private) VALUES ($1, $2, $3, true, $4, $5)";
    let private = origin.hides_new();
    let known_as = if category == "user" && !is_user(&name) { speaking(db, "user")? } else { None };
    db.run(sql, (folded, &name, id, source_name(origin.source), private))?;
    // Statements about `User` from before the name was known are about the same person.
    if let Some(before) = known_as.filter(|before| is_user(&before.name)) {
        merge(db, origin.now, &before.name, &name)?;
    }
    Ok(Entity { id, name, category: category.to_owned() })
}

/// Sets the category of an entity that has none or a less specific one.
pub(super) fn sort(db: &Connection, mut entity: Entity, category: &str) -> Result<Entity> {
    let speaks = |category: &str| matches!(category, "user" | "self");
    if !category.is_empty() && (entity.category.is_empty() || speaks(category) && !speaks(&entity.category)) {
        db.run("UPDATE entities SET category = $2 WHERE id = $1", (entity.id, category))?;
        category.clone_into(&mut entity.category);
    }
    Ok(entity)
}

/// Adds an alias to an entity. Returns the entity, and the row of the name if it is new.
pub(crate) fn add_alias(
    db: &Connection,
    origin: &Origin<'_>,
    alias: &str,
    entity: &str,
) -> Result<(Entity, Option<i64>)> {
    let alias = guard::entity(alias, None, origin.checked_as())?;
    let folded = fold(&alias);
    let entity = get(db, entity)?;
    if claim(db, origin, &alias)? {
        let reason = "can't be used as a name where others read along".into();
        return Err(Error::SkippedStatement { what: shorten(&alias), reason });
    }
    let sql =
        "SELECT names.source, own, roots.id, roots.name FROM names JOIN entities ON entities.id = names.entity
        JOIN entities AS roots ON roots.id = entities.root WHERE folded = $1";
    let taken: Option<(String, bool, EntityId, String)> =
        db.row(sql, [&folded], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    match taken {
        // The alias exists already: there is nothing to do.
        Some((_, false, id, _)) if id == entity.id => Ok((entity, None)),
        Some((_, true, id, _)) if id == entity.id => {
            Err(Error::SelfAlias { alias: shorten(&alias), entity: entity.name })
        }
        // The name of an entity from a document turns out to mean the same one: a person's word overrides the
        // extraction.
        Some((source, true, _, other))
            if source == source_name(Source::Document) && !origin.source.is_read() =>
        {
            let merged = merge(db, origin.now, &other, &entity.name)?;
            Ok((entity, Some(merged)))
        }
        Some((_, own, _, other)) => {
            Err(Error::NameTaken { name: shorten(&alias), entity: other, alias: !own })
        }
        None if folded.is_empty() => Err(Error::SkippedStatement {
            what: alias,
            reason: "has neither letters nor digits, which a name needs".into(),
        }),
        None => {
            let sql = "INSERT INTO names (folded, name, entity, own, source, private) VALUES ($1, $2, $3, false, $4,
                EXISTS (SELECT 1 FROM names WHERE entity = $3 AND own AND private)) RETURNING id";
            let values = (folded, &alias, entity.id, source_name(origin.source));
            let id = db.one(sql, values, |row| row.get(0))?;
            Ok((entity, Some(id)))
        }
    }
}

/// Returns the number of a name's row.
pub(super) fn row(db: &Connection, name: &str) -> Result<Option<i64>> {
    db.row("SELECT id FROM names WHERE folded = $1 AND NOT own", [fold(name)], |row| row.get(0))
}

/// Removes an alias. Returns the entity that had it.
pub(crate) fn remove_alias(db: &Connection, alias: &str) -> Result<Entity> {
    let entity = get(db, alias)?;
    let sql = "DELETE FROM names WHERE folded = $1 AND NOT own RETURNING id";
    let gone: Option<i64> = db.row(sql, [fold(alias)], |row| row.get(0))?;
    match gone {
        Some(id) => {
            db.run("DELETE FROM citations WHERE kind = 'name' AND id = $1", [id])?;
            Ok(entity)
        }
        None => Err(Error::OwnName { name: entity.name }),
    }
}

/// Lists the aliases of one entity, or of all.
pub(crate) fn aliases(db: &Connection, entity: Option<EntityId>) -> Result<Vec<Alias>> {
    let sql = "SELECT names.name, roots.name FROM names JOIN entities ON entities.id = names.entity
        JOIN entities AS roots ON roots.id = entities.root
        WHERE names.name <> roots.name AND (roots.id = $1 OR $1 IS NULL) AND (NOT own OR entities.id <> roots.id)
        ORDER BY roots.name, names.name";
    db.rows(sql, [entity], |row| Ok(Alias { alias: row.get(0)?, entity: row.get(1)? }))
}

/// Lists the entities by name.
pub(crate) fn list(db: &Connection) -> Result<Vec<EntitySummary>> {
    // Read once for all entities: to read them for each would go through all names and relations every time.
    let mut named: HashMap<String, Vec<String>> = HashMap::new();
    for Alias { alias, entity } in aliases(db, None)? {
        named.entry(entity).or_default().push(alias);
    }
    let sql = "SELECT name, category, coalesce(known.facts, 0), coalesce(linked.relations, 0) FROM entities
        LEFT JOIN (SELECT of.root AS root, count(*) AS facts FROM facts JOIN entities AS of ON of.id = facts.entity
            WHERE until IS NULL GROUP BY of.root) AS known ON known.root = entities.id
        LEFT JOIN (SELECT of.root AS root, count(*) AS relations FROM relations
            JOIN entities AS of ON of.id IN (subject, object)
            WHERE until IS NULL GROUP BY of.root) AS linked ON linked.root = entities.id
        WHERE entities.root = id ORDER BY lower(name)";
    db.rows(sql, (), |row| {
        let name: String = row.get(0)?;
        Ok(EntitySummary {
            aliases: named.remove(&name).unwrap_or_default(),
            name,
            category: row.get(1)?,
            facts: row.get(2)?,
            relations: row.get(3)?,
        })
    })
}

/// Merges one entity into another. Of two values of one key, the newer holds. Returns the merge's number.
pub(crate) fn merge(db: &Connection, now: Time, gone: &str, kept: &str) -> Result<i64> {
    let (gone, kept) = (get(db, gone)?, get(db, kept)?);
    if gone.id == kept.id {
        return Err(Error::SelfAlias { alias: gone.name, entity: kept.name });
    }
    // Entities merged into either of them are kept apart with it.
    let sql =
        "SELECT 1 FROM distinct_entities JOIN entities AS a ON a.id = one JOIN entities AS b ON b.id = other
        WHERE a.root = $1 AND b.root = $2 OR a.root = $2 AND b.root = $1";
    if db.row(sql, (gone.id, kept.id), |_| Ok(()))?.is_some() {
        return Err(Error::NeverSame { one: gone.name, other: kept.name });
    }
    let moved = ids(db, "SELECT id FROM entities WHERE root = $1", [gone.id])?;
    db.run("UPDATE entities SET root = $2 WHERE root = $1", (gone.id, kept.id))?;
    let ended = super::fact::end_older(db, kept.id, now)?;
    rewrite_passages(db, &moved)?;
    let sql = "INSERT INTO merges (kept, gone, moved, ended, at) VALUES ($1, $2, $3, $4, $5) RETURNING id";
    let values = (kept.id, gone.id, serde_json::to_string(&moved)?, serde_json::to_string(&ended)?, now);
    db.one(sql, values, |row| row.get(0))
}

/// Rewrites the passages of entities under the name that they count as now.
fn rewrite_passages(db: &Connection, entities: &[i64]) -> Result<()> {
    let entities = serde_json::to_string(entities)?;
    let mut passages = super::fact::passages_of(db, &entities)?;
    passages.extend(super::relation::passages_of(db, &entities)?);
    index::write(db, |writer| passages.iter().try_for_each(|passage| writer.put(passage)))
}

/// Undoes the last merge of `name` into another entity. Returns both entities' names.
pub(crate) fn unmerge(db: &Connection, now: Time, name: &str) -> Result<(String, String)> {
    let sql = "SELECT merges.id, gone, moved, ended, (SELECT name FROM entities WHERE id = gone),
            (SELECT name FROM entities WHERE id = kept)
        FROM merges JOIN names ON names.entity = gone WHERE folded = $1 AND undone_at IS NULL ORDER BY merges.id DESC LIMIT 1";
    let found = db.row(sql, [fold(name)], |row| {
        let numbers = |column| -> Result<Vec<i64>> { Ok(serde_json::from_str(row.text(column)?)?) };
        let rows: (i64, EntityId) = (row.get(0)?, row.get(1)?);
        let names: (String, String) = (row.get(4)?, row.get(5)?);
        Ok((rows, numbers(2)?, numbers(3)?, names))
    })?;
    let Some(((merge, gone), moved, ended, names)) = found else {
        return Err(Error::NotMerged { name: shorten(name) });
    };
    for id in &moved {
        // An entity that was separated since is left alone.
        let sql = "UPDATE entities SET root = $2 WHERE id = $1 AND root = (SELECT root FROM entities WHERE id = $2)
            AND NOT EXISTS (SELECT 1 FROM merges WHERE merges.gone = $1 AND undone_at IS NULL AND merges.id > $3)";
        if *id != gone.0 {
            db.run(sql, (id, gone, merge))?;
        }
    }
    db.run("UPDATE entities SET root = id WHERE id = $1", [gone])?;
    rewrite_passages(db, &moved)?;
    super::fact::restore_current(db, &ended)?;
    db.run("UPDATE merges SET undone_at = $2 WHERE id = $1", (merge, now))?;
    Ok(names)
}

/// Declares that two entities are never the same. Returns their names.
pub(crate) fn mark_distinct(db: &Connection, one: &str, other: &str) -> Result<(String, String)> {
    let (one, other) = (get(db, one)?, get(db, other)?);
    if one.id == other.id {
        return Err(Error::SelfAlias { alias: one.name, entity: other.name });
    }
    let sql = "INSERT INTO distinct_entities (one, other) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    db.run(sql, (one.id.min(other.id), one.id.max(other.id)))?;
    Ok((one.name, other.name))
}

/// A removed entity.
pub(crate) struct RemovedEntity {
    pub(crate) name: String,
    /// The documents that still mention it: editing them brings their statements back.
    pub(crate) cited: Vec<String>,
    /// All deleted records: `entity-3`, `fact-7`, `relation-2`.
    pub(crate) ids: Vec<String>,
}

/// Deletes an entity permanently: its facts and their history, its relations, its names, and the entities
/// merged into it.
pub(crate) fn remove(db: &Connection, name: &str) -> Result<RemovedEntity> {
    const OF_ENTITY_SQL: &str = "IN (SELECT id FROM entities WHERE root = $1)";
    let entity = get(db, name)?;
    let facts = ids(db, &format!("SELECT id FROM facts WHERE entity {OF_ENTITY_SQL}"), [entity.id])?;
    let related = format!("SELECT id FROM relations WHERE subject {OF_ENTITY_SQL} OR object {OF_ENTITY_SQL}");
    let relations = ids(db, &related, [entity.id])?;
    let entities = ids(db, "SELECT id FROM entities WHERE root = $1", [entity.id])?;
    let numbered = [("entity", &entities), (super::fact::KIND, &facts), (super::relation::KIND, &relations)];
    let named = numbered.iter().flat_map(|(kind, rows)| rows.iter().map(move |id| format!("{kind}-{id}")));
    let named: Vec<String> = named.collect();
    let mut cited = Vec::new();
    index::write(db, |writer| {
        for (kind, rows) in &numbered[1..] {
            for id in *rows {
                cited.extend(super::cites(db, kind, *id)?.into_iter().map(|cite| cite.path));
                super::drop_row(db, writer, kind, *id)?;
            }
        }
        Ok(())
    })?;
    for sql in [
        format!(
            "DELETE FROM citations WHERE kind = 'name' AND id IN (SELECT id FROM names WHERE entity {OF_ENTITY_SQL})"
        ),
        format!("DELETE FROM names WHERE entity {OF_ENTITY_SQL}"),
        format!("DELETE FROM distinct_entities WHERE one {OF_ENTITY_SQL} OR other {OF_ENTITY_SQL}"),
        format!("DELETE FROM merges WHERE kept {OF_ENTITY_SQL} OR gone {OF_ENTITY_SQL}"),
        "DELETE FROM entities WHERE root = $1".to_owned(),
    ] {
        db.run(&sql, [entity.id])?;
    }
    cited.sort();
    cited.dedup();
    Ok(RemovedEntity { name: entity.name, cited, ids: named })
}

/// Removes entities that have no fact, no relation and no alias given by a person.
pub(crate) fn sweep(db: &Connection, entities: &[EntityId]) -> Result<()> {
    for id in entities {
        let sql = "SELECT EXISTS (SELECT 1 FROM facts WHERE entity = $1)
            OR EXISTS (SELECT 1 FROM relations WHERE subject = $1 OR object = $1)
            OR EXISTS (SELECT 1 FROM names WHERE entity = $1 AND NOT own)
            OR EXISTS (SELECT 1 FROM names WHERE entity = $1 AND source <> $2)
            OR EXISTS (SELECT 1 FROM entities WHERE root = $1 AND id <> $1)
            OR EXISTS (SELECT 1 FROM merges WHERE $1 IN (kept, gone))";
        let used: bool = db.one(sql, (id, source_name(Source::Document)), |row| row.get(0))?;
        if !used {
            db.run("DELETE FROM names WHERE entity = $1", [id])?;
            db.run("DELETE FROM entities WHERE id = $1", [id])?;
            db.run("DELETE FROM distinct_entities WHERE one = $1 OR other = $1", [id])?;
        }
    }
    Ok(())
}

pub(super) fn ids(db: &Connection, sql: &str, values: impl Params) -> Result<Vec<i64>> {
    db.rows(sql, values, |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_in_any_spelling() {
        for (name, folded) in [
            ("Márta Lindqvist", "marta lindqvist"),
            ("MARTA’s", "marta"),
            ("Marta's", "marta"),
            ("James'", "james"),
            ("O'Brien", "obrien"),
            ("the NAS", "nas"),
            ("node-7", "node 7"),
            ("  K8s ", "k8s"),
            ("The", "the"),
            ("…", ""),
        ] {
            assert_eq!(fold(name), folded, "{name}");
        }
    }
}
