//! `nacre team`: the members of a team, their roles in groups, and their tokens.

use std::process::ExitCode;

use anyhow::Result;
use nacre::{GroupName, Member, MemberToken, team};
use serde_json::json;

use crate::args::Team;
use crate::context::Context;
use crate::render::{self, plain};
use crate::serve::token::new_token;

pub fn run(context: &Context, verb: &Team) -> Result<ExitCode> {
    let (home, group) = (&context.home, &context.global.group);
    match verb {
        Team::List => return list(context),
        Team::Add { name } => {
            team::add(home, name, context.now())?;
            done(
                context,
                &format!("`{name}` is a member, and `{name}` is also the name of their own group"),
            )?;
            hint(
                context,
                &format!(
                    "`nacre --group GROUP team role {name} writer` gives a role in another group, `nacre team token {name} NAME` a token"
                ),
            );
        }
        Team::Remove { name } => {
            team::remove(home, name)?;
            done(context, &format!("`{name}` is no longer a member"))?;
        }
        Team::Role { member, role } => {
            let role: Option<nacre::MemberRole> = (*role).into();
            team::set_role(home, group, member, role)?;
            let said = match role {
                Some(role) => format!("`{member}` is {} in group `{group}`", role.as_str()),
                None => format!("`{member}` has no role in group `{group}`"),
            };
            done(context, &said)?;
        }
        Team::Token { member, name, private, person, untrusted } => {
            let token = MemberToken {
                member: member.clone(),
                name: name.to_string(),
                person: *person,
                private: *private,
                untrusted: *untrusted,
                made_at: context.now(),
                used_at: None,
            };
            return create_token(context, &token);
        }
        Team::Revoke { member, name } => {
            team::revoke(home, member, name)?;
            done(context, &format!("the token `{name}` of `{member}` is revoked"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Tells a person what to do next. A program gets no more than its JSON.
fn hint(context: &Context, text: &str) {
    if !context.global.json {
        context.hint(text);
    }
}

fn done(context: &Context, said: &str) -> Result<()> {
    if context.global.json { render::json(&json!({ "done": said })) } else { render::out(said) }
}

fn create_token(context: &Context, token: &MemberToken) -> Result<ExitCode> {
    let secret = new_token()?;
    team::add_token(&context.home, token, &secret)?;
    if context.global.json {
        render::json(&json!({ "member": token.member, "name": token.name, "token": secret }))?;
    } else {
        render::out(&format!("{secret}\n"))?;
        render::note(
            "it is shown only now; a server takes it as `Authorization: Bearer …`, the command line as `NACRE_MEMBER_TOKEN`",
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn list(context: &Context) -> Result<ExitCode> {
    let members = team::members(&context.home)?;
    if context.global.json {
        render::json(&json!({ "members": members }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if members.is_empty() {
        render::out(
            "There are no members: everybody with the role `nacre_app` in the database may read and write all groups.",
        )?;
        context.hint("`nacre team add NAME` adds the first one; from then on, only roles give access");
    }
    for member in &members {
        render::out(&line(member))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn line(member: &Member) -> String {
    let roles: Vec<String> =
        member.roles.iter().map(|role| format!("{} in {}", role.role.as_str(), plain(&role.group))).collect();
    let roles = if roles.is_empty() { "no role".to_owned() } else { roles.join(", ") };
    let mut text = format!("{}: {roles}", plain(&member.name));
    for token in &member.tokens {
        let kind = if token.person { "a person" } else { "an agent" };
        let private = if token.private { "private" } else { "shared" };
        let untrusted = if token.untrusted { ", untrusted" } else { "" };
        let used = token.used_at.map_or_else(|| "never used".to_owned(), |at| format!("last used {at}"));
        text.push_str(&format!("\n  token {}: {kind}, {private}{untrusted}, {used}", plain(&token.name)));
    }
    text
}

/// Returns the groups of the team that a member in their own group reads too.
pub fn others(context: &Context) -> Result<Vec<GroupName>> {
    match context.home.server() {
        Some(_) => Ok(team::rights(&context.home, &context.global.group, None)?.others),
        None => Ok(Vec::new()),
    }
}
