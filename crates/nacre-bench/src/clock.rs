//! Time taken, and what is said of many times.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

/// How long work took on the wall, in milliseconds.
pub fn timed(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64() * 1000.0)
}

/// How long work kept the processor, in milliseconds: what other programs do at the same time hardly counts.
/// Where the system does not tell, it is the time on the wall.
pub fn cpu(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let (start, before) = (Instant::now(), on_cpu());
    work()?;
    match (before, on_cpu()) {
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds of one run")]
        (Some(before), Some(after)) => Ok((after - before) as f64 / 1e6),
        _ => Ok(start.elapsed().as_secs_f64() * 1000.0),
    }
}

/// What [`cpu`] measures here.
pub fn kind() -> &'static str {
    if on_cpu().is_some() { "CPU time of the thread" } else { "time on the wall" }
}

/// The nanoseconds that this thread has run, as Linux counts them.
fn on_cpu() -> Option<u64> {
    // The count is brought up to date when the scheduler looks at the thread.
    std::thread::yield_now();
    let counts = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    counts.split(' ').next()?.parse().ok()
}

/// The time below which `percent` of the times lie.
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
