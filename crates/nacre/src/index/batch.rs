//! Reads of many rows, some at a time: a server sends all rows of a statement at once.

use std::ops::ControlFlow;

use crate::base::Result;
use crate::store::{Connection, Row};

/// How many numbers one statement is asked for.
pub(super) const NUMBERS_AT_ONCE: usize = 256;

/// Passes the rows for these numbers to `take`. The statement takes them as a list in JSON.
pub(super) fn each_of<T: serde::Serialize>(
    db: &Connection,
    sql: &str,
    numbers: &[T],
    mut take: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<()> {
    for some in numbers.chunks(NUMBERS_AT_ONCE) {
        let take = |row: &Row<'_>| take(row).map(ControlFlow::Continue);
        db.each(sql, [serde_json::to_string(some)?], take)?;
    }
    Ok(())
}

/// Passes all rows with a newer stamp to `take`, in order of their keys. The statement takes the stamp, the least key and the most
/// rows, and its first column is the key.
pub(super) fn each_newer(
    db: &Connection,
    sql: &str,
    stamp: i64,
    at_once: usize,
    mut take: impl FnMut(i64, &Row<'_>) -> Result<()>,
) -> Result<()> {
    let mut next = 0;
    loop {
        let mut rows = 0;
        db.each(sql, (stamp, next, at_once), |row| {
            let key: i64 = row.get(0)?;
            (rows, next) = (rows + 1, key.saturating_add(1));
            take(key, row).map(ControlFlow::Continue)
        })?;
        if rows < at_once {
            return Ok(());
        }
    }
}
