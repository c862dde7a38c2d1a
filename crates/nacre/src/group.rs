//! One open group: its database and its folder, the handle that all else takes. A handle can't reach another
//! group.

use crate::store::event::payload;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::{Connection, Transaction};
use serde::Serialize;
use serde_json::Map;

use crate::base::Settings;
use crate::base::caller::Caller;
use crate::base::caller::Visibility;
use crate::base::ids::{CollectionName, EntryId, GroupName, SessionId};
use crate::base::{Error, Result, Time};
use crate::context::turn;
use crate::index;
use crate::index::database::{self, Database, Owner};
use crate::index::embed::{Embedder, http};
use crate::index::{Lexicon, Renewed, Scope, dense};
use crate::records::entry::{self, Counts};
use crate::records::session::{self, Recorded};
use crate::records::workspace::{
    self, Checkpoint, CheckpointDiff, Checkpoints, Restored, Synced, change, checkpoint, memory_file,
};
use crate::records::{collection, export, graph, import, project};
use crate::search::{self, Found};
use crate::store::audit::{self, Verified};
use crate::store::event::{Event, Events};
use crate::store::visibility;
use crate::tools::maintain;

/// The database's name in the group's folder.
const FILE: &str = "memory.db";

/// One open group.
pub struct Group {
    name: GroupName,
    folder: PathBuf,
    settings: Arc<Settings>,
    memory: Database,
    /// Those of its collections that were asked for.
    collections: BTreeMap<CollectionName, Database>,
    events: Events,
    /// What agents were shown since the last write; goes into the database with the next one, because a read
    /// costs no write.
    returned: BTreeMap<EntryId, Time>,
    /// Lines of MEMORY.md that were used since then, by hash.
    used_lines: BTreeMap<String, Time>,
    /// What came together since then, and the questions of the last minute.
    recalled: Vec<Recalled>,
    asked: Vec<(String, Time)>,
    /// Set by whoever watches the documents when one may have changed; without a watcher every search looks.
    changed: Option<Arc<AtomicBool>>,
    /// What the session under way sees.
    visibility: Cell<Visibility>,
    /// What the graph said to the last turns.
    pub(crate) turned: turn::graph::Cache,
    /// The model whose vectors are searched beside the built-in ones.
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    /// What makes the brief in our place.
    pub(crate) brief_plugin: Option<turn::BriefPlugin>,
    /// The job of maintenance that is under way.
    pub(crate) claim: Option<maintain::Claim>,
    /// What makes summaries in place of the built-in way.
    pub(crate) chat: Option<Arc<http::Chat>>,
}

/// Entries, and facts and relations, that came together in one answer, best first.
pub(crate) struct Recalled {
    pub(crate) entries: Vec<EntryId>,
    pub(crate) graph: Vec<String>,
    pub(crate) at: Time,
}

/// Makes anew what another version made of one database's index: its words at once, vectors step by step.
fn renew(
    database: &mut Database,
    now: Time,
    most: usize,
    progress: &mut dyn FnMut(&Renewed) -> ControlFlow<()>,
) -> Result<Renewed> {
    /// Passages in one transaction: what a kill may cost.
    const BATCH: usize = 500;
    if !database.on_disk() {
        return Ok(Renewed::default());
    }
    database.refresh(now)?;
    if database.is_stale()? {
        database.renew(0)?;
        let all = database.read(|db| count(db, "passages"))?;
        return Ok(Renewed { made: all, all });
    }
    let Some(mut so_far) = database.read(index::renewed)? else { return Ok(Renewed::default()) };
    let mut taken = 0;
    while taken < most {
        let made = database.renew((most - taken).min(BATCH))?;
        if made == 0 {
            break;
        }
        taken += made;
        so_far.made = (so_far.made + i64::try_from(made).unwrap_or(0)).min(so_far.all);
        if progress(&so_far).is_break() {
            break;
        }
    }
    // Others may have made some too.
    let all = so_far.all;
    Ok(database.read(index::renewed)?.unwrap_or(Renewed { made: all, all }))
}

/// Makes the vectors of one database.
fn fill(
    database: &mut Database,
    embedder: &dyn Embedder,
    now: Time,
    most: usize,
    progress: &mut dyn FnMut(&Embedded),
) -> Result<Embedded> {
    /// Passages in one transaction: what a kill may cost.
    const BATCH: usize = 128;
    if embedder.version().is_empty() {
        // Says why it can't be had.
        embedder.embed_documents(&["a text"])?;
    }
    if !database.on_disk() {
        return Ok(Embedded { model: embedder.version().to_owned(), ..Embedded::default() });
    }
    database.refresh(now)?;
    let mut so_far = database.read(|db| embedded(db, embedder))?;
    if so_far.left > 0 {
        database.write(now, |tx| dense::adopt(tx, embedder.version()))?;
    }
    let mut made = 0;
    while made < most && so_far.left > 0 {
        let mut pending = database.read(|db| dense::pending(db, (most - made).min(BATCH)))?;
        if pending.is_empty() {
            break;
        }
        made += pending.len();
        let vectors = dense::vectors(embedder, &mut pending)?;
        so_far = database.write(now, |tx| {
            // Another process may have turned to another model.
            if dense::model(tx)?.as_deref() == Some(embedder.version()) {
                dense::write(tx, &vectors)?;
            }
            embedded(tx, embedder)
        })?;
        progress(&so_far);
    }
    Ok(so_far)
}

impl Group {
    /// Opens a group. One that nobody has written to is empty, and nothing is made for it.
    pub(crate) fn open(home: &Path, name: GroupName, settings: Arc<Settings>, now: Time) -> Result<Group> {
        let folder = home.join("groups").join(name.as_str());
        let events = Events::new(home, &settings.telemetry);
        let owner = Owner { group: name.clone(), collection: None };
        let memory = Database::open(folder.join(FILE), owner, &settings, now)?;
        let (returned, recalled, asked, changed) = (BTreeMap::new(), Vec::new(), Vec::new(), None);
        let collections = BTreeMap::new();
        let (embedder, brief_plugin, chat, turned) = (None, None, None, turn::graph::Cache::default());
        let mut group = Group {
            name,
            folder,
            settings,
            memory,
            collections,
            events,
            returned,
            used_lines: BTreeMap::new(),
            recalled,
            asked,
            changed,
            visibility: Cell::default(),
            turned,
            embedder,
            brief_plugin,
            claim: None,
            chat,
        };
        group.purge(now)?;
        Ok(group)
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

    /// Returns how much there is and how it stands.
    pub fn status(&self) -> Result<Status> {
        let database_bytes = self.memory.bytes()?;
        self.memory.read(|db| {
            let newest: Option<Time> = db.query_row("SELECT max(at) FROM audit", [], |row| row.get(0))?;
            Ok(Status {
                group: self.name.clone(),
                folder: self.folder.clone(),
                profile: self.settings.profile.clone(),
                entries: entry::counts(db)?,
                documents: documents(db)?,
                graph: graph::counts(db)?,
                collections: count(db, "collections")?,
                projects: count(db, "projects")?,
                items: count(db, "items")?,
                tasks: count(db, "tasks")?,
                passages: count(db, "passages")?,
                stale: index::stale(db, self.settings.search.language())?.words && self.memory.on_disk(),
                vectors: index::renewed(db)?,
                embedded: self.embedder.as_deref().map(|embedder| embedded(db, embedder)).transpose()?,
                audit_rows: count(db, "audit")?,
                last_write: newest,
                database_bytes,
                schema: database::MIGRATIONS.steps.len(),
                sqlite: crate::store::sqlite_version(),
                set_aside: self.set_aside(),
                pending: count(db, "proposals WHERE state = 'pending'")?,
                infrastructure_seen: workspace::seen::sessions(db, 20)?,
            })
        })
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

    /// Makes the index anew, that of the documents from their files. Returns the number of passages.
    pub fn reindex(&mut self, caller: &Caller) -> Result<usize> {
        if self.memory.on_disk() {
            let language = self.settings.search.language();
            self.write(caller.now, |tx| {
                let passages = index::rebuild(tx, index::Documents::Forget, language)?;
                let mut row = audit::Row::new("reindex");
                row.detail.insert("passages".into(), passages.into());
                audit::append(tx, caller, &row, audit::Outcome::Done)
            })?;
        }
        self.sync(caller)?;
        session::catch_up_all(self, caller)?;
        self.memory.read(|db| Ok(usize::try_from(count(db, "passages")?).unwrap_or(0)))
    }

    /// Brings the index up to date with the documents (Q5): the Markdown files in the group's folder. Costs a
    /// walk over the folder, and no write where nothing changed.
    pub fn sync(&mut self, caller: &Caller) -> Result<Synced> {
        self.sync_with(caller, &mut |_| {})
    }

    /// The same; `progress` is told how many documents have been looked at.
    pub(crate) fn sync_with(&mut self, caller: &Caller, progress: &mut dyn FnMut(usize)) -> Result<Synced> {
        self.refresh(caller.now)?;
        // What a dead process has decided about files is done first.
        if self.memory.on_disk() && self.memory.read(change::is_unsettled)? {
            match change::hold(self, caller.now) {
                Ok(held) => drop(held),
                Err(Error::ReadOnly { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        if !self.settings.documents.index {
            return Ok(Synced::default());
        }
        let (found, graph) = (workspace::documents(&self.folder), self.settings.graph.documents);
        workspace::sync(&mut self.memory, caller, found, graph, &mut |done, _| progress(done))
    }

    /// Has searches look at the documents only when `changed` was set since the last look. For whoever watches
    /// the folder; without this every search looks.
    pub fn sync_when(&mut self, changed: Arc<AtomicBool>) {
        self.changed = Some(changed);
    }

    /// Syncs before a search, where there may be something new. What goes wrong is said, not thrown: what is
    /// indexed can still be searched.
    pub(crate) fn follow(&mut self, caller: &Caller) -> Option<String> {
        // Taken back before the look: what changes while it lasts is seen by the next.
        if self.changed.as_ref().is_some_and(|changed| !changed.swap(false, Ordering::SeqCst)) {
            return None;
        }
        let problem = self.sync(caller).err()?;
        self.look_again();
        Some(format!("memory: the documents could not be indexed: {problem}"))
    }

    fn look_again(&self) {
        if let Some(changed) = &self.changed {
            changed.store(true, Ordering::SeqCst);
        }
    }

    /// Looks the whole database over: the file, the index against the rows, the audit chain. Returns what is
    /// wrong.
    pub fn check(&self) -> Result<Vec<String>> {
        self.memory.check()
    }

    /// Writes everything the group holds into `folder`, as Markdown for people and JSON for
    /// [`Group::import`].
    pub fn export(&self, folder: &Path, now: Time) -> Result<export::Exported> {
        self.memory.read(|db| export::write(db, &self.name, &self.folder, folder, now))
    }

    /// Takes in what [`Group::export`] wrote. What is here already is left as it is, so that twice is the
    /// same as once.
    pub fn import(&mut self, caller: &Caller, folder: &Path) -> Result<export::Imported> {
        let found = export::read(folder)?;
        let shared = self.read_all(|db| session::absent(db, &found.shared_sessions))?;
        let mut imported = self.take_in(caller, &found)?;
        let put = export::put_files(self, caller, folder, found.files.as_deref())?;
        (imported.files, imported.files_kept) = (put.added, put.kept);
        imported.projects = found.projects;
        let known = self.read_all(export::projects)?;
        imported.projects.retain(|name, _| !known.contains_key(name));
        let here = self.collection_names()?;
        imported.collections = found.collections;
        imported.collections.retain(|name, _| !here.contains(name));
        if let Some(file) = export::sessions(folder) {
            let input = fs::File::open(&file).map_err(Error::io(&file))?;
            imported.messages = self.import_session(caller, BufReader::new(input), "sessions", |_| {})?.added;
        }
        if imported.files > 0 {
            session::catch_up_all(self, caller)?;
            self.sync(caller)?;
        }
        if !shared.is_empty() || !found.session_formats.is_empty() {
            self.write(caller.now, |tx| {
                session::set_formats(tx, &found.session_formats)?;
                session::set_shared(tx, &shared)
            })?;
        }
        Ok(imported)
    }

    /// Brings the memory of another program in (I5). What was brought in before is known again: what is the same stays, what
    /// changed at its source is changed here. `progress` is told how many items have been read.
    pub fn import_from(
        &mut self,
        caller: &Caller,
        format: &'static import::Format,
        path: &Path,
        options: &import::Options,
        progress: &mut dyn FnMut(usize),
    ) -> Result<import::Report> {
        import::import(self, caller, format, path, options, progress)
    }

    /// Takes in what can be read of another database file, damaged ones included.
    pub fn import_database(&mut self, caller: &Caller, file: &Path) -> Result<export::Imported> {
        let found = export::salvage(file)?;
        self.take_in(caller, &found)
    }

    /// Takes a transcript in (S7): what is here already is passed over. `name` is the session's id where the
    /// input has none; `progress` is told how many messages have been read.
    pub fn import_session(
        &mut self,
        caller: &Caller,
        input: impl BufRead,
        name: &str,
        progress: impl FnMut(usize),
    ) -> Result<Recorded> {
        self.refresh(caller.now)?;
        session::record(self, caller, input, name, progress)
    }

    /// Adds messages to the transcript of a session (S1). What was sent before is passed over.
    pub fn append_session(
        &mut self,
        caller: &Caller,
        session: &SessionId,
        drafts: &[session::Draft],
    ) -> Result<session::Appended> {
        self.begin(caller)?;
        session::append(self, caller, session, drafts)
    }

    /// Tells whether the agent is to store what lasts now (S4), and notes that it was told so.
    pub fn flush_check(
        &mut self,
        caller: &Caller,
        session: &SessionId,
        count: &session::Count<'_>,
    ) -> Result<session::Flush> {
        self.begin(caller)?;
        session::flush_check(self, caller, session, count)
    }

    /// Notes that a host compacts a conversation (S4). Returns whether its agent was asked before to store what
    /// lasts.
    pub fn compacts(&mut self, caller: &Caller) -> Result<bool> {
        self.begin(caller)?;
        let asked = self.read_all(|db| session::was_asked(db, &caller.session))?;
        self.flush(caller, &caller.session);
        session::host_compacted(self, caller, &caller.session)?;
        Ok(asked)
    }

    /// Ends a session: what was said since the last summary is summed up in an entry (S5). `None`: it has no
    /// transcript of ours.
    pub fn end_session(&mut self, caller: &Caller, session: &SessionId) -> Result<Option<session::Ended>> {
        self.begin(caller)?;
        match session::end(self, caller, session) {
            Err(Error::NoTranscript { .. }) => Ok(None),
            ended => ended.map(Some),
        }
    }

    /// Keeps the files and records as they are now (W7), to go back to.
    pub fn save_checkpoint(&mut self, caller: &Caller, name: &str, reason: &str) -> Result<Checkpoint> {
        self.refresh(caller.now)?;
        checkpoint::save(self, caller, name, reason)
    }

    /// Lists the checkpoints, newest first.
    pub fn checkpoints(&self) -> Result<Checkpoints> {
        checkpoint::list(self)
    }

    /// Says what has become of files and records since a checkpoint.
    pub fn diff_checkpoint(&mut self, caller: &Caller, id: &str) -> Result<CheckpointDiff> {
        self.refresh(caller.now)?;
        checkpoint::diff(self, caller, id)
    }

    /// Goes back to a checkpoint, files and records as one. The state before becomes a checkpoint itself.
    pub fn restore_checkpoint(&mut self, caller: &Caller, id: &str) -> Result<Restored> {
        self.refresh(caller.now)?;
        checkpoint::restore(self, caller, id)
    }

    /// Takes a checkpoint away for good. Returns its whole id.
    pub fn drop_checkpoint(&mut self, caller: &Caller, id: &str) -> Result<String> {
        self.refresh(caller.now)?;
        checkpoint::remove(self, caller, id)
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
        self.turned = turn::graph::Cache::default();
        self.returned.clear();
        self.recalled.clear();
        self.asked.clear();
        self.look_again();
    }

    fn take_in(&mut self, caller: &Caller, found: &export::Records) -> Result<export::Imported> {
        self.write(caller.now, |tx| {
            let imported = export::take_in(tx, found)?;
            let mut row = audit::Row::new("import");
            row.detail.insert("entries".into(), imported.added.into());
            audit::append(tx, caller, &row, audit::Outcome::Done)?;
            Ok(imported)
        })
    }

    /// Tells that a conversation is about to be compacted (S4).
    pub fn flush(&self, caller: &Caller, about: &SessionId) {
        let (group, session) = (self.name.clone(), caller.session.clone());
        let data = payload([("sessionId", about.as_str().into())]);
        self.tell(&Event { name: "memory:flush", at: caller.now, group, session, data });
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

    /// Finds what fits, in the memory and in its collections, as far as the scope has them.
    pub(crate) fn search(&mut self, request: &search::Request, now: Time) -> Result<Found> {
        let sources = request.scope.contains(&Scope::Sources) && !request.query.trim().is_empty();
        let (names, mut missing) = match sources {
            true => collection::to_search(self, request.collection.as_ref(), now)?,
            false => (Vec::new(), Vec::new()),
        };
        let visibility = self.visibility.get();
        let mut states = Vec::new();
        if request.scope.iter().any(|scope| *scope != Scope::Sources) {
            states.push((None, self.memory.path(), self.memory.snapshot(visibility)?));
        }
        for (name, database) in self.collections.iter().filter(|(name, _)| names.contains(name)) {
            match database.snapshot(Visibility::Private) {
                Ok(state) => states.push((Some(name), database.path(), state)),
                Err(error) => missing.push(collection::is_down(name, &error)),
            }
        }
        let asked: Vec<search::Asked<'_>> = states
            .iter()
            .map(|(collection, path, state)| search::Asked {
                collection: *collection,
                path,
                db: &state.db,
                space: &state.space,
                visibility: if collection.is_some() { Visibility::Private } else { visibility },
            })
            .collect();
        let mut found = search::run(&asked, request, &self.settings, self.embedder.as_deref())?;
        if asked.is_empty() && sources && missing.is_empty() {
            found.note = Some("this group has no collections".into());
        }
        missing.append(&mut found.missing);
        Ok(Found { missing, ..found })
    }

    /// Returns what every write moves on to the index of the memory or of a collection.
    pub fn written(&mut self, now: Time) -> Result<Written> {
        self.memory.refresh(now)?;
        let mut stamps = vec![(None, self.memory.read(index::stamp)?)];
        for record in self.memory.read(collection::all)? {
            // One that can't be read now may be mended later.
            let stamp = self.collection(&record.name, now).and_then(|database| database.read(index::stamp));
            stamps.push((Some(record.name), stamp.unwrap_or(-1)));
        }
        Ok(Written(stamps))
    }

    /// Makes anew what another version made, in the indexes of the memory and of its collections: words at
    /// once, built-in vectors at most so many of each, the newest first. `progress` is told after every
    /// transaction, of one database after the other, and may break off. Any number of processes may do this
    /// at once; search goes on meanwhile.
    pub fn renew(
        &mut self,
        now: Time,
        most: usize,
        progress: &mut dyn FnMut(&Renewed) -> ControlFlow<()>,
    ) -> Result<Renewed> {
        let mut sum = renew(&mut self.memory, now, most, progress)?;
        for record in self.memory.read(collection::all)? {
            // Of one that can't be opened every search says so.
            let Ok(database) = self.collection(&record.name, now) else { continue };
            let of_one = renew(database, now, most, progress)?;
            sum = Renewed { made: sum.made + of_one.made, all: sum.all + of_one.all };
        }
        Ok(sum)
    }

    /// Makes vectors by the provider for passages of the memory and of its collections that have none, at
    /// most so many, the newest first. `progress` is told what is done and what is left. What a provider that
    /// fails leaves undone is done by the next call; search goes on meanwhile.
    pub fn embed(&mut self, now: Time, most: usize, progress: &mut dyn FnMut(&Embedded)) -> Result<Embedded> {
        let Some(embedder) = self.embedder.clone() else { return Ok(Embedded::default()) };
        let mut sum = fill(&mut self.memory, &*embedder, now, most, progress)?;
        for record in self.memory.read(collection::all)? {
            let of_one = fill(self.collection(&record.name, now)?, &*embedder, now, most, progress)?;
            sum = Embedded {
                model: sum.model,
                done: sum.done + of_one.done,
                refused: sum.refused + of_one.refused,
                left: sum.left + of_one.left,
            };
        }
        Ok(sum)
    }

    /// Returns the database of a collection, as it is now.
    pub(crate) fn collection(&mut self, name: &CollectionName, now: Time) -> Result<&mut Database> {
        if let Some(open) = self.collections.get_mut(name) {
            open.refresh(now)?;
        } else {
            let (path, owner) = collection::place(self, name);
            self.collections.insert(name.clone(), Database::open(path, owner, &self.settings, now)?);
        }
        Ok(self.collections.get_mut(name).expect("just put there"))
    }

    /// Lets go of the database of a collection.
    pub(crate) fn close_collection(&mut self, name: &CollectionName) {
        self.collections.remove(name);
    }

    pub(crate) fn write<T>(
        &mut self,
        now: Time,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        self.write_indexed(now, |tx, _| work(tx))
    }

    /// Writes much text at once, with what is known of words.
    pub(crate) fn write_indexed<T>(
        &mut self,
        now: Time,
        work: impl FnOnce(&Transaction<'_>, &mut Lexicon) -> Result<T>,
    ) -> Result<T> {
        let (returned, recalled, used) = (&self.returned, &self.recalled, &self.used_lines);
        let value = self.memory.write_indexed(now, |tx, lexicon| {
            entry::note_returned(tx, returned)?;
            memory_file::note_used(tx, used)?;
            for Recalled { entries, graph, at } in recalled {
                entry::link::note(tx, entries)?;
                graph::activation::note(tx, graph, *at)?;
            }
            work(tx, lexicon)
        })?;
        self.returned.clear();
        self.used_lines.clear();
        self.recalled.clear();
        Ok(value)
    }

    /// Writes what could be made again from its source, without waiting for the disk.
    pub(crate) fn write_derived<T>(
        &mut self,
        now: Time,
        work: impl FnOnce(&Transaction<'_>, &mut Lexicon) -> Result<T>,
    ) -> Result<T> {
        self.memory.write_derived(now, work)
    }

    /// Writes what searches have to remember: what was returned and recalled. A write does so by itself; this is for
    /// when no write will come.
    pub fn settle(&mut self, now: Time) -> Result<()> {
        let nothing = self.returned.is_empty() && self.recalled.is_empty() && self.used_lines.is_empty();
        if self.memory.on_disk() && !nothing {
            self.write(now, |_| Ok(()))?;
        }
        Ok(())
    }

    /// Notes what a question recalled. The same question within a minute counts once.
    pub(crate) fn note_recalled(&mut self, query: &str, recalled: Recalled) {
        const MINUTE: f64 = 1.0 / 1440.0;
        const LAST: usize = 10;
        let now = recalled.at;
        self.asked.retain(|(_, at)| (0.0..MINUTE).contains(&now.days_since(*at)));
        let query = index::analyse::fold(query);
        let nothing = recalled.entries.is_empty() && recalled.graph.is_empty();
        if nothing || self.asked.iter().any(|(asked, _)| *asked == query) {
            return;
        }
        if self.asked.len() == LAST {
            self.asked.remove(0);
        }
        self.asked.push((query, now));
        self.recalled.push(recalled);
    }

    /// Takes facts, relations and aliases in from a file that a person wrote (G8).
    pub fn seed(&mut self, caller: &Caller, path: &Path) -> Result<graph::Seeded> {
        let text = fs::read_to_string(path).map_err(Error::io(path))?;
        let seed = graph::seed::parse(path, &text)?;
        self.refresh(caller.now)?;
        self.write(caller.now, |tx| {
            let seeded = graph::seed::take_in(tx, caller.now, &caller.session, &seed)?;
            let mut row = audit::Row::new("seed");
            row.detail.insert("added".into(), seeded.added.into());
            audit::append(tx, caller, &row, audit::Outcome::Done)?;
            Ok(seeded)
        })
    }

    /// Takes in a tasks.json in the form of seed 002: all of it, or nothing (K2).
    pub fn import_tasks(&mut self, caller: &Caller, path: &Path) -> Result<project::TasksImported> {
        let text = fs::read_to_string(path).map_err(Error::io(path))?;
        self.begin(caller)?;
        self.write(caller.now, |tx| {
            let done =
                project::task::take_in(tx, path, &text, (caller.actor_name(), caller.session.as_str()))?;
            let mut row = audit::Row::new("task_import");
            row.detail.insert("tasks".into(), done.added.into());
            audit::append(tx, caller, &row, audit::Outcome::Done)?;
            Ok(done)
        })
    }

    /// Returns all that the graph holds now, for other programs to draw.
    pub fn picture(&self) -> Result<graph::Picture> {
        self.memory.read(graph::Picture::new)
    }

    /// Lists what was read from documents and not taken into the graph, and why.
    pub fn kept_out(&self) -> Result<Vec<graph::KeptOut>> {
        self.memory.read(graph::kept_out)
    }

    /// Empties the log of what was deleted. False: a reader of another process is in the way, and a later
    /// checkpoint will do it.
    pub(crate) fn forget_log(&self) -> Result<bool> {
        self.memory.checkpoint()
    }

    pub(crate) fn tell(&self, event: &Event) {
        self.events.tell(event);
    }

    /// Notes that lines of MEMORY.md were of use (W6).
    pub(crate) fn note_used(&mut self, uses: &[memory_file::Use<'_>], now: Time) {
        let used = memory_file::used(self, self.settings.search.language(), uses);
        self.used_lines.extend(used.into_iter().map(|line| (line, now)));
    }

    pub(crate) fn note_returned(&mut self, ids: impl IntoIterator<Item = EntryId>, now: Time) {
        self.returned.extend(ids.into_iter().map(|id| (id, now)));
    }

    /// Sees to it that the handle stands on the file that is there now: another process may have made it,
    /// moved it or put one in its place.
    pub(crate) fn refresh(&mut self, now: Time) -> Result<()> {
        if self.memory.refresh(now)? {
            self.look_again();
            self.purge(now)?;
        }
        Ok(())
    }

    /// Deletes what was superseded long ago (E8), if there is any: looking costs no write.
    pub(crate) fn purge(&mut self, now: Time) -> Result<usize> {
        let days = self.settings.entries.purge_superseded_days;
        if days == 0 || !self.memory.on_disk() {
            return Ok(0);
        }
        let before = now.plus_days(-days);
        let due = "SELECT EXISTS (SELECT 1 FROM entries WHERE superseded_at < ?1)";
        if !self.memory.read(|db| Ok(db.query_row(due, [before], |row| row.get(0))?))? {
            return Ok(0);
        }
        let purged = self.memory.write(now, |tx| {
            let ids = entry::purge_superseded(tx, before)?;
            let mut row = audit::Row::new("purge");
            row.ids.extend(ids.iter().map(ToString::to_string));
            row.detail.insert("purged".into(), ids.len().into());
            audit::append_own(tx, now, &row)?;
            Ok(ids.len())
        });
        let purged = match purged {
            // A home that can't be written can still be read.
            Err(Error::ReadOnly { .. }) => return Ok(0),
            purged => purged?,
        };
        let data = Map::from_iter([("type".into(), "purge".into()), ("purged".into(), purged.into())]);
        let session = SessionId::new(now);
        self.tell(&Event { name: "memory:write", at: now, group: self.name.clone(), session, data });
        Ok(purged)
    }

    /// The databases that were moved out of the way. One of which only the log is left is named as if it were
    /// there.
    fn set_aside(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|found| found.path());
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
}

/// How much a group holds and how it stands.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "named after what they count")]
pub struct Status {
    pub group: GroupName,
    pub folder: PathBuf,
    pub profile: String,
    pub entries: Counts,
    pub documents: Documents,
    pub graph: graph::Counts,
    pub collections: i64,
    pub projects: i64,
    pub items: i64,
    pub tasks: i64,
    pub passages: i64,
    /// Whether the index has words of another version's analyser, or in another language.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
    /// How far built-in vectors have come that are made anew for the model of this version; absent where all
    /// are there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vectors: Option<Renewed>,
    /// How far the vectors of the provider have come; absent where the built-in ones are all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedded: Option<Embedded>,
    pub audit_rows: i64,
    pub last_write: Option<Time>,
    pub database_bytes: u64,
    pub schema: usize,
    pub sqlite: &'static str,
    /// Databases that were damaged and moved out of the way.
    pub set_aside: Vec<PathBuf>,
    /// Writes that wait for a person.
    pub pending: i64,
    /// The last sessions that were shown details of the infrastructure (W10).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub infrastructure_seen: Vec<String>,
}

/// How far the indexes of a group have been written: differs after any write to one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written(Vec<(Option<CollectionName>, i64)>);

/// How far the vectors of a provider have come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "named after what they count")]
pub struct Embedded {
    pub model: String,
    pub done: i64,
    /// Texts that the provider does not take.
    pub refused: i64,
    pub left: i64,
}

fn embedded(db: &Connection, embedder: &dyn Embedder) -> Result<Embedded> {
    let model = embedder.version().to_owned();
    let of_this = dense::model(db)?.as_deref() == Some(&model);
    let dense::Progress { done, refused, all } = dense::progress(db)?;
    let (done, refused) = if of_this { (done, refused) } else { (0, 0) };
    Ok(Embedded { model, done, refused, left: all - done - refused })
}

/// How many documents are indexed.
#[derive(Clone, Copy, Debug, Serialize)]
#[expect(missing_docs, reason = "named after what they count")]
pub struct Documents {
    pub indexed: i64,
    pub chunks: i64,
    /// Files that are there and can't be indexed; `nacre index` says why.
    pub skipped: i64,
}

fn documents(db: &Connection) -> Result<Documents> {
    let sql = "SELECT count(*) FILTER (WHERE hash <> ''), coalesce(sum(chunks), 0), count(*) FILTER (WHERE hash = '')
        FROM documents";
    Ok(db.query_row(sql, [], |row| {
        Ok(Documents { indexed: row.get(0)?, chunks: row.get(1)?, skipped: row.get(2)? })
    })?)
}

fn count(db: &Connection, table: &str) -> Result<i64> {
    Ok(db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?)
}
