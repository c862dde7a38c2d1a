//! The graph as other machines need it: what was said, by names instead of numbers. `records::sync` merges it. What was read from
//! documents does not travel; the documents do.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{EntityId, drop_row, fact, name, relation};
use crate::base::origin::RecordOrigin;
use crate::base::{Result, Time};
use crate::index::Writer;
use crate::store::{Connection, Row, ToSql};

/// The fields of a row.
pub(crate) type Fields = BTreeMap<String, Value>;

/// A row: its number here, what names it everywhere, and its fields.
pub(crate) struct ReplicaRow {
    pub(crate) number: i64,
    pub(crate) key: Vec<String>,
    pub(crate) fields: Fields,
}

fn fields<const N: usize>(values: [(&str, Value); N]) -> Fields {
    values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn get<T: serde::de::DeserializeOwned>(fields: &Fields, name: &str) -> Option<T> {
    serde_json::from_value(fields.get(name)?.clone()).ok()
}

/// Returns the entities that somebody named.
pub(crate) fn entities(db: &Connection) -> Result<Vec<ReplicaRow>> {
    let sql = "SELECT entities.id, entities.name, entities.category, roots.name, names.source, names.private, entities.created_at
        FROM entities JOIN entities AS roots ON roots.id = entities.root
        JOIN names ON names.entity = entities.id AND own WHERE names.source NOT IN ('document', 'conversation') ORDER BY entities.id";
    db.rows(sql, (), |row| {
        let (name, root): (String, String) = (row.get(1)?, row.get(3)?);
        Ok(ReplicaRow {
            number: row.get(0)?,
            key: vec![name::fold(&name)],
            fields: fields([
                ("name", json!(name)),
                ("category", json!(row.text(2)?)),
                ("root", json!(root)),
                ("source", json!(row.text(4)?)),
                ("private", json!(row.get::<bool>(5)?)),
                ("created_at", json!(row.get::<Time>(6)?)),
            ]),
        })
    })
}

/// Returns the aliases that somebody gave.
pub(crate) fn aliases(db: &Connection) -> Result<Vec<ReplicaRow>> {
    let sql = "SELECT names.id, names.folded, names.name, entities.name, names.source, names.private FROM names
        JOIN entities ON entities.id = names.entity WHERE NOT own AND names.source NOT IN ('document', 'conversation') ORDER BY names.id";
    db.rows(sql, (), |row| {
        Ok(ReplicaRow {
            number: row.get(0)?,
            key: vec![row.get(1)?],
            fields: fields([
                ("name", json!(row.text(2)?)),
                ("entity", json!(row.text(3)?)),
                ("source", json!(row.text(4)?)),
                ("private", json!(row.get::<bool>(5)?)),
            ]),
        })
    })
}

/// Returns the pairs of entities that are never the same. They are named without case, as entities are.
pub(crate) fn distinct(db: &Connection) -> Result<Vec<ReplicaRow>> {
    let sql = "SELECT d.one * 4294967296 + d.other, one.name, other.name FROM distinct_entities AS d
        JOIN entities AS one ON one.id = d.one JOIN entities AS other ON other.id = d.other ORDER BY d.one, d.other";
    db.rows(sql, (), |row| {
        let mut key = vec![name::fold(row.text(1)?), name::fold(row.text(2)?)];
        key.sort();
        let fields = fields([("one", json!(key[0])), ("other", json!(key[1]))]);
        Ok(ReplicaRow { number: row.get(0)?, key, fields })
    })
}

/// Splits the number of a pair into those of its entities.
fn pair(number: i64) -> (i64, i64) {
    (number >> 32, number & 0xffff_ffff)
}

/// Writes a pair of entities that are never the same. Returns its number, unless both names are one entity here.
pub(crate) fn put_distinct(db: &Connection, values: &Fields, now: Time) -> Result<Option<i64>> {
    let (Some(one), Some(other)) = (get::<String>(values, "one"), get::<String>(values, "other")) else {
        return Ok(None);
    };
    let (Some(one), Some(other)) = (entity_named(db, &one, now)?, entity_named(db, &other, now)?) else {
        return Ok(None);
    };
    if one == other {
        return Ok(None);
    }
    let (one, other) = (one.0.min(other.0), one.0.max(other.0));
    let sql = "INSERT INTO distinct_entities (one, other) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    db.run(sql, (one, other))?;
    Ok(Some(one << 32 | other))
}

/// Lets a pair of entities be the same again.
pub(crate) fn erase_distinct(db: &Connection, number: i64) -> Result<()> {
    db.run("DELETE FROM distinct_entities WHERE one = $1 AND other = $2", pair(number)).map(drop)
}

/// A rule of the graph: what it is about, and the statements that list, add and remove such rules.
struct Rule {
    about: &'static str,
    list: &'static str,
    add: &'static str,
    remove: &'static str,
}

/// Keys whose values do not replace each other, and categories beside the built-in ones.
const RULES: &[Rule] = &[
    Rule {
        about: "multi",
        list: "SELECT key FROM multi_keys ORDER BY key",
        add: "INSERT INTO multi_keys (key) VALUES ($1) ON CONFLICT DO NOTHING",
        remove: "DELETE FROM multi_keys WHERE key = $1",
    },
    Rule {
        about: "category",
        list: "SELECT name FROM categories ORDER BY name",
        add: "INSERT INTO categories (name) VALUES ($1) ON CONFLICT DO NOTHING",
        remove: "DELETE FROM categories WHERE name = $1",
    },
];

/// Returns the rules: what each is about, and its name.
pub(crate) fn rules(db: &Connection) -> Result<Vec<(&'static str, String)>> {
    let mut found = Vec::new();
    for rule in RULES {
        let names = db.rows(rule.list, (), |row| row.get(0))?;
        found.extend(names.into_iter().map(|name| (rule.about, name)));
    }
    Ok(found)
}

/// Makes a rule hold, or not. Returns whether there are such rules.
pub(crate) fn set_rule(db: &Connection, about: &str, name: &str, holds: bool) -> Result<bool> {
    let Some(rule) = RULES.iter().find(|rule| rule.about == about) else { return Ok(false) };
    db.run(if holds { rule.add } else { rule.remove }, [name])?;
    Ok(true)
}

/// Returns the facts that were said.
pub(crate) fn facts(db: &Connection) -> Result<Vec<ReplicaRow>> {
    let sql = "SELECT facts.id, entities.name, key, value, facts.category, importance, permanent, since, until, source, session, private, origin
        FROM facts JOIN entities ON entities.id = facts.entity WHERE source NOT IN ('document', 'conversation') ORDER BY facts.id";
    db.rows(sql, (), |row| {
        let since: Time = row.get(7)?;
        let (entity, key, value): (String, String, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
        Ok(ReplicaRow {
            number: row.get(0)?,
            key: vec![name::fold(&entity), key.clone(), value.clone(), since.as_millis().to_string()],
            fields: fields([
                ("entity", json!(entity)),
                ("key", json!(key)),
                ("value", json!(value)),
                ("category", json!(row.text(4)?)),
                ("importance", json!(row.get::<f64>(5)?)),
                ("permanent", json!(row.get::<bool>(6)?)),
                ("since", json!(since)),
                ("until", json!(row.get::<Option<Time>>(8)?)),
                ("source", json!(row.text(9)?)),
                ("session", json!(row.get::<Option<String>>(10)?)),
                ("private", json!(row.get::<bool>(11)?)),
                ("origin", json!(row.get::<RecordOrigin>(12)?)),
            ]),
        })
    })
}

/// Returns the relations that were said.
pub(crate) fn relations(db: &Connection) -> Result<Vec<ReplicaRow>> {
    let sql = "SELECT relations.id, subjects.name, predicate, objects.name, since, until, source, session, private, origin FROM relations
        JOIN entities AS subjects ON subjects.id = subject JOIN entities AS objects ON objects.id = object
        WHERE source NOT IN ('document', 'conversation') ORDER BY relations.id";
    db.rows(sql, (), |row| {
        let since: Time = row.get(4)?;
        let (subject, predicate, object): (String, String, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
        Ok(ReplicaRow {
            number: row.get(0)?,
            key: vec![
                name::fold(&subject),
                predicate.clone(),
                name::fold(&object),
                since.as_millis().to_string(),
            ],
            fields: fields([
                ("subject", json!(subject)),
                ("predicate", json!(predicate)),
                ("object", json!(object)),
                ("since", json!(since)),
                ("until", json!(row.get::<Option<Time>>(5)?)),
                ("source", json!(row.text(6)?)),
                ("session", json!(row.get::<Option<String>>(7)?)),
                ("private", json!(row.get::<bool>(8)?)),
                ("origin", json!(row.get::<RecordOrigin>(9)?)),
            ]),
        })
    })
}

/// Returns the entity with this name, and creates it if needed: its own record may come later, or never if only documents name it.
fn entity_named(db: &Connection, name: &str, now: Time) -> Result<Option<EntityId>> {
    let folded = name::fold(name);
    if folded.is_empty() {
        return Ok(None);
    }
    let sql = "SELECT entity FROM names WHERE folded = $1";
    if let Some(found) = db.row(sql, [&folded], |row| row.get(0))? {
        return Ok(Some(found));
    }
    let sql = "INSERT INTO entities (name, root, category, created_at) VALUES ($1, 0, '', $2) RETURNING id";
    let id: EntityId = db.one(sql, (name, now), |row| row.get(0))?;
    db.run("UPDATE entities SET root = id WHERE id = $1", [id])?;
    let sql = "INSERT INTO names (folded, name, entity, own, source, private) VALUES ($1, $2, $3, true, 'document', false)";
    db.run(sql, (folded, name, id))?;
    Ok(Some(id))
}

/// Writes an entity. Returns its number, unless the fields are not those of an entity.
pub(crate) fn put_entity(db: &Connection, writer: &mut Writer<'_>, values: &Fields) -> Result<Option<i64>> {
    let (Some(name), Some(category), Some(root), Some(source), Some(private), Some(created)) = (
        get::<String>(values, "name"),
        get::<String>(values, "category"),
        get::<String>(values, "root"),
        get::<String>(values, "source"),
        get::<bool>(values, "private"),
        get::<Time>(values, "created_at"),
    ) else {
        return Ok(None);
    };
    let Some(id) = entity_named(db, &name, created)? else { return Ok(None) };
    let own: String = db.one("SELECT name FROM entities WHERE id = $1", [id], |row| row.get(0))?;
    if name::fold(&own) != name::fold(&name) {
        // The name is an alias of another entity here, and stays with it.
        return Ok(None);
    }
    // Two machines may spell it differently; all of them show the spelling of the record.
    let sql = "UPDATE entities SET name = $2, category = $3, created_at = $4 WHERE id = $1";
    db.run(sql, (id, &name, category, created))?;
    let sql = "UPDATE names SET name = $2, source = $3, private = $4 WHERE entity = $1 AND own";
    db.run(sql, (id, &name, source, private))?;
    if own != name {
        rewrite_passages(db, writer, &[id.0])?;
    }
    let Some(mut target) = entity_named(db, &root, created)? else { return Ok(None) };
    let of_target: (EntityId, String) =
        db.one("SELECT root, name FROM entities WHERE id = $1", [target], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    if of_target.0 == id && target != id {
        // Two machines merged them into each other: the name that sorts first is kept.
        if name::fold(&own) < name::fold(&of_target.1) {
            target = id;
        } else {
            set_root(db, writer, target, target)?;
        }
    } else {
        target = of_target.0;
    }
    set_root(db, writer, id, target)?;
    Ok(Some(id.0))
}

/// Makes an entity, and those that count as it, count as another.
fn set_root(db: &Connection, writer: &mut Writer<'_>, id: EntityId, root: EntityId) -> Result<()> {
    let before: EntityId = db.one("SELECT root FROM entities WHERE id = $1", [id], |row| row.get(0))?;
    if before == root {
        return Ok(());
    }
    let mut moved = vec![id.0];
    if root != id {
        moved = name::ids(db, "SELECT id FROM entities WHERE root = $1 OR id = $1", [id])?;
    }
    for entity in &moved {
        db.run("UPDATE entities SET root = $2 WHERE id = $1", (entity, root))?;
    }
    rewrite_passages(db, writer, &moved)
}

/// Writes the passages again that name these entities.
fn rewrite_passages(db: &Connection, writer: &mut Writer<'_>, entities: &[i64]) -> Result<()> {
    let entities = serde_json::to_string(entities)?;
    for passage in fact::passages_of(db, &entities)?.iter().chain(&relation::passages_of(db, &entities)?) {
        writer.put(passage)?;
    }
    Ok(())
}

/// Writes an alias. Returns its number, unless the name belongs to another entity here.
pub(crate) fn put_alias(db: &Connection, values: &Fields, now: Time) -> Result<Option<i64>> {
    let (Some(name), Some(entity), Some(source), Some(private)) = (
        get::<String>(values, "name"),
        get::<String>(values, "entity"),
        get::<String>(values, "source"),
        get::<bool>(values, "private"),
    ) else {
        return Ok(None);
    };
    let (folded, Some(entity)) = (name::fold(&name), entity_named(db, &entity, now)?) else {
        return Ok(None);
    };
    if folded.is_empty() {
        return Ok(None);
    }
    let sql = "INSERT INTO names (folded, name, entity, own, source, private) VALUES ($1, $2, $3, false, $4, $5)
        ON CONFLICT (folded) DO UPDATE SET name = excluded.name, entity = excluded.entity, source = excluded.source,
            private = excluded.private WHERE NOT names.own RETURNING id";
    db.row(sql, (folded, name, entity, source, private), |row| row.get(0))
}

/// Writes a fact. Returns its number, unless the fields are not those of a fact.
pub(crate) fn put_fact(
    db: &Connection,
    writer: &mut Writer<'_>,
    number: Option<i64>,
    values: &Fields,
) -> Result<Option<i64>> {
    let (Some(entity), Some(key), Some(value), Some(since)) = (
        get::<String>(values, "entity"),
        get::<String>(values, "key"),
        get::<String>(values, "value"),
        get::<Time>(values, "since"),
    ) else {
        return Ok(None);
    };
    let (
        Some(category),
        Some(importance),
        Some(permanent),
        Some(until),
        Some(source),
        Some(session),
        Some(private),
        Some(origin),
    ) = (
        get::<String>(values, "category"),
        get::<f64>(values, "importance"),
        get::<bool>(values, "permanent"),
        get::<Option<Time>>(values, "until"),
        get::<String>(values, "source"),
        get::<Option<String>>(values, "session"),
        get::<bool>(values, "private"),
        get::<RecordOrigin>(values, "origin"),
    )
    else {
        return Ok(None);
    };
    let Some(entity) = entity_named(db, &entity, since)? else { return Ok(None) };
    let same = "SELECT id FROM facts WHERE entity = $1 AND key = $2 AND value = $3 AND since = $4 AND source NOT IN ('document', 'conversation')";
    let number = match number {
        Some(number) => Some(number),
        None => db.row(same, (entity, &key, &value, since), |row| row.get(0))?,
    };
    let values: [&dyn ToSql; 13] = [
        &number,
        &entity,
        &key,
        &value,
        &category,
        &importance,
        &permanent,
        &since,
        &until,
        &source,
        &session,
        &private,
        &origin,
    ];
    let sql = "INSERT INTO facts (id, entity, key, value, category, importance, permanent, since, until, source, session, private, origin)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
        ON CONFLICT (id) DO UPDATE SET entity = excluded.entity, key = excluded.key, value = excluded.value,
            category = excluded.category, importance = excluded.importance, permanent = excluded.permanent, since = excluded.since,
            until = excluded.until, source = excluded.source, session = excluded.session, private = excluded.private,
            origin = excluded.origin RETURNING id";
    let id: i64 = db.one(sql, values, first)?;
    if let Some(fact) = fact::find(db, id)? {
        writer.put(&fact.passage())?;
    }
    Ok(Some(id))
}

/// Writes a relation. Returns its number, unless the fields are not those of a relation.
pub(crate) fn put_relation(
    db: &Connection,
    writer: &mut Writer<'_>,
    number: Option<i64>,
    values: &Fields,
) -> Result<Option<i64>> {
    let (Some(subject), Some(predicate), Some(object), Some(since)) = (
        get::<String>(values, "subject"),
        get::<String>(values, "predicate"),
        get::<String>(values, "object"),
        get::<Time>(values, "since"),
    ) else {
        return Ok(None);
    };
    let (Some(until), Some(source), Some(session), Some(private), Some(origin)) = (
        get::<Option<Time>>(values, "until"),
        get::<String>(values, "source"),
        get::<Option<String>>(values, "session"),
        get::<bool>(values, "private"),
        get::<RecordOrigin>(values, "origin"),
    ) else {
        return Ok(None);
    };
    let (Some(subject), Some(object)) =
        (entity_named(db, &subject, since)?, entity_named(db, &object, since)?)
    else {
        return Ok(None);
    };
    let same = "SELECT id FROM relations WHERE subject = $1 AND predicate = $2 AND object = $3 AND since = $4
        AND source NOT IN ('document', 'conversation')";
    let number = match number {
        Some(number) => Some(number),
        None => db.row(same, (subject, &predicate, object, since), |row| row.get(0))?,
    };
    let sql = "INSERT INTO relations (id, subject, predicate, object, since, until, source, session, private, origin)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        ON CONFLICT (id) DO UPDATE SET subject = excluded.subject, predicate = excluded.predicate, object = excluded.object,
            since = excluded.since, until = excluded.until, source = excluded.source, session = excluded.session,
            private = excluded.private, origin = excluded.origin RETURNING id";
    let values = (number, subject, predicate, object, since, until, source, session, private, origin);
    let id: i64 = db.one(sql, values, first)?;
    if let Some(relation) = relation::find_by_number(db, id)? {
        writer.put(&relation.passage())?;
    }
    Ok(Some(id))
}

fn first(row: &Row<'_>) -> Result<i64> {
    row.get(0)
}

/// Deletes a fact or a relation.
pub(crate) fn erase_row(db: &Connection, writer: &mut Writer<'_>, kind: &str, number: i64) -> Result<()> {
    drop_row(db, writer, kind, number)
}

/// Deletes an alias.
pub(crate) fn erase_alias(db: &Connection, number: i64) -> Result<()> {
    db.run("DELETE FROM names WHERE id = $1 AND NOT own", [number])?;
    db.run("DELETE FROM citations WHERE kind = 'name' AND id = $1", [number]).map(drop)
}

/// Deletes an entity that nothing refers to any more. One that a document or a fact still names stays.
pub(crate) fn erase_entity(db: &Connection, number: i64) -> Result<()> {
    let sql = "SELECT EXISTS (SELECT 1 FROM facts WHERE entity = $1) OR EXISTS (SELECT 1 FROM relations WHERE $1 IN (subject, object))
        OR EXISTS (SELECT 1 FROM entities WHERE root = $1 AND id <> $1)";
    if db.one(sql, [number], |row| row.get(0))? {
        return Ok(());
    }
    db.run("DELETE FROM names WHERE entity = $1", [number])?;
    db.run("DELETE FROM distinct_entities WHERE one = $1 OR other = $1", [number])?;
    db.run("DELETE FROM merges WHERE kept = $1 OR gone = $1", [number])?;
    db.run("DELETE FROM entities WHERE id = $1", [number]).map(drop)
}

/// Ends the older of two current values of one key that two machines set at the same time. It ends where the newer begins.
pub(crate) fn settle_facts(db: &Connection, writer: &mut Writer<'_>, numbers: &[i64]) -> Result<()> {
    for number in numbers {
        let key: Option<String> =
            db.row("SELECT key FROM facts WHERE id = $1", [number], |row| row.get(0))?;
        let Some(key) = key else { continue };
        if fact::is_multi(db, &key)? {
            continue;
        }
        let sql = "SELECT older.id, newer.since FROM facts AS one JOIN entities AS e ON e.id = one.entity
            JOIN entities AS same ON same.root = e.root
            JOIN facts AS older ON older.entity = same.id AND older.key = one.key AND older.until IS NULL
                AND older.source NOT IN ('document', 'conversation')
            JOIN entities AS again ON again.root = e.root
            JOIN facts AS newer ON newer.entity = again.id AND newer.key = one.key AND newer.until IS NULL
                AND newer.source NOT IN ('document', 'conversation')
                AND (newer.since > older.since OR newer.since = older.since AND newer.value > older.value)
            WHERE one.id = $1 ORDER BY older.id, newer.since";
        for (older, until) in db.rows(sql, [number], |row| Ok((row.get::<i64>(0)?, row.get::<Time>(1)?)))? {
            db.run("UPDATE facts SET until = $2 WHERE id = $1 AND until IS NULL", (older, until))?;
            writer.set_live(fact::KIND, &format!("{}-{older}", fact::KIND), false)?;
        }
    }
    Ok(())
}

/// A fact or a relation, and the period in which it holds.
pub(crate) struct GraphStatement {
    pub(crate) id: String,
    pub(crate) number: i64,
    pub(crate) line: String,
    pub(crate) since: Time,
    pub(crate) until: Option<Time>,
    pub(crate) session: String,
}

/// Returns the facts and relations that were said, each with its kind.
pub(crate) fn statements(db: &Connection) -> Result<Vec<(&'static str, GraphStatement)>> {
    let mut found = Vec::new();
    for ReplicaRow { number, fields, .. } in facts(db)? {
        let session = get::<Option<String>>(&fields, "session").flatten().unwrap_or_default();
        if let Some(fact) = fact::find(db, number)? {
            let (line, since, until) = (fact.line(), fact.since, fact.until);
            found.push(("fact", GraphStatement { id: fact.id, number, line, since, until, session }));
        }
    }
    for ReplicaRow { number, fields, .. } in relations(db)? {
        let session = get::<Option<String>>(&fields, "session").flatten().unwrap_or_default();
        if let Some(relation) = relation::find_by_number(db, number)? {
            let (line, since, until) = (relation.line(), relation.since, relation.until);
            found.push(("relation", GraphStatement { id: relation.id, number, line, since, until, session }));
        }
    }
    Ok(found)
}
