//! Erases entries together with the data that other modules hold about them: proposals that would have stored
//! them, and their import origin.

use serde_json::Map;

use super::workspace::proposal;
use super::{entry, import};
use crate::base::ids::EntryRef;
use crate::base::{Error, Result};
use crate::group::View;
use crate::records::entry::ErasedEntry;
use crate::store::Connection;
use crate::store::audit;

/// Deletes an entry permanently, with every trace of it.
pub(crate) fn entry(db: &Connection, named: &EntryRef) -> Result<ErasedEntry> {
    let erased = entry::delete(db, named)?;
    forget(db, std::slice::from_ref(&erased))?;
    Ok(erased)
}

/// Removes erased entries from proposals and imports. Only the import key stays, so that the entry is not
/// imported again.
fn forget(db: &Connection, erased: &[ErasedEntry]) -> Result<()> {
    let texts: Vec<String> = erased.iter().flat_map(|erased| erased.texts.clone()).collect();
    if !texts.is_empty() {
        proposal::forget(db, "main", &texts)?;
    }
    erased.iter().try_for_each(|erased| import::forget(db, &erased.entry.id))
}

/// Archives and later deletes what was superseded long ago, if there is any: looking costs no write. Returns how many
/// entries were deleted.
pub(crate) fn purge(view: &mut View<'_>) -> Result<usize> {
    let now = view.now();
    let days = view.settings().entries.purge_superseded_days;
    if days == 0 || !view.is_on_disk() {
        return Ok(0);
    }
    let before = now.plus_days(-days);
    if !view.read_all(|db| entry::is_purge_due(db, before, now))? {
        return Ok(0);
    }
    let purged = view.memory().write(now, |tx, _| {
        let purged = entry::purge(tx, before, now)?;
        forget(tx, &purged.erased)?;
        let mut row = audit::Row::new("purge");
        row.ids.extend(purged.erased.iter().map(|erased| erased.entry.id.to_string()));
        row.ids.extend(purged.archived.iter().map(ToString::to_string));
        row.detail.insert("purged".into(), purged.erased.len().into());
        row.detail.insert("archived".into(), purged.archived.len().into());
        audit::append_own(tx, now, &row)?;
        Ok(purged.erased.len())
    });
    let purged = match purged {
        // A read-only home can still be read.
        Err(Error::ReadOnly { .. }) => return Ok(0),
        purged => purged?,
    };
    let data = Map::from_iter([("type".into(), "purge".into()), ("purged".into(), purged.into())]);
    view.tell("memory:write", data);
    Ok(purged)
}

/// Runs the purge when a database is opened.
pub(crate) fn purge_on_open(view: &mut View<'_>) -> Result<()> {
    purge(view).map(drop)
}
