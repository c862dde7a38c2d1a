//! One file of a client's settings, before and after, written so that it can be undone.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use nacre::diff::Diff;
use serde_json::Value;

use super::part::Part;
use super::program::{Program, SERVER};
use super::{json, toml};

/// The suffix of the copy of the original file.
const BACKUP: &str = ".before-nacre";
/// The contents of the copy if there was no file. It is in no settings format. Without it, a second `install`, with other flags or
/// from another place, would take the result of the first for the original.
const NO_FILE: &str = "There was no file here before `nacre install`.\n";

/// One file, before and after. `None` is no file.
pub struct Change {
    pub file: PathBuf,
    before: Option<String>,
    pub after: Option<String>,
    /// The steps left to the user, in a file that Nacre does not edit.
    pub by_hand: Option<String>,
}

/// Checks that a settings file can be read; the error says what is wrong, and in which line.
pub fn check(file: &Path) -> Result<(), String> {
    let text = match fs::read_to_string(file) {
        Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        text => text.map_err(|problem| problem.to_string())?,
    };
    match file.extension().and_then(|ending| ending.to_str()) {
        _ if text.trim().is_empty() => Ok(()),
        Some("json" | "jsonc") => json::Document::read(&text).map(drop),
        Some("toml") => toml::read(&text.replace("\r\n", "\n")).map(drop),
        _ => Ok(()),
    }
}

impl Change {
    /// Returns the change that installs our parts in a file.
    pub fn install(file: PathBuf, parts: &[Part], program: &Program) -> Result<Change> {
        // The user has to add what we would write into an empty file.
        let by_hand = || {
            let pasted = parts.iter().find_map(|part| part.lines_to_paste(program));
            let all = pasted
                .unwrap_or_else(|| install(parts, "", program).expect("an empty file takes every part"));
            format!("add this to it:\n{}", all.trim_end())
        };
        let after = |_: &Path, before: Option<&str>| {
            let after = install(parts, before.unwrap_or_default(), program)?;
            // A file that only the user edits is not created either.
            Ok((before.is_some() || !after.is_empty()).then_some(after))
        };
        Ok(Change::new(file, after, by_hand)?.with_manual_steps(parts, program, false))
    }

    /// Returns the change that removes our parts from a file.
    pub fn undo(file: PathBuf, parts: &[Part], program: &Program) -> Result<Change> {
        let by_hand = || format!("take out of it what says `{SERVER}`");
        let change = Change::new(file, |file, before| undone(file, parts, before, program), by_hand)?;
        Ok(change.with_manual_steps(parts, program, true))
    }

    fn with_manual_steps(mut self, parts: &[Part], program: &Program, undo: bool) -> Change {
        let text = self.before.as_deref().unwrap_or_default();
        self.by_hand = parts.iter().find_map(|part| part.by_hand(&self.file, text, program, undo));
        self
    }

    fn new(
        file: PathBuf,
        after: impl FnOnce(&Path, Option<&str>) -> Result<Option<String>, String>,
        by_hand: impl Fn() -> String,
    ) -> Result<Change> {
        // Settings may be links into a folder of their own; the link stays.
        let (lost, file) = match fs::canonicalize(&file) {
            Ok(file) => (false, file),
            Err(_) => (file.is_symlink(), file),
        };
        let foreign = |problem: String| nacre::Error::ForeignSettings {
            path: file.clone(),
            problem,
            by_hand: by_hand(),
        };
        if lost {
            return Err(foreign("it is a link that leads nowhere".into()).into());
        }
        // Reading a pipe would never end.
        if fs::metadata(&file).is_ok_and(|found| !found.is_file()) {
            return Err(foreign("it is not a file".into()).into());
        }
        let before = match fs::read_to_string(&file) {
            Ok(text) => Some(text),
            Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => None,
            Err(problem) if problem.kind() == std::io::ErrorKind::InvalidData => {
                return Err(foreign("it is not UTF-8".into()).into());
            }
            Err(source) => return Err(nacre::Error::Io { path: file, source }.into()),
        };
        let after = after(&file, before.as_deref()).map_err(foreign)?;
        Ok(Change { file, before, after, by_hand: None })
    }

    /// Tells whether neither Nacre nor the user has anything to change.
    pub fn is_none(&self) -> bool {
        self.before == self.after && self.by_hand.is_none()
    }

    /// Writes the file. A copy of the original is kept next to it until it is undone.
    pub fn write(&self, undo: bool) -> Result<()> {
        if self.before == self.after {
            return Ok(());
        }
        let backup = backup_of(&self.file);
        // Clients write these files too, at any time.
        let now = fs::read(&self.file).ok();
        if now.as_deref() != self.before.as_deref().map(str::as_bytes) {
            anyhow::bail!(
                "`{}` was changed by another program just now and was not written; try again",
                self.file.display()
            );
        }
        if !undo && !backup.exists() {
            self.put(&backup, self.before.as_deref().unwrap_or(NO_FILE))?;
        }
        match &self.after {
            Some(after) => self.put(&self.file, after)?,
            None => fs::remove_file(&self.file)
                .with_context(|| format!("{} can't be removed", self.file.display()))?,
        }
        if undo {
            let _ = fs::remove_file(backup);
        }
        Ok(())
    }

    /// Writes a temporary file and renames it into place, with the owner and permissions of the original.
    fn put(&self, file: &Path, text: &str) -> Result<()> {
        let put = || -> std::io::Result<()> {
            let folder = file.parent().ok_or(std::io::ErrorKind::NotFound)?;
            fs::create_dir_all(folder)?;
            let mut aside = tempfile::NamedTempFile::new_in(folder)?;
            std::io::Write::write_all(&mut aside, text.as_bytes())?;
            if let Ok(found) = fs::metadata(&self.file) {
                #[cfg(unix)]
                keep_owner(aside.as_file(), &found)?;
                aside.as_file().set_permissions(found.permissions())?;
            }
            aside.as_file().sync_all()?;
            aside.persist(file)?;
            Ok(())
        };
        put().map_err(|source| nacre::Error::Io { path: file.to_owned(), source }.into())
    }

    pub fn diff(&self) -> Diff {
        let [before, after] = [&self.before, &self.after].map(|text| text.as_deref().map(str::as_bytes));
        Diff::new(&self.file.display().to_string(), before, after)
    }

    pub fn json(&self) -> Value {
        let mut shown = serde_json::json!({ "path": self.file, "changed": self.before != self.after });
        if let Some(steps) = &self.by_hand {
            shown["by_hand"] = serde_json::json!(steps);
        }
        let backup = backup_of(&self.file);
        if kept(&self.file).is_some() {
            shown["backup"] = serde_json::json!(backup);
        }
        shown
    }
}

fn install(parts: &[Part], text: &str, program: &Program) -> Result<String, String> {
    parts.iter().try_fold(text.to_owned(), |text, part| part.install(&text, program))
}

/// Returns the file without our parts: byte for byte the original, if nothing else has changed since. `None`: there was no file.
fn undone(
    file: &Path,
    parts: &[Part],
    now: Option<&str>,
    program: &Program,
) -> Result<Option<String>, String> {
    let Some(now) = now else { return Ok(None) };
    // Even if it is invalid: nothing in it is ours.
    if !now.contains(SERVER) {
        return Ok(Some(now.to_owned()));
    }
    let backup = kept(file);
    if let Some(before) = &backup
        && install(parts, before, program).as_deref() == Ok(now)
    {
        return Ok(backup);
    }
    let left =
        parts.iter().rev().try_fold(now.to_owned(), |text, part| part.remove(&text, backup.as_deref()))?;
    let is_empty = |text: &str| parts.iter().all(|part| part.is_empty(text));
    // An empty file became one with an empty object.
    let is_blank = |text: &str| matches!(text.trim(), "" | "{}");
    if backup.as_deref().is_some_and(|before| before.trim().is_empty() && is_blank(&left)) {
        return Ok(backup);
    }
    let gone = left != now && backup.is_none() && is_empty(&left);
    Ok((!gone).then_some(left))
}

/// Returns the original file, if there was one.
fn kept(file: &Path) -> Option<String> {
    fs::read_to_string(backup_of(file)).ok().filter(|text| text != NO_FILE)
}

/// Gives a file the owner of another: run by root, we would otherwise take the settings away from their user.
#[cfg(unix)]
fn keep_owner(file: &fs::File, of: &fs::Metadata) -> std::io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let own = file.metadata()?;
    if own.uid() != of.uid() {
        fchown(file, Some(of.uid()), Some(of.gid()))?;
    } else if own.gid() != of.gid() {
        // Not every group can be set; the owner can still read the file.
        let _ = fchown(file, None, Some(of.gid()));
    }
    Ok(())
}

fn backup_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(BACKUP);
    name.into()
}
