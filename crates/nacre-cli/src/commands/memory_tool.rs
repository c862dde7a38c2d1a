//! Anthropic's memory tool (`memory_20250818`): a line of JSON in, a line out, for any agent's loop. A line is the tool's input,
//! or the whole `tool_use` block; then the answer is the `tool_result` block.

use std::io::{BufRead as _, Read as _};
use std::process::ExitCode;

use anyhow::Result;
use nacre::call::MAX_REQUEST;
use nacre::{Caller, Role};
use serde_json::Value;

use crate::context::{self, Context};
use crate::render;
use crate::serve::compat::memory_tool::{refused, result};

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
        // The rest of what is too long is no line of its own.
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
            ..Caller::agent(context.session(), context.now())
        };
        let mut answer = |input| result(&mut group.enter(&caller)?, input);
        let told = match nacre::call::parse(&line) {
            Ok(given) if given["type"] == "tool_use" => {
                let mut told = told(answer(given["input"].clone()));
                told["type"] = "tool_result".into();
                told["tool_use_id"] = given["id"].clone();
                told
            }
            Ok(given) => told(answer(given)),
            Err(error) => told(Err(error)),
        };
        render::out(&format!("{told}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn told(answer: nacre::Result<Value>) -> Value {
    answer.unwrap_or_else(|error| refused(&error))
}
