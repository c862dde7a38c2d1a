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

/// Deletes entries that were superseded long ago. Checking whether there are any costs no write.
pub(crate) fn purge(view: &mut View<'_>) -> Result<usize> {
    let now = view.now();
    let days = view.settings().entries.purge_superseded_days;
    if days == 0 || !view.is_on_disk() {
        return Ok(0);
    }
    let before = now.plus_days(-days);
    let due = "SELECT EXISTS (SELECT 1 FROM entries WHERE superseded_at < $1)";
    if !view.read_all(|db| db.one(due, [before], |row| row.get(0)))? {
        return Ok(0);
    }
    let purged = view.memory().write(now, |tx, _| {
        let erased = entry::delete_superseded(tx, before)?;
        forget(tx, &erased)?;
        let mut row = audit::Row::new("purge");
        row.ids.extend(erased.iter().map(|erased| erased.entry.id.to_string()));
        row.detail.insert("purged".into(), erased.len().into());
        audit::append_own(tx, now, &row)?;
        Ok(erased.len())
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
