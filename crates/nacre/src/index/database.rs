//! One open database of a group: its memory, or one of its collections. A file with an owner and an index, and
//! what search keeps of it in memory. The file is followed: another process may make it, move it or put one in
//! its place.

use std::cell::{OnceCell, RefCell, RefMut};
use std::fs;
use std::path::{Path, PathBuf};

use crate::base::Settings;
use crate::base::caller::Visibility;
use crate::base::ids::{CollectionName, GroupName};
use crate::base::text::shorten;
use crate::base::{Error, Result, Time, files};
use crate::index::{self, Language, Lexicon, Schema, Space};
use crate::store::Connection;
use crate::store::audit;
use crate::store::visibility;
use crate::store::{Damage, Db};

/// Whose database it is. Written into it, so that one that was copied here from elsewhere is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) group: GroupName,
    /// `None`: it is the memory of the group.
    pub(crate) collection: Option<CollectionName>,
}

impl Owner {
    /// What is done with a file that turns out to be damaged: records are set aside, so that the next call can
    /// start anew; a collection is left until its sources are read again.
    fn damage(&self, now: Time) -> Damage {
        if self.collection.is_some() { Damage::Leave } else { Damage::SetAside(now) }
    }
}

/// One open database.
pub(crate) struct Database {
    path: PathBuf,
    owner: Owner,
    schema: &'static Schema,
    language: Language,
    /// Names of documents that shared sessions do not see.
    private: Vec<String>,
    db: Db,
    /// Whether `db` can say what shared sessions see.
    public: bool,
    /// The same file as shared sessions see it.
    shared: OnceCell<Db>,
    /// What had made the index when the file was opened.
    made_by: Option<String>,
    /// Which file `db` is, so that one put in its place is noticed.
    identity: Option<Identity>,
    /// Marks and vectors as of the last search; brought up to date by the next.
    space: RefCell<Space>,
    /// What imports and documents taught about words; makes the next quicker and changes nothing.
    lexicon: Lexicon,
}

/// One consistent state of a database, with what search needs of every passage.
pub(crate) struct Snapshot<'a> {
    pub(crate) db: crate::store::Snapshot<'a>,
    pub(crate) space: RefMut<'a, Space>,
}

impl Database {
    /// Opens a database. One that nobody has written to is empty, and nothing is made for it.
    pub(crate) fn open(
        path: PathBuf,
        owner: Owner,
        schema: &'static Schema,
        settings: &Settings,
        now: Time,
    ) -> Result<Database> {
        let (language, private) = (settings.search.language(), settings.visibility.private.clone());
        let identity = identity(&path);
        let db = Self::open_file(&path, &owner, schema, identity, now)?;
        let mut database = Database {
            path,
            owner,
            schema,
            language,
            private,
            db,
            public: false,
            shared: OnceCell::new(),
            made_by: None,
            identity,
            space: RefCell::default(),
            lexicon: Lexicon::default(),
        };
        database.arrive()?;
        Ok(database)
    }

    fn open_file(
        path: &Path,
        owner: &Owner,
        schema: &Schema,
        there: Option<Identity>,
        now: Time,
    ) -> Result<Db> {
        match there {
            Some(_) => Db::open(path, &schema.migrations, owner.damage(now)),
            None => Db::empty(&schema.migrations),
        }
    }

    /// Sees to it that the handle stands on the file that is there now. Tells whether that is another one than
    /// before.
    pub(crate) fn refresh(&mut self, now: Time) -> Result<bool> {
        let there = identity(&self.path);
        if there == self.identity {
            return Ok(false);
        }
        self.space = RefCell::default();
        self.db = Self::open_file(&self.path, &self.owner, self.schema, there, now)?;
        (self.public, self.shared) = (false, OnceCell::new());
        self.identity = identity(&self.path);
        self.arrive()?;
        Ok(true)
    }

    /// Makes the file where there is none.
    pub(crate) fn create(&mut self, now: Time) -> Result<()> {
        if self.db.on_disk() {
            return Ok(());
        }
        if let Some(folder) = self.path.parent() {
            files::create_folder(folder)?;
        }
        self.db = Db::open(&self.path, &self.schema.migrations, self.owner.damage(now))?;
        (self.public, self.shared) = (false, OnceCell::new());
        self.identity = identity(&self.path);
        let (owner, language, schema) = (self.owner.clone(), self.language, self.schema);
        let lexicon = &mut self.lexicon;
        self.db.write(|tx| {
            let sql = "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT DO NOTHING";
            tx.run(sql, ("group", &owner.group))?;
            if let Some(collection) = &owner.collection {
                tx.run(sql, ("collection", collection))?;
            }
            index::take_over(tx, lexicon, schema, language, 0)
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

    /// Reads one consistent state.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.db.read(work)
    }

    /// Reads one consistent state of what such a session sees.
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
            let db = match self.db.on_disk() {
                true => Db::open(&self.path, &self.schema.migrations, Damage::Leave)?,
                false => Db::empty(&self.schema.migrations)?,
            };
            db.outside(|connection| visibility::restrict(connection, &self.private))?;
            let _ = self.shared.set(db);
        }
        Ok(self.shared.get().expect("just put there"))
    }

    /// Takes one consistent state for a search.
    pub(crate) fn snapshot(&self, visibility: Visibility) -> Result<Snapshot<'_>> {
        let db = self.seen_by(visibility)?.snapshot()?;
        let mut space = self.space.borrow_mut();
        space.refresh(&db).map_err(|error| error.at(&self.path))?;
        Ok(Snapshot { db, space })
    }

    /// Lets what is written for a shared session ask what such a session sees.
    pub(crate) fn make_public(&mut self, now: Time) -> Result<()> {
        self.create(now)?;
        if !self.public {
            self.db.outside(|db| visibility::make_public(db, &self.private))?;
            self.public = true;
        }
        Ok(())
    }

    /// Runs `work` in one write transaction, with what is known of words. Makes the file where there is none.
    pub(crate) fn write<T>(
        &mut self,
        now: Time,
        work: impl FnOnce(&Connection, &mut Lexicon) -> Result<T>,
    ) -> Result<T> {
        /// What a write does besides about vectors of another version: a few milliseconds at most, and a
        /// memory that only ever sees commands is whole after some of them.
        const SHARE: usize = 64;
        self.create(now)?;
        Ok(self.write_besides(SHARE, work)?.1)
    }

    /// The same for what could be made again from its source: a loss of power may take it back, and then that is
    /// done. So it does not wait for the disk.
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

    /// Tells whether the words of the index are another version's, or in another language.
    pub(crate) fn is_stale(&self) -> Result<bool> {
        Ok(self.db.on_disk() && self.db.read(|db| index::stale(db, self.language))?.words)
    }

    /// Makes the index this version's, with vectors for at most so many passages that had others. Returns how
    /// many got them.
    pub(crate) fn renew(&mut self, most: usize) -> Result<usize> {
        Ok(self.write_besides(most, |_, _| Ok(()))?.0)
    }

    fn write_besides<T>(
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

    /// Runs what can't stand in a transaction of ours.
    pub(crate) fn outside<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.db.outside(work)
    }

    /// Empties the log. False: a reader of another process is in the way, and a later checkpoint will do it.
    pub(crate) fn checkpoint(&self) -> Result<bool> {
        self.db.checkpoint()
    }

    /// Returns the bytes that the database takes.
    pub(crate) fn bytes(&self) -> Result<u64> {
        if !self.db.on_disk() {
            return Ok(0);
        }
        self.db.read(|db| Ok(pragma(db, "page_count")? * pragma(db, "page_size")?))
    }

    /// Looks the whole database over: the file, the index against the rows, the audit chain. Returns what is
    /// wrong.
    pub(crate) fn check(&self) -> Result<Vec<String>> {
        let mut problems =
            self.db.outside(|db| db.rows("PRAGMA integrity_check(20)", (), |row| row.get::<String>(0)))?;
        problems.retain(|line| line != "ok");
        problems.extend(self.db.read(index::check)?);
        let verified = self.db.read(audit::verify)?;
        problems.extend(verified.problem.map(|problem| format!("audit: {problem}")));
        Ok(problems)
    }

    /// What is done with every file that was just opened: its owner is looked at. What another version made
    /// of its index is made anew by those who write, unless it is little or can't be read at all.
    fn arrive(&mut self) -> Result<()> {
        self.check_owner()?;
        if !self.db.on_disk() {
            return Ok(());
        }
        let (language, schema, lexicon) = (self.language, self.schema, &mut self.lexicon);
        if self.db.read(|db| index::is_due(db, language))? {
            match self.db.write(|tx| index::take_over(tx, lexicon, schema, language, usize::MAX)) {
                // A home that can't be written can still be read.
                Err(Error::ReadOnly { .. }) => {}
                taken => drop(taken?),
            }
        }
        self.made_by = self.db.read(index::made_by)?;
        Ok(())
    }

    /// Refuses a database that was copied or linked here from another group or collection.
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

fn pragma(db: &Connection, name: &str) -> Result<u64> {
    let value: i64 = db.one(&format!("PRAGMA {name}"), (), |row| row.get(0))?;
    Ok(value.unsigned_abs())
}

/// What tells one file from another that has the same name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity(u64, u64);

pub(crate) fn identity(path: &Path) -> Option<Identity> {
    let found = fs::symlink_metadata(path).ok()?;
    Some(Identity::of(&found))
}

impl Identity {
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
