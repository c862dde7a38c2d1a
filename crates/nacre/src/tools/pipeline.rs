//! The one way in and out: parse, schema, authorise, policy, run, redact, audit.
//!
//! Everything from outside arrives as a tool name and JSON arguments and leaves as an [`Answer`].

use serde::Serialize;
use serde_json::Value;

use super::call::{Call, Mode, Stop};
use super::schema::{self, MAX_DEPTH, Unknown};
use super::table::{TOOLS, tool};
use super::tool::{Access, Answer, Request, Tool};
use super::{access, files};
use crate::base::caller::Caller;
use crate::base::redact::{self, Redact};
use crate::base::text::{nearest, shorten};
use crate::base::{Error, Result, Time};
use crate::group::View;
use crate::records::workspace::policy::{self, Decision, Target};
use crate::records::workspace::proposal::{self, Proposal, State};

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

/// What a call gave.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Outcome<A> {
    /// It is done, and this is the answer.
    Done(A),
    /// It waits for a person to decide.
    Waits(Waiting),
}

/// A call that waits for a person.
#[derive(Clone, Debug, Serialize)]
pub struct Waiting {
    /// The number of its proposal.
    pub proposal: i64,
    /// Pending, or denied where a person has decided about the same before.
    #[serde(rename = "status")]
    pub state: State,
    /// How it stands, in words.
    pub note: String,
}

/// An outcome, and the same in few words.
#[derive(Clone, Debug)]
pub struct Reply<A> {
    /// What came of it.
    pub outcome: Outcome<A>,
    /// The same in few words, for a model or a person.
    pub text: String,
}

/// In which way a call is made.
#[derive(Clone, Copy)]
pub(crate) enum Way<'a> {
    /// As the write policy has it, by a caller who may.
    Asked,
    /// As a person approved it.
    Approved { number: i64, by: &'a Caller },
}

/// Calls a tool with a typed request. What comes back has no credential in it.
pub fn run<R>(view: &mut View<'_>, request: R) -> Result<Reply<R::Answer>>
where
    R: Request,
    R::Answer: Redact,
{
    let tool = known(R::NAME)?;
    check(view, tool, serde_json::to_value(&request)?)?;
    let now = view.now();
    let mut outcome = refused(view, tool, |view| {
        access::authorise(view, tool)?;
        perform(view, tool, request, Way::Asked)
    })?;
    let text = redact::text(&say::<R>(&outcome, now)).into_owned();
    if let Outcome::Done(answer) = &mut outcome {
        answer.redact();
    }
    Ok(Reply { outcome, text })
}

/// Calls a tool by its name.
pub fn call(view: &mut View<'_>, name: &str, arguments: Value) -> Result<Answer> {
    let tool = known(name)?;
    let arguments = check(view, tool, arguments)?;
    let mut answer = refused(view, tool, |view| {
        // Before the arguments are read: whoever may not call hears nothing of them.
        access::authorise(view, tool)?;
        let arguments = access::own_group(view, arguments)?;
        (tool.call)(view, tool, arguments, Way::Asked)
    })?;
    redact::answer(&mut answer.data, &mut answer.text);
    Ok(answer)
}

/// Calls the tool of a request with arguments that fit its schema.
pub(super) fn call_as<R: Request>(
    view: &mut View<'_>,
    tool: &'static Tool,
    arguments: Value,
    way: Way<'_>,
) -> Result<Answer> {
    let request: R = serde_json::from_value(arguments).map_err(|problem| {
        // The schema has been checked: what is left is an id or a time in a form that the schema can't say.
        let (tool, field) = (tool.name.into(), "arguments".into());
        Error::BadArgument { tool, field, problem: format!("can't be read: {problem}"), nearest: None }
    })?;
    let now = view.now();
    let outcome = perform(view, tool, request, way)?;
    let proposal = match &outcome {
        Outcome::Done(answer) => R::proposal(answer),
        Outcome::Waits(waiting) => (waiting.state == State::Pending).then_some(waiting.proposal),
    };
    Ok(Answer { text: say::<R>(&outcome, now), data: serde_json::to_value(&outcome)?, proposal })
}

fn say<R: Request>(outcome: &Outcome<R::Answer>, now: Time) -> String {
    match outcome {
        Outcome::Done(answer) => R::say(answer, now),
        Outcome::Waits(waiting) => waiting.note.clone(),
    }
}

fn known(name: &str) -> Result<&'static Tool> {
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

/// Does what is asked for: reads at once, writes as the policy has it (W5).
fn perform<R: Request>(
    view: &mut View<'_>,
    tool: &'static Tool,
    request: R,
    way: Way<'_>,
) -> Result<Outcome<R::Answer>> {
    let mode = match way {
        Way::Approved { number, by } => Mode::Approved { number, by },
        Way::Asked => match decide(view, tool, &request)? {
            Decision::Apply => Mode::Run,
            Decision::Propose => Mode::Try,
        },
    };
    let arguments = matches!(mode, Mode::Try).then(|| serde_json::to_value(&request)).transpose()?;
    let (caller, name) = (view.caller(), tool.name);
    let mut call = Call { caller, group: view.lend(), name, mode, marked: false, run_approved };
    match (request.run(&mut call), arguments) {
        (Ok(answer), _) => Ok(Outcome::Done(answer)),
        (Err(Stop::Failed(error)), _) => Err(error),
        // What could not be done, or would change nothing, is not for a person to decide about.
        (Err(Stop::Waits), arguments) => {
            let made = proposal::make_call(view, name, &arguments.unwrap_or_default())?;
            let (proposal, state) = (made.number, made.state);
            let note = redact::text(&files::say(&made)).into_owned();
            Ok(Outcome::Waits(Waiting { proposal, state, note }))
        }
    }
}

/// Asks the write policy about a request. What a tool decides about itself is not asked here.
fn decide<R: Request>(view: &View<'_>, tool: &Tool, request: &R) -> Result<Decision> {
    let caller = view.caller();
    if !matches!(tool.access, Access::Write | Access::Destroy) || tool.decides {
        return Ok(Decision::Apply);
    }
    // Only of an untrusted session it matters.
    let behavioral = caller.untrusted && request.steers(view).unwrap_or(false);
    policy::decide(Target::Entries { behavioral }, caller, view.settings())
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
    (tool.call)(view, tool, arguments, Way::Approved { number, by })?;
    // One that turned out to change nothing is done as well.
    match view.write(|tx| proposal::approved(tx, by, number)) {
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
pub fn approve(group: &mut View<'_>, number: i64) -> Result<Proposal> {
    proposal::approve(group, number, run_approved)
}

/// Notes what the person is said to have answered in their client, and decides by it where the settings accept that.
pub fn answered(group: &mut View<'_>, number: i64, accepted: bool) -> Result<Proposal> {
    proposal::answered(group, number, accepted, run_approved)
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
