//! The lowest layer: values that know nothing of the memory, such as text, time, ids, errors, settings and
//! the caller.

pub(crate) mod caller;
pub mod diff;
pub(crate) mod error;
pub mod files;
pub(crate) mod frame;
pub(crate) mod ids;
pub(crate) mod markdown;
pub(crate) mod member;
pub(crate) mod named;
pub(crate) mod origin;
pub(crate) mod path;
pub(crate) mod progress;
pub mod redact;
pub(crate) mod schema;
pub(crate) mod secret;
pub mod settings;
pub(crate) mod sql;
pub(crate) mod stem;
pub(crate) mod text;
pub(crate) mod time;
pub(crate) mod words;
pub mod zip;

pub use error::{Error, Result};
pub use path::FilePath;
pub use settings::Settings;
pub use time::{Calendar, Day, Time, Zone};
