//! Memories: store, search, correct, turns and lessons.

use clap::{Args, Subcommand};
use nacre::{CollectionName, EntryType, ProjectName, Source};

use super::value::{EntryName, RecordName, Target, Text, When, entry_type, number, source};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nacre store I prefer tabs over spaces --type preference
  nacre store \"heron's port is 7070\" --supersedes 12
  pbpaste | nacre store")]
pub struct Store {
    #[command(flatten)]
    pub text: Text,
    /// The type of the memory [default: fact]
    #[arg(long = "type", short, value_name = "TYPE", value_parser = entry_type())]
    pub r#type: Option<EntryType>,
    /// A keyword; repeat for several
    #[arg(long = "tag", short = 'g', value_name = "TAG")]
    pub tags: Vec<String>,
    /// The memory that this one replaces
    #[arg(long, value_name = "ID", visible_alias = "replaces")]
    pub supersedes: Option<EntryName>,
    /// Never show it in shared sessions
    #[arg(long)]
    pub private: bool,
    /// The project that it belongs to [default: the git repository of the working directory]
    #[arg(long, value_name = "NAME")]
    pub project: Option<ProjectName>,
    /// The narrative in which it is written
    #[arg(long, value_name = "ID")]
    pub narrative: Option<String>,
    /// The task that led to it
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nacre search our staging server
  nacre search indentation --type preference
  nacre search                               the newest memories")]
pub struct Search {
    /// The words to search for; `-` reads them from standard input
    #[arg(value_name = "WORDS")]
    pub query: Vec<String>,
    /// The maximum number of results
    #[arg(long, short = 'n', value_name = "N", value_parser = number)]
    pub limit: Option<usize>,
    /// Where to search: entries, memory (documents), sessions, sources (collections), graph, items
    /// (of projects, and tasks), or all [default: entries,memory,graph]
    #[arg(long, value_name = "SCOPE", value_delimiter = ',')]
    pub scope: Vec<String>,
    /// Only in this collection
    #[arg(long, value_name = "NAME")]
    pub collection: Option<CollectionName>,
    /// Only what was written in this project
    #[arg(long, value_name = "NAME")]
    pub project: Option<ProjectName>,
    /// Only this type
    #[arg(long = "type", short, value_name = "TYPE", value_parser = entry_type())]
    pub r#type: Option<EntryType>,
    /// Only memories with this tag; with several, they must have all of them
    #[arg(long = "tag", short = 'g', value_name = "TAG")]
    pub tags: Vec<String>,
    /// Only memories written by this source
    #[arg(long, value_name = "SOURCE", value_parser = source())]
    pub source: Option<Source>,
    /// Show the session and source of each memory
    #[arg(long)]
    pub include_provenance: bool,
    /// Include memories that were replaced
    #[arg(long)]
    pub include_superseded: bool,
    /// Include archived memories
    #[arg(long)]
    pub include_archived: bool,
    /// The time that relative dates in the query count from, such as yesterday, 3d or 2026-03-01 [default: now]
    #[arg(long, value_name = "TIME")]
    pub at: Option<When>,
    /// Show how each score was computed
    #[arg(long)]
    pub explain: bool,
    /// Answer from the memory as it was then, such as `2w` (2 weeks ago) or 2026-03-01. Documents are left out
    #[arg(long, value_name = "TIME")]
    pub as_of: Option<When>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nacre grep -F 'fn main()'                  a text as it is written
  nacre grep -i 'error|warn(ing)?' -C 2      two lines around each match
  nacre grep 'E[0-9]{4}' --scope sessions    only in transcripts

Exit code: 0 if a line matches, 3 if none does.")]
pub struct Grep {
    /// The regular expression to look for
    #[arg(value_name = "PATTERN", allow_hyphen_values = true)]
    pub pattern: String,
    /// The pattern is plain text, not a regular expression
    #[arg(long, short = 'F')]
    pub fixed_strings: bool,
    /// Ignore case
    #[arg(long, short)]
    pub ignore_case: bool,
    /// The number of lines to show before and after each match
    #[arg(long, short = 'C', value_name = "N")]
    pub context: Option<usize>,
    /// The maximum number of lines [default: all]
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
    /// Where to look: entries, memory (documents), sessions (transcripts) [default: all of these]
    #[arg(long, value_name = "SCOPE", value_delimiter = ',')]
    pub scope: Vec<String>,
}

#[derive(Debug, Args)]
pub struct Show {
    /// The memory: its number, such as 2 or id:2, or the start of its id; or a file, such as MEMORY.md
    pub id: Target,
    /// Show credentials in the memory, which are masked otherwise; only for a person at a terminal
    #[arg(long)]
    pub reveal: bool,
    /// Answer from the memory as it was then, such as `2w` (2 weeks ago) or 2026-03-01. Documents are left out
    #[arg(long, value_name = "TIME")]
    pub as_of: Option<When>,
}

#[derive(Debug, Args)]
pub struct EntryArg {
    /// The memory: its number, such as 2 or id:2, or the start of its id
    pub id: EntryName,
}

#[derive(Debug, Args)]
pub struct Delete {
    /// The records: 2 or id:2 for a memory, fact-3, relation-4, entity:NAME, lesson:5, proposal:6, TASK-007, session:ID,
    /// SESSION/MESSAGE, the id of an item, a file such as memory/notes.md, or checkpoint:ID
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<RecordName>,
    /// Also delete the memories that they replaced; without it, those become current again
    #[arg(long)]
    pub history: bool,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct Forget {
    /// The name, phrase or identifier to forget; the id of a memory deletes that one
    #[arg(required = true, value_name = "WORDS")]
    pub words: Vec<String>,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nacre changes --since yesterday       what was stored, changed, replaced and deleted since then
  nacre changes --session s-42          what one conversation changed
  nacre changes --device laptop         what was changed on one machine of a synced memory")]
pub struct Changes {
    /// Only changes after this time [default: one week ago]
    #[arg(long, value_name = "TIME")]
    pub since: Option<When>,
    /// Only changes on the machine with this name, in a synced memory
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
}

#[derive(Debug, Args)]
pub struct Trace {
    /// The id of any record, as for `nacre delete`
    pub id: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nacre share 2 fact-3                       shared sessions see both
  nacre share memory/2026-02-18.md:7         a line of a daily log
  nacre share 2 --undo                       hide it again")]
pub struct Share {
    /// Memories, facts, relations and lines of daily logs
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<String>,
    /// Hide them from shared sessions
    #[arg(long)]
    pub undo: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nacre quarantine --session s-42            everything that a session wrote
  nacre quarantine --source mem0             everything from an import
  nacre quarantine --token phone             everything that was written with a token
  nacre quarantine --token phone --undo      bring it back
  nacre quarantine                           list what is quarantined")]
pub struct Quarantine {
    /// Everything from this source: the format or file of an import, or an origin such as untrusted
    #[arg(long, conflicts_with = "token")]
    pub source: Option<String>,
    /// Everything that was written with this token
    #[arg(long)]
    pub token: Option<String>,
    /// Bring it back
    #[arg(long)]
    pub undo: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nacre edit 2 The port of heron is 7070     replace the text
  nacre edit 2                               edit the text in your editor
  nacre edit MEMORY.md                       edit a file of the workspace in your editor
  nacre edit 2 --type preference             change only the type")]
pub struct Update {
    /// The memory: its number, such as 2 or id:2, or the start of its id; or a file, such as MEMORY.md
    pub id: Target,
    /// The new text; `-` reads it from standard input. Without it, your editor opens (VISUAL or EDITOR)
    #[arg(value_name = "TEXT")]
    pub text: Vec<String>,
    /// The new type
    #[arg(long = "type", short, value_name = "TYPE", value_parser = entry_type())]
    pub r#type: Option<EntryType>,
    /// The new tags; they replace all tags it has
    #[arg(long = "tag", short = 'g', value_name = "TAG")]
    pub tags: Vec<String>,
    /// Remove all tags
    #[arg(long, conflicts_with = "tags")]
    pub no_tags: bool,
    /// Never show it in shared sessions
    #[arg(long)]
    pub private: bool,
    /// Show it in shared sessions again
    #[arg(long, conflicts_with = "private")]
    pub public: bool,
}

#[derive(Debug, Args)]
pub struct Brief {
    /// Answer from the memory as it was then, such as `2w` (2 weeks ago) or 2026-03-01. Documents are left out
    #[arg(long, value_name = "TIME")]
    pub as_of: Option<When>,
    /// Include the session and the time of each memory (with --json)
    #[arg(long)]
    pub include_provenance: bool,
}

#[derive(Debug, Args)]
pub struct Turn {
    #[command(flatten)]
    pub message: Text,
    /// Show the candidates too, with the evidence for and against each
    #[arg(long)]
    pub explain: bool,
    /// Archive this answer to the message and show nothing; it serves continuity and lessons. `-` reads it from
    /// standard input
    #[arg(long, value_name = "TEXT")]
    pub answer: Option<String>,
}

#[derive(Debug, Default, Subcommand)]
pub enum Lesson {
    /// List the lessons, newest first, with how well each works and which are ready for SOUL.md
    #[default]
    List,
    /// Confirm a lesson that waits, so that agents follow it
    #[command(alias = "approve")]
    Confirm {
        /// The number of the lesson
        number: i64,
    },
    /// Remove a lesson
    #[command(aliases = ["forget", "rm", "delete", "drop"])]
    Remove {
        /// The number of the lesson
        number: i64,
    },
}
