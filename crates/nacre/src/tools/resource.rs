//! The files of the workspace as resources: a few by a name of their own, any by its path. Read like
//! everything else, by role and visibility, masked, and told as an event.

use crate::base::caller::{Caller, Role};
use crate::base::redact;
use crate::base::text::percent_decode;
use crate::base::{Error, Result};
use crate::context::boot;
use crate::group::View;
use crate::records::workspace::{FilePath, seen};
use crate::store::event::payload;

/// How the address of a resource begins, and that of a file.
const SCHEME: &str = "memory://";
const FILES: &str = "file/";

/// A file of the workspace that has a name of its own.
#[derive(Clone, Copy, Debug)]
pub struct Resource {
    /// The name: its address is `memory://` and this.
    pub name: &'static str,
    /// The part of a boot that it is: a path, or a day's log.
    part: &'static str,
    /// What stands in it.
    pub about: &'static str,
}

impl Resource {
    /// Returns its address.
    pub fn uri(&self) -> String {
        format!("{SCHEME}{}", self.name)
    }

    /// The file that stands for it, if there is one that the caller may see.
    fn path(&self, view: &View<'_>, caller: &Caller) -> Option<FilePath> {
        let paths = boot::paths_of(caller, self.part, None);
        paths.into_iter().find(|path| boot::is_shown(view, caller.visibility, path))
    }
}

const fn row(name: &'static str, part: &'static str, about: &'static str) -> Resource {
    Resource { name, part, about }
}

/// Every file that has a name of its own.
pub const RESOURCES: &[Resource] = &[
    row("agents", "AGENTS.md", "What the agent does in every session"),
    row("soul", "SOUL.md", "Who the agent is: principles and voice"),
    row("user", "USER.md", "Whom the agent helps"),
    row("identity", "IDENTITY.md", "The agent's card"),
    row("tools", "TOOLS.md", "Machines, services and commands of this place"),
    row("heartbeat", "HEARTBEAT.md", "What to look after when nobody asked"),
    row("active-context", "memory/active-context.md", "What is under way right now"),
    row("long-term", "MEMORY.md", "What stays true for months"),
    row("core", "memory/CORE.md", "Facts that always matter"),
    row("gating-policies", "memory/gating-policies.md", "Rules that mistakes taught"),
    row("today", "today", "Today's log"),
    row("yesterday", "yesterday", "Yesterday's log"),
];

/// Returns the resources that are there for a caller.
pub fn resources(view: &View<'_>) -> Vec<&'static Resource> {
    let caller = view.caller();
    let all = RESOURCES.iter().filter(|resource| resource.path(view, caller).is_some());
    if caller.role == Role::Skill { Vec::new() } else { all.collect() }
}

/// Tells whether a session has more to start with than the brief: files that somebody wrote and that it may
/// see.
pub fn has_workspace(view: &View<'_>) -> bool {
    let caller = view.caller();
    caller.role != Role::Skill && boot::has_own(view, caller)
}

/// Reads a resource; `None`: there is none of that address, or none for the caller.
pub fn resource(view: &mut View<'_>, uri: &str) -> Result<Option<String>> {
    let caller = view.caller();
    if caller.role == Role::Skill {
        return Err(Error::RoleDenied { tool: "resources".into(), role: caller.role.as_str() });
    }
    let Some(path) = uri.strip_prefix(SCHEME).and_then(|name| match name.strip_prefix(FILES) {
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
