//! `nacre import`: memories of other programs, and exports of Nacre.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use nacre::call::conflict::ComparedStatements;
use nacre::export::ImportReport;
use nacre::import::{FORMATS, Format, Options, Report, detect, format};
use nacre::{Caller, Kind};
use serde_json::json;

use super::session;
use crate::args::{Import, OWN_FORMATS};
use crate::context::{Context, user_folder};
use crate::render::{self, Effect, Failure, Progress, count, line, plain};

pub fn import(context: &Context, args: &Import) -> Result<ExitCode> {
    let Some(given) = args.source.as_deref().filter(|_| !args.list) else { return list(context) };
    let name = given.to_str().unwrap_or_default();
    if let Some(format) = format(name) {
        if args.paths.is_empty() {
            return from_program(context, format, &usual(context, format)?, args);
        }
        return each(context, &args.paths, |path| from_program(context, format, &existing(path)?, args));
    }
    if let Some((name, _)) = OWN_FORMATS.iter().find(|(own, _)| *own == name) {
        if args.paths.is_empty() {
            let hint = format!("give the path: nacre import {name} PATH");
            return Err(Failure::invalid("no_source", "the path is missing".to_owned(), &hint).into());
        }
        return each(context, &args.paths, |path| own(context, name, &existing(path)?, args));
    }
    if !is_there(given) && args.paths.iter().any(|path| is_there(path)) {
        let message = format!("there is no format `{}`", plain(&given.display().to_string()));
        return Err(Failure::invalid("no_format", message, &formats_hint()).into());
    }
    let paths: Vec<PathBuf> = [given.to_owned()].into_iter().chain(args.paths.iter().cloned()).collect();
    // If one of them is not there, nothing is imported.
    for path in &paths {
        if !is_there(path) {
            let shown = plain(&path.display().to_string());
            let message = format!("`{shown}` is neither a format nor a file or folder");
            return Err(Failure::not_found("no_file", message, &formats_hint()).into());
        }
        super::input::check_regular(path)?;
    }
    each(context, &paths, |path| from_detected(context, path, args))
}

/// Imports from each path in turn.
fn each(
    context: &Context,
    paths: &[PathBuf],
    mut import: impl FnMut(&Path) -> Result<ExitCode>,
) -> Result<ExitCode> {
    if context.global.json && paths.len() > 1 {
        let hint = "run it once for each path";
        return Err(Failure::invalid("many_paths", "`--json` takes one path".to_owned(), hint).into());
    }
    paths.iter().try_fold(ExitCode::SUCCESS, |_, path| import(path))
}

/// Imports a file or folder whose format nobody named.
fn from_detected(context: &Context, path: &Path, args: &Import) -> Result<ExitCode> {
    let shown = plain(&path.display().to_string());
    let found = |name: &str| {
        if !context.global.json {
            render::note(&format!("{shown} is imported as `{name}`"));
        }
    };
    let detected = detect(path);
    let of_nacre = if nacre::export::is_export(path) {
        Some(OWN_FORMATS[0])
    } else if is_database(path) && detected.is_empty() {
        Some(OWN_FORMATS[1])
    } else {
        None
    };
    if let Some((name, _)) = of_nacre {
        found(name);
        return own(context, name, path, args);
    }
    match detected[..] {
        [format] => {
            found(format.name);
            from_program(context, format, path, args)
        }
        [] if is_transcript(path) => {
            found("transcript");
            if args.dry_run || args.name.is_some() {
                let message = "conversations have neither `--dry-run` nor `--as`".to_owned();
                let hint =
                    format!("`nacre session import {shown}` imports them; messages already here are skipped");
                return Err(Failure::invalid("no_dry_run", message, &hint).into());
            }
            session::import(context, &[path.to_owned()])?;
            Ok(ExitCode::SUCCESS)
        }
        [] => {
            let message = format!("the format of `{shown}` was not recognised");
            Err(Failure::invalid("no_format", message, &formats_hint()).into())
        }
        ref several => {
            let names: Vec<&str> = several.iter().map(|format| format.name).collect();
            let message = format!("`{shown}` may be {}", names.join(" or "));
            let hint = format!("name the format: nacre import {} {shown}", names[0]);
            Err(Failure::invalid("many_formats", message, &hint).into())
        }
    }
}

/// Names the formats, and the command that imports conversations.
fn formats_hint() -> String {
    let names = FORMATS.iter().map(|format| format.name).chain(OWN_FORMATS.iter().map(|(name, _)| *name));
    let names = names.collect::<Vec<_>>().join(", ");
    format!(
        "the formats are {names} (`nacre import` describes them); `nacre session import FILE` imports conversations"
    )
}

fn is_database(path: &Path) -> bool {
    let mut start = [0; 16];
    File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && start == *b"SQLite format 3\0"
}

fn is_transcript(path: &Path) -> bool {
    path.is_file()
        && File::open(path).is_ok_and(|file| nacre::session::import::detect(BufReader::new(file)).is_some())
}

/// Imports the memory of another program.
fn from_program(context: &Context, format: &'static Format, path: &Path, args: &Import) -> Result<ExitCode> {
    // The source may come from any project, whatever the person works in now.
    let caller = Caller { project_folder: None, ..context.caller() };
    let mut group = context.whole_group("import")?;
    let mut view = group.enter(&caller)?;
    let options = Options { dry_run: args.dry_run, name: args.name.clone(), trusted: args.trust };
    let effect = if args.dry_run { Effect::Reads } else { Effect::Writes };
    let source = path.file_name().map_or_else(|| format.name.into(), |name| name.to_string_lossy());
    let bar = Progress::count(context.global.json, &format!("Importing {source}"), ("item", "items"), effect);
    let done = nacre::import::import(&mut view, format, path, &options, &mut |step| bar.show(step));
    drop(bar);
    let mut done = done?;
    done.conflicts = nacre::call::conflict::of_import(&mut view, &done.statements)?;
    if context.global.json {
        render::json(&done)?;
    } else {
        render::out(&say(&done))?;
        note_conflicts(context, done.conflicts);
        let added = |kind| done.kinds.get(kind).is_some_and(|counts| counts.added > 0);
        if !args.trust && !args.dry_run && (added("entry") || added("fact")) {
            context.hint("agents find these when they search; `--trust` also gives them out unasked");
        }
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
            "{compared} of {statements} memories and facts were compared with what is stored; `nacre conflicts find` compares all of them"
        ));
    }
}

/// Returns the usual place of the format on this machine.
fn usual(context: &Context, format: &'static Format) -> Result<PathBuf> {
    let person = user_folder()?;
    let path = format.at_home(&person).ok_or_else(|| {
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
        Failure { kind, code: "no_source", message, hint: Some(hint) }
    })?;
    if !context.global.json {
        render::note(&format!("found {}", plain(&path.display().to_string())));
    }
    Ok(path)
}

/// Returns a path that exists.
fn existing(path: &Path) -> Result<PathBuf> {
    super::input::check_regular(path)?;
    if is_there(path) {
        return Ok(path.to_owned());
    }
    let message = format!("there is no file or folder `{}`", path.display());
    Err(Failure::not_found("no_file", message, "check the path; `nacre import --list` lists the formats")
        .into())
}

/// Tells whether a path exists. The write-ahead log may be all that is left of a database.
fn is_there(path: &Path) -> bool {
    path.exists() || PathBuf::from(format!("{}-wal", path.display())).exists()
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
    text.push_str(
        "\n`nacre import FORMAT [PATH] --dry-run` shows what would be imported. `nacre import PATH` detects the format.\n\
         `nacre session import FILE` imports conversations.",
    );
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
    for setting in &done.settings {
        text.push_str(&format!(
            "  set there: `nacre config set {} {}` does the same here\n",
            setting.key,
            plain(&setting.value)
        ));
    }
    for note in &done.notes {
        text.push_str(&format!("    {}: {}\n", line(&note.what, 100), line(&note.why, 100)));
    }
    text
}

/// Imports what another Nacre wrote.
fn own(context: &Context, name: &str, path: &Path, args: &Import) -> Result<ExitCode> {
    if args.dry_run || args.name.is_some() {
        let message = format!("the format `{name}` has neither `--dry-run` nor `--as`");
        let hint = "existing memories and files stay unchanged; to try it first, import into another group: \
                    nacre --group try import PATH";
        return Err(Failure::invalid("no_dry_run", message, hint).into());
    }
    let bar = Progress::busy(context.global.json, "Importing");
    let done = take_in(context, name, path);
    drop(bar);
    let done = done?;
    if context.global.json {
        render::json(&done)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text =
        format!("{} added, {} already here", count(done.added, "memory", "memories"), done.present);
    for (number, one, many) in [
        (done.graph, "fact, relation or alias added", "facts, relations and aliases added"),
        (done.messages, "message added", "messages added"),
        (done.exchanges, "exchange added", "exchanges added"),
        (done.lessons, "lesson added", "lessons added"),
        (done.tasks, "task added", "tasks added"),
        (done.proposals, "proposal added", "proposals added"),
        (done.files, "file added", "files added"),
        (
            done.same_content,
            "has the text of a memory here and was merged with it",
            "have the text of a memory here and were merged with it",
        ),
        (
            done.deleted,
            "was deleted here for good and stays deleted",
            "were deleted here for good and stay deleted",
        ),
        (done.unreadable, "could not be read", "could not be read"),
    ] {
        if number > 0 {
            text.push_str(&format!(", {}", count(number, one, many)));
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
