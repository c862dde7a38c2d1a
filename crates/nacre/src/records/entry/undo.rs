//! Everything that one session wrote to the entries, and its undo.
//!
//! An undo deletes nothing. Entries that the session stored are archived, the ones they superseded become current again,
//! and corrections in place go back to the text before. All of it stays in the history.

use super::change::{Edit, Origin, archive, restore, same_content, update};
use super::{Entry, IS_CURRENT_SQL, Version, select, versions};
use crate::base::Result;
use crate::base::caller::Visibility;
use crate::base::ids::{EntryId, EntryRef, SessionId};
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
    Ok(SessionWrites { stored, corrected: corrected(db, session)? })
}

/// Returns the entries of other sessions that a session corrected last, each with the text before its corrections.
fn corrected(db: &Connection, session: &SessionId) -> Result<Vec<(Entry, Version)>> {
    let others =
        "session <> $1 AND id IN (SELECT entry FROM entry_history WHERE session = $1) ORDER BY number";
    let mut corrected = Vec::new();
    for entry in select(db, others, [session])? {
        // A later correction by another session is not this one's.
        let own =
            versions(db, &entry.id)?.into_iter().rev().take_while(|version| version.session == *session);
        corrected.extend(own.last().map(|before| (entry, before)));
    }
    Ok(corrected)
}

/// The entries that an undo changed.
#[derive(Default)]
pub(crate) struct UndoReport {
    pub(crate) archived: Vec<EntryId>,
    pub(crate) restored: Vec<Entry>,
    pub(crate) reverted: Vec<Entry>,
    /// Entries of the session that other sessions have replaced since, or whose earlier text is stored elsewhere by now.
    pub(crate) kept: Vec<EntryId>,
}

/// Undoes what a session wrote.
pub(crate) fn undo(db: &Connection, origin: &Origin<'_>, session: &SessionId) -> Result<UndoReport> {
    let mut undone = UndoReport::default();
    // Within one session an entry may have replaced another, which comes back and is archived in turn.
    let current = format!("session = $1 AND {IS_CURRENT_SQL} ORDER BY number DESC LIMIT 1");
    while let Some(entry) = select(db, &current, [session])?.pop() {
        archive(db, origin.now, &entry.id)?;
        undone.restored.extend(restore(db, &entry.id, None)?);
        undone.archived.push(entry.id);
    }
    undone.restored.retain(|entry| !undone.archived.contains(&entry.id));
    let replaced = select(db, "session = $1 AND superseded_at IS NOT NULL ORDER BY number", [session])?;
    undone.kept.extend(replaced.into_iter().map(|entry| entry.id));
    for (entry, before) in corrected(db, session)? {
        if (entry.r#type, &entry.content, &entry.tags) == (before.r#type, &before.content, &before.tags) {
            continue;
        }
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
        undone.reverted.push(update(db, origin, &EntryRef::Id(entry.id.clone()), edit)?);
        // A correction brings an archived entry back, but its undo does not.
        if let Some(archived_at) = entry.archived_at {
            archive(db, archived_at, &entry.id)?;
        }
    }
    Ok(undone)
}
