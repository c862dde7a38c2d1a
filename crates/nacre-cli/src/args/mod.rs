//! Flags and environment, read only here. The doc comments are the help, the man page and the completions.

mod agents;
mod care;
mod graph;
mod memory;
mod project;
mod serve;
mod session;
mod value;
mod workspace;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use nacre::{GroupName, SessionId, Time, Visibility};

pub use agents::*;
pub use care::*;
pub use graph::*;
pub use memory::*;
pub use project::*;
pub use serve::*;
pub use session::*;
pub use value::RoleName;
pub use workspace::*;

use value::{time, visibility};

/// Persistent memory for AI agents, on your own machine. No LLM, no API key, no download.
///
/// A memory is an entry: one statement with a type. Agents store and find entries over MCP (`nacre mcp`); you
/// do the same here.
#[derive(Debug, Parser)]
#[command(
    name = "nacre",
    version,
    max_term_width = 100,
    after_help = "\
First steps:
  nacre store \"I prefer tabs over spaces\" --type preference
  nacre search \"indentation tabs\"
  nacre brief                                what an agent sees when a session starts
  nacre install claude-code                  give Claude Code this memory
Exit codes: 0 done, 1 internal, 2 bad request, 3 not found, 4 conflict, 5 denied, 6 limit, 7 unavailable."
)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// The folder that holds everything [default: the platform's data folder]
    #[arg(long, global = true, value_name = "DIR", env = "NACRE_HOME", hide_env_values = true)]
    pub home: Option<PathBuf>,
    /// The group: each has a memory of its own
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        env = "NACRE_GROUP",
        default_value = "main",
        hide_env_values = true
    )]
    pub group: GroupName,
    /// The conversation this belongs to [default: a new one]
    #[arg(long, global = true, value_name = "ID", env = "NACRE_SESSION", hide_env_values = true)]
    pub session: Option<SessionId>,
    /// The profile that sets the policies: balanced, carapace, gated, brain, nanoclaw, koshi
    #[arg(long, global = true, value_name = "NAME", env = "NACRE_PROFILE", hide_env_values = true)]
    pub profile: Option<String>,
    /// Change one setting for this call, such as brief.max_entries=20
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Whether others read along: then what is private is not shown
    #[arg(
        long,
        global = true,
        value_name = "WHO",
        env = "NACRE_VISIBILITY",
        default_value = "private",
        value_parser = visibility(),
        hide_env_values = true
    )]
    pub visibility: Visibility,
    /// What may be done: admin (everything), project (its own group) or skill (nothing: it is handed what it needs) [default:
    /// admin, for agents project]
    #[arg(long, global = true, value_enum, value_name = "ROLE", env = "NACRE_ROLE", hide_env_values = true)]
    pub role: Option<RoleName>,
    /// Answer with one JSON value and nothing else
    #[arg(long, global = true)]
    pub json: bool,
    /// The moment this call counts as; for tests
    #[arg(long, global = true, value_name = "TIME", env = "NACRE_NOW", hide = true, value_parser = time)]
    pub now: Option<Time>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make the home and its group, with a commented settings file and a workspace to fill in. What is there
    /// is left alone
    #[command(after_help = workspace::templates())]
    Init(Init),
    /// Remember one thing
    Store(Store),
    /// Find memories and documents by words, type and tags; without any, the newest memories
    Search(Search),
    /// Show one memory in full
    Show(Named),
    /// Correct a memory in place; the earlier text is kept as history
    Update(Update),
    /// Say that a memory helped: it ranks higher and counts as fresh
    Reinforce(Named),
    /// Say that a memory was of no use: it ranks lower
    Demote(Named),
    /// Delete a memory for good, every trace of it
    Delete(Named),
    /// Show what a memory replaced, what replaced it, and how it read before
    History(Named),
    /// Show what an agent is told at the start of a session
    Brief(Brief),
    /// Show what a session starts with: the files of the workspace, the brief, which skills there are
    Boot(Boot),
    /// Show a file of the workspace, or some of its lines
    Get(Get),
    /// Propose a change of a file, to be looked at and approved later
    Propose(Propose),
    /// Show which writes wait for you
    Pending(Pending),
    /// Do what was proposed
    Approve(Approve),
    /// Drop what was proposed
    Deny(Deny),
    /// Undo what an approved proposal did to its file
    Revert(Decided),
    /// What was proposed
    #[command(subcommand)]
    Proposal(Proposal),
    /// Add a line to today's log; without one, show it
    Log(Log),
    /// Show how long MEMORY.md is, and which of its lines were of no use for longest
    Memory(MemoryFile),
    /// Propose what should move upward: from logs to MEMORY.md, from there to facts, from lessons to SOUL.md
    Promote(Promote),
    /// The rules of memory/gating-policies.md
    #[command(subcommand)]
    Policy(Policy),
    /// Ask the knowledge graph about people, things and how they belong together
    Graph(Graph),
    /// What is known of people and things
    #[command(subcommand)]
    Fact(Fact),
    /// How people and things belong together
    #[command(subcommand)]
    Relation(Relation),
    /// Other names of people and things
    #[command(subcommand)]
    Alias(Alias),
    /// Who and what is known
    #[command(subcommand)]
    Entity(Entity),
    /// Show what is put before a message: what is remembered and helps with it, mostly nothing
    Turn(Turn),
    /// What was learned from corrections
    #[command(subcommand)]
    Lesson(Lesson),
    /// Serve agents over MCP on standard input and output
    Mcp(Mcp),
    /// Answer Anthropic's memory tool: its input as a line of JSON, its result as another
    MemoryTool,
    /// Serve every client of this machine over HTTP: REST, events and the page
    Serve(Serve),
    /// Open the page, where you see, search, correct and approve what is remembered
    Ui(Serve),
    /// Who may come in over HTTP
    #[command(subcommand)]
    Token(Token),
    /// Have the system keep `nacre serve` running for you, by systemd or launchd
    #[command(subcommand)]
    Service(Service),
    /// Answer a hook of an agent: JSON in, JSON out. `nacre install` sets them up
    Hook(Hook),
    /// Set an agent up with this memory: the MCP server and the hooks, in its own settings
    Install(Install),
    /// Take this memory out of an agent's settings, and leave them as they were
    Uninstall(Clients),
    /// Call a tool with JSON arguments, as an agent would
    Call(Call),
    /// Show how much is remembered and where
    Status,
    /// Check everything and say how to mend what is wrong
    Doctor,
    /// Try everything once in a home that is thrown away, and look at this one: what to send when something is wrong
    SelfCheck,
    /// Show the settings in force
    Settings(Settings),
    /// The log of every write and refusal
    #[command(subcommand)]
    Audit(Audit),
    /// Show what happens, as it happens
    Events(Events),
    /// Write everything into a folder, as Markdown and JSON
    Export(Export),
    /// Bring memories in: of other programs, or what `nacre export` wrote
    Import(Import),
    /// Conversations: those of other programs, brought in, and transcripts of your own agent
    #[command(subcommand)]
    Session(Session),
    /// Corpora of books, papers and the like, searched apart from the memory
    #[command(subcommand)]
    Collection(Collection),
    /// Take knowledge out of a project's documents and code: decisions, tasks, claims, entities, notes, with file and line
    Extract(Extract),
    /// Show what was taken out of projects
    Items(Items),
    /// What is to be done, in what order, and what waits for what
    #[command(subcommand)]
    Task(Task),
    /// The files and records as they are now, kept to go back to before something risky
    #[command(subcommand)]
    Checkpoint(Checkpoint),
    /// Make the message that hands a task to a skill, with what is remembered that helps
    Handover(Handover),
    /// The models that turn text into vectors
    #[command(subcommand)]
    Model(Model),
    /// Programs of yours that add lines to turns or make the brief
    #[command(subcommand)]
    Plugin(Plugin),
    /// Bring the index up to date with the documents: the Markdown files in the group's folder. A search does
    /// so by itself; this shows what became of each
    Index,
    /// Make the search index anew
    Reindex,
    /// Do what is due: let facts fade that nobody recalls, bring collections up to date, purge what was superseded long
    /// ago, archive what ranks lowest in a database that is too large, pack old transcripts, move lines of logs to the
    /// archive. A running server does so by itself
    Maintain(Maintain),
    /// Try it: store and find a first memory in an empty home that is thrown away afterwards
    Demo,
    /// Say how to run the benchmarks
    #[command(hide = true)]
    Bench {
        #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Print completions for a shell
    Completions(Completions),
    /// Print the manual page
    #[command(hide = true)]
    Man,
}

/// Tells whether the flags ask for JSON, where they can't be read as a whole.
pub fn ask_for_json() -> bool {
    std::env::args_os().take_while(|argument| argument != "--").any(|argument| argument == "--json")
}

/// Tells whether the flags ask for a hook, where they can't be read as a whole: a hook never fails.
pub fn ask_for_hook() -> bool {
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--home" | "--group" | "--session" | "--profile" | "--set" | "--now") => {
                drop(arguments.next())
            }
            Some(flag) if flag.starts_with('-') => {}
            word => return word == Some("hook"),
        }
    }
    false
}
