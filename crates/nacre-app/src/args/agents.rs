//! Other programs: hooks, client settings, plugins.

use clap::{Args, Subcommand};

use crate::clients::{CLIENTS, Client};

#[derive(Debug, Args)]
pub struct Hook {
    /// The event: SessionStart, UserPromptSubmit, PreCompact, Stop, SessionEnd, or another client's name for it
    /// [default: the event in the JSON on standard input]
    pub event: Option<String>,
    /// The client that runs the hook [default: detected from the input and the environment]
    #[arg(long, hide = true, value_name = "CLIENT", value_parser = client())]
    pub client: Option<&'static Client>,
    /// Process what earlier hooks left
    #[arg(long, hide = true)]
    pub take_in: bool,
}

#[derive(Debug, Args)]
pub struct Install {
    #[command(flatten)]
    pub clients: Clients,
    /// Also write a rules file that tells the agent when to search and store: for cursor (in the project of this
    /// folder), opencode, vscode and windsurf
    #[arg(long)]
    pub rules: bool,
    /// Undo it; the same as `nacre uninstall`
    #[arg(long)]
    pub undo: bool,
}

#[derive(Debug, Args)]
pub struct Clients {
    /// The agents; without any, Nacre asks about those found on this machine
    #[arg(value_name = "CLIENT", value_parser = client())]
    pub clients: Vec<&'static Client>,
    /// All agents found on this machine, without asking
    #[arg(long, visible_alias = "yes", conflicts_with = "clients")]
    pub all: bool,
    /// Show what would change, and write nothing
    #[arg(long)]
    pub dry_run: bool,
}

fn client() -> impl clap::builder::TypedValueParser<Value = &'static Client> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name))
        .map(|name| Client::named(&name).expect("a name of the table"))
}

#[derive(Debug, Default, Subcommand)]
pub enum Plugin {
    /// List the plugins in the settings, whether they start, and what they claim
    #[default]
    #[command(alias = "ls")]
    List,
    /// Send a message to a plugin and show its answer
    Test {
        /// The plugin's name in the settings
        name: String,
        /// The user's message
        message: String,
    },
}
