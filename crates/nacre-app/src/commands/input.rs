//! Text that a command takes as an argument or from standard input.

use std::io::{IsTerminal as _, Read as _};
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::render::Failure;

/// Refuses a pipe or a device, which may never end.
pub fn check_regular(file: &Path) -> Result<(), Failure> {
    match std::fs::metadata(file) {
        Ok(found) if !found.is_file() && !found.is_dir() => {
            let message = format!("`{}` is not a regular file", file.display());
            Err(Failure::invalid("not_a_file", message, "save its content to a file, and give that"))
        }
        _ => Ok(()),
    }
}

/// Returns the words of a text, which needs no quotes. Without words, standard input is the text unless it is a terminal.
pub fn words_or_stdin(words: &[String], command: &str) -> Result<String> {
    match words {
        [] if std::io::stdin().is_terminal() => Err(no_text(command)),
        [] => from_stdin(),
        words => text_or_stdin(&words.join(" ")),
    }
}

/// Returns the error of a command without its text.
pub fn no_text(command: &str) -> anyhow::Error {
    let hint = format!("give the text, such as `nacre {command} some words`, or pipe it in");
    Failure::invalid("no_text", "the text is missing".into(), &hint).into()
}

/// Returns the words of a query, or standard input where they are `-`.
pub fn words_or_dash(words: &[String]) -> Result<String> {
    text_or_stdin(&words.join(" "))
}

/// Returns the words of a text that may be missing, or what is piped in or read from a file.
pub fn words_or_pipe(words: &[String]) -> Result<Option<String>> {
    if !words.is_empty() {
        return text_or_stdin(&words.join(" ")).map(Some);
    }
    let text = if is_pipe() { from_stdin()? } else { String::new() };
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

/// Tells whether standard input is a pipe or a file. Programs that start others often leave something else there, which
/// never ends.
#[cfg(unix)]
fn is_pipe() -> bool {
    use rustix::fs::{FileType, fstat};
    let kind = fstat(std::io::stdin()).map(|found| FileType::from_raw_mode(found.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::RegularFile))
}
#[cfg(not(unix))]
fn is_pipe() -> bool {
    false
}

/// Returns an argument, or standard input where the argument is `-`.
pub fn text_or_stdin(argument: &str) -> Result<String> {
    if argument == "-" { from_stdin() } else { Ok(argument.to_owned()) }
}

fn from_stdin() -> Result<String> {
    let mut bytes = Vec::new();
    let limit = nacre::call::MAX_REQUEST as u64 + 1;
    std::io::stdin().lock().take(limit).read_to_end(&mut bytes).context("standard input can't be read")?;
    if bytes.len() > nacre::call::MAX_REQUEST {
        bail!(nacre::Error::RequestTooLarge { size: bytes.len(), limit: nacre::call::MAX_REQUEST });
    }
    String::from_utf8(bytes).map_err(|error| {
        nacre::Error::NotUtf8 { what: "standard input", at: error.utf8_error().valid_up_to() }.into()
    })
}
