//! Transcripts of Claude Code: one line per content block, each with its own `uuid` and a `parentUuid`.
//!
//! The lines form a tree, but their order in the file is the order of the conversation, and is kept. The tree
//! branches where parallel tools answer, where two programs continue one session, and where a person goes
//! back and rewrites a prompt. Only the last is a replacement, and a line does not tell which case it is. So
//! no branch is dropped, and a second prompt after the same message is counted.

use std::collections::HashSet;

use serde_json::Value;

use super::intake::{Draft, Intake, hash, without_tags};
use super::{Author, Reason};
use crate::base::Result;

/// The tags around text in a prompt that no person typed.
pub(super) const INJECTED_TAGS: &[&str] = &[
    "system-reminder",
    "command-name",
    "command-message",
    "command-contents",
    "local-command-caveat",
    "local-command-stdout",
    "local-command-stderr",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
    "task-notification",
    "teammate-message",
    "ide_opened_file",
    "ide_selection",
    "user-prompt-submit-hook",
];

/// A message joined from more blocks than this continues as another message.
const MAX_JOINED_BYTES: usize = 16 << 20;

/// Returns whether a value is a line of such a transcript.
pub(super) fn claims(value: &Value) -> bool {
    let kind = value["type"].as_str();
    let told = value["sessionId"].is_string() || value["parentUuid"].is_string();
    kind.is_some() && told || matches!(kind, Some("user" | "assistant")) && value["message"].is_object()
}

/// The reader, with the assistant's message that further lines may extend.
#[derive(Default)]
pub(super) struct Reader {
    open: Option<Open>,
    /// The messages that have a prompt after them, as hashes of session and uuid.
    followed: HashSet<u128>,
}

struct Open {
    /// The `message.id` that its lines share.
    message: String,
    size: usize,
    draft: Draft,
}

impl Reader {
    pub(super) fn line(&mut self, line: &Value, intake: &mut Intake<'_>) -> Result<()> {
        let author = match line["type"].as_str() {
            Some("user") => Author::User,
            Some("assistant") => Author::Assistant,
            kind => {
                let hook = line["attachment"]["type"].as_str().is_some_and(|kind| kind.starts_with("hook_"));
                intake.note(match kind {
                    Some("attachment") if hook => Reason::Injected,
                    Some("summary") => Reason::Summary,
                    _ => Reason::NotMessage,
                });
                return Ok(());
            }
        };
        let is = |flag: &str| line[flag] == true;
        let message = &line["message"];
        for (passed, why) in [
            (is("isSidechain"), Reason::Sidechain),
            (is("isCompactSummary"), Reason::Summary),
            (is("isMeta"), Reason::Injected),
            (is("isApiErrorMessage") || message["model"] == "<synthetic>", Reason::Synthetic),
        ] {
            if passed {
                intake.note(why);
                return Ok(());
            }
        }
        let mut parts = intake.texts(&message["content"]);
        intake.keep_typed(&mut parts, |text| typed(text, &author));
        if parts.is_empty() {
            return Ok(());
        }
        let session = intake.session(&line["sessionId"]);
        intake.note_folder(&session, &line["cwd"]);
        let id = intake.id(&line["uuid"], &session);
        if !intake.is_new(&session, &id) {
            return Ok(());
        }
        let at = intake.time(&line["timestamp"]);
        let draft = Draft { session, id, author, parts, at };
        match message["id"].as_str() {
            Some(message) if draft.author == Author::Assistant => self.join(message, draft, intake),
            _ => {
                self.end(intake)?;
                if let Some(parent) = line["parentUuid"].as_str()
                    && draft.author == Author::User
                    && !self.followed.insert(hash(&[&draft.session, parent]))
                {
                    intake.note(Reason::RepeatedPrompt);
                }
                intake.deliver(draft)
            }
        }
    }

    /// Adds a line to the current message, or begins another one.
    fn join(&mut self, message: &str, draft: Draft, intake: &mut Intake<'_>) -> Result<()> {
        let size = draft.parts.iter().map(String::len).sum::<usize>();
        if let Some(open) = &mut self.open
            && open.message == message
            && open.draft.session == draft.session
            && open.size + size <= MAX_JOINED_BYTES
        {
            open.size += size;
            open.draft.parts.extend(draft.parts);
            return Ok(());
        }
        self.end(intake)?;
        self.open = Some(Open { message: message.to_owned(), size, draft });
        Ok(())
    }

    /// Completes the current message.
    pub(super) fn end(&mut self, intake: &mut Intake<'_>) -> Result<()> {
        self.open.take().map_or(Ok(()), |open| intake.deliver(open.draft))
    }
}

/// Returns the text that a person typed or the model wrote.
fn typed(text: &str, author: &Author) -> String {
    if *author != Author::User {
        return without_tags(text, &INJECTED_TAGS[..1]);
    }
    // The client writes this in place of a prompt when the turn is interrupted.
    if text.trim_start().starts_with("[Request interrupted by user") {
        return String::new();
    }
    let text = without_tags(text, INJECTED_TAGS);
    // The arguments of a slash command are the person's own words.
    text.replace("<command-args>", "").replace("</command-args>", "")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, counts};

    #[test]
    fn blocks_are_joined_and_the_rest_is_passed_over() {
        let input = r#"{"type":"queue-operation","operation":"enqueue","sessionId":"s1","content":"Fix the test"}
{"type":"file-history-snapshot","messageId":"x","snapshot":{}}
{"type":"attachment","uuid":"u0","parentUuid":null,"sessionId":"s1","attachment":{"type":"hook_additional_context","content":["a secret of the hook"]}}
{"type":"user","uuid":"u1","parentUuid":"u0","isSidechain":false,"sessionId":"s1","timestamp":"2026-11-01T10:00:00.000Z","message":{"role":"user","content":"Fix the test\n<system-reminder>\nbe nice\n</system-reminder>"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"s1","timestamp":"2026-11-01T10:00:01.000Z","message":{"id":"msg_1","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm","signature":"x"}]}}
{"type":"assistant","uuid":"a2","parentUuid":"a1","sessionId":"s1","timestamp":"2026-11-01T10:00:02.000Z","message":{"id":"msg_1","role":"assistant","model":"m","content":[{"type":"text","text":"I will look."}]}}
{"type":"assistant","uuid":"a3","parentUuid":"a2","sessionId":"s1","timestamp":"2026-11-01T10:00:03.000Z","message":{"id":"msg_1","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t1","name":"Read","input":{}}]}}
{"type":"user","uuid":"r1","parentUuid":"a3","sessionId":"s1","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"file"}]},"toolUseResult":{}}
{"type":"assistant","uuid":"a4","parentUuid":"a3","sessionId":"s1","message":{"id":"msg_1","role":"assistant","model":"m","content":[{"type":"text","text":"And then mend it."}]}}
{"type":"user","uuid":"x1","isSidechain":true,"sessionId":"s1","message":{"role":"user","content":"for the subagent"}}
{"type":"assistant","uuid":"a5","parentUuid":"r1","sessionId":"s1","timestamp":"2026-11-01T10:00:05.000Z","message":{"id":"msg_2","role":"assistant","model":"m","content":[{"type":"text","text":"Done."}]}}
{"type":"system","subtype":"compact_boundary","uuid":"b1","parentUuid":null,"logicalParentUuid":"a5","sessionId":"s1","content":"Conversation compacted"}
{"type":"user","uuid":"c1","parentUuid":"b1","isCompactSummary":true,"sessionId":"s1","message":{"role":"user","content":"This session continues…"}}
{"type":"user","uuid":"m1","parentUuid":"c1","isMeta":true,"sessionId":"s1","message":{"role":"user","content":"Caveat"}}
{"type":"user","uuid":"u2","parentUuid":"a5","sessionId":"s1","message":{"role":"user","content":"<command-name>/review</command-name>\n<command-message>review</command-message>\n<command-args>mind the errors</command-args>"}}
{"type":"user","uuid":"u3","parentUuid":"u2","sessionId":"s1","message":{"role":"user","content":"<local-command-stdout>ok</local-command-stdout>"}}
{"type":"user","uuid":"u4","parentUuid":"u2","sessionId":"s1","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}}
{"type":"user","uuid":"u5","parentUuid":"a5","sessionId":"s1","message":{"role":"user","content":[{"type":"text","text":"No, thanks."},{"type":"image","source":{}}]}}
{"type":"assistant","uuid":"e1","parentUuid":"u5","sessionId":"s1","isApiErrorMessage":true,"message":{"id":"z","model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}}
{"type":"a-type-of-tomorrow","sessionId":"s1","message":{"role":"user","content":"unknown"}}"#;
        let read = check(
            input,
            "claude-code",
            &[
                "s1 0 u1 user 2026-11-01T10:00:00.000Z: Fix the test",
                "s1 1 a2 assistant 2026-11-01T10:00:02.000Z: I will look.⏎⏎And then mend it.",
                "s1 2 a5 assistant 2026-11-01T10:00:05.000Z: Done.",
                "s1 3 u2 user -: mind the errors",
                "s1 4 u5 user -: No, thanks.",
            ],
        );
        assert_eq!(
            counts(&read),
            [
                "not_message 4",
                "injected 4",
                "tool_use 1",
                "tool_result 1",
                "thinking 1",
                "attachment 1",
                "summary 1",
                "sidechain 1",
                "synthetic 1",
                "said_anew 1"
            ]
        );
    }

    #[test]
    fn broken_lines_cost_only_themselves() {
        let input = r#"{"type":"user","uuid":"u1","sessionId":"s","message":{"content":"one \ud83d half"}}
{"type":"user","uuid":"u1","sessionId":"s","message":{"content":"the same line again"}}
{"type":"user","uuid":"u2","sessionId":"s","message":"no object"}
{"type":"user","uuid":"u3","sessionId":"s"}
{"type":["user"],"sessionId":"s"}
{"type":"assistant","uuid":5,"message":{"id":["x"],"content":[{"type":"text","text":7},{"type":"text","text":"two"},null]}}
{"type":"user","uuid":"u4","sessionId":"s","timestamp":{},"message":{"content":"- [fact] ours (3d ago) [id:4]\nthree"}}
{"type":"user","uuid":"u5","sess"#;
        let read = check(
            input,
            "claude-code",
            &[
                "s 0 u1 user -: one \u{fffd} half",
                "file 0 5 assistant -: two",
                "s 1 u4 user -: - [fact] ours (3d ago) [id:4]⏎three",
            ],
        );
        assert_eq!(
            counts(&read),
            ["cut 1", "no_text 4", "duplicate 1", "not_message 1", "broken_unicode 1", "bad_time 1"]
        );
    }
}
