//! `nacre demo`: stores and finds a first memory in a temporary data folder.

use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

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

pub fn run(as_json: bool) -> Result<ExitCode> {
    let home = tempfile::tempdir().context("a folder for the demo")?;
    let program = std::env::current_exe().context("this program can't find itself")?;
    let paint = Paint::stdout();
    let mut answers = Vec::new();
    for step in STEPS {
        let shown: Vec<String> = step
            .iter()
            .map(|word| if word.contains(' ') { format!("\"{word}\"") } else { (*word).to_owned() })
            .collect();
        let shown = format!("nacre {}", shown.join(" "));
        let mut command = Command::new(&program);
        command.arg("--home").arg(home.path()).args(*step).env_remove("NACRE_GROUP");
        if as_json {
            let output = command.arg("--json").output()?;
            ensure!(output.status.success(), "`{shown}` failed");
            let answer: serde_json::Value = serde_json::from_slice(&output.stdout)?;
            answers.push(json!({ "command": shown, "answer": answer }));
            continue;
        }
        render::out(&paint.bold(&format!("$ {shown}")))?;
        ensure!(command.status()?.success(), "`{shown}` failed");
        render::out("\n")?;
    }
    if as_json {
        render::json(&json!({ "steps": answers }))?;
        return Ok(ExitCode::SUCCESS);
    }
    render::out("The demo used a temporary data folder, which is now removed. `nacre init` creates yours.")?;
    Ok(ExitCode::SUCCESS)
}
