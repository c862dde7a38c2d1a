//! Servers: over a pipe, over HTTP, kept running; who may come in.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::value::RoleName;

#[derive(Debug, Args)]
pub struct Mcp {
    /// The session reads what strangers wrote: smaller limits
    #[arg(long)]
    pub untrusted: bool,
    /// The tools of another memory instead of our own
    #[arg(long, value_name = "SET")]
    pub tools: Option<ToolSet>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ToolSet {
    /// Those of the official MCP memory server
    MemoryServer,
}

/// A compatibility API, for programs made for another memory.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum CompatName {
    /// Anthropic's memory tool
    MemoryTool,
    /// The REST paths of mem0
    Mem0,
    /// The tools of the official MCP memory server
    MemoryServer,
}

impl CompatName {
    pub fn as_str(self) -> &'static str {
        match self {
            CompatName::MemoryTool => "memory-tool",
            CompatName::Mem0 => "mem0",
            CompatName::MemoryServer => "memory-server",
        }
    }
}

#[derive(Debug, Args)]
pub struct Serve {
    /// Where to listen; port 0 takes any that is free
    #[arg(
        long,
        value_name = "ADDR",
        default_value = "127.0.0.1:7717",
        env = "NACRE_LISTEN",
        hide_env_values = true
    )]
    pub listen: std::net::SocketAddr,
    /// The certificate to encrypt with, in PEM form
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Its key
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Another name under which this server is reached, such as memory.example:443
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// Listen for other machines without encryption, because something before this server encrypts
    #[arg(long)]
    pub plain: bool,
    /// A door to open, for programs made for another memory; those of `tools.doors` are open anyway
    #[arg(long = "door", value_name = "DOOR")]
    pub compat: Vec<CompatName>,
    /// How long a client may take for the head of a request, in milliseconds (tests)
    #[arg(long, hide = true, default_value_t = 10_000)]
    pub head_ms: u64,
    /// How long a request may take, its body included, in milliseconds (tests)
    #[arg(long, hide = true, default_value_t = 60_000)]
    pub request_ms: u64,
    /// Offer what the MCP conformance suite calls by name too (tests)
    #[cfg(debug_assertions)]
    #[arg(long, hide = true)]
    pub fixtures: bool,
}

#[derive(Debug, Subcommand)]
pub enum Service {
    /// Write the unit and start the server
    Install(ServiceInstall),
    /// Stop the server and remove the unit; the memory stays
    Uninstall,
    /// Show whether it is set up and runs
    Status,
}

#[derive(Debug, Args)]
pub struct ServiceInstall {
    /// Where to listen, if not at the usual place
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<std::net::SocketAddr>,
    /// Show the unit and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Subcommand)]
pub enum Token {
    /// Make a token for the group and show it once
    Add {
        /// A name to know it by
        name: String,
        /// For any group, not only this one
        #[arg(long)]
        any_group: bool,
        /// What its bearer may do
        #[arg(long, value_enum, default_value = "project")]
        role: RoleName,
        /// Let it see what is private; without this it is one where others read along
        #[arg(long)]
        private: bool,
        /// It is yours: it may approve, and has no limits
        #[arg(long)]
        person: bool,
        /// Its sessions read what strangers wrote: smaller limits
        #[arg(long, conflicts_with = "person")]
        untrusted: bool,
    },
    /// Show the tokens there are
    List,
    /// Let one in no more
    Remove {
        /// Its name
        name: String,
    },
}

#[derive(Debug, Args)]
pub struct Call {
    /// The tool, such as memory_search; without it, the tools are listed
    pub tool: Option<String>,
    /// Its arguments as a JSON object; `-` reads them from standard input
    #[arg(default_value = "{}")]
    pub arguments: String,
}
