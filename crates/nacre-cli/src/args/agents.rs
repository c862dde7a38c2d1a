//! Agents of others: hooks, settings, plugins.

use clap::{Args, Subcommand};

use crate::clients::{CLIENTS, Client};

#[derive(Debug, Args)]
pub struct Hook {
    /// What happened: SessionStart, UserPromptSubmit, PreCompact, Stop, SessionEnd, or another client's word for it
    /// [default: what the JSON on standard input says]
    pub event: Option<String>,
    /// Take in what earlier hooks put down
    #[arg(long, hide = true)]
    pub take_in: bool,
}

#[derive(Debug, Args)]
pub struct Install {
    #[command(flatten)]
    pub clients: Clients,
    /// Take it back; the same as `nacre uninstall`
    #[arg(long)]
    pub undo: bool,
}

#[derive(Debug, Args)]
pub struct Clients {
    /// The agents; without any, you are asked about each that is found on this machine
    #[arg(value_name = "CLIENT", value_parser = client())]
    pub clients: Vec<&'static Client>,
    /// Take all that are found, and ask nothing
    #[arg(long, visible_alias = "yes", conflicts_with = "clients")]
    pub all: bool,
    /// Show what would change and write nothing
    #[arg(long)]
    pub dry_run: bool,
}

fn client() -> impl clap::builder::TypedValueParser<Value = &'static Client> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name))
        .map(|name| Client::named(&name).expect("a name of the table"))
}

#[derive(Debug, Subcommand)]
pub enum Plugin {
    /// Show which plugins the settings name, whether they start, and what they claim
    List,
    /// Ask a plugin about a message and show what it says
    Test {
        /// Its name in the settings
        name: String,
        /// What the user says
        message: String,
    },
}
