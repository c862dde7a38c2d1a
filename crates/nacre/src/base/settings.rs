//! Typed settings. `tools::settings` reads, merges and checks them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::named::named;
use crate::base::text::nearest;
use crate::base::{Error, Result};

/// All settings, checked.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Settings {
    pub profile: String,
    pub dialect: Dialect,
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
    pub distil: Distil,
    pub extract: Extract,
    pub log: Log,
    pub memory_file: MemoryFile,
    pub access: Access,
    pub checkpoints: Checkpoints,
    pub limits: Limits,
    pub tools: Tools,
    pub telemetry: Telemetry,
    pub sync: SyncSettings,
    pub serve: ServeSettings,
    pub plugins: BTreeMap<String, Plugin>,
}

/// The names that tools, injected text and templates use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// Nacre's own.
    Nacre,
    /// Carapace's names of arguments and fields, headings and warning.
    Carapace,
    /// The headings of Brain's MEMORY.md, and every field of its tasks.
    Brain,
    /// NanoClaw's names of arguments and fields, and the blocks before a message.
    Nanoclaw,
    /// Koshi's names of arguments and fields.
    Koshi,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Entries {
    pub default_type: DefaultType,
    pub resemblance: f64,
    pub purge_superseded_days: i64,
    pub max_size_mb: f64,
    pub prune_percent: f64,
}

impl Entries {
    /// Returns how many bytes the current entries may take. `None`: there is no limit.
    pub(crate) fn max_bytes(&self) -> Option<u64> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked not to be negative"
        )]
        (self.max_size_mb > 0.0).then(|| (self.max_size_mb * f64::from(1 << 20)) as u64)
    }
}

/// The type of an entry that is stored without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names of the entry types")]
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
    pub relevance_weight: f64,
    pub activation_weight: f64,
    pub activation_bump: f64,
    pub linked_facts: usize,
    pub linked_strength: f64,
    pub turn_facts: usize,
    pub turn_score: f64,
    pub cache_questions: usize,
    pub cache_seconds: i64,
}

/// The source of the embeddings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    /// The model that is compiled in.
    #[serde(alias = "local")]
    Builtin,
    /// The installed MiniLM model.
    Minilm,
    /// A server that implements OpenAI's API.
    Openai,
    /// Azure's variant of that API.
    AzureOpenai,
    /// No embeddings from a model of the settings.
    None,
}

/// How the results of the retrievers are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fusion {
    /// Words, embeddings and structure together.
    Hybrid,
    /// Words only.
    Words,
    /// A weighted sum of embeddings and words.
    Weighted,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Documents {
    pub index: bool,
    pub live_json: bool,
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
    pub files: Vec<String>,
    pub main: Vec<String>,
    pub project: Vec<String>,
    pub file_chars: usize,
    pub total_chars: usize,
}

/// When memory is injected without the agent asking for it.
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
    pub drift: f64,
    pub stability: Stability,
    pub topics: bool,
    pub archive: bool,
    pub max_exchanges: usize,
}

/// When the stability contributor says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stability {
    /// Only about problems.
    Problems,
    /// Before every message: the entropy, and the principles of SOUL.md.
    Always,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Visibility {
    pub private: Vec<String>,
    pub private_writes: bool,
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
pub struct SyncSettings {
    pub groups: Vec<String>,
    pub private: bool,
    pub minutes: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct ServeSettings {
    pub memory: usize,
}

impl ServeSettings {
    /// Returns the most bytes that vectors may take in memory; 0 means no limit.
    pub fn memory_bytes(self) -> usize {
        self.memory.saturating_mul(1 << 20)
    }
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

/// Whether the client is asked about a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Elicitation {
    /// The client is not asked.
    Off,
    /// The client is asked if it can put a question to the user.
    Ask,
}

/// Who may decide on a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accept {
    /// A person at the command line or in the dashboard.
    Person,
    /// Also the client, on the user's behalf.
    Client,
}

/// The write policy: how an agent's write is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// It is applied.
    Open,
    /// It waits for a person's approval.
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

/// The folder of new daily logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum LogFolder {
    /// The folder `memory`.
    #[serde(rename = "memory")]
    Memory,
    /// A folder of their own.
    #[serde(rename = "memory/daily")]
    Daily,
}

impl Log {
    /// Returns how many days a line of this importance is kept; `None` means for ever.
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
    pub summary_from_hooks: bool,
    pub with_memory: bool,
    pub retention_days: i64,
}

impl Session {
    /// Returns the number of tokens from which a flush is due.
    pub fn flush_threshold(&self) -> usize {
        match self.flush_tokens {
            0 => self.window.saturating_sub(self.reserve).saturating_sub(self.soft),
            tokens => tokens,
        }
    }
}

/// How a transcript that exceeds its limit is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compact {
    /// It is not.
    Off,
    /// A summary is appended.
    Overlay,
    /// The file is rewritten.
    Rewrite,
}

/// The step before a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flush {
    /// Nothing.
    Off,
    /// The agent is asked to store lasting information.
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
    pub daily_tokens: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Distil {
    pub at: Vec<DistilMoment>,
    pub by: DistilBy,
    pub command: Vec<String>,
    pub timeout_seconds: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Extract {
    pub by: ExtractBy,
}

named! {
    /// The reader that takes items out of a project's documents.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ExtractBy {
        /// Rules, without a model.
        Rules = "rules",
        /// Rules, and then a program that the person names.
        Command = "command",
        /// Rules, and then the model in `[llm]`.
        Llm = "llm",
    }
}

/// When memories are taken out of a conversation without being asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DistilMoment {
    /// After an answer that a hook reports.
    Answer,
    /// Before a compaction.
    Compact,
    /// At the end of a session.
    End,
}

named! {
    /// Who takes memories out of a conversation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum DistilBy {
        /// Rules, without a model.
        Rules = "rules",
        /// The person's own agent, which hooks ask.
        Agent = "agent",
        /// A program that the person names.
        Command = "command",
        /// The model in `[llm]`.
        Llm = "llm",
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Limits {
    pub store: u32,
    pub supersede: u32,
    pub delete: u32,
    pub propose: u32,
    pub untrusted: UntrustedLimits,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct UntrustedLimits {
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
    pub compat: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Maintain {
    pub behind: bool,
    pub look_seconds: u64,
    pub at: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "defaults.toml says what each key means")]
pub struct Telemetry {
    pub events: Events,
    pub max_mb: u64,
}

/// The content of the telemetry file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Events {
    /// Nothing.
    Off,
    /// Ids and sizes.
    On,
    /// Also the text of searches.
    Queries,
}

/// An external program. Only programs that a person named in the home's own settings exist.
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

/// The point at which a plugin is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hook {
    /// Before each message: its lines come after Nacre's own.
    Turn,
    /// At the start of a session, instead of the brief. At most one plugin can do this.
    MemoryBrief,
}

impl Settings {
    /// Names the offered tools with which an agent stores lasting text, each with the place that later sessions load. `None`:
    /// no such tool is offered.
    pub fn store_tools(&self) -> Option<String> {
        let is_offered = |name: &&str| self.tools.offer.iter().any(|one| one == *name);
        let is_loaded = |part: &&str| {
            self.boot.main.iter().any(|one| one == *part) || *part == "MEMORY.md" && self.session.with_memory
        };
        let write = || {
            // Without a path it appends to the daily log, which some profiles do not load.
            let files = ["MEMORY.md", "memory/CORE.md", "memory/active-context.md"];
            match files.iter().find(|file| is_loaded(file)) {
                Some(file) if !is_loaded(&"today") => format!("memory_write with path `{file}`"),
                _ => "memory_write".to_owned(),
            }
        };
        let store = Some("memory_store").filter(is_offered).map(str::to_owned);
        let write = Some("memory_write").filter(is_offered).map(|_| write());
        store.into_iter().chain(write).reduce(|store, write| format!("{store} or {write}"))
    }

    /// Returns a plugin of the settings, whether or not it is enabled.
    pub fn plugin(&self, name: &str) -> Result<&Plugin> {
        self.plugins.get(name).ok_or_else(|| {
            let near = nearest(name, self.plugins.keys().map(String::as_str)).map(str::to_owned);
            Error::NoPlugin { given: crate::base::text::shorten(name), nearest: near }
        })
    }

    /// Returns the enabled plugins for a hook, by name.
    pub fn plugins_at(&self, hook: Hook) -> impl Iterator<Item = (&str, &Plugin)> {
        let all = self.plugins.iter().map(|(name, plugin)| (name.as_str(), plugin));
        all.filter(move |(_, plugin)| plugin.enabled && plugin.hooks.contains(&hook))
    }
}
