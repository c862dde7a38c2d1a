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
        migrations: Migrations {
            schema: include_str!("../../migrations/schema.sql"),
            steps: STEPS,
            functions: migration_functions,
        },
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

/// The migrations, in order. New ones are only ever appended; the test below writes the schema of new databases.
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::store::Db;

    /// Returns the statements that create every table and index of a database, and the rows in all tables.
    fn schema(db: &Connection) -> (Vec<String>, Vec<(String, i64)>) {
        let sql = "SELECT name, sql FROM sqlite_schema
            WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite!_%' ESCAPE '!' AND name NOT LIKE 'passages!_fts!_%' ESCAPE '!'";
        let created = db.rows(sql, (), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let (names, statements): (Vec<String>, Vec<String>) = created.into_iter().unzip();
        let tables = names.into_iter().chain(["passages_fts_config".to_owned()]);
        let count = |name: String| {
            let sql = format!("SELECT count(*) FROM {name}");
            db.one(&sql, (), |row| row.get(0)).ok().map(|rows| (name, rows))
        };
        (statements, tables.filter_map(count).collect())
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "writes a file of the repository when asked to")]
    fn a_new_database_is_the_one_that_all_migrations_make() {
        let Migrations { schema: whole, steps, functions } = RECORDS.schema.migrations;
        let migrated = Migrations { schema: steps[0], steps: &[], functions };
        let stepwise = Db::empty(&migrated).unwrap();
        let run = |db: &Connection| -> Result<()> {
            functions(db)?;
            steps[1..].iter().try_for_each(|step| db.batch(step))
        };
        stepwise.outside(run).unwrap();
        let (statements, rows) = stepwise.read(|db| Ok(schema(db))).unwrap();
        if std::env::var_os("NACRE_UPDATE").is_some() {
            let head = "-- The schema of this version, for a new database. Written by the test that compares it with the migrations: run it with\n\
                -- NACRE_UPDATE=1 after adding one.\n\n";
            let fts = "INSERT INTO passages_fts (passages_fts, rank) VALUES ('secure-delete', 1);\n";
            let text = format!("{head}{};\n{fts}", statements.join(";\n"));
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/schema.sql");
            std::fs::write(path, text).unwrap();
            return;
        }
        assert!(whole.len() > 10_000);
        let created = Db::empty(&RECORDS.schema.migrations).unwrap();
        assert_eq!(created.read(|db| Ok(schema(db))).unwrap(), (statements, rows), "run with NACRE_UPDATE=1");
    }
}
