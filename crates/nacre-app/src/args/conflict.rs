//! Conflicts between stored statements.

use clap::{Subcommand, ValueEnum};

/// Examples for the help.
pub const CONFLICT_EXAMPLES: &str = "\
Examples:
  nacre conflicts                            the open conflicts, with both sides and dates
  nacre conflicts keep 3 second              the second statement of conflict 3 is right
  nacre conflicts keep 3 both                both are right; never ask about them again
  nacre conflicts replace 3 heron listens on port 7071
  nacre conflicts undo 3";

#[derive(Debug, Default, Subcommand)]
pub enum Conflict {
    /// List the open conflicts, the last found first
    #[default]
    #[command(alias = "ls")]
    List,
    /// Keep one statement, or both. The other memory is superseded, the other fact ends, and for a line of a file an edit is
    /// proposed
    Keep {
        /// The number of the conflict
        number: i64,
        /// The statement that is right
        side: Side,
    },
    /// Keep both statements
    #[command(hide = true)]
    Both {
        /// The number of the conflict
        number: i64,
    },
    /// Store a statement that replaces both
    Replace {
        /// The number of the conflict
        number: i64,
        /// The text, with or without quotes; without it, or with `-`, standard input is read
        #[arg(value_name = "TEXT")]
        words: Vec<String>,
    },
    /// Compare all memories and facts with each other, such as those of a large import
    Find,
    /// Undo how a conflict was settled: the statement that lost is current again
    Undo {
        /// The number of the conflict
        number: i64,
    },
}

/// A side of a conflict.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Side {
    First,
    Second,
    Both,
}

impl From<Side> for nacre::call::conflict::KeepChoice {
    fn from(side: Side) -> nacre::call::conflict::KeepChoice {
        match side {
            Side::First => nacre::call::conflict::KeepChoice::First,
            Side::Second => nacre::call::conflict::KeepChoice::Second,
            Side::Both => nacre::call::conflict::KeepChoice::Both,
        }
    }
}
