//! The tools of projects: items to read, tasks to read and write. Only a person can add a project, on the command line.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{Call, ToolResult};
use super::limits::Action;
use super::tool::Request;
use crate::base::frame::one_line;
use crate::base::ids::{ProjectName, TaskId};
use crate::base::redact::redact;
use crate::base::{Calendar, Error, Result};
use crate::group::View;
use crate::index::Scope;
use crate::records::project::live::LiveFile;
use crate::records::project::task::{self, Draft, Filter, TaskAuthor};
use crate::records::project::{Change, ItemType, ProjectItem, Status, Task, item};
use crate::search;

/// The most items of one answer.
const MAX_ITEMS: usize = 100_000;

/// List items extracted from a project's documents and code: entities, claims, tasks, decisions and notes, with file and line.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ItemsRequest {
    /// Search words; without them the items come by file and line.
    #[serde(default)]
    #[schemars(length(max = 2000))]
    pub query: String,
    /// Only this type.
    pub r#type: Option<ItemType>,
    /// Only this project.
    pub project: Option<ProjectName>,
    /// Default 50.
    #[schemars(range(min = 1, max = 100_000))]
    pub limit: Option<usize>,
}

/// The items of a group's projects.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Items {
    /// By project, file and line; for a query, best first.
    pub items: Vec<ProjectItem>,
    /// How many there are; for a query, how many are shown.
    pub total: i64,
    /// Retrievers that are unavailable.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

redact! { Items { items, missing / total } }

impl Request for ItemsRequest {
    type Answer = Items;
    const NAME: &str = "item_list";

    fn run(self, call: &mut Call<'_>) -> ToolResult<Items> {
        let problem = call.follow_live(LiveFile::Items)?;
        let limit = self.limit.unwrap_or(50);
        let filter = item::Filter { r#type: self.r#type, project: self.project };
        if self.query.trim().is_empty() {
            let (items, total) = call.read(|db| item::list(db, &filter, limit))?;
            let project = filter.project.as_ref().map_or("items", |name| name.as_str());
            call.view().tell_read("items", project, items.len());
            return Ok(Items { items, total, missing: problem.into_iter().collect() });
        }
        if let Some(project) = &filter.project {
            call.read(|db| crate::records::project::known(db, project))?;
        }
        let now = call.caller.now;
        // The fields that a hit lacks are read from its row.
        let filtered = filter.r#type.is_some() || filter.project.is_some();
        let request = search::Request {
            query: self.query.clone(),
            scope: vec![Scope::Items],
            limit: if filtered { MAX_ITEMS } else { limit.saturating_mul(2) },
            at: now,
            ..Default::default()
        };
        let found = search::search(call.view(), &request)?;
        let fits = |of: &ProjectItem| {
            filter.r#type.is_none_or(|wanted| wanted == of.item.r#type)
                && filter.project.as_ref().is_none_or(|wanted| *wanted == of.project)
        };
        let mut items = Vec::new();
        call.read(|db| {
            for hit in found.hits.iter().filter(|hit| hit.item.is_some()) {
                items.extend(item::get(db, &hit.id)?.filter(fits));
                if items.len() >= limit {
                    break;
                }
            }
            Ok(())
        })?;
        let total = i64::try_from(items.len()).unwrap_or(i64::MAX);
        call.view().tell_search(&self.query, items.len());
        let missing = found.missing.into_iter().chain(problem).collect();
        Ok(Items { items, total, missing })
    }

    fn say(answer: &Items, _: &Calendar) -> String {
        let mut text = String::new();
        for missing in &answer.missing {
            let _ = writeln!(text, "Missing: {missing}.");
        }
        if answer.items.is_empty() {
            return text + "No items match.";
        }
        for ProjectItem { item, project } in &answer.items {
            let (place, kind) = (one_line(&item.source_file), item.r#type.as_str());
            let content = one_line(&item.content);
            let _ = writeln!(text, "[{project}: {place}:{}] [{kind}] {content}", item.line_number);
        }
        let more = answer.total - i64::try_from(answer.items.len()).unwrap_or(0);
        if more > 0 {
            let _ = write!(text, "{more} more.");
        }
        text.truncate(text.trim_end().len());
        text
    }
}

/// List tasks: started ones, pending ones by priority and age, then finished ones. With an id: one task and its history.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TasksRequest {
    /// Only this task, with its history.
    pub id: Option<TaskId>,
    /// Only tasks that can be started: pending and not blocked.
    #[serde(default)]
    pub ready: bool,
    /// Only tasks with this status.
    pub status: Option<Status>,
    /// Only this milestone.
    pub milestone: Option<String>,
    /// Archived tasks instead.
    #[serde(default)]
    pub archived: bool,
}

/// Tasks of a group.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Tasks {
    /// Started ones first, then by priority and age.
    pub tasks: Vec<TaskAnswer>,
    /// Why an edit of tasks.json is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub missing: Option<String>,
}

/// A task, with its history if the request names it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct TaskAnswer {
    #[serde(flatten)]
    #[expect(missing_docs)]
    pub task: Task,
    /// Every change of its status, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Change>,
}

redact! {
    Tasks { tasks, missing }
    TaskAnswer { task, history }
}

impl Request for TasksRequest {
    type Answer = Tasks;
    const NAME: &str = "task_list";

    fn run(self, call: &mut Call<'_>) -> ToolResult<Tasks> {
        let missing = call.follow_live(LiveFile::Tasks)?;
        let filter = Filter {
            ready: self.ready,
            status: self.status,
            milestone: self.milestone,
            archived: self.archived,
        };
        let tasks = call.read(|db| match self.id {
            Some(id) => Ok(vec![TaskAnswer { task: task::get(db, id)?, history: task::changes(db, id)? }]),
            None => {
                let tasks = task::list(db, &filter)?;
                Ok(tasks.into_iter().map(|task| TaskAnswer { task, history: Vec::new() }).collect())
            }
        })?;
        Ok(Tasks { tasks, missing })
    }

    fn say(answer: &Tasks, _: &Calendar) -> String {
        let mut text = answer
            .missing
            .iter()
            .map(|missing| format!("Missing: {}.\n", one_line(missing)))
            .collect::<String>();
        if answer.tasks.is_empty() {
            return text + "No tasks match.";
        }
        for TaskAnswer { task, history } in &answer.tasks {
            let _ = writeln!(text, "{}", say_task(task));
            if !history.is_empty() {
                for criterion in &task.acceptance_criteria {
                    let _ = writeln!(text, "  accepted when: {}", one_line(criterion));
                }
            }
            for Change { at, status, actor, session } in history {
                let _ = writeln!(text, "  {at} {} by {actor} in {session}", status.as_str());
            }
        }
        text.truncate(text.trim_end().len());
        text
    }
}

fn say_task(task: &Task) -> String {
    let mut text =
        format!("[{}] {} p{} {}", task.id, task.status.as_str(), task.priority, one_line(&task.description));
    if let Some(milestone) = &task.milestone {
        let _ = write!(text, " ({})", one_line(milestone));
    }
    if !task.blocked_by.is_empty() {
        let by: Vec<String> = task.blocked_by.iter().map(ToString::to_string).collect();
        let _ = write!(text, " after {}", by.join(", "));
    }
    if task.archived.is_some() {
        text.push_str(" archived");
    }
    text
}

/// Add a task.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskRequest {
    /// The task.
    #[schemars(length(min = 1, max = 2000))]
    pub description: String,
    /// The milestone, such as M1.
    pub milestone: Option<String>,
    /// Lowest first; default 5.
    #[schemars(range(min = 0, max = 1000))]
    pub priority: Option<i64>,
    /// Acceptance criteria.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptance_criteria: Vec<String>,
    /// Tasks that must be finished first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<TaskId>,
}

impl Request for TaskRequest {
    type Answer = TaskAnswer;
    const NAME: &str = "task_add";

    fn only_adds(&self, _: &View<'_>) -> Result<bool> {
        Ok(true)
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<TaskAnswer> {
        let draft = Draft {
            description: self.description,
            milestone: self.milestone,
            priority: self.priority,
            acceptance_criteria: self.acceptance_criteria,
            blocked_by: self.blocked_by,
        };
        let caller = call.caller;
        call.follow_live(LiveFile::Tasks)?;
        let shown = call.write(|write| {
            let task = task::add(write.db, by(caller), draft)?;
            write.spend(Action::Store)?;
            write.record(&task.id, "chars", task.description.chars().count());
            Ok(TaskAnswer { history: task::changes(write.db, task.id)?, task })
        })?;
        call.follow_live(LiveFile::Tasks)?;
        let delta = shown.task.description.chars().count();
        call.view().tell_write("task", &shown.task.id.to_string(), delta);
        Ok(shown)
    }

    fn say(answer: &TaskAnswer, _: &Calendar) -> String {
        format!("Added {}", say_task(&answer.task))
    }
}

fn by(caller: &crate::base::caller::Caller) -> TaskAuthor<'_> {
    TaskAuthor { now: caller.now, actor: caller.actor_name(), session: caller.session.as_str() }
}

/// An action on a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "verbs")]
pub enum TaskAct {
    Start,
    Done,
    Reopen,
    Cancel,
    Block,
    Unblock,
    Archive,
}

/// Start, finish, reopen, cancel, block or unblock a task, or archive a milestone.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskUpdateRequest {
    /// The action.
    pub action: TaskAct,
    /// The task; not for archive.
    pub id: Option<TaskId>,
    /// For block and unblock: the tasks it waits for. Without them, unblock removes all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<TaskId>,
    /// For archive: the milestone. All its tasks must be done or cancelled.
    pub milestone: Option<String>,
}

/// The result of an action on tasks.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TaskUpdateAnswer {
    /// The task after the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub task: Option<Task>,
    /// The archived tasks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub archived: Vec<TaskId>,
    /// Whether the status changed.
    pub changed: bool,
}

redact! { TaskUpdateAnswer { task / archived, changed } }

impl Request for TaskUpdateRequest {
    type Answer = TaskUpdateAnswer;
    const NAME: &str = "task_update";

    fn run(self, call: &mut Call<'_>) -> ToolResult<TaskUpdateAnswer> {
        let missing = |field: &str, problem: &str| Error::bad_argument("task_update", field, problem);
        let TaskUpdateRequest { action, id, by: blockers, milestone } = self;
        let caller = call.caller;
        call.follow_live(LiveFile::Tasks)?;
        if action == TaskAct::Archive {
            let milestone =
                milestone.ok_or_else(|| missing("milestone", "is missing; `archive` needs it"))?;
            let archived = call.write(|write| {
                let archived = task::archive(write.db, caller.now, &milestone)?;
                archived.iter().for_each(|id| write.record(id, "archived", 1));
                Ok(archived)
            })?;
            call.follow_live(LiveFile::Tasks)?;
            for id in &archived {
                call.view().tell_write("task", &id.to_string(), 0);
            }
            return Ok(TaskUpdateAnswer { task: None, archived, changed: true });
        }
        let id = id.ok_or_else(|| missing("id", "is missing; every action but `archive` needs it"))?;
        if action == TaskAct::Block && blockers.is_empty() {
            return Err(missing("by", "is missing; `block` needs it").into());
        }
        let (task, changed) = call.write(|write| {
            let to = |status| task::set_status(write.db, by(caller), id, status);
            let (task, changed) = match action {
                TaskAct::Start => to(Status::InProgress)?,
                TaskAct::Done => to(Status::Done)?,
                TaskAct::Reopen => to(Status::Pending)?,
                TaskAct::Cancel => to(Status::Cancelled)?,
                TaskAct::Block => task::block(write.db, id, &blockers)?,
                TaskAct::Unblock => task::unblock(write.db, id, &blockers)?,
                TaskAct::Archive => unreachable!("done above"),
            };
            if changed {
                write.record(&id, "status", task.status.as_str());
            } else {
                write.unchanged();
            }
            Ok((task, changed))
        })?;
        if changed {
            call.follow_live(LiveFile::Tasks)?;
            call.view().tell_write("task", &id.to_string(), 0);
        }
        Ok(TaskUpdateAnswer { task: Some(task), archived: Vec::new(), changed })
    }

    fn say(answer: &TaskUpdateAnswer, _: &Calendar) -> String {
        let mut text = answer.task.as_ref().map(say_task).unwrap_or_default();
        if !answer.archived.is_empty() {
            let ids: Vec<String> = answer.archived.iter().map(ToString::to_string).collect();
            let _ = write!(text, "Archived {}", ids.join(", "));
        }
        if !answer.changed {
            text.push_str("; it already had this status");
        }
        text
    }
}
