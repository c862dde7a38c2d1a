//! One open database of a group: its memory, or one of its collections. It is a file with an owner and an
//! index, plus the in-memory data of search. The handle follows the file: another process may create, move or
//! replace it.

use std::cell::{OnceCell, RefCell, RefMut};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::Settings;
use crate::base::caller::Visibility;
use crate::base::ids::{CollectionName, GroupName};
use crate::base::text::shorten;
use crate::base::{Error, Result, Time, files};
use crate::index::{self, Language, Lexicon, MemoryBudget, Schema, Space, lines};
use crate::store::audit;
use crate::store::visibility;
use crate::store::{Connection, Damage, Db, Engine, Scope, Server};

/// The owner of a database. It is written into the file, so that a file copied from elsewhere is recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) group: GroupName,
    /// `None` for the memory of the group.
    pub(crate) collection: Option<CollectionName>,
}

impl Owner {
    /// How a damaged file is handled: records are moved away, so that the next call starts with an empty
    /// database; a collection is left until its sources are read again.
    fn damage(&self, now: Time) -> Damage {
        if self.collection.is_some() { Damage::Leave } else { Damage::SetAside(now) }
    }

    /// Returns the name of the collection; empty for the memory.
    fn collection_name(&self) -> &str {
        self.collection.as_ref().map_or("", CollectionName::as_str)
    }
}

/// Where a database is.
#[derive(Clone)]
pub(crate) enum Location {
    File(PathBuf),
    /// A group on a server. A collection is a group of its own.
    Server(Server),
}

/// One open database.
pub(crate) struct Database {
    location: Location,
    /// The file, or the address of the server, for messages.
    path: PathBuf,
    owner: Owner,
    schema: &'static Schema,
    language: Language,
    /// The names of documents that shared sessions do not see.
    private: Arc<[String]>,
    db: Db,
    /// Whether `db` has the views that show what shared sessions see.
    public: bool,
    /// The same file as shared sessions see it.
    shared: OnceCell<Db>,
    /// The version that had built the index when the file was opened.
    made_by: Option<String>,
    /// The version of the vectors of lines when the file was opened.
    line_vectors: Option<String>,
    /// The identity of the file of `db`, to detect that it was replaced.
    identity: Option<Identity>,
    /// When the log was last copied into the file.
    flushed: Option<Time>,
    /// Whether something was written since.
    unflushed: bool,
    /// Marks and vectors as of the last search; the next search refreshes them.
    space: RefCell<Space>,
    /// A cache of words from imports and documents. It only affects speed.
    lexicon: Lexicon,
}

/// A consistent snapshot of a database, with the marks and vectors of every passage.
pub(crate) struct Snapshot<'a> {
    pub(crate) db: crate::store::Snapshot<'a>,
    pub(crate) space: RefMut<'a, Space>,
}

impl Database {
    /// Opens a database. A database that nobody has written to is empty, and no file is created for it.
    pub(crate) fn open(
        location: Location,
        owner: Owner,
        schema: &'static Schema,
        settings: &Settings,
        memory: Arc<MemoryBudget>,
        now: Time,
    ) -> Result<Database> {
        let language = settings.search.language();
        let private: Arc<[String]> = settings.visibility.private.as_slice().into();
        let identity = location.identity(&owner)?;
        let db = location.open(&owner, schema, identity, &private, now)?;
        let path = match &location {
            Location::File(path) => path.clone(),
            Location::Server(server) => server.name().into(),
        };
        let mut database = Database {
            location,
            path,
            owner,
            schema,
            language,
            private,
            db,
            public: false,
            shared: OnceCell::new(),
            made_by: None,
            line_vectors: None,
            identity,
            flushed: None,
            unflushed: false,
            space: RefCell::new(Space::new(memory)),
            lexicon: Lexicon::default(),
        };
        database.after_open()?;
        Ok(database)
    }

    /// Makes sure that the handle uses the current file. Returns whether it is another file than before.
    pub(crate) fn refresh(&mut self, now: Time) -> Result<bool> {
        // A transaction on a server fails if its group was removed, so that it need not be asked each time.
        if let (Location::Server(server), Some(identity)) = (&self.location, self.identity)
            && self.owner.collection.is_none()
            && !server.is_removed(identity.group())
        {
            return Ok(false);
        }
        let there = self.location.identity(&self.owner)?;
        if there == self.identity {
            return Ok(false);
        }
        if let (Location::File(path), None, Some(_)) = (&self.location, there, self.identity)
            && !path.ancestors().nth(2).is_some_and(Path::exists)
        {
            return Err(Error::HomeMoved { path: path.clone() });
        }
        self.space.get_mut().clear();
        self.db = self.location.open(&self.owner, self.schema, there, &self.private, now)?;
        (self.public, self.shared) = (false, OnceCell::new());
        self.identity = self.location.identity(&self.owner)?;
        self.after_open()?;
        Ok(true)
    }

    /// Creates the file if it does not exist.
    pub(crate) fn create(&mut self, now: Time) -> Result<()> {
        if self.db.on_disk() {
            return Ok(());
        }
        self.db = match &self.location {
            Location::File(path) => {
                if let Some(folder) = path.parent() {
                    files::create_folder(folder)?;
                }
                Db::open(path, &self.schema.migrations, self.owner.damage(now))?
            }
            Location::Server(server) => {
                let group = server.create_group(&self.owner.group, self.owner.collection_name())?;
                let identity = Some(Identity::on_server(group));
                self.location.open(&self.owner, self.schema, identity, &self.private, now)?
            }
        };
        (self.public, self.shared) = (false, OnceCell::new());
        self.identity = self.location.identity(&self.owner)?;
        self.initialise()
    }

    /// Writes the owner and the version of the index into a new database.
    fn initialise(&mut self) -> Result<()> {
        let (owner, language, schema) = (self.owner.clone(), self.language, self.schema);
        let lexicon = &mut self.lexicon;
        self.db.write(|tx| {
            let sql = "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT DO NOTHING";
            tx.run(sql, ("group", &owner.group))?;
            if let Some(collection) = &owner.collection {
                tx.run(sql, ("collection", collection))?;
            }
            index::upgrade(tx, lexicon, schema, language, 0)
        })?;
        self.made_by = self.db.read(index::made_by)?;
        self.check_owner()
    }

    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn on_disk(&self) -> bool {
        self.db.on_disk()
    }

    /// Reads a consistent snapshot.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.db.read(work)
    }

    /// Reads a consistent snapshot of the data that such a session sees.
    pub(crate) fn read_as<T>(
        &self,
        visibility: Visibility,
        work: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        self.seen_by(visibility)?.read(work)
    }

    fn seen_by(&self, visibility: Visibility) -> Result<&Db> {
        if visibility == Visibility::Private {
            return Ok(&self.db);
        }
        if self.shared.get().is_none() {
            let _ = self.shared.set(self.open_shared()?);
        }
        Ok(self.shared.get().expect("just put there"))
    }

    fn open_shared(&self) -> Result<Db> {
        let db = match (&self.location, self.identity) {
            (Location::Server(server), Some(identity)) => {
                let (group, private) = (identity.group(), self.private.clone());
                let scope = Scope { group, visibility: Visibility::Shared, private };
                return Ok(Db::on_server(server.clone(), scope));
            }
            (Location::File(path), _) if self.db.on_disk() => {
                Db::open(path, &self.schema.migrations, Damage::Leave)?
            }
            _ => Db::empty(&self.schema.migrations)?,
        };
        db.outside(|connection| visibility::restrict(connection, &self.private))?;
        Ok(db)
    }

    /// Takes a consistent snapshot for a search.
    pub(crate) fn snapshot(&self, visibility: Visibility) -> Result<Snapshot<'_>> {
        let db = self.seen_by(visibility)?.snapshot()?;
        let mut space = self.space.borrow_mut();
        space.refresh(&db).map_err(|error| error.at(&self.path))?;
        Ok(Snapshot { db, space })
    }

    /// Returns the bytes that are reserved for the vectors in memory.
    pub(crate) fn vector_bytes(&self) -> usize {
        self.space.borrow().reserved()
    }

    /// Drops the copy in memory; the next search reads it again.
    pub(crate) fn release_vectors(&mut self) {
        self.space.get_mut().clear();
    }

    /// Adds the views by which a write on behalf of a shared session checks what that session sees.
    pub(crate) fn make_public(&mut self, now: Time) -> Result<()> {
        self.create(now)?;
        // A server has these views for everybody.
        if !self.public && matches!(self.location, Location::File(_)) {
            self.db.outside(|db| visibility::make_public(db, &self.private))?;
            self.public = true;
        }
        Ok(())
    }

    /// Runs `work` in one write transaction, with the cached lexicon. Creates the file if it does not exist.
    pub(crate) fn write<T>(
        &mut self,
        now: Time,
        work: impl FnOnce(&Connection, &mut Lexicon) -> Result<T>,
    ) -> Result<T> {
        /// How many passages of another version a write re-embeds in addition: this takes a few milliseconds
        /// at most, and a memory that is only used from the command line is complete after some writes.
        const REEMBEDDED_PER_WRITE: usize = 64;
        self.create(now)?;
        let written = self.write_and_renew(REEMBEDDED_PER_WRITE, work)?.1;
        self.flush(now);
        Ok(written)
    }

    /// Copies the log into the file, at most once a second.
    fn flush(&mut self, now: Time) {
        const FLUSH_EVERY_MS: i64 = 1_000;
        let since = |last: Time| now.as_millis().saturating_sub(last.as_millis());
        self.unflushed = true;
        if self.flushed.is_none_or(|last| !(0..FLUSH_EVERY_MS).contains(&since(last))) {
            self.flushed = Some(now);
            self.flush_rest();
        }
    }

    /// Copies the log into the file if something was written since the last time.
    pub(crate) fn flush_rest(&mut self) {
        if std::mem::take(&mut self.unflushed) {
            // The write is acknowledged either way: it is in the log.
            let _ = self.db.flush();
        }
    }

    /// Does the same for data that can be rebuilt from its source. A file does not wait for the disk; if a power
    /// failure loses the write, the data is rebuilt.
    pub(crate) fn write_derived<T>(
        &mut self,
        now: Time,
        work: impl FnOnce(&Connection, &mut Lexicon) -> Result<T>,
    ) -> Result<T> {
        self.create(now)?;
        self.db.wait_for_disk(false)?;
        let written = self.write(now, work);
        self.db.wait_for_disk(true)?;
        written
    }

    /// Tells whether the words of the index come from another version or another language.
    pub(crate) fn is_stale(&self) -> Result<bool> {
        Ok(self.db.on_disk() && self.db.read(|db| index::stale(db, self.language))?.words)
    }

    /// Upgrades the index to this version, and re-embeds at most `most` passages of another version. Returns
    /// how many were re-embedded.
    pub(crate) fn renew(&mut self, most: usize) -> Result<usize> {
        Ok(self.write_and_renew(most, |_, _| Ok(()))?.0)
    }

    fn write_and_renew<T>(
        &mut self,
        most: usize,
        work: impl FnOnce(&Connection, &mut Lexicon) -> Result<T>,
    ) -> Result<(usize, T)> {
        let (lexicon, schema) = (&mut self.lexicon, self.schema);
        let made_by = (self.made_by.as_deref(), self.language);
        self.db.write(|tx| {
            let besides = index::before_write(tx, lexicon, schema, made_by, most)?;
            let value = work(tx, lexicon)?;
            index::after_write(tx, &besides)?;
            Ok((besides.renewed, value))
        })
    }

    /// Prepares the database for vectors of lines of this version, and deletes those of another one. Returns false if another
    /// version has replaced them since the file was opened: two versions would delete each other's in turns.
    pub(crate) fn adopt_lines(&mut self, now: Time, version: &str) -> Result<bool> {
        let stored = self.read(lines::stored_version)?;
        if stored.as_deref() == Some(version) {
            return Ok(true);
        }
        if stored != self.line_vectors {
            return Ok(false);
        }
        self.write(now, |tx, _| lines::adopt(tx, version))?;
        Ok(true)
    }

    /// Runs a statement that is not allowed in a transaction.
    pub(crate) fn outside<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.db.outside(work)
    }

    /// Deletes all rows of a group on a server.
    pub(crate) fn delete_on_server(&self) -> Result<()> {
        match (&self.location, self.identity) {
            (Location::Server(server), Some(identity)) => {
                let (group, private) = (identity.group(), self.private.clone());
                server.delete_group(&Scope { group, visibility: Visibility::Private, private })
            }
            _ => Ok(()),
        }
    }

    /// Empties the write-ahead log. Returns false if another process is reading; a later checkpoint will do
    /// it.
    pub(crate) fn checkpoint(&self) -> Result<bool> {
        self.db.checkpoint()
    }

    /// Returns the size of the database in bytes.
    pub(crate) fn bytes(&self) -> Result<u64> {
        if !self.db.on_disk() {
            return Ok(0);
        }
        self.db.read(|db| match db.engine() {
            Engine::Sqlite(_) => Ok(pragma(db, "page_count")? * pragma(db, "page_size")?),
            // The pages of a server do not tell which group they belong to. These columns are most of it.
            Engine::Postgres(_) => {
                let sql = "SELECT (SELECT coalesce(sum(octet_length(text)), 0) FROM passages)
                    + (SELECT coalesce(sum(octet_length(data)), 0) FROM vectors)
                    + (SELECT coalesce(sum(octet_length(data)), 0) FROM postings)";
                db.one(sql, (), |row| row.get(0))
            }
        })
    }

    /// Checks the whole database: the file, the index against the rows, and the audit chain. Returns the
    /// problems found.
    pub(crate) fn check(&self) -> Result<Vec<String>> {
        let mut problems = match &self.location {
            Location::File(_) => {
                self.db.outside(|db| db.rows("PRAGMA integrity_check(20)", (), |row| row.get::<String>(0)))?
            }
            Location::Server(_) => Vec::new(),
        };
        problems.retain(|line| line != "ok");
        problems.extend(self.db.read(index::check)?);
        let verified = self.db.read(audit::verify)?;
        problems.extend(verified.problem.map(|problem| format!("audit: {problem}")));
        Ok(problems)
    }

    /// Runs for every file that was just opened, and checks its owner. Writers rebuild an index of another
    /// version, unless it is small or can't be read at all; then it is rebuilt here.
    fn after_open(&mut self) -> Result<()> {
        self.check_owner()?;
        if !self.db.on_disk() {
            return Ok(());
        }
        // On a server, a file of the workspace may come before the first record.
        if matches!(self.location, Location::Server(_)) && self.db.read(index::made_by)?.is_none() {
            return match self.initialise() {
                Err(Error::WriteRefused { .. }) => Ok(()),
                done => done,
            };
        }
        let (language, schema, lexicon) = (self.language, self.schema, &mut self.lexicon);
        if self.db.read(|db| index::is_due(db, language))? {
            match self.db.write(|tx| index::upgrade(tx, lexicon, schema, language, usize::MAX)) {
                // A read-only home can still be read.
                Err(Error::ReadOnly { .. } | Error::WriteRefused { .. }) => {}
                taken => drop(taken?),
            }
        }
        self.made_by = self.db.read(index::made_by)?;
        self.line_vectors = self.db.read(lines::stored_version)?;
        Ok(())
    }

    /// Refuses a database that was copied or linked from another group or collection.
    fn check_owner(&self) -> Result<()> {
        let noted = |key: &str| -> Result<Option<String>> {
            let sql = "SELECT value FROM meta WHERE key = $1";
            self.db.read(|db| db.row(sql, [key], |row| row.get(0)))
        };
        let (Owner { group, collection }, path) = (&self.owner, self.path.clone());
        let not_ours = |problem: String| Err(Error::NotOurs { path, problem });
        let Some(owner) = noted("group")? else {
            return Ok(());
        };
        if owner != group.as_str() {
            return not_ours(format!("belongs to group `{}`, not to `{group}`", shorten(&owner)));
        }
        let found = noted("collection")?;
        if found.as_deref() == collection.as_ref().map(CollectionName::as_str) {
            return Ok(());
        }
        let name =
            |name: Option<&str>| name.map_or("the memory".into(), |name| format!("collection `{name}`"));
        let (found, wanted) = (found.map(|name| shorten(&name)), collection.as_ref());
        let (found, wanted) = (name(found.as_deref()), name(wanted.map(CollectionName::as_str)));
        not_ours(format!("belongs to {found} of the group, not to {wanted}"))
    }
}

impl Location {
    /// Returns the identity of the database, if it exists.
    fn identity(&self, owner: &Owner) -> Result<Option<Identity>> {
        match self {
            Location::File(path) => Ok(identity(path)),
            Location::Server(server) => {
                Ok(server.find_group(&owner.group, owner.collection_name())?.map(Identity::on_server))
            }
        }
    }

    fn open(
        &self,
        owner: &Owner,
        schema: &Schema,
        there: Option<Identity>,
        private: &Arc<[String]>,
        now: Time,
    ) -> Result<Db> {
        match (self, there) {
            (_, None) => Db::empty(&schema.migrations),
            (Location::File(path), _) => Db::open(path, &schema.migrations, owner.damage(now)),
            (Location::Server(server), Some(there)) => {
                let scope =
                    Scope { group: there.group(), visibility: Visibility::Private, private: private.clone() };
                Ok(Db::on_server(server.clone(), scope))
            }
        }
    }
}

fn pragma(db: &Connection, name: &str) -> Result<u64> {
    let value: i64 = db.one(&format!("PRAGMA {name}"), (), |row| row.get(0))?;
    Ok(value.unsigned_abs())
}

/// Distinguishes a file from another one with the same name, and a group from others on its server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity(u64, u64);

pub(crate) fn identity(path: &Path) -> Option<Identity> {
    let found = fs::symlink_metadata(path).ok()?;
    Some(Identity::of(&found))
}

impl Identity {
    fn on_server(group: i32) -> Identity {
        Identity(u64::from(group.unsigned_abs()), 0)
    }

    /// Returns the number of a group on a server.
    fn group(self) -> i32 {
        i32::try_from(self.0).unwrap_or(0)
    }

    #[cfg(unix)]
    pub(crate) fn of(found: &fs::Metadata) -> Identity {
        use std::os::unix::fs::MetadataExt;
        Identity(found.dev(), found.ino())
    }

    #[cfg(not(unix))]
    pub(crate) fn of(found: &fs::Metadata) -> Identity {
        Identity(u64::from(found.is_file()), 0)
    }
}
