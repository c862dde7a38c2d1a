//! Changes files and the database together.
//!
//! Pending file changes are written to the database in the same transaction as the records about them, then
//! applied to the files, then removed from the database. A process that dies before the transaction has
//! changed nothing. If it dies afterwards, the next process completes the changes. A file that a person has
//! changed meanwhile is never overwritten: all changes with the same cause are then undone, and also if a
//! file can't be written. Failed changes are not retried, so that they do not block other writes.
//!
//! All of this happens under the workspace lock, which ends with its process. The lock is taken before the
//! database's lock, never inside a transaction.

use std::ops::ControlFlow;

use super::FilePath;
use crate::base::{Error, Result};
use crate::group::View;
use crate::store::audit;
use crate::store::{Connection, Files, Lock, Replacement, Wait, crash};

/// The maximum size of a workspace file that Nacre writes.
pub(crate) const MAX_FILE_BYTES: u64 = 4 << 20;

/// The prefix of the cause of a checkpoint restore.
pub(crate) const RESTORE_PREFIX: &str = "restore ";

/// The name of the lock file in the group's folder.
const LOCK_FILE: &str = "workspace.lock";

/// A change of one file: its expected content and its new content. `None` means that the file does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) path: FilePath,
    pub(crate) before: Option<Vec<u8>>,
    pub(crate) after: Option<Vec<u8>>,
}

/// The changes that could not be applied.
#[derive(Default)]
struct Conflicts {
    /// The files that a person had changed or that can't be written.
    paths: Vec<String>,
    /// The error of a file that can't be written.
    failed: Option<Error>,
}

/// A group's workspace, locked by this process.
pub(crate) struct LockedWorkspace<'g> {
    pub(crate) view: View<'g>,
    _lock: Option<Lock>,
}

/// Locks the workspace and completes the file changes of a process that died.
pub(crate) fn lock<'v>(view: &'v mut View<'_>) -> Result<LockedWorkspace<'v>> {
    let lock = view.lock(LOCK_FILE, Wait::Yes)?;
    let mut held = LockedWorkspace { view: view.lend(), _lock: lock };
    // A failure is in the audit log and must not block the current work.
    held.apply_pending()?;
    Ok(held)
}

/// Returns whether a process that died has left pending file changes.
pub(crate) fn has_pending_changes(db: &Connection) -> Result<bool> {
    db.one("SELECT EXISTS (SELECT 1 FROM file_changes)", (), |row| row.get(0))
}

impl LockedWorkspace<'_> {
    pub(crate) fn files(&self) -> &Files {
        self.view.files()
    }

    /// Reads a whole file; `None` if it does not exist.
    pub(crate) fn read(&self, path: &FilePath) -> Result<Option<Vec<u8>>> {
        let bytes = self.files().read(path, MAX_FILE_BYTES + 1)?;
        if bytes.as_ref().is_some_and(|bytes| bytes.len() as u64 > MAX_FILE_BYTES) {
            return Err(Error::FileTooLarge { path: path.to_string(), limit: MAX_FILE_BYTES });
        }
        Ok(bytes)
    }

    /// Changes files and writes `records` about it, all or nothing. `cause` names the operation.
    pub(crate) fn commit<T>(
        &mut self,
        cause: &str,
        changes: &[Change],
        records: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        let (value, mut paths) = self.commit_with_conflicts(cause, changes, records)?;
        match paths.pop() {
            None => Ok(value),
            Some(path) => Err(Error::FileChanged { path }),
        }
    }

    /// Commits like [`LockedWorkspace::commit`], and returns the conflicting files with the value.
    pub(crate) fn commit_with_conflicts<T>(
        &mut self,
        cause: &str,
        changes: &[Change],
        records: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<(T, Vec<String>)> {
        for Change { path, before, .. } in changes {
            if self.files().read(path, u64::MAX)? != *before {
                return Err(Error::FileChanged { path: path.to_string() });
            }
        }
        let value = self.view.write(|tx| {
            let value = records(tx)?;
            let sql = "INSERT INTO file_changes (cause, path, before, after) VALUES ($1, $2, $3, $4)";
            for Change { path, before, after } in changes {
                tx.run(sql, (cause, path.as_str(), before, after))?;
            }
            Ok(value)
        })?;
        crash::point("decided");
        let Conflicts { paths, failed } = self.apply_pending()?;
        // The watcher reports our own write only seconds later.
        self.view.look_again();
        match failed {
            None => Ok((value, paths)),
            Some(error) => Err(error),
        }
    }

    /// Applies the pending file changes.
    fn apply_pending(&mut self) -> Result<Conflicts> {
        let mut all = Conflicts::default();
        for (cause, changes) in self.view.read_all(pending_changes)? {
            let left = match cause.starts_with(RESTORE_PREFIX) {
                true => self.apply_each(&changes),
                false => self.apply(&changes),
            };
            self.forget(&cause, &left)?;
            all.paths.extend(left.paths);
            all.failed = all.failed.or(left.failed);
        }
        Ok(all)
    }

    /// Applies each change of a restore that can be applied. The records are restored already, so one
    /// conflicting file does not undo the rest. Conflicting files stay as they are.
    fn apply_each(&self, changes: &[Change]) -> Conflicts {
        let mut left = Conflicts::default();
        for Change { path, before, after } in changes {
            match self.files().replace(path, before.as_deref(), after.as_deref()) {
                Ok(Replacement::Done) => crash::point("one file done"),
                Ok(Replacement::Changed) | Err(_) => left.paths.push(path.to_string()),
            }
        }
        left
    }

    /// Applies all changes of one cause, or none of them.
    fn apply(&self, changes: &[Change]) -> Conflicts {
        let replace = |path: &FilePath, before: &Option<Vec<u8>>, after: &Option<Vec<u8>>| {
            self.files().replace(path, before.as_deref(), after.as_deref())
        };
        for (place, Change { path, before, after }) in changes.iter().enumerate() {
            let failed = match replace(path, before, after) {
                Ok(Replacement::Done) => {
                    crash::point("one file done");
                    continue;
                }
                Ok(Replacement::Changed) => None,
                Err(error) => Some(error),
            };
            for Change { path, before, after } in changes[..place].iter().rev() {
                // A file that was changed since belongs to the person, and one that can't be written stays.
                let _ = replace(path, after, before);
            }
            return Conflicts { paths: vec![path.to_string()], failed };
        }
        Conflicts::default()
    }

    /// Removes the pending changes of a cause, applied or failed, and records a conflict.
    fn forget(&mut self, cause: &str, left: &Conflicts) -> Result<()> {
        let (now, conflict) = (self.view.now(), !left.paths.is_empty());
        self.view.write(|tx| {
            tx.run("DELETE FROM file_changes WHERE cause = $1", [cause])?;
            // A proposal that could not be applied becomes pending again.
            if conflict && let Some(number) = cause.strip_prefix("proposal ") {
                let sql = "UPDATE proposals SET state = 'pending', decided_at = NULL, decided_by = NULL WHERE number = $1";
                tx.run(sql, [number])?;
            }
            if conflict && let Some(number) = cause.strip_prefix("revert ") {
                let sql = "UPDATE proposals SET state = 'approved' WHERE number = $1 AND state = 'reverted'";
                tx.run(sql, [number])?;
            }
            // The operation's own audit row says that it was done.
            if conflict {
                let mut row = audit::Row::new("conflict");
                let number = ["proposal ", "revert "].iter().find_map(|kind| cause.strip_prefix(kind));
                match number {
                    Some(number) => row.ids.push(format!("proposal:{number}")),
                    None => row.ids.extend(left.paths.iter().cloned()),
                }
                audit::append_own(tx, now, &row)?;
            }
            Ok(())
        })
    }
}

/// Returns the pending file changes by cause, in their original order.
fn pending_changes(db: &Connection) -> Result<Vec<(String, Vec<Change>)>> {
    let mut causes: Vec<(String, Vec<Change>)> = Vec::new();
    db.each("SELECT cause, path, before, after FROM file_changes ORDER BY id", (), |row| {
        let cause: String = row.get(0)?;
        let change = Change { path: row.text(1)?.parse()?, before: row.get(2)?, after: row.get(3)? };
        match causes.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, changes)) => changes.push(change),
            None => causes.push((cause, vec![change])),
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(causes)
}

/// Returns the hash by which a person's edit names the version of the file that they saw.
pub(crate) fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Returns how many characters longer a file becomes; negative if shorter.
pub(crate) fn char_delta(before: Option<&[u8]>, after: Option<&[u8]>) -> i64 {
    let chars = |bytes: &[u8]| String::from_utf8_lossy(bytes).chars().count();
    let length = |bytes: Option<&[u8]>| i64::try_from(bytes.map_or(0, chars)).unwrap_or(i64::MAX);
    length(after) - length(before)
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::base::caller::Caller;
    use crate::base::{Settings, Time};
    use crate::group::Group;
    use crate::tools::home::Home;

    /// Every point at which a process can die after the transaction.
    const POINTS: &[&str] =
        &["decided", "written aside", "linked", "exchanged", "taken away", "one file done"];

    fn now() -> Time {
        Time::from_millis(1_767_225_600_000)
    }

    fn place() -> (tempfile::TempDir, Group) {
        let folder = tempfile::tempdir().unwrap();
        let group =
            Home::new(folder.path(), Settings::default()).group(&"main".parse().unwrap(), now()).unwrap();
        (folder, group)
    }

    fn nacre() -> Caller {
        Caller::nacre(now())
    }

    fn commit(group: &mut Group, changes: &[Change]) -> Result<()> {
        lock(&mut group.enter(&nacre()).unwrap()).unwrap().commit("test", changes, |_| Ok(()))
    }

    /// Completes the changes of a process that died, as the next process does.
    fn end(group: &mut Group) {
        drop(lock(&mut group.enter(&nacre()).unwrap()).unwrap());
    }

    fn is_settled(group: &mut Group) -> bool {
        !group.enter(&nacre()).unwrap().read_all(has_pending_changes).unwrap()
    }

    fn path(text: &str) -> FilePath {
        text.parse().unwrap()
    }

    fn change(at: &str, before: Option<&str>, after: Option<&str>) -> Change {
        let bytes = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
        Change { path: path(at), before: bytes(before), after: bytes(after) }
    }

    fn put(group: &Group, at: &str, text: &str) {
        let file = group.folder().join(at);
        crate::base::files::create_folder(file.parent().unwrap()).unwrap();
        crate::base::files::write_atomically(&file, text.as_bytes()).unwrap();
    }

    /// Returns all files in the folder except the database and locks.
    fn there(group: &Group) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut folders = vec![group.folder().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                let name = path.strip_prefix(group.folder()).unwrap().to_string_lossy().into_owned();
                if path.is_dir() {
                    folders.push(path);
                } else if !name.contains(".db") && !name.ends_with(".lock") {
                    found.push((name, std::fs::read_to_string(path).unwrap()));
                }
            }
        }
        found.sort();
        found
    }

    #[test]
    fn a_process_that_dies_anywhere_leaves_all_or_nothing() {
        let changes = [
            change("a.md", Some("old a"), Some("new a")),
            change("memory/new.md", None, Some("new")),
            change("gone.md", Some("gone"), None),
        ];
        let after = vec![("a.md".to_owned(), "new a".to_owned()), ("memory/new.md".into(), "new".into())];
        for point in POINTS {
            let (_folder, mut group) = place();
            put(&group, "a.md", "old a");
            put(&group, "gone.md", "gone");
            crash::AT.set(Some(point));
            let died = catch_unwind(AssertUnwindSafe(|| {
                commit(&mut group, &changes).unwrap();
            }));
            assert!(died.is_err(), "{point} was never reached");
            end(&mut group);
            assert_eq!(there(&group), after, "{point}");
            assert!(is_settled(&mut group), "{point}");
        }
    }

    #[test]
    fn files_changed_meanwhile_are_never_overwritten() {
        // Between the transaction and the file changes, at every crash point.
        for point in ["decided", "written aside", "exchanged", "one file done"] {
            let (_folder, mut group) = place();
            put(&group, "a.md", "old a");
            put(&group, "b.md", "old b");
            let changes =
                [change("a.md", Some("old a"), Some("new a")), change("b.md", Some("old b"), Some("new b"))];
            crash::AT.set(Some(point));
            let died = catch_unwind(AssertUnwindSafe(|| {
                commit(&mut group, &changes).unwrap();
            }));
            assert!(died.is_err(), "{point}");
            put(&group, "b.md", "the person's b");
            end(&mut group);
            let expected =
                vec![("a.md".to_owned(), "old a".to_owned()), ("b.md".into(), "the person's b".into())];
            assert_eq!(there(&group), expected, "{point}");
        }
        // Before the transaction.
        let (_folder, mut group) = place();
        put(&group, "a.md", "the person's");
        let refused = commit(&mut group, &[change("a.md", Some("old a"), Some("new a"))]);
        assert_eq!(refused.unwrap_err().code(), "file_changed");
        assert_eq!(there(&group), vec![("a.md".to_owned(), "the person's".to_owned())]);
    }

    #[test]
    fn a_file_that_could_not_be_written_kept_everyone_from_writing() {
        let (_folder, mut group) = place();
        put(&group, "a.md", "old a");
        // A folder occupies the temporary name of the new file.
        crate::base::files::create_folder(&group.folder().join(".b.md.nacre-swap")).unwrap();
        let changes = [change("a.md", Some("old a"), Some("new a")), change("b.md", None, Some("b"))];
        let nacre = nacre();
        let mut view = group.enter(&nacre).unwrap();
        let mut held = lock(&mut view).unwrap();
        assert!(held.commit("test", &changes, |_| Ok(())).is_err());
        held.commit("test", &[change("c.md", None, Some("c"))], |_| Ok(())).unwrap();
        drop(held);
        assert!(is_settled(&mut group));
        assert_eq!(
            there(&group),
            [("a.md".to_owned(), "old a".to_owned()), ("c.md".to_owned(), "c".to_owned())]
        );
        // Nor may the changes of a process that died.
        crash::AT.set(Some("decided"));
        let died = catch_unwind(AssertUnwindSafe(|| {
            commit(&mut group, &changes).unwrap();
        }));
        assert!(died.is_err());
        end(&mut group);
        assert!(is_settled(&mut group));
    }

    #[test]
    fn an_edit_during_the_exchange_is_restored() {
        let (_folder, mut group) = place();
        put(&group, "a.md", "old");
        crash::AT.set(Some("written aside"));
        let died = catch_unwind(AssertUnwindSafe(|| {
            let changes = [change("a.md", Some("old"), Some("new"))];
            commit(&mut group, &changes).unwrap();
        }));
        assert!(died.is_err());
        // As if the files were exchanged just after the editor saved: the editor's text was swapped out.
        let folder = group.folder().to_owned();
        std::fs::rename(folder.join(".a.md.nacre-swap"), folder.join("a.md")).unwrap();
        put(&group, ".a.md.nacre-swap", "the editor's");
        end(&mut group);
        assert_eq!(there(&group), vec![("a.md".to_owned(), "the editor's".to_owned())]);
    }

    #[test]
    fn links_are_never_written_through() {
        let (outside, mut group) = place();
        let secret = outside.path().join("secret.md");
        crate::base::files::write_atomically(&secret, b"theirs").unwrap();
        crate::base::files::create_folder(&group.folder().join("memory")).unwrap();
        std::os::unix::fs::symlink(&secret, group.folder().join("a.md")).unwrap();
        std::os::unix::fs::symlink(outside.path(), group.folder().join("memory/out")).unwrap();
        for at in ["a.md", "memory/out/secret.md", "memory/out/new.md"] {
            for before in [None, Some("theirs")] {
                let refused = commit(&mut group, &[change(at, before, Some("ours"))]);
                assert_eq!(refused.unwrap_err().code(), "bad_path", "{at}");
            }
        }
        assert_eq!(std::fs::read_to_string(secret).unwrap(), "theirs");
        assert!(!outside.path().join("new.md").exists());
    }
}
