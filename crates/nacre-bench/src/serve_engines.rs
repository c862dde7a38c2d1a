//! `nacre-bench serve --server URL`: `nacre serve` on SQLite and on PostgreSQL under the same load, in turns.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use nacre::{Caller, Home, Settings, call};
use serde_json::{Value, json};

use crate::args::Global;
use crate::context::{nacre_program, now};
use crate::render;
use crate::serve::{Load, Process, ROUNDS, ServerResult, found, import, slice, stored};

/// The goals: the median of a search as a multiple of that on SQLite, stores per second as a share.
const SEARCH_GOAL: f64 = 1.5;
const STORE_GOAL: f64 = 0.3;

pub fn run(load: &Load, url: &str, global: &Global) -> Result<ExitCode> {
    let program = nacre_program(global)?;
    let folder = tempfile::tempdir()?;
    let file = Home::new(folder.path().join("home"), Settings::default());
    let server = Home::new(folder.path().join("local"), Settings::default());
    let server = server.with_server(url, std::env::var("PGPASSWORD").ok().as_deref())?;
    server.initialise_server()?;
    let name = format!("bench-{}", now().as_millis());
    let mut import_seconds = [0.0; 2];
    for (seconds, (home, name)) in import_seconds.iter_mut().zip([(&file, "main"), (&server, name.as_str())])
    {
        let begun = Instant::now();
        import(load.passages, home, name, |_| Ok(()))?;
        *seconds = begun.elapsed().as_secs_f64();
    }
    let start = |home: &str, group: &str, user: &Path| -> Result<Process> {
        let mut command = Command::new(&program);
        command.args(["--home", home, "serve", "--listen", "127.0.0.1:0"]).env("HOME", user);
        let command = command.env("NACRE_GROUP", group).env_remove("XDG_DATA_HOME").stderr(Stdio::null());
        Ok(Process(command.spawn()?))
    };
    let user = folder.path().join("user");
    let on_file = start(file.path().to_str().context("a plain path")?, "main", &user)?;
    let on_server = start(url, &name, &user)?;
    let places = [file.path().to_owned(), local(&user)?];
    let mut processes = [on_file, on_server];
    let addresses = [found(&places[0])?, found(&places[1])?];
    let mut results = [ServerResult::default(), ServerResult::default()];
    let groups = ["main", name.as_str()];
    for ((address, key), group) in addresses.iter().zip(groups) {
        slice(*address, Some(&header(key, group)), load, Duration::from_secs(2), 0, None)?;
    }
    #[expect(clippy::cast_precision_loss, reason = "seconds")]
    let each = Duration::from_secs_f64(load.seconds as f64 / f64::from(ROUNDS));
    for round in 1..=ROUNDS {
        render::progress(&format!("turn {round} of {ROUNDS}"));
        for (number, ((address, key), group)) in addresses.iter().zip(groups).enumerate() {
            let address: SocketAddr = *address;
            let process = Some(processes[number].0.id());
            results[number].add(slice(address, Some(&header(key, group)), load, each, round, process)?);
        }
    }
    render::progress("");
    processes.iter_mut().for_each(Process::stop);
    let there = stored(&places[0].join("groups/main/memory.db"), "SELECT content FROM entries")?;
    results[0].count(&there);
    let there = known(&server, &name, &results[1].written)?;
    results[1].count(&there);
    server.remove_group(&name.parse()?)?;
    report(load, &results, import_seconds, global.json)
}

/// Returns the value of the header with the token, and the header that names the group.
fn header(key: &str, group: &str) -> String {
    format!("{key}\r\nNacre-Group: {group}")
}

/// Returns the folder of what belongs to this machine: the only one.
pub(super) fn local(user: &Path) -> Result<std::path::PathBuf> {
    let servers = user.join(".local/share/nacre/servers");
    let begun = Instant::now();
    loop {
        let first = std::fs::read_dir(&servers).ok().and_then(|mut found| Some(found.next()?.ok()?.path()));
        match first {
            Some(found) => return Ok(found),
            None if begun.elapsed() > Duration::from_secs(60) => anyhow::bail!("the server does not start"),
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// Returns the texts that are stored: storing one again names the memory that has it.
fn known(home: &Home, name: &str, texts: &[String]) -> Result<HashSet<String>> {
    let caller = Caller::person("bench".parse()?, now());
    let mut group = home.group(&name.parse()?, now())?;
    let mut there = HashSet::new();
    for text in texts {
        let answer = call(&mut group.enter(&caller)?, "memory_store", json!({ "content": text }))?;
        if !answer.data["duplicate_of"].is_null() {
            there.insert(text.clone());
        }
    }
    Ok(there)
}

fn report(
    load: &Load,
    results: &[ServerResult; 2],
    import_seconds: [f64; 2],
    as_json: bool,
) -> Result<ExitCode> {
    let [sqlite, postgres] = results;
    let search = postgres.search_p50_ms / sqlite.search_p50_ms;
    let store = sqlite.store_p50_ms / postgres.store_p50_ms;
    if as_json {
        let all: Value = json!({
            "clients": load.clients, "seconds": load.seconds, "passages": load.passages, "sqlite": sqlite, "postgres": postgres,
            "import_seconds": import_seconds, "search_ratio": search, "store_ratio": store,
        });
        render::json(&all)?;
        return Ok(ExitCode::SUCCESS);
    }
    let verdict = |holds: bool| if holds { "holds" } else { "MISSED" };
    let line = |name: &str, of: &ServerResult, seconds: f64| {
        format!(
            "{name:12} {:7.0} requests/s  search p50 {:7.1} ms  store p50 {:7.1} ms  p99 {:7.1} ms  errors {}  lost {} of {}  memory {:.0} MB  import {seconds:.1} s\n",
            of.per_second,
            of.search_p50_ms,
            of.store_p50_ms,
            of.p99_ms,
            of.errors,
            of.lost,
            of.stored,
            of.memory_mb[2]
        )
    };
    render::out(&format!(
        "{} clients, {} s each in {ROUNDS} rounds, {} passages, one store to nine searches\n{}{}\
         search: {search:.2} times SQLite, at most {SEARCH_GOAL}: {}\n\
         store: {store:.2} of SQLite's speed, at least {STORE_GOAL}: {}\n{}",
        load.clients,
        load.seconds,
        load.passages,
        line("SQLite", sqlite, import_seconds[0]),
        line("PostgreSQL", postgres, import_seconds[1]),
        verdict(search <= SEARCH_GOAL),
        verdict(store >= STORE_GOAL),
        [&sqlite.said, &postgres.said]
            .into_iter()
            .flatten()
            .map(|said| format!("first error: {said}\n"))
            .collect::<String>(),
    ))?;
    Ok(ExitCode::SUCCESS)
}
