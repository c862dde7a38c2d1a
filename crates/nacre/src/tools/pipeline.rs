//! The one way in and out: parse, schema, authorise, policy, run, redact, audit.
//!
//! Everything from outside arrives as a tool name and JSON arguments and leaves as an [`Answer`].

use serde_json::Value;

use super::access;
use super::call::Way;
use super::perform::{Outcome, Reply, perform, read, say};
use super::schema::{self, MAX_DEPTH, Unknown};
use super::table::{TOOLS, tool};
use super::tool::{Access, Answer, Request, Tool};
use crate::base::caller::Caller;
use crate::base::redact::{self, Redact};
use crate::base::text::{nearest, shorten};
use crate::base::{Error, Result};
use crate::group::View;
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

/// Calls a tool with a typed request. What comes back has no credential in it.
pub fn run<R>(view: &mut View<'_>, request: R) -> Result<Reply<R::Answer>>
where
    R: Request,
    R::Answer: Redact,
{
    let tool = known(R::NAME)?;
    check(view, tool, serde_json::to_value(&request)?)?;
    reply(view, tool, |_| Ok(request))
}

/// Calls the tool of a request with arguments that come from outside, for a caller who reads the answer's fields.
pub fn run_json<R>(view: &mut View<'_>, arguments: Value) -> Result<Reply<R::Answer>>
where
    R: Request,
    R::Answer: Redact,
{
    let tool = known(R::NAME)?;
    let arguments = check(view, tool, arguments)?;
    reply(view, tool, |view| read::<R>(tool, access::own_group(view, arguments)?))
}

fn reply<R>(
    view: &mut View<'_>,
    tool: &'static Tool,
    request: impl FnOnce(&View<'_>) -> Result<R>,
) -> Result<Reply<R::Answer>>
where
    R: Request,
    R::Answer: Redact,
{
    let now = view.now();
    let mut outcome = refused(view, tool, |view| {
        access::authorise(view, tool)?;
        let request = request(view)?;
        perform(view, tool, request, Way { approved: None, run_approved })
    })?;
    let text = redact::text(&say::<R>(&outcome, now)).into_owned();
    if let Outcome::Done(answer) = &mut outcome {
        answer.redact();
    }
    Ok(Reply { outcome, text })
}

/// Calls a tool by its name.
pub fn call(view: &mut View<'_>, name: &str, arguments: Value) -> Result<Answer> {
    call_tool(view, known(name)?, arguments)
}

/// Calls a tool that was looked up.
pub fn call_tool(view: &mut View<'_>, tool: &'static Tool, arguments: Value) -> Result<Answer> {
    let arguments = check(view, tool, arguments)?;
    let mut answer = refused(view, tool, |view| {
        // Before the arguments are read: whoever may not call hears nothing of them.
        access::authorise(view, tool)?;
        let arguments = access::own_group(view, arguments)?;
        (tool.call)(view, tool, arguments, Way { approved: None, run_approved })
    })?;
    redact::answer(&mut answer.data, &mut answer.text);
    Ok(answer)
}

/// Returns the tool of that name; the error names the nearest.
pub fn known(name: &str) -> Result<&'static Tool> {
    tool(name).ok_or_else(|| {
        let near = nearest(name, TOOLS.iter().map(|tool| tool.name));
        Error::UnknownTool { given: shorten(name), nearest: near }
    })
}

/// Puts the refusal of a write on record.
fn refused<T>(view: &mut View<'_>, tool: &Tool, work: impl FnOnce(&mut View<'_>) -> Result<T>) -> Result<T> {
    let done = work(view);
    if let Err(error) = &done
        && tool.access != Access::Read
    {
        view.record_refusal(tool.name, error);
    }
    done
}

/// Runs a call that a person approved, as the agent that proposed it. The proposal is marked in the transaction of what
/// it does: both or neither.
pub(crate) fn run_approved(
    view: &mut View<'_>,
    by: &Caller,
    name: &str,
    arguments: Value,
    number: i64,
) -> Result<()> {
    let tool = known(name)?;
    let arguments = check(view, tool, arguments)?;
    (tool.call)(view, tool, arguments, Way { approved: Some((number, by)), run_approved })?;
    // One that turned out to change nothing is done as well.
    match view.write(|tx| proposal::mark_approved(tx, by, number)) {
        Err(Error::AlreadyDecided { .. }) => Ok(()),
        marked => marked,
    }
}

/// Checks arguments against the schema that is published.
fn check(view: &View<'_>, tool: &Tool, arguments: Value) -> Result<Value> {
    let unknown = if tool.compat.is_some() { Unknown::Drop } else { Unknown::Refuse };
    schema::check(tool.name, &tool.schema(view.settings()), unknown, arguments)
}

/// Approves a proposal: what it would write is written. Only a person can.
pub fn approve(view: &mut View<'_>, number: i64) -> Result<Proposal> {
    proposal::approve(view, number, run_approved)
}

/// Notes what the person is said to have answered in their client, and decides by it where the settings accept that.
pub fn answered(view: &mut View<'_>, number: i64, accepted: bool) -> Result<Proposal> {
    proposal::record_client_answer(view, number, accepted, run_approved)
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
