//! Calls that read in another group. A group handle can't reach another group, so the home opens the other one for the duration
//! of one call.

use serde_json::Value;

use super::call::Form;
use super::home::Home;
use super::memory::SearchRequest;
use super::pipeline::call_in_form;
use super::tool::{Access, Answer, GROUP, Request, Tool};
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
    let access = &home.settings().access;
    let across = tool.across && !access.admin_group.is_empty();
    let named = arguments.get(GROUP).and_then(Value::as_str).filter(|_| across).map(str::to_owned);
    // A project's search covers its own memory and the admin's.
    let is_joint = across && tool.name == SearchRequest::NAME && caller.role == Role::Project;
    if named.is_none() && is_joint && access.admin_group != view.name().as_str() {
        let mut own = call_in_form(view, tool, arguments.clone(), form)?;
        let mut of_admin = arguments;
        of_admin[GROUP] = access.admin_group.as_str().into();
        if let Ok(other) = call_across(home, view, tool, of_admin, form) {
            join(&mut own, other, &access.admin_group);
        }
        return Ok(own);
    }
    // A member's own group is searched together with the groups of the team.
    if named.is_none() && tool.name == SearchRequest::NAME && !view.rights().others.is_empty() {
        let others = view.rights().others.clone();
        let mut own = call_in_form(view, tool, arguments.clone(), form)?;
        for name in others {
            let mut group = home.group(&name, caller.now)?;
            let found = group
                .enter(caller)
                .and_then(|mut other| call_in_form(&mut other, tool, arguments.clone(), form));
            if let Ok(found) = found {
                join(&mut own, found, name.as_str());
            }
        }
        return Ok(own);
    }
    let Some(named) = named.filter(|named| named != view.name().as_str()) else {
        return call_in_form(view, tool, arguments, form);
    };
    if !matches!(tool.access, Access::Read) && caller.role != Role::Admin {
        return Err(Error::GroupDenied { group: shorten(&named) });
    }
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

/// Adds the hits of the admin's group to an answer.
fn join(own: &mut Answer, mut other: Answer, group: &str) {
    let Some(Value::Array(found)) = other.data.get_mut("hits").map(Value::take) else { return };
    if found.is_empty() {
        return;
    }
    let Some(hits) = own.data.get_mut("hits").and_then(Value::as_array_mut) else { return };
    let was_empty = hits.is_empty();
    hits.extend(found.into_iter().map(|mut hit| {
        hit[GROUP] = group.into();
        hit
    }));
    let text = format!("In group {group}:\n{}", other.text);
    if was_empty {
        own.text = text;
        own.data.as_object_mut().and_then(|fields| fields.remove("note"));
    } else {
        own.text = format!("{}\n{text}", own.text);
    }
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
