//! `delete`, `forget` and `quarantine`: what leaves the memory for good, or until it is brought back.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use anyhow::Result;
use nacre::call::{
    DeleteRequest, ForgetAnswer, ForgetRequest, GetAnswer, GetRequest, QuarantineRequest,
    RecordDeleteRequest, TraceRequest,
};
use nacre::{Caller, EntryRef, SessionId};

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
    if let [id] = &ids[..] {
        return entry::run(context, DeleteRequest { id: id.clone(), history: args.history });
    }
    // If one name is wrong, nothing is deleted.
    for id in &ids {
        context.ask(GetRequest { id: Some(id.clone()), ..GetRequest::default() })?;
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
    Ok(ExitCode::SUCCESS)
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
    entry::run(context, ForgetRequest { matter, confirm: true })
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
