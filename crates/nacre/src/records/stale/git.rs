//! Reads a Git repository without Git: the files that it tracks, its branches, and its worktrees.
//!
//! A repository is untrusted input. Every read has a limit, and a form that is not understood gives no answer instead of a
//! wrong one.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The maximum sizes of an index and of a small file, in bytes, and the maximum number of branches and worktrees.
const MAX_INDEX_BYTES: u64 = 256 << 20;
const MAX_SMALL_BYTES: u64 = 16 << 20;
const MAX_BRANCHES: usize = 100_000;
const MAX_WORKTREES: usize = 50;
/// The maximum depth of the folders in which branches are.
const MAX_DEPTH: usize = 16;

/// A folder with the files of a repository.
pub(super) struct Worktree {
    pub(super) folder: PathBuf,
    git: PathBuf,
}

/// A file that a repository tracks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TrackedFile {
    pub(super) path: String,
    /// Whether it is meant to be absent from the folder.
    pub(super) is_sparse: bool,
}

/// A repository: the folder that all its worktrees share.
pub(super) struct Git {
    common: PathBuf,
    root: PathBuf,
}

impl Git {
    /// Finds the repository of a folder, which is its root.
    pub(super) fn at(root: &Path) -> Option<Git> {
        let git = root.join(".git");
        let found = fs::symlink_metadata(&git).ok()?;
        let common = if found.is_dir() {
            git
        } else {
            // A submodule: `gitdir: ../.git/modules/name`.
            let text = small(&git)?;
            root.join(text.strip_prefix("gitdir:")?.trim())
        };
        common.join("HEAD").is_file().then(|| Git { common, root: root.to_owned() })
    }

    /// Tells whether somebody is in the middle of a rebase, a merge or a search for a commit, so that files may be missing
    /// for a moment.
    pub(super) fn is_in_between(&self) -> bool {
        const STATES: &[&str] = &[
            "rebase-merge",
            "rebase-apply",
            "MERGE_HEAD",
            "CHERRY_PICK_HEAD",
            "REVERT_HEAD",
            "BISECT_LOG",
            "index.lock",
        ];
        STATES.iter().any(|state| self.common.join(state).exists())
    }

    /// Returns the worktrees, the main one first.
    pub(super) fn worktrees(&self) -> Vec<Worktree> {
        let mut all = vec![Worktree { folder: self.root.clone(), git: self.common.clone() }];
        let linked = fs::read_dir(self.common.join("worktrees")).into_iter().flatten().flatten();
        for entry in linked.take(MAX_WORKTREES) {
            let git = entry.path();
            // The file names the `.git` file of the worktree.
            let folder = small(&git.join("gitdir")).map(|text| PathBuf::from(text.trim()));
            let folder =
                folder.and_then(|file| file.parent().map(Path::to_owned)).filter(|folder| folder.is_dir());
            all.extend(folder.map(|folder| Worktree { folder, git }));
        }
        all
    }

    /// Returns the files that a worktree tracks. `None`: the index is missing or has a form that is not understood.
    pub(super) fn tracked(&self, worktree: &Worktree) -> Option<Vec<TrackedFile>> {
        let bytes = read(&worktree.git.join("index"), MAX_INDEX_BYTES)?;
        let config = small(&self.common.join("config")).unwrap_or_default().to_lowercase();
        let hash_bytes = if config.contains("objectformat = sha256") { 32 } else { 20 };
        index(&bytes, hash_bytes)
    }

    /// Returns the names of the branches, local and remote. `None`: they are stored in a form that is not understood.
    pub(super) fn branches(&self) -> Option<BTreeSet<String>> {
        if self.common.join("reftable").exists() {
            return None;
        }
        let mut names = BTreeSet::new();
        collect(&self.common.join("refs/heads"), "", 0, &mut names);
        for remote in fs::read_dir(self.common.join("refs/remotes")).into_iter().flatten().flatten() {
            collect(&remote.path(), "", 0, &mut names);
        }
        for line in small(&self.common.join("packed-refs")).unwrap_or_default().lines() {
            let Some((_, name)) = line.split_once(' ') else { continue };
            let local = name.strip_prefix("refs/heads/");
            let remote = || {
                name.strip_prefix("refs/remotes/").and_then(|name| name.split_once('/')).map(|(_, name)| name)
            };
            if let Some(name) = local.or_else(remote)
                && names.len() < MAX_BRANCHES
            {
                names.insert(name.to_owned());
            }
        }
        (names.len() < MAX_BRANCHES).then_some(names)
    }
}

fn collect(folder: &Path, below: &str, depth: usize, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (name, Ok(kind)) = (entry.file_name().to_string_lossy().into_owned(), entry.file_type()) else {
            continue;
        };
        let name = if below.is_empty() { name } else { format!("{below}/{name}") };
        if kind.is_dir() && depth < MAX_DEPTH {
            collect(&entry.path(), &name, depth + 1, names);
        } else if kind.is_file() && names.len() < MAX_BRANCHES {
            names.insert(name);
        }
    }
}

fn small(path: &Path) -> Option<String> {
    String::from_utf8(read(path, MAX_SMALL_BYTES)?).ok()
}

/// Reads a regular file of at most this size.
pub(super) fn read(path: &Path, most: u64) -> Option<Vec<u8>> {
    let stat = fs::symlink_metadata(path).ok()?;
    if !stat.is_file() || stat.len() > most {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(most + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= most).then_some(bytes)
}

/// Reads the paths of an index file: `DIRC`, a version, a count, and the entries sorted by path.
fn index(bytes: &[u8], hash_bytes: usize) -> Option<Vec<TrackedFile>> {
    const STAT_BYTES: usize = 40;
    const EXTENDED: u16 = 0x4000;
    const SKIP_WORKTREE: u16 = 0x4000;
    const FOLDER_MODE: u32 = 0o040_000;
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let short = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let version = number(4)?;
    if bytes.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let count = usize::try_from(number(8)?).ok()?;
    let (mut at, mut files, mut last) = (12, Vec::new(), Vec::new());
    for _ in 0..count {
        let start = at;
        let mode = number(start + 24)?;
        at += STAT_BYTES + hash_bytes;
        let flags = short(at)?;
        at += 2;
        let mut is_sparse = mode == FOLDER_MODE;
        if version >= 3 && flags & EXTENDED != 0 {
            is_sparse |= short(at)? & SKIP_WORKTREE != 0;
            at += 2;
        }
        if version == 4 {
            let removed = variable(bytes, &mut at)?;
            last.truncate(last.len().checked_sub(removed)?);
        } else {
            last.clear();
        }
        let end = at + memchr::memchr(0, bytes.get(at..)?)?;
        last.extend_from_slice(&bytes[at..end]);
        at = if version == 4 { end + 1 } else { start + (end - start + 8) / 8 * 8 };
        if let Ok(path) = std::str::from_utf8(&last) {
            files.push(TrackedFile { path: path.trim_end_matches('/').to_owned(), is_sparse });
        }
    }
    // A split index has the rest of its entries in another file.
    while at + 8 + hash_bytes <= bytes.len() {
        if &bytes[at..at + 4] == b"link" {
            return None;
        }
        at = at.checked_add(8 + usize::try_from(number(at + 4)?).ok()?)?;
    }
    Some(files)
}

/// Reads a number of variable length, as offsets in a pack have it.
fn variable(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut next = || {
        let byte = *bytes.get(*at)?;
        *at += 1;
        Some(byte)
    };
    let mut byte = next()?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = next()?;
        value = value.checked_add(1)?.checked_mul(128)? + usize::from(byte & 0x7f);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds an index of the second version.
    fn built(paths: &[&str]) -> Vec<u8> {
        let mut bytes = b"DIRC\0\0\0\x02".to_vec();
        bytes.extend(u32::try_from(paths.len()).unwrap().to_be_bytes());
        for path in paths {
            let start = bytes.len();
            bytes.extend([0; 60]);
            bytes.extend(u16::try_from(path.len()).unwrap().to_be_bytes());
            bytes.extend(path.as_bytes());
            let padded = (bytes.len() - start + 8) / 8 * 8;
            bytes.resize(start + padded, 0);
        }
        bytes.extend([0; 20]);
        bytes
    }

    #[test]
    fn an_index_is_read() {
        let found = index(&built(&["a", "src/lib.rs", "src/long/enough/for/padding.rs"]), 20).unwrap();
        let paths: Vec<&str> = found.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["a", "src/lib.rs", "src/long/enough/for/padding.rs"]);
    }

    #[test]
    fn a_broken_index_gives_no_answer_instead_of_a_wrong_one() {
        let whole = built(&["src/lib.rs", "src/main.rs"]);
        for end in 0..whole.len() - 21 {
            assert!(index(&whole[..end], 20).is_none_or(|files| files.len() <= 2), "{end}");
        }
        for place in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 0xff;
            // It must not panic.
            let _ = index(&bytes, 20);
        }
        let mut split = built(&["a"]);
        split.truncate(split.len() - 20);
        split.extend(b"link\0\0\0\x04abcd");
        split.extend([0; 20]);
        assert_eq!(index(&split, 20), None);
    }
}
