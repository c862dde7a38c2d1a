//! One open group: its database and its folder, the handle that all else takes. A handle can't reach another
//! group.

mod plugin;
mod services;

use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::base::caller::{Caller, Visibility};
use crate::base::error::Kind;
use crate::base::ids::{CollectionName, EntryId, GroupName};
use crate::base::{Error, Result, Settings, Time};
use crate::index::database::{Database, Owner};
use crate::index::{self, Lexicon, Schema};
use crate::store::Connection;
use crate::store::audit::{self, Verified};
use crate::store::event::{Event, Events};
use crate::store::visibility;

pub use plugin::{BriefPlugin, MakeBrief, Said};
pub(crate) use services::Services;

/// The database's name in the group's folder.
const FILE: &str = "memory.db";

/// One open group.
pub struct Group {
    name: GroupName,
    folder: PathBuf,
    settings: Arc<Settings>,
    records: &'static Records,
    pub(crate) memory: Database,
    /// Those of its collections that were asked for.
    pub(crate) collections: BTreeMap<CollectionName, Database>,
    events: Events,
    pub(crate) pending: Pending,
    /// Set by whoever watches the documents when one may have changed; without a watcher every search looks.
    changed: Option<Arc<AtomicBool>>,
    /// The visibility of the session under way.
    visibility: Cell<Visibility>,
    pub(crate) services: Services,
    /// What the floors above keep with this handle, by type.
    state: Vec<Box<dyn Any + Send>>,
}

/// The records that a group holds, as far as its handle must know them. The floor above fills this table in.
pub(crate) struct Records {
    pub(crate) schema: Schema,
    /// Writes what reads have left to be noted.
    pub(crate) settle: fn(&Connection, &Pending) -> Result<()>,
    /// Runs when a database was opened or replaced.
    pub(crate) opened: fn(&mut Group, Time) -> Result<()>,
}

/// What reads leave to be noted. It goes into the database with the next write, because a read costs no write.
#[derive(Default)]
pub(crate) struct Pending {
    /// Entries that agents were shown.
    pub(crate) returned: BTreeMap<EntryId, Time>,
    /// Lines of MEMORY.md that were used, by hash.
    pub(crate) used_lines: BTreeMap<String, Time>,
    /// Entries and facts that came together in one answer.
    pub(crate) recalled: Vec<Recalled>,
    /// The questions of the last minute.
    asked: Vec<(String, Time)>,
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.returned.is_empty() && self.recalled.is_empty() && self.used_lines.is_empty()
    }

    /// Forgets what was written. Questions stay: the same one within a minute counts once.
    fn written(&mut self) {
        self.returned.clear();
        self.used_lines.clear();
        self.recalled.clear();
    }
}

/// Entries, and facts and relations, that came together in one answer, best first.
pub(crate) struct Recalled {
    pub(crate) entries: Vec<EntryId>,
    pub(crate) graph: Vec<String>,
    pub(crate) at: Time,
}

impl Group {
    /// Opens a group. One that nobody has written to is empty, and nothing is made for it.
    pub(crate) fn open(
        home: &Path,
        name: GroupName,
        settings: Arc<Settings>,
        records: &'static Records,
        now: Time,
    ) -> Result<Group> {
        let folder = home.join("groups").join(name.as_str());
        let events = Events::new(home, &settings.telemetry);
        let owner = Owner { group: name.clone(), collection: None };
        let memory = Database::open(folder.join(FILE), owner, &records.schema, &settings, now)?;
        let mut group = Group {
            name,
            folder,
            settings,
            records,
            memory,
            collections: BTreeMap::new(),
            events,
            pending: Pending::default(),
            changed: None,
            visibility: Cell::default(),
            services: Services::default(),
            state: Vec::new(),
        };
        (records.opened)(&mut group, now)?;
        Ok(group)
    }

    /// Returns how the tables of its databases came to be, and the owners of their passages.
    pub(crate) fn schema(&self) -> &'static Schema {
        &self.records.schema
    }

    /// Returns what a floor above keeps with this handle, made where there is none.
    pub(crate) fn state<T: Default + Send + 'static>(&mut self) -> &mut T {
        let place = self.state.iter().position(|kept| kept.is::<T>()).unwrap_or_else(|| {
            self.state.push(Box::<T>::default());
            self.state.len() - 1
        });
        self.state[place].downcast_mut().expect("found by its type")
    }

    /// Returns the visibility of the session under way.
    pub(crate) fn visibility(&self) -> Visibility {
        self.visibility.get()
    }

    /// Records the refusal of a write. That the record can't be written must not hide the refusal.
    pub(crate) fn record_refusal(&mut self, caller: &Caller, action: &str, error: &Error) {
        // A decision on a well-formed request, rather than a request that made no sense or a store that is down.
        if matches!(error.kind(), Kind::NotFound | Kind::Conflict | Kind::Denied | Kind::Limit) {
            let mut row = audit::Row::new(action);
            row.detail.insert("code".into(), error.code().into());
            let _ = self.write(caller.now, |tx| audit::append(tx, caller, &row, audit::Outcome::Refused));
        }
    }

    /// Returns the group's name.
    pub fn name(&self) -> &GroupName {
        &self.name
    }

    /// Returns the folder of the group.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// Has `listener` hear of every event of this handle, after commit.
    pub fn listen(&mut self, listener: impl Fn(&Event) + Send + 'static) {
        self.events.listen(Box::new(listener));
    }

    /// Checks the audit chain.
    pub fn verify_audit(&self) -> Result<Verified> {
        self.memory.read(audit::verify)
    }

    /// Gives every row of the audit log, oldest first, as a line of JSON.
    pub fn export_audit(&self, mut take: impl FnMut(&str)) -> Result<()> {
        self.memory.read(|db| {
            audit::walk(db, |line| {
                take(&serde_json::to_string(line)?);
                Ok(())
            })
        })
    }

    /// Has searches look at the documents only when `changed` was set since the last look. For whoever watches
    /// the folder; without this every search looks.
    pub fn sync_when(&mut self, changed: Arc<AtomicBool>) {
        self.changed = Some(changed);
    }

    /// Tells whether a document may have changed since the last look.
    pub(crate) fn may_have_changed(&self) -> bool {
        // Taken back before the look: what changes while it lasts is seen by the next.
        self.changed.as_ref().is_none_or(|changed| changed.swap(false, Ordering::SeqCst))
    }

    pub(crate) fn look_again(&self) {
        if let Some(changed) = &self.changed {
            changed.store(true, Ordering::SeqCst);
        }
    }

    /// Looks the whole database over: the file, the index against the rows, the audit chain. Returns what is
    /// wrong.
    pub fn check(&self) -> Result<Vec<String>> {
        self.memory.check()
    }

    /// Runs `work` with another database attached under the name `point`.
    pub(crate) fn with_attached<T>(
        &mut self,
        file: &Path,
        work: impl FnOnce(&mut Group) -> Result<T>,
    ) -> Result<T> {
        self.attach(file)?;
        let done = work(self);
        self.detach()?;
        done
    }

    pub(crate) fn attach(&self, file: &Path) -> Result<()> {
        let name = file.to_string_lossy();
        self.outside(|db| Ok(db.execute("ATTACH ?1 AS point", [name.as_ref()]).map(drop)?))
    }

    pub(crate) fn detach(&self) -> Result<()> {
        self.outside(|db| {
            // A statement that is kept may still hold it.
            db.flush_prepared_statement_cache();
            Ok(db.execute_batch("DETACH point")?)
        })
    }

    /// Runs what can't stand in a transaction of ours.
    pub(crate) fn outside<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.memory.outside(work)
    }

    /// Forgets what the handle keeps of the records: they are others now.
    pub(crate) fn forget_state(&mut self) {
        self.state.clear();
        self.pending = Pending::default();
        self.look_again();
    }

    /// Makes the database where there is none, so that the group is there to be seen.
    pub fn create(&mut self, now: Time) -> Result<()> {
        self.memory.create(now)
    }

    pub(crate) fn is_on_disk(&self) -> bool {
        self.memory.on_disk()
    }

    /// Has what is written see what the session under way may see, where that is not everything.
    pub(crate) fn write_as_seen(&mut self, now: Time) -> Result<()> {
        if self.visibility.get() == Visibility::Shared {
            self.memory.create(now)?;
            self.memory.outside(|db| visibility::make_public(db, &self.settings.visibility.private))?;
        }
        Ok(())
    }

    /// Begins what a caller asks for: from here on the handle reads what its session may see (W3).
    pub(crate) fn begin(&mut self, caller: &Caller) -> Result<()> {
        self.see_as(caller);
        self.refresh(caller.now)
    }

    /// Has the handle read what the caller's session may see.
    pub(crate) fn see_as(&self, caller: &Caller) {
        self.visibility.set(caller.visibility);
    }

    /// Reads one consistent state of everything: for what decides about writes, and shows nobody what it found.
    pub(crate) fn read_all<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.memory.read(work)
    }

    /// Reads one consistent state of what the session under way may see.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.memory.read_as(self.visibility.get(), work)
    }

    pub(crate) fn write<T>(&mut self, now: Time, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.write_indexed(now, |tx, _| work(tx))
    }

    /// Writes much text at once, with what is known of words.
    pub(crate) fn write_indexed<T>(
        &mut self,
        now: Time,
        work: impl FnOnce(&Connection, &mut Lexicon) -> Result<T>,
    ) -> Result<T> {
        let (pending, settle) = (&self.pending, self.records.settle);
        let value = self.memory.write_indexed(now, |tx, lexicon| {
            settle(tx, pending)?;
            work(tx, lexicon)
        })?;
        self.pending.written();
        Ok(value)
    }

    /// Writes what could be made again from its source, without waiting for the disk.
    pub(crate) fn write_derived<T>(
        &mut self,
        now: Time,
        work: impl FnOnce(&Connection, &mut Lexicon) -> Result<T>,
    ) -> Result<T> {
        self.memory.write_derived(now, work)
    }

    /// Writes what searches have to remember: what was returned and recalled. A write does so by itself; this is for
    /// when no write will come.
    pub fn settle(&mut self, now: Time) -> Result<()> {
        if self.memory.on_disk() && !self.pending.is_empty() {
            self.write(now, |_| Ok(()))?;
        }
        Ok(())
    }

    /// Notes what a question recalled. The same question within a minute counts once.
    pub(crate) fn note_recalled(&mut self, query: &str, recalled: Recalled) {
        const MINUTE: f64 = 1.0 / 1440.0;
        const LAST: usize = 10;
        let now = recalled.at;
        self.pending.asked.retain(|(_, at)| (0.0..MINUTE).contains(&now.days_since(*at)));
        let query = index::analyse::fold(query);
        let nothing = recalled.entries.is_empty() && recalled.graph.is_empty();
        if nothing || self.pending.asked.iter().any(|(asked, _)| *asked == query) {
            return;
        }
        if self.pending.asked.len() == LAST {
            self.pending.asked.remove(0);
        }
        self.pending.asked.push((query, now));
        self.pending.recalled.push(recalled);
    }

    /// Empties the log of what was deleted. False: a reader of another process is in the way, and a later
    /// checkpoint will do it.
    pub(crate) fn forget_log(&self) -> Result<bool> {
        self.memory.checkpoint()
    }

    pub(crate) fn tell(&self, event: &Event) {
        self.events.tell(event);
    }

    pub(crate) fn note_returned(&mut self, ids: impl IntoIterator<Item = EntryId>, now: Time) {
        self.pending.returned.extend(ids.into_iter().map(|id| (id, now)));
    }

    /// Sees to it that the handle stands on the file that is there now: another process may have made it,
    /// moved it or put one in its place.
    pub(crate) fn refresh(&mut self, now: Time) -> Result<()> {
        if self.memory.refresh(now)? {
            self.look_again();
            (self.records.opened)(self, now)?;
        }
        Ok(())
    }
}
