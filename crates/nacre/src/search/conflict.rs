//! Current statements of the memory that contradict another one: entries, facts, and lines of documents.
//!
//! Passages that share rare words with the statement are the candidates; `records::claim` compares each of their
//! sentences with it. The visibility of the connection applies, so nothing that the session may not see is named.

use schemars::JsonSchema;
use serde::Serialize;

use super::statements::{self, PassageStatement};
use crate::base::redact::redact;
use crate::base::{Result, Time, text};
use crate::index::lookup::{self, Candidate};
use crate::index::{self, alike};
use crate::records::claim::{Statement, compare};
use crate::records::entry;
use crate::records::graph::fact;
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
}

redact! { Contradiction { id, text / at } }

/// A statement that contradicts an older one.
#[derive(Clone, Debug)]
pub(crate) struct NewerStatement {
    /// The kind of its passage: `entry`, `fact` or `chunk`.
    pub(crate) kind: String,
    /// The reference of its passage.
    pub(crate) reference: String,
    pub(crate) statement: Contradiction,
}

/// The maximum number of words that candidates are looked up by.
const MAX_PROBE_WORDS: usize = 8;
/// The maximum number of candidates.
const MAX_CANDIDATES: usize = 32;
/// The maximum number of contradictions that are reported.
const MAX_REPORTED: usize = 5;
/// The maximum number of characters of a statement that are reported.
const MAX_REPORTED_CHARS: usize = 300;

/// Returns the current statements that `content` contradicts, the most certain first. Passages in `skip` are left out.
pub(crate) fn contradicting(db: &Connection, content: &str, skip: &[String]) -> Result<Vec<Contradiction>> {
    let later = Statement::read(content, None);
    let mut found: Vec<(f32, Contradiction)> = Vec::new();
    for candidate in candidates(db, content)?.iter().filter(|one| !skip.contains(&one.reference)) {
        for statement in statements(candidate) {
            if let Some(conflict) = compare(&read(&statement), &later) {
                found.push((conflict.score, report(db, candidate, &statement)?));
            }
        }
    }
    found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    Ok(found.into_iter().map(|(_, one)| one).take(MAX_REPORTED).collect())
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
    for candidate in candidates(db, content)?.into_iter().filter(|one| !is_fact || one.kind != fact::KIND) {
        for statement in statements(&candidate) {
            let since = newest.as_ref().map_or(at, |newest| newest.statement.at);
            if statement.at > since && compare(&earlier, &read(&statement)).is_some() {
                let statement = report(db, &candidate, &statement)?;
                let Candidate { kind, reference, .. } = &candidate;
                newest = Some(NewerStatement { kind: kind.clone(), reference: reference.clone(), statement });
            }
        }
    }
    Ok(newest)
}

/// Returns the passages that share the rarest words with a text.
fn candidates(db: &Connection, content: &str) -> Result<Vec<Candidate>> {
    let language = index::language(db)?;
    let mut probes: Vec<(i64, String)> = Vec::new();
    for word in alike::meaning(content, language) {
        probes.push((lookup::df(db, &word)?, word));
    }
    probes.retain(|(df, _)| *df > 0);
    probes.sort_unstable();
    probes.truncate(MAX_PROBE_WORDS);
    if probes.is_empty() {
        return Ok(Vec::new());
    }
    let any: Vec<String> = probes.iter().map(|(_, word)| format!("\"{word}\"")).collect();
    lookup::best_statements(db, &any.join(" OR "), MAX_CANDIDATES)
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
    Statement::read(statement.text, statement.context.as_deref())
}

fn path(chunk: &Candidate) -> &str {
    chunk.reference.rsplit_once('#').map_or(&*chunk.reference, |(path, _)| path)
}

fn report(db: &Connection, candidate: &Candidate, statement: &PassageStatement<'_>) -> Result<Contradiction> {
    let id = match candidate.kind.as_str() {
        entry::KIND => format!("id:{}", entry::number(db, &candidate.reference)?),
        "chunk" => format!("{}:{}", path(candidate), candidate.first_line + statement.line),
        _ => candidate.reference.clone(),
    };
    Ok(Contradiction { id, text: text::cut(statement.text, MAX_REPORTED_CHARS), at: statement.at })
}
