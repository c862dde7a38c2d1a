//! `nacre-bench conflicts --stored`: whole memories, stored statement by statement in order of time, and which of them the store reports as
//! contradicting. Few of the pairs in a memory do, and many are about the same people and things, so that this is what a user meets.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use nacre::{Caller, Home, Settings, Time};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::args::Global;
use crate::render;

#[derive(Deserialize)]
struct Memory {
    who: String,
    statements: Vec<Statement>,
    /// The places of two statements, and how they conflict.
    conflicts: Vec<(usize, usize, String)>,
}

#[derive(Deserialize)]
struct Statement {
    text: String,
    date: String,
}

#[derive(Default, Serialize)]
struct Report {
    statements: usize,
    conflicts: usize,
    reported: usize,
    right: usize,
    #[serde(skip)]
    wrong: Vec<String>,
}

pub fn run(file: &Path, list: bool, global: &Global) -> Result<ExitCode> {
    let text = fs::read_to_string(file).with_context(|| format!("can't read `{}`", file.display()))?;
    let mut report = Report::default();
    for line in text.lines() {
        measure(&serde_json::from_str(line).context("a memory can't be read")?, &mut report)?;
    }
    if global.json {
        render::json(&report)?;
    } else {
        render::out(&table(&report, list))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(memory: &Memory, report: &mut Report) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let home = Home::new(folder.path(), Settings::default());
    let expected: BTreeSet<(usize, usize)> =
        memory.conflicts.iter().map(|(one, other, _)| (*one.min(other), *one.max(other))).collect();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut reported = BTreeSet::new();
    for (place, Statement { text, date }) in memory.statements.iter().enumerate() {
        let now = Time::parse(&format!("{date}T12:00:00Z")).with_context(|| format!("`{date}` is no day"))?;
        let person = Caller::person("person".parse()?, now);
        let mut group = home.group(&"main".parse()?, now)?;
        let mut view = group.enter(&person)?;
        let stored = nacre::call(&mut view, "memory_store", json!({ "content": text }))?;
        let number = stored.data["number"].as_i64().context("a stored memory has a number")?;
        places.insert(format!("id:{number}"), place);
        for other in stored.data["contradicts"].as_array().into_iter().flatten() {
            let id = other["id"].as_str().context("a contradiction has an id")?;
            if let Some(earlier) = places.get(id) {
                reported.insert((*earlier, place));
            }
        }
    }
    report.statements += memory.statements.len();
    report.conflicts += expected.len();
    report.reported += reported.len();
    report.right += reported.intersection(&expected).count();
    let mut show = |kind: &str, pairs: Vec<&(usize, usize)>| {
        for (one, other) in pairs {
            let text = |place: usize| &memory.statements[place].text;
            report.wrong.push(format!("{kind} ({}): {} | {}", memory.who, text(*one), text(*other)));
        }
    };
    show("false", reported.difference(&expected).collect());
    show("missed", expected.difference(&reported).collect());
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand")]
fn table(report: &Report, list: bool) -> String {
    let Report { statements, conflicts, reported, right, wrong } = report;
    let share = |whole: usize| if whole == 0 { 1.0 } else { *right as f64 / whole as f64 };
    let mut text = format!(
        "{statements} statements stored, {reported} conflicts reported, {right} of them right, {conflicts} expected\n\
         precision {:.3}, recall {:.3}\n",
        share(*reported),
        share(*conflicts)
    );
    if list {
        for pair in wrong {
            let _ = writeln!(text, "\n{pair}");
        }
    }
    text
}
