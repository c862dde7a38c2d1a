//! The store: a small interface to SQL; opening, migrating and writing SQLite; row visibility; the audit
//! chain; events; the files of a group.

pub(crate) mod audit;
pub(crate) mod crash;
mod db;
pub mod event;
mod files;
mod sql;
pub(crate) mod visibility;
pub(crate) mod walk;

pub(crate) use crate::base::sql::{FromSql, ToSql, Value};
pub use db::sqlite_version;
pub(crate) use db::{Damage, Db, Migrations, Snapshot, beside, set_aside};
pub(crate) use files::{ARCHIVE_FOLDER, Files, ReadSeek, Replacement};
pub(crate) use sql::{Connection, Params, Row};
