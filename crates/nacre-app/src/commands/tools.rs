//! Tools by their own names, with JSON: for programs, and to see what an agent sees.

use std::process::ExitCode;

use anyhow::Result;
use nacre::call::HandoverRequest;
use nacre::{COMPAT_TOOLS, Form, TOOLS};
use serde_json::json;

use super::input::text_or_stdin;
use crate::args::{Call, Handover};
use crate::context::Context;
use crate::render;

pub fn call(context: &Context, args: &Call) -> Result<ExitCode> {
    let Some(tool) = &args.tool else {
        return list(context);
    };
    let arguments = nacre::call::parse(text_or_stdin(&args.arguments)?.as_bytes())?;
    let answer = context.enter(|view| {
        nacre::call_across(&context.home, view, nacre::call::known(tool)?, arguments, Form::Whole)
    })?;
    if context.global.json {
        render::json(&answer.data)?
    } else {
        render::out(&render::plain(&answer.text))?
    }
    Ok(ExitCode::SUCCESS)
}

pub fn handover(context: &Context, args: Handover) -> Result<ExitCode> {
    let Handover { to, action, queries, context: about, max_tokens } = args;
    let request = HandoverRequest { to, action, queries, context: about, max_tokens };
    let message = serde_json::to_value(context.ask(request)?)?;
    match context.global.json {
        true => render::json(&message)?,
        false => render::out(&render::plain(&serde_json::to_string_pretty(&message)?))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(context: &Context) -> Result<ExitCode> {
    let settings = context.home.settings();
    let compat = COMPAT_TOOLS.iter().filter(|tool| tool.is_offered(settings));
    let tools = TOOLS.iter().chain(compat);
    if context.global.json {
        let described = tools.map(|tool| {
            let (name, offered) = (tool.name, tool.is_offered(settings));
            let (input, output) = (tool.input_schema(settings), tool.output_schema());
            json!({ "name": name, "offered": offered, "input": input, "output": output })
        });
        render::json(&described.collect::<Vec<_>>())?;
    } else {
        let rows = tools.map(|tool| {
            let hidden = match tool.is_offered(settings) {
                true => "",
                false => " (not offered to agents by this profile)",
            };
            let description = render::line(tool.description(), usize::MAX);
            (tool.name.to_owned(), format!("{description}{hidden}"))
        });
        render::page(&render::table(&rows.collect::<Vec<_>>()))?;
    }
    Ok(ExitCode::SUCCESS)
}
