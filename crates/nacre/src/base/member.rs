//! The members of a team: their roles in groups, and what a role allows. Only a database server has members; without them nobody is
//! restricted.

use serde::Serialize;

use crate::base::ids::GroupName;
use crate::base::named::named;
use crate::base::{Error, Result, Time};

named! {
    /// The role of a member in a group. Each role may do what the ones before it may.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum MemberRole {
        /// Reads and searches.
        Reader = "reader",
        /// Writes, within the write policy.
        Writer = "writer",
        /// Decides about proposals, and does what else only people may.
        Reviewer = "reviewer",
        /// Gives others their roles, and removes the group.
        Admin = "admin",
    }
}

/// The rights of a caller in one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rights {
    /// The name of the group.
    pub(crate) group: String,
    /// The member; `None`: nobody restricts the caller.
    pub member: Option<String>,
    /// Their role in the group.
    pub role: MemberRole,
    /// The other groups that a member reads too while working in their own: those of the team.
    pub others: Vec<GroupName>,
}

impl Rights {
    /// Returns the rights of a caller whom nobody restricts.
    pub(crate) fn all(group: &GroupName) -> Rights {
        Rights { group: group.as_str().into(), member: None, role: MemberRole::Admin, others: Vec::new() }
    }

    /// Refuses a caller whose role is below the one that something needs.
    pub(crate) fn need(&self, needs: MemberRole) -> Result<()> {
        if self.role >= needs {
            return Ok(());
        }
        let (group, role) = (self.group.clone(), self.role.as_str());
        Err(Error::RoleTooLow { group, role, needs: needs.as_str() })
    }

    pub(crate) fn may(&self, needs: MemberRole) -> bool {
        self.role >= needs
    }
}

/// A token of a member, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemberToken {
    /// The member.
    #[serde(skip)]
    pub member: String,
    /// Its name.
    pub name: String,
    /// Whether it is the person's own, who may approve and has no limits. Otherwise an agent has it.
    pub person: bool,
    /// Whether its sessions see private memories.
    pub private: bool,
    /// Whether its sessions read untrusted text.
    pub untrusted: bool,
    /// When it was created.
    pub made_at: Time,
    /// When it was last used, to the minute.
    pub used_at: Option<Time>,
}

/// A member, with tokens and roles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Member {
    /// The name: also that of their own group, and of their user of the database if they have one.
    pub name: String,
    /// The groups in which they have a role.
    pub roles: Vec<GroupRole>,
    /// Their tokens.
    pub tokens: Vec<MemberToken>,
}

/// A role in a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroupRole {
    /// The group.
    pub group: String,
    /// The role.
    pub role: MemberRole,
}
