//! Relations: subject, predicate, object, and the period in which they hold. They are found from either end.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Cite, Origin, Source, activation, cites, drop_row, fact, guard, name, source_name};
use crate::base::origin::RecordOrigin;
use crate::base::redact::{self, redact};
use crate::base::{Error, Result, Time};
use crate::index::{self, Passage, Writer};
use crate::store::{Connection, Params, Row};

/// The kind of a relation's passage.
pub(crate) const KIND: &str = "relation";

/// One relation.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the field names explain themselves")]
pub struct Relation {
    pub id: String,
    pub subject: String,
    pub predicate: String,
    pub object: String,
    pub since: Time,
    /// Absent while the relation holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    pub source: String,
    /// Its origin.
    pub origin: RecordOrigin,
    pub activation: f64,
    /// `hot`, `warm` or `cool`.
    pub tier: &'static str,
    pub access_count: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_accessed: Option<Time>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cites: Vec<Cite>,
}

redact! {
    Relation {
        id, subject, predicate, object, source, cites
        / origin, since, until, activation, tier, access_count, last_accessed
    }
}

/// The result of adding a relation.
pub(crate) struct AddResult {
    pub(crate) relation: Relation,
    /// The relation existed already.
    pub(crate) known: bool,
}

pub(super) const COLUMNS: &str =
    "relations.id, subjects.name, predicate, objects.name, since, until, source, activation,
    access_count, last_accessed, subjects.id, objects.id, relations.origin FROM relations
    JOIN entities AS s ON s.id = relations.subject JOIN entities AS subjects ON subjects.id = s.root
    JOIN entities AS o ON o.id = relations.object JOIN entities AS objects ON objects.id = o.root";

pub(super) fn from_row(row: &Row<'_>) -> Result<Relation> {
    let activation: f64 = row.get(7)?;
    Ok(Relation {
        id: format!("{KIND}-{}", row.get::<i64>(0)?),
        subject: row.get(1)?,
        predicate: row.get(2)?,
        object: row.get(3)?,
        since: row.get(4)?,
        until: row.get(5)?,
        source: row.get(6)?,
        activation,
        tier: activation::tier(activation),
        access_count: row.get(8)?,
        last_accessed: row.get(9)?,
        origin: row.get(12)?,
        cites: Vec::new(),
    })
}

impl Relation {
    /// Returns the relation as one line.
    pub fn line(&self) -> String {
        format!("{} {} {}", self.subject, self.predicate.replace('_', " "), self.object)
    }

    pub(super) fn number(&self) -> i64 {
        super::number(KIND, &self.id).expect("made by us")
    }

    pub(super) fn passage(&self) -> Passage {
        let text = redact::text(&self.line()).into_owned();
        let (live, origin) = (self.until.is_none(), self.origin);
        Passage { live, origin, ..Passage::new(KIND, self.id.clone(), text, self.since) }
    }
}

fn select(db: &Connection, condition: &str, values: impl Params) -> Result<Vec<Relation>> {
    db.rows(&format!("SELECT {COLUMNS} WHERE {condition}"), values, from_row)
}

/// Returns the relation with this number.
pub(super) fn find_by_number(db: &Connection, id: i64) -> Result<Option<Relation>> {
    Ok(select(db, "relations.id = $1", [id])?.pop())
}

/// Adds a relation that holds from `origin.since`. Unknown entities are created.
pub(crate) fn add(
    db: &Connection,
    origin: &Origin<'_>,
    subject: &str,
    predicate: &str,
    object: &str,
) -> Result<AddResult> {
    index::write(db, |writer| add_with(db, writer, origin, [subject, predicate, object]))
}

/// Does the same with a shared writer, as one of many writes.
pub(crate) fn add_with(
    db: &Connection,
    writer: &mut Writer<'_>,
    origin: &Origin<'_>,
    [subject, predicate, object]: [&str; 3],
) -> Result<AddResult> {
    let predicate = guard::predicate(predicate, origin.checked_as())?;
    let (of_subject, of_object) = guard::categories_by(&predicate);
    name::claim(db, origin, subject)?;
    name::claim(db, origin, object)?;
    let subject = name::find_or_create(db, origin, subject, of_subject.unwrap_or(fact::UNKNOWN_CATEGORY))?;
    let object = name::find_or_create(db, origin, object, of_object.unwrap_or(fact::UNKNOWN_CATEGORY))?;
    if subject.id == object.id {
        let what = format!("{} {predicate} {}", subject.name, object.name);
        return Err(Error::SkippedStatement { what, reason: "has the same entity at both ends".into() });
    }
    origin.check_deleted(db, &format!("{} {} {}", subject.name, predicate.replace('_', " "), object.name))?;
    let condition =
        "s.root = $1 AND predicate = $2 AND o.root = $3 AND (until IS NULL OR until > $4) AND since <= $4";
    for known in select(db, condition, (subject.id, &predicate, object.id, origin.since))? {
        if !origin.sees(db, "relations", known.number())? {
            continue;
        }
        if let Some(private) = origin.private {
            let sql = "UPDATE relations SET private = $2 WHERE id = $1";
            db.run(sql, (known.number(), private))?;
        }
        return Ok(AddResult { relation: with_cites(db, known)?, known: true });
    }
    // If it is now said to have begun earlier, the new row ends where the known one begins.
    let condition = "s.root = $1 AND predicate = $2 AND o.root = $3 AND since > $4 ORDER BY since LIMIT 1";
    let later = select(db, condition, (subject.id, &predicate, object.id, origin.since))?.pop();
    let sql =
        "INSERT INTO relations (subject, predicate, object, since, until, source, session, private, origin)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id";
    let values = (
        subject.id,
        &predicate,
        object.id,
        origin.since,
        later.map(|later| later.since),
        source_name(origin.source),
        origin.session,
        origin.hides_new(),
        origin.origin,
    );
    let relation = get(db, db.one(sql, values, |row| row.get(0))?)?;
    writer.insert(&relation.passage())?;
    Ok(AddResult { relation, known: false })
}

/// Shows a relation to shared sessions, or hides it from them.
pub(crate) fn set_private(db: &Connection, reference: &str, private: bool) -> Result<()> {
    let sql = "UPDATE relations SET private = $2 WHERE id = $1";
    db.run(sql, (super::number(KIND, reference), private)).map(drop)
}

/// Tells whether a relation was read from documents or conversations, which decide who sees it.
pub(crate) fn is_read(db: &Connection, reference: &str) -> Result<bool> {
    let sql =
        "SELECT EXISTS (SELECT 1 FROM relations WHERE id = $1 AND source IN ('document', 'conversation'))";
    db.one(sql, [super::number(KIND, reference)], |row| row.get(0))
}

fn get(db: &Connection, id: i64) -> Result<Relation> {
    let missing = || Error::NoRelation { given: format!("{KIND}-{id}") };
    with_cites(db, find_by_number(db, id)?.ok_or_else(missing)?)
}

fn with_cites(db: &Connection, mut relation: Relation) -> Result<Relation> {
    relation.cites = cites(db, KIND, relation.number())?;
    Ok(relation)
}

/// Lists the relations of one entity, at either end, or of all.
pub(crate) fn list(
    db: &Connection,
    entity: Option<&str>,
    as_of: Option<Time>,
    history: bool,
    limit: usize,
) -> Result<Vec<Relation>> {
    let entity = entity.map(|named| name::get(db, named)).transpose()?.map(|entity| entity.id);
    let condition = "($1 IN (subjects.id, objects.id) OR $1 IS NULL)
        AND CASE WHEN $2 THEN true WHEN since <= $3 THEN until IS NULL OR until > $3 ELSE $3 IS NULL AND until IS NULL END
        ORDER BY lower(subjects.name), predicate, lower(objects.name) LIMIT $4";
    let found = select(db, condition, (entity, history, as_of, limit))?;
    found.into_iter().map(|relation| with_cites(db, relation)).collect()
}

/// Ends a current relation, by its id or by subject, predicate and object. It stays as history.
pub(crate) fn end(db: &Connection, now: Time, named: &RelationRef<'_>) -> Result<Relation> {
    let relation = find(db, named)?;
    if relation.until.is_some() {
        return with_cites(db, relation);
    }
    let sql = "UPDATE relations SET until = $2 WHERE id = $1";
    db.run(sql, (relation.number(), now.max(relation.since)))?;
    index::set_live(db, KIND, &relation.id, false)?;
    get(db, relation.number())
}

/// Makes a relation that was ended hold again.
pub(crate) fn reopen(db: &Connection, id: &str) -> Result<()> {
    if db.run("UPDATE relations SET until = NULL WHERE 'relation-' || id = $1", [id])? > 0 {
        index::set_live(db, KIND, id, true)?;
    }
    Ok(())
}

/// Deletes a relation permanently.
pub(crate) fn remove(db: &Connection, named: &RelationRef<'_>) -> Result<Relation> {
    let relation = find(db, named)?;
    index::write(db, |writer| drop_row(db, writer, KIND, relation.number()))?;
    Ok(relation)
}

/// A caller's reference to a relation.
pub(crate) enum RelationRef<'a> {
    Id(&'a str),
    Ends(&'a str, &'a str, &'a str),
}

pub(crate) fn find(db: &Connection, named: &RelationRef<'_>) -> Result<Relation> {
    let (found, given) = match *named {
        RelationRef::Id(id) => {
            let number = super::number(KIND, id).unwrap_or(0);
            (select(db, "relations.id = $1", [number])?, id.to_owned())
        }
        RelationRef::Ends(subject, predicate, object) => {
            let (subject, object) = (name::get(db, subject)?, name::get(db, object)?);
            let predicate = guard::predicate(predicate, Source::Person)?;
            let condition = "subjects.id = $1 AND predicate = $2 AND objects.id = $3 AND until IS NULL";
            let found = select(db, condition, (subject.id, &predicate, object.id))?;
            (found, format!("{} {predicate} {}", subject.name, object.name))
        }
    };
    found.into_iter().next().ok_or(Error::NoRelation { given: crate::base::text::shorten(&given) })
}

/// Writes the passage of a row that was just written.
pub(super) fn index(db: &Connection, writer: &mut Writer<'_>, id: i64) -> Result<()> {
    writer.insert(&get(db, id)?.passage()).map(drop)
}

/// Returns the passages of all relations of some entities, given as a JSON array of numbers.
pub(super) fn passages_of(db: &Connection, entities: &str) -> Result<Vec<Passage>> {
    let either = "relations.subject IN (SELECT CAST(value AS BIGINT) FROM json_each($1))
        OR relations.object IN (SELECT CAST(value AS BIGINT) FROM json_each($1)) ORDER BY relations.id";
    Ok(select(db, either, [entities])?.iter().map(Relation::passage).collect())
}

pub(super) fn passages(db: &Connection) -> Result<Vec<Passage>> {
    Ok(select(db, "true ORDER BY relations.id", ())?.iter().map(Relation::passage).collect())
}
