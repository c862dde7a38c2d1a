//! The store: a small interface to SQL; SQLite opened, migrated and written to in transactions; which rows a session sees; the audit chain; events. The files of a group.

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
pub(crate) use files::{ARCHIVE, Files, ReadSeek, Replaced};
pub(crate) use sql::{Connection, Params, Row};
