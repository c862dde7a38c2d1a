//! The store: a small interface to SQL; opening, migrating and writing SQLite and PostgreSQL; row visibility;
//! the audit chain; events; the files of a group.

pub(crate) mod audit;
pub(crate) mod crash;
mod db;
pub mod event;
mod files;
pub(crate) mod foreign;
mod lock;
mod postgres;
mod sql;
pub(crate) mod visibility;
mod visible_rows;
pub(crate) mod walk;

pub(crate) use crate::base::sql::{FromSql, Params, ToSql, Value};
pub(crate) use db::{Damage, Db, Migrations, Snapshot, beside, set_aside};
pub use db::{on_long_wait, sqlite_version};
pub(crate) use files::{ARCHIVE_FOLDER, Files, FilesMark, ReadSeek, Replacement};
pub(crate) use lock::{Lock, Wait, lock_file, lock_on_server};
pub(crate) use postgres::{Lease, Scope, Server, initialise as initialise_server};
pub use postgres::{ServerFigures, ServerReport};
pub(crate) use sql::{Connection, Engine, Row};
