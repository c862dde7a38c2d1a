//! The files of an export: the documents of the workspace and the transcripts, with their times.

use std::fs;
use std::path::Path;

use crate::call::Caller;
use crate::group::Group;
use crate::workspace::files::{self, Replaced};
use crate::workspace::{self, FilePath, change};
use crate::{Error, Result, Time, session};

/// The folders of an export, for documents and for transcripts.
const DOCUMENTS: &str = "files";
const TRANSCRIPTS: &str = "transcripts";

/// What became of the files of an export.
#[derive(Default)]
pub(crate) struct Put {
    pub(crate) added: usize,
    /// Those in whose place others stand.
    pub(crate) kept: Vec<String>,
}

/// Copies documents and transcripts into an export. Returns how many, and the folders that there are.
pub(crate) fn write(group: &Path, folder: &Path) -> Result<(usize, Vec<&'static str>)> {
    let mut count = 0;
    let documents = workspace::files(group);
    for file in &documents {
        let path: FilePath = match file.path.parse() {
            Ok(path) => path,
            // What no name of the workspace is can't be put back either.
            Err(_) => continue,
        };
        let Some(bytes) = files::read(group, &path, u64::MAX)? else { continue };
        let target = folder.join(DOCUMENTS).join(path.as_str());
        crate::files::create_folder(target.parent().expect("it is in a folder"))?;
        crate::files::write_whole(&target, &bytes)?;
        set_time(&target, file.modified)?;
        count += 1;
    }
    let transcripts = session::listed(&session::folder(group));
    for (name, path) in &transcripts {
        let target = folder.join(TRANSCRIPTS).join(name);
        crate::files::create_folder(target.parent().expect("it is in a folder"))?;
        let bytes = fs::read(path).map_err(Error::io(path))?;
        crate::files::write_whole(&target, &bytes)?;
        count += 1;
    }
    let folders = [(DOCUMENTS, documents.is_empty()), (TRANSCRIPTS, transcripts.is_empty())];
    Ok((count, folders.into_iter().filter(|(_, empty)| !empty).map(|(name, _)| name).collect()))
}

fn set_time(path: &Path, at: Time) -> Result<()> {
    let since = std::time::Duration::from_millis(u64::try_from(at.as_millis()).unwrap_or(0));
    let file = fs::File::open(path).map_err(Error::io(path))?;
    file.set_modified(std::time::UNIX_EPOCH + since).map_err(Error::io(path))
}

/// Puts the documents and transcripts of an export where there are none. What else stands there is left.
pub(crate) fn take_in(group: &mut Group, caller: &Caller, folder: &Path) -> Result<Put> {
    let mut put = Put::default();
    let held = change::hold(group, caller.now)?;
    for file in workspace::files(&folder.join(DOCUMENTS)) {
        let Ok(path) = file.path.parse::<FilePath>() else {
            put.kept.push(file.path);
            continue;
        };
        let Some(bytes) = files::read(&folder.join(DOCUMENTS), &path, change::LARGEST + 1)? else { continue };
        let there = files::read(held.folder(), &path, change::LARGEST + 1)?;
        if there.as_ref() == Some(&bytes) {
            continue;
        }
        let fits = there.is_none() && bytes.len() as u64 <= change::LARGEST;
        if !fits || files::replace(held.folder(), &path, None, Some(&bytes))? == Replaced::Changed {
            put.kept.push(file.path);
            continue;
        }
        files::set_time(held.folder(), &path, file.modified)?;
        put.added += 1;
    }
    drop(held);
    put.added += session::put_back(group.folder(), &folder.join(TRANSCRIPTS))?;
    Ok(put)
}
