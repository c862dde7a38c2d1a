//! What projects know, tasks, collections.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use nacre::project::{ItemType, Status};
use nacre::{CollectionName, ProjectName, TaskId};

use super::value::{item_type, task_status};

#[derive(Debug, Args)]
#[command(after_help = "\
Read are Markdown and the comments of code. Left out are what .gitignore names, hidden folders, links, other people's
code, binary files, and files over 2 MiB. A file that is as it was is not read again; what is no longer said goes.")]
pub struct Extract {
    /// The folder [default: the folders of all projects there are]
    pub folder: Option<PathBuf>,
    /// What to call it [default: the folder's own name]
    #[arg(long, value_name = "NAME")]
    pub project: Option<ProjectName>,
    /// Forget the project and its items; its folder is left as it is
    #[arg(long, requires = "project", conflicts_with = "folder")]
    pub forget: bool,
}

#[derive(Debug, Args)]
pub struct Items {
    /// Words to look for; without any, by file and line
    #[arg(default_value = "")]
    pub query: String,
    /// Only this type
    #[arg(long = "type", short, value_name = "TYPE", value_parser = item_type())]
    pub r#type: Option<ItemType>,
    /// Only of this project
    #[arg(long, value_name = "NAME")]
    pub project: Option<ProjectName>,
    /// How many at most [default: 50; with --json all]
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
}

#[derive(Debug, Subcommand)]
pub enum Task {
    /// Note something that is to be done
    Add {
        /// What is to be done
        text: String,
        /// What it belongs to
        #[arg(long, short, value_name = "MILESTONE")]
        milestone: Option<String>,
        /// The lowest number comes first [default: 5]
        #[arg(long, short, value_name = "N")]
        priority: Option<i64>,
        /// By what one sees that it is done; may be given several times
        #[arg(long, value_name = "TEXT")]
        accept: Vec<String>,
        /// A task that has to be over before; may be given several times
        #[arg(long, value_name = "ID")]
        blocked_by: Vec<TaskId>,
    },
    /// Show tasks: under way, to be done by priority and age, over
    List {
        /// Only what can be started: pending, and waiting for nothing
        #[arg(long)]
        ready: bool,
        /// Only those that stand so
        #[arg(long, value_name = "STATUS", value_parser = task_status())]
        status: Option<Status>,
        /// Only of this milestone
        #[arg(long, short, value_name = "MILESTONE")]
        milestone: Option<String>,
        /// Those that were archived instead
        #[arg(long)]
        archived: bool,
    },
    /// Show one task and how it came to stand so
    Show {
        /// The task
        id: TaskId,
    },
    /// Say that it was started
    Start {
        /// The task
        id: TaskId,
    },
    /// Say that it is done
    Done {
        /// The task
        id: TaskId,
    },
    /// Say that it is to be done after all
    Reopen {
        /// The task
        id: TaskId,
    },
    /// Say that it will not be done
    Cancel {
        /// The task
        id: TaskId,
    },
    /// Have it wait for others
    Block {
        /// The task
        id: TaskId,
        /// What has to be over before; may be given several times
        #[arg(long, value_name = "ID", required = true)]
        by: Vec<TaskId>,
    },
    /// Have it wait no longer
    Unblock {
        /// The task
        id: TaskId,
        /// For this one [default: for any]
        #[arg(long, value_name = "ID")]
        by: Vec<TaskId>,
    },
    /// Put a milestone away, all of which is done or cancelled
    Archive {
        /// The milestone
        milestone: String,
    },
    /// Take in a tasks.json
    Import {
        /// The file
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub enum Collection {
    /// Add folders and files to a collection, which is made where there is none. Markdown and plain text are read;
    /// one that was stopped goes on where it was
    Add {
        /// Its name: letters, digits, `_` and `-`
        name: CollectionName,
        /// The folders and files
        #[arg(required = true, value_name = "SOURCE")]
        sources: Vec<PathBuf>,
    },
    /// Show which there are, and how they stand
    List,
    /// Follow what changed in the sources
    Reindex {
        /// Its name [default: all of them]
        name: Option<CollectionName>,
        /// Forget what is indexed and read everything again
        #[arg(long)]
        anew: bool,
    },
    /// Search one; `nacre search --scope sources` searches all
    Search {
        /// Its name
        name: CollectionName,
        /// Words to look for
        query: String,
        /// How many at most
        #[arg(long, short = 'n', value_name = "N")]
        limit: Option<usize>,
        /// Show how each score came about
        #[arg(long)]
        explain: bool,
    },
    /// Remove a collection and its database; the sources are left as they are
    Drop {
        /// Its name
        name: CollectionName,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}
