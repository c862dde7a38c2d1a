//! Current statements of the memory that a new one contradicts: entries, facts, and lines of documents.
//!
//! Passages that share rare words with the new statement are the candidates; `records::claim` compares each of their
//! sentences with it. The visibility of the connection applies, so nothing that the session may not see is named.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::redact::redact;
use crate::base::{Result, Time, text};
use crate::index::{self, alike, lookup};
use crate::records::claim::{Statement, compare};
use crate::records::entry;
use crate::store::Connection;

/// A current statement that a new one contradicts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Contradiction {
    /// `id:4` for a memory, `fact-2` for a fact, `path:line` for a document.
    pub id: String,
    /// The statement.
    pub text: String,
    /// Its time.
    pub at: Time,
}

redact! { Contradiction { id, text / at } }

/// The maximum number of words that candidates are looked up by.
const MAX_PROBE_WORDS: usize = 8;
/// The maximum number of candidates.
const MAX_CANDIDATES: usize = 32;
/// The maximum number of contradictions that are reported.
const MAX_REPORTED: usize = 5;

/// Returns the current statements that `content` contradicts, the most certain first. Passages in `skip` are left out.
pub(crate) fn contradicting(db: &Connection, content: &str, skip: &[String]) -> Result<Vec<Contradiction>> {
    let later = Statement::read(content, None);
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
    let mut found: Vec<(f32, Contradiction)> = Vec::new();
    for candidate in lookup::best_statements(db, &any.join(" OR "), MAX_CANDIDATES)? {
        if skip.contains(&candidate.reference) {
            continue;
        }
        for (line, statement) in statements(&candidate) {
            let Some(conflict) = compare(&Statement::read(statement, context(&candidate)), &later) else {
                continue;
            };
            let id = match candidate.kind.as_str() {
                entry::KIND => format!("id:{}", entry::number(db, &candidate.reference)?),
                "chunk" => {
                    let path =
                        candidate.reference.rsplit_once('#').map_or(&*candidate.reference, |(path, _)| path);
                    format!("{path}:{}", candidate.first_line + line)
                }
                _ => candidate.reference.clone(),
            };
            found.push((
                conflict.score,
                Contradiction { id, text: text::cut(statement, 300), at: candidate.at },
            ));
        }
    }
    found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    Ok(found.into_iter().map(|(_, one)| one).take(MAX_REPORTED).collect())
}

/// Returns the statements of a passage: a document has one per line, everything else is one.
fn statements(candidate: &lookup::Candidate) -> Vec<(i64, &str)> {
    match candidate.kind.as_str() {
        "chunk" => {
            let lines = (0..).zip(candidate.text.lines().map(str::trim));
            lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).collect()
        }
        _ => vec![(0, candidate.text.as_str())],
    }
}

/// Returns the heading of a line of a document.
fn context(candidate: &lookup::Candidate) -> Option<&str> {
    Some(candidate.title.as_str()).filter(|title| candidate.kind == "chunk" && !title.is_empty())
}
