//! `conversations.json` of a Claude.ai export: conversations with their messages in order.

use serde_json::Value;

use super::intake::{Draft, Intake, made_id};
use super::{Author, Reason};
use crate::base::Result;

pub(super) fn conversation(value: &Value, intake: &mut Intake<'_>) -> Result<()> {
    let Some(messages) = value["chat_messages"].as_array() else {
        intake.note(Reason::NotMessage);
        return Ok(());
    };
    let session = intake.session_of_element(&value["uuid"]);
    for (place, message) in messages.iter().enumerate() {
        self::message(message, &session, place, intake)?;
    }
    Ok(())
}

fn message(message: &Value, session: &str, place: usize, intake: &mut Intake<'_>) -> Result<()> {
    let author = match message["sender"].as_str() {
        Some("human" | "user") => Author::User,
        Some("assistant") => Author::Assistant,
        _ => {
            intake.note(if message.is_object() { Reason::Instructions } else { Reason::NotMessage });
            return Ok(());
        }
    };
    for list in ["attachments", "files"] {
        for _ in message[list].as_array().into_iter().flatten() {
            intake.note(Reason::Attachment);
        }
    }
    // The blocks are the better form: `text` has placeholders for tool calls. Older exports have no blocks.
    let blocks = message["content"].as_array().is_some_and(|blocks| !blocks.is_empty());
    let parts = intake.texts(&message[if blocks { "content" } else { "text" }]);
    if parts.is_empty() {
        return Ok(());
    }
    let id = intake.given_id(&message["uuid"]).unwrap_or_else(|| made_id(session, place));
    let at = intake.time(&message["created_at"]);
    intake.offer(Draft { session: session.to_owned(), id, author, parts, at })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, counts};

    #[test]
    fn blocks_go_before_the_plain_text() {
        let input = r#"[{"uuid":"c1","name":"Trip","created_at":"2025-03-01T09:00:00.000000Z","chat_messages":[
            {"uuid":"m1","sender":"human","text":"Where to?","content":[{"type":"text","text":"Where to?"}],
             "created_at":"2025-03-01T09:00:01.500000Z","attachments":[{"file_name":"a.txt","extracted_content":"…"}],"files":[]},
            {"uuid":"m2","sender":"assistant","text":"placeholder","content":[{"type":"thinking","thinking":"hm"},
             {"type":"text","text":"To Lisbon."},{"type":"tool_use","name":"map"},{"type":"tool_result","content":[]},
             {"type":"text","text":"In May."}],"created_at":"2025-03-01T09:00:02Z"},
            {"uuid":"m3","sender":"human","text":"An old message","content":[]}]},
          {"uuid":"c2","chat_messages":[]}]"#;
        let read = check(
            input,
            "claude",
            &[
                "c1 0 m1 user 2025-03-01T09:00:01.500Z: Where to?",
                "c1 1 m2 assistant 2025-03-01T09:00:02.000Z: To Lisbon.⏎⏎In May.",
                "c1 2 m3 user -: An old message",
            ],
        );
        assert_eq!(counts(&read), ["tool_use 1", "tool_result 1", "thinking 1", "attachment 1"]);
        assert_eq!(read.sessions, 1);
    }

    #[test]
    fn broken_lines_are_skipped_and_counted() {
        let input = r#"[{"chat_messages":[5,null,{"sender":"human"},{"sender":"robot","text":"x"},
            {"sender":"human","text":"one","created_at":"long ago"},{"uuid":"m","sender":"human","text":"two"},
            {"uuid":"m","sender":"human","text":"three"},{"sender":"human","text":"\u0000"}]},
            {"uuid":"x","chat_messages":{}},
            {"uuid":"y","chat_messages":[{"sender":"human","text":"four"}}],
            {"uuid":"z","chat_messages":[{"sender":"human","text":"fi"#;
        let read = check(input, "claude", &["file:1 0 file:1:4 user -: one", "file:1 1 m user -: two"]);
        assert_eq!(
            counts(&read),
            [
                "not_json 1",
                "cut 1",
                "no_text 1",
                "duplicate 1",
                "not_message 3",
                "empty 1",
                "instructions 1",
                "bad_time 1"
            ]
        );
    }
}
