//! The handover: the context for a skill, which can't read the memory itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{Call, ToolResult};
use super::memory::SearchRequest;
use super::tool::Request;
use crate::base::frame::one_line;
use crate::base::redact::{self, redact};
use crate::base::text::tokens;
use crate::base::{Calendar, Error};

/// How many tokens of memory a handover has by default.
const DEFAULT_TOKENS: usize = 500;
/// How many hits of a query are used.
const MAX_HITS: usize = 10;

/// Make the message that hands a task to a skill: the action, and the memories that help with it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandoverRequest {
    /// The skill, such as seo.
    #[schemars(length(min = 1, max = 100))]
    pub to: String,
    /// The action, such as analyze.
    #[schemars(length(min = 1, max = 200))]
    pub action: String,
    /// Search queries; default the action and the context.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub queries: Vec<String>,
    /// The subject of the task.
    #[serde(default)]
    #[schemars(length(max = 4000))]
    pub context: String,
    /// The most tokens of memory; default 500.
    #[schemars(range(min = 20, max = 4000))]
    pub max_tokens: Option<usize>,
}

/// A message from one agent to another.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the names of the message format")]
pub struct Handover {
    pub from: String,
    pub to: String,
    pub r#type: &'static str,
    pub payload: Payload,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names of the message format")]
pub struct Payload {
    pub action: String,
    pub context: Delivery,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names of the message format")]
pub struct Delivery {
    pub memory_snippet: String,
    pub project_context: String,
}

redact! {
    Handover { from, to, payload / r#type }
    Payload { action, context }
    Delivery { memory_snippet, project_context }
}

impl Request for HandoverRequest {
    type Answer = Handover;
    const NAME: &str = "skill_handover";

    fn run(self, call: &mut Call<'_>) -> ToolResult<Handover> {
        let name: String =
            self.to.trim().chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        if !name.contains(char::is_alphanumeric) {
            let problem = "has neither letters nor digits";
            return Err(Error::bad_argument("skill_handover", "to", problem).into());
        }
        let queries = match self.queries.is_empty() {
            true => vec![format!("{} {}", self.action, self.context).trim().chars().take(2000).collect()],
            false => self.queries,
        };
        let mut room = self.max_tokens.unwrap_or(DEFAULT_TOKENS);
        let mut lines: Vec<String> = Vec::new();
        for query in queries {
            let request = SearchRequest { query, limit: Some(MAX_HITS), ..SearchRequest::default() };
            for hit in request.run(call)?.hits {
                // Redacted before it is counted and cut.
                // A heading says nothing on one line, and a bullet has its own mark.
                let said = hit.text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
                let said = said.map(|line| line.strip_prefix("- ").unwrap_or(line));
                let text = said.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
                let line = format!("- {}", one_line(&redact::text(&text)));
                let cost = tokens(&line) + 1;
                if cost <= room && !lines.contains(&line) {
                    room -= cost;
                    lines.push(line);
                }
            }
        }
        let to = match name.starts_with("agent_") {
            true => name,
            false => format!("agent_skill_{name}"),
        };
        let context = Delivery { memory_snippet: lines.join("\n"), project_context: self.context };
        Ok(Handover {
            from: format!("agent_{}_{}", call.caller.role.as_str(), call.view().name()),
            to,
            r#type: "request",
            payload: Payload { action: self.action, context },
        })
    }

    fn say(answer: &Handover, _: &Calendar) -> String {
        serde_json::to_string(answer).unwrap_or_default()
    }
}
