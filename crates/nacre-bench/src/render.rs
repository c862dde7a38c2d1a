//! Results, progress and errors: the only place that writes to the terminal.
#![allow(clippy::print_stderr, reason = "this is where errors are shown")]

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use anyhow::{Error, Result};
use serde::Serialize;

/// Writes to standard output, and ends the last line. A closed pipe is not an error.
pub fn out(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    match write!(stdout, "{text}{end}").and_then(|()| stdout.flush()) {
        Err(problem) if problem.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// Writes one JSON value.
pub fn json(value: &impl Serialize) -> Result<()> {
    out(&serde_json::to_string(value)?)
}

/// Shows the progress of long work on a terminal. An empty text clears the line.
pub fn progress(text: &str) {
    if io::stderr().is_terminal() {
        eprint!("\r\x1b[2K{text}");
    }
}

/// Shows an error and its hint.
pub fn error(error: &Error) -> ExitCode {
    eprintln!("error: {error:#}");
    if let Some(hint) = error.downcast_ref().and_then(nacre::Error::hint) {
        eprintln!("hint: {hint}");
    }
    ExitCode::FAILURE
}
