//! The tool that corrects a memory in place.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EntryIdentity, check_tags, content, is_behavioral, is_own, record_conflicts, say_entry};
use crate::base::ids::EntryRef;
use crate::base::redact::redact;
use crate::base::{Calendar, Error, Result};
use crate::group::View;
use crate::records::entry::{self, Edit, Entry, EntryType, Tags};
use crate::records::project::current;
use crate::records::stale;
use crate::search::{self, Contradiction, NewStatement};
use crate::tools::call::{Call, ToolResult};
use crate::tools::conflict::say_contradictions;
use crate::tools::tool::Request;

/// Correct a memory in place. Its id stays; the earlier text is kept as history.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateRequest {
    #[expect(missing_docs)]
    pub id: EntryRef,
    /// New text.
    #[schemars(length(min = 1, max = 2000))]
    pub content: Option<String>,
    /// New tags.
    pub tags: Option<Tags>,
    /// New type.
    pub r#type: Option<EntryType>,
    /// Hide it from shared sessions.
    pub private: Option<bool>,
}

/// An entry that was corrected.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UpdateAnswer {
    #[serde(flatten)]
    #[expect(missing_docs)]
    #[schemars(with = "EntryIdentity")]
    pub entry: Entry,
    /// Current statements that say otherwise about the same thing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub contradicts: Vec<Contradiction>,
}

redact! { UpdateAnswer { entry, contradicts } }

impl Request for UpdateRequest {
    type Answer = UpdateAnswer;
    const NAME: &str = "memory_update";
    const ADVANCED: &'static [&'static str] = &["private"];

    fn steers(&self, view: &View<'_>) -> Result<bool> {
        Ok(self.r#type.is_some_and(EntryType::behavioral) || is_behavioral(view, &self.id))
    }

    fn only_adds(&self, view: &View<'_>) -> Result<bool> {
        Ok(is_own(view, &self.id))
    }

    fn loses(&self, view: &View<'_>) -> Result<Option<String>> {
        self.content.as_ref().map(|_| content(view, &self.id)).transpose()
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<UpdateAnswer> {
        if let Some(tags) = &self.tags {
            check_tags("memory_update", tags)?;
        }
        if self.content.is_none() && self.tags.is_none() && self.r#type.is_none() && self.private.is_none() {
            let problem = "is missing, and so are `tags`, `type` and `private`: there is nothing to change";
            return Err(Error::bad_argument("memory_update", "content", problem).into());
        }
        call.check_seen(&self.id)?;
        let Self { content, tags, r#type, private, .. } = self;
        let contradicts = match &content {
            Some(content) => call.read(|db| {
                let Ok(own) = entry::get(db, &self.id) else { return Ok(Vec::new()) };
                let ownership = Some(&entry::ownership(db, own.id.as_str())?);
                let skip = &[own.id.to_string()];
                search::contradicting(
                    db,
                    &NewStatement { content, ownership, skip, ..NewStatement::default() },
                )
            })?,
            None => Vec::new(),
        };
        let observed = content.as_deref().map(|content| {
            let project = call.read(|db| {
                Ok((entry::get(db, &self.id)?.provenance.project, current::of_caller(db, call.caller)?))
            });
            let is_here = project.is_ok_and(|(own, here)| own.is_some() && own == here);
            stale::observe(call.caller.project_folder.as_deref().filter(|_| is_here), content)
        });
        let edit = Edit { content, tags, r#type, private, data: None };
        let entry = call.write(|write| {
            let entry = entry::update(write.db, &write.origin, &self.id, edit)?;
            record_conflicts(write, &entry, &contradicts)?;
            if let Some(observed) = &observed {
                stale::record(write.db, &entry, observed, write.origin.now)?;
            }
            write.record(&entry.id, "chars", entry.content.chars().count());
            Ok(entry)
        })?;
        call.view().tell_write("entry", entry.id.as_str(), entry.content.chars().count());
        Ok(UpdateAnswer { entry, contradicts })
    }

    fn say(answer: &UpdateAnswer, calendar: &Calendar) -> String {
        let contradictions = say_contradictions(&answer.contradicts, calendar);
        format!("Updated {}{contradictions}", say_entry(&answer.entry, calendar))
    }
}
