//! One memory on several machines.

use std::ffi::OsString;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nacre sync init ~/Sync/nacre          on the first machine, in a folder that Syncthing, iCloud or Dropbox copies
  nacre sync invite                     shows the phrase for another machine
  nacre sync join ~/Sync/nacre          on the other machine; asks for the phrase
  nacre sync join https://host          over another machine's `nacre serve`; asks for the phrase and a token
  nacre sync                            one round now; a running server does this by itself
  nacre sync status
  nacre sync remove laptop              shuts out a machine that was lost or stolen")]
pub struct Sync {
    /// Send deletions even if most of the synced records are gone on this machine
    #[arg(long)]
    pub allow_deletions: bool,
    #[command(subcommand)]
    pub verb: Option<SyncVerb>,
}

#[derive(Debug, Subcommand)]
pub enum SyncVerb {
    /// Start to sync this group over a folder or a server
    Init {
        /// The folder that your sync tool copies between your machines, or the URL of another machine's `nacre serve`; its token is
        /// read from standard input
        #[arg(value_name = "FOLDER|URL")]
        place: OsString,
        /// The name of this machine in the status [default: its host name]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Join the memory that a folder or a server carries; the phrase is read from standard input
    Join {
        /// The folder that your sync tool copies between your machines, or the URL of another machine's `nacre serve`; its token is
        /// read from standard input, after the phrase
        #[arg(value_name = "FOLDER|URL")]
        place: OsString,
        /// The name of this machine in the status [default: its host name]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Show the phrase with which another machine joins. A person who has it can read the memory
    Invite {
        /// Show it as a QR code too
        #[arg(long)]
        qr: bool,
    },
    /// Replace the key of the memory; the machines that are synced take the new one by themselves
    Rotate,
    /// Shut out a machine that was lost or stolen, and replace the key of the memory
    Remove {
        /// The name of the machine, or its device id
        machine: String,
    },
    /// Show the machines, how far each has read, and where deletions have arrived
    Status {
        /// Show where the deletion of this memory has arrived
        #[arg(long, value_name = "ID")]
        deleted: Option<String>,
    },
    /// Stop syncing on this machine. Its memories stay here, and on the other machines
    Leave,
}
