//! Metrics in the Prometheus text format, and the latest search times for the dashboard.

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use nacre::{MemoryBudget, ServerFigures};

/// Upper bounds of the latency buckets, in milliseconds.
const BUCKETS: [u64; 10] = [1, 2, 5, 10, 25, 50, 100, 250, 1_000, 10_000];
/// The number of search times that are kept.
const MAX_SEARCH_TIMES: usize = 200;

pub struct Metrics {
    started: Instant,
    /// By route and status.
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    times: [AtomicU64; BUCKETS.len() + 1],
    micros: AtomicU64,
    recalls: Mutex<VecDeque<f64>>,
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics {
            started: Instant::now(),
            requests: Mutex::default(),
            times: Default::default(),
            micros: AtomicU64::new(0),
            recalls: Mutex::default(),
        }
    }
}

impl Metrics {
    pub fn count(&self, path: &str, status: StatusCode, took: Duration) {
        // A fixed set of names: input of clients must not become labels.
        let what = match path {
            "/mcp" => "mcp",
            path if path.starts_with("/v1/") => "rest",
            path if path.starts_with("/projects/") => "rest",
            "/" | "/login" => "page",
            path if path.starts_with("/assets/") => "page",
            _ => "other",
        };
        *lock(&self.requests).entry((what, status.as_u16())).or_default() += 1;
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let place = BUCKETS.iter().position(|end| micros <= end * 1_000).unwrap_or(BUCKETS.len());
        self.times[place].fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    pub fn recalled(&self, took: Duration) {
        let mut recalls = lock(&self.recalls);
        if recalls.len() == MAX_SEARCH_TIMES {
            recalls.pop_front();
        }
        recalls.push_back(took.as_secs_f64() * 1_000.0);
    }

    /// Returns the times of the latest searches, in milliseconds.
    pub fn recalls(&self) -> Vec<f64> {
        lock(&self.recalls).iter().copied().collect()
    }

    /// Returns the metrics in the Prometheus text format.
    pub fn text(&self) -> String {
        let Metrics { started, requests, times, micros, .. } = self;
        let mut text = String::from(
            "# HELP nacre_requests_total Requests by kind and status.\n# TYPE nacre_requests_total counter\n",
        );
        for ((what, status), count) in lock(requests).iter() {
            let _ = writeln!(text, "nacre_requests_total{{kind=\"{what}\",status=\"{status}\"}} {count}");
        }
        text.push_str(
            "# HELP nacre_request_seconds How long requests took.\n# TYPE nacre_request_seconds histogram\n",
        );
        let mut sum = 0;
        for (end, count) in BUCKETS.iter().zip(times) {
            sum += count.load(Ordering::Relaxed);
            #[expect(clippy::cast_precision_loss, reason = "milliseconds of a bucket")]
            let seconds = *end as f64 / 1_000.0;
            let _ = writeln!(text, "nacre_request_seconds_bucket{{le=\"{seconds}\"}} {sum}");
        }
        sum += times[BUCKETS.len()].load(Ordering::Relaxed);
        #[expect(clippy::cast_precision_loss, reason = "a sum of microseconds")]
        let seconds = micros.load(Ordering::Relaxed) as f64 / 1e6;
        let _ = writeln!(
            text,
            "nacre_request_seconds_bucket{{le=\"+Inf\"}} {sum}\nnacre_request_seconds_sum {seconds}\nnacre_request_seconds_count {sum}"
        );
        let _ = writeln!(
            text,
            "# HELP nacre_up_seconds Seconds since the start.\n# TYPE nacre_up_seconds gauge\nnacre_up_seconds {}",
            started.elapsed().as_secs()
        );
        text
    }
}

/// Returns the figures of a database server in the same format. Figures that the server does not give are left out.
pub fn server(figures: &ServerFigures) -> String {
    #[expect(clippy::cast_precision_loss, reason = "counts of connections and calls")]
    let (count, total) = (|number: usize| Some(number as f64), |number: u64| Some(number as f64));
    #[expect(clippy::cast_precision_loss, reason = "counts and sizes")]
    let shown = |number: Option<i64>| number.map(|number| number as f64);
    let rows = [
        ("nacre_db_connections_used", "gauge", "Connections of this process in use.", count(figures.leased)),
        ("nacre_db_connections_idle", "gauge", "Open connections that wait for a call.", count(figures.idle)),
        (
            "nacre_db_connections_max",
            "gauge",
            "The most connections that this process opens.",
            count(figures.max),
        ),
        (
            "nacre_db_pool_waits_total",
            "counter",
            "Calls that waited for a free connection.",
            total(figures.waits),
        ),
        (
            "nacre_db_pool_timeouts_total",
            "counter",
            "Calls that gave up waiting for one.",
            total(figures.timeouts),
        ),
        (
            "nacre_db_lock_waits",
            "gauge",
            "Transactions of all machines that wait for a lock.",
            shown(figures.lock_waits),
        ),
        ("nacre_db_replicas", "gauge", "Connected replicas.", shown(figures.replicas)),
        (
            "nacre_db_replication_lag_seconds",
            "gauge",
            "How far the slowest replica is behind.",
            figures.replication_lag,
        ),
        ("nacre_db_bytes", "gauge", "Size of the database with all groups.", shown(figures.bytes)),
    ];
    let present = rows.into_iter().filter_map(|(name, kind, help, value)| Some((name, kind, help, value?)));
    present.map(row).collect()
}

/// Returns the memory that vectors take, in the same format.
pub fn memory(budget: &MemoryBudget) -> String {
    #[expect(clippy::cast_precision_loss, reason = "bytes and counts")]
    let (used, limit, beyond) =
        (budget.used() as f64, budget.limit() as f64, budget.searches_beyond() as f64);
    let rows = [
        ("nacre_vector_memory_bytes", "gauge", "Memory reserved for the vectors of open groups.", used),
        ("nacre_vector_memory_limit_bytes", "gauge", "The most that they may take; 0 means no limit.", limit),
        (
            "nacre_searches_beyond_memory_total",
            "counter",
            "Searches that read vectors from the database because they did not fit.",
            beyond,
        ),
    ];
    rows.map(row).concat()
}

fn row((name, kind, help, value): (&str, &str, &str, f64)) -> String {
    format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
