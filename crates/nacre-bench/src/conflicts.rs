//! `nacre-bench conflicts`: pairs of statements, an earlier and a later one, and whether a contradiction between them
//! is found. Contradicting and updating pairs count as positive, compatible and unrelated ones as negative.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use nacre::bench::{Conflict, Statement, compare, explain, weigh};
use serde::{Deserialize, Serialize};

use crate::args::Global;
use crate::render;

/// Details shown besides the counts.
pub struct Show {
    pub wrong: bool,
    pub explanation: bool,
    /// The rules alone, as searches compare.
    pub rules: bool,
}

#[derive(Deserialize)]
struct Row {
    first: String,
    second: String,
    label: String,
}

/// How many pairs of one label there are, and in how many a conflict was found.
#[derive(Default, Serialize)]
struct Count {
    pairs: usize,
    found: usize,
}

#[derive(Serialize)]
struct Report {
    precision: f64,
    recall: f64,
    labels: BTreeMap<String, Count>,
    /// The mean of all comparisons, in nanoseconds.
    compare_ns: u128,
    /// The mean of all statements, in nanoseconds.
    read_ns: u128,
    #[serde(skip)]
    wrong: Vec<String>,
}

pub fn run(file: &Path, show: &Show, global: &Global) -> Result<ExitCode> {
    let rows = rows(file)?;
    let report = measure(&rows, show)?;
    if global.json {
        render::json(&report)?;
    } else {
        render::out(&table(&report))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn rows(file: &Path) -> Result<Vec<Row>> {
    let text = fs::read_to_string(file).with_context(|| format!("can't read `{}`", file.display()))?;
    let rows: Vec<Row> = text
        .lines()
        .zip(1..)
        .filter(|(line, _)| !line.trim().is_empty())
        .map(|(line, number)| {
            serde_json::from_str(line).with_context(|| format!("`{}`, line {number}", file.display()))
        })
        .collect::<Result<_>>()?;
    ensure!(!rows.is_empty(), "`{}` has no pairs", file.display());
    Ok(rows)
}

fn measure(rows: &[Row], show: &Show) -> Result<Report> {
    // The word lists are parsed before the clock starts.
    weigh(&Statement::read("a", None), &Statement::read("b", None));
    let decide = if show.rules { compare } else { weigh };
    let start = Instant::now();
    let read = |text: &str| Statement::read(text, None);
    let pairs: Vec<(Statement, Statement)> =
        rows.iter().map(|row| (read(&row.first), read(&row.second))).collect();
    let reading = start.elapsed();
    let start = Instant::now();
    let found: Vec<Option<Conflict>> = pairs.iter().map(|(first, second)| decide(first, second)).collect();
    let comparing = start.elapsed();

    let mut labels: BTreeMap<String, Count> = BTreeMap::new();
    let mut wrong = Vec::new();
    let [mut positive, mut right] = [0, 0];
    for ((row, conflict), (first, second)) in rows.iter().zip(&found).zip(&pairs) {
        let expected = match row.label.as_str() {
            "contradicting" | "updating" => true,
            "compatible" | "unrelated" => false,
            other => bail!("`{other}` is not a label"),
        };
        let count = labels.entry(row.label.clone()).or_default();
        count.pairs += 1;
        count.found += usize::from(conflict.is_some());
        positive += usize::from(expected);
        right += usize::from(expected && conflict.is_some());
        if show.wrong && expected != conflict.is_some() {
            let mut text = format!("{}: {} | {}", row.label, row.first, row.second);
            if let Some(Conflict { earlier_value, later_value, score, .. }) = conflict {
                let _ = write!(text, " ({earlier_value:?}, {later_value:?}, {score:.1})");
            }
            if show.explanation {
                let _ = write!(text, "\n{}", explain(first, second));
            }
            wrong.push(text);
        }
    }
    let all = found.iter().flatten().count();
    let count = u128::try_from(rows.len())?;
    Ok(Report {
        precision: share(right, all),
        recall: share(right, positive),
        labels,
        compare_ns: comparing.as_nanos() / count,
        read_ns: reading.as_nanos() / (2 * count),
        wrong,
    })
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand pairs")]
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

fn table(report: &Report) -> String {
    let mut text = String::new();
    for (label, Count { pairs, found }) in &report.labels {
        let _ = writeln!(text, "{label:<14} {found:>4} found of {pairs}");
    }
    let _ = writeln!(text, "precision {:.3}, recall {:.3}", report.precision, report.recall);
    let _ = writeln!(text, "{} ns a comparison, {} ns a statement read", report.compare_ns, report.read_ns);
    for pair in &report.wrong {
        let _ = writeln!(text, "\n{pair}");
    }
    text
}
