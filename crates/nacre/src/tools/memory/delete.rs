//! The tool that deletes a memory.

use std::fmt::Write as _;
use std::mem::take;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EntryIdentity, content, is_behavioral, is_own};
use crate::base::frame::one_line;
use crate::base::ids::EntryRef;
use crate::base::redact::redact;
use crate::base::{Calendar, Result};
use crate::group::View;
use crate::records::entry::{Entry, ErasedEntry, Source};
use crate::records::workspace::checkpoint::DeletedRecord;
use crate::records::{erase, tombstone};
use crate::tools::call::{Call, ToolResult};
use crate::tools::limits::Action;
use crate::tools::tool::Request;

/// Delete a memory and every trace of it, only if the user wants that; a memory it superseded becomes current again. To
/// correct a memory use memory_update or supersedes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteRequest {
    #[expect(missing_docs)]
    pub id: EntryRef,
    /// Also delete the memories that it superseded.
    #[serde(default)]
    pub history: bool,
}

/// A deleted memory.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DeleteAnswer {
    #[serde(flatten)]
    #[expect(missing_docs)]
    #[schemars(with = "EntryIdentity")]
    pub entry: Entry,
    /// The memories that it superseded. They are current again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub restored: Vec<RestoredEntry>,
    /// How many memories that it superseded were deleted with it.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(skip)]
    pub history: usize,
    /// Places that still contain it, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub still_in: Vec<String>,
}

/// A memory that is current again.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the fields of an entry")]
pub struct RestoredEntry {
    pub number: i64,
    pub content: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

redact! {
    DeleteAnswer { entry, restored, still_in / history }
    RestoredEntry { content / number }
}

impl Request for DeleteRequest {
    type Answer = DeleteAnswer;
    const NAME: &str = "memory_delete";
    const ADVANCED: &'static [&'static str] = &["history"];

    fn steers(&self, view: &View<'_>) -> Result<bool> {
        Ok(is_behavioral(view, &self.id))
    }

    fn only_adds(&self, view: &View<'_>) -> Result<bool> {
        Ok(is_own(view, &self.id))
    }

    fn loses(&self, view: &View<'_>) -> Result<Option<String>> {
        content(view, &self.id).map(Some)
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<DeleteAnswer> {
        call.check_seen(&self.id)?;
        let mut erased = call.write(|write| {
            let mut erased = vec![erase::entry(write.db, &self.id)?];
            // Each deletion brings the entries before it to the end of the chain.
            while let Some(old) =
                erased.last_mut().filter(|_| self.history).and_then(|last| last.restored.pop())
            {
                erased.push(erase::entry(write.db, &EntryRef::Id(old.id))?);
            }
            write.spend(Action::Delete)?;
            // An agent may change its mind; a person's deletion is meant for good.
            let is_meant = write.origin.source == Source::Person;
            for text in erased.iter().filter(|_| is_meant).flat_map(|one| &one.contents) {
                tombstone::bury(write.db, write.origin.now, text)?;
            }
            for one in &erased {
                write.record(&one.entry.id, "deleted", 1);
            }
            Ok(erased)
        })?;
        let still_in = forget_entries(call, &mut erased)?;
        let history = erased.len() - 1;
        let ErasedEntry { entry, restored, .. } = erased.swap_remove(0);
        let restored =
            restored.into_iter().map(|old| RestoredEntry { number: old.number, content: old.content });
        Ok(DeleteAnswer { entry, restored: restored.collect(), history, still_in })
    }

    fn say(answer: &DeleteAnswer, _: &Calendar) -> String {
        let mut text = format!("Deleted [id:{}] {}.", answer.entry.number, answer.entry.id);
        match answer.history {
            0 => {}
            1 => text.push_str(" The memory that it superseded was deleted too."),
            count => {
                let _ = write!(text, " The {count} memories that it superseded were deleted too.");
            }
        }
        for old in &answer.restored {
            let _ = write!(text, " [id:{}] is current again: {}", old.number, one_line(&old.content));
        }
        for place in &answer.still_in {
            let _ = write!(text, " Still in {}.", one_line(place));
        }
        text
    }
}

/// Announces deleted memories and removes them from the checkpoints. Returns the checkpoints that still have them, and why.
pub(crate) fn forget_entries(call: &mut Call<'_>, erased: &mut [ErasedEntry]) -> Result<Vec<String>> {
    let gone = |one: &mut ErasedEntry| DeletedRecord {
        reference: one.entry.id.to_string(),
        texts: take(&mut one.texts),
    };
    let still_in = call.forget(erased.iter_mut().map(gone))?;
    for ErasedEntry { entry, .. } in erased {
        let delta = i64::try_from(entry.content.chars().count()).map_or(0, |delta| -delta);
        call.view().tell_write("entry", entry.id.as_str(), delta);
    }
    Ok(still_in)
}
