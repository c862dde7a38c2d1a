//! A call in progress. A tool reads through it, and writes only through [`Call::write`], which puts the write, its audit row and
//! its share of the limits into one transaction.

use serde_json::{Map, Value};

use super::limits::{self, Action};
use crate::base::caller::{Actor, Caller, Visibility};
use crate::base::ids::{EntryRef, ProjectName};
use crate::base::origin::RecordOrigin;
use crate::base::{Error, Result, Settings};
use crate::group::View;
use crate::index::Scope;
use crate::records::entry::{Origin, Place, Source};
use crate::records::graph::Cite;
use crate::records::project::current;
use crate::records::project::live::{self, LiveFile};
use crate::records::workspace::checkpoint::DeletedRecord;
use crate::records::workspace::proposal::{self, RunCall};
use crate::records::workspace::{self, seen};
use crate::records::{erase, quarantine};
use crate::store::Connection;
use crate::store::audit;

/// Why a tool ended without an answer.
#[derive(Debug)]
pub enum Stop {
    /// Its write is possible, and a person must decide about it.
    Waits,
    /// It failed, or was refused.
    Failed(Error),
}

/// The result of a tool.
pub type ToolResult<T> = std::result::Result<T, Stop>;

impl<E: Into<Error>> From<E> for Stop {
    fn from(error: E) -> Stop {
        Stop::Failed(error.into())
    }
}

/// How a call is made.
#[derive(Clone, Copy)]
pub(crate) struct CallOptions<'a> {
    /// The proposal that a person approved, and that person; `None`: the write policy decides.
    pub(super) approved: Option<(i64, &'a Caller)>,
    /// Runs a call that a person approved.
    pub(super) run_approved: RunCall,
    pub(super) form: Form,
    /// Whether its writes count against the limits of the session. Those that Nacre makes on a person's behalf don't.
    pub(super) counts: bool,
}

/// The form of the data in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Every field, for programs.
    Whole,
    /// The fields that a model needs.
    Lean,
}

/// A call in progress.
pub struct Call<'a> {
    pub(super) view: View<'a>,
    pub(crate) caller: &'a Caller,
    /// The name of the tool.
    pub(super) name: &'static str,
    pub(super) mode: Mode<'a>,
    /// Whether it has written and marked its proposal.
    pub(super) marked: bool,
    /// Runs a call that a person approved.
    pub(super) run_approved: RunCall,
    /// Whether its writes count against the limits of the session.
    pub(super) counts: bool,
}

/// How a tool's writes are handled.
#[derive(Clone, Copy)]
pub(super) enum Mode<'a> {
    /// They are committed.
    Run,
    /// They are undone at once: a dry run that tells whether they are possible.
    Try,
    /// They are committed as proposal `number`, which this person approved.
    Approved { number: i64, by: &'a Caller },
}

impl<'a> Call<'a> {
    pub(crate) fn settings(&self) -> &Settings {
        self.view.settings()
    }

    /// Reads one consistent state.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.view.read(work)
    }

    /// Returns the project that the caller works in. Nothing is read for a caller without a folder, as on a server.
    pub(crate) fn project(&self) -> Result<Option<ProjectName>> {
        match self.caller.project_folder {
            Some(_) => self.read(|db| current::of_caller(db, self.caller)),
            None => Ok(None),
        }
    }

    /// Removes the citations that the session may not see.
    pub(crate) fn seen_cites(&self, cites: Vec<Cite>) -> Result<Vec<Cite>> {
        match self.caller.visibility {
            Visibility::Private => Ok(cites),
            Visibility::Shared => self.read(|db| crate::records::graph::seen_cites(db, cites)),
        }
    }

    /// Refuses an entry that the session may not see, as if it did not exist.
    pub(crate) fn check_seen(&self, named: &EntryRef) -> Result<()> {
        match self.caller.visibility {
            Visibility::Private => Ok(()),
            Visibility::Shared => self.read(|db| crate::records::entry::get(db, named).map(drop)),
        }
    }

    /// Writes, with the audit row and the limits in the same transaction.
    pub(crate) fn write<T>(&mut self, work: impl FnOnce(&mut Write<'_>) -> Result<T>) -> ToolResult<T> {
        let (caller, name, settings) = (self.caller, self.view.name().clone(), self.view.settings().clone());
        let source = match caller.actor {
            Actor::Person | Actor::Nacre => Source::Person,
            Actor::Agent => Source::Agent,
        };
        // A token's name has the member's.
        let member = self.view.rights().member.clone().filter(|_| caller.token.is_none());
        let row = audit::Row::new(self.name);
        let row = if let Some(member) = member { row.with("member", member) } else { row };
        let (mode, marked, counts) = (self.mode, self.marked, self.counts);
        let write = |tx: &Connection| {
            if caller.actor == Actor::Agent {
                quarantine::check(tx, caller)?;
            }
            let Caller { now, session, visibility, .. } = caller;
            let (now, visibility) = (*now, *visibility);
            let project = Place::of_caller(caller);
            let from = match mode {
                Mode::Approved { .. } => RecordOrigin::Approved,
                Mode::Run | Mode::Try => RecordOrigin::of(caller),
            };
            let private = caller.writes_privately(&settings);
            let origin =
                Origin { now, group: &name, session, source, origin: from, visibility, private, project };
            let refuses = !matches!(mode, Mode::Approved { .. });
            let mut write =
                Write { db: tx, origin, caller, settings: &settings, row, changed: true, counts, refuses };
            let value = work(&mut write)?;
            // Only the first of several writes marks the proposal.
            if let Mode::Approved { number, by } = mode
                && !marked
            {
                proposal::mark_approved(tx, by, number)?;
            }
            if write.changed && !matches!(mode, Mode::Try) {
                write.row.append(tx, caller)?;
            }
            Ok((value, write.changed))
        };
        if matches!(mode, Mode::Try) {
            let (value, changed) = self.view.write(|tx| tx.undone(write))?;
            return if changed { Err(Stop::Waits) } else { Ok(value) };
        }
        let (value, _) = self.view.write(write)?;
        self.marked = true;
        Ok(value)
    }

    /// Indexes changed documents if the scope includes them. Returns the scope that can be searched, and a note about what is
    /// missing from it.
    pub(crate) fn follow_documents(&mut self, mut scope: Vec<Scope>) -> (Vec<Scope>, Option<String>) {
        if !scope.contains(&Scope::Memory) {
            return (scope, None);
        }
        if self.settings().documents.index {
            return (scope, workspace::follow(&mut self.view));
        }
        scope.retain(|scope| *scope != Scope::Memory);
        let missing = scope.is_empty().then(|| "memory: `documents.index` is off".to_owned());
        (scope, missing)
    }

    /// Takes what a person edited in the file of the records, and writes the records to it. Returns why an edit can't be taken.
    pub(crate) fn follow_live(&mut self, file: LiveFile) -> Result<Option<String>> {
        live::follow(&mut self.view, file)
    }

    /// Marks the session if it is shown details of the infrastructure, and returns whether that is new.
    pub(crate) fn note_seen(&mut self, shown: &[(&str, usize)]) -> bool {
        let shown = shown.iter().copied().filter(|(path, _)| seen::is_infrastructure(path));
        let shown: Vec<(&str, usize)> = shown.collect();
        for (path, size) in &shown {
            let [kind, path] = [("type", "file".into()), ("path", (*path).into())];
            let [size, mark] = [("size", (*size).into()), ("infrastructure", true.into())];
            self.tell("memory:read", crate::store::event::payload([kind, path, size, mark]));
        }
        seen::note(&mut self.view, shown.into_iter().map(|(path, _)| path))
    }

    /// Emits an event after the commit.
    pub(crate) fn tell(&mut self, name: &'static str, data: Map<String, Value>) {
        self.view.tell(name, data);
    }

    /// Removes deleted records from the checkpoints too. Returns the checkpoints that still have them, and why.
    pub(crate) fn forget(&mut self, gone: impl IntoIterator<Item = DeletedRecord>) -> Result<Vec<String>> {
        erase::finish(&mut self.view, &gone.into_iter().collect::<Vec<_>>())
    }

    pub(crate) fn view(&mut self) -> &mut View<'a> {
        &mut self.view
    }
}

/// A write in progress.
pub(crate) struct Write<'t> {
    pub(crate) db: &'t Connection,
    pub(crate) origin: Origin<'t>,
    caller: &'t Caller,
    settings: &'t Settings,
    row: audit::Row,
    changed: bool,
    /// Whether it counts against the limits of the session.
    counts: bool,
    /// Whether an exhausted limit refuses the write.
    refuses: bool,
}

impl Write<'_> {
    /// Counts one call of this kind against the session's limit, or refuses it. Calls that a person approved are counted and
    /// never refused.
    pub(crate) fn spend(&self, action: Action) -> Result<()> {
        if !self.counts {
            return Ok(());
        }
        match limits::spend(self.db, self.caller, self.settings, action) {
            Err(Error::SessionLimit { .. }) if !self.refuses => Ok(()),
            spent => spent,
        }
    }

    /// Adds a written record to the audit row: its id and its size.
    pub(crate) fn record(&mut self, id: &impl ToString, detail: &str, value: impl Into<Value>) {
        self.row.ids.push(id.to_string());
        self.row.detail.insert(detail.into(), value.into());
    }

    /// Notes that nothing changed, so that no audit row is written.
    pub(crate) fn unchanged(&mut self) {
        self.changed = false;
    }
}
