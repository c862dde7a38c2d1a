//! Sessions: conversations and their messages.
//!
//! `import` reads the transcripts of other programs and does not use the database. `record` turns messages
//! into passages, and `show` reads them back. Nacre's own transcripts are files: `transcript` reads and
//! writes them, `ingest` brings them into the database, and `append` does both for a new message. `context`
//! builds the messages that a model should see. `compact` replaces older lines by a `summary`, after a
//! `flush`. `replica` brings lines of other machines in. `narrative` stores a summary as an entry. `retention` packs old transcripts.

use crate::base::Result;
use crate::base::ids::SessionId;
use crate::group::View;
use crate::store::event::payload;

mod append;
mod compact;
mod context;
pub(crate) mod exchange;
mod flush;
pub(crate) mod gzip;
mod heard;
pub mod import;
mod ingest;
mod listing;
mod lock;
mod narrative;
pub(crate) mod own_words;
mod record;
pub(crate) mod replica;
mod retention;
pub(crate) mod said;
mod scrub;
mod show;
mod summary;
mod transcript;

pub use append::{AppendReport, Draft, append};
pub use compact::CompactionReport;
pub(crate) use compact::compact;
pub use context::Context;
pub(crate) use context::context;
pub use flush::check as check_flush;
pub use flush::{Count, Flush};
pub(crate) use flush::{start_cycle, was_asked};
pub(crate) use heard::{IndexedMessage, Speaker, said_in, undistilled};
pub(crate) use ingest::{catch_up_all, is_private, origin};
pub(crate) use lock::{Lock, lock};
pub(crate) use narrative::end_reported;
pub use narrative::{EndReport, end};
pub use record::TranscriptImport;
pub use record::import as import_transcript;
pub(crate) use record::{
    absent, formats, lines, origins, projects, set_formats, set_origins, set_projects, set_shared, shared,
};
pub(crate) use retention::retain;
pub(crate) use scrub::{remove_files, remove_lines, with_line};
pub use show::{Session, SessionMessage};
pub(crate) use show::{list, next_message, resolve, show};
pub use transcript::{Line, Role};
pub(crate) use transcript::{NO_REPLY, copy_missing, listed};

/// Records that a host compacts a conversation. Returns whether its agent was asked to store lasting
/// information before.
pub fn compacts(view: &mut View<'_>) -> Result<bool> {
    let caller = view.caller();
    let asked = view.read_all(|db| was_asked(db, &caller.session))?;
    flush(view, &caller.session);
    start_cycle(view, &caller.session)?;
    Ok(asked)
}

/// Sends the event that a conversation is about to be compacted.
pub fn flush(view: &View<'_>, about: &SessionId) {
    view.tell("memory:flush", payload([("sessionId", about.as_str().into())]));
}
