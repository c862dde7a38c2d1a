//! The files of an export: documents and transcripts, with their modification times.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use crate::base::{Error, Result, Time};
use crate::group::View;
use crate::records::session;
use crate::records::tombstone::Tombstones;
use crate::records::workspace::{self, FilePath, change};
use crate::store::{Files, Replacement};

/// The folder of documents in an export.
const DOCUMENTS_FOLDER: &str = "files";
/// The folder of transcripts in an export.
const TRANSCRIPTS_FOLDER: &str = "transcripts";

/// The result of importing the files of an export.
#[derive(Default)]
pub(crate) struct FileImport {
    pub(crate) added: usize,
    /// Files that were not imported because another file has their name.
    pub(crate) kept: Vec<String>,
}

/// Returns the number of documents and transcripts to copy.
pub(crate) fn count(files: &Files) -> usize {
    workspace::list(files).len() + session::listed(files).len()
}

/// Copies documents and transcripts into an export as `copy` returns them, with a `step` for each. Returns their paths within it.
pub(crate) fn write(
    files: &Files,
    folder: &Path,
    copy: &mut dyn FnMut(&str, Vec<u8>) -> Vec<u8>,
    step: &mut dyn FnMut(usize),
) -> Result<Vec<String>> {
    let mut written = Vec::new();
    for file in workspace::list(files) {
        step(1);
        let bytes = match file.path.parse::<FilePath>() {
            Ok(path) => files.read(&path, u64::MAX)?,
            // Nacre would not restore a file with such a name, but its text must not be lost.
            Err(_) => files.read_invalid_name(&file.path),
        };
        let Some(bytes) = bytes else { continue };
        let name = format!("{DOCUMENTS_FOLDER}/{}", file.path);
        put(&folder.join(&name), &copy(&name, bytes))?;
        set_time(&folder.join(&name), file.modified)?;
        written.push(name);
    }
    for name in session::listed(files) {
        step(1);
        let bytes = files.read_transcript(&name)?;
        let name = format!("{TRANSCRIPTS_FOLDER}/{name}");
        put(&folder.join(&name), &copy(&name, bytes))?;
        written.push(name);
    }
    Ok(written)
}

/// Returns the folders of an export that contain files.
pub(crate) fn folders(written: &[String]) -> impl Iterator<Item = &'static str> {
    let within = |folder: &str| written.iter().any(|path| path.starts_with(folder));
    [DOCUMENTS_FOLDER, TRANSCRIPTS_FOLDER].into_iter().filter(move |folder| within(folder))
}

fn put(file: &Path, bytes: &[u8]) -> Result<()> {
    crate::base::files::create_folder(file.parent().expect("it is in a folder"))?;
    crate::base::files::write_atomically(file, bytes)
}

/// Removes a file of an earlier export. A path that leads out of the export's folders is left alone.
pub(crate) fn remove(folder: &Path, path: &str) {
    let inside =
        [DOCUMENTS_FOLDER, TRANSCRIPTS_FOLDER].iter().any(|own| path.starts_with(&format!("{own}/")));
    let is_plain = Path::new(path).components().all(|part| matches!(part, std::path::Component::Normal(_)));
    let own = path.split('/').next().unwrap_or_default();
    if inside && is_plain && is_own(&folder.join(own)) {
        let _ = std::fs::remove_file(folder.join(path));
    }
}

/// Returns whether a folder of an export is not a link. Through a link, the author of the export would decide
/// what is read.
fn is_own(folder: &Path) -> bool {
    !folder.is_symlink()
}

fn set_time(path: &Path, at: Time) -> Result<()> {
    let since = std::time::Duration::from_millis(u64::try_from(at.as_millis()).unwrap_or(0));
    let file = fs::File::open(path).map_err(Error::io(path))?;
    file.set_modified(std::time::UNIX_EPOCH + since).map_err(Error::io(path))
}

/// Copies the documents and transcripts of an export to names that are free. `listed` names the files of the
/// export, if it has a list: the folder may contain files of an earlier export.
pub(crate) fn import_files(
    view: &mut View<'_>,
    folder: &Path,
    listed: Option<&[String]>,
) -> Result<FileImport> {
    let listed: Option<HashSet<&str>> = listed.map(|listed| listed.iter().map(String::as_str).collect());
    let belongs = |folder: &str, name: &str| {
        listed.as_ref().is_none_or(|listed| listed.contains(format!("{folder}/{name}").as_str()))
    };
    let mut put = FileImport::default();
    let deleted = view.read_all(Tombstones::load)?;
    let held = change::lock(view)?;
    let from = Files::in_folders(folder.join(DOCUMENTS_FOLDER), folder.join(TRANSCRIPTS_FOLDER));
    let found = if is_own(&folder.join(DOCUMENTS_FOLDER)) { workspace::list(&from) } else { Vec::new() };
    for file in found.into_iter().filter(|file| belongs(DOCUMENTS_FOLDER, &file.path)) {
        let Ok(path) = file.path.parse::<FilePath>() else {
            put.kept.push(file.path);
            continue;
        };
        let Some(bytes) = from.read(&path, change::MAX_FILE_BYTES + 1)? else { continue };
        let there = held.files().read(&path, change::MAX_FILE_BYTES + 1)?;
        if there.as_ref() == Some(&bytes) {
            continue;
        }
        // Lines that were deleted here for good stay deleted.
        let bytes = match deleted.is_empty() {
            true => bytes,
            false => without_deleted(&deleted, &bytes),
        };
        let fits = there.is_none() && bytes.len() as u64 <= change::MAX_FILE_BYTES;
        if !fits || held.files().replace(&path, None, Some(&bytes))? == Replacement::Changed {
            put.kept.push(file.path);
            continue;
        }
        held.files().set_time(&path, file.modified)?;
        put.added += 1;
    }
    drop(held);
    if is_own(&folder.join(TRANSCRIPTS_FOLDER)) {
        put.added += session::copy_missing(view, &from, |name| belongs(TRANSCRIPTS_FOLDER, name))?;
        if !deleted.is_empty() {
            session::remove_lines(view, &|_, line, _| line.is_some_and(|line| deleted.cover(line.text())))?;
        }
    }
    Ok(put)
}

fn without_deleted(deleted: &Tombstones, bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    match deleted.cover(&text) {
        true => {
            text.split_inclusive('\n').filter(|line| !deleted.cover(line)).collect::<String>().into_bytes()
        }
        false => bytes.to_vec(),
    }
}
