//! `nacre-bench grep`: a fresh `nacre grep` over a workspace, compared with a fresh `rg` over the same files. Both must print the
//! same lines.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use crate::args::Global;
use crate::clock::{percentile, timed};
use crate::context::nacre_program;
use crate::render;
use crate::words::Words;

/// The longest it may take, as a multiple of `rg`.
const MAX_RATIO: f64 = 1.5;
/// The size of one document, in bytes.
const DOCUMENT_BYTES: usize = 100_000;
/// One line in this many contains the rare words.
const RARE_LINES: usize = 5_000;

/// The patterns: a name, the options that both programs share, and the pattern.
const PATTERNS: &[(&str, &[&str], &str)] = &[
    ("a rare word", &["-F"], "kingfisher"),
    ("no match", &["-F"], "hummingbird"),
    ("a regular expression", &[], r"error E[0-9]{4} in \w+::\w+"),
    ("any case, another script", &["-i"], "ЗИМОРОДОК"),
    ("any case", &["-i"], "KingFisher|ERROR e1"),
    ("a word on many lines", &["-F"], "xkalo"),
];

pub fn run(megabytes: usize, runs: usize, rg: &Path, global: &Global) -> Result<ExitCode> {
    ensure!(runs > 0 && megabytes > 0, "the counts must be at least 1");
    let program = nacre_program(global)?;
    let folder = tempfile::tempdir().context("no temporary folder can be created")?;
    let group = folder.path().join("groups/main");
    let memory = group.join("memory");
    std::fs::create_dir_all(&memory)?;
    write_documents(&memory, megabytes)?;
    let nacre = |options: &[&str], pattern: &str| {
        let mut command = Command::new(&program);
        command
            .arg("--home")
            .arg(folder.path())
            .arg("grep")
            .args(options)
            .args(["--scope", "memory", pattern]);
        command
    };
    let ripgrep = |options: &[&str], pattern: &str| {
        let mut command = Command::new(rg);
        command.current_dir(&group).args(["--no-config", "-n", "--no-heading", "--color=never"]);
        command.args(options).args(["-e", pattern, "memory"]);
        command
    };
    let (mut rows, mut holds) = (Vec::new(), true);
    for (name, options, pattern) in PATTERNS {
        let ours = lines(&mut nacre(options, pattern))?;
        let theirs = lines(&mut ripgrep(options, pattern))?;
        let same = ours == theirs;
        let (mut ours_ms, mut theirs_ms) = (Vec::new(), Vec::new());
        for run in 0..runs {
            render::progress(&format!("{name}: run {} of {runs}", run + 1));
            theirs_ms.push(timed(|| quiet(&mut ripgrep(options, pattern)))?);
            ours_ms.push(timed(|| quiet(&mut nacre(options, pattern)))?);
        }
        let (ours_ms, theirs_ms) = (percentile(&ours_ms, 50), percentile(&theirs_ms, 50));
        holds &= same && ours_ms / theirs_ms <= MAX_RATIO;
        rows.push((name, ours.len(), same, theirs_ms, ours_ms));
    }
    render::progress("");
    if global.json {
        let row = |(name, lines, same, rg, nacre): &(_, _, _, f64, f64)| json!({ "pattern": name, "lines": lines, "same_lines": same, "rg_ms": rg, "nacre_ms": nacre, "ratio": nacre / rg });
        render::json(
            &json!({ "megabytes": megabytes, "runs": runs, "patterns": rows.iter().map(row).collect::<Vec<_>>() }),
        )?;
    } else {
        let mut text = format!("{megabytes} MB of Markdown, median of {runs} runs\n\n");
        for (name, lines, same, rg, nacre) in rows {
            let same = if same { "the same lines" } else { "OTHER LINES" };
            text.push_str(&format!(
                "{name:26} {lines:>7} lines  rg {rg:7.1} ms  nacre grep {nacre:7.1} ms  {:5.2}  {same}\n",
                nacre / rg
            ));
        }
        let verdict = if holds { "holds" } else { "MISSED" };
        render::out(&format!(
            "{text}\n{verdict} (goal: the same lines in at most {MAX_RATIO} times its time)"
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes documents of lines of invented words, some of which contain the rare ones.
fn write_documents(memory: &Path, megabytes: usize) -> Result<()> {
    const RARE: [&str; 3] =
        ["a Kingfisher and a kingfisher", "error E1042 in store::open", "увидел зимородок у реки"];
    let mut words = Words::default();
    let (mut number, mut rare) = (0, RARE.iter().cycle());
    for document in 0..(megabytes * 1_000_000).div_ceil(DOCUMENT_BYTES) {
        let mut text = format!("# Document {document}\n\n");
        while text.len() < DOCUMENT_BYTES {
            number += 1;
            let more = if number % RARE_LINES == 0 { rare.next().copied().unwrap_or_default() } else { "" };
            text.push_str(&format!("- {} {more}\n", words.sentence(14)));
        }
        std::fs::write(memory.join(format!("notes-{document:05}.md")), text)?;
    }
    Ok(())
}

/// Returns the lines that a program prints, sorted.
fn lines(command: &mut Command) -> Result<Vec<String>> {
    let output = command.stderr(Stdio::inherit()).output()?;
    let mut lines: Vec<String> = String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    Ok(lines)
}

/// Runs a program without its output. Both exit with an error code if no line matches.
fn quiet(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_owned();
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .with_context(|| format!("{} can't be started", program.display()))?;
    Ok(())
}
