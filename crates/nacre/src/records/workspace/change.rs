//! Files and database changed as one.
//!
//! What is to become of files is written into the database together with the records that say so, then done to the
//! files, then taken out again. The database decides: a process that dies before its transaction has changed nothing,
//! one that dies after it leaves the rest to the next that comes. A file that a person changed meanwhile is never
//! replaced; then all of that cause is undone, and so it is where a file can't be written. What can't be done is not
//! tried for ever: it must not keep anyone from writing other files.
//!
//! All of it happens under the workspace's lock, which goes with its process. The lock is taken before the database's,
//! never within a transaction.

use std::fs::File;
use std::ops::ControlFlow;

use super::FilePath;
use crate::base::{Error, Result};
use crate::group::View;
use crate::store::audit;
use crate::store::{Connection, Files, Replaced, crash};

/// The most bytes of a file of the workspace that is written.
pub(crate) const LARGEST: u64 = 4 << 20;

/// What the cause of a return to a checkpoint begins with.
pub(crate) const RESTORE: &str = "restore ";

/// The lock's name in the group's folder.
const LOCK: &str = "workspace.lock";

/// One file, as it must be and as it will be; `None` is no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) path: FilePath,
    pub(crate) before: Option<Vec<u8>>,
    pub(crate) after: Option<Vec<u8>>,
}

/// What of something decided could not be done.
#[derive(Default)]
struct Left {
    /// The files that a person had changed, or that can't be written.
    in_the_way: Vec<String>,
    /// Why one can't be written.
    failed: Option<Error>,
}

/// The workspace of a group, held by this process alone.
pub(crate) struct Held<'g> {
    pub(crate) view: View<'g>,
    _lock: File,
}

/// Takes hold of the workspace, and ends what a dead process began.
pub(crate) fn hold<'v>(view: &'v mut View<'_>) -> Result<Held<'v>> {
    crate::base::files::create_folder(view.folder())?;
    let path = view.folder().join(LOCK);
    let lock = crate::base::files::append_private(&path).map_err(Error::io(&path))?;
    lock.lock().map_err(Error::io(&path))?;
    let mut held = Held { view: view.lend(), _lock: lock };
    // What could not be done of it is on record, and no reason to refuse what comes now.
    held.settle()?;
    Ok(held)
}

/// Tells whether a dead process has left something to be done.
pub(crate) fn is_unsettled(db: &Connection) -> Result<bool> {
    db.one("SELECT EXISTS (SELECT 1 FROM file_changes)", (), |row| row.get(0))
}

impl Held<'_> {
    pub(crate) fn files(&self) -> &Files {
        self.view.files()
    }

    /// Reads a file whole; `None`: there is none.
    pub(crate) fn read(&self, path: &FilePath) -> Result<Option<Vec<u8>>> {
        let bytes = self.files().read(path, LARGEST + 1)?;
        if bytes.as_ref().is_some_and(|bytes| bytes.len() as u64 > LARGEST) {
            return Err(Error::FileTooLarge { path: path.to_string(), limit: LARGEST });
        }
        Ok(bytes)
    }

    /// Changes files, with the records of it, all or nothing. `cause` says what this is part of.
    pub(crate) fn commit<T>(
        &mut self,
        cause: &str,
        changes: &[Change],
        records: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        let (value, mut in_the_way) = self.commit_far(cause, changes, records)?;
        match in_the_way.pop() {
            None => Ok(value),
            Some(path) => Err(Error::FileChanged { path }),
        }
    }

    /// The same, with the files that were in the way after all beside the value.
    pub(crate) fn commit_far<T>(
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
        let Left { in_the_way, failed } = self.settle()?;
        // A watcher tells of our own write only seconds later.
        self.view.look_again();
        match failed {
            None => Ok((value, in_the_way)),
            Some(error) => Err(error),
        }
    }

    /// Does what is decided and not done.
    fn settle(&mut self) -> Result<Left> {
        let mut all = Left::default();
        for (cause, changes) in self.view.read_all(undone)? {
            let left = match cause.starts_with(RESTORE) {
                true => self.apply_each(&changes),
                false => self.apply(&changes),
            };
            self.forget(&cause, &left)?;
            all.in_the_way.extend(left.in_the_way);
            all.failed = all.failed.or(left.failed);
        }
        Ok(all)
    }

    /// Makes all changes of one cause that can be made: its records have been put back and are not undone for one
    /// file. What was in the way or can't be written stays as it is.
    fn apply_each(&self, changes: &[Change]) -> Left {
        let mut left = Left::default();
        for Change { path, before, after } in changes {
            match self.files().replace(path, before.as_deref(), after.as_deref()) {
                Ok(Replaced::Done) => crash::point("one file done"),
                Ok(Replaced::Changed) | Err(_) => left.in_the_way.push(path.to_string()),
            }
        }
        left
    }

    /// Makes the changes of one cause, or none of them.
    fn apply(&self, changes: &[Change]) -> Left {
        let replace = |path: &FilePath, before: &Option<Vec<u8>>, after: &Option<Vec<u8>>| {
            self.files().replace(path, before.as_deref(), after.as_deref())
        };
        for (place, Change { path, before, after }) in changes.iter().enumerate() {
            let failed = match replace(path, before, after) {
                Ok(Replaced::Done) => {
                    crash::point("one file done");
                    continue;
                }
                Ok(Replaced::Changed) => None,
                Err(error) => Some(error),
            };
            for Change { path, before, after } in changes[..place].iter().rev() {
                // One that was changed since is the person's, and one that can't be put back stays.
                let _ = replace(path, after, before);
            }
            return Left { in_the_way: vec![path.to_string()], failed };
        }
        Left::default()
    }

    /// Takes out what is done, or what can't be.
    fn forget(&mut self, cause: &str, left: &Left) -> Result<()> {
        let (now, in_the_way) = (self.view.now(), !left.in_the_way.is_empty());
        self.view.write(|tx| {
            tx.run("DELETE FROM file_changes WHERE cause = $1", [cause])?;
            // A proposal that could not be applied waits again.
            if in_the_way && let Some(number) = cause.strip_prefix("proposal ") {
                let sql = "UPDATE proposals SET state = 'pending', decided_at = NULL, decided_by = NULL WHERE number = $1";
                tx.run(sql, [number])?;
            }
            if in_the_way && let Some(number) = cause.strip_prefix("revert ") {
                let sql = "UPDATE proposals SET state = 'approved' WHERE number = $1 AND state = 'reverted'";
                tx.run(sql, [number])?;
            }
            // Its own row says that it was done.
            if in_the_way {
                let mut row = audit::Row::new("conflict");
                let number = ["proposal ", "revert "].iter().find_map(|kind| cause.strip_prefix(kind));
                match number {
                    Some(number) => row.ids.push(format!("proposal:{number}")),
                    None => row.ids.extend(left.in_the_way.iter().cloned()),
                }
                audit::append_own(tx, now, &row)?;
            }
            Ok(())
        })
    }
}

/// What is decided and not done, by cause, in the order in which it was decided.
fn undone(db: &Connection) -> Result<Vec<(String, Vec<Change>)>> {
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

/// How many characters longer a file becomes; below 0: shorter.
pub(crate) fn grown(before: Option<&[u8]>, after: Option<&[u8]>) -> i64 {
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

    /// Every place at which a process may die once it has decided.
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
        hold(&mut group.enter(&nacre()).unwrap()).unwrap().commit("test", changes, |_| Ok(()))
    }

    /// Ends what a dead process began, as whoever comes next does.
    fn end(group: &mut Group) {
        drop(hold(&mut group.enter(&nacre()).unwrap()).unwrap());
    }

    fn is_settled(group: &mut Group) -> bool {
        !group.enter(&nacre()).unwrap().read_all(is_unsettled).unwrap()
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
        crate::base::files::write_whole(&file, text.as_bytes()).unwrap();
    }

    /// All that stands in the folder but the database and locks.
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
    fn what_a_person_changed_meanwhile_is_never_replaced() {
        // Between decision and deed, wherever the process died.
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
        // Before the decision.
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
        // Where the new file is to stand aside, a folder is.
        crate::base::files::create_folder(&group.folder().join(".b.md.nacre-swap")).unwrap();
        let changes = [change("a.md", Some("old a"), Some("new a")), change("b.md", None, Some("b"))];
        let nacre = nacre();
        let mut view = group.enter(&nacre).unwrap();
        let mut held = hold(&mut view).unwrap();
        assert!(held.commit("test", &changes, |_| Ok(())).is_err());
        held.commit("test", &[change("c.md", None, Some("c"))], |_| Ok(())).unwrap();
        drop(held);
        assert!(is_settled(&mut group));
        assert_eq!(
            there(&group),
            [("a.md".to_owned(), "old a".to_owned()), ("c.md".to_owned(), "c".to_owned())]
        );
        // Nor does what a dead process could not have done.
        crash::AT.set(Some("decided"));
        let died = catch_unwind(AssertUnwindSafe(|| {
            commit(&mut group, &changes).unwrap();
        }));
        assert!(died.is_err());
        end(&mut group);
        assert!(is_settled(&mut group));
    }

    #[test]
    fn an_edit_in_the_moment_of_exchange_is_put_back() {
        let (_folder, mut group) = place();
        put(&group, "a.md", "old");
        crash::AT.set(Some("written aside"));
        let died = catch_unwind(AssertUnwindSafe(|| {
            let changes = [change("a.md", Some("old"), Some("new"))];
            commit(&mut group, &changes).unwrap();
        }));
        assert!(died.is_err());
        // As if the two had changed places just after the editor's save: its text is what came out.
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
        crate::base::files::write_whole(&secret, b"theirs").unwrap();
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
