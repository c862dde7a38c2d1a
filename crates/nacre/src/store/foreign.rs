//! Reads databases of other programs. They are untrusted input: opened read-only, with views, triggers and extensions off, and
//! only ordinary tables are read.
//!
//! A database whose program is running has its last writes in a log beside it. Reading that log would write beside it too, so
//! both are copied first.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use super::db::beside;
use crate::base::Result;
use crate::base::files;

/// The first bytes of every SQLite file.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// The maximum size of a value, in bytes, and the maximum number of rows of a table. A longer value is read as null.
const MAX_VALUE_BYTES: u64 = 4 << 20;
const MAX_ROWS: usize = 2_000_000;
/// The maximum size of a database that is copied, in bytes.
const MAX_COPY_BYTES: u64 = 4 << 30;
/// How often a copy is tried while its program writes.
const COPY_TRIES: usize = 3;
/// The maximum number of instructions that all statements take together, in thousands.
const MAX_STEPS: u64 = 1_000_000;

/// A database of another program.
pub(crate) struct ForeignDb {
    db: Connection,
    /// The folder of the copy, which is removed at the end.
    copy: Option<PathBuf>,
}

/// One row, as the columns that were asked for. A column that the table lacks is null.
pub(crate) struct ForeignRow(Vec<ForeignValue>);

enum ForeignValue {
    Nothing,
    Integer(i64),
    Real(f64),
    Text(String),
}

/// The end of reading a table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TableEnd {
    /// All rows were read.
    Whole,
    /// The rest can't be read, and why.
    Broken(String),
}

/// Tells whether a file is a SQLite database.
pub(crate) fn is_sqlite(path: &Path) -> bool {
    use std::io::Read as _;
    let mut start = [0; MAGIC.len()];
    let is_file = fs::metadata(path).is_ok_and(|found| found.is_file());
    is_file
        && fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && start == *MAGIC
}

impl ForeignDb {
    /// Opens a database. A copy that has to be made is made in `scratch`. The error is the reason in words.
    pub(crate) fn open(path: &Path, scratch: &Path) -> Result<ForeignDb, String> {
        if !is_sqlite(path) {
            return Err("is not a SQLite database".into());
        }
        let has_log = fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0);
        if !has_log {
            return Self::connect(path, None);
        }
        let folder = scratch.join(format!("import-{}", std::process::id()));
        let copied = copy(path, &folder);
        match copied {
            Ok(copy) => Self::connect(&copy, Some(folder)),
            Err(why) => {
                drop(fs::remove_dir_all(&folder));
                Err(why)
            }
        }
    }

    /// Opens a database to see whose it is. A log beside it is not read, so that nothing is written.
    pub(crate) fn peek(path: &Path) -> Option<ForeignDb> {
        if is_sqlite(path) { Self::connect(path, None).ok() } else { None }
    }

    fn connect(path: &Path, copy: Option<PathBuf>) -> Result<ForeignDb, String> {
        let opened = (|| {
            let is_copy = copy.is_some();
            let flags = OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let name = path.to_str().ok_or("has a name that is not UTF-8")?;
            let name = name.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
            // A copy has its log applied, which is a write.
            let db = match is_copy {
                true => Connection::open_with_flags(
                    format!("file:{name}"),
                    flags | OpenFlags::SQLITE_OPEN_READ_WRITE,
                ),
                false => {
                    let name = format!("file:{name}?immutable=1");
                    Connection::open_with_flags(name, flags | OpenFlags::SQLITE_OPEN_READ_ONLY)
                }
            };
            let mut db = db.map_err(|problem| format!("can't be opened: {problem}"))?;
            restrict(&mut db).map_err(|problem| format!("can't be opened: {problem}"))?;
            db.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
                .map_err(|problem| format!("can't be read: {problem}"))?;
            Ok(db)
        })();
        match opened {
            Ok(db) => Ok(ForeignDb { db, copy }),
            Err(why) => {
                copy.into_iter().for_each(|folder| drop(fs::remove_dir_all(folder)));
                Err(why)
            }
        }
    }

    /// Returns the names of the ordinary tables. Tables of an index are not among them.
    pub(crate) fn tables(&self) -> Vec<String> {
        let sql =
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
            AND upper(ltrim(sql)) NOT LIKE 'CREATE VIRTUAL%' ORDER BY name LIMIT 1000";
        let names = |sql: &str| -> rusqlite::Result<Vec<String>> {
            self.db.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
        };
        let all = names(sql).unwrap_or_default();
        let indexes = names(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND upper(ltrim(sql)) LIKE 'CREATE VIRTUAL%'",
        );
        let indexes = indexes.unwrap_or_default();
        let is_of_index = |name: &String| {
            indexes
                .iter()
                .any(|index| name.strip_prefix(index.as_str()).is_some_and(|rest| rest.starts_with('_')))
        };
        all.into_iter().filter(|name| !is_of_index(name)).collect()
    }

    /// Tells whether there is an ordinary table with these columns.
    pub(crate) fn has(&self, table: &str, columns: &[&str]) -> bool {
        let found = self.columns(table);
        !found.is_empty() && columns.iter().all(|column| found.iter().any(|known| known == column))
    }

    fn columns(&self, table: &str) -> Vec<String> {
        if !self.tables().iter().any(|known| known == table) {
            return Vec::new();
        }
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.db.prepare("SELECT name FROM pragma_table_info($1, $2)")?;
            statement.query_map([table, "main"], |row| row.get(0))?.collect()
        };
        read().unwrap_or_default()
    }

    /// Returns how many rows a table has; 0 if it can't be counted.
    pub(crate) fn count(&self, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {} LIMIT {MAX_ROWS})", quoted(table));
        self.db.query_row(&sql, [], |row| row.get(0)).unwrap_or(0)
    }

    /// Passes the rows of a table to `take`, in the order in which they are stored.
    pub(crate) fn each(
        &self,
        table: &str,
        columns: &[&str],
        mut take: impl FnMut(ForeignRow) -> Result<()>,
    ) -> Result<TableEnd> {
        let known = self.columns(table);
        let select = columns.iter().map(|column| match known.iter().any(|known| known == column) {
            true => format!("CASE WHEN octet_length({0}) <= {MAX_VALUE_BYTES} THEN {0} END", quoted(column)),
            false => "NULL".to_owned(),
        });
        // Without an order: sorting would read everything first, however much a broken file pretends to have.
        let sql = format!("SELECT {} FROM {}", select.collect::<Vec<_>>().join(", "), quoted(table));
        let mut statement = match self.db.prepare(&sql) {
            Ok(statement) => statement,
            Err(problem) => return Ok(TableEnd::Broken(problem.to_string())),
        };
        let mut rows = match statement.query([]) {
            Ok(rows) => rows,
            Err(problem) => return Ok(TableEnd::Broken(problem.to_string())),
        };
        for number in 0.. {
            match rows.next() {
                Ok(Some(_)) if number == MAX_ROWS => {
                    return Ok(TableEnd::Broken(format!("has more than {MAX_ROWS} rows")));
                }
                Ok(Some(row)) => {
                    let values = (0..columns.len()).map(|column| match row.get_ref(column) {
                        Ok(ValueRef::Integer(number)) => ForeignValue::Integer(number),
                        Ok(ValueRef::Real(number)) => ForeignValue::Real(number),
                        Ok(ValueRef::Text(text)) => {
                            ForeignValue::Text(String::from_utf8_lossy(text).into_owned())
                        }
                        _ => ForeignValue::Nothing,
                    });
                    take(ForeignRow(values.collect()))?;
                }
                Ok(None) => break,
                Err(problem) => return Ok(TableEnd::Broken(problem.to_string())),
            }
        }
        Ok(TableEnd::Whole)
    }
}

impl Drop for ForeignDb {
    fn drop(&mut self) {
        if let Some(folder) = &self.copy {
            // It is in the group's folder; what is left is removed by the next import.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

impl ForeignRow {
    /// Returns a value as text; empty if it is null.
    pub(crate) fn text(&self, column: usize) -> String {
        match &self.0[column] {
            ForeignValue::Nothing => String::new(),
            ForeignValue::Integer(number) => number.to_string(),
            ForeignValue::Real(number) => number.to_string(),
            ForeignValue::Text(text) => text.clone(),
        }
    }

    pub(crate) fn integer(&self, column: usize) -> Option<i64> {
        match &self.0[column] {
            ForeignValue::Integer(number) => Some(*number),
            #[expect(clippy::cast_possible_truncation, reason = "saturates")]
            ForeignValue::Real(number) => Some(*number as i64),
            ForeignValue::Text(text) => text.trim().parse().ok(),
            ForeignValue::Nothing => None,
        }
    }

    pub(crate) fn real(&self, column: usize) -> Option<f64> {
        let number = match &self.0[column] {
            #[expect(clippy::cast_precision_loss, reason = "a weight")]
            ForeignValue::Integer(number) => *number as f64,
            ForeignValue::Real(number) => *number,
            ForeignValue::Text(text) => text.trim().parse().ok()?,
            ForeignValue::Nothing => return None,
        };
        number.is_finite().then_some(number)
    }
}

/// Turns off everything by which a file could do more than hold rows.
fn restrict(db: &mut Connection) -> rusqlite::Result<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    db.execute_batch("PRAGMA query_only = ON; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;")?;
    let mut steps = 0;
    db.progress_handler(
        1_000,
        Some(move || {
            steps += 1;
            steps > MAX_STEPS
        }),
    )?;
    Ok(())
}

/// Copies a database and its log. If they changed meanwhile, it tries again.
fn copy(path: &Path, folder: &Path) -> Result<PathBuf, String> {
    let cant = |problem: std::io::Error| format!("can't be copied: {problem}");
    let files = [path.to_owned(), beside(path, "-wal")];
    let stamp = || {
        files.each_ref().map(|file| fs::metadata(file).ok().map(|found| (found.len(), found.modified().ok())))
    };
    let size: u64 = files.iter().filter_map(|file| fs::metadata(file).ok()).map(|found| found.len()).sum();
    if size > MAX_COPY_BYTES {
        return Err(format!("is larger than {} GiB", MAX_COPY_BYTES >> 30));
    }
    let to = folder.join("copy.db");
    for _ in 0..COPY_TRIES {
        drop(fs::remove_dir_all(folder));
        files::create_folder(folder).map_err(|problem| format!("can't be copied: {problem}"))?;
        let before = stamp();
        for (from, to) in files.iter().zip([to.clone(), beside(&to, "-wal")]) {
            match fs::copy(from, to) {
                Ok(_) => {}
                // The program may have emptied its log.
                Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => {}
                Err(problem) => return Err(cant(problem)),
            }
        }
        if stamp() == before {
            return Ok(to);
        }
    }
    Err("is being written; close the program and try again".into())
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
