//! Traces a record: where it came from, everything that was derived from it, and every write that touched it.

use schemars::JsonSchema;
use serde::Serialize;

use super::erase::RecordRef;
use super::{entry, graph, import, lesson};
use crate::base::frame::one_line;
use crate::base::redact::redact;
use crate::base::text::cut;
use crate::base::{Result, Time};
use crate::store::Connection;

/// The most characters of a record that are shown.
const MAX_SHOWN_CHARS: usize = 160;

/// Something that a record is connected with.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it")]
pub struct RelatedRecord {
    /// How it is connected: `stored in`, `approved as`, `imported from`, `stated in`, `replaced`, `derived`, `shown in`.
    pub how: &'static str,
    pub id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// A write that touched a record.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the columns of the audit log")]
pub struct TouchedBy {
    pub row: i64,
    pub at: Time,
    pub actor: String,
    pub session: String,
    pub action: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// Everything that is known about the past of a record.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Trace {
    /// The record.
    pub id: String,
    /// Its kind, such as `memory` or `fact`.
    pub kind: &'static str,
    /// Its text.
    pub text: String,
    /// Its origin: person, approved, agent, document, import or untrusted.
    pub origin: String,
    /// Where it came from, and what was made from it.
    pub connected: Vec<RelatedRecord>,
    /// The writes that touched it, oldest first.
    pub writes: Vec<TouchedBy>,
}

redact! {
    Trace { id, text, origin, connected, writes / kind }
    RelatedRecord { id, text / how }
    TouchedBy { actor, session, action, token / row, at }
}

/// Traces a record.
pub(crate) fn trace(db: &Connection, record: &RecordRef) -> Result<Trace> {
    let id = record.to_string();
    let mut trace = Trace {
        id: id.clone(),
        kind: record.kind(),
        text: String::new(),
        origin: String::new(),
        connected: Vec::new(),
        writes: Vec::new(),
    };
    let mut add = |how: &'static str, id: String, text: &str| {
        trace.connected.push(RelatedRecord { how, id, text: cut(&one_line(text), MAX_SHOWN_CHARS) });
    };
    let mut audited = vec![id.clone()];
    match record {
        RecordRef::Entry(named) => {
            let found = entry::get(db, named)?;
            add("stored in", format!("session:{}", found.provenance.session), "");
            if let Some(session) = &found.provenance.narrative_id {
                add("derived from", format!("session:{session}"), "");
            }
            if let Some(message) = found.cites() {
                let said = "SELECT text FROM passages WHERE kind IN ('message', 'exchange') AND ref = $1";
                let said: Option<String> = db.row(said, [message], |row| row.get(0))?;
                add("taken from", message.to_owned(), &said.unwrap_or_default());
            }
            if let Some(imported) = import::of_entry(db, &found.id)? {
                add("imported from", imported.format, &imported.origin.path);
            }
            for other in entry::chain(db, &found.id)?.into_iter().filter(|other| other.id != found.id) {
                let how = if other.number < found.number { "replaced" } else { "replaced by" };
                add(how, other.number.to_string(), &other.content);
            }
            for version in entry::versions(db, &found.id)? {
                add("earlier text, changed in", format!("session:{}", version.session), &version.content);
            }
            let sql = "SELECT one, other FROM conflicts WHERE one = $1 OR other = $1";
            let pairs: Vec<(String, String)> =
                db.rows(sql, [&found.id], |row| Ok((row.get(0)?, row.get(1)?)))?;
            for (one, other) in pairs {
                add("contradicts", if one == found.id.as_str() { other } else { one }, "");
            }
            trace.origin = found.origin.to_string();
            trace.text = found.content;
        }
        RecordRef::Fact(id) => {
            for found in graph::fact::matching(db, id, None)? {
                trace.text = found.line();
            }
            of_graph(db, "fact", id, &mut trace)?;
        }
        RecordRef::Relation(id) => {
            trace.text = graph::relation::find(db, &graph::relation::RelationRef::Id(id))?.line();
            of_graph(db, "relation", id, &mut trace)?;
        }
        RecordRef::Lesson(number) => {
            if let Some(found) = lesson::get(db, *number)? {
                add("learned in", format!("session:{}", found.session), "");
                trace.origin = found.origin.to_string();
                trace.text = found.text;
            }
        }
        RecordRef::Message(reference) | RecordRef::Exchange(reference) => {
            let sql = "SELECT text, coalesce(sessions.origin, passages.origin), coalesce(sessions.id, ''),
                    coalesce(sessions.format, '')
                FROM passages LEFT JOIN sessions ON sessions.number = passages.session
                WHERE kind IN ('message', 'exchange') AND ref = $1";
            let found = db.row(sql, [reference], |row| {
                Ok((
                    row.get::<String>(0)?,
                    row.get::<String>(1)?,
                    row.get::<String>(2)?,
                    row.get::<String>(3)?,
                ))
            })?;
            if let Some((text, origin, session, format)) = found {
                add("said in", format!("session:{session}"), &format);
                (trace.text, trace.origin) = (text, origin);
            }
            let sql = "SELECT kind || '-' || id FROM citations WHERE path = 'sessions/' || $1";
            for fact in db.rows(sql, [reference], |row| row.get::<String>(0))? {
                trace.connected.push(RelatedRecord { how: "derived", id: fact, text: String::new() });
            }
            audited.extend(reference.rsplit('/').next().map(str::to_owned));
        }
        RecordRef::Session(session) => of_session(db, session.as_str(), &mut trace)?,
        RecordRef::Document(path) => {
            let sql = "SELECT kind || '-' || id FROM citations WHERE path = $1 AND kind <> 'name'";
            for id in db.rows(sql, [path.as_str()], |row| row.get::<String>(0))? {
                trace.connected.push(RelatedRecord { how: "derived", id, text: String::new() });
            }
            trace.origin = "document".to_owned();
        }
        RecordRef::Proposal(_)
        | RecordRef::Task(_)
        | RecordRef::Item(_)
        | RecordRef::Entity(_)
        | RecordRef::Checkpoint(_) => {}
    }
    shown_in(db, &id, &mut trace)?;
    for id in &audited {
        let sql = "SELECT DISTINCT seq, at, actor, session, action,
                (SELECT d.value FROM json_each(detail) AS d WHERE d.key = 'token')
            FROM audit, json_each(audit.ids) AS named WHERE named.value = $1 AND outcome = 'done' ORDER BY seq";
        trace.writes.extend(db.rows(sql, [id], |row| {
            Ok(TouchedBy {
                row: row.get(0)?,
                at: row.get(1)?,
                actor: row.get(2)?,
                session: row.get(3)?,
                action: row.get(4)?,
                token: row.get(5)?,
            })
        })?);
    }
    Ok(trace)
}

/// Adds the lines that state a fact or relation, and its origin.
fn of_graph(db: &Connection, kind: &'static str, id: &str, trace: &mut Trace) -> Result<()> {
    let (table, number) = (if kind == "fact" { "facts" } else { "relations" }, id.rsplit('-').next());
    let sql = format!("SELECT origin, coalesce(session, '') FROM {table} WHERE CAST(id AS TEXT) = $1");
    let found = db.row(&sql, [number], |row| Ok((row.get::<String>(0)?, row.get::<String>(1)?)))?;
    if let Some((origin, session)) = found {
        trace.origin = origin;
        if !session.is_empty() {
            let id = format!("session:{session}");
            trace.connected.push(RelatedRecord { how: "stored in", id, text: String::new() });
        }
    }
    for cite in graph::cites_of(db, kind, id)?.into_iter().flat_map(|(_, cites)| cites) {
        let id = format!("{}:{}", cite.path, cite.line);
        trace.connected.push(RelatedRecord { how: "stated in", id, text: String::new() });
    }
    Ok(())
}

/// Adds what was stored in a session and derived from it.
fn of_session(db: &Connection, session: &str, trace: &mut Trace) -> Result<()> {
    let sql = "SELECT origin FROM sessions WHERE id = $1";
    trace.origin = db.row(sql, [session], |row| row.get(0))?.unwrap_or_default();
    for (how, sql) in [
        (
            "stored",
            "SELECT CAST(number AS TEXT), content FROM entries WHERE session = $1 AND source <> 'narrative'",
        ),
        ("derived", "SELECT CAST(number AS TEXT), content FROM entries WHERE narrative_id = $1"),
        ("derived", "SELECT 'lesson:' || number, text FROM lessons WHERE session = $1"),
        ("stored", "SELECT 'fact-' || id, key || ' = ' || value FROM facts WHERE session = $1"),
        (
            "derived",
            "SELECT c.kind || '-' || c.id, '' FROM citations AS c
            WHERE substr(c.path, 1, 10 + length($1)) = 'sessions/' || $1 || '/' AND c.kind <> 'name'",
        ),
    ] {
        let rows: Vec<(String, String)> = db.rows(sql, [session], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let shown = |(id, text): (String, String)| RelatedRecord {
            how,
            id,
            text: cut(&one_line(&text), MAX_SHOWN_CHARS),
        };
        trace.connected.extend(rows.into_iter().map(shown));
    }
    Ok(())
}

/// Adds the sessions into which a record was injected lately.
fn shown_in(db: &Connection, id: &str, trace: &mut Trace) -> Result<()> {
    let rows: Vec<(String, String)> =
        db.rows("SELECT session, state FROM turns", (), |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (session, state) in rows {
        let state: serde_json::Value = serde_json::from_str(&state).unwrap_or_default();
        if state["injected"].as_array().is_some_and(|lines| lines.iter().any(|line| line[1] == id)) {
            let id = format!("session:{session}");
            trace.connected.push(RelatedRecord { how: "shown in", id, text: String::new() });
        }
    }
    Ok(())
}
