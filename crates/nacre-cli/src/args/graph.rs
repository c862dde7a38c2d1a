//! Facts, relations, names.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use nacre::Time;

use super::value::time;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nacre graph \"when is Mama's birthday?\"
  nacre graph \"who owns heron\" --explain
  nacre graph \"port of keystone\" --as-of 2026-03-01T00:00:00Z
  nacre graph --export dot | dot -Tsvg > graph.svg")]
pub struct Graph {
    /// A question, or names and what is asked of them
    #[arg(required_unless_present = "export")]
    pub query: Option<String>,
    /// How many at most [default: 6]
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
    /// What held then
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub as_of: Option<Time>,
    /// The agent asks: "my" and "I" mean the agent
    #[arg(long)]
    pub agent: bool,
    /// Show how each score came about
    #[arg(long)]
    pub explain: bool,
    /// Print the whole graph for other programs instead
    #[arg(long, value_name = "FORMAT", conflicts_with = "query")]
    pub export: Option<Format>,
}

/// A form that other programs read.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Format {
    Json,
    Dot,
    Graphml,
}

impl From<Format> for nacre::graph::Format {
    fn from(format: Format) -> nacre::graph::Format {
        match format {
            Format::Json => nacre::graph::Format::Json,
            Format::Dot => nacre::graph::Format::Dot,
            Format::Graphml => nacre::graph::Format::GraphMl,
        }
    }
}

#[derive(Debug, Subcommand)]
pub enum Fact {
    /// Say that something is so; the value before is kept as history
    Set {
        /// Whom or what it is about; an alias does too
        entity: String,
        /// What of it, such as birthday or port
        key: String,
        /// Its value
        value: String,
        /// Of the entity: person, family, friend, pet, organization, project, tool, host, place, event, decision,
        /// preference, convention, document, user or self
        #[arg(long, short)]
        category: Option<String>,
        /// 0 to 1 [default: 0.5]
        #[arg(long, short, value_name = "I")]
        importance: Option<f64>,
        /// It never fades
        #[arg(long)]
        permanent: bool,
        /// Since when [default: now]
        #[arg(long, value_name = "TIME", value_parser = time)]
        since: Option<Time>,
        /// Never shown where others read along
        #[arg(long)]
        private: bool,
    },
    /// Show facts by entity and key
    List {
        /// Only of this one
        entity: Option<String>,
        /// Only this key
        #[arg(long)]
        key: Option<String>,
        /// Only of this category
        #[arg(long, short)]
        category: Option<String>,
        /// What held then
        #[arg(long, value_name = "TIME", value_parser = time)]
        as_of: Option<Time>,
        /// Also what held before
        #[arg(long)]
        history: bool,
        /// How many at most [default: 100]
        #[arg(long, short = 'n', value_name = "N")]
        limit: Option<usize>,
    },
    /// Remove facts for good
    Remove {
        /// The id of a fact, or the name of an entity
        of: String,
        /// Only this key of the entity
        key: Option<String>,
    },
    /// Let a key have several values at once
    Multi {
        /// The key
        key: String,
        /// It has one value again: the newest
        #[arg(long)]
        off: bool,
    },
    /// Add a category to the closed list
    Category {
        /// Its name
        name: String,
    },
    /// Take facts, relations and aliases in from a file; twice is the same as once
    #[command(after_help = "\
A seed is TOML (or JSON of the same shape):
  multi = [\"allergy\"]
  [[fact]]
  entity = \"Heidi Boyd\"
  key = \"birthday\"
  value = \"7 July 1956\"
  category = \"family\"
  [[relation]]
  subject = \"Heidi Boyd\"
  predicate = \"lives_in\"
  object = \"Lisbon\"
  [[alias]]
  alias = \"Mama\"
  entity = \"Heidi Boyd\"
  [[distinct]]
  a = \"Heidi Boyd\"
  b = \"Heidi Boyle\"")]
    Seed {
        /// The file
        file: PathBuf,
    },
    /// Show what was read from documents and not taken in, and why
    KeptOut,
}

#[derive(Debug, Subcommand)]
pub enum Relation {
    /// Say how two belong together, such as `Petra owns heron`
    Add {
        /// Who or what
        subject: String,
        /// How, such as owns, works_at, runs_on
        predicate: String,
        /// Whom or what
        object: String,
        /// Since when [default: now]
        #[arg(long, value_name = "TIME", value_parser = time)]
        since: Option<Time>,
        /// Never shown where others read along
        #[arg(long)]
        private: bool,
    },
    /// Show relations
    List {
        /// Only of this one, at either end
        entity: Option<String>,
        /// What held then
        #[arg(long, value_name = "TIME", value_parser = time)]
        as_of: Option<Time>,
        /// Also what held before
        #[arg(long)]
        history: bool,
        /// How many at most [default: 100]
        #[arg(long, short = 'n', value_name = "N")]
        limit: Option<usize>,
    },
    /// Say that one holds no longer; it stays as history
    End {
        /// Its id, or its subject
        id: String,
        /// Its predicate
        #[arg(requires = "object")]
        predicate: Option<String>,
        /// Its object
        object: Option<String>,
        /// Leave no trace of it
        #[arg(long)]
        remove: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum Alias {
    /// Give a person or thing another name
    Add {
        /// The other name, such as Mama or K8s
        alias: String,
        /// Whose it is
        entity: String,
    },
    /// Take a name away
    Remove {
        /// The name
        alias: String,
    },
    /// Show every other name
    List,
}

#[derive(Debug, Subcommand)]
pub enum Entity {
    /// Show who and what is known, by name
    List,
    /// Join two that are the same; of two values the newer holds
    Merge {
        /// The one that counts as the other from now on
        one: String,
        /// The other
        into: String,
    },
    /// Undo a merge
    Unmerge {
        /// The one that was merged into another
        name: String,
    },
    /// Forget one for good: its facts, its relations, its names
    Remove {
        /// Who or what
        name: String,
    },
    /// Say that two are never the same
    Distinct {
        /// One
        one: String,
        /// The other
        other: String,
    },
}
