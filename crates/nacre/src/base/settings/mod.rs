//! Settings: decided once, at the edge; inside, code sees values, not keys.
//!
//! `defaults.toml` is compiled in, is what `init` writes (commented out) and is the reference. Layers go over
//! it in order: profile, file, environment, flags. A key that the defaults do not have is refused, with the
//! one it was probably meant to be. A retired key is ignored with a warning.

mod disputes;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

pub use disputes::{DISPUTES, Dispute};

use crate::base::text::nearest;
use crate::base::{Error, Result};
use crate::index::Language;

/// The commented file with every key and its default.
pub const DEFAULTS: &str = include_str!("defaults.toml");

/// What a plugin has whose settings say nothing else.
const PLUGIN: &str = include_str!("plugin.toml");

/// The profiles: name and what it sets differently.
const PROFILES: &[(&str, &str)] = &[
    ("balanced", include_str!("profiles/balanced.toml")),
    ("carapace", include_str!("profiles/carapace.toml")),
    ("gated", include_str!("profiles/gated.toml")),
    ("brain", include_str!("profiles/brain.toml")),
    ("nanoclaw", include_str!("profiles/nanoclaw.toml")),
    ("koshi", include_str!("profiles/koshi.toml")),
];

/// Keys that earlier versions had, and why each is gone. They are ignored, so that an old file still works.
const RETIRED: &[(&str, &str)] = &[("graph.sessions", "facts are no longer read from conversations")];

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
    pub fusion: Fusion,
    pub vector_weight: f64,
    pub word_weight: f64,
    pub least_similarity: f64,
    pub language: String,
    pub without: Vec<String>,
    pub half_life_days: f64,
    pub diversity: f64,
}

impl Search {
    pub(crate) fn language(&self) -> Language {
        Language::named(&self.language).expect("checked when the settings were read")
    }
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

/// One layer of settings and where it came from, for messages.
#[derive(Clone, Debug)]
pub struct Layer {
    origin: String,
    table: Table,
}

impl Layer {
    /// Reads a settings file.
    pub fn from_toml(origin: impl Into<String>, text: &str) -> Result<Layer> {
        let origin = origin.into();
        match text.parse::<Table>() {
            Ok(table) => Ok(Layer { origin, table }),
            Err(problem) => {
                let line = problem
                    .span()
                    .map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
                Err(Error::BadSettingsFile { origin, problem: format!("line {line}: {}", problem.message()) })
            }
        }
    }

    /// Reads one `section.key=value`. A value that is not TOML is taken as text, so that quotes are rarely
    /// needed.
    pub fn from_pair(origin: impl Into<String>, pair: &str) -> Result<Layer> {
        let origin = origin.into();
        let Some((key, value)) = pair.split_once('=') else {
            let problem = "needs the form section.key=value".into();
            return Err(Error::BadSetting { key: pair.into(), origin, problem });
        };
        let value = value.trim();
        let value = format!("v = {value}").parse::<Table>().map_or_else(
            |_| Value::String(value.into()),
            |mut parsed| parsed.remove("v").expect("just written"),
        );
        let mut parts = key.trim().rsplit('.');
        let last = parts.next().expect("rsplit gives one part at least").to_owned();
        let innermost = Table::from_iter([(last, value)]);
        let table =
            parts.fold(innermost, |table, part| Table::from_iter([(part.to_owned(), Value::Table(table))]));
        Ok(Layer { origin, table })
    }

    /// Reads the settings among environment variables: `NACRE_` and the key in capitals, dots as `_`.
    pub fn from_environment(get: impl Fn(&str) -> Option<String>) -> Result<Vec<Layer>> {
        let mut layers = Vec::new();
        for key in keys() {
            let name = format!("NACRE_{}", key.replace('.', "_").to_uppercase());
            if let Some(value) = get(&name) {
                layers
                    .push(Layer::from_pair(format!("the environment ({name})"), &format!("{key}={value}"))?);
            }
        }
        Ok(layers)
    }
}

impl Settings {
    /// Puts the layers over the defaults, in order; `profile` stands under them and over the defaults.
    ///
    /// The profile is `profile` where given, else the last layer's that names one.
    pub fn from_layers(profile: Option<&str>, layers: &[Layer]) -> Result<Settings> {
        let named = layers.iter().rev().find_map(|layer| layer.table.get("profile").and_then(Value::as_str));
        let profile = profile.or(named).unwrap_or("balanced");
        let mut all = defaults();
        lay_over(&mut all, &profile_layer(profile)?)?;
        for layer in layers {
            lay_over(&mut all, layer)?;
        }
        all.insert("profile".into(), Value::String(profile.into()));
        let settings: Settings = deserialize(&all)?;
        settings.check()?;
        Ok(settings)
    }

    fn check(&self) -> Result<()> {
        let within = |key: &str, holds: bool, problem: &str| {
            let (key, problem) = (key.to_owned(), problem.to_owned());
            if holds {
                Ok(())
            } else {
                Err(Error::BadSetting { key, origin: "the settings".into(), problem })
            }
        };
        within(
            "entries.resemblance",
            (0.0..=1.0).contains(&self.entries.resemblance),
            "is not between 0 and 1",
        )?;
        within(
            "entries.prune_percent",
            (0.0..=100.0).contains(&self.entries.prune_percent),
            "is not between 0 and 100",
        )?;
        within("entries.purge_superseded_days", self.entries.purge_superseded_days >= 0, "is negative")?;
        within("rank.bound", (1..=50).contains(&self.rank.bound), "is not between 1 and 50")?;
        within("rank.reinforce", (0..=50).contains(&self.rank.reinforce), "is not between 0 and 50")?;
        within("rank.demote", (0..=50).contains(&self.rank.demote), "is not between 0 and 50")?;
        within("rank.score_weight", (0.0..=2.0).contains(&self.rank.score_weight), "is not between 0 and 2")?;
        within("rank.recency", (0.0..=10.0).contains(&self.rank.recency), "is not between 0 and 10")?;
        within("search.limit", (1..=100).contains(&self.search.limit), "is not between 1 and 100")?;
        within(
            "search.least_similarity",
            (0.0..=1.0).contains(&self.search.least_similarity),
            "is not between 0 and 1",
        )?;
        let weights = (self.search.vector_weight, self.search.word_weight);
        within("search.vector_weight", (0.0..=1.0).contains(&weights.0), "is not between 0 and 1")?;
        within("search.word_weight", (0.0..=1.0).contains(&weights.1), "is not between 0 and 1")?;
        within("search.vector_weight", weights.0 + weights.1 > 0.0, "is 0, as `search.word_weight` is")?;
        within("search.half_life_days", self.search.half_life_days >= 0.0, "is negative")?;
        within("search.diversity", (0.0..=1.0).contains(&self.search.diversity), "is not between 0 and 1")?;
        within(
            "search.language",
            Language::named(&self.search.language).is_some(),
            &format!("is none of {}", Language::names().collect::<Vec<_>>().join(", ")),
        )?;
        let log = &self.log;
        within("log.high", (0.0..=1.0).contains(&log.high), "is not between 0 and 1")?;
        within("log.low", (0.0..=log.high).contains(&log.low), "is not between 0 and `log.high`")?;
        within("log.keep_days_low", log.keep_days_low >= 0, "is negative")?;
        within("log.keep_days_mid", log.keep_days_mid >= 0, "is negative")?;
        within("turn.least", (0.0..=1.0).contains(&self.turn.least), "is not between 0 and 1")?;
        within("turn.tokens", self.turn.tokens <= 10_000, "is more than 10000")?;
        for name in &self.turn.contributors {
            let known: Vec<&str> = crate::context::turn::contributors().collect();
            within(
                "turn.contributors",
                known.contains(&name.as_str()),
                &format!("names `{name}`, none of {}", known.join(", ")),
            )?;
        }
        for part in &self.search.without {
            let known = crate::search::PARTS;
            within(
                "search.without",
                known.contains(&part.as_str()),
                &format!("names `{part}`, none of {}", known.join(", ")),
            )?;
        }
        let embedding = &self.embedding;
        within("embedding.batch", (1..=2048).contains(&embedding.batch), "is not between 1 and 2048")?;
        within(
            "embedding.timeout_seconds",
            (1..=600).contains(&embedding.timeout_seconds),
            "is not between 1 and 600",
        )?;
        within("embedding.dimensions", embedding.dimensions <= 16_384, "is above 16384")?;
        if matches!(embedding.provider, Provider::Openai | Provider::AzureOpenai) {
            within("embedding.url", !embedding.url.is_empty(), "is empty, and this provider needs one")?;
            within("embedding.model", !embedding.model.is_empty(), "is empty, and this provider needs one")?;
        }
        let session = &self.session;
        within("session.compact_tokens", session.compact_tokens >= 1000, "is below 1000")?;
        within(
            "session.window",
            session.window > session.reserve.saturating_add(session.soft),
            "leaves nothing beside `session.reserve` and `session.soft`",
        )?;
        within("session.retention_days", session.retention_days >= 0, "is negative")?;
        within(
            "llm.timeout_seconds",
            (1..=600).contains(&self.llm.timeout_seconds),
            "is not between 1 and 600",
        )?;
        if !self.llm.url.is_empty() {
            within("llm.model", !self.llm.model.is_empty(), "is empty, and `llm.url` is not")?;
        }
        within("brief.max_chars", self.brief.max_chars >= 500, "is below 500")?;
        let boot = &self.boot;
        within("boot.file_chars", boot.file_chars >= 500, "is below 500")?;
        within("boot.total_chars", boot.total_chars >= 2_000, "is below 2000")?;
        for (key, parts) in [("boot.main", &boot.main), ("boot.project", &boot.project)] {
            for part in parts {
                let words = crate::records::workspace::PARTS;
                let known = words.contains(&part.as_str())
                    || part.parse::<crate::records::workspace::FilePath>().is_ok();
                let problem = format!(
                    "names `{part}`, neither a Markdown file of the workspace nor one of {}",
                    words.join(", ")
                );
                within(key, known, &problem)?;
            }
        }
        for name in &self.tools.offer {
            if crate::tools::tool(name).is_none() {
                let near = nearest(name, crate::tools::TOOLS.iter().map(|tool| tool.name));
                let near = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
                within("tools.offer", false, &format!("names `{name}`, which is no tool{near}"))?;
            }
        }
        for name in &self.tools.doors {
            if !crate::tools::DOORS.iter().any(|door| door.name == name) {
                let names = crate::tools::DOORS.iter().map(|door| door.name);
                let problem = format!("names `{name}`, none of {}", names.collect::<Vec<_>>().join(", "));
                within("tools.doors", false, &problem)?;
            }
        }
        for (name, plugin) in &self.plugins {
            let key = |key: &str| format!("plugins.{name}.{key}");
            let limit = plugin.time_limit_ms;
            within(&key("time_limit_ms"), (1..=60_000).contains(&limit), "is not between 1 and 60000")?;
            within(&key("tokens"), plugin.tokens <= 10_000, "is more than 10000")?;
            let named = plugin.command.first().is_some_and(|program| !program.is_empty());
            within(&key("command"), named || !plugin.enabled, "is empty, and the plugin is enabled")?;
        }
        let mut briefs = self.plugins_at(Hook::MemoryBrief);
        if let (Some((one, _)), Some((other, _))) = (briefs.next(), briefs.next()) {
            return Err(Error::TwoBriefs { one: one.into(), other: other.into() });
        }
        Ok(())
    }

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

impl Default for Settings {
    fn default() -> Settings {
        Settings::from_layers(None, &[]).expect("the defaults compiled in are valid")
    }
}

/// Returns a warning for each retired key that a layer sets.
pub fn retired(layers: &[Layer]) -> Vec<String> {
    let mut warnings = Vec::new();
    for layer in layers {
        flatten("", &layer.table, &mut |key, _| {
            let retired = RETIRED.iter().find(|(name, _)| *name == key);
            let warning =
                |(_, why): &(&str, &str)| format!("setting `{key}` in {} is ignored: {why}", layer.origin);
            warnings.extend(retired.map(warning));
        });
    }
    warnings
}

/// Returns the names of the profiles.
pub fn profiles() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|(name, _)| *name)
}

/// Returns every setting that `layers` and the profile lead to, as `(key, value)` in the order of the
/// defaults.
pub fn effective(profile: Option<&str>, layers: &[Layer]) -> Result<Vec<(String, String)>> {
    let settings = Settings::from_layers(profile, layers)?;
    let mut all = defaults();
    lay_over(&mut all, &profile_layer(&settings.profile)?)?;
    for layer in layers {
        lay_over(&mut all, layer)?;
    }
    all.insert("profile".into(), Value::String(settings.profile));
    let mut pairs = Vec::new();
    flatten("", &all, &mut |key, value| pairs.push((key.to_owned(), value.to_string())));
    Ok(pairs)
}

/// Returns the defaults as `init` writes them: every line a comment, so that a later default still reaches
/// the user.
pub fn commented_defaults() -> String {
    let line = |line: &str| {
        let bare = line.is_empty() || line.starts_with('#') || line.starts_with('[');
        if bare { format!("{line}\n") } else { format!("# {line}\n") }
    };
    DEFAULTS.lines().map(line).collect()
}

fn defaults() -> Table {
    DEFAULTS.parse().expect("the defaults compiled in are valid")
}

fn plugin_defaults() -> Table {
    PLUGIN.parse().expect("the defaults compiled in are valid")
}

fn keys() -> Vec<String> {
    let mut keys = Vec::new();
    flatten("", &defaults(), &mut |key, _| keys.push(key.to_owned()));
    keys
}

fn flatten(prefix: &str, table: &Table, found: &mut impl FnMut(&str, &Value)) {
    for (key, value) in table {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Value::Table(inner) => flatten(&path, inner, found),
            value => found(&path, value),
        }
    }
}

fn profile_layer(name: &str) -> Result<Layer> {
    let Some((_, text)) = PROFILES.iter().find(|(known, _)| *known == name) else {
        let known = profiles().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        return Err(Error::UnknownProfile { given: crate::base::text::shorten(name), known });
    };
    Layer::from_toml(format!("profile `{name}`"), text)
}

/// Puts a layer over what is there. Only keys that are there can be set, and only to the same kind of value.
/// The names of plugins are the person's to choose; what stands under one is not.
fn lay_over(under: &mut Table, layer: &Layer) -> Result<()> {
    fn walk(prefix: &str, under: &mut Table, over: &Table, origin: &str) -> Result<()> {
        for (key, value) in over {
            let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            if prefix == "plugins" && !under.contains_key(key) {
                let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                if key.is_empty() || key.len() > 64 || !key.chars().all(fits) {
                    let problem = "is no name: it needs 1 to 64 of letters, digits, `_` and `-`".into();
                    return Err(Error::BadSetting { key: path, origin: origin.into(), problem });
                }
                under.insert(key.clone(), Value::Table(plugin_defaults()));
            }
            match (under.get_mut(key), value) {
                (None, _) if RETIRED.iter().any(|(name, _)| *name == path) => {}
                (None, _) => {
                    let mut keys = keys();
                    if prefix.starts_with("plugins.") {
                        keys.extend(plugin_defaults().keys().map(|key| format!("{prefix}.{key}")));
                    }
                    let sections =
                        keys.iter().filter_map(|key| key.rsplit_once('.')).map(|(section, _)| section);
                    let known = keys.iter().map(String::as_str).chain(sections);
                    let near = nearest(&path, known).map(str::to_owned);
                    return Err(Error::UnknownSetting { key: path, origin: origin.into(), nearest: near });
                }
                (Some(Value::Table(under)), Value::Table(over)) => walk(&path, under, over, origin)?,
                (Some(there @ Value::Float(_)), Value::Integer(whole)) => {
                    #[expect(clippy::cast_precision_loss, reason = "a setting such as 1 for 1.0")]
                    let float = *whole as f64;
                    *there = Value::Float(float);
                }
                (Some(there), value) if there.type_str() == value.type_str() => *there = value.clone(),
                (Some(there), value) => {
                    let problem = format!("is {} where {} is needed", value.type_str(), there.type_str());
                    return Err(Error::BadSetting { key: path, origin: origin.into(), problem });
                }
            }
        }
        Ok(())
    }
    walk("", under, &layer.table, &layer.origin)
}

fn deserialize(all: &Table) -> Result<Settings> {
    // Keys and kinds are known to be right here; what is left are words such as `telemetry.events = "loud"`
    // and signs.
    all.clone().try_into().map_err(|problem: toml::de::Error| {
        let mut culprit = None;
        flatten("", all, &mut |key, value| {
            let mut probe = defaults();
            let pair = Layer::from_pair("", &format!("{key}={value}")).expect("a written value reads back");
            if culprit.is_none()
                && lay_over(&mut probe, &pair).is_ok()
                && probe.try_into::<Settings>().is_err()
            {
                culprit = Some((key.to_owned(), value.to_string()));
            }
        });
        let (key, value) = culprit.unwrap_or_default();
        let problem = format!("can't be {value}: {}", problem.message());
        Error::BadSetting { key, origin: "the settings".into(), problem }
    })
}
