//! Members of a team, and an editor's working copy of the files on a server.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use nacre::{GroupName, MemberRole};

pub const TEAM_EXAMPLES: &str = "\
Examples:
  nacre team add petra
  nacre --group web team role petra writer
  nacre team token petra laptop
  nacre team revoke petra laptop";

#[derive(Debug, Default, Subcommand)]
pub enum Team {
    /// List the members, their roles, and when their tokens were last used
    #[default]
    #[command(alias = "ls")]
    List,
    /// Add a member, with a group of their own
    Add {
        /// Their name, as in the database if they have a user there
        name: GroupName,
    },
    /// Remove a member, with tokens and roles. Their own group stays
    #[command(aliases = ["rm", "delete"])]
    Remove {
        /// Their name
        name: String,
    },
    /// Give a member a role in the group, which is created if it does not exist
    Role {
        /// Their name
        member: String,
        /// Their role there; each role may do what the ones before it may
        #[arg(id = "member_role", value_enum, value_name = "ROLE")]
        role: MemberRoleName,
    },
    /// Create a token for a member and show it once
    Token {
        /// Their name
        member: String,
        /// A name for the token, such as the program or machine that uses it
        name: GroupName,
        /// Show private memories; without this, its sessions are shared sessions
        #[arg(long)]
        private: bool,
        /// It is the person's own: it can approve where they are a reviewer, and has no limits
        #[arg(long)]
        person: bool,
        /// Its sessions read untrusted text, so their limits are smaller
        #[arg(long, conflicts_with = "person")]
        untrusted: bool,
    },
    /// Revoke a token of a member
    Revoke {
        /// Their name
        member: String,
        /// The name of the token
        name: String,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum MemberRoleName {
    /// Reads and searches
    Reader,
    /// Writes, within the write policy
    Writer,
    /// Approves what others propose
    Reviewer,
    /// Gives roles, and removes the group
    Admin,
    /// No role: the group does not exist for them
    None,
}

impl From<MemberRoleName> for Option<MemberRole> {
    fn from(name: MemberRoleName) -> Option<MemberRole> {
        match name {
            MemberRoleName::Reader => Some(MemberRole::Reader),
            MemberRoleName::Writer => Some(MemberRole::Writer),
            MemberRoleName::Reviewer => Some(MemberRole::Reviewer),
            MemberRoleName::Admin => Some(MemberRole::Admin),
            MemberRoleName::None => None,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nacre checkout ~/team-files           write the files there; again, exchange the changes
  nacre checkout ~/team-files --watch   exchange them whenever something changes")]
pub struct Checkout {
    /// The folder of the working copy: empty, or an earlier one of this group
    pub folder: PathBuf,
    /// Keep running, and exchange changes every second
    #[arg(long)]
    pub watch: bool,
}
