//! The knowledge graph, for people.

use std::process::ExitCode;

use anyhow::Result;
use nacre::Outcome;
use nacre::call::{
    AliasRequest, Entities, EntitiesRequest, EntityAct, EntityRequest, FactRemoveRequest, FactRequest,
    FactsRequest, GraphRequest, RelationEndRequest, RelationRequest, RelationsRequest, RuleRequest,
};
use nacre::graph::{GraphMatch, SkippedStatement};
use nacre::redact::Redact as _;

use super::input::words_or_dash;
use crate::args::{Alias, Entity, Fact, Format, Graph, Relation};
use crate::context::Context;
use crate::render::{self, Paint, age, line, plain};

pub fn graph(context: &Context, args: &Graph) -> Result<ExitCode> {
    let query = words_or_dash(&args.query)?;
    if args.query.is_empty() {
        let Some(format) = args.export else { return entity(context, Entity::List) };
        let picture = context.enter(|view| nacre::graph::picture(view))?;
        match (context.global.json, format) {
            (true, Format::Json) => render::json(&picture)?,
            // `--json` promises one JSON value, whatever format it holds.
            (true, _) => render::json(&picture.write(format.into())?)?,
            (false, _) => render::out(&plain_lines(&picture.write(format.into())?))?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    let request =
        GraphRequest { query, limit: args.limit, as_of: context.time(args.as_of), of_agent: args.agent };
    let (mut group, caller) = (context.group()?, context.caller());
    let mut view = group.enter(&caller)?;
    let reply = nacre::run(&mut view, request)?;
    match &reply.outcome {
        Outcome::Done(recalled) if !context.global.json && !recalled.known.is_empty() => {
            render::out(
                &recalled.known.iter().map(|known| shown(context, known, args.explain)).collect::<String>(),
            )?;
        }
        _ => context.show(&reply)?,
    }
    // Notes what was recalled. A failure to do so is ignored.
    let _ = view.settle();
    Ok(ExitCode::SUCCESS)
}

fn shown(context: &Context, known: &GraphMatch, explain: bool) -> String {
    let paint = Paint::stdout();
    let cite = known.cites.first().map(|cite| format!("  {}:{}", line(&cite.path, usize::MAX), cite.line));
    let linked = if known.linked { "  linked" } else { "" };
    let until = known.until.map(|until| format!("  until {until}")).unwrap_or_default();
    let cite = cite.unwrap_or_default();
    let since = age(context.now(), known.since);
    let beside = format!("  ({since}){cite}{linked}{until}  [{}]", line(&known.id, usize::MAX));
    let mut text = format!("{}{}\n", paint.bold(&line(&known.text, usize::MAX)), paint.dim(&beside));
    if explain {
        let GraphMatch { score, combined, why, .. } = known;
        // As JSON has them: a whole number keeps its decimal.
        text.push_str(&format!("    {score:?} ({combined:?} with activation): {}\n", line(why, usize::MAX)));
    }
    text
}

/// Makes a drawing safe to print: it contains stored text, so characters that control the terminal are removed.
fn plain_lines(text: &str) -> String {
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}

pub fn fact(context: &Context, args: Fact) -> Result<ExitCode> {
    match args {
        Fact::Set { entity, key, value, category, importance, permanent, since, private } => {
            let since = context.time(since);
            let (permanent, private) = (permanent.then_some(true), private.then_some(true));
            let request = FactRequest { entity, key, value, category, importance, permanent, since, private };
            context.run_and_show(request)
        }
        Fact::List { entity, key, category, as_of, history, limit } => {
            let as_of = context.time(as_of);
            context.run_and_show(FactsRequest { entity, key, category, as_of, history, limit })
        }
        Fact::Remove { of, key } => context.run_and_show(FactRemoveRequest { of, key }),
        Fact::Multi { key, off } => {
            let (multi, single) = if off { (None, Some(key)) } else { (Some(key), None) };
            context.run_and_show(RuleRequest { multi, single, category: None })
        }
        Fact::Category { name } => {
            context.run_and_show(RuleRequest { category: Some(name), ..RuleRequest::default() })
        }
        Fact::Seed { file } => seed(context, &file),
        Fact::Skipped => kept_out(context),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn seed(context: &Context, file: &std::path::Path) -> Result<()> {
    let mut seeded = context.enter(|view| nacre::graph::seed(view, file))?;
    seeded.kept_out.redact();
    if context.global.json {
        return render::json(&seeded);
    }
    let mut text = format!("{} added, {} already known\n", seeded.added, seeded.known);
    for kept_out in &seeded.kept_out {
        text.push_str(&format!("  skipped: {}\n", line(kept_out, usize::MAX)));
    }
    render::out(&text)
}

fn kept_out(context: &Context) -> Result<()> {
    let mut kept_out = context.enter(|view| {
        nacre::workspace::sync(view)?;
        nacre::graph::kept_out(view)
    })?;
    kept_out.redact();
    if context.global.json {
        return render::json(&serde_json::to_value(&kept_out)?);
    }
    if kept_out.is_empty() {
        return render::out("No line was skipped.");
    }
    let row = |out: &SkippedStatement| {
        let place = format!("{}:{}", line(&out.path, usize::MAX), out.line);
        (place, format!("`{}` {}", line(&out.what, 80), line(&out.reason, usize::MAX)))
    };
    render::out(&render::table(&kept_out.iter().map(row).collect::<Vec<_>>()))
}

pub fn relation(context: &Context, args: Relation) -> Result<ExitCode> {
    match args {
        Relation::Add { subject, predicate, object, since, private } => {
            let (since, private) = (context.time(since), private.then_some(true));
            context.run_and_show(RelationRequest { subject, predicate, object, since, private })
        }
        Relation::List { entity, as_of, history, limit } => {
            let as_of = context.time(as_of);
            context.run_and_show(RelationsRequest { entity, as_of, history, limit })
        }
        Relation::End { id, predicate, object, remove } => end(context, id, predicate, object, remove),
        Relation::Remove { id, predicate, object } => end(context, id, predicate, object, true),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn end(
    context: &Context,
    id: String,
    predicate: Option<String>,
    object: Option<String>,
    remove: bool,
) -> Result<()> {
    let (id, subject) = if predicate.is_some() { (None, Some(id)) } else { (Some(id), None) };
    context.run_and_show(RelationEndRequest { id, subject, predicate, object, remove })
}

pub fn alias(context: &Context, args: Alias) -> Result<ExitCode> {
    match args {
        Alias::Add { alias, entity } => context.run_and_show(AliasRequest { alias, entity, remove: false }),
        Alias::Remove { alias } => {
            context.run_and_show(AliasRequest { entity: alias.clone(), alias, remove: true })
        }
        Alias::List => list_aliases(context),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn list_aliases(context: &Context) -> Result<()> {
    let Entities { aliases, .. } = context.ask(EntitiesRequest {})?;
    if context.global.json {
        return render::json(&serde_json::to_value(&aliases)?);
    }
    if aliases.is_empty() {
        return render::out("There are no aliases.");
    }
    let word = |name: &str| line(name, usize::MAX);
    let rows: Vec<_> = aliases.iter().map(|of| (word(&of.alias), word(&of.entity))).collect();
    render::out(&render::table(&rows))
}

pub fn entity(context: &Context, args: Entity) -> Result<ExitCode> {
    let join = |r#do, one, other| context.run_and_show(EntityRequest { r#do, one, other });
    match args {
        Entity::List => context.run_and_show(EntitiesRequest {}),
        Entity::Merge { one, into } => join(EntityAct::Merge, one, into),
        Entity::Unmerge { name } => join(EntityAct::Unmerge, name, String::new()),
        Entity::Remove { name } => join(EntityAct::Remove, name, String::new()),
        Entity::Distinct { one, other } => join(EntityAct::Distinct, one, other),
    }?;
    Ok(ExitCode::SUCCESS)
}
