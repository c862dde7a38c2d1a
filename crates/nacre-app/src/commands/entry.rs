//! Entries and the brief, for people.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use anyhow::Result;
use nacre::call::{
    BriefRequest, GetAnswer, GetRequest, GrepRequest, SearchRequest, StoreRequest, UpdateRequest,
};
use nacre::import::Provenance;
use nacre::redact::{MASK, Redact};
use nacre::{EntryId, EntryRef, FilePath, Hit, Outcome, Request, ScorePart, SearchResults, Tags, Time, Why};
use serde_json::Value;

use super::editor;
use super::input::{text_or_stdin, words_or_dash, words_or_pipe, words_or_stdin};
use crate::args::{Brief, EntryName, Grep, Search, Store, Target, Update};
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

/// The number of characters that a memory has at most.
const MAX_MEMORY_CHARS: usize = 2000;

pub fn store(context: &Context, args: Store) -> Result<ExitCode> {
    let content = words_or_stdin(&args.text.words, "store")?;
    check_length(&content)?;
    let request = StoreRequest {
        content,
        r#type: args.r#type,
        tags: tags(&args.tags),
        supersedes: args.supersedes.map(|id| context.entry(&id)).transpose()?,
        private: args.private.then_some(true),
        project: args.project,
        narrative_id: args.narrative,
        task_id: args.task,
        cites: None,
    };
    run(context, request)
}

fn check_length(content: &str) -> Result<()> {
    let length = content.chars().count();
    if length <= MAX_MEMORY_CHARS {
        return Ok(());
    }
    let message = format!("the text has {length} characters, and a memory at most {MAX_MEMORY_CHARS}");
    let hint = "store its statements one by one, or keep it as a document: `nacre import FILE.md`";
    Err(Failure::invalid("too_long", message, hint).into())
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
    content.as_deref().map_or(Ok(()), check_length)?;
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
    let GetAnswer::Entry(found) =
        context.ask(GetRequest { id: Some(id.clone()), ..GetRequest::default() })?
    else {
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
    let group = context.group()?;
    if group.is_on_server() {
        return Err(nacre::Error::NotOnServer { what: "editing a file in place" }.into());
    }
    let file = group.folder().join(name.as_str());
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
    let request = SearchRequest {
        query: words_or_dash(&args.query)?,
        r#type: args.r#type,
        tags: tags(&args.tags),
        source: args.source,
        include_provenance: args.include_provenance,
        scope: scopes(&args.scope, &all)?,
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

/// Returns the scopes that a person named; `all` names all of those possible.
fn scopes(given: &[String], all: &[&str]) -> Result<Vec<nacre::Scope>> {
    let named = given.iter().flat_map(|word| match word.as_str() {
        "all" => all.to_vec(),
        word => vec![word],
    });
    let read = named.map(|word| {
        let known = Some(word).filter(|word| all.contains(word));
        known.and_then(|word| serde_json::from_value(Value::from(word)).ok()).ok_or_else(|| {
            let problem = format!("is `{word}`, not one of {}, all", all.join(", "));
            nacre::Error::BadArgument {
                tool: "search".into(),
                field: "--scope".into(),
                problem,
                nearest: None,
            }
        })
    });
    Ok(read.collect::<Result<_, _>>()?)
}

/// Finds lines by exact text or a regular expression. The exit code tells whether there are any.
pub fn grep(context: &Context, args: Grep) -> Result<ExitCode> {
    /// More lines than anybody has.
    const MAX_GREP_LINES: usize = 1_000_000;
    const NO_LINE: u8 = 3;
    let request = GrepRequest {
        pattern: args.pattern,
        literal: args.fixed_strings,
        ignore_case: args.ignore_case,
        scope: scopes(&args.scope, &["entries", "memory", "sessions"])?,
        context: args.context,
        limit: Some(args.limit.unwrap_or(MAX_GREP_LINES)),
    };
    let reply = context.run(request)?;
    let Outcome::Done(found) = &reply.outcome else { return Ok(ExitCode::SUCCESS) };
    match context.global.json {
        true => render::json(found)?,
        false if found.total == 0 => context.hint("no line matches; `nacre search` also finds other words"),
        false => render::out(&plain(&reply.text))?,
    }
    Ok(if found.total == 0 { ExitCode::from(NO_LINE) } else { ExitCode::SUCCESS })
}

/// Searches a member's own group and those of their team, and says from which group each hit is.
fn show_found_in_team(
    context: &Context,
    request: &SearchRequest,
    others: &[nacre::GroupName],
) -> Result<ExitCode> {
    let caller = context.caller();
    let mut own = context.run(request.clone())?;
    let mut all = serde_json::to_value(&own.outcome)?;
    for name in others {
        let mut group = context.home.group(name, context.now())?;
        let found = nacre::run(&mut group.enter(&caller)?, request.clone())?;
        let mut data = serde_json::to_value(&found.outcome)?;
        let Some(hits) = data["hits"].as_array_mut().filter(|hits| !hits.is_empty()) else { continue };
        hits.iter_mut().for_each(|hit| hit["group"] = name.as_str().into());
        if let Some(list) = all["hits"].as_array_mut() {
            list.append(hits);
        }
        own.text = format!("{}\n\nIn group {name}:\n{}", own.text.trim_end(), found.text);
    }
    match context.global.json {
        true => render::json(&all)?,
        false => render::page(&render::flow(&plain(&own.text)))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Searches and shows what was found.
pub fn show_found(context: &Context, request: SearchRequest) -> Result<ExitCode> {
    let explain = request.explain;
    let others = super::team::others(context)?;
    if !others.is_empty() {
        return show_found_in_team(context, &request, &others);
    }
    let reply = context.run(request.clone())?;
    let Some(found) = context.to_render(&reply)? else { return Ok(ExitCode::SUCCESS) };
    if found.hits.is_empty() {
        render::out(&plain(&reply.text))?;
        if let Some(hint) = where_else(context, request.clone())? {
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
    let readable = if explain { found.hits.len() } else { found.worth_reading() };
    let mut text = lines(&found.hits[..readable]);
    let weaker = found.hits.len() - readable;
    if weaker > 0 {
        let weaker = render::count(weaker, "weaker hit", "weaker hits");
        text.push_str(&paint.dim(&format!("{weaker}; `--explain` shows all\n")));
    }
    if !found.standing.is_empty() {
        text.push_str(&paint.dim("standing instructions and preferences that may apply:\n"));
        text.push_str(&lines(&found.standing));
    }
    if !text.is_empty() {
        render::out(&text)?;
    }
    let shown = found.hits.len();
    if request.query.trim().is_empty() && has_more(context, request, shown)? {
        context.hint(&format!("these are the newest {shown}; `nacre ls -n {}` shows more", 5 * shown));
    }
    Ok(ExitCode::SUCCESS)
}

/// Tells whether a list goes on after those that are shown.
fn has_more(context: &Context, request: SearchRequest, shown: usize) -> Result<bool> {
    let is_full = request.limit.map_or(shown > 0, |limit| shown == limit);
    Ok(is_full && shown < 100 && {
        let longer = SearchRequest { limit: Some(shown + 1), ..request };
        context.ask(longer)?.hits.len() > shown
    })
}

/// Says which search would find something, where this one found nothing.
fn where_else(context: &Context, request: SearchRequest) -> Result<Option<String>> {
    if context.home.groups()?.is_empty() {
        return Ok(Some(format!("there is no memory at {} yet", context.home.path().display())));
    }
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
    let origin = hit.origin.mark().map(|origin| format!(", {origin}")).unwrap_or_default();
    let beside = format!("{tags}  ({}{project}{origin})", age(context.now(), hit.at));
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
        if !entry.stale.is_empty() {
            under(format!("stale: {}", plain(&entry.stale.join("; "))));
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
        hit.why.iter().for_each(|why| under(reason(why)));
        let total: f64 = hit.explain.iter().map(|part| part.value).sum();
        under(format!("{:.0} % likely relevant; {total:.2} points:", 100.0 * hit.score));
        // A part that is equal for all hits explains nothing.
        let is_alike = |part: &ScorePart| {
            let has =
                |other: &Hit| other.explain.iter().any(|of| of.part == part.part && of.value == part.value);
            found.hits.len() > 1 && found.hits.iter().all(has)
        };
        for part in hit.explain.iter().filter(|part| !is_alike(part)) {
            under(format!("  {:>7.2}  {}", part.value, part.part));
        }
    }
    text
}

/// Says why a hit was found.
fn reason(why: &Why) -> String {
    let words = plain(&why.words.join(", "));
    let similarity = why.similarity.map(|near| format!(" ({near:.2})")).unwrap_or_default();
    match why.lane {
        "bm25" => format!("has {words}"),
        "vectors" => format!("similar in meaning{similarity}"),
        "graph" => "the knowledge graph knows it about someone or something in the question".into(),
        "near" => "next to a hit in the conversation".into(),
        "linked" => "often returned together with a hit".into(),
        "recent" => "one of the newest".into(),
        other => format!("found by {other}"),
    }
}

pub fn show(context: &Context, id: &EntryName, reveal: bool) -> Result<ExitCode> {
    let id = context.entry(id)?;
    if reveal {
        let entry = context.enter_whole("show --reveal", |view| nacre::call::reveal(view, &id))?;
        render::out(&render::flow(&plain(&entry.content)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let reply = context.run(GetRequest { id: Some(id), ..GetRequest::default() })?;
    let Some(GetAnswer::Entry(found)) = context.to_render(&reply)? else { return Ok(ExitCode::SUCCESS) };
    let entry = &found.entry;
    let provenance = &entry.provenance;
    let mut rows = vec![
        ("id", entry.id.to_string()),
        ("number", entry.number.to_string()),
        ("type", entry.r#type.to_string()),
        ("tags", entry.tags.iter().collect::<Vec<_>>().join(", ")),
        ("score", entry.score.to_string()),
        ("private", if entry.private { "yes: hidden from shared sessions" } else { "no" }.to_owned()),
        (
            "stored",
            format!("{} by {} in session {}", provenance.timestamp, provenance.source, provenance.session),
        ),
        ("origin", entry.origin.to_string()),
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
        ("stale", (!entry.stale.is_empty()).then(|| plain(&entry.stale.join("; ")))),
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
    let Some(GetAnswer::Entry(found)) = context.to_render(&reply)? else { return Ok(ExitCode::SUCCESS) };
    render::page(&render::flow(&context.for_people(&plain(&reply.text))))?;
    if found.chain.is_empty() && found.versions.is_empty() {
        render::out("It replaced nothing, and its text never changed.")?;
    }
    Ok(ExitCode::SUCCESS)
}
