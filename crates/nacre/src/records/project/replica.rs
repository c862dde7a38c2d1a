//! Tasks as other machines need them: by what they say instead of their numbers. `records::sync` merges them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::task::{self, Change, Status, Task};
use crate::base::ids::TaskId;
use crate::base::{Result, Time};
use crate::index;
use crate::store::{Connection, ToSql};

/// A task or a dependency between two: its name here, what names it everywhere, its fields, and its changes of status.
pub(crate) struct ReplicaTask {
    pub(crate) local: String,
    pub(crate) key: Vec<String>,
    pub(crate) fields: BTreeMap<String, Value>,
    pub(crate) changes: BTreeMap<String, Value>,
}

/// A description never changes, so it names a task together with the time at which it was created.
fn key(created: Time, description: &str) -> Vec<String> {
    vec![created.as_millis().to_string(), description.to_owned()]
}

fn fields<const N: usize>(values: [(&str, Value); N]) -> BTreeMap<String, Value> {
    values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn get<T: serde::de::DeserializeOwned>(fields: &BTreeMap<String, Value>, name: &str) -> Option<T> {
    serde_json::from_value(fields.get(name)?.clone()).ok()
}

/// Returns all tasks.
pub(crate) fn tasks(db: &Connection) -> Result<Vec<ReplicaTask>> {
    let row = |task: Task| -> Result<ReplicaTask> {
        let changes = task::changes(db, task.id)?.into_iter().map(|change| {
            let name = format!("{} {}", change.at.as_millis(), change.status.as_str());
            Ok((name, serde_json::to_value(change)?))
        });
        Ok(ReplicaTask {
            local: task.id.0.to_string(),
            key: key(task.created, &task.description),
            fields: fields([
                ("milestone", json!(task.milestone)),
                ("priority", json!(task.priority)),
                ("status", json!(task.status.as_str())),
                ("description", json!(task.description)),
                ("accept", json!(task.acceptance_criteria)),
                ("created_at", json!(task.created)),
                ("completed_at", json!(task.completed)),
                ("archived_at", json!(task.archived)),
            ]),
            changes: changes.collect::<Result<_>>()?,
        })
    };
    task::all(db)?.into_iter().map(row).collect()
}

/// Returns which task waits for which.
pub(crate) fn blocks(db: &Connection) -> Result<Vec<ReplicaTask>> {
    let sql = "SELECT task, \"by\", one.created_at, one.description, other.created_at, other.description FROM task_blocks
        JOIN tasks AS one ON one.number = task JOIN tasks AS other ON other.number = \"by\" ORDER BY task, \"by\"";
    db.rows(sql, (), |row| {
        let (task, by): (i64, i64) = (row.get(0)?, row.get(1)?);
        let names = [key(row.get(2)?, row.text(3)?), key(row.get(4)?, row.text(5)?)];
        Ok(ReplicaTask {
            local: format!("{task} {by}"),
            key: names.concat(),
            fields: fields([("task", json!(names[0])), ("by", json!(names[1]))]),
            changes: BTreeMap::new(),
        })
    })
}

/// Writes a task. Returns its number, unless the fields are not those of a task.
pub(crate) fn put_task(
    db: &Connection,
    number: Option<i64>,
    values: &BTreeMap<String, Value>,
    changes: &BTreeMap<String, Value>,
) -> Result<Option<i64>> {
    let (Some(description), Some(created), Some(priority), Some(status)) = (
        get::<String>(values, "description"),
        get::<Time>(values, "created_at"),
        get::<i64>(values, "priority"),
        get::<String>(values, "status").filter(|status| Status::of_name(status).is_some()),
    ) else {
        return Ok(None);
    };
    let milestone: Option<String> = get(values, "milestone").flatten();
    let accept = serde_json::to_string(&get::<Vec<String>>(values, "accept").unwrap_or_default())?;
    let (completed, archived): (Option<Time>, Option<Time>) =
        (get(values, "completed_at").flatten(), get(values, "archived_at").flatten());
    let number = match number {
        Some(number) => Some(number),
        None => find(db, created, &description)?,
    };
    let number: i64 = match number {
        Some(number) => {
            let sql = "UPDATE tasks SET milestone = $2, priority = $3, status = $4, accept = $5, completed_at = $6, archived_at = $7
                WHERE number = $1";
            db.run(sql, (number, milestone, priority, status, accept, completed, archived))?;
            number
        }
        None => {
            let sql = "INSERT INTO tasks (milestone, priority, status, description, accept, created_at, completed_at, archived_at)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING number";
            let values: [&dyn ToSql; 8] =
                [&milestone, &priority, &status, &description, &accept, &created, &completed, &archived];
            db.one(sql, values, |row| row.get(0))?
        }
    };
    let id = TaskId(number);
    let known = task::changes(db, id)?;
    let mut new: Vec<Change> =
        changes.values().filter_map(|change| serde_json::from_value(change.clone()).ok()).collect();
    new.retain(|change| !known.contains(change));
    new.sort_by_key(|change| change.at);
    for Change { at, status, actor, session } in new {
        let sql = "INSERT INTO task_changes (task, at, status, actor, session) VALUES ($1, $2, $3, $4, $5)";
        db.run(sql, (id, at, status.as_str(), actor, session))?;
    }
    index::put(db, &task::passage(&task::get(db, id)?))?;
    Ok(Some(number))
}

fn find(db: &Connection, created: Time, description: &str) -> Result<Option<i64>> {
    let sql = "SELECT number FROM tasks WHERE created_at = $1 AND description = $2 ORDER BY number LIMIT 1";
    db.row(sql, (created, description), |row| row.get(0))
}

/// Writes which task waits for which. Returns its name here; `None` while one of the tasks is not here yet.
pub(crate) fn put_block(db: &Connection, values: &BTreeMap<String, Value>) -> Result<Option<String>> {
    let number = |field: &str| -> Result<Option<i64>> {
        let Some((created, description)) = get::<(String, String)>(values, field) else { return Ok(None) };
        match created.parse() {
            Ok(millis) => find(db, Time::from_millis(millis), &description),
            Err(_) => Ok(None),
        }
    };
    let (Some(task), Some(by)) = (number("task")?, number("by")?) else { return Ok(None) };
    let sql = "INSERT INTO task_blocks (task, \"by\") VALUES ($1, $2) ON CONFLICT DO NOTHING";
    db.run(sql, (task, by))?;
    Ok(Some(format!("{task} {by}")))
}

/// Lets a task not wait for another any more.
pub(crate) fn erase_block(db: &Connection, local: &str) -> Result<()> {
    let Some((task, by)) = local.split_once(' ') else { return Ok(()) };
    let numbers: [i64; 2] = [task, by].map(|number| number.parse().unwrap_or(0));
    db.run("DELETE FROM task_blocks WHERE task = $1 AND \"by\" = $2", (numbers[0], numbers[1])).map(drop)
}
