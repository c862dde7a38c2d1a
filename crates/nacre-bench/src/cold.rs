//! `nacre-bench cold`: a fresh `nacre search`, compared with a fresh `sqlite3` that runs the bare FTS5 query on the same rows.
//!
//! Runs alternate, so that a noisy machine is noisy for both; medians are shown and the ratio is what counts.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::args::Global;
use crate::clock::{finish, percentile, timed};
use crate::context::nacre_program;
use crate::render;
use crate::words::Words;

/// The goals: times as a multiple of `sqlite3`, sizes in megabytes.
const SEARCH_GOAL: f64 = 2.0;
const MCP_GOAL: f64 = 3.0;
const HOOK_GOAL: f64 = 5.0;
/// The 95th percentile, in milliseconds.
const HOOK_P95_GOAL_MS: f64 = 50.0;
const BINARY_GOAL_MB: f64 = 15.0;
const IDLE_GOAL_MB: f64 = 20.0;

pub fn run(rows: usize, runs: usize, global: &Global) -> Result<ExitCode> {
    ensure!(rows > 0 && runs > 0, "the count must be at least 1");
    let folder = tempfile::tempdir().context("no temporary folder can be created")?;
    let bench = Bench {
        nacre: nacre_program(global)?,
        home: folder.path().join("home"),
        plain: folder.path().join("plain.db"),
    };
    let mut words = Words::default();
    render::progress(&format!("storing {rows} memories"));
    bench.fill(folder.path(), &mut words, rows)?;

    let (mut sqlite, mut search, mut mcp) = (Vec::new(), Vec::new(), Vec::new());
    for run in 0..=runs {
        render::progress(&format!("run {run} of {runs}"));
        let query = words.sentence(6);
        let times = (bench.sqlite(&query)?, bench.search(&query)?, bench.mcp(&query)?);
        // The first run warms the file cache.
        if run > 0 {
            sqlite.push(times.0);
            search.push(times.1);
            mcp.push(times.2);
        }
    }
    // Separately and last: a hook leaves a message in the spool, which the next process that opens the memory imports.
    let idle = bench.idle_megabytes()?;
    let (mut beside, mut hook) = (Vec::new(), Vec::new());
    for run in 0..=runs {
        render::progress(&format!("hook {run} of {runs}"));
        let query = words.sentence(6);
        let times = (bench.sqlite(&query)?, bench.hook(&query)?);
        if run > 0 {
            beside.push(times.0);
            hook.push(times.1);
        }
    }
    render::progress("");
    let (beside, slowest) = (percentile(&beside, 50), percentile(&hook, 95));
    let hook = percentile(&hook, 50);
    let [sqlite, search, mcp] = [sqlite, search, mcp].map(|times| percentile(&times, 50));
    let binary = megabytes(std::fs::metadata(&bench.nacre)?.len());
    let table = [
        ("sqlite3, bare FTS5 query, fresh process", format!("{sqlite:.2} ms"), "1.00".into(), String::new()),
        ratio("nacre search, fresh process", search, sqlite, SEARCH_GOAL),
        ratio("nacre mcp, start to first search", mcp, sqlite, MCP_GOAL),
        ratio("nacre hook UserPromptSubmit, fresh process", hook, beside, HOOK_GOAL),
        (
            "the same, 95th percentile",
            format!("{slowest:.2} ms"),
            String::new(),
            verdict(slowest < HOOK_P95_GOAL_MS, &format!("under {HOOK_P95_GOAL_MS} ms")),
        ),
        size("release binary", Some(binary), BINARY_GOAL_MB),
        size("idle MCP server, resident", idle, IDLE_GOAL_MB),
    ];
    if global.json {
        render::json(&json!({
            "rows": rows, "runs": runs, "sqlite3_ms": sqlite, "search_ms": search, "mcp_ms": mcp, "search_ratio": search / sqlite,
            "mcp_ratio": mcp / sqlite, "hook_ms": hook, "hook_ratio": hook / beside, "hook_p95_ms": slowest, "binary_mb": binary, "idle_mcp_mb": idle,
        }))?;
    } else {
        let mut text = format!("{rows} memories, median of {runs} runs\n\n");
        for (what, value, ratio, goal) in table {
            let _ = writeln!(text, "{what:42} {value:>10} {ratio:>6}  {goal}");
        }
        if cfg!(debug_assertions) {
            text.push_str(
                "\nThis is a debug build: `cargo run --release -p nacre-bench -- cold` measures what is shipped.\n",
            );
        }
        render::out(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

type Row = (&'static str, String, String, String);

fn ratio(what: &'static str, time: f64, beside: f64, goal: f64) -> Row {
    let ratio = time / beside;
    (what, format!("{time:.2} ms"), format!("{ratio:.2}"), verdict(ratio <= goal, &format!("at most {goal}")))
}

fn size(what: &'static str, megabytes: Option<f64>, goal: f64) -> Row {
    match megabytes {
        Some(value) => {
            (what, format!("{value:.1} MB"), String::new(), verdict(value < goal, &format!("under {goal}")))
        }
        None => (what, "unknown".into(), String::new(), "only Linux reports it".into()),
    }
}

fn verdict(holds: bool, goal: &str) -> String {
    format!("{} (goal: {goal})", if holds { "holds" } else { "MISSED" })
}

struct Bench {
    nacre: PathBuf,
    home: PathBuf,
    plain: PathBuf,
}

impl Bench {
    /// Fills both stores with the same rows: Nacre's through `nacre import`, the other through `sqlite3`.
    fn fill(&self, folder: &Path, words: &mut Words, rows: usize) -> Result<()> {
        let contents: Vec<String> = (0..rows).map(|row| format!("{} {row}", words.sentence(15))).collect();
        let entries: Vec<Value> =
            contents.iter().enumerate().map(|(row, content)| entry(row + 1, content)).collect();
        let export = folder.join("export");
        std::fs::create_dir(&export)?;
        let records = json!({ "format": 1, "group": "main", "entries": entries, "versions": {} });
        std::fs::write(export.join("nacre.json"), records.to_string())?;
        finish(self.nacre().args(["import", "nacre"]).arg(&export))?;

        let mut script = String::from("CREATE VIRTUAL TABLE docs USING fts5 (content);\nBEGIN;\n");
        for content in &contents {
            let _ = writeln!(script, "INSERT INTO docs VALUES ('{content}');");
        }
        script.push_str("COMMIT;\nINSERT INTO docs (docs) VALUES ('optimize');\nVACUUM;\n");
        let mut sqlite = Command::new("sqlite3")
            .arg(&self.plain)
            .stdin(Stdio::piped())
            .spawn()
            .context("the program `sqlite3` is needed (Debian: apt-get install sqlite3)")?;
        sqlite.stdin.take().context("the pipe is missing")?.write_all(script.as_bytes())?;
        ensure!(sqlite.wait()?.success(), "sqlite3 failed");
        Ok(())
    }

    fn nacre(&self) -> Command {
        let mut command = Command::new(&self.nacre);
        command.arg("--home").arg(&self.home).stdout(Stdio::null());
        command
    }

    fn sqlite(&self, query: &str) -> Result<f64> {
        let any: Vec<String> = query.split(' ').map(|word| format!("\"{word}\"")).collect();
        let sql = format!(
            "SELECT content FROM docs WHERE docs MATCH '{}' ORDER BY rank LIMIT 20;",
            any.join(" OR ")
        );
        timed(|| finish(Command::new("sqlite3").arg(&self.plain).arg(&sql).stdout(Stdio::null())))
    }

    fn search(&self, query: &str) -> Result<f64> {
        timed(|| finish(self.nacre().args(["search", query])))
    }

    /// Measures a hook run for a user's message, from start to end of the process.
    fn hook(&self, query: &str) -> Result<f64> {
        let input = json!({ "session_id": "bench", "hook_event_name": "UserPromptSubmit", "prompt": query });
        timed(|| {
            let mut child = self
                .nacre()
                .args(["hook", "UserPromptSubmit"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            child.stdin.take().context("the pipe is missing")?.write_all(input.to_string().as_bytes())?;
            let output = child.wait_with_output()?;
            // For most messages there is nothing to add: an empty object is a valid answer.
            ensure!(output.status.success() && output.stdout.starts_with(b"{"), "the hook did not answer");
            Ok(())
        })
    }

    /// Measures from the start of the process to the answer to the first search.
    fn mcp(&self, query: &str) -> Result<f64> {
        let mut server = None;
        let time = timed(|| {
            let (mut child, mut output) = self.serve()?;
            let search = json!({ "name": "memory_search", "arguments": { "query": query } });
            let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": search });
            let mut line = String::new();
            writeln!(child.stdin.as_mut().context("the pipe is missing")?, "{call}")?;
            output.read_line(&mut line)?;
            ensure!(line.contains("\"hits\""), "the server answered {line}");
            server = Some(child);
            Ok(())
        });
        stop(server)?;
        time
    }

    fn serve(&self) -> Result<(Child, BufReader<std::process::ChildStdout>)> {
        let mut child = self.nacre().arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let client = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" } });
        let open = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client });
        let opened = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let mut output = BufReader::new(child.stdout.take().context("the pipe is missing")?);
        writeln!(child.stdin.as_mut().context("the pipe is missing")?, "{open}\n{opened}")?;
        let mut line = String::new();
        output.read_line(&mut line)?;
        ensure!(line.contains("serverInfo"), "the server answered {line}");
        Ok((child, output))
    }

    /// Returns the resident memory of a server that has answered one call and is idle.
    fn idle_megabytes(&self) -> Result<Option<f64>> {
        let (mut child, mut output) = self.serve()?;
        let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "memory_brief" } });
        writeln!(child.stdin.as_mut().context("the pipe is missing")?, "{call}")?;
        output.read_line(&mut String::new())?;
        std::thread::sleep(Duration::from_millis(200));
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let kilobytes = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse::<f64>().ok());
        stop(Some(child))?;
        Ok(kilobytes.map(|kilobytes| kilobytes / 1024.0))
    }
}

/// Ends a server by closing its input.
fn stop(server: Option<Child>) -> Result<()> {
    if let Some(mut server) = server {
        drop(server.stdin.take());
        server.wait()?;
    }
    Ok(())
}

pub fn entry(number: usize, content: &str) -> Value {
    json!({
        "id": format!("mem-018f0000-0000-7000-8000-{number:012x}"), "number": number, "type": "fact", "content": content, "tags": [],
        "behavioral": false, "score": 0,
        "provenance": { "session": "bench", "group": "main", "timestamp": "2026-01-01T00:00:00Z", "source": "migration" },
    })
}

#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1_048_576.0
}
