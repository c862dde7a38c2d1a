//! `nacre-bench load`: many groups in one PostgreSQL database, as a company has them. Measures the import, the size on disk, the first and the
//! next searches of a group, and many clients that use all groups at random through one `nacre serve`.

use std::io::{BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use nacre::{Home, Settings};
use serde::Serialize;
use serde_json::json;

use crate::args::Global;
use crate::clock::percentile;
use crate::context::{nacre_program, now};
use crate::render;
use crate::serve::{Process, answer, found, import_words, memory};
use crate::serve_engines::local;
use crate::words::Words;

/// How many groups are searched one after the other, and how often each one when it is in memory.
const MAX_SAMPLED_GROUPS: usize = 100;
const WARM_SEARCHES: usize = 5;
/// One request in this many is a store.
const REQUESTS_PER_STORE: u64 = 10;
/// The goal: p99 of all clients as a multiple of the median.
const TAIL_GOAL: f64 = 10.0;

/// The amount of data and of load.
pub struct Amount {
    pub groups: usize,
    pub passages: usize,
    pub importers: usize,
    pub clients: usize,
    pub seconds: u64,
}

#[derive(Serialize)]
struct LoadResult {
    import_seconds: f64,
    import_per_second: f64,
    bytes: i64,
    /// Milliseconds: p50 and p99 of the first search in a group, of the next ones, and of all clients.
    first_ms: [f64; 2],
    next_ms: [f64; 2],
    clients_ms: [f64; 2],
    requests_per_second: f64,
    errors: usize,
    said: Option<String>,
    /// Megabytes of the server at the peak.
    memory_mb: f64,
}

pub fn run(amount: &Amount, url: &str, global: &Global) -> Result<ExitCode> {
    let program = nacre_program(global)?;
    let folder = tempfile::tempdir()?;
    let home = Home::new(folder.path().join("local"), Settings::default());
    let home = home.with_server(url, std::env::var("PGPASSWORD").ok().as_deref())?;
    home.initialise_server()?;
    let size = || nacre::team::figures(&home).and_then(|figures| figures.bytes).unwrap_or(0);
    let prefix = format!("load-{}", now().as_millis());
    let (before, begun) = (size(), Instant::now());
    import(amount, &home, &prefix)?;
    let import_seconds = begun.elapsed().as_secs_f64();
    let bytes = size() - before;

    let user = folder.path().join("user");
    let mut command = Command::new(program);
    command.args(["--home", url, "serve", "--listen", "127.0.0.1:0", "--set", "limits.store=0"]);
    command.args(global.set.iter().flat_map(|pair| ["--set", pair]));
    command.env("HOME", &user).env_remove("XDG_DATA_HOME").stderr(Stdio::null());
    let mut process = Process(command.spawn()?);
    let (address, key) = found(&local(&user)?)?;
    let server = Target { address, key: &key, prefix: &prefix };
    let (mut first, mut next) = (Vec::new(), Vec::new());
    let mut words = Words::default();
    let sampled = amount.groups.min(MAX_SAMPLED_GROUPS);
    for number in 0..sampled {
        render::progress(&format!("{number} of {sampled} groups searched"));
        let mut client = Client::new(&server)?;
        let group = number * amount.groups / sampled;
        first.push(client.ask(group, &mut words, false)?);
        for _ in 0..WARM_SEARCHES {
            next.push(client.ask(group, &mut words, false)?);
        }
    }
    let mut all = use_all(amount, &server, process.0.id());
    render::progress("");
    process.stop();
    all.times.sort_by(f64::total_cmp);
    let both = |times: &[f64]| [percentile(times, 50), percentile(times, 99)];
    #[expect(clippy::cast_precision_loss, reason = "rates")]
    let (passages, requests) = ((amount.groups * amount.passages) as f64, all.times.len() as f64);
    #[expect(clippy::cast_precision_loss, reason = "rates")]
    let seconds = amount.seconds as f64;
    let result = LoadResult {
        import_seconds,
        import_per_second: passages / import_seconds,
        bytes,
        first_ms: both(&first),
        next_ms: both(&next),
        clients_ms: both(&all.times),
        requests_per_second: requests / seconds,
        errors: all.errors,
        said: all.said,
        memory_mb: all.memory_mb,
    };
    report(amount, &result, passages, global.json)
}

/// Fills the groups, several at the same time.
fn import(amount: &Amount, home: &Home, prefix: &str) -> Result<()> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let all = amount.groups * amount.passages;
    let work = || -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= amount.groups {
                return Ok(());
            }
            let mut words = Words::of(number as u64);
            import_words(&mut words, amount.passages, home, &format!("{prefix}-{number}"), |_, batch| {
                let done = done.fetch_add(batch.len(), Ordering::Relaxed) + batch.len();
                render::progress(&format!("{done} of {all} passages imported"));
                Ok(())
            })?;
        }
    };
    std::thread::scope(|scope| {
        let importers: Vec<_> = (0..amount.importers.max(1)).map(|_| scope.spawn(work)).collect();
        for importer in importers {
            match importer.join() {
                Ok(done) => done?,
                Err(_) => bail!("an importer panicked"),
            }
        }
        Ok(())
    })
}

/// The server, and the groups on it.
#[derive(Clone, Copy)]
struct Target<'a> {
    address: SocketAddr,
    key: &'a str,
    prefix: &'a str,
}

/// One connection.
struct Client<'a> {
    target: Target<'a>,
    stream: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Client<'_> {
    fn new<'a>(target: &Target<'a>) -> Result<Client<'a>> {
        let stream = TcpStream::connect(target.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        Ok(Client { target: *target, reader: BufReader::new(stream.try_clone()?), stream })
    }

    /// Searches or stores something. Returns the milliseconds that it took.
    fn ask(&mut self, group: usize, words: &mut Words, store: bool) -> Result<f64> {
        let Target { address, key, prefix } = self.target;
        let text = words.sentence(if store { 20 } else { 6 });
        let head =
            format!("Host: {address}\r\nAuthorization: Bearer {key}\r\nNacre-Group: {prefix}-{group}\r\n");
        let request = if store {
            let body = json!({ "content": text }).to_string();
            format!("POST /v1/entries HTTP/1.1\r\n{head}Content-Length: {}\r\n\r\n{body}", body.len())
        } else {
            let query = text.replace(' ', "%20");
            format!("GET /v1/search?scope=sessions&limit=10&query={query} HTTP/1.1\r\n{head}\r\n")
        };
        let begun = Instant::now();
        self.stream.write_all(request.as_bytes())?;
        let (status, body) = answer(&mut self.reader)?;
        ensure!(status == 200, "{status} {}", body.chars().take(200).collect::<String>());
        Ok(begun.elapsed().as_secs_f64() * 1_000.0)
    }
}

/// The requests of all clients.
#[derive(Default)]
struct Requests {
    times: Vec<f64>,
    errors: usize,
    said: Option<String>,
    memory_mb: f64,
}

/// Has all clients use all groups at random.
fn use_all(amount: &Amount, server: &Target<'_>, process: u32) -> Requests {
    let until = Instant::now() + Duration::from_secs(amount.seconds);
    let client = |number: usize| -> Result<Requests> {
        let (mut words, mut done) = (Words::of(number as u64 + 1_000_000), Requests::default());
        let mut client = Client::new(server)?;
        while Instant::now() < until {
            let group = usize::try_from(words.next() % amount.groups as u64)?;
            let store = words.next().is_multiple_of(REQUESTS_PER_STORE);
            match client.ask(group, &mut words, store) {
                Ok(time) => done.times.push(time),
                Err(problem) => {
                    done.errors += 1;
                    done.said.get_or_insert_with(|| format!("{problem:#}"));
                    client = Client::new(server)?;
                }
            }
        }
        Ok(done)
    };
    let client = &client;
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..amount.clients).map(|number| scope.spawn(move || client(number))).collect();
        let mut all = Requests::default();
        while Instant::now() < until {
            all.memory_mb = memory(process).unwrap_or(0.0).max(all.memory_mb);
            std::thread::sleep(Duration::from_millis(200));
        }
        for client in clients {
            match client.join() {
                Ok(Ok(part)) => {
                    all.times.extend(part.times);
                    all.errors += part.errors;
                    all.said = all.said.or(part.said);
                }
                Ok(Err(problem)) => (all.errors, all.said) = (all.errors + 1, Some(format!("{problem:#}"))),
                Err(_) => (all.errors, all.said) = (all.errors + 1, Some("a client panicked".into())),
            }
        }
        all
    })
}

fn report(amount: &Amount, result: &LoadResult, passages: f64, as_json: bool) -> Result<ExitCode> {
    if as_json {
        render::json(&json!({
            "groups": amount.groups, "passages": amount.passages, "clients": amount.clients, "seconds": amount.seconds,
            "result": result,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    #[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
    let bytes = result.bytes as f64;
    let tail = result.clients_ms[1] / result.clients_ms[0];
    let pair = |[p50, p99]: [f64; 2]| format!("p50 {p50:8.1} ms  p99 {p99:8.1} ms");
    render::out(&format!(
        "{} groups of {} passages\n\
         import         {:.0} passages/s, {:.0} s\n\
         size           {:.2} GB, {:.0} bytes a passage\n\
         first search   {}\n\
         next searches  {}\n\
         {:<3} clients    {}  {:.0} requests/s  errors {}  memory {:.0} MB\n\
         p99 / p50: {tail:.1}, at most {TAIL_GOAL}: {}\n{}",
        amount.groups,
        amount.passages,
        result.import_per_second,
        result.import_seconds,
        bytes / 1e9,
        bytes / passages,
        pair(result.first_ms),
        pair(result.next_ms),
        amount.clients,
        pair(result.clients_ms),
        result.requests_per_second,
        result.errors,
        result.memory_mb,
        if tail <= TAIL_GOAL { "holds" } else { "MISSED" },
        result.said.as_ref().map_or_else(String::new, |said| format!("first error: {said}\n")),
    ))?;
    Ok(ExitCode::SUCCESS)
}
