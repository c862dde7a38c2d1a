//! Checkpoints: the files and records of a group, kept to go back to.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use nacre::diff::Diff;
use nacre::{CheckpointDiff, Rows};

use crate::args::Checkpoint;
use crate::context::Context;
use crate::render::{self, Paint, line};

pub fn run(context: &Context, args: Checkpoint) -> Result<ExitCode> {
    match args {
        Checkpoint::Save { name, reason } => save(context, &name, &reason),
        Checkpoint::List => list(context),
        Checkpoint::Diff { id } => {
            let diff = context.enter_whole("checkpoint diff", |view| nacre::checkpoint::diff(view, &id))?;
            match context.global.json {
                true => render::json(&diff)?,
                false => render::out(&shown(&diff, false))?,
            }
            Ok(ExitCode::SUCCESS)
        }
        Checkpoint::Restore { id, yes } => restore(context, &id, yes),
        Checkpoint::Drop { id } => {
            let id = context.enter_whole("checkpoint drop", |view| nacre::checkpoint::remove(view, &id))?;
            match context.global.json {
                true => render::json(&serde_json::json!({ "dropped": id }))?,
                false => render::out(&format!("Dropped {id}."))?,
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn save(context: &Context, name: &str, reason: &str) -> Result<ExitCode> {
    let saved = context.enter(|view| nacre::checkpoint::save(view, name, reason))?;
    if context.global.json {
        render::json(&saved)?;
        return Ok(ExitCode::SUCCESS);
    }
    let entries = saved.counts.get("entries").copied().unwrap_or(0);
    let mut text = format!("Saved {}: {} files, {entries} entries.\n", saved.id, saved.files.len());
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
        let files = checkpoint.files.len();
        let _ = write!(text, "{}  {files} files, {entries} entries", checkpoint.id);
        if !checkpoint.reason.is_empty() {
            let _ = write!(text, "  {}", line(&checkpoint.reason, 100));
        }
        text.push('\n');
    }
    for note in &found.damaged {
        let _ = writeln!(text, "{}  {}", line(&note.path, 80), line(&note.why, 120));
    }
    if text.is_empty() {
        text.push_str("There are no checkpoints; `nacre checkpoint save` makes one.");
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
                render::out(&format!("{text}\nNothing was changed; `--yes` goes back to {}.", diff.id))?;
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let done = nacre::checkpoint::restore(&mut view, id)?;
    if context.global.json {
        render::json(&done)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("Restored {}: {} files changed, {} records.\n", done.id, done.files, done.rows);
    for path in &done.left {
        let _ = writeln!(text, "{} was changed meanwhile and is as it was left.", line(path, 100));
    }
    let _ = write!(text, "`nacre checkpoint restore {} --yes` undoes it.", done.before);
    render::out(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// What has changed since, or, turned round, what going back will do.
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
        text.push_str("Everything is as it was.\n");
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
