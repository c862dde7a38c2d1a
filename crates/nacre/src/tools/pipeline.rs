//! The pipeline of every call: parse, check the schema, authorise, ask the policy, run, redact, audit.
//!
//! A call from outside arrives as a tool name and JSON arguments and leaves as an [`Answer`].

use serde_json::Value;

use super::access;
use super::call::{CallOptions, Form};
use super::conflict;
use super::dialect;
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

/// The most bytes of a request.
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

/// Returns the deepest nesting of a JSON text, counted without parsing it.
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

/// Calls a tool with a typed request. The reply is redacted.
pub fn run<R>(view: &mut View<'_>, request: R) -> Result<Reply<R::Answer>>
where
    R: Request,
    R::Answer: Redact,
{
    let tool = known(R::NAME)?;
    check(view, tool, serde_json::to_value(&request)?)?;
    reply(view, tool, |_| Ok(request))
}

/// Calls the tool of a request with JSON arguments and returns a typed reply.
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
    let calendar = view.caller().calendar();
    let mut outcome = refused(view, tool, |view| {
        access::authorise(view, tool)?;
        let request = request(view)?;
        perform(
            view,
            tool,
            request,
            CallOptions { approved: None, run_approved, form: Form::Whole, counts: true },
        )
    })?;
    let text = redact::text(&say::<R>(&outcome, &calendar)).into_owned();
    if let Outcome::Done(answer) = &mut outcome {
        answer.redact();
    }
    view.tell_answer(tool.name, &text);
    Ok(Reply { outcome, text })
}

/// Calls a tool by its name.
pub fn call(view: &mut View<'_>, name: &str, arguments: Value) -> Result<Answer> {
    call_tool(view, known(name)?, arguments)
}

/// Calls a tool.
pub fn call_tool(view: &mut View<'_>, tool: &'static Tool, arguments: Value) -> Result<Answer> {
    call_in_form(view, tool, arguments, Form::Whole)
}

/// Calls a tool for an answer in this form.
pub(super) fn call_in_form(
    view: &mut View<'_>,
    tool: &'static Tool,
    arguments: Value,
    form: Form,
) -> Result<Answer> {
    let arguments = check(view, tool, arguments)?;
    let mut answer = refused(view, tool, |view| {
        // Before the arguments are read: a caller without access learns nothing about them.
        access::authorise(view, tool)?;
        let arguments = access::own_group(view, arguments)?;
        (tool.call)(view, tool, arguments, CallOptions { approved: None, run_approved, form, counts: true })
    })?;
    redact::answer(&mut answer.data, &mut answer.text);
    view.tell_answer(tool.name, &answer.text);
    Ok(answer)
}

/// Returns the tool with this name. The error names the nearest one.
pub fn known(name: &str) -> Result<&'static Tool> {
    tool(name).ok_or_else(|| {
        let near = nearest(name, TOOLS.iter().map(|tool| tool.name));
        Error::UnknownTool { given: shorten(name), nearest: near }
    })
}

/// Records the refusal of a write.
fn refused<T>(view: &mut View<'_>, tool: &Tool, work: impl FnOnce(&mut View<'_>) -> Result<T>) -> Result<T> {
    let done = work(view);
    if let Err(error) = &done
        && tool.access != Access::Read
    {
        view.record_refusal(tool.name, error);
    }
    done
}

/// Runs a call that a person approved, as the agent that proposed it. One transaction marks the proposal and applies its write.
pub(crate) fn run_approved(
    view: &mut View<'_>,
    by: &Caller,
    name: &str,
    arguments: Value,
    number: i64,
) -> Result<()> {
    let tool = known(name)?;
    let arguments = check(view, tool, arguments)?;
    (tool.call)(
        view,
        tool,
        arguments,
        CallOptions { approved: Some((number, by)), run_approved, form: Form::Whole, counts: true },
    )?;
    // A call that changed nothing has not marked its proposal.
    match view.write(|tx| proposal::mark_approved(tx, by, number)) {
        Err(Error::AlreadyDecided { .. }) => Ok(()),
        marked => marked,
    }
}

/// Checks arguments against the published schema.
fn check(view: &View<'_>, tool: &Tool, mut arguments: Value) -> Result<Value> {
    dialect::accept(tool.name, &mut arguments);
    let unknown = if tool.compat.is_some() { Unknown::Drop } else { Unknown::Refuse };
    schema::check(tool.name, &tool.schema(view.settings()), unknown, arguments)
}

/// Approves a proposal: its write is applied. Only a person can.
pub fn approve(view: &mut View<'_>, number: i64) -> Result<Proposal> {
    let approved = proposal::approve(view, number, run_approved)?;
    conflict::of_approved(view, &approved)?;
    Ok(approved)
}

/// Records the answer that a client reports for its user, and decides by it if the settings accept that.
pub fn answered(view: &mut View<'_>, number: i64, accepted: bool) -> Result<Proposal> {
    let decided = proposal::record_client_answer(view, number, accepted, run_approved)?;
    conflict::of_approved(view, &decided)?;
    Ok(decided)
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
