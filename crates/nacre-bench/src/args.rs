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
    /// The `nacre` program to measure [default: the one beside this program]
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
    },
    /// What the graph costs: entities looked up among many facts, a year of daily logs read
    Graph {
        /// How many facts
        #[arg(long, default_value_t = 100_000)]
        facts: usize,
    },
    /// Our own questions to an invented memory: by words, by vectors, by the graph, and by all together
    Graph60 {
        /// The folder with the set: `crates/nacre-bench/data/graph60` of the repository
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
