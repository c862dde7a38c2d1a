//! Calls that read in another group. A group handle can't reach another group, so the home opens the other one for the duration
//! of one call.

use serde_json::Value;

use super::call::Form;
use super::home::Home;
use super::pipeline::call_in_form;
use super::tool::{Answer, GROUP, Tool};
use crate::base::caller::{Caller, Role, Visibility};
use crate::base::ids::GroupName;
use crate::base::text::shorten;
use crate::base::{Error, Result, Settings};
use crate::group::View;

/// Calls a tool in the caller's group, or reads in the group that the arguments name, if the caller's role and the settings
/// allow it.
pub fn call_across(
    home: &Home,
    view: &mut View<'_>,
    tool: &'static Tool,
    arguments: Value,
    form: Form,
) -> Result<Answer> {
    let caller = view.caller();
    let across = tool.across && !home.settings().access.admin_group.is_empty();
    let named = arguments.get(GROUP).and_then(Value::as_str).filter(|_| across).map(str::to_owned);
    let Some(named) = named.filter(|named| named != view.name().as_str()) else {
        return call_in_form(view, tool, arguments, form);
    };
    let denied = || Error::GroupDenied { group: shorten(&named) };
    let other: GroupName = named.parse().map_err(|_| denied())?;
    let visibility = reads(caller.role, home.settings(), &other, caller.visibility).ok_or_else(denied)?;
    // Reading never creates a group.
    if !home.groups()?.contains(&other) {
        return Err(denied());
    }
    let reader = Caller { visibility, ..caller.clone() };
    call_in_form(&mut home.group(&other, caller.now)?.enter(&reader)?, tool, arguments, form)
}

/// Returns the visibility with which a role reads in another group; `None`: it may not.
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
