//! `nacre install CLIENT`: writes the MCP server and the hooks into a client's own settings, for this user.
//! `nacre uninstall` restores a file byte for byte if nothing else has changed since; otherwise it removes only our part.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use nacre::Settings;
use nacre::settings::Inject;
use serde_json::{Value, json};

use crate::args::{Clients, Global};
use crate::clients::{CLIENTS, Change, Client, Hooks, Machine, Program, check};
use crate::render::{Failure, Paint};
use crate::{context, render};

pub fn run(global: &Global, args: &Clients, rules: bool, undo: bool) -> Result<ExitCode> {
    let program = running_program(global)?;
    let (settings, loosened) = context::settings_for_agents(global)?;
    if let Some(setting) = loosened.filter(|_| !undo) {
        render::note(&format!(
            "agents get the `{setting}` of nacre.toml: flags and profiles can't loosen it; change it there"
        ));
    }
    let folder = context::home_path(global)?.join("groups").join(global.group.as_str());
    let machine = Machine::this(context::user_folder()?, context::folder_in);
    if let Some(client) = args.clients.iter().find(|client| rules && client.rules(&machine).is_none()) {
        let message = format!("Nacre writes no rules file for {}", client.title);
        let with_rules = CLIENTS.iter().filter(|client| client.rules(&machine).is_some()).collect::<Vec<_>>();
        let hint = format!("`--rules` works for {}", names(&with_rules));
        return Err(Failure::invalid("no_rules_file", message, &hint).into());
    }
    let changes = |client: &Client| -> Result<Vec<Change>> {
        let change = if undo { Change::undo } else { Change::install };
        let files = client.files(&machine).into_iter();
        let mut changes =
            files.map(|(file, parts)| change(file, parts, &program)).collect::<Result<Vec<_>>>()?;
        if let Some((file, parts)) = client.rules(&machine).filter(|_| rules || undo) {
            let change = change(file, parts, &program)?;
            // A rules file that was never written is not worth a line.
            if rules || !change.is_none() {
                changes.push(change);
            }
        }
        Ok(changes)
    };
    // All files of a client are read before any is written: if one can't be changed, none is.
    let set_up = |client: &Client| -> Result<Vec<Change>> {
        let changes = changes(client)?;
        if !args.dry_run {
            changes.iter().try_for_each(|change| change.write(undo))?;
        }
        Ok(changes)
    };
    let explain = |clients: &[&Client]| effects(clients, &settings, &folder);
    if let [client] = args.clients[..] {
        let changes = set_up(client)?;
        if global.json {
            render::json(&to_json(client, &changes, args.dry_run))?;
        } else {
            let effects = if undo { String::new() } else { explain(&[client]) };
            let mut text = to_text(client, &changes, &effects, args.dry_run, undo);
            if !undo {
                text.push_str(&memory_hint(client, &machine));
            }
            render::out(&text)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let here: Vec<&Client> = CLIENTS.iter().filter(|client| client.is_here(&machine)).collect();
    let chosen = match &args.clients[..] {
        [] if here.is_empty() && !global.json => return none_found(undo),
        [] if args.all => here,
        [] if global.json => {
            return list(&here, |client| Ok(changes(client)?.iter().all(Change::is_none) != undo));
        }
        [] => {
            let is_done = |client: &Client| Ok(changes(client)?.iter().all(Change::is_none));
            match ask(&here, undo, &explain, is_done)? {
                Some(chosen) => chosen,
                None => return Ok(ExitCode::SUCCESS),
            }
        }
        named => named.to_vec(),
    };
    if !undo && !global.json && (args.all || !args.clients.is_empty()) {
        render::out(&render::flow(&explain(&chosen)))?;
    }
    // If one client can't be set up, the others still are.
    let mut code = ExitCode::SUCCESS;
    let mut all = Vec::new();
    for client in chosen {
        match set_up(client) {
            Ok(changes) if global.json => all.push(to_json(client, &changes, args.dry_run)),
            Ok(changes) => {
                let mut text = to_text(client, &changes, "", args.dry_run, undo);
                if !undo {
                    text.push_str(&memory_hint(client, &machine));
                }
                render::out(&text)?;
            }
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

/// Explains in four lines what connecting these clients does: tools, context, conversations, how to undo it.
fn effects(clients: &[&Client], settings: &Settings, folder: &Path) -> String {
    let with = |kinds: &[Hooks]| -> Vec<&Client> {
        clients.iter().copied().filter(|client| kinds.contains(&client.hooks)).collect()
    };
    // Names the clients that something holds for, unless it holds for all.
    let only = |some: &[&Client]| {
        if some.len() == clients.len() { String::new() } else { format!(" ({})", titles(some)) }
    };
    let tools = nacre::TOOLS.iter().filter(|tool| !tool.people && tool.is_offered(settings)).count();
    let tools = render::count(tools, "tool", "tools");

    let at_start = settings.brief.inject == Inject::Boot || settings.boot.inject == Inject::Boot;
    let at_start = if at_start { with(&[Hooks::Full, Hooks::Start]) } else { Vec::new() };
    let at_message = if settings.turn.contributors.is_empty() { Vec::new() } else { with(&[Hooks::Full]) };
    let mut context = Vec::new();
    if !at_start.is_empty() {
        context.push(format!(
            "at the start of a session, your workspace files and a summary of what is remembered{}",
            only(&at_start)
        ));
    }
    if !at_message.is_empty() {
        context.push(format!("before a message, the few memories that fit it{}", only(&at_message)));
    }
    let context = if context.is_empty() {
        "nothing is added by itself; the agent has to call the tools".to_owned()
    } else {
        context.join("; ")
    };

    let archived = with(&[Hooks::Full, Hooks::Start, Hooks::Archive]);
    let answered = with(&[Hooks::Full, Hooks::Archive]);
    let kept = if archived.is_empty() {
        "not kept".to_owned()
    } else if !settings.turn.archive {
        "not kept, because `turn.archive` is off".to_owned()
    } else {
        let said = if answered.is_empty() { "what you write is" } else { "what you and the agent write is" };
        let folder = render::plain(&folder.display().to_string());
        format!("from now on {said} kept{} in {folder}, on this machine only", only(&archived))
    };
    let stop = if archived.is_empty() || !settings.turn.archive {
        ""
    } else {
        "; `nacre config set turn.archive false` only stops keeping conversations"
    };
    let undo = match clients {
        [client] => format!("nacre uninstall {}", client.name),
        _ => "nacre uninstall".to_owned(),
    };
    format!(
        "Tools: the agent can search and store memories, with {tools} over MCP.\nContext: {context}.\n\
         Conversations: {kept}.\nTurn off: `{undo}` undoes this{stop}.\n"
    )
}

/// Tells whether a client's settings hold something of ours; the error says which file can't be read, and why.
pub fn is_connected(client: &Client, machine: &Machine, program: &Program) -> Result<bool, String> {
    let mut connected = false;
    for (file, parts) in client.files(machine) {
        check(&file).map_err(|problem| format!("{} can't be read: {problem}", file.display()))?;
        connected |= Change::undo(file, parts, program).is_ok_and(|change| !change.is_none());
    }
    Ok(connected)
}

/// Names a client whose own memory is on as well.
fn memory_hint(client: &Client, machine: &Machine) -> String {
    match client.own_memory(machine) {
        Some(off) => format!(
            "{}'s own memory is on too, so its agent may store things in either. To turn that off, {off}.\n",
            client.title
        ),
        None => String::new(),
    }
}

/// Lists every client, whether it is on this machine, and whether it is set up.
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

/// Says that there is nothing to connect, which is a failure, or to disconnect, which is none.
fn none_found(undo: bool) -> Result<ExitCode> {
    let names = names(&CLIENTS.iter().collect::<Vec<_>>());
    if undo {
        render::out("No agent was found on this machine, so nothing was changed.")?;
        return Ok(ExitCode::SUCCESS);
    }
    let message = "no agent was found on this machine, so nothing was changed".to_owned();
    let hint = format!("`nacre install CLIENT` writes the settings of one anyway; CLIENT is one of {names}");
    Err(Failure::not_found("no_agent", message, &hint).into())
}

/// Says which were found and what will happen, and asks once. `None`: there is nothing to do, or the user said no.
fn ask<'a>(
    here: &[&'a Client],
    undo: bool,
    explain: &impl Fn(&[&Client]) -> String,
    is_done: impl Fn(&Client) -> Result<bool>,
) -> Result<Option<Vec<&'a Client>>> {
    let command = command(undo);
    let (done, open): (Vec<&Client>, Vec<&Client>) =
        here.iter().partition(|client| is_done(client).unwrap_or(false));
    let mut text = String::new();
    for client in done {
        text.push_str(&already(client, undo));
    }
    if !text.is_empty() {
        render::out(&text)?;
    }
    if open.is_empty() {
        return Ok(None);
    }
    let about = match undo {
        true => "Nacre will be removed from their settings. The memory stays.\n".to_owned(),
        false => explain(&open),
    };
    render::out(&render::flow(&format!("Found: {}.\n{about}", titles(&open))))?;
    let verb = if undo { "Disconnect" } else { "Connect" };
    let question = match open.as_slice() {
        [client] => format!("{verb} {}?", client.title),
        _ => format!("{verb} all of them?"),
    };
    match render::ask_with(&question, !undo)? {
        Some(true) => Ok(Some(open)),
        Some(false) => {
            render::out(&format!(
                "Nothing was changed. `nacre {command} CLIENT` takes one: {}.",
                names(&open)
            ))?;
            Ok(None)
        }
        None => {
            let message = "nothing was changed, because there is no terminal to ask".to_owned();
            let one = open.iter().map(|client| format!("`nacre {command} {}`", client.name));
            let one = one.collect::<Vec<_>>().join(", ");
            let hint = format!(
                "run `nacre {command} --all` for all that were found, or {one}; `--dry-run` shows the changes"
            );
            Err(Failure::invalid("no_terminal", message, &hint).into())
        }
    }
}

/// Says that nothing has to be changed for a client.
fn already(client: &Client, undo: bool) -> String {
    match undo {
        true => format!("{} is not connected to Nacre; nothing to do.\n", client.title),
        false => format!("{} is connected to Nacre already; nothing to do.\n", client.title),
    }
}

fn titles(clients: &[&Client]) -> String {
    clients.iter().map(|client| client.title).collect::<Vec<_>>().join(", ")
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
        flags.extend(["--home".to_owned(), text(context::home_argument(global)?)?]);
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
fn to_json(client: &Client, changes: &[Change], dry_run: bool) -> Value {
    let files: Vec<Value> = changes.iter().map(Change::json).collect();
    json!({ "client": client.name, "dry_run": dry_run, "files": files })
}

/// Returns the changes, for people.
fn to_text(client: &Client, changes: &[Change], effects: &str, dry_run: bool, undo: bool) -> String {
    if changes.iter().all(Change::is_none) {
        return already(client, undo);
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
    text.push_str(&render::flow(effects));
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
    } else if !undo && effects.is_empty() {
        text.push_str(&format!("{} `nacre uninstall {}` undoes this.\n", client.next, client.name));
    } else if !undo {
        text.push_str(&format!("{}\n", client.next));
    }
    text
}
