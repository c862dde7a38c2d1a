//! `nacre-bench embed`: embedding speed on one core.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use nacre::{Builtin, Embedder};
use serde_json::{Value, json};

use crate::args::Global;
use crate::clock::{cpu, kind, percentile, timed};
use crate::context::home_path;
use crate::render;
use crate::words::Words;

/// The goals for the built-in model: texts per second, and milliseconds to the first vector.
const BUILTIN_RATE: f64 = 50_000.0;
const BUILTIN_FIRST_MS: f64 = 1.0;

/// Texts in a batch.
const BATCH_TEXTS: usize = 32;

pub fn run(runs: usize, global: &Global) -> Result<ExitCode> {
    ensure!(runs > 0, "the count must be at least 1");
    let home = home_path(global)?;
    let mut words = Words::default();
    let texts: Vec<String> = (0..20 * BATCH_TEXTS).map(|_| message(&mut words)).collect();
    // The first vector, before anything else has loaded the model.
    let first = timed(|| Builtin.embed_query(&texts[0], &mut |_| 1.0).map(drop).map_err(Into::into))?;
    let builtin = measure(&Builtin, &texts, texts.len(), runs)?;
    let mut loaded = 0.0;
    let minilm = match nacre_minilm::status(&home).installed {
        false => None,
        true => {
            let mut opened = None;
            loaded = timed(|| {
                opened = Some(nacre_minilm::open(&home)?);
                Ok(())
            })?;
            opened.map(|model| measure(&model, &texts, BATCH_TEXTS, runs)).transpose()?
        }
    };
    if global.json {
        let speed = |speed: &Speed| json!({ "one_ms": speed.one, "texts_per_second": speed.rate });
        let mut answer = json!({ "runs": runs, "measured": kind(), "builtin": speed(&builtin) });
        answer["builtin"]["first_ms"] = first.into();
        answer["minilm"] = minilm.as_ref().map_or(Value::Null, speed);
        if minilm.is_some() {
            answer["minilm"]["load_ms"] = loaded.into();
        }
        render::json(&answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("texts of about 25 words, one core, {}, median of {runs} runs\n\n", kind());
    let holds = |holds: bool| if holds { "holds" } else { "MISSED" };
    let mut line = |what: &str, value: String, goal: String| {
        let _ = writeln!(text, "{what:38} {value:>16}  {goal}");
    };
    line(
        "builtin, first vector (wall)",
        format!("{first:.3} ms"),
        format!("{} (goal: under {BUILTIN_FIRST_MS} ms)", holds(first < BUILTIN_FIRST_MS)),
    );
    line("builtin, one query", format!("{:.4} ms", builtin.one), String::new());
    line(
        "builtin, texts",
        format!("{:.0} per second", builtin.rate),
        format!("{} (goal: {BUILTIN_RATE:.0})", holds(builtin.rate >= BUILTIN_RATE)),
    );
    match minilm {
        Some(minilm) => {
            line("minilm, load and verify (wall)", format!("{loaded:.1} ms"), String::new());
            line("minilm, one query", format!("{:.2} ms", minilm.one), String::new());
            line("minilm, batches of 32", format!("{:.0} per second", minilm.rate), String::new());
        }
        None => line("minilm", "not installed".into(), "`nacre model install PATH`".into()),
    }
    if cfg!(debug_assertions) {
        text.push_str(
            "\nThis is a debug build: `cargo run --release -p nacre-bench -- embed` measures what is shipped.\n",
        );
    }
    render::out(&text)?;
    Ok(ExitCode::SUCCESS)
}

struct Speed {
    /// Milliseconds for one query.
    one: f64,
    /// Texts per second.
    rate: f64,
}

fn measure(embedder: &dyn Embedder, texts: &[String], batch: usize, runs: usize) -> Result<Speed> {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (mut ones, mut batches) = (Vec::new(), Vec::new());
    for run in 0..runs {
        let query = texts[run % texts.len()];
        ones.push(
            cpu(|| {
                for _ in 0..10 {
                    embedder.embed_query(query, &mut |_| 1.0)?;
                }
                Ok(())
            })? / 10.0,
        );
        let some = texts.chunks(batch).nth(run % (texts.len() / batch)).expect("it is within");
        batches.push(cpu(|| embedder.embed_documents(some).map(drop).map_err(Into::into))?);
    }
    #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
    let rate = batch as f64 / percentile(&batches, 50) * 1000.0;
    Ok(Speed { one: percentile(&ones, 50), rate })
}

/// Random sequences of about 25 everyday English words: about 35 tokens, like a typical message.
fn message(words: &mut Words) -> String {
    const WORDS: &[&str] = &[
        "the",
        "a",
        "and",
        "to",
        "of",
        "in",
        "I",
        "you",
        "we",
        "she",
        "was",
        "is",
        "have",
        "went",
        "said",
        "that",
        "for",
        "my",
        "house",
        "dog",
        "garden",
        "server",
        "meeting",
        "Thursday",
        "coffee",
        "birthday",
        "Caroline",
        "deployment",
        "violin",
        "mountain",
        "refactoring",
        "pottery",
        "grandmother",
        "database",
        "finally",
        "yesterday",
        "beautiful",
        "remember,",
        "what's",
        "don't",
        "camping.",
        "unbelievable!",
        "2026",
        "kids",
        "swamped",
        "inseparable",
        "timestamps",
        "Kraków?",
    ];
    let count = 20 + words.next() % 11;
    let pick = |_| {
        let at = usize::try_from(words.next() % WORDS.len() as u64).unwrap_or(0);
        WORDS[at]
    };
    (0..count).map(pick).collect::<Vec<_>>().join(" ")
}
