//! The lock of the transcripts: one process writes at a time.

use std::time::Duration;

use crate::base::path::SESSIONS;
use crate::base::{Error, Result};
use crate::group::View;
use crate::store::Wait;

/// How often the lock is tried, with the pause in between: half a minute in all.
const MAX_ATTEMPTS: u32 = 6_000;
const RETRY_PAUSE: Duration = Duration::from_millis(5);

/// The right to write the transcripts of a group. It ends with the process.
pub(crate) struct Lock(#[expect(dead_code, reason = "held, not used")] crate::store::Lock);

pub(crate) fn lock(view: &View<'_>) -> Result<Lock> {
    let name = format!("{SESSIONS}/lock");
    for tried in 0..MAX_ATTEMPTS {
        if let Some(held) = view.lock(&name, Wait::No)? {
            return Ok(Lock(held));
        }
        // Usually the lock is held only for a moment.
        std::thread::sleep(if tried < 20 { RETRY_PAUSE / 20 } else { RETRY_PAUSE });
    }
    Err(Error::TranscriptBusy { path: view.files().transcript_at("lock") })
}
