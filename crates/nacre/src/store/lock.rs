//! Locks of a group that all its processes respect. A lock ends with its process, however that ends.

use std::fs::{File, TryLockError};
use std::path::Path;

use super::postgres::{Lease, Server};
use crate::base::ids::GroupName;
use crate::base::{Error, Result, files};

/// A lock that is held.
#[expect(dead_code, reason = "held, not used")]
pub(crate) enum Lock {
    File(File),
    /// A transaction with an advisory lock.
    Server(Lease),
}

/// Whether to wait for a lock that another process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Yes,
    No,
}

/// Locks a file. Returns `None` if another process holds it and `wait` is `No`.
pub(crate) fn lock_file(path: &Path, wait: Wait) -> Result<Option<Lock>> {
    if let Some(folder) = path.parent() {
        files::create_folder(folder)?;
    }
    let file = files::append_private(path).map_err(Error::io(path))?;
    if wait == Wait::Yes {
        file.lock().map_err(Error::io(path))?;
        return Ok(Some(Lock::File(file)));
    }
    match file.try_lock() {
        Ok(()) => Ok(Some(Lock::File(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(source)) => Err(Error::io(path)(source)),
    }
}

/// Takes a lock of a group on a server.
pub(crate) fn lock_on_server(
    server: &Server,
    group: &GroupName,
    name: &str,
    wait: Wait,
) -> Result<Option<Lock>> {
    let hash = blake3::hash(format!("{group}/{name}").as_bytes());
    let key = i64::from_le_bytes(hash.as_bytes()[..8].try_into().expect("eight bytes"));
    let lease = server.begin_lock(group)?;
    let is_held = match wait {
        Wait::Yes => {
            lease.query("SELECT pg_advisory_xact_lock($1)", &[&key])?;
            true
        }
        Wait::No => lease.query("SELECT pg_try_advisory_xact_lock($1)", &[&key])?[0].get(0),
    };
    Ok(is_held.then_some(Lock::Server(lease)))
}
