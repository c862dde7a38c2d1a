//! Current statements of the memory that a new one contradicts: entries, facts, and lines of documents.
//!
//! Passages that share rare words with the new statement are the candidates; `records::claim` compares each of their
//! sentences with it, and the nearest ones also by the reader. The visibility of the connection applies, so nothing that the session may not see is named.

use std::collections::HashSet;
use std::ops::ControlFlow;

use schemars::JsonSchema;
use serde::Serialize;

use super::alike::resembling;
use crate::base::ids::EntryId;
use crate::base::origin::RecordOrigin;
use crate::base::redact::{self, redact};
use crate::base::{Result, Time, text};
use crate::index::embed::builtin;
use crate::index::lookup::{self, Candidate, Frequencies};
use crate::index::{self, alike, chunk};
use crate::records::claim::{Statement, compare, reading_size, weigh};
use crate::records::conflict::StatementRef;
use crate::records::entry::{self, Ownership};
use crate::records::graph::{Cite, fact};
use crate::records::note::statement::{self, PassageStatement};
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

impl Contradiction {
    /// Tells whether it is this entry's.
    pub(crate) fn is_entry(&self, id: &EntryId) -> bool {
        self.statement.reference == id.as_str()
    }
}

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
    /// The maximum number of statements that are read together with the new one.
    readings: usize,
    /// The maximum size of all readings together. A reading takes as long as its texts are.
    tokens: usize,
}

const FULL_EFFORT: Effort = Effort { words: 8, candidates: 32, readings: 6, tokens: 128 };
/// For each of many statements: common words match many passages, and take most of the time.
const QUICK_EFFORT: Effort = Effort { words: 4, candidates: 8, readings: 0, tokens: 0 };
/// How near in meaning to the new statement, by its words, one must be that is read together with it.
const MIN_NEARNESS: f32 = 0.2;
/// The maximum number of contradictions that are reported.
const MAX_REPORTED: usize = 5;
/// The maximum number of chunks of documents that are compared at once.
const MAX_COMPARED_CHUNKS: usize = 50;
/// The maximum number of new lines of a document that are compared.
const MAX_COMPARED_LINES: usize = 50;

/// A statement that is compared with the current ones.
#[derive(Clone, Copy, Default)]
pub(crate) struct NewStatement<'s> {
    pub(crate) content: &'s str,
    /// The heading above it, if it is a line of a document.
    pub(crate) heading: Option<&'s str>,
    /// The project and the owner that it belongs to.
    pub(crate) ownership: Option<&'s Ownership>,
    /// The references of passages that it is not compared with.
    pub(crate) skip: &'s [String],
    /// Whether it is one of many, which are compared with fewer candidates.
    pub(crate) is_one_of_many: bool,
}

/// Returns the current statements that a new one contradicts, the most certain first.
pub(crate) fn contradicting(db: &Connection, new: &NewStatement<'_>) -> Result<Vec<Contradiction>> {
    contradicting_among(db, new, &new.candidates(db)?)
}

/// Returns the entry that a new statement resembles, and the statements that it contradicts: both in one look at the memory.
pub(crate) fn neighbors(
    db: &Connection,
    new: &NewStatement<'_>,
    resemblance: f64,
) -> Result<(Option<EntryId>, Vec<Contradiction>)> {
    let nearest = new.candidates(db)?;
    let entries = nearest.passages.iter().filter(|one| one.kind == entry::KIND);
    let resembling = resembling(db, new.content, entries.map(|one| one.reference.as_str()), resemblance)?;
    Ok((resembling, contradicting_among(db, new, &nearest)?))
}

impl NewStatement<'_> {
    fn candidates(&self, db: &Connection) -> Result<Candidates> {
        candidates(db, self.content, self.heading, self.effort())
    }

    fn effort(&self) -> &'static Effort {
        if self.is_one_of_many { &QUICK_EFFORT } else { &FULL_EFFORT }
    }
}

fn contradicting_among(
    db: &Connection,
    new: &NewStatement<'_>,
    Candidates { passages, words }: &Candidates,
) -> Result<Vec<Contradiction>> {
    let later = Statement::read(new.content, new.heading);
    let vector = builtin::embed_weighted(new.content, |_| 1.0);
    let mut near: Vec<(f32, &Candidate, PassageStatement<'_>)> = Vec::new();
    for candidate in passages.iter().filter(|one| !new.skip.contains(&one.reference)) {
        for statement in statements(candidate).into_iter().filter(|one| one.has_any(words)) {
            let other = builtin::embed_weighted(without_marker(statement.text), |_| 1.0);
            near.push((vector.dot(&other), candidate, statement));
        }
    }
    near.sort_by(|(one, ..), (other, ..)| other.total_cmp(one));
    let mut found: Vec<(f32, Contradiction)> = Vec::new();
    let mut tokens = 0;
    for (place, (nearness, candidate, statement)) in near.iter().enumerate() {
        let earlier = read(statement);
        let mut is_read = place < new.effort().readings && *nearness >= MIN_NEARNESS;
        if is_read {
            tokens += reading_size(&earlier, &later);
            is_read = tokens <= new.effort().tokens;
        }
        let decide = if is_read { weigh } else { compare };
        if let Some(conflict) = decide(&earlier, &later)
            && !is_of_other_owner(db, candidate, new.ownership)?
        {
            found.push((conflict.score, contradiction(db, candidate, statement)?));
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
    let Candidates { passages, words } = candidates(db, content, None, &FULL_EFFORT)?;
    // A stranger's statement never takes the place of one that is trusted.
    let counts =
        |one: &Candidate| one.origin != RecordOrigin::Untrusted && (!is_fact || one.kind != fact::KIND);
    for candidate in passages.into_iter().filter(counts) {
        for statement in statements(&candidate).into_iter().filter(|one| one.has_any(&words)) {
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

/// Tells whether a passage is an entry of another project or owner than these.
fn is_of_other_owner(db: &Connection, candidate: &Candidate, own: Option<&Ownership>) -> Result<bool> {
    match own.filter(|_| candidate.kind == entry::KIND) {
        Some(own) => Ok(own.differs(&entry::ownership(db, &candidate.reference)?)),
        None => Ok(false),
    }
}

/// The passages that share the rarest words with a text and its heading.
struct Candidates {
    passages: Vec<Candidate>,
    /// These words.
    words: Vec<String>,
}

fn candidates(db: &Connection, content: &str, heading: Option<&str>, effort: &Effort) -> Result<Candidates> {
    let language = index::language(db)?;
    let words = alike::meaning(&format!("{} {content}", heading.unwrap_or_default()), language);
    let frequencies = Frequencies::read(db, words.iter().cloned())?;
    let mut probes: Vec<(i64, String)> =
        words.into_iter().map(|word| (frequencies.of(&word), word)).collect();
    probes.retain(|(df, _)| *df > 0);
    probes.sort_unstable();
    probes.truncate(effort.words);
    let words: Vec<String> = probes.into_iter().map(|(_, word)| word).collect();
    if words.is_empty() {
        return Ok(Candidates { passages: Vec::new(), words });
    }
    let any: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    let passages = lookup::best_statements(db, &any.join(" OR "), effort.candidates)?;
    Ok(Candidates { passages, words })
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
    let now: HashSet<&str> = after.lines().map(str::trim).collect();
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
        let new = NewStatement { content: without_marker(line), heading, ..NewStatement::default() };
        for contradicts in contradicting(db, &new)? {
            let statement = &contradicts.statement;
            // The index still has the document as it was before the change.
            if statement.reference != path || now.iter().any(|line| statement.says(line)) {
                found.push(LineContradiction { line: StatementRef::new(path, line), contradicts });
            }
        }
    }
    Ok(found)
}

/// Lines of documents that were compared with the current statements.
#[derive(Default)]
pub(crate) struct ComparedLines {
    /// Pairs of a later statement and an earlier one.
    pub(crate) pairs: Vec<(StatementRef, StatementRef)>,
    pub(crate) compared: usize,
    pub(crate) contradicting: usize,
    /// The last passage that was compared.
    pub(crate) last: i64,
    pub(crate) is_complete: bool,
}

/// Compares the lines of chunks that were indexed after this passage with the current statements.
pub(crate) fn contradicting_new_lines(db: &Connection, passage: i64) -> Result<ComparedLines> {
    let chunks = lookup::chunks_after(db, passage, MAX_COMPARED_CHUNKS)?;
    let is_complete = chunks.len() < MAX_COMPARED_CHUNKS;
    let mut lines = ComparedLines { last: passage, is_complete, ..ComparedLines::default() };
    for (id, chunk) in chunks {
        lines.last = id;
        for statement in statements(&chunk).iter().filter(|one| is_statement(one.text)) {
            let content = without_marker(statement.text);
            let heading = statement.context.as_deref();
            let new = NewStatement { content, heading, is_one_of_many: true, ..NewStatement::default() };
            let found = contradicting(db, &new)?;
            lines.compared += 1;
            lines.contradicting += usize::from(!found.is_empty());
            let own = StatementRef::new(path(&chunk), statement.text);
            // A line without a date was just written.
            let is_older = |other: &Contradiction| !statement.at.is_undated() && other.at > statement.at;
            lines.pairs.extend(found.into_iter().map(|other| match is_older(&other) {
                true => (other.statement, own.clone()),
                false => (own.clone(), other.statement),
            }));
        }
    }
    Ok(lines)
}

/// Returns the statements of a passage: a document has one per line, everything else is one.
fn statements(candidate: &Candidate) -> Vec<PassageStatement<'_>> {
    let Candidate { kind, title, text, at, .. } = candidate;
    match kind.as_str() {
        "chunk" => statement::of_chunk(path(candidate), title, text, *at),
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
