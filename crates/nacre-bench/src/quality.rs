//! `nacre-bench quality`: retrieval quality on public conversation sets, through the public calls: the corpus is imported with
//! `session import`, and every question is a `memory_search`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use nacre::settings::Layer;
use nacre::{Caller, Home, SCORE_PARTS, Settings, Time, call};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::args::Global;
use crate::clock::percentile;
use crate::context::{embedder, home_path, now};
use crate::measure::{NAMES, Row, better, mean, measure};
use crate::render;

/// The sets: the name on the command line, and the name of the files.
const SETS: &[(&str, &str)] = &[
    ("locomo", "locomo_turn"),
    ("longmemeval", "longmemeval_s_turn"),
    ("beam", "beam_100k_turn"),
    ("conflict", "conflict_6k"),
    ("scifact", "scifact"),
];
/// Sets of other languages and of code. `all` does not include them.
const MORE_SETS: &[(&str, &str)] = &[
    ("xquad-en", "xquad_en"),
    ("xquad-de", "xquad_de"),
    ("xquad-es", "xquad_es"),
    ("xquad-zh", "xquad_zh"),
    ("xquad-cross", "xquad_cross_en"),
    ("ntrex", "ntrex"),
    ("jsquad", "jsquad"),
    ("cosqa", "cosqa"),
];
/// Parts of a score that messages do not have.
const PARTS_WITHOUT_MESSAGES: &[&str] = &["relevance", "reinforcement", "recency", "age", "graph"];
/// Hits per question.
pub(super) const HITS: usize = 50;

pub struct Options {
    pub half: String,
    pub beside: Beside,
    pub categories: bool,
}

/// Variants to measure besides the current settings.
#[derive(Clone, PartialEq, Eq)]
pub enum Beside {
    Nothing,
    /// Full-text search only.
    Words,
    /// Each part left out, and full-text search only.
    EachPart,
    /// One setting changed, as `KEY=VALUE`.
    Setting(String),
}

/// The variants that a page compares, by their names in the results.
pub const ALL_PARTS: &str = "all parts";
pub const WORDS_ALONE: &str = "words alone";

#[derive(Deserialize)]
pub(super) struct Turn {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) session: Option<String>,
    timestamp: Option<String>,
    pub(super) speaker: Option<String>,
    pub(super) scope: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Question {
    id: String,
    pub(super) query: String,
    category: String,
    pub(super) gold: Vec<String>,
    #[serde(default)]
    gold_sessions: Vec<String>,
    scope: Option<String>,
    pub(super) timestamp: Option<String>,
    #[serde(default)]
    abstain: bool,
}

/// The results of one variant of the settings on one set.
#[derive(Default)]
struct Results {
    turns: Vec<(String, Row)>,
    sessions: Vec<Row>,
    milliseconds: Vec<f64>,
}

impl Results {
    fn of_turns(&self) -> Vec<Row> {
        self.turns.iter().map(|(_, row)| *row).collect()
    }

    fn of_sessions(&self) -> Vec<Row> {
        self.sessions.clone()
    }
}

pub fn run(set: &str, data: &Path, options: &Options, global: &Global) -> Result<ExitCode> {
    let (report, text) = measure_sets(set, data, options, global)?;
    if global.json {
        render::json(&report)?
    } else {
        render::out(&text)?
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures one set or all. Returns an object for each set, variant and level, and the same as a table.
pub fn measure_sets(
    set: &str,
    data: &Path,
    options: &Options,
    global: &Global,
) -> Result<(Vec<Value>, String)> {
    let more = MORE_SETS.iter().filter(|(name, _)| set == *name);
    let wanted: Vec<_> = SETS.iter().filter(|(name, _)| set == "all" || set == *name).chain(more).collect();
    ensure!(
        !wanted.is_empty(),
        "there is no set `{set}`; the sets are {}, {}, all",
        names(SETS),
        names(MORE_SETS)
    );
    let mut variants: Vec<(String, Vec<String>)> = vec![(ALL_PARTS.into(), Vec::new())];
    if options.beside == Beside::EachPart {
        variants.extend(
            SCORE_PARTS
                .iter()
                .filter(|part| !PARTS_WITHOUT_MESSAGES.contains(part))
                .map(|part| (format!("without {part}"), vec![format!("search.without=[\"{part}\"]")])),
        );
    }
    match &options.beside {
        Beside::Nothing => {}
        Beside::Words | Beside::EachPart => {
            variants.push((WORDS_ALONE.into(), vec!["search.fusion=words".into()]));
        }
        Beside::Setting(pair) => variants.push((pair.clone(), vec![pair.clone()])),
    }
    let mut report = Vec::new();
    let mut text = String::new();
    for (name, file) in wanted {
        let started = Instant::now();
        let (results, ingest) = measure_set(data, file, &variants, options, global)?;
        render::progress("");
        let _ = writeln!(
            text,
            "{name} ({} half), {:.0} messages imported per second, {:.0} s",
            options.half,
            ingest,
            started.elapsed().as_secs_f64()
        );
        let _ = writeln!(
            text,
            "{:26} {:>4}  {}  ms p50/p99",
            "",
            "n",
            NAMES.map(|name| format!("{name:>11}")).join("")
        );
        for (level, rows) in
            [("turns", Results::of_turns as fn(&Results) -> Vec<Row>), ("sessions", Results::of_sessions)]
        {
            let whole = rows(&results[0]);
            for ((variant, _), results) in variants.iter().zip(&results) {
                let rows = rows(results);
                if rows.is_empty() {
                    continue;
                }
                let times = (level == "turns").then_some(results.milliseconds.as_slice());
                line(&mut text, &format!("{variant}, {level}"), &rows, times);
                let mut found = json!({ "set": name, "half": options.half, "variant": variant, "level": level, "n": rows.len(), "measures": named(mean(&rows)) });
                if variant != ALL_PARTS {
                    let [by, low, high] = better(&whole, &rows);
                    if options.beside != Beside::EachPart {
                        for (what, row) in
                            [("  all parts better by", by), ("    95 % from", low), ("    to", high)]
                        {
                            let _ = writeln!(text, "{what:26} {:>4}  {}", "", columns(row));
                        }
                    }
                    found["all_parts_better"] =
                        json!({ "by": named(by), "from": named(low), "to": named(high) });
                }
                report.push(found);
            }
        }
        if options.categories {
            let mut by: BTreeMap<&str, Vec<Row>> = BTreeMap::new();
            for (category, row) in &results[0].turns {
                by.entry(category).or_default().push(*row);
            }
            for (category, rows) in by {
                line(&mut text, &format!("  {category}"), &rows, None);
            }
        }
        text.push('\n');
    }
    Ok((report, text))
}

/// Returns the name of the files of a set.
pub(super) fn file_of(set: &str) -> Result<&'static str> {
    let found = SETS.iter().chain(MORE_SETS).find(|(name, _)| *name == set);
    found.map(|(_, file)| *file).with_context(|| format!("there is no set `{set}`"))
}

fn line(text: &mut String, name: &str, rows: &[Row], times: Option<&[f64]>) {
    let mean = columns(mean(rows));
    let times = times.map(|times| format!("  {:.2} / {:.2}", percentile(times, 50), percentile(times, 99)));
    let _ = writeln!(text, "{name:26} {:>4}  {mean}{}", rows.len(), times.unwrap_or_default());
}

fn columns(row: Row) -> String {
    row.map(|value| format!("{value:>11.4}")).join("")
}

fn named(row: Row) -> Value {
    NAMES.iter().zip(row).map(|(name, value)| ((*name).to_owned(), Value::from(value))).collect()
}

fn measure_set(
    data: &Path,
    file: &str,
    variants: &[(String, Vec<String>)],
    options: &Options,
    global: &Global,
) -> Result<(Vec<Results>, f64)> {
    let questions = questions(data, file, &options.half)?;
    let mut corpus: BTreeMap<String, Vec<Turn>> = BTreeMap::new();
    for line in lines(&data.join(format!("{file}.corpus.jsonl.zst")))? {
        let turn: Turn = serde_json::from_str(&line)?;
        corpus.entry(turn.scope.clone().unwrap_or_default()).or_default().push(turn);
    }
    let mut results: Vec<Results> = variants.iter().map(|_| Results::default()).collect();
    let (mut messages, mut seconds) = (0.0, 0.0);
    let scopes: Vec<(&String, &Vec<Question>)> = questions.iter().collect();
    for (number, (scope, questions)) in scopes.iter().enumerate() {
        render::progress(&format!("{file}: {} of {} histories", number + 1, scopes.len()));
        let turns = corpus.get(*scope).with_context(|| format!("the corpus has no `{scope}`"))?;
        let folder = tempfile::tempdir()?;
        let caller = Caller::person("bench".parse()?, now());
        let homes: Vec<Home> = variants
            .iter()
            .map(|(_, settings)| {
                let layers = ["telemetry.events=off".to_owned()]
                    .iter()
                    .chain(&global.set)
                    .chain(settings)
                    .map(|pair| Layer::from_pair("the benchmark", pair))
                    .collect::<Result<Vec<_>, _>>()?;
                let settings = Settings::from_layers(global.profile.as_deref(), &layers)?;
                // An installed model is in the user's home.
                let embedder = embedder(&Home::new(home_path(global)?, settings.clone()))?;
                let home = Home::new(folder.path(), settings);
                Ok(match embedder {
                    Some(embedder) => home.with_embedder(embedder),
                    None => home,
                })
            })
            .collect::<Result<_>>()?;
        let started = Instant::now();
        let mut group = homes[0].group(&"main".parse()?, caller.now)?;
        nacre::session::import_transcript(
            &mut group.enter(&caller)?,
            transcript(turns).as_bytes(),
            "bench",
            |_| {},
        )?;
        seconds += started.elapsed().as_secs_f64();
        messages += f64::from(u32::try_from(turns.len())?);
        for (home, results) in homes.iter().zip(&mut results) {
            let mut group = home.group(&"main".parse()?, caller.now)?;
            nacre::collection::embed(&mut group.enter(&caller)?, usize::MAX, &mut |_| {})?;
            // The first search loads the vectors.
            call(
                &mut group.enter(&caller)?,
                "memory_search",
                json!({ "query": "warm up", "scope": ["sessions"] }),
            )?;
            for question in *questions {
                ask(&mut group, &caller, question, results)?;
            }
        }
    }
    Ok((results, messages / seconds))
}

fn ask(group: &mut nacre::Group, caller: &Caller, question: &Question, results: &mut Results) -> Result<()> {
    let mut request = json!({ "query": question.query, "scope": ["sessions"], "limit": HITS });
    if let Some(at) = question.timestamp.as_deref().and_then(Time::parse) {
        request["at"] = at.to_string().into();
    }
    let started = Instant::now();
    let answer = call(&mut group.enter(caller)?, "memory_search", request)?;
    results.milliseconds.push(started.elapsed().as_secs_f64() * 1000.0);
    let hits = answer.data["hits"].as_array().context("a search answers with hits")?;
    let turns: Vec<&str> = hits.iter().filter_map(|hit| hit["message"].as_str()).collect();
    let right: Vec<&str> = question.gold.iter().map(String::as_str).collect();
    results.turns.push((question.category.clone(), measure(&turns, &right)));
    if !question.gold_sessions.is_empty() {
        let mut sessions: Vec<&str> = Vec::new();
        for session in hits.iter().filter_map(|hit| hit["session"].as_str()) {
            if !sessions.contains(&session) {
                sessions.push(session);
            }
        }
        let right: Vec<&str> = question.gold_sessions.iter().map(String::as_str).collect();
        results.sessions.push(measure(&sessions, &right));
    }
    Ok(())
}

/// Returns the turns in the form that `session import` takes. A turn without a session gets one of its own.
pub(super) fn transcript(turns: &[Turn]) -> String {
    let mut text = String::new();
    for turn in turns {
        let line = json!({
            "id": turn.id, "session": turn.session.as_ref().unwrap_or(&turn.id), "speaker": turn.speaker, "text": turn.text,
            "timestamp": turn.timestamp,
        });
        let _ = writeln!(text, "{line}");
    }
    text
}

/// Returns the answerable questions of one half, by the history they are about.
pub(super) fn questions(data: &Path, file: &str, half: &str) -> Result<BTreeMap<String, Vec<Question>>> {
    let path = data.join(format!("{file}.queries.jsonl"));
    let text = std::fs::read_to_string(&path).with_context(|| format!("{} can't be read", path.display()))?;
    let mut by_scope: BTreeMap<String, Vec<Question>> = BTreeMap::new();
    for line in text.lines() {
        let question: Question = serde_json::from_str(line)?;
        let kept = match half {
            "all" => true,
            "tune" => is_for_tuning(&question.id),
            "aside" => !is_for_tuning(&question.id),
            other => bail!("there is no half `{other}`: tune, aside or all"),
        };
        if kept && !question.gold.is_empty() && !question.abstain {
            by_scope.entry(question.scope.clone().unwrap_or_default()).or_default().push(question);
        }
    }
    Ok(by_scope)
}

/// Splits a set into two fixed halves: weights are tuned on one, and the other is held out.
pub(super) fn is_for_tuning(id: &str) -> bool {
    let byte = if id.contains('/') || id.bytes().all(|byte| byte.is_ascii_digit()) { 0 } else { 1 };
    Sha256::digest(id.as_bytes())[byte] & 1 == 1
}

pub(super) fn lines(path: &Path) -> Result<Vec<String>> {
    let file = File::open(path).with_context(|| format!("{} can't be opened", path.display()))?;
    let mut plain = ruzstd::decoding::StreamingDecoder::new(BufReader::new(file))
        .map_err(|problem| anyhow::anyhow!("{}: {problem}", path.display()))?;
    let mut bytes = Vec::new();
    plain.read_to_end(&mut bytes)?;
    Ok(bytes.lines().collect::<Result<_, _>>()?)
}

fn names(sets: &[(&str, &str)]) -> String {
    sets.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}
