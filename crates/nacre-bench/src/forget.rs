//! `nacre-bench forget`: deletion and supersession by rules alone, after ForgetEval-Adv: one home for each case, through the tools that an
//! agent and a person have.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use nacre::{Caller, Home, Settings, Time, View};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::args::Global;
use crate::render;

const CASES: &str = include_str!("../data/forget/cases.jsonl");

/// The number of hits in which an answer must be.
const TOP: usize = 5;

#[derive(Deserialize)]
struct Case {
    family: String,
    facts: Vec<String>,
    r#do: Vec<Vec<String>>,
    ask: String,
    has: Vec<String>,
    no: Vec<String>,
}

#[derive(Default, Serialize)]
struct Count {
    cases: usize,
    passed: usize,
}

pub fn run(file: Option<&Path>, list: bool, global: &Global) -> Result<ExitCode> {
    let given = file.map(fs::read_to_string).transpose().context("the file of cases can't be read")?;
    let mut families: BTreeMap<String, Count> = BTreeMap::new();
    let mut failed = Vec::new();
    for line in given.as_deref().unwrap_or(CASES).lines() {
        let case: Case = serde_json::from_str(line).context("a case can't be read")?;
        let count = families.entry(case.family.clone()).or_default();
        count.cases += 1;
        match check(&case)? {
            None => count.passed += 1,
            Some(why) => failed.push(format!("{}: {} ({why})", case.family, case.facts[0])),
        }
    }
    if global.json {
        render::json(&families)?;
        return Ok(ExitCode::SUCCESS);
    }
    let all = families.values().map(|count| count.cases).sum::<usize>();
    let passed = families.values().map(|count| count.passed).sum::<usize>();
    let mut text = String::new();
    for (family, count) in &families {
        let _ = writeln!(text, "{family:<26} {:>3} of {:>3}", count.passed, count.cases);
    }
    #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
    let share = passed as f64 * 100.0 / all as f64;
    let _ = write!(text, "{:<26} {passed:>3} of {all:>3} ({share:.1} %)", "all");
    if list {
        let _ = write!(text, "\n{}", failed.join("\n"));
    }
    render::out(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns why a case fails.
fn check(case: &Case) -> Result<Option<String>> {
    let folder = tempfile::tempdir()?;
    let home = Home::new(folder.path(), Settings::default());
    let now = Time::parse("2026-01-15T12:00:00Z").context("a time")?;
    let person = Caller::person("person".parse()?, now);
    let mut group = home.group(&"main".parse()?, now)?;
    let mut view = group.enter(&person)?;
    for fact in &case.facts {
        nacre::call(&mut view, "memory_store", json!({ "content": fact }))?;
    }
    for step in &case.r#do {
        match &step.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["supersede", words, new] => {
                let old = first(&mut view, words)?;
                nacre::call(&mut view, "memory_store", json!({ "content": new, "supersedes": old }))?;
            }
            ["purge" | "release", words] => {
                let gone =
                    nacre::call(&mut view, "memory_forget", json!({ "matter": words, "confirm": true }))?;
                if gone.data["found"].as_array().is_none_or(Vec::is_empty)
                    && let Some(id) = first(&mut view, words)?
                {
                    nacre::call(&mut view, "memory_delete", json!({ "id": id }))?;
                }
            }
            step => bail!("no such step: {step:?}"),
        }
    }
    let answer = found(&mut view, &case.ask)?;
    if let Some(missing) = case.has.iter().find(|text| !answer.contains(&text.to_lowercase())) {
        return Ok(Some(format!("`{missing}` is not found")));
    }
    for question in [&case.ask].into_iter().chain(&case.no) {
        let answer = found(&mut view, question)?;
        if let Some(left) = case.no.iter().find(|text| answer.contains(&text.to_lowercase())) {
            return Ok(Some(format!("`{left}` is still found")));
        }
    }
    Ok(None)
}

/// Returns the id of the first memory that a search finds.
fn first(view: &mut View<'_>, words: &str) -> Result<Option<Value>> {
    let found =
        nacre::call(view, "memory_search", json!({ "query": words, "limit": 1, "scope": ["entries"] }))?;
    Ok(found.data["hits"].get(0).map(|hit| hit["id"].clone()))
}

/// Returns the texts of the first hits, in lower case.
fn found(view: &mut View<'_>, question: &str) -> Result<String> {
    let found =
        nacre::call(view, "memory_search", json!({ "query": question, "limit": TOP, "scope": ["entries"] }))?;
    let hits = found.data["hits"].as_array().cloned().unwrap_or_default();
    let texts: Vec<&str> = hits.iter().filter_map(|hit| hit["text"].as_str()).collect();
    Ok(texts.join("\n").to_lowercase())
}
