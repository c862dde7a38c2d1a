//! Other memories brought in (I5): a source ▶ the reader of its format ▶ items ▶ entries, documents, the graph, sessions.
//!
//! A format is one row of [`FORMATS`] and one file here. Its reader walks the source and hands items to the `Sink`, part by
//! part: a part is a file or a record, read to its end. `take` makes of each item what it becomes here. `identity` knows an
//! item again, so that twice is once and a change at the source is a change here.
//!
//! All of it is other people's text: nothing stops the reading but a source that is none of the format, and whatever is
//! passed over is counted by its reason and named.

mod chat;
mod claude_code;
mod codex;
mod gemini;
mod identity;
mod markdown;
mod mcp_memory;
mod mem0;
mod openclaw;
mod source;
mod take;
mod vault;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::base::caller::Visibility;
use crate::base::progress::{Progress, Unit};
use crate::base::{Error, Result};
use crate::group::View;
use crate::records::session::Recorded;
use crate::records::workspace;
use crate::store::audit;

pub use identity::{Author, Imported as Provenance, Origin};
pub(crate) use identity::{forget, of_entry};
use source::Source;
use take::Sink;

/// A memory of another program that can be brought in.
pub struct Format {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What is read.
    pub reads: &'static str,
    /// What becomes of it.
    pub becomes: &'static str,
    /// Where it usually stands below the person's own folder, the best first.
    pub usual: &'static [&'static str],
    /// What of a folder is meant, where it has that.
    inner: &'static str,
    /// Its items are known by where they stand in it, so that its name must mean one source.
    named: bool,
    /// Tells whether a file or folder is of this format.
    claims: fn(&Path) -> bool,
    read: fn(&Source, &mut Sink<'_>) -> Result<()>,
}

/// All formats. `nacre import` lists them, and a test walks them.
pub const FORMATS: &[Format] = &[
    Format {
        name: "openclaw",
        reads: "a workspace of OpenClaw",
        becomes: "MEMORY.md and memory/*.md: entries; USER.md, SOUL.md and the like: documents",
        usual: &[".openclaw/workspace"],
        inner: "workspace",
        named: true,
        claims: openclaw::claims,
        read: openclaw::read,
    },
    Format {
        name: "claude-code",
        reads: "the memory folders of Claude Code",
        becomes: "one entry a file, links to the graph",
        usual: &[".claude/projects"],
        inner: "projects",
        named: false,
        claims: claude_code::claims,
        read: claude_code::read,
    },
    Format {
        name: "codex",
        reads: "the memories folder of Codex",
        becomes: "MEMORY.md: entries; summaries: documents",
        usual: &[".codex/memories"],
        inner: "memories",
        named: true,
        claims: codex::claims,
        read: codex::read,
    },
    Format {
        name: "gemini",
        reads: "GEMINI.md of Gemini CLI",
        becomes: "added memories: entries; the rest: a document",
        usual: &[".gemini/GEMINI.md"],
        inner: "GEMINI.md",
        named: true,
        claims: gemini::claims,
        read: gemini::read,
    },
    Format {
        name: "mcp-memory",
        reads: "memory.jsonl of the MCP memory server",
        becomes: "the graph: entities, observations, relations",
        usual: &[],
        inner: "",
        named: true,
        claims: mcp_memory::claims,
        read: mcp_memory::read,
    },
    Format {
        name: "basic-memory",
        reads: "a folder of basic-memory",
        becomes: "documents; observations and relations to the graph",
        usual: &["basic-memory"],
        inner: "",
        named: true,
        claims: vault::is_basic_memory,
        read: vault::basic_memory,
    },
    Format {
        name: "obsidian",
        reads: "a vault of Obsidian",
        becomes: "documents; links, aliases and tags to the graph",
        usual: &[],
        inner: "",
        named: true,
        claims: vault::is_obsidian,
        read: vault::obsidian,
    },
    Format {
        name: "mem0",
        reads: "a dump of mem0: results[] or JSON lines",
        becomes: "entries",
        usual: &[],
        inner: "",
        named: false,
        claims: mem0::claims,
        read: mem0::read,
    },
    Format {
        name: "chatgpt",
        reads: "an export of ChatGPT: the zip, its folder or conversations.json",
        becomes: "sessions",
        usual: &[],
        inner: "",
        named: false,
        claims: chat::is_chatgpt,
        read: chat::chatgpt,
    },
    Format {
        name: "claude",
        reads: "an export of claude.ai: the zip, its folder or conversations.json",
        becomes: "sessions; what projects know: documents; memories: entries",
        usual: &[],
        inner: "",
        named: false,
        claims: chat::is_claude,
        read: chat::claude,
    },
    Format {
        name: "markdown",
        reads: "Markdown: a file or a folder",
        becomes: "documents",
        usual: &[],
        inner: "",
        named: true,
        claims: source::is_markdown,
        read: vault::plain,
    },
];

/// Returns the format of that name.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

impl Format {
    /// Returns where it stands on this machine, if it is in a usual place. `person` is the person's own folder.
    pub fn at_home(&self, person: &Path) -> Option<PathBuf> {
        self.usual.iter().map(|usual| person.join(usual)).find(|path| self.is_at(path))
    }

    /// Tells whether a file or folder is of this format.
    pub fn is_at(&self, path: &Path) -> bool {
        (self.claims)(path)
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// How an import is done.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Only says what would come in.
    pub dry_run: bool,
    /// What the source is called here; `None`: as its folder or file is.
    pub name: Option<String>,
}

/// What became of the items of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// They are new here.
    pub added: usize,
    /// They were imported before and say something else now.
    pub changed: usize,
    /// They are here already, as they are.
    pub present: usize,
    /// Their source says them no more.
    #[serde(skip_serializing_if = "is_zero")]
    pub ended: usize,
    /// They were changed or deleted here, which counts.
    #[serde(skip_serializing_if = "is_zero")]
    pub kept: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What an import did, or would do.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The name of the format.
    pub format: &'static str,
    /// What was read.
    pub path: PathBuf,
    /// Nothing was written.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// By kind: entry, document, fact, relation, alias, message.
    pub kinds: BTreeMap<&'static str, Counts>,
    /// How many sessions messages came from.
    #[serde(skip_serializing_if = "is_zero")]
    pub sessions: usize,
    /// What was passed over, by reason.
    pub skipped: BTreeMap<String, usize>,
    /// The first of what was passed over or left as it is.
    pub notes: Vec<Passed>,
    /// The first of what would come in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Sample>,
}

/// Something that was passed over or left as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "what and why")]
pub struct Passed {
    pub what: String,
    pub why: String,
}

/// Something that would come in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "what it is and says")]
pub struct Sample {
    pub kind: &'static str,
    pub text: String,
}

/// Brings the memory of another program in (I5). What was brought in before is known again: what is the same stays, what
/// changed at its source is changed here. `progress` is told after each transaction.
pub fn import(
    view: &mut View<'_>,
    format: &'static Format,
    path: &Path,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report> {
    let caller = view.caller();
    let bad = |problem: String| Error::ForeignSource { format: format.name, path: path.to_owned(), problem };
    if caller.visibility == Visibility::Shared {
        return Err(Error::NeedsPrivate { tool: "import".into() });
    }
    let inner = path.join(format.inner);
    let meant = if !format.inner.is_empty() && inner.exists() { &inner } else { path };
    let source = Source::open(meant, options.name.as_deref()).map_err(bad)?;
    // It would come in once more with every import.
    if std::fs::canonicalize(view.folder()).is_ok_and(|own| source.path.starts_with(own)) {
        return Err(bad("is in the group's own folder, which is searched as it is".to_owned()));
    }
    if !format.is_at(&source.path) {
        return Err(bad(format!("is not {}", format.reads)));
    }
    if format.named && !options.dry_run {
        claim_name(view, format, &source)?;
    }
    let mut sink = Sink::new(view, format, &source, options.dry_run, progress);
    (format.read)(&source, &mut sink)?;
    let report = sink.finish()?;
    if !options.dry_run
        && report.kinds.get("document").is_some_and(|counts| counts.added + counts.changed > 0)
    {
        workspace::sync_with(view, &mut |done, total| {
            progress(Progress { unit: Unit::Documents, done, total: Some(total) });
        })?;
    }
    Ok(report)
}

/// Has one name mean one source: two folders of the same name must not take each other for changed.
fn claim_name(view: &mut View<'_>, format: &Format, source: &Source) -> Result<()> {
    let caller = view.caller();
    let here = source.path.to_string_lossy().into_owned();
    let known = view.read_all(|db| identity::source(db, format.name, &source.name))?;
    match known {
        Some(known) if known == here => return Ok(()),
        Some(known) if Path::new(&known).exists() => {
            return Err(Error::SourceTaken { name: source.name.clone(), other: known });
        }
        // It was moved, or is new.
        _ => {}
    }
    view.write(|tx| {
        identity::name_source(tx, format.name, &source.name, &here, caller.now)?;
        audit::Row::new("import_source").append(tx, caller)
    })
}

/// Puts what became of messages into a report.
fn add_messages(report: &mut Report, recorded: &Recorded) {
    let counts = report.kinds.entry("message").or_default();
    counts.added += recorded.added;
    counts.present += recorded.present;
    report.sessions += recorded.read.sessions;
}
