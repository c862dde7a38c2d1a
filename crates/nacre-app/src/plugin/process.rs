//! A plugin's process: started in a process group of its own, killed with everything it started. The end of its standard error is
//! kept for a message.

use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// How much of its standard error is kept, in bytes.
const STDERR_BYTES: usize = 2048;
/// How often it is polled while it ends.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// How long to wait for the rest of its output after it has ended.
const LAST_WORDS: Duration = Duration::from_millis(10);

/// Every process that was started and may still run, so that all can be killed at once.
static PROCESSES: Mutex<Vec<Weak<Process>>> = Mutex::new(Vec::new());

/// A process that one thread talks to and another may kill.
pub struct Process {
    /// `None` once it was waited for. Its group is always killed before that, because until then no other process has its id.
    child: Mutex<Option<Child>>,
    errors: Arc<Mutex<Vec<u8>>>,
    silent: Mutex<Receiver<()>>,
}

/// Starts a program. A relative path is resolved in the home, and the program runs there, never in the current folder.
pub fn start(
    command: &[String],
    home: &Path,
) -> std::io::Result<(Arc<Process>, ChildStdin, BufReader<ChildStdout>)> {
    let (program, arguments) = command.split_first().expect("checked when the settings were read");
    let is_path = program.contains(std::path::is_separator);
    let program = if is_path { home.join(program).into_os_string() } else { program.into() };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(home);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    let (input, output, mut stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let errors = Arc::new(Mutex::new(Vec::new()));
    let (end, silent) = channel();
    let kept = errors.clone();
    std::thread::spawn(move || {
        let mut buffer = [0; STDERR_BYTES];
        while let Some(count) =
            stderr.as_mut().and_then(|stderr| stderr.read(&mut buffer).ok()).filter(|n| *n > 0)
        {
            let mut kept = lock(&kept);
            kept.extend_from_slice(&buffer[..count]);
            let excess = kept.len().saturating_sub(STDERR_BYTES);
            kept.drain(..excess);
        }
        drop(end);
    });
    let process = Arc::new(Process { child: Mutex::new(Some(child)), errors, silent: Mutex::new(silent) });
    let mut started = lock(&PROCESSES);
    started.retain(|process| process.strong_count() > 0);
    started.push(Arc::downgrade(&process));
    Ok((process, input.expect("piped"), BufReader::new(output.expect("piped"))))
}

/// Kills every process that was started.
pub fn end_all() {
    let started: Vec<_> = lock(&PROCESSES).drain(..).collect();
    for process in started.iter().filter_map(Weak::upgrade) {
        process.end();
    }
}

impl Process {
    /// Kills it with everything it started. Returns its exit status, if that was not known before.
    pub fn end(&self) -> Option<ExitStatus> {
        let mut child = lock(&self.child).take()?;
        kill_group(&child);
        let _ = child.kill();
        child.wait().ok()
    }

    /// Waits until it ends by itself, and returns its exit status. It is killed if that takes too long.
    pub fn finish(&self, moment: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + moment;
        while !self.is_over() {
            if Instant::now() >= until {
                self.end();
                return None;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        let mut child = lock(&self.child).take()?;
        let status = child.wait().ok();
        // Processes that it started may still run.
        kill_group(&child);
        status
    }

    /// Tells it to end, waits a moment, and kills it.
    pub fn end_kindly(&self, mut input: ChildStdin, goodbye: String, moment: Duration) {
        let until = Instant::now() + moment;
        // If it does not read, this thread ends with it.
        std::thread::spawn(move || input.write_all(goodbye.as_bytes()));
        while Instant::now() < until && !self.is_over() {
            std::thread::sleep(POLL_INTERVAL);
        }
        self.end();
    }

    /// Tells whether it has ended, without waiting.
    fn is_over(&self) -> bool {
        #[cfg(unix)]
        {
            use rustix::process::{WaitId, WaitIdOptions, waitid};
            let child = lock(&self.child);
            let Some(pid) = child.as_ref().and_then(pid) else { return true };
            let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            !matches!(waitid(WaitId::Pid(pid), look), Ok(None))
        }
        #[cfg(not(unix))]
        lock(&self.child).as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)))
    }

    /// Returns the end of its standard error.
    pub fn errors(&self) -> String {
        let _ = lock(&self.silent).recv_timeout(LAST_WORDS);
        String::from_utf8_lossy(&lock(&self.errors)).trim().to_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(unix)]
fn pid(child: &Child) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(i32::try_from(child.id()).ok()?)
}

#[cfg(unix)]
fn kill_group(child: &Child) {
    if let Some(pid) = pid(child) {
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill_group(_: &Child) {}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
