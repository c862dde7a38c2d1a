//! One open group, and a view of it as one caller sees it. A group can't reach another group, and nothing can
//! be read or written without entering it.

mod plugin;
mod services;

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value};

use crate::base::caller::{Actor, Caller, Visibility};
use crate::base::error::Kind;
use crate::base::ids::{CollectionName, EntryId, GroupName};
use crate::base::member::{MemberRole, Rights};
use crate::base::text::tokens;
use crate::base::{Error, FilePath, Result, Settings, Time};
use crate::index::database::{Database, Location, Owner, Snapshot};
use crate::index::{self, Lexicon, Schema};
use crate::store::audit::{self, AuditCheck};
use crate::store::event::{Event, Events, payload};
use crate::store::{Connection, Files, Lock, Server, Wait, lock_file, lock_on_server};

pub use plugin::{BriefPlugin, MakeBrief, PluginLine};
pub use services::RunDistiller;
pub(crate) use services::Services;

/// The database's name in the group's folder.
const DATABASE_FILE: &str = "memory.db";

/// One open group. Its content is read and written through a [`View`].
pub struct Group {
    /// The group's folder on this machine. With a server, it holds only what hooks left here.
    folder: PathBuf,
    server: Option<Server>,
    files: Files,
    settings: Arc<Settings>,
    records: &'static Records,
    memory: Database,
    /// The collections that were opened so far.
    collections: BTreeMap<CollectionName, Database>,
    events: Events,
    services: Services,
    kept: HandleState,
}

/// The state of a handle between two calls.
#[derive(Default)]
struct HandleState {
    pending: Pending,
    /// The state of higher layers, by type.
    state: Vec<Box<dyn Any + Send>>,
}

/// The parts of the records layer that a group handle calls. The layer above fills in this table.
pub(crate) struct Records {
    pub(crate) schema: Schema,
    /// Writes the pending notes of earlier reads.
    pub(crate) settle: fn(&Connection, &Pending) -> Result<()>,
    /// Runs when a database was opened or replaced.
    pub(crate) opened: fn(&mut View<'_>) -> Result<()>,
}

/// Notes from reads. They are written with the next write, because a read must not cost a write.
#[derive(Default)]
pub(crate) struct Pending {
    /// Entries that were shown to agents.
    pub(crate) returned: BTreeMap<EntryId, Time>,
    /// Lines of MEMORY.md that were used, by hash.
    pub(crate) used_lines: BTreeMap<String, Time>,
    /// Entries and facts that were returned together in one answer.
    pub(crate) recalled: Vec<JointRecall>,
    /// The queries of the last minute.
    asked: Vec<(String, Time)>,
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.returned.is_empty() && self.recalled.is_empty() && self.used_lines.is_empty()
    }

    /// Clears the notes that were written. Queries stay, because a repetition within a minute counts once.
    fn written(&mut self) {
        self.returned.clear();
        self.used_lines.clear();
        self.recalled.clear();
    }
}

/// Entries, facts and relations that were returned together in one answer, best first.
pub(crate) struct JointRecall {
    pub(crate) entries: Vec<EntryId>,
    pub(crate) graph: Vec<String>,
    pub(crate) at: Time,
    /// How much the activation of each fact rises.
    pub(crate) bump: f64,
}

impl Group {
    /// Opens a group. A group that nobody has written to is empty, and no file is created for it.
    pub(crate) fn open(
        (home, server): (&Path, Option<&Server>),
        name: GroupName,
        settings: Arc<Settings>,
        services: Services,
        records: &'static Records,
        now: Time,
    ) -> Result<Group> {
        let folder = home.join("groups").join(name.as_str());
        let events = Events::new(home, &settings.telemetry);
        let files = match server {
            Some(server) => Files::on_server(server.clone(), name.clone()),
            None => Files::in_folder(&folder),
        };
        let owner = Owner { group: name, collection: None };
        let location = location(server, folder.join(DATABASE_FILE));
        let budget = services.memory.clone();
        let memory = Database::open(location, owner, &records.schema, &settings, budget, now)?;
        let (server, collections, kept) = (server.cloned(), BTreeMap::new(), HandleState::default());
        let mut group =
            Group { folder, server, files, settings, records, memory, collections, events, services, kept };
        group.opened(now)?;
        Ok(group)
    }

    /// Enters the group as a caller: everything read or written through the view happens on their behalf.
    pub fn enter<'g>(&'g mut self, caller: &'g Caller) -> Result<View<'g>> {
        // Before anything is opened: who has no role in the group learns nothing of it.
        let rights = match &self.server {
            Some(server) => server.rights(self.name(), caller.member.as_deref())?,
            None => Rights::all(self.name()),
        };
        self.refresh(caller.now)?;
        Ok(View::new(self, caller, Arc::new(rights)))
    }

    /// Returns the group's name.
    pub fn name(&self) -> &GroupName {
        &self.memory.owner().group
    }

    /// Returns the folder of the group.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Tells whether the group is on a database server.
    pub fn is_on_server(&self) -> bool {
        self.server.is_some()
    }

    /// Tells whether the workspace has a file at this path.
    pub fn has_file(&self, path: &FilePath) -> Result<bool> {
        Ok(self.files.read(path, 0)?.is_some())
    }

    /// Refuses what needs a database file.
    pub(crate) fn needs_file(&self, what: &'static str) -> Result<()> {
        if self.is_on_server() { Err(Error::NotOnServer { what }) } else { Ok(()) }
    }

    /// Takes a lock that all processes respect. Its name is that of a file in the group's folder. Returns `None`
    /// if another process holds it and `wait` is `No`.
    pub(crate) fn lock(&self, name: &str, wait: Wait) -> Result<Option<Lock>> {
        match &self.server {
            Some(server) => lock_on_server(server, self.name(), name, wait),
            None => lock_file(&self.folder.join(name), wait),
        }
    }

    /// Returns its documents and transcripts.
    pub(crate) fn files(&self) -> &Files {
        &self.files
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// Returns the external programs and models that it may use.
    pub(crate) fn services(&self) -> &Services {
        &self.services
    }

    /// Returns the migrations of its databases and the owners of their passages.
    pub(crate) fn schema(&self) -> &'static Schema {
        &self.records.schema
    }

    /// Copies what was written last into the database file, so that a copy of the file alone has it. A process that stays open
    /// calls it when it is idle.
    pub fn flush(&mut self) {
        self.memory.flush_rest();
    }

    /// Returns the bytes of memory that this handle has reserved for vectors.
    pub fn vector_bytes(&self) -> usize {
        self.memory.vector_bytes() + self.collections.values().map(Database::vector_bytes).sum::<usize>()
    }

    /// Drops the vectors that this handle has in memory; the next search reads them again.
    pub fn release_vectors(&mut self) {
        self.memory.release_vectors();
        self.collections.values_mut().for_each(Database::release_vectors);
    }

    /// Registers a listener for every event of this handle, after the commit.
    pub fn listen(&mut self, listener: impl Fn(&Event) + Send + 'static) {
        self.events.listen(Box::new(listener));
    }

    /// Makes searches check the documents only if `changed` was set since the last check, for a process that
    /// watches the folder. Otherwise every search checks them.
    pub fn sync_when(&mut self, changed: Arc<AtomicBool>) {
        self.services.changed = Some(changed);
    }

    fn look_again(&self) {
        if let Some(changed) = &self.services.changed {
            changed.store(true, Ordering::SeqCst);
        }
    }

    /// Makes sure that the handle uses the current file: another process may have created, moved or replaced
    /// it.
    fn refresh(&mut self, now: Time) -> Result<()> {
        if self.memory.refresh(now)? {
            self.look_again();
            self.opened(now)?;
        }
        Ok(())
    }

    fn opened(&mut self, now: Time) -> Result<()> {
        let (nacre, rights) = (Caller::nacre(now), Arc::new(Rights::all(self.name())));
        (self.records.opened)(&mut View::new(self, &nacre, rights))
    }
}

fn location(server: Option<&Server>, file: PathBuf) -> Location {
    server.map_or(Location::File(file), |server| Location::Server(server.clone()))
}

/// An open group together with its caller. [`Group::enter`] creates it.
pub struct View<'g> {
    group: &'g mut Group,
    caller: &'g Caller,
    rights: Arc<Rights>,
}

/// Name, folder, settings and services are those of the group.
impl Deref for View<'_> {
    type Target = Group;

    fn deref(&self) -> &Group {
        self.group
    }
}

impl<'g> View<'g> {
    fn new(group: &'g mut Group, caller: &'g Caller, rights: Arc<Rights>) -> View<'g> {
        View { group, caller, rights }
    }

    /// Returns what the caller's role in the group allows.
    pub fn rights(&self) -> &Rights {
        &self.rights
    }

    /// Returns the caller.
    pub fn caller(&self) -> &'g Caller {
        self.caller
    }

    /// Returns the time of this call.
    pub(crate) fn now(&self) -> Time {
        self.caller.now
    }

    pub(crate) fn visibility(&self) -> Visibility {
        self.caller.visibility
    }

    /// Enters the same group as another caller, with the same rights.
    pub(crate) fn enter<'v>(&'v mut self, caller: &'v Caller) -> Result<View<'v>> {
        self.group.refresh(caller.now)?;
        Ok(View::new(self.group, caller, self.rights.clone()))
    }

    /// Reborrows this view for a value that stores it.
    pub(crate) fn lend(&mut self) -> View<'_> {
        View { group: self.group, caller: self.caller, rights: self.rights.clone() }
    }

    // Reading.

    /// Reads a consistent snapshot of the data that the caller's session may see.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.group.memory.read_as(self.visibility(), work)
    }

    /// Reads a consistent snapshot of all data, for decisions about writes. The result must not be shown to
    /// the caller.
    pub(crate) fn read_all<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.group.memory.read(work)
    }

    /// Takes a consistent snapshot of the memory for a search.
    pub(crate) fn snapshot(&self) -> Result<Snapshot<'_>> {
        self.group.memory.snapshot(self.visibility())
    }

    /// Returns the path of the memory's database.
    pub(crate) fn path(&self) -> &Path {
        self.group.memory.path()
    }

    /// Returns the size of the database in bytes.
    pub(crate) fn bytes(&self) -> Result<u64> {
        self.group.memory.bytes()
    }

    pub(crate) fn is_on_disk(&self) -> bool {
        self.group.memory.on_disk()
    }

    /// Checks the audit chain.
    pub fn verify_audit(&self) -> Result<AuditCheck> {
        self.group.memory.read(audit::verify)
    }

    /// Returns the events of the writes after a row of the audit log, and the number of the last row. A server has one log for
    /// all machines that use the group. Without a row, nothing has happened yet.
    pub fn writes_after(&self, row: Option<i64>) -> Result<(i64, Vec<Event>)> {
        const MAX_EVENTS: usize = 500;
        let Some(row) = row else {
            let newest = self.group.memory.read(|db| audit::newest(db, i64::MAX, 1))?;
            return Ok((newest.first().map_or(0, audit::Line::seq), Vec::new()));
        };
        let lines = self.group.memory.read(|db| audit::after(db, row, MAX_EVENTS))?;
        let last = lines.last().map_or(row, audit::Line::seq);
        Ok((last, lines.iter().filter_map(|line| line.event(self.name())).collect()))
    }

    /// Passes every row of the audit log to `take`, oldest first, as a line of JSON.
    pub fn export_audit(&self, mut take: impl FnMut(&str)) -> Result<()> {
        self.group.memory.read(|db| {
            audit::walk(db, |line| {
                take(&serde_json::to_string(line)?);
                Ok(())
            })
        })
    }

    /// Checks the whole database: the file, the index against the rows, and the audit chain. Returns the
    /// problems found.
    pub fn check(&self) -> Result<Vec<String>> {
        self.group.memory.check()
    }

    // Writing.

    /// Creates the database if it does not exist, so that the group is listed.
    pub fn create(&mut self) -> Result<()> {
        self.group.memory.create(self.caller.now)
    }

    /// Runs `work` in one write transaction, together with the pending notes of earlier reads.
    pub(crate) fn write<T>(&mut self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.write_indexed(|tx, _| work(tx))
    }

    /// Writes a large amount of text, with the cached lexicon.
    pub(crate) fn write_indexed<T>(
        &mut self,
        work: impl FnOnce(&Connection, &mut Lexicon) -> Result<T>,
    ) -> Result<T> {
        self.rights.need(MemberRole::Writer)?;
        self.write_unchecked(work)
    }

    fn write_unchecked<T>(&mut self, work: impl FnOnce(&Connection, &mut Lexicon) -> Result<T>) -> Result<T> {
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

    /// Writes data that can be rebuilt from its source, without waiting for the disk.
    pub(crate) fn write_derived<T>(
        &mut self,
        work: impl FnOnce(&Connection, &mut Lexicon) -> Result<T>,
    ) -> Result<T> {
        self.rights.need(MemberRole::Writer)?;
        self.group.memory.write_derived(self.caller.now, work)
    }

    /// Returns the memory's database, for rebuilding its index.
    pub(crate) fn memory(&mut self) -> &mut Database {
        &mut self.group.memory
    }

    /// Records a refused write in the audit log. A failure to record it must not hide the refusal.
    pub(crate) fn record_refusal(&mut self, action: &str, error: &Error) {
        // Only a decision about a well-formed request is recorded, not an invalid request or an unavailable
        // store.
        if matches!(error.kind(), Kind::NotFound | Kind::Conflict | Kind::Denied | Kind::Limit) {
            let (caller, mut row) = (self.caller, audit::Row::new(action));
            row.detail.insert("code".into(), error.code().into());
            let _ = self.write_unchecked(|tx, _| audit::append(tx, caller, &row, audit::Outcome::Refused));
        }
    }

    /// Removes deleted data from the write-ahead log. Returns false if another process is reading; a later
    /// checkpoint will do it.
    pub(crate) fn forget_log(&self) -> Result<bool> {
        self.group.memory.checkpoint()
    }

    /// Emits an event. It must be called after the commit.
    pub(crate) fn tell(&self, name: &'static str, mut data: Map<String, Value>) {
        // Whoever follows the events of a shared session is told of shared sessions alone.
        if self.visibility() == Visibility::Shared {
            data.insert("shared".into(), true.into());
        }
        let (group, session) = (self.name().clone(), self.caller.session.clone());
        self.group.events.tell(&Event { name, at: self.caller.now, group, session, data });
    }

    /// Emits an event for a read of this size.
    pub(crate) fn tell_read(&self, kind: &str, path: &str, size: usize) {
        let data = [("type", kind.into()), ("path", path.into()), ("size", size.into())];
        self.tell("memory:read", payload(data));
    }

    /// Emits an event for a file or list that an agent gets at the start of a session.
    pub(crate) fn tell_startup(&self, kind: &str, path: &str, size: usize) {
        let data =
            [("type", kind.into()), ("path", path.into()), ("size", size.into()), ("startup", true.into())];
        self.tell("memory:read", payload(data));
    }

    /// Emits an event for the answer of a tool that an agent called.
    pub(crate) fn tell_answer(&self, tool: &str, text: &str) {
        if self.caller.actor == Actor::Agent {
            let data = [("tool", tool.into()), ("tokens", tokens(text).into())];
            self.tell("memory:answer", payload(data));
        }
    }

    /// Emits an event for a write that changed the size by `delta`.
    pub(crate) fn tell_write(&self, kind: &str, path: &str, delta: impl Into<Value>) {
        let data = [("type", kind.into()), ("path", path.into()), ("delta", delta.into())];
        self.tell("memory:write", payload(data));
    }

    /// Emits an event for a search with this number of results.
    pub(crate) fn tell_search(&self, query: &str, results: usize) {
        let query = crate::base::redact::text(query).into_owned();
        self.tell("memory:search", payload([("query", query.into()), ("results", results.into())]));
    }

    // Pending notes of reads.

    /// Writes the pending notes of searches. Every write does this too; call it when no write will follow.
    pub fn settle(&mut self) -> Result<()> {
        if self.is_on_disk() && !self.group.kept.pending.is_empty() && self.rights.may(MemberRole::Writer) {
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

    /// Notes which memories a query recalled. The same query within a minute counts once.
    pub(crate) fn note_recalled(&mut self, query: &str, recalled: JointRecall) {
        const MINUTE_IN_DAYS: f64 = 1.0 / 1440.0;
        const MAX_RECENT_QUERIES: usize = 10;
        let Pending { asked, recalled: all, .. } = &mut self.group.kept.pending;
        let now = recalled.at;
        asked.retain(|(_, at)| (0.0..MINUTE_IN_DAYS).contains(&now.days_since(*at)));
        let query = index::analyse::fold(query);
        let nothing = recalled.entries.is_empty() && recalled.graph.is_empty();
        if nothing || asked.iter().any(|(asked, _)| *asked == query) {
            return;
        }
        if asked.len() == MAX_RECENT_QUERIES {
            asked.remove(0);
        }
        asked.push((query, now));
        all.push(recalled);
    }

    // State of higher layers.

    /// Returns the state of type `T` that a higher layer keeps with this group, and creates it if needed.
    pub(crate) fn state<T: Default + Send + 'static>(&mut self) -> &mut T {
        let state = &mut self.group.kept.state;
        let place = state.iter().position(|kept| kept.is::<T>()).unwrap_or_else(|| {
            state.push(Box::<T>::default());
            state.len() - 1
        });
        state[place].downcast_mut().expect("found by its type")
    }

    /// Drops all cached state, after the records were replaced.
    pub(crate) fn forget_state(&mut self) {
        self.group.kept = HandleState::default();
        self.group.look_again();
    }

    /// Tells whether a document may have changed since the last check.
    pub(crate) fn may_have_changed(&self) -> bool {
        // The flag is reset before the check, so that the next check sees changes made during this one.
        let changed = self.group.services.changed.as_ref();
        changed.is_none_or(|changed| changed.swap(false, Ordering::SeqCst))
    }

    pub(crate) fn look_again(&self) {
        self.group.look_again();
    }

    // Collections.

    /// Returns the database of a collection, and opens it if needed.
    pub(crate) fn collection(&mut self, path: PathBuf, owner: Owner) -> Result<&mut Database> {
        let now = self.caller.now;
        let Group { collections, settings, records, server, services, .. } = &mut *self.group;
        let name = owner.collection.clone().expect("a collection has a name");
        if let Some(open) = collections.get_mut(&name) {
            open.refresh(now)?;
        } else {
            let location = location(server.as_ref(), path);
            let budget = services.memory.clone();
            let opened = Database::open(location, owner, &records.schema, settings, budget, now)?;
            collections.insert(name.clone(), opened);
        }
        Ok(collections.get_mut(&name).expect("just put there"))
    }

    /// Returns the collections that are open.
    pub(crate) fn open_collections(&self) -> impl Iterator<Item = (&CollectionName, &Database)> {
        self.group.collections.iter()
    }

    pub(crate) fn close_collection(&mut self, name: &CollectionName) {
        self.group.collections.remove(name);
    }

    // Whole database files.

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

    /// Runs a statement that is not allowed in a transaction.
    pub(crate) fn outside<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.group.memory.outside(work)
    }
}
