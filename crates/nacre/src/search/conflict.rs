//! Current statements of the memory that a new one contradicts: entries, facts, and lines of documents.
//!
//! Passages that share rare words with the new statement are the candidates; `records::claim` compares each of their
//! sentences with it. The visibility of the connection applies, so nothing that the session may not see is named.

use std::collections::HashSet;
use std::ops::ControlFlow;

use schemars::JsonSchema;
use serde::Serialize;

use super::statements::{self, PassageStatement};
use crate::base::redact::{self, redact};
use crate::base::{Result, Time, text};
use crate::index::lookup::{self, Candidate};
use crate::index::{self, alike, chunk};
use crate::records::claim::{Statement, compare};
use crate::records::conflict::StatementRef;
use crate::records::entry;
use crate::records::graph::{Cite, fact};
use crate::records::workspace::lines;
use crate::store::Connection;

/// A current statement that a new one contradicts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Contradiction {
    /// `id:4` for a memory, `fact-2` for a fact, `path:line` for a document.
    pub id: String,
    /// The statement.
    pub text: String,
    /// Its time; absent for a line of a document without a date.
    #[serde(skip_serializing_if = "Time::is_undated")]
    pub at: Time,
    #[serde(skip)]
    pub(crate) statement: StatementRef,
}

redact! { Contradiction { id, text / at, statement } }

/// A statement that contradicts an older one.
#[derive(Clone, Debug)]
pub(crate) struct NewerStatement {
    /// The kind of its passage: `entry`, `fact` or `chunk`.
    pub(crate) kind: String,
    /// The reference of its passage.
    pub(crate) reference: String,
    pub(crate) statement: Contradiction,
}

/// How thoroughly the memory is searched for candidates.
struct Effort {
    /// The maximum number of words that candidates are looked up by, the rarest first.
    words: usize,
    /// The maximum number of candidates.
    candidates: usize,
}

const FULL: Effort = Effort { words: 8, candidates: 32 };
/// For each of many statements: common words match many passages, and take most of the time.
const QUICK: Effort = Effort { words: 4, candidates: 8 };
/// The maximum number of contradictions that are reported.
const MAX_REPORTED: usize = 5;
/// The maximum number of new lines of a document that are compared.
const MAX_COMPARED_LINES: usize = 50;

/// Returns the current statements that `content` contradicts, the most certain first. Passages in `skip` are left out.
pub(crate) fn contradicting(db: &Connection, content: &str, skip: &[String]) -> Result<Vec<Contradiction>> {
    contradicting_under(db, content, None, skip, &FULL)
}

/// Does the same for one of many statements, with fewer candidates.
pub(crate) fn contradicting_of_many(
    db: &Connection,
    content: &str,
    skip: &[String],
) -> Result<Vec<Contradiction>> {
    contradicting_under(db, content, None, skip, &QUICK)
}

/// Does the same for a line of a document under a heading.
fn contradicting_under(
    db: &Connection,
    content: &str,
    heading: Option<&str>,
    skip: &[String],
    effort: &Effort,
) -> Result<Vec<Contradiction>> {
    let later = Statement::read(content, heading);
    let mut found: Vec<(f32, Contradiction)> = Vec::new();
    let candidates = candidates(db, content, heading, effort)?;
    for candidate in candidates.iter().filter(|one| !skip.contains(&one.reference)) {
        for statement in statements(candidate) {
            if let Some(conflict) = compare(&read(&statement), &later) {
                found.push((conflict.score, contradiction(db, candidate, &statement)?));
            }
        }
    }
    found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    // Chunks overlap, and a fact that was read from a line is that line.
    let mut seen: Vec<StatementRef> = Vec::new();
    let mut is_new = |one: &Contradiction| {
        let is_new = !seen.contains(&one.statement);
        seen.push(one.statement.clone());
        is_new
    };
    Ok(found.into_iter().map(|(_, one)| one).filter(|one| is_new(one)).take(MAX_REPORTED).collect())
}

/// Returns the newest current statement that contradicts `content`, if it is newer than `at`. `is_fact` tells whether
/// `content` is a fact: the graph itself settles which of two facts holds.
pub(crate) fn newer(
    db: &Connection,
    content: &str,
    at: Time,
    is_fact: bool,
) -> Result<Option<NewerStatement>> {
    let earlier = Statement::read(content, None);
    let mut newest: Option<NewerStatement> = None;
    let candidates = candidates(db, content, None, &FULL)?;
    for candidate in candidates.into_iter().filter(|one| !is_fact || one.kind != fact::KIND) {
        for statement in statements(&candidate) {
            let since = newest.as_ref().map_or(at, |newest| newest.statement.at);
            if statement.at > since && compare(&earlier, &read(&statement)).is_some() {
                let statement = contradiction(db, &candidate, &statement)?;
                let Candidate { kind, reference, .. } = &candidate;
                newest = Some(NewerStatement { kind: kind.clone(), reference: reference.clone(), statement });
            }
        }
    }
    Ok(newest)
}

/// Returns the passages that share the rarest words with a text and its heading.
fn candidates(
    db: &Connection,
    content: &str,
    heading: Option<&str>,
    effort: &Effort,
) -> Result<Vec<Candidate>> {
    let language = index::language(db)?;
    let mut probes: Vec<(i64, String)> = Vec::new();
    for word in alike::meaning(&format!("{} {content}", heading.unwrap_or_default()), language) {
        probes.push((lookup::df(db, &word)?, word));
    }
    probes.retain(|(df, _)| *df > 0);
    probes.sort_unstable();
    probes.truncate(effort.words);
    if probes.is_empty() {
        return Ok(Vec::new());
    }
    let any: Vec<String> = probes.iter().map(|(_, word)| format!("\"{word}\"")).collect();
    lookup::best_statements(db, &any.join(" OR "), effort.candidates)
}

/// Names the statement of a candidate. A fact that was read from a document is named by its line, because it holds as long as the
/// line is there.
fn contradiction(
    db: &Connection,
    candidate: &Candidate,
    statement: &PassageStatement<'_>,
) -> Result<Contradiction> {
    let Candidate { kind, reference, first_line, .. } = candidate;
    let PassageStatement { text: statement, line, at, .. } = *statement;
    let (id, path, text) = match kind.as_str() {
        entry::KIND => {
            (format!("id:{}", entry::number(db, reference)?), reference.clone(), statement.to_owned())
        }
        "chunk" => {
            let path = path(candidate);
            (format!("{path}:{}", first_line + line), path.to_owned(), statement.to_owned())
        }
        _ => match fact::read_from(db, reference)? {
            Some(cite) => match line_of(db, &cite)? {
                Some(line) => (format!("{}:{}", cite.path, cite.line), cite.path, line),
                None => (reference.clone(), reference.clone(), statement.to_owned()),
            },
            None => (reference.clone(), reference.clone(), statement.to_owned()),
        },
    };
    let statement = StatementRef::new(path, &text);
    Ok(Contradiction { id, text: text::cut(without_marker(&text), 300), at, statement })
}

/// Returns the text of a cited line.
fn line_of(db: &Connection, cite: &Cite) -> Result<Option<String>> {
    let mut found = None;
    lookup::document_lines(db, &cite.path, |line, text, _| {
        if line != cite.line {
            return ControlFlow::Continue(());
        }
        found = Some(text.to_owned());
        ControlFlow::Break(())
    })?;
    Ok(found)
}

/// A new line of a document, and a current statement that it contradicts.
pub(crate) struct LineContradiction {
    pub(crate) line: StatementRef,
    pub(crate) contradicts: Contradiction,
}

/// Compares the lines that a change adds to a document with the current statements, at most the first fifty of them. The lines of
/// the document itself are those that it has after the change.
pub(crate) fn contradicting_lines(
    db: &Connection,
    path: &str,
    before: Option<&[u8]>,
    after: &[u8],
) -> Result<Vec<LineContradiction>> {
    let read = |bytes: &[u8]| redact::document(&text::lossy(bytes)).into_owned();
    let (before, after) = (read(before.unwrap_or_default()), read(after));
    let old: HashSet<&str> = before.lines().map(str::trim).collect();
    let new: HashSet<&str> = after.lines().map(str::trim).collect();
    let mut fresh: Vec<(String, &str)> = Vec::new();
    for chunk in chunk::chunks(&after) {
        let lines =
            chunk.text.lines().map(str::trim).filter(|line| is_statement(line) && !old.contains(line));
        fresh.extend(lines.map(|line| (chunk.title.clone(), line)));
    }
    let mut seen = HashSet::new();
    fresh.retain(|(_, line)| seen.insert(*line));
    let mut found = Vec::new();
    for (heading, line) in fresh.into_iter().take(MAX_COMPARED_LINES) {
        let heading = Some(heading.as_str()).filter(|heading| !heading.is_empty());
        for contradicts in contradicting_under(db, without_marker(line), heading, &[], &FULL)? {
            let statement = &contradicts.statement;
            // The index still has the document as it was before the change.
            if statement.reference != path || new.iter().any(|line| statement.says(line)) {
                found.push(LineContradiction { line: StatementRef::new(path, line), contradicts });
            }
        }
    }
    Ok(found)
}

/// Returns the statements of a passage: a document has one per line, everything else is one.
fn statements(candidate: &Candidate) -> Vec<PassageStatement<'_>> {
    let Candidate { kind, title, text, at, .. } = candidate;
    match kind.as_str() {
        "chunk" => statements::of_chunk(path(candidate), title, text, *at),
        _ => vec![PassageStatement { text, context: None, at: *at, line: 0 }],
    }
}

fn read(statement: &PassageStatement<'_>) -> Statement {
    Statement::read(without_marker(statement.text), statement.context.as_deref())
}

fn path(chunk: &Candidate) -> &str {
    chunk.reference.rsplit_once('#').map_or(&*chunk.reference, |(path, _)| path)
}

fn is_statement(line: &str) -> bool {
    !line.is_empty() && !line.starts_with('#')
}

/// Returns the statement of a line, without its list marker and the tag of a log line: `- [note|i=0.5] text`.
pub(crate) fn without_marker(line: &str) -> &str {
    match lines::lines(line).as_slice() {
        [line] => match (line.tagged(), line.kind) {
            (Some(tag), _) => tag.text,
            (None, lines::Kind::Bullet { text, .. }) => text,
            (None, _) => line.full,
        },
        _ => line,
    }
}
