//! Nacre's own transcripts: `sessions/<id>.jsonl` in the group's folder, one JSON object per line.
//!
//! The file is the source of truth. It is only ever appended to, except by a compaction in mode `rewrite`;
//! the database is derived from it. Other programs may have written to it: an invalid line is skipped, and an
//! incomplete last line is moved away before the next line is written. One process writes at a time, under a
//! lock that ends with it.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::gzip;
use super::lock::{Lock, lock};
use crate::base::ids::SessionId;
use crate::base::redact::redact;
use crate::base::text::{percent_decode, shorten, tokens};
use crate::base::{Error, Result, Time};
use crate::group::View;
use crate::store::{ARCHIVE_FOLDER, Files, ReadSeek};

/// The maximum length of a file name, without its extension.
const MAX_NAME_BYTES: usize = 200;
/// The maximum length of a line; a longer line is invalid.
const MAX_LINE_BYTES: usize = 16 << 20;

/// The answer of an agent that has nothing to say.
pub(crate) const NO_REPLY: &str = "NO_REPLY";

/// The role of a line in a transcript. A summary replaces earlier lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names explain themselves")]
pub enum Role {
    User,
    Assistant,
    System,
    ToolCall,
    ToolResult,
    Summary,
}

impl Role {
    /// Returns the role's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::System => "system",
            Role::ToolCall => "tool_call",
            Role::ToolResult => "tool_result",
            Role::Summary => "summary",
        }
    }
}

impl std::str::FromStr for Role {
    type Err = String;
    fn from_str(text: &str) -> Result<Role, String> {
        let all = [Role::User, Role::Assistant, Role::System, Role::ToolCall, Role::ToolResult];
        let known = || all.map(Role::as_str).join(", ");
        all.into_iter()
            .find(|role| role.as_str() == text)
            .ok_or_else(|| format!("`{}` is not one of {}", shorten(text), known()))
    }
}

/// A line of a transcript. A tool_result has the id of its tool_call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the field names explain themselves")]
pub struct Line {
    pub id: String,
    pub role: Role,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The tool that is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The arguments of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The first and the last line that a summary replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covers: Option<[String; 2]>,
    /// How a summary was made: `extractive`, or the name of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    pub timestamp: Time,
}

redact! { Line { id, content, name, input, covers, by / role, timestamp } }

impl Line {
    /// Parses a line of a file; `None` if it is invalid.
    pub(crate) fn read(bytes: &[u8]) -> Option<Line> {
        serde_json::from_slice(bytes).ok()
    }

    pub(crate) fn text(&self) -> &str {
        self.content.as_deref().unwrap_or_default()
    }

    /// Returns about how many tokens it has.
    pub(crate) fn tokens(&self) -> usize {
        let input = self.input.as_ref().map_or(0, |input| tokens(&input.to_string()));
        tokens(self.text()) + input + self.name.as_deref().map_or(0, tokens)
    }

    /// Returns whether the agent answered that it has nothing to say.
    pub(crate) fn is_silence(&self) -> bool {
        self.role == Role::Assistant && self.text().trim() == NO_REPLY
    }

    /// Returns a key that is unique within a session. A call and its result share an id.
    pub(crate) fn key(&self) -> String {
        match self.role {
            Role::ToolResult => format!("{}\u{0}result", self.id),
            _ => self.id.clone(),
        }
    }

    /// Hashes everything except the time, to recognize a line that is sent again.
    pub(crate) fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let input = self.input.as_ref().map(ToString::to_string).unwrap_or_default();
        for part in [self.role.as_str(), self.text(), self.name.as_deref().unwrap_or_default(), &input] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }

    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

/// The ASCII characters that are percent-encoded in file names.
const ENCODED_CHARS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'-').remove(b'.');

/// The transcript of one session.
#[derive(Clone, Debug)]
pub(crate) struct Transcript {
    files: Files,
    name: String,
}

impl Transcript {
    /// Returns the transcript of a session. Its name is percent-encoded.
    pub(crate) fn of(files: &Files, session: &SessionId) -> Result<Transcript> {
        Ok(Transcript { files: files.clone(), name: encoded(session)? })
    }

    /// Returns the name of the plain file, which is written to.
    pub(crate) fn plain(&self) -> String {
        format!("{}.jsonl", self.name)
    }

    /// Returns the name of the packed file.
    pub(crate) fn packed(&self) -> String {
        format!("{ARCHIVE_FOLDER}/{}.jsonl.gz", self.name)
    }

    /// Tells whether a file belongs to this session: its transcript, the original of a compaction, or an incomplete line.
    pub(super) fn owns(&self, file: &str) -> bool {
        let name = file.rsplit('/').next().unwrap_or(file);
        name.strip_prefix(&self.name)
            .is_some_and(|rest| [".jsonl", "~", ".torn-"].iter().any(|start| rest.starts_with(start)))
    }

    /// Returns the path of the plain file, for errors.
    pub(crate) fn place(&self) -> PathBuf {
        self.files.transcript_at(&self.plain())
    }

    pub(crate) fn exists(&self) -> bool {
        self.is_plain() || self.is_packed()
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.files.has_transcript(&self.plain())
    }

    pub(crate) fn is_packed(&self) -> bool {
        self.files.has_transcript(&self.packed())
    }

    /// Opens the plain file, or else the packed one.
    pub(crate) fn open(&self) -> Result<Option<Box<dyn ReadSeek>>> {
        if let Some(plain) = self.files.open_transcript(&self.plain())? {
            return Ok(Some(plain));
        }
        let Some(mut packed) = self.files.open_transcript(&self.packed())? else { return Ok(None) };
        let mut bytes = Vec::new();
        let plain = packed.read_to_end(&mut bytes).and_then(|_| gzip::unpack(&bytes));
        let plain = plain.map_err(Error::io(&self.files.transcript_at(&self.packed())))?;
        Ok(Some(Box::new(std::io::Cursor::new(plain))))
    }

    /// Makes the file end with a complete line. Returns where an incomplete line was moved, if there was one.
    /// A line that lacks only its line break stays.
    pub(crate) fn repair_end(&self, lock: &Lock) -> Result<Option<PathBuf>> {
        let Some(mut file) = self.files.open_transcript(&self.plain())? else { return Ok(None) };
        let io = |problem: std::io::Error| Error::io(&self.place())(problem);
        let length = file.seek(SeekFrom::End(0)).map_err(io)?;
        let mut last = [0];
        if length > 0 {
            file.seek(SeekFrom::Start(length - 1)).and_then(|_| file.read_exact(&mut last)).map_err(io)?;
        }
        if length == 0 || last == *b"\n" {
            return Ok(None);
        }
        let (start, torn) = Backwards::new(&mut file).map_err(io)?.next().map_err(io)?.unwrap_or_default();
        if Line::read(&torn).is_some() {
            self.append(b"\n", lock)?;
            return Ok(None);
        }
        // First copied, then cut off: after an interruption, both are simply done again.
        let aside = format!("{}.torn-{start}", self.name);
        self.files.write_transcript(&aside, &torn)?;
        self.files.cut_transcript(&self.plain(), start)?;
        Ok(Some(self.files.transcript_at(&aside)))
    }

    /// Appends complete lines and syncs them to disk. Returns the length of the file.
    pub(crate) fn append(&self, bytes: &[u8], _lock: &Lock) -> Result<u64> {
        self.files.append_transcript(&self.plain(), bytes)
    }

    /// Reads the whole file.
    pub(crate) fn read(&self) -> Result<Vec<u8>> {
        self.files.read_transcript(&self.plain())
    }

    /// Replaces `old` by `new`. The old content is archived first, under the number of the compaction.
    /// Returns its path.
    pub(crate) fn rewrite(&self, old: &[u8], new: &[u8], compaction: i64, _lock: &Lock) -> Result<PathBuf> {
        // An encoded session name never contains `~`.
        let aside = format!("{ARCHIVE_FOLDER}/{}~{compaction}.jsonl", self.name);
        self.files.write_transcript(&aside, old)?;
        self.files.write_transcript(&self.plain(), new)?;
        Ok(self.files.transcript_at(&aside))
    }

    /// Writes and verifies the packed file. The plain file stays.
    pub(crate) fn pack(&self, _lock: &Lock) -> Result<()> {
        let (bytes, packed) = (self.read()?, self.packed());
        let io = |problem: std::io::Error| Error::io(&self.files.transcript_at(&packed))(problem);
        let mut small = Vec::new();
        for part in bytes.chunks(gzip::MEMBER_BYTES) {
            gzip::pack(part, &mut small as &mut dyn Write).map_err(io)?;
        }
        self.files.write_transcript(&packed, &small)?;
        // Read back before the caller deletes the plain file.
        let written = gzip::unpack(&self.files.read_transcript(&packed)?).map_err(io)?;
        match written == bytes {
            true => Ok(()),
            false => Err(io(std::io::Error::other("the packed file does not match the original"))),
        }
    }

    /// Writes the plain file from the packed one, which stays.
    pub(crate) fn unpack(&self, _lock: &Lock) -> Result<()> {
        let packed = self.packed();
        let bytes = gzip::unpack(&self.files.read_transcript(&packed)?);
        let bytes = bytes.map_err(Error::io(&self.files.transcript_at(&packed)))?;
        self.files.write_transcript(&self.plain(), &bytes)
    }
}

/// Returns the sessions that have a file, by file name. The sessions in the database can be rebuilt from
/// them.
pub(crate) fn all(files: &Files) -> Vec<SessionId> {
    let named = |name: String| {
        let name = match name.split_once('/') {
            None => name.strip_suffix(".jsonl")?,
            Some((_, packed)) => packed.strip_suffix(".jsonl.gz")?,
        };
        decoded(name)?.parse().ok()
    };
    let mut ids: Vec<SessionId> = files.transcripts().filter_map(named).collect();
    ids.sort();
    ids.dedup();
    ids
}

/// Returns the names of all transcript files, including archived ones.
pub(crate) fn listed(files: &Files) -> Vec<String> {
    let ours = |name: &String| {
        let name = name.rsplit('/').next().unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-.%~".contains(c);
        let ours = name.ends_with(".jsonl") || name.ends_with(".jsonl.gz");
        ours && !name.starts_with('.') && name.chars().all(plain)
    };
    let mut names: Vec<String> = files.transcripts().filter(ours).collect();
    names.sort();
    names
}

/// Copies the transcripts that match `matches` and whose names are free. Returns how many.
pub(crate) fn copy_missing(view: &View<'_>, from: &Files, matches: impl Fn(&str) -> bool) -> Result<usize> {
    let mut names = listed(from);
    names.retain(|name| matches(name));
    if names.is_empty() {
        return Ok(0);
    }
    let _lock = lock(view)?;
    let mut put = 0;
    for name in names {
        put += usize::from(view.files().copy_transcript(&name, from)?);
    }
    Ok(put)
}

/// Returns the file name of a session without its extension.
pub(super) fn encoded(session: &SessionId) -> Result<String> {
    let mut name = utf8_percent_encode(session.as_str(), ENCODED_CHARS).to_string();
    if name.starts_with('.') {
        name.replace_range(..1, "%2E");
    }
    if name.len() > MAX_NAME_BYTES {
        let (given, length) = (shorten(session.as_str()), name.len());
        return Err(Error::LongSession { given, length, limit: MAX_NAME_BYTES });
    }
    Ok(name)
}

/// Returns the session of a file name without its extension.
pub(super) fn decoded(name: &str) -> Option<String> {
    // A file with `~` holds the original of a compacted transcript.
    if name.contains('~') { None } else { percent_decode(name) }
}

/// Reads complete lines forwards. A line without a line break is not returned yet.
pub(crate) struct Forwards<R> {
    input: BufReader<R>,
    /// The position of the next line.
    pub(crate) at: u64,
}

impl<R: Read + Seek> Forwards<R> {
    pub(crate) fn from(mut input: R, at: u64) -> std::io::Result<Forwards<R>> {
        input.seek(SeekFrom::Start(at))?;
        Ok(Forwards { input: BufReader::with_capacity(1 << 18, input), at })
    }

    /// Returns the next line without its line break, and its position. A line that is too long is returned
    /// empty.
    pub(crate) fn next(&mut self) -> std::io::Result<Option<(u64, Vec<u8>)>> {
        let mut line = Vec::new();
        let (start, mut length) = (self.at, 0u64);
        loop {
            let block = self.input.fill_buf()?;
            if block.is_empty() {
                return Ok(None);
            }
            let end = block.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(block.len());
            if line.len() + taken <= MAX_LINE_BYTES {
                line.extend_from_slice(&block[..taken]);
            }
            let used = taken + usize::from(end.is_some());
            self.input.consume(used);
            length += used as u64;
            if end.is_some() {
                self.at += length;
                let whole = line.len() as u64 + 1 == length;
                return Ok(Some((start, if whole { line } else { Vec::new() })));
            }
        }
    }
}

/// Reads lines backwards from the end of the input, as far as the caller asks.
pub(crate) struct Backwards<R> {
    input: R,
    /// The position of `rest` in the input.
    at: u64,
    /// The bytes that were read and not returned yet.
    rest: Vec<u8>,
    block: usize,
    /// Whether the next line is the last of the input, which may lack a line break.
    last: bool,
}

impl<R: Read + Seek> Backwards<R> {
    pub(crate) fn new(mut input: R) -> std::io::Result<Backwards<R>> {
        let at = input.seek(SeekFrom::End(0))?;
        Ok(Backwards { input, at, rest: Vec::new(), block: 1 << 16, last: true })
    }

    /// Returns the previous line without its line break, and its position.
    pub(crate) fn next(&mut self) -> std::io::Result<Option<(u64, Vec<u8>)>> {
        // The number of bytes at the end of `rest` that contain no line break.
        let mut looked = 0;
        loop {
            if self.last && !self.rest.is_empty() {
                self.last = false;
                if self.rest.last() == Some(&b'\n') {
                    self.rest.pop();
                }
            }
            let unknown = self.rest.len() - looked;
            if let Some(end) = self.rest[..unknown].iter().rposition(|byte| *byte == b'\n') {
                let line = self.rest.split_off(end + 1);
                self.rest.pop();
                return Ok(Some((self.at + end as u64 + 1, line)));
            }
            if self.at == 0 {
                let line = std::mem::take(&mut self.rest);
                let given = !(line.is_empty() && self.last);
                self.last = true;
                return Ok(given.then_some((0, line)).filter(|(_, line)| !line.is_empty()));
            }
            looked = self.rest.len();
            let size = self.block.min(usize::try_from(self.at).unwrap_or(self.block));
            self.block = (self.block * 2).min(1 << 22);
            self.at -= size as u64;
            let mut before = vec![0; size];
            self.input.seek(SeekFrom::Start(self.at))?;
            self.input.read_exact(&mut before)?;
            before.append(&mut self.rest);
            self.rest = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::path::Path;

    use super::*;

    #[test]
    fn lines_are_the_same_from_either_end() {
        let long = "x".repeat(300_000);
        for text in ["", "\n", "a", "a\n", "a\nb", "a\n\nb\n", "\na\n", &format!("a\n{long}\nb\n{long}")] {
            let whole =
                if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
            let mut forwards = Forwards::from(Cursor::new(&whole), 0).unwrap();
            let mut one = Vec::new();
            while let Some(line) = forwards.next().unwrap() {
                one.push(line);
            }
            let mut backwards = Backwards::new(Cursor::new(text)).unwrap();
            let mut other = Vec::new();
            while let Some(line) = backwards.next().unwrap() {
                other.insert(0, line);
            }
            // Empty lines are ignored.
            one.retain(|(_, line)| !line.is_empty());
            other.retain(|(_, line)| !line.is_empty());
            assert_eq!(one, other, "{} bytes", text.len());
        }
        let mut torn = Forwards::from(Cursor::new("a\nb"), 0).unwrap();
        assert_eq!(torn.next().unwrap(), Some((0, b"a".to_vec())));
        assert_eq!((torn.next().unwrap(), torn.at), (None, 2));
    }

    #[test]
    fn any_id_has_a_file_of_its_own() {
        let files = Files::in_folder(Path::new("g"));
        for (id, name) in [
            ("abc-1", "abc-1.jsonl"),
            ("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd.jsonl"),
            (".hidden", "%2Ehidden.jsonl"),
            ("a~1", "a%7E1.jsonl"),
            ("ünder", "%C3%BCnder.jsonl"),
        ] {
            assert_eq!(Transcript::of(&files, &id.parse().unwrap()).unwrap().plain(), name);
            assert_eq!(decoded(name.strip_suffix(".jsonl").unwrap()).as_deref(), Some(id));
        }
        let long = "ü".repeat(128).parse().unwrap();
        assert_eq!(Transcript::of(&files, &long).unwrap_err().code(), "long_session");
    }
}
