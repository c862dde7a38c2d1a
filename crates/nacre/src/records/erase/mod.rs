//! Erases records for good, together with everything derived from them and with the data that other modules hold about
//! them. A tombstone keeps the text from coming back unasked, and the audit log has the receipt.

mod clause;
mod find;
mod record;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Map;

use super::workspace::change::{self, Change};
use super::workspace::{checkpoint, proposal};
use super::{entry, import, session, tombstone, workspace};
use crate::base::error::Kind;
use crate::base::ids::{EntryId, EntryRef};
use crate::base::redact::redact;
use crate::base::{Error, FilePath, Result, Time};
use crate::group::View;
use crate::records::entry::{Entry, ErasedEntry};
use crate::store::Connection;
use crate::store::audit;

use find::ForgetQuery;
pub(crate) use find::FoundRecord;
pub(crate) use record::RecordRef;
use record::Removals;

/// The proof of a deletion.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Receipt {
    /// How many records were deleted, derived ones included.
    pub records: usize,
    /// The row of the audit log that records it.
    pub audit_row: i64,
    /// The hash of that row.
    pub hash: String,
    /// When they were deleted.
    pub at: Time,
    /// The numbers of memories that have what stays of deleted ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<i64>,
    /// Places that still contain some of it, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub still_in: Vec<String>,
}

redact! { Receipt { hash, still_in / records, audit_row, at, kept } }

/// Deletes records for good, with everything derived from them.
pub(crate) fn delete(view: &mut View<'_>, records: &[RecordRef]) -> Result<Receipt> {
    let is_gone = |path: &FilePath| records.contains(&RecordRef::Document(path.clone()));
    let paths: Vec<FilePath> = records
        .iter()
        .filter_map(|record| match record {
            RecordRef::Document(path) => Some(path.clone()),
            _ => None,
        })
        .collect();
    change_documents(view, &paths, |path, text| if is_gone(path) { None } else { Some(text.to_owned()) })?;
    let records: Vec<(RecordRef, Option<String>)> = records.iter().map(|one| (one.clone(), None)).collect();
    erase_all(view, &records, "delete", None)
}

/// Finds every record that contains a matter.
pub(crate) fn matching(view: &View<'_>, matter: &str) -> Result<Vec<FoundRecord>> {
    match ForgetQuery::new(matter) {
        Some(mut found) => find::find(view, matter, &mut found),
        None => Ok(Vec::new()),
    }
}

/// Deletes everything that contains a matter. Of a document only the lines that contain it are removed, of a memory only the
/// statements; a checkpoint that contains it is deleted.
pub(crate) fn forget(view: &mut View<'_>, text: &str) -> Result<Receipt> {
    let Some(mut matter) = ForgetQuery::new(text) else {
        return Err(Error::NoRecord { given: text.to_owned() });
    };
    let found: Vec<(RecordRef, Option<String>)> =
        find::find(view, text, &mut matter)?.into_iter().map(|one| (one.record, one.rest)).collect();
    let paths: Vec<FilePath> = found
        .iter()
        .filter_map(|(record, _)| match record {
            RecordRef::Document(path) => Some(path.clone()),
            _ => None,
        })
        .collect();
    change_documents(view, &paths, |_, text| {
        let kept: Vec<&str> = text.split_inclusive('\n').filter(|line| !matter.is_in(line)).collect();
        (!kept.is_empty()).then(|| kept.concat())
    })?;
    let has_lines = session::remove_lines(view, &|_, _, line| matter.is_in(line))? > 0;
    let mut still_in = checkpoint::remove_containing(
        view,
        &|db| Ok(!find::in_database(db, &matter)?.is_empty()),
        &|text| text.lines().any(|line| matter.is_in(line)),
    )?;
    let mut receipt = erase_all(view, &found, "forget", Some(&Matter { text, query: &matter, has_lines }))?;
    receipt.still_in.append(&mut still_in);
    let left = find::find_as(view, &matter)?;
    receipt.still_in.extend(left.into_iter().map(|one| one.record.to_string()));
    Ok(receipt)
}

/// A matter that is forgotten.
struct Matter<'m> {
    /// The words of the person.
    text: &'m str,
    query: &'m ForgetQuery,
    /// Whether lines of transcripts had it. They may be in no record yet.
    has_lines: bool,
}

/// Changes documents, or deletes those for which `change` returns nothing.
fn change_documents(
    view: &mut View<'_>,
    paths: &[FilePath],
    change: impl Fn(&FilePath, &str) -> Option<String>,
) -> Result<()> {
    if paths.is_empty() {
        return Ok(());
    }
    let mut held = change::lock(view)?;
    let mut changes = Vec::new();
    for path in paths {
        let Some(before) = held.files().read(path, u64::MAX)? else { continue };
        let after = change(path, &String::from_utf8_lossy(&before)).map(String::into_bytes);
        changes.push(Change { path: path.clone(), before: Some(before), after });
    }
    held.commit("delete", &changes, |_| Ok(()))?;
    drop(held);
    workspace::sync(view).map(drop)
}

/// Erases records of the database and their files, buries their texts and writes the receipt. Each comes with the text that stays
/// of it, which becomes a memory of its own: nothing refers to the old one any more.
fn erase_all(
    view: &mut View<'_>,
    records: &[(RecordRef, Option<String>)],
    action: &str,
    matter: Option<&Matter<'_>>,
) -> Result<Receipt> {
    let caller = view.caller();
    let mut gone_files = 0;
    for (record, _) in records {
        match record {
            RecordRef::Session(id) => session::remove_files(view, id)?,
            RecordRef::Message(reference) if matter.is_none() => {
                let place = view.read_all(|db| record::session_and_message(db, reference))?;
                let Some((of, id)) = place else { continue };
                session::remove_lines(view, &|session, line, _| {
                    session == of && line.is_some_and(|line| line.id == id)
                })?;
            }
            RecordRef::Checkpoint(id) => drop(checkpoint::remove(view, id)?),
            RecordRef::Document(_) => {}
            _ => continue,
        }
        gone_files += usize::from(!matches!(record, RecordRef::Session(_) | RecordRef::Message(_)));
    }
    let (removed, kept, (audit_row, hash)) = view.write(|tx| {
        let mut removed = Removals::default();
        let mut rests = Vec::new();
        for (record, rest) in records {
            let before = match (record, rest) {
                (RecordRef::Entry(named), Some(rest)) => {
                    entry::get(tx, named).ok().map(|entry| (entry, rest))
                }
                _ => None,
            };
            let restored = removed.restored.len();
            match record::erase(tx, record, &mut removed) {
                // It went with a record before it.
                Err(error) if error.kind() == Kind::NotFound => {}
                erased => erased?,
            }
            rests.extend(before.map(|(entry, rest)| (entry, rest, removed.restored.split_off(restored))));
        }
        let mut kept = Vec::new();
        for (entry, rest, replaced) in rests {
            kept.push(keep(tx, caller.now, entry, rest, &replaced)?);
        }
        match matter {
            None => record::bury(tx, caller.now, &removed.texts)?,
            Some(Matter { text, query, has_lines }) => {
                sweep(tx, query)?;
                let is_said = *has_lines || removed.texts.iter().any(|one| query.is_in(one));
                match is_said && !query.is_loose() {
                    true => tombstone::bury_matter(tx, caller.now, text)?,
                    false => record::bury(tx, caller.now, &removed.texts)?,
                }
            }
        }
        let mut row = audit::Row::new(action).with("deleted", removed.ids.len() + gone_files);
        row.ids = removed.ids.iter().map(|gone| gone.reference.clone()).collect();
        row.append(tx, caller)?;
        Ok((removed, kept, audit::head(tx)?))
    })?;
    let mut still_in = finish(view, &removed.ids)?;
    still_in.sort();
    view.forget_state();
    view.tell_write(action, "", removed.ids.len());
    let records = removed.ids.len() + gone_files;
    Ok(Receipt { records, audit_row, hash, at: caller.now, kept, still_in })
}

/// Stores what stays of an erased memory in its place. Returns the number of the new memory.
fn keep(db: &Connection, now: Time, erased: Entry, rest: &str, replaced: &[i64]) -> Result<i64> {
    let id = EntryId::new(now);
    let kept = Entry { id, content: rest.to_owned(), supersedes: None, stale: Vec::new(), ..erased };
    let kept = entry::insert(db, kept, None)?;
    for number in replaced {
        // It was deleted too if it contained the matter.
        match entry::supersede(db, now, &EntryRef::Number(*number), &kept.id) {
            Err(error) if error.kind() == Kind::NotFound => {}
            done => drop(done?),
        }
    }
    Ok(kept.number)
}

/// Removes deleted records from the write-ahead log and from the checkpoints. Returns the places that still have them.
pub(crate) fn finish(view: &mut View<'_>, gone: &[checkpoint::DeletedRecord]) -> Result<Vec<String>> {
    let mut still_in: Vec<String> = match checkpoint::forget(view, gone) {
        Ok(left) => left.into_iter().map(|note| format!("checkpoint {}: {}", note.path, note.why)).collect(),
        Err(error) => vec![format!("checkpoints: {error}")],
    };
    // The text stays in the write-ahead log until that is truncated.
    if !view.forget_log()? {
        still_in.push(
            "the database file: another process is reading it; the text goes when that ends".to_owned(),
        );
    }
    Ok(still_in)
}

/// Removes a matter from rows that no person sees as records.
fn sweep(tx: &Connection, matter: &ForgetQuery) -> Result<()> {
    for (select, remove) in [
        ("SELECT session, state FROM turns", "DELETE FROM turns WHERE session = $1"),
        ("SELECT what, what || ' ' || reason FROM kept_out", "DELETE FROM kept_out WHERE what = $1"),
        ("SELECT name, name FROM authors", "DELETE FROM authors WHERE name = $1"),
        ("SELECT key, origin FROM imports", "UPDATE imports SET origin = '{}' WHERE key = $1"),
    ] {
        let rows: Vec<(String, String)> = tx.rows(select, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
        let keys: BTreeSet<&String> =
            rows.iter().filter(|(_, text)| matter.is_in(text)).map(|(key, _)| key).collect();
        for key in keys {
            tx.run(remove, [key])?;
        }
    }
    Ok(())
}

/// Deletes an entry permanently, with every trace of it.
pub(crate) fn entry(db: &Connection, named: &EntryRef) -> Result<ErasedEntry> {
    let erased = entry::delete(db, named)?;
    forget_traces(db, std::slice::from_ref(&erased))?;
    Ok(erased)
}

/// Erases a message whose line was removed from its transcript.
pub(crate) fn line(db: &Connection, reference: &str) -> Result<Vec<checkpoint::DeletedRecord>> {
    let mut removed = Removals::default();
    record::erase_line(db, reference, &mut removed)?;
    Ok(removed.ids)
}

/// Removes erased entries from proposals and imports. Only the import key stays, so that the entry is not
/// imported again.
fn forget_traces(db: &Connection, erased: &[ErasedEntry]) -> Result<()> {
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
        forget_traces(tx, &purged.erased)?;
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
        Err(Error::ReadOnly { .. } | Error::WriteRefused { .. }) => return Ok(0),
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
