//! The only place that opens files of the workspace (W9). From the group's folder down, name by name, and never
//! through a link: whatever stands there, nothing outside is read.

use std::fs::File;
use std::io::{self, Read, Write};
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::path::Path;

use super::FilePath;
use crate::base::caller::Visibility;
use crate::base::{Error, Result, Time};
use crate::group::Group;

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
    let seen = visibility.sees_file(&group.settings().visibility.private, path.as_str(), &bytes);
    if seen { lossy(&bytes) } else { String::new() }
}

/// The text of a file whatever it holds, with its lines ended as they are.
pub(crate) fn lossy(bytes: &[u8]) -> String {
    let wide = matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
    let decoded = wide.then(|| crate::base::text::decode(bytes).ok()).flatten();
    decoded.map_or_else(|| String::from_utf8_lossy(bytes).into_owned(), |(text, _)| text)
}

/// Opens a file for reading.
#[cfg(unix)]
fn open(folder: &Path, path: &FilePath) -> Result<File, Refused> {
    let (inner, name) = enter(folder, path)?;
    open_at(&inner, name)
}

#[cfg(unix)]
fn open_at(inner: &OwnedFd, name: &str) -> Result<File, Refused> {
    use rustix::fs::{Mode, OFlags, openat};
    // Not to wait for the other end of a pipe.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(
        openat(inner, name, flags, Mode::empty()).map_err(|problem| refused(inner, name, problem))?,
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

/// Gives a file the time of what it was made from.
pub(crate) fn set_time(folder: &Path, path: &FilePath, at: Time) -> Result<()> {
    let since = u64::try_from(at.as_millis()).unwrap_or(0);
    let at = std::time::UNIX_EPOCH + std::time::Duration::from_millis(since);
    let set = open(folder, path).and_then(|file| Ok(file.set_modified(at)?));
    set.or_else(|refused| refused.error(folder, path).map_or(Ok(()), Err))
}

/// Gives a file its mode, where there is one.
#[cfg(unix)]
pub(super) fn set_mode(folder: &Path, path: &FilePath, mode: u32) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let set = open(folder, path).and_then(|file| {
        let had = file.metadata()?.permissions().mode() & 0o777;
        if had != mode {
            file.set_permissions(std::fs::Permissions::from_mode(mode))?;
        }
        Ok(())
    });
    set.or_else(|refused| refused.error(folder, path).map_or(Ok(()), Err))
}

/// What became of putting a file in another's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replaced {
    /// It stands there, now or already.
    Done,
    /// Something else stands there than was expected, and was left.
    Changed,
}

/// Puts `after` in the place of `before`, whole or not at all; `None` is no file. Nothing else than `before` is ever
/// replaced: what an editor puts there in the very moment is put back. Only one process does this at a time, and
/// what a dead one left is cleared away.
///
/// The new file is written aside (`.NAME.nacre-new`), gets the name of one that is whole (`.NAME.nacre-swap`), and
/// changes places with the old one, which can then be looked at before it goes.
#[cfg(unix)]
pub(crate) fn replace(
    folder: &Path,
    path: &FilePath,
    before: Option<&[u8]>,
    after: Option<&[u8]>,
) -> Result<Replaced> {
    let failed = |refused: Refused| refused.error(folder, path).unwrap_or_else(|| gone(folder, path));
    let place = Place::open(folder, path, after.is_some()).map_err(failed)?;
    match place {
        Some(place) => place.replace(before, after).map_err(failed),
        None => Ok(if before.is_none() { Replaced::Done } else { Replaced::Changed }),
    }
}

/// What is said where a folder went away meanwhile.
fn gone(folder: &Path, path: &FilePath) -> Error {
    Error::io(&folder.join(path.as_str()))(io::ErrorKind::NotFound.into())
}

/// Where a file stands or will stand.
#[cfg(unix)]
struct Place<'p> {
    inner: OwnedFd,
    name: &'p str,
    new: String,
    swap: String,
}

#[cfg(unix)]
impl Place<'_> {
    /// Opens the folder of a file, making what is missing of it where `make` says so. `None`: it is not there.
    fn open<'p>(folder: &Path, path: &'p FilePath, make: bool) -> Result<Option<Place<'p>>, Refused> {
        let (inner, name) = match enter(folder, path) {
            Err(Refused::Absent) if make => {
                make_folders(folder, path)?;
                enter(folder, path)?
            }
            Err(Refused::Absent) => return Ok(None),
            entered => entered?,
        };
        Ok(Some(Place {
            inner,
            name,
            new: format!(".{name}.nacre-new"),
            swap: format!(".{name}.nacre-swap"),
        }))
    }

    fn replace(&self, before: Option<&[u8]>, after: Option<&[u8]>) -> Result<Replaced, Refused> {
        self.remove(&self.new)?;
        // A process died here: its file had not changed places yet, or the old one had not been looked at.
        if let Some((left, _)) = self.read(&self.swap)? {
            let ours = after == Some(&left[..]) || before == Some(&left[..]);
            if !ours {
                self.give_back(after)?;
            }
            self.remove(&self.swap)?;
        }
        let found = self.read(self.name)?;
        let (found, mode) = found.map_or((None, None), |(bytes, mode)| (Some(bytes), Some(mode)));
        if found.as_deref() == after {
            return Ok(Replaced::Done);
        }
        if found.as_deref() != before {
            return Ok(Replaced::Changed);
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
            (Some(before), None) => self.take_away(before)?,
            (None, None) => Replaced::Done,
        };
        rustix::fs::fsync(&self.inner).map_err(io::Error::from)?;
        Ok(done)
    }

    /// Writes the new file aside, with the mode of the old one.
    fn write(&self, bytes: &[u8], mode: Option<rustix::fs::Mode>) -> Result<(), Refused> {
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

    /// Gives the new file its name, which nothing may have.
    fn link(&self) -> Result<Replaced, Refused> {
        use rustix::fs::{AtFlags, linkat};
        let linked = linkat(&self.inner, self.swap.as_str(), &self.inner, self.name, AtFlags::empty());
        crash::point("linked");
        self.remove(&self.swap)?;
        match linked {
            Ok(()) => Ok(Replaced::Done),
            Err(rustix::io::Errno::EXIST) => Ok(Replaced::Changed),
            Err(problem) => Err(io::Error::from(problem).into()),
        }
    }

    /// Has the new file and the old one change places, and looks at what came out.
    fn exchange(&self, before: &[u8], after: &[u8]) -> Result<Replaced, Refused> {
        if !self.change_places()? {
            // A file system that can't: what an editor saves in this very moment is lost.
            use rustix::fs::renameat;
            renameat(&self.inner, self.swap.as_str(), &self.inner, self.name).map_err(io::Error::from)?;
            return Ok(Replaced::Done);
        }
        crash::point("exchanged");
        let out = self.read(&self.swap)?.map(|(bytes, _)| bytes);
        if out.as_deref() == Some(before) {
            self.remove(&self.swap)?;
            return Ok(Replaced::Done);
        }
        self.give_back(Some(after))?;
        self.remove(&self.swap)?;
        Ok(Replaced::Changed)
    }

    /// Tells whether the two have changed places; false: this file system can't do it.
    fn change_places(&self) -> Result<bool, Refused> {
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

    /// Puts back what came out and should not have. Where yet another file stands there by now, both stay: this
    /// one under a name that a person sees.
    fn give_back(&self, after: Option<&[u8]>) -> Result<(), Refused> {
        let there = self.read(self.name)?.map(|(bytes, _)| bytes);
        if there.as_deref() == after && there.is_some() && self.change_places()? {
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

    /// Takes the file away, if it is the one that was meant.
    fn take_away(&self, before: &[u8]) -> Result<Replaced, Refused> {
        use rustix::fs::renameat;
        renameat(&self.inner, self.name, &self.inner, self.swap.as_str()).map_err(io::Error::from)?;
        crash::point("taken away");
        let out = self.read(&self.swap)?.map(|(bytes, _)| bytes);
        if out.as_deref() == Some(before) {
            self.remove(&self.swap)?;
            return Ok(Replaced::Done);
        }
        self.link()?;
        Ok(Replaced::Changed)
    }

    /// Reads a file of the folder, with its mode. `None`: there is none.
    fn read(&self, name: &str) -> Result<Option<(Vec<u8>, rustix::fs::Mode)>, Refused> {
        use std::os::unix::fs::PermissionsExt as _;
        let mut file = match open_at(&self.inner, name) {
            Err(Refused::Absent) => return Ok(None),
            file => file?,
        };
        let mode = rustix::fs::Mode::from_raw_mode(file.metadata()?.permissions().mode() & 0o777);
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Some((bytes, mode)))
    }

    fn remove(&self, name: &str) -> Result<(), Refused> {
        match rustix::fs::unlinkat(&self.inner, name, rustix::fs::AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(problem) => Err(io::Error::from(problem).into()),
        }
    }
}

/// Takes away the folders of a file that was taken away, as far up as they are empty; the first name stays.
pub(crate) fn remove_empty_folders(folder: &Path, path: &FilePath) {
    let mut above = path.as_str();
    while let Some((rest, _)) = above.rsplit_once('/').filter(|(rest, _)| rest.contains('/')) {
        above = rest;
        let Ok(named) = above.parse::<FilePath>() else { return };
        if !remove_folder(folder, &named) {
            return;
        }
    }
}

/// Tells whether it was empty, and is gone.
#[cfg(unix)]
fn remove_folder(folder: &Path, path: &FilePath) -> bool {
    let entered = enter(folder, path);
    entered
        .is_ok_and(|(inner, name)| rustix::fs::unlinkat(&inner, name, rustix::fs::AtFlags::REMOVEDIR).is_ok())
}

#[cfg(not(unix))]
fn remove_folder(folder: &Path, path: &FilePath) -> bool {
    std::fs::remove_dir(folder.join(path.as_str())).is_ok()
}

/// Makes the folders of a file, name by name.
#[cfg(unix)]
fn make_folders(folder: &Path, path: &FilePath) -> Result<(), Refused> {
    use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
    crate::base::files::create_folder(folder)
        .map_err(|error| Refused::Io(io::Error::other(error.to_string())))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut inner = openat(CWD, folder, flags, Mode::empty()).map_err(io::Error::from)?;
    for below in path.names().rev().skip(1).collect::<Vec<_>>().into_iter().rev() {
        match mkdirat(&inner, below, Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(problem) => return Err(io::Error::from(problem).into()),
        }
        inner = openat(&inner, below, flags | OFlags::NOFOLLOW, Mode::empty())
            .map_err(|problem| refused(&inner, below, problem))?;
    }
    Ok(())
}

/// The same where files can't change places: what an editor saves in the very moment may be lost.
#[cfg(not(unix))]
pub(crate) fn replace(
    folder: &Path,
    path: &FilePath,
    before: Option<&[u8]>,
    after: Option<&[u8]>,
) -> Result<Replaced> {
    let found = read(folder, path, u64::MAX)?;
    if found.as_deref() == after {
        return Ok(Replaced::Done);
    }
    if found.as_deref() != before {
        return Ok(Replaced::Changed);
    }
    let file = folder.join(path.as_str());
    match after {
        Some(after) => {
            if let Some(folder) = file.parent() {
                crate::base::files::create_folder(folder)?;
            }
            crate::base::files::write_whole(&file, after)?;
        }
        None => std::fs::remove_file(&file).map_err(Error::io(&file))?,
    }
    Ok(Replaced::Done)
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

/// Places at which tests have the process die.
pub(super) mod crash {
    #[cfg(test)]
    thread_local! {
        pub(crate) static AT: std::cell::Cell<Option<&'static str>> = const { std::cell::Cell::new(None) };
    }

    #[cfg_attr(
        not(test),
        expect(unused_variables, clippy::missing_const_for_fn, reason = "nothing outside tests")
    )]
    pub(crate) fn point(name: &'static str) {
        #[cfg(test)]
        if AT.get() == Some(name) {
            AT.set(None);
            panic!("crash: {name}");
        }
    }
}
