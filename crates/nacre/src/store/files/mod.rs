//! The files of a group: the documents of its workspace, and its transcripts.
//!
//! All layers above access them through [`Files`], by a checked path or by the name of a transcript. Only
//! this module knows whether they are in a folder or are rows on a server.

mod folder;
#[cfg(not(unix))]
mod portable;
mod rows;
mod transcripts;
#[cfg(unix)]
mod unix;

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use folder::Folder;
use rows::Rows;

use super::postgres::Server;
use super::walk::{ReadResult, WalkResult, WalkedFile};
use crate::base::ids::GroupName;
use crate::base::path::SESSIONS;
use crate::base::{Error, FilePath, Result, Time};

pub(crate) use transcripts::{ARCHIVE_FOLDER, ReadSeek};

/// The files of a group, or a copy of them.
#[derive(Clone, Debug)]
pub(crate) enum Files {
    Folder(Folder),
    Server(Rows),
}

/// The result of replacing a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replacement {
    /// The file has the new content, now or already.
    Done,
    /// The file does not have the expected content and was left unchanged.
    Changed,
}

/// The state of the documents on a server, as two hashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FilesMark {
    pub(crate) files: String,
    /// The documents as the index has them: a rebuild changes this one alone.
    pub(crate) indexed: String,
}

/// Calls the same function of either arm.
macro_rules! either {
    ($files:expr, $inner:ident => $call:expr) => {
        match $files {
            Files::Folder($inner) => $call,
            Files::Server($inner) => $call,
        }
    };
}

impl Files {
    /// Returns the files in a group's folder.
    pub(crate) fn in_folder(folder: &Path) -> Files {
        Files::in_folders(folder.to_owned(), folder.join(SESSIONS))
    }

    /// Returns documents in one folder and transcripts in another.
    pub(crate) fn in_folders(documents: PathBuf, transcripts: PathBuf) -> Files {
        Files::Folder(Folder { documents, transcripts })
    }

    /// Returns the files of a group on a server.
    pub(crate) fn on_server(server: Server, group: GroupName) -> Files {
        Files::Server(Rows::new(server, group))
    }

    /// Finds all documents.
    pub(crate) fn documents(&self) -> WalkResult {
        either!(self, files => files.documents())
    }

    /// Returns the mark of the documents on a server. Returns `None` while a change is under way, and for a folder, which has to be
    /// walked.
    pub(crate) fn mark(&self) -> Result<Option<FilesMark>> {
        match self {
            Files::Folder(_) => Ok(None),
            Files::Server(files) => files.mark(),
        }
    }

    /// Returns the names in a folder of the workspace, and whether each is a file. A linked folder counts as
    /// empty.
    pub(crate) fn names(&self, folder: &str) -> impl Iterator<Item = (String, bool)> + use<> {
        let names: Box<dyn Iterator<Item = (String, bool)>> = match self {
            Files::Folder(files) => Box::new(files.names(folder)),
            Files::Server(files) => Box::new(files.names(folder).into_iter()),
        };
        names
    }

    /// Reads at most the first `most` bytes of a file. Returns `None` if it does not exist.
    pub(crate) fn read(&self, path: &FilePath, most: u64) -> Result<Option<Vec<u8>>> {
        either!(self, files => files.read(path, most))
    }

    /// Reads a document found by a walk, for the index.
    pub(crate) fn read_found(&self, seen: &WalkedFile) -> ReadResult {
        either!(self, files => files.read_found(seen))
    }

    /// Reads a document whose name is not a valid path. Returns `None` if it can't be read.
    pub(crate) fn read_invalid_name(&self, path: &str) -> Option<Vec<u8>> {
        match self {
            Files::Folder(files) => files.read_invalid_name(path),
            // There, every file was written by a checked path.
            Files::Server(_) => None,
        }
    }

    /// Creates a file and its parent folders. Returns false if something already exists at the path.
    pub(crate) fn create(&self, path: &FilePath, bytes: &[u8]) -> Result<bool> {
        either!(self, files => files.create(path, bytes))
    }

    /// Replaces `before` with `after` atomically; `None` means no file. Only a file with the content `before`
    /// is ever replaced.
    pub(crate) fn replace(
        &self,
        path: &FilePath,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
    ) -> Result<Replacement> {
        either!(self, files => files.replace(path, before, after))
    }

    /// Sets the modification time of a file to that of its source.
    pub(crate) fn set_time(&self, path: &FilePath, at: Time) -> Result<()> {
        either!(self, files => files.set_time(path, at))
    }

    /// Returns the mode of a file, on systems that have modes.
    pub(crate) fn mode(&self, path: &FilePath) -> Option<u32> {
        match self {
            Files::Folder(files) => files.mode(path),
            Files::Server(_) => None,
        }
    }

    /// Sets the mode of a file, on systems that have modes.
    pub(crate) fn set_mode(&self, path: &FilePath, mode: u32) -> Result<()> {
        match self {
            Files::Folder(files) => files.set_mode(path, mode),
            Files::Server(_) => Ok(()),
        }
    }

    /// Removes the folders of a deleted file as far up as they are empty, except the topmost.
    pub(crate) fn remove_empty_folders(&self, path: &FilePath) {
        match self {
            Files::Folder(files) => files.remove_empty_folders(path),
            // There, a folder is only the beginning of a name.
            Files::Server(_) => {}
        }
    }

    /// Returns the names of all transcript files.
    pub(crate) fn transcripts(&self) -> impl Iterator<Item = String> {
        let names: Box<dyn Iterator<Item = String>> = match self {
            Files::Folder(files) => Box::new(files.transcripts()),
            Files::Server(files) => Box::new(files.transcripts().into_iter()),
        };
        names
    }

    pub(crate) fn has_transcript(&self, name: &str) -> bool {
        either!(self, files => files.has_transcript(name))
    }

    /// Returns the size and time of a transcript in a folder as a mark that differs after every change.
    pub(crate) fn transcript_mark(&self, name: &str) -> Option<String> {
        match self {
            Files::Folder(files) => files.transcript_mark(name),
            Files::Server(_) => None,
        }
    }

    /// Opens a transcript, but no link, which leads outside the group, and no pipe, which would block for
    /// ever. Returns `None` if there is none.
    pub(crate) fn open_transcript(&self, name: &str) -> Result<Option<Box<dyn ReadSeek>>> {
        either!(self, files => files.open_transcript(name))
    }

    /// Reads a transcript that exists.
    pub(crate) fn read_transcript(&self, name: &str) -> Result<Vec<u8>> {
        let failed = |problem: io::Error| Error::io(&self.transcript_at(name))(problem);
        let mut input = self.open_transcript(name)?.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }

    /// Appends whole lines and waits until they would survive a power failure. Returns the length of the
    /// transcript.
    pub(crate) fn append_transcript(&self, name: &str, bytes: &[u8]) -> Result<u64> {
        either!(self, files => files.append_transcript(name, bytes))
    }

    /// Truncates a transcript to this length.
    pub(crate) fn cut_transcript(&self, name: &str, length: u64) -> Result<()> {
        either!(self, files => files.cut_transcript(name, length))
    }

    /// Writes a whole transcript and waits until it would survive a power failure.
    pub(crate) fn write_transcript(&self, name: &str, bytes: &[u8]) -> Result<()> {
        either!(self, files => files.write_transcript(name, bytes))
    }

    /// Copies a transcript from `from`. Returns false if something of that name exists.
    pub(crate) fn copy_transcript(&self, name: &str, from: &Files) -> Result<bool> {
        let has_room = match self {
            Files::Folder(files) => files.has_room_for(name),
            Files::Server(files) => !files.has_transcript(name),
        };
        if has_room {
            self.write_transcript(name, &from.read_transcript(name)?)?;
        }
        Ok(has_room)
    }

    pub(crate) fn remove_transcript(&self, name: &str) -> Result<()> {
        either!(self, files => files.remove_transcript(name))
    }

    /// Writes the list of transcripts. It is derived data, so it may be lost in a power failure.
    pub(crate) fn write_transcript_list(&self, bytes: &[u8]) -> Result<()> {
        match self {
            Files::Folder(files) => files.write_transcript_list(bytes),
            // It is for readers of the folder.
            Files::Server(_) => Ok(()),
        }
    }

    /// Returns the full path of a transcript, for errors and messages.
    pub(crate) fn transcript_at(&self, name: &str) -> PathBuf {
        either!(self, files => files.transcript_at(name))
    }
}
