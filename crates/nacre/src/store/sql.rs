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

use crate::base::sql::{FromSql, Problem, ToSql, Value};
use crate::base::{Error, Result};

/// An open connection. Inside a transaction of [`Db`](super::Db) it reads one snapshot, or writes.
pub(crate) struct Connection {
    sqlite: rusqlite::Connection,
}

#[expect(clippy::needless_pass_by_value, reason = "parameters are written in the call")]
impl Connection {
    pub(super) fn new(sqlite: rusqlite::Connection) -> Connection {
        Connection { sqlite }
    }

    /// Opens a SQLite file without migrating it: an export, a checkpoint, or a damaged file.
    pub(crate) fn to_file(path: &Path) -> Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Ok(Connection::new(rusqlite::Connection::open_with_flags(path, flags)?))
    }

    /// Runs statements that take no parameters, one after the other.
    pub(crate) fn batch(&self, sql: &str) -> Result<()> {
        Ok(self.sqlite.execute_batch(sql)?)
    }

    /// Runs `work` inside a transaction and rolls it back, to learn whether it would succeed.
    pub(crate) fn undone<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.batch("SAVEPOINT undone")?;
        let done = work(self);
        self.batch("ROLLBACK TO undone; RELEASE undone")?;
        done
    }

    /// Returns SQLite itself, for the full-text index.
    pub(crate) fn sqlite(&self) -> &rusqlite::Connection {
        &self.sqlite
    }

    /// Runs a statement that returns no rows. Returns how many rows it changed.
    pub(crate) fn run(&self, sql: &str, params: impl Params) -> Result<usize> {
        let mut statement = self.sqlite.prepare_cached(sql)?;
        bind(&mut statement, &params)?;
        Ok(statement.raw_execute()?)
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
        let mut statement = self.sqlite.prepare_cached(sql)?;
        bind(&mut statement, &params)?;
        let mut rows = statement.raw_query();
        rows.next()?.map(|sqlite| read(&Row { sqlite })).transpose()
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
        let mut statement = self.sqlite.prepare_cached(sql)?;
        bind(&mut statement, &params)?;
        let mut rows = statement.raw_query();
        while let Some(sqlite) = rows.next()? {
            if take(&Row { sqlite })?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Defines a deterministic function for statements on this connection.
    pub(crate) fn define<const N: usize, T: ToSql>(
        &self,
        name: &str,
        function: impl Fn([Value<'_>; N]) -> Result<T, Problem> + Send + 'static,
    ) -> Result<()> {
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
        let count = i32::try_from(N).expect("a handful");
        self.sqlite.create_scalar_function(name, count, flags, move |context| {
            let mut arguments = [const { Value::Null }; N];
            for (place, argument) in arguments.iter_mut().enumerate() {
                *argument = value(context.get_raw(place))?;
            }
            function(arguments)
                .map(|result| owned(result.to_sql()))
                .map_err(rusqlite::Error::UserFunctionError)
        })?;
        Ok(())
    }

    /// Attaches the database in another file under a name.
    pub(crate) fn attach(&self, file: &Path, name: &str) -> Result<()> {
        let attached = self.sqlite.execute(&format!("ATTACH $1 AS {name}"), [file.to_string_lossy()]);
        Ok(attached.map(drop)?)
    }

    /// Detaches the database of this name.
    pub(crate) fn detach(&self, name: &str) -> Result<()> {
        // A cached statement may still use it.
        self.sqlite.flush_prepared_statement_cache();
        self.batch(&format!("DETACH {name}"))
    }
}

/// One result row.
pub(crate) struct Row<'r> {
    sqlite: &'r rusqlite::Row<'r>,
}

impl Row<'_> {
    /// Reads a column, counted from zero.
    pub(crate) fn get<T: FromSql>(&self, column: usize) -> Result<T> {
        T::from_sql(self.value(column)?)
            .map_err(|problem| Error::Database(format!("column {column} holds {problem}").into()))
    }

    /// Reads a column without conversion or copying.
    pub(crate) fn value(&self, column: usize) -> Result<Value<'_>> {
        Ok(value(self.sqlite.get_ref(column)?)?)
    }

    /// Reads a text column without copying it; empty if it holds another type.
    pub(crate) fn text(&self, column: usize) -> Result<&str> {
        Ok(self.sqlite.get_ref(column)?.as_str().unwrap_or_default())
    }

    /// Reads a blob column without copying it; empty if it holds another type.
    pub(crate) fn bytes(&self, column: usize) -> Result<&[u8]> {
        Ok(self.sqlite.get_ref(column)?.as_blob().unwrap_or_default())
    }

    /// Returns the number of columns.
    pub(crate) fn columns(&self) -> usize {
        self.sqlite.as_ref().column_count()
    }
}

/// Converts SQLite's value to ours, without copying it.
fn value(sqlite: ValueRef<'_>) -> rusqlite::Result<Value<'_>> {
    Ok(match sqlite {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(Cow::Borrowed(std::str::from_utf8(text)?)),
        ValueRef::Blob(bytes) => Value::Bytes(Cow::Borrowed(bytes)),
    })
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

/// The parameters of a statement, in order: `$1` is the first.
pub(crate) trait Params {
    fn count(&self) -> usize;
    /// Returns the parameter at this index, counted from zero.
    fn at(&self, place: usize) -> Value<'_>;
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

impl Params for () {
    fn count(&self) -> usize {
        0
    }

    fn at(&self, _: usize) -> Value<'_> {
        Value::Null
    }
}

impl<T: ToSql> Params for &[T] {
    fn count(&self) -> usize {
        self.len()
    }

    fn at(&self, place: usize) -> Value<'_> {
        self[place].to_sql()
    }
}

impl<T: ToSql, const N: usize> Params for [T; N] {
    fn count(&self) -> usize {
        N
    }

    fn at(&self, place: usize) -> Value<'_> {
        self[place].to_sql()
    }
}

macro_rules! tuples {
    ($(($count:literal: $($name:ident $place:tt),+)),+) => {$(
        impl<$($name: ToSql),+> Params for ($($name,)+) {
            fn count(&self) -> usize {
                $count
            }

            fn at(&self, place: usize) -> Value<'_> {
                match place {
                    $($place => self.$place.to_sql(),)+
                    _ => Value::Null,
                }
            }
        }
    )+};
}

tuples! {
    (1: A 0),
    (2: A 0, B 1),
    (3: A 0, B 1, C 2),
    (4: A 0, B 1, C 2, D 3),
    (5: A 0, B 1, C 2, D 3, E 4),
    (6: A 0, B 1, C 2, D 3, E 4, F 5),
    (7: A 0, B 1, C 2, D 3, E 4, F 5, G 6),
    (8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7),
    (9: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8),
    (10: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9),
    (11: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10),
    (12: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11)
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
