//! `plugin list` and `plugin test`: the configured plugins, whether they start, and their answers.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use nacre::settings::Hook;
use nacre::{Error, turn};
use serde_json::{Value, json};

use crate::args;
use crate::context::Context;
use crate::plugin::{PluginRequest, brief_question, turn_question};
use crate::render::{self, line, plain};

/// How long the command waits for a plugin. It is longer than for an agent, so that a slow plugin can be told from a silent one.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

pub fn run(context: &Context, args: &args::Plugin) -> Result<ExitCode> {
    match args {
        args::Plugin::List => list(context),
        args::Plugin::Test { name, message } => test(context, name, message),
    }
}

fn list(context: &Context) -> Result<ExitCode> {
    let settings = context.home.settings();
    let introduce = |name: &String| Some(context.plugins.named(name)?.ask(None, ANSWER_TIMEOUT));
    // All are started before waiting for the first.
    let asked: Vec<_> = settings.plugins.iter().map(|(name, of)| (name, of, introduce(name))).collect();
    let mut rows = Vec::new();
    for (name, of, asked) in &asked {
        let mut row =
            json!({ "name": name, "enabled": of.enabled, "command": of.command, "hooks": of.hooks });
        match asked.as_ref().map(PluginRequest::answer) {
            None => {}
            Some(Ok(answered)) => {
                let claims: Vec<Hook> = answered.about.hooks().collect();
                row["starts"] = true.into();
                row["about"] =
                    line(&format!("{} {}", answered.about.name, answered.about.version), 80).into();
                row["claims"] = json!(claims);
                row["took_ms"] = millis(answered.took);
            }
            Some(Err(problem)) => {
                row["starts"] = false.into();
                row["problem"] = problem.into();
            }
        }
        rows.push(row);
    }
    if context.global.json {
        render::json(&json!({ "plugins": rows }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        render::note("no plugin is configured; see docs/plugins.md");
    }
    let table = rows.iter().zip(&asked).map(|(row, (name, of, _))| {
        let what = match (row["starts"].as_bool(), &row["problem"]) {
            (Some(true), _) => {
                let took = row["took_ms"].as_u64().unwrap_or_default();
                let late = if took > of.time_limit_ms { ", which is too late" } else { "" };
                let claims = words(&row["claims"]);
                format!(
                    "{} claims {claims}; it may have {}; started in {took} of {} ms{late}",
                    row["about"].as_str().unwrap_or_default(),
                    words(&row["hooks"]),
                    of.time_limit_ms
                )
            }
            (_, Value::String(problem)) => problem.clone(),
            _ => "not enabled".into(),
        };
        ((*name).clone(), what)
    });
    render::out(&render::table(&table.collect::<Vec<_>>()))?;
    Ok(ExitCode::SUCCESS)
}

fn words(list: &Value) -> String {
    let words: Vec<&str> = list.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if words.is_empty() { "nothing".into() } else { words.join(" and ") }
}

fn millis(took: Duration) -> Value {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX).into()
}

fn test(context: &Context, name: &str, message: &str) -> Result<ExitCode> {
    let of = context.home.settings().plugin(name)?;
    let Some(plugin) = context.plugins.named(name) else {
        return Err(Error::PluginOff { name: name.into() }.into());
    };
    let session = context.session();
    let question = if of.hooks.contains(&Hook::Turn) {
        turn_question(plugin, &context.global.group, &session, &turn::heard(message))
    } else {
        brief_question(context.home.settings(), &context.global.group, &session)
    };
    let (hook, most) = match question.hook {
        Hook::Turn => ("turn", of.tokens),
        Hook::MemoryBrief => ("memory_brief", context.home.settings().brief.max_chars),
    };
    let asked = plugin.ask(Some(question), ANSWER_TIMEOUT);
    let answered = asked.answer().map_err(|problem| {
        for words in asked.errors().lines() {
            render::note(&format!("it says: {}", line(words, 200)));
        }
        Error::PluginFailed { name: name.into(), problem }
    })?;
    let said = answered.said.iter().map(|one| {
        let (text, reason) = (turn::harmless(&one.text, most), turn::harmless(&one.reason, most));
        json!({ "text": text, "reason": reason, "tokens": turn::tokens(&text) })
    });
    let lines: Vec<Value> = said.filter(|one| one["text"] != "").collect();
    if answered.took > plugin.limit() {
        render::note(&format!(
            "it took {} ms, and would have been left out after {}",
            answered.took.as_millis(),
            of.time_limit_ms
        ));
    }
    if context.global.json {
        render::json(&json!({ "hook": hook, "lines": lines, "took_ms": millis(answered.took) }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if lines.is_empty() {
        render::note("it adds nothing");
    }
    for one in &lines {
        let (text, reason) =
            (one["text"].as_str().unwrap_or_default(), one["reason"].as_str().unwrap_or_default());
        let reason = if reason.is_empty() { String::new() } else { format!("  ({reason})") };
        render::out(&plain(&format!("- {text}{reason}")))?;
    }
    Ok(ExitCode::SUCCESS)
}
