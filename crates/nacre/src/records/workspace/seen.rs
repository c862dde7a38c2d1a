//! Records which sessions have seen infrastructure details, that is notes about hosts, endpoints and devices
//! in TOOLS.md and runbooks. A host can act on it.

use crate::base::caller::Actor;
use crate::base::caller::folded;
use crate::base::ids::SessionId;
use crate::base::{Result, Time};
use crate::group::View;
use crate::store::Connection;

/// The value of `seen.what` for infrastructure details.
const INFRASTRUCTURE: &str = "infrastructure";

/// Returns whether a file of the workspace holds infrastructure details. Ignores case, because some file
/// systems do.
pub(crate) fn is_infrastructure(path: &str) -> bool {
    let path = folded(path);
    path == "tools.md" || path.strip_prefix("memory/").is_some_and(|name| name.starts_with("tools-"))
}

/// Marks an agent's session if one of these files holds infrastructure details. Returns whether the session
/// has seen any, now or before. A failed write is ignored, so that reading still works.
pub(crate) fn note<'p>(view: &mut View<'_>, paths: impl IntoIterator<Item = &'p str>) -> bool {
    let caller = view.caller();
    let now = paths.into_iter().any(is_infrastructure);
    let before = view.read_all(|db| infrastructure(db, &caller.session)).unwrap_or(None).is_some();
    if now && !before && caller.actor == Actor::Agent {
        let sql = "INSERT INTO seen (session, what, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        let _ = view.write(|tx| tx.run(sql, (&caller.session, INFRASTRUCTURE, caller.now)));
    }
    now || before
}

/// Returns when a session first saw infrastructure details, if it did.
pub(crate) fn infrastructure(db: &Connection, session: &SessionId) -> Result<Option<Time>> {
    let sql = "SELECT at FROM seen WHERE session = $1 AND what = $2";
    db.row(sql, (session, INFRASTRUCTURE), |row| row.get(0))
}

/// Returns the sessions that have seen infrastructure details, newest first.
pub(crate) fn sessions(db: &Connection, most: usize) -> Result<Vec<String>> {
    let sql = "SELECT session FROM seen WHERE what = $1 ORDER BY at DESC, session LIMIT $2";
    db.rows(sql, (INFRASTRUCTURE, most), |row| row.get(0))
}
