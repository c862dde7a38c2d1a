//! Who may do what (A1): the one place that decides it.
//!
//! An admin has all groups, a project its own, and the admin's to read where the settings name it; a skill has nothing
//! but what it is handed over.

use serde_json::Value;

use super::tool::{Access, GROUP, Tool};
use crate::base::caller::{Actor, Role, Visibility};
use crate::base::text::shorten;
use crate::base::{Error, Result};
use crate::group::View;

/// Refuses a caller who may not use a tool.
pub(super) fn authorise(view: &View<'_>, tool: &Tool) -> Result<()> {
    let (caller, name) = (view.caller(), || tool.name.to_owned());
    if caller.role == Role::Skill && tool.access != Access::Nothing {
        return Err(Error::RoleDenied { tool: name(), role: caller.role.as_str() });
    }
    if caller.visibility == Visibility::Shared && tool.whole {
        return Err(Error::NeedsPrivate { tool: name() });
    }
    if tool.people && caller.actor == Actor::Agent {
        return Err(Error::PeopleOnly { tool: name() });
    }
    if caller.actor == Actor::Agent && !tool.is_offered(view.settings()) {
        return Err(Error::NotOffered { tool: name(), profile: view.settings().profile.clone() });
    }
    Ok(())
}

/// Takes the name of a group out of arguments that were checked. A handle answers for its own group alone.
pub(super) fn own_group(view: &View<'_>, mut arguments: Value) -> Result<Value> {
    match arguments.as_object_mut().and_then(|fields| fields.remove(GROUP)) {
        Some(named) if named != view.name().as_str() => {
            Err(Error::GroupDenied { group: shorten(named.as_str().unwrap_or_default()) })
        }
        _ => Ok(arguments),
    }
}
