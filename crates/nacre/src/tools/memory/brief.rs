//! The brief of the most useful memories.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::frame::BriefWords;
use crate::base::{Calendar, Result};
use crate::context::brief::{self, Brief, MadeBy};
use crate::records::project;
use crate::store::Connection;
use crate::tools::call::{Call, ToolResult};
use crate::tools::schema::output;
use crate::tools::status;
use crate::tools::tool::{Lens, Request};

/// Summary of the most useful memories. Read it at the start of a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BriefRequest {
    /// Include the session and time of each memory.
    #[serde(default)]
    pub include_provenance: bool,
}

impl Request for BriefRequest {
    type Answer = Brief;
    const NAME: &str = "memory_brief";
    const CROSSES_GROUPS: bool = true;
    const ADVANCED: &'static [&'static str] = &["include_provenance"];
    const LEAN_OUTPUT: fn() -> Value = output::<LeanBrief>;

    fn run(self, call: &mut Call<'_>) -> ToolResult<Brief> {
        let limits = call.settings().brief.clone();
        Ok(make_brief(call, &limits, self.include_provenance)?)
    }

    fn lean(answer: &Brief, _: &Lens<'_>) -> Option<serde_json::Result<Value>> {
        // The lines have everything else. Provenance is only in the entries.
        let provenance = answer.entries.iter().any(|entry| entry.provenance.is_some());
        let lean = LeanBrief {
            markdown: answer.markdown.clone(),
            entry_count: answer.entry_count,
            plugin: answer.plugin.clone(),
        };
        (!provenance).then(|| serde_json::to_value(lean))
    }

    fn say(answer: &Brief, _: &Calendar) -> String {
        answer.markdown.clone()
    }
}

/// The brief as a model reads it.
#[derive(Serialize, JsonSchema)]
struct LeanBrief {
    markdown: String,
    entry_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    plugin: Option<MadeBy>,
}

/// Makes the brief, by the plugin if there is one.
pub(crate) fn make_brief(
    call: &mut Call<'_>,
    limits: &crate::base::settings::Brief,
    include_provenance: bool,
) -> Result<Brief> {
    let now = call.caller.now;
    let made = call.view().services().brief_plugin.clone().map(|plugin| {
        let said = (plugin.make)(&call.caller.session);
        (plugin.name, said)
    });
    let caller = call.caller;
    let calendar = caller.calendar();
    let (rank, words) = (call.settings().rank.clone(), BriefWords::of(call.settings().dialect));
    let own = |db: &Connection| {
        let project = project::current::of_caller(db, caller)?;
        let (rank, calendar) = (&rank, caller.calendar());
        brief::make(db, &brief::Rules { limits, rank, project, calendar, now, include_provenance, words })
    };
    let mut brief = match made {
        None => call.read(own)?,
        Some((name, Ok(said))) => {
            call.read(|db| brief::of_plugin(db, &name, &said, limits, &calendar, now))?
        }
        Some((name, Err(problem))) => {
            let mut brief = call.read(own)?;
            brief.in_place_of(&name, &problem);
            brief
        }
    };
    if let Some(note) = status::damage_note(call.view()) {
        brief.add_note(&format!("Memories may be missing: {note}."));
    }
    call.view().tell_read("brief", "brief", brief.markdown.chars().count());
    Ok(brief)
}
