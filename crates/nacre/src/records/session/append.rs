//! Appends messages to a transcript. Each line is durable in the file before the database learns of it.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::compact::{self, CompactionReport};
use super::flush::{self, Flush};
use super::ingest::{self, Author, State};
use super::lock::{Lock, lock};
use super::transcript::{Line, Role, Transcript};
use super::{listing, retention};
use crate::base::ids::SessionId;
use crate::base::redact::redact;
use crate::base::settings::Compact;
use crate::base::{Error, Result, Time};
use crate::group::View;
use crate::records::tombstone::Tombstones;
use crate::store::Connection;
use crate::store::event::payload;

/// A message to be appended.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Draft {
    /// Its id. Sending the same id again writes nothing. A tool_result has the id of its tool_call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub id: Option<String>,
    /// The speaker.
    pub role: Role,
    /// The text of the message, or the result of a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The tool, for a tool_call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub name: Option<String>,
    /// The arguments, for a tool_call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub input: Option<Value>,
    /// The time in ISO 8601; default now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Time>,
}

/// The result of appending messages.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "named after what they count")]
pub struct AppendReport {
    pub session: SessionId,
    /// The ids of the messages, in the given order.
    pub ids: Vec<String>,
    pub added: usize,
    /// Messages that existed already.
    pub present: usize,
    /// About how many tokens the context has, at most.
    pub tokens: i64,
    /// Problems that the caller should know about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The request to the agent to store lasting information before compaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush: Option<Flush>,
    /// The result of compaction, if it was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compacted: Option<CompactionReport>,
}

redact! { AppendReport { session, ids, warnings, flush, compacted / added, present, tokens } }

/// Appends messages to a session's transcript. If one is refused, none is written.
pub fn append(view: &mut View<'_>, session: &SessionId, drafts: &[Draft]) -> Result<AppendReport> {
    let caller = view.caller();
    if drafts.is_empty() {
        let (tool, field, problem) = ("session_append".into(), "messages".into(), "is empty".into());
        return Err(Error::BadArgument { tool, field, problem, nearest: None });
    }
    drafts.iter().try_for_each(check)?;
    ingest::check_seen(view, caller, session)?;
    let transcript = Transcript::of(view.files(), session)?;
    let lock = lock(view)?;
    let (mut state, mut warnings) = prepare(view, session, &transcript, &lock)?;
    // Another process may have created it meanwhile.
    ingest::check_seen(view, caller, session)?;
    let new = state.lines == 0;
    let (lines, ids) = view.read_all(|db| lines(db, session, &state, drafts, caller.now))?;
    let mut anomalies = ingest::Anomalies::default();
    if !lines.is_empty() {
        let mut bytes = Vec::new();
        let mut placed = Vec::new();
        let start = state.taken;
        for line in &lines {
            placed.push((start + bytes.len() as u64, line.clone()));
            bytes.extend(line.to_bytes()?);
        }
        state.taken = transcript.append(&bytes, &lock)?;
        if new {
            // The hash of the file's beginning is known only now.
            state.taken = 0;
            (state, anomalies) = ingest::catch_up(view, session, &transcript, Author::Caller, &lock)?;
        } else {
            state.ended_at = None;
            ingest::write_lines(view, session, &mut state, &placed, Author::Caller, &mut anomalies)?;
        }
    }
    if new {
        listing::write(view, &lock)?;
    }
    drop(lock);
    warnings.extend(anomalies.warnings());
    if !lines.is_empty() {
        let delta: usize = lines.iter().map(|line| line.text().chars().count()).sum();
        let path = session.as_str().into();
        let data = payload([("type", "session".into()), ("path", path), ("delta", delta.into())]);
        view.tell("memory:write", data);
    }
    let (added, present) = (lines.len(), drafts.len() - lines.len());
    let tokens = state.tokens;
    let mut done = AppendReport {
        session: session.clone(),
        ids,
        added,
        present,
        tokens,
        warnings,
        flush: None,
        compacted: None,
    };
    if added > 0 {
        run_due_steps(view, session, &state, &mut done)?;
    }
    Ok(done)
}

/// Prepares a transcript for writing: unpacks it, moves an incomplete last line away, and reads all lines.
pub(super) fn prepare(
    view: &mut View<'_>,
    session: &SessionId,
    transcript: &Transcript,
    lock: &Lock,
) -> Result<(State, Vec<String>)> {
    let mut warnings = Vec::new();
    retention::unarchive(view, session, transcript, lock)?;
    if let Some(aside) = transcript.repair_end(lock)? {
        warnings.push(format!("the last line was incomplete; it was moved to `{}`", aside.display()));
    }
    let (state, anomalies) = ingest::catch_up(view, session, transcript, Author::Unknown, lock)?;
    warnings.extend(anomalies.warnings());
    Ok((state, warnings))
}

/// Runs the steps that are due after a message: the agent is asked to store lasting information, and only
/// after that older lines are compacted. A failure does not undo the message.
fn run_due_steps(
    view: &mut View<'_>,
    session: &SessionId,
    state: &State,
    done: &mut AppendReport,
) -> Result<()> {
    let settings = view.settings().session.clone();
    let compaction = i64::try_from(settings.compact_tokens).unwrap_or(i64::MAX);
    let least = compaction.min(i64::try_from(settings.flush_threshold()).unwrap_or(i64::MAX));
    if state.tokens < least {
        return Ok(());
    }
    // `state.tokens` counts all lines; the context may have fewer tokens.
    let flush = flush::check(view, session, &flush::Count::default())?;
    done.tokens = i64::try_from(flush.tokens).unwrap_or(i64::MAX);
    let overflows = settings.compact != Compact::Off && done.tokens >= compaction;
    if flush.due {
        done.flush = Some(flush);
    } else if overflows {
        match compact::compact(view, session) {
            Ok(compacted) => {
                done.tokens = i64::try_from(compacted.after).unwrap_or(i64::MAX);
                done.compacted = Some(compacted);
            }
            Err(problem) => done.warnings.push(format!("compaction failed: {problem}")),
        }
    }
    Ok(())
}

fn check(draft: &Draft) -> Result<()> {
    let bad = |field: &str, problem: &str| {
        let (tool, field, problem) = ("session_append".into(), field.into(), problem.into());
        Err(Error::BadArgument { tool, field, problem, nearest: None })
    };
    if let Some(id) = &draft.id {
        let length = id.chars().count();
        if !(1..=128).contains(&length) || id.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return bad("id", "is not 1 to 128 visible characters without spaces");
        }
    }
    match draft.role {
        Role::Summary => bad("role", "is `summary`; only compaction writes summaries"),
        Role::ToolCall if draft.name.as_deref().is_none_or(|name| name.trim().is_empty()) => {
            bad("name", "is missing; a tool_call must name its tool")
        }
        Role::ToolResult if draft.id.is_none() => {
            bad("id", "is missing; a tool_result has the id of its tool_call")
        }
        Role::ToolResult if draft.content.is_none() => bad("content", "is missing"),
        Role::User | Role::Assistant | Role::System
            if draft.content.as_deref().is_none_or(|text| text.trim().is_empty()) =>
        {
            bad("content", "is missing or empty")
        }
        _ => Ok(()),
    }
}

/// Returns the lines to write, and the ids of all drafts.
fn lines(
    db: &Connection,
    session: &SessionId,
    state: &State,
    drafts: &[Draft],
    now: Time,
) -> Result<(Vec<Line>, Vec<String>)> {
    let mut lines: Vec<Line> = Vec::new();
    let mut ids = Vec::new();
    let deleted = Tombstones::load(db)?;
    let mut coming: HashMap<String, String> = HashMap::new();
    let mut number = state.lines;
    for draft in drafts {
        let mut line = Line {
            id: draft.id.clone().unwrap_or_default(),
            role: draft.role,
            content: draft.content.as_deref().map(|text| deleted.mask(text).into_owned()),
            name: draft.name.clone(),
            input: draft.input.clone().or_else(|| (draft.role == Role::ToolCall).then(|| json!({}))),
            covers: None,
            by: None,
            timestamp: draft.timestamp.unwrap_or(now),
        };
        let known = |line: &Line| match coming.get(&line.key()) {
            Some(hash) => Ok(Some(hash.clone())),
            None => ingest::line_hash(db, session, &line.key()),
        };
        if draft.id.is_none() {
            let prefix = if draft.role == Role::ToolCall { "tool" } else { "msg" };
            while line.id.is_empty() || known(&line)?.is_some() {
                number += 1;
                line.id = format!("{prefix}_{number:03}");
            }
        }
        ids.push(line.id.clone());
        match known(&line)? {
            Some(same) if same == line.hash() => {}
            Some(_) => {
                let (id, session) = (line.id, crate::base::text::shorten(session.as_str()));
                return Err(Error::MessageTaken { id, session });
            }
            None => {
                coming.insert(line.key(), line.hash());
                lines.push(line);
            }
        }
    }
    Ok((lines, ids))
}
