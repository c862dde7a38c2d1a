//! The knowledge graph: entities and their names, facts about them and relations between them, each with the
//! period in which it holds and the lines that state it.
//!
//! A fact or relation is a row here and a passage in the index, written in one transaction. `recall` answers
//! a question from the rows: it determines who is meant and what is asked, and returns nothing if it can't.
//! `read` extracts statements from documents and `follow` keeps them in sync; a statement is deleted with the
//! last line that makes it.

pub(crate) mod activation;
mod export;
pub(crate) mod fact;
mod follow;
pub(crate) mod guard;
mod intent;
pub(crate) mod name;
mod question;
pub(crate) mod read;
pub(crate) mod recall;
mod records;
pub(crate) mod relation;
pub(crate) mod replica;
pub(crate) mod seed;

use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::caller::Visibility;
use crate::base::ids::SessionId;
use crate::base::origin::RecordOrigin;
use crate::base::redact::redact;
use crate::base::sql::column;
use crate::base::{Error, Result, Time};
use crate::group::View;
use crate::index::{Passage, Writer};
use crate::records::conflict;
use crate::records::tombstone::{self, Tombstones};
use crate::store::{Connection, Row, audit, visibility};

pub use activation::Tiers;
pub(crate) use activation::tiers;
pub use export::{Format, Picture};
pub use fact::Fact;
pub(crate) use follow::follow;
pub(crate) use guard::From as Source;
pub use name::{Alias, EntitySummary};
pub use recall::{GraphMatch, RecallResult};
pub(crate) use records::Records;
pub use relation::Relation;
pub use seed::SeedReport;

/// The key for the type of an entity in another program.
pub(crate) const ENTITY_TYPE: &str = "entity_type";
/// The key for the observations of such a program.
pub(crate) const OBSERVATIONS: &str = "observations";

/// The number of an entity's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EntityId(pub(crate) i64);

column!(EntityId, EntityId);

/// The writer, and the time from which the statement holds.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'a> {
    pub(crate) now: Time,
    pub(crate) since: Time,
    pub(crate) source: Source,
    pub(crate) origin: RecordOrigin,
    pub(crate) session: Option<&'a SessionId>,
    /// Whether it is hidden from shared sessions; `None` means as private as the fact it replaces.
    pub(crate) private: Option<bool>,
    /// Whether a new one is, if it replaces none.
    pub(crate) private_by_default: bool,
    /// The visibility of the writing session.
    pub(crate) visibility: Visibility,
}

impl Origin<'_> {
    /// Returns whether a new record that replaces none is hidden from shared sessions.
    fn hides_new(&self) -> bool {
        self.private.unwrap_or(self.private_by_default)
    }
}

/// A line that states something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "a file and a line of it")]
pub struct Cite {
    pub path: String,
    /// The line of a document, from 1; 0 for a message.
    pub line: i64,
}

redact! {
    Cite { path / line }
}

fn cites(db: &Connection, kind: &str, id: i64) -> Result<Vec<Cite>> {
    let sql = "SELECT path, line FROM citations WHERE kind = $1 AND id = $2 ORDER BY path";
    db.rows(sql, (kind, id), cite)
}

fn cite(row: &Row<'_>) -> Result<Cite> {
    Ok(Cite { path: row.get(0)?, line: row.get(1)? })
}

/// Keeps the citations of documents that the connection sees.
pub(crate) fn seen_cites(db: &Connection, cites: Vec<Cite>) -> Result<Vec<Cite>> {
    let sql = "SELECT EXISTS (SELECT 1 FROM citations WHERE path = $1)";
    let mut kept = Vec::new();
    for cite in cites {
        if db.one(sql, [&cite.path], |row| row.get(0))? {
            kept.push(cite);
        }
    }
    Ok(kept)
}

/// Returns the kind of the record behind a passage and the lines that state it; `None` if it is not part of
/// the graph.
pub(crate) fn cites_of(
    db: &Connection,
    kind: &str,
    reference: &str,
) -> Result<Option<(&'static str, Vec<Cite>)>> {
    let Some(kind) = [fact::KIND, relation::KIND].into_iter().find(|known| *known == kind) else {
        return Ok(None);
    };
    let id = number(kind, reference).unwrap_or(0);
    Ok(Some((kind, cites(db, kind, id)?)))
}

/// Returns the number in a reference such as `fact-12`.
fn number(kind: &str, reference: &str) -> Option<i64> {
    reference.strip_prefix(kind)?.strip_prefix('-')?.parse().ok()
}

/// Deletes the row of a fact or relation, with its passage and all references to it. A fact that it had ended
/// is not restored.
fn drop_row(db: &Connection, writer: &mut Writer<'_>, kind: &str, id: i64) -> Result<()> {
    let reference = format!("{kind}-{id}");
    writer.remove(kind, &reference)?;
    let sql = match kind {
        fact::KIND => "DELETE FROM facts WHERE id = $1",
        _ => "DELETE FROM relations WHERE id = $1",
    };
    db.run(sql, [id])?;
    db.run("DELETE FROM citations WHERE kind = $1 AND id = $2", (kind, id))?;
    conflict::forget(db, &reference)?;
    activation::forget(db, &reference)
}

/// Returns the passages of all facts and relations, for a rebuild of the index.
pub(crate) fn passages(db: &Connection) -> Result<Vec<Passage>> {
    let mut passages = fact::passages(db)?;
    passages.extend(relation::passages(db)?);
    Ok(passages)
}

/// Tells whether the graph is empty.
pub(crate) fn is_empty(db: &Connection) -> Result<bool> {
    Ok(db.row("SELECT 1 FROM entities LIMIT 1", (), |_| Ok(()))?.is_none())
}

/// The size of the graph.
#[derive(Clone, Copy, Debug, Serialize)]
#[expect(missing_docs, reason = "named after what they count")]
pub struct Counts {
    pub entities: i64,
    pub aliases: i64,
    pub facts: i64,
    pub relations: i64,
    /// Statements that were read and rejected; `nacre graph fact skipped` lists them.
    pub kept_out: i64,
}

/// Counts current records.
pub(crate) fn counts(db: &Connection) -> Result<Counts> {
    let sql = "SELECT (SELECT count(*) FROM entities WHERE root = id), (SELECT count(*) FROM names WHERE NOT own),
        (SELECT count(*) FROM facts WHERE until IS NULL), (SELECT count(*) FROM relations WHERE until IS NULL),
        (SELECT count(*) FROM kept_out)";
    db.one(sql, (), |row| {
        Ok(Counts {
            entities: row.get(0)?,
            aliases: row.get(1)?,
            facts: row.get(2)?,
            relations: row.get(3)?,
            kept_out: row.get(4)?,
        })
    })
}

/// A statement that was read and rejected.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "where, what and why")]
pub struct SkippedStatement {
    pub path: String,
    pub line: i64,
    pub what: String,
    pub reason: String,
}

redact! { SkippedStatement { path, what, reason / line } }

/// Lists the statements that were read and rejected.
fn kept_out_in(db: &Connection) -> Result<Vec<SkippedStatement>> {
    db.rows("SELECT path, line, what, reason FROM kept_out ORDER BY path, line, what", (), |row| {
        Ok(SkippedStatement { path: row.get(0)?, line: row.get(1)?, what: row.get(2)?, reason: row.get(3)? })
    })
}

impl Origin<'_> {
    /// Refuses a statement that a person deleted for good. A person who makes it again brings it back.
    fn check_deleted(&self, db: &Connection, statement: &str) -> Result<()> {
        match self.source {
            Source::Person => tombstone::lift(db, statement).map(drop),
            _ => Tombstones::load(db)?.check(statement),
        }
    }

    /// Tells whether the writer sees a row.
    fn sees(&self, db: &Connection, table: &str, id: i64) -> Result<bool> {
        visibility::shows(db, self.visibility, table, id)
    }

    /// Returns the rules by which names and keys are checked: extracted statements have already passed the
    /// stricter ones.
    fn checked_as(&self) -> Source {
        if self.source.is_read() { Source::Person } else { self.source }
    }
}

/// Returns the name of a source in the rows.
fn source_name(source: Source) -> &'static str {
    match source {
        Source::Person => "person",
        Source::Agent => "agent",
        Source::Import => "import",
        Source::Document => "document",
    }
}

impl std::convert::From<guard::Refusal> for Error {
    fn from(refusal: guard::Refusal) -> Error {
        Error::SkippedStatement { what: refusal.what, reason: refusal.reason }
    }
}

/// Imports facts, relations and aliases from a seed file that a person wrote.
pub fn seed(view: &mut View<'_>, path: &Path) -> Result<SeedReport> {
    let caller = view.caller();
    let text = fs::read_to_string(path).map_err(Error::io(path))?;
    let seed = seed::parse(path, &text)?;
    view.write(|tx| {
        let seeded = seed::import(tx, caller.now, &caller.session, &seed)?;
        audit::Row::new("seed").with("added", seeded.added).append(tx, caller)?;
        Ok(seeded)
    })
}

/// Returns all current facts and relations, for other programs to draw.
pub fn picture(view: &View<'_>) -> Result<Picture> {
    view.read_all(Picture::new)
}

/// Lists the statements that were read from documents and rejected, and why.
pub fn kept_out(view: &View<'_>) -> Result<Vec<SkippedStatement>> {
    view.read_all(kept_out_in)
}
