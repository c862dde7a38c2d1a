//! `log`, `memory`, `promote` and `policy`: the daily log, MEMORY.md, and promotion between files.

use std::process::ExitCode;

use anyhow::Result;
use nacre::call::WriteRequest;
use nacre::daily::{self, Draft};
use nacre::promote::{self, Promotion, Step};
use nacre::turn;
use serde_json::json;

use super::input::words_or_pipe;
use super::proposal;
use crate::args;
use crate::context::Context;
use crate::render::{self, line, plain};

pub fn log(context: &Context, args: &args::Log) -> Result<ExitCode> {
    let (mut group, caller) = (context.group()?, context.caller());
    let mut view = group.enter(&caller)?;
    let Some(text) = words_or_pipe(&args.text)? else {
        let shown = daily::today(&view)?;
        if context.global.json {
            render::json(&shown)?;
        } else if shown.text.is_empty() {
            render::note(&format!("nothing was logged today; `nacre log TEXT` starts {}", shown.path));
        } else {
            render::out(&plain(&shown.text))?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let (category, importance) = (args.category.clone(), args.importance);
    if context.is_agent() {
        // The tool asks the write policy.
        let request = WriteRequest { content: text, category, importance, ..WriteRequest::default() };
        context.show(&nacre::run(&mut view, request)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let draft = Draft { text, category, importance };
    let done = daily::append(&mut view, &draft)?;
    let contradicts = match done.duplicate {
        true => Vec::new(),
        false => nacre::call::conflict::of_log_line(&mut view, &done.path, &done.text)?,
    };
    if context.global.json {
        let mut answer = json!(done);
        if !contradicts.is_empty() {
            answer["contradicts"] = json!(contradicts);
        }
        render::json(&answer)?;
    } else {
        let there = if done.duplicate { " (it was there already)" } else { "" };
        render::out(&format!("{}:{} {}{there}", done.path, done.line, plain(&done.text)))?;
        for one in &contradicts {
            context.hint(&format!("it contradicts [{}] {}: `nacre conflicts`", one.id, line(&one.text, 100)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub fn memory(context: &Context, args: &args::MemoryFile) -> Result<ExitCode> {
    let (mut group, caller) = (context.group()?, context.caller());
    let mut view = group.enter(&caller)?;
    nacre::workspace::sync(&mut view)?;
    let found = nacre::workspace::look_at_memory_file(&view, args.limit)?;
    if context.global.json {
        render::json(&found)?;
        return Ok(ExitCode::SUCCESS);
    }
    render::out(&format!(
        "{}: {} lines of {}, {} characters of {}",
        found.path, found.lines, found.max_lines, found.chars, found.max_chars
    ))?;
    for stale in &found.stalest {
        render::out(&format!("  {}", plain(&stale.to_string())))?;
    }
    if found.over {
        render::note("it is too long; prune it, starting with the lines above");
    }
    Ok(ExitCode::SUCCESS)
}

pub fn promote(context: &Context, args: &args::Promote) -> Result<ExitCode> {
    let (mut group, caller) = (context.group()?, context.caller());
    if let (Some(what), Some(to)) = (&args.what, &args.to) {
        let memory = context.entry(&what.parse()?)?;
        let made = nacre::team::propose_to(&context.home, &mut group.enter(&caller)?, &memory, to, &caller)?;
        return proposal::show_promoted(context, &made, to);
    }
    let mut view = group.enter(&caller)?;
    // The graph knows the lines of MEMORY.md once the file is indexed.
    nacre::workspace::sync(&mut view)?;
    let Some(step) = args.what.as_deref().map(str::parse::<Step>).transpose()? else {
        let plans = Step::ALL.iter().map(|step| promote::plan(&mut view, *step));
        let plans: Vec<Promotion> = plans.collect::<nacre::Result<_>>()?;
        if context.global.json {
            render::json(&json!({ "steps": plans }))?;
            return Ok(ExitCode::SUCCESS);
        }
        for plan in &plans {
            show(plan)?;
        }
        if plans.iter().any(|plan| !plan.lines.is_empty()) {
            context.hint(
                "`nacre file promote STEP` proposes these changes; nothing is written before you approve",
            );
        }
        return Ok(ExitCode::SUCCESS);
    };
    let done = promote::promote(&mut view, step)?;
    if context.global.json {
        render::json(&done)?;
        return Ok(ExitCode::SUCCESS);
    }
    show(&done)?;
    if !done.proposals.is_empty() {
        let numbers: Vec<String> = done.proposals.iter().map(ToString::to_string).collect();
        let numbers = numbers.join(" ");
        context.hint(&format!(
            "proposed; `nacre pending` shows the change, `nacre approve {numbers}` applies it"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn show(promotion: &Promotion) -> Result<()> {
    let Promotion { step, target, lines, .. } = promotion;
    if lines.is_empty() {
        return render::out(&format!("{step}: nothing new for {target}"));
    }
    render::out(&format!("{step}: {} for {target}", lines.len()))?;
    for line in lines {
        render::out(&format!("  {}  ({})", plain(&line.text), plain(&line.source)))?;
    }
    Ok(())
}

pub fn policies(context: &Context) -> Result<ExitCode> {
    let (mut group, caller) = (context.group()?, context.caller());
    let view = group.enter(&caller)?;
    let found = turn::policies(&view)?;
    if context.global.json {
        render::json(&found)?;
        return Ok(ExitCode::SUCCESS);
    }
    if found.policies.is_empty() {
        render::note(&format!("there is no rule in {}", found.path));
    }
    for policy in &found.policies {
        render::out(&format!("{}: {}", plain(&policy.number), plain(&policy.title)))?;
        let parts = [
            ("trigger", &policy.trigger),
            ("gate", &policy.gate),
            ("reason", &policy.reason),
            ("source", &policy.source),
        ];
        for (name, value) in parts.iter().filter(|(_, value)| !value.is_empty()) {
            render::out(&format!("  {name:8} {}", plain(value)))?;
        }
    }
    for problem in &found.problems {
        render::note(&format!("{}:{} {}", found.path, problem.line, problem.why));
    }
    Ok(ExitCode::SUCCESS)
}
