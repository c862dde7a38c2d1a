//! Conflicts: pairs of statements that contradict each other.
//!
//! A row names both statements and holds none of their text: an entry or a fact by its id, a line of a document by the
//! document's path, each with a hash of the text. A conflict is open while both statements are current and have the text that
//! they had when it was found. So whatever deletes, supersedes, archives, ends or edits one of them closes the conflict without
//! another write, and undoing that opens it again. A connection sees the conflicts whose statements it sees.

use std::collections::HashMap;
use std::ops::ControlFlow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::ids::EntryId;
use crate::base::named::named;
use crate::base::{Result, Time, text};
use crate::index::lookup;
use crate::store::{Connection, Row};

/// A statement, named by the record it is in and the hash of its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StatementRef {
    /// The id of an entry or a fact, or the path of a document.
    pub(crate) reference: String,
    pub(crate) hash: String,
}

impl StatementRef {
    pub(crate) fn new(reference: impl Into<String>, text: &str) -> StatementRef {
        StatementRef { reference: reference.into(), hash: hash(text) }
    }

    /// Tells whether this is the text of the statement.
    pub(crate) fn says(&self, text: &str) -> bool {
        self.hash == hash(text)
    }

    fn kind(&self) -> StatementKind {
        if self.reference.parse::<EntryId>().is_ok() {
            StatementKind::Entry
        } else if is_fact(&self.reference) {
            StatementKind::Fact
        } else {
            StatementKind::Document
        }
    }
}

fn hash(statement: &str) -> String {
    blake3::hash(text::canonical(statement).as_bytes()).to_hex().to_string()
}

fn is_fact(reference: &str) -> bool {
    reference.strip_prefix("fact-").is_some_and(|number| number.parse::<i64>().is_ok())
}

named! {
    /// The record that makes a statement.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[schemars(inline)]
    #[expect(missing_docs, reason = "the names say it")]
    pub enum StatementKind {
        Entry = "entry",
        Fact = "fact",
        Document = "document",
    }
}

named! {
    /// The side of a conflict that is kept.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[schemars(inline)]
    #[expect(missing_docs, reason = "the names say it")]
    pub enum KeepChoice {
        First = "first",
        Second = "second",
        Both = "both",
    }
}

/// How many statements were compared with the current ones, and how many contradict one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ComparedStatements {
    /// How many entries and facts were compared.
    pub compared: usize,
    /// How many there are.
    pub statements: usize,
    /// How many of the compared ones contradict a current statement.
    pub contradicting: usize,
}

/// A pair of statements. The first one was there when the second one came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Conflict {
    /// Not part of an export: another database numbers its conflicts itself.
    #[serde(skip)]
    pub(crate) number: i64,
    pub(crate) first: StatementRef,
    pub(crate) second: StatementRef,
    pub(crate) found_at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kept: Option<KeepChoice>,
}

/// A statement of an open conflict, as it is now.
#[derive(Clone, Debug)]
pub(crate) struct CurrentStatement {
    pub(crate) kind: StatementKind,
    pub(crate) reference: String,
    /// The line in a document, from 1.
    pub(crate) line: Option<i64>,
    pub(crate) text: String,
    pub(crate) at: Time,
}

/// A conflict whose statements are both current.
#[derive(Clone, Debug)]
pub(crate) struct OpenConflict {
    pub(crate) conflict: Conflict,
    pub(crate) first: CurrentStatement,
    pub(crate) second: CurrentStatement,
}

const COLUMNS: &str = "number, one, one_hash, other, other_hash, found_at, kept";

fn from_row(row: &Row<'_>) -> Result<Conflict> {
    let side = |at: usize| {
        Ok::<_, crate::base::Error>(StatementRef { reference: row.get(at)?, hash: row.get(at + 1)? })
    };
    Ok(Conflict {
        number: row.get(0)?,
        first: side(1)?,
        second: side(3)?,
        found_at: row.get(5)?,
        kept: row.get::<Option<String>>(6)?.and_then(|word| KeepChoice::of_name(&word)),
    })
}

/// Records that `later` contradicts an earlier statement. A known pair stays as it is.
pub(crate) fn record(db: &Connection, now: Time, later: &StatementRef, earlier: &StatementRef) -> Result<()> {
    let (first, second, kept) = (earlier.clone(), later.clone(), None);
    insert(db, &Conflict { number: 0, first, second, found_at: now, kept })
}

fn insert(db: &Connection, conflict: &Conflict) -> Result<()> {
    let Conflict { first, second, found_at, kept, .. } = conflict;
    let sql = "INSERT INTO conflicts (one, one_hash, other, other_hash, found_at, kept) SELECT $1, $2, $3, $4, $5, $6
        WHERE NOT EXISTS (SELECT 1 FROM conflicts WHERE one = $3 AND one_hash = $4 AND other = $1 AND other_hash = $2)
        ON CONFLICT DO NOTHING";
    let kept = kept.map(KeepChoice::as_str);
    db.run(sql, (&first.reference, &first.hash, &second.reference, &second.hash, found_at, kept)).map(drop)
}

/// Tells whether a person keeps both of two statements.
pub(crate) fn is_kept(db: &Connection, one: &StatementRef, other: &StatementRef) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM conflicts WHERE kept = 'both'
        AND (one = $1 AND one_hash = $2 AND other = $3 AND other_hash = $4
            OR one = $3 AND one_hash = $4 AND other = $1 AND other_hash = $2))";
    db.one(sql, (&one.reference, &one.hash, &other.reference, &other.hash), |row| row.get(0))
}

/// Returns the open conflicts, the last found first.
pub(crate) fn open(db: &Connection) -> Result<Vec<OpenConflict>> {
    // Most settled conflicts have a side that is not current, which needs no look at its text.
    let sql = format!(
        "SELECT {COLUMNS} FROM conflicts WHERE kept IS DISTINCT FROM 'both' AND NOT EXISTS
            (SELECT 1 FROM passages WHERE kind IN ('entry', 'fact') AND ref IN (one, other) AND NOT live)
        ORDER BY found_at DESC, number DESC"
    );
    let mut open = Vec::new();
    for conflict in db.rows(&sql, (), from_row)? {
        open.extend(resolve(db, conflict)?);
    }
    Ok(open)
}

/// Returns the open conflicts between two entries: the id of the older one and that of the newer one.
pub(crate) fn open_between_entries(db: &Connection) -> Result<Vec<(String, String)>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM conflicts JOIN passages AS first ON first.kind = 'entry' AND first.ref = one AND first.live
            JOIN passages AS second ON second.kind = 'entry' AND second.ref = other AND second.live
        WHERE kept IS DISTINCT FROM 'both'"
    );
    let mut pairs = Vec::new();
    for conflict in db.rows(&sql, (), from_row)? {
        if let Some(OpenConflict { first, second, .. }) = resolve(db, conflict)? {
            let (older, newer) = if first.at > second.at { (second, first) } else { (first, second) };
            pairs.push((older.reference, newer.reference));
        }
    }
    Ok(pairs)
}

/// Returns the last chunk of a document whose lines were compared with the current statements.
pub(crate) fn last_compared(db: &Connection) -> Result<i64> {
    let value: Option<String> =
        db.row("SELECT value FROM meta WHERE key = 'compared'", (), |row| row.get(0))?;
    Ok(value.and_then(|value| value.parse().ok()).unwrap_or(0))
}

/// Sets the last chunk of a document whose lines were compared.
pub(crate) fn set_last_compared(db: &Connection, passage: i64) -> Result<()> {
    let sql = "INSERT INTO meta (key, value) VALUES ('compared', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    db.run(sql, [passage.to_string()]).map(drop)
}

/// Returns the conflict with this number, settled or not.
pub(crate) fn get(db: &Connection, number: i64) -> Result<Option<Conflict>> {
    db.row(&format!("SELECT {COLUMNS} FROM conflicts WHERE number = $1"), [number], from_row)
}

/// Returns the statements of a conflict if it is open.
pub(crate) fn get_open(db: &Connection, number: i64) -> Result<Option<OpenConflict>> {
    match get(db, number)?.filter(|conflict| conflict.kept != Some(KeepChoice::Both)) {
        Some(conflict) => resolve(db, conflict),
        None => Ok(None),
    }
}

fn resolve(db: &Connection, conflict: Conflict) -> Result<Option<OpenConflict>> {
    let Some(first) = current(db, &conflict.first)? else { return Ok(None) };
    let Some(second) = current(db, &conflict.second)? else { return Ok(None) };
    Ok(Some(OpenConflict { conflict, first, second }))
}

/// Returns a statement if it is current and its text has not changed.
fn current(db: &Connection, named: &StatementRef) -> Result<Option<CurrentStatement>> {
    let (kind, reference) = (named.kind(), named.reference.clone());
    let found = match kind {
        StatementKind::Entry | StatementKind::Fact => {
            let found = lookup::live(db, kind.as_str(), &reference)?;
            found.filter(|(text, _)| named.says(text)).map(|(text, at)| (None, text, at))
        }
        StatementKind::Document => {
            let mut found = None;
            lookup::document_lines(db, &reference, |line, text, at| {
                if !named.says(text) {
                    return ControlFlow::Continue(());
                }
                found = Some((Some(line), text.to_owned(), at));
                ControlFlow::Break(())
            })?;
            found
        }
    };
    Ok(found.map(|(line, text, at)| CurrentStatement { kind, reference, line, text, at }))
}

/// Notes which side is kept; `None`: the conflict is not settled.
pub(crate) fn settle(db: &Connection, number: i64, kept: Option<KeepChoice>) -> Result<()> {
    let sql = "UPDATE conflicts SET kept = $2 WHERE number = $1";
    db.run(sql, (number, kept.map(KeepChoice::as_str))).map(drop)
}

/// Removes the conflicts of a record that is deleted for good.
pub(crate) fn forget(db: &Connection, reference: &str) -> Result<()> {
    db.run("DELETE FROM conflicts WHERE one = $1 OR other = $1", [reference]).map(drop)
}

/// A pair of statements of which a person keeps both: its number here, and both statements. A fact has no name that all machines know,
/// so pairs with facts stay here.
pub(crate) fn kept_pairs(db: &Connection) -> Result<Vec<(i64, [StatementRef; 2])>> {
    let sql = format!("SELECT {COLUMNS} FROM conflicts WHERE kept = 'both' ORDER BY number");
    let pairs = db.rows(&sql, (), from_row)?.into_iter().map(|Conflict { number, first, second, .. }| {
        let mut pair = [first, second];
        pair.sort_by(|one, other| (&one.reference, &one.hash).cmp(&(&other.reference, &other.hash)));
        (number, pair)
    });
    Ok(pairs.filter(|(_, pair)| pair.iter().all(|one| one.kind() != StatementKind::Fact)).collect())
}

/// Notes that a person keeps both of two statements. Returns the number of the pair.
pub(crate) fn keep_pair(db: &Connection, now: Time, [one, other]: &[StatementRef; 2]) -> Result<Option<i64>> {
    let (first, second, kept) = (one.clone(), other.clone(), Some(KeepChoice::Both));
    insert(db, &Conflict { number: 0, first, second, found_at: now, kept })?;
    let sql = "UPDATE conflicts SET kept = 'both' WHERE one = $1 AND one_hash = $2 AND other = $3 AND other_hash = $4
        OR one = $3 AND one_hash = $4 AND other = $1 AND other_hash = $2 RETURNING number";
    db.row(sql, (&one.reference, &one.hash, &other.reference, &other.hash), |row| row.get(0))
}

/// Returns all conflicts, for an export.
pub(crate) fn all(db: &Connection) -> Result<Vec<Conflict>> {
    db.rows(&format!("SELECT {COLUMNS} FROM conflicts ORDER BY number"), (), from_row)
}

/// Imports conflicts. Facts have other numbers here, so they are recognised by their text.
pub(crate) fn import(db: &Connection, conflicts: &[Conflict]) -> Result<()> {
    let is_about_fact = |conflict: &Conflict| {
        conflict.first.kind() == StatementKind::Fact || conflict.second.kind() == StatementKind::Fact
    };
    let mut facts: HashMap<String, String> = HashMap::new();
    if conflicts.iter().any(is_about_fact) {
        // Current facts come last, because they take precedence.
        let sql = "SELECT ref, text FROM passages WHERE kind = 'fact' ORDER BY live, id";
        facts.extend(db.rows(sql, (), |row| Ok((hash(row.text(1)?), row.get(0)?)))?);
    }
    let here = |named: &StatementRef| match named.kind() {
        StatementKind::Fact => {
            let reference = facts.get(&named.hash)?.clone();
            Some(StatementRef { reference, hash: named.hash.clone() })
        }
        StatementKind::Entry | StatementKind::Document => Some(named.clone()),
    };
    for conflict in conflicts {
        if let (Some(first), Some(second)) = (here(&conflict.first), here(&conflict.second)) {
            insert(db, &Conflict { first, second, ..conflict.clone() })?;
        }
    }
    Ok(())
}
