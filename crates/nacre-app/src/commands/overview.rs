//! `nacre` alone: the state of the memory, and the next commands.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use crate::context::Context;
use crate::render::{self, Paint, count};

/// The commands of a first day.
const FIRST_COMMANDS: &[(&str, &str)] = &[
    ("nacre store TEXT", "remember something"),
    ("nacre search WORDS", "find it again"),
    ("nacre install", "connect your agents"),
    ("nacre ui", "open the dashboard"),
    ("nacre help", "show all commands"),
];

pub fn run(context: &Context) -> Result<ExitCode> {
    let status = context.enter(|view| nacre::status(view))?;
    if context.global.json {
        let commands: Vec<_> = FIRST_COMMANDS
            .iter()
            .map(|(command, about)| json!({ "command": command, "about": about }))
            .collect();
        render::json(&json!({ "status": status, "commands": commands }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let memory = [
        count(status.entries.current, "memory", "memories"),
        count(status.graph.facts, "fact", "facts"),
        count(status.documents.indexed, "document", "documents"),
    ];
    let written = match status.last_write {
        Some(at) => format!("; last change {}", render::age(context.now(), at)),
        None => "; nothing is stored yet".into(),
    };
    let waiting = match status.pending {
        0 => "nothing waits for your approval".to_owned(),
        pending => {
            format!("{} for your approval (`nacre pending`)", count(pending, "change waits", "changes wait"))
        }
    };
    let rows = [
        ("Memory", format!("{}{written}", memory.join(", "))),
        ("Stored in", format!("{} (group {})", context.home.path().display(), status.group)),
        ("Approvals", waiting),
    ];
    let paint = Paint::stdout();
    let mut text = render::table(&rows);
    text.push('\n');
    for (command, about) in FIRST_COMMANDS {
        text.push_str(&format!("  {}  {about}\n", paint.bold(&format!("{command:18}"))));
    }
    render::out(&text)?;
    Ok(ExitCode::SUCCESS)
}
