//! A call under way: what a tool may use. It can read, and it can write only through [`Call::write`], which makes the write, its
//! audit row and its share of the limits one transaction.

use serde_json::{Map, Value};

use super::limits::{self, Action};
use crate::base::caller::{Actor, Caller, Visibility};
use crate::base::ids::EntryRef;
use crate::base::{Error, Result, Settings};
use crate::group::View;
use crate::index::Scope;
use crate::records::entry::{Origin, Source};
use crate::records::graph::Cite;
use crate::records::workspace::checkpoint::{self, DeletedRecord};
use crate::records::workspace::proposal::{self, RunCall};
use crate::records::workspace::{self, seen};
use crate::store::Connection;
use crate::store::audit;

/// How a tool ends that gives no answer.
#[derive(Debug)]
pub enum Stop {
    /// What it would write could be written, and a person is to decide.
    Waits,
    /// It failed, or was refused.
    Failed(Error),
}

/// What a tool ends with.
pub type Ran<T> = std::result::Result<T, Stop>;

impl<E: Into<Error>> From<E> for Stop {
    fn from(error: E) -> Stop {
        Stop::Failed(error.into())
    }
}

/// In which way a call is made.
#[derive(Clone, Copy)]
pub(crate) struct Way<'a> {
    /// The proposal as which a person approved it, and who that was. `None`: it is made as the write policy has it.
    pub(super) approved: Option<(i64, &'a Caller)>,
    /// Runs a call that a person approved.
    pub(super) run_approved: RunCall,
}

/// A call under way: what a tool may use.
pub struct Call<'a> {
    pub(super) view: View<'a>,
    pub(crate) caller: &'a Caller,
    /// The name of the tool.
    pub(super) name: &'static str,
    pub(super) mode: Mode<'a>,
    /// Whether it has written.
    pub(super) marked: bool,
    /// Runs a call that a person approved.
    pub(super) run_approved: RunCall,
}

/// What becomes of what a tool writes.
#[derive(Clone, Copy)]
pub(super) enum Mode<'a> {
    /// It is done.
    Run,
    /// It is undone at once: only whether it could be done is asked.
    Try,
    /// It is done as proposal `number`, which this person approved.
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

    /// Leaves out what the session does not see of the lines that say something.
    pub(crate) fn seen_cites(&self, cites: Vec<Cite>) -> Result<Vec<Cite>> {
        match self.caller.visibility {
            Visibility::Private => Ok(cites),
            Visibility::Shared => self.read(|db| crate::records::graph::seen_cites(db, cites)),
        }
    }

    /// Refuses an entry that the session does not see as if it were not there.
    pub(crate) fn check_seen(&self, named: &EntryRef) -> Result<()> {
        match self.caller.visibility {
            Visibility::Private => Ok(()),
            Visibility::Shared => self.read(|db| crate::records::entry::get(db, named).map(drop)),
        }
    }

    /// Writes, with the audit row and the limits in the same transaction.
    pub(crate) fn write<T>(&mut self, work: impl FnOnce(&mut Write<'_>) -> Result<T>) -> Ran<T> {
        let (caller, name, settings) = (self.caller, self.view.name().clone(), self.view.settings().clone());
        let source = match caller.actor {
            Actor::Person | Actor::Nacre => Source::Person,
            Actor::Agent => Source::Agent,
        };
        let row = audit::Row::new(self.name);
        let (mode, marked) = (self.mode, self.marked);
        let write = |tx: &Connection| {
            let Caller { now, session, visibility, .. } = caller;
            let (now, visibility) = (*now, *visibility);
            let origin = Origin { now, group: &name, session, source, visibility };
            let refuses = !matches!(mode, Mode::Approved { .. });
            let mut write =
                Write { db: tx, origin, caller, settings: &settings, row, changed: true, refuses };
            let value = work(&mut write)?;
            // A tool that writes twice is marked by the first.
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

    /// Brings the documents up to date where the scope has them. Returns the scope that can be searched, and
    /// what is missing from it.
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

    /// Marks the session where it is shown what a host may want to know of (W10), and says so where it is new.
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

    /// Tells what happened. Nothing hears of it that was not committed.
    pub(crate) fn tell(&mut self, name: &'static str, data: Map<String, Value>) {
        self.view.tell(name, data);
    }

    /// Takes what was deleted for good out of the checkpoints too (E4). Returns those that still have it, and why.
    pub(crate) fn forget(&mut self, gone: impl IntoIterator<Item = DeletedRecord>) -> Result<Vec<String>> {
        // The text still stands in the write-ahead log until that is emptied.
        self.view.forget_log()?;
        Ok(match checkpoint::forget(&mut self.view, &gone.into_iter().collect::<Vec<_>>()) {
            Ok(left) => left.into_iter().map(|note| format!("{}: {}", note.path, note.why)).collect(),
            Err(error) => vec![format!("all of them: {error}")],
        })
    }

    pub(crate) fn view(&mut self) -> &mut View<'a> {
        &mut self.view
    }
}

/// A write under way.
pub(crate) struct Write<'t> {
    pub(crate) db: &'t Connection,
    pub(crate) origin: Origin<'t>,
    caller: &'t Caller,
    settings: &'t Settings,
    row: audit::Row,
    changed: bool,
    /// Whether a limit that is used up refuses the write.
    refuses: bool,
}

impl Write<'_> {
    /// Uses up one of the session's calls of this kind, or refuses (E7). What a person approved is counted all the same.
    pub(crate) fn spend(&self, action: Action) -> Result<()> {
        match limits::spend(self.db, self.caller, self.settings, action) {
            Err(Error::SessionLimit { .. }) if !self.refuses => Ok(()),
            spent => spent,
        }
    }

    /// Names what was written, for the audit row. Ids and sizes only.
    pub(crate) fn record(&mut self, id: &impl ToString, detail: &str, value: impl Into<Value>) {
        self.row.ids.push(id.to_string());
        self.row.detail.insert(detail.into(), value.into());
    }

    /// Says that nothing changed after all, so that there is nothing to record.
    pub(crate) fn unchanged(&mut self) {
        self.changed = false;
    }
}
