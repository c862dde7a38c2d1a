//! Nacre: persistent memory for AI agents, on the user's own machine. No LLM, no API key, no download.
//!
//! The words: a [`Home`] is the folder that holds everything; a [`Group`] is the unit of isolation, with a
//! database of its own; an entry is one typed memory; a passage is the searchable form of whatever can be
//! found.
//!
//! There are two paths, and both go through [`call()`]. Writing: request ▶ schema ▶ authorise ▶ limits ▶
//! owner module, audit and passages in one transaction ▶ events ▶ redact. Reading: request ▶ schema ▶
//! authorise ▶ search ▶ redact.
//!
//! ```
//! use nacre::{Caller, Home, SessionId, Settings, Time, call};
//! use serde_json::json;
//!
//! # fn main() -> nacre::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let now = Time::from_millis(1_767_225_600_000);
//! let home = Home::new(folder.path(), Settings::default());
//! let mut group = home.group(&"main".parse()?, now)?;
//! let caller = Caller::agent(SessionId::new(now), now);
//!
//! call(&mut group, &caller, "memory_store", json!({ "content": "The user's dog is called Luna", "tags": "dog, family" }))?;
//! let answer = call(&mut group, &caller, "memory_search", json!({ "query": "what is the dog called?" }))?;
//! assert_eq!(answer.data["hits"][0]["text"], "The user's dog is called Luna");
//! # Ok(())
//! # }
//! ```
//!
//! The library is synchronous. It takes the time, the settings and the paths as arguments; it never prints,
//! never reads the environment or the clock.

mod brief;
pub mod call;
mod checksum;
mod collection;
mod database;
pub mod diff;
mod embed;
mod entry;
mod error;
pub mod event;
mod export;
mod files;
pub mod graph;
mod group;
mod home;
mod ids;
pub mod import;
mod index;
pub mod maintain;
pub mod model;
pub mod project;
mod search;
mod secret;
pub mod session;
pub mod settings;
pub mod spool;
mod store;
mod text;
mod time;
pub mod turn;
mod visibility;
mod workspace;

pub use brief::{Brief, BriefEntry, MadeBy, mark_injected, strip_injected};
pub use call::{
    Access, Actor, Answer, Caller, DOOR_TOOLS, DOORS, Door, Role, TOOLS, Tool, call, call_across, tool,
};
pub use collection::{Collection, Indexed, Reading, Record as CollectionRecord};
pub use embed::{Builtin, Embedder, Installed, MiniLm, http};
pub use entry::{
    Counts, Data as EntryData, Entry, EntryType, MAX_CONTENT, MAX_TAG, MAX_TAGS, Provenance, Source, Tags,
    Version,
};
pub use error::{Error, Kind, Result};
pub use export::{Exported, Imported};
pub use group::{Documents, Embedded, Group, Status, Written};
pub use home::{Home, SETTINGS_FILE};
pub use ids::{CollectionName, EntryId, EntryRef, GroupName, ProjectName, SessionId, TaskId};
pub use index::{Renewed, Scope};
pub use jiff::tz::TimeZone;
pub use search::{
    DocumentHit, EntryHit, Found, GraphHit, Hit, ItemHit, MessageHit, PARTS as SCORE_PARTS, Part, TaskHit,
    Why,
};
pub use secret::Secret;
pub use settings::Settings;
pub use time::{Day, Time, Zone};
pub use visibility::Visibility;
pub use workspace::{
    Boot, Checkpoint, CheckpointDiff, Checkpoints, FileDiff, FileKept, FilePath, Laid, MemoryFile, Note,
    Part as BootPart, Restored, Rows, Stale, Synced, TEMPLATES, TableDiff, Template, daily,
    look_at_memory_file, promote, proposal,
};

/// What tells an agent when to recall, when to store, and what to leave out (B4).
pub const SKILL: &str = include_str!("skill.md");
