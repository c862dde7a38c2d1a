//! A transcript of our own (S1): `sessions/<id>.jsonl` in the group's folder, one JSON object a line.
//!
//! The file is the truth and is only ever appended to, but by a rewriting compaction; what the database has of it
//! is taken in from here. All of it may have been written by something else: a line that is none of ours is
//! passed over, and one that was torn when its writer died is put aside before the next is written. One process
//! writes at a time, by a lock that goes with it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::gzip;
use crate::base::ids::SessionId;
use crate::base::redact::redact;
use crate::base::text::{percent_decode, shorten, tokens};
use crate::base::{Error, Result, Time, files};

/// The folder of transcripts in the group's folder, and that of what is put away in it.
const FOLDER: &str = "sessions";
const ARCHIVE: &str = "archive";
/// The longest name of a file, without its ending.
const MAX_NAME: usize = 200;
/// The longest line that is read; a longer one is none of ours.
const MAX_LINE: usize = 16 << 20;
/// How often and after what pause a process asks whether another is done: half a minute in all.
const TRIES: u32 = 6_000;
const PAUSE: Duration = Duration::from_millis(5);

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

/// The files of one session's transcript.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    folder: PathBuf,
    name: String,
}

/// The folder of a group's transcripts.
pub(crate) fn folder(group: &Path) -> PathBuf {
    group.join(FOLDER)
}

/// Every ASCII character that a file name does not have as it is.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'-').remove(b'.');

impl Files {
    /// Returns the files of a session. Characters that a file name may not have are written as `%` and two digits.
    pub(crate) fn of(group: &Path, session: &SessionId) -> Result<Files> {
        let mut name = utf8_percent_encode(session.as_str(), ENCODED).to_string();
        if name.starts_with('.') {
            name.replace_range(..1, "%2E");
        }
        if name.len() > MAX_NAME {
            let (given, length) = (shorten(session.as_str()), name.len());
            return Err(Error::LongSession { given, length, limit: MAX_NAME });
        }
        Ok(Files { folder: folder(group), name })
    }

    pub(crate) fn plain(&self) -> PathBuf {
        self.folder.join(format!("{}.jsonl", self.name))
    }

    pub(crate) fn packed(&self) -> PathBuf {
        self.folder.join(ARCHIVE).join(format!("{}.jsonl.gz", self.name))
    }

    /// What stood in the file before the compaction of this number. No name of a session has a `~`.
    pub(crate) fn before(&self, compaction: i64) -> PathBuf {
        self.folder.join(ARCHIVE).join(format!("{}~{compaction}.jsonl", self.name))
    }

    fn torn(&self, offset: u64) -> PathBuf {
        self.folder.join(format!("{}.torn-{offset}", self.name))
    }

    /// The name of the file, as the index of sessions has it.
    pub(crate) fn shown(&self, archived: bool) -> String {
        if archived { format!("{ARCHIVE}/{}.jsonl.gz", self.name) } else { format!("{}.jsonl", self.name) }
    }

    pub(crate) fn exists(&self) -> bool {
        self.plain().exists() || self.packed().exists()
    }

    /// Opens what there is to be read: the file, or what it was packed into.
    pub(crate) fn open(&self) -> Result<Option<Box<dyn ReadSeek>>> {
        let path = self.plain();
        match open_file(&path) {
            Ok(file) => return Ok(Some(Box::new(file))),
            Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(Error::io(&path)(source)),
        }
        let path = self.packed();
        let packed = open_file(&path).and_then(|mut file| {
            let mut packed = Vec::new();
            file.read_to_end(&mut packed)?;
            Ok(packed)
        });
        match packed {
            Ok(packed) => {
                let plain = gzip::unpack(&packed).map_err(Error::io(&path))?;
                Ok(Some(Box::new(std::io::Cursor::new(plain))))
            }
            Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::io(&path)(source)),
        }
    }
}

/// Opens a file and nothing else: behind a link is not ours, and who opens a pipe waits for ever.
fn open_file(path: &Path) -> std::io::Result<File> {
    match fs::symlink_metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(std::io::Error::other("is not a file")),
    }
}

/// What can be read from any place.
pub(crate) trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

/// The sessions that have a file, by the names of their files: what the index of sessions is made from when
/// nothing else is left.
pub(crate) fn all(group: &Path) -> Vec<SessionId> {
    let named = |folder: PathBuf, ending: &'static str| {
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        files.filter_map(move |file| {
            file.file_type().ok().filter(fs::FileType::is_file)?;
            let name = file.file_name().into_string().ok()?;
            decoded(name.strip_suffix(ending)?)?.parse().ok()
        })
    };
    let plain = named(folder(group), ".jsonl");
    let packed = named(folder(group).join(ARCHIVE), ".jsonl.gz");
    let mut ids: Vec<SessionId> = plain.chain(packed).collect();
    ids.sort();
    ids.dedup();
    ids
}

/// The files of transcripts in a folder, those that were put away included, by their names within it.
pub(crate) fn listed(folder: &Path) -> Vec<(String, PathBuf)> {
    let within = |below: &str| {
        let files = fs::read_dir(folder.join(below)).into_iter().flatten().flatten();
        let files = files.filter(|file| file.file_type().is_ok_and(|kind| kind.is_file()));
        let prefix = if below.is_empty() { String::new() } else { format!("{below}/") };
        files
            .filter_map(move |file| {
                let name = file.file_name().into_string().ok()?;
                let ours = name.ends_with(".jsonl") || name.ends_with(".jsonl.gz");
                let plain = |c: char| c.is_ascii_alphanumeric() || "_-.%~".contains(c);
                let ours = ours && !name.starts_with('.') && name.chars().all(plain);
                ours.then(|| (format!("{prefix}{name}"), file.path()))
            })
            .collect::<Vec<_>>()
    };
    let mut files = within("");
    files.extend(within(ARCHIVE));
    files.sort();
    files
}

/// Puts those transcripts of another folder that are meant where there are none of that name. Returns how many.
pub(crate) fn put_back(group: &Path, from: &Path, meant: impl Fn(&str) -> bool) -> Result<usize> {
    let mut files = listed(from);
    files.retain(|(name, _)| meant(name));
    if files.is_empty() {
        return Ok(0);
    }
    let (target, mut put) = (folder(group), 0);
    let _lock = lock(group)?;
    for (name, from) in files {
        let path = target.join(&name);
        // A link there would lead out of the group.
        let above = [&target, &target.join(ARCHIVE)].into_iter().any(|folder| folder.is_symlink());
        if above || fs::symlink_metadata(&path).is_ok() {
            continue;
        }
        files::create_folder(path.parent().expect("it is in a folder"))?;
        files::write_whole(&path, &fs::read(&from).map_err(Error::io(&from))?)?;
        put += 1;
    }
    Ok(put)
}

/// Returns the session whose file has this name, without its ending.
fn decoded(name: &str) -> Option<String> {
    // A file with a `~` keeps what a compaction replaced.
    if name.contains('~') { None } else { percent_decode(name) }
}

/// The right to write transcripts of a group. The system takes it back when the process ends, however it ends.
pub(crate) struct Lock(#[expect(dead_code, reason = "held, not used")] File);

pub(crate) fn lock(group: &Path) -> Result<Lock> {
    let folder = folder(group);
    files::create_folder(&folder)?;
    let path = folder.join("lock");
    let file = files::append_private(&path).map_err(Error::io(&path))?;
    for tried in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(Lock(file)),
            // Most hold it for a moment only.
            Err(TryLockError::WouldBlock) if tried < 20 => std::thread::sleep(PAUSE / 20),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(source)) => return Err(Error::io(&path)(source)),
        }
    }
    Err(Error::TranscriptBusy { path })
}

/// Sees to it that the file ends with a whole line. Returns where a torn one was put, if one was. One that is
/// whole but for its end stays.
pub(crate) fn mend(files: &Files, _lock: &Lock) -> Result<Option<PathBuf>> {
    let path = files.plain();
    let io = || Error::io(&path);
    let opened = open_file(&path).and_then(|_| OpenOptions::new().read(true).write(true).open(&path));
    let mut file = match opened {
        Ok(file) => file,
        Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(io()(source)),
    };
    let length = file.metadata().map_err(io())?.len();
    let mut last = [0];
    if length > 0 {
        file.seek(SeekFrom::Start(length - 1)).and_then(|_| file.read_exact(&mut last)).map_err(io())?;
    }
    if length == 0 || last == *b"\n" {
        return Ok(None);
    }
    let (start, torn) = Backwards::new(&mut file).map_err(io())?.next().map_err(io())?.unwrap_or_default();
    if Line::read(&torn).is_some() {
        file.seek(SeekFrom::End(0)).and_then(|_| file.write_all(b"\n")).map_err(io())?;
        file.sync_data().map_err(io())?;
        return Ok(None);
    }
    // First put aside, then cut: to be stopped in between only does it again.
    let aside = files.torn(start);
    files::write_whole(&aside, &torn)?;
    file.set_len(start).and_then(|()| file.sync_data()).map_err(io())?;
    Ok(Some(aside))
}

/// Appends whole lines and waits until they would outlast a loss of power. Returns the length of the file.
pub(crate) fn append(files: &Files, bytes: &[u8], _lock: &Lock) -> Result<u64> {
    let path = files.plain();
    let io = || Error::io(&path);
    let mut file = files::append_private(&path).map_err(io())?;
    let before = file.metadata().map_err(io())?.len();
    if let Err(problem) = file.write_all(bytes).and_then(|()| file.sync_data()) {
        // What is half there was not acknowledged; where it can't be taken back, the next one mends it.
        let _ = file.set_len(before);
        return Err(io()(problem));
    }
    if before == 0 {
        sync_folder(&path);
    }
    Ok(before + bytes.len() as u64)
}

/// Has the names in a file's folder outlast a loss of power, where the system can do that.
pub(crate) fn sync_folder(path: &Path) {
    if let Some(folder) = path.parent().and_then(|folder| File::open(folder).ok()) {
        let _ = folder.sync_all();
    }
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
        for (id, name) in [
            ("abc-1", "abc-1.jsonl"),
            ("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd.jsonl"),
            (".hidden", "%2Ehidden.jsonl"),
            ("a~1", "a%7E1.jsonl"),
            ("ünder", "%C3%BCnder.jsonl"),
        ] {
            let files = Files::of(Path::new("g"), &id.parse().unwrap()).unwrap();
            assert_eq!(files.plain(), Path::new("g/sessions").join(name));
            assert_eq!(decoded(name.strip_suffix(".jsonl").unwrap()).as_deref(), Some(id));
        }
        let long = "ü".repeat(128).parse().unwrap();
        assert_eq!(Files::of(Path::new("g"), &long).unwrap_err().code(), "long_session");
    }
}
