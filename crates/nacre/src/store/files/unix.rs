//! Documents in a folder on Unix. Below the folder, paths are opened name by name and links are never
//! followed, so that nothing outside the folder is read.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;

use super::Replacement;
use super::folder::{Folder, OpenFailure};
use crate::base::files::create_folder;
use crate::base::{Error, FilePath, Result};
use crate::store::crash;

impl Folder {
    /// Replaces `before` with `after` atomically; `None` means no file. Only a file with the content `before`
    /// is ever replaced: if an editor saves another version at the same moment, that version is put back. A
    /// lock admits one process at a time, and leftovers of a crashed process are cleaned up.
    ///
    /// The new file is written to `.NAME.nacre-new`, renamed to `.NAME.nacre-swap` when it is complete, and
    /// exchanged with the old one, which can then be checked before it is deleted.
    pub(crate) fn replace(
        &self,
        path: &FilePath,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
    ) -> Result<Replacement> {
        // The folder may be deleted in the meantime.
        let gone = || Error::io(&self.at(path))(io::ErrorKind::NotFound.into());
        let failed = |refused: OpenFailure| refused.error(self, path).unwrap_or_else(gone);
        let entered = match self.enter(path, false) {
            Err(OpenFailure::Absent) if after.is_some() => self.enter(path, true),
            Err(OpenFailure::Absent) if before.is_none() => return Ok(Replacement::Done),
            Err(OpenFailure::Absent) => return Ok(Replacement::Changed),
            entered => entered,
        };
        let (inner, name) = entered.map_err(failed)?;
        let (new, swap) = (format!(".{name}.nacre-new"), format!(".{name}.nacre-swap"));
        Place { inner, name, new, swap }.replace(before, after).map_err(failed)
    }

    /// Returns the mode of a file, on systems that have modes.
    pub(crate) fn mode(&self, path: &FilePath) -> Option<u32> {
        Some(fs::symlink_metadata(self.at(path)).ok()?.permissions().mode() & 0o777)
    }

    /// Sets the mode of a file, on systems that have modes.
    pub(crate) fn set_mode(&self, path: &FilePath, mode: u32) -> Result<()> {
        let set = self.with(path, |file| match file.metadata()?.permissions().mode() & 0o777 {
            had if had == mode => Ok(()),
            _ => file.set_permissions(fs::Permissions::from_mode(mode)),
        });
        set.map(|_| ())
    }

    /// Removes a folder if it is empty. Returns whether it was removed.
    pub(super) fn remove_folder(&self, path: &FilePath) -> bool {
        use rustix::fs::{AtFlags, unlinkat};
        self.enter(path, false).is_ok_and(|(inner, name)| unlinkat(&inner, name, AtFlags::REMOVEDIR).is_ok())
    }

    /// Opens a file for reading.
    pub(super) fn open(&self, path: &FilePath) -> Result<File, OpenFailure> {
        let (inner, name) = self.enter(path, false)?;
        open_at(&inner, name)
    }

    /// Opens the folder of a file, and returns it with the file's name. With `make`, missing folders are
    /// created.
    fn enter<'p>(&self, path: &'p FilePath, make: bool) -> Result<(OwnedFd, &'p str), OpenFailure> {
        use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
        if make {
            let made = create_folder(&self.documents);
            made.map_err(|error| OpenFailure::Io(io::Error::other(error.to_string())))?;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // Links above the home are the user's own choice, so they are followed.
        let mut inner = openat(CWD, &self.documents, flags, Mode::empty()).map_err(io::Error::from)?;
        let mut names = path.names();
        let name = names.next_back().expect("a path has a name");
        for below in names {
            if make
                && let Err(problem) = mkdirat(&inner, below, Mode::RWXU)
                && problem != rustix::io::Errno::EXIST
            {
                return Err(io::Error::from(problem).into());
            }
            inner = openat(&inner, below, flags | OFlags::NOFOLLOW, Mode::empty())
                .map_err(|problem| refused(&inner, below, problem))?;
        }
        Ok((inner, name))
    }
}

fn open_at(inner: &OwnedFd, name: &str) -> Result<File, OpenFailure> {
    use rustix::fs::{Mode, OFlags, openat};
    // `NONBLOCK`: do not wait for the other end of a pipe.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(
        openat(inner, name, flags, Mode::empty()).map_err(|problem| refused(inner, name, problem))?,
    );
    if file.metadata()?.is_file() { Ok(file) } else { Err(OpenFailure::NotAFile) }
}

/// Distinguishes a link from other failures: systems report it with different errors.
fn refused(inner: &OwnedFd, name: &str, problem: rustix::io::Errno) -> OpenFailure {
    use rustix::fs::{AtFlags, FileType, statat};
    let found = statat(inner, name, AtFlags::SYMLINK_NOFOLLOW);
    match found.map(|found| FileType::from_raw_mode(found.st_mode)) {
        Ok(FileType::Symlink) => OpenFailure::Link,
        Ok(FileType::Socket) => OpenFailure::NotAFile,
        _ => io::Error::from(problem).into(),
    }
}

/// The location of a file that exists or will be created.
struct Place<'p> {
    inner: OwnedFd,
    name: &'p str,
    new: String,
    swap: String,
}

impl Place<'_> {
    fn replace(&self, before: Option<&[u8]>, after: Option<&[u8]>) -> Result<Replacement, OpenFailure> {
        self.remove(&self.new)?;
        // A process died here, either before its file was exchanged or before the old one was checked.
        if let Some((left, _)) = self.read(&self.swap)? {
            let ours = after == Some(&left[..]) || before == Some(&left[..]);
            if !ours {
                self.put_back(after)?;
            }
            self.remove(&self.swap)?;
        }
        let found = self.read(self.name)?;
        let (found, mode) = found.map_or((None, None), |(bytes, mode)| (Some(bytes), Some(mode)));
        if found.as_deref() == after {
            return Ok(Replacement::Done);
        }
        if found.as_deref() != before {
            return Ok(Replacement::Changed);
        }
        let done = match (before, after) {
            (_, Some(after)) => {
                self.write(after, mode)?;
                crash::point("written aside");
                match before {
                    None => self.link()?,
                    Some(before) => self.exchange(before, after)?,
                }
            }
            (Some(before), None) => self.remove_expected(before)?,
            (None, None) => Replacement::Done,
        };
        rustix::fs::fsync(&self.inner).map_err(io::Error::from)?;
        Ok(done)
    }

    /// Writes the new file under its temporary name, with the mode of the old one.
    fn write(&self, bytes: &[u8], mode: Option<rustix::fs::Mode>) -> Result<(), OpenFailure> {
        use rustix::fs::{Mode, OFlags, fchmod, openat, renameat};
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let own = Mode::RUSR | Mode::WUSR;
        let mut file =
            File::from(openat(&self.inner, self.new.as_str(), flags, own).map_err(io::Error::from)?);
        if let Some(mode) = mode {
            fchmod(&file, mode).map_err(io::Error::from)?;
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        renameat(&self.inner, self.new.as_str(), &self.inner, self.swap.as_str()).map_err(io::Error::from)?;
        Ok(())
    }

    /// Gives the new file its final name, which must be free.
    fn link(&self) -> Result<Replacement, OpenFailure> {
        use rustix::fs::{AtFlags, linkat};
        let linked = linkat(&self.inner, self.swap.as_str(), &self.inner, self.name, AtFlags::empty());
        crash::point("linked");
        self.remove(&self.swap)?;
        match linked {
            Ok(()) => Ok(Replacement::Done),
            Err(rustix::io::Errno::EXIST) => Ok(Replacement::Changed),
            Err(problem) => Err(io::Error::from(problem).into()),
        }
    }

    /// Exchanges the new file and the old one, and checks the old one.
    fn exchange(&self, before: &[u8], after: &[u8]) -> Result<Replacement, OpenFailure> {
        if !self.exchange_names()? {
            // The file system has no atomic exchange: a change that an editor saves at this moment is lost.
            use rustix::fs::renameat;
            renameat(&self.inner, self.swap.as_str(), &self.inner, self.name).map_err(io::Error::from)?;
            return Ok(Replacement::Done);
        }
        crash::point("exchanged");
        let out = self.read(&self.swap)?.map(|(bytes, _)| bytes);
        if out.as_deref() == Some(before) {
            self.remove(&self.swap)?;
            return Ok(Replacement::Done);
        }
        self.put_back(Some(after))?;
        self.remove(&self.swap)?;
        Ok(Replacement::Changed)
    }

    /// Exchanges the two files. Returns false if the file system does not support it.
    fn exchange_names(&self) -> Result<bool, OpenFailure> {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        {
            use rustix::fs::{RenameFlags, renameat_with};
            use rustix::io::Errno;
            let swap = self.swap.as_str();
            match renameat_with(&self.inner, swap, &self.inner, self.name, RenameFlags::EXCHANGE) {
                Ok(()) => Ok(true),
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(false),
                Err(problem) => Err(io::Error::from(problem).into()),
            }
        }
        #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
        Ok(false)
    }

    /// Puts back a file that should not have been replaced. If yet another file has taken its place, both are
    /// kept, this one under a visible name.
    fn put_back(&self, after: Option<&[u8]>) -> Result<(), OpenFailure> {
        let there = self.read(self.name)?.map(|(bytes, _)| bytes);
        if there.as_deref() == after && there.is_some() && self.exchange_names()? {
            return Ok(());
        }
        for number in 1.. {
            use rustix::fs::{AtFlags, linkat};
            let saved = format!("{}.saved-{number}.md", self.name.trim_end_matches(".md"));
            match linkat(&self.inner, self.swap.as_str(), &self.inner, saved.as_str(), AtFlags::empty()) {
                Err(rustix::io::Errno::EXIST) => {}
                linked => return linked.map_err(|problem| io::Error::from(problem).into()),
            }
        }
        Ok(())
    }

    /// Deletes the file if it has the expected content.
    fn remove_expected(&self, before: &[u8]) -> Result<Replacement, OpenFailure> {
        use rustix::fs::renameat;
        renameat(&self.inner, self.name, &self.inner, self.swap.as_str()).map_err(io::Error::from)?;
        crash::point("taken away");
        let out = self.read(&self.swap)?.map(|(bytes, _)| bytes);
        if out.as_deref() == Some(before) {
            self.remove(&self.swap)?;
            return Ok(Replacement::Done);
        }
        self.link()?;
        Ok(Replacement::Changed)
    }

    /// Reads a file in the folder, with its mode. Returns `None` if it does not exist.
    fn read(&self, name: &str) -> Result<Option<(Vec<u8>, rustix::fs::Mode)>, OpenFailure> {
        let mut file = match open_at(&self.inner, name) {
            Err(OpenFailure::Absent) => return Ok(None),
            file => file?,
        };
        let mode = rustix::fs::Mode::from_raw_mode(file.metadata()?.permissions().mode() & 0o777);
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Some((bytes, mode)))
    }

    fn remove(&self, name: &str) -> Result<(), OpenFailure> {
        match rustix::fs::unlinkat(&self.inner, name, rustix::fs::AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(problem) => Err(io::Error::from(problem).into()),
        }
    }
}
