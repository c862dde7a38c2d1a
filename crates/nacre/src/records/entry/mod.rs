//! Entries: typed memories with supersession and reinforcement.
//!
//! This file defines the entry and reads it; [`change`] writes it.

mod change;
pub(crate) mod link;
mod replica;
pub(crate) mod undo;

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::ops::ControlFlow;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Map;

use crate::base::ids::{EntryId, EntryRef, ProjectName, SessionId};
use crate::base::named::named;
use crate::base::origin::RecordOrigin;
use crate::base::redact::{self, Redact, redact};
use crate::base::schema::inline_schema;
use crate::base::sql::Problem;
use crate::base::{Error, Result, Time};
use crate::index::{Passage, Standing};
use crate::store::{Connection, FromSql, Params, Row, ToSql, Value};

pub(crate) use change::{
    Draft, Edit, ErasedEntry, OnDuplicate, Origin, Place, archive, archive_lowest, check_content,
    content_hash, current_bytes, delete, identity, insert, insert_version, insert_with, is_purge_due, purge,
    reinforce, restore, same_content, set_context, store, supersede, supersede_without, unarchive,
    unsupersede, update,
};

pub(crate) use replica::{
    ReplicaEntry, STATEMENT, Statement, from_fields, put_replica, release_texts, replicas, settle_replicas,
    to_fields,
};

/// The maximum length of an entry's content, in characters.
pub const MAX_CONTENT_CHARS: usize = 2_000;
/// The maximum number of tags of an entry.
pub const MAX_TAGS: usize = 10;
/// The maximum length of a tag, in characters.
pub const MAX_TAG_CHARS: usize = 50;

/// The passage kind of an entry.
pub(crate) const KIND: &str = "entry";

/// Defines an enum whose variants are stored in the database and in JSON by their lower-case name.
macro_rules! word_type {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ }) => {
        named! {
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
            #[serde(rename_all = "lowercase")]
            #[schemars(inline)]
            pub enum $name { $($(#[$variant_doc])* $variant = $word,)+ }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<$name, String> {
                let known = || $name::ALL.iter().map(|word| word.as_str()).collect::<Vec<_>>().join(", ");
                $name::of_name(text)
                    .ok_or_else(|| format!("`{}` is not one of {}", crate::base::text::shorten(text), known()))
            }
        }

        impl ToSql for $name {
            fn to_sql(&self) -> Value<'_> {
                Value::Text(self.as_str().into())
            }
        }

        impl FromSql for $name {
            fn from_sql(value: Value<'_>) -> Result<$name, Problem> {
                Ok(value.into_text()?.parse::<$name>()?)
            }
        }
    };
}

word_type! {
    /// The kind of an entry.
    EntryType {
        /// Something the user prefers.
        Preference = "preference",
        /// A statement about a person, a thing or a place.
        Fact = "fact",
        /// A rule to follow from now on.
        Instruction = "instruction",
        /// The current situation.
        Context = "context",
        /// A mistake of the agent, and what is right.
        Correction = "correction",
    }
}

impl EntryType {
    /// Returns whether entries of this type tell the agent how to act, so that they are shown as suggestions.
    pub fn behavioral(self) -> bool {
        matches!(self, EntryType::Preference | EntryType::Instruction | EntryType::Correction)
    }
}

word_type! {
    /// The origin of an entry. Nacre sets it, never the caller.
    Source {
        /// A person, on the command line or in the dashboard.
        Person = "person",
        /// An agent's tool call.
        Agent = "agent",
        /// Extracted from a conversation.
        Conversation = "conversation",
        /// Extracted from text.
        Extraction = "extraction",
        /// A summary of a session.
        Narrative = "narrative",
        /// Imported from another memory.
        Migration = "migration",
    }
}

/// Tags, given as an array or as one string with commas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Tags(Vec<String>);

impl Tags {
    /// Normalizes tags: trims them and removes duplicates. `Tags::problem` reports tags that are too many or
    /// too long.
    pub fn new(given: impl IntoIterator<Item = impl AsRef<str>>) -> Tags {
        let mut tags: Vec<String> = Vec::new();
        let mut seen: HashSet<String> = HashSet::new();
        for tag in given {
            let tag = tag.as_ref().split_whitespace().collect::<Vec<_>>().join(" ");
            if !tag.is_empty() && seen.insert(tag.to_ascii_lowercase()) {
                tags.push(tag);
            }
        }
        Tags(tags)
    }

    /// Returns the union of both sets of tags.
    pub(crate) fn with(&self, other: &Tags) -> Tags {
        Tags::new(self.iter().chain(other.iter()))
    }

    /// Iterates over the tags.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Returns whether there are no tags.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Describes the limit that these tags exceed, if any.
    pub(crate) fn problem(&self) -> Option<String> {
        if self.0.len() > MAX_TAGS {
            return Some(format!("has {} tags; the limit is {MAX_TAGS}", self.0.len()));
        }
        let long = self.0.iter().find(|tag| tag.chars().count() > MAX_TAG_CHARS)?;
        Some(format!("has a tag of {} characters; the limit is {MAX_TAG_CHARS}", long.chars().count()))
    }

    fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings are JSON")
    }
}

impl Redact for Tags {
    fn redact(&mut self) {
        self.0.redact();
    }
}

impl<'de> Deserialize<'de> for Tags {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tags, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum TagsInput {
            Array(Vec<String>),
            Text(String),
        }
        Ok(match TagsInput::deserialize(deserializer)? {
            TagsInput::Array(tags) => Tags::new(tags),
            TagsInput::Text(text) => Tags::new(text.split(',')),
        })
    }
}

inline_schema!(Tags, { "type": ["array", "string"], "items": { "type": "string" } });

/// Who wrote an entry, when and where. Nacre sets it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Provenance {
    #[expect(missing_docs)]
    pub session: SessionId,
    #[expect(missing_docs)]
    pub group: String,
    /// When the entry was written.
    pub timestamp: Time,
    #[expect(missing_docs)]
    pub source: Source,
    /// The narrative in which it was written.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub narrative_id: Option<String>,
    /// The task that led to it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub task_id: Option<String>,
    /// The project in which it was written.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub project: Option<ProjectName>,
}

/// One typed memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the field names are the JSON keys")]
pub struct Entry {
    pub id: EntryId,
    pub number: i64,
    pub r#type: EntryType,
    pub content: String,
    pub tags: Tags,
    pub behavioral: bool,
    pub score: i64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(skip)]
    pub supersedes: Option<EntryId>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(skip)]
    pub superseded_by: Option<EntryId>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(skip)]
    pub superseded_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(skip)]
    pub archived_at: Option<Time>,
    /// When it was last confirmed: reinforced or corrected.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(skip)]
    pub last_hit_at: Option<Time>,
    /// When it was last shown to an agent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(skip)]
    pub last_returned_at: Option<Time>,
    /// Its origin. The channel sets it.
    #[serde(default)]
    #[schemars(skip)]
    pub origin: RecordOrigin,
    /// Whether it is hidden from shared sessions.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    #[schemars(skip)]
    pub private: bool,
    /// Data that another program stores with the entry.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(skip)]
    pub data: Option<Data>,
    /// The things that it names and the repository of its project no longer has, such as `src/a.rs is gone`.
    #[serde(skip_serializing_if = "Vec::is_empty", skip_deserializing)]
    #[schemars(skip)]
    pub stale: Vec<String>,
    #[schemars(skip)]
    pub provenance: Provenance,
}

/// Data that another program stores with an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the field names are those of the other program")]
pub struct Data {
    /// The owner. Entries of different owners are never duplicates of each other.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub owner: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Map::is_empty", default)]
    pub metadata: Map<String, serde_json::Value>,
    /// The last day on which the entry is returned.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expires: Option<String>,
    /// The role of the speaker.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub role: Option<String>,
}

redact! {
    Entry {
        id, content, tags, supersedes, superseded_by, data, stale, provenance
        / number, r#type, behavioral, score, superseded_at, archived_at, last_hit_at, last_returned_at, origin,
        private
    }
    Provenance { session, group, narrative_id, task_id, project / timestamp, source }
    Data { owner, metadata, expires, role }
    Version { content, tags, session / r#type, until, private }
}

impl Entry {
    /// Returns whether the entry is neither superseded nor archived.
    pub fn is_current(&self) -> bool {
        self.superseded_at.is_none() && self.archived_at.is_none()
    }

    /// Returns the message it was taken out of, as `SESSION/MESSAGE`.
    pub fn cites(&self) -> Option<&str> {
        self.data.as_ref()?.metadata.get(CITES)?.as_str()
    }

    /// Says why it is not current, if it is not.
    pub(crate) fn past(&self) -> Option<&'static str> {
        match (self.superseded_at, self.archived_at) {
            (Some(_), _) => Some("superseded"),
            (None, Some(_)) => Some("archived"),
            (None, None) => None,
        }
    }

    /// Returns the part of its rank that does not depend on the query. Its age counts from the last
    /// confirmation, or else from its creation.
    pub(crate) fn standing(&self) -> Standing {
        Standing::new(self.score, self.last_hit_at.unwrap_or(self.provenance.timestamp))
    }

    /// Returns its passage for the index. Secrets are masked.
    fn passage(&self) -> Passage {
        let text = redact::text(&self.content).into_owned();
        Passage {
            title: redact::text(&self.tags.0.join(" ")).into_owned(),
            live: self.is_current(),
            origin: self.origin,
            standing: Some(self.standing()),
            ..Passage::new(KIND, self.id.to_string(), text, self.provenance.timestamp)
        }
    }
}

/// An earlier text of an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the field names are the JSON keys")]
pub struct Version {
    pub r#type: EntryType,
    pub content: String,
    pub tags: Tags,
    /// When it was replaced.
    pub until: Time,
    pub session: SessionId,
    /// Whether the entry was private then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
}

/// The condition for entries that are neither superseded nor archived.
const IS_CURRENT_SQL: &str = "superseded_at IS NULL AND archived_at IS NULL";

const COLUMNS: &str = "number, id, type, content, tags, behavioral, score, supersedes, superseded_by, superseded_at, archived_at,
    confirmed_at, returned_at, session, created_at, source, narrative_id, task_id, private, data,
    (SELECT value FROM meta WHERE key = 'group'), project, origin,
    (SELECT string_agg(name || coalesce(' is now ' || successor, ' is gone'), '\n' ORDER BY name) FROM mentions
        WHERE mentions.entry = entries.id AND gone_at IS NOT NULL AND NOT kept)";

fn from_row(row: &Row<'_>) -> Result<Entry> {
    Ok(Entry {
        number: row.get(0)?,
        id: row.get(1)?,
        r#type: row.get(2)?,
        content: row.get(3)?,
        tags: serde_json::from_str(row.text(4)?).unwrap_or_default(),
        behavioral: row.get(5)?,
        score: row.get(6)?,
        supersedes: row.get(7)?,
        superseded_by: row.get(8)?,
        superseded_at: row.get(9)?,
        archived_at: row.get(10)?,
        last_hit_at: row.get(11)?,
        last_returned_at: row.get(12)?,
        private: row.get(18)?,
        origin: row.get(22)?,
        data: serde_json::from_str(row.text(19)?).ok(),
        stale: row.text(23)?.lines().map(str::to_owned).collect(),
        provenance: Provenance {
            session: row.get(13)?,
            timestamp: row.get(14)?,
            source: row.get(15)?,
            narrative_id: row.get(16)?,
            task_id: row.get(17)?,
            group: row.text(20)?.to_owned(),
            project: row.get(21)?,
        },
    })
}

/// Returns the entries that match `condition`, which may end in an order and a limit.
fn select(db: &Connection, condition: &str, values: impl Params) -> Result<Vec<Entry>> {
    db.rows(&format!("SELECT {COLUMNS} FROM entries WHERE {condition}"), values, from_row)
}

/// Returns the entry with this id or number.
pub(crate) fn get(db: &Connection, named: &EntryRef) -> Result<Entry> {
    let found = match named {
        EntryRef::Id(id) => select(db, "id = $1", [id])?,
        EntryRef::Number(number) => select(db, "number = $1", [number])?,
    };
    found.into_iter().next().ok_or_else(|| Error::NoEntry { id: named.to_string() })
}

/// Returns the entry that a caller named, unless it was superseded. It may be archived.
pub(crate) fn get_current(db: &Connection, named: &EntryRef) -> Result<Entry> {
    let entry = get(db, named)?;
    if entry.superseded_at.is_none() {
        return Ok(entry);
    }
    match chain(db, &entry.id)?.pop() {
        Some(newest) if newest.superseded_at.is_none() => {
            Err(Error::AlreadySuperseded { id: entry.id, by: newest.id })
        }
        _ => Err(Error::SupersededByDeleted { id: entry.id }),
    }
}

/// The key in an entry's metadata that names the message it was taken out of.
pub(crate) const CITES: &str = "cites";

/// Returns the entries that were taken out of a message.
pub(crate) fn citing(db: &Connection, message: &str) -> Result<Vec<EntryId>> {
    let taken = select(db, "source = 'conversation' AND data IS NOT NULL", ())?;
    Ok(taken.into_iter().filter(|entry| entry.cites() == Some(message)).map(|entry| entry.id).collect())
}

/// Returns the number of the entry with this id.
pub(crate) fn number(db: &Connection, id: &str) -> Result<i64> {
    db.one("SELECT number FROM entries WHERE id = $1", [id], |row| row.get(0))
}

/// The project of an entry, and its owner in another program. The same words of another project or owner are about other things.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ownership {
    pub(crate) project: Option<ProjectName>,
    pub(crate) owner: BTreeMap<String, String>,
}

impl Ownership {
    /// Tells whether both are known and differ.
    pub(crate) fn differs(&self, other: &Ownership) -> bool {
        let other_project =
            self.project.is_some() && other.project.is_some() && self.project != other.project;
        let other_owner = !self.owner.is_empty() && !other.owner.is_empty() && self.owner != other.owner;
        other_project || other_owner
    }
}

/// Returns the project and the owner of an entry.
pub(crate) fn ownership(db: &Connection, id: &str) -> Result<Ownership> {
    let found = db.row("SELECT project, data FROM entries WHERE id = $1", [id], |row| {
        let data: Option<Data> = serde_json::from_str(row.text(1)?).ok();
        Ok(Ownership { project: row.get(0)?, owner: data.unwrap_or_default().owner })
    })?;
    Ok(found.unwrap_or_default())
}

/// Returns entries by id, in the given order. Ids without an entry are skipped.
pub(crate) fn get_all<'a>(db: &Connection, ids: impl IntoIterator<Item = &'a str>) -> Result<Vec<Entry>> {
    let sql = format!("SELECT {COLUMNS} FROM entries WHERE id = $1");
    ids.into_iter().filter_map(|id| db.row(&sql, [id], from_row).transpose()).collect()
}

/// Passes the current entries to `take`, newest first, until it returns false.
pub(crate) fn walk_current(db: &Connection, take: impl FnMut(Entry) -> bool) -> Result<()> {
    walk(db, IS_CURRENT_SQL, take)
}

fn walk(db: &Connection, condition: &str, mut take: impl FnMut(Entry) -> bool) -> Result<()> {
    let sql =
        format!("SELECT {COLUMNS} FROM entries WHERE {condition} ORDER BY created_at DESC, number DESC");
    db.each(&sql, (), |row| {
        Ok(if take(from_row(row)?) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })
}

/// Passes the current entries to `take`, behavioral ones first and then newest first, until it returns false.
/// Returns the number of current entries.
pub(crate) fn walk_behavioral_first(db: &Connection, mut take: impl FnMut(Entry) -> bool) -> Result<usize> {
    // Sorts by number alone: all entries are counted, but only a few texts are read.
    let order = "behavioral DESC, created_at DESC, number DESC";
    let numbers = format!("SELECT number FROM entries WHERE {IS_CURRENT_SQL} ORDER BY {order}");
    let whole = format!("SELECT {COLUMNS} FROM entries WHERE number = $1");
    let mut count = 0;
    let mut wanted = true;
    db.each(&numbers, (), |row| {
        count += 1;
        wanted = wanted && take(db.one(&whole, [row.get::<i64>(0)?], from_row)?);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(count)
}

/// The part of a current entry that decides its place in the brief.
pub(crate) struct Outline {
    pub(crate) number: i64,
    pub(crate) behavioral: bool,
    pub(crate) session: String,
    pub(crate) project: Option<ProjectName>,
    pub(crate) at: Time,
    pub(crate) standing: Standing,
    pub(crate) origin: RecordOrigin,
}

/// Returns the outlines of all current entries. Their texts are not read.
pub(crate) fn outlines(db: &Connection) -> Result<Vec<Outline>> {
    let sql = format!(
        "SELECT number, behavioral, session, project, created_at, score, coalesce(confirmed_at, created_at), origin
        FROM entries WHERE {IS_CURRENT_SQL} ORDER BY number"
    );
    db.rows(&sql, (), |row| {
        Ok(Outline {
            number: row.get(0)?,
            behavioral: row.get(1)?,
            session: row.get(2)?,
            project: row.get(3)?,
            at: row.get(4)?,
            standing: Standing::new(row.get(5)?, row.get(6)?),
            origin: row.get(7)?,
        })
    })
}

/// Passes all entries to `take`, newest first, including superseded and archived ones, until it returns
/// false.
pub(crate) fn newest_first(db: &Connection, take: impl FnMut(Entry) -> bool) -> Result<()> {
    walk(db, "true", take)
}

/// Returns the entries that can be read, in the order of their creation, and how many can't.
pub(crate) fn readable(db: &Connection) -> Result<(Vec<Entry>, usize)> {
    let numbers: Vec<i64> = db.rows("SELECT number FROM entries ORDER BY number", (), |row| row.get(0))?;
    let count = numbers.len();
    let entries: Vec<Entry> =
        numbers.into_iter().filter_map(|number| get(db, &EntryRef::Number(number)).ok()).collect();
    let unreadable = count - entries.len();
    Ok((entries, unreadable))
}

/// Returns all entries in the order of their creation.
pub(crate) fn all(db: &Connection) -> Result<Vec<Entry>> {
    select(db, "true ORDER BY number", ())
}

/// Returns the supersession chain of an entry, oldest first, including the entry itself.
pub(crate) fn chain(db: &Connection, id: &EntryId) -> Result<Vec<Entry>> {
    // UNION drops rows that were visited, so damaged links can't cause an endless loop.
    let members = "id IN (
        WITH RECURSIVE
            newer (id) AS (SELECT id FROM entries WHERE id = $1 UNION SELECT superseded_by FROM entries JOIN newer USING (id) WHERE superseded_by IS NOT NULL),
            older (id) AS (SELECT id FROM entries WHERE id = $1 UNION SELECT entries.id FROM entries JOIN older ON superseded_by = older.id)
        SELECT id FROM newer UNION SELECT id FROM older)";
    select(db, &format!("{members} ORDER BY created_at, number"), [id])
}

/// Returns the earlier versions of an entry, oldest first.
pub(crate) fn versions(db: &Connection, id: &EntryId) -> Result<Vec<Version>> {
    let sql = format!("SELECT {VERSION_COLUMNS} FROM entry_history WHERE entry = $1 ORDER BY version");
    db.rows(&sql, [id], version_from_row)
}

const VERSION_COLUMNS: &str = "type, content, tags, until, session, private, entry";

fn version_from_row(row: &Row<'_>) -> Result<Version> {
    Ok(Version {
        r#type: row.get(0)?,
        content: row.get(1)?,
        tags: serde_json::from_str(row.text(2)?).unwrap_or_default(),
        until: row.get(3)?,
        session: row.get(4)?,
        private: row.get(5)?,
    })
}

/// The number of entries by state.
#[derive(Clone, Copy, Debug, Serialize)]
#[expect(missing_docs, reason = "the field names say what they count")]
pub struct Counts {
    pub current: i64,
    pub superseded: i64,
    pub archived: i64,
}

pub(crate) fn counts(db: &Connection) -> Result<Counts> {
    let sql = "SELECT count(*) FILTER (WHERE superseded_at IS NULL AND archived_at IS NULL),
        count(*) FILTER (WHERE superseded_at IS NOT NULL), count(*) FILTER (WHERE archived_at IS NOT NULL AND superseded_at IS NULL)
        FROM entries";
    db.one(sql, (), |row| Ok(Counts { current: row.get(0)?, superseded: row.get(1)?, archived: row.get(2)? }))
}

/// Returns the number of current entries that were stored before a time, and since then neither shown to an agent nor
/// confirmed, and the oldest of them.
pub(crate) fn unused_since(db: &Connection, time: Time, most: usize) -> Result<(i64, Vec<Entry>)> {
    const IS_UNUSED_SQL: &str =
        "created_at < $1 AND coalesce(confirmed_at, 0) < $1 AND coalesce(returned_at, 0) < $1";
    let sql = format!("SELECT count(*) FROM entries WHERE {IS_CURRENT_SQL} AND {IS_UNUSED_SQL}");
    let count = db.one(&sql, [time], |row| row.get(0))?;
    let oldest =
        select(db, &format!("{IS_CURRENT_SQL} AND {IS_UNUSED_SQL} ORDER BY number LIMIT $2"), (time, most))?;
    Ok((count, oldest))
}

/// Returns the passages of all entries, to rebuild the index.
pub(crate) fn passages(db: &Connection) -> Result<Vec<Passage>> {
    Ok(all(db)?.iter().map(Entry::passage).collect())
}

/// Records when entries were last shown to agents. No ranking uses it.
pub(crate) fn note_returned<'a>(
    db: &Connection,
    shown: impl IntoIterator<Item = (&'a EntryId, &'a Time)>,
) -> Result<()> {
    for (id, at) in shown {
        db.run("UPDATE entries SET returned_at = $2 WHERE id = $1", (id, at))?;
    }
    Ok(())
}
