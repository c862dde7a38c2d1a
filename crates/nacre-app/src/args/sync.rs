//! One memory on several machines.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nacre sync init ~/Sync/nacre          on the first machine, in a folder that Syncthing, iCloud or Dropbox copies
  nacre sync invite                     shows the phrase for another machine
  nacre sync join ~/Sync/nacre          on the other machine; asks for the phrase
  nacre sync                            one round now; a running server does this by itself
  nacre sync status")]
pub struct Sync {
    /// Send deletions even if most of the synced records are gone on this machine
    #[arg(long)]
    pub allow_deletions: bool,
    #[command(subcommand)]
    pub verb: Option<SyncVerb>,
}

#[derive(Debug, Subcommand)]
pub enum SyncVerb {
    /// Start to sync this group over a folder
    Init {
        /// The folder that your sync tool copies between your machines
        folder: PathBuf,
        /// The name of this machine in the status [default: its host name]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Join the memory that a folder carries; the phrase is read from standard input
    Join {
        /// The folder that your sync tool copies between your machines
        folder: PathBuf,
        /// The name of this machine in the status [default: its host name]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Show the phrase with which another machine joins. A person who has it can read the memory
    Invite,
    /// Show the machines, how far each has read, and where deletions have arrived
    Status {
        /// Show where the deletion of this memory has arrived
        #[arg(long, value_name = "ID")]
        deleted: Option<String>,
    },
    /// Stop syncing on this machine. Its memories stay here, and on the other machines
    Leave,
}
