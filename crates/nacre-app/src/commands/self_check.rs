//! `nacre self-check`: the version, whether everything works on this machine, and the state of the home, on one page for a bug
//! report. It tests a temporary home; of the real one it shows counts and paths, never memories.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::care::{self, Check};
use crate::context::Context;
use crate::serve::Running;

/// How long a server may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// A test in a home, which returns what worked.
type Trial = fn(&Path) -> Result<String>;

/// The tests, run in this order in one home.
const TRIALS: &[(&str, Trial)] =
    &[("memory", memory), ("meaning", meaning), ("agents", agents), ("server", server)];

pub fn run(context: &Context) -> Result<ExitCode> {
    let mut checks = vec![Check { name: "program", ok: true, says: program() }];
    let home = tempfile::tempdir().context("a folder to try it in")?;
    for (name, trial) in TRIALS {
        let begun = Instant::now();
        let (ok, says) = match trial(home.path()) {
            Ok(says) => (true, format!("{says} ({} ms)", begun.elapsed().as_millis())),
            Err(problem) => (false, format!("{problem:#}")),
        };
        checks.push(Check { name, ok, says });
    }
    checks.extend(care::examine(context));
    let says = match Running::find(&context.home) {
        Some((url, _)) => format!("runs at {url}"),
        None => "none runs for this home".into(),
    };
    checks.push(Check { name: "service", ok: true, says });
    care::report(context.global.json, &checks)
}

fn program() -> String {
    let path = std::env::current_exe().map_or_else(|_| "?".into(), |path| path.display().to_string());
    format!(
        "nacre {} for {} on {}, SQLite {}, {} build, at {path}",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
        nacre::sqlite_version(),
        if cfg!(debug_assertions) { "debug" } else { "release" },
    )
}

/// Returns a command that runs this program in the home.
fn nacre(home: &Path) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe().context("this program can't find itself")?);
    for name in ["NACRE_GROUP", "NACRE_ROLE", "NACRE_VISIBILITY", "NACRE_NOW"] {
        command.env_remove(name);
    }
    command.arg("--home").arg(home).stdin(Stdio::null());
    Ok(command)
}

fn answer(home: &Path, args: &[&str]) -> Result<Value> {
    let done = nacre(home)?.arg("--json").args(args).output()?;
    let said = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "`nacre {}` failed: {}", args.join(" "), said.trim());
    Ok(serde_json::from_slice(&done.stdout)?)
}

fn memory(home: &Path) -> Result<String> {
    let first = answer(home, &["store", "The build server is called heron"])?;
    let id = first["id"].as_str().context("what was stored has an id")?;
    answer(home, &["store", "The build server is called kestrel", "--supersedes", id])?;
    let found = answer(home, &["search", "build server"])?;
    let texts: Vec<&str> =
        found["hits"].as_array().into_iter().flatten().filter_map(|hit| hit["text"].as_str()).collect();
    ensure!(texts.len() == 1 && texts[0].contains("kestrel"), "a search found {texts:?}");
    Ok("stored, superseded and found".into())
}

fn meaning(home: &Path) -> Result<String> {
    answer(home, &["store", "My puppy is sick"])?;
    let found = answer(home, &["search", "the dog is ill"])?;
    let first = found["hits"][0]["text"].as_str().unwrap_or_default();
    ensure!(first.contains("puppy"), "the built-in model does not find by meaning: {found}");
    Ok("found by meaning".into())
}

fn agents(home: &Path) -> Result<String> {
    let mut child =
        KilledOnDrop(nacre(home)?.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?);
    let mut input = child.0.stdin.take().context("a pipe")?;
    let mut lines = BufReader::new(child.0.stdout.take().context("a pipe")?).lines();
    let client = json!({ "name": "self-check", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }),
        json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call",
            "params": { "name": "memory_search", "arguments": { "query": "build server" } } }),
    ] {
        writeln!(input, "{message}")?;
    }
    let mut tools = 0;
    loop {
        let line = lines.next().context("the MCP server ended before it answered")??;
        let message: Value = serde_json::from_str(&line)?;
        match message["id"].as_i64() {
            Some(2) => tools = message["result"]["tools"].as_array().map_or(0, Vec::len),
            Some(3) => {
                ensure!(line.contains("kestrel"), "memory_search over MCP answered {line}");
                return Ok(format!("MCP answers with {tools} tools"));
            }
            _ => {}
        }
    }
}

fn server(home: &Path) -> Result<String> {
    let args = ["serve", "--listen", "127.0.0.1:0"];
    let _child = KilledOnDrop(nacre(home)?.args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
    let begun = Instant::now();
    let (url, key) = loop {
        if let Some(found) = Running::find(&nacre::Home::new(home, nacre::Settings::default())) {
            break found;
        }
        ensure!(begun.elapsed() < START_TIMEOUT, "`nacre serve` does not start");
        std::thread::sleep(Duration::from_millis(20));
    };
    let mut reply = ureq::get(format!("{url}/v1/search?query=build%20server"))
        .header("authorization", &format!("Bearer {key}"))
        .call()
        .context("the server does not answer")?;
    let text = reply.body_mut().read_to_string()?;
    ensure!(text.contains("kestrel"), "a search over HTTP answered {text}");
    Ok("HTTP answers".into())
}

/// A process that is killed when this is dropped.
struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
