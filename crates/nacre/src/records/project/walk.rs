//! Finds the files of a project: those not in `.gitignore`, without hidden folders, third-party code and
//! links.
//!
//! Only one folder is in memory at a time, so that a project may have any number of files.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::rc::Rc;

use super::extract::{self, Language};
use super::ignore::Rules;
use crate::base::Result;
use crate::store::walk::{Note, Stat, WalkedFile};

/// Folders of third-party or generated files, whatever `.gitignore` says.
const SKIPPED_FOLDERS: &[&str] =
    &["node_modules", "bower_components", "vendor", "third_party", "__pycache__", "site-packages"];
/// The maximum number of unreadable files that are listed by name.
pub(super) const MAX_LISTED_FILES: usize = 1_000;
/// The maximum depth of nested folders.
const MAX_DEPTH: usize = 64;

/// Files that were not examined.
#[derive(Debug, Default)]
pub(super) struct SkippedFiles {
    /// Files in unknown languages, by extension.
    pub(super) others: BTreeMap<String, usize>,
    /// Files and folders that are in `.gitignore`, hidden, or third-party code.
    pub(super) ignored: usize,
    pub(super) skipped: Vec<Note>,
    /// Folders that could not be listed: their stored items are kept. `""` is the project's folder.
    pub(super) unlisted: Vec<String>,
}

impl SkippedFiles {
    pub(super) fn skip(&mut self, path: &str, why: String) {
        if self.skipped.len() < MAX_LISTED_FILES {
            self.skipped.push(Note { path: path.to_owned(), why });
        }
    }
}

/// Counts the files that a walk visits.
pub(super) fn count(root: &Path) -> usize {
    let mut files = 0;
    let counted = walk(root, &mut SkippedFiles::default(), &mut |_, _, _| {
        files += 1;
        Ok(())
    });
    debug_assert!(counted.is_ok(), "counting can't fail");
    files
}

/// Walks the files of a project in known languages, by name, folder after folder.
pub(super) fn walk(
    root: &Path,
    passed: &mut SkippedFiles,
    each: &mut dyn FnMut(WalkedFile, Language, &mut SkippedFiles) -> Result<()>,
) -> Result<()> {
    let mut folders = vec![(String::new(), Rules::at_root(root))];
    while let Some((below, rules)) = folders.pop() {
        let folder = root.join(&below);
        // The rules of the first folder were read with those above it.
        let rules = if below.is_empty() { rules } else { Rules::within(&rules, &folder) };
        let mut entries = Vec::new();
        match fs::read_dir(&folder).and_then(|found| {
            for entry in found {
                entries.push(entry?);
            }
            Ok(())
        }) {
            Ok(()) => {}
            // A folder that was just deleted needs no note.
            Err(problem) if problem.kind() == io::ErrorKind::NotFound && !below.is_empty() => continue,
            Err(problem) => {
                passed
                    .skip(if below.is_empty() { "." } else { &below }, format!("can't be listed: {problem}"));
                passed.unlisted.push(below.clone());
            }
        }
        entries.sort_by_key(fs::DirEntry::file_name);
        let mut inner = Vec::new();
        for entry in entries {
            let name = entry.file_name();
            let shown = name.to_string_lossy();
            let path = if below.is_empty() { shown.to_string() } else { format!("{below}/{shown}") };
            let Ok(kind) = entry.file_type() else { continue };
            let is_foreign = kind.is_dir() && SKIPPED_FOLDERS.contains(&&*shown);
            if shown.starts_with('.') || is_foreign || rules.leave_out(&entry.path(), kind.is_dir()) {
                passed.ignored += 1;
            } else if kind.is_symlink() {
                // A link may lead out of the folder; a target within it is found there.
                passed.ignored += 1;
            } else if kind.is_dir() {
                if name.to_str().is_none() {
                    passed.skip(&path, "has a name that is not UTF-8".into());
                } else if path.matches('/').count() >= MAX_DEPTH {
                    passed.skip(&path, format!("is nested deeper than {MAX_DEPTH} folders"));
                } else {
                    inner.push((path, Rc::clone(&rules)));
                }
            } else if let Some(language) = extract::language(&shown).filter(|_| kind.is_file()) {
                if name.to_str().is_none() {
                    passed.skip(&path, "has a name that is not UTF-8".into());
                    continue;
                }
                // A file that was just deleted is noticed by the next extraction.
                let Ok(stat) = entry.metadata() else { continue };
                each(WalkedFile { path, file: entry.path(), stat: Stat::of(&stat) }, language, passed)?;
            } else {
                let ending = shown.rsplit_once('.').map_or("no ending", |(_, ending)| ending);
                // Extensions may be of any length and number, so both are limited.
                let ending = if ending.len() > 12 || passed.others.len() > 200 { "other" } else { ending };
                *passed.others.entry(ending.to_lowercase()).or_default() += 1;
            }
        }
        folders.extend(inner.into_iter().rev());
    }
    Ok(())
}
