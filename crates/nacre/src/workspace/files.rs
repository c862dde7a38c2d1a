//! The only place that opens files of the workspace (W9). From the group's folder down, name by name, and never
//! through a link: whatever stands there, nothing outside is read.

use std::fs::File;
use std::io::{self, Read};
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::path::Path;

use super::FilePath;
use crate::group::Group;
use crate::visibility::Visibility;
use crate::{Error, Result};

/// Why a file can't be had.
#[derive(Debug)]
pub(super) enum Refused {
    /// There is none.
    Absent,
    /// A link stands there or above it.
    Link,
    /// A folder, a pipe or a device stands there.
    NotAFile,
    /// What the system says.
    Io(io::Error),
}

impl From<io::Error> for Refused {
    fn from(problem: io::Error) -> Refused {
        match problem.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Refused::Absent,
            io::ErrorKind::IsADirectory => Refused::NotAFile,
            _ => Refused::Io(problem),
        }
    }
}

impl Refused {
    /// Says it; `None`: there is no file, which is no error.
    pub(super) fn error(self, folder: &Path, path: &FilePath) -> Option<Error> {
        let bad = |problem| Some(Error::BadPath { given: path.to_string(), problem });
        match self {
            Refused::Absent => None,
            Refused::Link => bad("goes through a link, which is not followed"),
            Refused::NotAFile => bad("is not a file"),
            Refused::Io(problem) => Some(Error::io(&folder.join(path.as_str()))(problem)),
        }
    }
}

/// Reads a file as it is; `None`: there is none. `most` is how many bytes at most; what is behind is left.
pub(crate) fn read(folder: &Path, path: &FilePath, most: u64) -> Result<Option<Vec<u8>>> {
    let file = match open(folder, path) {
        Ok(file) => file,
        Err(refused) => return refused.error(folder, path).map_or(Ok(None), Err),
    };
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).map_err(Error::io(&folder.join(path.as_str())))?;
    Ok(Some(bytes))
}

/// Reads what a session may see of a file as text; empty where there is none, or none for it.
pub(crate) fn text(group: &Group, visibility: Visibility, path: &str, most: u64) -> String {
    let Ok(path) = path.parse::<FilePath>() else { return String::new() };
    let bytes = read(group.folder(), &path, most).ok().flatten().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let seen = visibility.sees(&group.settings().visibility.private, path.as_str(), &text);
    if seen { text } else { String::new() }
}

/// Opens a file for reading.
#[cfg(unix)]
fn open(folder: &Path, path: &FilePath) -> Result<File, Refused> {
    use rustix::fs::{Mode, OFlags, openat};
    let (inner, name) = enter(folder, path)?;
    // Not to wait for the other end of a pipe.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(
        openat(&inner, name, flags, Mode::empty()).map_err(|problem| refused(&inner, name, problem))?,
    );
    if file.metadata()?.is_file() { Ok(file) } else { Err(Refused::NotAFile) }
}

/// Opens the folder that a file stands in, and returns it with the file's name.
#[cfg(unix)]
pub(super) fn enter<'p>(folder: &Path, path: &'p FilePath) -> Result<(OwnedFd, &'p str), Refused> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // Where the home stands, and by what links, is the person's own affair.
    let mut inner = openat(CWD, folder, flags, Mode::empty()).map_err(io::Error::from)?;
    let mut names = path.names();
    let name = names.next_back().expect("a path has a name");
    for below in names {
        inner = openat(&inner, below, flags | OFlags::NOFOLLOW, Mode::empty())
            .map_err(|problem| refused(&inner, below, problem))?;
    }
    Ok((inner, name))
}

/// Tells a link from what else can't be opened: systems have several errors for it.
#[cfg(unix)]
fn refused(inner: &OwnedFd, name: &str, problem: rustix::io::Errno) -> Refused {
    use rustix::fs::{AtFlags, FileType, statat};
    let found = statat(inner, name, AtFlags::SYMLINK_NOFOLLOW);
    match found.map(|found| FileType::from_raw_mode(found.st_mode)) {
        Ok(FileType::Symlink) => Refused::Link,
        Ok(FileType::Socket) => Refused::NotAFile,
        _ => io::Error::from(problem).into(),
    }
}

#[cfg(not(unix))]
fn open(folder: &Path, path: &FilePath) -> Result<File, Refused> {
    let mut inner = folder.to_owned();
    for name in path.names() {
        inner.push(name);
        if std::fs::symlink_metadata(&inner)?.is_symlink() {
            return Err(Refused::Link);
        }
    }
    let file = File::open(&inner)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(Refused::NotAFile) }
}
