//! Files of the workspace, and the changes that wait for approval.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use nacre::call::{GetAnswer, GetRequest};
use nacre::proposal::{self, Proposal, State};
use nacre::{Error, FilePath, GroupName, Kind, Outcome, View};
use serde_json::json;

use super::entry;
use crate::args::{Approve, Deny, Get, Pending, Propose};
use crate::context::Context;
use crate::render::{self, Failure, Paint, line, plain};

/// More than the limit of a workspace file, in bytes: a larger one is refused, not cut.
const MAX_INPUT_BYTES: u64 = 16 << 20;

pub fn get(context: &Context, args: &Get) -> Result<ExitCode> {
    // People name memories here too.
    if let Ok(id) = args.path.parse() {
        return entry::show(context, &id, false);
    }
    let (path, from, to) = range(&args.path);
    let request = GetRequest { path: Some(path.to_owned()), from, to, id: None };
    let mut reply = context.run(request)?;
    let is_missing = matches!(&reply.outcome, Outcome::Done(GetAnswer::File(shown)) if shown.total_lines == 0 && shown.text.is_empty());
    if is_missing && !exists(context, path)? {
        let hint = "`nacre boot` names the files of the workspace, `nacre file propose` proposes a new one";
        return Err(Failure::not_found("no_file", format!("there is no file `{path}`"), hint).into());
    }
    reply.text = reply.text.replace("\r\n", "\n");
    if context.global.json {
        context.show(&reply)?;
    } else if !reply.text.is_empty() {
        // A file keeps its lines.
        render::page(&plain(&reply.text))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Tells whether a file of the workspace exists, empty or not.
fn exists(context: &Context, path: &str) -> Result<bool> {
    Ok(context.group()?.has_file(&path.parse()?)?)
}

/// Reads `PATH:FROM-TO`. A path has no colon of its own.
fn range(text: &str) -> (&str, Option<usize>, Option<usize>) {
    let lines = |lines: &str| {
        let (from, to) = lines.split_once('-').unwrap_or((lines, lines));
        let open = to.is_empty();
        Some((from.parse::<usize>().ok()?, if open { None } else { Some(to.parse::<usize>().ok()?) }))
    };
    match text.rsplit_once(':').and_then(|(path, range)| Some((path, lines(range)?))) {
        Some((path, (from, to))) => (path, Some(from), to),
        None => (text, None, None),
    }
}

pub fn propose(context: &Context, args: &Propose) -> Result<ExitCode> {
    let path: FilePath = args.path.parse()?;
    let bytes = read(&args.from)?;
    let reason = args.reason.as_deref().unwrap_or_default();
    let made = context.enter(|view| proposal::propose(view, &path, Some(bytes), reason))?;
    show_one(context, &made)
}

fn read(from: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match from {
        "-" => std::io::stdin()
            .lock()
            .take(MAX_INPUT_BYTES)
            .read_to_end(&mut bytes)
            .context("standard input can't be read")?,
        file => super::input::check_regular(Path::new(file))
            .map_or_else(
                |failure| Err(std::io::Error::other(failure.to_string())),
                |()| File::open(Path::new(file)),
            )
            .and_then(|file| file.take(MAX_INPUT_BYTES).read_to_end(&mut bytes))
            .with_context(|| format!("{file} can't be read"))?,
    };
    Ok(bytes)
}

pub fn pending(context: &Context, args: &Pending) -> Result<ExitCode> {
    if let Some(number) = args.id {
        return show(context, number);
    }
    let proposals = context.enter(|view| proposal::list(view, args.all))?;
    if context.global.json {
        render::json(&json!({ "proposals": proposals }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if proposals.is_empty() {
        render::out("Nothing waits for your approval.")?;
        return Ok(ExitCode::SUCCESS);
    }
    let paint = Paint::stdout();
    let text: String = proposals.iter().map(|proposal| head(proposal, context.now(), paint)).collect();
    render::out(&text)?;
    context.hint(
        "`nacre pending ID` shows a change, `nacre approve ID…` applies it, `nacre deny ID…` rejects it",
    );
    Ok(ExitCode::SUCCESS)
}

pub fn show(context: &Context, number: i64) -> Result<ExitCode> {
    show_one(context, &context.enter(|view| proposal::get(view, number))?)
}

fn show_one(context: &Context, proposal: &Proposal) -> Result<ExitCode> {
    if context.global.json {
        render::json(proposal)?;
    } else {
        let paint = Paint::stdout();
        let way = way_out(context, proposal);
        render::out(&format!("{}{}{way}", head(proposal, context.now(), paint), body(proposal, paint)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows the proposal of a memory to another group.
pub fn show_promoted(context: &Context, proposal: &Proposal, to: &GroupName) -> Result<ExitCode> {
    if context.global.json {
        render::json(proposal)?;
        return Ok(ExitCode::SUCCESS);
    }
    let paint = Paint::stdout();
    render::out(&format!("{}{}", head(proposal, context.now(), paint), body(proposal, paint)))?;
    render::note(&format!(
        "proposed in group {to}; a reviewer there decides: `nacre --group {to} approve {}`",
        proposal.number
    ));
    Ok(ExitCode::SUCCESS)
}

pub fn approve(context: &Context, args: &Approve) -> Result<ExitCode> {
    let ids = chosen(context, &args.ids, args.all, "approve")?;
    if args.rebase {
        return decide(context, &ids, "rebased", proposal::rebase);
    }
    decide(context, &ids, "approved", proposal::approve)
}

pub fn deny(context: &Context, args: &Deny) -> Result<ExitCode> {
    let ids = chosen(context, &args.ids, args.all, "deny")?;
    let reason = args.reason.as_deref().unwrap_or_default();
    decide(context, &ids, "denied", |view, id| proposal::deny(view, id, reason))
}

pub fn revert(context: &Context, id: i64) -> Result<ExitCode> {
    decide(context, &[id], "reverted", proposal::revert)
}

/// Returns the changes that a person means: those they name, all, or the only one that waits.
fn chosen(context: &Context, named: &[i64], all: bool, verb: &str) -> Result<Vec<i64>> {
    if !named.is_empty() {
        return Ok(named.to_owned());
    }
    let waiting: Vec<i64> =
        context.enter(|view| proposal::list(view, false))?.iter().map(|one| one.number).collect();
    let hint = match waiting.len() {
        0 => "`nacre pending --all` lists the changes that were decided".to_owned(),
        1 => return Ok(waiting),
        _ if all => return Ok(waiting),
        _ => format!(
            "name them, such as `nacre {verb} {}`, or add `--all`; `nacre pending` lists them",
            waiting[0]
        ),
    };
    let message = match waiting.len() {
        0 => "nothing waits for your approval".to_owned(),
        several => format!("{several} changes wait"),
    };
    Err(Failure::invalid("no_change_named", message, &hint).into())
}

/// Decides each in turn. A failure of one does not stop the others.
fn decide(
    context: &Context,
    ids: &[i64],
    done: &str,
    act: impl Fn(&mut View<'_>, i64) -> nacre::Result<Proposal>,
) -> Result<ExitCode> {
    let (mut group, caller, paint) = (context.group()?, context.caller(), Paint::stdout());
    let mut view = group.enter(&caller)?;
    let (mut decided, mut failed, mut worst) = (Vec::new(), Vec::new(), None::<Kind>);
    for id in ids {
        match act(&mut view, *id) {
            Ok(proposal) => {
                if !context.global.json {
                    let shown = match proposal.state {
                        State::Denied => String::new(),
                        _ => body(&proposal, paint),
                    };
                    render::out(&format!(
                        "{} {id}: {}\n{shown}",
                        paint.bold(done),
                        line(&proposal.target, 100)
                    ))?;
                }
                decided.push(proposal);
            }
            Err(error) if ids.len() == 1 && !matches!(error, Error::ProposalConflict { .. }) => {
                return Err(error.into());
            }
            Err(error) => {
                worst = worst.or(Some(error.kind()));
                if let (Error::ProposalConflict { .. }, false) = (&error, context.global.json) {
                    let conflict = proposal::get(&mut view, *id)?;
                    render::out(&body(&conflict, paint))?;
                }
                failed.push(json!({ "number": id, "code": error.code(), "message": error.to_string(), "hint": error.hint() }));
                if !context.global.json {
                    render::error(&error.into(), false);
                }
            }
        }
    }
    if context.global.json {
        let mut answer = json!({ "proposals": decided });
        if !failed.is_empty() {
            answer["failed"] = failed.into();
        }
        render::json(&answer)?;
    }
    Ok(worst.map_or(ExitCode::SUCCESS, render::exit_code))
}

/// A proposal on one line, and its reason on the next.
fn head(proposal: &Proposal, now: nacre::Time, paint: Paint) -> String {
    let Proposal { number, target, lines: [into, out], actor, .. } = proposal;
    let days = match now.whole_days_since(proposal.at) {
        0 => "today".to_owned(),
        days => format!("{days}d ago"),
    };
    let state = match (proposal.state, proposal.conflict, proposal.client.as_deref()) {
        (State::Pending, true, _) => paint.red("  conflict: the file has changed since"),
        (State::Pending, false, Some(said)) => paint.dim(&format!("  (a client says: {})", plain(said))),
        (State::Pending, false, None) => String::new(),
        (state, ..) => paint.dim(&format!("  {}", state.as_str())),
    };
    let private = if proposal.private { paint.dim(" private") } else { String::new() };
    let mut text = format!(
        "{} {}  {} {}  {}{private}{state}\n",
        paint.bold(&format!("{number:>4}")),
        line(target, 100),
        paint.green(&format!("+{into}")),
        paint.red(&format!("-{out}")),
        paint.dim(&format!("by {} ({days})", plain(actor))),
    );
    for (what, said) in [("why", &proposal.reason), ("denied", &proposal.answer)] {
        if !said.is_empty() {
            text.push_str(&format!("     {what}: {}\n", line(said, 300)));
        }
    }
    if !proposal.sources.is_empty() {
        text.push_str(&format!("     from: {}\n", line(&proposal.sources.join(", "), 300)));
    }
    text
}

/// Renders the change, and the conflict if there is one.
fn body(proposal: &Proposal, paint: Paint) -> String {
    let mut text = render::diff(&proposal.diff, paint);
    if let Some(since) = &proposal.since {
        text.push_str(&format!("\n{}\n", paint.bold("changes in the file since then:")));
        text.push_str(&render::diff(since, paint));
    }
    text
}

/// Says what a person can do about a conflict.
fn way_out(context: &Context, proposal: &Proposal) -> String {
    let Proposal { number, target, mergeable, .. } = proposal;
    if proposal.since.is_none() || context.is_agent() {
        return String::new();
    }
    let conflict = Error::ProposalConflict { number: *number, path: target.clone(), mergeable: *mergeable };
    let hint = conflict.hint().unwrap_or_default();
    format!("\n{hint}\n")
}
