//! Reads transcripts of other programs: bytes ▶ JSON values ▶ the reader of the format ▶ messages.
//!
//! `values` splits the input into JSON values, the lines of a file or the elements of an array, with one in
//! memory at a time. The first value that a format claims decides the format of the whole input; the file
//! name does not. The reader of the format makes drafts, and `intake` turns them into messages: cleaned,
//! without injected text, without duplicates.
//!
//! All of it is untrusted text. Reading stops only if the input contains no transcript at all, can't be read,
//! or if `take` fails. Everything that is skipped or repaired is counted by reason.
//!
//! A format is one file here, a variant of [`Format`], and its arm in `Format::of` and `Readers::value`.

mod chatgpt;
mod claude;
mod claude_code;
mod codex;
mod intake;
mod jsonl;
mod values;

use std::collections::BTreeMap;
use std::fmt;
use std::io::BufRead;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use crate::base::named::named;
use crate::base::{Error, Result, Time};
use intake::Intake;
pub(crate) use intake::moment;
pub(crate) use values::{Item, Values};

/// Returns a prompt without the text that a program added.
pub(crate) fn typed(text: &str) -> String {
    intake::without_tags(text, claude_code::INJECTED_TAGS)
}

/// The maximum number of notes in a [`ReadReport`]; further ones are only counted.
const MAX_NOTES: usize = 20;

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The id of the conversation, or else one made from the file name.
    pub session: String,
    /// The id of the message, or else one made from the session and the line. Unique within the session.
    pub id: String,
    /// The author.
    pub author: Author,
    /// The text. It is never empty, and has no control characters except line breaks and tabs.
    pub text: String,
    /// The time, if it is known.
    pub at: Option<Time>,
    /// The position within the session, from 0.
    pub seq: u32,
}

/// The author of a [`Message`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Author {
    /// The person.
    User,
    /// The agent.
    Assistant,
    /// A person or program with a name.
    Name(String),
    /// The input does not name the author.
    Unknown,
}

impl Author {
    /// Returns the role or the name.
    pub fn as_str(&self) -> &str {
        match self {
            Author::User => "user",
            Author::Assistant => "assistant",
            Author::Name(name) => name,
            Author::Unknown => "unknown",
        }
    }
}

named! {
    /// A transcript format.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Format {
        /// One object per line: id, session, speaker or role, text or content, timestamp.
        Jsonl = "jsonl",
        /// A session of Claude Code.
        ClaudeCode = "claude-code",
        /// A rollout of Codex.
        Codex = "codex",
        /// `conversations.json` of a ChatGPT export.
        #[serde(rename = "chatgpt")]
        ChatGpt = "chatgpt",
        /// `conversations.json` of a Claude.ai export.
        Claude = "claude",
    }
}

impl Format {
    /// Returns the format of a value.
    ///
    /// Some format claims every value that holds a message, so values before the first claimed one hold none.
    /// Our own format comes last because its keys are the most common.
    fn of(value: &Value) -> Option<Format> {
        let has = |key: &str| !value[key].is_null();
        if value["mapping"].is_object() {
            Some(Format::ChatGpt)
        } else if value["chat_messages"].is_array() {
            Some(Format::Claude)
        } else if codex::claims(value) {
            Some(Format::Codex)
        } else if claude_code::claims(value) {
            Some(Format::ClaudeCode)
        } else if jsonl::claims(value) && (!has("type") || has("role") || has("speaker")) {
            Some(Format::Jsonl)
        } else {
            None
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The result of reading a transcript: the number of messages, and everything that was skipped or repaired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReadReport {
    /// The format.
    pub format: Format,
    /// The number of conversations with at least one message.
    pub sessions: usize,
    /// The number of messages.
    pub messages: usize,
    /// Whether the input ends in the middle of a value.
    pub cut: bool,
    /// The number of skipped parts, by reason.
    pub skipped: BTreeMap<Reason, usize>,
    /// The number of parts that were repaired, or imported although unusual, by reason.
    pub mended: BTreeMap<Reason, usize>,
    /// The first skipped or repaired parts that deserve attention. Parts that every transcript of the format
    /// has are only counted.
    pub notes: Vec<Note>,
    /// The folders in which the conversations took place, by session.
    #[serde(skip)]
    pub(crate) folders: BTreeMap<String, String>,
}

/// A part that was skipped or repaired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// The number of the line or array element, from 1.
    pub number: usize,
    /// The reason.
    pub why: Reason,
    /// Details, if known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.number, self.why)?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, " ({})", self.detail) }
    }
}

/// How a [`Reason`] affects the import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// Skipped, although it may have been a message.
    Lost,
    /// Skipped as intended.
    Ignored,
    /// Imported after a repair.
    Repaired,
    /// Imported unchanged.
    Accepted,
}

/// Why a part was skipped or repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the table below explains each")]
pub enum Reason {
    NotJson,
    TooLong,
    Cut,
    NoText,
    Duplicate,
    NotMessage,
    Empty,
    Injected,
    Instructions,
    ToolUse,
    ToolResult,
    Thinking,
    Attachment,
    Summary,
    Sidechain,
    Hidden,
    Synthetic,
    OtherBranch,
    BrokenUnicode,
    BadTime,
    BadId,
    BrokenTree,
    #[serde(rename = "said_anew")]
    RepeatedPrompt,
}

impl Reason {
    /// Returns the reason in words.
    pub fn as_str(self) -> &'static str {
        self.row().0
    }

    /// The table of descriptions and effects.
    fn row(self) -> (&'static str, Effect) {
        use Effect::{Accepted, Ignored, Lost, Repaired};
        match self {
            Reason::NotJson => ("not JSON", Lost),
            Reason::TooLong => ("too long", Lost),
            Reason::Cut => ("cut off in the middle", Lost),
            Reason::NoText => ("a message without text", Lost),
            Reason::Duplicate => ("a duplicate id; the first message was kept", Lost),
            Reason::NotMessage => ("not a message", Ignored),
            Reason::Empty => ("an empty message", Ignored),
            Reason::Injected => ("text that a program added to the conversation", Ignored),
            Reason::Instructions => ("from neither the user nor the assistant", Ignored),
            Reason::ToolUse => ("a tool call", Ignored),
            Reason::ToolResult => ("a tool result", Ignored),
            Reason::Thinking => ("thinking", Ignored),
            Reason::Attachment => ("an image, a file or audio", Ignored),
            Reason::Summary => ("a summary of earlier messages", Ignored),
            Reason::Sidechain => ("the conversation of a subagent", Ignored),
            Reason::Hidden => ("hidden from the conversation", Ignored),
            Reason::Synthetic => ("written by the program, not the model", Ignored),
            Reason::OtherBranch => ("a version that was replaced by another", Ignored),
            Reason::BrokenUnicode => ("invalid Unicode, replaced by U+FFFD", Repaired),
            Reason::BadTime => ("an unreadable time, omitted", Repaired),
            Reason::BadId => ("an invalid id, replaced by its hash", Repaired),
            Reason::BrokenTree => {
                ("a broken tree of messages; the reachable messages were imported", Repaired)
            }
            Reason::RepeatedPrompt => ("a second prompt after the same message; both were kept", Accepted),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns the format of a transcript, if one of its first values has a known one.
pub fn detect(input: impl BufRead) -> Option<Format> {
    /// Values before the first message, such as the settings of the session.
    const MAX_VALUES: usize = 50;
    let mut values = Values::new(input);
    (0..MAX_VALUES).find_map(|_| match values.next().ok()??.value {
        Item::Value { value, .. } => Format::of(&value),
        Item::Bad { .. } => None,
    })
}

/// Reads a transcript of any known format and passes its messages to `take`, each session in its order.
///
/// `name` is the file name. It names the file in errors, and the session of messages that do not name one.
/// Memory use is one line (at most 16 MiB) or one conversation (at most 32 MiB) with its parsed JSON, and a
/// few bytes per message.
///
/// Fails if the input contains nothing in a known format, if it can't be read, or if `take` fails.
pub fn read(
    input: impl BufRead,
    name: &str,
    mut take: impl FnMut(Message) -> Result<()>,
) -> Result<ReadReport> {
    let mut values = Values::new(input);
    let mut intake = Intake::new(name, &mut take);
    let mut readers = Readers::default();
    let mut format = None;
    while let Some(item) = values.next().map_err(Error::io(Path::new(name)))? {
        intake.number = item.number;
        match item.value {
            Item::Value { value, mended } => {
                format = format.or_else(|| Format::of(&value));
                let Some(format) = format else {
                    intake.note(Reason::NotMessage);
                    continue;
                };
                if mended {
                    intake.note(Reason::BrokenUnicode);
                }
                readers.value(format, &value, &mut intake)?;
            }
            Item::Bad { why, problem } => intake.note_with(why, problem),
        }
    }
    if format == Some(Format::ClaudeCode) {
        readers.claude_code.end(&mut intake)?;
    }
    let Some(format) = format else {
        let problem = match intake.read.notes.first() {
            Some(note) => format!("it contains no message in a known format; first problem: {note}"),
            None if intake.number == 0 => "it is empty".to_owned(),
            None => "it contains no message in a known format".to_owned(),
        };
        return Err(Error::BadTranscript { name: name.into(), problem });
    };
    Ok(ReadReport { format, ..intake.finish() })
}

/// Turns the lines of a Nacre transcript into messages of `session`. The first gets the position `seq`.
pub(crate) fn read_own(
    lines: &[Value],
    session: &str,
    seq: u32,
    mut take: impl FnMut(Message) -> Result<()>,
) -> Result<ReadReport> {
    let mut intake = Intake::of(session, seq, &mut take);
    for line in lines {
        intake.number += 1;
        jsonl::message(line, &mut intake)?;
    }
    Ok(intake.finish())
}

/// The readers that keep state between values.
#[derive(Default)]
struct Readers {
    claude_code: claude_code::Reader,
    codex: codex::Reader,
}

impl Readers {
    fn value(&mut self, format: Format, value: &Value, intake: &mut Intake<'_>) -> Result<()> {
        match format {
            Format::Jsonl => jsonl::message(value, intake),
            Format::ClaudeCode => self.claude_code.line(value, intake),
            Format::Codex => self.codex.line(value, intake),
            Format::ChatGpt => chatgpt::conversation(value, intake),
            Format::Claude => claude::conversation(value, intake),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    /// Reads `input` from `file.txt` and compares the messages: session, position, id, author, time and text.
    pub(super) fn check(input: &str, format: &str, expected: &[&str]) -> ReadReport {
        let mut messages = Vec::new();
        let read = read(input.as_bytes(), "dir/file.txt", |message| {
            let Message { session, id, author, text, at, seq } = message;
            let at = at.map_or("-".to_owned(), |at| at.to_string());
            let text = text.replace('\n', "⏎");
            messages.push(format!("{session} {seq} {id} {} {at}: {text}", author.as_str()));
            Ok(())
        })
        .unwrap();
        assert_eq!(messages, expected);
        assert_eq!((read.format.as_str(), read.messages), (format, expected.len()));
        read
    }

    /// Returns how often each reason occurred.
    pub(super) fn counts(read: &ReadReport) -> Vec<String> {
        let counts = read.skipped.iter().chain(&read.mended);
        counts
            .map(|(why, count)| format!("{} {count}", serde_json::to_value(why).unwrap().as_str().unwrap()))
            .collect()
    }

    #[test]
    fn input_without_a_transcript_is_refused() {
        for (input, problem) in [
            ("", "it is empty"),
            ("  \n", "it is empty"),
            ("[]", "it is empty"),
            (
                "# Notes\n\nplain words",
                "it contains no message in a known format; first problem: 1: not JSON",
            ),
            ("{\"type\":\"entity\",\"name\":\"x\"}", "it contains no message in a known format"),
            ("[{\"uuid\":\"x\",\"full_name\":\"y\"}]", "it contains no message in a known format"),
            ("null", "it contains no message in a known format"),
        ] {
            let error = read(input.as_bytes(), "x.json", |_| Ok(())).unwrap_err();
            let Error::BadTranscript { problem: told, .. } = error else { panic!("{error}") };
            assert!(told.starts_with(problem), "{input}: {told}");
        }
    }

    #[test]
    fn the_first_notes_are_kept_and_the_rest_is_counted() {
        let input = format!("{{\"text\":\"a\"}}\n{}", "broken\n".repeat(100));
        let read = check(&input, "jsonl", &["file 0 file:1 unknown -: a"]);
        assert_eq!((read.notes.len(), read.skipped[&Reason::NotJson]), (MAX_NOTES, 100));
    }

    #[test]
    fn the_consumer_can_stop_reading() {
        let mut taken = 0;
        let stopped = read("{\"text\":\"a\"}\n{\"text\":\"b\"}".as_bytes(), "x", |_| {
            taken += 1;
            Err(Error::Busy)
        });
        assert!(matches!(stopped, Err(Error::Busy)));
        assert_eq!(taken, 1);
    }

    #[test]
    fn an_input_that_can_not_be_read_is_an_error() {
        struct Failing;
        impl std::io::Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("gone"))
            }
        }
        assert!(matches!(read(BufReader::new(Failing), "x", |_| Ok(())), Err(Error::Io { .. })));
    }

    /// JSON in which the keys and values of the formats occur in wrong places.
    fn confused() -> impl Strategy<Value = Value> {
        let word = prop::sample::select(vec![
            "user",
            "assistant",
            "human",
            "text",
            "message",
            "session_meta",
            "response_item",
            "attachment",
            "a",
            "b",
            "tool_result",
            "<system-reminder>x</system-reminder>",
            "<!-- nacre:memory -->",
            "2026-01-01",
            "",
        ]);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            word.prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 6, |inner| {
            let key = prop::sample::select(vec![
                "type",
                "message",
                "content",
                "text",
                "id",
                "uuid",
                "parentUuid",
                "sessionId",
                "session",
                "role",
                "speaker",
                "sender",
                "timestamp",
                "payload",
                "mapping",
                "current_node",
                "parent",
                "author",
                "chat_messages",
                "parts",
                "create_time",
                "a",
                "b",
            ]);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((key, inner), 0..8).prop_map(|pairs| {
                    Value::Object(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
                }),
            ]
        })
    }

    /// Checks that the messages of any input are clean, ordered and counted, and the same every time.
    fn holds(input: &[u8]) -> Result<(), TestCaseError> {
        let run = |capacity| {
            let mut messages = Vec::new();
            let read = read(BufReader::with_capacity(capacity, input), "x.json", |message| {
                messages.push(message);
                Ok(())
            });
            (messages, read)
        };
        let (messages, first) = run(7);
        let (again, second) = run(1 << 16);
        prop_assert_eq!(&messages, &again);
        let mut ids = std::collections::HashSet::new();
        for message in &messages {
            prop_assert!(!message.text.is_empty() && message.text.trim() == message.text);
            prop_assert!(!message.text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')));
            prop_assert!(
                !message.id.contains(char::is_control) && !message.session.contains(char::is_control)
            );
            prop_assert!(ids.insert((&message.session, &message.id)));
            let _ = message.at.map(|at| at.to_string());
        }
        match (first, second) {
            (Ok(first), Ok(second)) => {
                prop_assert_eq!(first.messages, messages.len());
                prop_assert_eq!(first, second);
            }
            (Err(Error::BadTranscript { problem, .. }), Err(_)) => prop_assert!(!problem.is_empty()),
            (first, _) => prop_assert!(false, "{:?}", first),
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_value_or_a_clear_error(input: Vec<u8>) {
            holds(&input)?;
        }

        #[test]
        fn any_text_of_json_signs_does_too(input in r#"[\[\]{}":,\\ua-f0-9 \n]{0,200}"#) {
            holds(input.as_bytes())?;
        }

        #[test]
        fn any_confusion_of_formats_does_too(
            values in prop::collection::vec(confused(), 0..8),
            array: bool,
            cut: prop::sample::Index,
        ) {
            let lines: Vec<String> = values.iter().map(Value::to_string).collect();
            let input = if array { format!("[{}]", lines.join(",")) } else { lines.join("\n") };
            holds(input.as_bytes())?;
            holds(&input.as_bytes()[..cut.index(input.len() + 1)])?;
        }
    }
}
