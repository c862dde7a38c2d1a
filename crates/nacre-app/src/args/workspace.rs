//! The files of a group, proposed changes, and checkpoints.

use clap::{Args, Subcommand};

use super::memory::Lesson;
use super::value::{Family, proposal_number};

#[derive(Debug, Args)]
pub struct Init {
    /// Create no workspace
    #[arg(long)]
    pub bare: bool,
}

/// Returns the files of a new workspace, for the help.
pub(super) fn templates() -> String {
    let row = |template: &nacre::Template| format!("  {:<26} {}\n", template.path, template.purpose);
    format!("The workspace:\n{}", nacre::TEMPLATES.iter().map(row).collect::<String>())
}

#[derive(Debug, Subcommand)]
pub enum FilePart {
    /// Show a file of the workspace, or some of its lines
    #[command(alias = "show")]
    Get(Get),
    /// Propose a change to a file, for you to approve later
    Propose(Propose),
    /// Add a line to today's log; without one, show today's log
    Log(Log),
    /// Show how long MEMORY.md is, and which lines have been unused the longest
    Memory(MemoryFile),
    /// Propose to move log lines to MEMORY.md, its lines to facts, and lessons to SOUL.md
    Promote(Promote),
    /// The rules in memory/gating-policies.md
    Policy(Family<Policy>),
    /// Lessons learned from your corrections
    Lesson(Family<Lesson>),
}

#[derive(Debug, Args)]
pub struct Log {
    /// The line, with or without quotes; `-` or a pipe reads it from standard input
    #[arg(value_name = "TEXT")]
    pub text: Vec<String>,
    /// The category: decision, lesson, milestone, or any word [default: note]
    #[arg(long, value_name = "WORD")]
    pub category: Option<String>,
    /// The importance, 0 to 1 [default: 0.5]. From 0.8 the line stays; others move to memory/archive after 30 days,
    /// below 0.4 after 7 days
    #[arg(long, value_name = "NUMBER")]
    pub importance: Option<f64>,
}

#[derive(Debug, Args)]
pub struct MemoryFile {
    /// The number of unused lines to show
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub limit: usize,
}

#[derive(Debug, Args)]
pub struct Promote {
    /// context (recent logs to memory/active-context.md), memory (important lines to MEMORY.md), facts (from MEMORY.md
    /// to the graph), lessons (corrections to lessons) or soul (proven lessons to SOUL.md); without one, show what
    /// each would propose. With --to, a memory: its number or id
    #[arg(value_name = "STEP")]
    pub what: Option<String>,
    /// Propose a memory of this group to another group, whose reviewers decide
    #[arg(long, value_name = "GROUP", requires = "what")]
    pub to: Option<nacre::GroupName>,
}

#[derive(Debug, Default, Subcommand)]
pub enum Policy {
    /// List the rules, and lines that look like one but are not
    #[default]
    #[command(alias = "ls")]
    List,
}

#[derive(Debug, Args)]
pub struct Boot {
    /// The project of the session; memory/project-NAME.md comes first
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// The maximum number of characters
    #[arg(long, value_name = "N")]
    pub max_chars: Option<usize>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nacre get MEMORY.md
  nacre get memory/2026-01-15.md:10-20")]
pub struct Get {
    /// The file, with optional lines: PATH, PATH:LINE, PATH:FROM-TO or PATH:FROM-
    pub path: String,
}

#[derive(Debug, Args)]
pub struct Propose {
    /// The file, such as MEMORY.md or memory/topics/work.md
    pub path: String,
    /// A file with the new text; `-` is standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub from: String,
    /// The reason, for the person who decides
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
pub struct Pending {
    /// Show this change in full
    #[arg(value_parser = proposal_number)]
    pub id: Option<i64>,
    /// Include changes that were decided
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Args)]
pub struct Approve {
    /// The numbers of the changes; without them the one that waits, if it is the only one
    #[arg(value_name = "ID", value_parser = proposal_number)]
    pub ids: Vec<i64>,
    /// All changes that wait
    #[arg(long, conflicts_with = "ids")]
    pub all: bool,
    /// If the file has changed since, merge both changes, show the result, and wait for your approval
    #[arg(long)]
    pub rebase: bool,
}

#[derive(Debug, Args)]
pub struct Deny {
    /// The numbers of the changes; without them the one that waits, if it is the only one
    #[arg(value_name = "ID", value_parser = proposal_number)]
    pub ids: Vec<i64>,
    /// All changes that wait
    #[arg(long, conflicts_with = "ids")]
    pub all: bool,
    /// The reason; the agent sees it if it proposes the same again
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
pub struct ProposalName {
    /// The number of the change
    #[arg(value_parser = proposal_number)]
    pub id: i64,
}

#[derive(Debug, Subcommand)]
pub enum Proposal {
    /// Show the change, and what else has changed since
    Show(ProposalName),
}

#[derive(Debug, Default, Subcommand)]
pub enum Checkpoint {
    /// Save a snapshot of files and database
    #[command(aliases = ["add", "create"])]
    Save {
        /// A name for the snapshot
        #[arg(default_value = "")]
        name: String,
        /// The reason
        #[arg(long, default_value = "", value_name = "TEXT")]
        reason: String,
    },
    /// List the snapshots, newest first
    #[default]
    #[command(alias = "ls")]
    List,
    /// Show what has changed since a snapshot
    Diff {
        /// The id of the snapshot, or a unique start or end of it
        id: String,
    },
    /// Roll back to a snapshot. The state before is saved as a snapshot, so you can undo this
    Restore {
        /// The id of the snapshot, or a unique start or end of it
        id: String,
        /// Do it; without this, show what would change
        #[arg(long)]
        yes: bool,
    },
    /// Remove a snapshot permanently
    #[command(aliases = ["drop", "rm", "delete"])]
    Remove {
        /// The id of the snapshot, or a unique start or end of it
        id: String,
    },
}
