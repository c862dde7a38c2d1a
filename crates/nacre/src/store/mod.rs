//! The store: SQLite opened, migrated and written to in transactions; which rows a session sees; the audit chain; events.

pub(crate) mod audit;
mod db;
pub mod event;
pub(crate) mod visibility;

pub use db::sqlite_version;
pub(crate) use db::{Damage, Db, Migrations, beside, set_aside};
