//! The tools that rate a memory or bring it back from the archive.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EntryAnswer, EntryIdentity, is_own, say_entry};
use crate::base::ids::EntryRef;
use crate::base::redact::redact;
use crate::base::{Calendar, Result};
use crate::group::View;
use crate::records::entry::{self, Entry};
use crate::tools::call::{Call, ToolResult};
use crate::tools::tool::Request;

/// A memory after a rating.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RatingAnswer {
    #[serde(flatten)]
    #[schemars(with = "EntryIdentity")]
    pub(super) entry: Entry,
    /// The limit that the score has reached (`rank.bound`). The rating changed nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) limit_reached: Option<i64>,
}

redact! { RatingAnswer { entry / limit_reached } }

impl RatingAnswer {
    fn say(&self, calendar: &Calendar) -> String {
        let mut text = say_entry(&self.entry, calendar);
        if let Some(bound) = self.limit_reached {
            let end = if self.entry.score > 0 { "highest" } else { "lowest" };
            let _ =
                write!(text, ", unchanged: {} is the {end} score (`rank.bound = {bound}`)", self.entry.score);
        }
        text
    }
}

/// Rate a memory: it ranks higher if it helped, lower if it was stale or useless.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeedbackRequest {
    #[expect(missing_docs)]
    pub id: EntryRef,
    /// Whether it helped.
    pub helpful: bool,
}

impl Request for FeedbackRequest {
    type Answer = RatingAnswer;
    const NAME: &str = "memory_feedback";

    fn only_adds(&self, view: &View<'_>) -> Result<bool> {
        Ok(is_own(view, &self.id))
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<RatingAnswer> {
        match self.helpful {
            true => ReinforceRequest { id: self.id }.run(call),
            false => DemoteRequest { id: self.id }.run(call),
        }
    }

    fn say(answer: &RatingAnswer, calendar: &Calendar) -> String {
        answer.say(calendar)
    }
}

/// Report that a memory helped: it ranks higher and counts as fresh.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReinforceRequest {
    #[expect(missing_docs)]
    pub id: EntryRef,
}

impl Request for ReinforceRequest {
    type Answer = RatingAnswer;
    const NAME: &str = "memory_reinforce";
    const REPLACED_BY: Option<&'static str> = Some(FeedbackRequest::NAME);

    fn only_adds(&self, view: &View<'_>) -> Result<bool> {
        Ok(is_own(view, &self.id))
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<RatingAnswer> {
        let delta = call.settings().rank.reinforce;
        judge(call, &self.id, delta)
    }

    fn say(answer: &RatingAnswer, calendar: &Calendar) -> String {
        answer.say(calendar)
    }
}

/// Report that a memory was stale or useless: it ranks lower. It is not deleted.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DemoteRequest {
    #[expect(missing_docs)]
    pub id: EntryRef,
}

impl Request for DemoteRequest {
    type Answer = RatingAnswer;
    const NAME: &str = "memory_demote";
    const REPLACED_BY: Option<&'static str> = Some(FeedbackRequest::NAME);

    fn only_adds(&self, view: &View<'_>) -> Result<bool> {
        Ok(is_own(view, &self.id))
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<RatingAnswer> {
        let delta = -call.settings().rank.demote;
        judge(call, &self.id, delta)
    }

    fn say(answer: &RatingAnswer, calendar: &Calendar) -> String {
        answer.say(calendar)
    }
}

fn judge(call: &mut Call<'_>, named: &EntryRef, delta: i64) -> ToolResult<RatingAnswer> {
    call.check_seen(named)?;
    let rank = call.settings().rank.clone();
    call.write(|write| {
        let before = entry::get_current(write.db, named)?.score;
        let entry = entry::reinforce(write.db, write.origin.now, named, delta, &rank)?;
        write.record(&entry.id, "score", entry.score);
        let limit_reached = (entry.score == before && delta != 0).then_some(rank.bound);
        Ok(RatingAnswer { entry, limit_reached })
    })
}

/// Make an archived memory current again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnarchiveRequest {
    /// Id or number.
    pub id: EntryRef,
}

impl Request for UnarchiveRequest {
    type Answer = EntryAnswer;
    const NAME: &str = "memory_unarchive";

    fn only_adds(&self, view: &View<'_>) -> Result<bool> {
        Ok(is_own(view, &self.id))
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<EntryAnswer> {
        call.check_seen(&self.id)?;
        let entry = call.write(|write| {
            if entry::get_current(write.db, &self.id)?.archived_at.is_none() {
                write.unchanged();
            }
            let entry = entry::unarchive(write.db, write.origin.now, &self.id)?;
            write.record(&entry.id, "unarchived", 1);
            Ok(entry)
        })?;
        Ok(EntryAnswer(entry))
    }

    fn say(EntryAnswer(answer): &EntryAnswer, calendar: &Calendar) -> String {
        say_entry(answer, calendar)
    }
}
