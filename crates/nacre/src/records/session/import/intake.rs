//! Turns drafts into messages: cleans texts, ids and times of every format, and counts.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::{Author, Effect, Format, MAX_NOTES, Message, Note, ReadReport, Reason};
use crate::base::frame::strip_injected;
use crate::base::{Result, Time};

/// The maximum length of an id or a name, in characters.
const MAX_NAME_CHARS: usize = 128;

/// Receives drafts, passes on messages, and counts.
pub(super) struct Intake<'a> {
    /// The number of the line or array element that is being read.
    pub(super) number: usize,
    /// The counts so far. The format is not known yet, and is a placeholder.
    pub(super) read: ReadReport,
    /// The session of messages that do not name one.
    session: String,
    /// Hashes of the sessions and ids seen so far, 16 bytes each.
    seen: HashSet<u128>,
    /// The number of messages of each session.
    lengths: HashMap<u128, u32>,
    take: &'a mut dyn FnMut(Message) -> Result<()>,
}

/// A message before it is cleaned.
pub(super) struct Draft {
    pub(super) session: String,
    pub(super) id: String,
    pub(super) author: Author,
    /// Its paragraphs or blocks, at least one.
    pub(super) parts: Vec<String>,
    pub(super) at: Option<Time>,
}

impl<'a> Intake<'a> {
    pub(super) fn new(name: &str, take: &'a mut dyn FnMut(Message) -> Result<()>) -> Intake<'a> {
        let read = ReadReport {
            format: Format::Jsonl,
            sessions: 0,
            messages: 0,
            cut: false,
            skipped: BTreeMap::new(),
            mended: BTreeMap::new(),
            notes: Vec::new(),
            folders: BTreeMap::new(),
        };
        let session = session_of_file(name);
        Intake { number: 0, read, session, seen: HashSet::new(), lengths: HashMap::new(), take }
    }

    /// Creates an intake for lines that all belong to one session, which already has `known` messages.
    pub(super) fn of(
        session: &str,
        known: u32,
        take: &'a mut dyn FnMut(Message) -> Result<()>,
    ) -> Intake<'a> {
        let lengths = HashMap::from([(hash(&[session]), known)]);
        Intake { session: session.to_owned(), lengths, ..Intake::new("", take) }
    }

    pub(super) fn finish(self) -> ReadReport {
        ReadReport { sessions: self.lengths.len(), ..self.read }
    }

    /// Notes the folder in which a conversation took place, the first one if it names several.
    pub(super) fn note_folder(&mut self, session: &str, folder: &Value) {
        if let Some(folder) = folder.as_str()
            && !self.read.folders.contains_key(session)
        {
            self.read.folders.insert(session.to_owned(), folder.to_owned());
        }
    }

    /// Notes a skipped or repaired part.
    pub(super) fn note(&mut self, why: Reason) {
        self.note_with(why, String::new());
    }

    pub(super) fn note_with(&mut self, why: Reason, detail: String) {
        let effect = why.row().1;
        let counts = match effect {
            Effect::Lost | Effect::Ignored => &mut self.read.skipped,
            Effect::Repaired | Effect::Accepted => &mut self.read.mended,
        };
        *counts.entry(why).or_default() += 1;
        self.read.cut |= why == Reason::Cut;
        if matches!(effect, Effect::Lost | Effect::Repaired) && self.read.notes.len() < MAX_NOTES {
            self.read.notes.push(Note { number: self.number, why, detail });
        }
    }

    /// Passes on a message, unless its id occurred before in its session.
    pub(super) fn offer(&mut self, draft: Draft) -> Result<()> {
        match self.clean(&draft.parts) {
            Some(text) if self.is_new(&draft.session, &draft.id) => self.hand_over(draft, text),
            _ => Ok(()),
        }
    }

    /// Returns whether the id is new in the session.
    pub(super) fn is_new(&mut self, session: &str, id: &str) -> bool {
        let new = self.seen.insert(hash(&[session, id]));
        if !new {
            self.note_with(Reason::Duplicate, id.to_owned());
        }
        new
    }

    /// Passes on a message whose id was checked before.
    pub(super) fn deliver(&mut self, draft: Draft) -> Result<()> {
        self.clean(&draft.parts).map_or(Ok(()), |text| self.hand_over(draft, text))
    }

    /// Returns the cleaned text of a message, if any is left.
    fn clean(&mut self, parts: &[String]) -> Option<String> {
        let mut ours = false;
        let mut text = String::new();
        // Part by part: a part that is all injected text does not affect the others.
        for part in parts {
            let plain = without_control(part);
            let stripped = strip_injected(&plain);
            ours |= stripped.len() < plain.len();
            let stripped = stripped.trim();
            if !stripped.is_empty() {
                text.push_str(if text.is_empty() { "" } else { "\n\n" });
                text.push_str(stripped);
            }
        }
        if text.is_empty() {
            self.note(if ours { Reason::Injected } else { Reason::Empty });
            return None;
        }
        Some(text)
    }

    fn hand_over(&mut self, draft: Draft, text: String) -> Result<()> {
        let length = self.lengths.entry(hash(&[&draft.session])).or_default();
        let seq = *length;
        *length = length.saturating_add(1);
        self.read.messages += 1;
        let Draft { session, id, author, at, .. } = draft;
        (self.take)(Message { session, id, author, text, at, seq })
    }

    /// Returns the session that a value names, or else the session of the file.
    pub(super) fn session(&mut self, given: &Value) -> String {
        self.given_id(given).unwrap_or_else(|| self.session.clone())
    }

    /// Returns the session that a conversation names, or else one made from the file and the element's
    /// number.
    pub(super) fn session_of_element(&mut self, given: &Value) -> String {
        self.given_id(given).unwrap_or_else(|| made_id(&self.session, self.number))
    }

    /// Returns the id in a value, or else one made from the session and the line.
    pub(super) fn id(&mut self, given: &Value, session: &str) -> String {
        self.given_id(given).unwrap_or_else(|| made_id(session, self.number))
    }

    /// Returns an id as given, or its hash if it is too long or has control characters.
    pub(super) fn given_id(&mut self, given: &Value) -> Option<String> {
        let given = match given {
            Value::String(text) => text.trim(),
            Value::Number(number) => return Some(number.to_string()),
            _ => return None,
        };
        if given.chars().take(MAX_NAME_CHARS + 1).count() <= MAX_NAME_CHARS
            && !given.contains(char::is_control)
        {
            return (!given.is_empty()).then(|| given.to_owned());
        }
        self.note(Reason::BadId);
        Some(format!("id-{:032x}", hash(&[given])))
    }

    /// Returns the time in a value, in any supported form.
    pub(super) fn time(&mut self, given: &Value) -> Option<Time> {
        let time = moment(given);
        if time.is_none() && !given.is_null() {
            self.note(Reason::BadTime);
        }
        time
    }

    /// Returns the texts of a message's content: a string, or an array of blocks. Blocks that are not text
    /// are noted.
    pub(super) fn texts(&mut self, content: &Value) -> Vec<String> {
        let blocks = match content {
            Value::String(text) => return vec![text.clone()],
            Value::Array(blocks) => blocks,
            _ => {
                self.note(Reason::NoText);
                return Vec::new();
            }
        };
        if blocks.is_empty() {
            self.note(Reason::Empty);
        }
        let mut texts = Vec::new();
        for block in blocks {
            let why = match (block, block["type"].as_str()) {
                (Value::String(text), _) => {
                    texts.push(text.clone());
                    continue;
                }
                (_, None | Some("text" | "input_text" | "output_text")) => match &block["text"] {
                    Value::String(text) => {
                        texts.push(text.clone());
                        continue;
                    }
                    _ => Reason::NoText,
                },
                (_, Some(kind)) => kind_of_block(kind),
            };
            self.note(why);
        }
        texts
    }

    /// Reduces each text to what was really typed. Texts of which nothing is left are removed and noted.
    pub(super) fn keep_typed(&mut self, texts: &mut Vec<String>, typed: impl Fn(&str) -> String) {
        texts.retain_mut(|text| {
            let kept = typed(text);
            let nothing_left = kept.trim().is_empty() && !text.trim().is_empty();
            if nothing_left {
                self.note(Reason::Injected);
            }
            *text = kept;
            !nothing_left
        });
    }
}

/// Returns the reason to skip a block or item that is not text.
pub(super) fn kind_of_block(kind: &str) -> Reason {
    match kind {
        "thinking" | "redacted_thinking" | "reasoning" => Reason::Thinking,
        "image" | "input_image" | "document" | "file" | "input_file" | "input_audio" => Reason::Attachment,
        // tool_result, web_search_tool_result, function_call_output, custom_tool_call_output, …
        _ if kind.ends_with("_result") || kind.ends_with("_output") => Reason::ToolResult,
        // tool_use, server_tool_use, mcp_tool_use; function_call, local_shell_call, …
        _ if kind.ends_with("_use") || kind.ends_with("_call") => Reason::ToolUse,
        _ => Reason::NotMessage,
    }
}

/// Removes everything between `<tag>` and `</tag>`, including the tags. A tag that is never closed stays: a
/// person may write about it.
pub(super) fn without_tags(text: &str, tags: &[&str]) -> String {
    let mut text = text.to_owned();
    for tag in tags {
        let (open, close) = (format!("<{tag}"), format!("</{tag}>"));
        if text.contains(&open) {
            text = without_spans(&text, &open, &close);
        }
    }
    text
}

/// Removes every span that begins with `open`, followed by `>` or attributes, up to `close`.
fn without_spans(text: &str, open: &str, close: &str) -> String {
    let mut left = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(open) {
        let behind = &rest[start + open.len()..];
        if !behind.starts_with(['>', ' ', '\n']) {
            left.push_str(&rest[..start + open.len()]);
            rest = behind;
            continue;
        }
        let Some(end) = behind.find(close) else { break };
        left.push_str(&rest[..start]);
        rest = &behind[end + close.len()..];
    }
    left + rest
}

/// Removes control characters except line breaks and tabs, and normalizes line breaks.
fn without_control(text: &str) -> Cow<'_, str> {
    let unwanted = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !may_have_control(text) || !text.contains(unwanted) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n").replace(unwanted, ""))
}

/// Tells whether a text has a byte with which an unwanted control character begins. Most have none.
fn may_have_control(text: &str) -> bool {
    let mut found = false;
    for byte in text.as_bytes() {
        found |= BEGINS_CONTROL[usize::from(*byte)];
    }
    found
}

static BEGINS_CONTROL: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = byte != b'\n' as usize && byte != b'\t' as usize;
        byte += 1;
    }
    table[0x7f] = true;
    // Two bytes: U+0080 to U+009F.
    table[0xc2] = true;
    table
};

/// Returns a name as an author: short, on one line, without control characters.
pub(super) fn named(name: &str) -> Author {
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let name: String = name.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect();
    if name.is_empty() { Author::Unknown } else { Author::Name(name) }
}

pub(super) fn made_id(session: &str, number: usize) -> String {
    format!("{session}:{number}")
}

/// Returns the name of a file, without folder and extension, as a session id.
fn session_of_file(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let plain = |c: char| if c.is_whitespace() || c.is_control() { '-' } else { c };
    let session: String = stem.chars().map(plain).take(MAX_NAME_CHARS).collect();
    if session.is_empty() { "import".to_owned() } else { session }
}

pub(super) fn hash(parts: &[&str]) -> u128 {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part.as_bytes());
        // No id has a control character, so two ids can't run together.
        hasher.update(&[0]);
    }
    let mut first = [0; 16];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    u128::from_be_bytes(first)
}

/// Parses a time: ISO 8601 with or without a zone (default UTC), or a number since 1970, also as a string.
pub(crate) fn moment(given: &Value) -> Option<Time> {
    let time = match given {
        Value::Number(number) => since_1970(number.as_f64()?)?,
        Value::String(text) if text.len() <= 64 => {
            let text = text.trim();
            Time::parse(text)
                .or_else(|| Time::parse(&format!("{text}Z")))
                .or_else(|| since_1970(text.parse().ok()?))?
        }
        _ => return None,
    };
    // `from_millis` clamps to the supported range.
    Some(Time::from_millis(time.as_millis()))
}

/// Parses seconds, milliseconds or microseconds since 1970. Their size tells them apart: each covers the
/// years 1973 to 5138.
fn since_1970(number: f64) -> Option<Time> {
    let millis = match number {
        1e8..1e11 => number * 1e3,
        1e11..1e14 => number,
        1e14..1e17 => number / 1e3,
        _ => return None,
    };
    #[expect(clippy::cast_possible_truncation, reason = "at most 1e14")]
    let millis = millis.round() as i64;
    Some(Time::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_come_in_every_form() {
        for (given, expected) in [
            (json!("2023-05-08T13:56:00Z"), Some("2023-05-08T13:56:00.000Z")),
            (json!("2023-05-08T13:56:00.123456+02:00"), Some("2023-05-08T11:56:00.123Z")),
            (json!("2023-05-08T13:56:00"), Some("2023-05-08T13:56:00.000Z")),
            (json!("2023-05-08 13:56:00"), Some("2023-05-08T13:56:00.000Z")),
            (json!("2023-05-08"), Some("2023-05-08T00:00:00.000Z")),
            (json!(1_683_554_160), Some("2023-05-08T13:56:00.000Z")),
            (json!(1_683_554_160.25), Some("2023-05-08T13:56:00.250Z")),
            (json!(1_683_554_160_250_i64), Some("2023-05-08T13:56:00.250Z")),
            (json!("1683554160.25"), Some("2023-05-08T13:56:00.250Z")),
            (json!(null), None),
            (json!(0), None),
            (json!(-1), None),
            (json!(1e300), None),
            (json!("NaN"), None),
            (json!("inf"), None),
            (json!("last Tuesday"), None),
            (json!("x".repeat(1000)), None),
            (json!({ "seconds": 5 }), None),
            (json!(true), None),
        ] {
            assert_eq!(moment(&given).map(|time| time.to_string()).as_deref(), expected, "{given}");
        }
        for extreme in ["9999-12-31T23:59:59.999Z", "-009999-01-01T00:00:00Z"] {
            let _ = moment(&json!(extreme)).map(|time| time.to_string());
        }
    }

    #[test]
    fn tagged_spans_are_taken_out() {
        for (text, left) in [
            ("a <x>b</x> c", "a  c"),
            ("<x>a</x><x k=\"v\">b</x>c", "c"),
            ("<xy>a</xy>", "<xy>a</xy>"),
            ("what does <x> mean?", "what does <x> mean?"),
            ("<x>never closed", "<x>never closed"),
            ("</x> a", "</x> a"),
        ] {
            assert_eq!(without_tags(text, &["x"]), left, "{text}");
        }
    }

    #[test]
    fn the_file_names_the_session() {
        for (name, session) in [
            ("/tmp/a b/my chat.old.jsonl", "my-chat.old"),
            ("C:\\chats\\x.json", "x"),
            ("", "import"),
            (".jsonl", "import"),
        ] {
            assert_eq!(session_of_file(name), session, "{name}");
        }
    }
}
