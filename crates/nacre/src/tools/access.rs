//! Who may do what (A1): the one place that decides it.
//!
//! An admin has all groups, a project its own, and the admin's to read where the settings name it; a skill has nothing
//! but what it is handed over.

use serde_json::Value;

use super::tool::{Access, GROUP, Tool};
use crate::base::caller::Role;
use crate::base::text::shorten;
use crate::base::{Error, Result};
use crate::group::Group;

/// Tells whether a role may use a tool.
pub(super) fn may(role: Role, tool: &Tool) -> bool {
    match role {
        Role::Admin | Role::Project => true,
        Role::Skill => tool.access == Access::Nothing,
    }
}

/// Takes the name of a group out of arguments that were checked. A handle answers for its own group alone.
pub(super) fn own_group(group: &Group, arguments: &mut Value) -> Result<()> {
    match arguments.as_object_mut().and_then(|fields| fields.remove(GROUP)) {
        Some(named) if named != group.name().as_str() => {
            Err(Error::GroupDenied { group: shorten(named.as_str().unwrap_or_default()) })
        }
        _ => Ok(()),
    }
}
