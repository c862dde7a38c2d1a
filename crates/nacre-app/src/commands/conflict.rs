//! `nacre conflicts`: stored statements that contradict each other.

use std::process::ExitCode;

use anyhow::Result;
use nacre::Outcome;
use nacre::call::ConflictsRequest;
use nacre::call::conflict::{ComparedStatements, KeepChoice};

use super::entry;
use super::input::words_or_stdin;
use crate::args::Conflict;
use crate::context::Context;
use crate::render::{self, Effect, Progress, count};

pub fn run(context: &Context, args: Conflict) -> Result<ExitCode> {
    let settle = |number: i64| ConflictsRequest { number: Some(number), ..ConflictsRequest::default() };
    let request = match args {
        Conflict::List => return list(context),
        Conflict::Find => return find(context),
        Conflict::Keep { number, side } => ConflictsRequest { keep: Some(side.into()), ..settle(number) },
        Conflict::Both { number } => ConflictsRequest { keep: Some(KeepChoice::Both), ..settle(number) },
        Conflict::Replace { number, words } => {
            ConflictsRequest { replace: Some(words_or_stdin(&words, "conflicts replace")?), ..settle(number) }
        }
        Conflict::Undo { number } => ConflictsRequest { undo: true, ..settle(number) },
    };
    entry::run(context, request)
}

fn list(context: &Context) -> Result<ExitCode> {
    let reply = context.run(ConflictsRequest::default())?;
    context.show(&reply)?;
    if let Outcome::Done(found) = &reply.outcome
        && let Some(conflict) = found.conflicts.first()
        && !context.global.json
    {
        let number = conflict.number;
        context.hint(&format!(
            "`nacre conflicts keep {number} first`, `second` or `both` settles one, `nacre conflicts replace {number} TEXT` corrects both"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Compares everything that is stored.
fn find(context: &Context) -> Result<ExitCode> {
    let bar = Progress::count(context.global.json, "Comparing", ("statement", "statements"), Effect::Writes);
    let done = context.enter_whole("conflicts find", |view| {
        nacre::call::conflict::find(view, &mut |done, total| bar.done_of(done, total))
    });
    drop(bar);
    let done = done?;
    if context.global.json {
        render::json(&done)?;
        return Ok(ExitCode::SUCCESS);
    }
    let ComparedStatements { compared, contradicting, .. } = done;
    render::out(&format!(
        "{} compared, {contradicting} contradict another one",
        count(compared, "statement", "statements")
    ))?;
    if contradicting > 0 {
        context.hint("`nacre conflicts` lists the open conflicts");
    }
    Ok(ExitCode::SUCCESS)
}
