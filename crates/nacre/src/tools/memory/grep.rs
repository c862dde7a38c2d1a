//! The tool that searches for exact text.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::redact::redact;
use crate::base::{Calendar, Error};
use crate::index::Scope;
use crate::search::{self, GrepLine, GrepQuery};
use crate::tools::call::{Call, ToolResult};
use crate::tools::tool::Request;

/// The number of lines returned by default.
const DEFAULT_LIMIT: usize = 100;

/// Find the lines of memories, documents and transcripts that match a regular expression, like grep.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrepRequest {
    /// A regular expression.
    #[schemars(length(min = 1, max = 2000))]
    pub pattern: String,
    /// The pattern is plain text.
    #[serde(default)]
    pub literal: bool,
    /// Ignore case.
    #[serde(default)]
    pub ignore_case: bool,
    /// Default entries, memory (documents) and sessions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<Scope>,
    /// Lines to show around each.
    #[schemars(range(max = 50))]
    pub context: Option<usize>,
    /// Most lines, default 100.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub limit: Option<usize>,
}

/// The lines that match.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GrepAnswer {
    /// By source and line.
    pub lines: Vec<GrepLine>,
    /// The number of all matching lines.
    pub total: usize,
    /// Whether the session has been shown details of the infrastructure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(skip)]
    pub infrastructure_seen: bool,
}

redact! {
    GrepAnswer { lines / total, infrastructure_seen }
}

impl Request for GrepRequest {
    type Answer = GrepAnswer;
    const NAME: &str = "memory_grep";

    fn run(self, call: &mut Call<'_>) -> ToolResult<GrepAnswer> {
        let bad = |field: &str, problem: String| Error::bad_argument(Self::NAME, field, problem);
        let pattern = search::grep_pattern(&self.pattern, self.literal, self.ignore_case)
            .map_err(|problem| bad("pattern", format!("is not a regular expression: {problem}")))?;
        const SCOPES: [Scope; 3] = [Scope::Entries, Scope::Memory, Scope::Sessions];
        if self.scope.iter().any(|scope| !SCOPES.contains(scope)) {
            return Err(bad("scope", "takes entries, memory and sessions".to_owned()).into());
        }
        let mut scope = if self.scope.is_empty() { SCOPES.to_vec() } else { self.scope };
        if !call.settings().documents.index {
            scope.retain(|scope| *scope != Scope::Memory);
        }
        let (context, limit) = (self.context.unwrap_or(0), self.limit.unwrap_or(DEFAULT_LIMIT));
        let found = search::grep(call.view(), &GrepQuery { pattern, scope, context, limit })?;
        let shown = found.lines.iter().map(|line| (line.source.as_str(), line.text.chars().count()));
        let infrastructure_seen = call.note_seen(&shown.collect::<Vec<_>>());
        call.view().tell_search(&self.pattern, found.total);
        Ok(GrepAnswer { lines: found.lines, total: found.total, infrastructure_seen })
    }

    /// Writes lines as `grep` does: a colon marks a match, a hyphen a line around it.
    fn say(answer: &GrepAnswer, _: &Calendar) -> String {
        let mut text = String::new();
        // The source and the last line that were written.
        let mut written: Option<(&str, usize)> = None;
        for (index, found) in answer.lines.iter().enumerate() {
            let GrepLine { source, line, text: own, origin, before, after } = found;
            let next =
                answer.lines.get(index + 1).filter(|next| next.source == *source).map(|next| next.line);
            let first = line - before.len();
            let end = written.filter(|(last, _)| last == source).map_or(0, |(_, end)| end);
            if written.is_some() && !(before.is_empty() && after.is_empty()) && (end == 0 || end + 1 < first)
            {
                text.push_str("--\n");
            }
            let around = (first..).zip(before).chain((line + 1..).zip(after));
            let is_new = |at: usize| at > end && next.is_none_or(|next| at < next);
            let mut lines: Vec<_> =
                around.filter(|(at, _)| is_new(*at)).map(|(at, own)| (at, '-', own)).collect();
            lines.push((*line, ':', own));
            lines.sort_unstable();
            let origin = origin.mark().map(|origin| format!(" [origin {origin}]")).unwrap_or_default();
            for (at, mark, own) in &lines {
                let _ = writeln!(text, "{source}{mark}{at}{mark}{own}{origin}");
            }
            written = lines.last().map(|(at, ..)| (source.as_str(), *at));
        }
        if answer.total > answer.lines.len() {
            let _ = writeln!(text, "{} more lines match.", answer.total - answer.lines.len());
        }
        if answer.total == 0 {
            text.push_str("No line matches.\n");
        }
        text.truncate(text.trim_end_matches('\n').len());
        text
    }
}
