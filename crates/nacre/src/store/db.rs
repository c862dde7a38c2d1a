//! Opens SQLite, migrates it, runs transactions. Knows no table: modules own their SQL.
//!
//! Many processes on one file at once is the normal case, so every write is one `IMMEDIATE` transaction in
//! WAL mode (a deferred one that upgrades fails at once instead of waiting), and `synchronous` is `FULL`:
//! what was acknowledged is on disk. A file is created and migrated under a lock that dies with its process;
//! it appears whole or not at all.

use std::fs::{self, File};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use super::Connection;
use crate::base::{Error, Result, Time, files};

/// Marks the file as ours: `Nacr` in the header, where `file(1)` and `PRAGMA application_id` find it.
const APPLICATION_ID: i32 = 0x4e61_6372;

/// How often a writer asks again before it gives up: with 1 to 9 ms between, some 30 seconds.
const BUSY_TRIES: i32 = 6_000;

/// What to do with a file that turns out to be damaged.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Damage {
    /// Move it out of the way, under a name with this time.
    SetAside(Time),
    /// Leave it as it is.
    Leave,
}

/// The schema of a database, as steps that bring it forward.
pub(crate) struct Migrations {
    pub(crate) steps: &'static [&'static str],
    /// Registers the functions that the steps call.
    pub(crate) functions: fn(&Connection) -> Result<()>,
}

/// One open database.
pub(crate) struct Db {
    connection: Connection,
    path: PathBuf,
    on_disk: bool,
}

/// One consistent state of a database.
pub(crate) struct Snapshot<'a> {
    db: &'a Connection,
    _until: Transaction<'a>,
}

impl Deref for Snapshot<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.db
    }
}

impl Db {
    /// Opens the database at `path`, making and migrating it where needed.
    ///
    /// A damaged file is an error, once it was set aside where `damage` says so; a file from the future, or one
    /// that is not ours, is left as it is.
    pub(crate) fn open(path: &Path, migrations: &Migrations, damage: Damage) -> Result<Db> {
        check_link(path)?;
        match Self::connect(path, migrations) {
            Ok(Some(db)) => return Ok(db),
            Ok(None) | Err(Error::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
        let _lock = lock(path)?;
        // Another process may have mended it while this one waited for the lock.
        match Self::connect(path, migrations) {
            Ok(Some(db)) => Ok(db),
            Ok(None) => Self::create_or_migrate(path, migrations),
            Err(error @ Error::Damaged { .. }) => Err(match damage {
                Damage::SetAside(now) => move_aside(path, now)?,
                Damage::Leave => error,
            }),
            Err(error) => Err(error),
        }
    }

    /// Makes a database that is empty and stays in memory: what a reader sees of a group nobody has written
    /// to.
    pub(crate) fn empty(migrations: &Migrations) -> Result<Db> {
        let connection = Connection::new(rusqlite::Connection::open_in_memory()?);
        migrate(&connection, migrations)?;
        Ok(Db { connection, path: PathBuf::new(), on_disk: false })
    }

    /// Tells whether this database is a file.
    pub(crate) fn on_disk(&self) -> bool {
        self.on_disk
    }

    /// Runs `work` on one consistent state of the database.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.snapshot().and_then(|db| work(&db)).map_err(|error| error.at(&self.path))
    }

    /// Begins to read one consistent state of the database.
    pub(crate) fn snapshot(&self) -> Result<Snapshot<'_>> {
        let begun = self.connection.sqlite().unchecked_transaction();
        let until = begun.map_err(|error| Error::from(error).at(&self.path))?;
        Ok(Snapshot { db: &self.connection, _until: until })
    }

    /// Runs `work` in one write transaction: all of it is kept, or nothing.
    pub(crate) fn write<T>(&mut self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let path = &self.path;
        let run = || {
            let tx = Transaction::new_unchecked(self.connection.sqlite(), TransactionBehavior::Immediate)?;
            let value = work(&self.connection)?;
            tx.commit()?;
            Ok(value)
        };
        run().map_err(|error: Error| error.at(path))
    }

    /// Runs a statement that can't stand in a transaction, such as a checkpoint.
    pub(crate) fn outside<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        work(&self.connection).map_err(|error| error.at(&self.path))
    }

    /// Says whether a commit waits until it would outlast a loss of power. The file is whole either way.
    pub(crate) fn wait_for_disk(&self, wait: bool) -> Result<()> {
        let level = if wait { "FULL" } else { "NORMAL" };
        self.outside(|db| Ok(db.sqlite().pragma_update(None, "synchronous", level)?))
    }

    /// Brings what stands in the write-ahead log into the file and empties the log. True where no reader was
    /// in the way.
    pub(crate) fn checkpoint(&self) -> Result<bool> {
        self.outside(|db| {
            let busy: i64 = db.sqlite().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
            Ok(busy == 0)
        })
    }

    /// Opens a file that is there and up to date. `None`: it is missing, empty or of an older schema.
    fn connect(path: &Path, migrations: &Migrations) -> Result<Option<Db>> {
        // Not left to SQLite: it throws away a log without its database, and it opens a file that another
        // process makes at this very moment for reading only.
        if fs::metadata(path).map_or(0, |file| file.len()) == 0 {
            let log = fs::metadata(beside(path, "-wal")).map_or(0, |log| log.len());
            return if log > 0 { Err(Error::Damaged { path: path.to_owned() }) } else { Ok(None) };
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = rusqlite::Connection::open_with_flags(path, flags)
            .map_err(|error| Error::from(error).at(path))?;
        let found = match prepare(&mut connection).and_then(|()| schema(&connection)) {
            Err(error) if may_be_read_only(&error) => {
                return Self::connect_read_only(path, migrations);
            }
            found => found.map_err(|error| error.at(path))?,
        };
        let known = i64::try_from(migrations.steps.len()).expect("a handful");
        match found {
            Schema { application: 0, version: 0, tables: 0 } => Ok(None),
            Schema { application: APPLICATION_ID, version, .. } if version > known => {
                Err(Error::Newer { path: path.to_owned(), found: version, known })
            }
            Schema { application: APPLICATION_ID, version, .. } if version < known => Ok(None),
            Schema { application: APPLICATION_ID, .. } => {
                Ok(Some(Db { connection: Connection::new(connection), path: path.to_owned(), on_disk: true }))
            }
            _ => Err(Error::NotOurs {
                path: path.to_owned(),
                problem: "is a database of another program".into(),
            }),
        }
    }

    /// Opens a file in a folder that can't be written: as it is, without a log. Writes will say that they
    /// can't.
    fn connect_read_only(path: &Path, migrations: &Migrations) -> Result<Option<Db>> {
        let read_only = || Error::ReadOnly { path: path.to_owned() };
        if fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0) {
            return Err(read_only());
        }
        let name = path.to_str().ok_or_else(read_only)?;
        let name = name.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = rusqlite::Connection::open_with_flags(format!("file:{name}?immutable=1"), flags)?;
        let known = i64::try_from(migrations.steps.len()).expect("a handful");
        match schema(&connection).map_err(|error| error.at(path))? {
            Schema { application: APPLICATION_ID, version, .. } if version == known => {
                Ok(Some(Db { connection: Connection::new(connection), path: path.to_owned(), on_disk: true }))
            }
            _ => Err(read_only()),
        }
    }

    fn create_or_migrate(path: &Path, migrations: &Migrations) -> Result<Db> {
        // Made by us, so that its mode is ours; SQLite gives its log the same mode.
        files::append_private(path).map_err(Error::io(path))?;
        let mut connection = rusqlite::Connection::open(path).map_err(|error| Error::from(error).at(path))?;
        let build = || {
            prepare(&mut connection)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            let connection = Connection::new(connection);
            migrate(&connection, migrations)?;
            Ok(Db { connection, path: path.to_owned(), on_disk: true })
        };
        build().map_err(|error: Error| error.at(path))
    }
}

/// What the header of a database says about itself.
struct Schema {
    application: i32,
    version: i64,
    tables: i64,
}

fn schema(connection: &rusqlite::Connection) -> Result<Schema> {
    // One state: between two reads another process may finish making the file.
    let tx = connection.unchecked_transaction()?;
    Ok(Schema {
        application: tx.pragma_query_value(None, "application_id", |row| row.get(0))?,
        version: tx.pragma_query_value(None, "user_version", |row| row.get(0))?,
        tables: tx.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?,
    })
}

fn prepare(connection: &mut rusqlite::Connection) -> Result<()> {
    connection.busy_handler(Some(wait_for_lock))?;
    // A plan does not depend on what is bound: without this SQLite plans anew for every question.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // `secure_delete`: what is deleted is overwritten, so that delete means delete (E4). `cache_size`: 16 MB,
    // as much as a batch of an import touches; the default would write pages out and read them again.
    // A search and what it asks the graph use more statements than the sixteen that are kept by default.
    connection.set_prepared_statement_cache_capacity(128);
    connection.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000;",
    )?;
    Ok(())
}

/// Waits a little and asks again. SQLite's own waiting grows to 100 ms and is unfair to whoever waits
/// longest; short waits that differ between processes are not.
fn wait_for_lock(tries: i32) -> bool {
    let spread =
        u64::from(std::process::id()).wrapping_add(u64::from(tries.unsigned_abs())).wrapping_mul(0x9e37_79b9);
    std::thread::sleep(Duration::from_micros(1_000 + spread % 8_000));
    tries < BUSY_TRIES
}

/// Brings the schema forward, one migration after the other, in one transaction.
fn migrate(connection: &Connection, migrations: &Migrations) -> Result<()> {
    let tx = Transaction::new_unchecked(connection.sqlite(), TransactionBehavior::Immediate)?;
    let version: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let done = usize::try_from(version).unwrap_or(0);
    (migrations.functions)(connection)?;
    for migration in migrations.steps.iter().skip(done) {
        tx.execute_batch(migration)?;
    }
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    tx.pragma_update(None, "user_version", i64::try_from(migrations.steps.len()).expect("a handful"))?;
    tx.commit()?;
    Ok(())
}

/// Takes the lock that creation, migration and setting aside happen under. It goes when the file is closed,
/// and so with the process.
fn lock(path: &Path) -> Result<File> {
    let path = beside(path, ".lock");
    let file = files::append_private(&path).map_err(Error::io(&path))?;
    file.lock().map_err(Error::io(&path))?;
    Ok(file)
}

/// Refuses a database file that has a second name: its log would stand beside one name only, and two logs
/// destroy a database.
fn check_link(path: &Path) -> Result<()> {
    let Ok(found) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    let problem = if found.is_symlink() {
        "is a link to another place, perhaps to another home's database"
    } else if !found.is_file() {
        "is not a file"
    } else if links(&found) > 1 {
        "has a second name (a hard link), perhaps in another home"
    } else {
        return Ok(());
    };
    Err(Error::NotOurs { path: path.to_owned(), problem: problem.into() })
}

#[cfg(unix)]
fn links(found: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(found)
}

#[cfg(not(unix))]
fn links(_: &fs::Metadata) -> u64 {
    1
}

fn may_be_read_only(error: &Error) -> bool {
    matches!(
        error.engine_code(),
        Some(
            ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied
                | ErrorCode::SystemIoFailure
        )
    )
}

/// Moves a damaged database out of the way, with its log, and says where it went. Nobody may have it open.
pub(crate) fn set_aside(path: &Path, now: Time) -> Result<Error> {
    let _lock = lock(path)?;
    move_aside(path, now)
}

/// The same for who holds the lock. Nothing is overwritten.
fn move_aside(path: &Path, now: Time) -> Result<Error> {
    let stamp = now.to_string().replace([':', '.'], "-");
    let aside = (1..)
        .map(|n| {
            path.with_file_name(format!(
                "damaged-{stamp}{}.db",
                if n > 1 { format!("-{n}") } else { String::new() }
            ))
        })
        .find(|aside| !aside.exists())
        .expect("some number is free");
    // The log first: beside a new database it would be taken for that one's.
    for suffix in ["-wal", "-shm", ""] {
        let from = beside(path, suffix);
        if from.exists() {
            fs::rename(&from, beside(&aside, suffix)).map_err(Error::io(&from))?;
        }
    }
    Ok(Error::SetAside { path: path.to_owned(), aside })
}

/// Returns the version of SQLite that is compiled in.
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}

/// Returns the path with `suffix` behind its name, as SQLite names its side files.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
