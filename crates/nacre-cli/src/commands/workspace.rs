//! `nacre boot`: what a session starts with.

use std::process::ExitCode;

use anyhow::Result;
use nacre::call::BootRequest;

use crate::args::Boot;
use crate::context::Context;
use crate::{plugin, render};

pub fn boot(context: &Context, args: Boot) -> Result<ExitCode> {
    let request = BootRequest { project: args.project, max_chars: args.max_chars };
    let answer = context.call("memory_boot", &request)?;
    plugin::note_brief(&answer);
    if context.global.json {
        render::json(&answer.data)?;
        return Ok(ExitCode::SUCCESS);
    }
    render::out(&answer.text)?;
    let named = |key: &str| {
        let parts = answer.data["parts"].as_array().into_iter().flatten();
        let paths = parts.filter(|part| part[key] == true).filter_map(|part| part["path"].as_str());
        paths.map(render::plain).collect::<Vec<_>>().join(", ")
    };
    let mut note = format!("about {} tokens", answer.data["tokens"]);
    for (key, paths) in [("cut", named("cut")), ("missing", named("missing"))] {
        if !paths.is_empty() {
            note.push_str(&format!("; {key}: {paths}"));
        }
    }
    render::note(&note);
    Ok(ExitCode::SUCCESS)
}
