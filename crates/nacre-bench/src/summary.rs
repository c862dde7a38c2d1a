//! `nacre-bench summary`: how much the extractive summary of a session keeps of what is asked later.
//!
//! The sessions are those of public conversation sets with the most turns that answer a question. Each is appended with `session
//! append` and compacted, so that only the summary is left. The metric is the share of the key words of those turns that the
//! summary contains. The baseline is the first and last lines of the same length.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use nacre::settings::Layer;
use nacre::{Caller, Home, Settings, call};
use serde_json::{Value, json};

use crate::args::Global;
use crate::context::now;
use crate::quality::{Turn, is_for_tuning, lines, questions};
use crate::render;

/// The sets, and the number of sessions from each.
const SETS: &[(&str, &str)] =
    &[("locomo", "locomo_turn"), ("longmemeval", "longmemeval_s_turn"), ("beam", "beam_100k_turn")];
const SESSIONS: usize = 20;
/// Shorter sessions need no summary.
const MIN_SESSION_CHARS: usize = 3_000;

/// The result for one session.
struct SessionResult {
    summary: f64,
    ends: f64,
    length: f64,
}

pub fn run(data: &Path, half: &str, show: bool, global: &Global) -> Result<ExitCode> {
    ensure!(["tune", "aside", "all"].contains(&half), "there is no half `{half}`: tune, aside or all");
    let (mut report, mut text) = (Vec::new(), String::new());
    for (name, file) in SETS {
        let sessions = sessions(data, file)?;
        for part in ["tune", "aside"].into_iter().filter(|part| half == "all" || half == *part) {
            let mut all = Vec::new();
            for (id, (turns, gold)) in &sessions {
                if is_for_tuning(&format!("summary/{id}")) == (part == "tune") {
                    let (measured, summary) = measure(turns, gold, &sessions, global)?;
                    if show {
                        let _ = writeln!(text, "--- {id}\n{summary}");
                    }
                    all.push(measured);
                }
            }
            let mean =
                |of: fn(&SessionResult) -> f64| all.iter().map(of).sum::<f64>() / all.len().max(1) as f64;
            let (kept, ends, length) =
                (mean(|one| one.summary), mean(|one| one.ends), mean(|one| one.length));
            let better = all.iter().filter(|one| one.summary > one.ends).count();
            let _ = writeln!(
                text,
                "{name:12} {part:6} {:2} sessions  kept {kept:.3}  first and last lines {ends:.3}  better in {better:2}  length {length:.3}",
                all.len()
            );
            report.push(json!({ "set": name, "half": part, "sessions": all.len(), "kept": kept, "first_and_last": ends, "better": better, "length": length }));
        }
    }
    if global.json {
        render::json(&report)?
    } else {
        render::out(&text)?
    }
    Ok(ExitCode::SUCCESS)
}

type Sessions = BTreeMap<String, (Vec<Turn>, BTreeSet<String>)>;

/// Returns the sessions with the most turns that answer a question; ties are broken by name.
fn sessions(data: &Path, file: &str) -> Result<Sessions> {
    let gold: BTreeSet<String> =
        questions(data, file, "all")?.into_values().flatten().flat_map(|question| question.gold).collect();
    let mut all: Sessions = BTreeMap::new();
    for line in lines(&data.join(format!("{file}.corpus.jsonl.zst")))? {
        let turn: Turn = serde_json::from_str(&line)?;
        let session = all.entry(turn.session.clone().unwrap_or_default()).or_default();
        if gold.contains(&turn.id) {
            session.1.insert(turn.id.clone());
        }
        session.0.push(turn);
    }
    all.retain(|_, (turns, gold)| {
        !gold.is_empty() && turns.iter().map(|turn| turn.text.len()).sum::<usize>() >= MIN_SESSION_CHARS
    });
    let mut order: Vec<(usize, String)> =
        all.iter().map(|(id, (_, gold))| (gold.len(), id.clone())).collect();
    order.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    let kept: BTreeSet<String> = order.into_iter().take(SESSIONS).map(|(_, id)| id).collect();
    all.retain(|id, _| kept.contains(id));
    Ok(all)
}

fn measure(
    turns: &[Turn],
    gold: &BTreeSet<String>,
    sessions: &Sessions,
    global: &Global,
) -> Result<(SessionResult, String)> {
    let folder = tempfile::tempdir()?;
    let layers = [
        "telemetry.events=off",
        "session.keep_recent=0",
        "session.flush=off",
        "session.compact_tokens=100000000",
    ];
    let layers: Vec<Layer> = layers
        .iter()
        .map(|pair| (*pair).to_owned())
        .chain(global.set.clone())
        .map(|pair| Layer::from_pair("the benchmark", &pair))
        .collect::<Result<_, _>>()?;
    let home = Home::new(folder.path(), Settings::from_layers(global.profile.as_deref(), &layers)?);
    let caller = Caller::person("bench".parse()?, now());
    let mut group = home.group(&"main".parse()?, caller.now)?;
    let first = turns.first().and_then(|turn| turn.speaker.clone());
    let messages: Vec<Value> = turns
        .iter()
        .map(|turn| {
            // The person who begins is the user.
            let own = turn.speaker.as_deref() == Some("user")
                || (turn.speaker != Some("assistant".into()) && turn.speaker == first);
            json!({ "role": if own { "user" } else { "assistant" }, "content": turn.text })
        })
        .collect();
    for messages in messages.chunks(1_000) {
        call(&mut group.enter(&caller)?, "session_append", json!({ "id": "s", "messages": messages }))?;
    }
    call(&mut group.enter(&caller)?, "session_compact", json!({ "id": "s" }))?;
    let context = call(&mut group.enter(&caller)?, "session_context", json!({ "id": "s" }))?.data;
    let summary = context["messages"][0]["content"].as_str().context("there is a summary")?.to_owned();
    let whole: usize = turns.iter().map(|turn| turn.text.chars().count()).sum();
    let length = summary.chars().count();
    let ends = ends(turns, length);
    let df = frequencies(sessions);
    let mut kept = (0.0, 0.0, 0.0);
    let (in_summary, in_ends) = (words(&summary), words(&ends));
    for turn in turns.iter().filter(|turn| gold.contains(&turn.id)) {
        let words = words(&turn.text);
        let total: f64 = words.iter().map(|word| idf(&df, word, sessions.len())).sum();
        let share = |of: &BTreeSet<String>| {
            words.intersection(of).map(|word| idf(&df, word, sessions.len())).sum::<f64>() / total.max(1e-9)
        };
        kept = (kept.0 + 1.0, kept.1 + share(&in_summary), kept.2 + share(&in_ends));
    }
    let measured = SessionResult {
        summary: kept.1 / f64::max(kept.0, 1.0),
        ends: kept.2 / f64::max(kept.0, 1.0),
        length: length as f64 / whole as f64,
    };
    Ok((measured, summary))
}

/// Returns first and last lines of this total length, half from either end.
fn ends(turns: &[Turn], length: usize) -> String {
    let lines: Vec<&str> =
        turns.iter().flat_map(|turn| turn.text.lines()).filter(|line| !line.trim().is_empty()).collect();
    let take = |lines: &mut dyn Iterator<Item = &&str>| {
        let mut text = String::new();
        for line in lines {
            let room = (length / 2).saturating_sub(text.chars().count());
            if room == 0 {
                break;
            }
            text.extend(line.chars().take(room));
            text.push('\n');
        }
        text
    };
    take(&mut lines.iter()) + &take(&mut lines.iter().rev())
}

/// Returns the lower-case words of at least four letters, and numbers.
fn words(text: &str) -> BTreeSet<String> {
    let lower = text.to_lowercase();
    let parts = lower.split(|c: char| !c.is_alphanumeric());
    parts
        .filter(|word| word.chars().count() > 3 || word.contains(|c: char| c.is_ascii_digit()))
        .map(str::to_owned)
        .collect()
}

/// Counts the sessions that contain each word.
fn frequencies(sessions: &Sessions) -> HashMap<String, usize> {
    let mut df = HashMap::new();
    for (turns, _) in sessions.values() {
        let all: BTreeSet<String> = turns.iter().flat_map(|turn| words(&turn.text)).collect();
        for word in all {
            *df.entry(word).or_default() += 1;
        }
    }
    df
}

/// Weighs a word: a key word is in few sessions, and other words weigh nothing.
fn idf(df: &HashMap<String, usize>, word: &str, sessions: usize) -> f64 {
    let count = df.get(word).copied().unwrap_or(1);
    if count * 2 > sessions { 0.0 } else { (sessions as f64 / count as f64).ln() }
}
