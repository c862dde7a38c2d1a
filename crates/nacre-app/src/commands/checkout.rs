//! `nacre checkout`: a working copy of the files on a server, for an editor. A file of its own says which content each file had when
//! it was last the same on both sides.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use nacre::workspace::working_copy::{CopiedFile, PutOutcome, files, hash, put};
use nacre::{FilePath, View};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::args::Checkout;
use crate::context::Context;
use crate::render::{self, Failure, plain};
use crate::serve::token::write_private;

/// The file with the state of a working copy.
const STATE: &str = ".nacre-checkout.json";
/// How often both sides are compared with `--watch`.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// The state of a working copy.
#[derive(Default, PartialEq, Eq, Clone, Serialize, Deserialize)]
struct State {
    /// Where its files come from.
    server: String,
    group: String,
    files: BTreeMap<String, FileState>,
}

/// The last known state of one file.
#[derive(Default, PartialEq, Eq, Clone, Serialize, Deserialize)]
struct FileState {
    /// The hash of the content that both sides had last; absent: there was no file.
    base: Option<String>,
    /// The content that was proposed from here, and its proposal: it is not proposed twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    proposed: Option<(Option<String>, i64)>,
    /// The content of the group that is beside the file, because both sides changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    beside: Option<String>,
}

impl FileState {
    fn same(base: Option<String>) -> FileState {
        FileState { base, ..FileState::default() }
    }
}

/// The changes that one exchange made.
#[derive(Default, Serialize)]
struct Exchange {
    /// Files that were written or removed here.
    received: Vec<String>,
    /// Files that were written or removed in the group.
    sent: Vec<String>,
    /// Files that wait for a person, with the number of the proposal.
    waiting: Vec<(String, i64)>,
    /// Files that changed on both sides. The group's version is beside the own one.
    conflicts: Vec<String>,
    /// Files that can't be sent, and why.
    refused: Vec<(String, String)>,
}

impl Exchange {
    fn is_empty(&self) -> bool {
        self.received.is_empty()
            && self.sent.is_empty()
            && self.conflicts.is_empty()
            && self.refused.is_empty()
    }
}

pub fn run(context: &Context, args: &Checkout) -> Result<ExitCode> {
    let Some(server) = context.home.server() else {
        let hint = format!("the files are in {}", context.group()?.folder().display());
        let message = "the files of this group are in a folder on this machine already".to_owned();
        return Err(Failure::invalid("not_on_server", message, &hint).into());
    };
    let folder = std::path::absolute(&args.folder)?;
    let mut state = open(&folder, server, context.global.group.as_str())?;
    loop {
        let before = state.clone();
        let (mut group, caller) = (context.group()?, context.caller());
        let caller = nacre::Caller { now: context.now(), ..caller };
        let done = exchange(&mut group.enter(&caller)?, &folder, &mut state)?;
        if state != before || !folder.join(STATE).exists() {
            write_private(&folder.join(STATE), &serde_json::to_vec_pretty(&state)?)?;
        }
        if !args.watch || !done.is_empty() {
            show(context, &done, state.files.len())?;
        }
        if !args.watch {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(WATCH_INTERVAL);
    }
}

/// Opens an earlier working copy of this group, or an empty folder.
fn open(folder: &Path, server: &str, group: &str) -> Result<State> {
    fs::create_dir_all(folder).with_context(|| format!("{} can't be created", folder.display()))?;
    let refused = |message: String| {
        Failure::invalid("not_a_working_copy", message, "choose an empty folder; nothing was changed")
    };
    match fs::read(folder.join(STATE)) {
        Ok(bytes) => {
            let state: State = serde_json::from_slice(&bytes)
                .map_err(|_| refused(format!("{} is damaged", folder.join(STATE).display())))?;
            if state.server != server || state.group != group {
                let (server, group) = (&state.server, &state.group);
                let message =
                    format!("{} is a working copy of group `{group}` of {server}", folder.display());
                return Err(refused(message).into());
            }
            Ok(state)
        }
        Err(problem) if problem.kind() == ErrorKind::NotFound => {
            if fs::read_dir(folder)?.next().is_some() {
                return Err(refused(format!("{} is not empty", folder.display())).into());
            }
            Ok(State { server: server.into(), group: group.into(), files: BTreeMap::new() })
        }
        Err(problem) => Err(problem).with_context(|| format!("{} can't be read", folder.display())),
    }
}

/// Exchanges the changes of both sides since the last time.
fn exchange(view: &mut View<'_>, folder: &Path, state: &mut State) -> Result<Exchange> {
    let there = files(view)?.into_iter().map(|file| (file.path.to_string(), file));
    let there: BTreeMap<String, CopiedFile> = there.filter(|(path, _)| is_copied(path)).collect();
    let mut here = BTreeMap::new();
    local_files(folder, folder, &mut here)?;
    let mut done = Exchange::default();
    let paths: std::collections::BTreeSet<String> =
        there.keys().chain(here.keys()).chain(state.files.keys()).cloned().collect();
    for path in paths {
        let mut known = state.files.get(&path).cloned().unwrap_or_default();
        // A person who removes the file beside theirs has merged it.
        if known.beside.is_some() && !beside(&place(folder, &path)?).exists() {
            known.base = known.beside.take();
        }
        let own = here.get(&path).map(|bytes| hash(bytes));
        let theirs = there.get(&path).map(|file| file.hash.clone());
        let next = if own == theirs {
            if known.beside.is_some() {
                let _ = fs::remove_file(beside(&place(folder, &path)?));
            }
            FileState::same(own)
        } else if own == known.base || own.is_none() && theirs != known.base {
            // A change is not lost because somebody else removed the file.
            receive(folder, &path, there.get(&path))?;
            done.received.push(path.clone());
            FileState::same(theirs)
        } else if known.beside.is_none() && (theirs == known.base || theirs.is_none()) {
            known.base = theirs;
            send(view, &path, &known, here.get(&path), own, &mut done)
        } else {
            let file = there.get(&path);
            if let Some(file) = file.filter(|file| known.beside.as_deref() != Some(&file.hash)) {
                write(&beside(&place(folder, &path)?), &file.bytes)?;
            }
            done.conflicts.push(path.clone());
            FileState { beside: theirs, ..known }
        };
        match next != FileState::default() {
            true => drop(state.files.insert(path, next)),
            false => drop(state.files.remove(&path)),
        }
    }
    Ok(done)
}

/// Writes or removes a file here.
fn receive(folder: &Path, path: &str, file: Option<&CopiedFile>) -> Result<()> {
    let place = place(folder, path)?;
    match file {
        Some(file) => write(&place, &file.bytes),
        None => match fs::remove_file(&place) {
            Err(problem) if problem.kind() != ErrorKind::NotFound => {
                Err(problem).with_context(|| format!("{} can't be removed", place.display()))
            }
            _ => Ok(()),
        },
    }
}

fn write(place: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(parent) = place.parent() {
        fs::create_dir_all(parent).with_context(|| format!("{} can't be created", parent.display()))?;
    }
    write_private(place, bytes)
}

/// Returns the place of a file. A link on the way could lead out of the folder.
fn place(folder: &Path, path: &str) -> Result<PathBuf> {
    let path: FilePath = path.parse()?;
    let mut place = folder.to_owned();
    for part in path.as_str().split('/') {
        place.push(part);
        if fs::symlink_metadata(&place).is_ok_and(|found| found.is_symlink()) {
            let message = format!("{} is a link", place.display());
            return Err(Failure::invalid("not_a_working_copy", message, "remove it").into());
        }
    }
    Ok(place)
}

/// Sends a file that changed only here.
fn send(
    view: &mut View<'_>,
    path: &str,
    known: &FileState,
    bytes: Option<&Vec<u8>>,
    own: Option<String>,
    done: &mut Exchange,
) -> FileState {
    if let Some((proposed, number)) = &known.proposed
        && *proposed == own
    {
        done.waiting.push((path.to_owned(), *number));
        return known.clone();
    }
    let parsed: Result<FilePath, _> = path.parse();
    let sent = parsed.and_then(|path| put(view, &path, known.base.as_deref(), bytes.cloned()));
    match sent {
        Ok(PutOutcome::Written) => {
            done.sent.push(path.to_owned());
            FileState::same(own)
        }
        Ok(PutOutcome::Waits(number)) => {
            done.waiting.push((path.to_owned(), number));
            FileState { proposed: Some((own, number)), ..known.clone() }
        }
        // The next exchange sees what changed.
        Ok(PutOutcome::Changed) => known.clone(),
        Err(error) => {
            done.refused.push((path.to_owned(), error.to_string()));
            known.clone()
        }
    }
}

/// Returns the place of the group's version of a file that changed on both sides. It is no Markdown file, so that it is not sent.
fn beside(place: &Path) -> PathBuf {
    place.with_extension("md.theirs")
}

/// Tells whether a working copy has a file: Markdown files, but no hidden ones.
fn is_copied(path: &str) -> bool {
    path.ends_with(".md") && !path.split('/').any(|name| name.starts_with('.'))
}

/// Reads the Markdown files of the working copy. Links and hidden files are not part of it.
fn local_files(root: &Path, folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("{} can't be read", folder.display()))? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if kind.is_dir() {
            local_files(root, &path, found)?;
            continue;
        }
        let name = path.strip_prefix(root).expect("below it").to_string_lossy().replace('\\', "/");
        if kind.is_file() && is_copied(&name) {
            found.insert(name, fs::read(&path).with_context(|| format!("{} can't be read", path.display()))?);
        }
    }
    Ok(())
}

fn show(context: &Context, done: &Exchange, all: usize) -> Result<()> {
    if context.global.json {
        return render::json(&json!({ "files": all, "exchange": done }));
    }
    let mut lines = Vec::new();
    lines.extend(done.received.iter().map(|path| format!("received {}", plain(path))));
    lines.extend(done.sent.iter().map(|path| format!("sent {}", plain(path))));
    lines.extend(done.waiting.iter().map(|(path, id)| format!("{} waits as proposal {id}", plain(path))));
    lines.extend(done.conflicts.iter().map(|path| {
        let path = plain(path);
        format!("{path} changed on both sides: the group's version is in {path}.theirs. Take what you want from it, then remove it")
    }));
    lines.extend(
        done.refused.iter().map(|(path, why)| format!("{} was not sent: {}", plain(path), plain(why))),
    );
    lines.push(format!("{all} files"));
    render::out(&lines.join("\n"))
}
