//! Checkpoints: snapshots of the files and the database of a group.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use nacre::diff::Diff;
use nacre::{CheckpointDiff, Rows};

use crate::args::Checkpoint;
use crate::context::Context;
use crate::render::{self, Failure, Paint, Progress, line};

pub fn run(context: &Context, args: Checkpoint) -> Result<ExitCode> {
    match args {
        Checkpoint::Save { name, reason } => save(context, &name, &reason),
        Checkpoint::List => list(context),
        Checkpoint::Diff { id } => {
            let diff = context
                .enter_whole("checkpoint diff", |view| nacre::checkpoint::diff(view, &id))
                .map_err(|error| explain(context, &id, error))?;
            match context.global.json {
                true => render::json(&diff)?,
                false => render::out(&shown(&diff, false))?,
            }
            Ok(ExitCode::SUCCESS)
        }
        Checkpoint::Restore { id, yes } => {
            restore(context, &id, yes).map_err(|error| explain(context, &id, error))
        }
        Checkpoint::Remove { id } => {
            let removed =
                context.enter_whole("checkpoint remove", |view| nacre::checkpoint::remove(view, &id));
            let id = removed.map_err(|error| explain(context, &id, error))?;
            match context.global.json {
                true => render::json(&serde_json::json!({ "dropped": id }))?,
                false => render::out(&format!("Removed {id}."))?,
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Says whether a name means no checkpoint or several.
fn explain(context: &Context, given: &str, error: anyhow::Error) -> anyhow::Error {
    let Some(nacre::Error::NoCheckpoint { .. }) = error.downcast_ref() else { return error };
    let listed = context.enter_whole("checkpoint list", |view| nacre::checkpoint::list(view));
    let ids: Vec<String> = listed
        .map(|found| found.checkpoints.iter().map(|one| one.id.to_string()).collect())
        .unwrap_or_default();
    let fits = |id: &&String| id.starts_with(given) || id.ends_with(given);
    let fitting: Vec<&str> = ids.iter().filter(fits).map(String::as_str).collect();
    if fitting.len() < 2 {
        let message = format!("there is no checkpoint `{given}`");
        return Failure::not_found("no_checkpoint", message, "`nacre checkpoint list` shows them").into();
    }
    Failure {
        kind: nacre::Kind::Conflict,
        code: "many_checkpoints",
        message: format!("`{given}` is the start or end of {} checkpoints", fitting.len()),
        hint: Some(format!("give more of it: {}", fitting.join(", "))),
    }
    .into()
}

/// Says what a checkpoint holds.
fn contents(files: usize, entries: impl TryInto<i64>) -> String {
    format!("{}, {}", render::count(files, "file", "files"), render::count(entries, "entry", "entries"))
}

fn save(context: &Context, name: &str, reason: &str) -> Result<ExitCode> {
    let bar = Progress::busy(context.global.json, "Saving a checkpoint");
    let saved = context.enter(|view| nacre::checkpoint::save(view, name, reason));
    drop(bar);
    let saved = saved?;
    if context.global.json {
        render::json(&saved)?;
        return Ok(ExitCode::SUCCESS);
    }
    let entries = saved.counts.get("entries").copied().unwrap_or(0);
    let mut text = format!("Saved {}: {}.\n", saved.id, contents(saved.files.len(), entries));
    for note in &saved.left_out {
        let _ = writeln!(text, "left out: {} {}", line(&note.path, 80), line(&note.why, 120));
    }
    render::out(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn list(context: &Context) -> Result<ExitCode> {
    let found = context.enter_whole("checkpoint list", |view| nacre::checkpoint::list(view))?;
    if context.global.json {
        render::json(&found)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for checkpoint in &found.checkpoints {
        let entries = checkpoint.counts.get("entries").copied().unwrap_or(0);
        let _ = write!(text, "{}  {}", checkpoint.id, contents(checkpoint.files.len(), entries));
        if !checkpoint.reason.is_empty() {
            let _ = write!(text, "  {}", line(&checkpoint.reason, 100));
        }
        text.push('\n');
    }
    for note in &found.damaged {
        let _ = writeln!(text, "{}  {}", line(&note.path, 80), line(&note.why, 120));
    }
    if text.is_empty() {
        text.push_str("There are no checkpoints; `nacre checkpoint save` saves one.");
    }
    render::out(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn restore(context: &Context, id: &str, yes: bool) -> Result<ExitCode> {
    let (mut group, caller) = (context.whole_group("checkpoint restore")?, context.caller());
    let mut view = group.enter(&caller)?;
    if !yes {
        let diff = nacre::checkpoint::diff(&mut view, id)?;
        match context.global.json {
            true => render::json(&diff)?,
            false => {
                let text = shown(&diff, true);
                render::out(&format!(
                    "{text}\nNothing was changed. Run again with `--yes` to go back to {}.",
                    diff.id
                ))?;
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let bar = Progress::busy(context.global.json, "Restoring the checkpoint");
    let done = nacre::checkpoint::restore(&mut view, id);
    drop(bar);
    let done = done?;
    if context.global.json {
        render::json(&done)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!(
        "Restored {}: {} and {} changed.\n",
        done.id,
        render::count(done.files, "file", "files"),
        render::count(done.rows, "record", "records")
    );
    for path in &done.left {
        let _ = writeln!(text, "{} was changed meanwhile and stays unchanged.", line(path, 100));
    }
    let _ = write!(text, "`nacre checkpoint restore {} --yes` undoes it.", done.before);
    render::out(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Shows what has changed since, or, backwards, what a restore will do.
fn shown(diff: &CheckpointDiff, back: bool) -> String {
    let mut text = String::new();
    for file in &diff.files {
        let (then, now) = (file.then.as_deref(), file.now.as_deref());
        let (from, to) = if back { (now, then) } else { (then, now) };
        let diff = Diff::new(&line(&file.path, 200), from.map(str::as_bytes), to.map(str::as_bytes));
        text.push_str(&render::diff(&diff, Paint::stdout()));
    }
    for table in &diff.records {
        let (added, removed) = (&table.added, &table.removed);
        let (new, gone) = if back { (removed, added) } else { (added, removed) };
        let _ = writeln!(
            text,
            "{}: {} added, {} changed, {} removed",
            table.table, new.count, table.changed.count, gone.count
        );
        for (mark, rows) in [('+', new), ('~', &table.changed), ('-', gone)] {
            rows_shown(&mut text, mark, rows);
        }
    }
    if text.is_empty() {
        text.push_str("Nothing has changed.\n");
    }
    text
}

fn rows_shown(text: &mut String, mark: char, rows: &Rows) {
    for row in &rows.first {
        let _ = writeln!(text, "  {mark} {}", line(row, 100));
    }
    if rows.count > rows.first.len() {
        let _ = writeln!(text, "  {mark} and {} more", rows.count - rows.first.len());
    }
}
