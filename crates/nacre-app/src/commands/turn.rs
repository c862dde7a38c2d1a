//! `turn` and `lesson`: the memories added before a message, and lessons from corrections.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use nacre::turn::{self, Exchange, LessonState, Request, Turn};
use serde_json::json;

use super::input::{no_text, text_or_stdin, words_or_stdin};
use crate::args;
use crate::context::Context;
use crate::plugin;
use crate::render::{self, plain};

pub fn run(context: &Context, args: &args::Turn) -> Result<ExitCode> {
    let started = Instant::now();
    let message = words_or_stdin(&args.message.words, "turn")?;
    if message.trim().is_empty() {
        return Err(no_text("turn"));
    }
    let (mut group, caller) = (context.group()?, context.caller());
    let mut view = group.enter(&caller)?;
    if let Some(answer) = &args.answer {
        let exchange = Exchange { user: message, agent: text_or_stdin(answer)?, at: caller.now };
        let archived = turn::archive(&mut view, &exchange)?;
        if context.global.json {
            render::json(&archived)?;
        } else {
            let what = match (archived.id.is_empty(), archived.added) {
                (true, _) => "Nothing to archive.",
                (_, true) => "Archived.",
                (_, false) => "It was archived before.",
            };
            render::out(what)?;
            for lesson in &archived.lessons {
                render::out(&format!("Learned: {}", plain(lesson)))?;
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    // Changed documents are read before the time limit starts: a person waits for them, an agent does not.
    nacre::workspace::sync(&mut view)?;
    let limit = Duration::from_millis(view.settings().turn.time_limit_ms);
    let begun = Instant::now();
    let late = || begun.elapsed() > limit;
    let asked = context.plugins.ask_turn(&context.global.group, &caller.session, &message, limit);
    let turn = plugin::with_answers(&asked, |plugins| {
        let request = Request { late: &late, explain: args.explain, plugins, ..Request::new(message) };
        turn::run(&mut view, &request)
    })?;
    if context.global.json {
        render::json(&turn)?;
        return Ok(ExitCode::SUCCESS);
    }
    for left_out in &turn.left_out {
        render::note(&format!("left out: {left_out}"));
    }
    if !turn.markdown.is_empty() {
        render::out(&plain(&turn.markdown))?;
    } else if !args.explain {
        render::note("no memory fits this message; `--explain` says why");
    }
    if args.explain {
        let why =
            if turn.markdown.is_empty() { why_nothing(&turn, &view.settings().turn) } else { String::new() };
        render::out(&format!("{why}{}", explained(&turn, started.elapsed())))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Says why a turn adds nothing.
fn why_nothing(turn: &Turn, settings: &nacre::settings::Turn) -> String {
    let least = settings.least;
    let why = match turn.considered.first() {
        _ if settings.contributors.is_empty() => "`turn.contributors` is empty".to_owned(),
        _ if settings.tokens == 0 => "`turn.tokens` is 0".to_owned(),
        None => "nothing stored shares words or meaning with it".to_owned(),
        Some(best) if best.score < least => {
            format!("the best candidate scores {:.2}, below the {least} of `turn.least`", best.score)
        }
        Some(_) => "the candidates are in the conversation already, or say the same".to_owned(),
    };
    format!("Nothing is added before this message: {why}.\n")
}

fn explained(turn: &Turn, took: Duration) -> String {
    let mut text = format!("{} tokens, {:.1} ms\n", turn.tokens, took.as_secs_f64() * 1000.0);
    for block in &turn.blocks {
        for line in &block.lines {
            let _ = writeln!(
                text,
                "{} [{} tokens] {}: {}",
                block.contributor, line.tokens, line.source, line.reason
            );
        }
    }
    for one in &turn.considered {
        let _ = writeln!(text, "{:.2} {} {}: {}", one.score, one.contributor, one.source, plain(&one.text));
        let parts: Vec<String> = one
            .evidence
            .iter()
            .filter(|part| part.value != 0.0)
            .map(|part| format!("{} {:.2}", part.part, part.value))
            .collect();
        let _ = writeln!(text, "     {}", parts.join(", "));
    }
    text
}

pub fn lesson(context: &Context, args: &args::Lesson) -> Result<ExitCode> {
    let (mut group, caller) = (context.group()?, context.caller());
    let mut view = group.enter(&caller)?;
    match args {
        args::Lesson::List => {
            let lessons = turn::lessons(&view)?;
            let proposals = turn::proposals(&view)?;
            if context.global.json {
                render::json(&json!({ "lessons": lessons, "proposals": proposals }))?;
                return Ok(ExitCode::SUCCESS);
            }
            if lessons.is_empty() {
                render::note("there are no lessons yet");
            }
            for lesson in &lessons {
                let age = render::age(caller.now, lesson.learned_at);
                let state = match lesson.state {
                    LessonState::Confirmed => "",
                    LessonState::Waiting => "; waits for you: `nacre lesson confirm`",
                    LessonState::Quarantined => "; quarantined",
                };
                render::out(&format!(
                    "{:>4}  {} ({age}{state}; shown {}, followed {}, ignored {})",
                    lesson.number,
                    plain(&lesson.text),
                    lesson.injected,
                    lesson.kept,
                    lesson.broken
                ))?;
            }
            for proposal in &proposals {
                render::note(&format!(
                    "lesson {} has proved itself ({}); it could become a line of {}: {}",
                    proposal.lesson, proposal.because, proposal.path, proposal.line
                ));
            }
        }
        args::Lesson::Confirm { number } => {
            let lesson = turn::confirm(&mut view, *number)?;
            match context.global.json {
                true => render::json(&lesson)?,
                false => render::out(&format!("Confirmed: {}", plain(&lesson.text)))?,
            }
        }
        args::Lesson::Remove { number } => {
            let lesson = turn::forget(&mut view, *number).context("nothing was removed")?;
            if context.global.json {
                render::json(&lesson)?;
            } else {
                render::out(&format!("Removed: {}", plain(&lesson.text)))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
