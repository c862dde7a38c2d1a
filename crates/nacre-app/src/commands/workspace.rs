//! `nacre boot`: what a session starts with.

use std::process::ExitCode;

use anyhow::Result;
use nacre::call::BootRequest;
use nacre::{BootPart, Outcome};

use crate::args::Boot;
use crate::context::Context;
use crate::{plugin, render};

pub fn boot(context: &Context, args: Boot) -> Result<ExitCode> {
    let request = BootRequest { project: args.project, max_chars: args.max_chars };
    let reply = context.run(request)?;
    if let Outcome::Done(boot) = &reply.outcome {
        plugin::note_brief(boot.plugin.as_ref());
    }
    let Some(boot) = context.to_render(&reply)? else { return Ok(ExitCode::SUCCESS) };
    render::out(&boot.markdown)?;
    let named = |is: fn(&BootPart) -> bool| {
        let parts = boot.parts.iter().filter(|part| is(part));
        parts.map(|part| render::plain(&part.path)).collect::<Vec<_>>().join(", ")
    };
    let mut note = format!("about {} tokens", boot.tokens);
    for (what, paths) in
        [("cut", named(|part| part.cut)), ("missing or not filled in", named(|part| part.missing))]
    {
        if !paths.is_empty() {
            note.push_str(&format!("; {what}: {paths}"));
        }
    }
    render::note(&note);
    Ok(ExitCode::SUCCESS)
}
