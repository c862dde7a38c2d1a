//! `nacre-bench report`: quality and speed as one Markdown page with two SVG figures. All numbers are measured by the run that
//! writes it.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::args::Global;
use crate::context::{nacre_program, now};
use crate::measure::{NAMES, Row};
use crate::quality::{ALL_PARTS, Beside, Options, WORDS_ALONE, measure_sets};
use crate::render;
use crate::{clock, speed, svg};

const SIZES: &[usize] = &[10_000, 100_000, 1_000_000];
/// The metric that figures show for each set and level: the set, the level, and its place in [`NAMES`].
const HEADLINES: &[(&str, &str, usize)] = &[
    ("locomo", "turns", 5),
    ("longmemeval", "turns", 5),
    ("longmemeval", "sessions", 4),
    ("beam", "turns", 5),
    ("conflict", "turns", 0),
    ("scifact", "turns", 6),
];

/// The score of one variant on one set, level and half.
struct VariantScore {
    set: String,
    level: String,
    variant: String,
    questions: f64,
    row: Row,
    /// By how much all parts are better than this variant, and the ends of the interval.
    better: Option<[Row; 3]>,
}

pub fn run(data: &Path, page: &Path, global: &Global) -> Result<ExitCode> {
    // Quality takes minutes: a missing program is reported first.
    nacre_program(global)?;
    let mut text = head();
    let tune = quality(data, "tune", Beside::EachPart, global)?;
    let aside = quality(data, "aside", Beside::Words, global)?;
    let all: Vec<VariantScore> =
        aside.iter().filter_map(|right| Some(both(find(&tune, right)?, right))).collect();
    let speeds = speed::measure(SIZES, global)?;

    let stem = page.file_stem().context("the page needs a name")?.to_string_lossy().into_owned();
    let pictures = [format!("{stem}-parts.svg"), format!("{stem}-ablation.svg")];
    std::fs::write(page.with_file_name(&pictures[0]), headlines(&aside))?;
    std::fs::write(page.with_file_name(&pictures[1]), ablation(&tune))?;

    let _ = writeln!(
        text,
        "## Quality\n\n{METHOD}\n\n![Recall with words alone and with all parts]({})\n",
        pictures[0]
    );
    for (half, measured) in [("Held-out half", &aside), ("Tuning half", &tune), ("All questions", &all)] {
        let _ = writeln!(text, "### {half}\n");
        let shown =
            measured.iter().filter(|found| [ALL_PARTS, WORDS_ALONE].contains(&found.variant.as_str()));
        table(&mut text, shown);
        intervals(&mut text, measured);
    }
    let _ = writeln!(text, "### Ablation\n\n{ABLATION}\n\n![Loss without each part]({})\n", pictures[1]);
    table(&mut text, tune.iter().filter(|found| found.level == "turns"));
    let _ = writeln!(
        text,
        "## Speed\n\nSynthetic conversations, next to a plain FTS5 table with the same texts that is queried for any of the \
         words, ordered by `rank`. Warm searches and imports are {}, measured alternately; fresh processes are the \
         `nacre` and `sqlite3` programs, median wall time.\n",
        clock::kind()
    );
    for measured in &speeds {
        let _ = writeln!(
            text,
            "| {} | nacre | plain FTS5 | ratio | |\n| --- | ---: | ---: | ---: | --- |",
            speed::title(measured)
        );
        for line in measured.lines() {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} |",
                line.what, line.ours, line.plain, line.ratio, line.goal
            );
        }
        text.push('\n');
    }
    std::fs::write(page, text).with_context(|| format!("{} can't be written", page.display()))?;
    render::out(&format!("Wrote {}, {} and {}\n", page.display(), pictures[0], pictures[1]))?;
    Ok(ExitCode::SUCCESS)
}

const METHOD: &str = "Measured through the public calls: each history is imported with `session import` into its own memory, and \
each question is one `memory_search`. Questions without an answer are left out. *any@k*: at least one right message is \
among the first k. *fraction@k*: the share of the right messages among the first k.";

const INTERVALS: &str = "All parts against words alone, paired by question, with 95 % bootstrap intervals:";

const ABLATION: &str = "Tuning half: results with one score part left out.";

fn head() -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let model = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        Some(text.lines().find(|line| line.starts_with("model name"))?.split(": ").nth(1)?.to_owned())
    });
    let processor = model.map_or_else(String::new, |model| format!(" of {model}"));
    let commit = commit().map_or_else(String::new, |commit| format!(" ({commit})"));
    let day = now().to_string().chars().take(10).collect::<String>();
    let debug =
        if cfg!(debug_assertions) { " This is a debug build: its times are meaningless." } else { "" };
    format!(
        "# Benchmarks: full report\n\nGenerated by `nacre-bench report` on {day}: nacre {}{commit}, {}, {cores} cores{processor}.{debug}\n\n\
         [Benchmarks](benchmarks.md) has the summary and explains the method.\n\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
    )
}

/// Returns the commit of the build, or else of the checkout in which it runs.
fn commit() -> Option<String> {
    if let Some(commit) = option_env!("NACRE_COMMIT") {
        return Some(commit.to_owned());
    }
    let output = Command::new("git").args(["describe", "--always", "--dirty"]).output().ok()?;
    let commit = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !commit.is_empty()).then(|| format!("in a checkout of {commit}"))
}

fn quality(data: &Path, half: &str, beside: Beside, global: &Global) -> Result<Vec<VariantScore>> {
    let options = Options { half: half.to_owned(), beside, categories: false };
    let (found, _) = measure_sets("all", data, &options, global)?;
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let number = |value: &Value| value.as_f64().unwrap_or_default();
    let row = |value: &Value| NAMES.map(|name| number(&value[name]));
    let read = |value: &Value| VariantScore {
        set: word(&value["set"]),
        level: word(&value["level"]),
        variant: word(&value["variant"]),
        questions: number(&value["n"]),
        row: row(&value["measures"]),
        better: value.get("all_parts_better").map(|better| ["by", "from", "to"].map(|key| row(&better[key]))),
    };
    Ok(found.iter().map(read).collect())
}

fn find<'a>(among: &'a [VariantScore], like: &VariantScore) -> Option<&'a VariantScore> {
    let is = |found: &&VariantScore| {
        (&found.set, &found.level, &found.variant) == (&like.set, &like.level, &like.variant)
    };
    among.iter().find(is)
}

/// Combines both halves: the mean over all questions.
fn both(left: &VariantScore, right: &VariantScore) -> VariantScore {
    let questions = left.questions + right.questions;
    let mean = |(left_value, right_value): (f64, f64)| {
        (left_value * left.questions + right_value * right.questions) / questions
    };
    let row = std::array::from_fn(|place| mean((left.row[place], right.row[place])));
    VariantScore {
        set: left.set.clone(),
        level: left.level.clone(),
        variant: left.variant.clone(),
        questions,
        row,
        better: None,
    }
}

fn table<'a>(text: &mut String, rows: impl Iterator<Item = &'a VariantScore>) {
    let _ = writeln!(text, "| set | | questions | {} |", NAMES.join(" | "));
    let _ = writeln!(text, "| --- | --- | ---: |{}", " ---: |".repeat(NAMES.len()));
    for VariantScore { set, level, variant, questions, row, .. } in rows {
        let row = row.map(|value| format!("{value:.3}")).join(" | ");
        let _ = writeln!(text, "| {set}, {level} | {variant} | {questions} | {row} |");
    }
    text.push('\n');
}

/// Writes the headline metrics: by how much all parts are better than words alone.
fn intervals(text: &mut String, measured: &[VariantScore]) {
    let line = |(set, level, place): &(&str, &str, usize)| {
        let is = |found: &&VariantScore| {
            (&*found.set, &*found.level, &*found.variant) == (set, level, WORDS_ALONE)
        };
        let [by, low, high] = measured.iter().find(is)?.better?;
        Some(format!(
            "- {set}, {level}, {}: {:+.1} points [{:+.1}, {:+.1}]",
            NAMES[*place],
            100.0 * by[*place],
            100.0 * low[*place],
            100.0 * high[*place]
        ))
    };
    let lines: Vec<String> = HEADLINES.iter().filter_map(line).collect();
    if !lines.is_empty() {
        let _ = writeln!(text, "{INTERVALS}\n\n{}\n", lines.join("\n"));
    }
}

fn value(among: &[VariantScore], headline: (&str, &str, usize), variant: &str) -> Option<f64> {
    let (set, level, place) = headline;
    let is = |found: &&VariantScore| (&*found.set, &*found.level, &*found.variant) == (set, level, variant);
    among.iter().find(is).map(|found| found.row[place])
}

fn headlines(measured: &[VariantScore]) -> String {
    let row = |headline: &(&str, &str, usize)| {
        let (set, level, place) = *headline;
        let values = [WORDS_ALONE, ALL_PARTS].map(|variant| value(measured, *headline, variant));
        let values: Vec<f64> = values.into_iter().collect::<Option<_>>()?;
        let level = if level == "turns" { "" } else { " sessions" };
        Some(svg::Row { label: format!("{set}{level}, {}", NAMES[place]), values })
    };
    let rows: Vec<svg::Row> = HEADLINES.iter().filter_map(row).collect();
    svg::bars("Recall on the held-out half", &[WORDS_ALONE, ALL_PARTS], &rows, 3)
}

/// Draws the mean loss over the headline metrics without each part.
fn ablation(measured: &[VariantScore]) -> String {
    let mean = |variant: &str| {
        let values: Vec<f64> =
            HEADLINES.iter().filter_map(|headline| value(measured, *headline, variant)).collect();
        #[expect(clippy::cast_precision_loss, reason = "a few sets")]
        let count = values.len().max(1) as f64;
        values.iter().sum::<f64>() / count
    };
    let mut variants: Vec<&str> = Vec::new();
    for found in measured {
        let whole_or_words = [ALL_PARTS, WORDS_ALONE].contains(&found.variant.as_str());
        if !whole_or_words && !variants.contains(&found.variant.as_str()) {
            variants.push(&found.variant);
        }
    }
    let whole = mean(ALL_PARTS);
    let mut rows: Vec<svg::Row> = variants
        .iter()
        .map(|variant| svg::Row {
            label: (*variant).to_owned(),
            values: vec![100.0 * (whole - mean(variant))],
        })
        .collect();
    rows.sort_by(|a, b| b.values[0].total_cmp(&a.values[0]));
    svg::bars(
        "Points lost without each part (mean of the headline measures, tuning half)",
        &["loss"],
        &rows,
        2,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page was once rewritten by hand, and the next run would have undone that.
    #[test]
    fn the_page_in_the_docs_had_other_words_than_the_generator() {
        let page = include_str!("../../../docs/benchmarks-report.md");
        let head = head();
        let fixed = head.lines().filter(|line| !line.starts_with("Generated by"));
        for line in fixed.chain([METHOD, INTERVALS, ABLATION]) {
            assert!(page.contains(line), "{line}");
        }
    }

    #[test]
    fn halves_together_are_the_mean_over_all_questions() {
        let half = |questions: f64, value: f64| VariantScore {
            set: "a".into(),
            level: "turns".into(),
            variant: ALL_PARTS.into(),
            questions,
            row: [value; NAMES.len()],
            better: None,
        };
        let all = both(&half(1.0, 1.0), &half(3.0, 0.0));
        assert_eq!((all.questions, all.row[0]), (4.0, 0.25));
    }
}
