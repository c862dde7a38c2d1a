//! Authorisation: the one place that decides who may call a tool.
//!
//! In a team, a member has a role in each group; without one, the group can't be entered. An admin has all groups. A project has its own group, and reads the admin group if the settings name one. A skill has no
//! access; it receives context by handover.

use serde_json::Value;

use super::tool::{Access, GROUP, Tool};
use crate::base::caller::{Actor, Role, Visibility};
use crate::base::member::MemberRole;
use crate::base::text::shorten;
use crate::base::{Error, Result};
use crate::group::View;

/// Refuses a caller who may not use a tool.
pub(super) fn authorise(view: &View<'_>, tool: &Tool) -> Result<()> {
    let (caller, name) = (view.caller(), || tool.name.to_owned());
    view.rights().need(needs(tool))?;
    if caller.role == Role::Skill && tool.access != Access::Nothing {
        return Err(Error::RoleDenied { tool: name(), role: caller.role.as_str() });
    }
    if caller.visibility == Visibility::Shared && tool.whole {
        return Err(Error::NeedsPrivate { tool: name() });
    }
    if tool.people && caller.actor == Actor::Agent {
        return Err(Error::PeopleOnly { tool: name() });
    }
    if caller.actor == Actor::Agent && !tool.is_callable(view.settings()) {
        return Err(Error::NotOffered { tool: name(), profile: view.settings().profile.clone() });
    }
    Ok(())
}

/// Returns the role that a member needs for a tool. What only people may write, a reviewer writes for the team.
fn needs(tool: &Tool) -> MemberRole {
    match tool.access {
        Access::Nothing | Access::Read => MemberRole::Reader,
        Access::Write | Access::Destroy if tool.people => MemberRole::Reviewer,
        Access::Write | Access::Destroy => MemberRole::Writer,
    }
}

/// Removes the name of a group from checked arguments. A group handle answers only for its own group.
pub(super) fn own_group(view: &View<'_>, mut arguments: Value) -> Result<Value> {
    match arguments.as_object_mut().and_then(|fields| fields.remove(GROUP)) {
        Some(named) if named != view.name().as_str() => {
            Err(Error::GroupDenied { group: shorten(named.as_str().unwrap_or_default()) })
        }
        _ => Ok(arguments),
    }
}
