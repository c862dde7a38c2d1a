//! The one way in and out: parse, schema, authorise, policy, run, redact, audit.
//!
//! Everything from outside arrives as a tool name and JSON arguments and leaves as an [`Answer`].

use serde_json::Value;

use super::call::{Call, Mode};
use super::schema::{self, MAX_DEPTH, Unknown};
use super::table::{TOOLS, tool};
use super::tool::{Access, Answer, Tool};
use super::{access, files};
use crate::base::caller::{Actor, Caller, Visibility};
use crate::base::redact;
use crate::base::text::nearest;
use crate::base::{Error, Result};
use crate::group::Group;
use crate::records::workspace::policy::{self, Decision, Target};
use crate::records::workspace::proposal::{self, Proposal};

/// The most bytes of a request that are read.
pub const MAX_REQUEST: usize = 4 << 20;

/// Reads the arguments of a call from bytes that may hold anything.
pub fn parse(bytes: &[u8]) -> Result<Value> {
    if bytes.len() > MAX_REQUEST {
        return Err(Error::RequestTooLarge { size: bytes.len(), limit: MAX_REQUEST });
    }
    let text =
        std::str::from_utf8(bytes).map_err(|problem| Error::NotJson { problem: problem.to_string() })?;
    if deepest(text) > MAX_DEPTH {
        return Err(Error::RequestTooDeep { limit: MAX_DEPTH });
    }
    serde_json::from_str(text).map_err(|problem| Error::NotJson { problem: problem.to_string() })
}

/// The deepest nesting of a JSON text, counted without parsing it.
fn deepest(text: &str) -> usize {
    let (mut depth, mut most) = (0usize, 0usize);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                most = most.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    most
}

/// Calls a tool.
pub fn call(group: &mut Group, caller: &Caller, name: &str, arguments: Value) -> Result<Answer> {
    let Some(tool) = tool(name) else {
        let near = nearest(name, TOOLS.iter().map(|tool| tool.name));
        return Err(Error::UnknownTool { given: crate::base::text::shorten(name), nearest: near });
    };
    group.begin(caller)?;
    let answer = attempt(group, caller, tool, arguments);
    if let Err(error) = &answer
        && tool.access != Access::Read
    {
        group.record_refusal(caller, tool.name, error);
    }
    let mut answer = answer?;
    redact::answer(&mut answer.data, &mut answer.text);
    Ok(answer)
}

fn attempt(group: &mut Group, caller: &Caller, tool: &'static Tool, arguments: Value) -> Result<Answer> {
    let mut arguments = check(group, tool, arguments)?;
    if !access::may(caller.role, tool) {
        return Err(Error::RoleDenied { tool: tool.name.into(), role: caller.role.as_str() });
    }
    access::own_group(group, &mut arguments)?;
    if caller.visibility == Visibility::Shared && tool.whole {
        return Err(Error::NeedsPrivate { tool: tool.name.into() });
    }
    if tool.people && caller.actor == Actor::Agent {
        return Err(Error::PeopleOnly { tool: tool.name.into() });
    }
    if caller.actor == Actor::Agent && !tool.is_offered(group.settings()) {
        let profile = group.settings().profile.clone();
        return Err(Error::NotOffered { tool: tool.name.into(), profile });
    }
    gate(group, caller, tool, arguments)
}

/// Runs a tool that the caller may use: reads at once, writes as the policy has it (W5).
fn gate(group: &mut Group, caller: &Caller, tool: &'static Tool, arguments: Value) -> Result<Answer> {
    let decision = match target(group, tool, caller, &arguments) {
        Some(target) => policy::decide(target, caller, group.settings())?,
        None => Decision::Apply,
    };
    if decision == Decision::Apply {
        return (tool.run)(&mut under_way(group, caller, tool, Mode::Run), arguments);
    }
    // What could not be done, or would change nothing, is not for a person to decide about.
    match (tool.run)(&mut under_way(group, caller, tool, Mode::Try), arguments.clone()) {
        Err(Error::Waits) => Ok(files::waiting(&proposal::make_call(group, caller, tool.name, &arguments)?)),
        tried => tried,
    }
}

/// What a call of a tool is about to change; `None`: nothing, or what the tool itself decides about.
fn target(group: &Group, tool: &Tool, caller: &Caller, arguments: &Value) -> Option<Target<'static>> {
    if !matches!(tool.access, Access::Write | Access::Destroy) || tool.decides {
        return None;
    }
    // Only of an untrusted session it matters.
    Some(Target::Entries { behavioral: caller.untrusted && (tool.steers)(group, arguments) })
}

/// Runs a call that a person approved, as the agent that proposed it. The proposal is marked in the transaction of what
/// it does: both or neither.
pub(crate) fn run_approved(
    group: &mut Group,
    agent: &Caller,
    by: &Caller,
    name: &str,
    arguments: Value,
    number: i64,
) -> Result<()> {
    let Some(tool) = tool(name) else {
        return Err(Error::UnknownTool { given: crate::base::text::shorten(name), nearest: None });
    };
    let arguments = check(group, tool, arguments)?;
    group.begin(agent)?;
    (tool.run)(&mut under_way(group, agent, tool, Mode::Approved { number, by }), arguments)?;
    // One that turned out to change nothing is done as well.
    match group.write(by.now, |tx| proposal::approved(tx, by, number)) {
        Err(Error::AlreadyDecided { .. }) => Ok(()),
        marked => marked,
    }
}

/// Checks arguments against the schema that is published.
fn check(group: &Group, tool: &Tool, arguments: Value) -> Result<Value> {
    let unknown = if tool.compat.is_some() { Unknown::Drop } else { Unknown::Refuse };
    schema::check(tool.name, &tool.schema(group.settings()), unknown, arguments)
}

fn under_way<'a>(group: &'a mut Group, caller: &'a Caller, tool: &Tool, mode: Mode<'a>) -> Call<'a> {
    Call { group, caller, name: tool.name, mode, marked: false, run_approved }
}

/// Approves a proposal: what it would write is written. Only a person can.
pub fn approve(group: &mut Group, caller: &Caller, number: i64) -> Result<Proposal> {
    proposal::approve(group, caller, number, run_approved)
}

/// Notes what the person is said to have answered in their client, and decides by it where the settings accept that.
pub fn answered(group: &mut Group, caller: &Caller, number: i64, accepted: bool) -> Result<Proposal> {
    proposal::answered(group, caller, number, accepted, run_approved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_outside_strings() {
        for (text, depth) in
            [("1", 0), ("[]", 1), (r#"{"a":[{}]}"#, 3), (r#""[[[""#, 0), (r#"["\"[[",[]]"#, 2), ("]]][", 1)]
        {
            assert_eq!(deepest(text), depth, "{text}");
        }
    }

    #[test]
    fn hostile_bytes_get_a_clear_error() {
        assert_eq!(parse(&[b'['; 1000]).unwrap_err().code(), "request_too_deep");
        assert_eq!(parse(&vec![b' '; MAX_REQUEST + 1]).unwrap_err().code(), "request_too_large");
        assert_eq!(parse(b"{\"a\": \"\xff\"}").unwrap_err().code(), "not_json");
        assert_eq!(parse(b"{\"a\": ").unwrap_err().code(), "not_json");
    }
}
