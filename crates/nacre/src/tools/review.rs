//! The tools that show and undo what one session wrote. The memories that it was shown are listed too.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{Call, ToolResult};
use super::tool::Request;
use crate::base::frame::one_line;
use crate::base::ids::SessionId;
use crate::base::redact::redact;
use crate::base::{Calendar, Result, Time};
use crate::context::turn;
use crate::records::entry::undo::{self, SessionWrites};
use crate::records::entry::{self, Entry};
use crate::records::lesson;
use crate::store::Connection;

/// List everything that one session wrote to the memories.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewRequest {
    /// The id of the session.
    pub session: SessionId,
}

/// The memories that a session wrote.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Review {
    /// The session.
    pub session: SessionId,
    /// Memories that it stored.
    pub stored: Vec<ReviewedEntry>,
    /// Memories of other sessions whose text it changed.
    pub corrected: Vec<ReviewedEntry>,
    /// Lines that were added before its latest messages, oldest first.
    pub injected: Vec<InjectedLine>,
}

/// A line that was added before a message of a session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct InjectedLine {
    /// When it was added.
    pub at: Time,
    /// The id of its record.
    pub source: String,
    /// The number of its memory, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<i64>,
    /// The text of its memory or lesson, unless it has been deleted since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A memory that a session wrote.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ReviewedEntry {
    /// The number of the memory.
    pub number: i64,
    /// The text.
    pub content: String,
    /// The text before, if the session changed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Why it is not current, if it is not: `superseded` or `archived`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub past: Option<&'static str>,
}

redact! {
    Review { session, stored, corrected, injected }
    InjectedLine { source, text / at, number }
    ReviewedEntry { content, before / number, past }
    UndoAnswer { session, archived, restored, reverted, kept }
}

fn reviewed(entry: &Entry, before: Option<&str>) -> ReviewedEntry {
    ReviewedEntry {
        number: entry.number,
        content: entry.content.clone(),
        before: before.map(str::to_owned),
        past: entry.past(),
    }
}

/// Returns the lines that a session was shown, with the texts of the memories and lessons among them.
fn injected_lines(db: &Connection, session: &SessionId) -> Result<Vec<InjectedLine>> {
    let lines = turn::injected(db, session)?.into_iter();
    let line = |(at, source): (Time, String)| {
        let entry = entry::get_all(db, [source.as_str()])?.pop();
        let number = entry.as_ref().map(|entry| entry.number);
        let text = match lesson::number(&source) {
            Some(number) => lesson::get(db, number)?.map(|lesson| lesson.text),
            None => entry.map(|entry| entry.content),
        };
        Ok(InjectedLine { at, source, number, text })
    };
    lines.map(line).collect()
}

impl Request for ReviewRequest {
    type Answer = Review;
    const NAME: &str = "session_review";
    const NEEDS_WHOLE_GROUP: bool = true;

    fn run(self, call: &mut Call<'_>) -> ToolResult<Review> {
        let SessionWrites { stored, corrected } = call.read(|db| undo::writes(db, &self.session))?;
        let stored = stored.iter().map(|entry| reviewed(entry, None)).collect();
        let corrected =
            corrected.iter().map(|(entry, before)| reviewed(entry, Some(&before.content))).collect();
        let injected = call.read(|db| injected_lines(db, &self.session))?;
        Ok(Review { session: self.session, stored, corrected, injected })
    }

    fn say(answer: &Review, _: &Calendar) -> String {
        if answer.stored.is_empty() && answer.corrected.is_empty() {
            return format!("Session {} wrote no memories.", answer.session);
        }
        let mut text = String::new();
        for entry in &answer.stored {
            let past = entry.past.map(|past| format!(" ({past})")).unwrap_or_default();
            let _ = writeln!(text, "[id:{}] stored: {}{past}", entry.number, one_line(&entry.content));
        }
        for entry in &answer.corrected {
            let before = one_line(entry.before.as_deref().unwrap_or_default());
            let _ = writeln!(
                text,
                "[id:{}] changed: {} (before: {before})",
                entry.number,
                one_line(&entry.content)
            );
        }
        let _ = write!(text, "`nacre session undo {}` takes all of it back.", answer.session);
        text
    }
}

/// Undo everything that one session wrote to the memories. Nothing is deleted: its memories are archived, the ones they
/// replaced become current again, and changed texts go back to what they were.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UndoRequest {
    /// The id of the session.
    pub session: SessionId,
}

/// The numbers of the memories that an undo changed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UndoAnswer {
    /// The session.
    pub session: SessionId,
    /// Memories of the session, archived now.
    pub archived: Vec<String>,
    /// Memories that they had replaced, current again.
    pub restored: Vec<ReviewedEntry>,
    /// Memories whose earlier text is back.
    pub reverted: Vec<ReviewedEntry>,
    /// Memories that stay as they are, because another session has changed them since.
    pub kept: Vec<String>,
}

impl Request for UndoRequest {
    type Answer = UndoAnswer;
    const NAME: &str = "session_undo";
    const NEEDS_WHOLE_GROUP: bool = true;

    fn run(self, call: &mut Call<'_>) -> ToolResult<UndoAnswer> {
        let undone = call.write(|write| {
            let undone = undo::undo(write.db, &write.origin, &self.session)?;
            if undone.archived.is_empty() && undone.reverted.is_empty() {
                write.unchanged();
            }
            write.record(&self.session, "archived", undone.archived.len());
            write.record(&self.session, "reverted", undone.reverted.len());
            Ok(undone)
        })?;
        let shown = |entries: &[Entry]| entries.iter().map(|entry| reviewed(entry, None)).collect();
        Ok(UndoAnswer {
            archived: undone.archived.iter().map(ToString::to_string).collect(),
            restored: shown(&undone.restored),
            reverted: shown(&undone.reverted),
            kept: undone.kept.iter().map(ToString::to_string).collect(),
            session: self.session,
        })
    }

    fn say(answer: &UndoAnswer, _: &Calendar) -> String {
        let (archived, reverted) = (answer.archived.len(), answer.reverted.len());
        if archived + reverted == 0 {
            return format!("Session {} has no memories to undo.", answer.session);
        }
        let memories =
            |count: usize| if count == 1 { "1 memory".to_owned() } else { format!("{count} memories") };
        let mut text = format!("Archived {}, reverted {}.", memories(archived), memories(reverted));
        for entry in &answer.restored {
            let _ = write!(text, "\n[id:{}] is current again: {}", entry.number, one_line(&entry.content));
        }
        if !answer.kept.is_empty() {
            let _ =
                write!(text, "\nLeft as they are, because they changed since: {}.", answer.kept.join(", "));
        }
        text
    }
}
