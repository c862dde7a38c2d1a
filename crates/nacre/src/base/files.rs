//! Writes files atomically and makes files and folders readable by their owner only.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use crate::base::{Error, Result};

/// Replaces a file atomically: writes `bytes` to a temporary file in the same folder and renames it, so that
/// a reader sees either the old file or the new one.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    write(path, bytes, File::sync_all)
}

/// Does the same without waiting for the disk: a power failure may leave an empty file.
pub(crate) fn write_without_sync(path: &Path, bytes: &[u8]) -> Result<()> {
    write(path, bytes, |_| Ok(()))
}

fn write(path: &Path, bytes: &[u8], sync: fn(&File) -> std::io::Result<()>) -> Result<()> {
    let aside = path.with_extension(format!("tmp-{}", std::process::id()));
    let written = create_private(&aside)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| sync(&file)))
        .and_then(|()| fs::rename(&aside, path));
    written.map_err(|source| {
        // The half-written file is useless; a failure to remove it changes nothing.
        let _ = fs::remove_file(&aside);
        Error::io(path)(source)
    })
}

/// Creates a folder and its parents, accessible to their owner only.
pub fn create_folder(path: &Path) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(Error::io(path))
}

/// Opens a file for appending. A new file is readable by its owner only. It is open for reading too, because
/// Windows locks no file that is open for appending alone.
pub(crate) fn append_private(path: &Path) -> std::io::Result<File> {
    private().read(true).append(true).create(true).open(path)
}

/// Creates a file that is readable by its owner only. Fails if anything exists at the path, even a link.
pub(crate) fn create_new_private(path: &Path) -> std::io::Result<File> {
    private().write(true).create_new(true).open(path)
}

/// Creates or truncates a file that is readable by its owner only.
fn create_private(path: &Path) -> std::io::Result<File> {
    private().write(true).create(true).truncate(true).open(path)
}

fn private() -> OpenOptions {
    #[allow(unused_mut, reason = "changed on Unix only")]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
