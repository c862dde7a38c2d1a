//! The status of a group: counts, sizes and the state of its index.

use std::fs;
use std::path::PathBuf;

use serde::Serialize;

use crate::base::ids::GroupName;
use crate::base::{Result, Time};
use crate::group::View;
use crate::index::fill::{EmbeddingProgress, embedded};
use crate::index::{self, ReembeddingProgress};
use crate::records::distil::{self, DistilState};
use crate::records::entry::{self, Counts};
use crate::records::meter::{self, TokenUse};
use crate::records::{graph, workspace};
use crate::store::Connection;

/// The status of a group.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Status {
    pub group: GroupName,
    pub folder: PathBuf,
    pub profile: String,
    pub entries: Counts,
    /// The bytes that current entries take, and how many they may take; absent where there is no limit.
    pub entry_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry_limit: Option<u64>,
    pub documents: Documents,
    pub graph: graph::Counts,
    pub collections: i64,
    pub projects: i64,
    pub items: i64,
    pub tasks: i64,
    pub passages: i64,
    /// Whether the index was built by another version's analyser, or for another language.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
    /// The progress of re-embedding for this version's built-in model; absent if it is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vectors: Option<ReembeddingProgress>,
    /// The progress of the provider's embeddings; absent without a provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedded: Option<EmbeddingProgress>,
    pub audit_rows: i64,
    pub last_write: Option<Time>,
    pub database_bytes: u64,
    pub schema: usize,
    pub sqlite: &'static str,
    /// Damaged databases that were quarantined.
    pub set_aside: Vec<PathBuf>,
    /// Proposals that wait for a person.
    pub pending: i64,
    /// The tokens that language models used today; absent if there was no request and there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenUse>,
    /// Conversations that are to be distilled; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distil: Option<DistilState>,
    /// Pairs of statements that contradict each other.
    pub conflicts: usize,
    /// Memories that name something that the repository of their project no longer has.
    pub stale_memories: usize,
    /// Why edits of tasks.json or items.json are not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub file_problems: Vec<String>,
    /// The last sessions that were shown details of the infrastructure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub infrastructure_seen: Vec<String>,
}

/// How many documents are indexed.
#[derive(Clone, Copy, Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Documents {
    pub indexed: i64,
    pub chunks: i64,
    /// Files that can't be indexed; `nacre index` says why.
    pub skipped: i64,
}

fn documents(db: &Connection) -> Result<Documents> {
    let sql = "SELECT count(*) FILTER (WHERE hash <> ''), coalesce(sum(chunks), 0), count(*) FILTER (WHERE hash = '')
        FROM documents";
    db.one(sql, (), |row| Ok(Documents { indexed: row.get(0)?, chunks: row.get(1)?, skipped: row.get(2)? }))
}

fn count(db: &Connection, table: &str) -> Result<i64> {
    db.one(&format!("SELECT count(*) FROM {table}"), (), |row| row.get(0))
}

/// Returns the status of a group.
pub fn status(view: &View<'_>) -> Result<Status> {
    // The size of the file, the audit log and the time of the last write tell of private writes too.
    let is_whole = view.visibility().is_private();
    let database_bytes = if is_whole { view.bytes()? } else { 0 };
    view.read(|db| {
        let newest: Option<Time> = db.one("SELECT max(at) FROM audit", (), |row| row.get(0))?;
        Ok(Status {
            group: view.name().clone(),
            folder: view.folder().to_owned(),
            profile: view.settings().profile.clone(),
            entries: entry::counts(db)?,
            entry_bytes: entry::current_bytes(db)?,
            entry_limit: view.settings().entries.max_bytes(),
            documents: documents(db)?,
            graph: graph::counts(db)?,
            collections: count(db, "collections")?,
            projects: count(db, "projects")?,
            items: count(db, "items")?,
            tasks: count(db, "tasks")?,
            passages: count(db, "passages")?,
            stale: index::stale(db, view.settings().search.language())?.words && view.is_on_disk(),
            vectors: index::renewed(db)?,
            embedded: view
                .services()
                .embedder
                .as_deref()
                .map(|embedder| embedded(db, embedder))
                .transpose()?,
            audit_rows: if is_whole { count(db, "audit")? } else { 0 },
            last_write: newest.filter(|_| is_whole),
            database_bytes,
            schema: view.schema().migrations.steps.len(),
            sqlite: crate::store::sqlite_version(),
            set_aside: set_aside(view),
            pending: count(db, "proposals WHERE state = 'pending'")?,
            tokens: Some(meter::today(view, db)?).filter(|used| used.requests > 0 || used.limit > 0),
            distil: Some(distil::state(db)?).filter(|state| *state != DistilState::default()),
            conflicts: super::conflict::count(db)?,
            stale_memories: crate::records::stale::count(db)?,
            file_problems: crate::records::project::live::problems_in(db)?
                .into_iter()
                .map(|(_, problem)| problem)
                .collect(),
            infrastructure_seen: workspace::seen::sessions(db, 20)?,
        })
    })
}

/// Says that a damaged database was set aside, while it is there: what it held may be missing from every answer.
pub(super) fn damage_note(view: &View<'_>) -> Option<&'static str> {
    let note = "a damaged database was set aside; `nacre doctor` says how to save what it has";
    (!set_aside(view).is_empty()).then_some(note)
}

/// Returns the quarantined databases, including those of which only the log is left.
fn set_aside(view: &View<'_>) -> Vec<PathBuf> {
    let files = fs::read_dir(view.folder()).into_iter().flatten().flatten().map(|found| found.path());
    let mut aside: Vec<PathBuf> = files
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?;
            let database = name.strip_suffix("-wal").unwrap_or(name);
            let ours = database.starts_with("damaged-") && database.ends_with(".db");
            ours.then(|| path.with_file_name(database))
        })
        .collect();
    aside.sort();
    aside.dedup();
    aside
}
