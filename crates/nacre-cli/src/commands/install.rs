//! `nacre install CLIENT`: writes the MCP server and the hooks into a client's own settings, for this user.
//! `nacre uninstall` puts a file back as it was: to the byte where nothing else has changed since, else by taking our part
//! out.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::args::{Clients, Global};
use crate::clients::{CLIENTS, Change, Client, Machine, Program};
use crate::render::Paint;
use crate::{context, render};

pub fn run(global: &Global, args: &Clients, undo: bool) -> Result<ExitCode> {
    let program = running_program(global)?;
    if let Some(setting) = context::loosened_by(global)?.filter(|_| !undo) {
        render::note(&format!(
            "agents get the `{setting}` of nacre.toml: flags and profiles can't loosen it; change it there"
        ));
    }
    let machine = Machine::this(context::user_folder()?, context::folder_in);
    let changes = |client: &Client| -> Result<Vec<Change>> {
        let change = if undo { Change::undo } else { Change::install };
        let files = client.files(&machine).into_iter();
        files.map(|(file, parts)| change(file, parts, &program)).collect()
    };
    // All files of a client are looked at before any is written: one that can't be read leaves the others alone too.
    let set_up = |client: &Client| -> Result<Vec<Change>> {
        let changes = changes(client)?;
        if !args.dry_run {
            changes.iter().try_for_each(|change| change.write(undo))?;
        }
        Ok(changes)
    };
    if let [client] = args.clients[..] {
        let changes = set_up(client)?;
        if global.json {
            render::json(&told(client, &changes, args.dry_run))?;
        } else {
            render::out(&said(client, &changes, args.dry_run, undo))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let here: Vec<&Client> = CLIENTS.iter().filter(|client| client.is_here(&machine)).collect();
    let chosen = match &args.clients[..] {
        [] if args.all && here.is_empty() && !global.json => {
            render::out(&none_found(undo))?;
            return Ok(ExitCode::SUCCESS);
        }
        [] if args.all => here,
        [] if global.json => {
            return list(&here, |client| Ok(changes(client)?.iter().all(Change::is_none) != undo));
        }
        [] => match ask(&here, undo, |client| Ok(changes(client)?.iter().all(Change::is_none)))? {
            Some(chosen) => chosen,
            None => return Ok(ExitCode::SUCCESS),
        },
        named => named.to_vec(),
    };
    // One that can't be set up does not keep the others from it.
    let mut code = ExitCode::SUCCESS;
    let mut all = Vec::new();
    for client in chosen {
        match set_up(client) {
            Ok(changes) if global.json => all.push(told(client, &changes, args.dry_run)),
            Ok(changes) => render::out(&said(client, &changes, args.dry_run, undo))?,
            Err(problem) => {
                all.push(json!({ "client": client.name, "error": render::message(&problem) }));
                code = render::error(&problem, false);
            }
        }
    }
    if global.json {
        render::json(&json!({ "clients": all }))?;
    }
    Ok(code)
}

/// Every client, whether it is on this machine, and whether it is set up.
fn list(here: &[&Client], is_set_up: impl Fn(&Client) -> Result<bool>) -> Result<ExitCode> {
    let clients: Vec<_> = CLIENTS
        .iter()
        .map(|client| {
            let found = here.iter().any(|other| other.name == client.name);
            let set_up = is_set_up(client).unwrap_or(false);
            json!({ "client": client.name, "title": client.title, "found": found, "set_up": set_up })
        })
        .collect();
    render::json(&json!({ "clients": clients }))?;
    Ok(ExitCode::SUCCESS)
}

fn command(undo: bool) -> &'static str {
    if undo { "uninstall" } else { "install" }
}

fn none_found(undo: bool) -> String {
    let (command, names) = (command(undo), CLIENTS.iter().map(|client| client.name).collect::<Vec<_>>());
    let names = names.join(", ");
    format!("No agent was found on this machine. `nacre {command} CLIENT` works all the same: {names}.\n")
}

/// Says which were found and what will happen, and asks once. `None`: there is nothing to do, or nobody to ask, and the
/// person was told.
fn ask<'a>(
    here: &[&'a Client],
    undo: bool,
    is_done: impl Fn(&Client) -> Result<bool>,
) -> Result<Option<Vec<&'a Client>>> {
    let command = command(undo);
    let (done, open): (Vec<&Client>, Vec<&Client>) =
        here.iter().partition(|client| is_done(client).unwrap_or(false));
    let mut text = if here.is_empty() { none_found(undo) } else { String::new() };
    for client in done {
        let state = if undo { "without Nacre" } else { "set up" };
        text.push_str(&format!("{} is already {state}\n", client.title));
    }
    if !text.is_empty() {
        render::out(&text)?;
    }
    if open.is_empty() {
        return Ok(None);
    }
    let titles = open.iter().map(|client| client.title).collect::<Vec<_>>().join(", ");
    let about = match undo {
        true => "Nacre will be removed from their settings. The memory stays.",
        false => {
            "Nacre will add its MCP server, and hooks where the agent has them, to their settings. Conversations are then \
             kept in the data folder, on this machine only. `nacre uninstall` undoes this."
        }
    };
    render::out(&render::flow(&format!("Found: {titles}.\n{about}\n")))?;
    let question = if undo { "Disconnect all of them?" } else { "Connect all of them?" };
    match render::ask_with(question, !undo)? {
        Some(true) => Ok(Some(open)),
        Some(false) => {
            render::out(&format!(
                "Nothing was changed. `nacre {command} CLIENT` takes one: {}.",
                names(&open)
            ))?;
            Ok(None)
        }
        None => {
            let rows = open
                .iter()
                .map(|client| (format!("nacre {command} {}", client.name), client.title.to_owned()));
            let rows = rows.chain([(format!("nacre {command} --all"), "all of them".to_owned())]);
            let rows = render::table(&rows.collect::<Vec<_>>());
            render::out(&format!(
                "Nothing was changed, because there is no terminal to ask. Run one of these:\n{rows}"
            ))?;
            Ok(None)
        }
    }
}

fn names(clients: &[&Client]) -> String {
    clients.iter().map(|client| client.name).collect::<Vec<_>>().join(", ")
}

/// Returns the running binary, with the flags that were given.
pub fn running_program(global: &Global) -> Result<Program> {
    let text = |path: PathBuf| {
        path.into_os_string()
            .into_string()
            .ok()
            .context("a path that is not UTF-8 can't be written into settings")
    };
    let mut flags = Vec::new();
    if global.home.is_some() {
        flags.extend(["--home".to_owned(), text(context::home_path(global)?)?]);
    }
    if global.group.as_str() != "main" {
        flags.extend(["--group".to_owned(), global.group.to_string()]);
    }
    if let Some(profile) = &global.profile {
        flags.extend(["--profile".to_owned(), profile.clone()]);
    }
    flags.extend(global.set.iter().flat_map(|pair| ["--set".to_owned(), pair.clone()]));
    let path = std::env::current_exe().context("the running program has no path")?;
    Ok(Program { path: text(path)?, flags })
}

/// Returns the changes, for programs.
fn told(client: &Client, changes: &[Change], dry_run: bool) -> Value {
    let files: Vec<Value> = changes.iter().map(Change::json).collect();
    json!({ "client": client.name, "dry_run": dry_run, "files": files })
}

/// Returns the changes, for people.
fn said(client: &Client, changes: &[Change], dry_run: bool, undo: bool) -> String {
    if changes.iter().all(Change::is_none) {
        let state = if undo { "without Nacre" } else { "set up" };
        return format!("{} is already {state}; nothing to do\n", client.title);
    }
    let mut text = String::new();
    let manual: Vec<&str> = changes.iter().filter_map(|change| change.by_hand.as_deref()).collect();
    if !manual.is_empty() {
        text.push_str(&render::plain(&manual.concat()));
        text.push_str(match (dry_run, undo) {
            (true, _) => "Nothing was written. Without --dry-run, nothing is written either.\n",
            (false, true) => "Nothing was written.\n",
            (false, false) => "Nothing was written. `nacre uninstall` says which lines to delete again.\n",
        });
        return text;
    }
    for change in changes {
        let file = render::plain(&change.file.display().to_string());
        if dry_run {
            text.push_str(&render::diff(&change.diff(), Paint::stdout()));
        } else if change.is_none() {
            text.push_str(&format!("{file} is up to date\n"));
        } else {
            let done = if change.after.is_some() { "written" } else { "removed" };
            text.push_str(&format!("{file} {done}\n"));
        }
    }
    if dry_run {
        text.push_str("Dry run: nothing was written. Run again without --dry-run to apply.\n");
    } else if !undo {
        text.push_str(&format!("{}\n`nacre uninstall {}` undoes this.\n", client.next, client.name));
    }
    text
}
