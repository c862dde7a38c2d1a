//! The graph retriever: passages that answer what is asked about the entities that a question names.

use std::collections::HashMap;

use super::request::Request;
use crate::base::Result;
use crate::index::{Language, Scope};
use crate::records::graph;
use crate::records::graph::recall::{self, GraphMatch, MIN_ENTITY_SCORE, Speaker};
use crate::store::Connection;

/// The share of a recalled fact's score that the chunks it cites get.
const CITED_SHARE: f32 = 0.5;
/// The score from which a fact is the answer, which comes before the statements that it replaced.
const MIN_ANSWER_SCORE: f64 = 85.0;
const MAX_RECALLED_FACTS: usize = 50;

/// The graph's answer to a question.
#[derive(Default)]
pub(super) struct GraphAnswer {
    /// How well passages answer, 0 to 1.
    pub(super) passages: HashMap<u32, f32>,
    /// Lines of chunks that state a value that an answer replaced: by chunk, each with the passage of that answer.
    pub(super) replaced: HashMap<u32, Vec<(i64, u32)>>,
    /// The same for lines of chunks, by passage and line of the document.
    pub(super) lines: HashMap<(u32, i64), f32>,
    /// A note on what the graph lacks. It never removes a hit.
    pub(super) note: Option<String>,
}

/// Queries the graph if the scope includes it or documents that it cites.
pub(super) fn ask(
    db: &Connection,
    request: &Request,
    language: Language,
    members: &[u32],
) -> Result<GraphAnswer> {
    let mut answer = GraphAnswer::default();
    let facts = request.scope.contains(&Scope::Graph);
    let documents = request.scope.contains(&Scope::Memory);
    if !(facts || documents) || graph::is_empty(db)? {
        return Ok(answer);
    }
    let recall_request = recall::Request {
        query: &request.query,
        speaker: if request.of_agent { Speaker::Agent } else { Speaker::User },
        limit: MAX_RECALLED_FACTS,
        as_of: None,
        by_words: false,
        rules: recall::Rules::default(),
    };
    let recalled = recall::recall(db, &recall_request, language)?;
    let passage = "SELECT id FROM passages WHERE kind = $1 AND ref = $2";
    for known in recalled.known.iter().filter(|known| known.score >= MIN_ENTITY_SCORE && !known.linked) {
        let worth = worth(known.score);
        let id: Option<u32> = db.row(passage, (known.kind, &known.id), |row| row.get(0))?;
        let id = id.filter(|id| members.binary_search(id).is_ok());
        if let Some(id) = id {
            answer.add(id, worth);
        }
        for cite in known.cites.iter().filter(|_| documents) {
            let cited = chunks_at(db, &cite.path, cite.line)?;
            for id in cited {
                answer.add(id, worth * CITED_SHARE);
                // A matched entity alone does not make its lines an answer.
                let known = answer.lines.entry((id, cite.line)).or_default();
                *known = known.max(worth - ENTITY_WORTH);
            }
        }
        if let Some(id) = id.filter(|_| documents && known.score >= MIN_ANSWER_SCORE) {
            for (chunk, line) in outdated(db, known)? {
                answer.replaced.entry(chunk).or_default().push((line, id));
            }
        }
    }
    answer.note = recalled.lacks.filter(|_| facts);
    // A chunk that also states the answer is not outdated.
    let GraphAnswer { passages, replaced, .. } = &mut answer;
    replaced.retain(|id, _| !passages.contains_key(id));
    Ok(answer)
}

impl GraphAnswer {
    fn add(&mut self, id: u32, worth: f32) {
        let known = self.passages.entry(id).or_default();
        *known = known.max(worth);
    }
}

/// The worth of a matched entity.
const ENTITY_WORTH: f32 = 0.5;

/// Maps a graph score to 0..1: a matched entity at 65 gives a half, an answer at 95 gives 1.
#[expect(clippy::cast_possible_truncation, reason = "a share of 1")]
fn worth(score: f64) -> f32 {
    (f64::from(ENTITY_WORTH) + (score - MIN_ENTITY_SCORE) / 60.0).clamp(0.0, 1.0) as f32
}

fn chunks_at(db: &Connection, path: &str, line: i64) -> Result<Vec<u32>> {
    let sql = "SELECT id FROM passages WHERE kind = 'chunk' AND ref >= $1 || '#' AND ref < $1 || '$'
        AND first_line <= $2 AND last_line >= $2 ORDER BY ref";
    db.rows(sql, (path, line), |row| row.get(0))
}

/// Returns the lines of chunks that still state a value that a fact replaced.
fn outdated(db: &Connection, known: &GraphMatch) -> Result<Vec<(u32, i64)>> {
    let mut lines = Vec::new();
    for cite in graph::fact::replaced_at(db, &known.id)? {
        lines.extend(chunks_at(db, &cite.path, cite.line)?.into_iter().map(|chunk| (chunk, cite.line)));
    }
    Ok(lines)
}
