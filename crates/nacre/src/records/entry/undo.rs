//! Everything that one session wrote to the entries, and its undo.
//!
//! An undo deletes nothing. Entries that the session stored are archived, the ones they superseded become current again,
//! and corrections in place go back to the text before. All of it stays in the history.

use super::change::{Edit, Origin, restore, same_content, update};
use super::{Entry, KIND, Version, select, versions};
use crate::base::Result;
use crate::base::caller::Visibility;
use crate::base::ids::{EntryId, EntryRef, SessionId};
use crate::index;
use crate::store::Connection;

/// The entries that a session wrote.
pub(crate) struct SessionWrites {
    /// Entries that it stored, oldest first.
    pub(crate) stored: Vec<Entry>,
    /// Entries of other sessions that it corrected last, each with the text before.
    pub(crate) corrected: Vec<(Entry, Version)>,
}

/// Returns the entries that a session wrote and that still exist.
pub(crate) fn writes(db: &Connection, session: &SessionId) -> Result<SessionWrites> {
    let stored = select(db, "session = $1 ORDER BY number", [session])?;
    let others =
        "session <> $1 AND id IN (SELECT entry FROM entry_history WHERE session = $1) ORDER BY number";
    let mut corrected = Vec::new();
    for entry in select(db, others, [session])? {
        // A later correction by another session is not this one's.
        if let Some(before) = versions(db, &entry.id)?.pop().filter(|version| version.session == *session) {
            corrected.push((entry, before));
        }
    }
    Ok(SessionWrites { stored, corrected })
}

/// The entries that an undo changed.
#[derive(Default)]
pub(crate) struct Undone {
    pub(crate) archived: Vec<EntryId>,
    pub(crate) restored: Vec<Entry>,
    pub(crate) reverted: Vec<Entry>,
    /// Entries of the session that other sessions have replaced since, or whose earlier text is stored elsewhere by now.
    pub(crate) kept: Vec<EntryId>,
}

/// Undoes what a session wrote.
pub(crate) fn undo(db: &Connection, origin: &Origin<'_>, session: &SessionId) -> Result<Undone> {
    let SessionWrites { stored, corrected } = writes(db, session)?;
    let mut undone = Undone::default();
    // The newest first: within one session an entry may have replaced another.
    for entry in stored.into_iter().rev() {
        // It may have changed since it was read: a newer entry of the session restored it.
        let Some(entry) = select(db, "id = $1", [&entry.id])?.pop() else { continue };
        if entry.superseded_at.is_some() {
            undone.kept.push(entry.id);
            continue;
        }
        if entry.archived_at.is_some() {
            continue;
        }
        db.run("UPDATE entries SET archived_at = $2 WHERE id = $1", (&entry.id, origin.now))?;
        index::set_live(db, KIND, entry.id.as_str(), false)?;
        undone.restored.extend(restore(db, &entry.id, None)?);
        undone.archived.push(entry.id);
    }
    // An entry of the session that came back and was archived again is not restored.
    undone.restored.retain(|entry| !undone.archived.contains(&entry.id));
    for (entry, before) in corrected {
        let taken =
            same_content(db, Visibility::Private, (&before.content, entry.data.as_ref()), Some(&entry.id))?;
        if entry.superseded_at.is_some() || taken.is_some() {
            undone.kept.push(entry.id);
            continue;
        }
        let edit = Edit {
            content: Some(before.content),
            tags: Some(before.tags),
            r#type: Some(before.r#type),
            private: Some(before.private),
            data: None,
        };
        undone.reverted.push(update(db, origin, &EntryRef::Id(entry.id), edit)?);
    }
    Ok(undone)
}
