//! The lock of the transcripts: one process writes at a time.

use std::fs::{File, TryLockError};
use std::time::Duration;

use crate::base::path::SESSIONS;
use crate::base::{Error, Result, files};
use crate::group::View;

/// How often the lock is tried, with the pause in between: half a minute in all.
const MAX_ATTEMPTS: u32 = 6_000;
const RETRY_PAUSE: Duration = Duration::from_millis(5);

/// The right to write the transcripts of a group. The operating system releases it when the process ends.
pub(crate) struct Lock(#[expect(dead_code, reason = "held, not used")] File);

pub(crate) fn lock(view: &View<'_>) -> Result<Lock> {
    let folder = view.folder().join(SESSIONS);
    files::create_folder(&folder)?;
    let path = folder.join("lock");
    let file = files::append_private(&path).map_err(Error::io(&path))?;
    for tried in 0..MAX_ATTEMPTS {
        match file.try_lock() {
            Ok(()) => return Ok(Lock(file)),
            // Usually the lock is held only for a moment.
            Err(TryLockError::WouldBlock) if tried < 20 => std::thread::sleep(RETRY_PAUSE / 20),
            Err(TryLockError::WouldBlock) => std::thread::sleep(RETRY_PAUSE),
            Err(TryLockError::Error(source)) => return Err(Error::io(&path)(source)),
        }
    }
    Err(Error::TranscriptBusy { path })
}
