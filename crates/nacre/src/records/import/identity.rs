//! Recognises an imported item (decision 0028) by a hash of its name at the source. The row also holds the
//! record it became here, and a hash of its content, so that a change at the source can be distinguished from
//! a change here.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::ids::EntryId;
use crate::base::named::named;
use crate::base::redact::redact;
use crate::base::{Result, Time};
use crate::store::Connection;

/// The origin of an imported record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The file, relative to the source.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The line of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Its id at the source.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The headings above it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub section: String,
    /// The author.
    #[serde(default)]
    pub author: Author,
}

named! {
    /// The author of an imported record, as far as the format tells.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Author {
        /// The user.
        User = "user",
        /// The user's agent.
        #[default]
        Agent = "agent",
        /// Anyone else: the text never instructs an agent.
        Others = "others",
    }
}

/// The origin of an entry, as it is shown.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Provenance {
    /// The format.
    pub format: String,
    /// Its place, its id there, and its author.
    #[serde(flatten)]
    #[schemars(with = "serde_json::Map<String, Value>")]
    pub origin: Origin,
    /// Its time at the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
    /// When it was last imported.
    pub imported_at: Time,
}

redact! {
    Provenance { format, origin / at, imported_at }
    Origin { path, id, section / line, author }
}

/// The stored state of an item.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) key: String,
    pub(super) kind: String,
    pub(super) reference: String,
    /// Whether the import created the record.
    pub(super) own: bool,
    pub(super) hash: String,
    pub(super) section: String,
}

/// Returns a hash of names.
pub(super) fn hash(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// Returns the stored state of the items of a part, by key.
pub(super) fn of_part(db: &Connection, format: &str, part: &str) -> Result<HashMap<String, Row>> {
    let sql =
        "SELECT key, kind, ref, own, hash, origin FROM imports WHERE format = $1 AND part = $2 ORDER BY key";
    let rows = db.rows(sql, (format, part), |row| {
        let origin: Origin = serde_json::from_str(row.text(5)?).unwrap_or_default();
        let known = Row {
            key: row.get(0)?,
            kind: row.get(1)?,
            reference: row.get(2)?,
            own: row.get(3)?,
            hash: row.get(4)?,
            section: origin.section,
        };
        Ok((known.key.clone(), known))
    })?;
    Ok(rows.into_iter().collect())
}

/// A row to write.
pub(super) struct NewRow<'a> {
    pub(super) format: &'a str,
    pub(super) key: &'a str,
    pub(super) part: &'a str,
    pub(super) kind: &'a str,
    pub(super) reference: &'a str,
    pub(super) own: bool,
    pub(super) hash: &'a str,
    pub(super) origin: &'a Origin,
    pub(super) at: Option<Time>,
    pub(super) now: Time,
}

pub(super) fn put(db: &Connection, new: &NewRow<'_>) -> Result<()> {
    let NewRow { format, key, part, kind, reference, own, hash, origin, at, now } = new;
    let origin = serde_json::to_string(origin)?;
    let sql = "INSERT INTO imports (format, key, part, kind, ref, own, hash, origin, at, imported_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (format, key) DO UPDATE SET part = excluded.part,
        kind = excluded.kind, ref = excluded.ref, own = excluded.own, hash = excluded.hash, origin = excluded.origin,
        at = excluded.at, imported_at = excluded.imported_at";
    db.run(sql, (format, key, part, kind, reference, own, hash, origin, at, now))?;
    Ok(())
}

/// Returns the fact that an item became.
pub(super) fn reference(db: &Connection, format: &str, key: &str) -> Result<Option<String>> {
    let sql = "SELECT ref FROM imports WHERE format = $1 AND key = $2 AND kind = 'fact'";
    db.row(sql, (format, key), |row| row.get(0))
}

/// Forgets an item.
pub(super) fn drop(db: &Connection, format: &str, key: &str) -> Result<()> {
    db.run("DELETE FROM imports WHERE format = $1 AND key = $2", (format, key))?;
    Ok(())
}

/// Records that an entry was permanently deleted: only the fact that it was imported once is kept, so that it
/// is not imported again.
pub(crate) fn forget(db: &Connection, entry: &EntryId) -> Result<()> {
    let sql = "UPDATE imports SET hash = '', origin = '{}', at = NULL WHERE kind = 'entry' AND ref = $1";
    db.run(sql, [entry])?;
    Ok(())
}

/// Returns the origin of an entry, if it was imported.
pub(crate) fn of_entry(db: &Connection, entry: &EntryId) -> Result<Option<Provenance>> {
    let sql = "SELECT format, origin, at, imported_at FROM imports WHERE kind = 'entry' AND ref = $1
        ORDER BY own DESC, imported_at LIMIT 1";
    db.row(sql, [entry], |row| {
        let origin = serde_json::from_str(row.text(1)?).unwrap_or_default();
        Ok(Provenance { format: row.get(0)?, origin, at: row.get(2)?, imported_at: row.get(3)? })
    })
}

/// Returns the folder of the source with this name.
pub(super) fn source(db: &Connection, format: &str, name: &str) -> Result<Option<String>> {
    let sql = "SELECT ref FROM imports WHERE format = $1 AND key = $2 AND kind = 'source'";
    db.row(sql, (format, hash(&["source", name])), |row| row.get(0))
}

pub(super) fn name_source(db: &Connection, format: &str, name: &str, path: &str, now: Time) -> Result<()> {
    let (key, origin) = (hash(&["source", name]), Origin::default());
    let new = NewRow {
        format,
        key: &key,
        part: "",
        kind: "source",
        reference: path,
        own: true,
        hash: "",
        origin: &origin,
        at: None,
        now,
    };
    put(db, &new)
}
