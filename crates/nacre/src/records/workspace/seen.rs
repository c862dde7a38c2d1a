//! What a session has seen that a host may want to act on (W10): the notes about hosts, endpoints and devices that
//! stand in TOOLS.md and in runbooks.

use crate::base::caller::Actor;
use crate::base::caller::folded;
use crate::base::ids::SessionId;
use crate::base::{Result, Time};
use crate::group::View;
use crate::store::Connection;

/// What `seen` has for it.
const INFRASTRUCTURE: &str = "infrastructure";

/// Tells whether a file of the workspace holds details of the infrastructure. In any case: a file system may know
/// none.
pub(crate) fn is_infrastructure(path: &str) -> bool {
    let path = folded(path);
    path == "tools.md" || path.strip_prefix("memory/").is_some_and(|name| name.starts_with("tools-"))
}

/// Marks an agent's session that is shown these files, where one of them is of that kind. Returns whether the session
/// has seen such, now or before. That it can't be written down must not keep anything from being read.
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

/// When a session first saw it; `None`: it has not.
pub(crate) fn infrastructure(db: &Connection, session: &SessionId) -> Result<Option<Time>> {
    let sql = "SELECT at FROM seen WHERE session = $1 AND what = $2";
    db.row(sql, (session, INFRASTRUCTURE), |row| row.get(0))
}

/// The sessions that have, the last first.
pub(crate) fn sessions(db: &Connection, most: usize) -> Result<Vec<String>> {
    let sql = "SELECT session FROM seen WHERE what = $1 ORDER BY at DESC, session LIMIT $2";
    db.rows(sql, (INFRASTRUCTURE, most), |row| row.get(0))
}
