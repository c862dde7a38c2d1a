//! Tables that an export carries row by row, as they are: what refers to nothing that is numbered anew.

use std::collections::BTreeMap;

use rusqlite::types::{ToSqlOutput, Value as Sql, ValueRef};
use rusqlite::{ToSql, params_from_iter};
use serde::{Deserialize, Serialize};

use crate::base::Result;
use crate::store::Connection;

/// The tables, their columns, and which of their rows.
const TABLES: &[(&str, &[&str], &str)] = &[
    ("entry_links", &["entry", "other", "strength"], "true"),
    ("line_uses", &["path", "line", "seen_at", "used_at"], "true"),
    ("promoted", &["step", "what", "proposal"], "true"),
    // Facts and relations have other numbers elsewhere, and folders are those of one machine.
    (
        "imports",
        &["format", "key", "part", "kind", "ref", "own", "hash", "origin", "at", "imported_at"],
        "kind IN ('entry', 'document', 'alias')",
    ),
];

/// Proposals, without their numbers, which others may have here.
const PROPOSALS: &[&str] = &[
    "kind",
    "target",
    "base",
    "proposed",
    "reason",
    "sources",
    "state",
    "private",
    "actor",
    "session",
    "at",
    "decided_at",
    "decided_by",
    "answer",
    "client",
];

/// The rows of tables, by table; in a row the values by column.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Rows {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    tables: BTreeMap<String, Vec<Vec<Cell>>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    proposals: Vec<(i64, Vec<Cell>)>,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    /// Bytes that are text, as files mostly are.
    File {
        file: String,
    },
    Bytes {
        bytes: Vec<u8>,
    },
}

impl Cell {
    fn of(value: ValueRef<'_>) -> Cell {
        match value {
            ValueRef::Null => Cell::Null,
            ValueRef::Integer(number) => Cell::Integer(number),
            ValueRef::Real(number) => Cell::Real(number),
            ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
            ValueRef::Blob(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Cell::File { file: text.to_owned() },
                Err(_) => Cell::Bytes { bytes: bytes.to_owned() },
            },
        }
    }
}

impl Cell {
    /// Tells whether a column of this type holds such values: SQLite takes any, and whoever reads the row would fail.
    fn fits(&self, r#type: &str) -> bool {
        match self {
            Cell::Null => true,
            Cell::Integer(_) => matches!(r#type, "INTEGER" | "REAL"),
            Cell::Real(_) => r#type == "REAL",
            Cell::Text(_) => r#type == "TEXT",
            Cell::File { .. } | Cell::Bytes { .. } => r#type == "BLOB",
        }
    }
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Owned(match self {
            Cell::Null => Sql::Null,
            Cell::Integer(number) => Sql::Integer(*number),
            Cell::Real(number) => Sql::Real(*number),
            Cell::Text(text) => Sql::Text(text.clone()),
            Cell::File { file } => Sql::Blob(file.clone().into_bytes()),
            Cell::Bytes { bytes } => Sql::Blob(bytes.clone()),
        }))
    }
}

impl Rows {
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.proposals.is_empty()
    }

    pub(crate) fn all(db: &Connection) -> Result<Rows> {
        let mut rows = Rows::default();
        for (table, columns, condition) in TABLES {
            let found = select(db, &format!("SELECT {} FROM {table} WHERE {condition}", columns.join(", ")))?;
            if !found.is_empty() {
                rows.tables.insert((*table).to_owned(), found);
            }
        }
        let sql = format!("SELECT number, {} FROM proposals ORDER BY number", PROPOSALS.join(", "));
        for mut row in select(db, &sql)? {
            let rest = row.split_off(1);
            if let [Cell::Integer(number)] = row[..] {
                rows.proposals.push((number, rest));
            }
        }
        Ok(rows)
    }

    /// Takes rows in; what is here stays, and what no row of the table could be is passed over. Returns how many proposals
    /// are new.
    pub(crate) fn take_in(&self, db: &Connection) -> Result<usize> {
        for (table, columns, _) in TABLES {
            let places: Vec<String> = (1..=columns.len()).map(|place| format!("?{place}")).collect();
            let sql = format!(
                "INSERT INTO {table} ({}) VALUES ({}) ON CONFLICT DO NOTHING",
                columns.join(", "),
                places.join(", ")
            );
            let mut insert = db.prepare_cached(&sql)?;
            let types = types(db, table, columns)?;
            for row in self.tables.get(*table).into_iter().flatten().filter(|row| fit(row, &types)) {
                insert.execute(params_from_iter(row))?;
            }
        }
        let places: Vec<String> = (2..PROPOSALS.len() + 2).map(|place| format!("?{place}")).collect();
        let insert = format!(
            "INSERT INTO proposals (number, {}) SELECT CASE WHEN EXISTS (SELECT 1 FROM proposals WHERE number = ?1)
                THEN NULL ELSE ?1 END, {} WHERE NOT EXISTS
                (SELECT 1 FROM proposals WHERE kind IS ?2 AND target IS ?3 AND proposed IS ?5 AND at IS ?12)",
            PROPOSALS.join(", "),
            places.join(", ")
        );
        let types = types(db, "proposals", PROPOSALS)?;
        let mut added = 0;
        for (number, row) in self.proposals.iter().filter(|(_, row)| fit(row, &types)) {
            let number = Cell::Integer((*number).clamp(1, 1_000_000_000));
            let values = std::iter::once(&number).chain(row);
            added += db.prepare_cached(&insert)?.execute(params_from_iter(values))?;
        }
        Ok(added)
    }
}

/// The types of columns.
fn types(db: &Connection, table: &str, columns: &[&str]) -> Result<Vec<String>> {
    let mut statement = db.prepare_cached("SELECT type FROM pragma_table_info(?1) WHERE name = ?2")?;
    columns.iter().map(|column| Ok(statement.query_row([table, column], |row| row.get(0))?)).collect()
}

fn fit(row: &[Cell], types: &[String]) -> bool {
    row.len() == types.len() && row.iter().zip(types).all(|(cell, r#type)| cell.fits(r#type))
}

fn select(db: &Connection, sql: &str) -> Result<Vec<Vec<Cell>>> {
    let mut statement = db.prepare(sql)?;
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        (0..columns).map(|column| Ok(Cell::of(row.get_ref(column)?))).collect::<rusqlite::Result<Vec<Cell>>>()
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
