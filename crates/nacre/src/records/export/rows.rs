//! Tables that an export copies row by row. Their rows refer to nothing that an import renumbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::Result;
use crate::store::{Connection, ToSql, Value};

/// The tables with their columns and the condition for exported rows.
const TABLES: &[(&str, &[&str], &str)] = &[
    ("entry_links", &["entry", "other", "strength"], "true"),
    ("line_uses", &["path", "line", "seen_at", "used_at"], "true"),
    ("promoted", &["step", "what", "proposal"], "true"),
    ("distil_read", &["session", "message"], "true"),
    // Facts and relations are renumbered, and folders belong to one machine.
    (
        "imports",
        &["format", "key", "part", "kind", "ref", "own", "hash", "origin", "at", "imported_at"],
        "kind IN ('entry', 'document', 'alias')",
    ),
];

/// The columns of proposals. The number is separate because it may be in use at import.
const PROPOSAL_COLUMNS: &[&str] = &[
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

/// The rows by table, each as the list of its values.
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
    /// Bytes that are UTF-8, as in most files.
    File {
        file: String,
    },
    Bytes {
        bytes: Vec<u8>,
    },
}

impl Cell {
    fn of(value: Value<'_>) -> Cell {
        match value {
            Value::Null => Cell::Null,
            Value::Integer(number) => Cell::Integer(number),
            Value::Real(number) => Cell::Real(number),
            Value::Text(text) => Cell::Text(text.into_owned()),
            Value::Bytes(bytes) => match String::from_utf8(bytes.into_owned()) {
                Ok(file) => Cell::File { file },
                Err(problem) => Cell::Bytes { bytes: problem.into_bytes() },
            },
        }
    }

    /// Returns whether a column of this type can hold the value. SQLite accepts any value, but reading the
    /// row would fail.
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
    fn to_sql(&self) -> Value<'_> {
        match self {
            Cell::Null => Value::Null,
            Cell::Integer(number) => Value::Integer(*number),
            Cell::Real(number) => Value::Real(*number),
            Cell::Text(text) => text.to_sql(),
            Cell::File { file } => file.as_bytes().to_sql(),
            Cell::Bytes { bytes } => bytes.to_sql(),
        }
    }
}

impl Rows {
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.proposals.is_empty()
    }

    pub(crate) fn all(db: &Connection) -> Result<Rows> {
        let mut rows = Rows::default();
        for (table, columns, condition) in TABLES {
            let columns = columns.join(", ");
            let found =
                select(db, &format!("SELECT {columns} FROM {table} WHERE {condition} ORDER BY {columns}"))?;
            if !found.is_empty() {
                rows.tables.insert((*table).to_owned(), found);
            }
        }
        let sql = format!("SELECT number, {} FROM proposals ORDER BY number", PROPOSAL_COLUMNS.join(", "));
        for mut row in select(db, &sql)? {
            let rest = row.split_off(1);
            if let [Cell::Integer(number)] = row[..] {
                rows.proposals.push((number, rest));
            }
        }
        Ok(rows)
    }

    /// Inserts rows. Existing rows are not changed, and rows that do not fit the table are skipped. Returns
    /// how many proposals were added.
    pub(crate) fn import(&self, db: &Connection) -> Result<usize> {
        for (table, columns, _) in TABLES {
            let places: Vec<String> = (1..=columns.len()).map(|place| format!("${place}")).collect();
            let sql = format!(
                "INSERT INTO {table} ({}) VALUES ({}) ON CONFLICT DO NOTHING",
                columns.join(", "),
                places.join(", ")
            );
            let types = types(db, table, columns)?;
            for row in self.tables.get(*table).into_iter().flatten().filter(|row| fit(row, &types)) {
                db.run(&sql, row.as_slice())?;
            }
        }
        let places: Vec<String> = (2..PROPOSAL_COLUMNS.len() + 2).map(|place| format!("${place}")).collect();
        let insert = format!(
            "INSERT INTO proposals (number, {}) SELECT CASE WHEN EXISTS (SELECT 1 FROM proposals WHERE number = $1)
                THEN NULL ELSE $1 END, {} WHERE NOT EXISTS
                (SELECT 1 FROM proposals WHERE kind IS NOT DISTINCT FROM $2 AND target IS NOT DISTINCT FROM $3
                    AND proposed IS NOT DISTINCT FROM $5 AND at IS NOT DISTINCT FROM $12)",
            PROPOSAL_COLUMNS.join(", "),
            places.join(", ")
        );
        let types = types(db, "proposals", PROPOSAL_COLUMNS)?;
        let mut added = 0;
        for (number, row) in self.proposals.iter().filter(|(_, row)| fit(row, &types)) {
            let number = Cell::Integer((*number).clamp(1, 1_000_000_000));
            let values: Vec<&Cell> = std::iter::once(&number).chain(row).collect();
            added += db.run(&insert, values.as_slice())?;
        }
        Ok(added)
    }
}

/// Returns the types of columns.
fn types(db: &Connection, table: &str, columns: &[&str]) -> Result<Vec<String>> {
    let sql = "SELECT type FROM pragma_table_info($1) WHERE name = $2";
    columns.iter().map(|column| db.one(sql, [table, column], |row| row.get(0))).collect()
}

fn fit(row: &[Cell], types: &[String]) -> bool {
    row.len() == types.len() && row.iter().zip(types).all(|(cell, r#type)| cell.fits(r#type))
}

fn select(db: &Connection, sql: &str) -> Result<Vec<Vec<Cell>>> {
    db.rows(sql, (), |row| (0..row.columns()).map(|column| Ok(Cell::of(row.value(column)?))).collect())
}
