//! The knowledge graph: questions, facts, relations, names.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::value::{Family, When, number};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nacre graph who owns heron --explain
  nacre graph port of keystone --as-of yesterday
  nacre graph fact set heron port 7070
  nacre graph relation add Petra owns heron
  nacre graph --export dot | dot -Tsvg > graph.svg")]
pub struct Graph {
    /// A question, or names and attributes; without one, list the people and things
    #[arg(value_name = "WORDS")]
    pub query: Vec<String>,
    /// The maximum number of answers [default: 6]
    #[arg(long, short = 'n', value_name = "N", value_parser = number)]
    pub limit: Option<usize>,
    /// Answer as of this time, such as yesterday, 3d or 2026-03-01
    #[arg(long, value_name = "TIME")]
    pub as_of: Option<When>,
    /// The agent asks, so "my" and "I" mean the agent
    #[arg(long)]
    pub agent: bool,
    /// Show how each score was computed
    #[arg(long)]
    pub explain: bool,
    /// Print the whole graph in a format that other programs read
    #[arg(long, value_name = "FORMAT", conflicts_with = "query")]
    pub export: Option<Format>,
    #[command(subcommand)]
    pub part: Option<GraphPart>,
}

#[derive(Debug, Subcommand)]
pub enum GraphPart {
    /// Facts about people and things
    #[command(alias = "facts")]
    Fact(Family<Fact>),
    /// Relations between people and things
    #[command(alias = "relations")]
    Relation(Family<Relation>),
    /// Other names of people and things
    #[command(alias = "aliases")]
    Alias(Family<Alias>),
    /// People and things
    #[command(alias = "entities")]
    Entity(Family<Entity>),
}

/// A format that other programs read.
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
    /// Set a fact; the earlier value is kept as history
    #[command(alias = "add")]
    Set {
        /// The person or thing, or an alias of it
        entity: String,
        /// The attribute, such as birthday or port
        key: String,
        /// The value
        value: String,
        /// The category of the entity: person, family, friend, pet, organization, project, tool, host, place, event, decision,
        /// preference, convention, document, user or self
        #[arg(long, short)]
        category: Option<String>,
        /// The importance, 0 to 1 [default: 0.5]
        #[arg(long, short, value_name = "I")]
        importance: Option<f64>,
        /// Never let it fade
        #[arg(long)]
        permanent: bool,
        /// Since when it is true, such as yesterday, 3d or 2026-03-01 [default: now]
        #[arg(long, value_name = "TIME")]
        since: Option<When>,
        /// Never show it in shared sessions
        #[arg(long)]
        private: bool,
    },
    /// List facts by entity and key
    #[command(alias = "ls")]
    List {
        /// Only facts about this person or thing
        entity: Option<String>,
        /// Only this key
        #[arg(long)]
        key: Option<String>,
        /// Only entities of this category
        #[arg(long, short)]
        category: Option<String>,
        /// Answer as of this time, such as yesterday, 3d or 2026-03-01
        #[arg(long, value_name = "TIME")]
        as_of: Option<When>,
        /// Include earlier values
        #[arg(long)]
        history: bool,
        /// The maximum number [default: 100]
        #[arg(long, short = 'n', value_name = "N", value_parser = number)]
        limit: Option<usize>,
    },
    /// Remove facts permanently
    #[command(aliases = ["rm", "delete", "forget"])]
    Remove {
        /// The id of a fact, or the name of a person or thing
        of: String,
        /// Only this key of the entity
        key: Option<String>,
    },
    /// Let a key have several values at once
    Multi {
        /// The key
        key: String,
        /// Give the key one value again, the newest
        #[arg(long)]
        off: bool,
    },
    /// Add a category to the closed list
    Category {
        /// The name of the category
        name: String,
    },
    /// Import facts, relations and aliases from a file; a second run changes nothing
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
    /// List the lines of documents that were skipped, and why
    #[command(alias = "kept-out")]
    Skipped,
}

#[derive(Debug, Subcommand)]
pub enum Relation {
    /// Add a relation, such as `Petra owns heron`
    #[command(alias = "set")]
    Add {
        /// The subject
        subject: String,
        /// The predicate, such as owns, works_at, runs_on
        predicate: String,
        /// The object
        object: String,
        /// Since when it is true, such as yesterday, 3d or 2026-03-01 [default: now]
        #[arg(long, value_name = "TIME")]
        since: Option<When>,
        /// Never show it in shared sessions
        #[arg(long)]
        private: bool,
    },
    /// List relations
    #[command(alias = "ls")]
    List {
        /// Only relations of this person or thing, on either side
        entity: Option<String>,
        /// Answer as of this time, such as yesterday, 3d or 2026-03-01
        #[arg(long, value_name = "TIME")]
        as_of: Option<When>,
        /// Include earlier values
        #[arg(long)]
        history: bool,
        /// The maximum number [default: 100]
        #[arg(long, short = 'n', value_name = "N", value_parser = number)]
        limit: Option<usize>,
    },
    /// End a relation; it is kept as history
    End {
        /// The id of the relation, or its subject
        id: String,
        /// The predicate
        #[arg(requires = "object")]
        predicate: Option<String>,
        /// The object
        object: Option<String>,
        /// Remove it from the history too
        #[arg(long)]
        remove: bool,
    },
    /// Remove a relation permanently
    #[command(aliases = ["rm", "delete", "forget"])]
    Remove {
        /// The id of the relation, or its subject
        id: String,
        /// The predicate
        #[arg(requires = "object")]
        predicate: Option<String>,
        /// The object
        object: Option<String>,
    },
}

#[derive(Debug, Default, Subcommand)]
pub enum Alias {
    /// Give a person or thing another name
    #[command(alias = "set")]
    Add {
        /// The other name, such as Mama or K8s
        alias: String,
        /// The person or thing
        entity: String,
    },
    /// Remove a name
    #[command(aliases = ["rm", "delete", "forget"])]
    Remove {
        /// The name
        alias: String,
    },
    /// List all other names
    #[default]
    #[command(alias = "ls")]
    List,
}

#[derive(Debug, Default, Subcommand)]
pub enum Entity {
    /// List people and things by name
    #[default]
    #[command(alias = "ls")]
    List,
    /// Merge two that are the same; where values differ, the newer one wins
    Merge {
        /// The one to merge
        one: String,
        /// The one to merge it into
        into: String,
    },
    /// Undo a merge
    Unmerge {
        /// The one that was merged
        name: String,
    },
    /// Remove a person or thing permanently, with its facts, relations and names
    #[command(aliases = ["rm", "delete", "forget"])]
    Remove {
        /// The person or thing
        name: String,
    },
    /// Record that two are never the same
    Distinct {
        /// The first one
        one: String,
        /// The second one
        other: String,
    },
}

impl Default for Fact {
    fn default() -> Fact {
        Fact::List { entity: None, key: None, category: None, as_of: None, history: false, limit: None }
    }
}

impl Default for Relation {
    fn default() -> Relation {
        Relation::List { entity: None, as_of: None, history: false, limit: None }
    }
}
