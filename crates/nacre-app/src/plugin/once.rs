//! Runs a program of the person's once: text in, text out, within a time limit.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use super::process;

/// The most bytes of its output.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;

/// Runs a program with a text on its standard input, and returns its standard output. It is killed, with everything it started,
/// when it takes too long. The error says why there is no output.
pub fn run_once(command: &[String], home: &Path, input: &str, limit: Duration) -> Result<String, String> {
    let (process, mut stdin, stdout) =
        process::start(command, home).map_err(|problem| format!("it can't be started: {problem}"))?;
    let text = input.to_owned();
    // If it does not read its input, this thread ends with it.
    std::thread::spawn(move || {
        let _ = stdin.write_all(text.as_bytes());
    });
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut output = Vec::new();
        let read = stdout.take(MAX_OUTPUT_BYTES + 1).read_to_end(&mut output);
        let _ = send.send(read.map(|_| output));
    });
    let output = receive.recv_timeout(limit);
    let Ok(output) = output else {
        process.end();
        return Err(format!("there was no answer within {} seconds", limit.as_secs()));
    };
    let output = output.map_err(|problem| format!("its output can't be read: {problem}"))?;
    // It has closed its output; what it does afterwards is not waited for long.
    let errors = process.errors();
    let status = process.finish(limit.min(END_LIMIT));
    if output.len() as u64 > MAX_OUTPUT_BYTES {
        return Err(format!("its output is longer than {MAX_OUTPUT_BYTES} bytes"));
    }
    match status {
        Some(status) if status.success() => {}
        Some(status) => {
            let last = errors.lines().next_back().map(|line| format!(": {line}")).unwrap_or_default();
            return Err(format!("it ended with {status}{last}"));
        }
        None => return Err("it did not end after its answer".into()),
    }
    String::from_utf8(output).map_err(|_| "its output is not UTF-8".into())
}

/// How long it may take to end after it closed its output.
const END_LIMIT: Duration = Duration::from_secs(5);
