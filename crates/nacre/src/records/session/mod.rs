//! Sessions (SPEC S): conversations and their messages.
//!
//! `import` reads the transcripts of other programs into messages and knows no database; `record` makes passages of
//! them; `show` reads them back. Transcripts of our own are files: `transcript` reads and writes them, `take_in`
//! brings them into the database, `append` does one after the other. `context` is what a model should see of one;
//! `compact` sums up what no longer fits, with a `summary`, after a `flush`; `narrative` keeps it as an entry;
//! `retention` packs what is old.

mod append;
mod compact;
mod context;
pub(crate) mod exchange;
mod flush;
mod gzip;
pub mod import;
mod listing;
mod narrative;
mod record;
mod retention;
pub(crate) mod said;
mod show;
mod summary;
mod take_in;
mod transcript;

pub(crate) use append::append;
pub use append::{Appended, Draft};
pub use compact::Compacted;
pub(crate) use compact::compact;
pub use context::Context;
pub(crate) use context::context;
pub use flush::{Count, Flush};
pub(crate) use flush::{check as flush_check, compacted as host_compacted, was_asked};
pub use narrative::Ended;
pub(crate) use narrative::end;
pub use record::Recorded;
pub(crate) use record::{absent, formats, import as record, lines, set_formats, set_shared, shared};
pub(crate) use retention::retain;
pub use show::{Said, Session};
pub(crate) use show::{list, show};
pub(crate) use take_in::catch_up_all;
pub use transcript::{Line, Role};
pub(crate) use transcript::{NO_REPLY, folder, listed, put_back};
