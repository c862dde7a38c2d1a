//! One open group, and a view of it: the group as one caller sees it. A group can't reach another group; whoever has not
//! entered it can neither read nor write it.

mod plugin;
mod services;

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value};

use crate::base::caller::{Caller, Visibility};
use crate::base::error::Kind;
use crate::base::ids::{CollectionName, EntryId, GroupName};
use crate::base::{Error, Result, Settings, Time};
use crate::index::database::{Database, Owner, Snapshot};
use crate::index::{self, Lexicon, Schema};
use crate::store::audit::{self, Verified};
use crate::store::event::{Event, Events, payload};
use crate::store::{Connection, Files};

pub use plugin::{BriefPlugin, MakeBrief, Said};
pub(crate) use services::Services;

/// The database's name in the group's folder.
const FILE: &str = "memory.db";

/// One open group. What it holds is read and written through a [`View`].
pub struct Group {
    folder: PathBuf,
    files: Files,
    settings: Arc<Settings>,
    records: &'static Records,
    memory: Database,
    /// Those of its collections that were asked for.
    collections: BTreeMap<CollectionName, Database>,
    events: Events,
    services: Services,
    kept: Kept,
}

/// What a handle keeps between two calls.
#[derive(Default)]
struct Kept {
    pending: Pending,
    /// What the floors above keep, by type.
    state: Vec<Box<dyn Any + Send>>,
}

/// The records that a group holds, as far as its handle must know them. The floor above fills this table in.
pub(crate) struct Records {
    pub(crate) schema: Schema,
    /// Writes what reads have left to be noted.
    pub(crate) settle: fn(&Connection, &Pending) -> Result<()>,
    /// Runs when a database was opened or replaced.
    pub(crate) opened: fn(&mut View<'_>) -> Result<()>,
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
        services: Services,
        records: &'static Records,
        now: Time,
    ) -> Result<Group> {
        let folder = home.join("groups").join(name.as_str());
        let events = Events::new(home, &settings.telemetry);
        let owner = Owner { group: name, collection: None };
        let memory = Database::open(folder.join(FILE), owner, &records.schema, &settings, now)?;
        let (files, collections, kept) = (Files::in_folder(&folder), BTreeMap::new(), Kept::default());
        let mut group =
            Group { folder, files, settings, records, memory, collections, events, services, kept };
        group.opened(now)?;
        Ok(group)
    }

    /// Enters the group as whoever asks: from here on everything that is read or written is theirs.
    pub fn enter<'g>(&'g mut self, caller: &'g Caller) -> Result<View<'g>> {
        self.refresh(caller.now)?;
        Ok(View::new(self, caller))
    }

    /// Returns the group's name.
    pub fn name(&self) -> &GroupName {
        &self.memory.owner().group
    }

    /// Returns the folder of the group.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the documents of its workspace and its transcripts.
    pub(crate) fn files(&self) -> &Files {
        &self.files
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// Returns the programs and models of others that it may use.
    pub(crate) fn services(&self) -> &Services {
        &self.services
    }

    /// Returns how the tables of its databases came to be, and the owners of their passages.
    pub(crate) fn schema(&self) -> &'static Schema {
        &self.records.schema
    }

    /// Has `listener` hear of every event of this handle, after commit.
    pub fn listen(&mut self, listener: impl Fn(&Event) + Send + 'static) {
        self.events.listen(Box::new(listener));
    }

    /// Has searches look at the documents only when `changed` was set since the last look. For whoever watches
    /// the folder; without this every search looks.
    pub fn sync_when(&mut self, changed: Arc<AtomicBool>) {
        self.services.changed = Some(changed);
    }

    fn look_again(&self) {
        if let Some(changed) = &self.services.changed {
            changed.store(true, Ordering::SeqCst);
        }
    }

    /// Sees to it that the handle stands on the file that is there now: another process may have made it,
    /// moved it or put one in its place.
    fn refresh(&mut self, now: Time) -> Result<()> {
        if self.memory.refresh(now)? {
            self.look_again();
            self.opened(now)?;
        }
        Ok(())
    }

    fn opened(&mut self, now: Time) -> Result<()> {
        let nacre = Caller::nacre(now);
        (self.records.opened)(&mut View::new(self, &nacre))
    }
}

/// An open group and who asks. [`Group::enter`] makes it.
pub struct View<'g> {
    group: &'g mut Group,
    caller: &'g Caller,
}

/// Name, folder, settings and services are the group's, whoever asks.
impl Deref for View<'_> {
    type Target = Group;

    fn deref(&self) -> &Group {
        self.group
    }
}

impl<'g> View<'g> {
    fn new(group: &'g mut Group, caller: &'g Caller) -> View<'g> {
        View { group, caller }
    }

    /// Returns who asks.
    pub fn caller(&self) -> &'g Caller {
        self.caller
    }

    /// Returns when this call happens.
    pub(crate) fn now(&self) -> Time {
        self.caller.now
    }

    pub(crate) fn visibility(&self) -> Visibility {
        self.caller.visibility
    }

    /// Enters the same group as somebody else.
    pub(crate) fn enter<'v>(&'v mut self, caller: &'v Caller) -> Result<View<'v>> {
        self.group.enter(caller)
    }

    /// Lends this view to something that keeps it for a while.
    pub(crate) fn lend(&mut self) -> View<'_> {
        View { group: self.group, caller: self.caller }
    }

    // Reading.

    /// Reads one consistent state of what the caller's session may see.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.group.memory.read_as(self.visibility(), work)
    }

    /// Reads one consistent state of everything: for what decides about writes, and shows nobody what it found.
    pub(crate) fn read_all<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.group.memory.read(work)
    }

    /// Takes one consistent state of the memory for a search.
    pub(crate) fn snapshot(&self) -> Result<Snapshot<'_>> {
        self.group.memory.snapshot(self.visibility())
    }

    /// Returns where the database of the memory stands.
    pub(crate) fn path(&self) -> &Path {
        self.group.memory.path()
    }

    /// Returns the bytes that the database takes.
    pub(crate) fn bytes(&self) -> Result<u64> {
        self.group.memory.bytes()
    }

    pub(crate) fn is_on_disk(&self) -> bool {
        self.group.memory.on_disk()
    }

    /// Checks the audit chain.
    pub fn verify_audit(&self) -> Result<Verified> {
        self.group.memory.read(audit::verify)
    }

    /// Gives every row of the audit log, oldest first, as a line of JSON.
    pub fn export_audit(&self, mut take: impl FnMut(&str)) -> Result<()> {
        self.group.memory.read(|db| {
            audit::walk(db, |line| {
                take(&serde_json::to_string(line)?);
                Ok(())
            })
        })
    }

    /// Looks the whole database over: the file, the index against the rows, the audit chain. Returns what is
    /// wrong.
    pub fn check(&self) -> Result<Vec<String>> {
        self.group.memory.check()
    }

    // Writing.

    /// Makes the database where there is none, so that the group is there to be seen.
    pub fn create(&mut self) -> Result<()> {
        self.group.memory.create(self.caller.now)
    }

    /// Runs `work` in one write transaction, together with what reads have left to be noted.
    pub(crate) fn write<T>(&mut self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.write_indexed(|tx, _| work(tx))
    }

    /// Writes much text at once, with what is known of words.
    pub(crate) fn write_indexed<T>(
        &mut self,
        work: impl FnOnce(&Connection, &mut Lexicon) -> Result<T>,
    ) -> Result<T> {
        let Group { memory, kept, records, .. } = &mut *self.group;
        let now = self.caller.now;
        if self.caller.visibility == Visibility::Shared {
            memory.make_public(now)?;
        }
        let value = memory.write(now, |tx, lexicon| {
            (records.settle)(tx, &kept.pending)?;
            work(tx, lexicon)
        })?;
        kept.pending.written();
        Ok(value)
    }

    /// Writes what could be made again from its source, without waiting for the disk.
    pub(crate) fn write_derived<T>(
        &mut self,
        work: impl FnOnce(&Connection, &mut Lexicon) -> Result<T>,
    ) -> Result<T> {
        self.group.memory.write_derived(self.caller.now, work)
    }

    /// Returns the database of the memory, for what makes its index anew.
    pub(crate) fn memory(&mut self) -> &mut Database {
        &mut self.group.memory
    }

    /// Records the refusal of a write. That the record can't be written must not hide the refusal.
    pub(crate) fn record_refusal(&mut self, action: &str, error: &Error) {
        // A decision on a well-formed request, rather than a request that made no sense or a store that is down.
        if matches!(error.kind(), Kind::NotFound | Kind::Conflict | Kind::Denied | Kind::Limit) {
            let (caller, mut row) = (self.caller, audit::Row::new(action));
            row.detail.insert("code".into(), error.code().into());
            let _ = self.write(|tx| audit::append(tx, caller, &row, audit::Outcome::Refused));
        }
    }

    /// Empties the log of what was deleted. False: a reader of another process is in the way, and a later
    /// checkpoint will do it.
    pub(crate) fn forget_log(&self) -> Result<bool> {
        self.group.memory.checkpoint()
    }

    /// Tells what happened. Nothing hears of it that was not committed.
    pub(crate) fn tell(&self, name: &'static str, data: Map<String, Value>) {
        let (group, session) = (self.name().clone(), self.caller.session.clone());
        self.group.events.tell(&Event { name, at: self.caller.now, group, session, data });
    }

    /// Tells that something was read, and its size.
    pub(crate) fn tell_read(&self, kind: &str, path: &str, size: usize) {
        let data = [("type", kind.into()), ("path", path.into()), ("size", size.into())];
        self.tell("memory:read", payload(data));
    }

    /// Tells that something was written, and by how much it grew.
    pub(crate) fn tell_write(&self, kind: &str, path: &str, delta: impl Into<Value>) {
        let data = [("type", kind.into()), ("path", path.into()), ("delta", delta.into())];
        self.tell("memory:write", payload(data));
    }

    /// Tells that something was searched for, and how much was found.
    pub(crate) fn tell_search(&self, query: &str, results: usize) {
        self.tell("memory:search", payload([("query", query.into()), ("results", results.into())]));
    }

    // What reads leave to be noted.

    /// Writes what searches have to remember: what was returned and recalled. A write does so by itself; this is for
    /// when no write will come.
    pub fn settle(&mut self) -> Result<()> {
        if self.is_on_disk() && !self.group.kept.pending.is_empty() {
            self.write(|_| Ok(()))?;
        }
        Ok(())
    }

    pub(crate) fn note_returned(&mut self, ids: impl IntoIterator<Item = EntryId>) {
        let now = self.caller.now;
        self.group.kept.pending.returned.extend(ids.into_iter().map(|id| (id, now)));
    }

    pub(crate) fn note_used_lines(&mut self, hashes: Vec<String>) {
        let now = self.caller.now;
        self.group.kept.pending.used_lines.extend(hashes.into_iter().map(|line| (line, now)));
    }

    /// Notes what a question recalled. The same question within a minute counts once.
    pub(crate) fn note_recalled(&mut self, query: &str, recalled: Recalled) {
        const MINUTE: f64 = 1.0 / 1440.0;
        const LAST: usize = 10;
        let Pending { asked, recalled: all, .. } = &mut self.group.kept.pending;
        let now = recalled.at;
        asked.retain(|(_, at)| (0.0..MINUTE).contains(&now.days_since(*at)));
        let query = index::analyse::fold(query);
        let nothing = recalled.entries.is_empty() && recalled.graph.is_empty();
        if nothing || asked.iter().any(|(asked, _)| *asked == query) {
            return;
        }
        if asked.len() == LAST {
            asked.remove(0);
        }
        asked.push((query, now));
        all.push(recalled);
    }

    // What the floors above keep.

    /// Returns what a floor above keeps with this group, made where there is none.
    pub(crate) fn state<T: Default + Send + 'static>(&mut self) -> &mut T {
        let state = &mut self.group.kept.state;
        let place = state.iter().position(|kept| kept.is::<T>()).unwrap_or_else(|| {
            state.push(Box::<T>::default());
            state.len() - 1
        });
        state[place].downcast_mut().expect("found by its type")
    }

    /// Forgets what the handle keeps of the records: they are others now.
    pub(crate) fn forget_state(&mut self) {
        self.group.kept = Kept::default();
        self.group.look_again();
    }

    /// Tells whether a document may have changed since the last look.
    pub(crate) fn may_have_changed(&self) -> bool {
        // Taken back before the look: what changes while it lasts is seen by the next.
        let changed = self.group.services.changed.as_ref();
        changed.is_none_or(|changed| changed.swap(false, Ordering::SeqCst))
    }

    pub(crate) fn look_again(&self) {
        self.group.look_again();
    }

    // Its collections.

    /// Returns the database of a collection, opened where it is not open yet.
    pub(crate) fn collection(&mut self, path: PathBuf, owner: Owner) -> Result<&mut Database> {
        let now = self.caller.now;
        let Group { collections, settings, records, .. } = &mut *self.group;
        let name = owner.collection.clone().expect("a collection has a name");
        if let Some(open) = collections.get_mut(&name) {
            open.refresh(now)?;
        } else {
            let opened = Database::open(path, owner, &records.schema, settings, now)?;
            collections.insert(name.clone(), opened);
        }
        Ok(collections.get_mut(&name).expect("just put there"))
    }

    /// Returns those of its collections that are open.
    pub(crate) fn open_collections(&self) -> impl Iterator<Item = (&CollectionName, &Database)> {
        self.group.collections.iter()
    }

    pub(crate) fn close_collection(&mut self, name: &CollectionName) {
        self.group.collections.remove(name);
    }

    // Whole files.

    /// Runs `work` with another database attached under the name `point`.
    pub(crate) fn with_attached<T>(
        &mut self,
        file: &Path,
        work: impl FnOnce(&mut View<'_>) -> Result<T>,
    ) -> Result<T> {
        self.attach(file)?;
        let done = work(self);
        self.detach()?;
        done
    }

    pub(crate) fn attach(&self, file: &Path) -> Result<()> {
        self.outside(|db| db.attach(file, "point"))
    }

    pub(crate) fn detach(&self) -> Result<()> {
        self.outside(|db| db.detach("point"))
    }

    /// Runs what can't stand in a transaction of ours.
    pub(crate) fn outside<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.group.memory.outside(work)
    }
}
