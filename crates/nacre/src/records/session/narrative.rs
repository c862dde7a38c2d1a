//! Stores a session's summary as an entry, when the session ends and before it is compacted. No line is
//! summarized twice: the transcript's row names the last summarized line, and is written in the entry's
//! transaction.

use schemars::JsonSchema;
use serde::Serialize;

use super::context::{self, WindowLimits};
use super::import::{Author, Message};
use super::ingest;
use super::lock::lock;
use super::summary::{self, Summary, SummaryInput};
use super::transcript::{Line, Role, Transcript};
use super::{append, exchange, listing};
use crate::base::ids::{EntryId, SessionId};
use crate::base::origin::RecordOrigin;
use crate::base::redact::redact;
use crate::base::text::shorten;
use crate::base::{Error, Result, Time};
use crate::group::View;
use crate::records::entry::{
    self, Draft, EntryType, MAX_CONTENT_CHARS, OnDuplicate, Origin, Place, Source, Tags,
};
use crate::store::audit;

/// The result of ending a session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EndReport {
    /// The session.
    pub session: SessionId,
    /// The number of messages that no entry had summarized yet.
    pub messages: usize,
    /// The entry with the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryId>,
    /// How the summary was made: `extractive`, or the name of a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// A note for the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

redact! { EndReport { session, entry, by, note / messages } }

/// Ends a session and stores a summary of the messages since the last summary. The session can continue
/// afterwards.
pub fn end(view: &mut View<'_>, session: &SessionId) -> Result<EndReport> {
    let caller = view.caller();
    ingest::check_seen(view, caller, session)?;
    let transcript = Transcript::of(view.files(), session)?;
    let nothing = EndReport { session: session.clone(), messages: 0, entry: None, by: None, note: None };
    let Some((lines, narrated)) = unsummarized_lines(view, session, &transcript)? else {
        return Err(Error::NoTranscript { given: shorten(session.as_str()) });
    };
    let messages = lines.iter().filter(|line| is_message(line)).count();
    let mut done = EndReport { messages, ..nothing };
    if let Some(last) = lines.last().filter(|_| messages > 0 && view.settings().session.summary_entry) {
        let made = summary::make(view, &SummaryInput { before: None, lines: &lines });
        done.entry = store(view, session, &made.text, (&lines, last), narrated.as_deref())?;
        (done.by, done.note) = (Some(made.by), made.note);
    }
    let lock = lock(view)?;
    view.write(|tx| {
        let mut state = ingest::load(tx, session)?.unwrap_or_default();
        state.ended_at = Some(caller.now);
        ingest::save(tx, session, &state)
    })?;
    listing::write(view, &lock)?;
    Ok(done)
}

/// Stores a summary of a conversation that a client has reported and Nacre keeps no transcript of. Without messages, the exchanges
/// that were archived are summarised.
pub(crate) fn end_reported(view: &mut View<'_>, session: &SessionId, messages: &[Message]) -> Result<()> {
    let mut lines: Vec<Line> = messages.iter().filter_map(|message| line_of(view, message)).collect();
    if lines.is_empty() {
        lines = view
            .read_all(|db| exchange::of_session(db, session.as_str()))?
            .into_iter()
            .flat_map(lines_of)
            .collect();
    }
    let narrated = view.read_all(|db| ingest::load(db, session))?.and_then(|state| state.narrated);
    if let Some(at) = lines.iter().position(|line| Some(line.key()) == narrated) {
        lines.drain(..=at);
    }
    let Some(last) = lines.last().filter(|_| lines.iter().any(is_message)) else { return Ok(()) };
    let made = summary::make(view, &SummaryInput { before: None, lines: &lines });
    store(view, session, &made.text, (&lines, last), narrated.as_deref()).map(drop)
}

fn line_of(view: &View<'_>, message: &Message) -> Option<Line> {
    let role = match message.author {
        Author::User => Role::User,
        Author::Assistant => Role::Assistant,
        Author::Name(_) | Author::Unknown => return None,
    };
    Some(line(message.id.clone(), role, message.text.clone(), message.at.unwrap_or(view.now())))
}

fn lines_of(row: exchange::Row) -> [Line; 2] {
    let exchange::Row { id, user, agent, at, .. } = row;
    [line(format!("{id}:user"), Role::User, user, at), line(id, Role::Assistant, agent, at)]
}

fn line(id: String, role: Role, text: String, timestamp: Time) -> Line {
    Line { id, role, content: Some(text), name: None, input: None, covers: None, by: None, timestamp }
}

/// Stores an entry for the lines that compaction is about to replace, with the summary that compaction made.
pub(super) fn before_compaction(
    view: &mut View<'_>,
    session: &SessionId,
    made: &Summary,
    (older, kept): (&[Line], &[Line]),
) -> Result<Option<EntryId>> {
    if !view.settings().session.summary_entry {
        return Ok(None);
    }
    let narrated = view.read_all(|db| ingest::load(db, session))?.and_then(|state| state.narrated);
    if kept.iter().any(|line| Some(line.key()) == narrated) {
        // A flush or the end of the session has summarized these lines and more.
        return Ok(None);
    }
    let told = older.iter().position(|line| Some(line.key()) == narrated);
    let new = &older[told.map_or(0, |at| at + 1)..];
    let Some(last) = new.last().filter(|_| new.iter().any(is_message)) else { return Ok(None) };
    let text = match told {
        None => made.text.clone(),
        Some(_) => summary::brief(view, &SummaryInput { before: None, lines: new }, MAX_CONTENT_CHARS),
    };
    store(view, session, &text, (new, last), narrated.as_deref())
}

/// Returns the lines that no entry summarizes yet, and the key of the last summarized line; `None` if there
/// is no transcript.
pub(super) fn unsummarized_lines(
    view: &mut View<'_>,
    session: &SessionId,
    transcript: &Transcript,
) -> Result<Option<(Vec<Line>, Option<String>)>> {
    if !transcript.exists() {
        return Ok(None);
    }
    let state = if transcript.is_plain() {
        let lock = lock(view)?;
        append::prepare(view, session, transcript, &lock)?.0
    } else {
        view.read_all(|db| ingest::load(db, session))?.unwrap_or_default()
    };
    let all = WindowLimits { results: None, tokens: usize::MAX };
    let mut lines = context::read(transcript, all)?.map_or_else(Vec::new, |view| view.lines);
    if let Some(at) = lines.iter().position(|line| Some(line.key()) == state.narrated) {
        lines.drain(..=at);
    }
    Ok(Some((lines, state.narrated)))
}

fn is_message(line: &Line) -> bool {
    matches!(line.role, Role::User | Role::Assistant) && !line.is_silence()
}

/// Stores the entry, unless another process has summarized the same lines meanwhile.
pub(super) fn store(
    view: &mut View<'_>,
    session: &SessionId,
    text: &str,
    (lines, last): (&[Line], &Line),
    narrated: Option<&str>,
) -> Result<Option<EntryId>> {
    let caller = view.caller();
    let day = lines[0].timestamp.day_in_words();
    let said = lines.iter().filter(|line| is_message(line)).count();
    let plural = if said == 1 { "" } else { "s" };
    let head = format!("Session {} ({day}, {said} message{plural}):\n", shorten(session.as_str()));
    let room = MAX_CONTENT_CHARS - head.chars().count();
    let content = format!("{head}{}", summary::shorten(view, text, room));
    let name = view.name().clone();
    let entry = view.write(|tx| {
        let mut state = ingest::load(tx, session)?.unwrap_or_default();
        if state.narrated.as_deref() != narrated {
            return Ok(None);
        }
        state.narrated = Some(last.key());
        ingest::save(tx, session, &state)?;
        let origin = Origin {
            now: caller.now,
            group: &name,
            session,
            source: Source::Narrative,
            origin: ingest::origin(tx, session)?.unwrap_or_default().weakest(RecordOrigin::of(caller)),
            visibility: caller.visibility,
            private: caller.visibility.is_private(),
            project: Place::of_caller(caller),
        };
        // As private as the conversation.
        let private = Some(ingest::is_private(tx, session)?);
        let tags = Tags::new(["session"]);
        let draft = Draft {
            r#type: EntryType::Context,
            content,
            tags,
            supersedes: None,
            private,
            data: None,
            on_duplicate: OnDuplicate::Keep,
        };
        let stored = entry::store(tx, &origin, draft)?;
        entry::set_context(tx, &stored.entry.id, Some(session.as_str()), None)?;
        audit::Row::new("session_summary").id(&stored.entry.id).with("messages", said).append(tx, caller)?;
        Ok(Some(stored.entry))
    })?;
    let Some(entry) = entry else { return Ok(None) };
    view.tell_write("entry", entry.id.as_str(), entry.content.chars().count());
    Ok(Some(entry.id))
}
