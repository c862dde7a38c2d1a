//! The flush before a compaction: once per cycle, the agent is asked to store lasting information before
//! older lines are replaced by a summary. It stores something or answers `NO_REPLY`. Nacre stores nothing in
//! its place, unless the settings say so.
//!
//! The request is recorded in the transaction that decides about it, so that only one of several concurrent
//! callers asks. The count of tokens includes the current context and the message about to be sent.

use schemars::JsonSchema;
use serde::Serialize;

use super::summary::{self, SummaryInput};
use super::transcript::Transcript;
use super::{context, ingest, narrative};
use crate::base::ids::SessionId;
use crate::base::redact::redact;
use crate::base::settings::{Compact, Flush as Mode};
use crate::base::text::tokens;
use crate::base::{Error, Result, Time};
use crate::group::View;
use crate::records::entry::MAX_CONTENT_CHARS;
use crate::store::Connection;

/// Whether the agent should store lasting information now.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Flush {
    /// Whether a flush is due. It is true once per cycle.
    pub due: bool,
    /// The prompt for the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// About how many tokens the context has, including the message about to be sent.
    pub tokens: usize,
    /// The number of tokens from which a flush is due.
    pub threshold: usize,
    /// Why no flush is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

redact! { Flush { prompt, note / due, tokens, threshold } }

/// The information that a host has about its conversation. All of it is optional.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count<'a> {
    /// The tokens of the last model call, including its answer.
    pub tokens: Option<usize>,
    /// The message that is about to be sent.
    pub message: &'a str,
    /// Whether the host is about to compact, whatever the count.
    pub compacts: bool,
}

/// Decides whether a flush is due, and records that the agent was asked.
pub fn check(view: &mut View<'_>, session: &SessionId, count: &Count<'_>) -> Result<Flush> {
    let caller = view.caller();
    ingest::check_seen(view, caller, session)?;
    let settings = view.settings().session.clone();
    let transcript = Transcript::of(view.files(), session)?;
    let ours = transcript.exists();
    let here = if ours { usize::try_from(context::tokens(view, &transcript)?).unwrap_or(0) } else { 0 };
    let tokens = here.max(count.tokens.unwrap_or(0)).saturating_add(tokens(count.message));
    let mut threshold = settings.flush_threshold();
    if ours && settings.compact != Compact::Off {
        // Compaction may come before the end of the window, and the agent must be asked first.
        threshold = threshold.min(settings.compact_tokens);
    }
    let quiet =
        |note: &str| Flush { due: false, prompt: None, tokens, threshold, note: Some(note.to_owned()) };
    if settings.flush == Mode::Off {
        return Ok(quiet("`session.flush` is off"));
    }
    if tokens < threshold && !count.compacts {
        return Ok(Flush { note: None, ..quiet("") });
    }
    let store_with = view.settings().store_tools();
    if settings.flush == Mode::Prompt && store_with.is_none() {
        return Ok(quiet("no tool that stores text is offered"));
    }
    let asked = match view.write(|tx| ask(tx, session, caller.now)) {
        Err(Error::ReadOnly { .. }) => {
            return Ok(quiet("the home is read-only, so nothing can be stored"));
        }
        asked => asked?,
    };
    let FlushDecision { first, before } = asked;
    if !first {
        return Ok(quiet("the agent was already asked since the last compaction"));
    }
    if settings.flush == Mode::Summary {
        store_summary(view, session, &transcript)?;
        super::flush(view, session);
        return Ok(quiet("a summary was stored"));
    }
    super::flush(view, session);
    let prompt = store_with.map(|tools| prompt(&tools, before));
    Ok(Flush { due: true, prompt, tokens, threshold, note: None })
}

/// Records that a host has compacted a conversation, which begins a new cycle.
pub(crate) fn start_cycle(view: &mut View<'_>, session: &SessionId) -> Result<()> {
    view.write(|tx| {
        let sql = "INSERT INTO flushes (session, cycle) VALUES ($1, 1) ON CONFLICT (session) DO UPDATE SET cycle = flushes.cycle + 1";
        tx.run(sql, [session])?;
        Ok(())
    })
}

/// Returns whether the agent was asked in this cycle.
pub(crate) fn was_asked(db: &Connection, session: &SessionId) -> Result<bool> {
    let (cycle, asked, _) = cycle_state(db, session)?;
    Ok(asked == Some(cycle))
}

struct FlushDecision {
    first: bool,
    /// When the agent was asked before.
    before: Option<Time>,
}

fn ask(tx: &Connection, session: &SessionId, now: Time) -> Result<FlushDecision> {
    let (cycle, asked, before) = cycle_state(tx, session)?;
    // `None`, never asked, is different from `Some(0)`, asked in cycle 0.
    if asked == Some(cycle) {
        return Ok(FlushDecision { first: false, before });
    }
    let sql = "INSERT INTO flushes (session, asked, at) VALUES ($1, $2, $3)
        ON CONFLICT (session) DO UPDATE SET asked = excluded.asked, at = excluded.at";
    tx.run(sql, (session, cycle, now))?;
    Ok(FlushDecision { first: true, before })
}

/// Returns the cycle of a session, the cycle in which the agent was last asked, and when.
fn cycle_state(db: &Connection, session: &SessionId) -> Result<(i64, Option<i64>, Option<Time>)> {
    let ours = ingest::load(db, session)?.map_or(0, |state| state.compactions);
    let sql = "SELECT cycle, asked, at FROM flushes WHERE session = $1";
    let row = db.row(sql, [session], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let (theirs, asked, at): (i64, Option<i64>, Option<Time>) = row.unwrap_or((0, None, None));
    Ok((ours + theirs, asked, at))
}

fn prompt(tools: &str, before: Option<Time>) -> String {
    let since = before
        .map(|at| format!(" You were asked the same at {at}; store only what came after that."))
        .unwrap_or_default();
    format!(
        "This conversation will soon be compacted, and information that exists only here will be lost. Use {tools} now to store \
         everything lasting that is not stored yet: decisions and their reasons, the user's preferences and corrections, \
         facts, names, numbers, and open questions. Write one statement each. Add new statements; overwrite nothing.{since} \
         If there is nothing to store, answer only with {}.",
        super::transcript::NO_REPLY,
    )
}

/// Stores a summary in place of the agent, if the settings say so.
fn store_summary(view: &mut View<'_>, session: &SessionId, transcript: &Transcript) -> Result<()> {
    let Some((lines, narrated)) = narrative::unsummarized_lines(view, session, transcript)? else {
        return Ok(());
    };
    if let Some(last) = lines.last() {
        let text = summary::brief(view, &SummaryInput { before: None, lines: &lines }, MAX_CONTENT_CHARS);
        narrative::store(view, session, &text, (&lines, last), narrated.as_deref())?;
    }
    Ok(())
}
