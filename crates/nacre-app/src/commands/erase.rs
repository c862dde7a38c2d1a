//! `delete`, `forget` and `quarantine`: what leaves the memory for good, or until it is brought back.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use anyhow::Result;
use nacre::call::{
    DeleteRequest, ForgetAnswer, ForgetRequest, GetAnswer, GetRequest, QuarantineRequest,
    RecordDeleteRequest, TraceRequest,
};
use nacre::{Actor, Caller, EntryRef, SessionId, Visibility};

use super::entry;
use crate::args::{Delete, EntryName, Forget, Quarantine, RecordName};
use crate::context::Context;
use crate::render::{self, plain};

/// Deletes memories. At a terminal it shows each text and asks.
pub fn delete(context: &Context, args: &Delete) -> Result<ExitCode> {
    let memories: Option<Vec<&EntryName>> = args
        .ids
        .iter()
        .map(|id| match id {
            RecordName::Memory(name) => Some(name),
            RecordName::Other(_) => None,
        })
        .collect();
    let Some(memories) = memories else { return delete_records(context, args) };
    let ids = memories.into_iter().map(|id| context.entry(id)).collect::<Result<Vec<EntryRef>>>()?;
    let is_asked = !args.yes && !context.global.json && std::io::stdin().is_terminal();
    if is_asked {
        for id in &ids {
            let GetAnswer::Entry(found) =
                context.ask(GetRequest { id: Some(id.clone()), ..GetRequest::default() })?
            else {
                continue;
            };
            let nacre::Entry { number, content, .. } = &found.entry;
            render::out(&render::flow(&format!("[id:{number}] {}", plain(content))))?;
        }
        let question = match ids.len() {
            1 => "Delete this memory permanently, with its history?".to_owned(),
            many => format!("Delete these {many} memories permanently, with their history?"),
        };
        if render::ask(&question)? != Some(true) {
            render::note("nothing was deleted");
            return Ok(ExitCode::SUCCESS);
        }
    }
    if !context.global.json && nacre::sync::is_on(context.home.path(), &context.global.group) {
        context.hint(
            "`nacre sync` sends the deletion; `nacre sync status --deleted ID` shows where it has arrived",
        );
    }
    // If one name is wrong, nothing is deleted.
    let mut copies = Vec::new();
    for id in &ids {
        let found = context.ask(GetRequest { id: Some(id.clone()), ..GetRequest::default() })?;
        if let GetAnswer::Entry(found) = found {
            copies.push(found.entry.id.to_string());
        }
    }
    if let [id] = &ids[..] {
        let code = entry::run(context, DeleteRequest { id: id.clone(), history: args.history })?;
        delete_copies(context, &copies, args.history);
        return Ok(code);
    }
    let mut deleted = Vec::new();
    for id in ids {
        let mut reply = context.run(DeleteRequest { id, history: args.history })?;
        if context.global.json {
            deleted.push(serde_json::to_value(&reply.outcome)?);
        } else {
            reply.text = context.for_people(&reply.text);
            context.show(&reply)?;
        }
    }
    if context.global.json {
        render::json(&deleted)?;
    }
    delete_copies(context, &copies, args.history);
    Ok(ExitCode::SUCCESS)
}

/// Deletes the copies of memories that an export brought into other groups of this home. They have the same id.
fn delete_copies(context: &Context, ids: &[String], history: bool) {
    let caller = context.caller();
    if ids.is_empty() || caller.actor != Actor::Person || caller.visibility != Visibility::Private {
        return;
    }
    let others = context.home.groups().unwrap_or_default();
    for name in others.iter().filter(|name| **name != context.global.group) {
        let deleted = || -> nacre::Result<usize> {
            let mut group = context.home.group(name, context.now())?;
            let mut view = group.enter(&caller)?;
            let mut count = 0;
            for id in ids {
                let is_there = GetRequest { id: Some(id.parse()?), ..GetRequest::default() };
                if nacre::run(&mut view, is_there).is_ok() {
                    nacre::run(&mut view, DeleteRequest { id: id.parse()?, history })?;
                    count += 1;
                }
            }
            Ok(count)
        };
        match deleted() {
            Ok(count) if count == 0 || context.global.json => {}
            Ok(count) => {
                let copies = render::count(count, "copy", "copies");
                render::note(&format!("{copies} in the group `{name}` deleted too"));
            }
            Err(problem) => {
                render::note(&format!("copies in the group `{name}` may be left: {problem}"));
            }
        }
    }
}

/// Deletes records of any kind. At a terminal it shows each and asks.
fn delete_records(context: &Context, args: &Delete) -> Result<ExitCode> {
    let mut ids = Vec::new();
    for id in &args.ids {
        ids.push(match id {
            RecordName::Memory(name) => match context.entry(name)? {
                EntryRef::Number(number) => number.to_string(),
                EntryRef::Id(id) => id.to_string(),
            },
            RecordName::Other(id) => id.clone(),
        });
    }
    if !args.yes && !context.global.json && std::io::stdin().is_terminal() {
        for id in &ids {
            let trace = context.ask(TraceRequest { id: id.clone() })?;
            let derived = trace.connected.iter().filter(|one| one.how == "derived").count();
            let derived = if derived > 0 { format!(" ({derived} derived from it)") } else { String::new() };
            render::out(&render::flow(&format!(
                "{} {}{derived} {}",
                trace.kind,
                plain(id),
                plain(&trace.text)
            )))?;
        }
        if render::ask("Delete this permanently, with what was derived from it?")? != Some(true) {
            render::note("nothing was deleted");
            return Ok(ExitCode::SUCCESS);
        }
    }
    entry::run(context, RecordDeleteRequest { ids })
}

/// Finds everything that contains a matter, shows it, and deletes it after a confirmation.
pub fn forget(context: &Context, args: &Forget) -> Result<ExitCode> {
    if let [word] = &args.words[..]
        && word.parse::<EntryName>().is_ok()
    {
        let ids = vec![RecordName::Memory(word.parse()?)];
        return delete(context, &Delete { ids, history: false, yes: args.yes });
    }
    let matter = args.words.join(" ");
    if !args.yes {
        let request = ForgetRequest { matter: matter.clone(), confirm: false };
        let reply = context.run(request)?;
        let Some(ForgetAnswer { found, .. }) = context.to_render(&reply)? else {
            return Ok(ExitCode::SUCCESS);
        };
        render::out(&render::flow(&context.for_people(&plain(&reply.text))))?;
        if found.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        if !std::io::stdin().is_terminal() {
            render::note("run it again with --yes to delete all of this");
            return Ok(ExitCode::SUCCESS);
        }
        let count = render::count(found.len(), "record", "records");
        if render::ask(&format!("Delete these {count} permanently, with what was derived from them?"))?
            != Some(true)
        {
            render::note("nothing was deleted");
            return Ok(ExitCode::SUCCESS);
        }
    }
    let found = context.ask(ForgetRequest { matter: matter.clone(), confirm: false })?.found;
    let code = entry::run(context, ForgetRequest { matter: matter.clone(), confirm: true })?;
    let copies: Vec<String> =
        found.into_iter().filter(|one| one.kind == "memory").map(|one| one.id).collect();
    delete_copies(context, &copies, false);
    name_other_groups(context, &matter);
    Ok(code)
}

/// Names the other groups that contain a matter. Each is a memory of its own, so that they are forgotten one by one.
fn name_other_groups(context: &Context, matter: &str) {
    let caller = context.caller();
    if context.global.json || caller.actor != Actor::Person || caller.visibility != Visibility::Private {
        return;
    }
    for name in context.home.groups().unwrap_or_default() {
        let request = ForgetRequest { matter: matter.to_owned(), confirm: false };
        let found = context
            .home
            .group(&name, context.now())
            .and_then(|mut group| nacre::run(&mut group.enter(&caller)?, request));
        if let Ok(reply) = found
            && let nacre::Outcome::Done(answer) = &reply.outcome
            && !answer.found.is_empty()
            && name != context.global.group
        {
            let count = render::count(answer.found.len(), "record", "records");
            render::note(&format!(
                "the group `{name}` has {count} of it; run the command with `--group {name}`"
            ));
        }
    }
}

/// Quarantines, lifts a quarantine, or lists what is quarantined.
pub fn quarantine(context: &Context, args: Quarantine) -> Result<ExitCode> {
    let Quarantine { source, token, undo } = args;
    // `--session` names the session to quarantine, not the one of this call.
    let named = context.given_session().filter(|_| source.is_none() && token.is_none());
    let session = named.map(ToString::to_string);
    let caller = Caller { session: SessionId::new(context.now()), ..context.caller() };
    let request = QuarantineRequest { session, source, token, undo };
    let mut reply = nacre::run(&mut context.group()?.enter(&caller)?, request)?;
    reply.text = context.for_people(&reply.text);
    context.show(&reply)?;
    Ok(ExitCode::SUCCESS)
}
