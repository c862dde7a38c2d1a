//! Entries and the brief, for people.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use nacre::call::{BriefRequest, GetRequest, SearchRequest, StoreRequest, UpdateRequest};
use nacre::{Answer, EntryRef, Tags, Time};
use serde_json::{Value, json};

use super::input::text_or_stdin;
use crate::args::{Brief, Search, Store, Update};
use crate::context::Context;
use crate::plugin;
use crate::render::{self, Paint, age, line, plain};

pub fn store(context: &Context, args: Store) -> Result<ExitCode> {
    let request = StoreRequest {
        content: text_or_stdin(&args.text)?,
        r#type: args.r#type,
        tags: Tags::new(args.tags),
        supersedes: args.supersedes,
        private: args.private.then_some(true),
    };
    context.show(&context.run(request)?)?;
    Ok(ExitCode::SUCCESS)
}

pub fn update(context: &Context, args: Update) -> Result<ExitCode> {
    let request = UpdateRequest {
        id: args.id,
        content: args.text.as_deref().map(text_or_stdin).transpose()?,
        tags: (args.no_tags || !args.tags.is_empty()).then(|| Tags::new(args.tags)),
        r#type: args.r#type,
        private: (args.private || args.public).then_some(args.private),
    };
    let answer = context.call("memory_update", &request)?;
    show_answer(context, &answer)
}

/// A tool that takes an entry and nothing else.
pub fn named(context: &Context, tool: &str, id: &EntryRef) -> Result<ExitCode> {
    let answer = context.call(tool, &json!({ "id": id }))?;
    show_answer(context, &answer)
}

/// Shows an answer as it is: its data to a program, its text to a person.
pub fn show_answer(context: &Context, answer: &Answer) -> Result<ExitCode> {
    if context.global.json {
        render::json(&answer.data)?
    } else {
        render::out(&plain(&answer.text))?
    }
    Ok(ExitCode::SUCCESS)
}

pub fn brief(context: &Context, args: &Brief) -> Result<ExitCode> {
    let answer =
        context.call("memory_brief", &BriefRequest { include_provenance: args.include_provenance })?;
    plugin::note_brief(&answer);
    show_answer(context, &answer)
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
    show_found(context, &request)
}

/// Searches and shows what was found.
pub fn show_found(context: &Context, request: &SearchRequest) -> Result<ExitCode> {
    let answer = context.call("memory_search", request)?;
    if context.global.json {
        render::json(&answer.data)?;
        return Ok(ExitCode::SUCCESS);
    }
    let hits = answer.data["hits"].as_array().context("a search answers with hits")?;
    if hits.is_empty() {
        render::out(&plain(&answer.text))?;
        hint_other_groups(context);
    } else {
        for missing in answer.data["missing"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            render::note(&format!("missing: {missing}"));
        }
    }
    let paint = Paint::stdout();
    let mut text = String::new();
    for hit in hits {
        text.push_str(&hit_lines(hit, request.explain, context.now(), paint));
    }
    let standing = answer.data["standing"].as_array().into_iter().flatten();
    for (place, hit) in standing.enumerate() {
        if place == 0 {
            text.push_str(&paint.dim("standing instructions and preferences that may apply:\n"));
        }
        text.push_str(&hit_lines(hit, request.explain, context.now(), paint));
    }
    if !text.is_empty() {
        render::out(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn hit_lines(hit: &Value, explain: bool, now: Time, paint: Paint) -> String {
    let word = |value: &Value| plain(value.as_str().unwrap_or_default());
    let list = |value: &Value| value.as_array().into_iter().flatten().map(word).collect::<Vec<_>>();
    let (head, kind) = match (hit["number"].as_i64(), hit["path"].as_str()) {
        (Some(number), _) => (format!("[id:{number}]"), word(&hit["type"])),
        _ if hit["kind"] == "item" => ("[item]".to_owned(), word(&hit["item"])),
        _ if hit["kind"] == "task" => ("[task]".to_owned(), word(&hit["status"])),
        (None, Some(_)) => ("[doc]".to_owned(), word(&hit["kind"])),
        (None, None) if matches!(hit["kind"].as_str(), Some("fact" | "relation")) => {
            ("[graph]".to_owned(), word(&hit["kind"]))
        }
        (None, None) => ("[msg]".to_owned(), word(&hit["author"])),
    };
    let tags: String = list(&hit["tags"]).iter().map(|tag| format!(" #{}", tag.replace(' ', "_"))).collect();
    let mut text = format!(
        "{} {} {}{}{}\n",
        paint.bold(&format!("{head:7}")),
        paint.cyan(&format!("{:11}", line(&kind, 11))),
        line(&word(&hit["text"]), render::width().saturating_sub(22)),
        paint.dim(&tags),
        paint.dim(&format!("  ({})", age(now, &hit["at"]))),
    );
    let mut under = |line: String| text.push_str(&paint.dim(&format!("{:20}{line}\n", "")));
    if let Some(newer) = hit["superseded_by"].as_str() {
        under(format!("superseded by {}", plain(newer)));
    }
    if let Some(path) = hit["path"].as_str() {
        let of = hit["collection"].as_str().map(|name| format!("{}: ", plain(name))).unwrap_or_default();
        let of = hit["project"].as_str().map_or(of, |name| format!("{}: ", plain(name)));
        let lines = match (&hit["lines"][0], &hit["lines"][1]) {
            (first, _) if hit["kind"] == "item" => first.to_string(),
            (first, last) => format!("{first}-{last}"),
        };
        under(format!("{of}{}:{lines}", line(path, usize::MAX)));
    }
    if hit["kind"] == "task" {
        let of = hit["milestone"].as_str().map(|name| format!(" of {}", line(name, 40))).unwrap_or_default();
        under(format!("{}{of}, priority {}", word(&hit["id"]), hit["priority"]));
    }
    for cite in hit["cites"].as_array().into_iter().flatten() {
        under(format!("{}:{}", line(cite["path"].as_str().unwrap_or_default(), usize::MAX), cite["line"]));
    }
    if let Some(session) = hit["session"].as_str() {
        under(format!("session {}, message {}", plain(session), word(&hit["message"])));
    }
    if explain {
        for why in hit["why"].as_array().into_iter().flatten() {
            let words = list(&why["words"]).join(", ");
            let similarity = why["similarity"].as_f64().map(|near| format!(" {near:.2}")).unwrap_or_default();
            under(format!("found by {}{similarity} {words}", word(&why["lane"])));
        }
        let parts = hit["explain"].as_array().cloned().unwrap_or_default();
        let total: f64 = parts.iter().filter_map(|part| part["value"].as_f64()).sum();
        under(format!("score {} of {total:.4}", hit["score"]));
        for part in &parts {
            under(format!("  {:>8.4}  {}", part["value"].as_f64().unwrap_or_default(), word(&part["part"])));
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

pub fn show(context: &Context, id: &EntryRef) -> Result<ExitCode> {
    let answer = context.call("memory_get", &GetRequest { id: Some(id.clone()), ..GetRequest::default() })?;
    if context.global.json {
        render::json(&answer.data)?;
        return Ok(ExitCode::SUCCESS);
    }
    let entry = &answer.data;
    let provenance = &entry["provenance"];
    let tags = entry["tags"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut rows = vec![
        ("id", text(&entry["id"])),
        ("number", text(&entry["number"])),
        ("type", text(&entry["type"])),
        ("tags", tags),
        ("score", text(&entry["score"])),
        (
            "stored",
            format!(
                "{} by {} in session {}",
                text(&provenance["timestamp"]),
                text(&provenance["source"]),
                text(&provenance["session"])
            ),
        ),
    ];
    for (name, key) in [
        ("confirmed", "last_hit_at"),
        ("last shown", "last_returned_at"),
        ("supersedes", "supersedes"),
        ("superseded by", "superseded_by"),
        ("superseded", "superseded_at"),
        ("archived", "archived_at"),
    ] {
        if let Some(value) = entry[key].as_str() {
            rows.push((name, value.to_owned()));
        }
    }
    let imported = &entry["imported"];
    if let Some(format) = imported["format"].as_str() {
        let told = ["path", "line", "section", "id"].into_iter().filter_map(|key| match &imported[key] {
            Value::Null => None,
            value => Some(format!("{key} {}", line(&text(value), 200))),
        });
        let told: Vec<String> = told.collect();
        rows.push((
            "imported",
            format!("{} from {format}: {}", text(&imported["imported_at"]), told.join(", ")),
        ));
        rows.push(("written by", text(&imported["author"])));
        if let Some(at) = imported["at"].as_str() {
            rows.push(("its own time", at.to_owned()));
        }
    }
    let rows: Vec<(String, String)> =
        rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    render::out(&format!(
        "{}\n\n{}",
        plain(entry["content"].as_str().unwrap_or_default()),
        render::table(&rows)
    ))?;
    Ok(ExitCode::SUCCESS)
}

pub fn history(context: &Context, id: &EntryRef) -> Result<ExitCode> {
    let answer = context.call("memory_get", &GetRequest { id: Some(id.clone()), ..GetRequest::default() })?;
    if context.global.json {
        render::json(&answer.data)?;
    } else {
        let chain = answer.data["chain"].as_array().map_or(0, Vec::len);
        let versions = answer.data["versions"].as_array().map_or(0, Vec::len);
        render::out(&plain(&answer.text))?;
        if chain + versions == 0 {
            render::out("It has replaced nothing and reads as it was first stored.")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
