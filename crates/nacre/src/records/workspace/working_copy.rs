//! A working copy of the files of a group, for an editor on another machine. What comes back is a write like any other: the write
//! policy decides whether it is applied or waits, and a file that changed meanwhile is never replaced.

use crate::base::member::MemberRole;
use crate::base::{Error, FilePath, Result};
use crate::group::View;
use crate::store::audit;

use super::change::{self, Change, MAX_FILE_BYTES};
use super::policy::{self, Decision, Target};
use super::proposal;

/// A file of the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedFile {
    /// Its path in the workspace.
    pub path: FilePath,
    /// Its content.
    pub bytes: Vec<u8>,
    /// The hash of its content.
    pub hash: String,
}

/// The outcome of a change that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutOutcome {
    /// The file has this content.
    Written,
    /// It waits for a person, as this proposal.
    Waits(i64),
    /// The file has changed in the group; nothing was written.
    Changed,
}

/// Returns the hash by which contents are compared.
pub fn hash(bytes: &[u8]) -> String {
    change::hash(bytes)
}

/// Returns all documents that the caller sees. A file that is too large is left out.
pub fn files(view: &mut View<'_>) -> Result<Vec<CopiedFile>> {
    if view.rights().may(MemberRole::Writer) && view.read_all(change::has_pending_changes)? {
        drop(change::lock(view)?);
    }
    let (rules, visibility) = (view.settings().visibility.private.clone(), view.visibility());
    let found = view.files().documents();
    if let Some(absent) = found.absent.first() {
        return Err(Error::bad_argument("checkout", "files", format!("can't be listed: {}", absent.why)));
    }
    let mut copied = Vec::new();
    for seen in found.seen {
        let Ok(path) = seen.path.parse::<FilePath>() else { continue };
        let Some(bytes) = view.files().read(&path, MAX_FILE_BYTES + 1)? else { continue };
        if bytes.len() as u64 <= MAX_FILE_BYTES && visibility.sees_file(&rules, path.as_str(), &bytes) {
            let hash = change::hash(&bytes);
            copied.push(CopiedFile { path, bytes, hash });
        }
    }
    Ok(copied)
}

/// Brings a changed file back. `base` is the hash of the content that was changed; `None`: there was no file.
pub fn put(
    view: &mut View<'_>,
    path: &FilePath,
    base: Option<&str>,
    after: Option<Vec<u8>>,
) -> Result<PutOutcome> {
    let caller = view.caller();
    let decision = policy::decide(Target::File(path), caller, view.rights(), view.settings())?;
    if after.as_ref().is_some_and(|bytes| bytes.len() as u64 > MAX_FILE_BYTES) {
        return Err(Error::FileTooLarge { path: path.to_string(), limit: MAX_FILE_BYTES });
    }
    let mut held = change::lock(view)?;
    proposal::check_seen(&held, caller, path)?;
    let before = held.read(path)?;
    if before == after {
        return Ok(PutOutcome::Written);
    }
    if before.as_deref().map(change::hash).as_deref() != base {
        return Ok(PutOutcome::Changed);
    }
    let size = after.as_ref().map_or(0, Vec::len);
    let change = Change { path: path.clone(), before, after };
    if decision == Decision::Propose {
        let reason = "changed in a working copy";
        let made = proposal::propose_file(&mut held, change, reason, &[])?;
        return Ok(PutOutcome::Waits(made.number));
    }
    held.commit("write", &[change], |tx| {
        audit::Row::new("checkout").id(path.as_str()).with("bytes", size).append(tx, caller)
    })?;
    Ok(PutOutcome::Written)
}
