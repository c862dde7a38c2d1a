//! The tools of entries: store, search, get, update, rate, delete; and the brief.

mod brief;
mod collections;
mod delete;
mod get;
mod grep;
mod rate;
mod search;
mod store;
mod update;

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::call::Write;
use crate::base::frame::{self, one_line};
use crate::base::ids::{EntryId, EntryRef};
use crate::base::origin::RecordOrigin;
use crate::base::redact::Redact;
use crate::base::settings::DefaultType;
use crate::base::{Calendar, Error, Result};
use crate::group::View;
use crate::records::conflict::{self, StatementRef};
use crate::records::entry::{self, Entry, EntryType, Tags};
use crate::search::Contradiction;

pub use brief::BriefRequest;
pub(super) use brief::make_brief;
pub use collections::{Collections, CollectionsRequest};
pub(super) use delete::forget_entries;
pub use delete::{DeleteAnswer, DeleteRequest, RestoredEntry};
pub use get::{EntryWithPast, GetAnswer, GetRequest, reveal};
pub use grep::{GrepAnswer, GrepRequest};
pub use rate::{DemoteRequest, FeedbackRequest, RatingAnswer, ReinforceRequest, UnarchiveRequest};
pub use search::{QueryRequest, SearchRequest};
pub use store::{StoreAnswer, StoreRequest};
pub use update::{UpdateAnswer, UpdateRequest};

/// Tells whether a memory was written by the untrusted session that asks. The name of a session alone proves nothing.
fn is_own(view: &View<'_>, named: &EntryRef) -> bool {
    let session = &view.caller().session;
    let is_own =
        |entry: Entry| entry.origin == RecordOrigin::Untrusted && entry.provenance.session == *session;
    view.read(|db| entry::get(db, named)).is_ok_and(is_own)
}

/// A memory that was changed. The schema has only the fields that identify it: the model knows the rest.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct EntryAnswer(#[schemars(with = "EntryIdentity")] pub Entry);

impl Redact for EntryAnswer {
    fn redact(&mut self) {
        self.0.redact();
    }
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "a schema")]
struct EntryIdentity {
    id: EntryId,
    number: i64,
    score: i64,
}

fn say_entry(entry: &Entry, calendar: &Calendar) -> String {
    let date = calendar.date(entry.provenance.timestamp) + &frame::stale(&entry.stale);
    let mut text = format!("[id:{}] [{}] {} ({date})", entry.number, entry.r#type, one_line(&entry.content));
    let _ = write!(text, " score {}", entry.score);
    if let Some(origin) = entry.origin.mark() {
        let _ = write!(text, ", origin {origin}");
    }
    match &entry.superseded_by {
        Some(newer) => {
            let _ = write!(text, ", superseded by {newer}");
        }
        None if entry.superseded_at.is_some() => text.push_str(", superseded"),
        None if entry.archived_at.is_some() => text.push_str(", archived"),
        None => {}
    }
    text
}

pub(super) fn default_type(setting: DefaultType) -> EntryType {
    match setting {
        DefaultType::Preference => EntryType::Preference,
        DefaultType::Instruction => EntryType::Instruction,
        DefaultType::Context => EntryType::Context,
        DefaultType::Correction => EntryType::Correction,
        // With `Required`, the schema refuses a call without a type.
        DefaultType::Fact | DefaultType::Required => EntryType::Fact,
    }
}

pub(super) fn check_tags(tool: &str, tags: &Tags) -> Result<()> {
    match tags.problem() {
        Some(problem) => Err(Error::bad_argument(tool, "tags", problem)),
        None => Ok(()),
    }
}

/// Returns the text of a memory that the session sees.
fn content(view: &View<'_>, named: &EntryRef) -> Result<String> {
    view.read(|db| entry::get(db, named)).map(|entry| entry.content)
}

/// Tells whether a memory that the session sees is behavioral.
pub(super) fn is_behavioral(view: &View<'_>, named: &EntryRef) -> bool {
    view.read(|db| entry::get(db, named)).is_ok_and(|entry| entry.behavioral)
}

/// Records the conflicts of an entry in the transaction that writes it.
fn record_conflicts(write: &Write<'_>, entry: &Entry, found: &[Contradiction]) -> Result<()> {
    let later = StatementRef::new(entry.id.as_str(), &crate::base::redact::text(&entry.content));
    found.iter().try_for_each(|one| conflict::record(write.db, write.origin.now, &later, &one.statement))
}
