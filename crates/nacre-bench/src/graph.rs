//! `nacre-bench graph`: cost of the knowledge graph. Lookups among many facts and aliases, compared with the bare indexed query;
//! reading a year of daily logs, compared with reading them line by line and with indexing them without the graph.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use nacre::settings::Layer;
use nacre::workspace::sync;
use nacre::{Caller, Group, Home, Settings, call};
use rusqlite::{Connection, OpenFlags};
use serde::Serialize;
use serde_json::json;

use crate::args::Global;
use crate::clock::{self, cpu, percentile, timed};
use crate::context::now;
use crate::render;
use crate::words::Words;

/// Facts and aliases of each entity.
const FACTS_PER_ENTITY: usize = 10;
const ALIASES_PER_ENTITY: usize = 2;
/// Number of questions.
const QUESTIONS: usize = 2_000;
/// Daily logs in a year.
const LOGS: usize = 365;

#[derive(Serialize)]
struct Measurement {
    facts: usize,
    aliases: usize,
    lookup_us: f64,
    sql_us: f64,
    logs: usize,
    log_bytes: usize,
    claims: usize,
    lines_ms: f64,
    indexed_ms: f64,
    with_graph_ms: f64,
    again_ms: f64,
}

pub fn run(facts: usize, global: &Global) -> Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let (lookup_us, sql_us, aliases) = lookup(&folder.path().join("many"), facts)?;
    let logs = logs(&folder.path().join("year"))?;
    let measured = Measurement { facts, aliases, lookup_us, sql_us, ..logs };
    if global.json {
        render::json(&measured)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    let Measurement { logs, log_bytes, claims, lines_ms, indexed_ms, with_graph_ms, again_ms, .. } = measured;
    let _ = writeln!(text, "{facts} facts, {aliases} aliases ({})", clock::kind());
    let ratio = lookup_us / sql_us;
    let _ = writeln!(
        text,
        "  graph_search   {lookup_us:8.1} us per question, {ratio:.2} of the bare query (goal 3)"
    );
    let _ = writeln!(
        text,
        "  bare query     {sql_us:8.1} us: the alias, its facts, its relations from both ends"
    );
    let _ = writeln!(text, "{logs} daily logs, {} kB, {claims} facts and relations", log_bytes / 1024);
    let _ = writeln!(text, "  line by line   {lines_ms:8.1} ms");
    let _ = writeln!(text, "  indexed        {indexed_ms:8.1} ms without the graph");
    let whole = with_graph_ms / indexed_ms;
    let _ = writeln!(text, "  with the graph {with_graph_ms:8.1} ms, {whole:.2} of that");
    let _ = writeln!(
        text,
        "  again          {again_ms:8.1} ms, {:.3} of the first time (goal 0.1)",
        again_ms / with_graph_ms
    );
    render::out(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn group(folder: &Path, pairs: &[&str]) -> Result<Group> {
    let layers =
        pairs.iter().map(|pair| Layer::from_pair("the benchmark", pair)).collect::<Result<Vec<_>, _>>()?;
    let home = Home::new(folder, Settings::from_layers(None, &layers)?);
    Ok(home.group(&"main".parse()?, now())?)
}

fn caller() -> Result<Caller> {
    Ok(Caller::person("bench".parse()?, now()))
}

/// Returns an invented name.
fn name(number: usize) -> String {
    const SYLLABLES: [&str; 16] = [
        "ba", "ko", "ri", "ne", "sul", "tam", "vo", "gre", "lin", "dor", "fa", "mis", "pel", "quo", "zan",
        "hu",
    ];
    let part = |shift: usize| SYLLABLES[number >> shift & 15];
    let word = [part(0), part(4), part(8), part(12)].concat();
    word[..1].to_uppercase() + &word[1..]
}

/// Returns the microseconds of a graph question and of the bare query, and the number of aliases.
fn lookup(folder: &Path, facts: usize) -> Result<(f64, f64, usize)> {
    const KEYS: [&str; FACTS_PER_ENTITY] =
        ["phone", "email", "birthday", "port", "role", "city", "stack", "repository", "timezone", "version"];
    let entities = facts / FACTS_PER_ENTITY;
    let mut seed = String::new();
    for entity in 0..entities {
        for (place, key) in KEYS.iter().enumerate() {
            let value = format!("value {} of {place}", entity * 7919 % 100_003);
            let _ = writeln!(
                seed,
                "[[fact]]\nentity = \"{}\"\nkey = \"{key}\"\nvalue = \"{value}\"\ncategory = \"project\"",
                name(entity)
            );
        }
        let next = name((entity + 1) % entities);
        let _ = writeln!(
            seed,
            "[[relation]]\nsubject = \"{}\"\npredicate = \"depends_on\"\nobject = \"{next}\"",
            name(entity)
        );
        for alias in 0..ALIASES_PER_ENTITY {
            let _ = writeln!(seed, "[[alias]]\nalias = \"nick{alias} {0}\"\nentity = \"{0}\"", name(entity));
        }
    }
    fs::create_dir_all(folder)?;
    let file = folder.join("seed.toml");
    fs::write(&file, seed)?;
    let mut group = group(folder, &["documents.index=false"])?;
    let seeded = nacre::graph::seed(&mut group.enter(&caller()?)?, &file)?;
    ensure!(seeded.kept_out.is_empty(), "{:?}", seeded.kept_out.first());
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(folder.join("groups/main/memory.db"), flags)?;
    let mut whose = db.prepare("SELECT entity FROM names WHERE folded = ?1")?;
    let mut known = db.prepare("SELECT key, value, since FROM facts WHERE entity = ?1 AND until IS NULL")?;
    let mut related = db.prepare(
        "SELECT predicate, object FROM relations WHERE subject = ?1 AND until IS NULL
         UNION ALL SELECT predicate, subject FROM relations WHERE object = ?1 AND until IS NULL",
    )?;
    let mut bare = |alias: &str| -> Result<usize> {
        let entity: i64 = whose.query_row([alias], |row| row.get(0))?;
        let mut rows = 0;
        let mut each = |found: &mut rusqlite::Statement<'_>| -> Result<()> {
            let mut found = found.query([entity])?;
            while let Some(row) = found.next()? {
                let _: (String, rusqlite::types::Value) = (row.get(0)?, row.get(1)?);
                rows += 1;
            }
            Ok(())
        };
        each(&mut known)?;
        each(&mut related)?;
        Ok(rows)
    };
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    let mut chance = Words::default();
    for _ in 0..20 {
        let asked: Vec<(String, String)> = (0..QUESTIONS / 20)
            .map(|_| {
                let entity = name(usize::try_from(chance.next() >> 33).unwrap_or(0) % entities);
                let alias = format!("nick1 {entity}");
                (format!("What is {alias}'s port?"), alias.to_lowercase())
            })
            .collect();
        let caller = caller()?;
        ours.push(cpu(|| {
            for (question, _) in &asked {
                let answer = call(&mut group.enter(&caller)?, "graph_search", json!({ "query": question }))?;
                ensure!(answer.data["known"][0]["score"] == 95.0, "{question}: {}", answer.data);
            }
            Ok(())
        })?);
        plain.push(cpu(|| {
            for (_, alias) in &asked {
                ensure!(bare(alias)? == FACTS_PER_ENTITY + 2, "{alias}");
            }
            Ok(())
        })?);
    }
    #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
    let each = 1000.0 / (QUESTIONS / 20) as f64;
    Ok((percentile(&ours, 50) * each, percentile(&plain, 50) * each, entities * ALIASES_PER_ENTITY))
}

/// Measures a year of logs: read line by line, indexed without the graph, with it, and once more.
fn logs(folder: &Path) -> Result<Measurement> {
    let write = |home: &Path| -> Result<usize> {
        let memory = home.join("groups/main/memory");
        fs::create_dir_all(&memory)?;
        let mut bytes = 0;
        for day in 0..LOGS {
            let text = log(day);
            bytes += text.len();
            fs::write(memory.join(format!("2025-{:02}-{:02}.md", day / 31 + 1, day % 31 + 1)), text)?;
        }
        Ok(bytes)
    };
    let (bare, whole) = (folder.join("bare"), folder.join("whole"));
    let log_bytes = write(&bare)?;
    write(&whole)?;
    let lines_ms = timed(|| {
        let mut lines = 0;
        for file in fs::read_dir(whole.join("groups/main/memory"))? {
            for line in BufReader::new(fs::File::open(file?.path())?).lines() {
                lines += usize::from(!line?.trim().is_empty());
            }
        }
        ensure!(lines > LOGS, "{lines} lines");
        Ok(())
    })?;
    let mut without = group(&bare, &["graph.documents=false"])?;
    let indexed_ms = timed(|| Ok(sync(&mut without.enter(&caller()?)?).map(drop)?))?;
    let mut with = group(&whole, &[])?;
    let with_graph_ms = timed(|| Ok(sync(&mut with.enter(&caller()?)?).map(drop)?))?;
    let counts = nacre::status(&with.enter(&caller()?)?)?.graph;
    // Files that were written just now are read again, so the files are dated back for the second run.
    let tomorrow = Caller { now: now().plus_days(1), ..caller()? };
    sync(&mut with.enter(&tomorrow)?)?;
    let again_ms = timed(|| {
        let synced = sync(&mut with.enter(&tomorrow)?)?;
        ensure!(synced.unchanged == LOGS && synced.chunks_written == 0, "{synced:?}");
        Ok(())
    })?;
    let claims = usize::try_from(counts.facts + counts.relations).unwrap_or(0);
    Ok(Measurement {
        facts: 0,
        aliases: 0,
        lookup_us: 0.0,
        sql_us: 0.0,
        logs: LOGS,
        log_bytes,
        claims,
        lines_ms,
        indexed_ms,
        with_graph_ms,
        again_ms,
    })
}

/// Returns the lines of one day's log.
fn log(day: usize) -> String {
    let (one, other) = (name(day % 90), name(day % 70 + 100));
    format!(
        "# Day {day}\n\n## Work on {one} [decision|i=0.8]\n\nThe queue of {one} was too long by noon, so the workers were doubled \
         and the limit raised. Nobody was paged and the graphs went flat again before the evening.\n\n- port: {}\n- owner: {other} Lind\n\n\
         ## Notes\n\n- [decision|i=0.9] {one} is rebuilt every Monday from now on, number {day}\n- [note|i=0.3] coffee was bad\n\
         - bought new cables for the rack and labelled them all\n- **{one}**: depends on {other}\n\n{one} runs on {other}. \
         In the afternoon a long walk along the canal, a call with the insurance, and supper with friends who stayed late.\n",
        4000 + day
    )
}
