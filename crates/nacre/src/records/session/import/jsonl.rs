//! The plain format: one object per line with id, session, speaker or role, text or content, timestamp.
//!
//! Everything except the text is optional. `user` and `assistant` are roles, and any other value is a name. A
//! `speaker` is more exact than a `role` and has precedence.

use serde_json::Value;

use super::intake::{Draft, Intake, named};
use super::{Author, Reason};
use crate::base::Result;

/// Returns whether a value has the keys of a message.
pub(super) fn claims(value: &Value) -> bool {
    value.get("text").or_else(|| value.get("content")).is_some()
}

pub(super) fn message(value: &Value, intake: &mut Intake<'_>) -> Result<()> {
    if !value.is_object() {
        intake.note(Reason::NotMessage);
        return Ok(());
    }
    // Tool calls, tool results and summaries in Nacre's own transcripts are not messages.
    let aside = match value["role"].as_str() {
        Some("tool_call") => Some(Reason::ToolUse),
        Some("tool_result") => Some(Reason::ToolResult),
        Some("summary") if value["covers"].is_array() => Some(Reason::Summary),
        _ => None,
    };
    if let Some(why) = aside {
        intake.note(why);
        return Ok(());
    }
    let parts = intake.texts(first(value, &["text", "content"]));
    if parts.is_empty() {
        return Ok(());
    }
    let session = intake.session(first(value, &["session", "session_id"]));
    let id = intake.id(&value["id"], &session);
    let author = match first(value, &["speaker", "role"]).as_str() {
        Some("user") => Author::User,
        Some("assistant") => Author::Assistant,
        Some(name) => named(name),
        None => Author::Unknown,
    };
    let at = intake.time(&value["timestamp"]);
    intake.offer(Draft { session, id, author, parts, at })
}

/// Returns the first of the keys that exists and is not null.
fn first<'a>(value: &'a Value, keys: &[&str]) -> &'a Value {
    keys.iter().map(|key| &value[*key]).find(|value| !value.is_null()).unwrap_or(&Value::Null)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, counts};

    #[test]
    fn ids_are_kept_or_made() {
        let input = r#"
{"id":"D1:1","session":"conv-26","speaker":"Caroline","text":"I went to the pottery class.","timestamp":"2023-05-08T13:56:00"}
{"id":"D1:2","session":"conv-26","role":"assistant","content":"How was it?","timestamp":1683554161.5}
{"id":7,"session":"other","role":"user","content":[{"type":"text","text":"one"},"two",{"type":"image"}]}
{"text":"no more than a text"}
{"role":"user","speaker":"Mel","text":"a name beside a role"}
{"session":"conv-26","role":"user","text":"no id"}"#;
        let read = check(
            input,
            "jsonl",
            &[
                "conv-26 0 D1:1 Caroline 2023-05-08T13:56:00.000Z: I went to the pottery class.",
                "conv-26 1 D1:2 assistant 2023-05-08T13:56:01.500Z: How was it?",
                "other 0 7 user -: one⏎⏎two",
                "file 0 file:5 unknown -: no more than a text",
                "file 1 file:6 Mel -: a name beside a role",
                "conv-26 2 conv-26:7 user -: no id",
            ],
        );
        assert_eq!(counts(&read), ["attachment 1"]);
        assert_eq!(read.sessions, 3);
    }

    #[test]
    fn broken_lines_are_skipped_and_counted() {
        let input = "{\"id\":\"a\",\"role\":\"user\",\"text\":\"first\",\"timestamp\":\"soon\"}\n\
            {\"id\":\"a\",\"text\":\"the same id\"}\n\
            {\"id\":\"b\",\"text\":42}\n\
            {\"id\":\"c\",\"text\":null}\n\
            {\"id\":\"d\"}\n\
            {\"id\":\"e\",\"text\":\" \\u0000\\n \"}\n\
            {\"id\":\"e\",\"text\":\"<!-- nacre:memory -->\\nremembered\\n<!-- /nacre:memory -->\"}\n\
            {\"id\":{},\"session\":[],\"role\":5,\"text\":\"wrong \\u001b[31mtypes\\r\\nall over\"}\n\
            {\"id\":\"\\u0007\",\"text\":\"a bell for an id\"}\n\
            [1]\n\
            not json\n\
            {\"id\":\"g\",\"text\":\"cut";
        let read = check(
            input,
            "jsonl",
            &[
                "file 0 a user -: first",
                "file 1 file:8 unknown -: wrong [31mtypes⏎all over",
                "file 2 id-97ef5c3b3452890d7657a3743094f7a1 unknown -: a bell for an id",
            ],
        );
        assert_eq!(
            counts(&read),
            [
                "not_json 1",
                "cut 1",
                "no_text 3",
                "duplicate 1",
                "not_message 1",
                "empty 1",
                "injected 1",
                "bad_time 1",
                "bad_id 1"
            ]
        );
        assert!(read.cut);
        assert_eq!(read.notes[1].to_string(), "2: a duplicate id; the first message was kept (a)");
        assert_eq!(read.notes.last().map(|note| note.number), Some(12));
    }
}
