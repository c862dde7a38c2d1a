//! `nacre-bench sync`: cost of syncing. Another machine's operations applied to an empty home, transcripts of another machine, a
//! round with nothing new, and a write on a synced machine compared with one on a machine with the same memories that is not synced.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use nacre::call::StoreRequest;
use nacre::sync::{Place, RoundOptions};
use nacre::{Caller, Group, Home, Settings};
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::Global;
use crate::clock::{self, cpu, percentile, timed};
use crate::cold::entry;
use crate::context::now;
use crate::render;
use crate::words::Words;

/// Writes that are measured on each machine.
const WRITES: usize = 300;
/// Transcripts that travel, and how many lines each has.
const TRANSCRIPTS: usize = 500;
const LINES: usize = 20;
/// Rounds with nothing new that are measured.
const ROUNDS: usize = 20;

#[derive(Serialize)]
struct Measurement {
    operations: usize,
    capture_ms: f64,
    fold_ms: f64,
    fold_wall_ms: f64,
    lines: usize,
    lines_capture_ms: f64,
    lines_fold_ms: f64,
    quiet_round_ms: f64,
    write_ms: f64,
    synced_write_ms: f64,
}

pub fn run(operations: usize, global: &Global) -> Result<ExitCode> {
    let measured = measure(operations)?;
    render::progress("");
    if global.json {
        render::json(&measured)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Measurement { capture_ms, fold_ms, fold_wall_ms, quiet_round_ms, write_ms, synced_write_ms, .. } =
        measured;
    let Measurement { lines, lines_capture_ms, lines_fold_ms, .. } = measured;
    let mut text = String::new();
    let _ = writeln!(text, "{operations} operations ({})", clock::kind());
    let _ = writeln!(text, "  first round    {capture_ms:8.0} ms on the machine that has them");
    let _ = writeln!(
        text,
        "  fold           {fold_ms:8.0} ms into an empty home, index included (goal 10,000 for 100,000); wall-clock {fold_wall_ms:.0} ms"
    );
    let _ = writeln!(
        text,
        "  transcripts    {lines_fold_ms:8.0} ms for {lines} lines of {TRANSCRIPTS}, index included; {lines_capture_ms:.0} ms where they were said"
    );
    let _ = writeln!(text, "  quiet round    {quiet_round_ms:8.2} ms (goal 20)");
    let ratio = synced_write_ms / write_ms;
    let _ = writeln!(
        text,
        "  write          {synced_write_ms:8.3} ms synced, {ratio:.2} of one that is not (goal 1.2)"
    );
    render::out(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn group(home: &Path) -> Result<Group> {
    Ok(Home::new(home, Settings::default()).group(&"main".parse()?, now())?)
}

fn measure(operations: usize) -> Result<Measurement> {
    let folder = tempfile::tempdir()?;
    let carrier = Place::Folder(folder.path().join("carrier"));
    let caller = Caller::person("bench".parse()?, now());
    let mut words = Words::default();
    let export = folder.path().join("export");
    write_export(&export, &mut words, operations)?;
    let [mut synced, mut plain] =
        [group(&folder.path().join("synced"))?, group(&folder.path().join("plain"))?];
    for group in [&mut synced, &mut plain] {
        render::progress(&format!("{operations} memories are imported"));
        nacre::export::import(&mut group.enter(&caller)?, &export)?;
    }
    render::progress("the first round");
    let capture_ms = cpu(|| {
        nacre::sync::init(&mut synced.enter(&caller)?, &carrier, "first")?;
        Ok(())
    })?;
    render::progress("writes");
    let [mut write_times, mut synced_times] = [Vec::new(), Vec::new()];
    for number in operations..operations + WRITES {
        let content = format!("{} {number}", words.sentence(12));
        for (group, times) in [(&mut plain, &mut write_times), (&mut synced, &mut synced_times)] {
            let request = StoreRequest { content: content.clone(), ..StoreRequest::default() };
            times.push(cpu(|| {
                nacre::run(&mut group.enter(&caller)?, request)?;
                Ok(())
            })?);
        }
    }
    nacre::sync::round(&mut synced.enter(&caller)?, &RoundOptions::default())?;
    let phrase = nacre::sync::invite(&synced.enter(&caller)?)?;
    render::progress("the fold");
    let mut joined = group(&folder.path().join("joined"))?;
    let mut fold_ms = 0.0;
    let fold_wall_ms = timed(|| {
        fold_ms = cpu(|| {
            nacre::sync::join(&mut joined.enter(&caller)?, &carrier, &phrase, "second")?;
            Ok(())
        })?;
        Ok(())
    })?;
    render::progress("transcripts");
    write_transcripts(&folder.path().join("synced/groups/main/sessions"), &mut words)?;
    let round = |group: &mut Group| {
        cpu(|| {
            let report = nacre::sync::round(&mut group.enter(&caller)?, &RoundOptions::default())?;
            anyhow::ensure!(report.problems.is_empty(), "{:?}", report.problems);
            Ok(())
        })
    };
    let lines_capture_ms = round(&mut synced)?;
    let lines_fold_ms = round(&mut joined)?;
    round(&mut joined)?;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push(round(&mut joined)?);
    }
    Ok(Measurement {
        operations,
        capture_ms,
        fold_ms,
        fold_wall_ms,
        lines: TRANSCRIPTS * LINES,
        lines_capture_ms,
        lines_fold_ms,
        quiet_round_ms: percentile(&rounds, 50),
        write_ms: percentile(&write_times, 50),
        synced_write_ms: percentile(&synced_times, 50),
    })
}

/// Writes transcripts as Nacre does.
fn write_transcripts(folder: &Path, words: &mut Words) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    for session in 0..TRANSCRIPTS {
        let line = |number: usize| {
            let (id, content) = (format!("msg_{:03}", number + 1), words.sentence(30));
            let line = json!({ "id": id, "role": "user", "content": content, "timestamp": "2026-01-15T12:00:00.000Z" });
            format!("{line}\n")
        };
        let text: String = (0..LINES).map(line).collect();
        std::fs::write(folder.join(format!("talk-{session}.jsonl")), text)?;
    }
    Ok(())
}

/// Writes an export with this number of memories: importing it is faster than storing them one by one.
fn write_export(folder: &Path, words: &mut Words, memories: usize) -> Result<()> {
    let entries: Vec<Value> =
        (0..memories).map(|row| entry(row + 1, &format!("{} {row}", words.sentence(12)))).collect();
    std::fs::create_dir(folder)?;
    let records = json!({ "format": 1, "group": "main", "entries": entries, "versions": {} });
    Ok(std::fs::write(folder.join("nacre.json"), records.to_string())?)
}
