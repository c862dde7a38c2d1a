//! The files of a group in a folder.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use crate::base::files::{create_folder, create_new_private};
use crate::base::{Error, FilePath, Result, Time};
use crate::store::walk::{self, ReadResult, WalkResult, WalkedFile};

/// A folder with documents, and one with transcripts.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    pub(super) documents: PathBuf,
    pub(super) transcripts: PathBuf,
}

impl Folder {
    /// Finds all documents.
    pub(crate) fn documents(&self) -> WalkResult {
        walk::documents(&self.documents)
    }

    /// Returns the names in a folder of the workspace, and whether each is a file. A linked folder counts as
    /// empty.
    pub(crate) fn names(&self, folder: &str) -> impl Iterator<Item = (String, bool)> + use<> {
        let place = self.documents.join(folder);
        let own = fs::symlink_metadata(&place).is_ok_and(|found| found.is_dir());
        let entries = own.then(|| fs::read_dir(place).ok()).flatten();
        entries.into_iter().flatten().flatten().filter_map(|entry| {
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            Some((entry.file_name().into_string().ok()?, is_file))
        })
    }

    /// Reads at most the first `most` bytes of a file. Returns `None` if it does not exist.
    pub(crate) fn read(&self, path: &FilePath, most: u64) -> Result<Option<Vec<u8>>> {
        self.with(path, |file| {
            // Room for the whole file saves most of the time that a search through many files takes.
            let size = usize::try_from(file.metadata()?.len().min(most)).unwrap_or(0);
            let mut bytes = Vec::with_capacity(size + 1);
            file.take(most).read_to_end(&mut bytes)?;
            Ok(bytes)
        })
    }

    /// Reads a document found by a walk, for the index.
    pub(crate) fn read_found(&self, seen: &WalkedFile) -> ReadResult {
        walk::read(&self.documents.join(&seen.path), seen.stat)
    }

    /// Reads a document whose name is not a valid path. Returns `None` if it can't be read.
    pub(crate) fn read_invalid_name(&self, path: &str) -> Option<Vec<u8>> {
        fs::read(self.documents.join(path)).ok()
    }

    /// Creates a file and its parent folders. Returns false if something already exists at the path.
    pub(crate) fn create(&self, path: &FilePath, bytes: &[u8]) -> Result<bool> {
        let mut folder = self.documents.clone();
        let mut names: Vec<&str> = path.names().collect();
        let name = names.pop().expect("a path has a name");
        for below in names {
            folder.push(below);
            // A link leads elsewhere, and nothing may be created there.
            if fs::symlink_metadata(&folder).is_ok_and(|found| !found.is_dir()) {
                return Ok(false);
            }
        }
        create_folder(&folder)?;
        let file = folder.join(name);
        match create_new_private(&file) {
            Ok(mut made) => made.write_all(bytes).map_err(Error::io(&file)).map(|()| true),
            Err(problem) if problem.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(problem) => Err(Error::io(&file)(problem)),
        }
    }

    /// Sets the modification time of a file to that of its source.
    pub(crate) fn set_time(&self, path: &FilePath, at: Time) -> Result<()> {
        let since = u64::try_from(at.as_millis()).unwrap_or(0);
        let at = UNIX_EPOCH + Duration::from_millis(since);
        self.with(path, |file| file.set_modified(at)).map(|_| ())
    }

    /// Removes the folders of a deleted file as far up as they are empty, except the topmost.
    pub(crate) fn remove_empty_folders(&self, path: &FilePath) {
        let mut above = path.as_str();
        while let Some((rest, _)) = above.rsplit_once('/').filter(|(rest, _)| rest.contains('/')) {
            above = rest;
            let Ok(named) = above.parse::<FilePath>() else { return };
            if !self.remove_folder(&named) {
                return;
            }
        }
    }

    /// Runs `work` on an open file. Returns `None` if the file does not exist.
    pub(super) fn with<T>(
        &self,
        path: &FilePath,
        work: impl FnOnce(File) -> io::Result<T>,
    ) -> Result<Option<T>> {
        let opened = self.open(path).and_then(|file| match walk::has_second_name(&self.at(path)) {
            true => Err(OpenFailure::SecondName),
            false => Ok(file),
        });
        match opened.and_then(|file| Ok(work(file)?)) {
            Ok(done) => Ok(Some(done)),
            Err(refused) => refused.error(self, path).map_or(Ok(None), Err),
        }
    }

    /// Returns the full path of a file, for errors.
    pub(super) fn at(&self, path: &FilePath) -> PathBuf {
        self.documents.join(path.as_str())
    }
}

/// The reason why a file can't be opened.
#[derive(Debug)]
pub(super) enum OpenFailure {
    /// It does not exist.
    Absent,
    /// It or a folder above it is a link.
    Link,
    /// It is a folder, a pipe or a device.
    NotAFile,
    /// It has a second hard link.
    SecondName,
    /// An I/O error.
    Io(io::Error),
}

impl From<io::Error> for OpenFailure {
    fn from(problem: io::Error) -> OpenFailure {
        match problem.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => OpenFailure::Absent,
            io::ErrorKind::IsADirectory => OpenFailure::NotAFile,
            _ => OpenFailure::Io(problem),
        }
    }
}

impl OpenFailure {
    /// Converts it to an error. Returns `None` for a missing file, which is not an error.
    pub(super) fn error(self, files: &Folder, path: &FilePath) -> Option<Error> {
        let bad = |problem| Some(Error::BadPath { given: path.to_string(), problem });
        match self {
            OpenFailure::Absent => None,
            OpenFailure::Link => bad("goes through a link, and links are not followed"),
            OpenFailure::NotAFile => bad("is not a file"),
            OpenFailure::SecondName => bad(walk::SECOND_NAME),
            OpenFailure::Io(problem) => Some(Error::io(&files.at(path))(problem)),
        }
    }
}
