//! Settings as values, typed. How they are read, laid over each other and checked is for `tools::settings`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::text::nearest;
use crate::base::{Error, Result};

/// All settings, checked.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Settings {
    pub profile: String,
    pub entries: Entries,
    pub rank: Rank,
    pub search: Search,
    pub embedding: Embedding,
    pub documents: Documents,
    pub graph: Graph,
    pub maintain: Maintain,
    pub brief: Brief,
    pub boot: Boot,
    pub turn: Turn,
    pub visibility: Visibility,
    pub write: Write,
    pub session: Session,
    pub llm: Llm,
    pub log: Log,
    pub memory_file: MemoryFile,
    pub access: Access,
    pub checkpoints: Checkpoints,
    pub limits: Limits,
    pub tools: Tools,
    pub telemetry: Telemetry,
    pub plugins: BTreeMap<String, Plugin>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Entries {
    pub default_type: DefaultType,
    pub resemblance: f64,
    pub purge_superseded_days: i64,
    pub max_size_mb: u64,
    pub prune_percent: f64,
}

/// What becomes of an entry stored without a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the entry types of SPEC E1")]
pub enum DefaultType {
    Preference,
    Fact,
    Instruction,
    Context,
    Correction,
    /// A store without a type is refused.
    Required,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Rank {
    pub reinforce: i64,
    pub demote: i64,
    pub bound: i64,
    pub score_weight: f64,
    pub recency: f64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Search {
    pub limit: usize,
    pub agent_limit: usize,
    pub fusion: Fusion,
    pub vector_weight: f64,
    pub word_weight: f64,
    pub least_similarity: f64,
    pub language: String,
    pub without: Vec<String>,
    pub half_life_days: f64,
    pub diversity: f64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Embedding {
    pub provider: Provider,
    pub url: String,
    pub model: String,
    pub dimensions: usize,
    pub query_prefix: String,
    pub document_prefix: String,
    pub key_variable: String,
    pub key_file: String,
    pub api_version: String,
    pub batch: usize,
    pub timeout_seconds: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Graph {
    pub documents: bool,
    pub lane: bool,
}

/// Whose vectors are searched (Q6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    /// The model that is compiled in.
    Builtin,
    /// The model that was installed.
    Minilm,
    /// A server that speaks OpenAI's API.
    Openai,
    /// Azure's form of it.
    AzureOpenai,
    /// No vectors at all.
    None,
}

/// How lanes become one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fusion {
    /// Words, meaning and structure together.
    Hybrid,
    /// The words alone.
    Words,
    /// A weighted sum of meaning and words.
    Weighted,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Documents {
    pub index: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Brief {
    pub inject: Inject,
    pub max_entries: usize,
    pub max_chars: usize,
    pub time_limit_ms: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Boot {
    pub inject: Inject,
    pub main: Vec<String>,
    pub project: Vec<String>,
    pub file_chars: usize,
    pub total_chars: usize,
}

/// When memory is put before an agent without its asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Inject {
    /// Never: the agent asks.
    None,
    /// At the start of a session.
    Boot,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Turn {
    pub contributors: Vec<String>,
    pub tokens: usize,
    pub time_limit_ms: u64,
    pub least: f64,
    pub repeat_turns: u32,
    pub archive: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Visibility {
    pub private: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Checkpoints {
    pub keep: usize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Access {
    pub admin_group: String,
    pub private: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Write {
    pub entries: Policy,
    pub log: Policy,
    pub memory: Policy,
    pub memories: Policy,
    pub files: Policy,
    pub untrusted: Policy,
    pub elicitation: Elicitation,
    pub accept: Accept,
}

/// Whether a client is asked about a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Elicitation {
    /// It is not.
    Off,
    /// It is, where it can put a question to the person.
    Ask,
}

/// Whose word decides about a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accept {
    /// That of a person at the command line or the page.
    Person,
    /// That of a client too.
    Client,
}

/// What becomes of an agent's write (W5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// It is done.
    Open,
    /// It waits for a person.
    Approve,
    /// It is refused.
    Deny,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Log {
    pub folder: LogFolder,
    pub low: f64,
    pub high: f64,
    pub keep_days_low: i64,
    pub keep_days_mid: i64,
}

/// Where new logs go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum LogFolder {
    /// Beside the other files of the memory.
    #[serde(rename = "memory")]
    Memory,
    /// In a folder of their own.
    #[serde(rename = "memory/daily")]
    Daily,
}

impl Log {
    /// Returns for how many days a line of this importance stays; `None`: for ever.
    pub(crate) fn keep_days(&self, importance: f64) -> Option<i64> {
        let days = match importance {
            i if i >= self.high => 0,
            i if i >= self.low => self.keep_days_mid,
            _ => self.keep_days_low,
        };
        (days > 0).then_some(days)
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct MemoryFile {
    pub max_lines: usize,
    pub max_chars: usize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Session {
    pub compact: Compact,
    pub compact_tokens: usize,
    pub keep_recent: usize,
    pub keep_tool_results: usize,
    pub flush: Flush,
    pub window: usize,
    pub reserve: usize,
    pub soft: usize,
    pub flush_tokens: usize,
    pub summary_entry: bool,
    pub with_memory: bool,
    pub retention_days: i64,
}

impl Session {
    /// Returns from how many tokens on a flush is due (S4).
    pub fn flush_threshold(&self) -> usize {
        match self.flush_tokens {
            0 => self.window.saturating_sub(self.reserve).saturating_sub(self.soft),
            tokens => tokens,
        }
    }
}

/// What becomes of a transcript that no longer fits (S3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compact {
    /// Nothing.
    Off,
    /// A summary is appended.
    Overlay,
    /// The file is written anew.
    Rewrite,
}

/// What comes before a compaction (S4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flush {
    /// Nothing.
    Off,
    /// The agent is asked to store what lasts.
    Prompt,
    /// A summary is stored.
    Summary,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Llm {
    pub url: String,
    pub model: String,
    pub key_variable: String,
    pub key_file: String,
    pub timeout_seconds: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Limits {
    pub store: u32,
    pub supersede: u32,
    pub delete: u32,
    pub propose: u32,
    pub untrusted: Untrusted,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Untrusted {
    pub store: u32,
    pub supersede: u32,
    pub delete: u32,
    pub propose: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Tools {
    pub offer: Vec<String>,
    pub doors: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Maintain {
    pub behind: bool,
    pub look_seconds: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Telemetry {
    pub events: Events,
    pub max_mb: u64,
}

/// What the telemetry file is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Events {
    /// Nothing.
    Off,
    /// Ids and sizes.
    On,
    /// The words of searches too.
    Queries,
}

/// A program of others (B5). None is there but those that a person named in the home's own settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "plugin.toml says what each key means")]
pub struct Plugin {
    pub command: Vec<String>,
    pub hooks: Vec<Hook>,
    pub tokens: usize,
    pub time_limit_ms: u64,
    pub enabled: bool,
}

/// Where a plugin may speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hook {
    /// Before each message: lines that come behind our own.
    Turn,
    /// At the start of a session, in place of the brief. One plugin at most.
    MemoryBrief,
}

impl Settings {
    /// Returns a plugin of the settings, whether or not it is enabled.
    pub fn plugin(&self, name: &str) -> Result<&Plugin> {
        self.plugins.get(name).ok_or_else(|| {
            let near = nearest(name, self.plugins.keys().map(String::as_str)).map(str::to_owned);
            Error::NoPlugin { given: crate::base::text::shorten(name), nearest: near }
        })
    }

    /// Returns the enabled plugins that may speak at a hook, by name.
    pub fn plugins_at(&self, hook: Hook) -> impl Iterator<Item = (&str, &Plugin)> {
        let all = self.plugins.iter().map(|(name, plugin)| (name.as_str(), plugin));
        all.filter(move |(_, plugin)| plugin.enabled && plugin.hooks.contains(&hook))
    }
}
