//! Servers: MCP over a pipe, HTTP, the system service, access tokens.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::value::RoleName;

#[derive(Debug, Args)]
pub struct Mcp {
    /// The session reads untrusted text, so its limits are smaller
    #[arg(long)]
    pub untrusted: bool,
    /// Offer the tools of another memory system
    #[arg(long, value_name = "SET")]
    pub tools: Option<ToolSet>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ToolSet {
    /// The tools of the official MCP memory server
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
    /// The address to listen on; port 0 takes any free port
    #[arg(
        long,
        value_name = "ADDR",
        default_value = "127.0.0.1:7717",
        env = "NACRE_LISTEN",
        hide_env_values = true
    )]
    pub listen: std::net::SocketAddr,
    /// The TLS certificate, in PEM format
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The key of the TLS certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Another host name of this server, such as memory.example:443
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// Accept other machines without encryption, behind a proxy that terminates TLS
    #[arg(long)]
    pub plain: bool,
    /// A compatibility API to enable, besides those in `tools.compat`
    #[arg(long = "compat", alias = "door", value_name = "API")]
    pub compat: Vec<CompatName>,
    #[command(flatten)]
    pub oidc: Oidc,
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

// Tokens of an identity provider. (A doc comment here would become that of `nacre serve`.)
#[derive(Clone, Debug, Args)]
pub struct Oidc {
    /// Accept the tokens of this OpenID Connect issuer, such as https://id.example/realms/team
    #[arg(
        long,
        value_name = "URL",
        env = "NACRE_OIDC_ISSUER",
        hide_env_values = true,
        requires = "oidc_audience"
    )]
    pub oidc_issuer: Option<String>,
    /// The audience that a token must name
    #[arg(long, value_name = "NAME", env = "NACRE_OIDC_AUDIENCE", hide_env_values = true)]
    pub oidc_audience: Option<String>,
    /// The claim that names the member
    #[arg(
        long,
        value_name = "CLAIM",
        default_value = "preferred_username",
        env = "NACRE_OIDC_MEMBER_CLAIM",
        hide_env_values = true
    )]
    pub oidc_member_claim: String,
    /// The claim is an email address of this domain; the part before the @ is the member
    #[arg(long, value_name = "DOMAIN", env = "NACRE_OIDC_DOMAIN", hide_env_values = true)]
    pub oidc_domain: Option<String>,
    /// Accept only tokens of this group of the provider; repeat it for several
    #[arg(
        long,
        value_name = "GROUP",
        env = "NACRE_OIDC_GROUP",
        hide_env_values = true,
        value_delimiter = ','
    )]
    pub oidc_group: Vec<String>,
    /// The claim that lists the groups
    #[arg(
        long,
        value_name = "CLAIM",
        default_value = "groups",
        env = "NACRE_OIDC_GROUPS_CLAIM",
        hide_env_values = true
    )]
    pub oidc_groups_claim: String,
    /// Read the provider's keys from this file (a JSON Web Key Set) instead of its address
    #[arg(long, value_name = "FILE")]
    pub oidc_keys: Option<PathBuf>,
    /// The tokens belong to people, who may approve and have no limits; by default, to agents
    #[arg(long)]
    pub oidc_person: bool,
}

#[derive(Debug, Default, Subcommand)]
pub enum Service {
    /// Write the unit and start the server
    Install(ServiceInstall),
    /// Stop the server and remove the unit; the memory stays
    #[command(aliases = ["remove", "rm"])]
    Uninstall,
    /// Show whether the service is installed and running
    #[default]
    Status,
}

#[derive(Debug, Args)]
pub struct ServiceInstall {
    /// The address to listen on
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<std::net::SocketAddr>,
    /// Show the unit, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Default, Subcommand)]
pub enum Token {
    /// Create a token for the group and show it once
    #[command(alias = "create")]
    Add {
        /// A name for the token
        name: String,
        /// Allow all groups, not only this one
        #[arg(long)]
        any_group: bool,
        /// The role of the token's holder
        #[arg(long, value_enum, default_value = "project")]
        role: RoleName,
        /// Show private memories; without this, its sessions are shared sessions
        #[arg(long)]
        private: bool,
        /// It is your own: it can approve, and has no limits
        #[arg(long)]
        person: bool,
        /// Its sessions read untrusted text, so their limits are smaller
        #[arg(long, conflicts_with = "person")]
        untrusted: bool,
    },
    /// List the tokens
    #[default]
    #[command(alias = "ls")]
    List,
    /// Revoke a token
    #[command(aliases = ["revoke", "rm", "delete"])]
    Remove {
        /// The name of the token
        name: String,
    },
}

#[derive(Debug, Args)]
pub struct Call {
    /// The tool, such as memory_search; without it, list the tools
    pub tool: Option<String>,
    /// Its arguments as a JSON object; `-` reads them from standard input
    #[arg(default_value = "{}")]
    pub arguments: String,
}
