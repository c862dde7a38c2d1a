//! The source of an import: a file or folder of another program. Links are not followed, and every read has a
//! limit.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::base::Time;
use crate::base::text::decode;

/// The maximum size of a text file, in bytes.
pub(super) const MAX_TEXT_BYTES: u64 = 4 << 20;
/// The maximum number of files in a folder, and their maximum depth.
const MAX_FILES: usize = 1_000_000;
const MAX_DEPTH: usize = 64;

/// A file or folder to import.
pub(super) struct Source {
    /// The absolute path, without links.
    pub(super) path: PathBuf,
    /// Its name here.
    pub(super) name: String,
    /// The folder for copies that reading needs.
    pub(super) scratch: PathBuf,
}

/// A text file of a source.
pub(super) struct Text {
    /// Its path within the source, with `/`.
    pub(super) path: String,
    pub(super) text: String,
    /// When it was last written.
    pub(super) at: Option<Time>,
}

/// The result of a walk through a folder.
#[derive(Default)]
pub(super) struct SourceFiles {
    /// Markdown files, by their path within the source.
    pub(super) files: Vec<String>,
    /// Skipped files, and why.
    pub(super) passed: Vec<(String, String)>,
}

impl Source {
    pub(super) fn open(path: &Path, name: Option<&str>) -> Result<Source, String> {
        let path = fs::canonicalize(path).map_err(|problem| format!("can't be read: {problem}"))?;
        let own = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = name.map_or(own, str::to_owned);
        Ok(Source { path, name, scratch: PathBuf::new() })
    }

    /// Returns the file with this path within the source; the source itself if it is a file.
    pub(super) fn at(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.path.clone() } else { self.path.join(path) }
    }

    /// Finds the Markdown files, in the order of their paths. Hidden folders are not entered.
    pub(super) fn markdown(&self) -> SourceFiles {
        let mut found = SourceFiles::default();
        if self.path.is_file() {
            found.files.push(String::new());
            return found;
        }
        let mut folders = vec![(String::new(), 0)];
        while let Some((below, depth)) = folders.pop() {
            let entries = match fs::read_dir(self.at(&below)) {
                Ok(entries) => entries,
                Err(problem) => {
                    found.passed.push((below, format!("can't be listed: {}", problem.kind())));
                    continue;
                }
            };
            for entry in entries.flatten() {
                let name = entry.file_name();
                let shown = name.to_string_lossy();
                let path = if below.is_empty() { shown.to_string() } else { format!("{below}/{shown}") };
                let Ok(kind) = entry.file_type() else { continue };
                let why = match () {
                    () if shown.starts_with('.') => continue,
                    () if kind.is_symlink() => "a link, and links are not followed",
                    () if name.to_str().is_none() => "a name that is not UTF-8",
                    () if kind.is_dir() && depth >= MAX_DEPTH => "too deep",
                    () if kind.is_dir() => {
                        folders.push((path, depth + 1));
                        continue;
                    }
                    () if !kind.is_file() => "not a file",
                    () if !has_ending(&shown) => "not Markdown",
                    () if found.files.len() == MAX_FILES => "too many files",
                    () => {
                        found.files.push(path);
                        continue;
                    }
                };
                found.passed.push((path, why.to_owned()));
            }
        }
        found.files.sort();
        found.passed.sort();
        found
    }

    /// Reads a text file of the source; the error is the reason why it can't be read.
    pub(super) fn text(&self, path: &str) -> Result<Text, String> {
        let file = self.at(path);
        let (bytes, at) = read_plain(&file, MAX_TEXT_BYTES)?;
        let (text, _) = decode(&bytes)?;
        let own = || file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Text { path: if path.is_empty() { own() } else { path.to_owned() }, text, at })
    }
}

/// Reads a regular file; the error is the reason why it can't be read.
pub(super) fn read_plain(path: &Path, most: u64) -> Result<(Vec<u8>, Option<Time>), String> {
    let cant = |problem: io::Error| format!("can't be read: {}", problem.kind());
    let stat = fs::symlink_metadata(path).map_err(cant)?;
    if !stat.is_file() {
        return Err(
            if stat.is_symlink() { "a link, and links are not followed" } else { "not a file" }.to_owned()
        );
    }
    let too_large = || format!("larger than {} MiB", most >> 20);
    if stat.len() > most {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes)).map_err(cant)?;
    if bytes.len() as u64 > most {
        return Err(too_large());
    }
    let at = stat.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let at = at.and_then(|since| i64::try_from(since.as_millis()).ok()).map(Time::from_millis);
    Ok((bytes, at))
}

/// Returns the first bytes of a file, to detect its format.
pub(super) fn head(path: &Path) -> Vec<u8> {
    const HEAD_BYTES: u64 = 64 << 10;
    let mut bytes = Vec::new();
    let plain = fs::metadata(path).is_ok_and(|stat| stat.is_file());
    if plain && let Ok(file) = File::open(path) {
        // A file that can't be read has no format.
        let _ = file.take(HEAD_BYTES).read_to_end(&mut bytes);
    }
    bytes
}

pub(super) fn is_markdown(path: &Path) -> bool {
    path.is_dir()
        || path.is_file() && path.file_name().is_some_and(|name| has_ending(&name.to_string_lossy()))
}

fn has_ending(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.ends_with(".md") || lower.ends_with(".markdown")
}
