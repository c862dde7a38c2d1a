//! Profiles: what designs disagree about, and the page that is made from it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use nacre::settings::{self, DISPUTES};

/// Brain's names of its settings, our setting for each, and its default there. A row without a setting says where the
/// value comes from instead.
const MEMORY_CONFIG: [(&str, &str, &str, &str); 11] = [
    ("memoryPath", "", "MEMORY.md", "of the group's folder; `boot.main` names it"),
    ("maxMemorySize", "memory_file.max_chars", "50000", "characters; above it, the writer is asked to prune"),
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
    ("vectorModel", "embedding.provider", "\"none\"", "for null; else a provider, and `embedding.model`"),
    ("toolResultRetention", "session.keep_tool_results", "5", "results; calls are kept"),
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
fn the_settings_of_brain_exist_with_its_defaults() {
    let brain = values("brain");
    for (name, key, default, _) in MEMORY_CONFIG.iter().filter(|(_, key, ..)| !key.is_empty()) {
        assert_eq!(brain.get(*key).map(String::as_str), Some(*default), "{name} is {key}");
    }
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

fn memory_config() -> String {
    let mut text = "| Brain | setting | under `brain` | |\n| --- | --- | --- | --- |\n".to_owned();
    for (name, key, default, note) in MEMORY_CONFIG {
        let key = if key.is_empty() { "always".into() } else { format!("`{key}`") };
        let _ = writeln!(text, "| `{name}` | {key} | {} | {note} |", cell(default));
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
    for (name, made) in [("disputes", disputes()), ("Brain", memory_config())] {
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
