//! `nacre-bench serve`: many clients at once on `nacre serve`, nine searches to one store, compared with a bare axum server over
//! a plain FTS5 table of the same texts.
//!
//! Both servers are processes of their own and stay up. They are loaded alternately, so that noise affects both.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use nacre::{Caller, Home, Settings};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::args::Global;
use crate::clock::percentile;
use crate::context::{nacre_program, now};
use crate::render;
use crate::words::{Message, Words, transcript};

/// How often the load alternates between the two.
pub(super) const ROUNDS: u32 = 4;
/// One request in this many is a store.
const REQUESTS_PER_STORE: u64 = 10;
const HITS: usize = 10;
/// The goals: p99 as a multiple of the median, requests per second as a share of the bare server's.
const TAIL_GOAL: f64 = 10.0;
const RATE_GOAL: f64 = 0.5;

/// The amount of load.
pub struct Load {
    pub clients: usize,
    pub seconds: u64,
    pub passages: usize,
}

/// The result of one server.
#[derive(Default, Serialize)]
pub(super) struct ServerResult {
    requests: usize,
    pub(super) per_second: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) search_p50_ms: f64,
    pub(super) store_p50_ms: f64,
    pub(super) errors: usize,
    pub(super) stored: usize,
    pub(super) lost: usize,
    /// Megabytes of memory after the first round, at the peak, and at the end.
    pub(super) memory_mb: [f64; 3],
    #[serde(skip)]
    times: Vec<(bool, f64)>,
    #[serde(skip)]
    pub(super) written: Vec<String>,
    #[serde(skip)]
    samples: Vec<f64>,
    #[serde(skip)]
    wall: f64,
    #[serde(skip)]
    pub(super) said: Option<String>,
}

pub fn run(load: &Load, global: &Global) -> Result<ExitCode> {
    let program = nacre_program(global)?;
    let folder = tempfile::tempdir()?;
    let (home, plain) = (folder.path().join("home"), folder.path().join("plain.db"));
    fill(load.passages, &home, &plain)?;
    let mut ours = Process(
        Command::new(&program)
            .arg("--home")
            .arg(&home)
            .args(["serve", "--listen", "127.0.0.1:0"])
            .stderr(Stdio::null())
            .spawn()?,
    );
    let mut bare = Process(
        Command::new(std::env::current_exe()?)
            .args(["serve", "--bare"])
            .arg(&plain)
            .stdout(Stdio::piped())
            .spawn()?,
    );
    let (address, key) = found(&home)?;
    let bare_address: SocketAddr = {
        let mut line = String::new();
        let out = bare.0.stdout.take().context("the bare server prints its address")?;
        BufReader::new(out).read_line(&mut line)?;
        line.trim().parse().context("the bare server did not start")?
    };
    let (mut our_share, mut bare_share) = (ServerResult::default(), ServerResult::default());
    // The first requests warm the caches.
    for (address, key) in [(address, Some(key.as_str())), (bare_address, None)] {
        slice(address, key, load, Duration::from_secs(2), 0, None)?;
    }
    let each = Duration::from_secs_f64(load.seconds as f64 / f64::from(ROUNDS));
    for round in 1..=ROUNDS {
        render::progress(&format!("turn {round} of {ROUNDS}"));
        our_share.add(slice(address, Some(&key), load, each, round, Some(ours.0.id()))?);
        bare_share.add(slice(bare_address, None, load, each, round, Some(bare.0.id()))?);
    }
    render::progress("");
    ours.stop();
    bare.stop();
    our_share.count(&stored(&home.join("groups/main/memory.db"), "SELECT content FROM entries")?);
    bare_share.count(&stored(
        &plain,
        "SELECT content FROM docs WHERE rowid > ?1".replace("?1", &load.passages.to_string()).as_str(),
    )?);
    report(load, &our_share, &bare_share, global.json)
}

/// Fills both with the same texts.
fn fill(passages: usize, home: &Path, plain: &Path) -> Result<()> {
    let home = Home::new(home, Settings::default());
    let mut db = plain_at(plain)?;
    import(passages, &home, "main", |batch| {
        let tx = db.transaction()?;
        for message in batch {
            tx.prepare_cached("INSERT INTO docs VALUES (?1)")?.execute([&message.text])?;
        }
        Ok(tx.commit()?)
    })
}

/// Imports this number of texts into a group.
pub(super) fn import(
    passages: usize,
    home: &Home,
    name: &str,
    mut also: impl FnMut(&[Message]) -> Result<()>,
) -> Result<()> {
    import_words(&mut Words::default(), passages, home, name, |number, batch| {
        render::progress(&format!("{number} of {passages} passages imported"));
        also(batch)
    })
}

/// Imports this number of texts of these words into a group.
pub(super) fn import_words(
    words: &mut Words,
    passages: usize,
    home: &Home,
    name: &str,
    mut also: impl FnMut(usize, &[Message]) -> Result<()>,
) -> Result<()> {
    const BATCH_TEXTS: usize = 10_000;
    let now = now();
    let mut group = home.group(&name.parse()?, now)?;
    let caller = Caller::person("bench".parse()?, now);
    for first in (0..passages).step_by(BATCH_TEXTS) {
        let batch = words.messages(first, BATCH_TEXTS.min(passages - first));
        nacre::session::import_transcript(
            &mut group.enter(&caller)?,
            transcript(&batch).as_bytes(),
            "bench",
            |_| {},
        )?;
        also(first + batch.len(), &batch)?;
    }
    Ok(())
}

fn plain_at(file: &Path) -> Result<Connection> {
    let db = Connection::open(file)?;
    db.busy_timeout(Duration::from_secs(10))?;
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE VIRTUAL TABLE IF NOT EXISTS docs USING fts5(content)",
    )?;
    Ok(db)
}

/// Waits until `nacre serve` has written its address.
pub(super) fn found(home: &Path) -> Result<(SocketAddr, String)> {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(60) {
        let text = std::fs::read_to_string(home.join("serve.json")).unwrap_or_default();
        if let Ok(noted) = serde_json::from_str::<Value>(&text) {
            let address = noted["url"].as_str().and_then(|url| url.strip_prefix("http://")?.parse().ok());
            return Ok((address.context("an address")?, noted["key"].as_str().context("a key")?.to_owned()));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    bail!("the server does not start")
}

/// A server that ends with the benchmark.
pub(super) struct Process(pub(super) Child);

impl Process {
    pub(super) fn stop(&mut self) {
        #[cfg(unix)]
        if let Some(id) = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
            let _ = self.0.wait();
            return;
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs all clients for some time, and samples the server's memory.
pub(super) fn slice(
    address: SocketAddr,
    key: Option<&str>,
    load: &Load,
    time: Duration,
    round: u32,
    process: Option<u32>,
) -> Result<ServerResult> {
    let begun = Instant::now();
    let until = begun + time;
    let mut all = ServerResult::default();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..load.clients)
            .map(|number| scope.spawn(move || client(address, key, number, round, until)))
            .collect();
        while let Some(process) = process.filter(|_| Instant::now() < until) {
            all.samples.extend(memory(process));
            std::thread::sleep(Duration::from_millis(500));
        }
        for client in clients {
            match client.join() {
                Ok(Ok(part)) => all.add(part),
                Ok(Err(problem)) => all.fail(&format!("{problem:#}")),
                Err(_) => all.fail("a client panicked"),
            }
        }
    });
    all.wall = begun.elapsed().as_secs_f64();
    Ok(all)
}

/// Runs one client: it sends a request, waits for the answer, and repeats.
fn client(
    address: SocketAddr,
    key: Option<&str>,
    number: usize,
    round: u32,
    until: Instant,
) -> Result<ServerResult> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut words = Words::default();
    // Each client has its own words.
    for _ in 0..number * 97 + usize::try_from(round)? * 7_919 {
        words.next();
    }
    let head = key.map(|key| format!("Authorization: Bearer {key}\r\n")).unwrap_or_default();
    let mut served = ServerResult::default();
    let mut count = 0u64;
    while Instant::now() < until {
        count += 1;
        let store = (count + number as u64).is_multiple_of(REQUESTS_PER_STORE);
        let length = 5 + usize::try_from(words.next() % 6)?;
        let text = words.sentence(if store { 20 } else { length });
        let text = if store { format!("{text} client{number} round{round} number{count}") } else { text };
        let request = if store {
            let (path, body) = match key {
                Some(_) => ("/v1/entries", json!({ "content": text }).to_string()),
                None => ("/store", text.clone()),
            };
            format!(
                "POST {path} HTTP/1.1\r\nHost: {address}\r\n{head}Content-Length: {}\r\n\r\n{body}",
                body.len()
            )
        } else {
            let path = match key {
                Some(_) => format!("/v1/search?scope=sessions&limit={HITS}&query="),
                None => "/search?query=".to_owned(),
            };
            format!("GET {path}{} HTTP/1.1\r\nHost: {address}\r\n{head}\r\n", text.replace(' ', "%20"))
        };
        let begun = Instant::now();
        stream.write_all(request.as_bytes())?;
        let (status, body) = answer(&mut reader)?;
        served.times.push((store, begun.elapsed().as_secs_f64() * 1_000.0));
        match (status, store) {
            (200, true) => served.written.push(text),
            (200, false) => {}
            _ => served.fail(&format!("{status} {}", body.chars().take(200).collect::<String>())),
        }
    }
    Ok(served)
}

pub(super) fn answer(reader: &mut BufReader<TcpStream>) -> Result<(u16, String)> {
    let (mut line, mut length) = (String::new(), 0);
    reader.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).context("the server went away")?;
    loop {
        line.clear();
        ensure!(reader.read_line(&mut line)? > 0, "the server went away");
        if line == "\r\n" {
            break;
        }
        if let Some(given) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = given.trim().parse()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}

/// Returns the resident memory of a process in megabytes, if the system reports it.
#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
pub(super) fn memory(process: u32) -> Option<f64> {
    let status =
        std::fs::read_to_string(PathBuf::from("/proc").join(process.to_string()).join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? as f64 / 1_000.0)
}

impl ServerResult {
    pub(super) fn add(&mut self, other: ServerResult) {
        self.times.extend(other.times);
        self.written.extend(other.written);
        if self.memory_mb[0] == 0.0 {
            self.memory_mb[0] = other.samples.last().copied().unwrap_or_default();
        }
        self.samples.extend(other.samples);
        self.errors += other.errors;
        self.wall += other.wall;
        self.said = self.said.take().or(other.said);
    }

    fn fail(&mut self, said: &str) {
        self.errors += 1;
        self.said.get_or_insert_with(|| said.to_owned());
    }

    /// Adds up the results, and looks for every acknowledged store in the database that the server left.
    #[expect(clippy::cast_precision_loss, reason = "requests per second")]
    pub(super) fn count(&mut self, there: &HashSet<String>) {
        self.stored = self.written.len();
        self.lost = self.written.iter().filter(|text| !there.contains(*text)).count();
        let of = |wanted: Option<bool>, percent: usize| {
            let mut times: Vec<f64> = self
                .times
                .iter()
                .filter(|(store, _)| wanted.is_none_or(|wanted| wanted == *store))
                .map(|(_, time)| *time)
                .collect();
            times.sort_by(f64::total_cmp);
            if times.is_empty() { 0.0 } else { percentile(&times, percent) }
        };
        (self.p50_ms, self.p99_ms) = (of(None, 50), of(None, 99));
        (self.search_p50_ms, self.store_p50_ms) = (of(Some(false), 50), of(Some(true), 50));
        self.requests = self.times.len();
        self.per_second = self.requests as f64 / self.wall.max(0.001);
        self.memory_mb[1] = self.samples.iter().copied().fold(0.0, f64::max);
        self.memory_mb[2] = self.samples.last().copied().unwrap_or_default();
    }
}

/// Returns the texts in a database.
pub(super) fn stored(database: &Path, sql: &str) -> Result<HashSet<String>> {
    let db = Connection::open(database)?;
    let mut statement = db.prepare(sql)?;
    Ok(statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}

fn report(load: &Load, ours: &ServerResult, bare: &ServerResult, as_json: bool) -> Result<ExitCode> {
    if as_json {
        render::json(&json!({
            "clients": load.clients, "seconds": load.seconds, "passages": load.passages, "nacre": ours, "bare": bare
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!(
        "{} clients, {} s each in {ROUNDS} rounds, {} passages, one store to nine searches\n\n{:22} {:>12} {:>12} {:>7}\n",
        load.clients, load.seconds, load.passages, "", "nacre", "axum + FTS5", "ratio"
    );
    let mut line = |what: &str, ours: String, bare: String, ratio: String, goal: String| {
        let _ = writeln!(text, "{what:22} {ours:>12} {bare:>12} {ratio:>7}  {goal}");
    };
    let verdict = |holds: bool, goal: &str| format!("{goal}: {}", if holds { "holds" } else { "MISSED" });
    let ms = |time: f64| format!("{time:.1} ms");
    let rate = ours.per_second / bare.per_second;
    line(
        "requests per second",
        format!("{:.0}", ours.per_second),
        format!("{:.0}", bare.per_second),
        format!("{rate:.2}"),
        verdict(rate >= RATE_GOAL, &format!("at least {RATE_GOAL}")),
    );
    line("p50", ms(ours.p50_ms), ms(bare.p50_ms), format!("{:.2}", ours.p50_ms / bare.p50_ms), String::new());
    let tail = ours.p99_ms / ours.p50_ms;
    line(
        "p99",
        ms(ours.p99_ms),
        ms(bare.p99_ms),
        format!("{:.2}", ours.p99_ms / bare.p99_ms),
        verdict(tail <= TAIL_GOAL, &format!("{tail:.1} times p50, at most {TAIL_GOAL}")),
    );
    line("search, p50", ms(ours.search_p50_ms), ms(bare.search_p50_ms), String::new(), String::new());
    line("store, p50", ms(ours.store_p50_ms), ms(bare.store_p50_ms), String::new(), String::new());
    line(
        "errors",
        ours.errors.to_string(),
        bare.errors.to_string(),
        String::new(),
        verdict(ours.errors == 0, "none"),
    );
    line(
        "lost stores",
        format!("{} of {}", ours.lost, ours.stored),
        format!("{} of {}", bare.lost, bare.stored),
        String::new(),
        verdict(ours.lost == 0, "none"),
    );
    let grown =
        |served: &ServerResult| format!("{:.0} to {:.0} MB", served.memory_mb[0], served.memory_mb[2]);
    line("memory", grown(ours), grown(bare), String::new(), String::new());
    for said in [&ours.said, &bare.said].into_iter().flatten() {
        let _ = writeln!(text, "first error: {said}");
    }
    if cfg!(debug_assertions) {
        text.push_str(
            "\nThis is a debug build: `cargo run --release -p nacre-bench -- serve` measures what is shipped.\n",
        );
    }
    render::out(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The bare server, as one would write it in an afternoon. It prints its address and serves until it is killed.
pub fn bare(file: &Path) -> Result<ExitCode> {
    #[derive(Deserialize)]
    struct SearchParams {
        query: String,
    }
    type Idle = Arc<(PathBuf, Mutex<Vec<Connection>>)>;
    async fn with<T: Send + 'static>(
        idle: Idle,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T, StatusCode> {
        let done = tokio::task::spawn_blocking(move || {
            let taken = idle.1.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let db = taken.map_or_else(|| plain_at(&idle.0), Ok)?;
            let answer = work(&db)?;
            idle.1.lock().unwrap_or_else(PoisonError::into_inner).push(db);
            Ok::<_, anyhow::Error>(answer)
        });
        done.await.ok().and_then(Result::ok).ok_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
    let search = |State(idle): State<Idle>, Query(asked): Query<SearchParams>| async move {
        let any = asked.query.split(' ').map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" OR ");
        let found = with(idle, move |db| {
            let sql = format!("SELECT content FROM docs WHERE docs MATCH ?1 ORDER BY rank LIMIT {HITS}");
            let mut statement = db.prepare_cached(&sql)?;
            let rows = statement.query_map([any], |row| row.get::<_, String>(0))?;
            Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?)
        });
        found.await.map(axum::Json)
    };
    let store = |State(idle): State<Idle>, text: String| async move {
        with(idle, move |db| Ok(db.prepare_cached("INSERT INTO docs VALUES (?1)")?.execute([text])?))
            .await
            .map(axum::Json)
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        render::out(&format!("{}\n", listener.local_addr()?))?;
        let idle: Idle = Arc::new((file.to_owned(), Mutex::default()));
        let router =
            axum::Router::new().route("/search", get(search)).route("/store", post(store)).with_state(idle);
        axum::serve(listener, router).await?;
        Ok(ExitCode::SUCCESS)
    })
}
