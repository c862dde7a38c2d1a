//! The members of a team, of a home on a database server: who they are, their tokens, and their roles in groups.

use serde_json::json;

use super::home::Home;
use super::memory::StoreRequest;
use super::tool::Request as _;
use crate::base::caller::Caller;
use crate::base::ids::{EntryRef, GroupName};
use crate::base::member::{Member, MemberRole, MemberToken, Rights};
use crate::base::{Error, Result, Time};
use crate::group::View;
use crate::records::entry;
use crate::records::workspace::proposal::{self, Proposal};
use crate::store::{Server, ServerFigures};

fn server(home: &Home) -> Result<&Server> {
    home.server.as_ref().ok_or(Error::NoTeam)
}

/// Returns the members that this home's user may see.
pub fn members(home: &Home) -> Result<Vec<Member>> {
    server(home)?.members()
}

/// Returns the members that a member sees, as the database decides for a member who connects to it: those who share a group, their
/// roles in these groups, and only their own tokens. `None`: those that this home's user sees.
pub fn fellows(home: &Home, member: Option<&str>) -> Result<Vec<Member>> {
    let mut members = members(home)?;
    let Some(own) = member else { return Ok(members) };
    let is_own = |known: &Member| known.name == own;
    let spaces: Vec<String> = members
        .iter()
        .filter(|known| is_own(known))
        .flat_map(|known| known.roles.iter().map(|role| role.group.clone()))
        .collect();
    for known in &mut members {
        known.roles.retain(|role| spaces.contains(&role.group));
        if !is_own(known) {
            known.tokens.clear();
        }
    }
    members.retain(|known| is_own(known) || !known.roles.is_empty());
    Ok(members)
}

/// Adds a member. A group of the same name is their own.
pub fn add(home: &Home, name: &GroupName, now: Time) -> Result<()> {
    server(home)?.add_member(name, now)
}

/// Removes a member, with tokens and roles. Their own group stays.
pub fn remove(home: &Home, name: &str) -> Result<()> {
    server(home)?.remove_member(name)
}

/// Gives a member a role in a group, or takes it away.
pub fn set_role(home: &Home, group: &GroupName, member: &str, role: Option<MemberRole>) -> Result<()> {
    server(home)?.set_role(group, member, role)
}

/// Stores a new token of a member. Only a hash of its secret is kept.
pub fn add_token(home: &Home, token: &MemberToken, secret: &str) -> Result<()> {
    server(home)?.add_token(token, secret)
}

/// Revokes a token.
pub fn revoke(home: &Home, member: &str, token: &str) -> Result<()> {
    server(home)?.remove_token(member, token)
}

/// Finds the token with this secret, and notes its use. `None`: no member has it.
pub fn find_token(home: &Home, secret: &str, now: Time) -> Result<Option<MemberToken>> {
    home.server.as_ref().map_or(Ok(None), |server| server.find_token(secret, now))
}

/// Returns figures of the connections to the server and of its replicas. `None`: the home is on this machine.
pub fn figures(home: &Home) -> Option<ServerFigures> {
    home.server.as_ref().map(Server::figures)
}

/// Returns the rights in a group of a member, or of this home's user.
pub fn rights(home: &Home, group: &GroupName, member: Option<&str>) -> Result<Rights> {
    home.server.as_ref().map_or_else(|| Ok(Rights::all(group)), |server| server.rights(group, member))
}

/// Returns the groups in which a member has a role, or all groups of this home's user.
pub fn groups(home: &Home, member: Option<&str>) -> Result<Vec<GroupName>> {
    let Some(member) = member else { return home.groups() };
    let known = members(home)?.into_iter().find(|known| known.name == member);
    let roles = known.map(|known| known.roles).unwrap_or_default();
    Ok(roles.iter().filter_map(|role| role.group.parse().ok()).collect())
}

/// Proposes a memory of this group to another one, whose reviewers decide about it, whatever its write policy says. The caller needs
/// the right to write there.
pub fn propose_to(
    home: &Home,
    view: &mut View<'_>,
    memory: &EntryRef,
    to: &GroupName,
    caller: &Caller,
) -> Result<Proposal> {
    let from = view.name().clone();
    if from == *to {
        return Err(Error::bad_argument("promote", "to", "is the group that the memory is in".to_owned()));
    }
    let found = view.read(|db| entry::get(db, memory))?;
    let arguments = json!({
        "content": found.content,
        "type": found.r#type.as_str(),
        "tags": found.tags,
        "private": false,
    });
    // A misspelt name must not become a group.
    if !home.groups()?.contains(to) {
        return Err(Error::GroupDenied { group: to.as_str().into() });
    }
    let mut group = home.group(to, caller.now)?;
    let mut there = group.enter(caller)?;
    let reason = format!("a memory of group {from}");
    let sources = [format!("{from}: {}", found.id)];
    let made =
        proposal::propose_call_for(&mut there, StoreRequest::NAME, &arguments, None, &reason, &sources)?;
    proposal::get(&mut there, made.number)
}
