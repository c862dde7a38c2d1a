//! Transcripts and hand-overs.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use nacre::SessionId;

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
