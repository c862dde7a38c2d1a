//! The store: a small interface to SQL; SQLite opened, migrated and written to in transactions; which rows a session sees; the audit chain; events.

pub(crate) mod audit;
mod db;
pub mod event;
mod sql;
pub(crate) mod visibility;

pub(crate) use crate::base::sql::{FromSql, ToSql, Value};
pub use db::sqlite_version;
pub(crate) use db::{Damage, Db, Migrations, Snapshot, beside, set_aside};
pub(crate) use sql::{Connection, Params, Row};
