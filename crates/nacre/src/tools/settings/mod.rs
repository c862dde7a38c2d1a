//! Settings: read once, at the edge. The rest of the code sees values, not keys.
//!
//! `defaults.toml` is compiled in. It is the reference, and `init` writes it with every line commented out. Layers override it
//! in order: profile, file, environment, flags. An unknown key is refused, and the error names the nearest known one. A
//! retired key is ignored with a warning, and a renamed key sets its successor with a warning.

mod disputes;

use std::sync::LazyLock;

use toml::{Table, Value};

pub use disputes::{DISPUTES, Dispute};

use crate::base::settings::{DistilBy, ExtractBy, Hook, Provider};
use crate::base::text::nearest;
use crate::base::{Error, Result, Settings};
use crate::index::Language;

/// The commented file with every key and its default.
pub const DEFAULTS: &str = include_str!("defaults.toml");

/// The defaults of a plugin.
const PLUGIN: &str = include_str!("plugin.toml");

/// A profile: a named set of settings.
struct Profile {
    /// Its name, by its effect.
    name: &'static str,
    /// The design that it follows. This name works everywhere too, and settings show it.
    design: &'static str,
    /// The settings that differ from the defaults.
    text: &'static str,
}

const fn profile(name: &'static str, design: &'static str, text: &'static str) -> Profile {
    Profile { name, design, text }
}

static PROFILES: [Profile; 6] = [
    profile("default", "balanced", include_str!("profiles/balanced.toml")),
    profile("minimal", "carapace", include_str!("profiles/carapace.toml")),
    profile("strict", "gated", include_str!("profiles/gated.toml")),
    profile("files", "brain", include_str!("profiles/brain.toml")),
    profile("graph", "nanoclaw", include_str!("profiles/nanoclaw.toml")),
    profile("feedback", "koshi", include_str!("profiles/koshi.toml")),
];

/// Keys of earlier versions, and why each was removed. They are ignored, so that an old file still works.
const RETIRED: &[(&str, &str)] = &[("graph.sessions", "facts are no longer read from conversations")];

/// Earlier names of keys, and their present names. The earlier names still work.
const RENAMED: &[(&str, &str)] = &[("tools.doors", "tools.compat")];

/// One layer of settings, and its origin for messages.
#[derive(Clone, Debug)]
pub struct Layer {
    origin: String,
    table: Table,
    /// The text of a settings file, to find the line of a key.
    text: String,
}

impl Layer {
    /// Reads a settings file.
    pub fn from_toml(origin: impl Into<String>, text: &str) -> Result<Layer> {
        let origin = origin.into();
        match text.parse::<Table>() {
            Ok(table) => Ok(Layer { origin, table, text: text.to_owned() }),
            Err(problem) => {
                let line = problem
                    .span()
                    .map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
                Err(Error::BadSettingsFile { origin, problem: format!("line {line}: {}", problem.message()) })
            }
        }
    }

    /// Reads one `section.key=value`. A value that is not TOML is text, so that quotes are rarely needed.
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
        Ok(Layer { origin, table, text: String::new() })
    }

    /// Reads the settings among environment variables: `NACRE_` and the key in capitals, dots as `_`.
    pub fn from_environment(get: impl Fn(&str) -> Option<String>) -> Result<Vec<Layer>> {
        let mut layers = Vec::new();
        let renamed = RENAMED.iter().map(|(old, _)| (*old).to_owned());
        for key in renamed.chain(keys()) {
            let name = format!("NACRE_{}", key.replace('.', "_").to_uppercase());
            if let Some(value) = get(&name) {
                layers
                    .push(Layer::from_pair(format!("the environment ({name})"), &format!("{key}={value}"))?);
            }
        }
        Ok(layers)
    }

    /// Reads Azure's own environment variables, if the layers select that provider. Every layer takes precedence over them.
    pub fn from_azure(layers: &[Layer], get: impl Fn(&str) -> Option<String>) -> Result<Vec<Layer>> {
        let provider =
            |layer: &Layer| Some(layer.table.get("embedding")?.get("provider")?.as_str()?.to_owned());
        if layers.iter().rev().find_map(provider).as_deref() != Some("azure-openai") {
            return Ok(Vec::new());
        }
        let variables = [
            ("AZURE_OPENAI_ENDPOINT", "embedding.url"),
            ("AZURE_OPENAI_EMBEDDING_DEPLOYMENT", "embedding.model"),
            ("AZURE_OPENAI_API_VERSION", "embedding.api_version"),
        ];
        let given = variables.into_iter().filter_map(|(name, key)| Some((name, key, get(name)?)));
        let layer = |(name, key, value): (&str, &str, String)| {
            let value = Value::String(value.trim_end_matches('/').to_owned());
            Layer::from_pair(format!("the environment ({name})"), &format!("{key}={value}"))
        };
        given.map(layer).collect()
    }

    /// Returns the place that sets a key, for messages: the origin, and the line in a file.
    fn place(&self, key: &str) -> String {
        let mut section = String::new();
        for (line, number) in self.text.lines().zip(1..) {
            let line = line.trim();
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
                section = format!("{}.", name.trim());
            }
            let name = line.split('=').next().unwrap_or_default().trim();
            if format!("{section}{name}") == key || section == format!("{key}.") {
                return format!("{} line {number}", self.origin);
            }
        }
        self.origin.clone()
    }

    fn sets(&self, key: &str) -> bool {
        let mut found = false;
        flatten("", &self.table, &mut |set, _| found |= set == key);
        found
    }
}

impl Settings {
    /// Applies the profile and then the layers, in order, to the defaults.
    ///
    /// The profile is `profile` if given, otherwise that of the last layer that names one.
    pub fn from_layers(profile: Option<&str>, layers: &[Layer]) -> Result<Settings> {
        let named = layers.iter().rev().find_map(|layer| layer.table.get("profile").and_then(Value::as_str));
        let profile = find_profile(profile.or(named).unwrap_or("default"))?;
        let mut all = defaults().clone();
        lay_over(&mut all, &profile.layer()?)?;
        for layer in layers {
            lay_over(&mut all, layer)?;
        }
        // A profile that searches by words alone has no use for a model, so naming one asks for both.
        let names_model = |layer: &Layer| {
            let provider = layer.table.get("embedding").and_then(|embedding| embedding.get("provider"));
            provider.is_some_and(|provider| provider.as_str() != Some("none"))
        };
        let by_words = all["search"]["fusion"].as_str() == Some("words");
        if by_words
            && layers.iter().any(names_model)
            && !layers.iter().any(|layer| layer.sets("search.fusion"))
        {
            all["search"]["fusion"] = Value::String("hybrid".into());
        }
        all.insert("profile".into(), Value::String(profile.design.into()));
        let checked = deserialize(&all).and_then(|settings: Settings| settings.check().map(|()| settings));
        checked.map_err(|error| match error {
            Error::BadSetting { key, origin, problem } => {
                let layer = layers.iter().rev().find(|layer| layer.sets(&key));
                let origin = layer.map_or(origin, |layer| layer.place(&key));
                Error::BadSetting { key, origin, problem }
            }
            other => other,
        })
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
        within("entries.max_size_mb", self.entries.max_size_mb >= 0.0, "is negative")?;
        within("entries.purge_superseded_days", self.entries.purge_superseded_days >= 0, "is negative")?;
        within("rank.bound", (0..=50).contains(&self.rank.bound), "is not between 0 and 50")?;
        within("rank.reinforce", (0..=50).contains(&self.rank.reinforce), "is not between 0 and 50")?;
        within("rank.demote", (0..=50).contains(&self.rank.demote), "is not between 0 and 50")?;
        within("rank.score_weight", (0.0..=2.0).contains(&self.rank.score_weight), "is not between 0 and 2")?;
        within("rank.recency", (0.0..=10.0).contains(&self.rank.recency), "is not between 0 and 10")?;
        within("search.limit", (1..=100).contains(&self.search.limit), "is not between 1 and 100")?;
        within(
            "search.agent_limit",
            (1..=100).contains(&self.search.agent_limit),
            "is not between 1 and 100",
        )?;
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
            &format!("is not one of {}", Language::names().collect::<Vec<_>>().join(", ")),
        )?;
        let log = &self.log;
        within("log.high", (0.0..=1.0).contains(&log.high), "is not between 0 and 1")?;
        within("log.low", (0.0..=log.high).contains(&log.low), "is not between 0 and `log.high`")?;
        within("log.keep_days_low", log.keep_days_low >= 0, "is negative")?;
        within("log.keep_days_mid", log.keep_days_mid >= 0, "is negative")?;
        within("turn.least", (0.0..=1.0).contains(&self.turn.least), "is not between 0 and 1")?;
        let graph = &self.graph;
        let weights = (graph.relevance_weight, graph.activation_weight);
        within("graph.relevance_weight", (0.0..=1.0).contains(&weights.0), "is not between 0 and 1")?;
        within("graph.activation_weight", (0.0..=1.0).contains(&weights.1), "is not between 0 and 1")?;
        within(
            "graph.activation_bump",
            (0.0..=5.0).contains(&graph.activation_bump),
            "is not between 0 and 5",
        )?;
        within("graph.linked_facts", graph.linked_facts <= 100, "is more than 100")?;
        within("graph.linked_strength", graph.linked_strength >= 1.0, "is below 1")?;
        within("graph.turn_facts", (1..=100).contains(&graph.turn_facts), "is not between 1 and 100")?;
        within("graph.turn_score", (0.0..=100.0).contains(&graph.turn_score), "is not between 0 and 100")?;
        within("graph.cache_questions", graph.cache_questions <= 1_000, "is more than 1000")?;
        within("graph.cache_seconds", graph.cache_seconds >= 0, "is negative")?;
        within("turn.drift", (0.0..=2.0).contains(&self.turn.drift), "is not between 0 and 2")?;
        for (job, at) in &self.maintain.at {
            let problem = "is neither a time such as \"04:00\" or \"Sunday 03:30\" nor a cron line such as \"0 4 * * *\"";
            within(&format!("maintain.at.{job}"), crate::tools::maintain::is_schedule(at), problem)?;
        }
        within("turn.tokens", self.turn.tokens <= 10_000, "is more than 10000")?;
        for name in &self.turn.contributors {
            let known: Vec<&str> = crate::context::turn::contributors().collect();
            within(
                "turn.contributors",
                known.contains(&name.as_str()),
                &format!("names `{name}`, which is not one of {}", known.join(", ")),
            )?;
        }
        for part in &self.search.without {
            let known = crate::search::PARTS;
            within(
                "search.without",
                known.contains(&part.as_str()),
                &format!("names `{part}`, which is not one of {}", known.join(", ")),
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
            "leaves no room after `session.reserve` and `session.soft`",
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
        let distil = &self.distil;
        within(
            "distil.timeout_seconds",
            (1..=3600).contains(&distil.timeout_seconds),
            "is not between 1 and 3600",
        )?;
        let is_named = distil.command.first().is_some_and(|program| !program.is_empty());
        let needs_command = distil.by == DistilBy::Command;
        within("distil.command", is_named || !needs_command, "is empty, and `distil.by` is \"command\"")?;
        let needs_model = distil.by == DistilBy::Llm;
        within("llm.url", !self.llm.url.is_empty() || !needs_model, "is empty, and `distil.by` is \"llm\"")?;
        let needs_command = self.extract.by == ExtractBy::Command;
        within("distil.command", is_named || !needs_command, "is empty, and `extract.by` is \"command\"")?;
        let needs_model = self.extract.by == ExtractBy::Llm;
        within("llm.url", !self.llm.url.is_empty() || !needs_model, "is empty, and `extract.by` is \"llm\"")?;
        within("brief.max_chars", self.brief.max_chars >= 500, "is below 500")?;
        let boot = &self.boot;
        within("boot.file_chars", boot.file_chars >= 500, "is below 500")?;
        within("boot.total_chars", boot.total_chars >= 2_000, "is below 2000")?;
        for file in &boot.files {
            let known = crate::records::workspace::TEMPLATES.iter().map(|template| template.path);
            let problem = || {
                let known = known.clone().collect::<Vec<_>>().join(", ");
                format!("names `{file}`, for which there is no template; there are {known}")
            };
            if !known.clone().any(|path| path == file) {
                within("boot.files", false, &problem())?;
            }
        }
        for (key, parts) in [("boot.main", &boot.main), ("boot.project", &boot.project)] {
            for part in parts {
                let words = crate::context::boot::PARTS;
                let known = words.contains(&part.as_str())
                    || part.parse::<crate::records::workspace::FilePath>().is_ok();
                let problem = format!(
                    "names `{part}`, which is neither a Markdown file of the workspace nor one of {}",
                    words.join(", ")
                );
                within(key, known, &problem)?;
            }
        }
        for name in &self.tools.offer {
            if crate::tools::tool(name).is_none() {
                let near = nearest(name, crate::tools::TOOLS.iter().map(|tool| tool.name));
                let near = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
                within("tools.offer", false, &format!("names `{name}`, which is not a tool{near}"))?;
            }
        }
        for name in &self.tools.compat {
            if !crate::tools::COMPAT_APIS.iter().any(|api| api.name == name) {
                let names = crate::tools::COMPAT_APIS.iter().map(|api| api.name);
                let problem =
                    format!("names `{name}`, which is not one of {}", names.collect::<Vec<_>>().join(", "));
                within("tools.compat", false, &problem)?;
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
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::from_layers(None, &[]).expect("the defaults compiled in are valid")
    }
}

/// Returns a warning for each retired or renamed key that a layer sets.
pub fn retired(layers: &[Layer]) -> Vec<String> {
    let mut warnings = Vec::new();
    for layer in layers {
        flatten("", &layer.table, &mut |key, _| {
            let retired = RETIRED.iter().find(|(name, _)| *name == key);
            let warning =
                |(_, why): &(&str, &str)| format!("setting `{key}` in {} is ignored: {why}", layer.origin);
            warnings.extend(retired.map(warning));
            let renamed = RENAMED.iter().find(|(old, _)| *old == key);
            let warning = |(_, new): &(&str, &str)| {
                format!("setting `{key}` in {} is now called `{new}`", layer.origin)
            };
            warnings.extend(renamed.map(warning));
        });
    }
    warnings
}

/// Returns the designs that the profiles follow.
pub fn profiles() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|profile| profile.design)
}

/// Returns the name of a profile by its effect, for the name of its design.
pub fn profile_name(design: &str) -> &str {
    PROFILES.iter().find(|profile| profile.design == design).map_or(design, |profile| profile.name)
}

/// Returns every setting after the profile and `layers`, as `(key, value)` in the order of the defaults.
pub fn effective(profile: Option<&str>, layers: &[Layer]) -> Result<Vec<(String, String)>> {
    let settings = Settings::from_layers(profile, layers)?;
    let mut all = defaults().clone();
    lay_over(&mut all, &find_profile(&settings.profile)?.layer()?)?;
    for layer in layers {
        lay_over(&mut all, layer)?;
    }
    all.insert("profile".into(), Value::String(settings.profile));
    let mut pairs = Vec::new();
    flatten("", &all, &mut |key, value| pairs.push((key.to_owned(), value.to_string())));
    Ok(pairs)
}

/// Returns the defaults as `init` writes them: every line a comment, so that a changed default still reaches the user.
pub fn commented_defaults() -> String {
    let line = |line: &str| {
        let bare = line.is_empty() || line.starts_with('#') || line.starts_with('[');
        if bare { format!("{line}\n") } else { format!("# {line}\n") }
    };
    DEFAULTS.lines().map(line).collect()
}

/// Every process reads them more than once, and to parse them takes most of the time of that.
fn defaults() -> &'static Table {
    static TABLE: LazyLock<Table> =
        LazyLock::new(|| DEFAULTS.parse().expect("the defaults compiled in are valid"));
    &TABLE
}

fn plugin_defaults() -> Table {
    PLUGIN.parse().expect("the defaults compiled in are valid")
}

fn keys() -> Vec<String> {
    let mut keys = Vec::new();
    flatten("", defaults(), &mut |key, _| keys.push(key.to_owned()));
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

/// Finds a profile by either name.
fn find_profile(name: &str) -> Result<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name || profile.design == name).ok_or_else(|| {
        let known = PROFILES.iter().map(|profile| format!("`{}` ({})", profile.name, profile.design));
        let known = known.collect::<Vec<_>>().join(", ");
        Error::UnknownProfile { given: crate::base::text::shorten(name), known }
    })
}

impl Profile {
    fn layer(&self) -> Result<Layer> {
        Layer::from_toml(format!("profile `{}`", self.name), self.text)
    }
}

/// Applies a layer to a table. Only existing keys can be set, and only to the same kind of value. People choose the names of
/// plugins, but not the keys of one.
fn lay_over(under: &mut Table, layer: &Layer) -> Result<()> {
    fn walk(prefix: &str, under: &mut Table, over: &Table, layer: &Layer) -> Result<()> {
        for (key, value) in over {
            let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            let new = RENAMED.iter().find(|(old, _)| *old == path).map(|(_, new)| *new);
            let renamed = new.and_then(|new| Some((new.rsplit_once('.')?.1, new.to_owned())));
            let (key, path) = renamed.unwrap_or((key.as_str(), path));
            if prefix == "plugins" && !under.contains_key(key) {
                let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                if key.is_empty() || key.len() > 64 || !key.chars().all(fits) {
                    let problem = "is not a valid name: use 1 to 64 letters, digits, `_` and `-`".into();
                    let origin = layer.place(&path);
                    return Err(Error::BadSetting { key: path, origin, problem });
                }
                under.insert(key.to_owned(), Value::Table(plugin_defaults()));
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
                    let origin = layer.place(&path);
                    return Err(Error::UnknownSetting { key: path, origin, nearest: near });
                }
                (Some(Value::Table(under)), Value::Table(over)) => walk(&path, under, over, layer)?,
                (Some(there @ Value::Float(_)), Value::Integer(whole)) => {
                    #[expect(clippy::cast_precision_loss, reason = "a setting such as 1 for 1.0")]
                    let float = *whole as f64;
                    *there = Value::Float(float);
                }
                (Some(there), value) if there.type_str() == value.type_str() => *there = value.clone(),
                (Some(there), value) => {
                    let problem = format!("must be {}, not {value}", kind_in_words(there));
                    let origin = layer.place(&path);
                    return Err(Error::BadSetting { key: path, origin, problem });
                }
            }
        }
        Ok(())
    }
    walk("", under, &layer.table, layer)
}

/// Returns the kind of value that a setting takes, with its default as an example.
fn kind_in_words(default: &Value) -> String {
    match default {
        Value::Integer(_) => format!("a whole number such as {default}"),
        Value::Float(_) => format!("a number such as {default}"),
        Value::String(text) if text.is_empty() => "text in quotes".into(),
        Value::String(_) => format!("text in quotes such as {default}"),
        Value::Boolean(_) => "true or false".into(),
        Value::Array(_) => "a list such as [\"one\", \"two\"]".into(),
        Value::Table(_) => "a section".into(),
        Value::Datetime(_) => "a time".into(),
    }
}

fn deserialize(all: &Table) -> Result<Settings> {
    // Keys and kinds are already checked. Only unknown words, such as `telemetry.events = "loud"`, and signs can fail.
    all.clone().try_into().map_err(|problem: toml::de::Error| {
        let mut culprit = None;
        flatten("", all, &mut |key, value| {
            let mut probe = defaults().clone();
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
