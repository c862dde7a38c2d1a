//! The graph as records for export and import: everything that was said, with its history. Statements from
//! documents are left out, because importing the documents extracts them again.

use serde::{Deserialize, Serialize};

use super::{Source, guard, name};
use crate::base::caller::Visibility;
use crate::base::origin::RecordOrigin;
use crate::base::{Result, Time};
use crate::index::{Lexicon, Writer};
use crate::records::tombstone::Tombstones;
use crate::store::{Connection, Row, ToSql};

/// All statements in the graph.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Records {
    categories: Vec<String>,
    multi: Vec<String>,
    entities: Vec<Entity>,
    facts: Vec<Fact>,
    relations: Vec<Relation>,
    distinct: Vec<(String, String)>,
}

/// An entity with all its names, including those of merged entities.
#[derive(Debug, Serialize, Deserialize)]
struct Entity {
    name: String,
    category: String,
    aliases: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    private: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Fact {
    entity: String,
    key: String,
    value: String,
    category: String,
    importance: f64,
    permanent: bool,
    since: Time,
    until: Option<Time>,
    source: String,
    activation: f64,
    access_count: i64,
    last_accessed: Option<Time>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    private: bool,
    #[serde(default)]
    origin: RecordOrigin,
}

#[derive(Debug, Serialize, Deserialize)]
struct Relation {
    subject: String,
    predicate: String,
    object: String,
    since: Time,
    until: Option<Time>,
    source: String,
    activation: f64,
    access_count: i64,
    last_accessed: Option<Time>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    private: bool,
    #[serde(default)]
    origin: RecordOrigin,
}

/// Whether a row is private: marked so, or said in a private session.
const IS_PRIVATE: &str = "(private OR source = 'conversation')";

/// The condition for statements that were said rather than read.
const WAS_SAID: &str = "source NOT IN ('document')";

impl Records {
    pub(crate) fn is_empty(&self) -> bool {
        let Records { categories, multi, entities, facts, relations, distinct } = self;
        let rules = categories.len() + multi.len() + distinct.len();
        rules + entities.len() + facts.len() + relations.len() == 0
    }

    /// Reads all statements.
    pub(crate) fn all(db: &Connection) -> Result<Records> {
        let roots = "JOIN entities AS e ON e.id = entity JOIN entities AS roots ON roots.id = e.root";
        let facts = db.rows(
            &format!(
                "SELECT roots.name, key, value, facts.category, importance, permanent, since, until, source, activation,
                    access_count, last_accessed, {IS_PRIVATE}, facts.origin FROM facts {roots} WHERE {WAS_SAID} ORDER BY facts.id"
            ),
            (),
            |row| {
                Ok(Fact {
                    entity: row.get(0)?,
                    key: row.get(1)?,
                    value: row.get(2)?,
                    category: row.get(3)?,
                    importance: row.get(4)?,
                    permanent: row.get(5)?,
                    since: row.get(6)?,
                    until: row.get(7)?,
                    source: row.get(8)?,
                    activation: row.get(9)?,
                    access_count: row.get(10)?,
                    last_accessed: row.get(11)?,
                    private: row.get(12)?,
                    origin: row.get(13)?,
                })
            },
        )?;
        let relations = db.rows(
            &format!(
                "SELECT subjects.name, predicate, objects.name, since, until, source, activation, access_count,
                    last_accessed, {IS_PRIVATE}, relations.origin FROM relations
                JOIN entities AS s ON s.id = subject JOIN entities AS subjects ON subjects.id = s.root
                JOIN entities AS o ON o.id = object JOIN entities AS objects ON objects.id = o.root
                WHERE {WAS_SAID} ORDER BY relations.id"
            ),
            (),
            |row| {
                Ok(Relation {
                    subject: row.get(0)?,
                    predicate: row.get(1)?,
                    object: row.get(2)?,
                    since: row.get(3)?,
                    until: row.get(4)?,
                    source: row.get(5)?,
                    activation: row.get(6)?,
                    access_count: row.get(7)?,
                    last_accessed: row.get(8)?,
                    private: row.get(9)?,
                    origin: row.get(10)?,
                })
            },
        )?;
        let mut entities = db.rows(
            "SELECT name, category, coalesce((SELECT private OR source IN ('document', 'conversation')
                FROM names WHERE names.entity = entities.id AND own), false)
             FROM entities WHERE root = id AND EXISTS (SELECT 1 FROM names
                JOIN entities AS of ON of.id = names.entity WHERE of.root = entities.id AND source <> 'document')
             ORDER BY id",
            (),
            |row| Ok(Entity { name: row.get(0)?, category: row.get(1)?, aliases: Vec::new(), private: row.get(2)? }),
        )?;
        for entity in &mut entities {
            let known = name::get(db, &entity.name)?;
            entity.aliases =
                name::aliases(db, Some(known.id))?.into_iter().map(|alias| alias.alias).collect();
        }
        let text = |row: &Row<'_>| row.get(0);
        let distinct = "SELECT one.name, other.name FROM distinct_entities AS d
            JOIN entities AS one ON one.id = d.one JOIN entities AS other ON other.id = d.other ORDER BY 1, 2";
        Ok(Records {
            categories: db.rows("SELECT name FROM categories ORDER BY name", (), text)?,
            multi: db.rows("SELECT key FROM multi_keys ORDER BY key", (), text)?,
            entities,
            facts,
            relations,
            distinct: db.rows(distinct, (), |row| Ok((row.get(0)?, row.get(1)?)))?,
        })
    }

    /// Imports records and keeps existing ones unchanged. Returns how many facts and relations are new.
    pub(crate) fn import(&self, db: &Connection) -> Result<usize> {
        for (sql, names) in [
            ("INSERT INTO categories (name) VALUES ($1) ON CONFLICT DO NOTHING", &self.categories),
            ("INSERT INTO multi_keys (key) VALUES ($1) ON CONFLICT DO NOTHING", &self.multi),
        ] {
            for name in names {
                db.run(sql, [name])?;
            }
        }
        let origin = |since: Time, private: bool| super::Origin {
            now: since,
            since,
            source: Source::Person,
            origin: RecordOrigin::Import,
            session: None,
            private: Some(private),
            private_by_default: private,
            visibility: Visibility::Private,
        };
        let long_ago = Time::from_millis(0);
        for Entity { name, category, aliases, private } in &self.entities {
            name::find_or_create(db, &origin(long_ago, *private), name, category)?;
            for alias in aliases {
                // A name that belongs to another entity here stays with it.
                let _ = name::add_alias(db, &origin(long_ago, *private), alias, name);
            }
        }
        for (one, other) in &self.distinct {
            let _ = name::mark_distinct(db, one, other);
        }
        let mut added = 0;
        let deleted = Tombstones::load(db)?;
        let mut lexicon = Lexicon::default();
        let mut writer = Writer::new(db, &mut lexicon)?;
        for fact in &self.facts {
            // An imported file is not trusted: a statement that no call could make is not imported either.
            let (key, value) =
                (guard::key(&fact.key, Source::Person)?, guard::value(&fact.value, Source::Person)?);
            if !fact.category.is_empty() {
                super::fact::category(db, &fact.category)?;
            }
            let entity =
                name::find_or_create(db, &origin(fact.since, fact.private), &fact.entity, &fact.category)?;
            if deleted.cover(&format!("{}: {} = {value}", entity.name, key.replace('_', " "))) {
                continue;
            }
            let sql = "SELECT id FROM facts WHERE entity IN (SELECT id FROM entities WHERE root = $1)
                AND key = $2 AND value = $3 AND since = $4";
            let values = (entity.id, &key, &value, fact.since);
            if db.row(sql, values, |_| Ok(()))?.is_some() {
                continue;
            }
            let sql = "INSERT INTO facts (entity, key, value, category, importance, permanent, since, until, source, activation,
                access_count, last_accessed, private, origin)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
                RETURNING id";
            let values: [&dyn ToSql; 14] = [
                &entity.id,
                &key,
                &value,
                &fact.category,
                &fact.importance.clamp(0.0, 1.0),
                &fact.permanent,
                &fact.since,
                &fact.until,
                &fact.source,
                &fact.activation,
                &fact.access_count,
                &fact.last_accessed,
                &fact.private,
                &fact.origin,
            ];
            super::fact::index(db, &mut writer, db.one(sql, values, |row| row.get(0))?)?;
            added += 1;
        }
        for relation in &self.relations {
            let predicate = guard::predicate(&relation.predicate, Source::Person)?;
            let subject =
                name::find_or_create(db, &origin(relation.since, relation.private), &relation.subject, "")?;
            let object =
                name::find_or_create(db, &origin(relation.since, relation.private), &relation.object, "")?;
            let sql = "SELECT 1 FROM relations WHERE subject = $1 AND predicate = $2 AND object = $3 AND since = $4";
            let values = (subject.id, &predicate, object.id, relation.since);
            if db.row(sql, values, |_| Ok(()))?.is_some() {
                continue;
            }
            let sql = "INSERT INTO relations (subject, predicate, object, since, until, source, activation, access_count,
                last_accessed, private, origin) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING id";
            let values = (
                subject.id,
                predicate,
                object.id,
                relation.since,
                relation.until,
                &relation.source,
                relation.activation,
                relation.access_count,
                relation.last_accessed,
                relation.private,
                relation.origin,
            );
            super::relation::index(db, &mut writer, db.one(sql, values, |row| row.get(0))?)?;
            added += 1;
        }
        writer.finish()?;
        Ok(added)
    }
}
