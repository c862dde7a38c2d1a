//! The records of a group. Each module owns its tables, its SQL, and how its rows become passages.

pub(crate) mod claim;
pub mod collection;
pub(crate) mod conflict;
pub(crate) mod distil;
pub(crate) mod entry;
pub(crate) mod erase;
pub mod export;
pub mod graph;
pub mod import;
pub(crate) mod lesson;
pub(crate) mod meter;
pub(crate) mod note;
pub mod past;
pub mod project;
pub(crate) mod quarantine;
pub(crate) mod reader;
pub(crate) mod relocate;
pub(crate) mod schema;
pub mod session;
pub mod stale;
pub mod sync;
pub(crate) mod tombstone;
pub(crate) mod trace;
pub mod workspace;

use crate::base::Result;
use crate::base::progress::{Progress, Unit};
use crate::group::View;
use crate::index;
use crate::store::audit;

/// Rebuilds the index; documents are read from their files again. Returns the number of passages.
pub fn reindex(view: &mut View<'_>) -> Result<usize> {
    reindex_with(view, &mut |_| {})
}

/// Rebuilds the index like [`reindex`], and reports passages and then documents to `progress`.
pub fn reindex_with(view: &mut View<'_>, progress: &mut dyn FnMut(Progress)) -> Result<usize> {
    let caller = view.caller();
    if view.is_on_disk() {
        let language = view.settings().search.language();
        let schema = view.schema();
        view.write(|tx| {
            let passages =
                index::rebuild(tx, schema, index::Documents::Forget, language, &mut |done, total| {
                    progress(Progress { unit: Unit::Passages, done, total: Some(total) });
                })?;
            audit::Row::new("reindex").with("passages", passages).append(tx, caller)
        })?;
    }
    workspace::sync_with(view, &mut |done, total| {
        progress(Progress { unit: Unit::Documents, done, total: Some(total) });
    })?;
    session::catch_up_all(view)?;
    Ok(usize::try_from(view.read_all(index::lookup::count)?).unwrap_or(0))
}
