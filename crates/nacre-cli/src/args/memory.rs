//! What is remembered: store, find, correct, turns and lessons.

use clap::{Args, Subcommand};
use nacre::{CollectionName, EntryRef, EntryType, Time};

use super::value::{entry_type, time};

#[derive(Debug, Args)]
pub struct Store {
    /// What to remember, as one statement; `-` reads it from standard input
    pub text: String,
    /// What sort of memory it is [default: fact]
    #[arg(long = "type", short, value_name = "TYPE", value_parser = entry_type())]
    pub r#type: Option<EntryType>,
    /// A keyword; may be given several times
    #[arg(long = "tag", short = 'g', value_name = "TAG")]
    pub tags: Vec<String>,
    /// The memory that this one replaces
    #[arg(long, value_name = "ID")]
    pub supersedes: Option<EntryRef>,
    /// Never show it where others read along
    #[arg(long)]
    pub private: bool,
}

#[derive(Debug, Args)]
pub struct Search {
    /// Words to look for
    #[arg(default_value = "")]
    pub query: String,
    /// How many at most
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
    /// Where to look: entries, memory (documents), sessions, sources (collections), graph, items
    /// (of projects, and tasks) [default: entries,memory,graph]
    #[arg(long, value_name = "SCOPE", value_delimiter = ',')]
    pub scope: Vec<String>,
    /// Only in this collection
    #[arg(long, value_name = "NAME")]
    pub collection: Option<CollectionName>,
    /// Only this type
    #[arg(long = "type", short, value_name = "TYPE", value_parser = entry_type())]
    pub r#type: Option<EntryType>,
    /// Only what has this tag; several must all be there
    #[arg(long = "tag", short = 'g', value_name = "TAG")]
    pub tags: Vec<String>,
    /// Also what was superseded
    #[arg(long)]
    pub include_superseded: bool,
    /// Also what was archived
    #[arg(long)]
    pub include_archived: bool,
    /// When the question is asked, for relative dates [default: now]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub at: Option<Time>,
    /// Show how each score came about
    #[arg(long)]
    pub explain: bool,
}

#[derive(Debug, Args)]
pub struct Named {
    /// The memory: its id, or the number that listings show
    pub id: EntryRef,
}

#[derive(Debug, Args)]
pub struct Update {
    /// The memory: its id, or the number that listings show
    pub id: EntryRef,
    /// The new text; `-` reads it from standard input
    pub text: Option<String>,
    /// The new type
    #[arg(long = "type", short, value_name = "TYPE", value_parser = entry_type())]
    pub r#type: Option<EntryType>,
    /// The new tags, in place of all there are
    #[arg(long = "tag", short = 'g', value_name = "TAG")]
    pub tags: Vec<String>,
    /// Take all tags away
    #[arg(long, conflicts_with = "tags")]
    pub no_tags: bool,
    /// Never show it where others read along
    #[arg(long)]
    pub private: bool,
    /// Show it there too
    #[arg(long, conflicts_with = "private")]
    pub public: bool,
}

#[derive(Debug, Args)]
pub struct Brief {
    /// Also say which session wrote each memory, and when (with --json)
    #[arg(long)]
    pub include_provenance: bool,
}

#[derive(Debug, Args)]
pub struct Turn {
    /// What the user says; `-` reads it from standard input
    pub message: String,
    /// Also show what was considered, and what spoke for and against it
    #[arg(long)]
    pub explain: bool,
    /// Archive this answer to the message, instead of showing anything: for continuity and lessons; `-` reads it from
    /// standard input
    #[arg(long, value_name = "TEXT")]
    pub answer: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Lesson {
    /// Show the lessons, newest first, how well each works, and which are ready for SOUL.md
    List,
    /// Forget one
    Forget {
        /// Its number
        number: i64,
    },
}
