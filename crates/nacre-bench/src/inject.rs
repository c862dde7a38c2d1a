//! `nacre-bench inject`: turn context on a set of our own, through the same calls that a host makes. Half of the messages need a
//! memory, half need nothing.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use nacre::settings::Layer;
use nacre::turn::{self, Exchange, Request};
use nacre::{Caller, Group, Home, Settings, Time, call};
use serde::Deserialize;
use serde_json::json;

use crate::args::Global;
use crate::clock::percentile;
use crate::render;

const MEMORY: &str = include_str!("../data/inject/memory.jsonl");
const TUNED: &str = include_str!("../data/inject/tuned.jsonl");
const ASIDE: &str = include_str!("../data/inject/aside.jsonl");

/// The time of the messages.
const NOW: &str = "2026-01-15T12:00:00Z";

/// Additional output besides the scores.
#[derive(Clone, Copy)]
pub struct Show {
    pub wrong: bool,
    pub evidence: bool,
}

/// One item of the memory.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Item {
    Entry {
        id: String,
        r#type: String,
        text: String,
        at: String,
    },
    Exchange {
        id: String,
        session: String,
        user: String,
        agent: String,
        at: String,
    },
    /// A lesson from a correction that followed a question.
    Lesson {
        id: String,
        session: String,
        before: String,
        user: String,
        agent: String,
        at: String,
    },
    Document {
        id: String,
        path: String,
        text: String,
    },
    Policy {
        id: String,
        number: String,
        title: String,
        trigger: String,
        gate: String,
        reason: String,
        source: String,
    },
}

/// A message, and the memories it needs.
#[derive(Deserialize)]
struct Message {
    message: String,
    needs: Vec<String>,
    /// Memories that are acceptable too.
    #[serde(default)]
    also: Vec<String>,
}

/// The result for the messages of one half.
#[derive(Default)]
struct HalfResult {
    needed: usize,
    injected: usize,
    lines: usize,
    fitting: usize,
    silent: usize,
    quiet: usize,
    tokens: Vec<f64>,
    /// Of the turns that added something.
    spoken: Vec<f64>,
    milliseconds: Vec<f64>,
    wrong: Vec<String>,
}

pub fn run(half: &str, show: Show, global: &Global) -> Result<ExitCode> {
    let halves: &[(&str, &str)] = match half {
        "tuned" => &[("tuned", TUNED)],
        "aside" => &[("aside", ASIDE)],
        "all" => &[("tuned", TUNED), ("aside", ASIDE)],
        other => bail!("there is no half `{other}`: tuned, aside or all"),
    };
    let folder = tempfile::tempdir()?;
    let layers = ["telemetry.events=off".to_owned()]
        .iter()
        .chain(&global.set)
        .map(|pair| Layer::from_pair("the benchmark", pair))
        .collect::<Result<Vec<_>, _>>()?;
    let home = Home::new(folder.path(), Settings::from_layers(global.profile.as_deref(), &layers)?);
    let now = Time::parse(NOW).context("a time")?;
    let mut group = home.group(&"main".parse()?, now)?;
    let names = remember(&mut group, now)?;
    let mut report = Vec::new();
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:6} {:>5} {:>7} {:>9} {:>8} {:>14} {:>12} {:>12}  ms p50/p99",
        "half", "turns", "recall", "precision", "silence", "tokens/useful", "median", "max"
    );
    for (name, lines) in halves {
        let found = measure(&mut group, now, name, lines, &names, show)?;
        let share = |part: usize, whole: usize| {
            f64::from(u32::try_from(part).unwrap_or(0)) / f64::from(u32::try_from(whole.max(1)).unwrap_or(1))
        };
        let (recall, precision) = (share(found.injected, found.needed), share(found.fitting, found.lines));
        let silence = share(found.silent, found.quiet);
        let useful = found.tokens.iter().sum::<f64>() / f64::from(u32::try_from(found.injected.max(1))?);
        let (median, max) = (percentile(&found.spoken, 50), found.tokens.iter().copied().fold(0.0, f64::max));
        let (p50, p99) = (percentile(&found.milliseconds, 50), percentile(&found.milliseconds, 99));
        let _ = writeln!(
            text,
            "{name:6} {:>5} {recall:>7.3} {precision:>9.3} {silence:>8.3} {useful:>14.1} {median:>12.0} {max:>12.0}  {p50:.2} / {p99:.2}",
            found.tokens.len()
        );
        report.push(json!({
            "half": name, "turns": found.tokens.len(), "recall": recall, "precision": precision, "silence": silence,
            "tokens_per_useful_line": useful, "median_tokens": median, "max_tokens": max, "ms_p50": p50, "ms_p99": p99,
        }));
        if show.wrong {
            found.wrong.iter().for_each(|line| {
                let _ = writeln!(text, "  {line}");
            });
        }
    }
    if global.json {
        render::json(&report)?
    } else {
        render::out(&text)?
    }
    Ok(ExitCode::SUCCESS)
}

/// Stores everything in the memory. Returns the names by source.
fn remember(group: &mut Group, now: Time) -> Result<BTreeMap<String, String>> {
    let mut names = BTreeMap::new();
    let mut policies = String::from("# Gating policies\n");
    for line in MEMORY.lines() {
        match serde_json::from_str(line).context("a line of memory.jsonl")? {
            Item::Entry { id, r#type, text, at } => {
                let caller = Caller::person("bench".parse()?, Time::parse(&at).context("a time")?);
                let stored = call(
                    &mut group.enter(&caller)?,
                    "memory_store",
                    json!({ "content": text, "type": r#type }),
                )?;
                names.insert(stored.data["id"].as_str().unwrap_or_default().to_owned(), id);
            }
            Item::Exchange { id, session, user, agent, at } => {
                let key = archive(group, &session, &at, user, agent)?;
                names.insert(format!("{session}/{key}"), id);
            }
            Item::Lesson { id, session, before, user, agent, at } => {
                archive(group, &session, &at, before, "Here it is.".into())?;
                archive(group, &session, &at, user, agent)?;
                let caller = Caller::person("bench".parse()?, now);
                let mut view = group.enter(&caller)?;
                let newest = turn::lessons(&view)?.first().map(|lesson| lesson.number);
                let newest = newest.context("a lesson was learned")?;
                // A lesson waits for the person.
                turn::confirm(&mut view, newest)?;
                names.insert(format!("lesson:{newest}"), id);
            }
            Item::Document { id, path, text } => {
                let file = group.folder().join(&path);
                std::fs::create_dir_all(file.parent().context("a folder")?)?;
                std::fs::write(&file, text)?;
                names.insert(path, id);
            }
            Item::Policy { id, number, title, trigger, gate, reason, source } => {
                let _ = writeln!(
                    policies,
                    "\n## {number}: {title}\n- Trigger: {trigger}\n- Gate: {gate}\n- Reason: {reason}\n- Source: {source}"
                );
                names.insert(format!("policy:{number}"), id);
            }
        }
    }
    std::fs::write(group.folder().join("memory/gating-policies.md"), policies)?;
    nacre::workspace::sync(&mut group.enter(&Caller::person("bench".parse()?, now))?)?;
    Ok(names)
}

fn archive(group: &mut Group, session: &str, at: &str, user: String, agent: String) -> Result<String> {
    let at = Time::parse(at).context("a time")?;
    let caller = Caller::agent(session.parse()?, at);
    Ok(turn::archive(&mut group.enter(&caller)?, &Exchange { user, agent, at })?.id)
}

fn measure(
    group: &mut Group,
    now: Time,
    half: &str,
    lines: &str,
    names: &BTreeMap<String, String>,
    show: Show,
) -> Result<HalfResult> {
    let mut measured = HalfResult::default();
    for (number, line) in lines.lines().enumerate() {
        let Message { message, needs, also } = serde_json::from_str(line).context("a line of messages")?;
        // Each in a session of its own, so that earlier injections do not suppress later ones.
        let caller = Caller::agent(format!("{half}-{number}").parse()?, now);
        let started = Instant::now();
        let request = Request { explain: show.evidence, ..Request::new(message.clone()) };
        let turn = turn::run(&mut group.enter(&caller)?, &request)?;
        measured.milliseconds.push(started.elapsed().as_secs_f64() * 1000.0);
        for one in &turn.considered {
            let source = name(&one.source, names);
            let (need, may) = (needs.contains(&source), also.contains(&source));
            let evidence: Vec<(&str, f64)> =
                one.evidence.iter().map(|part| (part.part, part.value)).collect();
            render::json(
                &json!({ "message": message, "source": source, "needed": need, "also": may, "score": one.score, "evidence": evidence }),
            )?;
        }
        let tokens = f64::from(u32::try_from(turn.tokens)?);
        measured.tokens.push(tokens);
        let lines = turn.blocks.iter().flat_map(|block| &block.lines);
        let found: Vec<String> = lines.map(|line| of_line(line, names)).collect();
        let got: HashSet<&str> = found.iter().map(String::as_str).collect();
        if needs.is_empty() {
            measured.quiet += 1;
            measured.silent += usize::from(found.iter().all(|one| also.contains(one)));
        } else {
            measured.needed += needs.len();
            measured.injected += needs.iter().filter(|need| got.contains(need.as_str())).count();
        }
        if !found.is_empty() {
            measured.spoken.push(tokens);
        }
        measured.lines += found.len();
        measured.fitting += found.iter().filter(|one| needs.contains(one) || also.contains(one)).count();
        let missing: Vec<&String> = needs.iter().filter(|need| !got.contains(need.as_str())).collect();
        let extra: Vec<&String> =
            found.iter().filter(|one| !needs.contains(one) && !also.contains(one)).collect();
        if !missing.is_empty() || !extra.is_empty() {
            measured.wrong.push(format!("{message}  missing {missing:?}, not needed {extra:?}"));
        }
    }
    Ok(measured)
}

/// Returns the name of a line's source; for a fact, the document that it was read from.
fn of_line(line: &turn::Line, names: &BTreeMap<String, String>) -> String {
    let document = names
        .iter()
        .find(|(path, _)| line.source.starts_with("fact") && line.reason.contains(&format!("; {path}:")));
    document.map_or_else(|| name(&line.source, names), |(_, name)| name.clone())
}

/// Returns the name of a line's source; for a document, its file.
fn name(source: &str, names: &BTreeMap<String, String>) -> String {
    let file = source.split('#').next().unwrap_or(source);
    names.get(source).or_else(|| names.get(file)).cloned().unwrap_or_else(|| source.to_owned())
}
