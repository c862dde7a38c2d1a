//! The tools of sessions: list and show conversations; append to Nacre's own transcripts, read them as context for a model,
//! and compact them.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{Call, ToolResult};
use super::distil;
use super::tool::Request;
use crate::base::frame::one_line;
use crate::base::ids::SessionId;
use crate::base::origin::RecordOrigin;
use crate::base::redact::redact;
use crate::base::settings::DistilMoment;
use crate::base::text::shorten;
use crate::base::{Calendar, Error, Result};
use crate::context::boot;
use crate::group::View;
use crate::records::session::{
    self, AppendReport, CompactionReport, Context, Count, Draft, EndReport, Flush, Role, Session,
    SessionMessage,
};
use crate::records::workspace::{memory_file, seen};

/// List conversations, newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionsRequest {
    /// Default 20.
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
}

/// The newest sessions of a group.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Sessions {
    /// Newest first.
    pub sessions: Vec<Session>,
    /// How many there are.
    pub total: i64,
}

redact! { Sessions { sessions / total } }

impl Request for SessionsRequest {
    type Answer = Sessions;
    const NAME: &str = "session_list";

    fn run(self, call: &mut Call<'_>) -> ToolResult<Sessions> {
        let (sessions, total) = call.read(|db| session::list(db, self.limit.unwrap_or(20)))?;
        Ok(Sessions { sessions, total })
    }

    fn say(answer: &Sessions, _: &Calendar) -> String {
        if answer.sessions.is_empty() {
            return "There are no sessions.".into();
        }
        let mut text = String::new();
        for Session { id, messages, ended_at, format, .. } in &answer.sessions {
            let ended = ended_at.map(|at| format!(", until {at}")).unwrap_or_default();
            let _ = writeln!(text, "[session {}] {messages} messages{ended} ({format})", one_line(id));
        }
        let more = answer.total - i64::try_from(answer.sessions.len()).unwrap_or(0);
        if more > 0 {
            let _ = write!(text, "{more} more.");
        }
        text.truncate(text.trim_end().len());
        text
    }
}

/// Show the messages of one conversation, in order.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionRequest {
    /// Its id, or a unique prefix of it.
    #[schemars(length(min = 1, max = 500))]
    pub id: String,
    /// First message; default 1.
    #[schemars(range(min = 1))]
    pub from: Option<usize>,
    /// Default 50.
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<usize>,
}

/// A session with a range of its messages.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SessionAnswer {
    /// The session.
    pub session: Session,
    /// In order.
    pub messages: Vec<SessionMessage>,
    /// The number of the next message, if there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<usize>,
    /// Whether it has been shown details of the infrastructure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub infrastructure_seen: bool,
}

redact! { SessionAnswer { session, messages / next, infrastructure_seen } }

impl Request for SessionRequest {
    type Answer = SessionAnswer;
    const NAME: &str = "session_show";

    fn run(self, call: &mut Call<'_>) -> ToolResult<SessionAnswer> {
        let (from, limit) = (self.from.unwrap_or(1), self.limit.unwrap_or(50));
        let (session, messages) = call.read(|db| session::show(db, &self.id, from, limit))?;
        let after = from.saturating_add(messages.len());
        let all = usize::try_from(session.messages).unwrap_or(0);
        let next = (!messages.is_empty() && after <= all).then_some(after);
        let size: usize = messages.iter().map(|said| said.text.chars().count()).sum();
        call.view().tell_read("session", &session.id, size);
        let infrastructure_seen = match session.id.parse() {
            Ok(id) => call.read(|db| seen::infrastructure(db, &id))?.is_some(),
            Err(_) => false,
        };
        Ok(SessionAnswer { session, messages, next, infrastructure_seen })
    }

    fn say(answer: &SessionAnswer, _: &Calendar) -> String {
        let Session { id, messages, .. } = &answer.session;
        let mut text = format!("[session {}] {messages} messages", one_line(id));
        for SessionMessage { number, author, at, text: said, .. } in &answer.messages {
            let author = author.as_deref().map(one_line).unwrap_or_default();
            let _ = write!(text, "\n{number}. {author} ({at}): {}", one_line(said));
        }
        if let Some(next) = answer.next {
            let _ = write!(text, "\nThere are more: continue from {next}.");
        }
        text
    }
}

/// Append messages to the transcript of a conversation. Messages with known ids are not written again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AppendRequest {
    /// The session; default this one.
    pub id: Option<SessionId>,
    /// In order.
    #[schemars(length(max = 1000))]
    pub messages: Vec<Draft>,
}

impl Request for AppendRequest {
    type Answer = AppendReport;
    const NAME: &str = "session_append";

    fn only_adds(&self, view: &View<'_>) -> Result<bool> {
        is_untrusted(view, self.id.as_ref().unwrap_or(&view.caller().session))
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<AppendReport> {
        let caller = call.caller;
        let id = self.id.unwrap_or_else(|| caller.session.clone());
        let mut done = session::append(call.view(), &id, &self.messages)?;
        // All messages are still there: a compaction only replaces them in the context.
        if let Some(compacted) = &mut done.compacted {
            let note = distil::at_moment(call.view(), &id, DistilMoment::Compact);
            compacted.note = joined(compacted.note.take(), note);
        }
        Ok(done)
    }

    fn say(answer: &AppendReport, _: &Calendar) -> String {
        let AppendReport { added, present, tokens, .. } = answer;
        let mut text = format!("{added} added, about {tokens} tokens of context.");
        if *present > 0 {
            let _ = write!(text, " {present} were already there.");
        }
        for warning in &answer.warnings {
            let _ = write!(text, " Note: {}.", one_line(warning));
        }
        if let Some(compacted) = &answer.compacted {
            let _ = write!(text, " {}", say_compacted(compacted));
        }
        if let Some(prompt) = answer.flush.as_ref().and_then(|flush| flush.prompt.as_ref()) {
            let _ = write!(text, "\n{prompt}");
        }
        text
    }
}

/// Return the messages of a transcript as context for a model: compacted ones as a summary, without old tool results.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextRequest {
    /// The session.
    pub id: SessionId,
    /// The most tokens, newest messages first; default the room in the window.
    #[schemars(range(min = 1))]
    pub tokens: Option<usize>,
}

impl Request for ContextRequest {
    type Answer = Context;
    const NAME: &str = "session_context";

    fn run(self, call: &mut Call<'_>) -> ToolResult<Context> {
        let caller = call.caller;
        let memory = boot::long_term(call.view(), caller);
        let Some(context) = session::context(call.view(), caller, &self.id, self.tokens, memory)? else {
            return Err(Error::NoTranscript { given: shorten(self.id.as_str()) }.into());
        };
        let size: usize = context.messages.iter().map(|line| line.text().chars().count()).sum();
        call.view().tell_read("session", self.id.as_str(), size);
        if let Some(memory) = &context.memory {
            call.view().tell_read("file", memory_file::PATH, memory.chars().count());
        }
        Ok(context)
    }

    fn say(answer: &Context, _: &Calendar) -> String {
        let mut text = answer.memory.as_ref().map(|memory| format!("{memory}\n")).unwrap_or_default();
        if answer.cut {
            text.push_str("(Older messages did not fit.)\n");
        }
        for line in &answer.messages {
            let _ = match line.role {
                Role::ToolCall => {
                    let input = line.input.as_ref().map(ToString::to_string).unwrap_or_default();
                    writeln!(
                        text,
                        "tool_call {}: {}",
                        one_line(line.name.as_deref().unwrap_or_default()),
                        one_line(&input)
                    )
                }
                role => writeln!(text, "{}: {}", role.as_str(), line.text()),
            };
        }
        text.truncate(text.trim_end().len());
        text
    }
}

/// Summarise all except the newest messages of a transcript.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompactRequest {
    /// The session.
    pub id: SessionId,
}

impl Request for CompactRequest {
    type Answer = CompactionReport;
    const NAME: &str = "session_compact";

    fn only_adds(&self, view: &View<'_>) -> Result<bool> {
        is_untrusted(view, &self.id)
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<CompactionReport> {
        let note = distil::at_moment(call.view(), &self.id, DistilMoment::Compact);
        let mut done = session::compact(call.view(), &self.id)?;
        done.note = joined(done.note, note);
        Ok(done)
    }

    fn say(answer: &CompactionReport, _: &Calendar) -> String {
        say_compacted(answer)
    }
}

fn say_compacted(compacted: &CompactionReport) -> String {
    let CompactionReport { covered, kept, before, after, by, .. } = compacted;
    let mut text = match covered {
        0 => "Nothing was compacted".to_owned(),
        _ => format!("Compacted {covered} lines ({by}), {kept} kept: {before} tokens before, {after} after"),
    };
    if let Some(note) = &compacted.note {
        let _ = write!(text, ": {}", one_line(note));
    }
    text + "."
}

/// Ask whether lasting knowledge should be stored now, before the conversation is compacted. True once per cycle.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlushRequest {
    /// The session; default this one.
    pub id: Option<SessionId>,
    /// The tokens of the model's last call including its answer, if the host knows them.
    pub tokens: Option<usize>,
    /// The message that is about to be sent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl Request for FlushRequest {
    type Answer = Flush;
    const NAME: &str = "session_flush";

    fn only_adds(&self, view: &View<'_>) -> Result<bool> {
        is_untrusted(view, self.id.as_ref().unwrap_or(&view.caller().session))
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<Flush> {
        let caller = call.caller;
        let id = self.id.unwrap_or_else(|| caller.session.clone());
        let count = Count { tokens: self.tokens, message: &self.message, compacts: false };
        Ok(session::check_flush(call.view(), &id, &count)?)
    }

    fn say(answer: &Flush, _: &Calendar) -> String {
        match (&answer.prompt, &answer.note) {
            (Some(prompt), _) => prompt.clone(),
            (None, Some(note)) => format!("Not now: {note}."),
            (None, None) => format!("Not now: {} of {} tokens.", answer.tokens, answer.threshold),
        }
    }
}

/// End a conversation: the messages since its last summary are summarised as one memory.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndRequest {
    /// The session.
    pub id: SessionId,
}

impl Request for EndRequest {
    type Answer = EndReport;
    const NAME: &str = "session_end";

    fn only_adds(&self, view: &View<'_>) -> Result<bool> {
        is_untrusted(view, &self.id)
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<EndReport> {
        let mut done = session::end(call.view(), &self.id)?;
        let note = distil::at_moment(call.view(), &self.id, DistilMoment::End);
        done.note = joined(done.note, note);
        Ok(done)
    }

    fn say(answer: &EndReport, _: &Calendar) -> String {
        let text = match &answer.entry {
            Some(entry) => format!("{} messages are summarised in {entry}.", answer.messages),
            None => "The session is ended; there was nothing to summarise.".into(),
        };
        answer.note.as_ref().map_or(text.clone(), |note| format!("{text} Note: {}.", one_line(note)))
    }
}

/// Joins two notes.
fn joined(one: Option<String>, other: Option<String>) -> Option<String> {
    match (one, other) {
        (Some(one), Some(other)) => Some(format!("{one}; {other}")),
        (one, other) => one.or(other),
    }
}

/// Tells whether a session is new or holds only what untrusted sessions said.
fn is_untrusted(view: &View<'_>, session: &SessionId) -> Result<bool> {
    Ok(view
        .read_all(|db| session::origin(db, session))?
        .is_none_or(|origin| origin == RecordOrigin::Untrusted))
}
