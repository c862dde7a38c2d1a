//! Entries and the brief, for people.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use anyhow::Result;
use nacre::call::{BriefRequest, DeleteRequest, GetRequest, Got, SearchRequest, StoreRequest, UpdateRequest};
use nacre::import::Provenance;
use nacre::redact::{MASK, Redact};
use nacre::{EntryId, EntryRef, FilePath, Hit, Outcome, Request, SearchResults, Tags, Time};
use serde_json::Value;

use super::editor;
use super::input::{text_or_stdin, words_or_dash, words_or_pipe, words_or_stdin};
use crate::args::{Brief, Delete, EntryName, Search, Store, Target, Update};
use crate::context::Context;
use crate::plugin;
use crate::render::{self, Failure, Paint, age, line, plain};

/// Runs a request and shows the result.
pub fn run<R>(context: &Context, request: R) -> Result<ExitCode>
where
    R: Request,
    R::Answer: Redact,
{
    let mut reply = context.run(request)?;
    if !context.global.json {
        reply.text = context.for_people(&reply.text);
    }
    context.show(&reply)?;
    Ok(ExitCode::SUCCESS)
}

/// Deletes memories. At a terminal it shows each text and asks.
pub fn delete(context: &Context, args: &Delete) -> Result<ExitCode> {
    let ids = args.ids.iter().map(|id| context.entry(id)).collect::<Result<Vec<EntryRef>>>()?;
    let is_asked = !args.yes && !context.global.json && std::io::stdin().is_terminal();
    if is_asked {
        for id in &ids {
            let Got::Entry(found) =
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
    if let [id] = &ids[..] {
        return run(context, DeleteRequest { id: id.clone(), history: args.history });
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

pub fn store(context: &Context, args: Store) -> Result<ExitCode> {
    let request = StoreRequest {
        content: words_or_stdin(&args.text.words, "store")?,
        r#type: args.r#type,
        tags: tags(&args.tags),
        supersedes: args.supersedes.map(|id| context.entry(&id)).transpose()?,
        private: args.private.then_some(true),
        project: args.project,
    };
    run(context, request)
}

pub fn update(context: &Context, args: &Update) -> Result<ExitCode> {
    let id = match &args.id {
        Target::Memory(name) => context.entry(name)?,
        Target::File(path) => return edit_file(context, path, args),
    };
    let content = if !args.text.is_empty() {
        Some(text_or_stdin(&args.text.join(" "))?)
    } else if changes_more(args) {
        None
    } else {
        let Some(text) = new_text(context, &id)? else {
            render::note("nothing was changed");
            return Ok(ExitCode::SUCCESS);
        };
        Some(text)
    };
    let request = UpdateRequest {
        id,
        content,
        tags: (args.no_tags || !args.tags.is_empty()).then(|| tags(&args.tags)),
        r#type: args.r#type,
        private: (args.private || args.public).then_some(args.private),
    };
    run(context, request)
}

/// Tells whether the options change something besides the text.
fn changes_more(args: &Update) -> bool {
    args.no_tags || !args.tags.is_empty() || args.r#type.is_some() || args.private || args.public
}

/// Returns the new text of a memory, from a pipe or from the person's editor. `None`: it stays as it is.
fn new_text(context: &Context, id: &EntryRef) -> Result<Option<String>> {
    if !std::io::stdin().is_terminal() || context.is_agent() {
        let hint = "give it, such as `nacre edit 2 some words`, or pipe it in; at a terminal, `nacre edit 2` opens your \
                    editor";
        let missing = || Failure::invalid("no_text", "the new text is missing".to_owned(), hint);
        return words_or_pipe(&[])?.ok_or_else(|| missing().into()).map(Some);
    }
    let Got::Entry(found) = context.ask(GetRequest { id: Some(id.clone()), ..GetRequest::default() })? else {
        return Ok(None);
    };
    let before = found.entry.content;
    if before.contains(MASK) {
        let message = format!("the memory contains a credential, which is shown as {MASK}");
        let hint = "the editor would store the mask; give the whole text instead: `nacre edit 2 some words`";
        return Err(Failure::invalid("masked_text", message, hint).into());
    }
    let after = editor::edit(&before)?.trim().to_owned();
    Ok(Some(after).filter(|after| !after.is_empty() && after != before.trim()))
}

/// Opens a file of the workspace in the person's editor. The next search reads it.
fn edit_file(context: &Context, path: &str, args: &Update) -> Result<ExitCode> {
    if !args.text.is_empty() || changes_more(args) {
        let message = format!("`{path}` is a file, and a file has neither a type nor tags");
        let hint = format!(
            "`nacre edit {path}` opens it in your editor, `nacre file propose {path}` takes a new text"
        );
        return Err(Failure::invalid("not_a_memory", message, &hint).into());
    }
    let name: FilePath = path.parse()?;
    let file = context.group()?.folder().join(name.as_str());
    if !file.is_file() {
        let hint = "`nacre boot` names the files of the workspace; `nacre init` creates the usual ones";
        return Err(Failure::not_found("no_file", format!("there is no file `{path}`"), hint).into());
    }
    editor::open(&file)?;
    Ok(ExitCode::SUCCESS)
}

pub fn brief(context: &Context, args: &Brief) -> Result<ExitCode> {
    let reply = context.run(BriefRequest { include_provenance: args.include_provenance })?;
    if let Outcome::Done(brief) = &reply.outcome {
        plugin::note_brief(brief.plugin.as_ref());
    }
    context.show(&reply)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns tags; each option may give several, with commas.
fn tags(given: &[String]) -> Tags {
    Tags::new(given.iter().flat_map(|tags| tags.split(',')))
}

pub fn search(context: &Context, args: Search) -> Result<ExitCode> {
    let all = ["entries", "memory", "graph", "items", "sessions", "sources"];
    let scope = args.scope.iter().flat_map(|word| match word.as_str() {
        "all" => all.to_vec(),
        word => vec![word],
    });
    let scope = scope.map(|word| {
        serde_json::from_value(Value::from(word)).map_err(|_| nacre::Error::BadArgument {
            tool: "search".into(),
            field: "--scope".into(),
            problem: format!("is `{word}`, not one of {}, all", all.join(", ")),
            nearest: None,
        })
    });
    let request = SearchRequest {
        query: words_or_dash(&args.query)?,
        r#type: args.r#type,
        tags: tags(&args.tags),
        scope: scope.collect::<Result<_, _>>()?,
        collection: args.collection,
        project: args.project,
        include_superseded: args.include_superseded,
        include_archived: args.include_archived,
        limit: args.limit,
        at: context.time(args.at),
        explain: args.explain,
        of_agent: false,
    };
    show_found(context, request)
}

/// Searches and shows what was found.
pub fn show_found(context: &Context, request: SearchRequest) -> Result<ExitCode> {
    let explain = request.explain;
    let reply = context.run(request.clone())?;
    let Some(found) = context.to_render(&reply)? else { return Ok(ExitCode::SUCCESS) };
    if found.hits.is_empty() {
        render::out(&plain(&reply.text))?;
        if let Some(hint) = where_else(context, request)? {
            context.hint(&hint);
        }
    } else {
        for missing in &found.missing {
            render::note(&format!("missing: {missing}"));
        }
    }
    let paint = Paint::stdout();
    let lines = |hits: &[Hit]| -> String {
        hits.iter().map(|hit| hit_lines(context, found, hit, explain, paint)).collect()
    };
    let mut text = lines(&found.hits);
    if !found.standing.is_empty() {
        text.push_str(&paint.dim("standing instructions and preferences that may apply:\n"));
        text.push_str(&lines(&found.standing));
    }
    if !text.is_empty() {
        render::out(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Says which search would find something, where this one found nothing.
fn where_else(context: &Context, request: SearchRequest) -> Result<Option<String>> {
    if request.query.trim().is_empty() {
        return Ok(None);
    }
    let count = |request: SearchRequest| context.ask(request).map(|found| found.hits.len());
    if request.r#type.is_some() || !request.tags.is_empty() {
        let all = SearchRequest { r#type: None, tags: Tags::default(), ..request.clone() };
        let hits = count(all)?;
        return Ok(
            (hits > 0).then(|| format!("{} without --type and --tag", render::count(hits, "hit", "hits")))
        );
    }
    if !request.scope.is_empty() {
        return Ok(None);
    }
    let sessions = SearchRequest { scope: vec![nacre::Scope::Sessions], ..request };
    let hits = count(sessions)?;
    Ok((hits > 0)
        .then(|| format!("{} in conversations: add `--scope sessions`", render::count(hits, "hit", "hits"))))
}

/// The column where the text of a hit begins.
const TEXT_COLUMN: usize = 20;
/// A hit has at most this many lines of text.
const MAX_LINES: usize = 3;

/// Returns the text of a hit, wrapped at words on a terminal, with its details.
fn in_column(text: &str, beside: &str, paint: Paint) -> String {
    let Some(width) = render::width() else {
        return format!("{}{}", line(text, 78), paint.dim(beside));
    };
    let column = width.saturating_sub(TEXT_COLUMN).max(20);
    let room = (column * MAX_LINES).saturating_sub(beside.chars().count() + column / 4);
    let text = render::wrap(&format!("{}{beside}", line(text, room)), column, TEXT_COLUMN);
    match text.strip_suffix(beside) {
        Some(text) => format!("{text}{}", paint.dim(beside)),
        None => text,
    }
}

fn hit_lines(context: &Context, found: &SearchResults, hit: &Hit, explain: bool, paint: Paint) -> String {
    let (head, kind) = match hit {
        Hit { entry: Some(entry), .. } => (&*format!("[id:{}]", entry.number), entry.r#type.as_str()),
        Hit { item: Some(item), .. } => ("[item]", item.item.as_str()),
        Hit { task: Some(task), .. } => ("[task]", task.status.as_str()),
        Hit { document: Some(_), kind, .. } => ("[doc]", *kind),
        Hit { graph: Some(_), kind, .. } => ("[graph]", *kind),
        Hit { message, .. } => {
            ("[msg]", message.as_ref().and_then(|message| message.author.as_deref()).unwrap_or_default())
        }
    };
    let tags = hit.entry.iter().flat_map(|entry| entry.tags.iter());
    let tags: String = tags.map(|tag| format!(" #{}", plain(tag).replace(' ', "_"))).collect();
    let is_listed = hit.why.iter().any(|why| why.lane == "recent");
    let project = match (&hit.project, found.other_project(hit)) {
        // An item names its project below.
        (Some(name), Some(_)) if hit.item.is_none() => format!(", from project {}", plain(name.as_str())),
        (Some(name), None) if is_listed => format!(", project {}", plain(name.as_str())),
        _ => String::new(),
    };
    let beside = format!("{tags}  ({}{project})", age(context.now(), hit.at));
    let mut text = format!(
        "{} {} {}\n",
        paint.bold(&format!("{head:7}")),
        paint.cyan(&format!("{:11}", line(&plain(kind), 11))),
        in_column(&plain(&hit.text), &beside, paint),
    );
    let mut under = |line: String| text.push_str(&paint.dim(&format!("{:TEXT_COLUMN$}{line}\n", "")));
    if let Some(entry) = &hit.entry {
        match (&entry.superseded_by, entry.past) {
            (Some(newer), _) => under(format!("superseded by {}", context.with_short_ids(newer.as_str()))),
            (None, Some(past)) => under(past.to_owned()),
            (None, None) => {}
        }
    }
    if let Some(newer) = &hit.newer {
        under(format!("older than {} ({})", plain(&newer.id), age(context.now(), newer.at)));
    }
    if let Some(document) = &hit.document {
        let (path, [first, last]) = (line(&document.path, usize::MAX), document.lines);
        under(match (&hit.project, &document.collection) {
            (Some(project), _) => format!("{}: {path}:{first}", plain(project.as_str())),
            (None, Some(collection)) => format!("{collection}: {path}:{first}-{last}"),
            (None, None) => format!("{path}:{first}-{last}"),
        });
    }
    if let Some(task) = &hit.task {
        let of = task.milestone.as_deref().map(|name| format!(" of {}", line(name, 40))).unwrap_or_default();
        under(format!("{}{of}, priority {}", plain(&hit.id), task.priority));
    }
    for cite in hit.graph.iter().flat_map(|graph| &graph.cites) {
        under(format!("{}:{}", line(&cite.path, usize::MAX), cite.line));
    }
    if let Some(found) = &hit.message {
        under(format!("session {}, message {}", plain(&found.session), plain(&found.message)));
    }
    if explain {
        for why in &hit.why {
            let words = plain(&why.words.join(", "));
            let similarity = why.similarity.map(|near| format!(" {near:.2}")).unwrap_or_default();
            under(format!("found by {}{similarity} {words}", why.lane));
        }
        let total: f64 = hit.explain.iter().map(|part| part.value).sum();
        under(format!("score {:?} of {total:.4}", hit.score));
        for part in &hit.explain {
            under(format!("  {:>8.4}  {}", part.value, part.part));
        }
    }
    text
}

pub fn show(context: &Context, id: &EntryName) -> Result<ExitCode> {
    let id = context.entry(id)?;
    let reply = context.run(GetRequest { id: Some(id), ..GetRequest::default() })?;
    let Some(Got::Entry(found)) = context.to_render(&reply)? else { return Ok(ExitCode::SUCCESS) };
    let entry = &found.entry;
    let provenance = &entry.provenance;
    let mut rows = vec![
        ("id", entry.id.to_string()),
        ("number", entry.number.to_string()),
        ("type", entry.r#type.to_string()),
        ("tags", entry.tags.iter().collect::<Vec<_>>().join(", ")),
        ("score", entry.score.to_string()),
        (
            "stored",
            format!("{} by {} in session {}", provenance.timestamp, provenance.source, provenance.session),
        ),
    ];
    let time = |time: Option<Time>| time.map(|time| time.to_string());
    let id = |id: &Option<EntryId>| id.as_ref().map(|id| context.with_short_ids(id.as_str()));
    for (name, value) in [
        ("project", provenance.project.as_ref().map(ToString::to_string)),
        ("confirmed", time(entry.last_hit_at)),
        ("last shown", time(entry.last_returned_at)),
        ("supersedes", id(&entry.supersedes)),
        ("superseded by", id(&entry.superseded_by)),
        ("superseded", time(entry.superseded_at)),
        ("archived", time(entry.archived_at)),
    ] {
        rows.extend(value.map(|value| (name, value)));
    }
    if let Some(imported) = &found.imported {
        let Provenance { format, origin, at, imported_at } = imported;
        let number = origin.line.map(|number| number.to_string()).unwrap_or_default();
        let told =
            [("path", &origin.path), ("line", &number), ("section", &origin.section), ("id", &origin.id)]
                .into_iter()
                .filter(|(_, value)| !value.is_empty())
                .map(|(name, value)| format!("{name} {}", line(value, 200)));
        let told = told.collect::<Vec<_>>().join(", ");
        rows.push(("imported", format!("{imported_at} from {format}: {told}")));
        rows.push(("written by", origin.author.as_str().to_owned()));
        rows.extend(at.map(|at| ("its own time", at.to_string())));
    }
    render::page(&format!(
        "{}\n{}",
        render::flow(&format!("{}\n", plain(&entry.content))),
        render::table(&rows)
    ))?;
    Ok(ExitCode::SUCCESS)
}

pub fn history(context: &Context, id: &EntryName) -> Result<ExitCode> {
    let id = context.entry(id)?;
    let reply = context.run(GetRequest { id: Some(id), ..GetRequest::default() })?;
    let Some(Got::Entry(found)) = context.to_render(&reply)? else { return Ok(ExitCode::SUCCESS) };
    render::page(&render::flow(&context.for_people(&plain(&reply.text))))?;
    if found.chain.is_empty() && found.versions.is_empty() {
        render::out("It replaced nothing, and its text never changed.")?;
    }
    Ok(ExitCode::SUCCESS)
}
