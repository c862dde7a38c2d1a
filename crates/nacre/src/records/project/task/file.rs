//! Import and export of tasks: `tasks.json`, and the lossless records of a group export.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{
    COLUMNS, Change, DEFAULT_PRIORITY, Draft, KIND, Status, changes, checked, filled, get, insert_block,
    insert_change, of_row, passage,
};
use crate::base::ids::TaskId;
use crate::base::{Error, Result, Time};
use crate::index;
use crate::store::Connection;

/// The content of `tasks.json`.
#[derive(Debug, Serialize, Deserialize)]
struct File {
    tasks: Vec<Record>,
}

/// A task in `tasks.json`. Its times are days there; the records of a group export also have exact times, the
/// history and archived tasks.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Record {
    id: TaskId,
    #[serde(default)]
    milestone: Option<String>,
    #[serde(default = "usual")]
    priority: i64,
    status: String,
    description: String,
    #[serde(default)]
    acceptance_criteria: Vec<String>,
    created: String,
    #[serde(default)]
    completed: Option<String>,
    #[serde(default)]
    blocked_by: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    archived: Option<Time>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changes: Vec<Change>,
}

fn usual() -> i64 {
    DEFAULT_PRIORITY
}

/// All tasks of a group, for an export.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct TaskRecords(Vec<Record>);

/// The result of importing tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskImportReport {
    /// The number of new tasks.
    pub added: usize,
    /// The number of tasks that existed already.
    pub present: usize,
    /// Tasks whose id was taken here: the original id and the new one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub renamed: BTreeMap<String, String>,
}

/// Returns the tasks that are not archived, as `tasks.json`.
pub(crate) fn as_file(db: &Connection) -> Result<String> {
    let mut tasks: Vec<Record> = all(db)?.into_iter().filter(|record| record.archived.is_none()).collect();
    for record in &mut tasks {
        let day = |time: &mut String| time.truncate(10);
        day(&mut record.created);
        record.completed.as_mut().map(day);
        record.changes.clear();
    }
    // A blocker that is archived is finished and not part of the file.
    let known: BTreeSet<TaskId> = tasks.iter().map(|record| record.id).collect();
    tasks.iter_mut().for_each(|record| record.blocked_by.retain(|id| known.contains(id)));
    Ok(serde_json::to_string_pretty(&File { tasks })? + "\n")
}

fn all(db: &Connection) -> Result<Vec<Record>> {
    let mut records = Vec::new();
    for task in db.rows(&format!("{COLUMNS} ORDER BY number"), (), of_row)? {
        let task = filled(db, task)?;
        records.push(Record {
            changes: changes(db, task.id)?,
            id: task.id,
            milestone: task.milestone,
            priority: task.priority,
            status: task.status.as_str().to_owned(),
            description: task.description,
            acceptance_criteria: task.acceptance_criteria,
            created: task.created.to_string(),
            completed: task.completed.map(|time| time.to_string()),
            blocked_by: task.blocked_by,
            archived: task.archived,
        });
    }
    Ok(records)
}

impl TaskRecords {
    pub(crate) fn read(db: &Connection) -> Result<TaskRecords> {
        all(db).map(TaskRecords)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Imports the tasks of an export and keeps existing ones unchanged.
    pub(crate) fn import(&self, db: &Connection) -> Result<TaskImportReport> {
        insert_all(db, &self.0, ("person", "import"))
            .map_err(|problem| Error::BadTask { problem: message(problem) })
    }
}

/// Imports a `tasks.json` as a whole or not at all.
pub(crate) fn import(db: &Connection, path: &Path, text: &str, by: (&str, &str)) -> Result<TaskImportReport> {
    let bad = |problem: String| Error::BadTasks { path: path.to_owned(), problem };
    // A bare list of tasks is accepted too.
    let records = serde_json::from_str::<File>(text)
        .map(|file| file.tasks)
        .or_else(|problem| serde_json::from_str::<Vec<Record>>(text).map_err(|_| problem))
        .map_err(|problem| bad(problem.to_string()))?;
    insert_all(db, &records, by).map_err(|problem| match problem {
        Problem::Store(error) => error,
        problem => bad(message(problem)),
    })
}

/// The reason why records can't be imported.
enum Problem {
    Text(String),
    Store(Error),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        Problem::Store(error)
    }
}

impl From<serde_json::Error> for Problem {
    fn from(error: serde_json::Error) -> Problem {
        Problem::Store(error.into())
    }
}

fn message(problem: Problem) -> String {
    match problem {
        Problem::Text(said) => said,
        Problem::Store(error) => error.to_string(),
    }
}

fn insert_all(db: &Connection, records: &[Record], by: (&str, &str)) -> Result<TaskImportReport, Problem> {
    let said = |text: String| Err(Problem::Text(text));
    let mut done = TaskImportReport::default();
    let ids: BTreeSet<TaskId> = records.iter().map(|record| record.id).collect();
    if ids.len() < records.len() {
        return said("two tasks have the same id".into());
    }
    // The ids in the file, and the ids here.
    let mut here: BTreeMap<TaskId, TaskId> = BTreeMap::new();
    let mut new = BTreeSet::new();
    for record in records {
        let Record { id, .. } = record;
        let unknown = record.blocked_by.iter().find(|blocker| !ids.contains(blocker));
        if let Some(unknown) = unknown {
            return said(format!("{id} is blocked by {unknown}, which is not in the file"));
        }
        if record.blocked_by.contains(id) {
            return said(format!("{id} is blocked by itself"));
        }
        let status = status(&record.status);
        let Some(status) = status else {
            return said(format!(
                "{id} has the unknown status `{}`",
                crate::base::text::shorten(&record.status)
            ));
        };
        let time = |text: &str| {
            Time::parse(text).ok_or_else(|| {
                Problem::Text(format!("{id} has `{}`, which is not a time", crate::base::text::shorten(text)))
            })
        };
        let created = time(&record.created)?;
        let completed = record.completed.as_deref().map(time).transpose()?;
        let draft = checked(Draft {
            description: record.description.clone(),
            milestone: record.milestone.clone(),
            priority: Some(record.priority),
            acceptance_criteria: record.acceptance_criteria.clone(),
            blocked_by: record.blocked_by.clone(),
        })
        .map_err(|problem| Problem::Text(format!("{id}: {problem}")))?;
        let number = match get(db, *id) {
            // A task exported from here is recognised by its day, or its exact time.
            Ok(known) if known.description == draft.description && is_same_day(known.created, created) => {
                done.present += 1;
                here.insert(*id, *id);
                continue;
            }
            Ok(_) => None,
            Err(Error::NoTask { .. }) => Some(*id),
            Err(error) => return Err(Problem::Store(error)),
        };
        let sql = "INSERT INTO tasks (number, milestone, priority, status, description, accept, created_at, completed_at,
            archived_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING number";
        let accept = serde_json::to_string(&draft.acceptance_criteria)?;
        let Draft { milestone, priority, description, .. } = &draft;
        let (status_name, archived) = (status.as_str(), record.archived);
        let fields =
            (number, milestone, priority, status_name, description, accept, created, completed, archived);
        let got: TaskId = db.one(sql, fields, |row| row.get(0))?;
        if got != *id {
            done.renamed.insert(id.to_string(), got.to_string());
        }
        for change in &record.changes {
            insert_change(db, got, change.at, change.status, &change.actor, &change.session)?;
        }
        if record.changes.is_empty() {
            insert_change(db, got, completed.unwrap_or(created), status, by.0, by.1)?;
        }
        here.insert(*id, got);
        new.insert(got);
        done.added += 1;
    }
    for record in records {
        let id = here[&record.id];
        // A task that existed already keeps its own blockers.
        for blocker in record.blocked_by.iter().filter(|_| new.contains(&id)) {
            super::refuse_cycle(db, id, here[blocker]).map_err(|problem| match problem {
                problem @ Error::BlockCycle { .. } => Problem::Text(problem.to_string()),
                problem => Problem::Store(problem),
            })?;
            insert_block(db, id, here[blocker])?;
        }
    }
    for id in new {
        index::remove(db, KIND, &id.to_string())?;
        index::put(db, &passage(&get(db, id)?))?;
    }
    Ok(done)
}

fn is_same_day(one: Time, other: Time) -> bool {
    one == other || one.to_string()[..10] == other.to_string()[..10]
}

/// Reads a status, also in the words of other programs.
fn status(word: &str) -> Option<Status> {
    let folded = word.trim().to_lowercase().replace([' ', '-'], "_");
    Status::of_name(&folded).or(match folded.as_str() {
        "todo" | "open" | "blocked" => Some(Status::Pending),
        "doing" | "active" | "started" => Some(Status::InProgress),
        "complete" | "completed" | "closed" => Some(Status::Done),
        "canceled" => Some(Status::Cancelled),
        _ => None,
    })
}
