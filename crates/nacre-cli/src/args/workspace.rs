//! The files of a group, what is proposed for them, and checkpoints.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct Init {
    /// Make no workspace
    #[arg(long)]
    pub bare: bool,
}

/// What a new workspace has, for the help.
pub(super) fn templates() -> String {
    let row = |template: &nacre::Template| format!("  {:<26} {}\n", template.path, template.purpose);
    format!("The workspace:\n{}", nacre::TEMPLATES.iter().map(row).collect::<String>())
}

#[derive(Debug, Args)]
pub struct Log {
    /// What happened; `-` reads it from standard input
    #[arg(value_name = "TEXT")]
    pub text: Option<String>,
    /// What kind of thing: decision, lesson, milestone, or any word [default: note]
    #[arg(long, value_name = "WORD", requires = "text")]
    pub category: Option<String>,
    /// From 0 to 1 [default: 0.5]. From 0.8 on the line stays; others move to memory/archive after 30 days,
    /// below 0.4 after 7
    #[arg(long, value_name = "NUMBER", requires = "text")]
    pub importance: Option<f64>,
}

#[derive(Debug, Args)]
pub struct MemoryFile {
    /// How many of its stalest lines to show
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub limit: usize,
}

#[derive(Debug, Args)]
pub struct Promote {
    /// context (recent logs to memory/active-context.md), memory (weighty lines to MEMORY.md), facts (of MEMORY.md
    /// to the graph), lessons (corrections to lessons) or soul (proven lessons to SOUL.md); without one, what
    /// each would propose
    #[arg(value_name = "STEP")]
    pub step: Option<nacre::promote::Step>,
}

#[derive(Debug, Subcommand)]
pub enum Policy {
    /// List the rules, and what is almost one
    List,
}

#[derive(Debug, Args)]
pub struct Boot {
    /// The project that the session is about: memory/project-NAME.md comes first
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// How many characters at most
    #[arg(long, value_name = "N")]
    pub max_chars: Option<usize>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nacre get MEMORY.md
  nacre get memory/2026-01-15.md:10-20")]
pub struct Get {
    /// The file, and the lines where not all: PATH, PATH:LINE, PATH:FROM-TO or PATH:FROM-
    pub path: String,
}

#[derive(Debug, Args)]
pub struct Propose {
    /// The file, such as MEMORY.md or memory/topics/work.md
    pub path: String,
    /// The file as it should be; `-` is standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub from: String,
    /// Why, for whoever decides
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
pub struct Pending {
    /// Show this one in full
    pub id: Option<i64>,
    /// Also what was decided
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Args)]
pub struct Approve {
    /// Their numbers
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<i64>,
    /// Where the file has changed since: join both changes, show that, and wait for you to approve it
    #[arg(long)]
    pub rebase: bool,
}

#[derive(Debug, Args)]
pub struct Deny {
    /// Their numbers
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<i64>,
    /// Why; the agent is told if it proposes the same again
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
pub struct Decided {
    /// Its number
    pub id: i64,
}

#[derive(Debug, Subcommand)]
pub enum Proposal {
    /// Show one: what it changes, and what has changed since
    Show(Decided),
}

#[derive(Debug, Subcommand)]
pub enum Checkpoint {
    /// Keep the files and records as they are now
    Save {
        /// What to call it
        #[arg(default_value = "")]
        name: String,
        /// Why it is made
        #[arg(long, default_value = "", value_name = "TEXT")]
        reason: String,
    },
    /// Show which there are, newest first
    List,
    /// Show what has become of files and records since
    Diff {
        /// Its id, or a beginning or an end of it that no other has
        id: String,
    },
    /// Go back to one. The state before becomes a checkpoint itself, so that this can be undone
    Restore {
        /// Its id, or a beginning or an end of it that no other has
        id: String,
        /// Do it; without this what would be done is shown
        #[arg(long)]
        yes: bool,
    },
    /// Take one away for good
    Drop {
        /// Its id, or a beginning or an end of it that no other has
        id: String,
    },
}
