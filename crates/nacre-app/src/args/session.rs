//! Conversations and handovers.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use nacre::SessionId;
use nacre::settings::DistilBy;

use super::value::number;

#[derive(Debug, Subcommand)]
pub enum Session {
    /// Import transcripts: JSONL, Claude Code and Codex sessions, ChatGPT and Claude exports
    ///
    /// Messages that were imported before are skipped.
    Import {
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// List the sessions, newest first
    #[command(alias = "ls")]
    List {
        /// The maximum number [default: 20]
        #[arg(long, short = 'n', value_name = "N", value_parser = number)]
        limit: Option<usize>,
    },
    /// Show the messages of a session
    Show {
        /// The id of the session, or a unique start of it
        id: String,
        /// The number of the first message to show [default: 1]
        #[arg(long, value_name = "N")]
        from: Option<usize>,
        /// The maximum number of messages [default: 50]
        #[arg(long, short = 'n', value_name = "N", value_parser = number)]
        limit: Option<usize>,
    },
    /// List the memories that a session stored or changed
    Review {
        /// The id of the session
        id: SessionId,
    },
    /// Undo the memories of a session: archive them, and restore the ones they replaced
    Undo {
        /// The id of the session
        id: SessionId,
    },
    /// Add a message to a transcript that Nacre keeps; a new id starts one
    Append {
        /// The session
        id: SessionId,
        /// The message; `-` reads it from standard input
        #[arg(required_unless_present_any = ["jsonl", "name"], conflicts_with = "jsonl")]
        text: Option<String>,
        /// The author: user, assistant, system, tool_call or tool_result
        #[arg(long, value_name = "ROLE", required_unless_present = "jsonl", conflicts_with = "jsonl")]
        author: Option<nacre::session::Role>,
        /// The id of the message; a message with a known id is not written again. A tool_result has the id of its call
        #[arg(long, value_name = "ID", conflicts_with = "jsonl")]
        message: Option<String>,
        /// The tool, for a tool_call
        #[arg(long, value_name = "TOOL", conflicts_with = "jsonl")]
        name: Option<String>,
        /// The tool's input as JSON, for a tool_call
        #[arg(long, value_name = "JSON", conflicts_with = "jsonl")]
        input: Option<String>,
        /// Read JSON lines from standard input: role, content, and optionally id, name, input, timestamp
        #[arg(long)]
        jsonl: bool,
    },
    /// Show the messages as a model should see them: compacted parts as summaries, without old tool results
    Context {
        /// The session
        id: SessionId,
        /// The maximum number of tokens, newest first [default: what fits the context window]
        #[arg(long, value_name = "N")]
        tokens: Option<usize>,
    },
    /// Replace all but the newest messages by a summary
    Compact {
        /// The session
        id: SessionId,
    },
    /// Ask whether the agent should store important facts now, before a compaction; yes once per cycle
    FlushCheck {
        /// The session
        id: SessionId,
        /// The tokens of the model's last call, including its answer
        #[arg(long, value_name = "N")]
        tokens: Option<usize>,
        /// The next message; `-` reads it from standard input
        #[arg(default_value = "")]
        message: String,
    },
    /// End a session; its last part becomes one memory
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
    /// The action
    #[arg(long)]
    pub action: String,
    /// A search in memory; repeat for several [default: the action and the context]
    #[arg(long = "query", value_name = "WORDS")]
    pub queries: Vec<String>,
    /// The subject of the task
    #[arg(long, default_value = "", value_name = "TEXT")]
    pub context: String,
    /// The maximum number of tokens of memories [default: 500]
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<usize>,
}

impl Default for Session {
    fn default() -> Session {
        Session::List { limit: None }
    }
}

#[derive(Debug, Args)]
pub struct Distil {
    /// The id of the session, or a unique start of it [default: every session with new messages]
    #[arg(id = "conversation", value_name = "SESSION")]
    pub session: Option<String>,
    /// How: rules (no model), command (`distil.command`) or llm (the model in `[llm]`) [default: `distil.by`]
    #[arg(long, value_name = "HOW", value_parser = distil_by)]
    pub by: Option<DistilBy>,
    /// Read messages again that were read before
    #[arg(long, requires = "conversation")]
    pub again: bool,
    /// Show what would be stored, and store nothing
    #[arg(long)]
    pub dry_run: bool,
}

fn distil_by(text: &str) -> Result<DistilBy, String> {
    let known = DistilBy::ALL.iter().copied().filter(|by| *by != DistilBy::Agent);
    let names: Vec<&str> = known.clone().map(DistilBy::as_str).collect();
    known
        .into_iter()
        .find(|by| by.as_str() == text)
        .ok_or_else(|| format!("it is none of {}", names.join(", ")))
}
