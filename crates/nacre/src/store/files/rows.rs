//! The files of a group as rows on a server. Each change is one short transaction of its own: a file with
//! another content than expected is never replaced, and an acknowledged line is stored.

use std::io::Cursor;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::{FilesMark, ReadSeek, Replacement};
use crate::base::caller::Visibility;
use crate::base::ids::GroupName;
use crate::base::{FilePath, Result, Time};
use crate::store::postgres::{Lease, Purpose, Scope, Server};
use crate::store::walk::{
    self, MAX_DOCUMENT_BYTES, Note, ReadResult, Stat, WalkResult, WalkedFile, is_workspace_document,
};

/// The files of one group.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    server: Server,
    group: GroupName,
    /// The number of the group, once it exists.
    number: Arc<OnceLock<i32>>,
}

/// The time of a change, in milliseconds. It differs from the time of the change before.
const CHANGED_NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

impl Rows {
    pub(super) fn new(server: Server, group: GroupName) -> Rows {
        Rows { server, group, number: Arc::default() }
    }

    /// Returns the number of the group, unless that one was removed.
    fn known(&self) -> Option<i32> {
        self.number.get().copied().filter(|number| !self.server.is_removed(*number))
    }

    /// Runs `work` in a transaction that reads. A group that nobody has written to has no files.
    fn look<T: Default>(&self, work: impl FnOnce(&Lease) -> Result<T>) -> Result<T> {
        let number = match self.known() {
            Some(number) => Some(number),
            None => self.server.find_group(&self.group, "")?,
        };
        let Some(number) = number else { return Ok(T::default()) };
        let _ = self.number.set(number);
        work(&self.server.begin(&scope(number), Purpose::Read)?)
    }

    /// Runs `work` in a transaction that writes. Creates the group if it does not exist.
    fn change<T>(&self, work: impl FnOnce(&Lease) -> Result<T>) -> Result<T> {
        let number = match self.known() {
            Some(number) => number,
            None => self.server.create_group(&self.group, "")?,
        };
        let _ = self.number.set(number);
        let lease = self.server.begin(&scope(number), Purpose::Files)?;
        let value = work(&lease)?;
        lease.commit()?;
        Ok(value)
    }

    pub(super) fn documents(&self) -> WalkResult {
        let mut found = WalkResult::default();
        let sql = "SELECT path, octet_length(bytes)::bigint, mtime FROM files ORDER BY path";
        let listed = self.look(|server| {
            Ok(server
                .query(sql, &[])?
                .iter()
                .map(|row| (row.get(0), row.get(1), row.get(2)))
                .collect::<Vec<_>>())
        });
        match listed {
            Ok(rows) => {
                let documents =
                    rows.into_iter().filter(|(path, ..): &(String, _, _)| is_workspace_document(path));
                found.seen.extend(documents.map(|(path, size, mtime)| WalkedFile {
                    file: PathBuf::from(&path),
                    path,
                    stat: Stat { size, mtime },
                }));
            }
            // Indexed text stays.
            Err(error) => found.absent.push(Note { path: self.server.name().into(), why: error.to_string() }),
        }
        found
    }

    pub(super) fn mark(&self) -> Result<Option<FilesMark>> {
        let sql = "SELECT EXISTS (SELECT 1 FROM file_changes),
            (SELECT md5(coalesce(string_agg(path || ' ' || octet_length(bytes) || ' ' || mtime, ',' ORDER BY path), '')) FROM files),
            (SELECT md5(coalesce(string_agg(path || ' ' || size || ' ' || coalesce(mtime, -1) || ' ' || hash, ',' ORDER BY path), ''))
                FROM documents)";
        self.look(|server| {
            let rows = server.query(sql, &[])?;
            let row = rows.first().filter(|row| !row.get::<_, bool>(0));
            Ok(row.map(|row| FilesMark { files: row.get(1), indexed: row.get(2) }))
        })
    }

    pub(super) fn names(&self, folder: &str) -> Vec<(String, bool)> {
        let start =
            if folder.is_empty() { String::new() } else { format!("{}/", folder.trim_end_matches('/')) };
        let sql = "SELECT path FROM files WHERE starts_with(path, $1) ORDER BY path";
        let paths = self.look(|server| {
            Ok(server.query(sql, &[&start])?.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>())
        });
        let mut names: Vec<(String, bool)> = Vec::new();
        for path in paths.unwrap_or_default() {
            let below = &path[start.len()..];
            let name = below.split('/').next().unwrap_or(below);
            if names.last().is_none_or(|(last, _)| last != name) {
                names.push((name.to_owned(), name == below));
            }
        }
        names
    }

    pub(super) fn read(&self, path: &FilePath, most: u64) -> Result<Option<Vec<u8>>> {
        let most = i32::try_from(most).unwrap_or(i32::MAX);
        let sql = "SELECT substr(bytes, 1, $2) FROM files WHERE path = $1";
        self.look(|server| Ok(server.query(sql, &[&path.as_str(), &most])?.first().map(|row| row.get(0))))
    }

    pub(super) fn read_found(&self, seen: &WalkedFile) -> ReadResult {
        if u64::try_from(seen.stat.size).unwrap_or(0) > MAX_DOCUMENT_BYTES {
            return ReadResult::Skipped { why: walk::too_large(), retry: false };
        }
        let sql = "SELECT bytes, mtime FROM files WHERE path = $1";
        let read = self.look(|server| {
            Ok(server.query(sql, &[&seen.path])?.first().map(|row| (row.get::<_, Vec<u8>>(0), row.get(1))))
        });
        match read {
            Ok(Some((bytes, mtime))) => {
                let stat = Stat { size: i64::try_from(bytes.len()).unwrap_or(i64::MAX), mtime };
                ReadResult::Bytes { bytes, stat, settled: true }
            }
            Ok(None) => ReadResult::Gone,
            Err(error) => ReadResult::Skipped { why: format!("can't be read: {error}"), retry: true },
        }
    }

    pub(super) fn create(&self, path: &FilePath, bytes: &[u8]) -> Result<bool> {
        let sql = format!(
            "INSERT INTO files (path, version, mtime, bytes) VALUES ($1, 1, {CHANGED_NOW}, $2) ON CONFLICT DO NOTHING"
        );
        self.change(|server| Ok(server.execute(&sql, &[&path.as_str(), &bytes])? == 1))
    }

    pub(super) fn replace(
        &self,
        path: &FilePath,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
    ) -> Result<Replacement> {
        let name = path.as_str();
        let changed = self.change(|server| match (before, after) {
            (_, _) if before == after => Ok(0),
            (None, Some(after)) => {
                let sql = format!(
                    "INSERT INTO files (path, version, mtime, bytes) VALUES ($1, 1, {CHANGED_NOW}, $2)
                     ON CONFLICT DO NOTHING"
                );
                server.execute(&sql, &[&name, &after])
            }
            (Some(before), Some(after)) => {
                let sql = format!(
                    "UPDATE files SET version = version + 1, mtime = greatest(mtime + 1, {CHANGED_NOW}), bytes = $3
                     WHERE path = $1 AND bytes = $2"
                );
                server.execute(&sql, &[&name, &before, &after])
            }
            (Some(before), None) => {
                server.execute("DELETE FROM files WHERE path = $1 AND bytes = $2", &[&name, &before])
            }
            (None, None) => Ok(0),
        })?;
        if changed > 0 || self.read(path, u64::MAX)?.as_deref() == after {
            return Ok(Replacement::Done);
        }
        Ok(Replacement::Changed)
    }

    pub(super) fn set_time(&self, path: &FilePath, at: Time) -> Result<()> {
        let sql = "UPDATE files SET mtime = $2 WHERE path = $1";
        self.change(|server| server.execute(sql, &[&path.as_str(), &at.as_millis()])).map(drop)
    }

    pub(super) fn transcripts(&self) -> Vec<String> {
        let sql = "SELECT DISTINCT name FROM transcript_parts ORDER BY name";
        let names = self
            .look(|server| Ok(server.query(sql, &[])?.iter().map(|row| row.get(0)).collect::<Vec<String>>()));
        names.unwrap_or_default()
    }

    pub(super) fn has_transcript(&self, name: &str) -> bool {
        let sql = "SELECT 1 FROM transcript_parts WHERE name = $1 LIMIT 1";
        self.look(|server| Ok(!server.query(sql, &[&name])?.is_empty())).unwrap_or_default()
    }

    pub(super) fn open_transcript(&self, name: &str) -> Result<Option<Box<dyn ReadSeek>>> {
        let sql = "SELECT bytes FROM transcript_parts WHERE name = $1 ORDER BY start";
        self.look(|server| {
            let parts = server.query(sql, &[&name])?;
            let bytes: Vec<u8> = parts.iter().flat_map(|row| row.get::<_, Vec<u8>>(0)).collect();
            Ok((!parts.is_empty()).then(|| Box::new(Cursor::new(bytes)) as Box<dyn ReadSeek>))
        })
    }

    pub(super) fn append_transcript(&self, name: &str, bytes: &[u8]) -> Result<u64> {
        let sql = "INSERT INTO transcript_parts (name, start, bytes)
            SELECT $1, coalesce(max(start + octet_length(bytes)), 0), $2 FROM transcript_parts WHERE name = $1
            RETURNING start";
        let start: i64 = self.change(|server| Ok(server.query(sql, &[&name, &bytes])?[0].get(0)))?;
        Ok(start.unsigned_abs() + bytes.len() as u64)
    }

    pub(super) fn cut_transcript(&self, name: &str, length: u64) -> Result<()> {
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        self.change(|server| {
            // The transcript exists even if nothing of it is left.
            let sql = "DELETE FROM transcript_parts WHERE name = $1 AND start >= $2 AND start > 0";
            server.execute(sql, &[&name, &length])?;
            let sql = "UPDATE transcript_parts SET bytes = substr(bytes, 1, ($2 - start)::integer)
                WHERE name = $1 AND start + octet_length(bytes) > $2";
            server.execute(sql, &[&name, &length])
        })
        .map(drop)
    }

    pub(super) fn write_transcript(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.change(|server| {
            server.execute("DELETE FROM transcript_parts WHERE name = $1", &[&name])?;
            let sql = "INSERT INTO transcript_parts (name, start, bytes) VALUES ($1, 0, $2)";
            server.execute(sql, &[&name, &bytes])
        })
        .map(drop)
    }

    pub(super) fn remove_transcript(&self, name: &str) -> Result<()> {
        self.change(|server| server.execute("DELETE FROM transcript_parts WHERE name = $1", &[&name]))
            .map(drop)
    }

    pub(super) fn transcript_at(&self, name: &str) -> PathBuf {
        PathBuf::from(self.server.name()).join(self.group.as_str()).join(name)
    }
}

/// Files are read and written for all sessions. The layers above decide who may see them.
fn scope(group: i32) -> Scope {
    Scope { group, visibility: Visibility::Private, private: Arc::default() }
}
