//! `nacre-bench credentials`: how many invented credentials are masked, and how many lines of real text are masked by mistake.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result};
use nacre::redact::{self, MASK};
use serde::{Deserialize, Serialize};

use crate::args::Global;
use crate::render;

/// Fewer characters of a secret in a row may stay, such as a public prefix.
const MAX_LEFT_CHARS: usize = 6;

#[derive(Deserialize)]
struct Row {
    text: String,
    secret: String,
    kind: String,
}

#[derive(Default, Serialize)]
struct Report {
    /// The number of credentials that were masked and of all, by kind.
    kinds: BTreeMap<String, [usize; 2]>,
    masked: usize,
    credentials: usize,
    /// Lines of text without credentials, and those with a mask.
    lines: usize,
    false_alarms: usize,
    megabytes_per_second: f64,
    #[serde(skip)]
    wrong: Vec<String>,
}

pub fn run(file: Option<&Path>, plain: &[PathBuf], list: bool, global: &Global) -> Result<ExitCode> {
    let mut report = Report::default();
    if let Some(file) = file {
        let text = fs::read_to_string(file).with_context(|| format!("`{}` can't be read", file.display()))?;
        for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
            let row =
                serde_json::from_str(line).with_context(|| format!("`{}`, line {number}", file.display()))?;
            report.count(&row);
        }
    }
    let (mut bytes, started) = (0, Instant::now());
    for path in plain {
        bytes += report.count_plain(path)?;
    }
    #[expect(clippy::cast_precision_loss, reason = "megabytes")]
    let megabytes = bytes as f64 / 1e6;
    report.megabytes_per_second = megabytes / started.elapsed().as_secs_f64().max(1e-9);
    if global.json {
        render::json(&report)?;
    } else {
        render::out(&table(&report, list))?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Report {
    fn count(&mut self, row: &Row) {
        let masked = redact::text(&row.text);
        let secret: Vec<char> = row.secret.chars().filter(|c| !c.is_whitespace()).collect();
        let left: String = masked.chars().filter(|c| !c.is_whitespace()).collect();
        // The name of the issuer may occur in the text around the secret too.
        let around = row.text.replace(&row.secret, "\u{0}");
        let around: String = around.chars().filter(|c| !c.is_whitespace()).collect();
        let stays = |part: &[char]| {
            let part: String = part.iter().collect();
            left.contains(&part) && !around.contains(&part)
        };
        let hidden = !secret.windows(MAX_LEFT_CHARS.min(secret.len().max(1))).any(stays);
        let [masked_count, all] = self.kinds.entry(row.kind.clone()).or_default();
        *masked_count += usize::from(hidden);
        *all += 1;
        self.masked += usize::from(hidden);
        self.credentials += 1;
        if !hidden {
            self.wrong.push(format!("{}: {masked}", row.kind));
        }
    }

    /// Counts the lines of a file or of all files below a folder. Returns the number of bytes.
    fn count_plain(&mut self, path: &Path) -> Result<usize> {
        if path.is_dir() {
            let mut bytes = 0;
            for found in fs::read_dir(path).with_context(|| format!("`{}` can't be read", path.display()))? {
                let found = found?;
                if !found.file_type()?.is_symlink() {
                    bytes += self.count_plain(&found.path())?;
                }
            }
            return Ok(bytes);
        }
        let Ok(text) = fs::read_to_string(path) else { return Ok(0) };
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            self.lines += 1;
            let masked = redact::text(line);
            if masked.contains(MASK) && !line.contains(MASK) {
                self.false_alarms += 1;
                self.wrong.push(format!("{}: {}", path.display(), masked.trim()));
            }
        }
        Ok(text.len())
    }
}

fn table(report: &Report, list: bool) -> String {
    let mut text = String::new();
    for (kind, [masked, all]) in &report.kinds {
        let _ = writeln!(text, "{kind:24} {masked:>5} of {all}");
    }
    let _ = writeln!(text, "credentials masked       {:>5} of {}", report.masked, report.credentials);
    let _ = writeln!(
        text,
        "lines masked by mistake  {:>5} of {} ({:.1} MB/s)",
        report.false_alarms, report.lines, report.megabytes_per_second
    );
    for line in report.wrong.iter().filter(|_| list) {
        let _ = writeln!(text, "  {}", line.chars().take(200).collect::<String>());
    }
    text
}
