//! `nacre stale`: memories that name something that the repository of their project no longer has.

use std::process::ExitCode;

use anyhow::Result;
use nacre::stale::{GoneThing, StaleEntry, StaleReport};

use crate::args::Stale;
use crate::context::Context;
use crate::render::{self, Progress, age, count, plain};

pub fn run(context: &Context, args: &Stale) -> Result<ExitCode> {
    match args {
        Stale::List => list(context),
        Stale::Check => check(context),
        Stale::Keep { id } => {
            let id = context.entry(id)?;
            let kept = context.enter_whole("stale keep", |view| nacre::stale::keep(view, &id))?;
            if context.global.json {
                render::json(&serde_json::json!({ "id": kept }))?;
            } else {
                render::out("The mark is gone, and stays away while the things that it names are gone.")?;
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn list(context: &Context) -> Result<ExitCode> {
    let found = context.enter(|view| nacre::stale::list(view))?;
    if context.global.json {
        render::json(&serde_json::json!({ "stale": found }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if found.is_empty() {
        render::out("No memory names something that is gone. `nacre stale check` looks again.")?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for StaleEntry { entry, things } in &found {
        let project = entry.provenance.project.as_ref().map(|name| format!(", {}", plain(name.as_str())));
        let (stored, project) = (age(context.now(), entry.provenance.timestamp), project.unwrap_or_default());
        text.push_str(&format!("[id:{}] {} ({stored}{project})\n", entry.number, plain(&entry.content)));
        for GoneThing { kind, name, successor, gone_at } in things {
            let now = successor.as_ref().map(|successor| format!("; now {}", plain(successor)));
            let (since, now) = (age(context.now(), *gone_at), now.unwrap_or_default());
            text.push_str(&format!("    {kind} {}: missed since {since}{now}\n", plain(name)));
        }
    }
    render::page(text.trim_end())?;
    let number = found[0].entry.number;
    context.hint(&format!(
        "`nacre update {number} TEXT` corrects one, `nacre delete {number}` removes it, `nacre stale keep {number}` keeps it as it is"
    ));
    Ok(ExitCode::SUCCESS)
}

fn check(context: &Context) -> Result<ExitCode> {
    let bar = Progress::busy(context.global.json, "Comparing");
    let done = context.enter_whole("stale check", nacre::stale::check);
    drop(bar);
    let done = done?;
    if context.global.json {
        render::json(&done)?;
        return Ok(ExitCode::SUCCESS);
    }
    let StaleReport { checked, stale, marked, cleared, skipped } = done;
    render::out(&format!(
        "{} compared, {stale} stale ({marked} new, {cleared} no longer)",
        count(checked, "memory", "memories")
    ))?;
    for project in skipped {
        render::note(&format!("the folder of project `{}` can't be compared now", plain(project.as_str())));
    }
    if stale > 0 {
        context.hint("`nacre stale` lists them");
    }
    Ok(ExitCode::SUCCESS)
}
