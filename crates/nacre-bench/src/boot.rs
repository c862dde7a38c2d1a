//! `nacre-bench boot`: a fresh `nacre boot` of a full workspace, compared with a fresh `cat` of the same bytes.

use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use crate::args::Global;
use crate::clock::{finish, percentile, timed};
use crate::context::nacre_program;
use crate::render;
use crate::words::Words;

/// The longest it may take, as a multiple of `cat`.
const MAX_RATIO: f64 = 3.0;
/// The files of a main session, and the characters of each: 150,000 in all.
const FILES: &[&str] = &[
    "AGENTS.md",
    "SOUL.md",
    "USER.md",
    "IDENTITY.md",
    "memory/active-context.md",
    "MEMORY.md",
    "memory/CORE.md",
    "memory/2026-02-17.md",
    "memory/2026-02-18.md",
];
const FILE_CHARS: usize = 16_500;

pub fn run(runs: usize, global: &Global) -> Result<ExitCode> {
    ensure!(runs > 0, "the count must be at least 1");
    let program = nacre_program(global)?;
    let folder = tempfile::tempdir().context("no temporary folder can be created")?;
    let group = folder.path().join("groups/main");
    std::fs::create_dir_all(group.join("memory"))?;
    let mut words = Words::default();
    let mut paths: Vec<PathBuf> = Vec::new();
    for file in FILES {
        let mut text = String::new();
        while text.len() < FILE_CHARS {
            text.push_str(&format!("- {}\n", words.sentence(14)));
        }
        text.truncate(FILE_CHARS);
        std::fs::write(group.join(file), text)?;
        paths.push(group.join(file));
    }
    let nacre = |args: &[&str]| {
        let mut command = Command::new(&program);
        command.arg("--home").arg(folder.path()).args(["--now", "2026-02-18T12:00:00Z"]).args(args);
        command.env("TZ", "UTC0").stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    finish(&mut nacre(&["store", "The user's dog is called Luna"]))?;
    let (mut cat, mut boot) = (Vec::new(), Vec::new());
    for run in 0..=runs {
        render::progress(&format!("run {run} of {runs}"));
        let times = (
            timed(|| finish(Command::new("cat").args(&paths).stdout(Stdio::null())))?,
            timed(|| finish(&mut nacre(&["boot"])))?,
        );
        // The first run warms the file cache.
        if run > 0 {
            cat.push(times.0);
            boot.push(times.1);
        }
    }
    render::progress("");
    let (cat, boot) = (percentile(&cat, 50), percentile(&boot, 50));
    let ratio = boot / cat;
    if global.json {
        render::json(&json!({ "runs": runs, "cat_ms": cat, "boot_ms": boot, "ratio": ratio }))?;
    } else {
        let verdict = if ratio <= MAX_RATIO { "holds" } else { "MISSED" };
        render::out(&format!(
            "{} characters, median of {runs} runs\n\ncat         {cat:7.2} ms\nnacre boot  {boot:7.2} ms  {ratio:5.2}  {verdict} (goal: at most {MAX_RATIO})",
            FILES.len() * FILE_CHARS
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
