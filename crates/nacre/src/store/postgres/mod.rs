//! PostgreSQL: a server with the memories of many groups, for many processes.
//!
//! A transaction borrows a connection from the pool and begins by saying who it is: the role of the
//! application, the group, and whether private rows exist for it. Row-level security does the rest, so that
//! statements are the same as on SQLite. A read is `REPEATABLE READ READ ONLY`. A write locks the row of its
//! group first: a group has one writer at a time, as on SQLite.

mod hosts;
mod member;
mod schema;
mod tls;
mod value;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postgres::error::SqlState;
use postgres::types::ToSql;
use postgres::{Client, Statement};

use crate::base::caller::{self, Visibility};
use crate::base::ids::GroupName;
use crate::base::secret::Secret;
use crate::base::sql::{Params, ToSql as _, Value};
use crate::base::{Error, Result};

pub use schema::ServerReport;
pub(crate) use schema::initialise;
pub(crate) use value::Row;

use hosts::Hosts;

/// How many connections a process opens at most. Calls wait for a free one.
const MAX_CONNECTIONS: usize = 16;
/// How long a call waits for a free connection, and a write for the lock of its group.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// How long one statement may take.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(120);
/// How often, and with which pause, a call asks again that found no server ready.
const CONNECT_TRIES: u32 = 40;
const CONNECT_PAUSE: Duration = Duration::from_millis(250);

/// A database on a server, with the connections of this process. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Server(Arc<Inner>);

struct Inner {
    hosts: Hosts,
    /// Whether a connection keeps its prepared statements after a transaction.
    keeps_statements: bool,
    /// The address without the password.
    name: String,
    /// The token of the member who uses this home; `None`: the user of the database decides.
    token: Option<Secret>,
    pool: Mutex<Pool>,
    released: Condvar,
}

#[derive(Default)]
struct Pool {
    idle: Vec<Session>,
    leased: usize,
    /// How many calls waited for a connection, and how many gave up.
    waits: u64,
    timeouts: u64,
    /// Groups that were open here when somebody removed them.
    removed: HashSet<i32>,
}

/// Figures of a server and of this process's connections to it.
#[derive(Clone, Debug)]
pub struct ServerFigures {
    /// Connections in use.
    pub leased: usize,
    /// Open connections that wait for a call.
    pub idle: usize,
    /// The most that a process opens.
    pub max: usize,
    /// How many calls waited for a free connection.
    pub waits: u64,
    /// How many of these gave up.
    pub timeouts: u64,
    /// Transactions of all machines that wait for a lock now; `None`: the server did not say.
    pub lock_waits: Option<i64>,
    /// Connected replicas.
    pub replicas: Option<i64>,
    /// How far the slowest replica is behind, in seconds; `None` too if the user may not see it (`pg_monitor`).
    pub replication_lag: Option<f64>,
    /// The size of the database with all its groups.
    pub bytes: Option<i64>,
}

/// One connection with its prepared statements.
struct Session {
    client: Client,
    statements: HashMap<String, Statement>,
}

thread_local! {
    /// How many connections this thread holds. A thread that holds one never waits for another: it could wait
    /// for itself.
    static LEASES: Cell<usize> = const { Cell::new(0) };
}

/// The rows that a transaction may see.
#[derive(Clone)]
pub(crate) struct Scope {
    pub(crate) group: i32,
    pub(crate) visibility: Visibility,
    /// The names of private documents.
    pub(crate) private: Arc<[String]>,
}

/// The purpose of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Read,
    /// A write of records, which holds the group's lock.
    Write,
    /// A change of files, which has no lock.
    Files,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Server").field(&self.0.name).finish()
    }
}

impl Server {
    /// Uses the database at a URL such as `postgres://nacre@db.example/team`. Nothing is connected yet.
    pub(crate) fn new(url: &str, password: Option<&str>) -> Result<Server> {
        let (hosts, keeps_statements) = Hosts::new(url, password)?;
        let (name, token) = (hosts.name(), None);
        let (pool, released) = (Mutex::default(), Condvar::new());
        Ok(Server(Arc::new(Inner { hosts, keeps_statements, name, token, pool, released })))
    }

    /// Acts for the member with this token.
    pub(crate) fn with_token(mut self, token: Secret) -> Server {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.token = Some(token);
        }
        self
    }

    /// Returns the address without the password.
    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the number of a group or of one of its collections, if it exists.
    pub(crate) fn find_group(&self, group: &GroupName, collection: &str) -> Result<Option<i32>> {
        let lease = self.named(group.as_str(), Purpose::Read)?;
        let sql = "SELECT g FROM groups WHERE name = $1 AND collection = $2";
        let found = lease.query(sql, &[&group.as_str(), &collection])?;
        found.first().map(|row| row.try_get(0)).transpose().map_err(|problem| lease.error(&problem))
    }

    /// Returns the number of a group or of one of its collections, which is created if needed.
    pub(crate) fn create_group(&self, group: &GroupName, collection: &str) -> Result<i32> {
        let lease = self.named(group.as_str(), Purpose::Files)?;
        let sql = "INSERT INTO groups (name, collection) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        lease.execute(sql, &[&group.as_str(), &collection])?;
        let sql = "SELECT g FROM groups WHERE name = $1 AND collection = $2";
        let found = lease.query(sql, &[&group.as_str(), &collection])?;
        let number = found.first().map(|row| row.try_get(0)).transpose();
        let number = number.map_err(|problem| lease.error(&problem))?;
        lease.commit()?;
        number.ok_or_else(|| self.not_ready("a group can't be created"))
    }

    /// Returns figures of the connections, and of the server's replicas.
    pub(crate) fn figures(&self) -> ServerFigures {
        let sql = "SELECT (SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted), count(*),
            max(extract(epoch FROM replay_lag))::float8 FROM pg_stat_replication";
        let first = |sql: &str| {
            let found = self.start("true", Purpose::Read, None).and_then(|lease| lease.query(sql, &[]));
            found.ok().and_then(|rows| rows.into_iter().next())
        };
        let row = first(sql);
        // On its own: a user may lack the right.
        let size = first("SELECT pg_database_size(current_database())");
        let pool = self.pool();
        ServerFigures {
            leased: pool.leased,
            idle: pool.idle.len(),
            max: MAX_CONNECTIONS,
            waits: pool.waits,
            timeouts: pool.timeouts,
            lock_waits: row.as_ref().and_then(|row| row.try_get(0).ok()),
            replicas: row.as_ref().and_then(|row| row.try_get(1).ok()),
            replication_lag: row.as_ref().and_then(|row| row.try_get(2).ok().flatten()),
            bytes: size.and_then(|row| row.try_get(0).ok()),
        }
    }

    /// Deletes a group and its collections, with all their rows.
    pub(crate) fn remove(&self, group: &GroupName) -> Result<()> {
        let lease = self.named(group.as_str(), Purpose::Read)?;
        let found =
            lease.query("SELECT g FROM groups WHERE name = $1 ORDER BY g DESC", &[&group.as_str()])?;
        drop(lease);
        for row in found {
            let number = row.try_get(0).map_err(|problem| self.error(&problem))?;
            self.delete_group(&Scope {
                group: number,
                visibility: Visibility::Private,
                private: Arc::default(),
            })?;
        }
        self.forget_roles(group)
    }

    /// Deletes all rows of a group or a collection.
    pub(crate) fn delete_group(&self, scope: &Scope) -> Result<()> {
        let lease = self.begin(scope, Purpose::Write)?;
        let tables = "SELECT table_name::text FROM information_schema.columns
            WHERE table_schema = 'nacre' AND column_name = 'g' AND table_name NOT LIKE 'public_%'
            -- The group itself at last: a member's role in it decides about the other rows.
            ORDER BY table_name = 'groups'";
        for row in lease.query(tables, &[])? {
            let table: String = row.try_get(0).map_err(|problem| lease.error(&problem))?;
            lease.execute(&format!("DELETE FROM {table}"), &[])?;
        }
        lease.commit()
    }

    /// Tells whether a transaction has found that a group was removed. Another one may have its name.
    pub(crate) fn is_removed(&self, group: i32) -> bool {
        self.pool().removed.contains(&group)
    }

    /// Returns the names of all groups.
    pub(crate) fn groups(&self) -> Result<Vec<String>> {
        let lease = self.named("*", Purpose::Read)?;
        let found = lease.query("SELECT DISTINCT name FROM groups ORDER BY name", &[])?;
        found.iter().map(|row| row.try_get(0).map_err(|problem| lease.error(&problem))).collect()
    }

    /// Begins a transaction that may see one group by its name, before its number is known.
    fn named(&self, group: &str, purpose: Purpose) -> Result<Lease> {
        self.start(&format!("set_config('nacre.group', {}, true)", quote(group)), purpose, None)
    }

    /// Begins a transaction that holds a lock. It may wait for long without doing anything.
    pub(crate) fn begin_lock(&self, group: &GroupName) -> Result<Lease> {
        let says = "set_config('idle_in_transaction_session_timeout', '0', true)";
        self.start(
            &format!("set_config('nacre.group', {}, true), {says}", quote(group.as_str())),
            Purpose::Files,
            None,
        )
    }

    /// Begins a transaction.
    pub(crate) fn begin(&self, scope: &Scope, purpose: Purpose) -> Result<Lease> {
        let rules: Vec<String> = scope.private.iter().map(|rule| caller::folded(rule)).collect();
        let (group, sees) =
            (scope.group, if scope.visibility == Visibility::Private { "private" } else { "shared" });
        let says = format!(
            "set_config('nacre.g', '{group}', true), set_config('nacre.sees', '{sees}', true),
             set_config('nacre.private', {}, true)",
            quote(&serde_json::to_string(&rules)?)
        );
        self.start(&says, purpose, Some(group))
    }

    fn start(&self, says: &str, purpose: Purpose, group: Option<i32>) -> Result<Lease> {
        let mode = match purpose {
            Purpose::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            _ => "BEGIN ISOLATION LEVEL READ COMMITTED",
        };
        // A group that somebody has removed has no row. The division fails then, before anything is read or written.
        let lock = match (purpose, group) {
            (_, None) => String::new(),
            (Purpose::Write, Some(group)) => format!(
                "SELECT 1 / count(*) FROM (SELECT g FROM nacre.groups WHERE g = {group} FOR UPDATE) AS own;"
            ),
            (_, Some(group)) => format!("SELECT 1 / count(*) FROM nacre.groups WHERE g = {group};"),
        };
        let wait = MAX_WAIT.as_millis();
        let deadline = STATEMENT_TIMEOUT.as_millis();
        // A commit is on disk, and on a synchronous standby, before anybody sees it. This holds for derived data too: processes keep
        // it in memory by the group's stamp, and a stamp that was lost with its server would be given out again for other data.
        let identity = self.identity();
        let begin = format!(
            "{mode};
             SELECT {identity},
             set_config('lock_timeout', '{wait}', true), set_config('statement_timeout', '{deadline}', true),
             set_config('synchronous_commit', 'on', true), {says};
             {lock}"
        );
        // A connection that waited in the pool may be gone: the server was restarted. Nothing has been done with
        // it yet, so that another one can take its place.
        loop {
            let (mut session, is_new) = self.lease()?;
            match session.client.batch_execute(&begin) {
                Ok(()) => {
                    return Ok(Lease {
                        server: self.clone(),
                        session: RefCell::new(Some(Box::new(session))),
                        failed: Cell::new(false),
                    });
                }
                Err(problem) => {
                    // A server that has become read-only may have handed over to another one.
                    let is_lost = matches!(
                        self.error(&problem),
                        Error::ServerLost { .. } | Error::ServerReadOnly { .. }
                    );
                    let is_gone = is_lost || session.client.is_closed();
                    if !is_gone {
                        let _ = session.client.batch_execute(self.rollback());
                    }
                    self.release((!is_gone).then_some(session));
                    if let (Some(group), Some(&SqlState::DIVISION_BY_ZERO)) = (group, problem.code()) {
                        self.pool().removed.insert(group);
                        return Err(Error::GroupRemoved { server: self.0.name.clone() });
                    }
                    if !is_gone || is_new {
                        return Err(self.error(&problem));
                    }
                }
            }
        }
    }

    /// Returns the settings that say for whom a transaction acts.
    fn identity(&self) -> String {
        let token = self.0.token.as_ref().map_or_else(String::new, |token| {
            format!(", set_config('nacre.token', {}, true)", quote(token.expose()))
        });
        format!(
            "set_config('role', 'nacre_app', true), set_config('search_path', 'nacre, pg_catalog', true){token}"
        )
    }

    /// Takes a connection from the pool, or opens one. Tells whether it is new.
    fn lease(&self) -> Result<(Session, bool)> {
        let mut pool = self.pool();
        if LEASES.get() == 0 {
            let is_full = |pool: &mut Pool| pool.idle.is_empty() && pool.leased >= MAX_CONNECTIONS;
            if is_full(&mut pool) {
                pool.waits += 1;
            }
            let waited = self.0.released.wait_timeout_while(pool, MAX_WAIT, is_full);
            let (mut free, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() {
                free.timeouts += 1;
                return Err(Error::Busy);
            }
            pool = free;
        }
        pool.leased += 1;
        let idle = pool.idle.pop();
        drop(pool);
        LEASES.set(LEASES.get() + 1);
        if let Some(session) = idle {
            return Ok((session, false));
        }
        match self.connect() {
            Ok(session) => Ok((session, true)),
            Err(error) => {
                self.release(None);
                Err(error)
            }
        }
    }

    fn release(&self, session: Option<Session>) {
        LEASES.set(LEASES.get().saturating_sub(1));
        let mut pool = self.pool();
        pool.leased -= 1;
        if pool.idle.len() < MAX_CONNECTIONS {
            pool.idle.extend(session);
        }
        drop(pool);
        self.0.released.notify_one();
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.0.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a connection and checks that the server is one that we can use.
    fn connect(&self) -> Result<Session> {
        let mut client = self.client()?;
        let failed = |problem: postgres::Error| self.error(&problem);
        // A pooler gives a connection for a transaction, not for a statement.
        client.batch_execute("BEGIN READ ONLY").map_err(failed)?;
        schema::check(self, &mut client)?;
        client.batch_execute(self.commit()).map_err(failed)?;
        Ok(Session { client, statements: HashMap::new() })
    }

    /// Returns the statement that commits. A pooler then hands the connection to somebody else, whose prepared statements may have the
    /// same names.
    fn commit(&self) -> &'static str {
        if self.0.keeps_statements { "COMMIT" } else { "DEALLOCATE ALL; COMMIT" }
    }

    /// Does the same for a transaction that is rolled back.
    fn rollback(&self) -> &'static str {
        if self.0.keeps_statements { "ROLLBACK" } else { "ROLLBACK; DEALLOCATE ALL" }
    }

    /// Opens a connection. Asks again for a while if the server is starting or has no free connection, or if one of several will
    /// soon take the place of the primary.
    fn client(&self) -> Result<Client> {
        let mut tries = 1;
        loop {
            let problem = match self.0.hosts.connect() {
                Ok(client) => return Ok(client),
                Err(problem) => problem,
            };
            if !self.0.hosts.may_pass(&problem) || tries == CONNECT_TRIES {
                return Err(self.error(&problem));
            }
            tries += 1;
            std::thread::sleep(CONNECT_PAUSE);
        }
    }

    fn not_ready(&self, problem: impl Into<String>) -> Error {
        Error::ServerNotReady { server: self.0.name.clone(), problem: problem.into() }
    }

    /// Says what an error of the server means.
    fn error(&self, problem: &postgres::Error) -> Error {
        let server = self.0.name.clone();
        let path = || self.0.name.clone().into();
        let said = source_of(problem);
        let Some(state) = problem.code() else {
            if hosts::is_read_only(problem) {
                return Error::ServerReadOnly { server };
            }
            // The client has no code for this one.
            if said == "password missing" {
                return Error::ServerDenied { server, problem: "a password is needed".into() };
            }
            return match problem.is_closed() || problem.to_string().starts_with("error communicating") {
                true => Error::ServerLost { server },
                false => Error::ServerDown { server, problem: said },
            };
        };
        match *state {
            SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
                Error::ServerDenied { server, problem: said }
            }
            SqlState::INSUFFICIENT_PRIVILEGE if said.contains("row-level security") => {
                Error::WriteRefused { server }
            }
            SqlState::INVALID_CATALOG_NAME
            | SqlState::INVALID_SCHEMA_NAME
            | SqlState::UNDEFINED_TABLE
            | SqlState::UNDEFINED_OBJECT
            | SqlState::INVALID_PARAMETER_VALUE
            | SqlState::INSUFFICIENT_PRIVILEGE => self.not_ready(said),
            SqlState::LOCK_NOT_AVAILABLE
            | SqlState::QUERY_CANCELED
            | SqlState::T_R_SERIALIZATION_FAILURE
            | SqlState::T_R_DEADLOCK_DETECTED => Error::Busy,
            SqlState::DISK_FULL | SqlState::OUT_OF_MEMORY => Error::DiskFull { path: path() },
            SqlState::READ_ONLY_SQL_TRANSACTION => Error::ServerReadOnly { server },
            SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN | SqlState::CONNECTION_FAILURE => {
                Error::ServerLost { server }
            }
            // A pooler has the last code for all its refusals.
            SqlState::CANNOT_CONNECT_NOW | SqlState::TOO_MANY_CONNECTIONS | SqlState::PROTOCOL_VIOLATION => {
                Error::ServerDown { server, problem: said }
            }
            _ => Error::Database(said.into()),
        }
    }
}

/// A connection in a transaction. Dropping it rolls the transaction back.
pub(crate) struct Lease {
    server: Server,
    session: RefCell<Option<Box<Session>>>,
    /// Whether a statement has failed. The server then undoes everything, and answers `COMMIT` without an error.
    failed: Cell<bool>,
}

impl Lease {
    fn error(&self, problem: &postgres::Error) -> Error {
        self.server.error(problem)
    }

    /// Runs `work` with a prepared statement.
    fn prepared<T>(
        &self,
        sql: &str,
        work: impl FnOnce(&mut Client, &Statement) -> Result<T, postgres::Error>,
    ) -> Result<T> {
        let mut session = self.session.borrow_mut();
        let Session { client, statements } = &mut **session.as_mut().expect("held until the end");
        let run = || {
            let statement = match statements.get(sql) {
                Some(known) => known.clone(),
                None => {
                    let prepared = client.prepare(&dialect(sql))?;
                    statements.insert(sql.to_owned(), prepared.clone());
                    prepared
                }
            };
            work(client, &statement)
        };
        run().inspect_err(|_| self.failed.set(true)).map_err(|problem| match self.error(&problem) {
            Error::Database(said) => Error::Database(format!("{said}: {sql}").into()),
            error => error,
        })
    }

    /// Runs a statement with parameters of PostgreSQL's own types, such as arrays.
    pub(crate) fn query(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<postgres::Row>> {
        self.prepared(sql, |client, statement| client.query(statement, params))
    }

    /// Does the same for a statement that returns no rows.
    pub(crate) fn execute(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<u64> {
        self.prepared(sql, |client, statement| client.execute(statement, params))
    }

    /// Runs a statement whose parameters are columns: arrays of the same length. Returns its rows.
    pub(crate) fn columns(&self, sql: &str, columns: &[Vec<Value<'_>>]) -> Result<Vec<postgres::Row>> {
        let columns: Vec<Vec<value::Param<'_>>> = columns
            .iter()
            .map(|column| column.iter().map(|value| value::Param(value.to_sql())).collect())
            .collect();
        let params: Vec<&(dyn ToSql + Sync)> =
            columns.iter().map(|column| column as &(dyn ToSql + Sync)).collect();
        self.query(sql, &params)
    }

    /// Runs a statement that returns no rows. Returns how many rows it changed.
    pub(super) fn run(&self, sql: &str, params: &impl Params) -> Result<usize> {
        with_params(params, |params| self.execute(sql, params))
            .map(|changed| usize::try_from(changed).unwrap_or(usize::MAX))
    }

    /// Returns all rows of a statement.
    pub(super) fn rows(&self, sql: &str, params: &impl Params) -> Result<Vec<Row>> {
        let rows = with_params(params, |params| self.query(sql, params))?;
        Ok(rows.into_iter().map(Row::new).collect())
    }

    /// Runs statements that take no parameters.
    pub(super) fn batch(&self, sql: &str) -> Result<()> {
        let mut session = self.session.borrow_mut();
        let client = &mut session.as_mut().expect("held until the end").client;
        let done = client.batch_execute(&dialect(sql));
        // A rollback to a savepoint makes up for what failed since.
        self.failed.set(done.is_err() || self.failed.get() && !sql.starts_with("ROLLBACK TO"));
        done.map_err(|problem| self.error(&problem))
    }

    /// Forgets the prepared statements, which the end of a transaction deletes behind a pooler.
    fn forget_statements(&self) {
        if !self.server.0.keeps_statements
            && let Some(session) = self.session.borrow_mut().as_mut()
        {
            session.statements.clear();
        }
    }

    pub(super) fn commit(self) -> Result<()> {
        if self.failed.get() {
            return Err(Error::Database("a statement of the transaction failed; nothing was written".into()));
        }
        self.forget_statements();
        self.batch(self.server.commit())?;
        // There is nothing to roll back.
        self.server.release(self.session.take().map(|session| *session));
        Ok(())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.forget_statements();
        let Some(mut session) = self.session.take() else { return };
        let is_open = session.client.batch_execute(self.server.rollback()).is_ok();
        self.server.release(is_open.then_some(*session));
    }
}

fn with_params<T>(params: &impl Params, work: impl FnOnce(&[&(dyn ToSql + Sync)]) -> T) -> T {
    let values: Vec<value::Param<'_>> =
        (0..params.count()).map(|place| value::Param(params.at(place))).collect();
    let params: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
    work(&params)
}

/// Adapts a portable statement: every key begins with the group's number, and there is one database. A list of numbers becomes an
/// array, because the planner reads a whole table rather than join it with a function's result.
fn dialect(sql: &str) -> String {
    const LIST: &str = "IN (SELECT CAST(value AS BIGINT) FROM json_each($1))";
    const ARRAY: &str = "= ANY (ARRAY(SELECT CAST(value AS BIGINT) FROM json_each($1)))";
    sql.replace("ON CONFLICT (", "ON CONFLICT (g, ").replace(" main.", " ").replace(LIST, ARRAY)
}

/// Quotes a text for a statement.
fn quote(text: &str) -> String {
    // An `E` string reads the same whatever `standard_conforming_strings` says.
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// Returns the message of the server, or of the cause, without the words that the client puts before it.
fn source_of(problem: &postgres::Error) -> String {
    let cause = std::error::Error::source(problem);
    match problem.as_db_error() {
        Some(said) => said.message().to_owned(),
        None => cause.map_or_else(|| problem.to_string(), ToString::to_string),
    }
}
