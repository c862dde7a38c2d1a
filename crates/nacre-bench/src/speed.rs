//! `nacre-bench speed`: search and import as a memory grows, compared with a plain FTS5 table of the same texts.
//!
//! Both do the same work alternately, so that noise affects both; the ratio counts. Warm searches and imports are measured in CPU
//! time if the system reports it, fresh processes in wall-clock time.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, ensure};
use nacre::settings::Layer;
use nacre::{Caller, Home, Settings, call};
use rusqlite::Connection;
use serde::Serialize;
use serde_json::json;

use crate::args::Global;
use crate::clock::{self, cpu, finish, percentile, timed};
use crate::context::{nacre_program, now};
use crate::render;
use crate::words::{Words, transcript};

/// Messages in one import, which are one transaction, and rows in one transaction of the plain table.
const BATCH_MESSAGES: usize = 10_000;
/// Warm searches and fresh processes.
const QUESTIONS: usize = 300;
/// With a million messages the plain table takes a second per search, so fewer are made.
const QUESTIONS_AT_A_MILLION: usize = 100;
const FRESH_RUNS: usize = 20;
const HITS: usize = 10;

/// The goals: ratios to plain FTS5 by number of messages, p99 to the median, database to text, megabytes.
const WARM_GOALS: &[(usize, f64)] = &[(10_000, 0.3), (100_000, 0.2), (1_000_000, 0.08)];
const COLD_GOALS: &[(usize, f64)] = &[(10_000, 1.5), (100_000, 0.5)];
const TAIL_GOAL: f64 = 5.0;
const INGEST_GOAL: f64 = 0.5;
const DATABASE_GOAL: f64 = 4.0;
const BINARY_GOAL_MB: f64 = 25.0;

/// The result at one size.
#[derive(Serialize)]
pub struct SizeResult {
    pub messages: usize,
    search_p50_ms: f64,
    search_p99_ms: f64,
    plain_p50_ms: f64,
    plain_p99_ms: f64,
    ingest_per_second: f64,
    plain_ingest_per_second: f64,
    cold_ms: f64,
    plain_cold_ms: f64,
    database_bytes: u64,
    text_bytes: u64,
    binary_mb: f64,
}

/// A line of the table: the name, Nacre's value, plain FTS5's, their ratio, and the goal with a verdict.
pub struct Line {
    pub what: &'static str,
    pub ours: String,
    pub plain: String,
    pub ratio: String,
    pub goal: String,
}

pub fn run(sizes: &[String], global: &Global) -> Result<ExitCode> {
    let sizes: Vec<usize> = sizes.iter().map(|size| parse_size(size)).collect::<Result<_>>()?;
    let measured = measure(&sizes, global)?;
    if global.json {
        render::json(&json!({ "time": clock::kind(), "sizes": measured }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text =
        format!("warm searches and imports in {}, fresh processes in wall-clock time\n", clock::kind());
    for measured in &measured {
        let _ =
            writeln!(text, "\n{:28} {:>12} {:>12} {:>7}", title(measured), "nacre", "plain FTS5", "ratio");
        for line in measured.lines() {
            let _ = writeln!(
                text,
                "{:28} {:>12} {:>12} {:>7}  {}",
                line.what, line.ours, line.plain, line.ratio, line.goal
            );
        }
    }
    if cfg!(debug_assertions) {
        text.push_str(
            "\nThis is a debug build: `cargo run --release -p nacre-bench -- speed` measures what is shipped.\n",
        );
    }
    render::out(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Measures each size in a temporary folder of its own.
pub fn measure(sizes: &[usize], global: &Global) -> Result<Vec<SizeResult>> {
    let program = nacre_program(global)?;
    let measured = sizes.iter().map(|messages| measure_size(*messages, &program, global)).collect();
    render::progress("");
    measured
}

pub fn title(measured: &SizeResult) -> String {
    format!("{} messages", measured.messages)
}

impl SizeResult {
    #[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
    pub fn lines(&self) -> Vec<Line> {
        let ms = |time: f64| format!("{time:.3} ms");
        let rate = |rate: f64| format!("{rate:.0}/s");
        let goal_at = |goals: &[(usize, f64)]| {
            goals.iter().find(|(messages, _)| *messages == self.messages).map(|(_, goal)| *goal)
        };
        let (text, database) = (self.text_bytes as f64, self.database_bytes as f64);
        let mb = |bytes: f64| format!("{:.1} MB", bytes / 1e6);
        let line = |what, ours: String, plain: String, ratio: f64, goal: Option<f64>| Line {
            what,
            ours,
            plain,
            ratio: format!("{ratio:.2}"),
            goal: goal.map_or_else(String::new, |goal| verdict(ratio <= goal, &format!("at most {goal}"))),
        };
        let ingest = self.ingest_per_second / self.plain_ingest_per_second;
        let warm = self.search_p50_ms / self.plain_p50_ms;
        vec![
            line(
                "search, warm, p50",
                ms(self.search_p50_ms),
                ms(self.plain_p50_ms),
                warm,
                goal_at(WARM_GOALS),
            ),
            line(
                "search, warm, p99",
                ms(self.search_p99_ms),
                ms(self.plain_p99_ms),
                self.search_p99_ms / self.plain_p99_ms,
                None,
            ),
            line(
                "search, p99 / p50",
                String::new(),
                format!("{:.2}", self.plain_p99_ms / self.plain_p50_ms),
                self.search_p99_ms / self.search_p50_ms,
                Some(TAIL_GOAL),
            ),
            line(
                "search, fresh process",
                ms(self.cold_ms),
                ms(self.plain_cold_ms),
                self.cold_ms / self.plain_cold_ms,
                goal_at(COLD_GOALS),
            ),
            Line {
                goal: verdict(ingest >= INGEST_GOAL, &format!("at least {INGEST_GOAL}")),
                ..line(
                    "messages imported",
                    rate(self.ingest_per_second),
                    rate(self.plain_ingest_per_second),
                    ingest,
                    None,
                )
            },
            line("database size / text size", mb(database), mb(text), database / text, Some(DATABASE_GOAL)),
            Line {
                what: "size of the program",
                ours: format!("{:.1} MB", self.binary_mb),
                plain: String::new(),
                ratio: String::new(),
                goal: verdict(self.binary_mb <= BINARY_GOAL_MB, &format!("at most {BINARY_GOAL_MB} MB")),
            },
        ]
    }
}

fn verdict(holds: bool, goal: &str) -> String {
    format!("{} (goal: {goal})", if holds { "holds" } else { "MISSED" })
}

#[expect(clippy::cast_precision_loss, reason = "counts of one run")]
fn measure_size(messages: usize, program: &Path, global: &Global) -> Result<SizeResult> {
    ensure!(messages > 0, "the count must be at least 1");
    let folder = tempfile::tempdir().context("no temporary folder can be created")?;
    let (home_folder, plain_file) = (folder.path().join("home"), folder.path().join("plain.db"));
    let layers = std::iter::once(&"telemetry.events=off".to_owned())
        .chain(&global.set)
        .map(|pair| Layer::from_pair("the benchmark", pair))
        .collect::<Result<Vec<_>, _>>()?;
    let home = Home::new(&home_folder, Settings::from_layers(global.profile.as_deref(), &layers)?);
    let caller = Caller::person("bench".parse()?, now());
    let mut group = home.group(&"main".parse()?, caller.now)?;
    // As durable as Nacre: every commit is flushed to disk.
    let mut plain = Connection::open(&plain_file)?;
    plain.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE VIRTUAL TABLE docs USING fts5 (content);",
    )?;

    let mut words = Words::default();
    let (mut ingest, mut plain_ingest, mut text_bytes) = (0.0, 0.0, 0);
    for first in (0..messages).step_by(BATCH_MESSAGES) {
        render::progress(&format!("{messages} messages: {first} imported"));
        let batch = words.messages(first, BATCH_MESSAGES.min(messages - first));
        let input = transcript(&batch);
        text_bytes += batch.iter().map(|message| message.text.len() as u64).sum::<u64>();
        ingest += cpu(|| {
            let recorded = nacre::session::import_transcript(
                &mut group.enter(&caller)?,
                input.as_bytes(),
                "bench",
                |_| {},
            )?;
            ensure!(recorded.added == batch.len(), "{} of {} were imported", recorded.added, batch.len());
            Ok(())
        })?;
        plain_ingest += cpu(|| {
            let tx = plain.transaction()?;
            for message in &batch {
                tx.prepare_cached("INSERT INTO docs VALUES (?1)")?.execute([&message.text])?;
            }
            Ok(tx.commit()?)
        })?;
    }

    let (mut search, mut plain_search) = (Vec::new(), Vec::new());
    let questions = if messages > 200_000 { QUESTIONS_AT_A_MILLION } else { QUESTIONS };
    for number in 0..=questions {
        render::progress(&format!("{messages} messages: question {number} of {questions}"));
        let question = question(&mut words);
        let request = json!({ "query": question, "scope": ["sessions"], "limit": HITS });
        let ours = cpu(|| {
            let answer = call(&mut group.enter(&caller)?, "memory_search", request)?;
            ensure!(answer.data["hits"].as_array().is_some_and(|hits| !hits.is_empty()), "nothing was found");
            Ok(())
        })?;
        let theirs = cpu(|| {
            let mut statement = plain.prepare_cached(&bare_query("?1"))?;
            let mut rows = statement.query([any_word(&question)])?;
            while let Some(row) = rows.next()? {
                row.get::<_, String>(0)?;
            }
            Ok(())
        })?;
        // The first search warms the caches.
        if number > 0 {
            search.push(ours);
            plain_search.push(theirs);
        }
    }
    drop(group);
    // One file without a write-ahead log, as a user would have it.
    plain.execute_batch("PRAGMA journal_mode = DELETE")?;
    drop(plain);

    let (mut cold, mut plain_cold) = (Vec::new(), Vec::new());
    for number in 0..=FRESH_RUNS {
        render::progress(&format!("{messages} messages: fresh process {number} of {FRESH_RUNS}"));
        let question = question(&mut words);
        let ours = timed(|| {
            let mut command = Command::new(program);
            command
                .arg("--home")
                .arg(&home_folder)
                .args(["search", "--scope", "sessions", "-n", "10", &question]);
            finish(command.stdout(Stdio::null()))
        })?;
        let sql = bare_query(&format!("'{}'", any_word(&question)));
        let theirs =
            timed(|| finish(Command::new("sqlite3").arg(&plain_file).arg(sql).stdout(Stdio::null())))
                .context("the program `sqlite3` is needed (Debian: apt-get install sqlite3)")?;
        if number > 0 {
            cold.push(ours);
            plain_cold.push(theirs);
        }
    }
    Ok(SizeResult {
        messages,
        search_p50_ms: percentile(&search, 50),
        search_p99_ms: percentile(&search, 99),
        plain_p50_ms: percentile(&plain_search, 50),
        plain_p99_ms: percentile(&plain_search, 99),
        ingest_per_second: messages as f64 * 1000.0 / ingest,
        plain_ingest_per_second: messages as f64 * 1000.0 / plain_ingest,
        cold_ms: percentile(&cold, 50),
        plain_cold_ms: percentile(&plain_cold, 50),
        database_bytes: size_of_files(&home_folder)?,
        text_bytes,
        binary_mb: std::fs::metadata(program)?.len() as f64 / 1e6,
    })
}

/// Returns a query of 5 to 10 words from the same distribution as the messages.
fn question(words: &mut Words) -> String {
    let count = 5 + usize::try_from(words.next() % 6).unwrap_or(0);
    words.sentence(count)
}

fn bare_query(any: &str) -> String {
    format!("SELECT content FROM docs WHERE docs MATCH {any} ORDER BY rank LIMIT {HITS}")
}

fn any_word(question: &str) -> String {
    question.split(' ').map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" OR ")
}

fn size_of_files(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for found in std::fs::read_dir(folder)? {
        let found = found?;
        bytes += if found.file_type()?.is_dir() {
            size_of_files(&found.path())?
        } else if found.file_name().to_string_lossy().starts_with("memory.db") {
            found.metadata()?.len()
        } else {
            0
        };
    }
    Ok(bytes)
}

/// Parses a number such as 10k or 1m.
fn parse_size(text: &str) -> Result<usize> {
    let lower = text.to_lowercase();
    let (digits, times) = match lower.strip_suffix(['k', 'm']) {
        Some(digits) => (digits, if lower.ends_with('k') { 1_000 } else { 1_000_000 }),
        None => (lower.as_str(), 1),
    };
    let number: usize =
        digits.parse().with_context(|| format!("`{text}` is not a size such as 10k or 1m"))?;
    number.checked_mul(times).with_context(|| format!("`{text}` is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        for (text, size) in [("500", 500), ("10k", 10_000), ("1M", 1_000_000)] {
            assert_eq!(parse_size(text).unwrap(), size);
        }
        assert!(parse_size("many").is_err());
    }
}
