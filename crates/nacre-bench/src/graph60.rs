//! `nacre-bench graph60`: our own questions about an invented memory, by words, by vectors, by the graph and by all together,
//! through the calls that an agent makes. Answers are scored by their content, not by their location.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, ensure};
use nacre::settings::Layer;
use nacre::{Caller, Group, Home, SCORE_PARTS, Settings, Time, call};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::args::Global;
use crate::context::layers;
use crate::render;

/// Hits per question.
const HITS: usize = 6;
/// The times at which the documents were written, the graph was seeded and the questions are asked.
const WRITTEN: &str = "2026-01-05T09:00:00Z";
const PLANTED: &str = "2026-05-01T09:00:00Z";
const QUERY_TIME: &str = "2026-09-20T09:00:00Z";
/// The sets of questions.
const HALVES: [&str; 3] = ["tuned", "earlier", "aside"];
/// The retrievers to ask.
const WAYS: [&str; 4] = ["bm25", "vectors", "graph", "hybrid"];

#[derive(Deserialize)]
struct Row {
    id: String,
    category: String,
    kind: Vec<String>,
    query: String,
    #[serde(default)]
    speaker: String,
    answer: Vec<String>,
    #[serde(default)]
    all: Vec<String>,
    #[serde(default)]
    not: Vec<String>,
}

#[derive(Deserialize)]
struct Changes {
    change: Vec<Change>,
}

#[derive(Deserialize)]
struct Change {
    at: Time,
    entity: String,
    key: String,
    value: String,
    category: String,
}

/// The score of one retriever on one half.
#[derive(Default, Serialize)]
struct Score {
    rows: usize,
    top1: usize,
    top3: usize,
    top6: usize,
    mrr: f64,
    /// Questions whose hits contain something superseded.
    superseded: usize,
    /// Unanswerable questions with no hit, and their number.
    silent: usize,
    unanswerable: usize,
    categories: BTreeMap<String, [usize; 2]>,
    kinds: BTreeMap<String, [usize; 2]>,
    #[serde(skip)]
    failed: Vec<String>,
}

pub fn run(data: &Path, half: &str, failures: bool, global: &Global) -> Result<ExitCode> {
    let halves = HALVES.iter().filter(|name| half == "all" || half == **name).collect::<Vec<_>>();
    ensure!(!halves.is_empty(), "there is no half `{half}`; there are {} and all", HALVES.join(", "));
    let folder = tempfile::tempdir()?;
    let group_folder = folder.path().join("groups/main");
    copy(&data.join("workspace"), &group_folder)?;
    let home = |pairs: &[String]| -> Result<Home> {
        let mut over = layers(global)?;
        for pair in pairs {
            over.push(Layer::from_pair("the benchmark", pair)?);
        }
        Ok(Home::new(folder.path(), Settings::from_layers(None, &over)?))
    };
    plant(&mut home(&[])?.group(&"main".parse()?, time(WRITTEN)?)?, data)?;
    let without = SCORE_PARTS.iter().filter(|part| **part != "vectors").map(|part| format!("\"{part}\""));
    let only_vectors = format!("search.without=[{}]", without.collect::<Vec<_>>().join(","));
    let mut results: BTreeMap<String, BTreeMap<&str, Score>> = BTreeMap::new();
    for name in halves {
        let rows = rows(&data.join(format!("{name}.jsonl")))?;
        for way in WAYS {
            let set: Vec<String> = match way {
                "bm25" => vec!["search.fusion=words".into(), "graph.lane=false".into()],
                "vectors" => vec![only_vectors.clone(), "graph.lane=false".into()],
                _ => Vec::new(),
            };
            let mut group = home(&set)?.group(&"main".parse()?, time(QUERY_TIME)?)?;
            let score = results.entry((*name).to_owned()).or_default().entry(way).or_default();
            for row in &rows {
                let hits = ask(&mut group, way, row)?;
                score.count(row, &hits);
            }
        }
    }
    if global.json {
        render::json(&results)?;
    } else {
        render::out(&page(&results, failures))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads the workspace, seeds the graph, and applies the changes in order.
fn plant(group: &mut Group, data: &Path) -> Result<()> {
    nacre::workspace::sync(&mut group.enter(&caller(WRITTEN)?)?)?;
    let planted = nacre::graph::seed(&mut group.enter(&caller(PLANTED)?)?, &data.join("seed.toml"))?;
    ensure!(planted.kept_out.is_empty(), "the seed was not imported completely: {:?}", planted.kept_out);
    let changes: Changes = toml::from_str(&fs::read_to_string(data.join("changes.toml"))?)?;
    for Change { at, entity, key, value, category } in changes.change {
        let caller = Caller { now: at, ..caller(QUERY_TIME)? };
        let fact = json!({ "entity": entity, "key": key, "value": value, "category": category });
        call(&mut group.enter(&caller)?, "fact_upsert", fact)?;
    }
    Ok(())
}

fn rows(path: &Path) -> Result<Vec<Row>> {
    let text = fs::read_to_string(path).with_context(|| format!("{} can't be read", path.display()))?;
    text.lines().filter(|line| !line.trim().is_empty()).map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// Returns the texts of the hits, best first.
fn ask(group: &mut Group, way: &str, row: &Row) -> Result<Vec<String>> {
    let of_agent = row.speaker == "agent";
    let (tool, request, list) = match way {
        "graph" => {
            ("graph_search", json!({ "query": row.query, "limit": HITS, "of_agent": of_agent }), "known")
        }
        "hybrid" => {
            ("memory_search", json!({ "query": row.query, "limit": HITS, "of_agent": of_agent }), "hits")
        }
        _ => ("memory_search", json!({ "query": row.query, "limit": HITS, "scope": ["memory"] }), "hits"),
    };
    let answer = call(&mut group.enter(&caller(QUERY_TIME)?)?, tool, request)?;
    let hits = answer.data[list].as_array().context("an answer has hits")?;
    Ok(hits.iter().map(|hit| hit["text"].as_str().unwrap_or_default().to_lowercase()).collect())
}

impl Score {
    fn count(&mut self, row: &Row, hits: &[String]) {
        let has = |hit: &String, wanted: &String| hit.contains(&wanted.to_lowercase());
        let outdated = hits.iter().any(|hit| row.not.iter().any(|old| has(hit, old)));
        // The rank of the hit that completes the answer.
        let place = match (row.answer.is_empty(), row.all.is_empty()) {
            (true, _) => hits.is_empty().then_some(0),
            (_, true) => hits.iter().position(|hit| row.answer.iter().any(|wanted| has(hit, wanted))),
            (_, false) => {
                let places = row.all.iter().map(|wanted| hits.iter().position(|hit| has(hit, wanted)));
                places.collect::<Option<Vec<_>>>().and_then(|places| places.into_iter().max())
            }
        };
        let place = place.filter(|_| !outdated);
        let within = |k: usize| usize::from(place.is_some_and(|place| place < k));
        self.rows += 1;
        self.top1 += within(1);
        self.top3 += within(3);
        self.top6 += within(HITS);
        #[expect(clippy::cast_precision_loss, reason = "a place")]
        let reciprocal = place.map_or(0.0, |place| 1.0 / (place as f64 + 1.0));
        self.mrr += reciprocal;
        self.superseded += usize::from(outdated);
        if row.answer.is_empty() {
            self.unanswerable += 1;
            self.silent += usize::from(hits.is_empty());
        }
        let count = |into: &mut BTreeMap<String, [usize; 2]>, name: &String| {
            let [right, all] = into.entry(name.clone()).or_default();
            *right += within(HITS);
            *all += 1;
        };
        row.kind.iter().for_each(|kind| count(&mut self.kinds, kind));
        count(&mut self.categories, &row.category);
        if place.is_none() {
            let got = hits.iter().map(|hit| hit.chars().take(90).collect::<String>()).collect::<Vec<_>>();
            self.failed.push(format!("{} {} -> {got:?}", row.id, row.query));
        }
    }
}

fn page(results: &BTreeMap<String, BTreeMap<&str, Score>>, failures: bool) -> String {
    let mut text = String::new();
    for (half, ways) in results {
        let _ = writeln!(
            text,
            "\n{half}\n\n| | top 1 | top 3 | top 6 | MRR | superseded shown | correctly silent |"
        );
        let _ = writeln!(text, "| --- | --- | --- | --- | --- | --- | --- |");
        for way in WAYS {
            let Score { rows, top1, top3, top6, mrr, superseded, silent, unanswerable, .. } = &ways[way];
            #[expect(clippy::cast_precision_loss, reason = "thirty rows")]
            let mrr = mrr / *rows as f64;
            let _ = writeln!(
                text,
                "| {way} | {top1} | {top3} | {top6} of {rows} | {mrr:.3} | {superseded} | {silent} of {unanswerable} |"
            );
        }
        for (title, of) in [("category", true), ("kind", false)] {
            let names = |score: &Score| if of { score.categories.clone() } else { score.kinds.clone() };
            let _ = writeln!(
                text,
                "\n| {title}, top 6 | {} |\n| --- | --- | --- | --- | --- |",
                WAYS.join(" | ")
            );
            for (name, [_, all]) in names(&ways["hybrid"]) {
                let right = WAYS.map(|way| names(&ways[way])[&name][0].to_string());
                let _ = writeln!(text, "| {name} ({all}) | {} |", right.join(" | "));
            }
        }
        for way in WAYS.iter().skip(2).filter(|_| failures) {
            let _ = writeln!(text, "\nnot answered by {way}:\n{}", ways[way].failed.join("\n"));
        }
    }
    text
}

fn time(text: &str) -> Result<Time> {
    Time::parse(text).context("a time")
}

fn caller(at: &str) -> Result<Caller> {
    Ok(Caller::person("graph60".parse()?, time(at)?))
}

/// Copies a folder. Every file gets the same modification time, so that nothing depends on the time of the checkout.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    let written = u64::try_from(time(WRITTEN)?.as_millis())?;
    for found in fs::read_dir(from).with_context(|| format!("{} can't be read", from.display()))? {
        let found = found?;
        let target = to.join(found.file_name());
        if found.file_type()?.is_dir() {
            copy(&found.path(), &target)?;
        } else {
            fs::copy(found.path(), &target)?;
            let file = fs::File::options().write(true).open(&target)?;
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_millis(written))?;
        }
    }
    Ok(())
}
