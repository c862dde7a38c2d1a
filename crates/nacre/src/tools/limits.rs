//! The write limits of one agent session, or of an untrusted token and day. They are counted in the database, so that all
//! processes share the count.

use crate::base::Settings;
use crate::base::caller::{Actor, Caller};
use crate::base::{Error, Result};
use crate::store::Connection;

/// A kind of write that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Store,
    Supersede,
    Delete,
}

/// Counts one call, or refuses it. It runs in the transaction of the write, so a write that fails is not counted.
pub(super) fn spend(db: &Connection, caller: &Caller, settings: &Settings, action: Action) -> Result<()> {
    let limits = &settings.limits;
    let (name, trusted, untrusted) = match action {
        Action::Store => ("store", limits.store, limits.untrusted.store),
        Action::Supersede => ("supersede", limits.supersede, limits.untrusted.supersede),
        Action::Delete => ("delete", limits.delete, limits.untrusted.delete),
    };
    let limit = if caller.untrusted { untrusted } else { trusted };
    if caller.actor != Actor::Agent || limit == 0 {
        return Ok(());
    }
    // An untrusted token can name any session, so its calls of a day count together.
    let counted = match &caller.token {
        Some(token) if caller.untrusted => format!("token {token} {}", caller.zone.day(caller.now)),
        _ => caller.session.to_string(),
    };
    let sql = "INSERT INTO usage (session, action, used) VALUES ($1, $2, 1)
        ON CONFLICT (session, action) DO UPDATE SET used = usage.used + 1 RETURNING used";
    let used: u32 = db.one(sql, (counted, name), |row| row.get(0))?;
    if used > limit { Err(Error::SessionLimit { action: name, limit }) } else { Ok(()) }
}
