//! The files of the workspace as MCP resources: some by name, any by its path. Reads respect role and visibility, are
//! redacted, and emit an event.

use crate::base::caller::{Caller, Role};
use crate::base::redact;
use crate::base::settings::Inject;
use crate::base::text::percent_decode;
use crate::base::{Error, Result};
use crate::context::boot;
use crate::group::View;
use crate::records::workspace::{FilePath, seen};
use crate::store::event::payload;

/// The start of a resource's address.
const SCHEME: &str = "memory://";
/// The start of the name of a file by its path.
const FILE_PREFIX: &str = "file/";

/// A file of the workspace with a resource name.
#[derive(Clone, Copy, Debug)]
pub struct Resource {
    /// The name: its address is `memory://` and this.
    pub name: &'static str,
    /// Its part of the startup context: a path, or a daily log.
    part: &'static str,
    /// Its description.
    pub about: &'static str,
}

impl Resource {
    /// Returns its address.
    pub fn uri(&self) -> String {
        format!("{SCHEME}{}", self.name)
    }

    /// Returns its file, if there is one that the caller may see.
    fn path(&self, view: &View<'_>, caller: &Caller) -> Option<FilePath> {
        let paths = boot::paths_of(caller, self.part, None);
        paths.into_iter().find(|path| boot::is_shown(view, caller.visibility, path))
    }
}

const fn row(name: &'static str, part: &'static str, about: &'static str) -> Resource {
    Resource { name, part, about }
}

/// Every file with a resource name.
pub const RESOURCES: &[Resource] = &[
    row("agents", "AGENTS.md", "How the agent works in every session"),
    row("soul", "SOUL.md", "Who the agent is: principles and voice"),
    row("user", "USER.md", "The user whom the agent helps"),
    row("identity", "IDENTITY.md", "The agent's name and role"),
    row("tools", "TOOLS.md", "Machines, services and commands of this environment"),
    row("heartbeat", "HEARTBEAT.md", "Checks to run without being asked"),
    row("active-context", "memory/active-context.md", "Current work"),
    row("long-term", "MEMORY.md", "Long-term facts"),
    row("core", "memory/CORE.md", "Facts that always matter"),
    row("gating-policies", "memory/gating-policies.md", "Rules learned from mistakes"),
    row("today", "today", "Today's log"),
    row("yesterday", "yesterday", "Yesterday's log"),
];

/// Returns the resources that a caller may read.
pub fn resources(view: &View<'_>) -> Vec<&'static Resource> {
    let caller = view.caller();
    let all = RESOURCES.iter().filter(|resource| resource.path(view, caller).is_some());
    if caller.role == Role::Skill { Vec::new() } else { all.collect() }
}

/// Tells whether the startup context has more than the brief: files that somebody wrote and that the session may see.
/// Without a brief, the templates count too: the first session has to know the rules.
pub fn has_workspace(view: &View<'_>) -> bool {
    let caller = view.caller();
    let is_all = view.settings().brief.inject == Inject::None;
    caller.role != Role::Skill
        && if is_all { boot::has_any(view, caller) } else { boot::has_own(view, caller) }
}

/// Reads a resource; `None`: there is none with this address that the caller may read.
pub fn resource(view: &mut View<'_>, uri: &str) -> Result<Option<String>> {
    let caller = view.caller();
    if caller.role == Role::Skill {
        return Err(Error::RoleDenied { tool: "resources".into(), role: caller.role.as_str() });
    }
    let Some(path) = uri.strip_prefix(SCHEME).and_then(|name| match name.strip_prefix(FILE_PREFIX) {
        Some(path) => percent_decode(path)?.parse().ok(),
        None => RESOURCES.iter().find(|resource| resource.name == name)?.path(view, caller),
    }) else {
        return Ok(None);
    };
    let text = match boot::shown(view, caller.visibility, &path) {
        None => return Ok(None),
        Some(Ok(text)) => text,
        Some(Err(why)) => format!("({path} {why}.)"),
    };
    let text = redact::text(&text).into_owned();
    let mut data = payload([
        ("type", "file".into()),
        ("path", path.as_str().into()),
        ("size", text.chars().count().into()),
    ]);
    if seen::is_infrastructure(path.as_str()) {
        data.insert("infrastructure".into(), true.into());
        seen::note(view, [path.as_str()]);
    }
    view.tell("memory:read", data);
    Ok(Some(text))
}
