//! One open group: its database and its folder, the handle that all else takes. A handle can't reach another
//! group.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::{Connection, OptionalExtension, Transaction};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::call::{Caller, Verified, audit};
use crate::entry::{self, Counts};
use crate::event::{Event, Events};
use crate::ids::{EntryId, GroupName, SessionId};
use crate::index::Space;
use crate::session::{self, Recorded};
use crate::settings::Settings;
use crate::store::Db;
use crate::workspace::{self, Synced};
use crate::{Error, Result, Time, export, files, index};

/// The schema, one migration after the other. Only ever added to.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001.sql"),
    include_str!("../migrations/0002.sql"),
    include_str!("../migrations/0003.sql"),
];

/// The database's name in the group's folder.
const FILE: &str = "memory.db";

/// One open group.
pub struct Group {
    name: GroupName,
    folder: PathBuf,
    settings: Arc<Settings>,
    db: Db,
    /// Which file `db` is, so that one put in its place is noticed.
    identity: Option<Identity>,
    events: Events,
    /// What agents were shown since the last write; goes into the database with the next one, because a read
    /// costs no write.
    returned: BTreeMap<EntryId, Time>,
    /// Marks and vectors as of the last search; brought up to date by the next.
    space: RefCell<Space>,
    /// Set by whoever watches the documents when one may have changed; without a watcher every search looks.
    changed: Option<Arc<AtomicBool>>,
}

impl Group {
    /// Opens a group. One that nobody has written to is empty, and nothing is made for it.
    pub(crate) fn open(home: &Path, name: GroupName, settings: Arc<Settings>, now: Time) -> Result<Group> {
        let folder = home.join("groups").join(name.as_str());
        let events = Events::new(home, &settings.telemetry);
        let path = folder.join(FILE);
        let there = identity(&path);
        let db = if there.is_some() { Db::open(&path, MIGRATIONS, now)? } else { Db::empty(MIGRATIONS)? };
        let (returned, space) = (BTreeMap::new(), RefCell::default());
        let (identity, changed) = (there, None);
        let mut group = Group { name, folder, settings, db, identity, events, returned, space, changed };
        group.arrive(now)?;
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
        self.db.read(|db| {
            let newest: Option<Time> = db.query_row("SELECT max(at) FROM audit", [], |row| row.get(0))?;
            let pages: (u64, u64) = (pragma(db, "page_count")?, pragma(db, "page_size")?);
            Ok(Status {
                group: self.name.clone(),
                folder: self.folder.clone(),
                profile: self.settings.profile.clone(),
                entries: entry::counts(db)?,
                documents: documents(db)?,
                passages: count(db, "passages")?,
                audit_rows: count(db, "audit")?,
                last_write: newest,
                database_bytes: if self.db.on_disk() { pages.0 * pages.1 } else { 0 },
                schema: MIGRATIONS.len(),
                sqlite: rusqlite::version(),
                set_aside: self.set_aside(),
            })
        })
    }

    /// Checks the audit chain.
    pub fn verify_audit(&self) -> Result<Verified> {
        self.db.read(audit::verify)
    }

    /// Gives every row of the audit log, oldest first, as a line of JSON.
    pub fn export_audit(&self, mut take: impl FnMut(&str)) -> Result<()> {
        self.db.read(|db| {
            audit::walk(db, |line| {
                take(&serde_json::to_string(line)?);
                Ok(())
            })
        })
    }

    /// Makes the index anew, that of the documents from their files. Returns the number of passages.
    pub fn reindex(&mut self, caller: &Caller) -> Result<usize> {
        if self.db.on_disk() {
            self.write(caller.now, |tx| {
                let passages = index::rebuild(tx)?;
                let mut row = audit::Row::new("reindex");
                row.detail.insert("passages".into(), passages.into());
                audit::append(tx, caller, &row, audit::Outcome::Done)
            })?;
        }
        self.sync(caller)?;
        self.db.read(|db| Ok(usize::try_from(count(db, "passages")?).unwrap_or(0)))
    }

    /// Brings the index up to date with the documents (Q5): the Markdown files in the group's folder. Costs a
    /// walk over the folder, and no write where nothing changed.
    pub fn sync(&mut self, caller: &Caller) -> Result<Synced> {
        self.refresh(caller.now)?;
        workspace::sync(self, caller)
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
        let mut problems = self.db.outside(|db| {
            let mut statement = db.prepare("PRAGMA integrity_check(20)")?;
            let lines = statement
                .query_map([], |row| row.get::<_, String>(0))?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            Ok(lines.into_iter().filter(|line| line != "ok").collect::<Vec<_>>())
        })?;
        problems.extend(self.db.read(index::check)?);
        problems.extend(self.verify_audit()?.problem.map(|problem| format!("audit: {problem}")));
        Ok(problems)
    }

    /// Does what is due: purges what was superseded long ago, archives the lowest of a database that has
    /// outgrown its size (E8, E9).
    pub fn maintain(&mut self, caller: &Caller) -> Result<Maintained> {
        self.refresh(caller.now)?;
        let purged = self.purge(caller.now)?;
        let mut archived = 0;
        let limit = self.settings.entries.max_size_mb.saturating_mul(1 << 20);
        if self.db.on_disk() && self.status()?.database_bytes > limit {
            let (settings, now) = (self.settings.clone(), caller.now);
            archived = self.write(now, |tx| {
                let ids = entry::archive_lowest(tx, now, settings.entries.prune_percent, &settings.rank)?;
                let mut row = audit::Row::new("archive");
                row.ids.extend(ids.iter().map(ToString::to_string));
                audit::append(tx, caller, &row, audit::Outcome::Done)?;
                Ok(ids.len())
            })?;
        }
        Ok(Maintained { purged, archived })
    }

    /// Writes everything the group holds into `folder`, as Markdown for people and JSON for
    /// [`Group::import`].
    pub fn export(&self, folder: &Path, now: Time) -> Result<export::Exported> {
        self.db.read(|db| export::write(db, &self.name, folder, now))
    }

    /// Takes in what [`Group::export`] wrote. What is here already is left as it is, so that twice is the
    /// same as once.
    pub fn import(&mut self, caller: &Caller, folder: &Path) -> Result<export::Imported> {
        let found = export::read(folder)?;
        let mut imported = self.take_in(caller, &found)?;
        if let Some(file) = export::sessions(folder) {
            let input = fs::File::open(&file).map_err(Error::io(&file))?;
            imported.messages = self.import_session(caller, BufReader::new(input), "sessions", |_| {})?.added;
        }
        Ok(imported)
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

    fn take_in(&mut self, caller: &Caller, found: &export::Records) -> Result<export::Imported> {
        self.write(caller.now, |tx| {
            let imported = export::take_in(tx, found)?;
            let mut row = audit::Row::new("import");
            row.detail.insert("entries".into(), imported.added.into());
            audit::append(tx, caller, &row, audit::Outcome::Done)?;
            Ok(imported)
        })
    }

    /// Makes the database where there is none, so that the group is there to be seen.
    pub fn create(&mut self, now: Time) -> Result<()> {
        if self.db.on_disk() {
            return Ok(());
        }
        files::create_folder(&self.folder)?;
        self.db = Db::open(&self.path(), MIGRATIONS, now)?;
        self.identity = identity(&self.path());
        let name = self.name.clone();
        self.db.write(|tx| {
            tx.execute(
                "INSERT INTO meta (key, value) VALUES ('group', ?1) ON CONFLICT DO NOTHING",
                [name.as_str()],
            )?;
            if index::is_current(tx)? { Ok(0) } else { index::rebuild(tx) }
        })?;
        self.check_owner()
    }

    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.db.read(work)
    }

    /// Reads one consistent state, with what search needs of every passage.
    pub(crate) fn read_indexed<T>(&self, work: impl FnOnce(&Connection, &Space) -> Result<T>) -> Result<T> {
        self.db.read(|db| {
            let mut space = self.space.borrow_mut();
            space.refresh(db)?;
            work(db, &space)
        })
    }

    pub(crate) fn write<T>(
        &mut self,
        now: Time,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        self.create(now)?;
        let returned = &self.returned;
        let value = self.db.write(|tx| {
            entry::note_returned(tx, returned)?;
            work(tx)
        })?;
        self.returned.clear();
        Ok(value)
    }

    /// Empties the log of what was deleted. False: a reader of another process is in the way, and a later
    /// checkpoint will do it.
    pub(crate) fn forget_log(&self) -> Result<bool> {
        self.db.checkpoint()
    }

    pub(crate) fn tell(&self, event: &Event) {
        self.events.tell(event);
    }

    pub(crate) fn note_returned(&mut self, ids: impl IntoIterator<Item = EntryId>, now: Time) {
        self.returned.extend(ids.into_iter().map(|id| (id, now)));
    }

    /// Sees to it that the handle stands on the file that is there now: another process may have made it,
    /// moved it or put one in its place.
    pub(crate) fn refresh(&mut self, now: Time) -> Result<()> {
        let path = self.path();
        let there = identity(&path);
        if there == self.identity {
            return Ok(());
        }
        self.space = RefCell::default();
        self.look_again();
        self.db = match there {
            Some(_) => Db::open(&path, MIGRATIONS, now)?,
            None => Db::empty(MIGRATIONS)?,
        };
        self.identity = identity(&path);
        self.arrive(now)
    }

    /// What is done with every database that was just opened.
    fn arrive(&mut self, now: Time) -> Result<()> {
        if self.db.on_disk() {
            self.check_owner()?;
            self.purge(now)?;
            if !self.db.read(index::is_current)? {
                self.db.write(index::rebuild_if_stale)?;
            }
        }
        Ok(())
    }

    /// Refuses a database that was copied or linked here from another group.
    fn check_owner(&self) -> Result<()> {
        let owner: Option<String> = self.db.read(|db| {
            Ok(db.query_row("SELECT value FROM meta WHERE key = 'group'", [], |row| row.get(0)).optional()?)
        })?;
        match owner {
            Some(owner) if owner != self.name.as_str() => {
                let problem =
                    format!("belongs to group `{}`, not to `{}`", crate::ids::shorten(&owner), self.name);
                Err(Error::NotOurs { path: self.path(), problem })
            }
            _ => Ok(()),
        }
    }

    /// Deletes what was superseded long ago (E8), if there is any: looking costs no write.
    fn purge(&mut self, now: Time) -> Result<usize> {
        let days = self.settings.entries.purge_superseded_days;
        if days == 0 || !self.db.on_disk() {
            return Ok(0);
        }
        let before = now.plus_days(-days);
        let due = "SELECT EXISTS (SELECT 1 FROM entries WHERE superseded_at < ?1)";
        if !self.db.read(|db| Ok(db.query_row(due, [before], |row| row.get(0))?))? {
            return Ok(0);
        }
        let purged = self.db.write(|tx| {
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

    fn path(&self) -> PathBuf {
        self.folder.join(FILE)
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

fn pragma(db: &Connection, name: &str) -> Result<u64> {
    let value: i64 = db.pragma_query_value(None, name, |row| row.get(0))?;
    Ok(value.unsigned_abs())
}

/// What tells one file from another that has the same name.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Identity(u64, u64);

fn identity(path: &Path) -> Option<Identity> {
    let found = fs::symlink_metadata(path).ok()?;
    #[cfg(unix)]
    return Some(Identity(
        std::os::unix::fs::MetadataExt::dev(&found),
        std::os::unix::fs::MetadataExt::ino(&found),
    ));
    #[cfg(not(unix))]
    Some(Identity(u64::from(found.is_file()), 0))
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
    pub passages: i64,
    pub audit_rows: i64,
    pub last_write: Option<Time>,
    pub database_bytes: u64,
    pub schema: usize,
    pub sqlite: &'static str,
    /// Databases that were damaged and moved out of the way.
    pub set_aside: Vec<PathBuf>,
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

/// What maintenance did.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Maintained {
    /// Superseded entries that went for good.
    pub purged: usize,
    /// Entries moved to the archive.
    pub archived: usize,
}

/// A payload of an event.
pub(crate) fn payload<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
