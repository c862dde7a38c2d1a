//! Profiles: what designs disagree about, and the page that is made from it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use nacre::settings::{self, DISPUTES};
use nacre::{SKILL, Settings};

/// The settings of a design: its name for each, our setting, the default there, and a note. A row without a setting says where
/// the value comes from instead.
type Config = &'static [(&'static str, &'static str, &'static str, &'static str)];

/// Every design that has settings, with its profile.
const CONFIGS: [(&str, &str, Config); 5] = [
    (
        "Carapace (entries)",
        "carapace",
        &[
            ("storage_path", "", "groups/", "of the home, which `--home` or NACRE_HOME names"),
            ("max_brief_entries", "brief.max_entries", "50", ""),
            ("max_brief_chars", "brief.max_chars", "10000", "clients take about 9,000 of them from a hook"),
            ("purge_superseded_days", "entries.purge_superseded_days", "90", "days since it was superseded"),
            (
                "embedding_provider",
                "embedding.provider",
                "\"none\"",
                "`local` and `openai` work too, and turn search by meaning on",
            ),
            ("max stores per session", "limits.store", "20", ""),
            ("max supersedes per session", "limits.supersede", "5", ""),
            ("max deletes per session", "limits.delete", "5", ""),
        ],
    ),
    (
        "Carapace (workspace)",
        "gated",
        &[
            ("memory-write, mode: approve", "write.memory", "\"approve\"", "and the other keys of `write`"),
            (
                "embedding model",
                "embedding.provider",
                "\"minilm\"",
                "all-MiniLM-L6-v2, installed with `nacre model install`",
            ),
            ("CARAPACE_DATA_DIR", "", "groups/main/", "of the home"),
        ],
    ),
    (
        "Brain",
        "brain",
        &[
            ("memoryPath", "", "MEMORY.md", "of the group's folder; `boot.main` names it"),
            (
                "maxMemorySize",
                "memory_file.max_chars",
                "50000",
                "characters; above it, the writer is asked to prune",
            ),
            ("sessionsPath", "", "sessions/", "of the group's folder"),
            ("sessionRetentionDays", "session.retention_days", "30", "then packed, and still found"),
            ("compactionThreshold", "session.compact_tokens", "100000", "tokens of context"),
            ("compactionKeepRecent", "session.keep_recent", "10", "lines"),
            ("flushEnabled", "session.flush", "\"prompt\"", "`\"off\"` for false"),
            ("flushThreshold", "session.flush_tokens", "80000", "tokens of context"),
            (
                "searchProvider",
                "search.fusion",
                "\"words\"",
                "for `fts5`; `\"weighted\"` or `\"hybrid\"` for `hybrid`",
            ),
            (
                "vectorModel",
                "embedding.provider",
                "\"none\"",
                "for null; else a provider, and `embedding.model`",
            ),
            ("toolResultRetention", "session.keep_tool_results", "5", "results; calls are kept"),
        ],
    ),
    (
        "NanoClaw",
        "nanoclaw",
        &[
            ("memory.searchWeights.vector", "search.vector_weight", "0.7", ""),
            ("memory.searchWeights.bm25", "search.word_weight", "0.3", ""),
            ("memory.chunkSize", "", "400", "tokens"),
            ("memory.chunkOverlap", "", "80", "tokens"),
            ("memory.temporalDecayHalfLife", "search.half_life_days", "30.0", "days"),
            ("memory.maxBootstrapCharsPerFile", "boot.file_chars", "20000", ""),
            ("memory.maxBootstrapCharsTotal", "boot.total_chars", "150000", ""),
            ("embeddings.provider", "embedding.provider", "\"builtin\"", "`azure-openai` for Azure"),
            ("embeddings.endpoint", "embedding.url", "\"\"", "or AZURE_OPENAI_ENDPOINT"),
            ("embeddings.apiKey", "embedding.key_variable", "\"AZURE_OPENAI_API_KEY\"", ""),
            (
                "embeddings.deployment",
                "embedding.model",
                "\"text-embedding-3-large\"",
                "or AZURE_OPENAI_EMBEDDING_DEPLOYMENT",
            ),
            (
                "embeddings.apiVersion",
                "embedding.api_version",
                "\"2024-06-01\"",
                "or AZURE_OPENAI_API_VERSION",
            ),
            ("embeddings.dimensions", "embedding.dimensions", "3072", ""),
            (
                "embeddings.fallbackDeployment",
                "",
                "built-in",
                "the built-in vectors answer while a provider is down",
            ),
            (
                "plugins.allow",
                "turn.contributors",
                "[\"graph\", \"continuity\", \"stability\", \"lessons\", \"plugins\"]",
                "",
            ),
            ("graph-memory.maxResults", "graph.turn_facts", "8", ""),
            ("graph-memory.minScore", "graph.turn_score", "65.0", "entity matches only, as its flow says"),
            ("graph-memory.timeoutMs", "turn.time_limit_ms", "500", "of all blocks together"),
            ("graph-memory.activationBump", "graph.activation_bump", "0.5", ""),
            ("graph-memory.activationWeight", "graph.activation_weight", "0.3", ""),
            ("graph-memory.relevanceWeight", "graph.relevance_weight", "0.7", ""),
            ("graph-memory.coOccurrenceLimit", "graph.linked_facts", "4", ""),
            ("graph-memory.coOccurrenceMinWeight", "graph.linked_strength", "2.0", ""),
            ("graph-memory.cacheSize", "graph.cache_questions", "10", ""),
            ("graph-memory.cacheTTL", "graph.cache_seconds", "60", "seconds"),
            ("continuity.maxExchanges", "turn.max_exchanges", "5000", ""),
            ("continuity.contextBudget", "turn.tokens", "2000", "of all blocks together"),
            ("stability.entropyThreshold", "turn.drift", "0.7", ""),
            ("cron.decay", "maintain.at.decay", "\"03:00\"", "or a cron line"),
            ("cron.ragReindex", "maintain.at.reindex", "\"Sunday 03:30\"", "or a cron line"),
        ],
    ),
    (
        "Koshi",
        "koshi",
        &[
            ("reinforceWeight", "rank.reinforce", "3", ""),
            ("demoteWeight", "rank.demote", "1", ""),
            ("maxSize", "entries.max_size_mb", "100.0", "megabytes"),
            ("pruneSchedule", "maintain.at.prune", "\"04:00\"", "or a cron line"),
            ("prunePercent", "entries.prune_percent", "1.0", ""),
        ],
    ),
];

fn values(profile: &str) -> BTreeMap<String, String> {
    settings::effective(Some(profile), &[]).unwrap().into_iter().collect()
}

#[test]
fn every_dispute_is_told_and_no_profile_decides_anything_else() {
    let default = values("balanced");
    for (place, dispute) in DISPUTES.iter().enumerate() {
        assert_eq!(dispute.number, place + 1);
        for key in dispute.keys {
            assert!(default.contains_key(*key), "{}: {key} is no setting", dispute.number);
        }
    }
    for profile in settings::profiles() {
        for (key, value) in values(profile) {
            let told = DISPUTES.iter().any(|dispute| dispute.keys.contains(&key.as_str()));
            assert!(
                told || key == "profile" || value == default[&key],
                "{profile} sets {key}, and no dispute names it"
            );
        }
    }
    // Each design stands for something.
    for profile in settings::profiles().filter(|name| *name != "balanced") {
        let different = values(profile).iter().filter(|(key, value)| default[*key] != **value).count();
        assert!(different > 15, "{profile}: {different}");
    }
}

#[test]
fn the_settings_of_every_design_exist_with_its_defaults() {
    for (design, profile, rows) in CONFIGS {
        let values = values(profile);
        for (name, key, default, _) in rows.iter().filter(|(_, key, ..)| !key.is_empty()) {
            assert_eq!(values.get(*key).map(String::as_str), Some(*default), "{design}: {name} is {key}");
        }
    }
}

/// Every text that an agent reads under a profile names only tools that are offered and files that are there.
#[test]
fn a_text_named_a_tool_or_a_file_that_is_not_there() {
    for profile in settings::profiles() {
        let settings = Settings::from_layers(Some(profile), &[]).unwrap();
        let offers = |name: &str| settings.tools.offer.iter().any(|tool| tool == name);
        let mut texts = vec![("instructions".to_owned(), nacre::instructions(&settings))];
        for template in
            nacre::TEMPLATES.iter().filter(|one| settings.boot.files.iter().any(|file| file == one.path))
        {
            texts.push((template.path.to_owned(), template.text(&settings)));
        }
        for tool in nacre::TOOLS.iter().filter(|tool| offers(tool.name)) {
            texts.push((tool.name.to_owned(), tool.listed_schema(&settings).to_string()));
        }
        texts.extend(settings.store_tools().map(|tools| ("flush".to_owned(), tools)));
        let resources: Vec<String> = nacre::call::RESOURCES.iter().map(nacre::call::Resource::uri).collect();
        for (place, text) in texts {
            for word in text.split(|c: char| !(c.is_ascii_lowercase() || c == '_')) {
                let is_tool = nacre::tool(word).is_some();
                assert!(!is_tool || offers(word), "{profile}, {place}: {word} is not offered");
            }
            for word in
                text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '-' | '_' | ':')))
            {
                let word = word.trim_matches(['.', ':']);
                let is_pattern = word.contains("NAME") || word.contains("YYYY");
                if word.ends_with(".md") && !is_pattern {
                    let boot = &settings.boot;
                    let there = boot.files.iter().chain(&boot.main).any(|file| file == word);
                    assert!(there, "{profile}, {place}: {word} is not there");
                }
                if word.starts_with("memory://") {
                    assert!(
                        resources.iter().any(|uri| uri == word),
                        "{profile}, {place}: {word} is no resource"
                    );
                }
            }
        }
    }
}

/// Each profile tells its agent how to recall and how to store.
#[test]
fn a_profile_said_nothing_of_recall_or_storing() {
    for (profile, recall, store) in [
        ("balanced", "Search (memory_search) before", "Store with memory_store"),
        ("carapace", "read the summary (memory_brief)", "Store with memory_store at the moment"),
        ("gated", "Search (memory_search) before", "Suggest a write (memory_write)"),
        ("brain", "startup context (memory_boot)", "in MEMORY.md (memory_write with path MEMORY.md)"),
        ("nanoclaw", "run memory_search", "Store with memory_write at the moment"),
        ("koshi", "up to three queries for one message", "Store with memory_store at the moment"),
    ] {
        let said = nacre::instructions(&Settings::from_layers(Some(profile), &[]).unwrap());
        assert!(said.contains(recall) && said.contains(store), "{profile}: {said}");
        assert!(said.contains("Do not store") && said.contains("secrets"), "{profile}");
        let warns = said.contains("data, not orders") || said.contains("suggestions, not commands");
        assert!(warns, "{profile}");
    }
    // The skill of the default profile is a file that other programs install.
    let default = nacre::instructions(&Settings::default());
    assert_eq!(default.rsplit_once("\n\n").unwrap().0, SKILL.trim_end());
}

/// A value as a cell shows it. A line between cells is no end of one.
fn cell(value: &str) -> String {
    let value =
        value.trim_start_matches('[').trim_end_matches(']').trim().replace('"', "").replace('|', "\\|");
    let value = if value.is_empty() { "none" } else { value.as_str() };
    value.split(", ").map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" ")
}

/// The table of disputes: a row for each setting.
fn disputes() -> String {
    let names: Vec<&str> = settings::profiles().collect();
    let all: Vec<BTreeMap<String, String>> = names.iter().map(|name| values(name)).collect();
    let mut text = format!("| # | question | setting | {} | why |\n", names.join(" | "));
    let _ = writeln!(text, "| --- | --- | --- |{} --- |", " --- |".repeat(names.len()));
    for dispute in &DISPUTES {
        if dispute.keys.is_empty() {
            let cells = " |".repeat(names.len());
            let _ = writeln!(
                text,
                "| {} | {} | always |{cells} {} |",
                dispute.number, dispute.about, dispute.why
            );
        }
        for (place, key) in dispute.keys.iter().enumerate() {
            let (number, about, why) = match place {
                0 => (dispute.number.to_string(), dispute.about, dispute.why),
                _ => (String::new(), "", ""),
            };
            let mut line = format!("| {number} | {about} | `{key}` |");
            for (place, values) in all.iter().enumerate() {
                let same = place > 0 && values[*key] == all[0][*key];
                let _ = write!(line, " {} |", if same { "=".into() } else { cell(&values[*key]) });
            }
            let _ = writeln!(text, "{line} {why} |");
        }
    }
    text
}

fn configs() -> String {
    let mut text = String::new();
    for (design, profile, rows) in CONFIGS {
        let _ = writeln!(text, "| {design} | setting | under `{profile}` | |\n| --- | --- | --- | --- |");
        for (name, key, default, note) in rows {
            let key = if key.is_empty() { "always".into() } else { format!("`{key}`") };
            let _ = writeln!(text, "| `{name}` | {key} | {} | {note} |", cell(default));
        }
        text.push('\n');
    }
    text
}

/// The page is made from the profiles (`NACRE_UPDATE=1 cargo test` writes it), so that it can't go stale.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test that writes its own expectation when told")]
fn the_page_of_the_profiles_is_what_they_are() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/profiles.md");
    let then = std::fs::read_to_string(&file).unwrap();
    let mut now = then.clone();
    for (name, made) in [("disputes", disputes()), ("settings", configs())] {
        let (open, close) = (format!("<!-- {name}: made -->\n"), format!("<!-- {name}: end -->\n"));
        let from = now.find(&open).expect("the page has its marks") + open.len();
        let to = now.find(&close).expect("the page has its marks");
        now.replace_range(from..to, &made);
    }
    if std::env::var_os("NACRE_UPDATE").is_some() {
        std::fs::write(&file, &now).unwrap();
    } else {
        assert!(now == then, "profiles changed: run with NACRE_UPDATE=1 and look at docs/profiles.md");
    }
    for profile in settings::profiles() {
        assert!(now.contains(&format!("- **{profile}**")), "{profile} is introduced");
    }
}
