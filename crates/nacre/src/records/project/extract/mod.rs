//! Extracts items from text by rules: the same text gives the same items. Precision comes before recall:
//! a missed statement is still found in its file, but a wrong item is noise in every list.
//!
//! `markdown` reads documents by their headings, bullets and labels, `code` reads tagged comments, and
//! `rules` holds the tables of both. `section` is for models: what they are sent, and what of their answers is accepted.

mod code;
mod markdown;
mod rules;
pub(super) mod section;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::named::named;

pub(super) use rules::Language;

/// Changes whenever the same text would give other items: files read by another version are read again.
pub(super) const VERSION: &str = "2";
/// The maximum number of characters of a title and of a content, and the maximum number of items of one file.
const MAX_TITLE_CHARS: usize = 80;
const MAX_CONTENT_CHARS: usize = 1_000;
const MAX_FILE_ITEMS: usize = 500;

named! {
    /// The kind of an item.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[expect(missing_docs, reason = "the names explain themselves")]
    pub enum ItemType {
        Entity = "entity",
        Claim = "claim",
        Task = "task",
        Decision = "decision",
        Note = "note",
    }
}

/// An extracted statement and its location.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FoundItem {
    pub(super) r#type: ItemType,
    pub(super) title: String,
    pub(super) content: String,
    pub(super) line: usize,
    pub(super) confidence: f64,
}

/// Returns the language of a file by its name; `None` if it is unknown.
pub(super) fn language(name: &str) -> Option<Language> {
    let lower = name.to_ascii_lowercase();
    // A generated file says nothing that its sources do not.
    if rules::GENERATED_FILES.iter().any(|made| lower.ends_with(made)) {
        return None;
    }
    let ending = lower.rsplit_once('.').map_or(lower.as_str(), |(_, ending)| ending);
    rules::LANGUAGES.iter().find(|(endings, _)| endings.contains(&ending)).map(|(_, language)| *language)
}

/// Extracts the items of a text. `path` is its file.
pub(super) fn extract(path: &str, language: Language, text: &str) -> Vec<FoundItem> {
    let mut found = match language {
        Language::Markdown => markdown::read(path, text),
        Language::Code(marks) => code::read(marks, text),
    };
    found.truncate(MAX_FILE_ITEMS);
    found
}

/// Builds an item, unless its text is empty of content.
fn found(
    r#type: ItemType,
    title: Option<&str>,
    content: &str,
    line: usize,
    confidence: f64,
) -> Option<FoundItem> {
    let content = content.trim().trim_start_matches([':', '-', '–', '—']).trim();
    if !says_something(content) {
        return None;
    }
    let title = title.map_or_else(|| first_sentence(content), str::trim);
    let (title, content) = (cut(title, MAX_TITLE_CHARS), cut(content, MAX_CONTENT_CHARS));
    Some(FoundItem { r#type, title, content, line, confidence })
}

/// Tells whether a text is a statement, rather than a word, a placeholder or a question.
fn says_something(content: &str) -> bool {
    let words = content.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).count();
    let is_placeholder = content.starts_with(['<', '{']) && content.ends_with(['>', '}'])
        || content.starts_with("...")
        || content.starts_with('…')
        || rules::PLACEHOLDERS.has(&content.trim_end_matches(['.', '!']).to_lowercase());
    words >= 2 && !is_placeholder && !content.ends_with('?')
}

/// Returns the first sentence of a text, without its full stop.
fn first_sentence(text: &str) -> &str {
    let end = text.char_indices().zip(text.char_indices().skip(1)).find_map(|((at, c), (_, next))| {
        let ends =
            matches!(c, '.' | '!' | '?' | ';') && next.is_whitespace() && !is_abbreviation(&text[..at]);
        ends.then_some(at)
    });
    text[..end.unwrap_or(text.len())].trim_end_matches(['.', ' '])
}

fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default().trim_start_matches('(');
    matches!(word, "e.g" | "i.e" | "cf" | "vs" | "etc" | "approx" | "resp" | "Dr" | "Mr" | "No")
}

/// Cuts a text to at most `most` characters.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => {
            let end = text.char_indices().nth(most - 1).map_or(text.len(), |(at, _)| at);
            // At a space, if there is one nearby.
            let end = text[..end].rfind(' ').filter(|space| *space > end / 2).unwrap_or(end);
            format!("{}…", text[..end].trim_end())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Generates texts with the patterns of the rules, and letters of every length between them.
    fn any_text() -> impl Strategy<Value = String> {
        const WORDS: &[&str] = &[
            "We chose ",
            "SQLite over files",
            ". ",
            "? ",
            "; ",
            "2026-1-01: ",
            "Decision: ",
            "TODO",
            "(é): ",
            "- [ ] ",
            "# Decisions\n",
            "\n",
            "\n\n",
            "- ",
            "`",
            "```\n",
            "// ",
            "/* ",
            "*/",
            "\"",
            "'",
            "\\",
            "<!-- ",
            " -->",
            "é",
            "🐚",
            "ß",
            "\u{301}",
            "İ",
            " is a ",
            " are the ",
            "Heron",
            "**",
            "| a | b |\n",
            "---\n",
            "\t",
            "  ",
            "\r\n",
            "：",
            "— ",
            "e.g. ",
            "…",
            "x",
        ];
        prop::collection::vec(prop::sample::select(WORDS), 0..40).prop_map(|words| words.concat())
    }

    #[test]
    fn a_date_in_front_of_a_decision_stopped_the_extraction() {
        let text = "2026-1-01: We chose SQLite over files. éééééééééééééé";
        let language = language("a.md").unwrap();
        assert_eq!(extract("a.md", language, text)[0].title, "We chose SQLite over files");
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in prop_oneof![any_text(), "\\PC{0,80}"]) {
            for path in ["a.md", "docs/adr/0001-a.md", "a.rs", "a.py", "a.html", "a.sql", "a.lua", "a.js", "a.c", "a.rb"] {
                if let Some(language) = language(path) {
                    for found in extract(path, language, &text) {
                        prop_assert!(found.line >= 1 && found.title.chars().count() <= MAX_TITLE_CHARS);
                    }
                }
            }
        }
    }
}
