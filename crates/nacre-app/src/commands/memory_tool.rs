//! Anthropic's memory tool (`memory_20250818`): a line of JSON in, a line out, for any agent's loop. A line is the tool's input,
//! or the whole `tool_use` block; then the answer is the `tool_result` block.

use std::io::{BufRead as _, Read as _};
use std::process::ExitCode;

use anyhow::Result;
use nacre::call::MAX_REQUEST;
use nacre::{Caller, Role};
use serde::Serialize;
use serde_json::Value;

use crate::context::{self, Context};
use crate::render;
use crate::serve::compat::memory_tool::{ToolResult, refused, result};

/// Answers until standard input ends.
pub fn run(context: &Context) -> Result<ExitCode> {
    let mut group = context.group()?;
    let mut input = std::io::stdin().lock();
    loop {
        let mut line = Vec::new();
        let most = MAX_REQUEST as u64 + 1;
        if input.by_ref().take(most).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let whole = line.len() <= MAX_REQUEST;
        // The rest of a line that is too long is skipped.
        if !whole && !line.ends_with(b"\n") {
            input.skip_until(b'\n')?;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let caller = Caller {
            role: context.global.role.map_or(Role::Project, Into::into),
            visibility: context.global.visibility,
            zone: context::zone(),
            project_folder: context::working_project(),
            ..Caller::agent(context.session(), context.now())
        };
        let mut answer = |input| {
            let answer = group.enter(&caller).and_then(|mut view| result(&mut view, input));
            answer.unwrap_or_else(|error| refused(&error))
        };
        match nacre::call::parse(&line) {
            Ok(mut given) if given["type"] == "tool_use" => {
                let (result, tool_use_id) = (answer(given["input"].take()), given["id"].take());
                render::json(&Block { result, tool_use_id, r#type: "tool_result" })?;
            }
            Ok(given) => render::json(&answer(given))?,
            Err(error) => render::json(&refused(&error))?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the answer to a `tool_use` block.
#[derive(Serialize)]
struct Block {
    #[serde(flatten)]
    result: ToolResult,
    tool_use_id: Value,
    r#type: &'static str,
}
