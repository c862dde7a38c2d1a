//! The staleness watch: memories that name a path, flag, version, command or branch of their project, and the repository that
//! had it and no longer has it.
//!
//! A thing is watched only after the repository was seen to have it: when the memory was stored, or at a later check. So a word
//! that only looks like a path, a plan, or a file of another project is never marked. When the thing is back, the mark goes. A
//! repository that is missing, incomplete or in the middle of a change proves nothing, and all marks stay as they are.

mod git;
mod manifest;
mod mention;
mod repository;
mod source;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::base::caller::Caller;
use crate::base::ids::{EntryId, EntryRef, ProjectName};
use crate::base::redact::{self, Redact as _, redact};
use crate::base::{Error, Result, Time};
use crate::group::View;
use crate::records::entry::{self, Entry};
use crate::store::{Connection, audit};

use mention::{Mention, MentionKind, mentions};
use repository::{Effort, Presence, Repository};

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StaleReport {
    /// How many memories were compared with the repository of their project.
    pub checked: usize,
    /// How many of them name something that is gone.
    pub stale: usize,
    /// How many marks are new, and how many went because the thing is back.
    pub marked: usize,
    #[expect(missing_docs)]
    pub cleared: usize,
    /// Projects whose folder could not be compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<ProjectName>,
}

/// A memory that names something that is gone.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct StaleEntry {
    pub entry: Entry,
    pub things: Vec<GoneThing>,
}

/// A thing that a repository no longer has.
#[derive(Clone, Debug, Serialize)]
pub struct GoneThing {
    /// `path`, `flag`, `version`, `command` or `branch`.
    pub kind: String,
    /// As the memory names it.
    pub name: String,
    /// Its successor, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub successor: Option<String>,
    /// When the check first missed it.
    pub gone_at: Time,
}

redact! {
    StaleEntry { entry, things }
    GoneThing { kind, name, successor / gone_at }
}

/// The things that a repository had when a memory was written.
#[derive(Default)]
pub(crate) struct Observation {
    seen: Vec<Mention>,
}

/// Looks at what a new memory names. It reads no source code, so that storing stays fast: flags are seen at the next check.
pub(crate) fn observe(folder: Option<&Path>, content: &str) -> Observation {
    let content = redact::text(content);
    let named = mentions(&content);
    let repository =
        folder.filter(|_| !named.is_empty()).and_then(|folder| Repository::open(folder, Effort::Small));
    let Some(repository) = repository else { return Observation::default() };
    Observation { seen: named.into_iter().filter(|one| repository.look(one) == Presence::Present).collect() }
}

/// Records what was seen for a memory that was written. What its text no longer names is forgotten.
pub(crate) fn record(db: &Connection, entry: &Entry, observed: &Observation, now: Time) -> Result<()> {
    let named = mentions(&redact::text(&entry.content));
    for (known, _) in rows_of(db, entry.id.as_str())? {
        if !named.contains(&known) {
            drop_row(db, entry.id.as_str(), &known)?;
        }
    }
    observed
        .seen
        .iter()
        .filter(|one| named.contains(one))
        .try_for_each(|one| see(db, entry.id.as_str(), one, now))
}

/// The stored state of a thing that a memory names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct MentionState {
    gone_at: Option<Time>,
    successor: Option<String>,
}

/// Compares all current memories with the repositories of their projects.
pub fn check(view: &mut View<'_>) -> Result<StaleReport> {
    let caller = view.caller();
    let (projects, mut known) = view.read_all(|db| Ok((projects(db)?, rows(db)?)))?;
    let mut report = StaleReport::default();
    let mut changes = Vec::new();
    for (project, folder) in projects {
        let entries = view.read_all(|db| entries(db, &project))?;
        if entries.is_empty() {
            continue;
        }
        let Some(repository) = Repository::open(&folder, Effort::Full) else {
            report.skipped.push(project);
            continue;
        };
        for (entry, content) in entries {
            report.checked += 1;
            let mut before = known.remove(&entry).unwrap_or_default();
            for named in mentions(&redact::text(&content)) {
                let row = before.remove(&named);
                let step = match (repository.look(&named), row) {
                    (Presence::Present, None) => Step::See,
                    (Presence::Present, Some(MentionState { gone_at: Some(_), .. })) => {
                        report.cleared += 1;
                        Step::See
                    }
                    (Presence::Absent(successor), Some(row)) if row.gone_at.is_none() => {
                        report.marked += 1;
                        Step::Miss(successor)
                    }
                    (Presence::Absent(successor), Some(row)) if row.successor != successor => {
                        Step::Miss(successor)
                    }
                    _ => continue,
                };
                changes.push((entry.clone(), named, step));
            }
            // Its text no longer names these.
            changes.extend(before.into_keys().map(|named| (entry.clone(), named, Step::Forget)));
        }
    }
    report.stale = write(view, caller, &changes, &report)?;
    Ok(report)
}

enum Step {
    See,
    /// With what took its place.
    Miss(Option<String>),
    Forget,
}

/// Writes the result of a check. Returns how many memories are stale. A check that found nothing new writes nothing.
fn write(
    view: &mut View<'_>,
    caller: &Caller,
    changes: &[(String, Mention, Step)],
    report: &StaleReport,
) -> Result<usize> {
    let orphans = "SELECT count(*) FROM mentions WHERE entry NOT IN (SELECT id FROM entries)";
    let orphans: i64 = view.read_all(|db| db.one(orphans, (), |row| row.get(0)))?;
    if changes.is_empty() && orphans == 0 {
        return view.read_all(count);
    }
    view.write(|tx| {
        tx.run("DELETE FROM mentions WHERE entry NOT IN (SELECT id FROM entries)", ())?;
        for (entry, named, step) in changes {
            match step {
                Step::See => see(tx, entry, named, caller.now)?,
                Step::Miss(successor) => {
                    let sql = "UPDATE mentions SET gone_at = coalesce(gone_at, $4), successor = $5
                        WHERE entry = $1 AND kind = $2 AND name = $3";
                    tx.run(sql, (entry, named.kind.as_str(), &named.name, caller.now, successor))?;
                }
                Step::Forget => drop_row(tx, entry, named)?,
            }
        }
        let row =
            audit::Row::new("stale_check").with("marked", report.marked).with("cleared", report.cleared);
        row.append(tx, caller)?;
        count(tx)
    })
}

/// Returns how many current memories name something that is gone.
pub(crate) fn count(db: &Connection) -> Result<usize> {
    let sql = "SELECT count(DISTINCT entry) FROM mentions JOIN entries ON entries.id = entry
        WHERE gone_at IS NOT NULL AND NOT kept AND superseded_at IS NULL AND archived_at IS NULL";
    Ok(usize::try_from(db.one(sql, (), |row| row.get::<i64>(0))?).unwrap_or(0))
}

/// Lists the current memories that name something that is gone, the last missed first.
pub fn list(view: &View<'_>) -> Result<Vec<StaleEntry>> {
    let sql = "SELECT entry, kind, name, successor, gone_at FROM mentions
        WHERE gone_at IS NOT NULL AND NOT kept ORDER BY gone_at DESC, entry, name";
    view.read(|db| {
        let rows = db.rows(sql, (), |row| {
            let thing = GoneThing {
                kind: row.get(1)?,
                name: row.get(2)?,
                successor: row.get(3)?,
                gone_at: row.get(4)?,
            };
            Ok((row.get::<String>(0)?, thing))
        })?;
        let mut found: Vec<StaleEntry> = Vec::new();
        for (id, thing) in rows {
            if let Some(known) = found.iter_mut().find(|known| known.entry.id.as_str() == id) {
                known.things.push(thing);
                continue;
            }
            let entry = entry::get_all(db, [id.as_str()])?.pop().filter(Entry::is_current);
            found.extend(entry.map(|entry| StaleEntry { entry, things: vec![thing] }));
        }
        found.redact();
        Ok(found)
    })
}

/// Takes the marks off a memory that is right although the things are gone. They are not marked again.
pub fn keep(view: &mut View<'_>, named: &EntryRef) -> Result<EntryId> {
    let caller = view.caller();
    view.write(|tx| {
        let entry = entry::get(tx, named)?;
        let changed = tx.run(
            "UPDATE mentions SET kept = true WHERE entry = $1 AND gone_at IS NOT NULL AND NOT kept",
            [&entry.id],
        )?;
        if changed == 0 {
            return Err(Error::NotStale { id: entry.id });
        }
        audit::Row::new("stale_keep").id(&entry.id).append(tx, caller)?;
        Ok(entry.id)
    })
}

/// Returns the projects and their folders on this machine.
fn projects(db: &Connection) -> Result<Vec<(ProjectName, PathBuf)>> {
    let sql = "SELECT name, folder FROM projects ORDER BY name";
    db.rows(sql, (), |row| Ok((row.get(0)?, PathBuf::from(row.get::<String>(1)?))))
}

/// Returns the current memories of a project.
fn entries(db: &Connection, project: &ProjectName) -> Result<Vec<(String, String)>> {
    let sql =
        "SELECT id, content FROM entries WHERE project = $1 AND superseded_at IS NULL AND archived_at IS NULL
        ORDER BY number";
    db.rows(sql, [project], |row| Ok((row.get(0)?, row.get(1)?)))
}

type Rows = BTreeMap<Mention, MentionState>;

fn rows(db: &Connection) -> Result<HashMap<String, Rows>> {
    let mut all: HashMap<String, Rows> = HashMap::new();
    let sql = "SELECT kind, name, gone_at, successor, entry FROM mentions";
    for (entry, (named, row)) in db.rows(sql, (), |row| Ok((row.get::<String>(4)?, of_row(row)?)))? {
        all.entry(entry).or_default().insert(named, row);
    }
    Ok(all)
}

fn rows_of(db: &Connection, entry: &str) -> Result<Rows> {
    let sql = "SELECT kind, name, gone_at, successor FROM mentions WHERE entry = $1";
    Ok(db.rows(sql, [entry], of_row)?.into_iter().collect())
}

fn of_row(row: &crate::store::Row<'_>) -> Result<(Mention, MentionState)> {
    let kind = MentionKind::of_name(row.text(0)?).unwrap_or(MentionKind::Path);
    Ok((Mention { kind, name: row.get(1)? }, MentionState { gone_at: row.get(2)?, successor: row.get(3)? }))
}

/// Records that a thing is there.
fn see(db: &Connection, entry: &str, named: &Mention, now: Time) -> Result<()> {
    let sql = "INSERT INTO mentions (entry, kind, name, seen_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (entry, kind, name) DO UPDATE SET gone_at = NULL, successor = NULL, kept = false";
    db.run(sql, (entry, named.kind.as_str(), &named.name, now)).map(drop)
}

fn drop_row(db: &Connection, entry: &str, named: &Mention) -> Result<()> {
    let sql = "DELETE FROM mentions WHERE entry = $1 AND kind = $2 AND name = $3";
    db.run(sql, (entry, named.kind.as_str(), &named.name)).map(drop)
}
