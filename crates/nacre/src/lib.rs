//! Nacre: persistent memory for AI agents, on the user's own machine. No LLM, no API key, no download.
//!
//! A [`Home`] is the folder that holds everything. A [`Group`] is the unit of isolation, with its own
//! database. An entry is one stored memory with a type. A passage is the searchable form of anything that a
//! search can find.
//!
//! A caller enters a group, and [`run()`] executes a typed request; [`call()`] does the same by name and
//! JSON. A write goes through these stages: request ▶ schema ▶ authorise ▶ limits ▶ owner module, audit and
//! passages in one transaction ▶ events ▶ redact. A read goes through: request ▶ schema ▶ authorise ▶ search
//! ▶ redact.
//!
//! ```
//! use nacre::call::{SearchRequest, StoreRequest};
//! use nacre::{Caller, Home, Outcome, SessionId, Settings, Time, run};
//!
//! # fn main() -> nacre::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let now = Time::from_millis(1_767_225_600_000);
//! let home = Home::new(folder.path(), Settings::default());
//! let mut group = home.group(&"main".parse()?, now)?;
//! let caller = Caller::agent(SessionId::new(now), now);
//!
//! let mut view = group.enter(&caller)?;
//!
//! run(&mut view, StoreRequest { content: "The user's dog is called Luna".into(), ..StoreRequest::default() })?;
//! let query = "what is the dog called?".into();
//! let reply = run(&mut view, SearchRequest { query, ..SearchRequest::default() })?;
//! let Outcome::Done(found) = reply.outcome else { unreachable!("a search waits for nobody") };
//! assert_eq!(found.hits[0].text, "The user's dog is called Luna");
//! # Ok(())
//! # }
//! ```
//!
//! The library is synchronous. It takes the time, the settings and the paths as arguments. It never prints,
//! and never reads the environment or the clock.

mod base;
mod context;
mod group;
mod index;
mod records;
mod search;
mod store;
pub mod tools;

pub use base::caller::{Actor, Caller, Role, Visibility};
pub use base::error::Kind;
pub use base::frame::{cut_injected, mark_injected, mark_request, strip_injected};
pub use base::ids::{BadId, CollectionName, EntryId, EntryRef, GroupName, ProjectName, SessionId, TaskId};
pub use base::member::{GroupRole, Member, MemberRole, MemberToken, Rights};
pub use base::origin::RecordOrigin;
pub use base::progress::{Progress, Unit};
pub use base::secret::Secret;
pub use base::text::percent_decode;
pub use base::{Calendar, Day, Error, Result, Settings, Time, Zone, diff, files, redact, zip};
pub use context::boot::{Boot, Part as BootPart};
pub use context::brief::{Brief, BriefEntry, MadeBy};
pub use context::{promote, turn};
pub use group::{Group, RunDistiller, View};
pub use index::embed::{Builtin, Embedder, http};
pub use index::fill::EmbeddingProgress;
pub use index::{MemoryBudget, ReembeddingProgress, Scope, embed};
pub use jiff::tz::TimeZone;
pub use records::entry::{
    Counts, Data as EntryData, Entry, EntryType, MAX_CONTENT_CHARS, MAX_TAG_CHARS, MAX_TAGS, Provenance,
    Source, Tags, Version,
};
pub use records::meter::TokenUse;
pub use records::relocate::{MoveReport, copy_group};
pub use records::workspace::{
    Checkpoint, CheckpointDiff, CheckpointFile, Checkpoints, FileDiff, FilePath, MemoryFile, Note,
    RestoreReport, Rows, StaleLine, SyncReport, TEMPLATES, TableDiff, Template, TemplateReport, checkpoint,
    daily, instructions,
};
pub use records::{
    collection, export, graph, import, past, project, reindex, reindex_with, session, stale, sync, workspace,
};
pub use search::{
    Contradiction, DocumentHit, EntryHit, GraphHit, GrepLine, Hit, ItemHit, MessageHit, NewerHit,
    PARTS as SCORE_PARTS, ScorePart, SearchResults, TaskHit, Why,
};
pub use store::{ServerFigures, ServerReport, event, on_long_wait, sqlite_version};
pub use tools as call;
pub use tools::home::{Home, SETTINGS_FILE};
pub use tools::status::{Documents, Status, status};
pub use tools::{
    Access, Answer, COMPAT_APIS, COMPAT_TOOLS, CompatApi, Form, Outcome, Reply, Request, TOOLS, Tool,
    Waiting, call, call_across, distil, maintain, run, run_json, spool, team, tool,
};

/// Proposals: writes that wait for a person.
pub mod proposal {
    pub use crate::records::workspace::proposal::*;
    pub use crate::tools::{answered, approve};
}

/// Settings: their values, and how layers are merged into them.
pub mod settings {
    pub use crate::base::settings::*;
    pub use crate::tools::settings::*;
}

/// Functions below the tools that the benchmarks measure. Not a stable interface.
#[doc(hidden)]
pub mod bench {
    pub use crate::records::claim::{Conflict, ConflictKind, Statement, compare, explain, weigh};
}

/// The instructions for an agent: when to recall, when to store, and what to leave out.
pub const SKILL: &str = include_str!("tools/skill.md");
