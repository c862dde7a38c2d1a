//! Finds and reads documents. It never leaves the folder: links are not followed, and a file that was
//! replaced by a link after it was found is not read.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::path::{CHECKPOINTS, SESSIONS, is_in_memories};

/// The maximum size of a document, in bytes.
pub(crate) const MAX_DOCUMENT_BYTES: u64 = 20 << 20;
/// Folders of the workspace whose files are not documents: transcripts, which are searched as sessions, and
/// checkpoints.
const NON_DOCUMENT_FOLDERS: &[&str] = &[SESSIONS, CHECKPOINTS];
/// The file name extensions of documents in the workspace, and in a collection.
const WORKSPACE_EXTENSIONS: &[&str] = &[".md"];
const COLLECTION_EXTENSIONS: &[&str] = &[".md", ".markdown", ".txt", ".text"];

/// A remark about a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "a path and a sentence")]
pub struct Note {
    pub path: String,
    pub why: String,
}

/// A document found by a walk.
#[derive(Clone, Debug)]
pub(crate) struct WalkedFile {
    /// Its name in the index: relative to the group's folder, with `/`; in a collection, the absolute path.
    pub(crate) path: String,
    /// Its path on this machine.
    pub(crate) file: PathBuf,
    pub(crate) stat: Stat,
}

/// The result of a walk, by path.
#[derive(Debug, Default)]
pub(crate) struct WalkResult {
    pub(crate) seen: Vec<WalkedFile>,
    /// Files that can't be read as documents although their names suggest it.
    pub(crate) skipped: Vec<Note>,
    /// The number of files with other extensions. Not counted for the workspace, where any file may be kept.
    pub(crate) others: BTreeMap<String, usize>,
    /// Missing sources. Their indexed content is kept.
    pub(crate) absent: Vec<Note>,
    /// Folders among the sources that contain no document.
    pub(crate) empty: Vec<String>,
}

/// Tells whether a file of the workspace is a document: other files, such as `tasks.json`, are not searched.
pub(super) fn is_workspace_document(path: &str) -> bool {
    let lower = path.to_lowercase();
    is_in_memories(path) || WORKSPACE_EXTENSIONS.iter().any(|ending| lower.ends_with(ending))
}

/// Finds the documents in the folder of a group.
pub(super) fn documents(folder: &Path) -> WalkResult {
    let mut found = WalkResult::default();
    walk(folder, None, WORKSPACE_EXTENSIONS, NON_DOCUMENT_FOLDERS, &mut found);
    found.others.clear();
    found.sort();
    found
}

/// Finds the documents of a collection's sources: in a folder, files with a text extension; a source that is
/// a file is taken whatever its name.
pub(crate) fn sources(sources: &[String]) -> WalkResult {
    let mut found = WalkResult::default();
    for source in sources {
        let path = Path::new(source);
        let absent = match fs::symlink_metadata(path) {
            Ok(stat) if stat.is_file() => {
                found.seen.push(WalkedFile {
                    path: source.clone(),
                    file: path.into(),
                    stat: Stat::of(&stat),
                });
                continue;
            }
            Ok(stat) if stat.is_dir() => {
                fs::read_dir(path).err().map(|problem| format!("can't be listed: {problem}"))
            }
            Ok(stat) if stat.is_symlink() => Some("is now a link, and links are not followed".into()),
            Ok(_) => Some("is neither a folder nor a file".into()),
            Err(problem) => Some(format!("is missing: {problem}")),
        };
        match absent {
            Some(why) => found.absent.push(Note { path: source.clone(), why }),
            None => {
                let before = found.seen.len();
                walk(path, Some(source.trim_end_matches('/')), COLLECTION_EXTENSIONS, &[], &mut found);
                if found.seen.len() == before {
                    found.empty.push(source.clone());
                }
            }
        }
    }
    found.sort();
    found
}

impl WalkResult {
    /// Returns the paths of the documents found.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.seen.iter().map(|seen| seen.path.as_str())
    }

    /// Returns a missing source, if there is one.
    pub(crate) fn absent(&self) -> Option<&Note> {
        self.absent.first()
    }

    /// Sorts by path and removes duplicates, because one source may contain another.
    fn sort(&mut self) {
        self.seen.sort_by(|a, b| a.path.cmp(&b.path));
        self.seen.dedup_by(|a, b| a.path == b.path);
        self.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        self.skipped.dedup();
    }
}

/// Tells whether a path is a source or is below it.
pub(crate) fn is_within(path: &str, source: &str) -> bool {
    let source = source.trim_end_matches('/');
    path.strip_prefix(source).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Size and time of a file, which show a change without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) size: i64,
    /// Milliseconds since 1970.
    pub(crate) mtime: i64,
}

impl Stat {
    pub(crate) fn of(found: &Metadata) -> Stat {
        let mtime = found.modified().map_or(0, |at| match at.duration_since(std::time::UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |millis| -millis),
        });
        Stat { size: i64::try_from(found.len()).unwrap_or(i64::MAX), mtime }
    }
}

/// The reason why a file with a second name is not read.
pub(crate) const SECOND_NAME: &str = "has a second hard link, perhaps from outside; a copy of it is read";

/// Tells whether a file has a second name, a hard link: it may be a file of somewhere else. Nacre gives a new file its
/// name by a link too, and removes the first name right after (`files::unix`).
#[cfg(unix)]
pub(crate) fn has_second_name(file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let links = || fs::symlink_metadata(file).map_or(0, |found| found.nlink());
    if links() <= 1 {
        return false;
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let first = fs::symlink_metadata(file.with_file_name(format!(".{name}.nacre-swap")));
    let is_ours = first.is_ok_and(|first| fs::symlink_metadata(file).is_ok_and(|own| is_same(&first, &own)));
    links() > if is_ours { 2 } else { 1 }
}

#[cfg(not(unix))]
pub(crate) fn has_second_name(_: &Path) -> bool {
    false
}

/// Finds the documents below a folder. `root` is the prefix of their paths; the paths in `apart` are skipped.
fn walk(folder: &Path, root: Option<&str>, endings: &[&str], apart: &[&str], found: &mut WalkResult) {
    let mut folders = vec![String::new()];
    while let Some(below) = folders.pop() {
        let named = |path: &str| root.map_or(path.to_owned(), |root| format!("{root}/{path}"));
        let skipped = &mut found.skipped;
        let mut skip = |path: String, why: String| skipped.push(Note { path, why });
        let entries = match fs::read_dir(folder.join(&below)) {
            Ok(entries) => entries,
            // A group that nobody has written to has no folder, and a folder that was just deleted needs no
            // note.
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => continue,
            Err(problem) => {
                let shown = if below.is_empty() { ".".into() } else { named(&below) };
                skip(shown, format!("can't be listed: {problem}"));
                continue;
            }
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(problem) => {
                    skip(named(&below), format!("can't be listed completely: {problem}"));
                    break;
                }
            };
            let name = entry.file_name();
            let shown = name.to_string_lossy();
            let path = if below.is_empty() { shown.to_string() } else { format!("{below}/{shown}") };
            if shown.starts_with('.') || apart.iter().any(|apart| path.eq_ignore_ascii_case(apart)) {
                continue;
            }
            let lower = shown.to_ascii_lowercase();
            // Files in the folder of Anthropic's memory tool are text, whatever their names.
            let of_agent = root.is_none() && is_in_memories(&path);
            let is_text = of_agent || endings.iter().any(|ending| lower.ends_with(ending));
            let known = entry.file_type().and_then(|kind| {
                // Only possible documents need a `stat`.
                Ok((kind, if is_text && kind.is_file() { Some(entry.metadata()?) } else { None }))
            });
            let (kind, stat) = match known {
                Ok(known) => known,
                Err(problem) if problem.kind() == io::ErrorKind::NotFound => continue,
                Err(problem) => {
                    skip(named(&path), format!("can't be examined: {problem}"));
                    continue;
                }
            };
            if name.to_str().is_none() && (stat.is_some() || kind.is_dir()) {
                skip(named(&path), "has a name that is not UTF-8".into());
            } else if kind.is_dir() {
                folders.push(path);
            } else if stat.is_some() && root.is_none() && has_second_name(&entry.path()) {
                skip(named(&path), SECOND_NAME.into());
            } else if let Some(stat) = stat {
                let (file, stat) = (entry.path(), Stat::of(&stat));
                found.seen.push(WalkedFile { path: named(&path), file, stat });
            } else if is_text {
                let what =
                    if kind.is_symlink() { "a link, and links are not followed" } else { "not a file" };
                skip(named(&path), format!("is {what}"));
            } else {
                let ending = lower.rsplit_once('.').map_or("no ending", |(_, ending)| ending);
                *found.others.entry(ending.to_owned()).or_default() += 1;
            }
        }
    }
}

/// The result of reading a document.
pub(crate) enum ReadResult {
    /// Its bytes. `settled` is false if the file was written to while it was read.
    Bytes { bytes: Vec<u8>, stat: Stat, settled: bool },
    /// The reason why it was not read.
    Skipped { why: String, retry: bool },
    /// It no longer exists.
    Gone,
}

/// Reads a whole document.
pub(crate) fn read(file: &Path, stat: Stat) -> ReadResult {
    if u64::try_from(stat.size).unwrap_or(0) > MAX_DOCUMENT_BYTES {
        return ReadResult::Skipped { why: too_large(), retry: false };
    }
    match read_bytes(file) {
        Ok(Some((bytes, _, _))) if bytes.len() as u64 > MAX_DOCUMENT_BYTES => {
            ReadResult::Skipped { why: too_large(), retry: true }
        }
        Ok(Some((bytes, stat, settled))) => ReadResult::Bytes { bytes, stat, settled },
        Ok(None) => ReadResult::Gone,
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => ReadResult::Gone,
        Err(problem) => ReadResult::Skipped { why: format!("can't be read: {problem}"), retry: true },
    }
}

pub(crate) fn too_large() -> String {
    format!("is larger than {} MiB", MAX_DOCUMENT_BYTES >> 20)
}

/// Reads a file. Returns `None` if it is not, or no longer, a regular file.
fn read_bytes(path: &Path) -> io::Result<Option<(Vec<u8>, Stat, bool)>> {
    let named = fs::symlink_metadata(path)?;
    if !named.is_file() {
        return Ok(None);
    }
    let mut file = File::open(path)?;
    let before = file.metadata()?;
    if !is_same(&named, &before) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.by_ref().take(MAX_DOCUMENT_BYTES + 1).read_to_end(&mut bytes)?;
    let (before, after) = (Stat::of(&before), Stat::of(&file.metadata()?));
    let settled = before == after && i64::try_from(bytes.len()) == Ok(after.size);
    Ok(Some((bytes, after, settled)))
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, other: &Metadata) -> bool {
    other.is_file()
}
