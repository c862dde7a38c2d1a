//! Projects, tasks, collections.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use nacre::project::{ItemType, Status};
use nacre::settings::ExtractBy;
use nacre::{CollectionName, ProjectName, TaskId};

use super::value::{Text, item_type, number, task_status};

#[derive(Debug, Args)]
#[command(after_help = "\
Nacre reads Markdown and comments in code. It skips what .gitignore names, hidden folders, links, vendored code, binary
files, and files over 2 MiB. Unchanged files are not read again. Items that are no longer in a file are removed.

By default rules find the items, and no text leaves this machine. With --by, or the setting `extract.by`, a program or model of
yours reads the sections of documents that it has not read before. It can only quote: the text of an item is from its file.")]
pub struct Extract {
    /// The folder [default: the folders of all known projects]
    pub folder: Option<PathBuf>,
    /// The name of the project [default: the name of the folder]
    #[arg(long, value_name = "NAME")]
    pub project: Option<ProjectName>,
    /// Remove the project and its items; the folder stays unchanged
    #[arg(long, requires = "project", conflicts_with = "folder")]
    pub forget: bool,
    /// The reader of the documents after the rules: rules (no model), command (`distil.command`) or llm (the model in `[llm]`)
    /// [default: `extract.by`]
    #[arg(long, value_name = "HOW", value_parser = extract_by, conflicts_with = "forget")]
    pub by: Option<ExtractBy>,
    /// Have the model read sections again that it read before
    #[arg(long, conflicts_with = "forget")]
    pub again: bool,
}

fn extract_by(text: &str) -> Result<ExtractBy, String> {
    let names: Vec<&str> = ExtractBy::ALL.iter().map(|by| by.as_str()).collect();
    let known = ExtractBy::ALL.iter().copied().find(|by| by.as_str() == text);
    known.ok_or_else(|| format!("it is none of {}", names.join(", ")))
}

#[derive(Debug, Args)]
pub struct Items {
    /// The words to search for; without any, list all by file and line
    #[arg(value_name = "WORDS")]
    pub query: Vec<String>,
    /// Only this type
    #[arg(long = "type", short, value_name = "TYPE", value_parser = item_type())]
    pub r#type: Option<ItemType>,
    /// Only this project
    #[arg(long, value_name = "NAME")]
    pub project: Option<ProjectName>,
    /// The maximum number [default: 50; with --json all]
    #[arg(long, short = 'n', value_name = "N", value_parser = number)]
    pub limit: Option<usize>,
}

#[derive(Debug, Subcommand)]
pub enum Task {
    /// Add a task
    Add {
        #[command(flatten)]
        text: Text,
        /// The milestone that it belongs to
        #[arg(long, short, value_name = "MILESTONE")]
        milestone: Option<String>,
        /// The priority; lower numbers come first [default: 5]
        #[arg(long, short, value_name = "N")]
        priority: Option<i64>,
        /// An acceptance criterion; repeat for several
        #[arg(long, value_name = "TEXT")]
        accept: Vec<String>,
        /// A task that must be finished first; repeat for several
        #[arg(long, value_name = "ID")]
        blocked_by: Vec<TaskId>,
    },
    /// List tasks: in progress, then pending by priority and age, then finished
    #[command(alias = "ls")]
    List {
        /// Only tasks that can be started: pending and not blocked
        #[arg(long)]
        ready: bool,
        /// Only tasks with this status
        #[arg(long, value_name = "STATUS", value_parser = task_status())]
        status: Option<Status>,
        /// Only this milestone
        #[arg(long, short, value_name = "MILESTONE")]
        milestone: Option<String>,
        /// Archived tasks instead
        #[arg(long)]
        archived: bool,
    },
    /// Show one task and its history
    Show {
        /// The task
        id: TaskId,
    },
    /// Mark a task as started
    Start {
        /// The task
        id: TaskId,
    },
    /// Mark a task as done
    Done {
        /// The task
        id: TaskId,
    },
    /// Open a task again
    Reopen {
        /// The task
        id: TaskId,
    },
    /// Cancel a task
    #[command(aliases = ["remove", "rm", "delete"])]
    Cancel {
        /// The task
        id: TaskId,
    },
    /// Block a task by others
    Block {
        /// The task
        id: TaskId,
        /// A task that must be finished first; repeat for several
        #[arg(long, value_name = "ID", required = true)]
        by: Vec<TaskId>,
    },
    /// Unblock a task
    Unblock {
        /// The task
        id: TaskId,
        /// Only this blocker [default: all]
        #[arg(long, value_name = "ID")]
        by: Vec<TaskId>,
    },
    /// Archive a milestone whose tasks are all done or cancelled
    Archive {
        /// The milestone
        milestone: String,
    },
    /// Import a tasks.json
    Import {
        /// The file
        file: PathBuf,
    },
}

#[derive(Debug, Default, Subcommand)]
pub enum Collection {
    /// Add folders and files of Markdown and plain text to a collection; a new name creates one
    ///
    /// If it is stopped midway, run it again and it continues.
    Add {
        /// The name of the collection: letters, digits, `_` and `-`
        name: CollectionName,
        /// The folders and files
        #[arg(required = true, value_name = "SOURCE")]
        sources: Vec<PathBuf>,
    },
    /// List the collections and their state
    #[default]
    #[command(alias = "ls")]
    List,
    /// Update the index with changes in the sources
    Reindex {
        /// The name of the collection [default: all]
        name: Option<CollectionName>,
        /// Discard the index and read everything again
        #[arg(long)]
        rebuild: bool,
    },
    /// Search a collection; `nacre search --scope sources` searches all
    Search {
        /// The name of the collection
        name: CollectionName,
        /// The words to search for
        #[arg(required = true, value_name = "WORDS")]
        query: Vec<String>,
        /// The maximum number of results
        #[arg(long, short = 'n', value_name = "N", value_parser = number)]
        limit: Option<usize>,
        /// Show how each score was computed
        #[arg(long)]
        explain: bool,
    },
    /// Remove a collection and its index; the sources stay unchanged
    #[command(aliases = ["drop", "rm", "delete", "forget"])]
    Remove {
        /// The name of the collection
        name: CollectionName,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

impl Default for Task {
    fn default() -> Task {
        Task::List { ready: false, status: None, milestone: None, archived: false }
    }
}
