//! Rollouts of Codex: `{timestamp, type, payload}` per line. The first line has the session's id, and the
//! `response_item` lines have the conversation.
//!
//! In the oldest rollouts the lines are the items themselves. They are supported too.

use serde_json::Value;

use super::intake::{Draft, Intake, kind_of_block, without_tags};
use super::{Author, Reason};
use crate::base::Result;

/// The tags around text that Codex adds as the user.
const INJECTED_TAGS: &[&str] = &[
    "environment_context",
    "user_instructions",
    "permissions instructions",
    "skills_instructions",
    "skill",
    "turn_aborted",
    "user_action",
    "user_shell_command",
    "subagent_notification",
    "hook_prompt",
];
/// The heading of instruction files, which comes before their tag.
const INSTRUCTIONS_HEADING: &str = "# AGENTS.md instructions";

/// Returns whether a value is a line of such a rollout.
pub(super) fn claims(value: &Value) -> bool {
    value["type"].is_string() && value["payload"].is_object() || is_bare(value)
}

/// Returns whether a line is an item of the conversation without a wrapper.
fn is_bare(value: &Value) -> bool {
    value["type"] == "message"
        && matches!(value["content"][0]["type"].as_str(), Some("input_text" | "output_text"))
}

#[derive(Default)]
pub(super) struct Reader {
    session: Option<String>,
    folder: Value,
    subagent: bool,
}

impl Reader {
    pub(super) fn line(&mut self, line: &Value, intake: &mut Intake<'_>) -> Result<()> {
        let payload = &line["payload"];
        let item = match line["type"].as_str() {
            Some("response_item") => payload,
            _ if is_bare(line) => line,
            kind => {
                // A fork also has the beginning of its original session. The first id is its own.
                if kind == Some("session_meta") && self.session.is_none() {
                    self.session = intake.given_id(&payload["id"]);
                    self.folder = payload["cwd"].clone();
                    self.subagent = payload["source"]["subagent"] != Value::Null;
                }
                intake.note(if kind == Some("compacted") { Reason::Summary } else { Reason::NotMessage });
                return Ok(());
            }
        };
        match item["type"].as_str() {
            Some("message") => self.message(line, item, intake),
            kind => {
                intake.note(kind.map_or(Reason::NotMessage, kind_of_block));
                Ok(())
            }
        }
    }

    fn message(&mut self, line: &Value, item: &Value, intake: &mut Intake<'_>) -> Result<()> {
        let author = match item["role"].as_str() {
            _ if self.subagent => {
                intake.note(Reason::Sidechain);
                return Ok(());
            }
            Some("user") => Author::User,
            Some("assistant") => Author::Assistant,
            _ => {
                intake.note(Reason::Instructions);
                return Ok(());
            }
        };
        let mut parts = intake.texts(&item["content"]);
        if author == Author::User {
            intake.keep_typed(&mut parts, typed);
        }
        if parts.is_empty() {
            return Ok(());
        }
        let session = self.session.clone().unwrap_or_else(|| intake.session(&Value::Null));
        intake.note_folder(&session, &self.folder);
        let id = intake.id(&item["id"], &session);
        let at = intake.time(&line["timestamp"]);
        intake.offer(Draft { session, id, author, parts, at })
    }
}

/// Returns the text that the person typed.
fn typed(text: &str) -> String {
    if text.trim_start().starts_with(INSTRUCTIONS_HEADING) {
        String::new()
    } else {
        without_tags(text, INJECTED_TAGS)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, counts};

    #[test]
    fn takes_what_the_two_said() {
        let input = r##"{"timestamp":"2026-11-01T10:00:00.000Z","ordinal":0,"type":"session_meta","payload":{"id":"0199-abc","cwd":"/work","source":"cli"}}
{"timestamp":"2026-11-01T10:00:00.100Z","type":"response_item","payload":{"type":"message","role":"developer","content":[{"type":"input_text","text":"hook context"}]}}
{"timestamp":"2026-11-01T10:00:00.200Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"# AGENTS.md instructions for /work\n\n<INSTRUCTIONS>\nbe brief\n</INSTRUCTIONS>"},{"type":"input_text","text":"<environment_context>\n  <cwd>/work</cwd>\n</environment_context>"}]}}
{"timestamp":"2026-11-01T10:00:01.000Z","type":"event_msg","payload":{"type":"user_message","message":"Name the port"}}
{"timestamp":"2026-11-01T10:00:01.100Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Name the port"},{"type":"input_image","image_url":"data:"}]}}
{"timestamp":"2026-11-01T10:00:02.000Z","type":"response_item","payload":{"type":"reasoning","summary":[]}}
{"timestamp":"2026-11-01T10:00:02.100Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{}"}}
{"timestamp":"2026-11-01T10:00:02.200Z","type":"response_item","payload":{"type":"function_call_output","output":"5432"}}
{"timestamp":"2026-11-01T10:00:03.000Z","type":"response_item","payload":{"type":"message","id":"msg_9","role":"assistant","content":[{"type":"output_text","text":"It is 5432."}]}}
{"timestamp":"2026-11-01T10:00:03.100Z","type":"compacted","payload":{"message":"summary","replacement_history":[]}}
{"timestamp":"2026-11-01T10:00:03.200Z","type":"session_meta","payload":{"id":"of-another"}}
{"timestamp":"nonsense","type":"response_item","payload":{"type":"message","role":"user","content":"thanks"}}
{"type":"response_item","payload":{"type":"message","role":"user","content":null}}
{"type":"response_item","payload":[]}
{"type":"response_item","payload":{"type":"message","id":"msg_9","role":"assistant","content":[{"type":"output_text","text":"again"}]}}
{"type":"response_item"##;
        let read = check(
            input,
            "codex",
            &[
                "0199-abc 0 0199-abc:5 user 2026-11-01T10:00:01.100Z: Name the port",
                "0199-abc 1 msg_9 assistant 2026-11-01T10:00:03.000Z: It is 5432.",
                "0199-abc 2 0199-abc:12 user -: thanks",
            ],
        );
        assert_eq!(
            counts(&read),
            [
                "cut 1",
                "no_text 1",
                "duplicate 1",
                "not_message 4",
                "injected 2",
                "instructions 1",
                "tool_use 1",
                "tool_result 1",
                "thinking 1",
                "attachment 1",
                "summary 1",
                "bad_time 1"
            ]
        );
    }

    #[test]
    fn the_oldest_form_and_subagents() {
        let bare = r#"{"id":"old","timestamp":"2025-05-01T00:00:00Z","instructions":null}
{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}"#;
        check(bare, "codex", &["file 0 file:2 user -: hello"]);

        let subagent = r#"{"type":"session_meta","payload":{"id":"x","source":{"subagent":"review"}}}
{"type":"response_item","payload":{"type":"message","role":"user","content":"look at this"}}"#;
        assert_eq!(counts(&check(subagent, "codex", &[])), ["not_message 1", "sidechain 1"]);
    }
}
