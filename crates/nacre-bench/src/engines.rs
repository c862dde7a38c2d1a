//! `nacre-bench engines`: do both engines give the same answers? A public set is imported into a folder and into a PostgreSQL
//! database, and every question is asked on both. The hits must be the same: ids, order, scores and reasons.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use nacre::{Caller, Group, Home, Settings, Time, call};
use serde_json::{Value, json};

use crate::args::Global;
use crate::clock::percentile;
use crate::context::now;
use crate::quality::{HITS, Question, Turn, file_of, lines, questions, transcript};
use crate::render;

/// The answers of one engine.
#[derive(Default)]
struct Answers {
    milliseconds: Vec<f64>,
    import_seconds: f64,
}

pub fn run(set: &str, data: &Path, half: &str, url: &str, global: &Global) -> Result<ExitCode> {
    let file = file_of(set)?;
    let questions = questions(data, file, half)?;
    let mut corpus: BTreeMap<String, Vec<Turn>> = BTreeMap::new();
    for line in lines(&data.join(format!("{file}.corpus.jsonl.zst")))? {
        let turn: Turn = serde_json::from_str(&line)?;
        corpus.entry(turn.scope.clone().unwrap_or_default()).or_default().push(turn);
    }
    let caller = Caller::person("bench".parse()?, now());
    let password = std::env::var("PGPASSWORD").ok();
    let (mut asked, mut different) = (0usize, Vec::new());
    let mut engines = [Answers::default(), Answers::default()];
    for (number, (scope, questions)) in questions.iter().enumerate() {
        render::progress(&format!("{file}: {} of the histories", number + 1));
        let turns = corpus.get(scope).with_context(|| format!("the corpus has no `{scope}`"))?;
        let folder = tempfile::tempdir()?;
        let home = Home::new(folder.path(), Settings::default());
        let server = Home::new(folder.path().join("server"), Settings::default());
        let server = server.with_server(url, password.as_deref())?;
        if number == 0 {
            server.initialise_server()?;
        }
        let name = format!("bench-{}-{number}", caller.now.as_millis()).parse()?;
        let mut groups = [home.group(&"main".parse()?, caller.now)?, server.group(&name, caller.now)?];
        for (group, engine) in groups.iter_mut().zip(&mut engines) {
            let started = Instant::now();
            let text = transcript(turns);
            nacre::session::import_transcript(&mut group.enter(&caller)?, text.as_bytes(), "bench", |_| {})?;
            engine.import_seconds += started.elapsed().as_secs_f64();
        }
        for question in questions {
            asked += 1;
            let mut found = Vec::new();
            for (group, engine) in groups.iter_mut().zip(&mut engines) {
                let started = Instant::now();
                found.push(ask(group, &caller, question)?);
                engine.milliseconds.push(started.elapsed().as_secs_f64() * 1000.0);
            }
            if found[0] != found[1] {
                different.push(question.query.clone());
            }
        }
        drop(groups);
        server.remove_group(&name)?;
    }
    render::progress("");
    ensure!(asked > 0, "the set has no questions");
    let p50 = |engine: &Answers| percentile(&engine.milliseconds, 50);
    let same = asked - different.len();
    if global.json {
        let times = engines
            .each_ref()
            .map(|engine| json!({ "search_p50_ms": p50(engine), "import_seconds": engine.import_seconds }));
        render::json(
            &json!({ "set": set, "questions": asked, "same": same, "different": different, "sqlite": times[0], "postgres": times[1] }),
        )?;
    } else {
        render::out(&format!(
            "{set}: {same} of {asked} questions have the same hits in the same order with the same scores\n\
             search p50: SQLite {:.2} ms, PostgreSQL {:.2} ms; import: {:.1} s and {:.1} s\n{}",
            p50(&engines[0]),
            p50(&engines[1]),
            engines[0].import_seconds,
            engines[1].import_seconds,
            different.join("\n")
        ))?;
    }
    Ok(if same == asked { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the hits with everything that is said of them.
fn ask(group: &mut Group, caller: &Caller, question: &Question) -> Result<Value> {
    let mut request =
        json!({ "query": question.query, "scope": ["sessions"], "limit": HITS, "explain": true });
    if let Some(at) = question.timestamp.as_deref().and_then(Time::parse) {
        request["at"] = at.to_string().into();
    }
    let mut answer = call(&mut group.enter(caller)?, "memory_search", request)?;
    Ok(answer.data["hits"].take())
}
