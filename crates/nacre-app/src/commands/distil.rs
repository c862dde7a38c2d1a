//! `nacre distil`: takes memories out of conversations.

use std::process::ExitCode;

use anyhow::Result;
use nacre::distil::{self, DistilOptions, DistilReport};

use crate::args::Distil;
use crate::context::Context;
use crate::render::{self, Paint, count, line, plain};

pub fn run(context: &Context, args: &Distil) -> Result<ExitCode> {
    let (mut group, caller) = (context.whole_group("distil")?, context.caller());
    let mut view = group.enter(&caller)?;
    let options = DistilOptions { by: args.by, again: args.again, dry_run: args.dry_run };
    let sessions = match &args.session {
        Some(session) => vec![session.clone()],
        None => distil::unread(&view)?,
    };
    let bar = render::Progress::busy(context.global.json, "Reading conversations");
    let mut reports = Vec::new();
    let mut failed = None;
    for session in &sessions {
        match distil::session(&mut view, session, options) {
            Ok(report) => reports.push(report),
            Err(problem) => {
                failed = Some(problem);
                break;
            }
        }
    }
    drop(bar);
    if context.global.json {
        if failed.is_none() {
            render::json(&reports)?;
        }
    } else {
        let found: String = reports.iter().map(shown).collect();
        if !found.is_empty() {
            render::page(&render::flow(&found))?;
        }
        if failed.is_none() {
            render::out(&summary(&reports, args.dry_run))?;
        }
    }
    failed.map_or(Ok(ExitCode::SUCCESS), |problem| Err(problem.into()))
}

fn shown(report: &DistilReport) -> String {
    let paint = Paint::stdout();
    let mut text = String::new();
    for memory in &report.memories {
        let outcome = match (memory.number, memory.proposal) {
            (Some(number), _) => format!("[id:{number}]"),
            (None, Some(number)) => format!("proposal {number}"),
            (None, None) => "not stored".to_owned(),
        };
        let about = format!("{outcome}, {}, from {}", memory.kind, line(&memory.message, usize::MAX));
        text.push_str(&format!("{}\n  {}\n", plain(&memory.content), paint.dim(&about)));
    }
    text
}

fn summary(reports: &[DistilReport], dry_run: bool) -> String {
    let sum = |of: fn(&DistilReport) -> usize| reports.iter().map(of).sum::<usize>();
    let messages = sum(|one| one.messages);
    if messages == 0 && sum(|one| one.memories.len()) == 0 {
        return "There is nothing new to read; `--again` reads a session again.".to_owned();
    }
    let proposed = reports.iter().flat_map(|one| &one.memories).filter(|one| one.proposal.is_some()).count();
    let mut text = format!(
        "{} of {} read, {} found",
        count(messages, "message", "messages"),
        count(reports.len(), "session", "sessions"),
        count(sum(|one| one.memories.len()), "memory", "memories"),
    );
    for (number, what) in [
        (sum(|one| one.same), "already known"),
        (sum(|one| one.similar), "similar to a known one"),
        (sum(|one| one.refused), "refused"),
    ] {
        if number > 0 {
            text.push_str(&format!(", {number} {what}"));
        }
    }
    if proposed > 0 {
        text.push_str(&format!(
            "; {} for your approval (`nacre pending`)",
            count(proposed, "one waits", "of them wait")
        ));
    }
    for report in reports {
        if let Some(limit) = &report.waits {
            let session = line(&report.session, usize::MAX);
            text.push_str(&format!(
                "\nThe rest of session {session} waits: {limit}. Decide about what is pending (`nacre pending`) or raise the limit\n\
                 under `[limits]` in nacre.toml, then run `nacre distil` again."
            ));
        }
    }
    if dry_run {
        text.push_str("\nDry run: nothing was stored. Run again without --dry-run to store them.");
    }
    text
}
