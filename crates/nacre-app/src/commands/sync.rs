//! One memory on several machines.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use nacre::sync::{Place, RoundOptions, RoundReport, SyncStatus};
use qrcodegen::{QrCode, QrCodeEcc};
use serde_json::json;

use crate::args::{Sync, SyncVerb};
use crate::context::Context;
use crate::render::{self, Failure, Progress, line};

pub fn run(context: &Context, args: Sync) -> Result<ExitCode> {
    match args.verb {
        None => round(context, args.allow_deletions),
        Some(SyncVerb::Init { place, name }) => init(context, &place, name),
        Some(SyncVerb::Join { place, name }) => join(context, &place, name),
        Some(SyncVerb::Invite { qr }) => {
            let phrase = context.enter_whole("sync invite", |view| nacre::sync::invite(view))?;
            match (context.global.json, qr) {
                (true, _) => render::json(&json!({ "phrase": phrase }))?,
                (false, true) => render::out(&format!("{}\n{}", qr_code(&phrase)?, invitation(&phrase)))?,
                (false, false) => render::out(&invitation(&phrase))?,
            }
            Ok(ExitCode::SUCCESS)
        }
        Some(SyncVerb::Rotate) => replace_key(context, None),
        Some(SyncVerb::Remove { machine }) => replace_key(context, Some(&machine)),
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
        "{phrase}\n\nOn the other machine, run `nacre sync join` with this folder or URL and type this phrase. A person who has the phrase \
         and\nthe folder can read everything that is synced: do not send it over the tool that copies the folder."
    )
}

/// Returns a QR code for a terminal: two rows of modules to a line, dark on light whatever the colours of the terminal.
fn qr_code(text: &str) -> Result<String> {
    let code =
        QrCode::encode_text(&text.to_uppercase(), QrCodeEcc::Medium).context("the phrase has no QR code")?;
    let border = 2;
    let is_light = |x, y| !code.get_module(x, y);
    let rows = (-border..code.size() + border).step_by(2);
    let row = |y| -> String {
        let module = |x| match (is_light(x, y), is_light(x, y + 1)) {
            (true, true) => '█',
            (true, false) => '▀',
            (false, true) => '▄',
            (false, false) => ' ',
        };
        (-border..code.size() + border).map(module).collect()
    };
    Ok(rows.map(|y| format!("\x1b[97;40m{}\x1b[0m\n", row(y))).collect())
}

/// Returns the place that was given: a URL, or a folder from the root, so that it is found from everywhere.
fn place(context: &Context, given: &OsStr) -> Result<Place> {
    match given.to_str().filter(|given| given.contains("://")) {
        Some(url) => {
            let secret =
                read_line(context, "type a token of that server, from `nacre token add NAME` there:")?;
            if secret.is_empty() {
                let hint = "type it when you are asked, or pipe it in, after the phrase if there is one";
                return Err(Failure::invalid("no_token", "the token is missing".into(), hint).into());
            }
            Ok(Place::Server { url: url.to_owned(), token: nacre::Secret::new(&secret) })
        }
        None => Ok(Place::Folder(std::path::absolute(given).context("the current folder can't be read")?)),
    }
}

/// Reads a line of standard input. A person at a terminal is told what to type.
fn read_line(context: &Context, request: &str) -> Result<String> {
    if std::io::stdin().is_terminal() && !context.global.json {
        render::note(request);
    }
    let mut text = String::new();
    std::io::stdin().read_line(&mut text).context("standard input can't be read")?;
    Ok(text.trim().to_owned())
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

fn init(context: &Context, given: &OsStr, name: Option<String>) -> Result<ExitCode> {
    let place = place(context, given)?;
    let name = machine_name(name);
    let bar = Progress::busy(context.global.json, "Sealing the memory");
    let report = context.enter_whole("sync init", |view| nacre::sync::init(view, &place, &name));
    drop(bar);
    let report = report?;
    let phrase = context.enter_whole("sync invite", |view| nacre::sync::invite(view))?;
    if context.global.json {
        render::json(&json!({ "carrier": place.to_string(), "phrase": phrase, "round": report }))?;
        return Ok(ExitCode::SUCCESS);
    }
    render::out(&format!(
        "This group is synced over {place}: {}.\n\nThe phrase for your other machines:\n\n  {}",
        render::count(report.sent, "record sent", "records sent"),
        invitation(&phrase)
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn join(context: &Context, given: &OsStr, name: Option<String>) -> Result<ExitCode> {
    let name = machine_name(name);
    let phrase =
        read_line(context, "type the phrase that `nacre sync invite` shows on a machine that is synced:")?;
    if phrase.is_empty() {
        let hint = "type it when you are asked, or pipe it in: `nacre sync join DIR < phrase.txt`";
        return Err(Failure::invalid("no_phrase", "the phrase is missing".into(), hint).into());
    }
    let place = place(context, given)?;
    let bar = Progress::busy(context.global.json, "Reading the logs of the other machines");
    let report = context.enter_whole("sync join", |view| nacre::sync::join(view, &place, &phrase, &name));
    drop(bar);
    told(context, &report?)
}

fn replace_key(context: &Context, remove: Option<&str>) -> Result<ExitCode> {
    let bar = Progress::busy(context.global.json, "Sealing the memory with a new key");
    let report = context.enter_whole("sync rotate", |view| nacre::sync::replace_key(view, remove));
    drop(bar);
    let report = report?;
    if context.global.json {
        render::json(&report)?;
        return Ok(ExitCode::SUCCESS);
    }
    let list = |names: &[String]| names.iter().map(|name| line(name, 40)).collect::<Vec<_>>().join(", ");
    let mut text = "The key was replaced.\n".to_owned();
    if let Some(removed) = &report.removed {
        let _ = writeln!(
            text,
            "{} is shut out: it can't read or write anything from now on. What it already has stays there. Revoke its access to the \
             folder or server too.",
            line(removed, 40)
        );
    }
    if !report.invited.is_empty() {
        let _ =
            writeln!(text, "These machines take the new key in their next round: {}.", list(&report.invited));
    }
    if !report.by_phrase.is_empty() {
        let _ = writeln!(
            text,
            "Run `nacre sync join` with the new phrase on these machines: {}.",
            list(&report.by_phrase)
        );
    }
    let _ = writeln!(text, "\nThe new phrase for other machines:\n\n  {}", invitation(&report.phrase));
    render::out(&text)?;
    Ok(ExitCode::SUCCESS)
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
    if report.new_key {
        text.push_str("Another machine replaced the key of the memory. This machine has the new one now.\n");
    }
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
    let mut text = format!("Synced over {}\n", status.carrier);
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
