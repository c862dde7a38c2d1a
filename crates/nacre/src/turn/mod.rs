//! STUB of each turn (SPEC T), to be replaced by the pipeline of contributors: what a message is answered with
//! before the agent sees it, and what is kept of an exchange.

use serde_json::{Value, json};

use crate::call::{Caller, call};
use crate::group::Group;
use crate::{Result, Time, brief};

/// What is asked for.
pub struct Request<'a> {
    /// What the person wrote.
    pub message: String,
    /// Tells whether time is up: the library has no clock.
    pub late: &'a dyn Fn() -> bool,
}

impl Request<'_> {
    /// Returns a request about a message, without a deadline.
    pub fn new(message: impl Into<String>) -> Request<'static> {
        Request { message: message.into(), late: &|| false }
    }
}

/// What to put before a message.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// All blocks as one text, marked as ours; empty where there is nothing to say.
    pub markdown: String,
    /// What it costs.
    pub tokens: usize,
    /// The same, one by one.
    pub blocks: Vec<Block>,
}

/// What one contributor says.
#[derive(Clone, Debug)]
pub struct Block {
    /// The contributor.
    pub name: String,
    /// What it says.
    pub text: String,
}

/// One message of the person with what the agent answered. Either may be empty, not both.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the words of SPEC T3")]
pub struct Exchange {
    pub user: String,
    pub agent: String,
    pub at: Time,
}

/// Returns what to put before a message.
pub fn run(group: &mut Group, caller: &Caller, request: &Request<'_>) -> Result<Turn> {
    const MOST: usize = 5;
    let message = brief::strip_injected(&request.message);
    if message.trim().is_empty() || (request.late)() {
        return Ok(Turn::default());
    }
    let query: String = message.chars().take(2_000).collect();
    let caller = Caller { actor: crate::Actor::Person, ..caller.clone() };
    let found = call(group, &caller, "memory_search", json!({ "query": query, "limit": MOST }))?.data;
    let of = |list: &str| found[list].as_array().cloned().unwrap_or_default();
    let line = |hit: &Value| {
        let text = brief::one_line(hit["text"].as_str().unwrap_or_default());
        format!("- {}", text.chars().take(200).collect::<String>())
    };
    let lines: Vec<String> = of("standing").iter().chain(&of("hits")).map(line).collect();
    if lines.is_empty() {
        return Ok(Turn::default());
    }
    let text = format!("## From memory\n\n{}", lines.join("\n"));
    let markdown = brief::mark_injected(&text);
    let tokens = markdown.len().div_ceil(4);
    Ok(Turn { markdown, tokens, blocks: vec![Block { name: "search".into(), text }] })
}

/// Keeps an exchange. One that is here already, by session and time, is passed over, so that whoever was stopped
/// on the way may do it again.
pub fn archive(group: &mut Group, caller: &Caller, exchange: &Exchange) -> Result<()> {
    let said = [("user", &exchange.user), ("assistant", &exchange.agent)];
    let lines: String = said
        .iter()
        .filter(|(_, text)| !text.trim().is_empty())
        .map(|(role, text)| {
            let id = format!("{}-{role}", exchange.at.as_millis());
            let at = exchange.at.to_string();
            let line =
                json!({ "id": id, "session": caller.session, "role": role, "text": text, "timestamp": at });
            format!("{line}\n")
        })
        .collect();
    if !lines.is_empty() {
        group.import_session(caller, lines.as_bytes(), caller.session.as_str(), |_| {})?;
    }
    Ok(())
}
