//! Copies a whole group into another home, on either engine: from a folder to a server, and back.
//!
//! Files come first, each by itself; a run that was interrupted continues. All records follow in one transaction, with
//! their numbers and the audit chain, and are compared before it is committed. The index is rebuilt there. The source
//! is not changed.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::Serialize;

use super::workspace::change;
use crate::base::progress::{Progress, Unit};
use crate::base::sql::ToSql;
use crate::base::{Error, FilePath, Result, Time};
use crate::group::View;
use crate::index::{self, Documents};
use crate::store::visibility::TABLES;
use crate::store::{Connection, Value, audit};

/// Tables that are rebuilt from the others.
const DERIVED: &[&str] =
    &["passages_fts", "passages_vocab", "terms", "authors", "marks", "vectors", "embedded", "line_vectors"];
/// Keys of `meta` that describe a database or its index.
const OWN_KEYS: &[&str] = &[
    "group",
    "collection",
    "analyser",
    "old_vectors",
    "index_stamp",
    "index_epoch",
    "embedding",
    "line_vectors",
];

/// The records and files that were copied.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MoveReport {
    /// The number of rows of each table that has some.
    pub rows: BTreeMap<String, i64>,
    /// The number of files of the workspace.
    pub files: usize,
    /// The number of transcripts.
    pub transcripts: usize,
    /// Collections whose sources must be indexed again on the other side.
    pub collections: Vec<String>,
}

/// Copies a group into an empty one.
pub fn copy_group(
    from: &mut View<'_>,
    to: &mut View<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<MoveReport> {
    // Changes of files that a killed process left are completed first.
    drop(change::lock(from)?);
    check_empty(to)?;
    let mut report = MoveReport::default();
    copy_files(from, to, &mut report)?;
    report.rows = copy_records(from, to, progress, &|_| Ok(()))?;
    report.collections =
        to.read_all(|db| db.rows("SELECT name FROM collections ORDER BY name", (), |row| row.get(0)))?;
    Ok(report)
}

fn check_empty(to: &View<'_>) -> Result<()> {
    let is_used = |db: &Connection| -> Result<bool> {
        db.one("SELECT EXISTS (SELECT 1 FROM audit) OR EXISTS (SELECT 1 FROM entries)", (), |row| row.get(0))
    };
    if to.is_on_disk() && to.read_all(is_used)? {
        return Err(Error::GroupInUse { group: to.name().clone() });
    }
    Ok(())
}

/// Copies all records. `change` changes the copy before its index is built.
pub(super) fn copy_records(
    from: &mut View<'_>,
    to: &mut View<'_>,
    progress: &mut dyn FnMut(Progress),
    change: &dyn Fn(&Connection) -> Result<()>,
) -> Result<BTreeMap<String, i64>> {
    check_empty(to)?;
    let language = to.settings().search.language();
    let schema = to.schema();
    let all: i64 = from.read_all(|db| tables().map(|table| count(db, table)).sum())?;
    let total = usize::try_from(all).ok();
    to.create()?;
    from.read_all(|source| {
        to.write(|target| {
            let mut done = 0;
            for table in tables() {
                copy_table(source, target, table, &mut || {
                    done += 1;
                    progress(Progress { unit: Unit::Records, done, total });
                })?;
            }
            for (table, last) in source.numbers()? {
                target.set_last_number(&table, last)?;
            }
            let rows = compare(source, target)?;
            target.run("UPDATE collections SET indexed_at = NULL", ())?;
            change(target)?;
            index::rebuild(target, schema, Documents::Keep, language, &mut |done, total| {
                progress(Progress { unit: Unit::Passages, done, total: Some(total) });
            })?;
            Ok(rows)
        })
    })
}

fn tables() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|(table, _)| *table).filter(|table| !DERIVED.contains(table))
}

fn copy_files(from: &View<'_>, to: &View<'_>, report: &mut MoveReport) -> Result<()> {
    for found in from.files().documents().seen {
        let Ok(path) = found.path.parse::<FilePath>() else { continue };
        let Some(bytes) = from.files().read(&path, u64::MAX)? else { continue };
        if !to.files().create(&path, &bytes)? && to.files().read(&path, u64::MAX)?.as_ref() != Some(&bytes) {
            return Err(Error::FileChanged { path: path.to_string() });
        }
        to.files().set_time(&path, Time::from_millis(found.stat.mtime))?;
        report.files += 1;
    }
    for name in from.files().transcripts() {
        // `lock` and the list of transcripts are no transcripts.
        if name.ends_with(".jsonl") || name.ends_with(".gz") {
            to.files().write_transcript(&name, &from.files().read_transcript(&name)?)?;
            report.transcripts += 1;
        }
    }
    Ok(())
}

fn copy_table(source: &Connection, target: &Connection, table: &str, step: &mut dyn FnMut()) -> Result<()> {
    let sql = "SELECT name FROM pragma_table_info($1) ORDER BY name";
    let columns: Vec<String> = source.rows(sql, [table], |row| row.get(0))?;
    let names = columns.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let places = (1..=columns.len()).map(|place| format!("${place}")).collect::<Vec<_>>().join(", ");
    let insert = match table {
        // The owner and the version of the target's index stay.
        "meta" => format!("INSERT INTO meta ({names}) VALUES ({places}) ON CONFLICT DO NOTHING"),
        _ => format!("INSERT INTO {table} ({names}) VALUES ({places})"),
    };
    let key = columns.iter().position(|name| table == "meta" && name == "key");
    source.each(&format!("SELECT {names} FROM {table}"), (), |row| {
        let values =
            (0..row.columns()).map(|column| row.value(column)).collect::<Result<Vec<Value<'_>>>>()?;
        let is_own =
            key.is_some_and(|key| matches!(&values[key], Value::Text(key) if OWN_KEYS.contains(&&**key)));
        if !is_own {
            let values: Vec<&dyn ToSql> = values.iter().map(|value| value as &dyn ToSql).collect();
            target.run(&insert, values.as_slice())?;
        }
        step();
        Ok(ControlFlow::Continue(()))
    })
}

/// Compares both sides: the number of rows of every table, and the audit chain.
fn compare(source: &Connection, target: &Connection) -> Result<BTreeMap<String, i64>> {
    let mut rows = BTreeMap::new();
    for table in tables().filter(|table| *table != "meta") {
        let (there, here) = (count(source, table)?, count(target, table)?);
        if there != here {
            return Err(Error::Database(format!("{here} of {there} rows of `{table}` were copied").into()));
        }
        if here > 0 {
            rows.insert(table.to_owned(), here);
        }
    }
    match audit::verify(target)?.problem {
        Some(problem) => {
            Err(Error::Database(format!("the audit log was not copied whole: {problem}").into()))
        }
        None => Ok(rows),
    }
}

fn count(db: &Connection, table: &str) -> Result<i64> {
    db.one(&format!("SELECT count(*) FROM {table}"), (), |row| row.get(0))
}
