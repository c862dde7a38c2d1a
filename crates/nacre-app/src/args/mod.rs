//! Flags and environment, read only here. The doc comments are the help, the man page and the completions.

mod agents;
mod care;
mod conflict;
mod graph;
mod help;
mod memory;
mod project;
#[cfg(test)]
mod reference;
mod serve;
mod session;
mod stale;
mod sync;
mod team;
mod typo;
mod value;
mod workspace;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use nacre::{GroupName, SessionId, Time, Visibility};

pub use agents::*;
pub use care::*;
pub use conflict::*;
pub use graph::*;
pub use memory::*;
pub use project::*;
pub use serve::*;
pub use session::*;
pub use stale::*;
pub use sync::*;
pub use team::*;
pub use value::{EntryName, Family, RecordName, RoleName, Target, When};
pub use workspace::*;

use crate::render::ColorChoice;
use value::{time, visibility};

/// Persistent memory for AI agents, on your own machine. No LLM, no API key, no download.
///
/// Nacre keeps memories: short statements with a type. Agents store and search them over MCP (`nacre mcp`). You do the
/// same with these commands.
#[derive(Debug, Parser)]
#[command(name = "nacre", version, max_term_width = 100, disable_help_subcommand = true, after_help = help::EXIT_CODES)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Reads the command line.
pub fn parse() -> Result<Cli, clap::Error> {
    let words: Vec<OsString> = std::env::args_os().collect();
    // Asked for by scripts and editors at every start, and needs no description of the commands.
    if let [_, only] = words.as_slice()
        && (only == "--version" || only == "-V")
    {
        let bare = clap::Command::new("nacre").version(env!("CARGO_PKG_VERSION"));
        bare.try_get_matches_from(&words)?;
    }
    match parse_named(&words) {
        Some(cli) => Ok(cli),
        None => parse_from(words),
    }
}

/// Reads a correct command line. Only the commands that it may name are described to clap, which copies the global options to
/// each of them. If anything is wrong, or help is asked for, the whole description is needed.
fn parse_named(words: &[OsString]) -> Option<Cli> {
    let is_named = |command: &&clap::Command| {
        let mut names = command.get_all_aliases().chain([command.get_name()]);
        names.any(|name| words.iter().any(|word| word == name))
    };
    let all = Command::augment_subcommands(clap::Command::new("nacre"));
    let named = all.get_subcommands().filter(is_named).cloned();
    let bare = Global::augment_args(clap::Command::new("nacre")).disable_help_subcommand(true);
    let matches = bare.subcommands(named).try_get_matches_from(words).ok()?;
    keep_heap();
    Cli::from_arg_matches(&matches).ok()
}

fn parse_from<T: Into<OsString> + Clone>(words: impl IntoIterator<Item = T>) -> Result<Cli, clap::Error> {
    let mut command = with_help();
    let matches = command.try_get_matches_from_mut(words);
    keep_heap();
    matches
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .map_err(|problem| typo::explain(problem, command))
}

/// Takes the last block of the heap and keeps it. Without it the half megabyte of the command line's description, once
/// freed, goes back to the kernel, and whatever runs next faults it in again: half a millisecond of every command.
fn keep_heap() {
    std::mem::forget(Vec::<u8>::with_capacity(16 << 10));
}

/// Returns the help that lists every command and option.
pub fn help_of_all() -> String {
    let mut command = with_help();
    command.build();
    help::all(&command)
}

/// Returns what `nacre WORDS… --help` says.
pub fn help_of(words: &[String]) -> Option<clap::Error> {
    let words = words.iter().map(String::as_str);
    parse_from(["nacre"].into_iter().chain(words).chain(["--help"])).err()
}

/// Returns the whole command line, with the help that lists the commands by group.
fn with_help() -> clap::Command {
    let command = Cli::command();
    let text = help::short(&command);
    command.override_help(text)
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options for every command")]
pub struct Global {
    /// The data folder, or the URL of a PostgreSQL database [default: the platform's data folder]
    #[arg(long, global = true, value_name = "DIR", env = "NACRE_HOME", hide_env_values = true)]
    pub home: Option<PathBuf>,
    /// The group; each group has its own separate memory
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        env = "NACRE_GROUP",
        default_value = "main",
        hide_env_values = true
    )]
    pub group: GroupName,
    /// The conversation that this call belongs to [default: a new one]
    #[arg(long, global = true, value_name = "ID", env = "NACRE_SESSION", hide_env_values = true)]
    pub session: Option<SessionId>,
    /// The profile, a named set of policies: default, minimal, strict, files, graph, feedback
    #[arg(long, global = true, value_name = "NAME", env = "NACRE_PROFILE", hide_env_values = true)]
    pub profile: Option<String>,
    /// Change one setting for this call, such as brief.max_entries=20
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// `shared` hides private memories, because other people can see this session
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
    /// The caller's role: admin (everything), project (its own group) or skill (nothing) [default: admin, for agents
    /// project]
    #[arg(long, global = true, value_enum, value_name = "ROLE", env = "NACRE_ROLE", hide_env_values = true)]
    pub role: Option<RoleName>,
    /// Print one JSON value and nothing else
    #[arg(long, global = true)]
    pub json: bool,
    /// When to use colors
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t)]
    pub color: ColorChoice,
    /// The time that this call assumes; for tests
    #[arg(long, global = true, value_name = "TIME", env = "NACRE_NOW", hide = true, value_parser = time)]
    pub now: Option<Time>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Remember something
    #[command(aliases = ["add", "remember"])]
    Store(Store),
    /// Find memories and documents; without words, list the newest memories
    #[command(aliases = ["find", "recall", "ls", "list"])]
    Search(Search),
    /// Show one memory in full, or a file of the workspace
    Show(Show),
    /// Correct a memory; without a new text, in your editor. Its history is kept
    #[command(alias = "edit")]
    Update(Update),
    /// Delete memories or other records permanently, with what was derived from them
    #[command(aliases = ["rm", "remove"])]
    Delete(Delete),
    /// Find everything that contains a name or a phrase, show it, and delete it permanently
    Forget(Forget),
    /// Show where a record came from and everything it touched
    Trace(Trace),
    /// Show private records to shared sessions, or hide them again
    Share(Share),
    /// Take everything that a session, a source or a token wrote out of recall, or undo that
    Quarantine(Quarantine),
    /// List the changes that wait for your approval
    Pending(Pending),
    /// Apply changes that wait for your approval
    Approve(Approve),
    /// Import memories from other programs, or from a Nacre export
    Import(Import),
    /// Connect an agent: add the MCP server and hooks to its settings
    #[command(alias = "connect")]
    Install(Install),
    /// Open the dashboard in your browser
    Ui(Serve),
    /// Show how much is stored, and where
    Status,
    /// Check everything, and say how to fix what is wrong
    Doctor,

    /// Find lines by exact text or a regular expression, in memories, documents and transcripts
    Grep(Grep),
    /// Show what a memory replaced, what replaced it, and its earlier texts
    History(EntryArg),
    /// Show what was stored, changed, replaced and deleted, as a diff
    Changes(Changes),
    /// Mark a memory as helpful, so that it ranks higher
    Reinforce(EntryArg),
    /// Mark a memory as unhelpful, so that it ranks lower
    Demote(EntryArg),
    /// Make an archived memory current again
    Unarchive(EntryArg),
    /// List statements that contradict each other, and settle which one is right
    #[command(alias = "conflict", after_help = CONFLICT_EXAMPLES)]
    Conflicts(Family<Conflict>),
    /// List memories that name a file, flag, version, command or branch that is gone from their project
    #[command(after_help = STALE_EXAMPLES)]
    Stale(Family<Stale>),
    /// Show the summary that an agent gets when a session starts
    Brief(Brief),
    /// Reject changes that wait for your approval
    #[command(alias = "reject")]
    Deny(Deny),
    /// Undo a change that you approved
    Revert(ProposalName),
    /// Show a proposed change
    #[command(subcommand, hide = true)]
    Proposal(Proposal),
    /// List, add and remove groups
    #[command(alias = "groups")]
    Group(Family<GroupVerb>),
    /// Show and change settings
    Config(Config),
    /// Show the settings
    #[command(hide = true)]
    Settings(Config),

    /// Read, propose and log in the Markdown files of the workspace
    #[command(subcommand, alias = "files")]
    File(FilePart),
    /// Show a file of the workspace, or some of its lines
    #[command(hide = true)]
    Get(Get),
    /// Propose a change to a file, for you to approve later
    #[command(hide = true)]
    Propose(Propose),
    /// Add a line to today's log; without one, show today's log
    #[command(hide = true)]
    Log(Log),
    /// Show how long MEMORY.md is, and which lines have been unused the longest
    #[command(hide = true)]
    Memory(MemoryFile),
    /// Propose to move log lines to MEMORY.md, its lines to facts, and lessons to SOUL.md
    #[command(hide = true)]
    Promote(Promote),
    /// The rules in memory/gating-policies.md
    #[command(hide = true)]
    Policy(Family<Policy>),
    /// Lessons learned from your corrections
    #[command(hide = true)]
    Lesson(Family<Lesson>),
    /// Ask the knowledge graph about people and things, and edit its facts and relations
    Graph(Graph),
    /// Facts about people and things
    #[command(hide = true, alias = "facts")]
    Fact(Family<Fact>),
    /// Relations between people and things
    #[command(hide = true, alias = "relations")]
    Relation(Family<Relation>),
    /// Other names of people and things
    #[command(hide = true, alias = "aliases")]
    Alias(Family<Alias>),
    /// People and things in the knowledge graph
    #[command(hide = true, alias = "entities")]
    Entity(Family<Entity>),

    /// Imported conversations, and transcripts of your own agent
    #[command(alias = "sessions")]
    Session(Family<Session>),
    /// Take decisions, corrections, preferences and facts out of conversations, as memories
    ///
    /// Each memory names the message it was taken from. Messages that were read before are skipped. The write policy
    /// for agents decides whether a memory is stored or waits for your approval.
    Distil(Distil),
    /// Tasks, their order, and which task blocks which
    #[command(alias = "tasks")]
    Task(Family<Task>),
    /// Extract decisions, tasks, claims and notes from a project's documents and code
    Extract(Extract),
    /// List what was extracted from projects
    Items(Items),
    /// Collections of books and papers, searched apart from the memory
    #[command(alias = "collections")]
    Collection(Family<Collection>),

    /// Remove Nacre from an agent's settings, and restore them
    #[command(alias = "disconnect")]
    Uninstall(Clients),
    /// Serve agents over MCP on standard input and output
    Mcp(Mcp),
    /// Serve this machine over HTTP: REST, MCP, events and the dashboard
    Serve(Serve),
    /// Run `nacre serve` as a systemd or launchd service
    Service(Family<Service>),
    /// Manage access tokens
    #[command(alias = "tokens")]
    Token(Family<Token>),
    /// Answer an agent's hook: JSON in, JSON out. `nacre install` sets hooks up
    Hook(Hook),
    /// Call a tool with JSON arguments, as an agent would
    Call(Call),
    /// Show which memories would be added before a message; for most messages, none
    Turn(Turn),
    /// Show what a session starts with: workspace files, the brief, and the skills
    Boot(Boot),
    /// Build the message that hands a task to a skill, with the memories that help
    Handover(Handover),
    /// Answer Anthropic's memory tool: one line of JSON in, one line out
    MemoryTool,
    /// Programs of yours that add lines to turns or write the brief
    #[command(alias = "plugins")]
    Plugin(Family<Plugin>),

    /// Create the data folder and a group, with a settings file and a workspace. Existing files stay unchanged
    #[command(after_help = workspace::templates())]
    Init(Init),
    /// Keep one memory on several machines, over any folder that is copied between them
    Sync(Sync),
    /// Run the maintenance that is due. A running server does this by itself
    ///
    /// The jobs: let unused facts fade, update collections, purge memories that were replaced long ago, archive the
    /// lowest-ranked memories of a database that is too large, pack old transcripts, archive old log
    /// lines, make missing vectors of lines of documents.
    Maintain(Maintain),
    /// Bring the index up to date with the Markdown files, and report each file. A search does this by itself
    Index,
    /// Rebuild the search index
    Reindex,
    /// Snapshots of files and database, to roll back to
    #[command(alias = "checkpoints")]
    Checkpoint(Family<Checkpoint>),
    /// The log of every write and refusal
    Audit(Family<Audit>),
    /// Print events, as they happen with --follow
    Events(Events),
    /// Prepare a PostgreSQL database for a team
    #[command(subcommand)]
    Admin(Admin),
    /// Manage the members of a team, their roles in groups, and their tokens
    #[command(after_help = TEAM_EXAMPLES)]
    Team(Family<Team>),
    /// Keep a working copy of the files on a server, for your editor
    Checkout(Checkout),
    /// Copy the group into another home: a PostgreSQL database, or a folder
    Move(Move),
    /// Write everything into a folder, as Markdown and JSON
    Export(Export),
    /// The models that turn text into vectors
    #[command(alias = "models")]
    Model(Family<Model>),
    /// Try every part once in a temporary data folder, and check this one: the report to send with a bug
    SelfCheck,
    /// Store and find a first memory in a temporary data folder
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
    /// Show the commands, or the help of one; `nacre help all` lists everything
    #[command(hide = true)]
    Help {
        /// `all`, or a command
        words: Vec<String>,
    },
}

impl Command {
    /// Returns the command that does the work: a part of a family has a short spelling of its own.
    pub fn canonical(self) -> Command {
        match self {
            Command::Graph(Graph { part: Some(part), .. }) => match part {
                GraphPart::Fact(family) => Command::Fact(family),
                GraphPart::Relation(family) => Command::Relation(family),
                GraphPart::Alias(family) => Command::Alias(family),
                GraphPart::Entity(family) => Command::Entity(family),
            },
            Command::File(part) => match part {
                FilePart::Get(args) => Command::Get(args),
                FilePart::Propose(args) => Command::Propose(args),
                FilePart::Log(args) => Command::Log(args),
                FilePart::Memory(args) => Command::Memory(args),
                FilePart::Promote(args) => Command::Promote(args),
                FilePart::Policy(family) => Command::Policy(family),
                FilePart::Lesson(family) => Command::Lesson(family),
            },
            command => command,
        }
    }
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
            Some("--home" | "--group" | "--session" | "--profile" | "--set" | "--color" | "--now") => {
                drop(arguments.next())
            }
            Some(flag) if flag.starts_with('-') => {}
            word => return word == Some("hook"),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn a_correct_line_is_read_alike_with_fewer_commands_described() {
        for line in [
            "nacre",
            "nacre store the search is slow",
            "nacre --home store search query --limit 3",
            "nacre --home /tmp/x --now 2026-02-18T12:00:00Z session append s text --author user",
            "nacre add x --json",
            "nacre search store --home /tmp/y",
            "nacre graph fact add Luna breed beagle",
            "nacre conflicts",
            "nacre help store",
        ] {
            let named = parse_named(&words(line)).map(|cli| format!("{cli:?}"));
            assert_eq!(named, parse_from(words(line)).ok().map(|cli| format!("{cli:?}")), "{line}");
        }
    }

    #[test]
    fn a_wrong_line_and_help_need_all_commands() {
        for line in
            ["nacre serach x", "nacre store --help", "nacre -V", "nacre store x --nonsense", "nacre --home"]
        {
            assert!(parse_named(&words(line)).is_none(), "{line}");
        }
    }
}
