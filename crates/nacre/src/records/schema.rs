//! The schema of a group's databases: their migrations, and the modules that own passages.

use super::workspace::memory_file;
use super::{entry, erase, graph, project, session};
use crate::base::Result;
use crate::group::{JointRecall, Pending, Records};
use crate::index::Schema;
use crate::store::{Connection, FromSql, Migrations};

/// The records of every group.
pub(crate) static RECORDS: Records = Records {
    schema: Schema {
        migrations: Migrations { steps: STEPS, functions: migration_functions },
        owners: &[
            entry::passages,
            graph::passages,
            session::exchange::passages,
            project::item::passages,
            project::task::passages,
        ],
    },
    settle,
    opened: erase::purge_on_open,
};

/// The migrations, in order. New ones are only ever appended.
const STEPS: &[&str] = &[
    include_str!("../../migrations/0001.sql"),
    include_str!("../../migrations/0002.sql"),
    include_str!("../../migrations/0003.sql"),
    include_str!("../../migrations/0004.sql"),
    include_str!("../../migrations/0005.sql"),
    include_str!("../../migrations/0006.sql"),
    include_str!("../../migrations/0007.sql"),
    include_str!("../../migrations/0008.sql"),
    include_str!("../../migrations/0009.sql"),
    include_str!("../../migrations/0010.sql"),
    include_str!("../../migrations/0011.sql"),
    include_str!("../../migrations/0012.sql"),
    include_str!("../../migrations/0013.sql"),
    include_str!("../../migrations/0014.sql"),
    include_str!("../../migrations/0015.sql"),
    include_str!("../../migrations/0016.sql"),
    include_str!("../../migrations/0017.sql"),
    include_str!("../../migrations/0018.sql"),
    include_str!("../../migrations/0019.sql"),
    include_str!("../../migrations/0020.sql"),
    include_str!("../../migrations/0021.sql"),
];

/// The SQL functions that migrations call.
fn migration_functions(db: &Connection) -> Result<()> {
    db.define("entry_identity", |[content, data]| {
        let data = Option::<String>::from_sql(data)?.and_then(|data| serde_json::from_str(&data).ok());
        Ok(entry::identity(&content.into_text()?, data.as_ref()))
    })?;
    db.define("name_key", |[name]| Ok(graph::name::fold(&name.into_text()?)))
}

/// Writes the notes that earlier reads left pending.
fn settle(tx: &Connection, pending: &Pending) -> Result<()> {
    entry::note_returned(tx, &pending.returned)?;
    memory_file::write_used(tx, &pending.used_lines)?;
    for JointRecall { entries, graph, at, bump } in &pending.recalled {
        entry::link::note(tx, entries)?;
        graph::activation::note(tx, graph, *at, *bump)?;
    }
    Ok(())
}
