//! Timers and percentiles.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

/// Measures wall-clock time in milliseconds.
pub fn timed(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64() * 1000.0)
}

/// Measures CPU time in milliseconds, which other programs hardly affect. Falls back to wall-clock time if the system does not
/// report it.
pub fn cpu(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let (start, before) = (Instant::now(), on_cpu());
    work()?;
    match (before, on_cpu()) {
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds of one run")]
        (Some(before), Some(after)) => Ok((after - before) as f64 / 1e6),
        _ => Ok(start.elapsed().as_secs_f64() * 1000.0),
    }
}

/// Names the kind of time that [`cpu`] measures on this system.
pub fn kind() -> &'static str {
    if on_cpu().is_some() { "CPU time of the thread" } else { "wall-clock time" }
}

/// Returns the nanoseconds that this thread has run, as Linux counts them.
fn on_cpu() -> Option<u64> {
    // The scheduler updates the count only when it looks at the thread.
    std::thread::yield_now();
    let counts = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    counts.split(' ').next()?.parse().ok()
}

/// Returns the percentile of the times.
pub fn percentile(times: &[f64], percent: usize) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times.get(times.len().saturating_sub(1) * percent / 100).copied().unwrap_or(0.0)
}

/// Runs a program to its end.
pub fn finish(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_owned();
    let status = command.status().with_context(|| format!("{} can't be started", program.display()))?;
    ensure!(status.success(), "{} failed", program.display());
    Ok(())
}
