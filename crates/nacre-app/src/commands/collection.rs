//! Collections of books, papers and the like.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use nacre::CollectionName;
use nacre::call::{Collections, CollectionsRequest, SearchRequest};
use nacre::collection::{IndexReport, Reading};

use super::care::{megabytes, synced_rows};
use super::entry::show_found;
use crate::args::Collection;
use crate::context::Context;
use crate::render::{self, Effect, Paint, Progress, line};

pub fn run(context: &Context, args: Collection) -> Result<ExitCode> {
    match args {
        Collection::Add { name, sources } => add(context, &name, &sources),
        Collection::List => list(context),
        Collection::Reindex { name, rebuild } => {
            reindex(context, name, if rebuild { Reading::Rebuild } else { Reading::Changes })
        }
        Collection::Search { name, query, limit, explain } => {
            let collection = Some(name);
            show_found(
                context,
                SearchRequest {
                    query: query.join(" "),
                    collection,
                    limit,
                    explain,
                    ..SearchRequest::default()
                },
            )
        }
        Collection::Remove { name, yes } => remove(context, &name, yes),
    }
}

fn add(context: &Context, name: &CollectionName, sources: &[PathBuf]) -> Result<ExitCode> {
    let sources: Vec<PathBuf> = sources
        .iter()
        .map(std::path::absolute)
        .collect::<Result<_, _>>()
        .context("a source is not a path")?;
    let (mut group, caller) = (context.group()?, context.caller());
    let mut view = group.enter(&caller)?;
    let done =
        with_progress(context, name, |progress| nacre::collection::add(&mut view, name, &sources, progress))?;
    if context.global.json {
        render::json(&done)?;
    } else {
        say(&done)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn reindex(context: &Context, name: Option<CollectionName>, reading: Reading) -> Result<ExitCode> {
    let (mut group, caller) = (context.group()?, context.caller());
    let mut view = group.enter(&caller)?;
    let names = name.map_or_else(|| nacre::collection::names(&view), |name| Ok(vec![name]))?;
    if names.is_empty() && !context.global.json {
        render::out(NO_COLLECTIONS)?;
    }
    let (mut all, mut failed) = (Vec::new(), None);
    for name in &names {
        let done = with_progress(context, name, |progress| {
            nacre::collection::reindex(&mut view, name, reading, progress)
        });
        match done {
            Ok(done) if context.global.json => all.push(done),
            Ok(done) => say(&done)?,
            // The others are still indexed.
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    match failed {
        Some(error) => return Err(error.into()),
        None if context.global.json => render::json(&all)?,
        None => {}
    }
    Ok(ExitCode::SUCCESS)
}

fn with_progress<T>(
    context: &Context,
    name: &CollectionName,
    work: impl FnOnce(&mut dyn FnMut(usize, usize)) -> T,
) -> T {
    let what = format!("Indexing {name}");
    let bar = Progress::count(context.global.json, &what, ("file", "files"), Effect::Writes);
    work(&mut |done, all| bar.done_of(done, all))
}

const NO_COLLECTIONS: &str = "There are no collections; `nacre collection add NAME FOLDER` adds one.";

fn say(done: &IndexReport) -> Result<()> {
    let mut rows = vec![("collection", done.collection.to_string())];
    rows.extend(synced_rows(&done.synced));
    let others: Vec<String> =
        done.synced.others.iter().map(|(ending, count)| format!("{count} {}", line(ending, 20))).collect();
    if !others.is_empty() {
        rows.push(("left out", format!("other kinds of files: {}", others.join(", "))));
    }
    if let Some(aside) = &done.set_aside {
        rows.push(("set aside", format!("{} was damaged; a new index replaces it", aside.display())));
    }
    render::out(&render::table(&rows))
}

fn list(context: &Context) -> Result<ExitCode> {
    let reply = context.run(CollectionsRequest {})?;
    let Some(Collections { collections }) = context.to_render(&reply)? else { return Ok(ExitCode::SUCCESS) };
    if collections.is_empty() {
        render::out(NO_COLLECTIONS)?;
        return Ok(ExitCode::SUCCESS);
    }
    let paint = Paint::stdout();
    let mut text = String::new();
    for collection in collections {
        let indexed = match collection.indexed_at {
            Some(at) => format!("indexed {}", at.to_string()[..16].replace('T', " ")),
            None => "indexing is not complete".to_owned(),
        };
        text.push_str(&format!(
            "{}  {}, {}, {:.1} MB, {indexed}\n",
            paint.bold(collection.name.as_str()),
            render::count(collection.documents, "document", "documents"),
            render::count(collection.passages, "passage", "passages"),
            megabytes(collection.bytes),
        ));
        for source in &collection.sources {
            let is_absent = match collection.absent.contains(source) {
                true => "  (not found; its index is kept)",
                false => "",
            };
            text.push_str(&paint.dim(&format!("  {}{is_absent}\n", line(source, usize::MAX))));
        }
        if let Some(problem) = &collection.problem {
            text.push_str(&format!("  {}\n", paint.red(&line(problem, usize::MAX))));
        }
    }
    render::out(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn remove(context: &Context, name: &CollectionName, yes: bool) -> Result<ExitCode> {
    if !yes && !agreed(name)? {
        render::note("nothing was removed");
        return Ok(ExitCode::SUCCESS);
    }
    let record = context.enter(|view| nacre::collection::remove(view, name))?;
    if context.global.json {
        render::json(&record)?;
    } else {
        let sources: Vec<String> = record.sources.iter().map(|source| line(source, usize::MAX)).collect();
        render::out(&format!("Removed `{name}`. Its sources are unchanged: {}", sources.join(", ")))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks the user; without a terminal, the flag is needed.
fn agreed(name: &CollectionName) -> Result<bool> {
    let question = format!("Remove collection `{name}` and its index? Its sources stay.");
    render::ask(&question)?.ok_or_else(|| {
        let (tool, field) = ("collection remove".into(), "--yes".into());
        let problem = "is missing, and there is no terminal to ask".into();
        nacre::Error::BadArgument { tool, field, problem, nearest: None }.into()
    })
}
