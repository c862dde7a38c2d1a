//! Groups: list, add, remove.

use std::process::ExitCode;

use anyhow::Result;
use nacre::{GroupName, Kind};
use serde_json::json;

use crate::args::GroupVerb;
use crate::context::Context;
use crate::render::{self, Failure, Paint, count};

pub fn run(context: &Context, verb: &GroupVerb) -> Result<ExitCode> {
    match verb {
        GroupVerb::List => list(context),
        GroupVerb::Add { name } => add(context, name),
        GroupVerb::Remove { name, yes } => remove(context, name, *yes),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn list(context: &Context) -> Result<()> {
    let groups = context.home.groups()?;
    let current = &context.global.group;
    if context.global.json {
        let groups: Vec<_> =
            groups.iter().map(|name| json!({ "name": name, "current": name == current })).collect();
        return render::json(&json!({ "groups": groups }));
    }
    if groups.is_empty() {
        return render::out("There are no groups yet; the first `nacre store` creates `main`.");
    }
    let paint = Paint::stdout();
    let mut text = String::new();
    for name in &groups {
        let entries = entries(context, name)
            .map_or_else(|_| "can't be read".into(), |found| count(found, "memory", "memories"));
        let mark = if name == current { " (current)" } else { "" };
        text.push_str(&format!("{}  {entries}{mark}\n", paint.bold(name.as_str())));
    }
    render::out(&text)
}

/// Counts the current memories of a group.
fn entries(context: &Context, name: &GroupName) -> Result<i64> {
    let mut group = context.home.group(name, context.now())?;
    let caller = context.caller();
    Ok(nacre::status(&group.enter(&caller)?)?.entries.current)
}

fn add(context: &Context, name: &GroupName) -> Result<()> {
    if context.home.groups()?.contains(name) {
        let message = format!("there is a group `{name}` already");
        return Err(Failure { kind: Kind::Conflict, code: "group_exists", message, hint: None }.into());
    }
    context.home.create()?;
    let mut group = context.home.group(name, context.now())?;
    group.enter(&context.caller())?.create()?;
    if context.global.json {
        return render::json(&json!({ "added": name }));
    }
    render::out(&format!("Created group `{name}`. `nacre --group {name} store TEXT` stores a memory in it."))
}

fn remove(context: &Context, name: &GroupName, yes: bool) -> Result<()> {
    if !context.home.groups()?.contains(name) {
        let hint = "`nacre group list` shows the groups";
        return Err(Failure::not_found("no_group", format!("there is no group `{name}`"), hint).into());
    }
    if !yes {
        let entries = entries(context, name)
            .map_or_else(|_| "what it remembers".into(), |found| count(found, "memory", "memories"));
        let question = format!("Delete group `{name}` permanently, with {entries} and its files?");
        match render::ask(&question)? {
            Some(true) => {}
            Some(false) => {
                render::note("nothing was deleted");
                return Ok(());
            }
            None => {
                let message = "`--yes` is missing, and there is no terminal to ask".to_owned();
                let hint =
                    format!("`nacre group remove {name} --yes` deletes it and everything it remembers");
                return Err(Failure::invalid("needs_yes", message, &hint).into());
            }
        }
    }
    context.home.remove_group(name)?;
    if context.global.json {
        return render::json(&json!({ "removed": name }));
    }
    render::out(&format!("Deleted group `{name}`."))
}
