//! Row visibility: a shared connection has, for every table with user text, a view of the same name that
//! contains only public rows ([`TABLES`]). Readers need no checks of their own; they get a database in which
//! private rows do not exist. On a server, policies with the same conditions do this.

use crate::base::Result;
use crate::base::caller::{Visibility, is_private};
use crate::store::Connection;

pub(crate) use super::visible_rows::{TABLES, VisibleRows};

/// Restricts a connection to the data that a shared session sees.
pub(crate) fn restrict(db: &Connection, private: &[String]) -> Result<()> {
    make_public(db, private)?;
    for (table, _) in TABLES.iter().filter(|(_, seen)| *seen != VisibleRows::All) {
        db.batch(&format!("CREATE TEMP VIEW {table} AS SELECT * FROM public_{table};"))?;
    }
    Ok(())
}

/// Adds views such as `public_facts` to a writing connection, each with the rows that shared sessions see. A
/// write on behalf of a shared session checks them before it changes or reports anything ([`shows`]).
pub(crate) fn make_public(db: &Connection, private: &[String]) -> Result<()> {
    let private = private.to_vec();
    db.define("is_private_path", move |[path]| Ok(is_private(&private, &path.into_text()?)))?;
    for (table, seen) in TABLES {
        let condition = match seen {
            VisibleRows::All => continue,
            VisibleRows::Where(condition) => condition,
            VisibleRows::Nothing => "false",
        };
        db.batch(&format!(
            "CREATE TEMP VIEW IF NOT EXISTS public_{table} AS SELECT * FROM main.{table} WHERE {condition};"
        ))?;
    }
    Ok(())
}

/// Tells, on a writing connection, whether such a session sees the row with this number.
pub(crate) fn shows(db: &Connection, visibility: Visibility, table: &str, id: i64) -> Result<bool> {
    if visibility == Visibility::Private {
        return Ok(true);
    }
    let sql = format!("SELECT EXISTS (SELECT 1 FROM public_{table} WHERE id = $1)");
    db.one(&sql, [id], |row| row.get(0))
}
