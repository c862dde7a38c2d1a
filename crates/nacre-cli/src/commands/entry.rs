//! Entries and the brief, for people.

use std::process::ExitCode;

use anyhow::Result;
use nacre::call::{BriefRequest, GetRequest, Got, SearchRequest, StoreRequest, UpdateRequest};
use nacre::import::Provenance;
use nacre::redact::Redact;
use nacre::{EntryId, EntryRef, Hit, Outcome, Request, Tags, Time};
use serde_json::Value;

use super::input::text_or_stdin;
use crate::args::{Brief, Search, Store, Update};
use crate::context::Context;
use crate::plugin;
use crate::render::{self, Paint, age, line, plain};

/// Runs a request and shows what came of it.
pub fn run<R>(context: &Context, request: R) -> Result<ExitCode>
where
    R: Request,
    R::Answer: Redact,
{
    context.show(&context.run(request)?)?;
    Ok(ExitCode::SUCCESS)
}

pub fn store(context: &Context, args: Store) -> Result<ExitCode> {
    let request = StoreRequest {
        content: text_or_stdin(&args.text)?,
        r#type: args.r#type,
        tags: Tags::new(args.tags),
        supersedes: args.supersedes,
        private: args.private.then_some(true),
    };
    run(context, request)
}

pub fn update(context: &Context, args: Update) -> Result<ExitCode> {
    let request = UpdateRequest {
        id: args.id,
        content: args.text.as_deref().map(text_or_stdin).transpose()?,
        tags: (args.no_tags || !args.tags.is_empty()).then(|| Tags::new(args.tags)),
        r#type: args.r#type,
        private: (args.private || args.public).then_some(args.private),
    };
    run(context, request)
}

pub fn brief(context: &Context, args: &Brief) -> Result<ExitCode> {
    let reply = context.run(BriefRequest { include_provenance: args.include_provenance })?;
    if let Outcome::Done(brief) = &reply.outcome {
        plugin::note_brief(brief.plugin.as_ref());
    }
    context.show(&reply)?;
    Ok(ExitCode::SUCCESS)
}

pub fn search(context: &Context, args: Search) -> Result<ExitCode> {
    let scope = args.scope.iter().map(|word| {
        serde_json::from_value(Value::from(word.as_str())).map_err(|_| nacre::Error::BadArgument {
            tool: "search".into(),
            field: "--scope".into(),
            problem: format!("is `{word}`, none of entries, memory, graph, items, sessions, sources"),
            nearest: None,
        })
    });
    let request = SearchRequest {
        query: args.query,
        r#type: args.r#type,
        tags: Tags::new(args.tags),
        scope: scope.collect::<Result<_, _>>()?,
        collection: args.collection,
        include_superseded: args.include_superseded,
        include_archived: args.include_archived,
        limit: args.limit,
        at: args.at,
        explain: args.explain,
        of_agent: false,
    };
    show_found(context, request)
}

/// Searches and shows what was found.
pub fn show_found(context: &Context, request: SearchRequest) -> Result<ExitCode> {
    let explain = request.explain;
    let reply = context.run(request)?;
    let Some(found) = context.to_render(&reply)? else { return Ok(ExitCode::SUCCESS) };
    if found.hits.is_empty() {
        render::out(&plain(&reply.text))?;
        hint_other_groups(context);
    } else {
        for missing in &found.missing {
            render::note(&format!("missing: {missing}"));
        }
    }
    let paint = Paint::stdout();
    let lines = |hits: &[Hit]| -> String {
        hits.iter().map(|hit| hit_lines(hit, explain, context.now(), paint)).collect()
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

fn hit_lines(hit: &Hit, explain: bool, now: Time, paint: Paint) -> String {
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
    let mut text = format!(
        "{} {} {}{}{}\n",
        paint.bold(&format!("{head:7}")),
        paint.cyan(&format!("{:11}", line(&plain(kind), 11))),
        line(&plain(&hit.text), render::width().saturating_sub(22)),
        paint.dim(&tags),
        paint.dim(&format!("  ({})", age(now, hit.at))),
    );
    let mut under = |line: String| text.push_str(&paint.dim(&format!("{:20}{line}\n", "")));
    if let Some(newer) = hit.entry.as_ref().and_then(|entry| entry.superseded_by.as_ref()) {
        under(format!("superseded by {newer}"));
    }
    if let Some(document) = &hit.document {
        let (path, [first, last]) = (line(&document.path, usize::MAX), document.lines);
        under(match (&hit.item, &document.collection) {
            (Some(item), _) => format!("{}: {path}:{first}", plain(item.project.as_str())),
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

/// Says so where the group is empty and others are not: it may be a slip of the finger.
fn hint_other_groups(context: &Context) {
    let groups = context.home.groups();
    if !groups.contains(&context.global.group) && !groups.is_empty() {
        let names = groups.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        render::note(&format!("group `{}` has no memory yet; there is: {names}", context.global.group));
    }
}

pub fn show(context: &Context, id: EntryRef) -> Result<ExitCode> {
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
    let id = |id: &Option<EntryId>| id.as_ref().map(ToString::to_string);
    for (name, value) in [
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
    render::out(&format!("{}\n\n{}", plain(&entry.content), render::table(&rows)))?;
    Ok(ExitCode::SUCCESS)
}

pub fn history(context: &Context, id: EntryRef) -> Result<ExitCode> {
    let reply = context.run(GetRequest { id: Some(id), ..GetRequest::default() })?;
    let Some(Got::Entry(found)) = context.to_render(&reply)? else { return Ok(ExitCode::SUCCESS) };
    render::out(&plain(&reply.text))?;
    if found.chain.is_empty() && found.versions.is_empty() {
        render::out("It has replaced nothing and reads as it was first stored.")?;
    }
    Ok(ExitCode::SUCCESS)
}
