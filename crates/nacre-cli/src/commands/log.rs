//! `log`: what happened today, a line each.

use std::process::ExitCode;

use anyhow::Result;
use nacre::daily::{self, Draft};

use super::text_or_stdin;
use crate::args;
use crate::context::Context;
use crate::render::{self, plain};

pub fn log(context: &Context, args: &args::Log) -> Result<ExitCode> {
    let (mut group, caller, zone) = (context.group()?, context.caller(), context.home.zone());
    let Some(text) = &args.text else {
        let shown = daily::today(&group, &caller, zone)?;
        if context.global.json {
            render::json(&shown)?;
        } else if shown.text.is_empty() {
            render::note(&format!("nothing has been logged today; `nacre log TEXT` begins {}", shown.path));
        } else {
            render::out(&plain(&shown.text))?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let (category, importance) = (args.category.clone(), args.importance);
    let draft = Draft { text: text_or_stdin(text)?, category, importance };
    let done = daily::append(&mut group, &caller, zone, &draft)?;
    if context.global.json {
        render::json(&done)?;
    } else {
        let there = if done.duplicate { " (it stood there already)" } else { "" };
        render::out(&format!("{}:{} {}{there}", done.path, done.line, plain(&done.text)))?;
    }
    Ok(ExitCode::SUCCESS)
}
