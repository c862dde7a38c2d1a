//! Keeps the graph in sync with a document: statements of new lines are added, those of removed lines are
//! retracted.
//!
//! Reading an unchanged line again changes nothing, even if a person has since said otherwise. A statement
//! that a person removes from a document is retracted, unless another line or a person states it too; one
//! that they edit becomes history.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::fact::{self, Draft};
use super::read::{Claim, Reading};
use super::{EntityId, Origin, Source, name, relation, source_name};
use crate::base::{Error, Result, text};
use crate::index::Writer;
use crate::store::Connection;

/// The statements of a document when it was last read: the row and the line of each.
type Citations = HashMap<(&'static str, i64), i64>;

/// Updates the graph to the content of a document; `None` means that the document was deleted.
pub(crate) fn follow(
    db: &Connection,
    writer: &mut Writer<'_>,
    origin: &Origin<'_>,
    path: &str,
    reading: Option<&Reading>,
) -> Result<()> {
    let before = cited(db, path)?;
    db.run("DELETE FROM kept_out WHERE path = $1", [path])?;
    let mut now: Citations = HashMap::new();
    let said = reading.map(|reading| reading.said.as_slice()).unwrap_or_default();
    // Aliases come last: they need an entity.
    let order =
        |alias: bool| said.iter().filter(move |said| matches!(said.claim, Claim::Alias { .. }) == alias);
    for said in order(false).chain(order(true)) {
        let line = i64::try_from(said.line).unwrap_or(i64::MAX);
        match take(db, writer, origin, &said.claim, &before) {
            Ok(Some(row)) => {
                now.entry(row).or_insert(line);
            }
            Ok(None) | Err(Error::DeletedBefore { .. }) => {}
            Err(Error::SkippedStatement { what, reason }) => keep_out(db, path, line, &what, &reason)?,
            Err(error @ (Error::NameTaken { .. } | Error::NoEntity { .. })) => {
                keep_out(db, path, line, &shown(&said.claim), &error.to_string())?;
            }
            Err(error) => return Err(error),
        }
    }
    for (line, refusal) in reading.iter().flat_map(|reading| &reading.kept_out) {
        keep_out(db, path, i64::try_from(*line).unwrap_or(i64::MAX), &refusal.what, &refusal.reason)?;
    }
    for ((kind, id), line) in &now {
        if before.get(&(*kind, *id)) != Some(line) {
            let sql = "INSERT INTO citations (path, kind, id, line) VALUES ($1, $2, $3, $4)
                ON CONFLICT (path, kind, id) DO UPDATE SET line = excluded.line";
            db.run(sql, (path, kind, id, line))?;
        }
    }
    let gone: Vec<(&str, i64)> = before.keys().filter(|row| !now.contains_key(row)).copied().collect();
    retract(db, writer, path, &gone)
}

fn cited(db: &Connection, path: &str) -> Result<Citations> {
    let sql = "SELECT kind, id, line FROM citations WHERE path = $1 ORDER BY kind, id";
    let rows = db.rows(sql, [path], |row| {
        let kind = match row.text(0)? {
            "fact" => fact::KIND,
            "relation" => relation::KIND,
            _ => "name",
        };
        Ok(((kind, row.get(1)?), row.get(2)?))
    })?;
    Ok(rows.into_iter().collect())
}

/// Stores one claim. Returns its row, if there is one.
fn take(
    db: &Connection,
    writer: &mut Writer<'_>,
    origin: &Origin<'_>,
    claim: &Claim,
    before: &Citations,
) -> Result<Option<(&'static str, i64)>> {
    match claim {
        Claim::Fact { entity, key, value, category, importance, permanent } => {
            let entity = &named(db, entity)?;
            if let Some(id) = said_before(db, before, entity, key, value)? {
                return Ok(Some((fact::KIND, id)));
            }
            let draft = Draft {
                entity,
                key,
                value,
                category: category.as_deref(),
                importance: Some(*importance),
                permanent: permanent.then_some(true),
            };
            let set = fact::set_with(db, writer, origin, &draft)?;
            Ok(Some((fact::KIND, set.fact.number())))
        }
        Claim::Relation { subject, predicate, object } => {
            let (subject, object) = (&named(db, subject)?, &named(db, object)?);
            let added = relation::add_with(db, writer, origin, [subject, predicate, object])?;
            Ok(Some((relation::KIND, added.relation.number())))
        }
        Claim::Alias { alias, entity } => match name::add_alias(db, origin, alias, &named(db, entity)?) {
            Ok((_, Some(id))) => Ok(Some(("name", id))),
            Ok((_, None)) => name::row(db, alias).map(|id| id.map(|id| ("name", id))),
            Err(Error::SelfAlias { .. }) => Ok(None),
            Err(error) => Err(error),
        },
    }
}

/// Returns the name of the user or the agent, for a text that does not name them.
fn named(db: &Connection, entity: &str) -> Result<String> {
    if !matches!(entity, "user" | "self") {
        return Ok(entity.to_owned());
    }
    Ok(name::speaking(db, entity)?.map_or_else(|| entity.to_owned(), |known| known.name))
}

/// Returns the fact by which this document made the same statement when it was last read.
fn said_before(
    db: &Connection,
    before: &Citations,
    entity: &str,
    key: &str,
    value: &str,
) -> Result<Option<i64>> {
    if before.is_empty() {
        return Ok(None);
    }
    let Some(entity) = name::find(db, entity)? else { return Ok(None) };
    let key = super::guard::key(key, Source::Person)?;
    let sql =
        "SELECT id, value FROM facts WHERE entity IN (SELECT id FROM entities WHERE root = $1) AND key = $2
        ORDER BY entity, since, id";
    let value = text::canonical(value);
    let mut found = None;
    db.each(sql, (entity.id, key), |row| {
        let id: i64 = row.get(0)?;
        if before.contains_key(&(fact::KIND, id)) && text::canonical(row.text(1)?) == value {
            found = Some(id);
            return Ok(ControlFlow::Break(()));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

/// Retracts statements that a document no longer makes.
fn retract(db: &Connection, writer: &mut Writer<'_>, path: &str, gone: &[(&str, i64)]) -> Result<()> {
    let mut touched: Vec<EntityId> = Vec::new();
    for (kind, id) in gone {
        let sql = "DELETE FROM citations WHERE path = $1 AND kind = $2 AND id = $3";
        db.run(sql, (path, kind, id))?;
        let sql = "SELECT EXISTS (SELECT 1 FROM citations WHERE kind = $1 AND id = $2)";
        if db.one(sql, (kind, id), |row| row.get(0))? {
            continue;
        }
        let read = source_name(Source::Document);
        let of = |sql: &str| name::ids(db, sql, (id, read));
        let entities = match *kind {
            // An ended fact is history, and stays.
            fact::KIND => of("SELECT entity FROM facts WHERE id = $1 AND source = $2 AND until IS NULL")?,
            relation::KIND => {
                of("SELECT subject FROM relations WHERE id = $1 AND source = $2 AND until IS NULL
                UNION SELECT object FROM relations WHERE id = $1 AND source = $2 AND until IS NULL")?
            }
            _ => of("SELECT entity FROM names WHERE id = $1 AND source = $2 AND NOT own")?,
        };
        if entities.is_empty() {
            continue;
        }
        match *kind {
            fact::KIND | relation::KIND => super::drop_row(db, writer, kind, *id)?,
            _ => {
                db.run("DELETE FROM names WHERE id = $1", [id])?;
            }
        }
        touched.extend(entities.into_iter().map(EntityId));
    }
    name::sweep(db, &touched)
}

fn shown(claim: &Claim) -> String {
    match claim {
        Claim::Fact { entity, key, value, .. } => format!("{entity}: {key} = {value}"),
        Claim::Relation { subject, predicate, object } => format!("{subject} {predicate} {object}"),
        Claim::Alias { alias, entity } => format!("{alias} = {entity}"),
    }
}

fn keep_out(db: &Connection, path: &str, line: i64, what: &str, reason: &str) -> Result<()> {
    let sql =
        "INSERT INTO kept_out (path, line, what, reason) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    db.run(sql, (path, line, text::shorten(what), reason))?;
    Ok(())
}
