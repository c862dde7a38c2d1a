//! Removes lines from transcript files, or the files of a whole session, for a permanent deletion.

use std::io::Write;

use super::gzip;
use super::listing;
use super::lock::lock;
use super::transcript::{self, Line, Transcript};
use crate::base::ids::SessionId;
use crate::base::{Error, Result};
use crate::group::View;
use crate::store::Files;

/// Deletes every file of a session: its transcript, plain or packed, and the originals of its compactions.
pub(crate) fn remove_files(view: &mut View<'_>, session: &SessionId) -> Result<()> {
    let own = Transcript::of(view.files(), session)?;
    let names: Vec<String> = view.files().transcripts().filter(|name| own.owns(name)).collect();
    if names.is_empty() {
        return Ok(());
    }
    let lock = lock(view)?;
    for name in names {
        view.files().remove_transcript(&name)?;
    }
    listing::write(view, &lock)
}

/// Removes the lines for which `is_gone` is true from every transcript. A line that can't be read is passed as its text.
/// Returns how many lines were removed.
pub(crate) fn remove_lines(
    view: &mut View<'_>,
    is_gone: &dyn Fn(&str, Option<&Line>, &str) -> bool,
) -> Result<usize> {
    let names = files_with(view.files(), is_gone)?;
    if names.is_empty() {
        return Ok(0);
    }
    let lock = lock(view)?;
    let mut removed = 0;
    for name in names {
        let text = read(view.files(), &name)?;
        let session = session_of(&name);
        let mut kept = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            match is_gone(&session, Line::read(line.as_bytes()).as_ref(), line) {
                true => removed += 1,
                false => kept.push_str(line),
            }
        }
        write(view.files(), &name, kept.as_bytes())?;
    }
    listing::write(view, &lock)?;
    Ok(removed)
}

/// Returns the sessions and texts of the lines for which `fits` is true.
pub(crate) fn with_line(files: &Files, fits: &dyn Fn(&str) -> bool) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for name in files.transcripts().filter(|name| holds_lines(name)) {
        let text = read(files, &name)?;
        let lines = text.lines().filter(|line| fits(line));
        found.extend(lines.map(|line| (session_of(&name), line.to_owned())));
    }
    Ok(found)
}

fn files_with(files: &Files, is_gone: &dyn Fn(&str, Option<&Line>, &str) -> bool) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for name in files.transcripts().filter(|name| holds_lines(name)) {
        let (text, session) = (read(files, &name)?, session_of(&name));
        if text.lines().any(|line| is_gone(&session, Line::read(line.as_bytes()).as_ref(), line)) {
            names.push(name);
        }
    }
    Ok(names)
}

fn holds_lines(name: &str) -> bool {
    name.contains(".jsonl") || name.contains(".torn-")
}

/// Returns the session that a transcript file belongs to.
fn session_of(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or(name);
    let stem = name.split(['~']).next().unwrap_or(name);
    let stem = stem.split(".jsonl").next().unwrap_or(stem).split(".torn-").next().unwrap_or(stem);
    transcript::decoded(stem).unwrap_or_else(|| stem.to_owned())
}

fn read(files: &Files, name: &str) -> Result<String> {
    let bytes = files.read_transcript(name)?;
    let bytes = if name.ends_with(".gz") {
        gzip::unpack(&bytes).map_err(Error::io(&files.transcript_at(name)))?
    } else {
        bytes
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn write(files: &Files, name: &str, bytes: &[u8]) -> Result<()> {
    if !name.ends_with(".gz") {
        return files.write_transcript(name, bytes);
    }
    let io = |problem: std::io::Error| Error::io(&files.transcript_at(name))(problem);
    let mut packed = Vec::new();
    for part in bytes.chunks(gzip::MEMBER_BYTES) {
        gzip::pack(part, &mut packed as &mut dyn Write).map_err(io)?;
    }
    files.write_transcript(name, &packed)
}
