//! The steps of every call, for each type of request: decide, run, render.

use std::sync::OnceLock;

use serde::Serialize;
use serde_json::Value;

use super::call::{Call, CallOptions, Form, Mode, Stop};
use super::tool::{Access, Answer, Lens, Request, Tool};
use super::{dialect, files, schema};
use crate::base::redact;
use crate::base::{Calendar, Error, Result};
use crate::group::View;
use crate::records::workspace::policy::{self, Decision, Target};
use crate::records::workspace::proposal::{self, State};

/// The outcome of a call.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Outcome<A> {
    /// It was carried out, with this answer.
    Done(A),
    /// It waits for a person to decide.
    Waits(Waiting),
}

/// A call that waits for a person.
#[derive(Clone, Debug, Serialize)]
pub struct Waiting {
    /// The number of its proposal.
    pub proposal: i64,
    /// Pending, or denied if a person has already decided about the same call.
    #[serde(rename = "status")]
    pub state: State,
    /// Its status in words.
    pub note: String,
}

/// An outcome, and the same as a compact text.
#[derive(Clone, Debug)]
pub struct Reply<A> {
    /// The outcome.
    pub outcome: Outcome<A>,
    /// The same as a compact text, for a model or a person.
    pub text: String,
}

/// Makes the row of a request in the table of tools.
pub(super) const fn tool_for<R: Request>(access: Access, idempotent: bool) -> Tool {
    let (input, output) = (schema::input::<R>, schema::output::<R::Answer>);
    Tool {
        name: R::NAME,
        access,
        idempotent,
        people: false,
        compat: None,
        across: R::CROSSES_GROUPS,
        whole: R::NEEDS_WHOLE_GROUP,
        decides: R::ASKS_POLICY,
        typed: R::TAKES_TYPE,
        advanced: R::ADVANCED,
        replaced_by: R::REPLACED_BY,
        input,
        output,
        lean_output: R::LEAN_OUTPUT,
        call: call_as::<R>,
        made: OnceLock::new(),
    }
}

/// Calls the tool of a request with arguments that fit its schema.
fn call_as<R: Request>(
    view: &mut View<'_>,
    tool: &'static Tool,
    arguments: Value,
    options: CallOptions<'_>,
) -> Result<Answer> {
    let explain = arguments.get("explain").and_then(Value::as_bool).unwrap_or(false);
    let request: R = read(tool, arguments)?;
    let calendar = view.caller().calendar();
    let dialect = view.settings().dialect;
    let outcome = perform(view, tool, request, options)?;
    let proposal = match &outcome {
        Outcome::Done(answer) => R::proposal(answer),
        Outcome::Waits(waiting) => (waiting.state == State::Pending).then_some(waiting.proposal),
    };
    let lean = match &outcome {
        Outcome::Done(answer) if options.form == Form::Lean => {
            R::lean(answer, &Lens { calendar: &calendar, explain, dialect }).transpose()?
        }
        _ => None,
    };
    let mut data = lean.map_or_else(|| serde_json::to_value(&outcome), Ok)?;
    if options.form == Form::Lean {
        dialect::answer(dialect, &mut data);
    }
    Ok(Answer { text: say::<R>(&outcome, &calendar), data, proposal })
}

/// Returns a request as arguments, without the fields that were not given.
pub(super) fn arguments<R: Request>(request: &R) -> Result<Value> {
    let mut arguments = serde_json::to_value(request)?;
    if let Value::Object(fields) = &mut arguments {
        fields.retain(|_, value| !value.is_null());
    }
    Ok(arguments)
}

/// Reads a request from arguments that fit its schema.
pub(super) fn read<R: Request>(tool: &Tool, arguments: Value) -> Result<R> {
    serde_json::from_value(arguments).map_err(|problem| {
        // The schema checked everything except the forms of ids and times.
        Error::bad_argument(tool.name, "arguments", format!("can't be read: {problem}"))
    })
}

/// Returns an outcome as a compact text.
pub(super) fn say<R: Request>(outcome: &Outcome<R::Answer>, calendar: &Calendar) -> String {
    match outcome {
        Outcome::Done(answer) => R::say(answer, calendar),
        Outcome::Waits(waiting) => waiting.note.clone(),
    }
}

/// Carries out a request: reads at once, writes as the write policy decides.
pub(super) fn perform<R: Request>(
    view: &mut View<'_>,
    tool: &'static Tool,
    request: R,
    options: CallOptions<'_>,
) -> Result<Outcome<R::Answer>> {
    let mode = match options.approved {
        Some((number, by)) => Mode::Approved { number, by },
        None if request.only_reads() => Mode::Run,
        None => match decide(view, tool, &request)? {
            Decision::Apply => Mode::Run,
            Decision::Propose => Mode::Try,
        },
    };
    // A person approves it later, from another folder.
    let request = if matches!(mode, Mode::Try) { request.with_place(view)? } else { request };
    let arguments = matches!(mode, Mode::Try).then(|| arguments(&request)).transpose()?;
    let lost = if arguments.is_some() { request.loses(view)? } else { None };
    let (caller, name) = (view.caller(), tool.name);
    let CallOptions { run_approved, counts, .. } = options;
    let mut call = Call { caller, view: view.lend(), name, mode, marked: false, run_approved, counts };
    match request.run(&mut call) {
        Ok(answer) => Ok(Outcome::Done(answer)),
        Err(Stop::Failed(error)) => Err(error),
        Err(Stop::Waits) => propose(view, tool, &arguments.unwrap_or_default(), lost).map(Outcome::Waits),
    }
}

/// Records a call as a proposal. A write that is impossible or would change nothing never gets here.
fn propose(view: &mut View<'_>, tool: &Tool, arguments: &Value, lost: Option<String>) -> Result<Waiting> {
    let made = proposal::propose_call(view, tool.name, arguments, lost)?;
    let note = redact::text(&files::say(&made)).into_owned();
    Ok(Waiting { proposal: made.number, state: made.state, note })
}

/// Asks the write policy about a call, unless the tool asks it itself.
fn decide<R: Request>(view: &View<'_>, tool: &Tool, request: &R) -> Result<Decision> {
    let caller = view.caller();
    if !matches!(tool.access, Access::Write | Access::Destroy) || tool.decides {
        return Ok(Decision::Apply);
    }
    // An untrusted session may neither change how agents behave nor what others wrote.
    let guarded = caller.untrusted
        && (request.steers(view).unwrap_or(true) || !request.only_adds(view).unwrap_or(false));
    policy::decide(Target::Entries { guarded }, caller, view.rights(), view.settings())
}
