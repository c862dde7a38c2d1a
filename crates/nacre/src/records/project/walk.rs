//! Finding the files of a project: what its `.gitignore` leaves, without hidden folders, other people's code and links.
//!
//! One folder is in memory at a time, so that a project may have as many files as it likes.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::rc::Rc;

use super::extract::{self, Language};
use super::ignore::Rules;
use crate::base::Result;
use crate::store::walk::{Note, Seen, Stat};

/// Folders of what others wrote or a program made, whatever `.gitignore` says.
const FOREIGN: &[&str] =
    &["node_modules", "bower_components", "vendor", "third_party", "__pycache__", "site-packages"];
/// How many of what can't be looked at are named.
pub(super) const NAMED: usize = 1_000;
/// How deep folders may be nested.
const DEEPEST: usize = 64;

/// What was not looked at.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// Files in no language that is known, by ending.
    pub(super) others: BTreeMap<String, usize>,
    /// Files and folders that `.gitignore` names, hidden ones, and other people's code.
    pub(super) ignored: usize,
    pub(super) skipped: Vec<Note>,
    /// Folders that could not be listed: what is known of them is kept. `""` is the project's own.
    pub(super) unlisted: Vec<String>,
}

impl Passed {
    pub(super) fn skip(&mut self, path: &str, why: String) {
        if self.skipped.len() < NAMED {
            self.skipped.push(Note { path: path.to_owned(), why });
        }
    }
}

/// Counts the files that a walk visits.
pub(super) fn count(root: &Path) -> usize {
    let mut files = 0;
    let counted = walk(root, &mut Passed::default(), &mut |_, _, _| {
        files += 1;
        Ok(())
    });
    debug_assert!(counted.is_ok(), "counting can't fail");
    files
}

/// Walks the files of a project in a language that is known, by name, folder after folder.
pub(super) fn walk(
    root: &Path,
    passed: &mut Passed,
    each: &mut dyn FnMut(Seen, Language, &mut Passed) -> Result<()>,
) -> Result<()> {
    let mut folders = vec![(String::new(), Rules::at_root(root))];
    while let Some((below, rules)) = folders.pop() {
        let folder = root.join(&below);
        // The rules of the first were read with those above it.
        let rules = if below.is_empty() { rules } else { Rules::within(&rules, &folder) };
        let mut entries = Vec::new();
        match fs::read_dir(&folder).and_then(|found| {
            for entry in found {
                entries.push(entry?);
            }
            Ok(())
        }) {
            Ok(()) => {}
            // One that has just gone needs no word.
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
            let is_foreign = kind.is_dir() && FOREIGN.contains(&&*shown);
            if shown.starts_with('.') || is_foreign || rules.leave_out(&entry.path(), kind.is_dir()) {
                passed.ignored += 1;
            } else if kind.is_symlink() {
                // It may lead out of the folder; what it leads to within it is found there.
                passed.ignored += 1;
            } else if kind.is_dir() {
                if name.to_str().is_none() {
                    passed.skip(&path, "has a name that is not UTF-8".into());
                } else if path.matches('/').count() >= DEEPEST {
                    passed.skip(&path, format!("is nested deeper than {DEEPEST} folders"));
                } else {
                    inner.push((path, Rc::clone(&rules)));
                }
            } else if let Some(language) = extract::language(&shown).filter(|_| kind.is_file()) {
                if name.to_str().is_none() {
                    passed.skip(&path, "has a name that is not UTF-8".into());
                    continue;
                }
                // One that has gone meanwhile is missed by the next look.
                let Ok(stat) = entry.metadata() else { continue };
                each(Seen { path, file: entry.path(), stat: Stat::of(&stat) }, language, passed)?;
            } else {
                let ending = shown.rsplit_once('.').map_or("no ending", |(_, ending)| ending);
                // A name of any length may stand behind a dot, and there may be any number of them.
                let ending = if ending.len() > 12 || passed.others.len() > 200 { "other" } else { ending };
                *passed.others.entry(ending.to_lowercase()).or_default() += 1;
            }
        }
        folders.extend(inner.into_iter().rev());
    }
    Ok(())
}
