//! Compaction: one summary replaces the older lines of a transcript, and the newest lines stay.
//!
//! In mode `overlay` the summary is appended and the context applies it, so no line is ever lost. In mode
//! `rewrite` a new file gets the summary and the lines after it; the old file is archived first. The summary
//! is made without holding the lock, because a model behind a URL may take long. It is discarded if another
//! process has compacted the transcript meanwhile.

use schemars::JsonSchema;
use serde::Serialize;

use super::append::prepare;
use super::context::{self, WindowLimits};
use super::ingest::{self, Author, State};
use super::lock::{Lock, lock};
use super::summary::{self, SummaryInput};
use super::transcript::{Forwards, Line, Role, Transcript};
use super::{listing, narrative};
use crate::base::ids::{EntryId, SessionId};
use crate::base::redact::redact;
use crate::base::settings::Compact;
use crate::base::{Error, Result};
use crate::group::View;
use crate::store::audit;
use crate::store::event::payload;

/// The result of a compaction.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct CompactionReport {
    /// The number of lines that the summary replaces; 0 if there was nothing to compact.
    pub covered: usize,
    /// The number of lines that stay.
    pub kept: usize,
    /// The tokens of the context before.
    pub before: usize,
    /// The tokens of the context after.
    pub after: usize,
    /// How the summary was made: `extractive`, or the name of a model.
    pub by: String,
    /// A note for the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The entry that also holds the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryId>,
    /// The path of the original transcript, if it was rewritten.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aside: Option<String>,
}

redact! { CompactionReport { by, note, entry, aside / covered, kept, before, after } }

/// The lines to summarize, and the lines to keep.
struct Plan {
    older: Vec<Line>,
    kept: Vec<Line>,
    before: Option<Line>,
    tokens: usize,
    compactions: i64,
}

/// Compacts a transcript.
pub(crate) fn compact(view: &mut View<'_>, session: &SessionId) -> Result<CompactionReport> {
    let caller = view.caller();
    let mode = view.settings().session.compact;
    if mode == Compact::Off {
        return Err(Error::CompactionOff);
    }
    ingest::check_seen(view, caller, session)?;
    let transcript = Transcript::of(view.files(), session)?;
    let plan = plan(view, session, &transcript)?;
    let nothing = |note: &str| CompactionReport {
        covered: 0,
        kept: plan.kept.len(),
        before: plan.tokens,
        after: plan.tokens,
        by: summary::EXTRACTIVE.to_owned(),
        note: Some(note.to_owned()),
        entry: None,
        aside: None,
    };
    let Some(last) = plan.older.last() else {
        return Ok(nothing("nothing to compact: no lines are older than the lines that are kept"));
    };
    let made = summary::make(view, &SummaryInput { before: plan.before.as_ref(), lines: &plan.older });
    let entry = narrative::before_compaction(view, session, &made, (&plan.older, &plan.kept))?;

    let lock = lock(view)?;
    let (mut state, _) = prepare(view, session, &transcript, &lock)?;
    if state.compactions != plan.compactions {
        return Ok(nothing("another process has compacted the session meanwhile"));
    }
    let number = state.compactions + 1;
    let first =
        plan.before.as_ref().and_then(|summary| summary.covers.as_ref()).map(|covers| covers[0].clone());
    let first = first.unwrap_or_else(|| plan.older[0].id.clone());
    let line = Line {
        id: format!("sum_{number:03}"),
        role: Role::Summary,
        content: Some(made.text),
        name: None,
        input: None,
        covers: Some([first, last.id.clone()]),
        by: Some(made.by.clone()),
        timestamp: caller.now,
    };
    let aside = match mode {
        Compact::Rewrite => Some(rewrite(&transcript, &line, last, number, &lock)?),
        Compact::Overlay | Compact::Off => {
            transcript.append(&line.to_bytes()?, &lock)?;
            None
        }
    };
    (state, _) = ingest::catch_up(view, session, &transcript, Author::Caller, &lock)?;
    note(view, session, &state, plan.older.len())?;
    listing::write(view, &lock)?;
    drop(lock);
    let after = usize::try_from(state.tokens).unwrap_or(0);
    let data = payload([
        ("sessionId", session.as_str().into()),
        ("before", plan.tokens.into()),
        ("after", after.into()),
    ]);
    view.tell("memory:compact", data);
    Ok(CompactionReport {
        covered: plan.older.len(),
        kept: plan.kept.len(),
        before: plan.tokens,
        after,
        by: made.by,
        note: made.note,
        entry,
        aside,
    })
}

fn plan(view: &mut View<'_>, session: &SessionId, transcript: &Transcript) -> Result<Plan> {
    let lock = lock(view)?;
    let (state, _) = prepare(view, session, transcript, &lock)?;
    let tokens = usize::try_from(context::tokens(view, transcript)?).unwrap_or(0);
    let all = WindowLimits { results: None, tokens: usize::MAX };
    let Some(window) = context::read(transcript, all)? else {
        return Err(Error::NoTranscript { given: crate::base::text::shorten(session.as_str()) });
    };
    let mut older = window.lines;
    let mut at = older.len().saturating_sub(view.settings().session.keep_recent);
    // Results stay with their calls.
    let is = |at: usize, role| older.get(at).is_some_and(|line: &Line| line.role == role);
    while at > 0 && (is(at, Role::ToolResult) || is(at - 1, Role::ToolCall)) {
        at -= 1;
    }
    let kept = older.split_off(at);
    Ok(Plan { older, kept, before: window.summary, tokens, compactions: state.compactions })
}

/// Rewrites the file as the summary and the lines after the last one it covers. Returns the path of the
/// original.
fn rewrite(transcript: &Transcript, summary: &Line, last: &Line, number: i64, lock: &Lock) -> Result<String> {
    let io = |problem: std::io::Error| Error::io(&transcript.place())(problem);
    let old = transcript.read()?;
    let mut lines = Forwards::from(std::io::Cursor::new(&old), 0).map_err(io)?;
    let mut behind = 0;
    while let Some((_, bytes)) = lines.next().map_err(io)? {
        if Line::read(&bytes).is_some_and(|line| line.key() == last.key()) {
            behind = lines.at;
        }
    }
    let mut new = summary.to_bytes()?;
    new.extend_from_slice(&old[usize::try_from(behind).unwrap_or(old.len())..]);
    Ok(transcript.rewrite(&old, &new, number, lock)?.display().to_string())
}

fn note(view: &mut View<'_>, session: &SessionId, state: &State, covered: usize) -> Result<()> {
    let caller = view.caller();
    view.write(|tx| {
        ingest::save(tx, session, state)?;
        audit::Row::new("session_compact").id(session).with("covered", covered).append(tx, caller)
    })
}
