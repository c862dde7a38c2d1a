//! Quarantine: takes everything that one session, source or token wrote out of recall at once, and brings it back when a
//! person lifts it. Nothing is deleted.

use std::collections::BTreeSet;

use crate::base::caller::Caller;
use crate::base::ids::{EntryId, EntryRef};
use crate::base::{Error, Result, Time};
use crate::index;
use crate::records::entry;
use crate::records::graph::{fact, relation};
use crate::records::session::exchange;
use crate::store::Connection;

/// The scope of a quarantine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    /// `session`, `source` or `token`.
    pub(crate) kind: &'static str,
    pub(crate) name: String,
}

/// A quarantine, and how many records it holds.
pub(crate) struct Quarantine {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) at: Time,
    pub(crate) records: i64,
}

/// Refuses a write by a session or token that is quarantined.
pub(crate) fn check(db: &Connection, caller: &Caller) -> Result<()> {
    let sql = "SELECT kind FROM quarantines WHERE lifted_at IS NULL
        AND (kind = 'session' AND name = $1 OR kind = 'token' AND name = $2)";
    let token = caller.token.as_deref();
    let kind: Option<String> = db.row(sql, (&caller.session, token), |row| row.get(0))?;
    match kind.as_deref() {
        Some("token") => {
            Err(Error::Quarantined { kind: "token", name: token.unwrap_or_default().to_owned() })
        }
        Some(_) => Err(Error::Quarantined { kind: "session", name: caller.session.to_string() }),
        None => Ok(()),
    }
}

/// Lists the quarantines that are in force.
pub(crate) fn list(db: &Connection) -> Result<Vec<Quarantine>> {
    let sql = "SELECT kind, name, at, (SELECT count(*) FROM quarantined WHERE quarantine = number)
        FROM quarantines WHERE lifted_at IS NULL ORDER BY number";
    db.rows(sql, (), |row| {
        Ok(Quarantine { kind: row.get(0)?, name: row.get(1)?, at: row.get(2)?, records: row.get(3)? })
    })
}

/// Takes everything of a scope out of recall. Returns the records, each with its kind.
pub(crate) fn impose(db: &Connection, now: Time, scope: &Scope) -> Result<Vec<(String, String)>> {
    let sql = "INSERT INTO quarantines (kind, name, at) VALUES ($1, $2, $3) RETURNING number";
    let number: i64 = db.one(sql, (scope.kind, &scope.name, now), |row| row.get(0))?;
    let mut held = Vec::new();
    for (kind, reference) in records(db, scope)? {
        if hold(db, now, number, &kind, &reference)? {
            held.push((kind, reference));
        }
    }
    if held.is_empty() && scope.kind != "token" {
        return Err(Error::NothingOf { kind: scope.kind, name: scope.name.clone() });
    }
    Ok(held)
}

/// Lifts the quarantine of a scope. Returns the records that are back.
pub(crate) fn lift(db: &Connection, now: Time, scope: &Scope) -> Result<Vec<(String, String)>> {
    let sql = "UPDATE quarantines SET lifted_at = $3 WHERE kind = $1 AND name = $2 AND lifted_at IS NULL
        RETURNING number";
    let numbers: Vec<i64> = db.rows(sql, (scope.kind, &scope.name, now), |row| row.get(0))?;
    if numbers.is_empty() {
        return Err(Error::NothingOf { kind: scope.kind, name: scope.name.clone() });
    }
    let mut released = Vec::new();
    for number in numbers {
        // A record that came back in the meantime leaves before the quarantined one returns.
        let sql = "DELETE FROM quarantined WHERE quarantine = $1 RETURNING kind, ref";
        let mut rows: Vec<(String, String)> = db.rows(sql, [number], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.sort_by_key(|(kind, _)| !matches!(kind.as_str(), "restored" | "reopened"));
        for (kind, reference) in rows {
            release(db, now, &kind, &reference)?;
            released.push((kind, reference));
        }
    }
    released.retain(|(kind, _)| !matches!(kind.as_str(), "restored" | "reopened"));
    Ok(released)
}

/// Returns the records of a scope by kind and reference.
fn records(db: &Connection, scope: &Scope) -> Result<BTreeSet<(String, String)>> {
    let name = scope.name.as_str();
    let mut found = BTreeSet::new();
    let mut add = |sql: &str, value: &str| -> Result<()> {
        found.extend(db.rows(sql, [value], |row| Ok((row.get::<String>(0)?, row.get::<String>(1)?)))?);
        Ok(())
    };
    const OF_SESSION: &[&str] = &[
        "SELECT 'entry', id FROM entries WHERE session = $1 OR narrative_id = $1",
        "SELECT 'fact', 'fact-' || id FROM facts WHERE session = $1",
        "SELECT 'relation', 'relation-' || id FROM relations WHERE session = $1",
        "SELECT 'exchange', session || '/' || id FROM exchanges WHERE session = $1",
        "SELECT 'message', ref FROM passages JOIN sessions ON sessions.number = passages.session
            WHERE kind = 'message' AND sessions.id = $1",
        "SELECT 'lesson', CAST(number AS TEXT) FROM lessons WHERE session = $1",
    ];
    match scope.kind {
        "session" => OF_SESSION.iter().try_for_each(|sql| add(sql, name))?,
        "source" => {
            // The format of an import, a file of it, or an origin such as `untrusted`.
            for sql in [
                "SELECT kind, ref FROM imports WHERE own AND kind IN ('entry', 'fact', 'relation')
                    AND (format = $1 OR EXISTS (SELECT 1 FROM json_each(origin) AS d WHERE d.key = 'path' AND d.value = $1))",
                "SELECT 'message', ref FROM passages JOIN sessions ON sessions.number = passages.session
                    WHERE kind = 'message' AND (sessions.format = $1 OR sessions.origin = $1)",
                "SELECT 'entry', id FROM entries WHERE origin = $1",
                "SELECT 'fact', 'fact-' || id FROM facts WHERE origin = $1",
                "SELECT 'relation', 'relation-' || id FROM relations WHERE origin = $1",
                "SELECT 'exchange', session || '/' || id FROM exchanges WHERE origin = $1",
                "SELECT 'lesson', CAST(number AS TEXT) FROM lessons WHERE origin = $1",
            ] {
                add(sql, name)?;
            }
        }
        _ => {
            for sql in [
                "SELECT 'entry', named.value FROM audit, json_each(audit.ids) AS named
                    WHERE EXISTS (SELECT 1 FROM json_each(detail) AS d WHERE d.key = 'token' AND d.value = $1) AND named.value IN (SELECT id FROM entries)",
                "SELECT 'fact', named.value FROM audit, json_each(audit.ids) AS named
                    WHERE EXISTS (SELECT 1 FROM json_each(detail) AS d WHERE d.key = 'token' AND d.value = $1) AND named.value IN (SELECT 'fact-' || id FROM facts)",
                "SELECT 'relation', named.value FROM audit, json_each(audit.ids) AS named
                    WHERE EXISTS (SELECT 1 FROM json_each(detail) AS d WHERE d.key = 'token' AND d.value = $1) AND named.value IN (SELECT 'relation-' || id FROM relations)",
                "SELECT 'exchange', exchanges.session || '/' || exchanges.id FROM audit, json_each(audit.ids) AS named
                    JOIN exchanges ON exchanges.id = named.value WHERE EXISTS (SELECT 1 FROM json_each(detail) AS d WHERE d.key = 'token' AND d.value = $1)",
            ] {
                add(sql, name)?;
            }
            let sql = "SELECT DISTINCT session FROM audit WHERE EXISTS (SELECT 1 FROM json_each(detail) AS d WHERE d.key = 'token' AND d.value = $1)
                AND action IN ('session_append', 'session_import')";
            let sessions: Vec<String> = db.rows(sql, [name], |row| row.get(0))?;
            for session in sessions {
                add(OF_SESSION[4], &session)?;
            }
        }
    }
    Ok(found)
}

/// Takes one record out of recall. Returns whether it was in recall.
fn hold(db: &Connection, now: Time, number: i64, kind: &str, reference: &str) -> Result<bool> {
    let note = |kind: &str, reference: &str| {
        let sql =
            "INSERT INTO quarantined (quarantine, kind, ref) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        db.run(sql, (number, kind, reference)).map(drop)
    };
    match kind {
        "entry" => {
            let Ok(found) = entry::get(db, &EntryRef::Id(reference.parse()?)) else { return Ok(false) };
            if !found.is_current() {
                return Ok(false);
            }
            entry::archive(db, now, &found.id)?;
            // The memory that it had replaced is current in the meantime.
            for old in entry::restore(db, &found.id, None)? {
                note("restored", &format!("{} {}", old.id, found.id))?;
            }
        }
        "fact" => {
            for older in fact::quarantine(db, reference, now)? {
                note("reopened", &older)?;
            }
        }
        "relation" => relation::end(db, now, &relation::RelationRef::Id(reference)).map(drop)?,
        "message" => index::set_live(db, "message", reference, false)?,
        "exchange" => {
            let sql =
                "UPDATE exchanges SET searchable = false WHERE session || '/' || id = $1 AND searchable";
            if db.run(sql, [reference])? == 0 {
                return Ok(false);
            }
            index::remove(db, exchange::KIND, reference)?;
        }
        _ => {
            let sql = "SELECT state FROM lessons WHERE CAST(number AS TEXT) = $1";
            let Some(state) = db.row(sql, [reference], |row| row.get::<String>(0))? else { return Ok(false) };
            if state == "quarantined" {
                return Ok(false);
            }
            db.run("UPDATE lessons SET state = 'quarantined' WHERE CAST(number AS TEXT) = $1", [reference])?;
            note(&format!("lesson {state}"), reference)?;
            return Ok(true);
        }
    }
    note(kind, reference)?;
    Ok(true)
}

/// Brings one record back.
fn release(db: &Connection, now: Time, kind: &str, reference: &str) -> Result<()> {
    match kind {
        "restored" => {
            let Some((old, by)) = reference.split_once(' ') else { return Ok(()) };
            let by: EntryId = by.parse()?;
            // The one that had replaced it may have been deleted since.
            if entry::get(db, &EntryRef::Id(by.clone())).is_ok() {
                let _ = entry::supersede(db, now, &EntryRef::Id(old.parse()?), &by);
            }
        }
        "reopened" => fact::end_by_id(db, reference, now)?,
        "entry" => {
            let _ = entry::unarchive(db, now, &EntryRef::Id(reference.parse()?));
        }
        "fact" => fact::reopen_by_id(db, reference)?,
        "relation" => relation::reopen(db, reference)?,
        "message" => index::set_live(db, "message", reference, true)?,
        "exchange" => exchange::show_again(db, reference)?,
        kind => {
            let state = kind.strip_prefix("lesson ").unwrap_or("waiting");
            db.run("UPDATE lessons SET state = $2 WHERE CAST(number AS TEXT) = $1", (reference, state))?;
        }
    }
    Ok(())
}
