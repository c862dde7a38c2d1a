//! Writes entries: store, update, reinforce, delete, purge, archive. Each function works inside the caller's
//! transaction.

use std::path::Path;

use super::{
    COLUMNS, Data, Entry, EntryType, IS_CURRENT_SQL, KIND, MAX_CONTENT_CHARS, Provenance, Source, Tags,
    Version, from_row, get, get_current, select,
};
use crate::base::caller::{Caller, Visibility};
use crate::base::ids::{EntryId, EntryRef, GroupName, ProjectName, SessionId};
use crate::base::origin::RecordOrigin;
use crate::base::settings::Rank;
use crate::base::{Error, Result, Time, frame, text};
use crate::index::{self, Writer};
use crate::records::conflict;
use crate::records::project::current;
use crate::records::tombstone::{self, Tombstones};
use crate::store::{Connection, ToSql};

/// The writer, from which the provenance of an entry is made.
pub(crate) struct Origin<'a> {
    pub(crate) now: Time,
    pub(crate) group: &'a GroupName,
    pub(crate) session: &'a SessionId,
    pub(crate) source: Source,
    pub(crate) origin: RecordOrigin,
    pub(crate) visibility: Visibility,
    /// Whether a new entry is private if the draft does not say so.
    pub(crate) private: bool,
    pub(crate) project: Place<'a>,
}

/// The project that new entries belong to.
pub(crate) enum Place<'a> {
    /// None, or not known.
    Unknown,
    /// That of the folder in which the writer works.
    Folder(&'a Path),
    /// The one that the writer named.
    Named(ProjectName),
}

impl Place<'_> {
    pub(crate) fn of_caller(caller: &Caller) -> Place<'_> {
        caller.project_folder.as_deref().map_or(Place::Unknown, Place::Folder)
    }

    /// Returns the project of a new entry. One that replaces another stays in the project of that one, unless the writer
    /// names it.
    fn of_entry(&self, db: &Connection, old: Option<&Entry>) -> Result<Option<ProjectName>> {
        match (self, old.and_then(|old| old.provenance.project.clone())) {
            (Place::Named(name), _) => Ok(Some(name.clone())),
            (_, Some(kept)) => Ok(Some(kept)),
            (Place::Folder(folder), None) => current::adopt(db, Some(folder)),
            (Place::Unknown, None) => Ok(None),
        }
    }
}

/// How a store treats a current entry that already has the same content.
pub(crate) enum OnDuplicate {
    /// Leave it unchanged.
    Keep,
    /// Apply this type, and the tags and privacy of the draft.
    Amend { r#type: Option<EntryType> },
}

/// An entry to be stored.
pub(crate) struct Draft {
    pub(crate) r#type: EntryType,
    pub(crate) content: String,
    pub(crate) tags: Tags,
    pub(crate) supersedes: Option<EntryRef>,
    /// `None` means: as private as the entry that it supersedes, or else as the writer's other entries.
    pub(crate) private: Option<bool>,
    pub(crate) data: Option<Data>,
    pub(crate) on_duplicate: OnDuplicate,
}

/// The outcome of storing a draft.
pub(crate) struct StoreOutcome {
    pub(crate) entry: Entry,
    /// Whether the content existed already; `entry` is then the existing entry.
    pub(crate) duplicate: bool,
    /// Whether the existing entry got a new type, tags or privacy from the draft.
    pub(crate) amended: bool,
    /// The entry that it superseded.
    pub(crate) superseded: Option<EntryId>,
}

/// Stores an entry, or finds the existing one with the same content.
pub(crate) fn store(db: &Connection, origin: &Origin<'_>, draft: Draft) -> Result<StoreOutcome> {
    let content = check_content(&draft.content)?;
    match origin.source {
        Source::Person => {
            tombstone::lift(db, &content)?;
        }
        _ => Tombstones::load(db)?.check(&content)?,
    }
    let old = draft.supersedes.as_ref().map(|named| get_current(db, named)).transpose()?;
    if let Some(same) = same_content(db, origin.visibility, (&content, draft.data.as_ref()), None)? {
        let old = old.filter(|old| old.id != same.id);
        if let Some(old) = &old {
            mark_superseded(db, old, &same.id, origin.now)?;
        }
        let (mut entry, amended) = amend(db, origin, same, &draft)?;
        // Whoever is trusted more and says the same vouches for it.
        if origin.origin < entry.origin {
            entry.origin = origin.origin;
            db.run("UPDATE entries SET origin = $2 WHERE id = $1", (&entry.id, entry.origin))?;
            index::set_origin(db, KIND, entry.id.as_str(), entry.origin)?;
        }
        return Ok(StoreOutcome { entry, duplicate: true, amended, superseded: old.map(|old| old.id) });
    }
    // An old source that is read again must not undo a correction; an agent that means it names what it replaces.
    if origin.source == Source::Agent
        && old.is_none()
        && let Some(by) = replaced_by(db, origin.visibility, (&content, draft.data.as_ref()))?
    {
        return Err(Error::ReplacedBefore { by });
    }
    let entry = Entry {
        id: EntryId::new(origin.now),
        number: 0,
        r#type: draft.r#type,
        content,
        tags: draft.tags,
        behavioral: draft.r#type.behavioral(),
        score: 0,
        supersedes: old.as_ref().map(|old| old.id.clone()),
        superseded_by: None,
        superseded_at: None,
        archived_at: None,
        last_hit_at: None,
        last_returned_at: None,
        origin: origin.origin,
        private: draft.private.unwrap_or(old.as_ref().map_or(origin.private, |old| old.private)),
        data: draft.data,
        stale: Vec::new(),
        provenance: Provenance {
            session: origin.session.clone(),
            group: origin.group.to_string(),
            timestamp: origin.now,
            source: origin.source,
            narrative_id: None,
            task_id: None,
            project: origin.project.of_entry(db, old.as_ref())?,
        },
    };
    if let Some(old) = &old {
        mark_superseded(db, old, &entry.id, origin.now)?;
    }
    let entry = insert(db, entry, None)?;
    Ok(StoreOutcome { superseded: entry.supersedes.clone(), entry, duplicate: false, amended: false })
}

/// Applies the type, tags and privacy of a draft to an entry that already has its content. Tags are added,
/// never removed.
fn amend(db: &Connection, origin: &Origin<'_>, same: Entry, draft: &Draft) -> Result<(Entry, bool)> {
    let OnDuplicate::Amend { r#type } = draft.on_duplicate else { return Ok((same, false)) };
    let tags = same.tags.with(&draft.tags);
    let edit = Edit {
        content: None,
        tags: (tags != same.tags).then_some(tags),
        r#type: r#type.filter(|given| *given != same.r#type),
        private: draft.private.filter(|given| *given != same.private),
        data: None,
    };
    if edit.tags.is_none() && edit.r#type.is_none() && edit.private.is_none() {
        return Ok((same, false));
    }
    Ok((update(db, origin, &EntryRef::Id(same.id), edit)?, true))
}

/// Inserts an entry with its passage. `number` is its number, if it already has one.
pub(crate) fn insert(db: &Connection, entry: Entry, number: Option<i64>) -> Result<Entry> {
    index::write(db, |writer| insert_with(db, writer, entry, number))
}

/// Inserts an entry like [`insert`], with a writer shared by several inserts.
pub(crate) fn insert_with(
    db: &Connection,
    writer: &mut Writer<'_>,
    mut entry: Entry,
    number: Option<i64>,
) -> Result<Entry> {
    let folded = identity(&entry.content, entry.data.as_ref());
    let tags = entry.tags.to_json();
    let data = to_json(entry.data.as_ref());
    let (column, parameter) = if number.is_some() { (", number", ", $23") } else { ("", "") };
    let sql = format!(
        "INSERT INTO entries (id, type, content, folded, tags, behavioral, score, supersedes, superseded_by, superseded_at,
            archived_at, created_at, confirmed_at, returned_at, session, source, narrative_id, task_id, private, data, project, origin{column})
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22{parameter})"
    );
    let mut values: Vec<&dyn ToSql> = vec![
        &entry.id,
        &entry.r#type,
        &entry.content,
        &folded,
        &tags,
        &entry.behavioral,
        &entry.score,
        &entry.supersedes,
        &entry.superseded_by,
        &entry.superseded_at,
        &entry.archived_at,
        &entry.provenance.timestamp,
        &entry.last_hit_at,
        &entry.last_returned_at,
        &entry.provenance.session,
        &entry.provenance.source,
        &entry.provenance.narrative_id,
        &entry.provenance.task_id,
        &entry.private,
        &data,
        &entry.provenance.project,
        &entry.origin,
    ];
    values.extend(number.as_ref().map(|number| number as &dyn ToSql));
    db.run(&sql, values.as_slice())?;
    // No `RETURNING` here: it opens a savepoint, at which the full-text index flushes its buffer.
    entry.number = db.one("SELECT number FROM entries WHERE id = $1", [&entry.id], |row| row.get(0))?;
    writer.put(&entry.passage())?;
    Ok(entry)
}

/// The changes of an update. Fields that are `None` stay unchanged.
pub(crate) struct Edit {
    pub(crate) content: Option<String>,
    pub(crate) tags: Option<Tags>,
    pub(crate) r#type: Option<EntryType>,
    pub(crate) private: Option<bool>,
    pub(crate) data: Option<Data>,
}

/// Changes an entry in place. The id and the score stay, and the earlier version is stored as history.
pub(crate) fn update(db: &Connection, origin: &Origin<'_>, named: &EntryRef, edit: Edit) -> Result<Entry> {
    let before = get_current(db, named)?;
    let mut entry = before.clone();
    if let Some(content) = edit.content {
        entry.content = check_content(&content)?;
        if origin.source != Source::Person {
            Tombstones::load(db)?.check(&entry.content)?;
        }
    }
    if let Some(tags) = edit.tags {
        entry.tags = tags;
    }
    if let Some(r#type) = edit.r#type {
        entry.r#type = r#type;
        entry.behavioral = r#type.behavioral();
    }
    entry.private = edit.private.unwrap_or(entry.private);
    // A new text is the writer's; a new tag does not make the text theirs.
    entry.origin = match entry.content == before.content {
        true => {
            entry.origin.weakest(if origin.origin.is_injectable() { entry.origin } else { origin.origin })
        }
        false => origin.origin,
    };
    entry.data = edit.data.or(entry.data);
    let same_as = (entry.content.as_str(), entry.data.as_ref());
    if let Some(same) = same_content(db, origin.visibility, same_as, Some(&entry.id))? {
        return Err(Error::SameContent { other: same.id });
    }
    if (&entry.content, &entry.tags, entry.r#type) != (&before.content, &before.tags, before.r#type) {
        let version = Version {
            r#type: before.r#type,
            content: before.content,
            tags: before.tags,
            until: origin.now,
            session: origin.session.clone(),
            private: before.private,
        };
        insert_version(db, &entry.id, &version)?;
    }
    // Whoever corrects an archived entry wants it back.
    (entry.last_hit_at, entry.archived_at) = (Some(origin.now), None);
    let sql = "UPDATE entries SET content = $2, folded = $3, tags = $4, type = $5, behavioral = $6, confirmed_at = $7, private = $8,
        data = $9, archived_at = NULL, origin = $10 WHERE id = $1";
    db.run(
        sql,
        (
            &entry.id,
            &entry.content,
            identity(&entry.content, entry.data.as_ref()),
            entry.tags.to_json(),
            entry.r#type,
            entry.behavioral,
            entry.last_hit_at,
            entry.private,
            to_json(entry.data.as_ref()),
            entry.origin,
        ),
    )?;
    index::put(db, &entry.passage())?;
    Ok(entry)
}

/// Appends an earlier version to the history of an entry.
pub(crate) fn insert_version(db: &Connection, entry: &EntryId, version: &Version) -> Result<()> {
    let sql = "INSERT INTO entry_history (entry, version, type, content, tags, until, session, private)
        SELECT $1, 1 + coalesce(max(version), 0), $2, $3, $4, $5, $6, $7 FROM entry_history WHERE entry = $1";
    let Version { r#type, content, tags, until, session, private } = version;
    db.run(sql, (entry, r#type, content, tags.to_json(), until, session, private))?;
    Ok(())
}

/// Records the narrative and the task in which a new entry was written.
pub(crate) fn set_context(
    db: &Connection,
    id: &EntryId,
    narrative: Option<&str>,
    task: Option<&str>,
) -> Result<()> {
    if narrative.is_none() && task.is_none() {
        return Ok(());
    }
    let sql = "UPDATE entries SET narrative_id = coalesce(narrative_id, $2), task_id = coalesce(task_id, $3) WHERE id = $1";
    db.run(sql, (id, narrative, task)).map(drop)
}

/// Changes an entry's score by `delta`, within its bound. A positive delta also restarts the recency clock.
pub(crate) fn reinforce(
    db: &Connection,
    now: Time,
    named: &EntryRef,
    delta: i64,
    rank: &Rank,
) -> Result<Entry> {
    // Praise brings an archived entry back.
    let mut entry = if delta > 0 { unarchive(db, now, named)? } else { get_current(db, named)? };
    entry.score = entry.score.saturating_add(delta);
    if rank.bound > 0 {
        entry.score = entry.score.clamp(-rank.bound, rank.bound);
    }
    if delta > 0 {
        entry.last_hit_at = Some(now);
    }
    let sql = "UPDATE entries SET score = $2, confirmed_at = $3 WHERE id = $1";
    db.run(sql, (&entry.id, entry.score, entry.last_hit_at))?;
    index::set_standing(db, KIND, entry.id.as_str(), entry.standing())?;
    Ok(entry)
}

/// A deleted entry, the texts that it had, their hashes, and the entries that are current again because it is gone.
pub(crate) struct ErasedEntry {
    pub(crate) entry: Entry,
    pub(crate) contents: Vec<String>,
    pub(crate) texts: Vec<String>,
    pub(crate) restored: Vec<Entry>,
}

/// Deletes an entry permanently: its row, earlier versions, links, passage, and words in the index.
/// `records::erase` removes it from other modules.
///
/// In the middle of a chain, its neighbours are linked to each other. At the end of a chain, the entries that it
/// superseded become current again, so deleting a wrong correction restores what it replaced.
pub(crate) fn delete(db: &Connection, named: &EntryRef) -> Result<ErasedEntry> {
    let entry = get(db, named)?;
    let contents = all_contents(db, &entry)?;
    let texts = contents.iter().map(|text| content_hash(text)).collect();
    let is_newest = entry.superseded_at.is_none();
    let predecessors = if is_newest { predecessors(db, &entry.id)? } else { Vec::new() };
    erase(db, &entry)?;
    let restored = restore_each(db, predecessors, entry.archived_at)?;
    Ok(ErasedEntry { entry, contents, texts, restored })
}

/// Makes the entries that `successor` superseded current again, or archived if `archived_at` says so. Returns them.
pub(crate) fn restore(db: &Connection, successor: &EntryId, archived_at: Option<Time>) -> Result<Vec<Entry>> {
    restore_each(db, predecessors(db, successor)?, archived_at)
}

fn predecessors(db: &Connection, successor: &EntryId) -> Result<Vec<Entry>> {
    select(db, "superseded_by = $1 ORDER BY number", [successor])
}

fn restore_each(db: &Connection, predecessors: Vec<Entry>, archived_at: Option<Time>) -> Result<Vec<Entry>> {
    let mut restored = Vec::new();
    for mut old in predecessors {
        // The same text may have been stored again since, and is current.
        let content = (old.content.as_str(), old.data.as_ref());
        if let Some(same) = same_content(db, Visibility::Private, content, Some(&old.id))? {
            db.run("UPDATE entries SET superseded_by = $2 WHERE id = $1", (&old.id, &same.id))?;
            continue;
        }
        (old.superseded_by, old.superseded_at, old.archived_at) = (None, None, archived_at);
        let sql =
            "UPDATE entries SET superseded_by = NULL, superseded_at = NULL, archived_at = $2 WHERE id = $1";
        db.run(sql, (&old.id, old.archived_at))?;
        index::set_live(db, KIND, old.id.as_str(), old.is_current())?;
        restored.push(old);
    }
    Ok(restored)
}

/// Supersedes a current entry by another entry that exists already.
pub(crate) fn supersede(db: &Connection, now: Time, old: &EntryRef, by: &EntryId) -> Result<Entry> {
    let old = get_current(db, old)?;
    mark_superseded(db, &old, by, now)?;
    Ok(old)
}

/// Makes a superseded entry current again. `None`: the same text is current elsewhere by now.
pub(crate) fn unsupersede(db: &Connection, named: &EntryRef) -> Result<Option<Entry>> {
    Ok(restore_each(db, vec![get(db, named)?], None)?.pop())
}

/// Archives an entry.
pub(crate) fn archive(db: &Connection, now: Time, id: &EntryId) -> Result<()> {
    db.run("UPDATE entries SET archived_at = $2 WHERE id = $1", (id, now))?;
    index::set_live(db, KIND, id.as_str(), false)
}

/// Makes an entry superseded by one that is not here.
pub(crate) fn supersede_without(db: &Connection, now: Time, id: &EntryId) -> Result<()> {
    db.run("UPDATE entries SET superseded_at = $2, archived_at = NULL WHERE id = $1", (id, now))?;
    index::set_live(db, KIND, id.as_str(), false)
}

/// Makes an archived entry current again. One that is current stays as it is.
pub(crate) fn unarchive(db: &Connection, now: Time, named: &EntryRef) -> Result<Entry> {
    let mut entry = get_current(db, named)?;
    if entry.archived_at.is_none() {
        return Ok(entry);
    }
    let content = (entry.content.as_str(), entry.data.as_ref());
    if let Some(same) = same_content(db, Visibility::Private, content, Some(&entry.id))? {
        return Err(Error::SameContent { other: same.id });
    }
    // It counts as confirmed: otherwise the next run of the size limit would archive it first.
    (entry.archived_at, entry.last_hit_at) = (None, Some(now));
    db.run("UPDATE entries SET archived_at = NULL, confirmed_at = $2 WHERE id = $1", (&entry.id, now))?;
    index::set_live(db, KIND, entry.id.as_str(), true)?;
    index::set_standing(db, KIND, entry.id.as_str(), entry.standing())?;
    Ok(entry)
}

/// Returns all contents that an entry has or had.
fn all_contents(db: &Connection, entry: &Entry) -> Result<Vec<String>> {
    let before = super::versions(db, &entry.id)?.into_iter().map(|version| version.content);
    Ok(before.chain([entry.content.clone()]).collect())
}

fn erase(db: &Connection, entry: &Entry) -> Result<()> {
    let id = &entry.id;
    index::remove(db, KIND, id.as_str())?;
    db.run("DELETE FROM entry_history WHERE entry = $1", [id])?;
    db.run("DELETE FROM mentions WHERE entry = $1", [id])?;
    db.run("DELETE FROM entry_links WHERE entry = $1 OR other = $1", [id])?;
    conflict::forget(db, id.as_str())?;
    db.run("UPDATE entries SET superseded_by = $2 WHERE superseded_by = $1", (id, &entry.superseded_by))?;
    if let Some(newer) = &entry.superseded_by {
        db.run("UPDATE entries SET supersedes = $2 WHERE id = $1", (newer, &entry.supersedes))?;
    }
    db.run("DELETE FROM entries WHERE id = $1", [id])?;
    Ok(())
}

/// How many days an entry waits in the archive before it is purged.
pub(crate) const PURGE_DELAY_DAYS: i64 = 7;

/// The entries that a purge moves to the archive, superseded before `$1`, and the ones that it deletes, archived before `$2`
/// as well. A time in the future comes from a clock that was wrong, and starts the wait again.
const TO_ARCHIVE: &str = "superseded_at < $1 AND (archived_at IS NULL OR archived_at > $3)";
const TO_DELETE: &str = "superseded_at < $1 AND archived_at < $2";

/// Tells whether a purge has anything to do.
pub(crate) fn is_purge_due(db: &Connection, before: Time, now: Time) -> Result<bool> {
    let sql = format!("SELECT EXISTS (SELECT 1 FROM entries WHERE ({TO_ARCHIVE}) OR ({TO_DELETE}))");
    db.one(&sql, (before, now.plus_days(-PURGE_DELAY_DAYS), now.plus_days(1)), |row| row.get(0))
}

/// The entries that a purge archived, and those that it deleted.
pub(crate) struct PurgeReport {
    pub(crate) archived: Vec<EntryId>,
    pub(crate) erased: Vec<ErasedEntry>,
}

/// Purges entries that were superseded before `before`, in two steps that are days apart: they are archived first, and
/// deleted by a later purge. A single start with a wrong clock deletes nothing.
pub(crate) fn purge(db: &Connection, before: Time, now: Time) -> Result<PurgeReport> {
    let due =
        select(db, &format!("{TO_DELETE} ORDER BY number"), (before, now.plus_days(-PURGE_DELAY_DAYS)))?;
    let erased = due.into_iter().map(|entry| delete(db, &EntryRef::Id(entry.id))).collect::<Result<_>>()?;
    let sql = format!("UPDATE entries SET archived_at = $2 WHERE {TO_ARCHIVE} RETURNING id");
    let mut archived: Vec<EntryId> = db.rows(&sql, (before, now, now.plus_days(1)), |row| row.get(0))?;
    archived.sort();
    Ok(PurgeReport { archived, erased })
}

/// Returns how many bytes the current entries take: their texts, tags and data.
pub(crate) fn current_bytes(db: &Connection) -> Result<u64> {
    let sql = format!("SELECT coalesce(sum({BYTES}), 0) FROM entries WHERE {IS_CURRENT_SQL}");
    Ok(u64::try_from(db.one(&sql, (), |row| row.get::<i64>(0))?).unwrap_or_default())
}

/// The bytes that one entry takes.
const BYTES: &str = "octet_length(content) + octet_length(tags) + coalesce(octet_length(data), 0)";

/// Archives current entries, those that rank lowest by score and recency first, until the rest fits into `max_bytes`. At
/// most `percent` of them go at once. Returns the ids.
pub(crate) fn archive_lowest(
    db: &Connection,
    now: Time,
    max_bytes: u64,
    percent: f64,
    rank: &Rank,
) -> Result<Vec<EntryId>> {
    let mut size = current_bytes(db)?;
    if size <= max_bytes {
        return Ok(Vec::new());
    }
    let mut current = select(db, IS_CURRENT_SQL, ())?;
    current.sort_by_cached_key(|entry| {
        let weight = entry.standing().weight(rank, now);
        // Weights are positive, so their bits sort like the numbers. Ties go to the older entry.
        (weight.to_bits(), entry.number)
    });
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count"
    )]
    let take = (current.len() as f64 * percent / 100.0).ceil() as usize;
    let mut ids = Vec::new();
    for entry in current.into_iter().take(take) {
        if size <= max_bytes {
            break;
        }
        let data = to_json(entry.data.as_ref()).map_or(0, |data| data.len());
        let bytes = entry.content.len() + entry.tags.to_json().len() + data;
        size = size.saturating_sub(bytes as u64);
        archive(db, now, &entry.id)?;
        ids.push(entry.id);
    }
    Ok(ids)
}

fn mark_superseded(db: &Connection, old: &Entry, by: &EntryId, now: Time) -> Result<()> {
    // In the archive it would have waited for its purge already.
    let sql = "UPDATE entries SET superseded_by = $2, superseded_at = $3, archived_at = NULL WHERE id = $1";
    db.run(sql, (&old.id, by, now))?;
    index::set_live(db, KIND, old.id.as_str(), false)
}

/// Returns another current entry with the same content that the session can see. A write never reveals or
/// changes an entry that the session can't see.
pub(crate) fn same_content(
    db: &Connection,
    visibility: Visibility,
    (content, data): (&str, Option<&Data>),
    except: Option<&EntryId>,
) -> Result<Option<Entry>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM entries WHERE folded = $1 AND superseded_at IS NULL AND archived_at IS NULL
            AND ($2 OR NOT private) AND id IS DISTINCT FROM $3 ORDER BY private LIMIT 1"
    );
    let values = (identity(content, data), visibility.is_private(), except);
    db.row(&sql, values, from_row)
}

/// Returns the number of the current entry that replaced the last one with the same content, as far as the session sees both.
fn replaced_by(
    db: &Connection,
    visibility: Visibility,
    (content, data): (&str, Option<&Data>),
) -> Result<Option<i64>> {
    let sql = "SELECT newer.number FROM entries JOIN entries AS newer ON newer.id = entries.superseded_by
        WHERE entries.folded = $1 AND ($2 OR NOT (entries.private OR newer.private))
            AND newer.superseded_at IS NULL AND newer.archived_at IS NULL ORDER BY entries.number DESC LIMIT 1";
    db.row(sql, (identity(content, data), visibility.is_private()), |row| row.get(0))
}

/// Checks the content of an entry and trims it. Content that is entirely injected text is refused; otherwise
/// all of it is stored.
pub(crate) fn check_content(content: &str) -> Result<String> {
    let content = content.trim();
    if content.is_empty() {
        return Err(Error::EmptyContent);
    }
    if frame::is_injected(content) {
        return Err(Error::Injected);
    }
    let length = content.chars().count();
    if length > MAX_CONTENT_CHARS {
        return Err(Error::ContentTooLong { length, limit: MAX_CONTENT_CHARS });
    }
    Ok(content.to_owned())
}

/// Returns the hash by which two entries count as the same: of the content, and of the owner if another
/// program set one.
pub(crate) fn identity(content: &str, data: Option<&Data>) -> String {
    match data {
        Some(Data { owner, .. }) if !owner.is_empty() => {
            let owner = serde_json::to_string(owner).expect("strings are JSON");
            blake3::hash(format!("{}\0{owner}", text::canonical(content)).as_bytes()).to_hex().to_string()
        }
        _ => content_hash(content),
    }
}

pub(super) fn to_json(data: Option<&Data>) -> Option<String> {
    data.map(|data| serde_json::to_string(data).expect("it is JSON"))
}

/// Returns the hash of the normalized content.
pub(crate) fn content_hash(content: &str) -> String {
    blake3::hash(text::canonical(content).as_bytes()).to_hex().to_string()
}
