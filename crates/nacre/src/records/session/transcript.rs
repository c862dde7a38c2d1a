//! A transcript of our own (S1): `sessions/<id>.jsonl` in the group's folder, one JSON object a line.
//!
//! The file is the truth and is only ever appended to, but by a rewriting compaction; what the database has of it
//! is taken in from here. All of it may have been written by something else: a line that is none of ours is
//! passed over, and one that was torn when its writer died is put aside before the next is written. One process
//! writes at a time, by a lock that goes with it.

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

/// The longest name of a file, without its ending.
const MAX_NAME: usize = 200;
/// The longest line that is read; a longer one is none of ours.
const MAX_LINE: usize = 16 << 20;

/// The word with which an agent says that it has nothing to say (S4).
pub(crate) const NO_REPLY: &str = "NO_REPLY";

/// Who or what a line of a transcript is from; a summary is what compaction made of earlier lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the words of SPEC S1")]
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
            .ok_or_else(|| format!("`{}` is none of {}", shorten(text), known()))
    }
}

/// One line of a transcript. A result has the id of its call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the words of SPEC S1")]
pub struct Line {
    pub id: String,
    pub role: Role,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The tool that is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The first and the last line that a summary stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covers: Option<[String; 2]>,
    /// What made a summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    pub timestamp: Time,
}

redact! { Line { id, content, name, input, covers, by / role, timestamp } }

impl Line {
    /// Reads a line of a file; `None`: it is none of ours.
    pub(crate) fn read(bytes: &[u8]) -> Option<Line> {
        serde_json::from_slice(bytes).ok()
    }

    pub(crate) fn text(&self) -> &str {
        self.content.as_deref().unwrap_or_default()
    }

    /// About how many tokens it is to a model.
    pub(crate) fn tokens(&self) -> usize {
        let input = self.input.as_ref().map_or(0, |input| tokens(&input.to_string()));
        tokens(self.text()) + input + self.name.as_deref().map_or(0, tokens)
    }

    /// Tells whether the agent only said that it has nothing to say.
    pub(crate) fn is_silence(&self) -> bool {
        self.role == Role::Assistant && self.text().trim() == NO_REPLY
    }

    /// What is unique within a session: a call and its result share an id.
    pub(crate) fn key(&self) -> String {
        match self.role {
            Role::ToolResult => format!("{}\u{0}result", self.id),
            _ => self.id.clone(),
        }
    }

    /// A hash of all but its time, by which a line that comes again is known.
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

/// Every ASCII character that a file name does not have as it is.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'-').remove(b'.');

/// The transcript of one session.
#[derive(Clone, Debug)]
pub(crate) struct Transcript {
    files: Files,
    name: String,
}

impl Transcript {
    /// Returns the transcript of a session. Characters that a file name may not have are written as `%` and two digits.
    pub(crate) fn of(files: &Files, session: &SessionId) -> Result<Transcript> {
        let mut name = utf8_percent_encode(session.as_str(), ENCODED).to_string();
        if name.starts_with('.') {
            name.replace_range(..1, "%2E");
        }
        if name.len() > MAX_NAME {
            let (given, length) = (shorten(session.as_str()), name.len());
            return Err(Error::LongSession { given, length, limit: MAX_NAME });
        }
        Ok(Transcript { files: files.clone(), name })
    }

    /// The name of its file, which is the one that is written to.
    pub(crate) fn plain(&self) -> String {
        format!("{}.jsonl", self.name)
    }

    /// The name of what it was packed into.
    pub(crate) fn packed(&self) -> String {
        format!("{ARCHIVE_FOLDER}/{}.jsonl.gz", self.name)
    }

    /// Where its file is, for errors.
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

    /// Opens what there is to be read: the file, or what it was packed into.
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

    /// Sees to it that the file ends with a whole line. Returns where a torn one was put, if one was. One that is
    /// whole but for its end stays.
    pub(crate) fn mend(&self, lock: &Lock) -> Result<Option<PathBuf>> {
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
        // First put aside, then cut: to be stopped in between only does it again.
        let aside = format!("{}.torn-{start}", self.name);
        self.files.write_transcript(&aside, &torn)?;
        self.files.cut_transcript(&self.plain(), start)?;
        Ok(Some(self.files.transcript_at(&aside)))
    }

    /// Appends whole lines and waits until they would outlast a loss of power. Returns the length of the file.
    pub(crate) fn append(&self, bytes: &[u8], _lock: &Lock) -> Result<u64> {
        self.files.append_transcript(&self.plain(), bytes)
    }

    /// Reads the file whole.
    pub(crate) fn read(&self) -> Result<Vec<u8>> {
        self.files.read_transcript(&self.plain())
    }

    /// Puts `new` in the place of `old`, which goes to the archive first, under the number of the compaction. Returns
    /// where it is.
    pub(crate) fn rewrite(&self, old: &[u8], new: &[u8], compaction: i64, _lock: &Lock) -> Result<PathBuf> {
        // No name of a session has a `~`.
        let aside = format!("{ARCHIVE_FOLDER}/{}~{compaction}.jsonl", self.name);
        self.files.write_transcript(&aside, old)?;
        self.files.write_transcript(&self.plain(), new)?;
        Ok(self.files.transcript_at(&aside))
    }

    /// Writes the packed file, and reads it back. Both are there then.
    pub(crate) fn pack(&self, _lock: &Lock) -> Result<()> {
        let (bytes, packed) = (self.read()?, self.packed());
        let io = |problem: std::io::Error| Error::io(&self.files.transcript_at(&packed))(problem);
        let mut small = Vec::new();
        for part in bytes.chunks(gzip::MEMBER) {
            gzip::pack(part, &mut small as &mut dyn Write).map_err(io)?;
        }
        self.files.write_transcript(&packed, &small)?;
        // Read back from where it is before the other goes.
        let written = gzip::unpack(&self.files.read_transcript(&packed)?).map_err(io)?;
        match written == bytes {
            true => Ok(()),
            false => Err(io(std::io::Error::other("what was packed does not read back"))),
        }
    }

    /// Writes the file from the packed one. Both are there then.
    pub(crate) fn unpack(&self, _lock: &Lock) -> Result<()> {
        let packed = self.packed();
        let bytes = gzip::unpack(&self.files.read_transcript(&packed)?);
        let bytes = bytes.map_err(Error::io(&self.files.transcript_at(&packed)))?;
        self.files.write_transcript(&self.plain(), &bytes)
    }
}

/// The sessions that have a file, by the names of their files: what the index of sessions is made from when
/// nothing else is left.
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

/// The names of all transcripts, those that were put away included.
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

/// Puts those transcripts of others that are meant where there are none of that name. Returns how many.
pub(crate) fn put_back(view: &View<'_>, from: &Files, meant: impl Fn(&str) -> bool) -> Result<usize> {
    let mut names = listed(from);
    names.retain(|name| meant(name));
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

/// Returns the session whose file has this name, without its ending.
fn decoded(name: &str) -> Option<String> {
    // A file with a `~` keeps what a compaction replaced.
    if name.contains('~') { None } else { percent_decode(name) }
}

/// Reads whole lines from where the input stands. What has no end yet is not there yet.
pub(crate) struct Forwards<R> {
    input: BufReader<R>,
    /// Where the next line begins.
    pub(crate) at: u64,
}

impl<R: Read + Seek> Forwards<R> {
    pub(crate) fn from(mut input: R, at: u64) -> std::io::Result<Forwards<R>> {
        input.seek(SeekFrom::Start(at))?;
        Ok(Forwards { input: BufReader::with_capacity(1 << 18, input), at })
    }

    /// Returns the next line without its end, and where it begins. One that is too long is empty.
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
            if line.len() + taken <= MAX_LINE {
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

/// Reads lines from the end of the input to its beginning, as much of it as is asked for.
pub(crate) struct Backwards<R> {
    input: R,
    /// Where `rest` begins in the input.
    at: u64,
    /// What was read and not given yet.
    rest: Vec<u8>,
    block: usize,
    /// Whether what comes next is the end of the input, which may have no end of line.
    last: bool,
}

impl<R: Read + Seek> Backwards<R> {
    pub(crate) fn new(mut input: R) -> std::io::Result<Backwards<R>> {
        let at = input.seek(SeekFrom::End(0))?;
        Ok(Backwards { input, at, rest: Vec::new(), block: 1 << 16, last: true })
    }

    /// Returns the line before, without its end, and where it begins.
    pub(crate) fn next(&mut self) -> std::io::Result<Option<(u64, Vec<u8>)>> {
        // How many bytes at the end of `rest` are known to have no end of line.
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
            // An empty line at the beginning is nothing to anyone.
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
