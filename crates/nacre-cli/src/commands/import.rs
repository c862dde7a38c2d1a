//! `nacre import`: memories of other programs, and exports of Nacre.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use nacre::Kind;
use nacre::call::conflict::ComparedStatements;
use nacre::export::ImportReport;
use nacre::import::{FORMATS, Format, Options, Report, format};
use serde_json::json;

use crate::args::{Import, OWN_FORMATS};
use crate::context::{Context, user_folder};
use crate::render::{self, Effect, Failure, Progress, count, line, plain};

pub fn import(context: &Context, args: &Import) -> Result<ExitCode> {
    let Some(name) = args.format.as_deref().filter(|_| !args.list) else { return list(context) };
    let Some(format) = format(name) else { return own(context, name, args) };
    let (path, found) = match &args.path {
        Some(path) => (existing(path)?, false),
        None => (usual(format)?, true),
    };
    if found && !context.global.json {
        render::note(&format!("found {}", plain(&path.display().to_string())));
    }
    let (mut group, caller) = (context.whole_group("import")?, context.caller());
    let mut view = group.enter(&caller)?;
    let options = Options { dry_run: args.dry_run, name: args.name.clone() };
    let effect = if args.dry_run { Effect::Reads } else { Effect::Writes };
    let source = path.file_name().map_or_else(|| name.into(), |name| name.to_string_lossy());
    let bar = Progress::count(context.global.json, &format!("Importing {source}"), ("item", "items"), effect);
    let done = nacre::import::import(&mut view, format, &path, &options, &mut |step| bar.show(step));
    drop(bar);
    let mut done = done?;
    done.conflicts = nacre::call::conflict::of_import(&mut view, &done.statements)?;
    if context.global.json {
        render::json(&done)?;
    } else {
        render::out(&say(&done))?;
        note_conflicts(context, done.conflicts);
    }
    Ok(ExitCode::SUCCESS)
}

/// Says how many of the imported statements contradict current ones, and whether all of them were compared.
fn note_conflicts(context: &Context, found: Option<ComparedStatements>) {
    let Some(ComparedStatements { compared, statements, contradicting }) = found else { return };
    if contradicting > 0 {
        context.hint(&format!("{contradicting} of these contradict what is stored: `nacre conflicts`"));
    }
    if compared < statements {
        context.hint(&format!(
            "{compared} of {statements} entries and facts were compared with what is stored; `nacre conflicts find` compares all of them"
        ));
    }
}

/// Returns the usual place of the format on this machine.
fn usual(format: &'static Format) -> Result<PathBuf> {
    let person = user_folder()?;
    format.at_home(&person).ok_or_else(|| {
        let name = format.name;
        let (what, example) = match name {
            "obsidian" => ("vault", "~/Notes"),
            _ => ("file or folder", "PATH"),
        };
        let hint = format!("say which {what}: nacre import {name} {example}");
        let (kind, message) = match format.usual {
            [] => (Kind::Invalid, format!("the path of the {what} is missing")),
            usual => (Kind::NotFound, format!("{name} is not in its usual place, {}", usual.join(" or "))),
        };
        Failure { kind, code: "no_source", message, hint: Some(hint) }.into()
    })
}

/// Returns a path that exists.
fn existing(path: &Path) -> Result<PathBuf> {
    // The write-ahead log may be all that is left of a database.
    let log = PathBuf::from(format!("{}-wal", path.display()));
    if path.exists() || log.exists() {
        return Ok(path.to_owned());
    }
    let message = format!("there is no file or folder `{}`", path.display());
    Err(Failure::not_found("no_file", message, "check the path; `nacre import --list` lists the formats")
        .into())
}

/// Lists the formats, and which were found on this machine.
fn list(context: &Context) -> Result<ExitCode> {
    let person = user_folder().ok();
    let found = |format: &Format| person.as_deref().and_then(|person| format.at_home(person));
    if context.global.json {
        let formats: Vec<_> = FORMATS
            .iter()
            .map(|format| {
                json!({ "format": format.name, "reads": format.reads, "becomes": format.becomes, "found": found(format) })
            })
            .collect();
        render::json(&json!({ "formats": formats }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows: Vec<(String, String)> =
        FORMATS.iter().map(|format| (format.name.to_owned(), format.reads.to_owned())).collect();
    rows.extend(OWN_FORMATS.iter().map(|(name, reads)| ((*name).to_owned(), (*reads).to_owned())));
    let mut text = render::table(&rows);
    for format in FORMATS {
        if let Some(path) = found(format) {
            text.push_str(&format!("\nfound: {} at {}", format.name, plain(&path.display().to_string())));
        }
    }
    text.push_str("\n`nacre import FORMAT [PATH] --dry-run` shows what would be imported.");
    render::out(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn say(done: &Report) -> String {
    let mut text = format!("{} from {}", done.format, plain(&done.path.display().to_string()));
    text.push_str(if done.dry_run { ", would be imported:\n" } else { ":\n" });
    for (kind, counts) in &done.kinds {
        let mut parts = vec![format!("{} added", counts.added)];
        for (count, what) in [
            (counts.changed, "changed"),
            (counts.present, "already here"),
            (counts.ended, "no longer there"),
            (counts.kept, "kept unchanged"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        text.push_str(&format!("  {kind:<9} {}\n", parts.join(", ")));
    }
    if done.kinds.is_empty() {
        text.push_str("  nothing\n");
    }
    if done.sessions > 0 {
        text.push_str(&format!("  from {}\n", count(done.sessions, "session", "sessions")));
    }
    for sample in &done.samples {
        text.push_str(&format!("    {} {}\n", sample.kind, line(&sample.text, 100)));
    }
    for (why, count) in &done.skipped {
        text.push_str(&format!("  {count:>7} skipped: {}\n", plain(why)));
    }
    for note in &done.notes {
        text.push_str(&format!("    {}: {}\n", line(&note.what, 100), line(&note.why, 100)));
    }
    text
}

/// Imports what another Nacre wrote.
fn own(context: &Context, name: &str, args: &Import) -> Result<ExitCode> {
    let Some(path) = args.path.as_deref().filter(|_| !args.dry_run && args.name.is_none()) else {
        let problem = match args.path {
            None => "is missing: the folder or file",
            Some(_) => "does not support `--dry-run` or `--as`",
        };
        let (tool, field) = ("import".to_owned(), "PATH".to_owned());
        return Err(nacre::Error::BadArgument { tool, field, problem: problem.into(), nearest: None }.into());
    };
    let path = existing(path)?;
    let bar = Progress::busy(context.global.json, "Importing");
    let done = take_in(context, name, &path);
    drop(bar);
    let done = done?;
    if context.global.json {
        render::json(&done)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("{} added, {} already here", count(done.added, "entry", "entries"), done.present);
    for (count, what) in [
        (done.graph, "facts, relations and aliases added"),
        (done.messages, "messages added"),
        (done.exchanges, "exchanges added"),
        (done.lessons, "lessons added"),
        (done.tasks, "tasks added"),
        (done.proposals, "proposals added"),
        (done.files, "files added"),
        (done.same_content, "have the same text as an entry here and were merged with it"),
        (done.unreadable, "could not be read"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    render::out(&text)?;
    note_conflicts(context, done.conflicts);
    for path in &done.files_kept {
        render::note(&format!("{} is a different file here and stays unchanged", line(path, 200)));
    }
    for (name, sources) in &done.collections {
        let sources: Vec<String> = sources.iter().map(|source| line(source, usize::MAX)).collect();
        render::note(&format!(
            "collection `{name}` is not part of an export; `nacre collection add {name} …` rebuilds it from {}",
            sources.join(", ")
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn take_in(context: &Context, name: &str, path: &Path) -> Result<ImportReport> {
    context.enter(|view| {
        let mut done = match name {
            "nacre" => nacre::export::import(view, path)?,
            _ => nacre::export::import_database(view, path)?,
        };
        done.conflicts = nacre::call::conflict::of_import(view, &done.statements)?;
        Ok(done)
    })
}
