//! Similarity of two texts by their words.

use crate::base::Result;
use crate::base::ids::EntryId;
use crate::index;
use crate::index::alike::{meaning, shared};
use crate::records::entry;
use crate::store::Connection;

/// Returns the entry most similar to `content`, if they share at least `least` of all their words.
pub(super) fn resembling<'e>(
    db: &Connection,
    content: &str,
    entries: impl Iterator<Item = &'e str>,
    least: f64,
) -> Result<Option<EntryId>> {
    let language = index::language(db)?;
    let wanted = meaning(content, language);
    let mut best: Option<(f64, EntryId)> = None;
    for entry in entry::get_all(db, entries)? {
        let share = shared(&meaning(&entry.content, language), &wanted);
        if share >= least && best.as_ref().is_none_or(|(most, _)| share > *most) {
            best = Some((share, entry.id));
        }
    }
    Ok(best.map(|(_, id)| id))
}
