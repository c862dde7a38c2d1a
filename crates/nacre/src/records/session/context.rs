//! Builds the context of a session: the messages of its transcript as a model should see them.
//!
//! The transcript is read from its end. Lines that were compacted or do not fit are not read at all. The last
//! summary replaces everything before it. The newest tool results are kept; older ones are replaced by a
//! placeholder. The file is not changed.

use schemars::JsonSchema;
use serde::Serialize;

use super::ingest;
use super::transcript::{Backwards, Forwards, Line, Role, Transcript};
use crate::base::caller::Caller;
use crate::base::ids::SessionId;
use crate::base::redact::redact;
use crate::base::text;
use crate::base::{Error, Result};
use crate::group::View;
use crate::store::ReadSeek;

/// The messages of a session as a model should see them.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Context {
    /// The session.
    pub session: SessionId,
    /// The text of MEMORY.md, if `session.with_memory` is on and the session can see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// The summary of compacted messages, if there is one, and the messages since.
    pub messages: Vec<Line>,
    /// About how many tokens they have.
    pub tokens: usize,
    /// The number of tool results that were replaced by a placeholder.
    pub results_left_out: usize,
    /// Whether older messages without a summary were omitted because they did not fit.
    pub cut: bool,
}

redact! { Context { session, memory, messages / tokens, results_left_out, cut } }

/// The lines of a transcript since its last compaction.
pub(super) struct Window {
    /// The lines in the order of the file, without summaries.
    pub(super) lines: Vec<Line>,
    pub(super) summary: Option<Line>,
    results_left_out: usize,
    cut: bool,
}

impl Window {
    pub(super) fn tokens(&self) -> usize {
        self.summary.iter().chain(&self.lines).map(Line::tokens).sum()
    }
}

/// How much of a transcript to read.
#[derive(Clone, Copy)]
pub(super) struct WindowLimits {
    /// The maximum number of tool results; `None` keeps all unchanged.
    pub(super) results: Option<usize>,
    pub(super) tokens: usize,
}

/// Returns the context of a session, with `memory` before it; `None` if it has no transcript.
pub(crate) fn context(
    view: &View<'_>,
    caller: &Caller,
    session: &SessionId,
    tokens: Option<usize>,
    memory: Option<String>,
) -> Result<Option<Context>> {
    ingest::check_seen(view, caller, session)?;
    let settings = &view.settings().session;
    let tokens = tokens.unwrap_or_else(|| settings.window.saturating_sub(settings.reserve).max(1));
    let transcript = Transcript::of(view.files(), session)?;
    let Some(input) = transcript.open()? else { return Ok(None) };
    let room = tokens.saturating_sub(memory.as_deref().map_or(0, text::tokens)).max(1);
    let limits = WindowLimits { results: Some(settings.keep_tool_results), tokens: room };
    let known = view.read_all(|db| ingest::load(db, session))?.and_then(|state| state.summary_at);
    let window = window(input, limits, known).map_err(Error::io(&transcript.place()))?;
    let (tokens, results_left_out, cut) = (window.tokens(), window.results_left_out, window.cut);
    let messages = window.summary.into_iter().chain(window.lines).collect();
    let tokens = tokens + memory.as_deref().map_or(0, text::tokens);
    Ok(Some(Context { session: session.clone(), memory, messages, tokens, results_left_out, cut }))
}

/// Returns how many tokens the context of a transcript has.
pub(super) fn tokens(view: &View<'_>, transcript: &Transcript) -> Result<i64> {
    let results = Some(view.settings().session.keep_tool_results);
    let window = read(transcript, WindowLimits { results, tokens: usize::MAX })?;
    Ok(i64::try_from(window.map_or(0, |window| window.tokens())).unwrap_or(i64::MAX))
}

pub(super) fn read(transcript: &Transcript, limits: WindowLimits) -> Result<Option<Window>> {
    let Some(input) = transcript.open()? else { return Ok(None) };
    Ok(Some(window(input, limits, None).map_err(Error::io(&transcript.place()))?))
}

/// Reads from the end to the line where the last summary ends, or until the limit is reached. `summary_at` is
/// the position of the last summary according to the database. It is used only if the reading stops before
/// that summary.
fn window(
    mut input: Box<dyn ReadSeek>,
    limits: WindowLimits,
    summary_at: Option<u64>,
) -> std::io::Result<Window> {
    let mut window = Window { lines: Vec::new(), summary: None, results_left_out: 0, cut: false };
    let (mut tokens, mut results) = (0, 0);
    let mut lines = Backwards::new(&mut input)?;
    while let Some((_, bytes)) = lines.next()? {
        let Some(mut line) = Line::read(&bytes) else { continue };
        let covered = |summary: &Line| summary.covers.as_ref().is_some_and(|covers| covers[1] == line.id);
        if window.summary.as_ref().is_some_and(covered) && line.role != Role::Summary {
            break;
        }
        match line.role {
            Role::Summary => {
                if window.summary.is_none() {
                    tokens += line.tokens();
                    window.summary = Some(line);
                }
                continue;
            }
            Role::ToolResult => {
                results += 1;
                if limits.results.is_some_and(|most| results > most) {
                    line.content = Some(placeholder(line.text()));
                    window.results_left_out += 1;
                }
            }
            _ if line.is_silence() && limits.results.is_some() => continue,
            _ => {}
        }
        tokens += line.tokens();
        if tokens > limits.tokens && !window.lines.is_empty() {
            window.cut = true;
            break;
        }
        window.lines.push(line);
    }
    window.lines.reverse();
    if window.cut {
        // A result without its call is useless.
        let whole = window.lines.iter().position(|line| line.role != Role::ToolResult).unwrap_or(0);
        window.lines.drain(..whole);
        if window.summary.is_none()
            && let Some(at) = summary_at
        {
            let found = Forwards::from(&mut input, at)?.next()?.and_then(|(_, bytes)| Line::read(&bytes));
            window.summary = found.filter(|line| line.role == Role::Summary);
        }
    }
    Ok(window)
}

/// Returns the placeholder for a tool result.
fn placeholder(content: &str) -> String {
    format!("[result of {} characters omitted; see the transcript]", content.chars().count())
}
