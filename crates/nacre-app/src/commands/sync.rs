//! One memory on several machines.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use nacre::sync::{RoundOptions, RoundReport, SyncStatus};
use serde_json::json;

use crate::args::{Sync, SyncVerb};
use crate::context::Context;
use crate::render::{self, Failure, Progress, line};

pub fn run(context: &Context, args: Sync) -> Result<ExitCode> {
    match args.verb {
        None => round(context, args.allow_deletions),
        Some(SyncVerb::Init { folder, name }) => init(context, &folder, name),
        Some(SyncVerb::Join { folder, name }) => join(context, &folder, name),
        Some(SyncVerb::Invite) => {
            let phrase = context.enter_whole("sync invite", |view| nacre::sync::invite(view))?;
            match context.global.json {
                true => render::json(&json!({ "phrase": phrase }))?,
                false => render::out(&invitation(&phrase))?,
            }
            Ok(ExitCode::SUCCESS)
        }
        Some(SyncVerb::Status { deleted: Some(id) }) => deleted(context, &id),
        Some(SyncVerb::Status { deleted: None }) => {
            let status = context.enter_whole("sync status", |view| nacre::sync::status(view))?;
            match context.global.json {
                true => render::json(&status)?,
                false => render::out(&shown(context, &status))?,
            }
            Ok(ExitCode::SUCCESS)
        }
        Some(SyncVerb::Leave) => {
            context.enter_whole("sync leave", nacre::sync::leave)?;
            match context.global.json {
                true => render::json(&json!({ "left": true }))?,
                false => render::out("This machine is not synced any more. Its memories stay here.")?,
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn invitation(phrase: &str) -> String {
    format!(
        "{phrase}\n\nOn the other machine, run `nacre sync join DIR` and type this phrase. A person who has the phrase and the folder \
         can read\neverything that is synced: do not send it over the tool that copies the folder."
    )
}

/// Returns a folder from the root, so that it is found from everywhere.
fn whole_path(folder: &Path) -> Result<PathBuf> {
    let is_url = folder.to_str().is_some_and(|given| given.contains("://"));
    if is_url {
        let hint = "give a folder that a tool copies between your machines, or mount the other machine's";
        let message = "sync needs a folder, and this is a URL".to_owned();
        return Err(Failure::invalid("not_a_folder", message, hint).into());
    }
    std::path::absolute(folder).context("the current folder can't be read")
}

/// Returns what to call this machine.
fn machine_name(given: Option<String>) -> String {
    let given = given.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    given.or_else(host_name).unwrap_or_else(|| "a machine".into())
}

#[cfg(unix)]
fn host_name() -> Option<String> {
    let name = rustix::system::uname().nodename().to_str().ok()?.to_owned();
    Some(name).filter(|name| !name.is_empty())
}
#[cfg(not(unix))]
fn host_name() -> Option<String> {
    None
}

fn init(context: &Context, folder: &Path, name: Option<String>) -> Result<ExitCode> {
    let folder = whole_path(folder)?;
    let name = machine_name(name);
    let bar = Progress::busy(context.global.json, "Sealing the memory");
    let report = context.enter_whole("sync init", |view| nacre::sync::init(view, &folder, &name));
    drop(bar);
    let report = report?;
    let phrase = context.enter_whole("sync invite", |view| nacre::sync::invite(view))?;
    if context.global.json {
        render::json(&json!({ "folder": folder, "phrase": phrase, "round": report }))?;
        return Ok(ExitCode::SUCCESS);
    }
    render::out(&format!(
        "This group is synced over {}: {}.\n\nThe phrase for your other machines:\n\n  {}",
        folder.display(),
        render::count(report.sent, "record sent", "records sent"),
        invitation(&phrase)
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn join(context: &Context, folder: &Path, name: Option<String>) -> Result<ExitCode> {
    let folder = whole_path(folder)?;
    let name = machine_name(name);
    let phrase = read_phrase(context)?;
    let bar = Progress::busy(context.global.json, "Reading the logs of the other machines");
    let report = context.enter_whole("sync join", |view| nacre::sync::join(view, &folder, &phrase, &name));
    drop(bar);
    told(context, &report?)
}

fn read_phrase(context: &Context) -> Result<String> {
    if std::io::stdin().is_terminal() && !context.global.json {
        render::note("type the phrase that `nacre sync invite` shows on a machine that is synced:");
    }
    let mut phrase = String::new();
    std::io::stdin().read_line(&mut phrase).context("standard input can't be read")?;
    if phrase.trim().is_empty() {
        let hint = "type it when you are asked, or pipe it in: `nacre sync join DIR < phrase.txt`";
        return Err(Failure::invalid("no_phrase", "the phrase is missing".into(), hint).into());
    }
    Ok(phrase)
}

fn round(context: &Context, allow_deletions: bool) -> Result<ExitCode> {
    let bar = Progress::busy(context.global.json, "Syncing");
    let options = RoundOptions { allow_deletions };
    let report = context.enter_whole("sync", |view| nacre::sync::round(view, &options));
    drop(bar);
    told(context, &report?)
}

fn told(context: &Context, report: &RoundReport) -> Result<ExitCode> {
    if context.global.json {
        render::json(report)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    if report.new_device {
        text.push_str(
            "This machine was copied or restored from a backup. It is a new device now, and nothing was lost.\n",
        );
    }
    let _ = match (report.sent, report.received) {
        (0, 0) => writeln!(text, "Everything is up to date."),
        (sent, received) => writeln!(
            text,
            "{} sent, {} received.",
            render::count(sent, "change", "changes"),
            render::count(received, "change", "changes")
        ),
    };
    if report.deleted > 0 {
        let _ =
            writeln!(text, "{} deleted here.", render::count(report.deleted, "record was", "records were"));
    }
    if report.files > 0 {
        let _ = writeln!(text, "{} written.", render::count(report.files, "document was", "documents were"));
    }
    if report.proposals > 0 {
        let _ = writeln!(
            text,
            "{} changed in the same place on two machines. The later text stays; `nacre pending` shows the other one.",
            render::count(report.proposals, "document was", "documents were")
        );
    }
    for problem in &report.problems {
        let _ = writeln!(text, "waiting: {}", line(problem, 300));
    }
    render::out(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn shown(context: &Context, status: &SyncStatus) -> String {
    let now = context.now();
    let mut text = format!("Synced over {}\n", status.folder.display());
    let active: Vec<_> = status.machines.iter().filter(|machine| !machine.left).collect();
    let current = active.iter().filter(|machine| machine.behind == 0).count();
    let _ = writeln!(
        text,
        "{current} of {} up to date; {}, {}.",
        render::count(active.len(), "machine", "machines"),
        render::count(status.records, "record", "records"),
        render::count(status.deletions, "deletion", "deletions")
    );
    for machine in &status.machines {
        let name = if machine.name.is_empty() { &machine.device } else { &machine.name };
        let _ = write!(text, "  {}", line(name, 40));
        if machine.here {
            text.push_str(" (this machine)");
        }
        match machine.seen {
            _ if machine.left => text.push_str(", left"),
            Some(seen) => {
                let _ = write!(text, ", last seen {}", render::age(now, seen));
            }
            None => text.push_str(", has not said anything yet"),
        }
        if machine.behind > 0 && !machine.left {
            let _ = write!(text, ", {} behind", render::count(machine.behind, "change", "changes"));
        }
        if machine.deletions_missing > 0 && !machine.left {
            let _ = write!(
                text,
                ", {} not arrived",
                render::count(machine.deletions_missing, "deletion has", "deletions have")
            );
        }
        text.push('\n');
    }
    if status.waiting > 0 {
        let _ = writeln!(
            text,
            "{} to be sent; `nacre sync` sends them.",
            render::count(status.waiting, "change waits", "changes wait")
        );
    }
    for problem in &status.problems {
        let _ = writeln!(text, "waiting: {}", line(problem, 300));
    }
    text
}

fn deleted(context: &Context, id: &str) -> Result<ExitCode> {
    let receipt = context.enter_whole("sync status", |view| nacre::sync::receipt(view, id))?;
    let Some(receipt) = receipt else {
        let hint =
            "give the whole id (`mem-…`) that `nacre delete` printed, and run `nacre sync` after a deletion";
        let message = format!("no synced deletion of `{}` is known", line(id, 60));
        return Err(Failure::not_found("no_deletion", message, hint).into());
    };
    if context.global.json {
        render::json(&receipt)?;
        return Ok(ExitCode::SUCCESS);
    }
    let list = |names: &[String]| names.iter().map(|name| line(name, 40)).collect::<Vec<_>>().join(", ");
    let mut text = format!(
        "{} was deleted on {} (operation {} of its log) and has arrived on {}.\n",
        receipt.id,
        line(&receipt.machine, 40),
        receipt.number,
        list(&receipt.arrived)
    );
    if !receipt.missing.is_empty() {
        let _ = writeln!(text, "It has not arrived on {}.", list(&receipt.missing));
    }
    render::out(&text)?;
    Ok(ExitCode::SUCCESS)
}
