//! Finding and reading documents. Never leaves the folder: links are not followed, and a file that became one
//! between looking and opening is not read.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use super::Note;

/// The most bytes of a document.
const LARGEST: u64 = 20 << 20;
/// A NUL among so many bytes: it is no text.
const PROBED: usize = 8 << 10;
/// The folder of transcripts, which are searched as sessions.
const SESSIONS: &str = "sessions";

/// A document as the folder has it.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// Within the folder, with `/`.
    pub(super) path: String,
    pub(super) stat: Stat,
}

/// What tells without reading whether a file has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) size: i64,
    /// Milliseconds since 1970.
    pub(super) mtime: i64,
}

impl Stat {
    fn of(found: &Metadata) -> Stat {
        let mtime = found.modified().map_or(0, |at| match at.duration_since(std::time::UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |millis| -millis),
        });
        Stat { size: i64::try_from(found.len()).unwrap_or(i64::MAX), mtime }
    }
}

/// Finds the documents of a folder, by path, and what there is that can't be one.
pub(super) fn walk(folder: &Path) -> (Vec<Seen>, Vec<Note>) {
    let (mut seen, mut skipped) = (Vec::new(), Vec::new());
    let mut folders = vec![String::new()];
    while let Some(below) = folders.pop() {
        let mut skip = |path: &str, why: String| skipped.push(Note { path: path.to_owned(), why });
        let entries = match fs::read_dir(folder.join(&below)) {
            Ok(entries) => entries,
            // A group that nobody has written to has no folder; one that has just gone needs no word.
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => continue,
            Err(problem) => {
                skip(if below.is_empty() { "." } else { &below }, format!("can't be listed: {problem}"));
                continue;
            }
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(problem) => {
                    skip(&below, format!("can't be listed to its end: {problem}"));
                    break;
                }
            };
            let name = entry.file_name();
            let shown = name.to_string_lossy();
            let path = if below.is_empty() { shown.to_string() } else { format!("{below}/{shown}") };
            if shown.starts_with('.') || path == SESSIONS {
                continue;
            }
            let is_markdown = shown.to_ascii_lowercase().ends_with(".md");
            let known = entry.file_type().and_then(|kind| {
                // Only what may be a document is worth a look at its size and time.
                Ok((kind, if is_markdown && kind.is_file() { Some(entry.metadata()?) } else { None }))
            });
            let (kind, found) = match known {
                Ok(known) => known,
                Err(problem) if problem.kind() == io::ErrorKind::NotFound => continue,
                Err(problem) => {
                    skip(&path, format!("can't be looked at: {problem}"));
                    continue;
                }
            };
            if name.to_str().is_none() && (found.is_some() || kind.is_dir()) {
                skip(&path, "has a name that is not UTF-8".into());
            } else if kind.is_dir() {
                folders.push(path);
            } else if let Some(found) = found {
                seen.push(Seen { path, stat: Stat::of(&found) });
            } else if is_markdown {
                let what = if kind.is_symlink() { "a link, which is not followed" } else { "not a file" };
                skip(&path, format!("is {what}"));
            }
        }
    }
    seen.sort_by(|a, b| a.path.cmp(&b.path));
    skipped.sort_by(|a, b| a.path.cmp(&b.path));
    (seen, skipped)
}

/// What became of reading a document.
pub(super) enum Taken {
    /// Its bytes, and whether they can be relied on: false where it was written to meanwhile.
    Bytes { bytes: Vec<u8>, stat: Stat, settled: bool },
    /// Why it was not read.
    Skipped { why: String, retry: bool },
    /// It is no longer there.
    Gone,
}

/// Reads one document whole.
pub(super) fn read(folder: &Path, seen: &Seen) -> Taken {
    if u64::try_from(seen.stat.size).unwrap_or(0) > LARGEST {
        return Taken::Skipped { why: too_large(), retry: false };
    }
    match read_bytes(&folder.join(&seen.path)) {
        Ok(Some((bytes, _, _))) if bytes.len() as u64 > LARGEST => {
            Taken::Skipped { why: too_large(), retry: true }
        }
        Ok(Some((bytes, stat, settled))) => Taken::Bytes { bytes, stat, settled },
        Ok(None) => Taken::Gone,
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => Taken::Gone,
        Err(problem) => Taken::Skipped { why: format!("can't be read: {problem}"), retry: true },
    }
}

fn too_large() -> String {
    format!("is larger than {} MiB", LARGEST >> 20)
}

/// Reads a file; `None`: it is not, or no longer, a plain one.
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
    file.by_ref().take(LARGEST + 1).read_to_end(&mut bytes)?;
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

/// Reads bytes as text, with what had to be repaired; an error says why they are none. Lines end in `\n`.
pub(super) fn decode(bytes: &[u8]) -> Result<(String, Option<String>), String> {
    let utf16 = |unit: fn([u8; 2]) -> u16| {
        let (pairs, rest) = bytes[2..].as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
        let mut text = String::from_utf16_lossy(&units);
        text.extend(rest.iter().map(|_| char::REPLACEMENT_CHARACTER));
        (text, Some("was UTF-16".to_owned()))
    };
    let (text, note) = match bytes {
        [0xff, 0xfe, after @ ..] if !after.starts_with(&[0, 0]) => utf16(u16::from_le_bytes),
        [0xfe, 0xff, ..] => utf16(u16::from_be_bytes),
        _ if bytes[..bytes.len().min(PROBED)].contains(&0) => return Err("is binary".into()),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => (text.to_owned(), None),
            Err(problem) => {
                let at = 1 + bytes[..problem.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
                let note = format!("is not UTF-8 from line {at} on; what can't be read is shown as \u{fffd}");
                (String::from_utf8_lossy(bytes).into_owned(), Some(note))
            }
        },
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Ok((text.replace("\r\n", "\n"), note))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_text() {
        let wide = |text: &str, order: fn(u16) -> [u8; 2]| {
            std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(order).collect::<Vec<u8>>()
        };
        for (bytes, text, repaired) in [
            (b"plain\r\ntext".to_vec(), "plain\ntext", false),
            ("\u{feff}Größe".as_bytes().to_vec(), "Größe", false),
            (b"caf\xe9 au lait".to_vec(), "caf\u{fffd} au lait", true),
            (wide("Größe 🐚", u16::to_le_bytes), "Größe 🐚", true),
            (wide("Größe", u16::to_be_bytes), "Größe", true),
            ([wide("odd", u16::to_le_bytes), vec![b'x']].concat(), "odd\u{fffd}", true),
            (Vec::new(), "", false),
        ] {
            let (found, note) = decode(&bytes).unwrap();
            assert_eq!((found.as_str(), note.is_some()), (text, repaired));
        }
        for binary in [&b"\x7fELF\0"[..], b"\xff\xfe\0\0a\0\0\0"] {
            assert_eq!(decode(binary).unwrap_err(), "is binary");
        }
    }
}
