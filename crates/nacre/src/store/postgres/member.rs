//! The members of a team: rows of the server that every group shares. Policies decide which of them a session sees and changes.

use postgres::SimpleQueryMessage;

use super::{Purpose, Server, quote};
use crate::base::ids::GroupName;
use crate::base::member::{GroupRole, Member, MemberRole, MemberToken, Rights};
use crate::base::{Error, Result, Time};

/// How long the time of a token's last use stays as it is, so that not every call writes.
const USE_INTERVAL_MS: i64 = 60_000;

impl Server {
    /// Returns the rights in a group of the member that a server names, or of who this connection acts for.
    pub(crate) fn rights(&self, group: &GroupName, member: Option<&str>) -> Result<Rights> {
        let name = quote(group.as_str());
        let (who, role) = match member {
            Some(member) => {
                let member = quote(member);
                let role = format!(
                    "(SELECT role FROM member_roles WHERE group_name = {name} AND member = {member})"
                );
                (member, role)
            }
            None => ("acting_member()".to_owned(), format!("role_in({name})")),
        };
        let groups = "string_agg(group_name, ' ' ORDER BY group_name)";
        let sql = format!(
            "SELECT {who}, {role}, (SELECT {groups} FROM member_roles WHERE member = {who} AND group_name <> {name})"
        );
        let row = self.ask(&sql)?;
        let member = row.first().cloned().flatten();
        let role = row.get(1).cloned().flatten().and_then(|role| MemberRole::of_name(&role));
        let others = row.get(2).cloned().flatten().unwrap_or_default();
        let Some(role) = role else {
            return Err(Error::NoRole { group: group.as_str().into(), groups: others.replace(' ', ", ") });
        };
        // Reading the team's groups too is for a member's own group. The groups of a team stay apart.
        let is_own = member.as_deref() == Some(group.as_str());
        let others = others.split(' ').filter(|_| is_own).filter_map(|name| name.parse().ok()).collect();
        Ok(Rights { group: group.as_str().into(), member, role, others })
    }

    /// Runs one query in one round trip, as the application. Returns the fields of its row.
    fn ask(&self, sql: &str) -> Result<Vec<Option<String>>> {
        let batch = format!("SELECT {}; {sql}", self.identity());
        loop {
            let (mut session, is_new) = self.lease()?;
            match session.client.simple_query(&batch) {
                Ok(rows) => {
                    self.release(Some(session));
                    let row = rows.into_iter().rev().find_map(|message| match message {
                        SimpleQueryMessage::Row(row) => Some(row),
                        _ => None,
                    });
                    let row = row.ok_or(Error::Busy)?;
                    return Ok((0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect());
                }
                Err(problem) => {
                    let is_lost = matches!(self.error(&problem), Error::ServerLost { .. });
                    let is_gone = is_lost || session.client.is_closed();
                    self.release((!is_gone).then_some(session));
                    if !is_gone || is_new {
                        return Err(self.error(&problem));
                    }
                }
            }
        }
    }

    /// Finds the token with this secret, and notes its use.
    pub(crate) fn find_token(&self, secret: &str, now: Time) -> Result<Option<MemberToken>> {
        let says = format!("set_config('nacre.token', {}, true)", quote(secret));
        let lease = self.start(&says, Purpose::Read, None)?;
        let sql = format!("{TOKENS} WHERE hash = encode(sha256(convert_to($1, 'UTF8')), 'hex')");
        let found = lease.query(&sql, &[&secret])?;
        let Some(token) = found.first().map(read_token) else { return Ok(None) };
        drop(lease);
        let is_due = token.used_at.is_none_or(|used| now.as_millis() - used.as_millis() >= USE_INTERVAL_MS);
        // Only a server may note it. A failure must not keep a member out.
        if is_due && let Ok(lease) = self.start("true", Purpose::Files, None) {
            let sql = "UPDATE member_tokens SET used_at = $3 WHERE member = $1 AND name = $2";
            let noted = lease.execute(sql, &[&token.member, &token.name, &now.as_millis()]);
            let _ = noted.and_then(|_| lease.commit());
        }
        Ok(Some(token))
    }

    /// Returns the members that the session may see.
    pub(crate) fn members(&self) -> Result<Vec<Member>> {
        let lease = self.start("true", Purpose::Read, None)?;
        let sql = "SELECT name FROM members UNION SELECT member FROM member_roles ORDER BY 1";
        let names = lease.query(sql, &[])?;
        let mut members: Vec<Member> = names
            .iter()
            .map(|row| Member { name: row.get(0), roles: Vec::new(), tokens: Vec::new() })
            .collect();
        let sql = "SELECT member, group_name, role FROM member_roles ORDER BY group_name";
        for row in lease.query(sql, &[])? {
            let (member, group): (String, String) = (row.get(0), row.get(1));
            let role = MemberRole::of_name(row.get(2)).unwrap_or(MemberRole::Reader);
            if let Some(member) = members.iter_mut().find(|known| known.name == member) {
                member.roles.push(GroupRole { group, role });
            }
        }
        for token in lease.query(&format!("{TOKENS} ORDER BY name"), &[])?.iter().map(read_token) {
            if let Some(member) = members.iter_mut().find(|known| known.name == token.member) {
                member.tokens.push(token);
            }
        }
        Ok(members)
    }

    /// Adds a member, who is the admin of a group of their own name.
    pub(crate) fn add_member(&self, name: &GroupName, now: Time) -> Result<()> {
        self.manage(&[])?;
        let name = name.as_str();
        let lease = self.named(name, Purpose::Files)?;
        let sql = "SELECT 1 FROM groups WHERE name = $1 AND NOT EXISTS (SELECT FROM members WHERE name = $1)";
        if !lease.query(sql, &[&name])?.is_empty() {
            return Err(Error::MemberNameTaken { name: name.into() });
        }
        let sql = "INSERT INTO members (name, added_at) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        if lease.execute(sql, &[&name, &now.as_millis()])? == 0 {
            return Err(Error::MemberExists { member: name.into() });
        }
        let sql = "INSERT INTO member_roles (group_name, member, role) VALUES ($1, $1, 'admin')";
        lease.execute(sql, &[&name])?;
        lease.commit()
    }

    /// Removes a member, with tokens and roles. The groups stay.
    pub(crate) fn remove_member(&self, name: &str) -> Result<()> {
        self.manage(&[])?;
        let lease = self.start("true", Purpose::Files, None)?;
        if lease.execute("DELETE FROM members WHERE name = $1", &[&name])? == 0 {
            return Err(Error::NoMember { member: name.into() });
        }
        lease.commit()
    }

    /// Gives a member a role in a group, or takes it away. The group is created if it does not exist.
    pub(crate) fn set_role(&self, group: &GroupName, member: &str, role: Option<MemberRole>) -> Result<()> {
        let rights = self.rights(group, None)?;
        rights.need(MemberRole::Admin)?;
        self.known_member(member)?;
        let name = group.as_str();
        let lease = self.named(name, Purpose::Files)?;
        lease.execute("DELETE FROM member_roles WHERE group_name = $1 AND member = $2", &[&name, &member])?;
        if let Some(role) = role {
            lease.execute("INSERT INTO groups (name) VALUES ($1) ON CONFLICT DO NOTHING", &[&name])?;
            let sql = "INSERT INTO member_roles (group_name, member, role) VALUES ($1, $2, $3)";
            lease.execute(sql, &[&name, &member, &role.as_str()])?;
        }
        lease.commit()
    }

    /// Stores a token by the hash of its secret.
    pub(crate) fn add_token(&self, token: &MemberToken, secret: &str) -> Result<()> {
        self.manage(&[&token.member])?;
        self.known_member(&token.member)?;
        let lease = self.start("true", Purpose::Files, None)?;
        let sql = "INSERT INTO member_tokens (member, name, hash, person, private, untrusted, made_at)
            VALUES ($1, $2, encode(sha256(convert_to($3, 'UTF8')), 'hex'), $4, $5, $6, $7) ON CONFLICT DO NOTHING";
        let MemberToken { member, name, person, private, untrusted, made_at, .. } = token;
        let added =
            lease.execute(sql, &[member, name, &secret, person, private, untrusted, &made_at.as_millis()])?;
        if added == 0 {
            return Err(Error::TokenExists { member: member.clone(), token: name.clone() });
        }
        lease.commit()
    }

    /// Revokes a token.
    pub(crate) fn remove_token(&self, member: &str, name: &str) -> Result<()> {
        self.manage(&[member])?;
        let lease = self.start("true", Purpose::Files, None)?;
        let sql = "DELETE FROM member_tokens WHERE member = $1 AND name = $2";
        if lease.execute(sql, &[&member, &name])? == 0 {
            return Err(Error::NoToken { member: member.into(), token: name.into() });
        }
        lease.commit()
    }

    /// Forgets who has a role in a removed group. A later group of this name is another one.
    pub(super) fn forget_roles(&self, group: &GroupName) -> Result<()> {
        let lease = self.start("true", Purpose::Files, None)?;
        let sql = "DELETE FROM member_roles WHERE group_name = $1 AND group_name <> member";
        lease.execute(sql, &[&group.as_str()])?;
        lease.commit()
    }

    /// Refuses who may manage neither all members nor themselves as one of these.
    fn manage(&self, themselves: &[&str]) -> Result<()> {
        let row = self.ask("SELECT manages_members()::text, acting_member(), token_member()")?;
        let [all, member, by_token] = [0, 1, 2].map(|place| row.get(place).cloned().flatten());
        let is_one = by_token.is_none() && member.is_some_and(|member| themselves.contains(&member.as_str()));
        match all.as_deref() == Some("true") || is_one {
            true => Ok(()),
            false => Err(Error::NotTeamAdmin { server: self.name().to_owned() }),
        }
    }

    fn known_member(&self, member: &str) -> Result<()> {
        // The admin of a group does not see all members: the database checks the name then.
        let row = self.ask(&format!(
            "SELECT (NOT manages_members() OR EXISTS (SELECT FROM members WHERE name = {}))::text",
            quote(member)
        ))?;
        match row.first().cloned().flatten().as_deref() {
            Some("true") => Ok(()),
            _ => Err(Error::NoMember { member: member.into() }),
        }
    }
}

const TOKENS: &str = "SELECT member, name, person, private, untrusted, made_at, used_at FROM member_tokens";

fn read_token(row: &postgres::Row) -> MemberToken {
    MemberToken {
        member: row.get(0),
        name: row.get(1),
        person: row.get(2),
        private: row.get(3),
        untrusted: row.get(4),
        made_at: Time::from_millis(row.get(5)),
        used_at: row.get::<_, Option<i64>>(6).map(Time::from_millis),
    }
}
