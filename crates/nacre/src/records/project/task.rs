//! Tasks: what to do, in what order, and what depends on what. A status changes only on request, and every
//! change is recorded with its author and time.
//!
//! A task is a passage too, like an item, because people search for tasks in words: "is there a task about
//! locking?". Cancelled and archived tasks are left out of searches.

mod file;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::ids::TaskId;
use crate::base::named::named;
use crate::base::redact::redact;
use crate::base::text::shorten;
use crate::base::{Error, Result, Time};
use crate::index::{self, Passage};
use crate::store::{Connection, Row};

pub use file::TaskImportReport;
pub(crate) use file::{IMPORT_SESSION, TaskRecords, apply, as_file, count, import};

/// The kind of a task's passage.
pub(crate) const KIND: &str = "task";
/// The default priority of a task; the lowest number comes first.
pub(crate) const DEFAULT_PRIORITY: i64 = 5;
const MAX_PRIORITY: i64 = 1_000;
/// The maximum number of characters of a description, a criterion and a milestone, and the maximum number of
/// criteria and blockers.
const MAX_DESCRIPTION_CHARS: usize = 2_000;
const MAX_CRITERION_CHARS: usize = 500;
const MAX_MILESTONE_CHARS: usize = 100;
const MAX_CRITERIA: usize = 100;

named! {
    /// The status of a task.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[expect(missing_docs, reason = "the names explain themselves")]
    pub enum Status {
        Pending = "pending",
        InProgress = "in_progress",
        Done = "done",
        Cancelled = "cancelled",
    }
}

impl Status {
    /// Tells whether there is work left.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Status::Pending | Status::InProgress)
    }
}

/// One task.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the field names explain themselves")]
pub struct Task {
    pub id: TaskId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milestone: Option<String>,
    /// The lowest number comes first.
    pub priority: i64,
    pub status: Status,
    pub description: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub acceptance_criteria: Vec<String>,
    pub created: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed: Option<Time>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<TaskId>,
    /// Whether it is pending and no open task blocks it.
    pub ready: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived: Option<Time>,
}

/// A change of a task's status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "when, what and who")]
pub struct Change {
    pub at: Time,
    pub status: Status,
    /// `person` or `agent`.
    pub actor: String,
    pub session: String,
}

redact! {
    Task {
        milestone, description, acceptance_criteria
        / id, priority, status, created, completed, blocked_by, ready, archived
    }
    Change { actor, session / at, status }
}

/// The author and the time of a write.
#[derive(Clone, Copy)]
pub(crate) struct TaskAuthor<'a> {
    pub(crate) now: Time,
    pub(crate) actor: &'a str,
    pub(crate) session: &'a str,
}

/// A task to create.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub(crate) description: String,
    pub(crate) milestone: Option<String>,
    pub(crate) priority: Option<i64>,
    pub(crate) acceptance_criteria: Vec<String>,
    pub(crate) blocked_by: Vec<TaskId>,
}

/// Selects tasks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) ready: bool,
    pub(crate) status: Option<Status>,
    pub(crate) milestone: Option<String>,
    pub(crate) archived: bool,
}

/// Adds a task.
pub(crate) fn add(db: &Connection, by: TaskAuthor<'_>, draft: Draft) -> Result<Task> {
    let draft = checked(draft)?;
    expect_known(db, &draft.blocked_by)?;
    for blocker in &draft.blocked_by {
        changeable(db, *blocker)?;
    }
    let sql = "INSERT INTO tasks (milestone, priority, status, description, accept, created_at)
        VALUES ($1, $2, 'pending', $3, $4, $5) RETURNING number";
    let accept = serde_json::to_string(&draft.acceptance_criteria)?;
    let priority = draft.priority.unwrap_or(DEFAULT_PRIORITY);
    let fields = (&draft.milestone, priority, &draft.description, accept, by.now);
    let id: TaskId = db.one(sql, fields, |row| row.get(0))?;
    for blocker in draft.blocked_by {
        insert_block(db, id, blocker)?;
    }
    note_change(db, id, Status::Pending, by)?;
    let task = get(db, id)?;
    index::put(db, &passage(&task))?;
    Ok(task)
}

/// Checks a task from outside, and trims its texts.
fn checked(mut draft: Draft) -> Result<Draft> {
    let bad = |problem: String| Err(Error::BadTask { problem });
    draft.description = draft.description.trim().to_owned();
    let length = draft.description.chars().count();
    if length == 0 {
        return bad("a task needs a description".into());
    }
    if length > MAX_DESCRIPTION_CHARS {
        return bad(format!("the description has {length} characters; the limit is {MAX_DESCRIPTION_CHARS}"));
    }
    draft.milestone = draft.milestone.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    if let Some(name) = &draft.milestone
        && (name.chars().count() > MAX_MILESTONE_CHARS || name.chars().any(char::is_control))
    {
        return bad(format!(
            "milestone `{}` is not 1 to {MAX_MILESTONE_CHARS} characters on one line",
            shorten(name)
        ));
    }
    if let Some(priority) = draft.priority.filter(|priority| !(0..=MAX_PRIORITY).contains(priority)) {
        return bad(format!("priority {priority} is not 0 to {MAX_PRIORITY}"));
    }
    for criterion in &mut draft.acceptance_criteria {
        *criterion = criterion.trim().to_owned();
        let length = criterion.chars().count();
        if !(1..=MAX_CRITERION_CHARS).contains(&length) {
            return bad(format!(
                "an acceptance criterion has {length} characters; 1 to {MAX_CRITERION_CHARS} are allowed"
            ));
        }
    }
    let most = draft.acceptance_criteria.len().max(draft.blocked_by.len());
    if most > MAX_CRITERIA {
        return bad(format!(
            "{most} given; a task has at most {MAX_CRITERIA} acceptance criteria and {MAX_CRITERIA} blockers"
        ));
    }
    Ok(draft)
}

const COLUMNS: &str = "SELECT number, milestone, priority, status, description, accept, created_at, completed_at, archived_at FROM tasks";

fn of_row(row: &Row<'_>) -> Result<Task> {
    Ok(Task {
        id: row.get(0)?,
        milestone: row.get(1)?,
        priority: row.get(2)?,
        status: Status::of_name(row.text(3)?).unwrap_or(Status::Pending),
        description: row.get(4)?,
        acceptance_criteria: serde_json::from_str(row.text(5)?).unwrap_or_default(),
        created: row.get(6)?,
        completed: row.get(7)?,
        archived: row.get(8)?,
        blocked_by: Vec::new(),
        ready: false,
    })
}

/// Adds the data from other tables.
fn filled(db: &Connection, mut task: Task) -> Result<Task> {
    task.blocked_by = blockers(db, task.id)?;
    task.ready =
        task.status == Status::Pending && task.archived.is_none() && open_blockers(db, task.id)?.is_empty();
    Ok(task)
}

/// Returns a task that must exist.
pub(crate) fn get(db: &Connection, id: TaskId) -> Result<Task> {
    let found = db.row(&format!("{COLUMNS} WHERE number = $1"), [id], of_row)?;
    filled(db, found.ok_or_else(|| Error::NoTask { given: vec![id] })?)
}

/// Lists tasks: active ones, then pending ones by priority and age, then finished ones.
pub(crate) fn list(db: &Connection, filter: &Filter) -> Result<Vec<Task>> {
    let sql = format!(
        "{COLUMNS} WHERE (archived_at IS NOT NULL) = $1 AND (status = $2 OR $2 IS NULL) AND (milestone = $3 OR $3 IS NULL)
         ORDER BY CASE status WHEN 'in_progress' THEN 0 WHEN 'pending' THEN 1 ELSE 2 END, priority, created_at, number"
    );
    let status = filter.status.map(Status::as_str);
    let mut tasks = Vec::new();
    for task in db.rows(&sql, (filter.archived, status, &filter.milestone), of_row)? {
        let task = filled(db, task)?;
        if task.ready || !filter.ready {
            tasks.push(task);
        }
    }
    Ok(tasks)
}

/// Returns all tasks.
pub(super) fn all(db: &Connection) -> Result<Vec<Task>> {
    db.rows(&format!("{COLUMNS} ORDER BY number"), (), of_row)
}

/// Deletes a task permanently, with its history.
pub(crate) fn remove(db: &Connection, id: TaskId) -> Result<Task> {
    let task = get(db, id)?;
    index::remove(db, KIND, &id.to_string())?;
    db.run("DELETE FROM task_blocks WHERE task = $1 OR \"by\" = $1", [id])?;
    db.run("DELETE FROM task_changes WHERE task = $1", [id])?;
    db.run("DELETE FROM tasks WHERE number = $1", [id])?;
    Ok(task)
}

/// Returns every change of a task's status, oldest first.
pub(crate) fn changes(db: &Connection, id: TaskId) -> Result<Vec<Change>> {
    let sql = "SELECT at, status, actor, session FROM task_changes WHERE task = $1 ORDER BY number";
    db.rows(sql, [id], |row| {
        let status = Status::of_name(row.text(1)?).unwrap_or(Status::Pending);
        Ok(Change { at: row.get(0)?, status, actor: row.get(2)?, session: row.get(3)? })
    })
}

/// Changes a task's status. Returns whether it changed.
pub(crate) fn set_status(
    db: &Connection,
    by: TaskAuthor<'_>,
    id: TaskId,
    status: Status,
) -> Result<(Task, bool)> {
    let task = changeable(db, id)?;
    if task.status == status {
        return Ok((task, false));
    }
    // A finished task must be reopened before another change.
    if !task.status.is_open() && status != Status::Pending {
        return Err(Error::TaskStatus { id, status: task.status.as_str() });
    }
    if matches!(status, Status::InProgress | Status::Done) {
        let open = open_blockers(db, id)?;
        if !open.is_empty() {
            return Err(Error::Blocked { id, by: open });
        }
    }
    let completed = (status == Status::Done).then_some(by.now);
    let sql = "UPDATE tasks SET status = $2, completed_at = $3 WHERE number = $1";
    db.run(sql, (id, status.as_str(), completed))?;
    note_change(db, id, status, by)?;
    index::set_live(db, KIND, &id.to_string(), status != Status::Cancelled)?;
    Ok((get(db, id)?, true))
}

fn note_change(db: &Connection, id: TaskId, status: Status, by: TaskAuthor<'_>) -> Result<()> {
    insert_change(db, id, by.now, status, by.actor, by.session)
}

fn insert_change(
    db: &Connection,
    id: TaskId,
    at: Time,
    status: Status,
    actor: &str,
    session: &str,
) -> Result<()> {
    let sql = "INSERT INTO task_changes (task, at, status, actor, session) VALUES ($1, $2, $3, $4, $5)";
    db.run(sql, (id, at, status.as_str(), actor, session)).map(drop)
}

/// Makes other tasks block a task. Returns whether anything changed.
pub(crate) fn block(db: &Connection, id: TaskId, by: &[TaskId]) -> Result<(Task, bool)> {
    let task = changeable(db, id)?;
    expect_known(db, by)?;
    let mut changed = false;
    for blocker in by {
        changeable(db, *blocker)?;
        if task.blocked_by.contains(blocker) {
            continue;
        }
        refuse_cycle(db, id, *blocker)?;
        insert_block(db, id, *blocker)?;
        changed = true;
    }
    let all = get(db, id)?;
    if all.blocked_by.len() > MAX_CRITERIA {
        return Err(Error::BadTask { problem: format!("a task can have at most {MAX_CRITERIA} blockers") });
    }
    Ok((all, changed))
}

/// Removes some or all blockers of a task. Returns whether anything changed.
pub(crate) fn unblock(db: &Connection, id: TaskId, by: &[TaskId]) -> Result<(Task, bool)> {
    let task = changeable(db, id)?;
    expect_known(db, by)?;
    let by = if by.is_empty() { &task.blocked_by } else { by };
    let mut changed = 0;
    for blocker in by {
        let sql = "DELETE FROM task_blocks WHERE task = $1 AND \"by\" = $2";
        changed += db.run(sql, (id, blocker))?;
    }
    Ok((get(db, id)?, changed > 0))
}

/// Archives the tasks of a milestone, if all of them are finished. Returns them.
pub(crate) fn archive(db: &Connection, now: Time, milestone: &str) -> Result<Vec<TaskId>> {
    let of_it = list(db, &Filter { milestone: Some(milestone.to_owned()), ..Filter::default() })?;
    if of_it.is_empty() {
        let sql = "SELECT DISTINCT milestone FROM tasks WHERE milestone IS NOT NULL AND archived_at IS NULL ORDER BY milestone";
        let names: Vec<String> = db.rows(sql, (), |row| row.get(0))?;
        return Err(Error::NoMilestone { given: shorten(milestone), known: names.join(", ") });
    }
    let open: Vec<TaskId> = of_it.iter().filter(|task| task.status.is_open()).map(|task| task.id).collect();
    if !open.is_empty() {
        return Err(Error::MilestoneOpen { milestone: milestone.to_owned(), open });
    }
    for task in &of_it {
        db.run("UPDATE tasks SET archived_at = $2 WHERE number = $1", (task.id, now))?;
        index::set_live(db, KIND, &task.id.to_string(), false)?;
    }
    Ok(of_it.into_iter().map(|task| task.id).collect())
}

/// Returns a task that is not archived.
fn changeable(db: &Connection, id: TaskId) -> Result<Task> {
    let task = get(db, id)?;
    match task.archived {
        Some(_) => Err(Error::TaskStatus { id, status: "archived" }),
        None => Ok(task),
    }
}

fn insert_block(db: &Connection, id: TaskId, by: TaskId) -> Result<()> {
    let sql = "INSERT INTO task_blocks (task, \"by\") VALUES ($1, $2) ON CONFLICT DO NOTHING";
    db.run(sql, (id, by)).map(drop)
}

fn blockers(db: &Connection, id: TaskId) -> Result<Vec<TaskId>> {
    db.rows("SELECT \"by\" FROM task_blocks WHERE task = $1 ORDER BY \"by\"", [id], |row| row.get(0))
}

/// Returns the open tasks that block a task.
fn open_blockers(db: &Connection, id: TaskId) -> Result<Vec<TaskId>> {
    let sql = "SELECT \"by\" FROM task_blocks JOIN tasks ON tasks.number = \"by\"
        WHERE task = $1 AND status IN ('pending', 'in_progress') ORDER BY \"by\"";
    db.rows(sql, [id], |row| row.get(0))
}

/// Fails if any of these tasks does not exist, and names all that are missing.
fn expect_known(db: &Connection, ids: &[TaskId]) -> Result<()> {
    let known = "SELECT EXISTS (SELECT 1 FROM tasks WHERE number = $1)";
    let mut unknown = Vec::new();
    for id in ids {
        if !db.one(known, [id], |row| row.get::<bool>(0))? {
            unknown.push(*id);
        }
    }
    if unknown.is_empty() { Ok(()) } else { Err(Error::NoTask { given: unknown }) }
}

/// Fails if one task blocks the other in both directions.
fn refuse_cycle(db: &Connection, id: TaskId, by: TaskId) -> Result<()> {
    if id == by {
        return Err(Error::SelfBlocked { id });
    }
    // Each task with the one that led to it.
    let mut led = BTreeMap::from([(by, id)]);
    let mut to_see = vec![by];
    while let Some(at) = to_see.pop() {
        for next in blockers(db, at)? {
            if next == id {
                let mut cycle = vec![id, at];
                while let Some(before) = cycle.last().and_then(|last| led.get(last)) {
                    cycle.push(*before);
                    if *before == id {
                        break;
                    }
                }
                cycle.reverse();
                return Err(Error::BlockCycle { cycle });
            }
            if let Entry::Vacant(free) = led.entry(next) {
                free.insert(at);
                to_see.push(next);
            }
        }
    }
    Ok(())
}

/// Returns the passages of all tasks, for a rebuild of the index.
pub(crate) fn passages(db: &Connection) -> Result<Vec<Passage>> {
    db.rows(&format!("{COLUMNS} ORDER BY number"), (), |row| Ok(passage(&of_row(row)?)))
}

pub(super) fn passage(task: &Task) -> Passage {
    let mut text = task.description.clone();
    for criterion in &task.acceptance_criteria {
        text.push('\n');
        text.push_str(criterion);
    }
    Passage {
        title: format!("task {} {}", task.id, task.milestone.as_deref().unwrap_or_default()),
        live: task.status != Status::Cancelled && task.archived.is_none(),
        ..Passage::new(KIND, task.id.to_string(), text, task.created)
    }
}
