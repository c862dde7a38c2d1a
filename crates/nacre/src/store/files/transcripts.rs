//! The transcripts of a group in a folder. Their names are those in the session index: `<name>.jsonl`, and
//! `archive/<name>.jsonl` for archived ones. Every writer holds the transcript lock.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::folder::Folder;
use crate::base::files::{append_private, create_folder, write_atomically, write_without_sync};
use crate::base::{Error, Result};

/// The folder of archived transcripts.
pub(crate) const ARCHIVE_FOLDER: &str = "archive";

/// A seekable reader.
pub(crate) trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

impl Folder {
    /// Returns the names of all transcript files.
    pub(crate) fn transcripts(&self) -> impl Iterator<Item = String> {
        let within = |folder: &str| {
            let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
            let files = fs::read_dir(self.transcript_at(folder)).into_iter().flatten().flatten();
            files.filter_map(move |file| {
                file.file_type().ok().filter(fs::FileType::is_file)?;
                Some(format!("{prefix}{}", file.file_name().to_str()?))
            })
        };
        within("").chain(within(ARCHIVE_FOLDER))
    }

    pub(crate) fn has_transcript(&self, name: &str) -> bool {
        self.transcript_at(name).exists()
    }

    /// Returns the size and time of a transcript as a mark that differs after every change; `None` if there is none.
    pub(crate) fn transcript_mark(&self, name: &str) -> Option<String> {
        let found = fs::symlink_metadata(self.transcript_at(name)).ok().filter(fs::Metadata::is_file)?;
        let changed = found.modified().ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        Some(format!("{} {}", found.len(), changed.as_nanos()))
    }

    /// Opens a transcript, but no link, which leads outside the group, and no pipe, which would block for
    /// ever. Returns `None` if there is none.
    pub(crate) fn open_transcript(&self, name: &str) -> Result<Option<Box<dyn ReadSeek>>> {
        let path = self.transcript_at(name);
        let opened = fs::symlink_metadata(&path).and_then(|found| match found.is_file() {
            true => File::open(&path),
            false => Err(io::Error::other("is not a file")),
        });
        match opened {
            Ok(file) => Ok(Some(Box::new(file))),
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(problem) => Err(Error::io(&path)(problem)),
        }
    }

    /// Appends whole lines and waits until they would survive a power failure. Returns the length of the
    /// transcript.
    pub(crate) fn append_transcript(&self, name: &str, bytes: &[u8]) -> Result<u64> {
        let path = self.transcript_at(name);
        let io = || Error::io(&path);
        let mut file = append_private(&path).map_err(io())?;
        let before = file.metadata().map_err(io())?.len();
        if let Err(problem) = file.write_all(bytes).and_then(|()| file.sync_data()) {
            // A partial line was never acknowledged. If it can't be removed here, the next append repairs the
            // file.
            let _ = file.set_len(before);
            return Err(io()(problem));
        }
        if before == 0 {
            sync_folder(&path);
        }
        Ok(before + bytes.len() as u64)
    }

    /// Truncates a transcript to this length.
    pub(crate) fn cut_transcript(&self, name: &str, length: u64) -> Result<()> {
        let path = self.transcript_at(name);
        let file = OpenOptions::new().write(true).open(&path);
        file.and_then(|file| file.set_len(length).and_then(|()| file.sync_data())).map_err(Error::io(&path))
    }

    /// Writes a whole transcript and waits until it would survive a power failure.
    pub(crate) fn write_transcript(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.transcript_at(name);
        if let Some(folder) = path.parent() {
            create_folder(folder)?;
        }
        write_atomically(&path, bytes)?;
        sync_folder(&path);
        Ok(())
    }

    /// Tells whether a transcript of this name can be added: a link would lead out of the group.
    pub(crate) fn has_room_for(&self, name: &str) -> bool {
        let is_linked = self.transcripts.is_symlink() || self.transcript_at(ARCHIVE_FOLDER).is_symlink();
        !is_linked && fs::symlink_metadata(self.transcript_at(name)).is_err()
    }

    pub(crate) fn remove_transcript(&self, name: &str) -> Result<()> {
        let path = self.transcript_at(name);
        fs::remove_file(&path).map_err(Error::io(&path))
    }

    /// Writes the list of transcripts. It is derived data, so it may be lost in a power failure.
    pub(crate) fn write_transcript_list(&self, bytes: &[u8]) -> Result<()> {
        write_without_sync(&self.transcript_at("sessions.json"), bytes)
    }

    /// Returns the full path of a transcript, for errors and messages.
    pub(crate) fn transcript_at(&self, name: &str) -> PathBuf {
        self.transcripts.join(name)
    }
}

/// Flushes a file's folder to disk, if the system supports it.
fn sync_folder(path: &Path) {
    if let Some(folder) = path.parent().and_then(|folder| File::open(folder).ok()) {
        let _ = folder.sync_all();
    }
}
