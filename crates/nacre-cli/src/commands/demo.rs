//! `nacre demo`: a first memory, stored and found by this very program, in an empty home that is thrown away afterwards.

use std::path::{Path, PathBuf};
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
    let home = Folder::new()?;
    let program = std::env::current_exe().context("this program can't find itself")?;
    let paint = Paint::stdout();
    for step in STEPS {
        let shown: Vec<String> =
            step.iter().map(|word| if word.contains(' ') { format!("\"{word}\"") } else { (*word).to_owned() }).collect();
        render::out(&paint.bold(&format!("$ nacre {}", shown.join(" "))))?;
        let status = Command::new(&program).arg("--home").arg(&home.0).args(*step).env_remove("NACRE_GROUP").status()?;
        ensure!(status.success(), "`nacre {}` failed", shown.join(" "));
        render::out("\n")?;
    }
    render::out("That was a home of its own, now removed. `nacre init` makes yours.")?;
    Ok(ExitCode::SUCCESS)
}

/// A folder that goes when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder> {
        let path = std::env::temp_dir().join(format!("nacre-demo-{}", std::process::id()));
        std::fs::create_dir(&path).with_context(|| format!("{} can't be made", path.display()))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let path: &Path = &self.0;
        let _ = std::fs::remove_dir_all(path);
    }
}
