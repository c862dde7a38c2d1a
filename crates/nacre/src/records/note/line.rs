//! The lines of a chunk: what search compares with a question, and what the reader turns into vectors when a note is
//! indexed. Both split a chunk here, so that a stored vector belongs to the line of the same place.

use std::collections::HashMap;
use std::rc::Rc;

use super::statement::{self, PassageStatement};
use crate::base::Time;
use crate::base::markdown::heading;
use crate::base::text::sentences;
use crate::index::embed::foreign;

/// Changes whenever the same chunk would give other lines or other texts: vectors of another version are made again.
pub(crate) const VERSION: &str = "1";

/// A longer line is split into its sentences.
pub(crate) const MAX_LINE_CHARS: usize = 240;

/// A heading, a line, or a sentence of a long line.
#[derive(Clone, Copy)]
pub(crate) struct Unit<'t> {
    pub(crate) text: &'t str,
    /// How many lines of the chunk are before it.
    pub(crate) line: i64,
    pub(crate) is_heading: bool,
}

/// A unit that may answer a question.
pub(crate) struct NoteLine<'t> {
    /// Its place among the units.
    pub(crate) unit: usize,
    pub(crate) text: &'t str,
    /// How many lines of the chunk are before it.
    pub(crate) line: i64,
    /// The headings above it.
    pub(crate) headings: Option<Rc<str>>,
    /// The number of its section in the chunk.
    pub(crate) section: usize,
    /// The outer bullet or the column names above it.
    pub(crate) above: String,
    pub(crate) at: Time,
}

impl NoteLine<'_> {
    /// Returns the text that the reader turns into a vector: the headings and the line; `None` if it does not know the
    /// language.
    pub(crate) fn readable(&self) -> Option<String> {
        let text = self.text.trim();
        if foreign::is_foreign(self.text) {
            return None;
        }
        Some(self.headings.as_ref().map_or_else(|| text.to_owned(), |headings| format!("{headings}: {text}")))
    }
}

/// Splits the text of a chunk.
pub(crate) fn units(text: &str) -> Vec<Unit<'_>> {
    let mut units = Vec::new();
    for (line, text) in (0..).zip(text.lines()) {
        let is_heading = heading(text).is_some();
        if is_heading || text.chars().count() <= MAX_LINE_CHARS {
            units.push(Unit { text, line, is_heading });
        } else {
            units.extend(sentences(text).into_iter().map(|text| Unit { text, line, is_heading }));
        }
    }
    units
}

/// Returns the lines of a chunk of the document at `path`. `at` is the date in its name.
pub(crate) fn lines<'t>(
    units: &[Unit<'t>],
    path: &str,
    title: &str,
    text: &'t str,
    at: Time,
) -> Vec<NoteLine<'t>> {
    let statements: HashMap<i64, PassageStatement<'_>> =
        statement::of_chunk(path, title, text, at).into_iter().map(|one| (one.line, one)).collect();
    let mut outline = Outline::default();
    let mut lines = Vec::new();
    for (unit, Unit { text, line, is_heading }) in units.iter().copied().enumerate() {
        if is_heading {
            outline = Outline { section: outline.section + 1, ..Outline::default() };
            continue;
        }
        let next = units.get(unit + 1).map_or("", |next| next.text);
        let Some(above) = outline.above(text, next) else { continue };
        let Some(statement) = statements.get(&line) else { continue };
        let (headings, section) = (statement.context.clone(), outline.section);
        lines.push(NoteLine { unit, text, line, headings, section, above, at: statement.at });
    }
    lines
}

/// The bullets and the column names above a line.
#[derive(Default)]
struct Outline {
    section: usize,
    bullets: Vec<(usize, String)>,
    columns: Option<String>,
}

impl Outline {
    /// Returns the words above a line within its section; `None` for a row of column names and for a line without words.
    fn above(&mut self, text: &str, next: &str) -> Option<String> {
        let bare = text.trim_start();
        if !bare.contains(char::is_alphanumeric) {
            // The line below the column names ends no table.
            if !is_rule(bare) {
                (self.bullets, self.columns) = (Vec::new(), None);
            }
            return None;
        }
        if bare.starts_with('|') {
            if is_rule(next.trim()) {
                self.columns = Some(bare.to_owned());
                return None;
            }
            return Some(self.columns.clone().unwrap_or_default());
        }
        self.columns = None;
        let indent = text.len() - bare.len();
        self.bullets.retain(|(outer, _)| *outer < indent);
        let outer = self.bullets.last().map(|(_, text)| text.clone()).unwrap_or_default();
        self.bullets.push((indent, bare.to_owned()));
        Some(outer)
    }
}

/// Tells whether a line separates the column names of a table from its rows.
fn is_rule(line: &str) -> bool {
    line.starts_with('|') && line.contains('-') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}
