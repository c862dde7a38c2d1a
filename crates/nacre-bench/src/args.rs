//! Flags. The doc comments are the help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Measure the speed and quality of Nacre
#[derive(Debug, Parser)]
#[command(name = "nacre-bench", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub bench: Bench,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// The `nacre` program to measure [default: the one next to this program]
    #[arg(long, global = true, value_name = "PATH")]
    pub nacre: Option<PathBuf>,
    /// The home whose installed model is measured [default: the platform's data folder]
    #[arg(long, global = true, value_name = "DIR", env = "NACRE_HOME", hide_env_values = true)]
    pub home: Option<PathBuf>,
    /// The profile that sets the policies
    #[arg(long, global = true, value_name = "NAME", env = "NACRE_PROFILE", hide_env_values = true)]
    pub profile: Option<String>,
    /// Change one setting, such as search.diversity=0.3
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Print the result as JSON
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum Bench {
    /// Embedding speed: the built-in model, and MiniLM if it is installed
    Embed {
        /// Runs of each; the median is shown
        #[arg(long, default_value_t = 20)]
        runs: usize,
    },
    /// Retrieval quality on public conversation sets, through the same calls that agents make
    Quality {
        /// The set: locomo, longmemeval, beam, conflict, scifact or all of these; xquad-en, xquad-de, xquad-es, xquad-zh,
        /// xquad-cross, ntrex, jsquad or cosqa
        name: String,
        /// The folder with the sets, as `NAME.corpus.jsonl.zst` and `NAME.queries.jsonl`
        data: PathBuf,
        /// The half of the questions: tune, aside (held out) or all
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
    /// Whether SQLite and PostgreSQL give the same hits, order and scores for every question of a set
    Engines {
        /// The set, as for `quality`
        name: String,
        /// The folder with the sets
        data: PathBuf,
        /// The database, as its owner. Groups of the benchmark are created there and removed
        #[arg(long, value_name = "URL")]
        server: String,
        /// The half of the questions: tune, aside (held out) or all
        #[arg(long, default_value = "all")]
        half: String,
    },
    /// Precision and recall of the contradictions found between pairs of statements
    Conflicts {
        /// Pairs as lines of JSON with `first`, `second` and `label`: contradicting, updating, compatible or unrelated
        file: PathBuf,
        /// Also show each pair that was judged wrong
        #[arg(long)]
        list: bool,
        /// Also show how each of these pairs was read
        #[arg(long, requires = "list")]
        explain: bool,
        /// Use the rules alone, as searches do, without the reader that writes ask
        #[arg(long)]
        rules: bool,
        /// The file has whole memories (`who`, `statements` with `text` and `date`, `conflicts` as places of two); store them and count what is reported
        #[arg(long, conflicts_with_all = ["explain", "rules"])]
        stored: bool,
    },
    /// Share of invented credentials that are masked, and of lines of real text that are masked by mistake
    Credentials {
        /// Lines of JSON with `text`, `secret` and `kind`
        file: Option<PathBuf>,
        /// Files or folders without credentials
        #[arg(long, value_name = "PATH")]
        plain: Vec<PathBuf>,
        /// Also show what was judged wrong
        #[arg(long)]
        list: bool,
    },
    /// Deletion and supersession by rules alone, after ForgetEval-Adv: what is left, and which siblings were lost
    Forget {
        /// Run the cases of this file instead, in the form of data/forget/cases.jsonl
        cases: Option<PathBuf>,
        /// Also show the cases that fail
        #[arg(long)]
        list: bool,
    },
    /// Cost of the knowledge graph: lookups among many facts, reading a year of daily logs
    Graph {
        /// Number of facts
        #[arg(long, default_value_t = 100_000)]
        facts: usize,
    },
    /// Our own questions about an invented memory: by words, by vectors, by the graph, and by all together
    Graph60 {
        /// The folder with the set: `crates/nacre-bench/data/graph60` of the repository
        data: PathBuf,
        /// The questions: tuned, earlier (once held out), aside (held out) or all
        #[arg(long, default_value = "all")]
        half: String,
        /// Also show the questions that were not answered; the half is no longer held out then
        #[arg(long)]
        failures: bool,
    },
    /// Exact search: a fresh `nacre grep` over a workspace, compared with `rg` over the same files
    Grep {
        /// Size of the workspace in megabytes
        #[arg(long, default_value_t = 100)]
        megabytes: usize,
        /// Runs of each; the median is shown
        #[arg(long, default_value_t = 10)]
        runs: usize,
        /// The ripgrep program
        #[arg(long, value_name = "PATH", default_value = "rg")]
        rg: PathBuf,
    },
    /// Search and import as a memory grows, compared with a plain FTS5 table of the same texts
    Speed {
        /// Numbers of messages, such as 10k,100k,1m; a million takes minutes
        #[arg(long, value_delimiter = ',', default_value = "10k,100k")]
        sizes: Vec<String>,
    },
    /// Many clients at once on `nacre serve`, compared with a bare axum server over a plain FTS5 table
    Serve {
        /// Number of clients
        #[arg(long, default_value_t = 64)]
        clients: usize,
        /// Seconds of load on each server
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// Number of passages
        #[arg(long, default_value_t = 100_000)]
        passages: usize,
        /// Measure `nacre serve` on this PostgreSQL database beside SQLite, instead of the bare server. As its owner; a
        /// group of the benchmark is created there and removed
        #[arg(long, value_name = "URL")]
        server: Option<String>,
        /// Run as the bare server over this table
        #[arg(long, hide = true)]
        bare: Option<PathBuf>,
    },
    /// Many groups in a PostgreSQL database: import rate, size on disk, and searches by many clients over all groups
    Load {
        /// Number of groups
        #[arg(long, default_value_t = 10)]
        groups: usize,
        /// Number of passages in each
        #[arg(long, default_value_t = 10_000)]
        passages: usize,
        /// Groups that are imported at the same time
        #[arg(long, default_value_t = 2)]
        importers: usize,
        /// Number of clients
        #[arg(long, default_value_t = 64)]
        clients: usize,
        /// Seconds of searches and stores by all clients
        #[arg(long, default_value_t = 30)]
        seconds: u64,
        /// The database, as its owner. The groups are created there and stay
        #[arg(long, value_name = "URL")]
        server: String,
    },
    /// Write quality and speed as a Markdown page with two SVG figures
    Report {
        /// The folder with the sets
        data: PathBuf,
        /// The page to write
        page: PathBuf,
    },
    /// Turn context on a set of our own: whether needed memories are added, and nothing otherwise
    Inject {
        /// The half of the messages: tuned, aside (held out) or all
        #[arg(long, default_value = "all")]
        half: String,
        /// Also show each message with a wrong result
        #[arg(long)]
        wrong: bool,
        /// Also print the candidates with their features as JSON lines, to fit the weights on
        #[arg(long)]
        evidence: bool,
    },
    /// Questions and messages about the notes of invented people: by words, by everything, and what turns add
    Notes {
        /// Folders with `memory/`, `questions.jsonl` and `prompts.jsonl`, such as those in `crates/nacre-bench/data/notes`
        #[arg(required = true)]
        folders: Vec<PathBuf>,
        /// Also show what went wrong; the notes are no longer held out then
        #[arg(long)]
        list: bool,
    },
    /// Time to start a session: a fresh `nacre boot` of a full workspace, compared with `cat` of the same files
    Boot {
        /// Runs of each; the median is shown
        #[arg(long, default_value_t = 50)]
        runs: usize,
    },
    /// How much summaries keep of what is asked later, compared with the first and last lines of the same length
    Summary {
        /// The folder with the sets
        data: PathBuf,
        /// The half of the sessions: tune, aside (held out) or all
        #[arg(long, default_value = "all")]
        half: String,
        /// Also show the summaries
        #[arg(long)]
        show: bool,
    },
    /// Staleness watch: how many planted and real renames and deletions in repositories are found, and how many marks are wrong
    Stale {
        /// Git repositories; each is cloned
        #[arg(required = true)]
        repositories: Vec<PathBuf>,
        /// How many commits back the history starts
        #[arg(long, default_value_t = 200)]
        commits: usize,
        /// Also list the errors
        #[arg(long)]
        list: bool,
    },
    /// Cost of syncing: operations of another machine, a round with nothing new, and a write on a synced machine
    Sync {
        /// Operations of the other machine
        #[arg(long, default_value_t = 100_000)]
        operations: usize,
    },
    /// Cost of transcripts: appending a message, compared with a plain line flushed to disk, and the context of a long
    /// transcript, compared with `cat`
    Session {
        /// Size of the long transcript in megabytes
        #[arg(long, default_value_t = 100)]
        megabytes: usize,
    },
    /// Cold start: a fresh process compared with the bare engine; binary size and memory
    Cold {
        /// Number of memories
        #[arg(long, default_value_t = 10_000)]
        rows: usize,
        /// Runs of each; the median is shown
        #[arg(long, default_value_t = 50)]
        runs: usize,
    },
}
