//! The changes of the memory, as a diff.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use nacre::past::ChangeFilter;

use crate::args::Changes;
use crate::context::Context;
use crate::render;

/// How far back to look if nobody says so.
const DEFAULT_DAYS: i64 = 7;

pub fn run(context: &Context, args: &Changes) -> Result<ExitCode> {
    let since = context.time(args.since).unwrap_or_else(|| context.now().plus_days(-DEFAULT_DAYS));
    let session = context.given_session().map(ToString::to_string);
    let filter = ChangeFilter { since: Some(since), session, device: args.device.clone() };
    let changes = context.enter_whole("changes", |view| nacre::past::changes(view, &filter))?;
    if context.global.json {
        render::json(&changes)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for change in &changes {
        let _ = write!(text, "{} {} {}", change.at, change.kind, render::line(&change.id, 80));
        if let Some(device) = &change.device {
            let _ = write!(text, " on {}", render::line(device, 40));
        }
        match (&change.before, &change.after) {
            (None, None) => text.push_str(" was deleted\n"),
            (before, after) => {
                text.push('\n');
                for (sign, side) in [('-', before), ('+', after)] {
                    for line in side.iter().flat_map(|side| side.lines()) {
                        let _ = writeln!(text, "  {sign} {}", render::plain(line));
                    }
                }
            }
        }
    }
    if changes.is_empty() {
        text.push_str("Nothing changed. `--since 30d` looks further back.\n");
    }
    render::page(&text)?;
    Ok(ExitCode::SUCCESS)
}
