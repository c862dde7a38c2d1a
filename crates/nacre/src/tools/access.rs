//! Who may do what (A1): the one place that decides it.
//!
//! An admin has all groups, a project its own, and the admin's to read where the settings name it; a skill has nothing
//! but what it is handed over. A group handle can't reach another group: the home opens the other one, for as long as
//! one call takes.

use serde_json::{Value, json};

use super::{Access, Answer, Tool, call, tool};
use crate::base::Settings;
use crate::base::caller::Visibility;
use crate::base::caller::{Caller, Role};
use crate::base::ids::GroupName;
use crate::base::text::shorten;
use crate::base::{Error, Result};
use crate::group::Group;
use crate::tools::home::Home;

/// The argument that names it.
const GROUP: &str = "group";

/// Tells whether a role may use a tool.
pub(super) fn may(role: Role, tool: &Tool) -> bool {
    match role {
        Role::Admin | Role::Project => true,
        Role::Skill => tool.access == Access::Nothing,
    }
}

/// As what a role may read in another group; `None`: not at all.
fn reads(role: Role, settings: &Settings, other: &GroupName, visibility: Visibility) -> Option<Visibility> {
    let access = &settings.access;
    match role {
        Role::Admin => Some(visibility),
        Role::Project if access.admin_group != other.as_str() => None,
        Role::Project if access.private => Some(visibility),
        Role::Project => Some(Visibility::Shared),
        Role::Skill => None,
    }
}

/// Returns a tool's schema with the argument that names another group, where there is one to be named.
pub(super) fn adapted(tool: &Tool, schema: &Value, settings: &Settings) -> Option<Value> {
    if settings.access.admin_group.is_empty() || !tool.across {
        return None;
    }
    let mut schema = schema.clone();
    let about = format!("Ask group {} instead.", settings.access.admin_group);
    schema["properties"][GROUP] = json!({ "type": "string", "maxLength": 64, "description": about });
    Some(schema)
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

/// Calls a tool in the caller's group, or reads in the group that the arguments name, where the caller's role and the
/// settings allow it.
pub fn call_across(
    home: &Home,
    group: &mut Group,
    caller: &Caller,
    name: &str,
    arguments: Value,
) -> Result<Answer> {
    let named = arguments.get(GROUP).and_then(Value::as_str).map(str::to_owned);
    let (Some(named), Some(known)) = (named, tool(name)) else {
        return call(group, caller, name, arguments);
    };
    let across = !home.settings().access.admin_group.is_empty() && known.across;
    if !across || named == group.name().as_str() {
        return call(group, caller, name, arguments);
    }
    let denied = || Error::GroupDenied { group: shorten(&named) };
    let other: GroupName = named.parse().map_err(|_| denied())?;
    let visibility = reads(caller.role, home.settings(), &other, caller.visibility).ok_or_else(denied)?;
    // Reading makes nothing.
    if !home.groups().contains(&other) {
        return Err(denied());
    }
    call(&mut home.group(&other, caller.now)?, &Caller { visibility, ..caller.clone() }, name, arguments)
}
