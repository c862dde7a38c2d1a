//! The startup context as a tool.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{Call, ToolResult};
use super::memory::make_brief;
use super::tool::Request;
use crate::base::settings::Inject;
use crate::base::{Calendar, Error};
use crate::context::boot::{self, Boot, Project};
use crate::records::project::live::LiveFile;

/// Return the startup context of a session: the workspace files, the brief and the list of skills.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BootRequest {
    /// The project of the session; its file comes first.
    #[schemars(length(min = 1, max = 64))]
    pub project: Option<String>,
    /// The most characters; default by the settings.
    #[schemars(range(min = 2000))]
    pub max_chars: Option<usize>,
}

impl Request for BootRequest {
    type Answer = Boot;
    const NAME: &str = "memory_boot";

    fn run(self, call: &mut Call<'_>) -> ToolResult<Boot> {
        let no_name = "is not a valid project name: it must be valid as part of a file name";
        let project = |name: &String| {
            Project::new(name).ok_or_else(|| Error::bad_argument("memory_boot", "project", no_name))
        };
        let project = self.project.as_ref().map(project).transpose()?;
        let settings = call.settings();
        let total =
            self.max_chars.map_or(settings.boot.total_chars, |most| most.min(settings.boot.total_chars));
        let order = if project.is_some() { &settings.boot.project } else { &settings.boot.main };
        let with_brief = order.iter().any(|part| part == "brief") && settings.brief.inject == Inject::Boot;
        let mut limits = settings.brief.clone();
        limits.max_chars = limits.max_chars.min(total / 3);
        let brief = if with_brief { Some(make_brief(call, &limits, false)?) } else { None };
        let caller = call.caller;
        // A session starts with what a person has written in tasks.json.
        call.follow_live(LiveFile::Tasks)?;
        let boot = boot::boot(call.view(), caller, project.as_ref(), total, brief);
        for part in boot.parts.iter().filter(|part| part.chars > 0 && part.path != "brief") {
            let kind =
                if matches!(part.path.as_str(), "skills" | "tasks") { part.path.as_str() } else { "file" };
            call.view().tell_startup(kind, &part.path, part.chars);
        }
        Ok(boot)
    }

    fn say(answer: &Boot, _: &Calendar) -> String {
        answer.markdown.clone()
    }
}
