//! `nacre-bench notes`: questions and messages about the notes of invented people, through the calls that an agent makes.
//!
//! A folder has `memory/` (a workspace), `questions.jsonl` and, to measure turns, `prompts.jsonl`. A hit answers a question if its text matches one of
//! the question's patterns. The people were invented by writers who had not seen the program.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, ensure};
use nacre::settings::Layer;
use nacre::turn::{self, Request};
use nacre::{Caller, Group, Home, Settings, Time, call};
use regex::{Regex, RegexBuilder};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::args::Global;
use crate::context::layers;
use crate::render;

/// Hits per question.
const HITS: usize = 6;
/// The day after the last log.
const QUERY_TIME: &str = "2026-11-16T09:00:00Z";
/// The modification time of notes without a date in their name: before the logs begin.
const EDIT_TIME: &str = "2026-10-12T09:00:00Z";
/// The ways to ask, with the settings of each.
const WAYS: [(&str, &[&str]); 3] = [
    ("words", &["search.fusion=words", "graph.lane=false"]),
    ("hybrid", &[]),
    ("without the graph", &["graph.lane=false"]),
];

#[derive(Deserialize)]
struct Question {
    id: String,
    kind: String,
    q: String,
    gold: Vec<String>,
    stale: Vec<String>,
}

#[derive(Deserialize)]
struct Prompt {
    prompt: String,
    want: Vec<String>,
    #[serde(default)]
    never: Vec<String>,
}

/// The answers of one way to ask.
#[derive(Clone, Default, Serialize)]
struct Answers {
    questions: usize,
    answered: usize,
    /// The first hit answers.
    first: usize,
    /// An outdated value comes before the current one, or alone.
    outdated_first: usize,
    unanswerable: usize,
    /// Unanswerable questions without a hit, or with hits that are marked as weak.
    silent: usize,
    /// Answered questions whose hits are marked as weak.
    doubted: usize,
    kinds: BTreeMap<String, [usize; 2]>,
    #[serde(skip)]
    failed: Vec<String>,
}

/// The lines that turns added.
#[derive(Clone, Default, Serialize)]
struct Turns {
    needed: usize,
    right: usize,
    /// A line that is outdated or about another matter was added.
    wrong: usize,
    idle: usize,
    silent: usize,
    #[serde(skip)]
    failed: Vec<String>,
}

/// The result for one person's notes, or the sum over several.
#[derive(Clone, Default, Serialize)]
struct Scores {
    ways: BTreeMap<&'static str, Answers>,
    turns: Turns,
}

pub fn run(folders: &[PathBuf], list: bool, global: &Global) -> Result<ExitCode> {
    let mut all = BTreeMap::new();
    for folder in folders {
        render::progress(&format!("{}", folder.display()));
        let name = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        all.insert(name, measure(folder, global).with_context(|| format!("`{}`", folder.display()))?);
    }
    render::progress("");
    if global.json {
        render::json(&all)?;
    } else {
        render::out(&table(&all, list))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(folder: &Path, global: &Global) -> Result<Scores> {
    let questions: Vec<Question> = rows(&folder.join("questions.jsonl"))?;
    let prompts = folder.join("prompts.jsonl");
    let prompts: Vec<Prompt> = if prompts.exists() { rows(&prompts)? } else { Vec::new() };
    let mut scores = Scores::default();
    let prepared = prepare(folder, global)?;
    for (way, settings) in WAYS {
        // Searches change a memory, so each way has its own.
        let (_kept, mut group) = open(prepared.path(), settings, global)?;
        let answers = scores.ways.entry(way).or_default();
        for question in &questions {
            answers.count(question, &ask(&mut group, &question.q)?)?;
        }
    }
    for (number, prompt) in prompts.iter().enumerate() {
        let (_kept, mut group) = open(prepared.path(), &[], global)?;
        let caller = Caller::agent(format!("notes-{number}").parse()?, time(QUERY_TIME)?);
        let request = Request { explain: true, ..Request::new(prompt.prompt.clone()) };
        let turn = turn::run(&mut group.enter(&caller)?, &request)?;
        let lines: Vec<&str> =
            turn.blocks.iter().flat_map(|block| &block.lines).map(|line| line.text.as_str()).collect();
        let weighed = turn.considered.iter().map(|one| (one.score, one.text.as_str())).collect();
        scores.turns.count(prompt, &lines, weighed)?;
    }
    Ok(scores)
}

/// Makes a memory of the notes. It lasts as long as the folder that is returned.
fn prepare(folder: &Path, global: &Global) -> Result<tempfile::TempDir> {
    let place = tempfile::tempdir()?;
    copy(&folder.join("memory"), &place.path().join("groups/main"))?;
    nacre::workspace::sync(&mut home(place.path(), &[], global)?.enter(&person()?)?)?;
    Ok(place)
}

/// Copies a memory and opens the copy. It lasts as long as the folder that is returned with it.
fn open(prepared: &Path, settings: &[&str], global: &Global) -> Result<(tempfile::TempDir, Group)> {
    let place = tempfile::tempdir()?;
    copy(prepared, place.path())?;
    let group = home(place.path(), settings, global)?;
    Ok((place, group))
}

fn home(place: &Path, settings: &[&str], global: &Global) -> Result<Group> {
    let mut over = layers(global)?;
    for pair in ["telemetry.events=off"].iter().chain(settings) {
        over.push(Layer::from_pair("the benchmark", pair)?);
    }
    let home = Home::new(place, Settings::from_layers(global.profile.as_deref(), &over)?);
    Ok(home.group(&"main".parse()?, time(QUERY_TIME)?)?)
}

/// Returns the texts of the hits, best first.
/// The texts of the hits, and whether the answer marks them as weak.
struct Answer {
    hits: Vec<String>,
    is_weak: bool,
}

fn ask(group: &mut Group, query: &str) -> Result<Answer> {
    let answer =
        call(&mut group.enter(&person()?)?, "memory_search", json!({ "query": query, "limit": HITS }))?;
    let hits = answer.data["hits"].as_array().context("an answer has hits")?;
    let hits = hits.iter().map(|hit| hit["text"].as_str().unwrap_or_default().to_owned()).collect();
    let is_weak = answer.data["note"].as_str().is_some_and(|note| note.contains("weak"));
    Ok(Answer { hits, is_weak })
}

impl Answers {
    fn count(&mut self, question: &Question, answer: &Answer) -> Result<()> {
        let Answer { hits, is_weak } = answer;
        let (gold, stale) = (patterns(&question.gold)?, patterns(&question.stale)?);
        if gold.is_empty() {
            self.unanswerable += 1;
            self.silent += usize::from(hits.is_empty() || *is_weak);
            return Ok(());
        }
        let right = hits.iter().position(|hit| matches(hit, &gold));
        let outdated = hits.iter().position(|hit| matches(hit, &stale) && !matches(hit, &gold));
        let outdated_first = outdated.is_some_and(|outdated| right.is_none_or(|right| outdated < right));
        self.questions += 1;
        self.answered += usize::from(right.is_some());
        self.doubted += usize::from(right.is_some() && *is_weak);
        self.first += usize::from(right == Some(0));
        self.outdated_first += usize::from(outdated_first);
        let [answered, all] = self.kinds.entry(question.kind.clone()).or_default();
        *answered += usize::from(right.is_some());
        *all += 1;
        if right != Some(0) || outdated_first {
            let place = right.map_or("not found".into(), |right| format!("at {}", right + 1));
            let outdated = if outdated_first { ", outdated first" } else { "" };
            let shown = hits.iter().map(|hit| begin(hit)).collect::<Vec<_>>().join("\n      ");
            self.failed.push(format!("{} {} ({place}{outdated})\n      {shown}", question.id, question.q));
        }
        Ok(())
    }
}

impl Turns {
    /// `weighed` has every candidate with its score.
    fn count(&mut self, prompt: &Prompt, lines: &[&str], mut weighed: Vec<(f64, &str)>) -> Result<()> {
        weighed.sort_by(|one, other| other.0.total_cmp(&one.0));
        let candidates =
            weighed.iter().take(3).map(|(score, text)| format!("weighed {score:.2}: {}", begin(text)));
        let lines_shown = lines.iter().map(|line| begin(line)).chain(candidates);
        let shown = || lines_shown.clone().collect::<Vec<_>>().join("\n      ");
        if prompt.want.is_empty() {
            self.idle += 1;
            self.silent += usize::from(lines.is_empty());
            if !lines.is_empty() {
                self.failed.push(format!("{} (needs nothing)\n      {}", prompt.prompt, shown()));
            }
            return Ok(());
        }
        let (want, never) = (patterns(&prompt.want)?, patterns(&prompt.never)?);
        let has = lines.iter().any(|line| matches(line, &want));
        let wrong = lines.iter().any(|line| matches(line, &never) && !matches(line, &want));
        self.needed += 1;
        self.right += usize::from(has && !wrong);
        self.wrong += usize::from(wrong);
        if !has || wrong {
            let wanted = weighed.iter().find(|(_, text)| matches(text, &want));
            let note = match wanted {
                _ if wrong => "wrong line".to_owned(),
                Some((score, _)) => format!("weighed {score:.2}"),
                None => "not weighed".to_owned(),
            };
            self.failed.push(format!(
                "{} ({note}: {})\n      {}",
                prompt.prompt,
                prompt.want.join(" "),
                shown()
            ));
        }
        Ok(())
    }
}

impl AddAssign<&Scores> for Scores {
    fn add_assign(&mut self, other: &Scores) {
        for (way, more) in &other.ways {
            let sum = self.ways.entry(way).or_default();
            sum.questions += more.questions;
            sum.answered += more.answered;
            sum.first += more.first;
            sum.outdated_first += more.outdated_first;
            sum.unanswerable += more.unanswerable;
            sum.silent += more.silent;
            sum.doubted += more.doubted;
            for (kind, [answered, all]) in &more.kinds {
                let [sum_answered, sum_all] = sum.kinds.entry(kind.clone()).or_default();
                *sum_answered += answered;
                *sum_all += all;
            }
        }
        self.turns.needed += other.turns.needed;
        self.turns.right += other.turns.right;
        self.turns.wrong += other.turns.wrong;
        self.turns.idle += other.turns.idle;
        self.turns.silent += other.turns.silent;
    }
}

fn table(all: &BTreeMap<String, Scores>, list: bool) -> String {
    let mut text = String::new();
    let mut sum = Scores::default();
    all.values().for_each(|scores| sum += scores);
    let total = (all.len() > 1).then(|| ("together".to_owned(), sum));
    for (name, scores) in all.iter().chain(total.iter().map(|(name, sum)| (name, sum))) {
        let _ = writeln!(
            text,
            "{name:20} {:>10} {:>7} {:>15} {:>8} {:>8}  by kind",
            "answered", "first", "outdated first", "silent", "doubted"
        );
        for (way, _) in WAYS {
            let Answers { questions, answered, first, outdated_first, kinds, failed, .. } = &scores.ways[way];
            let Answers { unanswerable, silent, doubted, .. } = &scores.ways[way];
            let kinds: Vec<String> =
                kinds.iter().map(|(kind, [answered, all])| format!("{kind} {answered}/{all}")).collect();
            let _ = writeln!(
                text,
                "  {way:18} {answered:>4} of {questions:<3} {first:>5} {outdated_first:>15} {silent:>5}/{unanswerable} {doubted:>8}  {}",
                kinds.join(", ")
            );
            if list && way == "hybrid" {
                failed.iter().for_each(|line| {
                    let _ = writeln!(text, "    {line}");
                });
            }
        }
        let Turns { needed, right, wrong, idle, silent, failed } = &scores.turns;
        let _ = writeln!(
            text,
            "  turn: right line {right} of {needed}, wrong or outdated line {wrong}, silent {silent} of {idle} that need nothing\n"
        );
        if list {
            failed.iter().for_each(|line| {
                let _ = writeln!(text, "    {line}");
            });
        }
    }
    text
}

fn rows<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text = fs::read_to_string(path).with_context(|| format!("`{}` can't be read", path.display()))?;
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let rows: Vec<T> = lines
        .map(|(line, number)| {
            serde_json::from_str(line).with_context(|| format!("`{}`, line {number}", path.display()))
        })
        .collect::<Result<_>>()?;
    ensure!(!rows.is_empty(), "`{}` is empty", path.display());
    Ok(rows)
}

fn patterns(texts: &[String]) -> Result<Vec<Regex>> {
    let compile = |text: &String| {
        let regex = RegexBuilder::new(text).case_insensitive(true).dot_matches_new_line(true).build();
        regex.with_context(|| format!("the pattern `{text}`"))
    };
    texts.iter().map(compile).collect()
}

fn matches(text: &str, patterns: &[Regex]) -> bool {
    patterns.iter().any(|pattern| pattern.is_match(text))
}

/// Returns the beginning of a text in one line.
fn begin(text: &str) -> String {
    text.replace('\n', " / ").chars().take(140).collect()
}

fn time(text: &str) -> Result<Time> {
    Time::parse(text).context("a time")
}

fn person() -> Result<Caller> {
    Ok(Caller::person("notes".parse()?, time(QUERY_TIME)?))
}

/// Copies a folder and sets the modification times: a log was written on its day, a note before the logs begin.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for found in fs::read_dir(from).with_context(|| format!("`{}` can't be read", from.display()))? {
        let found = found?;
        let target = to.join(found.file_name());
        if found.file_type()?.is_dir() {
            copy(&found.path(), &target)?;
            continue;
        }
        fs::copy(found.path(), &target)?;
        let name = found.file_name().to_string_lossy().into_owned();
        let day = name.strip_suffix(".md").and_then(|day| Time::parse(&format!("{day}T20:00:00Z")));
        let modified = u64::try_from(day.map_or_else(|| time(EDIT_TIME), Ok)?.as_millis())?;
        let file = fs::File::options().write(true).open(&target)?;
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_millis(modified))?;
    }
    Ok(())
}
