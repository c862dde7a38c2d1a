//! The only interface to the database: a connection that runs portable SQL.
//!
//! Statements are written once, in the subset that SQLite and PostgreSQL share: parameters are `$1`, `$2` and
//! so on, `RETURNING` returns the number of a new row, and `ON CONFLICT` handles rows that already exist.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::{self, ValueRef};
use rusqlite::{ErrorCode, OpenFlags};

use super::postgres::{self, Lease};
use crate::base::sql::{FromSql, Params, Problem, ToSql, Value};
use crate::base::{Error, Result};

/// An open connection. Inside a transaction of [`Db`](super::Db) it reads one snapshot, or writes.
pub(crate) struct Connection {
    engine: Engine,
}

/// The engine behind a connection, for what only one of them does: the full-text index.
pub(crate) enum Engine {
    Sqlite(rusqlite::Connection),
    /// A transaction on a server.
    Postgres(Lease),
}

#[expect(clippy::needless_pass_by_value, reason = "parameters are written in the call")]
impl Connection {
    pub(super) fn new(sqlite: rusqlite::Connection) -> Connection {
        Connection { engine: Engine::Sqlite(sqlite) }
    }

    pub(super) fn to_server(lease: Lease) -> Connection {
        Connection { engine: Engine::Postgres(lease) }
    }

    /// Returns the engine.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns SQLite itself, for what a server is never asked.
    pub(super) fn sqlite(&self) -> Result<&rusqlite::Connection> {
        match &self.engine {
            Engine::Sqlite(sqlite) => Ok(sqlite),
            Engine::Postgres(_) => Err(Error::NotOnServer { what: "a database file" }),
        }
    }

    /// Commits the transaction on a server.
    pub(super) fn commit(self) -> Result<()> {
        match self.engine {
            Engine::Postgres(lease) => lease.commit(),
            Engine::Sqlite(_) => Ok(()),
        }
    }

    /// Opens a SQLite file without migrating it: an export, a checkpoint, or a damaged file.
    pub(crate) fn to_file(path: &Path) -> Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Ok(Connection::new(rusqlite::Connection::open_with_flags(path, flags)?))
    }

    /// Runs statements that take no parameters, one after the other.
    pub(crate) fn batch(&self, sql: &str) -> Result<()> {
        match &self.engine {
            Engine::Sqlite(sqlite) => Ok(sqlite.execute_batch(sql)?),
            Engine::Postgres(server) => server.batch(sql),
        }
    }

    /// Runs `work` inside a transaction and rolls it back, to learn whether it would succeed.
    pub(crate) fn undone<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.batch("SAVEPOINT undone")?;
        let done = work(self);
        self.batch("ROLLBACK TO undone; RELEASE undone")?;
        done
    }

    /// Returns the highest number that a table with counted rows has ever used.
    pub(crate) fn last_number(&self, table: &str) -> Result<i64> {
        let sql = match &self.engine {
            Engine::Sqlite(_) => "SELECT seq FROM sqlite_sequence WHERE name = $1",
            Engine::Postgres(_) => "SELECT last FROM counters WHERE name = $1",
        };
        Ok(self.row(sql, [table], |row| row.get(0))?.unwrap_or(0))
    }

    /// Returns the highest number that each table with counted rows has ever used.
    pub(crate) fn numbers(&self) -> Result<Vec<(String, i64)>> {
        let sql = match &self.engine {
            Engine::Sqlite(_) => "SELECT name, seq FROM sqlite_sequence ORDER BY name",
            // The index counts its words there too, under names with a space.
            Engine::Postgres(_) => {
                "SELECT name, last FROM counters WHERE strpos(name, ' ') = 0 ORDER BY name"
            }
        };
        self.rows(sql, (), |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// Makes sure that a table with counted rows gives no number up to `last` again.
    pub(crate) fn set_last_number(&self, table: &str, last: i64) -> Result<()> {
        let statements: &[&str] = match &self.engine {
            Engine::Sqlite(_) => &[
                "INSERT INTO sqlite_sequence (name, seq) SELECT $1, 0 WHERE $2 > 0
                    AND NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = $1)",
                "UPDATE sqlite_sequence SET seq = max(seq, $2) WHERE name = $1",
            ],
            Engine::Postgres(_) => &["INSERT INTO counters AS c (name, last) VALUES ($1, $2)
                ON CONFLICT (name) DO UPDATE SET last = greatest(c.last, excluded.last)"],
        };
        statements.iter().try_for_each(|sql| self.run(sql, (table, last)).map(drop))
    }

    /// Runs a statement that returns no rows. Returns how many rows it changed.
    pub(crate) fn run(&self, sql: &str, params: impl Params) -> Result<usize> {
        match &self.engine {
            Engine::Sqlite(sqlite) => {
                let mut statement = sqlite.prepare_cached(sql)?;
                bind(&mut statement, &params)?;
                Ok(statement.raw_execute()?)
            }
            Engine::Postgres(server) => server.run(sql, &params),
        }
    }

    /// Returns the result of `read` for every row.
    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        self.each(sql, params, |row| {
            found.push(read(row)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// Returns the result of `read` for the first row, if there is one.
    pub(crate) fn row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        match &self.engine {
            Engine::Sqlite(sqlite) => {
                let mut statement = sqlite.prepare_cached(sql)?;
                bind(&mut statement, &params)?;
                let mut rows = statement.raw_query();
                rows.next()?.map(|row| read(&Row::Sqlite(row))).transpose()
            }
            Engine::Postgres(server) => {
                let row = server.rows(sql, &params)?.into_iter().next();
                row.map(|row| read(&Row::Postgres(&row))).transpose()
            }
        }
    }

    /// Returns the result of `read` for a row that always exists, such as a count or the result of
    /// `RETURNING`.
    pub(crate) fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.row(sql, params, read)?.ok_or_else(|| Error::from(rusqlite::Error::QueryReturnedNoRows))
    }

    /// Passes rows to `take` until it breaks.
    pub(crate) fn each(
        &self,
        sql: &str,
        params: impl Params,
        mut take: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        match &self.engine {
            Engine::Sqlite(sqlite) => {
                let mut statement = sqlite.prepare_cached(sql)?;
                bind(&mut statement, &params)?;
                let mut rows = statement.raw_query();
                while let Some(row) = rows.next()? {
                    if take(&Row::Sqlite(row))?.is_break() {
                        break;
                    }
                }
            }
            // All rows arrive before the first is taken, so that `take` can use the connection.
            Engine::Postgres(server) => {
                for row in server.rows(sql, &params)? {
                    if take(&Row::Postgres(&row))?.is_break() {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Counts the rows whose text is not UTF-8: a damaged file. A server refuses such text.
    pub(crate) fn damaged_rows(&self) -> Result<usize> {
        let Engine::Sqlite(sqlite) = &self.engine else { return Ok(0) };
        let sql = "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE '%\\_fts%' ESCAPE '\\'
                   AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND sql NOT LIKE 'CREATE VIRTUAL%'";
        let tables = self.rows(sql, (), |row| row.get::<String>(0))?;
        let mut damaged = 0;
        for table in tables {
            let mut statement = sqlite.prepare(&format!("SELECT * FROM main.\"{table}\""))?;
            let columns = statement.column_count();
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next()? {
                let is_damaged = |column| matches!(row.get_ref(column), Ok(ValueRef::Text(text)) if std::str::from_utf8(text).is_err());
                damaged += usize::from((0..columns).any(is_damaged));
            }
        }
        Ok(damaged)
    }

    /// Defines a deterministic function for statements on this connection.
    pub(crate) fn define<const N: usize, T: ToSql>(
        &self,
        name: &str,
        function: impl Fn([Value<'_>; N]) -> Result<T, Problem> + Send + 'static,
    ) -> Result<()> {
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
        let count = i32::try_from(N).expect("a handful");
        self.sqlite()?.create_scalar_function(name, count, flags, move |context| {
            let mut arguments = [const { Value::Null }; N];
            for (place, argument) in arguments.iter_mut().enumerate() {
                *argument = value(context.get_raw(place));
            }
            function(arguments)
                .map(|result| owned(result.to_sql()))
                .map_err(rusqlite::Error::UserFunctionError)
        })?;
        Ok(())
    }

    /// Attaches the database in another file under a name.
    pub(crate) fn attach(&self, file: &Path, name: &str) -> Result<()> {
        let attached = self.sqlite()?.execute(&format!("ATTACH $1 AS {name}"), [file.to_string_lossy()]);
        Ok(attached.map(drop)?)
    }

    /// Detaches the database of this name.
    pub(crate) fn detach(&self, name: &str) -> Result<()> {
        // A cached statement may still use it.
        self.sqlite()?.flush_prepared_statement_cache();
        self.batch(&format!("DETACH {name}"))
    }
}

/// One result row.
pub(crate) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r postgres::Row),
}

impl Row<'_> {
    /// Reads a column, counted from zero.
    pub(crate) fn get<T: FromSql>(&self, column: usize) -> Result<T> {
        T::from_sql(self.value(column)?).map_err(|problem| holds(column, &problem))
    }

    /// Reads a column without conversion or copying.
    pub(crate) fn value(&self, column: usize) -> Result<Value<'_>> {
        match self {
            Row::Sqlite(row) => Ok(value(row.get_ref(column)?)),
            Row::Postgres(row) => row.value(column).map_err(|problem| holds(column, &problem)),
        }
    }

    /// Reads a text column without copying it; empty if it holds another type.
    pub(crate) fn text(&self, column: usize) -> Result<&str> {
        match self {
            Row::Sqlite(row) => Ok(row.get_ref(column)?.as_str().unwrap_or_default()),
            Row::Postgres(_) => match self.value(column)? {
                Value::Text(Cow::Borrowed(text)) => Ok(text),
                _ => Ok(""),
            },
        }
    }

    /// Reads a blob column without copying it; empty if it holds another type.
    pub(crate) fn bytes(&self, column: usize) -> Result<&[u8]> {
        match self {
            Row::Sqlite(row) => Ok(row.get_ref(column)?.as_blob().unwrap_or_default()),
            Row::Postgres(_) => match self.value(column)? {
                Value::Bytes(Cow::Borrowed(bytes)) => Ok(bytes),
                _ => Ok(&[]),
            },
        }
    }

    /// Returns the number of columns.
    pub(crate) fn columns(&self) -> usize {
        match self {
            Row::Sqlite(row) => row.as_ref().column_count(),
            Row::Postgres(row) => row.columns(),
        }
    }
}

fn holds(column: usize, problem: &Problem) -> Error {
    Error::Database(format!("column {column} holds {problem}").into())
}

/// Converts SQLite's value to ours, without copying it.
fn value(sqlite: ValueRef<'_>) -> Value<'_> {
    match sqlite {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        // One damaged text must not hide the others: it is read as far as it can be, and a check reports it.
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => Value::Bytes(Cow::Borrowed(bytes)),
    }
}

/// Converts our value to SQLite's.
fn owned(value: Value<'_>) -> types::Value {
    match value {
        Value::Null => types::Value::Null,
        Value::Integer(number) => types::Value::Integer(number),
        Value::Real(number) => types::Value::Real(number),
        Value::Text(text) => types::Value::Text(text.into_owned()),
        Value::Bytes(bytes) => types::Value::Blob(bytes.into_owned()),
    }
}

/// Binds `$1` to the first parameter wherever it occurs in the statement. SQLite itself numbers parameters by
/// first appearance.
fn bind(statement: &mut rusqlite::Statement<'_>, params: &impl Params) -> Result<()> {
    let mut used = 0;
    for index in 1..=statement.parameter_count() {
        let name = statement.parameter_name(index).unwrap_or_default();
        let place = name.get(1..).and_then(|digits| digits.parse::<usize>().ok()).unwrap_or(index);
        used = used.max(place);
        if place == 0 || place > params.count() {
            return Err(rusqlite::Error::InvalidParameterCount(params.count(), place).into());
        }
        match params.at(place - 1) {
            Value::Null => statement.raw_bind_parameter(index, rusqlite::types::Null)?,
            Value::Integer(number) => statement.raw_bind_parameter(index, number)?,
            Value::Real(number) => statement.raw_bind_parameter(index, number)?,
            Value::Text(text) => statement.raw_bind_parameter(index, &*text)?,
            Value::Bytes(bytes) => statement.raw_bind_parameter(index, &*bytes)?,
        }
    }
    if used == params.count() {
        return Ok(());
    }
    Err(rusqlite::Error::InvalidParameterCount(params.count(), used).into())
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Error {
        Error::Database(Box::new(error))
    }
}

impl Error {
    /// Returns SQLite's code for this error, if it came from SQLite.
    pub(super) fn engine_code(&self) -> Option<ErrorCode> {
        let Error::Database(source) = self else {
            return None;
        };
        source.downcast_ref::<rusqlite::Error>()?.sqlite_error_code()
    }

    /// Adds the file's path to an error that the engine returned without one.
    pub(crate) fn at(self, path: &Path) -> Error {
        let path = path.to_owned();
        match self.engine_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy,
            Some(ErrorCode::DiskFull) => Error::DiskFull { path },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Error::ReadOnly { path },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Error::Damaged { path },
            _ => self,
        }
    }
}
