//! Imports other programs' memories: a source ▶ the reader of its format ▶ items ▶ entries, documents, the
//! graph, sessions.
//!
//! A format is one row of [`FORMATS`] and one file here. Its reader walks the source and passes items to the
//! `Sink`, part by part; a part is a file or a record that was read completely. `take` turns each item into a
//! record. `identity` recognises an item, so that importing it twice has no effect and a change at the source
//! becomes a change here.
//!
//! The input is untrusted: only a source of the wrong format stops an import. Skipped items are counted by
//! reason and named.

mod brain;
mod carapace;
mod chat;
mod claude_code;
mod codex;
mod gemini;
mod identity;
mod koshi;
mod markdown;
mod mcp_memory;
mod mem0;
mod nanoclaw;
mod openclaw;
mod source;
mod tables;
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
use crate::records::conflict::ComparedStatements;
use crate::records::session::TranscriptImport;
use crate::records::workspace;
use crate::store::audit;

pub use identity::{Author, Origin, Provenance};
pub(crate) use identity::{forget, of_entry};
use source::Source;
use take::Sink;

/// A format of another program's memory.
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// The files that are read.
    pub reads: &'static str,
    /// The records that they become.
    pub becomes: &'static str,
    /// Its usual locations relative to the user's home folder, best first.
    pub usual: &'static [&'static str],
    /// The subfolder to read instead of the folder itself, if it exists.
    inner: &'static str,
    /// Whether items are identified by their place in the source, so that a name must mean one source.
    named: bool,
    /// Whether it is recognised by something that no other program has.
    certain: bool,
    /// Tells whether a file or folder is of this format.
    claims: fn(&Path) -> bool,
    read: fn(&Source, &mut Sink<'_>) -> Result<()>,
}

/// All formats. `nacre import` lists them, and a test walks them.
pub const FORMATS: &[Format] = &[
    Format {
        name: "openclaw",
        reads: "an OpenClaw workspace",
        becomes: "MEMORY.md and memory/*.md: memories; USER.md, SOUL.md and the like: documents",
        usual: &[".openclaw/workspace"],
        inner: "workspace",
        named: true,
        certain: false,
        claims: openclaw::claims,
        read: openclaw::read,
    },
    Format {
        name: "nanoclaw",
        reads: "a NanoClaw folder, or its facts.db",
        becomes: "facts, relations, aliases and which facts belong together: the graph; lessons: memories; conversations: sessions; Markdown: documents",
        usual: &[".nanoclaw"],
        inner: "",
        named: true,
        certain: true,
        claims: nanoclaw::claims,
        read: nanoclaw::read,
    },
    Format {
        name: "carapace",
        reads: "a database of Carapace, its folder, or its Markdown memory",
        becomes: "entries: memories, superseded ones as history; Markdown: documents",
        usual: &[".carapace"],
        inner: "",
        named: true,
        certain: true,
        claims: carapace::claims,
        read: carapace::read,
    },
    Format {
        name: "koshi",
        reads: "a database of Koshi",
        becomes: "memories with their scores; archived ones stay archived",
        usual: &[".koshi"],
        inner: "",
        named: true,
        certain: true,
        claims: koshi::claims,
        read: koshi::read,
    },
    Format {
        name: "brain",
        reads: "a folder of Brain, items.json or tasks.json",
        becomes: "transcripts: sessions; items.json: items; tasks.json: tasks; AGENT.md and MEMORY.md: documents",
        usual: &[],
        inner: "",
        named: true,
        certain: true,
        claims: brain::claims,
        read: brain::read,
    },
    Format {
        name: "claude-code",
        reads: "the memory folders of Claude Code",
        becomes: "one memory per file; links become relations in the graph",
        usual: &[".claude/projects"],
        inner: "projects",
        named: false,
        certain: false,
        claims: claude_code::claims,
        read: claude_code::read,
    },
    Format {
        name: "codex",
        reads: "the memories folder of Codex",
        becomes: "MEMORY.md: memories; summaries: documents",
        usual: &[".codex/memories"],
        inner: "memories",
        named: true,
        certain: false,
        claims: codex::claims,
        read: codex::read,
    },
    Format {
        name: "gemini",
        reads: "GEMINI.md of Gemini CLI",
        becomes: "added memories: memories; the rest: a document",
        usual: &[".gemini/GEMINI.md"],
        inner: "GEMINI.md",
        named: true,
        certain: false,
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
        certain: false,
        claims: mcp_memory::claims,
        read: mcp_memory::read,
    },
    Format {
        name: "basic-memory",
        reads: "a folder of basic-memory",
        becomes: "documents; observations and relations go to the graph",
        usual: &["basic-memory"],
        inner: "",
        named: true,
        certain: false,
        claims: vault::is_basic_memory,
        read: vault::basic_memory,
    },
    Format {
        name: "obsidian",
        reads: "an Obsidian vault",
        becomes: "documents; links, aliases and tags go to the graph",
        usual: &[],
        inner: "",
        named: true,
        certain: false,
        claims: vault::is_obsidian,
        read: vault::obsidian,
    },
    Format {
        name: "mem0",
        reads: "a mem0 dump: results[] or JSON lines",
        becomes: "memories",
        usual: &[],
        inner: "",
        named: false,
        certain: false,
        claims: mem0::claims,
        read: mem0::read,
    },
    Format {
        name: "chatgpt",
        reads: "a ChatGPT export: the zip, its folder or conversations.json",
        becomes: "sessions",
        usual: &[],
        inner: "",
        named: false,
        certain: false,
        claims: chat::is_chatgpt,
        read: chat::chatgpt,
    },
    Format {
        name: "claude",
        reads: "a claude.ai export: the zip, its folder or conversations.json",
        becomes: "sessions; project knowledge: documents; memories: memories",
        usual: &[],
        inner: "",
        named: false,
        certain: false,
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
        certain: false,
        claims: source::is_markdown,
        read: vault::plain,
    },
];

/// Returns the format with this name.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Returns the formats that a file or folder may have. There are several if its files do not decide between them.
pub fn detect(path: &Path) -> Vec<&'static Format> {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let claimed = FORMATS.iter().filter(|format| format.is_at(&format.inside(&path)));
    let claimed: Vec<&Format> = claimed.collect();
    // The folder of a program says more than the files in it.
    let is_usual = |format: &Format| {
        let folders = format.usual.iter().filter_map(|usual| Path::new(usual).components().next());
        folders.into_iter().any(|folder| path.components().any(|part| part == folder))
    };
    if let Some(format) = claimed.iter().find(|format| is_usual(format)) {
        return vec![format];
    }
    if let [format] = claimed.iter().filter(|format| format.certain).collect::<Vec<_>>()[..] {
        return vec![format];
    }
    // Every folder can be read as Markdown.
    let (general, special): (Vec<_>, Vec<_>) =
        claimed.into_iter().partition(|format| format.name == "markdown");
    if special.is_empty() && Source::open(&path, None).is_ok_and(|source| !source.markdown().files.is_empty())
    {
        return general;
    }
    special
}

impl Format {
    /// Returns its location on this machine, if it is in a usual place. `person` is the user's home folder.
    pub fn at_home(&self, person: &Path) -> Option<PathBuf> {
        self.usual.iter().map(|usual| person.join(usual)).find(|path| self.is_at(path))
    }

    /// Returns the subfolder that is read instead of a folder, or the path itself.
    fn inside(&self, path: &Path) -> PathBuf {
        let inner = path.join(self.inner);
        if !self.inner.is_empty() && inner.exists() { inner } else { path.to_owned() }
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

/// Options of an import.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Only reports what would be imported.
    pub dry_run: bool,
    /// The name of the source here; `None` means the name of its folder or file.
    pub name: Option<String>,
    /// The person vouches for the source: its memories and facts may be added to sessions unasked.
    pub trusted: bool,
}

/// The number of items of one kind, by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// New.
    pub added: usize,
    /// Imported before, and changed at the source.
    pub changed: usize,
    /// Unchanged.
    pub present: usize,
    /// No longer in the source.
    #[serde(skip_serializing_if = "is_zero")]
    pub ended: usize,
    /// Changed or deleted here, which takes precedence.
    #[serde(skip_serializing_if = "is_zero")]
    pub kept: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The result of an import or a dry run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The name of the format.
    pub format: &'static str,
    /// The path that was read.
    pub path: PathBuf,
    /// Whether nothing was written.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// By kind: entry, document, fact, relation, alias, message.
    pub kinds: BTreeMap<&'static str, Counts>,
    /// The number of sessions that messages came from.
    #[serde(skip_serializing_if = "is_zero")]
    pub sessions: usize,
    /// The number of skipped items, by reason.
    pub skipped: BTreeMap<String, usize>,
    /// The first items that were skipped or left unchanged.
    pub notes: Vec<SkippedItem>,
    /// Settings of Nacre that do what the source was set to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<SettingAdvice>,
    /// The first items that would be imported.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Sample>,
    /// The ids of the entries and facts that are new or changed.
    #[serde(skip)]
    pub statements: Vec<String>,
    /// How many of them contradict current statements, if they were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflicts: Option<ComparedStatements>,
}

/// An item that was skipped or left unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "what and why")]
pub struct SkippedItem {
    pub what: String,
    pub why: String,
}

/// A setting that does what the source was set to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "a key and a value")]
pub struct SettingAdvice {
    pub key: &'static str,
    pub value: String,
}

/// An item that would be imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "what it is and says")]
pub struct Sample {
    pub kind: &'static str,
    pub text: String,
}

/// Imports the memory of another program. Items that were imported before are recognised: unchanged ones
/// stay, and changes at the source are applied. `progress` is called after each transaction.
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
    let source = Source::open(&format.inside(path), options.name.as_deref()).map_err(bad)?;
    let source = Source { scratch: view.folder().to_owned(), ..source };
    // Otherwise it would be imported again with every import.
    if std::fs::canonicalize(view.folder()).is_ok_and(|own| source.path.starts_with(own)) {
        return Err(bad("is in the group's own folder, which is already searched".to_owned()));
    }
    if !format.is_at(&source.path) {
        return Err(bad(format!("is not {}", format.reads)));
    }
    if format.named && !options.dry_run {
        claim_name(view, format, &source)?;
    }
    let mut sink = Sink::new(view, format, &source, options, progress);
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

/// Makes sure that one name means one source: two folders of the same name must not overwrite each other's
/// items.
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

/// Adds the results for messages to a report.
fn add_messages(report: &mut Report, recorded: &TranscriptImport) {
    let counts = report.kinds.entry("message").or_default();
    counts.added += recorded.added;
    counts.present += recorded.present;
    report.sessions += recorded.read.sessions;
}
