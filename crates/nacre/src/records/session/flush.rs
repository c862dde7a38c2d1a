//! The flush before a compaction (S4): once a cycle, before anything is summed up, the agent is asked to store what
//! lasts. It writes, or says `NO_REPLY`; nothing is written for it.
//!
//! Whether it was asked stands in the database, in the transaction that decides it, so that of many who ask at once
//! one is told. What counts is what the next call of the model will have: what is there, and what is about to come.

use schemars::JsonSchema;
use serde::Serialize;

use super::summary::{self, Told};
use super::transcript::Transcript;
use super::{context, narrative, take_in};
use crate::base::ids::SessionId;
use crate::base::redact::redact;
use crate::base::settings::{Compact, Flush as Mode};
use crate::base::text::tokens;
use crate::base::{Error, Result, Time};
use crate::group::View;
use crate::records::entry::MAX_CONTENT;
use crate::store::Connection;

/// Whether an agent is to store what lasts now.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Flush {
    /// Whether it is: true once in a cycle.
    pub due: bool,
    /// What to say to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// About how many tokens the context has, with what is about to come.
    pub tokens: usize,
    /// From how many on it is due.
    pub threshold: usize,
    /// Why it is not due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

redact! { Flush { prompt, note / due, tokens, threshold } }

/// What a host knows of its conversation. All of it may be missing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count<'a> {
    /// The tokens of the last call of the model, its answer included.
    pub tokens: Option<usize>,
    /// The message that is about to be sent.
    pub message: &'a str,
    /// Whether the host is about to compact, whatever the count.
    pub compacts: bool,
}

/// Tells whether a flush is due, and notes that it was asked for.
pub fn check(view: &mut View<'_>, session: &SessionId, count: &Count<'_>) -> Result<Flush> {
    let caller = view.caller();
    take_in::check_seen(view, caller, session)?;
    let settings = view.settings().session.clone();
    let transcript = Transcript::of(view.files(), session)?;
    let ours = transcript.exists();
    let here = if ours { usize::try_from(context::tokens(view, &transcript)?).unwrap_or(0) } else { 0 };
    let tokens = here.max(count.tokens.unwrap_or(0)).saturating_add(tokens(count.message));
    let mut threshold = settings.flush_threshold();
    if ours && settings.compact != Compact::Off {
        // Compaction may be nearer than the end of the window, and nothing is compacted unasked.
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
    let asked = match view.write(|tx| ask(tx, session, caller.now)) {
        Err(Error::ReadOnly { .. }) => {
            return Ok(quiet("the home can't be written, so nothing could be stored"));
        }
        asked => asked?,
    };
    let Asked { first, before } = asked;
    if !first {
        return Ok(quiet("the agent was asked in this cycle already"));
    }
    if settings.flush == Mode::Summary {
        summarise(view, session, &transcript)?;
        super::flush(view, session);
        return Ok(quiet("a summary was stored"));
    }
    super::flush(view, session);
    Ok(Flush { due: true, prompt: Some(prompt(view, before)), tokens, threshold, note: None })
}

/// Notes that a host has compacted a conversation: a new cycle begins.
pub(crate) fn compacted(view: &mut View<'_>, session: &SessionId) -> Result<()> {
    view.write(|tx| {
        let sql = "INSERT INTO flushes (session, cycle) VALUES ($1, 1) ON CONFLICT (session) DO UPDATE SET cycle = flushes.cycle + 1";
        tx.run(sql, [session])?;
        Ok(())
    })
}

/// Tells whether the agent was asked in this cycle.
pub(crate) fn was_asked(db: &Connection, session: &SessionId) -> Result<bool> {
    let (cycle, asked, _) = standing(db, session)?;
    Ok(asked == Some(cycle))
}

struct Asked {
    first: bool,
    /// When it was asked before.
    before: Option<Time>,
}

fn ask(tx: &Connection, session: &SessionId, now: Time) -> Result<Asked> {
    let (cycle, asked, before) = standing(tx, session)?;
    // Never asked is not the same as asked in cycle 0.
    if asked == Some(cycle) {
        return Ok(Asked { first: false, before });
    }
    let sql = "INSERT INTO flushes (session, asked, at) VALUES ($1, $2, $3)
        ON CONFLICT (session) DO UPDATE SET asked = excluded.asked, at = excluded.at";
    tx.run(sql, (session, cycle, now))?;
    Ok(Asked { first: true, before })
}

/// The cycle that a session is in, the one in which it was last asked, and when.
fn standing(db: &Connection, session: &SessionId) -> Result<(i64, Option<i64>, Option<Time>)> {
    let ours = take_in::load(db, session)?.map_or(0, |state| state.compactions);
    let sql = "SELECT cycle, asked, at FROM flushes WHERE session = $1";
    let row = db.row(sql, [session], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let (theirs, asked, at): (i64, Option<i64>, Option<Time>) = row.unwrap_or((0, None, None));
    Ok((ours + theirs, asked, at))
}

fn prompt(view: &View<'_>, before: Option<Time>) -> String {
    let offered = |name: &str| view.settings().tools.offer.iter().any(|one| one == name);
    let mut with = vec!["memory_store"];
    if offered("memory_write") {
        with.push("memory_write");
    }
    let since = before
        .map(|at| format!(" You were asked the same at {at}: only what came after that."))
        .unwrap_or_default();
    format!(
        "This conversation will soon be compacted, and what only stands in it will be lost. Store now what lasts and is \
         not stored yet, with {}: decisions and their reasons, what the user prefers or corrected, facts, names, numbers, \
         what is still open. One statement each; add, and overwrite nothing.{since} If there is nothing to store, answer \
         with {} alone.",
        with.join(" or "),
        super::transcript::NO_REPLY,
    )
}

/// Stores a summary in the agent's place, where the settings say so.
fn summarise(view: &mut View<'_>, session: &SessionId, transcript: &Transcript) -> Result<()> {
    let Some((lines, narrated)) = narrative::not_told(view, session, transcript)? else { return Ok(()) };
    if let Some(last) = lines.last() {
        let text = summary::brief(view, &Told { before: None, lines: &lines }, MAX_CONTENT);
        narrative::store(view, session, &text, (&lines, last), narrated.as_deref())?;
    }
    Ok(())
}
