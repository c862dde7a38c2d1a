//! The repository of a project, as far as memories may name things of it. Each part is read when it is first asked for.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::git::{self, Git, TrackedFile};
use super::manifest::{self, Manifests};
use super::mention::{Mention, MentionKind, Runner};
use super::source::{self, Definitions};

/// The maximum number of files and manifests of a project.
const MAX_FILES: usize = 1_000_000;
const MAX_MANIFESTS: usize = 1_000;
/// The maximum size of a manifest, of a file with code, and of all code, in bytes.
const MAX_MANIFEST_BYTES: u64 = 4 << 20;
const MAX_CODE_FILE_BYTES: u64 = 1 << 20;
const MAX_CODE_BYTES: u64 = 256 << 20;
/// The maximum depth of the folders of a project without Git.
const MAX_DEPTH: usize = 32;

/// Whether a repository has a thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Present,
    /// It does not; something else has taken its place, if that is known.
    Absent(Option<String>),
    /// It can't be told.
    Unknown,
}

/// How much of a repository is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// Lists and manifests.
    Small,
    /// All source code too.
    Full,
}

/// The repository of a project.
pub(super) struct Repository {
    root: PathBuf,
    git: Option<Git>,
    effort: Effort,
    files: OnceCell<Option<Files>>,
    branches: OnceCell<Option<BTreeSet<String>>>,
    manifests: OnceCell<Manifests>,
    definitions: OnceCell<Option<Definitions>>,
}

/// The files of a project and its folders, by the last part of their path.
#[derive(Default)]
struct Files {
    folders: Vec<PathBuf>,
    all: Vec<(usize, TrackedFile)>,
    by_name: HashMap<String, Vec<usize>>,
    folders_by_name: HashMap<String, Vec<(usize, String)>>,
}

impl Repository {
    /// Opens the repository of a folder. `None`: the folder is not there, or is in the middle of a change.
    pub(super) fn open(root: &Path, effort: Effort) -> Option<Repository> {
        if !root.is_dir() {
            return None;
        }
        let git = Git::at(root);
        if git.as_ref().is_some_and(Git::is_in_between) {
            return None;
        }
        Some(Repository {
            root: root.to_owned(),
            git,
            effort,
            files: OnceCell::new(),
            branches: OnceCell::new(),
            manifests: OnceCell::new(),
            definitions: OnceCell::new(),
        })
    }

    /// Tells whether it has what a memory names.
    pub(super) fn look(&self, mention: &Mention) -> Presence {
        match mention.kind {
            MentionKind::Path => self.path(&mention.name),
            MentionKind::Branch => self.branch(&mention.name),
            MentionKind::Version => self.version(&mention.name),
            MentionKind::Command => self.command(&mention.name),
            MentionKind::Flag => {
                self.definitions().map_or(Presence::Unknown, |found| present(found.has_flag(&mention.name)))
            }
        }
    }

    fn path(&self, name: &str) -> Presence {
        let Some(files) = self.files() else { return Presence::Unknown };
        // An absolute path within the repository, without its first slash.
        let root = self.root.to_string_lossy();
        let name =
            name.strip_prefix(root.trim_start_matches('/')).map_or(name, |rest| rest.trim_start_matches('/'));
        if files.has(name) {
            return Presence::Present;
        }
        // A path that exists and is not tracked may be a build output, or not be added yet.
        let is_there = files.folders.iter().any(|folder| fs::symlink_metadata(folder.join(name)).is_ok());
        if is_there { Presence::Unknown } else { Presence::Absent(files.only_of_name(name)) }
    }

    fn branch(&self, name: &str) -> Presence {
        let branches = self.branches.get_or_init(|| self.git.as_ref().and_then(Git::branches));
        branches.as_ref().map_or(Presence::Unknown, |all| present(all.contains(name)))
    }

    fn version(&self, name: &str) -> Presence {
        let Some((package, version)) = name.split_once(' ') else { return Presence::Unknown };
        let Some(manifests) = self.manifests() else { return Presence::Unknown };
        match manifests.has_version(package, version) {
            true => Presence::Present,
            false => Presence::Absent(manifests.version(package).map(str::to_owned)),
        }
    }

    fn command(&self, name: &str) -> Presence {
        let words: Vec<&str> = name.split(' ').collect();
        let Some(manifests) = self.manifests() else { return Presence::Unknown };
        match words[..] {
            ["cargo", _, package] => present(manifests.has_package(package)),
            [program, argument] => match Runner::of(program) {
                Some(runner) => present(manifests.has_command(runner, argument)),
                // A program that is gone is gone with its commands.
                None if !manifests.has_program(program) => Presence::Absent(None),
                None => self
                    .definitions()
                    .map_or(Presence::Unknown, |found| present(found.has_subcommand(argument))),
            },
            _ => Presence::Unknown,
        }
    }

    /// Returns the files. `None`: they can't be listed, or there are none.
    fn files(&self) -> Option<&Files> {
        let files = self.files.get_or_init(|| match &self.git {
            Some(git) => Files::tracked(git),
            None => Files::walked(&self.root),
        });
        files.as_ref().filter(|files| !files.all.is_empty())
    }

    fn manifests(&self) -> Option<&Manifests> {
        let files = self.files()?;
        Some(self.manifests.get_or_init(|| {
            let mut manifests = Manifests::default();
            // The main worktree states what holds. The other ones may be older.
            let main = files.all.iter().filter(|(tree, _)| *tree == 0).map(|(_, file)| &file.path);
            let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
            let found = main.filter(|path| manifest::is_manifest(&name(path)) && !is_foreign(path));
            for path in found.take(MAX_MANIFESTS) {
                if let Some(text) = self.text(path, MAX_MANIFEST_BYTES) {
                    manifests.add(&name(path), &text);
                }
            }
            manifests
        }))
    }

    /// Returns what the code defines. `None`: it was not read, or there is too much of it.
    fn definitions(&self) -> Option<&Definitions> {
        if self.effort != Effort::Full {
            return None;
        }
        let files = self.files()?;
        let read = || {
            let (mut found, mut bytes) = (Definitions::default(), 0);
            let main = files.all.iter().filter(|(tree, _)| *tree == 0).map(|(_, file)| &file.path);
            for path in main.filter(|path| source::is_code(path)) {
                let Some(text) = self.text(path, MAX_CODE_FILE_BYTES) else { continue };
                bytes += text.len() as u64;
                if bytes > MAX_CODE_BYTES {
                    return None;
                }
                found.add(path, &text);
            }
            Some(found)
        };
        self.definitions.get_or_init(read).as_ref()
    }

    fn text(&self, path: &str, most: u64) -> Option<String> {
        let bytes = git::read(&self.root.join(path), most)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn present(is_there: bool) -> Presence {
    if is_there { Presence::Present } else { Presence::Absent(None) }
}

/// Tells whether a file belongs to third-party code.
fn is_foreign(path: &str) -> bool {
    path.split('/')
        .any(|part| matches!(part, "node_modules" | "vendor" | "third_party" | "fixtures" | "testdata"))
}

impl Files {
    fn tracked(git: &Git) -> Option<Files> {
        let mut files = Files::default();
        for worktree in git.worktrees() {
            let Some(tracked) = git.tracked(&worktree) else {
                // Without the index of the main worktree nothing can be told.
                if files.folders.is_empty() {
                    return None;
                }
                continue;
            };
            files.folders.push(worktree.folder);
            let tree = files.folders.len() - 1;
            for file in tracked {
                files.put(tree, file)?;
            }
        }
        files.name_folders();
        Some(files)
    }

    /// Lists the files of a folder without Git.
    fn walked(root: &Path) -> Option<Files> {
        let mut files = Files { folders: vec![root.to_owned()], ..Files::default() };
        let walk = ignore::WalkBuilder::new(root)
            .hidden(false)
            .parents(false)
            .git_global(false)
            .require_git(false)
            .max_depth(Some(MAX_DEPTH))
            .build();
        for entry in walk {
            // A folder that can't be listed may have the files that seem to be missing.
            let entry = entry.ok()?;
            let path = entry.path().strip_prefix(root).ok().and_then(Path::to_str);
            if let Some(path) = path.filter(|_| entry.file_type().is_some_and(|kind| kind.is_file())) {
                files.put(0, TrackedFile { path: path.replace('\\', "/"), is_sparse: false })?;
            }
        }
        files.name_folders();
        Some(files)
    }

    /// Adds a file. `None`: there are too many.
    fn put(&mut self, tree: usize, file: TrackedFile) -> Option<()> {
        let name = file.path.rsplit('/').next().unwrap_or_default().to_owned();
        self.by_name.entry(name).or_default().push(self.all.len());
        self.all.push((tree, file));
        (self.all.len() <= MAX_FILES).then_some(())
    }

    fn name_folders(&mut self) {
        let mut seen: HashSet<(usize, String)> = HashSet::new();
        for (tree, file) in &self.all {
            let mut path = file.path.as_str();
            while let Some((folder, _)) = path.rsplit_once('/') {
                if !seen.insert((*tree, folder.to_owned())) {
                    break;
                }
                path = folder;
            }
        }
        for (tree, folder) in seen {
            let name = folder.rsplit('/').next().unwrap_or_default().to_owned();
            self.folders_by_name.entry(name).or_default().push((tree, folder));
        }
    }

    /// Tells whether a tracked file or folder has this path, or ends in it, and exists.
    fn has(&self, name: &str) -> bool {
        let last = name.rsplit('/').next().unwrap_or(name);
        let fits = |path: &str| {
            path.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        let is_file = self.by_name.get(last).into_iter().flatten().any(|place| {
            let (_, file) = &self.all[*place];
            fits(&file.path) && self.exists(*place)
        });
        is_file
            || self
                .folders_by_name
                .get(last)
                .into_iter()
                .flatten()
                .any(|(tree, folder)| fits(folder) && self.folders[*tree].join(folder).is_dir())
    }

    fn exists(&self, place: usize) -> bool {
        let (tree, file) = &self.all[place];
        file.is_sparse || fs::symlink_metadata(self.folders[*tree].join(&file.path)).is_ok()
    }

    /// Returns the only file that has the same name elsewhere.
    fn only_of_name(&self, name: &str) -> Option<String> {
        let last = name.rsplit('/').next().unwrap_or(name);
        let places = self.by_name.get(last).into_iter().flatten().copied();
        let found: BTreeSet<&str> =
            places.filter(|place| self.exists(*place)).map(|place| self.all[place].1.path.as_str()).collect();
        if found.len() == 1 { found.first().map(|path| (*path).to_owned()) } else { None }
    }
}
