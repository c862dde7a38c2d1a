//! Entries as other machines need them: everything that is not local to one machine. `records::sync` merges them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::change::{content_hash, identity, insert_version, insert_with, to_json, unsupersede};
use super::{Entry, EntryType, KIND, Provenance, Tags, VERSION_COLUMNS, Version, select, version_from_row};
use crate::base::ids::{EntryId, EntryRef, SessionId};
use crate::base::{Result, Time};
use crate::index::{Writer, lookup};
use crate::records::conflict::{self, StatementRef};
use crate::store::{Connection, ToSql};

/// An entry with its earlier texts, by content.
pub(crate) struct ReplicaEntry {
    pub(crate) entry: Entry,
    pub(crate) versions: BTreeMap<String, Version>,
}

/// Returns the key of an earlier text in the history of an entry.
fn version_key(version: &Version) -> String {
    let tags = version.tags.to_json();
    content_hash(&format!("{}\0{tags}\0{}", version.r#type, version.content))[..32].to_owned()
}

/// Returns all entries.
pub(crate) fn replicas(db: &Connection) -> Result<Vec<ReplicaEntry>> {
    let mut versions: BTreeMap<String, BTreeMap<String, Version>> = BTreeMap::new();
    let sql = format!("SELECT {VERSION_COLUMNS} FROM entry_history ORDER BY entry, version");
    let rows = db.rows(&sql, (), |row| Ok((row.get::<String>(6)?, version_from_row(row)?)))?;
    for (entry, version) in rows {
        versions.entry(entry).or_default().entry(version_key(&version)).or_insert(version);
    }
    let entries = select(db, "true ORDER BY number", ())?;
    let with_versions = |entry: Entry| {
        let versions = versions.remove(entry.id.as_str()).unwrap_or_default();
        ReplicaEntry { entry, versions }
    };
    Ok(entries.into_iter().map(with_versions).collect())
}

/// The field that says what an entry states.
pub(crate) const STATEMENT: &str = "statement";

/// The statement of an entry. It travels as a whole, so that an earlier statement is never mixed with a later one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Statement {
    r#type: EntryType,
    pub(crate) content: String,
    tags: Tags,
    pub(crate) private: bool,
}

impl Statement {
    fn of(entry: &Entry) -> Statement {
        let Entry { r#type, content, tags, private, .. } = entry.clone();
        Statement { r#type, content, tags, private }
    }

    /// Returns it as an earlier version of an entry, with its key in the history.
    pub(crate) fn into_version(self, until: Time, session: SessionId) -> (String, Version) {
        let Statement { r#type, content, tags, private } = self;
        let version = Version { r#type, content, tags, until, session, private };
        (version_key(&version), version)
    }
}

/// Returns the fields that travel. The number and when it was last shown are local, and the score is a sum.
pub(crate) fn to_fields(entry: &Entry) -> BTreeMap<String, Value> {
    let Provenance { session, timestamp, source, narrative_id, task_id, project, group: _ } =
        &entry.provenance;
    [
        (STATEMENT, json!(Statement::of(entry))),
        ("supersedes", json!(entry.supersedes)),
        ("superseded_by", json!(entry.superseded_by)),
        ("superseded_at", json!(entry.superseded_at)),
        ("archived_at", json!(entry.archived_at)),
        ("confirmed_at", json!(entry.last_hit_at)),
        ("data", json!(entry.data)),
        ("origin", json!(entry.origin)),
        ("session", json!(session)),
        ("created_at", json!(timestamp)),
        ("source", json!(source)),
        ("narrative_id", json!(narrative_id)),
        ("task_id", json!(task_id)),
        ("project", json!(project)),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

/// Reads an entry back from its fields; `None` if they are not those of an entry.
pub(crate) fn from_fields(id: &str, fields: &BTreeMap<String, Value>, score: i64) -> Option<Entry> {
    fn get<T: serde::de::DeserializeOwned>(fields: &BTreeMap<String, Value>, name: &str) -> Option<T> {
        T::deserialize(fields.get(name).unwrap_or(&Value::Null)).ok()
    }
    let Statement { r#type, content, tags, private } = get(fields, STATEMENT)?;
    Some(Entry {
        id: id.parse().ok()?,
        number: 0,
        r#type,
        content,
        tags,
        behavioral: r#type.behavioral(),
        score,
        supersedes: get(fields, "supersedes")?,
        superseded_by: get(fields, "superseded_by")?,
        superseded_at: get(fields, "superseded_at")?,
        archived_at: get(fields, "archived_at")?,
        last_hit_at: get(fields, "confirmed_at")?,
        last_returned_at: None,
        private,
        origin: get(fields, "origin")?,
        data: get(fields, "data")?,
        stale: Vec::new(),
        provenance: Provenance {
            session: get(fields, "session")?,
            group: String::new(),
            timestamp: get(fields, "created_at")?,
            source: get(fields, "source")?,
            narrative_id: get(fields, "narrative_id")?,
            task_id: get(fields, "task_id")?,
            project: get(fields, "project")?,
        },
    })
}

/// Writes an entry as the machines together have it. Of two current entries with the same text the older one stays current.
pub(crate) fn put_replica(
    db: &Connection,
    writer: &mut Writer<'_>,
    mut entry: Entry,
    versions: &BTreeMap<String, Version>,
) -> Result<()> {
    if entry.is_current() {
        let content = (entry.content.as_str(), entry.data.as_ref());
        for other in same_contents(db, content, &entry)? {
            let at = other.provenance.timestamp.max(entry.provenance.timestamp);
            if other.id < entry.id {
                (entry.superseded_by, entry.superseded_at) = (Some(other.id), Some(at));
                break;
            }
            let sql = "UPDATE entries SET superseded_by = $2, superseded_at = $3 WHERE id = $1";
            db.run(sql, (&other.id, &entry.id, at))?;
            writer.set_live(KIND, other.id.as_str(), false)?;
        }
    }
    let known = "SELECT EXISTS (SELECT 1 FROM entries WHERE id = $1)";
    let mut here: Vec<String> = Vec::new();
    if db.one(known, [&entry.id], |row| row.get(0))? {
        overwrite(db, writer, &entry)?;
        here.extend(super::versions(db, &entry.id)?.iter().map(version_key));
    } else {
        entry = insert_with(db, writer, entry, None)?;
    }
    let mut new: Vec<&Version> =
        versions.iter().filter(|(key, _)| !here.contains(key)).map(|(_, v)| v).collect();
    new.sort_by_key(|version| version.until);
    new.into_iter().try_for_each(|version| insert_version(db, &entry.id, version))
}

/// Returns the other current entries with this text that are as private.
fn same_contents(
    db: &Connection,
    content: (&str, Option<&super::Data>),
    entry: &Entry,
) -> Result<Vec<Entry>> {
    let condition =
        "folded = $1 AND superseded_at IS NULL AND archived_at IS NULL AND private = $2 AND id <> $3
        ORDER BY id";
    select(db, condition, (identity(content.0, content.1), entry.private, &entry.id))
}

/// Takes entries that are about to be written out of the comparison of texts: what they say now is out of date.
pub(crate) fn release_texts<'a>(db: &Connection, ids: impl IntoIterator<Item = &'a str>) -> Result<()> {
    let sql = "UPDATE entries SET folded = id WHERE id IN (SELECT key FROM json_each($1))";
    db.run(sql, [list(ids)?]).map(drop)
}

/// Returns ids as one parameter: thousands of statements would take longer than the work.
fn list<'a>(ids: impl IntoIterator<Item = &'a str>) -> Result<String> {
    let keys: BTreeMap<&str, u8> = ids.into_iter().map(|id| (id, 0)).collect();
    Ok(serde_json::to_string(&keys)?)
}

fn overwrite(db: &Connection, writer: &mut Writer<'_>, entry: &Entry) -> Result<()> {
    // One statement: between two, a text could be current twice.
    let sql = "UPDATE entries SET content = $2, folded = $3, tags = $4, type = $5, behavioral = $6, confirmed_at = $7, private = $8,
        data = $9, score = $10, archived_at = $11, supersedes = $12, superseded_by = $13, superseded_at = $14, session = $15,
        created_at = $16, source = $17, project = $18, origin = $19 WHERE id = $1";
    let Provenance { session, timestamp, source, project, .. } = &entry.provenance;
    let values: [&dyn ToSql; 19] = [
        &entry.id,
        &entry.content,
        &identity(&entry.content, entry.data.as_ref()),
        &entry.tags.to_json(),
        &entry.r#type,
        &entry.behavioral,
        &entry.last_hit_at,
        &entry.private,
        &to_json(entry.data.as_ref()),
        &entry.score,
        &entry.archived_at,
        &entry.supersedes,
        &entry.superseded_by,
        &entry.superseded_at,
        session,
        timestamp,
        source,
        project,
        &entry.origin,
    ];
    db.run(sql, values)?;
    writer.put(&entry.passage())
}

/// Repairs what two machines did to one entry at the same time: entries that supersede each other in a circle, where the oldest
/// becomes current again, and two successors of one entry, which become a conflict to settle.
pub(crate) fn settle_replicas(db: &Connection, now: Time, ids: &[EntryId]) -> Result<()> {
    let sql = "SELECT id FROM entries WHERE superseded_by IS NOT NULL AND id IN (SELECT key FROM json_each($1)) ORDER BY id";
    let superseded: Vec<EntryId> =
        db.rows(sql, [list(ids.iter().map(EntryId::as_str))?], |row| row.get(0))?;
    superseded.iter().try_for_each(|id| break_circle(db, id))?;
    // One look at all entries, whatever the number of new ones.
    let sql = "SELECT supersedes, id FROM entries WHERE superseded_at IS NULL AND archived_at IS NULL AND supersedes IN (SELECT supersedes
            FROM entries WHERE supersedes IS NOT NULL AND superseded_at IS NULL AND archived_at IS NULL
            GROUP BY supersedes HAVING count(*) > 1)
        ORDER BY supersedes, id";
    let successors: Vec<(String, EntryId)> = db.rows(sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let new: BTreeSet<&EntryId> = ids.iter().collect();
    let statement = |id: &EntryId| -> Result<Option<StatementRef>> {
        let found = lookup::live(db, KIND, id.as_str())?;
        Ok(found.map(|(text, _)| StatementRef::new(id.as_str(), &text)))
    };
    for rivals in successors.chunk_by(|(one, _), (other, _)| one == other) {
        for (place, (_, first)) in rivals.iter().enumerate() {
            for (_, second) in &rivals[place + 1..] {
                if !new.contains(first) && !new.contains(second) {
                    continue;
                }
                if let (Some(first), Some(second)) = (statement(first)?, statement(second)?) {
                    conflict::record(db, now, &second, &first)?;
                }
            }
        }
    }
    Ok(())
}

fn break_circle(db: &Connection, start: &EntryId) -> Result<()> {
    let sql = "SELECT superseded_by FROM entries WHERE id = $1";
    let (mut circle, mut at) = (vec![start.clone()], start.clone());
    loop {
        let next: Option<Option<EntryId>> = db.row(sql, [&at], |row| row.get(0))?;
        let Some(Some(next)) = next else { return Ok(()) };
        if next == *start {
            break;
        }
        // A circle that does not contain the start is found from one of its own entries.
        if circle.contains(&next) {
            return Ok(());
        }
        circle.push(next.clone());
        at = next;
    }
    let oldest = circle.iter().min().expect("it has the start");
    unsupersede(db, &EntryRef::Id(oldest.clone())).map(drop)
}
