//! Sessions (SPEC S): conversations and their messages.
//!
//! `import` reads the transcripts of other programs into messages and knows no database; `record` makes passages of
//! them; `show` reads them back. Transcripts of our own are files: `transcript` reads and writes them, `take_in`
//! brings them into the database, `append` does one after the other. `context` is what a model should see of one;
//! `compact` sums up what no longer fits, with a `summary`, after a `flush`; `narrative` keeps it as an entry;
//! `retention` packs what is old.

use crate::base::Result;
use crate::base::ids::SessionId;
use crate::group::View;
use crate::store::event::payload;

mod append;
mod compact;
mod context;
pub(crate) mod exchange;
mod flush;
mod gzip;
pub mod import;
mod listing;
mod lock;
mod narrative;
mod record;
mod retention;
pub(crate) mod said;
mod show;
mod summary;
mod take_in;
mod transcript;

pub use append::{Appended, Draft, append};
pub use compact::Compacted;
pub(crate) use compact::compact;
pub use context::Context;
pub(crate) use context::context;
pub use flush::check as check_flush;
pub use flush::{Count, Flush};
pub(crate) use flush::{compacted as host_compacted, was_asked};
pub use narrative::{Ended, end};
pub use record::Recorded;
pub use record::import as import_transcript;
pub(crate) use record::{absent, formats, lines, set_formats, set_shared, shared};
pub(crate) use retention::retain;
pub use show::{Said, Session};
pub(crate) use show::{list, next_message, show};
pub(crate) use take_in::catch_up_all;
pub use transcript::{Line, Role};
pub(crate) use transcript::{NO_REPLY, listed, put_back};

/// Notes that a host compacts a conversation (S4). Returns whether its agent was asked before to store what
/// lasts.
pub fn compacts(view: &mut View<'_>) -> Result<bool> {
    let caller = view.caller();
    let asked = view.read_all(|db| was_asked(db, &caller.session))?;
    flush(view, &caller.session);
    host_compacted(view, &caller.session)?;
    Ok(asked)
}

/// Tells that a conversation is about to be compacted (S4).
pub fn flush(view: &View<'_>, about: &SessionId) {
    view.tell("memory:flush", payload([("sessionId", about.as_str().into())]));
}
