//! The statements of a passage, each with its subject and its time. A short text is one statement, a long one has one
//! per sentence, a document one per line.
//!
//! A line of a document has the date that it begins with, that of the nearest heading with one, or that of the file's
//! name. Otherwise it has none: the time of a file says nothing about its lines.

use std::rc::Rc;

use super::headings;
use crate::base::Time;
use crate::base::markdown::heading;
use crate::base::text::sentences;
use crate::index::dates;

/// A longer text has one statement per sentence.
const MAX_STATEMENT_CHARS: usize = 120;
/// The maximum number of characters of a text that are read.
const MAX_READ_CHARS: usize = 1_600;
/// The separator of the headings in a title.
const HEADING_SEPARATOR: &str = " > ";

/// One statement of a passage.
#[derive(Clone)]
pub(crate) struct PassageStatement<'t> {
    pub(crate) text: &'t str,
    /// The headings above it, which belong to its subject.
    pub(crate) context: Option<Rc<str>>,
    pub(crate) at: Time,
    /// How many lines of its passage are before it.
    pub(crate) line: i64,
}

impl PassageStatement<'_> {
    /// Tells whether the statement or a heading above it may have one of these words. Only the beginnings of words are
    /// compared: this tells which lines of a long passage are worth reading.
    pub(crate) fn has_any(&self, words: &[String]) -> bool {
        const MAX_COMPARED_CHARS: usize = 4;
        // Words have no accents.
        if !self.text.is_ascii() {
            return true;
        }
        let text = self.text.to_lowercase();
        let context = self.context.as_deref().unwrap_or_default().to_lowercase();
        let beginning =
            |word: &str| word.char_indices().nth(MAX_COMPARED_CHARS).map_or(word.len(), |(end, _)| end);
        words
            .iter()
            .map(|word| &word[..beginning(word)])
            .any(|word| text.contains(word) || context.contains(word))
    }
}

/// Returns the statements of a text that is no document; only those of the beginning of a long one.
pub(crate) fn of_text(text: &str, at: Time) -> Vec<PassageStatement<'_>> {
    let text = text.char_indices().nth(MAX_READ_CHARS).map_or(text, |(end, _)| &text[..end]);
    let parts = match text.chars().nth(MAX_STATEMENT_CHARS) {
        Some(_) => sentences(text),
        None => vec![text.split(" [").next().unwrap_or(text)],
    };
    // A part in brackets is a caption or a note of a program.
    let parts = parts.into_iter().filter(|part| !part.starts_with('['));
    parts.map(|text| PassageStatement { text, context: None, at, line: 0 }).collect()
}

/// Returns the statements of a chunk of the document at `path`. `at` is the date in its name.
pub(crate) fn of_chunk<'t>(path: &str, title: &str, text: &'t str, at: Time) -> Vec<PassageStatement<'t>> {
    let above = headings(title, path);
    let mut outline: Vec<(usize, &str)> = Vec::new();
    let mut section = Section::new(above.split(HEADING_SEPARATOR), at);
    let mut found = Vec::new();
    for (line, text) in (0..).zip(text.lines()) {
        if let Some((level, name)) = heading(text) {
            outline.retain(|(above, _)| *above < level);
            outline.push((level, name));
            section = Section::new(outline.iter().map(|(_, name)| *name), at);
        } else if text.contains(char::is_alphanumeric) {
            let at = leading_day(text).unwrap_or(section.at);
            found.push(PassageStatement { text: text.trim(), context: section.context.clone(), at, line });
        }
    }
    found
}

/// The headings above a line.
struct Section {
    context: Option<Rc<str>>,
    at: Time,
}

impl Section {
    /// A heading with a date gives the date, the others the subject.
    fn new<'h>(headings: impl Iterator<Item = &'h str>, mut at: Time) -> Section {
        let mut names: Vec<&str> = Vec::new();
        for name in headings.filter(|name| !name.is_empty()) {
            match day_in(name) {
                Some(day) => at = day,
                None => names.push(name),
            }
        }
        Section { context: (!names.is_empty()).then(|| names.join(" ").into()), at }
    }
}

/// Returns the one day that a heading names.
fn day_in(heading: &str) -> Option<Time> {
    let days = dates::named(&heading.to_lowercase(), Time::default(), &[]);
    let [(from, to)] = days[..] else { return None };
    #[expect(clippy::cast_possible_truncation, reason = "days of a few centuries")]
    let start = Time::from_millis(from as i64 * 86_400_000);
    (to - from <= 1.0).then_some(start)
}

/// Returns the date that a line begins with: `- 2026-03-01: ...`.
fn leading_day(line: &str) -> Option<Time> {
    let (day, at) = Time::day_in_name(line.get(..24).unwrap_or(line))?;
    let before = &line[..line.find(day)?];
    (!before.contains(char::is_alphanumeric)).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_date_of_itself_its_heading_or_its_file() {
        let text = "# Harbor\n- port: 1\n## 2026-03-01\n- port: 2\n- 2026-03-04: port 3\n## Notes of 5 March 2026\n\
            - port: 4\n# Other\nport: 5\n";
        let day = |day: &str| Time::parse(day).unwrap();
        let found = |path: &str, at: Time| -> Vec<(Time, Option<String>)> {
            let statements = of_chunk(path, "", text, at);
            statements.iter().map(|one| (one.at, one.context.as_deref().map(str::to_owned))).collect()
        };
        let harbor = Some("Harbor".to_owned());
        let other = Some("Other".to_owned());
        for at in [Time::UNDATED, day("2026-02-01")] {
            assert_eq!(
                found("notes.md", at),
                [
                    (at, harbor.clone()),
                    (day("2026-03-01"), harbor.clone()),
                    (day("2026-03-04"), harbor.clone()),
                    (day("2026-03-05"), harbor.clone()),
                    (at, other.clone()),
                ]
            );
        }
        let below = of_chunk(
            "memory/2026-02-01.md",
            "Harbor > 2026-02-03 2026-02-01 1 February 2026",
            "port 6",
            at(),
        );
        assert_eq!((below[0].at, below[0].context.as_deref()), (day("2026-02-03"), Some("Harbor")));
    }

    fn at() -> Time {
        Time::parse("2026-02-01").unwrap()
    }
}
