//! The structure of Markdown notes: front matter, separate memories under headings, observations, relations,
//! links.
//!
//! The functions are pure and never fail: anything that is not recognised is text.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::base::Time;
use crate::base::frame::{is_ours, strip_injected};
use crate::base::markdown::{FrontMatter, front_matter};
use crate::records::session::import::moment;

/// The values of a document's front matter, by key; nested keys are joined by a dot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Front(BTreeMap<String, Vec<String>>);

impl Front {
    pub(super) fn first(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.first().map(String::as_str)
    }

    pub(super) fn all(&self, key: &str) -> &[String] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    /// Returns the time at which the document says it was created or changed.
    pub(super) fn time(&self) -> Option<Time> {
        ["modified", "updated", "updated_at", "date", "created", "created_at"]
            .into_iter()
            .find_map(|key| moment(&Value::from(self.first(key)?)))
    }
}

/// Splits a document into its front matter and the rest, with the number of the rest's first line.
pub(super) fn front(text: &str) -> (Front, &str, usize) {
    const MAX_LINES: usize = 500;
    let found = front_matter(text).filter(|found| found.fields.lines().take(MAX_LINES).count() < MAX_LINES);
    let Some(FrontMatter { fields, body: Some(body) }) = found.filter(|_| text.starts_with("---\n")) else {
        return (Front::default(), text, 1);
    };
    let mut front = Front::default();
    let (mut above, mut key) = (String::new(), String::new());
    for bare in fields.lines().map(str::trim_end) {
        let inner = bare.trim_start();
        if inner.is_empty() || inner.starts_with('#') {
            continue;
        }
        if let Some(value) = inner.strip_prefix("- ") {
            front.0.entry(key.clone()).or_default().extend(scalar(value));
            continue;
        }
        let Some((name, value)) = inner.split_once(':') else { continue };
        let name = name.trim().trim_matches(['"', '\'']).to_ascii_lowercase();
        let value = value.trim();
        let nested = inner.len() < bare.len() && !above.is_empty();
        key = if nested { format!("{above}.{name}") } else { name };
        if !nested {
            above = if value.is_empty() { key.clone() } else { String::new() };
        }
        let list = value.strip_prefix('[').and_then(|value| value.strip_suffix(']'));
        let values: Vec<String> = match list {
            Some(list) => list.split(',').filter_map(scalar).collect(),
            None => scalar(value).into_iter().collect(),
        };
        if !values.is_empty() {
            front.0.entry(key.clone()).or_default().extend(values);
        }
    }
    (front, body, fields.lines().count() + 3)
}

fn scalar(text: &str) -> Option<String> {
    let text = text.trim();
    let quoted = ['"', '\''].into_iter().find_map(|mark| text.strip_prefix(mark)?.strip_suffix(mark));
    let text = match quoted {
        Some(text) => text,
        None => text.split(" #").next().unwrap_or_default().trim(),
    };
    (!text.is_empty() && text != "null" && text != "~").then(|| text.to_owned())
}

/// One memory of a document: a bullet with its sub-items, or a paragraph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    /// The headings above it, from the second level on.
    pub(super) section: Vec<String>,
    /// Its first line, from 1.
    pub(super) line: usize,
    pub(super) text: String,
}

impl Memory {
    /// Returns its text with the heading above it, without which a bullet may be meaningless.
    pub(super) fn content(&self) -> String {
        match self.section.last() {
            Some(heading) if !self.text.to_lowercase().contains(&heading.to_lowercase()) => {
                format!("{heading}: {}", self.text)
            }
            _ => self.text.clone(),
        }
    }
}

/// Splits a document into separate memories. Comments and rules are skipped.
pub(super) fn memories(text: &str) -> Vec<Memory> {
    // Before splitting, because injected text is recognised by the markers around all of it.
    let text = strip_injected(text);
    let (_, body, first) = front(&text);
    let mut found: Vec<Memory> = Vec::new();
    let mut headings: Vec<(usize, String)> = Vec::new();
    let (mut open, mut fence, mut comment) = (false, None, false);
    for (line, number) in body.lines().zip(first..) {
        let bare = line.trim();
        if let Some(mark) = fence {
            if let Some(last) = found.last_mut().filter(|_| open) {
                last.text.push('\n');
                last.text.push_str(line);
            }
            if bare.starts_with(mark) {
                fence = None;
            }
            continue;
        }
        if comment || bare.starts_with("<!--") {
            comment = !bare.contains("-->");
            open = false;
            continue;
        }
        if let Some((level, title)) = heading(bare) {
            headings.retain(|(above, _)| *above < level);
            headings.push((level, title));
            open = false;
            continue;
        }
        if bare.is_empty() {
            open = false;
            continue;
        }
        if bare.chars().all(|c| "-*_=|: ".contains(c)) {
            open = false;
            continue;
        }
        fence = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
        let bullet = bullet(bare);
        let begins = bullet.is_some() && !line.starts_with([' ', '\t']);
        let goes_on = open || bullet.is_some() && !begins && found.last().is_some();
        if begins || !goes_on {
            let section = headings.iter().filter(|(level, _)| *level > 1).map(|(_, title)| title.clone());
            let text = bullet.unwrap_or(bare).to_owned();
            found.push(Memory { section: section.collect(), line: number, text });
        } else if let Some(last) = found.last_mut() {
            last.text.push('\n');
            last.text.push_str(line.trim_end());
        }
        open = true;
    }
    found.retain(|memory| memory.text.chars().any(char::is_alphanumeric));
    found
}

fn heading(line: &str) -> Option<(usize, String)> {
    // A line in bold counts as a heading if there is none.
    let bold = line.strip_prefix("**").and_then(|line| line.trim_end_matches(':').strip_suffix("**"));
    if let Some(title) = bold.filter(|title| !title.is_empty() && !title.contains("**")) {
        return Some((7, title.trim().trim_end_matches(':').to_owned()));
    }
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    let title = title.strip_prefix(' ')?.trim().trim_end_matches('#').trim();
    ((1..=6).contains(&level) && !title.is_empty()).then(|| (level, title.to_owned()))
}

fn bullet(line: &str) -> Option<&str> {
    let text = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)).or_else(|| {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.len() < line.len()).then(|| rest.strip_prefix(". ").or(rest.strip_prefix(") ")))?
    })?;
    Some(text.trim())
}

/// The annotations of a note in the syntax of basic-memory and Obsidian.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Annotations {
    /// Observations: `- [category] text`, with the category first.
    pub(super) observations: Vec<(usize, String)>,
    /// Relations: predicate and target.
    pub(super) relations: Vec<(usize, String, String)>,
    /// Tags in the text.
    pub(super) tags: Vec<String>,
}

/// Reads observations, relations, links and tags, outside code. A link without a relation is `links_to`.
pub(super) fn said(text: &str) -> Annotations {
    let text = strip_injected(text);
    let (_, body, first) = front(&text);
    let mut said = Annotations::default();
    let mut fence = None;
    for (line, number) in body.lines().zip(first..) {
        let bare = line.trim();
        if let Some(mark) = fence {
            if bare.starts_with(mark) {
                fence = None;
            }
            continue;
        }
        fence = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
        if fence.is_some() || is_ours(bare) {
            continue;
        }
        let item = bullet(bare);
        if let Some(observation) = item.and_then(observation) {
            said.observations.push((number, observation));
        }
        let typed = item.and_then(relation);
        for target in links(bare) {
            let predicate = match &typed {
                Some((predicate, first)) if *first == target => predicate.clone(),
                _ => "links_to".to_owned(),
            };
            said.relations.push((number, predicate, target));
        }
        said.tags.extend(tags(bare));
    }
    let mut seen = std::collections::HashSet::new();
    said.relations.retain(|(_, predicate, target)| seen.insert((predicate.clone(), target.clone())));
    said.tags.sort();
    said.tags.dedup();
    said
}

/// Reads `[category] text`, which is neither a checkbox nor a link.
fn observation(item: &str) -> Option<String> {
    let (category, text) = item.strip_prefix('[')?.split_once(']')?;
    let is_box = matches!(category, "" | " " | "x" | "X" | "-");
    let is_link = category.starts_with('[') || text.starts_with(['(', '[']);
    let text = text.trim();
    (!is_box && !is_link && !text.is_empty()).then(|| format!("[{category}] {text}"))
}

/// Reads `predicate [[Target]]`, with the predicate in quotes if it has several words.
fn relation(item: &str) -> Option<(String, String)> {
    let (before, _) = item.split_once("[[")?;
    let before = before.trim();
    let quoted = before.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let words = quoted.map_or_else(|| before.split_whitespace().count(), |_| 1);
    let predicate = quoted.unwrap_or(before);
    let plain = !predicate.is_empty() && !predicate.contains(['[', ']', '.', ',', ':', '!']);
    (words <= 3 && plain).then(|| Some((predicate.to_owned(), links(item).into_iter().next()?)))?
}

/// Returns the notes that a line links to: `[[Folder/Note#Heading|shown]]` is `Note`; so is `![[Note]]`.
pub(super) fn links(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some((_, behind)) = rest.split_once("[[") {
        let Some((inner, after)) = behind.split_once("]]") else { break };
        rest = after;
        let target = inner.split(['|', '#', '^']).next().unwrap_or_default();
        let target = target.rsplit('/').next().unwrap_or_default().trim();
        let target = target.strip_suffix(".md").unwrap_or(target);
        // An embedded picture is not a note.
        let is_file = target.rsplit_once('.').is_some_and(|(_, ending)| {
            (2..=4).contains(&ending.len())
                && ending.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        });
        if !target.is_empty() && !target.contains('[') && !is_file {
            found.push(target.to_owned());
        }
    }
    found
}

/// Returns `#tag` and `#tag/below` at the start of a word; a number alone is not a tag.
fn tags(line: &str) -> Vec<String> {
    let words = line.split_whitespace().filter_map(|word| word.strip_prefix('#'));
    words
        .map(|word| word.trim_end_matches([',', '.', ';', ')', ':', '!', '?']))
        .filter(|tag| tag.chars().any(char::is_alphabetic))
        .filter(|tag| tag.chars().all(|c| c.is_alphanumeric() || "-_/".contains(c)))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_is_read_as_far_as_it_is_plain() {
        let text = "---\ntitle: \"A: b\"\ntags:\n  - one\n  - two # so\naliases: [X, 'Y z']\nmetadata:\n  type: feedback\ncreated: 2025-03-01\nempty:\n---\nBody\n";
        let (front, body, line) = front(text);
        assert_eq!((body, line), ("Body\n", 12));
        assert_eq!(front.first("title"), Some("A: b"));
        assert_eq!(front.all("tags"), ["one", "two"]);
        assert_eq!(front.all("aliases"), ["X", "Y z"]);
        assert_eq!(front.first("metadata.type"), Some("feedback"));
        assert_eq!(front.time().unwrap().to_string(), "2025-03-01T00:00:00.000Z");
        for none in ["", "text", "---\nnever: closed\n", "----\na: b\n---\n", " ---\na: b\n---\n"] {
            assert_eq!(super::front(none), (Front::default(), none, 1));
        }
    }

    #[test]
    fn memories_are_bullets_and_paragraphs_under_their_headings() {
        let text = "# Memory\n\nA paragraph\nof two lines.\n\n## Alice\n- likes tea\n  - green\n- [decision|i=0.9] moves in May\n**Later:**\n- or in June\n\n---\n<!-- a note\nover lines -->\n### Work\n1. builds boats\n```\ncode\n```\n\n| a | b |\n|---|---|\n***\n";
        let found: Vec<String> = memories(text)
            .into_iter()
            .map(|memory| {
                format!("{} {}: {}", memory.line, memory.section.join("/"), memory.text.replace('\n', "⏎"))
            })
            .collect();
        assert_eq!(
            found,
            [
                "3 : A paragraph⏎of two lines.",
                "7 Alice: likes tea⏎  - green",
                "9 Alice: [decision|i=0.9] moves in May",
                "11 Alice/Later: or in June",
                "17 Alice/Work: builds boats⏎```⏎code⏎```",
                "22 Alice/Work: | a | b |",
            ]
        );
        assert_eq!(memories(text)[1].content(), "Alice: likes tea\n  - green");
    }

    #[test]
    fn notes_say_observations_relations_and_tags() {
        let text = "---\ntitle: x\n---\n- [tech] uses SQLite #db (since May)\n- [ ] to do\n- [x] done\n- [a link](http://x)\n- depends_on [[Storage|the store]] (hard)\n- \"is part of\" [[Big/Plan#Goals]]\nSee [[Alice]] and ![[picture.png]] #work/now #5\n```\n[[Not me]] #nor\n```\n- [[Bob]]\n[[never closed\n";
        let said = said(text);
        assert_eq!(said.observations, [(4, "[tech] uses SQLite #db (since May)".to_owned())]);
        let relations: Vec<String> = said
            .relations
            .iter()
            .map(|(line, predicate, target)| format!("{line} {predicate} {target}"))
            .collect();
        assert_eq!(
            relations,
            ["8 depends_on Storage", "9 is part of Plan", "10 links_to Alice", "14 links_to Bob"]
        );
        assert_eq!(said.tags, ["db", "work/now"]);
    }
}
