//! Tools by their own names, with JSON: for programs, and to see what an agent sees.

use std::process::ExitCode;

use anyhow::Result;
use nacre::call::HandoverRequest;
use nacre::{COMPAT_TOOLS, TOOLS};
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
    let answer = context.enter(|view| nacre::call_across(&context.home, view, tool, arguments))?;
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
    let answer = context.call("skill_handover", &request)?;
    match context.global.json {
        true => render::json(&answer.data)?,
        false => render::out(&render::plain(&serde_json::to_string_pretty(&answer.data)?))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(context: &Context) -> Result<ExitCode> {
    let settings = context.home.settings();
    let compat = COMPAT_TOOLS.iter().filter(|tool| tool.is_offered(settings));
    let described = TOOLS.iter().chain(compat).map(|tool| {
        let input = tool.input_schema(settings);
        let offered = tool.is_offered(settings);
        json!({ "name": tool.name, "offered": offered, "input": input, "output": tool.output_schema() })
    });
    if context.global.json {
        render::json(&described.collect::<Vec<_>>())?;
    } else {
        let rows: Vec<(String, String)> = described
            .map(|tool| {
                let about = tool["input"]["description"]
                    .as_str()
                    .unwrap_or_default()
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                let hidden =
                    if tool["offered"] == true { "" } else { " (not offered to agents by this profile)" };
                (tool["name"].as_str().unwrap_or_default().to_owned(), format!("{about}{hidden}"))
            })
            .collect();
        render::out(&render::table(&rows))?;
    }
    Ok(ExitCode::SUCCESS)
}
