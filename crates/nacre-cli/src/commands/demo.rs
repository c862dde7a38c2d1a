//! `nacre demo`: a first memory, stored and found by this very program, in an empty home that is thrown away
//! afterwards.

use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, ensure};

use crate::render::{self, Paint};

const STEPS: &[&[&str]] = &[
    &["init"],
    &["store", "I prefer tabs over spaces", "--type", "preference", "--tag", "style"],
    &["store", "Our staging server is called heron", "--tag", "servers"],
    &["search", "what is the server called?"],
    &["store", "Our staging server is called kestrel since the move", "--supersedes", "2"],
    &["search", "server"],
    &["history", "3"],
    &["brief"],
];

pub fn run() -> Result<ExitCode> {
    let home = tempfile::tempdir().context("a folder for the demo")?;
    let program = std::env::current_exe().context("this program can't find itself")?;
    let paint = Paint::stdout();
    for step in STEPS {
        let shown: Vec<String> = step
            .iter()
            .map(|word| if word.contains(' ') { format!("\"{word}\"") } else { (*word).to_owned() })
            .collect();
        render::out(&paint.bold(&format!("$ nacre {}", shown.join(" "))))?;
        let status = Command::new(&program)
            .arg("--home")
            .arg(home.path())
            .args(*step)
            .env_remove("NACRE_GROUP")
            .status()?;
        ensure!(status.success(), "`nacre {}` failed", shown.join(" "));
        render::out("\n")?;
    }
    render::out("That was a home of its own, now removed. `nacre init` makes yours.")?;
    Ok(ExitCode::SUCCESS)
}
