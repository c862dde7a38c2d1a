//! Facts: an entity, a key, a value, and the period in which it holds. A new value ends the previous one,
//! which stays as history; a key that is declared multi-valued keeps all values.

use schemars::JsonSchema;
use serde::Serialize;

use super::name::{self, Entity};
use super::{Cite, EntityId, Origin, Source, activation, cite, cites, drop_row, guard, source_name};
use crate::base::origin::RecordOrigin;
use crate::base::redact::{self, redact};
use crate::base::{Error, Result, Time, text};
use crate::index::{self, Passage, Writer};
use crate::store::{Connection, Params, Row};

/// The kind of a fact's passage.
pub(crate) const KIND: &str = "fact";
/// The category of an entity whose category is unknown.
pub(super) const UNKNOWN_CATEGORY: &str = "";
/// The importance of a fact if none is given.
pub(crate) const DEFAULT_IMPORTANCE: f64 = 0.5;

/// One fact.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the field names explain themselves")]
pub struct Fact {
    pub id: String,
    pub entity: String,
    pub key: String,
    pub value: String,
    pub category: String,
    pub importance: f64,
    pub permanent: bool,
    pub since: Time,
    /// Absent while the fact holds.
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
    Fact {
        id, entity, key, value, category, source, cites
        / origin, importance, permanent, since, until, activation, tier, access_count, last_accessed
    }
}

/// A fact to store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft<'a> {
    pub(crate) entity: &'a str,
    pub(crate) key: &'a str,
    pub(crate) value: &'a str,
    /// `None` means that of the entity, if it is known.
    pub(crate) category: Option<&'a str>,
    pub(crate) importance: Option<f64>,
    pub(crate) permanent: Option<bool>,
}

/// The result of storing a draft.
pub(crate) struct SetResult {
    pub(crate) fact: Fact,
    /// The value it replaced.
    pub(crate) replaced: Option<String>,
    /// The fact existed already.
    pub(crate) known: bool,
    /// Something was written, if only its importance.
    pub(crate) changed: bool,
}

pub(super) const COLUMNS: &str = "facts.id, roots.name, key, value, facts.category, importance, permanent, since, until,
    source, activation, access_count, last_accessed, facts.origin
    FROM facts JOIN entities ON entities.id = facts.entity JOIN entities AS roots ON roots.id = entities.root";

pub(super) fn from_row(row: &Row<'_>) -> Result<Fact> {
    let activation: f64 = row.get(10)?;
    Ok(Fact {
        id: format!("{KIND}-{}", row.get::<i64>(0)?),
        entity: row.get(1)?,
        key: row.get(2)?,
        value: row.get(3)?,
        category: row.get(4)?,
        importance: row.get(5)?,
        permanent: row.get(6)?,
        since: row.get(7)?,
        until: row.get(8)?,
        source: row.get(9)?,
        activation,
        tier: activation::tier(activation),
        access_count: row.get(11)?,
        last_accessed: row.get(12)?,
        origin: row.get(13)?,
        cites: Vec::new(),
    })
}

impl Fact {
    /// Returns the fact as one line.
    pub fn line(&self) -> String {
        format!("{}: {} = {}", self.entity, self.key.replace('_', " "), self.value)
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

fn select(db: &Connection, condition: &str, values: impl Params) -> Result<Vec<Fact>> {
    db.rows(&format!("SELECT {COLUMNS} WHERE {condition}"), values, from_row)
}

fn get(db: &Connection, id: i64) -> Result<Fact> {
    let missing = || Error::NoFact { given: format!("{KIND}-{id}"), known: String::new() };
    let mut fact = find(db, id)?.ok_or_else(missing)?;
    fact.cites = cites(db, KIND, id)?;
    Ok(fact)
}

/// Returns the fact with this number.
pub(super) fn find(db: &Connection, id: i64) -> Result<Option<Fact>> {
    Ok(select(db, "facts.id = $1", [id])?.pop())
}

/// Stores the value of an entity's key, valid from `origin.since`.
pub(crate) fn set(db: &Connection, origin: &Origin<'_>, draft: &Draft<'_>) -> Result<SetResult> {
    index::write(db, |writer| set_with(db, writer, origin, draft))
}

/// Does the same with a shared writer, as one of many writes.
pub(crate) fn set_with(
    db: &Connection,
    writer: &mut Writer<'_>,
    origin: &Origin<'_>,
    draft: &Draft<'_>,
) -> Result<SetResult> {
    let key = guard::key(draft.key, origin.checked_as())?;
    let value = guard::value(draft.value, origin.checked_as())?;
    let given = draft.category.map(|category| self::category(db, category)).transpose()?;
    let hidden = name::claim(db, origin, draft.entity)?;
    let known = name::find(db, draft.entity)?;
    let category = match (given, &known) {
        (Some(given), _) => given,
        (None, Some(entity)) if !hidden => entity.category.clone(),
        (None, _) => UNKNOWN_CATEGORY.to_owned(),
    };
    let entity = match known {
        Some(entity) if !hidden => name::sort(db, entity, &category)?,
        Some(entity) => entity,
        None => name::find_or_create(db, origin, draft.entity, &category)?,
    };
    origin.check_deleted(db, &format!("{}: {} = {value}", entity.name, key.replace('_', " ")))?;
    let multi = is_multi(db, &key)?;
    let before = select(
        db,
        "entities.root = $1 AND key = $2 AND (until IS NULL OR until > $3) ORDER BY since, facts.id",
        (entity.id, &key, origin.since),
    )?;
    // Hidden facts are neither ended nor revealed: both hold, each for the sessions that see it.
    let mut seen = Vec::new();
    for fact in before {
        if origin.sees(db, "facts", fact.number())? {
            seen.push(fact);
        }
    }
    let before = seen;
    let read = origin.source.is_read();
    let same = |fact: &&Fact| {
        text::canonical(&fact.value) == text::canonical(&value)
            || read && guard::nearly_same(&fact.value, &value)
    };
    if let Some(same) =
        before.iter().filter(|fact| fact.until.is_none() || fact.since <= origin.since).find(same)
    {
        return confirm(db, origin, same, draft, &category);
    }
    if multi {
        let holding = before.iter().filter(|fact| fact.until.is_none()).count();
        let most = guard::max_values(origin.source);
        if holding >= most {
            let what = format!("{}.{key}", entity.name);
            return Err(Error::SkippedStatement {
                what,
                reason: format!("has {holding} values; the limit for one key is {most}"),
            });
        }
    }
    // The value that held at that moment ends then; a later value stays, and ends this one.
    let (mut replaced, mut until, mut private) = (None, None, origin.private_by_default);
    for other in before.iter().filter(|_| !multi) {
        if other.since <= origin.since {
            end(db, writer, other, origin.since)?;
            replaced = Some(other.value.clone());
            private = is_private(db, &other.id)?;
        } else {
            until = Some(until.map_or(other.since, |known: Time| known.min(other.since)));
        }
    }
    let importance = draft.importance.unwrap_or(DEFAULT_IMPORTANCE).clamp(0.0, 1.0);
    let permanent = draft.permanent.unwrap_or_else(|| guard::is_permanent(&category));
    let sql = "INSERT INTO facts (entity, key, value, category, importance, permanent, since, until, source, session, private, origin)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING id";
    let values = (
        entity.id,
        &key,
        &value,
        &category,
        importance,
        permanent,
        origin.since,
        until,
        source_name(origin.source),
        origin.session,
        origin.private.unwrap_or(private),
        origin.origin,
    );
    let fact = get(db, db.one(sql, values, |row| row.get(0))?)?;
    writer.insert(&fact.passage())?;
    Ok(SetResult { fact, replaced, known: false, changed: true })
}

/// Applies the other fields of a draft to a fact that exists already.
fn confirm(
    db: &Connection,
    origin: &Origin<'_>,
    known: &Fact,
    draft: &Draft<'_>,
    category: &str,
) -> Result<SetResult> {
    let was_private = is_private(db, &known.id)?;
    let private = origin.private.unwrap_or(was_private);
    let importance = draft.importance.map_or(known.importance, |given| given.clamp(0.0, 1.0));
    let permanent = draft.permanent.unwrap_or(known.permanent);
    let category = if known.category == UNKNOWN_CATEGORY { category } else { &known.category };
    let changed = private != was_private
        || (importance, permanent, category) != (known.importance, known.permanent, known.category.as_str());
    // Whoever is trusted more and says the same vouches for it.
    if origin.origin < known.origin {
        db.run("UPDATE facts SET origin = $2 WHERE id = $1", (known.number(), origin.origin))?;
        index::set_origin(db, KIND, &known.id, origin.origin)?;
    }
    if changed {
        let sql =
            "UPDATE facts SET importance = $2, permanent = $3, category = $4, private = $5 WHERE id = $1";
        db.run(sql, (known.number(), importance, permanent, category, private))?;
    }
    Ok(SetResult { fact: get(db, known.number())?, replaced: None, known: true, changed })
}

/// Shows a fact to shared sessions, or hides it from them.
pub(crate) fn set_private(db: &Connection, reference: &str, private: bool) -> Result<()> {
    let sql = "UPDATE facts SET private = $2 WHERE id = $1";
    db.run(sql, (super::number(KIND, reference), private)).map(drop)
}

/// Tells whether a fact was read from documents or conversations, which decide who sees it.
pub(crate) fn is_read(db: &Connection, reference: &str) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM facts WHERE id = $1 AND source IN ('document', 'conversation'))";
    db.one(sql, [super::number(KIND, reference)], |row| row.get(0))
}

/// Tells whether a fact is hidden from shared sessions.
pub(crate) fn is_private(db: &Connection, reference: &str) -> Result<bool> {
    let sql = "SELECT private FROM facts WHERE id = $1";
    Ok(db.row(sql, [super::number(KIND, reference)], |row| row.get(0))?.unwrap_or(false))
}

fn end(db: &Connection, writer: &mut Writer<'_>, fact: &Fact, at: Time) -> Result<()> {
    db.run("UPDATE facts SET until = $2 WHERE id = $1", (fact.number(), at))?;
    writer.set_live(KIND, &fact.id, false)
}

/// Ends the fact with this id, if it still holds.
pub(crate) fn end_by_id(db: &Connection, id: &str, now: Time) -> Result<()> {
    let Some(fact) = super::number(KIND, id).map(|id| find(db, id)).transpose()?.flatten() else {
        return Ok(());
    };
    if fact.until.is_some() {
        return Ok(());
    }
    index::write(db, |writer| end(db, writer, &fact, now.max(fact.since)))
}

/// Ends a fact that still holds, and reopens the values that it had replaced. Returns the ids of those.
pub(crate) fn quarantine(db: &Connection, id: &str, now: Time) -> Result<Vec<String>> {
    let Some(fact) = super::number(KIND, id).map(|id| find(db, id)).transpose()?.flatten() else {
        return Ok(Vec::new());
    };
    if fact.until.is_some() {
        return Ok(Vec::new());
    }
    end_by_id(db, id, now)?;
    let older =
        select(db, "roots.name = $1 AND key = $2 AND until = $3", (&fact.entity, &fact.key, fact.since))?;
    restore_current(db, &older.iter().map(Fact::number).collect::<Vec<_>>())?;
    Ok(older.into_iter().map(|fact| fact.id).collect())
}

/// Returns the category with this name, or an error that lists the categories.
pub(crate) fn category(db: &Connection, word: &str) -> Result<String> {
    let added: Vec<String> = db.rows("SELECT name FROM categories ORDER BY name", (), |row| row.get(0))?;
    Ok(guard::category(word, &added)?)
}

/// Adds a category to the built-in ones. Returns whether it is new.
pub(crate) fn add_category(db: &Connection, word: &str) -> Result<bool> {
    let word = guard::key(word, Source::Person)?;
    if category(db, &word).is_ok() {
        return Ok(false);
    }
    Ok(db.run("INSERT INTO categories (name) VALUES ($1) ON CONFLICT DO NOTHING", [word])? > 0)
}

pub(super) fn is_multi(db: &Connection, key: &str) -> Result<bool> {
    let sql = "SELECT 1 FROM multi_keys WHERE key = $1";
    Ok(guard::is_multi(key) || db.row(sql, [key], |_| Ok(()))?.is_some())
}

/// Declares a key multi-valued, or single-valued again; then only the newest value of each entity holds.
pub(crate) fn set_multi(db: &Connection, now: Time, key: &str, multi: bool) -> Result<String> {
    let key = guard::key(key, Source::Person)?;
    if multi {
        if db.run("INSERT INTO multi_keys (key) VALUES ($1) ON CONFLICT DO NOTHING", [&key])? > 0 {
            // Values from documents that hold at the same time keep doing so.
            let sql = "SELECT DISTINCT facts.id FROM facts JOIN citations ON kind = 'fact' AND citations.id = facts.id
                WHERE key = $1 AND until IS NOT NULL";
            restore_current(db, &name::ids(db, sql, [&key])?)?;
        }
    } else if guard::is_multi(&key) {
        return Err(Error::SkippedStatement { what: key, reason: "always has a list of values".into() });
    } else if db.run("DELETE FROM multi_keys WHERE key = $1", [&key])? > 0 {
        let sql =
            "SELECT DISTINCT root FROM facts JOIN entities ON entities.id = facts.entity WHERE key = $1";
        for root in name::ids(db, sql, [&key])? {
            end_older(db, EntityId(root), now)?;
        }
    }
    Ok(key)
}

/// Ends all but the newest value of each single-valued key of an entity. Returns the numbers of the ended
/// facts.
pub(super) fn end_older(db: &Connection, entity: EntityId, now: Time) -> Result<Vec<i64>> {
    let holding =
        select(db, "entities.root = $1 AND until IS NULL ORDER BY since DESC, facts.id DESC", [entity])?;
    index::write(db, |writer| {
        let (mut seen, mut ended) = (Vec::new(), Vec::new());
        for fact in &holding {
            if is_multi(db, &fact.key)? {
                continue;
            }
            if seen.contains(&&fact.key) {
                end(db, writer, fact, now)?;
                ended.push(fact.number());
            }
            seen.push(&fact.key);
        }
        Ok(ended)
    })
}

/// Restores facts that were ended, unless another value of a single-valued key holds.
pub(super) fn restore_current(db: &Connection, ids: &[i64]) -> Result<()> {
    for id in ids {
        let Some(fact) = find(db, *id)? else { continue };
        let other = "roots.name = $1 AND key = $2 AND until IS NULL LIMIT 1";
        if !is_multi(db, &fact.key)? && !select(db, other, (&fact.entity, &fact.key))?.is_empty() {
            continue;
        }
        if db.run("UPDATE facts SET until = NULL WHERE id = $1", [id])? > 0 {
            index::set_live(db, KIND, &format!("{KIND}-{id}"), true)?;
        }
    }
    Ok(())
}

/// Makes a fact that was ended current again, unless another value of a single-valued key holds.
pub(crate) fn reopen_by_id(db: &Connection, id: &str) -> Result<()> {
    super::number(KIND, id).map_or(Ok(()), |number| restore_current(db, &[number]))
}

/// Returns the line of a document that a fact was read from.
pub(crate) fn read_from(db: &Connection, reference: &str) -> Result<Option<Cite>> {
    let sql = "SELECT path, line FROM citations JOIN facts ON facts.id = citations.id
        WHERE kind = 'fact' AND facts.id = $1 AND source = 'document' ORDER BY path LIMIT 1";
    db.row(sql, [super::number(KIND, reference).unwrap_or(0)], cite)
}

/// Returns the lines that still state the value that a fact replaced.
pub(crate) fn replaced_at(db: &Connection, reference: &str) -> Result<Vec<Cite>> {
    let sql = "SELECT citations.path, citations.line FROM facts AS newer
        JOIN entities AS e ON e.id = newer.entity JOIN entities AS same ON same.root = e.root
        JOIN facts AS older ON older.entity = same.id AND older.key = newer.key AND older.until IS NOT NULL
            AND older.value <> newer.value
        JOIN citations ON citations.kind = 'fact' AND citations.id = older.id
        WHERE newer.id = $1 ORDER BY older.id, citations.path, citations.line";
    db.rows(sql, [super::number(KIND, reference).unwrap_or(0)], cite)
}

/// Tells whether a fact is a rule: a whole statement that needs no key.
pub(crate) fn is_rule(db: &Connection, reference: &str) -> Result<bool> {
    let sql = "SELECT 1 FROM facts WHERE id = $1 AND key = 'rule'";
    let id = super::number(KIND, reference);
    Ok(db.row(sql, [id], |_| Ok(()))?.is_some())
}

/// Selects facts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter<'a> {
    pub(crate) entity: Option<&'a str>,
    pub(crate) key: Option<&'a str>,
    pub(crate) category: Option<&'a str>,
    /// Facts that held at this time; `None` means current facts.
    pub(crate) as_of: Option<Time>,
    /// Also facts that no longer hold.
    pub(crate) history: bool,
}

/// Lists facts by entity and key.
pub(crate) fn list(db: &Connection, filter: &Filter<'_>, limit: usize) -> Result<Vec<Fact>> {
    let entity = filter.entity.map(|name| name::get(db, name)).transpose()?.map(|entity| entity.id);
    let key = filter.key.map(|key| guard::key(key, Source::Person)).transpose()?;
    let category = filter.category.map(|name| category(db, name)).transpose()?;
    let condition =
        "(roots.id = $1 OR $1 IS NULL) AND (key = $2 OR $2 IS NULL) AND (facts.category = $3 OR $3 IS NULL)
        AND CASE WHEN $4 THEN true WHEN since <= $5 THEN until IS NULL OR until > $5
            ELSE $5 IS NULL AND until IS NULL END
        ORDER BY lower(roots.name), key, since, facts.id LIMIT $6";
    let mut facts = select(db, condition, (entity, key, category, filter.history, filter.as_of, limit))?;
    for fact in &mut facts {
        fact.cites = cites(db, KIND, fact.number())?;
    }
    Ok(facts)
}

/// Deletes a fact permanently, by its id or by its entity and key.
pub(crate) fn remove(db: &Connection, named: &str, key: Option<&str>) -> Result<Vec<Fact>> {
    let gone = matching(db, named, key)?;
    index::write(db, |writer| gone.iter().try_for_each(|fact| drop_row(db, writer, KIND, fact.number())))?;
    Ok(gone)
}

/// Returns the fact with an id, or those of an entity and key; an error if there are none.
pub(crate) fn matching(db: &Connection, named: &str, key: Option<&str>) -> Result<Vec<Fact>> {
    let found = match (super::number(KIND, named), key) {
        (Some(id), None) => select(db, "facts.id = $1", [id])?,
        _ => {
            let entity = name::get(db, named)?;
            let key = key.map(|key| guard::key(key, Source::Person)).transpose()?;
            select(db, "roots.id = $1 AND (key = $2 OR $2 IS NULL) ORDER BY facts.id", (entity.id, key))?
        }
    };
    if found.is_empty() {
        let known = match name::find(db, named)? {
            Some(entity) => keys(db, &entity)?.join(", "),
            None => String::new(),
        };
        let given = key.map_or_else(|| named.to_owned(), |key| format!("{named}.{key}"));
        return Err(Error::NoFact { given: crate::base::text::shorten(&given), known });
    }
    Ok(found)
}

fn keys(db: &Connection, entity: &Entity) -> Result<Vec<String>> {
    let facts = select(db, "roots.id = $1 AND until IS NULL ORDER BY key LIMIT 20", [entity.id])?;
    Ok(facts.into_iter().map(|fact| fact.key).collect())
}

/// Writes the passage of a row that was just written.
pub(super) fn index(db: &Connection, writer: &mut Writer<'_>, id: i64) -> Result<()> {
    writer.insert(&get(db, id)?.passage()).map(drop)
}

/// Returns the passages of all facts of some entities, given as a JSON array of numbers.
pub(super) fn passages_of(db: &Connection, entities: &str) -> Result<Vec<Passage>> {
    let facts = select(
        db,
        "facts.entity IN (SELECT CAST(value AS BIGINT) FROM json_each($1)) ORDER BY facts.id",
        [entities],
    )?;
    Ok(facts.iter().map(Fact::passage).collect())
}

pub(super) fn passages(db: &Connection) -> Result<Vec<Passage>> {
    Ok(select(db, "true ORDER BY facts.id", ())?.iter().map(Fact::passage).collect())
}
