//! Sessions (SPEC S): conversations and their messages.
//!
//! `import` reads the transcripts of other programs into messages and knows no database; `record` makes passages of
//! them; `show` reads them back. Transcripts of our own are files: `transcript` reads and writes them, `take_in`
//! brings them into the database, `append` does one after the other. `context` is what a model should see of one;
//! `compact` sums up what no longer fits, with a `summary`, after a `flush`; `narrative` keeps it as an entry;
//! `retention` packs what is old.
use std::io::BufRead;

use crate::base::Error;
use crate::base::Result;
use crate::base::caller::Caller;
use crate::base::ids::SessionId;
use crate::group::Group;
use crate::store::event::Event;
use crate::store::event::payload;

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

impl Group {
    /// Takes a transcript in (S7): what is here already is passed over. `name` is the session's id where the
    /// input has none; `progress` is told how many messages have been read.
    pub fn import_session(
        &mut self,
        caller: &Caller,
        input: impl BufRead,
        name: &str,
        progress: impl FnMut(usize),
    ) -> Result<Recorded> {
        self.refresh(caller.now)?;
        record(self, caller, input, name, progress)
    }

    /// Adds messages to the transcript of a session (S1). What was sent before is passed over.
    pub fn append_session(
        &mut self,
        caller: &Caller,
        session: &SessionId,
        drafts: &[Draft],
    ) -> Result<Appended> {
        self.begin(caller)?;
        append(self, caller, session, drafts)
    }

    /// Tells whether the agent is to store what lasts now (S4), and notes that it was told so.
    pub fn flush_check(&mut self, caller: &Caller, session: &SessionId, count: &Count<'_>) -> Result<Flush> {
        self.begin(caller)?;
        flush_check(self, caller, session, count)
    }

    /// Notes that a host compacts a conversation (S4). Returns whether its agent was asked before to store what
    /// lasts.
    pub fn compacts(&mut self, caller: &Caller) -> Result<bool> {
        self.begin(caller)?;
        let asked = self.read_all(|db| was_asked(db, &caller.session))?;
        self.flush(caller, &caller.session);
        host_compacted(self, caller, &caller.session)?;
        Ok(asked)
    }

    /// Ends a session: what was said since the last summary is summed up in an entry (S5). `None`: it has no
    /// transcript of ours.
    pub fn end_session(&mut self, caller: &Caller, session: &SessionId) -> Result<Option<Ended>> {
        self.begin(caller)?;
        match end(self, caller, session) {
            Err(Error::NoTranscript { .. }) => Ok(None),
            ended => ended.map(Some),
        }
    }

    /// Tells that a conversation is about to be compacted (S4).
    pub fn flush(&self, caller: &Caller, about: &SessionId) {
        let (group, session) = (self.name().clone(), caller.session.clone());
        let data = payload([("sessionId", about.as_str().into())]);
        self.tell(&Event { name: "memory:flush", at: caller.now, group, session, data });
    }
}
