//! Memories that name something that is gone.

use clap::Subcommand;

use super::EntryName;

/// Examples for the help.
pub const STALE_EXAMPLES: &str = "\
Examples:
  nacre stale                                memories that name a file, flag, version, command or branch that is gone
  nacre stale check                          compare all memories with the repositories of their projects now
  nacre stale keep 12                        memory 12 is right; do not mark it";

#[derive(Debug, Default, Subcommand)]
pub enum Stale {
    /// List the memories that name something that is gone, the last found first
    #[default]
    #[command(alias = "ls")]
    List,
    /// Compare memories with the repositories of their projects now, instead of at the next maintenance
    Check,
    /// Take the mark off a memory that is right
    Keep {
        /// The memory
        id: EntryName,
    },
}
