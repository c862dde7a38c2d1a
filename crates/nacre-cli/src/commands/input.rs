//! Text that a command takes as an argument or from standard input.

use std::io::Read as _;

use anyhow::{Context as _, Result, bail};

/// Returns an argument, or what stands on standard input where the argument is `-`.
pub fn text_or_stdin(argument: &str) -> Result<String> {
    if argument != "-" {
        return Ok(argument.to_owned());
    }
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
