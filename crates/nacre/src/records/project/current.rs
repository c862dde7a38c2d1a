//! The project in which a caller works: its folder, and the name that records carry.
//!
//! A client reports a folder. The root of its git repository, or else the folder itself, is the project, and the name of
//! that folder is its name. Two folders of the same name get different names, in the order in which they are first
//! written from. Names, not folders, are stored with records, so that they still fit on another machine.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::{COLUMNS, of_row, real};
use crate::base::Result;
use crate::base::caller::Caller;
use crate::base::ids::ProjectName;
use crate::store::Connection;

/// The longest part of a name that comes from a folder, in characters.
const MAX_FOLDER_CHARS: usize = 40;
/// The most bytes of a `.git` file that are read.
const MAX_GIT_FILE_BYTES: u64 = 4 << 10;

/// Returns the root of the git repository that contains a folder. A worktree belongs to its main repository. `user` is the
/// user's home folder, which is no project even if it is a repository.
pub fn git_root(folder: &Path, user: Option<&Path>) -> Option<PathBuf> {
    let folder = fs::canonicalize(folder).ok()?;
    let (root, git) = folder.ancestors().find_map(|root| {
        let git = fs::symlink_metadata(root.join(".git")).ok()?;
        Some((root.to_owned(), git))
    })?;
    let root = if git.is_file() { main_root(&root).unwrap_or(root) } else { root };
    is_project(&root, user).then_some(root)
}

/// Returns the project's folder for one that a client reports: its git root, or else the folder itself.
pub fn root(folder: &Path, user: Option<&Path>) -> Option<PathBuf> {
    git_root(folder, user).or_else(|| {
        let folder = fs::canonicalize(folder).ok()?;
        (folder.is_dir() && is_project(&folder, user)).then_some(folder)
    })
}

/// Tells whether a folder can be a project: it is neither the user's home folder nor above it.
fn is_project(folder: &Path, user: Option<&Path>) -> bool {
    let user = user.and_then(|user| fs::canonicalize(user).ok());
    folder.parent().is_some() && user.is_none_or(|user| !user.starts_with(folder))
}

/// Returns the root of the main repository of a worktree: its `.git` is a file that names a folder in the other's `.git`.
fn main_root(worktree: &Path) -> Option<PathBuf> {
    let mut text = String::new();
    let file = fs::File::open(worktree.join(".git")).ok()?;
    file.take(MAX_GIT_FILE_BYTES).read_to_string(&mut text).ok()?;
    let git = fs::canonicalize(worktree.join(text.strip_prefix("gitdir:")?.trim())).ok()?;
    let worktrees = git.parent()?;
    let main = worktrees.parent()?;
    let is_worktree = worktrees.ends_with("worktrees") && main.ends_with(".git");
    main.parent().filter(|_| is_worktree).map(Path::to_owned)
}

/// Returns the name of the project that a caller works in. Nothing is written: a folder that is not known has the name
/// that it would get.
pub(crate) fn of_caller(db: &Connection, caller: &Caller) -> Result<Option<ProjectName>> {
    match &caller.project_folder {
        Some(folder) => Ok(name_of(db, folder)?.map(|named| named.name)),
        None => Ok(None),
    }
}

/// Does the same for a write, and makes the folder known.
pub(crate) fn adopt(db: &Connection, folder: Option<&Path>) -> Result<Option<ProjectName>> {
    let Some(ProjectFolder { name, folder, state }) =
        folder.map(|folder| name_of(db, folder)).transpose()?.flatten()
    else {
        return Ok(None);
    };
    let sql = match state {
        State::Known => return Ok(Some(name)),
        State::New => "INSERT INTO projects (name, folder) VALUES ($1, $2)",
        State::Moved => "UPDATE projects SET folder = $2 WHERE name = $1",
    };
    db.run(sql, (&name, folder))?;
    Ok(Some(name))
}

/// Returns every project that a record names or a folder has.
pub(crate) fn names(db: &Connection) -> Result<Vec<ProjectName>> {
    let sql = "SELECT name FROM projects UNION SELECT project FROM entries WHERE project IS NOT NULL
        UNION SELECT project FROM sessions WHERE project IS NOT NULL ORDER BY 1";
    db.rows(sql, (), |row| row.get(0))
}

struct ProjectFolder {
    name: ProjectName,
    folder: String,
    state: State,
}

enum State {
    /// The folder has this name.
    Known,
    /// The name is free.
    New,
    /// The folder that had the name is gone, so the project was moved here.
    Moved,
}

/// Finds the name of a folder. `None`: the folder has no name, or is gone.
fn name_of(db: &Connection, folder: &Path) -> Result<Option<ProjectFolder>> {
    let Ok(folder) = real(folder) else { return Ok(None) };
    if let Some(project) = db.row(&format!("{COLUMNS} WHERE folder = $1"), [&folder], of_row)? {
        return Ok(Some(ProjectFolder { name: project.name, folder, state: State::Known }));
    }
    for name in candidates(Path::new(&folder)) {
        let state = match db.row(&format!("{COLUMNS} WHERE name = $1"), [&name], of_row)? {
            None => State::New,
            Some(project) if fs::symlink_metadata(&project.folder).is_err() => State::Moved,
            Some(_) => continue,
        };
        return Ok(Some(ProjectFolder { name, folder, state }));
    }
    Ok(None)
}

/// Returns the names that a folder may get, the best first: `api`, `work/api`, `api-2`, `api-3`, …
fn candidates(folder: &Path) -> impl Iterator<Item = ProjectName> + use<> {
    let part = |path: Option<&Path>| {
        let name = path?.file_name()?.to_string_lossy().replace(char::is_control, " ");
        let name: String = name.trim().chars().take(MAX_FOLDER_CHARS).collect();
        Some(name.trim().to_owned()).filter(|name| !name.is_empty())
    };
    let own = part(Some(folder));
    let with_parent = own.as_ref().zip(part(folder.parent())).map(|(own, parent)| format!("{parent}/{own}"));
    let numbered =
        own.clone().into_iter().flat_map(|own| (2..100).map(move |number| format!("{own}-{number}")));
    own.into_iter().chain(with_parent).chain(numbered).filter_map(|name| name.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::files;

    #[test]
    fn a_project_is_the_git_root_or_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let place = fs::canonicalize(place.path()).unwrap();
        let user = place.join("user");
        for folder in
            ["user/app/.git/worktrees/fix", "user/app/src/deep", "user/fix", "user/notes", "user/app/lib"]
        {
            fs::create_dir_all(place.join(folder)).unwrap();
        }
        let write =
            |path: &str, text: &str| files::write_atomically(&user.join(path), text.as_bytes()).unwrap();
        let worktree = user.join("app/.git/worktrees/fix");
        write("fix/.git", &format!("gitdir: {}\n", worktree.display()));
        // A submodule has its own repository inside that of the other.
        write("app/lib/.git", "gitdir: ../.git/modules/lib\n");
        let found = |folder: &str| {
            let [git, any] = [git_root, root].map(|root| root(&place.join(folder), Some(&user)));
            [git, any]
                .map(|path| path.map(|path| path.strip_prefix(&place).unwrap().to_str().unwrap().to_owned()))
        };
        for (folder, git, any) in [
            ("user/app", Some("user/app"), Some("user/app")),
            ("user/app/src/deep", Some("user/app"), Some("user/app")),
            ("user/fix", Some("user/app"), Some("user/app")),
            ("user/app/lib", Some("user/app/lib"), Some("user/app/lib")),
            ("user/notes", None, Some("user/notes")),
            ("user", None, None),
            ("", None, None),
            ("user/gone", None, None),
        ] {
            assert_eq!(found(folder), [git, any].map(|path| path.map(str::to_owned)), "{folder}");
        }
        // A home folder that is a repository makes no project of everything in it.
        fs::create_dir(user.join(".git")).unwrap();
        assert_eq!(found("user/notes"), [None, Some("user/notes".to_owned())]);
    }

    #[test]
    fn a_folder_has_many_names_to_choose_from() {
        let names = |folder: &str| -> Vec<String> {
            candidates(Path::new(folder)).take(3).map(|name| name.to_string()).collect()
        };
        assert_eq!(names("/home/ana/work/api"), ["api", "work/api", "api-2"]);
        assert_eq!(names("/api"), ["api", "api-2", "api-3"]);
        assert!(names("/").is_empty());
        assert_eq!(names(&format!("/x/{}", "y".repeat(200)))[0].len(), MAX_FOLDER_CHARS);
    }
}
