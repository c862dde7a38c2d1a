//! `nacre-bench sync`: cost of syncing. Another machine's operations applied to an empty home, a round with nothing new, and a
//! write on a synced machine compared with one that is not synced.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use nacre::call::StoreRequest;
use nacre::sync::{Place, RoundOptions};
use nacre::{Caller, Group, Home, Settings};
use serde::Serialize;

use crate::args::Global;
use crate::clock::{self, cpu, percentile};
use crate::context::now;
use crate::render;
use crate::words::Words;

/// Writes that are measured on each machine.
const WRITES: usize = 300;
/// Rounds with nothing new that are measured.
const ROUNDS: usize = 20;

#[derive(Serialize)]
struct Measurement {
    operations: usize,
    capture_ms: f64,
    fold_ms: f64,
    quiet_round_ms: f64,
    write_ms: f64,
    synced_write_ms: f64,
}

pub fn run(operations: usize, global: &Global) -> Result<ExitCode> {
    let measured = measure(operations)?;
    if global.json {
        render::json(&measured)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Measurement { capture_ms, fold_ms, quiet_round_ms, write_ms, synced_write_ms, .. } = measured;
    let mut text = String::new();
    let _ = writeln!(text, "{operations} operations ({})", clock::kind());
    let _ = writeln!(text, "  first round    {capture_ms:8.0} ms on the machine that has them");
    let _ = writeln!(
        text,
        "  fold           {fold_ms:8.0} ms into an empty home, index included (goal 10,000 for 100,000)"
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

fn group(home: &std::path::Path) -> Result<Group> {
    Ok(Home::new(home, Settings::default()).group(&"main".parse()?, now())?)
}

fn measure(operations: usize) -> Result<Measurement> {
    let folder = tempfile::tempdir()?;
    let carrier = Place::Folder(folder.path().join("carrier"));
    let caller = Caller::person("bench".parse()?, now());
    let mut words = Words::default();
    let (mut first, mut second) =
        (group(&folder.path().join("first"))?, group(&folder.path().join("second"))?);
    let mut store = |group: &mut Group, number: usize| -> Result<()> {
        let content = format!("{} {number}", words.sentence(12));
        nacre::run(&mut group.enter(&caller)?, StoreRequest { content, ..StoreRequest::default() })?;
        Ok(())
    };
    for number in 0..operations {
        store(&mut first, number)?;
        if number % 10_000 == 0 {
            render::progress(&format!("{number} of {operations} memories stored"));
        }
    }
    let mut writes = |group: &mut Group, from: usize| -> Result<f64> {
        let mut times = Vec::new();
        for number in from..from + WRITES {
            times.push(cpu(|| store(group, number))?);
        }
        Ok(percentile(&times, 50))
    };
    let write_ms = writes(&mut first, operations)?;
    let capture_ms = cpu(|| {
        nacre::sync::init(&mut first.enter(&caller)?, &carrier, "first")?;
        Ok(())
    })?;
    let synced_write_ms = writes(&mut first, operations + WRITES)?;
    nacre::sync::round(&mut first.enter(&caller)?, &RoundOptions::default())?;
    let phrase = nacre::sync::invite(&first.enter(&caller)?)?;
    let fold_ms = cpu(|| {
        nacre::sync::join(&mut second.enter(&caller)?, &carrier, &phrase, "second")?;
        Ok(())
    })?;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push(cpu(|| {
            nacre::sync::round(&mut second.enter(&caller)?, &RoundOptions::default())?;
            Ok(())
        })?);
    }
    let quiet_round_ms = percentile(&rounds, 50);
    Ok(Measurement { operations, capture_ms, fold_ms, quiet_round_ms, write_ms, synced_write_ms })
}
