//! Retention: packs transcripts that have not changed for long. They stay readable and searchable, and are
//! unpacked when a message is appended.
//!
//! The packed file is complete and verified before the plain file is deleted, and the other way round. If
//! both exist, a process was interrupted, and the plain file counts.

use super::ingest::{self, Author, State};
use super::listing;
use super::lock::{Lock, lock};
use super::transcript::Transcript;
use crate::base::Result;
use crate::base::ids::SessionId;
use crate::base::text::shorten;
use crate::group::View;
use crate::store::audit;

/// The result of retention.
#[derive(Default)]
pub(crate) struct RetentionReport {
    pub(crate) packed: usize,
    /// Why transcripts could not be packed.
    pub(crate) failed: Vec<String>,
}

/// Packs the transcripts that are due. A failure does not stop the others.
pub(crate) fn retain(view: &mut View<'_>) -> Result<RetentionReport> {
    let caller = view.caller();
    let mut retained = RetentionReport::default();
    ingest::catch_up_all(view)?;
    let days = view.settings().session.retention_days;
    if days == 0 {
        return Ok(retained);
    }
    let before = caller.now.plus_days(-days);
    let due = |state: &State| state.last_at.is_some_and(|last| last < before);
    for (id, state) in view.read_all(ingest::all)? {
        let Ok(session) = id.parse::<SessionId>() else { continue };
        if !due(&state) {
            continue;
        }
        match pack_one(view, &session, &due) {
            Ok(packed) => retained.packed += usize::from(packed),
            Err(error) => retained.failed.push(format!("`{}` failed: {error}", shorten(session.as_str()))),
        }
    }
    Ok(retained)
}

/// Packs one transcript if it is due. The lock is released after each, so that nobody waits long.
fn pack_one(view: &mut View<'_>, session: &SessionId, due: &impl Fn(&State) -> bool) -> Result<bool> {
    let caller = view.caller();
    let transcript = Transcript::of(view.files(), session)?;
    if !transcript.is_plain() {
        return Ok(false);
    }
    let lock = lock(view)?;
    transcript.repair_end(&lock)?;
    let (mut state, _) = ingest::catch_up(view, session, &transcript, Author::Unknown, &lock)?;
    if !due(&state) || !transcript.is_plain() {
        return Ok(false);
    }
    transcript.pack(&lock)?;
    state.archived_at = Some(caller.now);
    note(view, session, &state, "session_archive")?;
    view.files().remove_transcript(&transcript.plain())?;
    listing::write(view, &lock)?;
    Ok(true)
}

/// Unpacks an archived transcript.
pub(super) fn unarchive(
    view: &mut View<'_>,
    session: &SessionId,
    transcript: &Transcript,
    lock: &Lock,
) -> Result<()> {
    if !transcript.is_packed() {
        return Ok(());
    }
    if !transcript.is_plain() {
        transcript.unpack(lock)?;
    }
    if let Some(mut state) = view.read_all(|db| ingest::load(db, session))? {
        state.archived_at = None;
        note(view, session, &state, "session_restore")?;
    }
    view.files().remove_transcript(&transcript.packed())?;
    listing::write(view, lock)
}

fn note(view: &mut View<'_>, session: &SessionId, state: &State, action: &str) -> Result<()> {
    let caller = view.caller();
    view.write(|tx| {
        ingest::save(tx, session, state)?;
        audit::Row::new(action).id(session).append(tx, caller)
    })
}
