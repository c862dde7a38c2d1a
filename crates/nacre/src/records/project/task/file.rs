//! Import and export of tasks: `tasks.json`, and the lossless records of a group export.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{
    COLUMNS, Change, DEFAULT_PRIORITY, Draft, KIND, Status, changes, checked, filled, get, insert_block,
    insert_change, of_row, passage,
};
use crate::base::ids::TaskId;
use crate::base::text::shorten;
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// The number of tasks that existed already and have another status, priority, milestone or criteria now.
    #[serde(skip_serializing_if = "is_zero")]
    pub changed: usize,
    /// The number of tasks that existed already.
    pub present: usize,
    /// Tasks whose id was taken here: the original id and the new one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub renamed: BTreeMap<String, String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The session that imported tasks have in their history. A task with no other session was not touched here.
pub(crate) const IMPORT_SESSION: &str = "import";

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

/// Returns how many tasks a `tasks.json` has.
pub(crate) fn count(path: &Path, text: &str) -> Result<usize> {
    let records = parse(path, text)?;
    let bad = |problem| Error::BadTasks { path: path.to_owned(), problem: message(problem) };
    check_all(&records).map(|checked| checked.len()).map_err(bad)
}

/// Reads the tasks of a file. A bare list of tasks is accepted too.
fn parse(path: &Path, text: &str) -> Result<Vec<Record>> {
    serde_json::from_str::<File>(text)
        .map(|file| file.tasks)
        .or_else(|problem| serde_json::from_str::<Vec<Record>>(text).map_err(|_| problem))
        .map_err(|problem| Error::BadTasks { path: path.to_owned(), problem: problem.to_string() })
}

/// Imports a `tasks.json` as a whole or not at all.
pub(crate) fn import(db: &Connection, path: &Path, text: &str, by: (&str, &str)) -> Result<TaskImportReport> {
    let bad = |problem: String| Error::BadTasks { path: path.to_owned(), problem };
    let records = parse(path, text)?;
    insert_all(db, &records, by).map_err(|problem| match problem {
        Problem::Store(error) => error,
        problem => bad(message(problem)),
    })
}

/// The session that a change has in the history of a task if a person made it in `tasks.json`.
const EDIT_SESSION: &str = "tasks.json";

/// Applies what a person changed in `tasks.json`. `versions` are what it said before, the last one last: an editor may have
/// opened an older one, which is the one that differs least. Returns how many tasks changed.
pub(crate) fn apply(db: &Connection, versions: &[String], text: &str, now: Time) -> Result<usize> {
    let bad = |problem: String| Error::BadTasks { path: EDIT_SESSION.into(), problem };
    let records = edited(db, text, now).map_err(bad)?;
    let version = |text: &String| -> BTreeMap<TaskId, Record> {
        let tasks = serde_json::from_str::<File>(text).map(|file| file.tasks).unwrap_or_default();
        tasks.into_iter().map(|record| (record.id, record)).collect()
    };
    let mut versions = versions.iter().rev().map(version);
    let last = versions.next().unwrap_or_default();
    // Nobody saves an older version unchanged: a file that equals one has the later changes taken back.
    let older =
        versions.map(|version| (distance(&version, &records), version)).filter(|(distance, _)| *distance > 0);
    let nearest = older.min_by_key(|(distance, _)| *distance);
    let to_last = distance(&last, &records);
    let base = nearest.filter(|(distance, _)| *distance < to_last).map_or(last, |(_, version)| version);
    apply_records(db, &base, &records, now).map_err(|problem| match problem {
        Problem::Store(error) => error,
        Problem::Text(text) => bad(text),
    })
}

/// Counts the fields in which an edited file differs from an earlier version.
fn distance(version: &BTreeMap<TaskId, Record>, records: &[Record]) -> usize {
    const MISSING_TASK_DISTANCE: usize = 4;
    let of_record = |record: &Record| match version.get(&record.id) {
        None => MISSING_TASK_DISTANCE,
        Some(before) => [
            before.status == record.status,
            before.priority == record.priority,
            before.milestone == record.milestone,
            before.description == record.description,
            before.acceptance_criteria == record.acceptance_criteria,
            before.blocked_by == record.blocked_by,
            before.completed == record.completed,
        ]
        .iter()
        .filter(|is_same| !**is_same)
        .count(),
    };
    let gone = version.keys().filter(|id| records.iter().all(|record| record.id != **id)).count();
    records.iter().map(of_record).sum::<usize>() + gone * MISSING_TASK_DISTANCE
}

/// Reads an edited file. A new task needs only its description.
fn edited(db: &Connection, text: &str, now: Time) -> Result<Vec<Record>, String> {
    let mut file: serde_json::Value = serde_json::from_str(text).map_err(|problem| problem.to_string())?;
    let list = if file.is_array() { file.as_array_mut() } else { file["tasks"].as_array_mut() };
    let list = list.ok_or("it has no list of tasks")?;
    let last = db.last_number("tasks").map_err(|problem| problem.to_string())?;
    let given = list.iter().filter_map(|task| task["id"].as_str()?.parse::<TaskId>().ok()).map(|id| id.0);
    let mut next = given.max().unwrap_or(0).max(last);
    for task in list.iter_mut().filter_map(|task| task.as_object_mut()) {
        let mut fill = |field: &str, value: &dyn Fn() -> String| {
            if task.get(field).is_none_or(serde_json::Value::is_null) {
                task.insert(field.to_owned(), value().into());
            }
        };
        fill("created", &|| now.to_string());
        fill("status", &|| Status::Pending.as_str().to_owned());
        if task.get("id").is_none_or(serde_json::Value::is_null) {
            next += 1;
            task.insert("id".to_owned(), TaskId(next).to_string().into());
        }
    }
    let list = std::mem::take(list);
    serde_json::from_value(list.into()).map_err(|problem| problem.to_string())
}

fn apply_records(
    db: &Connection,
    base: &BTreeMap<TaskId, Record>,
    records: &[Record],
    now: Time,
) -> Result<usize, Problem> {
    let checked = check_all(records)?;
    // The ids in the file, and the ids here.
    let mut here: BTreeMap<TaskId, TaskId> = BTreeMap::new();
    let mut changed = BTreeSet::new();
    for (record, new) in records.iter().zip(&checked) {
        let before = base.get(&record.id);
        let known = match get(db, record.id) {
            Ok(task) => Some(task),
            Err(Error::NoTask { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let is_touched = before.is_none_or(|before| *before != *record);
        let id = match known {
            Some(task) if before.is_some() || task.description == new.draft.description => {
                if is_touched {
                    edit(db, &task, before.filter(|_| task.archived.is_none()), record, new, now)?;
                    changed.insert(task.id);
                }
                task.id
            }
            // It was removed here, and nobody touched it in the file.
            None if !is_touched => continue,
            taken => {
                let id = insert(db, taken.is_none().then_some(record.id), new, now)?;
                changed.insert(id);
                id
            }
        };
        here.insert(record.id, id);
    }
    for (record, id) in records.iter().filter_map(|record| Some((record, *here.get(&record.id)?))) {
        if base.get(&record.id).is_some_and(|before| before.blocked_by == record.blocked_by) {
            continue;
        }
        db.run("DELETE FROM task_blocks WHERE task = $1", [id])?;
    }
    for (record, id) in records.iter().filter_map(|record| Some((record, *here.get(&record.id)?))) {
        for blocker in record.blocked_by.iter().filter_map(|blocker| here.get(blocker)) {
            super::refuse_cycle(db, id, *blocker).map_err(|problem| match problem {
                problem @ Error::BlockCycle { .. } => Problem::Text(problem.to_string()),
                problem => Problem::Store(problem),
            })?;
            insert_block(db, id, *blocker)?;
        }
    }
    // A task that was taken out of the file is archived, so that nothing is lost.
    for id in base.keys().filter(|id| records.iter().all(|record| record.id != **id)) {
        if get(db, *id).is_ok_and(|task| task.archived.is_none()) {
            db.run("UPDATE tasks SET archived_at = $2 WHERE number = $1", (id, now))?;
            changed.insert(*id);
        }
    }
    for id in &changed {
        index::put(db, &passage(&get(db, *id)?))?;
    }
    Ok(changed.len())
}

/// Changes the fields of a task that differ from what the file said before; without that, all of them.
fn edit(
    db: &Connection,
    task: &super::Task,
    before: Option<&Record>,
    record: &Record,
    new: &ValidTask,
    now: Time,
) -> Result<()> {
    let differs = |same: &dyn Fn(&Record) -> bool| before.is_none_or(|before| !same(before));
    let Draft { description, milestone, priority, acceptance_criteria, .. } = &new.draft;
    let status = if differs(&|before| before.status == record.status) { new.status } else { task.status };
    let description = if differs(&|before| before.description == record.description) {
        description
    } else {
        &task.description
    };
    let milestone =
        if differs(&|before| before.milestone == record.milestone) { milestone } else { &task.milestone };
    let priority = if differs(&|before| before.priority == record.priority) {
        priority.unwrap_or(task.priority)
    } else {
        task.priority
    };
    let criteria = match differs(&|before| before.acceptance_criteria == record.acceptance_criteria) {
        true => acceptance_criteria,
        false => &task.acceptance_criteria,
    };
    let completed = match status {
        Status::Done if task.status == Status::Done => task.completed,
        Status::Done => Some(new.completed.unwrap_or(now)),
        _ => None,
    };
    let sql = "UPDATE tasks SET status = $2, priority = $3, milestone = $4, accept = $5, completed_at = $6, description = $7,
        archived_at = NULL WHERE number = $1";
    let accept = serde_json::to_string(criteria)?;
    db.run(sql, (task.id, status.as_str(), priority, milestone, accept, completed, description))?;
    if status != task.status {
        insert_change(db, task.id, now, status, "person", EDIT_SESSION)?;
    }
    Ok(())
}

/// Returns a number that no task has had. A server gives none by itself if the column is named.
fn next_number(db: &Connection) -> Result<TaskId> {
    let next = db.last_number("tasks")?.checked_add(1);
    next.map(TaskId).ok_or_else(|| Error::BadTask { problem: "there is no number left for a task".into() })
}

/// Adds a task of the file, under its own id if that is free.
fn insert(db: &Connection, id: Option<TaskId>, new: &ValidTask, now: Time) -> Result<TaskId> {
    let Draft { milestone, priority, description, acceptance_criteria, .. } = &new.draft;
    let sql = "INSERT INTO tasks (number, milestone, priority, status, description, accept, created_at, completed_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING number";
    let accept = serde_json::to_string(acceptance_criteria)?;
    let status = new.status.as_str();
    let id = id.map_or_else(|| next_number(db), Ok)?;
    let fields = (id, milestone, priority, status, description, accept, new.created, new.completed);
    let id: TaskId = db.one(sql, fields, |row| row.get(0))?;
    insert_change(db, id, now, new.status, "person", EDIT_SESSION)?;
    Ok(id)
}

/// A record whose fields are valid.
struct ValidTask {
    draft: Draft,
    status: Status,
    created: Time,
    completed: Option<Time>,
}

/// Checks the records of a file before anything is written.
fn check_all(records: &[Record]) -> Result<Vec<ValidTask>, Problem> {
    let ids: BTreeSet<TaskId> = records.iter().map(|record| record.id).collect();
    if ids.len() < records.len() {
        return Err(Problem::Text("two tasks have the same id".into()));
    }
    records.iter().map(|record| check(record, &ids)).collect()
}

fn check(record: &Record, ids: &BTreeSet<TaskId>) -> Result<ValidTask, Problem> {
    let said = |text: String| Err(Problem::Text(text));
    let Record { id, .. } = record;
    let unknown = record.blocked_by.iter().find(|blocker| !ids.contains(blocker));
    if let Some(unknown) = unknown {
        return said(format!("{id} is blocked by {unknown}, which is not in the file"));
    }
    if record.blocked_by.contains(id) {
        return said(format!("{id} is blocked by itself"));
    }
    let Some(status) = status(&record.status) else {
        return said(format!("{id} has the unknown status `{}`", shorten(&record.status)));
    };
    let time = |text: &str| {
        Time::parse(text)
            .ok_or_else(|| Problem::Text(format!("{id} has `{}`, which is not a time", shorten(text))))
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
    Ok(ValidTask { draft, status, created, completed })
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
    let mut done = TaskImportReport::default();
    let checked = check_all(records)?;
    // The ids in the file, and the ids here.
    let mut here: BTreeMap<TaskId, TaskId> = BTreeMap::new();
    let mut new = BTreeSet::new();
    for (record, ValidTask { draft, status, created, completed }) in records.iter().zip(checked) {
        let Record { id, .. } = record;
        // A task is recognised by its description and its day, or its exact time. Its id may have been taken here.
        let taken = here.values().copied().collect();
        if let Some(known) = find_same(db, *id, &draft.description, created, &taken)? {
            let is_updated = record.changes.is_empty() && update(db, known, &draft, status, completed, by)?;
            if is_updated {
                done.changed += 1;
            } else {
                done.present += 1;
            }
            here.insert(*id, known);
            continue;
        }
        let number = match get(db, *id) {
            Ok(_) => next_number(db)?,
            Err(Error::NoTask { .. }) => *id,
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

/// Finds the task with this description and day, best with this id.
fn find_same(
    db: &Connection,
    id: TaskId,
    description: &str,
    created: Time,
    taken: &BTreeSet<TaskId>,
) -> Result<Option<TaskId>> {
    let sql = "SELECT number, created_at FROM tasks WHERE description = $1 ORDER BY number";
    let found = db.rows(sql, [description], |row| Ok((row.get::<TaskId>(0)?, row.get::<Time>(1)?)))?;
    let same = || found.iter().filter(|(number, at)| is_same_day(*at, created) && !taken.contains(number));
    Ok(same().find(|(number, _)| *number == id).or_else(|| same().next()).map(|(number, _)| *number))
}

/// Applies what a file says about a task that only imports have changed so far. Returns whether anything changed.
fn update(
    db: &Connection,
    id: TaskId,
    draft: &Draft,
    status: Status,
    completed: Option<Time>,
    by: (&str, &str),
) -> Result<bool> {
    let known = get(db, id)?;
    let is_same = known.status == status
        && Some(known.priority) == draft.priority
        && known.milestone == draft.milestone
        && known.acceptance_criteria == draft.acceptance_criteria;
    let history = changes(db, id)?;
    if is_same || known.archived.is_some() || history.iter().any(|change| change.session != IMPORT_SESSION) {
        return Ok(false);
    }
    let sql = "UPDATE tasks SET status = $2, priority = $3, milestone = $4, accept = $5, completed_at = $6 WHERE number = $1";
    let accept = serde_json::to_string(&draft.acceptance_criteria)?;
    db.run(sql, (id, status.as_str(), draft.priority, &draft.milestone, accept, completed))?;
    if known.status != status {
        let last = history.last().map_or(known.created, |change| change.at);
        insert_change(db, id, completed.unwrap_or(last), status, by.0, by.1)?;
    }
    index::put(db, &passage(&get(db, id)?))?;
    Ok(true)
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
