//! The tools that rate a memory or bring it back from the archive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EntryAnswer, is_own, say_entry};
use crate::base::ids::EntryRef;
use crate::base::{Calendar, Result};
use crate::group::View;
use crate::records::entry::{self, Entry};
use crate::tools::call::{Call, ToolResult};
use crate::tools::tool::Request;

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
    type Answer = EntryAnswer;
    const NAME: &str = "memory_feedback";

    fn only_adds(&self, view: &View<'_>) -> Result<bool> {
        Ok(is_own(view, &self.id))
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<EntryAnswer> {
        match self.helpful {
            true => ReinforceRequest { id: self.id }.run(call),
            false => DemoteRequest { id: self.id }.run(call),
        }
    }

    fn say(EntryAnswer(answer): &EntryAnswer, calendar: &Calendar) -> String {
        say_entry(answer, calendar)
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
    type Answer = EntryAnswer;
    const NAME: &str = "memory_reinforce";
    const REPLACED_BY: Option<&'static str> = Some(FeedbackRequest::NAME);

    fn only_adds(&self, view: &View<'_>) -> Result<bool> {
        Ok(is_own(view, &self.id))
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<EntryAnswer> {
        let delta = call.settings().rank.reinforce;
        judge(call, &self.id, delta).map(EntryAnswer)
    }

    fn say(EntryAnswer(answer): &EntryAnswer, calendar: &Calendar) -> String {
        say_entry(answer, calendar)
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
    type Answer = EntryAnswer;
    const NAME: &str = "memory_demote";
    const REPLACED_BY: Option<&'static str> = Some(FeedbackRequest::NAME);

    fn only_adds(&self, view: &View<'_>) -> Result<bool> {
        Ok(is_own(view, &self.id))
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<EntryAnswer> {
        let delta = -call.settings().rank.demote;
        judge(call, &self.id, delta).map(EntryAnswer)
    }

    fn say(EntryAnswer(answer): &EntryAnswer, calendar: &Calendar) -> String {
        say_entry(answer, calendar)
    }
}

fn judge(call: &mut Call<'_>, named: &EntryRef, delta: i64) -> ToolResult<Entry> {
    call.check_seen(named)?;
    let rank = call.settings().rank.clone();
    call.write(|write| {
        let entry = entry::reinforce(write.db, write.origin.now, named, delta, &rank)?;
        write.record(&entry.id, "score", entry.score);
        Ok(entry)
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
