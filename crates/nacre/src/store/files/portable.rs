//! Documents in a folder, for systems other than Unix. Files have no mode, and two files can't be exchanged
//! atomically.

use std::fs::{self, File};

use super::Replacement;
use super::folder::{Folder, OpenFailure};
use crate::base::files::{create_folder, write_atomically};
use crate::base::{Error, FilePath, Result};

impl Folder {
    /// Replaces `before` with `after`, as on Unix. A change that an editor saves at the same moment may be
    /// lost.
    pub(crate) fn replace(
        &self,
        path: &FilePath,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
    ) -> Result<Replacement> {
        let found = self.read(path, u64::MAX)?;
        if found.as_deref() == after {
            return Ok(Replacement::Done);
        }
        if found.as_deref() != before {
            return Ok(Replacement::Changed);
        }
        let file = self.at(path);
        match after {
            Some(after) => {
                if let Some(folder) = file.parent() {
                    create_folder(folder)?;
                }
                write_atomically(&file, after)?;
            }
            None => fs::remove_file(&file).map_err(Error::io(&file))?,
        }
        Ok(Replacement::Done)
    }

    pub(crate) fn mode(&self, _: &FilePath) -> Option<u32> {
        None
    }

    pub(crate) fn set_mode(&self, _: &FilePath, _: u32) -> Result<()> {
        Ok(())
    }

    /// Removes a folder if it is empty. Returns whether it was removed.
    pub(super) fn remove_folder(&self, path: &FilePath) -> bool {
        fs::remove_dir(self.at(path)).is_ok()
    }

    /// Opens a file for reading.
    pub(super) fn open(&self, path: &FilePath) -> Result<File, OpenFailure> {
        let mut inner = self.documents.clone();
        for name in path.names() {
            inner.push(name);
            if fs::symlink_metadata(&inner)?.is_symlink() {
                return Err(OpenFailure::Link);
            }
        }
        let file = File::open(&inner)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(OpenFailure::NotAFile) }
    }
}
