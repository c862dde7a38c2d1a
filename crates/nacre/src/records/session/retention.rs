//! Retention (S6): transcripts that nobody has written to for long are packed. They stay readable and searchable, and
//! come back when something is appended.
//!
//! The packed file is whole and read back before the plain one goes, and the other way round; where both are there,
//! someone was stopped in between and the plain one counts.

use std::fs;
use std::io::Write;

use super::take_in::{self, Author, State};
use super::transcript::{self, Files, Lock};
use super::{gzip, listing};
use crate::base::ids::SessionId;
use crate::base::text::shorten;
use crate::base::{Error, Result, files};
use crate::group::View;
use crate::store::audit;

/// What retention did.
#[derive(Default)]
pub(crate) struct Retained {
    pub(crate) packed: usize,
    /// Why one or another could not be packed.
    pub(crate) failed: Vec<String>,
}

/// Packs what is due. One that can't be packed keeps no other from it.
pub(crate) fn retain(view: &mut View<'_>) -> Result<Retained> {
    let caller = view.caller();
    let mut retained = Retained::default();
    take_in::catch_up_all(view)?;
    let days = view.settings().session.retention_days;
    if days == 0 {
        return Ok(retained);
    }
    let before = caller.now.plus_days(-days);
    let due = |state: &State| state.last_at.is_some_and(|last| last < before);
    for (id, state) in view.read_all(take_in::all)? {
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

/// Packs one, where it is due. One at a time, so that nobody waits long.
fn pack_one(view: &mut View<'_>, session: &SessionId, due: &impl Fn(&State) -> bool) -> Result<bool> {
    let caller = view.caller();
    let files = Files::of(view.folder(), session)?;
    if !files.plain().exists() {
        return Ok(false);
    }
    let lock = transcript::lock(view.folder())?;
    transcript::mend(&files, &lock)?;
    let (mut state, _) = take_in::catch_up(view, session, &files, Author::Unknown, &lock)?;
    if !due(&state) || !files.plain().exists() {
        return Ok(false);
    }
    pack(&files)?;
    state.archived_at = Some(caller.now);
    note(view, session, &state, "session_archive")?;
    let plain = files.plain();
    fs::remove_file(&plain).map_err(Error::io(&plain))?;
    listing::write(view, &lock)?;
    Ok(true)
}

/// Brings a transcript back out of the archive, where it is there.
pub(super) fn bring_back(view: &mut View<'_>, session: &SessionId, files: &Files, lock: &Lock) -> Result<()> {
    let (plain, packed) = (files.plain(), files.packed());
    if !packed.exists() {
        return Ok(());
    }
    if !plain.exists() {
        let bytes = fs::read(&packed).map_err(Error::io(&packed))?;
        let bytes = gzip::unpack(&bytes).map_err(Error::io(&packed))?;
        files::write_whole(&plain, &bytes)?;
        transcript::sync_folder(&plain);
    }
    if let Some(mut state) = view.read_all(|db| take_in::load(db, session))? {
        state.archived_at = None;
        note(view, session, &state, "session_restore")?;
    }
    fs::remove_file(&packed).map_err(Error::io(&packed))?;
    listing::write(view, lock)
}

fn pack(files: &Files) -> Result<()> {
    let (plain, packed) = (files.plain(), files.packed());
    if let Some(folder) = packed.parent() {
        files::create_folder(folder)?;
    }
    let bytes = fs::read(&plain).map_err(Error::io(&plain))?;
    let mut small = Vec::new();
    for part in bytes.chunks(gzip::MEMBER) {
        gzip::pack(part, &mut small as &mut dyn Write).map_err(Error::io(&packed))?;
    }
    files::write_whole(&packed, &small)?;
    transcript::sync_folder(&packed);
    // Read back from where it is before the other goes.
    let written = fs::read(&packed).and_then(|bytes| gzip::unpack(&bytes)).map_err(Error::io(&packed))?;
    if written != bytes {
        let problem = std::io::Error::other("what was packed does not read back");
        return Err(Error::Io { path: packed, source: problem });
    }
    Ok(())
}

fn note(view: &mut View<'_>, session: &SessionId, state: &State, action: &str) -> Result<()> {
    let caller = view.caller();
    view.write(|tx| {
        take_in::save(tx, session, state)?;
        let mut row = audit::Row::new(action);
        row.ids.push(session.as_str().to_owned());
        audit::append(tx, caller, &row, audit::Outcome::Done)
    })
}
