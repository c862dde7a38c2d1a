//! Opens databases, migrates SQLite and runs transactions. It knows no table: modules own their SQL.
//!
//! Many processes using one SQLite file at once is the normal case. Every write is therefore one `IMMEDIATE`
//! transaction in WAL mode (a deferred one that upgrades fails at once instead of waiting), and `synchronous`
//! is `FULL`, so that acknowledged data is on disk. A file is created and migrated under a lock that dies
//! with its process; it appears whole or not at all.

use std::cell::Cell;
use std::fs::{self, File};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use super::Connection;
use super::postgres::{Purpose, Scope, Server};
use crate::base::{Error, Result, Time, files};

/// Marks the file as Nacre's: `Nacr` in the header, where `file(1)` and `PRAGMA application_id` find it.
const APPLICATION_ID: i32 = 0x4e61_6372;

/// How often a writer retries before it gives up: with 1 to 9 ms between tries, about 30 seconds.
const BUSY_TRIES: i32 = 6_000;

/// After how many tries a person is told that another process writes: about 2 seconds.
const NOTICE_TRIES: i32 = 400;

/// Called when a statement has waited for about two seconds.
static WAIT_NOTICE: OnceLock<fn()> = OnceLock::new();

/// How often emptying the log is tried while others read or write: about 3 seconds.
const CHECKPOINT_TRIES: i32 = 600;

thread_local! {
    /// How often a statement of this thread is tried again. SQLite passes its busy handler nothing else.
    static MAX_TRIES: Cell<i32> = const { Cell::new(BUSY_TRIES) };
}

/// How to handle a damaged file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Damage {
    /// Move it away, to a name that contains this time.
    SetAside(Time),
    /// Leave it as it is.
    Leave,
}

/// The schema of a database as a list of migrations.
pub(crate) struct Migrations {
    /// Creates in an empty database what all steps would: the steps change tables again and again, which takes ten times as long.
    pub(crate) schema: &'static str,
    pub(crate) steps: &'static [&'static str],
    /// Registers the functions that the steps call.
    pub(crate) functions: fn(&Connection) -> Result<()>,
}

/// One open database.
pub(crate) struct Db {
    place: Place,
    path: PathBuf,
}

/// Where a database is.
enum Place {
    File {
        connection: Connection,
        /// False for an empty database in memory.
        on_disk: bool,
    },
    /// A group on a server, as one kind of session sees it. Every transaction takes a connection from the pool.
    Server { server: Server, scope: Scope },
}

/// A consistent snapshot of a database.
pub(crate) enum Snapshot<'a> {
    File(&'a Connection, #[expect(dead_code, reason = "held, not used")] Transaction<'a>),
    Server(Connection),
}

impl Deref for Snapshot<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        match self {
            Snapshot::File(connection, _) => connection,
            Snapshot::Server(connection) => connection,
        }
    }
}

impl Db {
    /// Opens the database at `path`, and creates or migrates it if needed.
    ///
    /// A damaged file is an error; it is first moved away if `damage` says so. A file with a newer schema, or
    /// one that is not Nacre's, is left untouched.
    pub(crate) fn open(path: &Path, migrations: &Migrations, damage: Damage) -> Result<Db> {
        check_link(path)?;
        match Self::connect(path, migrations) {
            Ok(Some(db)) => return Ok(db),
            Ok(None) | Err(Error::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
        let _lock = lock(path)?;
        // Another process may have repaired it while this one waited for the lock.
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

    /// Creates an empty database in memory: a reader sees this for a group that nobody has written to.
    pub(crate) fn empty(migrations: &Migrations) -> Result<Db> {
        let connection = Connection::new(rusqlite::Connection::open_in_memory()?);
        migrate(&connection, migrations)?;
        Ok(Db { place: Place::File { connection, on_disk: false }, path: PathBuf::new() })
    }

    /// Uses a group on a server.
    pub(crate) fn on_server(server: Server, scope: Scope) -> Db {
        let path = server.name().into();
        Db { place: Place::Server { server, scope }, path }
    }

    fn in_file(connection: rusqlite::Connection, path: &Path) -> Db {
        Db {
            place: Place::File { connection: Connection::new(connection), on_disk: true },
            path: path.to_owned(),
        }
    }

    /// Tells whether this database exists outside this process.
    pub(crate) fn on_disk(&self) -> bool {
        match &self.place {
            Place::File { on_disk, .. } => *on_disk,
            Place::Server { .. } => true,
        }
    }

    /// Runs `work` on one consistent snapshot of the database.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.snapshot().and_then(|db| work(&db)).map_err(|error| error.at(&self.path))
    }

    /// Starts reading from one consistent snapshot of the database.
    pub(crate) fn snapshot(&self) -> Result<Snapshot<'_>> {
        match &self.place {
            Place::File { connection, .. } => {
                let begun = connection.sqlite()?.unchecked_transaction();
                let until = begun.map_err(|error| Error::from(error).at(&self.path))?;
                Ok(Snapshot::File(connection, until))
            }
            Place::Server { server, scope } => {
                Ok(Snapshot::Server(Connection::to_server(server.begin(scope, Purpose::Read)?)))
            }
        }
    }

    /// Runs `work` in one write transaction that is committed as a whole or not at all.
    pub(crate) fn write<T>(&mut self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let path = &self.path;
        let run = || match &self.place {
            Place::File { connection, .. } => {
                let tx = Transaction::new_unchecked(connection.sqlite()?, TransactionBehavior::Immediate)?;
                let value = work(connection)?;
                tx.commit()?;
                Ok(value)
            }
            Place::Server { server, scope } => {
                let connection = Connection::to_server(server.begin(scope, Purpose::Write)?);
                let value = work(&connection)?;
                connection.commit()?;
                Ok(value)
            }
        };
        run().map_err(|error: Error| error.at(path))
    }

    /// Runs a statement that is not allowed in a transaction, such as a checkpoint.
    pub(crate) fn outside<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        match &self.place {
            Place::File { connection, .. } => work(connection).map_err(|error| error.at(&self.path)),
            Place::Server { .. } => Err(Error::NotOnServer { what: "a database file" }),
        }
    }

    /// Sets whether a commit to a file waits until it would survive a power failure. The database stays consistent
    /// either way. On a server every commit waits.
    pub(crate) fn wait_for_disk(&self, wait: bool) -> Result<()> {
        if let Place::Server { .. } = &self.place {
            return Ok(());
        }
        let level = if wait { "FULL" } else { "NORMAL" };
        self.outside(|db| Ok(db.sqlite()?.pragma_update(None, "synchronous", level)?))
    }

    /// Copies the write-ahead log into the database file and empties the log. Returns true if no reader
    /// prevented it. A server does this by itself.
    pub(crate) fn checkpoint(&self) -> Result<bool> {
        if let Place::Server { .. } = &self.place {
            return Ok(true);
        }
        self.outside(|db| {
            // The person who deletes something waits for this, so it does not wait as long as a writer.
            MAX_TRIES.set(CHECKPOINT_TRIES);
            let busy =
                db.sqlite()?.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
            MAX_TRIES.set(BUSY_TRIES);
            Ok(busy? == 0)
        })
    }

    /// Copies the write-ahead log into the database file as far as nobody uses it, so that a copy of the file alone is not
    /// empty, and damage to the log loses little. Waits for nobody.
    pub(crate) fn flush(&self) -> Result<()> {
        match &self.place {
            Place::File { on_disk: true, .. } => self.outside(|db| {
                let flushed = db.sqlite()?.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
                Ok(flushed?)
            }),
            _ => Ok(()),
        }
    }

    /// Opens a file that exists and is up to date. Returns `None` if it is missing, empty or has an older
    /// schema.
    fn connect(path: &Path, migrations: &Migrations) -> Result<Option<Db>> {
        // SQLite does not handle this case: it discards a log without a database, and it opens a file that
        // another process is creating at the same moment as read-only.
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
            Schema { application: APPLICATION_ID, .. } => Ok(Some(Db::in_file(connection, path))),
            _ => Err(Error::NotOurs {
                path: path.to_owned(),
                problem: "is a database of another program".into(),
            }),
        }
    }

    /// Opens a file in a read-only folder, without a log. Writes will fail with an error that says so.
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
                Ok(Some(Db::in_file(connection, path)))
            }
            _ => Err(read_only()),
        }
    }

    fn create_or_migrate(path: &Path, migrations: &Migrations) -> Result<Db> {
        // Created here so that its mode is ours; SQLite gives its log the same mode.
        files::append_private(path).map_err(Error::io(path))?;
        let mut connection = rusqlite::Connection::open(path).map_err(|error| Error::from(error).at(path))?;
        let build = || {
            prepare(&mut connection)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            let connection = Connection::new(connection);
            migrate(&connection, migrations)?;
            Ok(Db { place: Place::File { connection, on_disk: true }, path: path.to_owned() })
        };
        build().map_err(|error: Error| error.at(path))
    }
}

/// The schema information in the header of a database.
struct Schema {
    application: i32,
    version: i64,
    tables: i64,
}

fn schema(connection: &rusqlite::Connection) -> Result<Schema> {
    // One snapshot: between two reads another process may finish creating the file.
    let tx = connection.unchecked_transaction()?;
    Ok(Schema {
        application: tx.pragma_query_value(None, "application_id", |row| row.get(0))?,
        version: tx.pragma_query_value(None, "user_version", |row| row.get(0))?,
        tables: tx.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?,
    })
}

fn prepare(connection: &mut rusqlite::Connection) -> Result<()> {
    connection.busy_handler(Some(wait_for_lock))?;
    // A plan must not depend on the bound values: otherwise SQLite re-plans for every query.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // `secure_delete` overwrites deleted data, so that it can't be recovered from the file. `cache_size` is
    // 16 MB, about what a batch of an import touches; the default would write pages out and read them again.
    // The statement cache is larger than the default of sixteen, because a search with its graph queries uses
    // more.
    connection.set_prepared_statement_cache_capacity(128);
    connection.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000;",
    )?;
    Ok(())
}

/// Sets a function that is called when a statement has waited for about two seconds for another process, so that a
/// program can say why nothing happens. Only the first call of a process counts.
pub fn on_long_wait(notice: fn()) {
    let _ = WAIT_NOTICE.set(notice);
}

/// Waits briefly and retries. SQLite's own busy handler backs off to 100 ms and is unfair to the writer that
/// waits longest. Short waits that differ between processes are fair.
fn wait_for_lock(tries: i32) -> bool {
    let spread =
        u64::from(std::process::id()).wrapping_add(u64::from(tries.unsigned_abs())).wrapping_mul(0x9e37_79b9);
    std::thread::sleep(Duration::from_micros(1_000 + spread % 8_000));
    if tries == NOTICE_TRIES
        && let Some(notice) = WAIT_NOTICE.get()
    {
        notice();
    }
    tries < MAX_TRIES.get()
}

/// Creates the schema, or runs all pending migrations in order, in one transaction.
fn migrate(connection: &Connection, migrations: &Migrations) -> Result<()> {
    let tx = Transaction::new_unchecked(connection.sqlite()?, TransactionBehavior::Immediate)?;
    let version: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let done = usize::try_from(version).unwrap_or(0);
    if done == 0 {
        tx.execute_batch(migrations.schema)?;
    } else {
        (migrations.functions)(connection)?;
        migrations.steps.iter().skip(done).try_for_each(|step| tx.execute_batch(step))?;
    }
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    tx.pragma_update(None, "user_version", i64::try_from(migrations.steps.len()).expect("a handful"))?;
    tx.commit()?;
    Ok(())
}

/// Takes the lock for creating, migrating and moving away a database. It is released when the file is closed,
/// and so when the process ends.
fn lock(path: &Path) -> Result<File> {
    let path = beside(path, ".lock");
    let file = files::append_private(&path).map_err(Error::io(&path))?;
    file.lock().map_err(Error::io(&path))?;
    Ok(file)
}

/// Refuses a database file with a second hard link or a symbolic link: its log would belong to one name only,
/// and two logs corrupt a database.
fn check_link(path: &Path) -> Result<()> {
    let Ok(found) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    let problem = if found.is_symlink() {
        "is a link, perhaps to another home's database"
    } else if !found.is_file() {
        "is not a file"
    } else if links(&found) > 1 {
        "has a second hard link, perhaps in another home"
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

/// Moves a damaged database and its log away, and returns an error that says where. No process may have it
/// open.
pub(crate) fn set_aside(path: &Path, now: Time) -> Result<Error> {
    let _lock = lock(path)?;
    move_aside(path, now)
}

/// Does the same for a caller that holds the lock. Nothing is overwritten.
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
    // The log goes first: next to a new database, SQLite would apply it to that one.
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

/// Returns the path with `suffix` appended to its name, as SQLite names its side files.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
