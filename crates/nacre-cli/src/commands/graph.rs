//! The knowledge graph, for people.

use std::process::ExitCode;

use anyhow::Result;
use nacre::Answer;
use nacre::call::{
    AliasRequest, EntitiesRequest, EntityAct, EntityRequest, FactRemoveRequest, FactRequest, FactsRequest,
    GraphRequest, RelationEndRequest, RelationRequest, RelationsRequest, RuleRequest,
};
use serde_json::Value;

use super::entry::show_answer;
use crate::args::{Alias, Entity, Fact, Format, Graph, Relation};
use crate::context::Context;
use crate::render::{self, Paint, line, plain};

pub fn graph(context: &Context, args: &Graph) -> Result<ExitCode> {
    let Some(query) = &args.query else {
        let format = args.export.expect("clap asks for one of both");
        let picture = context.enter(|view| nacre::graph::picture(view))?;
        match (context.global.json, format) {
            (true, Format::Json) => render::json(&picture)?,
            // One JSON value there is, whatever form it holds.
            (true, _) => render::json(&picture.write(format.into())?)?,
            (false, _) => render::out(&plain_lines(&picture.write(format.into())?))?,
        }
        return Ok(ExitCode::SUCCESS);
    };
    let request =
        GraphRequest { query: query.clone(), limit: args.limit, as_of: args.as_of, of_agent: args.agent };
    let (mut group, caller) = (context.group()?, context.caller());
    let mut view = group.enter(&caller)?;
    let answer = nacre::call(&mut view, "graph_search", serde_json::to_value(&request)?)?;
    if context.global.json {
        render::json(&answer.data)?;
    } else {
        render::out(&shown(&answer, args.explain))?;
    }
    // What was recalled is remembered; that it can't be is no reason to fail.
    let _ = view.settle();
    Ok(ExitCode::SUCCESS)
}

fn shown(answer: &Answer, explain: bool) -> String {
    let (data, paint) = (&answer.data, Paint::stdout());
    let word = |value: &Value| line(value.as_str().unwrap_or_default(), usize::MAX);
    let known = data["known"].as_array().map(Vec::as_slice).unwrap_or_default();
    if known.is_empty() {
        return plain(&answer.text);
    }
    let mut text = String::new();
    for known in known {
        let cite = &known["cites"][0];
        let cite = cite["path"].as_str().map(|path| format!("  {}:{}", line(path, usize::MAX), cite["line"]));
        let linked = if known["linked"] == true { "  linked" } else { "" };
        let until = known["until"].as_str().map(|until| format!("  until {until}")).unwrap_or_default();
        let beside = format!("{}{linked}{until}  [{}]", cite.unwrap_or_default(), word(&known["id"]));
        text.push_str(&format!("{}{}\n", paint.bold(&word(&known["text"])), paint.dim(&beside)));
        if explain {
            let (score, combined) = (&known["score"], &known["combined"]);
            text.push_str(&format!("    {score} ({combined} with activation): {}\n", word(&known["why"])));
        }
    }
    text
}

/// What stands in a picture is other people's text: it keeps its lines and loses what would move a cursor.
fn plain_lines(text: &str) -> String {
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}

pub fn fact(context: &Context, args: Fact) -> Result<ExitCode> {
    let answer = match args {
        Fact::Set { entity, key, value, category, importance, permanent, since, private } => {
            let (permanent, private) = (permanent.then_some(true), private.then_some(true));
            let request = FactRequest { entity, key, value, category, importance, permanent, since, private };
            context.call("fact_upsert", &request)?
        }
        Fact::List { entity, key, category, as_of, history, limit } => {
            let request = FactsRequest { entity, key, category, as_of, history, limit };
            context.call("fact_list", &request)?
        }
        Fact::Remove { of, key } => context.call("fact_remove", &FactRemoveRequest { of, key })?,
        Fact::Multi { key, off } => {
            let (multi, single) = if off { (None, Some(key)) } else { (Some(key), None) };
            context.call("graph_rule", &RuleRequest { multi, single, category: None })?
        }
        Fact::Category { name } => {
            context.call("graph_rule", &RuleRequest { category: Some(name), ..RuleRequest::default() })?
        }
        Fact::Seed { file } => return seed(context, &file),
        Fact::KeptOut => return kept_out(context),
    };
    show_answer(context, &answer)
}

fn seed(context: &Context, file: &std::path::Path) -> Result<ExitCode> {
    let mut seeded = context.enter(|view| nacre::graph::seed(view, file))?;
    for kept_out in &mut seeded.kept_out {
        *kept_out = nacre::redact::text(kept_out).into_owned();
    }
    if context.global.json {
        render::json(&seeded)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("{} added, {} known already\n", seeded.added, seeded.known);
    for kept_out in &seeded.kept_out {
        text.push_str(&format!("  not taken in: {}\n", line(kept_out, usize::MAX)));
    }
    render::out(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn kept_out(context: &Context) -> Result<ExitCode> {
    let kept_out = context.enter(|view| {
        nacre::workspace::sync(view)?;
        nacre::graph::kept_out(view)
    })?;
    if context.global.json {
        let mut kept_out = serde_json::to_value(&kept_out)?;
        nacre::redact::value(&mut kept_out);
        render::json(&kept_out)?;
        return Ok(ExitCode::SUCCESS);
    }
    if kept_out.is_empty() {
        render::out("Everything that was read was taken in.")?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<(String, String)> = kept_out
        .iter()
        .map(|out| {
            let what = nacre::redact::text(&out.what).into_owned();
            let place = format!("{}:{}", line(&out.path, usize::MAX), out.line);
            (place, format!("`{}` {}", line(&what, 80), line(&out.reason, usize::MAX)))
        })
        .collect();
    render::out(&render::table(&rows))?;
    Ok(ExitCode::SUCCESS)
}

pub fn relation(context: &Context, args: Relation) -> Result<ExitCode> {
    let answer = match args {
        Relation::Add { subject, predicate, object, since, private } => {
            let private = private.then_some(true);
            context.call("relation_add", &RelationRequest { subject, predicate, object, since, private })?
        }
        Relation::List { entity, as_of, history, limit } => {
            context.call("relation_list", &RelationsRequest { entity, as_of, history, limit })?
        }
        Relation::End { id, predicate, object, remove } => {
            let (id, subject) = if predicate.is_some() { (None, Some(id)) } else { (Some(id), None) };
            context.call("relation_end", &RelationEndRequest { id, subject, predicate, object, remove })?
        }
    };
    show_answer(context, &answer)
}

pub fn alias(context: &Context, args: Alias) -> Result<ExitCode> {
    let answer = match args {
        Alias::Add { alias, entity } => {
            context.call("alias_add", &AliasRequest { alias, entity, remove: false })?
        }
        Alias::Remove { alias } => {
            let request = AliasRequest { entity: alias.clone(), alias, remove: true };
            context.call("alias_add", &request)?
        }
        Alias::List => {
            let answer = context.call("entity_list", &EntitiesRequest {})?;
            if context.global.json {
                render::json(&answer.data["aliases"])?;
                return Ok(ExitCode::SUCCESS);
            }
            let word = |value: &Value| line(value.as_str().unwrap_or_default(), usize::MAX);
            let aliases = answer.data["aliases"].as_array().map(Vec::as_slice).unwrap_or_default();
            let rows: Vec<_> =
                aliases.iter().map(|alias| (word(&alias["alias"]), word(&alias["entity"]))).collect();
            render::out(&if rows.is_empty() {
                "There are no aliases.".into()
            } else {
                render::table(&rows)
            })?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    show_answer(context, &answer)
}

pub fn entity(context: &Context, args: Entity) -> Result<ExitCode> {
    let (r#do, one, other) = match args {
        Entity::List => return show_answer(context, &context.call("entity_list", &EntitiesRequest {})?),
        Entity::Merge { one, into } => (EntityAct::Merge, one, into),
        Entity::Unmerge { name } => (EntityAct::Unmerge, name, String::new()),
        Entity::Remove { name } => (EntityAct::Remove, name, String::new()),
        Entity::Distinct { one, other } => (EntityAct::Distinct, one, other),
    };
    show_answer(context, &context.call("entity_join", &EntityRequest { r#do, one, other })?)
}
