//! The benchmarks: each compares Nacre with something the reader knows, in the same run. Most call the library; those of startup
//! and serving run the `nacre` program. None of this is part of that program.

// Flags, environment and clock.
mod args;
mod context;
mod render;

// Shared by the benchmarks: timers, ranking metrics, invented texts, figures.
mod clock;
mod measure;
mod svg;
mod words;

// One file per benchmark, by its name.
mod boot;
mod cold;
mod conflicts;
mod conflicts_stored;
mod credentials;
mod embed;
mod engines;
mod forget;
mod graph;
mod graph60;
mod grep;
mod inject;
mod load;
mod notes;
mod quality;
mod report;
mod serve;
mod serve_engines;
mod session;
mod speed;
mod stale;
mod summary;
mod sync;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser as _;

use args::{Bench, Cli};

fn main() -> ExitCode {
    let cli = Cli::parse();
    run(cli).unwrap_or_else(|error| render::error(&error))
}

fn run(Cli { global, bench }: Cli) -> Result<ExitCode> {
    match bench {
        Bench::Embed { runs } => embed::run(runs, &global),
        Bench::Quality { name, data, half, ablation, against, categories } => {
            let beside = match against {
                Some(pair) => quality::Beside::Setting(pair),
                None if ablation => quality::Beside::EachPart,
                None => quality::Beside::Nothing,
            };
            quality::run(&name, &data, &quality::Options { half, beside, categories }, &global)
        }
        Bench::Engines { name, data, server, half } => engines::run(&name, &data, &half, &server, &global),
        Bench::Conflicts { file, list, stored: true, .. } => conflicts_stored::run(&file, list, &global),
        Bench::Conflicts { file, list, explain, rules, .. } => {
            conflicts::run(&file, &conflicts::Show { wrong: list, explanation: explain, rules }, &global)
        }
        Bench::Credentials { file, plain, list } => credentials::run(file.as_deref(), &plain, list, &global),
        Bench::Forget { cases, list } => forget::run(cases.as_deref(), list, &global),
        Bench::Graph { facts } => graph::run(facts, &global),
        Bench::Graph60 { data, half, failures } => graph60::run(&data, &half, failures, &global),
        Bench::Grep { megabytes, runs, rg } => grep::run(megabytes, runs, &rg, &global),
        Bench::Speed { sizes } => speed::run(&sizes, &global),
        Bench::Serve { bare: Some(table), .. } => serve::bare(&table),
        Bench::Serve { clients, seconds, passages, server, bare: None } => {
            let load = serve::Load { clients, seconds, passages };
            match server {
                Some(url) => serve_engines::run(&load, &url, &global),
                None => serve::run(&load, &global),
            }
        }
        Bench::Load { groups, passages, importers, clients, seconds, server } => {
            load::run(&load::Amount { groups, passages, importers, clients, seconds }, &server, &global)
        }
        Bench::Report { data, page } => report::run(&data, &page, &global),
        Bench::Inject { half, wrong, evidence } => {
            inject::run(&half, inject::Show { wrong, evidence }, &global)
        }
        Bench::Notes { folders, list } => notes::run(&folders, list, &global),
        Bench::Boot { runs } => boot::run(runs, &global),
        Bench::Summary { data, half, show } => summary::run(&data, &half, show, &global),
        Bench::Stale { repositories, commits, list } => stale::run(&repositories, commits, list, &global),
        Bench::Sync { operations } => sync::run(operations, &global),
        Bench::Session { megabytes } => session::run(megabytes, &global),
        Bench::Cold { rows, runs } => cold::run(rows, runs, &global),
    }
}
