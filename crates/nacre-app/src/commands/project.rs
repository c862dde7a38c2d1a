//! Projects: knowledge extracted from their files, and tasks.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use nacre::call::{Items, ItemsRequest, TaskAct, TaskRequest, TaskUpdateRequest, TasksRequest};
use nacre::project::{ExtractReport, Item, ModelOptions, ModelReport, ProjectItem};
use nacre::{Outcome, ProjectName};
use serde::Serialize;

use super::input::words_or_stdin;
use crate::args::{self, Extract, Task};
use crate::context::Context;
use crate::render::{self, Effect, Paint, Progress, count, line};

pub fn extract(context: &Context, args: &Extract) -> Result<ExitCode> {
    let (mut group, caller) = (context.group()?, context.caller());
    let mut view = group.enter(&caller)?;
    if args.forget {
        let name = args.project.as_ref().context("clap asks for it")?;
        let project = nacre::project::forget(&mut view, name)?;
        if context.global.json {
            render::json(&project)?;
        } else {
            render::out(&format!(
                "Removed `{name}`. Its folder is unchanged: {}",
                line(&project.folder, usize::MAX)
            ))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let known = nacre::project::list(&view)?;
    let folders: Vec<(std::path::PathBuf, Option<ProjectName>)> = match &args.folder {
        Some(folder) => vec![(folder.clone(), args.project.clone())],
        None => known
            .iter()
            .filter(|project| args.project.as_ref().is_none_or(|name| *name == project.name))
            .map(|project| (project.folder.clone().into(), Some(project.name.clone())))
            .collect(),
    };
    if folders.is_empty() && args.project.is_none() {
        render::note("there are no projects; `nacre extract DIR` adds one");
    }
    if let (true, Some(name)) = (folders.is_empty(), &args.project) {
        let known = known.iter().map(|project| project.name.to_string()).collect::<Vec<_>>().join(", ");
        return Err(nacre::Error::NoProject { given: name.to_string(), known }.into());
    }
    let options = ModelOptions { by: args.by, again: args.again };
    let (mut all, mut failed) = (Vec::new(), None);
    for (folder, name) in &folders {
        let what = format!("Extracting from {}", folder.to_string_lossy());
        let bar = Progress::count(context.global.json, &what, ("file", "files"), Effect::Writes);
        let done = nacre::project::extract(&mut view, folder, name.as_ref(), &mut |step| bar.show(step));
        drop(bar);
        let done = match done {
            Ok(done) => done,
            // The others are still extracted.
            Err(error) => {
                failed = failed.or(Some(error));
                continue;
            }
        };
        let what = format!("Reading {}", folder.to_string_lossy());
        let bar = Progress::count(context.global.json, &what, ("section", "sections"), Effect::Writes);
        let by_model =
            nacre::project::extract_by_model(&mut view, &done.project, options, &mut |step| bar.show(step));
        drop(bar);
        match by_model {
            Ok(model) => all.push(Extracted { by_rules: done, model }),
            Err(error) => {
                failed = failed.or(Some(error));
                all.push(Extracted { by_rules: done, model: None });
            }
        }
    }
    if let Some(error) = failed {
        // The items of the rules are stored in any case.
        if !context.global.json {
            render::out(&all.iter().map(say).collect::<String>())?;
        }
        return Err(error.into());
    }
    if context.global.json {
        // For one folder, the answer is one object.
        match (&args.folder, all.as_slice()) {
            (Some(_), [one]) => render::json(one)?,
            _ => render::json(&all)?,
        }
    } else {
        render::out(&all.iter().map(say).collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The items of a project: those of the rules, and those that a model added.
#[derive(Serialize)]
struct Extracted {
    #[serde(flatten)]
    by_rules: ExtractReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<ModelReport>,
}

fn say(Extracted { by_rules: done, model }: &Extracted) -> String {
    /// More are counted, not listed; `--json` has them all.
    const MAX_ROWS: usize = 20;
    let items =
        done.items.iter().filter(|(_, count)| **count > 0).map(|(what, count)| format!("{count} {what}"));
    let items = items.collect::<Vec<_>>().join(", ");
    let mut rows = vec![
        ("project", format!("{} ({})", done.project, line(&done.folder, usize::MAX))),
        ("items", if items.is_empty() { "none".into() } else { items }),
        ("changed", format!("{} new, {} removed", done.added, done.removed)),
        ("files", format!("{} read, {} unchanged, {} deleted", done.read, done.unchanged, done.gone)),
    ];
    let others: Vec<String> =
        done.others.iter().map(|(ending, count)| format!("{count} {}", line(ending, 20))).collect();
    if done.ignored > 0 || !others.is_empty() {
        let others =
            if others.is_empty() { String::new() } else { format!("; other kinds: {}", others.join(", ")) };
        rows.push(("skipped", format!("{} in .gitignore, hidden or linked{others}", done.ignored)));
    }
    if let Some(kept) = &done.kept {
        rows.push(("kept", format!("{kept}: the items of files that were not seen are kept")));
    }
    if let Some(model) = model {
        rows.push(("by model", say_model(model)));
    }
    for note in done.skipped.iter().take(MAX_ROWS) {
        rows.push(("skipped", format!("{} {}", line(&note.path, usize::MAX), line(&note.why, usize::MAX))));
    }
    if done.skipped.len() > MAX_ROWS {
        // The library names at most 1,000.
        let or = if done.skipped.len() >= 1_000 { " or" } else { "" };
        rows.push(("skipped", format!("and {}{or} more", done.skipped.len() - MAX_ROWS)));
    }
    let rows: Vec<(String, String)> =
        rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    render::table(&rows)
}

fn say_model(model: &ModelReport) -> String {
    let ModelReport { by, sections, unchanged, added, removed, same, refused, private, .. } = model;
    let mut text = format!(
        "{}: {} read, {unchanged} unchanged; {added} new, {removed} removed",
        line(by, 80),
        count(*sections, "section", "sections")
    );
    for (number, what) in [(same, "known already"), (refused, "refused")] {
        if *number > 0 {
            text.push_str(&format!(", {number} {what}"));
        }
    }
    if *private > 0 {
        text.push_str(&format!("; {} not sent", count(*private, "private document", "private documents")));
    }
    text
}

pub fn items(context: &Context, args: args::Items) -> Result<ExitCode> {
    // A program that reads items.json needs all items.
    const MAX_ITEMS: usize = 100_000;
    let limit = args.limit.or(context.global.json.then_some(MAX_ITEMS));
    let request =
        ItemsRequest { query: args.query.join(" "), r#type: args.r#type, project: args.project, limit };
    let reply = context.run(request)?;
    match &reply.outcome {
        // items.json does not contain the project.
        Outcome::Done(Items { items, .. }) if context.global.json => {
            let items: Vec<&Item> = items.iter().map(|of| &of.item).collect();
            render::json(&serde_json::to_value(items)?)?;
        }
        Outcome::Done(found) if !found.items.is_empty() => render::out(&list(found))?,
        _ => context.show(&reply)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(Items { items, total, .. }: &Items) -> String {
    let paint = Paint::stdout();
    let width = render::width().unwrap_or(100).saturating_sub(12);
    let mut text = String::new();
    for ProjectItem { item, project } in items {
        let file = line(&item.source_file, usize::MAX);
        let place = format!("{}: {file}:{}", line(project.as_str(), usize::MAX), item.line_number);
        // As JSON has it: a whole number keeps its decimal.
        let by = item.model.as_ref().map(|model| format!("  found by {}", line(model, 80)));
        let beside = format!(
            "{place}  {:?}  {}{}",
            item.confidence,
            line(&item.id, usize::MAX),
            by.unwrap_or_default()
        );
        text.push_str(&format!(
            "{} {}\n{:11}{}\n",
            paint.cyan(&format!("{:10}", item.r#type.as_str())),
            line(&item.content, width),
            "",
            paint.dim(&beside)
        ));
    }
    let more = total - i64::try_from(items.len()).unwrap_or(0);
    if more > 0 {
        text.push_str(&format!("{more} more; `-n` shows them\n"));
    }
    text
}

pub fn task(context: &Context, args: Task) -> Result<ExitCode> {
    let update =
        |action, id, by, milestone| context.run_and_show(TaskUpdateRequest { action, id, by, milestone });
    let simple = |action, id| update(action, Some(id), Vec::new(), None);
    match args {
        Task::Add { text, milestone, priority, accept: acceptance_criteria, blocked_by } => {
            let description = words_or_stdin(&text.words, "task add")?;
            let request = TaskRequest { description, milestone, priority, acceptance_criteria, blocked_by };
            context.run_and_show(request)
        }
        Task::List { ready, status, milestone, archived } => {
            context.run_and_show(TasksRequest { id: None, ready, status, milestone, archived })
        }
        Task::Show { id } => context.run_and_show(TasksRequest { id: Some(id), ..TasksRequest::default() }),
        Task::Start { id } => simple(TaskAct::Start, id),
        Task::Done { id } => simple(TaskAct::Done, id),
        Task::Reopen { id } => simple(TaskAct::Reopen, id),
        Task::Cancel { id } => simple(TaskAct::Cancel, id),
        Task::Block { id, by } => update(TaskAct::Block, Some(id), by, None),
        Task::Unblock { id, by } => update(TaskAct::Unblock, Some(id), by, None),
        Task::Archive { milestone } => update(TaskAct::Archive, None, Vec::new(), Some(milestone)),
        Task::Import { file } => import(context, &file),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn import(context: &Context, file: &std::path::Path) -> Result<()> {
    let done = context.enter(|view| nacre::project::import_tasks(view, file))?;
    if context.global.json {
        return render::json(&serde_json::to_value(&done)?);
    }
    let changed = if done.changed > 0 { format!(", {} changed", done.changed) } else { String::new() };
    let added = render::count(done.added, "task", "tasks");
    let mut text = format!("{added} added{changed}, {} already here\n", done.present);
    for (theirs, ours) in &done.renamed {
        text.push_str(&format!("  {theirs} is {ours} here\n"));
    }
    render::out(&text)
}
