//! The person's editor.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use nacre::Kind;

use crate::render::{self, Failure};

/// Opens a file in the editor that VISUAL or EDITOR names, and waits until it is closed.
pub fn open(file: &Path) -> Result<()> {
    let told =
        ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok().filter(|told| !told.is_empty()));
    let editor = told.unwrap_or_else(|| if cfg!(windows) { "notepad".into() } else { "vi".into() });
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let status = Command::new(program).args(words).arg(file).status();
    let status = status.map_err(|problem| Failure {
        kind: Kind::Unavailable,
        code: "no_editor",
        message: format!("the editor `{program}` can't be started: {problem}"),
        hint: Some("set EDITOR to a program that is installed, such as EDITOR=nano".to_owned()),
    })?;
    if !status.success() {
        render::note("the editor reported a failure");
    }
    Ok(())
}

/// Lets the person edit a text. Returns the new text.
pub fn edit(text: &str) -> Result<String> {
    let mut file = tempfile::Builder::new().prefix("nacre-").suffix(".md").tempfile()?;
    writeln!(file, "{text}").context("the text can't be written to a temporary file")?;
    open(file.path())?;
    // Some editors replace the file.
    fs::read_to_string(file.path()).context("the edited text can't be read")
}
