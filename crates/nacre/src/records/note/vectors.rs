//! Makes the reader's vectors of the lines of documents, which search compares with a question.
//!
//! One vector takes a millisecond or two, so that they are made after the documents were indexed, in batches of one
//! transaction each. A killed process loses one batch. Any number of processes may do this at once.

use std::ops::ControlFlow;

use super::line::{self, NoteLine};
use crate::base::{Result, Time};
use crate::index::database::Database;
use crate::index::lines::{self, Pending};

/// The progress of making vectors of lines.
pub(crate) use crate::index::lines::Progress;

/// Lines per transaction: the work lost if the process is killed.
const BATCH_LINES: usize = 128;
/// The time for a vector grows with its text: one of this length counts as another line.
const CHARS_PER_LINE: usize = 80;

/// Returns the version of the vectors that this program makes.
pub(crate) fn version() -> String {
    lines::version(line::VERSION)
}

/// Makes vectors of lines that have none, a chunk at a time, until `most` lines have got one. Returns the number of chunks.
pub(crate) fn make(
    database: &mut Database,
    now: Time,
    most: usize,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<i64> {
    let version = version();
    if !database.on_disk() {
        return Ok(0);
    }
    database.refresh(now)?;
    let mut so_far = database.read(|db| lines::progress(db, &version))?;
    if so_far.made >= so_far.all || !database.adopt_lines(now, &version)? {
        return Ok(0);
    }
    let before = so_far.made;
    let mut pending = database.read(lines::pending)?.into_iter();
    let mut made = 0;
    while made < most && so_far.made < so_far.all {
        let mut vectors = Vec::new();
        let mut batch = 0;
        for id in pending.by_ref() {
            // Another process may have made them.
            let Some(chunk) = database.read(|db| lines::pending_chunk(db, id))? else { continue };
            let Pending { path, title, text, at } = &chunk;
            let units = line::units(text);
            let found = line::lines(&units, path, title, text, *at);
            let texts: Vec<Option<String>> = found.iter().map(NoteLine::readable).collect();
            let cost = texts.iter().flatten().map(|text| 1 + text.len() / CHARS_PER_LINE).sum::<usize>();
            batch += cost.max(1);
            vectors.push((id, lines::pack(&texts)));
            if batch >= BATCH_LINES || made + batch >= most {
                break;
            }
        }
        if vectors.is_empty() {
            break;
        }
        made += batch;
        so_far = database.write_derived(now, |tx, _| {
            // Another version may have replaced them.
            if lines::stored_version(tx)?.as_deref() == Some(&version) {
                lines::write(tx, &vectors)?;
            }
            lines::progress(tx, &version)
        })?;
        if progress(so_far).is_break() {
            break;
        }
    }
    Ok(so_far.made - before)
}
