//! What is remembered: each room owns its tables, its SQL, and how its rows become passages.

pub(crate) mod collection;
pub(crate) mod entry;
pub(crate) mod erase;
pub(crate) mod export;
pub mod graph;
pub mod import;
pub(crate) mod lesson;
pub mod project;
pub(crate) mod schema;
pub mod session;
pub(crate) mod workspace;

use crate::base::Result;
use crate::base::caller::Caller;
use crate::group::Group;
use crate::index;
use crate::store::audit;

impl Group {
    /// Rebuilds the index, that of the documents from their files. Returns the number of passages.
    pub fn reindex(&mut self, caller: &Caller) -> Result<usize> {
        if self.memory.on_disk() {
            let language = self.settings().search.language();
            let schema = self.schema();
            self.write(caller.now, |tx| {
                let passages = index::rebuild(tx, schema, index::Documents::Forget, language)?;
                let mut row = audit::Row::new("reindex");
                row.detail.insert("passages".into(), passages.into());
                audit::append(tx, caller, &row, audit::Outcome::Done)
            })?;
        }
        self.sync(caller)?;
        session::catch_up_all(self, caller)?;
        self.memory.read(|db| {
            let passages: i64 = db.query_row("SELECT count(*) FROM passages", [], |row| row.get(0))?;
            Ok(usize::try_from(passages).unwrap_or(0))
        })
    }
}
